"""Readers and an AI on the same cases in two modalities."""

from __future__ import annotations

import numpy as np
from scipy import special

from alikely._base.arrays import Floats, normal_nodes
from alikely._base.random import RandomState, seed_sequence
from alikely.data.trials import Trials

__all__ = ["reader_study"]

# Nodes of each of two dimensions of a population of readers.
N_NODES = 24
N_STEPS = 64


def reader_study(
    n_readers: int = 6,
    n_cases: int = 150,
    *,
    correlation: tuple[float, float] = (0.6, 0.4),
    spread: float = 0.3,
    accuracy: float = 0.75,
    rng: RandomState = None,
) -> tuple[Trials, tuple[float, float]]:
    """Simulate a fully crossed reader study with two modalities.

    Every reader reads every case in both modalities, and so does an AI. How much a reader's
    evidence goes with that of the AI varies from reader to reader, and so does the accuracy.

    Parameters
    ----------
    n_readers, n_cases : int
        At least 1.
    correlation : (float, float)
        Of evidence with that of the AI in either modality, for the middle reader; in (-1, 1).
    spread : float
        Standard deviation over readers of Fisher's z of the correlation (half of it common to both
        modalities), and of the limit of accuracy in standard deviations of the evidence; 0 for
        readers who are all alike.
    accuracy : float
        Of the middle reader and of the AI, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    trials : Trials
        Readers ``reader_0, ...`` of kind human, ``AI`` of kind model, conditions ``A`` and ``B``.
    error_consistency : (float, float)
        Mean over the population of readers in either modality.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> trials, truth = reader_study(3, 40, spread=0, rng=1)
    >>> trials.data.sizes["trial"], np.round(truth, 3).tolist()
    (80, [0.384, 0.239])
    """
    if min(n_readers, n_cases) < 1 or spread < 0 or not 0 < accuracy < 1:
        raise ValueError(
            "readers and cases must be at least 1, spread at least 0 and accuracy in (0, 1); got "
            f"{n_readers}, {n_cases}, {spread} and {accuracy}"
        )
    if max(np.abs(correlation)) >= 1:
        raise ValueError(f"correlations must lie in (-1, 1), got {correlation}")
    generator = np.random.default_rng(seed_sequence(rng))
    middle = special.ndtri(accuracy)
    common = generator.standard_normal(n_readers)
    limits = middle + spread * generator.standard_normal(n_readers)
    right = []
    # A case is as hard in one modality as in the other, by .7, for the AI and for each reader.
    of_ai, of_readers = _twice(generator, 1, n_cases), _twice(generator, n_readers, n_cases)
    for m, rho in enumerate(correlation):
        own = (common + generator.standard_normal(n_readers)) / np.sqrt(2)
        r = np.tanh(np.arctanh(rho) + spread * own)[:, None]
        evidence = r * of_ai[m] + np.sqrt(1 - r**2) * of_readers[m]
        right.append(np.concatenate([evidence < limits[:, None], of_ai[m] < middle]))
    trials = Trials.from_correct(
        np.concatenate(right, axis=1),
        observers=[*(f"reader_{i}" for i in range(n_readers)), "AI"],
        kind=["human"] * n_readers + ["model"],
        item=[f"case_{i}" for i in range(n_cases)] * 2,
        condition=["A"] * n_cases + ["B"] * n_cases,
    )
    one, other = (_population(rho, spread, middle) for rho in correlation)
    return trials, (one, other)


def _twice(generator: np.random.Generator, n: int, n_cases: int) -> Floats:
    """Evidence of `n` observers in two modalities, correlated by .7."""
    both = generator.standard_normal((3, n, n_cases))
    return np.asarray(np.sqrt(0.7) * both[:1] + np.sqrt(0.3) * both[1:])


def _population(rho: float, spread: float, middle: float) -> float:
    """Mean error consistency with the AI over readers, by Gauss-Hermite quadrature."""
    nodes, weights = normal_nodes(N_NODES)
    r = np.tanh(np.arctanh(rho) + spread * nodes)[:, None]
    limit = (middle + spread * nodes)[None, :]
    p_a, p_b = special.ndtr(limit), special.ndtr(middle)
    expected = p_a * p_b + (1 - p_a) * (1 - p_b)
    observed = 1 - p_a - p_b + 2 * _both_below(r, limit, middle)
    return float(weights @ ((observed - expected) / (1 - expected)) @ weights)


def _both_below(r: Floats, a: Floats, b: float) -> Floats:
    """Bivariate normal probability, by Plackett's integral over the correlation."""
    x, w = np.polynomial.legendre.leggauss(N_STEPS)
    t = r[..., None] * (x + 1) / 2
    a = a[..., None]
    density = np.exp(-(a**2 - 2 * t * a * b + b**2) / (2 * (1 - t**2))) / np.sqrt(1 - t**2)
    integral = (density * w).sum(axis=-1) * r / 2 / (2 * np.pi)
    return np.asarray(special.ndtr(a[..., 0]) * special.ndtr(b) + integral)
