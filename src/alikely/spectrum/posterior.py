"""Posterior of the spectrum: deltas, regimes and their number, each with its uncertainty.

References
----------
.. [LP94] Liu, Pierce (1994). A note on Gauss-Hermite quadrature. doi:10.1093/biomet/81.3.624
.. [VGG17] Vehtari, Gelman, Gabry (2017). Practical Bayesian model evaluation using leave-one-out
   cross-validation and WAIC. doi:10.1007/s11222-016-9696-4
.. [YVSG18] Yao, Vehtari, Simpson, Gelman (2018). Using stacking to average Bayesian predictive
   distributions. doi:10.1214/17-BA1091
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import arviz_stats as azs
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats, normal_nodes
from alikely._base.checks import of_type
from alikely._base.intervals import CiKind, bound_columns, check_interval
from alikely._base.names import listed
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.benchmark.cohorts import (
    chosen_values,
    contrast_table,
    covariate_values,
    effect_at,
)
from alikely.data.covariates import covariate_tables, covariates_dataset
from alikely.inference.chains import nuts
from alikely.inference.complete import check_include, labelled, with_constants
from alikely.inference.intervals import interval
from alikely.models._mixtures import neighbour_probabilities, regime_names

if TYPE_CHECKING:
    from alikely.data.covariates import Covariates
    from alikely.models._asked import AskedModel
    from alikely.models._given_priors import Priors

__all__ = [
    "compare_regimes",
    "condition_log_likelihood",
    "covariate_contrasts",
    "fit_spectrum",
    "regime_probabilities",
]


# Chains pass slowly between groupings of the conditions that explain them alike, of many conditions
# more slowly: one draw in so many is kept.
THIN_OF_FEW, THIN = 4, 8
TARGET_ACCEPT = 0.97
# What tables and pictures are made of.
QUANTITIES = {
    "logit_accuracy": ("condition",),
    "delta": ("condition",),
    "regime_weight": ("regime",),
    "regime_mean": ("regime",),
    "regime_sd": ("regime",),
}
# A few conditions say little about regimes and spreads: the posterior has corners that need short
# steps.
FEW_CONDITIONS, SHORT_STEPS = 20, 0.99
# Importance weights with a heavier tail are decided by a few draws [VGG17].
LARGEST_K = 0.7
# Nodes for the ease of a condition, and for a person in it: enough for 1e-3 of a log likelihood.
NODES = 9, 5
# Newton's method to where the nodes are placed: near enough, as the nodes forgive the rest.
NEWTON_STEPS, PERSON_STEPS, LONGEST_STEP = 12, 4, 1.5


def fit_spectrum(
    spectrum: xr.Dataset,
    k: int = 4,
    *,
    covariates: Covariates | None = None,
    priors: Priors | None = None,
    model: AskedModel = "spectrum",
    n_draws: int | None = None,
    rng: RandomState = None,
    include: Sequence[str] = (),
) -> xr.DataTree:
    """Fit difficulty, its reference and its regimes together, `alikely.models.spectrum`.

    Parameters
    ----------
    spectrum : xarray.Dataset
        As from `alikely.difficulty_spectrum`, of which the counts are used. Observers of different
        data sets are taken for different persons, whatever their names.
    k : int
        Number of regimes, at least 1.
    covariates : mapping of str to table, optional
        What is known of each ``"condition"`` or ``"human"`` (``dataset:observer``) beside the
        answers, as in `alikely.models.spectrum`: regimes are then of the difficulty that it leaves
        open. `alikely.spectrum.covariate_contrasts` tells what it changes.
    priors : mapping, optional
        Other priors of the model's variables by name, as in `alikely.models.spectrum`.
    model : "spectrum" or pymc.Model
        A model of your own for these counts, such as an extended `alikely.models.spectrum`, with
        ``delta, logit_accuracy`` (condition) and ``regime_weight, regime_mean, regime_sd``
        (regime, `k` of them). `compare_regimes` needs ``ability_sd`` and ``interaction_sd``, too.
    n_draws : int
        Total number of draws over 4 chains.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    include : "all" or sequence of str
        Groups to add, as in `alikely.inference.extended`. The log likelihood is of a condition, by
        `condition_log_likelihood` at every draw: single answers say next to nothing of a mixture.

    Returns
    -------
    xarray.DataTree
        As from `alikely.inference.nuts`, with names of conditions and persons
        (``dataset:observer``); ``constant_data`` has besides ``dataset, level`` (condition).
        With covariates ``covariates``: their columns (condition or person). The attribute ``k``.

    Raises
    ------
    ValueError
        As in `alikely.models.spectrum`; if a model of your own lacks a quantity, has it of another
        shape, or is given with priors; or if items came back, since shares are no counts of
        independent answers.

    Warns
    -----
    SamplingWarning
        If the chains did not do what they should.

    Examples
    --------
    >>> import alikely as al
    >>> spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
    >>> tree = al.fit_spectrum(spectrum, k=2, rng=1)
    >>> al.spectrum.regime_probabilities(tree)["regime"].tolist()
    ['regime 2', 'regime 1', 'regime 1']
    """
    # The models' room imports PyMC: only when needed.
    n_draws = resolve("n_draws", n_draws)
    from alikely.models import spectrum as spectrum_model
    from alikely.models._asked import asked_model, refuse_options
    from alikely.models._given_priors import check_priors

    check_priors(priors)
    of_type(spectrum, xr.Dataset, "make one with al.difficulty_spectrum")
    if spectrum.attrs.get("repeats"):
        raise ValueError(
            "items came back, and this model takes one answer to each: choose one with "
            "trials.select(repeat=...) before difficulty_spectrum"
        )
    refuse_options(model, {"priors": priors, "covariates": covariates is not None})
    groups = check_include(include)
    shown = spectrum["shown"].values
    at, observer = np.nonzero(shown)
    names = spectrum["dataset"].values[at] + ":" + spectrum["observer"].values[observer]
    person, persons = pd.factorize(names)
    right = spectrum["right"].values[at, observer]
    seen = shown[at, observer]
    reference = spectrum["is_reference"].values
    conditions = spectrum["condition"].values
    dims = {"condition": ("condition", conditions), "human": ("person", persons)}
    tables = covariate_tables(covariates, {kind: labels for kind, (_, labels) in dims.items()})
    numbered = {kind: table.reset_index(drop=True) for kind, table in tables.items()}
    made = functools.partial(spectrum_model, right, seen, at, person, reference, k)
    built = asked_model(
        model,
        {"spectrum": functools.partial(made, covariates=numbered, priors=priors)},
        QUANTITIES,
        {"condition": conditions, "regime": regime_names(k)},
        [right],
    )
    few = len(shown) < FEW_CONDITIONS
    target, thin = (SHORT_STEPS, THIN_OF_FEW) if few else (TARGET_ACCEPT, THIN)
    by_pymc = [name for name in groups if name != "log_likelihood"]
    tree = nuts(built, n_draws, 1_000, rng, target, thin=thin, include=by_pymc)
    entries = {
        "right": ("entry", right),
        "shown": ("entry", seen),
        "condition_of_entry": ("entry", at),
        "person_of_entry": ("entry", person),
        "is_reference": ("condition", reference),
        **{name: ("condition", spectrum[name].values) for name in ("dataset", "level")},
    }
    with_constants(tree, xr.Dataset(entries))
    tree = labelled(tree, condition=conditions, person=persons)
    if tables:
        tree["covariates"] = covariates_dataset(tables, dims)
    tree.attrs["k"] = k
    if "log_likelihood" in groups:
        found = condition_log_likelihood(tree, n_draws)
        tree["log_likelihood"] = found.to_dataset(name="observed_right")
    return tree


def _entries(tree: xr.DataTree) -> xr.Dataset:
    """The counts behind a fit, and where they stand."""
    if "constant_data" not in tree.children or "person_of_entry" not in tree["constant_data"]:
        raise ValueError("this tree is no fit of a spectrum; make one with alikely.fit_spectrum")
    return tree["constant_data"].to_dataset()


def regime_probabilities(
    tree: xr.DataTree, *, ci_prob: float | None = None, ci_kind: CiKind | None = None
) -> pd.DataFrame:
    """Compute the posterior of each condition's delta, and probabilities of its regimes.

    Parameters
    ----------
    tree : xarray.DataTree
        As from `fit_spectrum`.
    ci_prob : float
        In (0, 1).
    ci_kind : {"eti", "hdi"}
        Equal-tailed or highest-density interval.

    Returns
    -------
    pandas.DataFrame
        One row per condition: ``condition, dataset, level, is_reference, delta`` (posterior mean),
        its bounds ``posterior_{ci_kind}{percent}_lb, ..._ub``, the most probable ``regime``, and
        ``p_...`` of each regime, hardest first: the mean over draws of
        `alikely.models._mixtures.neighbour_probabilities`.

    Raises
    ------
    ValueError
        If `ci_prob` or `ci_kind` is out of range.

    Examples
    --------
    See `fit_spectrum`.
    """
    ci_prob = resolve("ci_prob", ci_prob)
    ci_kind = resolve("ci_kind", ci_kind)
    check_interval(ci_prob, ci_kind)
    posterior, entries = tree["posterior"].to_dataset(), _entries(tree)
    names = regime_names(int(tree.attrs["k"]))
    delta = _flat(posterior["delta"])
    bounds = interval(delta, ci_prob, ci_kind)
    mixture = [_flat(posterior[f"regime_{part}"]) for part in ("weight", "mean", "sd")]
    # Regimes are of what covariates leave open.
    ease = _flat(posterior["logit_accuracy"]) - _told(posterior, "logit_accuracy", delta.shape[1])
    probability = neighbour_probabilities(ease, *mixture).mean(axis=0)
    frame = pd.DataFrame(
        {
            "condition": entries["condition"].values,
            # A tree that no door made has none.
            **{name: entries[name].values for name in ("dataset", "level") if name in entries},
            "is_reference": entries["is_reference"].values,
            "delta": delta.mean(axis=0),
            **bound_columns("posterior", ci_kind, ci_prob, bounds),
            "regime": np.array(names, dtype=object)[probability.argmax(axis=1)],
        }
    )
    for name, column in zip(names, probability.T, strict=True):
        frame[f"p_{name}"] = column
    return frame


def compare_regimes(trees: Mapping[int, xr.DataTree]) -> pd.DataFrame:
    """Compare numbers of regimes by how well each predicts a condition left out [VGG17]_.

    Parameters
    ----------
    trees : mapping of int to xarray.DataTree
        Fits of one spectrum by `fit_spectrum`, by their number of regimes.

    Returns
    -------
    pandas.DataFrame
        Best first: ``n_regimes, elpd`` (nats, over conditions), ``se, p`` (effective parameters),
        ``elpd_diff`` to the best (0 or negative) and ``diff_se``, ``weight`` in the best mixture of
        predictions (stacking [YVSG18]_), and ``pareto_k``, the largest: above 0.7 the leave-one-out
        estimate of a condition is not to be trusted, and the ``note`` names it.

    Raises
    ------
    ValueError
        If there are fewer than two fits, or they are of different conditions.

    Notes
    -----
    A condition is predicted with its ease unknown, drawn from the regimes; of people's abilities is
    known what they showed in other conditions. A difference below
    twice its standard error, or below 4 nats, decides nothing.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.difficulty(5, 4, rng=1)
    >>> reference = [f"distortion_{d}:reference" for d in range(4)]
    >>> spectrum = al.difficulty_spectrum(trials, reference, chance=1 / 16)
    >>> trees = {k: al.fit_spectrum(spectrum, k, n_draws=1_000, rng=1) for k in (1, 2)}
    >>> table = al.spectrum.compare_regimes(trees)
    >>> sorted(table["n_regimes"])
    [1, 2]
    """
    if len(trees) < 2:
        raise ValueError(f"a comparison needs at least 2 fits, got {len(trees)}")
    if len({tuple(_entries(tree)["condition"].values) for tree in trees.values()}) > 1:
        raise ValueError("the fits are of different conditions; fit the same spectrum")
    found = {}
    with warnings.catch_warnings():
        # What the warning says stands in the table, with names.
        warnings.filterwarnings("ignore", "Estimated shape parameter", UserWarning)
        for k, tree in trees.items():
            log_likelihood = condition_log_likelihood(tree)
            kept = _spread(tree, log_likelihood.sizes["draw"])
            groups = {
                "posterior": tree["posterior"].to_dataset().isel(draw=kept)[["regime_mean"]],
                "log_likelihood": log_likelihood.to_dataset(name="right"),
            }
            found[str(k)] = azs.loo(xr.DataTree.from_dict(groups), pointwise=True)
        compared = azs.compare(found, round_to="none").rename(columns={"dse": "diff_se"})
    pareto_k = [found[name].pareto_k for name in compared.index]
    compared = compared.assign(
        n_regimes=compared.index.astype(int),
        elpd_diff=0.0 - compared["elpd_diff"].abs(),
        pareto_k=[float(each.max()) for each in pareto_k],
        note=[_distrust(each) for each in pareto_k],
    )
    names = ["n_regimes", "elpd", "se", "p", "elpd_diff", "diff_se", "weight", "pareto_k", "note"]
    return compared[names].reset_index(drop=True)


def _distrust(pareto_k: xr.DataArray) -> str:
    """Which conditions' leave-one-out estimates are not to be trusted."""
    bad = pareto_k["condition"].values[pareto_k.values > LARGEST_K].tolist()
    if not bad:
        return ""
    return f"uncertain for {len(bad)} influential conditions: {listed(bad, most=3)}"


