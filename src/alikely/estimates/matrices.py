"""Matrices: comparisons of all pairs of thousands of observers, their tables and selection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely._base.arrays import Floats
from alikely._base.checks import of_type, one_of, require_names
from alikely._base.files import write_file
from alikely._base.frames import Columns
from alikely._base.intervals import CiKind, Intervals, check_interval, chosen_methods
from alikely._base.names import counted, listed, nearest
from alikely._base.notes import note
from alikely._base.parallel import in_parallel
from alikely._base.settings import resolve
from alikely._base.size import check_memory
from alikely._base.steps import step
from alikely.data.columns import ITEM_COLUMNS
from alikely.data.inclusion import refuse_inclusion
from alikely.data.repeats import nested_labels, presented, recurring
from alikely.data.summaries import DATA_SUMMARY, data_summary, missing_note_of
from alikely.data.tables import (
    By,
    Packed,
    all_cells,
    answers,
    correctness,
    groups_of_trials,
    option_variables,
    pack,
)
from alikely.data.trials import Trials
from alikely.estimates.analysis import kept_prior
from alikely.estimates.notes import few_clusters, joined
from alikely.estimates.pair_result import LABELS, PLACES, chosen_interval
from alikely.estimates.pair_result import page_columns as page_columns
from alikely.estimates.result import Result, of_kind
from alikely.inference.cell_limits import WITHOUT_DRAWS, option_limits, posterior_limits
from alikely.inference.independence import fisher_log10_p
from alikely.inference.influence import estimate
from alikely.inference.intervals import adjusted_p_values
from alikely.metrics import Metric, get_metric
from alikely.metrics.answers import combined_influence
from alikely.metrics.consistency import CellPrior, Prior, cell_prior

Method = Literal["analytic", "posterior"]
# Most bytes of an entry, measured with 1,500 observers: cells, estimate, standard error, limits and
# test; for metrics that do not count correctness, square matrices of sums and derived quantities.
BYTES = 150
BYTES_OF_SQUARES = 1_250
# Pairs per job: 30 MB of numbers.
BLOCK = 250_000
# Pairs per job for limits of kappa_p.
FEW = 20_000
# Numbers per job: influences, pairs times trials.
CHUNK = 8_000_000
POSTERIOR = ("posterior_lower", "posterior_upper")
# Larger data frames take gigabytes.
MOST_ROWS = 1_000_000
# Variables that are not shown as matrices.
HIDDEN = ("cells", "own", "why")
SCHEMA = {
    "estimates": {"estimate": None, "se": None, "cells": None},
    "answers": {"right": ("observer", "word"), "n_trials": None},
}


def pairwise_matrix(
    trials: Trials | xr.DataArray,
    metric: str | Metric = "error_consistency",
    by: By = "condition",
    *,
    intervals: Sequence[Method] | None = None,
    prior: Prior | None = None,
    tests: bool = True,
    no_response: Literal["error", "drop"] = "error",
    cluster: str | None = None,
    ci_prob: float | None = None,
) -> Result:
    """Compare all pairs of observers, even if there are thousands of observers.

    Trials are counted with bit operations, and standard errors are computed from influence
    functions. Posterior limits and exact tests are computed without random draws. Ten million pairs
    take about a minute. If there are few pairs, use `alikely.compare`, which provides more results
    than `pairwise_matrix`.

    Parameters
    ----------
    trials : Trials or xarray.DataArray, dims (observer, trial)
        Aligned responses, or an array of 1 (correct), 0 (incorrect) and -1 (not shown or excluded).
        A chunked array (dask, zarr, netCDF) is read in slices.
    metric : str or Metric
        A symmetric correctness metric, or a metric that can be computed for all pairs at once, such
        as ``"misclassification_agreement"`` or ``"kappa_p"``. For metrics other than correctness
        metrics, no p-values are computed, and only ``"kappa_p_discrete"`` has posterior limits.
    by : {"condition", "dataset"} or None
        Grouping of trials; groups are analyzed separately. With None, all trials are pooled. If you
        pass an array, all of its trials form one group.
    intervals : sequence of {"analytic", "posterior"}, optional
        Methods whose interval limits are stored. ``"posterior"`` stores limits if they can be
        computed without draws for this metric. Analytic limits are computed from the standard
        errors and are always available. Default: ``"analytic"`` and, unless items are clustered,
        ``"posterior"``.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior on the cells of each pair, as in `alikely.error_consistency`.
    tests : bool
        Whether to compute Fisher's exact test for every pair, with p-values adjusted over all pairs
        (Benjamini-Hochberg). Fisher's test assumes independent items, and is not computed
        if items are clustered.
    no_response : {"error", "drop"}
        Count a missing response as an error, or exclude the trial from the observer's pairs.
    cluster : str, optional
        Item column that defines clusters, such as ``"template"``. With `cluster`, standard errors
        are computed over clusters, and limits use quantiles of Student's t distribution.
        ``cluster="trial"`` treats responses to repeated items as independent trials.
    ci_prob : float
        Probability level, in (0, 1), of the posterior limits and, by default, of all intervals
        computed from the matrix.

    Returns
    -------
    Result
        Result of kind ``"matrix"``; see `alikely.Result`.

    Raises
    ------
    TypeError
        If `trials` has the wrong type.
    MemoryError
        If the matrix does not fit into memory. The function checks the size of the matrix before it
        compares any pair.
    ValueError
        If there are fewer than two observers, if items are repeated, if the metric has no
        implementation for matrices, or if an option is invalid.

    References
    ----------
    .. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted
       kappa. doi:10.1037/h0028106

    Examples
    --------
    >>> import alikely as al
    >>> result = al.pairwise_matrix(al.load_example(), by=None)
    >>> result.summary(top=2)[["observer_a", "observer_b", "estimate", "se"]].round(3)
      observer_a observer_b  estimate     se
    0    model_2    model_3     0.617  0.044
    1    model_1    model_2     0.580  0.042
    """
    ci_prob = resolve("ci_prob", ci_prob)
    found = get_metric(metric)
    if found.counts != "correctness" and found.all_pairs is None:
        raise ValueError(
            f"metric of al.pairwise_matrix must count correctness or support all pairs, and "
            f"{found.name} counts {found.counts}; use compare(trials, metric, pairs) instead"
        )
    if not found.symmetric:
        raise ValueError(
            f"al.pairwise_matrix needs a symmetric metric, and {found.name} depends on the order "
            "of a pair; use compare(trials, metric, pairs) instead"
        )
    check_interval(ci_prob, "eti")
    of_items = cluster not in (None, "trial")
    methods: Sequence[Method] = ("analytic",) if of_items else ("analytic", "posterior")
    methods = methods if intervals is None else intervals
    for name in methods:
        one_of("intervals", name, get_args(Method))
    if of_items and "posterior" in methods:
        raise ValueError(
            "posterior limits treat items as independent, and cluster= declares dependent items; "
            "leave intervals out, or use compare(trials, metric, pairs, cluster=...)"
        )
    own = _checked_prior(prior, found, methods)
    with step("storing responses as bits"):
        names, parts, places = answers_of(trials, by, no_response, cluster)
        said = responses_of(trials, found, by, no_response) if found.all_pairs is not None else []
    if of_items:
        # Trials are stored by condition or data set.
        of_type(trials, Trials, "an array of correct and incorrect responses has no clusters")
        order = np.argsort(groups_of_trials(trials.data, by)[0], kind="stable")
        numbers = clusters_of(trials.data, str(cluster))[order]
    n = len(names)
    if n < 2:
        raise ValueError(f"a matrix needs at least 2 observers, got {n}")
    _check_size(found, n, len(parts))
    made = []
    for k, packed in enumerate(parts):
        of = f" (group of trials {k + 1} of {len(parts)})" if len(parts) > 1 else ""
        with step(f"2 x 2 tables of {n * (n - 1) // 2:,} pairs{of}"):
            cells = all_cells(packed)
        with step(f"estimates of {len(cells):,} pairs{of}"):
            if found.all_pairs is not None:
                given = dict(found.all_pairs({name: v.data for name, v in said[k].items()}))
                limits = _option_limits(given, "posterior" in methods, ci_prob, own)
                variables = _of_matrices(given) | limits
            else:
                prior_of = own if "posterior" in methods else None
                variables = _of_pairs(cells, found, prior_of, tests and not of_items, ci_prob)
                # Cells of every observer with itself.
                right = np.bitwise_count(packed.right).sum(axis=1)
                own_cells = np.zeros((n, 4))
                own_cells[:, 0], own_cells[:, 3] = right, packed.n_shown() - right
                variables["own"] = ("observer", found.value(own_cells))
            variables["cells"] = (("pair", "cell"), cells)
        made.append(xr.Dataset(variables))
    estimates = made[0] if places is None else xr.concat(made, dim=str(places.name))
    if places is not None:
        estimates = estimates.assign_coords(places.coords)
    if "log10_p" in estimates:
        p = adjusted_p_values(10 ** estimates["log10_p"].values.astype(np.float64).ravel())
        shape = estimates["log10_p"].shape
        estimates["p_adjusted"] = (estimates["log10_p"].dims, p.reshape(shape))
    groups = {"estimates": estimates, "answers": _as_bits(parts, names, places)}
    if of_items:
        groups["answers"]["cluster"] = ("trial", numbers)
    missing = ""
    if isinstance(trials, Trials):
        missing = missing_note_of(trials.data, no_response)
        groups[DATA_SUMMARY] = data_summary(trials.data)
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {
        "kind": "matrix",
        "metric": found.name,
        "metric_module": found.module,
        "ci_prob": ci_prob,
        "ci_kind": "eti",
        "no_response": no_response,
        "prior": kept_prior(found, prior),
        "cluster": str(cluster) if of_items else "",
        "missing_note": missing,
        "alikely_version": alikely.__version__,
        **found.options,
    }
    result = Result(tree, trials if isinstance(trials, Trials) else None)
    return _clustered(result) if of_items else result


def _clustered(result: Result) -> Result:
    """Add standard errors over clusters of items, degrees of freedom and numbers of clusters."""
    estimates, n_trials = result.estimates, int(result.data["answers"]["n_trials"].max())
    size, each = estimates["estimate"].size, max(1, CHUNK // max(n_trials, 1))
    jobs = [(result, np.arange(k, min(k + each, size))) for k in range(0, size, each)]
    with step(f"standard errors over clusters of items, {size:,} estimates"):
        parts = list(in_parallel(_over_clusters, jobs))
    like = estimates["estimate"]
    for name in parts[0]:
        values = np.concatenate([part[name] for part in parts])
        estimates[name] = (like.dims, values.reshape(like.shape))
    data = result.data.copy()
    data["estimates"] = xr.DataTree(estimates)
    return Result(data, result.trials)


def _over_clusters(result: Result, flat: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
    table = entries(result, flat, answers=True).table
    found = estimate(table, result.metric, cluster_column(result))
    return {name: found[name].values for name in ("se", "df", "n_clusters", "design_effect")}


def _checked_prior(prior: Prior | None, metric: Metric, intervals: Sequence[Method]) -> CellPrior:
    """The prior of all pairs (`ValueError` if there is no posterior)."""
    own = cell_prior(prior)
    own.cells("a matrix")
    if prior is not None and not (metric.limits and "posterior" in intervals):
        raise ValueError(
            f"prior applies to the posterior, and this matrix of {metric.name} has none; leave it "
            "out, or use intervals=['posterior'] with error_consistency or kappa_p_discrete"
        )
    return own


def _check_size(metric: Metric, n: int, n_places: int) -> None:
    """Check that the matrix fits into memory, before any pair is counted."""
    n_pairs = n * (n - 1) // 2
    each = BYTES if metric.all_pairs is None else BYTES_OF_SQUARES
    check_memory(
        float(n_pairs) * n_places * each,
        f"{n:,} observers, {n_pairs:,} pairs" + (f" x {n_places} places" * (n_places > 1)),
        "select observers with trials.select(observer=[...]), pool with by=None, or analyze sets "
        "of observers separately",
    )


def _of_matrices(found: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Variables of all pairs of one condition or data set, from square matrices."""
    upper = np.triu_indices(len(found["estimate"]), k=1)
    variables: dict[str, Any] = {name: ("pair", square[upper]) for name, square in found.items()}
    return variables | {"own": ("observer", np.diag(found["estimate"]).copy())}


