"""Coverage of statements about several pairs: differences and means of error similarity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.arrays import Floats
from alikely._base.random import RandomState
from alikely.calibration.studies import run_study
from alikely.errors.limits import UNBOUNDED
from alikely.estimates.comparison import difference, mean
from alikely.estimates.errors import error_similarity
from alikely.estimates.result import Result
from alikely.estimates.sentences import METHODS
from studies.coverage_rows import BATCH, CI_PROB, RowDesign, data_sets, study_cells

__all__ = ["JOINT_DESIGNS", "joint_coverage", "joint_coverage_summary"]

# Two machines and four humans, as `Trials.from_arrays` names them.
MACHINES, HUMANS = (
    ["observer_0", "observer_1"],
    ["observer_2", "observer_3", "observer_4", "observer_5"],
)
# Systems follow what items suggest by different shares of what a design says; equal ones do not.
FOLLOWS, ALIKE = (0.6, 1.0), (1.0, 1.0)
# Data sets that count as conditions of one experiment, each with populations of its own.
CONDITIONS = 5
ROUNDING = 1e-6
JOINT_DESIGNS: dict[str, RowDesign] = {
    "no copying": RowDesign(),
    "copying .5": RowDesign(copying=0.5),
    "copying .8": RowDesign(copying=0.8),
    "16 classes, 12 errors, .5": RowDesign(16, 12, 0.5),
    "kinds of items, copying .3": RowDesign(copying=0.3, n_kinds=4),
    "Zipf, copying .5": RowDesign(copying=0.5, zipf=1.0),
    "nearly equal, copying .5": RowDesign(copying=0.5, concentration=20.0),
    "equal, no copying": RowDesign(concentration=np.inf),
    "equal, copying .8": RowDesign(copying=0.8, concentration=np.inf),
    "equal, 6 errors, .5": RowDesign(8, 6, 0.5, concentration=np.inf),
    "6 errors, copying .5": RowDesign(8, 6, 0.5),
    "250 errors, copying .5": RowDesign(8, 250, 0.5),
}
# Names, and the entries whose mean is meant; of two, the difference of their means.
STATEMENTS: dict[str, tuple[dict[str, Any], ...]] = {
    "difference of two pairs": (
        {"observer_a": MACHINES[0], "observer_b": HUMANS[0]},
        {"observer_a": MACHINES[1], "observer_b": HUMANS[0]},
    ),
    "mean over humans": ({"observer_a": MACHINES[0], "observer_b": HUMANS},),
    "difference of means": (
        {"observer_a": MACHINES[0], "observer_b": HUMANS},
        {"observer_a": MACHINES[1], "observer_b": HUMANS},
    ),
    "mean of human pairs": ({"observer_a": HUMANS, "observer_b": HUMANS},),
}
OVER_CONDITIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "mean over conditions": ({"observer_a": MACHINES[0], "observer_b": HUMANS[0]},),
    "mean over humans and conditions": STATEMENTS["mean over humans"],
    "difference over conditions": STATEMENTS["difference of two pairs"],
    "difference of means over conditions": STATEMENTS["difference of means"],
}


def joint_coverage(
    designs: dict[str, RowDesign] | None = None,
    *,
    n_datasets: int = 200,
    n_draws: int = 1_000,
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Intervals of differences and means of similarities of two machines and four humans."""
    cells = study_cells(JOINT_DESIGNS if designs is None else designs, n_datasets, n_draws=n_draws)
    table = run_study(_batch, cells, folder, rng=rng)
    return table.drop(columns="n_draws")


def _batch(
    design: str, batch: int, n_draws: int, concentration: str, seed: Any, **setting: Any
) -> list[dict[str, Any]]:
    """Some data sets of a design, as conditions of one call of the door."""
    world = RowDesign(concentration=float(concentration), **setting)
    systems = [*MACHINES, *HUMANS]
    follows = ALIKE if np.isinf(world.concentration) else FOLLOWS
    data, drawing = seed.spawn(2)
    trials, values = data_sets(world, np.random.default_rng(data), len(systems), follows)
    result = error_similarity(
        trials, n_resamples=n_draws, n_draws=n_draws, n_permutations=0, ci_prob=CI_PROB, rng=drawing
    )
    return [
        {"dataset": BATCH * batch + first, **row}
        for statements, size in ((STATEMENTS, 1), (OVER_CONDITIONS, CONDITIONS))
        for first in range(0, BATCH, size)
        for row in _statements(result, statements, range(first, first + size), values, systems)
    ]


def _statements(
    result: Result,
    statements: dict[str, tuple[dict[str, Any], ...]],
    conditions: range,
    values: Floats,
    systems: list[str],
) -> list[dict[str, Any]]:
    rows = []
    of_pairs = pd.DataFrame(values[conditions].mean(axis=0), index=systems, columns=systems)
    for statement, which in statements.items():
        entries = [{"condition": [str(i) for i in conditions], **part} for part in which]
        take = difference if len(which) == 2 else mean
        found = take(result, *entries, intervals=METHODS)
        truths = [_mean_of_pairs(of_pairs, part) for part in which]
        truth = truths[0] - truths[1] if len(truths) == 2 else truths[0]
        for method, row in found.iterrows():
            rows.append(
                {
                    "statement": statement,
                    "method": method,
                    "truth": truth,
                    "lower": row["eti95_lb"],
                    "upper": row["eti95_ub"],
                    "unbounded": UNBOUNDED in row["note"],
                }
            )
    return rows


def _mean_of_pairs(value: pd.DataFrame, which: dict[str, Any]) -> float:
    sides = [np.atleast_1d(which[side]) for side in ("observer_a", "observer_b")]
    # Within one group each pair counts once; it is there once, too.
    pairs = {frozenset((a, b)) for a in sides[0] for b in sides[1] if a != b}
    return float(np.mean([value.loc[tuple(pair)] for pair in pairs]))


def joint_coverage_summary(study: pd.DataFrame) -> pd.DataFrame:
    """Coverage and median width by design, statement and method."""
    part = study[study["lower"].notna()]
    part = part.assign(
        # Draws are of single precision: 1 is among limits that end there.
        coverage=part["truth"].between(part["lower"] - ROUNDING, part["upper"] + ROUNDING)
        & ~part["unbounded"],
        width=part["upper"] - part["lower"],
    )
    by = part.groupby(["design", "statement", "method"], sort=False)
    table = pd.DataFrame({"n_datasets": by.size(), "coverage": by["coverage"].mean()})
    error = np.sqrt(table["coverage"] * (1 - table["coverage"]) / table["n_datasets"])
    table = table.assign(coverage_mcse=error, width=by["width"].median())
    return table.assign(unbounded=by["unbounded"].mean()).reset_index()
