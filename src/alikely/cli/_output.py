"""Output of subcommands: tables and notes, 80 columns wide or as wide as the terminal."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

import alikely as al
from alikely._base.files import write_figure
from alikely._base.intervals import percent
from alikely._base.names import MISSING, counted, shorten, span, visible
from alikely._base.steps import step
from alikely.cli._running import worded
from alikely.estimates.contrasts import model_means
from alikely.estimates.pair_result import METHODS, shown_methods

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alikely.cli._app import Options
    from alikely.data import Trials
    from alikely.estimates.result import Result

WIDTH, ROWS_SHOWN = 80, 40
# Least width of a column of names, and most letters of a name.
FEWEST, MOST_LETTERS = 6, 160
# A column: name, format (decimals; g; s: text to the right; %) and heading, both optional.
COLUMN = re.compile(r"(?P<name>[^:=]*)(?::(?P<form>[\dgs%]))?(?:=(?P<head>.*))?", re.DOTALL)
PAIR = ("condition", "observer_a=reference", "observer_b=other")
MEANS = (
    "The table shows the mean of each model over its pairs with observers of other kinds. "
    "Intervals generalize to new trials with the same observers. For intervals that generalize to "
    "new humans, use alikely benchmark."
)


def screen() -> Console:
    """Make a console for standard output; if it is a terminal, use its colors and width."""
    stream = sys.stdout
    plain = not stream.isatty() or os.environ.get("TERM") in ("dumb", "unknown")
    # Below what spells out names that would steer the terminal: cells have been through that.
    stream = getattr(stream, "beneath", stream)
    return Console(
        file=stream, width=WIDTH if plain else None, no_color=plain or None,
        force_terminal=False if plain else None, highlight=False, markup=False, emoji=False,
    )  # fmt: skip


def say(*texts: str, hanging: str = "") -> None:
    """Print paragraphs in 80 columns."""
    for text in texts:
        print(textwrap.fill(text, WIDTH, subsequent_indent=hanging))


def show(
    frame: pd.DataFrame,
    columns: Sequence[str],
    *above: str,
    by: str = "",
    part: str = "",
    all_in: str = "--out DIR writes all rows",
) -> None:
    """Print columns of a table and its notes; of a long table, print rows spread over `by`.

    A column is given as ``name``, ``name:3`` (decimals) or ``name:%`` (a fraction), each optionally
    with ``=heading``. If the table lacks this column, the interval from ``name_lb`` to ``name_ub``
    is printed.
    """
    say(*above)
    shown = frame.iloc[spread(frame[by])] if by else frame
    parsed = [_parts(shown, column) for column in columns]
    cells = {head: _cells(shown, name, form) for name, form, head in parsed}
    names = {head for _, form, head in parsed if form == "text"}
    console = screen()
    notes = shown.get("note", pd.Series("", shown.index)).astype(str)
    parts = shown[part].astype(str) if part else notes.map(lambda _: "")
    tall = any("\n" in head for head in cells)
    for value in parts.drop_duplicates():
        if parts.nunique() > 1:
            console.print(Text(f"-- {visible(value)}", style="bold"))
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for head in cells:
            title = f"\n{head}" if tall and "\n" not in head else head
            side: Literal["left", "right"] = "left" if head in names else "right"
            # Names that have no room continue on the next line.
            table.add_column(
                Text(title, justify=side), justify=side, overflow="fold",
                no_wrap=head not in names, min_width=FEWEST if head in names else None,
            )  # fmt: skip
        table.add_column("")
        for i in np.flatnonzero(parts == value):
            row = (Text(column[i]) for column in cells.values())
            table.add_row(*row, "!" if notes.iloc[i] else "")
        console.print(table)
    if len(shown) < len(frame):
        say(f"... and {len(frame) - len(shown)} more; {all_in}")
        named = next((head for name, _, head in parsed if name == by), by.replace("_", " "))
        named = " ".join(named.split())
        said = f"(rows shown: from the lowest to the highest {named}, evenly spaced by rank)"
        say(f"    {said}", hanging="    ")
    show_notes(frame.get("note", notes))


def _parts(frame: pd.DataFrame, column: str) -> tuple[str, str, str]:
    """Name, format and heading of a column."""
    found = COLUMN.fullmatch(column)
    assert found is not None, column
    name, form, head = found["name"], found["form"], found["head"]
    if head is None:
        head = name.removeprefix("n_").replace("_", " ")
        head = head if len(head) < 10 else head.replace(" ", "\n", 1)
    if form is None and name in frame:
        text = not pd.api.types.is_numeric_dtype(frame[name])
        whole = name.startswith("n_") or pd.api.types.is_integer_dtype(frame[name])
        form = "text" if text else "0" if whole else "2"
    return name, form or "2", head


def _cells(frame: pd.DataFrame, name: str, form: str) -> list[str]:
    if form in ("text", "s"):
        texts = (MISSING if pd.isna(text) else str(text) for text in frame[name])
        return [shorten(visible(text), MOST_LETTERS) for text in texts]
    if name not in frame:
        if f"{name}_lb" not in frame:
            return [MISSING] * len(frame)
        bounds = frame[[f"{name}_lb", f"{name}_ub"]].to_numpy(np.float64)
        return [span(low, high, int(form)) for low, high in bounds.tolist()]
    if form == "%":
        return [share(value) for value in frame[name]]
    if form == "g":
        return [f"{value:.5g}" for value in frame[name]]
    return [number(value, int(form)) for value in frame[name]]


def spread(values: ArrayLike, most: int = ROWS_SHOWN) -> NDArray[np.intp]:
    """Return positions of selected values, from lowest to highest and evenly spaced by rank."""
    given = np.asarray(values, dtype=np.float64)
    if len(given) <= most:
        return np.arange(len(given))
    order = np.argsort(given, kind="stable")  # what is undefined comes last
    n = int(np.isfinite(given).sum())
    chosen = order[:n][np.linspace(0, n - 1, min(n, most)).round().astype(int)]
    return np.sort(np.append(chosen, order[n:][: most - len(chosen)]))


def show_notes(notes: pd.Series) -> None:
    """Print each note once, with its number of rows."""
    told = notes[notes != ""].str.split("; ").explode()
    # Figures that differ from row to row are left to the table.
    alike = told.str.replace(r" \(-?\d[^)]*\)$", "", regex=True)
    several = told.groupby(alike).transform("nunique") > 1
    for note, count in told.where(~several, alike).value_counts().items():
        named = worded(note, ("--no-response", "--generalize-to", "--cluster"))
        say(f"! {named} ({counted(count, 'row')})", hanging="  ")


def number(value: float, places: int = 2) -> str:
    """Format a number, or write a dash if it is missing."""
    return MISSING if value != value else f"{value:,.{places}f}"


def share(value: float) -> str:
    """Format a fraction as a percentage."""
    if value != value:
        return MISSING
    if value < 5e-4:
        return "< 0.1%"
    return f"{100 * value:.1f}%" if value < 0.9995 else "100%"


def interval_of(frame: pd.DataFrame, start: str = "") -> str:
    """Name of the first interval that begins with `start`; else empty."""
    names = (str(name) for name in frame)
    return next((n[:-3] for n in names if n.startswith(start) and n.endswith("_lb")), "")


def with_ranks(frame: pd.DataFrame, ranks: pd.DataFrame) -> pd.DataFrame:
    """Add the rank sets of systems to a table."""
    own = ranks.set_index("system").reindex(frame["system"])
    sets = [
        f"{low:.0f}-{high:.0f}" if np.isfinite(low) else ""
        for low, high in own[["rank_lb", "rank_ub"]].to_numpy(np.float64).tolist()
    ]
    return frame.assign(rank=sets)


def save_plot(draw: Callable[..., Any], path: Path) -> None:
    """Save a plot to a file, without a display."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    def drawn() -> Figure:
        draw()
        return plt.gcf()

    # A dollar sign in a name does not begin a formula.
    with mpl.rc_context({"text.parse_math": False}):
        write_figure(drawn, path, dpi=150)
    plt.close()


