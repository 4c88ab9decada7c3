"""`alikely compare`: the errors of all pairs of a file, by one metric or several."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import alikely as al
from alikely.cli._shared import (
    SHORT,
    Parser,
    Verbs,
    add_inference_options,
    add_output_options,
    number,
    report,
)

if TYPE_CHECKING:
    import pandas as pd

    from alikely.results import Result

FRONT_DOORS = {
    "ec": "error_consistency",
    "ma": "misclassification_agreement",
    "cles": "error_similarity",
}


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
        choices=[*FRONT_DOORS, "all"],
        help="ec: error consistency (default); ma: misclassification agreement, whether both give "
        "the same wrong answer; cles: class-level error similarity, whether both mistake the same "
        "for the same; all: these three and how they correlate over pairs",
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
    for metric in FRONT_DOORS if options.metric == "all" else [options.metric]:
        result = getattr(al, FRONT_DOORS[metric])(
            trials,
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
            correlations.to_csv(options.out / "metric_correlations.csv", index=False)
            print(f"Written to {options.out}: metric_correlations.csv")


def _correlation_table(correlations: pd.DataFrame, ci_prob: float) -> str:
    """Lay out the mean over domains and the correlation over all pairs."""
    lower, upper = (name for name in correlations if str(name).startswith("bootstrap_"))
    lines = [
        "",
        "Spearman correlation of the metrics over pairs (intervals over systems):",
        f"{'metrics':<12}{'over':<20}{'pairs':>7}{'rho':>7}{f'{100 * ci_prob:g} %':>17}",
    ]
    kinds = {"mean": "mean of conditions", "global": "all pairs together"}
    for _, row in correlations[correlations["domain"].isin(kinds)].iterrows():
        both = f"{SHORT[row['metric']]}, {SHORT[row['other']]}"
        lines.append(
            f"{both:<12}{kinds[row['domain']]:<20}{row['n_pairs']:>7}{number(row['correlation']):>7}"
            f"  [{row[lower]:5.2f}, {row[upper]:5.2f}]"
        )
    return "\n".join(lines)
