"""What the verbs share: the table of a result, its files and its plot."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from alikely._base.files import write_figure, write_file
from alikely._base.names import visible
from alikely._base.steps import step
from alikely.estimates.observer_means import machine_means
from alikely.stats.intervals import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from alikely.data import Trials
    from alikely.estimates.result import Result
    from alikely.metrics import Metric

ROWS_SHOWN = 40
ROWS_DRAWN = 40


def report(
    result: Result, folder: Path | None, ci_prob: float, trials: Trials | None = None
) -> None:
    """Print the table and the means of machines, write the files, say where they are."""
    frame, metric = result.summary(), result.metric
    name = metric.name
    if "n_errors_a" in frame:
        frame["n_errors"] = frame["n_errors_a"] + frame["n_errors_b"]
    print(_table(frame, ci_prob, metric))
    n_undefined = int(frame["estimate"].isna().sum())
    print(f"\n{len(frame)} pairs; {n_undefined} with an undefined estimate.")
    with step("means of machines"):
        means = machine_means(result, {} if trials is None else _kinds(trials))
    if means is not None:
        print(_mean_table(means, ci_prob, metric))
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


def _table(frame: pd.DataFrame, ci_prob: float, metric: Metric) -> str:
    """Lay the summary out in at most 80 columns, readable without colour."""
    level = percent(ci_prob)
    column, counted = metric.rests_on
    # A short name that is too long for its column stands above it.
    above, short = ("", metric.short) if len(metric.short) <= 5 else (metric.short, "")
    shown = frame.iloc[spread(frame["estimate"], ROWS_SHOWN)]
    # A column more, where it helps to tell long names apart.
    wide = 12 if shown["observer_a"].str.len().max() > 11 else 11
    told = told_apart([*shown["observer_a"], *shown["observer_b"]], 12)
    conditions = told_apart(shown["condition"], 10)
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
            f"{conditions[row['condition']]:<10} {told[row['observer_a']]:<{wide}} "
            f"{told[row['observer_b']]:<12} {row[column]:>6.5g} {number(row['estimate'])} "
            f"{_bounds(row, 'bootstrap')} {_bounds(row, 'posterior')}"
            + ("!" if row["note"] else "")
        )
    lines += cut_lines(len(frame), metric.short)
    lines += note_lines(frame["note"])
    return "\n".join(lines)


def spread(values: ArrayLike, most: int) -> NDArray[np.intp]:
    """Positions of so many values, as they stand: the lowest, the highest and evenly between."""
    given = np.asarray(values, dtype=np.float64)
    if len(given) <= most:
        return np.arange(len(given))
    order = np.argsort(given, kind="stable")  # what is undefined comes last
    n = int(np.isfinite(given).sum())
    chosen = order[:n][np.linspace(0, n - 1, min(n, most)).round().astype(int)]
    return np.sort(np.append(chosen, order[n:][: most - len(chosen)]))


def cut_lines(n_rows: int, of: str, all_in: str = "--out DIR keeps all of them") -> list[str]:
    """What a table that is cut says of the rows that it shows."""
    if n_rows <= ROWS_SHOWN:
        return []
    shown = f"(shown: the lowest and the highest {of}, and evenly between by rank)"
    return [
        f"... and {n_rows - ROWS_SHOWN} more; {all_in}",
        *textwrap.wrap(shown, 80, initial_indent="    ", subsequent_indent="    "),
    ]


def _kinds(trials: Trials) -> dict[str, str]:
    return dict(zip(trials.observers, trials.data["kind"].values.tolist(), strict=True))


def _mean_table(means: pd.DataFrame, ci_prob: float, metric: Metric) -> str:
    """Lay the means out, highest first, in at most 80 columns."""
    level, short = percent(ci_prob), metric.short[:6]
    shown = means.iloc[spread(means["estimate"], ROWS_SHOWN)]
    names = told_apart(shown["machine"], 24)
    lines = [
        "",
        "Mean of each machine over its pairs with observers of other kinds (the same",
        "observers and conditions, new trials; new people: alikely benchmark):",
        f"{'':<37} {'bootstrap':>14} {metric.posterior_label:>14}",
        f"{'machine':<24} {'pairs':>5} {short:>6} {level:>14} {level:>14}",
    ]
    for row in shown.to_dict("records"):
        spans = (
            span(*(row.get(f"{school}_{end}", np.nan) for end in ("lb", "ub")))
            for school in ("bootstrap", "posterior")
        )
        lines.append(
            f"{names[row['machine']]:<24} {row['n_pairs']:>5} {number(row['estimate']):>6} "
            f"{' '.join(spans)}" + ("!" if row["note"] else "")
        )
    return "\n".join([*lines, *cut_lines(len(means), metric.short), *note_lines(means["note"])])


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
    """Names in so many characters, with as many of their last as tell them apart, or numbered."""
    shown = {name: visible(name) for name in dict.fromkeys(names)}
    for n_last in range(width - 1):
        short = {name: shorten(text, width, n_last) for name, text in shown.items()}
        if len(set(short.values())) == len(shown):
            return short
    return _numbered(shown, width)


def _numbered(shown: Mapping[str, str], width: int) -> dict[str, str]:
    """Names that no few letters tell apart, with their number among those cut alike."""
    count: Counter[str] = Counter()
    found: dict[str, str] = {}
    cut = {name: shorten(text, width) for name, text in shown.items()}
    again = {text for text, n in Counter(cut.values()).items() if n > 1}
    for name, text in cut.items():
        if text not in again:
            found[name] = text
            continue
        count[text] += 1
        end = f"~v{count[text]}"
        found[name] = shown[name][: width - len(end)] + end
    return found


def number(value: float, wide: int = 5, places: int = 2) -> str:
    """A number in so many characters and decimals, a dash where there is none."""
    return f"{'-':>{wide}}" if value != value else f"{value:{wide}.{places}f}"


def _bounds(row: pd.Series, school: str) -> str:
    values = [row[name] for name in row.index if re.match(rf"{school}_\w+?[\d.]+_[lu]b$", name)]
    return span(*values) if values else f"{'-':>14}"


def span(lower: float, upper: float, wide: int = 5) -> str:
    """An interval whose bounds have so many characters, a dash where there is none."""
    if lower != lower or upper != upper:
        return f"{'-':>{2 * wide + 4}}"
    return f"[{number(lower, wide)}, {number(upper, wide)}]"


def wide_span(lower: float, upper: float, wide: int = 16) -> str:
    """An interval in three decimals, a dash where there is none."""
    return f"{'-':>{wide}}" if lower != lower or upper != upper else f"[{lower:6.3f}, {upper:6.3f}]"


def decimals(value: float) -> str:
    """A number in three decimals, a dash where there is none."""
    return number(value, 6, 3)


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
