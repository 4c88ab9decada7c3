"""Criteria of classes: probabilities against quadrature, identifiability, recovery, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from scipy import integrate, optimize, special, stats

from alikely.metrics.alternatives import m_afc_probability
from alikely.models.criteria import answer_probabilities, class_criteria

N_ITEMS, N_CLASSES, N_ANSWERS = 96, 6, 30
# What is evaluated a few times is not worth the time of compiling.
QUICK = Mode("py", "fast_compile")
ANSWERS = np.array([[9, 1, 0], [6, 3, 1], [1, 8, 1], [3, 7, 0], [2, 1, 7], [4, 2, 4]])
TRUTH = np.array([0, 0, 1, 1, 2, 2])


@pytest.fixture(scope="module")
def function() -> Any:
    """Probabilities, and the gradient of the sum of their logarithms, of criteria and strengths."""
    b, d, truth = pt.vector("b"), pt.vector("d"), pt.lvector("truth")
    p = answer_probabilities(b, d, truth)
    slopes = pt.grad(pt.log(p).sum(), [b, d])
    return pytensor.function([b, d, truth], [p, *slopes], mode=QUICK)


def exact(b: np.ndarray, d: float, truth: int) -> np.ndarray:
    """Probability that each class has the largest evidence, over the winner's own noise."""
    mean = b + d * (np.arange(len(b)) == truth)

    ahead = mean[:, None] - mean + np.diag(np.full(len(b), np.inf))

    def density(x: float) -> np.ndarray:
        return special.ndtr(x + ahead).prod(axis=1) * np.exp(-(x**2) / 2)

    return integrate.quad_vec(density, -9, 9, epsabs=1e-12)[0] / np.sqrt(2 * np.pi)


