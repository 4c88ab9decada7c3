"""Agreement on options at the front doors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import alikely as al

CLASSES = list("ABCD")
FEW: dict[str, Any] = {"n_resamples": 50, "n_draws": 40, "rng": 1}
METRICS = [
    "kappa_p",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("kappa_p_discrete", "same_wrong_answer")
    ),
]


def models(n: int = 5, n_questions: int = 120, seed: int = 1) -> al.Trials:
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, n_questions, 4)) + 2 * rng.normal(size=(1, n_questions, 4))
    p = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    truth = np.array([rng.choice(4, p=q) for q in p.mean(axis=0)])
    names = np.array(CLASSES, dtype=object)
    return al.Trials.from_arrays(
        names[p.argmax(axis=2)], names[truth], classes=CLASSES,
        kind=["human"] * (n - 2) + ["model"] * 2, observers=[f"m{i}" for i in range(n)],
    ).with_probabilities(p)  # fmt: skip


@pytest.mark.parametrize("metric", METRICS)
def test_everything_takes_them(metric: str, tmp_path: Path) -> None:
    result = al.compare(models(), metric, **FEW)
    frame = result.summary(intervals="all")
    assert len(frame) == 10
    assert {"agreement", "chance_agreement", "r_p", "r_p_se", "same_wrong_chance"} <= set(frame)
    low, high = frame["posterior_eti95_lb"], frame["posterior_eti95_ub"]
    assert (low < high).all()
    table = al.difference(result, "m0 x m1", "m0 x m2", intervals="all")
    assert list(table.index) == ["analytic", "bootstrap", "posterior"]
    assert list(al.difference(result, "m0 x m1", "m0 x m2").index) == ["posterior"]
    assert al.mean(result)["se"].gt(0).all()
    result.save(tmp_path / "result.nc")
    again = al.Result.load(tmp_path / "result.nc")
    np.testing.assert_array_equal(again.estimates["estimate"], result.estimates["estimate"])
    assert again.metric.name == metric


def twice() -> al.Trials:
    """Items that come back."""
    return al.Trials.from_arrays(
        [["A", "B", "A", "B"], ["A", "A", "A", "A"]], ["A", "B", "A", "B"], item=["x", "y"] * 2,
        repeat=[0, 0, 1, 1],
    ).with_options(2)  # fmt: skip


def silent() -> al.Trials:
    """One answer is missing."""
    return al.Trials.from_arrays([["A", "B", None], ["A", "A", "B"]], list("ABB")).with_options(2)


def test_repeated_or_missing_answers_need_a_choice() -> None:
    for trials, message in ((twice(), "items are repeated"), (silent(), "have no response; leave")):
        with pytest.raises(ValueError, match=message):
            al.compare(trials, "kappa_p_discrete")
    few = {"n_resamples": 0, "n_draws": 0}
    apart = al.compare(twice(), "kappa_p_discrete", cluster="trial", **few).summary()
    assert apart["n_trials"].tolist() == [4]
    dropped = al.compare(silent(), "kappa_p_discrete", no_response="drop", **few).summary()
    assert dropped["n_trials"].tolist() == [2]
