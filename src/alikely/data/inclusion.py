"""Inclusion probabilities of images that a plan chose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.checks import known_kind
from alikely._base.names import counted, listed, nearest
from alikely.data.columns import NOT_SHOWN, NOTES
from alikely.data.ingest import frame_of, label, open_tables

# Names in trials and count tables.
INCLUSION, STRATUM, HELD, SETTLED = "inclusion", "stratum", "stratum_images", "settled"
# Whose answers were not known when the images were chosen.
ASKED = "asked"
POPULATION, LISTS, HUMANS = "generalize_to", "lists", "humans_of_plan"
POPULATIONS = ("pool", "images")
# What estimates generalize to, in notes.
SPEAKS = {"pool": "the pool of images", "images": "new images like those of the pool"}
PLACE = ["dataset", "condition", "item"]
# Columns of a plan that name the models whose answers make its strata.
BETWEEN = ("model_a", "model_b")


def with_inclusion(data: xr.Dataset, plan: Any, generalize_to: str, humans: str) -> xr.Dataset:
    """Build the data set of `Trials.with_inclusion`."""
    if generalize_to not in POPULATIONS:
        raise ValueError(
            f"generalize_to must be 'pool' (these images) or 'images' (their population), got "
            f"{generalize_to!r}{nearest(generalize_to, POPULATIONS)}"
        )
    if INCLUSION in data:
        raise ValueError(
            "these trials already have inclusion probabilities; join the plan to the original "
            "trials"
        )
    table = _table(plan)
    keys = [name for name in PLACE if name in table]
    listed_in = table["list"].nunique() if "list" in table else 1
    once = _one_row_each(table, keys)
    place = pd.DataFrame({name: data[name].values.astype(str) for name in keys})
    if place.duplicated().any():
        odd = place[place.duplicated()].iloc[0]
        raise ValueError(
            f"item {odd['item']!r} has several trials, but a plan shows an image once per "
            "condition; give columns dataset and condition, or choose a repeat with "
            "trials.select(repeat=...)"
        )
    found = pd.MultiIndex.from_frame(once[keys]).get_indexer(pd.MultiIndex.from_frame(place))
    inside = found >= 0
    if not inside.any():
        raise ValueError(
            f"no trial shows an image of the plan: the plan has items such as "
            f"{once['item'].iloc[0]!r}, the trials have items such as {place['item'].iloc[0]!r}; "
            "join the plan that was made for these observers"
        )
    _refuse_outside(data, inside, place["item"], humans)
    kept = data.isel(trial=inside)
    rows = once.iloc[found[inside]]
    kept = kept.assign_coords({INCLUSION: ("trial", rows[INCLUSION].to_numpy(np.float64))})
    if STRATUM in rows and HELD in rows:
        kept = kept.assign_coords(
            {
                STRATUM: ("trial", rows[STRATUM].astype(str).to_numpy(object)),
                HELD: ("trial", rows[HELD].to_numpy(np.int64)),
            }
        )
    settled = [str(rows[name].iloc[0]) for name in BETWEEN if name in rows]
    notes = [*data.attrs.get(NOTES, ()), *_told(data, inside, len(once), humans)]
    return kept.assign_attrs(
        {POPULATION: generalize_to, LISTS: int(listed_in), SETTLED: settled, HUMANS: humans}
        | ({NOTES: notes} if notes else {})
    )


def refuse_inclusion(data: xr.Dataset, what: str) -> None:
    """Raise an error for trials with selected images if weights are not supported."""
    if INCLUSION in data:
        raise ValueError(
            f"these images were chosen by a plan, but {what} treats all as equally likely; use "
            "error_consistency, misclassification_agreement, other metrics of correctness "
            "or benchmark_scores, which weight images"
        )


def _table(plan: Any) -> pd.DataFrame:
    """Checked table of a plan: `item, inclusion`, and columns that identify images."""
    source = getattr(plan, "table", plan)
    if isinstance(source, str) or not hasattr(source, "columns"):
        raise TypeError(
            f"expected a StimulusPlan or its table, got {type(plan).__name__}; read a file with "
            "pandas.read_csv(path, dtype={'item': str})"
        )
    open_tables([source])  # which refuses an empty one
    table = frame_of(source).to_pandas().reset_index(drop=True)
    if "item" not in table:
        table = table.rename(columns={"image": "item"})
    for name in ("item", INCLUSION):
        if name not in table:
            raise ValueError(
                f"the table of a plan needs a column {name!r}; it has {listed(table.columns)}"
                f"{nearest(name, table.columns)}"
            )
    for name in (*PLACE, STRATUM, *BETWEEN):
        if name in table:
            table[name] = [label(value) for value in table[name]]
    values = pd.to_numeric(table[INCLUSION], errors="coerce").to_numpy(np.float64)
    odd = np.flatnonzero(~((values > 0) & (values <= 1)))
    if len(odd):
        raise ValueError(
            f"inclusion of item {table['item'].iloc[odd[0]]!r} must be a probability in (0, 1], "
            f"got {table[INCLUSION].iloc[odd[0]]}; every image of a plan has one"
        )
    table[INCLUSION] = values
    return table


def _one_row_each(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """One row for each image, also if several lists have it."""
    again = table.duplicated(keys, keep=False)
    for _, rows in table[again].groupby(keys, sort=False):
        if rows[INCLUSION].max() - rows[INCLUSION].min() > 1e-9:
            raise ValueError(
                f"item {rows['item'].iloc[0]!r} has several probabilities in the plan; join a "
                "single plan, with columns dataset and condition if items occur in several of these"
            )
    return table.drop_duplicates(keys, ignore_index=True)


def _refuse_outside(
    data: xr.Dataset, inside: NDArray[np.bool_], item: pd.Series, humans: str
) -> None:
    """Raise an error if humans saw images without a known inclusion probability."""
    kind = data["kind"].values
    known_kind("humans", humans, kind, ", for whom the plan was made")
    shown = data["correct"].values != NOT_SHOWN
    beyond = shown & ~inside & (kind == humans)[:, None]
    if beyond.any():
        who, what = np.argwhere(beyond)[0]
        raise ValueError(
            f"{data['observer'].values[who]!r} saw {counted(int(beyond[who].sum()), 'image')} "
            f"outside the plan, such as {item.iloc[what]!r}, with unknown inclusion probability; "
            "add every such image to the plan, or leave out its trials"
        )


def _told(data: xr.Dataset, inside: NDArray[np.bool_], n_planned: int, humans: str) -> list[str]:
    """Notes on images that only models saw, and on humans who saw part of the plan."""
    notes = []
    if lost := int((~inside).sum()):
        notes.append(f"{lost} images outside the plan, which models alone saw, are left out")
    shown = (data["correct"].values != NOT_SHOWN)[data["kind"].values == humans][:, inside]
    if (missing := n_planned - int(shown.any(axis=0).sum())) > 0:
        notes.append(f"{missing} of {n_planned} images of the plan were seen by none of the people")
    return notes


def with_design(table: xr.Dataset, data: xr.Dataset) -> xr.Dataset:
    """Add a plan's inclusion probabilities and strata to a count table, if there are any."""
    if INCLUSION not in data:
        return table
    own = [name for name in (INCLUSION, STRATUM, HELD) if name in data.coords]
    added = table.assign({name: ("trial", data[name].values) for name in own})
    added[ASKED] = ("observer", data["kind"].values == data.attrs[HUMANS])
    return added.assign_attrs({name: data.attrs[name] for name in (POPULATION, SETTLED, LISTS)})


def refuse_lists(data: xr.Dataset, first: NDArray[np.intp], second: NDArray[np.intp]) -> None:
    """Raise an error for pairs of humans who saw separately sampled lists."""
    if INCLUSION not in data:
        return
    people = data["kind"].values == data.attrs[HUMANS]
    both = people[first] & people[second]
    if data.attrs[LISTS] > 1 and both.any():
        a, b = data["observer"].values[[first[both][0], second[both][0]]]
        raise ValueError(
            f"{a!r} and {b!r} saw separately sampled lists of images, so pairs of humans have few "
            "images in common; compare humans with models, or plan one list for all humans"
        )
