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
from studies.harness import Rows, Study, checked

# Share of images on which two machines differ in correctness, and difference of their accuracies.
SIMILAR, UNLIKE = (0.05, 0.15, 0.05), (0.2, 0.1)
DESIGNS = ("random", "strata", "strata, weighted", "sizes")
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
        stratum = strata_of(machines, planned)
        inclusion = allocation(stratum, size, n) / np.bincount(stratum)
        drawing = Drawing(inclusion[stratum], stratum)
    else:
        drawing = Drawing(np.full(count, n / count) if name == "random" else probabilities(size, n))

    def drawn(r: Any, population: Population, rng: np.random.Generator) -> Floats:
        at = drawing.draw(rng)
        both, pi = (machines[:, at], r[:, at]), drawing.inclusion[at]
        if drawing.stratum is None:
            return by_weights(*both, pi, contrasts, population)
        own = drawing.stratum[at]
        if name == "strata":
            held = np.bincount(drawing.stratum)
            return by_strata(*both, own, held, contrasts, N_DRAWS, population, rng)
        return by_weights(*both, pi, contrasts, population, stratum=own)

    return drawn


def _contrast(machines: NDArray[np.bool_], pair: Sequence[int]) -> Floats:
    contrast = np.zeros((1, len(machines)))
    contrast[0, list(pair)] = 1, -1
    return contrast


class PairDesign(NamedTuple):
    """Two machines and some people of a pool, the pair planned for, and how many images."""

    pool: str
    kind: str
    pair: tuple[int, int]
    people: list[int]
    planned: tuple[int, int]
    n: int


def _one_pair(
    pools: Mapping[str, Pool],
    of: PairDesign,
    _numbers: range,
    seed: np.random.SeedSequence,
    n_designs: int,
    n_pools: int,
) -> Rows:
    """Study one pair of machines against some people: a row for each design."""
    machines, everybody = pools[of.pool]
    r, rng, count = everybody[of.people], np.random.default_rng(seed), machines.shape[1]
    truth = float(true_contrasts(machines, r, _contrast(machines, of.pair))[0])
    rows: Rows = []
    for name in DESIGNS:
        # The strata of one pair have no posterior of another.
        if name == "strata" and of.planned != of.pair:
            continue
        draw = _design(name, machines, of.pair, of.planned, of.n)
        found = np.array([draw(r, "pool", rng) for _draw in range(n_designs)]).reshape(-1, 4)
        beyond = [
            _design(name, machines[:, at], of.pair, of.planned, of.n)(r[:, at], "images", rng)
            for at in rng.integers(0, count, (n_pools, count))
        ]
        row = {**of._asdict(), "design": name, "n_images": count}
        row |= {"bias": float(found[:, 0].mean() - truth)}
        row |= {"mse": float(np.mean((found[:, 0] - truth) ** 2))}
        # Too few effective images for the interval.
        row |= {"flagged": float(np.mean(found[:, 3] < FEWEST_EFFECTIVE))}
        for population, drawn in (("pool", found), ("images", np.array(beyond).reshape(-1, 4))):
            # Where all that matters was shown, limits are the truth but for rounding.
            held = checked(truth, drawn[:, 1], drawn[:, 2], rounding=ROUNDING)["covered"]
            row[f"coverage_{population}"] = held if len(drawn) else np.nan
        rows.append(row)
    # Of random sampling without replacement: variance per image, from its error.
    per_image = rows[0]["mse"] / (1 / of.n - 1 / count)
    for row in rows:
        # How many more images random sampling needs; where all that matters is shown it is pool/n.
        row["saved"] = 1 / (row["mse"] / per_image + 1 / count) / of.n if per_image else np.nan
    return rows


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
        similar = kinds_of_pairs(machines, "similar")
        for kind in ("similar", "unlike"):
            for pair in generator.permutation(kinds_of_pairs(machines, kind))[:n_pairs].tolist():
                planned = pair
                if others and len(similar):
                    planned = similar[generator.integers(len(similar))].tolist()
                who = generator.permutation(len(people))[:n_people].tolist()
                both = tuple(pair), who, tuple(planned)
                sizes = [size for size in n if size <= machines.shape[1] / 2]
                designs += [PairDesign(name, kind, *both, size) for size in sizes]
    scenarios = {str(k): design for k, design in enumerate(designs)}
    options = {"n_designs": n_designs, "n_pools": n_pools}
    study = Study("chosen", partial(_one_pair, pools), scenarios, options=options)
    return study.run(1, folder=folder, rng=generator)


def chosen_summary(study: pd.DataFrame) -> pd.DataFrame:
    """Geometric means of trials saved over pairs, with least and greatest, and coverage."""
    by = study.groupby(["n_images", "kind", "n", "design"], sort=False)
    table = pd.DataFrame({"pairs": by.size(), "bias_max": by["bias"].agg(lambda x: x.abs().max())})
    table["saved"] = by["saved"].agg(lambda x: np.exp(np.log(x).mean()))
    table["saved_min"], table["saved_max"] = by["saved"].min(), by["saved"].max()
    for name in ("coverage_pool", "coverage_images"):
        table[name], table[f"{name}_min"] = by[name].mean(), by[name].min()
    return table.reset_index()
