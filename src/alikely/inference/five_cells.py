"""Posterior limits of kappa_p without draws, for many pairs of systems at once.

References
----------
.. [CF38] Cornish, Fisher (1938). Moments and cumulants in the specification of distributions.
   doi:10.2307/1400905
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats, normal_nodes
from alikely.metrics.cell_priors import Prior, cell_prior
from alikely.metrics.options import chance_agreement

__all__ = ["FIVE_CELLS", "option_limits"]

# Answers of a pair to a question, the last two with both wrong.
FIVE_CELLS = ("both right", "first right", "second right", "same", "different")
# Nodes of the quadrature over each of four independent probabilities: kappa_p is linear in the
# last.
NODES = (5, 5, 5, 3)
# With fewer in a cell the expansion fails, and draws take its place: with so many the tails of 95 %
# limits have a standard error of .0008.
FEWEST, N_DRAWS = 5, 40_000
# Pairs at a time.
CHUNK = 20_000


def option_limits(
    cells: ArrayLike,
    n_options: ArrayLike,
    probabilities: Sequence[float] = (0.025, 0.5, 0.975),
    prior: Prior | None = None,
) -> Floats:
    """Quantiles of the posterior of `kappa_p` of answers, by expansion about its moments.

    The posterior is the Dirichlet of five cells of `option_draws`. It is that of four independent
    beta variables: whether the first is right, whether the second is where the first is or is not,
    and whether joint errors are the same. Their logits have exact cumulants; Gauss-Hermite nodes of
    each, placed by the expansion of Cornish and Fisher [CF38]_, give four moments of Fisher's z of
    kappa_p, and the same expansion its quantiles. Pairs with fewer than 5 in a cell have 40,000
    draws instead.

    Parameters
    ----------
    cells : array_like of int, shape (..., 5)
        Counts of questions in the order of `FIVE_CELLS`.
    n_options : array_like of float, shape (...)
        Options of the questions, at least 2; where they vary one plus one over the mean of
        ``1 / (options - 1)``.
    probabilities : sequence of float
        Of the quantiles, in (0, 1).
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior on the cells of correctness, as in `alikely.error_consistency`; its part
        with both wrong is split as chance does.

    Returns
    -------
    ndarray, shape (..., probability)

    Raises
    ------
    ValueError
        If there are not five counts each, one is negative, there are fewer than two options, joint
        errors differ where there is one wrong option, or the prior is not a Dirichlet distribution.

    Notes
    -----
    Against 400,000 draws of 216 tables (30 to 12,000 questions, two to ten options), where every
    cell has 5: the tail probabilities of 95 % limits are off by .0008 at most, .0025 at the median.

    Examples
    --------
    >>> option_limits([60, 10, 12, 15, 9], 4).round(2).tolist()
    [0.28, 0.42, 0.56]
    """
    counts = np.asarray(cells, dtype=np.float64)
    if counts.ndim == 0 or counts.shape[-1] != len(FIVE_CELLS) or (counts < 0).any():
        raise ValueError(
            f"cells must be five counts each ({', '.join(FIVE_CELLS)}), none negative; got shape "
            f"{counts.shape}"
        )
    options = np.broadcast_to(np.asarray(n_options, dtype=np.float64), counts.shape[:-1])
    if (options < 2).any():
        raise ValueError(f"n_options must be at least 2, got {options.min():g}")
    if ((options == 2) & (counts[..., 4] > 0)).any():
        raise ValueError("with two options joint errors are the same; got different ones")
    own = cell_prior(prior).cells("limits without draws")
    deviates = special.ndtri(np.asarray(probabilities, dtype=np.float64))
    flat, of = counts.reshape(-1, 5), 1 / (options.reshape(-1) - 1)
    out = np.empty((len(flat), len(deviates)))
    few = (flat[:, :4].min(axis=1) < FEWEST) | ((of < 1) & (flat[:, 4] < FEWEST))
    many = np.flatnonzero(~few)
    for start in range(0, len(many), CHUNK):
        part = many[start : start + CHUNK]
        out[part] = _quantiles(flat[part] + _five(own, of[part]), of[part], deviates)
    tables, again = np.unique(np.column_stack([flat, of])[few], axis=0, return_inverse=True)
    drawn = [
        _by_draws(table[:5] + _five(own, table[5]), table[5], probabilities) for table in tables
    ]
    if drawn:
        out[few] = np.stack(drawn)[again]
    return out.reshape(*counts.shape[:-1], len(deviates))


def _five(prior: Floats, f: Floats) -> Floats:
    """Parameters of the prior of five cells: (..., 5)."""
    n11, n10, n01, n00 = (np.broadcast_to(own, np.shape(f)) for own in prior)
    return np.stack([n11, n10, n01, n00 * f, n00 * (1 - f)], axis=-1)


def _quantiles(cells: Floats, f: Floats, deviates: Floats) -> Floats:
    both, first, second, same, different = cells.T
    # Of two options joint errors are always the same.
    other = np.where(f < 1, different, 1.0)
    parameters = (
        (both + first, second + same + different), (both, first), (second, same + different),
        (same, other),
    )  # fmt: skip
    rules = [normal_nodes(number) for number in NODES]
    p, u, v, s = (_beta_nodes(*ab, nodes) for ab, (nodes, _) in zip(parameters, rules, strict=True))
    s = np.where((f < 1)[:, None], s, 1.0)
    pn, un = p[:, :, None, None, None], u[:, None, :, None, None]
    vn, sn = v[:, None, None, :, None], s[:, None, None, None, :]
    of_b, others = pn * un + (1 - pn) * vn, 1 - f[:, None, None, None, None]
    # Disagreement, seen and by chance, as sums: kappa is 1 less their ratio, and z its arctanh.
    seen = pn * (1 - un) + (1 - pn) * (vn + (1 - vn) * (1 - sn))
    by_chance = pn * (1 - of_b) + (1 - pn) * (of_b + (1 - of_b) * others)
    z = (np.log(2 * by_chance - seen) - np.log(seen)).reshape(len(cells), -1) / 2
    weight = np.einsum("i,j,k,l->ijkl", *(w for _, w in rules)).ravel()
    mean = z @ weight
    z -= mean[:, None]
    variance, third, fourth = ((z**power) @ weight for power in (2, 3, 4))
    return np.tanh(
        mean[:, None]
        + np.sqrt(variance)[:, None]
        * _cornish_fisher(deviates, third / variance**1.5, fourth / variance**2 - 3)
    )


def _by_draws(cells: Floats, f: float, probabilities: Sequence[float]) -> Floats:
    """Quantiles of draws, the same for the same table."""
    rng = np.random.default_rng(N_DRAWS)
    x = rng.standard_gamma(cells, size=(N_DRAWS, 5))
    both, first, second, _, other = (x / x.sum(axis=1, keepdims=True)).T
    a, b = both + first, both + second
    kappa = 1 - (first + second + other) / (1 - chance_agreement(a, b, np.asarray(f)))
    return np.asarray(np.quantile(kappa, probabilities))


def _beta_nodes(a: Floats, b: Floats, nodes: Floats) -> Floats:
    """Values of a beta variable at normal deviates, by the exact cumulants of its logit."""
    mean = special.digamma(a) - special.digamma(b)
    variance = special.polygamma(1, a) + special.polygamma(1, b)
    third = special.polygamma(2, a) - special.polygamma(2, b)
    fourth = special.polygamma(3, a) + special.polygamma(3, b)
    at = _cornish_fisher(nodes, third / variance**1.5, fourth / variance**2)
    return np.asarray(special.expit(mean[:, None] + np.sqrt(variance)[:, None] * at))


def _cornish_fisher(z: Floats, skewness: Floats, kurtosis: Floats) -> NDArray[np.float64]:
    """Standardised quantiles at normal deviates; of each distribution (row), all of them."""
    g, k = skewness[:, None], kurtosis[:, None]
    return np.asarray(
        z + g * (z**2 - 1) / 6 + k * (z**3 - 3 * z) / 24 - g**2 * (2 * z**3 - 5 * z) / 36
    )
