"""Simulation scenarios in which a model's margins and humans' responses are correlated.

References
----------
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.metrics.margins import m_afc_probability

Law = Literal["normal", "t4", "skewed", "bimodal"]
Relation = Literal["linear", "exp", "tanh", "coarse"]
# Grid of strengths for interpolation of probabilities, with an error of at most 1e-5.
GRID = np.linspace(-15, 25, 4001)
# Numbers of items per class and of classes for a true value.
OF_CLASS, CLASSES = 50, 12_000
# Numbers of items and humans for the true value on the scale of strengths.
OF_ALL, PEOPLE = 40_000, 64
# Half the distance between the modes of a bimodal distribution with variance 1.
HUMP = 0.95


@dataclasses.dataclass(frozen=True)
class MarginWorld:
    """Parameters of items, humans and a model."""

    rho: float = 0.9
    n_observers: int = 10
    n_repeats: int = 1
    n_items: int = 160
    n_classes: int = 16
    n_alternatives: int = 16
    strength_mean: float = 1.6
    strength_sd: float = 1.6
    law: Law = "normal"
    relation: Relation = "linear"
    ability_sd: float = 0.3
    log_gain_sd: float = 0.2
    stable_sd: float = 0.0
    item_noise_sd: float = 0.0
    class_sd: float = 0.0
    class_opposite: float = 0.0
    fan: float = 0.0
    kinds_sd: float = 0.0
    n_lists: int = 1
    missing: float = 0.0
    other_rho: float = 0.7
    group_rho: float = 0.9


class MarginData(NamedTuple):
    """One experiment."""

    right: NDArray[np.int64]
    shown: NDArray[np.int64]
    margins: Floats
    classes: NDArray[np.intp]
    other_right: NDArray[np.int64]
    other_shown: NDArray[np.int64]
    other_margins: Floats


class _Items(NamedTuple):
    strength: Floats
    noise: Floats
    shared: Floats
    apart: Floats
    liking: Floats
    margins: Floats


def margin_data(world: MarginWorld, rng: RandomState = None) -> MarginData:
    """Simulate responses of humans and margins of a model."""
    generator = np.random.default_rng(seed_sequence(rng))
    classes = np.arange(world.n_items) % world.n_classes
    items = _items(world, classes, generator)
    shape = (world.n_observers, world.n_items)
    p = _probabilities(world, items, shape, generator, (1,))
    taken = np.ones(shape, dtype=bool)
    shown = _shown(world, shape, generator)
    if world.n_lists > 1:
        of_item = generator.permutation(world.n_items) % world.n_lists
        taken = np.arange(world.n_observers)[:, None] % world.n_lists == of_item
    shown = np.where(taken, shown, 0)
    right = generator.binomial(shown, p)
    others = _probabilities(world, _of_group(world, items, generator), shape, generator, (1,))
    other_shown = np.where(taken, _shown(world, shape, generator), 0)
    other_right = generator.binomial(other_shown, others)
    other = _margins(world, world.other_rho, items.strength, items.liking, generator)
    return MarginData(right, shown, items.margins, classes, other_right, other_shown, other)


def _shown(
    world: MarginWorld, shape: tuple[int, int], generator: np.random.Generator
) -> NDArray[np.int64]:
    shown = np.full(shape, world.n_repeats)
    return generator.binomial(shown, 1 - world.missing) if world.missing else shown


def _of_group(world: MarginWorld, items: _Items, generator: np.random.Generator) -> _Items:
    """The items for a second group of humans."""
    rho = world.group_rho
    own = np.sqrt(1 - rho**2) * generator.standard_normal(len(items.strength))
    return items._replace(strength=rho * items.strength + own)


def true_margin_consistency(world: MarginWorld, rng: RandomState = None) -> tuple[float, float]:
    """Correlation of normal scores of margins with expected proportions correct, in the limit."""
    generator = np.random.default_rng(seed_sequence(rng))
    classes = np.arange(OF_CLASS * CLASSES) % CLASSES
    items = _items(world, classes, generator)
    # Two different humans per item: the covariance of their responses is that of the expected
    # proportion.
    shape = (2, len(classes))
    one, other = _probabilities(world, items, shape, generator, shape[1:])
    rank = stats.rankdata(items.margins)
    v = stats.norm.ppf((rank - 0.5) / len(rank))
    found = []
    for of_class in (False, True):
        parts = [one, other, v]
        if of_class:
            # Items are sorted by class.
            tables = [x.reshape(OF_CLASS, CLASSES) for x in parts]
            parts = [(x - x.mean(axis=0)).ravel() for x in tables]
        covariance = np.cov(parts)
        between = (covariance[0, 2] + covariance[1, 2]) / 2
        found.append(float(between / np.sqrt(covariance[0, 1] * covariance[2, 2])))
    return found[0], found[1]


def true_group_consistency(world: MarginWorld, rng: RandomState = None) -> float:
    """Correlation of the expected proportions of two groups, over infinitely many items."""
    generator = np.random.default_rng(seed_sequence(rng))
    classes = np.arange(OF_CLASS * CLASSES) % CLASSES
    items = _items(world, classes, generator)
    shape = (2, len(classes))
    first = _probabilities(world, items, shape, generator, shape[1:])
    met = _of_group(world, items, generator)
    second = _probabilities(world, met, shape, generator, shape[1:])
    covariance = np.cov([*first, *second])
    between = covariance[:2, 2:].mean()
    value = float(between / np.sqrt(covariance[0, 1] * covariance[2, 3]))
    # Sampling error can raise the correlation of identical groups above 1.
    return min(max(value, -1.0), 1.0)


def true_strength_consistency(world: MarginWorld, rng: RandomState = None) -> float:
    """As `true_margin_consistency`, with normal scores of strengths instead of proportions."""
    generator = np.random.default_rng(seed_sequence(rng))
    classes = np.arange(OF_ALL) % (OF_ALL // OF_CLASS)
    items = _items(world, classes, generator)
    # The same humans for all items; with many, the proportion is a smooth function of the item.
    points = stats.qmc.Sobol(3, rng=generator).random(PEOPLE)
    level, gain, stable = special.ndtri(points.T)
    share = np.zeros(len(classes))
    for o in range(PEOPLE):
        line = world.strength_mean + world.ability_sd * level[o] + items.shared
        line = line + world.strength_sd * np.exp(world.log_gain_sd * gain[o]) * items.strength
        line = line + world.stable_sd * stable[o]
        for side in (-1, 1):
            evidence = (line + side * items.apart) / items.noise
            share += np.interp(evidence, GRID, _of_grid(world.n_alternatives))
    scores = [special.ndtri((stats.rankdata(x) - 0.5) / len(x)) for x in (share, items.margins)]
    return float(np.corrcoef(scores)[0, 1].round(6))


def _items(world: MarginWorld, classes: NDArray[np.intp], generator: np.random.Generator) -> _Items:
    n = len(classes)
    u = _strengths(world.law, n, generator)
    liking = generator.standard_normal(int(classes.max()) + 1)[classes]
    margins = _margins(world, world.rho, u, liking, generator)
    noise = np.exp(world.item_noise_sd * generator.standard_normal(n))
    apart = world.kinds_sd * generator.standard_normal(n)
    return _Items(u, noise, world.class_sd * liking, apart, liking, margins)


def _margins(
    world: MarginWorld, rho: float, u: Floats, liking: Floats, generator: np.random.Generator
) -> Floats:
    """Margins of a model with this correlation with the strengths, before the nonlinearity."""
    own = generator.standard_normal(len(u))
    if world.fan:
        own = own * np.exp(world.fan * u - world.fan**2)
    line = rho * u + np.sqrt(1 - rho**2) * own
    line = line - world.class_opposite * liking
    bent: dict[Relation, Callable[[Floats], Floats]] = {
        "linear": lambda x: x,
        "exp": np.exp,
        "tanh": np.tanh,
        "coarse": lambda x: np.clip(np.round(x), -1, 2),
    }
    return bent[world.relation](line)


def _strengths(law: Law, n: int, generator: np.random.Generator) -> Floats:
    if law == "t4":
        return np.asarray(generator.standard_t(4, n) / np.sqrt(2))
    if law == "skewed":
        return np.asarray((generator.standard_gamma(2, n) - 2) / np.sqrt(2))
    if law == "bimodal":
        side = generator.choice([-HUMP, HUMP], n)
        return np.asarray(side + np.sqrt(1 - HUMP**2) * generator.standard_normal(n))
    return generator.standard_normal(n)


def _probabilities(
    world: MarginWorld,
    items: _Items,
    shape: tuple[int, int],
    generator: np.random.Generator,
    of_person: tuple[int, ...],
) -> Floats:
    """Probabilities of correct responses; humans differ along the first axis and in `of_person`."""
    people = (shape[0], *of_person)
    level = generator.normal(world.strength_mean, world.ability_sd, people)
    gain = world.strength_sd * np.exp(world.log_gain_sd * generator.standard_normal(people))
    kind = generator.choice([-1, 1], people)
    evidence = level + gain * items.strength + items.shared + kind * items.apart
    evidence = evidence + world.stable_sd * generator.standard_normal(shape)
    return np.interp(evidence / items.noise, GRID, _of_grid(world.n_alternatives))


@functools.lru_cache(maxsize=8)
def _of_grid(n_alternatives: int) -> Floats:
    return m_afc_probability(GRID, n_alternatives)


_STABLE: dict[str, Any] = {"n_observers": 45, "n_repeats": 2, "stable_sd": 1.2}
MARGIN_WORLDS: Mapping[str, MarginWorld] = MappingProxyType(
    {
        "45 people twice": MarginWorld(**_STABLE),
        "45 people twice, perfect": MarginWorld(rho=1.0, group_rho=1.0, **_STABLE),
        "10 people": MarginWorld(),
        "10 people, perfect": MarginWorld(rho=1.0, group_rho=1.0),
        "t4 strengths": MarginWorld(law="t4"),
        "skewed strengths": MarginWorld(law="skewed"),
        "bimodal strengths": MarginWorld(law="bimodal"),
        "exp": MarginWorld(relation="exp"),
        "exp, perfect": MarginWorld(rho=1.0, relation="exp"),
        "tanh": MarginWorld(relation="tanh"),
        "class bias": MarginWorld(class_sd=0.8),
        "5 people twice, stable": MarginWorld(n_observers=5, n_repeats=2, stable_sd=2.0),
        "item noise varies": MarginWorld(item_noise_sd=0.5),
        "easy items": MarginWorld(strength_mean=3.2),
        "3 people, 40 items": MarginWorld(n_observers=3, n_items=40, rho=0.6),
        "2 people, 40 items": MarginWorld(n_observers=2, n_items=40),
        # Not in the validation table.
        "two lists": MarginWorld(n_lists=2, **_STABLE),
        "two lists, accuracy .80": MarginWorld(
            n_lists=2, strength_mean=3.85, strength_sd=1.9, **_STABLE | {"stable_sd": 1.25}
        ),
        "10 people twice, alike": MarginWorld(n_repeats=2, ability_sd=0, log_gain_sd=0),
        "answers missing": MarginWorld(n_repeats=2, missing=0.4),
        "four values": MarginWorld(relation="coarse"),
        "opposite classes": MarginWorld(rho=0.5, class_sd=1.2, class_opposite=1.0),
        "groups half alike": MarginWorld(rho=0.6, other_rho=0.6, group_rho=0.6),
        "two kinds of people": MarginWorld(kinds_sd=1.2, n_observers=20),
        "two alternatives": MarginWorld(n_alternatives=2, n_observers=20),
        "fan": MarginWorld(rho=0.7, fan=0.5),
        "unrelated": MarginWorld(rho=0.0),
        "opposed": MarginWorld(rho=-0.6),
    }
)
