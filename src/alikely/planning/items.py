"""Numbers of items for intervals of inter-rater agreement, and for tests of decision margins.

References
----------
.. [AK24] Alvarez, Konkle (2024). Decision-margin consistency.
.. [DE92] Donner, Eliasziw (1992). A goodness-of-fit approach to inference procedures for the kappa
   statistic. doi:10.1002/sim.4780111109
.. [F21] Fisher (1921). On the "probable error" of a coefficient of correlation deduced from a small
   sample. Metron 1, 3-32.
.. [G08] Gwet (2008). Computing inter-rater reliability and its variance in the presence of high
   agreement. doi:10.1348/000711006X126600
.. [M62] Mosimann (1962). On the compound multinomial distribution, the multivariate beta
   distribution, and correlations among proportions. doi:10.1093/biomet/49.1-2.65
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
.. [S10] Spearman (1910). Correlation calculated from faulty data.
   doi:10.1111/j.2044-8295.1910.tb00206.x
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.checks import check_between, check_whole
from alikely._base.intervals import check_interval
from alikely._base.notes import told
from alikely._base.settings import resolve
from alikely.inference.intervals import analytic_interval
from alikely.metrics import Metric, get_metric
from alikely.metrics.margins import FEWEST_ITEMS, spearman_brown
from alikely.metrics.ratings import Readings
from alikely.planning.trials import check_width, grid, smallest_with

# Items of a population, so large that small-sample corrections vanish.
ENDLESS = 1e9
# Maximum number of rating patterns that are enumerated.
MOST_PATTERNS = 200_000
MOST_ITEMS = 1e9
# Values that differ only by rounding count as equal.
SLACK = 1e-12
# Bisection steps: they locate a value to 1e-7 of its range.
BISECTIONS = 24


def items_for_agreement(
    value: ArrayLike,
    width: ArrayLike | None = None,
    *,
    n_items: ArrayLike | None = None,
    coefficient: str = "cohen_kappa",
    n_readers: int = 2,
    class_frequencies: Sequence[float] = (0.5, 0.5),
    missing: float = 0.0,
    against: float | None = None,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    """Compute the number of items for an agreement interval of a given width, or vice versa.

    The plan assumes exchangeable readers who rate all items, except for ratings that are missing at
    random. If readers are a random sample, use `alikely.planning.plan_reader_study`. If you have
    data from a pilot study, use `alikely.planning.plan_from`.

    Parameters
    ----------
    value : array_like
        True value of the coefficient, below 1. `value` must be at least the coefficient of
        independent readers with the given class frequencies.
    width : array_like, optional
        Width of the interval, in (0, 2]. `value` and `width` are broadcast together.
    n_items : array_like of int, optional
        Number of items, at least 2, as an alternative to `width`.
    coefficient : str
        Coefficient of `alikely.agreement`: ``"cohen_kappa"``, ``"fleiss_kappa"``, ``"gwet_ac1"``,
        ``"krippendorff_alpha"``, ``"brennan_prediger"`` or ``"raw_agreement"``.
    n_readers : int
        Number of readers, at least 2.
    class_frequencies : sequence of float
        Relative frequency of each class, above 0; frequencies sum to 1.
    missing : float
        Proportion of ratings that are missing, in [0, 1).
    against : float, optional
        Value that the interval should exclude.
    ci_prob : float
        Probability level of the interval, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        One row per value and width (or number of items), with columns

        - ``value``, ``n_items``: true value, and number of items to show
        - ``se``: standard error
        - ``lower``, ``upper``, ``width``: limits and width of the analytic interval if the estimate
          equals the true value
        - ``n_minority_ratings``: expected number of items times the proportion of ratings outside
          the most frequent class
        - ``power``: probability that the interval excludes `against` (if `against` is given)
        - ``note``: a warning if coverage is low because few ratings are outside the most frequent
          class

    Raises
    ------
    ValueError
        If a number is out of range, or if the coefficient is unknown.
    ValueError
        If `width` and `n_items` are both given or both missing.
    ValueError
        If there are too many readers and classes to enumerate all rating patterns.

    Notes
    -----
    The class probabilities of each item are drawn from a Dirichlet distribution with mean
    `class_frequencies`, and every reader's rating of the item is drawn from these probabilities
    [M62]_. With two classes, the Dirichlet model is the common-correlation model [DE92]_. The
    influence function of the coefficient is evaluated for every rating pattern. The variance of the
    influence function, divided by `n_items`, is the squared standard error [G08]_. Intervals are
    computed on the logit scale, as in `alikely.agreement`. In about half of studies of the planned
    size, the interval is wider than planned. With more than two readers, the standard errors of the
    coefficient also depend on associations among the ratings of three or more readers.

    Examples
    --------
    >>> import alikely as al
    >>> plan = al.planning.items_for_agreement(0.6, [0.3, 0.2], class_frequencies=(0.8, 0.2))
    >>> plan[["n_items", "width"]].round(2).values.tolist()
    [[175.0, 0.3], [392.0, 0.2]]
    >>> al.planning.items_for_agreement(0.8, n_items=100, against=0.6)["power"].round(2).tolist()
    [0.75]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    metric = _metric(coefficient)
    frequency = np.asarray(class_frequencies)
    odd = frequency.dtype.kind not in "iuf" or frequency.ndim != 1 or len(frequency) < 2
    if odd or not (frequency > 0).all() or not math.isclose(frequency.sum(), 1, abs_tol=1e-6):
        raise ValueError(
            "class_frequencies must be two or more numbers above 0 with the sum 1, got "
            f"{class_frequencies}"
        )
    frequency = frequency / frequency.sum()
    check_interval(ci_prob, "eti")
    if (n_items is None) == (width is None):
        raise ValueError("give either width or n_items, not both or neither")
    plan = grid(value=value, goal=n_items if width is None else width)
    if width is None:
        check_whole(plan["goal"], "n_items")
    else:
        check_width(plan["goal"], "agreement")
    counts, seen = _patterns(n_readers, len(frequency), missing)
    low, high = (
        float(metric.value(_population(counts, _chances(counts, seen, frequency, rho))))
        for rho in (0.0, 1.0)
    )
    # Tolerance for rounding in the limit of infinitely many items.
    bad = ~((plan["value"] >= low - 1e-8) & (plan["value"] < high))
    if bad.any():
        raise ValueError(
            f"{metric.name} must be at least {low:.3g}, the value for readers who share only the "
            f"class frequencies, and below {high:.3g}; got {plan['value'][bad].iloc[0]:g}"
        )
    z = float(special.ndtri((1 + ci_prob) / 2))

    @functools.cache
    def unit(each: float) -> float:
        rho = min(max((each - low) / (high - low), 0.0), 1.0)
        return _unit_error(metric, counts, seen, frequency, rho)

    def limits(each: float, n: float) -> Floats:
        error = np.asarray(unit(each) / np.sqrt(n))
        return analytic_interval(metric, np.asarray(each), error, z)

    rows = []
    for each, goal in plan.itertuples(index=False):
        n = int(goal) if width is None else _number(functools.partial(limits, each), goal)
        lower, upper = limits(each, n)
        rare = n * seen[2:].sum() * (1 - frequency.max())
        row: dict[str, Any] = {
            "value": each, "n_items": n, "se": unit(each) / np.sqrt(n), "lower": lower,
            "upper": upper, "width": upper - lower, "n_minority_ratings": rare,
        }  # fmt: skip
        if against is not None:
            row["power"] = _power_against(metric.bounds, each, row["se"], limits, n, against)
        rows.append(row | {"note": _note(metric, n, rare)})
    return pd.DataFrame(rows)


