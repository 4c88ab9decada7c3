"""The cohort copy model: models that copy random members of a human population.

References
----------
.. [B68] Birnbaum (1968). Some latent trait models and their use in inferring an examinee's
   ability. In: Lord, Novick, Statistical theories of mental test scores.
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [P65] Plackett (1965). A class of bivariate distributions.
   doi:10.1080/01621459.1965.10480807
.. [S48] Skellam (1948). A probability distribution derived from the binomial distribution by
   regarding the probability of success as variable between the sets of trials.
   doi:10.1111/j.2517-6161.1948.tb00014.x
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray

from alikely._base.checks import one_of
from alikely.data.blocks import LEFT_OUT
from alikely.models._parts import (
    averages,
    effects,
    informed,
    informed_zero_sum,
    log_odds,
    spread,
    sums,
    tables_for,
)
from alikely.models._populations import (
    ALIKE,
    KIND_SHARES,
    People,
    Population,
    at_eases,
    curve,
    dispersion,
    drawn,
    exchangeable,
    kappas,
    over_images,
)
from alikely.models._priors import Priors, building

if TYPE_CHECKING:
    from alikely.data.covariates import Covariates

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

    Within a condition, a human responds correctly to a trial with probability ``P``, where
    ``P ~ Beta`` over trials with mean ``human_accuracy``. A model copies a random member of the
    population with probability ``c``; otherwise it responds independently:
    ``P(model correct | P) = right_alone + copy_probability * P``.

    Parameters
    ----------
    counts : xarray.Dataset
        Counts, as returned by `alikely.data.cohort_counts`.
    human_effects : {False, "drawn"}
        How humans differ:

        - False: humans are exchangeable
        - ``"drawn"``: humans are a sample from a population whose members differ in accuracy and in
          which images they find difficult. The responses of models depend on the same easiness of
          images, with a slope ``following`` for each model. Error consistency is given for a new
          member of the population and for the observed humans. Counts must include
          ``who_was_right``.
    covariates : mapping of str to table, optional
        Covariates of each ``"model"`` or ``"condition"``, such as family or year. Covariates affect
        ``level`` (the logit accuracy of models) and ``log_odds_ratio``. A pandas, polars or pyarrow
        table has one row per model or condition, identified by a column of that name or by the
        index.

        - Numeric columns such as ``year`` are centered and have a coefficient per unit, such as
          ``log_odds_ratio_year``.
        - Text, categories and booleans, such as ``family``, have group effects that sum to zero,
          such as ``log_odds_ratio_family`` (family). With three or more groups, the standard
          deviation of the effects is estimated (``log_odds_ratio_family_sd``).
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
        If the counts contain no model, or a prior is invalid, as in `alikely.models.copying`.
    ValueError
    ValueError
        If `human_effects` is ``"drawn"``, but the counts lack ``who_was_right``, a condition has
        only one human, or there are covariates.
    ValueError
        If covariates of a model or condition are missing, or a row does not match any model or
        condition.
    ValueError
        If a covariate is constant, has a separate group for each row, is a linear combination of
        others, or has the name of a variable of the model.
    ValueError
        If a prior is invalid, as in `alikely.models.copying`.

    Notes
    -----
    The number of humans who are correct is beta-binomial [S48]_, and human-human error consistency
    is the intraclass correlation of ``P``. If ``s`` of ``H`` humans are correct, ``P`` has the mean
    ``(mu phi + s)/(phi + H)`` with ``phi = 1/EC - 1``, so a model's probability of a correct
    response is linear in ``s``. The parameters are a model's accuracy and the log odds ratio
    between its response and that of the human it might copy. The accuracies and the odds ratio
    determine the joint probability [P65]_. The parameters are nearly orthogonal, so MCMC chains mix
    well. Unlike in [K25]_, the copy probability can be negative.

    If humans are treated as a sample, human ``h`` responds correctly to an image of easiness
    ``z ~ Normal(0, 1)`` with log odds ``(level + ability[h]) sqrt(1 + 0.346 w**2) + w z``,
    ``w = spread loading[h]`` [B68]_. For a model, the formula for the log odds is the same, with a
    separate ``level`` and ``w = spread following``. If ``following`` is 0, the model responds
    independently; if it is 1, the model has the same slope as humans. Models can be more consistent
    with humans than humans are with one another, which is impossible if models copy humans.
    ``copy_probability`` is the slope of the closest linear function of ``P`` and may exceed 1.
    Abilities are normal and loadings log-normal.

    Examples
    --------
    >>> import alikely as al
    >>> counts = al.data.cohort_counts(al.load_example())
    >>> model = al.models.cohort(counts)
    >>> dict(model.dim_lengths)["model"].eval().item()
    6
    >>> model = al.models.cohort(counts, priors={"level_mean": pm.Normal.dist(1, 1)})

    Families of models, whose effects are named after the column:

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
