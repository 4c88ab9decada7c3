"""Representational similarity of pairs of systems on the same items, with intervals over items.

References
----------
.. [K19] Kornblith, Norouzi, Lee, Hinton (2019). Similarity of neural network representations
   revisited. doi:10.48550/arXiv.1905.00414
.. [L91] Lin (1991). Divergence measures based on the Shannon entropy. doi:10.1109/18.61115
.. [S12] Song, Smola, Gretton, Bedo, Borgwardt (2012). Feature selection via dependence
   maximization. JMLR 13, 1393-1434. doi:10.48550/arXiv.0709.1103
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import rel_entr

from alikely._base.arrays import Floats, within
from alikely._base.checks import one_of
from alikely._base.intervals import bound_columns
from alikely._base.names import listed
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_memory
from alikely._base.steps import step
from alikely.estimates.analysis import check_numbers
from alikely.inference.intervals import interval

# Tolerance for probabilities in single precision.
SUMS_TO_ONE = 1e-3
# Bytes per weight of an item in a replicate: as an integer and a float.
BYTES_OF_WEIGHT = 16

CI_PROB = 0.95
UNDEFINED = {"soce": "no item that both get wrong"}
ALIKE = "all items of one system are identical"

Similarity = Literal["debiased_cka", "cka", "soc", "soce"]


def representation_similarity(
    representations: Mapping[str, ArrayLike],
    metric: Similarity = "debiased_cka",
    *,
    truth: ArrayLike | None = None,
    n_resamples: int = 1_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compute representational similarity for all pairs of systems [K19]_ [X25]_.

    Parameters
    ----------
    representations : mapping of str to array_like, shape (item, unit)
        Activations (for CKA) or class probabilities (for SOC and SOCE) of each system, for the same
        items in the same order.
    metric : {"debiased_cka", "cka", "soc", "soce"}
        One of

        - ``"debiased_cka"``, ``"cka"``: linear centered kernel alignment (CKA), with or without
          correction of its upward bias
        - ``"soc"``: similarity of confidences, ``1 / (1 + mean Jensen-Shannon divergence in bits)``
        - ``"soce"``: similarity of confidences for items that both systems get wrong

        For representational dissimilarity matrices (RDMs), use rsatoolbox.
    truth : array_like of int, shape (item,), optional
        Index of the true class of each item. Required for SOCE.
    n_resamples : int
        Number of bootstrap replicates, at least 2. Each replicate uses the same resampled items for
        all pairs.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per pair, with columns

        - ``dataset``, ``condition``, ``observer_a``, ``observer_b``
        - the value, in a column named after the metric
        - ``se``: standard error from influence functions
        - bounds of a normal interval (``analytic_ci95_lb``) and of the bootstrap interval
        - ``n_items``
        - ``note``: the reason if a value is undefined

        `alikely.metric_correlations` accepts the label columns and one metric column of this table:
        ``table[[..., metric]]``.

    Raises
    ------
    TypeError
        If `representations` is not a mapping.
    ValueError
        If there are fewer than two systems, if they have different numbers of items, or if `truth`
        is missing for the metric ``"soce"``.
    ValueError
        If `n_resamples` is below 2, if values are not finite, or if confidences are not
        probabilities that sum to 1.

    Notes
    -----
    For debiased CKA, copies of an item in a bootstrap sample are not paired with each other.
    Uncorrected CKA (``"cka"``) has an upward bias of approximately the number of units divided by
    the number of items. Bootstrap replicates of uncorrected CKA have a larger bias than the
    estimate, because they contain fewer distinct items.

    We simulated representations with 100 items and 50 units; with infinitely many items, CKA would
    be 0.34. The mean estimate was 0.55 for uncorrected CKA, and the coverage of the bootstrap
    interval and of the interval from `se` was 0 (nominal 0.95; 100 data sets). For debiased CKA
    (mean estimate 0.34), coverage was 0.98 for the bootstrap interval and 0.90 for the interval
    computed from `se` (400 data sets).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(60, 5))
    >>> nets = {"a": x, "b": x + rng.normal(size=x.shape), "c": rng.normal(size=(60, 8))}
    >>> table = representation_similarity(nets, n_resamples=200, rng=1)
    >>> table["debiased_cka"].round(1).abs().tolist()
    [0.5, 0.1, 0.0]
    """
    check_numbers(n_resamples=n_resamples)
    if n_resamples < 2:
        raise ValueError(f"n_resamples must be at least 2, got {n_resamples}")
    one_of("metric", metric, get_args(Similarity))
    if metric == "soce" and truth is None:
        raise ValueError("soce uses items that both systems get wrong; give truth=, class numbers")
    arrays = _checked(representations)
    n = len(next(iter(arrays.values())))
    check_memory(
        BYTES_OF_WEIGHT * n * n_resamples,
        f"{n:,} items x {n_resamples:,} replicates",
        "choose fewer n_resamples",
    )
    generator = np.random.default_rng(seed_sequence(rng))
    weights = generator.multinomial(n, np.full(n, 1 / n), n_resamples).astype(np.float64)
    reach = stats.norm.ppf((1 + CI_PROB) / 2) * np.array([-1.0, 1.0])
    rows = []
    for a, b in itertools.combinations(arrays, 2):
        with step(f"{metric} of {a} and {b}: {n_resamples:,} bootstrap replicates"):
            value, influence, replicates, n_items = _measured(
                metric, arrays[a], arrays[b], truth, weights
            )
        se = float(np.sqrt((influence**2).sum())) / n
        bounds = interval(replicates[:, None], CI_PROB, "eti")[0]
        row: dict[str, Any] = {"dataset": "all", "condition": "all", "observer_a": a}
        row |= {"observer_b": b, metric: value, "se": se}
        row |= bound_columns("analytic", "ci", CI_PROB, value + reach * se)
        row |= bound_columns("bootstrap", "eti", CI_PROB, bounds) | {"n_items": n_items}
        note = "" if np.isfinite(value) else UNDEFINED.get(metric, ALIKE)
        rows.append(row | {"note": note})
    return pd.DataFrame(rows)


