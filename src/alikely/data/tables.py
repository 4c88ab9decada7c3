"""Count tables: the sufficient statistics of pairs of observers.

A correctness table is an `xarray.Dataset` with the four cells of every pair in every group of
trials. The dim ``pair`` has one entry per pair and group: a condition belongs to one data set, and
a pair to the data sets that both observers took part in. The table also contains the aligned
correctness from which the cells were counted. The correctness of trials determines the dependence
between pairs in the bootstrap, in covariances and in the joint posterior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from alikely._base.checks import entries, of_type, one_of
from alikely._base.names import listed, nearest
from alikely._base.parallel import in_parallel
from alikely._base.size import check_memory
from alikely.data.blocks import LEFT_OUT, Block, blocks
from alikely.data.columns import ELSEWHERE, ITEM_COLUMNS, NO_TRUTH, SILENT, with_silence
from alikely.data.inclusion import INCLUSION, refuse_lists, with_design
from alikely.data.probabilities import N_OPTIONS, PROBABILITY
from alikely.data.repeats import presented, recurring
from alikely.data.trials import NO_RESPONSE, NOT_SHOWN, Trials

# Always in this order; the first index is the reference observer.
CELLS = ("n11", "n10", "n01", "n00")

# Between names of data sets in an attribute of a table, which a file must hold.
SEPARATOR = "\n"

# Floats are exact for whole numbers up to here.
MOST_COUNT = 2**53
MAKE = "make them with Trials.from_table"
# Bits of a word.
WORD = 64
# Rows of observers that one job counts: pieces small enough that all cores end together.
ROWS = 64

By = Literal["condition", "dataset"] | None
Repeats = Literal["paired", "crossed"]


def joint_correctness(
    trials: Trials,
    pairs: Pairs = "all",
    by: By = "condition",
    no_response: Literal["error", "drop"] = "error",
    *,
    labels: bool | Literal["options", "any", "ratings"] = False,
    disjoint: bool = False,
    directed: bool = False,
    repeats: Repeats = "paired",
) -> xr.Dataset:
    """Count the four correctness cells of each pair of observers.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    pairs : str, sequence of str, or sequence of (str, str)
        ``"all"``; two kinds of observers joined by a hyphen, such as ``"human-model"``; several
        such strings; or a list of observer pairs. The first observer of a pair is the reference
        ``a``; with ``pairs="all"``, humans precede all other observers.
    by : {"condition", "dataset"} or None
        Groups of trials that are counted separately. Conditions are nested in data sets. ``None``
        pools all trials.
    no_response : {"error", "drop"}
        Whether to count an observer's missing response as an error (the convention of the
        model-vs-human benchmark), or to exclude the trial from the observer's pairs.
    labels : bool, "options", "any" or "ratings"
        Whether to keep the responses, as required by metrics that compare labels. If labels are
        kept, missing responses that count as errors get the label ``(no response)``.

        - ``"any"``: keep responses if the trials have any
        - ``"ratings"``: keep responses even where the truth is unknown
        - ``"options"``: also keep options and their probabilities (`alikely.Trials.with_options`,
          `alikely.Trials.with_probabilities`)
    disjoint : bool
        Whether to allow pairs without a common trial, for metrics that do not need common trials.
    directed : bool
        Whether to count pairs of observers of the same kind in both orders, for metrics that are
        not symmetric. A pair listed as ``(a, b)`` is not also counted as ``(b, a)``.
    repeats : {"paired", "crossed"}
        How to pair responses to items that are repeated within a condition. ``"paired"`` pairs the
        first responses of both observers, then the second responses, and so on; each pair of
        responses is a trial. ``"crossed"`` pairs each response of one observer with each response
        of the other; all items have equal weight, regardless of their number of repeats.

    Returns
    -------
    xarray.Dataset
        - ``cells`` (pair, cell): counts in each pair's 2 x 2 table, with coordinates ``observer_a,
          observer_b, dataset, condition``
        - ``first, second`` (pair): positions of the observers
        - ``pair_group`` (pair), ``trial_group`` (trial): group of trials
        - ``correct`` (observer, trial): 1, 0, or -1 if excluded
        - With `labels`: ``response`` (observer, trial) and ``truth`` (trial), which contain
          positions along the dimension ``class``, with -1 for excluded responses.
        - With crossed repeats, each ``trial`` is an item, and each response of one observer is
          paired with each response of the other. ``cells`` (float64) sums, over items, the
          proportion of these pairs in each cell of the 2 x 2 table. ``correct`` is an observer's
          proportion correct on an item, and ``answers`` (observer, trial) the number of responses;
          ``response`` has the additional dim ``repeat``.
        - For images chosen by a plan (`alikely.Trials.with_inclusion`), the result also contains
          inclusion probabilities (``inclusion``, dim trial) and strata. ``cells`` are weighted
          (float64) and sum to the number of trials.

        A pair is included once for each group of trials in which each of its observers was shown at
        least one trial.

    Raises
    ------
    ValueError
        If a kind, observer or option is unknown, or there are fewer than two observers.
    ValueError
        If two kinds of observers in a data set share no trial, and `disjoint` is False.
    ValueError
        If labels are requested, but only correctness is known.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.Trials.from_correct([[1, 1, 0, 0, 1], [1, 0, 0, 1, 1]])
    >>> joint_correctness(trials)["cells"].values.tolist()
    [[2, 1, 1, 1]]
    """
    one_of("repeats", repeats, ("paired", "crossed"))
    data, pairs = of_type(trials, Trials, MAKE).data, listed_pairs(pairs)
    raw = data["correct"].values
    without_truth = labels == "ratings" and "truth" not in data
    if without_truth:
        raw = np.where(raw == NO_TRUTH, 1, raw)
    correct: NDArray[Any] = correctness(raw, no_response)
    shown = raw != NOT_SHOWN
    first, second = chosen_pairs(trials.observers, data["kind"].values, pairs, directed)
    refuse_lists(data, first, second)
    labels = "response" in data if labels == "any" else labels
    found = answers(data, correct) if labels else {}
    shared, numbered, _ = recurring(data)
    items = presented(data)
    if items is not None and repeats == "crossed":
        items.require_one_truth(data)
        shown = items.gathered(shown, False).any(axis=2)
        numbers = items.number(correct)
        correct = items.shares(correct)
        data = data.isel(trial=items.first)
        if labels:
            dims, response = found["response"]
            found["response"] = ((*dims, "repeat"), items.gathered(response, LEFT_OUT))
            found["truth"] = ("trial", found["truth"][1][items.first])
    if not disjoint:
        named = not isinstance(pairs, str) and not isinstance(pairs[0], str)
        require_common_trials(data, shown, first, second, every_pair=named)

    group, group_labels = groups_of_trials(data, by)
    present = np.stack([shown[:, group == g].any(axis=1) for g in range(len(group_labels))])
    pair_group, chosen = np.nonzero(present[:, first] & present[:, second])
    a, b = first[chosen], second[chosen]
    names = data["observer"].values.astype(object)
    table = xr.Dataset(
        {
            "correct": (("observer", "trial"), correct),
            "trial_group": ("trial", group),
            "first": ("pair", a),
            "second": ("pair", b),
            "pair_group": ("pair", pair_group),
        },
        coords={
            "pair": pair_labels(names[a], names[b], group_labels, pair_group),
            "observer_a": ("pair", names[a]),
            "observer_b": ("pair", names[b]),
            "dataset": ("pair", group_labels["dataset"].to_numpy(object)[pair_group]),
            "condition": ("pair", group_labels["condition"].to_numpy(object)[pair_group]),
            "cell": list(CELLS),
            "observer": names,
            "item": ("trial", _item_labels(data, numbered)),
            "trial_dataset": ("trial", data["dataset"].values),
            "trial_condition": ("trial", data["condition"].values),
            **{name: ("trial", data[name].values) for name in data.attrs.get(ITEM_COLUMNS, ())},
        },
        attrs={
            "by": by or "all trials",
            "no_response": no_response,
            "recurring": "one item" if shared else "",
            "numbered": SEPARATOR.join(numbered),
            "repeats": repeats if items is not None else "",
            **({"without_truth": 1} if without_truth else {}),
            ITEM_COLUMNS: SEPARATOR.join(data.attrs.get(ITEM_COLUMNS, ())),
        },
    )
    if table.attrs["repeats"] == "crossed":
        table["answers"] = (("observer", "trial"), numbers)
    table = with_design(table, data)
    table["cells"] = (("pair", "cell"), _counts(table))
    if not labels:
        return table
    table = table.assign(found)
    if labels == "options":
        table = table.assign(option_variables(data, table["class"].values, table.attrs["repeats"]))
    return table.assign(n_classes=("pair", _n_classes(table, data.attrs.get(ELSEWHERE, ()))))


def _item_labels(data: xr.Dataset, numbered: Sequence[str]) -> NDArray[np.object_]:
    """Labels of items, with the condition if items are numbered within conditions."""
    labels = data["item"].values.astype(object)
    where = np.isin(data["dataset"].values, list(numbered))
    of_condition = data["condition"].values[where]
    labels[where] = [f"{c}: {i}" for c, i in zip(of_condition, labels[where], strict=True)]
    return labels


def option_variables(
    data: xr.Dataset, classes: NDArray[np.object_], repeats: str = "paired"
) -> dict[str, xr.Variable]:
    """Create the variables that describe the options of questions."""
    if repeats == "crossed":
        raise ValueError(
            "agreement on options takes one response per question; pass repeats='paired'"
        )
    if SILENT in classes:
        raise ValueError("some trials have no response; leave them out with no_response='drop'")
    return {name: data[name].variable for name in (N_OPTIONS, PROBABILITY) if name in data}


def _n_classes(table: xr.Dataset, elsewhere: Sequence[str]) -> NDArray[np.int64]:
    """Number of possible classes of each pair."""
    response, truth = table["response"].values, table["truth"].values
    names, k = table["class"].values, table.sizes["class"]
    codes, of_trial = np.unique(table["trial_dataset"].values, return_inverse=True)
    true = np.zeros((len(codes), k), dtype=bool)
    true[of_trial, truth] = True
    admissible = ~true.any(axis=0) & (names != SILENT) & ~np.isin(names, list(elsewhere))
    given = np.zeros((len(response), len(codes), k), dtype=bool)
    observer, trial, *_ = at = np.nonzero(response != LEFT_OUT)
    given[observer, of_trial[trial], response[at]] = True
    out = np.zeros(table.sizes["pair"], dtype=np.int64)
    for block in blocks(table):
        here = np.unique(of_trial[block.trials])
        common = admissible | true[here].any(axis=0)
        both = given[:, here].any(axis=1)
        first, second = (table[name].values[block.rows] for name in ("first", "second"))
        out[block.rows] = (both[first] | both[second] | common).sum(axis=1)
    return out


def from_counts(cells: ArrayLike) -> xr.Dataset:
    """Create a correctness table from the counts of several pairs of observers.

    Parameters
    ----------
    cells : array_like of int, shape (4,) or (pair, 4)
        Counts ``n11, n10, n01, n00``.

    Returns
    -------
    xarray.Dataset
        As returned by `joint_correctness`. Different pairs are treated as sharing no trials.

    Raises
    ------
    ValueError
        If a row does not consist of four non-negative whole numbers.

    Examples
    --------
    >>> from_counts([100, 20, 20, 20])["cells"].values.tolist()
    [[100, 20, 20, 20]]
    """
    counts = np.atleast_2d(check_counts(cells))
    n_pairs = len(counts)
    n = int(counts.sum())
    check_memory(40.0 * n, f"{n:,} trials", "give smaller counts")
    group = np.repeat(np.arange(n_pairs), counts.sum(axis=1))
    code = np.concatenate([np.repeat(np.arange(4), row) for row in counts])
    index = np.arange(n_pairs)
    labels = [str(i) for i in index]
    right = np.stack([code < 2, code % 2 == 0]).astype(np.int8)
    return xr.Dataset(
        {
            "cells": (("pair", "cell"), counts),
            "correct": (("observer", "trial"), right),
            "trial_group": ("trial", group),
            "first": ("pair", np.zeros(n_pairs, int)),
            "second": ("pair", np.ones(n_pairs, int)),
            "pair_group": ("pair", index),
        },
        coords={
            "pair": labels,
            "observer_a": ("pair", np.full(n_pairs, "a", object)),
            "observer_b": ("pair", np.full(n_pairs, "b", object)),
            "dataset": ("pair", np.array(labels, object)),
            "condition": ("pair", np.full(n_pairs, "all", object)),
            "cell": list(CELLS),
            "observer": np.array(["a", "b"], object),
        },
        attrs={"by": "counts", "no_response": "error"},
    )


def correctness(raw: NDArray[np.int8], no_response: str) -> NDArray[np.int8]:
    """Correctness: 1 correct, 0 incorrect, -1 left out."""
    one_of("no_response", no_response, ("error", "drop"))
    if (raw == NO_TRUTH).any():
        raise ValueError(
            "these trials have no true classes, so no response is correct or an error: name their "
            "column by truth=, or compare the responses themselves by a metric of agreement, such "
            "as metric='krippendorff_alpha'"
        )
    if no_response == "drop":
        return np.where(raw < 0, LEFT_OUT, raw).astype(np.int8)
    return np.where(raw == NOT_SHOWN, LEFT_OUT, np.maximum(raw, 0)).astype(np.int8)


def answers(data: xr.Dataset, correct: NDArray[np.int8]) -> dict[str, Any]:
    """Return responses as positions in the list of all classes."""
    if "response" not in data:
        raise ValueError(
            "these trials contain correctness only, but this metric compares classes; read trials "
            "with columns truth and response, or use error_consistency, which needs no classes"
        )
    raw = data["response"].values
    truth = data["truth"].values if "truth" in data else raw.max(axis=0).clip(min=0)
    names = data["class"].values.tolist()
    silent = (raw == NO_RESPONSE) & (correct != LEFT_OUT)
    if silent.any():
        names = with_silence(names)
    response = np.where(silent, len(names) - 1, raw).astype(np.int32)
    return {
        "response": (("observer", "trial"), np.where(correct == LEFT_OUT, LEFT_OUT, response)),
        # Without a truth, any class given replaces it.
        "truth": ("trial", truth.astype(np.int32)),
        "class": np.array(names, dtype=object),
    }


def check_counts(cells: ArrayLike) -> NDArray[np.int64]:
    """Validate counts ``n11, n10, n01, n00``."""
    array = np.asarray(cells)
    if array.ndim == 0 or array.shape[-1] != len(CELLS):
        raise ValueError(
            f"counts must have the four cells n11, n10, n01, n00 on the last axis, got shape "
            f"{array.shape}"
        )
    return whole_counts(array)


def whole_counts(values: ArrayLike, of: str = "") -> NDArray[np.int64]:
    """Validate counts; the error message adds `of` to the word "counts"."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.full(np.shape(values), np.nan)
    odd = ~(numbers == np.round(numbers)) | (numbers > MOST_COUNT) | (numbers < 0)
    if odd.any():
        raise ValueError(
            f"counts{of} must be whole numbers from 0, got {numbers[odd][0]:g}; weights, rates and "
            "probabilities are not counts"
        )
    return numbers.astype(np.int64)