def kinds_of(trials: Trials, label: str = "kind") -> dict[str, str]:
    """Kind, or another label, of each observer."""
    return dict(zip(trials.observers, trials.data[label].values.tolist(), strict=True))


def show_result(o: Options, result: Result, trials: Trials | None = None) -> None:
    """Print the table and the means of models; write the table, the draws and a plot."""
    intervals = o.given.get("intervals")
    frame, metric = result.summary(intervals=intervals), result.metric
    level = percent(float(result.data.attrs["ci_prob"]))
    if "n_errors_a" in frame:
        frame["n_errors"] = frame["n_errors_a"] + frame["n_errors_b"]
    heads = {m: m for m in METHODS} | {"posterior": metric.posterior_label}
    column, count = metric.rests_on
    columns = [*PAIR, f"{column}:g={count}", f"estimate:2={metric.short}"]
    for method in shown_methods(result, intervals):
        columns.append(f"{interval_of(frame, method)}={heads[method]}\n{level}")
    show(frame, columns, by="estimate", part="dataset")
    n_pairs = len(frame[["observer_a", "observer_b"]].drop_duplicates())
    several = f", {len(frame):,} estimates" if n_pairs < len(frame) else ""
    n_undefined = frame["estimate"].isna().sum()
    print(f"\n{counted(n_pairs, 'pair')}{several}; undefined estimates: {n_undefined}.")
    with step("means of models"):
        kinds = {} if trials is None else kinds_of(trials)
        means = model_means(result, kinds, intervals)
    if means is not None:
        columns = ["model=model", "n_pairs", f"estimate={metric.short}"]
        if "method" in means:
            columns.append(
                f"interval={', '.join(heads[m] for m in means['method'].unique() if m)}\n{level}"
            )
        columns += [f"{m}={heads[m]}\n{level}" for m in METHODS if f"{m}_lb" in means]
        named = means.rename(columns={"lb": "interval_lb", "ub": "interval_ub"})
        show(named, columns, "", MEANS, by="estimate")
        o.table(f"{metric.name}_means", means)
    o.table(metric.name, frame)
    o.write(f"{metric.name}.nc", result.save)
    o.plot(metric.name, lambda: _draw(result))


def _draw(result: Result) -> None:
    """Draw the intervals of the pairs that are printed."""
    labels = result.table["pair"].values[spread(result.estimates["estimate"].values)].tolist()
    ax: Any = al.plot_intervals(result, which=labels)
    if len(labels) < (n := result.table.sizes["pair"]):
        # Above the axes is the legend.
        ax.set_xlabel(f"{ax.get_xlabel()}\n{len(labels)} of {n} estimates, lowest to highest")