def _option_limits(
    found: dict[str, NDArray[Any]], wanted: bool, ci_prob: float, prior: CellPrior
) -> dict[str, Any]:
    """Posterior limits from the chosen options, which are removed from `found`."""
    chosen, n_options = found.pop("chosen", None), found.pop("n_options", None)
    if chosen is None or n_options is None or not wanted:
        return {}
    limits = np.full((len(chosen), 2), np.nan)
    tails, met = ((1 - ci_prob) / 2, (1 + ci_prob) / 2), np.flatnonzero(np.isfinite(n_options))
    blocks = [met[start : start + FEW] for start in range(0, len(met), FEW)]
    jobs = [(chosen[part], n_options[part], tails, prior) for part in blocks]
    for part, found_here in zip(blocks, in_parallel(option_limits, jobs), strict=True):
        limits[part] = found_here
    return {name: ("pair", limits[:, k]) for k, name in enumerate(POSTERIOR)}


def _of_pairs(
    cells: NDArray[np.int32],
    metric: Metric,
    posterior: CellPrior | None,
    tests: bool,
    ci_prob: float,
) -> dict[str, Any]:
    """Variables of all pairs of one condition or data set, from cells."""
    jobs = [(metric, cells[start : start + BLOCK]) for start in range(0, len(cells), BLOCK)]
    value, se = np.concatenate([np.empty((2, 0)), *in_parallel(_estimated, jobs)], axis=1)
    variables = {"estimate": ("pair", value), "se": ("pair", se)}
    if posterior is not None and metric.limits == "kappa":
        ends = posterior_limits(cells, ci_prob, prior=posterior)
        variables |= {name: ("pair", ends[:, k]) for k, name in enumerate(POSTERIOR)}
    if tests:
        variables["log10_p"] = ("pair", fisher_log10_p(cells))
    return variables


