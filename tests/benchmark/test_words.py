"""Scores in sentences, LaTeX and notebooks: numbers are the tables', words are true."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al


def experiment(n_models: int, n_humans: int = 4, name: str = "net_") -> al.Trials:
    """Models of one set of images, from the same errors as the humans to errors of their own."""
    rng = np.random.default_rng(1)
    hard = rng.random(80)
    share = np.r_[np.full(n_humans, 0.7), np.linspace(0, 1, n_models)]
    right = np.array([(s * hard + (1 - s) * rng.random(80)) < 0.7 for s in share]).astype(int)
    names_of = [f"h{i}" for i in range(n_humans)] + [f"{name}{i}" for i in range(n_models)]
    kinds = ["human"] * n_humans + ["model"] * n_models
    return al.Trials.from_correct(right, observers=names_of, kind=kinds)


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
