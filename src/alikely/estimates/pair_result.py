"""Results of pairs: methods of inference, table, draws and selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.frames import Columns, known_columns
from alikely._base.intervals import CiKind, Intervals, bound_names, chosen_methods
from alikely._base.names import listed, nearest
from alikely._base.notes import codes, note, told
from alikely.data.repeats import unequal_answers
from alikely.data.tables import SEPARATOR
from alikely.estimates.notes import (
    apart,
    cautions,
    cluster_note,
    fewest_clusters,
    joined,
    missing_notes,
    recurring,
    repeats_note,
    scarcity,
    wide,
)
from alikely.inference.cell_limits import WITHOUT_DRAWS, posterior_quantiles
from alikely.inference.intervals import adjusted_p_values, analytic_interval, interval
from alikely.inference.resampling import bca_of_table
from alikely.inference.weighting import holding, student_deviate
from alikely.metrics import consistency

if TYPE_CHECKING:
    from alikely.estimates.result import Result

Method = Literal["analytic", "bootstrap", "bca", "posterior"]
PLACES = ("dataset", "condition")
# Methods of ``"all"``, in the order of columns and rows.
METHODS = ("analytic", "bootstrap", "posterior")
LABELS = [*PLACES, "observer_a", "observer_b"]
# Either observer of a pair.
EITHER = "observer"
# Counts in the tables of labels and of rows, for all their metrics.
COUNTED = ("n_joint_errors", "n_errors_a", "n_errors_b")
# Tests against independent observers: tables show the first available, others on request.
TESTS = ("p_null", "p_null_bh", "p_fisher", "log_bf10", "p_adjusted", "log10_p")
NUMBERED = note("item-labels")
# Label of entries that pool data sets.
ALL_DATA = "all"
FIRST = {"estimate": ("pair",), "se": ("pair",), "undefined": ("pair",)}
SCHEMA = {"observed_data": {"first": ("pair",), "second": ("pair",)}, "estimates": FIRST}


def available_methods(result: Result, ci_kind: str = "eti") -> list[Method]:
    """Return the interval methods that are available in a result."""
    there: list[Method] = ["analytic"]
    if "bootstrap" in result.data.children:
        there += ["bootstrap", "bca"]
    # Limits computed from counts are equal-tailed.
    if "posterior" in result.data.children or (result.without_draws and ci_kind == "eti"):
        there.append("posterior")
    return there


def chosen_interval(
    result: Result, interval: str | None = None, ci_kind: Any = None
) -> Method | Literal[""]:
    """Choose the method whose interval is reported."""
    metric = result.metric
    there = available_methods(result, result.interval_options(None, ci_kind)[1])
    if interval is None:
        known = [name for name in metric.recommended if name not in metric.unreliable]
        if fewest_clusters(result):
            known.sort(key=lambda name: name != "analytic")
        elif cluster_note(result):
            known.sort(key=lambda name: name == "posterior")
        return next((own for name in known for own in there if own == name), "")
    for how in there:
        if how == interval:
            return how
    raise ValueError(
        f"interval must be one that this result has ({listed(there)}); got {interval!r}"
        f"{nearest(interval, there)}"
    )


def shown_methods(result: Result, intervals: Intervals, ci_kind: Any = None) -> tuple[Any, ...]:
    """Methods of a result whose intervals a table shows."""
    metric = result.metric
    there = available_methods(result, result.interval_options(None, ci_kind)[1])
    valid = [name for name in METHODS if name in there and name not in metric.unreliable]
    first = chosen_interval(result, None, ci_kind)
    shown = chosen_methods(intervals, (*METHODS, "bca"), valid, first)
    if intervals is None and "posterior" in there and metric.posterior_label != "posterior":
        # It describes another quantity, such as a noise-corrected correlation.
        shown = tuple(dict.fromkeys((*shown, "posterior")))
    # Limits computed from counts that are requested, but not equal-tailed, raise an error.
    return tuple(name for name in shown if name in available_methods(result))


def bounds_of(method: str, ci_kind: str, ci_prob: float) -> tuple[str, str]:
    """Columns of a summary with the interval of a method."""
    return bound_names(method, {"analytic": "ci", "bca": "ci"}.get(method, ci_kind), ci_prob)


# The method whose interval a page shows.
method = chosen_interval


def schema(_: xr.DataTree) -> Any:
    """Return the groups and variables that a file must have."""
    return SCHEMA


def observers(result: Result) -> list[str]:
    """Return the names of all observers in the entries."""
    names = result.pairs[["observer_a", "observer_b"]].to_numpy().ravel()
    return [str(name) for name in pd.unique(names)]


def draws(result: Result, method: str) -> NDArray[np.floating]:
    """Return bootstrap replicates or posterior draws, (draw, pair)."""
    if method not in result.data.children:
        raise ValueError(
            f"this result has no {method} draws; request them when you call {result.metric.name}()"
        )
    return flat(result.data[method].to_dataset()[result.metric.name], "pair")


def flat(values: xr.DataArray, last: str) -> Floats:
    """Concatenate the chains of draws: a matrix (draw, entry)."""
    return np.asarray(values.values).reshape(-1, values.sizes[last])


def select(result: Result, labels: dict[str, Any]) -> xr.DataTree:
    """Select the entries that match all labels."""
    columns = {name: pd.factorize(result.table[name].values) for name in LABELS}
    return _part(result.data, matching(columns, False, labels))


def matching(
    labels: Mapping[str, tuple[NDArray[np.intp], NDArray[np.object_]]],
    symmetric: bool,
    which: Mapping[str, str | Sequence[str]],
) -> NDArray[np.intp]:
    """Return the entries that match all labels; symmetric pairs match in either order."""
    sides = LABELS[2:]
    either = symmetric and set(sides) <= set(which)
    found: dict[str, list[NDArray[np.bool_]]] = {}
    for column, value in which.items():
        if column not in (*LABELS, EITHER):
            raise ValueError(
                f"comparisons can be selected by {', '.join((*LABELS, EITHER))}; got {column!r}"
            )
        wanted = [value] if isinstance(value, str) else list(value)
        both = column == EITHER or (either and column in sides)
        columns = [labels[name] for name in (sides if both else [column])]
        known = {name for _, names in columns for name in names.tolist()}
        if unknown := sorted(set(wanted) - known):
            raise ValueError(
                f"no comparison has {column} {unknown[0]!r}; expected one of: "
                f"{listed(sorted(known))}{nearest(unknown[0], known)}"
            )
        found[column] = [np.isin(names.astype(str), wanted)[codes] for codes, names in columns]
    keep = np.ones(len(labels[LABELS[0]][0]), dtype=bool)
    if either:
        (a, b), (c, d) = (found.pop(side) for side in sides)
        keep = (a & d) | (b & c)
    for masks in found.values():
        keep &= np.any(masks, axis=0)
    if not keep.any():
        raise ValueError(
            f"no comparison matches {dict(which)!r}; each part occurs, but not together"
        )
    return np.flatnonzero(keep)


def _part(data: xr.DataTree, at: slice | NDArray[np.intp]) -> xr.DataTree:
    """Some entries in all groups that have the dimension pair; other groups unchanged."""
    tree = data.copy()
    for name, node in data.children.items():
        if "pair" in node.dims:
            tree[name].dataset = node.to_dataset().isel(pair=at)
    return tree


def summary(
    result: Result, *, ci_prob: float, ci_kind: CiKind, intervals: Intervals, columns: Columns
) -> pd.DataFrame:
    """List estimates with their intervals, one row per pair and group."""
    methods = shown_methods(result, intervals, ci_kind)
    n_trials, accuracy_a, accuracy_b = _trials(result)
    estimates = result.estimates
    frame = result.pairs.assign(
        n_trials=n_trials,
        accuracy_a=accuracy_a,
        accuracy_b=accuracy_b,
        estimate=estimates["estimate"].values,
        se=estimates["se"].values,
    )
    for name in dict.fromkeys((*COUNTED, *result.metric.alongside, *result.metric.derived)):
        if name in estimates:
            frame[name] = estimates[name].values
    width: Floats | None = None
    few = ""
    for method in methods:
        bounds = _bounds(result, method, ci_prob, ci_kind)
        if method == "posterior":
            width = bounds[:, -1] - bounds[:, 0]
            if bounds.shape[1] == 3:
                frame["posterior_median"] = bounds[:, 1]
            if not result.without_draws and len(result.draws(method)) * (1 - ci_prob) / 2 < 1:
                few = note("few-draws", n=len(result.draws(method)))
        frame[[*bounds_of(method, ci_kind, ci_prob)]] = bounds[:, [0, -1]]
    every = intervals == "all" or columns == "all"
    if "bootstrap" in result.data.children and (every or {"bootstrap", "bca"} & {*methods}):
        frame["frac_undefined"] = np.isnan(result.draws("bootstrap")).mean(axis=0)
    tests = {name: estimates[name].values for name in TESTS if name in estimates}
    if "p_null" in tests:
        tests["p_null_bh"] = adjusted_p_values(tests["p_null"])
    frame = frame.assign(**{name: tests[name] for name in TESTS if name in tests}, note_codes="")
    named = [] if columns is None or columns == "all" else list(columns)
    known_columns(frame, named, "columns")
    hidden = {name for name in result.metric.unreliable if name not in named}
    if not every:
        hidden |= {
            "note_codes",
            *result.metric.requested,
            *[name for name in TESTS if name in tests][1:],
        }
    stored = _notes(result, frame, width, few, methods, named)
    said = {text: (" ".join(codes(text)), told(text)) for text in set(stored)}
    frame["note_codes"], frame["note"] = ([said[text][k] for text in stored] for k in (0, 1))
    return frame.drop(columns=[name for name in hidden - {*named} if name in frame])


def page_columns(result: Result, frame: pd.DataFrame, bounds: Sequence[str]) -> list[str]:
    """Select the columns of a summary that fit on a page."""
    places = [name for name in PLACES if frame[name].nunique() > 1]
    rests = result.metric.rests_on[0]
    if rests == "n_errors" and "n_errors_a" in frame:
        frame[rests] = frame["n_errors_a"] + frame["n_errors_b"]
    chosen = [*places, "observer_a", "observer_b", "n_trials"]
    chosen += [name for name in (rests,) if name in frame and name not in chosen]
    shown = ["posterior_median"] if any(end.startswith("posterior") for end in bounds) else []
    return [*chosen, "estimate", *(name for name in shown if name in frame), *bounds]


def describe(result: Result) -> str:
    """Summarize the contents of a result in one line."""
    n_pairs = result.table.sizes["pair"]
    readers = "readers" in result.table
    kind = (
        ("entry of all readers" if n_pairs == 1 else "entries of all readers")
        if readers
        else ("pair" if n_pairs == 1 else "pairs")
    )
    parts = [f"{n_pairs} {kind}"]
    if lost := int(apart(result).sum()):
        parts.append(f"{lost} of them without a common trial")
    if "bootstrap" in result.data.children:
        parts.append(f"{len(result.draws('bootstrap'))} bootstrap replicates")
    if "posterior" in result.data.children:
        sampler = result.data["posterior"].attrs["sampler"]
        parts.append(f"{len(result.draws('posterior'))} posterior draws ({sampler})")
    if result.without_draws:
        parts.append(f"posterior limits {WITHOUT_DRAWS}")
    return ", ".join(parts)


def _trials(result: Result) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Number of trials and both accuracies of each entry."""
    table = result.table
    if "cells" not in table:
        n_trials, a, b = (table[k].values for k in ("n_trials", "accuracy_a", "accuracy_b"))
        return n_trials, a, b
    cells = table["cells"].values
    # Fractions of repeated items sum to whole items, up to rounding.
    n_trials = np.rint(cells.sum(axis=1)).astype(np.int64)
    if table.attrs.get("without_truth"):
        return n_trials, *np.full((2, len(cells)), np.nan)
    return n_trials, *consistency.accuracies(cells)


