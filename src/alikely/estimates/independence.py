"""Null model of independent observers: posterior, predictions, and test of the copy model.

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

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely._base.checks import of_type
from alikely._base.intervals import CiKind, bound_columns
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.data.inclusion import refuse_inclusion
from alikely.estimates.analysis import check_numbers
from alikely.estimates.notes import joined_notes
from alikely.estimates.result import Result
from alikely.inference.intervals import interval
from alikely.inference.null import (
    bayes_factor_prior,
    elpd,
    elpd_mid_p,
    independent_posterior,
    log_bayes_factor,
    null_draws,
    p_value,
)
from alikely.inference.sampling import Sampler

# Largest false-positive rate of the test of the copy model.
CHANCE = 0.05
KINDS: tuple[CiKind, ...] = ("eti", "hdi")


def independent_observers(
    result: Result,
    n_draws: int | None = None,
    rng: RandomState = None,
    *,
    sampler: Sampler = "auto",
    n_resamples: int = 0,
) -> xr.DataTree:
    """Sample the posterior and replicated data under a model of independent observers.

    Estimates from the replicated data form the null distribution [K25]_ [GMS96]_.

    Parameters
    ----------
    result : Result
        Result of an analysis of correctness.
    n_draws : int
        Number of posterior draws from 4 chains, rounded up to a multiple of 4. For each draw, one
        correctness table is simulated for each comparison in the result.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    sampler : {"auto", "exact", "nuts"}
        Sampling method. ``"auto"`` and ``"exact"`` draw from the exact posterior, and ``"nuts"``
        uses MCMC. Accuracies are uniform a priori; `alikely.models.copying` accepts other priors.
    n_resamples : int
        Number of bootstrap replicates under the model of independent observers. 0 disables them.

    Returns
    -------
    xarray.DataTree
        Tree with the groups ``posterior`` (``p_a, p_b``), ``posterior_predictive`` and
        ``observed_data`` (both with ``observed_cells`` and the value of the metric). With NUTS, the
        tree also contains ``sample_stats``; with `n_resamples` > 0, it contains ``bootstrap`` (dims
        ``resample, pair``).

        The group ``null`` summarizes estimates from data that are simulated under independence, and
        compares them with the observed estimates. The dimensions of ``null`` are ``pair`` and
        ``way``, the simulation method: ``"exact"``, ``"nuts"`` or ``"bootstrap"``. Variables:

        - ``estimate``; ``null_mean``, ``null_sd`` and limits of the replicates whose estimate is
          defined
        - ``p_value``: two-sided p-value for a deviation from the value for independent observers;
          never 0
        - ``n_replicates``, ``n_undefined`` and ``note``

    Raises
    ------
    ValueError
        If the metric is not a correctness metric, or if an option is invalid.

    Warns
    -----
    SamplingWarning
        If the chains did not converge (see `alikely.inference.nuts`).

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise", observer=["human_1", "human_2"])
    >>> result = al.error_consistency(trials, rng=1)
    >>> tree = al.estimates.independent_observers(result, rng=1)
    >>> tree["null"].to_dataset().to_dataframe()["null_eti95_ub"].round(2).tolist()
    [0.16]
    """
    n_draws = resolve("n_draws", n_draws)
    cells = correctness_cells(result)
    if result.metric.counts != "correctness":
        raise ValueError(
            f"independent observers are simulated by correctness, which does not determine "
            f"{result.metric.name}; use a result of error_consistency"
        )
    check_numbers(n_resamples=n_resamples)
    table, seed = result.table, seed_sequence(rng)
    tree = independent_posterior(
        cells,
        table["pair"].values.tolist(),
        sampler,
        n_draws,
        result.metric,
        seed,
    )
    if n_resamples:
        (own,) = seed.spawn(1)
        replicates = null_draws(cells, n_resamples, result.metric, own, observed=True)
        tree["bootstrap"] = xr.Dataset(
            {result.metric.name: (("resample", "pair"), replicates)},
            coords={"pair": table["pair"].values},
        )
    tree["null"] = _compared(result, tree)
    tree.attrs |= {
        "seed": str(seed.entropy),
        "alikely_version": alikely.__version__,
        **result.metric.options,
    }
    return tree


def _compared(result: Result, tree: xr.DataTree) -> xr.Dataset:
    """Compare each estimate with replicates of independent observers, (pair, way)."""
    metric, estimate = result.metric, result.estimates["estimate"].values
    ways = {str(tree.attrs["sampler"]): tree["posterior_predictive"][metric.name]}
    if "bootstrap" in tree.children:
        ways["bootstrap"] = tree["bootstrap"][metric.name]
    prob, _ = result.interval_options(None, None)
    parts = []
    for way, replicates in ways.items():
        values = replicates.transpose(..., "pair").values.reshape(-1, len(estimate))
        undefined = np.isnan(values).sum(axis=0)
        enough = undefined < len(values) - 1
        defined = pd.DataFrame(np.where(enough, values, np.nan), dtype=np.float64)
        found: dict[str, Any] = {
            "estimate": estimate,
            "null_mean": defined.mean().to_numpy(),
            "null_sd": defined.std().to_numpy(),
        }
        for kind in KINDS:
            found |= bound_columns("null", kind, prob, interval(values, prob, kind))
        about = "no p-value: independent observers have no one value"
        found["p_value"] = np.full(len(estimate), np.nan)
        if metric.independent is not None:
            p = p_value(estimate - metric.independent, values - metric.independent)
            found["p_value"], about = np.where(enough, p, np.nan), ""
        found |= {"n_replicates": np.full(len(estimate), len(values)), "n_undefined": undefined}
        found["note"] = [
            joined_notes(reason, "" if some else "no two replicates are defined", about)
            for reason, some in zip(result.estimates["undefined"].values, enough, strict=True)
        ]
        table = xr.Dataset({name: ("pair", values) for name, values in found.items()})
        parts.append(table.assign_coords(way=way))
    # Files cannot store strings of pandas.
    pairs = result.pairs.astype(object).items()
    labels: dict[Any, Any] = {name: ("pair", values.to_numpy()) for name, values in pairs}
    null = xr.concat(parts, "way").transpose("pair", "way")
    return null.assign_coords(labels | {"pair": result.table["pair"].values})


def test_copy_model(result: Result) -> pd.DataFrame:
    """Test whether the copy model predicts responses better than a model of independent observers.

    The statistic is the difference between the two models in expected log predictive density
    (ELPD), computed by leave-one-out cross-validation over trials [VGG17]_. The p-value is the
    probability that independent observers with the same numbers of correct responses yield an ELPD
    difference at least as large as the observed one. The p-value is exact, because the difference
    in ELPD depends only on the number of trials that both observers got correct. Do not test the
    ELPD difference with the two-standard-error rule (see Notes).

    Parameters
    ----------
    result : Result
        Result that provides the count tables and the prior. The prior must be a Dirichlet
        distribution. In the model of independent observers, the priors for the two accuracies are
        the marginal distributions of the Dirichlet prior.

    Returns
    -------
    pandas.DataFrame
        One row per comparison, with its labels and these columns:

        - ``elpd_copying``, ``elpd_independence``: sums of log predictive densities over trials, in
          nats
        - ``elpd_difference``: positive if copying predicts better; ``se_difference``: its standard
          error
        - ``mid_p``: exact mid-p-value (see `elpd_mid_p`)
        - ``preferred_model``: ``"copy"`` or ``"anti-copy"`` if the difference is positive and
          ``mid_p`` is at most 0.05; otherwise ``"undecided"``. ``"anti-copy"`` means that there are
          fewer joint errors than expected by chance
        - ``log_bf10``: log Bayes factor of association against independence
        - ``note``: explanation of undefined values. If an observer is always correct or always
          incorrect, ``elpd_difference`` and ``mid_p`` are NaN and ``preferred_model`` is empty.

    Notes
    -----
    The two-standard-error rule for ELPD differences has false-positive rates of up to 0.45 (see
    ``docs/validation/pairs.md``). If accuracies are near 1, there are often no joint errors.
    Without joint errors, the contributions of individual trials to the ELPD difference vary little,
    so its standard error is too small.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
    >>> al.test_copy_model(result)["preferred_model"].value_counts().to_dict()
    {'copy': 13, 'undecided': 5}
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
    """Why the overlap of correct responses is fixed, or empty."""
    n11, n10, n01, n00 = cells
    if not cells.any():
        return "no common trials"
    for name, right, wrong in (("a", n11 + n10, n01 + n00), ("b", n11 + n01, n10 + n00)):
        if not (right and wrong):
            which = "correct" if right else "incorrect"
            return f"observer_{name} always {which}: copying and independence predict the same"
    return ""


def correctness_cells(result: Result) -> NDArray[np.int64]:
    """Return the count tables of a result of correctness (`ValueError` otherwise)."""
    of_type(result, Result, "make one with al.error_consistency")
    if "cells" not in result.table:
        raise ValueError(
            f"result must have counts of correctness, and {result.metric.name} counts "
            f"{result.metric.counts}; use a result of error_consistency"
        )
    refuse_inclusion(result.table, "comparing models of counts")
    if result.table.attrs.get("repeats") == "crossed":
        raise ValueError(
            "items are repeated, and this function assumes independent trials; use cluster='trial' "
            "to accept that, or select one response with trials.select(repeat=...)"
        )
    return np.asarray(result.table["cells"].values)
