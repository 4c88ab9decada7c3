"""`alikely benchmark` and `spectrum`: scores of models against humans, also by difficulty."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

import alikely as al
from alikely._base.intervals import percent
from alikely._base.steps import step
from alikely.cli._app import Options, subcommand
from alikely.cli._output import interval_of, number, say, show, with_ranks
from alikely.metrics import get_metric
from alikely.metrics.metric import find_metric
from alikely.spectrum.difficulty import normality_checks

if TYPE_CHECKING:
    import xarray as xr

PERSON = {
    "shared": "Each human label identifies one person in all data sets",
    "per_dataset": "Each human label identifies a different person in each data set",
}
IMAGE = {
    "label": "each image label identifies one image in all data sets",
    "dataset": "each image label identifies one image within each data set",
    "condition": "each image label identifies one image within each condition",
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
    """Score models against humans, with noise ceilings, intervals and ranks.

    The score of a model is its mean error consistency (or another metric) with the humans, averaged
    over conditions, then humans, then data sets. FILE has the same format as for alikely compare,
    and also needs the column kind.

    Parameters
    ----------
    test_difference : list
        Test the difference between two models, with and without adjustment for multiple
        comparisons; can be repeated.
    exclude : str
        Name of a published benchmark (model-vs-human). The conditions that this benchmark excludes
        are excluded.
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


@subcommand(
    al.difficulty_spectrum,
    al.condition_alignment,
    al.spectrum.regime_alignment,
    defaults={"n_resamples": 1_000},
)
def spectrum(
    o: Options,
    *,
    reference: str,
    exclude: str | None = None,
    k: str = "auto",
    metrics: str | None = None,
) -> None:
    """Measure the difficulty of conditions for humans, and the alignment of models with humans.

    The difficulty of a condition is Glass's delta of the humans' logit accuracies, relative to
    undistorted conditions. Alignment is computed within regimes, which are groups of conditions of
    similar difficulty. FILE has the same format as for alikely compare, and also needs the column
    kind.

    Parameters
    ----------
    reference : str
        Undistorted conditions as DATASET:CONDITION,...
    exclude : str
        Conditions to exclude, as DATASET:CONDITION,...
    k : str
        Number of regimes; auto chooses the number with the lowest BIC.
    metrics : str
        Alignment metrics as NAME,... (default: ec, and ma if FILE has classes). For a custom
        metric, give module:ATTRIBUTE.
    """
    trials = o.trials()
    default = "EC,MA" if trials.has_classes else "EC"
    found = [find_metric(name) for name in (metrics or default).split(",")]
    if exclude:
        trials = al.exclude_conditions(trials, _by_dataset(exclude))
    scale = al.difficulty_spectrum(
        trials, reference.split(","), kind=o.humans, **o.pick("chance", "no_response", "correction")
    )
    o.notes = [*filter(None, [*o.notes, scale.attrs["missing_note"]])]
    if k != "auto" and not k.isdecimal():
        raise ValueError(f"--k must be a whole number or auto, got {k!r}")
    with step("grouping conditions into regimes of difficulty"):
        groups = al.regimes(scale, "auto" if k == "auto" else int(k), rng=o.seed)
    o.table("normality", normality_checks(scale))
    names = [name for name in scale.data_vars if scale[name].dims == ("condition",)]
    frame = scale[names].to_dataframe().reset_index()
    frame["regime"], frame["stability"] = groups["label"].values, groups["stability"].values
    # Easiest first.
    frame = frame.sort_values("delta", ascending=False, ignore_index=True)
    numbers = groups[["bic", "aicc", "converged_bic", "resampled_best"]]
    counts = numbers.to_dataframe().reset_index()
    _show_conditions(frame)
    _show_numbers(counts, groups)
    o.table("spectrum", frame)
    o.table("regimes", counts)
    o.plot("spectrum", lambda: al.plot_spectrum(scale, groups))
    if (trials.data["kind"].values == o.models).any():
        _align(o, trials, found, scale, groups)


