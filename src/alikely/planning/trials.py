"""How many trials one error consistency needs, or a difference of two: for a width or a power.

References
----------
.. [C96] Cantor (1996). Sample-size calculations for Cohen's kappa.
   doi:10.1037/1082-989X.1.2.150
.. [F22] Fisher (1922). On the interpretation of chi-squared from contingency tables, and the
   calculation of P. doi:10.2307/2340521
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
.. [H65] Harkness (1965). Properties of the extended hypergeometric distribution.
   doi:10.1214/aoms/1177700170
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [KM03] Kelley, Maxwell (2003). Sample size for multiple regression: obtaining regression
   coefficients that are accurate, not simply significant. doi:10.1037/1082-989X.8.3.305
.. [Y34] Yates (1934). Contingency tables involving small numbers and the chi-squared test.
   doi:10.2307/2983604
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.intervals import check_interval
from alikely._base.random import RandomState, seed_sequence
from alikely._base.ranges import within
from alikely._base.settings import resolve
from alikely.metrics import ERROR_CONSISTENCY, Metric, consistency
from alikely.metrics.cell_priors import Prior, cell_prior
from alikely.planning.grids import check_between, check_whole, check_width, grid
from alikely.planning.operating import (
    N_DRAWS_FOR_WIDTH,
    SCHOOLS,
    Method,
    Setting,
    central_range,
    check_options,
    describe,
    draw_tables,
    estimates,
    intervals,
    is_simulated,
    one_pair,
    row_by_row,
    smallest_expected,
    standard_errors,
    true_value,
    unit_variance,
)
from alikely.simulate import cell_probabilities
from alikely.simulate.patterns import pattern_cells, pattern_probabilities
from alikely.stats.search import number_for_power, number_for_width, smallest_with

__all__ = [
    "NO_ERRORS",
    "interval_width",
    "stated_pairs",
    "trials_for_difference",
    "trials_for_power",
    "trials_for_width",
]

Alternative = Literal["two-sided", "greater", "less"]
School = Literal["posterior", "bootstrap", "analytic"]
NO_ERRORS = "without errors (or correct responses) nobody can say whose errors are alike"
# More trials than anybody will have.
MOST_TRIALS = 1e12
# Data sets behind each number of trials that a search for an assurance tries.
N_SEARCH = 200
# Each doubles the number of patterns of answers.
MOST_HUMANS = 4
N_DATASETS = 20_000
ALTERNATIVES = ("two-sided", "greater", "less")
FISHER, SCORE, INTERVAL = "Fisher's exact", "score", "analytic interval"
# Measured: with so many trials expected in every cell, the power of Fisher's test by its formula is
# within .01 of the exact one; with 10, off by up to .03.
ENOUGH_FOR_FISHER = 100
# So many data sets drawn for each pair of numbers of right answers, over whose overlaps power is
# summed: what varies between pairs is little.
DRAWN_PER_PAIR = 10
# Tables that are equally probable differ by rounding, never by this much: as `fisher_exact`.
ROUNDING = 1e-7
# Overlaps beyond so many standard deviations, and so many more, have a probability below 1e-12.
REACH, MORE = 7, 10


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
        Of correctness counts; of other estimands `ec` still describes the observers.
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
        from ``lower`` to ``upper``; ``se``; ``bias``; ``undefined_share`` of data sets; with
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
    interval: School = "posterior",
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
        As returned by `interval_width` at the number of trials found, with ``target``, ``promise``
        (``"expected"``, or the assured interval) and ``assurance`` before it; with `n_coverage`
        also ``<method>_assurance``, the share of data sets whose interval is no wider than the
        target.

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
    if interval not in SCHOOLS:
        raise ValueError(
            f"interval must be 'posterior', 'bootstrap' or 'analytic', got {interval!r}"
        )
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
    at = np.flatnonzero(is_simulated(setting, n, "auto") | (assurance is not None))
    study = (goals, n, ci_prob, n_datasets, assurance, interval)
    n[at] = row_by_row(_number_for_width, setting, searching, *study, at=at)
    rows["promise"] = "expected" if assurance is None else interval
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
    interval: School,
    seed: np.random.SeedSequence,
) -> int:
    def width(n: int, own: np.random.SeedSequence) -> float:
        if assurance is None:
            values = estimates(draw_tables(setting, n, n_datasets, own), setting)
            lower, upper = central_range(values, ci_prob)
            return upper - lower
        counts = draw_tables(setting, n, n_datasets if interval == "analytic" else N_SEARCH, own)
        rng = np.random.default_rng(own.spawn(1)[0])
        bounds = intervals(counts, setting, interval, N_DRAWS_FOR_WIDTH, ci_prob, rng)
        # An experiment without an interval keeps no promise.
        widths = np.nan_to_num(bounds[:, 1] - bounds[:, 0], nan=np.inf)
        return float(np.quantile(widths, assurance, method="inverted_cdf"))

    slack, rounds = (0.02, 4) if assurance is None else (0.01, 2)
    return number_for_width(width, start, goal, seed, slack, rounds)


def trials_for_power(
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    *,
    power: ArrayLike = 0.8,
    alpha: float = 0.05,
    against: float = 0.0,
    alternative: Alternative = "two-sided",
    method: Method = "auto",
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
    array([319, "Fisher's exact"], dtype=object)
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
    n_humans: int = 1,
    ec_humans: ArrayLike | None = None,
    power: ArrayLike = 0.8,
    alpha: float = 0.05,
    n_coverage: int = 1_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Find the number of trials at which two models' consistencies with the same humans differ.

    All observers answer the same trials, so that the two estimates are dependent: their joint
    distribution is the one of greatest entropy with these pairs. The test is whether the analytic
    interval of the difference (of the means over humans) excludes 0.

    Parameters
    ----------
    accuracy_human, accuracy_a, accuracy_b : array_like
        Accuracies of each human and of the two models, in (0, 1).
    ec_a, ec_b : array_like
        Error consistency of either model with each human.
    ec_models : array_like, optional
        Error consistency of the two models: the more they share, the fewer trials are needed.
        Default: nothing beyond what both share with the humans.
    n_humans : int
        Humans that both models are compared with, from 1 to 4. These are fixed; for people in
        general see `variance_components`.
    ec_humans : array_like, optional
        Error consistency of two humans; needed with more than one.
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
        ``test``, and of the difference ``width, se, bias, undefined_share`` and, with `n_coverage`,
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
    if n_humans not in range(1, MOST_HUMANS + 1):
        raise ValueError(
            f"n_humans must be 1 to {MOST_HUMANS} whole people, got {n_humans}; plan more from "
            "variance_components"
        )
    if n_humans > 1 and (ec_humans is None or np.isnan(np.asarray(ec_humans, dtype=float)).any()):
        raise ValueError("ec_humans is needed with more than one human: how alike are two of them?")
    rows = grid(
        accuracy_human=accuracy_human,
        accuracy_a=accuracy_a,
        accuracy_b=accuracy_b,
        ec_a=ec_a,
        ec_b=ec_b,
        ec_models=np.nan if ec_models is None else ec_models,
        ec_humans=np.nan if ec_humans is None else ec_humans,
        target=power,
    )
    _check_power(rows["target"], alpha)
    for name in ("ec_a", "ec_b"):
        _check_stated(rows[name], name)
    if (rows["ec_a"] == rows["ec_b"]).any():
        raise ValueError(
            "ec_a and ec_b must differ: a difference of zero is found by no number of trials"
        )
    for name in ("accuracy_human", "accuracy_a", "accuracy_b"):
        check_between(rows[name], name, NO_ERRORS)
    rows.insert(7, "n_humans", n_humans)
    rows.insert(8, "difference", rows["ec_a"] - rows["ec_b"])
    setting = _two_models(rows, n_humans)
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
    if alternative not in ALTERNATIVES:
        raise ValueError(
            f"alternative must be 'two-sided', 'greater' or 'less', got {alternative!r}"
        )
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


def _two_models(rows: pd.DataFrame, n_humans: int) -> Setting:
    """Humans first, then both models; the difference of their means over humans."""
    n = n_humans + 2
    a, b = n - 2, n - 1
    parameters = cell_prior(None).patterns("planning of a difference").parameters(n)
    probabilities = []
    for _, row in rows.iterrows():
        ec = np.full((n, n), row["ec_humans"])
        ec[:n_humans, a], ec[:n_humans, b], ec[a, b] = row["ec_a"], row["ec_b"], row["ec_models"]
        accuracy = [row["accuracy_human"]] * n_humans + [row["accuracy_a"], row["accuracy_b"]]
        names = [f"human {i + 1}" for i in range(n_humans)] + ["model a", "model b"]
        probabilities.append(pattern_probabilities(accuracy, ec, names))
    pairs = [(h, model) for model in (a, b) for h in range(n_humans)]
    cells = np.array([pattern_cells(n, *pair) for pair in pairs])
    weights = np.repeat([1.0, -1.0], n_humans) / n_humans
    return Setting(np.array(probabilities), cells, weights, ERROR_CONSISTENCY, parameters)


def _plan(
    rows: pd.DataFrame,
    setting: Setting,
    null_variance: Floats,
    test: str,
    alpha: float,
    against: float,
    alternative: Alternative,
    method: Method,
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
    method: Method,
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
        if test == FISHER:
            pairs, rng = max(n_datasets // DRAWN_PER_PAIR, 1), np.random.default_rng(own)
            return _power_of_fisher(setting.probabilities, n, alpha, alternative, pairs, rng)
        counts = draw_tables(setting, n, n_datasets, own)
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
    n = number_for_power(simulated, n, goal, searching, rounds=2 if test == FISHER else 4)
    return n, simulated(n, checking), bool(is_simulated(setting, np.array(n), method))


def _power_of_fisher(
    probabilities: Floats,
    n_trials: int,
    alpha: float,
    alternative: Alternative,
    n_datasets: int,
    rng: np.random.Generator,
) -> float:
    """Share of data sets in which Fisher's exact test [F22]_ rejects independence."""
    tables = rng.multinomial(n_trials, probabilities, size=n_datasets)
    right = tables[:, [0]] + tables[:, [1, 2]]
    right, times = np.unique(right, axis=0, return_counts=True)
    overlap, null = _overlaps(right, n_trials, probabilities)
    rejected = _p_values(null, alternative) <= alpha
    # What is certain of the true overlap has infinite odds: hardly more is as good.
    logs = np.log(np.maximum(probabilities, 1e-300))
    log_odds = logs[0] + logs[3] - logs[1] - logs[2]
    with np.errstate(divide="ignore"):
        truth = special.softmax(np.log(null) + overlap * log_odds, axis=1)
    return float(times @ (truth * rejected).sum(axis=1) / n_datasets)


