"""Trials in batches: look at the posterior after each, stop when it is narrow enough.

References
----------
.. [K13] Kruschke (2013). Bayesian estimation supersedes the t test. doi:10.1037/a0029146
.. [R14] Rouder (2014). Optional stopping: no problem for Bayesians. doi:10.3758/s13423-014-0595-4
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.intervals import check_interval
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.metrics import ERROR_CONSISTENCY, Metric, consistency
from alikely.metrics.cell_priors import Prior
from alikely.planning.operating import (
    Setting,
    estimates,
    intervals,
    one_pair,
    true_value,
    unit_variance,
)
from alikely.planning.widths import check_trials, check_width, stated_pairs
from alikely.stats.variance import mean_of_defined

__all__ = ["posterior_by_batch", "sequential_design"]


def posterior_by_batch(
    correct_a: ArrayLike,
    correct_b: ArrayLike,
    batch: int,
    width: float,
    *,
    ci_prob: float | None = None,
    metric: str | Metric = ERROR_CONSISTENCY,
    n_draws: int | None = None,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Posterior interval after each batch of trials, and whether it is narrow enough to stop.

    Parameters
    ----------
    correct_a, correct_b : array_like of 0 and 1, shape (trial,)
        Whether each observer was right, in the order in which trials were run.
    batch : int
        Trials between looks, at least 2.
    width : float
        Interval width wanted, in (0, 2].
    ci_prob : float
        In (0, 1).
    metric : str or Metric
        Of correctness counts.
    n_draws : int
        Posterior draws at each look, at least 100.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior on the cells of posterior intervals, as in `alikely.error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per look, the last after all trials: ``n_trials, accuracy_a, accuracy_b,
        estimate, lower, upper, width, stop``.

    Raises
    ------
    ValueError
        If the answers are not 0 and 1 or differ in number, or a number is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> rng = np.random.default_rng(1)
    >>> a = rng.random(1000) < 0.75
    >>> b = np.where(rng.random(1000) < 0.5, a, rng.random(1000) < 0.75)
    >>> looks = al.planning.posterior_by_batch(a, b, 100, 0.2, rng=1)
    >>> int(looks.loc[looks["stop"], "n_trials"].iloc[0])
    400
    """
    ci_prob = resolve("ci_prob", ci_prob)
    n_draws = resolve("n_draws", n_draws)
    a, b = (np.asarray(x, dtype=np.float64).ravel() for x in (correct_a, correct_b))
    if len(a) != len(b):
        raise ValueError(
            f"correct_a and correct_b must be of the same trials, got {len(a)} and {len(b)}"
        )
    if not (np.isin(a, (0, 1)).all() and np.isin(b, (0, 1)).all()):
        raise ValueError("correct_a and correct_b must hold 0 (wrong) and 1 (right) only")
    if not 2 <= batch <= len(a):
        raise ValueError(f"batch must be from 2 to the number of trials, {len(a)}; got {batch}")
    _check(width, ci_prob, n_draws)
    cell = (3 - 2 * a - b).astype(np.intp)
    ends = np.unique([*range(batch, len(a) + 1, batch), len(a)])
    counts = (cell[:, None] == np.arange(4)).cumsum(axis=0)[ends - 1]
    setting = one_pair(np.full(4, 0.25), metric, prior)
    generator = np.random.default_rng(seed_sequence(rng))
    lower, upper = intervals(counts, setting, "posterior", n_draws, ci_prob, generator).T
    accuracy_a, accuracy_b = consistency.accuracies(counts)
    return pd.DataFrame(
        {
            "n_trials": ends,
            "accuracy_a": accuracy_a,
            "accuracy_b": accuracy_b,
            "estimate": estimates(counts, setting),
            "lower": lower,
            "upper": upper,
            "width": upper - lower,
            "stop": upper - lower <= width,
        }
    )


