"""Scores of systems against a reference, from posterior draws of pairs.

References
----------
.. [SS49] Stouffer, Suchman, DeVinney, Star, Williams (1949). The American soldier: adjustment
   during army life. Princeton University Press.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

import alikely
from alikely._base.arrays import Floats, within
from alikely._base.checks import require_names
from alikely._base.names import listed
from alikely._base.notes import note
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL, refuse_own_names
from alikely.benchmark.tables import BY
from alikely.data.summaries import DATA_SUMMARY
from alikely.estimates.result import Result, of_kind

# Limits of error similarity are computed for each mean, see `alikely.errors.limits.mean_draws`.
POPULATIONS = "populations"


def scores_from_result(
    result: Result,
    reference: str | Sequence[str] | None = None,
) -> Result:
    """Score systems against a reference, using the posterior draws of a result.

    Scores are averaged over conditions, then over members of the reference, and then over data
    sets.

    Parameters
    ----------
    result : Result
        Result with posterior draws, for any metric except error similarity, whose draws cannot be
        averaged over pairs.
    reference : str or sequence of str, optional
        Names of the observers that systems are scored against. Default for results of margins: the
        groups of humans. Pairs of two reference observers form the row ``human-human``; pairs
        without a reference observer are excluded.

    Returns
    -------
    Result

    Raises
    ------
    TypeError
        If `result` is not a result of pairs. To score trials, use `alikely.benchmark_scores`.
    ValueError
        If the result has no posterior, or its draws cannot be averaged over pairs. If a name is
        unknown. If a system lacks a pair that other systems have.

    Notes
    -----
    Means are unweighted and computed for each draw. Pairs that share items have joint draws. Draws
    for pairs without common items, such as those of different data sets, are independent. A mean of
    correlations with an upper limit of 1 is below 1 in nearly all draws, even if all true
    correlations are 1. If the posterior probability of a correlation of 1 is positive for every
    pair, these probabilities are combined by their normal deviates [SS49]_. The result is the
    probability that the score is 1. The probability that it is -1 is computed in the same way.

    Examples
    --------
    >>> import alikely as al
    >>> trials, margins = al.simulate.detection_experiment(8, 60, rho={"a": 0.9, "b": 0.1}, rng=1)
    >>> result = al.decision_margin_consistency(trials, margins, n_resamples=0, rng=1)
    >>> scores = al.benchmark.scores_from_result(result)
    >>> al.benchmark.ranks(scores)[["system", "rank_lb", "rank_ub"]].values.tolist()
    [['a', 1, 1], ['b', 2, 2]]
    """
    entries, names = _entries(result, reference)
    systems = list(dict.fromkeys(entries.loc[entries["system"] != HUMANS, "system"]))
    refuse_own_names("model", systems, (HUMANS, CEILING))
    datasets = list(dict.fromkeys(entries["dataset"]))
    refuse_own_names("data set", datasets, (OVERALL,))
    if not systems:
        raise ValueError(f"no pair compares a system with the reference {listed(names)}")
    if (entries["system"] == HUMANS).any():
        systems.append(HUMANS)
    joint = _belong_together(result, entries)
    _require_all(entries)
    draws = result.draws("posterior").astype(np.float64)
    lost = np.isnan(draws).all(axis=0)
    shape = (len(datasets) + 1, len(systems))
    score = np.full((len(draws), *shape), np.nan)
    estimates = {name: np.full(shape, np.nan) for name in ("estimate", "ceiling")}
    estimates |= {name: np.zeros(shape, dtype=int) for name in ("n_entries", "n_missing")}
    estimates["reason"] = np.full(shape, "", dtype=object)
    labels = result.table["pair"].values
    for place in np.ndindex(shape):
        here = entries[entries["system"] == systems[place[1]]]
        if place[0] < len(datasets):
            here = here[here["dataset"] == datasets[place[0]]]
        at, undefined = here.index.to_numpy(), here.index[lost[here.index]]
        estimates["n_entries"][place], estimates["n_missing"][place] = len(at), len(undefined)
        if len(undefined):
            reason = note(
                "entries-without-posterior", n=len(undefined), example=str(labels[undefined[0]])
            )
            estimates["reason"][place] = reason
        if len(at):
            weights = _weights(here)
            score[:, *place] = _mean(draws[:, at], weights)
            for name in [name for name in ("estimate", "ceiling") if name in result.estimates]:
                value = result.estimates[name].values.astype(np.float64)
                estimates[name][place] = within(value[at] @ weights, -1)
    n_chains = int(result.data["posterior"].sizes["chain"])
    coords = {"level": [*datasets, OVERALL], "system": systems}
    chained = score.astype(np.float32).reshape(n_chains, -1, *shape)
    groups = {
        "estimates": xr.Dataset({name: (BY, each) for name, each in estimates.items()}, coords),
        "posterior": xr.Dataset({"score": (("chain", "draw", *BY), chained)}, coords),
    }
    if DATA_SUMMARY in result.data.children:
        groups[DATA_SUMMARY] = result.data[DATA_SUMMARY].to_dataset()
    tree = xr.DataTree.from_dict(groups)
    made = (
        "metric", "metric_module", "model", "sampler", "cluster", "prior", "ci_prob", "ci_kind",
        "seed",
    )  # fmt: skip
    kept = (*made, *result.metric.options)
    known = {name: result.data.attrs[name] for name in kept if name in result.data.attrs}
    tree.attrs = {
        "kind": "model",
        **known,
        "reference": listed(names),
        "joint": int(joint),
        "missing_note": result.missing_note,
        "alikely_version": alikely.__version__,
    }
    return Result(tree)


def _entries(
    result: Result, reference: str | Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    """Pairs with a reference observer, by position, and the names of the reference."""
    of_kind(result, "pair")
    if "posterior" not in result.data.children:
        raise ValueError("scores need posterior draws, and this result has none; set n_draws=")
    if POPULATIONS in result.data.children:
        raise ValueError(
            f"posterior draws of {result.metric.label} cannot be averaged over pairs; score trials "
            "with alikely.benchmark_scores"
        )
    pairs = result.pairs.astype(str)
    everybody = list(pd.unique(pairs[["observer_a", "observer_b"]].to_numpy().ravel()))
    if reference is not None:
        names = [reference] if isinstance(reference, str) else list(reference)
    elif "is_model" in result.table:
        table = result.table
        models = set(table["observer"].values[table["is_model"].values.astype(bool)])
        names = [name for name in everybody if name not in models]
    else:
        raise ValueError(
            "name the observers that systems are scored against, reference=[...], from "
            f"{listed(everybody)}; for margins these are the groups of humans"
        )
    require_names("observer of this result", names, everybody)
    a, b = (pairs[f"observer_{side}"] for side in "ab")
    one, other = a.isin(names), b.isin(names)
    pairs["system"] = np.where(one & other, HUMANS, np.where(one, b, a))
    pairs["member"] = np.where(one & other, a + " x " + b, np.where(one, a, b))
    return pairs[one | other], names


def _belong_together(result: Result, entries: pd.DataFrame) -> bool:
    """Whether draws of different systems are joint; an error if those of one score are not."""
    if int(result.data["posterior"].attrs["joint"]):
        return True
    groups = result.table["pair_group"].values[entries.index]
    shared = pd.DataFrame({"system": entries["system"].to_numpy(), "group": groups})
    if shared.duplicated().any():
        raise ValueError(
            "posterior drawn pair by pair: no joint draws of pairs that share trials; use "
            "sampler='exact' with a prior that treats both observers alike, such as the default"
        )
    return not pd.Series(groups).duplicated().any()


def _require_all(entries: pd.DataFrame) -> None:
    """Raise an error if a system lacks a pair that others have."""
    models = entries[entries["system"] != HUMANS]
    columns = ["dataset", "condition", "member"]
    wanted = list(dict.fromkeys(models[columns].itertuples(index=False, name=None)))
    for system, own in models.groupby("system", sort=False):
        have = set(own[columns].itertuples(index=False, name=None))
        lacking = [key for key in wanted if key not in have]
        if lacking:
            dataset, condition, member = lacking[0]
            raise ValueError(
                f"{system!r} has no pair with {member!r} in {dataset}:{condition}, so its mean "
                "is not comparable with those of other systems; leave out one of them"
            )


def _weights(entries: pd.DataFrame) -> Floats:
    """Weight of each pair in the mean over conditions, then members, then data sets."""
    by_member = entries.groupby(["dataset", "member"])["system"].transform("size")
    members = entries.groupby("dataset")["member"].transform("nunique")
    return np.asarray(1 / (by_member * members * entries["dataset"].nunique()), dtype=np.float64)


def _mean(draws: Floats, weights: Floats) -> Floats:
    """Weighted mean of pairs for each draw, with the probability of scores at the bounds."""
    mean = within(draws @ weights, -1)
    if len(weights) == 1 or np.isnan(mean).any():
        return np.asarray(mean)
    order = np.argsort(mean, kind="stable")
    for bound, ranked in ((1.0, order[::-1]), (-1.0, order)):
        share = (draws == bound).mean(axis=0)
        if (share == 0).any():
            continue
        deviates: NDArray[np.float64] = special.ndtri(share)
        together = special.ndtr(deviates.sum() / np.sqrt(len(deviates)))
        mean[ranked[: round(together * len(mean))]] = bound
    return np.asarray(mean)
