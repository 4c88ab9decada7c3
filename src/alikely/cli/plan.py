"""`alikely plan`: how many trials, from assumed accuracies and consistency, or from a pilot."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import alikely as al
from alikely._base.files import write_file
from alikely._base.steps import step
from alikely.cli._keywords import option_of
from alikely.cli._options import (
    Parser,
    add_kinds,
    add_no_response,
    add_output_options,
    add_pairs,
    pairs_of,
)
from alikely.cli._reading import add_reading_options, read_trials
from alikely.cli._shared import save_plot
from alikely.cli._tables import (
    ROWS_SHOWN,
    Column,
    Table,
    cut_lines,
    note_lines,
    number,
    share,
    spread,
)
from alikely.metrics import find_metric, metrics

if TYPE_CHECKING:
    from alikely.metrics import Metric

type Answer = tuple[str, Table, pd.DataFrame, Callable[[], Any] | None]
type Kind = Callable[[argparse.Namespace, Metric], Answer]

# What tests are planned of.
TESTED = "error_consistency"
# Options that say more of another one.
NEEDS = {
    "rope": "pilot",
    "n_humans": "difference",
    "ec_humans": "difference",
    "interval": "assurance",
    "most_images": "budget",
    "most_observers": "budget",
    "most_repeats": "budget",
}
# Beside the number asked for: one condition of a common benchmark, and rounder ones.
USUAL = (160, 400, 1_000, 2_500)


DESCRIPTION = (
    "Number of trials for an interval of a width, for Fisher's exact test, or for a "
    "difference of two models; from assumed accuracies and error consistency, or from a "
    "pilot. Tests and differences are planned for error consistency, widths for other "
    "metrics too: see --metric."
)


def add_options(parser: Parser) -> None:
    """Add the options of the verb."""
    parser.add_argument(
        "--accuracy",
        type=float,
        nargs="+",
        metavar="P",
        help="accuracies of both observers; with --difference of the human and both models",
    )
    parser.add_argument(
        "--ec",
        type=float,
        nargs="+",
        metavar="EC",
        help="error consistency; with --difference of each model with the human, and optionally "
        "of the models with each other",
    )
    parser.add_argument(
        "--metric",
        default="ec",
        metavar="NAME",
        help="whose interval: ec (default); with --width or --trials any metric of right and "
        "wrong answers, with --pilot also of labels; one of your own as module:ATTRIBUTE",
    )
    parser.add_argument("--width", type=float, metavar="W", help="width of the interval wanted")
    parser.add_argument(
        "--trials", type=int, nargs="+", metavar="N", help="what these numbers of trials give"
    )
    parser.add_argument(
        "--power",
        type=float,
        default=0.8,
        metavar="P",
        help="probability to find a consistency or difference that is there (default 0.8)",
    )
    parser.add_argument(
        "--against",
        type=float,
        default=0.0,
        metavar="EC",
        help="consistency that a test is to rule out, or an interval to exclude (default 0: what "
        "chance has)",
    )
    parser.add_argument(
        "--alternative",
        choices=["two-sided", "greater", "less"],
        help="side of the test (default two-sided)",
    )
    parser.add_argument(
        "--interval",
        choices=["posterior", "bootstrap", "analytic"],
        help="with --assurance and without --pilot: whose width it is of (default posterior)",
    )
    parser.add_argument(
        "--difference", action="store_true", help="compare two models with the same humans"
    )
    parser.add_argument(
        "--n-humans",
        type=int,
        metavar="N",
        help="humans that --difference compares both models with, 1 (default) to 4",
    )
    parser.add_argument(
        "--ec-humans",
        type=float,
        metavar="EC",
        help="error consistency of two of them; needed with more than one",
    )
    _add_pilot_options(parser)
    _add_budget_options(parser)
    add_no_response(parser)
    add_kinds(parser)
    add_reading_options(parser)
    add_output_options(parser)


def _add_pilot_options(parser: Parser) -> None:
    """Add what is said of a pilot."""
    parser.add_argument(
        "--pilot", type=Path, metavar="FILE", help="plan from these trials, as for alikely compare"
    )
    add_pairs(parser, "pairs of the pilot (default all)")
    parser.add_argument(
        "--assurance",
        type=float,
        metavar="P",
        help="share of studies whose posterior interval is to be no wider; with --pilot 0.8 if not "
        "given, else the width is an expected one",
    )
    parser.add_argument(
        "--keep-pilot", action="store_true", help="count the trials of the pilot as well"
    )
    parser.add_argument(
        "--rope",
        type=float,
        nargs=2,
        metavar=("LOW", "HIGH"),
        help="with --pilot: values as good as none; how often the interval will lie within, or "
        "outside",
    )


def _add_budget_options(parser: Parser) -> None:
    """Add what people and images may cost, and how many there are."""
    parser.add_argument(
        "--budget",
        type=float,
        metavar="COST",
        help="with --pilot: spend this on people and images instead",
    )
    parser.add_argument(
        "--cost-trial", type=float, default=1.0, metavar="COST", help="of one answer (default 1)"
    )
    parser.add_argument(
        "--cost-observer",
        type=float,
        default=0.0,
        metavar="COST",
        help="of one person before the first answer (default 0)",
    )
    parser.add_argument(
        "--most-images", type=int, metavar="N", help="images of each condition that exist"
    )
    parser.add_argument(
        "--most-observers",
        type=int,
        metavar="N",
        help="people that can be found (default 1000)",
    )
    parser.add_argument(
        "--most-repeats",
        type=int,
        metavar="N",
        help="times that an image may be shown to each (default 1)",
    )


def run(options: argparse.Namespace) -> None:
    """Print the answer in one sentence, then the table."""
    for name in _given(options, *NEEDS):
        if getattr(options, NEEDS[name]) in (None, False):
            raise ValueError(f"{option_of(name)} goes with {option_of(NEEDS[name])}")
    metric = _metric(options)
    kind: Kind = _from_budget if options.budget is not None else _from_pilot
    if options.pilot is None:
        if options.budget is not None:
            raise ValueError("--budget needs --pilot FILE, to know how people and images differ")
        kind = _from_difference if options.difference else _from_assumptions
    with step("plan"):
        sentence, shown, table, draw = kind(options, metric)
    print(sentence)
    shown.show()
    if options.out is None:
        print("\nNothing was written; --out DIR keeps table and plot.")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    write_file(options.out / "plan.csv", table.to_csv(index=False))
    written = "plan.csv"
    if draw is not None:
        save_plot(draw, options.out / "plan.png")
        written += ", plan.png"
    print(f"\nWritten to {options.out}: {written}")


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Options that were given, as keywords; others have the library's own defaults."""
    every = {name: getattr(options, name) for name in names}
    return {name: value for name, value in every.items() if value is not None}


