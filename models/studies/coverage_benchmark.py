"""Do intervals of benchmark scores hold the truth? Known populations of people and of images.

References
----------
.. [H79] Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal
   of Statistics 6, 65-70.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.random import RandomState
from alikely.benchmark.ceilings import fieller_interval
from alikely.benchmark.contrasts import pairwise_differences
from alikely.benchmark.decomposition import (
    Decomposition,
    Population,
    joint_covariance,
    largest_of_differences,
    normal_deviates,
    only,
    pair_contrasts,
    pooled_df,
    share_of_ceiling,
    spread,
    student_bounds,
)
from alikely.benchmark.layout import Layout, laid_out
from alikely.benchmark.levels import decompositions
from alikely.benchmark.ranking import rank_sets
from alikely.benchmark.scores import benchmark_scores
from alikely.calibration.studies import run_study
from alikely.data.trials import Trials
from alikely.metrics import ERROR_CONSISTENCY, Metric, get_metric
from studies.benchmark_worlds import (
    FOUR_MACHINES,
    BenchmarkDesign,
    Family,
    Scores,
    population_scores,
    simulated_benchmark,
)
from studies.coverage_rows import PROMISED, adjusted

__all__ = ["BENCHMARK_DESIGNS", "BenchmarkDesign", "benchmark_coverage", "benchmark_summary"]

CI_PROB = 0.95
# Degrees of freedom of a known standard error.
KNOWN = np.array([np.inf])
# Simulated benchmarks in one cell of the study.
BATCH = 20
CEILING = {"accuracy": 0.95, "n_images": 80}
DESIGNS: dict[str, dict[str, Any]] = {
    **{f"{n} humans": {"n_humans": n} for n in (3, 4, 6, 10, 40)},
    "3 humans, large spread": {"n_humans": 3, "n_images": 600, "spread": 0.6},
    "10 humans, large spread": {"n_humans": 10, "n_images": 600, "spread": 0.6},
    "same 3 people in 5 data sets": {"n_humans": 3, "n_datasets": 5, "pool": 3},
    "same 6 people in 5 data sets": {"n_humans": 6, "n_datasets": 5, "pool": 6},
    "other 6 people in 5 data sets": {"n_humans": 6, "n_datasets": 5},
    "6 of 10 people in each of 5 data sets": {"n_humans": 6, "n_datasets": 5, "pool": 10},
    "3 and 10 people in 4 data sets": {"n_humans": 3, "n_datasets": 4, "more_humans": 7},
    "same images in 5 conditions, 10 humans": {
        "n_humans": 10, "n_conditions": 5, "n_images": 100, "same_images": True,
    },
    "other images in 5 conditions, 4 humans": {"n_conditions": 5, "n_images": 100},
    "accuracy .95, 4 humans": {"accuracy": 0.95},
    "accuracy .95, 10 humans": {"n_humans": 10, **CEILING},
    "accuracy .95, 40 humans": {"n_humans": 40, **CEILING},
    "accuracy .95, 4 people in 5 x 4 blocks": {"n_datasets": 5, "n_conditions": 4, **CEILING},
    "accuracy .99, 10 humans": {"n_humans": 10, "n_images": 400, "accuracy": 0.99},
}  # fmt: skip
FAMILIES: tuple[Family, ...] = ("probit", "guessing")
BENCHMARK_DESIGNS: dict[str, BenchmarkDesign] = {
    f"{family}, {name}": BenchmarkDesign(family, **design)
    for family in FAMILIES
    for name, design in DESIGNS.items()
}


def benchmark_coverage(
    designs: dict[str, BenchmarkDesign] | None = None,
    *,
    metric: str = ERROR_CONSISTENCY.name,
    n_sets: int = 200,
    n_replicates: int = 0,
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Intervals of agreement with humans, in simulated benchmarks of four machines."""
    if n_sets < BATCH or n_sets % BATCH:
        raise ValueError(f"n_sets must be a multiple of {BATCH}, got {n_sets}")
    if n_replicates < 0:
        raise ValueError(f"n_replicates must be 0 or more, got {n_replicates}")
    if get_metric(metric).counts != "correctness":
        raise ValueError(f"metric must be one of correctness, got {metric!r}")
    chosen = BENCHMARK_DESIGNS if designs is None else designs
    cells = [
        {"design": name, "batch": batch, "metric": metric, "n_replicates": n_replicates}
        | design._asdict()
        for name, design in chosen.items()
        for batch in range(n_sets // BATCH)
    ]
    table = run_study(_batch, cells, folder, rng=rng)
    return table.drop(columns=[*BenchmarkDesign._fields, "n_replicates"])


def benchmark_summary(study: pd.DataFrame) -> pd.DataFrame:
    """Coverage and median width by design, statement and method."""
    known = study[study["width"].notna()]
    named = ["design", "statement"]
    by = known.groupby([*named, "method"], sort=False)
    table = pd.DataFrame(
        {
            "n_sets": by.size(),
            "coverage": by["covered"].mean(),
            "coverage_mcse": by["covered"].std() / np.sqrt(by.size()),
            "width": by["width"].median(),
        }
    ).reset_index()
    plain = study[study["method"] == "normal"].groupby(named)["squared_error"]
    error = pd.Series(np.sqrt(plain.mean()), name="error")
    ideal = 2 * table["statement"].map(_deviates) * table.join(error, on=named)["error"]
    table["relative_width"] = table["width"] / ideal
    short = by["covered"].agg(_short).to_numpy()
    table.insert(4, "p_short", pd.Series(short).groupby(table["method"]).transform(adjusted))
    return table


def _short(covered: pd.Series) -> float:
    """How probable so little is of a coverage that is what is promised."""
    if covered.nunique() == 1:
        return float(covered.iloc[0] >= PROMISED)
    return float(stats.ttest_1samp(covered, PROMISED, alternative="less").pvalue)


def _deviates(statement: str) -> float:
    """Half the width of an interval from a known standard error, in units of it."""
    if statement == "differences":
        return float(largest_of_differences(KNOWN, len(FOUR_MACHINES.ability), CI_PROB)[0])
    return float(special.ndtri((1 + CI_PROB) / 2))


def _batch(
    design: str, batch: int, metric: str, n_replicates: int, seed: Any, **setting: Any
) -> list[dict[str, Any]]:
    world, estimand = BenchmarkDesign(**setting), get_metric(metric)
    generator = np.random.default_rng(seed)
    truth = population_scores(world, metric=estimand)
    rows = []
    for number in range(BATCH):
        trials, these = simulated_benchmark(world, generator, metric=estimand)
        found = _statements(estimand, trials, truth, these)
        if n_replicates:
            found += _of_draws(estimand, trials, truth, these, n_replicates, generator)
        rows += [{"set": BATCH * batch + number, **row} for row in found]
    return rows


def _statements(
    metric: Metric, trials: Trials, truth: Scores, these: Scores
) -> list[dict[str, Any]]:
    table, layout = laid_out(
        trials, models="model", humans="human", both_orders=not metric.symmetric
    )
    rows = []
    parts = decompositions(table, layout, metric, people="label", items="dataset")[-1]
    asked: tuple[tuple[Scores, Population], ...] = ((truth, "crossed"), (these, "images"))
    for own, population in asked:
        found = _of_decomposition(parts, own, population)
        rows += [{"method": "decomposition", **row} for row in found]
    plain = decompositions(table, layout, metric, people="dataset", items="condition", added=0.0)[
        -1
    ]
    images = joint_covariance(plain, "images")
    crossed = _two_way(images, plain.people, plain.shared)
    for matrix, (own, population) in zip((crossed, images), asked, strict=True):
        found = _of_matrix(layout, plain.score, matrix, own, population)
        rows += [{"method": "normal", **row} for row in found]
    return rows


def _two_way(images: Floats, people: Floats, shared: Floats) -> Floats:
    """Covariance over both, made one where the subtraction went too far, at least either."""
    matrix = images + people - shared
    if not np.isfinite(matrix).all():
        return np.full_like(matrix, np.nan)
    values, vectors = np.linalg.eigh(matrix)
    matrix = (vectors * np.maximum(values, 0)) @ vectors.T
    variance = np.diag(matrix)
    floor = np.maximum(variance, np.maximum(np.diag(images), np.diag(people)))
    return np.asarray(matrix + np.diag(floor - variance))


def _row(
    statement: str, truth: Any, estimate: Floats, bounds: Floats, *, together: bool = False
) -> dict[str, Any]:
    inside = (bounds[..., 0] <= truth) & (truth <= bounds[..., 1])
    width = float((bounds[..., 1] - bounds[..., 0]).mean())
    return {
        "statement": statement,
        "covered": float(inside.all() if together else inside.mean()),
        "width": width,
        "squared_error": float(((estimate - truth) ** 2).mean()),
    }


def _of_decomposition(
    parts: Decomposition, truth: Scores, population: Population
) -> list[dict[str, Any]]:
    m = len(truth.machines)
    machines = only(parts, range(m))
    contrasts = pair_contrasts(m)
    differences = contrasts @ truth.machines
    if population == "images":
        one = spread(machines, np.eye(m), "images")
        two = spread(machines, contrasts, "images")
        scores = student_bounds(machines.score, one.variance, one.df, CI_PROB)
        centre = contrasts @ machines.score
        pairs = student_bounds(centre, two.variance, two.df, CI_PROB)
        return [
            _row("score, these people", truth.machines, machines.score, scores),
            _row("difference, these people", differences, centre, pairs),
        ]
    found = spread(parts, np.eye(m + 2), "crossed")
    bounds = student_bounds(parts.score, found.variance, found.df, CI_PROB)
    shares = [share_of_ceiling(parts, s, m + 1, "crossed", CI_PROB) for s in range(m)]
    two = spread(machines, contrasts, "crossed")
    wide = largest_of_differences(pooled_df(two, machines, "crossed"), m, CI_PROB)
    centre, half = contrasts @ machines.score, wide * np.sqrt(two.variance)
    matrix = joint_covariance(machines, "crossed")
    deviates = normal_deviates(machines, "crossed")
    ratios = machines.score / parts.score[m + 1]
    sets = rank_sets(machines.score, matrix, deviates=deviates, n_draws=2_000, rng=1)
    return [
        _row("score", truth.machines, machines.score, bounds[:m]),
        _row("human-human", truth.human, parts.score[m : m + 1], bounds[m : m + 1]),
        _row("share", truth.machines / truth.human, ratios, np.array([s[2:4] for s in shares])),
        _row("differences", differences, centre, np.stack([centre - half, centre + half], -1),
             together=True),
        _rank_row(sets, truth),
    ]  # fmt: skip


def _of_matrix(
    layout: Layout, value: Floats, matrix: Floats, truth: Scores, population: Population
) -> list[dict[str, Any]]:
    """The same from one covariance matrix and normal quantiles."""
    m = len(layout.machines)
    z = special.ndtri((1 + CI_PROB) / 2)
    half = z * np.sqrt(np.diag(matrix))
    bounds = np.stack([value - half, value + half], axis=-1)
    contrasts = pair_contrasts(m)
    differences, centre = contrasts @ truth.machines, contrasts @ value[:m]
    own = matrix[:m, :m]
    if population == "images":
        se = np.sqrt(np.einsum("cs,st,ct->c", contrasts, own, contrasts))
        pairs = np.stack([centre - z * se, centre + z * se], axis=-1)
        return [
            _row("score, these people", truth.machines, value[:m], bounds[:m]),
            _row("difference, these people", differences, centre, pairs),
        ]
    if not np.isfinite(matrix).all():
        return []
    shares = [
        fieller_interval(value[s], value[m + 1], own[s, s], matrix[-1, -1], matrix[s, -1])
        for s in range(m)
    ]
    names = layout.machines
    table = pairwise_differences(names, value[:m], own, CI_PROB, rng=1)
    wide = table[["simultaneous_ci95_lb", "simultaneous_ci95_ub"]].to_numpy()
    rows = [
        _row("score", truth.machines, value[:m], bounds[:m]),
        _row("human-human", truth.human, value[m : m + 1], bounds[m : m + 1]),
        _row("share", truth.machines / truth.human, value[:m] / value[m + 1], np.array(shares)),
        _row("differences", differences, centre, wide, together=True),
    ]
    # Machines with the same answers have no ranks without something added.
    if np.isfinite(table["se"]).all():
        rows.append(_rank_row(rank_sets(value[:m], own, n_draws=2_000, rng=1), truth))
    return rows


def _of_draws(
    metric: Metric, trials: Trials, truth: Scores, these: Scores, n: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Scores of the bootstrap and the posterior."""
    found = benchmark_scores(
        trials, metric=metric, people="label", n_resamples=n, n_draws=n, rng=rng
    )
    asked: tuple[tuple[str, Scores, Population], ...] = (
        ("score", truth, "crossed"),
        ("score, these people", these, "images"),
    )
    rows = []
    for statement, own, population in asked:
        table = found.summary(population, level="overall", intervals="all")
        drawn = found.summary(population, level="overall", intervals=["bootstrap"])
        table = table.assign(**{name: drawn[name] for name in drawn if name not in table})
        machines = table[~table["system"].isin(["human-human", "ceiling"])]
        human = table[table["system"] == "human-human"]
        named: list[tuple[str, Any, pd.DataFrame]] = [(statement, own.machines, machines)]
        if population == "crossed":
            named.append(("human-human", own.human, human))
        for method in ("bootstrap", "posterior"):
            limits = [f"{method}_eti95_lb", f"{method}_eti95_ub"]
            rows += [
                {"method": method}
                | _row(name, true, part["estimate"].to_numpy(), part[limits].to_numpy())
                for name, true, part in named
                if limits[0] in part and part[limits[0]].notna().all()
            ]
    return rows


def _rank_row(sets: pd.DataFrame, truth: Scores) -> dict[str, Any]:
    """Sets that hold the true ranks, of which tied machines have several."""
    order = sets["system"].astype(int).to_numpy()
    true = truth.machines.round(9)
    lowest = 1 + (true[None] > true[:, None]).sum(axis=1)
    highest = len(true) - (true[None] < true[:, None]).sum(axis=1)
    held = (sets["rank_lb"].to_numpy() <= lowest[order]) & (
        sets["rank_ub"].to_numpy() >= highest[order]
    )
    width = float((sets["rank_ub"] - sets["rank_lb"] + 1).mean())
    return {"statement": "ranks", "covered": float(held.all()), "width": width}