def _overlaps(
    right: NDArray[np.int64], n: int, probabilities: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """Overlaps to reckon with, one row for each pair of numbers, and their null probabilities."""
    k_a, k_b = right.T
    lowest, highest = np.maximum(0, k_a + k_b - n), np.minimum(k_a, k_b)
    mean = k_a * k_b / n
    spread = np.sqrt(mean * (n - k_a) * (n - k_b) / n)
    # The truth lies as far from the null as the correlation of right answers says.
    p_a, p_b = probabilities[:2].sum(), probabilities[[0, 2]].sum()
    correlation = (probabilities[0] - p_a * p_b) / np.sqrt(p_a * (1 - p_a) * p_b * (1 - p_b))
    more, reach = correlation * spread, REACH * spread / np.sqrt(max(n - 1, 1)) + MORE
    first = np.maximum(lowest, np.floor(mean + np.minimum(more, 0) - reach).astype(np.int64))
    last = np.minimum(highest, np.ceil(mean + np.maximum(more, 0) + reach).astype(np.int64))
    overlap = first[:, None] + np.arange(int((last - first).max()) + 1)
    inside = overlap <= last[:, None]
    n11 = np.minimum(overlap, last[:, None])
    a, b = k_a[:, None], k_b[:, None]
    log_factorial = special.gammaln(np.arange(n + 1) + 1.0)
    margins = log_factorial[np.stack([k_a, n - k_a, k_b, n - k_b])].sum(axis=0) - log_factorial[n]
    cells = log_factorial[np.stack([n11, a - n11, b - n11, n - a - b + n11])].sum(axis=0)
    return n11, np.where(inside, np.exp(margins[:, None] - cells), 0.0)


def _p_values(null: Floats, alternative: Alternative) -> Floats:
    """P-value of each overlap, from the null probabilities of those of each row."""
    if alternative == "less":
        return np.cumsum(null, axis=1)
    if alternative == "greater":
        return np.cumsum(null[:, ::-1], axis=1)[:, ::-1]
    order = np.argsort(null, axis=1, kind="stable")
    mass = np.take_along_axis(null, order, axis=1)
    total = np.cumsum(mass, axis=1)
    # One overlap on either side of the mode may be as probable.
    tied = mass[:, 1:] <= mass[:, :-1] * (1 + ROUNDING)
    total[:, :-1] = np.where(tied, total[:, 1:], total[:, :-1])
    found = np.empty_like(total)
    np.put_along_axis(found, order, total, axis=1)
    return found
