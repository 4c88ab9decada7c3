"""Differences between scores: all pairs, groups, and whether there are any at all.

References
----------
.. [H31] Hotelling (1931). The generalization of Student's ratio. doi:10.1214/aoms/1177732979
.. [W43] Wald (1943). Tests of statistical hypotheses concerning several parameters when the number
   of observations is large. doi:10.1090/S0002-9947-1943-0012401-3
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from alikely._random import RandomState, seed_sequence
from alikely.null import adjusted_p_values

__all__ = ["EqualityTest", "equality_test", "group_means", "pairwise_differences"]


class EqualityTest(NamedTuple):
    """Test that several scores are equal.

    Attributes
    ----------
    statistic : float
        Wald statistic, or Hotelling's T-squared.
    df : float
        Number of independent differences.
    p_value : float
        In [0, 1].
    """

    statistic: float
    df: int
    p_value: float


def equality_test(
    estimates: NDArray[np.float64], matrix: NDArray[np.float64], n_units: int | None = None
) -> EqualityTest:
    """Test whether all scores are equal [W43]_.

    Parameters
    ----------
    estimates : ndarray, shape (system,)
        Scores.
    matrix : ndarray, shape (system, system)
        Their covariance.
    n_units : int, optional
        Number of independent units (humans, images) that the covariance was estimated from: the
        test is then that of Hotelling [H31]_, for few units. Without it, chi-square.

    Returns
    -------
    EqualityTest

    Raises
    ------
    ValueError
        If there are fewer than two scores, no difference has variance, or `n_units` does not
        exceed the number of independent differences.

    Examples
    --------
    >>> round(equality_test(np.array([0.5, 0.4]), np.eye(2) * 0.05**2).p_value, 3)
    0.157
    """
    if len(estimates) < 2:
        raise ValueError(f"a test of equality needs at least two scores, got {len(estimates)}")
    centre = np.eye(len(estimates)) - 1 / len(estimates)
    values, vectors = np.linalg.eigh(centre @ matrix @ centre)
    used = values > 1e-10 * max(np.diag(matrix).max(), np.finfo(float).tiny)
    df = int(used.sum())
    if not df:
        raise ValueError("no difference between the scores has variance: identical answers")
    projected = vectors[:, used].T @ (centre @ estimates)
    statistic = float((projected**2 / values[used]).sum())
    if n_units is None:
        return EqualityTest(statistic, df, float(stats.chi2.sf(statistic, df)))
    if n_units <= df:
        raise ValueError(
            f"{df} independent differences need more than {df} units, got {n_units}; compare fewer "
            "systems, or use the chi-square test"
        )
    scaled = statistic * (n_units - df) / (df * (n_units - 1))
    return EqualityTest(statistic, df, float(stats.f.sf(scaled, df, n_units - df)))


def group_means(
    names: Sequence[str],
    estimates: NDArray[np.float64],
    matrix: NDArray[np.float64],
    groups: Mapping[str, str],
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Unweighted mean scores of groups of systems, with their covariance.

    Parameters
    ----------
    names : sequence of str
        Names of the systems.
    estimates, matrix : ndarray
        Scores and their covariance.
    groups : mapping of str to str
        Group of each system; a system that is not named belongs to none.

    Returns
    -------
    list of str, ndarray of shape (group,), ndarray of shape (group, group)

    Raises
    ------
    ValueError
        If a system is unknown, or there are fewer than two groups.

    Examples
    --------
    >>> groups = {"a": "x", "b": "x", "c": "y"}
    >>> group_means(["a", "b", "c"], np.array([0.1, 0.3, 0.5]), np.eye(3), groups)[1].tolist()
    [0.2, 0.5]
    """
    unknown = [name for name in groups if name not in names]
    if unknown:
        raise ValueError(f"no system is named {unknown[0]!r}; systems are {', '.join(names)}")
    labels = list(dict.fromkeys(groups.values()))
    if len(labels) < 2:
        raise ValueError(f"a comparison of groups needs at least two, got {', '.join(labels)}")
    member = np.array([[groups.get(name) == label for name in names] for label in labels])
    weights = member / member.sum(axis=1, keepdims=True)
    return labels, weights @ estimates, weights @ matrix @ weights.T


def pairwise_differences(
    names: Sequence[str],
    estimates: NDArray[np.float64],
    matrix: NDArray[np.float64],
    ci_prob: float = 0.95,
    rng: RandomState = None,
) -> pd.DataFrame:
    """All differences of scores, with intervals that hold at once.

    Parameters
    ----------
    names : sequence of str
        Names of the systems.
    estimates : ndarray, shape (system,)
        Scores.
    matrix : ndarray, shape (system, system)
        Their covariance.
    ci_prob : float
        Probability that all intervals hold, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness of the quantile of the largest standardised difference.

    Returns
    -------
    pandas.DataFrame
        As from `alikely.benchmark.Benchmark.differences`.

    Examples
    --------
    >>> table = pairwise_differences(["a", "b"], np.array([0.5, 0.1]), np.eye(2) * 0.05**2, rng=1)
    >>> table[["system", "other"]].values.tolist(), bool(table["p_value"][0] < 1e-6)
    ([['a', 'b']], True)
    """
    j, k = np.triu_indices(len(names), k=1)
    difference = estimates[j] - estimates[k]
    diagonal = np.diag(matrix)
    variance = diagonal[j] + diagonal[k] - 2 * matrix[j, k]
    # Identical systems: what rounding leaves is no spread.
    variance = np.where(variance > 1e-12 * (diagonal[j] + diagonal[k]), variance, np.nan)
    se = np.sqrt(variance)
    z = difference / se
    values, vectors = np.linalg.eigh(matrix)
    generator = np.random.default_rng(seed_sequence(rng))
    normal = generator.standard_normal((20_000, len(names)))
    normal = normal @ (vectors * np.sqrt(np.maximum(values, 0))).T
    known = np.isfinite(se)
    largest = np.zeros(len(normal))
    for pair in np.flatnonzero(known):
        np.maximum(largest, np.abs(normal[:, j[pair]] - normal[:, k[pair]]) / se[pair], out=largest)
    wide = np.quantile(largest, ci_prob)
    p = 2 * special.ndtr(-np.abs(z))
    percent = f"{100 * ci_prob:g}"
    return pd.DataFrame(
        {
            "system": np.array(names, dtype=object)[j],
            "other": np.array(names, dtype=object)[k],
            "difference": difference,
            "se": se,
            f"simultaneous_ci{percent}_lb": difference - wide * se,
            f"simultaneous_ci{percent}_ub": difference + wide * se,
            "p_value": p,
            "p_value_bh": adjusted_p_values(p),
            "note": np.where(known, "", "identical answers: the difference has no variance"),
        }
    )
