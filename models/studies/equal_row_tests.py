"""Level and power of the test of equal error rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.random import RandomState
from alikely.calibration.studies import run_study
from alikely.data.tables import joint_correctness
from alikely.errors.equal_rows import equality
from alikely.metrics import get_metric
from studies.coverage_rows import RowDesign, data_sets, study_cells

__all__ = ["TESTED", "row_tests", "row_tests_summary"]

# Eight of equal systems, for the level, and some of others, for the power.
TESTED: dict[str, RowDesign] = {
    "equal, no copying": RowDesign(concentration=np.inf),
    "equal, copying .5": RowDesign(copying=0.5, concentration=np.inf),
    "equal, copying .8": RowDesign(copying=0.8, concentration=np.inf),
    "equal, 16 classes, 12 errors, .5": RowDesign(16, 12, 0.5, concentration=np.inf),
    "equal, kinds of items": RowDesign(concentration=np.inf, n_kinds=4),
    "equal, separate": RowDesign(concentration=np.inf, shared=False),
    "equal, Zipf, 250 errors": RowDesign(8, 250, 0.3, concentration=np.inf, zipf=1.0),
    "equal, second with a fifth": RowDesign(8, 60, 0.5, concentration=np.inf, fewer=0.2),
    "nearly equal, 50 errors": RowDesign(copying=0.5, concentration=20.0),
    "nearly equal, 250 errors": RowDesign(8, 250, 0.5, concentration=20.0),
    "different, 12 errors": RowDesign(8, 12, 0.5),
    "different, separate, 12 errors": RowDesign(8, 12, shared=False),
}
LEVEL = 0.05


def row_tests(
    designs: dict[str, RowDesign] | None = None,
    *,
    n_datasets: int = 1_000,
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """P-values of equal rows from data sets of known truth."""
    cells = study_cells(TESTED if designs is None else designs, n_datasets)
    table = run_study(_batch, cells, folder, rng=rng)
    return table[["design", "truth", "p_equal"]]


def _batch(
    design: str, batch: int, concentration: str, seed: Any, **setting: Any
) -> list[dict[str, Any]]:
    world = RowDesign(concentration=float(concentration), **setting)
    data, drawing = seed.spawn(2)
    trials, values = data_sets(world, np.random.default_rng(data))
    table = joint_correctness(trials, labels=True, disjoint=not world.shared)
    found = equality(table, get_metric("error_similarity"), rng=drawing)
    return [
        {"truth": truth, "p_equal": p}
        for truth, p in zip(values[:, 0, 1], found["p_equal"], strict=True)
    ]


def row_tests_summary(study: pd.DataFrame) -> pd.DataFrame:
    """How often equal rows are rejected, at a level of .05."""
    study = study[study["p_equal"].notna()]
    by = study.assign(rejected=study["p_equal"] < LEVEL).groupby("design", sort=False)
    table = pd.DataFrame({"n_datasets": by.size(), "divergence": 1 / by["truth"].median() - 1})
    table["rejected"] = by["rejected"].mean()
    error = np.sqrt(table["rejected"] * (1 - table["rejected"]) / table["n_datasets"])
    return table.assign(rejected_mcse=error).reset_index()
