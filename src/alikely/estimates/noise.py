"""Repeated items: single responses, majority votes, and noise-corrected correlations.

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


def response_noise(
    trials: Trials,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    ci_prob: float | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate noise-corrected correlations and the proportion of errors due to response noise.

    Use this function for observers that responded to the same items several times, such as
    repeatedly sampled language models.

    Parameters
    ----------
    trials : Trials
        Trials with repeated items.
    pairs, by, no_response
        As in `alikely.compare`.
    ci_prob : float
        Probability level of the intervals, in (0, 1).

    Returns
    -------
    observers : pandas.DataFrame
        One row per observer and group of trials:

        - ``n_items``, the number of items answered at least twice; ``n_answers``, the number of
          responses to these items; ``accuracy``
        - ``noise_fraction`` with ``se`` and bounds: proportion of errors due to response noise;
          such errors would not recur in another response to the same item
        - ``note``
    pairs : pandas.DataFrame
        One row per pair and group, with standard errors (suffix ``_se``):

        - ``single``: error consistency between individual responses
        - ``majority``: error consistency between majority votes (a tie counts as half correct)
        - ``noise_corrected`` with bounds: correlation across items between the observers'
          proportions correct, corrected for response noise [S04]_
        - ``note``

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object.
    ValueError
        If no item is repeated. See also `alikely.compare`.

    Notes
    -----
    Let ``p`` be the proportion correct among ``R`` responses to an item. ``p (1 - p) R / (R - 1)``
    is an unbiased estimate of the probability that one response is incorrect and another response
    is correct. ``noise_fraction`` is the mean of this estimate divided by the mean of ``1 - p``.
    The noise variance of ``p`` for ``R`` responses, ``p (1 - p) / (R - 1)``, is subtracted from the
    variance of ``p`` across items before correlations are computed. Standard errors are computed
    from the influence of each item [H74]_. Standard errors of the correlation are computed with a
    jackknife over items [M74]_. The interval for ``noise_fraction`` is computed on the logit scale.
    The interval for the correlation uses Student's t distribution.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.repeated_answers(400, (5, 5), within=1.0, rng=1)
    >>> observers, pairs = al.estimates.response_noise(trials)
    >>> observers["noise_fraction"].tolist()
    [0.0, 0.0]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    if not isinstance(trials, Trials):
        raise TypeError(f"expected Trials, got {type(trials).__name__}")
    check_interval(ci_prob, "eti")
    table = joint_correctness(trials, pairs, by, no_response, repeats="crossed")
    if "answers" not in table:
        raise ValueError(
            "no item is repeated; repeats are trials with the same data set, condition and item, "
            "and different numbers in the column repeat"
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
    told = bound_columns("noise_fraction", "ci", ci_prob, np.stack(ends.to_list()))
    frame = frame.assign(**told)
    missing = missing_note_of(trials.data, no_response, observers=frame["observer"].tolist())
    own, of_pair = (with_notes(part, missing) for part in (frame, pd.DataFrame(of_pairs)))
    return own[[*own.columns.drop("note"), "note"]], of_pair


def _error(influence: Floats, items: NDArray[np.intp]) -> float:
    """Standard error of a mean of influences, summed for items in several conditions."""
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
    unknown = {"noise_fraction": np.nan, "se": np.nan, "ends": np.full(2, np.nan)}
    if not len(p):
        return {**out, **unknown, "note": "one response to each item: response noise is unknown"}
    wrong = 1 - p
    if not wrong.any():
        return {**out, **unknown, "note": "no error"}
    unlike = p * wrong * n / (n - 1)
    value = float(unlike.mean() / wrong.mean())
    influence = (unlike - value * wrong) / wrong.mean()
    se = _error(influence, items[again])
    found = {**out, "noise_fraction": value, "se": se, "note": ""}
    if not 0 < value < 1:
        # All responses to an item are equal: there is no variance.
        return {**found, "ends": np.full(2, np.nan), "note": "all responses to an item are equal"}
    half = deviate * se / (value * (1 - value))
    return {**found, "ends": special.expit(special.logit(value) + np.array([-half, half]))}


def _noise_free(
    share: Floats, answers: NDArray[np.int64], items: NDArray[np.intp]
) -> tuple[float, float, int, str]:
    """Noise-corrected correlation over items, its standard error, df and note."""
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
    # Jackknife: influences give lower coverage, because their denominator is noisy.
    without = _correlation(whole[:, None] - sums)
    number = len(without)
    se = float(np.sqrt((number - 1) / number * ((without - without.mean()) ** 2).sum()))
    note = "above 1: sampling error, or noise is overestimated" if value > 1 else ""
    if np.isnan(se):
        note = "without one of the items, the others differ by no more than noise"
    return value, se, number - 1, note


def _correlation(sums: Floats) -> Floats:
    """Compute from sums of 1, both proportions, corrected squares and products; NaN without any."""
    n, a, b, aa, bb, ab = sums
    variance = (aa / n - (a / n) ** 2, bb / n - (b / n) ** 2)
    # Equal proportions differ by rounding.
    known = (variance[0] > 1e-12) & (variance[1] > 1e-12)
    scale = np.sqrt(np.where(known, variance[0] * variance[1], np.nan))
    return np.asarray((ab / n - a * b / n**2) / scale)


def _majority(table: xr.Dataset) -> xr.Dataset:
    """A table of majority votes; a tie is half correct."""
    share = table["correct"].values
    vote = np.where(share == LEFT_OUT, LEFT_OUT, (1 + np.sign(share - 0.5)) / 2)
    out = table.assign(correct=(("observer", "trial"), vote))
    cells = np.zeros(table["cells"].shape)
    for block in blocks(out):
        cells[block.rows] = block.shares().sum(axis=2)
    return out.assign(cells=(("pair", "cell"), cells))
