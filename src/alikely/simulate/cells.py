"""Cells of correctness: probabilities and counts of pairs, and of several observers.

References
----------
.. [C75] Csiszar (1975). I-divergence geometry of probability distributions and minimization
   problems. doi:10.1214/aop/1176996454
.. [DS40] Deming, Stephan (1940). On a least squares adjustment of a sampled frequency table when
   the expected marginal totals are known. doi:10.1214/aoms/1177731829
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from alikely._base.arrays import Floats, within
from alikely._base.random import RandomState, seed_sequence
from alikely.metrics import bounds, copying

__all__ = [
    "cell_probabilities",
    "copy_cell_probabilities",
    "correctness_cells",
    "correctness_patterns",
    "pattern_cells",
    "pattern_probabilities",
]


def check_ranges(*given: tuple[str, ArrayLike, float, float], strict: bool = False) -> None:
    """Check names, values and their least and greatest value, excluded if strict (`ValueError`)."""
    for name, values, low, high in given:
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
        inside = (array > low) & (array < high) if strict else (array >= low) & (array <= high)
        if not inside.all():
            ends = f"({low:g}, {high:g})" if strict else f"[{low:g}, {high:g}]"
            raise ValueError(f"{name} must lie in {ends}, got {array[~inside].flat[0]:g}")


def copy_cell_probabilities(
    accuracy_a: ArrayLike, copy_probability: ArrayLike, own_accuracy: ArrayLike
) -> NDArray[np.float64]:
    """Cell probabilities of the signed copy model [K25]_."""
    p_a, c, q = np.broadcast_arrays(
        *(np.asarray(x, dtype=np.float64) for x in (accuracy_a, copy_probability, own_accuracy))
    )
    check_ranges(
        ("accuracy_a", p_a, 0, 1), ("copy_probability", c, -1, 1), ("own_accuracy", q, 0, 1)
    )
    own = (1 - np.abs(c)) * q
    u, v = within(np.maximum(c, 0) + own), within(np.maximum(-c, 0) + own)
    return np.stack([p_a * u, p_a * (1 - u), (1 - p_a) * v, (1 - p_a) * (1 - v)], axis=-1)


def cell_probabilities(
    accuracy_a: ArrayLike, accuracy_b: ArrayLike, error_consistency: ArrayLike
) -> NDArray[np.float64]:
    """Cell probabilities of two observers with these accuracies and this error consistency.

    Parameters
    ----------
    accuracy_a : array_like
        In (0, 1).
    accuracy_b : array_like
        In [0, 1].
    error_consistency : array_like
        Within what the accuracies allow, see `alikely.metrics.bounds.error_consistency_bounds`.

    Returns
    -------
    ndarray, shape (..., 4)
        Probabilities of ``n11, n10, n01, n00``.

    Raises
    ------
    ValueError
        If no such observers exist; the message gives the feasible range.

    Examples
    --------
    >>> cell_probabilities(0.75, 0.75, 0.5).round(4).tolist()
    [0.6562, 0.0938, 0.0938, 0.1562]
    """
    c, q = copying.copy_parameters(accuracy_a, accuracy_b, error_consistency)
    # Where everything is copied nothing is left to answer alone.
    return copy_cell_probabilities(accuracy_a, c, np.where(np.isnan(q), 0.5, q))


def correctness_cells(
    probabilities: ArrayLike,
    n_trials: ArrayLike,
    size: int | tuple[int, ...] | None = None,
    rng: RandomState = None,
) -> NDArray[np.int64]:
    """Draw count tables: multinomial, so that the number of copied trials is random too.

    Parameters
    ----------
    probabilities : array_like, shape (..., 4)
        As from `copy_cell_probabilities` or `cell_probabilities`.
    n_trials : array_like of int, shape (...)
        Numbers of trials.
    size : int or tuple of int, optional
        Leading dimensions of independent draws.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    ndarray of int64, shape size + (..., 4)

    Raises
    ------
    ValueError
        If the probabilities do not sum to 1 or are negative.

    Examples
    --------
    >>> correctness_cells([0.6, 0.1, 0.1, 0.2], 160, size=3, rng=1).sum(axis=-1).tolist()
    [160, 160, 160]
    """
    p = np.asarray(probabilities, dtype=np.float64)
    total = p.sum(axis=-1)
    if (p < 0).any() or not np.allclose(total, 1, atol=1e-9):
        raise ValueError(
            f"probabilities must be non-negative and sum to 1 over the four cells, got a sum of "
            f"{total.flat[np.argmax(np.abs(total - 1))]:g}"
        )
    n = np.asarray(n_trials)
    shape = np.broadcast_shapes(p.shape[:-1], n.shape)
    leading = () if size is None else (size,) if isinstance(size, int) else tuple(size)
    generator = np.random.default_rng(seed_sequence(rng))
    return generator.multinomial(n, p, size=(*leading, *shape))


# More observers have so many patterns that planning with them is no longer quick.
MOST_OBSERVERS = 8
# At the edge of what can exist, fitting closes in on empty patterns slowly.
ROUNDS, CONVERGED = 20_000, 1e-13
# What linear programming leaves to rounding.
SLACK = 1e-7


def correctness_patterns(n_observers: int) -> NDArray[np.int8]:
    """All patterns of right and wrong answers of some observers to one trial."""
    if not 2 <= n_observers <= MOST_OBSERVERS:
        raise ValueError(
            f"patterns are for 2 to {MOST_OBSERVERS} observers, got {n_observers}; plan larger "
            "groups with variance_components"
        )
    return np.array(list(itertools.product((1, 0), repeat=n_observers)), dtype=np.int8)


def pattern_cells(n_observers: int, first: int, second: int) -> Floats:
    """Which cell of a pair's table each pattern falls into."""
    right = correctness_patterns(n_observers)
    code = 3 - 2 * right[:, first] - right[:, second]
    return np.asarray(code[:, None] == np.arange(4), dtype=np.float64)


