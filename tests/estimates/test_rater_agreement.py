"""The function `agreement`: pairs and all raters, three methods, missing ratings, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import alikely as al
from alikely.data.blocks import Block
from alikely.inference.evaluation import evaluator

FEW: dict[str, Any] = {"n_resamples": 300, "n_draws": 400, "rng": 1}
COEFFICIENTS = ["cohen_kappa", "fleiss_kappa", "gwet_ac1", "krippendorff_alpha",
                "brennan_prediger", "raw_agreement"]  # fmt: skip
NO_YES = np.array(["no", "yes"])


def simulated(n_readers: int, n: int, missing: float = 0.0, seed: int = 1) -> al.Trials:
    """Raters with two classes who err independently."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    said = NO_YES[np.where(rng.random((n_readers, n)) < 0.85, truth, 1 - truth)].astype(object)
    said[rng.random(said.shape) < missing] = None
    return al.Trials.from_arrays(said, NO_YES[truth])


def codes_of(trials: al.Trials) -> np.ndarray:
    return np.asarray(trials.data["response"].values)


def value_of(name: str, codes: np.ndarray) -> float:
    """A coefficient of all raters, for two classes."""
    n_readers, n = codes.shape
    correct, shown = np.zeros((n_readers, n), np.int8), np.ones((1, n_readers), bool)
    block = Block(
        slice(0, 1), np.array([0]), np.array([1]), correct, np.arange(n), codes,
        np.zeros(n, np.int32), 2, np.array([2]), readers=shown,
    )  # fmt: skip
    return float(evaluator(block, al.metrics.get_metric(name)).values(np.ones((1, n)))[0, 0])


@pytest.mark.parametrize("coefficient", COEFFICIENTS)
def test_pairs_use_common_items_and_all_uses_every_item(coefficient: str) -> None:
    trials = simulated(3, 80, missing=0.2)
    codes = codes_of(trials)
    pairs = al.agreement(trials, coefficient, n_resamples=0, n_draws=0).summary()
    for row, (a, b) in zip(pairs.itertuples(), [(0, 1), (0, 2), (1, 2)], strict=True):
        both = codes[[a, b]][:, (codes[[a, b]] >= 0).all(axis=0)]
        assert row.estimate == pytest.approx(value_of(coefficient, both), abs=1e-12)
        assert row.n_trials == both.shape[1]
        one = ((codes[[a, b]] >= 0).sum(axis=0) == 1).sum()
        assert row.n_missing == one
    whole = al.agreement(trials, coefficient, readers="all", n_resamples=0, n_draws=0).summary()
    assert whole["estimate"][0] == pytest.approx(value_of(coefficient, codes), abs=1e-12)
    assert whole["n_readers"][0] == 3


def test_two_raters_without_missing_ratings_are_one_pair() -> None:
    trials = simulated(2, 60)
    for coefficient in COEFFICIENTS:
        one, other = (
            al.agreement(trials, coefficient, readers=readers, n_resamples=0, n_draws=0).summary()
            for readers in ("pairs", "all")
        )
        for name in ("estimate", "se", "error_consistency"):
            assert one[name][0] == pytest.approx(other[name][0], abs=1e-12)


def test_error_consistency_is_listed_and_differs_from_agreement() -> None:
    trials = al.load_example().select(condition="clean", kind="human")
    result = al.agreement(trials, "gwet_ac1", n_resamples=0, n_draws=0, no_response="error")
    frame = result.summary()
    known = al.error_consistency(trials, n_resamples=0, n_draws=0).summary()
    np.testing.assert_allclose(frame["error_consistency"], known["estimate"])
    # Accurate raters agree, even if their errors are unrelated.
    assert frame["estimate"].min() > 0.9
    assert frame["error_consistency"].min() < 0.1
    together = al.agreement(trials, readers="all", n_resamples=0, n_draws=0, no_response="error")
    mean = known["estimate"].mean()
    assert together.summary()["error_consistency"][0] == pytest.approx(mean)


@pytest.mark.slow
def test_methods_agree_and_draws_are_dirichlet() -> None:
    """With two raters and classes, the prior of agreement is Beta(4/3, 2/3), worth two items."""
    trials = simulated(2, 150)
    result = al.agreement(trials, "raw_agreement", n_resamples=4_000, n_draws=4_000, rng=1)
    equal = int((codes_of(trials)[0] == codes_of(trials)[1]).sum())
    law = stats.beta(equal + 4 / 3, 150 - equal + 2 / 3)
    draws = result.draws("posterior")[:, 0]
    assert draws.mean() == pytest.approx(law.mean(), abs=4 * law.std() / np.sqrt(4_000))
    assert draws.std() == pytest.approx(law.std(), rel=4 / np.sqrt(2 * 4_000))
    se = result.summary()["se"][0]
    assert result.draws("bootstrap")[:, 0].std() == pytest.approx(se, rel=4 / np.sqrt(2 * 4_000))
    many = simulated(4, 150, missing=0.1)
    for coefficient in COEFFICIENTS:
        found = al.agreement(many, coefficient, readers="all", n_resamples=2_000, n_draws=2_000,
                             rng=1)  # fmt: skip
        spread = found.summary()["se"][0]
        # The delta method omits terms of order 1 / n, and draws have Monte Carlo error.
        for method in ("bootstrap", "posterior"):
            assert found.draws(method)[:, 0].std() == pytest.approx(spread, rel=0.1)


def test_equal_ratings_have_a_posterior_and_no_spread() -> None:
    truth = NO_YES[np.random.default_rng(0).integers(0, 2, 50)]
    same = al.agreement(al.Trials.from_arrays([truth, truth], truth), "gwet_ac1", **FEW)
    row = same.summary(intervals="all").iloc[0]
    assert (row["estimate"], row["se"]) == (1, 0)
    assert {"no-variation", "ec-undefined"} <= set(row["note_codes"].split())
    assert row["posterior_eti95_lb"] < 0.99


@pytest.mark.parametrize("readers", ["pairs", "all"])
def test_without_an_item_in_common(readers: str) -> None:
    truth = NO_YES[np.arange(40) % 2]
    first, second = truth.astype(object), truth.astype(object)
    first[:10], second[10:] = None, None
    trials = al.Trials.from_arrays([first, second], truth)
    frame = al.agreement(trials, readers=readers, **FEW).summary()
    assert np.isnan(frame["estimate"][0])
    assert frame["n_missing"][0] == 40
    nobody = al.Trials.from_arrays([first, second, [None] * 40], truth)
    note = al.agreement(nobody, readers="all", n_resamples=0, n_draws=0).summary()["note"][0]
    assert "no ratings by observer_2" in note
