"""Compare pairs of observers: by any metric, and a function for each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd
import xarray as xr

from alikely._base.checks import one_of
from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.data.tables import By, Pairs
from alikely.data.trials import Trials
from alikely.errors.equal_rows import N_PERMUTATIONS
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
from alikely.metrics.cell_priors import Prior
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT, error_similarity_metric
from alikely.metrics.margins import DECISION_MARGIN_CONSISTENCY

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from alikely.models._asked import AskedModel

    Confusions = Mapping[str, ArrayLike | pd.DataFrame]

__all__ = [
    "agreement",
    "agreement_table",
    "compare",
    "decision_margin_consistency",
    "error_consistency",
    "error_similarity",
    "misclassification_agreement",
]

KINDS: dict[str, Kind] = {
    "correctness": CORRECTNESS,
    "labels": LABELS,
    "readings": READINGS,
    "rows": ROWS,
    "margins": MARGINS,
    "options": OPTIONS,
    "probabilities": OPTIONS,
    "trials": TRIALS,
}
# Coefficients by the names of people and books: of two readers and of many they go by others.
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
SENTENCE = (
    "agreement counts right answers too; error consistency (EC) asks whether errors fall on the "
    "same items, given how often each reader errs"
)


def compare(  # noqa: PLR0913
    trials: Any,
    metric: str | Metric = "error_consistency",
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    n_null: int = 10_000,
    bayes_factor: bool = True,
    sampler: Sampler = "auto",
    prior: Prior | None = None,
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
    **options: Any,
) -> Result:
    """Compare pairs of observers by any metric, with intervals of every method that it has.

    `error_consistency`, `misclassification_agreement`, `error_similarity` and
    `decision_margin_consistency` are this for one metric each.

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        As in `error_consistency`.
    metric : str or Metric
        Name or short name of a registered metric (`alikely.metrics.metrics`), or one of your own.
    n_resamples : int, optional
        Number of bootstrap replicates; 0 disables them. Default: 10,000, and none for metrics whose
        bootstrap is known to be wrong (error similarity).
    pairs, by, no_response, n_draws, cluster, ci_prob, rng
        As in `error_consistency`. For metrics that are not symmetric, such as
        ``"copy_probability"``, the first of a pair is the reference; pairs of one kind stand in
        both orders.
    n_null, bayes_factor
        As in `error_consistency`, for metrics of correctness.
    prior : mapping or sequence of four numbers, optional
        As in `error_consistency` for metrics of correctness and of options; as in `agreement` for
        metrics of readings.
    sampler : {"auto", "exact", "nuts"}
        As in the front door of that kind of metric; of margins ``"auto"`` alone, where ``model``
        decides.
    **options
        Options of the metric (such as ``mixture`` of ``"error_similarity"``) and of its kind of
        table (``margins, group, m, link, model`` of `decision_margin_consistency`; ``priors`` of
        that door and those of wrong labels).

    Returns
    -------
    Result
        One entry per pair and group.

    Raises
    ------
    TypeError
        If `trials` or `metric` is of another type.
    ValueError
        If the metric is unknown, an option is invalid, or the trials do not allow the comparison;
        the message says why.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.compare(al.load_example(), "copy_probability", "human-model", rng=1)
    >>> result
    <Result copy_probability: 72 pairs, 10000 bootstrap replicates, 4000 posterior draws (exact)>
    """
    kind = KINDS[get_metric(metric).counts]
    of_kind = {name: value for name, value in options.items() if name in kind.options}
    of_metric = {name: value for name, value in options.items() if name not in kind.options}
    found = get_metric(get_metric(metric), **of_metric)
    if n_resamples is None and "bootstrap" in found.unreliable:
        n_resamples = 0
    design = Design(
        pairs=pairs,
        by=by,
        no_response=no_response,
        n_resamples=resolve("n_resamples", n_resamples),
        n_draws=resolve("n_draws", n_draws),
        n_null=n_null,
        bayes_factor=bayes_factor,
        sampler=sampler,
        prior=prior,
        cluster=cluster,
        ci_prob=resolve("ci_prob", ci_prob),
        ci_kind=resolve("ci_kind", None),
        rng=rng,
        options=of_kind,
    )
    if kind is ROWS:
        return analyse_rows(trials, found, design)
    return analyze(trials, found, kind, design)


def error_consistency(  # noqa: PLR0913
    trials: Trials | xr.Dataset,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    n_null: int = 10_000,
    bayes_factor: bool = True,
    sampler: Sampler = "auto",
    prior: Prior | None = None,
    model: AskedModel = "copying",
    include: Sequence[str] = (),
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Error consistency of pairs of observers, with intervals of every method.

    Error consistency (EC) is Cohen's kappa of two observers' correctness: do they err on the same
    trials more often than their accuracies alone would have it [G20]_ [K25]_?

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        Aligned responses; or a table from `alikely.data.from_counts`, when all you have are the
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
        Posterior draws; 0 for none: equal-tailed posterior limits then come from the counts alone
        (`posterior_limits`), under a Dirichlet prior and where no item comes
        back. What needs draws, such as means and differences, has no posterior then.
    n_null : int
        Draws of the test against independent observers; 0 for none.
    bayes_factor : bool
        Whether to compute the Bayes factor of association.
    sampler : {"auto", "exact", "nuts"}
        How to draw from the posterior, see `alikely.inference.posterior`.
    prior : mapping or sequence of four numbers, optional
        Prior on the cells of a pair: Dirichlet parameters of ``n11, n10, n01, n00`` (both correct,
        only `a`, only `b`, neither), or Beta parameters by name, see `alikely.models.copying`.
        Default: 1/2 for each cell. Differences and means need a Dirichlet with ``n10 = n01`` and
        ``n11 n00 >= n10 n01``. The Bayes factor uses it too; its default is 1 for each cell.
    model : "copying" or pymc.Model
        `alikely.models.copying`; for MCMC also a custom model of these pairs, with
        ``error_consistency`` (pair). It must contain the data, in any layout: the cells of each
        pair, or the correctness of its observers over the trials.
    include : "all" or sequence of str
        Groups to add to the result. ``["log_likelihood"]``: the log likelihood of every trial, for
        `arviz.loo`. Others are for MCMC and added to ``result.chains``, as in
        `alikely.inference.extended`.
    cluster : str, optional
        Trial coordinate whose trials err together, such as ``"item"``: they are one unit in
        estimates of error, bootstrap, posterior and null test. By default items, where any comes
        back: for repeats every answer of one observer then meets every answer of the other, and in
        other conditions of a data set a label is the same item. ``"trial"`` takes all answers for
        independent, a first answer with a first one; every row says so.
    ci_prob : float
        Probability of the intervals that `Result.summary` shows by default, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same result.

    Returns
    -------
    Result
        One entry per pair and group. With ``sampler="nuts"`` ``result.chains["all pairs"]`` is the
        whole fit, for ArviZ.

    Raises
    ------
    TypeError
        If `trials` is neither.
    ValueError
        If an option is invalid, a custom model does not contain these data, or the trials do not
        allow the comparison; the message gives the reason.

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
    return compare(metric=ERROR_CONSISTENCY, **locals())


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
    """Misclassification agreement of pairs of observers: where both err, do they say the same.

    Misclassification agreement (MA) is Cohen's kappa of two observers' wrong labels, over the
    trials on which both are wrong [X25]_.

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        Aligned responses with class labels; or a table from `alikely.data.joint_correctness`
        with ``labels=True``.
    pairs, by : str or sequence, and {"condition", "dataset"} or None
        As in `error_consistency`. Joint errors are few: within conditions intervals are wide.
    no_response : {"error", "drop"}
        Take a missing response for an error with a label of its own, ``(no response)``, or leave
        the trial out of that observer's pairs.
    n_resamples, n_draws, cluster, ci_prob, rng
        As in `error_consistency`.

    Returns
    -------
    Result
        One entry per pair and group. Next to the estimate are ``n_joint_errors`` and ``expected``:
        the agreement that the true classes alone would bring about, since some classes invite some
        errors.

    Raises
    ------
    TypeError
        If `trials` is neither.
    ValueError
        If an option is invalid, there are no class labels, or the trials do not allow the
        comparison; the message says why.

    Notes
    -----
    Intervals are for the agreement of all joint errors that there could be, of which the trials are
    a sample. The published estimate takes agreement by chance from products of margins, which pair
    every joint error with itself: with few of them it is too low where labels agree often. The
    posterior draws take chance over different joint errors, and their median lies above such an
    estimate; analytic intervals and the bootstrap are centered on it.

    Where both give one and the same wrong label throughout, the estimate is undefined and says so;
    the posterior, of labels that others of these errors might have, is wide. Without a joint error
    there is neither. Notes of the summary say where a pair has too few for one method or for all.

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
    return compare(metric=MISCLASSIFICATION_AGREEMENT, **locals())