def _checked(representations: Mapping[str, ArrayLike]) -> dict[str, Floats]:
    """Activations of each system as floats, of the same items."""
    if not isinstance(representations, Mapping) or len(representations) < 2:
        raise TypeError(
            "representations must map names of at least two systems to arrays (item, unit), got "
            f"{type(representations).__name__}"
        )
    arrays = {}
    for name, values in representations.items():
        array = np.asarray(values)
        if array.dtype.kind not in "biuf" or array.ndim < 2 or len(array) < 4 or not array.size:
            raise ValueError(
                f"{name!r} must contain real numbers, of shape (item, unit) with at least 4 items, "
                f"got {array.dtype} of shape {array.shape}"
            )
        array = array.reshape(len(array), -1).astype(np.float64)
        if not np.isfinite(array).all():
            item = int(np.argwhere(~np.isfinite(array))[0, 0])
            raise ValueError(
                f"{name!r} of item {item} is not finite; leave out this item for all systems"
            )
        arrays[str(name)] = array
    if len(arrays) < len(representations) or len({len(array) for array in arrays.values()}) > 1:
        raise ValueError(
            "representations must have different names as text and the same number of items, got "
            + listed([f"{len(array)} of {name!r}" for name, array in arrays.items()])
        )
    return arrays


def _measured(
    metric: Similarity, x: Floats, y: Floats, truth: ArrayLike | None, weights: Floats
) -> tuple[float, Floats, Floats, int]:
    """Value of two systems, influence of each item, replicates, and the number of items."""
    if metric in ALIGNMENTS:
        weighted, whole = ALIGNMENTS[metric], np.ones((1, len(x)))
        return weighted(x, y, whole)[0], cka_influence(x, y), weighted(x, y, weights), len(x)
    divergence, both = confidences(x, y, truth if metric == "soce" else None)
    d, m = np.where(both, divergence, 0.0), both.astype(np.float64)
    with np.errstate(invalid="ignore"):
        mean = d.sum() / m.sum()
        replicates = np.asarray(1 / (1 + (weights @ d) / (weights @ m)))
        influence = -(d - mean * m) / ((1 + mean) ** 2 * m.mean())
    return 1 / (1 + mean), influence, replicates, int(both.sum())


def weighted_cka(one: Floats, other: Floats, weights: Floats) -> Floats:
    """CKA of a sample that contains each item as many times as its weight."""
    kernels = _kernels(one, other)
    out = np.empty(len(weights))
    for r, w in enumerate(weights):
        a, b = (np.sqrt(np.outer(w, w)) * _centred(kernel, w) for kernel in kernels)
        scale = (a * a).sum() * (b * b).sum()
        out[r] = within((a * b).sum() / np.sqrt(scale)) if scale > 0 else np.nan
    return out


def _kernels(one: Floats, other: Floats) -> list[Floats]:
    """Products of items, of units that are centered and scaled to values near 1."""
    found = []
    for values in (one, other):
        # Units that are equal for all items have only rounding errors. Powers of two are exact, and
        # centering before avoids the loss of digits for large means.
        x = np.where(np.ptp(values, axis=0) > 0, values - values.mean(axis=0), 0.0)
        x = np.ldexp(x, -np.frexp(np.abs(x).max())[1])
        found.append(x @ x.T)
    return found


