"""Checks of planning inputs, and searches for numbers of trials."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from alikely._base.arrays import Floats


def _numbers(values: ArrayLike | None, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be one number or several, got {values!r:.60}") from None


def grid(**inputs: ArrayLike | None) -> pd.DataFrame:
    """Broadcast inputs to columns, one row per combination."""
    given = {name: _numbers(x, name) for name, x in inputs.items()}
    try:
        shape = np.broadcast_shapes(*(x.shape for x in given.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in given.items())
        raise ValueError(
            f"inputs must broadcast, got shapes {shapes}; to cross two inputs make one a column, "
            "such as x[:, None]"
        ) from None
    return pd.DataFrame({name: np.broadcast_to(x, shape).ravel() for name, x in given.items()})


def check_between(
    values: ArrayLike, name: str, fix: str, low: float = 0.0, high: float = 1.0
) -> None:
    """Raise `ValueError` unless all numbers lie strictly between two others."""
    numbers = _numbers(values, name)
    bad = ~((numbers > low) & (numbers < high))
    if bad.any():
        raise ValueError(
            f"{name} must lie strictly between {low:g} and {high:g}, got {numbers[bad].flat[0]:g}; "
            f"{fix}"
        )


def check_whole(values: ArrayLike, name: str, fewest: int = 2) -> None:
    """Raise `ValueError` unless all numbers are integers of at least the minimum."""
    numbers = _numbers(values, name)
    bad = ~((numbers >= fewest) & np.isfinite(numbers) & (numbers == np.floor(numbers)))
    if bad.any():
        raise ValueError(
            f"{name} must be whole numbers of at least {fewest}, got {numbers[bad].flat[0]:g}"
        )


def check_width(values: ArrayLike, of: str = "error consistency") -> None:
    """Raise `ValueError` unless all widths lie in (0, 2]."""
    widths = _numbers(values, "width")
    bad = ~((widths > 0) & (widths <= 2))
    if bad.any():
        raise ValueError(
            f"width must lie in (0, 2], as {of} lies in [-1, 1]; got {widths[bad].flat[0]:g}"
        )


AROUND = np.array([0.7, 0.84, 1.0, 1.19, 1.42])
FEWEST, MOST = 2, 10_000_000


def simulated_number(
    value: Callable[[int, np.random.SeedSequence], float],
    start: float,
    goal: float,
    seed: np.random.SeedSequence,
    *,
    power: bool = False,
    slack: float = 0.02,
    rounds: int = 2,
) -> int:
    """Number of trials at which a simulated width falls to a goal, or power rises to one."""
    # Width is nearly a power of the number of trials; probit power is linear in its root.
    scale, number = (np.sqrt, np.square) if power else (np.log, np.exp)

    def gain(n: int) -> float:
        # A separate stream of random numbers for each number of trials.
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, n))
        found = value(n, own)
        # Identical estimates have width 0, whose logarithm is infinite.
        with np.errstate(divide="ignore"):
            return float(special.ndtri(found) if power else -np.log(found))

    wanted = float(special.ndtri(goal) if power else -np.log(goal))
    guess = float(np.clip(start, 2 * FEWEST, MOST))
    for _ in range(rounds):
        tried = np.unique(np.ceil(guess * AROUND)).astype(int).tolist()
        gains = np.nan_to_num([gain(n) for n in tried], nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        known = np.isfinite(gains)
        if known.sum() < 2:
            # Power is close to 0 or 1 here: halve or double the number.
            guess *= 0.5 if gains.max() > wanted else 2.0
            continue
        slope, level = np.polyfit(scale(np.array(tried))[known], gains[known], 1)
        reached = number((wanted - level) / slope) if slope > 0 else 2 * guess
        # Limit extrapolation in one round.
        guess = float(np.clip(reached, guess / 3, guess * 3))
    found = int(np.ceil(np.clip(guess, FEWEST, MOST)))
    # With very few trials the curve has steps, so that extrapolation fails.
    while not gain(found) >= wanted - slack and found < MOST:
        found = min(int(np.ceil(1.02 * found)) + 1, MOST)
    return found


def smallest_with(power: Callable[[int], float], goal: float, fewest: int = 2) -> int:
    """Smallest number, from the minimum on, that reaches a power that increases with it."""
    low, high = fewest - 1, fewest
    while power(high) < goal:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= goal else (middle, high)
    return high
