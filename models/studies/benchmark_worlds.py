"""Simulated benchmarks: populations of people, machines and images, and what is true of them."""

from __future__ import annotations

import functools
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from alikely._base.arrays import Floats
from alikely._base.ranges import within
from alikely.data.trials import Trials
from alikely.metrics import ERROR_CONSISTENCY, Metric

__all__ = [
    "FOUR_MACHINES",
    "BenchmarkDesign",
    "Family",
    "Observers",
    "Scores",
    "population_scores",
    "simulated_benchmark",
]

Family = Literal["probit", "guessing"]
LOADING = 0.8
GUESS = 1 / 16
# Midpoints of equal shares of the images, and of people in ability and in loading.
N_IMAGES, N_PEOPLE = 400, 40


class BenchmarkDesign(NamedTuple):
    """A population of people and images, and how much of it a benchmark saw.

    Attributes
    ----------
    family : {"probit", "guessing"}
        What is hard is one normal factor, to which people load differently; or Rasch's model with
        guesses among 16 classes and an exponential law of difficulty, machines following it in a
        share of trials.
    n_humans, n_datasets, n_conditions, n_images : int
        Humans of a data set, data sets, conditions of each, images of a condition.
    pool : int
        People of whom those of each data set are drawn: as many as these for the same people in
        all, more for some of them in several. 0: other people in each.
    more_humans : int
        How many more every second data set has.
    same_images : bool
        The same images in all conditions of a data set.
    spread : float
        Standard deviation of the abilities of people, on the scale of the family's link.
    accuracy : float
        Of a person of average ability, in (0, 1).
    """

    family: Family = "probit"
    n_humans: int = 4
    n_datasets: int = 1
    n_conditions: int = 1
    n_images: int = 160
    pool: int = 0
    more_humans: int = 0
    same_images: bool = False
    spread: float = 0.3
    accuracy: float = 0.75


class Observers(NamedTuple):
    """Abilities above the mean, and loadings (or shares of trials that follow difficulty)."""

    ability: Floats
    follows: Floats


# The second and the last are one machine to the eye of the population: a true tie.
FOUR_MACHINES = Observers(np.array([0.0, 0.2, -0.2, 0.2]), np.array([1.0, 0.7, 0.85, 0.7]))


class Scores(NamedTuple):
    """Scores of machines and of pairs of people, over a population of people."""

    machines: Floats
    human: float


def people_of(design: BenchmarkDesign, ability: Floats, load: Floats) -> Observers:
    """People from standard normal scores."""
    if design.family == "guessing":
        return Observers(design.spread * ability, np.ones_like(ability))
    return Observers(
        design.spread * ability, np.clip(LOADING + design.spread / 3 * load, 0.0, 0.98)
    )


def _scaled(design: BenchmarkDesign, machines: Observers) -> Observers:
    scale = 1.0 if design.family == "guessing" else LOADING
    return Observers(machines.ability, scale * machines.follows)


def right_answers(design: BenchmarkDesign, who: Observers, hardness: Floats) -> Floats:
    """Probabilities of right answers: (observer, image)."""
    level = _level(design.family, design.accuracy)
    ability, follows = who.ability[:, None], who.follows[:, None]
    if design.family == "guessing":
        p = GUESS + (1 - GUESS) * special.expit(level + ability - hardness)
        return np.asarray(follows * p + (1 - follows) * design.accuracy)
    latent = level + ability - follows * hardness
    return np.asarray(special.ndtr(latent / np.sqrt(1 - follows**2)))


def hardness_at(design: BenchmarkDesign, share: Floats) -> Floats:
    """Difficulty of images that stand at these shares of all."""
    if design.family == "guessing":
        return np.asarray(1.5 * stats.expon.ppf(share))
    return np.asarray(special.ndtri(share))


def _level(family: Family, accuracy: float) -> float:
    """Ability at which the average person has this accuracy."""
    if family == "probit":
        return float(special.ndtri(accuracy))
    hard = 1.5 * stats.expon.ppf(_midpoints(N_IMAGES))
    return float(
        optimize.brentq(
            lambda x: (GUESS + (1 - GUESS) * special.expit(x - hard)).mean() - accuracy, -20, 20
        )
    )


def _midpoints(n: int) -> Floats:
    return (np.arange(n) + 0.5) / n


