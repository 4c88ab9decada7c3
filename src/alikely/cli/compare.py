"""`alikely compare`: the errors of all pairs of a file, by one metric or several."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import alikely as al
from alikely._base.files import write_file
from alikely.cli._shared import (
    Parser,
    Verbs,
    add_inference_options,
    add_output_options,
    number,
    report,
)
from alikely.metrics import find_metric, get_metric
from alikely.stats.intervals import percent

if TYPE_CHECKING:
    import pandas as pd

    from alikely.estimates.result import Result

# Three questions of errors: on the same trials, the same wrong answers, the same confusions.
ALL = ("EC", "MA", "CLES")


def add_parser(verbs: Verbs) -> Parser:
    """Add the verb and its options."""
    parser = verbs.add_parser(
        "compare",
        help="compare the errors of all pairs of a csv or parquet file",
        description=(
            "Error consistency of pairs of observers (or another metric), with bootstrap and "
            "posterior intervals. FILE has one row per observer and trial, with columns "
            "observer, item (or image), truth, response, and optionally condition, dataset, "
            "repeat, kind; or correct (0/1) in place of truth and response. An empty response "
            "means: shown, not answered."
        ),
    )
    parser.add_argument("file", metavar="FILE", help=".csv, .csv.gz or .parquet")
    parser.add_argument(
        "--pairs",
        default="all",
        metavar="KIND-KIND",
        help="all (default), human-model, human-human, ...: kinds as in the column kind",
    )
    parser.add_argument(
        "--by",
        default="condition",
        choices=["condition", "dataset", "none"],
        help="count within each condition of each data set (default), data set, or over all",
    )
    parser.add_argument(
        "--metric",
        default="ec",
        metavar="NAME",
        help="ec: error consistency (default); ma: misclassification agreement, whether both give "
        "the same wrong answer; cles: class-level error similarity, whether both mistake the same "
        "for the same; all: these three and how they correlate over pairs; copying, normalised, "
        "or any other metric by name, one of your own as module:ATTRIBUTE",
    )
    parser.add_argument(
        "--sampler",
        default="auto",
        choices=["auto", "exact", "nuts"],
        help="exact posterior draws (default), or Markov chains",
    )
    add_inference_options(parser)
    add_output_options(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Print and write one table for each metric, then how the metrics correlate."""
    trials = al.Trials.read(options.file)
    results: list[Result] = []
    asked = ALL if options.metric == "all" else (options.metric,)
    # All names are looked up before any work is done.
    for metric in [find_metric(name) for name in asked]:
        result = al.compare(
            trials,
            metric,
            pairs=options.pairs,
            by=None if options.by == "none" else options.by,
            no_response=options.no_response,
            n_resamples=options.resamples,
            n_draws=options.draws,
            sampler=options.sampler,
            ci_prob=options.ci_prob,
            rng=options.seed,
        )
        if results:
            print()
        report(result, options.out, options.ci_prob)
        results.append(result)
    if len(results) > 1:
        correlations = al.metric_correlations(results, ci_prob=options.ci_prob, rng=options.seed)
        print(_correlation_table(correlations, options.ci_prob))
        if options.out is not None:
            write_file(options.out / "metric_correlations.csv", correlations.to_csv(index=False))
            print(f"Written to {options.out}: metric_correlations.csv")


def _correlation_table(correlations: pd.DataFrame, ci_prob: float) -> str:
    """Lay out the mean over domains and the correlation over all pairs."""
    lower, upper = (name for name in correlations if str(name).startswith("bootstrap_"))
    lines = [
        "",
        "Spearman correlation of the metrics over pairs (intervals over systems):",
        f"{'metrics':<12}{'over':<20}{'pairs':>7}{'rho':>7}{percent(ci_prob):>17}",
    ]
    kinds = {"mean": "mean of conditions", "global": "all pairs together"}
    for _, row in correlations[correlations["domain"].isin(kinds)].iterrows():
        both = ", ".join(get_metric(row[name]).short for name in ("metric", "other"))
        lines.append(
            f"{both:<12}{kinds[row['domain']]:<20}{row['n_pairs']:>7}{number(row['correlation']):>7}"
            f"  [{row[lower]:5.2f}, {row[upper]:5.2f}]"
        )
    return "\n".join(lines)
