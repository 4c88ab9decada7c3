"""`alikely plan` and `choose`: how many trials, observers or images, and which images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import alikely as al
from alikely._base.intervals import percent
from alikely._base.steps import step
from alikely.cli._app import Options, subcommand
from alikely.cli._output import PAIR, say, show, show_notes
from alikely.cli._running import worded
from alikely.metrics.metric import metrics

if TYPE_CHECKING:
    from alikely.metrics import Metric

# The metric of planned tests.
TESTED = "error_consistency"
# Options that need another one.
NEEDS = {
    "rope": "pilot", "interval": "assurance", "max_images": "budget", "max_observers": "budget",
    "max_repeats": "budget",
}  # fmt: skip
# Shown in addition to the requested number: one condition of a common benchmark, and others.
USUAL = (160, 400, 1_000, 2_500)
WIDTHS = (al.trials_for_width, al.trials_for_power, al.planning.trials_for_difference)


@subcommand(
    al.compare, *WIDTHS, al.planning.best_design, al.planning.variance_components,
    al.planning.plan_from, file="",
    omit=("source", "accuracy_a", "accuracy_b", "accuracy_human", "ec_a", "ec_b", "ec_models",
          "alpha", "method", "n_resamples", "n_draws", "sampler", "prior", "by", "cluster",
          "ci_kind"),
)  # fmt: skip
def plan(
    o: Options,
    *,
    accuracy: list[float] | None = None,
    ec: list[float] | None = None,
    width: float | None = None,
    n_trials: list[int] | None = None,
    power: float = 0.8,
    difference: bool = False,
    pilot: Path | None = None,
    rope: tuple[float, float] | None = None,
    budget: float | None = None,
    cost_per_trial: float = 1.0,
    cost_per_observer: float = 0.0,
) -> None:
    """Plan the number of trials, observers or images.

    Compute the number of trials for an interval width, for Fisher's exact test, or for a difference
    between two models. Give assumed accuracies and error consistency, or data from a pilot study.

    Parameters
    ----------
    accuracy : list
        Accuracies of both observers; with --difference, of the human and both models.
    ec : list
        Error consistency; with --difference, of each model with the human, and optionally between
        the models.
    width : float
        Desired width of the interval.
    n_trials : list
        Numbers of trials for which interval widths are computed.
    power : float
        Target probability of detecting the assumed error consistency or difference.
    difference : bool
        Plan a comparison of two models with the same human.
    pilot : path
        Table of trials from a pilot study, in the format that alikely compare reads.
    rope : list
        With --pilot, region of practical equivalence LOW HIGH. The table gives the probability that
        the interval lies inside or outside the region of practical equivalence.
    budget : float
        With --pilot, the maximum total cost of the study, in the same unit as the other costs.
    cost_per_trial : float
        Cost of one response.
    cost_per_observer : float
        Cost of recruiting one observer, excluding the cost of responses.
    """
    for name, other in NEEDS.items():
        if o.given.get(name) is not None and not o.given.get(other):
            raise ValueError(f"{_dashed(name)} needs {_dashed(other)}; give both")
    metric = _metric(o)
    if budget is not None and pilot is None:
        raise ValueError(
            "--budget needs --pilot FILE, to estimate variances of observers and images"
        )
    stated = _from_difference if difference else _from_assumptions
    make = stated if pilot is None else _from_pilot if budget is None else _from_budget
    with step("computing the plan"):
        table, draw = make(o, metric)
    o.table("plan", table)
    if draw is not None:
        o.plot("plan", draw)


type Answer = tuple[pd.DataFrame, Callable[[], Any] | None]


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _metric(o: Options) -> Metric:
    """Metric to plan for; raise `ValueError` if the metric is not supported."""
    metric: Metric = o.pick("metric").get("metric") or metrics()[TESTED]
    asked = f"--metric {o.given.get('metric', TESTED)}"
    tested = o.width is None and o.n_trials is None and o.pilot is None
    no_counts = o.pilot is None and metric.counts != "correctness"
    no_test = metric.name != TESTED and (tested or o.difference)
    faults = (
        (
            metric.counts == "margins",
            f"{asked} is not supported here; use al.planning.items_for_margins",
        ),
        (metric.counts == "rows", f"{asked} is not supported; use ec or ma"),
        (
            no_counts,
            f"{asked} needs --pilot FILE, because this metric is not computed from correctness",
        ),
        (
            no_test,
            (
                f"the number of trials for a test is planned only for {TESTED}; for {asked}, "
                f"{'leave out --difference and ' * bool(o.difference)}give "
                "--width or --n-trials"
            ),
        ),
    )
    if fault := next((text for wrong, text in faults if wrong), ""):
        raise ValueError(fault)
    return metric


def _from_assumptions(o: Options, metric: Metric) -> Answer:
    """One pair of observers with stated accuracies and consistency."""
    a, b = _stated(o.accuracy, "--accuracy", (2,), "two accuracies, such as 0.75 0.75")
    (ec,) = _stated(o.ec, "--ec", (1,), "one error consistency, such as 0.5")
    study = {"ci_prob": o.ci_prob, "metric": metric, "rng": o.seed}
    tested = o.width is None and o.n_trials is None
    if tested:
        found = al.trials_for_power(
            a, b, ec, power=o.power, alpha=1 - o.ci_prob, rng=o.seed,
            **o.pick("against", "alternative"),
        )  # fmt: skip
    elif o.width is not None:
        asked = o.pick("assurance", "interval")
        found = al.trials_for_width(a, b, ec, o.width, **asked, **study)
    else:
        found = al.trials_for_width(a, b, ec, n_trials=o.n_trials, **study)
    n = int(found["n_trials"].iloc[0])
    numbers = sorted({n, *(o.n_trials or USUAL)})
    table = al.trials_for_width(a, b, ec, n_trials=numbers, n_coverage=1_000, **study)
    row = table[table["n_trials"] == n].iloc[0]
    if tested:
        against = o.against or 0
        what = f"the error consistency is {'above' if ec > against else 'below'} {against:g}"
        how = f" ({found['test'].iloc[0]} test)"
        _say_tested(n, what, found["power"].iloc[0], "both observers", how)
    else:
        correct, prob = " and ".join(dict.fromkeys((percent(a), percent(b)))), percent(o.ci_prob)
        wider = ""
        if o.width is not None and o.assurance is None:
            wider = (f" In about half of all experiments, the interval will be wider than "
                     f"{o.width:g}; use --assurance to reduce this proportion.")  # fmt: skip
        elif o.width is not None:
            wider = (f" In {percent(o.assurance)} of experiments, the {prob} {o.interval} interval "
                     f"will be no wider than {o.width:g}.")  # fmt: skip
        say(
            f"Show {n:,} trials to both observers. With accuracies of {correct} and an error "
            f"consistency of {ec:g}, the estimated {metric.label.lower()} will lie between about "
            f"{row['lower']:.2f} and {row['upper']:.2f} in {prob} of experiments.{wider}"
        )
    columns = ["n_trials", "width:3", "bias:4", *_covered(o), "posterior_width:3"]
    show(table, columns, "")

    def draw() -> None:
        range_ = np.geomspace(40, 2 * max(numbers), 25).astype(int)
        curve = al.trials_for_width(a, b, ec, n_trials=range_, **study)
        al.plot_plan(curve, "width", references={f"{n:,} trials": n})

    return table, draw


def _from_difference(o: Options, _: Metric) -> Answer:
    """Two models against one human."""
    human, a, b = _stated(o.accuracy, "--accuracy", (3,), "accuracies of the human and both models")
    each = "error consistency of each model with the human, and optionally between the models"
    ec = _stated(o.ec, "--ec", (2, 3), each)
    if o.width is not None or o.n_trials is not None:
        raise ValueError("--difference plans trials for --power; leave out --width and --n-trials")
    models = ec[2] if len(ec) == 3 else None
    powers = sorted({0.5, 0.8, 0.9, 0.95, o.power})
    table = al.planning.trials_for_difference(
        human,
        a,
        b,
        ec[0],
        ec[1],
        models,
        power=powers,
        alpha=1 - o.ci_prob,
        n_coverage=1_000,
        rng=o.seed,
    )
    row = table[table["target"] == o.power].iloc[0]
    low, high = sorted(ec[:2])
    closer = "first" if ec[0] == high else "second"
    what = f"the {closer} model has the higher error consistency ({high:g}, not {low:g})"
    _say_tested(int(row["n_trials"]), what, row["power"], "all 3 observers")
    if models is None:
        say("Fewer trials suffice if the models agree more with each other than their agreement "
            "with the human predicts. To account for the error consistency between the models, "
            "give their error consistency as the third number of --ec.")  # fmt: skip
    columns = ["power:%", "n_trials", "bias:4", "width:3=width of\ndifference"]
    show(table, [*columns, *_covered(o)], "")
    return table, lambda: al.plot_plan(table, "power", hue="difference")


def _from_pilot(o: Options, metric: Metric) -> Answer:
    """Every pair of a pilot."""
    if o.width is None and o.n_trials is None:
        raise ValueError("--pilot needs one of --width W, --n-trials N or --budget COST")
    assurance = 0.8 if o.assurance is None else o.assurance
    asked = o.pick("pairs", "no_response")
    with al.options(n_null=0):
        pilot = al.compare(o.trials(o.pilot), metric, n_resamples=0, rng=o.seed, **asked)
    table = al.planning.plan_from(pilot, **o.of(al.planning.plan_from, assurance=assurance))
    if o.n_trials is None:
        worst = table.loc[table["n_trials"].idxmax()]
    else:
        longest = table[table["n_trials"] == table["n_trials"].max()]
        worst = longest.loc[longest["assured_width"].idxmax()]
    pair = f"{worst['observer_a']} and {worst['observer_b']}"
    if worst["condition"] != "all":
        pair += f" in condition {worst['condition']}"
    more = "more " if o.keep_pilot else ""
    interval = f"the {percent(o.ci_prob)} interval"
    if o.n_trials is None:
        say(
            f"Run {worst['n_trials']:,.0f} {more}trials. Then {interval} will be no wider than "
            f"{o.width:g} in {percent(assurance)} of studies, even for {pair}, the pair that needs "
            f"the most trials. The median over pairs is {table['n_trials'].median():,.0f} trials."
        )
    else:
        say(
            f"With {worst['n_trials']:,.0f} {more}trials, {interval} for {pair}, the pair with the "
            f"widest interval, will be no wider than {worst['assured_width']:.2f} in "
            f"{percent(assurance)} of studies."
        )
    columns = [*PAIR, "pilot_trials:0=pilot\ntrials", f"pilot_estimate=pilot\n{metric.short}",
               "n_trials", "expected_width:3=expected\nwidth",
               "assured_width:3=assured\nwidth",
               f"p_excludes:%=excludes\n{o.against:g}"]  # fmt: skip
    if o.rope is not None:
        columns += ["p_inside_rope:%=inside\nrope", "p_outside_rope:%=outside\nrope"]
    show(table, columns, "", by="pilot_estimate")
    return table, None


def _from_budget(o: Options, metric: Metric) -> Answer:
    """Observers and images for the mean over observers, from the components of a pilot."""
    asked = o.of(al.planning.variance_components, metric=metric)
    components = al.planning.variance_components(o.trials(o.pilot), **asked)
    known = components[components["images"].notna()]
    tables: list[pd.DataFrame] = []
    rows = []
    for (dataset, human), part in known.groupby(["dataset", known["system"] == "human-human"]):
        designs = al.planning.best_design(
            part, o.budget, o.cost_per_trial, o.cost_per_observer,
            **o.pick("ci_prob", "max_images", "max_observers", "max_repeats"),
        )  # fmt: skip
        size = part.iloc[0][["n_observers", "n_images"]].astype(float).round().astype(int)
        pilot = al.planning.expected_errors(part, *size)
        what = "human-human" if human else f"{len(part)} models"
        tables.append(designs.assign(dataset=dataset, system=what))
        best = tables[-1].iloc[0]
        responses = best["n_observers"] * best["trials_per_observer"]
        se = np.sqrt((pilot["se"] ** 2).mean())
        rows.append(best.to_dict() | {"responses": responses, "pilot": se})
    best = tables[-1].iloc[0]
    say(
        f"With a budget of {o.budget:g}, test {best['n_observers']:.0f} observers with "
        f"{best['n_images']:,.0f} images per condition. Then the standard error of the mean "
        f"{metric.label.lower()} ({best['system']}, data set {best['dataset']}) will be about "
        f"{best['se']:.3f}."
    )
    columns = ["dataset=data set", "system=mean of", "n_observers=observers", "n_images",
               "responses:0", "se:3", "pilot:3=se of\npilot"]  # fmt: skip
    show(pd.DataFrame(rows).drop(columns="note", errors="ignore"), columns, "")
    say("images: number in each condition; se: standard error for new observers and new images")
    show_notes(known["note"])

    def draw() -> None:
        people = np.unique(np.geomspace(2, 2 * best["n_observers"], 30).astype(int))
        images = np.unique(np.geomspace(10, 4 * best["n_images"], 30).astype(int))
        grid = al.planning.expected_errors(part.tail(1), people[:, None], images)
        al.plot_plan(grid, "design", designs=tables[-1])

    return pd.concat(tables, ignore_index=True), draw


def _stated(
    values: list[float] | None, option: str, counts: tuple[int, ...], what: str
) -> list[float]:
    if values is None or len(values) not in counts:
        got = "nothing" if values is None else f"{len(values)} numbers"
        raise ValueError(f"{option} must be {what}; got {got}")
    return values


def _covered(o: Options) -> list[str]:
    level = percent(o.ci_prob)
    return ["frac_undefined:%=undefined", f"bootstrap_coverage:%=coverage of\n{level} bootstrap",
            f"posterior_coverage:%=coverage of\n{level} posterior"]  # fmt: skip


def _say_tested(n: int, what: str, power: float, who: str, how: str = "") -> None:
    say(
        f"Show {n:,} trials to {who}. Under the stated assumptions, {100 * power:.0f}% of "
        f"experiments will detect{how} that {what}."
    )


OUT = "The csv file of the plan; a plot is written to the same folder"


@subcommand(al.planning.choose_images, out=OUT, one_file=True)
def choose(o: Options, *, n: int, target: list[str] | None = None, models: str = "model") -> None:
    """Choose the images that are most informative about the consistency of models with humans.

    FILE contains the responses of models to all images, in the same format as for alikely compare.
    After humans have responded, pass the plan to Trials.with_inclusion in Python.

    Parameters
    ----------
    n : int
        Number of images to show in each condition.
    target : list
        Two models A B whose difference is of interest, or one model (default: all pairs of models).
    models : str
        Kind of the models, or names of models separated by commas.
    """
    if o.out is not None and o.out.suffix.lower() == ".png":
        raise ValueError(
            f"--out must be the csv file of the plan, got {str(o.out)!r}; the plot is "
            "written to the same folder"
        )
    trials = o.trials()
    kinds = trials.data["kind"].values.tolist()
    names = models in kinds or "," not in models
    plan = al.planning.choose_images(
        trials,
        n,
        "all pairs" if not target else target[0] if len(target) == 1 else tuple(target),
        models=models if names else models.split(","),
        rng=o.seed,
        **o.pick("n_humans", "by_class", "uniform_fraction"),
    )
    say(plan.sentence(), "")
    columns = ["condition", "n_images", "design", "se_pool:3=se for\nthe pool",
               "se_images:3=se for\nnew images"]  # fmt: skip
    show(plan.expected, columns)
    for note in plan.notes:
        say(f"note: {worded(note, ('--by-class', '--uniform-fraction'))}", hanging="      ")
    if o.out is None:
        print("\nNothing was written. Use --out FILE to write the plan.")
        return
    o.write(o.out.name, plan.to_csv)
    o.plot(o.out.stem, lambda: al.plot_plan(plan, "images"))
    print(f"\nWritten: {o.out} (the plan), {o.out.stem}.png")
    print("After humans have responded, use the plan in Python:")
    print("    trials.with_inclusion(pandas.read_csv(FILE), generalize_to='pool')")
