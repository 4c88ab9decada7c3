"""Speed, as ratios within one run: ``uv run pytest tests/benchmarks --benchmark-only -n 0``.

Nothing is asserted; the table of pytest-benchmark shows the ratios of each group.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pytest
import xarray as xr
from scipy import stats
from sklearn.mixture import GaussianMixture

import alikely as al
from alikely.calibration.coverage import default_grid
from alikely.data.tables import from_counts, joint_correctness
from alikely.inference import cache, cell_limits, independence, resampling, sampling
from alikely.inference.null import null_draws
from alikely.inference.process import pairwise_draws
from alikely.metrics import consistency

N_RESAMPLES, N_TRIALS, N_PAIRS = 10_000, 12_000, 79_800
OFF: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}
Make = Callable[[], Callable[[], Any]]


def kappa(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
    p_a, p_b, n11 = a.mean(axis=axis), b.mean(axis=axis), (a * b).mean(axis=axis)
    expected = p_a * p_b + (1 - p_a) * (1 - p_b)
    return (1 - p_a - p_b + 2 * n11 - expected) / (1 - expected)


@functools.cache
def humans_and_models() -> xr.Dataset:
    """52 models, 4 humans, 160 trials of one condition."""
    return joint_correctness(
        al.simulate.observers(4, 52, 160, {"noise": 0.4}, rng=1), "human-model"
    )


@functools.cache
def tables(lowest: float, highest: float, n_pairs: int) -> np.ndarray:
    """Tables of pairs with common errors and accuracies in this range."""
    rng = np.random.default_rng(1)
    a, b = rng.uniform(lowest, highest, (2, n_pairs))
    both = a * b + rng.uniform(0, 0.6, n_pairs) * np.minimum(a * (1 - b), b * (1 - a))
    return rng.multinomial(N_TRIALS, np.stack([both, a - both, b - both, 1 - a - b + both], 1))


@functools.cache
def crowd(n_observers: int, n_trials: int, n_classes: int) -> al.Trials:
    """Observers that err on 40% of the trials, half of the time in a common way."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, n_classes, n_trials)
    common = (truth + rng.integers(1, min(n_classes, 12), n_trials)) % n_classes
    own = rng.integers(0, n_classes, (n_observers, n_trials))
    wrong = np.where(rng.random(own.shape) < 0.5, common, own)
    return al.Trials.from_arrays(
        np.where(rng.random(own.shape) < 0.6, truth, wrong), truth, classes=range(n_classes)
    )


@functools.cache
def model_vs_human() -> al.Trials:
    """14 data sets, 43 conditions, 4 humans, 22 models."""
    conditions = [(f"d{d}", f"{c}") for d, n in enumerate([3] * 13 + [4]) for c in range(n)]
    rng = np.random.default_rng(1)
    z, noise = rng.standard_normal((43, 160)), rng.standard_normal((26, 43, 160))
    loading = np.repeat([0.8, 0.5], [4, 22])[:, None, None]
    right = loading * z + np.sqrt(1 - loading**2) * noise > -0.6
    return al.Trials.from_correct(
        right.reshape(26, -1).astype(int),
        kind=["human"] * 4 + ["model"] * 22,
        dataset=[d for d, _ in conditions for _ in range(160)],
        condition=[c for _, c in conditions for _ in range(160)],
    )


@functools.cache
def board() -> al.Trials:
    rng = np.random.default_rng(1)
    strength = rng.normal(1, 0.6, size=(400, 1)) + rng.normal(size=N_TRIALS)
    return al.Trials.from_correct(rng.random(strength.shape) < 1 / (1 + np.exp(-strength)))


@functools.cache
def spectrum() -> xr.Dataset:
    """72 conditions, from undistorted to chance, seen by four humans."""
    rng = np.random.default_rng(1)
    level = np.linspace(2.5, -2.5, 72) + rng.normal(0, 0.2, (4, 72))
    accuracy = np.repeat(1 / (1 + np.exp(-level)), 160, axis=1)
    trials = al.Trials.from_correct(
        rng.random(accuracy.shape) < accuracy,
        kind=["human"] * 4,
        condition=[f"c{i // 160}" for i in range(accuracy.shape[1])],
    )
    return al.difficulty_spectrum(trials, [f"c{i}" for i in range(7)], chance=1 / 16)


def of_margins(n_models: int, n_items: int) -> None:
    rho = {f"m{i}": 0.2 + 0.7 * i / n_models for i in range(n_models)}
    trials, margins = al.simulate.detection_experiment(10, n_items, rho=rho, rng=1)
    pairs = [("human", name) for name in rho]
    al.decision_margin_consistency(trials, margins, pairs, n_resamples=0, rng=1)


def cells(n_pairs: int) -> np.ndarray:
    return np.random.default_rng(1).multinomial(160, [0.6, 0.15, 0.1, 0.15], n_pairs)


def call(function: Callable[..., Any], *args: Any, **options: Any) -> Make:
    """Call a function; arguments without parameters are called beforehand."""

    def make() -> Callable[[], Any]:
        return functools.partial(function, *[a() if callable(a) else a for a in args], **options)

    return make


