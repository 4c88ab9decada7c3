"""All pairs of thousands of observers at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely._base.arrays import Floats
from alikely._base.names import nearest
from alikely._base.parallel import in_parallel
from alikely._base.steps import step
from alikely.data.conditions import nested_labels
from alikely.data.inclusion import refuse_inclusion
from alikely.data.packed import Packed, all_cells, pack
from alikely.data.repeats import presented, recurring
from alikely.data.tables import By, answers, correctness, groups_of_trials, option_variables
from alikely.data.trials import Trials
from alikely.estimates.matrix_result import ORDERS, MatrixResult
from alikely.estimates.matrix_rows import POSTERIOR
from alikely.inference.cell_limits import posterior_limits
from alikely.inference.fisher import fisher_log10_p
from alikely.inference.five_cells import option_limits
from alikely.metrics import Metric, get_metric
from alikely.stats.intervals import check_interval
from alikely.stats.multiplicity import adjusted_p_values

__all__ = ["matrix"]

School = Literal["analytic", "posterior"]
# Pairs that one job works on: 30 MB of numbers.
BLOCK = 250_000
# Numbers of a slice of a chunked array that is read at a time.
SLICE = 50_000_000
WORD = 64
# Pairs that one job takes limits of kappa_p of.
FEW = 20_000
# Cells of a pair turned round.
TURNED = [0, 2, 1, 3]


def matrix(
    trials: Trials | xr.DataArray,
    metric: str | Metric = "error_consistency",
    by: By = "condition",
    *,
    intervals: Sequence[School] = ("analytic", "posterior"),
    tests: bool = True,
    no_response: Literal["error", "drop"] = "error",
    cluster: Literal["trial"] | None = None,
    ci_prob: float = 0.95,
    **options: Any,
) -> MatrixResult:
    """Compare all pairs of many observers: matrices instead of a table.

    Counts by bits, standard errors by influence, posterior limits and exact tests without draws:
    ten million pairs take about a minute. Of fewer pairs `alikely.compare` says more.

    Parameters
    ----------
    trials : Trials or xarray.DataArray, dims (observer, trial)
        Aligned responses; or 1 right, 0 wrong, -1 not shown or left out, which may be backed by a
        chunked array (dask, zarr, netCDF): it is read slice by slice.
    metric : str or Metric
        A metric of correctness, or one that has a way to all pairs at once, such as
        ``"misclassification_agreement"`` or ``"kappa_p"`` (which have no test and no sums; limits
        of a posterior only ``"kappa_p_discrete"``).
    by : {"condition", "dataset"} or None
        Trials to keep apart; None pools all. A chunked array is always pooled.
    intervals : sequence of {"analytic", "posterior"}
        ``"posterior"`` keeps limits of the default posterior (of metrics that have them without
        draws; of others it is left out). Analytic limits follow from the standard errors, which are
        always there.
    tests : bool
        Fisher's exact test of every pair, and p-values adjusted over all entries by Benjamini and
        Hochberg.
    no_response : {"error", "drop"}
        Count a missing response as an error, or leave the trial out of that observer's pairs.
    cluster : "trial", optional
        Takes answers to items that come back as independent trials.
    ci_prob : float
        Probability of the posterior limits, and of others by default; in (0, 1).
    **options
        Of the metric.

    Returns
    -------
    MatrixResult

    Raises
    ------
    TypeError
        If `trials` is neither.
    ValueError
        If there are fewer than two observers, items come back, the metric has no way to all pairs,
        or an option is invalid.

    References
    ----------
    .. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted
       kappa. doi:10.1037/h0028106

    Examples
    --------
    >>> import alikely as al
    >>> result = al.matrix(al.load_example(), by=None)
    >>> result.to_frame(top=2)[["observer_a", "observer_b", "estimate", "se"]].round(3)
      observer_a observer_b  estimate     se
    0    model_2    model_3     0.617  0.044
    1    model_1    model_2     0.580  0.042
    """
    found = get_metric(get_metric(metric), **options)
    if found.counts != "correctness" and found.all_pairs is None:
        raise ValueError(
            f"al.matrix is of metrics of correctness and some others, and {found.name} is one of "
            f"{found.counts}; take compare(trials, metric, pairs) for it"
        )
    check_interval(ci_prob, "eti")
    for name in intervals:
        if name not in ("analytic", "posterior"):
            raise ValueError(
                f"intervals must be among 'analytic', 'posterior'; got {name!r}"
                f"{nearest(name, ('analytic', 'posterior'))}"
            )
    if cluster not in (None, "trial"):
        raise ValueError(
            f"cluster must be 'trial' or None, got {cluster!r}; see compare for others"
        )
    with step("answers as bits"):
        names, parts, places = _answers(trials, by, no_response, cluster)
        said = _said(trials, found, by, no_response) if found.all_pairs is not None else []
    n = len(names)
    if n < 2:
        raise ValueError(f"a matrix needs at least 2 observers, got {n}")
    made = []
    for k, packed in enumerate(parts):
        of = f" ({k + 1} of {len(parts)})" if len(parts) > 1 else ""
        with step(f"counts of {n * (n - 1) // 2:,} pairs{of}"):
            cells = all_cells(packed)
        with step(f"estimates of {len(cells):,} pairs{of}"):
            if found.all_pairs is not None:
                given = dict(found.all_pairs(said[k]))
                limits = _option_limits(given, "posterior" in intervals, ci_prob)
                variables = _of_matrices(cells, found, given) | limits
            else:
                variables = _of_pairs(cells, found, "posterior" in intervals, tests, ci_prob)
                variables["own"] = ("observer", found.value(_own_cells(packed)))
        made.append(xr.Dataset(variables))
    estimates = made[0] if places is None else xr.concat(made, dim=str(places.name))
    if places is not None:
        estimates = estimates.assign_coords(places.coords)
    if "log10_p" in estimates:
        p = adjusted_p_values(10 ** estimates["log10_p"].values.astype(np.float64).ravel())
        shape = estimates["log10_p"].shape
        estimates["p_adjusted"] = (estimates["log10_p"].dims, p.reshape(shape))
    tree = xr.DataTree.from_dict(
        {"estimates": estimates, "answers": _as_bits(parts, names, places)}
    )
    tree.attrs = {
        "metric": found.name,
        "metric_module": found.module,
        "ci_prob": ci_prob,
        "ci_kind": "eti",
        "no_response": no_response,
        "alikely_version": alikely.__version__,
        **found.options,
    }
    return MatrixResult(tree)


def _answers(
    trials: Any, by: By, no_response: Literal["error", "drop"], cluster: str | None
) -> tuple[list[str], list[Packed], xr.DataArray | None]:
    """Names of observers, their answers in bits place by place, and the places' labels."""
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
        again = presented(data) is not None or (by != "condition" and recurring(data).shared)
        if again:
            raise ValueError(
                "items came back, and their answers are not independent: compare(trials, pairs) "
                "takes items as units; cluster='trial' takes every answer for a trial of its own"
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


def _said(
    trials: Any, metric: Metric, by: By, no_response: Literal["error", "drop"]
) -> list[dict[str, Any]]:
    """What observers answered, place by place, for metrics that are not of correctness."""
    if not isinstance(trials, Trials):
        raise TypeError(
            "an array of right and wrong answers serves metrics of correctness; give Trials for "
            f"{metric.name}"
        )
    data = trials.data
    said = answers(data, correctness(data["correct"].values, no_response))
    classes = said.pop("class")
    variables = {name: xr.Variable(*given) for name, given in said.items()}
    if metric.labels == "options":
        variables |= option_variables(data, classes)
    group, labels = groups_of_trials(data, by)
    if len(labels) == 1:
        # As they are: what is on disk stays there.
        return [{name: variable.data for name, variable in variables.items()}]
    return [
        {
            name: variable.isel(trial=np.flatnonzero(group == g)).data
            for name, variable in variables.items()
        }
        for g in range(len(labels))
    ]


def _own_cells(packed: Packed) -> Floats:
    """Cells of every observer with itself."""
    own = np.zeros((len(packed.right), 4))
    own[:, 0] = np.bitwise_count(packed.right).sum(axis=1)
    own[:, 3] = packed.n_shown() - own[:, 0]
    return own


def _of_matrices(
    cells: NDArray[np.int32], metric: Metric, found: Mapping[str, NDArray[Any]]
) -> dict[str, Any]:
    """Variables of all pairs of one place, from square matrices."""
    i, j = np.triu_indices(len(found["estimate"]), k=1)
    variables: dict[str, Any] = {"cells": (("pair", "cell"), cells)}
    for name, square in found.items():
        if metric.symmetric:
            variables[name] = ("pair", square[i, j])
        else:
            variables[name] = (("order", "pair"), np.stack([square[i, j], square[j, i]]))
    variables["own"] = ("observer", np.diag(found["estimate"]).copy())
    return variables


def _option_limits(found: dict[str, NDArray[Any]], wanted: bool, ci_prob: float) -> dict[str, Any]:
    """Posterior limits from what pairs chose, where the metric has such; taken out of the rest."""
    chosen, n_options = found.pop("chosen", None), found.pop("n_options", None)
    if chosen is None or n_options is None or not wanted:
        return {}
    met = np.isfinite(n_options)
    limits = np.full((len(chosen), 2), np.nan)
    tails = ((1 - ci_prob) / 2, (1 + ci_prob) / 2)
    blocks = [np.flatnonzero(met)[s : s + FEW] for s in range(0, int(met.sum()), FEW)]
    jobs = [(chosen[part], n_options[part], tails) for part in blocks]
    for part, found_here in zip(blocks, in_parallel(option_limits, jobs), strict=True):
        limits[part] = found_here
    return {name: ("pair", limits[:, k]) for k, name in enumerate(POSTERIOR)}


def _packed_in_slices(correct: xr.DataArray) -> Packed:
    """Bits of an array that need not fit into memory."""
    if set(correct.dims) != {"observer", "trial"}:
        raise ValueError(f"answers must have dims (observer, trial), got {correct.dims}")
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
                f"answers must be 1 (right), 0 (wrong) or -1 (left out), got {part[~known][0]:g}"
            )
        parts.append(pack(whole))
    right = np.concatenate([part.right for part in parts], axis=1)
    if all(part.shown is None for part in parts):
        return Packed(right, None, n_trials)
    return Packed(right, np.concatenate([part.shown_bits() for part in parts], axis=1), n_trials)


