"""Plan experiments on decision margins: numbers of participants, items and repeats.

All array_like inputs broadcast, and every table has one row per combination. The participants of a
group are exchangeable: given an item, their responses are independent and correct with the accuracy
of that item.

References
----------
.. [AK24] Alvarez, Konkle (2024). Decision-margin consistency.
.. [F21] Fisher (1921). On the "probable error" of a coefficient of correlation deduced from a small
   sample. Metron 1, 3-32.
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
.. [S10] Spearman (1910). Correlation calculated from faulty data.
   doi:10.1111/j.2044-8295.1910.tb00206.x
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from alikely._base.arrays import Floats
from alikely.metrics.margins import FEWEST_ITEMS, spearman_brown
from alikely.planning.numbers import check_between, check_whole, grid, smallest_with

# Values that differ only by rounding count as equal.
SLACK = 1e-12
SHARE = "give it as a proportion, such as 0.05 for 5%"
TARGET = "it cannot be reached with a finite number, try 0.9"
CORRELATION = "a correlation of 1 needs no plan, try 0.99"
FIXES = {"power": TARGET, "dmc": CORRELATION, "against": CORRELATION}
FEWEST = {"n_observers": 1, "n_items": FEWEST_ITEMS}


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

    If `n_items` is not given, the function finds the smallest number with the given `power`. Noise
    in the group's responses attenuates `dmc` and `against` by the square root of the reliability
    [S04]_. Correlations are assumed to be normally distributed on Fisher's z scale [F21]_, with
    variance ``1 / (n_items - 3)``. The approximation is valid for normally distributed margins, and
    nearly valid for other margins without heavy tails.

    Parameters
    ----------
    dmc : array_like
        Correlation between the model's margins and the true accuracies of items, in (-1, 1).
    n_observers, item_mean, item_sd : array_like, optional
        Number of participants, each of whom responds to every item once, and mean, in (0, 1), and
        standard deviation of the true item accuracies (without response noise). Give all three or
        none. By default, the true accuracies are treated as known.
    power : float
        Target power, in (0, 1).
    alpha : float
        Significance level of the two-sided test, in (0, 1).
    against : array_like
        Consistency under the null hypothesis, in (-1, 1). Like `dmc`, `against` excludes response
        noise.
    n_items : array_like of int, optional
        Numbers of items for which to compute power, at least 5.

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
        If a number is out of range, or the group is only partly specified. If `dmc` equals
        `against`, and `n_items` is not given.

    Notes
    -----
    Items account for a fraction ``item_sd**2 / (item_mean * (1 - item_mean))`` of the variance of
    individual responses. The Spearman-Brown formula [S10]_ then gives the reliability of the means
    over participants (`alikely.margins.spearman_brown`), whose square root is the correlation
    between these means and the true accuracies [S04]_. With 20 to 40 participants, [AK24]_ find
    correlations with the true accuracies above 0.9. The formula agrees if the standard deviation is
    0.134 to 0.185 at a mean of 0.75. To treat repeats of one observer as participants, set
    `item_sd` to ``sqrt(kappa * item_mean * (1 - item_mean))``, where ``kappa`` is the observer's
    self-consistency.

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
        reliability = spearman_brown(_single_answer(stated), people)
    rows |= {"n_observers": people, "reliability": reliability}
    root = np.sqrt(reliability)
    z, null = np.arctanh(rows["dmc"] * root), np.arctanh(rows["against"] * root)
    if n_items is None:
        # A smaller difference needs more items than integers can represent.
        if len(same := rows["dmc"][np.abs(z - null) < 1e-7]):
            raise ValueError(
                "dmc and against must differ, got the same value "
                f"{same[0]:g}; use the smallest difference that matters"
            )

        def number(away: float) -> float:
            return smallest_with(
                lambda n: float(_power(away * np.sqrt(n - 3), alpha)), power - SLACK, FEWEST_ITEMS
            )

        rows["n_items"] = np.array([number(away) for away in z - null], dtype=np.float64)
    steps = np.sqrt(rows["n_items"] - 3)
    half = -special.ndtri(alpha / 2) / steps
    rows |= {"observed": np.tanh(z), "lower": np.tanh(z - half), "upper": np.tanh(z + half)}
    return _table(rows, power=_power((z - null) * steps, alpha))


def _single_answer(rows: dict[str, Floats]) -> Floats:
    """Reliability of single responses: the fraction of their variance due to items."""
    mean, sd = rows["item_mean"], rows["item_sd"]
    bound = np.sqrt(mean * (1 - mean))
    bad = np.flatnonzero(~((sd > 0) & (sd < bound)))
    if len(bad):
        raise ValueError(
            f"item_sd must be above 0 and below {bound[bad[0]]:.3g} for accuracies with mean "
            f"{mean[bad[0]]:g}, got {sd[bad[0]]:g}; give the standard deviation of true accuracies "
            "as proportions, without response noise"
        )
    return np.asarray(sd**2 / bound**2)


def _power(shift: Floats | float, alpha: float) -> Floats:
    """Probability that a normal variate with unit variance and this mean is significant."""
    critical = -special.ndtri(alpha / 2)
    return np.asarray(special.ndtr(shift - critical) + special.ndtr(-shift - critical))


def _rows(**inputs: ArrayLike) -> dict[str, Floats]:
    """Broadcast inputs to columns, one row per combination."""
    rows = {str(name): column.to_numpy() for name, column in grid(**inputs).items()}
    # The possible range of item_sd depends on the mean: it is checked where both are known.
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
    """Make a table, with numbers of participants and items as integers where known."""
    table = pd.DataFrame(rows | more)
    known = table.columns[table.notna().all()].intersection(list(FEWEST))
    return table.astype(dict.fromkeys(known, np.int64))
