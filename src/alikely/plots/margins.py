"""Decision margins: consistency and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.intervals import percent
from alikely._base.names import counted, p_words, told_apart
from alikely.estimates.result import Result, of_kind
from alikely.margins.moments import Side, group_side, lists_of_items, model_side
from alikely.margins.posterior import class_residuals, strength_line
from alikely.margins.tables import answers_of_group, common_items
from alikely.plots._style import (
    COLORS,
    FAR,
    MOST_LETTERS,
    check_table,
    draw_kind,
    group_styles,
    in_column,
    key,
    legend,
    place_labels,
    several_axes,
)
from alikely.plots.pairs import position_of


def plot_margins(
    data: Result | pd.DataFrame,
    kind: Literal["consistency", "checks"],
    *,
    pair: int | str | None = None,
    ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
) -> Any:
    """Plot decision-margin consistency, or checks of the generative model for margins.

    Each kind of plot shows a different result:

    - ``"checks"``: proportions correct against margins, residuals by class, and margins against
      normal quantiles, from a result of `alikely.decision_margin_consistency`. If the mean
      proportion correct of items with similar margins lies outside the band of the fitted curve,
      margins are not linearly related to the strength (easiness) of items. Residuals far from 0
      indicate classes whose items are easier or harder than predicted from decision margins. Margin
      quantiles outside the band indicate heavy tails.
    - ``"consistency"``: error consistency and decision-margin consistency against accuracy [AK24]_,
      from a table returned by `alikely.estimates.consistency_table`. Open markers show posterior
      medians of noise-corrected correlations. Horizontal lines show the consistency within each
      group (solid, or dotted if there are several conditions) and ``margin_ceiling`` (dashed). With
      a single condition, lines have bands and also show means over models

    Parameters
    ----------
    data : Result or pandas.DataFrame
        Result or table to plot.
    kind : {"consistency", "checks"}
        Kind of plot.
    pair : int or str, optional
        For ``"checks"``: position or label of a comparison between a model and a group of
        observers. Default 0.
    ax : matplotlib.axes.Axes, or two for ``"consistency"`` and three for ``"checks"``, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        Two axes if `kind` is ``"consistency"``, and three if it is ``"checks"``. The legend states
        the number of undefined values.

    Raises
    ------
    ValueError
        If the kind or the pair is unknown.
    ValueError
        If the result is not for decision-margin consistency or lacks required values, or if a table
        lacks a column.
    TypeError
        If an argument is given that this kind of plot does not use.
    TypeError
        If `data` has the wrong type, or `ax` has the wrong number of axes.

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
    if isinstance(data, Result):
        of_kind(data, "pair")
    return draw_kind(plot_margins, locals())


ENDS = ("", "_lb", "_ub")
INTERVALS = (
    "error_consistency", "margin_consistency", "group_error_consistency",
    "group_margin_consistency", "mean_error_consistency", "mean_margin_consistency",
    "margin_ceiling",
)  # fmt: skip
CONSISTENCY = (
    "dataset", "condition", "observer_b", "n_models", "group", "model", "accuracy_model",
    "noise_corrected", *(f"{name}{end}" for name in INTERVALS for end in ENDS),
)  # fmt: skip
MOST_LABELS = 12