def _metric(coefficient: str) -> Metric:
    metric = get_metric(coefficient)
    if metric.counts != "ratings":
        raise ValueError(
            f"coefficient must be a measure of agreement of ratings, got {metric.name} (for "
            f"{metric.counts}); to plan error consistency use trials_for_width"
        )
    return metric


def _patterns(n_readers: int, k: int, missing: float) -> tuple[Floats, Floats]:
    """Counts of ratings per class (pattern, class), and the probability of each total count."""
    check_whole(n_readers, "n_readers")
    if not (isinstance(missing, numbers.Real) and 0 <= missing < 1):
        raise ValueError(f"missing must be a proportion in [0, 1), got {missing!r}")
    if (many := math.comb(int(n_readers) + k, k)) > MOST_PATTERNS:
        raise ValueError(
            f"{n_readers} readers and {k} classes have {many:,} rating patterns, more than the "
            f"limit of {MOST_PATTERNS:,}; merge rare classes, or plan from a pilot with plan_from"
        )
    number = np.arange(n_readers + 1)
    seen = special.comb(n_readers, number) * (1 - missing) ** number
    seen = seen * missing ** (n_readers - number)
    # Two readers are compared on the items that both rated.
    fewest = 2 if n_readers == 2 else 1
    counts = [row for r in range(fewest, n_readers + 1) if seen[r] for row in _ways(r, k)]
    return np.array(counts, dtype=np.float64), np.asarray(seen)


