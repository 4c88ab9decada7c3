"""Plans tried on people who are known: coverage, power and precision before money is spent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.ranges import ROUNDING, within
from alikely.data.columns import NOT_SHOWN
from alikely.data.trials import Trials
from alikely.inference.strata import masses_of_strata, right_in_strata, stratum_shares
from alikely.inference.weighted import (
    FEWEST_EFFECTIVE,
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
from alikely.planning.designs import (
    NO_STRATA,
    Drawing,
    Strata,
    drawing_of,
    easiness,
    lacks_room,
    sizes,
)
from alikely.planning.pools import Pool, Target

__all__ = [
    "Found",
    "Human",
    "by_strata",
    "by_weights",
    "kappa",
    "rehearsed",
    "true_contrasts",
]

Human = Literal["model", "machines"] | Trials
N_DRAWS = 1_000
FEWEST_DESIGNS = 20
# Limits that are the truth but for rounding.
EQUAL = 1e-9


class Found(NamedTuple):
    """Estimates of contrasts with 95 % intervals."""

    value: Floats
    lower: Floats
    upper: Floats
    effective: Floats


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
    x, r, c = correct[used].astype(float), people.astype(float)[:, None], contrasts[:, used]
    w = 1 / inclusion
    w = w / w.sum()
    # Cells of each person with each machine: (person, machine, cell, image).
    shares = np.stack([r * x, r * (1 - x), (1 - r) * x, (1 - r) * (1 - x)], axis=2)
    cells = shares @ w
    both = cells[..., 0]
    value = kappa(both + cells[..., 1], both + cells[..., 2], both)
    slopes = ERROR_CONSISTENCY.influence(cells)
    slopes[np.isnan(value)] = np.nan
    n11, n10, n01, n00 = np.moveaxis(slopes / len(r), -1, 0)[..., None]
    psi = c @ np.einsum("hmk,hmki->mi", slopes / len(r), shares)
    # What an answer of each person moves the contrasts by, tossed: (person, contrast, image).
    spread = w * spread_of_images(inclusion, w > 0, population) * np.sqrt(TOSSED / len(w))
    tossed = c @ np.where(x == 1, n11 - n01, n10 - n00) * spread / 2
    u = deviations(psi * w, inclusion, w > 0, population)
    sampled = (u**2).sum(axis=1)
    total = sampled + (tossed**2).sum(axis=(0, 2))
    df = freedom_of_sums(total, sampled, (u**4).sum(axis=1), len(w))
    half = student_deviate(df, ci_prob) * np.sqrt(total)
    groups = [stratum == g for g in np.unique(stratum)] or [np.ones(len(w), dtype=bool)]
    flat = shares.reshape(-1, 4, len(w))
    every = np.broadcast_to(w, (len(flat), len(w)))
    bias = second_order_bias(
        ERROR_CONSISTENCY.influence, flat, every, inclusion, groups, population
    )
    middle = c @ value.mean(axis=0)
    without = middle - c @ bias.reshape(value.shape).mean(axis=0)
    # Where all images are certain to be shown nothing is left open.
    settled = population == "pool" and bool((inclusion == 1).all())
    effective = np.where(settled, np.inf, effective_images(u))
    return Found(without, *holding(middle - half, middle + half, without), effective)


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


class _Scene(NamedTuple):
    """People who are known, and the plan for them."""

    person: str
    accuracy: float
    follows: float
    correct: NDArray[np.bool_]
    people: NDArray[np.bool_]
    contrasts: Floats
    drawing: Drawing


def rehearsed(
    pools: Sequence[Pool],
    drawings: Sequence[Drawing],
    target: Target,
    human: Human,
    accuracy: Sequence[float],
    follows: Sequence[float],
    n_people: int,
    population: Population,
    n_designs: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Table of `alikely.planning.StimulusPlan.simulate`."""
    if n_designs < FEWEST_DESIGNS:
        raise ValueError(f"n_designs must be at least {FEWEST_DESIGNS}, got {n_designs}")
    if population not in ("pool", "images"):
        raise ValueError(f"population must be 'pool' or 'images', got {population!r}")
    if not isinstance(human, Trials) and human not in ("model", "machines"):
        raise ValueError(
            f"human must be 'model', 'machines' or Trials of earlier people, got {human!r}"
        )
    if not all(0 < value < 1 for value in accuracy):
        raise ValueError(f"accuracy must lie in (0, 1), got {list(accuracy)}")
    if not all(0 <= value <= 1 for value in follows):
        raise ValueError(f"follows must lie in [0, 1], got {list(follows)}")
    if n_people < 1:
        raise ValueError(f"n_people must be at least 1, got {n_people}")
    rows = []
    for pool, drawing in zip(pools, drawings, strict=True):
        if isinstance(human, Trials):
            scenes = _earlier(human, pool, drawing, target)
        elif human == "machines":
            scenes = _left_out(pool, drawing, target)
        else:
            contrasts, ease = target.each(len(pool.machines)), easiness(pool.correct)
            scenes = (
                _Scene(
                    "simulated", share, degree, pool.correct,
                    simulated_people(ease, share, degree, n_people, rng), contrasts, drawing,
                )
                for share in accuracy for degree in follows
            )  # fmt: skip
        for scene in scenes:
            for row in _tried(scene, population, n_designs, rng):
                place = {"dataset": pool.dataset, "condition": pool.condition}
                rows.append({**place, **dict(zip(_Scene._fields[:3], scene, strict=False)), **row})
    return pd.DataFrame(rows)


