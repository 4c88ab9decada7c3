"""Plots of published figures: radar plots and maps of conditions.

References
----------
.. [MH08] van der Maaten, Hinton (2008). Visualizing data using t-SNE. JMLR 9, 2579-2605.
"""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.projections.polar import PolarAxes
from matplotlib.ticker import MaxNLocator

from alikely._base.frames import Groups, groups_of
from alikely._base.names import counted
from alikely._base.random import RandomState, seed_sequence, spawn_integer
from alikely.benchmark.layout import HUMANS
from alikely.metrics import get_metric
from alikely.papers.families import Distances, labelled_matrix
from alikely.plots._style import (
    ABOVE_OR_BELOW,
    MARKERS,
    are_regimes,
    axes_or_new,
    by_system,
    check_table,
    group_styles,
    in_column,
    legend,
    only,
    place_labels,
    regime_colors,
    regime_order,
    styled,
)

TABLE = "give the table of alikely.spectrum.alignment_table(alignment, labels)"


@styled
def plot_radar(
    table: pd.DataFrame,
    families: Groups,
    metric: str = "error_consistency",
    *,
    ax: Axes | None = None,
) -> Axes:
    """Plot the alignment of model families with humans, by data set, as a radar plot.

    Parameters
    ----------
    table : pandas.DataFrame
        Table as returned by `alikely.spectrum.alignment_table`.
    families : mapping, pandas.Series or xarray.DataArray
        Family of each model.
    metric : str
        Metric to plot.
    ax : matplotlib.axes.Axes, optional
        Polar axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Axes with one spoke per data set, one polygon per family, and one polygon for human-human
        values. Polygons show means over the models of a family and the conditions of a data set.
        Conditions in which any system lacks a value are excluded; the legend states their number.
        Data sets with no remaining conditions are omitted from the plot. Negative values are inside
        the gray circle.

    Raises
    ------
    TypeError
        If `families` is not a mapping, a Series or a labeled DataArray, or if the axes are not
        polar.
    ValueError
        If the table is empty, lacks a required column, or has no rows for `metric`.
    ValueError
        If a model has no family, or fewer than three data sets can be plotted.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> table = al.spectrum.alignment_table(al.condition_alignment(trials, n_resamples=0))
    >>> table["dataset"] = table["condition_name"]  # three data sets of one condition each
    >>> ax = plot_radar(table, trials.data["family"].dropna("observer"))
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['clean', 'blur', 'noise']
    """
    if ax is not None and not isinstance(ax, PolarAxes):
        raise TypeError(
            "ax must be polar; make it with plt.subplots(subplot_kw={'projection': 'polar'})"
        )
    check_table(table, ("metric", "dataset", "condition", "system", "estimate"), TABLE)
    own = only(table, "metric", metric)
    values = by_system(own, own["condition"].drop_duplicates().tolist())
    systems = [str(name) for name in values.index if name != HUMANS]
    group = pd.Series(groups_of(systems, families, "family"), index=systems)
    kept = values.dropna(axis=1)
    place = own.drop_duplicates("condition").set_index("condition")["dataset"].loc[kept.columns]
    spokes = kept.T.groupby(place, sort=False).mean().T
    if spokes.shape[1] < 3:
        raise ValueError(
            f"a radar needs at least 3 data sets with every value defined, got {spokes.shape[1]}; "
            "use al.plot_alignment(table, 'levels')"
        )
    polygons = spokes.drop(index=HUMANS, errors="ignore").groupby(group, sort=False).mean()
    rows: list[tuple[str, pd.Series, dict[str, Any]]] = []
    if HUMANS in spokes.index:
        look: dict[str, Any] = {"color": "black", "linewidth": 2.0}
        rows.append(("human-human", spokes.loc[HUMANS], look))
    for name, (color, marker) in group_styles(polygons.index.tolist()).items():
        look = {"color": color, "marker": marker, "markersize": 4, "linewidth": 1.2}
        text = f"{name} ({counted(int((group == name).sum()), 'model')})"
        rows.append((text, polygons.loc[name], look))

    if ax is None:
        ax = axes_or_new(None, (7.0, 4.6), subplot_kw={"projection": "polar"})
    assert isinstance(ax, PolarAxes)
    angle = np.linspace(0, 2 * np.pi, spokes.shape[1], endpoint=False)
    for text, row, look in rows:
        ax.plot(np.append(angle, angle[0]), np.append(row, row.iloc[0]), label=text, **look)
    if lost := values.shape[1] - kept.shape[1]:
        text = f"excluded conditions\n(undefined values): {lost} of {values.shape[1]}"
        ax.plot([], [], linestyle="", label=text)
    shown = np.array([row for _, row, _ in rows])
    ax.set_theta_zero_location("N")
    ax.set_theta_direction(-1)
    if shown.min() < 0:
        circle = np.linspace(0, 2 * np.pi, 200)
        ax.plot(circle, np.zeros(200), color="0.5", linewidth=1.0, zorder=1)
    ax.set_rlim(min(0.0, 1.15 * shown.min()), 1.05 * max(shown.max(), 0.0) or 1.0)
    # Between two spokes, so that numbers do not overlap lines.
    ax.set_rlabel_position(float(np.degrees(angle[1] / 2)))
    ax.tick_params(axis="y", labelsize=7, labelcolor="0.35")
    ax.yaxis.set_major_locator(MaxNLocator(2 if in_column() else 5))
    letters = 12 if in_column() else 24
    names = [textwrap.fill(name, letters, break_long_words=False) for name in spokes.columns]
    ax.set_xticks(angle, names, fontsize=8)
    for label, side in zip(ax.get_xticklabels(), np.sin(angle), strict=True):
        label.set(ha="center" if abs(side) < 0.1 else "left" if side > 0 else "right")
    ax.set_title(get_metric(metric).label, fontsize=9)
    legend(ax, at="below", side="center", ncols=3)
    return ax