def _metric(options: argparse.Namespace) -> Metric:
    """What is planned for; refuse what there is no plan of (`ValueError`)."""
    metric = find_metric(options.metric)
    if metric.counts == "margins":
        raise ValueError(
            f"--metric {options.metric} is planned in Python: al.planning.items_for_margins, "
            "participants_for_reliability, power_of_margins"
        )
    if metric.counts == "rows":
        raise ValueError(
            f"--metric {options.metric} has no plan: its limits do not shrink with the root of "
            "trials; plan ec or ma"
        )
    known = [name for name, other in metrics().items() if other.counts == "correctness"]
    if options.pilot is None and metric.counts != "correctness":
        raise ValueError(
            f"--metric {options.metric} needs --pilot FILE; without one there are plans of "
            f"{', '.join(known)}"
        )
    tested = options.width is None and options.trials is None and options.pilot is None
    if metric.name != TESTED and (tested or options.difference):
        raise ValueError(
            f"a test is planned of {TESTED} only; for --metric {options.metric} give --width W or "
            "--trials N, without --difference"
        )
    return metric


def _from_assumptions(options: argparse.Namespace, metric: Metric) -> Answer:
    """One pair of observers with stated accuracies and consistency."""
    a, b = _stated(options.accuracy, "--accuracy", (2,), "two accuracies, such as .75 .75")
    (ec,) = _stated(options.ec, "--ec", (1,), "one error consistency, such as .5")
    study = {"ci_prob": options.ci_prob, "metric": metric, "rng": options.seed}
    if options.width is not None:
        found = al.trials_for_width(
            a, b, ec, options.width, assurance=options.assurance, n_coverage=0,
            **_given(options, "interval"), **study,
        )  # fmt: skip
    elif options.trials is not None:
        found = al.planning.interval_width(a, b, ec, options.trials, **study)
    else:
        found = al.trials_for_power(
            a, b, ec, power=options.power, alpha=1 - options.ci_prob, against=options.against,
            n_coverage=0, rng=options.seed, **_given(options, "alternative"),
        )  # fmt: skip
    n = int(found["n_trials"].iloc[0])
    numbers = sorted({n, *(options.trials or USUAL)})
    table = al.planning.interval_width(a, b, ec, numbers, n_coverage=1_000, **study)
    row = table[table["n_trials"] == n].iloc[0]
    if options.width is None and options.trials is None:
        what = f"the two err {'more' if ec > 0 else 'less'} alike than chance has it"
        if options.against:
            side = "above" if ec > options.against else "below"
            what = f"their error consistency is {side} {options.against:g}"
        how = f", by {found['test'].iloc[0]} test,"
        sentence = _tested(n, what, found["power"].iloc[0], "both", how)
    else:
        right = f"each right on {_percent(a)}"
        if a != b:
            right = f"right on {_percent(a)} and {_percent(b)}"
        share = _of_hundred(options.ci_prob)
        what = f"the {metric.label.lower()} that you measure"
        sentence = (
            f"Show {n:,} trials to both: if they are {right} of them and their error consistency "
            f"is {ec:g}, {what} will lie between about {row['lower']:.2f} and "
            f"{row['upper']:.2f} in {share} such experiments"
        )
        if options.width is None:
            sentence += "."
        elif options.assurance is None:
            sentence += (
                ": a width that the interval of about every other one exceeds (--assurance)."
            )
        else:
            sentence += (
                f"; the {_percent(options.ci_prob)} {options.interval or 'posterior'} interval is "
                f"no wider than {options.width:g} in {_of_hundred(options.assurance)}."
            )

    def draw() -> None:
        span = np.geomspace(40, 2 * max(numbers), 25).astype(int)
        curve = al.planning.interval_width(a, b, ec, span, **study)
        al.plot_width(curve, references={f"{n:,} trials": n})

    return _wrapped(sentence), _width_table(table, options.ci_prob), table, draw


