"""Speed of the kernels of all pairs, as ratios within one run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from alikely.inference import cell_limits, fisher
from alikely.inference.conjugate import pairwise_draws

N_TRIALS, N_PAIRS = 12_000, 79_800
FISHER = "Fisher's exact test of 79,800 pairs, 12,000 trials"
LIMITS = "posterior limits of 79,800 pairs, 12,000 trials"
CEILING = "posterior limits of 2,000 pairs near the ceiling, 12,000 trials"


def pairs_of(lowest: float, highest: float, n_pairs: int) -> np.ndarray:
    """Tables of pairs that share some errors, with accuracies in this range."""
    rng = np.random.default_rng(1)
    a, b = rng.uniform(lowest, highest, (2, n_pairs))
    both = a * b + rng.uniform(0, 0.6, n_pairs) * np.minimum(a * (1 - b), b * (1 - a))
    return rng.multinomial(N_TRIALS, np.stack([both, a - both, b - both, 1 - a - b + both], 1))


@pytest.fixture(scope="module")
def tables() -> np.ndarray:
    return pairs_of(0.3, 0.98, N_PAIRS)


@pytest.fixture(scope="module")
def at_ceiling() -> np.ndarray:
    return pairs_of(0.99, 0.9995, 2_000)


@pytest.mark.benchmark(group=FISHER)
def test_fisher_compiled(benchmark: Any, tables: np.ndarray) -> None:
    benchmark.pedantic(fisher.fisher_log10_p, (tables,), rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group=FISHER)
def test_fisher_one_worker(benchmark: Any, tables: np.ndarray) -> None:
    options = {"workers": 1}
    benchmark.pedantic(fisher.fisher_log10_p, (tables,), options, rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group=FISHER)
def test_fisher_numpy(benchmark: Any, tables: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fisher, "can_compile", lambda: False)
    benchmark.pedantic(fisher.fisher_log10_p, (tables,), rounds=1)


@pytest.mark.benchmark(group=FISHER)
def test_fisher_scipy_a_hundredth(benchmark: Any, tables: np.ndarray) -> None:
    def loop() -> None:
        for cells in tables[: N_PAIRS // 100]:
            stats.fisher_exact(cells.reshape(2, 2))

    benchmark.pedantic(loop, rounds=1)


@pytest.mark.benchmark(group=LIMITS)
def test_limits_compiled(benchmark: Any, tables: np.ndarray) -> None:
    benchmark.pedantic(cell_limits.posterior_limits, (tables,), rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group=LIMITS)
def test_limits_one_worker(benchmark: Any, tables: np.ndarray) -> None:
    options = {"workers": 1}
    benchmark.pedantic(cell_limits.posterior_limits, (tables,), options, rounds=3, warmup_rounds=1)


@pytest.mark.benchmark(group=LIMITS)
def test_limits_numpy(benchmark: Any, tables: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_limits, "can_compile", lambda: False)
    benchmark.pedantic(cell_limits.posterior_limits, (tables,), rounds=1)


@pytest.mark.benchmark(group=LIMITS)
def test_limits_by_draws_a_fortieth(benchmark: Any, tables: np.ndarray) -> None:
    def by_draws() -> None:
        draws = pairwise_draws(tables[: N_PAIRS // 40], n_draws=4_000, rng=1)
        np.quantile(draws["error_consistency"], [0.025, 0.975], axis=0)

    benchmark.pedantic(by_draws, rounds=1)


@pytest.mark.benchmark(group=CEILING)
def test_ceiling_compiled(benchmark: Any, at_ceiling: np.ndarray) -> None:
    benchmark.pedantic(cell_limits.posterior_limits, (at_ceiling,), rounds=2, warmup_rounds=1)


@pytest.mark.benchmark(group=CEILING)
def test_ceiling_by_draws(benchmark: Any, at_ceiling: np.ndarray) -> None:
    def by_draws() -> None:
        draws = pairwise_draws(at_ceiling, n_draws=4_000, rng=1)
        np.quantile(draws["error_consistency"], [0.025, 0.975], axis=0)

    benchmark.pedantic(by_draws, rounds=1)