def _estimated(metric: Metric, cells: NDArray[np.int32]) -> Floats:
    """Estimates and their standard errors; NaN if undefined."""
    counts = cells.astype(np.float64)
    value, psi = metric.value(counts), metric.influence(counts)
    square = np.where(counts > 0, counts * psi**2, 0.0).sum(axis=-1)
    se = np.sqrt(square) / np.maximum(counts.sum(axis=-1), 1)
    return np.stack([value, np.where(np.isfinite(value), se, np.nan)])


def _as_bits(
    parts: Sequence[Packed], names: Sequence[str], places: xr.DataArray | None
) -> xr.Dataset:
    """Responses of all conditions or data sets as bits, concatenated."""
    variables: dict[str, Any] = {
        "right": (("observer", "word"), np.concatenate([part.right for part in parts], axis=1))
    }
    if any(part.shown is not None for part in parts):
        shown = [part.shown_bits() for part in parts]
        variables["shown"] = (("observer", "word"), np.concatenate(shown, axis=1))
    numbers = {
        "n_trials": [part.n_trials for part in parts],
        "n_words": [part.right.shape[1] for part in parts],
    }
    for name, values in numbers.items():
        variables[name] = ((), values[0]) if places is None else (str(places.name), values)
    return xr.Dataset(variables, coords={"observer": np.array(names, dtype=object)})


