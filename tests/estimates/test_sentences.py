"""Sentences about results, means and differences: numbers agree with tables."""

from __future__ import annotations

from typing import Any

import pytest
from markup import page

import alikely as al

QUIET: dict[str, Any] = {"n_resamples": 0, "n_draws": 0, "rng": 1}
NASTY = r'<script>alert("x")</script> _&%$#{}~^\ <b>'


def two(value: float) -> str:
    """Format with two decimals."""
    return f"{value:.2f}".replace("-0.00", "0.00")


@pytest.fixture(scope="module")
def many() -> al.Result:
    return al.error_consistency(
        al.load_example(), "human-model", n_resamples=200, n_draws=200, rng=1
    )


@pytest.mark.parametrize("method", ["analytic", "bootstrap", "posterior"])
def test_sentence_of_a_difference_agrees_with_its_table(many: al.Result, method: str) -> None:
    labels = many.table["pair"].values[[40, 41]].tolist()
    row = al.difference(many, *labels, intervals=[method]).loc[method]
    text = many.sentence(difference=labels, interval=method)
    assert " minus that of " in text
    assert f"[{two(row['eti95_lb'])}, {two(row['eti95_ub'])}]" in text
    assert ("The interval contains 0" in text) == (row["eti95_lb"] <= 0 <= row["eti95_ub"])
    words = {"analytic": "two-sided", "bootstrap": "proportion of", "posterior": "probability"}
    assert words[method] in text
    value = many.estimates["estimate"].values[40] - many.estimates["estimate"].values[41]
    assert f" was {two(value)}, " in text
    assert f" was {two(-value)}, " in many.sentence(difference=labels[::-1], interval=method)


def test_names_are_escaped() -> None:
    right = [[1, 0] * 10, [1, 1, 0, 0] * 5]
    result = al.error_consistency(al.Trials.from_correct(right, observers=[NASTY, "b"]), **QUIET)
    html = result._repr_html_()
    assert "<script" not in html
    assert page(html)[1][1][:2] == [NASTY, "b"]