def _bounds(result: Result, method: str, ci_prob: float, ci_kind: CiKind) -> Floats:
    """Limits of each entry, with the median between them where it is known."""
    if method == "analytic":
        value, se = (result.estimates[name].values for name in ("estimate", "se"))
        if "interval_center" not in result.estimates:
            deviate = special.ndtri((1 + ci_prob) / 2)
            return analytic_interval(result.metric, value, se, deviate)
        # Images sampled by a plan.
        center, df = (result.estimates[name].values for name in ("interval_center", "df"))
        deviate = student_deviate(df, ci_prob)
        lower, upper = analytic_interval(result.metric, center, se, deviate).T
        return np.stack(holding(lower, upper, value), axis=1)
    if method == "bca":
        return bca_of_table(result.table, result.draws("bootstrap"), result.metric, ci_prob)
    if method == "posterior" and result.without_draws:
        return _quantiles(result, ci_prob, ci_kind)
    values = draws(result, method)
    limits = interval(values, ci_prob, ci_kind)
    return np.insert(limits, 1, np.median(values, axis=0), axis=1)


def _quantiles(result: Result, ci_prob: float, ci_kind: CiKind) -> Floats:
    """Posterior limits from counts: (pair, 3) with the median if known, otherwise (pair, 2)."""
    if ci_kind != "eti":
        raise ValueError(
            f"posterior limits without draws are equal-tailed, got ci_kind={ci_kind!r}; use "
            "n_draws=4000, or leave 'posterior' out of intervals"
        )
    if "posterior_lower" in result.estimates:
        known = (result.estimates[f"posterior_{end}"].values for end in ("lower", "upper"))
        return np.stack(list(known), axis=1)
    levels = [(1 - ci_prob) / 2, 0.5, (1 + ci_prob) / 2]
    return posterior_quantiles(result.table["cells"].values, levels, prior=result.prior)


