"""Posterior limits of error consistency and of kappa_p from counts, without draws.

References
----------
.. [CF38] Cornish, Fisher (1938). Moments and cumulants in the specification of distributions.
   doi:10.2307/1400905
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats, normal_nodes
from alikely._base.intervals import check_interval
from alikely._base.parallel import in_parallel
from alikely.inference.independence import whole_counts
from alikely.metrics import ERROR_CONSISTENCY
from alikely.metrics.consistency import Prior, cell_prior
from alikely.metrics.options import chance_agreement

# How results call limits that need no draws.
WITHOUT_DRAWS = "without draws"

# The expansion serves tables whose cells, with their prior, are all at least so large; the others
# are integrated.
LEAST = 5.5
# Points in the expansion of each of three shares, and of the share of equal joint errors.
NODES = (5, 3)
# Points of the accuracy and of one share in the integral, evenly spread over so many standard
# deviations of a normal law; and of the other share's distribution, between the tails left out.
OF_P, OF_U, REACH = 64, 32, 4.8
GRID, LEFT_OUT = 1_024, 1e-10
# With fewer in a cell the expansion fails, and draws take its place: with so many the tails of 95 %
# limits have a standard error of 0.0008.
FEWEST, N_DRAWS = 5, 40_000
# Tables held at a time by one worker, and integrated.
BLOCK, TOGETHER = 65_536, 64
# Counts below this are packed four to a number.
NARROWEST = 65_536


def posterior_limits(
    cells: ArrayLike,
    ci_prob: float = 0.95,
    *,
    prior: Prior | None = None,
) -> Floats:
    """Compute equal-tailed posterior limits of error consistency without draws."""
    check_interval(ci_prob, "eti")
    levels = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    return posterior_quantiles(cells, levels, prior=prior)


def posterior_quantiles(
    cells: ArrayLike,
    levels: ArrayLike,
    *,
    prior: Prior | None = None,
) -> Floats:
    """Compute posterior quantiles of error consistency by the method of `posterior_limits`."""
    probabilities = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    if not ((probabilities > 0) & (probabilities < 1)).all():
        raise ValueError(f"levels must lie strictly between 0 and 1, got {levels!r}")
    own = cell_prior(prior).cells("limits without draws")
    counts = whole_counts(cells)
    flat = counts.reshape(-1, 4)
    limits = np.full((len(flat), len(probabilities)), np.nan)
    blocks = [slice(start, start + BLOCK) for start in range(0, len(flat), BLOCK)]
    others = [np.empty((0, 4), dtype=np.int64)]
    jobs = [(flat[at], own, probabilities) for at in blocks]
    for at, (found, rest) in zip(blocks, in_parallel(_expand, jobs), strict=True):
        limits[at] = found
        others.append(rest)
    # Tables with a small cell, each distinct one integrated once. Neighbors in the order of
    # keys share margins, whose inverse functions are computed once.
    every = np.concatenate(others)
    wide = bool(every.max(initial=0) >= NARROWEST)
    keys, first = np.unique(_keys(every, wide), return_index=True)
    # Whatever the prior, what is integrated may be turned with it.
    turned = _turned(every[first] + own, np.zeros(4))
    pieces = range(0, len(turned), TOGETHER)
    rest = [(turned[at : at + TOGETHER], probabilities) for at in pieces]
    integrals = np.concatenate([limits[:0], *in_parallel(_integrated, rest)])
    for start in range(0, len(flat), BLOCK) if len(integrals) else ():
        rows = _small(flat[start : start + BLOCK], own) + start
        where = np.searchsorted(keys, _keys(_turned(flat[rows], own), wide))
        limits[rows] = integrals[where]
    return limits.reshape(*counts.shape[:-1], len(probabilities))


def _small(block: NDArray[np.integer], prior: Floats) -> NDArray[np.intp]:
    """Rows with a cell too small for the expansion, without the empty ones."""
    return np.flatnonzero(((block + prior).min(axis=1) < LEAST) & (block.max(axis=1) > 0))


def _expand(
    block: NDArray[np.integer], prior: Floats, levels: Floats
) -> tuple[Floats, NDArray[np.int64]]:
    """Limits of tables with large cells, and the other distinct tables."""
    cells = block + prior
    first, second = cells[:, 1], cells[:, 2]
    exchanged = (first > second) == (cells[:, 0] > cells[:, 3])
    both = np.where(exchanged, second, first), np.where(exchanged, first, second)
    five = np.stack([cells[:, 0], *both, cells[:, 3], np.zeros(len(block))], axis=1)
    served = (cells.min(axis=1) >= LEAST) & (block.max(axis=1) > 0)
    limits = _expansion(five, np.ones(len(block)), served, levels)
    tables = _turned(block[_small(block, prior)], prior)
    _, distinct = np.unique(_keys(tables, wide=True), return_index=True)
    return limits, tables[distinct]


def _expansion(cells: Floats, f: Floats, served: NDArray[np.bool_], levels: ArrayLike) -> Floats:
    """Quantiles of kappa_p, for errors equal by chance with probability f; NaN if not served.

    The Cornish-Fisher expansion [CF38]_ gives nodes of the logit of each share, and the quantiles.
    """
    from alikely.inference.count_loops import expanded

    z = special.ndtri(np.asarray(levels, dtype=np.float64))
    limits = np.full((len(cells), len(z)), np.nan)
    (nodes, w), (more_nodes, more) = (normal_nodes(n) for n in NODES)
    cube = np.multiply.outer(np.multiply.outer(w, w), w)
    weights = cube.ravel(), np.multiply.outer(cube, more).ravel()
    expanded(cells, f, served, (nodes, more_nodes), weights, z, limits)
    return limits


def _turned(tables: NDArray[Any], prior: Floats) -> NDArray[Any]:
    """Tables with observers, or correct and incorrect, exchanged so that u has little effect."""
    ways = np.array([[0, 1, 2, 3], [3, 2, 1, 0], [0, 2, 1, 3], [3, 1, 2, 0]])
    ways = ways[(prior[ways] == prior).all(axis=1)]
    least = np.argmin([_part_of_u((tables + prior)[:, way]) for way in ways], axis=0)
    return np.take_along_axis(tables, ways[least], axis=1)


def _part_of_u(tables: Floats) -> Floats:
    """First-order contribution of b's accuracy where a is correct to the variance of kappa."""
    n11, n10, n01, n00 = tables.T
    p = (n11 + n10) / (n11 + n10 + n01 + n00)
    u, v = n11 / (n11 + n10), n01 / (n01 + n00)
    apart = p + (1 - 2 * p) * (p * u + (1 - p) * v)
    kappa = 2 * p * (1 - p) * (u - v) / apart
    slope = p * (2 * (1 - p) - kappa * (1 - 2 * p)) / apart
    return np.asarray(slope**2 * u * (1 - u) / (n11 + n10 + 1))