# Results that are matrices.


def schema(_: xr.DataTree) -> Any:
    """Return the groups and variables that a file must have."""
    return SCHEMA


def observers(result: Result) -> list[str]:
    """Return the names of observers in the order of rows and columns."""
    return [str(name) for name in result.data["answers"].to_dataset()["observer"].values.tolist()]


def place_dim(result: Result) -> str:
    """Return the grouping of trials, ``"condition"`` or ``"dataset"``; empty if pooled."""
    return next((name for name in PLACES if name in result.estimates.dims), "")


def place_names(result: Result) -> list[str]:
    """Return the names of conditions or data sets; one empty name if trials are pooled."""
    place = place_dim(result)
    return [str(name) for name in result.estimates[place].values.tolist()] if place else [""]


def cluster_column(result: Result) -> str:
    """Return the column of items that defines clusters; empty if items are independent."""
    return str(result.data.attrs.get("cluster", ""))


def cluster_numbers(result: Result) -> list[NDArray[np.intp]]:
    """Return the cluster of each trial, by condition or data set."""
    answers = result.data["answers"].to_dataset()
    ends = np.cumsum(np.atleast_1d(answers["n_trials"].values))
    return np.split(answers["cluster"].values, ends[:-1])


def with_trials(result: Result, trials: Trials) -> Result:
    """Add trials to a matrix that was loaded from a file, if they match the matrix."""
    of_type(trials, Trials, "read them with Trials.read or Trials.from_table")
    require_names("observer of these trials", result.observers, trials.observers)
    by: Any = place_dim(result) or None
    _, parts, places = answers_of(trials, by, result.data.attrs["no_response"], "trial")
    known = [""] if places is None else places.values.tolist()
    at = [trials.observers.index(name) for name in result.observers]
    for name, own in zip(place_names(result), packed_answers(result), strict=True):
        other = parts[known.index(name)] if name in known else None
        if other is None or not np.array_equal(other.right[at], own.right):
            where = f" in {name}" if name else ""
            raise ValueError(
                f"correctness of these trials{where} differs from that of the matrix; "
                "give the trials from which it was computed"
            )
    return Result(result.data, trials)


def describe(result: Result) -> str:
    """Summarize the contents of a result in one line."""
    n, n_pairs = len(result.observers), result.estimates.sizes["pair"]
    trials = int(result.data["answers"]["n_trials"].sum())
    where = f", {len(place_names(result))} {place_dim(result)}s" if place_dim(result) else ""
    n_undefined = int(np.isnan(result.estimates["estimate"].values).sum())
    undefined = f", {counted(n_undefined, 'entry', 'entries')} undefined" if n_undefined else ""
    return f"{n:,} observers, {n_pairs:,} pairs, {trials:,} trials{where}{undefined}"


def square_matrix(result: Result, name: str) -> xr.DataArray:
    """Arrange one quantity, such as the estimate, as a square matrix over pairs of observers.

    Parameters
    ----------
    result : Result
        As returned by `alikely.pairwise_matrix`.
    name : str
        ``"estimate"``, ``"se"`` or another variable in ``result.estimates``.

    Returns
    -------
    xarray.DataArray
        Dimensions ``observer`` and ``observer_other``, preceded by ``condition`` or ``dataset`` if
        trials are grouped.

    Raises
    ------
    TypeError
        If `result` is not a matrix.
    ValueError
        If the variable is unknown.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.pairwise_matrix(al.load_example(), by=None)
    >>> square = al.estimates.square_matrix(result, "estimate")
    >>> square.sel(observer="model_1", observer_other="model_2").round(3).item()
    0.58
    """
    of_kind(result, "matrix")
    estimates = result.estimates
    known = [str(v) for v in estimates.data_vars if v not in HIDDEN]
    if name not in known:
        raise ValueError(
            f"no {name!r} in this matrix; it has {', '.join(known)}{nearest(name, known)}"
        )
    names, n, values = result.observers, len(result.observers), estimates[name].values
    square = np.empty((*values.shape[:-1], n, n), dtype=values.dtype)
    i, j = np.triu_indices(n, k=1)
    square[..., i, j] = square[..., j, i] = values
    diagonal = estimates["own"].values if name == "estimate" else np.nan
    square[..., np.arange(n), np.arange(n)] = diagonal
    place = place_dim(result)
    return xr.DataArray(
        square,
        dims=(*([place] if place else []), "observer", "observer_other"),
        coords={
            **({place: place_names(result)} if place else {}),
            "observer": names,
            "observer_other": names,
        },
        name=name,
    )


