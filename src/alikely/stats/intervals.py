"""Intervals of draws, the same for every school of inference."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Literal

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray

__all__ = [
    "CiKind",
    "bound_columns",
    "bound_names",
    "check_interval",
    "defined_quantiles",
    "describe_draws",
    "interval",
    "percent",
]

CiKind = Literal["eti", "hdi"]


def check_interval(ci_prob: float, ci_kind: str) -> None:
    """Refuse a probability outside (0, 1) or an unknown kind of interval."""
    if not isinstance(ci_prob, numbers.Real):
        raise TypeError(f"ci_prob must be a number between 0 and 1, got {ci_prob!r}; try 0.95")
    if not 0 < ci_prob < 1:
        raise ValueError(f"ci_prob must lie strictly between 0 and 1, got {ci_prob}; try 0.95")
    if ci_kind not in ("eti", "hdi"):
        raise ValueError(f"ci_kind must be 'eti' or 'hdi', got {ci_kind!r}")


def percent(ci_prob: float) -> str:
    """A probability in words, as tables and plots have it.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95 %', '99.9 %')
    """
    return f"{100 * ci_prob:g} %"


def bound_names(school: str, ci_kind: str, ci_prob: float) -> tuple[str, str]:
    """Names of the columns that hold the bounds of an interval.

    Parameters
    ----------
    school : str
        What the interval is of, such as ``"bootstrap"``; empty for a table with a row per school.
    ci_kind : str
        ``"eti"``, ``"hdi"``, or ``"ci"`` of an interval that is neither.
    ci_prob : float
        In (0, 1).

    Returns
    -------
    lower, upper : str

    Examples
    --------
    >>> bound_names("bootstrap", "eti", 0.95)
    ('bootstrap_eti95_lb', 'bootstrap_eti95_ub')
    """
    name = "_".join(filter(None, [school, ci_kind + percent(ci_prob).split()[0]]))
    return f"{name}_lb", f"{name}_ub"


def bound_columns(
    school: str, ci_kind: str, ci_prob: float, bounds: NDArray[np.floating]
) -> dict[str, NDArray[np.floating]]:
    """Columns that hold the bounds of an interval.

    Parameters
    ----------
    school, ci_kind, ci_prob
        As in `bound_names`.
    bounds : ndarray, shape (..., 2)
        Lower and upper bounds.

    Returns
    -------
    dict of str to ndarray, shape (...)

    Examples
    --------
    >>> bound_columns("", "hdi", 0.9, np.array([[0.1, 0.2]]))
    {'hdi90_lb': array([0.1]), 'hdi90_ub': array([0.2])}
    """
    lower, upper = bound_names(school, ci_kind, ci_prob)
    # The empty index makes a number of an array without dims.
    return {lower: bounds[..., 0][()], upper: bounds[..., 1][()]}


def interval(draws: NDArray[np.floating], ci_prob: float, ci_kind: CiKind) -> NDArray[np.float64]:
    """Interval of the defined draws of each entry.

    Parameters
    ----------
    draws : ndarray, shape (draw, entry)
        NaN draws (undefined) are left out; their share is for the caller to report.
    ci_prob : float
        In (0, 1).
    ci_kind : {"eti", "hdi"}
        Equal-tailed or highest-density interval.

    Returns
    -------
    ndarray, shape (entry, 2)
        NaN where fewer than two draws are defined.
    """
    check_interval(ci_prob, ci_kind)
    compute = array_stats.eti if ci_kind == "eti" else array_stats.hdi
    bounds = np.full((draws.shape[1], 2), np.nan)
    undefined = np.isnan(draws).sum(axis=0)
    complete = undefined == 0
    if complete.any():
        bounds[complete] = compute(draws[:, complete], ci_prob, axis=0)
    for entry in np.flatnonzero(~complete & (undefined < len(draws) - 1)):
        column = draws[:, entry]
        bounds[entry] = compute(column[~np.isnan(column)], ci_prob)
    return bounds


def defined_quantiles(
    draws: NDArray[np.floating], probabilities: Sequence[float]
) -> NDArray[np.float64]:
    """Quantiles of the defined draws of each entry, all entries at once.

    Parameters
    ----------
    draws : ndarray, shape (draw, entry)
        NaN draws are left out.
    probabilities : sequence of float
        In [0, 1].

    Returns
    -------
    ndarray, shape (entry, probability)
        NaN where no draw is defined.
    """
    ordered = np.sort(draws, axis=0)  # NaN last
    last = np.maximum((~np.isnan(ordered)).sum(axis=0) - 1, 0)[:, None]
    at = last * np.array(probabilities)
    low = np.floor(at).astype(np.intp)
    high = np.minimum(low + 1, last)
    entry = np.arange(draws.shape[1])[:, None]
    below, above = ordered[low, entry], ordered[high, entry]
    return np.asarray(below + (at - low) * (above - below), dtype=np.float64)


def describe_draws(
    draws: NDArray[np.floating],
    ci_prob: float,
    ci_kind: CiKind,
    rope: tuple[float, float] | None = None,
    estimate: float | None = None,
) -> dict[str, object]:
    """Row of a table about the draws of one number.

    Parameters
    ----------
    draws : ndarray, shape (draw,)
        NaN where undefined.
    ci_prob : float
        In (0, 1).
    ci_kind : {"eti", "hdi"}
        Equal-tailed or highest-density interval.
    rope : (float, float), optional
        Region of practical equivalence.
    estimate : float, optional
        What the draws are replicates of; their median if not given.

    Returns
    -------
    dict
        Of the defined draws ``estimate``, ``se`` (their standard deviation), the
        bounds, ``p_positive`` (share above 0), with a region ``rope_mass`` (share within); and
        ``undefined_share``. With fewer than two defined draws ``estimate`` NaN and a ``note``.

    Examples
    --------
    >>> row = describe_draws(np.array([0.1, 0.2, 0.3, np.nan]), 0.95, "eti")
    >>> row["estimate"], row["undefined_share"]
    (0.2, 0.25)
    """
    defined = draws[~np.isnan(draws)]
    row: dict[str, object] = {"undefined_share": 1 - len(defined) / len(draws)}
    if len(defined) < 2:
        return {**row, "estimate": np.nan, "note": "no defined draws"}
    bounds = interval(defined[:, None], ci_prob, ci_kind)[0]
    row["estimate"] = float(np.median(defined)) if estimate is None else estimate
    row["se"] = float(defined.std(ddof=1))
    row |= bound_columns("", ci_kind, ci_prob, bounds)
    row["p_positive"] = float(np.mean(defined > 0))
    if rope is not None:
        row["rope_mass"] = float(np.mean((defined > rope[0]) & (defined < rope[1])))
    return row
