"""Which errors: divergences class by class, and the wrong answers to one class."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import NDArray

from alikely._base.intervals import CiKind, check_interval, percent
from alikely._base.names import listed, nearest
from alikely._base.numbers import p_words
from alikely._base.random import RandomState, seed_sequence
from alikely.estimates.result import Result
from alikely.plots._regimes import legend_below
from alikely.plots._style import COLORS, MARKERS, axes_or_new, legend_right, styled
from alikely.stats.intervals import interval

__all__ = ["plot_classes", "plot_error_row"]

MOST_ROWS = 60
MOST_ANSWERS = 30
VERDICTS = {
    "same distribution likelier": "#0072B2",
    "different ones likelier": "#D55E00",
    "one never errs: no evidence": "#BBBBBB",
}
ROW_COORDS = ("observer", "dataset", "condition", "true_class", "response_class")


@styled
def plot_classes(
    result: Result,
    pair: str,
    *,
    classes: Sequence[str] | None = None,
    sort: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw how far two observers' wrong answers diverge, true class by true class.

    Parameters
    ----------
    result : Result
        As from `alikely.error_similarity`.
    pair : str
        Label of the entry, from ``result.table["pair"]``.
    classes : sequence of str, optional
        True classes to draw; all that were shown if not given.
    sort : bool
        Largest divergence first, or in the order of the classes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The colour is the sign of the log Bayes factor: of one distribution for both against one
        for each. The numbers of errors of both observers stand at the right.

    Raises
    ------
    ValueError
        If the result is of another metric, the entry or a class is unknown, or there are more than
        60 classes to draw.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> result = al.error_similarity(trials, by="dataset", n_resamples=0, n_draws=0)
    >>> ax = al.plot_classes(result, "human_1 x model_1")
    >>> ax.get_xlabel()
    'divergence of wrong answers (bits)'
    """
    if "class_divergence" not in result.estimates:
        raise ValueError(
            f"a result of {result.metric.name} says nothing of single classes; give one of "
            "error_similarity"
        )
    frame = _class_frame(result, pair, classes)
    if len(frame) > MOST_ROWS:
        raise ValueError(
            f"{len(frame)} classes are too many to read, the most is {MOST_ROWS}; choose some with "
            "classes=[...]"
        )
    if sort:
        frame = frame.sort_values("divergence", ascending=False, kind="stable", na_position="last")
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
    ax.set_yticks(position, frame.index, fontsize=8)
    ax.set_ylim(-0.7, len(frame) - 0.3)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"divergence of wrong answers ({_unit(result)})")
    entry = result.estimates.sel(pair=pair)
    right = ax.secondary_yaxis("right")
    counts = [f"{a} / {b}" for a, b in zip(frame["errors_a"], frame["errors_b"], strict=True)]
    right.set_yticks(position, counts, fontsize=7)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)
    right.set_ylabel(
        f"errors of {entry['observer_a'].item()}\n/ {entry['observer_b'].item()}", fontsize=8
    )
    title = f"{pair}: similarity {entry['estimate'].item():.2f}"
    if "p_equal" in entry and np.isfinite(entry["p_equal"].item()):
        title += f"\ntest of equal rows: {p_words('p', entry['p_equal'].item())}"
    ax.set_title(title, fontsize=9)
    handles = [
        Patch(color=colors[v], label=label)
        for v, label in enumerate(VERDICTS)
        if (verdict[~blank] == v).any()
    ]
    if handles:
        legend_below(ax, handles)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _class_frame(result: Result, pair: str, classes: Sequence[str] | None) -> pd.DataFrame:
    """Divergence, Bayes factor and errors of one pair, by true class."""
    table, estimates = result.table, result.estimates
    labels = table["pair"].values.tolist()
    if pair not in labels:
        raise ValueError(f"no entry is labelled {pair!r}; labels look like {labels[0]!r}")
    entry = labels.index(pair)
    columns = ("divergence", "log_bayes_factor", "errors_a", "errors_b")
    frame = pd.DataFrame(
        {name: estimates[f"class_{name}"].values[entry] for name in columns},
        index=table["class"].values.tolist(),
    )
    # A missing response is a class of answers, never a true one.
    here = table["trial_group"].values == table["pair_group"].values[entry]
    frame = frame.iloc[np.unique(table["truth"].values[here])]
    if classes is None:
        return frame
    for name in classes:
        if name not in frame.index:
            raise ValueError(
                f"no trial of {pair!r} has the true class {name!r}; classes look like "
                f"{frame.index[0]!r}"
            )
    return frame.loc[list(dict.fromkeys(classes))]