def pattern_probabilities(
    accuracies: ArrayLike, error_consistency: ArrayLike, names: Sequence[str] | None = None
) -> Floats:
    """Joint distribution of several observers' correctness that assumes nothing beyond pairs."""
    accuracy = np.asarray(accuracies, dtype=np.float64)
    ec = np.asarray(error_consistency, dtype=np.float64)
    if accuracy.ndim != 1 or ec.shape != (len(accuracy),) * 2:
        raise ValueError(
            "error_consistency must have one row and one column per accuracy, got shapes "
            f"{ec.shape} and {accuracy.shape}"
        )
    right = correctness_patterns(len(accuracy))
    known = names or [f"observer {i + 1}" for i in range(len(accuracy))]
    outside = ~((accuracy > 0) & (accuracy < 1))
    if outside.any():
        raise ValueError(
            f"accuracies must lie strictly between 0 and 1, got {accuracy[outside][0]:g}"
        )
    events = [right.all(axis=1) | True] + [right[:, i] == 1 for i in range(len(accuracy))]
    goals = [1.0, *accuracy]
    for i, j in itertools.combinations(range(len(accuracy)), 2):
        if np.isnan(ec[i, j]):
            continue
        both = (right[:, i] == 1) & (right[:, j] == 1)
        p_i, p_j = accuracy[i], accuracy[j]
        alone = (p_i + p_j - 2 * p_i * p_j) / 2
        lower, upper = _range(both, events, goals)
        least, most = ((p - p_i * p_j) / alone for p in (lower, upper))
        if not least - SLACK <= ec[i, j] <= most + SLACK:
            raise ValueError(_impossible(accuracy, ec, (i, j), (least, most), known))
        events.append(both)
        goals.append(float(np.clip(p_i * p_j + ec[i, j] * alone, lower, upper)))
    return _fitted(events, goals)


def _range(
    event: NDArray[np.bool_], events: Sequence[NDArray[np.bool_]], goals: Sequence[float]
) -> tuple[float, float]:
    """Least and greatest probability of an event, given those of others."""
    ends = []
    for sign in (1, -1):
        found = optimize.linprog(sign * event.astype(float), A_eq=np.array(events), b_eq=goals)
        ends.append(sign * found.fun)
    return ends[0], ends[1]


def _fitted(events: Sequence[NDArray[np.bool_]], goals: Sequence[float]) -> Floats:
    """Scale each event and its complement to their probabilities, in turn, until nothing moves."""
    p = np.full(len(events[0]), 1 / len(events[0]))
    for _ in range(ROUNDS):
        before = p.copy()
        for event, goal in zip(events[1:], goals[1:], strict=True):
            for part, share in ((event, goal), (~event, 1 - goal)):
                now = p[part].sum()
                # Nothing can be scaled up from 0; such an event is asked to be (next to) empty.
                p[part] *= share / now if now > 0 else 0.0
        if np.abs(p - before).max() < CONVERGED:
            break
    return p / p.sum()


def _impossible(
    accuracy: Floats,
    ec: Floats,
    pair: tuple[int, int],
    feasible: tuple[float, float],
    names: Sequence[str],
) -> str:
    i, j = pair
    given = [f"accuracies {accuracy[i]:g} and {accuracy[j]:g}"]
    alone = [float(b) for b in bounds.error_consistency_bounds(accuracy[i], accuracy[j])]
    least, most = alone
    if least - SLACK <= ec[pair] <= most + SLACK:
        # The two alone could be like this; together with the others they cannot.
        least, most = feasible
        earlier = list(itertools.combinations(range(len(accuracy)), 2))
        given = [f"accuracies {', '.join(f'{a:g}' for a in accuracy)}"] + [
            f"{ec[a, b]:g} of {names[a]} and {names[b]}"
            for a, b in earlier[: earlier.index(pair)]
            if not np.isnan(ec[a, b])
        ]
    return (
        f"error consistency of {names[i]} and {names[j]} must lie in [{least:.4f}, {most:.4f}] "
        f"given {', '.join(given)}; got {ec[pair]:g}"
    )
