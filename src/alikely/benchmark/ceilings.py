"""Scores as a share of their ceiling, with the error of both.

References
----------
.. [NK14] Nili, Wingfield, Walther, Su, Marslen-Wilson, Kriegeskorte (2014). A toolbox for
   representational similarity analysis. doi:10.1371/journal.pcbi.1003553
.. [F54] Fieller (1954). Some problems in interval estimation.
   doi:10.1111/j.2517-6161.1954.tb00159.x
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.checks import known_kind
from alikely.benchmark.layout import OVERALL
from alikely.data.blocks import LEFT_OUT
from alikely.data.repeats import presented
from alikely.data.summaries import missing_note_of
from alikely.data.tables import correctness
from alikely.data.trials import Trials
from alikely.metrics import Metric

__all__ = ["consensus_ceilings", "fieller_interval"]


def fieller_interval(
    numerator: float,
    denominator: float,
    variance_numerator: float,
    variance_denominator: float,
    covariance: float,
    ci_prob: float = 0.95,
    df: float = np.inf,
) -> tuple[float, float]:
    """Confidence set of a ratio of two normal estimates [F54]_."""
    if not 0 < ci_prob < 1:
        raise ValueError(f"ci_prob must lie strictly between 0 and 1, got {ci_prob}; try 0.95")
    if variance_numerator < 0 or variance_denominator < 0:
        raise ValueError("variances must not be negative")
    if not np.isfinite([variance_numerator, variance_denominator, covariance]).all():
        return np.nan, np.nan
    z2 = stats.t.ppf((1 + ci_prob) / 2, df) ** 2
    a = denominator**2 - z2 * variance_denominator
    b = numerator * denominator - z2 * covariance
    c = numerator**2 - z2 * variance_numerator
    if a <= 0:
        return -np.inf, np.inf
    half = np.sqrt(max(b**2 - a * c, 0.0))
    return float((b - half) / a), float((b + half) / a)


def consensus_ceilings(
    trials: Trials, metric: Metric, *, humans: str = "human", no_response: str = "error"
) -> pd.DataFrame:
    """Bounds on how consistent any machine could be with these humans [NK14]_.

    The consensus is the majority of humans on a trial; where as many are right as wrong it is half
    right. Where items came back, an item is a trial, and a vote the share of a human's right
    answers. Its consistency with a human who took part in it is an upper bound, with a human left
    out of it a lower one: a machine below the lower bound misses what humans share.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    metric : Metric
        Estimand of the cells ``n11, n10, n01, n00``, with its influence function.
    humans : str
        Kind of the observers.
    no_response : {"error", "drop"}
        As in `alikely.data.joint_correctness`.

    Returns
    -------
    pandas.DataFrame
        One row per data set, and ``overall``: ``level, lower, lower_se, upper, upper_se``, means
        over conditions, then humans, then data sets; errors speak for new images and these humans.

    Raises
    ------
    ValueError
        If a data set has fewer than three humans, of which two are left to agree.

    Examples
    --------
    >>> import alikely as al
    >>> table = consensus_ceilings(al.load_example(), al.metrics.ERROR_CONSISTENCY)
    >>> bool((table["lower"] < table["upper"]).all())
    True
    """
    data, items = trials.data, presented(trials.data)
    known_kind("humans", humans, data["kind"].values)
    answers = data["correct"].values[data["kind"].values == humans]
    correct: NDArray[Any] = correctness(answers, no_response)
    if items is not None:
        correct, data = items.shares(correct), data.isel(trial=items.first)
    datasets, conditions = data["dataset"].values, data["condition"].values
    rows = []
    for dataset in dict.fromkeys(datasets.tolist()):
        here = datasets == dataset
        people = np.flatnonzero((correct[:, here] != LEFT_OUT).any(axis=1))
        if len(people) < 3:
            raise ValueError(
                f"consensus ceilings need at least 3 humans in each data set, {dataset!r} has "
                f"{len(people)}; leave it out with trials.select(dataset=[...])"
            )
        row: dict[str, str | float] = {"level": dataset}
        for name, leave_out in (("lower", True), ("upper", False)):
            parts = []
            for condition in dict.fromkeys(conditions[here].tolist()):
                block = correct[np.ix_(people, np.flatnonzero(here & (conditions == condition)))]
                parts.append(_with_consensus(block, leave_out, metric))
            values = np.array([value for value, _ in parts])
            # Per human, the mean over conditions in which the consensus has a value.
            counts = np.isfinite(values).sum(axis=0)
            weight = np.isfinite(values) / np.maximum(counts, 1) / max((counts > 0).sum(), 1)
            row[name] = float(np.where(np.isfinite(values), weight * values, 0).sum())
            variance = sum(
                ((w[:, None] * influence).sum(axis=0) ** 2).sum()
                for w, (_, influence) in zip(weight, parts, strict=True)
            )
            row[f"{name}_se"] = float(np.sqrt(variance))
        rows.append(row)
    frame = pd.DataFrame(rows)
    overall: dict[str, str | float] = {"level": OVERALL}
    for name in ("lower", "upper"):
        overall[name] = frame[name].mean()
        overall[f"{name}_se"] = float(np.sqrt((frame[f"{name}_se"] ** 2).sum()) / len(frame))
    table = pd.concat([frame, pd.DataFrame([overall])], ignore_index=True)
    return table.assign(note=missing_note_of(trials.data, no_response, humans))


def _with_consensus(
    correct: NDArray[Any], leave_out: bool, metric: Metric
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Consistency of each human with the consensus, and the influence of each trial on it."""
    answered = correct != LEFT_OUT
    right, total = np.where(answered, correct, 0), answered.astype(np.float64)
    votes, voters = right.sum(axis=0)[None], total.sum(axis=0)[None]
    if leave_out:
        votes, voters = votes - right, voters - total
    # Shares of items that came back are tied but for rounding.
    margin = np.sign(np.round(2 * votes - voters, 9))
    consensus = np.broadcast_to((1 + margin) / 2, correct.shape)
    used = answered & (np.broadcast_to(voters, correct.shape) > 0)
    shares = (
        np.stack(
            [
                right * consensus,
                right * (1 - consensus),
                (1 - right) * consensus,
                (1 - right) * (1 - consensus),
            ],
            axis=-1,
        )
        * used[..., None]
    )
    cells = shares.sum(axis=1)
    value = metric.value(cells)
    psi = np.where(np.isfinite(value)[:, None], metric.influence(cells), 0.0)
    influence = np.einsum("htc,hc->ht", shares, psi) / np.maximum(used.sum(axis=1), 1)[:, None]
    return value, influence
