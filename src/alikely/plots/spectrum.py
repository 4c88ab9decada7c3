"""Plots of the difficulty of conditions, with regimes, and alignment and ranks within regimes."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from alikely._base.frames import Groups, groups_of
from alikely.benchmark.layout import HUMANS
from alikely.metrics import get_metric
from alikely.plots._style import (
    ABOVE_OR_BELOW,
    COLORS,
    VIOLIN,
    axes_or_new,
    bounds_of,
    by_system,
    check_table,
    draw_kind,
    draw_ranks,
    group_styles,
    in_column,
    key,
    legend,
    lift_names,
    name_rows,
    not_drawn,
    only,
    place_labels,
    regime_colors,
    regime_order,
    shade_regimes,
    styled,
    violin,
)

FOUND = "use the data set of alikely.regimes()"


@styled
def plot_spectrum(
    spectrum: xr.Dataset, found: xr.Dataset | None = None, *, ax: Axes | None = None
) -> Axes:
    """Plot all conditions on the scale of human difficulty, with the most difficult on the right.

    Parameters
    ----------
    spectrum : xarray.Dataset
        Spectrum as returned by `alikely.difficulty_spectrum`.
    found : xarray.Dataset, optional
        Regimes, as returned by `alikely.regimes`. Regimes determine the colors of the dots and of
        the background.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Axes with one row per data set, one dot per condition, and diamonds for the reference
        conditions. Conditions are labeled where there is space. The legend states the number of
        conditions whose difficulty (``delta``) is undefined.

    Raises
    ------
    TypeError
        If `spectrum` is not a Dataset.
    ValueError
        If `spectrum` or `found` lacks a variable, if their conditions differ, or if delta is
        undefined in all conditions.

    Examples
    --------
    >>> import alikely as al
    >>> spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
    >>> ax = plot_spectrum(spectrum, al.regimes(spectrum, k=2, n_resamples=0, rng=1))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['all']
    """
    check_table(
        spectrum, ("condition", "dataset", "condition_name", "delta", "is_reference"),
        "use the data set of alikely.difficulty_spectrum()", "spectrum",
    )  # fmt: skip
    names = spectrum["condition"].values.tolist()
    delta = spectrum["delta"].values.astype(np.float64)
    defined = np.isfinite(delta)
    if not defined.any():
        raise ValueError("spectrum has no condition with a delta; use correction=0.5")
    is_reference = spectrum["is_reference"].values.astype(bool)
    datasets = list(dict.fromkeys(spectrum["dataset"].values.tolist()))
    row = np.array([datasets.index(name) for name in spectrum["dataset"].values])

    ax = axes_or_new(ax, (7.0, 1.5 + 0.36 * len(datasets)), tall=True)
    ax.hlines(range(len(datasets)), 0, 1, transform=ax.get_yaxis_transform(), color="0.85",
              linewidth=0.6, zorder=0.6)  # fmt: skip
    ends = delta[defined]
    pad = max(0.04 * float(np.ptp(ends)), 0.5)
    low, high = float(ends.min()) - pad, float(ends.max()) + pad
    ax.set_xlim(high, low)
    color, texts = np.full(len(names), "0.3", dtype=object), []
    if found is not None:
        check_table(found, ("condition", "label", "position"), FOUND, "found")
        if sorted(names) != sorted(found["condition"].values.tolist()):
            raise ValueError(
                "found must have each condition of the spectrum once; use the same trials for both"
            )
        order = [str(name) for name in found["regime"].values]
        colors = regime_colors(order)
        color = found["label"].to_series().astype(str).loc[names].map(colors).to_numpy()
        edges = [low, *np.clip(found["position"].values.astype(float), low, high).tolist(), high]
        texts = shade_regimes(ax, zip(edges[:-1], edges[1:], order, strict=True), colors)
    handles: list[Any] = []
    kinds = ((~is_reference, "o", "condition"), (is_reference, "D", "reference condition"))
    for chosen, marker, text in kinds:
        if (here := chosen & defined).any():
            look: Any = {"marker": marker, "color": color[here].tolist(), "zorder": 3}
            ax.scatter(delta[here], row[here], s=25, **look)
            handles.append(key(text, linestyle="", color="0.3", markersize=5, marker=marker))
    _name_datasets(
        ax, datasets, "Glass's delta (standard deviations of the reference; harder to the right)"
    )
    handles += not_drawn(int((~defined).sum()), len(names), "no delta")
    legend(ax, handles, at="below", side="center", ncols=3)
    lift_names(ax, texts)
    points = np.column_stack([delta, row])[defined]
    levels = spectrum["condition_name"].values[defined].astype(str)
    # Row by row, so that neighbors share the available space.
    place = np.lexsort([-points[:, 0], points[:, 1]])
    place_labels(ax, points[place], levels[place].tolist(), ABOVE_OR_BELOW, points)
    return ax


def _name_datasets(ax: Axes, datasets: list[str], label: str) -> None:
    """Label rows of data sets from the top down, and the values."""
    name_rows(ax, datasets, down=True)
    ax.tick_params(axis="x", labelsize=8)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(label, fontsize=8)
    ax.spines["left"].set_visible(False)


TABLE = "use the table of alikely.spectrum.alignment_table(alignment, labels)"
MOST_ROWS = 32
SPREAD = 0.3


def plot_alignment(
    table: pd.DataFrame,
    kind: Literal["distortions", "levels"] = "distortions",
    *,
    dataset: str | None = None,
    metric: str | None = None,
    families: Groups | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the alignment of models with humans in each condition.

    Kinds of plot:

    - ``"distortions"``: for each data set, a row of dots with intervals, which show human-human
      agreement in each condition, as in Figure 3A of [X26]_. Rows with five or more conditions have
      a violin, which shows the density of the dots rather than their uncertainty
    - ``"levels"``: all models across the conditions of one data set, with regimes as background
      colors; a thick line with a band shows human-human agreement

    Parameters
    ----------
    table : pandas.DataFrame
        Table as returned by `alikely.spectrum.alignment_table`. If the table contains regime
        labels, they determine the colors of the points. The kind ``"levels"`` requires regime
        labels.
    kind : {"distortions", "levels"}
        Kind of plot.
    dataset : str, optional
        For ``"levels"`` (required): name of the data set to plot. Conditions are plotted in the
        order of `table`.
    metric : str, optional
        Metric to plot. Default "error_consistency".
    families : mapping, pandas.Series or xarray.DataArray, optional
        For ``"levels"``: family of each model, which determines the colors of lines.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The legend states the number of undefined values.

    Raises
    ------
    ValueError
        If `kind`, `dataset` or `metric` is unknown.
    ValueError
        If the table is empty or lacks a column, or all values are undefined.
    ValueError
        If a model has no family, or if there are more than 32 data sets.
    TypeError
        If an argument is given that this kind of plot does not use.
    TypeError
        If a required argument is missing, or `families` is an array without model names.

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
    return draw_kind(plot_alignment, locals())


def _distortions(
    table: pd.DataFrame, *, metric: str = "error_consistency", ax: Axes | None = None
) -> Axes:
    """Human-human agreement in each condition, one row with a violin per data set."""
    check_table(table, ("metric", "dataset", "condition", "system", "estimate"), TABLE)
    lower, upper = bounds_of(table, TABLE)
    own = only(only(table, "metric", metric), "system", HUMANS)
    if own["dataset"].isna().any():
        raise ValueError(f"column 'dataset' has no value in some rows; {TABLE}")
    datasets = own["dataset"].drop_duplicates().tolist()
    if len(datasets) > MOST_ROWS:
        raise ValueError(
            f"{len(datasets)} data sets are too many to read, the limit is {MOST_ROWS}; select "
            "some with table[table['dataset'].isin([...])]"
        )
    lost = int(own["estimate"].isna().sum())
    if lost == len(own):
        raise ValueError(f"{metric} of humans is undefined in all {lost} conditions")
    order = regime_order(_regimes(table)) if "regime" in table else []
    colors = regime_colors(order)
    row = own["dataset"].map(datasets.index)
    at, n = (own.groupby("dataset")["dataset"].transform(how) for how in ("cumcount", "size"))
    # The conditions of a data set are stacked in its row, from top to bottom.
    place = row + SPREAD * np.where(n > 1, 2 * at / np.maximum(n - 1, 1) - 1, 0)
    own = own.assign(row=row, place=place, color=_regimes(own).map(colors) if order else "0.3")
    own = own.dropna(subset="estimate")

    row_height = 0.24 if in_column() else 0.42
    ax = axes_or_new(ax, (7.0, 1.5 + row_height * len(datasets)), tall=True)
    drawn = [violin(ax, part["estimate"].to_numpy(float), r) for r, part in own.groupby("row")]
    look: dict[str, Any] = {"color": own["color"].tolist()}
    ax.hlines(own["place"], own[lower], own[upper], linewidth=0.9, zorder=2, **look)
    ax.scatter(own["estimate"], own["place"], s=14, zorder=3, **look)
    ax.axvline(0, color="0.75", linewidth=0.8, zorder=0.6)
    _name_datasets(ax, datasets, f"{get_metric(metric).label}, human-human")
    dot: dict[str, Any] = {"marker": "o", "markersize": 4, "linewidth": 0.9}
    percent = lower.split("_")[1].lstrip("etihd")
    handles: list[Any] = [key(name, color=colors[name], **dot) for name in order[::-1]]
    handles.append(key(f"condition, {percent}% interval", color="0.3", **dot))
    handles += [Patch(label="density of conditions", **VIOLIN)] * any(drawn)
    handles += not_drawn(lost, lost + len(own))
    legend(ax, handles, at="below", side="center", ncols=3)
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
    needed = ("metric", "dataset", "condition_name", "condition", "regime", "system", "estimate")
    check_table(table, needed, TABLE)
    bounds = bounds_of(table, TABLE)
    own = only(only(table, "metric", metric), "dataset", dataset)
    at = own.drop_duplicates("condition")
    conditions = at["condition"].tolist()
    values = by_system(own, conditions)
    systems = [name for name in values.index if name != HUMANS]

    ax = axes_or_new(ax, (max(5.5, 2.6 + 0.45 * len(conditions)), 3.4))
    x = np.arange(len(conditions))
    ax.set_xlim(-0.5, len(conditions) - 0.5)
    regimes = itertools.groupby(enumerate(at["regime"].astype(str)), key=lambda entry: entry[1])
    runs = [(name, [k for k, _ in run]) for name, run in regimes]
    spans = [(run[0] - 0.5, run[-1] + 0.5, name) for name, run in runs]
    colors = regime_colors(regime_order(table["regime"].astype(str)))
    names = shade_regimes(ax, spans, colors)
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0.6)
    handles: list[Any] = []
    if HUMANS in values.index:
        humans = own[own["system"] == HUMANS].set_index("condition").reindex(conditions)
        lower, upper = humans[bounds].to_numpy(np.float64).T
        ax.fill_between(x, lower, upper, color="black", alpha=0.15, linewidth=0, zorder=1)
        look: dict[str, Any] = {"color": "black", "marker": "o", "markersize": 3, "linewidth": 1.8}
        ax.plot(x, values.loc[HUMANS], zorder=4, **look)
        handles.append(key("human-human\n(band: interval)", **look))
    thin: dict[str, Any] = {"linewidth": 0.8, "marker": ".", "markersize": 3}
    family, styles = _families(systems, families, "model-human")
    for name, group in zip(systems, family, strict=True):
        ax.plot(x, values.loc[name], color=styles[group][0], zorder=2, **thin)
    handles += [key(group, color=color, **thin) for group, (color, _) in styles.items()]
    handles += not_drawn(int(values.isna().sum().sum()), values.size)
    turn: dict[str, Any] = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    crowded = max(at["condition_name"].astype(str).str.len()) > 5
    ax.set_xticks(x, at["condition_name"].tolist(), fontsize=8, **turn if crowded else {})
    ax.set(xlabel=dataset, ylabel=get_metric(metric).label)
    legend(ax, handles)
    lift_names(ax, names)
    return ax


def _families(
    systems: list[str], families: Groups | None, else_: str
) -> tuple[list[str], dict[str, tuple[str, str]]]:
    """Family of each system, and the color and marker of each family."""
    if families is None:
        return [else_] * len(systems), {else_: ("0.45", "")}
    family = groups_of(systems, families, "family")
    return family, group_styles(list(dict.fromkeys(family)))


def _regimes(table: pd.DataFrame) -> pd.Series:
    """Labels of regimes as text, also for conditions without a regime."""
    return table["regime"].astype(object).where(table["regime"].notna(), "none").astype(str)


RANKS = "use the table of alikely.spectrum.regime_alignment()"
# Above so many lines, which would hide each other, only some have colors.
MANY_LINES, MOST_LINES = 12, 8
# Maximum number of names that fit below each other on a page.
MOST_NAMES = 50


@styled
def plot_regimes(
    table: pd.DataFrame,
    *,
    metric: str = "error_consistency",
    families: Groups | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot models' ranks and their confidence sets in each regime, with rank 1 at the top.

    A line connects the ranks of each model, and light bars show simultaneous confidence sets. If
    there are more than 12 models and no families, only the 8 models whose ranks change most are
    shown in color, with confidence sets. If there are more than 50 models, only the 8 models whose
    ranks change most are labeled.

    Parameters
    ----------
    table : pandas.DataFrame
        Result of `alikely.spectrum.regime_alignment`. Regimes are plotted in the order in which
        they first appear in this table.
    metric : str
        Metric to plot.
    families : mapping, pandas.Series or xarray.DataArray, optional
        Family of each model, which determines the colors of lines. Default: one color for each
        model.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        If `table` is not a DataFrame, or `families` has no model names.
    ValueError
        If the metric is unknown, if the table is empty or lacks a column, if no model has a rank,
        or if a model has no family.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=200, rng=1)
    >>> regime = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}
    >>> ax = al.plot_regimes(al.spectrum.regime_alignment(alignment, regime, rng=1))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['easy', 'hard']
    """
    check_table(table, ("metric", "regime", "system", "rank", "rank_lb", "rank_ub"), RANKS)
    own = only(table, "metric", metric)
    regimes, systems = (own[name].drop_duplicates().tolist() for name in ("regime", "system"))
    rank, lower, upper = (
        own.pivot(index="system", columns="regime", values=name)
        .loc[systems, regimes]
        .to_numpy(np.float64)
        for name in ("rank", "rank_lb", "rank_ub")
    )
    ranked = np.isfinite(rank).any(axis=0)
    if not ranked.any():
        raise ValueError(f"table has no rank by {metric}: no regime has conditions left")
    n, last = len(systems), int(np.flatnonzero(ranked)[-1])
    # If there are many lines, only those whose rank changes most are emphasized.
    change = np.nan_to_num(np.ptp(rank[:, ranked], axis=1), nan=-1.0)
    strong = np.full(n, n <= MANY_LINES or families is not None)
    strong[np.argsort(-change, kind="stable")[:MOST_LINES]] = True
    family, styles = _families(systems, families, "others")
    colors = [styles[name][0] if families is not None else "0.72" for name in family]
    handles: list[Any] = []
    if families is not None:
        handles = [key(name, color=c, marker="o", markersize=4) for name, (c, _) in styles.items()]
    else:
        chosen = [k for k in np.argsort(rank[:, last], kind="stable").tolist() if strong[k]]
        for place, k in enumerate(chosen):
            colors[k] = COLORS[place % (len(COLORS) - 1)]
    height = max(1.3 + 0.155 * min(n, MOST_NAMES), 2.6)
    ax = axes_or_new(ax, (2.8 + 1.3 * len(regimes), height), tall=True)
    # Next to each other, so that no bar hides another.
    aside = 0.3 * (2 * (np.argsort(np.argsort(rank, axis=0), axis=0) + 0.5) / n - 1)
    wide = 0.9 if n <= MANY_LINES else 1.6
    lines = [
        (name if n <= MOST_NAMES or bold else "", color, bold, wide if bold else 0.7, bold)
        for name, color, bold in zip(systems, colors, strong.tolist(), strict=True)
    ]
    labels = np.where(ranked, regimes, [f"{name}\n(no rank)" for name in regimes]).tolist()
    draw_ranks(ax, np.arange(len(regimes)) + aside, (rank, lower, upper), labels, lines)
    ax.set_ylabel(f"rank by {get_metric(metric).label}")
    if not strong.all():
        handles.append(key(f"{MOST_LINES} largest changes", color=COLORS[0], linewidth=1.6))
        handles.append(key("others", color="0.72", linewidth=0.7))
    handles.append(Patch(color="0.8", label="confidence set of the rank"))
    legend(ax, handles, at="above", side="left", ncols=3, fontsize=7)
    return ax
