"""Rankings with ties: confidence sets for ranks, posterior ranks, correlations.

References
----------
.. [MRSW24] Mogstad, Romano, Shaikh, Wilhelm (2024). Inference for ranks with applications to
   mobility across neighbourhoods and academic achievement across countries.
   doi:10.1093/restud/rdad006
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
.. [F54] Fieller (1954). Some problems in interval estimation.
   doi:10.1111/j.2517-6161.1954.tb00159.x
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats, within
from alikely._base.intervals import bound_names
from alikely._base.notes import note
from alikely._base.random import RandomState, seed_sequence
from alikely.benchmark.decomposition import (
    crossed_degrees,
    degrees_of_images,
    fieller_set,
    largest_difference,
    normal_draws,
)

FEWEST_DRAWS = 100
# Reliability below which scores are mostly noise.
RELIABLE = 0.5
# Limits of a note: with reliabilities of 0.87 and a true correlation of 1, coverage was 0.83.
SURE, NEARLY_ONE = 0.8, 0.9


def significantly_greater(
    estimates: ArrayLike,
    covariance: ArrayLike,
    *,
    ci_prob: float = 0.95,
    about: int | None = None,
    deviates: ArrayLike | None = None,
    deviations: ArrayLike | None = None,
    n_draws: int = 10_000,
    rng: RandomState = None,
) -> NDArray[np.bool_]:
    """Test which systems score higher than others, with familywise error control."""
    x, sigma = (np.asarray(values, dtype=np.float64) for values in (estimates, covariance))
    if not (np.isfinite(x).all() and np.isfinite(sigma).all()):
        raise ValueError(
            "estimates and covariance must be finite; leave out systems whose score is undefined"
        )
    if deviations is None:
        deviations = normal_draws(sigma, n_draws, rng)
    normal, n = np.asarray(deviations, dtype=np.float64), len(x)
    if len(normal) < FEWEST_DRAWS:
        raise ValueError(f"ranks need at least {FEWEST_DRAWS} draws, got {len(normal)}; draw more")
    j, k = np.nonzero(~np.eye(n, dtype=bool))
    if about is not None:
        keep = (j == about) | (k == about)
        j, k = j[keep], k[keep]
    variance = np.diag(sigma)[j] + np.diag(sigma)[k] - 2 * sigma[j, k]
    flat = variance <= 1e-12 * (np.diag(sigma)[j] + np.diag(sigma)[k])
    if flat.any():
        one, other = j[flat][0], k[flat][0]
        raise ValueError(
            f"the difference between systems {one} and {other} has no variance, because their "
            "responses are identical or a covariance is missing; leave out one of these systems"
        )
    sd = np.sqrt(variance)
    if deviates is None:
        statistic = (x[j] - x[k]) / sd
    else:
        statistic = np.asarray(deviates, dtype=np.float64)[j, k]
    greater = np.zeros((n, n), dtype=bool)
    playing = np.ones(len(j), dtype=bool)
    while playing.any():
        largest = largest_difference(normal, j[playing], k[playing], sd[playing])
        declared = playing & (statistic > np.quantile(largest, ci_prob))
        if not declared.any():
            break
        greater[j[declared], k[declared]] = True
        playing &= ~declared
    return greater


def rank_sets(
    estimates: ArrayLike,
    covariance: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    ci_prob: float = 0.95,
    deviates: ArrayLike | None = None,
    deviations: ArrayLike | None = None,
    n_draws: int = 10_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compute joint and marginal confidence sets for the ranks of all systems [MRSW24]_."""
    x = np.asarray(estimates, dtype=np.float64)
    n = len(x)
    joint_seed, *seeds = seed_sequence(rng).spawn(n + 1)
    above = functools.partial(
        significantly_greater, x, covariance, ci_prob=ci_prob, deviates=deviates,
        deviations=deviations, n_draws=n_draws,
    )  # fmt: skip
    greater = above(rng=joint_seed)
    labels = [str(i) for i in range(n)] if names is None else [str(name) for name in names]
    marginal = np.empty((n, 2), dtype=int)
    for i, seed in enumerate(seeds):
        own = above(about=i, rng=seed)
        marginal[i] = 1 + own[:, i].sum(), n - own[i].sum()
    order = np.argsort(-x, kind="stable")
    tier = np.empty(n, dtype=int)
    leader, current = order[0], 1
    for system in order:
        if greater[leader, system]:
            leader, current = system, current + 1
        tier[system] = current
    frame = pd.DataFrame(
        {
            "system": labels,
            "estimate": x,
            "se": np.sqrt(np.diag(np.asarray(covariance, dtype=np.float64))),
            "rank": _ranks(x[None])[0],
            "rank_lb": 1 + greater.sum(axis=0),
            "rank_ub": n - greater.sum(axis=1),
            "marginal_lb": marginal[:, 0],
            "marginal_ub": marginal[:, 1],
            "tier": tier,
            "tied_with_top": ~greater[order[0]],
        }
    )
    return frame.iloc[order].reset_index(drop=True)


def _ranks(draws: NDArray[np.float64]) -> NDArray[np.intp]:
    """Rank systems within each draw, 1 for the highest; ties share the better rank."""
    return np.asarray(stats.rankdata(-draws, method="min", axis=1), dtype=np.intp)


