"""Patterns of wrong answers: misclassification agreement and class-level error similarity."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.random import RandomState
from alikely.data.confusions import confusion_trials
from alikely.data.pairs import Pairs
from alikely.data.tables import By
from alikely.data.trials import Trials
from alikely.errors.agreement import agreement_draws
from alikely.errors.chains import class_copying_draws, shared_base_draws
from alikely.errors.draws import chained, label_draws, row_draws
from alikely.errors.equal_rows import N_PERMUTATIONS, equality
from alikely.errors.limits import UNBOUNDED
from alikely.errors.paired_chains import paired_chain_draws
from alikely.errors.paired_draws import paired_row_draws
from alikely.errors.tables import agreement_of_classes, class_comparison, error_counts
from alikely.estimates.consistency import counted
from alikely.estimates.doors import Ask, Drawn, Found, Kind, analyse, check_numbers, model_name
from alikely.estimates.result import Result
from alikely.inference.sampling import Sampler
from alikely.metrics import MISCLASSIFICATION_AGREEMENT, Metric, error_similarity_metric
from alikely.metrics.rows import Mixture
from alikely.stats.intervals import CiKind, interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    from numpy.typing import ArrayLike

    from alikely.models._asked import AskedModel
    from alikely.models._given_priors import Priors

    Confusions = Mapping[str, ArrayLike | pd.DataFrame]

__all__ = ["LABELS", "ROWS", "error_similarity", "misclassification_agreement"]

# Options of the models that chains sample.
FOR_CHAINS = ("priors", "model", "include")
HELD = "independent rows hold similarity down: use sampler='auto'"
# Joint errors of a pair below which no posterior holds, and below which the exact one does not.
TOO_FEW, FEW = 3, 20
# Where all trials are joint errors their number was chosen, and below this one the coverage of a
# share of so many swings down to .87 (exact, for Jeffreys' prior); over random numbers it does not.
CHOSEN = 40
# Models of rows that chains sample: of systems with common items, and of others.
PAIRED, SHARED_BASE = "paired_errors", "error_distributions"
# Above, chains of a pair may not have seen all of its posterior.
R_HAT = 1.1
NOT_MET = "chains have not met"
# Draws beyond a limit, below which the outermost are not far enough out.
BEYOND = 2.5
FEW_DRAWS = "too few draws: limits are too narrow"
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


def misclassification_agreement(
    trials: Trials | xr.Dataset,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int = 10_000,
    n_draws: int = 4_000,
    sampler: Sampler = "auto",
    priors: Priors | None = None,
    model: AskedModel | None = None,
    include: Sequence[str] = (),
    cluster: str | None = None,
    ci_prob: float = 0.95,
    ci_kind: CiKind = "eti",
    rng: RandomState = None,
    progressbar: bool | None = None,
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
        ``"auto"``: the draws of `alikely.errors.agreement_draws`, whose quantiles hold also with
        few joint errors, see Notes. ``"exact"``: the joint posterior of
        `alikely.errors.label_draws`, which holds from about 20 joint errors on. ``"nuts"``: the
        copy model of wrong labels, `alikely.models.class_copying`, group by group.
    priors : mapping, optional
        Other priors of that model's variables by name, for ``sampler="nuts"``.
    model : str or pymc.Model, optional
        For ``sampler="nuts"``: a model of your own, of the errors of one group of trials; see
        `alikely.errors.class_copying_draws`.
    include : "all" or sequence of str
        For ``sampler="nuts"``: groups to add to ``result.chains``, as in
        `alikely.inference.extended`.
    cluster : str, optional
        As in `error_consistency`.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        As in `error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same result.
    progressbar : bool, optional
        Show the progress of Markov chains; if not given, on a terminal and in notebooks.

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
       decision-making systems. doi:10.1609/aaai.v39i26.34974

    Examples
    --------
    >>> import alikely as al
    >>> result = al.misclassification_agreement(al.load_example(), "human-human", rng=1)
    >>> result.summary()[["estimate", "expected", "n_joint_errors"]].shape
    (18, 3)
    """
    ask = Ask(
        pairs=pairs,
        by=by,
        no_response=no_response,
        n_resamples=n_resamples,
        n_draws=n_draws,
        sampler=sampler,
        cluster=cluster,
        ci_prob=ci_prob,
        ci_kind=ci_kind,
        rng=rng,
        progressbar=progressbar,
        options={"priors": priors, "model": model, "include": include},
    )
    return analyse(trials, MISCLASSIFICATION_AGREEMENT, LABELS, ask)


