"""Colours and small parts that all plots share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

__all__ = ["COLORS", "MARKERS", "SCHOOLS", "axes_or_new", "check_table", "legend_right"]

# Distinct in grey and for all common forms of colour blindness (Okabe and Ito's palette).
SCHOOLS = {"analytic": "#999999", "bootstrap": "#E69F00", "posterior": "#0072B2"}

# Okabe and Ito's palette, without the yellow that fades on white.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999999")
MARKERS = "os^Dv<>P"


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    return plt.subplots(figsize=size, layout="constrained")[1]


def legend_right(ax: Axes, handles: list[Any], title: str | None = None) -> None:
    """A legend beside the axes."""
    ax.legend(
        handles=handles, title=title, loc="upper left", bbox_to_anchor=(1.01, 1.0),
        frameon=False, fontsize=8, title_fontsize=8, alignment="left",
    )  # fmt: skip


def check_table(frame: pd.DataFrame, columns: Iterable[str], way_out: str) -> None:
    """Refuse a table without rows or without a column (`ValueError`)."""
    lacking = [name for name in columns if name not in frame]
    if lacking:
        raise ValueError(
            f"frame lacks the column {lacking[0]!r} ({len(lacking)} in all); {way_out}"
        )
    if frame.empty:
        raise ValueError(f"frame is empty: expected one row per entry; {way_out}")