def _centred(kernel: Floats, weight: Floats) -> Floats:
    mean = kernel @ weight / weight.sum()
    return np.asarray(kernel - mean - mean[:, None] + weight @ mean / weight.sum())


def cka_influence(one: Floats, other: Floats) -> Floats:
    """Influence of each item on plain CKA."""
    whole = np.ones(len(one))
    k, l = (_centred(kernel, whole) for kernel in _kernels(one, other))  # noqa: E741
    # For a mean over pairs: twice the mean over the partners, minus the total.
    with np.errstate(invalid="ignore", divide="ignore"):  # items that are all alike
        parts = [2 * (m.mean(axis=1) / m.mean() - 1) for m in (k * l, k * k, l * l)]
    return np.asarray(
        weighted_cka(one, other, whole[None]) * (parts[0] - (parts[1] + parts[2]) / 2)
    )


def weighted_debiased_cka(one: Floats, other: Floats, weights: Floats) -> Floats:
    """CKA from unbiased estimates of its components [S12]_, for weighted, distinct items."""
    k, l = _kernels(one, other)  # noqa: E741
    for kernel in (k, l):
        np.fill_diagonal(kernel, 0)
    w = np.asarray(weights, dtype=np.float64).T
    cross, own, of_other = (_dependence(w, a, b) for a, b in ((k, l), (k, k), (l, l)))
    defined = ((w > 0).sum(axis=0) >= 4) & (own > 0) & (of_other > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(defined, cross / np.sqrt(own * of_other), np.nan)


def _dependence(w: Floats, k: Floats, m: Floats) -> Floats:
    """Sum of ``k_ij m_ij - 2 k_ij m_ir + k_ij m_rs`` over all distinct items, weighted."""
    both = k * m
    n, squares = w.sum(axis=0), (w**2).sum(axis=0)
    u, v, product = k @ w, m @ w, both @ w
    u2, v2, product2, product3 = k @ w**2, m @ w**2, both @ w**2, both @ w**3
    # For each pair, the weight of the pairs of other items.
    pairs = (n**2 - squares) * (w * product).sum(axis=0) - 4 * n * (w**2 * product).sum(axis=0)
    pairs += 4 * (w**3 * product).sum(axis=0) + 2 * (w**2 * product2).sum(axis=0)
    # Pairs with one item in common, and for each the weight of the other items.
    common = u * v - product2
    triples = n * (w * common).sum(axis=0) - (w**2 * common).sum(axis=0)
    triples -= (w * (u2 * v + u * v2 - 2 * product3)).sum(axis=0)
    # All pairs of pairs, minus those that share one item (in four ways) or both (in two).
    fours = (w * u).sum(axis=0) * (w * v).sum(axis=0)
    fours += -4 * (w**2 * common).sum(axis=0) - 2 * (w**2 * product2).sum(axis=0)
    return np.asarray(pairs - 2 * triples + fours)


def confidences(p: Floats, q: Floats, truth: ArrayLike | None) -> tuple[Floats, NDArray[np.bool_]]:
    """Jensen-Shannon divergence of confidences [L91]_, and the items that both get wrong."""
    if p.shape != q.shape:
        raise ValueError(f"confidences must have the same shape, got {p.shape} and {q.shape}")
    off = np.zeros(len(p), dtype=bool)
    for values in (p, q):
        off |= ~(np.abs(values.sum(axis=1) - 1) <= SUMS_TO_ONE) | (values < 0).any(axis=1)
    if off.any():
        raise ValueError(
            "confidences must be probabilities that sum to 1; those of item "
            f"{int(np.argmax(off))} do not: take the softmax of logits"
        )
    middle = (p + q) / 2
    bits = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=1) / np.log(4)
    # Sums of confidences may exceed 1 slightly.
    divergence = within(bits, slack=SUMS_TO_ONE)
    if truth is None:
        return divergence, np.ones(len(p), dtype=bool)
    true = np.asarray(truth)
    known = true.shape == (len(p),) and np.issubdtype(true.dtype, np.integer)
    if not known or true.min() < 0 or true.max() >= p.shape[1]:
        raise ValueError(
            f"truth must contain a class number, 0 to {p.shape[1] - 1}, for each of "
            f"{len(p)} items; got {true.dtype} of shape {true.shape}"
        )
    return divergence, (p.argmax(axis=1) != true) & (q.argmax(axis=1) != true)


# Forms of CKA for weighted items.
ALIGNMENTS = {"debiased_cka": weighted_debiased_cka, "cka": weighted_cka}