def pair_coords(n_pairs: int, pairs: Sequence[str] | None) -> dict[str, list[str]]:
    """Labels of the ``pair`` and ``cell`` dims; numbers where no names are given."""
    labels = [str(pair) for pair in (range(n_pairs) if pairs is None else pairs)]
    if len(labels) != n_pairs:
        raise ValueError(f"pairs must name all {n_pairs} tables, got {len(labels)} names")
    return {"pair": labels, "cell": list(CELLS)}


def groups_of_trials(data: xr.Dataset, by: By) -> tuple[NDArray[np.intp], pd.DataFrame]:
    """Number the groups of trials."""
    one_of("by", by, ("condition", "dataset", None))
    keys = {None: [], "dataset": ["dataset"], "condition": ["dataset", "condition"]}[by]
    frame = pd.DataFrame({key: data[key].values for key in ("dataset", "condition")})
    for key in frame.columns.difference(keys):
        frame[key] = "all"
    group = np.asarray(frame.groupby(["dataset", "condition"], sort=False).ngroup(), dtype=np.intp)
    return group, frame.drop_duplicates(ignore_index=True)


def pair_labels(
    a: NDArray[np.object_], b: NDArray[np.object_], labels: pd.DataFrame, group: NDArray[np.intp]
) -> list[str]:
    """Name entries by their observers and, if there are several, by their groups of trials."""
    varying = [key for key in labels if labels[key].nunique() > 1]
    suffix = [" ".join(row) for row in labels[varying].itertuples(index=False)]
    return [
        f"{one} x {other}" + (f" [{suffix[g]}]" if varying else "")
        for one, other, g in zip(a, b, group, strict=True)
    ]


