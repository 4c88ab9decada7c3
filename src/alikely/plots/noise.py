"""The noise of observers: sources of variance, error consistency explained by shared strengths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from alikely._base.intervals import percent
from alikely.plots._style import COLORS, axes_or_new, check_table, legend_right, rows_shown, styled

__all__ = ["plot_explained", "plot_variance_shares"]

TOGETHER = "observer x item and trial noise"
# From dark to light. What is not separated has the colours of both its parts.
SOURCES: dict[str, dict[str, Any]] = {
    "item": {"facecolor": "#0072B2", "edgecolor": "white"},
    "observer x item": {"facecolor": "#E69F00", "edgecolor": "white"},
    "trial noise": {"facecolor": "0.88", "edgecolor": "white"},
    TOGETHER: {"facecolor": "0.88", "edgecolor": "#E69F00", "hatch": "////", "linewidth": 0},
}
EXPLAINED = ("observer_a", "observer_b", "observed", "predicted", "inside")


@styled
def plot_variance_shares(
    trees: Mapping[str, xr.DataTree] | xr.DataTree, ci_prob: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw where the variance of the evidence comes from, one stacked bar per fit.

    Parameters
    ----------
    trees : mapping of str to xarray.DataTree, or xarray.DataTree
        Fits as from `alikely.margins.fit_observers`, by label; or a single one.
    ci_prob : float
        Probability of the equal-tailed intervals, in (0, 1).
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        Bars are medians; a thin line is the interval of the boundary between two sources. Sources
        that a fit without repeats cannot separate are one hatched part.

    Raises
    ------
    ValueError
        If there is no fit, one has no such shares, or the probability is out of range; in a
        column, if there are more than a page holds.
    TypeError
        If something else than fits is given.

    Examples
    --------
    >>> share = np.random.default_rng(1).dirichlet([4, 2, 4], (4, 100))
    >>> posterior = xr.Dataset(
    ...     {"share": (("chain", "draw", "source"), share)},
    ...     coords={"source": ["item", "observer x item", "trial noise"]},
    ... )
    >>> ax = plot_variance_shares({"noise": xr.DataTree.from_dict({"posterior": posterior})})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['noise']
    """
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
        shares = variance_shares(tree, ci_prob)
        # Medians of parts do not sum to 1 exactly: rescaled, so that all bars are equally long.
        width = shares["median"].to_numpy() / shares["median"].sum()
        ends = np.cumsum(width)
        for source, part, end in zip(shares["source"], width, ends, strict=True):
            ax.barh(y, part, left=end - part, height=0.62, **SOURCES[source])
            seen.append(source)
        inner = np.cumsum(draws, axis=1)[:, :-1]
        bounds = np.quantile(inner, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
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
    text = f"{percent(ci_prob)} interval\nof a boundary"
    handles.append(Line2D([], [], color="black", linewidth=1, marker="|", label=text))
    legend_right(ax, handles)
    ax.set_yticks([] if single else position, [] if single else list(named), fontsize=8)
    ax.set(xlim=(0, 1), ylim=(-0.6, len(named) - 0.4))
    ax.set_xlabel("share of the variance of the evidence (0 to 1, posterior medians)")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


@styled
def plot_explained(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the error consistency that shared item strengths predict against the observed one.

    Parameters
    ----------
    frame : pandas.DataFrame
        As from `alikely.margins.explained_consistency`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        One point per pair of observers with its predictive interval, filled where the observed
        value lies outside; squares are observers with themselves. Rows that are undefined are
        counted in the legend.

    Raises
    ------
    ValueError
        If the table is empty or lacks a column.

    Examples
    --------
    >>> frame = pd.DataFrame({"observer_a": ["a"], "observer_b": ["b"], "observed": [0.3]})
    >>> frame = frame.assign(predicted=0.2, eti95_lb=0.1, eti95_ub=0.25, inside=False)
    >>> plot_explained(frame).get_legend().get_title().get_text()
    'inside the 95 % interval: 0 of 1'
    """
    origin = "give the table of explained_consistency()"
    check_table(frame, EXPLAINED, origin)
    bounds = [c for c in map(str, frame) if c.startswith("eti") and c.endswith(("_lb", "_ub"))]
    if len(bounds) != 2:
        raise ValueError(
            f"frame needs one lower and one upper bound such as eti95_lb and eti95_ub, got "
            f"{', '.join(bounds) or 'none'}; {origin}"
        )
    lower, upper = sorted(bounds)
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
    if not defined.all():
        text = f"undefined, not drawn: {(~defined).sum()} of {len(frame)}"
        handles.append(Line2D([], [], linestyle="", label=text))
    if len(shown):
        ends = shown[["observed", "predicted", lower, upper]].to_numpy(np.float64)
        pad = max(0.05 * np.ptp(ends), 0.02)
        limits = (ends.min() - pad, ends.max() + pad)
        ax.set(xlim=limits, ylim=limits)
    ax.set_aspect("equal")
    percent = lower.removeprefix("eti").removesuffix("_lb")
    ax.set_xlabel("observed error consistency (-1 to 1)")
    ax.set_ylabel(f"predicted error consistency (-1 to 1)\n(median, bars: {percent} % predictive)")
    legend_right(ax, handles, f"inside the {percent} % interval: {inside.sum()} of {len(shown)}")
    ax.spines[["top", "right"]].set_visible(False)
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