def _keys(tables: NDArray[np.int64], wide: bool) -> NDArray[np.generic]:
    """A sortable value for each distinct table."""
    if wide:
        return np.ascontiguousarray(tables.astype(">u8")).view("S32")[:, 0]
    packed = tables.astype(np.uint64)
    return (packed << np.array([48, 32, 16, 0], dtype=np.uint64)).sum(axis=1)


def _integrated(tables: Floats, levels: Floats) -> Floats:
    """Limits of Dirichlet tables with any parameters."""
    from alikely.inference.count_loops import solved

    n11, n10, n01, n00 = tables.T
    z_p, z_u = (np.linspace(-REACH, REACH, n) for n in (OF_P, OF_U))
    of_p, of_u = np.diff(special.ndtr(z_p)), np.exp(-(z_u**2) / 2)
    p = _points(n11 + n10, n01 + n00, z_p)
    u = _points(n11, n10, z_u)
    table = _of_distinct(_distribution, n01, n00)
    below, first, width = table[:, :GRID], table[:, GRID], table[:, GRID + 1]
    area = np.zeros_like(below)
    v = _share(first[:, None] + width[:, None] * np.arange(GRID))
    np.cumsum((below[:, 1:] + below[:, :-1]) / 2 * np.diff(v, axis=1), axis=1, out=area[:, 1:])
    # A normal law is near enough to begin with.
    center, influence = ERROR_CONSISTENCY.value(tables), ERROR_CONSISTENCY.influence(tables)
    se = np.maximum(np.sqrt((tables * influence**2).sum(axis=1)) / tables.sum(axis=1), 1e-6)
    start = np.clip(center[:, None] + se[:, None] * special.ndtri(levels), -0.999, 0.999)
    limits = np.empty((len(tables), len(levels)))
    weights = of_p / of_p.sum(), of_u / of_u.sum()
    of_v = below, area, first, width
    solved(p, weights[0], u, weights[1], of_v, start, se, levels, limits)
    return limits


