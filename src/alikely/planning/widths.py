"""How many trials one error consistency needs: for an interval of a width.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.planning.operating import (
    Method,
    Setting,
    Study,
    central_range,
    check_options,
    describe,
    draw_tables,
    estimates,
    is_simulated,
    one_pair,
    unit_variance,
)
from alikely.simulate import cell_probabilities
from alikely.stats.intervals import check_interval
from alikely.stats.search import own_seed, smallest_number

__all__ = [
    "check_accuracies",
    "check_stated",
    "check_trials",
    "check_width",
    "interval_width",
    "stated_pairs",
    "trials_for_width",
]

STATED = ("accuracy_a", "accuracy_b", "ec")


def interval_width(
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    n_trials: ArrayLike,
    *,
    method: Method = "auto",
    ci_prob: float = 0.95,
    metric: str | Metric = ERROR_CONSISTENCY,
    n_datasets: int = 20_000,
    n_coverage: int = 0,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Width of the interval of error consistency that a number of trials gives [K25]_.

    Parameters
    ----------
    accuracy_a, accuracy_b : array_like
        Accuracies of the two observers, in (0, 1).
    ec : array_like
        Error consistency, within what the accuracies allow.
    n_trials : array_like of int
        Number of trials, at least 2. All four broadcast: for a grid give one of them as a column.
    method : {"auto", "analytic", "simulated"}
        Analytic [FCE69]_: at once, and within 3 % where at least 10 trials are expected in each
        cell of the table. Simulated: range of the estimates of simulated data sets. ``"auto"``
        simulates where fewer are expected.
    ci_prob : float
        In (0, 1).
    metric : str or Metric
        Of correctness counts; of other estimands `ec` still describes the observers.
    n_datasets : int
        Simulated data sets, at least 100.
    n_coverage : int
        Data sets in which the intervals of every school are computed too; 0 for none.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same numbers on any number of workers.

    Returns
    -------
    pandas.DataFrame
        One row per setting: the inputs; ``method`` used; ``width`` of the range from ``lower`` to
        ``upper`` in which the central `ci_prob` of estimates lie (by their standard error, if
        analytic); ``se``; ``bias`` of the estimate; ``undefined_share`` of data sets; with
        `n_coverage` also ``<school>_coverage``, mean ``<school>_width`` and ``<school>_power``
        (0 excluded) of the analytic, bootstrap and posterior intervals; ``note``.

    Raises
    ------
    ValueError
        If an input is out of range; for `ec` the message gives the bounds.

    Examples
    --------
    >>> import alikely as al
    >>> al.planning.interval_width([0.75, 0.9], [0.75, 0.9], 0.5, 400)["width"].round(2).tolist()
    [0.2, 0.28]
    """
    rows, setting = stated_pairs(metric, accuracy_a, accuracy_b, ec, n_trials=n_trials)
    check_options(method, n_datasets, n_coverage)
    check_interval(ci_prob, "eti")
    check_trials(rows["n_trials"])
    n = rows.pop("n_trials").to_numpy(dtype=np.int64)
    study = Study(ci_prob, n_datasets, n_coverage)
    return describe(rows, setting, n, is_simulated(setting, n, method), study, rng)


