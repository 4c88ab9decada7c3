"""How many entries a comparison will have, before anything is counted."""

from __future__ import annotations

import numpy as np

from alikely.data.pairs import Pairs, chosen_pairs
from alikely.data.tables import By, groups_of_trials
from alikely.data.trials import NOT_SHOWN, Trials

__all__ = ["n_entries"]


def n_entries(trials: Trials, pairs: Pairs, by: By, directed: bool = False) -> int:
    """Number of pairs, in all groups of trials in which both took part."""
    data = trials.data
    first, second = chosen_pairs(trials.observers, data["kind"].values, pairs, directed)
    group, labels = groups_of_trials(data, by)
    shown = data["correct"].values != NOT_SHOWN
    total = 0
    for number in range(len(labels)):
        present = shown[:, group == number].any(axis=1)
        total += int(np.count_nonzero(present[first] & present[second]))
    return total
