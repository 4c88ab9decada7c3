"""`alikely choose`: which images to show people, by what machines answered."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

import narwhals as nw

import alikely as al
from alikely._base.steps import step
from alikely.cli._keywords import worded
from alikely.cli._options import Parser, add_running_options
from alikely.cli._reading import add_file, add_reading_options, read_trials
from alikely.cli._shared import save_plot
from alikely.cli._tables import Column, Table, number
from alikely.data.files import read_file

DESCRIPTION = (
    "Choose the images that tell most about machines and people, by the answers that machines "
    "gave to all of them. FILE as for alikely compare. The plan goes to a csv file; give it to "
    "Trials.with_inclusion when people have answered."
)
WIDTH = 80
METRICS = ["error_consistency", "observed_agreement", "misclassification_agreement"]


def add_options(parser: Parser) -> None:
    """Add the options of the verb."""
    add_file(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--between",
        nargs=2,
        metavar=("A", "B"),
        help="two machines whose difference is wanted; without it, all pairs",
    )
    what.add_argument("--of", metavar="A", help="one machine, whose own consistency is wanted")
    parser.add_argument(
        "--images", type=int, required=True, metavar="N", help="images to show in each condition"
    )
    parser.add_argument(
        "--machines",
        default="model",
        metavar="KIND",
        help="kind of the machines (default model), or their names, parted by commas",
    )
    parser.add_argument(
        "--metric",
        default="error_consistency",
        choices=METRICS,
        metavar="NAME",
        help=f"whose error the images are to lower: {', '.join(METRICS)} (default {METRICS[0]})",
    )
    parser.add_argument(
        "--lists",
        type=int,
        default=0,
        metavar="N",
        help="so many lists drawn apart, one for each person (default: one list for all)",
    )
    parser.add_argument("--by-class", action="store_true", help="balance the images by true class")
    parser.add_argument(
        "--even",
        type=float,
        metavar="SHARE",
        help="share of ordinary images in between, such as 0.3",
    )
    parser.add_argument(
        "--shown", metavar="FILE", help="csv file with a column item: what people saw already"
    )
    parser.add_argument(
        "--layout",
        default="plan",
        choices=["plan", "psychopy", "jspsych"],
        help="also write a file with the columns of an experiment beside the plan",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="csv file of the plan; a plot goes beside it"
    )
    parser.set_defaults(one_file=True)
    add_reading_options(parser)
    add_running_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print what a plan tells and saves; write it."""
    if options.lists < 0:
        raise ValueError(f"--lists must be 0 (one list for all) or more, got {options.lists}")
    if options.out is not None and options.out.suffix.lower() == ".png":
        raise ValueError(
            f"--out names the csv file of the plan, got {str(options.out)!r}; the plot goes beside "
            "it"
        )
    trials = read_trials(options, options.file)
    plan = al.planning.choose_images(
        trials,
        options.images,
        tuple(options.between) if options.between else options.of or "all pairs",
        machines=_machines(options.machines, trials),
        metric=options.metric,
        images="separate" if options.lists else "shared",
        n_people=max(options.lists, 1),
        by_class=options.by_class,
        even=options.even,
        shown=_shown(options.shown),
        rng=options.seed,
    )
    print(textwrap.fill(plan.sentence(), WIDTH))
    print()
    _table(plan).show()
    for note in plan.notes:
        told = worded(note, ("--by-class", "--even"))
        print(textwrap.fill(f"note: {told}", WIDTH, subsequent_indent="      "))
    if options.out is None:
        print("\nNothing was written; --out FILE keeps the plan.")
        return
    with step(f"writing to {options.out}"):
        options.out.parent.mkdir(parents=True, exist_ok=True)
        plan.to_csv(options.out)
        picture = options.out.with_suffix(".png")
        save_plot(_draw, picture, plan)
        written = f"{options.out} (the plan), {picture.name}"
        if options.layout != "plan":
            own = options.out.with_name(f"{options.out.stem}_{options.layout}.csv")
            plan.to_csv(own, options.layout)
            written += f", {own.name}"
    print(f"\nWritten: {written}")
    print(
        "When people have answered: trials.with_inclusion(pandas.read_csv(FILE), population='pool')"
    )


def _draw(plan: al.planning.StimulusPlan) -> None:
    al.plot_image_choice(plan)


def _machines(text: str, trials: al.Trials) -> str | list[str]:
    """A kind of observers, or names of some."""
    kinds = trials.data["kind"].values.tolist()
    return text if text in kinds or "," not in text else text.split(",")


def _shown(path: str | None) -> list[str]:
    if path is None:
        return []
    table = nw.from_native(read_file(path), eager_only=True)
    if "item" not in table.columns:
        raise ValueError(f"{path} needs a column item, of images that people saw already")
    return [str(item) for item in table["item"].drop_nulls().to_list()]


def _table(plan: al.planning.StimulusPlan) -> Table:
    """Expected standard errors of one person."""
    several = plan.expected["condition"].nunique() > 1
    table = Table(
        [
            Column("condition", 17 * several, left=True, names="condition"),
            Column("images", 6),
            Column("", 9, left=True),
            Column("error, these", 13, strong=True),
            Column("error, others", 14),
        ][not several :]
    )
    for _, row in plan.expected.iterrows():
        cells = [
            row["condition"],
            f"{row['n_images']:,}",
            row["design"],
            number(row["se_pool"], 3),
            number(row["se_images"], 3),
        ]
        table.row(*cells[not several :])
    return table