def trials_for_width(
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    width: ArrayLike,
    *,
    method: Method = "auto",
    ci_prob: float = 0.95,
    metric: str | Metric = ERROR_CONSISTENCY,
    n_datasets: int = 20_000,
    n_coverage: int = 1_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Number of trials that gives an interval of a width.

    Parameters
    ----------
    accuracy_a, accuracy_b, ec : array_like
        As in `interval_width`.
    width : array_like
        Width wanted, in (0, 2]. All four broadcast.
    method, ci_prob, metric, n_datasets, n_coverage, rng
        As in `interval_width`.

    Returns
    -------
    pandas.DataFrame
        As from `interval_width` at the number of trials found, with ``target`` before it.

    Raises
    ------
    ValueError
        If an input is out of range; for `ec` the message gives the bounds.

    Examples
    --------
    >>> import alikely as al
    >>> plan = al.trials_for_width(0.75, 0.75, 0.5, [0.2, 0.1], n_coverage=0)
    >>> plan["n_trials"].tolist()
    [385, 1537]
    """
    rows, setting = stated_pairs(metric, accuracy_a, accuracy_b, ec, target=width)
    check_options(method, n_datasets, n_coverage)
    check_interval(ci_prob, "eti")
    check_width(rows["target"])
    study = Study(ci_prob, n_datasets, n_coverage)
    searching, describing = seed_sequence(rng).spawn(2)
    z = special.ndtri((1 + ci_prob) / 2)
    # Rounding must not cost a trial where the formula gives a whole number.
    exact = (2 * z / rows["target"].to_numpy()) ** 2 * unit_variance(setting)
    n = np.maximum(np.ceil(exact - 1e-9), 2).astype(np.int64)
    simulated = is_simulated(setting, n, method)
    at = np.flatnonzero(simulated).tolist()
    jobs = [
        (setting.row(i), rows["target"][i], n[i], study, seed)
        for i, seed in zip(at, searching.spawn(len(at)), strict=True)
    ]
    n[at] = list(in_parallel(_number_for_width, jobs))
    return describe(rows, setting, n, simulated, study, describing)


def check_accuracies(values: NDArray[np.float64], name: str) -> None:
    """Refuse accuracies that say nothing (`ValueError`)."""
    outside = ~((values > 0) & (values < 1))
    if outside.any():
        raise ValueError(
            f"{name} must lie strictly between 0 and 1, got {values[outside].flat[0]:g}: without "
            "errors (or right answers) nobody can say whose errors are alike"
        )


def check_stated(values: ArrayLike, name: str) -> None:
    """Refuse a missing error consistency (`ValueError`)."""
    numbers = np.asarray(values, dtype=np.float64)
    missing = ~np.isfinite(numbers)
    if missing.any():
        raise ValueError(
            f"{name} must be an error consistency in [-1, 1], got {numbers[missing].flat[0]:g}"
        )


def check_trials(values: ArrayLike) -> None:
    """Refuse numbers of trials that are not whole or below 2 (`ValueError`)."""
    numbers = np.asarray(values, dtype=np.float64)
    bad = ~((numbers >= 2) & np.isfinite(numbers) & (numbers == np.floor(numbers)))
    if bad.any():
        raise ValueError(
            f"n_trials must be whole numbers of at least 2, got {numbers[bad].flat[0]:g}"
        )


def check_width(values: ArrayLike) -> None:
    """Refuse widths outside (0, 2] (`ValueError`)."""
    widths = np.asarray(values, dtype=np.float64)
    bad = ~((widths > 0) & (widths <= 2))
    if bad.any():
        raise ValueError(
            "width must lie in (0, 2], as error consistency lies in [-1, 1]; got "
            f"{widths[bad].flat[0]:g}"
        )


def stated_pairs(
    metric: str | Metric,
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    **other: ArrayLike,
) -> tuple[pd.DataFrame, Setting]:
    """One row for each combination of the broadcast inputs, and what they describe."""
    stated = dict(zip(STATED, (accuracy_a, accuracy_b, ec), strict=True)) | other
    arrays = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in stated.values()))
    rows = pd.DataFrame({name: x.ravel() for name, x in zip(stated, arrays, strict=True)})
    for name in STATED[:2]:
        check_accuracies(rows[name].to_numpy(), name)
    check_stated(rows["ec"], "ec")
    return rows, one_pair(cell_probabilities(*(rows[name].to_numpy() for name in STATED)), metric)


def _number_for_width(
    setting: Setting, goal: float, start: int, study: Study, seed: np.random.SeedSequence
) -> int:
    def narrowness(n: int) -> float:
        counts = draw_tables(setting, n, study.n_datasets, own_seed(seed, n))
        lower, upper = central_range(estimates(counts, setting), study.ci_prob)
        # All estimates alike: nothing narrower is to be had.
        return -float(np.log(upper - lower)) if upper != lower else np.inf

    return smallest_number(narrowness, start, -np.log(goal), np.log, np.exp, slack=0.02)
