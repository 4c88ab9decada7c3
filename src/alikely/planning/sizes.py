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
    """How easy an image seems, from the machines: their share of right answers, standardised.

    Parameters
    ----------
    correct : ndarray of bool, shape (machine, image)

    Returns
    -------
    ndarray, shape (image,)
        Logits of shares, mean 0 and variance 1; 0 where all images are alike.

    Examples
    --------
    >>> easiness(np.array([[1, 1, 0, 0], [1, 0, 0, 1]], dtype=bool)).round(2).tolist()
    [1.41, 0.0, -1.41, 0.0]
    """
    share = correct.mean(axis=0)
    logit = np.log((share + MARGIN) / (1 + MARGIN - share))
    spread = logit.std()
    # Equal logits differ by rounding.
    return np.asarray((logit - logit.mean()) / spread if spread > 1e-9 else np.zeros_like(logit))


def effects(
    shares: Floats, accuracy: float, consistency: float, aim: Aim = "error_consistency"
) -> tuple[Floats, Floats]:
    """How an answer moves each machine's metric with a person: its influence, at a guess.

    Parameters
    ----------
    shares : ndarray, shape (machine,)
        Accuracies of the machines.
    accuracy : float
        Accuracy of the person, in (0, 1).
    consistency : float
        Error consistency of all pairs.
    aim : {"error_consistency", "observed_agreement"}
        Metric.

    Returns
    -------
    ndarray, shape (2, machine), ndarray, shape (2, machine)
        Constant and slope of the influence in the machine's correctness, where the person is wrong
        (first row) and right [H74]_.

    Examples
    --------
    >>> constant, slope = effects(np.array([0.5]), 0.5, 0.0)
    >>> constant.ravel().tolist(), slope.ravel().tolist()
    ([1.0, -1.0], [-2.0, 2.0])
    """
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
    """Root mean square of what an image's answer may move the contrasts by.

    Parameters
    ----------
    correct : ndarray of bool, shape (machine, image)
        What is known: every machine's answer to every image of the pool.
    contrasts : ndarray, shape (contrast, machine), optional
        Weights of the machines' metrics with a person in what is wanted: ``[[1, -1]]`` for the
        difference of two, ``[[1]]`` for one; None for all pairs, each against the mean.
    aim : {"error_consistency", "observed_agreement"}
        Metric.

    Returns
    -------
    ndarray, shape (image,)
        Averaged over persons of accuracies `ACCURACIES` and consistencies `CONSISTENCIES`, who
        find images as easy as the machines do. Sampling images in proportion to it gives the least
        variance [SSW92]_.

    Examples
    --------
    >>> machines = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], dtype=bool)
    >>> sizes(machines, np.array([[1.0, -1.0]]), "observed_agreement").tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
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
    """Variance of an image's influence within strata and in all, for what an estimate leaves open.

    Parameters
    ----------
    correct : ndarray of bool, shape (machine, image)
    contrast : ndarray, shape (machine,)
    number : ndarray of int, shape (image,)
        Stratum of each image.
    aim : {"error_consistency", "observed_agreement"}
        Metric.

    Returns
    -------
    within : ndarray, shape (stratum,)
        Averaged over the same persons as in `sizes`.
    overall : float
        In the pool.

    Examples
    --------
    >>> machines = np.array([[1, 1, 0, 0], [1, 0, 1, 0]], dtype=bool)
    >>> cell = np.array([0, 1, 2, 3])
    >>> within, _ = spread_in_strata(machines, np.array([1.0, -1.0]), cell, "observed_agreement")
    >>> (within > 0).tolist()
    [False, True, True, False]
    """
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
    """Sizes for agreement of wrong answers: what counts are images that both got wrong.

    Parameters
    ----------
    correct : ndarray of bool, shape (machine, image)
        Whether machines were right.
    wrong : ndarray of int, shape (machine, image)
        Class said, where it is wrong.
    contrasts : ndarray, shape (contrast, machine)
        As in `sizes`.

    Returns
    -------
    ndarray, shape (image,)
        Where the machines of a contrast say the same wrong class, what a person says moves both
        alike; people err there as often as on images that machines find as hard.

    Raises
    ------
    ValueError
        If a machine of a contrast makes no error: it has no wrong answers to agree with.

    Examples
    --------
    >>> right = np.array([[1, 0, 0, 0], [1, 0, 0, 1]], dtype=bool)
    >>> said = np.array([[-1, 2, 2, 2], [-1, 2, 1, -1]], dtype=np.int32)
    >>> joint_error_sizes(right, said, np.array([[1.0, -1.0]]))[:2].round(3).tolist()
    [0.0, 0.583]
    """
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
