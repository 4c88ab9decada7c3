"""Forest plot: the schools of inference side by side, one row per entry."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes

from alikely._base.names import nearest
from alikely.estimates.result import Result
from alikely.plots._style import SCHOOLS, axes_or_new
from alikely.stats.intervals import CiKind

__all__ = ["plot_intervals"]

MOST_ROWS = 60


def plot_intervals(
    result: Result,
    *,
    intervals: Sequence[Literal["analytic", "bootstrap", "posterior"]] = ("bootstrap", "posterior"),
    which: Sequence[str] | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw estimates with their intervals, bootstrap beside posterior.

    Parameters
    ----------
    result : Result
        An analysis.
    intervals : sequence of {"analytic", "bootstrap", "posterior"}
        Schools to draw, where the result has them; the analytic one if it has none of them.
    which : sequence of str, optional
        Labels of the entries to draw, from top to bottom; all if not given.
    ci_prob, ci_kind : float and {"eti", "hdi"}, optional
        As in the analysis if not given.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If a label is unknown, or there are more than 60 rows to draw.

    Notes
    -----
    The dot of the posterior is its median, that of the other schools the point estimate. An
    undefined estimate is marked by a cross at the left edge; the posterior stays defined there.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> result = al.error_consistency(trials, pairs="human-human", rng=1)
    >>> ax = al.plot_intervals(result)
    >>> len(ax.get_yticks())
    6
    """
    labels = result.table["pair"].values.tolist()
    unknown = [label for label in which or () if label not in labels]
    if unknown:
        raise ValueError(
            f"no entry is labelled {unknown[0]!r}; labels look like {labels[0]!r}"
            f"{nearest(unknown[0], labels)}"
        )
    chosen = list(range(len(labels))) if which is None else [labels.index(x) for x in which]
    if len(chosen) > MOST_ROWS:
        raise ValueError(
            f"{len(chosen)} rows are too many to read, the most is {MOST_ROWS}; choose some with "
            "which=[...], or select trials or pairs beforehand"
        )
    drawn = [name for name in intervals if name == "analytic" or name in result.data.children]
    drawn = drawn or ["analytic"]
    frame = result.summary(ci_prob, ci_kind, intervals=drawn).iloc[chosen]
    ax = axes_or_new(ax, (7.0, 1.2 + 0.16 * (len(drawn) + 0.5) * len(frame)))
    position = np.arange(len(frame))[::-1]
    shift = np.linspace(0.22, -0.22, len(drawn)) if len(drawn) > 1 else np.zeros(1)
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
    if undefined.any():
        left = np.full(undefined.sum(), 0.01)
        transform = ax.get_yaxis_transform()
        ax.plot(
            left,
            position[undefined],
            "x",
            color="#D55E00",
            transform=transform,
            label="estimate undefined",
        )
    ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
    ax.set_yticks(position, [labels[i] for i in chosen], fontsize=8)
    ax.set_ylim(-0.7, len(frame) - 0.3)
    ax.set_xlabel(result.metric.label)
    # From the right edge, so that long labels of entries, which leave the axes narrow, push
    # nothing out of the figure.
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
