"""How alike machines and humans err where it gets harder: by level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from alikely.benchmark.layout import HUMANS
from alikely.metrics import get_metric
from alikely.plots._regimes import (
    bounds_of,
    by_system,
    chosen_rows,
    group_styles,
    groups_of,
    key,
    lift_names,
    regime_colors,
    regime_order,
    shade_regimes,
)
from alikely.plots._style import (
    axes_or_new,
    check_table,
    legend_right,
    styled,
)
from alikely.stats.distances import Groups

__all__ = ["plot_levels"]


TABLE = "give the table of alikely.spectrum.alignment_table(alignment, labels)"


@styled
def plot_levels(
    table: pd.DataFrame,
    dataset: str,
    metric: str = "error_consistency",
    families: Groups | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw alignment of every machine across the levels of one distortion.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.spectrum.alignment_table`, with labels.
    dataset : str
        Data set whose conditions are drawn, in the order of the table.
    metric : str
        Metric to draw.
    families : mapping, pandas.Series or xarray.DataArray, optional
        Family of each machine: colours of the lines.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        One thin line per machine, a thick one with its interval for humans among each other, on
        the regimes. Undefined values leave gaps and are counted in the legend.

    Raises
    ------
    TypeError
        If families have no names.
    ValueError
        If the table is empty or lacks a column, the data set or the metric; or if a machine has no
        family.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=50, rng=1)
    >>> regime = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}
    >>> ax = plot_levels(al.spectrum.alignment_table(alignment, regime), "all")
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['clean', 'blur', 'noise']
    """
    needed = ("metric", "dataset", "level", "condition", "regime", "system", "estimate")
    check_table(table, needed, TABLE)
    bounds = bounds_of(table, "bootstrap", TABLE)
    own = chosen_rows(chosen_rows(table, "metric", metric), "dataset", dataset)
    conditions = own["condition"].drop_duplicates().tolist()
    values = by_system(own, conditions)
    systems = [name for name in values.index if name != HUMANS]
    family = None if families is None else groups_of(systems, families, "family")

    ax = axes_or_new(ax, (max(5.5, 2.6 + 0.45 * len(conditions)), 3.4))
    x = np.arange(len(conditions))
    ax.set_xlim(-0.5, len(conditions) - 0.5)
    all_regimes = regime_order(table["regime"].astype(str))
    at = own.drop_duplicates("condition")
    spans: list[tuple[float, float, str]] = []
    for k, name in enumerate(at["regime"].astype(str)):
        start = spans.pop()[0] if spans and spans[-1][2] == name else k - 0.5
        spans.append((start, k + 0.5, name))
    names = shade_regimes(ax, spans, regime_colors(all_regimes))
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0.6)
    handles: list[Line2D | Patch] = []
    if HUMANS in values.index:
        humans = own[own["system"] == HUMANS].set_index("condition").reindex(conditions)
        lower, upper = humans[bounds].to_numpy(np.float64).T
        ax.fill_between(x, lower, upper, color="black", alpha=0.15, linewidth=0, zorder=1)
        look: dict[str, Any] = {"color": "black", "marker": "o", "markersize": 3, "linewidth": 1.8}
        ax.plot(x, values.loc[HUMANS], zorder=4, **look)
        handles.append(key("humans among each other\n(band: their interval)", **look))
    thin: dict[str, Any] = {"linewidth": 0.8, "marker": ".", "markersize": 3}
    if family is None:
        ax.plot(x, values.loc[systems].T, color="0.45", zorder=2, **thin)
        handles.append(key("machine and humans", color="0.45", **thin))
    else:
        styles = group_styles(list(dict.fromkeys(family)))
        for name, group in zip(systems, family, strict=True):
            ax.plot(x, values.loc[name], color=styles[group][0], zorder=2, **thin)
        handles += [key(group, color=color, **thin) for group, (color, _) in styles.items()]
    undefined = int(values.isna().sum().sum())
    if undefined:
        handles.append(key(f"undefined, not drawn:\n{undefined} of {values.size}", linestyle=""))
    crowded = max(at["level"].astype(str).str.len()) > 5
    turn: dict[str, Any] = (
        {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    )
    ax.set_xticks(x, at["level"].tolist(), fontsize=8, **turn)
    ax.set_xlabel(dataset)
    ax.set_ylabel(get_metric(metric).label)
    ax.spines[["top", "right"]].set_visible(False)
    legend_right(ax, handles)
    lift_names(ax, names)
    return ax
