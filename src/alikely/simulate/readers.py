"""Observers with normal evidence: readers with two modalities, and repeated items."""

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

# Number of quadrature nodes in each of the two dimensions of a population of readers.
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

    All readers and an AI read every case in both modalities. Readers differ in accuracy and in how
    strongly their evidence correlates with the AI's evidence.

    Parameters
    ----------
    n_readers, n_cases : int
        Number of readers and number of cases, each at least 1.
    correlation : (float, float)
        Correlation between the evidence of the average reader and of the AI in each modality, in
        (-1, 1).
    spread : float
        Standard deviation, over readers, of Fisher's z of the correlation and of the response
        criterion (in standard deviations of the evidence). Half of the variance of z is common to
        both modalities. If the spread is 0, readers have identical parameters.
    accuracy : float
        Accuracy of the average reader and of the AI, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    trials : Trials
        Responses of the readers ``reader_0, ...`` (kind human) and of ``AI`` (kind model) in the
        conditions ``A`` and ``B``.
    error_consistency : (float, float)
        Mean error consistency in the population of readers, for each modality.

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
    # The difficulty of a case in both modalities has correlation 0.7, for the AI and each reader.
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
    """Evidence of `n` observers in two modalities, with correlation 0.7."""
    both = generator.standard_normal((3, n, n_cases))
    return np.asarray(np.sqrt(0.7) * both[:1] + np.sqrt(0.3) * both[1:])


def _population(rho: float, spread: float, middle: float) -> float:
    """Mean error consistency with the AI over readers, by Gauss-Hermite quadrature."""
    nodes, weights = normal_nodes(N_NODES)
    r = np.tanh(np.arctanh(rho) + spread * nodes)[:, None]
    return float(weights @ normal_consistency(r, middle + spread * nodes, middle) @ weights)


def normal_consistency(correlation: Floats | float, a: Floats | float, b: Floats | float) -> Floats:
    """Error consistency of observers whose response is correct if evidence is below a criterion."""
    # The formula is undefined at the limits of correlation and at criteria of 0; nearby it is
    # defined.
    r = np.clip(correlation, -1 + NEAR, 1 - NEAR)
    h, k = (np.where(np.equal(x, 0), NEAR, x) for x in (a, b))
    p_a, p_b, root = special.ndtr(h), special.ndtr(k), np.sqrt(1 - r**2)
    # Owen's T gives the bivariate normal probability that both are correct.
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
    """Simulate two observers who respond to the same items several times.

    Each observer has normally distributed evidence for every item, which is correlated between
    observers. Independent noise is added for every response. A response is correct if evidence plus
    noise is below a criterion, which is determined by the accuracy.

    Parameters
    ----------
    n_items : int
        Number of items, at least 1.
    n_repeats : (int, int)
        Number of responses of each observer to each item, at least 1.
    accuracy : (float, float)
        Accuracy of each observer, in (0, 1).
    correlation : float
        Correlation between the evidence of the two observers, in [-1, 1].
    within : float
        Fraction of the variance of a response that is due to the item, in [0, 1]. With 1, an
        observer always gives the same response to an item; with 0, responses do not depend on the
        item.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    trials : Trials
        Responses of observers ``a`` and ``b``. If one observer responded more often than the other,
        the additional responses are trials that the other observer was not shown.
    error_consistency : float
        Error consistency between individual responses of the two observers, in the population of
        items.

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
    # Single responses are normal with this correlation.
    return trials, float(normal_consistency(within * correlation, *limits))
