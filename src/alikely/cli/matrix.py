"""`alikely matrix`: all pairs of many observers, and families of similar ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import alikely as al
from alikely._base.checks import one_of
from alikely._base.intervals import percent
from alikely._base.names import listed
from alikely._base.steps import step
from alikely.benchmark.trees import block_means, members
from alikely.benchmark.trees import branches as branches_of
from alikely.cli._app import Options, subcommand
from alikely.cli._output import interval_of, kinds_of, say, show
from alikely.estimates.matrix_result import write_pairs

if TYPE_CHECKING:
    import pandas as pd


# Rows of a table; --out has the others.
MOST_BLOCKS, MOST_FAMILIES = 30, 12


@subcommand(
    al.pairwise_matrix, al.benchmark.families, omit=("intervals",), defaults={"n_resamples": 200}
)  # fmt: skip
def matrix(o: Options, *, by_family: str | None = None, top: int = 10) -> None:
    """Compare all pairs of many observers and find families of similar ones.

    The table gives standard errors, posterior limits and Fisher's exact test. FILE is as for
    alikely compare. Ten million pairs take about a minute.

    Parameters
    ----------
    by_family : str
        Column that assigns observers to groups, such as family or kind. Adds means within and
        between groups, and colors to the plot.
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
    from alikely.plots.families import MOST_GROUPS

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
    columns = ["condition", "observer_a=one", "observer_b=other", "n_trials",
               f"estimate={result.metric.short}", interval]  # fmt: skip
    show(frame, columns + ["log10_p:1=log10 p"] * tested, repr(result)[1:-1], "")
    if (n_rows := result.estimates["estimate"].size) > top:
        say(f"... the {top} highest of {n_rows:,}; --out DIR writes all of them")
    if not posterior and frame["note"].str.contains("posterior").any():
        say("This matrix has no posterior. For fewer pairs, alikely compare computes one.")


def _show_blocks(blocks: pd.DataFrame, ci_prob: float, result: al.Result) -> None:
    """Print means within groups, and the highest and lowest between groups."""
    inside = blocks["group_a"] == blocks["group_b"]
    interval = f"{interval_of(blocks, 'analytic')}={percent(ci_prob)}"
    columns = ["group_a=group", "n_pairs", "estimate=mean", interval]
    within = blocks[inside].sort_values("estimate", ascending=False).head(MOST_BLOCKS)
    above = f"mean {result.metric.label} within groups (these observers, new trials)"
    show(within, columns, "", above)
    across = blocks[~inside].dropna(subset=["estimate"]).sort_values("estimate")
    if len(across):
        most = across.iloc[[-1, 0]] if len(across) > 1 else across
        columns.insert(1, "group_b=other group")
        show(most, columns, "", "between groups, the highest and the lowest")


def _show_families(tree: al.Result) -> None:
    """Print the largest supported branches, and the families of the recommended cut."""
    branches, found = branches_of(tree), members(tree)
    sure = branches[branches["support"] >= 0.95].sort_values("size", ascending=False)
    said = f"a tree of {len(branches)} branches, without support (--n-resamples 0)"
    if tree.data.attrs["n_resamples"]:
        said = f"{len(sure)} of {len(branches)} branches of the tree have support of 0.95 or more"
    say("", said)
    for _, row in sure.head(10).iterrows():
        names = listed(row["members"], most=4)
        say(f"{row['size']} observers, support {row['support']:.2f}: {names}", hanging="    ")
    say("", tree.sentence())
    if tree.data.attrs["n_groups"] > 1:
        for _, row in found.head(MOST_FAMILIES).iterrows():
            say(f"{row['size']} observers: {listed(row['members'], most=4)}", hanging="    ")
        if len(found) > MOST_FAMILIES:
            say(f"... the {MOST_FAMILIES} largest of {len(found)}; --out DIR writes all of them")