def _from_difference(options: argparse.Namespace, _: Metric) -> Answer:
    """Two models against one human."""
    human, a, b = _stated(
        options.accuracy, "--accuracy", (3,), "accuracies of the human and both models"
    )
    ec = _stated(
        options.ec, "--ec", (2, 3), "error consistency of each model with the human (and of both)"
    )
    if options.width is not None or options.trials is not None:
        raise ValueError("--difference is planned for a power; leave out --width and --trials")
    models = ec[2] if len(ec) == 3 else None
    powers = sorted({0.5, 0.8, 0.9, 0.95, options.power})
    table = al.planning.trials_for_difference(
        human, a, b, ec[0], ec[1], models, power=powers, alpha=1 - options.ci_prob,
        rng=options.seed, **_given(options, "n_humans", "ec_humans"),
    )  # fmt: skip
    row = table[table["target"] == options.power].iloc[0]
    closer = "first" if ec[0] > ec[1] else "second"
    many = options.n_humans or 1
    people = "human" if many == 1 else "humans"
    what = (
        f"the {closer} model errs more like the {people} ({max(ec[:2]):g} against {min(ec[:2]):g})"
    )
    who = f"all {('three', 'four', 'five', 'six')[many - 1]}"
    sentence = _tested(int(row["n_trials"]), what, row["power"], who)
    if models is None:
        sentence += (
            f" If the models are more alike than the {people} explain{'s' if many == 1 else ''}, "
            "fewer trials do: give their own error consistency as the third number after --ec."
        )
    shown = _power_table(table, options.ci_prob)
    return _wrapped(sentence), shown, table, lambda: al.plot_power(table, hue="difference")


