"""`alikely benchmark`: scores of machines against humans, their ceilings and ranks."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

import alikely as al
from alikely._base.files import write_file
from alikely._base.steps import step
from alikely.cli._options import (
    Parser,
    add_inference_options,
    add_kinds,
    add_output_options,
    add_recurring,
)
from alikely.cli._reading import add_file, add_reading_options, read_trials
from alikely.cli._shared import decimals, note_lines, save_plot, told_apart, wide_span
from alikely.metrics import find_metric
from alikely.stats.intervals import percent

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
    add_inference_options(parser)
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
            ci_prob=options.ci_prob,
            ci_kind=options.ci_kind,
            rng=options.seed,
        )
    frame = scores.summary(options.population, options.level)
    ranks = None
    if frame["se"].notna().all() and options.level == "overall" and len(scores.models) > 1:
        ranks = scores.ranks(options.population, rng=options.seed).set_index("system")
    print(_score_table(frame, ranks, options.ci_prob))
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
        print(_sensitivity_table(al.benchmark.sensitivity_band(choices)))
    if options.out is None:
        print("\nNothing was written; --out DIR keeps table, draws and plot.")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    every = scores.summary(options.population, level=None)
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


def _sensitivity_table(band: pd.DataFrame) -> str:
    lines = [
        "",
        "Range of the score over silent choices (missing responses, conditions, pooling,",
        "perfection), of the rank over these and ways to deal with accuracy:",
        f"{'system':<19}{'score':>6}{'range':>17}{'by':>13}{'rank':>5}{'ranks':>7}  by",
    ]
    names = told_apart(band["system"], 18)
    for row in band.sort_values("score", ascending=False).to_dict("records"):
        ranked = row["rank"] == row["rank"]
        own = f"{row['rank']:.0f}" if ranked else ""
        ranks = f"{row['best_rank']:.0f}-{row['worst_rank']:.0f}" if ranked else ""
        span = wide_span(row["lowest"], row["highest"]).strip()
        name = names[row["system"]]
        lines.append(
            f"{name:<19}{decimals(row['score'])}{span:>17}{row['decides']:>13}{own:>5}{ranks:>7}  "
            f"{row['decides_rank']}"
        )
    return "\n".join(lines)


def _score_table(frame: pd.DataFrame, ranks: pd.DataFrame | None, ci_prob: float) -> str:
    """Lay the scores out, best first, in at most 80 columns."""
    level = percent(ci_prob)
    names = f"{'system':<24} {'score':>6} {'se':>6} {level:>16} {'of ceiling':>11}"
    lines = [names + (f" {'rank':>6}" if ranks is not None else "")]
    lower, upper = (c for c in frame if str(c).startswith("analytic_"))
    told = told_apart(frame["system"], 24)
    for _, row in frame.sort_values("estimate", ascending=False).iterrows():
        ceiled = "" if row["ceiled"] != row["ceiled"] else f"{row['ceiled']:.2f}"
        line = (
            f"{told[row['system']]:<24} {decimals(row['estimate'])} {decimals(row['se'])} "
            f"{wide_span(row[lower], row[upper])} {ceiled:>11}"
        )
        if ranks is not None and row["system"] in ranks.index:
            own = ranks.loc[row["system"]]
            line += f" {own['rank_lb']:>3}-{own['rank_ub']}"
        lines.append(line)
    lines += note_lines(frame["note"])
    return "\n".join(lines)
