"""Confusion matrices and printed leaderboards, drawn: what is shown is what is in the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import alikely as al


def test_shares_of_answers_are_drawn() -> None:
    counts = al.estimates.confusion_matrices(al.load_example(), "kind")
    axes = al.plot_confusions(counts)
    shown = axes[0].images[0].get_array()
    own = counts.sel(group="human").values
    np.testing.assert_allclose(shown, own / own.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="dims group, truth and response, got"):
        al.plot_confusions(counts.transpose("truth", "group", "response"))
    with pytest.raises(ValueError, match=r"at most 6 matrices .* got 10; choose some"):
        al.plot_confusions(al.estimates.confusion_matrices(al.load_example()))


def test_the_best_machines_are_drawn() -> None:
    table = pd.DataFrame(
        {
            "scheme": ["pairs"] * 3 + ["shared trials"] * 3,
            "system": ["a", "b", "c"] * 2,
            "estimate": [0.3, 0.2, 0.1] * 2,
            "ci95_lb": [0.25, 0.15, 0.05, 0.2, 0.1, 0.0],
            "ci95_ub": [0.35, 0.25, 0.15, 0.4, 0.3, 0.2],
            "rank": [1, 2, 3] * 2,
        }
    )
    ax = al.plot_leaderboard(table, top=2)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    assert ax.get_ylabel() == "first 2 of 3 machines"
    ends = [bar.get_segments()[0][:, 0] for bar in ax.collections]
    np.testing.assert_allclose(ends, [[0.25, 0.35], [0.2, 0.4]])
    with pytest.raises(ValueError, match="must be one of reconstruct_leaderboard"):
        al.plot_leaderboard(table.drop(columns="rank"))
    with pytest.raises(ValueError, match="top must be at least 1, got 0"):
        al.plot_leaderboard(table, top=0)
