"""Which images are drawn, with which probability: strata for few machines, sizes for many.

References
----------
.. [N34] Neyman (1934). On the two different aspects of the representative method.
   doi:10.2307/2342192
.. [M49] Madow (1949). On the theory of systematic sampling, II. doi:10.1214/aoms/1177729988
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.planning.sizes import easiness

__all__ = [
    "Strata",
    "allocation",
    "fewest_images",
    "probabilities",
    "strata_of",
    "stratified",
    "systematic",
]

# Fewest images of a stratum that is parted in two, and fewest of one that are shown.
FEWEST_TO_PART, FEWEST = 16, 4
# Share of the trials that are spread evenly, whatever the sizes say.
EVEN = 0.15


class Strata(NamedTuple):
    """Groups of images that some machines answered alike."""

    number: NDArray[np.intp]
    machines: tuple[int, ...]
    right: NDArray[np.bool_]
    hard: NDArray[np.intp]


def strata_of(correct: NDArray[np.bool_], machines: Sequence[int]) -> Strata:
    """Cells of machines' correctness; of one or two machines in an easier and a harder half."""
    ease = easiness(correct)
    used = tuple(machines)
    place = 1 << np.arange(len(used))[::-1]
    cell = place @ correct[list(used)].astype(np.intp)
    half = np.zeros(len(cell), dtype=np.intp)
    for number in np.unique(cell):
        own = np.flatnonzero(cell == number)
        if len(own) >= FEWEST_TO_PART and len(used) <= 2:
            # By rank, so that halves are equal however many images tie.
            order = np.argsort(-ease[own], kind="stable")
            half[own[order[(len(own) + 1) // 2 :]]] = 1
    kinds, number_of = np.unique(2 * cell + half, return_inverse=True)
    return Strata(number_of, used, (kinds // 2 & place[:, None]) > 0, kinds % 2)


def allocation(number: NDArray[np.intp], size: Floats, n: int) -> NDArray[np.intp]:
    """Images to show of each stratum: Neyman's, at least four where there are so many [N34]_."""
    held = np.bincount(number)
    rms = np.sqrt(np.bincount(number, size**2) / held)
    least = np.minimum(FEWEST, held)
    if n < fewest_images(number):
        raise ValueError(
            f"n must be at least {least.sum()}, up to {FEWEST} images for each of {len(held)} "
            f"strata of answers that these machines give; got {n}"
        )
    share = _capped(np.asarray(held * rms, np.float64), least.astype(float), held.astype(float), n)
    whole = np.floor(share + 1e-9).astype(np.intp)
    left = n - int(whole.sum())
    # The largest remainders, where there is room.
    order = np.argsort(-np.where(whole < held, share - whole, -1.0), kind="stable")
    whole[order[:left]] += 1
    return whole


def fewest_images(number: NDArray[np.intp]) -> int:
    """Images that strata need at least: four of each that has so many."""
    return int(np.minimum(FEWEST, np.bincount(number)).sum())


def _capped(wanted: Floats, low: Floats, high: Floats, total: float) -> Floats:
    """Multiples of what is wanted, each within its bounds, that sum to a total."""
    wanted = np.maximum(wanted, 1e-12)
    lower, upper = 0.0, float((high / wanted).max())
    for _ in range(200):
        middle = (lower + upper) / 2
        if np.clip(middle * wanted, low, high).sum() < total:
            lower = middle
        else:
            upper = middle
    return np.asarray(np.clip(upper * wanted, low, high))


def probabilities(size: Floats, n: int, even: float = EVEN) -> Floats:
    """Inclusion probabilities in proportion to size, with a share spread evenly."""
    count = len(size)
    if not np.any(size > 0):
        return np.full(count, n / count)
    scale, base = np.asarray(size / size.sum() * n), even * n / count
    telling = int((size > 0).sum())
    if telling + base * (count - telling) < n:
        # All that tell are certain to be shown, and leave room for others.
        return np.where(size > 0, 1.0, (n - telling) / max(count - telling, 1))
    lower, upper = 0.0, float((1 / scale[scale > 0]).max()) + 1
    for _ in range(200):
        middle = (lower + upper) / 2
        if np.minimum(base + middle * scale, 1).sum() < n:
            lower = middle
        else:
            upper = middle
    return np.asarray(np.minimum(base + upper * scale, 1))


def systematic(
    probability: Floats, rng: np.random.Generator, order: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Draw images systematically, in random order [M49]_."""
    if order is None:
        order = rng.permutation(len(probability))
    edges = np.cumsum(probability[order])
    n = round(float(edges[-1]))
    # Rounding must not lose the last image.
    edges *= n / edges[-1]
    at = np.searchsorted(edges, np.arange(n) + rng.random(), side="right")
    return np.sort(order[np.minimum(at, len(order) - 1)])


def stratified(
    number: NDArray[np.intp], shown: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw so many images of each stratum, all alike."""
    order = np.lexsort((rng.random(len(number)), number))
    starts = np.concatenate([[0], np.cumsum(np.bincount(number))[:-1]])
    rank = np.arange(len(number)) - starts[number[order]]
    return np.sort(order[rank < shown[number[order]]])
