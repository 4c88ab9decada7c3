"""Normal mixtures in one dimension: probabilities and boundaries of components.

References
----------
.. [F58] Fisher (1958). On grouping for maximum homogeneity. doi:10.1080/01621459.1958.10501479
.. [MP00] McLachlan, Peel (2000). Finite mixture models. doi:10.1002/0471721182
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from alikely._base.arrays import Floats

LEAST = np.finfo(np.float64).min


def neighbour_probabilities(
    x: ArrayLike, weights: ArrayLike, means: ArrayLike, sds: ArrayLike
) -> Floats:
    """Compute the probabilities of the two components whose means enclose a point."""
    point = np.asarray(x, dtype=np.float64)[..., None]
    mean, sd, weight = (
        np.asarray(values, dtype=np.float64)[..., None, :] for values in (means, sds, weights)
    )
    with np.errstate(divide="ignore", over="ignore"):
        density = np.log(weight) - np.log(sd) - ((point - mean) / sd) ** 2 / 2
    below = (point >= mean).sum(axis=-1, keepdims=True)
    component = np.arange(mean.shape[-1])
    # The one to the left and the one to the right; at either end there is only one.
    candidate = (component == below - 1) | (component == below)
    # Far points have densities of nothing, of which one is still the larger.
    density = np.where(candidate, np.maximum(density, LEAST), -np.inf)
    shared = np.exp(density - density.max(axis=-1, keepdims=True))
    return np.asarray(shared / shared.sum(axis=-1, keepdims=True))


def mixture_boundaries(weights: ArrayLike, means: ArrayLike, sds: ArrayLike) -> Floats:
    """Points between successive means at which neighbors are equally probable."""
    weight, mean, sd = (np.asarray(v, dtype=np.float64) for v in (weights, means, sds))
    low, high = mean[:-1].copy(), mean[1:].copy()

    def lead(at: Floats) -> Floats:
        left = np.log(weight[:-1] / sd[:-1]) - ((at - mean[:-1]) / sd[:-1]) ** 2 / 2
        right = np.log(weight[1:] / sd[1:]) - ((at - mean[1:]) / sd[1:]) ** 2 / 2
        return np.asarray(right - left)

    # Between the means the lead of the right one only grows: bisection, to rounding.
    for _ in range(100):
        middle = (low + high) / 2
        ahead = lead(middle) > 0
        high, low = np.where(ahead, middle, high), np.where(ahead, low, middle)
    return (low + high) / 2


def tightest_groups(values: ArrayLike, k: int) -> list[Floats]:
    """Partition ordered values into groups with the least sum of squares within groups [F58]_."""
    x = np.sort(np.asarray(values, dtype=np.float64))
    n = len(x)
    if not 1 <= k <= n:
        raise ValueError(f"k must lie between 1 and the number of values, {n}; got {k}")
    # Sums of squares of x[i:j] about its mean, by running sums of centered values.
    centered = x - x.mean()
    total, square = (np.concatenate([[0.0], np.cumsum(v)]) for v in (centered, centered**2))
    i, j = np.ogrid[: n + 1, : n + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        within = square[j] - square[i] - (total[j] - total[i]) ** 2 / (j - i)
    within = np.where(j > i, within, np.inf)
    least, cuts = within[0], []
    for _ in range(k - 1):
        cost = least[:, None] + within
        cuts.append(cost.argmin(axis=0))
        least = cost.min(axis=0)
    edges = [n]
    for cut in reversed(cuts):
        edges.append(int(cut[edges[-1]]))
    return np.split(x, edges[:0:-1])


def regime_names(n_regimes: int) -> list[str]:
    """Names of regimes from the hardest to the easiest."""
    if n_regimes == 4:
        return ["extreme", "far", "near", "reference"]
    return [f"regime {i + 1}" for i in range(n_regimes)]
