"""Decision margins: consistency, checks, item strengths, noise of observers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.intervals import percent
from alikely._base.names import told_apart
from alikely.estimates.result import Result
from alikely.margins.checks import class_residuals, strength_line
from alikely.margins.moments import Side, group_side, lists_of_items, machine_side
from alikely.margins.tables import answers_of_group
from alikely.plots._style import (
    COLORS,
    FAR,
    MARKERS,
    MOST_LETTERS,
    SCHOOLS,
    axes_or_new,
    bounds_of,
    check_table,
    color_key,
    draw_kind,
    in_column,
    key,
    legend,
    not_drawn,
    place_labels,
    rows_shown,
    several_axes,
)
from alikely.plots.pairs import position_of

__all__ = ["CONSISTENCY", "plot_margins"]


def plot_margins(
    data: Result | pd.DataFrame | Mapping[str, xr.DataTree] | xr.DataTree,
    kind: Literal["consistency", "checks", "strengths", "noise_free", "variance", "explained"],
    *,
    pair: int | str | None = None,
    m: int | None = None,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> Any:
    """Draw decision margins: their consistency, checks, item strengths and noise.

    Each kind draws another object and uses these arguments. Results of
    `alikely.decision_margin_consistency`:

    - ``"checks"``: proportions correct against margins, residuals by class, and margins against
      normal quantiles (`pair`, `m`). Means of items with similar margins leave the band
      if strength is nonlinear. Residuals leave 0 if classes differ. Quantiles leave the band if
      tails are heavy
    - ``"strengths"``: posterior item strengths, one standard deviation to either side, against
      proportions correct, with ``model="strengths"`` (`pair`)
    - ``"noise_free"``: posterior of the noise-free correlation next to the plain estimates (`pair`)

    A table of `alikely.estimates.consistency_table`:

    - ``"consistency"``: error consistency and decision-margin consistency against accuracy [AK24]_.
      Open points are noise-free medians. For one condition, lines with bands give the group, the
      means over models, and (dashed) the ceiling of a model. For several conditions, lines have no
      bands

    Results of `alikely.fit_observers`:

    - ``"variance"``: sources of the variance of the evidence, a bar of medians for each fit, with
      intervals of the boundaries; sources that need repeats are hatched without them
    - ``"explained"``: error consistency predicted by shared item strengths against the observed
      one, of a table of `alikely.margins.explained_consistency`; filled if outside the interval

    Parameters
    ----------
    data : Result, pandas.DataFrame, xarray.DataTree or mapping of str to xarray.DataTree
        What the kind draws; several fits by label.
    kind : {"consistency", "checks", "strengths", "noise_free", "variance", "explained"}
        What to draw.
    pair : int or str, optional
        Position or label of an entry, for ``"checks"`` and ``"strengths"`` of a model and a group
        of observers. Default 0.
    m : int, optional
        Number of alternatives of the task. Default: as in the analysis.
    ax : matplotlib.axes.Axes, or two for ``"consistency"`` and three for ``"checks"``, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        Two for ``"consistency"``, three for ``"checks"``, otherwise one. Undefined values are
        counted in the legend.

    Raises
    ------
    ValueError
        If the kind or pair is unknown, the result is of another metric or lacks what is drawn, or
        a table lacks a column.
    TypeError
        If the kind does not use an argument or draws another object, or `ax` are not as many as
        needed.

    References
    ----------
    .. [AK24] Alvarez, Konkle (2024). Decision-margin consistency. Figure 2.

    Examples
    --------
    >>> import alikely as al
    >>> trials, margins = al.simulate.detection_experiment(8, 60, rho={"net": 0.6}, rng=1)
    >>> result = al.decision_margin_consistency(trials, margins, n_resamples=0, rng=1)
    >>> al.plot_margins(result, "checks")[0].get_xlabel()
    'decision margin of net'
    """
    return draw_kind(plot_margins, locals())


def _strengths(result: Result, pair: int | str = 0, ax: Axes | None = None) -> Axes:
    """Posterior item strengths against proportions correct, in colors of margins."""
    at, label = entry_of_margins(result, pair)
    if "strengths" not in result.data.children:
        raise ValueError(
            "this result has no item strengths: expected the draws of a model of strengths; call "
            f"{METRIC}() with model='strengths' and n_draws=4000"
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
    color_key(ax, ScalarMappable(norm, "viridis"), "decision margin")
    names = table["observer"].values
    ax.set_xlabel(f"share of right answers of {names[group]} (0 to 1)")
    ax.set_ylabel("item strength, units of the noise\n(posterior mean, bars: 1 sd to either side)")
    # Side by side they are wider than the figure, and the layout takes it off the axes.
    legend(ax, at="above", side="center")
    return ax


def _noise_free(result: Result, pair: int | str = 0, ax: Axes | None = None) -> Axes:
    """Posterior of the noise-free correlation next to the plain estimates."""
    at, label = entry_of_margins(result, pair)
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
    legend(ax, at="above", side="center", ncols=2)
    return ax


def _remark(result: Result, at: int) -> str:
    return str(result.estimates["remark"].values[at]) or "no reason given"


BOUNDS = ("", "_lb", "_ub")
INTERVALS = tuple(
    f"{name}{end}"
    for name in (
        "error_consistency", "margin_consistency", "group_error_consistency",
        "group_margin_consistency", "mean_error_consistency", "mean_margin_consistency",
        "margin_ceiling",
    )
    for end in BOUNDS
)  # fmt: skip
CONSISTENCY = (
    "dataset", "condition", "observer_b", "n_machines", "group", "machine", "accuracy_machine",
    "noise_free", *INTERVALS,
)  # fmt: skip
MOST_LABELS = 12
# Of lines with bands, by what they are of.
PEOPLE, MACHINES, MIXED, CEILING = "#CC79A7", "#E69F00", "#777777", "black"


def _consistency(frame: pd.DataFrame, ax: Any = None) -> NDArray[np.object_]:
    """Error consistency and decision-margin consistency against accuracy."""
    check_table(frame, CONSISTENCY, "make it with alikely.estimates.consistency_table")
    axes = several_axes(ax, (9.0, 6.6), 2, 1, sharex=True)
    grouped = frame.groupby(["dataset", "condition"], sort=False, dropna=False)
    groups = [
        (", ".join(str(part) for part in place if part != "all") or "all", rows)
        for place, rows in grouped
    ]
    for panel, name in zip(axes, ("error", "margin"), strict=True):
        handles = _panel(panel, frame, groups, name)
        if 1 < len(groups) <= len(COLORS) and panel is axes[0]:
            handles += [
                key(label, linestyle="", marker=MARKERS[k], color=COLORS[k])
                for k, (label, _) in enumerate(groups)
            ]
        legend(panel, handles)
    axes[1].set_xlabel("accuracy of the machine (share of right answers, 0 to 1)")
    named = frame[frame["n_machines"] < 2]
    if len(named) <= MOST_LABELS:
        for panel in axes:
            panel.margins(x=0.12, y=0.08)
        names = named["machine"].where(named["machine"] != "", named["observer_b"])
        short = names.map(told_apart(names, MOST_LETTERS if in_column() else 40))
        for panel, columns in zip(
            axes, (["error_consistency"], ["margin_consistency", "noise_free"]), strict=True
        ):
            points = [named[["accuracy_machine", one]].to_numpy(np.float64) for one in columns]
            defined = np.isfinite(points[0]).all(axis=1)
            dots = np.concatenate(points)
            dots = dots[np.isfinite(dots).all(axis=1)]
            place_labels(panel, points[0][defined], short[defined].tolist(), FAR, dots)
    return axes


def _panel(
    ax: Axes, frame: pd.DataFrame, groups: list[tuple[str, pd.DataFrame]], name: str
) -> list[Any]:
    """Draw one panel; return what its legend shows."""
    value = f"{name}_consistency"
    several, told_apart = len(groups) > 1, len(groups) <= len(COLORS)
    for k, (_, part) in enumerate(groups):
        color = COLORS[k] if told_apart else COLORS[0]
        marker = MARKERS[k] if told_apart else "o"
        machines = part[part["n_machines"] == 2]
        ax.plot(
            machines["accuracy_machine"], machines[value], linestyle="", marker=".",
            color=color if several else MACHINES, alpha=0.3, markersize=4, zorder=1,
        )  # fmt: skip
        shown = part[part["n_machines"] < 2]
        x = shown["accuracy_machine"]
        ax.vlines(x, shown[f"{value}_lb"], shown[f"{value}_ub"], color=color, linewidth=1.2)
        ax.plot(x, shown[value], linestyle="", marker=marker, color=color, markersize=5)
        if name == "margin":
            ax.plot(
                x, shown["noise_free"], linestyle="", marker=marker, color=color, markersize=6.5,
                markerfacecolor="white", zorder=2.5,
            )  # fmt: skip
    handles = _points_in_words(frame, value, name, several, told_apart)
    if several:
        handles += _many_lines(ax, groups, name, told_apart)
    else:
        handles += _lines_with_bands(ax, groups[0][1], name)
    ax.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.set_ylabel(f"{'error' if name == 'error' else 'decision-margin'} consistency (-1 to 1)")
    return handles


def _points_in_words(
    frame: pd.DataFrame, value: str, name: str, several: bool, told_apart: bool
) -> list[Any]:
    color = "0.3" if several and told_apart else COLORS[0]
    shown, machines = frame[frame["n_machines"] < 2], frame[frame["n_machines"] == 2]
    handles = []
    if len(shown):
        text = _counted("machine and group, with interval", shown, value)
        if (shown["n_machines"] == 0).all():
            text = text.replace("machine and group", "two groups")
        look: dict[str, Any] = {"color": color, "marker": "o", "markersize": 5}
        handles.append(key(text, linewidth=1.2, **look))
        if name == "margin":
            text = _counted("noise-free, posterior median", shown, "noise_free")
            look |= {"linestyle": "", "markerfacecolor": "w"}
            handles.append(key(text, **look))
    if len(machines):
        text = _counted("two machines, accuracy of the second", machines, value)
        at = "0.3" if several else MACHINES
        handles.append(key(text, linestyle="", marker=".", color=at, alpha=0.5))
    return handles


def _lines_with_bands(ax: Axes, part: pd.DataFrame, name: str) -> list[Any]:
    """Levels of one data set and condition."""
    value, one, two = f"{name}_consistency", part["n_machines"] == 1, part["n_machines"] == 2
    levels: list[tuple[str, pd.DataFrame, str, str, str]] = []
    for group, rows in part[part["group"] != ""].groupby("group", sort=False):
        text = f"within {group}, mean" if name == "error" else f"{group} with another like it"
        levels.append((text, rows, f"group_{value}", PEOPLE, "-"))
    own = part.loc[one, "group"].unique()
    text = f"machines with {own[0] if len(own) == 1 else 'groups'}, mean"
    for rows, color, label in (
        (part[one], MIXED, text),
        (part[two], MACHINES, "two machines, mean"),
    ):
        if len(rows) > 1:
            levels.append((label, rows, f"mean_{value}", color, "-"))
    if name == "margin" and one.any():
        levels.append(("ceiling of a machine", part[one], "margin_ceiling", CEILING, "--"))
    handles: list[Any] = []
    for label, rows, column, color, style in levels:
        height, low, high = (float(rows[f"{column}{end}"].iloc[0]) for end in BOUNDS)
        look: dict[str, Any] = {"color": color, "linestyle": style, "linewidth": 1.2}
        text = f"{label}: undefined"
        if np.isfinite(height):
            ax.axhline(height, zorder=0.5, **look)
            text = f"{label}: {height:.2f}"
        if np.isfinite([low, high]).all():
            ax.axhspan(low, high, color=color, alpha=0.12, linewidth=0, zorder=0.1)
            text += f" [{low:.2f}, {high:.2f}]"
        handles.append(key(text, **look))
    return handles


def _many_lines(
    ax: Axes, groups: list[tuple[str, pd.DataFrame]], name: str, told_apart: bool
) -> list[Any]:
    """Groups with themselves and ceilings, of several data sets and conditions."""
    drawn = [(f"group_{name}_consistency", ":", "within a group, mean")]
    if name == "margin":
        drawn = [(drawn[0][0], ":", "group with another like it")]
        drawn.append(("margin_ceiling", "--", "ceiling of a machine"))
    handles: list[Any] = []
    for column, style, text in drawn:
        missing = 0
        for k, (_, part) in enumerate(groups):
            heights = part.loc[part["n_machines"] < 2, column].dropna().unique()
            missing += not len(heights)
            for height in heights:
                color = COLORS[k] if told_apart else "0.4"
                ax.axhline(height, linestyle=style, alpha=0.45, zorder=0.5, color=color)
        label = text + (f"\n({missing} of {len(groups)} undefined)" if missing else "")
        handles.append(key(label, linestyle=style, color="0.4"))
    return handles


def _counted(text: str, rows: pd.DataFrame, column: str) -> str:
    n, lost = len(rows), int(rows[["accuracy_machine", column]].isna().any(axis=1).sum())
    return f"{text}\n({lost} of {n} undefined)" if lost else text


METRIC = "decision_margin_consistency"
# Bins of about so many items show a bend and are not noise alone.
PER_BIN, MOST_BINS = 16, 12
MOST_NAMES = 40


def _checks(
    result: Result,
    pair: int | str = 0,
    *,
    m: int | None = None,
    ax: Any = None,
) -> NDArray[np.object_]:
    """Item strength against margins, residuals of classes, and tails of margins."""
    at, label = entry_of_margins(result, pair)
    ci_prob, _ = result.interval_options(None, None)
    table = result.table
    systems = [int(table[name].values[at]) for name in ("first", "second")]
    machine = table["is_machine"].values[systems]
    if machine.sum() != 1:
        alike = "two machines" if machine.all() else "two groups"
        raise ValueError(
            f"entry {label!r} is of {alike}: expected a machine and a group of observers; choose "
            "another entry with pair=..."
        )
    m = table.attrs.get("n_alternatives") if m is None else m
    if m is None:
        raise ValueError("the number of alternatives of the task is not known: give m=...")
    group, net = systems[int(machine[0])], systems[1 - int(machine[0])]
    here = table["trial_group"].values == table["pair_group"].values[at]
    there = ~np.isnan(table["margins"].values[[group, net]]).any(axis=0)
    items = np.flatnonzero(here & there)
    margins = table["margins"].values[net, items]
    if np.ptp(margins) == 0:
        raise ValueError(f"all margins of entry {label!r} are equal: there is nothing to draw")
    right, shown = answers_of_group(table, group, items)
    strata = lists_of_items(shown)
    side, other = group_side(right, shown, strata), machine_side(margins, strata)
    names = table["observer"].values
    p_values = {
        name: float(result.estimates[name].values[at])
        for name in ("p_bend", "p_classes")
        if name in result.estimates
    }

    axes = several_axes(ax, (13.0, 4.6), 1, 3)
    share = right.sum(axis=0) / shown.sum(axis=0)
    _bend_panel(axes[0], side, share, margins, int(m), ci_prob)
    axes[0].set_title(_title("strengths on a line", p_values.get("p_bend")))
    axes[0].set_xlabel(f"decision margin of {names[net]}")
    axes[0].set_ylabel(f"share of right answers of {names[group]} (0 to 1)")
    classes = table["class_name"].values[items]
    _class_panel(axes[1], side, other, classes, ci_prob)
    axes[1].set_title(_title("classes", p_values.get("p_classes")))
    _tail_panel(axes[2], margins, ci_prob)
    return axes


def entry_of_margins(result: Result, pair: int | str) -> tuple[int, str]:
    """Position and label of an entry of a result of decision margins."""
    if result.metric.counts != "margins":
        raise ValueError(
            f"this result is of {result.metric.name}; expected one of {METRIC}: call {METRIC}()"
        )
    if isinstance(pair, str):
        return position_of(result, pair), pair
    labels = result.table["pair"].values.tolist()
    if not isinstance(pair, (int, np.integer)):
        raise TypeError(
            f"pair must be the position or the label of an entry, got {type(pair).__name__}; try 0"
        )
    if not 0 <= pair < len(labels):
        raise ValueError(
            f"pair must be a position from 0 to {len(labels) - 1}, got {pair}; or give a label"
        )
    return int(pair), str(labels[pair])


def _title(what: str, p: float | None) -> str:
    if p is None or np.isnan(p):
        return f"{what}: not tested"
    return f"{what}: p = {p:.3f}" if p >= 0.001 else f"{what}: p < .001"


def _bend_panel(
    ax: Axes, side: Side, share: Floats, margins: Floats, m: int, ci_prob: float
) -> None:
    """Shares along margins, the line through strengths with its band, and means of bins."""
    known = np.isfinite(side.square).any()
    noise = float((side.ease**2).mean() - np.nanmean(side.square)) if known else 0.0
    line = strength_line(share, margins, max(noise, 0.0), m)
    z = special.ndtri((1 + ci_prob) / 2)
    # Errors of level and slope whatever the variance of an item is.
    inverse = np.linalg.pinv(line.gradient.T @ line.gradient)
    scores = (line.gradient * (share - line.expected)[:, None]) @ inverse
    half = z * np.sqrt(((line.gradient @ (scores.T @ scores)) * line.gradient).sum(axis=1))
    order = np.argsort(margins)
    x, y, half = margins[order], line.expected[order], half[order]
    ax.plot(margins, share, ".", color="0.6", markersize=4, alpha=0.6, label="item")
    ax.plot(
        x, y, color=COLORS[0], linewidth=1.4, label=f"line through strengths, {percent(ci_prob)}"
    )
    ax.fill_between(x, y - half, y + half, color=COLORS[0], alpha=0.2, linewidth=0)
    n_bins = int(np.clip(len(x) // PER_BIN, 2, MOST_BINS))
    for k, own in enumerate(np.array_split(order, n_bins)):
        mean, error = share[own].mean(), z * share[own].std(ddof=1) / np.sqrt(len(own))
        ax.errorbar(
            margins[own].mean(), mean, error, fmt="o", color=COLORS[5], markersize=4, linewidth=1,
            label=f"mean of {len(own)} items" if k == 0 else None,
        )  # fmt: skip
    ax.set_ylim(-0.05, 1.05)
    legend(ax, at="below")


def _class_panel(
    ax: Axes, side: Side, other: Side, names: NDArray[np.object_], ci_prob: float
) -> None:
    """Means by class of what margins leave of shares."""
    labels, classes = np.unique(names.astype(str), return_inverse=True)
    found = class_residuals(side, other, classes) if (names != "").all() else None
    if found is None or len(found.classes) < 2:
        text = "no classes known" if found is None else "no two classes of two items"
        ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes, fontsize=8)
        ax.set_axis_off()
        return
    order = np.argsort(found.mean)
    free = int(found.size.sum()) - len(found.classes)
    half = stats.t.ppf((1 + ci_prob) / 2, free) * np.sqrt(found.within / found.size)
    place = np.arange(len(order))
    ax.axvline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.errorbar(
        found.mean[order], place, xerr=half[order], fmt="o", color=COLORS[0], markersize=4,
        linewidth=1,
    )  # fmt: skip
    # Names of very many classes would be print on print.
    every = -(-len(order) // MOST_NAMES)
    texts = [f"{labels[found.classes[k]]} ({found.size[k]})" for k in order]
    ax.set_yticks(place[::every], texts[::every], fontsize=7 if len(order) <= 20 else 5)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    lost = len(labels) - len(order)
    left_out = f"; {lost} classes of one item not drawn" if lost else ""
    ax.set_xlabel(f"share right beyond margins, mean and {percent(ci_prob)}{left_out}", fontsize=8)


def _tail_panel(ax: Axes, margins: Floats, ci_prob: float) -> None:
    """Margins against quantiles of a normal law."""
    n = len(margins)
    low, middle, high = np.quantile(margins, [0.25, 0.5, 0.75])
    width = (high - low) / (special.ndtri(0.75) - special.ndtri(0.25))
    if width == 0:
        # Half of the margins are equal: what is left has a spread.
        width = float(margins.std())
    y = (np.sort(margins) - middle) / width
    rank = np.arange(1, n + 1)
    x = special.ndtri((rank - 0.5) / n)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    ends = [special.ndtri(stats.beta.ppf(p, rank, n + 1 - rank)) for p in tails]
    ax.fill_between(x, *ends, color="0.85", linewidth=0, label=f"normal law, {percent(ci_prob)}")
    ax.plot(x, x, color="0.5", linewidth=1)
    outside = (y < ends[0]) | (y > ends[1])
    for own, color, text in ((~outside, COLORS[0], "inside"), (outside, COLORS[5], "outside")):
        if own.any():
            ax.plot(x[own], y[own], ".", color=color, label=f"{own.sum()} items {text}")
    ax.set_xlabel("normal quantile")
    ax.set_ylabel("margin, in spreads from the median")
    worst = y[np.argmax(np.abs(y))]
    ax.set_title(f"tails: farthest margin at {worst:.1f} spreads")
    legend(ax, at="below")


TOGETHER = "observer x item and trial noise"
# From dark to light. What is not separated has the colours of both its parts.
SOURCES: dict[str, dict[str, Any]] = {
    "item": {"facecolor": "#0072B2", "edgecolor": "white"},
    "observer x item": {"facecolor": "#E69F00", "edgecolor": "white"},
    "trial noise": {"facecolor": "0.88", "edgecolor": "white"},
    TOGETHER: {"facecolor": "0.88", "edgecolor": "#E69F00", "hatch": "////", "linewidth": 0},
}
EXPLAINED = ("observer_a", "observer_b", "observed", "predicted", "inside")


def _variance(trees: Mapping[str, xr.DataTree] | xr.DataTree, ax: Axes | None = None) -> Axes:
    """Sources of the variance of the evidence, a stacked bar for each fit."""
    # Only when needed: it imports the samplers.
    from alikely.margins.noise import variance_shares

    # A tree is a mapping, too.
    single = isinstance(trees, xr.DataTree) or not isinstance(trees, Mapping)
    named: dict[str, Any] = {"": trees} if single else {str(k): v for k, v in trees.items()}
    if not named:
        raise ValueError("trees is empty: expected at least one fit; give one of fit_observers()")
    shown, height = rows_shown(len(named), None, 0.45)
    if shown < len(named):
        raise ValueError(
            f"{len(named)} fits are too many for a page, the most is {shown}; give some of them"
        )
    ax = axes_or_new(ax, (7.5, 1.3 + height * shown), tall=True)
    position = np.arange(len(named))[::-1]
    seen = []
    for y, (label, tree) in zip(position.tolist(), named.items(), strict=True):
        draws = _share_draws(tree, label)
        shares = variance_shares(tree, 0.95)
        # Medians of parts do not sum to 1 exactly: rescaled, so that all bars are equally long.
        width = shares["median"].to_numpy() / shares["median"].sum()
        ends = np.cumsum(width)
        for source, part, end in zip(shares["source"], width, ends, strict=True):
            ax.barh(y, part, left=end - part, height=0.62, **SOURCES[source])
            seen.append(source)
        inner = np.cumsum(draws, axis=1)[:, :-1]
        bounds = np.quantile(inner, [0.025, 0.975], axis=0)
        # One above the other: wide intervals of neighbouring boundaries overlap.
        levels = y + 0.14 * (len(ends) - 2) * np.linspace(1, -1, len(ends) - 1)
        for level, (low, high) in zip(levels, bounds.T, strict=True):
            ax.plot(
                [low, high], [level, level], "|-", color="black", linewidth=1, markersize=6,
                path_effects=[withStroke(linewidth=2.6, foreground="white")],
            )  # fmt: skip
    said = {TOGETHER: "observer x item and trial noise,\nnot separated (no repeats)"}
    present = [name for name in SOURCES if name in seen]
    handles: list[Any] = [Patch(label=said.get(x, x), **SOURCES[x]) for x in present]
    text = "95 % interval\nof a boundary"
    handles.append(key(text, color="black", linewidth=1, marker="|"))
    legend(ax, handles, at="below", drop=46, ncols=2)
    ax.set_yticks([] if single else position, [] if single else list(named), fontsize=8)
    ax.set(xlim=(0, 1), ylim=(-0.6, len(named) - 0.4))
    ax.set_xlabel("share of the variance of the evidence\n(0 to 1, posterior medians)")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _explained(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Error consistency predicted by shared item strengths against the observed one."""
    origin = "give the table of explained_consistency()"
    check_table(frame, EXPLAINED, origin)
    lower, upper = bounds_of(frame, "", origin)
    defined = frame[["observed", "predicted", lower, upper]].notna().all(axis=1)
    shown = frame[defined]
    inside = shown["inside"].astype(bool)
    own = shown["observer_a"] == shown["observer_b"]

    ax = axes_or_new(ax, (8.0, 4.4))
    handles = []
    kinds = ((~own, "o", COLORS[0], "pairs"), (own, "s", COLORS[5], "observers with themselves"))
    for chosen, marker, color, name in kinds:
        part, ok = shown[chosen], inside[chosen]
        if part.empty:
            continue
        ax.vlines(part["observed"], part[lower], part[upper], color=color, linewidth=0.8, alpha=0.5)
        for at, fill, where in ((ok, "white", "inside"), (~ok, color, "outside")):
            style: dict[str, Any] = {
                "linestyle": "", "marker": marker, "markersize": 5.5, "markeredgecolor": color,
                "markerfacecolor": fill, "label": f"{name}, {where}: {at.sum()} of {len(part)}",
            }  # fmt: skip
            handles.append(ax.plot(part["observed"][at], part["predicted"][at], **style)[0])
    handles.append(ax.axline((0, 0), slope=1, color="0.5", linewidth=0.8, zorder=0, label="equal"))
    handles += not_drawn(int((~defined).sum()), len(frame))
    if len(shown):
        ends = shown[["observed", "predicted", lower, upper]].to_numpy(np.float64)
        pad = max(0.05 * np.ptp(ends), 0.02)
        limits = (ends.min() - pad, ends.max() + pad)
        ax.set(xlim=limits, ylim=limits)
    ax.set_aspect("equal")
    percent = lower.removeprefix("eti").removesuffix("_lb")
    ax.set_xlabel("observed error consistency (-1 to 1)")
    ax.set_ylabel(f"predicted error consistency (-1 to 1)\n(median, bars: {percent} % predictive)")
    legend(ax, handles, f"inside the {percent} % interval: {inside.sum()} of {len(shown)}")
    return ax


def _share_draws(tree: Any, label: str) -> NDArray[np.float64]:
    """Draws of the shares (draw, source), if the tree is a fit."""
    name = f"trees[{label!r}]" if label else "the fit"
    if not isinstance(tree, xr.DataTree):
        raise TypeError(
            f"{name} must be a DataTree, got {type(tree).__name__}; give what fit_observers() "
            "returns"
        )
    posterior = tree.children.get("posterior", xr.DataTree()).to_dataset()
    if "share" not in posterior or not set(posterior["source"].values) <= set(SOURCES):
        raise ValueError(
            f"{name} has no variance shares: expected 'share' of {', '.join(SOURCES)} in its "
            f"posterior, got {', '.join(map(str, posterior.variables)) or 'nothing'}; give what "
            "fit_observers() returns"
        )
    share = posterior["share"]
    return np.asarray(share.values.reshape(-1, share.sizes["source"]))
