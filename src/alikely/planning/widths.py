"""How many trials one error consistency needs: for an interval of a width.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [KM03] Kelley, Maxwell (2003). Sample size for multiple regression: obtaining regression
   coefficients that are accurate, not simply significant. doi:10.1037/1082-989X.8.3.305
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.intervals import check_interval
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.cell_priors import Prior
from alikely.planning.operating import (
    N_DRAWS_FOR_WIDTH,
    SCHOOLS,
    Method,
    Setting,
    Study,
    central_range,
    check_options,
    describe,
    draw_tables,
    estimates,
    intervals,
    is_simulated,
    one_pair,
    unit_variance,
)
from alikely.simulate import cell_probabilities
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

# More trials than anybody will have.
MOST_TRIALS = 1e12

School = Literal["posterior", "bootstrap", "analytic"]
# Data sets behind each number of trials that a search for an assurance tries.
N_SEARCH = 200
STATED = ("accuracy_a", "accuracy_b", "ec")


def interval_width(
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    n_trials: ArrayLike,
    *,
    method: Method = "auto",
    ci_prob: float | None = None,
    metric: str | Metric = ERROR_CONSISTENCY,
    n_datasets: int = 20_000,
    n_coverage: int = 0,
    prior: Prior | None = None,
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
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior on the cells of posterior intervals, as in `alikely.error_consistency`.
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
    ci_prob = resolve("ci_prob", ci_prob)
    rows, setting = stated_pairs(metric, accuracy_a, accuracy_b, ec, prior, n_trials=n_trials)
    check_options(method, n_datasets, n_coverage, prior)
    check_interval(ci_prob, "eti")
    check_trials(rows["n_trials"])
    n = rows.pop("n_trials").to_numpy(dtype=np.int64)
    study = Study(ci_prob, n_datasets, n_coverage)
    return describe(rows, setting, n, is_simulated(setting, n, method), study, rng)


def trials_for_width(  # noqa: PLR0913
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    width: ArrayLike,
    *,
    assurance: float | None = None,
    interval: School = "posterior",
    method: Method = "auto",
    ci_prob: float | None = None,
    metric: str | Metric = ERROR_CONSISTENCY,
    n_datasets: int = 20_000,
    n_coverage: int = 1_000,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Number of trials that gives an interval of a width.

    Without `assurance` the width is an expected one: that of the range in which estimates lie. The
    interval of a single experiment is wider than that about as often as not. With `assurance` it
    is the width of the interval that a result will show, and not exceeded in that share of
    experiments [KM03]_.

    Parameters
    ----------
    accuracy_a, accuracy_b, ec : array_like
        As in `interval_width`.
    width : array_like
        Width wanted, in (0, 2]. All four broadcast.
    assurance : float, optional
        Share of experiments whose interval is to be no wider, in (0, 1).
    interval : {"posterior", "bootstrap", "analytic"}
        Whose interval that is.
    method, ci_prob, metric, n_datasets, n_coverage, prior, rng
        As in `interval_width`; `method` of the expected width.

    Returns
    -------
    pandas.DataFrame
        As from `interval_width` at the number of trials found, with ``target``, ``promise``
        (``"expected"``, or the school whose interval is assured) and ``assurance`` (NaN of an
        expected width) before it; with `n_coverage` also ``<school>_assurance``, the share of
        data sets in which the interval of each school is no wider than the target.

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
    >>> al.trials_for_width(0.75, 0.75, 0.5, 0.2, assurance=0.8, n_coverage=0, rng=1)["n_trials"][0]
    np.int64(403)
    """
    ci_prob = resolve("ci_prob", ci_prob)
    rows, setting = stated_pairs(metric, accuracy_a, accuracy_b, ec, prior, target=width)
    assured = assurance is not None and interval == "posterior"
    check_options(method, n_datasets, n_coverage, None if assured else prior)
    check_interval(ci_prob, "eti")
    check_width(rows["target"])
    _check_assurance(assurance, interval)
    study = Study(ci_prob, n_datasets, n_coverage)
    if assurance is not None:
        study = study._replace(n_draws=N_DRAWS_FOR_WIDTH)
    searching, describing = seed_sequence(rng).spawn(2)
    goals = rows["target"].to_numpy()
    z = special.ndtri((1 + ci_prob) / 2)
    # Rounding must not cost a trial where the formula gives a whole number.
    exact = (2 * z / goals) ** 2 * unit_variance(setting)
    if (exact > MOST_TRIALS).any():
        raise ValueError(
            f"this takes {exact.max():.1e} trials, and plans go up to {MOST_TRIALS:.0e}; ask for a "
            "larger width"
        )
    n = np.maximum(np.ceil(exact - 1e-9), 2).astype(np.int64)
    simulated = is_simulated(setting, n, method)
    at = np.flatnonzero(simulated | (assurance is not None)).tolist()
    jobs = [
        (setting.row(i), goals[i], n[i], study, assurance, interval, seed)
        for i, seed in zip(at, searching.spawn(len(at)), strict=True)
    ]
    n[at] = list(in_parallel(_number_for_width, jobs))
    rows["promise"] = "expected" if assurance is None else interval
    rows["assurance"] = np.nan if assurance is None else assurance
    return describe(rows, setting, n, is_simulated(setting, n, method), study, describing, goals)


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


