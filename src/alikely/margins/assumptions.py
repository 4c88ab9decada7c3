"""What models take for granted of a machine and a group, put to the test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely.margins.checks import bend_check, class_check, repeat_check
from alikely.margins.residuals import skew_check
from alikely.margins.sides import Side, group_side, lists_of_items, machine_side
from alikely.margins.strengths import GroupStrengths, group_strengths
from alikely.margins.tables import answers_of_group, common_items
from alikely.metrics.alternatives import Link

__all__ = ["LEVEL", "Checked", "Known", "model_checks", "pair_checks", "pair_sides"]

# Where all holds, a remark in less than one of ten data sets: the checks share its probability.
LEVEL = 0.08
# Of models by chains; that of observers knows that answers repeat themselves.
SAYS = {
    "p_bend": "strengths bend along the margins, which the model takes for a line",
    "p_skew": "strengths are skewed, and the model takes them for normal",
    "p_repeats": "answers repeat themselves, and the model takes them for chance",
}
REMARKED = LEVEL / len(SAYS)

Known = dict[tuple[int, bytes], GroupStrengths]


class Checked(NamedTuple):
    """Checks of the entries of a table."""

    p_values: dict[str, NDArray[np.float64]]
    remarks: NDArray[np.object_]


def model_checks(
    table: xr.Dataset, model: str, m: int, link: Link = "m_afc", fitted: ArrayLike = True
) -> Checked:
    """Test what a model by chains takes for granted of each entry."""
    n_pairs = table.sizes["pair"]
    found = {name: np.full(n_pairs, np.nan) for name in SAYS}
    remarks = np.full(n_pairs, "", dtype=object)
    known: Known = {}
    for pair in np.flatnonzero(np.broadcast_to(fitted, n_pairs)).tolist():
        a, b, items = common_items(table, pair)
        sides, strata = pair_sides(table, (a, b), items, None)
        if len(items) < int(strata.max()) + 3:
            continue
        said = []
        for name, p in pair_checks(table, (a, b), items, sides, m, known, link).items():
            found[name][pair] = p
            if p < REMARKED and not (name == "p_repeats" and model == "observers"):
                said.append(SAYS[name])
        remarks[pair] = "; ".join(said)
    return Checked(found, remarks)


def pair_checks(
    table: xr.Dataset,
    systems: tuple[int, int],
    items: NDArray[np.intp],
    sides: tuple[Side, Side],
    m: int | None,
    known: Known,
    link: Link = "m_afc",
    classes: NDArray[np.intp] | None = None,
) -> dict[str, float]:
    """Test what may be taken for granted of a machine and a group."""
    machine = table["is_machine"].values[list(systems)]
    if machine[0] == machine[1]:
        return {}
    at = int(machine[0])
    group, net = systems[at], systems[1 - at]
    right, shown = answers_of_group(table, group, items)
    found = {"p_repeats": repeat_check(right, shown)}
    if m is not None:
        share = right.sum(axis=0) / shown.sum(axis=0)
        margins = table["margins"].values[net, items]
        found["p_bend"] = bend_check(sides[at], share, margins, m)
        key = (group, items.tobytes())
        if key not in known:
            known[key] = group_strengths(right, shown, m, link)
        found["p_skew"] = skew_check(known[key])
    if classes is not None:
        found["p_classes"] = class_check(sides[at], sides[1 - at], classes)
    return found


def pair_sides(
    table: xr.Dataset,
    systems: tuple[int, int],
    items: NDArray[np.intp],
    classes: NDArray[np.intp] | None,
) -> tuple[tuple[Side, Side], NDArray[np.intp]]:
    """Lay both systems out on the same strata: those that the people of both leave apart."""
    machine = table["is_machine"].values
    counts = {s: answers_of_group(table, s, items) for s in systems if not machine[s]}
    nobody = np.zeros(len(items), np.intp) if classes is None else classes
    strata = nobody
    for _, shown in counts.values():
        own = lists_of_items(shown, classes)
        strata = np.unique(strata * (own.max() + 1) + own, return_inverse=True)[1]
    one, other = (
        group_side(*counts[s], strata)
        if s in counts
        else machine_side(table["margins"].values[s, items], strata)
        for s in systems
    )
    return (one, other), strata
