"""What the verbs share: the table of a result, its files and its plot."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from alikely._base.files import write_figure, write_file
from alikely._base.intervals import percent
from alikely._base.numbers import counted
from alikely._base.steps import step
from alikely.cli._tables import (
    DASH,
    ROWS_SHOWN,
    Column,
    Table,
    cut_lines,
    note_lines,
    number,
    span,
    spread,
)
from alikely.estimates.observer_means import machine_means
from alikely.estimates.sentences import METHODS, shown_methods

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alikely.data import Trials
    from alikely.estimates.result import Result
    from alikely.metrics import Metric

ROWS_DRAWN = 40


def report(
    result: Result,
    folder: Path | None,
    ci_prob: float,
    trials: Trials | None = None,
    intervals: Literal["all"] | None = None,
) -> None:
    """Print the table and the means of machines, write the files, say where they are."""
    frame, metric = result.summary(intervals=intervals), result.metric
    name = metric.name
    if "n_errors_a" in frame:
        frame["n_errors"] = frame["n_errors_a"] + frame["n_errors_b"]
    _table(frame, ci_prob, metric, shown_methods(result, intervals)).show()
    n_undefined = int(frame["estimate"].isna().sum())
    n_pairs = len(frame[["observer_a", "observer_b"]].drop_duplicates())
    several = f", {len(frame):,} estimates" if n_pairs < len(frame) else ""
    print(f"\n{counted(n_pairs, 'pair')}{several}; {n_undefined} with an undefined estimate.")
    with step("means of machines"):
        means = machine_means(result, {} if trials is None else _kinds(trials), intervals)
    if means is not None:
        _mean_table(means, ci_prob, metric).show()
    if folder is None:
        print("Nothing was written; --out DIR keeps table, draws and plot.")
        return
    folder.mkdir(parents=True, exist_ok=True)
    with step(f"writing to {folder}"):
        write_file(folder / f"{name}.csv", frame.to_csv(index=False))
        result.save(folder / f"{name}.nc")
        _draw(result, folder / f"{name}.png")
    written = f"{name}.csv, .nc (all draws), .png (plot)"
    if means is not None:
        write_file(folder / f"{name}_means.csv", means.to_csv(index=False))
        written += f", {name}_means.csv"
    print(f"Written to {folder}: {written}")


def _table(frame: pd.DataFrame, ci_prob: float, metric: Metric, methods: Sequence[str]) -> Table:
    """The table of pairs, by data set."""
    level = percent(ci_prob)
    column, counted = metric.rests_on
    shown = frame.iloc[spread(frame["estimate"], ROWS_SHOWN)]
    table = Table(
        [
            Column("condition", 10, left=True, names="condition"),
            Column("reference", 11, left=True, names="observer"),
            Column("other", 12, left=True, names="observer"),
            Column(counted, 6),
            Column(metric.short, 5, strong=True),
            *(Column(level, 14, over=_over(name, metric)) for name in methods),
        ]
    )
    several = frame["dataset"].nunique() > 1
    for _, row in shown.iterrows():
        table.row(
            row["condition"],
            row["observer_a"],
            row["observer_b"],
            f"{row[column]:.5g}",
            number(row["estimate"]),
            *(_bounds(row, name) for name in methods),
            mark="!" * bool(row["note"]),
            part=row["dataset"] if several else "",
        )
    table.say(*cut_lines(len(frame), metric.short), *note_lines(frame["note"]))
    return table


def _over(method: str, metric: Metric) -> str:
    """Heading of the interval of a method."""
    return metric.posterior_label if method == "posterior" else method


def _kinds(trials: Trials) -> dict[str, str]:
    return dict(zip(trials.observers, trials.data["kind"].values.tolist(), strict=True))


def _mean_table(means: pd.DataFrame, ci_prob: float, metric: Metric) -> Table:
    """The table of means of machines."""
    level = percent(ci_prob)
    shown = means.iloc[spread(means["estimate"], ROWS_SHOWN)]
    if "method" in means:
        heads = {"": ", ".join(_over(name, metric) for name in means["method"].unique() if name)}
    else:
        heads = {f"{m}_": _over(m, metric) for m in METHODS if f"{m}_lb" in means}
    table = Table(
        [
            Column("machine", 24, left=True, names="machine"),
            Column("pairs", 5),
            Column(metric.short[:6], 6, strong=True),
            *(Column(level, 14, over=over) for over in heads.values()),
        ],
        [
            "",
            "Mean of each machine over its pairs with observers of other kinds (the same",
            "observers and conditions, new trials; new people: alikely benchmark):",
        ],
    )
    for row in shown.to_dict("records"):
        spans = (span(*(row.get(f"{stem}{end}", np.nan) for end in ("lb", "ub"))) for stem in heads)
        mark = "!" * bool(row["note"])
        table.row(row["machine"], row["n_pairs"], number(row["estimate"]), *spans, mark=mark)
    table.say(*cut_lines(len(means), metric.short), *note_lines(means["note"]))
    return table


def _bounds(row: pd.Series, school: str) -> str:
    values = [row[name] for name in row.index if re.match(rf"{school}_\w+?[\d.]+_[lu]b$", name)]
    return span(*values) if values else DASH


def save_plot(draw: Callable[..., Any], path: Path, *arguments: Any) -> None:
    """Draw into a file, without a screen."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    def drawn() -> Figure:
        draw(*arguments)
        return plt.gcf()

    # Names are no formulas: a dollar in one is a dollar.
    with mpl.rc_context({"text.parse_math": False}):
        write_figure(drawn, path, dpi=150)
    plt.close()


def _draw(result: Result, path: Path) -> None:
    from alikely.plots import plot_intervals

    rows = spread(result.estimates["estimate"].values, ROWS_DRAWN)
    labels = result.table["pair"].values[rows].tolist()

    def intervals() -> None:
        ax = plot_intervals(result, which=labels)
        if len(labels) < result.table.sizes["pair"]:
            # Above the axes stands the legend.
            part = f"{len(labels)} of {result.table.sizes['pair']} pairs, lowest to highest"
            ax.set_xlabel(f"{ax.get_xlabel()}\n{part}")

    save_plot(intervals, path)
