"""The table of similar representations: values, coverage, joining other metrics, bad input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from alikely.papers import representation_similarity
from alikely.papers import representations as measures


def nets(n: int = 40, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    return {"a": x, "b": x + rng.normal(size=x.shape), "c": rng.normal(size=(n, 3))}


def test_values_are_those_of_the_functions() -> None:
    arrays = nets()
    p = {name: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) for name, x in arrays.items()}
    p["c"] = p["b"][::-1]
    truth = np.zeros(40, dtype=int)
    expected = {
        "cka": (arrays, measures.cka),
        "debiased_cka": (arrays, measures.debiased_cka),
        "soc": (p, measures.confidence_similarity),
        "soce": (p, lambda x, y: measures.confidence_similarity(x, y, truth)),
    }
    for metric, (given, function) in expected.items():
        table = representation_similarity(given, metric, truth=truth, n_resamples=50, rng=1)
        for row in table.to_dict("records"):
            value = function(given[row["observer_a"]], given[row["observer_b"]])
            assert row[metric] == pytest.approx(value, abs=1e-12)
            assert row["bootstrap_eti95_lb"] < row["bootstrap_eti95_ub"]
    again = representation_similarity(arrays, n_resamples=50, rng=1)
    assert again.equals(representation_similarity(arrays, n_resamples=50, rng=1))


def test_errors_of_one_another_agree() -> None:
    """Standard errors by influence, against the spread of the bootstrap's mean of ratios."""
    p = np.random.default_rng(2).dirichlet(np.ones(4), (2, 400))
    truth = np.random.default_rng(3).integers(0, 4, 400)
    for metric in ("soc", "soce"):
        row = representation_similarity(
            {"a": p[0], "b": p[1]}, metric, truth=truth, n_resamples=2_000, rng=1
        ).iloc[0]
        width = row["bootstrap_eti95_ub"] - row["bootstrap_eti95_lb"]
        # The quantiles of 2,000 replicates are off by 4 %; 400 items by 5 % in the error itself.
        assert width / (2 * 1.96 * row["se"]) == pytest.approx(1, abs=4 * np.hypot(0.04, 0.02))


@pytest.mark.slow
def test_debiased_intervals_cover(sets: Callable[..., int], figure: Callable[[str], None]) -> None:
    n_sets, n, p = sets(400, 100), 100, 50
    rng = np.random.default_rng(5)
    mixing = rng.normal(size=(p, p)) * 0.6 / np.sqrt(p)
    # In the population: covariances I, mixing, and mixing' mixing + .64 I.
    other = mixing.T @ mixing + 0.64 * np.eye(p)
    truth = (mixing**2).sum() / np.sqrt(p * (other**2).sum())
    inside = {"analytic_ci95": 0, "bootstrap_eti95": 0}
    for seed in range(n_sets):
        x = rng.normal(size=(n, p))
        y = x @ mixing + 0.8 * rng.normal(size=(n, p))
        row = representation_similarity({"x": x, "y": y}, n_resamples=200, rng=seed).iloc[0]
        for name in inside:
            inside[name] += int(row[f"{name}_lb"] <= truth <= row[f"{name}_ub"])
    figure(f"debiased CKA, {n} items of {p} units: {inside} of {n_sets} intervals hold the truth")
    # At least nominal but for chance, one in 10,000.
    assert inside["bootstrap_eti95"] >= stats.binom.ppf(1e-4, n_sets, 0.95)
    # By influence functions of the plain form: too narrow, as the docstring says.
    assert inside["analytic_ci95"] >= stats.binom.ppf(1e-4, n_sets, 0.86)


def test_bad_input() -> None:
    arrays = nets()
    with pytest.raises(ValueError, match="soce is about items that both get wrong: give truth="):
        representation_similarity(arrays, "soce")
    with pytest.raises(
        ValueError,
        match="metric must be one of 'debiased_cka', 'cka', 'soc', 'soce'; got 'rsa'",
    ):
        representation_similarity(arrays, "rsa")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must map names of systems to arrays"):
        representation_similarity(list(arrays))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least two systems, got 1"):
        representation_similarity({"a": arrays["a"]})
    with pytest.raises(ValueError, match="same items, got 40 of 'a', 39 of 'b'"):
        representation_similarity({"a": arrays["a"], "b": arrays["b"][1:]})
    with pytest.raises(ValueError, match="n_resamples must be at least 2, got 1"):
        representation_similarity(arrays, n_resamples=1)
