"""Observers, items and repeats of a study, from the variance components of a pilot.

References
----------
.. [B01] Brennan (2001). Generalizability theory. doi:10.1007/978-1-4757-3456-0
.. [CGR72] Cronbach, Gleser, Nanda, Rajaratnam (1972). The dependability of behavioral measurements:
   theory of generalizability for scores and profiles. Wiley.
.. [H48] Hoeffding (1948). A class of statistics with asymptotically normal distribution.
   doi:10.1214/aoms/1177730196
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
.. [H07] Hillis (2007). A comparison of denominator degrees of freedom methods for multiple observer
   ROC analysis. doi:10.1002/sim.2532
.. [HOB11] Hillis, Obuchowski, Berbaum (2011). Power estimation for multireader ROC methods: an
   updated and unified approach. doi:10.1016/j.acra.2010.09.007
.. [WK79] Warner, Kenny, Stoto (1979). A new round robin analysis of variance for social interaction
   data. doi:10.1037/0022-3514.37.10.1742
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.frames import with_notes
from alikely._base.intervals import check_interval
from alikely._base.settings import resolve
from alikely.benchmark.benchmark import differences
from alikely.benchmark.decomposition import crossed_degrees
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
from alikely.benchmark.readers import study_variance
from alikely.data.blocks import LEFT_OUT, Block, blocks, cluster_numbers
from alikely.data.inclusion import refuse_inclusion
from alikely.data.summaries import missing_note_of
from alikely.data.trials import Trials
from alikely.estimates.result import Result, of_kind
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import estimate
from alikely.metrics import Metric
from alikely.planning.numbers import check_whole, grid

__all__ = [
    "COMPONENTS",
    "best_design",
    "expected_errors",
    "plan_reader_study",
    "plan_repeats",
    "variance_components",
]

COMPONENTS = (
    "observers",
    "observer_pairs",
    "images",
    "observer_images",
    "pair_images",
    "observer_noise",
    "pair_noise",
)
PLANNED = {"n_observers": 2, "n_images": 2, "n_repeats": 1}
# Of variances that a study will estimate, over which widths and power are averaged: between humans,
# readers, cases.
N_QUANTILES, N_OF_READERS, N_OF_CASES = 40, 100, 40
# Designs with fewer images in a condition are not worth their name.
FEWEST_IMAGES = 10
ALONE = "observer_{side} gave one answer to each item: what more would do is not known"


def variance_components(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    metric: str | Metric = "error_consistency",
    no_response: Literal["error", "drop"] = "error",
) -> pd.DataFrame:
    """Estimate variance components of a mean over humans: people, images, both [CGR72]_.

    The mean is a model's error consistency with humans, or that of pairs of humans (the noise
    ceiling), which is a round robin [WK79]_ and a U-statistic [H48]_: a person counts in all pairs
    that contain it. Estimates are the mean squares of influences of single trials, each
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
        matters, humans are the reference of models, and a pair of humans has the mean of both
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
        repeats). Those of pairs are 0 for a model. ``note``: which are below 0, or why there
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
    refuse_own_names("model", layout.models, (HUMANS,))
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
        model_names = [layout.models[m] for m in part.models]
        entries = {name: part.mixed[:, :, m] for m, name in enumerate(model_names)}
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
    """Compute the standard error of a mean over humans in a plan, and its interval's width.

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
        Probability of the interval, in (0, 1).

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
    designs = grid(n_observers=n_observers, n_images=n_images, n_repeats=n_repeats)
    for name, fewest in PLANNED.items():
        check_whole(designs[name], name, fewest)
    humans, images, repeats = designs.to_numpy().T
    if (repeats > 1).any() and components["observer_noise"].isna().any():
        raise ValueError(
            "n_repeats must be 1: without repeats in the pilot nobody knows what they would do; "
            "state observer_noise and pair_noise, or run a pilot that shows images twice"
        )
    plans = []
    for _, row in components.iterrows():
        variance = row[list(COMPONENTS)].astype(float).fillna(0).clip(lower=0)
        one, two, seen = 1 / humans, np.zeros_like(humans), np.zeros_like(humans)
        if row["system"] == HUMANS:
            # Every human is in n - 1 of the n (n - 1) / 2 pairs, so that the variance between
            # humans that an interval sees has more of that between pairs.
            one, two = 4 / humans, 2 / (humans * (humans - 1))
            seen = 4 / (humans * np.maximum(humans - 2, 1))
        trials = row["n_conditions"] * images
        by_observer = (variance["observer_images"] + variance["observer_noise"] / repeats) / trials
        by_pair = (variance["pair_images"] + variance["pair_noise"] / repeats) / trials
        parts = {
            "from_observers": one * variance["observers"] + two * variance["observer_pairs"],
            "from_images": variance["images"] / trials,
            "from_both": one * by_observer + two * by_pair,
        }
        width = _mean_width(
            humans,
            one * variance["observers"] + seen * variance["observer_pairs"],
            one * by_observer + seen * by_pair,
            parts["from_images"] + parts["from_both"],
            ci_prob,
        )
        se = np.sqrt(np.sum(list(parts.values()), axis=0))
        plan = designs.astype(np.int64).assign(se=se, **parts, width=width)
        names = [name for name in ("dataset", "system") if name in components]
        plans.append(row[names].to_frame().T.merge(plan, how="cross"))
    return pd.concat(plans, ignore_index=True)


def _quantiles(df: NDArray[Any], number: int) -> Floats:
    """Quantiles of an estimated variance over the true one, (quantile, design)."""
    middle = (np.arange(number) + 0.5) / number
    return np.asarray(stats.chi2.ppf(middle[:, None], df) / df)


def _mean_width(
    humans: Floats, between: Floats, answers: Floats, images: Floats, ci_prob: float
) -> Floats:
    """Mean width of crossed intervals, over what the variance between humans may come out as."""
    df = np.maximum(humans - 1, 1)
    people = (between + answers) * _quantiles(df, N_QUANTILES)
    variance = images + np.maximum(people - answers, 0.0)
    own = crossed_degrees(images, people, answers, np.full_like(people, np.inf), df)
    width = 2 * special.stdtrit(own, (1 + ci_prob) / 2) * np.sqrt(variance)
    return np.where(humans > 2, width.mean(axis=0), np.nan)


def best_design(
    components: pd.DataFrame,
    budget: float,
    cost_per_trial: float,
    cost_per_observer: float,
    *,
    max_images: int | None = None,
    max_observers: int = 1_000,
    max_repeats: int = 1,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    """Find numbers of humans, images and repeats that minimize interval width for a budget.

    Parameters
    ----------
    components : pandas.DataFrame
        As in `expected_errors`; of several rows the root mean squares of their errors and widths
        count.
    budget : float
        What may be spent.
    cost_per_trial : float
        Cost of one response, above 0.
    cost_per_observer : float
        Cost of one human before the first response, at least 0.
    max_images : int, optional
        Images of each condition that exist.
    max_observers, max_repeats : int
        Humans that can be found, and times that an image may be shown to each.
    ci_prob : float
        Probability of the interval, in (0, 1).

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
    limit = np.inf if max_images is None else max_images
    if limit < FEWEST_IMAGES or max_observers < 2 or max_repeats < 1:
        raise ValueError(
            f"max_images must be at least {FEWEST_IMAGES}, max_observers at least 2 and "
            f"max_repeats at least 1, got {max_images}, {max_observers} and {max_repeats}"
        )
    least = 2 * (cost_per_observer + FEWEST_IMAGES * conditions * cost_per_trial)
    if not budget >= least:
        raise ValueError(
            f"budget must be at least {least:g}, what 2 humans with {FEWEST_IMAGES} images of each "
            f"of {conditions} conditions cost; got {budget:g}"
        )
    numbers = np.meshgrid(np.arange(2, max_observers + 1), np.arange(1, max_repeats + 1))
    humans, repeats = map(np.ravel, numbers)
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
    components = _components(part, system, value[index].mean(axis=0), psi)
    negative = [name for name, variance in components.items() if variance < 0]
    found |= {"mean": float(value[index].mean())}
    found |= {"n_images": float(np.mean([x.shape[1] for x in psi])), "n_repeats": n_repeats}
    note = f"below 0, to be taken as 0: {', '.join(negative)}" if negative else ""
    return found | components | {"note": note}


