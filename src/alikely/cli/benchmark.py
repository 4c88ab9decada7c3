"""`alikely benchmark`: scores of models against humans, their ceilings and ranks."""

from __future__ import annotations

from typing import Literal

import alikely as al
from alikely._base.intervals import percent
from alikely._base.steps import step
from alikely.cli._app import Options, subcommand
from alikely.cli._output import interval_of, say, show, with_ranks

PERSON = {
    "shared": "Human labels identify the same person in all data sets",
    "per_dataset": "Human labels identify different people in each data set",
}
IMAGE = {
    "label": "an image label denotes one image in all data sets",
    "dataset": "an image label denotes one image within each data set",
    "condition": "an image label denotes one image within each condition",
}


@subcommand(al.benchmark_scores, session=("ci_prob", "ci_kind"))
def benchmark(
    o: Options,
    *,
    test_difference: list[tuple[str, str]] | None = None,
    exclude: str | None = None,
    generalize_to: Literal["images", "observers", "both"] = "both",
    level: str = "overall",
) -> None:
    """Score models against humans, with ceilings, intervals and ranks.

    The score of a model is its mean error consistency (or another metric) with the humans, averaged
    over conditions, then humans, then data sets. FILE is as for alikely compare, with a column
    kind.

    Parameters
    ----------
    test_difference : list
        Test the difference between two models, with and without adjustment for multiple
        comparisons; can be repeated.
    exclude : str
        Exclude the conditions that a published benchmark excludes: model-vs-human.
    generalize_to : str
        Treat images, observers, or both as random samples.
    level : str
        Data set to show, or overall for the mean over data sets.
    """
    trials = o.trials()
    if exclude:
        trials = al.exclude_conditions(trials, exclude)
    with step("scores of models against humans"):
        scores = al.benchmark_scores(trials, **o.of(al.benchmark_scores))
    frame = scores.summary(generalize_to, level).sort_values("estimate", ascending=False)
    interval = interval_of(frame.filter(regex="^(?!ceiling_normalized_)"))
    columns = ["system", "estimate:3=score", "se:3", f"{interval}:3={percent(o.ci_prob)}"]
    columns.append("ceiling_normalized=ceiling-\nnormalized")
    if frame["se"].notna().all() and interval and level == "overall" and len(scores.observers) > 1:
        frame = with_ranks(frame, al.benchmark.ranks(scores, generalize_to, rng=o.seed))
        columns.append("rank:s")
    show(frame, columns)
    said = scores.data.attrs
    say(f"{PERSON[said['human_ids']]}; {IMAGE[said['item_scope']]}.")
    for first, second in test_difference or ():
        say("", scores.sentence(generalize_to, level, difference=(first, second)))
    o.table("benchmark", scores.summary(generalize_to, level=None, intervals="all"))
    o.write("benchmark.nc", scores.save)
    o.plot("benchmark", lambda: al.plot_benchmark(scores, generalize_to=generalize_to, level=level))
    o.table("ceilings", al.benchmark.ceilings(scores, generalize_to))
