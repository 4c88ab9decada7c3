"""Scores in sentences, LaTeX and notebooks: numbers are the tables', words are true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.report.results import score_findings

SPEAKS = {
    "images": "new images and these humans (humans and models fixed)",
    "observers": "new humans and these images (humans random; images and models fixed)",
    "both": "new images and new humans (both random; models fixed)",
}


def experiment(n_models: int, n_humans: int = 4, name: str = "net_") -> al.Trials:
    """Models of one set of images, from the same errors as the humans to errors of their own."""
    rng = np.random.default_rng(1)
    hard = rng.random(80)
    share = np.r_[np.full(n_humans, 0.7), np.linspace(0, 1, n_models)]
    right = np.array([(s * hard + (1 - s) * rng.random(80)) < 0.7 for s in share]).astype(int)
    names_of = [f"h{i}" for i in range(n_humans)] + [f"{name}{i}" for i in range(n_models)]
    kinds = ["human"] * n_humans + ["model"] * n_models
    return al.Trials.from_correct(right, observers=names_of, kind=kinds)


@pytest.fixture(scope="module")
def scores() -> al.Result:
    return al.benchmark_scores(experiment(3), n_resamples=200, n_draws=200, rng=1)


def two(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00")


@pytest.mark.parametrize("generalize_to", ["images", "observers", "both"])
def test_scores_are_said_as_the_summary_has_them(scores: al.Result, generalize_to: Any) -> None:
    text, frame = scores.sentence(generalize_to), scores.summary(generalize_to).set_index("system")
    models = frame.loc[scores.observers]
    assert text.startswith("Error consistency of 3 models with 4 humans ranged from ")
    for name in (models["estimate"].idxmin(), models["estimate"].idxmax()):
        row = frame.loc[name]
        ends = f"[{two(row['analytic_ci95_lb'])}, {two(row['analytic_ci95_ub'])}]"
        assert f"{two(row['estimate'])} ({name}; 95% CI {ends})" in text
    humans = two(frame.loc["human-human", "estimate"])
    assert f"The human-human mean was {humans}, 95% CI [" in text
    assert f"generalize to {SPEAKS[generalize_to]}; they are not adjusted for multiple" in text
    assert "80 images per condition on average" in text
    table = al.benchmark.differences(scores, generalize_to)
    told = int((table["p_value_simultaneous"] < 0.05).sum())
    assert f"{told or 'None'} of 3 differences between models " in text
    assert (
        '"only 4 humans: the interval is approximate" (3 of 3 models)' in text
        or generalize_to == "images"
    )


def test_who_is_no_human_is_not_called_one() -> None:
    """Models against models: notes, sentences and verdicts name the kind that was given."""
    right = np.random.default_rng(1).random((6, 60)) < 0.7
    trials = al.Trials.from_correct(right, kind=["gpt"] * 3 + ["llama"] * 3)
    scores = al.benchmark_scores(trials, humans="gpt", models="llama", n_resamples=0, n_draws=0)
    assert scores.summary()["note"].str.contains("only 3 observers of kind gpt: the interval").all()
    said = [
        scores.sentence(),
        repr(scores),
        (al.benchmark.test_difference(scores, "observer_3", "observer_4")["sentence"]),
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
    every, own = (two(frame.loc[name, "estimate"]) for name in ("human-human", "ceiling"))
    assert every != own
    assert question == "How similar are the responses of 2 models to 4 humans?"
    assert f"The humans reach {own}, " in " ".join(answers)
    assert "with 3 humans in t" in scores.sentence(level="t")
