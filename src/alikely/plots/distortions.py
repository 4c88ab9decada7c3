"""Alignment of one system by distortion: a dot for each level, a violin over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from alikely._base.names import listed, nearest
from alikely.benchmark.layout import HUMANS
from alikely.metrics import get_metric
from alikely.plots._regimes import (
    VIOLIN,
    bounds_of,
    key,
    legend_below,
    regime_colors,
    regime_order,
    violin,
)
from alikely.plots._style import axes_or_new, check_table, in_column, styled

__all__ = ["can_be_drawn", "plot_distortions"]

TABLE = "give the table of alikely.spectrum.alignment_table(alignment, labels)"
MOST_ROWS = 32
# Levels of a distortion share its row, from top to bottom.
SPREAD = 0.3


@styled
def plot_distortions(
    table: pd.DataFrame,
    metric: str = "error_consistency",
    system: str = HUMANS,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw alignment in each condition, dots and violins by distortion, after Figure 3A of [X26]_.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.spectrum.alignment_table`; with labels dots have colours of regimes.
    metric : str
        Metric to draw.
    system : str
        Machine whose alignment with humans is drawn; humans among each other if not given.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        One row per data set, one dot per condition with its interval, from top to bottom as in the
        table. The violin is the density of the dots of a row (Gaussian kernel, Scott's bandwidth,
        which it reaches beyond them twice), where there are five and more: of conditions, and no
        uncertainty. Undefined values are counted in the legend.

    Raises
    ------
    ValueError
        If the table is empty or lacks a column, the metric or the system; if nothing is defined;
        or if there are more than 32 data sets.

    References
    ----------
    .. [X26] Xu, Luo, Dickens, Mok (2026). Do machines fail like humans? A human-centred
       out-of-distribution spectrum for mapping error alignment.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=50, rng=1)
    >>> regime = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}
    >>> ax = plot_distortions(al.spectrum.alignment_table(alignment, regime))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['all']
    """
    check_table(table, ("metric", "dataset", "condition", "system", "estimate"), TABLE)
    lower, upper = bounds_of(table, "bootstrap", TABLE)
    own = table
    for column, chosen in (("metric", metric), ("system", system)):
        known = own[column].drop_duplicates().tolist()
        if chosen not in known:
            raise ValueError(
                f"{column} must be one of {listed(known)}; got {chosen!r}{nearest(chosen, known)}"
            )
        own = own[own[column] == chosen]
    if own["dataset"].isna().any():
        raise ValueError(f"column 'dataset' has no value in some rows; {TABLE}")
    own = own.reset_index(drop=True)  # of tables put together an index has the same labels twice
    datasets = own["dataset"].drop_duplicates().tolist()
    if len(datasets) > MOST_ROWS:
        raise ValueError(
            f"{len(datasets)} data sets are too many to read, the most is {MOST_ROWS}; choose some "
            "with table[table['dataset'].isin([...])]"
        )
    defined = own["estimate"].notna()
    if not defined.any():
        raise ValueError(f"{metric} of {system} is undefined in all {len(own)} conditions")
    regime = _regimes(own) if "regime" in own else pd.Series("", own.index)
    order = regime_order(_regimes(table)) if "regime" in table else []
    colors = regime_colors(order) | {"": "0.3"}

    row_height = 0.24 if in_column() else 0.42
    ax = axes_or_new(ax, (7.0, 1.5 + row_height * len(datasets)), tall=True)
    drawn = False
    for row, name in enumerate(datasets):
        part = own[own["dataset"] == name]
        place = row + SPREAD * np.linspace(-1, 1, len(part)) * (len(part) > 1)
        shown = part["estimate"].notna().to_numpy()
        value = part["estimate"].to_numpy(np.float64)[shown]
        drawn |= violin(ax, value, row)
        color = [colors[label] for label in regime[part.index][shown]]
        bounds = part[[lower, upper]].to_numpy(np.float64)[shown]
        ax.hlines(place[shown], *bounds.T, color=color, linewidth=0.9, zorder=2)
        ax.scatter(value, place[shown], s=14, color=color, zorder=3)
    ax.axvline(0, color="0.75", linewidth=0.8, zorder=0.6)
    ax.set_ylim(len(datasets) - 0.5, -0.5)
    ax.set_yticks(range(len(datasets)), datasets, fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    ax.tick_params(axis="y", length=0)
    whose = "of humans among each other" if system == HUMANS else f"of {system} and humans"
    ax.set_xlabel(f"{get_metric(metric).label} {whose}", fontsize=8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    legend_below(ax, _legend(order[::-1], colors, drawn, own, lower))
    return ax


def can_be_drawn(table: pd.DataFrame, metric: str, system: str = HUMANS) -> bool:
    """Whether something is defined, of data sets that fit one plot."""
    own = table[(table["system"] == system) & (table["metric"] == metric)]
    return bool(own["estimate"].notna().any()) and own["dataset"].nunique() <= MOST_ROWS


def _legend(
    order: list[str], colors: dict[str, str], drawn: bool, own: pd.DataFrame, lower: str
) -> list[Line2D | Patch]:
    dot: dict[str, Any] = {"marker": "o", "markersize": 4, "linewidth": 0.9}
    percent = lower.split("_")[1].lstrip("etihd")
    handles: list[Line2D | Patch] = [key(name, color=colors[name], **dot) for name in order]
    handles.append(key(f"condition, {percent} % interval", color="0.3", **dot))
    if drawn:
        handles.append(Patch(label="density of conditions", **VIOLIN))
    lost = int(own["estimate"].isna().sum())
    if lost:
        handles.append(key(f"undefined, not drawn: {lost} of {len(own)}", linestyle=""))
    return handles


def _regimes(table: pd.DataFrame) -> pd.Series:
    """Labels of regimes as text, also of conditions that are in none."""
    return table["regime"].astype(object).where(table["regime"].notna(), "none").astype(str)
