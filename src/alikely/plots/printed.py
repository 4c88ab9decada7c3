"""Leaderboards of which only scores are printed."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from alikely.plots._style import COLORS, MARKERS, axes_or_new, legend_right, rows_shown, styled

__all__ = ["plot_leaderboard"]

MOST = 60


@styled
def plot_leaderboard(
    table: pd.DataFrame, *, top: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw machines by their printed scores, with the intervals of every scheme.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.benchmark.reconstruct_leaderboard`.
    top : int, optional
        How many machines to draw, best first, at least 1; 60 if not given, in a column as many as a
        page holds. The label of the axis says of how many.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If a column is missing, or `top` is below 1 or more than a page holds.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> printed = pd.DataFrame({"system": ["a", "b"], "dataset": "all", "score": [0.9, 0.4]})
    >>> table = al.benchmark.reconstruct_leaderboard(printed, trials, n_samples=100, rng=1)
    >>> [text.get_text() for text in al.plot_leaderboard(table).get_yticklabels()]
    ['a', 'b']
    """
    bounds = [name for name in table if name.endswith(("_lb", "_ub")) and name.startswith("ci")]
    missing = [name for name in ("scheme", "system", "estimate", "rank") if name not in table]
    if missing or len(bounds) != 2:
        raise ValueError(
            f"table must be one of reconstruct_leaderboard, got the columns {[*table.columns]}"
        )
    schemes = list(dict.fromkeys(table["scheme"]))
    every = table[table["scheme"] == schemes[0]]["system"].tolist()
    shown, height = rows_shown(len(every), top, 0.28, MOST)
    systems = every[:shown]
    axes = axes_or_new(ax, (7.0, 1.2 + height * shown), tall=True)
    handles = []
    for k, scheme in enumerate(schemes):
        own = table[table["scheme"] == scheme].set_index("system").loc[systems]
        place = np.arange(len(systems)) + 0.22 * (k - (len(schemes) - 1) / 2)
        reach = np.stack([own["estimate"] - own[bounds[0]], own[bounds[1]] - own["estimate"]])
        handles.append(
            axes.errorbar(
                own["estimate"], place, xerr=reach, fmt=MARKERS[k], color=COLORS[k], ms=3, lw=1,
                label=scheme,
            )
        )  # fmt: skip
    axes.set_yticks(np.arange(len(systems)), systems)
    axes.invert_yaxis()
    axes.set_xlabel("error consistency with humans")
    if len(systems) < len(every):
        axes.set_ylabel(f"first {len(systems)} of {len(every)} machines")
    legend_right(axes, handles, "trials made up by")
    return axes
