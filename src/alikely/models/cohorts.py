"""The cohort copy model: models that copy random members of a human population.

Humans are exchangeable, or a random sample of the population.

References
----------
.. [B68] Birnbaum (1968). Some latent trait models and their use in inferring an examinee's
   ability. In: Lord, Novick, Statistical theories of mental test scores.
.. [BA81] Bock, Aitkin (1981). Marginal maximum likelihood estimation of item parameters:
   application of an EM algorithm. doi:10.1007/BF02293801
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [P65] Plackett (1965). A class of bivariate distributions.
   doi:10.1080/01621459.1965.10480807
.. [S48] Skellam (1948). A probability distribution derived from the binomial distribution by
   regarding the probability of success as variable between the sets of trials.
   doi:10.1111/j.2517-6161.1948.tb00014.x
.. [T82] Thissen (1982). Marginal maximum likelihood estimation for the one-parameter logistic
   model. doi:10.1007/BF02296273
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from scipy import linalg

from alikely._base.arrays import normal_nodes
from alikely._base.checks import one_of
from alikely.data.blocks import LEFT_OUT
from alikely.models._parts import (
    TINY,
    averages,
    effects,
    informed,
    informed_zero_sum,
    log_odds,
    spread,
    sums,
    tables_for,
    tensor_within,
)
from alikely.models._priors import Priors, building

if TYPE_CHECKING:
    from alikely.data.covariates import Covariates

# A logistic curve is nearly a normal one of 1.7 times the width: 1 / 1.7**2.
FLATTENING = 0.346
# Logits of items spread by w have error consistency r with r / (1 - r) about w**2 / ICC.
ICC = 4.6
# Error consistency by moments may be anything; what shapes coordinates stays inside.
ALIKE = (0.05, 0.95)
# Steps of 0.4 of the spread of the images: narrow enough for the information of a dozen humans.
EASES = np.linspace(-4.8, 4.8, 25)
EASE_SHARES = np.exp(-(EASES**2) / 2) / np.exp(-(EASES**2) / 2).sum()
# People of the population, in ability and in loading: scores are off by .0003 where both spread
# by .5, and by .003 where by 1.3.
KINDS, WEIGHTS = normal_nodes(5)
KIND_SHARES = np.outer(WEIGHTS, WEIGHTS).ravel()
# What a trial tells of the logarithm of a loading, about; it shapes coordinates alone.
OF_LOADING = 0.1


class Population(NamedTuple):
    """Quantities of the human population on which the parameters of models depend."""

    accuracy: Any
    consistency: Any
    expected: Any
    share: Any


def _seen(counts: xr.Dataset) -> tuple[dict[int, tuple[NDArray[np.intp], Any]], tuple[Any, ...]]:
    """Add the counts of correct humans to the model, and estimate parameters by their moments."""
    model = pm.modelcontext(None)
    place, n_humans = counts["stratum_condition"].values, counts["n_humans"].values
    data = {}
    # Trials, and sums over them of the share of right humans, its square, and one over humans.
    total = pt.zeros((4, counts.sizes["condition"]))
    for n in np.unique(n_humans[n_humans > 0]).tolist():
        strata = np.flatnonzero(n_humans == n)
        conditions = place[strata].reshape(-1, n + 1)[:, 0]
        dims = (f"condition_{n}", f"right_{n}")
        model.add_coords(
            {dims[0]: counts["condition"].values[conditions], dims[1]: np.arange(n + 1)}
        )
        trials = counts["n_trials"].values[strata].reshape(-1, n + 1)
        data[n] = conditions, pm.Data(f"human_data_{n}", trials, dims=dims)
        share = np.arange(n + 1) / n
        each = np.stack([np.ones(n + 1), share, share**2, np.full(n + 1, 1 / n)])
        total = pt.inc_subtensor(total[:, conditions], pt.dot(each, data[n][1].T))
    return data, _moments(total[0], *(total[i] / total[0] for i in (1, 2, 3)))


def dispersion(n_trials: Any, share: Any, square: Any, one: Any) -> tuple[Any, Any, Any]:
    """Compute the proportion correct of humans, the variance of one response, and consistency."""
    mean = (share * n_trials + 0.5) / (n_trials + 1)
    even = mean * (1 - mean)
    # Shares of right humans spread from as much as by chance to as much as if all were one.
    alike = ((square - share**2) / even - one) / pt.maximum(1 - one, TINY)
    return mean, even, pt.clip(alike, *ALIKE)


def _moments(n_trials: Any, share: Any, square: Any, one: Any) -> tuple[Any, Any, Any, Any]:
    """Levels and consistencies by the numbers of correct humans, each with its information."""
    mean, even, alike = dispersion(n_trials, share, square, one)
    inflated = one + (1 - one) * alike
    # As of a normal variable, from so many trials as would say as much if half were right.
    variance = 2 * (1 - alike) ** 2 * inflated**2 / pt.maximum(one * (1 - one), TINY)
    return (
        log_odds(mean),
        n_trials * even / inflated,
        log_odds(alike),
        (alike * (1 - alike)) ** 2 * 4 * even * n_trials / variance,
    )


def _levels(seen: Any, information: Any, n: int) -> Any:
    """Log odds of a correct human response to a random trial, by condition."""
    mean = pm.Normal("human_level_mean", 0, 1.5)
    sd = spread("human_level_sd", 1, n)
    # Chains that start far off may stay there: a wide spread of items looks like any accuracy.
    return informed("human_level", mean, sd, seen, information, "condition")


def _by_dataset(
    name: str, center: tuple[float, float], counts: xr.Dataset, seen: Any, information: Any
) -> Any:
    """Parameter of each condition around that of its data set."""
    position, names = pd.factorize(counts["dataset"].values)
    # Few conditions a data set say little about whose spread it is: a total and a share mix better.
    total = pm.HalfNormal(f"{name}_sd", 0.5)
    share = pm.Beta(f"{name}_dataset_share", 1, 1)
    mean = pm.Normal(f"{name}_mean", *center)
    of_dataset, of_condition = total * pt.sqrt(share), total * pt.sqrt(1 - share)
    together = averages(seen, 1 / (of_condition**2 + 1 / information), position, len(names))
    shared = informed(f"{name}_dataset", mean, of_dataset, *together, "dataset")
    return informed(
        f"{name}_condition", shared[position], of_condition, seen, information, "condition"
    )


def exchangeable(counts: xr.Dataset) -> Population:
    """Exchangeable humans: the number of humans who are correct is beta-binomial [S48]_."""
    data, (level, level_information, *known) = _seen(counts)
    mu = pm.math.invlogit(_levels(level, level_information, counts.sizes["condition"]))
    alike = pm.math.invlogit(_by_dataset("human_consistency", (0, 1), counts, *known))
    pm.Deterministic("human_accuracy", mu, dims="condition")
    pm.Deterministic("human_error_consistency", alike, dims="condition")
    phi = 1 / alike - 1
    alpha, beta = mu * phi, (1 - mu) * phi
    for n, (conditions, observed) in data.items():
        betabinomial = pm.BetaBinomial.dist(alpha[conditions, None], beta[conditions, None], n)
        pm.Multinomial(
            f"human_counts_{n}",
            n=observed.sum(axis=-1),
            # Logarithms of a certainty may be rounded to more than 0.
            p=tensor_within(pt.exp(pm.logp(betabinomial, np.arange(n + 1)[None]))),
            observed=observed,
            dims=(f"condition_{n}", f"right_{n}"),
        )
    here, n_right, n_humans = (
        counts[name].values for name in ("stratum_condition", "n_right", "n_humans")
    )
    expected = (alpha[here] + n_right) / (phi[here] + n_humans)
    return Population(mu, alike, expected, n_right / np.maximum(n_humans, 1))


class _Layout(NamedTuple):
    """Which persons took part in which conditions."""

    seats: NDArray[np.intp]
    there: NDArray[np.bool_]
    right: NDArray[np.int64]
    group: NDArray[np.intp]
    present: NDArray[np.bool_]
    group_condition: NDArray[np.intp]
    place: NDArray[np.intp]
    slot: NDArray[np.intp]
    contrasts: NDArray[np.float64]
    dataset_of_person: NDArray[np.intp]
    dataset_of_condition: NDArray[np.intp]


class People(NamedTuple):
    """Quantities of a sample of humans on which the parameters of models depend."""

    layout: _Layout
    spread: Any
    posterior: Any
    p_anyone: Any
    p_mean: Any
    p_own: Any
    share: Any


def drawn(counts: xr.Dataset) -> People:
    """Humans as a random sample: a two-parameter logistic model [B68]_."""
    layout = _layout(counts)
    n_trials = pm.Data("human_data", counts["n_trials"].values, dims="stratum")
    right = pm.Data("human_right", layout.right, dims=("stratum", "seat"))
    seen = _seen_of_people(counts, layout, n_trials, right)
    wide = (seen[2] + np.log(ICC)) / 2, 4 * seen[3]
    spread = pt.exp(_by_dataset("human_spread", (np.log(2), 0.5), counts, *wide))
    level = _levels(seen[0], seen[1], counts.sizes["condition"])

    ability_sd = pm.HalfNormal("ability_sd", 0.5)
    loading_sd = pm.HalfNormal("loading_sd", 0.5)
    n_shown, n_own = _totals(counts, layout, n_trials, right)
    p = (n_own + 0.5) / (n_shown + 1)
    told = log_odds(p), n_shown * p * (1 - p)
    ability, of_level = _deviations("ability", ability_sd, layout, *told)
    follows, of_spread = _deviations("loading", loading_sd, layout, 0 * p, OF_LOADING * n_shown)
    here = layout.dataset_of_condition
    pm.Deterministic("ability", ability + of_level[layout.dataset_of_person], dims="person")
    pm.Deterministic(
        "loading", pt.exp(follows + of_spread[layout.dataset_of_person]), dims="person"
    )

    own = curve(
        level[:, None] + ability[layout.seats], spread[:, None] * pt.exp(follows[layout.seats])
    )
    # Levels and spreads are those of the people who answered, means of abilities and of logarithms
    # of loadings: of these the data tell, and chains mix.
    x, y = (axis.ravel() for axis in np.meshgrid(KINDS, KINDS, indexing="ij"))
    anyone = curve(
        (level - of_level[here])[:, None] + ability_sd * x,
        (spread * pt.exp(-of_spread[here]))[:, None] * pt.exp(loading_sd * y),
    )
    p_anyone = pm.math.invlogit(at_eases(anyone))
    p_mean = (KIND_SHARES[:, None] * p_anyone).sum(axis=1)
    log_joint = _log_joint(layout, own, right)
    log_total = pt.logsumexp(log_joint, axis=-1)
    _answers_together(counts, layout, n_trials, log_total)
    p_own = pm.math.invlogit(at_eases(own))
    _of_humans(layout, p_anyone, p_mean, p_own)
    return People(
        layout,
        spread,
        pt.exp(log_joint - log_total[:, None]),
        p_anyone,
        p_mean,
        p_own,
        _right_share(layout, right),
    )


def _right_share(layout: _Layout, right: Any) -> Any:
    """Proportion of the humans who responded that were correct."""
    return right.sum(axis=1) / np.maximum(layout.present.sum(axis=1), 1)[layout.group]


def curve(level: Any, slope: Any) -> tuple[Any, Any]:
    """Log-odds intercept and slope, approximately corrected for averaging over images."""
    return level * pt.sqrt(1 + FLATTENING * slope**2), slope


def at_eases(curve: tuple[Any, Any]) -> Any:
    """Log odds at all quadrature nodes of image easiness, on the last axis."""
    return curve[0][..., None] + curve[1][..., None] * EASES


def _deviations(
    name: str, sd: Any, layout: _Layout, seen: Any, information: Any
) -> tuple[Any, Any]:
    """Deviations of humans from the mean of their data set, and of that from the population."""
    basis = layout.contrasts
    known = (basis**2).T @ information
    free = informed(f"{name}_contrast", 0, sd, basis.T @ seen, known, "contrast")
    n_humans = np.bincount(layout.dataset_of_person)
    mean = pm.Normal(f"{name}_mean_deviate", 0, 1, dims="dataset")
    return pt.dot(basis, free), sd * mean / np.sqrt(n_humans)


def _log_joint(layout: _Layout, own: tuple[Any, Any], right: Any) -> Any:
    """Joint log probability of the responses of a stratum and the easiness of its image."""
    intercept, slope = ((right * part[layout.place]).sum(axis=1) for part in own)
    # All wrong, of those who were there.
    wrong = pt.softplus(at_eases(own))[layout.group_condition]
    nobody = -(wrong * layout.present[:, :, None]).sum(axis=1) + np.log(EASE_SHARES)
    return intercept[:, None] + slope[:, None] * EASES + nobody[layout.group]


def _of_humans(layout: _Layout, p_anyone: Any, p_mean: Any, p_own: Any) -> None:
    """Accuracy of a new human, error consistency of two new ones, and of pairs of these."""
    pm.Deterministic("human_accuracy", over_images(p_mean), dims="condition")
    new = np.outer(KIND_SHARES, KIND_SHARES)
    others = layout.there[:, :, None] & layout.there[:, None, :]
    others &= ~np.eye(others.shape[1], dtype=bool)
    these = others / others.sum(axis=(1, 2), keepdims=True)
    for end, p, weight in (("", p_anyone, new), ("_these", p_own, these)):
        kappa = kappas(p, p, pt.matmul(p * EASE_SHARES, p.swapaxes(1, 2)))
        pm.Deterministic(
            f"human_error_consistency{end}", (weight * kappa).sum(axis=(1, 2)), dims="condition"
        )


def over_images(p: Any) -> Any:
    """Average probabilities at the quadrature nodes over images."""
    return (p * EASE_SHARES).sum(axis=-1)


def kappas(first: Any, second: Any, both: Any) -> Any:
    """Compute error consistency of each first with each second observer: (..., first, second)."""
    a, b = over_images(first)[..., :, None], over_images(second)[..., None, :]
    return 2 * (both - a * b) / (a * (1 - b) + (1 - a) * b)


def _answers_together(counts: xr.Dataset, layout: _Layout, n_trials: Any, log_share: Any) -> None:
    """Frequency of each response pattern among humans who saw the same trials."""
    n_groups = len(layout.present)

    def logp(value: Any, log_share: Any, total: Any) -> Any:
        return pt.sum(value * log_share - pt.gammaln(value + 1)) + pt.sum(pt.gammaln(total + 1))

    def random(log_share: Any, total: Any, rng: np.random.Generator, size: Any = None) -> Any:
        shape = np.shape(log_share) if size is None else (*size, np.shape(log_share)[-1])
        share = np.broadcast_to(np.exp(log_share), shape)
        total = np.broadcast_to(np.asarray(total, dtype=np.int64), (*shape[:-1], n_groups))
        found = np.zeros(shape, dtype=np.int64)
        for k in range(n_groups):
            here = np.flatnonzero(layout.group == k)
            p = share[..., here]
            rest = np.maximum(1 - p.sum(axis=-1, keepdims=True), 0)
            p = np.concatenate([p, rest], axis=-1)
            found[..., here] = rng.multinomial(total[..., k], p / p.sum(-1, keepdims=True))[
                ..., :-1
            ]
        return found

    pm.CustomDist(
        "who_was_right",
        log_share,
        sums(n_trials, layout.group, n_groups),
        logp=logp,
        random=random,
        signature="(s),(g)->(s)",
        dtype="int64",
        class_name="WhoWasRight",
        observed=n_trials,
        dims="stratum",
    )


def _seen_of_people(
    counts: xr.Dataset, layout: _Layout, n_trials: Any, right: Any
) -> tuple[Any, ...]:
    """Moments of the numbers of correct humans, by condition."""
    n_humans = layout.present[layout.group].sum(axis=1)
    share = _right_share(layout, right)
    used = n_trials * (n_humans > 0)
    each = (used, used * share, used * share**2, used / np.maximum(n_humans, 1))
    total = [sums(part, layout.place, counts.sizes["condition"]) for part in each]
    return _moments(total[0], *(part / total[0] for part in total[1:]))


def _totals(counts: xr.Dataset, layout: _Layout, n_trials: Any, right: Any) -> tuple[Any, Any]:
    """Numbers of trials and of correct responses of each person."""
    person = layout.seats[layout.place]
    present = layout.present[layout.group]
    n = counts.sizes["person"]
    taken = np.flatnonzero(present.ravel())

    def by_person(values: Any) -> Any:
        return sums(values.ravel()[taken], person.ravel()[taken], n)

    return by_person(n_trials[:, None] * present), by_person(n_trials[:, None] * right)


def _layout(counts: xr.Dataset) -> _Layout:
    if "answers" not in counts:
        raise ValueError(
            "human_effects='drawn' needs counts by who was correct; make them with "
            "alikely.data.cohort_counts(trials, who_was_right=True)"
        )
    place = counts["stratum_condition"].values
    answers = counts["answers"].values
    shown = counts["human_shown"].values > 0
    people = [np.flatnonzero(shown[:, d]) for d in range(counts.sizes["condition"])]
    width = max(map(len, people))
    there = np.array([[h < len(rows) for h in range(width)] for rows in people])
    seats = np.array([[*rows, *[0] * (width - len(rows))] for rows in people])
    seated = np.where(there[place], np.take_along_axis(answers, seats[place], axis=1), LEFT_OUT)
    present = seated != LEFT_OUT
    groups, group = np.unique(
        np.concatenate([place[:, None], present], axis=1), axis=0, return_inverse=True
    )
    of_condition, datasets = pd.factorize(counts["dataset"].values)
    of_person = pd.Index(datasets).get_indexer(counts["person_dataset"].values)
    alone = np.flatnonzero(there.sum(axis=1) < 2)
    if len(alone):
        name = counts["condition"].values[alone[0]]
        raise ValueError(
            "human_effects='drawn' needs at least 2 humans in each condition, "
            f"{name!r} has {there[alone[0]].sum()}; use human_effects=False"
        )
    pm.modelcontext(None).add_coords(
        {
            "stratum": np.arange(len(place)),
            "seat": np.arange(width),
            "contrast": np.arange(len(of_person) - len(datasets)),
        }
    )
    return _Layout(
        seats,
        there,
        (seated == 1).astype(np.int64),
        group.ravel(),
        groups[:, 1:].astype(bool),
        groups[:, 0],
        place,
        pd.Series(place).groupby(place).cumcount().to_numpy(),
        _contrasts(of_person),
        of_person,
        of_condition,
    )


def _contrasts(group: NDArray[np.intp]) -> NDArray[np.float64]:
    """Orthonormal columns that sum to zero within each group: (person, contrast)."""
    columns = np.zeros((len(group), len(group) - group.max() - 1))
    at = 0
    for k in range(group.max() + 1):
        rows = np.flatnonzero(group == k)
        columns[rows, at : at + len(rows) - 1] = linalg.helmert(len(rows)).T
        at += len(rows) - 1
    return columns


# Bounds of a model's probability of a correct response: sums may round to more than 1.
SURE = 1e-12
# Identifies entries and rows: not part of the density.
PLACES = {
    "model_of_entry": "entry",
    "condition_of_entry": "entry",
    "entry_of_row": "row",
    "n_humans": "row",
    "n_right": "row",
    "dataset_of_condition": "condition",
}


def cohort(
    counts: xr.Dataset,
    *,
    human_effects: Literal["drawn", False] = False,
    covariates: Covariates | None = None,
    priors: Priors | None = None,
) -> pm.Model:
    """Build the cohort copy model, in which models copy random members of a human population.

    Within a condition, a human responds correctly to a trial with probability ``P``, which has a
    beta distribution over trials with mean ``human_accuracy``. A model copies a random member of
    the population with probability ``copy_probability``; otherwise, it responds independently.
    On a trial to which humans respond correctly with probability ``P``, a model is correct with
    probability ``right_alone + copy_probability * P``.

    Parameters
    ----------
    counts : xarray.Dataset
        Counts, as returned by `alikely.data.cohort_counts`.
    human_effects : {False, "drawn"}
        How humans differ:

        - False: humans are exchangeable
        - ``"drawn"``: humans are a sample from a population whose members differ in accuracy and in
          the images that they find difficult. The responses of models and humans depend on the same
          image easiness, with a slope ``following`` for each model. The generative model predicts
          the error consistency of models with the observed humans, and with a new human from the
          same population. The counts must record which humans were correct
          (``who_was_right=True``).
    covariates : mapping of str to table, optional
        Covariates of models (key ``"model"``) or conditions (key ``"condition"``), such as family
        or year. Covariates affect ``level`` (the logit accuracy of models) and ``log_odds_ratio``.
        A pandas, polars or pyarrow table has one row per model or condition, identified by the
        column ``model`` or ``condition``, or by the index.

        - Numeric columns such as ``year`` are centered. Coefficients, such as ``level_year`` and
          ``log_odds_ratio_year``, are changes in ``level`` and ``log_odds_ratio`` per unit of the
          column.
        - For text, categorical and boolean columns, each value has one effect, and the effects sum
          to zero. For the column ``family``, the effects are in ``level_family`` and
          ``log_odds_ratio_family``. If there are three or more families, the standard deviations of
          these effects, such as ``log_odds_ratio_family_sd``, are estimated.
    priors : mapping, optional
        Priors by name, such as ``{"level_mean": pm.Normal.dist(1, 1)}`` or
        ``{"level_mean": (1, 1)}``; see `alikely.models.copying`.

    Returns
    -------
    pymc.Model
        Dims ``condition``, ``dataset``, ``model``, ``entry`` (model by condition) and ``row``
        (entry by number of humans who were correct), and

        - data ``shown``, ``right``, ``n_humans``, ``n_right`` (row)
        - data ``entry_of_row``, ``model_of_entry``, ``condition_of_entry`` and
          ``dataset_of_condition``, which identify entries in tables of scores
        - ``human_accuracy``, ``human_error_consistency`` (condition)
        - ``accuracy`` (entry); ``right_alone`` (entry): probability of a correct response if all
          humans are incorrect
        - ``copy_probability``, ``error_consistency`` (entry), relative to a new human
        - only if `human_effects` is ``"drawn"``: ``error_consistency_these`` (entry) and
          ``human_error_consistency_these`` (condition), both for the observed humans; ``following``
          (entry); ``ability``, ``loading`` (person)
        - only with covariates of models or conditions: ``log_odds_ratio`` (entry)
        - observed variables: ``human_counts_H`` for each number ``H`` of humans, with dims
          condition and number of correct humans; ``model_right``, with dim row; and, if
          `human_effects` is ``"drawn"``, ``who_was_right``, with dim stratum

    Raises
    ------
    ValueError
        If `counts` contains no model. ValueError If `human_effects` is ``"drawn"`` and one of the
        following applies: the counts lack ``who_was_right``, a condition has only one human, or
        there are covariates.
    ValueError
        If covariates of a model or condition are missing, or if a row does not match any model or
        condition.
    ValueError
        If a covariate is constant, has a different category in each row, is a linear combination of
        other covariates, or has the name of a model variable.
    ValueError
        If a prior is invalid (see `alikely.models.copying`).

    Notes
    -----
    The number of humans who are correct is beta-binomial [S48]_, and human-human error consistency
    is the intraclass correlation of this distribution. If ``s`` of ``H`` humans are correct, their
    probability ``P`` of a correct response has posterior mean ``(mu phi + s)/(phi + H)`` with ``mu
    = human_accuracy`` and ``phi = 1/EC - 1``. A model's probability of a correct response is
    therefore linear in ``s``. The parameters are a model's accuracy and the log odds ratio between
    its response and that of the human it might copy. The accuracies and the odds ratio determine
    the joint probability [P65]_. The parameters are nearly orthogonal, so MCMC chains mix well.
    Unlike in [K25]_, the copy probability can be negative.

    If humans are treated as a sample, human ``h`` responds correctly to an image of easiness ``z ~
    Normal(0, 1)`` with log odds ``(level + ability[h]) sqrt(1 + 0.346 w**2) + w z``, where ``w``
    is ``spread`` times ``loading[h]`` [B68]_. A model's log odds at easiness ``z`` are
    ``level sqrt(1 + 0.346 w**2) + w z``, where ``level`` is its logit accuracy and ``w`` is
    ``spread`` times ``following``.
    If ``following`` is 0, the model responds independently of humans; if it is 1, easiness affects
    the model as much as it affects humans. Models can be more consistent with humans than humans
    are with one another, although this would be impossible if models copied humans.
    ``copy_probability`` is the slope of the best linear approximation to the model's probability of
    a correct response as a function of the human probability ``P``, and may exceed 1. Abilities are
    normally distributed, and loadings are log-normal.

    Examples
    --------
    >>> import alikely as al
    >>> counts = al.data.cohort_counts(al.load_example())
    >>> model = al.models.cohort(counts)
    >>> dict(model.dim_lengths)["model"].eval().item()
    6
    >>> model = al.models.cohort(counts, priors={"level_mean": pm.Normal.dist(1, 1)})

    Use the column ``family`` as a covariate for models:

    >>> table = pd.DataFrame({"family": list("ababcc")}, index=counts["model"].values)
    >>> model = al.models.cohort(counts, covariates={"model": table})
    >>> model.named_vars_to_dims["log_odds_ratio_family"]
    ('family',)
    """
    layout = cohort_layout(counts)
    one_of("human_effects", human_effects, (False, "drawn"))
    if human_effects and covariates:
        raise ValueError(
            "human_effects='drawn' has no covariates, since models have no log odds ratio; use "
            "human_effects=False"
        )
    of_models = ("level", "log_odds_ratio")
    tables = tables_for(
        covariates,
        {kind: counts[kind].values.tolist() for kind in ("model", "condition")},
        {"model": of_models, "condition": of_models},
        lambda: cohort(counts),
    )
    with building(priors, layout["coords"]) as model:
        humans = drawn(counts) if human_effects else exchangeable(counts)
        shown = pm.Data("shown", layout["shown"], dims="row")
        right = pm.Data("right", layout["right"], dims="row")
        seen = _seen_of_entries(layout, counts, humans.share, shown, right)
        level = _levels_of_entries(layout, seen, tables)
        if isinstance(humans, People):
            probability = _followers(layout, seen, humans, level)
        else:
            probability = _copiers(layout, seen, humans, level, tables)
        probability = SURE + (1 - 2 * SURE) * probability
        pm.Deterministic("row_probability", probability, dims="row")
        for name, dim in PLACES.items():
            pm.Data(name, layout[name], dims=dim)
        pm.Binomial("model_right", n=shown, p=probability, observed=right, dims="row")
    return model


class _Seen(NamedTuple):
    """Empirical estimates of entries, (entry,), and their inverse variances."""

    level: Any
    level_information: Any
    ratio: Any  # log odds ratio with the human that might be copied
    ratio_information: Any
    alike: Any  # error consistency of humans


def _levels_of_entries(layout: dict[str, Any], seen: _Seen, tables: dict[str, pd.DataFrame]) -> Any:
    """Log odds of a correct response of each entry to a random trial."""
    condition, n_conditions = layout["condition_of_entry"], len(layout["coords"]["condition"])
    mean, sd = pm.Normal("level_mean", 0, 1.5), spread("level_sd", 0.5, len(condition))
    sd_condition = spread("level_condition_sd", 1, n_conditions)
    # What an entry shows of what it has in common with others.
    known = 1 / (sd**2 + 1 / seen.level_information)
    there = averages(seen.level, known, condition, n_conditions)
    expected = informed("level_condition", mean, sd_condition, *there, "condition")[condition]
    alongside = seen.level - there[0][condition]
    expected += _effect("level_model", "model", layout, 1, alongside, known)
    expected = sum(effects("level", tables, _places(layout), 1), expected)
    return informed("level", expected, sd, seen.level, seen.level_information, "entry")


def _shared_of_entries(
    name: str,
    unit: float,
    layout: dict[str, Any],
    seen: tuple[Any, Any],
    tables: dict[str, pd.DataFrame],
) -> Any:
    """Log odds ratios of entries with humans: a mean, and effects of models and conditions."""
    sd = pm.HalfNormal(f"{name}_sd", unit)
    known = 1 / (sd**2 + 1 / seen[1])
    expected = pm.Normal(f"{name}_mean", 0, 4 * unit)
    for dim, scale in (("model", 3 * unit), ("condition", unit)):
        expected += _effect(f"{name}_{dim}", dim, layout, scale, seen[0], known)
    expected = sum(effects(name, tables, _places(layout), 3 * unit), expected)
    return informed(name, expected, sd, *seen, "entry")


def _places(layout: dict[str, Any]) -> dict[str, NDArray[np.intp]]:
    return {dim: layout[f"{dim}_of_entry"] for dim in ("model", "condition")}


def _effect(
    name: str, dim: str, layout: dict[str, Any], scale: float, seen: Any, information: Any
) -> Any:
    """Effects on entries that sum to zero over a dim; none where there is only one level."""
    at, n = layout[f"{dim}_of_entry"], len(layout["coords"][dim])
    if n == 1:
        return pt.zeros(1)
    sd = spread(f"{name}_sd", scale, n)
    each, known = averages(seen, information, at, n)
    return informed_zero_sum(name, sd, each, known.mean(), dim)[at]


def _seen_of_entries(
    layout: dict[str, Any], counts: xr.Dataset, share_of_stratum: Any, shown: Any, right: Any
) -> _Seen:
    """Levels and log odds ratios by moments, from data that may be replaced."""
    entry, stratum = layout["entry_of_row"], layout["stratum_of_row"]
    n_humans = np.maximum(counts["n_humans"].values[stratum], 1)
    share = share_of_stratum[stratum]

    def total(values: Any) -> Any:
        return sums(values, entry, len(layout["coords"]["entry"]))

    n_trials = total(shown)
    mean, square = total(share * shown) / n_trials, total(share**2 * shown) / n_trials
    p, even, alike = dispersion(n_trials, mean, square, total(shown / n_humans) / n_trials)
    q = (total(right) + 0.5) / (n_trials + 1)
    slope = (total(share * right) / n_trials - mean * total(right) / n_trials) / (alike * even)
    low, high = pt.maximum(p + q - 1, 0), pt.minimum(p, q)
    # Chance may carry copying beyond what is possible.
    both = low + (high - low) * pt.clip((p * q + slope * even - low) / (high - low), *ALIKE)
    cells = both, 1 - p - q + both, p - both, q - both
    ratio = pt.log(cells[0]) + pt.log(cells[1]) - pt.log(cells[2]) - pt.log(cells[3])
    # The human is not known, but those who are like it.
    information = n_trials * alike**2 / sum(1 / cell for cell in cells)
    return _Seen(log_odds(q), n_trials * q * (1 - q), ratio, information, alike)


def _followers(layout: dict[str, Any], seen: _Seen, humans: People, level: Any) -> Any:
    """Models that depend on easiness for humans, each with its own slope."""
    at, model = layout["condition_of_entry"], layout["model_of_entry"]
    typical = 2 * (pt.log1p(seen.alike) - pt.log1p(-seen.alike))
    told = seen.ratio / typical, seen.ratio_information * typical**2
    following = _shared_of_entries("following", 0.25, layout, told, {})
    p = pm.math.invlogit(at_eases(curve(level, humans.spread[at] * following)))
    accuracy = pm.Deterministic("accuracy", over_images(p), dims="entry")
    # The line in the probability of a random human that is nearest to the curve.
    mu = over_images(humans.p_mean)[at]
    away = humans.p_mean[at] - mu[:, None]
    copying = over_images((p - accuracy[:, None]) * away) / over_images(away**2)
    pm.Deterministic("copy_probability", copying, dims="entry")
    pm.Deterministic("right_alone", accuracy - copying * mu, dims="entry")
    there = humans.layout.there
    weight = there / there.sum(axis=1, keepdims=True)
    everywhere = np.broadcast_to(KIND_SHARES, (len(there), len(KIND_SHARES)))
    known = (("", humans.p_anyone, everywhere), ("_these", humans.p_own, weight))
    for end, other, share in known:
        one, others = p[:, None, :], other[at]
        kappa = kappas(one, others, over_images(one * others)[:, None, :])[:, 0, :]
        pm.Deterministic(f"error_consistency{end}", (share[at] * kappa).sum(axis=1), dims="entry")
    place, slot = humans.layout.place, humans.layout.slot
    stratum = np.zeros((len(there), slot.max() + 1), dtype=np.intp)
    stratum[place, slot] = np.arange(len(place))
    entry = np.zeros((len(there), model.max() + 1), dtype=np.intp)
    entry[at, model] = np.arange(len(at))
    found = pt.matmul(humans.posterior[stratum], p[entry].swapaxes(1, 2))
    row, of = layout["stratum_of_row"], layout["entry_of_row"]
    return found[place[row], slot[row], model[of]]


def _copiers(
    layout: dict[str, Any],
    seen: _Seen,
    humans: Population,
    level: Any,
    tables: dict[str, pd.DataFrame],
) -> Any:
    """Models that copy a member of the population or respond independently: P(correct) by row."""
    at, entry = layout["condition_of_entry"], layout["entry_of_row"]
    accuracy = pm.Deterministic("accuracy", pm.math.invlogit(level), dims="entry")
    ratio = (seen.ratio, seen.ratio_information)
    log_odds_ratio = _shared_of_entries("log_odds_ratio", 0.5, layout, ratio, tables)
    # The human whose answer might be copied is right with probability mu.
    mu = humans.accuracy[at]
    followed = _joint_probability(mu, accuracy, pt.exp(log_odds_ratio)) / mu
    # Not less the joint probability, of which rounding may leave less than nothing.
    alone = _joint_probability(1 - mu, accuracy, pt.exp(-log_odds_ratio)) / (1 - mu)
    alone = pm.Deterministic("right_alone", alone, dims="entry")
    copying = pm.Deterministic("copy_probability", followed - alone, dims="entry")
    chance = mu * (1 - accuracy) + (1 - mu) * accuracy
    alike = 2 * copying * humans.consistency[at] * mu * (1 - mu) / chance
    pm.Deterministic("error_consistency", alike, dims="entry")
    return alone[entry] + copying[entry] * humans.expected[layout["stratum_of_row"]]


def cohort_layout(counts: xr.Dataset) -> dict[str, Any]:
    """Flatten cohort counts to the entries and rows of the model."""
    place = counts["stratum_condition"].values
    shown = counts["shown"].values
    n_conditions = counts.sizes["condition"]
    per_condition = np.zeros((counts.sizes["model"], n_conditions), dtype=np.int64)
    np.add.at(per_condition.T, place, shown.T)
    model, condition = np.nonzero(per_condition)
    if not len(model):
        raise ValueError("the counts contain no model; check the kinds of the observers")
    number = np.full(per_condition.shape, -1)
    number[model, condition] = np.arange(len(model))
    of_stratum = number[:, place]
    row_model, stratum = np.nonzero(of_stratum >= 0)
    names = counts["model"].values[model], counts["condition"].values[condition]
    entries = [f"{m} | {c}" for m, c in zip(*names, strict=True)]
    entry = of_stratum[row_model, stratum]
    n_right = counts["n_right"].values[stratum]
    n_humans = counts["n_humans"].values[stratum]
    of_condition, datasets = pd.factorize(counts["dataset"].values)
    return {
        "coords": {
            "condition": counts["condition"].values.tolist(),
            "dataset": datasets.tolist(),
            "model": counts["model"].values.tolist(),
            "person": counts["person"].values.tolist(),
            "entry": entries,
            "row": [
                f"{entries[e]} | {what}"
                for e, what in zip(entry, _named(counts, stratum), strict=True)
            ],
        },
        "condition_of_entry": condition,
        "model_of_entry": model,
        "entry_of_row": entry,
        "stratum_of_row": stratum,
        "dataset_of_condition": of_condition,
        "n_humans": n_humans,
        "n_right": n_right,
        "shown": shown[row_model, stratum],
        "right": counts["right"].values[row_model, stratum],
    }


def _named(counts: xr.Dataset, stratum: NDArray[np.intp]) -> list[str]:
    """Identifiers of the strata of a condition: how many humans were correct, or who."""
    if "answers" in counts:
        signs = {LEFT_OUT: "", 0: "-", 1: "+"}
        names = ["".join(signs[x] for x in row) for row in counts["answers"].values.tolist()]
        return [names[s] for s in stratum]
    number, of = counts["n_right"].values[stratum], counts["n_humans"].values[stratum]
    return [f"{s} of {h}" for s, h in zip(number, of, strict=True)]


def _joint_probability(p: Any, q: Any, odds_ratio: Any) -> Any:
    """P(both) from both probabilities and the odds ratio [P65]_, without cancellation."""
    excess = odds_ratio - 1
    total = 1 + (p + q) * excess
    # The discriminant, as a sum of what is not negative on either side of independence.
    below = total**2 - 4 * odds_ratio * excess * p * q
    above = 1 + 2 * excess * (p + q - 2 * p * q) + (excess * (p - q)) ** 2
    root = pt.sqrt(pt.switch(excess < 0, below, above))
    positive = total > 0
    # The two forms of the root of the quadratic; each is exact where the other cancels.
    return pt.switch(
        positive,
        2 * odds_ratio * p * q / (pt.switch(positive, total, 1.0) + root),
        (total - root) / (2 * pt.switch(positive, -1.0, excess)),
    )
