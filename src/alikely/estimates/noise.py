"""Observers who are asked again: single answers, majority votes, and what is left without noise.

References
----------
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
.. [M74] Miller (1974). The jackknife: a review. doi:10.1093/biomet/61.1.1
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.frames import with_notes
from alikely._base.intervals import bound_columns, check_interval
from alikely._base.settings import resolve
from alikely.data.blocks import LEFT_OUT, blocks, cluster_numbers
from alikely.data.summaries import missing_note_of
from alikely.data.tables import By, Pairs, joint_correctness
from alikely.data.trials import Trials
from alikely.inference.influence import estimate

__all__ = ["response_noise"]


def response_noise(
    trials: Trials,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    ci_prob: float | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate the part of errors due to response noise, and noise-corrected correlations.

    For observers who answered the same items several times, such as language models that were
    sampled.

    Parameters
    ----------
    trials : Trials
        With repeats.
    pairs, by, no_response
        As in `alikely.compare`.
    ci_prob : float
        Of the intervals, in (0, 1).

    Returns
    -------
    observers : pandas.DataFrame
        One row per observer and group of trials: ``n_items`` (answered at least twice),
        ``n_answers`` to them, ``accuracy``; ``noise_share`` of its errors, those that another
        answer to the same item would not repeat, with ``se`` and bounds; ``note``.
    pairs : pandas.DataFrame
        One row per pair and group: ``single``, error consistency of single answers, ``majority``,
        of majority votes (a tie is half right), and ``noise_corrected``, the correlation over items
        of how often either is right, corrected for the noise of answers [S04]_, each with its
        standard error; bounds of ``noise_corrected``; ``note``.

    Raises
    ------
    TypeError
        If `trials` is none.
    ValueError
        If no item came back, or as in `alikely.compare`.

    Notes
    -----
    With the share ``p`` of right answers among ``R``, ``p (1 - p) R / (R - 1)`` is an unbiased
    estimate of the chance that of two answers the first is wrong and the second right; the noise
    share is its mean over that of ``1 - p``. The noise of ``p`` has the variance
    ``p (1 - p) / (R - 1)``, which is taken from the variances of the correlation. Standard errors
    are those of influences of items [H74]_, of the correlation that of the jackknife over items
    [M74]_; the interval of the share is on the logit scale, that of the correlation Student's.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.repeated_answers(400, (5, 5), within=1.0, rng=1)
    >>> observers, pairs = al.estimates.response_noise(trials)
    >>> observers["noise_share"].tolist()
    [0.0, 0.0]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    if not isinstance(trials, Trials):
        raise TypeError(f"expected Trials, got {type(trials).__name__}")
    check_interval(ci_prob, "eti")
    table = joint_correctness(trials, pairs, by, no_response, repeats="crossed")
    if "answers" not in table:
        raise ValueError(
            "no item came back: repeats are trials of the same data set, condition and item with "
            "other numbers in column repeat"
        )
    deviate = float(special.ndtri((1 + ci_prob) / 2))
    unit = "item" if table.attrs["recurring"] == "one item" else None
    items = cluster_numbers(table, "item") if unit else np.arange(table.sizes["trial"])
    observers, freed = [], []
    for block in blocks(table):
        here = table.isel(pair=block.rows)
        group = {name: here[name].values[0] for name in ("dataset", "condition")}
        answers = table["answers"].values[:, block.trials]
        share = table["correct"].values[:, block.trials]
        used = np.unique([here["first"].values, here["second"].values])
        for observer in used.tolist():
            row = _of_observer(share[observer], answers[observer], items[block.trials], deviate)
            observers.append({**group, "observer": trials.observers[observer], **row})
        for a, b in zip(here["first"].values, here["second"].values, strict=True):
            freed.append(_noise_free(share[[a, b]], answers[[a, b]], items[block.trials]))
    single, majority = (estimate(each, cluster=unit) for each in (table, _majority(table)))
    correlation, se, df, note = (np.array(column) for column in zip(*freed, strict=True))
    half = stats.t.ppf((1 + ci_prob) / 2, df) * se
    bounds = np.stack([correlation - half, correlation + half], axis=-1)
    labels = ("dataset", "condition", "observer_a", "observer_b")
    of_pairs = {name: table[name].values for name in labels}
    for name, found in (("single", single), ("majority", majority)):
        of_pairs |= {name: found["estimate"].values, f"{name}_se": found["se"].values}
    of_pairs |= {"noise_corrected": correlation, "noise_corrected_se": se}
    of_pairs |= {**bound_columns("noise_corrected", "ci", ci_prob, bounds), "note": note}
    frame = pd.DataFrame(observers)
    ends = frame.pop("ends")
    told = bound_columns("noise_share", "ci", ci_prob, np.stack(ends.to_list()))
    frame = frame.assign(**told)
    missing = missing_note_of(trials.data, no_response, observers=frame["observer"].tolist())
    own, of_pair = (with_notes(part, missing) for part in (frame, pd.DataFrame(of_pairs)))
    return own[[*own.columns.drop("note"), "note"]], of_pair


def _error(influence: Floats, items: NDArray[np.intp]) -> float:
    """Standard error of a mean of influences, those of an item in several conditions together."""
    together = np.bincount(np.unique(items, return_inverse=True)[1], influence)
    return float(np.sqrt((together**2).sum()) / len(influence))


def _of_observer(
    share: Floats, answers: NDArray[np.int64], items: NDArray[np.intp], deviate: float
) -> dict[str, Any]:
    again = answers > 1
    p, n = share[again], answers[again].astype(np.float64)
    out: dict[str, Any] = {
        "n_items": int(again.sum()),
        "n_answers": int(n.sum()),
        "accuracy": float(p.mean()) if len(p) else np.nan,
    }
    unknown = {"noise_share": np.nan, "se": np.nan, "ends": np.full(2, np.nan)}
    if not len(p):
        return {**out, **unknown, "note": "one answer to each item: its noise is not known"}
    wrong = 1 - p
    if not wrong.any():
        return {**out, **unknown, "note": "no error"}
    unlike = p * wrong * n / (n - 1)
    value = float(unlike.mean() / wrong.mean())
    influence = (unlike - value * wrong) / wrong.mean()
    se = _error(influence, items[again])
    found = {**out, "noise_share": value, "se": se, "note": ""}
    if not 0 < value < 1:
        # All answers to an item alike: there is no spread to judge by.
        return {**found, "ends": np.full(2, np.nan), "note": "all answers to an item are alike"}
    half = deviate * se / (value * (1 - value))
    return {**found, "ends": special.expit(special.logit(value) + np.array([-half, half]))}


def _noise_free(
    share: Floats, answers: NDArray[np.int64], items: NDArray[np.intp]
) -> tuple[float, float, int, str]:
    """Correlation of two observers' strengths over items, its error and freedom, and a note."""
    both = (answers > 1).all(axis=0)
    labels, unit = np.unique(items[both], return_inverse=True)
    if len(labels) < 3:
        return np.nan, np.nan, 1, "fewer than 3 items that both answered twice"
    p, n = share[:, both], answers[:, both].astype(np.float64)
    noise = p * (1 - p) / (n - 1)
    each = np.stack([np.ones_like(p[0]), *p, *(p**2 - noise), p[0] * p[1]])
    sums = np.stack([np.bincount(unit, row) for row in each]).astype(np.float64)
    whole = sums.sum(axis=1)
    value = float(_correlation(whole))
    if np.isnan(value):
        return np.nan, np.nan, 1, "items differ by no more than noise"
    # The jackknife: influences hold less often, since what they are divided by is noisy, too.
    without = _correlation(whole[:, None] - sums)
    number = len(without)
    se = float(np.sqrt((number - 1) / number * ((without - without.mean()) ** 2).sum()))
    note = "above 1: the noise is overrated, or chance" if value > 1 else ""
    if np.isnan(se):
        note = "without one of its items the others differ by no more than noise"
    return value, se, number - 1, note


def _correlation(sums: Floats) -> Floats:
    """Compute from sums of 1, both proportions, corrected squares and products; NaN without any."""
    n, a, b, aa, bb, ab = sums
    variance = (aa / n - (a / n) ** 2, bb / n - (b / n) ** 2)
    # Equal shares differ by rounding.
    known = (variance[0] > 1e-12) & (variance[1] > 1e-12)
    scale = np.sqrt(np.where(known, variance[0] * variance[1], np.nan))
    return np.asarray((ab / n - a * b / n**2) / scale)


def _majority(table: xr.Dataset) -> xr.Dataset:
    """A table of majority votes; a tie is half right."""
    share = table["correct"].values
    vote = np.where(share == LEFT_OUT, LEFT_OUT, (1 + np.sign(share - 0.5)) / 2)
    out = table.assign(correct=(("observer", "trial"), vote))
    cells = np.zeros(table["cells"].shape)
    for block in blocks(out):
        cells[block.rows] = block.shares().sum(axis=2)
    return out.assign(cells=(("pair", "cell"), cells))
