"""Variance components of responses, and the error consistency that they explain.

References
----------
.. [GMS96] Gelman, Meng, Stern (1996). Posterior predictive assessment of model fitness via realized
   discrepancies. Statistica Sinica 6, 733-760.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.checks import of_type
from alikely._base.intervals import CiKind, bound_columns, check_interval
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.data.blocks import LEFT_OUT
from alikely.data.trials import Trials
from alikely.inference.chains import labeled, nuts, with_constants
from alikely.inference.intervals import interval
from alikely.margins.reliability import repeat_cells, repeated_answers
from alikely.margins.tables import alternatives_of
from alikely.metrics.consistency import error_consistency
from alikely.metrics.margins import m_afc_probability

if TYPE_CHECKING:
    from alikely.models._arguments import AskedModel
    from alikely.models._priors import Priors


TUNE = 500
# Thinning of draws: with hundreds of strengths, some r_hat would exceed its limit by chance in
# shorter chains.
THIN = 2
# With this many counts the posterior is nearly normal, and longer steps suffice. With 0.75, 7 of
# 100 simulated experiments had a divergence.
MANY = 4_000
# Variables of tables.
QUANTITIES = {
    "strength": ("item",),
    "strength_mean": (),
    "ability": ("observer",),
    "log_gain": ("observer",),
    "share": ("source",),
}


def fit_observers(
    trials: Trials,
    *,
    kind: str = "human",
    n_alternatives: int | None = None,
    no_response: Literal["error", "drop"] = "error",
    priors: Priors | None = None,
    model: AskedModel = "observer_margins",
    n_draws: int | None = None,
    rng: RandomState = None,
    include: Sequence[str] = (),
) -> xr.DataTree:
    """Fit item strengths and differences between observers, with `models.observer_margins`.

    Parameters
    ----------
    trials : Trials
        Responses of one data set; select it with `alikely.Trials.select`.
    kind : str
        Kind of observer to analyze.
    n_alternatives : int, optional
        Number of response alternatives in the task. Default: the number of classes.
    no_response : {"error", "drop"}
        Whether to count a missing response as an error, or to drop it.
    priors : mapping, optional
        Priors for variables by name, as in `alikely.models.observer_margins`.
    model : "observer_margins" or pymc.Model
        Generative model: the default, or a custom model for the responses, such as an extended
        `alikely.models.observer_margins`. A custom model must define ``strength`` (item),
        ``strength_mean``, ``ability, log_gain`` (observer) and ``share`` (source). With stable
        deviations, a custom model must also define ``stable_sd`` and ``ceiling`` (observer).
    n_draws : int
        Total number of draws from 4 chains.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    include : "all" or sequence of str
        Groups to add, as in `alikely.inference.nuts`. The log likelihood has one value per
        observer and item.

    Returns
    -------
    xarray.DataTree
        As returned by `alikely.inference.nuts`, with the names of the observers. ``constant_data``
        also contains ``correct`` (observer, item, repeat; 1 correct, 0 incorrect, -1 no response)
        and ``dataset, condition`` (item). Attributes are ``components`` and ``n_alternatives``.

    Raises
    ------
    ValueError
        If there are no observers of the requested kind, or the number of alternatives is unknown.
        See also `alikely.models.observer_margins`.
    ValueError
        If a custom model lacks a variable or has a variable of the wrong shape, or if priors are
        also given.

    Warns
    -----
    SamplingWarning
        If the chains did not converge.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> tree = al.fit_observers(trials, rng=1)
    >>> tree.attrs["components"]
    'shared'
    """
    # The subpackage models imports PyMC: only when needed.
    n_draws = resolve("n_draws", n_draws)
    from alikely.models import observer_margins
    from alikely.models._arguments import asked_model, refuse_options
    from alikely.models._priors import check_priors

    check_priors(priors)
    refuse_options(model, {"priors": priors})
    of_type(trials, Trials, "make them with Trials.from_table")
    alternatives = alternatives_of(trials, n_alternatives)
    answers = repeated_answers(trials, kind, no_response)
    correct = answers["correct"].values
    right, shown = (correct == 1).sum(axis=2), (correct != LEFT_OUT).sum(axis=2)
    names = answers["observer"].values
    built = asked_model(
        model,
        {
            "observer_margins": lambda: observer_margins(
                right, shown, n_alternatives=alternatives, priors=priors
            )
        },
        QUANTITIES,
        {"observer": names, "item": answers["item_label"].values},
        [right],
    )
    stable = "stable_sd" in built.named_vars
    accept = 0.85 if right.size >= MANY else 0.9
    tree = nuts(built, n_draws, TUNE, rng, accept, thin=THIN, include=include)
    tree = labeled(tree, observer=names)
    with_constants(tree, answers)
    tree.attrs |= {
        "components": "all" if stable else "shared",
        "n_alternatives": alternatives,
        "n_repeats": correct.shape[2],
    }
    return tree


def variance_fractions(
    tree: xr.DataTree, ci_prob: float | None = None, ci_kind: CiKind | None = None
) -> pd.DataFrame:
    """Compute the fraction of the evidence's variance that is due to each source, with intervals.

    Parameters
    ----------
    tree : xarray.DataTree
        Fit as returned by `fit_observers`.
    ci_prob : float
        Probability level of the intervals, in (0, 1).
    ci_kind : {"eti", "hdi"}
        Kind of the interval: equal-tailed or highest-density.

    Returns
    -------
    pandas.DataFrame
        ``source, median`` and bounds. The sources are the item (shared by all observers), the
        interaction between observer and item (stable over repeats), and trial-by-trial noise.
        Without repeats, the observer-item interaction and the noise cannot be separated and are
        combined.

    Raises
    ------
    ValueError
        If the probability level or the kind is invalid.
    """
    ci_prob = resolve("ci_prob", ci_prob)
    ci_kind = resolve("ci_kind", ci_kind)
    check_interval(ci_prob, ci_kind)
    share = tree["posterior"].to_dataset()["share"]
    draws = share.values.reshape(-1, share.sizes["source"])
    return pd.DataFrame(
        {
            "source": share["source"].values.astype(object),
            "median": np.median(draws, axis=0),
            **bound_columns("", ci_kind, ci_prob, interval(draws, ci_prob, ci_kind)),
        }
    )


def explained_consistency(
    tree: xr.DataTree,
    n_replicates: int = 1_000,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compare observed error consistency with predictions from shared item strengths [GMS96]_.

    Responses are replicated from the fitted generative model, with the same items and observers,
    new stable deviations and new noise. If the observed consistency of a pair exceeds the
    predictions, the two observers have more in common than item strengths.

    Parameters
    ----------
    tree : xarray.DataTree
        Fit as returned by `fit_observers`.
    n_replicates : int
        Number of replicated experiments, each from a posterior draw; at least 2.
    ci_prob : float
        Probability level of the predictive interval, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per pair of observers and, with repeated items, one per observer paired with itself:

        - ``observer_a, observer_b, n_trials``, and ``observed`` error consistency
        - ``predicted`` (median) and bounds
        - ``inside``: whether the observed value lies within the bounds
        - ``p_above``: proportion of replicates above the observed value (ties count half); NaN if
          the observed value is undefined

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    Without repeats, stable deviations are part of the noise, and predictions are valid for pairs of
    observers, but not for an observer paired with itself.
    """
    ci_prob = resolve("ci_prob", ci_prob)
    check_interval(ci_prob, "eti")
    if n_replicates < 2:
        raise ValueError(f"n_replicates must be at least 2, got {n_replicates}")
    generator = np.random.default_rng(seed_sequence(rng))
    answers = tree["constant_data"].to_dataset()
    correct = answers["correct"].values
    shown = correct != LEFT_OUT
    # Without repeats in the model, responses of one observer are not predicted to agree.
    own = tree.attrs["components"] == "all"
    cells = _cells((correct == 1) & shown, shown, own)
    observed = error_consistency(cells)
    draws = tree["posterior"].to_dataset().stack(at=("chain", "draw"))
    chosen = generator.choice(draws.sizes["at"], n_replicates, n_replicates > draws.sizes["at"])
    replicates = np.empty((n_replicates, len(observed)))
    for k, at in enumerate(chosen):
        p = _probabilities(draws.isel(at=at), int(tree.attrs["n_alternatives"]), generator)
        right = (generator.random(correct.shape) < p[:, :, None]) & shown
        replicates[k] = error_consistency(_cells(right, shown, own))
    lower, upper = np.nanquantile(replicates, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
    ties = (replicates == observed).mean(axis=0)
    bounds = np.stack([lower, upper], axis=-1)
    # All pairs, then each observer with itself.
    alone = np.arange(len(correct) if own else 0)
    pairs = np.triu_indices(len(correct), k=1)
    first, second = (np.concatenate([part, alone]) for part in pairs)
    names = answers["observer"].values
    frame = pd.DataFrame(
        {
            "observer_a": names[first],
            "observer_b": names[second],
            "n_trials": cells.sum(axis=1),
            "observed": observed,
            "predicted": np.nanmedian(replicates, axis=0),
            **bound_columns("", "eti", ci_prob, bounds),
            "inside": (lower <= observed) & (observed <= upper),
            "p_above": (replicates > observed).mean(axis=0) + ties / 2,
        }
    )
    frame.loc[np.isnan(observed), "p_above"] = np.nan
    return frame


def _cells(right: NDArray[np.bool_], shown: NDArray[np.bool_], own: bool) -> NDArray[np.int64]:
    """Cells n11, n10, n01, n00: of pairs for the same repeat, of an observer between repeats."""
    first, second = np.triu_indices(len(right), k=1)
    parts = np.stack([right, shown & ~right]).astype(np.float32)
    both = np.tensordot(parts, parts, ([2, 3], [2, 3]))[:, first, :, second].reshape(-1, 4)
    itself = repeat_cells(right, shown).sum(axis=0)[: len(right) if own else 0]
    return np.concatenate([both, itself]).astype(np.int64)


def _probabilities(
    draw: xr.Dataset, n_alternatives: int, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Probability correct by observer and item, with new stable deviations."""
    mean, strength = float(draw["strength_mean"]), draw["strength"].values
    gain = np.exp(draw["log_gain"].values)
    d = mean + draw["ability"].values[:, None] + gain[:, None] * (strength - mean)
    if "stable_sd" in draw:
        d = d + float(draw["stable_sd"]) * generator.standard_normal(d.shape)
    return m_afc_probability(d, n_alternatives)
