"""Error patterns: divergences by class, wrong responses to one class, confusion matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import NDArray
from scipy import stats

from alikely._base.checks import one_of
from alikely._base.names import listed, p_words, told_apart
from alikely.estimates.result import Result
from alikely.plots._style import (
    COLORS,
    MARKERS,
    MOST_LETTERS,
    axes_or_new,
    color_key,
    draw_kind,
    in_column,
    legend,
    name_rows,
    new_axes,
)
from alikely.plots.pairs import position_of, short_pair

__all__ = ["plot_errors"]

MOST_ROWS = 60
MOST_ANSWERS = 30
VERDICTS = {
    "same distribution likelier": "#0072B2",
    "different ones likelier": "#D55E00",
    "one never errs: no evidence": "#BBBBBB",
}
ROW_COORDS = ("observer", "true_class", "response_class")
MOST_GROUPS, MOST_GROUPS_IN_COLUMN = 6, 3


def plot_errors(
    data: Result | xr.Dataset | xr.DataArray,
    kind: Literal["classes", "responses", "confusions"],
    *,
    pair: str | None = None,
    true_class: str | None = None,
    observers: str | Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw which errors observers make, class by class.

    Each kind draws another object and uses these arguments:

    - ``"classes"``: divergence of the wrong responses of a pair for each true class, from a result
      of `alikely.error_similarity`. Colors show whether one distribution for both observers or one
      for each is more likely; numbers of errors are on the right (`pair`)
    - ``"responses"``: proportions of the wrong responses to one class with 95% posterior intervals
      (Dirichlet prior of half an error each), of the counts of `alikely.errors.error_rows`
      (`true_class`, `observers`)
    - ``"confusions"``: proportions of all responses to each class, of the matrices of
      `alikely.estimates.confusion_matrices`, at most 6 groups (in a column 3); rows sum to 1

    Parameters
    ----------
    data : Result, xarray.Dataset or xarray.DataArray
        What the kind draws.
    kind : {"classes", "responses", "confusions"}
        What to draw.
    pair : str, optional
        Label of an entry, from ``data.table["pair"]``; required for ``"classes"``.
    true_class : str, optional
        The class that was shown; required for ``"responses"``.
    observers : str or sequence of str, optional
        Observers to draw, at most 8. Default: all.
    ax : matplotlib.axes.Axes, optional
        Where to draw ``"classes"`` or ``"responses"``. Default: a new figure.

    Returns
    -------
    matplotlib.axes.Axes or ndarray of them
        One for each group of ``"confusions"``, otherwise one. Of more than 30 responses the most
        frequent are drawn.

    Raises
    ------
    ValueError
        If the kind, pair, class or observer is unknown, there are more classes, observers or
        groups than fit, or no observer errs on the class.
    TypeError
        If the kind does not use an argument, lacks one that it needs, or draws another object.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> axes = al.plot_errors(al.estimates.confusion_matrices(trials, "kind"), "confusions")
    >>> [ax.get_title() for ax in axes]
    ['human', 'model']
    """
    return draw_kind(plot_errors, locals())


def _classes(result: Result, pair: str, *, ax: Axes | None = None) -> Axes:
    """Divergence of wrong responses by true class, in colors of the Bayes factor."""
    if "class_divergence" not in result.estimates:
        raise ValueError(
            f"a result of {result.metric.name} says nothing of single classes; give one of "
            "error_similarity"
        )
    frame = _class_frame(result, pair)
    frame = frame.sort_values("divergence", ascending=False, kind="stable", na_position="last")
    n = len(frame)
    frame = frame.head(MOST_ROWS)
    ax = axes_or_new(ax, (6.8, max(2.6, 1.7 + 0.22 * len(frame))), tall=True)
    position = np.arange(len(frame))[::-1]
    factor = frame["log_bayes_factor"].to_numpy()
    # Rounding of log gammas leaves next to nothing where one observer never errs.
    alone = (frame[["errors_a", "errors_b"]] == 0).any(axis=1).to_numpy()
    verdict = np.where(alone, 2, np.where(factor > 0, 0, 1))
    colors = list(VERDICTS.values())
    blank = frame["divergence"].isna().to_numpy()
    ax.barh(
        position[~blank], frame["divergence"][~blank], color=[colors[v] for v in verdict[~blank]]
    )
    for y in position[blank]:
        ax.annotate(
            "no errors", (0, y), (4, 0), textcoords="offset points", va="center", fontsize=7,
            color="0.4", style="italic",
        )  # fmt: skip
    name_rows(ax, frame.index[::-1].tolist())
    ax.set_xlim(left=0)
    ax.set_xlabel(f"divergence of wrong answers ({_unit(result)})")
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
    handles = [
        Patch(color=colors[v], label=label)
        for v, label in enumerate(VERDICTS)
        if (verdict[~blank] == v).any()
    ]
    if handles:
        legend(ax, handles, at="below", side="center", ncols=3)
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
    # A missing response is a class of answers, never a true one.
    here = table["trial_group"].values == table["pair_group"].values[entry]
    return frame.iloc[np.unique(table["truth"].values[here])]