def error_similarity(
    trials: Trials | xr.Dataset | Confusions,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    n_permutations: int = N_PERMUTATIONS,
    paired: bool | None = None,
    cache_dir: str | Path | None = None,
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Class-level error similarity of pairs of observers: do they mistake the same for the same.

    For each true class the distributions of both observers' wrong answers are compared, whether or
    not they err on the same trials. Their mean divergence (CLED) gives the similarity (CLES),
    ``1 / (1 + CLED)`` [X25]_. Observers of different stimuli can be compared: no common trial is
    needed, only common classes.

    Parameters
    ----------
    trials : Trials, xarray.Dataset or mapping of str to array_like or pandas.DataFrame
        Responses with class labels; or a table from `alikely.data.joint_correctness` with
        ``labels=True``; or for each system its confusion matrix, counts of true classes (rows) by
        answers (columns).
    pairs, by : str or sequence, and {"condition", "dataset"} or None
        As in `error_consistency`; ``by=None`` compares observers of different data sets too.
    no_response : {"error", "drop"}
        Take a missing response for an error with a label of its own, ``(no response)``, or leave
        it out.
    n_resamples : int, optional
        Number of bootstrap replicates. Default: none, because the coverage of their intervals is
        too low; see Notes.
    n_permutations : int
        Number of permutations of the test of equal rows. 0 disables it.
    paired : bool, optional
        For confusion matrices, which do not tell: whether the systems answered the same items. If
        so, there is the estimate alone, since how far the same items make errors alike is lost.
    cache_dir : str or path, optional
        Where chains of pairs are kept, a part at a time, so that a long analysis that was stopped
        goes on there when it is asked for again with the same data, options and seed.
    n_draws, cluster, ci_prob, rng
        As in `error_consistency`.

    Returns
    -------
    Result
        One entry per pair and group, with the similarity as the estimate, and

        - ``divergence``; ``expected_divergence`` of equal observers with as many errors
          (divergences of samples are above 0); ``excess_divergence``, their difference
        - ``log_bayes_factor`` (nats; positive for the same distribution of errors)
        - ``p_equal`` of a permutation test of equal rows, ``p_equal_adjusted`` over all pairs
          (Benjamini-Hochberg); they account for the items on which both erred
        - ``model_low`` and ``model_high``, quantiles of the posterior alone for `ci_prob`, and
          ``copy_probability``, the proportion of items on which both erred where one label was a
          copy of the other (NaN without such items)

        ``result.estimates`` has the divergence and the Bayes factor of each class.

    Raises
    ------
    TypeError
        If `trials` is none of these.
    ValueError
        If an option is invalid, there are no class labels, or the trials or matrices do not allow
        the comparison; the message says why.

    Notes
    -----
    `compare` has three more options for this metric, ``alpha``, ``mixture`` and ``base``, as in
    `alikely.metrics.errors.error_divergence`.

    Divergences of samples are too large, and no interval that is centered on them makes up for it:
    the bootstrap and the analytic interval are biased further. Their coverage is 0 to 0.98 (nominal
    0.95), and ``log_bayes_factor`` favors equal rows by more than 3 to 1 in 74% of data sets whose
    rows differ. The summary shows these only if they are named, with the reason in the note; report
    ``p_equal_adjusted``. The posterior interval may lie below the divergence that is estimated
    (above the similarity), as it must where systems are alike; its limit is a similarity of exactly
    1 where the data allow that.

    Its limits are the wider, in each tail, of two answers: the posterior of paired error rows
    (`alikely.errors.paired`), and the divergences at which an estimate as observed would be too
    small or too large, by data sets that are simulated from populations near by
    (`alikely.errors.limits`). Draws in ``result.draws("posterior")`` have these quantiles; those of
    the posterior alone are in the group ``rows``. Means of draws have other quantiles than limits
    of means should: `alikely.mean` and `alikely.difference` take these from the group
    ``populations``.

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
    return compare(metric=error_similarity_metric(), **locals())


def decision_margin_consistency(  # noqa: PLR0913
    trials: Trials,
    margins: Any = None,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    group: str = "kind",
    n_alternatives: int | None = None,
    model: MarginModel = "moments",
    unmatched: Literal["error", "accept"] = "error",
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Decision-margin consistency of pairs of systems, with intervals of every method.

    Do two systems find the same items easy? A model's margin of an item is its score for the true
    class above that for the best other one; a group of observers shows how easy an item is by its
    share of right answers. The estimate is their correlation over items [AK24]_, which the noise of
    single answers attenuates; beside it stands the correlation freed of that noise.

    Parameters
    ----------
    trials : Trials
        Answers of humans, and perhaps of the models.
    margins : table, path or sequence of these, or Trials, optional
        Long tables of margins, logits or probabilities, or trials with probabilities of options, as
        for `alikely.margins.decision_margins` (call it yourself for coarse categories). Not needed
        to compare groups of observers.
    pairs : str, sequence of str, or sequence of (str, str)
        As in `error_consistency`, of systems: every observer with margins is one; the others are
        pooled by their label `group`, which is then the name of the system.
    by : {"condition", "dataset"} or None
        Groups of trials to keep apart. Pooled conditions of unequal difficulty correlate more.
    group : str
        Label of observers that pools those without margins: ``"kind"``, one given as a label to
        `alikely.Trials`, or ``"observer"`` for each on its own.
    n_alternatives : int, optional
        Number of alternatives of the task; the number of classes if not given.
    model : {"moments", "strengths"}
        What corrects the correlation for noise:

        - ``"moments"``, milliseconds a pair: on the scale of proportion correct, the correlation of
          normal scores of margins with the proportions in a population of such observers; assumes
          no distribution of strengths. Even a perfect model scores below 1 if proportions are a
          nonlinear function of its normal scores
        - ``"strengths"``, 0.1 seconds a pair: on the scale of strengths, of any skewness and tail,
          of a model and a group, with room for what that distribution leaves out; the posterior of
          `alikely.models.item_margins` by quadrature
    unmatched : {"error", "accept"}
        As in `alikely.margins.tables.margin_table`.
    no_response : {"error", "drop"}
        Count a missing response as an error, or as no answer.
    cluster : str, optional
        Column of the items, kept by ``item_columns=`` when data are read, such as ``"template"``:
        items that share its value are dependent, and clusters are the sampling unit of standard
        errors, bootstrap, reliability and ``"moments"``. Or ``"item"``, for items that are in
        several conditions of a group. Default: classes, where these are known and at least 5 in
        each group of trials.
    n_resamples : int
        Number of bootstrap replicates of items. 0 disables them.
    n_draws : int
        Number of draws of the noise-corrected correlation. 0 disables them.
    ci_prob, rng
        As in `error_consistency`.

    Returns
    -------
    Result
        One entry per pair of systems and group of trials; ``n_trials`` counts items common to both.

        - ``reliability`` (of the groups' proportions, by split halves), its root ``ceiling``, and
          ``disattenuated``, the estimate divided by it
        - ``scale`` of the correlation corrected for noise: ``"share"``, ``"strength"``, or
          ``"margin"`` for two models
        - with ``"moments"`` and classes, ``r_within_class`` with its interval, of deviations from
        the
          means of classes, and ``r_between_class``, of these means
        - in ``result.estimates``, p-values of checks: ``p_nonlinearity`` and ``p_linearity``
        (linearity),
          ``p_within`` (classes), ``p_skew``, ``p_law`` (two modes of strengths), ``p_repeats``
          (observers differ by item) and ``p_classes``; ``note`` reports those that matter
        - ``result.data["ceilings"]``: reliability of each group with its interval
        - ``result.data["strengths"]``, with ``"strengths"``: posterior mean and standard deviation
          of item strengths behind each model's entry

    Raises
    ------
    TypeError
        If `trials` is not of that class.
    ValueError
        If an option is invalid, or trials and margins do not allow the comparison; the message
        says why.

    Notes
    -----
    Analytic intervals (Fisher's z) and the bootstrap are of the attenuated estimate over items, or
    classes of items, with the same observers. The interval of ``"moments"`` is over new items and
    new people like these; items of a class err together, where classes are known and at least 5.
    Its draws have its limits as quantiles, and belong together over pairs, as influences of items
    on both do; so do those of ``"strengths"``. Its bounds are held within [-1, 1]; they are -1 and
    1 where a reliability may be 0.

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
    return compare(metric=DECISION_MARGIN_CONSISTENCY, **locals())


def agreement(
    trials: Trials | xr.Dataset,
    coefficient: str = "cohen_kappa",
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
    """Agreement of the readings themselves, right or wrong, of two readers or of many.

    Agreement counts right answers too, and is high wherever readers are accurate. Error consistency
    (EC), which stands beside it, asks whether errors fall on the same items, given how often each
    reader errs.

    Parameters
    ----------
    trials : Trials
        Aligned readings with their classes. The truth has no part in agreement; EC and accuracies
        beside it are of the truth.
    coefficient : str
        ``"cohen_kappa"`` [C60]_ (of many readers that of Conger [C80]_, ``"conger_kappa"``),
        ``"fleiss_kappa"`` [F71]_ (of two readers Scott's pi, ``"scott_pi"``), ``"gwet_ac1"``
        [G08]_, ``"krippendorff_alpha"`` [K70]_, ``"brennan_prediger"`` [BP81]_ (of two classes the
        prevalence- and bias-adjusted kappa, ``"pabak"`` [BBC93]_), or ``"raw_agreement"``.
    pairs, by, n_resamples, ci_prob, rng
        As in `error_consistency`.
    readers : {"pairs", "all"}
        An entry for each pair, from the items that both read; or for all readers of these pairs at
        once, from all their readings [G14]_.
    no_response : {"drop", "error"}
        Exclude missing readings, or count them as a class, ``(no response)``. Default ``"drop"``:
        an item that was not read says nothing about the reader.
    n_draws : int
        Draws of a Dirichlet process of what all readers say of an item; its prior has the weight of
        two items on which two readers agree two times in three. 0 disables them.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior of the table of two readers by two classes, with ``n11 = n00`` above
        ``n10 = n01``; of more classes ``n11 + n00`` is the weight of equal readings. Default:
        ``(2/3, 1/3, 1/3, 2/3)``.
    cluster : str, optional
        As in `error_consistency`.

    Returns
    -------
    Result
        One entry per pair and group of trials, or per group of trials. Beside the estimate stand
        ``error_consistency`` (of all readers: the mean over the pairs for which it is defined);
        ``n_missing``, readings that are missing of items that another of these readers read (such
        items a pair leaves out; of many readers all readings count); and ``n_minority_ratings``,
        items times the share of readings outside the most frequent class. Of all readers
        ``n_trials`` are items with two readings or more, and both accuracies are the mean over
        readers. ``result.data.attrs["sentence"]`` says how agreement differs from EC.

    Raises
    ------
    TypeError
        If `trials` is something else.
    ValueError
        If the coefficient or an option is unknown, there are fewer than two readers, no common
        items or no classes, or two readers write their readings in other codes.

    Notes
    -----
    The number of classes, by which AC1 and Brennan-Prediger share chance, is that of the classes a
    reading could be (``classes=`` of `alikely.Trials.from_table`), also where nobody gave one.

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
    one_of("coefficient", arguments.pop("coefficient"), tuple(COEFFICIENTS))
    one_of("readers", readers, ("pairs", "all"))
    result = compare(metric=COEFFICIENTS[coefficient], **arguments)
    result.data.attrs["sentence"] = SENTENCE
    return result


def agreement_table(
    trials: Trials,
    coefficients: Sequence[str] = (
        "cohen_kappa",
        "fleiss_kappa",
        "gwet_ac1",
        "krippendorff_alpha",
        "brennan_prediger",
        "raw_agreement",
    ),
    *,
    rng: RandomState = None,
    **options: Any,
) -> pd.DataFrame:
    """Several coefficients of agreement, one below the other.

    Parameters
    ----------
    trials : Trials
        As in `alikely.agreement`.
    coefficients : sequence of str
        As there.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    **options
        As there, such as ``readers="all"``.

    Returns
    -------
    pandas.DataFrame
        ``coefficient`` and the columns of `alikely.Result.summary`.

    Raises
    ------
    TypeError, ValueError
        As from `alikely.agreement`.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(kind="human", condition="noise")
    >>> table = al.estimates.agreement_table(trials, readers="all", n_resamples=0, rng=1)
    >>> table["coefficient"].tolist()[:2]
    ['cohen_kappa', 'fleiss_kappa']
    """
    if isinstance(coefficients, str):
        raise TypeError(
            f"coefficients must be a sequence of names, got {coefficients!r}; give "
            f"[{coefficients!r}]"
        )
    if not coefficients:
        raise ValueError("coefficients must name at least one, got none; leave it out for all")
    frames = [
        agreement(trials, coefficient, rng=rng, **options).summary().assign(coefficient=coefficient)
        for coefficient in coefficients
    ]
    table = pd.concat(frames, ignore_index=True)
    return table[["coefficient", *table.columns.drop("coefficient")]]
