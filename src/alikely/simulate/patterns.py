"""Who is right together: the joint distribution of several observers' correctness.

References
----------
.. [DS40] Deming, Stephan (1940). On a least squares adjustment of a sampled frequency table when
   the expected marginal totals are known. doi:10.1214/aoms/1177731829
.. [C75] Csiszar (1975). I-divergence geometry of probability distributions and minimization
   problems. doi:10.1214/aop/1176996454
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize

from alikely._base.arrays import Floats
from alikely.metrics import bounds

__all__ = ["correctness_patterns", "pattern_cells", "pattern_probabilities"]


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
