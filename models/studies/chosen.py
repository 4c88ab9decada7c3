"""Images chosen from machines' answers: trials saved, and what intervals keep, on real answers.

Every person of a data set answered every image of a pool. Designs are drawn again and again, and
their estimates of the difference of two machines' error consistency with that person are held
against what all images say; or pools are resampled, and the estimates are held against what the
images say that these are drawn from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.inference.weighted import FEWEST_EFFECTIVE, Population
from alikely.planning.choosing import (
    Drawing,
    allocation,
    by_strata,
    by_weights,
    probabilities,
    sizes,
    strata_of,
    true_contrasts,
)
from studies.harness import Rows, Study

__all__ = ["Pool", "chosen_images_study", "chosen_summary", "kinds_of_pairs"]

# Share of images on which two machines differ in correctness, and difference of their accuracies.
SIMILAR, UNLIKE = (0.05, 0.15, 0.05), (0.2, 0.1)
DESIGNS = ("random", "strata", "strata, weighted", "sizes")
NONE = np.empty(0, dtype=np.intp)
N_DRAWS = 1_000
ROUNDING = 1e-9


class Pool(NamedTuple):
    """What machines and people answered to the images of one condition."""

    machines: NDArray[np.bool_]
    people: NDArray[np.bool_]


def kinds_of_pairs(machines: NDArray[np.bool_], kind: str) -> NDArray[np.intp]:
    """Pairs of machines that are similar, or unlike."""
    first, second = np.triu_indices(len(machines), 1)
    apart = (machines[first] != machines[second]).mean(axis=1)
    gap = np.abs(machines[first].mean(axis=1) - machines[second].mean(axis=1))
    if kind == "similar":
        chosen = (apart >= SIMILAR[0]) & (apart <= SIMILAR[1]) & (gap <= SIMILAR[2])
    else:
        chosen = (apart >= UNLIKE[0]) & (gap >= UNLIKE[1])
    return np.stack([first[chosen], second[chosen]], axis=1)


def _design(
    name: str, machines: NDArray[np.bool_], pair: Sequence[int], planned: Sequence[int], n: int
) -> Callable[[NDArray[np.bool_], Population, np.random.Generator], Floats]:
    """Prepare a design of one pool: responses of people to an estimate, drawn anew each time."""
    count = machines.shape[1]
    contrasts, wanted = _contrast(machines, pair), _contrast(machines, planned)
    size = sizes(machines, wanted)
    if name.startswith("strata"):
        strata = strata_of(machines, planned)
        shown, held = allocation(strata.number, size, n), np.bincount(strata.number)
        drawing = Drawing((shown / held)[strata.number], strata, shown)
    else:
        drawing = Drawing(np.full(count, n / count) if name == "random" else probabilities(size, n))

    def drawn(r: Any, population: Population, rng: np.random.Generator) -> Floats:
        at = drawing.draw(rng)
        own = NONE if drawing.strata is None else drawing.strata.number[at]
        if name == "strata":
            both = machines[:, at], r[:, at]
            return by_strata(*both, own, held, contrasts, N_DRAWS, population, rng)
        return by_weights(
            machines[:, at], r[:, at], drawing.inclusion[at], contrasts, population, stratum=own
        )

    return drawn


def _contrast(machines: NDArray[np.bool_], pair: Sequence[int]) -> Floats:
    contrast = np.zeros((1, len(machines)))
    contrast[0, list(pair)] = 1, -1
    return contrast


class PairDesign(NamedTuple):
    """Two machines and some people of a pool, the pair planned for, and how many images."""

    pool: str
    kind: str
    first: int
    second: int
    people: list[int]
    planned: list[int]
    n: int


def _one_pair(
    pools: Mapping[str, Pool],
    pair_of: PairDesign,
    _numbers: range,
    seed: np.random.SeedSequence,
    n_designs: int,
    n_pools: int,
) -> Rows:
    """Study one pair of machines against one person: a row for each design."""
    pool, _, first, second, people, planned, n = pair_of
    machines, everybody = pools[pool]
    r, pair, rng = everybody[list(people)], (first, second), np.random.default_rng(seed)
    truth = float(true_contrasts(machines, r, _contrast(machines, pair))[0])
    count = machines.shape[1]
    rows: Rows = []
    errors: dict[str, float] = {}
    # The strata of one pair have no posterior of another.
    own = [name for name in DESIGNS if name != "strata" or tuple(planned) == pair]
    for name in own:
        draw = _design(name, machines, pair, planned, n)
        found = _table([draw(r, "pool", rng) for _draw in range(n_designs)])
        errors[name] = float(np.mean((found[:, 0] - truth) ** 2))
        beyond = []
        for _pool in range(n_pools):
            at = rng.integers(0, count, count)
            beyond.append(_design(name, machines[:, at], pair, planned, n)(r[:, at], "images", rng))
        of_images = _table(beyond)
        rows.append(
            pair_of._asdict()
            | {
                "design": name,
                "truth": truth,
                "n_images": count,
                "bias": float(found[:, 0].mean() - truth),
                "mse": errors[name],
                "width": float(np.mean(found[:, 2] - found[:, 1])),
                "flagged": float(np.mean(found[:, 3] < FEWEST_EFFECTIVE)),
                "effective": float(np.median(found[:, 3])),
                "accuracy": float(r.mean()),
                "apart": float((machines[first] != machines[second]).mean()),
                "coverage_pool": _covered(found, truth),
                "coverage_images": _covered(of_images, truth),
                "bias_images": float(of_images[:, 0].mean() - truth) if n_pools else np.nan,
            }
        )
    # Of random sampling without replacement: variance per image, from its error.
    per_image = errors["random"] / (1 / n - 1 / count)
    for row in rows:
        # Where all that matters is shown no error is left.
        row["ratio"] = errors["random"] / row["mse"] if row["mse"] > 0 else np.inf
        row["saved"] = 1 / (row["mse"] / per_image + 1 / count) / n if per_image else np.nan
    return rows


def _table(found: Sequence[Floats]) -> Floats:
    return np.array(found).reshape(-1, 4)


def _covered(found: Floats, truth: float) -> float:
    if not len(found):
        return np.nan
    # Where all that matters was shown, limits are the truth but for rounding.
    inside = (found[:, 1] <= truth + ROUNDING) & (truth - ROUNDING <= found[:, 2])
    return float(np.mean(inside))


def chosen_images_study(
    pools: Mapping[str, Pool],
    n: Sequence[int] = (80, 160),
    *,
    n_pairs: int = 10,
    n_people: int = 1,
    others: bool = False,
    n_designs: int = 400,
    n_pools: int = 200,
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Trials saved by choosing images for a pair of machines, and coverage, on real answers."""
    generator = np.random.default_rng(seed_sequence(rng))
    designs: list[PairDesign] = []
    for name, (machines, people) in pools.items():
        for kind in ("similar", "unlike"):
            pairs = kinds_of_pairs(machines, kind)
            pairs = generator.permutation(pairs)[:n_pairs]
            every = kinds_of_pairs(machines, "similar") if others else pairs
            for first, second in pairs.tolist():
                planned = [first, second]
                if others and len(every):
                    planned = every[generator.integers(len(every))].tolist()
                who = generator.permutation(len(people))[:n_people].tolist()
                designs += [
                    PairDesign(name, kind, first, second, who, planned, size)
                    for size in n
                    if size <= machines.shape[1] / 2
                ]
    scenarios = {str(k): design for k, design in enumerate(designs)}
    options = {"n_designs": n_designs, "n_pools": n_pools}
    study = Study("chosen", partial(_one_pair, pools), scenarios, options=options)
    return study.run(1, folder=folder, rng=generator)


def chosen_summary(study: pd.DataFrame) -> pd.DataFrame:
    """Geometric means of trials saved over pairs, with least and greatest, and coverage."""
    rows = []
    keys = ["n_images", "kind", "n", "design"]
    for values, part in study.groupby(keys, sort=False):
        row: dict[str, Any] = dict(zip(keys, values, strict=True))
        row["pairs"] = len(part)
        for name in ("ratio", "saved"):
            row[name] = float(np.exp(np.log(part[name]).mean()))
            row[f"{name}_min"], row[f"{name}_max"] = part[name].min(), part[name].max()
        row["bias_max"] = part["bias"].abs().max()
        for name in ("coverage_pool", "coverage_images"):
            row[name], row[f"{name}_min"] = part[name].mean(), part[name].min()
        rows.append(row)
    return pd.DataFrame(rows)
