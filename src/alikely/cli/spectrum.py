"""`alikely spectrum`: difficulty of conditions, its regimes, alignment within them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import alikely as al
from alikely._base.files import write_tree
from alikely._base.intervals import percent
from alikely._base.steps import step
from alikely.cli._app import Options, subcommand
from alikely.cli._tables import (
    Cell,
    Folder,
    between,
    ends,
    num,
    number,
    say,
    show,
    show_notes,
    span,
)
from alikely.metrics import get_metric
from alikely.metrics.metric import find_metric

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

FEWEST, MOST = 2, 6


@subcommand(
    al.difficulty_spectrum,
    al.fit_spectrum,
    al.condition_alignment,
    al.spectrum.regime_alignment,
    omit=("model",),
    defaults={"n_resamples": 1_000},
)
def spectrum(
    o: Options,
    *,
    reference: str,
    exclude: str | None = None,
    k: str = "auto",
    metrics: str | None = None,
    mcmc: bool = False,
) -> None:
    """Measure the difficulty of conditions for humans, and the alignment of models within regimes.

    Difficulty is Glass's delta of human accuracies in a condition against undistorted ones. FILE is
    as for alikely compare, with a column kind.

    Parameters
    ----------
    reference : str
        Undistorted conditions DATASET:CONDITION,...
    exclude : str
        Conditions to exclude, DATASET:CONDITION,...
    k : str
        Number of regimes, or auto for the lowest BIC.
    metrics : str
        Metrics NAME,... of the alignment (default: ec, and ma if there are classes); a custom
        metric as module:ATTRIBUTE.
    mcmc : bool
        Also fit the generative model with 2 to 6 regimes by MCMC (minutes).
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
    files = Folder(o.out, "tables, draws and plots")
    files.table("normality", al.spectrum.normality_checks(scale))
    posterior = compared = None
    if mcmc:
        posterior, compared = _fitted(o, scale, groups, files)
    names = [name for name in scale.data_vars if scale[name].dims == ("condition",)]
    frame = scale[names].to_dataframe().reset_index()
    frame["regime"], frame["stability"] = groups["label"].values, groups["stability"].values
    # Easiest first.
    frame = frame.sort_values("delta", ascending=False, ignore_index=True)
    numbers = groups[["bic", "aicc", "converged_bic", "resampled_best"]]
    counts = numbers.to_dataframe().reset_index()
    _show_conditions(frame, posterior, o.ci_prob)
    _show_numbers(counts, groups, compared)
    files.table("spectrum", frame)
    files.table("regimes", counts)
    files.plot("spectrum", al.plot_spectrum, scale, groups, posterior)
    files.plot("regimes", lambda: al.plot_regimes(groups, "numbers", compared=compared))
    if (trials.data["kind"].values == o.models).any():
        _align(o, trials, found, scale, groups, files)
    files.close()


