"""How firm a benchmark is: its ranking, its data sets among each other, its silent choices."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from alikely.benchmark.benchmark import Benchmark
from alikely.benchmark.tables import Population
from alikely.plots._style import SCHOOLS, axes_or_new

__all__ = ["plot_correlations", "plot_sensitivity", "plot_stability"]


def plot_stability(
    scores: Benchmark, population: Population = "images", *, ax: Axes | None = None
) -> Axes:
    """Draw the distribution of Kendall's tau between the ranking and its bootstrap replicates.

    Parameters
    ----------
    scores : Benchmark
        As from `alikely.benchmark_scores`.
    population : {"images", "humans", "crossed"}
        What was resampled.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the benchmark has no bootstrap.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition=["blur", "noise"])
    >>> ax = plot_stability(al.benchmark_scores(trials, rng=1))
    >>> ax.get_xlabel()
    "Kendall's tau with the ranking of all data"
    """
    tau = scores.stability(population)
    tau = tau[np.isfinite(tau)]
    n = len(scores.models)
    # Tau of n systems takes these values only; a bin for each where there is room.
    step = max(4 / (n * (n - 1)), 0.02)
    edges = np.arange(tau.min() - step / 2, 1 + step, step)
    ax = axes_or_new(ax, (5.0, 3.2))
    ax.hist(tau, bins=edges.tolist(), density=True, color=SCHOOLS["bootstrap"])
    ax.axvline(float(np.median(tau)), color="0.2", label=f"median {np.median(tau):.2f}")
    ax.set_xlabel("Kendall's tau with the ranking of all data")
    ax.set_ylabel("density of replicates")
    ax.legend(frameon=False, fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_correlations(table: pd.DataFrame, *, latent: bool = False, ax: Axes | None = None) -> Axes:
    """Draw the correlations of data sets as a map; those that may be 0 in pale figures.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.Benchmark.correlations`.
    latent : bool
        Draw those with attenuation removed: without a colour of their own beyond 1, and with none
        where their interval has no bounds.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If `latent` is asked for and the table has none.

    Examples
    --------
    >>> import numpy as np
    >>> from alikely.benchmark import rank_correlations
    >>> x = np.random.default_rng(1).random((3, 6))
    >>> noise = np.random.default_rng(2).normal(0, 0.1, (200, 3, 6))
    >>> ax = plot_correlations(rank_correlations(["a", "b", "c"], x, x + noise))
    >>> ax.images[0].get_array().shape
    (3, 3)
    """
    column = "latent" if latent else "correlation"
    if column not in table:
        raise ValueError("latent=True needs the column 'latent'; give Benchmark.correlations()")
    names = list(dict.fromkeys([*table["level"], *table["other"]]))
    position = {name: i for i, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    bounds = [str(c) for c in table if str(c).endswith(("_lb", "_ub"))]
    lower, upper = (c for c in bounds if c.startswith("latent_") == latent)
    ax = axes_or_new(ax, (2.0 + 0.42 * len(names), 1.5 + 0.4 * len(names)))
    for row in table.to_dict("records"):
        i, j = position[row["level"]], position[row["other"]]
        value = row[column]
        bounded = np.isfinite(row[lower]) and np.isfinite(row[upper])
        matrix[i, j] = matrix[j, i] = value if bounded else np.nan
        open_sign = row[lower] <= 0 <= row[upper]
        color = "white" if bounded and abs(value) > 0.6 else "black"
        # Without reliable variance there is no number.
        text = (
            "n/a"
            if np.isnan(value)
            else f"{value:.2f}".replace("0.", ".")
            if abs(value) < 0.995
            else f"{value:.2f}"
        )
        for x, y in ((i, j), (j, i)):
            ax.text(
                x, y, text, ha="center", va="center", fontsize=6, color=color,
                alpha=0.4 if open_sign else 1.0,
            )  # fmt: skip
    image = ax.imshow(matrix, cmap="PuOr", vmin=-1, vmax=1)
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    label = "latent correlation of scores" if latent else "Spearman correlation of scores"
    ax.figure.colorbar(image, ax=ax, label=label, shrink=0.8)
    return ax


def plot_sensitivity(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the range of each machine's score over the choices that papers make silently.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `alikely.benchmark.choices`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import alikely as al
    >>> ax = plot_sensitivity(al.benchmark.sensitivity(al.load_example()))
    >>> len(ax.get_yticks())
    6
    """
    machines = table[table["rank"].notna()]
    first = machines.groupby("system", sort=False)["score"].first().sort_values()
    ax = axes_or_new(ax, (6.5, 1.4 + 0.24 * len(first)))
    position = {name: i for i, name in enumerate(first.index)}
    for label, part in machines.groupby(["conditions", "grouping"], sort=False):
        ax.plot(
            part["score"], part["system"].map(position), "o", markersize=4, alpha=0.7,
            label=f"{label[0]} conditions, {label[1]}",
        )  # fmt: skip
    ax.plot(first, range(len(first)), "|", color="black", markersize=12, label="as scored here")
    ax.set_yticks(range(len(first)), first.index, fontsize=8)
    ax.set_xlabel("mean error consistency with humans")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
