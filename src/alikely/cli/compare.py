"""`alikely compare`, `matrix` and `demo`: errors of pairs of observers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

import alikely as al
from alikely._base.checks import one_of
from alikely._base.files import write_tree
from alikely._base.intervals import percent
from alikely._base.names import listed
from alikely._base.steps import step
from alikely.benchmark.trees import block_means, members
from alikely.benchmark.trees import branches as branches_of
from alikely.cli._app import Options, subcommand
from alikely.cli._output import PAIR, interval_of, kinds_of, say, show, show_result
from alikely.data.files import read_file
from alikely.estimates.analysis import OF_CELLS
from alikely.estimates.matrices import write_pairs
from alikely.metrics import get_metric
from alikely.metrics.metric import find_metric
from alikely.report.sentences import said

if TYPE_CHECKING:
    from alikely.estimates.result import Result
    from alikely.metrics import Metric

# Errors on the same trials, the same incorrect responses, the same confusions.
ALL = ("EC", "MA", "CLES")
# The metric of confusion matrices, and its options.
CLES, OF_CLES = "error_similarity", ("mixture", "alpha", "base")
# Options that only metrics of such counts have.
OF_COUNTS = {"ratings": ("readers",), "rows": (*OF_CLES, "cache_dir")}


@subcommand(
    al.compare, al.error_similarity, al.agreement,
    file="any", omit=("coefficient",), session=("ci_kind", "n_null"),
)  # fmt: skip
def compare(
    o: Options,
    *,
    metric: str = "ec",
    confusions: list[Path] | None = None,
    n_resamples: int | None = None,
    alpha: float | None = None,
    mixture: Literal["mean", "pooled"] | None = None,
    base: Literal["2", "e", "10"] | None = None,
    null: bool = False,
    intervals: Literal["all"] | None = None,
) -> None:
    """Compare pairs of observers by error consistency or another metric, with intervals.

    FILE has one row per observer and trial, with columns observer, item (or image), truth and
    response, or correct (0/1) in place of truth and response. Optional columns are condition,
    dataset, repeat and kind. An empty response means that the item was shown but not answered.

    Parameters
    ----------
    metric : str
        Name of a metric, such as ec (error consistency), ma (misclassification agreement), cles
        (class-level error similarity), copying or gwet_ac1. Use all for ec, ma, cles and the
        correlations between these metrics. Use module:ATTRIBUTE for a custom metric.
    confusions : list
        Confusion matrices to compare by cles, instead of FILE. Each csv file contains the confusion
        matrix of one system, with true classes in rows and responses in columns.
    n_resamples : int
        Number of bootstrap replicates (default: 10,000, or 0 for cles).
    alpha : float
        Pseudocount that cles adds to each cell (default: 0.5).
    mixture : str
        Reference distribution of cles: the mean of both rows, or both rows pooled (default: mean).
    base : str
        Base of the logarithm of cles (default: 2).
    null : bool
        Also show the values expected from independent observers with the same accuracies.
    intervals : str
        Show the intervals of all valid methods and all columns of the table.
    """
    if bool(o.file) == bool(confusions):
        raise ValueError("give either FILE with trials, or --confusions")
    if confusions:
        _compare_confusions(o, confusions)
        return
    if o.paired is not None:
        raise ValueError(
            "--paired needs --confusions; leave out --paired, because trials identify common items"
        )
    trials = o.trials()
    if null and o.n_draws < 1:
        raise ValueError(f"--null needs at least one draw, got --n-draws {o.n_draws}")
    # All names are looked up before any work is done.
    found = [find_metric(name) for name in (ALL if metric == "all" else (metric,))]
    _check_used(o, found)
    results: list[Result] = []
    for one in found:
        results.append(_compared(o, trials, one, len(found) > 1))
        print(end="\n" * (len(results) > 1))
        show_result(o, results[-1], trials)
        if one.counts == "ratings":
            say(said("agreement"))
        if null:
            _show_null(o, results[-1])
    if len(results) > 1:
        correlations = al.metric_correlations(results, ci_prob=o.ci_prob, rng=o.seed)
        _show_correlations(correlations, o.ci_prob)
        o.table("metric_correlations", correlations)


def _compared(o: Options, trials: Any, metric: Metric, several: bool) -> Result:
    """Compare pairs with the options that this metric has."""
    given = o.pick("pairs", "by", "no_response", "n_resamples", "n_draws", "cluster", "ci_prob")
    given["rng"] = o.seed
    if metric.counts == "rows":
        metric = get_metric(metric, **o.pick(*OF_CLES))
        if "cache_dir" in o.given:
            return al.error_similarity(trials, metric=metric, **given, **o.pick("cache_dir"))
    if not several or metric.draws in OF_CELLS:
        given |= o.pick("prior")
    if metric.counts == "ratings" and "readers" in o.given:
        return al.agreement(trials, metric, **{"no_response": "error"} | given, **o.pick("readers"))
    if not several or metric.counts not in ("labels", "rows"):
        given |= o.pick("sampler")
    return al.compare(trials, metric, **given)


def _compare_confusions(o: Options, confusions: list[Path]) -> None:
    """Compare confusion matrices by error similarity."""
    asked = o.given.get("metric")
    if asked is not None and (asked == "all" or find_metric(asked).name != CLES):
        raise ValueError(
            f"--metric {asked} needs errors on each item, which confusion matrices do not contain; "
            "give FILE, or leave out --metric to compute cles"
        )
    if o.paired is None:
        raise ValueError(
            "confusion matrices do not show whether systems responded to the same items; give "
            "--paired if the systems did (intervals are then unavailable), or --no-paired if not"
        )
    for name in ("null", "cluster", "prior"):
        if o.given.get(name):
            raise ValueError(f"--{name} needs trials; give FILE instead of --confusions")
    _check_used(o, [find_metric(CLES)])
    names = [path.name.removesuffix(".csv") for path in confusions]
    if repeated := [name for n, name in enumerate(names) if name in names[:n]]:
        raise ValueError(
            f"two files are named {repeated[0]!r}, but file names identify systems; rename one file"
        )
    # Read as text, because names of classes may look like numbers.
    read = (read_file(path).to_pandas() for path in confusions)
    tables = {n: one.set_index(one.columns[0]) for n, one in zip(names, read, strict=True)}
    metric = get_metric(CLES, **o.pick(*OF_CLES))
    show_result(o, al.error_similarity(tables, **o.of(al.error_similarity, metric=metric)))


def _check_used(o: Options, asked: list[Metric]) -> None:
    """Check that each option applies to a requested metric."""
    for counts, names in OF_COUNTS.items():
        given = [name for name in names if o.given.get(name) is not None]
        if given and all(metric.counts != counts for metric in asked):
            of = "cles" if counts == "rows" else f"metrics of {counts}"
            raise ValueError(
                f"--{given[0].replace('_', '-')} applies to {of}, not to "
                f"{', '.join(metric.short for metric in asked)}; leave it out"
            )


def _show_null(o: Options, result: Result) -> None:
    """Print and write the values expected from independent observers."""
    metric = result.metric
    if metric.counts != "correctness":
        print(f"\n--null is available only for metrics of correctness, not for {metric.short}.")
        return
    tree = al.estimates.independent_observers(result, o.n_draws, o.seed, **o.pick("sampler"))
    frame = tree["null"].to_dataset().to_dataframe().reset_index().drop(columns="pair")
    way = "MCMC" if frame["way"].iloc[0] == "nuts" else "exact draws"
    level = percent(o.ci_prob)
    above = f"Values expected from independent observers with the same accuracies ({way}):"
    columns = [*PAIR, f"estimate={metric.short}"]
    columns += [f"{interval_of(frame, f'null_{kind}')}={kind} {level}" for kind in ("eti", "hdi")]
    show(frame, [*columns, "p_value:4=p"], "", above, by="estimate", part="dataset")
    undefined, some = frame["n_undefined"].sum(), (frame["n_undefined"] > 0).sum()
    if undefined:
        say(f"{undefined} replicates of {some} pairs are undefined and excluded.")
    o.table(f"{metric.name}_null", frame)
    o.write(f"{metric.name}_null.nc", lambda path: write_tree(tree, path))


def _show_correlations(correlations: pd.DataFrame, ci_prob: float) -> None:
    """The mean over domains and the correlation over all pairs."""
    over = {"mean": "mean over conditions", "global": "all pairs together"}
    frame = correlations[correlations["domain"].isin(over)]
    first, second = (
        frame[name].map(lambda metric: get_metric(metric).short) for name in ("metric", "other")
    )
    frame = frame.assign(metrics=first + ", " + second, over=frame["domain"].map(over))
    above = "Spearman correlations between metrics over pairs (intervals from resampling systems):"
    interval = f"{interval_of(frame, 'bootstrap_')}={percent(ci_prob)}"
    show(frame, ["metrics", "over=computed as", "n_pairs", "correlation=rho", interval], "", above)


@subcommand(
    file="", out="Folder for tables, draws and plots (default: alikely-demo)", where="alikely-demo"
)
def demo(o: Options, *, ci_prob: float = 0.95) -> None:
    """Analyze a simulated experiment of 4 humans and 6 models.

    Parameters
    ----------
    ci_prob : float
        Probability of the intervals.
    """
    trials = al.load_example()
    print("In a simulated experiment, 4 humans and 6 models classify 480 images in 3 conditions.\n")
    result = al.error_consistency(trials, "human-model", ci_prob=ci_prob, rng=o.seed)
    show_result(o, result, trials)
    print("\nTo analyze your data, run alikely compare FILE --pairs human-model --out DIR")


# Rows of a table; --out has the others.
MOST_BLOCKS, MOST_FAMILIES = 30, 12


@subcommand(
    al.pairwise_matrix, al.benchmark.families, omit=("intervals",), defaults={"n_resamples": 200}
)  # fmt: skip
def matrix(o: Options, *, by_family: str | None = None, top: int = 10) -> None:
    """Compare all pairs of many observers and find families of similar observers.

    The table gives standard errors, posterior limits and p-values of Fisher's exact test. FILE has
    the same format as for alikely compare. Ten million pairs take about a minute.

    Parameters
    ----------
    by_family : str
        Column that assigns observers to groups, such as family or kind. The output then includes
        means within and between groups, and the plot colors groups.
    top : int
        Number of pairs to print, most similar first.
    """
    if o.n_resamples < 0:
        raise ValueError(f"n_resamples must be 0 or more, got {o.n_resamples}")
    # Columns without a role are kept only if they are named.
    named = by_family not in (None, "kind", "observer")
    trials = o.trials(**({"labels": (by_family,)} if named else {}))
    result = al.pairwise_matrix(trials, **o.of(al.pairwise_matrix))
    _show_pairs(result, top)
    o.write("pairs.parquet", lambda path: write_pairs(result, path))
    o.write("matrix.nc", result.save)
    groups = None
    if by_family is not None:
        groups = _groups(trials, by_family)
        with step("means within and between groups"):
            blocks = block_means(result, groups)
        _show_blocks(blocks, o.ci_prob, result)
        o.table("blocks", blocks)
    try:
        tree = al.benchmark.families(result, n_resamples=o.n_resamples, rng=o.seed)
    except ValueError as error:
        say("", f"No tree of families: {error}")
    else:
        _show_families(tree)
        branches = branches_of(tree)
        branches["members"] = branches["members"].map(" ".join)
        o.table("branches", branches)
        o.table("families", tree.summary().drop(columns="note"))
        o.plot("families", lambda: _draw(tree, result, groups))


def _groups(trials: al.Trials, label: str) -> dict[str, str]:
    """The group of every observer."""
    coords = trials.data.coords.items()
    one_of("--by-family", label, tuple(str(n) for n, c in coords
                                       if c.dims == ("observer",) and n != "observer"))  # fmt: skip
    return kinds_of(trials, label)


def _draw(tree: Any, result: al.Result, groups: dict[str, str] | None) -> None:
    from alikely.plots.pairs import MOST_GROUPS

    several = groups is not None and len(set(groups.values())) <= MOST_GROUPS
    al.plot_families(tree, result, by=groups if several else None)


def _show_pairs(result: al.Result, top: int) -> None:
    """The pairs that are most similar."""
    tested = "log10_p" in result.estimates
    frame = result.summary(top=top, columns=["log10_p"] if tested else None)
    prob = float(result.data.attrs["ci_prob"])
    posterior = any(str(column).startswith("posterior") for column in frame)
    method = "posterior" if posterior else "analytic"
    interval = f"{interval_of(frame, method)}={method} {percent(prob)}"
    columns = ["condition", "observer_a=observer a", "observer_b=observer b", "n_trials",
               f"estimate={result.metric.short}", interval]  # fmt: skip
    show(frame, columns + ["log10_p:1=log10 p"] * tested, repr(result)[1:-1], "")
    if (n_rows := result.estimates["estimate"].size) > top:
        say(f"... the {top} highest of {n_rows:,} estimates; --out DIR writes all estimates")
    if not posterior and frame["note"].str.contains("posterior").any():
        say(
            "This table has no posterior intervals. For fewer pairs, alikely compare computes "
            "posterior intervals."
        )


def _show_blocks(blocks: pd.DataFrame, ci_prob: float, result: al.Result) -> None:
    """Print means within groups, and the highest and lowest between groups."""
    inside = blocks["group_a"] == blocks["group_b"]
    interval = f"{interval_of(blocks, 'analytic')}={percent(ci_prob)}"
    columns = ["group_a=group", "n_pairs", "estimate=mean", interval]
    within = blocks[inside].sort_values("estimate", ascending=False).head(MOST_BLOCKS)
    above = (
        f"Mean {result.metric.label} within groups (intervals generalize to new trials with the "
        "same observers):"
    )
    show(within, columns, "", above)
    across = blocks[~inside].dropna(subset=["estimate"]).sort_values("estimate")
    if len(across):
        most = across.iloc[[-1, 0]] if len(across) > 1 else across
        columns.insert(1, "group_b=other group")
        show(most, columns, "", "Highest and lowest mean between groups:")


def _show_families(tree: al.Result) -> None:
    """Print the largest supported branches, and the families of the recommended cut."""
    branches, found = branches_of(tree), members(tree)
    sure = branches[branches["support"] >= 0.95].sort_values("size", ascending=False)
    said = f"The tree has {len(branches)} branches, without bootstrap support (--n-resamples 0)."
    if tree.data.attrs["n_resamples"]:
        n = f"{len(sure)} of {len(branches)}"
        verb = "has" if len(sure) == 1 else "have"
        said = f"{n} branches of the tree {verb} bootstrap support of 0.95 or more."
    say("", said)
    for _, row in sure.head(10).iterrows():
        names = listed(row["members"], most=4)
        say(f"{row['size']} observers, support {row['support']:.2f}: {names}", hanging="    ")
    say("", tree.sentence())
    if tree.data.attrs["n_groups"] > 1:
        for _, row in found.head(MOST_FAMILIES).iterrows():
            say(f"{row['size']} observers: {listed(row['members'], most=4)}", hanging="    ")
        if len(found) > MOST_FAMILIES:
            n_shown = f"{MOST_FAMILIES} largest of {len(found)} groups"
            say(f"... the {n_shown}; --out DIR writes all groups")
