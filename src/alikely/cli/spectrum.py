"""`alikely spectrum`: difficulty of conditions, its regimes, alignment within them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import alikely as al
from alikely._base.intervals import percent
from alikely._base.steps import step
from alikely.cli._app import Options, subcommand
from alikely.cli._output import interval_of, number, say, show
from alikely.metrics import get_metric
from alikely.metrics.metric import find_metric
from alikely.spectrum.difficulty import normality_checks

if TYPE_CHECKING:
    import xarray as xr


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
    """Measure the difficulty of conditions for humans, and the alignment of models within regimes.

    Difficulty is Glass's delta of human accuracies in a condition relative to undistorted
    conditions. FILE is as for alikely compare, with a column kind.

    Parameters
    ----------
    reference : str
        Undistorted conditions DATASET:CONDITION,...
    exclude : str
        Conditions to exclude, DATASET:CONDITION,...
    k : str
        Number of regimes; auto chooses the number with the lowest BIC.
    metrics : str
        Alignment metrics NAME,... (default: ec, and ma if there are classes); a custom metric as
        module:ATTRIBUTE.
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
    with step("regimes of difficulty"):
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
            raise ValueError(f"--exclude must list dataset:condition,...; got {name!r}")
        out.setdefault(dataset, []).append(condition)
    return out


def _show_conditions(frame: pd.DataFrame) -> None:
    """The scale, easiest first."""
    p = frame["mann_whitney_p_bh"].map(lambda value: number(value, 4))
    frame = frame.assign(
        p=p.mask(frame["is_reference"].astype(bool), "ref."),
        note=np.where(frame["above_chance"], "", "not above chance"),
    )
    show(frame, ["condition", "n_humans", "accuracy=correct", "delta", "p:s=p (BH)", "regime",
                 "stability=stable"])  # fmt: skip


def _show_numbers(counts: pd.DataFrame, groups: xr.Dataset) -> None:
    """How many regimes: BIC, AICc, replicates."""
    columns = ["n_regimes", "bic:1=BIC", "aicc:1=AICc", "converged_bic:1=converged\nBIC",
               "resampled_best:%=best in"]  # fmt: skip
    show(counts, columns, "")
    ties = ", ".join(str(k) for k in groups.attrs["ties"])
    say(f"Shown: {groups.attrs['k']} regimes. Within 2 of the lowest BIC: {ties}.")


def _show_models(frame: pd.DataFrame, ci_prob: float) -> None:
    """For each metric and regime: human-human agreement, the best model, models tied with it."""
    interval = interval_of(frame, "ratio_of_means_")
    rows = []
    for (metric, _), part in frame.groupby(["metric", "regime"], sort=False):
        best = part.sort_values("rank").iloc[0].to_dict() | {"metric": get_metric(metric).short}
        best["tied"] = str(int((part["rank_lb"] == 1).sum()))
        if best["rank"] != best["rank"]:
            unknown = ("ceiling", "ratio_of_means", f"{interval}_lb")
            best |= dict.fromkeys(unknown, np.nan) | {"system": "", "n_conditions": 0, "tied": ""}
        rows.append(best)
    columns = ["metric", "regime", "n_conditions=conds.", "ceiling:3=humans",
               "system=nearest model", "ratio_of_means=ratio", f"{interval}={percent(ci_prob)}",
               "tied:s"]  # fmt: skip
    show(pd.DataFrame(rows), columns, "")
    say("ratio: to human-human agreement; tied: models that may rank first")
