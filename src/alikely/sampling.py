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
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

import arviz_stats as azs
import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._random import RandomState, seed_sequence, spawn_integer
from alikely.conjugate import METRICS, joint_draws, pairwise_draws
from alikely.metrics import Metric
from alikely.priors import DEFAULT_PRIOR, Prior, check_prior
from alikely.tables import CELLS, check_counts

if TYPE_CHECKING:
    import pymc as pm

__all__ = [
    "Sampler",
    "SamplingWarning",
    "check_sampler",
    "nuts",
    "nuts_many",
    "posterior",
    "trial_log_likelihood",
]

Sampler = Literal["auto", "exact", "nuts"]
CHAINS = 4
# Above the usual 0.8: a posterior at the ceiling has tails that a long step falls off.
TARGET_ACCEPT = 0.95


def _log_share(cell: int) -> Metric:
    def value(cells: ArrayLike) -> NDArray[np.float64]:
        array = np.asarray(cells, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(array[..., cell]) - np.log(array.sum(axis=-1))

    def no_influence(cells: ArrayLike) -> NDArray[np.float64]:
        raise TypeError("a log likelihood is evaluated at draws only")

    return Metric(f"log_{CELLS[cell]}", "correctness", value, no_influence, no_influence)


LOG_CELLS = tuple(_log_share(cell) for cell in range(len(CELLS)))
LARGEST_LOG_LIKELIHOOD = 300_000_000


class SamplingWarning(UserWarning):
    """The Markov chains did not do what they should; the draws may mislead."""


def check_sampler(sampler: str) -> None:
    """Refuse the name of an unknown sampler (`ValueError`)."""
    if sampler not in ("auto", "exact", "nuts"):
        raise ValueError(f"sampler must be 'auto', 'exact' or 'nuts', got {sampler!r}")


def posterior(
    table: xr.Dataset,
    sampler: Sampler = "auto",
    prior: Prior | None = None,
    n_draws: int = 4_000,
    rng: RandomState = None,
    progressbar: bool = False,
    log_likelihood: bool = False,
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
    log_likelihood : bool
        Add the log likelihood of every trial of every entry, for `arviz.loo`.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` (chain, draw, pair), from NUTS ``sample_stats``, and on request
        ``log_likelihood`` (chain, draw, observation). The attribute
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
    check_sampler(sampler)
    if n_draws < 1:
        raise ValueError(f"draws must be at least 1, got {n_draws}")
    beta = check_prior(prior)
    per_chain = -(-n_draws // CHAINS)
    if sampler == "nuts" or (sampler == "auto" and "copy_probability" in beta):
        tree = _copying_nuts(table["cells"].values, beta, per_chain, rng, progressbar)
        draws = tree["posterior"].to_dataset().assign_coords(pair=table["pair"].values)
        # Without a common trial the prior alone would speak.
        draws = draws.where(table["cells"].sum("cell") > 0)
        draws.attrs.update(sampler="nuts", joint=0)
        tree["posterior"] = draws
        if log_likelihood:
            tree["log_likelihood"] = trial_log_likelihood(table, _log_cells_from_nuts(draws, beta))
        return tree
    joint = beta == DEFAULT_PRIOR
    metrics = (*METRICS, *LOG_CELLS) if log_likelihood else METRICS
    if joint:
        drawn = joint_draws(table, per_chain * CHAINS, metrics, rng)
    else:
        cells = table["cells"].values
        drawn = pairwise_draws(cells, beta, per_chain * CHAINS, metrics, rng)
        for values in drawn.values():
            values[:, cells.sum(axis=1) == 0] = np.nan
    shape = (CHAINS, per_chain, table.sizes["pair"])
    reshaped = {name: values.reshape(shape) for name, values in drawn.items()}
    log_cells = [reshaped.pop(metric.name) for metric in metrics[len(METRICS) :]]
    posterior_draws = xr.Dataset(
        {name: (("chain", "draw", "pair"), values) for name, values in reshaped.items()},
        coords={
            "chain": np.arange(CHAINS),
            "draw": np.arange(per_chain),
            "pair": table["pair"].values,
        },
        attrs={"sampler": "exact", "joint": int(joint)},
    )
    groups = {"posterior": posterior_draws}
    if log_likelihood:
        groups["log_likelihood"] = trial_log_likelihood(table, np.stack(log_cells, axis=-1))
    return xr.DataTree.from_dict(groups)


def trial_log_likelihood(table: xr.Dataset, log_cells: NDArray[np.floating]) -> xr.Dataset:
    """Log likelihood of each trial from that of its cell, in the form that `arviz.loo` takes.

    Parameters
    ----------
    table : xarray.Dataset
        As from `alikely.tables.joint_correctness`.
    log_cells : ndarray, shape (chain, draw, pair, 4)
        Log probability of a trial to fall into each cell.

    Returns
    -------
    xarray.Dataset
        ``correctness`` (chain, draw, observation): the trials of the first entry cell by cell, then
        those of the second, and so on; ``entry`` (observation) names the entry.

    Raises
    ------
    ValueError
        If it would hold more than 300 million numbers.

    Examples
    --------
    >>> from alikely.tables import from_counts
    >>> log_cells = np.log(np.full((1, 2, 1, 4), 0.25))
    >>> trial_log_likelihood(from_counts([2, 1, 0, 1]), log_cells)["correctness"].shape
    (1, 2, 4)
    """
    counts = table["cells"].values
    size = int(counts.sum()) * log_cells.shape[0] * log_cells.shape[1]
    if size > LARGEST_LOG_LIKELIHOOD:
        raise ValueError(
            f"the log likelihood of every trial at every draw would hold {size:,} numbers; choose "
            "fewer pairs or draws, or use alikely.compare_models, which needs no draws"
        )
    flat = log_cells.reshape(*log_cells.shape[:2], -1)
    column = np.repeat(np.arange(counts.size), counts.ravel())
    return xr.Dataset(
        {"correctness": (("chain", "draw", "observation"), flat[..., column])},
        coords={
            "chain": np.arange(flat.shape[0]),
            "draw": np.arange(flat.shape[1]),
            "entry": (
                "observation",
                table["pair"].values[column // counts.shape[-1]].astype(object),
            ),
        },
    )


def _log_cells_from_nuts(draws: xr.Dataset, beta: Prior) -> NDArray[np.float64]:
    p_a = draws["p_a"].values
    if "copy_probability" in beta:
        u, v = draws["uv"].values[..., 0], draws["uv"].values[..., 1]
    else:
        u, v = draws["u"].values, draws["v"].values
    cells = np.stack([p_a * u, p_a * (1 - u), (1 - p_a) * v, (1 - p_a) * (1 - v)], axis=-1)
    with np.errstate(divide="ignore"):
        return np.log(cells)


def nuts(
    model: pm.Model,
    n_draws: int = 4_000,
    tune: int = 1_000,
    rng: RandomState = None,
    progressbar: bool = False,
    target_accept: float = TARGET_ACCEPT,
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
    target_accept : float
        Mean acceptance aimed at, in (0, 1); higher means shorter steps.

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
    >>> tree = al.sampling.nuts(model, rng=1)
    >>> int(tree["sample_stats"]["diverging"].sum())
    0
    """
    import nutpie

    # Frozen: log factorials of data that cannot change are worked out once, not at every step.
    compiled = nutpie.compile_pymc_model(model, freeze_model=True)
    # What is sampled is watched; what follows from it may be ten times as much.
    watched = [variable.name for variable in model.free_RVs]
    return _sample(compiled, -(-n_draws // CHAINS), tune, rng, progressbar, watched, target_accept)


def nuts_many(
    model: pm.Model,
    data: Iterable[Mapping[str, ArrayLike]],
    n_draws: int = 4_000,
    tune: int = 1_000,
    rng: RandomState = None,
    progressbar: bool = False,
    target_accept: float = TARGET_ACCEPT,
) -> Iterator[xr.DataTree]:
    """Sample one model for several data sets of one shape: compiling takes longer than sampling.

    Parameters
    ----------
    model : pymc.Model
        With its data in `pymc.Data`.
    data : iterable of mapping
        New values of the data, by name; those not named stay.
    n_draws, tune, rng, progressbar, target_accept
        As in `nuts`, for each data set.

    Yields
    ------
    xarray.DataTree
        As from `nuts`, one for each data set.

    Warns
    -----
    SamplingWarning
        As in `nuts`, for each data set.
    """
    import nutpie

    compiled = nutpie.compile_pymc_model(model)
    watched = [variable.name for variable in model.free_RVs]
    seed = seed_sequence(rng)
    for values in data:
        fresh = compiled.with_data(**values)
        (own,) = seed.spawn(1)
        yield _sample(fresh, -(-n_draws // CHAINS), tune, own, progressbar, watched, target_accept)


def _copying_nuts(
    counts: ArrayLike,
    beta: dict[str, tuple[float, float]],
    per_chain: int,
    rng: RandomState,
    progressbar: bool,
) -> xr.DataTree:
    cells = check_counts(counts)
    compiled = _compiled_copying(len(cells), tuple(sorted(beta.items())))
    # Three parameters a pair and no correlation between pairs: adaptation is quick. Diagnosing what
    # is sampled suffices; for a thousand pairs it takes as long as sampling.
    watched = ["p_a", "uv"] if "copy_probability" in beta else ["p_a", "u", "v"]
    data = compiled.with_data(cells=cells)
    return _sample(data, per_chain, 500, rng, progressbar, watched)


@functools.lru_cache(maxsize=8)
def _compiled_copying(n_pairs: int, prior: tuple[tuple[str, tuple[float, float]], ...]) -> Any:
    """Compiled copy model for any data of this shape: compiling takes longer than sampling."""
    import nutpie

    from alikely.models.copying import copying

    return nutpie.compile_pymc_model(copying(np.zeros((n_pairs, 4), dtype=int), dict(prior)))


def _sample(
    compiled: Any,
    per_chain: int,
    tune: int,
    rng: RandomState,
    progressbar: bool,
    watched: list[str],
    target_accept: float = TARGET_ACCEPT,
) -> xr.DataTree:
    import nutpie

    tree = nutpie.sample(
        compiled,
        draws=per_chain,
        tune=tune,
        chains=CHAINS,
        seed=spawn_integer(seed_sequence(rng)),
        save_warmup=False,
        target_accept=target_accept,
        progress_bar=progressbar,
    )
    _warn_of_trouble(tree, watched)
    return tree


def _warn_of_trouble(tree: xr.DataTree, watched: list[str]) -> None:
    draws = tree["posterior"].to_dataset()[watched]
    troubles = []
    divergences = int(tree["sample_stats"]["diverging"].sum())
    if divergences:
        troubles.append(f"{divergences} divergent transitions")
    if draws.sizes["draw"] >= 100:
        # Shorter chains cannot be judged by these.
        worst_r_hat = max(float(values.max()) for values in azs.rhat(draws).data_vars.values())
        least_ess = min(float(values.min()) for values in azs.ess(draws).data_vars.values())
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