def check_trials(values: ArrayLike, name: str = "n_trials") -> None:
    """Refuse numbers of trials that are not whole or below 2 (`ValueError`)."""
    numbers = np.asarray(values, dtype=np.float64)
    bad = ~((numbers >= 2) & np.isfinite(numbers) & (numbers == np.floor(numbers)))
    if bad.any():
        raise ValueError(
            f"{name} must be whole numbers of at least 2, got {numbers[bad].flat[0]:g}"
        )


def check_width(values: ArrayLike, of: str = "error consistency") -> None:
    """Refuse widths outside (0, 2] (`ValueError`)."""
    widths = np.asarray(values, dtype=np.float64)
    bad = ~((widths > 0) & (widths <= 2))
    if bad.any():
        raise ValueError(
            f"width must lie in (0, 2], as {of} lies in [-1, 1]; got {widths[bad].flat[0]:g}"
        )


def stated_pairs(
    metric: str | Metric,
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    prior: Prior | None = None,
    **other: ArrayLike,
) -> tuple[pd.DataFrame, Setting]:
    """One row for each combination of the broadcast inputs, and what they describe."""
    stated = dict(zip(STATED, (accuracy_a, accuracy_b, ec), strict=True)) | other
    arrays = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in stated.values()))
    rows = pd.DataFrame({name: x.ravel() for name, x in zip(stated, arrays, strict=True)})
    for name in STATED[:2]:
        check_accuracies(rows[name].to_numpy(), name)
    check_stated(rows["ec"], "ec")
    probabilities = cell_probabilities(*(rows[name].to_numpy() for name in STATED))
    return rows, one_pair(probabilities, metric, prior)


def _check_assurance(assurance: float | None, interval: str) -> None:
    if assurance is not None and not 0 < assurance < 1:
        raise ValueError(
            f"assurance must lie strictly between 0 and 1, got {assurance:g}; try 0.8, or leave it "
            "out for an expected width"
        )
    if interval not in SCHOOLS:
        raise ValueError(
            f"interval must be 'posterior', 'bootstrap' or 'analytic', got {interval!r}"
        )


def _number_for_width(
    setting: Setting,
    goal: float,
    start: int,
    study: Study,
    assurance: float | None,
    interval: School,
    seed: np.random.SeedSequence,
) -> int:
    def narrowness(n: int) -> float:
        own = own_seed(seed, n)
        if assurance is None:
            counts = draw_tables(setting, n, study.n_datasets, own)
            lower, upper = central_range(estimates(counts, setting), study.ci_prob)
            width = upper - lower
        else:
            n_datasets = study.n_datasets if interval == "analytic" else N_SEARCH
            counts = draw_tables(setting, n, n_datasets, own)
            rng = np.random.default_rng(own.spawn(1)[0])
            bounds = intervals(counts, setting, interval, study.n_draws, study.ci_prob, rng)
            # An experiment without an interval keeps no promise.
            widths = np.nan_to_num(bounds[:, 1] - bounds[:, 0], nan=np.inf)
            width = float(np.quantile(widths, assurance, method="inverted_cdf"))
        # All estimates alike: nothing narrower is to be had.
        return -float(np.log(width)) if width != 0 else np.inf

    rounds = 4 if assurance is None else 2
    slack = 0.02 if assurance is None else 0.01
    return smallest_number(narrowness, start, -np.log(goal), np.log, np.exp, slack, rounds)
