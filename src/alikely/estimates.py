"""Front doors: from trials to a `Result`."""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely import null
from alikely._intervals import CiKind, check_interval
from alikely._random import RandomState, seed_sequence
from alikely.influence import estimate
from alikely.metrics import ERROR_CONSISTENCY
from alikely.priors import Prior
from alikely.resampling import bootstrap
from alikely.results import Result
from alikely.sampling import Sampler, posterior
from alikely.tables import By, Pairs, joint_correctness
from alikely.trials import Trials

__all__ = ["error_consistency"]


def error_consistency(
    trials: Trials | xr.Dataset,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int = 10_000,
    n_draws: int = 4_000,
    n_null: int = 10_000,
    sampler: Sampler = "auto",
    prior: Prior | None = None,
    cluster: str | None = None,
    ci_prob: float = 0.95,
    ci_kind: CiKind = "eti",
    rng: RandomState = None,
    log_likelihood: bool = False,
    progressbar: bool = False,
) -> Result:
    """Error consistency of pairs of observers, with intervals of every school.

    Error consistency (EC) is Cohen's kappa of two observers' correctness: do they err on the same
    trials more often than their accuracies alone would have it [G20]_ [K25]_?

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        Aligned responses; or a table from `alikely.tables.from_counts`, when all you have are the
        four cells of each pair (then ``pairs``, ``by`` and ``no_response`` have nothing to do).
    pairs : str or sequence of (str, str)
        ``"all"``, two kinds such as ``"human-model"`` (the first is the reference), or a list.
    by : {"condition", "dataset"} or None
        Groups to keep apart. Pooling conditions of unequal difficulty inflates EC.
    no_response : {"error", "drop"}
        Count a missing response as an error, or leave the trial out of that observer's pairs.
    n_resamples : int
        Bootstrap replicates; 0 for none.
    n_draws : int
        Posterior draws; 0 for none.
    n_null : int
        Draws of the test against independent observers; 0 for none.
    sampler : {"auto", "exact", "nuts"}
        How to draw from the posterior, see `alikely.sampling.posterior`.
    prior : mapping, optional
        Beta parameters, see `alikely.models.copying`. Default: Dirichlet(1/2) on the four cells,
        whose central 95 % interval kept its promise over all accuracies tried.
    cluster : str, optional
        Trial coordinate such as ``"item"``, for items shown more than once: analytic and
        bootstrap intervals then treat its trials as one. The posterior does not, and says so.
    ci_prob : float
        Probability of the intervals that `Result.summary` shows by default, in (0, 1).
    ci_kind : {"eti", "hdi"}
        Equal-tailed or highest-density.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same result.
    log_likelihood : bool
        Keep the log likelihood of every trial, for `arviz.loo`.
    progressbar : bool
        Show the progress of Markov chains.

    Returns
    -------
    Result
        One entry per pair and group.

    Raises
    ------
    TypeError
        If `trials` is neither.
    ValueError
        If an option is invalid, or the trials do not allow the comparison; the message says why.

    References
    ----------
    .. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour
       of CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
    .. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
       consistency: towards reliable behavioral comparison of classifiers.
       doi:10.48550/arXiv.2507.06645

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
    >>> result.summary()[["condition", "observer_a", "observer_b", "estimate"]].shape
    (18, 4)
    """
    check_interval(ci_prob, ci_kind)
    for name, number in (("n_resamples", n_resamples), ("n_draws", n_draws), ("n_null", n_null)):
        if number < 0:
            raise ValueError(f"{name} must be at least 1, or 0 for none; got {number}")
    seed = seed_sequence(rng)
    bootstrap_seed, posterior_seed, null_seed = seed.spawn(3)

    if isinstance(trials, Trials):
        table = joint_correctness(trials, pairs, by, no_response)
    elif isinstance(trials, xr.Dataset) and "cells" in trials:
        table = trials
    else:
        raise TypeError(
            f"expected Trials or a count table, got {type(trials).__name__}; make one with "
            "Trials.from_table, Trials.read or tables.from_counts"
        )
    groups = {
        "observed_data": table,
        "estimates": estimate(table, ERROR_CONSISTENCY, cluster).assign(
            _tests(table, n_null, null_seed)
        ),
    }
    if n_resamples:
        replicates = bootstrap(
            table, ERROR_CONSISTENCY, n_resamples, cluster=cluster, rng=bootstrap_seed
        )
        groups["bootstrap"] = replicates.to_dataset()
    tree = xr.DataTree.from_dict(groups)
    if n_draws:
        sampled = posterior(
            table, sampler, prior, n_draws, posterior_seed, progressbar, log_likelihood
        )
        tree.update({name: sampled[name] for name in sampled.children if name not in groups})
    tree.attrs = {
        "metric": ERROR_CONSISTENCY.name,
        "model": "copying",
        "sampler": tree["posterior"].attrs["sampler"] if n_draws else "none",
        "ci_prob": ci_prob,
        "ci_kind": ci_kind,
        "cluster": cluster or "",
        "seed": str(seed.entropy),
        "alikely_version": alikely.__version__,
    }
    return Result(tree)


def _tests(
    table: xr.Dataset, n_null: int, seed: np.random.SeedSequence
) -> dict[str, tuple[str, NDArray[np.float64]]]:
    """Tests of independence of every pair."""
    cells = table["cells"].values
    tests = {"p_fisher": null.fisher_exact(cells), "bf10": null.bayes_factor(cells)}
    if n_null:
        draws = null.null_draws(cells, n_null, ERROR_CONSISTENCY, seed)
        tests["p_null"] = null.p_value(ERROR_CONSISTENCY.value(cells), draws)
    return {name: ("pair", values) for name, values in tests.items()}
