"""Agreement and similarity of errors: every method against brute force and simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import alikely as al
from alikely.data.blocks import blocks
from alikely.data.tables import joint_correctness
from alikely.errors import draws
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import covariance_of, estimate
from alikely.inference.resampling import bca_of_table, bootstrap
from alikely.metrics import errors
from alikely.metrics.errors import ERROR_SIMILARITY, MISCLASSIFICATION_AGREEMENT

CLASSES = 5


def trials_of(rng: np.random.Generator, n: int = 300, observers: int = 4) -> al.Trials:
    """Observers that err on a third of the trials, often equally; some responses are missing."""
    truth = rng.integers(0, CLASSES, n)
    common = (truth + rng.integers(1, CLASSES, n)) % CLASSES
    own = rng.integers(0, CLASSES, (observers, n))
    wrong = np.where(rng.random((observers, n)) < 0.4, common, own)
    response = np.where(rng.random((observers, n)) < 0.5, truth, wrong).astype(object)
    response[rng.random((observers, n)) < 0.03] = None
    masked = np.ma.masked_array(response, rng.random((observers, n)) < 0.05)
    return al.Trials.from_arrays(masked, truth, condition=np.arange(n) % 2)


def by_hand(
    trials: al.Trials, condition: str, a: int, b: int, weights: NDArray[Any]
) -> tuple[float, float]:
    """Agreement and similarity from counts in a loop."""
    data = trials.data
    here = np.flatnonzero(data["condition"].values == condition)
    joint, rows = np.zeros((CLASSES + 1,) * 2), np.zeros((2, CLASSES + 1, CLASSES + 1))
    for weight, t in zip(weights, here, strict=True):
        truth = int(data["truth"].values[t])
        given = data["response"].values[[a, b], t]
        label = np.where(given == -1, CLASSES, given)
        wrong = (given != -2) & (label != truth)
        for observer in range(2):
            if wrong[observer]:
                rows[observer, truth, label[observer]] += weight
        if wrong.all():
            joint[label[0], label[1]] += weight
    divergence = errors.error_divergence(*rows)
    return (
        errors.misclassification_agreement(joint).item(),
        errors.error_similarity(divergence).item(),
    )


def test_weighted_values_equal_those_by_hand() -> None:
    rng = np.random.default_rng(1)
    trials = trials_of(rng)
    table = joint_correctness(trials, labels=True)
    for block in blocks(table):
        n = block.correct.shape[1]
        weights = np.stack([np.ones(n), rng.multinomial(n, np.full(n, 1 / n))])
        found = [
            evaluator(block, metric).values(weights)
            for metric in (MISCLASSIFICATION_AGREEMENT, ERROR_SIMILARITY)
        ]
        for p, row in enumerate(range(block.rows.start, block.rows.stop)):
            where = str(table["condition"].values[row])
            a, b = int(table["first"][row]), int(table["second"][row])
            for w in range(2):
                expected = by_hand(trials, where, a, b, weights[w])
                assert [values[w, p] for values in found] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", [MISCLASSIFICATION_AGREEMENT, ERROR_SIMILARITY])
def test_slopes_are_derivatives_by_the_weights(metric: Any) -> None:
    trials = trials_of(np.random.default_rng(2), n=60, observers=3)
    block = next(iter(blocks(joint_correctness(trials, labels=True))))
    ready = evaluator(block, metric)
    n, step = block.correct.shape[1], 1e-6
    up = ready.values(np.ones((n, n)) + step * np.eye(n))
    down = ready.values(np.ones((n, n)) - step * np.eye(n))
    slope = (up - down).T / (2 * step)
    np.testing.assert_allclose(ready.slopes(), slope - slope.mean(axis=1, keepdims=True), atol=1e-8)


@pytest.mark.slow
def test_analytic_and_bootstrap_errors_agree() -> None:
    """Errors differ between observers, because equal errors have zero slopes of the divergence."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, CLASSES, 6000)
    shift = np.minimum(rng.geometric([[0.9], [0.5], [0.2]], (3, 6000)), CLASSES - 1)
    same = rng.random(6000) < 0.3
    wrong = (truth + np.where(same, 1, shift)) % CLASSES
    response = np.where(rng.random((3, 6000)) < 0.5, truth, wrong)
    table = joint_correctness(al.Trials.from_arrays(response, truth), labels=True)
    for metric in (MISCLASSIFICATION_AGREEMENT, ERROR_SIMILARITY):
        se = estimate(table, metric)["se"].values
        replicates = bootstrap(table, metric, 4000, rng=1)
        # Standard deviation of a standard deviation of 4,000 replicates.
        error = 1 / np.sqrt(2 * 4000)
        np.testing.assert_allclose(replicates.values.std(axis=0) / se, 1, atol=4 * error)
        matrix = covariance_of(table, metric, None, np.eye(table.sizes["pair"]))
        np.testing.assert_allclose(np.sqrt(np.diag(matrix)), se)
        bounds = bca_of_table(table, replicates, metric)
        value = estimate(table, metric)["estimate"].values
        assert ((bounds[:, 0] < value) & (value < bounds[:, 1])).all()


@pytest.mark.slow
@pytest.mark.usefixtures("few_sweeps")
def test_results_store_metric_options_and_class_sums(tmp_path: Path) -> None:
    trials = al.load_example().select(kind="human")
    result = al.compare(
        trials, al.metrics.get_metric("CLES", mixture="pooled", base=np.e), n_resamples=200, rng=14
    )
    result.save(tmp_path / "similarity.nc")
    loaded = al.Result.load(tmp_path / "similarity.nc")
    pair = result.table["pair"].values[:2].tolist()
    # The file stores the options, so a contrast has the same covariance.
    se = [al.difference(one, *pair, intervals=["analytic"])["se"] for one in (result, loaded)]
    np.testing.assert_allclose(*se)
    sums = result.estimates
    np.testing.assert_allclose(
        sums["class_log_bayes_factor"].sum("class"), sums["log_bayes_factor"]
    )
    weight = sums["class_errors_a"] + sums["class_errors_b"]
    mean = (sums["class_divergence"] * weight).sum("class") / weight.sum("class")
    np.testing.assert_allclose(mean, sums["divergence"])
    np.testing.assert_allclose(1 / (1 + sums["divergence"]), sums["estimate"])


@pytest.mark.slow
@pytest.mark.usefixtures("few_sweeps")
def test_stored_chains_are_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = al.load_example().select(condition="noise", kind="human")
    options: dict[str, Any] = {"n_resamples": 0, "n_draws": 200}
    first = al.error_similarity(trials, **options, cache_dir=tmp_path, rng=1)

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(draws, "Chain", stopped)
    again = al.error_similarity(trials, **options, cache_dir=tmp_path, rng=1)
    np.testing.assert_array_equal(first.draws("posterior"), again.draws("posterior"))
    # Another seed has separate chains.
    with pytest.raises(KeyboardInterrupt):
        al.error_similarity(trials, **options, cache_dir=tmp_path, rng=2)
    with pytest.raises(ValueError, match="cache_dir saves the draws of a seed, and rng is None"):
        al.error_similarity(trials, **options, cache_dir=tmp_path)
