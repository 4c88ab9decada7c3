"""Whether intervals of the cohort model with people hold what is true of new humans, and these."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from alikely._base.arrays import Floats
from alikely._base.random import RandomState
from alikely.benchmark.decomposition import Population
from alikely.benchmark.scores import benchmark_scores
from alikely.calibration.studies import run_study
from alikely.data.cohorts import cohort_counts
from alikely.data.trials import Trials
from alikely.inference.chains import SamplingWarning, nuts_many
from alikely.models.cohorts import cohort, cohort_layout
from studies.benchmark_worlds import (
    BenchmarkDesign,
    Scores,
    population_scores,
    simulated_benchmark,
)

__all__ = ["COHORT_DESIGNS", "cohort_coverage", "cohort_coverage_summary"]

# Simulated benchmarks in one cell of the study: a model is made ready once for all of them.
BATCH = 20
CI_PROB = 0.95
# Those of `benchmark_scores`.
TARGET = 0.9
COHORT_DESIGNS: dict[str, BenchmarkDesign] = {
    f"{family}, {n} humans, {named} spread": BenchmarkDesign(
        family, n_humans=n, n_conditions=2, n_images=80, spread=spread
    )
    for family in ("probit", "guessing")
    for named, spread in (("moderate", 0.3), ("large", 0.6))
    for n in (4, 10)
}
NEW, THESE = "a new human", "these humans"


def cohort_coverage(
    designs: dict[str, BenchmarkDesign] | None = None,
    *,
    n_sets: int = 400,
    n_draws: int = 800,
    tune: int = 300,
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Simulate intervals of the cohort model with people, and those of the decomposition."""
    if n_sets < BATCH or n_sets % BATCH:
        raise ValueError(f"n_sets must be a multiple of {BATCH}, got {n_sets}")
    chosen = COHORT_DESIGNS if designs is None else designs
    cells = [
        {"design": name, "batch": batch, "n_draws": n_draws, "tune": tune} | design._asdict()
        for name, design in chosen.items()
        for batch in range(n_sets // BATCH)
    ]
    table = run_study(_batch, cells, folder, rng=rng)
    return table.drop(columns=list(BenchmarkDesign._fields))


def cohort_coverage_summary(study: pd.DataFrame) -> pd.DataFrame:
    """Coverage and median width by design, statement and method."""
    by = study.groupby(["design", "statement", "method"], sort=False)
    return pd.DataFrame(
        {
            "n_sets": by.size(),
            "coverage": by["covered"].mean(),
            "coverage_mcse": by["covered"].std() / np.sqrt(by.size()),
            "width": by["width"].median(),
            "error": by["error"].mean(),
        }
    ).reset_index()


def _batch(
    design: str, batch: int, n_draws: int, tune: int, seed: Any, **setting: Any
) -> list[dict[str, Any]]:
    world = BenchmarkDesign(**setting)
    generator = np.random.default_rng(seed)
    truth = population_scores(world)
    sets = [simulated_benchmark(world, generator) for _ in range(BATCH)]
    rows = []
    with warnings.catch_warnings():
        # Of so short chains some effective sizes are below what a single fit should have.
        warnings.simplefilter("ignore", SamplingWarning)
        fits = _fits([trials for trials, _ in sets], n_draws, tune, generator)
        for number, (tree, (trials, these)) in enumerate(zip(fits, sets, strict=True)):
            found = _of_posterior(tree, truth, these) + _of_scores(trials, truth, these)
            rows += [{"set": BATCH * batch + number, **row} for row in found]
    return rows


def _fits(sets: Sequence[Trials], n_draws: int, tune: int, rng: np.random.Generator) -> Any:
    """Fits of one model to all: strata are made as many in all, by some without trials."""
    counts = [cohort_counts(trials, who_was_right=True) for trials in sets]
    most = max(int(np.bincount(c["stratum_condition"]).max()) for c in counts)
    counts = [_padded(c, most) for c in counts]
    model = cohort(counts[0], human_effects="drawn")
    return nuts_many(model, [_data(c) for c in counts], n_draws, tune, rng, TARGET)


def _data(counts: xr.Dataset) -> dict[str, Any]:
    layout = cohort_layout(counts)
    return {
        "human_data": counts["n_trials"].values,
        "human_right": (counts["answers"].values == 1).astype(np.int64),
        "shown": layout["shown"],
        "right": layout["right"],
    }


def _padded(counts: xr.Dataset, n: int) -> xr.Dataset:
    place = counts["stratum_condition"].values
    rows = [np.flatnonzero(place == c) for c in range(counts.sizes["condition"])]
    more = [np.repeat(own[:1], n - len(own)) for own in rows]
    taken = np.concatenate([part for pair in zip(rows, more, strict=True) for part in pair])
    empty = np.concatenate([np.arange(n) >= len(own) for own in rows])
    out = counts.isel(stratum=taken)
    for name in ("n_trials", "shown", "right"):
        out[name] = out[name].where(~xr.DataArray(empty, dims="stratum"), 0)
    return out


def _of_posterior(tree: xr.DataTree, truth: Scores, these: Scores) -> list[dict[str, Any]]:
    """Means over the two conditions."""
    draws = tree["posterior"].to_dataset().stack(sample=("chain", "draw"))
    m = len(truth.machines)
    rows = []
    for who, end, own in ((NEW, "", truth), (THESE, "_these", these)):
        machines = draws[f"error_consistency{end}"].transpose("sample", "entry").values
        machines = machines.reshape(len(machines), m, -1).mean(axis=-1)
        humans = draws[f"human_error_consistency{end}"].mean("condition").values[:, None]
        named = (
            ("score", own.machines, machines),
            ("human-human", own.human, humans),
            ("share", own.machines / own.human, machines / humans),
        )
        for what, true, values in named:
            bounds = np.quantile(values, [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2], axis=0).T
            rows.append(_row(f"{what}, {who}", "people", true, np.median(values, axis=0), bounds))
    return rows


def _of_scores(trials: Trials, truth: Scores, these: Scores) -> list[dict[str, Any]]:
    scores = benchmark_scores(trials, people="label", n_resamples=0, n_draws=0)
    rows = []
    asked_of: tuple[tuple[str, Population, Scores], ...] = (
        (NEW, "crossed", truth),
        (THESE, "images", these),
    )
    for who, population, own in asked_of:
        table = scores.summary(population, level="overall").set_index("system")
        machines = table.drop(index=["human-human", "ceiling"], errors="ignore")
        columns = {
            "score": ("estimate", "analytic_ci95_lb", "analytic_ci95_ub"),
            "share": ("ceiled", "ceiled_ci95_lb", "ceiled_ci95_ub"),
        }
        asked: list[tuple[str, Any, pd.DataFrame]] = [
            ("score", own.machines, machines),
            ("share", own.machines / own.human, machines),
        ]
        if population == "crossed":
            asked.append(("human-human", own.human, table.loc[["human-human"]]))
        for what, true, part in asked:
            names = columns.get(what, columns["score"])
            values = part[list(names)].to_numpy(float)
            rows.append(_row(f"{what}, {who}", "decomposition", true, values[:, 0], values[:, 1:]))
    return rows


def _row(
    statement: str, method: str, truth: Any, estimate: Floats, bounds: Floats
) -> dict[str, Any]:
    inside = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
    return {
        "statement": statement,
        "method": method,
        "covered": float(inside.mean()),
        "width": float((bounds[:, 1] - bounds[:, 0]).mean()),
        "error": float((estimate - truth).mean()),
    }
