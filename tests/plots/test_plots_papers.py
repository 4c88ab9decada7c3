"""Confusion matrices, drawn: what is shown is what is in the table."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al


def test_shares_of_answers_are_drawn() -> None:
    counts = al.estimates.confusion_matrices(al.load_example(), "kind")
    axes = al.plot_errors(counts, "confusions")
    shown = axes[0].images[0].get_array()
    own = counts.sel(group="human").values
    np.testing.assert_allclose(shown, own / own.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="dims group, truth and response, got"):
        al.plot_errors(counts.transpose("truth", "group", "response"), "confusions")
    with pytest.raises(ValueError, match=r"at most 6 matrices .* got 10; select groups"):
        al.plot_errors(al.estimates.confusion_matrices(al.load_example()), "confusions")
