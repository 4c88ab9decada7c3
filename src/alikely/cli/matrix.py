"""`alikely matrix`: all pairs of many observers, and families of those that fail alike."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

import alikely as al
from alikely._base.files import write_file
from alikely._base.intervals import bound_names, percent
from alikely._base.names import listed, nearest, told_apart
from alikely._base.steps import step
from alikely.cli._options import Parser, add_output_options, add_prior, prior_of
from alikely.cli._reading import add_file, add_reading_options, read_trials
from alikely.cli._shared import save_plot
from alikely.cli._tables import Column, Table, note_lines, number, span
from alikely.metrics import find_metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from alikely.estimates import MatrixResult

DESCRIPTION = (
    "Error consistency (or another metric of correctness) of all pairs of many observers, with "
    "standard errors, posterior limits and Fisher's exact test, and the families of those that "
    "fail alike. FILE as for alikely compare; ten million pairs take about a minute."
)
WIDTH = 80
# Lines of a table; --out has the others.
MOST_BLOCKS = 30
MOST_FAMILIES = 12


def add_options(parser: Parser) -> None:
    """Add the options of the verb."""
    add_file(parser)
    parser.add_argument(
        "--metric",
        default="ec",
        metavar="NAME",
        help="ec (default), copying, normalised, any other metric of correctness by name, MA, "
        "kappa_p, kappa_p_discrete, option_correlation, same_wrong_answer, one of your own as "
        "module:ATTRIBUTE",
    )
    parser.add_argument(
        "--by",
        default="condition",
        choices=["condition", "dataset", "none"],
        help="keep apart each condition (default) or data set, or pool all trials",
    )
    parser.add_argument(
        "--by-family",
        metavar="LABEL",
        help="column whose labels group observers, such as family or kind: means within and "
        "between groups, and their colours in the plot",
    )
    parser.add_argument(
        "--top",
        type=int,
        default=10,
        metavar="N",
        help="pairs to print, the most alike first (default 10)",
    )
    parser.add_argument(
        "--resamples",
        type=int,
        default=200,
        metavar="N",
        help="bootstrap replicates of the tree, for the support of branches (default 200; 0: none)",
    )
    parser.add_argument(
        "--no-response",
        default="error",
        choices=["error", "drop"],
        help="count a missing response as an error (default), or drop the trial from the pair",
    )
    parser.add_argument(
        "--cluster",
        choices=["trial"],
        help="trial takes answers to items that come back for independent (otherwise refused)",
    )
    add_prior(parser)
    add_reading_options(parser)
    add_output_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print the pairs most alike, means of groups and families; write all."""
    if options.resamples < 0:
        raise ValueError(f"n_resamples must be 0 or more, got {options.resamples}")
    # Of a table columns without a role are kept only where they are named.
    label = options.by_family
    more = {} if label in (None, "kind", "observer") else {"labels": (label,)}
    trials = read_trials(options, options.file, **more)
    result = al.matrix(
        trials,
        find_metric(options.metric),
        None if options.by == "none" else options.by,
        prior=prior_of(options.prior),
        no_response=options.no_response,
        cluster=options.cluster,
        ci_prob=options.ci_prob,
    )
    _pair_table(result, options.top).show()
    groups = None if label is None else _groups(trials, label)
    blocks = None
    if groups is not None:
        with step("means within and between groups"):
            blocks = al.benchmark.block_means(result, groups)
        _block_table(blocks, options.ci_prob, result).show()
    tree = None
    try:
        tree = al.benchmark.families(result, n_resamples=options.resamples, rng=options.seed)
    except ValueError as error:
        print("\n" + textwrap.fill(f"No tree of families: {error}", WIDTH))
    if tree is not None:
        print(_branch_table(tree))
        print(_family_table(tree))
    if options.out is None:
        print("\nNothing was written; --out DIR keeps all pairs, the tree and the plot.")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    with step(f"writing to {options.out}"):
        result.to_parquet(options.out / "pairs.parquet")
        result.save(options.out / "matrix.nc")
        written = "pairs.parquet (all pairs), matrix.nc (for Python)"
        if blocks is not None:
            write_file(options.out / "blocks.csv", blocks.to_csv(index=False))
            written += ", blocks.csv"
        if tree is not None:
            branches = tree.branches
            branches["members"] = branches["members"].map(" ".join)
            write_file(options.out / "branches.csv", branches.to_csv(index=False))
            write_file(options.out / "families.csv", tree.groups().to_csv())
            save_plot(_draw, options.out / "families.png", tree, result, groups)
            written += ", branches.csv, families.csv, families.png"
    print(f"\nWritten to {options.out}: {written}")


def _groups(trials: al.Trials, label: str) -> dict[str, str]:
    """The group of every observer."""
    data = trials.data
    known = [str(n) for n, c in data.coords.items() if c.dims == ("observer",) and n != "observer"]
    if label not in known:
        raise ValueError(f"no label {label!r} of observers; there are {listed(known)}"
                         f"{nearest(label, known)}")  # fmt: skip
    return dict(zip(trials.observers, data[label].values.tolist(), strict=True))


