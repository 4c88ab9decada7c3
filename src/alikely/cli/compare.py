"""`alikely compare`: the errors of all pairs of a file, by one metric or several."""

from __future__ import annotations

import argparse
import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

import alikely as al
from alikely._base.files import write_file, write_tree
from alikely._base.intervals import bound_names, percent
from alikely.cli._keywords import groups_of
from alikely.cli._options import (
    Parser,
    add_cluster,
    add_inference_options,
    add_intervals,
    add_output_options,
    add_pairs,
    add_prior,
    pairs_of,
    prior_of,
)
from alikely.cli._reading import add_file, add_reading_options, read_trials
from alikely.cli._shared import report
from alikely.cli._tables import (
    ROWS_SHOWN,
    Column,
    Table,
    cut_lines,
    note_lines,
    number,
    span,
    spread,
)
from alikely.estimates.doors import OF_CELLS
from alikely.estimates.readings import SENTENCE
from alikely.metrics import find_metric, get_metric

if TYPE_CHECKING:
    from alikely.estimates.result import Result
    from alikely.metrics import Metric

# Three questions of errors: on the same trials, the same wrong answers, the same confusions.
ALL = ("EC", "MA", "CLES")
# The one that confusion matrices tell.
CLES = "error_similarity"
# Options that only metrics of such counts have, and their keywords.
OF_COUNTS: dict[str, dict[str, str]] = {
    "correctness": {
        "null_draws": "n_null", "no_bayes_factor": "bayes_factor",
    },
    "readings": {"readers": "readers"},
    "rows": {
        "mixture": "mixture", "alpha": "alpha", "base": "base", "permutations": "n_permutations",
        "keep_sweeps": "folder",
    },
}  # fmt: skip


DESCRIPTION = (
    "Error consistency of pairs of observers (or another metric), with bootstrap and "
    "posterior intervals. FILE has one row per observer and trial, with columns "
    "observer, item (or image), truth, response, and optionally condition, dataset, "
    "repeat, kind; or correct (0/1) in place of truth and response. An empty response "
    "means: shown, not answered."
)


def add_options(parser: Parser) -> None:
    """Add the options of the verb."""
    add_file(parser, nargs="*")
    parser.add_argument(
        "--confusions",
        nargs="+",
        type=Path,
        metavar="CSV",
        help="in place of FILE, for cles: a confusion matrix of each system, in a file of its "
        "name; counts of true classes (rows, named in the first column) by answers (columns)",
    )
    parser.add_argument(
        "--paired",
        choices=["yes", "no"],
        help="with --confusions: did the systems answer the same items? If yes, there is no "
        "interval, as matrices do not tell which",
    )
    add_pairs(parser, "all (default), human-model, human-human, ...: kinds as in the column kind")
    parser.add_argument(
        "--by",
        default="condition",
        choices=["condition", "dataset", "none"],
        help="count within each condition of each data set (default), data set, or over all",
    )
    parser.add_argument(
        "--metric",
        metavar="NAME",
        help="ec: error consistency (default of FILE); ma: misclassification agreement, whether "
        "both give the same wrong answer; cles: class-level error similarity, whether both "
        "mistake the same for the same; all: these three and how they correlate over pairs; "
        "copying, normalised, or any other metric by name, one of your own as module:ATTRIBUTE",
    )
    parser.add_argument(
        "--sampler",
        default="auto",
        choices=["auto", "exact", "nuts"],
        help="exact posterior draws (default), or Markov chains",
    )
    parser.add_argument(
        "--null",
        action="store_true",
        help="also what independent observers of the same accuracies would show, by the sampler",
    )
    _add_metric_options(parser)
    add_cluster(parser)
    add_reading_options(parser)
    add_inference_options(parser, resamples=None)
    add_intervals(parser)
    add_output_options(parser)


def _add_metric_options(parser: Parser) -> None:
    """Options of single metrics, of tests and of posteriors."""
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="behind the posterior, by name (default: the metric's own), with --sampler nuts",
    )
    parser.add_argument(
        "--include",
        metavar="GROUP,...",
        help="groups that a fit by chains keeps beside its draws, or all",
    )
    add_prior(parser)
    parser.add_argument(
        "--null-draws",
        type=int,
        metavar="N",
        help="replicates of independent observers behind p_null (default 10000)",
    )
    parser.add_argument(
        "--no-bayes-factor", action="store_true", help="leave the Bayes factor of association out"
    )
    parser.add_argument(
        "--readers",
        choices=["pairs", "all"],
        help="of agreement of readings (cohen, fleiss, ac1, alpha, pabak): an entry for each pair "
        "(default), or for all readers at once",
    )
    parser.add_argument(
        "--mixture",
        choices=["mean", "pooled"],
        help="of cles: rows are held against the mean of both (default), or against both pooled",
    )
    parser.add_argument(
        "--alpha", type=float, metavar="A", help="of cles: added to each cell (default 0.5)"
    )
    parser.add_argument(
        "--base", choices=["2", "e", "10"], help="of cles: of the logarithm (default 2)"
    )
    parser.add_argument(
        "--permutations", type=int, metavar="N", help="of cles: behind its test (default 999)"
    )
    parser.add_argument(
        "--keep-sweeps",
        type=Path,
        metavar="DIR",
        help="of cles: keep what the posterior is made of there, for another run like this one",
    )


