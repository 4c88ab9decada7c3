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
from alikely.data.blocks import Block, blocks
from alikely.errors.paired import divergence, log_gamma_shares
from alikely.errors.tables import dense_rows
from alikely.inference.features import joint_errors_of, wrong_answers
from alikely.inference.process import (
    PATTERNS,
    ClusterWeights,
    drawn_by_block,
    four_chains,
    process_weights,
)
from alikely.inference.sampling import LARGEST_LOG_LIKELIHOOD
from alikely.metrics import Metric, errors
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT
from alikely.metrics.rows import (
    ROW_DIMS,
    TABLE_DIMS,
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
    "joint_error_log_likelihood",
    "replicated_agreement",
    "row_draws",
    "row_similarities",
]

# Numbers held at a time by one worker.
CHUNK = 8_000_000
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


def row_similarities(
    posterior: xr.Dataset,
    rows: NDArray[np.integer],
    block: Block,
    generator: np.random.Generator,
    *,
    mixture: Mixture,
    base: float,
) -> Floats:
    """Similarity of each pair of a group at each draw: shape (draw, pair)."""
    per_chain = posterior.sizes["draw"]
    n_draws = posterior.sizes["chain"] * per_chain
    pairs = list(zip(block.a.tolist(), block.b.tolist(), strict=True))
    out = np.empty((n_draws, len(pairs)))
    step = max(1, CHUNK // rows.size)
    # Rows are large and needed for a moment only.
    for first in range(0, n_draws, step):
        at = np.arange(first, min(first + step, n_draws))
        part = posterior.isel(
            chain=xr.DataArray(at // per_chain, dims="at"),
            draw=xr.DataArray(at % per_chain, dims="at"),
        )
        part = part.reset_coords(drop=True).rename(at="draw").expand_dims("chain")
        drawn = error_row_draws(part, rows, generator)
        out[at] = error_divergence_draws(drawn, rows, pairs, mixture=mixture, base=base)
    return np.asarray(errors.error_similarity(out))


def row_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    *,
    alpha: float = 0.5,
    mixture: Mixture = "mean",
    base: float = 2,
    rng: RandomState = None,
) -> NDArray[np.float32]:
    """Exact draws of class-level error similarity from conjugate Dirichlet rows."""
    n_draws = four_chains(n_draws)
    generator = np.random.default_rng(seed_sequence(rng))
    out = np.full((n_draws, table.sizes["pair"]), np.nan, dtype=np.float32)
    for block in blocks(table):
        rows = dense_rows(block)
        if rows.any():
            k = block.n_classes
            fixed = xr.Dataset(
                {"base": (ROW_DIMS[1:], (1 - np.eye(k)) / (k - 1)), "concentration": ((), alpha)}
            ).expand_dims(chain=1, draw=n_draws)
            out[:, block.rows] = row_similarities(
                fixed, rows, block, generator, mixture=mixture, base=base
            )
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


def replicated_agreement(
    posterior: xr.Dataset | xr.DataTree, counts: ArrayLike | xr.DataArray, rng: RandomState = None
) -> xr.DataArray:
    """Misclassification agreement of data that the model of copied labels might have produced.

    As many joint errors of each true class as observed are drawn anew, once for each draw.

    Parameters
    ----------
    posterior : xarray.Dataset or xarray.DataTree
        ``copy_probability, errors_a`` and ``own_errors_b`` from `alikely.models.class_copying`;
        of a DataTree the group ``posterior``.
    counts : array_like or xarray.DataArray, shape (pair, true_class, label_a, label_b)
        The joint errors that the model was given.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    xarray.DataArray
        Dims ``sample, pair``; NaN where a replicate's agreement is undefined.

    Raises
    ------
    ValueError
        If the counts are not valid or do not fit the draws.

    Examples
    --------
    >>> copied = np.zeros((1, 3, 3, 3), dtype=int)
    >>> copied[0, 0, 1, 1] = copied[0, 1, 2, 2] = 20
    >>> rows = (np.full((1, 50, 1, 3, 3), 0.5)) * (1 - np.eye(3))
    >>> dims = ("chain", "draw", "pair", "true_class", "response_class")
    >>> posterior = xr.Dataset(
    ...     {
    ...         "copy_probability": (dims[:3], np.ones((1, 50, 1))),
    ...         "errors_a": (dims, rows),
    ...         "own_errors_b": (dims, rows),
    ...     }
    ... )
    >>> replicated_agreement(posterior, copied, rng=1).min().item()
    1.0
    """
    tables, labels = check_errors(counts, TABLE_DIMS)
    names = ("copy_probability", "errors_a", "own_errors_b")
    draws = _samples(posterior, names)
    copying, rows_a, rows_b = (
        draws[name].transpose("sample", "pair", ...).values for name in names
    )
    _refuse_other_counts(rows_a.shape[1:], tables)
    generator = np.random.default_rng(seed_sequence(rng))
    n_samples, n_pairs, n_classes = rows_a.shape[:3]
    out = np.full((n_samples, n_pairs), np.nan)
    for p in range(n_pairs):
        true = np.repeat(np.arange(n_classes), tables[p].sum(axis=(-2, -1)))
        if not len(true):
            continue
        label_a = _labels(rows_a[:, p], true, generator)
        own = _labels(rows_b[:, p], true, generator)
        copied = generator.random(own.shape) < copying[:, p, None]
        label_b = np.where(copied, label_a, own)
        cell = (np.arange(n_samples)[:, None] * n_classes + label_a) * n_classes + label_b
        drawn = np.bincount(cell.ravel(), minlength=n_samples * n_classes**2)
        out[:, p] = errors.misclassification_agreement(drawn.reshape(-1, n_classes, n_classes))
    return xr.DataArray(out, dims=("sample", "pair"), coords={"pair": labels["pair"]})


def joint_error_log_likelihood(
    posterior: xr.Dataset | xr.DataTree, counts: ArrayLike | xr.DataArray
) -> xr.Dataset:
    """Log likelihood of each joint error, in the form that `arviz.loo` takes.

    The unit is one trial that both observers got wrong, of one pair: its true class and both labels
    are left out together. The likelihoods of the model itself are of counts, three for each pair
    and class, none of which can be left out alone.

    Parameters
    ----------
    posterior : xarray.Dataset or xarray.DataTree
        ``class_share, copy_probability, errors_a`` and ``own_errors_b`` from
        `alikely.models.class_copying`; of a DataTree the group ``posterior``.
    counts : array_like or xarray.DataArray, shape (pair, true_class, label_a, label_b)
        The joint errors that the model was given.

    Returns
    -------
    xarray.Dataset
        ``joint_errors`` (chain, draw, observation), those of one cell of the counts after the
        other; ``entry`` (observation) names the pair, ``true_class, label_a, label_b`` the cell.

    Raises
    ------
    ValueError
        If the counts are not valid or do not fit the draws, or it would hold more than 300 million
        numbers.

    Examples
    --------
    >>> counts = np.zeros((1, 3, 3, 3), dtype=int)
    >>> counts[0, 0, 1, 1], counts[0, 0, 1, 2] = 3, 1
    >>> dims = ("chain", "draw", "pair", "true_class", "response_class")
    >>> rows = (dims, np.full((1, 2, 1, 3, 3), 0.5) * (1 - np.eye(3)))
    >>> posterior = xr.Dataset(
    ...     {
    ...         "class_share": (dims[:4], np.full((1, 2, 1, 3), 1 / 3)),
    ...         "copy_probability": (dims[:3], np.full((1, 2, 1), 0.4)),
    ...         "errors_a": rows,
    ...         "own_errors_b": rows,
    ...     }
    ... )
    >>> found = joint_error_log_likelihood(posterior, counts)
    >>> np.exp(found["joint_errors"].values[0, 0]).round(4).tolist()
    [0.1167, 0.1167, 0.1167, 0.05]
    """
    tables, labels = check_errors(counts, TABLE_DIMS)
    names = ("class_share", "copy_probability", "errors_a", "own_errors_b")
    draws = _chosen(posterior, names)
    share, copying, rows_a, rows_b = (
        draws[name].transpose("chain", "draw", "pair", ...).values for name in names
    )
    _refuse_other_counts(rows_a.shape[2:], tables)
    size = int(tables.sum()) * share.shape[0] * share.shape[1]
    if size > LARGEST_LOG_LIKELIHOOD:
        raise ValueError(
            f"the log likelihood of every joint error at every draw would hold {size:,} numbers; "
            "choose fewer pairs or draws"
        )
    pair, true, a, b = np.nonzero(tables)
    c = copying[..., pair]
    of_b = c * (a == b) + (1 - c) * rows_b[..., pair, true, b]
    cells = np.log(share[..., pair, true]) + np.log(rows_a[..., pair, true, a]) + np.log(of_b)
    each = np.repeat(np.arange(len(pair)), tables[pair, true, a, b])
    classes = np.array(labels["true_class"], dtype=object)
    named = {"true_class": true, "label_a": a, "label_b": b}
    return xr.Dataset(
        {"joint_errors": (("chain", "draw", "observation"), cells[..., each])},
        coords={
            "chain": np.arange(share.shape[0]),
            "draw": np.arange(share.shape[1]),
            "entry": ("observation", np.array(labels["pair"], dtype=object)[pair[each]]),
            **{name: ("observation", classes[at[each]]) for name, at in named.items()},
        },
    )


def _refuse_other_counts(shape: tuple[int, ...], tables: NDArray[np.int64]) -> None:
    if shape != tables.shape[:3]:
        raise ValueError(
            f"posterior is of the shape {shape} (pair, true_class, response_class) and "
            f"the counts of {tables.shape[:3]}; take the counts that the model was given"
        )


def _labels(
    rows: NDArray[np.float64], true: NDArray[np.intp], generator: np.random.Generator
) -> NDArray[np.intp]:
    """One label for each joint error, shape (sample, error), from rows (sample, true, response)."""
    steps = np.cumsum(rows, axis=-1)
    # Rounding may leave the last step short of 1, and the true class has no width.
    point = generator.random((len(rows), len(true))) * steps[:, true, -1]
    out = np.empty(point.shape, dtype=np.intp)
    for t in np.unique(true):
        here = true == t
        out[:, here] = (point[:, here, None] >= steps[:, t, None, :]).sum(axis=-1)
    return out


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
