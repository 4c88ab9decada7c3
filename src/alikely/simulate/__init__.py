"""Simulated data: count tables, errors, whole experiments, and conditions of known difficulty."""

from __future__ import annotations

from alikely.simulate.cells import cell_probabilities, copy_cell_probabilities, correctness_cells
from alikely.simulate.conditions import difficulty
from alikely.simulate.copies import copied_trials
from alikely.simulate.errors import error_rows, joint_errors
from alikely.simulate.experiments import cohort, detection_experiment, example, observers
from alikely.simulate.judges import Judged, judged_candidates, normal_consistency
from alikely.simulate.labels import label_trials, shared_label_agreement
from alikely.simulate.leaderboards import leaderboard, random_tree, tree_answers
from alikely.simulate.margins import (
    MARGIN_WORLDS,
    MarginData,
    MarginWorld,
    margin_data,
    true_group_consistency,
    true_margin_consistency,
    true_strength_consistency,
)
from alikely.simulate.patterns import correctness_patterns, pattern_cells, pattern_probabilities
from alikely.simulate.readers import reader_study
from alikely.simulate.repeats import repeated_answers
from alikely.simulate.shared import ErrorPopulation, shared_errors

__all__ = [
    "MARGIN_WORLDS",
    "ErrorPopulation",
    "Judged",
    "MarginData",
    "MarginWorld",
    "cell_probabilities",
    "cohort",
    "copied_trials",
    "copy_cell_probabilities",
    "correctness_cells",
    "correctness_patterns",
    "detection_experiment",
    "difficulty",
    "error_rows",
    "example",
    "joint_errors",
    "judged_candidates",
    "label_trials",
    "leaderboard",
    "margin_data",
    "normal_consistency",
    "observers",
    "pattern_cells",
    "pattern_probabilities",
    "random_tree",
    "reader_study",
    "repeated_answers",
    "shared_errors",
    "shared_label_agreement",
    "tree_answers",
    "true_group_consistency",
    "true_margin_consistency",
    "true_strength_consistency",
]
