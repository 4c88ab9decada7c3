"""Error patterns: reference implementations, influence, and published matrices."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import distance
from statsmodels.stats.inter_rater import cohens_kappa

import alikely as al
from alikely.data.blocks import blocks
from alikely.data.tables import joint_correctness
from alikely.inference.evaluation import evaluator
from alikely.metrics import errors, get_metric
from alikely.metrics.errors import Mixture, row_divergence, row_gradient

TABLES = arrays(np.int64, (4, 4), elements=st.integers(0, 30))


def influence_of_labels(table: np.ndarray) -> np.ndarray:
    """Influence of a joint error of each kind: the gradient by counts, times their number."""
    slope = errors.label_gradient(errors.label_statistics(table)) * np.sum(table)
    k = len(table)
    return np.eye(k) * slope[0] + slope[1 : 1 + k, None] + slope[1 + k :]


def test_agreement_and_its_error_equal_cohens_kappa() -> None:
    """Compare 100 random tables, values and standard errors, with another implementation."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        k = int(rng.integers(2, 8))
        table = rng.integers(0, 20, (k, k))
        with np.errstate(invalid="ignore"):
            reference = cohens_kappa(table)
        assert errors.misclassification_agreement(table) == pytest.approx(
            reference.kappa, abs=1e-12
        )
        psi = influence_of_labels(table)
        se = np.sqrt((table * psi**2).sum()) / table.sum()
        # The reference subtracts squares, which may give values slightly below 0.
        assert se**2 == pytest.approx(float(reference.var_kappa), abs=1e-10)


@given(TABLES)
def test_agreement_is_symmetric_and_its_influence_sums_to_zero(table: np.ndarray) -> None:
    one, other = (errors.misclassification_agreement(t) for t in (table, table.T))
    np.testing.assert_allclose(one, other, atol=1e-12)
    if np.isfinite(one):
        assert -1 <= one <= 1
        psi = influence_of_labels(table)
        assert abs((table * psi).sum()) < 1e-8
        order = np.array([2, 0, 3, 1])
        relabelled = errors.misclassification_agreement(table[np.ix_(order, order)])
        assert relabelled == pytest.approx(float(one), abs=1e-12)


@given(TABLES, TABLES)
def test_class_level_divergence_bounds_and_symmetries(a: np.ndarray, b: np.ndarray) -> None:
    bits = errors.error_divergence(a, b)
    np.testing.assert_allclose(errors.error_divergence(b, a), bits, atol=1e-12)
    if np.isfinite(bits):
        # The mean distribution minimizes the divergence.
        assert bits <= errors.error_divergence(a, b, mixture="pooled") + 1e-12
        nats = errors.error_divergence(a, b, base=np.e)
        assert nats == pytest.approx(float(bits) * np.log(2))
    # Correct responses are no errors.
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


@pytest.mark.parametrize("mixture", ["mean", "pooled"])
def test_errors_can_be_a_list(mixture: Mixture) -> None:
    """A list of errors with the number of possible responses gives the same divergence."""
    rng = np.random.default_rng(4)
    a, b = rng.poisson(0.3, (2, 9, 9))
    true, response = np.nonzero((a + b) * ~np.eye(9, dtype=bool))
    listed = a[true, response], b[true, response], true, 9
    for base in (2, np.e, 10):
        dense = errors.error_divergence(a, b, mixture=mixture, base=base)
        found = row_divergence(*listed, mixture=mixture, base=base)
        assert found == pytest.approx(dense.item(), abs=1e-12)
    assert np.isnan(row_divergence(np.zeros((2, 0)), np.zeros((2, 0)), [], 9)).tolist() == [1, 1]


@pytest.mark.parametrize("mixture", ["mean", "pooled"])
def test_influence_of_an_error_is_the_derivative(mixture: Mixture) -> None:
    a, b = np.array([5.0, 1, 2, 4, 3]), np.array([1.0, 5, 2, 0, 6])
    true, options = [0, 0, 1, 3, 3], {"alpha": 0.3, "mixture": mixture, "base": 2}
    by_a, by_b = row_gradient(a, b, true, 5, **options)
    step = 1e-5
    for k, one in enumerate(np.eye(5) * step):
        for found, (up, down) in (
            (by_a, ((a + one, b), (a - one, b))),
            (by_b, ((a, b + one), (a, b - one))),
        ):
            slope = row_divergence(*up, true, 5, **options) - row_divergence(
                *down, true, 5, **options
            )
            assert found[k] == pytest.approx(float(slope) / (2 * step), abs=1e-7)


