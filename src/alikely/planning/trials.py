"""How many trials one pair of observers needs, or a difference of two: widths, power, beliefs.

An estimate of any metric of correctness, of one pair or of a weighted sum over pairs that share
trials, is described by formulas, or simulated where few trials are expected in a cell.

References
----------
.. [C96] Cantor (1996). Sample-size calculations for Cohen's kappa.
   doi:10.1037/1082-989X.1.2.150
.. [E82] Efron (1982). The jackknife, the bootstrap and other resampling plans. Chapter 6.
   doi:10.1137/1.9781611970319
.. [F22] Fisher (1922). On the interpretation of chi-squared from contingency tables, and the
   calculation of P. doi:10.2307/2340521
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
.. [JWB95] Joseph, Wolfson, du Berger (1995). Sample size calculations for binomial proportions via
   highest posterior density intervals. doi:10.2307/2348439
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [KM03] Kelley, Maxwell (2003). Sample size for multiple regression: obtaining regression
   coefficients that are accurate, not simply significant. doi:10.1037/1082-989X.8.3.305
.. [OSC05] O'Hagan, Stevens, Campbell (2005). Assurance in clinical trial design.
   doi:10.1002/pst.175
.. [Y34] Yates (1934). Contingency tables involving small numbers and the chi-squared test.
   doi:10.2307/2983604
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats, within
from alikely._base.checks import of_type, one_of
from alikely._base.intervals import check_interval
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.estimates.result import Result
from alikely.inference.fisher import fisher_log10_p
from alikely.inference.intervals import defined_quantiles, mean_of_defined
from alikely.metrics import ERROR_CONSISTENCY, Metric, bounds, consistency, get_metric
from alikely.metrics.cell_priors import Prior, cell_prior
from alikely.planning.numbers import (
    check_between,
    check_whole,
    check_width,
    grid,
    simulated_number,
    smallest_with,
)
from alikely.simulate import cell_probabilities
from alikely.simulate.cells import pattern_cells, pattern_probabilities

__all__ = [
    "assurance",
    "interval_width",
    "plan_from",
    "trials_for_difference",
    "trials_for_power",
    "trials_for_width",
]

Calculation = Literal["auto", "analytic", "simulated"]
METHODS = ("analytic", "bootstrap", "posterior")
CALCULATIONS = ("auto", "analytic", "simulated")
# Measured over 800 settings: with at least so many trials expected in every cell, the analytic
# width is within 3 % of the simulated one; with 5 to 8 it is off by up to 4 %, with fewer by half.
FEWEST_EXPECTED = 10
OFTEN_UNDEFINED = 1e-3
# Replicates or draws behind each interval of a coverage study.
N_DRAWS = 1_000
# The same where widths are assured: as many as a result has, since draws add to their spread.
N_DRAWS_FOR_WIDTH = 4_000
# Numbers held at a time.
CHUNK = 8_000_000
# Of a central difference, as a share of a pattern's probability.
STEP = 1e-5


class Setting(NamedTuple):
    """What is to be estimated, and how each trial can turn out."""

    probabilities: Floats
    cells: Floats
    weights: Floats
    metric: Metric
    prior: Floats

    def row(self, index: int) -> Setting:
        """One of several truths."""
        return self._replace(probabilities=self.probabilities[index])


def one_pair(
    probabilities: Floats,
    metric: str | Metric = ERROR_CONSISTENCY,
    prior: Prior | None = None,
) -> Setting:
    """One pair of observers, whose patterns are the four cells."""
    found = get_metric(metric)
    if found.counts != "correctness":
        raise ValueError(
            f"planning from accuracies is for metrics of correctness counts; {found.name} is one "
            f"of {found.counts}: plan it from a pilot with plan_from"
        )
    own = cell_prior(prior).cells("planning")
    return Setting(np.asarray(probabilities), np.eye(4)[None], np.ones(1), found, own)


def estimates(counts: NDArray[np.number], setting: Setting) -> Floats:
    """Estimates from counts of patterns."""
    tables = np.einsum("...m,pmc->...pc", counts, setting.cells)
    return np.asarray(setting.metric.value(tables) @ setting.weights)


def true_value(setting: Setting) -> Floats:
    """Value of the estimand at the probabilities themselves."""
    return estimates(setting.probabilities, setting)


def _slopes(counts: NDArray[np.number], setting: Setting) -> Floats:
    """Influence of one trial of each pattern on the estimate: shape (..., pattern)."""
    tables = np.einsum("...m,pmc->...pc", counts, setting.cells)
    influence = setting.metric.influence(tables)
    # A cell that does not occur may have an infinite slope; it has no weight.
    influence = np.where(tables > 0, influence, 0.0)
    return np.asarray(np.einsum("...pc,pmc,p->...m", influence, setting.cells, setting.weights))


def unit_variance(setting: Setting) -> Floats:
    """Variance of the estimate times the number of trials, for many trials [E82]_."""
    p = setting.probabilities
    return np.asarray((p * _slopes(p, setting) ** 2).sum(axis=-1))


def standard_errors(counts: NDArray[np.number], setting: Setting) -> Floats:
    """Analytic standard errors of the estimates from counts of patterns."""
    square = (counts * _slopes(counts, setting) ** 2).sum(axis=-1)
    se = np.sqrt(square) / counts.sum(axis=-1)
    return np.where(np.isnan(estimates(counts, setting)), np.nan, se)


def second_order_bias(setting: Setting) -> Floats:
    """Bias of the estimate times the number of trials, for many trials [E82]_."""
    p = setting.probabilities
    total = np.zeros(p.shape[:-1])
    for pattern, point in enumerate(np.eye(p.shape[-1])):
        step = STEP * p[..., pattern, None]
        # Along p + t (point - p) the derivative is the influence of the pattern there / (1 - t).
        up, down = (
            _slopes((1 - t) * p + t * point, setting)[..., pattern] / (1 - t)[..., 0]
            for t in (step, -step)
        )
        # The step is a share of the probability, which cancels; what never occurs adds nothing.
        total += np.where(step[..., 0] > 0, (up - down) / (2 * STEP), 0.0)
    return total / 2


def frac_undefined(setting: Setting, n_trials: ArrayLike) -> Floats:
    """Probability that the estimate is undefined, exactly."""
    p, n = setting.probabilities, np.asarray(n_trials)
    occurring = np.array(list(itertools.product((0, 1), repeat=4)), dtype=bool)[1:]
    undefined = occurring[np.isnan(setting.metric.value(occurring.astype(float)))]
    within = (undefined[:, None] & ~undefined[None]).any(axis=2)
    # Subsets of an undefined set are undefined too; the largest ones say all.
    largest = undefined[(~within).sum(axis=1) == 1]
    terms: dict[bytes, int] = {}
    for pair in setting.cells.astype(bool):
        for cells in largest:
            inside = (pair & cells).any(axis=1)
            for mask, times in [(inside.tobytes(), -1), *terms.items()]:
                both = np.frombuffer(mask, dtype=bool) & inside
                if both.any():
                    key = both.tobytes()
                    terms[key] = terms.get(key, 0) - times
    share = np.zeros(np.broadcast_shapes(p.shape[:-1], n.shape))
    for mask, times in terms.items():
        share += times * p[..., np.frombuffer(mask, dtype=bool)].sum(axis=-1) ** n
    return np.clip(share, 0.0, 1.0)


def smallest_expected(setting: Setting, n_trials: ArrayLike) -> Floats:
    """Expected number of trials in the rarest cell of any pair."""
    tables = np.einsum("...m,pmc->...pc", setting.probabilities, setting.cells)
    return np.asarray(np.asarray(n_trials) * tables.min(axis=(-2, -1)))


def draw_tables(
    setting: Setting, n_trials: int, n_datasets: int, seed: np.random.SeedSequence
) -> NDArray[np.int64]:
    """Draw data sets of one truth."""
    p = setting.probabilities / setting.probabilities.sum()
    return np.random.default_rng(seed).multinomial(n_trials, p, size=n_datasets)


def replicates(
    counts: NDArray[np.int64],
    setting: Setting,
    prior: Floats | float | None,
    n_draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Estimates from posterior draws under a prior, or from bootstrap replicates without one."""
    size = (n_draws, len(counts))
    if prior is None:
        total = counts.sum(axis=1)
        drawn = rng.multinomial(total, counts / total[:, None], size=size).astype(np.float64)
    else:
        drawn = rng.standard_gamma(counts + prior, size=(*size, counts.shape[1]))
    return estimates(drawn, setting)


