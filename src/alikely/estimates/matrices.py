"""Matrices: comparisons of all pairs of thousands of observers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely._base.arrays import Floats
from alikely._base.checks import of_type, one_of
from alikely._base.intervals import check_interval
from alikely._base.parallel import in_parallel
from alikely._base.settings import resolve
from alikely._base.size import check_memory
from alikely._base.steps import step
from alikely.data.summaries import DATA_SUMMARY, data_summary, missing_note_of
from alikely.data.tables import By, Packed, all_cells, groups_of_trials
from alikely.data.trials import Trials
from alikely.estimates.analysis import kept_prior
from alikely.estimates.matrix_result import (
    answers_of,
    cluster_column,
    clusters_of,
    entries,
    responses_of,
)
from alikely.estimates.result import Result
from alikely.inference.cell_limits import option_limits, posterior_limits
from alikely.inference.independence import fisher_log10_p
from alikely.inference.influence import estimate
from alikely.inference.intervals import adjusted_p_values
from alikely.metrics import Metric, get_metric
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
    functions. Posterior limits and exact tests do not require draws. Ten million pairs take about a
    minute. If there are few pairs, `alikely.compare` provides more results.

    Parameters
    ----------
    trials : Trials or xarray.DataArray, dims (observer, trial)
        Aligned responses; or an array of 1 (correct), 0 (incorrect) and -1 (not shown or excluded).
        A chunked array (dask, zarr, netCDF) is read in slices.
    metric : str or Metric
        A symmetric correctness metric, or one with an implementation for matrices, such as
        ``"misclassification_agreement"`` or ``"kappa_p"``. For metrics other than correctness
        metrics, there is no test, and only ``"kappa_p_discrete"`` has posterior limits.
    by : {"condition", "dataset"} or None
        Grouping of trials; groups are analyzed separately. None pools all trials. A chunked array
        is always pooled.
    intervals : sequence of {"analytic", "posterior"}, optional
        Methods whose limits are stored. ``"posterior"`` stores posterior limits if they can be
        computed without draws for this metric. Analytic limits are computed from the standard
        errors and are always available. Default: both methods, but only ``"analytic"`` if items are
        clustered.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior on the cells of each pair, as in `alikely.error_consistency`.
    tests : bool
        Whether to compute Fisher's exact test for every pair, with p-values adjusted over all
        entries (Benjamini-Hochberg). Fisher's test assumes independent items, and is not computed
        if items are clustered.
    no_response : {"error", "drop"}
        Count a missing response as an error, or drop the trial from that observer's pairs.
    cluster : str, optional
        Item column that defines clusters, such as ``"template"``. If given, standard errors are
        computed over clusters, and limits use quantiles of Student's t distribution. ``"trial"``
        treats responses to repeated items as independent trials.
    ci_prob : float
        Probability level of the posterior limits, which is also the default for other limits; in
        (0, 1).

    Returns
    -------
    Result
        Result of kind ``"matrix"``; see `alikely.Result`.

    Raises
    ------
    TypeError
        If `trials` has the wrong type.
    MemoryError
        If the matrix does not fit into memory. The size is checked before pairs are counted.
    ValueError
        If there are fewer than two observers, or items are repeated. If the metric has no
        implementation for matrices, or an option is invalid.

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
    with step("answers as bits"):
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
        of = f" ({k + 1} of {len(parts)})" if len(parts) > 1 else ""
        with step(f"counts of {n * (n - 1) // 2:,} pairs{of}"):
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
    with step(f"clusters of {size:,} entries"):
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