def _consistency(frame: pd.DataFrame, ax: Any = None) -> NDArray[np.object_]:
    """Error consistency and decision-margin consistency against accuracy."""
    check_table(frame, CONSISTENCY, "make it with alikely.estimates.consistency_table")
    axes = several_axes(ax, (9.0, 6.6), 2, 1, sharex=True)
    places = [
        ", ".join(str(part) for part in place if part != "all") or "all"
        for place in frame[["dataset", "condition"]].itertuples(index=False)
    ]
    frame = frame.assign(place=places)
    styles = group_styles(list(dict.fromkeys(places)))
    several = len(styles) > 1
    for panel, name in zip(axes, ("error", "margin"), strict=True):
        handles = _points(panel, frame, name, styles)
        if several and len(styles) <= len(COLORS) and name == "error":
            for place, (color, marker) in styles.items():
                handles.append(key(place, linestyle="", marker=marker, color=color))
        for place, part in frame.groupby("place", sort=False):
            own = styles[str(place)][0] if several else None
            lines = _lines_of_groups(panel, part, name, own)
        legend(panel, handles + lines)
        panel.axhline(0, color="0.75", linewidth=0.8, zorder=0)
        panel.set_ylabel(f"{'decision-' * (name == 'margin')}{name} consistency (-1 to 1)")
    axes[1].set_xlabel("accuracy of the model (proportion correct, 0 to 1)")
    named = frame[frame["n_models"] < 2]
    if len(named) > MOST_LABELS:
        return axes
    names = named["model"].where(named["model"] != "", named["observer_b"])
    short = names.map(told_apart(names, MOST_LETTERS if in_column() else 40))
    for panel, columns in zip(
        axes, (["error_consistency"], ["margin_consistency", "noise_corrected"]), strict=True
    ):
        panel.margins(x=0.12, y=0.08)
        dots = [named[["accuracy_model", other]].dropna().astype(float) for other in columns]
        texts = short[dots[0].index].tolist()
        place_labels(panel, dots[0].to_numpy(), texts, FAR, np.concatenate(dots))
    return axes


def _points(
    ax: Axes, frame: pd.DataFrame, name: str, styles: dict[str, tuple[str, str]]
) -> list[Any]:
    """Draw pairs by condition, open if noise-corrected; return legend entries."""
    shown, two = frame[frame["n_models"] < 2], frame[frame["n_models"] == 2]
    column, dot = f"{name}_consistency", {"linestyle": "", "marker": "o"}
    dot["color"] = "0.3" if len(styles) > 1 else COLORS[0]
    pair = "two groups" if (shown["n_models"] == 0).all() else "model and group"
    hollow = {"markersize": 6.5, "markerfacecolor": "white", "zorder": 2.5}
    small = {"markersize": 4, "marker": ".", "alpha": 0.4, "zorder": 1}
    entries: list[tuple[str, pd.DataFrame, str, dict[str, Any]]] = [
        (f"{pair}, with interval", shown, column, {"markersize": 5}),
        ("noise-corrected, posterior median", shown, "noise_corrected", hollow),
        ("two models, accuracy of the second", two, column, small),
    ]
    handles = []
    for text, rows, values, look in entries:
        if rows.empty or (name == "error" and values == "noise_corrected"):
            continue
        for place, own in rows.groupby("place", sort=False):
            color, marker = styles[str(place)]
            x, drawn = own["accuracy_model"], dot | {"color": color, "marker": marker} | look
            ax.plot(x, own[values], **drawn)
            if rows is shown and values == column:
                ax.vlines(x, own[f"{column}_lb"], own[f"{column}_ub"], color=color, linewidth=1.2)
        if lost := int(rows[["accuracy_model", values]].isna().any(axis=1).sum()):
            text += f"\n({lost} of {len(rows)} undefined)"
        line = {"linestyle": "-"} if "interval" in text else {}
        handles.append(key(text, **dot | look | line))
    return handles


