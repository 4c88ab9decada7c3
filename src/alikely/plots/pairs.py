"""Pairs of observers: intervals, matrices, two metrics, agreement, error patterns, families."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.image import AxesImage
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray
from scipy.cluster import hierarchy

from alikely._base.arrays import Floats
from alikely._base.checks import check_whole, one_of
from alikely._base.frames import groups_of
from alikely._base.intervals import percent
from alikely._base.names import nearest, p_words, told_apart
from alikely.estimates.matrices import place_dim, square_matrix
from alikely.estimates.pair_result import LABELS, bounds_of, shown_methods
from alikely.estimates.result import Result, of_kind
from alikely.inference import null
from alikely.metrics import Metric, bounds, consistency
from alikely.plots._style import (
    COLORS,
    COLUMN_WIDTH,
    MARKERS,
    METHODS,
    MOST_LETTERS,
    PlotFigure,
    axes_or_new,
    blend,
    color_key,
    diverging,
    draw_kind,
    drop_crowded,
    figure_of,
    in_column,
    key,
    legend,
    name_both_sides,
    name_rows,
    new_axes,
    not_drawn,
    rows_shown,
    rows_with_intervals,
    several_axes,
    styled,
)

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
        Result to plot (any metric). If a pair is compared several times, for example once per
        condition, the unweighted mean of the estimates is shown.
    observer_kinds : mapping or Trials, optional
        Kind or family of each observer, or a `Trials` object with kinds.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If estimates describe all readers together rather than pairs of readers, or if an observer
        has no kind.
    TypeError
        If `observer_kinds` is neither a mapping nor trials.

    Notes
    -----
    For asymmetric metrics, such as the copy probability, the row is the reference and the column is
    the other observer. The mean for a pair includes only the data sets or conditions in which its
    estimate is defined, so different pairs may have means over different data sets. Metrics that
    can be positive or negative are shown on a diverging color scale, with white at 0, and
    class-level error similarity on a sequential color scale.

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
        "" if symmetric else "row: reference, column: other observer",
        f"blank: not compared ({lacking} pairs)" if lacking > 0 else "",
    ]
    ax.set_xlabel("\n".join(filter(None, notes)), fontsize=8)
    groups = frame[["dataset", "condition"]].drop_duplicates()
    one = ", ".join(part for part in groups.iloc[0] if part != "all")
    ax.set_title(f"mean over {len(groups)} conditions" if len(groups) > 1 else one)
    color_key(ax, image, result.metric.label, shrink=0.7)
    return ax


def position_of(result: Result, pair: int | str) -> int:
    """Position of the entry with a given label or position; `ValueError` if there is none."""
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
        Results to compare, for the same trials, pairs and groups. To name the results, pass a
        mapping.
    x, y : str
        Name of a metric, or of a result in the mapping `results`, for each axis.
    observer_kinds : mapping or Trials, optional
        Kind of each observer, or a `Trials` object with kinds. Colors show kinds.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The size of a point shows the mean accuracy of the two observers on their common trials. The
        title states Spearman's rank correlation of the two metrics over the comparisons shown.
        Points are not independent, because pairs share observers.

    Raises
    ------
    ValueError
        If a name is unknown, or if the two results do not contain the same comparisons.
    ValueError
        If fewer than two comparisons are defined for both metrics.
    ValueError
        If an observer has no kind, or if there are more kinds than distinguishable colors.
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
            f"observer_kinds has no entry for {lacking[0]!r} (observers without: {len(lacking)}); "
            "give the kind of each observer, or use observer_kinds=trials"
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
        Methods to plot. Methods for which the result has no intervals, or that are invalid for its
        metric, are skipped. If no method in `intervals` can be plotted, the first valid method of
        the result is shown.
    which : sequence of str, optional
        Labels of the comparisons to plot, from top to bottom. Default: all.
    sort : {"estimate", "label"}, optional
        Whether to sort comparisons by decreasing estimate (undefined estimates last) or by label.
        Default: the order of the comparisons in the result.
    top : int, optional
        Number of comparisons to plot after sorting; the title states the total number. Default:
        all.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If a label or an option is unknown.
    ValueError
        If the plot has more than 60 rows, or more than fit in a one-column figure (`column`).

    Notes
    -----
    The dot shows the posterior median for posterior intervals, and the estimate for other
    intervals. A cross at the left edge means that the estimate is undefined, although the posterior
    is defined.

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


# With more trials, percentiles of independent observers take half a minute.
MOST_TRIALS = 1280
MANY = 200


def plot_agreement(
    result: Result | None = None,
    kind: Literal["agreement", "accuracy", "bounds"] = "agreement",
    *,
    observer_kinds: Kinds | None = None,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> Any:
    """Plot error consistency with its possible range or a band for independent observers.

    Kinds of plot:

    - ``"agreement"``: observed agreement and error consistency against expected agreement [G20]_,
      with limits and a 95% band for independent observers
    - ``"accuracy"``: error consistency against the accuracy of the second observer; a dash marks
      the highest value that is possible given the two accuracies of a pair
    - ``"bounds"``: lowest and highest possible error consistency for all combinations of accuracies
      [K25]_, with the pairs of the result if one is given

    Parameters
    ----------
    result : Result, optional
        Result as returned by `alikely.error_consistency`. Required unless `kind` is ``"bounds"``.
    kind : {"agreement", "accuracy", "bounds"}
        Kind of plot.
    observer_kinds : mapping or Trials, optional
        For ``"agreement"`` and ``"accuracy"``: kind of each observer, or a `Trials` object with
        kinds. Pairs are colored by the kinds of their observers.
    ax : matplotlib.axes.Axes, or two of them for ``"agreement"`` and ``"bounds"``, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        The axes: two for ``"agreement"`` and ``"bounds"``, otherwise one. The band for independent
        observers is computed for the most frequent number of common trials, and is omitted if that
        number exceeds 1,280.

    Raises
    ------
    ValueError
        If `kind` is unknown or does not support the result's metric, or if an observer has no
        kind in `observer_kinds`.
    TypeError
        If an argument is given that this kind of plot does not use.

    References
    ----------
    .. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour
       of CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
    .. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
       consistency: towards reliable behavioral comparison of classifiers.
       doi:10.48550/arXiv.2507.06645

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> result = al.error_consistency(trials, "human-human", rng=1)
    >>> al.plot_agreement(result, "accuracy").get_ylabel()
    'error consistency'
    """
    if isinstance(result, Result):
        of_kind(result, "pair")
    return draw_kind(plot_agreement, locals())


def _agreement(
    result: Result, *, observer_kinds: Kinds | None = None, ax: Any = None
) -> NDArray[np.object_]:
    """Observed agreement and error consistency against expected agreement."""
    frame = _pairs_of(result)
    axes = several_axes(ax, (9.6, 4.2), 1, 2, sharex=True)
    expected = np.linspace(0, 1, 501)
    limits = (
        bounds.agreement_bounds_from_expected(expected),
        bounds.error_consistency_bounds_from_expected(expected),
    )
    band, handles = _band(frame["n_trials"].to_numpy())
    dotted: dict[str, Any] = {"color": "0.6", "linewidth": 0.8, "linestyle": ":"}
    for panel, name, limit in zip(axes, ("agreement", "error_consistency"), limits, strict=True):
        panel.plot(expected, np.transpose(limit), color="0.45", linewidth=1.0, zorder=1)
        if band is not None:
            center = band[["expected_lb", "expected_ub"]].mean(axis=1)
            panel.fill_between(center, band[f"{name}_lb"], band[f"{name}_ub"], color="0.85",
                               linewidth=0, zorder=0)  # fmt: skip
        keys = _scatter(panel, frame, "expected", name, observer_kinds)
        chance = [0, 1] if name == "agreement" else [0, 0]
        panel.plot([0, 1], chance, zorder=0.5, **dotted)
        panel.set_xlabel("expected agreement")
    axes[0].set(ylabel="observed agreement", xlim=(0, 1), ylim=(0, 1.02))
    axes[1].set(ylabel="error consistency", ylim=(-1.05, 1.05))
    keys.append(key("possible range", color="0.45", linewidth=1.0))
    legend(axes[1], [*keys, *handles, key("expected by chance", **dotted)])
    return axes


def _band(n_trials: np.ndarray) -> tuple[pd.DataFrame | None, list[Any]]:
    """Percentiles of independent observers, and their legend entry."""
    numbers, counts = np.unique(n_trials[n_trials > 1], return_counts=True)
    if not len(numbers):
        return None, []
    n = int(numbers[np.argmax(counts)])
    if n > MOST_TRIALS:
        text = f"independent observers:\nnot drawn above {MOST_TRIALS:,} trials"
        return None, [key(text, linestyle="")]
    text = f"independent observers,\n{n} trials, 95% band"
    if len(numbers) > 1:
        text += f"\n(as in {counts.max()} of {len(n_trials)} pairs)"
    return null.null_percentiles(n, 0.95), [Patch(color="0.85", label=text)]


def _accuracy(
    result: Result, *, observer_kinds: Kinds | None = None, ax: Axes | None = None
) -> Axes:
    """Error consistency against the accuracy of the second observer, under its limit."""
    frame = _pairs_of(result)
    ax = axes_or_new(ax, (6.8, 4.2))
    handles = _scatter(ax, frame, "accuracy_b", "error_consistency", observer_kinds)
    limit = bounds.error_consistency_bounds(frame["accuracy_a"], frame["accuracy_b"])[1]
    dash: dict[str, Any] = {"linestyle": "", "marker": "_", "color": "0.5"}
    ax.plot(frame["accuracy_b"], limit, markersize=6 if len(frame) <= MANY else 3, zorder=1.5,
            rasterized=len(frame) > 5000, **dash)  # fmt: skip
    handles.append(key("highest possible for a pair", **dash))
    handles += not_drawn(int(frame["error_consistency"].isna().sum()), len(frame))
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.set(xlim=(0, 1.01), ylim=(min(-0.1, frame["error_consistency"].min() - 0.05), 1.03))
    ax.set_xlabel("accuracy of the second observer")
    ax.set_ylabel("error consistency")
    legend(ax, handles)
    return ax


def _pairs_of(result: Result) -> pd.DataFrame:
    """Accuracies, agreements and trials of each entry."""
    if result.metric.name != "error_consistency":
        raise ValueError(
            f"result must be of error_consistency, got {result.metric.name}; call "
            "error_consistency()"
        )
    cells = np.asarray(result.table["cells"].values)
    p_a, p_b = consistency.accuracies(cells)
    return result.pairs[["observer_a", "observer_b"]].assign(
        accuracy_a=p_a,
        accuracy_b=p_b,
        n_trials=np.rint(cells.sum(axis=-1)).astype(np.int64),
        agreement=consistency.observed_agreement(cells),
        expected=consistency.expected_agreement(p_a, p_b),
        error_consistency=result.estimates["estimate"].values,
    )


def _scatter(ax: Axes, frame: pd.DataFrame, x: str, y: str, kinds: Kinds | None) -> list[Any]:
    """Draw pairs by the kinds of their observers, more transparent if there are many."""
    alpha = float(np.clip(6 / np.sqrt(len(frame)), 0.15, 0.8))
    area = 18 if len(frame) <= MANY else 8
    return scatter_pairs(ax, frame, x, y, kinds, area, alpha=alpha, linewidths=0)


def _bounds(result: Result | None = None, ax: Any = None) -> NDArray[np.object_]:
    """Bounds of error consistency over both accuracies, with pairs."""
    if result is not None and "cells" not in result.table:
        raise ValueError(
            f"result must have counts of correct and incorrect responses, got one of "
            f"{result.metric.name}; use error_consistency"
        )
    axes = several_axes(ax, (9.0, 4.2), 1, 2, sharey=True)
    # An odd number includes the diagonal and one half. The edges, where EC is 0 or undefined, are
    # excluded.
    accuracy = np.linspace(0.005, 0.995, 199)
    limits = bounds.error_consistency_bounds(accuracy[:, None], accuracy[None, :])
    texts = []
    titles = ("lowest possible", "highest possible")
    for panel, values, title in zip(axes, limits, titles, strict=True):
        panel.spines[:].set_visible(True)
        panel.pcolormesh(
            accuracy, accuracy, values.T, cmap="RdBu_r", vmin=-1, vmax=1, rasterized=True
        )
        lines = panel.contour(accuracy, accuracy, values.T, levels=np.arange(-0.8, 0.9, 0.2),
                              colors="0.3", linewidths=0.5)  # fmt: skip
        texts.append(panel.clabel(lines, fontsize=6, fmt="%.1f"))
        panel.set(
            title=title, xlabel="accuracy of observer a", xlim=(0, 1), ylim=(0, 1), aspect="equal"
        )
        if result is not None:
            p_a, p_b = consistency.accuracies(result.table["cells"].values)
            value, many = result.estimates["estimate"].values, result.table.sizes["pair"] > MANY
            panel.scatter(
                p_a, p_b, c=value, s=8 if many else 18, linewidths=0.2 if many else 0.5,
                edgecolors="black", cmap="RdBu_r", vmin=-1, vmax=1, plotnonfinite=True,
            )  # fmt: skip
    axes[0].set_ylabel("accuracy of observer b")
    colors = ScalarMappable(Normalize(-1, 1), cmap="RdBu_r")
    color_key(axes, colors, "error consistency", shrink=0.85)
    for panel, numbers in zip(axes, texts, strict=True):
        drop_crowded(panel, numbers)
    return axes


VERDICTS = {
    "common distribution more likely": "#0072B2",
    "separate distributions more likely": "#D55E00",
    "one observer without errors": "#BBBBBB",
}
MOST_CONFUSIONS, MOST_CONFUSIONS_IN_COLUMN = 6, 3


def plot_errors(
    data: Result | xr.DataArray,
    kind: Literal["classes", "confusions"],
    *,
    pair: str | None = None,
    ax: Axes | None = None,
) -> Any:
    """Plot the errors that observers make, by class.

    Each kind of plot shows a different result:

    - ``"classes"``: divergence between two observers' incorrect responses for each true class, from
      a result of `alikely.error_similarity`. Colors show whether a common distribution or separate
      distributions are more likely; numbers of errors are on the right
    - ``"confusions"``: proportions of responses for each true class, from a result of
      `alikely.estimates.confusion_matrices`; rows sum to 1. At most 6 groups are shown, 3 in a
      one-column figure

    Parameters
    ----------
    data : Result or xarray.DataArray
        Result or table to plot.
    kind : {"classes", "confusions"}
        Kind of plot.
    pair : str, optional
        For ``"classes"`` (required): label of the pair to plot, from ``data.table["pair"]``.
    ax : matplotlib.axes.Axes, optional
        For ``"classes"``: axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        For ``"confusions"``, one axes per group; otherwise, a single axes.

    Raises
    ------
    ValueError
        If the kind or the pair is unknown, or if there are too many classes or groups.
    TypeError
        If an argument is given that this kind of plot does not use, if a required argument is
        missing, or if `data` has the wrong type.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> axes = al.plot_errors(al.estimates.confusion_matrices(trials, "kind"), "confusions")
    >>> [ax.get_title() for ax in axes]
    ['human', 'model']
    """
    if isinstance(data, Result):
        of_kind(data, "pair")
    return draw_kind(plot_errors, locals())


def _classes(result: Result, pair: str, *, ax: Axes | None = None) -> Axes:
    """Divergence of incorrect responses by true class, colored by the Bayes factor."""
    if "class_divergence" not in result.estimates:
        raise ValueError(
            f"result must be of error_similarity, got {result.metric.name}, which has no values "
            "by class"
        )
    frame = _class_frame(result, pair)
    frame = frame.sort_values("divergence", ascending=False, kind="stable", na_position="last")
    n = len(frame)
    frame = frame.head(MOST_ROWS).iloc[::-1]
    ax = axes_or_new(ax, (6.8, max(2.6, 1.7 + 0.22 * len(frame))), tall=True)
    position = np.arange(len(frame))
    # Rounding of log gammas gives tiny values if one observer never errs.
    alone = (frame[["errors_a", "errors_b"]] == 0).any(axis=1).to_numpy()
    blank = frame["divergence"].isna().to_numpy()
    common = frame["log_bayes_factor"].to_numpy() > 0
    masks = (common & ~alone, ~common & ~alone, alone)
    for (label, color), mask in zip(VERDICTS.items(), masks, strict=True):
        if (own := mask & ~blank).any():
            ax.barh(position[own], frame["divergence"][own], color=color, label=label)
    for y in position[blank]:
        ax.annotate(
            "no errors", (0, y), (4, 0), textcoords="offset points", va="center", fontsize=7,
            color="0.4", style="italic",
        )  # fmt: skip
    name_rows(ax, frame.index.tolist())
    ax.set_xlim(left=0)
    ax.set_xlabel(f"divergence of incorrect responses ({_unit(result)})")
    entry = result.estimates.sel(pair=pair)
    named, a, b = short_pair(result, pair)
    right = ax.secondary_yaxis("right")
    counts = [f"{a} / {b}" for a, b in zip(frame["errors_a"], frame["errors_b"], strict=True)]
    right.set_yticks(position, counts, fontsize=7)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)
    right.set_ylabel(f"errors of {a}\n/ {b}", fontsize=8)
    title = f"{named}: similarity {entry['estimate'].item():.2f}"
    title += f"\n{len(frame)} of {n} classes" if len(frame) < n else ""
    if "p_equal" in entry and np.isfinite(entry["p_equal"].item()):
        title += f"\ntest of equal error distributions: {p_words('p', entry['p_equal'].item())}"
    ax.set_title(title)
    legend(ax, at="below", side="center", ncols=3)
    return ax


def _class_frame(result: Result, pair: str) -> pd.DataFrame:
    """Divergence, Bayes factor and errors of one pair, by true class."""
    table, estimates = result.table, result.estimates
    entry = position_of(result, pair)
    columns = ("divergence", "log_bayes_factor", "errors_a", "errors_b")
    frame = pd.DataFrame(
        {name: estimates[f"class_{name}"].values[entry] for name in columns},
        index=table["class"].values.tolist(),
    )
    # A missing response is a response class, never a true class.
    here = table["trial_group"].values == table["pair_group"].values[entry]
    return frame.iloc[np.unique(table["truth"].values[here])]


def _unit(result: Result) -> str:
    base = float(result.data.attrs["base"])
    return "bits" if base == 2 else "nats" if math.isclose(base, math.e) else f"base {base:g}"


def _confusions(counts: xr.DataArray) -> NDArray[np.object_]:
    """Proportions of responses to each true class, a panel for each group of observers."""
    if counts.dims != ("group", "truth", "response"):
        raise ValueError(f"counts must have the dims group, truth and response, got {counts.dims}")
    groups = counts["group"].values.tolist()
    most = MOST_CONFUSIONS_IN_COLUMN if in_column() else MOST_CONFUSIONS
    if len(groups) > most:
        raise ValueError(
            f"at most {most} matrices fit {'in a column' if in_column() else 'side by side'}, got "
            f"{len(groups)}; select groups with counts.sel(group=[...])"
        )
    shares = counts / counts.sum("response").where(lambda total: total > 0)
    side = max(2.6, 0.2 * counts.sizes["truth"])
    axes = new_axes((side * len(groups) + 1.4, side + 1.0), 1, len(groups), sharey=True)
    answers, truths = counts["response"].values.tolist(), counts["truth"].values.tolist()
    for ax, group in zip(axes, groups, strict=True):
        image = ax.imshow(shares.sel(group=group), vmin=0, vmax=1, cmap="Blues")
        ax.spines[:].set_visible(True)
        ax.set_xticks(range(len(answers)), answers, rotation=90, fontsize=7)
        ax.set_yticks(range(len(truths)), truths, fontsize=7)
        ax.set(title=str(group), xlabel="response")
    axes[0].set_ylabel("true class")
    color_key(axes, image, "proportion within true class", shrink=0.7)
    return axes


# With more observers, names are too small to read.
MOST_NAMED = 60
MOST_NAMED_IN_COLUMN = 25
# Classes of support: lower limit, label, color and width of branches.
SUPPORT = (
    (0.95, "at least 0.95", "black", 1.8), (0.8, "0.80 to 0.95", "0.35", 1.2),
    (0.0, "below 0.80", "0.65", 0.7),
)  # fmt: skip
# With more groups colors are not distinguishable: the palette for color blindness in full, half and
# pale tones. Grey is excluded, because it equals half-tone black.
MOST_GROUPS = 20
GROUP_COLORS = [blend(color, tone) for tone in (1.0, 0.5, 0.25) for color in COLORS[:-1]]


@styled
def plot_families(
    tree: Result, matrix: Result, *, by: Mapping[str, str] | None = None
) -> NDArray[np.object_]:
    """Plot a tree of observers, with the support of each branch, above the matrix of all pairs.

    Parameters
    ----------
    tree : Result
        Result of `alikely.benchmark.families`.
    matrix : Result
        Pairwise matrix from which `tree` was computed.
    by : mapping of str to str, optional
        Group of each observer, such as its model family. Groups are drawn as a color strip between
        the tree and the matrix.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        Axes of the tree, of the color strip (if groups are given) and of the matrix.

    Raises
    ------
    ValueError
        If the tree and the matrix have different observers.
    ValueError
        If an observer has no group, or there are more than 20 groups.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.pairwise_matrix(al.load_example(), by=None)
    >>> tree = al.benchmark.families(result, n_resamples=200, rng=1)
    >>> len(al.plot_families(tree, result))
    2
    """
    names = of_kind(tree, "tree").observers
    if names != of_kind(matrix, "matrix").observers:
        raise ValueError(
            "tree and matrix must have the same observers; make the tree of this matrix"
        )
    linkage, support = (tree.estimates[name].values for name in ("linkage", "support"))
    order = [names[k] for k in hierarchy.leaves_list(linkage)]
    n = len(order)
    named = n <= (MOST_NAMED_IN_COLUMN if in_column() else MOST_NAMED)
    side = 5.5 if n <= MOST_NAMED / 2 else 7.5
    heights = [1.3] + ([0.22] if by is not None else []) + [side]
    axes = new_axes(
        (side + 1.5, sum(heights)),
        rows=len(heights),
        tall=True,
        gridspec_kw={"height_ratios": heights},
        sharex=True,
    )
    figure = figure_of(axes[0])
    if in_column() and isinstance(figure, PlotFigure):
        figure.set_size_inches(COLUMN_WIDTH, 1.5 * COLUMN_WIDTH)
    keys = _tree(axes[0], linkage, support, matrix.metric)
    if by is not None:
        keys += _strip(axes[1], order, by)
    image = _map(axes[-1], matrix, order, named)
    # Attached to all panels, so that leaves are above their columns.
    color_key(axes, image, matrix.metric.label, location="bottom", aspect=40, shrink=0.6)
    legend(axes[-1], keys)
    return axes


def _tree(ax: Axes, linkage: Floats, support: Floats, metric: Metric) -> list[Any]:
    """Draw the branches by their support; return legend entries."""
    place = np.argsort(hierarchy.leaves_list(linkage)).astype(float).tolist()
    height = [0.0] * len(place)
    lines = []
    for a, b, top, _ in linkage:
        left, right = sorted((int(a), int(b)), key=place.__getitem__)
        feet = [(place[k], height[k]) for k in (left, right)]
        lines.append([feet[0], (place[left], top), (place[right], top), feet[1]])
        place.append((place[left] + place[right]) / 2)
        height.append(top)
    looks = [("0.35", 1.0)] * len(lines)
    for least, _, color, width in reversed(SUPPORT):
        reached = zip(support, looks, strict=True)
        looks = [(color, width) if own >= least else old for own, old in reached]
    colors, widths = zip(*looks, strict=True)
    ax.add_collection(LineCollection(lines, colors=colors, linewidths=widths))
    # Stems of leaves have no meaning: they have a constant length.
    joins = linkage[:, 2]
    top, low = joins.max(), joins.min()
    margin = 0.15 * (top - low) or 0.1
    ax.set_ylim(max(low - 2 * margin, 0.0), top + margin)
    ticks = [tick for tick in ax.get_yticks() if low - 2 * margin <= tick <= top + margin]
    best = metric.bounds[1]
    ax.set_yticks(ticks, [f"{best - tick:.2g}" for tick in ticks])
    ax.set_ylabel("mean " + metric.short)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(bottom=False, labelbottom=False)
    return [
        key(f"support {label}", color=color, linewidth=width)
        for _, label, color, width in SUPPORT
        if (color, width) in looks
    ]


def _strip(ax: Axes, order: list[str], by: Mapping[str, str]) -> list[Any]:
    """Draw the colors of groups; return legend entries."""
    own = groups_of(order, by, "group")
    groups = sorted(set(own))
    if len(groups) > MOST_GROUPS:
        raise ValueError(
            f"{len(groups)} groups are too many for distinguishable colors; merge groups to at "
            f"most {MOST_GROUPS}"
        )
    colors = dict(zip(groups, GROUP_COLORS, strict=False))
    ax.spines[:].set_visible(True)
    ax.imshow([[colors[name] for name in own]], aspect="auto")
    ax.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)
    return [Patch(color=color, label=name) for name, color in colors.items()]


def _map(ax: Axes, matrix: Result, order: list[str], named: bool) -> AxesImage:
    """Draw the matrix in the order of the leaves."""
    square = square_matrix(matrix, "estimate")
    if place := place_dim(matrix):
        square = square.mean(place)
    values = square.sel(observer=order, observer_other=order).values.copy()
    np.fill_diagonal(values, np.nan)
    below = np.nanmin(values, initial=0) < 0 < np.nanmax(values, initial=0)
    scale = diverging(values) if below else {"cmap": "viridis"}
    ax.spines[:].set_visible(True)
    image = ax.imshow(values, aspect="auto", interpolation="nearest", **scale)
    if named:
        ax.set_xticks(range(len(order)), order, rotation=90, fontsize=7)
        ax.set_yticks(range(len(order)), order, fontsize=7)
    else:
        ax.set_xticks([])
        ax.set_yticks([])
        ax.set_ylabel(f"{len(order):,} observers")
    return image
