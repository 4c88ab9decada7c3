"""Rater agreement: published examples, other packages, derivatives, symmetries."""

from __future__ import annotations

from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats import inter_rater

import alikely as al
from alikely.data.blocks import Block
from alikely.inference.evaluation import evaluator, reading_features
from alikely.metrics import Metric
from alikely.metrics.ratings import Readings

ALL = [m for m in al.metrics.metric.metrics().values() if m.counts == "ratings"]
NONE = -1
# Gwet (2014): four raters, twelve items, five classes; 0 means missing. Krippendorff (2011,
# "Computing Krippendorff's alpha-reliability") prints alpha of the same ratings.
FOUR = (
    np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 0],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    )
    - 1
)
# Fleiss (1971): six raters of fifteen items in five classes, as counts.
SIX = np.array(
    [
        [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0],
        [2, 0, 4, 0, 0], [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6],
        [1, 0, 0, 5, 0], [1, 1, 0, 4, 0], [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1],
    ]
)  # fmt: skip
TWO = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])


def codes_of(table: Any) -> np.ndarray:
    """Ratings of two raters, from their table."""
    return np.repeat(np.indices(table.shape).reshape(2, -1), table.ravel(), axis=1)


def readings(codes: Any, n_classes: int | None = None) -> Readings:
    """Sums over all items, for all raters."""
    array = np.asarray(codes)
    counted = reading_features(block_of(array, n_classes or int(array.max()) + 1, True))
    sums = counted.sums(np.ones((1, array.shape[1])))
    return Readings(*(part[0, 0] for part in sums[:-1]), n_classes=sums.n_classes[0])


def of(name: str, codes: Any, n_classes: int | None = None) -> float:
    return float(al.metrics.get_metric(name).value(readings(codes, n_classes)))


def block_of(codes: np.ndarray, k: int, groups: bool) -> Block:
    n_readers, n = codes.shape
    return Block(
        slice(0, 1), np.array([0]), np.array([1]), np.zeros((n_readers, n), np.int8), np.arange(n),
        codes.astype(np.int32), np.zeros(n, np.int32), k, np.array([k]),
        readers=np.ones((1, n_readers), bool) if groups else np.empty((0, 0), bool),
    )  # fmt: skip


def standard_error(name: str, codes: np.ndarray, k: int) -> float:
    slopes = evaluator(block_of(codes, k, True), al.metrics.get_metric(name)).slopes()
    return float(np.sqrt((slopes**2).sum()))


def random_codes(rng: np.random.Generator, n_readers: int, missing: float) -> tuple[Any, int]:
    """Ratings with some agreement, of two to five classes."""
    k, n = int(rng.integers(2, 6)), int(rng.integers(8, 60))
    truth = rng.choice(k, n, p=rng.dirichlet(np.ones(k)))
    said = np.where(rng.random((n_readers, n)) < 0.7, truth, rng.integers(0, k, (n_readers, n)))
    said[rng.random(said.shape) < missing] = NONE
    return said, k


# Gwet (2014): values and standard errors, for four raters as printed by irrCAC. His error of alpha
# is that of Scott's pi; for six raters he divides by n - 1, and the delta method by n.
NO_SE = float("nan")
PRINTED: dict[str, tuple[np.ndarray, float, dict[str, tuple[float, float]]]] = {
    "four": (FOUR, 1, {
        "raw_agreement": (0.8181818, NO_SE), "gwet_ac1": (0.77544, NO_SE),
        "fleiss_kappa": (0.76117, NO_SE), "krippendorff_alpha": (0.74342, NO_SE),
        "cohen_kappa": (0.76282, NO_SE), "brennan_prediger": (0.77273, NO_SE),
    }),
    "two": (codes_of(TWO), 1, {
        "cohen_kappa": (0.7964094, 0.05891072), "fleiss_kappa": (0.7962397, 0.05905473),
        "gwet_ac1": (0.8493305, 0.04321747), "brennan_prediger": (0.835, 0.04693346),
        "raw_agreement": (0.89, 0.03128898), "krippendorff_alpha": (0.7972585, NO_SE),
    }),
    "six": (np.array([np.repeat(np.arange(5), row) for row in SIX]).T, 15 / 14, {
        "gwet_ac1": (0.4448007, 0.08418757), "fleiss_kappa": (0.4139265, 0.08119291),
        "brennan_prediger": (0.4388889, 0.08312142), "krippendorff_alpha": (0.4204384, NO_SE),
    }),
}  # fmt: skip


