"""Planning experiments with decision margins: how many participants, items and repeats.

All array_like inputs broadcast; every table has one row for each of their combinations. People of
a group are alike but for noise: given an item, their answers are independent and right with the
accuracy of that item.

References
----------
.. [AK24] Alvarez, Konkle (2024). Decision-margin consistency.
.. [C52] Chernoff (1952). A measure of asymptotic efficiency for tests of a hypothesis based on the
   sum of observations. doi:10.1214/aoms/1177729330
.. [F21] Fisher (1921). On the "probable error" of a coefficient of correlation deduced from a small
   sample. Metron 1, 3-32.
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
.. [S10] Spearman (1910). Correlation calculated from faulty data.
   doi:10.1111/j.2044-8295.1910.tb00206.x
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special, stats

from alikely._base.arrays import Floats, within
from alikely._base.checks import one_of
from alikely._base.intervals import check_interval
from alikely._base.settings import resolve
from alikely.metrics.margins import FEWEST_ITEMS, spearman_brown
from alikely.planning.numbers import check_between, check_whole, grid, smallest_with

__all__ = [
    "item_precision",
    "item_reliability",
    "items_for_margins",
]

type Value = Callable[[float, float], Any]

MOST_ANSWERS = 5_000_000
# Values that differ by rounding alone count as equal.
SLACK = 1e-12
SHARE = "give it as a share, such as 0.05 for 5%"
TARGET = "no finite number is perfect, try 0.9"
CORRELATION = "a perfect correlation leaves nothing to plan, try 0.99"
FIXES = {"target": TARGET, "power": TARGET, "dmc": CORRELATION, "against": CORRELATION}
FEWEST = {"n_answers": 1, "n_observers": 1, "n_items": FEWEST_ITEMS}


def item_precision(
    accuracy: ArrayLike,
    n_answers: ArrayLike | None = None,
    tolerance: ArrayLike = 0.05,
    ci_prob: float | None = None,
    *,
    outside: ArrayLike = 0.05,
) -> pd.DataFrame:
    """Compute how far the proportion of correct responses to an item may lie from its accuracy.

    Without `n_answers`, the smallest number that suffices together with every larger one: the exact
    probability is jagged, and one answer more may widen what is outside. Chernoff's bound [C52]_
    holds from some number on; below it, exact probabilities are searched downwards.

    Parameters
    ----------
    accuracy : array_like
        Probability of a correct response, in (0, 1).
    n_answers : array_like of int, optional
        Answers to the item, at least 1: participants times repeats.
    tolerance : array_like
        Distance that would still do, in (0, 1).
    ci_prob : float
        In (0, 1).
    outside : array_like
        Without `n_answers`: highest probability of a larger distance, in (0, 1).

    Returns
    -------
    pandas.DataFrame
        ``accuracy``, ``tolerance``, ``n_answers``; ``outside``: exact binomial probability that the
        proportion lies further than `tolerance` from the accuracy, one just so far off being
        inside; ``lower`` and ``upper``: its central range; ``sd``: its standard deviation.

    Raises
    ------
    ValueError
        If a number is out of range, or millions of answers would be needed.

    Notes
    -----
    For an accuracy of .75, [AK24]_ print 47.3 %, 44.6 % and 4 % outside with 10, 20 and 300
    answers, from simulations.

    Examples
    --------
    >>> from alikely.planning import item_precision
    >>> item_precision(0.75, [10, 20, 300]).round(3)[["n_answers", "outside", "lower", "upper"]]
       n_answers  outside  lower  upper
    0         10    0.468   0.50  1.000
    1         20    0.439   0.55  0.900
    2        300    0.038   0.70  0.797
    >>> item_precision([0.75, 0.9], tolerance=0.1)["n_answers"].tolist()
    [75, 30]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    check_interval(ci_prob, "eti")
    wanted = {"n_answers": n_answers} if n_answers is not None else {"outside": outside}
    rows = _rows(accuracy=accuracy, tolerance=tolerance, **wanted)
    if n_answers is None:
        found = [_answers(*row) for row in zip(*rows.values(), strict=True)]
        rows["n_answers"] = np.array(found, dtype=np.float64)
    p, n = rows["accuracy"], rows["n_answers"]
    rows["outside"] = _outside(p, n, rows["tolerance"])
    rows["lower"], rows["upper"] = (
        stats.binom.ppf(q, n, p) / n for q in ((1 - ci_prob) / 2, (1 + ci_prob) / 2)
    )
    return _table(rows, sd=np.sqrt(p * (1 - p) / n))


def _outside(p: ArrayLike, n: ArrayLike, tolerance: ArrayLike) -> Floats:
    """Probability that a share of n answers lies further than the tolerance from p."""
    # Counts, with slack: 14 of 20 is not further than .05 from .75, whatever rounding says.
    p, n, reach = np.asarray(p), np.asarray(n), np.asarray(tolerance) + SLACK
    first, last = np.ceil(n * (p - reach)), np.floor(n * (p + reach))
    return within(stats.binom.cdf(first - 1, n, p) + stats.binom.sf(last, n, p))