def _ways(total: int, k: int) -> Iterator[list[int]]:
    """All ways to distribute a number among classes (stars and bars)."""
    for bars in itertools.combinations(range(total + k - 1), k - 1):
        ends = [-1, *bars, total + k - 1]
        yield [right - left - 1 for left, right in itertools.pairwise(ends)]


def _chances(counts: Floats, seen: Floats, frequency: Floats, rho: float) -> Floats:
    """Probability of each pattern by Polya's urn; `rho` is the correlation of two ratings."""
    total = counts.sum(axis=1)
    if rho >= 1:
        alike = counts.max(axis=1) == total
        given = np.where(alike, (counts / total[:, None]) @ frequency, 0.0)
        return np.asarray(seen[total.astype(int)] * given)
    ways = special.gammaln(total + 1) - special.gammaln(counts + 1).sum(axis=1)
    if rho <= 0:
        return np.asarray(seen[total.astype(int)] * np.exp(ways + counts @ np.log(frequency)))
    urn = (1 - rho) / rho
    rising = special.gammaln(counts + urn * frequency) - special.gammaln(urn * frequency)
    whole = special.gammaln(total + urn) - special.gammaln(urn)
    return np.asarray(seen[total.astype(int)] * np.exp(ways + rising.sum(axis=1) - whole))


def _sums(counts: Floats) -> list[Floats]:
    """Contribution of one item of each pattern to `Readings`; `given` is summed over readers."""
    total = counts.sum(axis=1)
    many = total > 1
    ways = np.maximum(total * (total - 1), 1)
    equal = np.where(many, (counts * (counts - 1)).sum(axis=1) / ways, 0.0)
    shares = counts / total[:, None]
    return [many * 1.0, equal, total * equal, shares, counts * many[:, None], counts]


def _population(counts: Floats, chance: Floats) -> Readings:
    """Sums over infinitely many items for two exchangeable readers, which is sufficient."""
    items, equal, coincident, shares, paired, given = (
        ENDLESS * np.tensordot(chance, part, axes=1) for part in _sums(counts)
    )
    of_each = np.tile(given / 2, (2, 1))
    return Readings(items, equal, coincident, shares, paired, of_each, np.asarray(len(given)))


def _unit_error(
    metric: Metric, counts: Floats, seen: Floats, frequency: Floats, rho: float
) -> float:
    """Standard error for one item."""
    chance = _chances(counts, seen, frequency, rho)
    slopes = metric.derivative(_population(counts, chance))
    # Readers are exchangeable, and so is the effect of a rating by any of them.
    by_sum = [*slopes[:5], slopes.given[0]]
    moved = [
        part @ np.asarray(slope) if part.ndim > 1 else part * slope
        for part, slope in zip(_sums(counts), by_sum, strict=True)
    ]
    influence = ENDLESS * np.sum(moved, axis=0)
    return float(np.sqrt(chance @ influence**2))


def _number(limits: Callable[[float], Floats], goal: float) -> int:
    """Smallest number of items whose interval is at most as wide as the goal, by bisection."""

    def narrowness(n: float) -> float:
        lower, upper = limits(n)
        return float(lower - upper)

    if narrowness(MOST_ITEMS) < -goal:
        raise ValueError(
            f"a width of {goal:g} needs more than {MOST_ITEMS:.0e} items; use a larger width"
        )
    return smallest_with(narrowness, -goal)


