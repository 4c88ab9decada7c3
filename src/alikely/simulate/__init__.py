"""Simulated data: count tables, errors, whole experiments, and conditions of known difficulty."""

from __future__ import annotations

from alikely.simulate.cells import (
    cell_probabilities,
    copy_cell_probabilities,
    correctness_cells,
)
from alikely.simulate.conditions import difficulty
from alikely.simulate.errors import error_rows, joint_errors
from alikely.simulate.experiments import cohort, detection_experiment, observers

__all__ = [
    "cell_probabilities",
    "cohort",
    "copy_cell_probabilities",
    "correctness_cells",
    "detection_experiment",
    "difficulty",
    "error_rows",
    "joint_errors",
    "observers",
]
