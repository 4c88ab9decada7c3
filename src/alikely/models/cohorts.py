"""The cohort copy model: machines that copy random members of a human population.

References
----------
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

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray

from alikely.models._effects import DIMS, effects, tables_for
from alikely.models._given_priors import Priors, with_priors
from alikely.models._placed import informed, informed_zero_sum
from alikely.models._populations import (
    ALIKE,
    TINY,
    averages,
    exchangeable,
    individual,
    log_odds,
    spread,
    sums,
)

if TYPE_CHECKING:
    from alikely.data.covariates import Covariates

__all__ = ["cohort", "cohort_layout"]

# What tells entries and rows apart: no part of the density.
PLACES = {
    "machine_of_entry": "entry",
    "condition_of_entry": "entry",
    "entry_of_row": "row",
    "n_humans": "row",
    "n_right": "row",
    "dataset_of_condition": "condition",
}


def cohort(
    counts: xr.Dataset,
    *,
    human_effects: bool = False,
    saturated: bool = False,
    covariates: Covariates | None = None,
    priors: Priors | None = None,
) -> pm.Model:
    """Cohort copy model of machines and humans, every trial used once.

    Within a condition each trial has a probability ``P`` to be answered right by a human,
    ``P ~ Beta`` with mean ``human_accuracy``; a machine copies a random member of that population
    with probability ``c``, else it answers alone:
    ``P(machine right | P) = right_alone + copy_probability * P``.

    Parameters
    ----------
    counts : xarray.Dataset
        As from `alikely.data.cohort_counts`.
    human_effects : bool
        Let humans differ in accuracy: the ease of trials is then logit-normal, and log odds of
        humans differ by effects that sum to zero in each data set. A machine still copies any of
        them alike.
    saturated : bool
        Let each probability of a machine to be right, given how many humans are, depart from the
        line that copying implies, by normal deviates on the logit scale of learned spread
        ``departure_sd``. For comparison with the plain model.
    covariates : mapping of str to table, optional
        What is known of each ``"machine"`` or ``"condition"`` beside the answers (family, year): it
        moves ``level``, the logit accuracy of machines, and their ``log_odds_ratio``. With human
        effects also of each ``"human"``, named as the ``person`` of the counts: it moves
        ``human_effect``. A pandas, polars or pyarrow table has one row for each, named by a column
        that is called so, or by the index. A numeric column such as ``year`` is centred and has a
        coefficient per unit, ``log_odds_ratio_year``; text, categories and booleans such as
        ``family`` have an effect of each group that sum to zero, ``log_odds_ratio_family``
        (family), of a spread ``log_odds_ratio_family_sd`` that is learned from three groups on.
    priors : mapping, optional
        Other priors by name, such as ``{"level_mean": pm.Normal.dist(1, 1)}`` or
        ``{"level_mean": (1, 1)}``, see `alikely.models.with_priors`.

    Returns
    -------
    pymc.Model
        Dims ``condition``, ``dataset``, ``machine``, ``entry`` (machine by condition) and ``row``
        (entry by number of right humans). Data ``shown, right`` and ``n_humans, n_right`` (row),
        ``entry_of_row``, ``machine_of_entry, condition_of_entry`` and ``dataset_of_condition``,
        by which tables of scores know what is what. Deterministics ``human_accuracy`` and
        ``human_error_consistency`` (condition); ``accuracy``, ``right_alone`` (the probability to
        be right where every human is wrong), ``copy_probability`` and ``error_consistency`` with
        a new human (entry). Likelihoods ``human_counts_H`` (condition, number of right humans)
        for each number ``H`` of humans, and ``machine_right`` (row). With covariates of machines
        or conditions also ``log_odds_ratio`` (entry).

    Raises
    ------
    ValueError
        If the counts hold no machine; with human effects, if a human lacks trials; for priors as in
        `alikely.models.with_priors`; for covariates if one of a machine, condition or human is
        missing, a row is of none, a column is constant, has a group for each row, follows from
        others, or takes a name of the model.

    Notes
    -----
    The number of right humans is beta-binomial [S48]_, and human-human error consistency is the
    intraclass correlation of ``P``. Given ``s`` of ``H`` humans right, ``P`` has the mean
    ``(mu phi + s)/(phi + H)`` with ``phi = 1/EC - 1``: a machine is right with a probability that
    is linear in ``s``. A machine's accuracy and the log odds ratio of its answer with that of the
    human it might copy are the parameters; the joint probability follows by [P65]_. They are
    nearly orthogonal, so that chains mix. Signed, as the copy model of [K25]_ is not.

    Examples
    --------
    >>> import alikely as al
    >>> counts = al.data.cohort_counts(al.load_example())
    >>> model = al.models.cohort(counts)
    >>> dict(model.dim_lengths)["machine"].eval().item()
    6
    >>> model = al.models.cohort(counts, priors={"level_mean": pm.Normal.dist(1, 1)})

    Families of machines, whose effects are named after the column:

    >>> table = pd.DataFrame({"family": list("ababcc")}, index=counts["machine"].values)
    >>> model = al.models.cohort(counts, covariates={"machine": table})
    >>> model.named_vars_to_dims["log_odds_ratio_family"]
    ('family',)
    """
    layout = cohort_layout(counts)
    at, entry = layout["condition_of_entry"], layout["entry_of_row"]
    tables = _tables(covariates, counts, human_effects)
    with pm.Model(coords=layout["coords"]) as model:
        by_human = {"human": np.arange(counts.sizes["person"])}
        known = effects("human_effect", tables, by_human, 0.5)
        humans = individual(counts, known) if human_effects else exchangeable(counts)
        shown = pm.Data("shown", layout["shown"], dims="row")
        right = pm.Data("right", layout["right"], dims="row")
        seen = _seen(layout, counts, shown, right)
        accuracy, log_odds_ratio = _machines(layout, seen, tables)
        # The human whose answer might be copied is right with probability mu.
        mu = humans.accuracy[at]
        both = _joint_probability(mu, accuracy, pt.exp(log_odds_ratio))
        alone = pm.Deterministic("right_alone", (accuracy - both) / (1 - mu), dims="entry")
        copying = pm.Deterministic("copy_probability", both / mu - alone, dims="entry")
        pm.Deterministic(
            "error_consistency", humans.consistency(at, copying, accuracy), dims="entry"
        )
        expected = humans.expected[layout["stratum_of_row"]]
        probability = alone[entry] + copying[entry] * expected
        if saturated:
            spread = pm.HalfNormal("departure_sd", 0.5)
            departure = pm.Normal("departure", 0, 1, dims="row")
            probability = pm.math.invlogit(pm.math.logit(probability) + spread * departure)
        pm.Deterministic("row_probability", probability, dims="row")
        for name, dim in PLACES.items():
            pm.Data(name, layout[name], dims=dim)
        pm.Binomial("machine_right", n=shown, p=probability, observed=right, dims="row")
    return with_priors(model, priors)


def cohort_layout(counts: xr.Dataset) -> dict[str, Any]:
    """Flatten cohort counts to the entries and rows of the model.

    Parameters
    ----------
    counts : xarray.Dataset
        As from `alikely.data.cohort_counts`.

    Returns
    -------
    dict
        ``coords`` of the model; positions ``condition_of_entry, machine_of_entry`` (entry),
        ``dataset_of_condition`` (condition) and ``entry_of_row, stratum_of_row`` (row);
        ``n_humans, n_right, shown, right`` (row).

    Raises
    ------
    ValueError
        If the counts hold no machine.
    """
    place = counts["stratum_condition"].values
    shown = counts["shown"].values
    n_conditions = counts.sizes["condition"]
    per_condition = np.zeros((counts.sizes["machine"], n_conditions), dtype=np.int64)
    np.add.at(per_condition.T, place, shown.T)
    machine, condition = np.nonzero(per_condition)
    if not len(machine):
        raise ValueError("the counts hold no machine; check the kinds of the observers")
    number = np.full(per_condition.shape, -1)
    number[machine, condition] = np.arange(len(machine))
    of_stratum = number[:, place]
    row_machine, stratum = np.nonzero(of_stratum >= 0)
    names = counts["machine"].values[machine], counts["condition"].values[condition]
    entries = [f"{m} | {c}" for m, c in zip(*names, strict=True)]
    entry = of_stratum[row_machine, stratum]
    n_right = counts["n_right"].values[stratum]
    n_humans = counts["n_humans"].values[stratum]
    datasets = counts["dataset"].values.tolist()
    names_of_datasets = list(dict.fromkeys(datasets))
    return {
        "coords": {
            "condition": counts["condition"].values.tolist(),
            "dataset": names_of_datasets,
            "machine": counts["machine"].values.tolist(),
            "person": counts["person"].values.tolist(),
            "entry": entries,
            "row": [
                f"{entries[e]} | {s} of {h}"
                for e, s, h in zip(entry, n_right, n_humans, strict=True)
            ],
        },
        "condition_of_entry": condition,
        "machine_of_entry": machine,
        "entry_of_row": entry,
        "stratum_of_row": stratum,
        "dataset_of_condition": np.array([names_of_datasets.index(name) for name in datasets]),
        "n_humans": n_humans,
        "n_right": n_right,
        "shown": shown[row_machine, stratum],
        "right": counts["right"].values[row_machine, stratum],
    }


def _tables(
    covariates: Covariates | None, counts: xr.Dataset, human_effects: bool
) -> dict[str, pd.DataFrame]:
    """Covariates of what has effects in the model."""
    if isinstance(covariates, Mapping) and "human" in covariates and not human_effects:
        raise ValueError(
            "covariates of human need human_effects=True: humans that are alike have no effects"
        )
    of_machines = ("level", "log_odds_ratio")
    tables = tables_for(
        covariates,
        {kind: counts[DIMS[kind]].values.tolist() for kind in DIMS},
        {"machine": of_machines, "condition": of_machines, "human": ("human_effect",)},
        lambda: cohort(counts, human_effects=human_effects, saturated=True),
    )
    for name, column in tables.get("human", pd.DataFrame()).items():
        if (column.groupby(counts["person_dataset"].values, sort=False).nunique() == 1).all():
            raise ValueError(
                f"covariate {name!r} of human is the same for all humans of a data set, within "
                "which their effects sum to zero; leave it out"
            )
    return tables


def _machines(
    layout: dict[str, Any], seen: _Seen, tables: dict[str, pd.DataFrame]
) -> tuple[Any, Any]:
    """Accuracy and log odds ratio of every entry."""
    n = {dim: len(layout["coords"][dim]) for dim in ("machine", "condition", "entry")}
    at = {"machine": layout["machine_of_entry"], "condition": layout["condition_of_entry"]}
    mean, sd = pm.Normal("level_mean", 0, 1.5), spread("level_sd", 0.5, n["entry"])
    sd_condition = spread("level_condition_sd", 1, n["condition"])
    # What an entry shows of what it has in common with others.
    known = 1 / (sd**2 + 1 / seen.level_information)
    there = averages(seen.level, known, at["condition"], n["condition"])
    by_condition = informed("level_condition", mean, sd_condition, *there, "condition")
    expected = by_condition[at["condition"]]
    beside = seen.level - there[0][at["condition"]]
    expected += _effect("level_machine", "machine", n, 1, beside, known, at)
    expected = sum(effects("level", tables, at, 1), expected)
    level = informed("level", expected, sd, seen.level, seen.level_information, "entry")
    accuracy = pm.Deterministic("accuracy", pm.math.invlogit(level), dims="entry")
    sd = pm.HalfNormal("log_odds_ratio_sd", 0.5)
    known = 1 / (sd**2 + 1 / seen.ratio_information)
    expected = pm.Normal("log_odds_ratio_mean", 0, 2)
    for dim, scale in (("machine", 1.5), ("condition", 0.5)):
        expected += _effect(f"log_odds_ratio_{dim}", dim, n, scale, seen.ratio, known, at)
    expected = sum(effects("log_odds_ratio", tables, at, 1.5), expected)
    return accuracy, informed(
        "log_odds_ratio", expected, sd, seen.ratio, seen.ratio_information, "entry"
    )


def _effect(
    name: str,
    dim: str,
    n: dict[str, int],
    scale: float,
    seen: Any,
    information: Any,
    at: dict[str, NDArray[np.intp]],
) -> Any:
    """Effects on entries that sum to zero over a dim; none where there is only one level."""
    if n[dim] == 1:
        return pt.zeros(1)
    sd = spread(f"{name}_sd", scale, n[dim])
    each, known = averages(seen, information, at[dim], n[dim])
    return informed_zero_sum(name, sd, each, known.mean(), dim)[at[dim]]


class _Seen(NamedTuple):
    """What answers of machines show of entries, (entry,), and the inverse of its variance."""

    level: Any
    level_information: Any
    ratio: Any  # log odds ratio with the human that might be copied
    ratio_information: Any


def _seen(layout: dict[str, Any], counts: xr.Dataset, shown: Any, right: Any) -> _Seen:
    """Levels and log odds ratios by moments, from data that may be replaced."""
    entry, stratum = layout["entry_of_row"], layout["stratum_of_row"]
    n_humans = np.maximum(counts["n_humans"].values[stratum], 1)
    share = counts["n_right"].values[stratum] / n_humans

    def total(values: Any) -> Any:
        return sums(values, entry, len(layout["coords"]["entry"]))

    n_trials = total(shown)
    p, q = ((total(part) + 0.5) / (n_trials + 1) for part in (share * shown, right))
    mean, one = total(share * shown) / n_trials, total(shown / n_humans) / n_trials
    even = p * (1 - p)
    # Of the spread of the shares of right humans, what is not chance.
    alike = (total(share**2 * shown) / n_trials - mean**2) / even - one
    alike = pt.clip(alike / pt.maximum(1 - one, TINY), *ALIKE)
    slope = (total(share * right) / n_trials - mean * total(right) / n_trials) / (alike * even)
    low, high = pt.maximum(p + q - 1, 0), pt.minimum(p, q)
    # Chance may carry copying beyond what is possible.
    both = low + (high - low) * pt.clip((p * q + slope * even - low) / (high - low), *ALIKE)
    cells = both, 1 - p - q + both, p - both, q - both
    ratio = pt.log(cells[0]) + pt.log(cells[1]) - pt.log(cells[2]) - pt.log(cells[3])
    # The human is not known, but those who are like it.
    information = n_trials * alike**2 / sum(1 / cell for cell in cells)
    return _Seen(log_odds(q), n_trials * q * (1 - q), ratio, information)


def _joint_probability(p: Any, q: Any, odds_ratio: Any) -> Any:
    """P(both) from both probabilities and the odds ratio [P65]_, without cancellation."""
    excess = odds_ratio - 1
    total = 1 + (p + q) * excess
    root = pt.sqrt(1 + 2 * excess * (p + q - 2 * p * q) + (excess * (p - q)) ** 2)
    positive = total > 0
    # The two forms of the root of the quadratic; each is exact where the other cancels.
    return pt.switch(
        positive,
        2 * odds_ratio * p * q / (pt.switch(positive, total, 1.0) + root),
        (total - root) / (2 * pt.switch(positive, -1.0, excess)),
    )