def condition_map(
    divergences: Distances | xr.Dataset, *, perplexity: float = 15, rng: RandomState = None
) -> pd.DataFrame:
    """Map conditions to coordinates on a plane by t-SNE."""
    if isinstance(divergences, xr.Dataset):
        divergences = divergences["divergence"]
    names, values = labelled_matrix(divergences)
    if (values < 0).any():
        raise ValueError(
            f"a map needs distances of at least 0, got {values.min():g}; map the divergence, not "
            "its excess"
        )
    if not 0 < perplexity < len(names):
        raise ValueError(
            f"perplexity must be above 0 and below the number of conditions, {len(names)}, got "
            f"{perplexity:g}"
        )
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise ImportError(f"a map needs scikit-learn ({error}); pip install it") from None

    model = TSNE(
        perplexity=perplexity, metric="precomputed", init="random", method="exact",
        random_state=spawn_integer(seed_sequence(rng)),
    )  # fmt: skip
    # t-SNE squares the matrix in place.
    place = model.fit_transform(values.copy())
    return pd.DataFrame({"condition": names, "x": place[:, 0], "y": place[:, 1]})


@styled
def plot_condition_map(
    divergences: Distances | xr.Dataset,
    groups: Groups,
    *,
    perplexity: float = 15,
    rng: RandomState = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot a t-SNE map on which conditions with similar errors are close together [MH08]_.

    Parameters
    ----------
    divergences : xarray.Dataset, xarray.DataArray or pandas.DataFrame
        Divergences as returned by `alikely.errors.condition_divergences`, or a matrix of distances
        with the names of conditions as index and columns.
    groups : mapping, pandas.Series or xarray.DataArray
        Group of each condition, which determines its color: a regime, such as ``found["label"]``
        from `alikely.regimes`, or a distortion. Conditions that occur only in `groups` are ignored.
    perplexity : float
        Effective number of neighbors, above 0 and below the number of conditions.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness. Different seeds give different maps.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        Axes with one point per condition. Points are labeled where there is space. If conditions
        are grouped by data set, point labels omit the data set.

    Raises
    ------
    TypeError
        If `groups` or `divergences` has no condition names.
    ValueError
        If a distance is undefined or negative, or the matrix is not symmetric.
    ValueError
        If the perplexity is out of range, or a condition has no group.

    Notes
    -----
    The units of the axes and the distances between clusters have no meaning. scikit-learn squares
    the distances between conditions, as t-SNE requires. Similar conditions therefore appear closer
    together than if distances were not squared.

    Examples
    --------
    >>> import alikely as al
    >>> found = al.errors.condition_divergences(al.load_example())
    >>> groups = {"all:clean": "easy", "all:blur": "x", "all:noise": "x"}
    >>> ax = plot_condition_map(found, groups, perplexity=2, rng=1)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['easy', 'x']
    """
    coordinates = condition_map(divergences, perplexity=perplexity, rng=rng)
    names = [str(name) for name in coordinates["condition"]]
    group = groups_of(names, groups, "group")
    labels = list(dict.fromkeys(group))
    styles = group_styles(labels)
    if are_regimes(labels):
        ordered = regime_order(labels)
        colors, labels = regime_colors(ordered), ordered[::-1]
        styles = {name: (colors[name], MARKERS[k]) for k, name in enumerate(labels)}
    ax = axes_or_new(ax, (7.0, 5.2))
    points = coordinates[["x", "y"]].to_numpy(np.float64)
    for name in labels:
        color, marker = styles[name]
        here = np.array([own == name for own in group])
        ax.plot(*points[here].T, marker, color=color, markersize=5, label=name)
    ax.set(xticks=[], yticks=[])
    ax.margins(0.06)
    ax.set_xlabel(
        "nearby conditions have similar errors (t-SNE; units and long distances have no meaning)",
        fontsize=8,
    )
    legend(ax)
    short = []
    for name, own in zip(names, group, strict=True):
        dataset, _, level = name.partition(":")
        short.append(level if dataset in (own, "all") and level else name)
    place_labels(ax, points, short, ABOVE_OR_BELOW, points)
    return ax