def one_answer_each(table: xr.Dataset, rng: np.random.Generator) -> xr.Dataset:
    """Choose one response of each observer to each item at random."""
    response = table["response"].values
    chance = np.where(response != LEFT_OUT, rng.random(response.shape), -1.0)
    said = np.take_along_axis(response, chance.argmax(axis=2)[..., None], axis=2)[..., 0]
    right = (said == table["truth"].values).astype(np.int8)
    out = table.drop_vars(["response", "correct", "answers"]).assign(
        response=(("observer", "trial"), said),
        correct=(("observer", "trial"), np.where(said == LEFT_OUT, LEFT_OUT, right)),
    )
    out.attrs["repeats"] = ""
    return out.assign(cells=(("pair", "cell"), _counts(out)))


def _counts(table: xr.Dataset) -> NDArray[Any]:
    """Four cells of each pair: counts, or weighted ones."""
    whole = table["correct"].dtype == np.int8 and INCLUSION not in table
    cells = np.zeros((table.sizes["pair"], len(CELLS)), np.int64 if whole else np.float64)
    for block in blocks(table):
        cells[block.rows] = _count(block)
    return cells


def _count(block: Block) -> NDArray[Any]:
    """Four cells of each pair of a block, by matrix products over observers."""
    if block.chosen:
        weights = block.scaled_weights()
        return np.einsum("pct,pt->pc", block.shares(), weights, dtype=np.float64)
    # float32 holds whole numbers exactly up to 2**24 trials.
    whole = block.correct.dtype == np.int8
    dtype = np.float32 if whole and block.correct.shape[1] < 2**24 else np.float64
    known = block.correct != LEFT_OUT
    right: NDArray[Any] = np.where(known, block.correct, 0).astype(dtype)
    wrong: NDArray[Any] = known - right
    a, b = block.a, block.b
    sides = [(right, right), (right, wrong), (wrong, right), (wrong, wrong)]
    cells = np.stack([(one @ other.T)[a, b] for one, other in sides], axis=-1)
    return cells.astype(np.int64) if whole else cells


