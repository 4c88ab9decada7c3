"""What further answers to the same items buy, from a pilot in which items came back.

References
----------
.. [B01] Brennan (2001). Generalizability theory. doi:10.1007/978-1-4757-3456-0
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely.data.blocks import LEFT_OUT, Block, blocks
from alikely.estimates.result import Result
from alikely.metrics import Metric

__all__ = ["further_repeats"]

ALONE = "observer_{side} gave one answer to each item: what more would do is not known"


def further_repeats(
    result: Result,
    n_repeats_a: ArrayLike = (1, 2, 3, 5, 10),
    n_repeats_b: ArrayLike | None = None,
    n_items: int | None = None,
) -> pd.DataFrame:
    """Standard errors with other numbers of answers to each item, and of items.

    The variance of an estimate over items is that of what the items are, and of the noise of single
    answers of either observer: components of a design in which answers are nested in items [B01]_,
    here of the influences of items on the estimate [H74]_.

    Parameters
    ----------
    result : Result
        Of a metric of correctness, such as error consistency, on trials with repeats.
    n_repeats_a, n_repeats_b : array_like of int
        Answers of the first and of the second observer to each item, at least 1; they are broadcast
        together, and `n_repeats_b` is `n_repeats_a` if not given.
    n_items : int, optional
        Items of the study to come, at least 2; those of the pilot if not given.

    Returns
    -------
    pandas.DataFrame
        One row per entry and design: labels, ``n_items``, ``n_repeats_a, n_repeats_b``, ``se``, and
        the shares of the variance that are due to ``items`` (which no repeats reduce), to
        ``answers_a``, to ``answers_b`` (what hangs on both is divided among them). NaN with the
        reason in ``note`` where an observer answered every item once and more answers are asked
        for.

    Raises
    ------
    TypeError
        If `result` is none.
    ValueError
        If it has no items that came back, or some in several conditions of a group, is of no metric
        of correctness, or a number is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.repeated_answers(200, (1, 4), within=0.5, rng=1)
    >>> pilot = al.error_consistency(trials, n_resamples=0, n_draws=0, n_null=0)
    >>> table = al.planning.further_repeats(pilot, 1, [1, 2, 4, 100])
    >>> bool((table["se"].diff().dropna() < 0).all())
    True
    """
    if not isinstance(result, Result):
        raise TypeError(f"expected a Result, got {type(result).__name__}; make one with al.compare")
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
    first = np.asarray(n_repeats_a)
    designs = np.broadcast_arrays(first, first if n_repeats_b is None else np.asarray(n_repeats_b))
    numbers = np.stack([np.ravel(x) for x in designs], axis=1)
    if numbers.dtype.kind not in "iu" or numbers.min(initial=1) < 1:
        raise ValueError(f"numbers of repeats must be whole and at least 1, got {numbers.tolist()}")
    if n_items is not None and n_items < 2:
        raise ValueError(f"n_items must be at least 2, got {n_items}")
    rows = []
    for block in blocks(table):
        answers = table["answers"].values[:, block.trials]
        sides = (table[name].values[block.rows] for name in ("first", "second"))
        for p, (a, b) in enumerate(zip(*sides, strict=True)):
            parts = _components(block, p, answers[[a, b]], metric)
            labels = result.pairs.iloc[block.rows.start + p].to_dict()
            rows += [labels | _expected(parts, design, n_items) for design in numbers.tolist()]
    return pd.DataFrame(rows)


class _Components(NamedTuple):
    """Variance of what one item adds: of items, and of single answers to them."""

    items: float
    a: float
    b: float
    both: float
    n_items: int


def _components(block: Block, pair: int, answers: NDArray[np.int64], metric: Metric) -> _Components:
    """Components of one pair; NaN for those of an observer who answered every item once."""
    share = block.correct[[block.a[pair], block.b[pair]]]
    common = (share != LEFT_OUT).all(axis=0)
    if not common.any():
        return _Components(np.nan, np.nan, np.nan, np.nan, 0)
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
    return _Components(max(float(items), 0.0), a, b, both, len(p))


def _of_one_answer(share: Floats, n: Floats) -> Floats:
    """Variance of one answer to each item; NaN where there was but one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, share * (1 - share) * n / (n - 1), np.nan)


def _expected(parts: _Components, design: list[int], n_items: int | None) -> dict[str, object]:
    n_a, n_b = design
    items = parts.n_items if n_items is None else n_items
    out: dict[str, object] = {"n_items": items, "n_repeats_a": n_a, "n_repeats_b": n_b}
    lost = [
        side for side, n in (("a", n_a), ("b", n_b)) if n > 1 and np.isnan(getattr(parts, side))
    ]
    if lost or not parts.n_items:
        note = ALONE.format(side=lost[0]) if parts.n_items else "no common trial"
        unknown = dict.fromkeys(("se", "items", "answers_a", "answers_b"), np.nan)
        return {**out, **unknown, "note": note}
    # The noise of who answered once is in what items are: that stays as it is.
    a, b, both = np.nan_to_num([parts.a / n_a, parts.b / n_b, parts.both / (n_a * n_b)])
    variance = parts.items + a + b + both
    shares = {"items": parts.items, "answers_a": a + both / 2, "answers_b": b + both / 2}
    divided = {name: part / variance if variance else np.nan for name, part in shares.items()}
    return {**out, "se": float(np.sqrt(variance / items)), **divided, "note": ""}
