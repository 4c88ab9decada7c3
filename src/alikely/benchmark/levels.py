"""The decomposition of scores at every level of a benchmark: who is one person, what one image.

References
----------
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal, NamedTuple, cast

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import sparse

from alikely._base.arrays import Floats
from alikely.benchmark.decomposition import (
    Decomposition,
    added_count,
    block_clusters,
    block_influence,
    invented_spread,
)
from alikely.benchmark.degrees import degrees_of_people
from alikely.benchmark.layout import Layout, People
from alikely.benchmark.nesting import human_shifts, nested_scores
from alikely.benchmark.tables import one_of
from alikely.data.blocks import Block, blocks, cluster_numbers
from alikely.data.columns import PEOPLE
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.inference.influence import estimate, most_freedom
from alikely.metrics import Metric

__all__ = [
    "Items",
    "checked_labels",
    "decompositions",
    "image_numbers",
    "n_distinct_blocks",
]

# What makes two trials those of one image.
Items = Literal["dataset", "label", "condition"]
SAME_IMAGE: dict[Items, list[str]] = {
    "label": ["item"],
    "dataset": ["trial_dataset", "item"],
    "condition": ["trial_dataset", "trial_condition", "item"],
}


class _Walk(NamedTuple):
    """What does not change from level to level."""

    table: xr.Dataset
    layout: Layout
    metric: Metric
    groups: list[Block]
    image: NDArray[np.intp]  # (trial,)
    unit: NDArray[np.intp]  # (trial,): clusters of images, else images
    person: list[NDArray[np.intp]]  # of each part: (human,)
    absent: NDArray[np.bool_]  # (part, system)


def checked_labels(
    trials: Trials, humans: str, people: str | None, items: str
) -> tuple[People, Items]:
    """What labels of people and of images mean, if that is known."""
    if people is not None:
        one_of("people", people, ("label", "dataset"))
    one_of("items", items, tuple(SAME_IMAGE))
    _check_truths(trials, cast("Items", items))
    said = people or trials.data.attrs.get(PEOPLE)
    if said is None:
        name, places = _most_places(trials, humans)
        if places > 1:
            raise ValueError(
                f"label {name!r} answers in {places} data sets, one person or as many? Say "
                "people='label' if a label is the same person everywhere, people='dataset' if "
                "each data set has people of its own"
            )
    return cast("People", said or "label"), cast("Items", items)


def _check_truths(trials: Trials, items: Items) -> None:
    """Refuse one image with several true classes: then a label is several images."""
    data = trials.data
    if "truth" not in data:
        return
    keys = [name.removeprefix("trial_") for name in SAME_IMAGE[items]]
    frame = pd.DataFrame(
        {name: data[name].values for name in ("dataset", "condition", "item", "truth")}
    )
    first = frame.groupby(keys, sort=False)["truth"].transform("first")
    odd = np.flatnonzero(frame["truth"] != first)
    if not len(odd):
        return
    here = frame.iloc[odd[0]]
    other = frame[(frame[keys] == here[keys]).all(axis=1)].iloc[0]
    names = data["class"].values
    said = [
        f"{names[row['truth']]!r} in condition {row['condition']!r} of data set {row['dataset']!r}"
        for row in (other, here)
    ]
    ways = {
        "label": "say items='dataset' or 'condition' if labels recur by habit, or ",
        "dataset": "say items='condition' if labels recur by habit, or ",
        "condition": "",
    }
    raise ValueError(
        f"item {here['item']!r} has the true class {said[0]}, and {said[1]}, but an image has one: "
        f"{ways[items]}give images labels of their own"
    )


def _most_places(trials: Trials, humans: str) -> tuple[str, int]:
    """The person whose label occurs in most data sets, and in how many."""
    data = trials.data
    own = np.flatnonzero(data["kind"].values == humans)
    shown = data["correct"].values[own] != NOT_SHOWN
    number, names = pd.factorize(data["dataset"].values)
    places = np.array([len(np.unique(number[row])) for row in shown])
    if not len(names) or not len(own):
        return "", 0
    return str(data["observer"].values[own[places.argmax()]]), int(places.max())


def decompositions(
    table: xr.Dataset,
    layout: Layout,
    metric: Metric,
    *,
    people: People,
    items: Items,
    added: float | None = None,
    overall: bool = True,
    cluster: str | None = None,
) -> list[Decomposition]:
    """Decompose the scores of each level of a layout, and of their mean."""
    walk = _prepared(table, layout, metric, people, items, cluster)
    shares = [_share(~walk.absent, parts) for parts in layout.levels.values()]
    if overall:
        there = np.stack([share.any(axis=0) for share in shares])
        shares.append(np.stack(shares).sum(axis=0) / np.maximum(there.sum(axis=0), 1))
    every = [*layout.levels.values(), list(range(len(layout.parts)))]
    return [
        _level(walk, parts, share, _added(walk, parts) if added is None else added)
        for parts, share in zip(every, shares, strict=False)
    ]


def image_numbers(table: xr.Dataset, items: Items, cluster: str | None = None) -> NDArray[np.intp]:
    """Number the images of the trials of a table, or clusters of images within data sets."""
    if cluster is not None:
        return cluster_numbers(table, cluster)
    keys = {
        "item": table["item"].values,
        "trial_dataset": table["trial_dataset"].values,
        "trial_condition": table["trial_group"].values,
    }
    frame = pd.DataFrame({name: keys[name] for name in SAME_IMAGE[items]})
    return np.asarray(frame.groupby(SAME_IMAGE[items], sort=False).ngroup(), dtype=np.intp)


def n_distinct_blocks(images: Sequence[NDArray[np.intp]]) -> float:
    """How many blocks there are with images of their own; between, where some are shared."""
    shown = [len(np.unique(block)) for block in images]
    return len(np.unique(np.concatenate(images))) / float(np.mean(shown))


def _prepared(
    table: xr.Dataset,
    layout: Layout,
    metric: Metric,
    people: People,
    items: Items,
    cluster: str | None,
) -> _Walk:
    labels = [
        [(part.dataset if people == "dataset" else "", name) for name in part.people]
        for part in layout.parts
    ]
    number = {label: i for i, label in enumerate(dict.fromkeys(itertools.chain(*labels)))}
    person = [np.array([number[label] for label in own], dtype=np.intp) for own in labels]
    raw = estimate(table, metric)["estimate"].values
    absent = np.isnan(nested_scores(layout, raw[None])[0])
    image = image_numbers(table, items)
    unit = image if cluster is None else image_numbers(table, items, cluster)
    return _Walk(table, layout, metric, list(blocks(table)), image, unit, person, absent)


def _added(walk: _Walk, level: list[int]) -> float:
    """Addition to each cell at one level."""
    n_humans = float(np.mean([walk.layout.parts[d].n_humans for d in level]))
    here = [block for block in walk.groups if walk.layout.part_of_entry[block.rows.start] in level]
    n_blocks = n_distinct_blocks([walk.image[block.trials] for block in here])
    return added_count(n_blocks, n_humans)


def _share(there: NDArray[np.bool_], parts: list[int]) -> Floats:
    """Weight of each part in the mean over some of them: (part, system)."""
    share = np.zeros(there.shape)
    share[parts] = there[parts] / np.maximum(there[parts].sum(axis=0), 1)
    return share


def _level(walk: _Walk, level: list[int], share: Floats, added: float) -> Decomposition:
    """Decompose a weighted mean over some parts."""
    never = ~share.any(axis=0)
    size, n_people = walk.absent.shape[1], 1 + max(int(own.max()) for own in walk.person)
    of_part: dict[int, list[Block]] = {d: [] for d in level}
    for block in walk.groups:
        of_part.get(int(walk.layout.part_of_entry[block.rows.start]), []).append(block)
    shown = {d: _images_of(walk, own) for d, own in of_part.items()}
    column, n_images = _columns(walk, list(shown.values()))
    score = np.where(never, np.nan, 0.0)
    images, invented, shared = np.zeros((size, n_images)), *np.zeros((2, size, size))
    moved = np.zeros((n_people, size))
    clustered = walk.unit is not walk.image
    single = np.zeros((size, len(walk.unit) if clustered else 0))
    crowds: list[list[tuple[NDArray[np.intp], float]]] = [[] for _ in range(size)]
    lost = np.zeros(size, dtype=bool)
    # Images that parts share belong together before squares are taken.
    apart = n_images == sum(len(own) for own in shown.values())
    both = np.zeros((n_people, size, 0 if apart else n_images))
    for d, own in of_part.items():
        part, weight = walk.layout.parts[d], share[d]
        found = [block_influence(block, walk.metric, added) for block in own]
        value = np.full(len(walk.layout.part_of_entry), np.nan)
        for block, (values, _, _) in zip(own, found, strict=True):
            value[block.rows] = values
        shifts = human_shifts(walk.layout, part, np.isfinite(value))
        lost |= shifts.lost & (weight > 0)
        full, left = weight[:, None] * shifts.full, weight[:, None] * shifts.left
        value = np.nan_to_num(value)
        score += full @ value
        moved[walk.person[d]] += left @ value
        at = column[shown[d]]
        part_both = np.zeros((part.n_humans, size, len(at)))
        for block, (_, slopes, waves) in zip(own, found, strict=True):
            # An image that a block shows more than once is one image.
            own_images, number = np.unique(walk.unit[block.trials], return_inverse=True)
            if clustered:
                of_image = block_clusters(block, walk.metric, added, number)
                single[:, block.trials] += full[:, block.rows] @ slopes
            else:
                of_image = _summed(slopes, number)
            images[:, column[own_images]] += full[:, block.rows] @ of_image
            place = np.searchsorted(shown[d], own_images)
            part_both[:, :, place] += left[:, :, block.rows] @ of_image
            invented += invented_spread(full[:, block.rows], waves, block.a, block.b, added)
        if apart:
            shared += np.tensordot(part_both, part_both, axes=((0, 2), (0, 2)))
        else:
            both[np.ix_(walk.person[d], np.arange(size), at)] += part_both
        for s in np.flatnonzero(weight > 0):
            crowds[s].append((walk.person[d][shifts.takes_part[:, s]], weight[s]))
    if not apart:
        shared = np.tensordot(both, both, axes=((0, 2), (0, 2)))
    people = moved.T @ moved
    lost |= never
    people[lost] = np.nan
    people[:, lost] = np.nan
    df = [np.nan if lost[s] else degrees_of_people(crowds[s], n_people) for s in range(size)]
    most_df = _most_df(walk, single) if clustered else np.inf
    return Decomposition(score, images, invented, people, shared, np.array(df), most_df)


def _most_df(walk: _Walk, single: Floats) -> float:
    """Most degrees of freedom of clusters, by the influence of trials on scores (score, trial)."""
    shown = single.any(axis=0)
    total = (single**2).sum(axis=1, keepdims=True)
    squares = np.divide(single**2, total, out=np.zeros_like(single), where=total > 0).sum(axis=0)
    return float(most_freedom(np.bincount(walk.unit[shown], squares[shown]).astype(np.float64)))


def _summed(columns: Floats, number: NDArray[np.intp]) -> Floats:
    """Sums of the columns of each number from 0 on."""
    which = sparse.csr_array((np.ones(len(number)), (np.arange(len(number)), number)))
    return np.asarray(columns @ which)


def _images_of(walk: _Walk, own: list[Block]) -> NDArray[np.intp]:
    return np.unique(np.concatenate([walk.unit[block.trials] for block in own]))


def _columns(walk: _Walk, shown: list[NDArray[np.intp]]) -> tuple[NDArray[np.intp], int]:
    """Column of each image among those of a level, and their number."""
    used = np.unique(np.concatenate(shown))
    column = np.full(walk.unit.max() + 1, -1)
    column[used] = np.arange(len(used))
    return column, len(used)
