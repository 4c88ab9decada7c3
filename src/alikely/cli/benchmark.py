"""`alikely benchmark`: scores of machines against humans, their ceilings and ranks."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

import alikely as al
from alikely._base.files import write_file
from alikely._base.intervals import percent
from alikely._base.steps import step
from alikely.cli._options import (
    Parser,
    add_inference_options,
    add_kinds,
    add_output_options,
    add_prior,
    add_recurring,
    prior_of,
)
from alikely.cli._reading import add_file, add_reading_options, read_trials
from alikely.cli._shared import save_plot
from alikely.cli._tables import DASH, Column, Table, note_lines, number, rank_cell, span
from alikely.metrics import find_metric

if TYPE_CHECKING:
    import pandas as pd


DESCRIPTION = (
    "Mean error consistency (or another metric) of each model with the humans (over "
    "conditions, then humans, then data sets), the human-human ceiling, intervals for new "
    "images and humans, and a ranking that admits ties. FILE as for alikely compare, with "
    "a column kind."
)


def add_options(parser: Parser) -> None:
    """Add the options of the verb."""
    parser.add_argument(
        "--metric",
        default="ec",
        metavar="NAME",
        help="what is averaged: ec (default), ma, cles, copying, normalised, any other metric of "
        "answers by name, one of your own as module:ATTRIBUTE",
    )
    parser.add_argument(
        "--cohort",
        action="store_true",
        help="also fit the cohort copy model, for scores with a new human (minutes)",
    )
    parser.add_argument(
        "--sensitivity",
        action="store_true",
        help="also show what missing responses, excluded conditions and pooling decide",
    )
    add_file(parser)
    parser.add_argument(
        "--exclude",
        choices=["model-vs-human"],
        help="leave out the conditions that this benchmark leaves out",
    )
    add_recurring(parser)
    parser.add_argument(
        "--population",
        default="crossed",
        choices=["images", "humans", "crossed"],
        help="what is thought of as drawn anew; crossed (default): images and humans",
    )
    parser.add_argument(
        "--level", default="overall", help="a data set, or overall (default): the mean over them"
    )
    parser.add_argument(
        "--verdict",
        nargs=2,
        action="append",
        metavar=("A", "B"),
        help="judge the difference of two models, alone and among all (as often as you like)",
    )
    parser.add_argument(
        "--missing",
        default="error",
        choices=["error", "available"],
        help="refuse models that lack a data set (default), or average over what they have",
    )
    add_kinds(parser)
    add_reading_options(parser)
    add_inference_options(parser, resamples=0)
    add_prior(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print and write the scores, and what silent choices make of them."""
    trials = read_trials(options, options.file)
    with step("scores of machines against humans"):
        scores = al.benchmark_scores(
            trials,
            metric=find_metric(options.metric),
            models=options.models,
            humans=options.humans,
            people=options.people,
            items=options.items,
            exclude=options.exclude,
            missing=options.missing,
            no_response=options.no_response,
            cohort=options.cohort,
            n_resamples=options.resamples,
            n_draws=options.draws,
            prior=prior_of(options.prior),
            ci_prob=options.ci_prob,
            ci_kind=options.ci_kind,
            rng=options.seed,
        )
    frame = scores.summary(options.population, options.level)
    ranks = None
    valid = frame["se"].notna().all() and frame.filter(regex="_lb$").shape[1] > 0
    if valid and options.level == "overall" and len(scores.models) > 1:
        ranks = scores.ranks(options.population, rng=options.seed).set_index("system")
    _score_table(frame, ranks, options.ci_prob).show()
    said = scores.data.attrs
    print(f"one person within: {said['people']}; one image within: {said['items']}")
    for first, second in options.verdict or ():
        verdict = scores.verdict(first, second, options.population, options.level)
        print("\n" + textwrap.fill(str(verdict), 80))
    choices = None
    if options.sensitivity:
        with step("what silent choices decide"):
            choices = al.benchmark.sensitivity(
                trials, exclude=options.exclude, missing=options.missing
            )
        _sensitivity_table(al.benchmark.sensitivity_band(choices)).show()
    if options.out is None:
        print("\nNothing was written; --out DIR keeps table, draws and plot.")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    every = scores.summary(options.population, level=None, intervals="all")
    write_file(options.out / "benchmark.csv", every.to_csv(index=False))
    scores.save(options.out / "benchmark.nc")
    save_plot(
        al.plot_benchmark,
        options.out / "benchmark.png",
        scores,
        options.population,
        options.level,
    )
    ceilings = scores.ceilings(options.population)
    write_file(options.out / "ceilings.csv", ceilings.to_csv(index=False))
    written = "benchmark.csv (all levels), .nc (all draws), .png (plot), ceilings.csv"
    if choices is not None:
        write_file(options.out / "sensitivity.csv", choices.to_csv(index=False))
        written += ", sensitivity.csv"
    print(f"\nWritten to {options.out}: {written}")


def _sensitivity_table(band: pd.DataFrame) -> Table:
    """How far the score and the rank of each machine go over silent choices."""
    table = Table(
        [
            Column("system", 18, left=True, names="system"),
            Column("score", 6, strong=True),
            Column("range", 16),
            Column("by", 12),
            Column("rank", 4),
            Column("ranks", 6),
            Column("by", 12, left=True),
        ],
        [
            "",
            "Range of the score over silent choices (missing responses, conditions, pooling,",
            "perfection), of the rank over these and ways to deal with accuracy:",
        ],
    )
    for row in band.sort_values("score", ascending=False).to_dict("records"):
        ranked = row["rank"] == row["rank"]
        table.row(
            row["system"],
            number(row["score"], 3),
            span(row["lowest"], row["highest"], 3),
            row["decides"],
            f"{row['rank']:.0f}" if ranked else "",
            f"{row['best_rank']:.0f}-{row['worst_rank']:.0f}" if ranked else "",
            row["decides_rank"],
        )
    return table


def _score_table(frame: pd.DataFrame, ranks: pd.DataFrame | None, ci_prob: float) -> Table:
    """The scores, best first."""
    columns = [
        Column("system", 24, left=True, names="system"),
        Column("score", 6, strong=True),
        Column("se", 6),
        Column(percent(ci_prob), 16),
        Column("of ceiling", 11),
    ]
    table = Table([*columns, Column("rank", 6)] if ranks is not None else columns)
    ends = [c for c in frame if str(c).endswith(("_lb", "_ub")) and not c.startswith("ceiled_")]
    for _, row in frame.sort_values("estimate", ascending=False).iterrows():
        cells = [
            row["system"],
            number(row["estimate"], 3),
            number(row["se"], 3),
            span(row[ends[0]], row[ends[1]], 3) if ends else DASH,
            "" if row["ceiled"] != row["ceiled"] else number(row["ceiled"]),
        ]
        table.row(*cells, *rank_cell(ranks, row["system"]))
    table.say(*note_lines(frame["note"]))
    return table