def _unit(result: Result) -> str:
    base = float(result.data.attrs["base"])
    return "bits" if base == 2 else "nats" if math.isclose(base, math.e) else f"base {base:g}"


@styled
def plot_error_row(
    rows: xr.Dataset,
    true_class: str,
    draws: xr.DataArray | None = None,
    *,
    observers: str | Sequence[str] | None = None,
    dataset: str | None = None,
    condition: str | None = None,
    alpha: float = 0.5,
    n_draws: int = 4_000,
    ci_prob: float = 0.95,
    ci_kind: CiKind = "eti",
    rng: RandomState = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what observers take one class for when they are wrong, with posterior intervals.

    Parameters
    ----------
    rows : xarray.Dataset
        As from `alikely.errors.error_rows`; data sets and conditions are added up.
    true_class : str
        The class that was shown.
    draws : xarray.DataArray, optional
        Posterior draws of the shares, as from `alikely.errors.error_row_draws`: dims
        ``sample, system, true_class, response_class``, systems and classes labelled. If not given,
        exact draws of Dirichlet(errors + alpha) are made.
    observers : str or sequence of str, optional
        Observers to draw side by side, 8 at most; all if not given.
    dataset, condition : str, optional
        Errors to count; all if not given.
    alpha : float
        Prior errors of each answer, above 0.
    n_draws : int
        Number of draws, at least 2.
    ci_prob : float
        Probability of the intervals, in (0, 1).
    ci_kind : {"eti", "hdi"}
        Equal-tailed or highest-density.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        Points are the observed shares, lines the intervals. Answers are sorted by their number of
        errors; of more than 30 the most frequent are drawn.

    Raises
    ------
    ValueError
        If rows or draws are of another kind; if the class, an observer, the data set or the
        condition is unknown; if nobody errs on the class; if an option is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.Trials.from_arrays(
    ...     [["cat", "cat", "dog"], ["owl", "cat", "dog"]],
    ...     ["cat", "dog", "dog"],
    ...     classes=["cat", "dog", "owl"],
    ... )
    >>> rows = al.errors.error_rows(trials)
    >>> ax = al.plot_error_row(rows, "dog", rng=1)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['cat', 'owl']
    """
    check_interval(ci_prob, ci_kind)
    if not alpha > 0:
        raise ValueError(f"alpha must be above 0, got {alpha}; try 0.5")
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2, got {n_draws}; try 4000")
    counts = _row_counts(rows, true_class, observers, dataset, condition)
    total = counts.sum(axis=1)
    if draws is None:
        generator = np.random.default_rng(seed_sequence(rng))
        drawn = [generator.dirichlet(row + alpha, n_draws) for row in counts.to_numpy()]
    else:
        drawn = _given_draws(draws, true_class, counts)
    order = np.argsort(-counts.sum().to_numpy(), kind="stable")[:MOST_ANSWERS]
    ax = axes_or_new(ax, (8, 1.4 + (0.12 + 0.13 * len(counts)) * len(order)), tall=True)
    position = np.arange(len(order))[::-1]
    shift = np.linspace(0.3, -0.3, len(counts)) if len(counts) > 1 else np.zeros(1)
    for k, (name, offset) in enumerate(zip(counts.index, shift, strict=True)):
        lower, upper = interval(drawn[k][:, order], ci_prob, ci_kind).T
        n = int(total[name])
        label = f"{name} ({n} error{'' if n == 1 else 's'})" if n else f"{name} (no error: prior)"
        ax.hlines(position + offset, lower, upper, color=COLORS[k], linewidth=1.5)
        share = counts.loc[name].to_numpy()[order] / n if n else np.full(len(order), np.nan)
        ax.plot(
            share, position + offset, linestyle="", marker=MARKERS[k], color=COLORS[k],
            markersize=4, label=label,
        )  # fmt: skip
    ax.set_yticks(position, counts.columns[order], fontsize=8)
    ax.set_ylim(-0.7, len(order) - 0.3)
    ax.set_xlim(left=-0.01)
    ax.set_xlabel(
        f"share of wrong answers (lines: posterior, {percent(ci_prob)} {ci_kind.upper()})"
    )
    title = f"what {true_class} is taken for"
    if len(order) < counts.shape[1]:
        title += f" ({len(order)} of {counts.shape[1]} wrong answers)"
    ax.set_title(title, fontsize=9)
    # Beside the axes: of few answers it would hide some.
    legend_right(ax, ax.get_legend_handles_labels()[0])
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _row_counts(
    rows: xr.Dataset,
    true_class: str,
    observers: str | Sequence[str] | None,
    dataset: str | None,
    condition: str | None,
) -> pd.DataFrame:
    """Errors by observer and wrong answer."""
    for name in ("count", "class", *ROW_COORDS):
        if name not in rows:
            raise ValueError(
                f"rows has no {name!r}; give the errors that alikely.errors.error_rows counts"
            )
    errors = pd.DataFrame({name: rows[name].values for name in (*ROW_COORDS, "count")})
    for key, chosen in (("dataset", dataset), ("condition", condition)):
        if chosen is not None:
            known = list(dict.fromkeys(errors[key]))
            if chosen not in known:
                raise ValueError(
                    f"{key} must be one of {listed(known)}; got {chosen!r}{nearest(chosen, known)}"
                )
            errors = errors[errors[key] == chosen]
    classes = rows["class"].values.tolist()
    if true_class not in classes:
        raise ValueError(
            f"no true class is called {true_class!r}; classes are {listed(classes)}"
            f"{nearest(true_class, classes)}"
        )
    known = list(dict.fromkeys(errors["observer"]))
    chosen_observers = [observers] if isinstance(observers, str) else list(observers or known)
    for name in chosen_observers:
        if name not in known:
            raise ValueError(
                f"rows list no error of observer {name!r}; those with errors are {listed(known)}"
                f"{nearest(name, known)}"
            )
    if len(chosen_observers) > len(COLORS):
        raise ValueError(
            f"{len(chosen_observers)} observers are too many to read, the most is {len(COLORS)}; "
            "choose some with observers=[...]"
        )
    errors = errors[
        errors["observer"].isin(chosen_observers) & (errors["true_class"] == true_class)
    ]
    if errors.empty:
        raise ValueError(
            f"none of {listed(chosen_observers)} errs on {true_class!r}; choose another class"
        )
    summed = errors.groupby(["observer", "response_class"])["count"].sum().unstack(fill_value=0)
    wrong = [name for name in classes if name != true_class]
    return summed.reindex(index=list(dict.fromkeys(chosen_observers)), columns=wrong, fill_value=0)


def _given_draws(
    draws: xr.DataArray, true_class: str, counts: pd.DataFrame
) -> list[NDArray[np.float64]]:
    dims = {"sample", "system", "true_class", "response_class"}
    if set(draws.dims) != dims:
        raise ValueError(
            f"draws must have the dims {', '.join(sorted(dims))}, got "
            f"{', '.join(map(str, draws.dims))}; make them with error_row_draws"
        )
    wanted = {
        "system": counts.index.tolist(),
        "true_class": [true_class],
        "response_class": counts.columns.tolist(),
    }
    for dim, names in wanted.items():
        known = draws[dim].values.tolist()
        lacking = [name for name in names if name not in known]
        if lacking:
            raise ValueError(
                f"draws have no {dim} {lacking[0]!r}; give error_row_draws labelled counts"
            )
    chosen = draws.sel(wanted).transpose("system", "sample", "true_class", "response_class")
    return list(chosen.values[:, :, 0])
