"""Which images a plan chose, and what it is expected to tell."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from alikely.plots._style import COLORS, in_column, legend_right, new_axes, only

__all__ = ["Plan", "images"]

RANDOM, CHOSEN = COLORS[0], COLORS[1]
# Strata whose names have room for a second line.
MOST_LINES = 9
# Rows of the left panel without strata: images by how many machines are right.
TICKS = (10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480)
BANDS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


class Plan(Protocol):
    """What is drawn of an `alikely.planning.StimulusPlan`."""

    table: pd.DataFrame
    expected: pd.DataFrame

    def sizes(self) -> pd.DataFrame:
        """How much each image of the pool may tell."""

    def precision(self, numbers: Sequence[int]) -> pd.DataFrame:
        """Standard errors that plans like it are expected to have."""


def images(plan: Plan, condition: str | None = None) -> NDArray[Any]:
    """Images of a plan by size and stratum, and its precision by number of images."""
    if not hasattr(plan, "expected") or not hasattr(plan, "precision"):
        raise TypeError(
            f"plan must be a StimulusPlan, got {type(plan).__name__}; make one with "
            "al.planning.choose_images"
        )
    known = list(dict.fromkeys(plan.expected["condition"]))
    chosen = known[0] if condition is None else condition
    own = only(plan.expected, "condition", chosen).set_index("design")
    pool_of = plan.sizes()
    pool_of = pool_of[pool_of["condition"] == chosen]
    pool, n = len(pool_of), int(own.loc["chosen", "n_images"])
    ratios = None if in_column() else (1.25, 1)
    axes = new_axes((9.8, 3.6), 1, 2, tall=True, width_ratios=ratios)
    _draw_images(axes[0], pool_of, plan)
    low = 16 if "stratum" not in pool_of else 4 * pool_of["stratum"].nunique()
    numbers = np.unique(np.geomspace(min(low, n), pool, 16).round().astype(int))
    table = plan.precision(sorted({*numbers.tolist(), n}))
    _draw_precision(axes[1], table[table["condition"] == chosen], n, pool)
    if len(known) > 1:
        axes[0].set_title(str(chosen), loc="left")
    return axes


def _draw_images(ax: Axes, images: pd.DataFrame, plan: Plan) -> None:
    if "stratum" in images:
        rows = images["stratum"].to_numpy()
        named = plan.table.drop_duplicates("stratum")
        names = named.set_index("item")["stratum"]
        label_of = {
            int(images.loc[images["item"] == item, "stratum"].iloc[0]): str(text)
            for item, text in names.items()
            if (images["item"] == item).any()
        }
        columns = [name for name in plan.table if str(name).startswith("machine_")]
        letters = {str(plan.table[name].iloc[0]): str(name)[-1].upper() for name in columns}
        labels = [_short(label_of.get(g, ""), letters) for g in range(int(rows.max()) + 1)]
        title = [f"{letter} {name}" for name, letter in letters.items()]
        ax.set_title("\n".join(title), loc="left", fontsize=7)
    else:
        rows = np.clip(np.digitize(images["right"], BANDS[1:-1]), 0, len(BANDS) - 2)
        labels = [f"{low:.0%} to {high:.0%}" for low, high in itertools.pairwise(BANDS)]
        ax.set_ylabel("machines that are right")
    jitter = np.random.default_rng(0).uniform(-0.32, 0.32, len(images))
    shown = images["shown"].to_numpy()
    for there, face, edge in ((~shown, "none", "0.6"), (shown, CHOSEN, CHOSEN)):
        at = np.flatnonzero(there)
        ax.scatter(
            images["size"].to_numpy()[at], (rows + jitter)[at], s=13,
            facecolors=face, edgecolors=edge, linewidths=0.6,
        )  # fmt: skip
    # Long names are broken into lines in a column, where two fit.
    between = ", " if in_column() or len(labels) > MOST_LINES else "\n"
    counts = [
        f"{int(shown[rows == g].sum())} of {int((rows == g).sum())}" for g in range(len(labels))
    ]
    ax.set_yticks(
        range(len(labels)),
        [f"{label}{between}{count}" for label, count in zip(labels, counts, strict=True)],
        fontsize=7,
    )
    ax.set_xlim(left=0)
    ax.set_xlabel("size: what an answer may tell")


def _short(stratum: str, letters: dict[str, str]) -> str:
    """A stratum by letters of its machines; of many, of those that are right."""
    if not stratum:
        return ""
    words = {}
    for name, letter in letters.items():
        words[letter] = "right" if stratum.startswith(f"{name} right") else "wrong"
        stratum = stratum[len(f"{name} {words[letter]}") :].removeprefix(", ")
    if len(letters) <= 2:
        told = [f"{letter} {word}" for letter, word in words.items()]
        return ", ".join([*told, *filter(None, [stratum])])
    right = [letter for letter, word in words.items() if word == "right"]
    return f"{', '.join(right) or 'none'} right"


def _draw_precision(ax: Axes, table: pd.DataFrame, n: int, pool: int) -> None:
    for design, color in (("random", RANDOM), ("chosen", CHOSEN)):
        own = table[table["design"] == design].sort_values("n_images")
        ax.plot(own["n_images"], own["se_pool"], color=color, label=f"{design}, this pool")
        ax.plot(
            own["n_images"], own["se_images"], color=color, linestyle=":",
            label=f"{design}, images like it",
        )  # fmt: skip
    left = float(table.loc[table["design"] == "all", "se_images"].iloc[0])
    said = f"all {pool:,}, images like it"
    ax.axhline(left, color="0.5", linewidth=0.8, linestyle="--", label=said)
    ax.axvline(n, color="0.5", linewidth=0.8, label=f"this plan, {n:,} images")
    ax.set_xscale("log")
    # At most five: more would meet in a narrow panel.
    ticks = [value for value in TICKS if table["n_images"].min() <= value <= pool]
    ticks = ticks[:: -(-len(ticks) // 5)]
    ax.set_xticks(ticks, [f"{value:,}" for value in ticks])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    ax.set_xlabel("images shown")
    ax.set_ylabel("expected standard error")
    legend_right(ax, ax.get_legend_handles_labels()[0])
