"""`alikely compare` and `demo`: errors of all pairs of a file, by one metric or several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

import alikely as al
from alikely._base.files import write_tree
from alikely._base.intervals import percent
from alikely.cli._app import Options, subcommand
from alikely.cli._output import PAIR, interval_of, say, show, show_result
from alikely.estimates.analysis import OF_CELLS
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
OF_COUNTS = {"readings": ("readers",), "rows": (*OF_CLES, "cache_dir")}


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
        Name of a metric: ec (error consistency), ma (misclassification agreement),
        cles (class-level error similarity), copying, gwet_ac1, or any other. Use all for ec, ma,
        cles and their correlations, and module:ATTRIBUTE for a custom metric.
    confusions : list
        Instead of FILE, for cles: csv files with one confusion matrix per system, true classes
        (rows) by responses (columns).
    n_resamples : int
        Bootstrap replicates (default 10000, and none for cles).
    alpha : float
        Pseudocount of cles, added to each cell (default 0.5).
    mixture : str
        Reference distribution of cles: the mean of both rows, or both rows pooled (default mean).
    base : str
        Base of the logarithm of cles (default 2).
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
            "--paired needs --confusions; leave it out, since trials identify common items"
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
        if one.counts == "readings":
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
    if metric.counts == "readings" and "readers" in o.given:
        return al.agreement(trials, metric, **{"no_response": "error"} | given, **o.pick("readers"))
    if not several or metric.counts not in ("labels", "rows"):
        given |= o.pick("sampler")
    return al.compare(trials, metric, **given)


def _compare_confusions(o: Options, confusions: list[Path]) -> None:
    """Compare confusion matrices by error similarity."""
    asked = o.given.get("metric")
    if asked is not None and (asked == "all" or find_metric(asked).name != CLES):
        raise ValueError(
            f"confusion matrices lack the errors on each item that {asked} needs; give FILE, or "
            "leave out --metric to compute cles"
        )
    if o.paired is None:
        raise ValueError(
            "confusion matrices do not show whether systems responded to the same items; give "
            "--paired if they did (no intervals), or --no-paired if not"
        )
    for name in ("null", "cluster", "prior"):
        if o.given.get(name):
            raise ValueError(f"--{name} needs trials; give FILE instead of --confusions")
    _check_used(o, [find_metric(CLES)])
    names = [path.name.removesuffix(".csv") for path in confusions]
    if repeated := [name for n, name in enumerate(names) if name in names[:n]]:
        raise ValueError(
            f"two files are named {repeated[0]!r}, but names identify systems; rename one"
        )
    tables = dict(zip(names, map(_confusion, confusions), strict=True))
    metric = get_metric(CLES, **o.pick(*OF_CLES))
    show_result(o, al.error_similarity(tables, **o.of(al.error_similarity, metric=metric)))


def _confusion(path: Path) -> pd.DataFrame:
    """Read a matrix as text, because names of classes may look like numbers."""
    if not path.is_file():
        raise ValueError(f"no file {str(path)!r}; give a .csv of counts for each system")
    try:
        return pd.read_csv(path, index_col=0, dtype=str, keep_default_na=False)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{str(path)!r} cannot be read as a matrix of counts: {reason}; expected "
            "a first line and a first column of classes"
        ) from None


def _check_used(o: Options, asked: list[Metric]) -> None:
    """Check that each option applies to a requested metric."""
    for counts, names in OF_COUNTS.items():
        given = [name for name in names if o.given.get(name) is not None]
        if given and all(metric.counts != counts for metric in asked):
            raise ValueError(
                f"--{given[0].replace('_', '-')} applies to metrics of {counts}, not to "
                f"{', '.join(metric.short for metric in asked)}; leave it out"
            )


def _show_null(o: Options, result: Result) -> None:
    """Print and write the values expected from independent observers."""
    metric = result.metric
    if metric.counts != "correctness":
        print(
            f"\nIndependent observers are simulated only for correctness, not for {metric.short}."
        )
        return
    tree = al.estimates.independent_observers(result, o.n_draws, o.seed, **o.pick("sampler"))
    frame = tree["null"].to_dataset().to_dataframe().reset_index().drop(columns="pair")
    way = "MCMC" if frame["way"].iloc[0] == "nuts" else "exact draws"
    level = percent(o.ci_prob)
    above = f"Expected from independent observers with the same accuracies ({way}):"
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
    over = {"mean": "mean of conditions", "global": "all pairs together"}
    frame = correlations[correlations["domain"].isin(over)]
    first, second = (
        frame[name].map(lambda metric: get_metric(metric).short) for name in ("metric", "other")
    )
    frame = frame.assign(metrics=first + ", " + second, over=frame["domain"].map(over))
    above = "Spearman correlation of the metrics over pairs (intervals resample systems):"
    interval = f"{interval_of(frame, 'bootstrap_')}={percent(ci_prob)}"
    show(frame, ["metrics", "over", "n_pairs", "correlation=rho", interval], "", above)


@subcommand(
    file="", out="Folder for tables, draws and plots (default alikely-demo)", where="alikely-demo"
)
def demo(o: Options, *, ci_prob: float = 0.95) -> None:
    """Analyze a simulated experiment of 4 humans and 6 models.

    Parameters
    ----------
    ci_prob : float
        Probability of the intervals.
    """
    trials = al.load_example()
    print("A simulated experiment: 4 humans and 6 models name 480 images in 3 conditions.\n")
    result = al.error_consistency(trials, "human-model", ci_prob=ci_prob, rng=o.seed)
    show_result(o, result, trials)
    print("\nTo analyze your data: alikely compare FILE --pairs human-model --out DIR")
