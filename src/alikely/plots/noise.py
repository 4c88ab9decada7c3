"""The noise of observers: sources of variance, error consistency explained by shared strengths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from alikely._base.intervals import percent
from alikely.plots._regimes import bounds_of
from alikely.plots._style import (
    COLORS,
    axes_or_new,
    below,
    check_table,
    key,
    key_outside,
    legend_right,
    not_drawn,
    rows_shown,
)

__all__ = ["explained", "variance"]

TOGETHER = "observer x item and trial noise"
# From dark to light. What is not separated has the colours of both its parts.
SOURCES: dict[str, dict[str, Any]] = {
    "item": {"facecolor": "#0072B2", "edgecolor": "white"},
    "observer x item": {"facecolor": "#E69F00", "edgecolor": "white"},
    "trial noise": {"facecolor": "0.88", "edgecolor": "white"},
    TOGETHER: {"facecolor": "0.88", "edgecolor": "#E69F00", "hatch": "////", "linewidth": 0},
}
EXPLAINED = ("observer_a", "observer_b", "observed", "predicted", "inside")


def variance(
    trees: Mapping[str, xr.DataTree] | xr.DataTree, ci_prob: float = 0.95, ax: Axes | None = None
) -> Axes:
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
    handles.append(key(text, color="black", linewidth=1, marker="|"))
    key_outside(ax, handles, loc="upper right", ncols=2, **below(ax, 46))
    ax.set_yticks([] if single else position, [] if single else list(named), fontsize=8)
    ax.set(xlim=(0, 1), ylim=(-0.6, len(named) - 0.4))
    ax.set_xlabel("share of the variance of the evidence\n(0 to 1, posterior medians)")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def explained(frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
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
    legend_right(ax, handles, f"inside the {percent} % interval: {inside.sum()} of {len(shown)}")
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