def run(options: argparse.Namespace) -> None:
    """Print and write one table for each metric, then how the metrics correlate."""
    if bool(options.file) == (options.confusions is not None):
        raise ValueError("give FILE, with trials, or --confusions: one of them")
    if options.confusions is not None:
        _of_confusions(options)
        return
    if options.paired is not None:
        raise ValueError("--paired goes with --confusions; trials tell which items are common")
    trials = read_trials(options, options.file)
    results: list[Result] = []
    metric = options.metric or "ec"
    asked = ALL if metric == "all" else (metric,)
    if options.null and options.draws < 1:
        raise ValueError(f"--null needs at least one draw, got --draws {options.draws}")
    # All names are looked up before any work is done.
    found = [find_metric(name) for name in asked]
    more = [_of_metric(options, metric) for metric in found]
    _check_used(options, found)
    for metric, own in zip(found, more, strict=True):
        result = al.compare(
            trials,
            metric,
            pairs=pairs_of(options),
            by=None if options.by == "none" else options.by,
            no_response=options.no_response,
            n_resamples=options.resamples,
            n_draws=options.draws,
            sampler=options.sampler,
            cluster=options.cluster,
            ci_prob=options.ci_prob,
            ci_kind=options.ci_kind,
            rng=options.seed,
            **own,
        )
        if results:
            print()
        report(result, options.out, options.ci_prob, trials, options.intervals)
        if metric.counts == "readings":
            print(textwrap.fill(f"{SENTENCE[0].upper()}{SENTENCE[1:]}.", 80))
        if options.null:
            _report_null(result, options)
        results.append(result)
    if len(results) > 1:
        correlations = al.metric_correlations(results, ci_prob=options.ci_prob, rng=options.seed)
        _correlation_table(correlations, options.ci_prob).show()
        if options.out is not None:
            write_file(options.out / "metric_correlations.csv", correlations.to_csv(index=False))
            print(f"Written to {options.out}: metric_correlations.csv")


def _of_confusions(options: argparse.Namespace) -> None:
    """Print and write the error similarity of systems of which there are matrices alone."""
    asked = options.metric
    if asked is not None and (asked == "all" or find_metric(asked).name != CLES):
        raise ValueError(
            f"confusion matrices do not tell which items were wrong, and {asked} needs that: give "
            "FILE, or leave --metric out, for cles"
        )
    if options.paired is None:
        raise ValueError(
            "confusion matrices do not tell whether systems answered the same items: say --paired "
            "no if they did not, or --paired yes if they did (without intervals)"
        )
    if options.null:
        raise ValueError("--null simulates trials by correctness, which --confusions do not hold")
    if options.cluster is not None:
        raise ValueError("--cluster names a column of FILE, and --confusions have none")
    if options.prior is not None:
        raise ValueError("--prior is of the four cells of a pair, and --confusions have none")
    cles = find_metric(CLES)
    _check_used(options, [cles])
    names = [path.name.removesuffix(".csv") for path in options.confusions]
    if repeated := [name for n, name in enumerate(names) if name in names[:n]]:
        raise ValueError(f"two files are called {repeated[0]!r}, and names are systems; rename one")
    # As text: names of classes may look like numbers, and empty cells are for the reader to refuse.
    tables = [_confusion(path) for path in options.confusions]
    result = al.error_similarity(
        confusions=dict(zip(names, tables, strict=True)),
        paired=options.paired == "yes",
        pairs=pairs_of(options),
        by=None if options.by == "none" else options.by,
        n_resamples=options.resamples,
        n_draws=options.draws,
        sampler=options.sampler,
        ci_prob=options.ci_prob,
        ci_kind=options.ci_kind,
        rng=options.seed,
        **_of_metric(options, cles),
    )
    report(result, options.out, options.ci_prob, intervals=options.intervals)


def _confusion(path: Path) -> pd.DataFrame:
    """A matrix of a file, as text."""
    if not path.is_file():
        raise ValueError(f"no file {str(path)!r}; give a .csv of counts for each system")
    try:
        return pd.read_csv(path, index_col=0, dtype=str, keep_default_na=False)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{str(path)!r} cannot be read as a matrix of counts: {reason}; expected "
            "a first line and a first column of classes"
        ) from None