def _lines_of_groups(ax: Axes, part: pd.DataFrame, name: str, color: str | None) -> list[Any]:
    """Means and ceilings, with bands and numbers for one condition, otherwise in its color."""
    one, two = (part[part["n_models"] == n] for n in (1, 2))
    own = one["group"].unique()
    who, mean = own[0] if len(own) == 1 else "groups", f"mean_{name}_consistency"
    within = "within {}, mean" if name == "error" else "{} with a similar group"
    lines = [
        (within.format("a group" if color else group), rows, f"group_{name}_consistency", "#CC79A7")
        for group, rows in part[part["group"] != ""].groupby("group", sort=False)
    ]
    if color is None:
        lines += [
            (text, rows, mean, own_color)
            for text, rows, own_color in ((f"models with {who}, mean", one, "#777777"),
                                          ("two models, mean", two, "#E69F00"))
            if len(rows) > 1
        ]  # fmt: skip
    if name == "margin" and len(one):
        lines.append(("noise ceiling of a model", one, "margin_ceiling", "black"))
    handles: dict[str, Any] = {}
    for text, rows, column, usual in lines:
        height, low, high = (float(rows[f"{column}{end}"].iloc[0]) for end in ENDS)
        look: dict[str, Any] = {"color": color or usual, "linewidth": 1.2, "zorder": 0.5}
        look["linestyle"] = "--" if column == "margin_ceiling" else ":" if color else "-"
        ax.axhline(height, **look)
        if color is None:
            ax.axhspan(low, high, color=usual, alpha=0.12, linewidth=0, zorder=0.1)
            text += f": {height:.2f} [{low:.2f}, {high:.2f}]" if height == height else ": undefined"
        handles[text] = key(text, **look | ({"color": "0.4"} if color else {}))
    return list(handles.values())


METRIC = "decision_margin_consistency"
# Number of items per bin, large enough to separate nonlinearity from noise, and maximum of bins.
PER_BIN, MOST_BINS = 16, 12
MOST_NAMES = 40


def _checks(result: Result, pair: int | str = 0, *, ax: Any = None) -> NDArray[np.object_]:
    """Item strength against margins, residuals of classes, and tails of margins."""
    if result.metric.counts != "margins":
        raise ValueError(f"result must be of {METRIC}, got {result.metric.name}; call {METRIC}()")
    table, at = result.table, position_of(result, pair)
    label = str(table["pair"].values[at])
    ci_prob, _ = result.interval_options(None, None)
    systems = [int(table[name].values[at]) for name in ("first", "second")]
    model = table["is_model"].values[systems]
    if model.sum() != 1:
        alike = "two models" if model.all() else "two groups"
        raise ValueError(
            f"pair must be an entry of a model and a group of observers, {label!r} is of {alike}; "
            "choose another entry with pair=..."
        )
    if "n_alternatives" not in table.attrs:
        raise ValueError(f"n_alternatives is unknown for this result; give it to {METRIC}()")
    group, net = systems[int(model[0])], systems[1 - int(model[0])]
    *_, items = common_items(table, at)
    margins = table["margins"].values[net, items]
    if np.ptp(margins) == 0:
        raise ValueError(f"margins must differ between items, but are all equal in entry {label!r}")
    right, shown = answers_of_group(table, group, items)
    strata = lists_of_items(shown)
    side, other = group_side(right, shown, strata), model_side(margins, strata)
    names = table["observer"].values

    axes = several_axes(ax, (13.0, 4.6), 1, 3)
    share = right.sum(axis=0) / shown.sum(axis=0)
    _bend_panel(axes[0], side, share, margins, int(table.attrs["n_alternatives"]), ci_prob)
    axes[0].set_title(_title("linearity", result, "p_nonlinearity", at))
    axes[0].set_xlabel(f"decision margin of {names[net]}")
    axes[0].set_ylabel(f"proportion correct of {names[group]} (0 to 1)")
    _class_panel(axes[1], side, other, table["class_name"].values[items], ci_prob)
    axes[1].set_title(_title("classes", result, "p_classes", at))
    _tail_panel(axes[2], margins, ci_prob)
    return axes


def _title(what: str, result: Result, name: str, at: int) -> str:
    p = float(result.estimates[name].values[at]) if name in result.estimates else np.nan
    return f"{what}: {'not tested' if np.isnan(p) else p_words('p', p)}"


