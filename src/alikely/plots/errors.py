"""Error patterns: divergences by class, confusion matrices."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from alikely._base.names import p_words
from alikely.estimates.result import Result, of_kind
from alikely.plots._style import (
    axes_or_new,
    color_key,
    draw_kind,
    in_column,
    legend,
    name_rows,
    new_axes,
)
from alikely.plots.pairs import position_of, short_pair

MOST_ROWS = 60
VERDICTS = {
    "common distribution more likely": "#0072B2",
    "separate distributions more likely": "#D55E00",
    "one observer without errors": "#BBBBBB",
}
MOST_GROUPS, MOST_GROUPS_IN_COLUMN = 6, 3


def plot_errors(
    data: Result | xr.DataArray,
    kind: Literal["classes", "confusions"],
    *,
    pair: str | None = None,
    ax: Axes | None = None,
) -> Any:
    """Plot the errors that observers make, by class.

    Each kind plots a different result; its arguments are in parentheses:

    - ``"classes"``: divergence between the incorrect responses of two observers for each true
      class, from a result of `alikely.error_similarity` (`pair`). Colors show whether a common
      distribution or separate distributions are more likely; numbers of errors are on the right
    - ``"confusions"``: proportions of responses for each true class, from the matrices of
      `alikely.estimates.confusion_matrices`; rows sum to 1. At most 6 groups are shown, 3 in a
      one-column figure

    Parameters
    ----------
    data : Result or xarray.DataArray
        Result or table to plot.
    kind : {"classes", "confusions"}
        Kind of plot.
    pair : str, optional
        Label of an entry, from ``data.table["pair"]``; required for ``"classes"``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on, only for ``"classes"``. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        For ``"confusions"``, one axes per group; otherwise, a single axes.

    Raises
    ------
    ValueError
        If the kind or the pair is unknown, or if there are too many classes or groups.
    TypeError
        If an argument is given that this kind of plot does not use. If a required argument is
        missing, or `data` has the wrong type.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> axes = al.plot_errors(al.estimates.confusion_matrices(trials, "kind"), "confusions")
    >>> [ax.get_title() for ax in axes]
    ['human', 'model']
    """
    if isinstance(data, Result):
        of_kind(data, "pair")
    return draw_kind(plot_errors, locals())


def _classes(result: Result, pair: str, *, ax: Axes | None = None) -> Axes:
    """Divergence of incorrect responses by true class, colored by the Bayes factor."""
    if "class_divergence" not in result.estimates:
        raise ValueError(
            f"result must be of error_similarity, got {result.metric.name}, which has no values "
            "by class"
        )
    frame = _class_frame(result, pair)
    frame = frame.sort_values("divergence", ascending=False, kind="stable", na_position="last")
    n = len(frame)
    frame = frame.head(MOST_ROWS).iloc[::-1]
    ax = axes_or_new(ax, (6.8, max(2.6, 1.7 + 0.22 * len(frame))), tall=True)
    position = np.arange(len(frame))
    # Rounding of log gammas gives tiny values if one observer never errs.
    alone = (frame[["errors_a", "errors_b"]] == 0).any(axis=1).to_numpy()
    blank = frame["divergence"].isna().to_numpy()
    common = frame["log_bayes_factor"].to_numpy() > 0
    masks = (common & ~alone, ~common & ~alone, alone)
    for (label, color), mask in zip(VERDICTS.items(), masks, strict=True):
        if (own := mask & ~blank).any():
            ax.barh(position[own], frame["divergence"][own], color=color, label=label)
    for y in position[blank]:
        ax.annotate(
            "no errors", (0, y), (4, 0), textcoords="offset points", va="center", fontsize=7,
            color="0.4", style="italic",
        )  # fmt: skip
    name_rows(ax, frame.index.tolist())
    ax.set_xlim(left=0)
    ax.set_xlabel(f"divergence of incorrect responses ({_unit(result)})")
    entry = result.estimates.sel(pair=pair)
    named, a, b = short_pair(result, pair)
    right = ax.secondary_yaxis("right")
    counts = [f"{a} / {b}" for a, b in zip(frame["errors_a"], frame["errors_b"], strict=True)]
    right.set_yticks(position, counts, fontsize=7)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)
    right.set_ylabel(f"errors of {a}\n/ {b}", fontsize=8)
    title = f"{named}: similarity {entry['estimate'].item():.2f}"
    title += f"\n{len(frame)} of {n} classes" if len(frame) < n else ""
    if "p_equal" in entry and np.isfinite(entry["p_equal"].item()):
        title += f"\ntest of equal rows: {p_words('p', entry['p_equal'].item())}"
    ax.set_title(title)
    legend(ax, at="below", side="center", ncols=3)
    return ax


def _class_frame(result: Result, pair: str) -> pd.DataFrame:
    """Divergence, Bayes factor and errors of one pair, by true class."""
    table, estimates = result.table, result.estimates
    entry = position_of(result, pair)
    columns = ("divergence", "log_bayes_factor", "errors_a", "errors_b")
    frame = pd.DataFrame(
        {name: estimates[f"class_{name}"].values[entry] for name in columns},
        index=table["class"].values.tolist(),
    )
    # A missing response is a response class, never a true class.
    here = table["trial_group"].values == table["pair_group"].values[entry]
    return frame.iloc[np.unique(table["truth"].values[here])]


def _unit(result: Result) -> str:
    base = float(result.data.attrs["base"])
    return "bits" if base == 2 else "nats" if math.isclose(base, math.e) else f"base {base:g}"


def _confusions(counts: xr.DataArray) -> NDArray[np.object_]:
    """Proportions of responses to each true class, a panel for each group of observers."""
    if counts.dims != ("group", "truth", "response"):
        raise ValueError(f"counts must have the dims group, truth and response, got {counts.dims}")
    groups = counts["group"].values.tolist()
    most = MOST_GROUPS_IN_COLUMN if in_column() else MOST_GROUPS
    if len(groups) > most:
        raise ValueError(
            f"at most {most} matrices fit {'in a column' if in_column() else 'side by side'}, got "
            f"{len(groups)}; select groups with counts.sel(group=[...])"
        )
    shares = counts / counts.sum("response").where(lambda total: total > 0)
    side = max(2.6, 0.2 * counts.sizes["truth"])
    axes = new_axes((side * len(groups) + 1.4, side + 1.0), 1, len(groups), sharey=True)
    answers, truths = counts["response"].values.tolist(), counts["truth"].values.tolist()
    for ax, group in zip(axes, groups, strict=True):
        image = ax.imshow(shares.sel(group=group), vmin=0, vmax=1, cmap="Blues")
        ax.spines[:].set_visible(True)
        ax.set_xticks(range(len(answers)), answers, rotation=90, fontsize=7)
        ax.set_yticks(range(len(truths)), truths, fontsize=7)
        ax.set(title=str(group), xlabel="response")
    axes[0].set_ylabel("true class")
    color_key(axes, image, "proportion of responses to a class", shrink=0.7)
    return axes
