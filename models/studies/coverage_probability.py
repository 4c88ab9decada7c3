"""Machines that are above others with probability .9: are they, in nine of ten benchmarks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.arrays import Floats
from alikely._base.random import RandomState
from alikely.benchmark.contrasts import difference_table
from alikely.benchmark.decomposition import Population, only, pair_contrasts
from alikely.benchmark.layout import laid_out
from alikely.benchmark.levels import decompositions
from alikely.calibration.studies import run_study
from alikely.data.trials import Trials
from alikely.metrics import ERROR_CONSISTENCY
from studies.benchmark_worlds import (
    BenchmarkDesign,
    Observers,
    population_scores,
    simulated_benchmark,
)

__all__ = ["MACHINE_POPULATIONS", "order_calibration", "order_summary"]

# Simulated benchmarks in one cell of the study.
BATCH = 20
EDGES = (0.8, 0.9, 0.975, 1.0)


def _varied(generator: np.random.Generator, n: int) -> Observers:
    return Observers(generator.normal(0, 0.3, n), generator.uniform(0.4, 1, n))


def _medium(generator: np.random.Generator, n: int) -> Observers:
    follows = np.clip(generator.normal(0.75, 0.1, n), 0.1, 1)
    return Observers(generator.normal(0, 0.2, n), follows)


def _evenly_spaced(generator: np.random.Generator, n: int) -> Observers:
    follows = generator.permutation(np.linspace(0.3, 1, n))
    return Observers(generator.normal(0, 0.2, n), follows)


def _nearly_equal(generator: np.random.Generator, n: int) -> Observers:
    return Observers(generator.normal(0, 0.05, n), generator.normal(0.8, 0.02, n))


def _two_kinds(generator: np.random.Generator, n: int) -> Observers:
    kind = np.arange(n) % 2
    follows = np.where(kind, 0.55, 0.85) + generator.normal(0, 0.03, n)
    return Observers(generator.normal(0, 0.1, n), follows)


def _one_apart(generator: np.random.Generator, n: int) -> Observers:
    follows = generator.normal(0.7, 0.02, n)
    follows[0] = 1.0
    return Observers(generator.normal(0, 0.3, n), follows)


MACHINE_POPULATIONS: Mapping[str, Callable[[np.random.Generator, int], Observers]] = (
    MappingProxyType(
        {
            "varied": _varied,
            "medium": _medium,
            "evenly spaced": _evenly_spaced,
            "nearly equal": _nearly_equal,
            "two kinds": _two_kinds,
            "one apart": _one_apart,
        }
    )
)
# Machines, and how much was seen of images and people.
SIZES: Mapping[str, tuple[int, BenchmarkDesign]] = MappingProxyType(
    {
        "2 machines": (2, BenchmarkDesign()),
        "8 machines": (8, BenchmarkDesign()),
        "20 machines": (20, BenchmarkDesign(n_images=320)),
        "8 machines, accuracy .95": (8, BenchmarkDesign(accuracy=0.95, n_humans=10)),
        "8 machines, guessing": (8, BenchmarkDesign("guessing", n_humans=6)),
    }
)


def order_calibration(
    sizes: Mapping[str, tuple[int, BenchmarkDesign]] | None = None,
    *,
    n_sets: int = 100,
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Probabilities that one machine is above another, and whether it is."""
    if n_sets < BATCH or n_sets % BATCH:
        raise ValueError(f"n_sets must be a multiple of {BATCH}, got {n_sets}")
    cells = [
        {"machines": kind, "size": size, "batch": batch, "n": n, **design._asdict()}
        for kind in MACHINE_POPULATIONS
        for size, (n, design) in (SIZES if sizes is None else sizes).items()
        for batch in range(n_sets // BATCH)
    ]
    table = run_study(_batch, cells, folder, rng=rng)
    return table.drop(columns=["n", "batch", *BenchmarkDesign._fields])


def order_summary(study: pd.DataFrame) -> pd.DataFrame:
    """How often orders are right, by what was claimed of them."""
    names = [f"{a:g} to {b:g}".replace("0.", ".") for a, b in itertools.pairwise(EDGES)]
    found = study.assign(bin=pd.cut(study["claimed"], EDGES, labels=names, right=False))
    found = found.dropna(subset="bin").assign(excess=found["right"] - found["claimed"])
    keys = ["machines", "size", "population", "bin"]
    by = found.groupby(keys, sort=False, observed=True)
    sums = found.groupby([*keys, "set"], sort=False, observed=True)["excess"].sum()
    # Ratio of sums over benchmarks.
    spread = sums.groupby(level=list(range(len(keys))), sort=False).agg(
        lambda total: np.sqrt((total**2).sum())
    )
    return pd.DataFrame(
        {
            "n_pairs": by.size(),
            "claimed": by["claimed"].mean(),
            "right": by["right"].mean(),
            "right_mcse": spread / by.size(),
        }
    ).reset_index()


def _batch(
    machines: str, size: str, batch: int, n: int, seed: Any, **setting: Any
) -> list[dict[str, Any]]:
    design = BenchmarkDesign(**setting)
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(BATCH):
        own = MACHINE_POPULATIONS[machines](generator, n)
        trials, these = simulated_benchmark(design, generator, own)
        everyone = population_scores(design, own)
        claims = _claims(trials)
        for population, truth in (("images", these), ("crossed", everyone)):
            above = pair_contrasts(n) @ truth.machines > 0
            rows += [
                {"population": population, "set": BATCH * batch + number}
                | {"claimed": max(p, 1 - p), "right": float((p > 0.5) == order)}
                for p, order in zip(claims[population], above, strict=True)
                # Machines with the same answers: nothing is claimed of them.
                if np.isfinite(p)
            ]
    return rows


def _claims(trials: Trials) -> dict[str, Floats]:
    """Probability that the first of each pair is above the other, by population."""
    table, layout = laid_out(trials, models="model", humans="human")
    parts = decompositions(table, layout, ERROR_CONSISTENCY, people="label", items="dataset")[-1]
    machines = only(parts, range(len(layout.machines)))
    claims: dict[str, Floats] = {}
    populations: tuple[Population, ...] = ("images", "crossed")
    for name in populations:
        found = difference_table(
            layout.machines, machines.score, machines, name, ERROR_CONSISTENCY.differences
        )
        claims[name] = found["p_positive"].to_numpy()
    return claims
