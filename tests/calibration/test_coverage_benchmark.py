"""The study of benchmark intervals: its populations, its truths, and a short run of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from alikely.metrics import error_consistency
from studies import benchmark_worlds as worlds
from studies.benchmark_worlds import BenchmarkDesign
from studies.coverage_benchmark import BENCHMARK_DESIGNS, benchmark_coverage, benchmark_summary


@pytest.mark.parametrize("family", ["probit", "guessing"])
@pytest.mark.parametrize("accuracy", [0.75, 0.95])
def test_truth_is_that_of_very_many_images_and_people(family: str, accuracy: float) -> None:
    design = BenchmarkDesign(family, 40, 1, 1, 20_000, accuracy=accuracy)  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    people = worlds.people_of(design, *rng.standard_normal((2, 40)))
    these = worlds.scores_of(design, people)
    hardness = worlds.hardness_at(design, rng.random(20_000))
    p = np.vstack(
        [
            worlds.right_answers(design, who, hardness)
            for who in (people, worlds._scaled(design, worlds.FOUR_MACHINES))
        ]
    )
    right = (rng.random(p.shape) < p).astype(float)
    # The average person is as accurate as the design says.
    average = worlds.right_answers(design, worlds.Observers(np.zeros(1), worlds.people_of(
        design, np.zeros(1), np.zeros(1)).follows), hardness)  # fmt: skip
    noise = 4 * average.std() / np.sqrt(20_000)
    assert average.mean() == pytest.approx(accuracy, abs=noise)
    both = right @ right.T / right.shape[1]
    a = right.mean(axis=1)
    cells = np.stack(
        [both, a[:, None] - both, a[None] - both, 1 - a[:, None] - a[None] + both], axis=-1
    )
    found = error_consistency(np.maximum(cells, 0))
    # Kappa of 20,000 trials has an error of at most .5 / sqrt(N p (1 - p)); a mean has less.
    error = 4 * 0.5 / np.sqrt(20_000 * accuracy * (1 - accuracy))
    np.testing.assert_allclose(found[:40, 40:].mean(axis=0), these.machines, atol=error)
    pairs = found[:40, :40][np.triu_indices(40, 1)]
    assert pairs.mean() == pytest.approx(these.human, abs=error)


@pytest.mark.slow
def test_truth_of_the_population_is_that_of_many_people() -> None:
    for design in (BenchmarkDesign(), BenchmarkDesign("guessing")):
        truth = worlds.population_scores(design)
        people = worlds.people_of(design, *np.random.default_rng(2).standard_normal((2, 2_000)))
        these = worlds.scores_of(design, people)
        # People differ by at most .15 in error consistency with a machine.
        np.testing.assert_allclose(these.machines, truth.machines, atol=4 * 0.15 / np.sqrt(2_000))
        assert these.human == pytest.approx(truth.human, abs=4 * 2 * 0.15 / np.sqrt(2_000))
        assert truth.machines[1] == truth.machines[3]


def test_designs_say_what_is_simulated() -> None:
    rng = np.random.default_rng(3)
    design = BENCHMARK_DESIGNS["probit, same images in 5 conditions, 10 humans"]
    trials, _ = worlds.simulated_benchmark(design, rng)
    assert trials.data.sizes == {"observer": 14, "trial": 500}
    assert len(np.unique(trials.data["item"].values)) == 100
    with pytest.raises(ValueError, match="n_sets must be a multiple of 20, got 30"):
        benchmark_coverage(n_sets=30)


def test_people_of_data_sets_are_others_the_same_or_some_of_a_pool() -> None:
    rng = np.random.default_rng(4)
    for design, sizes, total in (
        (BenchmarkDesign(n_humans=3, n_datasets=4), [3] * 4, 12),
        (BenchmarkDesign(n_humans=3, n_datasets=4, more_humans=7), [3, 10, 3, 10], 26),
        (BenchmarkDesign(n_humans=5, n_datasets=4, pool=5), [5] * 4, 5),
        (BenchmarkDesign(n_humans=5, n_datasets=40, pool=8), [5] * 40, 8),
    ):
        crowds = worlds._crowds(design, rng)
        assert [len(np.unique(own)) for own in crowds] == sizes
        assert np.unique(np.concatenate(crowds)).tolist() == list(range(total))
    trials, _ = worlds.simulated_benchmark(BenchmarkDesign(n_datasets=2, n_images=30), rng)
    shown = trials.data["correct"].values[:8] != -2
    assert len(trials.observers) == 12
    answered = np.stack([shown[:, :30].any(axis=1), shown[:, 30:].any(axis=1)])
    assert (answered.sum(axis=0) == 1).all()


@pytest.mark.slow
def test_a_short_study_has_all_statements_of_both_methods() -> None:
    few = {"few": BenchmarkDesign(n_humans=3, n_images=60)}
    table = benchmark_coverage(few, n_sets=20, rng=1)
    summary = benchmark_summary(table).set_index(["statement", "method"])
    assert len(summary) == 14
    assert summary["coverage"].between(0, 1).all()
    new, plain = (
        summary.xs(method, level="method")["width"] for method in ("decomposition", "normal")
    )
    # Three people leave two degrees of freedom.
    assert new["human-human"] > 1.5 * plain["human-human"]


@pytest.mark.slow(first=True)
def test_intervals_hold_what_they_promise(sets: Callable[..., int]) -> None:
    """At accuracy .75; near the ceiling and with few unlike people see docs/benchmarks.md."""
    chosen = {"probit, 6 humans": BENCHMARK_DESIGNS["probit, 6 humans"]}
    n_sets = sets(200, 60)
    summary = benchmark_summary(benchmark_coverage(chosen, n_sets=n_sets, rng=1))
    own = summary[summary["method"] == "decomposition"]
    # Four Monte-Carlo errors below .93: a coverage of .75 is seen by 60 sets.
    assert (own["coverage"] > 0.93 - 4 * np.sqrt(0.93 * 0.07 / n_sets)).all()