def summary(
    result: Result,
    *,
    ci_prob: float,
    ci_kind: CiKind,
    intervals: Intervals,
    columns: Columns,
    top: int | None = None,
    lowest: bool = False,
) -> pd.DataFrame:
    """List pairs with their intervals, the highest estimates first."""
    chosen_methods(intervals, ("analytic", "posterior"), (), "")
    attrs, estimates = result.data.attrs, result.estimates
    if "posterior_lower" in estimates and (ci_prob, ci_kind) != (attrs["ci_prob"], "eti"):
        raise ValueError(
            f"posterior limits of this matrix are equal-tailed with ci_prob={attrs['ci_prob']}; "
            "call alikely.pairwise_matrix with the new ci_prob"
        )
    value = estimates["estimate"].values.ravel()
    flat = np.arange(len(value))
    n_rows = len(flat) if top is None else min(top, len(flat))
    if top is not None and top < 1:
        raise ValueError(f"top must be at least 1, got {top}")
    if n_rows > MOST_ROWS:
        raise ValueError(
            f"a table has at most {MOST_ROWS:,} rows, got {n_rows:,}; give top=, use "
            "alikely.estimates.square_matrix(result, 'estimate'), or write all to a file with the "
            "subcommand `alikely matrix`"
        )
    key = value if lowest else -value
    if n_rows < len(flat):
        # NaN sorts last here, too.
        flat = np.sort(np.argpartition(key, n_rows - 1)[:n_rows])
        key = key[flat]
    rows = flat[np.argsort(key, kind="stable")]
    return entries(result, rows).summary(
        intervals=intervals, columns=columns, ci_prob=ci_prob, ci_kind=ci_kind
    )


def method(result: Result, interval: str | None = None) -> str:
    """Return the method of the interval that a report shows."""
    return chosen_interval(entries(result, np.arange(1)), interval)


def select(result: Result, labels: Mapping[str, Any]) -> xr.DataTree:
    """Select observers, conditions or data sets; adjusted p-values remain over all pairs."""
    known = ["observer", *filter(None, [place_dim(result)])]
    if unknown := [name for name in labels if name not in known]:
        raise ValueError(
            f"this matrix is selected by {listed(known)}; got {unknown[0]!r}"
            f"{nearest(unknown[0], known)}"
        )
    estimates, answers = result.estimates, result.data["answers"].to_dataset()
    dim, names, known = place_dim(result), result.observers, place_names(result)
    if (places := labels.get(dim)) is not None:
        wanted = [places] if isinstance(places, str) else list(places)
        require_names(dim, wanted, known)
        at = [known.index(name) for name in wanted]
        words = np.split(
            np.arange(answers.sizes["word"]), np.cumsum(answers["n_words"].values)[:-1]
        )
        estimates = estimates.isel({dim: at})
        if cluster_column(result):
            kept = np.concatenate([cluster_numbers(result)[k] for k in at])
            answers = answers.drop_vars("cluster").assign(cluster=("trial", kept))
        answers = answers.isel({dim: at, "word": np.concatenate([words[k] for k in at])})
    if (observers := labels.get("observer")) is not None:
        require_names("observer of this matrix", observers, names)
        at = [names.index(name) for name in observers]
        if len(set(at)) < max(2, len(at)):
            raise ValueError("observer must select at least two different observers")
        i, j = (np.array(at)[k] for k in np.triu_indices(len(at), k=1))
        estimates = _reordered(estimates, i, j, len(names))
        if "own" in estimates:
            estimates = estimates.isel(observer=at)
        answers = answers.isel(observer=at)
    groups = {"estimates": estimates, "answers": answers}
    if DATA_SUMMARY in result.data.children:
        groups[DATA_SUMMARY] = result.data[DATA_SUMMARY].to_dataset()
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = dict(result.data.attrs)
    return tree


