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
from alikely._base.checks import check_whole, of_type
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
from alikely.inference.intervals import mean_of_defined
from alikely.metrics import Metric
from alikely.planning.trials import grid

COMPONENTS = (
    "observers", "observer_pairs", "images", "observer_images", "pair_images", "observer_noise",
    "pair_noise",
)  # fmt: skip
PLANNED = {"n_observers": 2, "n_images": 2, "n_repeats": 1}
# Numbers of quantiles of the variances between humans, readers and cases that a study may estimate;
# widths and power are averaged over them.
N_QUANTILES, N_OF_READERS, N_OF_CASES = 40, 100, 40
# Designs with fewer images in a condition are not considered.
FEWEST_IMAGES = 10
ALONE = "observer_{side} responded once to each item: the effect of repeats is unknown"


def variance_components(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    metric: str | Metric = "error_consistency",
    no_response: Literal["error", "drop"] = "error",
) -> pd.DataFrame:
    """Estimate the variance components of a mean: humans, images and their interaction [CGR72]_.

    The mean is a model's mean error consistency with humans, or the mean over pairs of humans (the
    human-human consistency). For pairs of humans, each human is part of several pairs, so the
    design is a round robin [WK79]_ and the mean is a U-statistic [H48]_. Each variance component is
    a mean square of estimates or single-trial influences, minus the interaction and noise
    components that this mean square includes. Negative variance estimates are not set to 0.

    Parameters
    ----------
    trials : Trials
        Data from a pilot study in which all observers of a data set responded to the same trials.
        Items with the same label are repeats.
    models, humans : str
        Kind of observer to score, and kind of observer to compare it with.
    metric : str or Metric
        Any metric computed from trials. The metric is computed for each pair in each condition, and
        averaged over conditions. For directed metrics, the human is the reference for the model,
        and the value for two humans is the mean of both directions.
    no_response : {"error", "drop"}
        As in `alikely.benchmark_scores`.

    Returns
    -------
    pandas.DataFrame
        One row per data set and system (``human-human`` last), with columns

        - ``mean``: mean of the metric
        - ``n_observers``, ``n_conditions``, ``n_repeats``: numbers of observers, conditions and
          repeats in the pilot
        - ``n_images``: number of images in each condition
        - ``observers``, ``observer_pairs``: variances of the mean over conditions, between humans
          and between pairs of humans
        - ``images``, ``observer_images``, ``pair_images``: variances for one trial in one
          condition; without repeats, they include trial-by-trial variability
        - ``observer_noise``, ``pair_noise``: the parts of the variance for one trial that repeats
          reduce (NaN without repeats)
        - ``note``: names of components that are negative, or the reason why components are missing

        In rows for models, the variance components for pairs of humans (``observer_pairs,
        pair_images, pair_noise``) are 0.

    Raises
    ------
    ValueError
        If a data set has fewer than 4 humans, if observers saw different trials, or if images have
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
    # Each pair is one entry: the mean of both orders, if there are two.
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
                f"{part.name!r} has {part.n_humans}; exclude it with trials.select(dataset=[...])"
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
    """Compute the expected standard error and interval width of a mean over humans for each design.

    The interval is the analytic interval of `alikely.benchmark_scores` for new humans and new
    images. If a design has few humans and a large variance between humans, intervals use Student's
    *t* distribution with few degrees of freedom. The design with the smallest standard error
    therefore need not have the narrowest interval. With accuracies near 1, intervals are wider than
    planned, because the plan ignores pseudocounts.

    Parameters
    ----------
    components : pandas.DataFrame
        Variance components, as returned by `variance_components`, or a table with the columns
        ``system`` (``human-human`` for pairs of humans), ``n_conditions`` and those in
        `COMPONENTS`. Negative variance components are replaced by 0.
    n_observers : array_like of int
        Number of humans, at least 2.
    n_images : array_like of int
        Number of images in each condition, at least 2.
    n_repeats : array_like of int
        Number of times that each human sees each image. Array arguments are broadcast.
    ci_prob : float
        Probability level of the interval, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        One row per row of `components` and design, with columns

        - ``n_observers``, ``n_images``, ``n_repeats``: the design
        - ``se``: standard error for new humans and new images
        - ``from_observers``, ``from_images``, ``from_both``: parts of the squared standard error;
          ``from_both`` is due to noise and to the interaction between humans and images
        - ``width``: mean width of the interval (NaN with 2 humans, for whom benchmarks have no
          interval)

    Raises
    ------
    ValueError
        If a column is missing or a number is out of range, or if repeats are planned but the pilot
        had no repeats.

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
            "n_repeats must be 1: the pilot has no repeats, so their effect is unknown; give "
            "values of observer_noise and pair_noise, or run a pilot that shows images twice"
        )
    plans, names = [], components.columns.intersection(["dataset", "system"])
    for _, row in components.iterrows():
        variance = row[list(COMPONENTS)].astype(float).fillna(0).clip(lower=0)
        one, two, seen = 1 / humans, np.zeros_like(humans), np.zeros_like(humans)
        if row["system"] == HUMANS:
            # Each human is in n - 1 of the n (n - 1) / 2 pairs. The estimated variance between
            # humans therefore contains more of the variance between pairs than the variance of the
            # mean does.
            one, two = 4 / humans, 2 / (humans * (humans - 1))
            seen = 4 / (humans * np.maximum(humans - 2, 1))
        trials = row["n_conditions"] * images
        by_observer = (variance["observer_images"] + variance["observer_noise"] / repeats) / trials
        by_pair = (variance["pair_images"] + variance["pair_noise"] / repeats) / trials
        between = one * variance["observers"] + two * variance["observer_pairs"]
        by_images, by_both = variance["images"] / trials, one * by_observer + two * by_pair
        width = _mean_width(
            humans,
            one * variance["observers"] + seen * variance["observer_pairs"],
            one * by_observer + seen * by_pair,
            by_images + by_both,
            ci_prob,
        )
        plan = designs.astype(np.int64).assign(
            se=np.sqrt(between + by_images + by_both), from_observers=between,
            from_images=by_images, from_both=by_both, width=width,
        )  # fmt: skip
        plans.append(row[names].to_frame().T.merge(plan, how="cross"))
    return pd.concat(plans, ignore_index=True)


