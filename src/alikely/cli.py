"""The `alikely` command."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import pandas as pd

    from alikely.results import Result

__all__ = ["main"]

FRONT_DOORS = {
    "ec": "error_consistency",
    "ma": "misclassification_agreement",
    "cles": "error_similarity",
}
SHORT = {name: short.upper() for short, name in FRONT_DOORS.items()}
SHORT["decision_margin_consistency"] = "DMC"
# What each metric rests on, and what the table calls it.
COUNTED = {
    "EC": ("n_trials", "trials"),
    "MA": ("n_joint_errors", "joint"),
    "CLES": ("n_errors", "errors"),
    "DMC": ("n_trials", "items"),
}
ROWS_SHOWN = 40
ROWS_DRAWN = 40


class _Parser(argparse.ArgumentParser):
    """Bad options end in one line, as bad data do."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"alikely: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments after the program's name; those of the process if not given.

    Returns
    -------
    int
        0 if all went well, 2 on bad input (with one line on standard error).
    """
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (ValueError, TypeError, OSError) as error:
        print(f"alikely: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    import alikely

    parser = _Parser(
        prog="alikely", description="How alike two systems' errors are, and how sure we can be."
    )
    parser.add_argument("--version", action="version", version=f"alikely {alikely.__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    demo = verbs.add_parser(
        "demo",
        help="analyse a simulated example: table, plot, files in a folder",
        description="Analyse a small simulated experiment of 4 humans and 6 models.",
    )
    demo.set_defaults(run=_demo)
    compare = verbs.add_parser(
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
    compare.set_defaults(run=_compare)
    compare.add_argument("file", metavar="FILE", help=".csv, .csv.gz or .parquet")
    compare.add_argument(
        "--pairs",
        default="all",
        metavar="KIND-KIND",
        help="all (default), human-model, human-human, ...: kinds as in the column kind",
    )
    compare.add_argument(
        "--by",
        default="condition",
        choices=["condition", "dataset", "none"],
        help="count within each condition of each data set (default), data set, or over all",
    )
    compare.add_argument(
        "--metric",
        default="ec",
        choices=[*FRONT_DOORS, "all"],
        help="ec: error consistency (default); ma: misclassification agreement, whether both give "
        "the same wrong answer; cles: class-level error similarity, whether both mistake the same "
        "for the same; all: these three and how they correlate over pairs",
    )
    compare.add_argument(
        "--sampler",
        default="auto",
        choices=["auto", "exact", "nuts"],
        help="exact posterior draws (default), or Markov chains",
    )
    margins = verbs.add_parser(
        "margins",
        help="do two systems find the same items easy: decision margins against answers",
        description=(
            "Decision-margin consistency of machines with groups of observers (and of each other): "
            "correlation over items, and that correlation freed of the noise of single answers. "
            "FILE as for alikely compare. MARGINS has one row per machine and item with a column "
            "margin, or per machine, item and class with columns class and logit (or probability)."
        ),
    )
    margins.set_defaults(run=_margins)
    margins.add_argument("file", metavar="FILE", help=".csv, .csv.gz or .parquet")
    margins.add_argument(
        "--margins",
        type=Path,
        nargs="+",
        metavar="MARGINS",
        help=".csv, .csv.gz or .parquet; not needed to compare groups of observers",
    )
    margins.add_argument(
        "--coarse",
        type=Path,
        metavar="FILE",
        help="table with columns class and category: coarse categories of the classes",
    )
    margins.add_argument(
        "--how",
        default="mean",
        choices=["mean", "max", "logsumexp"],
        help="score of a coarse category from those of its classes (default mean)",
    )
    margins.add_argument(
        "--pairs", default="all", metavar="KIND-KIND", help="all (default), human-model, ..."
    )
    margins.add_argument(
        "--by",
        default="condition",
        choices=["condition", "dataset", "none"],
        help="correlate within each condition of each data set (default), data set, or over all",
    )
    margins.add_argument(
        "--group",
        default="kind",
        metavar="LABEL",
        help="column whose labels pool the observers without margins (default kind)",
    )
    margins.add_argument(
        "--alternatives",
        type=int,
        metavar="M",
        help="alternatives of the task (default: the number of classes)",
    )
    margins.add_argument(
        "--model",
        default="items",
        choices=["items", "observers"],
        help="counts of each item (default), or of each observer: few people, many repeats",
    )
    scores = verbs.add_parser(
        "benchmark",
        help="score machines against humans: ceilings, new images and humans, ranks",
        description=(
            "Mean error consistency of each model with the humans (over conditions, then humans, "
            "then data sets), the human-human ceiling, intervals for new images and humans, and a "
            "ranking that admits ties. FILE as for alikely compare, with a column kind."
        ),
    )
    scores.add_argument(
        "--cohort",
        action="store_true",
        help="also fit the cohort copy model, for scores with a new human (minutes)",
    )
    scores.add_argument(
        "--sensitivity",
        action="store_true",
        help="also show what missing responses, excluded conditions and pooling decide",
    )
    scores.set_defaults(run=_benchmark)
    scores.add_argument("file", metavar="FILE", help=".csv, .csv.gz or .parquet")
    scores.add_argument(
        "--exclude",
        choices=["model-vs-human"],
        help="leave out the conditions that this benchmark leaves out",
    )
    scores.add_argument(
        "--population",
        default="crossed",
        choices=["images", "humans", "crossed"],
        help="what is thought of as drawn anew; crossed (default): images and humans",
    )
    scores.add_argument(
        "--level", default="overall", help="a data set, or overall (default): the mean over them"
    )
    scores.add_argument(
        "--missing",
        default="error",
        choices=["error", "available"],
        help="refuse models that lack a data set (default), or average over what they have",
    )
    for verb in (compare, margins, scores):
        verb.add_argument(
            "--no-response",
            default="error",
            choices=["error", "drop"],
            help="count a missing response as an error (default), or drop the trial from the pair",
        )
        verb.add_argument(
            "--resamples",
            type=int,
            default=10_000,
            metavar="N",
            help="bootstrap replicates (default 10000)",
        )
        verb.add_argument(
            "--draws",
            type=int,
            default=4_000,
            metavar="N",
            help="posterior draws (default 4000)",
        )
    for verb, folder in (
        (demo, "alikely-demo"),
        (compare, None),
        (margins, None),
        (scores, None),
    ):
        verb.add_argument(
            "--ci-prob",
            type=float,
            default=0.95,
            metavar="P",
            help="interval probability (default 0.95)",
        )
        verb.add_argument(
            "--seed",
            type=int,
            default=1,
            metavar="N",
            help="seed; the same gives the same result (default 1)",
        )
        verb.add_argument(
            "--out",
            type=Path,
            default=folder,
            metavar="DIR",
            help="folder for the table (csv), all draws (netCDF) and the plot (PNG)"
            + (f" (default {folder})" if folder else "; nothing is written without it"),
        )
    return parser


def _demo(options: argparse.Namespace) -> None:
    import alikely as al

    trials = al.load_example()
    print("A simulated experiment: 4 humans and 6 models name 480 images in 3 conditions.\n")
    result = al.error_consistency(
        trials, pairs="human-model", ci_prob=options.ci_prob, rng=options.seed
    )
    _report(result, options.out, options.ci_prob)
    print("\nYour own data: alikely compare FILE --pairs human-model --out DIR")


def _compare(options: argparse.Namespace) -> None:
    import alikely as al

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
        _report(result, options.out, options.ci_prob)
        results.append(result)
    if len(results) > 1:
        correlations = al.metric_correlations(results, ci_prob=options.ci_prob, rng=options.seed)
        print(_correlation_table(correlations, options.ci_prob))
        if options.out is not None:
            correlations.to_csv(options.out / "metric_correlations.csv", index=False)
            print(f"Written to {options.out}: metric_correlations.csv")


def _margins(options: argparse.Namespace) -> None:
    import alikely as al

    known = () if options.group in ("kind", "observer") else (options.group,)
    trials = al.Trials.read(options.file, labels=known)
    table = None
    if options.margins:
        coarse = _categories(options.coarse) if options.coarse else None
        table = al.decision_margins(*options.margins, trials=trials, coarse=coarse, how=options.how)
    result = al.decision_margin_consistency(
        trials,
        table,
        options.pairs,
        None if options.by == "none" else options.by,
        group=options.group,
        m=options.alternatives,
        model=options.model,
        no_response=options.no_response,
        n_resamples=options.resamples,
        n_draws=options.draws,
        ci_prob=options.ci_prob,
        rng=options.seed,
    )
    _report(result, options.out, options.ci_prob)
    print(_ceiling_table(result.data["ceilings"].to_dataset().to_dataframe(), options.ci_prob))
    if options.out is not None:
        both = al.consistency_table(trials, result)
        both.to_csv(options.out / "consistency.csv", index=False)
        _plot(al.plot_consistency, options.out / "consistency.png", both)
        print(f"Written to {options.out}: consistency.csv, .png (error consistency beside it)")


def _categories(path: Path) -> dict[str, str]:
    """Coarse category of each class, from a table with these columns."""
    from alikely._ingest import open_tables, read_file

    source = open_tables([read_file(path)])
    classes, categories = source.read("class"), source.read("category")
    return {
        classes.labels[one]: categories.labels[other]
        for one, other in zip(classes.codes, categories.codes, strict=True)
    }


def _ceiling_table(ceilings: pd.DataFrame, ci_prob: float) -> str:
    """Consistency of each group with another one like it."""
    percent = f"{100 * ci_prob:g} %"
    lines = [
        "",
        "Ceilings: consistency of a group with another one like it (split halves,",
        "interval over people and items):",
        f"{'condition':<10} {'group':<11} {'people':>6} {'items':>6} {'DMC':>5} {percent:>14}",
    ]
    for _, row in ceilings.head(ROWS_SHOWN).iterrows():
        bounds = f"[{row['lower']:5.2f}, {row['upper']:5.2f}]" if not row["undefined"] else ""
        lines.append(
            f"{_short(row['condition'], 10):<10} {_short(row['system'], 11):<11} "
            f"{row['n_observers']:>6} {row['n_items']:>6} {_number(row['reliability'])} "
            f"{bounds or row['undefined']:>14}"
        )
    return "\n".join(lines)


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
            f"{both:<12}{kinds[row['domain']]:<20}{row['n_pairs']:>7}{_number(row['correlation']):>7}"
            f"  [{row[lower]:5.2f}, {row[upper]:5.2f}]"
        )
    return "\n".join(lines)


def _benchmark(options: argparse.Namespace) -> None:
    import alikely as al

    trials = al.Trials.read(options.file)
    scores = al.benchmark_scores(
        trials,
        exclude=options.exclude,
        missing=options.missing,
        no_response=options.no_response,
        cohort=options.cohort,
        n_resamples=options.resamples,
        n_draws=options.draws,
        ci_prob=options.ci_prob,
        rng=options.seed,
    )
    frame = scores.summary(options.population, options.level)
    ranks = None
    if frame["se"].notna().all() and options.level == "overall":
        ranks = scores.ranks(options.population, rng=options.seed).set_index("system")
    print(_score_table(frame, ranks, options.ci_prob))
    choices = None
    if options.sensitivity:
        choices = al.sensitivity(trials, exclude=options.exclude, missing=options.missing)
        print(_sensitivity_table(al.sensitivity_band(choices)))
    if options.out is None:
        print("\nNothing was written; --out DIR keeps table, draws and plot.")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    every = scores.summary(options.population, level=None)
    every.to_csv(options.out / "benchmark.csv", index=False)
    scores.save(options.out / "benchmark.nc")
    _plot(
        al.plot_benchmark,
        options.out / "benchmark.png",
        scores,
        options.population,
        options.level,
    )
    scores.ceilings(options.population).to_csv(options.out / "ceilings.csv", index=False)
    written = "benchmark.csv (all levels), .nc (all draws), .png (plot), ceilings.csv"
    if choices is not None:
        choices.to_csv(options.out / "sensitivity.csv", index=False)
        written += ", sensitivity.csv"
    print(f"\nWritten to {options.out}: {written}")


def _sensitivity_table(band: pd.DataFrame) -> str:
    lines = [
        "",
        "Range over silent choices (missing responses, conditions, pooling, perfection):",
        f"{'system':<24}{'score':>7}{'range':>18}{'rank':>6}{'ranks':>8}  decided by",
    ]
    for row in band.sort_values("score", ascending=False).to_dict("records"):
        ranked = row["rank"] == row["rank"]
        own = f"{row['rank']:.0f}" if ranked else ""
        ranks = f"{row['best_rank']:.0f}-{row['worst_rank']:.0f}" if ranked else ""
        span = f"[{row['lowest']:.3f}, {row['highest']:.3f}]"
        name = str(row["system"])[:23]
        lines.append(
            f"{name:<24}{row['score']:>7.3f}{span:>18}{own:>6}{ranks:>8}  {row['decides']}"
        )
    return "\n".join(lines)


def _score_table(frame: pd.DataFrame, ranks: pd.DataFrame | None, ci_prob: float) -> str:
    """Lay the scores out, best first, in at most 80 columns."""
    percent = f"{100 * ci_prob:g} %"
    names = f"{'system':<24} {'score':>6} {'se':>6} {percent:>16} {'of ceiling':>11}"
    lines = [names + (f" {'rank':>6}" if ranks is not None else "")]
    lower, upper = (c for c in frame if str(c).startswith("analytic_"))
    for _, row in frame.sort_values("estimate", ascending=False).iterrows():
        ceiled = "" if row["ceiled"] != row["ceiled"] else f"{row['ceiled']:.2f}"
        line = (
            f"{_short(row['system'], 24):<24} {row['estimate']:6.3f} {row['se']:6.3f} "
            f"[{row[lower]:6.3f}, {row[upper]:6.3f}] {ceiled:>11}"
        )
        if ranks is not None and row["system"] in ranks.index:
            own = ranks.loc[row["system"]]
            line += f" {own['rank_lb']:>3}-{own['rank_ub']}"
        lines.append(line)
    lines += _note_lines(frame["note"])
    return "\n".join(lines)


def _report(result: Result, folder: Path | None, ci_prob: float) -> None:
    """Print the table, write the files, say where they are."""
    frame, name = result.summary(), result.metric.name
    if "n_errors_a" in frame:
        frame["n_errors"] = frame["n_errors_a"] + frame["n_errors_b"]
    print(_table(frame, ci_prob, SHORT[name]))
    n_undefined = int(frame["estimate"].isna().sum())
    print(f"\n{len(frame)} pairs; {n_undefined} with an undefined estimate.")
    if folder is None:
        print("Nothing was written; --out DIR keeps table, draws and plot.")
        return
    folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(folder / f"{name}.csv", index=False)
    result.save(folder / f"{name}.nc")
    _draw(result, folder / f"{name}.png")
    print(f"Written to {folder}: {name}.csv, .nc (all draws), .png (plot)")


def _table(frame: pd.DataFrame, ci_prob: float, short: str) -> str:
    """Lay the summary out in at most 80 columns, readable without colour."""
    percent = f"{100 * ci_prob:g} %"
    column, counted = COUNTED[short]
    names = f"{'condition':<10} {'reference':<11} {'other':<12} {counted:>6} {short:>5}"
    # The posterior of a margin consistency is of another quantity than its estimate.
    posterior = "noise-free" if short == "DMC" else "posterior"
    lines = [
        f"{'':<{len(names)}} {'bootstrap':>14} {posterior:>14}",
        f"{names} {percent:>14} {percent:>14}",
    ]
    dataset = None
    several = frame["dataset"].nunique() > 1
    for _, row in frame.head(ROWS_SHOWN).iterrows():
        if several and row["dataset"] != dataset:
            dataset = row["dataset"]
            lines.append(f"-- {dataset}")
        lines.append(
            f"{_short(row['condition'], 10):<10} {_short(row['observer_a'], 11):<11} "
            f"{_short(row['observer_b'], 12):<12} {row[column]:>6} {_number(row['estimate'])} "
            f"{_bounds(row, 'bootstrap')} {_bounds(row, 'posterior')}"
            + ("!" if row["note"] else "")
        )
    if len(frame) > ROWS_SHOWN:
        lines.append(f"... and {len(frame) - ROWS_SHOWN} more; --out DIR keeps all of them")
    lines += _note_lines(frame["note"])
    return "\n".join(lines)


def _note_lines(notes: pd.Series) -> list[str]:
    counts = notes[notes != ""].str.split("; ").explode().value_counts()
    lines = [f"! {note} ({count} rows)" for note, count in counts.items()]
    return [textwrap.fill(line, 80, subsequent_indent="  ") for line in lines]


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "~"


def _number(value: float) -> str:
    return "    -" if value != value else f"{value:5.2f}"


def _bounds(row: pd.Series, school: str) -> str:
    values = [row[name] for name in row.index if re.match(rf"{school}_\w+?[\d.]+_[lu]b$", name)]
    if not values or values[0] != values[0]:
        return f"{'-':>14}"
    return f"[{values[0]:5.2f}, {values[1]:5.2f}]"


def _plot(draw: Callable[..., Any], path: Path, *arguments: Any) -> None:
    """Draw into a file, without a screen."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    draw(*arguments)
    plt.savefig(path, dpi=150)
    plt.close()


def _draw(result: Result, path: Path) -> None:
    from alikely.plots import plot_intervals

    labels = result.table["pair"].values[:ROWS_DRAWN].tolist()

    def intervals() -> None:
        ax = plot_intervals(result, which=labels)
        if len(labels) < result.table.sizes["pair"]:
            ax.set_title(f"first {len(labels)} of {result.table.sizes['pair']} pairs", fontsize=9)

    _plot(intervals, path)


if __name__ == "__main__":
    sys.exit(main())
