"""The scale of human difficulty: conditions and regimes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.plots._regimes import (
    ABOVE_OR_BELOW,
    VIOLIN,
    blend,
    bounds_of,
    check_dataset,
    key,
    legend_below,
    lift_names,
    place_labels,
    regime_colors,
    shade_regimes,
    violin,
)
from alikely.plots._style import (
    axes_or_new,
    check_table,
    styled,
)

__all__ = ["plot_spectrum"]


PROBABILITIES = "give the table of alikely.spectrum.regime_probabilities()"


@styled
def plot_spectrum(
    spectrum: xr.Dataset,
    found: xr.Dataset | None = None,
    posterior: pd.DataFrame | None = None,
    *,
    violins: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw all conditions along the scale of human difficulty, harder ones further right.

    Parameters
    ----------
    spectrum : xarray.Dataset
        As from `alikely.difficulty_spectrum`.
    found : xarray.Dataset, optional
        As from `alikely.regimes`: colours of the dots, shading of the background.
    posterior : pandas.DataFrame, optional
        As from `alikely.spectrum.regime_probabilities`.
    violins : bool
        Draw the density of the conditions behind each row that has five and more (Gaussian
        kernel, Scott's bandwidth, which it reaches beyond them twice).
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        One row per data set, one dot per condition, diamonds for the reference. Levels are named
        where there is room. With a posterior, dots are its means with their intervals, coloured by
        the most probable regime and the paler the less probable it is, which shades the background
        too; Glass's delta, in units of the sample's spread, is a tick.
        Conditions without a delta are counted in the legend.

    Raises
    ------
    TypeError
        If `spectrum` or `found` is not a Dataset.
    ValueError
        If something is lacking in one of the three, or they differ in conditions or regimes; or if
        no condition has a delta.

    Examples
    --------
    >>> import alikely as al
    >>> spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
    >>> ax = plot_spectrum(spectrum, al.regimes(spectrum, k=2, n_resamples=0, rng=1))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['all']
    """
    check_dataset(
        spectrum, "spectrum", ("condition", "dataset", "level", "delta", "is_reference"),
        "alikely.difficulty_spectrum",
    )  # fmt: skip
    names = spectrum["condition"].values.tolist()
    if found is not None:
        check_dataset(found, "found", ("condition", "label", "position"), "alikely.regimes")
        _same_conditions(names, found["condition"].values.tolist(), "found")
    glass = spectrum["delta"].values.astype(np.float64)
    order, code, opacity = _regimes_of(names, found, posterior)
    colors = regime_colors(order)
    delta, bounds, interval = glass, None, ""
    if posterior is not None:
        columns = bounds_of(posterior, "posterior", PROBABILITIES)
        rows = posterior.set_index("condition").loc[names]
        delta = rows["delta"].to_numpy(np.float64)
        bounds = rows[columns].to_numpy(np.float64)
        interval = re.sub(r".*?([\d.]+)_lb", r"\1 % interval", columns[0])
    defined = np.isfinite(delta)
    if not defined.any():
        raise ValueError(
            "no condition has a delta; make the spectrum with correction=0.5, or give a posterior"
        )
    is_reference = spectrum["is_reference"].values.astype(bool)
    datasets = list(dict.fromkeys(spectrum["dataset"].values.tolist()))
    row = np.array([datasets.index(name) for name in spectrum["dataset"].values])

    ax = axes_or_new(ax, (7.0, 1.5 + 0.36 * len(datasets)), tall=True)
    ax.hlines(range(len(datasets)), 0, 1, transform=ax.get_yaxis_transform(), color="0.85",
              linewidth=0.6, zorder=0.6)  # fmt: skip
    ends = delta[defined] if bounds is None else np.append(delta[defined], bounds[defined])
    pad = max(0.04 * float(np.ptp(ends)), 0.5)
    ax.set_xlim(float(ends.max()) + pad, float(ends.min()) - pad)
    ax.set_ylim(len(datasets) - 0.5, -0.5)
    texts = []
    if found is not None:
        low, high = float(ends.min()) - pad, float(ends.max()) + pad
        position = found["position"].values.astype(np.float64)
        # The posterior has another unit: its regimes end where the most probable one changes.
        inner = position if posterior is None else _changes(delta, code, len(order))
        edges = [low, *np.clip(inner, low, high).tolist(), high]
        spans = list(zip(edges[:-1], edges[1:], order, strict=True))
        texts = shade_regimes(ax, spans, colors)
    has_violin = [
        violin(ax, delta[defined & (row == k)], k) for k in range(violins * len(datasets))
    ]
    if bounds is not None:
        ax.hlines(row[defined], *bounds[defined].T, color="0.35", linewidth=1.0, zorder=2)
        ax.plot(glass, row, linestyle="", marker="|", markersize=7, markeredgewidth=0.8,
                color="0.35", zorder=2.1)  # fmt: skip
    for chosen, marker, size in ((~is_reference, "o", 24), (is_reference, "D", 26)):
        here = chosen & defined
        if here.any():
            edge = [colors[order[k]] if k >= 0 else "0.3" for k in code[here]]
            fill = [blend(c, p) for c, p in zip(edge, opacity[here].tolist(), strict=True)]
            ax.scatter(delta[here], row[here], s=size, marker=marker, facecolors=fill,
                       edgecolors=edge, linewidths=1.0, zorder=3)  # fmt: skip
    ax.set_yticks(range(len(datasets)), datasets, fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    ax.tick_params(axis="y", length=0)
    how = "Glass's delta" if posterior is None else "Glass's delta, posterior mean"
    ax.set_xlabel(f"{how} (standard deviations of the reference; harder to the right)", fontsize=8)
    ax.spines["left"].set_visible(False)
    lost = int((~defined).sum())
    handles = _spectrum_legend(bool(is_reference.any()), interval, lost, len(names))
    if any(has_violin):
        handles.append(Patch(label="density of conditions", **VIOLIN))
    legend_below(ax, handles)
    lift_names(ax, texts)
    points = np.column_stack([delta, row])[defined]
    text = spectrum["level"].values[defined].tolist()
    # Along each row, so that neighbours share the room there is.
    place = np.lexsort([-points[:, 0], points[:, 1]])
    place_labels(ax, points[place], [str(text[i]) for i in place], ABOVE_OR_BELOW, points)
    return ax


def _regimes_of(
    names: list[str], found: xr.Dataset | None, posterior: pd.DataFrame | None
) -> tuple[list[str], NDArray[np.intp], Floats]:
    """Names of the regimes, hardest first; number of each condition's (-1: none), opacity."""
    order: list[str] = []
    code, opacity = np.full(len(names), -1), np.ones(len(names))
    if found is not None:
        order = [str(name) for name in found["regime"].values]
        label = dict(zip(found["condition"].values, found["label"].values, strict=True))
        code = np.array([order.index(str(label[name])) for name in names])
    if posterior is None:
        return order, code, opacity
    check_table(posterior, ("condition", "delta"), PROBABILITIES)
    _same_conditions(names, posterior["condition"].tolist(), "posterior")
    columns = [str(c) for c in posterior if str(c).startswith("p_")]
    given = [column.removeprefix("p_") for column in columns]
    if not given:
        raise ValueError(f"posterior has no probability p_<regime>; {PROBABILITIES}")
    if order and given != order:
        raise ValueError(
            f"posterior has the regimes {', '.join(given)}, found has {', '.join(order)}; make "
            f"found with alikely.regimes(spectrum, {len(given)})"
        )
    p = posterior.set_index("condition").loc[names, columns].to_numpy(np.float64)
    if len(columns) > 1:
        # From all alike (empty) to certain (full).
        opacity = np.clip((p.max(axis=1) - 1 / len(columns)) / (1 - 1 / len(columns)), 0, 1)
    return given, p.argmax(axis=1), opacity


def _changes(delta: Floats, code: NDArray[np.intp], n_regimes: int) -> Floats:
    """Half way between the conditions at which one regime ends and the next begins."""
    edges = np.empty(n_regimes - 1)
    for k in range(n_regimes - 1):
        harder, easier = delta[code <= k], delta[code > k]
        # A regime without a condition has no room of its own.
        ends = [harder.max()] * bool(len(harder)) + [easier.min()] * bool(len(easier))
        edges[k] = np.mean(ends)
    return np.maximum.accumulate(edges)


def _same_conditions(names: list[str], given: list[str], what: str) -> None:
    """Refuse other conditions than those of the spectrum (`ValueError`)."""
    if len(set(given)) != len(given):
        raise ValueError(f"{what} has a condition twice; give one row per condition")
    odd = sorted(set(names) ^ set(given))
    if odd:
        where = "lacks" if odd[0] in names else "has an unknown"
        raise ValueError(
            f"{what} {where} condition {odd[0]!r} ({len(odd)} differ from the spectrum's); make "
            "both from the same trials"
        )


def _spectrum_legend(reference: bool, interval: str, lost: int, n: int) -> list[Line2D | Patch]:
    dot: dict[str, Any] = {"linestyle": "", "color": "0.3", "markersize": 5}
    handles: list[Line2D | Patch] = [key("condition", marker="o", **dot)]
    if reference:
        handles.append(key("reference condition", marker="D", **dot))
    if interval:
        handles.append(key(f"{interval} of delta", color="0.35", linewidth=1.0))
        handles.append(
            key("Glass's delta of the data", marker="|", linestyle="", markersize=7, color="0.35")
        )
        pale = blend("0.3", 0.15)
        handles.append(key("pale: regime uncertain", marker="o", markerfacecolor=pale, **dot))
    if lost:
        handles.append(key(f"no delta, not drawn: {lost} of {n}", linestyle=""))
    return handles
