"""Patterns of wrong answers: misclassification agreement and class-level error similarity."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray as xr

from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.data.confusions import confusion_trials
from alikely.data.pairs import Pairs
from alikely.data.tables import By
from alikely.data.trials import Trials
from alikely.errors.equal_rows import N_PERMUTATIONS
from alikely.estimates.doors import Ask, analyse, check_numbers, replicates_of
from alikely.estimates.error_kinds import LABELS, ROWS
from alikely.estimates.result import Result
from alikely.inference.sampling import Sampler
from alikely.metrics import Metric
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT
from alikely.metrics.similarity import error_similarity_metric

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd
    from numpy.typing import ArrayLike

    from alikely.models._asked import AskedModel
    from alikely.models._given_priors import Priors

    Confusions = Mapping[str, ArrayLike | pd.DataFrame]

__all__ = ["error_similarity", "misclassification_agreement"]

LOST = "same items, but not which: no interval without the trials"
# What confusion matrices of systems that answered the same items do not tell.
OF_PAIRING = (
    "se",
    "n_joint_errors",
    "expected_divergence",
    "excess_divergence",
    "log_bayes_factor",
    "class_log_bayes_factor",
)


def misclassification_agreement(  # noqa: PLR0913
    trials: Trials | xr.Dataset,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    sampler: Sampler = "auto",
    priors: Priors | None = None,
    model: AskedModel | None = None,
    include: Sequence[str] = (),
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
    n_resamples : int
        Bootstrap replicates; 0 for none.
    n_draws : int
        Posterior draws; 0 for none.
    sampler : {"auto", "exact", "nuts"}
        ``"auto"``: the draws of `agreement_draws`, whose quantiles hold also with
        few joint errors, see Notes. ``"exact"``: the joint posterior of
        `label_draws`, which holds from about 20 joint errors on. ``"nuts"``: the
        copy model of wrong labels, `alikely.models.class_copying`, group by group.
    priors : mapping, optional
        Other priors of that model's variables by name, for ``sampler="nuts"``.
    model : str or pymc.Model, optional
        For ``sampler="nuts"``: a model of your own, of the errors of one group of trials; see
        `alikely.errors.chains.class_copying_draws`.
    include : "all" or sequence of str
        For ``sampler="nuts"``: groups to add to ``result.chains``, as in
        `alikely.inference.extended`.
    cluster : str, optional
        As in `error_consistency`.
    ci_prob : float, optional
        As in `error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same result.

    Returns
    -------
    Result
        One entry per pair and group; with ``sampler="nuts"`` ``result.chains`` has the fits by
        group, for ArviZ. Beside the estimate ``n_joint_errors`` and ``expected``: the
        agreement that the true classes alone would bring about, since some classes invite some
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
    draws of ``"auto"`` take chance over different joint errors, and their median lies above such an
    estimate; analytic intervals and the bootstrap are centred on it.

    Where both give one and the same wrong label throughout, the estimate is undefined and says so;
    the posterior, of labels that others of these errors might have, is wide. Without a joint error
    there is neither. Notes of the summary say where a pair has too few for one school or for all.

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
    ci_prob = resolve("ci_prob", ci_prob)
    n_draws = resolve("n_draws", n_draws)
    n_resamples = resolve("n_resamples", n_resamples)
    ask = Ask(
        pairs=pairs,
        by=by,
        no_response=no_response,
        n_resamples=n_resamples,
        n_draws=n_draws,
        sampler=sampler,
        cluster=cluster,
        ci_prob=ci_prob,
        rng=rng,
        options={"priors": priors, "model": model, "include": include},
    )
    return analyse(trials, MISCLASSIFICATION_AGREEMENT, LABELS, ask)


def error_similarity(  # noqa: PLR0913
    trials: Trials | xr.Dataset | Confusions,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    n_permutations: int = N_PERMUTATIONS,
    paired: bool | None = None,
    folder: str | Path | None = None,
    sampler: Sampler = "auto",
    priors: Priors | None = None,
    model: AskedModel | None = None,
    include: Sequence[str] = (),
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
    n_draws : int
        Posterior draws; 0 for none.
    n_permutations : int
        Of the test of equal rows; 0 for none.
    paired : bool, optional
        For confusion matrices, which do not tell: whether the systems answered the same items. If
        so, there is the estimate alone, since how far the same items make errors alike is lost.
    folder : str or path, optional
        Where chains of pairs are kept, a part at a time, so that a long analysis that was stopped
        goes on there when it is asked for again with the same data, options and seed.
    sampler : {"auto", "exact", "nuts"}
        ``"auto"``: paired rows by Gibbs sweeps, with limits that hold on shared items as on others,
        see Notes. ``"nuts"``: chains, group by group, of the same model of paired rows,
        `alikely.models.paired_errors` (many minutes for some pairs of 16 classes), or of rows
        around a shared base, `alikely.models.error_distributions`, where no two systems of a group
        erred on a common item. ``"exact"``: independent conjugate rows, which
        never come close to equal ones, for systems that saw different items.
    priors : mapping, optional
        Other priors of that model's variables by name, for ``sampler="nuts"``.
    model : str or pymc.Model, optional
        For ``sampler="nuts"``: ``"paired_errors"`` or ``"error_distributions"``, for all groups; or
        a model of your own, of the errors of one group of trials, with what
        `shared_base_draws` asks for. Chosen by the items of each group if not given.
    include : "all" or sequence of str
        For ``sampler="nuts"``: groups to add to ``result.chains``, as in
        `alikely.inference.extended`.
    cluster : str, optional
        As in `error_consistency`.
    ci_prob : float, optional
        As in `error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same result.

    Returns
    -------
    Result
        One entry per pair and group; with ``sampler="nuts"`` ``result.chains`` has the fits by
        group, for ArviZ. The estimate is the similarity; beside it ``divergence``,
        ``expected_divergence`` (what equal observers with as many errors would show: divergences of
        samples are above 0), ``excess_divergence``, ``log_bayes_factor`` (nats; positive for the
        same distribution of errors), ``p_equal`` of a permutation test of equal rows and
        ``p_equal_adjusted`` over all pairs (Benjamini-Hochberg); these take into account on which
        items both erred, and what they agreed on. With ``sampler="auto"`` also ``model_low`` and
        ``model_high``, quantiles of the posterior alone for the `ci_prob` of this call, and
        ``copy_probability``: the share of items on which both erred where one label was a copy of
        the other, NaN where there is no such item. ``result.estimates`` has the divergence and the
        Bayes factor of each class.

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

    Divergences of samples are too large, and no interval that is centred on them makes up for it:
    the bootstrap and the analytic interval are biased further. Their coverage is 0 to 0.98 (nominal
    0.95), and ``log_bayes_factor`` favors equal rows by more than 3 to 1 in 74% of data sets whose
    rows differ. The summary shows these only if they are named, with the reason in the note; report
    ``p_equal_adjusted``. The interval of ``"auto"`` may lie below the divergence that is estimated
    (above the similarity), as it must where systems are alike; its limit is a similarity of exactly
    1 where the data allow that.

    Its limits are the wider, in each tail, of two answers: the posterior of paired error rows
    (`alikely.errors.sweep`), and the divergences at which an estimate as observed would be too
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
    ci_prob = resolve("ci_prob", ci_prob)
    n_draws = resolve("n_draws", n_draws)
    n_draws = resolve("n_draws", n_draws)
    metric = error_similarity_metric()
    ask = Ask(
        pairs=pairs,
        by=by,
        no_response=no_response,
        n_resamples=replicates_of(metric, n_resamples),
        n_draws=n_draws,
        sampler=sampler,
        cluster=cluster,
        ci_prob=resolve("ci_prob", ci_prob),
        rng=rng,
        options={
            "priors": priors,
            "model": model,
            "include": include,
            "n_permutations": n_permutations,
            "folder": folder,
            "paired": paired,
        },
    )
    return compare_rows(trials, metric, ask)


def compare_rows(trials: Any, metric: Metric, ask: Ask) -> Result:
    """Compare error rows of trials, or of confusion matrices alone."""
    options = ask.options
    folder, paired = options.get("folder"), options.get("paired")
    check_numbers(n_permutations=options.get("n_permutations", N_PERMUTATIONS))
    if folder is not None and (ask.rng is None or ask.sampler != "auto"):
        raise ValueError(
            f"folder keeps the sweeps of sampler='auto' of a seed, and sampler is {ask.sampler!r}, "
            f"rng {ask.rng!r}; give a seed, such as rng=1, or leave folder out"
        )
    if not isinstance(trials, Mapping) or isinstance(trials, xr.Dataset):
        if paired is not None:
            raise ValueError(
                "paired goes with confusion matrices; trials tell themselves which items systems "
                "have in common"
            )
        return analyse(trials, metric, ROWS, ask)
    if paired is None:
        raise ValueError(
            "confusion matrices do not tell whether systems answered the same items; say "
            "paired=False if they did not, or paired=True if they did: then there is no interval, "
            "unless you have the trials"
        )
    if paired:
        alone = {**options, "n_permutations": 0}
        ask = dataclasses.replace(ask, n_resamples=0, n_draws=0, options=alone)
    result = analyse(confusion_trials(trials), metric, ROWS, ask)
    return _estimate_alone(result) if paired else result


def _estimate_alone(result: Result) -> Result:
    """A result without all that depends on which items systems had in common."""
    found = result.data.copy()
    estimates = found["estimates"].to_dataset()
    for name in OF_PAIRING:
        estimates[name] = xr.full_like(estimates[name], np.nan, dtype=np.float64)
    remarks = np.full(estimates.sizes["pair"], LOST, dtype=object)
    found["estimates"] = xr.DataTree(estimates.assign(remark=("pair", remarks)))
    found.attrs["pairing"] = "lost"
    return Result(found)
