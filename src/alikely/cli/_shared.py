"""What the verbs share: their options, the table of a result, its files and its plot."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from alikely._base.files import write_figure, write_file
from alikely.stats.intervals import percent

if TYPE_CHECKING:
    import pandas as pd

    from alikely.estimates.result import Result
    from alikely.metrics import Metric

ROWS_SHOWN = 40
ROWS_DRAWN = 40


class Parser(argparse.ArgumentParser):
    """Bad options end in one line, as bad data do."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"alikely: {message}; see {self.prog} --help\n")


type Verbs = argparse._SubParsersAction[Parser]


def add_inference_options(parser: Parser, resamples: int = 10_000) -> None:
    """Options of the verbs that read trials and infer from them."""
    parser.add_argument(
        "--no-response",
        default="error",
        choices=["error", "drop"],
        help="count a missing response as an error (default), or drop the trial from the pair",
    )
    parser.add_argument(
        "--resamples",
        type=int,
        default=resamples,
        metavar="N",
        help=f"bootstrap replicates (default {resamples})",
    )
    parser.add_argument(
        "--draws",
        type=int,
        default=4_000,
        metavar="N",
        help="posterior draws (default 4000)",
    )


def add_output_options(parser: Parser, folder: str | None = None) -> None:
    """Options of every verb; `folder` is where files go without ``--out``."""
    parser.add_argument(
        "--ci-prob",
        type=float,
        default=0.95,
        metavar="P",
        help="interval probability (default 0.95)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="seed; the same gives the same result (default 1)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=folder,
        metavar="DIR",
        help="folder for the table (csv), all draws (netCDF) and the plot (PNG)"
        + (f" (default {folder})" if folder else "; nothing is written without it"),
    )


def report(result: Result, folder: Path | None, ci_prob: float) -> None:
    """Print the table, write the files, say where they are."""
    frame, metric = result.summary(), result.metric
    name = metric.name
    if "n_errors_a" in frame:
        frame["n_errors"] = frame["n_errors_a"] + frame["n_errors_b"]
    print(_table(frame, ci_prob, metric))
    n_undefined = int(frame["estimate"].isna().sum())
    print(f"\n{len(frame)} pairs; {n_undefined} with an undefined estimate.")
    if folder is None:
        print("Nothing was written; --out DIR keeps table, draws and plot.")
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / f"{name}.csv", frame.to_csv(index=False))
    result.save(folder / f"{name}.nc")
    _draw(result, folder / f"{name}.png")
    print(f"Written to {folder}: {name}.csv, .nc (all draws), .png (plot)")


def _table(frame: pd.DataFrame, ci_prob: float, metric: Metric) -> str:
    """Lay the summary out in at most 80 columns, readable without colour."""
    level = percent(ci_prob)
    column, counted = metric.rests_on
    # A short name that is too long for its column stands above it.
    above, short = ("", metric.short) if len(metric.short) <= 5 else (metric.short, "")
    shown = frame.head(ROWS_SHOWN)
    # A column more, where it helps to tell long names apart.
    wide = 12 if shown["observer_a"].str.len().max() > 11 else 11
    first, second = told_apart(shown["observer_a"], wide), told_apart(shown["observer_b"], 12)
    names = f"{'condition':<10} {'reference':<{wide}} {'other':<12} {counted:>6} {short:>5}"
    lines = [
        f"{above:>{len(names)}} {'bootstrap':>14} {metric.posterior_label:>14}",
        f"{names} {level:>14} {level:>14}",
    ]
    dataset = None
    several = frame["dataset"].nunique() > 1
    for _, row in shown.iterrows():
        if several and row["dataset"] != dataset:
            dataset = row["dataset"]
            lines.append(f"-- {dataset}")
        lines.append(
            f"{shorten(row['condition'], 10):<10} {first[row['observer_a']]:<{wide}} "
            f"{second[row['observer_b']]:<12} {row[column]:>6} {number(row['estimate'])} "
            f"{_bounds(row, 'bootstrap')} {_bounds(row, 'posterior')}"
            + ("!" if row["note"] else "")
        )
    if len(frame) > ROWS_SHOWN:
        lines.append(f"... and {len(frame) - ROWS_SHOWN} more; --out DIR keeps all of them")
    lines += note_lines(frame["note"])
    return "\n".join(lines)


def note_lines(notes: pd.Series) -> list[str]:
    told = notes[notes != ""].str.split("; ").explode()
    # Figures that differ from row to row are left to the table.
    alike = told.str.replace(r" \(-?\d[^)]*\)$", "", regex=True)
    several = told.groupby(alike).transform("nunique") > 1
    counts = told.where(~several, alike).value_counts()
    lines = [f"! {note} ({count} row{'s' * (count > 1)})" for note, count in counts.items()]
    return [textwrap.fill(line, 80, subsequent_indent="  ") for line in lines]


def shorten(text: str, width: int, n_last: int = 0) -> str:
    """The first characters and the last, which a long text keeps on request."""
    if len(text) <= width:
        return text
    return text[: width - 1 - n_last] + "~" + text[len(text) - n_last :]


def told_apart(names: Iterable[str], width: int) -> dict[str, str]:
    """Names in so many characters, with as many of their last as tell them apart, if any do."""
    every = set(names)
    for n_last in range(width - 1):
        short = {name: shorten(name, width, n_last) for name in every}
        if len(set(short.values())) == len(every):
            return short
    return {name: shorten(name, width) for name in every}


def number(value: float) -> str:
    return "    -" if value != value else f"{value:5.2f}"


def _bounds(row: pd.Series, school: str) -> str:
    values = [row[name] for name in row.index if re.match(rf"{school}_\w+?[\d.]+_[lu]b$", name)]
    return span(*values) if values else f"{'-':>14}"


def span(lower: float, upper: float) -> str:
    return f"{'-':>14}" if lower != lower else f"[{lower:5.2f}, {upper:5.2f}]"


def save_plot(draw: Callable[..., Any], path: Path, *arguments: Any) -> None:
    """Draw into a file, without a screen."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    draw(*arguments)
    write_figure(plt.gcf(), path, dpi=150)
    plt.close()


def _draw(result: Result, path: Path) -> None:
    from alikely.plots import plot_intervals

    labels = result.table["pair"].values[:ROWS_DRAWN].tolist()

    def intervals() -> None:
        ax = plot_intervals(result, which=labels)
        if len(labels) < result.table.sizes["pair"]:
            # Above the axes stands the legend.
            part = f"first {len(labels)} of {result.table.sizes['pair']} pairs"
            ax.set_xlabel(f"{ax.get_xlabel()}\n{part}")

    save_plot(intervals, path)
