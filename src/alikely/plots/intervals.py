"""Forest plot: the schools of inference side by side, one row per entry."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from alikely._base.names import nearest
from alikely.estimates.result import Result
from alikely.estimates.sentences import shown_methods
from alikely.plots._style import (
    PAIR,
    SCHOOLS,
    figure_of,
    legend,
    new_axes,
    rows_shown,
    styled,
)

__all__ = ["plot_intervals"]

MOST_ROWS, MOST_PANELS = 60, 8


@styled
def plot_intervals(
    result: Result,
    *,
    intervals: Sequence[str] = ("bootstrap", "posterior"),
    which: Sequence[str] | None = None,
    sort: Literal["estimate", "label"] | None = None,
    top: int | None = None,
    facet: Literal["dataset", "condition"] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw estimates with their intervals, bootstrap beside posterior.

    Parameters
    ----------
    result : Result
        An analysis.
    intervals : sequence of {"analytic", "bootstrap", "posterior"}
        Methods to draw, among those that the result has and that are valid for its metric. If it
        has none of these, its first method is drawn.
    which : sequence of str, optional
        Labels of the entries to draw, from top to bottom; all if not given.
    sort : {"estimate", "label"}, optional
        Largest estimate (undefined ones last), or first label, on top; as they come if not given.
    top : int, optional
        Number of entries to draw, as sorted; the title gives the total. Panels show the same pairs,
        sorted by their mean over the panels.
    facet : {"dataset", "condition"}, optional
        A panel for each, side by side, with the pairs of observers as rows that they share.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        Of several panels the first; ``ax.figure.axes`` has them all.

    Raises
    ------
    ValueError
        If a label is unknown or an option is none of those named, or there are more than 60 rows
        to draw, in a column more than a page holds; if panels are asked for where they cannot be.

    Notes
    -----
    The dot of the posterior is its median, that of the other schools the point estimate. An
    undefined estimate is marked by a cross at the left edge; the posterior stays defined there.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> result = al.error_consistency(trials, pairs="human-human", rng=1)
    >>> ax = al.plot_intervals(result, sort="estimate", top=3)
    >>> len(ax.get_yticks()), ax.get_title()
    (3, '3 of 6, by estimate')
    """
    valid = shown_methods(result, "all")
    drawn = [name for name in intervals if name in valid] or list(valid[:1])
    frame = result.summary(intervals=drawn)
    frame.index = pd.Index(result.table["pair"].values.tolist())
    if facet is None:
        frame, title = _chosen(frame, which, sort, top)
        panels = {"": frame}
        rows = frame.index.tolist()
    else:
        frame, _ = _chosen(frame, which, None, None)
        panels, rows, title = _panels(frame, facet, ax, sort, top)
    n = len(panels)
    shown, height = rows_shown(len(rows), None, 0.16 * (len(drawn) + 0.5), MOST_ROWS, n)
    if shown < len(rows) and (ax is None or len(rows) > MOST_ROWS):
        raise ValueError(
            f"{len(rows)} rows are too many to read, the most is {shown}; choose some with "
            "top=20 (and sort='estimate'), which=[...], or select trials or pairs beforehand; "
            "facet='condition' makes panels"
        )
    height = 1.2 + height * len(rows)
    axes = (
        [ax]
        if ax is not None
        else list(new_axes((5.0 + 2.0 * n, height), 1, n, tall=True, sharey=True))
    )
    for panel, (name, part) in zip(axes, panels.items(), strict=True):
        _draw(panel, result, part, rows, drawn)
        panel.set_title(name or title, fontsize=9)
    if facet is not None and title:
        figure_of(axes[0]).suptitle(title, fontsize=9)
    # Under the axes, from the right edge: long labels of entries leave the axes narrow.
    legend(axes[-1], _key(axes), at="below", ncols=2)
    return axes[0]


