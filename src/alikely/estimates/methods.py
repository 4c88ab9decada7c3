"""Methods whose intervals a result has, recommends and shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from alikely._base.intervals import Intervals, bound_names, chosen_methods
from alikely._base.names import listed, nearest
from alikely.estimates.notes import cluster_note, fewest_clusters

if TYPE_CHECKING:
    from alikely.estimates.result import Result

Method = Literal["analytic", "bootstrap", "bca", "posterior"]
PLACES = ("dataset", "condition")
# Methods of ``"all"``, in the order of columns and rows.
METHODS = ("analytic", "bootstrap", "posterior")


def available_methods(result: Result, ci_kind: str = "eti") -> list[Method]:
    """Methods with intervals in a result."""
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