def error_similarity(
    trials: Trials | xr.Dataset | None = None,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    alpha: float = 0.5,
    mixture: Mixture = "mean",
    base: float = 2,
    n_resamples: int = 10_000,
    n_draws: int = 4_000,
    n_permutations: int = N_PERMUTATIONS,
    confusions: Confusions | None = None,
    paired: bool | None = None,
    folder: str | Path | None = None,
    sampler: Sampler = "auto",
    priors: Priors | None = None,
    model: AskedModel | None = None,
    include: Sequence[str] = (),
    cluster: str | None = None,
    ci_prob: float = 0.95,
    ci_kind: CiKind = "eti",
    rng: RandomState = None,
    progressbar: bool | None = None,
) -> Result:
    """Class-level error similarity of pairs of observers: do they mistake the same for the same.

    For each true class the distributions of both observers' wrong answers are compared, whether or
    not they err on the same trials. Their mean divergence (CLED) gives the similarity (CLES),
    ``1 / (1 + CLED)`` [X25]_. Observers of different stimuli can be compared: no common trial is
    needed, only common classes.

    Parameters
    ----------
    trials : Trials or xarray.Dataset, optional
        Responses with class labels; or a table from `alikely.data.joint_correctness` with
        ``labels=True``. Leave it out if there are only `confusions`.
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
    n_permutations : int
        Of the test of equal rows; 0 for none.
    confusions : mapping of str to array_like or pandas.DataFrame, optional
        In place of trials: for each system its confusion matrix, counts of true classes (rows) by
        answers (columns).
    paired : bool, optional
        Goes with `confusions`, which do not tell: whether the systems answered the same items. If
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
        `alikely.errors.shared_base_draws` asks for. Chosen by the items of each group if not given.
    include : "all" or sequence of str
        For ``sampler="nuts"``: groups to add to ``result.chains``, as in
        `alikely.inference.extended`.
    cluster : str, optional
        As in `error_consistency`.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        As in `error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same result.
    progressbar : bool, optional
        Show the progress of Markov chains; if not given, on a terminal and in notebooks.

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
        If `trials` is neither, and there are no `confusions`.
    ValueError
        If an option is invalid, there are no class labels, or the trials or matrices do not allow
        the comparison; the message says why.

    Notes
    -----
    Divergences of samples are too large, and no interval that is centred on them makes up for it:
    the bootstrap and the analytic interval resample what is too large already. The interval of
    ``"auto"`` may lie below the divergence that is estimated (above the similarity), as it must
    where systems are alike; its limit is a similarity of exactly 1 where the data allow that.

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
       decision-making systems. doi:10.1609/aaai.v39i26.34974

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> result = al.error_similarity(trials, "human-human", rng=1)
    >>> result.summary()[["estimate", "divergence", "expected_divergence"]].shape
    (6, 3)
    """
    if confusions is not None:
        trials = _of_confusions(trials, confusions, paired)
    elif paired is not None:
        raise ValueError(
            "paired goes with confusions; trials tell themselves which items systems have in common"
        )
    if folder is not None and (rng is None or sampler != "auto"):
        raise ValueError(
            f"folder keeps the sweeps of sampler='auto' of a seed, and sampler is {sampler!r}, rng "
            f"{rng!r}; give a seed, such as rng=1, or leave folder out"
        )
    check_numbers(n_permutations=n_permutations)
    lost = bool(paired)
    ask = Ask(
        pairs=pairs,
        by=by,
        no_response=no_response,
        n_resamples=0 if lost else n_resamples,
        n_draws=0 if lost else n_draws,
        sampler=sampler,
        cluster=cluster,
        ci_prob=ci_prob,
        ci_kind=ci_kind,
        rng=rng,
        progressbar=progressbar,
        options={
            "priors": priors,
            "model": model,
            "include": include,
            "n_permutations": 0 if lost else n_permutations,
            "folder": folder,
        },
    )
    result = analyse(trials, error_similarity_metric(alpha, mixture, base), ROWS, ask)
    return _estimate_alone(result) if lost else result


