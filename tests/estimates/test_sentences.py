"""Sentences about results, means and differences: numbers are the tables', words are true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from markup import page

import alikely as al

QUIET: dict[str, Any] = {"n_resamples": 0, "n_draws": 0, "rng": 1}
NASTY = r'<script>alert("x")</script> _&%$#{}~^\ <b>'


def two(value: float) -> str:
    """Two decimals."""
    return f"{value:.2f}".replace("-0.00", "0.00")


@pytest.fixture(scope="module")
def pair() -> al.Result:
    """One pair of kappa .6 over 100 trials, in a named condition."""
    right = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [40, 10, 10, 40], axis=0).T
    trials = al.Trials.from_correct(right, observers=["anna", "net"], condition=["fog"] * 100)
    return al.error_consistency(trials, n_resamples=300, n_draws=300, rng=1)


@pytest.fixture(scope="module")
def many() -> al.Result:
    return al.error_consistency(
        al.load_example(), "human-model", n_resamples=200, n_draws=200, rng=1
    )


@pytest.mark.parametrize(
    ("method", "kind", "how", "name"),
    [
        ("analytic", "eti", "(analytic; 100 trials)", "95% CI"),
        ("bootstrap", "eti", "(percentile bootstrap, 300 replicates; ", "95% CI"),
        ("bootstrap", "hdi", "(bootstrap, 300 replicates; ", "95% highest-density interval"),
        ("bca", "eti", "(BCa bootstrap, 300 replicates; 100 trials)", "95% CI"),
        (
            "posterior",
            "eti",
            "(posterior of the generative model 'copying', equal-tailed, 300 exact draws; ",
            "95% credible interval",
        ),
    ],
)
def test_a_pair_is_said_with_its_interval(
    pair: al.Result, method: Any, kind: Any, how: str, name: str
) -> None:
    text = pair.sentence(interval=method, ci_kind=kind)
    row = pair.summary(ci_kind=kind, intervals=[method]).iloc[0]
    lower, upper = (
        row[column] for end in ("_lb", "_ub") for column in row.index
        if column.startswith(f"{method}_") and column.endswith(end)
    )  # fmt: skip
    assert text.startswith("The error consistency of anna and net in fog was 0.60, ")
    assert f"{name} [{two(lower)}, {two(upper)}] {how}" in text
    assert "generalizes to new trials with these observers (observers fixed)" in text
    assert "It lies above 0, the value expected for independent errors" in text
    assert (
        f"The test against independent observers gave p {'<' if row['p_null'] < 0.001 else '='} "
        in text
    )


@pytest.mark.parametrize("method", ["analytic", "bootstrap", "posterior"])
def test_a_difference_is_said_as_its_table_has_it(many: al.Result, method: str) -> None:
    labels = many.table["pair"].values[[40, 41]].tolist()
    row = al.difference(many, *labels, intervals=[method]).loc[method]
    text = many.sentence(difference=labels, interval=method)
    assert " minus that of " in text
    assert f"[{two(row['eti95_lb'])}, {two(row['eti95_ub'])}]" in text
    assert ("It contains 0" in text) == (row["eti95_lb"] <= 0 <= row["eti95_ub"])
    words = {"analytic": "two-sided", "bootstrap": "proportion of", "posterior": "probability"}
    assert words[method] in text
    value = many.estimates["estimate"].values[40] - many.estimates["estimate"].values[41]
    assert f" was {two(value)}, " in text
    assert f" was {two(-value)}, " in many.sentence(difference=labels[::-1], interval=method)


def test_names_are_no_markup() -> None:
    right = [[1, 0] * 10, [1, 1, 0, 0] * 5]
    result = al.error_consistency(al.Trials.from_correct(right, observers=[NASTY, "b"]), **QUIET)
    html = result._repr_html_()
    assert "<script" not in html
    assert page(html)[1][1][:2] == [NASTY, "b"]
