"""Which estimator, of those that need no chains, a design of people and repeats allows."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from alikely.margins.sides import lists_of_items
from alikely.margins.tables import answers_of_group
from alikely.metrics.margins import repeated

__all__ = ["ChosenModel", "model_of_design"]

# So many people leave an interval from moments without bounds now and then, fewer often.
FEW_PEOPLE = 3


class ChosenModel(NamedTuple):
    """An estimator, and why."""

    model: Literal["moments", "strengths"]
    reason: str


def model_of_design(table: xr.Dataset, m: int | None = None) -> ChosenModel:
    """Choose between moments and a law of strengths, for all entries of a table."""
    groups = _groups(table)
    if not groups:
        return ChosenModel("moments", "two machines have no noise of answers")
    people = min(group.people for group in groups)
    who = f"{people} {'person' if people == 1 else 'people'} in the smallest group"
    if people > FEW_PEOPLE:
        return ChosenModel("moments", f"{who}: no law of strengths needs to be assumed")
    if any(group.lists > 1 for group in groups):
        return ChosenModel("moments", f"{who}, of which no one ties the lists of items")
    if m is None:
        return ChosenModel("moments", f"{who}, and the number of alternatives is not known: m=...")
    if any(group.people == 1 and not group.repeats for group in groups):
        return ChosenModel("moments", "one answer of one person tells nothing of noise")
    return ChosenModel("strengths", f"{who}: too few to be the replicates of moments")


class _Group(NamedTuple):
    people: int
    repeats: bool
    lists: int


def _groups(table: xr.Dataset) -> list[_Group]:
    """Of each group that is compared, in each group of trials."""
    machine = table["is_machine"].values
    systems = np.concatenate([table["first"].values, table["second"].values])
    places = np.stack([systems, np.tile(table["pair_group"].values, 2)], axis=1)
    found = []
    for system, place in np.unique(places[~machine[systems]], axis=0):
        here = table["trial_group"].values == place
        items = np.flatnonzero(here & (table["shown"].values[system] > 0))
        _, shown = answers_of_group(table, int(system), items)
        found.append(_Group(len(shown), repeated(shown), int(lists_of_items(shown).max()) + 1))
    return found
