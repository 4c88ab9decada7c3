"""Numbers of trials for one pair of observers, or for a difference of two: widths and power.

The estimand is any metric of correctness for one pair, or a weighted sum over pairs that share
trials. Estimates are described by formulas, or are simulated if few trials are expected in a cell.

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
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats, within
from alikely._base.checks import as_numbers, check_between, check_whole, of_type, one_of
from alikely._base.intervals import check_interval
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.estimates.result import Result
from alikely.inference.independence import fisher_log10_p
from alikely.inference.intervals import interval, mean_of_defined
from alikely.metrics import ERROR_CONSISTENCY, Metric, bounds, consistency, get_metric
from alikely.metrics.consistency import Prior, cell_prior
from alikely.simulate import cell_probabilities
from alikely.simulate.simulators import pattern_cells, pattern_probabilities

Calculation = Literal["auto", "analytic", "simulated"]
Method = Literal["analytic", "bootstrap", "posterior"]
Alternative = Literal["two-sided", "greater", "less"]
# Measured over 800 settings. With at least so many trials expected in every cell, the analytic
# width is within 3% of the simulated one. With 5 to 8 it is off by up to 4%, with fewer by half.
FEWEST_EXPECTED = 10
OFTEN_UNDEFINED = 1e-3
# Number of simulated data sets for the spread of estimates and the power of a test.
N_DATASETS = 20_000
# Number of replicates or draws for each interval of a coverage study.
N_DRAWS = 1_000
# The same if widths are assured: as many as in a result, because draws add to their spread.
N_DRAWS_FOR_WIDTH = 4_000
# Maximum number of values in memory at a time.
CHUNK = 8_000_000
# Step of a central difference, as a fraction of a pattern's probability.
STEP = 1e-5


def grid(**inputs: ArrayLike | None) -> pd.DataFrame:
    """Broadcast inputs to columns, one row per combination."""
    given = {name: as_numbers(x, name) for name, x in inputs.items()}
    try:
        shape = np.broadcast_shapes(*(x.shape for x in given.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in given.items())
        raise ValueError(
            f"inputs must broadcast, got shapes {shapes}; to cross two inputs make one a column, "
            "such as x[:, None]"
        ) from None
    return pd.DataFrame({name: np.broadcast_to(x, shape).ravel() for name, x in given.items()})


def check_width(values: ArrayLike, of: str = "error consistency") -> None:
    """Raise `ValueError` unless all widths lie in (0, 2]."""
    widths = as_numbers(values, "width")
    bad = ~((widths > 0) & (widths <= 2))
    if bad.any():
        raise ValueError(
            f"width must lie in (0, 2], as {of} lies in [-1, 1]; got {widths[bad].flat[0]:g}"
        )


AROUND = np.array([0.7, 0.84, 1.0, 1.19, 1.42])
# Smallest and largest number of trials of a search by simulation.
FEWEST, MOST = 2, 10_000_000


def simulated_number(
    value: Callable[[int, np.random.SeedSequence], float],
    start: float,
    goal: float,
    seed: np.random.SeedSequence,
    *,
    power: bool = False,
    slack: float = 0.02,
    rounds: int = 2,
) -> int:
    """Number of trials at which a simulated width, or simulated power, reaches its goal."""
    # Width is nearly a power of the number of trials; probit power is linear in its root.
    scale, number = (np.sqrt, np.square) if power else (np.log, np.exp)

    def gain(n: int) -> float:
        # A separate stream of random numbers for each number of trials.
        own = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, n))
        found = value(n, own)
        # Identical estimates have width 0, whose logarithm is infinite.
        with np.errstate(divide="ignore"):
            return float(special.ndtri(found) if power else -np.log(found))

    wanted = float(special.ndtri(goal) if power else -np.log(goal))
    guess = float(np.clip(start, 2 * FEWEST, MOST))
    for _ in range(rounds):
        tried = np.unique(np.ceil(guess * AROUND)).astype(int).tolist()
        gains = np.nan_to_num([gain(n) for n in tried], nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        known = np.isfinite(gains)
        if known.sum() < 2:
            # Power is close to 0 or 1 here: halve or double the number.
            guess *= 0.5 if gains.max() > wanted else 2.0
            continue
        slope, level = np.polyfit(scale(np.array(tried))[known], gains[known], 1)
        reached = number((wanted - level) / slope) if slope > 0 else 2 * guess
        # Limit extrapolation in one round.
        guess = float(np.clip(reached, guess / 3, guess * 3))
    found = int(np.ceil(np.clip(guess, FEWEST, MOST)))
    # With very few trials the curve has steps, so that extrapolation fails.
    while not gain(found) >= wanted - slack and found < MOST:
        found = min(int(np.ceil(1.02 * found)) + 1, MOST)
    return found


def smallest_with(power: Callable[[int], float], goal: float, fewest: int = 2) -> int:
    """Find the smallest number, at least `fewest`, for which an increasing power reaches `goal`."""
    low, high = fewest - 1, fewest
    while power(high) < goal:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle) >= goal else (middle, high)
    return high


class Setting(NamedTuple):
    """Estimand, and the probabilities of the response patterns of a trial."""

    probabilities: Floats
    cells: Floats
    weights: Floats
    metric: Metric
    prior: Floats

    def row(self, index: int) -> Setting:
        """Setting with one row of the probabilities, selected by `index`."""
        return self._replace(probabilities=self.probabilities[index])


def one_pair(
    probabilities: Floats,
    metric: str | Metric = ERROR_CONSISTENCY,
    prior: Prior | None = None,
) -> Setting:
    """Setting for one pair of observers; the response patterns are the four cells of the pair."""
    found = get_metric(metric)
    if found.counts != "correctness":
        raise ValueError(
            f"metric must be of correctness to plan from accuracies, got {found.name}, a metric of "
            f"{found.counts}; plan it from a pilot with plan_from"
        )
    own = cell_prior(prior).cells("planning")
    return Setting(np.asarray(probabilities), np.eye(4)[None], np.ones(1), found, own)


def estimates(counts: NDArray[np.number], setting: Setting) -> Floats:
    """Estimates from counts of patterns."""
    tables = np.einsum("...m,pmc->...pc", counts, setting.cells)
    return np.asarray(setting.metric.value(tables) @ setting.weights)


def true_value(setting: Setting) -> Floats:
    """Return the value of the estimand at the probabilities of a setting."""
    return estimates(setting.probabilities, setting)


def _slopes(counts: NDArray[np.number], setting: Setting) -> Floats:
    """Influence of one trial of each pattern on the estimate: shape (..., pattern)."""
    tables = np.einsum("...m,pmc->...pc", counts, setting.cells)
    influence = setting.metric.influence(tables)
    # A cell that does not occur may have an infinite slope, with weight 0.
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
        # The step is a fraction of the probability, which cancels; impossible patterns add nothing.
        total += np.where(step[..., 0] > 0, (up - down) / (2 * STEP), 0.0)
    return total / 2


def frac_undefined(setting: Setting, n_trials: ArrayLike) -> Floats:
    """Exact probability that the estimate is undefined."""
    p, n = setting.probabilities, np.asarray(n_trials)
    occurring = np.array(list(itertools.product((0, 1), repeat=p.shape[-1])))[1:]
    undefined, size = np.isnan(estimates(occurring, setting)), occurring.sum(axis=1)
    # Inclusion and exclusion: exactly these patterns occur, or at most these.
    within = (occurring[:, None] <= occurring).all(axis=-1)
    signs = np.where(within, 1 - 2 * ((size + size[:, None]) % 2), 0)
    times = (signs @ undefined).astype(np.intp)
    some = times != 0
    share = (p @ occurring[some].T) ** n[..., None] @ times[some]
    return np.clip(share, 0.0, 1.0)


def smallest_expected(setting: Setting, n_trials: ArrayLike) -> Floats:
    """Expected number of trials in the rarest cell of any pair."""
    tables = np.einsum("...m,pmc->...pc", setting.probabilities, setting.cells)
    return np.asarray(np.asarray(n_trials) * tables.min(axis=(-2, -1)))


def draw_tables(
    setting: Setting, n_trials: int, n_datasets: int, seed: np.random.SeedSequence
) -> NDArray[np.int64]:
    """Simulate data sets from the probabilities of a setting."""
    p = setting.probabilities / setting.probabilities.sum()
    return np.random.default_rng(seed).multinomial(n_trials, p, size=n_datasets)


def replicates(
    counts: NDArray[np.int64],
    setting: Setting,
    prior: Floats | float | None,
    n_draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Estimates from posterior draws, or from bootstrap replicates if `prior` is None."""
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
    """Intervals from counts of patterns, by one method."""
    if method == "analytic":
        half = special.ndtri((1 + ci_prob) / 2) * standard_errors(counts, setting)
        value = estimates(counts, setting)
        return np.stack([value - half, value + half], axis=1)
    # With accuracies near 1 few different tables occur.
    tables, which = np.unique(counts, axis=0, return_inverse=True)
    bounds = np.empty((len(tables), 2))
    prior = None if method == "bootstrap" else setting.prior
    step = max(1, CHUNK // (n_draws * (tables.shape[1] + 4 * len(setting.weights))))
    for start in range(0, len(tables), step):
        drawn = replicates(tables[start : start + step], setting, prior, n_draws, rng)
        bounds[start : start + step] = interval(drawn, ci_prob, "eti")
    return bounds[which]


def check_coverage(n_coverage: int, prior: Prior | None = None) -> None:
    """Raise `ValueError` for an invalid number of data sets, or for a prior that is not used."""
    check_whole(n_coverage, "n_coverage", 0)
    if prior is not None and not n_coverage:
        raise ValueError(
            "prior must be None without posterior intervals; leave it out, or set n_coverage=1000"
        )


def is_simulated(
    setting: Setting, n_trials: ArrayLike, least: float = FEWEST_EXPECTED
) -> NDArray[np.bool_]:
    """Mask of the rows in which so few trials are expected in a cell that they are simulated."""
    return np.asarray(smallest_expected(setting, n_trials) < least)


def spread(
    setting: Setting, n_trials: int, ci_prob: float, seed: np.random.SeedSequence
) -> tuple[float, float, float, float]:
    """Central range, standard deviation and bias of the defined estimates of simulated data."""
    values = estimates(draw_tables(setting, n_trials, N_DATASETS, seed), setting)
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return np.nan, np.nan, np.nan, np.nan
    lower, upper = np.quantile(defined, [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    bias = float(defined.mean() - true_value(setting))
    return float(lower), float(upper), float(defined.std()), bias


def trials_of_formula(width: Floats | float, variance: Floats | float, ci_prob: float) -> Floats:
    """Compute the number of trials for a given interval width from the variance per trial."""
    return np.asarray((2 * special.ndtri((1 + ci_prob) / 2) / width) ** 2 * variance)


def row_by_row(
    function: Callable[..., Any],
    setting: Setting,
    seed: np.random.SeedSequence,
    *columns: NDArray[Any],
    at: NDArray[np.intp] | None = None,
) -> list[Any]:
    """Simulate rows of a plan; each row has its setting, its values of the columns and its seed."""
    rows = np.arange(len(setting.probabilities)) if at is None else at
    jobs = [
        (setting.row(i), *(x[i] for x in columns), own)
        for i, own in zip(rows.tolist(), seed.spawn(len(rows)), strict=True)
    ]
    return list(in_parallel(function, jobs))


def describe(
    rows: pd.DataFrame,
    setting: Setting,
    n_trials: NDArray[np.int64],
    simulated: NDArray[np.bool_],
    ci_prob: float,
    n_coverage: int,
    rng: RandomState,
    *,
    goals: Floats | None = None,
    against: float = 0.0,
    n_draws: int = N_DRAWS,
) -> pd.DataFrame:
    """Compute interval widths and other results for the number of trials in each row."""
    half = special.ndtri((1 + ci_prob) / 2) * np.sqrt(unit_variance(setting) / n_trials)
    table = rows.assign(
        n_trials=n_trials,
        method=np.where(simulated, "simulated", "analytic"),
        width=2 * half,
        lower=true_value(setting) - half,
        upper=true_value(setting) + half,
        se=np.sqrt(unit_variance(setting) / n_trials),
        bias=second_order_bias(setting) / n_trials,
        frac_undefined=frac_undefined(setting, n_trials),
    )

    def study(one: Setting, n: int, goal: float, seed: np.random.SeedSequence) -> dict[str, float]:
        """Coverage, mean width and power of each method's interval, by simulation."""
        first, second = seed.spawn(2)
        counts, rng = draw_tables(one, n, n_coverage, first), np.random.default_rng(second)
        truth, found = float(true_value(one)), {}
        for method in get_args(Method):
            lower, upper = intervals(counts, one, method, n_draws, ci_prob, rng).T
            found[f"{method}_coverage"] = float(np.mean((lower <= truth) & (truth <= upper)))
            found[f"{method}_width"] = float(mean_of_defined(upper - lower))
            found[f"{method}_power"] = float(np.mean((lower > against) | (upper < against)))
            if goals is not None:
                found[f"{method}_assurance"] = float(np.mean(upper - lower <= goal))
        return found

    first, second = seed_sequence(rng).spawn(2)
    if len(at := np.flatnonzero(simulated)):
        found = row_by_row(
            lambda one, n, own: spread(one, n, ci_prob, own), setting, first, n_trials, at=at
        )
        table.loc[table.index[at], ["lower", "upper", "se", "bias"]] = np.array(found)
        table["width"] = table["upper"] - table["lower"]
    if n_coverage:
        wanted = np.full(len(rows), np.nan) if goals is None else goals
        table = table.join(pd.DataFrame(row_by_row(study, setting, second, n_trials, wanted)))
    few = smallest_expected(setting, n_trials) < FEWEST_EXPECTED
    what = np.where(simulated, "simulated", "the formula may be off")
    notes = [
        np.where(few, f"fewer than {FEWEST_EXPECTED} trials expected in a cell: " + what, ""),
        np.where(
            table["frac_undefined"] > OFTEN_UNDEFINED, "often undefined: use the posterior", ""
        ),
    ]
    table["note"] = ["; ".join(filter(None, parts)) for parts in zip(*notes, strict=True)]
    return table


NO_ERRORS = "without errors (or correct responses) error consistency is undefined"
# Upper limit of searches for numbers of trials.
MOST_TRIALS = 1e12
# Number of data sets per candidate number of trials in a search for an assurance.
N_SEARCH = 200
FISHER, SCORE, INTERVAL = "Fisher's exact", "score", "analytic interval"
# Measured: with so many trials expected in every cell, the formula for the power of Fisher's test
# is within 0.01 of the exact power; with 10, within 0.03.
ENOUGH_FOR_FISHER = 100


def trials_for_width(
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    width: ArrayLike | None = None,
    *,
    n_trials: ArrayLike | None = None,
    assurance: float | None = None,
    interval: Method = "posterior",
    ci_prob: float | None = None,
    metric: str | Metric = ERROR_CONSISTENCY,
    n_coverage: int = 0,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Find the number of trials for an interval of a given width, or vice versa [K25]_.

    Without `assurance`, `width` is the width of the central range of estimates in repeated
    experiments, and about half of all experiments have a wider interval. If `assurance` is passed,
    the interval is no wider than requested with probability `assurance` [KM03]_.

    Parameters
    ----------
    accuracy_a, accuracy_b : array_like
        Accuracies of the two observers, in (0, 1).
    ec : array_like
        True error consistency, within the range that is possible given the accuracies.
    width : array_like, optional
        Target width, in (0, 2]. Array arguments are broadcast. To compute all combinations of two
        arguments, pass one of them with shape (n, 1).
    n_trials : array_like of int, optional
        Numbers of trials, each at least 2, for which the interval width is computed. Pass either
        `n_trials` or `width`.
    assurance : float, optional
        Proportion of experiments in which the interval should not be wider than `width`, in (0, 1).
    interval : {"posterior", "bootstrap", "analytic"}
        Interval method to which `assurance` applies.
    ci_prob : float
        Probability level of the interval, in (0, 1).
    metric : str or Metric
        Correctness metric. For all metrics, `ec` is the error consistency of the observers.
    n_coverage : int
        Number of simulated data sets for which the intervals of all methods are also computed. 0
        disables these intervals.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior for the cells, used by posterior intervals, as in
        `alikely.error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness. The same seed gives the same numbers with any number of workers.

    Returns
    -------
    pandas.DataFrame
        One row per setting, with the arguments and these columns:

        - ``target``, ``criterion``, ``assurance``: target width, ``"expected"`` or the method of
          the assured interval, and the target assurance (if `width` is given)
        - ``n_trials``: number of trials
        - ``method``: ``analytic``, or ``simulated`` if fewer than 10 trials are expected in a cell
        - ``width``, ``lower``, ``upper``: width and limits of the central range of estimates
        - ``se``, ``bias``: standard error and bias of the estimate
        - ``frac_undefined``: fraction of data sets with an undefined estimate
        - ``<method>_coverage``, ``<method>_width``, ``<method>_power``, ``<method>_assurance``:
          coverage, mean width, and probabilities of excluding 0 and of being no wider than the
          target, for analytic, bootstrap and posterior intervals (with `n_coverage`)
        - ``note``: a warning if results are approximate

    Raises
    ------
    ValueError
        If an argument is out of range.
    ValueError
        If `ec` is impossible for the given accuracies; the error message states the bounds of `ec`.
    ValueError
        If `width` and `n_trials` are both given or both missing.

    Notes
    -----
    The width is computed from the standard error [FCE69]_, and is accurate to within 3% if at least
    10 trials are expected in every cell of the table. If fewer than 10 trials are expected in one
    of the four cells, ``width`` is the width of the central range that contains a proportion
    `ci_prob` of 20,000 simulated estimates.

    Examples
    --------
    >>> import alikely as al
    >>> al.trials_for_width(0.75, 0.75, 0.5, [0.2, 0.1])["n_trials"].tolist()
    [385, 1537]
    >>> al.trials_for_width(0.75, 0.75, 0.5, 0.2, assurance=0.8, rng=1)["n_trials"][0]
    np.int64(403)
    >>> al.trials_for_width([0.75, 0.9], [0.75, 0.9], 0.5, n_trials=400)["width"].round(2).tolist()
    [0.2, 0.28]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    if (n_trials is None) == (width is None):
        raise ValueError("give either width or n_trials, not both or neither")
    wanted = {"n_trials": n_trials} if width is None else {"target": width}
    rows, setting = stated_pairs(metric, accuracy_a, accuracy_b, ec, prior, **wanted)
    assured = assurance is not None
    check_coverage(n_coverage, None if assured and interval == "posterior" else prior)
    check_interval(ci_prob, "eti")
    if width is None:
        if assured:
            raise ValueError("assurance needs width; leave it out, or give width")
        check_whole(rows["n_trials"], "n_trials")
        n = rows.pop("n_trials").to_numpy(dtype=np.int64)
        return describe(rows, setting, n, is_simulated(setting, n), ci_prob, n_coverage, rng)
    check_width(rows["target"])
    if assurance is not None:
        check_between(assurance, "assurance", "try 0.8, or leave it out for an expected width")
    one_of("interval", interval, get_args(Method))
    searching, describing = seed_sequence(rng).spawn(2)
    goals = rows["target"].to_numpy()
    # Rounding must not add a trial if the formula gives an integer.
    exact = trials_of_formula(goals, unit_variance(setting), ci_prob)
    if (exact > MOST_TRIALS).any():
        raise ValueError(
            f"width is too small: it needs {exact.max():.1e} trials, more than the limit of "
            f"{MOST_TRIALS:.0e}; use a larger width"
        )

    def number(one: Setting, goal: float, start: int, seed: np.random.SeedSequence) -> int:
        def width(n: int, own: np.random.SeedSequence) -> float:
            if assurance is None:
                lower, upper, _, _ = spread(one, n, ci_prob, own)
                return upper - lower
            counts = draw_tables(one, n, N_DATASETS if interval == "analytic" else N_SEARCH, own)
            rng = np.random.default_rng(own.spawn(1)[0])
            bounds = intervals(counts, one, interval, N_DRAWS_FOR_WIDTH, ci_prob, rng)
            # An experiment without an interval does not reach the width.
            widths = np.nan_to_num(bounds[:, 1] - bounds[:, 0], nan=np.inf)
            return float(np.quantile(widths, assurance, method="inverted_cdf"))

        slack, rounds = (0.01, 2) if assured else (0.02, 4)
        return simulated_number(width, start, goal, seed, slack=slack, rounds=rounds)

    n = np.maximum(np.ceil(exact - 1e-9), 2).astype(np.int64)
    at = np.flatnonzero(is_simulated(setting, n) | assured)
    n[at] = row_by_row(number, setting, searching, goals, n, at=at)
    rows["criterion"] = interval if assured else "expected"
    rows["assurance"] = assurance if assured else np.nan
    return describe(
        rows, setting, n, is_simulated(setting, n), ci_prob, n_coverage, describing,
        goals=goals, n_draws=N_DRAWS_FOR_WIDTH if assured else N_DRAWS,
    )  # fmt: skip


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
    n_coverage: int = 0,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Find the number of trials needed to reject an error consistency of `against` [C96]_.

    If `against` is 0, the test is Fisher's exact test [F22]_, reported as ``p_fisher`` in
    summaries. If `against` is not 0, the test is a Rao score test, whose standard error is computed
    from the observed accuracies under the null hypothesis. Tables of results do not include the
    p-value of the Rao score test, but their intervals show whether the value of `against` is
    excluded.

    Parameters
    ----------
    accuracy_a, accuracy_b, ec : array_like
        As in `trials_for_width`.
    power : array_like
        Target power, in (0, 1).
    alpha : float
        Significance level of the test, in (0, 1).
    against : float
        Error consistency under the null hypothesis; it must be possible given the accuracies.
    alternative : {"two-sided", "greater", "less"}
        Alternative hypothesis.
    method : {"auto", "analytic", "simulated"}
        Method for computing power: a normal approximation (with Yates' correction [Y34]_ for
        Fisher's test), or simulated data sets. ``"auto"`` simulates if fewer than 10 trials (100
        for Fisher's test) are expected in any of the four cells.
    n_coverage, prior, rng
        As in `trials_for_width`.

    Returns
    -------
    pandas.DataFrame
        One row per setting, with the arguments, the columns of `trials_for_width` and

        - ``target``: target power
        - ``n_trials``, ``power``: number of trials, and power with this number of trials
        - ``test``: name of the test
        - ``<method>_power``: proportion of data sets whose interval excludes `against` (with
          `n_coverage`)

    Raises
    ------
    ValueError
        If an argument is out of range, or if `ec` is not consistent with the alternative
        hypothesis.

    Examples
    --------
    >>> import alikely as al
    >>> al.trials_for_power(0.97, 0.97, 0.3, rng=1)[["n_trials", "test"]].values[0]
    array([320, "Fisher's exact"], dtype=object)
    """
    rows, setting = stated_pairs(ERROR_CONSISTENCY, accuracy_a, accuracy_b, ec, prior, target=power)
    one_of("method", method, get_args(Calculation))
    check_coverage(n_coverage, prior)
    _check_power(rows["target"], alpha)
    _check_difference(rows["ec"], against, alternative)
    a, b = rows["accuracy_a"], rows["accuracy_b"]
    hypothesis = stated_pairs(ERROR_CONSISTENCY, a, b, against)[1]
    test = FISHER if against == 0 else SCORE
    return _plan(
        rows, setting, unit_variance(hypothesis), test, alpha, against, alternative, method,
        n_coverage, rng,
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
    n_coverage: int = 0,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Find the number of trials needed to detect a difference in consistency between two models.

    The two models are compared with the same human. The human and both models respond to the same
    trials, so the error consistencies of the two models are dependent. The joint distribution of
    correctness is the maximum-entropy distribution with the given pairwise consistencies. The
    difference is significant if its analytic interval excludes 0. For several humans, use
    `variance_components`.

    Parameters
    ----------
    accuracy_human, accuracy_a, accuracy_b : array_like
        Accuracies of the human and of the two models, in (0, 1).
    ec_a, ec_b : array_like
        Error consistency of each model with the human.
    ec_models : array_like, optional
        Error consistency between the two models. Higher consistency between the models reduces the
        required number of trials. By default, the models are conditionally independent given the
        human.
    power : array_like
        Target power, in (0, 1). Array arguments are broadcast.
    alpha : float
        Two-sided significance level, in (0, 1).
    n_coverage, rng
        As in `trials_for_width`.

    Returns
    -------
    pandas.DataFrame
        One row per setting, with the arguments and these columns:

        - ``difference``: true difference
        - ``target``: target power
        - ``n_trials``, ``power``, ``test``: number of trials, power with this number, and name of
          the test
        - ``width``, ``se``, ``bias``, ``frac_undefined``: as in `trials_for_width`, for the
          difference
        - coverage, mean width and power of the interval of each method (with `n_coverage`)

    Raises
    ------
    ValueError
        If an argument is out of range, or if `ec_a` equals `ec_b`.
    ValueError
        If no joint distribution of the three observers' responses has the given accuracies and
        error consistencies. The error message states the possible range of error consistency.

    Examples
    --------
    >>> import alikely as al
    >>> stated = 0.75, 0.75, 0.75, 0.5, 0.3, [0.4, 0.6]
    >>> plan = al.planning.trials_for_difference(*stated)
    >>> plan["n_trials"].tolist()
    [278, 183]
    """
    check_coverage(n_coverage)
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
            "ec_a and ec_b must differ: no number of trials can detect a difference of 0"
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
        n_coverage, rng,
    )  # fmt: skip


def stated_pairs(
    metric: str | Metric,
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    prior: Prior | None = None,
    **other: ArrayLike,
) -> tuple[pd.DataFrame, Setting]:
    """Return a table with one row per combination of the broadcast inputs, and their settings."""
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
            f"power must be above alpha, the rate of false positives; got {power.min():g} at alpha "
            f"{alpha:g}"
        )


def _check_difference(ec: pd.Series, against: float, alternative: str) -> None:
    one_of("alternative", alternative, get_args(Alternative))
    _check_stated(against, "against")
    away = ec - against
    if (away == 0).any():
        raise ValueError(
            f"ec must differ from {against:g}, the value tested against: no number of trials can "
            "detect a difference of 0"
        )
    wrong = {"greater": away < 0, "less": away > 0}.get(alternative, away.isna())
    if wrong.any():
        raise ValueError(
            f"ec must be {alternative} than {against:g} for alternative={alternative!r}, got "
            f"{ec[wrong].iloc[0]:g}"
        )


def _null_tables(counts: NDArray[np.int64], against: float) -> NDArray[np.float64]:
    """Tables with the observed accuracies and the error consistency of the null hypothesis."""
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
    n_coverage: int,
    rng: RandomState,
) -> pd.DataFrame:
    """Find the number of trials of each row, and describe it."""
    critical = float(special.ndtri(1 - (alpha / 2 if alternative == "two-sided" else alpha)))

    def number(
        one: Setting, null_variance: float, goal: float, seed: np.random.SeedSequence
    ) -> tuple[int, float, bool]:
        """Find the number of trials and its power, and whether the spread is simulated."""
        away, variance = float(true_value(one)) - against, float(unit_variance(one))
        correction = 0.0
        if test == FISHER:
            # Continuity correction of half a trial in each direction.
            p_a, p_b = consistency.accuracies(one.probabilities)
            correction = 1 / float(p_a + p_b - 2 * p_a * p_b)

        def approximate(n: int) -> float:
            # Standard errors under the null hypothesis and under the truth [C96]_.
            margin = critical * np.sqrt(null_variance / n) + correction / n
            # The variance is 0 for observers who always agree.
            with np.errstate(divide="ignore"):
                ends = np.array([away - margin, -away - margin]) / np.sqrt(variance / n)
            upper, lower = special.ndtr(ends)
            sides = {"two-sided": upper + lower, "greater": upper, "less": lower}
            return float(sides[alternative])

        def simulated(n: int, own: np.random.SeedSequence) -> float:
            counts = draw_tables(one, n, N_DATASETS, own)
            if test == FISHER:
                tables, times = np.unique(counts, axis=0, return_counts=True)
                rejected = fisher_log10_p(tables, alternative) <= np.log10(alpha)
                return float(times @ rejected / N_DATASETS)
            found = estimates(counts, one) - against
            # Score test of a pair, or analytic interval of a difference. Undefined: not rejected.
            if test == SCORE:
                hypothesis = one._replace(probabilities=_null_tables(counts, against))
                se = np.sqrt(unit_variance(hypothesis) / n)
            else:
                se = standard_errors(counts, one)
            sides = {"two-sided": np.abs(found), "greater": found, "less": -found}
            return float((sides[alternative] > critical * se).mean())

        n = smallest_with(approximate, goal)
        least = ENOUGH_FOR_FISHER if test == FISHER else FEWEST_EXPECTED
        if method == "analytic" or (method == "auto" and not is_simulated(one, n, least)):
            return n, approximate(n), False
        searching, checking = seed.spawn(2)
        n = simulated_number(simulated, n, goal, searching, power=True, slack=0.03)
        return n, simulated(n, checking), method == "simulated" or bool(is_simulated(one, n))

    searching, describing = seed_sequence(rng).spawn(2)
    goals = rows["target"].to_numpy()
    found = row_by_row(number, setting, searching, null_variance, goals)
    n, power, simulated = map(np.array, zip(*found, strict=True))
    table = describe(
        rows, setting, n, simulated, 1 - alpha, n_coverage, describing, against=against
    )
    table.insert(list(table).index("n_trials") + 1, "power", power)
    table.insert(list(table).index("power") + 1, "test", test)
    return table


# Minimum proportion of possible prior draws; below it, the priors contradict each other.
FEWEST_POSSIBLE = 0.01
# Numbers of studies and of draws for each in a search for the number of trials. The result is then
# described with the requested numbers.
SEARCHED, SEARCHED_DRAWS = 1_000, 400


# The distribution is a frozen one of scipy.stats.
Belief = Any
BELIEFS = ("accuracy_a", "accuracy_b", "ec")


def _goals(
    n_trials: ArrayLike | None,
    width: float | None,
    assurance: float,
    against: float,
    rope: tuple[float, float] | None,
    ci_prob: float | None,
    n_datasets: int,
) -> dict[str, Any]:
    """Goals of studies, if they are valid."""
    ci_prob = resolve("ci_prob", ci_prob)
    check_interval(ci_prob, "eti")
    if n_trials is not None:
        check_whole(n_trials, "n_trials")
    elif width is None:
        raise ValueError("either n_trials or width is needed, got neither")
    if width is not None:
        check_width(width)
    check_between(assurance, "assurance", "try 0.8")
    if rope is not None and not rope[0] < rope[1]:
        raise ValueError(f"rope must be (lower, upper) with lower < upper, got {rope}")
    check_whole(n_datasets, "n_datasets", 100)
    return {
        "width": width, "assurance": assurance, "against": against, "rope": rope,
        "ci_prob": ci_prob,
    }  # fmt: skip


def _shares(both: Floats, truth: Floats, goals: dict[str, Any]) -> dict[str, float]:
    """Widths of the intervals of simulated studies, and proportions that reach each goal."""
    lower, upper = both.T
    against, rope = goals["against"], goals["rope"]
    shown = {"p_excludes": (lower > against) | (upper < against)}
    if goals["width"] is not None:
        shown["p_width"] = upper - lower <= goals["width"]
    if rope is not None:
        shown["p_outside_rope"] = (lower > rope[1]) | (upper < rope[0])
        shown["p_inside_rope"] = (lower >= rope[0]) & (upper <= rope[1])
    shares = {name: float(each.mean()) for name, each in shown.items()}
    found = np.array([*shares.values()])
    return {
        "expected_width": float((upper - lower).mean()),
        "assured_width": float(np.quantile(upper - lower, goals["assurance"])),
        **shares,
        "coverage": float(((lower <= truth) & (truth <= upper)).mean()),
        "mc_error": float(np.sqrt(found * (1 - found) / len(both)).max()),
    }


def plan_from(
    source: Result | Mapping[str, Belief],
    n_trials: ArrayLike | None = None,
    *,
    width: float | None = None,
    assurance: float = 0.8,
    keep_pilot: bool = False,
    against: float = 0.0,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    n_datasets: int = 2_000,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Simulate the results of a study, given a pilot study or assumed distributions [OSC05]_.

    True values are drawn from the posterior of the pilot study, or from assumed distributions, so
    that the plan accounts for their uncertainty. For each simulated study, data are drawn given the
    true values, and the central posterior interval is computed.

    Parameters
    ----------
    source : Result or mapping
        Result of a pilot study (any metric). For correctness metrics, the counts of the 2 x 2 table
        in each planned study are simulated, then analyzed with the same prior as the pilot study.
        For metrics that do not use correctness, and for any pilot study analyzed with ``cluster=``,
        plans use the posterior draws and the standard error from the pilot study.

        Instead of a result, you can pass assumed values of ``accuracy_a``, ``accuracy_b`` and
        ``ec``. Each value is a number, a distribution such as ``scipy.stats.beta(30, 10)``, or
        draws from a distribution. The accuracies and ``ec`` are drawn independently, and impossible
        combinations are redrawn.
    n_trials : array_like of int, optional
        Numbers of new trials, each at least 2. Default: the smallest number for which the interval
        is at most as wide as `width` with probability `assurance`.
    width : float, optional
        Target width of the interval, in (0, 2].
    assurance : float
        Proportion of studies in which the interval should not be wider than `width`, in (0, 1).
    keep_pilot : bool
        Whether to combine the new trials with those of the pilot.
    against : float
        Value that the interval should exclude.
    rope : (float, float), optional
        Region of practical equivalence.
    ci_prob : float
        Probability level of the interval, in (0, 1).
    n_datasets : int
        Number of simulated studies for each number of trials, at least 100.
    prior : mapping or sequence of four numbers, optional
        If you pass assumed values: Dirichlet prior for the cells in the planned analysis, as in
        `alikely.error_consistency`. `prior` is the prior in the analysis of the planned study. The
        distributions of assumed values are used only to simulate data.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness. True values are drawn once, from the posterior of the pilot or from
        the assumed distributions, and reused for every number of trials.

    Returns
    -------
    pandas.DataFrame
        One row per comparison in the pilot and number of trials, with columns

        - the labels of the entry, ``pilot_trials`` and ``pilot_estimate``: number of trials and
          estimate in the pilot (with a pilot)
        - ``n_trials``: number of new trials
        - ``expected_width``: mean width of the interval
        - ``assured_width``: width that a proportion `assurance` of studies does not exceed [JWB95]_
        - ``p_width``, ``p_excludes``, ``p_outside_rope``, ``p_inside_rope``: proportions of studies
          whose interval is not wider than `width`, excludes `against`, lies outside `rope`, and
          lies inside `rope`, respectively
        - ``coverage``: coverage of the interval
        - ``mc_error``: largest Monte Carlo error of the proportions above
        - ``frac_undefined``: fraction of studies with an undefined estimate
        - ``method``: ``simulated`` or ``normal``
        - ``note``: the reason if no plan can be computed for a comparison (with a pilot)
        - ``design_effect``: design effect in the pilot, which is also assumed for new clusters
          (with ``cluster=``)
        - ``impossible_share``: proportion of draws that were impossible combinations and were
          replaced (with assumed values)

    Raises
    ------
    TypeError
        If `source` is neither a `Result` nor a mapping.
    ValueError
        If a number is out of range.
    ValueError
        If neither `n_trials` nor `width` is given.
    ValueError
        If posterior draws are needed, but the pilot has none.
    ValueError
        If assumed values are missing, or if almost all draws are impossible combinations of
        accuracies and error consistency.

    Examples
    --------
    >>> import alikely as al
    >>> pilot = al.error_consistency(al.load_example(), [("human_1", "human_2")], rng=1)
    >>> plan = al.planning.plan_from(pilot, [160, 640], keep_pilot=True, n_datasets=200, rng=1)
    >>> plan.groupby("n_trials")["expected_width"].mean().round(1).tolist()
    [0.3, 0.2]
    >>> from scipy import stats
    >>> accuracy = stats.beta(30, 10)
    >>> beliefs = {"accuracy_a": accuracy, "accuracy_b": accuracy, "ec": stats.norm(0.4, 0.1)}
    >>> al.planning.plan_from(beliefs, [160, 640], rng=1)["expected_width"].round(1).tolist()
    [0.3, 0.2]
    """
    goals = _goals(n_trials, width, assurance, against, rope, ci_prob, n_datasets)
    if isinstance(source, Mapping):
        if set(source) != set(BELIEFS) or keep_pilot:
            raise ValueError(
                f"source must have the keys {', '.join(BELIEFS)} or be a Result (as keep_pilot "
                f"needs), got {', '.join(map(str, source))}"
            )
        priors, studies = seed_sequence(rng).spawn(2)
        beliefs = {name: source[name] for name in BELIEFS}
        truths, impossible = _possible(beliefs, n_datasets, np.random.default_rng(priors))
        setting = one_pair(cell_probabilities(*truths), prior=prior)
        table = _simulated(setting, np.zeros(4, dtype=np.int64), n_trials, goals, studies)
        return table.assign(impossible_share=impossible)
    of_type(source, Result, "make one with al.compare or a similar function")
    if prior is not None:
        raise ValueError("prior must be None with a pilot, whose prior is used; leave it out")
    n_pilot = source.summary(intervals=())["n_trials"].to_numpy()
    jobs = [
        (source, i, n, keep_pilot, n_trials, goals, n_datasets, own)
        for i, (n, own) in enumerate(
            zip(n_pilot.tolist(), seed_sequence(rng).spawn(len(n_pilot)), strict=True)
        )
    ]
    value = source.estimates["estimate"].values
    labels = source.pairs.assign(pilot_trials=n_pilot, pilot_estimate=value)
    if "design_effect" in source.estimates:
        labels["design_effect"] = source.estimates["design_effect"].values
    parts = enumerate(in_parallel(_from_pilot, jobs))
    return pd.concat(
        [labels.iloc[[i]].merge(part, how="cross") for i, part in parts], ignore_index=True
    )


def _possible(beliefs: dict[str, Belief], n: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Possible draws of accuracies and error consistency, and the proportion of impossible ones."""
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
                f"only {kept.shape[1]} of {tried} draws are possible combinations"
            )
    return kept[:, :n], 1 - kept.shape[1] / tried


def _believed(belief: Belief, name: str, n: int, rng: np.random.Generator) -> Floats:
    if hasattr(belief, "rvs"):
        return np.asarray(belief.rvs(size=n, random_state=rng), dtype=np.float64)
    values = np.asarray(belief, dtype=np.float64).ravel()
    if not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"{name} must be a number, a frozen distribution or finite draws, got {belief!r}"
        )
    return values[rng.integers(0, len(values), n)]


def _simulated(
    setting: Setting,
    pilot: NDArray[np.int64],
    n_trials: ArrayLike | None,
    goals: dict[str, Any],
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Simulate studies with each number of trials: one data set per true value."""
    p = setting.probabilities / setting.probabilities.sum(axis=-1, keepdims=True)
    truth, ci_prob = estimates(p, setting), goals["ci_prob"]

    def study(n: int, few: int, n_draws: int, own: np.random.SeedSequence) -> dict[str, float]:
        rng = np.random.default_rng(own)
        counts = pilot + rng.multinomial(n, p[:few])
        both = intervals(counts, setting, "posterior", n_draws, ci_prob, rng)
        undefined = float(np.isnan(estimates(counts, setting)).mean())
        return {"n_trials": n} | _shares(both, truth[:few], goals) | {"frac_undefined": undefined}

    searching, describing = seed.spawn(2)
    if n_trials is None:
        # Truths without variance, or with rare patterns, cannot be used for the formula.
        variance = np.nan_to_num(unit_variance(setting)[:SEARCHED])
        typical = float(np.quantile(variance, goals["assurance"]))
        needed = float(trials_of_formula(goals["width"], typical, ci_prob))
        n_trials = simulated_number(
            lambda n, own: study(n, SEARCHED, SEARCHED_DRAWS, own)["assured_width"],
            max(needed - pilot.sum(), 2), goals["width"], searching,
        )  # fmt: skip
    numbers = np.ravel(n_trials).astype(int).tolist()
    seeds = describing.spawn(len(numbers))
    jobs = [(n, len(p), N_DRAWS, own) for n, own in zip(numbers, seeds, strict=True)]
    return pd.DataFrame(list(in_parallel(study, jobs))).assign(method="simulated")


def _from_pilot(
    result: Result,
    entry: int,
    n_pilot: int,
    keep_pilot: bool,
    n_trials: ArrayLike | None,
    goals: dict[str, Any],
    n_datasets: int,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Simulate studies of one entry, with true values from its posterior."""
    if result.metric.counts == "correctness" and "design_effect" not in result.estimates:
        # Repeated items count once, as fractional counts of cells.
        counts = result.table["cells"].values[entry]
        repeated = counts.dtype.kind == "f"
        if keep_pilot and repeated:
            raise ValueError(
                "keep_pilot must be False, because the pilot has repeated items; plan new items "
                "with keep_pilot=False, or more repeats with al.planning.plan_repeats"
            )
        drawing, studying = seed.spawn(2)
        known = counts + result.prior.cells("planning")
        truths = np.random.default_rng(drawing).dirichlet(known, size=n_datasets)
        setting = one_pair(truths, result.metric, result.prior)
        table = _simulated(setting, counts * keep_pilot, n_trials, goals, studying)
        return table.assign(note="for one response per item: see plan_repeats" * repeated)
    # Otherwise estimates are normal, with the pilot's precision.
    estimate, se = (float(result.estimates[name].values[entry]) for name in ("estimate", "se"))
    draws = np.asarray(result.draws("posterior")[:, entry], dtype=np.float64)
    draws = draws[np.isfinite(draws)]
    if not (len(draws) and np.isfinite(estimate) and se > 0):
        note = "no plan: the pilot's estimate is undefined or has no standard error"
        return pd.DataFrame({"method": ["normal"], "note": [note]})
    unit, kept = se * np.sqrt(n_pilot), n_pilot * keep_pilot
    if n_trials is None:
        needed = float(trials_of_formula(goals["width"], unit**2, goals["ci_prob"]))
        n_trials = max(2, int(np.ceil(needed)) - kept)
    numbers = np.ravel(n_trials).astype(int).tolist()
    rows = []
    for n, own in zip(numbers, seed.spawn(len(numbers)), strict=True):
        rng = np.random.default_rng(own)
        truth = rng.choice(draws, n_datasets)
        new = truth + unit / np.sqrt(n) * rng.standard_normal(len(truth))
        value = (kept * estimate + n * new) / (kept + n)
        half = special.ndtri((1 + goals["ci_prob"]) / 2) * unit / np.sqrt(kept + n)
        both = np.stack([value - half, value + half], axis=1)
        rows.append({"n_trials": n} | _shares(both, truth, goals))
    return pd.DataFrame(rows).assign(method="normal", note="")
