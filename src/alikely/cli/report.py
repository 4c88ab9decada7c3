"""`alikely report`: one page of HTML of trials, or of results that were saved."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

import alikely as al
from alikely._base.steps import step
from alikely.cli._options import (
    Parser,
    add_cluster,
    add_inference_options,
    add_kinds,
    add_pairs,
    add_recurring,
    add_while_running,
    pairs_of,
)
from alikely.cli._reading import add_file, add_reading_options, read_trials
from alikely.metrics import find_metric

if TYPE_CHECKING:
    from alikely.data import Trials
    from alikely.estimates.tree import Tree

DESCRIPTION = (
    "One page of HTML to keep and send, without anything from elsewhere: data as read, findings in "
    "sentences, estimates by three schools of inference, tests, differences, ranks, ceilings, "
    "methods and references. FILE as for alikely compare, with scores as of alikely benchmark "
    "where there are humans and models; or results saved as netCDF (.nc), "
    "whose analysis stays as it was."
)
SAVED = ".nc"
# Of human and model; everybody, where there are no such kinds.
BY_KIND = "by kind"
# Of more conditions, such as levels of a distortion, differences answer no question.
MOST_CONDITIONS = 6


def add_options(parser: Parser) -> None:
    """Add the options of the verb."""
    add_file(parser)
    parser.add_argument(
        "--metric",
        default="ec",
        metavar="NAME",
        help="ec (default), or any other metric of answers by name, one of your own as "
        "module:ATTRIBUTE",
    )
    add_pairs(
        parser,
        "all, human-model, ...: kinds as in the column kind (default: models with humans where "
        "there are both, else all)",
        BY_KIND,
    )
    parser.add_argument(
        "--by",
        default="condition",
        choices=["condition", "dataset", "none"],
        help="count within each condition of each data set (default), data set, or over all",
    )
    add_recurring(parser, "for scores: ")
    parser.add_argument(
        "--exclude",
        choices=["model-vs-human"],
        help="leave out the conditions that this benchmark leaves out",
    )
    parser.add_argument(
        "--missing",
        default="error",
        choices=["error", "available"],
        help="for scores: refuse models that lack a data set (default), or average over what they "
        "have",
    )
    add_kinds(parser)
    add_cluster(parser)
    add_reading_options(parser)
    add_inference_options(parser, resamples=2_000)
    parser.add_argument(
        "--null-draws",
        type=int,
        default=2_000,
        metavar="N",
        help="replicates of independent observers behind p values of metrics of correctness "
        "(default 2000)",
    )
    parser.add_argument("--title", metavar="TEXT", help="of the page")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("report.html"),
        metavar="HTML",
        help="file to write (default report.html)",
    )
    parser.set_defaults(one_file=True)
    add_while_running(parser)


def run(options: argparse.Namespace) -> None:
    """Analyse, or load what was analysed; write the page and say where it is."""
    saved = [str(path).lower().endswith(SAVED) for path in options.file]
    if any(saved) and not all(saved):
        raise ValueError("FILE is of trials or of saved results (.nc), not of both")
    trials: Trials | None = None
    remarks: list[str] = []
    if all(saved):
        from alikely.report import load_saved

        results: list[Tree | al.benchmark.ReaderStudy] = [load_saved(path) for path in options.file]
    else:
        trials = read_trials(options, options.file)
        if options.exclude is not None:
            every, trials = trials, al.exclude_conditions(trials, options.exclude)
            remarks.append(_left_out(every, trials, options.exclude))
        results = _analysed(options, trials, remarks)
    import matplotlib as mpl

    mpl.use("Agg")  # there may be no screen
    page = al.report.make_report(*results, trials=trials, title=options.title, remarks=remarks)
    page.save(options.out)
    size = options.out.stat().st_size
    print(f"Written to {options.out}: {page.title!r}, {size / 1e6:.1f} MB")
    for failure in page.failures:
        print(f"! not shown: {failure}")
    for remark in remarks:
        print(f"! {remark}")


def _left_out(every: Trials, kept: Trials, why: str) -> str:
    """What was left out before anything was counted."""
    names = ["dataset", "condition"]
    conditions = [
        len(pd.DataFrame({name: one.data[name].values for name in names}).drop_duplicates())
        for one in (every, kept)
    ]
    return (
        f"Left out before all else, as {why!r} has it: {conditions[0] - conditions[1]} of "
        f"{conditions[0]} conditions, {every.n_trials - kept.n_trials:,} of {every.n_trials:,} "
        "trials."
    )


def _analysed(
    options: argparse.Namespace, trials: Trials, remarks: list[str]
) -> list[Tree | al.benchmark.ReaderStudy]:
    """All pairs, scores where there are humans and models, and reader studies."""
    metric = find_metric(options.metric)
    kinds = set(map(str, trials.data["kind"].values))
    both = {options.models, options.humans} <= kinds
    pairs = pairs_of(options)
    if pairs == BY_KIND:
        pairs = f"{options.humans}-{options.models}" if both else "all"
    own = {"n_null": options.null_draws} if metric.counts == "correctness" else {}
    results: list[Tree | al.benchmark.ReaderStudy] = [
        al.compare(
            trials,
            metric,
            pairs=pairs,
            by=None if options.by == "none" else options.by,
            no_response=options.no_response,
            n_resamples=None if "bootstrap" in metric.unreliable else options.resamples,
            n_draws=options.draws,
            cluster=options.cluster,
            ci_prob=options.ci_prob,
            ci_kind=options.ci_kind,
            rng=options.seed,
            **own,
        )
    ]
    if both:
        try:
            with step("scores of machines against humans"):
                results.append(_scores(options, trials))
        except ValueError as error:
            remarks.append(f"There are no scores, ranks and ceilings: {error}")
    study = _study(options, trials, remarks)
    return results if study is None else [study, *results]


def _study(
    options: argparse.Namespace, trials: Trials, remarks: list[str]
) -> al.benchmark.ReaderStudy | None:
    """Differences between conditions, of readers with one other observer or among themselves."""
    data = trials.data
    n_conditions = len(set(map(str, data["condition"].values)))
    kinds = [str(kind) for kind in data["kind"].values]
    readers = options.humans if options.humans in kinds else kinds[0]
    others = [n for n, kind in zip(trials.observers, kinds, strict=True) if kind != readers]
    several = len(set(map(str, data["dataset"].values))) > 1
    if several or len(others) > 1 or not 2 <= n_conditions <= MOST_CONDITIONS:
        return None
    try:
        with step("differences between conditions"):
            return al.benchmark.reader_study(
                trials,
                others[0] if others else None,
                find_metric(options.metric),
                readers=readers,
                no_response=options.no_response,
                ci_prob=options.ci_prob,
            )
    except ValueError as error:
        remarks.append(f"There are no differences between conditions: {error}")
        return None


def _scores(options: argparse.Namespace, trials: Trials) -> Tree:
    return al.benchmark_scores(
        trials,
        metric=find_metric(options.metric),
        models=options.models,
        humans=options.humans,
        people=options.people,
        items=options.items,
        missing=options.missing,
        no_response=options.no_response,
        n_resamples=options.resamples,
        n_draws=options.draws,
        ci_prob=options.ci_prob,
        ci_kind=options.ci_kind,
        rng=options.seed,
    )
