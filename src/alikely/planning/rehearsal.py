"""Estimates of contrasts from a design, in arrays: for plans that are tried before they are run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.ranges import ROUNDING, within
from alikely.inference.strata import masses_of_strata, right_in_strata, stratum_shares
from alikely.inference.weighted import (
    TOSSED,
    Population,
    deviations,
    effective_images,
    freedom_of_sums,
    holding,
    second_order_bias,
    spread_of_images,
    student_deviate,
)
from alikely.metrics.consistency import ERROR_CONSISTENCY
from alikely.planning.designs import Strata, systematic
from alikely.planning.designs import stratified as draw_strata

__all__ = [
    "NO_STRATA",
    "Drawing",
    "Found",
    "by_strata",
    "by_weights",
    "drawn_alike",
    "kappa",
    "simulated_people",
    "true_contrasts",
]

NO_STRATA = np.empty(0, dtype=np.intp)


class Found(NamedTuple):
    """Estimates of contrasts with 95 % intervals."""

    value: Floats
    lower: Floats
    upper: Floats
    effective: Floats


class Drawing(NamedTuple):
    """How images of a pool are drawn."""

    inclusion: Floats
    strata: Strata | None
    shown: NDArray[np.intp]
    classes: NDArray[np.intp] | None
    even: float | None = None

    def draw(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw positions of images, ascending."""
        if self.strata is None:
            order = None if self.classes is None else _in_classes(self.classes, rng)
            return systematic(self.inclusion, rng, order)
        if self.classes is None:
            return draw_strata(self.strata.number, self.shown, rng)
        number = self.strata.number
        parts = [
            drawn_alike(np.flatnonzero(number == g), wanted, self.classes, rng)
            for g, wanted in enumerate(self.shown)
        ]
        return np.sort(np.concatenate(parts))