def _fitted(
    o: Options, scale: xr.Dataset, groups: xr.Dataset, files: Folder
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Regimes of the generative model, and its forms compared."""
    trees, own = {}, groups.attrs["k"]
    for n in sorted({own, *range(FEWEST, min(MOST, scale.sizes["condition"]) + 1)}):
        with step(f"generative model with {n} regimes"):
            draws = {"n_draws": o.n_draws, **o.pick("include")}
            trees[n] = al.fit_spectrum(scale, n, rng=o.seed + n, **draws)
    posterior = al.spectrum.regime_probabilities(trees[own], **o.pick("ci_prob", "ci_kind"))
    files.table("posterior", posterior)
    files.file("posterior.nc", lambda path: write_tree(trees[own], path))
    if len(trees) < 2:
        return posterior, None
    compared = al.spectrum.compare_regimes(trees)
    files.table("compared", compared)
    return posterior, compared


def _align(
    o: Options, trials: al.Trials, metrics: list[Any], scale: xr.Dataset, groups: xr.Dataset,
    files: Folder,
) -> None:  # fmt: skip
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
    files.table("alignment", table)
    files.table("machines", frame)
    files.plot("machines", al.plot_regimes, frame)
    from alikely.plots.alignment import can_be_drawn

    if files and can_be_drawn(table, metrics[0].name):
        metric = metrics[0].name
        files.plot("distortions", lambda: al.plot_alignment(table, metric=metric))


def _by_dataset(text: str) -> dict[str, list[str]]:
    """Conditions by data set, from ``dataset:condition,...``."""
    out: dict[str, list[str]] = {}
    for name in text.split(","):
        dataset, colon, condition = name.partition(":")
        if not colon:
            raise ValueError(f"--exclude must list dataset:condition,...; got {name!r}")
        out.setdefault(dataset, []).append(condition)
    return out


def _show_conditions(frame: pd.DataFrame, posterior: pd.DataFrame | None, ci_prob: float) -> None:
    """The scale, easiest first."""
    columns: dict[str, Cell] = {
        "condition": "condition",
        "humans": num("n_humans", 0),
        "correct": num("accuracy"),
        "delta": num("delta"),
        "p (BH)": lambda row: (
            "ref." if row["is_reference"] else number(row["mann_whitney_p_bh"], 4)
        ),
        "regime": "regime",
        "stable": num("stability"),
    }
    if posterior is not None:
        own = posterior.rename(columns={"regime": "most likely"})
        own = own[["condition", "most likely", *ends(own)]]
        frame = frame.merge(own, on="condition", how="left")
        columns |= {f"posterior {percent(ci_prob)}": between(ends(own)), "regime": "most likely"}
        del columns["stable"]
    below = ~frame["above_chance"]
    show(frame.assign(note=np.where(below, "!", "")), columns)
    if below.any():
        say(f"! {int(below.sum())} not above chance")


def _show_numbers(
    counts: pd.DataFrame, groups: xr.Dataset, compared: pd.DataFrame | None
) -> None:  # fmt: skip
    """How many regimes: BIC, AICc, replicates, and leave-one-out of the generative model."""
    columns: dict[str, Cell] = {
        "regimes": num("n_regimes", 0),
        "BIC": num("bic", 1),
        "AICc": num("aicc", 1),
        "at the end": num("converged_bic", 1),
        "best in": lambda row: f"{number(100 * row['resampled_best'], 0)} %",
    }
    if compared is not None:
        counts = counts.merge(compared, on="n_regimes", how="left")
        columns["LOO"] = num("elpd", 1)
        columns["to best"] = lambda row: (
            "best" if not row["diff_se"]
            else f"{number(row['elpd_diff'], 1)} +- {number(row['diff_se'], 1)}"
        )  # fmt: skip
    show(counts, columns, [""])
    ties = ", ".join(str(k) for k in groups.attrs["ties"])
    say(f"Shown: {groups.attrs['k']} regimes. Within 2 of the lowest BIC: {ties}.")


def _show_models(frame: pd.DataFrame, ci_prob: float) -> None:
    """Per metric and regime: the humans' own agreement, the best model, who ties with it."""
    import pandas as pd

    lower, upper = ends(frame, "ratio_of_means_")
    rows = []
    for (metric, _), part in frame.groupby(["metric", "regime"], sort=False):
        best = part.sort_values("rank").iloc[0].to_dict()
        ranked = best["rank"] == best["rank"]
        tied = int((part["rank_lb"] == 1).sum()) if ranked else ""
        unknown = {} if ranked else {
            "system": "", "n_conditions": 0, "ceiling": np.nan, "ratio_of_means": np.nan,
            lower: np.nan,
        }  # fmt: skip
        short = get_metric(metric).short
        rows.append(best | {"metric": short, "tied": tied, "note": ""} | unknown)
    columns: dict[str, Cell] = {
        "metric": "metric",
        "regime": "regime",
        "conds.": num("n_conditions", 0),
        "humans": num("ceiling", 3),
        "nearest model": "system",
        "ratio": num("ratio_of_means"),
        percent(ci_prob): lambda row: span(row[lower], row[upper]),
        "tied": lambda row: str(row["tied"]),
    }
    show(pd.DataFrame(rows), columns, [""])
    say("ratio: to the agreement among humans; tied: models that may be first")
    show_notes(frame.drop_duplicates(["metric", "regime"])["note"])
