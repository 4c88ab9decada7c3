"""Representational similarity: closed forms, brute force, limits, coverage, bad input."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

from alikely.papers import representation_similarity
from alikely.papers.representations import (
    cka_influence,
    confidences,
    weighted_cka,
    weighted_debiased_cka,
)


def measured(metric: str, x: np.ndarray, y: np.ndarray, truth: object = None) -> float:
    given = {"x": x, "y": y}
    table = representation_similarity(given, metric, truth=truth, n_resamples=2, rng=1)  # type: ignore[arg-type]
    return float(table[metric][0])


cka, debiased_cka = (functools.partial(measured, name) for name in ("cka", "debiased_cka"))


def test_standard_errors_agree_with_the_bootstrap() -> None:
    """Compare standard errors by influence with the bootstrap of the mean of ratios."""
    p = np.random.default_rng(2).dirichlet(np.ones(4), (2, 400))
    truth = np.random.default_rng(3).integers(0, 4, 400)
    for metric in ("soc", "soce"):
        row = representation_similarity(
            {"a": p[0], "b": p[1]}, metric, truth=truth, n_resamples=2_000, rng=1
        ).iloc[0]
        width = row["bootstrap_eti95_ub"] - row["bootstrap_eti95_lb"]
        # Quantiles of 2,000 replicates have an error of 4%, and standard errors of 400 items of 5%.
        assert width / (2 * 1.96 * row["se"]) == pytest.approx(1, abs=4 * np.hypot(0.04, 0.02))


@pytest.mark.slow
def test_debiased_intervals_cover(sets: Callable[..., int]) -> None:
    n_sets, n, p = sets(400, 100), 100, 50
    rng = np.random.default_rng(5)
    mixing = rng.normal(size=(p, p)) * 0.6 / np.sqrt(p)
    # Population covariances are I, mixing, and mixing' mixing + 0.64 I.
    other = mixing.T @ mixing + 0.64 * np.eye(p)
    truth = (mixing**2).sum() / np.sqrt(p * (other**2).sum())
    inside = {"analytic_ci95": 0, "bootstrap_eti95": 0}
    for seed in range(n_sets):
        x = rng.normal(size=(n, p))
        y = x @ mixing + 0.8 * rng.normal(size=(n, p))
        row = representation_similarity({"x": x, "y": y}, n_resamples=200, rng=seed).iloc[0]
        for name in inside:
            inside[name] += int(row[f"{name}_lb"] <= truth <= row[f"{name}_ub"])
    # At least nominal, except by chance of one in 10,000.
    assert inside["bootstrap_eti95"] >= stats.binom.ppf(1e-4, n_sets, 0.95)
    # Influence functions of the plain form are too narrow, as stated in the docstring.
    assert inside["analytic_ci95"] >= stats.binom.ppf(1e-4, n_sets, 0.86)


def two(n: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return x, np.column_stack([x @ rng.normal(size=(4, 3)), rng.normal(size=(n, 3))]) + 5


def kernel_cka(x: np.ndarray, y: np.ndarray) -> float:
    """CKA by centering matrices and traces, as defined."""
    h = np.eye(len(x)) - 1 / len(x)
    k, m = x @ x.T, y @ y.T
    hsic = [np.trace(a @ h @ b @ h) for a, b in ((k, m), (k, k), (m, m))]
    return float(hsic[0] / np.sqrt(hsic[1] * hsic[2]))


def song_cka(x: np.ndarray, y: np.ndarray) -> float:
    """CKA by the unbiased estimator in closed form (Song et al. 2012, equation 5)."""
    n, one = len(x), np.ones(len(x))
    k, m = (a @ a.T * (1 - np.eye(n)) for a in (x, y))

    def hsic(a: np.ndarray, b: np.ndarray) -> float:
        whole = (one @ a @ one) * (one @ b @ one) / ((n - 1) * (n - 2))
        return float(np.trace(a @ b) + whole - 2 / (n - 2) * (one @ a @ b @ one)) / (n * (n - 3))

    return hsic(k, m) / math.sqrt(hsic(k, k) * hsic(m, m))


def test_equal_to_a_second_implementation() -> None:
    for seed in range(5):
        x, y = two(seed=seed)
        assert cka(x, y) == pytest.approx(kernel_cka(x, y), abs=1e-10)
        assert debiased_cka(x, y) == pytest.approx(song_cka(x, y), abs=1e-10)


def test_rotation_and_scale_do_not_matter() -> None:
    x, y = two()
    q = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    for measure in (cka, debiased_cka):
        assert measure(x, 3 * y @ q - 2) == pytest.approx(measure(x, y), abs=1e-10)
        assert measure(y, y @ q) == pytest.approx(1, abs=1e-10)
        assert measure(x, y) == pytest.approx(measure(y, x), abs=1e-12)
        assert math.isnan(measure(x, np.ones((12, 2))))


def test_the_plain_form_treats_weights_as_copies() -> None:
    x, y = two()
    times = np.random.default_rng(2).multinomial(12, np.full(12, 1 / 12))
    drawn = np.repeat(np.arange(12), times)
    found = weighted_cka(x, y, times[None].astype(float))[0]
    assert found == pytest.approx(kernel_cka(x[drawn], y[drawn]), abs=1e-10)


def test_the_debiased_form_excludes_pairs_of_copies() -> None:
    """Compare with sums over all four different items."""
    x, y = two(11)
    w = np.array([2, 0, 1, 3, 1, 0, 1, 1, 1, 1, 2], float)
    k, m = x @ x.T, y @ y.T

    def hsic(a: np.ndarray, b: np.ndarray) -> float:
        chosen = np.array(list(itertools.permutations(np.flatnonzero(w), 4)))
        i, j, r, s = chosen.T
        term = a[i, j] * (b[i, j] - 2 * b[i, r] + b[r, s])
        return float((w[chosen].prod(axis=1) * term).sum())

    expected = hsic(k, m) / math.sqrt(hsic(k, k) * hsic(m, m))
    assert weighted_debiased_cka(x, y, w[None])[0] == pytest.approx(expected, abs=1e-10)
    few = np.array([[5, 2, 1, *[0.0] * 8]])
    assert np.isnan(weighted_debiased_cka(x, y, few)).all()


def test_influence_is_the_derivative() -> None:
    x, y = two()
    n, step = len(x), 1e-6
    for item, psi in enumerate(cka_influence(x, y)):
        up = np.full(n, 1 - step)
        up[item] += step * n
        changed = weighted_cka(x, y, np.stack([up, 2 - up]))
        # Error of the central difference: rounding divided by the step.
        assert psi == pytest.approx((changed[0] - changed[1]) / (2 * step), abs=1e-8)


def test_divergence_equals_that_of_scipy() -> None:
    p, q = np.random.default_rng(4).dirichlet(np.full(5, 0.5), (2, 30))
    expected = jensenshannon(p, q, base=2, axis=1) ** 2
    np.testing.assert_allclose(confidences(p, q, None)[0], expected, atol=1e-12)


def test_limits_of_the_similarity_of_confidences() -> None:
    sure, other = np.eye(4), np.eye(4)[[1, 0, 3, 2]]
    assert measured("soc", sure, sure) == 1
    assert measured("soc", sure, other) == 0.5
    half = measured("soc", np.eye(2)[[0, 1, 0, 1]], np.full((4, 2), 0.5))
    assert half == pytest.approx(1 / (1 + 1 - 0.75 * math.log2(3) + 0.5), abs=1e-12)
    # Both are incorrect on the last two items only, with equal confidences.
    mixed = np.vstack([other[:2], sure[2:]])
    assert measured("soce", sure, mixed, [0, 1, 3, 2]) == 1
    assert math.isnan(measured("soce", sure, other, [0, 1, 2, 3]))


def test_constant_units_have_no_variance() -> None:
    """Also if rounding leaves small differences."""
    rng, whole = np.random.default_rng(0), np.ones((1, 20))
    for _ in range(300):
        row = rng.normal(size=rng.integers(1, 6)) * 10 ** rng.uniform(-3, 3)
        x, y = np.tile(row, (20, 1)), rng.normal(size=(20, 3))
        assert np.isnan(weighted_cka(x, y, whole)).all()
        assert np.isnan(weighted_debiased_cka(x, y, whole)).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-90, 1e90, 1e200])
def test_extreme_scales(scale: float) -> None:
    x, y = two()
    assert cka(x * scale, y) == pytest.approx(cka(x, y), abs=1e-12)
    assert debiased_cka(x * scale, y) == pytest.approx(debiased_cka(x, y), abs=1e-12)