def _answers(p: float, tolerance: float, outside: float) -> int:
    # Per answer: how fast the bounds of both tails fall. A share beyond 0 or 1 does not occur.
    rate = min(
        special.rel_entr(q, p) + special.rel_entr(1 - q, 1 - p) if 0 <= q <= 1 else np.inf
        for q in (p - tolerance, p + tolerance)
    )
    certain = max(int(np.ceil(min(np.log(2 / outside) / rate, 1e18))), 1)
    if certain > MOST_ANSWERS:
        raise ValueError(
            f"a tolerance of {tolerance:g} with a share of {outside:g} outside may need more than "
            f"{MOST_ANSWERS:,} answers to each item; raise tolerance or outside"
        )
    while certain > 1:
        start = max(certain - 10_000, 1)
        n = np.arange(start, certain)
        failing = n[_outside(p, n, tolerance) > outside + SLACK]
        if len(failing):
            return int(failing[-1]) + 1
        certain = start
    return 1


def item_reliability(
    item_mean: ArrayLike,
    item_sd: ArrayLike,
    n_observers: ArrayLike | None = None,
    *,
    target: ArrayLike = 0.9,
    of: Literal["r_truth", "reliability", "split_half"] = "r_truth",
) -> pd.DataFrame:
    """Compute the reliability of the mean accuracies of items over a group, or the group for one.

    A single answer has the reliability ``item_sd**2 / (item_mean * (1 - item_mean))``, which
    Spearman and Brown [S10]_ step up to that of a group. Without `n_observers`, the fewest
    participants that reach the `target`.

    Parameters
    ----------
    item_mean : array_like
        Mean of the true accuracies of items, in (0, 1).
    item_sd : array_like
        Their standard deviation without the noise of answers, above 0 and below
        ``sqrt(item_mean * (1 - item_mean))``.
    n_observers : array_like of int, optional
        Participants, each of whom answers every item once; at least 1.
    target : array_like
        Without `n_observers`: value to reach, in (0, 1).
    of : {"r_truth", "reliability", "split_half"}
        Which value is to reach the target.

    Returns
    -------
    pandas.DataFrame
        ``item_mean``, ``item_sd``, ``n_observers``; ``reliability``,
        ``item_sd**2 / (item_sd**2 + E[p (1 - p)] / n_observers)``; ``r_truth``, correlation of the
        item means with the true accuracies, the root of the reliability [S04]_; ``split_half``,
        correlation of two halves of the group, one larger by a participant if the number is odd.
        NaN for one participant, who has no halves.

    Raises
    ------
    ValueError
        If a number is out of range or `of` is unknown.

    Notes
    -----
    [AK24]_ find correlations with the truth above .9 with 20 to 40 participants. So many are
    needed if items make 9.6 to 18.3 % of the variance of single answers: at a mean of .75, with a
    standard deviation of .134 to .185. Repeats of one observer count as participants, if `item_sd`
    is ``sqrt(kappa * item_mean * (1 - item_mean))`` with its self-consistency ``kappa``.

    Examples
    --------
    >>> from alikely.planning import item_reliability
    >>> item_reliability(0.75, 0.15, [10, 40]).round(3)
       item_mean  item_sd  n_observers  reliability  r_truth  split_half
    0       0.75     0.15           10        0.577    0.760       0.405
    1       0.75     0.15           40        0.845    0.919       0.732
    >>> item_reliability(0.75, [0.14, 0.18, 0.25], target=0.9)["n_observers"].tolist()
    [37, 21, 9]
    """
    wanted = {"n_observers": n_observers} if n_observers is not None else {"target": target}
    rows = _rows(item_mean=item_mean, item_sd=item_sd, **wanted)
    single = _single_answer(rows)
    values: dict[str, Value] = {
        "r_truth": _truth,
        "reliability": spearman_brown,
        "split_half": _halves,
    }
    one_of("of", of, tuple(values))
    if n_observers is None:
        least = 2 if of == "split_half" else 1
        rows["n_observers"] = _fewest(values[of], single, rows.pop("target"), least)
    for name in ("reliability", "r_truth", "split_half"):
        rows[name] = _each(values[name], single, rows["n_observers"])
    return _table(rows)


def _single_answer(rows: dict[str, Floats]) -> Floats:
    """Reliability of single answers: the share of their variance that items make."""
    mean, sd = rows["item_mean"], rows["item_sd"]
    bound = np.sqrt(mean * (1 - mean))
    bad = np.flatnonzero(~((sd > 0) & (sd < bound)))
    if len(bad):
        raise ValueError(
            f"item_sd must be above 0 and below {bound[bad[0]]:.3g} for accuracies of mean "
            f"{mean[bad[0]]:g}, which lie between 0 and 1, got {sd[bad[0]]:g}; give the spread of "
            "accuracies as shares, without the noise of answers"
        )
    return np.asarray(sd**2 / bound**2)


def _truth(single: float, n: float) -> Floats:
    return np.sqrt(spearman_brown(single, n))