def intervals(
    counts: NDArray[np.int64],
    setting: Setting,
    method: str,
    n_draws: int,
    ci_prob: float,
    rng: np.random.Generator,
) -> Floats:
    """Intervals from counts of patterns, by one method of inference."""
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    if method == "analytic":
        half = special.ndtri(tails[1]) * standard_errors(counts, setting)
        value = estimates(counts, setting)
        return np.stack([value - half, value + half], axis=1)
    # Near the ceiling few different tables occur.
    tables, which = np.unique(counts, axis=0, return_inverse=True)
    bounds = np.empty((len(tables), 2))
    prior = None if method == "bootstrap" else setting.prior
    step = max(1, CHUNK // (n_draws * (tables.shape[1] + 4 * len(setting.weights))))
    for start in range(0, len(tables), step):
        drawn = replicates(tables[start : start + step], setting, prior, n_draws, rng)
        bounds[start : start + step] = defined_quantiles(drawn, tails)
    return bounds[which]


def interval_study(
    setting: Setting,
    n_trials: int,
    n_datasets: int,
    n_draws: int,
    ci_prob: float,
    against: float,
    goal: float,
    seed: np.random.SeedSequence,
) -> dict[str, float]:
    """Coverage, mean width and power of each method's interval, by simulation."""
    first, second = seed.spawn(2)
    counts = draw_tables(setting, n_trials, n_datasets, first)
    rng = np.random.default_rng(second)
    truth = float(true_value(setting))
    found = {}
    for method in METHODS:
        lower, upper = intervals(counts, setting, method, n_draws, ci_prob, rng).T
        found[f"{method}_coverage"] = float(np.mean((lower <= truth) & (truth <= upper)))
        found[f"{method}_width"] = float(mean_of_defined(upper - lower))
        found[f"{method}_power"] = float(np.mean((lower > against) | (upper < against)))
        if not np.isnan(goal):
            found[f"{method}_assurance"] = float(np.mean(upper - lower <= goal))
    return found


def check_options(
    method: str, n_datasets: int, n_coverage: int, prior: Prior | None = None
) -> None:
    """Refuse an unknown method, too few data sets, or a prior without use (`ValueError`)."""
    one_of("method", method, CALCULATIONS)
    if n_datasets < 100 or n_coverage < 0:
        raise ValueError(
            "n_datasets must be at least 100 and n_coverage at least 0, got "
            f"{n_datasets} and {n_coverage}"
        )
    if prior is not None and not n_coverage:
        raise ValueError(
            "prior is of posterior intervals, and this plan has none; leave it out, or give "
            "n_coverage=1000"
        )


def is_simulated(setting: Setting, n_trials: NDArray[np.int64], method: str) -> NDArray[np.bool_]:
    """Which rows are simulated."""
    few = smallest_expected(setting, n_trials) < FEWEST_EXPECTED
    return few if method == "auto" else np.full(few.shape, method == "simulated")


def spread(
    setting: Setting, n_trials: int, n_datasets: int, ci_prob: float, seed: np.random.SeedSequence
) -> tuple[float, float, float, float]:
    """Central range, standard deviation and bias of the defined estimates of simulated data."""
    values = estimates(draw_tables(setting, n_trials, n_datasets, seed), setting)
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return np.nan, np.nan, np.nan, np.nan
    lower, upper = np.quantile(defined, [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    bias = float(defined.mean() - true_value(setting))
    return float(lower), float(upper), float(defined.std()), bias


def trials_of_formula(width: Floats | float, variance: Floats | float, ci_prob: float) -> Floats:
    """Number of trials for an interval of a width, by the variance of the estimate from one."""
    return np.asarray((2 * special.ndtri((1 + ci_prob) / 2) / width) ** 2 * variance)


def row_by_row(
    function: Callable[..., Any],
    setting: Setting,
    seed: np.random.SeedSequence,
    *columns: Any,
    at: NDArray[np.intp] | None = None,
) -> list[Any]:
    """Simulate rows of a plan: each with its truth, its entries of columns and a seed."""
    rows = np.arange(len(setting.probabilities)) if at is None else at
    jobs = [
        (setting.row(i), *(x[i] if np.ndim(x) else x for x in columns), own)
        for i, own in zip(rows.tolist(), seed.spawn(len(rows)), strict=True)
    ]
    return list(in_parallel(function, jobs))


def describe(
    rows: pd.DataFrame,
    setting: Setting,
    n_trials: NDArray[np.int64],
    simulated: NDArray[np.bool_],
    ci_prob: float,
    n_datasets: int,
    n_coverage: int,
    rng: RandomState,
    *,
    goals: Floats | None = None,
    against: float = 0.0,
    n_draws: int = N_DRAWS,
) -> pd.DataFrame:
    """What a plan says of the number of trials in each of its rows."""
    z = special.ndtri((1 + ci_prob) / 2)
    se = np.sqrt(unit_variance(setting) / n_trials)
    value, bias = true_value(setting), second_order_bias(setting) / n_trials
    lower, upper = value - z * se, value + z * se
    first, second = seed_sequence(rng).spawn(2)
    if len(at := np.flatnonzero(simulated)):
        found = row_by_row(spread, setting, first, n_trials, n_datasets, ci_prob, at=at)
        lower[at], upper[at], se[at], bias[at] = np.transpose(found)
    share = frac_undefined(setting, n_trials)
    table = rows.assign(
        n_trials=n_trials,
        method=np.where(simulated, "simulated", "analytic"),
        width=upper - lower,
        lower=lower,
        upper=upper,
        se=se,
        bias=bias,
        frac_undefined=share,
    )
    if n_coverage:
        wanted = np.nan if goals is None else goals
        study = (n_trials, n_coverage, n_draws, ci_prob, against, wanted)
        table = table.join(pd.DataFrame(row_by_row(interval_study, setting, second, *study)))
    few = smallest_expected(setting, n_trials) < FEWEST_EXPECTED
    what = np.where(simulated, "simulated", "the formula may be off")
    notes = [
        np.where(few, f"fewer than {FEWEST_EXPECTED} trials expected in a cell: " + what, ""),
        np.where(share > OFTEN_UNDEFINED, "often undefined: use the posterior", ""),
    ]
    table["note"] = ["; ".join(filter(None, parts)) for parts in zip(*notes, strict=True)]
    return table


Alternative = Literal["two-sided", "greater", "less"]
Method = Literal["posterior", "bootstrap", "analytic"]
NO_ERRORS = "without errors (or correct responses) nobody can say whose errors are alike"
# More trials than anybody will have.
MOST_TRIALS = 1e12
# Data sets behind each number of trials that a search for an assurance tries.
N_SEARCH = 200
N_DATASETS = 20_000
ALTERNATIVES = ("two-sided", "greater", "less")
FISHER, SCORE, INTERVAL = "Fisher's exact", "score", "analytic interval"
# Measured: with so many trials expected in every cell, the power of Fisher's test by its formula is
# within .01 of the exact one; with 10, off by up to .03.
ENOUGH_FOR_FISHER = 100


def interval_width(
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    n_trials: ArrayLike,
    *,
    method: Calculation = "auto",
    ci_prob: float | None = None,
    metric: str | Metric = ERROR_CONSISTENCY,
    n_datasets: int = 20_000,
    n_coverage: int = 0,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compute the width of the interval of error consistency from a number of trials [K25]_.

    Parameters
    ----------
    accuracy_a, accuracy_b : array_like
        Accuracies of the two observers, in (0, 1).
    ec : array_like
        Error consistency, within what the accuracies allow.
    n_trials : array_like of int
        Number of trials, at least 2. All four broadcast: for a grid give one of them as a column.
    method : {"auto", "analytic", "simulated"}
        By the standard error [FCE69]_, or the range of the estimates of simulated data sets.
        ``"auto"`` simulates where fewer than 10 trials are expected in a cell of the table;
        elsewhere the formula is within 3 %.
    ci_prob : float
        In (0, 1).
    metric : str or Metric
        Metric of correctness; for another than error consistency, `ec` still describes the
        observers.
    n_datasets : int
        Simulated data sets, at least 100.
    n_coverage : int
        Data sets in which the intervals of every method are computed too. 0 disables them.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior on the cells of posterior intervals, as in `alikely.error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same numbers on any number of workers.

    Returns
    -------
    pandas.DataFrame
        One row per setting: the inputs; ``method``; ``width`` of the central range of estimates
        from ``lower`` to ``upper``; ``se``; ``bias``; ``frac_undefined`` of data sets; with
        `n_coverage` also ``<method>_coverage``, mean ``<method>_width`` and ``<method>_power`` (0
        excluded) of the analytic, bootstrap and posterior intervals; ``note``.

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
    check_whole(rows["n_trials"], "n_trials")
    n = rows.pop("n_trials").to_numpy(dtype=np.int64)
    simulated = is_simulated(setting, n, method)
    return describe(rows, setting, n, simulated, ci_prob, n_datasets, n_coverage, rng)


def trials_for_width(
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    width: ArrayLike,
    *,
    assurance: float | None = None,
    interval: Method = "posterior",
    ci_prob: float | None = None,
    metric: str | Metric = ERROR_CONSISTENCY,
    n_datasets: int = 20_000,
    n_coverage: int = 1_000,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Find the number of trials that gives an interval of a width.

    Without `assurance` the width is that of the range in which estimates lie, and about half of all
    experiments have a wider interval. With `assurance` it is the width of the interval that a
    result will show, not exceeded in that share of experiments [KM03]_.

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
    ci_prob, metric, n_datasets, n_coverage, prior, rng
        As in `interval_width`.

    Returns
    -------
    pandas.DataFrame
        As returned by `interval_width` at the number of trials found, with ``target``,
        ``criterion`` (``"expected"``, or the assured interval) and ``assurance`` before it; with
        `n_coverage` also ``<method>_assurance``, the share of data sets whose interval is no wider
        than the target.

    Raises
    ------
    ValueError
        If an input is out of range; for `ec` the message gives the bounds.

    Examples
    --------
    >>> import alikely as al
    >>> al.trials_for_width(0.75, 0.75, 0.5, [0.2, 0.1], n_coverage=0)["n_trials"].tolist()
    [385, 1537]
    >>> al.trials_for_width(0.75, 0.75, 0.5, 0.2, assurance=0.8, n_coverage=0, rng=1)["n_trials"][0]
    np.int64(403)
    """
    ci_prob = resolve("ci_prob", ci_prob)
    rows, setting = stated_pairs(metric, accuracy_a, accuracy_b, ec, prior, target=width)
    assured = assurance is not None and interval == "posterior"
    check_options("auto", n_datasets, n_coverage, None if assured else prior)
    check_interval(ci_prob, "eti")
    check_width(rows["target"])
    if assurance is not None:
        check_between(assurance, "assurance", "try 0.8, or leave it out for an expected width")
    one_of("interval", interval, METHODS)
    searching, describing = seed_sequence(rng).spawn(2)
    goals = rows["target"].to_numpy()
    # Rounding must not cost a trial where the formula gives a whole number.
    exact = trials_of_formula(goals, unit_variance(setting), ci_prob)
    if (exact > MOST_TRIALS).any():
        raise ValueError(
            f"this takes {exact.max():.1e} trials, and plans go up to {MOST_TRIALS:.0e}; ask for a "
            "larger width"
        )
    n = np.maximum(np.ceil(exact - 1e-9), 2).astype(np.int64)
    at = np.flatnonzero(is_simulated(setting, n, "auto") | (assurance is not None))
    study = (goals, n, ci_prob, n_datasets, assurance, interval)
    n[at] = row_by_row(_number_for_width, setting, searching, *study, at=at)
    rows["criterion"] = "expected" if assurance is None else interval
    rows["assurance"] = np.nan if assurance is None else assurance
    return describe(
        rows, setting, n, is_simulated(setting, n, "auto"), ci_prob, n_datasets, n_coverage,
        describing, goals=goals,
        **({} if assurance is None else {"n_draws": N_DRAWS_FOR_WIDTH}),
    )  # fmt: skip


def _number_for_width(
    setting: Setting,
    goal: float,
    start: int,
    ci_prob: float,
    n_datasets: int,
    assurance: float | None,
    interval: Method,
    seed: np.random.SeedSequence,
) -> int:
    def width(n: int, own: np.random.SeedSequence) -> float:
        if assurance is None:
            lower, upper, _, _ = spread(setting, n, n_datasets, ci_prob, own)
            return upper - lower
        counts = draw_tables(setting, n, n_datasets if interval == "analytic" else N_SEARCH, own)
        rng = np.random.default_rng(own.spawn(1)[0])
        bounds = intervals(counts, setting, interval, N_DRAWS_FOR_WIDTH, ci_prob, rng)
        # An experiment without an interval keeps no promise.
        widths = np.nan_to_num(bounds[:, 1] - bounds[:, 0], nan=np.inf)
        return float(np.quantile(widths, assurance, method="inverted_cdf"))

    slack, rounds = (0.02, 4) if assurance is None else (0.01, 2)
    return simulated_number(width, start, goal, seed, slack=slack, rounds=rounds)


def trials_for_power(
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    *,
    power: ArrayLike = 0.8,
    alpha: float = 0.05,
    against: float = 0.0,
    alternative: Alternative = "two-sided",
    method: Calculation = "auto",
    n_datasets: int = 20_000,
    n_coverage: int = 1_000,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Find the number of trials at which error consistency differs from a value by a test [C96]_.

    Against 0 the test is Fisher's exact one [F22]_, the ``p_fisher`` of a summary. Against other
    values, for which results have intervals only, it compares the estimate with its standard error
    under the hypothesis, at the observed accuracies (score test).

    Parameters
    ----------
    accuracy_a, accuracy_b, ec : array_like
        As in `interval_width`.
    power : array_like
        Probability to reject, in (0, 1).
    alpha : float
        Level of the test, in (0, 1).
    against : float
        Error consistency under the hypothesis, within what the accuracies allow.
    alternative : {"two-sided", "greater", "less"}
        Side of the test.
    method : {"auto", "analytic", "simulated"}
        Normal approximation, of Fisher's test with Yates' correction [Y34]_, or simulated data
        sets. ``"auto"`` simulates where fewer than 10 trials are expected in a cell, for Fisher's
        test 100.
    n_datasets, n_coverage, prior, rng
        As in `interval_width`.

    Returns
    -------
    pandas.DataFrame
        One row per setting: the inputs, ``target``, ``n_trials``, ``power`` there of the ``test``
        that is named, and the columns of `interval_width`; with `n_coverage` also
        ``<method>_power``, how often the interval of each method excludes `against`.

    Raises
    ------
    ValueError
        If an input is out of range, or `ec` is not on the tested side of `against`.

    Examples
    --------
    >>> import alikely as al
    >>> al.trials_for_power(0.97, 0.97, 0.3, n_coverage=0, rng=1)[["n_trials", "test"]].values[0]
    array([320, "Fisher's exact"], dtype=object)
    """
    rows, setting = stated_pairs(ERROR_CONSISTENCY, accuracy_a, accuracy_b, ec, prior, target=power)
    check_options(method, n_datasets, n_coverage, prior)
    _check_power(rows["target"], alpha)
    _check_difference(rows["ec"], against, alternative)
    a, b = rows["accuracy_a"], rows["accuracy_b"]
    hypothesis = stated_pairs(ERROR_CONSISTENCY, a, b, against)[1]
    test = FISHER if against == 0 else SCORE
    return _plan(
        rows, setting, unit_variance(hypothesis), test, alpha, against, alternative, method,
        n_datasets, n_coverage, rng,
    )  # fmt: skip


def trials_for_difference(
    accuracy_human: ArrayLike,
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec_a: ArrayLike,
    ec_b: ArrayLike,
    ec_models: ArrayLike | None = None,
    *,
    power: ArrayLike = 0.8,
    alpha: float = 0.05,
    n_coverage: int = 1_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Find the number of trials at which two models' consistencies with the same human differ.

    All observers answer the same trials, so that the two estimates are dependent: their joint
    distribution is the one of greatest entropy with these pairs. The test is whether the analytic
    interval of the difference excludes 0. Plan for several humans by `variance_components`.

    Parameters
    ----------
    accuracy_human, accuracy_a, accuracy_b : array_like
        Accuracies of the human and of the two models, in (0, 1).
    ec_a, ec_b : array_like
        Error consistency of either model with the human.
    ec_models : array_like, optional
        Error consistency of the two models: the more they share, the fewer trials are needed.
        Default: nothing beyond what both share with the human.
    power : array_like
        Probability to find the difference, in (0, 1). All arrays broadcast.
    alpha : float
        Two-sided level, in (0, 1).
    n_coverage, rng
        As in `interval_width`.

    Returns
    -------
    pandas.DataFrame
        One row per setting: the inputs, ``difference``, ``target``, ``n_trials``, ``power`` there,
        ``test``, and of the difference ``width, se, bias, frac_undefined`` and, with `n_coverage`,
        coverage, mean width and power of each method's interval.

    Raises
    ------
    ValueError
        If an input is out of range, the two error consistencies are equal, or no observers are like
        this together; the message gives the feasible range.

    Examples
    --------
    >>> import alikely as al
    >>> stated = 0.75, 0.75, 0.75, 0.5, 0.3, [0.4, 0.6]
    >>> plan = al.planning.trials_for_difference(*stated, n_coverage=0)
    >>> plan["n_trials"].tolist()
    [278, 183]
    """
    check_options("auto", N_DATASETS, n_coverage)
    given = {
        "accuracy_human": accuracy_human, "accuracy_a": accuracy_a, "accuracy_b": accuracy_b,
        "ec_a": ec_a, "ec_b": ec_b, "ec_models": np.nan if ec_models is None else ec_models,
    }  # fmt: skip
    rows = grid(**given, target=power)
    _check_power(rows["target"], alpha)
    for name in ("ec_a", "ec_b"):
        _check_stated(rows[name], name)
    if (rows["ec_a"] == rows["ec_b"]).any():
        raise ValueError(
            "ec_a and ec_b must differ: a difference of zero is found by no number of trials"
        )
    for name in ("accuracy_human", "accuracy_a", "accuracy_b"):
        check_between(rows[name], name, NO_ERRORS)
    probabilities = [pattern_probabilities(*row) for row in rows[[*given]].to_numpy().tolist()]
    rows.insert(6, "difference", rows["ec_a"] - rows["ec_b"])
    setting = Setting(
        np.array(probabilities),
        np.array([pattern_cells(3, 0, model) for model in (1, 2)]),
        np.array([1.0, -1.0]),
        ERROR_CONSISTENCY,
        cell_prior(None).patterns("planning of a difference").parameters(3),
    )
    return _plan(
        rows, setting, unit_variance(setting), INTERVAL, alpha, 0.0, "two-sided", "auto",
        N_DATASETS, n_coverage, rng,
    )  # fmt: skip


def stated_pairs(
    metric: str | Metric,
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    prior: Prior | None = None,
    **other: ArrayLike,
) -> tuple[pd.DataFrame, Setting]:
    """One row for each combination of the broadcast inputs, and what they describe."""
    rows = grid(accuracy_a=accuracy_a, accuracy_b=accuracy_b, ec=ec, **other)
    for name in ("accuracy_a", "accuracy_b"):
        check_between(rows[name], name, NO_ERRORS)
    _check_stated(rows["ec"], "ec")
    pairs = (rows[name].to_numpy() for name in ("accuracy_a", "accuracy_b", "ec"))
    return rows, one_pair(cell_probabilities(*pairs), metric, prior)


def _check_stated(values: ArrayLike, name: str) -> None:
    numbers = np.asarray(values, dtype=np.float64)
    missing = ~np.isfinite(numbers)
    if missing.any():
        raise ValueError(
            f"{name} must be an error consistency in [-1, 1], got {numbers[missing].flat[0]:g}"
        )


def _check_power(power: pd.Series, alpha: float) -> None:
    check_between(power, "power", "try 0.8")
    check_between(alpha, "alpha", "try 0.05")
    if power.min() <= alpha:
        raise ValueError(
            f"power must be above alpha, which chance alone reaches; got {power.min():g} at alpha "
            f"{alpha:g}"
        )


def _check_difference(ec: pd.Series, against: float, alternative: str) -> None:
    one_of("alternative", alternative, ALTERNATIVES)
    _check_stated(against, "against")
    away = ec - against
    if (away == 0).any():
        raise ValueError(
            f"ec must differ from {against:g}, the value tested against: a difference of zero is "
            "found by no number of trials"
        )
    wrong = {"greater": away < 0, "less": away > 0}.get(alternative)
    if wrong is not None and wrong.any():
        raise ValueError(
            f"ec must be {alternative} than {against:g} for alternative={alternative!r}, got "
            f"{ec[wrong].iloc[0]:g}"
        )


def _null_tables(counts: NDArray[np.int64], against: float) -> NDArray[np.float64]:
    """Tables with the accuracies observed and the error consistency of the hypothesis."""
    p_a, p_b = consistency.accuracies(counts)
    both = p_a * p_b + against * (p_a + p_b - 2 * p_a * p_b) / 2
    both = np.clip(both, np.maximum(p_a + p_b - 1, 0), np.minimum(p_a, p_b))
    tables = np.stack([both, p_a - both, p_b - both, 1 - p_a - p_b + both], axis=-1)
    return within(tables)


def _plan(
    rows: pd.DataFrame,
    setting: Setting,
    null_variance: Floats,
    test: str,
    alpha: float,
    against: float,
    alternative: Alternative,
    method: Calculation,
    n_datasets: int,
    n_coverage: int,
    rng: RandomState,
) -> pd.DataFrame:
    """Find the number of trials of each row, and say what it does."""
    searching, describing = seed_sequence(rng).spawn(2)
    asked = (test, alpha, against, alternative, method, n_datasets)
    goals = rows["target"].to_numpy()
    found = row_by_row(_number, setting, searching, null_variance, goals, *asked)
    n, power, simulated = map(np.array, zip(*found, strict=True))
    table = describe(
        rows, setting, n, simulated, 1 - alpha, n_datasets, n_coverage, describing, against=against
    )
    table.insert(list(table).index("n_trials") + 1, "power", power)
    table.insert(list(table).index("power") + 1, "test", test)
    return table


def _number(
    setting: Setting,
    null_variance: float,
    goal: float,
    test: str,
    alpha: float,
    against: float,
    alternative: Alternative,
    method: Calculation,
    n_datasets: int,
    seed: np.random.SeedSequence,
) -> tuple[int, float, bool]:
    """Number of trials, the power it has, and whether the spread of estimates is simulated."""
    critical = float(special.ndtri(1 - (alpha / 2 if alternative == "two-sided" else alpha)))
    away = float(true_value(setting)) - against
    variance = float(unit_variance(setting))
    correction = 0.0
    if test == FISHER:
        # Half a trial of overlap more, to the left and to the right of it.
        p_a, p_b = consistency.accuracies(setting.probabilities)
        correction = 1 / float(p_a + p_b - 2 * p_a * p_b)

    def approximate(n: int) -> float:
        # Standard errors under the hypothesis and under the truth [C96]_.
        margin = critical * np.sqrt(null_variance / n) + correction / n
        se = np.sqrt(variance / n)
        # Observers who are alike without fail leave nothing to chance.
        with np.errstate(divide="ignore"):
            upper, lower = special.ndtr(np.array([away - margin, -away - margin]) / se)
        sides = {"two-sided": upper + lower, "greater": upper, "less": lower}
        return float(sides[alternative])

    def simulated(n: int, own: np.random.SeedSequence) -> float:
        counts = draw_tables(setting, n, n_datasets, own)
        if test == FISHER:
            tables, times = np.unique(counts, axis=0, return_counts=True)
            rejected = fisher_log10_p(tables, alternative) <= np.log10(alpha)
            return float(times @ rejected / n_datasets)
        found = estimates(counts, setting) - against
        # The score test of a pair, the analytic interval of a difference; undefined: no rejection.
        if test == SCORE:
            hypothesis = setting._replace(probabilities=_null_tables(counts, against))
            se = np.sqrt(unit_variance(hypothesis) / n)
        else:
            se = standard_errors(counts, setting)
        sides = {"two-sided": np.abs(found), "greater": found, "less": -found}
        return float((sides[alternative] > critical * se).mean())

    n = smallest_with(approximate, goal)
    few = test == FISHER and bool(smallest_expected(setting, n) < ENOUGH_FOR_FISHER)
    if not (is_simulated(setting, np.array(n), method) or (method == "auto" and few)):
        return n, approximate(n), False
    searching, checking = seed.spawn(2)
    n = simulated_number(simulated, n, goal, searching, power=True, slack=0.03)
    return n, simulated(n, checking), bool(is_simulated(setting, np.array(n), method))


# If fewer prior draws can be, the priors contradict each other.
FEWEST_POSSIBLE = 0.01
# Studies, and draws for each, with which a number of trials is searched for; what is found is then
# described with as many as were asked for.
SEARCHED, SEARCHED_DRAWS = 1_000, 400


class Distribution(Protocol):
    """What a frozen distribution of `scipy.stats` offers."""

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        """Random variates."""


Belief = float | Distribution | ArrayLike


def _check_goals(
    n_trials: ArrayLike | None,
    width: float | None,
    assurance: float,
    rope: tuple[float, float] | None,
    ci_prob: float,
    n_datasets: int,
) -> None:
    check_interval(ci_prob, "eti")
    if n_trials is not None:
        check_whole(n_trials, "n_trials")
    elif width is None:
        raise ValueError("n_trials or width is needed: a number of trials, or what it should reach")
    if width is not None:
        check_width(width)
    check_between(assurance, "assurance", "try 0.8")
    if rope is not None and not rope[0] < rope[1]:
        raise ValueError(f"rope must be (lower, upper) with lower < upper, got {rope}")
    check_whole(n_datasets, "n_datasets", 100)


def _shares(
    both: Floats,
    truth: Floats,
    width: float | None,
    assurance: float,
    against: float,
    rope: tuple[float, float] | None,
) -> dict[str, float]:
    """How wide intervals of simulated studies are, and how often they show what is wanted."""
    lower, upper = both.T
    shown = {"p_excludes": (lower > against) | (upper < against)}
    if width is not None:
        shown["p_width"] = upper - lower <= width
    if rope is not None:
        shown["p_outside_rope"] = (lower > rope[1]) | (upper < rope[0])
        shown["p_inside_rope"] = (lower >= rope[0]) & (upper <= rope[1])
    shares = {name: float(each.mean()) for name, each in shown.items()}
    found = np.array([*shares.values()])
    return {
        "expected_width": float((upper - lower).mean()),
        "assured_width": float(np.quantile(upper - lower, assurance)),
        **shares,
        "coverage": float(((lower <= truth) & (truth <= upper)).mean()),
        "mc_error": float(np.sqrt(found * (1 - found) / len(both)).max()),
    }


def assurance(
    accuracy_a: Belief,
    accuracy_b: Belief,
    ec: Belief,
    n_trials: ArrayLike | None = None,
    *,
    width: float | None = None,
    assurance: float = 0.8,
    against: float = 0.0,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    n_datasets: int = 2_000,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Simulate what a number of trials will show, averaged over what is believed [OSC05]_.

    Each simulated study draws the truth from the priors, data from the truth, and takes the central
    posterior interval that `alikely.error_consistency` would give.

    Parameters
    ----------
    accuracy_a, accuracy_b, ec : float, frozen distribution or array_like
        What is believed of each: a value, a distribution such as ``scipy.stats.beta(30, 10)``, or
        draws of it. Independent of each other, but for what cannot exist together.
    n_trials : array_like of int, optional
        Numbers of trials, at least 2. Default: the one at which `width` has the `assurance`.
    width : float, optional
        Interval width wanted, in (0, 2].
    assurance : float
        Share of studies that are to reach the width, in (0, 1).
    against : float
        Value that an interval should exclude.
    rope : (float, float), optional
        Region of practical equivalence.
    ci_prob : float
        In (0, 1).
    n_datasets : int
        Simulated studies for each number of trials, at least 100.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior on the cells in the planned analysis, as in `alikely.error_consistency`. It
        is separate from the assumed distribution of the true values.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same truths serve for all numbers of trials.

    Returns
    -------
    pandas.DataFrame
        One row per number of trials: ``expected_width`` of the interval; ``assured_width`` that the
        share `assurance` of studies stays below [JWB95]_; shares of studies: ``p_width`` (not wider
        than `width`), ``p_excludes`` (`against`), ``p_outside_rope``, ``p_inside_rope``;
        ``coverage``; ``frac_undefined`` of the estimate; ``mc_error``, the largest Monte Carlo
        error of a share; ``impossible_share`` of the prior draws, which were drawn again.

    Raises
    ------
    ValueError
        If a number is out of range, neither `n_trials` nor `width` is given, or hardly any prior
        draw can exist.

    Examples
    --------
    >>> import alikely as al
    >>> from scipy import stats
    >>> accuracy = stats.beta(30, 10)
    >>> plan = al.planning.assurance(accuracy, accuracy, stats.norm(0.4, 0.1), [160, 640], rng=1)
    >>> plan["expected_width"].round(1).tolist()
    [0.3, 0.2]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    _check_goals(n_trials, width, assurance, rope, ci_prob, n_datasets)
    goals = {"width": width, "assurance": assurance, "against": against, "rope": rope}
    priors, studies = seed_sequence(rng).spawn(2)
    beliefs = {"accuracy_a": accuracy_a, "accuracy_b": accuracy_b, "ec": ec}
    truths, impossible = _possible(beliefs, n_datasets, np.random.default_rng(priors))
    setting = one_pair(cell_probabilities(*truths), prior=prior)
    table = _simulated(setting, np.zeros(4, dtype=np.int64), n_trials, goals, ci_prob, studies)
    return table.assign(impossible_share=impossible)


def plan_from(
    result: Result,
    n_trials: ArrayLike | None = None,
    *,
    width: float | None = None,
    assurance: float = 0.8,
    keep_pilot: bool = False,
    against: float = 0.0,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    n_datasets: int = 2_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Simulate what more trials will show, from a pilot [OSC05]_.

    The truth is drawn from the posterior of the pilot, so that what the pilot leaves open stays
    open.

    Parameters
    ----------
    result : Result
        The pilot, of any metric. For metrics of correctness, counts of whole studies are simulated
        under its prior; for others, and for a pilot with ``cluster=``, the posterior draws and
        standard error of the pilot are used.
    n_trials : array_like of int, optional
        Numbers of new trials, at least 2. Default: the one at which `width` has the `assurance`.
    width, assurance, against, rope, ci_prob, n_datasets, rng
        As in `assurance`.
    keep_pilot : bool
        Whether the new trials are added to those of the pilot.

    Returns
    -------
    pandas.DataFrame
        One row per entry of the pilot and number of trials: its labels, ``pilot_trials``,
        ``pilot_estimate``, and the columns of `assurance`; ``method`` is ``simulated`` or
        ``normal``; ``note`` gives the reason why an entry has no plan; with clusters,
        ``design_effect`` of the pilot, which new clusters of the same sizes would have.

    Raises
    ------
    ValueError
        If a number is out of range, neither `n_trials` nor `width` is given, or the pilot has no
        posterior draws where they are needed.

    Examples
    --------
    >>> import alikely as al
    >>> pilot = al.error_consistency(al.load_example(), [("human_1", "human_2")], rng=1)
    >>> plan = al.planning.plan_from(pilot, [160, 640], keep_pilot=True, n_datasets=200, rng=1)
    >>> plan.groupby("n_trials")["expected_width"].mean().round(1).tolist()
    [0.3, 0.2]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    _check_goals(n_trials, width, assurance, rope, ci_prob, n_datasets)
    goals = {"width": width, "assurance": assurance, "against": against, "rope": rope}
    of_type(result, Result, "make one with al.compare or another door")
    pilots = result.summary(intervals=())["n_trials"].to_numpy()
    clustered = "design_effect" in result.estimates
    counted = result.metric.counts == "correctness" and not clustered
    plan = _from_counts if counted else _from_normal
    jobs = [
        (result, i, int(pilots[i]) if keep_pilot else 0, n_trials, goals, ci_prob, n_datasets, own)
        for i, own in enumerate(seed_sequence(rng).spawn(len(pilots)))
    ]
    value = result.estimates["estimate"].values
    labels = result.pairs.assign(pilot_trials=pilots, pilot_estimate=value)
    if clustered:
        labels["design_effect"] = result.estimates["design_effect"].values
    parts = [
        labels.iloc[[i]].merge(part, how="cross") for i, part in enumerate(in_parallel(plan, jobs))
    ]
    return pd.concat(parts, ignore_index=True)


def _possible(beliefs: dict[str, Belief], n: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Draws of accuracies and error consistency that can exist, and the share that cannot."""
    kept = np.empty((3, 0))
    tried = 0
    while kept.shape[1] < n:
        drawn = np.stack([_believed(belief, name, n, rng) for name, belief in beliefs.items()])
        for name, values in zip(list(beliefs)[:2], drawn[:2], strict=True):
            check_between(values, name, NO_ERRORS)
        lower, upper = bounds.error_consistency_bounds(drawn[0], drawn[1])
        fits = (drawn[2] >= lower) & (drawn[2] <= upper)
        kept = np.concatenate([kept, drawn[:, fits]], axis=1)
        tried += n
        if kept.shape[1] < FEWEST_POSSIBLE * tried:
            a, b = drawn[:2].mean(axis=1)
            low, high = (float(bound) for bound in bounds.error_consistency_bounds(a, b))
            raise ValueError(
                f"ec must lie in [{low:.4f}, {high:.4f}] for mean accuracies {a:.3g} and {b:.3g}; "
                f"only {kept.shape[1]} of {tried} prior draws can exist"
            )
    return kept[:, :n], 1 - kept.shape[1] / tried


def _believed(belief: Belief, name: str, n: int, rng: np.random.Generator) -> Floats:
    if hasattr(belief, "rvs"):
        return np.asarray(belief.rvs(size=n, random_state=rng), dtype=np.float64)
    values = np.asarray(belief, dtype=np.float64).ravel()
    if not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"{name} must be a number, a frozen distribution or finite draws of one, got {belief!r}"
        )
    return values[rng.integers(0, len(values), n)]


def _simulated(
    setting: Setting,
    pilot: NDArray[np.int64],
    n_trials: ArrayLike | None,
    goals: dict[str, Any],
    ci_prob: float,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Simulate studies of each number of trials: a data set for each truth of the setting."""
    p = setting.probabilities / setting.probabilities.sum(axis=-1, keepdims=True)
    truth = estimates(p, setting)

    def study(n: int, few: int, n_draws: int, own: np.random.SeedSequence) -> dict[str, float]:
        rng = np.random.default_rng(own)
        counts = pilot + rng.multinomial(n, p[:few])
        both = intervals(counts, setting, "posterior", n_draws, ci_prob, rng)
        found = {"n_trials": n} | _shares(both, truth[:few], **goals)
        return found | {"frac_undefined": float(np.isnan(estimates(counts, setting)).mean())}

    def width(n: int, own: np.random.SeedSequence) -> float:
        return study(n, SEARCHED, SEARCHED_DRAWS, own)["assured_width"]

    searching, describing = seed.spawn(2)
    if n_trials is None:
        # Truths at which nothing can vary, or hardly ever seen, have no variance to go by.
        variance = np.nan_to_num(unit_variance(setting)[:SEARCHED])
        typical = float(np.quantile(variance, goals["assurance"]))
        needed = float(trials_of_formula(goals["width"], typical, ci_prob))
        start = max(needed - pilot.sum(), 2)
        n_trials = simulated_number(width, start, goals["width"], searching)
    numbers = np.ravel(n_trials).astype(int).tolist()
    seeds = describing.spawn(len(numbers))
    jobs = [(n, len(p), N_DRAWS, own) for n, own in zip(numbers, seeds, strict=True)]
    return pd.DataFrame(list(in_parallel(study, jobs))).assign(method="simulated")


def _from_counts(
    result: Result,
    entry: int,
    kept: int,
    n_trials: ArrayLike | None,
    goals: dict[str, Any],
    ci_prob: float,
    n_datasets: int,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Truths from the pilot's posterior, data sets from the truths."""
    # Items that recur count once, as shares of the cells.
    counts = result.table["cells"].values[entry]
    repeated = counts.dtype.kind == "f"
    if kept and repeated:
        raise ValueError(
            "keep_pilot adds new trials to those of the pilot, and its items recur: plan new "
            "items with keep_pilot=False, or more answers with al.planning.plan_repeats"
        )
    drawing, studying = seed.spawn(2)
    known = counts + result.prior.cells("planning")
    truths = np.random.default_rng(drawing).dirichlet(known, size=n_datasets)
    setting = one_pair(truths, result.metric, result.prior)
    pilot = counts if kept else np.zeros_like(counts)
    note = "of single answers: see plan_repeats" if repeated else ""
    return _simulated(setting, pilot, n_trials, goals, ci_prob, studying).assign(note=note)


def _from_normal(
    result: Result,
    entry: int,
    kept: int,
    n_trials: ArrayLike | None,
    goals: dict[str, Any],
    ci_prob: float,
    n_datasets: int,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Truths from the posterior; estimates normal around them, as exact as the pilot's were."""
    estimate, se = (float(result.estimates[name].values[entry]) for name in ("estimate", "se"))
    draws = np.asarray(result.draws("posterior")[:, entry], dtype=np.float64)
    draws = draws[np.isfinite(draws)]
    if not (len(draws) and np.isfinite(estimate) and se > 0):
        note = "no plan: the pilot's estimate is undefined or has no standard error"
        return pd.DataFrame({"method": ["normal"], "note": [note]})
    unit = se * np.sqrt(int(result.summary(intervals=())["n_trials"].iloc[entry]))
    if n_trials is None:
        needed = float(trials_of_formula(goals["width"], unit**2, ci_prob))
        n_trials = max(2, int(np.ceil(needed)) - kept)
    numbers = np.ravel(n_trials).astype(int).tolist()
    rows = []
    for n, own in zip(numbers, seed.spawn(len(numbers)), strict=True):
        rng = np.random.default_rng(own)
        truth = rng.choice(draws, n_datasets)
        new = truth + unit / np.sqrt(n) * rng.standard_normal(len(truth))
        value = (kept * estimate + n * new) / (kept + n)
        half = special.ndtri((1 + ci_prob) / 2) * unit / np.sqrt(kept + n)
        both = np.stack([value - half, value + half], axis=1)
        rows.append({"n_trials": n} | _shares(both, truth, **goals))
    return pd.DataFrame(rows).assign(method="normal", note="")
