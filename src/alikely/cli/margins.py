"""`alikely margins`: decision margins of models against responses of groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pandas as pd

import alikely as al
from alikely._base.intervals import percent
from alikely.cli._app import Options, roles_of, subcommand
from alikely.cli._output import interval_of, say, show, show_result, with_ranks

if TYPE_CHECKING:
    from alikely.estimates.result import Result

ROLES = (
    "observer", "item", "truth", "class", "logit", "probability", "margin", "condition", "dataset",
)  # fmt: skip
# Variables of a noise-corrected correlation.
SCALES = {
    "share": "with the proportion correct in the population of observers (scale share)",
    "strength": "with item strength (scale strength)",
    "margin": "between the margins of two models (scale margin)",
}


@subcommand(
    al.decision_margin_consistency, al.margins.decision_margins, omit=ROLES,
    session=("ci_prob", "ci_kind"),
)  # fmt: skip
def margins(
    o: Options,
    *,
    margins: list[Path] | None = None,
    margin_columns: str | None = None,
    scores: bool = False,
    intervals: Literal["all"] | None = None,
) -> None:
    """Correlate models' decision margins with proportions correct of observer groups, over items.

    The correlation is also corrected for trial-by-trial variability. FILE has the same format as
    for alikely compare. A table of margins has one row per model and item with a column margin, or
    one row per model, item and class with columns class and logit (or probability).

    Parameters
    ----------
    margins : list
        Tables of margins (.csv, .csv.gz or .parquet). To compare groups of observers, you need no
        table of margins.
    margin_columns : str
        Names of columns in the tables of margins, as ROLE=NAME,... with the roles observer, item,
        truth, class, logit, probability, margin, condition and dataset.
    scores : bool
        Also show the noise-corrected mean of each model over conditions and data sets, with ranks.
    intervals : str
        Show the intervals of all valid methods and all columns of the table.
    """
    known = () if o.group in ("kind", "observer") else (o.group,)
    trials = o.trials(labels=known)
    table = None
    if margins:
        named = roles_of(margin_columns, "--margin-columns", ROLES)
        table = al.margins.decision_margins(
            *margins, columns=named, trials=trials, **o.pick("how", "unmapped")
        )
    elif margin_columns:
        raise ValueError("--margin-columns needs --margins")
    asked = o.of(al.decision_margin_consistency, margins=table)
    result = al.decision_margin_consistency(trials, **asked)
    show_result(o, result, trials)
    _show_matched(result)
    _show_scales(result)
    _show_ceilings(result.data["ceilings"].to_dataset().to_dataframe(), o.ci_prob)
    if scores:
        means = al.benchmark.scores_from_result(result)
        _show_scores(means, o.ci_prob)
        o.table("scores", means.summary())
        o.plot("scores", lambda: al.plot_benchmark(means))
    if o.out is not None:
        both = al.estimates.consistency_table(trials, result)
        o.table("consistency", both)
        o.plot("consistency", lambda: al.plot_margins(both, "consistency"))


def _show_matched(result: Result) -> None:
    """Print how many items of each model have responses."""
    counts = ["n_matched", "n_alone", "n_missing"]
    found = {name: result.table[name].values.tolist() for name in ("observer", *counts)}
    frame = pd.DataFrame(found)
    frame = frame[frame["n_matched"] > 0]
    lost = frame["n_alone"] + frame["n_missing"]
    if len(frame) and not lost.any() and frame["n_matched"].nunique() == 1:
        n_items = frame["n_matched"].iloc[0]
        print(f"\nAll {n_items} items of each model are matched with responses.")
    elif len(frame):
        columns = ["observer", "n_matched", "n_alone=unmatched", "n_missing"]
        show(
            frame.assign(number_unmatched_or_missing=lost),
            columns,
            "",
            by="number_unmatched_or_missing",
            all_in="the netCDF file in --out DIR contains all rows",
        )
        say(
            "(unmatched: items with a margin but no response; missing: items with a response but "
            "no margin)"
        )


def _show_scales(result: Result) -> None:
    """Print the variables of the noise-corrected correlation."""
    found = set(result.estimates["scale"].values.tolist()) if "scale" in result.estimates else set()
    if texts := [text for scale, text in SCALES.items() if scale in found]:
        say("", f"The noise-corrected estimate is the correlation {', or '.join(texts)}.")


def _show_scores(scores: al.Result, ci_prob: float) -> None:
    """Means of models, best first, with ranks where there are two and more."""
    frame = scores.summary().sort_values("posterior_median", ascending=False)
    interval = f"{interval_of(frame, 'posterior_')}:3={percent(ci_prob)}"
    columns = ["system", "n_entries", "estimate=DMC", "ceiling", "posterior_median=corrected"]
    if len(scores.observers) > 1 and frame["posterior_median"].notna().all():
        frame = with_ranks(frame, al.benchmark.ranks(scores))
        columns.append("rank:s")
    columns.insert(5, interval)
    show(frame, columns, "", "Noise-corrected means over conditions and data sets:")


def _show_ceilings(ceilings: pd.DataFrame, ci_prob: float) -> None:
    """Print the reliability of each group."""
    bounds = ceilings.rename(columns={"lower": "interval_lb", "upper": "interval_ub"})
    above = (
        "Reliability of each group (from split halves; intervals from resampling observers and "
        "items). The noise ceiling of a model is the square root of the reliability:"
    )
    columns = ["condition", "system=group", "n_observers", "n_items", "reliability",
               f"interval={percent(ci_prob)}"]  # fmt: skip
    kept = "the group 'ceilings' of the netCDF file in --out DIR contains all rows"
    show(bounds.assign(note=bounds["undefined"]), columns, "", above, by="reliability", all_in=kept)