def test_expected_agreement_is_the_mean_over_permutations() -> None:
    rng = np.random.default_rng(7)
    true = np.repeat(np.arange(4), [12, 8, 1, 0])
    one, other = ((true + rng.integers(1, 4, len(true)) ** 2 % 3 + 1) % 4 for _ in range(2))

    def table(labels: np.ndarray) -> np.ndarray:
        return np.bincount(true * 4 + labels, minlength=16).reshape(4, 4)

    exact = errors.expected_agreement(table(one), table(other))
    drawn = []
    for _ in range(4_000):
        dealt = other.copy()
        for t in range(4):
            dealt[true == t] = rng.permutation(other[true == t])
        joint = np.bincount(one * 4 + dealt, minlength=16).reshape(4, 4)
        drawn.append(errors.misclassification_agreement(joint).item())
    assert abs(np.mean(drawn) - exact.item()) < 4 * np.std(drawn) / np.sqrt(len(drawn))


@pytest.mark.slow
def test_published_matrices(shared_data: Path) -> None:
    """Compare all 4,657 pairs of [X25], with pooled conditions and their imputed responses."""
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


def statistics_of(a: np.ndarray, b: np.ndarray, w: np.ndarray, k: int) -> tuple[np.ndarray, list]:
    table = np.zeros((k, k))
    np.add.at(table, (a, b), w)
    same = a == b
    return errors.label_statistics(table), [(w[same] ** 2).sum(), (w**2).sum()]


def test_equals_a_loop_over_pairs_of_joint_errors() -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        n, k = int(rng.integers(2, 12)), 4
        a, b = rng.integers(0, k, (2, n))
        b = np.where(rng.random(n) < 0.4, a, b)
        w = rng.standard_exponential(n)
        top = bottom = 0.0
        for i in range(n):
            for j in range(n):
                if i != j:
                    top += w[i] * w[j] * (a[i] == b[j])
                    bottom += w[i] * w[j]
        observed = (w * (a == b)).sum() / w.sum()
        chance = min(top / bottom, (1 + observed) / 2)
        if chance < 1 - 1e-9:
            found = errors.distinct_agreement(*statistics_of(a, b, w, k)).item()
            assert found == pytest.approx((observed - chance) / (1 - chance), abs=1e-10)


def test_range_and_undefined_values() -> None:
    # Two joint errors with labels 0, 1 and 1, 0: both systems use the same labels.
    assert errors.distinct_agreement([0, 1, 1, 1, 1], [0, 2]) == -1
    for statistics, own in (
        ([1, 1, 0, 1, 0], [1, 1]),
        ([3, 3, 0, 3, 0], [3, 3]),
        ([0, 0, 0, 0, 0], [0, 0]),
    ):
        assert np.isnan(errors.distinct_agreement(statistics, own))
    assert errors.MISCLASSIFICATION_AGREEMENT.distinct is errors.distinct_agreement


def test_divergences_of_error_rows_need_no_gradient() -> None:
    """Compare with central differences of the value, which give the influence of each trial."""
    truth = np.repeat(np.arange(4), 30)
    rng = np.random.default_rng(3)
    response = np.where(rng.random((3, 120)) < 0.5, truth, rng.integers(0, 4, (3, 120)))
    trials = al.Trials.from_arrays(response, truth, classes=range(4))
    (block,) = blocks(joint_correctness(trials, labels="any"))
    known = get_metric("error_similarity")
    own = dataclasses.replace(known, gradient=None)
    slopes = evaluator(block, known).slopes()
    assert slopes.any()
    # Error of central differences of a smooth function, relative to its largest derivative.
    np.testing.assert_allclose(
        evaluator(block, own).slopes(), slopes, rtol=0, atol=1e-7 * np.abs(slopes).max()
    )
