"""Arguments for intervals, and names of intervals in tables and sentences."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from alikely._base.names import listed, nearest

CiKind = Literal["eti", "hdi"]
# Which intervals a table shows: the recommended one, all that are valid, or those that are named.
Intervals = Sequence[str] | Literal["all"] | None


def check_interval(ci_prob: float, ci_kind: str) -> None:
    """Raise an error for a probability outside (0, 1) or an unknown kind of interval."""
    if not isinstance(ci_prob, numbers.Real):
        raise TypeError(f"ci_prob must be a number between 0 and 1, got {ci_prob!r}; try 0.95")
    if not 0 < ci_prob < 1:
        raise ValueError(f"ci_prob must lie strictly between 0 and 1, got {ci_prob}; try 0.95")
    if ci_kind not in ("eti", "hdi"):
        raise ValueError(f"ci_kind must be 'eti' or 'hdi', got {ci_kind!r}")


def chosen_methods(
    intervals: Intervals, known: Sequence[str], valid: Sequence[str], recommended: str
) -> tuple[str, ...]:
    """Choose the methods whose intervals a table shows."""
    if intervals is None:
        return (recommended,) if recommended else ()
    if isinstance(intervals, str):
        if intervals == "all":
            return tuple(valid)
        raise ValueError(
            f"intervals must be None (the recommended one), 'all' or a list of {listed(known)}; "
            f"got {intervals!r}; name methods as a list, such as [{known[0]!r}]"
        )
    for name in intervals:
        if name not in known:
            raise ValueError(
                f"intervals must be among {listed(known)}; got {name!r}{nearest(name, known)}"
            )
    return tuple(dict.fromkeys(intervals))


def percent(ci_prob: float) -> str:
    """Format a probability as a percentage for tables and plots."""
    return f"{100 * ci_prob:g}%"


def bound_names(method: str, ci_kind: str, ci_prob: float) -> tuple[str, str]:
    """Names of the columns with the bounds of an interval."""
    name = "_".join(filter(None, [method, ci_kind + percent(ci_prob).removesuffix("%")]))
    return f"{name}_lb", f"{name}_ub"


def bound_columns(
    method: str, ci_kind: str, ci_prob: float, bounds: NDArray[np.floating]
) -> dict[str, NDArray[np.floating]]:
    """Columns with the bounds of an interval."""
    lower, upper = bound_names(method, ci_kind, ci_prob)
    # The empty index makes a number of an array without dims.
    return {lower: bounds[..., 0][()], upper: bounds[..., 1][()]}