def _halves(single: float, n: float) -> Floats:
    # Halves share nothing but the truth: their correlation is the product of theirs with it.
    return _truth(single, n // 2) * _truth(single, n - n // 2) if n > 1 else np.asarray(np.nan)


def _each(value: Value, known: Floats, n: Floats) -> Floats:
    return np.array([value(*pair) for pair in zip(known, n, strict=True)], dtype=np.float64)


def _fewest(value: Value, known: Floats, goals: Floats, least: int) -> Floats:
    """Fewest people, repeats or items with which a value reaches its goal, row by row."""
    return np.array(
        [
            smallest_with(functools.partial(value, each), goal - SLACK, least)
            for each, goal in zip(known, goals, strict=True)
        ],
        dtype=np.float64,
    )


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
    """Find the items that separate a model's decision-margin consistency from a value.

    Without `n_items`, the fewest with the wanted `power`. The noise of the group shrinks `dmc` and
    `against` by the root of the reliability [S04]_. Correlations are normal on Fisher's z scale
    [F21]_ with variance ``1 / (n_items - 3)``, which holds for normal margins and is close for
    others that are not heavy-tailed.

    Parameters
    ----------
    dmc : array_like
        Correlation of the model's margins with the true accuracies of items, in (-1, 1).
    n_observers, item_mean, item_sd : array_like, optional
        The group and its items, as in `item_reliability`; without them, the true accuracies are
        treated as known.
    power : float
        Power to reach, in (0, 1).
    alpha : float
        Level of the two-sided test, in (0, 1).
    against : array_like
        Consistency under the null hypothesis, in (-1, 1), noise-corrected as `dmc` is.
    n_items : array_like of int, optional
        Numbers of items whose power is wanted, at least 5.

    Returns
    -------
    pandas.DataFrame
        ``dmc``, ``against``, ``n_items``, ``n_observers`` (NaN if not given); ``reliability`` of
        the item means; ``observed``: the correlation to expect with these means; ``lower`` and
        ``upper``: its range in a share ``1 - alpha`` of experiments; ``power``, both tails.

    Raises
    ------
    ValueError
        If a number is out of range, the group is described in part, or a number of items is to be
        found and `dmc` and `against` are the same.

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
    _check("power", power)
    _check("alpha", alpha)
    group = {"n_observers": n_observers, "item_mean": item_mean, "item_sd": item_sd}
    given = {name: x for name, x in group.items() if x is not None}
    if 0 < len(given) < 3:
        raise ValueError(
            "n_observers, item_mean and item_sd describe a group together, got only "
            f"{' and '.join(given)}; give all three, or none if the true accuracies are known"
        )
    few = FEWEST_ITEMS if n_items is None else n_items
    stated = _rows(dmc=dmc, against=against, n_items=few, **given)
    rows = {name: stated[name] for name in ("dmc", "against", "n_items")}
    people = stated.get("n_observers", np.full(len(rows["dmc"]), np.nan))
    reliability = np.ones(len(people))
    if given:
        reliability = _each(spearman_brown, _single_answer(stated), people)
    rows |= {"n_observers": people, "reliability": reliability}
    root = np.sqrt(reliability)
    z, null = np.arctanh(rows["dmc"] * root), np.arctanh(rows["against"] * root)
    if n_items is None:
        # So small a difference needs more items than whole numbers can be told apart.
        if len(same := rows["dmc"][np.abs(z - null) < 1e-7]):
            raise ValueError(
                "a difference of zero cannot be found with any number of items: dmc and against "
                f"must differ, both are {same[0]:g}; state what difference matters"
            )
        goals = np.full(len(z), power)
        rows["n_items"] = _fewest(
            lambda away, n: _power(away * np.sqrt(n - 3), alpha), z - null, goals, FEWEST_ITEMS
        )
    steps = np.sqrt(rows["n_items"] - 3)
    half = -special.ndtri(alpha / 2) / steps
    rows |= {"observed": np.tanh(z), "lower": np.tanh(z - half), "upper": np.tanh(z + half)}
    return _table(rows, power=_power((z - null) * steps, alpha))


def _power(shift: Floats | float, alpha: float) -> Floats:
    """Probability that a normal number of unit variance around the shift is significant."""
    critical = -special.ndtri(alpha / 2)
    return np.asarray(special.ndtr(shift - critical) + special.ndtr(-shift - critical))


def _rows(**inputs: ArrayLike) -> dict[str, Floats]:
    """Inputs as columns, a row for each combination."""
    rows = {str(name): column.to_numpy() for name, column in grid(**inputs).items()}
    # What spread is possible depends on the mean: that is checked where they meet.
    for name in rows.keys() - {"item_sd"}:
        _check(name, rows[name])
    return rows


def _check(name: str, values: ArrayLike) -> None:
    if name in FEWEST:
        check_whole(values, name, FEWEST[name])
    else:
        low = -1.0 if name in ("dmc", "against") else 0.0
        check_between(values, name, FIXES.get(name, SHARE), low)


def _table(rows: dict[str, Floats], **more: Floats) -> pd.DataFrame:
    """Columns as a table, with numbers of people and items as whole numbers where known."""
    table = pd.DataFrame(rows | more)
    return table.astype(
        {name: np.int64 for name in FEWEST if name in table and table[name].notna().all()}
    )
