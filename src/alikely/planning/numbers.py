"""What users state of a study to be planned, checked, and searches for numbers of trials."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from alikely._base.arrays import Floats

__all__ = [
    "check_between",
    "check_whole",
    "check_width",
    "grid",
    "number_for_power",
    "number_for_width",
    "smallest_with",
]


def _numbers(values: ArrayLike | None, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be one number or several, got {values!r:.60}") from None


def grid(**inputs: ArrayLike | None) -> pd.DataFrame:
    """Broadcast inputs to columns, a row for each combination."""
    given = {name: _numbers(x, name) for name, x in inputs.items()}
    try:
        shape = np.broadcast_shapes(*(x.shape for x in given.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in given.items())
        raise ValueError(
            f"inputs must broadcast, got shapes {shapes}; for all combinations give one of them as "
            "a column, such as x[:, None]"
        ) from None
    return pd.DataFrame({name: np.broadcast_to(x, shape).ravel() for name, x in given.items()})


def check_between(
    values: ArrayLike, name: str, fix: str, low: float = 0.0, high: float = 1.0
) -> None:
    """Refuse numbers that are not strictly between two others (`ValueError`)."""
    numbers = _numbers(values, name)
    bad = ~((numbers > low) & (numbers < high))
    if bad.any():
        raise ValueError(
            f"{name} must lie strictly between {low:g} and {high:g}, got {numbers[bad].flat[0]:g}; "
            f"{fix}"
        )


def check_whole(values: ArrayLike, name: str, fewest: int = 2) -> None:
    """Refuse numbers that are not whole or below the fewest (`ValueError`)."""
    numbers = _numbers(values, name)
    bad = ~((numbers >= fewest) & np.isfinite(numbers) & (numbers == np.floor(numbers)))
    if bad.any():
        raise ValueError(
            f"{name} must be whole numbers of at least {fewest}, got {numbers[bad].flat[0]:g}"
        )


def check_width(values: ArrayLike, of: str = "error consistency") -> None:
    """Refuse widths outside (0, 2] (`ValueError`)."""
    widths = _numbers(values, "width")
    bad = ~((widths > 0) & (widths <= 2))
    if bad.any():
        raise ValueError(
            f"width must lie in (0, 2], as {of} lies in [-1, 1]; got {widths[bad].flat[0]:g}"
        )


AROUND = np.array([0.7, 0.84, 1.0, 1.19, 1.42])
FEWEST, MOST = 2, 10_000_000


def number_for_width(
    width: Callable[[int, np.random.SeedSequence], float],
    start: float,
    goal: float,
    seed: np.random.SeedSequence,
    slack: float,
    rounds: int,
) -> int:
    """Number of trials at which a width that is simulated is no larger than a goal."""

    def narrowness(n: int) -> float:
        found = width(n, _own_seed(seed, n))
        # All estimates alike: nothing narrower is to be had.
        return -float(np.log(found)) if found != 0 else np.inf

    return _smallest_number(narrowness, start, -np.log(goal), np.log, np.exp, slack, rounds)


def number_for_power(
    power: Callable[[int, np.random.SeedSequence], float],
    start: float,
    goal: float,
    seed: np.random.SeedSequence,
    rounds: int,
) -> int:
    """Number of trials at which a power that is simulated reaches a goal."""

    def deviate(n: int) -> float:
        return float(special.ndtri(power(n, _own_seed(seed, n))))

    wanted = float(special.ndtri(goal))
    return _smallest_number(deviate, start, wanted, np.sqrt, np.square, 0.03, rounds)


def _smallest_number(
    gain: Callable[[int], float],
    start: float,
    goal: float,
    scale: Callable[[float], float],
    number: Callable[[float], float],
    slack: float,
    rounds: int,
) -> int:
    """Number of trials at which a gain that is known with noise reaches a goal."""
    guess = float(np.clip(start, 2 * FEWEST, MOST))
    for _ in range(rounds):
        tried = np.unique(np.ceil(guess * AROUND)).astype(int).tolist()
        gains = np.nan_to_num([gain(n) for n in tried], nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        known = np.isfinite(gains)
        if known.sum() < 2:
            # All is gained around here, or next to nothing: look elsewhere.
            guess *= 0.5 if gains.max() > goal else 2.0
            continue
        x = np.array([scale(n) for n in tried])
        slope, level = np.polyfit(x[known], gains[known], 1)
        wanted = number((goal - level) / slope) if slope > 0 else 2 * guess
        # One round does not go further than the line can be trusted.
        guess = float(np.clip(wanted, guess / 3, guess * 3))
    found = int(np.ceil(np.clip(guess, FEWEST, MOST)))
    # With very few trials gains go by steps, which no line follows.
    while not gain(found) >= goal - slack and found < MOST:
        found = min(int(np.ceil(1.02 * found)) + 1, MOST)
    return found


def smallest_with(power: Callable[[int], float], goal: float, fewest: int = 2) -> int:
    """Smallest number from the fewest on with a power, which grows with it."""
    low, high = fewest - 1, fewest
    while power(high) < goal:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= goal else (middle, high)
    return high


def _own_seed(seed: np.random.SeedSequence, n_trials: int) -> np.random.SeedSequence:
    """A stream of its own for each number of trials that a search tries."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, n_trials))
