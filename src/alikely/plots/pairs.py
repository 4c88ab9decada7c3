"""All pairs: intervals, a matrix of observers, and one metric against another."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from alikely._base.checks import one_of
from alikely._base.intervals import percent
from alikely._base.names import nearest, told_apart
from alikely.estimates.methods import bounds_of, shown_methods
from alikely.estimates.result import Result, of_kind
from alikely.metrics import Metric
from alikely.planning.numbers import check_whole
from alikely.plots._style import (
    COLORS,
    MARKERS,
    METHODS,
    MOST_LETTERS,
    axes_or_new,
    color_key,
    diverging,
    key,
    legend,
    name_both_sides,
    name_rows,
    rows_shown,
    rows_with_intervals,
    styled,
)

LABELS = ["dataset", "condition", "observer_a", "observer_b"]


# Or trials, which include the kinds of observers.
Kinds = Mapping[str, str] | Any


@styled
def plot_matrix(
    result: Result, *, observer_kinds: Kinds | None = None, ax: Axes | None = None
) -> Axes:
    """Plot all pairs as a matrix, with observers grouped by kind or family.

    Parameters
    ----------
    result : Result
        Result for any metric. If a pair has several entries, for example one per condition, their
        unweighted mean is shown.
    observer_kinds : mapping or Trials, optional
        Kind or family of each observer, or the trials of the analysis.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If entries describe all readers together, or an observer has no kind.
    TypeError
        If `observer_kinds` is neither a mapping nor trials.

    Notes
    -----
    For asymmetric metrics, such as the copy probability, the row is the reference and the column is
    the other observer. Means include only the defined entries of each pair, so pairs from different
    data sets have means over different data sets. Metrics that can be positive or negative have a
    diverging color scale, with white at 0. Class-level error similarity has a sequential color
    scale.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> result = al.error_consistency(trials, by="dataset", n_resamples=0, n_draws=0)
    >>> ax = al.plot_matrix(result, observer_kinds=trials)
    >>> ax.images[0].get_array().shape
    (10, 10)
    """
    of_kind(result, "pair")
    if "readers" in result.table:
        raise ValueError(
            "result must have entries for pairs, got entries for all readers jointly; use "
            "agreement(..., readers='pairs')"
        )
    frame, symmetric = _entries(result), result.metric.symmetric
    taking_part = {*frame["observer_a"], *frame["observer_b"]}
    names = [name for name in result.table["observer"].values.tolist() if name in taking_part]
    kinds: dict[str, str] = {}
    if observer_kinds is not None:
        kinds = _of_observers(observer_kinds, names)
        order = _in_order(kinds, names)
        names.sort(key=lambda name: order.index(kinds[name]))
    position = {name: i for i, name in enumerate(names)}
    ends = frame[["observer_a", "observer_b"]].map(position.get).to_numpy()
    frame[["i", "j"]] = np.sort(ends, axis=1) if symmetric else ends
    values = frame.groupby(["i", "j"])["value"].mean()
    i, j = (values.index.get_level_values(level).to_numpy() for level in ("i", "j"))
    matrix = np.full((len(names), len(names)), np.nan)
    hatched = np.zeros(matrix.shape, dtype=bool)
    for a, b in ((j, i), (i, j)) if symmetric else ((i, j),):
        matrix[a, b], hatched[a, b] = values, values.isna()

    ax = axes_or_new(ax, (2.8 + 0.19 * len(names), max(2.2 + 0.19 * len(names), 3.2)))
    image = ax.imshow(matrix, **_scale(result.metric, matrix))
    look: dict[str, Any] = {"facecolor": "0.85", "edgecolor": "0.5", "linewidth": 0}
    for y, x in np.argwhere(hatched):
        ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, hatch="////", **look))
    name_both_sides(ax, names, 7)
    if kinds:
        _separate(ax, [kinds[name] for name in names])
    n_possible = len(names) * (len(names) - 1) // (2 if symmetric else 1)
    undefined, lacking = int(values.isna().sum()), n_possible - len(values)
    notes = [
        ax.get_xlabel(),
        f"hatched: undefined ({undefined} of {len(values)} pairs)" if undefined else "",
        "" if symmetric else "row: reference, column: other",
        f"blank: not compared ({lacking} pairs)" if lacking > 0 else "",
    ]
    ax.set_xlabel("\n".join(filter(None, notes)), fontsize=8)
    groups = frame[["dataset", "condition"]].drop_duplicates()
    one = ", ".join(part for part in groups.iloc[0] if part != "all")
    ax.set_title(f"mean over {len(groups)} groups" if len(groups) > 1 else one)
    color_key(ax, image, result.metric.label, shrink=0.7)
    return ax


def position_of(result: Result, pair: int | str) -> int:
    """Position of the entry with this label or position; `ValueError` if there is none."""
    labels = result.table["pair"].values.tolist()
    if isinstance(pair, int | np.integer) and 0 <= pair < len(labels):
        return int(pair)
    if pair not in labels:
        raise ValueError(
            f"no comparison is labeled {pair!r}; labels look like {labels[0]!r}, and positions are "
            f"0 to {len(labels) - 1}{nearest(pair, labels)}"
        )
    return labels.index(pair)


def short_pair(result: Result, pair: str) -> tuple[str, str, str]:
    """Label of a pair, and its observers, with names short enough for a title."""
    entry = result.pairs.iloc[position_of(result, pair)]
    a, b = (str(entry[f"observer_{side}"]) for side in "ab")
    short = told_apart([a, b], MOST_LETTERS)
    return pair.replace(a, short[a]).replace(b, short[b]), short[a], short[b]


def undefined_pairs(result: Result) -> int:
    """Number of pairs without a defined entry, which `plot_matrix` hatches."""
    value = pd.Series(result.estimates["estimate"].values, result.pairs.index)
    pairs = [result.pairs[f"observer_{side}"] for side in "ab"]
    return int(value.groupby(pairs).mean().isna().sum())


@styled
def plot_metrics(
    results: Sequence[Result] | Mapping[str, Result],
    x: str,
    y: str,
    *,
    observer_kinds: Kinds | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot one metric against another for the same pairs [X25]_.

    Parameters
    ----------
    results : sequence of Result, or mapping of str to Result
        Results for the same trials, pairs and groups. Use a mapping for custom names.
    x, y : str
        Name of the metric, or of the result in the mapping, for each axis.
    observer_kinds : mapping or Trials, optional
        Kind of each observer, or the trials of the analysis. Colors show kinds.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The size of a point shows the mean accuracy of the two observers on their common trials. The
        title states Spearman's rank correlation over the entries shown. Points are not independent,
        because pairs share observers.

    Raises
    ------
    ValueError
        If a name is unknown, or the results have different entries. If fewer than two entries are
        defined for both metrics. If an observer has no kind, or there are more kinds than
        distinguishable colors.
    TypeError
        If `observer_kinds` is neither a mapping nor trials.

    References
    ----------
    .. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
       decision-making systems. doi:10.48550/arXiv.2409.13919

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> options = {"by": "dataset", "n_resamples": 0, "n_draws": 0}
    >>> ec = al.error_consistency(trials, **options)
    >>> ma = al.misclassification_agreement(trials, **options)
    >>> ax = al.plot_metrics([ec, ma], ec.metric.name, ma.metric.name, observer_kinds=trials)
    >>> ax.get_title().split(" over ")[1]
    '45 pairs'
    """
    named = {name: of_kind(each, "pair") for name, each in _named(results).items()}
    for axis, name in (("x", x), ("y", y)):
        one_of(axis, name, tuple(named))
    if x == y:
        raise ValueError(f"x and y must be two results, got {x!r} for both")
    frames = {name: _entries(named[name]).set_index(LABELS) for name in (x, y)}
    for one, other in ((x, y), (y, x)):
        own = frames[one].index
        if len(missing := own.difference(frames[other].index, sort=False)):
            raise ValueError(
                f"{other!r} lacks {len(missing)} of the {len(own)} entries of {one!r}, the first "
                f"is {' | '.join(missing[0])}; analyze both with the same trials, by and pairs "
                "(listed one by one if their order matters to one metric)"
            )
    frame = frames[x].assign(other=frames[y]["value"]).reset_index()
    shown = frame.dropna(subset=["value", "other"])
    if len(shown) < 2:
        raise ValueError(
            f"{x!r} and {y!r} must both be defined for at least two pairs, got {len(shown)}"
        )

    ax = axes_or_new(ax, (6.6, 4.4))
    areas = _areas(shown["accuracy"])
    look: dict[str, Any] = {"alpha": 0.65, "edgecolors": "white", "linewidths": 0.4}
    handles = scatter_pairs(ax, shown, "value", "other", observer_kinds, areas, **look)
    handles = handles if observer_kinds is not None else []
    handles.append(key("\nmean accuracy", linestyle=""))
    for accuracy in np.unique(np.nanquantile(shown["accuracy"], [0, 0.5, 1]).round(2)):
        size = float(_areas(accuracy)) ** 0.5
        handles.append(key(f"{accuracy:.2f}", linestyle="", marker="o", color="0.5",
                           markersize=size))  # fmt: skip
    legend(ax, handles)
    for name, line in ((x, ax.axvline), (y, ax.axhline)):
        if _has_a_middle(named[name].metric):
            line(0, color="0.6", linewidth=0.8, zorder=0)
    ax.set(xlabel=named[x].metric.label, ylabel=named[y].metric.label)
    rho = "undefined"
    if min(shown["value"].nunique(), shown["other"].nunique()) > 1:
        rho = f"= {shown['value'].corr(shown['other'], method='spearman'):.2f}"
    lost = len(frame) - len(shown)
    left_out = f"\n{lost} undefined, not drawn" if lost else ""
    ax.set_title(f"Spearman's rho {rho} over {len(shown)} pairs{left_out}")
    return ax


