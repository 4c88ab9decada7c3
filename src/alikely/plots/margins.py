"""Decision margins: strengths of items, noise-free correlation, both consistencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from alikely.estimates.result import Result
from alikely.plots._style import COLORS, MARKERS, SCHOOLS, axes_or_new, check_table, legend_right

__all__ = [
    "plot_consistency",
    "plot_noise_free",
    "plot_strengths",
]

METRIC = "decision_margin_consistency"
CONSISTENCY = (
    "dataset", "condition", "observer_a", "observer_b", "accuracy_b", "error_consistency",
    "error_consistency_lb", "error_consistency_ub", "error_ceiling", "margin_consistency",
    "margin_consistency_lb", "margin_consistency_ub", "noise_free", "margin_ceiling",
    "margin_ceiling_lb", "margin_ceiling_ub",
)  # fmt: skip
MOST_LABELS = 12
# Where a label may stand about its point: offset in points, with the alignment that goes with it.
PLACES = [
    (side * distance, up, "left" if side > 0 else "right", "center")
    for distance in (6, 12)
    for up in (0, 7, -7, 14, -14)
    for side in (1, -1)
]


def plot_strengths(result: Result, pair: int | str = 0, ax: Axes | None = None) -> Axes:
    """Draw how strong each item is by the model against its share of right answers.

    Parameters
    ----------
    result : Result
        As from `alikely.decision_margin_consistency`, with posterior draws.
    pair : int or str
        Position or label of an entry: of a machine and a group of observers.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        One point per item with a bar of one posterior standard deviation to either side; its
        colour is the machine's margin, triangles are margins not above 0.

    Raises
    ------
    ValueError
        If the result is of another metric, has no such entry, or the entry has no strengths: it is
        of two machines or two groups, or there are no draws.
    TypeError
        If `pair` is neither a position nor a label.

    Examples
    --------
    >>> import alikely as al
    >>> import xarray as xr
    >>> from alikely.estimates import decision_margin_consistency
    >>> trials = al.load_example().select(kind="human", condition="noise")
    >>> places = {key: trials.data[key].values for key in ("dataset", "condition", "item")}
    >>> margin = np.random.default_rng(1).normal(size=160)
    >>> margins = pd.DataFrame({**places, "observer": "net", "margin": margin})
    >>> result = decision_margin_consistency(trials, margins, n_draws=0, rng=1)
    >>> moments = (("pair", "trial"), np.ones((1, 160)))  # in place of n_draws=4000
    >>> result.data["strengths"] = xr.DataTree(xr.Dataset({"mean": moments, "sd": moments}))
    >>> plot_strengths(result).get_xlabel()
    'share of right answers of human (0 to 1)'
    """
    at, label = _entry(result, pair)
    if "strengths" not in result.data.children:
        raise ValueError(
            "this result has no item strengths: expected the draws of a model of strengths; call "
            f"{METRIC}() with model='items' and n_draws=4000"
        )
    table, strengths = result.table, result.data["strengths"].to_dataset()
    mean, sd = strengths["mean"].values[at], strengths["sd"].values[at]
    systems = [int(table[name].values[at]) for name in ("first", "second")]
    machine = table["is_machine"].values[systems]
    items = np.flatnonzero(np.isfinite(mean))
    if not len(items):
        alike = {0: "two groups", 2: "two machines"}
        raise ValueError(
            f"entry {label!r} has no item strengths: expected a machine and a group of observers "
            f"with posterior draws, got {alike.get(machine.sum(), _remark(result, at))}; choose "
            "another entry with pair=..."
        )
    group, net = systems[int(machine[0])], systems[int(machine[1])]
    share = table["right"].values[group, items] / table["shown"].values[group, items]
    margin = table["margins"].values[net, items]

    ax = axes_or_new(ax, (6.2, 4.4))
    y, half = mean[items], sd[items]
    ax.vlines(share, y - half, y + half, color="0.6", linewidth=0.7, alpha=0.6, zorder=1)
    norm = Normalize(margin.min(), margin.max())
    for marker, chosen, text in (
        ("o", margin > 0, "margin above 0: machine is right"),
        ("^", margin <= 0, "margin not above 0: machine is wrong"),
    ):
        if chosen.any():
            ax.scatter(
                share[chosen], y[chosen], c=margin[chosen], cmap="viridis", norm=norm,
                marker=marker, s=22, edgecolors="black", linewidths=0.4, zorder=2,
                label=f"{text} ({chosen.sum()} items)",
            )  # fmt: skip
    ax.figure.colorbar(ScalarMappable(norm, "viridis"), ax=ax, label="decision margin")
    names = table["observer"].values
    ax.set_xlabel(f"share of right answers of {names[group]} (0 to 1)")
    ax.set_ylabel("item strength, units of the noise\n(posterior mean, bars: 1 sd to either side)")
    _legend_above(ax)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_noise_free(result: Result, pair: int | str = 0, ax: Axes | None = None) -> Axes:
    """Draw the posterior of the noise-free correlation beside the plain estimates.

    Parameters
    ----------
    result : Result
        As from `alikely.decision_margin_consistency`, with posterior draws.
    pair : int or str
        Position or label of an entry.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The x axis holds all draws and those estimates that are correlations, from -1 to 1; the
        legend says which are not.

    Raises
    ------
    ValueError
        If the result is of another metric, has no such entry, or the entry has no draws.
    TypeError
        If `pair` is neither a position nor a label.

    Examples
    --------
    >>> import alikely as al
    >>> from alikely.estimates import decision_margin_consistency
    >>> trials = al.load_example().select(kind="human", condition="noise")
    >>> places = {key: trials.data[key].values for key in ("dataset", "condition", "item")}
    >>> values = np.random.default_rng(1).normal(size=(2, 160))
    >>> margins = [
    ...     pd.DataFrame({**places, "observer": name, "margin": margin})
    ...     for name, margin in zip(["net_1", "net_2"], values)
    ... ]
    >>> result = decision_margin_consistency(trials, margins, [("net_1", "net_2")], rng=1)
    >>> ax = plot_noise_free(result)
    >>> ax.get_xlabel()
    'noise-free correlation of net_1 and net_2 (-1 to 1)'
    """
    at, label = _entry(result, pair)
    if "posterior" not in result.data.children:
        raise ValueError(
            f"this result has no posterior draws: expected some, got n_draws=0; call {METRIC}() "
            "with n_draws=4000"
        )
    draws = result.draws("posterior")[:, at].astype(np.float64)
    draws = draws[np.isfinite(draws)]
    if not len(draws):
        raise ValueError(
            f"entry {label!r} has no posterior: expected draws, got none ({_remark(result, at)}); "
            "choose another entry with pair=..."
        )
    row = result.summary(intervals=()).iloc[at]
    # Rank correlations are not corrected.
    values = {
        "plain estimate": (float(row["estimate"]), "--", COLORS[5]),
        "corrected estimate": (float(row.get("corrected", np.nan)), ":", "black"),
        "posterior median": (float(np.median(draws)), "-", SCHOOLS["posterior"]),
    }
    inside = [value for value, *_ in values.values() if -1 <= value <= 1]
    low, high = min([*inside, draws.min()]), max([*inside, draws.max()])
    pad = max(0.05 * (high - low), 0.02)
    low, high = max(low - pad, -1.0), min(high + pad, 1.0)

    ax = axes_or_new(ax, (6.0, 3.6))
    step = (high - low) / 60
    ax.hist(
        draws, bins=(low + step * np.arange(61)).tolist(), density=True, histtype="stepfilled",
        facecolor="0.9", edgecolor="0.35", label=f"posterior ({len(draws)} draws)",
    )  # fmt: skip
    for name, (value, style, color) in values.items():
        look: dict[str, Any] = {"linestyle": style, "color": color, "linewidth": 1.8}
        text = f"{name}: " + ("undefined" if np.isnan(value) else f"{value:.2f}")
        if -1 <= value <= 1:
            ax.axvline(value, label=text, **look)
        else:
            ax.plot([], [], label=text + ("" if np.isnan(value) else ", outside the axis"), **look)
    ax.set_xlim(low, high)
    both = f"{row['observer_a']} and {row['observer_b']}"
    ax.set_xlabel(f"noise-free correlation of {both} (-1 to 1)")
    ax.set_ylabel("posterior density")
    _legend_above(ax)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_consistency(
    frame: pd.DataFrame, ax: Sequence[Axes] | NDArray[np.object_] | None = None
) -> NDArray[np.object_]:
    """Draw error consistency and decision-margin consistency against accuracy.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per entry: ``dataset, condition, observer_a, observer_b, accuracy_b``;
        ``error_consistency`` and ``margin_consistency``, each with ``_lb`` and ``_ub``;
        ``noise_free``, the posterior median; ``error_ceiling``; and ``margin_ceiling`` with
        ``_lb`` and ``_ub``. Ceilings are repeated on all rows of a data set and condition; they
        and `noise_free` may be NaN.
    ax : pair of matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (2,)
        Error consistency, decision-margin consistency. Up to 12 rows are labelled with
        ``observer_b``, up to 8 data sets and conditions are told apart. The legend counts what is
        undefined.

    Raises
    ------
    ValueError
        If the table is empty or lacks a column.
    TypeError
        If `ax` is not a pair of axes.

    Examples
    --------
    >>> row = dict.fromkeys(CONSISTENCY, 0.5)
    >>> row |= {"dataset": "a", "condition": "b", "observer_a": "human", "observer_b": "net"}
    >>> upper, lower = plot_consistency(pd.DataFrame([row]))
    >>> lower.get_xlabel()
    'accuracy of observer b (share of right answers, 0 to 1)'
    """
    check_table(frame, CONSISTENCY, "join error and decision-margin consistency by entry")
    axes = _pair_of_axes(ax)
    grouped = frame.groupby(["dataset", "condition"], sort=False, dropna=False)
    groups = [
        (", ".join(str(part) for part in key if part != "all") or "all", rows)
        for key, rows in grouped
    ]
    named = 1 < len(groups) <= len(COLORS)
    for panel, name in zip(axes, ("error", "margin"), strict=True):
        handles = _consistency_panel(panel, frame, groups, name)
        if named and panel is axes[0]:
            handles += [
                Line2D([], [], linestyle="", marker=MARKERS[k], color=COLORS[k], label=label)
                for k, (label, _) in enumerate(groups)
            ]
        legend_right(panel, handles)
    axes[1].set_xlabel("accuracy of observer b (share of right answers, 0 to 1)")
    if len(frame) <= MOST_LABELS:
        for panel in axes:
            panel.margins(x=0.12, y=0.08)
        # Places of labels depend on those of the axes.
        axes[0].get_figure(root=True).draw_without_rendering()
        _label_points(axes[0], frame, ["error_consistency"])
        _label_points(axes[1], frame, ["margin_consistency", "noise_free"])
    return axes


def _entry(result: Result, pair: int | str) -> tuple[int, str]:
    """Position and label of an entry of a result of decision margins."""
    if result.metric.counts != "margins":
        raise ValueError(
            f"this result is of {result.metric.name}; expected one of {METRIC}: call {METRIC}()"
        )
    labels = result.table["pair"].values.tolist()
    if isinstance(pair, str):
        if pair not in labels:
            raise ValueError(f"no entry is labelled {pair!r}; labels look like {labels[0]!r}")
        return labels.index(pair), pair
    if not isinstance(pair, (int, np.integer)):
        raise TypeError(
            f"pair must be the position or the label of an entry, got {type(pair).__name__}; try 0"
        )
    if not 0 <= pair < len(labels):
        raise ValueError(
            f"pair must be a position from 0 to {len(labels) - 1}, got {pair}; or give a label"
        )
    return int(pair), str(labels[pair])


def _remark(result: Result, at: int) -> str:
    return str(result.estimates["remark"].values[at]) or "no reason given"


def _legend_above(ax: Axes) -> None:
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8)


def _pair_of_axes(ax: Any) -> NDArray[np.object_]:
    if ax is None:
        size = (8.0, 6.6)
        return np.asarray(plt.subplots(2, 1, figsize=size, layout="constrained", sharex=True)[1])
    axes = np.array(ax, dtype=object).ravel()
    if len(axes) != 2 or not all(isinstance(one, Axes) for one in axes):
        raise TypeError(
            f"ax must be a pair of axes, got {type(ax).__name__} of length {len(axes)}; make them "
            "with plt.subplots(2, 1, sharex=True)"
        )
    return axes


def _consistency_panel(
    ax: Axes, frame: pd.DataFrame, groups: list[tuple[str, pd.DataFrame]], name: str
) -> list[Any]:
    """Draw one panel; return what its legend shows."""
    value, ceiling = f"{name}_consistency", f"{name}_ceiling"
    several, told_apart = len(groups) > 1, len(groups) <= len(COLORS)
    without = 0
    for k, (_, part) in enumerate(groups):
        color = COLORS[k] if told_apart else COLORS[0]
        marker = MARKERS[k] if told_apart else "o"
        height = float(part[ceiling].mean())
        without += int(np.isnan(height))
        look: dict[str, Any] = {"color": color if several and told_apart else "0.4"}
        if np.isfinite(height):
            ax.axhline(height, linestyle="--", alpha=0.45 if several else 1, zorder=0.5, **look)
        if name == "margin":
            low, high = (float(part[f"{ceiling}_{end}"].mean()) for end in ("lb", "ub"))
            if np.isfinite([low, high]).all():
                alpha = 0.08 if several else 0.15
                ax.axhspan(low, high, alpha=alpha, linewidth=0, zorder=0.1, **look)
        x = part["accuracy_b"]
        ax.vlines(x, part[f"{value}_lb"], part[f"{value}_ub"], color=color, linewidth=1.2)
        ax.plot(x, part[value], linestyle="", marker=marker, color=color, markersize=5)
        if name == "margin":
            ax.plot(
                x, part["noise_free"], linestyle="", marker=marker, color=color, markersize=6.5,
                markerfacecolor="white", zorder=2.5,
            )  # fmt: skip
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.set_ylabel(f"{'error' if name == 'error' else 'decision-margin'} consistency (-1 to 1)")
    ax.spines[["top", "right"]].set_visible(False)

    color, n = "0.3" if several and told_apart else COLORS[0], len(frame)
    defined = frame[["accuracy_b", value]].notna().all(axis=1)
    text = _counted("estimate with its interval", n - defined.sum(), n)
    handles = [Line2D([], [], color=color, marker="o", linewidth=1.2, markersize=5, label=text)]
    if name == "margin":
        defined = frame[["accuracy_b", "noise_free"]].notna().all(axis=1)
        text = _counted("noise-free, posterior median", n - defined.sum(), n)
        handles.append(
            Line2D([], [], color=color, marker="o", linestyle="", markerfacecolor="w", label=text)
        )
    text = "ceiling with its interval" if name == "margin" else "ceiling"
    text = _counted(text, without, len(groups))
    handles.append(Line2D([], [], linestyle="--", color="0.4", label=text))
    return handles


def _counted(text: str, lost: int, n: int) -> str:
    return f"{text}\n({lost} of {n} undefined)" if lost else text


def _label_points(ax: Axes, frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Names of the observers next to their points, where they cover least of what is drawn."""
    value = columns[0]
    shown = frame[frame[["accuracy_b", value]].notna().all(axis=1)]

    def pixels(column: str) -> NDArray[np.float64]:
        return ax.transData.transform(shown[["accuracy_b", column]].to_numpy(np.float64))

    taken = [Bbox([at - 4, at + 4]) for column in columns for at in pixels(column)]
    for low, high in zip(pixels(f"{value}_lb"), pixels(f"{value}_ub"), strict=True):
        taken.append(Bbox([low - [2, 0], high + [2, 0]]))
    taken = [box for box in taken if np.isfinite(box.get_points()).all()]
    window = ax.get_window_extent()
    for x, y, name in shown[["accuracy_b", value, "observer_b"]].itertuples(index=False):
        # Left out of the layout, which would move the axes that the places were chosen for.
        note = ax.annotate(
            str(name), (x, y), xytext=(0, 0), textcoords="offset points", fontsize=7,
            in_layout=False,
        )  # fmt: skip
        costs = []
        for dx, dy, ha, va in PLACES:
            note.set(position=(dx, dy), ha=ha, va=va)
            box = note.get_window_extent()
            beyond = box.x0 < window.x0 or box.x1 > window.x1
            costs.append(sum(box.overlaps(other) for other in taken) + 9 * beyond)
        dx, dy, ha, va = PLACES[int(np.argmin(costs))]
        note.set(position=(dx, dy), ha=ha, va=va)
        taken.append(note.get_window_extent())
