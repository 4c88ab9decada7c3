"""`alikely margins`: decision margins of machines against answers of groups."""

from __future__ import annotations

import argparse
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import alikely as al
from alikely._base.files import write_file
from alikely._base.intervals import percent
from alikely.cli._keywords import groups_of, named_columns
from alikely.cli._options import (
    Parser,
    add_cluster,
    add_inference_options,
    add_intervals,
    add_output_options,
    add_pairs,
    pairs_of,
)
from alikely.cli._reading import add_file, add_reading_options, read_trials
from alikely.cli._shared import report, save_plot
from alikely.cli._tables import (
    ROWS_SHOWN,
    Column,
    Table,
    cut_lines,
    note_lines,
    number,
    rank_cell,
    span,
    spread,
)

if TYPE_CHECKING:
    import pandas as pd

    from alikely.estimates.result import Result

MARGIN_ROLES = (
    "observer", "item", "truth", "class", "logit", "probability", "margin", "condition", "dataset",
)  # fmt: skip
# By what a correlation freed of noise is of.
SCALES = {
    "share": "of shares of right answers, those of endlessly many people like these (scale share)",
    "strength": "of strengths of items (scale strength)",
    "margin": "of margins, between two machines (scale margin)",
}


DESCRIPTION = (
    "Decision-margin consistency of machines with groups of observers (and of each other): "
    "correlation over items, and that correlation freed of the noise of single answers. "
    "FILE as for alikely compare. MARGINS has one row per machine and item with a column "
    "margin, or per machine, item and class with columns class and logit (or probability)."
)


def add_options(parser: Parser) -> None:
    """Add the options of the verb."""
    add_file(parser)
    parser.add_argument(
        "--margins",
        type=Path,
        nargs="+",
        metavar="MARGINS",
        help=".csv, .csv.gz or .parquet; not needed to compare groups of observers",
    )
    parser.add_argument(
        "--coarse",
        type=Path,
        metavar="FILE",
        help=(
            "table with columns class and category: coarse categories of the classes; or a .txt "
            "file of ImageNet's 16 categories, with lines such as knife = [n03041632]"
        ),
    )
    parser.add_argument(
        "--how",
        default="mean",
        choices=["mean", "mean_probability", "max", "logsumexp"],
        help="score of a coarse category from those of its classes (default mean, of logits)",
    )
    parser.add_argument(
        "--unmapped",
        default="error",
        choices=["error", "ignore"],
        help="classes without a category: refuse them (default), or leave them out and say so",
    )
    add_pairs(parser, "all (default), human-model, ...")
    parser.add_argument(
        "--by",
        default="condition",
        choices=["condition", "dataset", "none"],
        help="correlate within each condition of each data set (default), data set, or over all",
    )
    parser.add_argument(
        "--group",
        default="kind",
        metavar="LABEL",
        help="column whose labels pool the observers without margins (default kind)",
    )
    parser.add_argument(
        "--alternatives",
        type=int,
        metavar="M",
        help="alternatives of the task (default: the number of classes)",
    )
    parser.add_argument(
        "--unmatched",
        default="error",
        choices=["error", "accept"],
        help="machines of which fewer than half of the items are among those that were answered: "
        "refuse them (default), or accept them",
    )
    parser.add_argument(
        "--margin-columns",
        metavar="ROLE=NAME,...",
        help=f"names of columns of MARGINS; roles: {', '.join(MARGIN_ROLES)}",
    )
    _add_estimators(parser)
    add_cluster(parser)
    add_reading_options(parser)
    add_inference_options(parser)
    add_intervals(parser)
    add_output_options(parser)