def _components(part: Part, system: str, means: Floats, psi: list[Floats]) -> dict[str, float]:
    """Mean squares of each level, freed of those of the levels below it."""
    n = part.n_humans
    effects = spread = np.eye(n)
    freedom, leak, weights = 0, 0.0, np.array([1 / n, 0.0])
    if system == HUMANS:
        spread = np.zeros((len(part.i), n))
        spread[np.arange(len(part.i)), part.i] = spread[np.arange(len(part.i)), part.j] = 1
        # Centered entries: sums over the pairs of an observer are (n - 2) times its effect.
        effects, leak = spread.T / (n - 2), 1 / (n - 2)
        freedom, weights = len(part.i) - n, np.array([4 / n, 1 / len(part.i)])

    def squares(values: Floats) -> Floats:
        """Variances of observers and of pairs of values (entry, ...), over the trailing dims."""
        flat = values.reshape(len(values), -1)
        effect = effects @ (flat - flat.mean(axis=0))
        rest = flat - flat.mean(axis=0) - spread @ effect
        pairs = (rest**2).sum(axis=0).mean() / freedom if freedom else 0.0
        return np.array([(effect**2).sum(axis=0).mean() / (n - 1) - leak * pairs, pairs])

    share, n_repeats = 1 / len(psi), psi[0].shape[2]
    top, seen, noise, images = squares(means), np.zeros(2), np.zeros(2), 0.0
    for x in psi:
        n_images, mean = x.shape[1], x.mean(axis=2)
        # Influences have mean 0 over the trials, which costs a degree of freedom.
        own = squares(mean) * n_images / (n_images - 1)
        seen += share * own
        top -= share**2 * own / n_images
        images += share * float(mean.mean(axis=0).var(ddof=1))
        if n_repeats > 1:
            noise += share * squares(x - mean[:, :, None]) * n_repeats / (n_repeats - 1)
    stable = seen - noise / n_repeats
    repeated = noise if n_repeats > 1 else np.full(2, np.nan)
    found = [*top, images - float(weights @ seen), *stable, *repeated]
    return {name: float(variance) for name, variance in zip(COMPONENTS, found, strict=True)}