def _unit(result: Result) -> str:
    base = float(result.data.attrs["base"])
    return "bits" if base == 2 else "nats" if math.isclose(base, math.e) else f"base {base:g}"


def _responses(
    rows: xr.Dataset,
    true_class: str,
    *,
    observers: str | Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Wrong responses to one class, with posterior intervals."""
    counts = _row_counts(rows, true_class, observers)
    total = counts.sum(axis=1)
    # Marginals of Dirichlet(errors + 1 / 2).
    a = counts.to_numpy() + 0.5
    tails = np.array([0.025, 0.975])[:, None, None]
    ends = stats.beta.ppf(tails, a, a.sum(axis=1, keepdims=True) - a)
    order = np.argsort(-counts.sum().to_numpy(), kind="stable")[:MOST_ANSWERS]
    ax = axes_or_new(ax, (8, 1.4 + (0.12 + 0.13 * len(counts)) * len(order)), tall=True)
    position = np.arange(len(order))[::-1]
    short = told_apart(counts.index, MOST_LETTERS)
    shift = np.linspace(0.3, -0.3, len(counts)) if len(counts) > 1 else np.zeros(1)
    for k, (name, offset) in enumerate(zip(counts.index, shift, strict=True)):
        lower, upper = ends[:, k, order]
        n = int(total[name])
        label = f"{n} error{'' if n == 1 else 's'}" if n else "no error: prior"
        label = f"{short[name]} ({label})"
        ax.hlines(position + offset, lower, upper, color=COLORS[k], linewidth=1.5)
        share = counts.loc[name].to_numpy()[order] / n if n else np.full(len(order), np.nan)
        ax.plot(
            share, position + offset, linestyle="", marker=MARKERS[k], color=COLORS[k],
            markersize=4, label=label,
        )  # fmt: skip
    name_rows(ax, counts.columns[order][::-1].tolist())
    ax.set_xlim(left=-0.01)
    ax.set_xlabel("share of wrong answers (lines: posterior, 95 % ETI)")
    title = f"what {true_class} is taken for"
    if len(order) < counts.shape[1]:
        title += f" ({len(order)} of {counts.shape[1]} wrong answers)"
    ax.set_title(title)
    # Beside the axes: of few answers it would hide some.
    legend(ax)
    return ax


def _row_counts(
    rows: xr.Dataset, true_class: str, observers: str | Sequence[str] | None
) -> pd.DataFrame:
    """Errors by observer and wrong answer."""
    for name in ("count", "class", *ROW_COORDS):
        if name not in rows:
            raise ValueError(
                f"rows has no {name!r}; give the errors that alikely.errors.error_rows counts"
            )
    errors = pd.DataFrame({name: rows[name].values for name in (*ROW_COORDS, "count")})
    classes = rows["class"].values.tolist()
    known = list(dict.fromkeys(errors["observer"]))
    chosen = [observers] if isinstance(observers, str) else list(observers or known)
    one_of("true_class", true_class, tuple(classes))
    for name in chosen:
        one_of("observers", name, tuple(known))
    if len(chosen) > len(COLORS):
        raise ValueError(
            f"{len(chosen)} observers are too many to read, the most is {len(COLORS)}; choose some "
            "with observers=[...]"
        )
    errors = errors[errors["observer"].isin(chosen) & (errors["true_class"] == true_class)]
    if errors.empty:
        raise ValueError(f"none of {listed(chosen)} errs on {true_class!r}; choose another class")
    summed = errors.groupby(["observer", "response_class"])["count"].sum().unstack(fill_value=0)
    wrong = [name for name in classes if name != true_class]
    return summed.reindex(index=list(dict.fromkeys(chosen)), columns=wrong, fill_value=0)


def _confusions(counts: xr.DataArray) -> NDArray[np.object_]:
    """Proportions of responses to each true class, a panel for each group of observers."""
    if counts.dims != ("group", "truth", "response"):
        raise ValueError(f"counts must have the dims group, truth and response, got {counts.dims}")
    groups = counts["group"].values.tolist()
    most = MOST_GROUPS_IN_COLUMN if in_column() else MOST_GROUPS
    where = "in a column" if in_column() else "beside each other"
    if len(groups) > most:
        raise ValueError(
            f"at most {most} matrices fit {where}, got {len(groups)}; choose some: "
            "counts.sel(group=[...])"
        )
    shares = counts / counts.sum("response").where(lambda total: total > 0)
    side = max(2.6, 0.2 * counts.sizes["truth"])
    axes = new_axes((side * len(groups) + 1.4, side + 1.0), 1, len(groups), sharey=True)
    answers = counts["response"].values.tolist()
    truths = counts["truth"].values.tolist()
    for ax, group in zip(axes, groups, strict=True):
        image = ax.imshow(shares.sel(group=group), vmin=0, vmax=1, cmap="Blues")
        ax.spines[:].set_visible(True)
        ax.set_title(str(group))
        ax.set_xticks(np.arange(len(answers)), answers, rotation=90, fontsize=7)
        ax.set_yticks(np.arange(len(truths)), truths, fontsize=7)
        ax.set_xlabel("answer")
    axes[0].set_ylabel("true class")
    color_key(axes, image, "share of the answers to a class", shrink=0.7)
    return axes