def _power_against(
    bounds: tuple[float, float],
    value: float,
    se: float,
    limits: Callable[[float, float], Floats],
    n: int,
    against: float,
) -> float:
    """Probability that the interval excludes a value."""
    low, high = bounds
    if not (isinstance(against, numbers.Real) and low < against < high):
        raise ValueError(f"against must lie in ({low:g}, {high:g}), got {against!r}")
    beyond = 0.0
    for far, end, sign in ((high, 0, 1), (low, 1, -1)):
        near = against
        for _ in range(BISECTIONS):
            middle = (near + far) / 2
            clear = sign * (limits(middle, n)[end] - against) > 0
            near, far = (near, middle) if clear else (middle, far)
        beyond += float(special.ndtr(sign * (value - far) / se))
    return beyond


def _note(metric: Metric, n_items: int, n_minority_ratings: float) -> str:
    if metric.trust is None:
        return ""
    numbers = {"n_trials": n_items, "n_minority_ratings": n_minority_ratings}
    rarest = metric.trust.rarest({name: np.array([float(n)]) for name, n in numbers.items()})
    return told(metric.trust.seldom) if rarest[0] < metric.trust.least else ""


def items_for_margins(
    dmc: ArrayLike,
    n_observers: ArrayLike | None = None,
    item_mean: ArrayLike | None = None,
    item_sd: ArrayLike | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    against: ArrayLike = 0.0,
    *,
    n_items: ArrayLike | None = None,
) -> pd.DataFrame:
    """Compute the number of items needed to reject a decision-margin consistency of `against`.

    If `n_items` is not given, the function finds the smallest number of items that gives the
    requested `power`. Noise in the group's responses multiplies the expected values of `dmc` and
    `against` by the square root of the reliability [S04]_. Correlations are assumed to be normally
    distributed on Fisher's z scale [F21]_, with variance ``1 / (n_items - 3)``. The normal
    approximation on Fisher's z scale is valid for normally distributed margins, and nearly valid
    for other margins without heavy tails.

    Parameters
    ----------
    dmc : array_like
        Correlation over items between the model's margins and the true accuracy of the group of
        observers, in (-1, 1).
    n_observers, item_mean, item_sd : array_like, optional
        Number of participants (each responds to every item once), and mean and standard deviation
        of the items' true accuracies (without response noise). Give `n_observers`,
        `item_mean` and `item_sd` together, or none of them. By default, the true accuracies are
        treated as known.
    power : float
        Target power, in (0, 1).
    alpha : float
        Significance level of the two-sided test, in (0, 1).
    against : array_like
        Decision-margin consistency under the null hypothesis, in (-1, 1), defined as for `dmc`.
    n_items : array_like of int, optional
        Numbers of items for which to compute power, each at least 5.

    Returns
    -------
    pandas.DataFrame
        One row per combination, with columns

        - ``dmc``, ``against``, ``n_items``: the arguments; ``n_items`` is the number found if it
          was not given
        - ``n_observers``: number of participants (NaN if not specified)
        - ``reliability``: reliability of the item means
        - ``observed``: expected correlation with the item means
        - ``lower``, ``upper``: central range of the observed correlation, for a proportion ``1 -
          alpha`` of experiments
        - ``power``: two-sided power

    Raises
    ------
    ValueError
        If a number is out of range, or if only some of `n_observers`, `item_mean` and `item_sd` are
        given.
    ValueError
        If `dmc` equals `against`, and `n_items` is not given.

    Notes
    -----
    Items account for a fraction ``item_sd**2 / (item_mean * (1 - item_mean))`` of the variance of
    individual responses. The Spearman-Brown formula [S10]_ then gives the reliability of the means
    over participants (`alikely.margins.spearman_brown`), whose square root is the correlation
    between these means and the true accuracies [S04]_. With 20 to 40 participants, [AK24]_ find
    correlations above 0.9 between the mean accuracies of items and their true accuracies. With an
    `item_mean` of 0.75, the predicted correlation between items' observed and true
    accuracies is 0.9 if `item_sd` is 0.134 (40 participants) or 0.185 (20 participants). To treat
    repeats of one observer as participants, set `item_sd` to ``sqrt(kappa * item_mean * (1 -
    item_mean))``, where ``kappa`` is the observer's self-consistency.

    Examples
    --------
    >>> from alikely.planning import items_for_margins
    >>> items_for_margins(0.3, [5, 20], item_mean=0.75, item_sd=0.15)["n_items"].tolist()
    [213, 117]
    >>> items_for_margins(0.3, [5, 20], 0.75, 0.15, n_items=100).round(2)[["observed", "power"]]
       observed  power
    0      0.19   0.48
    1      0.26   0.73
    """
    check_between(power, "power", "it cannot be reached with a finite number, try 0.9")
    check_between(alpha, "alpha", "give it as a proportion, such as 0.05 for 5%")
    group = {"n_observers": n_observers, "item_mean": item_mean, "item_sd": item_sd}
    given = {name: x for name, x in group.items() if x is not None}
    if 0 < len(given) < 3:
        raise ValueError(
            "n_observers, item_mean and item_sd describe a group together, got only "
            f"{' and '.join(given)}; give all three, or none if the true accuracies are known"
        )
    few = FEWEST_ITEMS if n_items is None else n_items
    stated = grid(dmc=dmc, against=against, n_items=few, **given)
    for name in ("dmc", "against"):
        check_between(stated[name], name, "a correlation of 1 needs no plan, try 0.99", -1.0)
    check_whole(stated["n_items"], "n_items", FEWEST_ITEMS)
    table = stated[["dmc", "against", "n_items"]].assign(n_observers=np.nan, reliability=1.0)
    if given:
        check_whole(stated["n_observers"], "n_observers", 1)
        check_between(stated["item_mean"], "item_mean", "give it as a proportion, such as 0.75")
        table["n_observers"] = stated["n_observers"].astype(np.int64)
        single = _variance_of_items(stated["item_mean"], stated["item_sd"])
        table["reliability"] = spearman_brown(single, stated["n_observers"])
    root = np.sqrt(table["reliability"])
    z, null = np.arctanh(table["dmc"] * root), np.arctanh(table["against"] * root)
    if n_items is None:
        # A smaller difference needs more items than integers can represent.
        if len(same := table["dmc"][np.abs(z - null) < 1e-7]):
            raise ValueError(
                "dmc and against must differ, got the same value "
                f"{same.iloc[0]:g}; use the smallest difference that matters"
            )

        def number(away: float) -> int:
            return smallest_with(
                lambda n: float(_power(away * np.sqrt(n - 3), alpha)), power - SLACK, FEWEST_ITEMS
            )

        table["n_items"] = [number(away) for away in z - null]
    steps = np.sqrt(table["n_items"] - 3)
    half = -special.ndtri(alpha / 2) / steps
    table = table.assign(observed=np.tanh(z), lower=np.tanh(z - half), upper=np.tanh(z + half))
    table["power"] = _power((z - null) * steps, alpha)
    return table.astype({"n_items": np.int64})


def _variance_of_items(mean: pd.Series, sd: pd.Series) -> pd.Series:
    """Fraction of the variance of single responses that is due to items."""
    bound = np.sqrt(mean * (1 - mean))
    bad = np.flatnonzero(~((sd > 0) & (sd < bound)))
    if len(bad):
        raise ValueError(
            f"item_sd must be above 0 and below {bound[bad[0]]:.3g} for accuracies with mean "
            f"{mean[bad[0]]:g}, got {sd[bad[0]]:g}; give the standard deviation of true accuracies "
            "as proportions, without response noise"
        )
    return sd**2 / bound**2


def _power(shift: ArrayLike, alpha: float) -> Floats:
    """Probability that a normal variate with unit variance and this mean is significant."""
    critical = -special.ndtri(alpha / 2)
    return special.ndtr(np.stack([shift, np.negative(shift)]) - critical).sum(axis=0)
