"""Error patterns: references, influence, and the published matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import distance
from statsmodels.stats.inter_rater import cohens_kappa

from alikely.metrics import errors

TABLES = arrays(np.int64, (4, 4), elements=st.integers(0, 30))


def test_agreement_and_its_error_equal_cohens_kappa() -> None:
    """1,000 random tables, value and standard error against an independent implementation."""
    rng = np.random.default_rng(1)
    for _ in range(1000):
        k = int(rng.integers(2, 8))
        table = rng.integers(0, 20, (k, k))
        with np.errstate(invalid="ignore"):
            reference = cohens_kappa(table)
        assert errors.misclassification_agreement(table) == pytest.approx(
            reference.kappa, abs=1e-12
        )
        psi = errors.misclassification_influence(table)
        se = np.sqrt((table * psi**2).sum()) / table.sum()
        # The reference subtracts squares; where nothing is left it may fall below 0.
        assert se**2 == pytest.approx(float(reference.var_kappa), abs=1e-10)


@given(TABLES)
def test_agreement_is_symmetric_and_its_influence_sums_to_zero(table: np.ndarray) -> None:
    one, other = (errors.misclassification_agreement(t) for t in (table, table.T))
    np.testing.assert_allclose(one, other, atol=1e-12)
    if np.isfinite(one):
        assert -1 <= one <= 1
        psi = errors.misclassification_influence(table)
        assert abs((table * psi).sum()) < 1e-8
        order = np.array([2, 0, 3, 1])
        relabelled = errors.misclassification_agreement(table[np.ix_(order, order)])
        assert relabelled == pytest.approx(float(one), abs=1e-12)


def test_influence_is_the_derivative() -> None:
    table = np.array([[3.0, 5, 1], [2, 8, 4], [0, 1, 5]])
    psi = errors.misclassification_influence(table)
    step = 1e-6
    for i in range(3):
        for j in range(3):
            mixed = (1 - step) * table / table.sum()
            mixed[i, j] += step
            slope = (
                errors.misclassification_agreement(mixed)
                - errors.misclassification_agreement(table)
            ) / step
            assert psi[i, j] == pytest.approx(float(slope), abs=1e-4)


def test_undefined_agreement_says_why() -> None:
    tables = np.array([[[0, 0], [0, 0]], [[0, 0], [0, 4]], [[1, 0], [0, 1]]])
    assert np.isnan(errors.misclassification_agreement(tables)).tolist() == [True, True, False]
    assert errors.misclassification_undefined_reason(tables).tolist() == [
        "no joint error",
        "one and the same wrong label throughout",
        "",
    ]


def test_divergence_equals_the_square_of_a_distance() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.full(6, 0.3), (2, 500))
    for base in (2, np.e, 10):
        found = errors.jensen_shannon_divergence(p, q, base)
        np.testing.assert_allclose(
            found, distance.jensenshannon(p, q, base, axis=1) ** 2, atol=1e-12
        )


@given(TABLES, TABLES)
def test_class_level_divergence_bounds_and_symmetries(a: np.ndarray, b: np.ndarray) -> None:
    for mixture in ("mean", "pooled"):
        one = errors.error_divergence(a, b, mixture=mixture)  # type: ignore[arg-type]
        other = errors.error_divergence(b, a, mixture=mixture)  # type: ignore[arg-type]
        np.testing.assert_allclose(one, other, atol=1e-12)
        if np.isfinite(one):
            assert one >= -1e-12
    bits = errors.error_divergence(a, b)
    if np.isfinite(bits):
        assert bits <= 1
        # The mean is the distribution from which the divergence is least.
        assert bits <= errors.error_divergence(a, b, mixture="pooled") + 1e-12
        nats = errors.error_divergence(a, b, base=np.e)
        assert nats == pytest.approx(float(bits) * np.log(2))
    # What a system answers rightly is no error.
    np.testing.assert_array_equal(errors.error_divergence(a + 7 * np.eye(4), b), bits)


def test_divergence_by_hand() -> None:
    a, b = np.array([[9, 3, 1], [0, 9, 2], [0, 0, 9]]), np.array([[9, 1, 1], [0, 9, 0], [0, 0, 9]])
    p, q = np.array([3.5, 1.5]) / 5, np.array([1.5, 1.5]) / 3
    first = distance.jensenshannon(p, q, 2) ** 2
    p, q = np.array([0.5, 2.5]) / 3, np.array([0.5, 0.5])
    second = distance.jensenshannon(p, q, 2) ** 2
    expected = (6 * first + 2 * second) / 8
    assert errors.error_divergence(a, b).item() == pytest.approx(expected)
    assert errors.error_similarity(expected) == pytest.approx(1 / (1 + expected))
    assert np.isnan(errors.error_divergence(np.eye(3), np.eye(3)))


def test_bayes_factor_against_its_sequential_form() -> None:
    """Chance of the second row after the first, over that from the prior alone."""
    a = np.array([[0, 4, 1, 2], [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 9, 0]])
    b = np.array([[0, 2, 2, 0], [3, 0, 0, 1], [0, 2, 0, 1], [0, 0, 0, 0]])
    found = errors.same_distribution_bayes_factor(a, b)
    for t in range(4):
        keep = np.arange(4) != t
        log = 0.0
        for start, sign in ((a[t, keep] + 0.5, 1), (np.full(3, 0.5), -1)):
            state = start.astype(float)
            for response in np.repeat(np.arange(3), b[t, keep]):
                log += sign * np.log(state[response] / state.sum())
                state[response] += 1
        assert found[t] == pytest.approx(log)
    assert found[1] == found[3] == 0


def test_bayes_factor_tells_same_from_different() -> None:
    rng = np.random.default_rng(3)
    same = different = 0.0
    for _ in range(200):
        p, q = rng.dirichlet(np.full(5, 0.5), 2)
        rows = np.zeros((3, 6, 6))
        rows[0, 0, 1:], rows[1, 0, 1:] = rng.multinomial(60, p, 2)
        rows[2, 0, 1:] = rng.multinomial(60, q)
        same += errors.same_distribution_bayes_factor(rows[0], rows[1])[0] > 0
        different += errors.same_distribution_bayes_factor(rows[0], rows[2])[0] < 0
    assert same / 200 > 0.9
    assert different / 200 > 0.9


def test_published_matrices(shared_data: Path) -> None:
    """All 4,657 pairs of [X25], conditions pooled, with their imputed responses."""
    folder = shared_data / "model_vs_human"
    trials = pd.read_parquet(folder / "trials.parquet")
    imputed = pd.read_parquet(folder / "imputed_no_response.parquet")
    published = pd.read_parquet(folder / "published_metrics.parquet")
    text = ["dataset", "image", "observer", "truth", "response"]
    trials = trials[text].astype(object)
    keys = ["dataset", "image", "observer"]
    filled = trials.merge(imputed[[*keys, "imputed"]].astype(object), on=keys, how="left")
    filled["response"] = filled["response"].where(filled["response"].notna(), filled["imputed"])
    worst = {"ma": 0.0, "cled": 0.0}
    undefined, larger = [], 0
    for dataset, part in published.astype({"dataset": object}).groupby("dataset"):
        here = filled[filled["dataset"] == dataset]
        classes = sorted(set(here["truth"]))
        answers = here.pivot(index="image", columns="observer", values="response")
        truth = here.drop_duplicates("image").set_index("image")["truth"].loc[answers.index]
        code = {label: i for i, label in enumerate(classes)}
        t = truth.map(code).to_numpy(int)
        given_by = {name: answers[name].map(code).to_numpy(int) for name in answers}
        k = len(classes)
        rows = {
            name: np.bincount(t * k + r, minlength=k * k).reshape(k, k)
            for name, r in given_by.items()
        }
        for pair in part.astype({"observer_a": object, "observer_b": object}).itertuples():
            a, b = given_by[pair.observer_a], given_by[pair.observer_b]
            wrong = (a != t) & (b != t)
            joint = np.bincount(a[wrong] * k + b[wrong], minlength=k * k).reshape(k, k)
            agreement = errors.misclassification_agreement(joint)
            if np.isfinite(agreement):
                worst["ma"] = max(worst["ma"], abs(float(agreement) - pair.ma))
            else:
                undefined.append((dataset, pair.observer_a, pair.observer_b, pair.ma))
            both = rows[pair.observer_a], rows[pair.observer_b]
            divergence = errors.error_divergence(*both, mixture="pooled", base=np.e)
            worst["cled"] = max(worst["cled"], abs(float(divergence) - pair.cled))
            larger += errors.error_divergence(*both, base=np.e) >= pair.cled
    assert worst["ma"] < 1e-12
    assert worst["cled"] < 1e-7
    assert len(undefined) == 4
    assert {ma for *_, ma in undefined} == {1.0}
    assert larger == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: errors.misclassification_agreement([1, 2]), "a square table of classes"),
        (lambda: errors.jensen_shannon_divergence([1], [1], 3), "base must be 2, e or 10, got 3"),
        (lambda: errors.error_divergence(np.eye(3), np.eye(4)), "the same classes"),
        (lambda: errors.error_divergence(np.eye(3), np.eye(3), alpha=0), "alpha must be above 0"),
        (
            lambda: errors.error_divergence(np.eye(3), np.eye(3), mixture="max"),  # type: ignore[arg-type]
            "mixture must be 'mean' or 'pooled', got 'max'",
        ),
        (
            lambda: errors.same_distribution_bayes_factor(np.eye(1), np.eye(1)),
            "at least two classes",
        ),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