def sequential_design(
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    width: ArrayLike,
    *,
    batch: int = 100,
    most_trials: int = 10_000,
    ci_prob: float | None = None,
    metric: str | Metric = ERROR_CONSISTENCY,
    n_datasets: int = 2_000,
    n_draws: int = 1_000,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """What stopping when the posterior interval is narrow enough does, by simulation.

    The posterior is right whenever one looks [R14]_, and precision is a fairer reason to stop than
    significance [K13]_; but for a fixed truth a study that may stop on a lucky look does not cover
    exactly as one of fixed size.

    Parameters
    ----------
    accuracy_a, accuracy_b, ec : array_like
        The truth, as in `alikely.planning.interval_width`.
    width : array_like
        Interval width to stop at, in (0, 2]. All four broadcast.
    batch : int
        Trials between looks, at least 2.
    most_trials : int
        Trials at which a study ends in any case, at least one batch.
    ci_prob : float
        In (0, 1).
    metric : str or Metric
        Of correctness counts.
    n_datasets, n_draws : int
        Simulated studies, and posterior draws at each look; at least 100.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior on the cells of posterior intervals, as in `alikely.error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per setting: the inputs (``target`` the width); ``expected_trials``,
        ``trials_q05``, ``trials_q95``; at stopping ``coverage`` of the interval, ``bias`` of the
        estimate, ``mean_width``; ``unfinished_share`` of studies that reached `most_trials` first;
        for comparison ``fixed_trials``, what a study of fixed size needs, and ``fixed_coverage``
        there; ``mc_error`` of either coverage, if it is `ci_prob`.

    Raises
    ------
    ValueError
        If an input is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> plan = al.planning.sequential_design(0.75, 0.75, 0.5, 0.2, n_datasets=200, rng=1)
    >>> bool(350 < plan["expected_trials"][0] < 450)
    True
    """
    ci_prob = resolve("ci_prob", ci_prob)
    rows, setting = stated_pairs(metric, accuracy_a, accuracy_b, ec, prior, target=width)
    check_trials([batch])
    for goal in rows["target"]:
        _check(goal, ci_prob, n_draws)
    if n_datasets < 100:
        raise ValueError(f"n_datasets must be at least 100, got {n_datasets}")
    if most_trials < batch:
        raise ValueError(
            f"most_trials must be at least one batch of {batch} trials, got {most_trials}"
        )
    jobs = [
        (setting.row(i), goal, batch, most_trials, ci_prob, n_datasets, n_draws, seed)
        for i, (goal, seed) in enumerate(
            zip(rows["target"], seed_sequence(rng).spawn(len(rows)), strict=True)
        )
    ]
    return rows.join(pd.DataFrame(list(in_parallel(_stopped, jobs))))


def _check(width: float, ci_prob: float, n_draws: int) -> None:
    check_width(width)
    check_interval(ci_prob, "eti")
    if n_draws < 100:
        raise ValueError(f"n_draws must be at least 100, got {n_draws}")


def _stopped(
    setting: Setting,
    goal: float,
    batch: int,
    most_trials: int,
    ci_prob: float,
    n_datasets: int,
    n_draws: int,
    seed: np.random.SeedSequence,
) -> dict[str, float]:
    """Run studies until each has stopped."""
    rng = np.random.default_rng(seed)
    p = setting.probabilities / setting.probabilities.sum()
    truth = float(true_value(setting))
    counts = np.zeros((n_datasets, 4), dtype=np.int64)
    bounds = np.full((n_datasets, 2), np.nan)
    running = np.arange(n_datasets)
    n = 0
    while len(running) and n < most_trials:
        step = min(batch, most_trials - n)
        n += step
        counts[running] += rng.multinomial(step, p, size=len(running))
        found = intervals(counts[running], setting, "posterior", n_draws, ci_prob, rng)
        bounds[running] = found
        running = running[found[:, 1] - found[:, 0] > goal]
    n_trials, value = counts.sum(axis=1), estimates(counts, setting)
    z = special.ndtri((1 + ci_prob) / 2)
    fixed = max(2, int(np.ceil((2 * z / goal) ** 2 * unit_variance(setting))))
    same = rng.multinomial(fixed, p, size=n_datasets)
    fixed_bounds = intervals(same, setting, "posterior", n_draws, ci_prob, rng)
    early, late = np.quantile(n_trials, [0.05, 0.95])
    return {
        "expected_trials": float(n_trials.mean()),
        "trials_q05": early,
        "trials_q95": late,
        "coverage": _covered(bounds, truth),
        "bias": float(mean_of_defined(value) - truth),
        "mean_width": float((bounds[:, 1] - bounds[:, 0]).mean()),
        "unfinished_share": len(running) / n_datasets,
        "fixed_trials": fixed,
        "fixed_coverage": _covered(fixed_bounds, truth),
        "mc_error": float(np.sqrt(ci_prob * (1 - ci_prob) / n_datasets)),
    }


def _covered(bounds: Floats, truth: float) -> float:
    return float(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1])).mean())