def _of_confusions(trials: Any, confusions: Confusions, paired: bool | None) -> Trials:
    if trials is not None:
        raise ValueError("give trials or confusions, not both: trials hold all that matrices do")
    if paired is None:
        raise ValueError(
            "confusion matrices do not tell whether systems answered the same items; say "
            "paired=False if they did not, or paired=True if they did: then there is no interval, "
            "unless you have the trials"
        )
    return confusion_trials(confusions)


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


def _with_labels(trials: Any, metric: Metric, ask: Ask, *, disjoint: bool) -> xr.Dataset:
    given = [name for name in FOR_CHAINS if ask.options.get(name)]
    if given and ask.sampler != "nuts":
        raise ValueError(
            f"{given[0]} is of the model that chains sample, and sampler is {ask.sampler!r}: use "
            "sampler='nuts'"
        )
    table = counted(trials, metric, ask, labels=True, disjoint=disjoint)
    if "response" not in table:
        raise ValueError(
            "this table holds correctness only, and wrong answers are compared by their class; "
            "count it with joint_correctness(..., labels=True), or use error_consistency"
        )
    if table.sizes["class"] < 3:
        raise ValueError(
            f"with {table.sizes['class']} classes a wrong answer can only be the other one: there "
            "is nothing to compare; use error_consistency"
        )
    return table


def _for_chains(ask: Ask) -> dict[str, Any]:
    return {name: value for name in FOR_CHAINS if (value := ask.options.get(name))}


