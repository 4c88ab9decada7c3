"""Which images to show people, chosen from what machines answered.

References
----------
.. [SSW92] Särndal, Swensson, Wretman (1992). Model assisted survey sampling.
   doi:10.1007/978-1-4612-4378-4
.. [N34] Neyman (1934). On the two different aspects of the representative method.
   doi:10.2307/2342192
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from alikely._base.checks import entries
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_memory
from alikely._base.steps import tracked
from alikely.data.trials import Trials
from alikely.metrics import get_metric
from alikely.planning.designs import fewest_images, strata_of
from alikely.planning.plan_notes import notes_of
from alikely.planning.pools import Pool, pools_of
from alikely.planning.precision import drawing_of, expected_of, lacks_room, sizes_of
from alikely.planning.rows import rows_of
from alikely.planning.sizes import AIMS
from alikely.planning.stimulus_plan import StimulusPlan
from alikely.planning.targets import Target, WhatFor, require_apart, target_of

__all__ = ["choose_images"]

TOO_FEW = (
    "{name}: strata of these machines need {least} images; all are drawn by size, weighted, "
    "without a posterior"
)
# Of a row of the table, as it is put together: its texts are shared, its columns are not.
TABLE_BYTES = 300


def choose_images(
    trials: Trials,
    n: int | Mapping[str, int],
    target: WhatFor = "all pairs",
    *,
    machines: str | Sequence[str] = "model",
    metric: str = "error_consistency",
    images: Literal["shared", "separate"] = "shared",
    n_people: int = 1,
    by_class: bool = False,
    even: float | None = None,
    shown: Collection[str] = (),
    rng: RandomState = None,
) -> StimulusPlan:
    """Choose the images that tell most about machines and people, by the machines' answers.

    Images on which machines agree tell little of which is closer to people, and machines answer
    every image for nothing. A design is made within each condition, whose difficulty would
    otherwise pass for consistency.

    Parameters
    ----------
    trials : Trials
        Answers of the machines to all images that could be shown; people take no part.
    n : int or mapping of str to int
        Images to show in each condition, or in each by name.
    target : str, (str, str) or sequence of (str, str)
        What is wanted of the machines' consistency with people: the difference of two
        (``("A", "B")``), several differences, ``"all pairs"`` (or ``"ranking"``), or that of one
        machine (``"A"``). For up to four machines images are drawn by strata of their answers
        [N34]_, and have a posterior; for more by size, and are weighted [SSW92]_.
    machines : str or sequence of str
        Kind of the machines, or their names. All of them say how hard an image is.
    metric : {"error_consistency", "observed_agreement", "misclassification_agreement"}
        Whose error the images are to lower; the last by size, with classes.
    images : {"shared", "separate"}
        One list for all people, or one drawn for each, which tells more of the mean over people
        and nothing of people among themselves.
    n_people : int
        Lists, where they are separate.
    by_class : bool
        Draw as many of each true class as a stratum or the sizes allow.
    even : float, optional
        Share of the images in [0, 1] that does not hang on what they tell: ordinary ones in
        between. Default: 0.15 if images are drawn by size, otherwise 0.
    shown : collection of str
        Items that people have seen already: left out of the pool.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same plan.

    Returns
    -------
    StimulusPlan
        Join its table to the answers, `alikely.Trials.with_inclusion`; every estimate heeds it.

    Raises
    ------
    TypeError
        If `trials` is no `Trials`.
    ValueError
        If a machine or an option is unknown, `n` is larger than a pool or less than its strata
        need, machines answer alike, or classes are wanted and not known.

    Notes
    -----
    A design for differences makes the consistencies themselves less precise, and one for two models
    may leave too few for others; every result marks estimates from few images. If the strata of
    three or four models need more than `n` images, images are drawn by size, with a note.

    Examples
    --------
    >>> import alikely as al
    >>> machines = al.load_example().select(kind="model", condition="noise")
    >>> plan = al.planning.choose_images(machines, 40, ("model_1", "model_2"), rng=1)
    >>> plan
    <StimulusPlan: 40 images for the difference of model_1 and model_2>
    >>> bool(plan.expected.set_index("design").loc["chosen", "trials_saved"] > 1)
    True
    """
    if not isinstance(trials, Trials):
        raise TypeError(f"expected Trials of the machines, got {type(trials).__name__}")
    metric = _metric(metric, trials)
    _check(images, n_people, even)
    seen = [str(item) for item in entries("shown", shown)]
    pools = pools_of(trials, machines, seen)
    if by_class and not trials.has_classes:
        raise ValueError("by_class needs true classes; these trials hold correctness only")
    wanted = target_of(target, pools[0].machines)
    if AIMS[metric] is None:
        wanted = wanted._replace(settled=())
    seeds = seed_sequence(rng).spawn(len(pools))
    lists = n_people if images == "separate" else 1
    rows, drawings, notes = [], [], _unknown(trials, seen)
    if isinstance(n, Mapping):
        _check_conditions(n, pools)
    counts = [_number(n, pool) for pool in pools]
    for pool in pools:
        require_apart(pool, wanted)
    wanted, scarce = _strata_or_sizes(pools, wanted, counts)
    notes += scarce
    for pool, count, seed in zip(pools, counts, seeds, strict=True):
        size = sizes_of(pool, wanted, metric)
        check_memory(
            TABLE_BYTES * lists * count * len(pools),
            f"{lists:,} lists of {count:,} images in {len(pools):,} conditions",
            "fewer n_people",
        )
        drawing = drawing_of(pool, size, wanted, count, even, by_class)
        generator = np.random.default_rng(seed)
        for number in tracked(range(1, lists + 1), lists):
            at = generator.permutation(drawing.draw(generator))
            rows.append(rows_of(pool, drawing, at).assign(list=number))
        drawings.append(drawing)
        notes += notes_of(pool, drawing, wanted, metric, len(pools) > 1)
    table = pd.concat(rows, ignore_index=True).sort_values("list", kind="stable", ignore_index=True)
    return StimulusPlan(
        table[["list", *table.columns.drop("list")]],
        expected_of(pools, drawings, wanted, metric),
        wanted.text,
        metric,
        images,
        tuple(dict.fromkeys(notes)),
        tuple(pools),
        tuple(drawings),
        wanted,
    )


def _metric(metric: str, trials: Trials) -> str:
    name = metric if isinstance(metric, str) and metric in AIMS else get_metric(metric).name
    if name not in AIMS:
        raise ValueError(
            f"metric must be one of {listed(map(repr, AIMS))}, got {metric!r}"
            f"{nearest(metric, AIMS)}"
        )
    if AIMS[name] is None and not trials.has_classes:
        raise ValueError(f"{name} needs class labels; these trials hold correctness only")
    return name


def _check(images: str, n_people: int, even: float | None) -> None:
    if images not in ("shared", "separate"):
        raise ValueError(f"images must be 'shared' or 'separate', got {images!r}")
    whole = isinstance(n_people, int | np.integer) and not isinstance(n_people, bool)
    if not whole or n_people < 1:
        raise ValueError(f"n_people must be a whole number of at least 1, got {n_people!r}")
    if n_people > 1 and images == "shared":
        raise ValueError(
            "n_people is for images='separate', a list for each; one that is shared serves any "
            "number of people"
        )
    if even is not None and not (isinstance(even, numbers.Real) and 0 <= even <= 1):
        raise ValueError(f"even must be a share in [0, 1], got {even!r}")


def _check_conditions(n: Mapping[str, int], pools: Sequence[Pool]) -> None:
    known = list(dict.fromkeys(pool.condition for pool in pools))
    if unknown := [name for name in n if name not in known]:
        raise ValueError(
            f"n has a number for {unknown[0]!r}, and there is no such condition; there are: "
            f"{listed(known)}{nearest(unknown[0], known)}"
        )


def _unknown(trials: Trials, shown: Sequence[str]) -> list[str]:
    """A note of items that people saw and that machines did not: a name may be misspelt."""
    lost = sorted(set(shown).difference(trials.data["item"].values.astype(str).tolist()))
    if not lost:
        return []
    return [f"{len(lost)} items of shown are none of these trials: {listed(lost, most=3)}"]


def _number(n: int | Mapping[str, int], pool: Pool) -> int:
    if isinstance(n, Mapping):
        if pool.condition not in n:
            raise ValueError(
                f"n has no number for condition {pool.condition!r}; it has {listed(map(str, n))}"
            )
        n = n[pool.condition]
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise ValueError(f"n must be a whole number of at least 2, got {n!r}")
    if n > pool.n_images:
        raise ValueError(
            f"n must be at most {pool.n_images}, the images of {pool.name} that people can still "
            f"see; got {n}"
        )
    return int(n)


def _strata_or_sizes(
    pools: Sequence[Pool], target: Target, counts: Sequence[int]
) -> tuple[Target, list[str]]:
    """The target, without strata where a condition has no room for those of three or four."""
    scarce = []
    if len(target.settled) > 2:
        for pool, count in zip(pools, counts, strict=True):
            if lacks_room(pool, target, count):
                least = fewest_images(strata_of(pool.correct, target.settled).number)
                scarce.append(TOO_FEW.format(name=pool.name, least=least))
    return (target._replace(settled=()) if scarce else target), scarce