def _quantiles(df: NDArray[Any], number: int) -> Floats:
    """Quantiles of the ratio of estimated to true variance, (quantile, design)."""
    middle = (np.arange(number) + 0.5) / number
    return np.asarray(stats.chi2.ppf(middle[:, None], df) / df)


def _mean_width(
    humans: Floats, between: Floats, answers: Floats, images: Floats, ci_prob: float
) -> Floats:
    """Mean width of the intervals over possible estimates of the variance between humans."""
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
    """Find the numbers of humans, images and repeats that minimize interval width within a budget.

    Parameters
    ----------
    components : pandas.DataFrame
        Variance components, as in `expected_errors`. If the table has several rows, standard errors
        and interval widths are root mean squares over rows.
    budget : float
        Maximum total cost of the study, in the same unit as the other costs.
    cost_per_trial : float
        Cost of one response, above 0.
    cost_per_observer : float
        Cost of recruiting one human, excluding the cost of responses, at least 0.
    max_images : int, optional
        Number of images available in each condition. Default: no limit.
    max_observers, max_repeats : int
        Maximum number of humans, and maximum number of times that a human sees the same image.
    ci_prob : float
        Probability level of the interval, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        One row per combination of numbers of humans and repeats, sorted by the width of the
        interval, with columns

        - ``n_observers``, ``n_images`` (in each condition), ``n_repeats``: the design
        - ``trials_per_observer``, ``cost``: number of trials per human, and total cost
        - ``se``, ``width``: standard error, and mean width of the interval

        Designs with too few humans for an interval are listed last.

    Raises
    ------
    ValueError
        If a cost is out of range.
    ValueError
        If the budget is too small for 2 humans with 10 images in each condition. The error message
        states the minimum budget.

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
    conditions = int(components["n_conditions"].max())
    limit = np.inf if max_images is None else max_images
    least = 2 * (cost_per_observer + FEWEST_IMAGES * conditions * cost_per_trial)
    smallest = f"2 humans with {FEWEST_IMAGES} images in each of {conditions} conditions"
    for name, given, lowest, valid in (
        ("cost_per_trial", cost_per_trial, "above 0", cost_per_trial > 0),
        ("cost_per_observer", cost_per_observer, "at least 0", cost_per_observer >= 0),
        ("max_images", max_images, f"at least {FEWEST_IMAGES}", limit >= FEWEST_IMAGES),
        ("max_observers", max_observers, "at least 2", max_observers >= 2),
        ("max_repeats", max_repeats, "at least 1", max_repeats >= 1),
        ("budget", budget, f"at least {least:g}, the cost of {smallest}", budget >= least),
    ):  # fmt: skip
        if not valid:
            raise ValueError(f"{name} must be {lowest}; got {given:g}")
    numbers = np.meshgrid(np.arange(2, max_observers + 1), np.arange(1, max_repeats + 1))
    humans, repeats = map(np.ravel, numbers)
    per_human = budget / humans - cost_per_observer
    # Rounding in the last digit must not cost an image.
    affordable = np.floor(per_human / (cost_per_trial * conditions * repeats) * (1 + 1e-12))
    images = np.minimum(affordable, limit)
    bought = images >= FEWEST_IMAGES
    humans, repeats, images = humans[bought], repeats[bought], images[bought].astype(int)
    planned = expected_errors(components, humans, images, repeats, ci_prob=ci_prob)
    squares = planned[["se", "width"]].to_numpy().reshape(len(components), -1, 2) ** 2
    se, width = np.sqrt(squares.mean(axis=0)).T
    each = images * conditions * repeats
    table = pd.DataFrame({"n_observers": humans, "n_images": images, "n_repeats": repeats})
    cost = humans * (cost_per_observer + each * cost_per_trial)
    table = table.assign(trials_per_observer=each, cost=cost, se=se, width=width)
    return table.sort_values(["width", "se", "cost"], ignore_index=True)


def _check_components(components: pd.DataFrame) -> None:
    of_type(components, pd.DataFrame, "make them with variance_components")
    lacking = [name for name in ("system", "n_conditions", *COMPONENTS) if name not in components]
    if lacking or components.empty:
        what = f"lacks the column {lacking[0]!r}" if lacking else "is empty"
        raise ValueError(f"components {what}; make it with variance_components")
    unknown = components[list(COMPONENTS[:5])].isna().any(axis=1)
    if unknown.any():
        system = components.loc[unknown, "system"].iloc[0]
        raise ValueError(f"components of {system!r} are unknown (see its note); exclude it")


def _influences(table: xr.Dataset, metric: Metric) -> list[tuple[slice, Floats]]:
    """Influence of each trial in each group: rows of the table, and (entry, image, repeat)."""
    refuse_inclusion(table, "planning from a pilot")
    items, other = cluster_numbers(table, "item"), in_other_order(table)
    found = []
    for block in blocks(table):
        if (block.correct < 0).any():
            condition = table["condition"].values[block.rows.start]
            raise ValueError(
                f"all observers must respond to the same trials, but in condition {condition!r} "
                "some did not; select observers who did, with no_response='error'"
            )
        # Slopes of the estimate times the number of trials are influences of single trials.
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
    found = {"dataset": part.name, "system": system, "mean": np.nan, "n_observers": part.n_humans}
    found |= {"n_conditions": len(index)}
    if (index < 0).any() or np.isnan(value[index]).any():
        why = "did not see every condition" if (index < 0).any() else "is undefined in a condition"
        unknown = dict.fromkeys(("n_images", "n_repeats", *COMPONENTS), np.nan)
        return found | unknown | {"note": f"unknown: {system} {why}"}
    psi = [
        table[entries - rows.start]
        for entries in index
        for rows, table in influences
        if rows.start <= entries[0] < rows.stop
    ]
    components = _components(part, system, value[index].mean(axis=0), psi)
    found |= {"mean": float(value[index].mean())}
    found |= {"n_images": np.mean([x.shape[1] for x in psi]), "n_repeats": psi[0].shape[2]}
    negative = ", ".join(name for name, variance in components.items() if variance < 0)
    note = f"negative, treated as 0: {negative}" if negative else ""
    return found | components | {"note": note}


def _components(part: Part, system: str, means: Floats, psi: list[Floats]) -> dict[str, float]:
    """Mean squares of each level, minus the components of lower levels."""
    n = part.n_humans
    effects = spread = np.eye(n)
    freedom, leak, weights = 0, 0.0, np.array([1 / n, 0.0])
    if system == HUMANS:
        spread = np.zeros((len(part.i), n))
        spread[np.arange(len(part.i)), part.i] = spread[np.arange(len(part.i)), part.j] = 1
        # Entries are centered: the sum over an observer's pairs is (n - 2) times its effect.
        effects, leak = spread.T / (n - 2), 1 / (n - 2)
        freedom, weights = len(part.i) - n, np.array([4 / n, 1 / len(part.i)])

    def squares(values: Floats) -> Floats:
        """Variances of observers and of pairs of observers, averaged over the trailing dims."""
        flat = values.reshape(len(values), -1)
        effect = effects @ (flat - flat.mean(axis=0))
        rest = flat - flat.mean(axis=0) - spread @ effect
        pairs = (rest**2).sum(axis=0).mean() / freedom if freedom else 0.0
        return np.array([(effect**2).sum(axis=0).mean() / (n - 1) - leak * pairs, pairs])

    share, n_repeats = 1 / len(psi), psi[0].shape[2]
    top, seen, noise, images = squares(means), np.zeros(2), np.zeros(2), 0.0
    for x in psi:
        n_images, mean = x.shape[1], x.mean(axis=2)
        # Influences have mean 0 over the trials, which uses one degree of freedom.
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
    """Compute the interval widths and the power of a reader study from a pilot study.

    Parameters
    ----------
    study : Result
        Pilot study, as returned by `alikely.benchmark.reader_study`.
    n_readers, n_cases : array_like of int
        Number of readers and number of cases, each at least 2. Array arguments are broadcast.
    difference : float, optional
        True difference between two modalities that the study should detect. If the pilot has only
        one modality: the true mean of the metric in this modality, which is tested against 0.
    ci_prob : float
        Probability level of the interval, in (0, 1). The significance level of the two-sided
        test is ``1 - ci_prob``.

    Returns
    -------
    pandas.DataFrame
        One row per contrast of the pilot (each pair of modalities, or the mean of a single
        modality) and design, with columns

        - ``modality``, ``modality_b``: the modalities that are compared
        - ``n_readers``, ``n_cases``: the design
        - ``se``, ``width``: standard error, and expected width of the interval
        - ``power``: probability of detecting `difference`
        - ``power_lb``, ``power_ub``: power for the largest and the smallest variances within the
          pilot's intervals

    Raises
    ------
    TypeError
        If `study` is not a reader study.
    ValueError
        If a number is out of range.

    Notes
    -----
    With R readers and N cases, the variance of an estimate is ``V_readers / R + V_cases / N +
    V_both / (R N)`` [HOB11]_. Predicted width and power are averages over the variance estimates
    that studies of the planned size would yield. The predicted interval of each study is computed
    from its variance estimates, as in `alikely.benchmark.reader_study` [H07]_. With few readers,
    variance estimates and widths vary considerably from study to study, so the pilot's interval may
    be much narrower or wider than average. If the pilot is small, it provides little information
    about the variance between readers; ``power_lb`` and ``power_ub`` then differ widely.

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
        se, half = _half_widths(row["var_reader"], row["var_case"], row, r, n, ci_prob)
        columns = {"modality": row["modality"], "modality_b": row.get("modality_b", "")}
        columns["n_readers"] = r
        columns |= {"n_cases": n, "se": se, "width": 2 * half.mean(axis=0)}
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
    """Standard error (design,) and half widths (quantile, design), with estimated variances."""
    by_both = pilot["var_residual"] / (r * n)
    by_readers, by_cases = of_readers / r + by_both, of_cases / n + by_both
    # If cases have no influence, degrees of freedom are undefined and irrelevant.
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
    # With a standard error of 0 every difference is detected.
    with np.errstate(divide="ignore", invalid="ignore"):
        away = [stats.norm.cdf((sign * difference - half) / se) for sign in (1, -1)]
    return np.asarray(np.sum(away, axis=0).mean(axis=0))


