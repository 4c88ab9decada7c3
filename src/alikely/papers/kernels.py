"""How alike two systems represent the same items: kernels, divergence of confidences.

Functions of arrays (item, unit), with weights of the items for bootstraps. Two items drawn are
never an item and its own copy: where a statistic is about pairs of items, pairs of copies have no
part in it.

References
----------
.. [K19] Kornblith, Norouzi, Lee, Hinton (2019). Similarity of neural network representations
   revisited. doi:10.48550/arXiv.1905.00414
.. [L91] Lin (1991). Divergence measures based on the Shannon entropy. doi:10.1109/18.61115
.. [S12] Song, Smola, Gretton, Bedo, Borgwardt (2012). Feature selection via dependence
   maximization. Journal of Machine Learning Research 13, 1393-1434. doi:10.48550/arXiv.0709.1103
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import rel_entr

from alikely._base.arrays import Floats, within

__all__ = [
    "Confidences",
    "checked_representation",
    "cka",
    "cka_influence",
    "confidence_divergence",
    "confidence_similarity",
    "confidences",
    "debiased_cka",
    "weighted_cka",
    "weighted_debiased_cka",
]

# Of probabilities in single precision.
SUMS_TO_ONE = 1e-3


def checked_representation(values: ArrayLike, name: str = "representation") -> Floats:
    """Activations of items as an array of floats."""
    try:
        array = np.asarray(values)
        if np.iscomplexobj(array):
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must hold real numbers, of shape (item, unit): as many units for each item"
        ) from None
    if array.ndim < 2 or len(array) < 4 or not array.size:
        raise ValueError(
            f"{name} must be of shape (item, unit) with at least 4 items, got {array.shape}"
        )
    array = array.reshape(len(array), -1)
    if not np.isfinite(array).all():
        item = int(np.argwhere(~np.isfinite(array))[0, 0])
        raise ValueError(f"{name} of item {item} is not finite; leave the item out for all")
    return array


def _two(one: ArrayLike, other: ArrayLike) -> tuple[Floats, Floats]:
    x, y = checked_representation(one, "one"), checked_representation(other, "other")
    if len(x) != len(y):
        raise ValueError(f"both must be of the same items, got {len(x)} and {len(y)}")
    return x, y


def cka(one: ArrayLike, other: ArrayLike) -> float:
    """Linear centred kernel alignment (CKA) of two representations [K19]_."""
    x, y = _two(one, other)
    return float(weighted_cka(x, y, np.ones((1, len(x))))[0])


def weighted_cka(one: Floats, other: Floats, weights: Floats) -> Floats:
    """CKA of weighted items, that of a sample in which items stand so many times."""
    # The kernels' inner products by units or by items, whichever are fewer.
    k, l = _kernels(one, other)  # noqa: E741
    out = np.empty(len(weights))
    for r, w in enumerate(weights):
        kr, lr = _centred(k, w), _centred(l, w)
        ww = np.sqrt(w)
        a, b = ww[:, None] * kr * ww, ww[:, None] * lr * ww
        out[r] = _ratio((a * b).sum(), (a * a).sum(), (b * b).sum())
    return out


def _kernels(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    # Centred before: the same in exact arithmetic, and without the loss of digits of large means.
    x, y = _spread(one), _spread(other)
    return x @ x.T, y @ y.T


def _spread(values: Floats) -> Floats:
    """Values less the mean of their unit, in a scale near 1: powers of two change no digit."""
    # What rounding leaves of a unit that is the same for all items is no spread.
    x = np.where(np.ptp(values, axis=0) > 0, values - values.mean(axis=0), 0.0)
    return np.asarray(np.ldexp(x, -np.frexp(np.abs(x).max())[1]))


def _centred(kernel: Floats, weight: Floats) -> Floats:
    mean = kernel @ weight / weight.sum()
    return np.asarray(kernel - mean - mean[:, None] + weight @ mean / weight.sum())


def _ratio(cross: float, one: float, other: float) -> float:
    scale = one * other
    return float(within(cross / np.sqrt(scale))) if scale > 0 else np.nan


def cka_influence(one: ArrayLike, other: ArrayLike) -> Floats:
    """Influence of each item on `cka`."""
    x, y = _two(one, other)
    k, l = (_centred(kernel, np.ones(len(x))) for kernel in _kernels(x, y))  # noqa: E741
    # Of a mean over pairs: twice the mean over the partners, less the whole.
    with np.errstate(invalid="ignore", divide="ignore"):  # items that are all alike
        parts = [2 * (m.mean(axis=1) / m.mean() - 1) for m in (k * l, k * k, l * l)]
    return np.asarray(cka(x, y) * (parts[0] - (parts[1] + parts[2]) / 2))


def debiased_cka(one: ArrayLike, other: ArrayLike) -> float:
    """Linear CKA from unbiased estimates of its three parts [S12]_."""
    x, y = _two(one, other)
    return float(weighted_debiased_cka(x, y, np.ones((1, len(x))))[0])


def weighted_debiased_cka(one: Floats, other: Floats, weights: Floats) -> Floats:
    """`debiased_cka` of weighted items, from pairs, triples and quadruples of different items."""
    k, l = _kernels(one, other)  # noqa: E741
    for kernel in (k, l):
        np.fill_diagonal(kernel, 0)
    w = np.asarray(weights, dtype=np.float64).T
    cross, own, of_other = (_dependence(w, a, b) for a, b in ((k, l), (k, k), (l, l)))
    defined = ((w > 0).sum(axis=0) >= 4) & (own > 0) & (of_other > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(defined, cross / np.sqrt(own * of_other), np.nan)


def _dependence(w: Floats, k: Floats, m: Floats) -> Floats:
    """Sum of ``k_ij m_ij - 2 k_ij m_ir + k_ij m_rs`` over all four different items, weighted."""
    both = k * m
    n, squares = w.sum(axis=0), (w**2).sum(axis=0)
    u, v, product = k @ w, m @ w, both @ w
    u2, v2, product2, product3 = k @ w**2, m @ w**2, both @ w**2, both @ w**3
    # Of a pair, the weight of the pairs of others.
    pairs = (n**2 - squares) * (w * product).sum(axis=0) - 4 * n * (w**2 * product).sum(axis=0)
    pairs += 4 * (w**3 * product).sum(axis=0) + 2 * (w**2 * product2).sum(axis=0)
    # Pairs with one item in common, and of each the weight of the other items.
    common = u * v - product2
    triples = n * (w * common).sum(axis=0) - (w**2 * common).sum(axis=0)
    triples -= (w * (u2 * v + u * v2 - 2 * product3)).sum(axis=0)
    # Any two pairs, less those that share one item, in four ways, or both, in two.
    fours = (w * u).sum(axis=0) * (w * v).sum(axis=0)
    fours += -4 * (w**2 * common).sum(axis=0) - 2 * (w**2 * product2).sum(axis=0)
    return np.asarray(pairs - 2 * triples + fours)


class Confidences(NamedTuple):
    """How two systems spread their confidence over classes, item by item."""

    divergence: Floats
    both_wrong: NDArray[np.bool_]


def confidence_divergence(one: ArrayLike, other: ArrayLike) -> Floats:
    """Jensen-Shannon divergence of the confidences of two systems, item by item [L91]_."""
    p, q = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if p.shape != q.shape or p.ndim != 2:
        raise ValueError(
            f"confidences must both be of shape (item, class), got {p.shape} and {q.shape}"
        )
    for name, values in (("one", p), ("other", q)):
        off = ~(np.abs(values.sum(axis=1) - 1) <= SUMS_TO_ONE) | (values < 0).any(axis=1)
        if off.any():
            raise ValueError(
                f"confidences must be probabilities that sum to 1; those of {name} of item "
                f"{int(np.argmax(off))} do not: take the softmax of logits"
            )
    middle = (p + q) / 2
    bits = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / np.log(4)
    # Confidences may sum to a little more than 1.
    return within(bits, slack=SUMS_TO_ONE)


def confidence_similarity(
    one: ArrayLike, other: ArrayLike, truth: ArrayLike | None = None
) -> float:
    """Similarity of confidences (SOC), ``1 / (1 + mean divergence)``, or that on errors (SOCE)."""
    found = confidences(one, other, truth)
    if not found.both_wrong.any():
        return np.nan
    return float(1 / (1 + found.divergence[found.both_wrong].mean()))


def confidences(one: ArrayLike, other: ArrayLike, truth: ArrayLike | None = None) -> Confidences:
    """Divergence of confidences, and on which items both are wrong."""
    divergence = confidence_divergence(one, other)
    p, q = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if truth is None:
        return Confidences(divergence, np.ones(len(p), dtype=bool))
    true = np.asarray(truth)
    known = true.shape == (len(p),) and np.issubdtype(true.dtype, np.integer)
    if not known or true.min() < 0 or true.max() >= p.shape[1]:
        raise ValueError(
            f"truth must hold the number of a class, 0 to {p.shape[1] - 1}, for each of "
            f"{len(p)} items; got {true.dtype} of shape {true.shape}"
        )
    return Confidences(divergence, (p.argmax(axis=1) != true) & (q.argmax(axis=1) != true))
