"""Images in batches: the next ones by what was answered, until an interval is narrow enough.

References
----------
.. [R76] Rubin (1976). Inference and missing data. doi:10.1093/biomet/63.3.581
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.data.columns import NOT_SHOWN
from alikely.data.trials import Trials
from alikely.inference.weighted import Population
from alikely.planning.designs import FEWEST, Strata, allocation
from alikely.planning.pools import Pool
from alikely.planning.rehearsal import (
    Drawing,
    Found,
    by_strata,
    drawn_alike,
    kappa,
    true_contrasts,
)
from alikely.planning.rehearsals import FEWEST_DESIGNS, N_DRAWS, Human, Scene, scenes
from alikely.planning.rows import rows_of
from alikely.planning.sizes import effects
from alikely.planning.targets import Target

__all__ = ["batches_table", "next_images", "renewed_shown", "require_renewable"]

# Whose influence `renewed_shown` follows.
RENEWED_FOR = "error_consistency"


def renewed_shown(
    strata: Strata,
    held: NDArray[np.intp],
    right: NDArray[np.intp] | Floats,
    shown: NDArray[np.intp],
    n: int,
    contrasts: Floats,
) -> NDArray[np.intp]:
    """Images of each stratum for the next batch, by the answers so far."""
    theta = (right + 0.5) / (shown + 1)
    share = held / held.sum()
    h = float(share @ theta)
    moved = []
    for own in strata.right:
        p = float(share @ own)
        value = float(kappa(np.array(h), np.array(p), np.array(share @ (own * theta))))
        value = value if np.isfinite(value) else 0.0
        constant, slope = effects(np.array([p]), h, value)
        wrong, right_too = constant + slope * own
        moved.append(right_too - wrong)
    # What an answer moves the contrasts by, of several their root mean square.
    of_contrasts = contrasts[:, list(strata.machines)] @ np.array(moved)
    spread = np.sqrt((of_contrasts**2).mean(axis=0) * theta * (1 - theta))
    wanted, total = held * np.maximum(spread, 1e-9), int(shown.sum()) + n
    low, high = shown.astype(float), held.astype(float)
    # As much as possible of what is missing to the best allocation.
    lower, upper = 0.0, float((high / wanted).max())
    for _ in range(100):
        middle = (lower + upper) / 2
        if np.clip(middle * wanted, low, high).sum() < total:
            lower = middle
        else:
            upper = middle
    goal = np.clip(upper * wanted, low, high)
    more = np.floor(goal - shown + 1e-9).astype(np.intp)
    left = n - int(more.sum())
    room = shown + more < held
    order = np.argsort(-np.where(room, goal - shown - more, -1.0), kind="stable")
    more[order[:left]] += 1
    return more


def next_images(
    table: pd.DataFrame,
    pools: Sequence[Pool],
    drawings: Sequence[Drawing],
    trials: Trials,
    n: int,
    people: str,
    target: Target,
    rng: RandomState,
) -> tuple[pd.DataFrame, tuple[Drawing, ...]]:
    """Table and designs of `alikely.planning.stimulus_plan.StimulusPlan.next_batch`."""
    if table["list"].nunique() > 1:
        raise ValueError("batches are for one list that all people share; plan images='shared'")
    parts, renewed = [], []
    done = table["batch"] if "batch" in table else pd.Series(1, index=table.index)
    number = int(done.max()) + 1
    seeds = seed_sequence(rng).spawn(len(pools))
    for pool, drawing, seed in zip(pools, drawings, seeds, strict=True):
        strata, generator = drawing.strata, np.random.default_rng(seed)
        assert strata is not None
        held = np.bincount(strata.number)
        here = (table["dataset"] == pool.dataset) & (table["condition"] == pool.condition)
        own = table[here]
        at = pd.Index(pool.items).get_indexer(own["item"])
        answers = _answers(trials, pool, at, people)
        shown = np.bincount(strata.number[at], minlength=len(held))
        if n < 1 or n > int((held - shown).sum()):
            raise ValueError(
                f"n must be from 1 to {int((held - shown).sum())}, the images of {pool.name} not "
                f"shown yet; got {n}"
            )
        right = np.bincount(strata.number[at], answers.mean(axis=0), minlength=len(held))
        contrasts = target.each(len(pool.machines))
        more = renewed_shown(strata, held, right, shown, n, contrasts)
        left = np.setdiff1d(np.arange(pool.n_images), at)
        fresh = [
            drawn_alike(left[strata.number[left] == g], k, drawing.classes, generator)
            for g, k in enumerate(more)
        ]
        total = shown + more
        again = drawing._replace(inclusion=(total / held)[strata.number], shown=total)
        new = rows_of(pool, again, generator.permutation(np.concatenate(fresh)))
        before = rows_of(pool, again, at)
        parts += [
            before.assign(list=1, batch=done[here].to_numpy()),
            new.assign(list=1, batch=number),
        ]
        renewed.append(again)
    joined = pd.concat(parts, ignore_index=True)
    front = ["list", "batch"]
    return joined[[*front, *joined.columns.drop(front)]], tuple(renewed)


def require_renewable(drawings: Sequence[Drawing], metric: str) -> None:
    """Refuse batches of plans without strata, or for a metric whose spread they do not follow."""
    if metric != RENEWED_FOR:
        raise ValueError(f"batches are renewed for {RENEWED_FOR}; this plan is for {metric}")
    if any(drawing.strata is None for drawing in drawings):
        raise ValueError(
            "this plan is drawn by size (more than four machines, or too few images for strata), "
            "whose weights would hang on the answers: one batch"
        )


def _answers(trials: Trials, pool: Pool, at: NDArray[np.intp], people: str) -> NDArray[np.bool_]:
    """Answers of people to all images shown so far: (person, image)."""
    data = trials.data
    here = (data["dataset"].values == pool.dataset) & (data["condition"].values == pool.condition)
    positions = np.flatnonzero(here)
    found = pd.Index(data["item"].values[here].astype(str)).get_indexer(pool.items[at].astype(str))
    raw = data["correct"].values[data["kind"].values == people]
    if (found < 0).any() or not len(raw):
        raise ValueError(
            f"no {people} answered some images of the plan in {pool.name}; renew it when the batch "
            "is done"
        )
    raw = raw[:, positions[found]]
    complete = (raw != NOT_SHOWN).all(axis=1)
    if not complete.any():
        raise ValueError(
            f"no {people} answered all {len(at)} images of the plan in {pool.name}; renew it when "
            "the batch is done"
        )
    return np.asarray(raw[complete] == 1)


def batches_table(
    pools: Sequence[Pool],
    drawings: Sequence[Drawing],
    target: Target,
    metric: str,
    width: float,
    *,
    batch: int,
    human: Human,
    accuracy: Sequence[float],
    follows: Sequence[float],
    population: Population,
    n_designs: int,
    rng: RandomState,
) -> pd.DataFrame:
    """Table of `alikely.planning.stimulus_plan.StimulusPlan.simulate_batches`."""
    require_renewable(drawings, metric)
    if population not in ("pool", "images"):
        raise ValueError(f"population must be 'pool' or 'images', got {population!r}")
    if not 0 < width < 2:
        raise ValueError(f"width must lie in (0, 2), got {width}")
    if batch < 1:
        raise ValueError(f"batch must be at least 1, got {batch}")
    if n_designs < FEWEST_DESIGNS:
        raise ValueError(f"n_designs must be at least {FEWEST_DESIGNS}, got {n_designs}")
    generator = np.random.default_rng(seed_sequence(rng))
    rows = []
    people = scenes(pools, drawings, target, metric, human, accuracy, follows, 1, generator)
    for scene in people:
        strata = scene.drawing.strata
        assert strata is not None
        truth = true_contrasts(scene.correct, scene.people, scene.contrasts)
        runs = np.array(
            [
                _stopped(strata, scene, truth, width, batch, population, generator)
                for _ in range(n_designs)
            ]
        )
        n, covered, widest = runs.T
        fixed = max(round(float(n.mean())), int(scene.drawing.shown.sum()))
        rows.append(
            {
                **scene.labels,
                "first": int(scene.drawing.shown.sum()),
                "expected_images": float(n.mean()),
                "images_q95": float(np.quantile(n, 0.95)),
                "coverage": float(covered.mean()),
                "mean_width": float(widest.mean()),
                "unfinished_share": float((widest > width).mean()),
                **_fixed(scene, strata, fixed, truth, population, n_designs, generator),
            }
        )
    return pd.DataFrame(rows)


def _stopped(
    strata: Strata,
    scene: Scene,
    truth: Floats,
    width: float,
    batch: int,
    population: Population,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """One study: images shown at the end, share of contrasts covered, and the widest interval."""
    held, contrasts = np.bincount(strata.number), scene.contrasts
    at = scene.drawing.draw(rng)
    while True:
        number, own = strata.number[at], scene.people[:, at]
        found = by_strata(strata, number, held, own, contrasts, N_DRAWS, population, rng)
        widest, left = float((found.upper - found.lower).max()), len(strata.number) - len(at)
        if widest <= width or not left:
            return float(len(at)), _held(found, truth), widest
        shown = np.bincount(strata.number[at], minlength=len(held))
        right = np.bincount(strata.number[at], own[0], minlength=len(held))
        more = renewed_shown(strata, held, right, shown, min(batch, left), contrasts)
        rest = np.setdiff1d(np.arange(len(strata.number)), at)
        fresh = [
            drawn_alike(rest[strata.number[rest] == g], k, scene.drawing.classes, rng)
            for g, k in enumerate(more)
        ]
        at = np.sort(np.concatenate([at, *fresh]))


def _held(found: Found, truth: Floats) -> float:
    """Share of contrasts whose intervals hold the truth."""
    return float(np.mean((found.lower <= truth) & (truth <= found.upper)))


def _fixed(
    scene: Scene,
    strata: Strata,
    n: int,
    truth: Floats,
    population: Population,
    n_designs: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    """A plan of as many images as the batches take on average, made beforehand."""
    held = np.bincount(strata.number)
    n = max(n, int(np.minimum(FEWEST, held).sum()))
    shown = allocation(strata.number, scene.size, min(n, int(held.sum())))
    drawing = scene.drawing._replace(shown=shown, inclusion=(shown / held)[strata.number])
    found = []
    for _ in range(n_designs):
        at = drawing.draw(rng)
        number, own = strata.number[at], scene.people[:, at]
        found.append(
            by_strata(strata, number, held, own, scene.contrasts, N_DRAWS, population, rng)
        )
    return {
        "fixed_images": float(shown.sum()),
        "fixed_width": float(np.mean([(each.upper - each.lower).max() for each in found])),
        "fixed_coverage": float(np.mean([_held(each, truth) for each in found])),
    }