@functools.cache
def _population(design: BenchmarkDesign, metric: Metric) -> tuple[Floats, float]:
    """Right answers of very many people, (person, image), and the mean of their pairs."""
    grid = special.ndtri(_midpoints(N_PEOPLE))
    ability, load = (axis.ravel() for axis in np.meshgrid(grid, grid))
    crowd = _crowd(design, people_of(design, ability, load))
    return crowd, float(_expected(crowd, crowd, metric).mean())


def population_scores(
    design: BenchmarkDesign,
    machines: Observers = FOUR_MACHINES,
    metric: Metric = ERROR_CONSISTENCY,
) -> Scores:
    """Scores over all people and images that there might be."""
    # How much of it a benchmark saw is no matter.
    unseen = design._replace(n_humans=0, n_datasets=0, n_conditions=0, n_images=0)
    crowd, human = _population(unseen, metric)
    return Scores(_mixed(design, crowd, machines, metric), human)


def scores_of(
    design: BenchmarkDesign,
    people: Observers,
    machines: Observers = FOUR_MACHINES,
    metric: Metric = ERROR_CONSISTENCY,
) -> Scores:
    """Scores over all images, of these people."""
    crowd = _crowd(design, people)
    alike, n = _expected(crowd, crowd, metric), len(crowd)
    human = (alike.sum() - np.trace(alike)) / (n * (n - 1))
    return Scores(_mixed(design, crowd, machines, metric), float(human))


def _crowd(design: BenchmarkDesign, people: Observers) -> Floats:
    return right_answers(design, people, hardness_at(design, _midpoints(N_IMAGES)))


def _mixed(design: BenchmarkDesign, crowd: Floats, machines: Observers, metric: Metric) -> Floats:
    hardness = hardness_at(design, _midpoints(N_IMAGES))
    own = right_answers(design, _scaled(design, machines), hardness)
    return np.asarray(_expected(crowd, own, metric).mean(axis=0))


def _expected(first: Floats, second: Floats, metric: Metric) -> Floats:
    """Values of all pairs who answer independently given the image."""
    both = first @ second.T / first.shape[1]
    a, b = first.mean(axis=1)[:, None], second.mean(axis=1)[None]
    cells = np.stack([both, a - both, b - both, 1 - a - b + both], axis=-1)
    # What rounding leaves of a cell that is empty.
    return metric.value(within(cells))


def simulated_benchmark(
    design: BenchmarkDesign,
    generator: np.random.Generator,
    machines: Observers = FOUR_MACHINES,
    metric: Metric = ERROR_CONSISTENCY,
) -> tuple[Trials, Scores]:
    """Draw a benchmark."""
    d, c, n = design[2:5]
    crowds = _crowds(design, generator)
    n_people = max(own.max() for own in crowds) + 1
    everyone = people_of(design, *generator.standard_normal((2, n_people)))
    n_machines, n_trials = len(machines.ability), n * c
    right = np.ma.masked_all((n_people + n_machines, d * n_trials), dtype=int)
    item, truths = [], []
    for dataset, own in enumerate(crowds):
        people = Observers(everyone.ability[own], everyone.follows[own])
        truths.append(scores_of(design, people, machines, metric))
        images = generator.random(n if design.same_images else n_trials)
        number = np.arange(n_trials) % n if design.same_images else np.arange(n_trials)
        hardness = hardness_at(design, images)[number]
        both = (people, _scaled(design, machines))
        p = np.vstack([right_answers(design, who, hardness) for who in both])
        here = np.concatenate([own, n_people + np.arange(n_machines)])
        trials = dataset * n_trials + np.arange(n_trials)
        right[np.ix_(here, trials)] = generator.random(p.shape) < p
        item.append(number)
    made = Trials.from_correct(
        right,
        kind=["human"] * n_people + ["model"] * n_machines,
        dataset=np.repeat(np.arange(d), n_trials).astype(str).tolist(),
        condition=np.tile(np.repeat(np.arange(c), n), d).astype(str).tolist(),
        item=np.concatenate(item).astype(str).tolist(),
    )
    scores, human = (np.mean([t[i] for t in truths], axis=0) for i in (0, 1))
    return made, Scores(scores, float(human))


def _crowds(design: BenchmarkDesign, generator: np.random.Generator) -> list[NDArray[np.intp]]:
    """Numbers of the people of each data set; every number occurs."""
    sizes = [design.n_humans + design.more_humans * (d % 2) for d in range(design.n_datasets)]
    if not design.pool:
        ends = np.cumsum(sizes)
        return [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    drawn = [generator.permutation(design.pool)[:size] for size in sizes]
    numbers = np.unique(np.concatenate(drawn))
    return [np.sort(np.searchsorted(numbers, own)) for own in drawn]