def _of_distinct(function: object, a: Floats, b: Floats) -> Floats:
    """Rows of a function of two parameters, computed once for equal ones."""
    pairs, row = np.unique(np.stack([a, b], axis=1), axis=0, return_inverse=True)
    return np.asarray(function(pairs[:, 0], pairs[:, 1])[row.ravel()])  # type: ignore[operator]


def _points(a: Floats, b: Floats, z: Floats) -> Floats:
    """Quantiles of Beta(a, b) at these normal deviates: (table, z)."""

    def quantiles(a: Floats, b: Floats) -> Floats:
        return np.asarray(special.betaincinv(a[:, None], b[:, None], special.ndtr(z)))

    return _of_distinct(quantiles, a, b)


def _root(v: Floats) -> Floats:
    """Scale on which Beta distributions are smooth at both ends, 0 to 1."""
    left, right = np.sqrt(v), np.sqrt(1 - v)
    return np.asarray(left / (left + right))


def _share(root: Floats) -> Floats:
    """Inverse of `_root`, in [0, 1]."""
    return root**2 / (root**2 + (1 - root) ** 2)


def _distribution(a: Floats, b: Floats) -> Floats:
    """Distribution function of Beta(a, b), then where its steps begin and their width."""
    first = _root(special.betaincinv(a, b, LEFT_OUT))
    last = _root(1 - special.betaincinv(b, a, LEFT_OUT))
    width = (last - first) / (GRID - 1)
    v = _share(np.clip(first[:, None] + width[:, None] * np.arange(GRID), 0.0, 1.0))
    below = special.betainc(a[:, None], b[:, None], v)
    return np.column_stack([below, first, width])


def option_limits(
    cells: ArrayLike,
    n_options: ArrayLike,
    probabilities: Sequence[float] = (0.025, 0.5, 0.975),
    prior: Prior | None = None,
) -> Floats:
    """Compute posterior quantiles of discrete `kappa_p` from counts of questions.

    The five cells are: both correct, only the first, only the second, same error, different errors.
    The posterior is a Dirichlet distribution over five cells, which is equivalent to four
    independent Beta variables: three accuracies, and the proportion of joint errors with equal
    responses. The prior weight of joint errors is divided between equal and different responses as
    expected by chance. If the number of options varies, `n_options` is 1 plus 1 over the mean of
    ``1 / (options - 1)``.
    """
    counts = np.asarray(cells, dtype=np.float64)
    options = np.broadcast_to(np.asarray(n_options, dtype=np.float64), counts.shape[:-1])
    own = cell_prior(prior).cells("limits without draws")
    flat, of = counts.reshape(-1, 5), 1 / (options.reshape(-1) - 1)
    few = (flat[:, :4].min(axis=1) < FEWEST) | ((of < 1) & (flat[:, 4] < FEWEST))
    out = _expansion(flat + _five(own, of), of, ~few, probabilities)
    tables, again = np.unique(np.column_stack([flat, of])[few], axis=0, return_inverse=True)
    drawn = [
        _by_draws(table[:5] + _five(own, table[5]), table[5], probabilities) for table in tables
    ]
    if drawn:
        out[few] = np.stack(drawn)[again]
    return out.reshape(*counts.shape[:-1], out.shape[1])


def _five(prior: Floats, f: Floats) -> Floats:
    """Parameters of the prior of five cells: (..., 5)."""
    n11, n10, n01, n00 = (np.broadcast_to(own, np.shape(f)) for own in prior)
    return np.stack([n11, n10, n01, n00 * f, n00 * (1 - f)], axis=-1)


def _by_draws(cells: Floats, f: float, probabilities: Sequence[float]) -> Floats:
    """Quantiles of draws, the same for the same table."""
    rng = np.random.default_rng(N_DRAWS)
    x = rng.standard_gamma(cells, size=(N_DRAWS, 5))
    both, first, second, _, other = (x / x.sum(axis=1, keepdims=True)).T
    a, b = both + first, both + second
    kappa = 1 - (first + second + other) / (1 - chance_agreement(a, b, np.asarray(f)))
    return np.asarray(np.quantile(kappa, probabilities))