def _add_estimators(parser: Parser) -> None:
    """Options of what is freed of noise, and what is made of it."""
    parser.add_argument(
        "--model",
        default="moments",
        metavar="NAME",
        choices=["moments", "strengths", "auto", "items", "observers", "criteria"],
        help=(
            "what frees the correlation of noise: moments (default, on the scale of shares); "
            "strengths (on their scale, by quadrature); auto (one of these, by people, repeats and "
            "lists, and says why); or, by chains, strengths from counts of all (items), of each "
            "observer (observers), or of each class answered (criteria: response bias)"
        ),
    )
    parser.add_argument(
        "--link",
        default="m_afc",
        choices=["m_afc", "probit"],
        help="from strengths of items to shares of right answers: the best of m alternatives "
        "(default), or probit",
    )
    parser.add_argument(
        "--method",
        default="pearson",
        choices=["pearson", "spearman"],
        help="what correlation (default pearson)",
    )
    parser.add_argument(
        "--include",
        metavar="GROUP,...",
        help="groups that a fit by chains keeps beside its draws, or all",
    )
    parser.add_argument(
        "--scores",
        action="store_true",
        help="also the mean of each machine over conditions and data sets, freed of noise, and its "
        "rank among them",
    )


def run(options: argparse.Namespace) -> None:
    """Print and write margin consistencies, their ceilings and error consistency beside them."""
    known = () if options.group in ("kind", "observer") else (options.group,)
    trials = read_trials(options, options.file, labels=known)
    table = None
    if options.margins:
        coarse = _categories(options.coarse) if options.coarse else None
        table = al.margins.decision_margins(
            *options.margins,
            trials=trials,
            coarse=coarse,
            how=options.how,
            unmapped=options.unmapped,
            **_margin_columns(options.margin_columns),
        )
    elif options.margin_columns:
        raise ValueError("--margin-columns names columns of MARGINS; give --margins too")
    result = al.decision_margin_consistency(
        trials,
        table,
        pairs_of(options),
        None if options.by == "none" else options.by,
        group=options.group,
        m=options.alternatives,
        link=options.link,
        method=options.method,
        unmatched=options.unmatched,
        model=options.model,
        include=groups_of(options.include),
        cluster=options.cluster,
        no_response=options.no_response,
        n_resamples=options.resamples,
        n_draws=options.draws,
        ci_prob=options.ci_prob,
        ci_kind=options.ci_kind,
        rng=options.seed,
    )
    report(result, options.out, options.ci_prob, trials, options.intervals)
    _show_matched(result)
    attrs = result.data.attrs
    if "model_reason" in attrs:
        text = f"Freed of noise by --model {attrs['model']}: {attrs['model_reason']}."
        print(textwrap.fill(text, 80))
    if told := _scales(result):
        print(told)
    ceilings = result.data["ceilings"].to_dataset().to_dataframe()
    _ceiling_table(ceilings, options.ci_prob).show()
    if options.scores:
        scores = al.benchmark.scores_of(result)
        _score_table(scores, options.ci_prob).show()
        if options.out is not None:
            every = scores.summary(None)
            write_file(options.out / "scores.csv", every.to_csv(index=False))
            save_plot(al.plot_benchmark, options.out / "scores.png", scores)
            print(f"Written to {options.out}: scores.csv (all levels), .png (plot)")
    if options.out is not None:
        both = al.estimates.consistency_table(trials, result)
        write_file(options.out / "consistency.csv", both.to_csv(index=False))
        save_plot(al.plot_consistency, options.out / "consistency.png", both)
        print(f"Written to {options.out}: consistency.csv, .png (error consistency beside it)")


def _show_matched(result: Result) -> None:
    """How many items of each machine were found among the answers; lacking ones first."""
    found = result.table
    names = ("n_matched", "n_alone", "n_missing")
    counts = [found[name].values.tolist() for name in names]
    if not sum(counts[0]):
        return
    rows = sorted(
        (row for row in zip(found["observer"].values.tolist(), *counts, strict=True) if row[1]),
        key=lambda row: row[1] - row[2] - row[3],
    )
    if all(row[1:] == (rows[0][1], 0, 0) for row in rows):
        print(f"\nItems: all {rows[0][1]} of each machine are matched with answers.")
        return
    heads = (("matched", 8), ("unmatched", 10), ("missing", 8))
    columns = [Column("items of", 24, left=True, names="machine")]
    table = Table([*columns, *(Column(*head) for head in heads)], [""])
    for row in rows[:ROWS_SHOWN]:
        table.row(*row)
    everywhere = "the table of a result has them"
    table.say(*cut_lines(len(rows), "numbers of lacking items", everywhere))
    table.say("(unmatched: nobody answered them; missing: answered, no margin)")
    table.show()


