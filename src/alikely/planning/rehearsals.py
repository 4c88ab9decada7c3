"""Plans tried on people who are known: coverage, power and precision before money is spent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.data.columns import NOT_SHOWN
from alikely.data.trials import Trials
from alikely.inference.weighted import FEWEST_EFFECTIVE, Population
from alikely.planning.pools import Pool
from alikely.planning.precision import drawing_of, lacks_room, sizes_of
from alikely.planning.rehearsal import (
    NO_STRATA,
    Drawing,
    Found,
    by_strata,
    by_weights,
    simulated_people,
    true_contrasts,
)
from alikely.planning.sizes import easiness
from alikely.planning.targets import Target

__all__ = ["Human", "Scene", "rehearsed", "scenes"]

Human = Literal["model", "machines"] | Trials
N_DRAWS = 1_000
ROUNDING = 1e-9
FEWEST_DESIGNS = 20


class Scene(NamedTuple):
    """People who are known, and the plan for them."""

    labels: dict[str, Any]
    correct: NDArray[np.bool_]
    people: NDArray[np.bool_]
    contrasts: Floats
    drawing: Drawing
    size: Floats


def scenes(
    pools: Sequence[Pool],
    drawings: Sequence[Drawing],
    target: Target,
    metric: str,
    human: Human,
    accuracy: Sequence[float],
    follows: Sequence[float],
    n_people: int,
    rng: np.random.Generator,
) -> Iterator[Scene]:
    """People to try a plan on, condition by condition."""
    _check_people(human, accuracy, follows, n_people)
    for pool, drawing in zip(pools, drawings, strict=True):
        place: dict[str, Any] = {"dataset": pool.dataset, "condition": pool.condition}
        contrasts = target.each(len(pool.machines))
        size = sizes_of(pool, target, metric)
        if isinstance(human, Trials):
            for name, answers in _earlier(human, pool):
                labels = {**place, "person": name, "accuracy": answers.mean(), "follows": np.nan}
                yield Scene(labels, pool.correct, answers, contrasts, drawing, size)
        elif human == "machines":
            yield from _left_out(pool, drawing, target, metric, place)
        else:
            ease = easiness(pool.correct)
            for share in accuracy:
                for degree in follows:
                    people = simulated_people(ease, share, degree, n_people, rng)
                    labels = {**place, "person": "simulated", "accuracy": share, "follows": degree}
                    yield Scene(labels, pool.correct, people, contrasts, drawing, size)


def _check_people(
    human: Human, accuracy: Sequence[float], follows: Sequence[float], n_people: int
) -> None:
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


def _earlier(trials: Trials, pool: Pool) -> Iterator[tuple[str, NDArray[np.bool_]]]:
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
                yield name, (row == 1)[None]
    if not found:
        raise ValueError(
            f"none of these people answered all {pool.n_images} images of {pool.name}; simulate "
            "with human='model'"
        )


def _left_out(
    pool: Pool, drawing: Drawing, target: Target, metric: str, place: dict[str, Any]
) -> Iterator[Scene]:
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
        rest = pool._replace(machines=names, correct=pool.correct[kept], wrong=pool.wrong[kept])
        contrasts = None if target.contrasts is None else target.contrasts[:, kept]
        settled = tuple(int(i - (i > out)) for i in target.settled if i != out)
        own = target._replace(contrasts=contrasts, settled=settled)
        if lacks_room(rest, own, n):
            # Two machines have halved cells, which may need more than cells of three.
            own = own._replace(settled=())
        size = sizes_of(rest, own, metric)
        again = drawing_of(rest, size, own, n, drawing.even, drawing.classes is not None)
        person = pool.correct[out]
        labels = {
            **place,
            "person": pool.machines[out],
            "accuracy": float(person.mean()),
            "follows": np.nan,
        }
        yield Scene(labels, rest.correct, person[None], own.each(len(kept)), again, size)


def rehearsed(
    pools: Sequence[Pool],
    drawings: Sequence[Drawing],
    target: Target,
    metric: str,
    human: Human,
    *,
    accuracy: Sequence[float],
    follows: Sequence[float],
    n_people: int,
    population: Population,
    n_designs: int,
    rng: RandomState,
) -> pd.DataFrame:
    """Table of `alikely.planning.stimulus_plan.StimulusPlan.simulate`."""
    if metric != "error_consistency":
        raise ValueError(f"plans are tried for error_consistency; this one is for {metric}")
    if n_designs < FEWEST_DESIGNS:
        raise ValueError(f"n_designs must be at least {FEWEST_DESIGNS}, got {n_designs}")
    if population not in ("pool", "images"):
        raise ValueError(f"population must be 'pool' or 'images', got {population!r}")
    generator = np.random.default_rng(seed_sequence(rng))
    rows = []
    for scene in scenes(
        pools, drawings, target, metric, human, accuracy, follows, n_people, generator
    ):
        rows += _tried(scene, population, n_designs, generator)
    return pd.DataFrame(rows)


def _tried(
    scene: Scene, population: Population, n_designs: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Rows of one scene: random sampling and the plan, by each of its estimators."""
    labels, correct, people, contrasts, drawing, _ = scene
    truth, n = true_contrasts(correct, people, contrasts), correct.shape[1]
    shown = round(float(drawing.inclusion.sum()))
    even = Drawing(np.full(n, shown / n), None, NO_STRATA, None)
    ways = {"random": even, "chosen": drawing}
    found: dict[str, list[Found]] = {name: [] for name in ways}
    strata = drawing.strata
    if strata is not None:
        found["strata"] = []
        held = np.bincount(strata.number)
    for _ in range(n_designs):
        for name, way in ways.items():
            at = way.draw(rng)
            own = people[:, at]
            stratum = NO_STRATA if way.strata is None else way.strata.number[at]
            found[name].append(
                by_weights(
                    correct[:, at],
                    own,
                    way.inclusion[at],
                    contrasts,
                    population,
                    stratum=stratum,
                )
            )
            if name == "chosen" and strata is not None:
                found["strata"].append(
                    by_strata(
                        strata, strata.number[at], held, own, contrasts, N_DRAWS, population, rng
                    )
                )
    rows, chance = [], np.nan
    for name, estimates in found.items():
        value, lower, upper, effective = np.array(estimates).transpose(1, 0, 2)
        defined = np.isfinite(truth)
        square = float(np.nanmean((value - truth)[:, defined] ** 2))
        # Where all that matters was shown, limits are the truth but for rounding.
        inside = (lower <= truth + ROUNDING) & (truth - ROUNDING <= upper)
        covered = inside[:, defined].mean(axis=0)
        per_image = chance / (1 / shown - 1 / n) if shown < n else np.nan
        if name == "random":
            chance, saved = square, 1.0
        else:
            saved = 1 / (square / per_image + 1 / n) / shown
        rows.append(
            {
                **labels,
                "design": name,
                "n_images": shown,
                "effect": float(np.sqrt(np.nanmean(truth**2))),
                "rmse": float(np.sqrt(square)),
                "trials_saved": saved,
                "coverage": float(covered.mean()),
                "worst_coverage": float(covered.min()),
                "power": float(((lower > 0) | (upper < 0))[:, defined].mean()),
                "starved": float((effective < FEWEST_EFFECTIVE)[:, defined].mean()),
            }
        )
    return rows