def _of_metric(options: argparse.Namespace, metric: Metric) -> dict[str, Any]:
    """Keywords that are given and that this metric has."""
    given: dict[str, Any] = {}
    for name in ("model", "include", *OF_COUNTS.get(metric.counts, {})):
        value = getattr(options, name)
        if value is not None and value is not False:
            keyword = OF_COUNTS.get(metric.counts, {}).get(name, name)
            given[keyword] = value
    if "include" in given:
        given["include"] = groups_of(options.include)
    if options.prior is not None and (metric.draws in OF_CELLS or options.metric != "all"):
        given["prior"] = prior_of(options.prior)
    if "base" in given:
        given["base"] = math.e if options.base == "e" else float(options.base)
    if "bayes_factor" in given:
        given["bayes_factor"] = False
    return given


def _check_used(options: argparse.Namespace, asked: list[Metric]) -> None:
    """Refuse an option that no metric asked for has."""
    for counts, names in OF_COUNTS.items():
        given = [name for name in names if getattr(options, name) not in (None, False)]
        if given and all(metric.counts != counts for metric in asked):
            one = given[0].replace("_", "-")
            shorts = ", ".join(metric.short for metric in asked)
            raise ValueError(
                f"--{one} is of metrics of {counts}, and not of {shorts}; leave it out"
            )


def _report_null(result: Result, options: argparse.Namespace) -> None:
    """Print and write what independent observers would show."""
    metric = result.metric
    if metric.counts != "correctness":
        print(f"\nIndependent observers are simulated by correctness; not for {metric.short}.")
        return
    tree = al.estimates.independent_observers(
        result, options.draws, options.seed, sampler=options.sampler
    )
    table = al.estimates.null_table(result, tree, ci_prob=options.ci_prob)
    _null_table(table, metric, options.ci_prob).show()
    if options.out is not None:
        name = f"{metric.name}_null"
        write_file(options.out / f"{name}.csv", table.to_csv(index=False))
        write_tree(tree, options.out / f"{name}.nc")
        print(f"Written to {options.out}: {name}.csv, .nc (all draws)")


def _null_table(frame: pd.DataFrame, metric: Metric, ci_prob: float) -> Table:
    """The null distribution: both intervals, and the p-value."""
    way = "Markov chains" if frame["way"].iloc[0] == "nuts" else "exact draws"
    level = percent(ci_prob)
    bounds = [bound_names("null", kind, ci_prob) for kind in ("eti", "hdi")]
    table = Table(
        [
            Column("condition", 10, left=True, names="condition"),
            Column("reference", 11, left=True, names="observer"),
            Column("other", 11, left=True, names="observer"),
            Column(metric.short, 5, strong=True),
            Column(f"eti {level}", 14),
            Column(f"hdi {level}", 14),
            Column("p", 7),
        ],
        ["", f"Independent observers of the same accuracies, by {way}:"],
    )
    several = frame["dataset"].nunique() > 1
    for _, row in frame.iloc[spread(frame["estimate"], ROWS_SHOWN)].iterrows():
        table.row(
            row["condition"],
            row["observer_a"],
            row["observer_b"],
            number(row["estimate"]),
            *(span(row[lower], row[upper]) for lower, upper in bounds),
            number(row["p_value"], 4),
            mark="!" * bool(row["note"]),
            part=row["dataset"] if several else "",
        )
    table.say(*cut_lines(len(frame), metric.short))
    undefined, some = frame["n_undefined"].sum(), (frame["n_undefined"] > 0).sum()
    if undefined:
        table.say(f"{undefined} replicates of {some} pairs are undefined and left out.")
    table.say(*note_lines(frame["note"]))
    return table


def _correlation_table(correlations: pd.DataFrame, ci_prob: float) -> Table:
    """The mean over domains and the correlation over all pairs."""
    lower, upper = (name for name in correlations if str(name).startswith("bootstrap_"))
    table = Table(
        [
            Column("metrics", 11, left=True),
            Column("over", 19, left=True),
            Column("pairs", 6),
            Column("rho", 6, strong=True),
            Column(percent(ci_prob), 16),
        ],
        ["", "Spearman correlation of the metrics over pairs (intervals over systems):"],
    )
    kinds = {"mean": "mean of conditions", "global": "all pairs together"}
    for _, row in correlations[correlations["domain"].isin(kinds)].iterrows():
        table.row(
            ", ".join(get_metric(row[name]).short for name in ("metric", "other")),
            kinds[row["domain"]],
            row["n_pairs"],
            number(row["correlation"]),
            span(row[lower], row[upper]),
        )
    return table
