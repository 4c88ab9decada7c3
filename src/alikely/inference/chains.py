"""Markov chain Monte Carlo: NUTS for any PyMC model, with warnings on convergence.

References
----------
.. [HG14] Hoffman, Gelman (2014). The No-U-Turn sampler. doi:10.48550/arXiv.1111.4246
.. [KR24] Kallioinen, Paananen, Bürkner, Vehtari (2024). Detecting and diagnosing prior and
   likelihood sensitivity with power-scaling. doi:10.1007/s11222-023-10366-5
.. [VGG17] Vehtari, Gelman, Gabry (2017). Practical Bayesian model evaluation using leave-one-out
   cross-validation and WAIC. doi:10.1007/s11222-016-9696-4
.. [V21] Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021). Rank-normalization, folding, and
   localization: an improved R-hat. doi:10.1214/20-BA1221
"""

from __future__ import annotations

import json
import logging
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import arviz_stats as azs
import numpy as np
import xarray as xr

from alikely._base.checks import one_of
from alikely._base.parallel import workers
from alikely._base.random import RandomState, seed_sequence, spawn_integer
from alikely._base.settings import resolve
from alikely._base.steps import own_bar, shows_progress
from alikely.inference.cache import compiled

if TYPE_CHECKING:
    import pymc as pm

CHAINS = 4


# Above the usual 0.8, since long steps diverge in the tails of posteriors at ceiling accuracy.
TARGET_ACCEPT = 0.95

PACKAGE = str(Path(__file__).parents[1])
DRAW_MORE = "increase n_draws"
# Problems that more draws do not solve.
FIRMER = "use more informative priors"


class SamplingWarning(UserWarning):
    """Warning that MCMC had divergent transitions or did not converge."""


