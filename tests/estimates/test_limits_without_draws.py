"""Posterior limits without draws at the front doors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import alikely as al
from alikely.inference.cell_limits import posterior_quantiles

QUIET: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}
COLUMNS = ["posterior_median", "posterior_eti95_lb", "posterior_eti95_ub"]


@pytest.fixture(scope="module")
def result() -> al.Result:
    return al.error_consistency(al.load_example(), "human-model", **QUIET)


def test_limits_are_those_of_the_counts_and_near_those_of_draws(result: al.Result) -> None:
    assert result.without_draws
    assert "without draws" in repr(result)
    shown = result.summary()
    for column, level in zip(COLUMNS, (0.5, 0.025, 0.975), strict=True):
        of_counts = posterior_quantiles(result.table["cells"].values, [level])[:, 0]
        # Sums run in another order with other levels alongside.
        np.testing.assert_allclose(shown[column], of_counts, rtol=1e-9, atol=1e-12)
    drawn = al.error_consistency(al.load_example(), "human-model", **QUIET | {"n_draws": 4_000})
    assert not drawn.without_draws
    draws = drawn.draws("posterior")
    room = 4 * np.sqrt(0.025 * 0.975 / len(draws)) + 0.002
    for column, level in zip(COLUMNS[1:], (0.025, 0.975), strict=True):
        share = (draws < shown[column].to_numpy()).mean(axis=0)
        np.testing.assert_allclose(share, level, atol=room)
    # Any probability may be asked for afterwards.
    of_half = result.summary(ci_prob=0.5)
    assert (of_half["posterior_eti50_lb"] > shown["posterior_eti95_lb"]).all()


@pytest.mark.parametrize(("sampler", "ci_kind"), [("nuts", "eti"), ("auto", "hdi")])
def test_other_posteriors_have_none(sampler: Any, ci_kind: str) -> None:
    with al.options(ci_kind=ci_kind):
        result = al.error_consistency(al.load_example(), "human-human", sampler=sampler, **QUIET)
    assert not result.without_draws
    assert not [name for name in result.summary() if name.startswith("posterior")]


def test_items_that_come_back_have_none() -> None:
    """Answers to one item are not independent: the posterior is another."""
    rng = np.random.default_rng(1)
    right = rng.integers(0, 2, (3, 80))
    item = [f"i{number}" for number in np.repeat(np.arange(40), 2)]
    trials = al.Trials.from_correct(right, item=item, repeat=[0, 1] * 40)
    assert not al.error_consistency(trials, **QUIET).without_draws
    assert al.error_consistency(trials, cluster="trial", **QUIET).without_draws
