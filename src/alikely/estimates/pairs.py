"""Compare pairs of observers by any metric, with one function for each common question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import xarray as xr

from alikely._base.checks import one_of
from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.data.tables import By, Pairs
from alikely.data.trials import Trials
from alikely.estimates.analysis import Design, Kind, analyze
from alikely.estimates.kinds import (
    CORRECTNESS,
    LABELS,
    OPTIONS,
    READINGS,
    ROWS,
    TRIALS,
    analyse_rows,
)
from alikely.estimates.margins import MARGINS
from alikely.estimates.result import Result
from alikely.inference.sampling import Sampler
from alikely.margins.posterior import MarginModel
from alikely.metrics import ERROR_CONSISTENCY, Metric, get_metric
from alikely.metrics.consistency import Prior
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT
from alikely.metrics.margins import DECISION_MARGIN_CONSISTENCY

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from alikely.models._arguments import AskedModel

    Confusions = Mapping[str, ArrayLike | pd.DataFrame]

KINDS: dict[str, Kind] = {
    "correctness": CORRECTNESS,
    "labels": LABELS,
    "ratings": READINGS,
    "rows": ROWS,
    "margins": MARGINS,
    "options": OPTIONS,
    "probabilities": OPTIONS,
    "trials": TRIALS,
}
# Names of coefficients in the literature, which differ between two and several readers.
COEFFICIENTS = {
    "cohen_kappa": "cohen_kappa",
    "conger_kappa": "cohen_kappa",
    "fleiss_kappa": "fleiss_kappa",
    "scott_pi": "fleiss_kappa",
    "gwet_ac1": "gwet_ac1",
    "krippendorff_alpha": "krippendorff_alpha",
    "brennan_prediger": "brennan_prediger",
    "pabak": "brennan_prediger",
    "raw_agreement": "raw_agreement",
}


def compare(
    trials: Any,
    metric: str | Metric = "error_consistency",
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    sampler: Sampler = "auto",
    prior: Prior | None = None,
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Compare pairs of observers by any metric, with analytic, bootstrap and posterior intervals.

    Five functions compute a single metric and have more options than `compare`:
    `error_consistency`, `misclassification_agreement`, `error_similarity`, `agreement` and
    `decision_margin_consistency`.

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        As in `error_consistency`.
    metric : str or Metric
        Name or short name of a registered metric, a custom metric, or a metric with options, such
        as ``alikely.metrics.get_metric("error_similarity", mixture="pooled")``.
    pairs, by, no_response, n_draws, cluster, ci_prob, rng
        As in `error_consistency`. For metrics that are not symmetric, such as
        ``"copy_probability"``, the first observer of a pair is the reference, and pairs of
        observers of the same kind appear in both orders.
    n_resamples : int, optional
        Number of bootstrap replicates. 0 disables them. Default: 10,000, or 0 if the bootstrap is
        known to be invalid for the metric (error similarity).
    sampler : {"auto", "exact", "nuts"}
        Sampling method for the posterior, as in `alikely.inference.posterior`. For metrics computed
        from margins, only ``"auto"`` is available.
    prior : mapping or sequence of four numbers, optional
        Prior, as in `error_consistency` for correctness and option metrics, and as in `agreement`
        for rating metrics.

    Returns
    -------
    Result
        One comparison per pair of observers and group of trials.

    Raises
    ------
    TypeError
        If `trials` or `metric` has the wrong type.
    ValueError
        If the metric is unknown, an option is invalid, or the metric cannot be computed from the
        trials.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.compare(al.load_example(), "copy_probability", "human-model", rng=1)
    >>> result
    <Result copy_probability: 72 pairs, 10000 bootstrap replicates, 4000 posterior draws (exact)>
    """
    return _compared(**locals())


def _compared(trials: Any, metric: str | Metric, **given: Any) -> Result:
    """Compare pairs with the options of this kind of metric."""
    found = get_metric(metric)
    kind = KINDS[found.counts]
    if given["n_resamples"] is None and "bootstrap" in found.unreliable:
        given["n_resamples"] = 0
    for name in ("n_resamples", "n_draws", "ci_prob"):
        given[name] = resolve(name, given.get(name))
    of_kind = {name: given.pop(name) for name in kind.options & given.keys()}
    design = Design(options=of_kind, **given)
    if kind is ROWS:
        return analyse_rows(trials, found, design)
    return analyze(trials, found, kind, design)


