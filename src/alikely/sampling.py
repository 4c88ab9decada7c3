"""Posterior draws: exact where a closed form exists, NUTS otherwise.

References
----------
.. [HG14] Hoffman, Gelman (2014). The No-U-Turn sampler. doi:10.48550/arXiv.1111.4246
.. [V21] Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021). Rank-normalization, folding, and
   localization: an improved R-hat. doi:10.1214/20-BA1221
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any, Literal

import arviz as az
import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from alikely._random import RandomState, seed_sequence, spawn_integer
from alikely.conjugate import joint_draws, pairwise_draws
from alikely.priors import DEFAULT_PRIOR, Prior, check_prior
from alikely.tables import check_counts

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["Sampler", "SamplingWarning", "nuts", "posterior"]

Sampler = Literal["auto", "exact", "nuts"]
CHAINS = 4
# Above the usual 0.8: a posterior at the ceiling has tails that a long step falls off.
TARGET_ACCEPT = 0.95


class SamplingWarning(UserWarning):
    """The Markov chains did not do what they should; the draws may mislead."""


def posterior(
    table: xr.Dataset,
    sampler: Sampler = "auto",
    prior: Prior | None = None,
    n_draws: int = 4_000,
    rng: RandomState = None,
    progressbar: bool = False,
) -> xr.DataTree:
    """Posterior of the copy model for all entries of a correctness table.

    Parameters
    ----------
    table : xarray.Dataset
        As from `alikely.tables.joint_correctness`.
    sampler : {"auto", "exact", "nuts"}
        ``"exact"``: under the default prior the joint posterior of all pairs, under other priors
        on ``p_a, u, v`` draws pair by pair. ``"nuts"``: Markov chains [HG14]_, pair by pair.
        ``"auto"``: exact where that exists.
    prior : mapping, optional
        As in `alikely.models.copying`.
    n_draws : int
        Total number of draws over 4 chains; at least 4, rounded up to a multiple of 4.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    progressbar : bool
        Show the progress of the chains.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` (chain, draw, pair) and, from NUTS, ``sample_stats``. The attribute
        ``joint`` of the posterior says whether draws of different pairs belong together.

    Raises
    ------
    ValueError
        Unknown sampler, invalid prior or number of draws, or exact draws asked for under a prior
        that has none.

    Examples
    --------
    >>> from alikely.tables import from_counts
    >>> tree = posterior(from_counts([100, 20, 20, 20]), rng=1)
    >>> dict(tree["posterior"].sizes) == {"chain": 4, "draw": 1000, "pair": 1}
    True
    """
    if sampler not in ("auto", "exact", "nuts"):
        raise ValueError(f"sampler must be 'auto', 'exact' or 'nuts', got {sampler!r}")
    if n_draws < 1:
        raise ValueError(f"draws must be at least 1, got {n_draws}")
    beta = check_prior(prior)
    per_chain = -(-n_draws // CHAINS)
    if sampler == "nuts" or (sampler == "auto" and "copy_probability" in beta):
        tree = _copying_nuts(table["cells"].values, beta, per_chain, rng, progressbar)
        tree["posterior"] = tree["posterior"].to_dataset().assign_coords(pair=table["pair"].values)
        attributes = {"sampler": "nuts", "joint": 0}
    else:
        joint = beta == DEFAULT_PRIOR
        if joint:
            draws = joint_draws(table, per_chain * CHAINS, rng=rng)
        else:
            draws = pairwise_draws(table["cells"].values, beta, per_chain * CHAINS, rng=rng)
        shape = (CHAINS, per_chain, table.sizes["pair"])
        tree = xr.DataTree.from_dict(
            {
                "posterior": xr.Dataset(
                    {k: (("chain", "draw", "pair"), v.reshape(shape)) for k, v in draws.items()},
                    coords={
                        "chain": np.arange(CHAINS),
                        "draw": np.arange(per_chain),
                        "pair": table["pair"].values,
                    },
                )
            }
        )
        attributes = {"sampler": "exact", "joint": int(joint)}
    tree["posterior"].attrs.update(attributes)
    return tree


def nuts(
    model: pm.Model,
    n_draws: int = 4_000,
    tune: int = 1_000,
    rng: RandomState = None,
    progressbar: bool = False,
) -> xr.DataTree:
    """Sample a PyMC model with NUTS [HG14]_ (nutpie), and say so when the chains went wrong.

    Parameters
    ----------
    model : pymc.Model
        For instance one of `alikely.models`, extended or not.
    n_draws : int
        Total number of draws over 4 chains.
    tune : int
        Warm-up draws of each chain.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    progressbar : bool
        Show the progress of the chains.

    Returns
    -------
    xarray.DataTree
        As from nutpie: ``posterior``, ``sample_stats``, ``observed_data``, ...

    Warns
    -----
    SamplingWarning
        Once, naming divergences, the largest r_hat above 1.01 and the least effective sample size
        below 400 [V21]_.

    Examples
    --------
    >>> import alikely as al
    >>> model = al.models.copying([100, 20, 20, 20])
    >>> tree = al.sampling.nuts(model, rng=1)  # doctest: +SKIP
    """
    import nutpie

    return _sample(nutpie.compile_pymc_model(model), -(-n_draws // CHAINS), tune, rng, progressbar)


def _copying_nuts(
    counts: ArrayLike,
    beta: dict[str, tuple[float, float]],
    per_chain: int,
    rng: RandomState,
    progressbar: bool,
) -> xr.DataTree:
    cells = check_counts(counts)
    compiled = _compiled_copying(len(cells), tuple(sorted(beta.items())))
    return _sample(compiled.with_data(cells=cells), per_chain, 1_000, rng, progressbar)


@functools.lru_cache(maxsize=8)
def _compiled_copying(n_pairs: int, prior: tuple[tuple[str, tuple[float, float]], ...]) -> Any:
    """Compiled copy model for any data of this shape: compiling takes longer than sampling."""
    import nutpie

    from alikely.models.copying import copying

    return nutpie.compile_pymc_model(copying(np.zeros((n_pairs, 4), dtype=int), dict(prior)))


def _sample(
    compiled: Any, per_chain: int, tune: int, rng: RandomState, progressbar: bool
) -> xr.DataTree:
    import nutpie

    tree = nutpie.sample(
        compiled,
        draws=per_chain,
        tune=tune,
        chains=CHAINS,
        seed=spawn_integer(seed_sequence(rng)),
        save_warmup=False,
        target_accept=TARGET_ACCEPT,
        progress_bar=progressbar,
    )
    _warn_of_trouble(tree)
    return tree


def _warn_of_trouble(tree: xr.DataTree) -> None:
    draws = tree["posterior"].to_dataset()
    troubles = []
    divergences = int(tree["sample_stats"]["diverging"].sum())
    if divergences:
        troubles.append(f"{divergences} divergent transitions")
    if draws.sizes["draw"] >= 100:
        # Shorter chains cannot be judged by these.
        worst_r_hat = max(float(values.max()) for values in az.rhat(draws).data_vars.values())
        least_ess = min(float(values.min()) for values in az.ess(draws).data_vars.values())
        if worst_r_hat > 1.01:
            troubles.append(f"r_hat up to {worst_r_hat:.3f} (should be below 1.01)")
        if least_ess < 100 * CHAINS:
            troubles.append(f"effective sample size down to {least_ess:.0f} (should be above 400)")
    if troubles:
        warnings.warn(
            f"NUTS: {'; '.join(troubles)}; draw more, or use sampler='exact' where it exists",
            SamplingWarning,
            stacklevel=4,
        )
