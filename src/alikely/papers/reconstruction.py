"""How sure is a published score? Intervals from what leaderboards print.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import within
from alikely._base.random import RandomState, seed_sequence
from alikely.metrics.bounds import accuracy_bounds
from alikely.metrics.consistency import error_consistency

__all__ = ["Reconstruction", "condition_draws", "reconstruct_score"]


class Reconstruction(NamedTuple):
    """Interval of a mean score whose trials are not known."""

    estimate: float
    lower: float
    upper: float
    accuracy: NDArray[np.float64]
    infeasible: int


def reconstruct_score(
    ceiled: ArrayLike,
    ceiling: ArrayLike,
    human_accuracy: ArrayLike,
    n_trials: ArrayLike,
    *,
    assumption: Literal["middle", "optimistic"] = "middle",
    simulation: Literal["shared", "pairs"] = "shared",
    n_samples: int = 2_000,
    rng: RandomState = None,
) -> Reconstruction:
    """Interval of a machine's mean error consistency from its printed ceiled scores [K25]_.

    Leaderboards print a score per condition and no trials. The human accuracies bound the machine's
    accuracy; with an accuracy assumed, trials can be simulated and scored again.

    Parameters
    ----------
    ceiled : array_like, shape (condition,)
        Error consistency over its ceiling. Leaderboards print the absolute value: a score near 0
        may have had either sign.
    ceiling : array_like, shape (condition,)
        Human-human error consistency, in (0, 1).
    human_accuracy : array_like, shape (condition, human)
        In (0, 1); NaN for a human that a condition lacks.
    n_trials : array_like of int, scalar or shape (condition,)
        Trials of each condition.
    assumption : {"middle", "optimistic"}
        The machine's accuracy is in the middle of what the scores and the human accuracies allow,
        or the lowest of that, which gives the most errors and the narrowest interval.
    simulation : {"shared", "pairs"}
        Simulate humans and machine on the same images, from the cohort copy model; or, as [K25]_
        do, each human's pair by itself. All humans meet the same answers of the machine, so pairs
        are dependent, and ``"pairs"`` gives an interval that is too narrow.
    n_samples : int
        Simulated experiments, at least 100.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Reconstruction
        The interval is that of new images and these humans.

    Raises
    ------
    ValueError
        If shapes do not fit or an argument is out of range.

    Examples
    --------
    >>> result = reconstruct_score([0.5, 0.6], [0.4, 0.5], [[0.7, 0.8], [0.6, 0.7]], 160, rng=1)
    >>> round(result.estimate, 2), bool(result.lower < 0.25 < result.upper)
    (0.25, True)
    """
    score, top = np.atleast_1d(np.asarray(ceiled, float)), np.atleast_1d(np.asarray(ceiling, float))
    people = np.atleast_2d(np.asarray(human_accuracy, float))
    if not (score.shape == top.shape == people.shape[:1]):
        raise ValueError(
            "ceiled, ceiling and human_accuracy must have one entry per condition, got shapes "
            f"{score.shape}, {top.shape} and {people.shape}"
        )
    trials = np.broadcast_to(np.asarray(n_trials), score.shape)
    limits: list[tuple[str, NDArray[np.float64], float, float]] = [
        ("ceiling", top, 0, 1),
        ("human_accuracy", people[~np.isnan(people)], 0, 1),
        ("n_trials", trials, 0, np.inf),
        ("n_samples", np.array([n_samples]), 99, np.inf),
    ]
    for name, values, low, high in limits:
        outside = ~((values > low) & (values < high))
        if outside.any():
            raise ValueError(f"{name} must lie in ({low}, {high}), got {values[outside][0]:g}")
    if assumption not in ("middle", "optimistic") or simulation not in ("shared", "pairs"):
        raise ValueError(
            "assumption must be 'middle' or 'optimistic' and simulation 'shared' or 'pairs', got "
            f"{assumption!r} and {simulation!r}"
        )
    if not np.isfinite(score).all():
        raise ValueError(
            f"ceiled must be finite, got {score[~np.isfinite(score)][0]:g}; leave such a condition "
            "out of all arguments"
        )
    if (np.asarray(trials) % 1 != 0).any():
        raise ValueError(f"n_trials must be whole numbers, got {trials[trials % 1 != 0][0]:g}")
    if np.isnan(people).all(axis=1).any():
        lacks = int(np.argmax(np.isnan(people).all(axis=1)))
        raise ValueError(f"human_accuracy has no human in condition {lacks}; leave it out")
    consistency = score * top
    generator = np.random.default_rng(seed_sequence(rng))
    accuracy, infeasible = np.empty(len(score)), 0
    means = np.empty((len(score), n_samples))
    for d, (ec, own) in enumerate(zip(consistency, people, strict=True)):
        means[d], accuracy[d], impossible = condition_draws(
            generator,
            float(ec),
            float(top[d]),
            own[~np.isnan(own)],
            int(trials[d]),
            assumption=assumption,
            simulation=simulation,
            n_samples=n_samples,
        )
        infeasible += int(impossible)
    mean = means.mean(axis=0)
    lower, upper = (float(np.nanquantile(mean, tail)) for tail in (0.025, 0.975))
    return Reconstruction(float(consistency.mean()), lower, upper, accuracy, infeasible)


def condition_draws(
    generator: np.random.Generator,
    consistency: float,
    ceiling: float,
    humans: NDArray[np.float64],
    n_trials: int,
    *,
    assumption: str,
    simulation: str,
    n_samples: int,
) -> tuple[NDArray[np.float64], float, bool]:
    """Simulated mean error consistencies of a machine with the humans of one condition."""
    if simulation == "shared":
        # What copying a random human allows: at most the ceiling, at their mean accuracy.
        least, most = _machine_accuracy(humans.mean(keepdims=True), consistency / ceiling)
    else:
        least, most = _machine_accuracy(humans, consistency)
    midway = assumption == "middle" or least > most
    accuracy = (least + most) / 2 if midway else least
    accuracy = float(np.clip(accuracy, 0.5 / n_trials, 1 - 0.5 / n_trials))
    simulate = _shared if simulation == "shared" else _pairs
    cells = simulate(generator, humans, accuracy, consistency, ceiling, n_trials, n_samples)
    with np.errstate(invalid="ignore"):
        means = np.nanmean(error_consistency(cells), axis=0)
    return means, accuracy, least > most


def _machine_accuracy(humans: NDArray[np.float64], ec: float) -> tuple[float, float]:
    """Range of accuracies that allow this consistency with all humans."""
    if ec <= 0:
        # Disagreement and independence leave the accuracy open.
        return 0.0, 1.0
    if ec >= 1:
        return float(humans.max()), float(humans.min())
    low, high = accuracy_bounds(humans, ec)
    return float(np.max(low)), float(np.min(high))


def _cells(human: NDArray[np.bool_], machine: NDArray[np.bool_]) -> NDArray[np.int64]:
    both = (human & machine).sum(axis=-1)
    h, m = human.sum(axis=-1), machine.sum(axis=-1)
    return np.stack([both, h - both, m - both, human.shape[-1] - h - m + both], axis=-1)


def _shared(
    rng: np.random.Generator, humans: NDArray[np.float64], q: float, ec: float, top: float,
    n_trials: int, n_samples: int,
) -> NDArray[np.int64]:  # fmt: skip
    """Cells (human, sample, 4) of one machine with all humans on shared images."""
    mu, phi = float(humans.mean()), 1 / top - 1
    copying = ec * (mu * (1 - q) + (1 - mu) * q) / (2 * top * mu * (1 - mu))
    copying = float(
        np.clip(copying, -min(q / (1 - mu), (1 - q) / mu), min(q / mu, (1 - q) / (1 - mu)))
    )
    p = rng.beta(mu * phi, (1 - mu) * phi, (n_samples, n_trials))
    machine = rng.random(p.shape) < q - copying * mu + copying * p
    return np.stack([_cells(rng.random(p.shape) < p, machine) for _ in humans])


def _pairs(
    rng: np.random.Generator, humans: NDArray[np.float64], q: float, ec: float, top: float,
    n_trials: int, n_samples: int,
) -> NDArray[np.int64]:  # fmt: skip
    """Cells (human, sample, 4) of pairs that share no trial."""
    covariance = ec * (humans * (1 - q) + (1 - humans) * q) / 2
    n11 = np.clip(humans * q + covariance, np.maximum(humans + q - 1, 0), np.minimum(humans, q))
    probabilities = np.stack([n11, humans - n11, q - n11, 1 - humans - q + n11], axis=-1)
    probabilities = within(probabilities)
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    return rng.multinomial(n_trials, probabilities[:, None, :], (len(humans), n_samples))
