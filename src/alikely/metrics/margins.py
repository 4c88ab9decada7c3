"""Decision margins: how easy an item is for a system, and whether two find the same items easy.

References
----------
.. [BW00] Bonett, Wright (2000). Sample size requirements for estimating Pearson, Kendall and
   Spearman correlations. doi:10.1007/BF02294183
.. [C10] Croux, Dehon (2010). Influence functions of the Spearman and Kendall correlation measures.
   doi:10.1007/s10260-010-0142-z
.. [G68] Golub, Welsch (1969). Calculation of Gauss quadrature rules.
   doi:10.1090/S0025-5718-69-99647-1
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [H95] Hautus (1995). Corrections for extreme proportions and their biasing effects on estimated
   values of d'. doi:10.3758/BF03203619
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

__all__ = [
    "coarse_scores",
    "d_prime",
    "distractor_nodes",
    "empirical_d_prime",
    "m_afc_log_probability",
    "m_afc_probability",
    "machine_margin",
    "margin_consistency",
    "margin_influence",
    "repeated",
    "scores_of_probabilities",
    "weighted_consistency",
]

Floats = NDArray[np.float64]
Method = Literal["pearson", "spearman"]
FEWEST_ITEMS = 5


@functools.lru_cache(maxsize=64)
def distractor_nodes(m: int, n_nodes: int = 24) -> tuple[Floats, Floats]:
    """Gauss nodes and weights for the best of ``m - 1`` standard normal distractors [G68]_.

    Parameters
    ----------
    m : int
        Number of alternatives, at least 2.
    n_nodes : int
        Number of nodes; 24 are exact to rounding for all m, 12 to 2e-7.

    Returns
    -------
    nodes, weights : ndarray, shape (n_nodes,)
        Weights sum to 1.

    Raises
    ------
    ValueError
        If `m` is below 2.

    Examples
    --------
    >>> nodes, weights = distractor_nodes(16)
    >>> (nodes @ weights).round(4).item()  # mean of the largest of 15 normal numbers
    1.7359
    """
    if m != int(m) or m < 2:
        raise ValueError(f"m must be a whole number of at least 2 alternatives, got {m}")
    # Below this a share of 1e-17 is left.
    low = max(float(special.ndtri(1e-17 ** (1 / (m - 1)))), -9.5) if m > 2 else -9.5
    x, w = np.polynomial.legendre.leggauss(400)
    x = (9.5 - low) / 2 * x + (9.5 + low) / 2
    density = w * np.exp(stats.norm.logpdf(x) + (m - 2) * special.log_ndtr(x))
    density /= density.sum()
    # Polynomials orthogonal under that density, by their three-term recurrence.
    a, b = np.zeros(n_nodes), np.zeros(n_nodes)
    before, now, norm_before = np.zeros_like(x), np.ones_like(x), 1.0
    for k in range(n_nodes):
        norm = density @ now**2
        a[k], b[k] = density @ (x * now**2) / norm, norm / norm_before
        before, now, norm_before = now, (x - a[k]) * now - (b[k] if k else 0) * before, norm
    off = np.sqrt(b[1:])
    nodes, vectors = np.linalg.eigh(np.diag(a) + np.diag(off, 1) + np.diag(off, -1))
    return nodes, vectors[0] ** 2


def m_afc_log_probability(d_prime: ArrayLike, m: int) -> tuple[Floats, Floats]:
    """Log probabilities of a right and of a wrong answer among m alternatives [GS66]_.

    The target's evidence is normal around ``d'``, that of each distractor around 0, all with unit
    variance; the answer is the largest.

    Parameters
    ----------
    d_prime : array_like
        Item strength, in units of the noise.
    m : int
        Number of alternatives, at least 2.

    Returns
    -------
    log_right, log_wrong : ndarray of float64
        Finite in both tails.

    Raises
    ------
    ValueError
        If `m` is below 2.

    Examples
    --------
    >>> right, wrong = m_afc_log_probability([0.0, 30.0], 16)
    >>> right.round(4).tolist(), wrong.round(1).tolist()
    ([-2.7726, -0.0], [-0.1, -260.6])
    """
    nodes, weights = distractor_nodes(m)
    ahead = np.asarray(d_prime, dtype=np.float64)[..., None] - nodes
    right = np.asarray(special.logsumexp(special.log_ndtr(ahead), b=weights, axis=-1))
    wrong = np.asarray(special.logsumexp(special.log_ndtr(-ahead), b=weights, axis=-1))
    # A probability near 1 is known from the other: its own logarithm is all rounding.
    likely = right > wrong
    return (
        np.where(likely, np.log1p(-np.exp(np.where(likely, wrong, -1.0))), right),
        np.where(likely, wrong, np.log1p(-np.exp(np.where(likely, -1.0, right)))),
    )


def m_afc_probability(d_prime: ArrayLike, m: int) -> Floats:
    """Probability of a right answer among m alternatives, ``E[Phi(d' - M)]`` [GS66]_.

    Parameters
    ----------
    d_prime : array_like
        Item strength, in units of the noise.
    m : int
        Number of alternatives, at least 2; ``M`` is the best of ``m - 1`` distractors.

    Returns
    -------
    ndarray of float64
        In (0, 1); ``1/m`` at 0.

    Raises
    ------
    ValueError
        If `m` is below 2.

    Examples
    --------
    >>> m_afc_probability([0.0, 1.0, 3.0], 16).round(4).tolist()
    [0.0625, 0.2606, 0.8661]
    """
    nodes, weights = distractor_nodes(m)
    ahead = np.asarray(d_prime, dtype=np.float64)[..., None] - nodes
    return np.asarray(special.ndtr(ahead) @ weights)


def d_prime(probability: ArrayLike, m: int) -> Floats:
    """Item strength that gives a probability of a right answer among m alternatives.

    Parameters
    ----------
    probability : array_like
        In (0, 1).
    m : int
        Number of alternatives, at least 2.

    Returns
    -------
    ndarray of float64
        Inverse of `m_afc_probability`, negative below chance.

    Raises
    ------
    ValueError
        If a probability is not strictly between 0 and 1, or `m` is below 2.

    Examples
    --------
    >>> d_prime([0.25, 0.87], 16).round(4).tolist()
    [0.9628, 3.0214]
    """
    p = np.asarray(probability, dtype=np.float64)
    if p.size and not ((p > 0) & (p < 1)).all():
        bad = p[~((p > 0) & (p < 1))].flat[0]
        raise ValueError(
            f"probabilities must lie strictly between 0 and 1, got {bad:g}; for counts with an "
            "edge rule use empirical_d_prime"
        )
    nodes, _ = distractor_nodes(m)

    def off(x: Floats, target: Floats) -> Floats:
        return special.logit(m_afc_probability(x, m)) - special.logit(target)

    # The best distractor lies within its outermost nodes: so does d', shifted by the normal one.
    guess = special.ndtri(p)
    found = optimize.elementwise.find_root(
        off, (guess + nodes[0] - 1, guess + nodes[-1] + 1), args=(p,)
    )
    return np.asarray(found.x)


def empirical_d_prime(right: ArrayLike, n: ArrayLike, m: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Item strength from counts of right answers.

    Where all answers or none are right, half an answer is taken off or added: ``(right + 1/2) /
    (n + 1)`` [H95]_.

    Parameters
    ----------
    right, n : array_like of int
        Right answers and answers.
    m : int
        Number of alternatives, at least 2.

    Returns
    -------
    d_prime : ndarray of float64
        NaN where there is no answer.
    edge : ndarray of bool
        Where the rule was used.

    Raises
    ------
    ValueError
        If counts are not ``0 <= right <= n``, or `m` is below 2.

    Examples
    --------
    >>> value, edge = empirical_d_prime([7, 10, 0], 10, 2)
    >>> value.round(2).tolist(), edge.tolist()
    ([0.74, 2.39, -2.39], [False, True, True])
    """
    k, total = np.broadcast_arrays(
        np.asarray(right, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    if np.any(k < 0) or np.any(k > total):
        bad = np.flatnonzero(((k < 0) | (k > total)).ravel())[0]
        raise ValueError(
            f"right answers must be between 0 and n, got {k.flat[bad]:g} of {total.flat[bad]:g}"
        )
    edge = ((k == 0) | (k == total)) & (total > 0)
    share = np.where(edge, (k + 0.5) / (total + 1), k / np.where(total > 0, total, 1))
    out = np.full(k.shape, np.nan)
    some = total > 0
    out[some] = d_prime(share[some], m)
    return out, edge


def repeated(shown: ArrayLike) -> bool:
    """Whether enough items came back to the same observers to tell stable deviations from noise.

    Parameters
    ----------
    shown : array_like of int, shape (observer, item)
        Answers of each observer to each item.

    Returns
    -------
    bool
        True if at least 5 items were answered twice or more by an observer.

    Examples
    --------
    >>> repeated([[2, 2, 2, 2, 1]])
    False
    """
    return int((np.asarray(shown) > 1).any(axis=0).sum()) >= FEWEST_ITEMS


def scores_of_probabilities(probabilities: ArrayLike) -> Floats:
    """Scores from class probabilities: their logarithms, logits up to a constant of each item.

    Parameters
    ----------
    probabilities : array_like, shape (item, class)
        Rows that sum to 1.

    Returns
    -------
    ndarray of float64, shape (item, class)

    Raises
    ------
    ValueError
        If there are NaN or negative values, rows do not sum to 1, or a probability is 0, whose
        margin has no bound.

    Examples
    --------
    >>> scores_of_probabilities([[0.5, 0.5]]).round(3).tolist()
    [[-0.693, -0.693]]
    """
    p = _score_matrix(probabilities, "probabilities")
    total = p.sum(axis=1)
    # Rows printed with four digits, or stored in half precision, still pass.
    bad = np.flatnonzero((np.abs(total - 1) > 1e-3) | (p < 0).any(axis=1))
    if len(bad):
        raise ValueError(
            f"probabilities of an item must not be negative and sum to 1, those of item {bad[0]} "
            f"sum to {total[bad[0]]:g}; give logits as logits"
        )
    if (p == 0).any():
        item = int(np.flatnonzero((p == 0).any(axis=1))[0])
        raise ValueError(
            f"a probability of item {item} is 0, which makes its margin infinite; store more "
            "digits, or give logits"
        )
    return np.asarray(np.log(p))


def coarse_scores(
    scores: ArrayLike,
    categories: Sequence[str],
    coarse: Sequence[str],
    how: Literal["mean", "max", "logsumexp"] = "mean",
) -> Floats:
    """Scores of coarse categories from those of the fine classes they are made of.

    Parameters
    ----------
    scores : array_like, shape (item, class)
        Logits.
    categories : sequence of str, shape (class,)
        Coarse category of each fine class.
    coarse : sequence of str
        Categories in the order wanted; fine classes of others take no part.
    how : {"mean", "max", "logsumexp"}
        Mean of the logits; the largest; or the log of the summed probability.

    Returns
    -------
    ndarray of float64, shape (item, category)

    Raises
    ------
    ValueError
        If there are NaN or infinite scores, a class lacks a category or a category its classes,
        or `how` is unknown.

    Examples
    --------
    >>> coarse_scores([[1.0, 3.0, 0.0]], ["dog", "dog", "cat"], ["cat", "dog"]).tolist()
    [[0.0, 2.0]]
    """
    fine = _score_matrix(scores, "scores")
    if len(categories) != fine.shape[1]:
        raise ValueError(
            f"categories must name one category for each of the {fine.shape[1]} classes, got "
            f"{len(categories)}"
        )
    missing = [i for i, name in enumerate(categories) if name is None or name != name]
    if missing:
        raise ValueError(
            f"class {missing[0]} has no coarse category; give it one, even if it is not wanted"
        )
    reduce = {"mean": np.mean, "max": np.max, "logsumexp": special.logsumexp}
    if how not in reduce:
        raise ValueError(f"how must be 'mean', 'max' or 'logsumexp', got {how!r}")
    labels = np.asarray(categories, dtype=object)
    out = np.empty((len(fine), len(coarse)))
    for j, name in enumerate(coarse):
        members = labels == name
        if not members.any():
            raise ValueError(f"no class belongs to the coarse category {name!r}")
        out[:, j] = reduce[how](fine[:, members], axis=1)
    return out


def machine_margin(scores: ArrayLike, truth: ArrayLike) -> Floats:
    """Decision margin of a machine: target's score above the best other one, over sqrt 2.

    Parameters
    ----------
    scores : array_like, shape (item, class)
        Logits.
    truth : array_like of int, shape (item,)
        Positions of the true classes.

    Returns
    -------
    ndarray of float64, shape (item,)
        Positive where the machine is right.

    Raises
    ------
    ValueError
        If there are NaN or infinite scores, fewer than 2 classes, or a true class is none of them.

    Examples
    --------
    >>> machine_margin([[3.0, 1.0, 0.0], [0.0, 2.0, 1.0]], [0, 2]).round(3).tolist()
    [1.414, -0.707]
    """
    s = _score_matrix(scores, "scores")
    t = np.asarray(truth)
    if s.shape[1] < 2:
        raise ValueError(f"a margin needs at least 2 classes, got {s.shape[1]}")
    if t.shape != (len(s),) or not ((t >= 0) & (t < s.shape[1])).all():
        raise ValueError(f"truth must be {len(s)} positions of classes, from 0 to {s.shape[1] - 1}")
    items = np.arange(len(s))
    others = s.copy()
    others[items, t] = -np.inf
    return np.asarray((s[items, t] - others.max(axis=1)) / np.sqrt(2))


def _score_matrix(scores: ArrayLike, name: str) -> Floats:
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 2:
        raise ValueError(f"{name} must have shape (item, class), got {s.shape}")
    bad = np.argwhere(~np.isfinite(s))
    if len(bad):
        item, j = bad[0]
        raise ValueError(
            f"{name} must be finite, got {s[item, j]:g} for item {item}, class {j}; leave such "
            "items out of both systems"
        )
    return s


def margin_consistency(x: ArrayLike, y: ArrayLike, method: Method = "pearson") -> Floats:
    """Decision-margin consistency: correlation of two systems' margins over items.

    Parameters
    ----------
    x, y : array_like, shape (..., item)
        Margins, or any index of how easy each item is.
    method : {"pearson", "spearman"}
        Of the values or of their ranks.

    Returns
    -------
    ndarray of float64, shape (...)
        In [-1, 1]; NaN where one system's margins are constant.

    Raises
    ------
    ValueError
        If shapes do not fit, there are fewer than 5 items or NaN, or the method is unknown.

    Examples
    --------
    >>> margin_consistency([1, 2, 3, 4, 5], [1, 3, 2, 5, 4]).round(2).item()
    0.8
    """
    a, b = _centred(x, y, method)
    scale = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    out = np.full(scale.shape, np.nan)
    np.divide((a * b).sum(axis=-1), scale, out=out, where=scale > 0)
    return np.clip(out, -1, 1)


def margin_influence(x: ArrayLike, y: ArrayLike, method: Method = "pearson") -> Floats:
    """Influence of each item on decision-margin consistency [C10]_.

    Parameters
    ----------
    x, y, method
        As in `margin_consistency`.

    Returns
    -------
    ndarray of float64, shape (..., item)
        ``sum(influence**2) / n_items**2`` is the variance; NaN where the consistency is.

    Raises
    ------
    ValueError
        As in `margin_consistency`.

    Notes
    -----
    That of Spearman's correlation holds for margins without ties and is close with few.

    Examples
    --------
    >>> margin_influence([1, 2, 3, 4, 5], [1, 3, 2, 5, 4]).round(2).tolist()
    [0.4, -0.2, -0.2, -0.0, -0.0]
    """
    a, b = _centred(x, y, method)
    n = a.shape[-1]
    if method == "pearson":
        with np.errstate(invalid="ignore", divide="ignore"):
            u, v = (z / np.sqrt((z**2).mean(axis=-1, keepdims=True)) for z in (a, b))
        r = margin_consistency(x, y)[..., None]
        return np.asarray(u * v - r * (u**2 + v**2) / 2)
    u, v = a / n, b / n
    # An item counts by its own ranks and by how it shifts the ranks of all items above it.
    above_x = (np.asarray(x)[..., :, None] < np.asarray(x)[..., None, :]) * v[..., None, :]
    above_y = (np.asarray(y)[..., :, None] < np.asarray(y)[..., None, :]) * u[..., None, :]
    psi = 12 * (u * v + above_x.mean(axis=-1) + above_y.mean(axis=-1))
    psi -= psi.mean(axis=-1, keepdims=True)
    return np.where(np.isfinite(margin_consistency(x, y, method))[..., None], psi, np.nan)


def weighted_consistency(
    x: ArrayLike, y: ArrayLike, weights: ArrayLike, method: Method = "pearson"
) -> Floats:
    """Decision-margin consistency over weighted items, such as resampled ones.

    Parameters
    ----------
    x, y : array_like, shape (item,)
        Margins.
    weights : array_like, shape (draw, item)
        Weight of each item, at least 0; a whole number says how often it was drawn.
    method : {"pearson", "spearman"}
        Ranks are those among the weighted items.

    Returns
    -------
    ndarray of float64, shape (draw,)
        NaN where the margins of the items that have a weight are constant.

    Raises
    ------
    ValueError
        As in `margin_consistency`.

    Examples
    --------
    >>> weighted_consistency([1, 2, 3, 4, 5], [1, 3, 2, 5, 4], [[1, 1, 1, 1, 1]]).round(2)
    array([0.8])
    """
    a, b = (z / max(np.abs(z).max(), 1e-300) for z in _centred(x, y, method))
    w = np.asarray(weights, dtype=np.float64)
    total = w.sum(axis=1, keepdims=True)
    w = np.divide(w, total, out=np.zeros_like(w), where=total > 0)
    if method == "spearman":
        a, b = (_weighted_ranks(np.asarray(z), w) for z in (x, y))
        a, b = (z - (w * z).sum(axis=1, keepdims=True) for z in (a, b))
        return _correlation((w * a * a).sum(1), (w * b * b).sum(1), (w * a * b).sum(1))
    moments = w @ np.stack([a, b, a * a, b * b, a * b], axis=1)
    mean_a, mean_b = moments[:, 0], moments[:, 1]
    return _correlation(
        moments[:, 2] - mean_a**2, moments[:, 3] - mean_b**2, moments[:, 4] - mean_a * mean_b
    )


def _correlation(square_a: Floats, square_b: Floats, product: Floats) -> Floats:
    # What is left of a constant after rounding is no variance.
    defined = (square_a > 1e-14) & (square_b > 1e-14)
    out = np.full(product.shape, np.nan)
    out[defined] = product[defined] / np.sqrt(square_a[defined] * square_b[defined])
    return np.clip(out, -1, 1)


def _weighted_ranks(x: NDArray[Any], weights: Floats) -> Floats:
    """Mid-ranks as shares of the whole weight, up to a constant; shape (draw, item)."""
    order = np.argsort(x, kind="stable")
    _, first, kind, number = np.unique(
        x[order], return_index=True, return_inverse=True, return_counts=True
    )
    below = np.zeros((len(weights), len(x) + 1))
    np.cumsum(weights[:, order], axis=1, out=below[:, 1:])
    ranks = np.empty_like(weights)
    ranks[:, order] = ((below[:, first] + below[:, first + number]) / 2)[:, kind]
    return ranks


def _centred(x: ArrayLike, y: ArrayLike, method: str) -> tuple[Floats, Floats]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape[-1:] != b.shape[-1:] or a.ndim == 0:
        raise ValueError(
            f"both systems need a margin for each item, got shapes {a.shape} and {b.shape}"
        )
    if a.shape[-1] < FEWEST_ITEMS:
        raise ValueError(
            f"a correlation over items needs at least {FEWEST_ITEMS} common items, got "
            f"{a.shape[-1]}"
        )
    if np.isnan(a).any() or np.isnan(b).any():
        raise ValueError("margins must not be NaN; leave out items that a system was not shown")
    if method not in ("pearson", "spearman"):
        raise ValueError(f"method must be 'pearson' or 'spearman', got {method!r}")
    if method == "spearman":
        a, b = stats.rankdata(a, axis=-1), stats.rankdata(b, axis=-1)
    return a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True)