def nuts(
    model: pm.Model,
    n_draws: int | None = None,
    tune: int = 1_000,
    rng: RandomState = None,
    target_accept: float = TARGET_ACCEPT,
    remedy: str = DRAW_MORE,
    thin: int = 1,
    include: Sequence[str] = (),
) -> xr.DataTree:
    """Sample a PyMC model with NUTS [HG14]_ (nutpie), and warn if chains did not converge.

    Parameters
    ----------
    model : pymc.Model
        A model from `alikely.models`, to which you may have added variables, or any other PyMC
        model.
    n_draws : int
        Total number of draws to keep from 4 chains.
    tune : int
        Number of warm-up draws per chain.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    target_accept : float
        Target mean acceptance probability, in (0, 1). A higher target acceptance probability leads
        to shorter steps.
    remedy : str
        Advice to include in a warning, for example "use another sampler".
    thin : int
        Keep every `thin`-th draw.
    include : "all" or sequence of str
        Groups to add:

        - ``"prior"``, ``"prior_predictive"``: with the same number of draws as the posterior
        - ``"posterior_predictive"``
        - ``"log_likelihood"`` of each observed value, for `arviz.loo` [VGG17]_
        - ``"log_prior"`` of each free variable, for `arviz.psense_summary` [KR24]_

        Compiling a function for each additional group takes a few seconds.

    Returns
    -------
    xarray.DataTree
        ``posterior``: all free variables and deterministics; after thinning, ``draw`` contains the
        original indices. ``sample_stats``: diagnostics of the sampler for each draw.
        ``observed_data`` and ``constant_data``: data of the generative model. The tree has these
        attributes:

        - ``n_divergences``: number of divergent transitions after warm-up, including thinned draws
        - ``evaluator``: ``"interpreter"`` or ``"numba"``, whichever evaluated the log density;
          ``evaluator_reason``: the reason
        - versions of the packages, ``seed``, settings, ``priors`` (JSON), and seconds spent on
          preparation and sampling

    Raises
    ------
    ValueError
        If a group is unknown.

    Warns
    -----
    SamplingWarning
        If any transition diverged, any r_hat is above 1.01, or any effective sample size is below
        400 [V21]_. A single warning states the number of divergences and the worst diagnostics, and
        names the affected parameters and a function that plots these parameters.

    Examples
    --------
    >>> import alikely as al
    >>> model = al.models.copying([100, 20, 20, 20])
    >>> tree = al.inference.nuts(model, rng=1)
    >>> tree.attrs["n_divergences"], tree.attrs["evaluator"]
    (0, 'interpreter')
    """
    n_draws = resolve("n_draws", n_draws)
    groups = check_include(include)
    per_chain = -(-n_draws // CHAINS) * thin
    began = time.perf_counter()
    ready = compiled(model)({})
    sampling = time.perf_counter()
    seed = seed_sequence(rng)
    # What is sampled is watched; what follows from it may be ten times as much.
    watched = [variable.name for variable in model.free_RVs]
    drawn = sample(ready.sampled, per_chain, tune, seed, watched, target_accept, remedy)
    kept = {
        name: drawn[name].to_dataset().isel(draw=slice(None, None, thin))
        for name in ("posterior", "sample_stats")
    }
    tree = xr.DataTree.from_dict(kept | data_groups(model))
    tree.attrs = {
        **_made_by(model),
        "seed": str(seed.entropy),
        "tune": tune,
        "thin": thin,
        "target_accept": target_accept,
        "n_divergences": int(drawn["sample_stats"]["diverging"].sum()),
        "evaluator": ready.evaluator,
        "evaluator_reason": ready.reason,
        "seconds_ready": sampling - began,
        "seconds_sampling": time.perf_counter() - sampling,
    }
    return extended(tree, model, groups, seed) if groups else tree


def _made_by(model: pm.Model) -> dict[str, Any]:
    """Versions, and the texts of the priors."""
    from alikely.models._priors import prior_texts

    names = ("alikely", "pymc", "nutpie")
    return {
        **{f"{name}_version": version(name) for name in names},
        "priors": json.dumps(prior_texts(model)),
    }


def sample(
    ready: Any,
    per_chain: int,
    tune: int,
    rng: RandomState,
    watched: list[str],
    target_accept: float = TARGET_ACCEPT,
    remedy: str = DRAW_MORE,
) -> xr.DataTree:
    """Sample a compiled model, and warn of problems."""
    import nutpie

    shown = shows_progress()
    with own_bar(shown):
        tree = nutpie.sample(
            ready,
            draws=per_chain,
            tune=tune,
            chains=CHAINS,
            cores=None if workers() < 0 else workers(),
            seed=spawn_integer(seed_sequence(rng)),
            save_warmup=False,
            target_accept=target_accept,
            progress_bar=shown,
        )
    # A warning is one line: the problem, the quantity, a remedy, and a plot.
    draws = tree["posterior"].to_dataset()[watched]
    troubles, named = [], []
    divergences = int(tree["sample_stats"]["diverging"].sum())
    if divergences:
        troubles.append(f"{divergences} divergent transitions")
    if draws.sizes["draw"] >= 100:
        # Shorter chains cannot be judged by these.
        r_hats = {str(k): float(v.max()) for k, v in azs.rhat(draws).data_vars.items()}
        sizes = {str(k): float(v.min()) for k, v in azs.ess(draws).data_vars.items()}
        # What does not vary has neither.
        worst = max(r_hats, key=lambda name: np.nan_to_num(r_hats[name], nan=0.0))
        least = min(sizes, key=lambda name: np.nan_to_num(sizes[name], nan=np.inf))
        if r_hats[worst] > 1.01:
            named.append(worst)
            troubles.append(f"r_hat up to {r_hats[worst]:.3f} for {worst} (should be below 1.01)")
        if sizes[least] < 100 * CHAINS:
            named.append(least)
            troubles.append(
                f"effective sample size down to {sizes[least]:.0f} for {least} (should be above "
                f"{100 * CHAINS})"
            )
    if troubles:
        names = list(dict.fromkeys(named))
        if divergences:
            remedy = f"{FIRMER} and {remedy}" if named else remedy.replace(DRAW_MORE, FIRMER)
        look = f"az.plot_trace_dist(tree, var_names={names})" if names else "az.plot_energy(tree)"
        warnings.warn(
            f"NUTS: {'; '.join(troubles)}; {remedy}; to inspect the chains: {look}",
            SamplingWarning,
            # Points to the line of the user.
            skip_file_prefixes=(PACKAGE,),
        )
    return tree


Group = Literal["prior", "prior_predictive", "posterior_predictive", "log_likelihood", "log_prior"]
GROUPS: tuple[Group, ...] = get_args(Group)


def check_include(include: Sequence[str]) -> tuple[Group, ...]:
    """Raise an error for unknown names of groups."""
    asked = [include] if isinstance(include, str) else list(include)
    for name in asked:
        one_of("include", name, ("all", *GROUPS))
    return tuple(name for name in GROUPS if name in asked or "all" in asked)


def data_groups(model: pm.Model) -> dict[str, xr.Dataset]:
    """Groups ``observed_data`` and, if there are any, ``constant_data`` of a model."""
    from pymc.backends.arviz import find_constants, find_observations

    groups = {
        "observed_data": _dataset(find_observations(model), model),
        "constant_data": _dataset(find_constants(model), model),
    }
    return {name: group for name, group in groups.items() if group.data_vars}


def _dataset(values: Mapping[str, Any], model: pm.Model) -> xr.Dataset:
    variables, coords = {}, {}
    for name, value in values.items():
        array = np.asarray(value)
        named = model.named_vars_to_dims.get(name) or [None] * array.ndim
        dims = [dim or f"{name}_dim_{i}" for i, dim in enumerate(named)]
        variables[name] = (dims, array)
        for dim, size in zip(dims, array.shape, strict=True):
            labels = model.coords.get(dim)
            if labels is not None and len(labels) == size:
                coords[dim] = np.asarray(labels)
    return xr.Dataset(variables, coords)


def extended(
    tree: xr.DataTree, model: pm.Model, include: Sequence[str], rng: RandomState = None
) -> xr.DataTree:
    """Add prior, predictive and likelihood groups to the fit of a model."""
    import pymc as pm
    from pymc.stats import compute_log_likelihood, compute_log_prior

    asked = check_include(include)
    # The free variables: what follows from them the model works out. With the data, or PyMC takes
    # them for others than those of the fit.
    posterior = tree["posterior"].to_dataset()[[variable.name for variable in model.free_RVs]]
    own = xr.DataTree.from_dict({"posterior": posterior, **data_groups(model)})
    seed, quiet = seed_sequence(rng), {"model": model, "progressbar": False}
    before, after = spawn_integer(seed), spawn_integer(seed)
    with _quiet():
        if {"prior", "prior_predictive"} & set(asked):
            n_draws = posterior.sizes["chain"] * posterior.sizes["draw"]
            own.update(pm.sample_prior_predictive(n_draws, model, random_seed=before).children)
        if "posterior_predictive" in asked:
            said = pm.sample_posterior_predictive(own, random_seed=after, **quiet)
            own.update(said.children)
        if "log_likelihood" in asked:
            compute_log_likelihood(own, **quiet)
        if "log_prior" in asked:
            compute_log_prior(own, **quiet)
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    groups |= {name: own[name].to_dataset() for name in asked if name in own.children}
    out = xr.DataTree.from_dict(groups)
    out.attrs = dict(tree.attrs)
    return out


@contextmanager
def _quiet() -> Iterator[None]:
    """Without PyMC's lists of what it draws, and without word of functions that stay Python's."""
    logger = logging.getLogger("pymc.sampling.forward")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Numba will use object mode", UserWarning)
            yield
    finally:
        logger.setLevel(level)


def labeled(tree: xr.DataTree, **labels: Any) -> xr.DataTree:
    """Add labels to the dims of every group that has these dims."""

    def named(group: xr.Dataset) -> xr.Dataset:
        return group.assign_coords(
            {dim: np.asarray(own) for dim, own in labels.items() if dim in group.dims}
        )

    out = tree.map_over_datasets(named)
    out.attrs = dict(tree.attrs)
    return out


def with_constants(tree: xr.DataTree, constants: xr.Dataset) -> xr.DataTree:
    """Add variables to ``constant_data``, or replace them."""
    known = xr.Dataset()
    if "constant_data" in tree.children:
        known = tree["constant_data"].to_dataset()
    known = known.drop_vars([name for name in constants.variables if name in known.variables])
    tree["constant_data"] = known.merge(constants)
    return tree