def probability_greater(draws: ArrayLike) -> NDArray[np.float64]:
    """Compute the posterior probability that one score is higher, for all pairs of systems."""
    array = np.asarray(draws, dtype=np.float64)
    complete = array[~np.isnan(array).any(axis=1)]
    out = np.array([(column[:, None] > complete).mean(axis=0) for column in complete.T])
    np.fill_diagonal(out, np.nan)
    return out


def rank_correlations(
    levels: Sequence[str], estimates: ArrayLike, draws: ArrayLike, ci_prob: float = 0.95
) -> pd.DataFrame:
    """Compute Spearman correlations of the scores of systems between data sets [S04]_."""
    x, replicates = np.asarray(estimates, float), np.asarray(draws, float)
    rows = []
    for a, b in itertools.combinations(range(len(levels)), 2):
        shared = np.isfinite(x[a]) & np.isfinite(x[b])
        if shared.sum() < 4:
            continue
        estimate = spearman(x[None, a, shared], x[None, b, shared])[0]
        deviates = spearman(replicates[:, a][:, shared], replicates[:, b][:, shared])
        # A correlation of 1 has an infinite z.
        limit = 1 - 1e-9
        z = np.arctanh(np.clip(deviates[np.isfinite(deviates)], -limit, limit))
        center = np.arctanh(np.clip(estimate, -limit, limit))
        tails = np.quantile(z - np.median(z), [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
        rows.append((levels[a], levels[b], int(shared.sum()), estimate, *np.tanh(center + tails)))
    if not rows:
        raise ValueError("correlations need two data sets that share at least 4 models")
    bounds = bound_names("bootstrap", "ci", ci_prob)
    return pd.DataFrame(rows, columns=["level", "other", "n_systems", "correlation", *bounds])


def spearman(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row-wise rank correlations; NaN for constant rows."""
    ranks = [stats.rankdata(values, axis=1) for values in (a, b)]
    one, other = (r - r.mean(axis=1, keepdims=True) for r in ranks)
    scale = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    out = np.full(len(one), np.nan)
    np.divide((one * other).sum(axis=1), scale, out=out, where=scale > 0)
    return within(out, -1)


def score_noise(parts: xr.Dataset) -> tuple[float, float]:
    """Noise variance of score differences for new images and humans, with degrees of freedom."""
    influence = parts["influence"].values
    n, n_images = influence.shape
    center = np.eye(n) - 1 / n
    square = ((center @ influence) ** 2).sum(axis=0)
    people, both = (float(np.trace(center @ parts[name].values)) for name in ("humans", "shared"))
    # Pseudocounts add no variance to scores.
    images = n_images / max(n_images - 1, 1) * float(square.sum())
    if np.isnan(people):
        return np.nan, np.nan
    known = degrees_of_images(np.sqrt(square)), parts["df_humans"].values.min()
    df = crossed_degrees(*(np.array(part) for part in (images, people, both, *known)))
    return (images + max(people - both, 0.0)) / (n - 1), float(df)


def latent_correlation(
    x: Floats,
    y: Floats,
    noise: tuple[float, float],
    noise_other: tuple[float, float],
    ci_prob: float = 0.95,
) -> dict[str, Any]:
    """Compute the disattenuated correlation of two sets of scores [S04]_ with bounds [F54]_."""
    n = len(x)
    x, y = x - x.mean(), y - y.mean()
    raw = np.array([x @ x, y @ y, x @ y]) / (n - 1)
    (v, df), (w, df_other) = noise, noise_other
    with np.errstate(divide="ignore", invalid="ignore"):
        pearson = within(raw[2] / np.sqrt(raw[0] * raw[1]), -1)
        shares = 1 - v / raw[0], 1 - w / raw[1]
    found: dict[str, Any] = {
        "pearson": float(pearson), "reliability": float(shares[0]),
        "reliability_other": float(shares[1]), "latent": np.nan, "lower": np.nan, "upper": np.nan,
    }  # fmt: skip
    reliable = raw[:2] - (v, w)
    if not (reliable > 0).all():
        known = np.isfinite(reliable).all()
        return {**found, "note": note("only-noise") if known else note("noise-unknown")}
    scale = float(np.sqrt(reliable.prod()))
    estimate = float(raw[2] / scale)
    product = x * y - x @ y / n
    ratio = np.sqrt(reliable[1] / reliable[0])
    square = ((x**2 - x @ x / n) * ratio + (y**2 - y @ y / n) / ratio) / 2
    t2 = stats.t.ppf((1 + ci_prob) / 2, n - 2) ** 2
    each = t2 * n / (n - 1) ** 3
    # The variance of a variance estimate: twice its square over its degrees of freedom.
    unsure = (v / reliable[0]) ** 2 / df + (w / reliable[1]) ** 2 / df_other
    a = scale**2 * (1 - t2 * unsure / 2) - each * square @ square
    b = raw[2] * scale - each * product @ square
    c = raw[2] ** 2 - each * product @ product
    lower, upper = fieller_set(a, b, c)
    told_of = {
        "reliability-unclear": np.isinf(lower),
        "correlation-beyond-one": abs(estimate) > 1,
        "mostly-noise": min(shares) < RELIABLE,
        "correlation-near-one": min(shares) > SURE and abs(estimate) > NEARLY_ONE,
    }
    text = "; ".join(note(code) for code, here in told_of.items() if here)
    return {**found, "latent": estimate, "lower": lower, "upper": upper, "note": text}