def _beside_labels(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Found:
    found = agreement_of_classes(table)
    return Found(
        {name: found[name] for name in ("n_joint_errors", *metric.beside) if name in found}
    )


def _draw_labels(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Drawn:
    # The copy model takes every pair for itself.
    chains = ask.sampler == "nuts"
    fits: dict[str, xr.DataTree] = {}
    if chains:
        draws, fits = class_copying_draws(
            table, ask.n_draws, metric, seed, ask.progressbar, **_for_chains(ask)
        )
    else:
        draw = label_draws if ask.sampler == "exact" else agreement_draws
        draws = draw(table, ask.n_draws, metric, seed)
    posterior = chained(draws, table, metric, ask.sampler, joint=not chains)
    return Drawn({"posterior": posterior}, _few_joint_errors(table, ask.sampler), fits)


def _few_joint_errors(table: xr.Dataset, sampler: Sampler) -> NDArray[np.object_]:
    """What to know of posteriors of pairs with few joint errors."""
    cells = table["cells"].values
    number = cells[:, 3]
    remarks = np.full(len(number), "", dtype=object)
    remarks[(number == cells.sum(axis=1)) & (number < CHOSEN)] = (
        f"fewer than {CHOSEN} trials, joint errors all: 95 % may hold in .87"
    )
    if sampler == "exact":
        remarks[number < FEW] = "few joint errors: use sampler='auto'"
    remarks[number < TOO_FEW] = f"fewer than {TOO_FEW} joint errors: no interval holds"
    remarks[number == 0] = ""
    return remarks


def _beside_rows(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Found:
    if "divergence" not in metric.beside:
        return Found(error_counts(table))
    found = class_comparison(table, **metric.options)
    told = equality(table, metric, ask.options.get("n_permutations", N_PERMUTATIONS), seed)
    by_class = ("pair", "class"), told.pop("class_log_bayes_factor")
    found |= {name: ("pair", values) for name, values in told.items()}
    excess = found["divergence"][1] - told["expected_divergence"]
    return Found(
        found | {"class_log_bayes_factor": by_class, "excess_divergence": ("pair", excess)}
    )


def _draw_rows(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Drawn:
    if ask.sampler == "auto":
        return _draw_paired(table, metric, ask, seed)
    if ask.sampler == "nuts":
        return _draw_chains(table, metric, ask, seed)
    draws = row_draws(table, ask.n_draws, rng=seed, **metric.options)
    low = np.quantile(draws, 0.975, axis=0) < estimates["estimate"].values
    remarks = np.where(low, HELD, "").astype(object)
    return Drawn({"posterior": chained(draws, table, metric, ask.sampler)}, remarks)


def _draw_chains(
    table: xr.Dataset, metric: Metric, ask: Ask, seed: np.random.SeedSequence
) -> Drawn:
    """Each group by the model asked for; else by that of its items, shared or not."""
    from alikely.models._asked import is_named

    asked = ask.options.get("model")
    own = asked is not None and not is_named(asked, (PAIRED, SHARED_BASE))
    group = table["pair_group"].values
    paired = np.isin(group, group[table["cells"].values[:, 3] > 0])
    if asked is not None:
        paired[:] = asked == PAIRED if isinstance(asked, str) else False
    options = {
        "n_draws": ask.n_draws,
        "mixture": metric.options["mixture"],
        "base": metric.options["base"],
        "progressbar": ask.progressbar,
        **{name: value for name, value in _for_chains(ask).items() if name != "model"},
    }
    draws = np.full((4 * -(-ask.n_draws // 4), len(group)), np.nan, dtype=np.float32)
    fits: dict[str, xr.DataTree] = {}
    for here, draw in (
        (paired, paired_chain_draws),
        (~paired, functools.partial(shared_base_draws, model=asked if own else SHARED_BASE)),
    ):
        if here.any():
            part = draw(table.isel(pair=np.flatnonzero(here)), rng=seed.spawn(1)[0], **options)
            draws[:, here] = part.values
            fits |= part.fits
    names = [
        name for name, some in ((PAIRED, paired.any()), (SHARED_BASE, not paired.all())) if some
    ]
    return Drawn(
        {"posterior": chained(draws, table, metric, ask.sampler)},
        fits=fits,
        model=model_name(asked) if own else " and ".join(names),
    )


def _draw_paired(
    table: xr.Dataset, metric: Metric, ask: Ask, seed: np.random.SeedSequence
) -> Drawn:
    # Four chains of equal length, as all results have.
    n_draws = 4 * -(-ask.n_draws // 4)
    drawn = paired_row_draws(
        table, n_draws, metric, seed, ask.cluster or None, ask.options.get("folder")
    )
    sides = interval(
        drawn.model[metric.name].values.reshape(-1, table.sizes["pair"]), ask.ci_prob, "eti"
    )
    remarks = [
        "; ".join(_remarks(r_hat, bounded, ask.ci_prob, n_draws))
        for r_hat, bounded in zip(drawn.r_hat, drawn.bounded, strict=True)
    ]
    copying = drawn.model["copy_probability"].mean(("chain", "draw")).values
    beside = {"model_low": sides[:, 0], "model_high": sides[:, 1], "copy_probability": copying}
    return Drawn(
        {
            "posterior": chained(drawn.values, table, metric, "gibbs"),
            "rows": drawn.model,
            "populations": drawn.populations,
        },
        np.array(remarks, dtype=object),
        variables={name: ("pair", values) for name, values in beside.items()},
    )


def _remarks(r_hat: float, bounded: float, ci_prob: float, n_draws: int) -> list[str]:
    """What cannot be trusted about the interval of a pair."""
    found = [f"{NOT_MET} (r_hat {r_hat:.2f})"] if r_hat > R_HAT else []
    found += [FEW_DRAWS] if n_draws * (1 - ci_prob) / 2 < BEYOND else []
    return found + ([UNBOUNDED] if bounded < (1 + ci_prob) / 2 else [])


def _model_name(ask: Ask, of_chains: str, exact: str) -> str:
    return model_name(ask.options.get("model") or of_chains) if ask.sampler == "nuts" else exact


LABELS = Kind(
    lambda trials, metric, ask: _with_labels(trials, metric, ask, disjoint=False),
    _beside_labels,
    _draw_labels,
    lambda metric, ask: _model_name(
        ask, "class_copying", "labels" if ask.sampler == "exact" else "distinct_labels"
    ),
    FOR_CHAINS,
)
ROWS = Kind(
    lambda trials, metric, ask: _with_labels(trials, metric, ask, disjoint=True),
    _beside_rows,
    _draw_rows,
    lambda metric, ask: "independent_rows" if ask.sampler == "exact" else PAIRED,
    (*FOR_CHAINS, "n_permutations", "folder"),
)