def of(function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return functools.partial(function, *args)


def bootstrap_of_scipy() -> None:
    right = tuple(from_counts([600, 150, 100, 150])["correct"].values.astype(float))
    stats.bootstrap(right, kappa, n_resamples=N_RESAMPLES, paired=True, vectorized=True, rng=1)


def by_index() -> None:
    """A simple loop over replicates and pairs, with 100 of the 10,000 replicates."""
    table, rng = humans_and_models(), np.random.default_rng(1)
    for _ in range(N_RESAMPLES // 100):
        drawn = table["correct"].values[:, rng.integers(0, 160, 160)].astype(float)
        for a, b in zip(table["first"].values, table["second"].values, strict=True):
            kappa(drawn[a], drawn[b])


def fits_of_scikit_learn() -> None:
    """50 of the 5,000 starts, with k-means and EM from each."""
    for k in range(1, 7):
        GaussianMixture(k, n_init=50, random_state=1).fit(spectrum()["delta"].values[:, None])


def quantiles_of_draws(cells: np.ndarray) -> None:
    draws = pairwise_draws(cells, n_draws=4_000, rng=1)
    np.quantile(draws["error_consistency"], [0.025, 0.975], axis=0)


def fisher_of_scipy() -> None:
    for cells in tables(0.3, 0.98, N_PAIRS)[: N_PAIRS // 100]:
        stats.fisher_exact(cells.reshape(2, 2))


def chains(compiled: bool) -> None:
    """From the model to its draws, including PyTensor's cache on disk."""
    model = al.models.cohort(al.data.cohort_counts(al.load_example()))
    with pytest.MonkeyPatch.context() as patch:
        if compiled:
            patch.setenv(cache.SWITCH, "pytensor")
        cache.graphs_of.cache_clear()
        al.inference.nuts(model, 1_000, rng=1)


def study(backend: str) -> None:
    with joblib.parallel_config(backend=backend, n_jobs=2):
        al.calibration.coverage_study(default_grid().iloc[::4], n_datasets=1_000, rng=1)


def width() -> None:
    accuracy, ec = np.linspace(0.5, 0.97, 20)[:, None, None], np.linspace(0, 0.9, 20)[:, None]
    trials = np.geomspace(40, 4_000, 10).astype(int)
    al.trials_for_width(accuracy, accuracy, ec, n_trials=trials, rng=1)


ONE, EVERY = [600, 150, 100, 150], of(tables, 0.3, 0.98, N_PAIRS)
LABELS: dict[str, Any] = {"n_resamples": 2_000, "n_draws": 0, "rng": 1}
NONE: dict[str, Any] = {"n_resamples": 0, "rng": 1}
MANY, TWO = of(crowd, 27, 800, 16), of(crowd, 2, 50_000, 1_000)
GROUPS: dict[str, dict[str, Make]] = {
    "import, alongside a process that imports nothing": {
        code: call(subprocess.run, [sys.executable, "-c", code], check=True)
        for code in ("pass", "import alikely")
    },
    "bootstrap of one pair, N = 1000, 10,000 replicates": {
        "here": call(resampling.bootstrap, of(from_counts, ONE), n_resamples=N_RESAMPLES, rng=1),
        "scipy": call(bootstrap_of_scipy),
    },
    "52 models x 4 humans, N = 160, 10,000 replicates": {
        "here": call(resampling.bootstrap, humans_and_models, n_resamples=N_RESAMPLES, rng=1),
        "by index, a hundredth": call(by_index),
    },
    "posterior": {
        "10,000 pairs, exact": call(
            pairwise_draws, of(cells, 10_000), n_draws=4000
        ),
        "832 pairs, jointly": call(resampling.joint_draws, humans_and_models, 4000, rng=1),
        "1,000 pairs, nuts": call(
            sampling.posterior, lambda: from_counts(cells(1_000)), "nuts", rng=1
        ),
        "cohort, interpreted": call(chains, False),
        "cohort, compiled": call(chains, True),
    },
    "null test, 100 pairs, 10,000 draws": {
        "here": call(null_draws, of(cells, 100), rng=1)
    },
    "point estimates of a million tables": {
        "here": call(consistency.error_consistency, lambda: np.ones((1_000_000, 4)) * [9, 3, 2, 4])
    },
    "benchmark of 22 models in 43 conditions, 10,000 replicates": {
        "here": call(al.benchmark_scores, model_vs_human, rng=1)
    },
    "all 79,800 pairs of 400 observers, N = 12,000": {
        "points, errors, tests": call(al.error_consistency, board, **OFF),
        "Fisher": call(independence.fisher_log10_p, EVERY),
        "Fisher by scipy, a hundredth": call(fisher_of_scipy),
        "limits": call(cell_limits.posterior_limits, EVERY),
        "limits by draws, a fortieth": call(
            quantiles_of_draws, lambda: EVERY()[: N_PAIRS // 40]
        ),
        "limits near the ceiling, a fortieth": call(
            cell_limits.posterior_limits, of(tables, 0.99, 0.9995, N_PAIRS // 40)
        ),
    },
    "wrong labels": {
        "agreement, 351 pairs": call(al.misclassification_agreement, MANY, **LABELS),
        "similarity, 351 pairs": call(al.error_similarity, MANY, **LABELS),
        "similarity, 28 pairs, calibrated limits": call(
            al.error_similarity, of(crowd, 8, 800, 16), **NONE
        ),
        "similarity, 1,000 classes, 50,000 trials": call(
            al.error_similarity, TWO, **NONE
        ),
    },
    "margins corrected for noise": {
        "15 models, 160 items": call(of_margins, 15, 160),
        "100 models, 1,280 items": call(of_margins, 100, 1_280),
    },
    "plans of 4,000 settings": {"width": call(width)},
    "regimes of 72 conditions, 1 to 6 components": {
        "here": call(al.regimes, spectrum, k=4, **NONE),
        "scikit-learn, a hundredth of the starts": call(fits_of_scikit_learn),
    },
    "coverage study": {backend: call(study, backend) for backend in ("threading", "loky")},
}  # fmt: skip


@pytest.mark.parametrize(("group", "name"), [(g, n) for g, own in GROUPS.items() for n in own])
def test_speed(benchmark: Any, group: str, name: str) -> None:
    benchmark.group = group
    benchmark.pedantic(GROUPS[group][name](), rounds=2)
