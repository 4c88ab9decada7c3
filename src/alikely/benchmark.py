"""Benchmarks: one score per machine, its ceiling, and what new images and new humans would do.

References
----------
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._intervals import CiKind, check_interval
from alikely._random import RandomState, seed_sequence
from alikely.ceilings import consensus_ceilings
from alikely.cohorts import cohort_draws, fit_cohort
from alikely.conjugate import joint_draws
from alikely.error_draws import label_draws
from alikely.exclusions import Exclusions, exclude_conditions
from alikely.influence import estimate
from alikely.metrics import ERROR_CONSISTENCY, ERROR_SIMILARITY, MISCLASSIFICATION_AGREEMENT
from alikely.nesting import (
    CEILING,
    HUMANS,
    POPULATIONS,
    covariances,
    nested_scores,
    parts_of,
    require_balance,
    undefined_entries,
    with_overall,
)
from alikely.resampling import bootstrap
from alikely.scoreboard import CONSENSUS, OVERALL, Benchmark
from alikely.tables import joint_correctness
from alikely.trials import Trials

__all__ = ["benchmark_scores"]

MetricName = Literal["error_consistency", "misclassification_agreement", "error_similarity"]
METRICS = {
    metric.name: metric
    for metric in (ERROR_CONSISTENCY, MISCLASSIFICATION_AGREEMENT, ERROR_SIMILARITY)
}


def benchmark_scores(
    trials: Trials,
    *,
    metric: MetricName = "error_consistency",
    models: str = "model",
    humans: str = "human",
    exclude: str | Exclusions | None = None,
    missing: Literal["error", "available"] = "error",
    no_response: Literal["error", "drop"] = "error",
    cohort: bool = False,
    n_resamples: int = 10_000,
    n_draws: int = 4_000,
    ci_prob: float = 0.95,
    ci_kind: CiKind = "eti",
    rng: RandomState = None,
) -> Benchmark:
    """Score machines by how alike their errors and those of humans are, as benchmarks do [G21]_.

    Error consistency per human, machine and condition; unweighted means over conditions, then
    humans, then data sets. The human row takes pairs of humans in place of human and machine.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    metric : {"error_consistency", "misclassification_agreement", "error_similarity"}
        What is averaged. Consensus ceilings and the cohort model are of error consistency alone.
        Of the similarity there are no posterior draws: independent rows would hold it down.
    models, humans : str
        Kinds of the observers to score, and to score them against.
    exclude : str or mapping, optional
        Conditions to leave out, see `alikely.exclude_conditions`.
    missing : {"error", "available"}
        Refuse machines that lack some data sets with machines, or average over what they have.
    no_response : {"error", "drop"}
        Count a missing response as an error, or leave the trial out of that observer's pairs.
    cohort : bool
        Also fit the cohort copy model by NUTS (`alikely.fit_cohort`), for scores with a new human;
        takes minutes.
    n_resamples : int
        Bootstrap replicates; 0 for none.
    n_draws : int
        Posterior draws; 0 for none.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        Intervals that `Benchmark.summary` shows by default.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Benchmark

    Raises
    ------
    ValueError
        If the metric is unknown, or asked for with the cohort model of another; if there are
        fewer than two humans in a data set, a machine is missing somewhere, or as in
        `alikely.tables.joint_correctness`.

    Notes
    -----
    Analytic variances, all from one set of influences ``u`` of trials on entries: images,
    ``sum_t (sum_e w_e u_et)**2``; humans, the jackknife [ES81]_ over humans, which is exact for
    means and serves the human row, a U-statistic; both together, images plus humans minus the
    jackknife variance of the influences of each trial, which is counted in either [CGM11]_, and
    at least the larger of the two.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.benchmark_scores(al.load_example(), exclude={"all": ["clean"]}, rng=1)
    >>> table = result.summary("images")
    >>> table["system"].tolist()[-2:]
    ['human-human', 'ceiling']
    """
    check_interval(ci_prob, ci_kind)
    if missing not in ("error", "available"):
        raise ValueError(f"missing must be 'error' or 'available', got {missing!r}")
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(map(repr, METRICS))}; got {metric!r}")
    if cohort and metric != "error_consistency":
        raise ValueError(
            f"the cohort model predicts error consistency, not {metric}; leave out cohort=True"
        )
    if exclude is not None:
        trials = exclude_conditions(trials, exclude)
    estimand = METRICS[metric]
    labels = estimand.counts != "correctness"
    kinds = [f"{humans}-{humans}", f"{humans}-{models}"]
    table = joint_correctness(trials, kinds, "condition", no_response, labels=labels)
    kind = dict(zip(trials.observers, trials.data["kind"].values.tolist(), strict=True))
    parts = parts_of(table, kind, humans)
    systems = [*dict.fromkeys(name for part in parts for name in part.models), HUMANS, CEILING]
    require_balance(parts, systems, missing)
    levels = [part.name for part in parts] + [OVERALL]
    seed = seed_sequence(rng)
    bootstrap_seed, human_seed, posterior_seed, cohort_seed = seed.spawn(4)

    value = estimate(table, estimand)["estimate"].values
    by_dataset = nested_scores(parts, systems, value[None])
    estimates = xr.Dataset(
        {
            "estimate": (("level", "system"), with_overall(by_dataset)[0]),
            "n_humans": ("level", [p.n_humans for p in parts] + [sum(p.n_humans for p in parts)]),
            "n_images": ("level", _images(trials, levels)),
            "undefined_entries": (("level", "system"), undefined_entries(parts, systems, value)),
        },
        coords={"level": levels, "system": systems, **_labels(trials, systems)},
    )
    if not labels and min(part.n_humans for part in parts) > 2:
        consensus = consensus_ceilings(trials, estimand, humans=humans, no_response=no_response)
        consensus = consensus.set_index("level").loc[levels]
    else:
        consensus = pd.DataFrame(np.nan, index=levels, columns=list(CONSENSUS))
    for name in CONSENSUS:
        estimates[name] = ("level", consensus[name].to_numpy())
    covariance = xr.DataArray(
        covariances(table, parts, systems, estimand),
        dims=("population", "level", "system", "system_other"),
        coords={
            "population": list(POPULATIONS),
            "level": levels,
            "system": systems,
            "system_other": systems,
        },
    )
    groups = {"estimates": estimates, "covariance": covariance.to_dataset(name="covariance")}
    if n_resamples:
        replicates = bootstrap(table, estimand, n_resamples, rng=bootstrap_seed).values
        generator = np.random.default_rng(human_seed)
        drawn = [
            generator.multinomial(
                p.n_humans, np.full(p.n_humans, 1 / p.n_humans), n_resamples
            ).astype(np.float64)
            for p in parts
        ]
        samples = {
            "images": nested_scores(parts, systems, replicates),
            "humans": nested_scores(parts, systems, value[None], drawn),
            "crossed": nested_scores(parts, systems, replicates, drawn),
        }
        groups["bootstrap"] = xr.Dataset(
            {
                name: (("resample", "level", "system"), with_overall(scores).astype(np.float32))
                for name, scores in samples.items()
            },
            coords={"level": levels, "system": systems},
        )
    if n_draws and estimand.counts != "rows":
        per_chain = -(-n_draws // 4)
        if labels:
            drawn_values = label_draws(table, n_draws, estimand, posterior_seed)
        else:
            drawn_values = joint_draws(table, 4 * per_chain, [estimand], posterior_seed)[metric]
        scores = with_overall(nested_scores(parts, systems, drawn_values)).astype(np.float32)
        groups["posterior"] = xr.Dataset(
            {
                "score": (
                    ("chain", "draw", "level", "system"),
                    scores.reshape(4, per_chain, len(levels), len(systems)),
                )
            },
            coords={"level": levels, "system": systems},
        )
    if cohort:
        fitted = fit_cohort(
            trials,
            models=models,
            humans=humans,
            no_response=no_response,
            n_draws=n_draws or 4_000,
            rng=cohort_seed,
        )
        groups["cohort"] = _cohort_scores(fitted, levels, systems)
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {
        "metric": metric,
        "ci_prob": ci_prob,
        "ci_kind": ci_kind,
        "exclude": str(exclude or ""),
        "no_response": no_response,
        "seed": str(seed.entropy),
    }
    return Benchmark(tree)


def _images(trials: Trials, levels: list[str]) -> list[int]:
    """Trials of a condition, on average, by data set; of all of them at the last level."""
    frame = pd.DataFrame({name: trials.data[name].values for name in ("dataset", "condition")})
    per_dataset = frame.groupby("dataset").size() / frame.groupby("dataset")["condition"].nunique()
    return [int(per_dataset[name]) for name in levels[:-1]] + [int(per_dataset.sum())]


def _labels(trials: Trials, systems: list[str]) -> dict[str, tuple[str, NDArray[np.object_]]]:
    """Labels of the observers, for the systems among them."""
    data = trials.data
    names = [
        str(c)
        for c in data.coords
        if data[c].dims == ("observer",) and c not in ("observer", "kind")
    ]
    position = {name: i for i, name in enumerate(trials.observers)}
    return {
        name: (
            "system",
            np.array([data[name].values[position[s]] if s in position else "" for s in systems]),
        )
        for name in names
    }


def _cohort_scores(fitted: xr.DataTree, levels: list[str], systems: list[str]) -> xr.Dataset:
    """Error consistency under the cohort model, laid out as the other schools."""
    draws = cohort_draws(fitted)["error_consistency"]
    human = draws.sel(system=HUMANS)
    scores = draws.reindex(level=levels, system=systems)
    taking_part = [x for x in levels[:-1] if np.isfinite(draws.sel(level=x).values[..., 0]).any()]
    ceiling = human.sel(level=taking_part)
    scores.loc[{"system": CEILING, "level": taking_part}] = ceiling
    scores.loc[{"system": CEILING, "level": OVERALL}] = ceiling.mean("level")
    return scores.astype(np.float32).to_dataset(name="score")
