"""Independent observers: their posterior, what it predicts, and whether copying predicts better.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [GMS96] Gelman, Meng, Stern (1996). Posterior predictive assessment of model fitness via realized
   discrepancies. Statistica Sinica 6, 733-807. https://www.jstor.org/stable/24306036
.. [VGG17] Vehtari, Gelman, Gabry (2017). Practical Bayesian model evaluation using leave-one-out
   cross-validation and WAIC. doi:10.1007/s11222-016-9696-4
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.intervals import CiKind, bound_columns
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.data.inclusion import refuse_inclusion
from alikely.estimates.analysis import check_numbers
from alikely.estimates.result import Result
from alikely.inference.independent import independent_posterior, null_bootstrap
from alikely.inference.intervals import interval
from alikely.inference.null import bayes_factor_prior, elpd, elpd_mid_p, log_bayes_factor, p_value
from alikely.inference.sampling import Sampler, trial_log_likelihood

__all__ = ["correctness_cells", "independent_observers", "null_table", "test_copy_model"]

# Share of independent observers for whom copying may seem to predict better.
CHANCE = 0.05


def independent_observers(
    result: Result,
    n_draws: int | None = None,
    rng: RandomState = None,
    *,
    sampler: Sampler = "auto",
    priors: Mapping[str, Any] | None = None,
    n_resamples: int = 0,
) -> xr.DataTree:
    """Posterior of independent observers for the same data, with what it predicts.

    The replicates of the estimand are its null distribution [K25]_ [GMS96]_: exact, or by Markov
    chains that stay in the tree.

    Parameters
    ----------
    result : Result
        An analysis of correctness.
    n_draws : int
        Posterior draws over 4 chains, each with one replicated table per entry; rounded up to a
        multiple of 4.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    sampler : {"auto", "exact", "nuts"}
        How to draw, see `alikely.inference.independent.independent_posterior`.
    priors : mapping, optional
        Of ``p_a`` and ``p_b``: Beta parameters such as ``(2, 1)``, or by MCMC any distribution, see
        `alikely.models.with_priors`. Default: uniform.
    n_resamples : int
        Replicates of the bootstrap of independent observers. 0 disables it.

    Returns
    -------
    xarray.DataTree
        ``posterior`` (``p_a, p_b``), ``posterior_predictive`` and ``observed_data``
        (``observed_cells`` and the estimand); from NUTS ``sample_stats``; on request ``bootstrap``
        (resample, pair). If the result was made with ``include=["log_likelihood"]``, also
        ``log_likelihood`` (chain, draw, observation), in the order of
        ``result.data["log_likelihood"]``, for ``arviz.compare``.

    Raises
    ------
    ValueError
        If the result is not of correctness, an option or the priors are not valid, or the log
        likelihood would be too large to hold.

    Warns
    -----
    SamplingWarning
        If the chains went wrong, see `alikely.inference.nuts`.

    See Also
    --------
    null_table : intervals and p-values of the null distribution.

    Examples
    --------
    >>> import arviz as az
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise", observer=["human_1", "human_2"])
    >>> result = al.error_consistency(trials, rng=1, include=["log_likelihood"])
    >>> tree = al.estimates.independent_observers(result, rng=1)
    >>> list(az.compare({"copying": result.data, "independence": tree}).index)
    ['copying', 'independence']
    """
    n_draws = resolve("n_draws", n_draws)
    cells = _cells(result)
    check_numbers(n_resamples=n_resamples)
    table, seed = result.table, seed_sequence(rng)
    tree = independent_posterior(
        cells,
        table["pair"].values.tolist(),
        sampler,
        priors,
        n_draws,
        result.metric,
        seed,
    )
    if n_resamples:
        (own,) = seed.spawn(1)
        replicates = null_bootstrap(cells, n_resamples, result.metric, own)
        tree["bootstrap"] = xr.Dataset(
            {result.metric.name: (("resample", "pair"), replicates)},
            coords={"pair": table["pair"].values},
        )
    if "log_likelihood" in result.data.children:
        draws = tree["posterior"].to_dataset()
        p_a, p_b = draws["p_a"].values, draws["p_b"].values
        shares = [p_a * p_b, p_a * (1 - p_b), (1 - p_a) * p_b, (1 - p_a) * (1 - p_b)]
        tree["log_likelihood"] = trial_log_likelihood(table, np.log(np.stack(shares, axis=-1)))
    tree.attrs |= {
        "seed": str(seed.entropy),
        "alikely_version": alikely.__version__,
        **result.metric.options,
    }
    return tree


def null_table(
    result: Result,
    *trees: xr.DataTree,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
) -> pd.DataFrame:
    """Where each value lies in the null distribution of independent observers, way by way.

    Parameters
    ----------
    result : Result
        An analysis of correctness.
    *trees : xarray.DataTree
        As returned by `independent_observers` for that result: by exact draws, by MCMC, or both.
    ci_prob, ci_kind : float and {"eti", "hdi"}, optional
        Probability and kind of the intervals. Default: as in the analysis, and both kinds.

    Returns
    -------
    pandas.DataFrame
        A row for each entry and way (``"exact"``, ``"nuts"`` or ``"bootstrap"``): labels,
        ``estimate``, ``null_mean``, ``null_sd`` and bounds of the defined replicates, the two-sided
        ``p_value`` about the value of independent observers (never 0), ``n_replicates``,
        ``n_undefined`` and ``note``.

    Raises
    ------
    ValueError
        If there is no tree, one is of another result or holds no replicates, two are of the same
        way, or the probability or the kind is not valid.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise", observer=["human_1", "human_2"])
    >>> result = al.error_consistency(trials, rng=1)
    >>> tree = al.estimates.independent_observers(result, rng=1, n_resamples=4000)
    >>> null_table(result, tree)[["way", "null_mean", "null_eti95_ub", "p_value"]].round(2)
             way  null_mean  null_eti95_ub  p_value
    0      exact        0.0           0.15      0.0
    1  bootstrap        0.0           0.15      0.0
    """
    _cells(result)
    prob, _ = result.interval_options(ci_prob, ci_kind)
    kinds: tuple[CiKind, ...] = ("eti", "hdi") if ci_kind is None else (ci_kind,)
    frames = [
        _of_one_way(result, way, values, prob, kinds)
        for way, values in _replicates(result, trees).items()
    ]
    rows = pd.concat(frames, keys=range(len(frames)), names=["place", "entry"])
    return rows.sort_index(level=["entry", "place"]).reset_index(drop=True)


def _cells(result: Result) -> NDArray[np.int64]:
    cells = correctness_cells(result)
    if result.metric.counts != "correctness":
        raise ValueError(
            f"independent observers are simulated by correctness, which {result.metric.name} does "
            "not follow from; use a result of error_consistency"
        )
    return cells


def _replicates(result: Result, trees: tuple[xr.DataTree, ...]) -> dict[str, Floats]:
    """Replicates of the estimand by way: shape (replicate, pair)."""
    name, labels = result.metric.name, result.table["pair"].values.tolist()
    if not trees:
        raise ValueError(
            "null_table needs at least one tree; make one with "
            "alikely.estimates.independent_observers(result)"
        )
    found: dict[str, Floats] = {}
    for tree in trees:
        groups = getattr(tree, "children", {})
        replicated = "posterior_predictive" in groups and name in tree["posterior_predictive"]
        if not (replicated and "sampler" in tree.attrs):
            raise ValueError(
                f"expected trees with replicates of {name}, got one without; make it with "
                "alikely.estimates.independent_observers(result)"
            )
        ways = {str(tree.attrs["sampler"]): "posterior_predictive"}
        if "bootstrap" in groups:
            ways["bootstrap"] = "bootstrap"
        for way, group in ways.items():
            values = tree[group].to_dataset()[name]
            if values["pair"].values.tolist() != labels:
                raise ValueError(
                    f"a tree has {values.sizes['pair']} entries that are not the {len(labels)} of "
                    "the result; make it with alikely.estimates.independent_observers(result)"
                )
            if way in found:
                raise ValueError(
                    f"two trees have replicates by {way!r}; give each way once (bootstrap: "
                    "n_resamples=0 in one of them)"
                )
            flat = values.transpose(..., "pair").values
            found[way] = flat.reshape(-1, len(labels))
    return found


def _of_one_way(
    result: Result, way: str, values: Floats, ci_prob: float, kinds: tuple[CiKind, ...]
) -> pd.DataFrame:
    estimate = result.estimates["estimate"].values
    undefined = np.isnan(values).sum(axis=0)
    enough = undefined < len(values) - 1
    defined = values[:, enough].astype(np.float64)
    mean, sd = (np.full(len(estimate), np.nan) for _ in range(2))
    mean[enough], sd[enough] = np.nanmean(defined, axis=0), np.nanstd(defined, axis=0, ddof=1)
    bounds: dict[str, Any] = {}
    for kind in kinds:
        bounds |= bound_columns("null", kind, ci_prob, interval(values, ci_prob, kind))
    independent = result.metric.independent
    if independent is None:
        p = np.full(len(estimate), np.nan)
    else:
        p = np.where(enough, p_value(estimate - independent, values - independent), np.nan)
    return result.pairs.assign(
        way=way,
        estimate=estimate,
        null_mean=mean,
        null_sd=sd,
        **bounds,
        p_value=p,
        n_replicates=len(values),
        n_undefined=undefined,
        note=_notes(result, enough),
    )


def _notes(result: Result, enough: Any) -> list[str]:
    lacking = np.where(enough, "", "no two replicates are defined")
    reasons = result.estimates["undefined"].values.astype(object)
    no_value = result.metric.independent is None
    about = "no p-value: independent observers have no one value" if no_value else ""
    return [
        "; ".join(filter(None, (reason, lack, about)))
        for reason, lack in zip(reasons, lacking, strict=True)
    ]


def test_copy_model(result: Result) -> pd.DataFrame:
    """Copy model against independent observers, by leave-one-trial-out cross-validation.

    The difference of the expected log predictive densities [VGG17]_ is judged by how often
    independent observers with the same numbers of right answers reach it: exactly, since the
    difference hangs on their overlap alone. Two of its standard errors are no such measure.

    Parameters
    ----------
    result : Result
        Result whose count tables and prior are used. The prior must be a Dirichlet distribution;
        its margins are the prior of independent observers.

    Returns
    -------
    pandas.DataFrame
        One row per entry: its labels, ``elpd_copying`` and ``elpd_independence`` (sums of log
        predictive densities over the trials, in nats), ``elpd_difference`` (positive: copying
        predicts better), its standard error ``se_difference``; ``mid_p`` (see
        `elpd_mid_p`); ``preferred_model``: ``"copy"`` or, of fewer common errors than
        chance has, ``"anti-copy"`` where the difference is positive and ``mid_p`` at most .05,
        else ``"undecided"``; ``log_bf10``, of association against independence. Where an observer
        is always right or always wrong difference and ``mid_p`` are NaN, ``preferred_model`` is
        empty, and ``note`` says why.

    See Also
    --------
    alikely.estimates.independent_observers : the null model as a DataTree, for `arviz.compare`.

    Notes
    -----
    How often "copy" is found, by exact enumeration, by two standard errors of the difference
    (in either direction) and by this rule, of two observers of the same accuracy:

    ====== ======== ============= ================= =========
    trials accuracy copying       2 standard errors this rule
    ====== ======== ============= ================= =========
    40     .99      0 (false)     .448              .004
    160    .90      0 (false)     .177              .018
    1,280  .97      0 (false)     .315              .027
    160    .75      .2 (power)    .021              .676
    ====== ======== ============= ================= =========

    Near the ceiling often no error is a common one. Then no trial is left out that copying
    predicts badly, each adds next to nothing to the difference, and nothing to its standard error.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
    >>> al.test_copy_model(result)["preferred_model"].value_counts().to_dict()
    {'copying': 13, 'neither': 5}
    """
    cells = correctness_cells(result)
    prior = result.prior
    copying, independence, se = elpd(cells, prior)
    p = elpd_mid_p(cells, prior)
    open_ = np.isfinite(p)
    total = np.where(open_, copying - independence, np.nan)
    n11, n10, n01, n00 = cells.T.astype(np.float64)
    sign = np.sign(n11 * n00 - n10 * n01)
    found = np.array(["anti-copy", "undecided", "copy"])[sign.astype(int) + 1]
    found = np.where((total > 0) & (p <= CHANCE), found, "undecided")
    return result.pairs.assign(
        elpd_copying=copying,
        elpd_independence=independence,
        elpd_difference=total,
        se_difference=np.where(open_, se, np.nan),
        mid_p=p,
        preferred_model=np.where(open_, found, ""),
        log_bf10=log_bayes_factor(cells, prior=bayes_factor_prior(prior)),
        note=[_one_overlap(table) for table in cells],
    )


def _one_overlap(cells: NDArray[np.int64]) -> str:
    """Why the overlap of right answers tells nothing; empty where it does."""
    n11, n10, n01, n00 = cells
    if not cells.any():
        return "no common trials"
    for name, right, wrong in (("a", n11 + n10, n01 + n00), ("b", n11 + n01, n10 + n00)):
        if not (right and wrong):
            which = "right" if right else "wrong"
            return f"observer_{name} always {which}: copying cannot be told from independence"
    return ""


def correctness_cells(result: Result) -> NDArray[np.int64]:
    """Count tables of a result; refuse those of other metrics (`ValueError`)."""
    of_type(result, Result, "make one with al.error_consistency")
    if "cells" not in result.table:
        raise ValueError(
            f"this compares models of right and wrong answers, and a result of "
            f"{result.metric.name} has none: it is one of {result.metric.counts}; use a result of "
            "error_consistency"
        )
    refuse_inclusion(result.table, "comparing models of counts")
    if result.table.attrs.get("repeats") == "crossed":
        raise ValueError(
            "items came back, and this takes every trial for independent; ask for that with "
            "cluster='trial', or choose one with trials.select(repeat=...)"
        )
    return np.asarray(result.table["cells"].values)
