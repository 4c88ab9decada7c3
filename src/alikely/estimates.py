"""Front doors: from trials to a `Result`."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely import null
from alikely._doors import attributes, check_numbers
from alikely._intervals import CiKind, check_interval
from alikely._pairs import Pairs
from alikely._random import RandomState, seed_sequence
from alikely.error_draws import chained, label_draws, row_draws
from alikely.error_models import class_copying_draws, shared_base_draws
from alikely.error_tables import agreement_of_classes, class_comparison
from alikely.influence import estimate
from alikely.metrics import (
    ERROR_CONSISTENCY,
    MISCLASSIFICATION_AGREEMENT,
    error_similarity_metric,
)
from alikely.metrics.rows import Mixture
from alikely.priors import Prior
from alikely.resampling import bootstrap
from alikely.results import Result
from alikely.sampling import Sampler, check_sampler, posterior
from alikely.tables import By, joint_correctness
from alikely.trials import Trials

__all__ = ["error_consistency", "error_similarity", "misclassification_agreement"]


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
    check_numbers(n_resamples=n_resamples, n_draws=n_draws, n_null=n_null)
    seed = seed_sequence(rng)
    bootstrap_seed, posterior_seed, null_seed = seed.spawn(3)

    table = _counted(trials, pairs, by, no_response)
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
    tree.attrs = attributes(
        tree, ERROR_CONSISTENCY.name, "copying", ci_prob, ci_kind, cluster, seed
    )
    return Result(tree)


def misclassification_agreement(
    trials: Trials | xr.Dataset,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int = 10_000,
    n_draws: int = 4_000,
    sampler: Sampler = "auto",
    cluster: str | None = None,
    ci_prob: float = 0.95,
    ci_kind: CiKind = "eti",
    rng: RandomState = None,
    progressbar: bool = False,
) -> Result:
    """Misclassification agreement of pairs of observers: where both err, do they say the same.

    Misclassification agreement (MA) is Cohen's kappa of two observers' wrong labels, over the
    trials on which both are wrong [X25]_.

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        Aligned responses with class labels; or a table from `alikely.tables.joint_correctness`
        with ``labels=True``.
    pairs, by : str or sequence, and {"condition", "dataset"} or None
        As in `error_consistency`. Joint errors are few: within conditions intervals are wide.
    no_response : {"error", "drop"}
        Take a missing response for an error with a label of its own, ``(no response)``, or leave
        the trial out of that observer's pairs.
    n_resamples : int
        Bootstrap replicates; 0 for none.
    n_draws : int
        Posterior draws; 0 for none.
    sampler : {"auto", "exact", "nuts"}
        ``"exact"`` (and ``"auto"``): the joint posterior of `alikely.error_draws.label_draws`.
        ``"nuts"``: the copy model of wrong labels, `alikely.models.class_copying`, group by group.
    cluster : str, optional
        As in `error_consistency`.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        As in `error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same result.
    progressbar : bool
        Show the progress of Markov chains.

    Returns
    -------
    Result
        One entry per pair and group. Beside the estimate ``n_joint_errors`` and ``expected``: the
        agreement that the true classes alone would bring about, since some classes invite some
        errors.

    Raises
    ------
    TypeError
        If `trials` is neither.
    ValueError
        If an option is invalid, there are no class labels, or the trials do not allow the
        comparison; the message says why.

    References
    ----------
    .. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
       decision-making systems. doi:10.1609/aaai.v39i26.34974

    Examples
    --------
    >>> import alikely as al
    >>> result = al.misclassification_agreement(al.load_example(), "human-human", rng=1)
    >>> result.summary()[["estimate", "expected", "n_joint_errors"]].shape
    (18, 3)
    """
    check_interval(ci_prob, ci_kind)
    check_numbers(n_resamples=n_resamples, n_draws=n_draws)
    check_sampler(sampler)
    seed = seed_sequence(rng)
    bootstrap_seed, posterior_seed = seed.spawn(2)
    metric = MISCLASSIFICATION_AGREEMENT

    table = _counted(trials, pairs, by, no_response, labels=True)
    groups = {
        "observed_data": table,
        "estimates": estimate(table, metric, cluster).assign(agreement_of_classes(table)),
    }
    if n_resamples:
        replicates = bootstrap(table, metric, n_resamples, cluster=cluster, rng=bootstrap_seed)
        groups["bootstrap"] = replicates.to_dataset()
    if n_draws:
        if sampler == "nuts":
            draws = class_copying_draws(table, n_draws, posterior_seed, progressbar)
        else:
            draws = label_draws(table, n_draws, metric, posterior_seed)
        # The copy model takes every pair for itself.
        joint = sampler != "nuts"
        groups["posterior"] = chained(draws, table, metric, sampler, joint=joint)
    tree = xr.DataTree.from_dict(groups)
    model = "class_copying" if sampler == "nuts" else "labels"
    tree.attrs = attributes(tree, metric.name, model, ci_prob, ci_kind, cluster, seed)
    return Result(tree)


def error_similarity(
    trials: Trials | xr.Dataset,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    alpha: float = 0.5,
    mixture: Mixture = "mean",
    base: float = 2,
    n_resamples: int = 10_000,
    n_draws: int = 4_000,
    sampler: Sampler = "auto",
    cluster: str | None = None,
    ci_prob: float = 0.95,
    ci_kind: CiKind = "eti",
    rng: RandomState = None,
    progressbar: bool = False,
) -> Result:
    """Class-level error similarity of pairs of observers: do they mistake the same for the same.

    For each true class the distributions of both observers' wrong answers are compared, whether or
    not they err on the same trials. Their mean divergence (CLED) gives the similarity (CLES),
    ``1 / (1 + CLED)`` [X25]_. Observers of different stimuli can be compared: no common trial is
    needed, only common classes.

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        Responses with class labels; or a table from `alikely.tables.joint_correctness` with
        ``labels=True``.
    pairs, by : str or sequence, and {"condition", "dataset"} or None
        As in `error_consistency`; ``by=None`` compares observers of different data sets too.
    no_response : {"error", "drop"}
        Take a missing response for an error with a label of its own, ``(no response)``, or leave
        it out.
    alpha, mixture, base
        As in `alikely.metrics.errors.error_divergence`.
    n_resamples : int
        Bootstrap replicates; 0 for none.
    n_draws : int
        Posterior draws; 0 for none.
    sampler : {"auto", "exact", "nuts"}
        ``"exact"`` (and ``"auto"``): independent conjugate rows, which never come close to equal
        ones. ``"nuts"``: rows around a shared base, `alikely.models.error_distributions`, group
        by group (minutes): the better posterior where errors are few.
    cluster : str, optional
        As in `error_consistency`.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        As in `error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same result.
    progressbar : bool
        Show the progress of Markov chains.

    Returns
    -------
    Result
        One entry per pair and group. The estimate is the similarity; beside it ``divergence``,
        ``expected_divergence`` (what equal observers with as many errors would show: divergences
        of samples are above 0), ``excess_divergence``, and ``log_bayes_factor`` (nats; positive
        for the same distribution of errors). ``result.estimates`` has the divergence and the
        Bayes factor of each class.

    Raises
    ------
    TypeError
        If `trials` is neither.
    ValueError
        If an option is invalid, there are no class labels, or the trials do not allow the
        comparison; the message says why.

    Notes
    -----
    Divergences of samples are too large, and no interval that is centred on them makes up for it.
    In simulated experiments (`alikely.estimate_coverage`) 95 % intervals of independent rows
    (``"exact"``) held the similarity in .92 to .96 of them where rows are as different as their
    prior has it, in .11 with 20 errors over 4 classes around common rows, and never with 200
    errors over 16 classes. Analytic and bootstrap intervals hold it with 200 errors over 4 classes
    (.88 to .93), in at most .73 with 2,000 over 16, and never with few over 16. Rows around a
    shared base (``"nuts"``) are calibrated: see the catalogue, ``models/error_distributions``.

    References
    ----------
    .. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
       decision-making systems. doi:10.1609/aaai.v39i26.34974

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_similarity(al.load_example(), "human-human", rng=1)
    >>> result.summary()[["estimate", "divergence", "expected_divergence"]].shape
    (18, 3)
    """
    check_interval(ci_prob, ci_kind)
    check_numbers(n_resamples=n_resamples, n_draws=n_draws)
    check_sampler(sampler)
    seed = seed_sequence(rng)
    bootstrap_seed, posterior_seed = seed.spawn(2)
    options: dict[str, Any] = {"alpha": alpha, "mixture": mixture, "base": base}
    metric = error_similarity_metric(**options)

    table = _counted(trials, pairs, by, no_response, labels=True, disjoint=True)
    groups = {
        "observed_data": table,
        "estimates": estimate(table, metric, cluster).assign(class_comparison(table, **options)),
    }
    if n_resamples:
        replicates = bootstrap(table, metric, n_resamples, cluster=cluster, rng=bootstrap_seed)
        groups["bootstrap"] = replicates.to_dataset()
    if n_draws:
        if sampler == "nuts":
            draws = shared_base_draws(
                table,
                n_draws,
                mixture=mixture,
                base=base,
                rng=posterior_seed,
                progressbar=progressbar,
            )
        else:
            draws = row_draws(table, n_draws, rng=posterior_seed, **options)
        groups["posterior"] = chained(draws, table, metric, sampler)
    tree = xr.DataTree.from_dict(groups)
    model = "shared_base" if sampler == "nuts" else "independent_rows"
    tree.attrs = attributes(tree, metric.name, model, ci_prob, ci_kind, cluster, seed) | options
    return Result(tree)


def _counted(
    trials: Trials | xr.Dataset,
    pairs: Pairs,
    by: By,
    no_response: Literal["error", "drop"],
    *,
    labels: bool = False,
    disjoint: bool = False,
) -> xr.Dataset:
    """Table of counts, made of trials or given as it is."""
    if isinstance(trials, Trials):
        trials = joint_correctness(trials, pairs, by, no_response, labels=labels, disjoint=disjoint)
    if not (isinstance(trials, xr.Dataset) and "cells" in trials):
        raise TypeError(
            f"expected Trials or a count table, got {type(trials).__name__}; make one with "
            "Trials.from_table, Trials.read or tables.from_counts"
        )
    if labels and "response" not in trials:
        raise ValueError(
            "this table holds correctness only, and wrong answers are compared by their class; "
            "count it with joint_correctness(..., labels=True), or use error_consistency"
        )
    if labels and trials.sizes["class"] < 3:
        raise ValueError(
            f"with {trials.sizes['class']} classes a wrong answer can only be the other one: there "
            "is nothing to compare; use error_consistency"
        )
    return trials


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
