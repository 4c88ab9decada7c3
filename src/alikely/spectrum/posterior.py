"""Posterior of the spectrum: deltas and regimes, with their uncertainty."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.intervals import bound_columns
from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.data.covariates import covariate_tables, covariates_dataset
from alikely.inference.chains import labeled, nuts, with_constants
from alikely.inference.intervals import interval
from alikely.models._mixtures import neighbour_probabilities, regime_names

if TYPE_CHECKING:
    from alikely.data.covariates import Covariates
    from alikely.models._arguments import AskedModel
    from alikely.models._priors import Priors


# Thinning: chains move slowly between groupings of conditions with similar likelihoods, and more
# slowly with many conditions.
THIN_OF_FEW, THIN = 4, 8
TARGET_ACCEPT = 0.97
# Variables that tables and figures need, and their dimensions.
QUANTITIES = {
    "logit_accuracy": ("condition",),
    "delta": ("condition",),
    "regime_weight": ("regime",),
    "regime_mean": ("regime",),
    "regime_sd": ("regime",),
}
# Few conditions determine regimes and their spreads poorly: the posterior has narrow regions that
# need short steps.
FEW_CONDITIONS, SHORT_STEPS = 20, 0.99


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
    """Fit a joint model of the difficulty of conditions, the reference and the regimes.

    Parameters
    ----------
    spectrum : xarray.Dataset
        As returned by `alikely.difficulty_spectrum`; only its counts are used. Observers in
        different data sets are treated as different people, even if they have the same name.
    k : int
        Number of regimes, at least 1.
    covariates : mapping of str to table, optional
        Covariates of each ``"condition"`` or ``"human"`` (``dataset:observer``), as in
        `alikely.models.spectrum`. Regimes then describe the difficulty that covariates do not
        explain.
    priors : mapping, optional
        Priors for the model's variables by name, as in `alikely.models.spectrum`.
    model : "spectrum" or pymc.Model
        Generative model of the counts: `alikely.models.spectrum` (the default) or a custom model,
        such as an extension of the default. A custom model must define the variables ``delta,
        logit_accuracy`` (condition) and ``regime_weight, regime_mean, regime_sd`` (regime, `k` of
        them).
    n_draws : int
        Total number of draws from 4 chains.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    include : "all" or sequence of str
        Groups to add, as in `alikely.inference.nuts`.

    Returns
    -------
    xarray.DataTree
        As returned by `alikely.inference.nuts`, with names of conditions and persons
        (``dataset:observer``). ``constant_data`` also contains ``dataset, level`` (condition). With
        covariates, the group ``covariates`` has one variable per covariate (over conditions or
        persons). The attribute ``k`` is the number of regimes.

    Raises
    ------
    ValueError
        As in `alikely.models.spectrum`.
        If a custom model lacks a variable or has a variable of the wrong shape, or if priors are
        also given. If items are repeated, because responses to the same item are not independent.

    Warns
    -----
    SamplingWarning
        If the chains did not converge or had divergent transitions.

    Examples
    --------
    >>> import alikely as al
    >>> spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
    >>> tree = al.fit_spectrum(spectrum, k=2, rng=1)
    >>> al.regimes(tree)["label"].values.tolist()
    ['regime 2', 'regime 1', 'regime 1']
    """
    # These modules import PyMC, so they are imported only when needed.
    n_draws = resolve("n_draws", n_draws)
    from alikely.models import spectrum as spectrum_model
    from alikely.models._arguments import asked_model, refuse_options
    from alikely.models._priors import check_priors

    check_priors(priors)
    of_type(spectrum, xr.Dataset, "make one with al.difficulty_spectrum")
    if spectrum.attrs.get("repeats"):
        raise ValueError(
            "items are repeated, and this model needs one response per item; choose one with "
            "trials.select(repeat=...) before difficulty_spectrum"
        )
    refuse_options(model, {"priors": priors, "covariates": covariates is not None})
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
    tree = nuts(built, n_draws, 1_000, rng, target, thin=thin, include=include)
    entries = {
        "right": ("entry", right),
        "shown": ("entry", seen),
        "condition_of_entry": ("entry", at),
        "person_of_entry": ("entry", person),
        "is_reference": ("condition", reference),
        **{name: ("condition", spectrum[name].values) for name in ("dataset", "level")},
    }
    with_constants(tree, xr.Dataset(entries))
    tree = labeled(tree, condition=conditions, person=persons)
    if tables:
        tree["covariates"] = covariates_dataset(tables, dims)
    tree.attrs["k"] = k
    return tree


def _entries(tree: xr.DataTree) -> xr.Dataset:
    """Read the counts of a fit, with their conditions and persons."""
    if "constant_data" not in tree.children or "person_of_entry" not in tree["constant_data"]:
        raise ValueError("this tree is not a spectrum fit; make one with alikely.fit_spectrum")
    return tree["constant_data"].to_dataset()


def fitted_regimes(tree: xr.DataTree) -> xr.Dataset:
    """Posterior means of deltas, and probabilities of regimes as means over draws."""
    ci_prob, ci_kind = resolve("ci_prob", None), resolve("ci_kind", None)
    posterior, entries = tree["posterior"].to_dataset(), _entries(tree)
    names = np.array(regime_names(int(tree.attrs["k"])), dtype=object)
    delta = _flat(posterior["delta"])
    mixture = [_flat(posterior[f"regime_{part}"]) for part in ("weight", "mean", "sd")]
    # Regimes describe the difficulty that covariates do not explain.
    ease = _flat(posterior["logit_accuracy"])
    if "logit_accuracy_explained" in posterior:
        ease = ease - _flat(posterior["logit_accuracy_explained"])
    probability = neighbour_probabilities(ease, *mixture).mean(axis=0)
    limits = bound_columns("posterior", ci_kind, ci_prob, interval(delta, ci_prob, ci_kind))
    # Trees of custom models may lack labels of conditions.
    kept = [name for name in ("dataset", "level", "is_reference") if name in entries]
    return xr.Dataset(
        {
            **{name: ("condition", entries[name].values) for name in kept},
            "delta": ("condition", delta.mean(axis=0)),
            **{name: ("condition", values) for name, values in limits.items()},
            "label": ("condition", names[probability.argmax(axis=1)]),
            "probability": (("condition", "regime"), probability),
        },
        coords={"condition": entries["condition"].values, "regime": names},
        attrs={"k": len(names)},
    )


def _flat(values: xr.DataArray) -> Floats:
    """Concatenate the draws of all chains: shape (draw, ...)."""
    array = np.asarray(values.values, dtype=np.float64)
    flat = array.reshape(-1, *array.shape[2:])
    return flat if flat.ndim > 1 else flat[:, None]
