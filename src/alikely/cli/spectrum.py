"""`alikely spectrum`: conditions on a scale of human difficulty, regimes, alignment within them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Literal

import numpy as np

import alikely as al
from alikely._base.files import write_file, write_tree
from alikely._base.intervals import percent
from alikely._base.steps import step
from alikely.cli._keywords import groups_of
from alikely.cli._options import Parser, add_inference_options, add_kinds, add_output_options
from alikely.cli._reading import add_file, add_reading_options, read_trials
from alikely.cli._shared import save_plot
from alikely.cli._tables import DASH, Column, Table, note_lines, number, span
from alikely.metrics import find_metric, get_metric

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
    options.notes = [*filter(None, [*options.notes, spectrum.attrs["missing_note"]])]
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
    _spectrum_table(tables["spectrum"], posterior, options.ci_prob).show()
    _number_table(tables["regimes"], found, compared).show()
    if (trials.data["kind"].values == options.models).any():
        tables |= _aligned(options, trials, metrics, spectrum, found)
        _machine_table(tables["machines"], options.ci_prob).show()
    if options.out is None:
        print("\nNothing was written; --out DIR keeps tables, draws and plots.")
        return
    options.out.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        write_file(options.out / f"{name}.csv", table.to_csv(index=False))
    save_plot(al.plot_spectrum, options.out / "spectrum.png", spectrum, found, posterior)
    save_plot(al.papers.plot_regime_numbers, options.out / "regimes.png", found, compared)
    written = [f"{name}.csv" for name in tables] + ["spectrum.png", "regimes.png"]
    if "machines" in tables:
        save_plot(al.papers.plot_regime_ranks, options.out / "machines.png", tables["machines"])
        written.append("machines.png")
        from alikely.plots.distortions import can_be_drawn

        if can_be_drawn(tables["alignment"], metrics[0].name):
            picture = options.out / "distortions.png"
            save_plot(al.plot_distortions, picture, tables["alignment"], metrics[0].name)
            written.append("distortions.png")
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


def _spectrum_table(frame: pd.DataFrame, posterior: pd.DataFrame | None, ci_prob: float) -> Table:
    """The scale, easiest first."""
    last = [Column("regime", 10), Column("stable", 6)]
    if posterior is not None:
        last = [Column(f"posterior {percent(ci_prob)}", 16), Column("regime", 9)]
    table = Table(
        [
            Column("condition", 24, left=True, names="condition"),
            Column("people", 6),
            Column("right", 5),
            Column("delta", 6, strong=True),
            Column("p (BH)", 7),
            *last,
        ]
    )
    bounds = None if posterior is None else posterior.set_index("condition")
    for _, row in frame.iterrows():
        p = "ref." if row["is_reference"] else number(row["mann_whitney_p_bh"], 4)
        cells = [row["regime"], number(row["stability"])]
        if bounds is not None:
            own = bounds.loc[row["condition"]]
            lower, upper = (own[name] for name in own.index if str(name).endswith(("_lb", "_ub")))
            cells = [span(lower, upper, wide=6), own["regime"]]
        table.row(
            row["condition"],
            row["n_humans"],
            number(row["accuracy"]),
            number(row["delta"]),
            p,
            *cells,
            mark="" if row["above_chance"] else "*",
        )
    if not frame["above_chance"].all():
        table.say(f"* {int((~frame['above_chance']).sum())} not above chance")
    return table


def _number_table(numbers: pd.DataFrame, found: xr.Dataset, compared: pd.DataFrame | None) -> Table:
    """How many regimes: BIC, AICc, replicates, and leave-one-out of the generative model."""
    columns = [
        Column("regimes", 7),
        Column("BIC", 7, strong=True),
        Column("AICc", 7),
        Column("at the end", 10),
        Column("best in", 8),
    ]
    loo = None
    if compared is not None:
        columns += [Column("LOO", 8), Column("to best", 14)]
        loo = compared.set_index("n_regimes")
    table = Table(columns, [""])
    for _, row in numbers.iterrows():
        k = int(row["n_regimes"])
        more = []
        if loo is not None:
            more = ["", ""]
            if k in loo.index:
                own = loo.loc[k]
                behind = f"{number(own['elpd_diff'], 1)} +- {number(own['diff_se'], 1)}"
                more = [number(own["elpd"], 1), behind if own["diff_se"] else "best"]
        table.row(
            k,
            *(number(row[name], 1) for name in ("bic", "aicc", "converged_bic")),
            f"{number(100 * row['resampled_best'], 0)} %",
            *more,
        )
    ties = ", ".join(str(k) for k in found.attrs["ties"])
    table.say(f"Shown: {found.attrs['k']} regimes. Within 2 of the lowest BIC: {ties}.")
    return table


def _machine_table(frame: pd.DataFrame, ci_prob: float) -> Table:
    """Per metric and regime: the humans' own agreement, the best machine, who ties with it."""
    table = Table(
        [
            Column("metric", 6, left=True),
            Column("regime", 10, left=True, names="regime"),
            Column("conds.", 6),
            Column("humans", 6),
            Column("nearest machine", 20, left=True, names="machine"),
            Column("of it", 5, strong=True),
            Column(percent(ci_prob), 14),
            Column("tied", 4),
        ],
        [""],
    )
    lower, upper = (c for c in frame if str(c).startswith("ratio_of_means_"))
    for (metric, regime), part in frame.groupby(["metric", "regime"], sort=False):
        short = get_metric(metric).short
        if not part["rank"].notna().any():
            table.row(short, regime, 0, DASH, "", DASH, DASH, "")
            continue
        best = part.sort_values("rank").iloc[0]
        table.row(
            short,
            regime,
            best["n_conditions"],
            number(best["ceiling"], 3),
            best["system"],
            number(best["ratio_of_means"]),
            span(best[lower], best[upper]),
            int((part["rank_lb"] == 1).sum()),
        )
    table.say("of it: share of the agreement among humans; tied: may be first")
    table.say(*note_lines(frame.drop_duplicates(["metric", "regime"])["note"]))
    return table
