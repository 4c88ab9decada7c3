"""Simulate count tables, complete experiments, and conditions of known difficulty."""

from __future__ import annotations

from alikely.simulate.simulators import (
    cell_probabilities,
    cohort,
    detection_experiment,
    difficulty,
    leaderboard,
    observers,
    reader_study,
    repeated_answers,
)

__all__ = [
    "cell_probabilities",
    "cohort",
    "detection_experiment",
    "difficulty",
    "leaderboard",
    "observers",
    "reader_study",
    "repeated_answers",
]
