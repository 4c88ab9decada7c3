"""Does the moment interval of decision-margin consistency keep its promise, and do its checks.

References
----------
.. [MWC19] Morris, White, Crowther (2019). Using simulation studies to evaluate statistical methods.
   doi:10.1002/sim.8086
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from alikely._base.random import RandomState
from alikely.calibration.studies import run_study
from alikely.margins.checks import bend_check, class_check, repeat_check
from alikely.margins.moments import moment_consistency, moment_limits
from alikely.margins.shares import tied_draws
from alikely.margins.sides import group_side, lists_of_items, machine_side
from alikely.simulate import (
    MARGIN_WORLDS,
    MarginData,
    MarginWorld,
    margin_data,
    true_group_consistency,
    true_margin_consistency,
)
from alikely.stats.intervals import check_interval

__all__ = ["margin_coverage"]

LEVEL = 0.05
SCOPES = ("total", "within", "difference", "groups")
# Of a difference: its limits are then right to a twentieth of its standard error.
N_DRAWS = 4_000


def margin_coverage(
    worlds: Mapping[str, MarginWorld] | None = None,
    *,
    n_datasets: int = 400,
    ci_prob: float = 0.95,
    folder: str | Path | None = None,
    rng: RandomState = None,
    progressbar: bool = False,
) -> pd.DataFrame:
    """Coverage of moment intervals of machines and groups, and what the checks say [MWC19]_.

    Parameters
    ----------
    worlds : mapping of str to MarginWorld, optional
        What to simulate, by name; ``alikely.simulate.MARGIN_WORLDS`` if not given.
    n_datasets : int
        Data sets of each, at least 10.
    ci_prob : float
        Of the intervals, in (0, 1).
    folder, rng, progressbar
        As in `alikely.calibration.run_study`.

    Returns
    -------
    pandas.DataFrame
        Four rows per world, ``scope``: ``"total"`` and ``"within"`` classes, of a machine and a
        group; ``"difference"``, of two machines with the same group, from draws that belong
        together; ``"groups"``, of two groups. Errors are clustered by class;
        ``truth``; ``coverage`` with its Monte-Carlo error ``coverage_mcse``; ``below`` and
        ``above``, shares of intervals that lie on either side of the truth; ``width_ratio``, median
        width over that of an interval from the standard deviation of the estimates;
        ``unbounded``, the share of intervals from -1 to 1; ``undefined``, that of data sets without
        an estimate, which count as covered by the whole range; ``bias``, that of the median
        estimate; ``p_bend, p_classes, p_repeats``, shares of data sets where a check says
        something, at level .05.

    Raises
    ------
    ValueError
        If there are fewer than 10 data sets, or the probability is not in (0, 1).

    Examples
    --------
    >>> import alikely as al
    >>> worlds = {"plain": al.simulate.MarginWorld(n_items=40)}
    >>> margin_coverage(worlds, n_datasets=10, rng=1)["scope"].tolist()
    ['total', 'within', 'difference', 'groups']
    """
    check_interval(ci_prob, "eti")
    if n_datasets < 10:
        raise ValueError(f"n_datasets must be at least 10, got {n_datasets}")
    chosen = MARGIN_WORLDS if worlds is None else worlds
    cells = [
        {"world": name, **dataclasses.asdict(world), "n_datasets": n_datasets, "ci_prob": ci_prob}
        for name, world in chosen.items()
    ]
    table = run_study(_study, cells, folder, rng=rng, progressbar=progressbar)
    return table.drop(columns=[name for name in cells[0] if name not in ("world", "n_datasets")])


def _study(
    world: str, n_datasets: int, ci_prob: float, seed: Any, **features: Any
) -> list[dict[str, Any]]:
    """All data sets of one world."""
    made = MarginWorld(**features)
    truth_seed, data_seed = seed.spawn(2)
    generator = np.random.default_rng(data_seed)
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    found = np.array([_analysed(made, generator, tails) for _ in range(n_datasets)])
    names = ("p_bend", "p_classes", "p_repeats")
    with np.errstate(invalid="ignore"):
        fired = [
            float((p[~np.isnan(p)] < LEVEL).mean()) if (~np.isnan(p)).any() else np.nan
            for p in found[:, 3 * len(SCOPES) :].T
        ]
    deviate = float(special.ndtri(tails[1]))
    rows = []
    for k, (scope, truth) in enumerate(zip(SCOPES, _truths(made, truth_seed), strict=True)):
        value, low, high = found[:, 3 * k : 3 * k + 3].T
        widest = 2 if scope == "difference" else 1
        undefined = np.isnan(low)
        low, high = np.where(undefined, -widest, low), np.where(undefined, widest, high)
        coverage = float(((low <= truth) & (truth <= high)).mean())
        open_ended = (low == -widest) & (high == widest)
        spread = value[~open_ended].std() if (~open_ended).any() else np.nan
        width = float(np.median((high - low)[~open_ended])) if (~open_ended).any() else np.nan
        row = {
            "scope": scope,
            "truth": truth,
            "coverage": coverage,
            "coverage_mcse": float(np.sqrt(coverage * (1 - coverage) / n_datasets)),
            "below": float((high < truth).mean()),
            "above": float((low > truth).mean()),
            "width_ratio": width / (2 * deviate * spread),
            "unbounded": float((open_ended & ~undefined).mean()),
            "undefined": float(undefined.mean()),
            "bias": float(np.nanmedian(value) - truth),
        }
        # Checks are of the first machine and the first group.
        checked = fired if scope in ("total", "within") else [np.nan] * len(names)
        rows.append(row | dict(zip(names, checked, strict=True)))
    return rows


def _truths(world: MarginWorld, seed: np.random.SeedSequence) -> tuple[float, ...]:
    """In the order of the scopes."""
    first, second = (int(k) for k in seed.generate_state(2))
    total, within = true_margin_consistency(world, first)
    other, _ = true_margin_consistency(dataclasses.replace(world, rho=world.other_rho), first)
    return total, within, total - other, true_group_consistency(world, second)


def _analysed(
    world: MarginWorld, generator: np.random.Generator, tails: list[float]
) -> list[float]:
    """Estimate and limits in each scope, and p-values of the checks."""
    data = margin_data(world, generator)
    # Who was shown an item can be nobody, where answers are missing.
    seen = data.shown.any(axis=0)
    right, shown = data.right[:, seen], data.shown[:, seen]
    margins, classes = data.margins[seen], data.classes[seen]
    numbers: list[float] = []
    for strata in (lists_of_items(shown), lists_of_items(shown, classes)):
        sides = group_side(right, shown, strata), machine_side(margins, strata)
        found = moment_consistency(*sides, strata, classes)
        numbers += [found.rho, *moment_limits(found, tails).tolist()]
    numbers += _difference(data, seen, tails, generator) + _groups(data, seen, tails)
    strata = lists_of_items(shown)
    group, machine = group_side(right, shown, strata), machine_side(margins, strata)
    share = right.sum(axis=0) / shown.sum(axis=0)
    return [
        *numbers,
        bend_check(group, share, margins, world.m),
        class_check(group, machine, classes),
        repeat_check(right, shown),
    ]


def _difference(
    data: MarginData, seen: NDArray[np.bool_], tails: list[float], generator: np.random.Generator
) -> list[float]:
    """Two machines with one group: estimate and limits of the difference, from tied draws."""
    shown, classes = data.shown[:, seen], data.classes[seen]
    strata = lists_of_items(shown)
    group = group_side(data.right[:, seen], shown, strata)
    pair = [
        moment_consistency(group, machine_side(margins[seen], strata), strata, classes)
        for margins in (data.margins, data.other_margins)
    ]
    if any(found.reason for found in pair):
        return [np.nan] * 3
    drawn = tied_draws(pair, classes, N_DRAWS, generator)
    limits = np.quantile(drawn[:, 0] - drawn[:, 1], tails)
    return [pair[0].rho - pair[1].rho, *limits.tolist()]


def _groups(data: MarginData, seen: NDArray[np.bool_], tails: list[float]) -> list[float]:
    """Two groups of people: estimate and limits."""
    both = seen & data.other_shown.any(axis=0)
    counts = [
        (right[:, both], shown[:, both])
        for right, shown in ((data.right, data.shown), (data.other_right, data.other_shown))
    ]
    one, other = (lists_of_items(shown) for _, shown in counts)
    strata = np.unique(one * (other.max() + 1) + other, return_inverse=True)[1]
    sides = [group_side(right, shown, strata) for right, shown in counts]
    found = moment_consistency(sides[0], sides[1], strata, data.classes[both])
    return [found.rho, *moment_limits(found, tails).tolist()]