def _draw(
    tree: al.benchmark.Families, result: MatrixResult, groups: Mapping[str, str] | None
) -> None:
    from alikely.plots.families import MOST_GROUPS

    several = groups is not None and len(set(groups.values())) <= MOST_GROUPS
    al.plot_families(tree, result, by=groups if several else None)


def _pair_table(result: MatrixResult, top: int) -> Table:
    """The pairs that are most alike."""
    tested = "log10_p" in result.estimates
    frame = result.to_frame(top=top, columns=["log10_p"] if tested else None)
    prob = float(result.data.attrs["ci_prob"])
    posterior = any(str(column).startswith("posterior") for column in frame)
    school, kind = ("posterior", "eti") if posterior else ("analytic", "ci")
    lower, upper = bound_names(school, kind, prob)
    columns = [
        Column("condition", 10, left=True, names="condition"),
        Column("one", 16, left=True, names="observer"),
        Column("other", 16, left=True, names="observer"),
        Column("trials", 6),
        Column(result.metric.short, 5, strong=True),
        Column(f"{school} {percent(prob)}", 14),
    ]
    if tested:
        columns.append(Column("log10 p", 7))
    table = Table(columns, [*textwrap.wrap(repr(result)[1:-1], WIDTH), ""])
    for _, row in frame.iterrows():
        table.row(
            *(row[name] for name in ("condition", "observer_a", "observer_b", "n_trials")),
            number(row["estimate"]),
            span(row[lower], row[upper]),
            *([number(row["log10_p"], 1)] if tested else []),
            mark="!" * bool(row["note"]),
        )
    n_rows = result.estimates["estimate"].size
    if n_rows > top:
        table.say(f"... the {top} highest of {n_rows:,}; --out DIR keeps all of them")
    table.say(*note_lines(frame["note"]))
    if not posterior and frame["note"].str.contains("posterior").any():
        table.say("this matrix has no posterior; alikely compare has that of fewer pairs")
    return table


def _block_table(blocks: pd.DataFrame, ci_prob: float, result: MatrixResult) -> Table:
    """Means within and between groups."""
    lower, upper = bound_names("analytic", "ci", ci_prob)
    inside = blocks["group_a"] == blocks["group_b"]
    table = Table(
        [
            Column("group", 20, left=True, names="group"),
            Column("pairs", 9),
            Column("mean", 5, strong=True),
            Column(percent(ci_prob), 14),
        ],
        ["", f"mean {result.metric.label} within groups (these observers, new trials)"],
    )
    # Groups themselves first; of what lies between the highest and the lowest.
    shown = blocks[inside].sort_values("estimate", ascending=False).head(MOST_BLOCKS)
    for _, row in shown.iterrows():
        table.row(
            row["group_a"],
            f"{row['n_pairs']:,}",
            number(row["estimate"]),
            span(row[lower], row[upper]),
        )
    between = blocks[~inside].dropna(subset=["estimate"]).sort_values("estimate")
    if len(between):
        told = told_apart([*blocks["group_a"], *blocks["group_b"]], 20)
        ends = between.iloc[[-1, 0]] if len(between) > 1 else between
        table.say("between groups" + (", the highest and the lowest:" * (len(between) > 1)))
        for _, row in ends.iterrows():
            table.say(
                f"{told[row['group_a']]} and {told[row['group_b']]}: {number(row['estimate'])} "
                f"{span(row[lower], row[upper])}"
            )
    return table


def _branch_table(tree: al.benchmark.Families) -> str:
    """The largest branches that are well supported."""
    branches = tree.branches
    sure = branches[branches["support"] >= 0.95].sort_values("size", ascending=False)
    n = len(branches)
    lines = [
        "",
        f"{len(sure)} of {n} branches of the tree have a support of at least .95"
        if tree.n_resamples
        else f"a tree of {n} branches, without support (--resamples 0)",
    ]
    for _, row in sure.head(10).iterrows():
        names = listed(row["members"], most=4)
        lines += textwrap.wrap(
            f"{row['size']} observers, support {row['support']:.2f}: {names}",
            WIDTH,
            subsequent_indent="    ",
        )
    return "\n".join(lines)


def _family_table(tree: al.benchmark.Families) -> str:
    """The families of the advised cut, the largest first."""
    lines = ["", *textwrap.wrap(f"families: {tree.note}", WIDTH)]
    if tree.advised == 1:
        return "\n".join(lines)
    found = tree.members()
    for _, row in found.head(MOST_FAMILIES).iterrows():
        text = f"{row['size']} observers: {listed(row['members'], most=4)}"
        lines += textwrap.wrap(text, WIDTH, subsequent_indent="    ")
    if len(found) > MOST_FAMILIES:
        lines.append(f"... the {MOST_FAMILIES} largest of {len(found)}; --out DIR keeps all")
    return "\n".join(lines)
