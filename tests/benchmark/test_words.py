"""Scores in sentences, LaTeX and notebooks: numbers are the tables', words are true."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.report.results import score_findings


def experiment(n_models: int, n_humans: int = 4, name: str = "net_") -> al.Trials:
    """Models of one set of images, from the same errors as the humans to errors of their own."""
    rng = np.random.default_rng(1)
    hard = rng.random(80)
    share = np.r_[np.full(n_humans, 0.7), np.linspace(0, 1, n_models)]
    right = np.array([(s * hard + (1 - s) * rng.random(80)) < 0.7 for s in share]).astype(int)
    names_of = [f"h{i}" for i in range(n_humans)] + [f"{name}{i}" for i in range(n_models)]
    kinds = ["human"] * n_humans + ["model"] * n_models
    return al.Trials.from_correct(right, observers=names_of, kind=kinds)


def two(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00")


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


def test_humans_are_counted_where_models_are() -> None:
    """Of a mean over data sets: not those of a data set that no model took part in."""
    met = experiment(2).to_table().assign(dataset="s")
    alone = experiment(0, n_humans=3).to_table().assign(dataset="t")
    trials = al.Trials.from_table(pd.concat([met, alone]))
    scores = al.benchmark_scores(trials, human_ids="per_dataset", n_resamples=0, n_draws=0)
    text, frame = scores.sentence(), scores.summary().set_index("system")
    where = "with 4 humans (in s, the only one of 2 data sets with models) ranged"
    assert where in text
    assert f"The human-human mean was {two(frame.loc['ceiling', 'estimate'])}," in text
    assert "; 80 images per condition on average) generalize to" in text
    assert '"only 4 humans: the interval is approximate" (2 of 2 models)' in text
    assert "only 3 humans" in frame.loc["human-human", "note"]
    question, answers = score_findings(scores)
    assert question == "How similar are the responses of 2 models to 4 humans?"
    assert where in answers[1]
    assert "with 3 humans in t" in scores.sentence(level="t")
