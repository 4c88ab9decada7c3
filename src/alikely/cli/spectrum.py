"""`alikely spectrum`: conditions on a scale of human difficulty, regimes, alignment within them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Literal

import numpy as np

import alikely as al
from alikely._base.files import write_file, write_tree
from alikely._base.steps import step
from alikely.cli._keywords import groups_of
from alikely.cli._options import Parser, add_inference_options, add_kinds, add_output_options
from alikely.cli._reading import add_file, add_reading_options, read_trials
from alikely.cli._shared import note_lines, number, save_plot, span, told_apart
from alikely.metrics import find_metric, get_metric
from alikely.stats.intervals import percent

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from alikely.metrics import Metric

FEWEST, MOST = 2, 6


DESCRIPTION = (
    "Glass's delta of human accuracies in every condition against undistorted ones, "
    "regimes of difficulty and how sure they are, and, with machines in FILE, alignment "
    "within each regime. FILE as for alikely compare, with a column kind."
)


def add_options(parser: Parser) -> None:
    """Add the options of the verb."""
    add_file(parser)
    parser.add_argument(
        "--reference",
        required=True,
        metavar="DATASET:CONDITION,...",
        help="undistorted conditions",
    )
    parser.add_argument(
        "--exclude", metavar="DATASET:CONDITION,...", help="conditions to leave out"
    )
    parser.add_argument(
        "--chance", type=float, metavar="P", help="accuracy of guessing (default 1/classes)"
    )
    parser.add_argument(
        "--regimes", default="auto", metavar="K", help="number of regimes, or auto (default): BIC"
    )
    parser.add_argument(
        "--correction",
        type=float,
        default=0.0,
        metavar="C",
        help="added to right and wrong counts; 0.5 where people are always right (default 0)",
    )
    parser.add_argument(
        "--metric",
        metavar="NAME,...",
        help="what machines are compared by: ec, ma (default: both, if there are classes), any "
        "other metric of answers by name, one of your own as module:ATTRIBUTE",
    )
    parser.add_argument(
        "--mcmc",
        action="store_true",
        help=f"also fit the generative model with {FEWEST} to {MOST} regimes (minutes)",
    )
    parser.add_argument(
        "--include",
        metavar="GROUP,...",
        help="with --mcmc: groups that posterior.nc keeps beside the draws, or all",
    )
    parser.add_argument(
        "--conditions",
        default="all",
        choices=["all", "representative"],
        help="of a regime: all its conditions (default), or one of each data set",
    )
    add_kinds(parser)
    add_reading_options(parser)
    add_inference_options(parser, resamples=1_000)
    add_output_options(parser)


def run(options: argparse.Namespace) -> None:
    """Print and write difficulties, regimes, their number, and alignment within them."""
    trials = read_trials(options, options.file)
    default = "EC,MA" if trials.has_classes else "EC"
    metrics = [find_metric(name) for name in (options.metric or default).split(",")]
    if options.exclude:
        trials = al.exclude_conditions(trials, _by_dataset(options.exclude))
    spectrum = al.difficulty_spectrum(
        trials,
        options.reference.split(","),
        chance=options.chance,
        kind=options.humans,
        no_response=options.no_response,
        correction=options.correction,
    )
    with step("regimes of difficulty"):
        found = al.regimes(spectrum, _number(options.regimes), rng=options.seed)
    interval = {"ci_prob": options.ci_prob, "ci_kind": options.ci_kind}
    posterior = compared = None
    tables = {"normality": al.spectrum.normality_checks(spectrum)}
    if options.mcmc:
        most = min(MOST, spectrum.sizes["condition"])
        trees = {}
        for k in sorted({found.attrs["k"], *range(FEWEST, most + 1)}):
            with step(f"generative model with {k} regimes"):
                trees[k] = al.fit_spectrum(
                    spectrum,
                    k,
                    n_draws=options.draws,
                    include=groups_of(options.include),
                    rng=options.seed + k,
                )
        tree = trees[found.attrs["k"]]
        posterior = al.spectrum.regime_probabilities(tree, **interval)
        if len(trees) > 1:
            compared = tables["compared"] = al.spectrum.compare_regimes(trees)
        tables["posterior"] = posterior
    tables["spectrum"] = _conditions(spectrum, found)
    tables["regimes"] = _numbers(found)
    print(_spectrum_table(tables["spectrum"], posterior, options.ci_prob))
    print(_number_table(tables["regimes"], found, compared))
    if (trials.data["kind"].values == options.models).any():
        tables |= _aligned(options, trials, metrics, spectrum, found)
        print(_machine_table(tables["machines"], options.ci_prob))
    if options.out is None:
        print("\nNothing was written; --out DIR keeps tables, draws and plots.")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        write_file(options.out / f"{name}.csv", table.to_csv(index=False))
    save_plot(al.plot_spectrum, options.out / "spectrum.png", spectrum, found, posterior)
    save_plot(al.plot_regime_numbers, options.out / "regimes.png", found, compared)
    written = [f"{name}.csv" for name in tables] + ["spectrum.png", "regimes.png"]
    if "machines" in tables:
        save_plot(al.plot_regime_ranks, options.out / "machines.png", tables["machines"])
        written.append("machines.png")
    if posterior is not None:
        write_tree(tree, options.out / "posterior.nc")
        written.append("posterior.nc (all draws)")
    print(f"\nWritten to {options.out}: {', '.join(written)}")


def _aligned(
    options: argparse.Namespace,
    trials: al.Trials,
    metrics: list[Metric],
    spectrum: xr.Dataset,
    found: xr.Dataset,
) -> dict[str, pd.DataFrame]:
    """Agreement of machines and people in each condition, and ranks within each regime."""
    interval = {"ci_prob": options.ci_prob, "ci_kind": options.ci_kind}
    with step("alignment in each condition"):
        alignment = al.condition_alignment(
            trials,
            models=options.models,
            humans=options.humans,
            metrics=metrics,
            no_response=options.no_response,
            n_resamples=options.resamples,
            rng=options.seed,
        )
    machines = al.spectrum.regime_alignment(
        alignment,
        found["label"],
        conditions=options.conditions,
        delta=spectrum,
        rng=options.seed,
        **interval,
    )
    # Easiest first, as the conditions stand.
    order = {name: i for i, name in enumerate(found["regime"].values[::-1])}
    key = machines["regime"].map(order)
    return {
        "alignment": al.spectrum.alignment_table(alignment, found["label"], **interval),
        "machines": machines.iloc[np.lexsort((key, machines["metric"]))],
    }


def _by_dataset(text: str) -> dict[str, list[str]]:
    """Conditions by data set, from ``dataset:condition,...``."""
    out: dict[str, list[str]] = {}
    for name in text.split(","):
        dataset, colon, condition = name.partition(":")
        if not colon:
            raise ValueError(f"--exclude must list dataset:condition,...; got {name!r}")
        out.setdefault(dataset, []).append(condition)
    return out


def _number(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdecimal():
        raise ValueError(f"--regimes must be a whole number or auto, got {text!r}")
    return int(text)


def _conditions(spectrum: xr.Dataset, found: xr.Dataset) -> pd.DataFrame:
    """One row per condition, easiest first."""
    names = [name for name in spectrum.data_vars if spectrum[name].dims == ("condition",)]
    frame = spectrum[names].to_dataframe().reset_index()
    frame["regime"] = found["label"].values
    frame["stability"] = found["stability"].values
    return frame.sort_values("delta", ascending=False, ignore_index=True)


def _numbers(found: xr.Dataset) -> pd.DataFrame:
    names = ["bic", "aicc", "converged_bic", "resampled_best"]
    return found[names].to_dataframe().reset_index()


def _spectrum_table(frame: pd.DataFrame, posterior: pd.DataFrame | None, ci_prob: float) -> str:
    """Lay the scale out, easiest first, in at most 80 columns."""
    level = percent(ci_prob)
    head = f"{'condition':<24} {'people':>6} {'right':>5} {'delta':>6} {'p (BH)':>7}"
    last = f"{'posterior ' + level:>16} {'regime':>9}"
    if posterior is None:
        last = f"{'regime':>10} {'stable':>6}"
    lines = [head + " " + last]
    bounds = None if posterior is None else posterior.set_index("condition")
    names = told_apart(frame["condition"], 24)
    for _, row in frame.iterrows():
        p = "ref." if row["is_reference"] else number(row["mann_whitney_p_bh"], 7, 4)
        mark = "" if row["above_chance"] else "*"
        line = (
            f"{names[row['condition']]:<24} {row['n_humans']:>6} {number(row['accuracy'])} "
            f"{number(row['delta'], 6)} {p:>7} "
        )
        if bounds is None:
            line += f"{row['regime']:>10} {number(row['stability'], 6)}{mark}"
        else:
            own = bounds.loc[row["condition"]]
            lower, upper = (own[name] for name in own.index if str(name).endswith(("_lb", "_ub")))
            line += f"{span(lower, upper, 6)} {own['regime']:>9}{mark}"
        lines.append(line)
    if not frame["above_chance"].all():
        lines.append(f"* {int((~frame['above_chance']).sum())} not above chance")
    return "\n".join(lines)


def _number_table(numbers: pd.DataFrame, found: xr.Dataset, compared: pd.DataFrame | None) -> str:
    """How many regimes: BIC, AICc, replicates, and leave-one-out of the generative model."""
    lines = ["", f"{'regimes':>7} {'BIC':>7} {'AICc':>7} {'at the end':>10} {'best in':>8}"]
    if compared is not None:
        lines[1] += f" {'LOO':>8} {'to best':>14}"
        loo = compared.set_index("n_regimes")
    for _, row in numbers.iterrows():
        k = int(row["n_regimes"])
        line = (
            f"{k:>7} {number(row['bic'], 7, 1)} {number(row['aicc'], 7, 1)} "
            f"{number(row['converged_bic'], 10, 1)} {number(100 * row['resampled_best'], 6, 0)} %"
        )
        if compared is not None and k in loo.index:
            own = loo.loc[k]
            to_best = "best"
            if own["diff_se"]:
                to_best = f"{number(own['elpd_diff'], 0, 1)} +- {number(own['diff_se'], 0, 1)}"
            line += f" {number(own['elpd'], 8, 1)} {to_best:>14}"
        lines.append(line)
    ties = ", ".join(str(k) for k in found.attrs["ties"])
    lines.append(f"Shown: {found.attrs['k']} regimes. Within 2 of the lowest BIC: {ties}.")
    return "\n".join(lines)


def _machine_table(frame: pd.DataFrame, ci_prob: float) -> str:
    """Per metric and regime: the humans' own agreement, the best machine, who ties with it."""
    level = percent(ci_prob)
    head = f"{'':<3} {'regime':<10} {'conds.':>6} {'humans':>7}  {'nearest machine':<21} "
    lines = ["", f"{head}{'of it':>5} {level:>14} {'tied':>5}"]
    lower, upper = (c for c in frame if str(c).startswith("ratio_of_means_"))
    above, names = "", told_apart(frame["system"], 21)
    for (metric, regime), part in frame.groupby(["metric", "regime"], sort=False):
        short = get_metric(metric).short
        if len(short) > 3:
            # Too long for its column: once, above its rows.
            lines += [] if short == above else [f"-- {short}"]
            above, short = short, ""
        if not part["rank"].notna().any():
            lines.append(f"{short:<3} {regime:<10} no condition is left")
            continue
        best = part.sort_values("rank").iloc[0]
        tied = int((part["rank_lb"] == 1).sum())
        lines.append(
            f"{short:<3} {regime:<10} {best['n_conditions']:>6} {number(best['ceiling'], 7, 3)}  "
            f"{names[best['system']]:<21} {number(best['ratio_of_means'])} "
            f"{span(best[lower], best[upper])} {tied:>5}"
        )
    lines.append("of it: share of the agreement among humans; tied: may be first")
    return "\n".join([*lines, *note_lines(frame.drop_duplicates(["metric", "regime"])["note"])])