def _areas(accuracy: Any) -> NDArray[np.float64]:
    """Areas of points for accuracies; 0 for pairs without common trials."""
    return 8 + 72 * np.nan_to_num(np.asarray(accuracy, np.float64)) ** 2


def _entries(result: Result) -> pd.DataFrame:
    """Labels, value and mean accuracy of the entries."""
    # Only some tables have counts of the four cells; the summary has the accuracies of all.
    table = result.summary(intervals=())
    frame = table[LABELS].assign(
        value=table["estimate"],
        accuracy=table[["accuracy_a", "accuracy_b"]].mean(axis=1, skipna=False),
    )
    return frame.reset_index(drop=True)


def _of_observers(of: Kinds, names: Sequence[str]) -> dict[str, str]:
    """Kind of each observer."""
    if isinstance(of, Mapping):
        known = {str(name): str(kind) for name, kind in of.items()}
    elif isinstance(getattr(of, "data", None), xr.Dataset):
        known = of.data["kind"].to_series().to_dict()
        # Groups of observers, as for margins, have the names of their kinds.
        known = {kind: kind for kind in known.values()} | known
    else:
        raise TypeError(
            f"observer_kinds must be a mapping of observers or Trials, got {type(of).__name__}"
        )
    if lacking := [name for name in names if name not in known]:
        raise ValueError(
            f"observer_kinds has no entry for {lacking[0]!r} ({len(lacking)} without); name each "
            "in a mapping, or use observer_kinds=trials"
        )
    return known