@pytest.mark.parametrize("readers", PRINTED)
def test_printed_values_and_standard_errors(readers: str) -> None:
    codes, factor, printed = PRINTED[readers]
    for name, (value, se) in printed.items():
        # With missing ratings, five or seven digits are printed.
        digits = len(str(value)) - 2 if readers == "four" else 7
        assert of(name, codes) == pytest.approx(value, abs=0.5 * 10**-digits)
        if np.isfinite(se):
            found = standard_error(name, codes, int(codes.max()) + 1) * np.sqrt(factor)
            assert found == pytest.approx(se, abs=5e-9)


def test_published_alphas_of_krippendorff() -> None:
    """Compare two observers with ten units and two values."""
    binary = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]])
    assert round(of("krippendorff_alpha", binary), 3) == 0.095


def test_values_agree_with_statsmodels() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        pair, k = random_codes(rng, 2, 0.0)
        table = np.zeros((k, k))
        np.add.at(table, tuple(pair), 1)
        # Its test divides by 0 if a rater uses a single class.
        with np.errstate(all="ignore"):
            found = inter_rater.cohens_kappa(table)
        assert of("cohen_kappa", pair, k) == pytest.approx(found.kappa, abs=1e-10)
        assert standard_error("cohen_kappa", pair, k) == pytest.approx(found.std_kappa, abs=1e-10)
        many, k = random_codes(rng, int(rng.integers(3, 7)), 0.0)
        counts = (many[..., None] == np.arange(k)).sum(axis=0)
        kappa = inter_rater.fleiss_kappa(counts)
        assert of("fleiss_kappa", many, k) == pytest.approx(kappa, abs=1e-10)
        uniform = inter_rater.fleiss_kappa(counts, method="randolph")
        assert of("brennan_prediger", many, k) == pytest.approx(uniform, abs=1e-10)


def test_values_agree_with_krippendorff() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        codes, k = random_codes(rng, int(rng.integers(2, 6)), 0.3)
        given_ = np.where(codes == NONE, np.nan, codes)
        known = krippendorff.alpha(given_, level_of_measurement="nominal", value_domain=range(k))
        assert of("krippendorff_alpha", codes, k) == pytest.approx(known, abs=1e-10)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n_readers=st.integers(2, 5), missing=st.sampled_from([0, 0.3]))
def test_the_order_of_raters_classes_and_items_does_not_matter(
    seed: int, n_readers: int, missing: float
) -> None:
    rng = np.random.default_rng(seed)
    codes, k = random_codes(rng, n_readers, missing)
    counted = readings(codes, k)
    renamed = np.where(codes == NONE, NONE, rng.permutation(k)[codes])
    others = [codes[rng.permutation(n_readers)], codes[:, rng.permutation(codes.shape[1])], renamed]
    turned = [readings(other, k) for other in others]
    for metric in ALL:
        value = metric.value(counted)
        for other in turned:
            np.testing.assert_allclose(metric.value(other), value, atol=1e-12)
        low, high = metric.bounds
        assert np.isnan(value) or low <= value <= high + 1e-12


@pytest.mark.parametrize("metric", ALL, ids=repr)
def test_perfect_agreement_is_one_and_undefined_has_a_reason(metric: Metric) -> None:
    alike = readings(np.tile([0, 1, 2, 2, 1], (3, 1)))
    assert metric.value(alike) == 1
    assert metric.reason(alike) == ""
    apart = readings([[0, 1, NONE], [NONE, NONE, 1]])
    assert np.isnan(metric.value(apart))
    assert metric.reason(apart) == "no item with two ratings"
    one = readings([[0, 0, 0], [0, 0, 0]], 1)
    if metric.name == "raw_agreement":
        assert metric.value(one) == 1
    else:
        assert np.isnan(metric.value(one))
        assert "one class" in str(metric.reason(one))


@pytest.mark.parametrize("groups", [True, False], ids=["all readers", "pair"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_slopes_are_the_derivative(groups: bool, seed: int) -> None:
    """Compare with central differences, with a fixed small-sample correction of alpha."""
    codes, k = random_codes(np.random.default_rng(seed), 4 if groups else 2, 0.2)
    block = block_of(codes, k, groups)
    counted_block = reading_features(block)
    for metric in ALL:

        def population(weights: Any, metric: Metric = metric) -> Any:
            sums = counted_block.sums(weights)
            endless = [1e9 * part for part in sums[:-1]]
            return metric.value(Readings(*endless, n_classes=sums.n_classes))[:, 0]

        n = codes.shape[1]
        slopes = evaluator(block, metric).slopes()[0]
        up, down = (population(1 + sign * 1e-4 * np.eye(n)) for sign in (1, -1))
        if not np.isfinite([up, down]).all():
            continue
        found = (up - down) / 2e-4
        if metric.name == "krippendorff_alpha":
            total = counted_block.sums(np.ones((1, n))).paired.sum()
            found *= 1 - 1 / total
        np.testing.assert_allclose(slopes, found, atol=1e-5)
        assert abs(slopes.sum()) < 1e-10
