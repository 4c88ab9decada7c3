"""Colours and small parts that all plots share."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

__all__ = ["COLORS", "MARKERS", "SCHOOLS", "axes_or_new"]

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