def write_pairs(result: Result, path: str | Path) -> None:
    """Write all pairs of a matrix to a parquet file, in chunks."""
    n_rows = result.estimates["estimate"].size
    sink = pa.BufferOutputStream()
    writer = None
    for start in range(0, n_rows, MOST_ROWS):
        rows = np.arange(start, min(start + MOST_ROWS, n_rows))
        frame = entries(result, rows).summary(intervals="all")
        table = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or pq.ParquetWriter(sink, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    write_file(path, sink.getvalue().to_pybytes())


def entry_labels(
    result: Result, flat: NDArray[np.intp] | None = None
) -> dict[str, tuple[NDArray[np.intp], NDArray[np.object_]]]:
    """Return codes and names of the labels of entries (default: all, in the order of estimates)."""
    estimates = result.estimates
    flat = np.arange(estimates["estimate"].size) if flat is None else flat
    place, pair = np.divmod(flat, estimates.sizes["pair"])
    ends = pair_ends(result)[:, pair]
    found = {}
    for name in LABELS[:2]:
        there = estimates.coords.get(f"of_{name}")
        known = np.full(len(place_names(result)), "all", object) if there is None else there.values
        codes, unique = pd.factorize(known)
        found[name] = codes[place], unique
    names = np.array(result.observers, dtype=object)
    return found | {name: (own, names) for name, own in zip(LABELS[2:], ends, strict=True)}


def entries(result: Result, flat: NDArray[np.intp], *, answers: bool = False) -> Result:
    """Return selected entries of a matrix as a result of pairs, optionally with responses."""
    estimates, labels = result.estimates, entry_labels(result, flat)
    counts = estimates["cells"].values.reshape(-1, 4)[flat].astype(np.int64)
    used, ends = np.unique([labels[name][0] for name in LABELS[2:]], return_inverse=True)
    first, second = ends.reshape(2, -1)
    table = xr.Dataset(
        {
            "cells": (("pair", "cell"), counts),
            "first": ("pair", first),
            "second": ("pair", second),
            "pair_group": ("pair", flat // estimates.sizes["pair"]),
        },
        coords={name: ("pair", names[codes]) for name, (codes, names) in labels.items()}
        | {"pair": np.arange(len(flat))},
        attrs={ITEM_COLUMNS: cluster_column(result)},
    )
    if answers:
        table = _with_answers(result, table, used)
    found: dict[str, Any] = {}
    for name, values in estimates.data_vars.items():
        if "pair" in values.dims and name not in HIDDEN:
            found[str(name)] = ("pair", values.values.ravel()[flat])
    found["undefined"] = ("pair", _reasons(result, counts, flat))
    found["note"] = ("pair", np.array(_notes(result, found, counts), dtype=object))
    if cluster_column(result):
        found["interval_center"] = found["estimate"]
    groups = {"observed_data": table, "estimates": xr.Dataset(found, {"pair": table["pair"]})}
    if DATA_SUMMARY in result.data.children:
        groups[DATA_SUMMARY] = result.data[DATA_SUMMARY].to_dataset()
    tree = xr.DataTree.from_dict(groups)
    made = {"kind": "pair", "cluster": cluster_column(result), "sampler": "none"}
    tree.attrs = {**result.data.attrs, **made}
    if "posterior_lower" in found:
        tree.attrs["posterior_limits"] = WITHOUT_DRAWS
    return Result(tree)


def _with_answers(result: Result, table: xr.Dataset, used: NDArray[np.intp]) -> xr.Dataset:
    """Add the responses of observers to a table of entries."""
    packed, places = packed_answers(result), np.unique(table["pair_group"].values).tolist()
    correct = [packed[k].unpacked(used) for k in places]
    sizes = [part.shape[1] for part in correct]
    variables: dict[str, Any] = {
        "correct": (("observer", "trial"), np.concatenate(correct, axis=1)),
        "trial_group": ("trial", np.repeat(places, sizes)),
    }
    coords: dict[str, Any] = {"trial_dataset": ("trial", np.zeros(sum(sizes), dtype=np.intp))}
    if cluster_column(result):
        numbers = cluster_numbers(result)
        coords[cluster_column(result)] = ("trial", np.concatenate([numbers[k] for k in places]))
    if result.metric.all_pairs is not None:
        said = responses_by(result)
        for name in ("response", "truth", "n_options", "probability"):
            if name in said[0]:
                parts = [_of(said[k][name], used) for k in places]
                variables[name] = xr.Variable.concat(parts, "trial")
        assert result.trials is not None
        coords["class"] = np.arange(result.trials.data.sizes.get("class", 0) + 1)
    return table.assign(variables).assign_coords(coords)


def _reasons(
    result: Result, counts: NDArray[np.int64], flat: NDArray[np.intp]
) -> NDArray[np.object_]:
    """Why entries have no estimate, or empty."""
    metric, estimates = result.metric, result.estimates
    if metric.all_pairs is None:
        reasons = metric.reason(counts.astype(np.float64))
    else:
        texts = np.array(["", *metric.whys, "undefined"], dtype=object)
        why = estimates["why"].values.ravel()[flat] if "why" in estimates else -1
        reasons = np.where(counts.sum(axis=1) == 0, "no common trials", texts[why])
    defined = np.isfinite(estimates["estimate"].values.ravel()[flat])
    return np.where(defined, "", reasons).astype(object)


def _notes(result: Result, found: Mapping[str, Any], counts: NDArray[np.int64]) -> list[str]:
    """Notes on entries that use fewer trials than both answered, or few clusters."""
    notes = [np.full(len(counts), "", dtype=object)]
    if "n_used" in found:
        used, total = found["n_used"][1], counts.sum(axis=1)
        for row in np.flatnonzero(used < total):
            notes[0][row] = note("trials-used", n=int(used[row]), total=int(total[row]))
    if "n_clusters" in found:
        notes.append(few_clusters(cluster_column(result), found["n_clusters"][1]))
    return joined(notes)


def pair_ends(result: Result) -> NDArray[np.intp]:
    """Return the positions of both observers of every pair, (2, pair)."""
    return np.stack(np.triu_indices(len(result.observers), k=1))


def packed_answers(result: Result) -> list[Packed]:
    """Return the correctness in each condition or data set, as bits."""
    answers = result.data["answers"].to_dataset()
    ends = np.cumsum(np.atleast_1d(answers["n_words"].values))
    parts: list[Any] = [
        np.split(answers[name].values, ends[:-1], axis=1) if name in answers else [None] * len(ends)
        for name in ("right", "shown")
    ]
    parts.append(np.atleast_1d(answers["n_trials"].values).tolist())
    return [Packed(*own) for own in zip(*parts, strict=True)]


def _reordered(
    estimates: xr.Dataset, i: NDArray[np.intp], j: NDArray[np.intp], n: int
) -> xr.Dataset:
    """The pairs of these observers, in their new order."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    out = estimates.isel(pair=low * n - low * (low + 1) // 2 + high - low - 1)
    turned = xr.DataArray(i > j, dims="pair")
    out["cells"] = out["cells"].where(~turned, out["cells"].isel(cell=[0, 2, 1, 3]).values)
    return out


def responses_by(result: Result) -> list[dict[str, xr.Variable]]:
    """Return the responses of the observers of a matrix, by condition or data set."""
    metric, trials = result.metric, result.trials
    if trials is None:
        raise ValueError(
            f"a saved matrix has correctness only, and {metric.name} needs responses; add them "
            "with Result.load(path, trials)"
        )
    by: Any = place_dim(result) or None
    everywhere = responses_of(trials, metric, by, result.data.attrs["no_response"])
    if by is not None and (places := answers_of(trials, by, "error", "trial")[2]) is not None:
        known = places.values.tolist()
        everywhere = [everywhere[known.index(name)] for name in place_names(result)]
    at = [trials.observers.index(name) for name in result.observers]
    if at == list(range(len(trials.observers))):
        return everywhere
    return [{name: _of(variable, at) for name, variable in said.items()} for said in everywhere]


def _of(variable: xr.Variable, observers: Sequence[int] | NDArray[np.intp]) -> xr.Variable:
    return variable.isel(observer=observers) if "observer" in variable.dims else variable


def _data(said: Mapping[str, xr.Variable], observers: NDArray[np.intp]) -> dict[str, Any]:
    """Arrays of some observers; for all observers without copying, also on disk."""
    everyone = len(observers) == next(iter(said.values())).sizes["observer"]
    return {name: (v if everyone else _of(v, observers)).data for name, v in said.items()}


def influences(result: Result, weights: Sequence[Floats]) -> list[Floats]:
    """Compute the influence of trials on weighted sums, by condition or data set."""
    metric, (first, second) = result.metric, pair_ends(result)
    n, packed = len(result.observers), packed_answers(result)
    said = [None] * len(packed) if metric.all_influences is None else responses_by(result)
    cells = result.estimates["cells"].values.reshape(len(packed), -1, 4).astype(np.float64)
    out = []
    for part, counts, own, given in zip(packed, cells, said, weights, strict=True):
        psi = np.zeros((len(given), part.n_trials))
        for rows, used in _by_observers(given, first, second, n):
            pair = np.flatnonzero((given[rows] != 0).any(axis=0))
            i, j = (np.searchsorted(used, ends[pair]) for ends in (first, second))
            if own is not None and metric.all_influences is not None:
                square = np.zeros((len(rows), len(used), len(used)))
                square[:, i, j] = given[rows][:, pair]
                psi[rows] = metric.all_influences(_data(own, used), square)
                continue
            correct, of_pair = part.unpacked(used), counts[pair]
            slopes = np.where(of_pair > 0, metric.influence(of_pair), 0.0)
            slopes /= np.maximum(of_pair.sum(axis=1), 1)[:, None]
            for row in rows:
                psi[row] = combined_influence(correct, i, j, slopes * given[row, pair, None])
        out.append(psi)
    return out


def _by_observers(
    weights: Floats, first: NDArray[np.intp], second: NDArray[np.intp], n: int
) -> list[tuple[list[int], NDArray[np.intp]]]:
    """Group weighted sums by the observers that they involve."""
    found: dict[bytes, list[int]] = {}
    for row, given in enumerate(weights):
        used = np.zeros(n, dtype=bool)
        used[first[given != 0]] = used[second[given != 0]] = True
        if used.any():
            found.setdefault(used.tobytes(), []).append(row)
    return [(rows, np.flatnonzero(np.frombuffer(key, bool))) for key, rows in found.items()]


# Responses of observers: bits, responses or probabilities

# Numbers in a slice of a chunked array that is read at a time.
SLICE = 50_000_000
WORD = 64


def answers_of(
    trials: Any, by: By, no_response: Literal["error", "drop"], cluster: str | None
) -> tuple[list[str], list[Packed], xr.DataArray | None]:
    """Return observer names, correctness as packed bits for each group of trials, and labels."""
    if isinstance(trials, xr.DataArray):
        named = "observer" in trials.coords
        n = trials.sizes.get("observer", 0)
        labels = (
            trials["observer"].values.tolist() if named else [f"observer_{k}" for k in range(n)]
        )
        return [str(name) for name in labels], [_packed_in_slices(trials)], None
    if not isinstance(trials, Trials):
        raise TypeError(
            f"expected Trials or a DataArray, got {type(trials).__name__}; make trials with "
            "Trials.read or Trials.from_table"
        )
    data = trials.data
    refuse_inclusion(data, "matrix")
    correct = correctness(data["correct"].values, no_response)
    if cluster is None:
        again = presented(data) is not None or (by != "condition" and recurring(data)[0])
        if again:
            raise ValueError(
                "items are repeated, and responses to them are not independent; use al.compare, "
                "which treats items as clusters, or cluster='trial' to assume independence"
            )
    group, labels = groups_of_trials(data, by)
    parts = [pack(correct[:, group == g]) for g in range(len(labels))]
    names = [str(name) for name in data["observer"].values.tolist()]
    if by is None or len(labels) == 1:
        return names, parts, None
    of_dataset, of_condition = (labels[name].to_numpy(object) for name in ("dataset", "condition"))
    if by == "dataset":
        shown = of_dataset.tolist()
    elif len(set(of_dataset.tolist())) > 1:
        shown = nested_labels(of_dataset, of_condition)
    else:
        shown = of_condition.tolist()
    places = xr.DataArray(
        shown,
        dims=by,
        name=by,
        coords={by: shown, "of_dataset": (by, of_dataset), "of_condition": (by, of_condition)},
    )
    return names, parts, places


def responses_of(
    trials: Any, metric: Metric, by: By, no_response: Literal["error", "drop"]
) -> list[dict[str, xr.Variable]]:
    """Return responses by group of trials, for metrics that do not count correctness."""
    if not isinstance(trials, Trials):
        raise TypeError(
            "an array of correct and incorrect responses allows metrics of correctness only; "
            f"give Trials for {metric.name}"
        )
    data = trials.data
    correct = correctness(data["correct"].values, no_response)
    own = metric.counts == "trials"
    said = {} if own and "response" not in data else answers(data, correct)
    classes = said.pop("class", None)
    variables = {name: xr.Variable(*given) for name, given in said.items()}
    if own:
        variables["correct"] = xr.Variable(("observer", "trial"), correct)
    if metric.labels == "options":
        variables |= option_variables(data, classes)
    group, labels = groups_of_trials(data, by)
    if len(labels) == 1:
        # Without copying: arrays on disk are not read.
        return [variables]
    return [
        {name: v.isel(trial=np.flatnonzero(group == g)) for name, v in variables.items()}
        for g in range(len(labels))
    ]


def _packed_in_slices(correct: xr.DataArray) -> Packed:
    """Pack an array that may not fit into memory into bits."""
    if set(correct.dims) != {"observer", "trial"}:
        raise ValueError(f"responses must have dims (observer, trial), got {correct.dims}")
    ordered = correct.transpose("observer", "trial")
    n_observers, n_trials = ordered.shape
    step = max(WORD, SLICE // max(n_observers, 1) // WORD * WORD)
    parts = []
    for start in range(0, max(n_trials, 1), step):
        part = np.asarray(ordered.isel(trial=slice(start, start + step)).values)
        with np.errstate(invalid="ignore"):
            whole = part.astype(np.int8, copy=False)
        other = whole is not part and (whole != part).any()
        if other or (whole.size and (whole.min() < -1 or whole.max() > 1)):
            known = (part == 1) | (part == 0) | (part == -1)
            raise ValueError(
                "responses must be 1 (correct), 0 (incorrect) or -1 (excluded), got "
                f"{part[~known][0]:g}"
            )
        parts.append(pack(whole))
    right = np.concatenate([part.right for part in parts], axis=1)
    if all(part.shown is None for part in parts):
        return Packed(right, None, n_trials)
    return Packed(right, np.concatenate([part.shown_bits() for part in parts], axis=1), n_trials)


def clusters_of(data: xr.Dataset, cluster: str) -> NDArray[np.intp]:
    """Return the cluster number of each trial; clusters are numbered within data sets."""
    names = list(data.attrs.get(ITEM_COLUMNS, []))
    if cluster not in names:
        there = f" ({listed(names)})" if names else ""
        raise ValueError(
            f"cluster must be 'trial' or a column that describes items{there}, got {cluster!r}"
            f"{nearest(cluster, names)}; to keep a column, give item_columns=[{cluster!r}] when "
            "you read the data"
        )
    frame = pd.DataFrame({"label": data[cluster].values, "dataset": data["dataset"].values})
    numbers = np.asarray(frame.groupby(["dataset", "label"], sort=False).ngroup(), dtype=np.intp)
    if numbers.max(initial=0) < 1:
        raise ValueError(
            f"cluster={cluster!r} needs at least two clusters, but all trials belong to "
            f"{str(data[cluster].values[0])!r}; leave cluster out"
        )
    return numbers