def _from_pilot(options: argparse.Namespace, metric: Metric) -> Answer:
    """Every pair of a pilot."""
    if options.width is None and options.trials is None:
        raise ValueError("--pilot needs --width W, --trials N or --budget COST: what is wanted?")
    assurance = 0.8 if options.assurance is None else options.assurance
    pilot = al.compare(
        read_trials(options, options.pilot),
        metric,
        pairs_of(options),
        no_response=options.no_response,
        n_resamples=0,
        n_null=0,
        rng=options.seed,
    )
    table = al.planning.plan_from(
        pilot,
        options.trials,
        width=options.width,
        assurance=assurance,
        keep_pilot=options.keep_pilot,
        against=options.against,
        rope=options.rope,
        ci_prob=options.ci_prob,
        rng=options.seed,
    )
    worst = table.loc[table["n_trials" if options.trials is None else "assured_width"].idxmax()]
    pair = f"{worst['observer_a']} and {worst['observer_b']} in {worst['condition']}"
    more = "more " if options.keep_pilot else ""
    if options.trials is None:
        sentence = (
            f"Run {worst['n_trials']:,.0f} {more}trials: then even for {pair}, the pair that needs "
            f"most, the {_percent(options.ci_prob)} interval is no wider than {options.width:g} in "
            f"{_of_hundred(assurance)} such studies; half of all pairs need "
            f"{table['n_trials'].median():,.0f}."
        )
    else:
        sentence = (
            f"After {max(options.trials):,} {more}trials the {_percent(options.ci_prob)} interval "
            f"of {pair}, the least certain pair, is no wider than {worst['assured_width']:.2f} in "
            f"{_of_hundred(assurance)} such studies."
        )
    shown = _pilot_table(table, options, assurance, metric.short)
    return _wrapped(sentence), shown, table, None


def _from_budget(options: argparse.Namespace, metric: Metric) -> Answer:
    """People and images for the mean over people, from the components of a pilot."""
    if options.pilot is None:
        raise ValueError("--budget needs --pilot FILE, to know how people and images differ")
    components = al.planning.variance_components(
        read_trials(options, options.pilot),
        models=options.models,
        humans=options.humans,
        metric=metric,
        no_response=options.no_response,
    )
    known = components[components["images"].notna()]
    names = ("people", "images", "answers", "error", "pilot")
    tables: list[pd.DataFrame] = []
    shown = Table(
        [
            Column("data set", 14, left=True, names="dataset"),
            Column("mean of", 19, left=True),
            *(Column(name, 8, strong=name == "error") for name in names),
        ],
        [""],
    )
    for (dataset, alike), part in known.groupby(["dataset", known["system"] == "human-human"]):
        designs = al.planning.best_design(
            part,
            options.budget,
            options.cost_trial,
            options.cost_observer,
            ci_prob=options.ci_prob,
            **_given(options, "most_images", "most_observers", "most_repeats"),
        )
        pilot = al.planning.expected_errors(
            part, int(part["n_observers"].iloc[0]), round(part["n_images"].iloc[0])
        )
        best = designs.iloc[0]
        what = "human-human" if alike else f"{len(part)} machines"
        shown.row(
            dataset,
            what,
            f"{best['n_observers']:.0f}",
            f"{best['n_images']:,.0f}",
            f"{best['n_observers'] * best['trials_per_observer']:,.0f}",
            number(best["se"], 3),
            number(np.sqrt((pilot["se"] ** 2).mean()), 3),
        )
        tables.append(designs.assign(dataset=dataset, system=what))
    table = pd.concat(tables, ignore_index=True)
    best = tables[-1].iloc[0]
    sentence = (
        f"For {options.budget:g}, test {best['n_observers']:.0f} people with "
        f"{best['n_images']:,.0f} images of each condition: then the mean {metric.label.lower()} "
        f"({best['system']}, {best['dataset']}) is off by about {best['se']:.3f}."
    )
    shown.say(
        "images: of each condition; error: standard error over new people and new images,",
        "pilot: that of the pilot",
        *note_lines(known["note"]),
    )

    def draw() -> None:
        people = np.unique(np.geomspace(2, 2 * best["n_observers"], 30).astype(int))
        images = np.unique(np.geomspace(10, 4 * best["n_images"], 30).astype(int))
        grid = al.planning.expected_errors(part.tail(1), people[:, None], images)
        al.plot_design_map(grid, tables[-1])

    return _wrapped(sentence), shown, table, draw


