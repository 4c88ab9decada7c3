"""Forest plot: intervals by several methods, one row per entry."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from alikely._base.checks import one_of
from alikely.estimates.methods import shown_methods
from alikely.estimates.result import Result, of_kind
from alikely.planning.numbers import check_whole
from alikely.plots._style import METHODS, axes_or_new, legend, name_rows, rows_shown, styled
from alikely.plots.pairs import position_of

MOST_ROWS = 60


@styled
def plot_intervals(
    result: Result,
    *,
    intervals: Sequence[str] = ("bootstrap", "posterior"),
    which: Sequence[str] | None = None,
    sort: Literal["estimate", "label"] | None = None,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot estimates with intervals from one or more methods.

    Parameters
    ----------
    result : Result
        Result to plot.
    intervals : sequence of {"analytic", "bootstrap", "posterior"}
        Methods to plot. Methods that the result does not have, or that are invalid for its metric,
        are skipped. If no method remains, the first method of the result is shown.
    which : sequence of str, optional
        Labels of the entries to plot, from top to bottom. Default: all.
    sort : {"estimate", "label"}, optional
        Whether to sort entries by decreasing estimate (undefined estimates last) or by label.
        Default: the order of the result.
    top : int, optional
        Number of entries to plot after sorting; the title states the total number. Default: all.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If a label or an option is unknown. If there are more than 60 rows, or more rows than fit on
        a page within `column`.

    Notes
    -----
    The dot shows the posterior median for the posterior and the estimate for other methods. A cross
    at the left edge marks an undefined estimate; the posterior is defined even then.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> result = al.error_consistency(trials, pairs="human-human", rng=1)
    >>> ax = al.plot_intervals(result, sort="estimate", top=3)
    >>> len(ax.get_yticks()), ax.get_title()
    (3, '3 of 6, by estimate')
    """
    of_kind(result, "pair")
    valid = shown_methods(result, "all")
    drawn = [name for name in intervals if name in valid] or list(valid[:1])
    frame = result.summary(intervals=drawn)
    frame.index = pd.Index(result.table["pair"].values.tolist())
    frame, title = _chosen(result, frame, which, sort, top)
    shown, height = rows_shown(len(frame), None, 0.16 * (len(drawn) + 0.5), MOST_ROWS)
    if shown < len(frame) and (ax is None or len(frame) > MOST_ROWS):
        raise ValueError(
            f"{len(frame)} rows are too many to read, the limit is {shown}; select rows with "
            "top=20 (and sort='estimate') or which=[...], or analyze fewer pairs"
        )
    ax = axes_or_new(ax, (7.0, 1.2 + height * len(frame)), tall=True)
    _draw(ax, result, frame, drawn)
    ax.set_title(title)
    # Below the axes, from the right edge, because long labels of entries leave narrow axes.
    legend(ax, at="below", ncols=2)
    return ax


def _chosen(
    result: Result,
    frame: pd.DataFrame,
    which: Sequence[str] | None,
    sort: str | None,
    top: int | None,
) -> tuple[pd.DataFrame, str]:
    """Rows to draw in order, and a title about the selection."""
    if which is not None:
        frame = frame.iloc[[position_of(result, label) for label in which]]
    one_of("sort", sort, (None, "estimate", "label"))
    if top is not None:
        check_whole(top, "top", 1)
    if sort == "label":
        frame = frame.sort_index(kind="stable")
    elif sort == "estimate":
        frame = frame.sort_values("estimate", ascending=False, kind="stable", na_position="last")
    if top is None or top >= len(frame):
        return frame, ""
    order = "in the order of the result" if sort is None else f"by {sort}"
    return frame.iloc[:top], f"{top} of {len(frame)}, {order}"


def _draw(ax: Axes, result: Result, frame: pd.DataFrame, drawn: Sequence[str]) -> None:
    """Draw rows from top to bottom, with an interval by each method."""
    position = np.arange(len(frame))
    shift = np.linspace(-0.22, 0.22, len(drawn)) if len(drawn) > 1 else np.zeros(len(drawn))
    for offset, method in zip(shift, drawn, strict=True):
        lower, upper = (
            next(str(c) for c in frame if str(c).startswith(f"{method}_") and str(c).endswith(side))
            for side in ("_lb", "_ub")
        )
        center = frame["posterior_median" if method == "posterior" else "estimate"]
        color = METHODS[method]
        ax.hlines(position + offset, frame[lower], frame[upper], color=color, linewidth=2)
        kind, percent = re.findall(r"_([a-z]+)([\d.]+)_lb$", lower)[0]
        # Noise-corrected values differ from the estimate, and are named accordingly.
        name = result.metric.posterior_label if method == "posterior" else method
        label = f"{name}, {percent}% {kind.upper()}"
        ax.plot(center, position + offset, "o", color=color, markersize=4, label=label)
    if not drawn:
        ax.plot(frame["estimate"], position, "o", color="0.3", markersize=4, label="estimate")
    undefined = position[frame["estimate"].isna()]
    if len(undefined):
        ax.plot(
            np.full(len(undefined), 0.01), undefined, "x", color="#D55E00",
            transform=ax.get_yaxis_transform(), label="estimate undefined",
        )  # fmt: skip
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    name_rows(ax, frame.index.tolist(), down=True)
    ax.set_xlabel(result.metric.label)
