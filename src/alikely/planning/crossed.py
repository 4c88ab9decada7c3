"""How many observers, images and repeats a mean over observers needs: variance components.

References
----------
.. [CGR72] Cronbach, Gleser, Nanda, Rajaratnam (1972). The dependability of behavioral measurements:
   theory of generalizability for scores and profiles. Wiley.
.. [WK79] Warner, Kenny, Stoto (1979). A new round robin analysis of variance for social interaction
   data. doi:10.1037/0022-3514.37.10.1742
.. [H48] Hoeffding (1948). A class of statistics with asymptotically normal distribution.
   doi:10.1214/aoms/1177730196
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.frames import with_notes
from alikely._base.intervals import check_interval
from alikely._base.settings import resolve
from alikely.benchmark.degrees import crossed_degrees
from alikely.benchmark.layout import (
    FEWEST_HUMANS,
    HUMANS,
    Part,
    in_other_order,
    kinds_of_observers,
    laid_out,
    layout_of,
    metric_of_trials,
    refuse_own_names,
)
from alikely.data.blocks import blocks, cluster_numbers
from alikely.data.inclusion import refuse_inclusion
from alikely.data.summaries import missing_note_of
from alikely.data.trials import Trials
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import estimate
from alikely.metrics import Metric

__all__ = ["COMPONENTS", "best_design", "expected_errors", "variance_components"]

COMPONENTS = (
    "observers",
    "observer_pairs",
    "images",
    "observer_images",
    "pair_images",
    "observer_noise",
    "pair_noise",
)
PLANNED = ("n_observers", "n_images", "n_repeats")
# Of the variance between humans, over which widths are averaged.
N_QUANTILES = 40
# Designs with fewer images in a condition are not worth their name.
FEWEST_IMAGES = 10


class _Levels(NamedTuple):
    """Mean squares of the effects of observers, and of what is left to pairs of them."""

    observers: float
    pairs: float

    def add(self, other: _Levels, factor: float = 1.0) -> _Levels:
        return _Levels(self.observers + factor * other.observers, self.pairs + factor * other.pairs)


class _Design(NamedTuple):
    """How entries come of observers: one each, or one for each pair."""

    effects: Floats
    spread: Floats
    freedom: int
    leak: float
    one: float
    two: float

    def squares(self, values: Floats) -> _Levels:
        """Mean squares of values (entry, ...), averaged over the trailing dims."""
        centred = values.reshape(len(values), -1) - values.reshape(len(values), -1).mean(axis=0)
        effect = self.effects @ centred
        rest = centred - self.spread @ effect
        pairs = (rest**2).sum(axis=0).mean() / self.freedom if self.freedom else 0.0
        return _Levels(float((effect**2).sum(axis=0).mean() / (len(effect) - 1)), float(pairs))

    def observers(self, squares: _Levels) -> float:
        """Variance of observers, freed of that of pairs."""
        return squares.observers - self.leak * squares.pairs


def _design(part: Part, system: str) -> _Design:
    n = part.n_humans
    if system != HUMANS:
        return _Design(np.eye(n), np.eye(n), 0, 0.0, 1 / n, 0.0)
    member = np.zeros((len(part.i), n))
    member[np.arange(len(part.i)), part.i] = member[np.arange(len(part.i)), part.j] = 1
    # Centred entries: sums over the pairs of an observer are (n - 2) times its effect.
    freedom = len(part.i) - n
    return _Design(member.T / (n - 2), member, freedom, 1 / (n - 2), 4 / n, 1 / len(part.i))


def variance_components(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    metric: str | Metric = "error_consistency",
    no_response: Literal["error", "drop"] = "error",
) -> pd.DataFrame:
    """What makes a mean over humans vary: people, images, and both together [CGR72]_.

    Of a machine's mean error consistency with humans, and of the mean over pairs of humans (the
    noise ceiling), which is a round robin [WK79]_ and a U-statistic [H48]_: a person counts in all
    pairs that contain it. Estimates are the mean squares of influences of single trials, each
    freed of the levels below it; they may be negative, and are stated as they are.

    Parameters
    ----------
    trials : Trials
        A pilot in which all observers of a data set answered the same trials; items with the same
        label are repeats.
    models, humans : str
        Kinds of the observers to score, and to score them against.
    metric : str or Metric
        What is averaged, first over conditions: any metric of trials. Where the order of a pair
        matters, humans are the reference of machines, and a pair of humans has the mean of both
        orders.
    no_response : {"error", "drop"}
        As in `alikely.benchmark_scores`.

    Returns
    -------
    pandas.DataFrame
        One row per data set and system (``human-human`` last): ``mean``, ``n_observers,
        n_conditions, n_images`` (of a condition), ``n_repeats``, and the variances of
        `COMPONENTS`: for the mean over conditions ``observers`` and ``observer_pairs``; for one
        trial of one condition ``images, observer_images, pair_images`` (with the noise of single
        answers, unless there are repeats) and ``observer_noise, pair_noise`` (NaN without
        repeats). Those of pairs are 0 for a machine. ``note``: which are below 0, or why there
        are none.

    Raises
    ------
    ValueError
        If there are fewer than 4 humans in a data set, observers saw different trials, or images
        different numbers of repeats.

    Examples
    --------
    >>> import alikely as al
    >>> table = al.planning.variance_components(al.load_example())
    >>> table["system"].tolist()[-1], table["n_observers"].tolist()[-1]
    ('human-human', 4)
    """
    of_type(trials, Trials, "make them with Trials.from_table")
    estimand = metric_of_trials(metric)
    table, layout = laid_out(
        trials,
        models=models if (trials.data["kind"].values == models).any() else None,
        humans=humans,
        no_response=no_response,
        labels=estimand.counts != "correctness",
        both_orders=not estimand.symmetric,
        repeats="paired",
    )
    # A pair is one entry here: the mean of both orders, where there are two.
    layout = layout_of(table, kinds_of_observers(trials), humans)
    refuse_own_names("machine", layout.machines, (HUMANS,))
    value = estimate(table, estimand)["estimate"].values
    value = (value + value[in_other_order(table)]) / 2
    influences = _influences(table, estimand)
    rows = []
    for part in layout.parts:
        if part.n_humans < FEWEST_HUMANS:
            raise ValueError(
                f"variance components need at least {FEWEST_HUMANS} humans in a data set, "
                f"{part.name!r} has {part.n_humans}; leave it out with trials.select(dataset=[...])"
            )
        machines = [layout.machines[m] for m in part.machines]
        entries = {name: part.mixed[:, :, m] for m, name in enumerate(machines)}
        for system, index in (entries | {HUMANS: part.alike}).items():
            rows.append(_row(part, system, index, value, influences))
    missing = missing_note_of(trials.data, no_response, models, humans)
    return with_notes(pd.DataFrame(rows), missing)


def expected_errors(
    components: pd.DataFrame,
    n_observers: ArrayLike,
    n_images: ArrayLike,
    n_repeats: ArrayLike = 1,
    *,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    """Standard error of a mean over humans in a planned experiment, and its interval's width.

    The interval is the crossed analytic one of `alikely.benchmark_scores`: Student's, with degrees
    of freedom that are few where people are few and differ. The design with the smallest standard
    error therefore need not have the narrowest interval. Near the ceiling intervals are wider than
    planned, because the plan ignores the pseudocounts.

    Parameters
    ----------
    components : pandas.DataFrame
        As from `variance_components`, or your own with the columns ``system`` (``human-human`` for
        pairs of humans), ``n_conditions`` and `COMPONENTS`. A component below 0 is taken as 0.
    n_observers : array_like of int
        Humans, at least 2.
    n_images : array_like of int
        Images of each condition, at least 2.
    n_repeats : array_like of int
        Times that each human sees each image. All three broadcast.
    ci_prob : float
        Of the interval, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        One row per row of `components` and design: ``n_observers, n_images, n_repeats``, ``se``
        over new humans and new images, its squared parts ``from_observers, from_images,
        from_both`` (humans with images, and noise), and the mean ``width`` of the interval (NaN
        with 2 humans, for whom benchmarks give none).

    Raises
    ------
    ValueError
        If a column is missing, a number is out of range, or repeats are asked for and the pilot
        had none.

    Examples
    --------
    >>> import alikely as al
    >>> pilot = al.planning.variance_components(al.load_example())
    >>> plan = al.planning.expected_errors(pilot.tail(1), [4, 16], 160)
    >>> bool(plan["se"][1] < plan["se"][0])
    True
    """
    ci_prob = resolve("ci_prob", ci_prob)
    _check_components(components)
    check_interval(ci_prob, "eti")
    designs = [np.asarray(x).ravel() for x in np.broadcast_arrays(n_observers, n_images, n_repeats)]
    for name, numbers, fewest in zip(PLANNED, designs, (2, 2, 1), strict=True):
        if (numbers < fewest).any() or (numbers % 1 != 0).any():
            raise ValueError(f"{name} must be whole numbers of at least {fewest}")
    humans, images, repeats = (x.astype(np.float64) for x in designs)
    if (repeats > 1).any() and components["observer_noise"].isna().any():
        raise ValueError(
            "n_repeats must be 1: without repeats in the pilot nobody knows what they would do; "
            "state observer_noise and pair_noise, or run a pilot that shows images twice"
        )
    names = [name for name in ("dataset", "system") if name in components]
    plans = []
    for _, row in components.iterrows():
        sigma = {name: max(float(row[name]), 0.0) for name in COMPONENTS[:5]}
        for name in COMPONENTS[5:]:
            sigma[name] = 0.0 if np.isnan(row[name]) else max(float(row[name]), 0.0)
        one, two, seen = 1 / humans, np.zeros_like(humans), np.zeros_like(humans)
        if row["system"] == HUMANS:
            # Every human is in n - 1 of the n (n - 1) / 2 pairs, so that the variance between
            # humans that an interval sees has more of that between pairs.
            one, two = 4 / humans, 2 / (humans * (humans - 1))
            seen = 4 / (humans * np.maximum(humans - 2, 1))
        trials = row["n_conditions"] * images
        both = one * (sigma["observer_images"] + sigma["observer_noise"] / repeats)
        both = both + two * (sigma["pair_images"] + sigma["pair_noise"] / repeats)
        parts = {
            "from_observers": one * sigma["observers"] + two * sigma["observer_pairs"],
            "from_images": sigma["images"] / trials,
            "from_both": both / trials,
        }
        between = one * sigma["observers"] + seen * sigma["observer_pairs"]
        answers = one * (sigma["observer_images"] + sigma["observer_noise"] / repeats)
        answers = answers + seen * (sigma["pair_images"] + sigma["pair_noise"] / repeats)
        images_alone = parts["from_images"] + parts["from_both"]
        width = _mean_width(humans, between, answers / trials, images_alone, ci_prob)
        plan = pd.DataFrame(dict(zip(PLANNED, designs, strict=True)))
        se = np.sqrt(np.sum(list(parts.values()), axis=0))
        plan = plan.assign(se=se, **parts, width=width)
        plans.append(row[names].to_frame().T.merge(plan, how="cross"))
    return pd.concat(plans, ignore_index=True)


def _mean_width(
    humans: Floats, between: Floats, answers: Floats, images: Floats, ci_prob: float
) -> Floats:
    """Mean width of crossed intervals, over what the variance between humans may come out as."""
    df = np.maximum(humans - 1, 1)[:, None]
    share = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    people = (between + answers)[:, None] * stats.chi2.ppf(share, df) / df
    variance = images[:, None] + np.maximum(people - answers[:, None], 0.0)
    many = np.full_like(people, np.inf)
    own = crossed_degrees(images[:, None], people, answers[:, None], many, df)
    width = 2 * stats.t.ppf((1 + ci_prob) / 2, own) * np.sqrt(variance)
    return np.where(humans > 2, width.mean(axis=1), np.nan)


def best_design(
    components: pd.DataFrame,
    budget: float,
    cost_per_trial: float,
    cost_per_observer: float,
    *,
    most_images: int | None = None,
    most_observers: int = 1_000,
    most_repeats: int = 1,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    """How to spend a budget on humans, images and repeats, for the narrowest interval.

    Parameters
    ----------
    components : pandas.DataFrame
        As in `expected_errors`; of several rows the root mean squares of their errors and widths
        count.
    budget : float
        What may be spent.
    cost_per_trial : float
        Of one answer, above 0.
    cost_per_observer : float
        Of one human before the first answer, at least 0.
    most_images : int, optional
        Images of each condition that exist.
    most_observers, most_repeats : int
        Humans that can be found, and times that an image may be shown to each.
    ci_prob : float
        Of the interval, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        One row per number of humans and repeats, that of the narrowest interval first:
        ``n_observers, n_images`` (of each condition), ``n_repeats``, ``trials_per_observer``,
        ``cost``, ``se``, ``width``; last what is too few people for an interval.

    Raises
    ------
    ValueError
        If a cost is out of range, or the budget buys less than 2 humans with 10 images of each
        condition: the message says what that costs.

    Examples
    --------
    >>> import alikely as al
    >>> pilot = al.planning.variance_components(al.load_example())
    >>> designs = al.planning.best_design(pilot.tail(1), 2000, 0.1, 10)
    >>> bool(designs["cost"].max() <= 2000)
    True
    """
    ci_prob = resolve("ci_prob", ci_prob)
    _check_components(components)
    if not cost_per_trial > 0 or not cost_per_observer >= 0:
        raise ValueError(
            "cost_per_trial must be above 0 and cost_per_observer at least 0, got "
            f"{cost_per_trial:g} and {cost_per_observer:g}"
        )
    conditions = int(components["n_conditions"].max())
    limit = np.inf if most_images is None else most_images
    if limit < FEWEST_IMAGES or most_observers < 2 or most_repeats < 1:
        raise ValueError(
            f"most_images must be at least {FEWEST_IMAGES}, most_observers at least 2 and "
            f"most_repeats at least 1, got {most_images}, {most_observers} and {most_repeats}"
        )
    least = 2 * (cost_per_observer + FEWEST_IMAGES * conditions * cost_per_trial)
    if not budget >= least:
        raise ValueError(
            f"budget must be at least {least:g}, what 2 humans with {FEWEST_IMAGES} images of each "
            f"of {conditions} conditions cost; got {budget:g}"
        )
    humans, repeats = (
        x.ravel()
        for x in np.meshgrid(np.arange(2, most_observers + 1), np.arange(1, most_repeats + 1))
    )
    per_human = budget / humans - cost_per_observer
    # A unit in the last place must not cost an image.
    affordable = np.floor(per_human / (cost_per_trial * conditions * repeats) * (1 + 1e-12))
    images = np.minimum(affordable, limit)
    bought = images >= FEWEST_IMAGES
    humans, repeats, images = humans[bought], repeats[bought], images[bought].astype(int)
    planned = expected_errors(components, humans, images, repeats, ci_prob=ci_prob)
    squares = planned[["se", "width"]].to_numpy().reshape(len(components), -1, 2) ** 2
    se, width = np.sqrt(squares.mean(axis=0)).T
    each = images * conditions * repeats
    table = pd.DataFrame(
        {
            "n_observers": humans,
            "n_images": images,
            "n_repeats": repeats,
            "trials_per_observer": each,
            "cost": humans * (cost_per_observer + each * cost_per_trial),
            "se": se,
            "width": width,
        }
    )
    return table.sort_values(["width", "se", "cost"], ignore_index=True)


def _check_components(components: pd.DataFrame) -> None:
    of_type(components, pd.DataFrame, "make them with variance_components")
    lacking = [name for name in ("system", "n_conditions", *COMPONENTS) if name not in components]
    if lacking:
        raise ValueError(
            f"components lacks the column {lacking[0]!r}; make it with variance_components"
        )
    if components.empty:
        raise ValueError("components is empty: expected one row per system")
    unknown = components[list(COMPONENTS[:5])].isna().any(axis=1)
    if unknown.any():
        system = components.loc[unknown, "system"].iloc[0]
        raise ValueError(f"components of {system!r} are unknown (its note says why); leave it out")


def _influences(table: xr.Dataset, metric: Metric) -> list[tuple[slice, Floats]]:
    """Influence of each trial in each group: rows of the table, and (entry, image, repeat)."""
    refuse_inclusion(table, "planning from a pilot")
    items, other = cluster_numbers(table, "item"), in_other_order(table)
    found = []
    for block in blocks(table):
        if (block.correct < 0).any():
            condition = table["condition"].values[block.rows.start]
            raise ValueError(
                f"all observers must answer the same trials, not so in condition {condition!r}; "
                "select those who do, and no_response='error'"
            )
        # The slopes are of the estimate; times the number of trials, of one trial.
        psi = evaluator(block, metric).slopes() * block.correct.shape[1]
        psi = (psi + psi[other[block.rows] - block.rows.start]) / 2
        _, image, times = np.unique(items[block.trials], return_inverse=True, return_counts=True)
        if (times != times[0]).any():
            raise ValueError(
                f"every image must be shown equally often, got {times.min()} to {times.max()} times"
            )
        order = np.argsort(image, kind="stable")
        found.append((block.rows, psi[:, order].reshape(len(psi), len(times), times[0])))
    return found


def _row(
    part: Part,
    system: str,
    index: NDArray[np.intp],
    value: Floats,
    influences: list[tuple[slice, Floats]],
) -> dict[str, object]:
    """Components of one system in one data set; ``index`` is (condition, entry)."""
    found: dict[str, object] = {"dataset": part.name, "system": system, "mean": np.nan}
    found |= {"n_observers": part.n_humans, "n_conditions": len(index)}
    if (index < 0).any() or np.isnan(value[index]).any():
        why = "did not see every condition" if (index < 0).any() else "is undefined somewhere"
        unknown = dict.fromkeys(("n_images", "n_repeats", *COMPONENTS), np.nan)
        return found | unknown | {"note": f"unknown: {system} {why}"}
    psi = [
        table[entries - rows.start]
        for entries in index
        for rows, table in influences
        if rows.start <= entries[0] < rows.stop
    ]
    n_repeats = psi[0].shape[2]
    components = _components(_design(part, system), value[index].mean(axis=0), psi)
    negative = [name for name, variance in components.items() if variance < 0]
    found |= {"mean": float(value[index].mean())}
    found |= {"n_images": float(np.mean([x.shape[1] for x in psi])), "n_repeats": n_repeats}
    note = f"below 0, to be taken as 0: {', '.join(negative)}" if negative else ""
    return found | components | {"note": note}


def _components(design: _Design, means: Floats, psi: list[Floats]) -> dict[str, float]:
    """Free each level's mean squares of the levels below it."""
    share, n_repeats = 1 / len(psi), psi[0].shape[2]
    top = design.squares(means)
    seen = noise = _Levels(0.0, 0.0)
    images = 0.0
    for x in psi:
        n_images, mean = x.shape[1], x.mean(axis=2)
        # Influences have mean 0 over the trials, which costs a degree of freedom.
        own, lost = design.squares(mean), n_images / (n_images - 1)
        seen = seen.add(own, share * lost)
        top = top.add(own, -(share**2) * lost / n_images)
        images += share * float(mean.mean(axis=0).var(ddof=1))
        if n_repeats > 1:
            within = design.squares(x - mean[:, :, None])
            noise = noise.add(within, share * n_repeats / (n_repeats - 1))
    images -= design.one * design.observers(seen) + design.two * seen.pairs
    stable = seen.add(noise, -1 / n_repeats)
    repeated = 1.0 if n_repeats > 1 else np.nan
    return {
        "observers": design.observers(top),
        "observer_pairs": top.pairs,
        "images": images,
        "observer_images": design.observers(stable),
        "pair_images": stable.pairs,
        "observer_noise": repeated * design.observers(noise),
        "pair_noise": repeated * noise.pairs,
    }
