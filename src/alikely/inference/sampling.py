"""Posterior draws: exact where a closed form exists, NUTS otherwise.

References
----------
.. [HG14] Hoffman, Gelman (2014). The No-U-Turn sampler. doi:10.48550/arXiv.1111.4246
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.data.blocks import cluster_numbers
from alikely.data.tables import CELLS
from alikely.inference.chains import CHAINS, DRAW_MORE, check_include, labeled, nuts
from alikely.inference.process import COPY_MODEL, four_chains, pairwise_draws
from alikely.inference.resampling import joint_draws
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.consistency import Prior, cell_prior, check_prior

if TYPE_CHECKING:
    import pymc as pm

Sampler = Literal["auto", "exact", "nuts"]


def _log_share(cell: int) -> Metric:
    def value(cells: ArrayLike) -> NDArray[np.float64]:
        array = np.asarray(cells, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(array[..., cell]) - np.log(array.sum(axis=-1))

    return Metric(f"log_{CELLS[cell]}", value)


LOG_CELLS = tuple(_log_share(cell) for cell in range(len(CELLS)))
LARGEST_LOG_LIKELIHOOD = 300_000_000


def check_sampler(sampler: str) -> None:
    """Raise `ValueError` for the name of an unknown sampler."""
    if sampler not in ("auto", "exact", "nuts"):
        raise ValueError(f"sampler must be 'auto', 'exact' or 'nuts', got {sampler!r}")


def posterior(
    table: xr.Dataset,
    sampler: Sampler = "auto",
    prior: Prior | None = None,
    n_draws: int | None = None,
    rng: RandomState = None,
    metric: Metric = ERROR_CONSISTENCY,
    model: str | pm.Model = "copying",
    include: Sequence[str] = (),
    cluster: str | None = None,
) -> xr.DataTree:
    """Draw from the posterior of the copy model for all pairs in a correctness table.

    Parameters
    ----------
    table : xarray.Dataset
        Count table, as returned by `alikely.data.joint_correctness`.
    sampler : {"auto", "exact", "nuts"}
        - ``"exact"``: draws from the joint posterior of all pairs for priors that `joint_draws`
          supports, such as the default; draws for each pair separately for other priors on ``p_a,
          u, v``
        - ``"nuts"``: Markov chain Monte Carlo [HG14]_, for each pair separately
        - ``"auto"``: exact draws if they are available; otherwise NUTS, for example for a custom
          `model`
    prior : mapping or sequence of four numbers, optional
        As in `alikely.error_consistency`.
    n_draws : int
        Total number of draws from 4 chains; at least 4, rounded up to a multiple of 4.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    metric : Metric
        Correctness metric to evaluate at each draw, in addition to error consistency and copy
        probability.
    model : "copying" or pymc.Model
        Generative model for MCMC: `alikely.models.copying`, or a custom model of the pairs that
        defines the metric as a variable with the dimension ``pair``.
    include : "all" or sequence of str
        Groups to add to the returned tree. ``"log_likelihood"`` adds the log likelihood of every
        trial of every pair, or of a custom model's observed values, for `arviz.loo`. All groups
        except ``posterior`` and ``log_likelihood`` (see `alikely.inference.nuts`) require MCMC.
    cluster : str, optional
        Trial coordinate that defines clusters, such as ``"item"``. In each draw from the joint
        posterior, all trials in a cluster have the same weight. If the posterior of each pair is
        sampled separately, `cluster` is ignored, so trials are treated as independent.

    Returns
    -------
    xarray.DataTree
        Tree with the group ``posterior`` (dimensions: chain, draw, pair). With NUTS, the returned
        tree contains all groups that `alikely.inference.nuts` returns. If you request
        ``log_likelihood``, this group has the dimensions chain, draw and observation. The posterior
        has the attributes ``joint`` (whether draws for different pairs are sampled jointly) and
        ``clustered`` (whether `cluster` was used).

    Raises
    ------
    ValueError
        If the sampler or model is unknown, or the prior or the number of draws is invalid.
    ValueError
        If exact draws are requested for a prior or a model for which they are not available.
    ValueError
        If items are repeated, but the requested posterior requires a single response per item.
    ValueError
        If a custom model has no variable for the metric.
    ValueError
        If a custom model contains neither the 2 x 2 counts nor the correctness of a pair in
        `table`.

    Examples
    --------
    >>> from alikely.data import from_counts
    >>> tree = posterior(from_counts([100, 20, 20, 20]), rng=1)
    >>> dict(tree["posterior"].sizes) == {"chain": 4, "draw": 1000, "pair": 1}
    True
    """
    n_draws = resolve("n_draws", n_draws)
    check_sampler(sampler)
    per_chain = four_chains(n_draws) // CHAINS
    check_prior(prior)
    groups = check_include(include)
    log_likelihood, of_chains = "log_likelihood" in groups, set(groups) - {"log_likelihood"}
    if sampler == "exact" and (model != "copying" or of_chains):
        given = "model" if model != "copying" else "include"
        raise ValueError(f"{given} is for MCMC, but sampler is 'exact'; use sampler='nuts'")
    by_chains = sampler == "nuts" or (sampler == "auto" and bool(model != "copying" or of_chains))
    joint = _is_joint(prior)
    if table.attrs.get("repeats") == "crossed" and (by_chains or not joint or log_likelihood):
        raise ValueError(
            "items are repeated, but MCMC, log likelihoods and priors that treat the observers "
            "differently need one response to each item; leave out these options, or pass "
            "cluster='trial' to treat all responses as independent"
        )
    if by_chains:
        return _by_chains(table, model, prior, n_draws, rng, metric, groups)
    asked = tuple(dict.fromkeys((*COPY_MODEL, metric)))
    metrics = (*asked, *LOG_CELLS) if log_likelihood else asked
    if joint:
        units = None if cluster is None else cluster_numbers(table, cluster)
        drawn = joint_draws(table, per_chain * CHAINS, metrics, rng, units, prior)
    else:
        cells = table["cells"].values
        drawn = pairwise_draws(cells, prior, per_chain * CHAINS, metrics, rng)
        for values in drawn.values():
            values[:, cells.sum(axis=1) == 0] = np.nan
    shape = (CHAINS, per_chain, table.sizes["pair"])
    reshaped = {name: values.reshape(shape) for name, values in drawn.items()}
    log_cells = [reshaped.pop(metric.name) for metric in metrics[len(asked) :]]
    posterior_draws = xr.Dataset(
        {name: (("chain", "draw", "pair"), values) for name, values in reshaped.items()},
        coords={
            "chain": np.arange(CHAINS),
            "draw": np.arange(per_chain),
            "pair": table["pair"].values,
        },
        attrs={"sampler": "exact", "joint": int(joint), "clustered": int(joint)},
    )
    tree = {"posterior": posterior_draws}
    if log_likelihood:
        tree["log_likelihood"] = trial_log_likelihood(table, np.stack(log_cells, axis=-1))
    return xr.DataTree.from_dict(tree)


def _is_joint(prior: Prior | None) -> bool:
    """Whether one joint posterior of all pairs has this prior."""
    try:
        cell_prior(prior).patterns("")
    except ValueError:
        return False
    return True


def trial_log_likelihood(table: xr.Dataset, log_cells: NDArray[np.floating]) -> xr.Dataset:
    """Log likelihood of each trial from that of its cell, in the form that `arviz.loo` takes."""
    counts = table["cells"].values
    _refuse_size(counts, log_cells.shape[0] * log_cells.shape[1])
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


def _refuse_size(counts: NDArray[np.integer], n_draws: int) -> None:
    size = int(counts.sum()) * n_draws
    if size > LARGEST_LOG_LIKELIHOOD:
        raise ValueError(
            f"the log likelihood of every trial at every draw would take {size:,} numbers; choose "
            "fewer pairs or draws, or use alikely.test_copy_model, which needs no draws"
        )


def _cells_of_nuts(draws: xr.Dataset) -> NDArray[np.float64]:
    """Probabilities of the four cells: shape (chain, draw, pair, 4)."""
    p_a, u, v = (draws[name].values for name in ("p_a", "u", "v"))
    return np.stack([p_a * u, p_a * (1 - u), (1 - p_a) * v, (1 - p_a) * (1 - v)], axis=-1)


def _by_chains(
    table: xr.Dataset,
    model: str | pm.Model,
    prior: Prior | None,
    n_draws: int,
    rng: RandomState,
    metric: Metric,
    groups: Sequence[str],
) -> xr.DataTree:
    # The models import PyMC: only when needed.
    from alikely.models._arguments import asked_model, is_named, require_pairs
    from alikely.models.copies import copying

    beta, default = check_prior(prior), check_prior(None)
    cells, pairs = table["cells"].values, table["pair"].values
    of_pairs = {name: pair for name, pair in beta.items() if default.get(name) != pair}
    # Without labels: compiled once for all numbers of pairs that are equal.
    builders = {"copying": lambda: copying(cells, priors=of_pairs)}
    plain = is_named(model, list(builders))
    if not plain and prior is not None:
        raise ValueError(
            "prior is for the model 'copying'; pass priors= to the constructor of another model"
        )
    built = asked_model(model, builders, {metric.name: ("pair",)}, {"pair": pairs})
    if not plain:
        require_pairs(built, table)
    # Of trials, so that models of pairs can be compared with others.
    by_trial = plain and "log_likelihood" in groups
    if by_trial:
        _refuse_size(cells, n_draws)
    # Three parameters a pair and no correlation between pairs: adaptation is quick.
    remedy = f"{DRAW_MORE}, or use sampler='exact'" if plain else DRAW_MORE
    tune = 500 if plain else 1_000
    others = [name for name in groups if not (by_trial and name == "log_likelihood")]
    tree = nuts(built, n_draws, tune, rng, remedy=remedy, include=others)
    tree = labeled(tree, pair=pairs)
    # Without a common trial the posterior would be the prior.
    draws = tree["posterior"].to_dataset()
    seen = xr.DataArray(cells.sum(axis=1) > 0, dims="pair")
    if not seen.all():
        own = [name for name in draws.data_vars if "pair" in draws[name].dims]
        draws = draws.assign({name: draws[name].where(seen) for name in own})
    if metric.name not in draws:
        values = metric.value(_cells_of_nuts(draws)).astype(np.float32)
        draws[metric.name] = (("chain", "draw", "pair"), values)
    draws.attrs.update(sampler="nuts", joint=0)
    tree["posterior"] = draws
    if by_trial:
        with np.errstate(divide="ignore"):
            log_cells = np.log(_cells_of_nuts(draws))
        tree["log_likelihood"] = trial_log_likelihood(table, log_cells)
    return tree
