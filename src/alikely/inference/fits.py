"""Groups of a fit for ArviZ: data and, on request, prior, predictive and likelihood groups."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import xarray as xr

from alikely._base.checks import one_of
from alikely._base.random import RandomState, seed_sequence, spawn_integer

if TYPE_CHECKING:
    import pymc as pm

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
    """Add labels of dims to every group that has them."""

    def named(group: xr.Dataset) -> xr.Dataset:
        return group.assign_coords(
            {dim: np.asarray(own) for dim, own in labels.items() if dim in group.dims}
        )

    out = tree.map_over_datasets(named)
    out.attrs = dict(tree.attrs)
    return out


def with_constants(tree: xr.DataTree, constants: xr.Dataset) -> xr.DataTree:
    """Add to ``constant_data``, or replace entries of it."""
    known = xr.Dataset()
    if "constant_data" in tree.children:
        known = tree["constant_data"].to_dataset()
    known = known.drop_vars([name for name in constants.variables if name in known.variables])
    tree["constant_data"] = known.merge(constants)
    return tree
