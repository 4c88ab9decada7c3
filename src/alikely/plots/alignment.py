"""Alignment by condition: rows of data sets, or lines across the conditions of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from alikely._base.frames import Groups
from alikely.benchmark.layout import HUMANS
from alikely.metrics import get_metric
from alikely.plots._regimes import (
    VIOLIN,
    bounds_of,
    by_system,
    group_styles,
    groups_of,
    legend_below,
    lift_names,
    regime_colors,
    regime_order,
    shade_regimes,
    violin,
)
from alikely.plots._style import (
    axes_or_new,
    check_table,
    draw_kind,
    in_column,
    key,
    legend_right,
    not_drawn,
    only,
)

__all__ = ["can_be_drawn", "plot_alignment"]

TABLE = "give the table of alikely.spectrum.alignment_table(alignment, labels)"
MOST_ROWS = 32
# Levels of a distortion share its row, from top to bottom.
SPREAD = 0.3


def plot_alignment(
    table: pd.DataFrame,
    kind: Literal["distortions", "levels"] = "distortions",
    *,
    dataset: str | None = None,
    metric: str | None = None,
    system: str | None = None,
    families: Groups | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the alignment of models with humans in each condition.

    Each kind uses these arguments:

    - ``"distortions"``: conditions of one system as dots with intervals, a row for each data set,
      as Figure 3A of [X26]_; a row with five or more has a violin, the density of its dots and not
      an uncertainty (`metric`, `system`)
    - ``"levels"``: all models across the conditions of one data set, on the regimes, with a thick
      line and band for humans among each other (`dataset`, `metric`, `families`)

    Parameters
    ----------
    table : pandas.DataFrame
        As returned by `alikely.spectrum.alignment_table`. With labels, colors are regimes;
        ``"levels"`` needs them.
    kind : {"distortions", "levels"}
        What to draw.
    dataset : str, optional
        Data set whose conditions are drawn, in the order of the table; required for ``"levels"``.
    metric : str, optional
        Metric to draw. Default "error_consistency".
    system : str, optional
        Model whose alignment with humans is drawn. Default: humans among each other.
    families : mapping, pandas.Series or xarray.DataArray, optional
        Family of each model, for the colors of lines.
    ax : matplotlib.axes.Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Undefined values are counted in the legend.

    Raises
    ------
    ValueError
        If the kind, data set, metric or system is unknown, the table is empty or lacks a column, a
        model has no family, there are more than 32 data sets, or nothing is defined.
    TypeError
        If the kind does not use an argument or lacks one that it needs, or families have no names.

    References
    ----------
    .. [X26] Xu, Luo, Dickens, Mok (2026). Do machines fail like humans? A human-centred
       out-of-distribution spectrum for mapping error alignment.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=50, rng=1)
    >>> regime = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}
    >>> table = al.spectrum.alignment_table(alignment, regime)
    >>> ax = al.plot_alignment(table, "levels", dataset="all")
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['clean', 'blur', 'noise']
    """
    return draw_kind(
        KINDS, kind, table, dataset=dataset, metric=metric, system=system, families=families, ax=ax
    )


def _distortions(
    table: pd.DataFrame,
    *,
    metric: str = "error_consistency",
    system: str = HUMANS,
    ax: Axes | None = None,
) -> Axes:
    """Alignment of a system in each condition, a row with a violin for each data set."""
    check_table(table, ("metric", "dataset", "condition", "system", "estimate"), TABLE)
    lower, upper = bounds_of(table, "bootstrap", TABLE)
    own = only(only(table, "metric", metric), "system", system)
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
    ax.spines["left"].set_visible(False)
    legend_below(ax, _legend(order[::-1], colors, drawn, own, lower))
    return ax


def _levels(
    table: pd.DataFrame,
    dataset: str,
    *,
    metric: str = "error_consistency",
    families: Groups | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Alignment of every model across the conditions of one data set."""
    needed = ("metric", "dataset", "level", "condition", "regime", "system", "estimate")
    check_table(table, needed, TABLE)
    bounds = bounds_of(table, "bootstrap", TABLE)
    own = only(only(table, "metric", metric), "dataset", dataset)
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
    handles += not_drawn(int(values.isna().sum().sum()), values.size)
    crowded = max(at["level"].astype(str).str.len()) > 5
    turn: dict[str, Any] = (
        {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    )
    ax.set_xticks(x, at["level"].tolist(), fontsize=8, **turn)
    ax.set_xlabel(dataset)
    ax.set_ylabel(get_metric(metric).label)
    legend_right(ax, handles)
    lift_names(ax, names)
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
    return handles + not_drawn(int(own["estimate"].isna().sum()), len(own))


def _regimes(table: pd.DataFrame) -> pd.Series:
    """Labels of regimes as text, also of conditions that are in none."""
    return table["regime"].astype(object).where(table["regime"].notna(), "none").astype(str)


KINDS: dict[str, Callable[..., Axes]] = {"distortions": _distortions, "levels": _levels}
