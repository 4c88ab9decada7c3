"""Decision margins: strengths of items, noise-free correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from alikely.estimates.result import Result
from alikely.plots._style import (
    COLORS,
    SCHOOLS,
    axes_or_new,
    color_key,
    key_outside,
    styled,
)

__all__ = [
    "entry_of_margins",
    "plot_noise_free",
    "plot_strengths",
]

METRIC = "decision_margin_consistency"


@styled
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
    >>> import pandas as pd
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
    _legend_above(ax, 1)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


@styled
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
    >>> import pandas as pd
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
    _legend_above(ax)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def entry_of_margins(result: Result, pair: int | str) -> tuple[int, str]:
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


def _legend_above(ax: Axes, n_columns: int = 2) -> None:
    key_outside(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=n_columns)
