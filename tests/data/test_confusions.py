"""Confusion matrices instead of trials: reading, bad input, and missing information."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.data.tables import confusion_trials

NAMES = ["cat", "dog", "owl"]


def matrices() -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(1)
    return {
        name: pd.DataFrame(np.diag([30, 20, 25]) + rng.integers(0, 9, (3, 3)), NAMES, NAMES)
        for name in ("a", "b", "c")
    }


def test_trials_have_the_matrices() -> None:
    given = matrices()
    trials = confusion_trials(given)
    counts = al.estimates.confusion_matrices(trials).sel(truth=NAMES, response=NAMES)
    for name, matrix in given.items():
        errors = 1 - np.eye(3, dtype=int)
        assert (counts.sel(group=name).values * errors == matrix.to_numpy() * errors).all()
        # One correct response of each true class represents all of them.
        assert (trials.data.sel(observer=name)["correct"].values == 1).sum() == 3


@pytest.mark.slow
def test_estimates_agree_with_the_matrices() -> None:
    """Estimates do not depend on whether items are shared; intervals need separate items."""
    given = matrices()
    apart = al.error_similarity(given, paired=False, n_resamples=100, n_draws=100, rng=1)
    lost = al.error_similarity(given, paired=True, rng=1)
    wanted = al.metrics.errors.error_divergence(given["a"].to_numpy(), given["b"].to_numpy())
    for result in (apart, lost):
        assert result.summary()["divergence"].iloc[0] == pytest.approx(wanted, rel=1e-12)
    assert {"posterior", "bootstrap"} <= set(apart.data.children)
    assert not {"posterior", "bootstrap"} & set(lost.data.children)
    # The analytic interval and the Bayes factor are shown only on request.
    named = ["se", "expected_divergence", "log_bayes_factor", "p_equal"]
    frame, known = (r.summary(intervals=["analytic"], columns=named) for r in (lost, apart))
    assert frame["note"].str.contains("no interval without the trials").all()
    for name in ("se", "expected_divergence", "log_bayes_factor", "analytic_ci95_lb", "p_equal"):
        assert frame[name].isna().all()
        assert known[name].notna().all()


def test_differences_on_unknown_items_raise_an_error() -> None:
    lost = al.error_similarity(matrices(), paired=True)
    first, second, _ = lost.table["pair"].values
    with pytest.raises(ValueError, match="give no interval of a mean or difference"):
        al.mean(lost)
    with pytest.raises(ValueError, match="give no interval of a mean or difference"):
        al.difference(lost, first, second)


def test_many_correct_responses_cost_nothing() -> None:
    large = {name: np.diag([10**9] * 3) + matrix.to_numpy() for name, matrix in matrices().items()}
    found = al.error_similarity(large, paired=True).summary()
    wanted = al.error_similarity(matrices(), paired=True).summary()
    assert (found["estimate"] == wanted["estimate"]).all()


GOOD = matrices()
WRONG: dict[str, tuple[dict[Any, Any], str]] = {
    "one system": ({"a": GOOD["a"]}, "at least two systems, got 1"),
    "negative": ({"a": GOOD["a"], "b": -GOOD["b"]}, "counts of 'b' must be .* got -3"),
    "missing": ({"a": GOOD["a"], "b": GOOD["b"] * np.nan}, "counts of 'b' must be .* got nan"),
    "other order": ({"a": GOOD["a"], "b": GOOD["b"].iloc[::-1, ::-1]}, "same classes in the same"),
    "repeated system": ({1: GOOD["a"], "1": GOOD["b"]}, "two systems have the name '1'"),
    "columns": ({"a": GOOD["a"], "b": GOOD["b"].iloc[:, ::-1]}, "rows and columns of the table"),
}


@pytest.mark.parametrize("case", WRONG)
def test_bad_matrices_raise_a_one_line_error(case: str) -> None:
    given, message = WRONG[case]
    with pytest.raises(ValueError, match=message) as error:
        confusion_trials(given)
    assert "\n" not in str(error.value)
