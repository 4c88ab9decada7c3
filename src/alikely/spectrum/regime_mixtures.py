"""Regimes of difficulty: normal mixtures of deltas, and a joint posterior of deltas and regimes.

References
----------
.. [S78] Schwarz (1978). Estimating the dimension of a model. doi:10.1214/aos/1176344136
.. [HT89] Hurvich, Tsai (1989). Regression and time series model selection in small samples.
   doi:10.1093/biomet/76.2.297
.. [R95] Raftery (1995). Bayesian model selection in social research. doi:10.2307/271063
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import norm

from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.intervals import bound_columns
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.data.covariates import covariate_tables, covariates_dataset
from alikely.inference.chains import labeled, nuts, with_constants
from alikely.inference.intervals import interval, mean_of_defined
from alikely.models._mixtures import mixture_boundaries, neighbour_probabilities, regime_names

if TYPE_CHECKING:
    from alikely.data.covariates import Covariates
    from alikely.models._arguments import AskedModel
    from alikely.models._priors import Priors

MOST_REGIMES = 6
# A difference of BIC below this is "not worth more than a bare mention" [R95].
TIE = 2.0
# Groupings from which EM reaches its best optimum may occur only once in hundreds of runs.
N_STARTS = 5_000
N_RESAMPLES = 200
# EM starts from this many of the best groupings of k-means.
MOST_GROUPINGS = 100
MOST_ROUNDS = 1_000
# EM stops when the gain in log likelihood per condition is smaller, as in scikit-learn.
STOPPED = 1e-3
# Tolerance for convergence of EM, from the best starts of the run with early stopping.
ARRIVED = 1e-6
N_ARRIVING = 10
MOST_STEPS = 20_000
# Added to variances: the SD of a regime is at least 1/20 of the reference's SD, far below the noise
# of one delta. Otherwise, two or three conditions that coincide by chance make a regime.
LEAST_VARIANCE = 0.05**2
# Equal reference values may differ by rounding of the logarithm.
NO_SPREAD = 1e-12
# Size of a component without conditions, to avoid division by 0.
NO_SIZE = 10 * np.finfo(float).eps


class _Mixture(NamedTuple):
    """A fitted mixture, means in increasing order."""

    weight: Floats
    mean: Floats
    sd: Floats
    bic: float = np.nan
    aicc: float = np.nan


def regimes(
    spectrum: xr.Dataset | xr.DataTree,
    k: int | Literal["auto"] = "auto",
    *,
    n_starts: int = N_STARTS,
    n_resamples: int = N_RESAMPLES,
    rng: RandomState = None,
) -> xr.Dataset:
    """Group conditions into regimes of difficulty with a normal mixture model of Glass's deltas.

    Parameters
    ----------
    spectrum : xarray.Dataset or xarray.DataTree
        Difficulty spectrum as returned by `alikely.difficulty_spectrum`, without undefined values
        of ``delta``, or posterior distribution as returned by `alikely.fit_spectrum`. If you pass a
        posterior distribution, omit all other arguments.
    k : int or "auto"
        Number of regimes. ``"auto"`` selects the number between 1 and 6 with the lowest BIC [S78]_.
    n_starts : int
        Number of k-means runs, each started from randomly selected conditions. EM starts from each
        of the k-means groupings (at most the 100 best), and the best mixture is kept.
    n_resamples : int
        Number of bootstrap replicates, in which the humans of each data set are resampled. 0
        disables them.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    xarray.Dataset
        Variables by ``condition``:

        - ``delta``
        - ``label``: name of the regime (`alikely.models._mixtures.regime_names`)
        - ``probability``: probability of each regime (condition, regime), computed by
          `neighbour_probabilities`
        - ``resampled``: proportion of replicates with each label (condition, regime)
        - ``stability``: proportion of replicates with the same label as in the data

        Variables with the dimension ``regime``, ordered from the hardest to the easiest regime:

        - ``weight``, ``mean``, ``sd``, ``size``
        - ``position``: boundary between neighboring regimes (dimension ``boundary``)

        Variables for each number of regimes from 1 to 6 (dimension ``n_regimes``):

        - ``bic``, ``aicc`` [HT89]_
        - ``converged_bic``: BIC of the best solution if EM is run to convergence
        - ``resampled_best``: proportion of replicates in which this number has the lowest BIC

        The attributes are ``k``, ``ties`` (numbers of regimes with a BIC within 2 of the lowest
        [R95]_) and ``n_resamples`` (number of bootstrap replicates used). Replicates in which all
        reference values are equal, or a condition has no humans, are excluded.

        For a posterior distribution: ``delta`` (posterior mean), its bounds, such as
        ``posterior_eti95_lb``, ``label`` (the most probable regime), ``probability`` (posterior
        probability of each regime), and the attribute ``k`` (number of regimes).

    Raises
    ------
    ValueError
        If `k` is below 1 or above the number of distinct values of ``delta``.
    ValueError
        If ``delta`` is undefined for a condition, if there is only one condition, or if a number
        is out of range.
    ValueError
        If the data are a posterior, and you pass an argument that posteriors do not use.

    Notes
    -----
    As in scikit-learn, EM stops when a step changes the mean log likelihood per condition by less
    than 1e-3; ``bic`` is computed from the parameters at this step. The likelihood may have a
    higher maximum that EM does not find. We add ``0.05**2`` to each variance, because the
    likelihood would otherwise be unbounded if a component collapsed onto a single condition. If
    ``converged_bic`` is much lower than ``bic``, EM stopped long before convergence, and a
    different grouping of the conditions may fit better.

    In each replicate, EM starts from the mixture that was fitted to the data. ``stability``
    therefore describes the stability of these regimes, not of the search for regimes.

    Examples
    --------
    >>> import alikely as al
    >>> spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
    >>> found = al.regimes(spectrum, k=2, n_resamples=0, rng=1)
    >>> found["label"].values.tolist()
    ['regime 2', 'regime 1', 'regime 1']
    """
    if isinstance(spectrum, xr.DataTree):
        given = {
            "k": k != "auto",
            "n_starts": n_starts != N_STARTS,
            "n_resamples": n_resamples != N_RESAMPLES,
            "rng": rng is not None,
        }
        if any(given.values()):
            raise ValueError(
                "a fitted spectrum takes no other arguments, got "
                f"{', '.join(name for name in given if given[name])}; omit them"
            )
        return fitted_regimes(spectrum)
    of_type(spectrum, xr.Dataset, "make one with al.difficulty_spectrum")
    delta = spectrum["delta"].values
    n_different = _checked(spectrum, k, n_starts, n_resamples)
    start_seed, resample_seed = seed_sequence(rng).spawn(2)
    # With as many components as conditions, the likelihood is meaningless.
    tried = list(range(1, max(1, min(MOST_REGIMES, n_different - 1)) + 1))
    wanted = tried if k == "auto" or k in tried else [*tried, int(k)]
    seeds = dict(zip(wanted, start_seed.spawn(len(wanted)), strict=True))
    found = {number: _fits(delta, number, n_starts, seeds[number]) for number in wanted}
    fitted = {number: fits[0] for number, fits in found.items()}
    bic = {number: fitted[number].bic for number in tried}
    chosen = min(tried, key=bic.__getitem__) if k == "auto" else int(k)
    best = fitted[chosen]
    probability = neighbour_probabilities(delta, *best[:3])
    label = probability.argmax(axis=1)
    names = np.array(regime_names(chosen), dtype=object)
    out = xr.Dataset(
        {
            "delta": ("condition", delta),
            "label": ("condition", names[label]),
            "probability": (("condition", "regime"), probability),
            "weight": ("regime", best.weight),
            "mean": ("regime", best.mean),
            "sd": ("regime", best.sd),
            "size": ("regime", np.bincount(label, minlength=chosen)),
            "position": ("boundary", mixture_boundaries(*best[:3])),
            "bic": ("n_regimes", list(bic.values())),
            "aicc": ("n_regimes", [fitted[number].aicc for number in tried]),
            "converged_bic": ("n_regimes", [found[number][1].bic for number in tried]),
        },
        coords={
            "condition": spectrum["condition"].values,
            "regime": names,
            "boundary": names[:-1] + " | " + names[1:],
            "n_regimes": tried,
        },
    )
    near = min(bic.values()) + TIE
    out.attrs = {"k": chosen, "ties": [number for number in tried if bic[number] <= near]}
    if n_resamples:
        replicates = _resampled_deltas(spectrum, n_resamples, resample_seed)
        out.attrs["n_resamples"] = len(replicates)
        again = [{k: _fit(x, start, STOPPED) for k, start in fitted.items()} for x in replicates]
        labels, best_k = np.empty(replicates.shape, dtype=np.intp), np.empty(len(again), dtype=int)
        for r, (x, fits) in enumerate(zip(replicates, again, strict=True)):
            labels[r] = neighbour_probabilities(x, *fits[chosen][:3]).argmax(axis=1)
            best_k[r] = tried[int(np.argmin([fits[number].bic for number in tried]))]
        share = _share(labels[:, :, None] == np.arange(chosen))
        out["resampled"] = (("condition", "regime"), share)
        out["stability"] = ("condition", share[np.arange(len(delta)), label])
        out["resampled_best"] = ("n_regimes", _share(best_k[:, None] == tried))
    return out


def _checked(
    spectrum: xr.Dataset, k: int | Literal["auto"], n_starts: int, n_resamples: int
) -> int:
    """Check the options of `regimes`, and return the number of different deltas."""
    delta = spectrum["delta"].values
    n = len(delta)
    n_different = len(np.unique(delta[~np.isnan(delta)]))
    if n < 2:
        raise ValueError(f"regimes need a spectrum of at least 2 conditions, got {n}")
    if np.isnan(delta).any():
        bad = int(np.argmax(np.isnan(delta)))
        raise ValueError(
            f"condition {spectrum['condition'].values[bad]!r} has no delta "
            f"({spectrum['reason'].values[bad]}); make the spectrum with correction=0.5, or use "
            "alikely.fit_spectrum"
        )
    if k != "auto" and (isinstance(k, bool) or not isinstance(k, int | np.integer)):
        raise ValueError(f"k must be a whole number or 'auto', got {k!r}")
    if k != "auto" and not 1 <= k <= n_different:
        same = "" if n_different == n else " with different deltas"
        raise ValueError(
            f"k must lie between 1 and the number of conditions{same}, {n_different}; got {k}"
        )
    if n_starts < 1 or n_resamples < 0:
        raise ValueError(
            f"n_starts must be at least 1 and n_resamples at least 0, got {n_starts} and "
            f"{n_resamples}"
        )
    return n_different


def _share(mask: NDArray[np.bool_]) -> Floats:
    """Mean over the first axis; NaN without replicates."""
    return mask.mean(axis=0) if len(mask) else np.full(mask.shape[1:], np.nan)


def _fits(
    x: Floats, k: int, n_starts: int, seed: np.random.SeedSequence
) -> tuple[_Mixture, _Mixture]:
    """Best mixtures with early stopping, and at convergence."""
    starts = _starts(x, k, n_starts, seed)
    stopped = [_fit(x, start, STOPPED) for start in starts]
    order = np.argsort([mixture.bic for mixture in stopped], kind="stable")
    arrived = [_fit(x, stopped[i], ARRIVED) for i in order[:N_ARRIVING]]
    return stopped[order[0]], min(arrived, key=lambda mixture: mixture.bic)


def _starts(x: Floats, k: int, n_starts: int, seed: np.random.SeedSequence) -> list[_Mixture]:
    """Mixtures of the distinct groupings from k-means with random starts."""
    at = np.sort(x)
    found = []
    for cut in _groupings(at, k, n_starts, np.random.default_rng(seed)):
        parts = np.split(at, cut)
        size, mean, variance = (
            np.array([f(part) for part in parts]) for f in (len, np.mean, np.var)
        )
        weight = size / len(at)
        mixture = _Mixture(weight, mean, np.sqrt(variance + LEAST_VARIANCE))
        found.append((weight @ variance, mixture))
    return [mixture for _, mixture in sorted(found, key=lambda pair: pair[0])[:MOST_GROUPINGS]]


def _groupings(
    at: Floats, k: int, n_starts: int, generator: np.random.Generator
) -> NDArray[np.intp]:
    """Distinct results of k-means, as cuts of the sorted values: shape (grouping, k - 1)."""
    values = np.unique(at)
    if k in (1, len(values)):
        # There is only one grouping.
        return np.searchsorted(at, values[1:])[None, : k - 1]
    shuffled = generator.permuted(np.broadcast_to(values, (n_starts, len(values))), axis=1)
    center = np.sort(shuffled[:, :k], axis=1)
    total = np.concatenate([[0.0], np.cumsum(at)])
    edge = np.zeros((n_starts, k + 1), dtype=np.intp)
    edge[:, -1] = len(at)
    for _ in range(MOST_ROUNDS):
        cut = np.searchsorted(at, (center[:, 1:] + center[:, :-1]) / 2)
        if (cut == edge[:, 1:-1]).all():
            break
        edge[:, 1:-1] = cut
        size = np.diff(edge, axis=1)
        center = np.where(size > 0, np.diff(total[edge], axis=1) / np.maximum(size, 1), center)
    full = (np.diff(edge, axis=1) > 0).all(axis=1)
    if not full.any():
        # Every run lost a group, so groups of equal size are used.
        return np.linspace(0, len(at), k + 1).astype(np.intp)[None, 1:-1]
    return np.unique(edge[full, 1:-1], axis=0)


def _fit(x: Floats, start: _Mixture, tol: float) -> _Mixture:
    """Run EM from a given mixture."""
    k, n = len(start.weight), len(x)
    weight, mean, sd = start.weight / start.weight.sum(), start.mean, start.sd
    before = -np.inf
    for _ in range(MOST_STEPS):
        log_p, gained = _densities(x, weight, mean, sd)
        share = np.exp(log_p - gained[:, None])
        size = share.sum(axis=0) + NO_SIZE
        mean = x @ share / size
        sd = np.sqrt(x**2 @ share / size - mean**2 + LEAST_VARIANCE)
        weight = size / size.sum()
        if abs(gained.mean() - before) < tol:
            break
        before = gained.mean()
    deviance = -2 * _densities(x, weight, mean, sd)[1].sum()
    order = np.argsort(mean)
    n_parameters = 3 * k - 1
    room = n - n_parameters - 1
    extra = 2 * n_parameters * (n_parameters + 1) / room if room > 0 else np.nan
    return _Mixture(
        weight[order],
        mean[order],
        sd[order],
        float(deviance + n_parameters * np.log(n)),
        float(deviance + 2 * n_parameters + extra),
    )


def _densities(x: Floats, weight: Floats, mean: Floats, sd: Floats) -> tuple[Floats, Floats]:
    """Weighted log densities of the components, and of the mixture."""
    log_p = np.log(weight) + norm.logpdf(x[:, None], mean, sd)
    return log_p, logsumexp(log_p, axis=1)


def _resampled_deltas(
    spectrum: xr.Dataset, n_resamples: int, seed: np.random.SeedSequence
) -> Floats:
    """Deltas with the humans of each data set resampled: shape (replicate, condition)."""
    logit = spectrum["logit_accuracy"].values
    part = ~np.isnan(logit)
    generator = np.random.default_rng(seed)
    times = np.zeros((n_resamples, *logit.shape))
    dataset = spectrum["dataset"].values
    for name in dict.fromkeys(dataset.tolist()):
        rows = np.flatnonzero(dataset == name)
        people = np.flatnonzero(part[rows].any(axis=0))
        shares = np.full(len(people), 1 / len(people))
        drawn = generator.multinomial(len(people), shares, n_resamples)
        at = np.ix_(np.arange(n_resamples), rows, people)
        times[at] = drawn[:, None, :] * part[np.ix_(rows, people)]
    mean = mean_of_defined(logit, times, axis=2)
    here = spectrum["is_reference"].values
    weight = times[:, here].reshape(n_resamples, -1)
    value = np.where(part, logit, 0.0)[here].ravel()
    total = weight.sum(axis=1)
    center = weight @ value / total
    spread = np.sqrt((weight * (value - center[:, None]) ** 2).sum(axis=1) / (total - 1))
    with np.errstate(invalid="ignore", divide="ignore"):
        delta = (mean - center[:, None]) / spread[:, None]
    kept = np.isfinite(delta).all(axis=1) & (spread > NO_SPREAD)
    return np.asarray(delta[kept])


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
    """Fit a joint model of accuracy in reference conditions, difficulty of conditions, and regimes.

    Parameters
    ----------
    spectrum : xarray.Dataset
        Spectrum as returned by `alikely.difficulty_spectrum`; only its counts are used. Observers
        in different data sets are treated as different people, even if they have the same name.
    k : int
        Number of regimes, at least 1.
    covariates : mapping of str to table, optional
        Covariates of conditions (key ``"condition"``) or humans (key ``"human"``, labels
        ``dataset:observer``), as in `alikely.models.spectrum`. With covariates, regimes describe
        the difficulty that the covariates do not explain.
    priors : mapping, optional
        Priors for the model's variables by name, as in `alikely.models.spectrum`.
    model : "spectrum" or pymc.Model
        Generative model of the counts: `alikely.models.spectrum` (the default) or a custom model,
        such as an extension of the default. A custom model must define ``delta`` and
        ``logit_accuracy`` for each condition, and ``regime_weight``, ``regime_mean`` and
        ``regime_sd`` for each of `k` regimes.
    n_draws : int
        Total number of draws from 4 chains.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    include : "all" or sequence of str
        Groups to add to the returned data tree, such as ``"prior"`` (see `alikely.inference.nuts`).

    Returns
    -------
    xarray.DataTree
        Posterior draws, as returned by `alikely.inference.nuts`. Conditions are named
        ``dataset:condition``, and humans ``dataset:observer``. The group ``constant_data`` also
        contains the variables ``dataset`` and ``condition_name``. With covariates, the group
        ``covariates`` has one variable per covariate of conditions or humans. The attribute ``k``
        is the number of regimes.

    Raises
    ------
    ValueError
        If an argument is invalid (see `alikely.models.spectrum`).
    ValueError
        If a custom model lacks a variable or has a variable of the wrong shape, or if priors are
        also given.
    ValueError
        If items are repeated, because the model assumes independent responses.

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
        **{name: ("condition", spectrum[name].values) for name in ("dataset", "condition_name")},
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
    kept = [name for name in ("dataset", "condition_name", "is_reference") if name in entries]
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
