"""The tables, files and plot of a result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import alikely as al
from alikely._base.intervals import percent
from alikely._base.names import counted
from alikely._base.steps import step
from alikely.cli._tables import (
    Cell,
    Folder,
    between,
    ends,
    num,
    show,
    show_cut,
    show_notes,
    span,
    spread,
)
from alikely.estimates.observer_means import machine_means
from alikely.estimates.sentences import METHODS, shown_methods

if TYPE_CHECKING:
    from alikely.data import Trials
    from alikely.estimates.result import Result

PAIR = {"condition": "condition", "reference": "observer_a", "other": "observer_b"}
MEANS = (
    "Mean of each model over its pairs with observers of other kinds (the same observers and "
    "conditions, new trials; for new humans: alikely benchmark):"
)


def show_result(
    result: Result,
    out: Path | None,
    trials: Trials | None = None,
    intervals: Literal["all"] | None = None,
) -> None:
    """Print the table and the means of models; write the files and say where they are."""
    frame, metric = result.summary(intervals=intervals), result.metric
    level = percent(float(result.data.attrs["ci_prob"]))
    if "n_errors_a" in frame:
        frame["n_errors"] = frame["n_errors_a"] + frame["n_errors_b"]
    heads = {m: m for m in METHODS} | {"posterior": metric.posterior_label}
    column, count = metric.rests_on
    columns: dict[str, Cell] = {
        **PAIR,
        count: lambda row: f"{row[column]:.5g}",
        metric.short: num("estimate"),
        **{
            f"{heads[method]}\n{level}": between(ends(frame, f"{method}_")[:2])
            for method in shown_methods(result, intervals)
        },
    }
    show(frame.iloc[spread(frame["estimate"])], columns, part="dataset")
    show_cut(len(frame), metric.short)
    show_notes(frame["note"])
    n_pairs = len(frame[["observer_a", "observer_b"]].drop_duplicates())
    several = f", {len(frame):,} estimates" if n_pairs < len(frame) else ""
    n_undefined = frame["estimate"].isna().sum()
    print(f"\n{counted(n_pairs, 'pair')}{several}; {n_undefined} with an undefined estimate.")
    with step("means of models"):
        kinds = {} if trials is None else kinds_of(trials)
        means = machine_means(result, kinds, intervals)
    if means is not None:
        if "method" in means:
            methods = {"": ", ".join(heads[m] for m in means["method"].unique() if m)}
        else:
            methods = {f"{m}_": heads[m] for m in METHODS if f"{m}_lb" in means}

        def interval(stem: str) -> Cell:
            return lambda row: span(
                *(row.get(f"{stem}{end}", float("nan")) for end in ("lb", "ub"))
            )

        columns = {"model": "machine", "pairs": num("n_pairs", 0), metric.short: num("estimate")}
        columns |= {f"{head}\n{level}": interval(stem) for stem, head in methods.items()}
        show(means.iloc[spread(means["estimate"])], columns, ["", MEANS])
        show_cut(len(means), metric.short)
        show_notes(means["note"])
    files = Folder(out, "table, draws and plot")
    with step(f"writing to {out}"):
        files.table(metric.name, frame)
        files.file(f"{metric.name}.nc", result.save)
        files.plot(metric.name, _draw, result)
        if means is not None:
            files.table(f"{metric.name}_means", means)
    files.close()


def kinds_of(trials: Trials, label: str = "kind") -> dict[str, str]:
    """Kind, or another label, of each observer."""
    return dict(zip(trials.observers, trials.data[label].values.tolist(), strict=True))


def _draw(result: Result) -> None:
    """Intervals of at most as many pairs as are printed."""
    labels = result.table["pair"].values[spread(result.estimates["estimate"].values)].tolist()
    ax: Any = al.plot_intervals(result, which=labels)
    if len(labels) < (n := result.table.sizes["pair"]):
        # Above the axes is the legend.
        ax.set_xlabel(f"{ax.get_xlabel()}\n{len(labels)} of {n} pairs, lowest to highest")