def _bend_panel(
    ax: Axes, side: Side, share: Floats, margins: Floats, n_alternatives: int, ci_prob: float
) -> None:
    """Proportions against margins, a fit linear in strength with its band, and means of bins."""
    known = np.isfinite(side.square).any()
    noise = float((side.ease**2).mean() - np.nanmean(side.square)) if known else 0.0
    line = strength_line(share, margins, max(noise, 0.0), n_alternatives)
    z = special.ndtri((1 + ci_prob) / 2)
    # Standard errors of level and slope that are robust to the variance of items.
    inverse = np.linalg.pinv(line.gradient.T @ line.gradient)
    scores = (line.gradient * (share - line.expected)[:, None]) @ inverse
    half = z * np.sqrt(((line.gradient @ (scores.T @ scores)) * line.gradient).sum(axis=1))
    order = np.argsort(margins)
    x, y, half = margins[order], line.expected[order], half[order]
    ax.plot(margins, share, ".", color="0.6", markersize=4, alpha=0.6, label="item")
    text = f"linear in item strength, {percent(ci_prob)} band"
    ax.plot(x, y, color=COLORS[0], linewidth=1.4, label=text)
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
    """Residual proportions correct by class, given margins."""
    labels, classes = np.unique(names.astype(str), return_inverse=True)
    found = None
    if (names != "").all():
        found, within_classes = class_residuals(side, other, classes)
    if found is None or len(found) < 2:
        text = "classes unknown" if found is None else "fewer than two classes with two items"
        ax.text(0.5, 0.5, text, ha="center", va="center", transform=ax.transAxes, fontsize=8)
        ax.set_axis_off()
        return
    mean, size = found["mean"].to_numpy(), found["size"].to_numpy()
    order = np.argsort(mean)
    half = stats.t.ppf((1 + ci_prob) / 2, size.sum() - len(found)) * np.sqrt(within_classes / size)
    place = np.arange(len(order))
    ax.axvline(0, color="0.75", linewidth=0.8, zorder=0)
    ax.errorbar(
        mean[order], place, xerr=half[order], fmt="o", color=COLORS[0], markersize=4,
        linewidth=1,
    )  # fmt: skip
    # With very many classes, labels would overlap.
    every = -(-len(order) // MOST_NAMES)
    texts = [f"{labels[found.index[k]]} ({size[k]})" for k in order]
    ax.set_yticks(place[::every], texts[::every], fontsize=7 if len(order) <= 20 else 5)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    lost = len(labels) - len(order)
    left_out = f"\n(not drawn: {counted(lost, 'class', 'classes')} with one item)" if lost else ""
    ax.set_xlabel(
        f"mean residual proportion correct, {percent(ci_prob)} interval{left_out}", fontsize=8
    )


def _tail_panel(ax: Axes, margins: Floats, ci_prob: float) -> None:
    """Margins against quantiles of a normal distribution."""
    n = len(margins)
    low, middle, high = np.quantile(margins, [0.25, 0.5, 0.75])
    width = (high - low) / (special.ndtri(0.75) - special.ndtri(0.25))
    if width == 0:
        # Half of the margins are equal: use the standard deviation.
        width = float(margins.std())
    y = (np.sort(margins) - middle) / width
    rank = np.arange(1, n + 1)
    x = special.ndtri((rank - 0.5) / n)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    ends = [special.ndtri(stats.beta.ppf(p, rank, n + 1 - rank)) for p in tails]
    ax.fill_between(x, *ends, color="0.85", linewidth=0, label=f"normal, {percent(ci_prob)} band")
    ax.plot(x, x, color="0.5", linewidth=1)
    outside = (y < ends[0]) | (y > ends[1])
    for own, color, text in ((~outside, COLORS[0], "inside"), (outside, COLORS[5], "outside")):
        if own.any():
            ax.plot(
                x[own],
                y[own],
                ".",
                color=color,
                label=f"{counted(int(own.sum()), 'item')} {text} the band",
            )
    ax.set_xlabel("normal quantile")
    ax.set_ylabel("margin, in SDs from the median")
    worst = y[np.argmax(np.abs(y))]
    ax.set_title(f"tails: most extreme margin at {worst:.1f} SDs")
    legend(ax, at="below")
