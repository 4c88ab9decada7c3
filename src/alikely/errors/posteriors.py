"""Posterior draws of error patterns: rows, their divergences, and agreement on joint errors.

References
----------
.. [BCD01] Brown, Cai, DasGupta (2001). Interval estimation for a binomial proportion.
   doi:10.1214/ss/1009213286
.. [F73] Ferguson (1973). A Bayesian analysis of some nonparametric problems.
   doi:10.1214/aos/1176342360
.. [H48] Hoeffding (1948). A class of statistics with asymptotically normal distribution.
   doi:10.1214/aoms/1177730196
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import Block
from alikely.errors.paired import divergence, log_gamma_shares
from alikely.inference.features import joint_errors_of, wrong_answers
from alikely.inference.process import (
    PATTERNS,
    ClusterWeights,
    drawn_by_block,
    process_weights,
)
from alikely.metrics import Metric
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT
from alikely.metrics.rows import (
    ROW_DIMS,
    Mixture,
    check_errors,
    check_options,
    drop_true,
    insert_true,
)

__all__ = [
    "agreement_draws",
    "chained",
    "error_divergence_draws",
    "error_row_draws",
]

# Ways to draw that are not exact.
SAMPLERS = ("nuts", "gibbs", "moments", "strengths")
# Mass of the prior of agreement: half a joint error that agrees, half a one that does not.
MASS = 1.0
# As if each label had been given that much more often.
GIVEN = 0.5


def error_row_draws(
    posterior: xr.Dataset | xr.DataTree, rows: ArrayLike | xr.DataArray, rng: RandomState = None
) -> xr.DataArray:
    """Draw every system's error distributions, given draws of what they are drawn from.

    Parameters
    ----------
    posterior : xarray.Dataset or xarray.DataTree
        ``base`` and ``concentration`` from `alikely.models.error_distributions`, with the dims
        ``chain, draw``; of a DataTree the group ``posterior``.
    rows : array_like or xarray.DataArray, shape (system, true_class, response_class)
        The error counts that the model was given.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    xarray.DataArray
        Dims ``sample, system, true_class, response_class``; probabilities that sum to 1 over
        responses, 0 at the true class.

    Raises
    ------
    ValueError
        If the counts are not valid or do not fit the draws.

    Notes
    -----
    Given base ``m`` and concentration ``k`` a row of counts ``n`` of C classes has the
    distribution Dirichlet(n + k (C - 1) m), drawn here exactly.

    Examples
    --------
    >>> rows = [[[0, 5, 1], [2, 0, 2], [0, 3, 0]], [[0, 4, 2], [2, 0, 1], [1, 3, 0]]]
    >>> posterior = xr.Dataset(
    ...     {
    ...         "base": (("chain", "draw", "true_class", "response_class"),
    ...                  np.full((1, 100, 3, 3), 0.5) * (1 - np.eye(3))),
    ...         "concentration": (("chain", "draw"), np.full((1, 100), 0.5)),
    ...     }
    ... )
    >>> dict(error_row_draws(posterior, rows, rng=1).sizes)
    {'sample': 100, 'system': 2, 'true_class': 3, 'response_class': 3}
    """
    counts, labels = check_errors(rows, ROW_DIMS)
    n_classes = counts.shape[-1]
    draws = _samples(posterior, ("base", "concentration"))
    base = draws["base"].transpose("sample", ...).values
    if base.shape[1:] != (n_classes, n_classes):
        raise ValueError(
            f"posterior is of {base.shape[-1]} classes and the counts of {n_classes}; take the "
            "counts that the model was given"
        )
    concentration = draws["concentration"].transpose("sample", ...).values
    # One concentration for all true classes, or one for each.
    concentration = concentration.reshape(len(base), -1, 1)
    prior = concentration * (n_classes - 1) * drop_true(base)
    parameters = prior[:, None] + drop_true(counts)
    shares = log_gamma_shares(parameters, np.random.default_rng(seed_sequence(rng)))
    return xr.DataArray(
        insert_true(shares, n_classes),
        dims=("sample", *ROW_DIMS),
        coords={**labels, "response_class": labels["true_class"]},
    )


def error_divergence_draws(
    row_draws: ArrayLike | xr.DataArray,
    rows: ArrayLike | xr.DataArray,
    pairs: Sequence[tuple[int, int]] | None = None,
    *,
    mixture: Mixture = "mean",
    base: float = 2,
) -> NDArray[np.float64]:
    """Class-level error divergence of drawn distributions, as they are: not smoothed again [X25]_.

    Parameters
    ----------
    row_draws : array_like, shape (sample, system, true_class, response_class)
        Probabilities, as from `error_row_draws`.
    rows : array_like or xarray.DataArray, shape (system, true_class, response_class)
        Error counts: a true class has the weight of both systems' errors.
    pairs : sequence of (int, int), optional
        Positions of systems; all pairs if not given.
    mixture : {"mean", "pooled"}
        Compare with the mean of both distributions, or with their mean weighted by the numbers of
        errors.
    base : {2, e, 10}
        Of the logarithm; 2 gives bits, in [0, 1].

    Returns
    -------
    ndarray of float64, shape (sample, pair)
        NaN for a pair without any error.

    Raises
    ------
    ValueError
        If counts and draws do not fit, or a pair is not one of two systems.

    Examples
    --------
    >>> rows = [[[0, 5, 1], [2, 0, 2], [0, 3, 0]], [[0, 4, 2], [2, 0, 1], [1, 3, 0]]]
    >>> same = np.full((100, 2, 3, 3), 0.5) * (1 - np.eye(3))
    >>> error_divergence_draws(same, rows).max().item()
    0.0
    """
    counts, _ = check_errors(rows, ROW_DIMS)
    check_options(1, mixture, base)
    shares = np.asarray(row_draws, dtype=np.float64)
    if shares.ndim != 4 or shares.shape[1:] != counts.shape:
        raise ValueError(
            f"row_draws must have the shape (sample, {', '.join(map(str, counts.shape))}), got "
            f"{shares.shape}"
        )
    n_systems = len(counts)
    if pairs is None:
        pairs = list(zip(*np.triu_indices(n_systems, 1), strict=True))
    totals = counts.sum(axis=-1)
    out = np.full((len(shares), len(pairs)), np.nan)
    # Pair by pair: all at once would hold the draws of every system once per partner.
    for p, (a, b) in enumerate(pairs):
        if not (0 <= a < n_systems and 0 <= b < n_systems):
            raise ValueError(f"pairs must be of systems 0 to {n_systems - 1}, got ({a}, {b})")
        weight = totals[a] + totals[b]
        if weight.any():
            part = np.full((len(weight), 1), 0.5)
            if mixture == "pooled":
                np.divide(totals[a], weight, out=part[:, 0], where=weight > 0)
            apart = divergence(shares[:, a], shares[:, b], part, base)
            # A class without errors may be infinitely far apart, and counts nothing.
            out[:, p] = apart[:, weight > 0] @ (weight[weight > 0] / weight.sum())
    return out


def chained(
    draws: NDArray[np.floating],
    table: xr.Dataset,
    metric: Metric,
    sampler: str,
    *,
    joint: bool = True,
    clustered: bool = False,
) -> xr.Dataset:
    """Lay draws out in four chains, as ArviZ takes them."""
    shaped = draws.reshape(4, -1, table.sizes["pair"])
    return xr.Dataset(
        {metric.name: (("chain", "draw", "pair"), shaped)},
        coords={"pair": table["pair"].values},
        attrs={
            "sampler": sampler if sampler in SAMPLERS else "exact",
            "joint": int(joint),
            "clustered": int(clustered),
        },
    )


def _chosen(posterior: xr.Dataset | xr.DataTree, names: tuple[str, ...]) -> xr.Dataset:
    """Draws of the variables wanted."""
    if isinstance(posterior, xr.DataTree):
        posterior = posterior["posterior"].to_dataset()
    lacking = [name for name in names if name not in posterior]
    if lacking:
        raise ValueError(f"posterior must hold {', '.join(names)}; {lacking[0]!r} is missing")
    return posterior[list(names)].reset_coords(drop=True)


def _samples(posterior: xr.Dataset | xr.DataTree, names: tuple[str, ...]) -> xr.Dataset:
    """Chains and draws in one dim, of the variables wanted."""
    return _chosen(posterior, names).stack(sample=("chain", "draw"), create_index=False)


def agreement_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    metric: Metric = MISCLASSIFICATION_AGREEMENT,
    rng: RandomState = None,
    cluster: str | None = None,
) -> NDArray[np.float32]:
    """Draws of agreement on joint errors whose quantiles hold also where joint errors are few.

    Joint errors have the weights of a Dirichlet process [F73]_ whose prior is that of Jeffreys for
    a share [BCD01]_; chance is of different joint errors, a U-statistic [H48]_.
    """
    if "response" not in table:
        raise ValueError(
            f"{metric.name} needs class labels and this table has none; count it with labels=True"
        )
    return drawn_by_block(_agreement_of_block, table, n_draws, metric, rng, cluster)


def _agreement_of_block(
    block: Block,
    n_draws: int,
    metric: Metric,
    seed: np.random.SeedSequence,
    clusters: ClusterWeights | None,
) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    n_pairs, n_trials, width = len(block.a), block.correct.shape[1], 1 + 2 * block.n_classes
    statistics, squares = _designs(block, rng)
    out = np.empty((n_draws, n_pairs), dtype=np.float32)
    held = n_pairs * (width + 2)
    for some, weights in process_weights(rng, n_draws, n_trials, MASS, held, clusters):
        # Sums over trials, (draw, pair, statistic).
        sums, own = (
            (design @ part.T).T.reshape(len(weights), n_pairs, -1)
            for design, part in ((statistics, weights), (squares, weights**2))
        )
        out[some] = metric.value(sums) if metric.distinct is None else metric.distinct(sums, own)
    out[:, ~block.shares()[:, 3].any(axis=1)] = np.nan
    return out


def _designs(block: Block, rng: np.random.Generator) -> list[sparse.csr_array]:
    """What trials and patterns add to the statistics of each pair, and to two sums of squares.

    Shapes are (pair * (1 + 2 * class), trial) and (pair * 2, trial).
    """
    n_pairs, n_trials, k = len(block.a), block.correct.shape[1], block.n_classes
    pair, trial, first, second, share = joint_errors_of(block)
    labels = _patterns(block, rng)
    first, second = (
        np.concatenate([given, labels[side].ravel()])
        for given, side in ((first, block.a), (second, block.b))
    )
    at, pattern = np.indices((n_pairs, PATTERNS)).reshape(2, -1)
    pair, trial = np.concatenate([pair, at]), np.concatenate([trial, n_trials + pattern])
    share = np.concatenate([share, np.ones(len(at))])
    width, size = 1 + 2 * k, n_trials + PATTERNS

    def design(
        values: list[Floats], rows: list[NDArray[np.intp]], trial: NDArray[np.intp]
    ) -> sparse.csr_array:
        columns = np.tile(trial, len(rows))
        shape = n_pairs * (width if len(rows) == 3 else 2), size
        matrix = sparse.csr_array(
            (np.concatenate(values), (np.concatenate(rows), columns)), shape=shape
        )
        matrix.eliminate_zeros()
        return matrix

    start = pair * width
    rows = [start, start + 1 + first, start + 1 + k + second]
    statistics = design([share * (first == second), share, share], rows, trial)
    # A trial with itself: all its first labels with all its second ones.
    met, own = np.unique(pair * size + trial, return_inverse=True)
    given = [
        sparse.csr_array((share, (own, label)), shape=(len(met), k)) for label in (first, second)
    ]
    alike = np.asarray(given[0].multiply(given[1]).sum(axis=1)).ravel()
    whole = np.asarray(np.bincount(own, share), dtype=np.float64) ** 2
    start, trial = met // size * 2, met % size
    return [statistics, design([alike, whole], [start, start + 1], trial)]


def _patterns(block: Block, rng: np.random.Generator) -> NDArray[np.intp]:
    """Labels of the prior, (observer, pattern)."""
    given = block.response[wrong_answers(block)]
    frequency = np.bincount(given, minlength=block.n_classes) + GIVEN
    shape = (len(block.correct), PATTERNS)
    # Both of a pair give the common label half of the time; the others give labels of their own,
    # which are not it, however frequent it is.
    follows = rng.random(shape) < np.sqrt(0.5)
    share = frequency / frequency.sum()
    common = rng.choice(block.n_classes, PATTERNS, p=share)
    others = np.where(np.arange(block.n_classes) == common[:, None], 0, share)
    steps = np.cumsum(others, axis=1)
    point = rng.random(shape) * steps[:, -1]
    own = (point[..., None] >= steps).sum(axis=-1)
    return np.where(follows, common, own)
