"""`alikely benchmark`: scores of models against humans, their ceilings and ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import alikely as al
from alikely._base.intervals import percent
from alikely._base.steps import step
from alikely.cli._app import Options, subcommand
from alikely.cli._tables import (
    Cell,
    Folder,
    between,
    ends,
    num,
    number,
    rank_cell,
    say,
    show,
    show_notes,
)

if TYPE_CHECKING:
    import pandas as pd


@subcommand(al.benchmark_scores, al.Benchmark.summary, omit=("intervals",))
def benchmark(
    o: Options,
    *,
    verdict: list[tuple[str, str]] | None = None,
    sensitivity: bool = False,
    population: Literal["images", "humans", "crossed"] = "crossed",
) -> None:
    """Score models against humans, with ceilings, intervals and ranks.

    The score of a model is its mean error consistency (or another metric) with the humans, over
    conditions, then humans, then data sets. FILE is as for alikely compare, with a column kind.

    Parameters
    ----------
    verdict : list
        Test the difference of two models, alone and among all; as often as you like.
    sensitivity : bool
        Also show how scores depend on missing responses, excluded conditions and pooling.
    population : str
        What is treated as a random sample: images, humans, or both (crossed, the default).
    """
    trials = o.trials()
    with step("scores of models against humans"), al.options(ci_prob=o.ci_prob):
        scores = al.benchmark_scores(trials, **o.of(al.benchmark_scores))
    level = o.level
    frame = scores.summary(population, level).sort_values("estimate", ascending=False)
    columns: dict[str, Cell] = {
        "system": "system",
        "score": num("estimate", 3),
        "se": num("se", 3),
        percent(o.ci_prob): between([c for c in ends(frame) if not c.startswith("ceiled_")][:2], 3),
        "of ceiling": lambda row: number(row["ceiled"]).replace("-", ""),
    }
    valid = frame["se"].notna().all() and len(ends(frame)) > 0
    if valid and level == "overall" and len(scores.models) > 1:
        columns["rank"] = rank_cell(scores.ranks(population, rng=o.seed))
    show(frame, columns)
    show_notes(frame["note"])
    said = scores.data.attrs
    print(f"one person within: {said['people']}; one image within: {said['items']}")
    for first, second in verdict or ():
        say("", str(scores.verdict(first, second, population, level)))
    files = Folder(o.out, "table, draws and plot")
    files.table("benchmark", scores.summary(population, level=None, intervals="all"))
    files.file("benchmark.nc", scores.save)
    files.plot("benchmark", lambda: al.plot_benchmark(scores, population=population, level=level))
    files.table("ceilings", scores.ceilings(population))
    if sensitivity:
        with step("analysis choices"):
            choices = al.benchmark.sensitivity(trials, **o.pick("exclude", "missing"))
        _show_sensitivity(al.benchmark.sensitivity_band(choices))
        files.table("sensitivity", choices)
    files.close()


def _show_sensitivity(band: pd.DataFrame) -> None:
    """Range of the score and the rank of each model across analysis choices."""
    columns: dict[str, Cell] = {
        "system": "system",
        "score": num("score", 3),
        "range": between(("lowest", "highest"), 3),
        "by": "decides",
        "rank": lambda row: number(row["rank"], 0),
        "ranks": lambda row: (
            f"{row['best_rank']:.0f}-{row['worst_rank']:.0f}" if row["rank"] == row["rank"] else ""
        ),
        "by ": "decides_rank",
    }
    above = (
        "Range of the scores across analysis choices (missing responses, conditions, pooling, "
        "perfection), and of the ranks across these and ways to deal with accuracy:"
    )
    show(band.sort_values("score", ascending=False), columns, ["", above])