def _stated(
    values: list[float] | None, option: str, counts: tuple[int, ...], what: str
) -> list[float]:
    if values is None or len(values) not in counts:
        got = "nothing" if values is None else f"{len(values)} numbers"
        raise ValueError(f"{option} must be {what}; got {got}")
    return values


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"


def _of_hundred(share: float) -> str:
    return f"{100 * share:.4g} of 100"


def _tested(n: int, what: str, power: float, who: str, how: str = "") -> str:
    return (
        f"Show {n:,} trials to {who}: if things are as you say, {100 * power:.0f} of 100 such "
        f"experiments will find{how} that {what}."
    )


def _wrapped(sentence: str) -> str:
    return textwrap.fill(sentence, 80)


def _width_table(table: pd.DataFrame, ci_prob: float) -> Table:
    """Width and bias of estimates, and how their intervals hold, by number of trials."""
    promised = f"of {_percent(ci_prob)} covers"
    shown = Table(
        [
            Column("trials", 7),
            Column("width", 7, strong=True),
            Column("bias", 8),
            Column("computable", 11, over="not"),
            Column(promised, 15, over="bootstrap"),
            Column(promised, 15, over="posterior"),
            Column("width", 9, over="posterior"),
        ],
        [""],
    )
    for _, row in table.iterrows():
        shown.row(
            f"{row['n_trials']:,}",
            number(row["width"], 3) + ("*" if row["method"] == "simulated" else ""),
            number(row["bias"], 4),
            *(share(row[name]) for name in ("undefined_share", "bootstrap_coverage")),
            share(row["posterior_coverage"]),
            number(row["posterior_width"], 3),
        )
    if (table["method"] == "simulated").any():
        shown.say("* simulated: too few trials of a kind for the formula")
    return shown


def _power_table(table: pd.DataFrame, ci_prob: float) -> Table:
    """How often a difference is found, and how its intervals hold, by number of trials."""
    promised = f"of {_percent(ci_prob)} covers"
    shown = Table(
        [
            Column("found in", 8, strong=True),
            Column("trials", 7),
            Column("bias", 8),
            Column("difference", 10, over="width of"),
            Column("computable", 11, over="not"),
            Column(promised, 15, over="bootstrap"),
            Column(promised, 15, over="posterior"),
        ],
        [""],
    )
    for _, row in table.iterrows():
        shown.row(
            share(row["power"]),
            f"{row['n_trials']:,}",
            number(row["bias"], 4),
            number(row["width"], 3),
            *(share(row[name]) for name in ("undefined_share", "bootstrap_coverage")),
            share(row["posterior_coverage"]),
        )
    shown.say(*note_lines(table["note"]))
    return shown


def _pilot_table(
    table: pd.DataFrame, options: argparse.Namespace, assurance: float, short: str
) -> Table:
    """What each pair of a pilot needs, or what numbers of trials give it."""
    shown = Table(
        [
            Column("condition", 12, left=True, names="condition"),
            Column("reference", 11, left=True, names="observer"),
            Column("other", 11, left=True, names="observer"),
            Column("trials", 6, over="pilot"),
            Column(short, 5, over="pilot"),
            Column("trials", 6, strong=True),
            Column("mean", 6, over="width"),
            Column(_percent(assurance), 6, over="width"),
            Column("in", 7, over=f"not {options.against:g}"),
        ],
        [""],
    )
    for _, row in table.iloc[spread(table["pilot_estimate"], ROWS_SHOWN)].iterrows():
        shown.row(
            *(row[name] for name in ("condition", "observer_a", "observer_b", "pilot_trials")),
            number(row["pilot_estimate"]),
            f"{row['n_trials']:,}",
            *(number(row[name], 3) for name in ("expected_width", "assured_width")),
            share(row["p_excludes"]),
        )
    if options.rope is not None:
        low, high = options.rope
        inside, outside = (_shares(table[f"p_{side}_rope"]) for side in ("inside", "outside"))
        rope = f"from {low:g} to {high:g}: {inside} of intervals within, {outside} outside"
        shown.say(*textwrap.wrap(rope, 80))
    shown.say(*cut_lines(len(table), short))
    return shown


def _shares(shares: pd.Series) -> str:
    """Of the pair with the smallest share and of the one with the largest."""
    ends = dict.fromkeys(map(share, (shares.min(), shares.max())))
    return " to ".join(ends)