def _earlier(trials: Trials, pool: Pool, drawing: Drawing, target: Target) -> Iterator[_Scene]:
    """Earlier people who answered all images of a pool."""
    data = trials.data
    here = (data["dataset"].values == pool.dataset) & (data["condition"].values == pool.condition)
    at = pd.Index(data["item"].values[here].astype(str)).get_indexer(pool.items.astype(str))
    found = 0
    if len(at) and (at >= 0).all():
        raw = data["correct"].values[:, np.flatnonzero(here)[at]]
        for name, row in zip(trials.observers, raw, strict=True):
            if (row != NOT_SHOWN).all() and name not in pool.machines:
                found += 1
                answers, contrasts = (row == 1)[None], target.each(len(pool.machines))
                share = float(answers.mean())
                yield _Scene(name, share, np.nan, pool.correct, answers, contrasts, drawing)
    if not found:
        raise ValueError(
            f"none of these people answered all {pool.n_images} images of {pool.name}; simulate "
            "with human='model'"
        )


def _left_out(pool: Pool, drawing: Drawing, target: Target) -> Iterator[_Scene]:
    """Each machine outside the target as if it were human, and a plan without it."""
    used = np.zeros(len(pool.machines), dtype=bool)
    if target.contrasts is not None:
        used = target.contrasts.any(axis=0)
    others = np.flatnonzero(~used)
    if not len(others) or len(pool.machines) < 3:
        raise ValueError(
            "no machine is left to stand in for a human: all are in the target; use human='model'"
        )
    n = round(float(drawing.inclusion.sum()))
    for out in others:
        kept = np.delete(np.arange(len(pool.machines)), out)
        names = [pool.machines[i] for i in kept]
        rest = pool._replace(machines=names, correct=pool.correct[kept])
        contrasts = None if target.contrasts is None else target.contrasts[:, kept]
        settled = tuple(int(i - (i > out)) for i in target.settled if i != out)
        own = target._replace(contrasts=contrasts, settled=settled)
        if lacks_room(rest, own, n):
            # Two machines have halved cells, which may need more than cells of three.
            own = own._replace(settled=())
        size = sizes(rest.correct, own.contrasts)
        again = drawing_of(rest, size, own, n, drawing.even, drawing.classes is not None)
        person, each = pool.correct[out], own.each(len(kept))
        share = float(person.mean())
        yield _Scene(pool.machines[out], share, np.nan, rest.correct, person[None], each, again)


def _tried(
    scene: _Scene, population: Population, n_designs: int, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Rows of one scene: random sampling and the plan, by each of its estimators."""
    correct, people, contrasts, drawing = scene[3:]
    truth, n = true_contrasts(correct, people, contrasts), correct.shape[1]
    shown, strata = round(float(drawing.inclusion.sum())), drawing.strata
    found: dict[str, list[Found]] = {"random": [], "chosen": []}
    if strata is not None:
        found["strata"], held = [], np.bincount(strata.number)
    for _ in range(n_designs):
        for name, way in {"random": Drawing(np.full(n, shown / n)), "chosen": drawing}.items():
            at = way.draw(rng)
            x, own, pi = correct[:, at], people[:, at], way.inclusion[at]
            stratum = NO_STRATA if way.strata is None else way.strata.number[at]
            weighted = by_weights(x, own, pi, contrasts, population, stratum=stratum)
            found[name].append(weighted)
            if way.strata is not None:
                found["strata"].append(
                    by_strata(way.strata, stratum, held, own, contrasts, N_DRAWS, population, rng)
                )
    chance, defined = np.nan, np.isfinite(truth)
    for name, estimates in found.items():
        value, lower, upper, effective = np.array(estimates).transpose(1, 0, 2)[:, :, defined]
        square = float(np.nanmean((value - truth[defined]) ** 2))
        # Where all that matters was shown, limits are the truth but for rounding.
        inside = (lower <= truth[defined] + EQUAL) & (truth[defined] - EQUAL <= upper)
        covered = inside.mean(axis=0)
        per_image = chance / (1 / shown - 1 / n) if shown < n else np.nan
        if name == "random":
            chance, saved = square, 1.0
        else:
            saved = 1 / (square / per_image + 1 / n) / shown
        yield {
            "design": name,
            "n_images": shown,
            "effect": float(np.sqrt(np.nanmean(truth**2))),
            "rmse": float(np.sqrt(square)),
            "trials_saved": saved,
            "coverage": float(covered.mean()),
            "worst_coverage": float(covered.min()),
            "power": float(((lower > 0) | (upper < 0)).mean()),
            "starved": float((effective < FEWEST_EFFECTIVE).mean()),
        }
