"""Readers and other observers of normal evidence: two modalities, and repeated items."""

from __future__ import annotations

import numpy as np
from scipy import special

from alikely._base.arrays import Floats, normal_nodes
from alikely._base.arrays import within as bounded
from alikely._base.random import RandomState, seed_sequence
from alikely.data.trials import Trials
from alikely.metrics import ERROR_CONSISTENCY
from alikely.simulate.cells import check_ranges

__all__ = ["reader_study", "repeated_answers"]

# Nodes of each of two dimensions of a population of readers.
N_NODES = 24
NEAR = 1e-15


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
    check_ranges(
        ("n_readers", n_readers, 1, np.inf), ("n_cases", n_cases, 1, np.inf),
        ("spread", spread, 0, np.inf),
    )  # fmt: skip
    check_ranges(("accuracy", accuracy, 0, 1), ("correlation", correlation, -1, 1), strict=True)
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
    return float(weights @ normal_consistency(r, middle + spread * nodes, middle) @ weights)


def normal_consistency(correlation: Floats | float, a: Floats | float, b: Floats | float) -> Floats:
    """Error consistency of observers who are right where normal evidence is below their limit."""
    # At their ends, and at limits of 0, the formula is not defined; next to these it is.
    r = np.clip(correlation, -1 + NEAR, 1 - NEAR)
    h, k = (np.where(np.equal(x, 0), NEAR, x) for x in (a, b))
    p_a, p_b, root = special.ndtr(h), special.ndtr(k), np.sqrt(1 - r**2)
    # Owen's T gives the bivariate normal probability that both are right.
    both = (p_a + p_b) / 2 - (h * k < 0) / 2
    both = both - special.owens_t(h, (k - r * h) / (h * root))
    both = both - special.owens_t(k, (h - r * k) / (k * root))
    p_a, p_b = np.broadcast_arrays(p_a, p_b, both)[:2]
    cells = np.stack([both, p_a - both, p_b - both, 1 - p_a - p_b + both], axis=-1)
    return ERROR_CONSISTENCY.value(bounded(cells))


def repeated_answers(
    n_items: int = 160,
    n_repeats: tuple[int, int] = (1, 5),
    *,
    accuracy: tuple[float, float] = (0.75, 0.75),
    correlation: float = 0.6,
    within: float = 0.5,
    rng: RandomState = None,
) -> tuple[Trials, float]:
    """Simulate two observers who answer the same items several times.

    Each has an evidence for every item, normal and correlated between the observers, and adds noise
    of its own in every answer; it is right where the sum is low enough for its accuracy.

    Parameters
    ----------
    n_items : int
        At least 1.
    n_repeats : (int, int)
        Answers of either observer to each item, at least 1.
    accuracy : (float, float)
        In (0, 1).
    correlation : float
        Of both observers' evidence, in [-1, 1].
    within : float
        Share of the variance of an answer that comes of its item, in [0, 1]: 1 for an observer who
        says the same whenever asked, 0 for one to whom items are all alike.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    trials : Trials
        Observers ``a`` and ``b``; the second's further answers are trials that the first was not
        shown.
    error_consistency : float
        Of single answers, one of each, in the population of items.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> trials, truth = repeated_answers(20, (1, 3), rng=1)
    >>> trials.data.sizes["trial"], round(truth, 3)
    (60, 0.174)
    """
    check_ranges(
        ("n_items", n_items, 1, np.inf), ("n_repeats", n_repeats, 1, np.inf),
        ("correlation", correlation, -1, 1), ("within", within, 0, 1),
    )  # fmt: skip
    check_ranges(("accuracy", accuracy, 0, 1), strict=True)
    generator = np.random.default_rng(seed_sequence(rng))
    common, *own = generator.standard_normal((3, n_items))
    shared = np.sqrt(abs(correlation))
    evidence = [
        sign * shared * common + np.sqrt(1 - abs(correlation)) * alone
        for sign, alone in zip((1, np.sign(correlation) or 1), own, strict=True)
    ]
    most, limits = max(n_repeats), special.ndtri(accuracy)
    right = np.ma.masked_all((2, most, n_items), dtype=float)
    for observer, n in enumerate(n_repeats):
        noise = generator.standard_normal((n, n_items))
        answer = np.sqrt(within) * evidence[observer] + np.sqrt(1 - within) * noise
        right[observer, :n] = answer < limits[observer]
    trials = Trials.from_correct(
        right.reshape(2, -1),
        observers=["a", "b"],
        item=np.tile(np.arange(n_items), most).tolist(),
        repeat=np.repeat(np.arange(most), n_items).tolist(),
    )
    # Single answers are normal with this correlation.
    return trials, float(normal_consistency(within * correlation, *limits))
