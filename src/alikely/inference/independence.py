"""Posterior of independent observers: both accuracies, and replicated tables.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [HG14] Hoffman, Gelman (2014). The No-U-Turn sampler. doi:10.48550/arXiv.1111.4246
.. [GMS96] Gelman, Meng, Stern (1996). Posterior predictive assessment of model fitness via realized
   discrepancies. Statistica Sinica 6, 733-807. https://www.jstor.org/stable/24306036
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.random import RandomState, seed_sequence
from alikely.data.tables import check_counts, pair_coords
from alikely.inference.chains import CHAINS, DRAW_MORE, nuts
from alikely.inference.conjugate import independence_draws
from alikely.inference.fits import labeled
from alikely.inference.null import independent_cells
from alikely.inference.sampling import Sampler, check_sampler
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.cell_priors import check_accuracy_priors

# Pairs whose values are computed at a time: intermediate arrays stay below 10 MB.
CHUNK = 64
# Two parameters a pair and no correlation: adaptation is quick.
TUNE = 500
DIMS = ("chain", "draw", "pair")


def independent_posterior(
    cells: ArrayLike,
    pairs: Sequence[str] | None = None,
    sampler: Sampler = "auto",
    priors: Mapping[str, Any] | None = None,
    n_draws: int = 4_000,
    metric: Metric = ERROR_CONSISTENCY,
    rng: RandomState = None,
) -> xr.DataTree:
    """Posterior of independent observers for many pairs, with replicates as null distribution."""
    check_sampler(sampler)
    if n_draws < 1:
        raise ValueError(f"draws must be at least 1, got {n_draws}")
    counts = np.atleast_2d(check_counts(cells))
    coords = pair_coords(len(counts), pairs)
    if priors is not None:
        # The models import PyMC: only when needed.
        from alikely.models._priors import check_priors

        check_priors(priors)
    per_chain = -(-n_draws // CHAINS)
    without = [name for name, given in (priors or {}).items() if not _is_beta(given)]
    if sampler == "exact" and without:
        raise ValueError(
            f"the prior of {without[0]!r} has no exact draws; use sampler='nuts', or give Beta "
            "parameters such as (2, 1)"
        )
    chosen = "nuts" if sampler == "nuts" or without else "exact"
    if chosen == "nuts":
        from alikely.models.copies import copying

        # Without labels: compiled once for this number of pairs.
        model = copying(counts, independent=True, priors=priors)
        remedy = DRAW_MORE if without else f"{DRAW_MORE}, or use sampler='exact'"
        n, include = CHAINS * per_chain, ["posterior_predictive"]
        fitted = labeled(
            nuts(model, n, TUNE, rng, remedy=remedy, include=include), pair=coords["pair"]
        )
        groups = {name: node.to_dataset() for name, node in fitted.children.items()}
        groups["posterior_predictive"] = groups["posterior_predictive"].astype(np.int32)
        told = fitted.attrs
    else:
        groups, texts = _exact(counts, priors, per_chain, rng)
        told = {"priors": json.dumps(texts)}
    labels = {**coords, "chain": np.arange(CHAINS), "draw": np.arange(per_chain)}
    # Without a common trial the posterior would be the prior.
    accuracies = groups["posterior"].where(xr.DataArray(counts.sum(axis=1) > 0, dims="pair"))
    tables = groups["posterior_predictive"]
    cells = tables["observed_cells"].values
    values = [metric.value(cells[:, :, k : k + CHUNK]) for k in range(0, len(counts), CHUNK)]
    tables[metric.name] = (DIMS, np.concatenate(values, axis=-1).astype(np.float32))
    observed = {
        "observed_cells": (("pair", "cell"), counts),
        metric.name: ("pair", np.asarray(metric.value(counts), dtype=np.float64)),
    }
    groups |= {
        "posterior": accuracies.assign_coords({dim: labels[dim] for dim in DIMS}),
        "posterior_predictive": tables.assign_coords(labels),
        "observed_data": xr.Dataset(observed, coords=coords),
    }
    groups["posterior"].attrs["sampler"] = chosen
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {**told, "model": "independence", "metric": metric.name, "sampler": chosen}
    return tree


def _is_beta(given: Any) -> bool:
    """Whether a prior is given as two numbers, the parameters of a Beta."""
    return isinstance(given, tuple | list) and all(np.ndim(number) == 0 for number in given)


def _exact(
    counts: NDArray[np.int64], priors: Mapping[str, Any] | None, per_chain: int, rng: RandomState
) -> tuple[dict[str, xr.Dataset], dict[str, str]]:
    seed = seed_sequence(rng)
    drawn = independence_draws(counts, CHAINS * per_chain, seed, priors)
    generator = np.random.default_rng(seed.spawn(1)[0])
    shape = (CHAINS, per_chain, len(counts))
    p_a, p_b = (drawn[name].reshape(shape) for name in ("p_a", "p_b"))
    tables = independent_cells(counts.sum(axis=1), p_a, p_b, generator).astype(np.int32)
    groups = {
        "posterior": xr.Dataset({"p_a": (DIMS, p_a), "p_b": (DIMS, p_b)}),
        "posterior_predictive": xr.Dataset({"observed_cells": ((*DIMS, "cell"), tables)}),
    }
    beta = check_accuracy_priors(priors)
    return groups, {name: f"Beta({a:.6g}, {b:.6g})" for name, (a, b) in beta.items()}