def _chosen(
    frame: pd.DataFrame, which: Sequence[str] | None, sort: str | None, top: int | None
) -> tuple[pd.DataFrame, str]:
    """The rows to draw in their order, and what there is to say of the choice."""
    labels = frame.index.tolist()
    unknown = [label for label in which or () if label not in labels]
    if unknown:
        raise ValueError(
            f"no entry is labelled {unknown[0]!r}; labels look like {labels[0]!r}"
            f"{nearest(unknown[0], labels)}"
        )
    if which is not None:
        frame = frame.loc[list(which)]
    if sort not in (None, "estimate", "label"):
        raise ValueError(f"sort must be 'estimate' or 'label', got {sort!r}")
    if top is not None and not (isinstance(top, int | np.integer) and top >= 1):
        raise ValueError(f"top must be a whole number from 1 on, got {top!r}")
    if sort == "label":
        frame = frame.sort_index(kind="stable")
    elif sort == "estimate":
        frame = frame.sort_values("estimate", ascending=False, kind="stable", na_position="last")
    if top is None or top >= len(frame):
        return frame, ""
    order = "as they come" if sort is None else f"by {sort}"
    return frame.iloc[:top], f"{top} of {len(frame)}, {order}"


def _panels(
    frame: pd.DataFrame, facet: str, ax: Axes | None, sort: str | None, top: int | None
) -> tuple[dict[str, pd.DataFrame], list[str], str]:
    """The entries of each panel, the rows that panels share, and what was chosen of them."""
    if facet not in ("dataset", "condition"):
        raise ValueError(f"facet must be 'dataset' or 'condition', got {facet!r}")
    if ax is not None:
        raise ValueError("facet makes a figure of its own panels; leave ax out, or facet")
    other = "condition" if facet == "dataset" else "dataset"
    names = frame["observer_a"] + PAIR + frame["observer_b"]
    if frame[other].nunique() > 1:
        names += " | " + frame[other]
    frame = frame.set_axis(pd.Index(names))
    # A row is chosen by its mean over the panels, so that all panels show the same pairs.
    mean = frame.groupby(level=0, sort=False)["estimate"].mean().to_frame()
    rows, title = _chosen(mean, None, sort, top)
    frame = frame.loc[frame.index.isin(rows.index)]
    panels = {str(name): part for name, part in frame.groupby(facet, sort=False)}
    if len(panels) > MOST_PANELS:
        raise ValueError(
            f"{len(panels)} panels are too many to read, the most is {MOST_PANELS}; select some "
            f"of {facet} beforehand"
        )
    return panels, rows.index.tolist(), title.replace("by estimate", "by mean estimate")


def _draw(
    ax: Axes, result: Result, frame: pd.DataFrame, rows: list[str], drawn: Sequence[str]
) -> None:
    """One panel."""
    place = {name: len(rows) - 1 - k for k, name in enumerate(rows)}
    position = np.array([place[name] for name in frame.index])
    shift = np.linspace(0.22, -0.22, len(drawn)) if len(drawn) > 1 else np.zeros(len(drawn))
    undefined = frame["estimate"].isna().to_numpy()
    for offset, school in zip(shift, drawn, strict=True):
        columns = [str(name) for name in frame if str(name).startswith(f"{school}_")]
        lower, upper = (next(c for c in columns if c.endswith(side)) for side in ("_lb", "_ub"))
        center = frame["posterior_median" if school == "posterior" else "estimate"]
        color = SCHOOLS[school]
        ax.hlines(position + offset, frame[lower], frame[upper], color=color, linewidth=2)
        kind, percent = re.findall(r"_([a-z]+)([\d.]+)_lb$", lower)[0]
        # What is freed of noise is another number than the estimate, and named so.
        name = result.metric.posterior_label if school == "posterior" else school
        label = f"{name}, {percent} % {kind.upper()}"
        ax.plot(center, position + offset, "o", color=color, markersize=4, label=label)
    if not drawn:
        ax.plot(frame["estimate"], position, "o", color="0.3", markersize=4, label="estimate")
    if undefined.any():
        ax.plot(
            np.full(undefined.sum(), 0.01), position[undefined], "x", color="#D55E00",
            transform=ax.get_yaxis_transform(), label="estimate undefined",
        )  # fmt: skip
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    ax.set_yticks(list(place.values()), rows, fontsize=8)
    ax.set_ylim(-0.7, len(rows) - 0.3)
    ax.set_xlabel(result.metric.label)


def _key(axes: Sequence[Axes]) -> list[Any]:
    """What any panel has, once."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values())
