"""Scores in sentences, LaTeX and notebooks: numbers are the tables', words are true."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al


def test_who_is_no_human_is_not_called_one() -> None:
    """Models against models: notes, sentences and verdicts name the kind that was given."""
    right = np.random.default_rng(1).random((6, 60)) < 0.7
    trials = al.Trials.from_correct(right, kind=["gpt"] * 3 + ["llama"] * 3)
    scores = al.benchmark_scores(trials, humans="gpt", models="llama", n_resamples=0, n_draws=0)
    assert scores.summary()["note"].str.contains("only 3 observers of kind gpt: the interval").all()
    said = [
        scores.sentence(),
        repr(scores),
        scores.sentence(difference=("observer_3", "observer_4")),
    ]
    for text in said:
        assert "human" not in text
        assert "observers of kind gpt" in text
    with pytest.raises(ValueError, match=r"kinds are gpt, llama.*al\.benchmark\.group_scores"):
        al.benchmark_scores(trials)