def _of_pairs(
    cells: NDArray[np.int32], metric: Metric, posterior: bool, tests: bool, ci_prob: float
) -> dict[str, Any]:
    """Variables of all pairs of one place."""
    orders = 1 if metric.symmetric else len(ORDERS)
    value, se = np.empty((2, orders, len(cells)))

    blocks = [slice(start, start + BLOCK) for start in range(0, len(cells), BLOCK)]
    jobs = [(metric, cells[part]) for part in blocks]
    for part, found in zip(blocks, in_parallel(_estimated, jobs), strict=True):
        value[:, part], se[:, part] = found
    dims = ("pair",) if metric.symmetric else ("order", "pair")
    shape = (len(cells),) if metric.symmetric else (orders, len(cells))
    variables: dict[str, Any] = {
        "cells": (("pair", "cell"), cells),
        "estimate": (dims, value.reshape(shape)),
        "se": (dims, se.reshape(shape)),
    }
    if posterior and metric.limits == "kappa":
        turns = [cells, cells[:, TURNED]][:orders]
        limits = np.stack([posterior_limits(turned, ci_prob) for turned in turns])
        for k, name in enumerate(POSTERIOR):
            variables[name] = (dims, limits[..., k].reshape(shape))
    if tests:
        variables["log10_p"] = ("pair", fisher_log10_p(cells))
    return variables


def _estimated(metric: Metric, cells: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Estimates of tables in every order, (order, pair), and their errors; NaN where undefined."""
    values, errors = [], []
    for turn in ([0, 1, 2, 3], TURNED)[: 1 if metric.symmetric else len(ORDERS)]:
        counts = cells[:, turn].astype(np.float64)
        value, psi = metric.value(counts), metric.influence(counts)
        square = np.where(counts > 0, counts * psi**2, 0.0).sum(axis=-1)
        se = np.sqrt(square) / np.maximum(counts.sum(axis=-1), 1)
        values.append(value)
        errors.append(np.where(np.isfinite(value), se, np.nan))
    return np.stack(values), np.stack(errors)


def _as_bits(
    parts: Sequence[Packed], names: Sequence[str], places: xr.DataArray | None
) -> xr.Dataset:
    """Answers of all places, one after the other."""
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