Pairs = str | Sequence[str] | Sequence[tuple[str, str]]


def listed_pairs(pairs: Any) -> Any:
    """Raise `TypeError` unless `pairs` is a string or a list."""
    return pairs if isinstance(pairs, str) else entries("pairs", pairs, "[('anna', 'net')]")


def chosen_pairs(
    names: list[str], kinds: NDArray[Any], pairs: Pairs, directed: bool = False
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of both observers of each requested pair."""
    if len(names) < 2:
        raise ValueError(
            f"a comparison needs at least two observers, got {len(names)} ({listed(names)})"
        )
    pairs = listed_pairs(pairs)
    if not isinstance(pairs, str):
        if pairs and all(isinstance(entry, str) for entry in pairs):
            parts = [chosen_pairs(names, kinds, str(entry), directed) for entry in pairs]
            every = np.concatenate(parts, axis=1)
            a, b = every[:, np.sort(np.unique(every, axis=1, return_index=True)[1])]
            return a, b
        return _listed_pairs(names, pairs)
    if pairs == "all":
        # Humans first, so that the human is the reference of every mixed pair.
        order = np.argsort(kinds != "human", kind="stable")
        i, j = np.triu_indices(len(names), k=1)
        a, b = order[i], order[j]
        return _both_orders(a, b, kinds[a] == kinds[b]) if directed else (a, b)
    cuts = [(pairs[:i], pairs[i + 1 :]) for i, char in enumerate(pairs) if char == "-"]
    fits = [cut for cut in cuts if set(cut) <= set(kinds)]
    if len(fits) > 1:
        ways = " or ".join(f"{first!r} with {second!r}" for first, second in fits)
        raise ValueError(
            f"pairs={pairs!r} may mean {ways}, because kinds have hyphens; list pairs of observers "
            "instead"
        )
    for first, second in fits:
        a, b = np.flatnonzero(kinds == first), np.flatnonzero(kinds == second)
        if first == second:
            i, j = np.triu_indices(len(a), k=1)
            if not len(i):
                raise ValueError(
                    f"pairs={pairs!r} needs at least two observers of kind {first!r}, got 1 "
                    f"({names[a[0]]}); choose other pairs"
                )
            return _both_orders(a[i], a[j], np.ones(len(i), bool)) if directed else (a[i], a[j])
        return np.repeat(a, len(b)), np.tile(b, len(a))
    known = sorted(set(kinds))
    raise ValueError(
        f"pairs must be 'all', two kinds joined by a hyphen, or a list of observer pairs; the "
        f"kinds here are {listed(map(repr, known))}; got {pairs!r}"
    )


def _both_orders(
    first: NDArray[np.intp], second: NDArray[np.intp], these: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Add the reverse order of some pairs after each of them."""
    after = np.flatnonzero(these) + 1
    return np.insert(first, after, second[these]), np.insert(second, after, first[these])


def _listed_pairs(
    names: list[str], pairs: Sequence[str] | Sequence[tuple[str, str]]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    position = {name: i for i, name in enumerate(names)}
    chosen = []
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(f"each pair must be two different observers, got {pair!r}")
        for name in pair:
            if name not in position:
                raise ValueError(
                    f"unknown observer {name!r} in pairs; the observers are {listed(names)}"
                    f"{nearest(name, names)}"
                )
        chosen.append((position[pair[0]], position[pair[1]]))
    if not chosen:
        raise ValueError("pairs is an empty list; name at least one pair or pass pairs='all'")
    if len(set(chosen)) < len(chosen):
        raise ValueError("pairs names the same pair twice; name each once")
    first, second = np.array(chosen).T
    return first, second


def require_common_trials(
    data: xr.Dataset,
    shown: NDArray[np.bool_],
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    every_pair: bool,
) -> None:
    """Raise an error for kinds of observers without a common trial in a data set."""
    names = data["observer"].values
    dataset = data["dataset"].values
    kinds = np.unique(data["kind"].values, return_inverse=True)[1]
    between = kinds[first] * (kinds.max(initial=0) + 1) + kinds[second]
    anywhere = np.zeros(len(first), dtype=bool)
    for label in pd.unique(dataset):
        here = shown[:, dataset == label]
        present = here.any(axis=1)
        common = here.astype(np.float32) @ here.T.astype(np.float32) > 0
        both = present[first] & present[second]
        met = np.isin(between, between[both & common[first, second]])
        _, part = sparse.csgraph.connected_components(common, directed=False)
        linked = (part[first] == part[second]) & (not every_pair)
        bad = np.flatnonzero(both & ~met & ~linked)
        if len(bad):
            a, b = names[first[bad[0]]], names[second[bad[0]]]
            raise ValueError(
                f"observers {a!r} and {b!r} both took part in data set {label!r} but have no "
                "trial in common, nor do other pairs of these kinds; check that items and "
                "conditions have the same labels, or choose other pairs"
            )
        anywhere |= both
    if not (anywhere.all() if every_pair else anywhere.any()):
        apart = np.flatnonzero(~anywhere)[0]
        raise ValueError(
            f"observers {names[first[apart]]!r} and {names[second[apart]]!r} have no data set in "
            "common; choose other pairs"
        )


def n_entries(trials: Trials, pairs: Pairs, by: By) -> int:
    """Number of entries: pairs by groups of trials in which both took part."""
    data = trials.data
    first, second = chosen_pairs(trials.observers, data["kind"].values, pairs)
    group, labels = groups_of_trials(data, by)
    shown = data["correct"].values != NOT_SHOWN
    present = (shown[:, group == number].any(axis=1) for number in range(len(labels)))
    return sum(int(np.count_nonzero(own[first] & own[second])) for own in present)


class Packed(NamedTuple):
    """Responses of observers, packed into 64-bit words (64 trials per word)."""

    right: NDArray[np.uint64]
    shown: NDArray[np.uint64] | None
    n_trials: int

    def n_shown(self) -> NDArray[np.int64]:
        """Number of trials used for each observer."""
        if self.shown is None:
            return np.full(len(self.right), self.n_trials)
        return _ones(self.shown)

    def shown_bits(self) -> NDArray[np.uint64]:
        """Bits that mark the trials used for each observer."""
        if self.shown is not None:
            return self.shown
        return np.broadcast_to(_words(np.ones((1, self.n_trials), dtype=bool)), self.right.shape)

    def unpacked(self, observers: NDArray[np.intp]) -> NDArray[np.int8]:
        """Correctness of some observers, (observer, trial): 1, 0, or -1 if excluded."""
        right = _bits(self.right[observers], self.n_trials)
        if self.shown is None:
            return right
        return np.where(_bits(self.shown[observers], self.n_trials) == 1, right, np.int8(-1))


def pack(correct: NDArray[np.number]) -> Packed:
    """Pack responses into bits."""
    shown = correct >= 0
    return Packed(
        _words(correct == 1), None if shown.all() else _words(shown), int(correct.shape[1])
    )


def all_cells(packed: Packed) -> NDArray[np.int32]:
    """Count the four correctness cells of all pairs by bitwise operations."""
    n = len(packed.right)
    out = np.empty((n * (n - 1) // 2, 4), dtype=np.int32)
    own = _ones(packed.right)
    starts = range(0, n - 1, ROWS)
    jobs = [(packed, own, start, min(start + ROWS, n - 1)) for start in starts]
    at = 0
    # Few observers: threads would cost more than the counting.
    blocks = in_parallel(_count_rows, jobs) if len(jobs) > 1 else (_count_rows(*j) for j in jobs)
    for block in blocks:
        out[at : at + len(block)] = block
        at += len(block)
    return out


def _count_rows(packed: Packed, own: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int32]:
    """Count the pairs whose first observer is in rows `start` to `stop`."""
    right, shown, n_trials = packed
    both = _common(right, right, start, stop)
    first: NDArray[np.int64] = own[start:stop, None]
    second: NDArray[np.int64] = own[None]
    every: NDArray[np.int64] | int = n_trials
    if shown is not None:
        first, second = _common(right, shown, start, stop), _common(shown, right, start, stop)
        every = _common(shown, shown, start, stop)
    n10, n01 = first - both, second - both
    cells = np.stack([both, n10, n01, every - both - n10 - n01], axis=-1)
    later = np.arange(len(right)) > np.arange(start, stop)[:, None]
    return np.asarray(cells[later], dtype=np.int32)


def _common(
    left: NDArray[np.uint64], right: NDArray[np.uint64], start: int, stop: int
) -> NDArray[np.int64]:
    """Common bits of rows `start` to `stop` of one and later rows of the other."""
    out = np.zeros((stop - start, len(right)), dtype=np.int64)
    for row, i in enumerate(range(start, stop)):
        out[row, i + 1 :] = _ones(left[i] & right[i + 1 :])
    return out


def _ones(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    return np.bitwise_count(words).sum(axis=-1, dtype=np.int64)


def _words(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    packed = np.packbits(bits, axis=1, bitorder="little")
    missing = -packed.shape[1] % (WORD // 8)
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view("<u8")


def _bits(words: NDArray[np.uint64], n_trials: int) -> NDArray[np.int8]:
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n_trials, bitorder="little").astype(np.int8)


def confusion_trials(confusions: Mapping[str, ArrayLike | pd.DataFrame]) -> Trials:
    """Make trials with these confusion matrices, with separate items for each system."""
    if not isinstance(confusions, Mapping):
        raise TypeError(
            "confusions must map names of systems to their confusion matrices, such as "
            f"{{'a': [[8, 2], [1, 9]], 'b': ...}}; got {type(confusions).__name__}"
        )
    if len(confusions) < 2:
        raise ValueError(f"confusions must have at least two systems, got {len(confusions)}")
    read = {str(name): _read(str(name), matrix) for name, matrix in confusions.items()}
    if len(read) < len(confusions):
        systems = [*map(str, confusions)]
        repeated = next(name for n, name in enumerate(systems) if name in systems[:n])
        raise ValueError(f"two systems have the name {repeated!r} (names are text); rename one")
    (first, (_, known)), *others = read.items()
    for name, (_, labels) in others:
        if labels != known:
            raise ValueError(
                f"confusion matrices must have the same classes in the same order; {first!r} has "
                f"{len(known)} ({listed(known)}) and {name!r} {len(labels)} ({listed(labels)}); "
                "reindex them, with 0 for classes that did not occur"
            )
    true, answer, system = [], [], []
    for number, (counts, _) in enumerate(read.values()):
        told = np.where(np.eye(len(known), dtype=bool), np.minimum(counts, 1), counts)
        cells = np.repeat(np.arange(counts.size), told.ravel())
        true.append(cells // len(known))
        answer.append(cells % len(known))
        system.append(np.full(len(cells), number))
    of_item, names = np.concatenate(system), np.array(known, dtype=object)
    response = np.tile(names[np.concatenate(answer)], (len(read), 1))
    unseen = of_item != np.arange(len(read))[:, None]
    return Trials.from_arrays(
        np.ma.array(response, mask=unseen),
        names[np.concatenate(true)],
        observers=list(read),
        classes=known,
    )


def _read(name: str, matrix: ArrayLike | pd.DataFrame) -> tuple[NDArray[np.int64], list[str]]:
    """Counts of a system, and its classes: numbers, unless a table names them."""
    shape = np.shape(matrix)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2:
        raise ValueError(
            f"a confusion matrix must be square, true classes by responses; {name!r} has "
            f"shape {shape}"
        )
    table = pd.DataFrame(matrix)
    rows, columns = ([str(label) for label in labels] for labels in (table.index, table.columns))
    if rows != columns:
        raise ValueError(
            f"rows and columns of the table of {name!r} must name the same classes in the same "
            f"order, got {listed(rows)} and {listed(columns)}"
        )
    return whole_counts(table, f" of {name!r}"), rows
