"""How much an image can tell: sizes, known from the machines' answers before anybody is tested.

References
----------
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
.. [SSW92] Särndal, Swensson, Wretman (1992). Model assisted survey sampling.
   doi:10.1007/978-1-4612-4378-4
"""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats

__all__ = [
    "ACCURACIES",
    "CONSISTENCIES",
    "Aim",
    "easiness",
    "effects",
    "joint_error_sizes",
    "sizes",
    "spread_in_strata",
]

Aim = Literal["error_consistency", "observed_agreement"]
# What sizes are for, by metric; labels have sizes of their own, of images that both get wrong.
AIMS: dict[str, Aim | None] = {
    "error_consistency": "error_consistency",
    "observed_agreement": "observed_agreement",
    "misclassification_agreement": None,
}
# What people might be like. One guess can be worse than chance sampling; the mean over these is
# not.
ACCURACIES = (0.5, 0.65, 0.8, 0.92)
CONSISTENCIES = (0.1, 0.35)
# Machines that are all right, or all wrong, leave an image this far from certain.
MARGIN = 0.05
# Images taken at a time: bounds the memory of the influences of many machines.
CHUNK = 4_096


def easiness(correct: NDArray[np.bool_]) -> Floats:
    """How easy an image seems, from the machines: their share of right answers, standardised."""
    share = correct.mean(axis=0)
    logit = np.log((share + MARGIN) / (1 + MARGIN - share))
    spread = logit.std()
    # Equal logits differ by rounding.
    return np.asarray((logit - logit.mean()) / spread if spread > 1e-9 else np.zeros_like(logit))


def effects(
    shares: Floats, accuracy: float, consistency: float, aim: Aim = "error_consistency"
) -> tuple[Floats, Floats]:
    """How an answer moves each machine's metric with a person: its influence, at a guess."""
    right = np.array([[0.0], [1.0]])
    p, h = np.asarray(shares)[None, :], accuracy
    chance = p * h + (1 - p) * (1 - h)
    agreement = consistency * (1 - chance) + chance
    if aim == "observed_agreement":
        return (1 - right) - agreement, np.broadcast_to(2 * right - 1, (2, p.shape[1]))
    # A machine that is always right or always wrong has a chance of 1 only with a person who is.
    rest = 1 - consistency
    constant = (1 - right) - agreement - rest * ((2 * p - 1) * (right - h) - (2 * h - 1) * p)
    slope = (2 * right - 1) - rest * (2 * h - 1)
    return constant / (1 - chance), slope / (1 - chance)


def sizes(
    correct: NDArray[np.bool_], contrasts: Floats | None, aim: Aim = "error_consistency"
) -> Floats:
    """Root mean square of what an image's answer may move the contrasts by."""
    ease = easiness(correct)
    if contrasts is not None:
        # The others only say how easy an image is.
        asked = np.any(contrasts != 0, axis=0)
        correct, contrasts = correct[asked], contrasts[:, asked]
    shares = correct.mean(axis=1)
    grid = list(itertools.product(ACCURACIES, CONSISTENCIES))
    square = np.zeros(correct.shape[1])
    guesses = [effects(shares, accuracy, kappa, aim) for accuracy, kappa in grid]
    for start in range(0, len(square), CHUNK):
        part = slice(start, start + CHUNK)
        x = correct[:, part].astype(np.float64)
        for (accuracy, _), (constant, slope) in zip(grid, guesses, strict=True):
            likely = special.expit(special.logit(accuracy) + ease[part])
            for given, chance in enumerate((1 - likely, likely)):
                moved = constant[given][:, None] + slope[given][:, None] * x
                moved = moved - moved.mean(axis=0) if contrasts is None else contrasts @ moved
                square[part] += chance * np.einsum("ci,ci->i", moved, moved)
    return np.sqrt(square / len(grid))


def spread_in_strata(
    correct: NDArray[np.bool_],
    contrast: Floats,
    number: NDArray[np.intp],
    aim: Aim = "error_consistency",
) -> tuple[Floats, float]:
    """Variance of an image's influence within strata and overall."""
    ease, used = easiness(correct), contrast != 0
    x, row, shares = correct[used].astype(float), contrast[used], correct[used].mean(axis=1)
    held = np.bincount(number)
    within, overall = np.zeros(len(held)), 0.0
    grid = list(itertools.product(ACCURACIES, CONSISTENCIES))
    for accuracy, kappa in grid:
        constant, slope = effects(shares, accuracy, kappa, aim)
        likely = special.expit(special.logit(accuracy) + ease)
        wrong, right = (
            row @ (c[:, None] + s[:, None] * x) for c, s in zip(constant, slope, strict=True)
        )
        mean, square = (
            (1 - likely) * wrong + likely * right,
            (1 - likely) * wrong**2 + likely * right**2,
        )
        within += np.bincount(number, square) / held - (np.bincount(number, mean) / held) ** 2
        overall += float(square.mean() - mean.mean() ** 2)
    return np.maximum(within, 0) / len(grid), overall / len(grid)


def joint_error_sizes(
    correct: NDArray[np.bool_], wrong: NDArray[np.int32], contrasts: Floats
) -> Floats:
    """Sizes for agreement of wrong answers: what counts are images that both got wrong."""
    ease = easiness(correct)
    square = np.zeros(correct.shape[1])
    for accuracy in ACCURACIES:
        errs = special.expit(-special.logit(accuracy) - ease)
        joint = (~correct * errs).mean(axis=1)
        for row in contrasts:
            own = np.flatnonzero(row)
            if not joint[own].all():
                raise ValueError(
                    "a machine of the target makes no error, and has no wrong answers to agree with"
                )
            # Agreement with each wrong class is a matter of its own.
            weight = row[own, None] * ~correct[own] / joint[own, None]
            said, moved = wrong[own], np.zeros(len(ease))
            for k in range(len(own)):
                alike = np.where(said == said[k], weight, 0.0).sum(axis=0)
                first = (said[:k] != said[k]).all(axis=0)
                moved += np.where(first, alike**2, 0.0)
            square += errs * moved / len(ACCURACIES)
    return np.sqrt(square)