def _allowed(row: dict[str, float], ci_prob: float) -> Floats:
    """Smallest and largest variances of readers and of cases in the pilot's intervals."""
    numbers = np.array([row["n_readers"], max(row["n_cases"], 1)])
    by_both = row["var_residual"] / numbers.prod()
    seen = np.array([row["se_readers"] ** 2, row["var_case"] / numbers[1] + by_both])
    df = np.array([numbers[0] - 1, np.fmin(row["df_cases"], max(numbers[1] - 1, 1))])
    tails = np.array([[(1 + ci_prob) / 2], [(1 - ci_prob) / 2]])
    return numbers * np.maximum(seen * df / stats.chi2.ppf(tails, df) - by_both, 0.0)


def plan_repeats(
    result: Result,
    n_repeats_a: ArrayLike = (1, 2, 3, 5, 10),
    n_repeats_b: ArrayLike | None = None,
    n_items: int | None = None,
) -> pd.DataFrame:
    """Predict standard errors of estimates for other numbers of items and responses per item.

    The variance of an estimate has two components: differences between items, and trial-by-trial
    variability of each observer. The variance components are those of a design with responses
    nested in items [B01]_. The variance components are computed from the influence of each item on
    the estimate [H74]_.

    Parameters
    ----------
    result : Result
        Result for a correctness metric, such as error consistency, from trials with repeats.
    n_repeats_a, n_repeats_b : array_like of int
        Numbers of responses of the first and of the second observer to each item, each at least 1.
        Array arguments are broadcast. By default, `n_repeats_b` equals `n_repeats_a`.
    n_items : int, optional
        Number of items in the new study, at least 2. Default: the number of items in the pilot
        study.

    Returns
    -------
    pandas.DataFrame
        One row per entry and design, with columns

        - the labels of the entry
        - ``n_items``, ``n_repeats_a``, ``n_repeats_b``: the design
        - ``se``: standard error
        - ``items``: fraction of the variance due to items, which repeats do not reduce
        - ``answers_a``, ``answers_b``: fractions of the variance due to the responses of each
          observer; their interaction is divided equally
        - ``note``: the reason if values are NaN, for example if more repeats are planned for an
          observer who has only one response per item

    Raises
    ------
    TypeError
        If `result` is not a `Result` object.
    ValueError
        If the result has no repeated items, or its metric is not a correctness metric.
    ValueError
        If an item occurs in several conditions of the same group of trials (such as a data set).
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.repeated_answers(200, (1, 4), within=0.5, rng=1)
    >>> pilot = al.error_consistency(trials, n_resamples=0, n_draws=0)
    >>> table = al.planning.plan_repeats(pilot, 1, [1, 2, 4, 100])
    >>> bool((table["se"].diff().dropna() < 0).all())
    True
    """
    of_type(result, Result, "make one with al.compare")
    metric, table = result.metric, result.table
    if metric.counts != "correctness" or "answers" not in table:
        raise ValueError(
            "result must be of a metric of correctness on trials with repeats, got "
            f"{metric.name}{'' if 'answers' in table else ' without repeats'}; the effect of "
            "repeats is unknown without repeats in the pilot"
        )
    if result.data.attrs["cluster"] and table.attrs["by"] != "condition":
        raise ValueError(
            "result must not have items that occur in several conditions of an analyzed group; "
            "analyze trials with by='condition'"
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
        for p, pair in enumerate(zip(block.a, block.b, strict=True)):
            who = [int(table[side].values[block.rows][p]) for side in ("first", "second")]
            parts, known = _of_items(block, p, block.correct[list(pair)], answers[who], metric)
            labels = result.pairs.iloc[block.rows.start + p].to_dict()
            labels["n_items"] = known if n_items is None else n_items
            for k, m in designs.to_numpy(dtype=np.int64).tolist():
                design = labels | {"n_repeats_a": k, "n_repeats_b": m}
                rows.append(design | _expected(parts, k, m, labels["n_items"]))
    return pd.DataFrame(rows)


def _of_items(
    block: Block, pair: int, share: NDArray[Any], answers: NDArray[np.int64], metric: Metric
) -> tuple[Floats, int]:
    """Variance of an item's contribution by source, and the number of items."""
    common = (share != LEFT_OUT).all(axis=0)
    if not common.any():
        return np.full(4, np.nan), 0
    (p, q), (n_a, n_b) = share[:, common], answers[:, common].astype(np.float64)
    cells = block.shares()[pair].sum(axis=1)
    n11, n10, n01, n00 = np.where(cells > 0, metric.influence(cells), 0.0)
    # An item's contribution is linear in the proportion correct of either observer.
    at_a, at_b, at_both = n10 - n00, n01 - n00, n11 - n10 - n01 + n00
    whole = np.mean((n00 + at_a * p + at_b * q + at_both * p * q) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Variance of one response to each item; NaN if there was only one.
        one_a, one_b = (
            np.where(n > 1, x * (1 - x) * n / (n - 1), np.nan) for x, n in ((p, n_a), (q, n_b))
        )
    # The square of an estimated slope is biased upwards by its noise.
    slope_a = (at_a + at_both * q) ** 2 - at_both**2 * np.nan_to_num(one_b / n_b)
    slope_b = (at_b + at_both * p) ** 2 - at_both**2 * np.nan_to_num(one_a / n_a)
    parts = np.array([slope_a * one_a, slope_b * one_b, at_both**2 * one_a * one_b])
    responses = mean_of_defined(parts, axis=1)
    inverse = np.mean([1 / n_a, 1 / n_b, 1 / (n_a * n_b)], axis=1)
    items = whole - np.nansum(responses * inverse)
    return np.array([max(float(items), 0.0), *responses]), len(p)


def _expected(parts: Floats, n_a: int, n_b: int, n_items: int) -> dict[str, object]:
    """Standard error of a design, and fractions of its variance."""
    items, a, b, both = parts
    alone = [s for s, n, of in (("a", n_a, a), ("b", n_b, b)) if n > 1 and np.isnan(of)]
    if alone or np.isnan(items):
        unknown = dict.fromkeys(("se", "items", "answers_a", "answers_b"), np.nan)
        note = "no common trial" if np.isnan(items) else ALONE.format(side=alone[0])
        return unknown | {"note": note}
    # For an observer with one response per item, noise is part of the variance of items.
    a, b, both = np.nan_to_num([a / n_a, b / n_b, both / (n_a * n_b)])
    variance = items + a + b + both
    with np.errstate(invalid="ignore"):
        shares = np.array([items, a + both / 2, b + both / 2]) / variance
    divided = dict(zip(("items", "answers_a", "answers_b"), shares.tolist(), strict=True))
    return {"se": float(np.sqrt(variance / n_items)), **divided, "note": ""}