def _margin_columns(text: str | None) -> dict[str, str]:
    named = named_columns(text, "--margin-columns", MARGIN_ROLES) if text else {}
    # In Python `class` is a word of the language.
    return {"label" if role == "class" else role: name for role, name in named.items()}


def _categories(path: Path) -> dict[str, str]:
    """Coarse category of each class, from a table with these columns or a list of identifiers."""
    if path.suffix == ".txt":
        return al.datasets.sixteen_categories(path)
    from alikely.data.files import read_file
    from alikely.data.ingest import open_tables

    source = open_tables([read_file(path)])
    classes, categories = source.read("class"), source.read("category")
    return {
        classes.labels[one]: categories.labels[other]
        for one, other in zip(classes.codes, categories.codes, strict=True)
    }


def _scales(result: Result) -> str:
    """What the column noise-free is of."""
    estimates = result.estimates
    if "scale" not in estimates:
        return ""
    found = set(estimates["scale"].values.tolist())
    texts = [text for scale, text in SCALES.items() if scale in found]
    told = f"Noise-free: correlation {'; '.join(texts)}."
    for of in ("share", "strength"):
        name = f"{of}_within"
        if name in estimates and estimates[name].notnull().any():
            told += f" Within and between classes: {name}, {of}_between in the table of --out."
    return "\n" + textwrap.fill(told, 80)


def _score_table(scores: al.benchmark.DrawnScores, ci_prob: float) -> Table:
    """Means of machines, best first, with ranks where there are two and more."""
    frame = scores.summary().sort_values("posterior_median", ascending=False)
    ranked = len(scores.models) > 1 and frame["posterior_median"].notna().all()
    ranks = scores.ranks().set_index("system") if ranked else None
    lower, upper = (c for c in frame if re.match(r"posterior_(eti|hdi)[\d.]+_[lu]b$", str(c)))
    columns = [
        Column("system", 24, left=True, names="system"),
        Column("entries", 7),
        Column("DMC", 6),
        Column("ceiling", 7),
        Column("free", 6, strong=True),
        Column(percent(ci_prob), 16),
    ]
    table = Table(
        [*columns, Column("rank", 6)] if ranked else columns,
        ["", "Means over conditions and data sets, freed of noise:"],
    )
    for row in frame.to_dict("records"):
        cells = [
            row["system"],
            row["n_entries"],
            *(number(row[name]) for name in ("estimate", "ceiling", "posterior_median")),
            span(row[lower], row[upper], 3),
        ]
        table.row(*cells, *rank_cell(ranks, row["system"]))
    table.say(*note_lines(frame["note"]))
    return table


def _ceiling_table(ceilings: pd.DataFrame, ci_prob: float) -> Table:
    """Consistency of each group with another one like it."""
    table = Table(
        [
            Column("condition", 10, left=True, names="condition"),
            Column("group", 11, left=True, names="group"),
            Column("people", 6),
            Column("items", 6),
            Column("DMC", 5, strong=True),
            Column(percent(ci_prob), 14),
        ],
        [
            "",
            "Reliability: consistency of a group with another one like it (split halves,",
            "interval over people and items); a machine's ceiling is its root:",
        ],
    )
    for _, row in ceilings.iloc[spread(ceilings["reliability"], ROWS_SHOWN)].iterrows():
        table.row(
            row["condition"],
            row["system"],
            row["n_observers"],
            row["n_items"],
            number(row["reliability"]),
            row["undefined"] or span(row["lower"], row["upper"]),
        )
    everywhere = "the group 'ceilings' of --out DIR has all of them"
    table.say(*cut_lines(len(ceilings), "reliability", everywhere))
    return table