def simulated(
    rng: np.random.Generator, bias: float = 0.6, rho: float = 0.7
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Answers by largest evidence, true classes and margins; and the criteria behind them."""
    truth = np.arange(N_ITEMS) % N_CLASSES
    b = bias * rng.normal(size=N_CLASSES)
    b -= b.mean()
    x = rng.normal(size=N_ITEMS)
    z = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=N_ITEMS)
    evidence = b + rng.normal(size=(N_ANSWERS, N_ITEMS, N_CLASSES))
    evidence[:, np.arange(N_ITEMS), truth] += 1.5 + 1.2 * z
    given = evidence.argmax(axis=-1)
    answers = (given[..., None] == np.arange(N_CLASSES)).sum(axis=0)
    return {"answers": answers, "truth": truth, "margins": x}, b


@pytest.mark.parametrize(("n_classes", "error"), [(3, 1e-9), (6, 1e-9), (16, 1e-8)])
def test_answers_are_the_largest_evidence(function: Any, n_classes: int, error: float) -> None:
    rng = np.random.default_rng(n_classes)
    d = np.array([-4.0, -2.0, 0.0, 0.7, 1.5, 3.0, 6.0, 12.0])
    for bias in (0.3, 1.5):
        b = bias * rng.normal(size=n_classes)
        b -= b.mean()
        truth = rng.integers(n_classes, size=len(d))
        p = function(b, d, truth)[0]
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-14)
        expected = [exact(b, *item) for item in zip(d, truth, strict=True)]
        np.testing.assert_allclose(p, expected, rtol=0, atol=error)


@pytest.mark.parametrize("m", [3, 16])
def test_without_criteria_right_answers_are_those_of_m_alternatives(function: Any, m: int) -> None:
    d = np.linspace(-3, 12, 31)
    p = function(np.zeros(m), d, np.ones(31, dtype=int))[0]
    right = m_afc_probability(d, m)
    np.testing.assert_allclose(p[:, 1], right, rtol=0, atol=1e-8)
    np.testing.assert_allclose(p[:, 0], (1 - right) / (m - 1), rtol=0, atol=1e-8)


def test_gradients_are_those_of_the_probabilities(function: Any) -> None:
    b, d = np.array([-0.8, 0.5, 0.1, 0.2]), np.array([-2.0, 0.0, 0.3, 1.8, 4.0])
    truth = np.array([0, 1, 2, 3, 1])
    at = np.concatenate([b, d])

    def value(at: np.ndarray) -> float:
        return float(np.log(function(at[:4], at[4:], truth)[0]).sum())

    slopes = optimize.approx_fprime(at, value, 1e-6)
    np.testing.assert_allclose(np.concatenate(function(b, d, truth)[1:]), slopes, atol=2e-4)


@pytest.mark.parametrize("spread", [0.0, 1.0, 8.0])
def test_gradients_are_finite_in_both_tails(function: Any, spread: float) -> None:
    b = spread * np.array([-1.0, -0.5, 0.5, 1.0])
    d = np.array([-60.0, -15.0, 0.0, 15.0, 60.0])
    for found in function(b, d, np.array([0, 1, 2, 3, 3])):
        assert np.isfinite(found).all()


def test_what_all_criteria_share_changes_nothing(function: Any) -> None:
    b, d, truth = np.array([-0.8, 0.5, 0.1, 0.2]), np.linspace(-1, 4, 4), np.arange(4)
    there, here = function(b + 0.7, d, truth)[0], function(b, d, truth)[0]
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-10)


def test_only_wrong_answers_tell_a_criterion_from_strengths(function: Any) -> None:
    """Other criteria with other strengths give the same right answers, and other wrong ones."""
    b, d, truth = np.array([-0.3, 0.2, 0.0, 0.1]), np.array([0.5, 1.0, 1.5, 2.0]), np.arange(4)
    here = function(b, d, truth)[0]
    preferred = b + 0.8 * (truth == 0)

    def off(strength: float, item: int) -> float:
        p = function(preferred, np.full(4, strength), truth)[0]
        return float(p[item, item] - here[item, item])

    other = np.array([optimize.brentq(off, -5, 8, (item,)) for item in range(4)])
    there = function(preferred, other, truth)[0]
    np.testing.assert_allclose(np.diag(there), np.diag(here), atol=1e-9)
    assert other[0] == pytest.approx(d[0] - 0.8, abs=1e-6)
    np.testing.assert_allclose(there[0], here[0], atol=1e-8)
    assert (there[1:, 0] > 1.4 * here[1:, 0]).all()


def test_bias_attenuates_correlations_with_shares_of_right_answers() -> None:
    found = {}
    for bias in (0.0, 0.6):
        r = []
        for seed in range(60):
            data, _ = simulated(np.random.default_rng(seed), bias)
            right = data["answers"][np.arange(N_ITEMS), data["truth"]]
            r.append(np.corrcoef(data["margins"], right)[0, 1])
        found[bias] = np.array(r)
    # The same seeds, so that the difference has little noise of its own.
    loss = found[0.0] - found[0.6]
    assert loss.mean() > 4 * loss.std() / np.sqrt(len(loss))
    assert 0.03 < loss.mean() < 0.12


def test_likelihood_is_that_of_multinomial_counts(function: Any) -> None:
    """Also of an item without answers, and of a class that is neither given nor true."""
    answers = np.pad(np.vstack([ANSWERS, [[0, 0, 0]]]), ((0, 0), (0, 1)))
    truth = np.append(TRUTH, 0)
    model = class_criteria(answers, truth, np.arange(7.0))
    b, d = np.array([0.4, 0.0, 0.1, -0.5]), np.array([1.0, 0.2, 2.0, 0.5, 1.1, -0.4, 0.7])
    held = pm.do(model, {"criterion": b, "strength": d})
    found = held.compile_logp(vars=[held["observed_answers"]], sum=False, mode=QUICK)
    expected = stats.multinomial(answers.sum(axis=1), function(b, d, truth)[0]).logpmf(answers)
    np.testing.assert_allclose(found(held.initial_point())[0], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answers": ANSWERS[0]}, r"must have shape \(item, class\) and truth shape \(item,\)"),
        ({"truth": TRUTH[:5]}, r"got \(6, 3\) and \(5,\)"),
        ({"answers": ANSWERS[:4], "truth": TRUTH[:4]}, "at least 5 items, got 4"),
        ({"answers": ANSWERS[:, :2]}, "needs at least 3 classes, got 2; item_margins does without"),
        ({"answers": ANSWERS + 0.5}, "whole numbers of at least 0, got 9.5"),
        ({"answers": ANSWERS - 1}, "whole numbers of at least 0, got -1"),
        ({"answers": ANSWERS * np.nan}, "whole numbers of at least 0, got nan"),
        ({"truth": TRUTH + 1}, "positions of classes, 0 to 2, got 3 at item 4"),
        ({"truth": TRUTH - 0.5}, "positions of classes, 0 to 2, got -0.5 at item 0"),
        ({"answers": 9 * np.eye(3)[TRUTH]}, "always or never right on each of its items"),
        ({"margins": [1.0] * 5}, r"margins must be of the 6 items of right, got shape \(5,\)"),
        ({"margins": [1.0] * 6}, "all margins are 1: nothing can correlate"),
        ({"margins": [1, 2, 3, 4, np.nan, 6]}, "the margin of item 4 is nan"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        class_criteria(**{"answers": ANSWERS, "truth": TRUTH, "margins": np.arange(6.0), **change})
    assert "\n" not in str(caught.value)