def plan_reader_study(
    study: Result,
    n_readers: ArrayLike,
    n_cases: ArrayLike,
    *,
    difference: float | None = None,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    """Compute widths of intervals and power of a reader study from a pilot.

    Parameters
    ----------
    study : Result
        A pilot, from `alikely.benchmark.reader_study`.
    n_readers, n_cases : array_like of int
        At least 2; they are broadcast together.
    difference : float, optional
        True difference of two modalities that is to be found, or true mean of a pilot with one
        modality that is to be told from 0.
    ci_prob : float
        Probability of the interval, in (0, 1); the test is two-sided at 1 minus this level.

    Returns
    -------
    pandas.DataFrame
        One row per statement of the pilot (each two modalities; of one modality its mean) and
        design: ``modality, other, n_readers, n_cases``, ``se``, the expected ``width`` of the
        interval, ``power`` to find the `difference`, and ``power_lb, power_ub``: power if readers
        are as unlike, or as alike, as the pilot's own interval of the variance over them allows.

    Raises
    ------
    TypeError
        If `study` is none.
    ValueError
        If a number is out of range.

    Notes
    -----
    ``V = V_readers / R + V_cases / N + V_both / (R N)`` [HOB11]_. Width and power are means over
    the variances that such a study may estimate, with the interval that
    `alikely.benchmark.reader_study` makes of each [H07]_. The pilot's own interval is that of one
    such estimate, and with few readers may be much narrower or wider. A small pilot says little
    about how much readers differ; ``power_lb, power_ub`` show how much.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.reader_study(8, 200, rng=1)
    >>> pilot = al.benchmark.reader_study(trials, "AI")
    >>> table = al.planning.plan_reader_study(pilot, [5, 10, 20], 200, difference=0.2)
    >>> bool((table["power"].diff().dropna() > 0).all())
    True
    """
    ci_prob = resolve("ci_prob", ci_prob)
    of_kind(study, "reader")
    check_interval(ci_prob, "eti")
    designs = grid(n_readers=n_readers, n_cases=n_cases)
    for name in designs:
        check_whole(designs[name], str(name))
    r, n = designs.to_numpy(dtype=np.int64).T
    apart = differences(study, ci_prob=ci_prob)
    pilot = apart if len(apart) else study.summary(ci_prob=ci_prob)
    tables = []
    for row in pilot.to_dict("records"):
        columns = {
            "modality": row["modality"],
            "other": row.get("other", ""),
            "n_readers": r,
            "n_cases": n,
        }
        se, half = _half_widths(row["var_reader"], row["var_case"], row, r, n, ci_prob)
        columns |= {"se": se, "width": 2 * half.mean(axis=0)}
        if difference is not None:
            columns["power"] = _power(difference, se, half)
            ends = [
                _power(difference, *_half_widths(of_readers, of_cases, row, r, n, ci_prob))
                for of_readers, of_cases in _allowed(row, ci_prob)
            ]
            columns["power_lb"], columns["power_ub"] = np.sort(ends, axis=0)
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _half_widths(
    of_readers: float,
    of_cases: float,
    pilot: dict[str, float],
    r: NDArray[np.int64],
    n: NDArray[np.int64],
    ci_prob: float,
) -> tuple[Floats, Floats]:
    """Standard error (design,) and half widths (quantile, design): variances are estimated."""
    by_both = pilot["var_residual"] / (r * n)
    by_readers, by_cases = of_readers / r + by_both, of_cases / n + by_both
    # Without an influence of any case degrees of freedom are unknown, and matter to nothing.
    df_cases = np.fmin(pilot["df_cases"] / max(pilot["n_cases"] - 1, 1), 1.0) * (n - 1)
    variance, df = study_variance(
        by_readers * _quantiles(r - 1, N_OF_READERS)[:, None],
        by_cases * _quantiles(df_cases, N_OF_CASES),
        by_both,
        r,
        df_cases,
    )
    half = special.stdtrit(df, (1 + ci_prob) / 2) * np.sqrt(variance)
    return np.sqrt(by_readers + by_cases - by_both), np.asarray(half.reshape(-1, len(r)))


def _power(difference: float, se: Floats, half: Floats) -> Floats:
    # Without any error every difference is found.
    with np.errstate(divide="ignore", invalid="ignore"):
        away = [stats.norm.cdf((sign * difference - half) / se) for sign in (1, -1)]
    return np.asarray(np.sum(away, axis=0).mean(axis=0))


def _allowed(row: dict[str, float], ci_prob: float) -> list[tuple[float, float]]:
    """Least and greatest variances of one reader and one case that a pilot allows."""
    n_readers, n_cases = row["n_readers"], max(row["n_cases"], 1)
    by_both = row["var_residual"] / (n_readers * n_cases)
    df_cases = np.fmin(row["df_cases"], max(n_cases - 1, 1))
    seen = [
        (n_readers, row["se_readers"] ** 2, n_readers - 1),
        (n_cases, row["var_case"] / n_cases + by_both, df_cases),
    ]
    tails = [(1 + ci_prob) / 2, (1 - ci_prob) / 2]
    ends = []
    for number, variance, df in seen:
        likely = variance * df / stats.chi2.ppf(tails, df)
        ends.append(number * np.maximum(likely - by_both, 0.0))
    return [(float(reader), float(case)) for reader, case in zip(*ends, strict=True)]


def plan_repeats(
    result: Result,
    n_repeats_a: ArrayLike = (1, 2, 3, 5, 10),
    n_repeats_b: ArrayLike | None = None,
    n_items: int | None = None,
) -> pd.DataFrame:
    """Predict standard errors for other numbers of items and of responses per item.

    The variance of an estimate over items is that of what the items are, and of the noise of single
    answers of either observer: components of a design in which answers are nested in items [B01]_,
    here of the influences of items on the estimate [H74]_.

    Parameters
    ----------
    result : Result
        Result of a metric of correctness, such as error consistency, on trials with repeats.
    n_repeats_a, n_repeats_b : array_like of int
        Answers of the first and of the second observer to each item, at least 1; they are broadcast
        together. Default of `n_repeats_b`: `n_repeats_a`.
    n_items : int, optional
        Items of the new study, at least 2. Default: those of the pilot.

    Returns
    -------
    pandas.DataFrame
        One row per entry and design: labels, ``n_items``, ``n_repeats_a, n_repeats_b``, ``se``, and
        the shares of the variance that are due to ``items`` (which no repeats reduce), to
        ``answers_a``, to ``answers_b`` (what depends on both is divided between them). NaN with the
        reason in ``note`` where an observer answered every item once and more answers are asked
        for.

    Raises
    ------
    TypeError
        If `result` is none.
    ValueError
        If it has no items that recur, or some in several conditions of a group, is of no metric
        of correctness, or a number is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.repeated_answers(200, (1, 4), within=0.5, rng=1)
    >>> pilot = al.error_consistency(trials, n_resamples=0, n_draws=0, n_null=0)
    >>> table = al.planning.plan_repeats(pilot, 1, [1, 2, 4, 100])
    >>> bool((table["se"].diff().dropna() < 0).all())
    True
    """
    of_type(result, Result, "make one with al.compare")
    metric, table = result.metric, result.table
    if metric.counts != "correctness" or "answers" not in table:
        raise ValueError(
            "a pilot must be a result of a metric of correctness on trials with repeats, got "
            f"{metric.name}{'' if 'answers' in table else ' without any'}; without repeats nobody "
            "knows what they would do"
        )
    if result.data.attrs["cluster"] and table.attrs["by"] != "condition":
        raise ValueError(
            "items stand in several conditions of a group of trials; plan within conditions, from "
            "a result by='condition'"
        )
    second = n_repeats_a if n_repeats_b is None else n_repeats_b
    designs = grid(n_repeats_a=n_repeats_a, n_repeats_b=second)
    for name in designs:
        check_whole(designs[name], str(name), 1)
    if n_items is not None:
        check_whole(n_items, "n_items")
    rows = []
    for block in blocks(table):
        answers = table["answers"].values[:, block.trials]
        sides = (table[name].values[block.rows] for name in ("first", "second"))
        for p, (a, b) in enumerate(zip(*sides, strict=True)):
            parts, known = _of_items(block, p, answers[[a, b]], metric)
            labels = result.pairs.iloc[block.rows.start + p].to_dict()
            n = known if n_items is None else n_items
            for k, m in designs.to_numpy(dtype=np.int64).tolist():
                row = labels | {"n_items": n, "n_repeats_a": k, "n_repeats_b": m}
                rows.append(row | _expected(parts, k, m, n, "" if known else "no common trial"))
    return pd.DataFrame(rows)


def _of_items(
    block: Block, pair: int, answers: NDArray[np.int64], metric: Metric
) -> tuple[Floats, int]:
    """Variance of what one item adds, by items, answers of a, of b, of both; number of items."""
    share = block.correct[[block.a[pair], block.b[pair]]]
    common = (share != LEFT_OUT).all(axis=0)
    if not common.any():
        return np.full(4, np.nan), 0
    (p, q), (n_a, n_b) = share[:, common], answers[:, common].astype(np.float64)
    cells = block.shares()[pair].sum(axis=1)
    n11, n10, n01, n00 = np.where(cells > 0, metric.influence(cells), 0.0)
    # What an item adds is linear in either observer's share of right answers.
    at_a, at_b, at_both = n10 - n00, n01 - n00, n11 - n10 - n01 + n00
    whole = np.mean((n00 + at_a * p + at_b * q + at_both * p * q) ** 2)
    one_a, one_b = _of_one_answer(p, n_a), _of_one_answer(q, n_b)
    # The square of an estimated slope is too large by its own noise.
    slope_a = (at_a + at_both * q) ** 2 - at_both**2 * np.nan_to_num(one_b / n_b)
    slope_b = (at_b + at_both * p) ** 2 - at_both**2 * np.nan_to_num(one_a / n_a)
    parts = np.array([slope_a * one_a, slope_b * one_b, at_both**2 * one_a * one_b])
    known = np.isfinite(parts)
    total = np.where(known, parts, 0.0).sum(axis=1)
    a, b, both = np.where(known.any(axis=1), total / np.maximum(known.sum(axis=1), 1), np.nan)
    inverse = np.mean([1 / n_a, 1 / n_b, 1 / (n_a * n_b)], axis=1)
    items = whole - np.nansum(np.array([a, b, both]) * inverse)
    return np.array([max(float(items), 0.0), a, b, both]), len(p)


def _of_one_answer(share: Floats, n: Floats) -> Floats:
    """Variance of one answer to each item; NaN where there was but one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, share * (1 - share) * n / (n - 1), np.nan)


def _expected(parts: Floats, n_a: int, n_b: int, n_items: int, note: str) -> dict[str, object]:
    items, a, b, both = parts
    alone = [s for s, n, of in (("a", n_a, a), ("b", n_b, b)) if n > 1 and np.isnan(of)]
    if alone and not note:
        note = ALONE.format(side=alone[0])
    if note:
        return dict.fromkeys(("se", "items", "answers_a", "answers_b"), np.nan) | {"note": note}
    # The noise of who answered once is in what items are: that stays as it is.
    a, b, both = np.nan_to_num([a / n_a, b / n_b, both / (n_a * n_b)])
    variance = items + a + b + both
    shares = {"items": items, "answers_a": a + both / 2, "answers_b": b + both / 2}
    divided = {name: part / variance if variance else np.nan for name, part in shares.items()}
    return {"se": float(np.sqrt(variance / n_items)), **divided, "note": ""}