def _notes(
    result: Result,
    frame: pd.DataFrame,
    width: Floats | None,
    few: str,
    methods: Sequence[str],
    columns: Sequence[str],
) -> list[str]:
    estimates = result.estimates
    undefined = estimates["undefined"].values.astype(object)
    defined = undefined == ""
    known = {str(name): frame[name].to_numpy() for name in frame}
    known |= {"cells": result.table["cells"].values} if "cells" in result.table else {}
    notes = [undefined, scarcity(result.metric, known, known["se"], defined, methods)]
    if "cells" in known:
        notes.append(cautions(result.metric, known["cells"], defined, methods))
    if "note" in estimates:
        notes.append(estimates["note"].values)
    if width is not None:
        if "posterior_note" in estimates:
            notes.append(estimates["posterior_note"].values)
        notes.append(wide(width))
        notes.append(np.full(len(frame), few, dtype=object))
        notes.append(np.where(recurring(result), cluster_note(result), "").astype(object))
    notes.append(np.full(len(frame), repeats_note(result), dtype=object))
    notes.append(unequal_answers(result.table))
    notes.append(missing_notes(result, frame))
    if numbered := result.table.attrs.get("numbered", ""):
        there = frame["dataset"].isin([*numbered.split(SEPARATOR), ALL_DATA])
        notes.append(np.where(there, NUMBERED, "").astype(object))
    for name, reason in result.metric.unreliable.items():
        if name in (*methods, *columns):
            notes.append(np.full(len(frame), note("unreliable", why=reason), dtype=object))
    # An undefined estimate often has no posterior for the same reason: one note is enough.
    return joined(notes)