def _in_order(of: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Kinds in order of first occurrence, humans first."""
    return sorted(dict.fromkeys(of[name] for name in names), key=lambda kind: kind != "human")


def _has_a_middle(metric: Metric) -> bool:
    """Whether 0 is strictly inside the range of a metric."""
    return metric.bounds[0] < 0 < metric.bounds[1]


def _scale(metric: Metric, matrix: NDArray[np.float64]) -> dict[str, Any]:
    defined = matrix[np.isfinite(matrix)]
    if not _has_a_middle(metric):
        return {"cmap": "viridis"} | ({} if len(defined) else {"vmin": 0, "vmax": 1})
    return diverging(defined)


def _separate(ax: Axes, keys: list[str]) -> None:
    """Draw lines between blocks of observers, and their labels at the top."""
    blocks = [(label, len(list(own))) for label, own in itertools.groupby(keys)]
    sizes = np.array([size for _, size in blocks])
    stops = np.cumsum(sizes) - 0.5
    for stop in stops[:-1]:
        ax.axhline(stop, color="black", linewidth=1.2)
        ax.axvline(stop, color="black", linewidth=1.2)
    # A letter is about half as wide as a cell.
    narrow = any(len(label) > 1.8 * size for label, size in blocks)
    top = ax.secondary_xaxis("top")
    top.set_xticks(stops - sizes / 2, [label for label, _ in blocks],
                   rotation=90 if narrow else 0, fontsize=8, fontweight="bold")  # fmt: skip
    top.tick_params(length=0)


def _named(results: Sequence[Result] | Mapping[str, Result]) -> dict[str, Result]:
    if isinstance(results, Mapping):
        return dict(results)
    named = {result.metric.name: result for result in results}
    if len(named) < len(results):
        raise ValueError(
            "results must have different names; use a mapping such as {'first': ..., 'second': ...}"
        )
    return named


def scatter_pairs(
    ax: Axes, frame: pd.DataFrame, x: str, y: str, kinds: Kinds | None, areas: Any, **look: Any
) -> list[Any]:
    """Draw pairs, colored by the kinds of their observers; return legend entries."""
    handles: list[Any] = []
    areas = np.broadcast_to(areas, len(frame))
    for k, (label, rows) in enumerate(_by_pair_kind(frame, kinds)):
        one: dict[str, Any] = {"color": COLORS[k], "marker": MARKERS[k]}
        ax.scatter(
            frame[x].iloc[rows], frame[y].iloc[rows], s=areas[rows], label=label,
            # Small groups are drawn on top.
            zorder=3 - len(rows) / len(frame), rasterized=len(frame) > 5000,
            **one | look,
        )  # fmt: skip
        handles.append(key(label, linestyle="", markersize=5, **one))
    return handles


def _by_pair_kind(frame: pd.DataFrame, kinds: Kinds | None) -> list[tuple[str, NDArray[Any]]]:
    """Rows of entries by the kinds of both observers, in either order."""
    if kinds is None:
        return [("pair", np.arange(len(frame)))]
    pairs = frame[["observer_a", "observer_b"]]
    names = list(dict.fromkeys(pairs.to_numpy().ravel()))
    of = _of_observers(kinds, names)
    order = _in_order(of, names)
    codes = np.sort(pairs.map(lambda name: order.index(of[name])).to_numpy(), axis=1)
    every = np.unique(codes, axis=0).tolist()
    found = {(a, b): np.flatnonzero((codes == (a, b)).all(axis=1)) for a, b in every}
    if len(found) > len(COLORS):
        raise ValueError(
            f"{len(found)} kinds of pairs are too many for distinguishable colors, the limit is "
            f"{len(COLORS)}; use fewer kinds"
        )
    return [(f"{order[a]}-{order[b]}", rows) for (a, b), rows in found.items()]


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
    prob, kind = result.interval_options(None, None)
    for offset, method in zip(shift, drawn, strict=True):
        center = "posterior_median" if method == "posterior" else "estimate"
        bounds = bounds_of(method, kind, prob)
        # Noise-corrected values differ from the estimate, and are named accordingly.
        name = result.metric.posterior_label if method == "posterior" else method
        letters = re.findall(r"_([a-z]+)[\d.]+_lb$", bounds[0])[0].upper()
        label = f"{name}, {percent(prob)} {letters}"
        middle, lower, upper = (frame[column] for column in (center, *bounds))
        at = position + offset
        rows_with_intervals(
            ax, at, middle, lower, upper, METHODS[method], markersize=4, label=label
        )
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