def error_consistency(
    trials: Trials | xr.Dataset,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    sampler: Sampler = "auto",
    prior: Prior | None = None,
    model: AskedModel = "copying",
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Compute the error consistency of pairs of observers, with intervals.

    Error consistency (EC) is Cohen's kappa for the correctness of two observers. EC is positive if
    the observers err on the same trials more often than expected from their accuracies alone [G20]_
    [K25]_. The maximum of EC is 1, and independent observers have an EC of 0.

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        Aligned responses. If you have only the counts of each pair's 2 x 2 table, pass a table from
        `alikely.data.from_counts`; ``pairs``, ``by`` and ``no_response`` then have no effect.
    pairs : str or sequence of (str, str)
        One of: ``"all"``; two kinds, such as ``"human-model"`` (the first kind is the reference);
        or a list of pairs.
    by : {"condition", "dataset"} or None
        Grouping of trials; groups are analyzed separately. If ``None``, all trials are pooled.
        Pooling conditions of unequal difficulty inflates EC.
    no_response : {"error", "drop"}
        Count a missing response as an error, or exclude the trial from the observer's pairs.
    n_resamples : int
        Number of bootstrap replicates. 0 disables them.
    n_draws : int
        Number of posterior draws. With 0 draws, equal-tailed posterior limits are computed from the
        counts (`posterior_limits`) if the prior is a Dirichlet distribution and no item is
        repeated. Posterior intervals of means and differences require posterior draws.
    sampler : {"auto", "exact", "nuts"}
        Sampling method for the posterior, as in `alikely.inference.posterior`.
    prior : mapping or sequence of four numbers, optional
        Prior for each pair: Dirichlet parameters of the cells ``n11, n10, n01, n00`` (both correct,
        only `a`, only `b`, neither). You can also pass Beta priors for the parameters of the copy
        model (see `alikely.models.copying`). Default: 1/2 for each cell. Differences and means
        require a Dirichlet prior with ``n10 = n01`` and ``n11 n00 >= n10 n01``. The Bayes factor
        uses the same prior as the posterior, except that the default Dirichlet parameters for the
        Bayes factor are 1. The Bayes factor is omitted if the prior is not a Dirichlet
        distribution, or if a row or column sum of its 2 x 2 parameters is at most 1.
    model : "copying" or pymc.Model
        Generative model: `alikely.models.copying` or, for MCMC, a custom model of the pairs with a
        variable ``error_consistency`` of dimension ``pair``. In a custom model, observed variables
        or ``pm.Data`` must contain each pair's 2 x 2 counts or both observers' correctness by
        trial.
    cluster : str, optional
        Trial coordinate that defines clusters, for example ``"item"``. Clusters, not trials, are
        the sampling units for standard errors, the bootstrap, the posterior and the null test.
        Default: items if any item is repeated, otherwise trials. By default, the responses of two
        observers to a repeated item are crossed, and an item label denotes the same item in all
        conditions of a data set. ``"trial"`` treats all responses as independent, and pairs the
        first responses of both observers, then the second responses, and so on. With
        ``cluster="trial"``, every row of the summary has a note.
    ci_prob : float
        Probability level of the intervals that `Result.summary` shows by default, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness. The same seed gives the same result.

    Returns
    -------
    Result
        One comparison per pair of observers and group of trials. With ``sampler="nuts"``,
        ``result.chains["all pairs"]`` is the complete fit, which ArviZ can read.
        `alikely.inference.posterior` adds the log likelihood of every trial, which `arviz.loo`
        needs.

    Raises
    ------
    TypeError
        If `trials` has the wrong type.
    ValueError
        If an option is invalid, a custom PyMC model lacks the observed counts, true classes are
        missing, or the observers have no common trials.

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
    return _compared(metric=ERROR_CONSISTENCY, **locals())


def misclassification_agreement(
    trials: Trials | xr.Dataset,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Compute the misclassification agreement of pairs of observers, with intervals.

    Misclassification agreement (MA) is Cohen's kappa for the incorrect labels of two observers,
    over the trials that both got wrong (joint errors) [X25]_.

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        Aligned responses with class labels, or a table from `alikely.data.joint_correctness` with
        ``labels=True``.
    pairs, by : str or sequence, and {"condition", "dataset"} or None
        As in `error_consistency`. Within individual conditions, joint errors are often few, so
        intervals are wide.
    no_response : {"error", "drop"}
        Whether to count a missing response as an error with the label ``(no response)``, or to drop
        the trial from the observer's pairs.
    n_resamples, n_draws, cluster, ci_prob, rng
        As in `error_consistency`.

    Returns
    -------
    Result
        Estimates for each pair and group of trials, with two additional columns:
        ``n_joint_errors``, and ``expected``, the kappa expected from the true classes alone.
        ``expected`` is above 0 if both observers' errors depend similarly on the true class.

    Raises
    ------
    TypeError
        If `trials` has the wrong type.
    ValueError
        If an option is invalid, if there are fewer than three class labels, or if observers have no
        common trials.

    Notes
    -----
    Intervals generalize to other trials on which both observers err. In the published formula for
    misclassification agreement, chance agreement is computed from marginal proportions. If joint
    errors are few and agreement is high, chance agreement computed in this way is too high, and the
    estimate is too low. Posterior draws correct this bias, so the posterior median of
    misclassification agreement is above the estimate. Analytic and bootstrap intervals are centered
    on the estimate.

    If all responses on joint errors have the same label, the estimate is undefined and the
    posterior is wide, because it allows for other labels; a note is added. Without joint errors,
    there is neither an estimate nor a posterior. If a pair has too few joint errors for
    reliable intervals, the summary has a note.

    References
    ----------
    .. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
       decision-making systems. doi:10.48550/arXiv.2409.13919

    Examples
    --------
    >>> import alikely as al
    >>> result = al.misclassification_agreement(al.load_example(), "human-human", rng=1)
    >>> result.summary()[["estimate", "expected", "n_joint_errors"]].shape
    (18, 3)
    """
    return _compared(metric=MISCLASSIFICATION_AGREEMENT, **locals())


def error_similarity(
    trials: Trials | xr.Dataset | Confusions,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    metric: str | Metric = "error_similarity",
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    paired: bool | None = None,
    cache_dir: str | Path | None = None,
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Compute the class-level error similarity of pairs of observers, with intervals.

    For each true class, the distributions of the two observers' incorrect responses are compared,
    whether or not the observers err on the same trials. The mean divergence (CLED) determines the
    similarity (CLES), ``1 / (1 + CLED)`` [X25]_. Observers who saw different stimuli can be
    compared, because error similarity requires common classes but no common trials.

    Parameters
    ----------
    trials : Trials, xarray.Dataset or mapping of str to array_like or pandas.DataFrame
        Responses with class labels, a table from `alikely.data.joint_correctness` with
        ``labels=True``, or a confusion matrix for each system (counts, with true classes as rows
        and responses as columns).
    pairs, by : str or sequence, and {"condition", "dataset"} or None
        Selection of pairs and groups, as in `error_consistency`. ``by=None`` also compares
        observers from different data sets.
    metric : str or Metric
        A metric computed from the distributions of incorrect responses. To change its options
        ``alpha``, ``mixture`` or ``base`` (see `alikely.metrics.errors.error_divergence`), pass a
        metric such as ``alikely.metrics.get_metric("error_similarity", mixture="pooled")``.
    no_response : {"error", "drop"}
        Whether to count a missing response as an error with the separate label ``(no response)``,
        or to drop it.
    n_resamples : int, optional
        Number of bootstrap replicates. By default (0), there is no bootstrap, because the coverage
        of bootstrap intervals is too low (see Notes).
    paired : bool, optional
        For confusion matrices: whether the systems responded to the same items. If True, only the
        estimate is returned. An interval would require the joint distribution of both systems'
        responses, which confusion matrices do not contain.
    cache_dir : str or path, optional
        Directory in which the MCMC chains of pairs are saved as they finish. If an analysis is
        interrupted, repeat it with the same data, options and seed; it resumes from the saved
        chains.
    n_draws, cluster, ci_prob, rng
        As in `error_consistency`.

    Returns
    -------
    Result
        Similarity of each pair in each group of trials (``estimate``), and these additional
        columns:

        - ``divergence``; ``expected_divergence``, the value expected for equal error distributions
          and the same numbers of errors (sampling error makes this value positive);
          ``excess_divergence``, observed minus expected divergence
        - ``log_bayes_factor``, in nats; positive values favor the hypothesis of equal error
          distributions
        - ``p_equal``, the p-value of a permutation test of equal error distributions, and
          ``p_equal_adjusted``, this p-value adjusted for all pairs (Benjamini-Hochberg).
          ``p_equal`` and ``p_equal_adjusted`` account for the dependence between the two observers'
          errors on the same items.
        - ``model_low`` and ``model_high``, limits from the posterior alone with probability level
          `ci_prob`
        - ``copy_probability``, the proportion of joint errors in which one observer copied the
          label of the other (NaN without joint errors)

        ``result.estimates`` contains the divergence and the Bayes factor for each class.

    Raises
    ------
    TypeError
        If `trials` has the wrong type.
    ValueError
        If an option is invalid, or if there are no class labels.
    ValueError
        If confusion matrices have different classes, or are passed without `paired`.

    Notes
    -----
    Divergences estimated from samples are biased upward. Bootstrap and analytic intervals are not
    corrected for the upward bias of divergences and, like ``log_bayes_factor``, are shown only on
    request. For similar systems, the posterior interval for the divergence can therefore lie below
    the estimated divergence, and the interval for the similarity above the estimated similarity.
    The upper interval limit of error similarity is exactly 1 if the data are compatible with equal
    error distributions.

    Each limit of the posterior interval is the more extreme of two limits: one from the posterior
    of the paired-errors model (`alikely.errors.pairs`), and one from simulated data sets. The
    simulated limit is the smallest or largest true divergence at which the observed estimate is not
    improbable. Data sets are simulated for a range of true divergences, from populations that
    otherwise resemble the data (`alikely.errors.draws`). The quantiles of
    ``result.draws("posterior")`` equal the limits of the posterior interval. The unadjusted draws
    from the paired-errors model are in the group ``rows`` of ``result.data``. Do not average draws
    over pairs. For means and differences, `alikely.mean` and `alikely.difference` compute interval
    limits from simulated data sets. The simulated populations are in
    ``result.data["populations"]``.

    References
    ----------
    .. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
       decision-making systems. doi:10.48550/arXiv.2409.13919

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> result = al.error_similarity(trials, "human-human", rng=1)
    >>> result.summary()[["estimate", "divergence", "expected_divergence"]].shape
    (6, 3)
    """
    if get_metric(metric).counts != "rows":
        raise ValueError(
            f"metric of error_similarity must compare error rows, got {metric!r}; use compare"
        )
    return _compared(**locals())


def decision_margin_consistency(
    trials: Trials,
    margins: Any = None,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    group: str = "kind",
    n_alternatives: int | None = None,
    model: MarginModel = "moments",
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    cluster: str | None = None,
    rng: RandomState = None,
) -> Result:
    """Compute the decision-margin consistency of pairs of systems, with intervals.

    Decision-margin consistency measures whether two systems find the same items easy. A model's
    margin for an item is its score for the true class minus the highest score of the other classes.
    A group's margin for an item is the group's proportion correct. The estimate is the correlation
    between the margins of two systems across items [AK24]_. Trial-by-trial variability attenuates
    the estimate; the posterior columns give the noise-corrected correlation.

    Parameters
    ----------
    trials : Trials
        Responses of humans, and optionally of models.
    margins : table, path or sequence of these, or Trials, optional
        Long-format tables of margins, logits or probabilities, or trials with option probabilities,
        as accepted by `alikely.margins.decision_margins`. To combine classes into coarse
        categories, pass margins from ``alikely.margins.decision_margins(..., coarse=...)``. Without
        `margins`, the function compares groups of observers with each other.
    pairs : str, sequence of str, or sequence of (str, str)
        Pairs of systems, selected as in `error_consistency`. A system is either an observer for
        whom you pass margins, or a group of other observers with the same label (see `group`). The
        label names the group.
    by : {"condition", "dataset"} or None
        Grouping of trials; groups are analyzed separately. Pooling conditions of unequal difficulty
        inflates the correlation of margins.
    group : str
        Label by which to group observers that have no margins: ``"kind"``, any other observer label
        in the trials, or ``"observer"`` (no pooling).
    n_alternatives : int, optional
        Number of response alternatives in the task. Default: the number of classes in the trials.
    model : {"moments", "strengths"}
        Noise correction of the correlation:

        - ``"moments"`` (takes milliseconds per pair): correlation between the normal scores of a
          model's margins and the proportion of all observers in the population who are correct.
          ``"moments"`` makes no assumption about the distribution of item strength. The correlation
          is below 1 even for a perfect model if the observers' proportion correct is a nonlinear
          function of the normal scores of the model's margins.
        - ``"strengths"`` (takes 0.1 seconds per pair): correlation between the strengths (easiness)
          of items for a model and for a group. The distribution of item strengths can have any
          skewness and tail weight. The posterior of the latent correlation, computed by quadrature,
          is widened if the data deviate from the fitted distribution. If only correctness is known,
          `n_alternatives` is required.
    no_response : {"error", "drop"}
        Whether to count a missing response as an error, or to drop it.
    n_resamples : int
        Number of bootstrap replicates, in which items are resampled. 0 disables them.
    n_draws : int
        Number of posterior draws of the noise-corrected correlation. 0 disables them.
    cluster : str, optional
        Item column that defines clusters of dependent items, such as ``"template"`` (read with
        ``item_columns=``). Clusters are the sampling units for standard errors, the bootstrap,
        reliabilities and ``model="moments"``. Use ``"item"`` if items occur in several conditions
        that are pooled. By default, clusters are the true classes, if these are known and there are
        at least 5 classes in each group of trials (see `by`).
    rng
        As in `error_consistency`. ``alikely.options.ci_prob`` sets the probability level of the
        intervals.

    Returns
    -------
    Result
        Estimates for each pair of systems and group of trials; ``n_trials`` is the number of common
        items.

        - ``reliability``, the split-half reliability of the groups' proportions correct;
          ``ceiling``, the square root of ``reliability``; and ``disattenuated``, the estimate
          divided by ``ceiling``
        - ``scale`` of the noise-corrected correlation: ``"share"``, ``"strength"``, or
          ``"margin"`` for two models
        - with ``"moments"`` and classes: ``r_within_class``, the correlation between deviations
          from class means, with its interval; and ``r_between_class``, the correlation between
          class means
        - in ``result.estimates``, p-values of model checks: ``p_nonlinearity``, ``p_linearity``,
          ``p_within`` (classes), ``p_skew``, ``p_modes`` (two modes of item strength),
          ``p_repeats`` (observers differ by item) and ``p_classes``; ``note`` reports relevant
          results
        - ``result.data["ceilings"]``: reliability of each group with its interval

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object.
    ValueError
        If an option is invalid, or if two systems have too few common items.
    ValueError
        If most items for which a model has margins have no responses in `trials`, and most items
        with responses have no margins. To restrict the comparison to items with responses, remove
        the margins of all other items.

    Notes
    -----
    Analytic (Fisher's z) and bootstrap intervals are for the attenuated correlation. These
    intervals generalize to new items (or new classes of items) with the same observers. If `model`
    is ``"moments"``, the interval generalizes to new items and new observers. Classes are treated
    as clusters if they are known and there are at least 5. The quantiles of the ``"moments"`` draws
    equal the limits of the ``"moments"`` interval. With ``"moments"`` and ``"strengths"``, draws
    for different pairs are sampled jointly, based on each item's influence on the estimates. The
    limits of the ``"moments"`` interval lie within [-1, 1], and are -1 and 1 if the data are
    compatible with a reliability of 0.

    References
    ----------
    .. [AK24] Alvarez, Konkle (2024). Decision-margin consistency.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> items = trials.data["item"].values
    >>> rng = np.random.default_rng(1)
    >>> margins = pd.DataFrame({"observer": "net", "condition": "noise", "item": items})
    >>> margins["dataset"] = trials.data["dataset"].values
    >>> margins["margin"] = rng.normal(size=len(items))
    >>> result = al.decision_margin_consistency(
    ...     trials.select(kind="human"), margins, n_draws=0, rng=1
    ... )
    >>> result.summary()[["observer_a", "observer_b", "n_trials"]].values.tolist()
    [['human', 'net', 160]]
    """
    return _compared(metric=DECISION_MARGIN_CONSISTENCY, **locals())


def agreement(
    trials: Trials | xr.Dataset,
    coefficient: str | Metric = "cohen_kappa",
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    readers: Literal["pairs", "all"] = "pairs",
    no_response: Literal["error", "drop"] = "drop",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    prior: Prior | None = None,
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Compute the agreement between the ratings of two or more readers.

    Agreement includes agreement on correct responses, so it is high if readers are accurate. Error
    consistency (EC), which is part of the result, measures whether readers err on the same items,
    given how often each reader errs.

    Parameters
    ----------
    trials : Trials
        Ratings of the same items by several readers, with class labels. Agreement does not depend
        on the true classes, but EC and accuracies do.
    coefficient : str or Metric
        Name of the coefficient, or a custom metric for ratings:

        - ``"cohen_kappa"`` [C60]_, or ``"conger_kappa"`` [C80]_ for more than two readers
        - ``"fleiss_kappa"`` [F71]_, which is Scott's pi (``"scott_pi"``) for two readers
        - ``"gwet_ac1"`` [G08]_
        - ``"krippendorff_alpha"`` [K70]_
        - ``"brennan_prediger"`` [BP81]_, which is the prevalence- and bias-adjusted kappa
          (``"pabak"`` [BBC93]_) for two classes
        - ``"raw_agreement"``
    pairs, by, n_resamples, ci_prob, rng
        As in `error_consistency`.
    readers : {"pairs", "all"}
        ``"pairs"`` gives one coefficient per pair, computed from the items that both readers rated.
        ``"all"`` gives one coefficient for all readers that occur in `pairs`, computed from all
        ratings of these readers [G14]_.
    no_response : {"drop", "error"}
        Whether to exclude missing ratings or to count them as a class, ``(no response)``. The
        default is ``"drop"``, because an item that a reader did not rate provides no information
        about that reader.
    n_draws : int
        Number of posterior draws. 0 disables them. The posterior is a Dirichlet process over the
        ratings that all readers give to an item. The prior is equivalent to the ratings of two
        additional items, and its mean probability that two readers agree is 2/3.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior for the 2 x 2 table of two readers' ratings. The prior parameters must
        satisfy ``n11 = n00``, ``n10 = n01`` and ``n11 > n10``. With more than two classes, the
        prior is equivalent to ``n11 + n00`` additional items on which two readers agree, and
        ``n10 + n01`` items on which they disagree. Default: ``(2/3, 1/3, 1/3, 2/3)``.
    cluster : str, optional
        As in `error_consistency`.

    Returns
    -------
    Result
        One estimate for each pair in each group of trials or, with ``readers="all"``, one for each
        group of trials. In addition to the estimate, the result has the following variables:

        - ``error_consistency``; with ``readers="all"``, the mean over the pairs for which it is
          defined
        - ``n_missing``: number of missing ratings for items that another reader rated
        - ``n_minority_ratings``: number of items times the proportion of ratings outside the most
          frequent class
        - ``n_trials``: number of common trials or, with ``readers="all"``, number of items with at
          least two ratings. With ``readers="all"``, ``accuracy_a`` and ``accuracy_b`` both equal
          the readers' mean accuracy.

    Raises
    ------
    TypeError
        If `trials` has the wrong type.
    ValueError
        If the coefficient or an option is unknown.
    ValueError
        If there are fewer than two readers, no common items or no classes.
    ValueError
        If two readers use different codes for their ratings.

    Notes
    -----
    In AC1 and the Brennan-Prediger coefficient, chance agreement depends on the number of possible
    classes (``classes=`` of `alikely.Trials.from_table`), including classes that no reader used.

    References
    ----------
    .. [BBC93] Byrt, Bishop, Carlin (1993). Bias, prevalence and kappa.
       doi:10.1016/0895-4356(93)90018-V
    .. [BP81] Brennan, Prediger (1981). Coefficient kappa: some uses, misuses, and alternatives.
       doi:10.1177/001316448104100307
    .. [C60] Cohen (1960). A coefficient of agreement for nominal scales.
       doi:10.1177/001316446002000104
    .. [C80] Conger (1980). Integration and generalization of kappas for multiple raters.
       doi:10.1037/0033-2909.88.2.322
    .. [F71] Fleiss (1971). Measuring nominal scale agreement among many raters.
       doi:10.1037/h0031619
    .. [G08] Gwet (2008). Computing inter-rater reliability and its variance in the presence of high
       agreement. doi:10.1348/000711006X126600
    .. [G14] Gwet (2014). Handbook of inter-rater reliability, 4th edition. Advanced Analytics.
    .. [K70] Krippendorff (1970). Estimating the reliability, systematic error and random error of
       interval data. doi:10.1177/001316447003000105

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(kind="human")
    >>> result = al.agreement(trials, "gwet_ac1", readers="all", n_resamples=0, n_draws=0)
    >>> result.summary()[["condition", "n_trials", "estimate", "error_consistency"]].shape
    (3, 4)
    """
    arguments = locals()
    own = arguments.pop("coefficient")
    if not isinstance(own, Metric):
        one_of("coefficient", own, tuple(COEFFICIENTS))
        own = COEFFICIENTS[own]
    one_of("readers", readers, ("pairs", "all"))
    return _compared(metric=own, **arguments)