def condition_log_likelihood(tree: xr.DataTree, n_draws: int = 1_000) -> xr.DataArray:
    """Log likelihood of each condition's answers, its ease integrated over the regimes."""
    posterior, entries = tree["posterior"].to_dataset(), _entries(tree)
    chosen = _spread(tree, max(n_draws // posterior.sizes["chain"], 1))
    draws = posterior.isel(draw=chosen)
    at = entries["condition_of_entry"].values
    right, shown = (entries[name].values.astype(np.float64) for name in ("right", "shown"))
    centre, own = _left_out_people(draws, entries, right, shown)
    mixture = tuple(_flat(draws[f"regime_{part}"]) for part in ("weight", "mean", "sd"))

    def one(entry: NDArray[np.intp]) -> Floats:
        return _integrated(right[entry], shown[entry], centre[:, entry], own[:, entry], *mixture)

    members = [(np.flatnonzero(at == c),) for c in range(entries.sizes["condition"])]
    values = np.stack(list(in_parallel(one, members)), axis=1)
    shape = (draws.sizes["chain"], draws.sizes["draw"], len(members))
    return xr.DataArray(
        values.reshape(shape),
        dims=("chain", "draw", "condition"),
        coords={"chain": draws["chain"], "draw": draws["draw"], "condition": entries["condition"]},
    )


def _left_out_people(
    draws: xr.Dataset, entries: xr.Dataset, right: Floats, shown: Floats
) -> tuple[Floats, Floats]:
    """Mean and spread of each person in each condition, given the others: shape (draw, entry)."""
    person, at = (entries[f"{name}_of_entry"].values for name in ("person", "condition"))
    seen, information = _observed_logit(right, shown)
    spread = _flat(draws["ability_sd"])[:, np.where(entries["is_reference"].values[at], 0, 1)]
    own = _flat(draws["interaction_sd"]) ** 2
    precision = spread**2 / (1 / information + own)
    known = _told(draws, "ability", person.max() + 1)[:, person]
    unexplained = seen - _flat(draws["logit_accuracy"])[:, at] - known
    pull = spread / (1 / information + own) * unexplained
    same = (person[:, None] == person).astype(np.float64) - np.eye(len(person))
    left = 1 + precision @ same
    known = known + _told(draws, "logit_accuracy", at.max() + 1)[:, at]
    return known + spread * (pull @ same) / left, np.sqrt(own + spread**2 / left)


def _told(draws: xr.Dataset, name: str, n: int) -> Floats:
    """What covariates say of n conditions or persons, 0 without: shape (draw, n)."""
    told = draws.get(f"{name}_told")
    return np.zeros((1, n)) if told is None else _flat(told)


def _observed_logit(right: Floats, shown: Floats) -> tuple[Floats, Floats]:
    """Where a logit lies by its counts, and how surely; finite at 0 and 1."""
    share = (right + 0.5) / (shown + 1)
    return special.logit(share), shown * share * (1 - share)


def _integrated(
    right: Floats,
    shown: Floats,
    centre: Floats,
    own: Floats,
    weight: Floats,
    mean: Floats,
    sd: Floats,
) -> Floats:
    """Log likelihood of one condition: counts (entry,), centre and own (draw, entry), mixture."""
    ease, narrowed, deviate = _modes(right, shown, centre, own, mean, sd)
    # Weights that integrate over the line.
    (node, log_weight), (person_node, person_log_weight) = (
        (x, np.log(weight) + x**2 / 2) for x, weight in map(normal_nodes, NODES)
    )
    # Axes: draw, regime, node of the ease, entry, node of the person.
    ease = ease[..., None] + narrowed[..., None] * node
    prior = -(((ease - mean[..., None]) / sd[..., None]) ** 2) / 2 - np.log(sd)[..., None]
    base = ease[..., None] + centre[:, None, None, :]
    spread = own[:, None, None, :]
    deviate, information = _person_modes(right, shown, base, spread, deviate[:, :, None, :])
    tightened = 1 / np.sqrt(1 + spread**2 * information)
    deviate = deviate[..., None] + tightened[..., None] * person_node
    logit = base[..., None] + spread[..., None] * deviate
    log_right = right[:, None] * logit - shown[:, None] * np.logaddexp(0, logit)
    inner = special.logsumexp(log_right - deviate**2 / 2 + person_log_weight, axis=-1)
    inner += np.log(tightened)
    outer = special.logsumexp(prior + inner.sum(axis=-1) + log_weight, axis=-1)
    by_regime = outer + np.log(narrowed)
    ways = special.gammaln(shown + 1) - special.gammaln(right + 1)
    ways -= special.gammaln(shown - right + 1)
    return np.asarray(special.logsumexp(np.log(weight) + by_regime, axis=1) + ways.sum())


def _modes(
    right: Floats, shown: Floats, centre: Floats, own: Floats, mean: Floats, sd: Floats
) -> tuple[Floats, Floats, Floats]:
    """Most probable ease in each regime, its spread (draw, regime), and people (..., entry)."""
    ease, base = mean, centre[:, None, :]
    spread = own[:, None, :]
    deviate = np.zeros((*mean.shape, len(right)))
    for _ in range(NEWTON_STEPS):
        deviate, information = _person_modes(right, shown, ease[..., None] + base, spread, deviate)
        p = special.expit(ease[..., None] + base + spread * deviate)
        slope = (right - shown * p).sum(axis=-1) - (ease - mean) / sd**2
        curvature = (information / (1 + spread**2 * information)).sum(axis=-1) + 1 / sd**2
        # From where nearly all or nothing is right a whole step would jump too far.
        ease = ease + np.clip(slope / curvature, -LONGEST_STEP, LONGEST_STEP)
    return ease, 1 / np.sqrt(curvature), deviate


def _person_modes(
    right: Floats, shown: Floats, base: Floats, spread: Floats, deviate: Floats
) -> tuple[Floats, Floats]:
    """Most probable deviate of each person by Newton's method, and the information there."""
    longest = LONGEST_STEP / np.maximum(spread, 1e-6)
    for _ in range(PERSON_STEPS):
        p = special.expit(base + spread * deviate)
        slope = spread * (right - shown * p) - deviate
        step = slope / (1 + spread**2 * shown * p * (1 - p))
        deviate = deviate + np.clip(step, -longest, longest)
    p = special.expit(base + spread * deviate)
    return deviate, shown * p * (1 - p)


def _spread(tree: xr.DataTree, n_kept: int) -> NDArray[np.intp]:
    """Positions of draws of a chain, evenly spread."""
    n = tree["posterior"].sizes["draw"]
    return np.unique(np.linspace(0, n - 1, min(n_kept, n)).round().astype(np.intp))


def _flat(values: xr.DataArray) -> Floats:
    """Draws of all chains, one after the other: shape (draw, ...)."""
    array = np.asarray(values.values, dtype=np.float64)
    flat = array.reshape(-1, *array.shape[2:])
    return flat if flat.ndim > 1 else flat[:, None]


def covariate_contrasts(
    tree: xr.DataTree,
    covariate: str,
    values: Sequence[Any] | None = None,
    *,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
) -> pd.DataFrame:
    """Tabulate differences that a covariate makes to difficulty or ability.

    Parameters
    ----------
    tree : xarray.DataTree
        As from `alikely.fit_spectrum` with covariates.
    covariate : str
        Column of conditions or humans.
    values : sequence, optional
        Groups, or numbers for a numeric column; all groups if not given, or the highest and the
        lowest number of the table.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        Intervals.

    Returns
    -------
    pandas.DataFrame
        One row per quantity and pair of values: ``quantity, value, other, difference`` (posterior
        mean of the first minus the other), its bounds, and ``p_positive``. The quantity is, of
        conditions, ``logit_accuracy`` of an average person, and ``delta``, the same in units of the
        reference (``reference_sd``); of humans ``ability``, log odds to be right.

    Raises
    ------
    ValueError
        If the fit has no such covariate, the covariate no such value, or an interval is unknown.

    Examples
    --------
    >>> import alikely as al
    >>> spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
    >>> table = pd.DataFrame({"strength": [0.0, 1.0, 3.0]}, index=spectrum["condition"].values)
    >>> tree = al.fit_spectrum(spectrum, 1, covariates={"condition": table}, rng=1)
    >>> covariate_contrasts(tree, "strength", [3, 0])["quantity"].tolist()
    ['logit_accuracy', 'delta']
    """
    column = covariate_values(tree, covariate)
    posterior = tree["posterior"].to_dataset()
    quantity = "logit_accuracy" if column.dims == ("condition",) else "ability"
    effect = posterior[f"{quantity}_{covariate}"]
    chosen = chosen_values(effect, column, values)
    draws = {quantity: effect_at(effect, column, chosen)}
    if quantity == "logit_accuracy":
        draws["delta"] = draws[quantity] / posterior["reference_sd"].values[..., None]
    dataset = xr.Dataset(
        {name: (("chain", "draw", covariate), values) for name, values in draws.items()},
        coords={covariate: chosen},
    )
    return contrast_table(dataset, covariate, ci_prob, ci_kind)