def _align(
    o: Options, trials: al.Trials, metrics: list[Any], scale: xr.Dataset, groups: xr.Dataset
) -> None:
    """Agreement of models and humans in each condition, and ranks within each regime."""
    interval = o.pick("ci_prob", "ci_kind")
    with step("alignment in each condition"):
        alignment = al.condition_alignment(trials, **o.of(al.condition_alignment, metrics=metrics))
    asked = o.pick("conditions", "ci_prob", "ci_kind")
    frame = al.spectrum.regime_alignment(
        alignment, groups["label"], delta=scale, rng=o.seed, **asked
    )
    # Easiest first, as the conditions are.
    order = {name: i for i, name in enumerate(groups["regime"].values[::-1])}
    frame = frame.iloc[np.lexsort((frame["regime"].map(order), frame["metric"]))]
    _show_models(frame, o.ci_prob)
    table = al.spectrum.alignment_table(alignment, groups["label"], **interval)
    o.table("alignment", table)
    o.table("models", frame)
    o.plot("models", lambda: al.plot_regimes(frame))
    # Without a defined value, or with too many data sets, there is no plot.
    with contextlib.suppress(ValueError):
        o.plot("distortions", lambda: al.plot_alignment(table, metric=metrics[0].name))


def _by_dataset(text: str) -> dict[str, list[str]]:
    """Conditions by data set, from ``dataset:condition,...``."""
    out: dict[str, list[str]] = {}
    for name in text.split(","):
        dataset, colon, condition = name.partition(":")
        if not colon:
            raise ValueError(f"--exclude must list DATASET:CONDITION,..., got {name!r}")
        out.setdefault(dataset, []).append(condition)
    return out


def _show_conditions(frame: pd.DataFrame) -> None:
    """The scale, easiest first."""
    p = frame["mann_whitney_p_bh"].map(lambda value: number(value, 4))
    frame = frame.assign(
        p=p.mask(frame["is_reference"].astype(bool), "ref."),
        note=np.where(frame["above_chance"], "", "accuracy is not above chance"),
    )
    show(frame, ["condition", "n_humans", "accuracy", "delta", "p:s=p (BH)", "regime",
                 "stability"])  # fmt: skip


def _show_numbers(counts: pd.DataFrame, groups: xr.Dataset) -> None:
    """How many regimes: BIC, AICc, replicates."""
    columns = ["n_regimes", "bic:1=BIC", "aicc:1=AICc", "converged_bic:1=converged\nBIC",
               "resampled_best:%=best in\nreplicates"]  # fmt: skip
    show(counts, columns, "")
    ties = ", ".join(str(k) for k in groups.attrs["ties"])
    say(
        f"The conditions are grouped into {groups.attrs['k']} regimes. "
        f"Numbers of regimes with a BIC within 2 of the lowest BIC: {ties}."
    )


def _show_models(frame: pd.DataFrame, ci_prob: float) -> None:
    """For each metric and regime: human-human agreement, the best model, models tied with it."""
    interval = interval_of(frame, "ratio_of_means_")
    rows = []
    for (metric, _), part in frame.groupby(["metric", "regime"], sort=False):
        best = part.sort_values("rank").iloc[0].to_dict() | {"metric": get_metric(metric).short}
        ranked = part["rank_lb"].notna().any()
        best["tied"] = str(int((part["rank_lb"] == 1).sum())) if ranked else "-"
        if best["rank"] != best["rank"]:
            unknown = ("ceiling", "ratio_of_means", f"{interval}_lb")
            best |= dict.fromkeys(unknown, np.nan) | {"system": "", "n_conditions": 0, "tied": ""}
        rows.append(best)
    columns = ["metric", "regime", "n_conditions=conditions", "ceiling:3=human-\nhuman",
               "system=best model", "ratio_of_means=ratio", f"{interval}={percent(ci_prob)}",
               "tied:s"]  # fmt: skip
    show(pd.DataFrame(rows), columns, "")
    say(
        "ratio: value of the best model divided by the human-human consistency; "
        "tied: number of models that may rank first"
    )
