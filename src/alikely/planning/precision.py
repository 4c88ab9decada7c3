"""Standard errors that a design is expected to have, before anybody is tested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.arrays import Floats
from alikely.planning.designs import allocation, fewest_images, probabilities, strata_of
from alikely.planning.pools import Pool
from alikely.planning.rehearsal import NO_STRATA, Drawing
from alikely.planning.sizes import AIMS, joint_error_sizes, sizes, spread_in_strata
from alikely.planning.targets import Target

__all__ = [
    "drawing_of",
    "expected_of",
    "expected_precision",
    "lacks_room",
    "precision_by_number",
    "sizes_of",
]


def sizes_of(pool: Pool, target: Target, metric: str) -> Floats:
    """Sizes of the images of a pool for a target."""
    aim = AIMS[metric]
    if aim is None:
        return joint_error_sizes(pool.correct, pool.wrong, target.each(len(pool.machines)))
    return sizes(pool.correct, target.contrasts, aim)


def lacks_room(pool: Pool, target: Target, n: int) -> bool:
    """Whether the strata of a target need more images than are shown."""
    if not target.settled:
        return False
    return fewest_images(strata_of(pool.correct, target.settled).number) > n


def drawing_of(
    pool: Pool, size: Floats, target: Target, n: int, even: float | None, by_class: bool
) -> Drawing:
    """Design of one pool: strata where few machines make them, else by sizes."""
    classes = np.unique(pool.truth.astype(str), return_inverse=True)[1] if by_class else None
    strata = strata_of(pool.correct, target.settled) if target.settled else None
    if strata is None:
        share = {} if even is None else {"even": even}
        if even == 0 and not size.all():
            raise ValueError(
                f"even must be above 0: {int((size == 0).sum())} images of {pool.name} tell "
                "nothing of the target and would never be shown, whatever else is asked later"
            )
        return Drawing(probabilities(size, n, **share), None, NO_STRATA, classes, even)
    held = np.bincount(strata.number)
    # Spread evenly over the pool: as if each image had at least that size.
    mixed = size if not even else np.sqrt((1 - even) * size**2 + even * np.mean(size**2))
    shown = allocation(strata.number, mixed, n)
    return Drawing((shown / held)[strata.number], strata, shown, classes, even)


def expected_precision(
    pool: Pool, size: Floats, target: Target, drawing: Drawing, metric: str, n: int
) -> pd.DataFrame:
    """Standard errors of random sampling, the design and all images, from the models alone."""
    count, machines = pool.n_images, len(pool.machines)
    # Of all pairs sizes sum over machines, each against their mean.
    many = 2 / (machines - 1) if target.contrasts is None else 1 / len(target.contrasts)
    square = size**2 * many
    per_image = float(square.mean())
    pi = drawing.inclusion
    ours = float((square * (1 - pi) / pi).sum()) / count**2
    aim = AIMS[metric]
    if drawing.strata is not None and aim is not None:
        number, held = drawing.strata.number, np.bincount(drawing.strata.number)
        spreads = [spread_in_strata(pool.correct, c, number, aim) for c in target.each(machines)]
        within = np.mean([each for each, _ in spreads], axis=0)
        per_image = float(np.mean([overall for _, overall in spreads]))
        ours = float((held**2 * (1 / drawing.shown - 1 / held) * within).sum()) / count**2
    chance = per_image * (1 / n - 1 / count)
    # Of an image beyond the pool all that the pool leaves open is added.
    beyond = per_image / count
    needed = per_image / (ours + beyond) if ours + beyond > 0 else np.nan
    rows: list[dict[str, Any]] = [
        {"design": "random", "n_images": n, "variance": chance, "trials_saved": 1.0},
        {"design": "chosen", "n_images": n, "variance": ours, "trials_saved": needed / n},
        {"design": "all", "n_images": count, "variance": 0.0, "trials_saved": np.nan},
    ]
    table = pd.DataFrame(rows)
    variance = table.pop("variance")
    saved = table.pop("trials_saved")
    return table.assign(
        se_pool=np.sqrt(variance), se_images=np.sqrt(variance + beyond), trials_saved=saved
    )


def expected_of(
    pools: Sequence[Pool], drawings: Sequence[Drawing], target: Target, metric: str
) -> pd.DataFrame:
    """Expected standard errors of a plan, condition by condition."""
    tables = []
    for pool, drawing in zip(pools, drawings, strict=True):
        n, size = round(float(drawing.inclusion.sum())), sizes_of(pool, target, metric)
        found = expected_precision(pool, size, target, drawing, metric, n)
        found.insert(0, "dataset", pool.dataset)
        found.insert(1, "condition", pool.condition)
        tables.append(found)
    return pd.concat(tables, ignore_index=True)


def precision_by_number(
    pools: Sequence[Pool],
    drawings: Sequence[Drawing],
    target: Target,
    metric: str,
    numbers: Sequence[int],
) -> pd.DataFrame:
    """Expected standard errors of plans like one, with other numbers of images."""
    tables = []
    for pool, drawing in zip(pools, drawings, strict=True):
        size = sizes_of(pool, target, metric)
        least = 2 if drawing.strata is None else fewest_images(drawing.strata.number)
        for n in numbers:
            if not least <= n <= pool.n_images:
                continue
            other = drawing_of(pool, size, target, n, drawing.even, drawing.classes is not None)
            found = expected_precision(pool, size, target, other, metric, n)
            tables.append(found.assign(dataset=pool.dataset, condition=pool.condition))
    if not tables:
        raise ValueError(
            f"none of these numbers of images is one that a pool and its strata allow: {numbers}"
        )
    return pd.concat(tables, ignore_index=True)
