"""Means and differences of entries of a result in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.intervals import CiKind, bound_names
from alikely._base.names import MISSING, listed, number, p_words, span
from alikely.estimates.comparison import difference, mean
from alikely.estimates.result import Result
from alikely.estimates.selection import Which, entries_of
from alikely.estimates.sentences import (
    PLACES,
    capital,
    cautions,
    chosen_interval,
    interval_words,
    is_wide,
    method_words,
    pair_words,
    place_words,
    population_words,
    trial_words,
)

__all__ = ["contrast_sentence"]

NAMES = {
    "dataset": "data set",
    "condition": "condition",
    "observer": "observer",
    "observer_a": "first observer",
    "observer_b": "second observer",
}
# So many labels of entries a sentence names.
MOST_LABELS = 3


def contrast_sentence(
    result: Result,
    first: Which,
    second: Which | None = None,
    *,
    interval: str | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    digits: int = 2,
) -> str:
    """Say a mean of entries, or a difference of two, as papers report them.

    Parameters
    ----------
    result : Result
    first, second : str, sequence of str, or mapping
        As in `alikely.difference`; without `second` the mean of the first, as `alikely.mean` has
        it.
    interval : {"analytic", "bootstrap", "posterior"}, optional
        Whose interval, as in `alikely.Result.sentence`.
    ci_prob, ci_kind : float and {"eti", "hdi"}, optional
        As in the analysis if not given.
    digits : int
        Decimals.

    Returns
    -------
    str
        The mean or difference with its interval, how that came about, for whom it speaks, and
        whether it lies beside 0.

    Raises
    ------
    TypeError
        If `result` is no `Result`.
    ValueError
        As in `alikely.difference` and `alikely.Result.sentence`.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> result = al.error_consistency(trials, "human-human", n_draws=0, n_resamples=0, rng=1)
    >>> text = al.estimates.contrast_sentence(result, {"observer": "human_1"})
    >>> print(text)  # doctest: +NORMALIZE_WHITESPACE, +ELLIPSIS
    The mean error consistency of the 3 comparisons with observer human_1 was .40, 95 % CI ...
    """
    if not isinstance(result, Result):
        raise TypeError(
            f"expected a Result, got {type(result).__name__}; of a Benchmark, print its verdict "
            "of two machines, or its sentence"
        )
    if interval is not None and chosen_interval(result, interval) == "bca":
        raise ValueError(
            "interval must be one that means have (analytic, bootstrap, posterior); got 'bca'"
        )
    prob, kind = result.interval_options(ci_prob, ci_kind)
    what, of = _named(result, first)
    head = f"the {what} of {of}"
    options: dict[str, Any] = {"ci_prob": prob, "ci_kind": kind}
    shown = None if interval is None else [interval]
    if second is None:
        table = mean(result, first, intervals=shown, **options)
        chosen = entries_of(result, first)
    else:
        table = difference(result, first, second, intervals=shown, **options)
        chosen = np.union1d(entries_of(result, first), entries_of(result, second))
        other, of = _named(result, second)
        head += f" less {'that' if other == what else f'the {other}'} of {of}"
    if table.empty:
        raise ValueError(
            f"this result has no {interval or 'valid'} interval of a mean or difference; make it "
            "again with n_draws=4000"
        )
    school = str(table.index[0])
    estimate = float(_sum(result, first) - (0 if second is None else _sum(result, second)))
    row, wide = table.loc[school], is_wide(result.metric)
    lower, upper = (float(row[name]) for name in bound_names("", kind, prob))
    ends = span(lower, upper, digits, wide)
    value = number(estimate, digits, wide)
    text = f"{capital(head)} was {value}, "
    name = interval_words(school, kind, prob)
    if ends == MISSING:
        reason = f" ({row['note']})" if row["note"] else ""
        return f"{text}without {name}{reason}."
    if school == "posterior":
        text += f"posterior median {number(float(row['estimate']), digits, wide)}, "
    used = chosen[~result.apart()[chosen]]
    ground = trial_words(result.summary(intervals=[]).iloc[used], result)
    whom = population_words(result.metric, school, result.data.attrs)
    shared = " and allows for trials that the comparisons share" if len(chosen) > 1 else ""
    text += (
        f"{name} {ends} ({method_words(result, school, kind)}, over {ground}). The interval "
        f"speaks for {whom}{shared}; it is of this {'mean' if second is None else 'difference'} "
        "alone, unadjusted for others."
    )
    # A difference is judged against 0; a mean against independent errors, where that is one value.
    chance = result.metric.independent if second is None else 0.0
    if chance is not None:
        side = "lies above" if lower > chance else "lies below" if upper < chance else "holds"
        text += f" It {side} {number(chance, 0, leading_zero=True)}"
        text += f"{_odds(row, school) if chance == 0 else ''}."
    return " ".join(filter(None, [text, cautions(pd.Series([row["note"]]), "")]))


def _sum(result: Result, which: Which) -> float:
    """Mean of the estimates of entries that have common trials."""
    chosen = entries_of(result, which)
    met = ~result.apart()[chosen]
    return float(result.estimates["estimate"].values[chosen[met] if met.any() else chosen].mean())


def _named(result: Result, which: Which) -> tuple[str, str]:
    """What a selection of entries is: a mean or the metric itself, and of what."""
    metric, chosen = result.metric, entries_of(result, which)
    if len(chosen) == 1:
        row = result.pairs.iloc[chosen[0]]
        return metric.label, f"{pair_words(row, metric)}{place_words(row, PLACES)}"
    head, n = f"mean {metric.label}", f"{len(chosen):,} comparisons"
    if not isinstance(which, Mapping):
        names = [which] if isinstance(which, str) else list(which)
        if len(names) > MOST_LABELS:
            return head, f"{len(chosen):,} chosen comparisons"
        return head, f"{n} ({listed(names)})"
    parts = [
        f"{NAMES[name]} {' or '.join([labels] if isinstance(labels, str) else labels)}"
        for name, labels in which.items()
    ]
    return head, f"the {n} with {' and '.join(parts)}" if parts else f"all {n}"


def _odds(row: pd.Series, school: str) -> str:
    """What a school says of the sign, besides the interval."""
    if school == "analytic":
        p = float(row["p_value"])
        return "" if np.isnan(p) else f" ({p_words('p', p)}, two-sided)"
    share = float(row["p_positive"])
    what = {"posterior": "probability", "bootstrap": "share of replicates"}[school]
    return f" ({p_words(f'{what} above 0', share)})"
