"""Posteriors of error patterns: rows, divergences and misclassification agreement of draws.

References
----------
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import within
from alikely._base.random import RandomState, seed_sequence
from alikely.inference.sampling import LARGEST_LOG_LIKELIHOOD
from alikely.metrics import errors
from alikely.metrics.dense_rows import ROW_DIMS, TABLE_DIMS, check_errors, drop_true, insert_true
from alikely.metrics.rows import Mixture, check_options

__all__ = [
    "error_divergence_draws",
    "error_row_draws",
    "joint_error_log_likelihood",
    "replicated_agreement",
]


def error_row_draws(
    posterior: xr.Dataset | xr.DataTree, rows: ArrayLike | xr.DataArray, rng: RandomState = None
) -> xr.DataArray:
    """Draw every system's error distributions, given draws of what they are drawn from.

    Parameters
    ----------
    posterior : xarray.Dataset or xarray.DataTree
        ``base`` and ``concentration`` from `alikely.models.error_distributions`, with the dims
        ``chain, draw``; of a DataTree the group ``posterior``.
    rows : array_like or xarray.DataArray, shape (system, true_class, response_class)
        The error counts that the model was given.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    xarray.DataArray
        Dims ``sample, system, true_class, response_class``; probabilities that sum to 1 over
        responses, 0 at the true class.

    Raises
    ------
    ValueError
        If the counts are not valid or do not fit the draws.

    Notes
    -----
    Given base ``m`` and concentration ``k`` a row of counts ``n`` of C classes has the
    distribution Dirichlet(n + k (C - 1) m), drawn here exactly.

    Examples
    --------
    >>> rows = [[[0, 5, 1], [2, 0, 2], [0, 3, 0]], [[0, 4, 2], [2, 0, 1], [1, 3, 0]]]
    >>> posterior = xr.Dataset(
    ...     {
    ...         "base": (("chain", "draw", "true_class", "response_class"),
    ...                  np.full((1, 100, 3, 3), 0.5) * (1 - np.eye(3))),
    ...         "concentration": (("chain", "draw"), np.full((1, 100), 0.5)),
    ...     }
    ... )
    >>> dict(error_row_draws(posterior, rows, rng=1).sizes)
    {'sample': 100, 'system': 2, 'true_class': 3, 'response_class': 3}
    """
    counts, labels = check_errors(rows, ROW_DIMS)
    n_classes = counts.shape[-1]
    draws = _samples(posterior, ("base", "concentration"))
    base = draws["base"].transpose("sample", ...).values
    if base.shape[1:] != (n_classes, n_classes):
        raise ValueError(
            f"posterior is of {base.shape[-1]} classes and the counts of {n_classes}; take the "
            "counts that the model was given"
        )
    concentration = draws["concentration"].transpose("sample", ...).values
    # One concentration for all true classes, or one for each.
    concentration = concentration.reshape(len(base), -1, 1)
    prior = concentration * (n_classes - 1) * drop_true(base)
    parameters = prior[:, None] + drop_true(counts)
    generator = np.random.default_rng(seed_sequence(rng))
    # On the log scale: gamma variates of a small shape underflow, all of an empty row at once.
    logs = np.log(generator.standard_gamma(parameters + 1))
    logs -= generator.standard_exponential(parameters.shape) / parameters
    shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return xr.DataArray(
        insert_true(shares, n_classes),
        dims=("sample", *ROW_DIMS),
        coords={**labels, "response_class": labels["true_class"]},
    )


def error_divergence_draws(
    row_draws: ArrayLike | xr.DataArray,
    rows: ArrayLike | xr.DataArray,
    pairs: Sequence[tuple[int, int]] | None = None,
    *,
    mixture: Mixture = "mean",
    base: float = 2,
) -> NDArray[np.float64]:
    """Class-level error divergence of drawn distributions, as they are: not smoothed again [X25]_.

    Parameters
    ----------
    row_draws : array_like, shape (sample, system, true_class, response_class)
        Probabilities, as from `error_row_draws`.
    rows : array_like or xarray.DataArray, shape (system, true_class, response_class)
        Error counts: a true class has the weight of both systems' errors.
    pairs : sequence of (int, int), optional
        Positions of systems; all pairs if not given.
    mixture : {"mean", "pooled"}
        Compare with the mean of both distributions, or with their mean weighted by the numbers of
        errors.
    base : {2, e, 10}
        Of the logarithm; 2 gives bits, in [0, 1].

    Returns
    -------
    ndarray of float64, shape (sample, pair)
        NaN for a pair without any error.

    Raises
    ------
    ValueError
        If counts and draws do not fit, or a pair is not one of two systems.

    Examples
    --------
    >>> rows = [[[0, 5, 1], [2, 0, 2], [0, 3, 0]], [[0, 4, 2], [2, 0, 1], [1, 3, 0]]]
    >>> same = np.full((100, 2, 3, 3), 0.5) * (1 - np.eye(3))
    >>> error_divergence_draws(same, rows).max().item()
    0.0
    """
    counts, _ = check_errors(rows, ROW_DIMS)
    check_options(1, mixture, base)
    shares = np.asarray(row_draws, dtype=np.float64)
    if shares.ndim != 4 or shares.shape[1:] != counts.shape:
        raise ValueError(
            f"row_draws must have the shape (sample, {', '.join(map(str, counts.shape))}), got "
            f"{shares.shape}"
        )
    n_systems = len(counts)
    if pairs is None:
        pairs = list(zip(*np.triu_indices(n_systems, 1), strict=True))
    totals = counts.sum(axis=-1)
    out = np.full((len(shares), len(pairs)), np.nan)
    # Pair by pair: all at once would hold the draws of every system once per partner.
    for p, (a, b) in enumerate(pairs):
        if not (0 <= a < n_systems and 0 <= b < n_systems):
            raise ValueError(f"pairs must be of systems 0 to {n_systems - 1}, got ({a}, {b})")
        weight = totals[a] + totals[b]
        if weight.any():
            one, other = shares[:, a], shares[:, b]
            middle = (one + other) / 2
            if mixture == "pooled":
                part = np.divide(totals[a], weight, out=np.full(len(weight), 0.5), where=weight > 0)
                middle = part[:, None] * one + (1 - part)[:, None] * other
            nats = special.rel_entr(one, middle) + special.rel_entr(other, middle)
            out[:, p] = nats.sum(axis=-1) / 2 @ (weight / weight.sum()) / np.log(base)
    return within(out, high=np.log(2) / np.log(base) if mixture == "mean" else np.inf)


def replicated_agreement(
    posterior: xr.Dataset | xr.DataTree, counts: ArrayLike | xr.DataArray, rng: RandomState = None
) -> xr.DataArray:
    """Misclassification agreement of data that the model of copied labels might have produced.

    As many joint errors of each true class as observed are drawn anew, once for each draw.

    Parameters
    ----------
    posterior : xarray.Dataset or xarray.DataTree
        ``copy_probability, errors_a`` and ``own_errors_b`` from `alikely.models.class_copying`;
        of a DataTree the group ``posterior``.
    counts : array_like or xarray.DataArray, shape (pair, true_class, label_a, label_b)
        The joint errors that the model was given.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    xarray.DataArray
        Dims ``sample, pair``; NaN where a replicate's agreement is undefined.

    Raises
    ------
    ValueError
        If the counts are not valid or do not fit the draws.

    Examples
    --------
    >>> copied = np.zeros((1, 3, 3, 3), dtype=int)
    >>> copied[0, 0, 1, 1] = copied[0, 1, 2, 2] = 20
    >>> rows = (np.full((1, 50, 1, 3, 3), 0.5)) * (1 - np.eye(3))
    >>> dims = ("chain", "draw", "pair", "true_class", "response_class")
    >>> posterior = xr.Dataset(
    ...     {
    ...         "copy_probability": (dims[:3], np.ones((1, 50, 1))),
    ...         "errors_a": (dims, rows),
    ...         "own_errors_b": (dims, rows),
    ...     }
    ... )
    >>> replicated_agreement(posterior, copied, rng=1).min().item()
    1.0
    """
    tables, labels = check_errors(counts, TABLE_DIMS)
    names = ("copy_probability", "errors_a", "own_errors_b")
    draws = _samples(posterior, names)
    copying, rows_a, rows_b = (
        draws[name].transpose("sample", "pair", ...).values for name in names
    )
    _refuse_other_counts(rows_a.shape[1:], tables)
    generator = np.random.default_rng(seed_sequence(rng))
    n_samples, n_pairs, n_classes = rows_a.shape[:3]
    out = np.full((n_samples, n_pairs), np.nan)
    for p in range(n_pairs):
        true = np.repeat(np.arange(n_classes), tables[p].sum(axis=(-2, -1)))
        if not len(true):
            continue
        label_a = _labels(rows_a[:, p], true, generator)
        own = _labels(rows_b[:, p], true, generator)
        copied = generator.random(own.shape) < copying[:, p, None]
        label_b = np.where(copied, label_a, own)
        cell = (np.arange(n_samples)[:, None] * n_classes + label_a) * n_classes + label_b
        drawn = np.bincount(cell.ravel(), minlength=n_samples * n_classes**2)
        out[:, p] = errors.misclassification_agreement(drawn.reshape(-1, n_classes, n_classes))
    return xr.DataArray(out, dims=("sample", "pair"), coords={"pair": labels["pair"]})


def joint_error_log_likelihood(
    posterior: xr.Dataset | xr.DataTree, counts: ArrayLike | xr.DataArray
) -> xr.Dataset:
    """Log likelihood of each joint error, in the form that `arviz.loo` takes.

    The unit is one trial that both observers got wrong, of one pair: its true class and both labels
    are left out together. The likelihoods of the model itself are of counts, three for each pair
    and class, none of which can be left out alone.

    Parameters
    ----------
    posterior : xarray.Dataset or xarray.DataTree
        ``class_share, copy_probability, errors_a`` and ``own_errors_b`` from
        `alikely.models.class_copying`; of a DataTree the group ``posterior``.
    counts : array_like or xarray.DataArray, shape (pair, true_class, label_a, label_b)
        The joint errors that the model was given.

    Returns
    -------
    xarray.Dataset
        ``joint_errors`` (chain, draw, observation), those of one cell of the counts after the
        other; ``entry`` (observation) names the pair, ``true_class, label_a, label_b`` the cell.

    Raises
    ------
    ValueError
        If the counts are not valid or do not fit the draws, or it would hold more than 300 million
        numbers.

    Examples
    --------
    >>> counts = np.zeros((1, 3, 3, 3), dtype=int)
    >>> counts[0, 0, 1, 1], counts[0, 0, 1, 2] = 3, 1
    >>> dims = ("chain", "draw", "pair", "true_class", "response_class")
    >>> rows = (dims, np.full((1, 2, 1, 3, 3), 0.5) * (1 - np.eye(3)))
    >>> posterior = xr.Dataset(
    ...     {
    ...         "class_share": (dims[:4], np.full((1, 2, 1, 3), 1 / 3)),
    ...         "copy_probability": (dims[:3], np.full((1, 2, 1), 0.4)),
    ...         "errors_a": rows,
    ...         "own_errors_b": rows,
    ...     }
    ... )
    >>> found = joint_error_log_likelihood(posterior, counts)
    >>> np.exp(found["joint_errors"].values[0, 0]).round(4).tolist()
    [0.1167, 0.1167, 0.1167, 0.05]
    """
    tables, labels = check_errors(counts, TABLE_DIMS)
    names = ("class_share", "copy_probability", "errors_a", "own_errors_b")
    draws = _chosen(posterior, names)
    share, copying, rows_a, rows_b = (
        draws[name].transpose("chain", "draw", "pair", ...).values for name in names
    )
    _refuse_other_counts(rows_a.shape[2:], tables)
    size = int(tables.sum()) * share.shape[0] * share.shape[1]
    if size > LARGEST_LOG_LIKELIHOOD:
        raise ValueError(
            f"the log likelihood of every joint error at every draw would hold {size:,} numbers; "
            "choose fewer pairs or draws"
        )
    pair, true, a, b = np.nonzero(tables)
    c = copying[..., pair]
    of_b = c * (a == b) + (1 - c) * rows_b[..., pair, true, b]
    cells = np.log(share[..., pair, true]) + np.log(rows_a[..., pair, true, a]) + np.log(of_b)
    each = np.repeat(np.arange(len(pair)), tables[pair, true, a, b])
    classes = np.array(labels["true_class"], dtype=object)
    named = {"true_class": true, "label_a": a, "label_b": b}
    return xr.Dataset(
        {"joint_errors": (("chain", "draw", "observation"), cells[..., each])},
        coords={
            "chain": np.arange(share.shape[0]),
            "draw": np.arange(share.shape[1]),
            "entry": ("observation", np.array(labels["pair"], dtype=object)[pair[each]]),
            **{name: ("observation", classes[at[each]]) for name, at in named.items()},
        },
    )


def _refuse_other_counts(shape: tuple[int, ...], tables: NDArray[np.int64]) -> None:
    if shape != tables.shape[:3]:
        raise ValueError(
            f"posterior is of the shape {shape} (pair, true_class, response_class) and "
            f"the counts of {tables.shape[:3]}; take the counts that the model was given"
        )


def _labels(
    rows: NDArray[np.float64], true: NDArray[np.intp], generator: np.random.Generator
) -> NDArray[np.intp]:
    """One label for each joint error, shape (sample, error), from rows (sample, true, response)."""
    steps = np.cumsum(rows, axis=-1)
    # Rounding may leave the last step short of 1, and the true class has no width.
    point = generator.random((len(rows), len(true))) * steps[:, true, -1]
    out = np.empty(point.shape, dtype=np.intp)
    for t in np.unique(true):
        here = true == t
        out[:, here] = (point[:, here, None] >= steps[:, t, None, :]).sum(axis=-1)
    return out


def _chosen(posterior: xr.Dataset | xr.DataTree, names: tuple[str, ...]) -> xr.Dataset:
    """Draws of the variables wanted."""
    if isinstance(posterior, xr.DataTree):
        posterior = posterior["posterior"].to_dataset()
    lacking = [name for name in names if name not in posterior]
    if lacking:
        raise ValueError(f"posterior must hold {', '.join(names)}; {lacking[0]!r} is missing")
    return posterior[list(names)].reset_coords(drop=True)


def _samples(posterior: xr.Dataset | xr.DataTree, names: tuple[str, ...]) -> xr.Dataset:
    """Chains and draws in one dim, of the variables wanted."""
    return _chosen(posterior, names).stack(sample=("chain", "draw"), create_index=False)