def drawn_alike(
    images: NDArray[np.intp],
    wanted: int,
    classes: NDArray[np.intp] | None,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Draw so many images, all as likely, spread over classes where these are given."""
    if classes is None:
        return rng.permutation(images)[:wanted]
    if not wanted:
        return images[:0]
    equal = np.full(len(images), wanted / len(images))
    return images[systematic(equal, rng, _in_classes(classes[images], rng))]


def _in_classes(classes: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Images class by class, classes and images in random order: neighbours are seldom drawn."""
    order = rng.permutation(int(classes.max(initial=0)) + 1)
    return np.lexsort((rng.random(len(classes)), order[classes]))


def kappa(person: Floats, machine: Floats, both: Floats) -> Floats:
    """Error consistency from two shares of right answers and that of both right."""
    scale = person + machine - 2 * person * machine
    # What rounding leaves of 0: both are always right, or always wrong.
    scale = np.where(scale > ROUNDING, scale, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A difference of shares: its rounding counts more the smaller the scale.
        return within(2 * (both - person * machine) / scale, -1, 1, ROUNDING / scale)


def true_contrasts(
    correct: NDArray[np.bool_], people: NDArray[np.bool_], contrasts: Floats
) -> Floats:
    """Contrasts of error consistency with the mean person, from all images."""
    x, r = correct.astype(float), people.astype(float)
    both = r @ x.T / x.shape[1]
    values = kappa(r.mean(axis=1)[:, None], x.mean(axis=1)[None], both)
    return np.asarray(contrasts @ values.mean(axis=0))


def by_weights(
    correct: NDArray[np.bool_],
    people: NDArray[np.bool_],
    inclusion: Floats,
    contrasts: Floats,
    population: Population,
    ci_prob: float = 0.95,
    stratum: NDArray[np.intp] = NO_STRATA,
) -> Found:
    """Estimate contrasts from chosen images by weighted influence."""
    used = contrasts.any(axis=0)
    x, r, c = correct[used].astype(float), people.astype(float), contrasts[:, used]
    w = 1 / inclusion
    w = w / w.sum()
    p, h = x @ w, r @ w
    both = (r * w) @ x.T
    value = kappa(h[:, None], p[None], both)
    chance = p * h[:, None] + (1 - p) * (1 - h)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Influence is linear in either answer and their product.
        rest = 1 - value
        base = 1 - (value * (1 - chance) + chance)
        base += rest * ((2 * p - 1) * h[:, None] + (2 * h[:, None] - 1) * p)
        of_r = -1 - rest * (2 * p - 1)
        of_x = -1 - rest * (2 * h[:, None] - 1)
        parts = [part / (1 - chance) / len(r) for part in (base, of_r, of_x, 2 + 0 * base)]
        # What an answer of each person moves the contrasts by: (person, contrast, image).
        answer = np.stack([(c * of_both) @ x for of_both in parts[3]])
        answer += (parts[1] @ c.T)[:, :, None]
        # Sum over people: (contrast, image).
        psi = (c @ parts[0].sum(axis=0))[:, None] + (c * parts[2].sum(axis=0)) @ x
        middle = c @ value.mean(axis=0)
    psi += np.einsum("hci,hi->ci", answer, r)
    shown = np.ones(len(w), dtype=bool)
    u = deviations(psi * w, inclusion, shown, population)
    spread = w * spread_of_images(inclusion, shown, population) * np.sqrt(TOSSED / len(w))
    tossed = answer * spread / 2
    sampled = (u**2).sum(axis=1)
    total = sampled + (tossed**2).sum(axis=(0, 2))
    df = freedom_of_sums(total, sampled, (u**4).sum(axis=1), len(w))
    half = student_deviate(df, ci_prob) * np.sqrt(total)
    without = middle - c @ _bias(x, r, w, inclusion, stratum, population)
    limits = holding(middle - half, middle + half, without)
    # Where all images are certain to be shown nothing is left open.
    settled = population == "pool" and bool((inclusion == 1).all())
    return Found(without, *limits, np.where(settled, np.inf, effective_images(u)))


def _bias(
    x: Floats,
    r: Floats,
    w: Floats,
    inclusion: Floats,
    stratum: NDArray[np.intp],
    population: Population,
) -> Floats:
    """Bias of each machine's weighted error consistency with the mean person."""
    sides = [(r, x), (r, 1 - x), (1 - r, x), (1 - r, 1 - x)]
    shares = np.stack([one[:, None] * other[None] for one, other in sides], axis=2)
    groups = [stratum == g for g in np.unique(stratum)] or [np.ones(len(w), dtype=bool)]
    flat = shares.reshape(-1, 4, len(w))
    weights = np.broadcast_to(w, (len(flat), len(w)))
    found = second_order_bias(
        ERROR_CONSISTENCY.influence, flat, weights, inclusion, groups, population
    )
    return np.asarray(found.reshape(len(r), len(x)).mean(axis=0))


def by_strata(
    strata: Strata,
    number: NDArray[np.intp],
    held: NDArray[np.intp],
    people: NDArray[np.bool_],
    contrasts: Floats,
    n_draws: int,
    population: Population,
    rng: np.random.Generator,
    ci_prob: float = 0.95,
) -> Found:
    """Estimate contrasts of the machines that make the strata by their posterior."""
    share = stratum_shares(held, n_draws, population, rng)
    if len(people) == 1:
        shown = np.bincount(number, minlength=len(held))
        right = np.bincount(number, people[0], minlength=len(held)).astype(np.intp)
        theta = right_in_strata(right, shown, held, n_draws, population, rng)[:, None]
        mass = share[:, None] * theta
    else:
        atoms, pieces = masses_of_strata(number, held, share, population, rng)
        tosses = rng.integers(0, 2, size=(n_draws, len(people), *pieces.shape[1:]))
        mass = np.einsum("dgk,dhgk->dhg", pieces, tosses)
        for g in range(len(held)):
            own = number == g
            mass[:, :, g] += atoms[:, own] @ people[:, own].T.astype(float)
    h = mass.sum(axis=2)
    values = [
        kappa(h, (share @ own)[:, None], mass @ own).mean(axis=1)
        for own in strata.right.astype(float)
    ]
    draws = contrasts[:, list(strata.machines)] @ np.array(values)
    tail = (1 - ci_prob) / 2
    lower, upper = np.quantile(draws, [tail, 1 - tail], axis=1)
    return Found(draws.mean(axis=1), lower, upper, np.full(len(draws), np.inf))


def simulated_people(
    ease: Floats, accuracy: float, follows: float, n_people: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """People who find images as easy as machines do, more or less."""
    own = rng.normal(size=len(ease))
    logit = 1.5 * (follows * ease + np.sqrt(1 - follows**2) * own)
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        if special.expit(logit + middle).mean() < accuracy:
            low = middle
        else:
            high = middle
    return np.asarray(rng.random((n_people, len(ease))) < special.expit(logit + low))
