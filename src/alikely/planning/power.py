"""How many trials find an error consistency, or a difference of two, by a test.

References
----------
.. [C96] Cantor (1996). Sample-size calculations for Cohen's kappa.
   doi:10.1037/1082-989X.1.2.150
.. [F22] Fisher (1922). On the interpretation of chi-squared from contingency tables, and the
   calculation of P. doi:10.2307/2340521
.. [Y34] Yates (1934). Contingency tables involving small numbers and the chi-squared test.
   doi:10.2307/2983604
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.ranges import within
from alikely.metrics import ERROR_CONSISTENCY, consistency
from alikely.metrics.cell_priors import Prior, cell_prior
from alikely.planning.exact import Alternative, power_of_fisher
from alikely.planning.operating import (
    Method,
    Setting,
    Study,
    check_options,
    describe,
    draw_tables,
    estimates,
    is_simulated,
    smallest_expected,
    standard_errors,
    true_value,
    unit_variance,
)
from alikely.planning.widths import check_accuracies, check_stated, stated_pairs
from alikely.simulate.patterns import pattern_cells, pattern_probabilities
from alikely.stats.search import own_seed, smallest_number, smallest_with

__all__ = ["check_power", "trials_for_difference", "trials_for_power"]

# Each doubles the number of patterns of answers.
MOST_HUMANS = 4
ALTERNATIVES = ("two-sided", "greater", "less")
FISHER, SCORE, INTERVAL = "Fisher's exact", "score", "analytic interval"
# Measured: with so many trials expected in every cell, the power of Fisher's test by its formula is
# within .01 of the exact one; with 10, off by up to .03.
ENOUGH_FOR_FISHER = 100
# So many data sets drawn for each pair of numbers of right answers, over whose overlaps power is
# summed: what varies between pairs is little.
DRAWN_PER_PAIR = 10


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
    """Number of trials at which error consistency is found to differ from a value [C96]_.

    Against 0 the test is Fisher's exact one [F22]_, the ``p_fisher`` of a summary, which wants more
    trials than Pearson's, near the ceiling half as many again. Against other values, for which
    results have intervals only, it compares the estimate with its standard error under the
    hypothesis, at the observed accuracies (score test).

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
        Normal approximation, of Fisher's test with Yates' correction [Y34]_; or power found by
        drawing data sets, of Fisher's test by drawing numbers of right answers and summing over
        all overlaps. ``"auto"`` draws where fewer than 10 trials are expected in a cell of the
        table, for Fisher's test 100.
    n_datasets, n_coverage, prior, rng
        As in `interval_width`.

    Returns
    -------
    pandas.DataFrame
        One row per setting: the inputs, ``target``, ``n_trials``, ``power`` there of the ``test``
        that is named, and the columns of `interval_width`; with `n_coverage` also
        ``<school>_power``, how often the interval of each school excludes `against`.

    Raises
    ------
    ValueError
        If an input is out of range, or `ec` is not on the tested side of `against`.

    Examples
    --------
    >>> import alikely as al
    >>> plan = al.trials_for_power(
    ...     0.5, 0.5, 0.85, against=0.7, alternative="greater", method="analytic", n_coverage=0
    ... )
    >>> plan["n_trials"].tolist()
    [117]
    >>> al.trials_for_power(0.97, 0.97, 0.3, n_coverage=0, rng=1)[["n_trials", "test"]].values[0]
    array([319, "Fisher's exact"], dtype=object)
    """
    rows, setting = stated_pairs(ERROR_CONSISTENCY, accuracy_a, accuracy_b, ec, prior, target=power)
    check_options(method, n_datasets, n_coverage, prior)
    check_level(alpha)
    check_power(rows["target"])
    _check_above_level(rows["target"], alpha)
    _check_difference(rows["ec"], against, alternative)
    a, b = rows["accuracy_a"], rows["accuracy_b"]
    hypothesis = stated_pairs(ERROR_CONSISTENCY, a, b, against)[1]
    test = _Test(alpha, against, alternative, FISHER if against == 0 else SCORE)
    study = Study(1 - alpha, n_datasets, n_coverage, against)
    return _plan(rows, setting, unit_variance(hypothesis), test, method, study, rng)


def trials_for_difference(  # noqa: PLR0913
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
    method: Method = "auto",
    n_datasets: int = 20_000,
    n_coverage: int = 1_000,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Number of trials at which two models' error consistencies with the same humans differ.

    All observers answer the same trials, so that the two estimates are dependent: their joint
    distribution is the one of greatest entropy with these pairs. The test is whether the
    analytic interval of the difference (of the means over humans) excludes 0.

    Parameters
    ----------
    accuracy_human, accuracy_a, accuracy_b : array_like
        Accuracies of each human and of the two models, in (0, 1).
    ec_a, ec_b : array_like
        Error consistency of either model with each human.
    ec_models : array_like, optional
        Error consistency of the two models. If not given they share nothing beyond what both share
        with the humans: the more they share, the fewer trials are needed.
    n_humans : int
        Humans that both models are compared with, from 1 to 4. These are fixed: to speak of people
        in general, see `variance_components`.
    ec_humans : array_like, optional
        Error consistency of two humans; needed with more than one.
    power : array_like
        Probability to find the difference, in (0, 1). All arrays broadcast.
    alpha : float
        Two-sided level, in (0, 1).
    method, n_datasets, n_coverage, rng
        As in `alikely.trials_for_power`.
    prior : mapping or sequence of four numbers, optional
        As in `alikely.inference.conjugate.joint_draws`.

    Returns
    -------
    pandas.DataFrame
        One row per setting: the inputs, ``difference``, ``target``, ``n_trials``, ``power`` there
        of the ``test`` (that of `alikely.difference`, by its analytic interval), and of the
        difference ``width, se, bias, undefined_share`` and, with `n_coverage`, coverage, mean
        width and power of each school's interval.

    Raises
    ------
    ValueError
        If an input is out of range, the two error consistencies are equal, or no observers are
        like this together; the message gives the feasible range.

    Examples
    --------
    >>> import alikely as al
    >>> accuracies = 0.75, 0.75, 0.75
    >>> plan = al.planning.trials_for_difference(
    ...     *accuracies, 0.5, 0.3, [0.4, 0.6], n_coverage=0
    ... )
    >>> plan["n_trials"].tolist()
    [278, 183]
    """
    check_options(method, n_datasets, n_coverage, prior)
    check_level(alpha)
    check_power(power)
    _check_above_level(power, alpha)
    if n_humans not in range(1, MOST_HUMANS + 1):
        raise ValueError(
            f"n_humans must be 1 to {MOST_HUMANS} whole people, got {n_humans}; plan more from "
            "variance_components"
        )
    if n_humans > 1 and (ec_humans is None or np.isnan(np.asarray(ec_humans, dtype=float)).any()):
        raise ValueError("ec_humans is needed with more than one human: how alike are two of them?")
    stated = {
        "accuracy_human": accuracy_human,
        "accuracy_a": accuracy_a,
        "accuracy_b": accuracy_b,
        "ec_a": ec_a,
        "ec_b": ec_b,
        "ec_models": np.nan if ec_models is None else ec_models,
        "ec_humans": np.nan if ec_humans is None else ec_humans,
        "target": power,
    }
    arrays = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in stated.values()))
    rows = pd.DataFrame({name: x.ravel() for name, x in zip(stated, arrays, strict=True)})
    for name in ("ec_a", "ec_b"):
        check_stated(rows[name], name)
    if (rows["ec_a"] == rows["ec_b"]).any():
        raise ValueError(
            "ec_a and ec_b must differ: a difference of zero is found by no number of trials"
        )
    for name in ("accuracy_human", "accuracy_a", "accuracy_b"):
        check_accuracies(rows[name].to_numpy(), name)
    rows.insert(len(stated) - 1, "n_humans", n_humans)
    rows.insert(len(stated), "difference", rows["ec_a"] - rows["ec_b"])
    setting = _two_models(rows, n_humans, prior)
    test = _Test(alpha, 0.0, "two-sided", INTERVAL)
    study = Study(1 - alpha, n_datasets, n_coverage)
    return _plan(rows, setting, unit_variance(setting), test, method, study, rng)


def check_power(values: ArrayLike) -> None:
    """Refuse a power outside (0, 1) (`ValueError`)."""
    power = np.asarray(values, dtype=np.float64)
    outside = ~((power > 0) & (power < 1))
    if outside.any():
        raise ValueError(
            f"power must lie strictly between 0 and 1, got {power[outside].flat[0]:g}; try 0.8"
        )


def check_level(alpha: float) -> None:
    """Refuse a level outside (0, 1) (`ValueError`)."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie strictly between 0 and 1, got {alpha:g}; try 0.05")


def _check_above_level(power: ArrayLike, alpha: float) -> None:
    lowest = float(np.asarray(power, dtype=np.float64).min())
    if lowest <= alpha:
        raise ValueError(
            f"power must be above alpha, which chance alone reaches; got {lowest:g} at alpha "
            f"{alpha:g}"
        )


class _Test(NamedTuple):
    alpha: float
    against: float
    alternative: Alternative
    name: str

    @property
    def critical(self) -> float:
        tail = self.alpha / 2 if self.alternative == "two-sided" else self.alpha
        return float(special.ndtri(1 - tail))


def _check_difference(ec: pd.Series, against: float, alternative: str) -> None:
    if alternative not in ALTERNATIVES:
        raise ValueError(
            f"alternative must be 'two-sided', 'greater' or 'less', got {alternative!r}"
        )
    check_stated(against, "against")
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


def _two_models(rows: pd.DataFrame, n_humans: int, prior: Prior | None) -> Setting:
    """Humans first, then both models; the difference of their means over humans."""
    n = n_humans + 2
    a, b = n - 2, n - 1
    parameters = cell_prior(prior).patterns("planning of a difference").parameters(n)
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
    null_variance: NDArray[np.float64],
    test: _Test,
    method: Method,
    study: Study,
    rng: RandomState,
) -> pd.DataFrame:
    """Find the number of trials of each row, and say what it does."""
    searching, describing = seed_sequence(rng).spawn(2)
    jobs = [
        (setting.row(i), float(null_variance[i]), goal, test, method, study, seed)
        for i, (goal, seed) in enumerate(
            zip(rows["target"], searching.spawn(len(rows)), strict=True)
        )
    ]
    n, power, simulated = map(np.array, zip(*in_parallel(_number, jobs), strict=True))
    table = describe(rows, setting, n, simulated, study, describing)
    table.insert(list(table).index("n_trials") + 1, "power", power)
    table.insert(list(table).index("power") + 1, "test", test.name)
    return table


def _number(
    setting: Setting,
    null_variance: float,
    goal: float,
    test: _Test,
    method: Method,
    study: Study,
    seed: np.random.SeedSequence,
) -> tuple[int, float, bool]:
    """Number of trials, the power it has, and whether the spread of estimates is simulated."""
    away = float(true_value(setting)) - test.against
    variance = float(unit_variance(setting))
    fisher = test.name == FISHER
    correction = 0.0
    if fisher:
        # Half a trial of overlap more, to the left and to the right of it.
        p_a, p_b = consistency.accuracies(setting.probabilities)
        correction = 1 / float(p_a + p_b - 2 * p_a * p_b)

    def approximate(n: float) -> float:
        # Standard errors under the hypothesis and under the truth [C96]_.
        margin = test.critical * np.sqrt(null_variance / n) + correction / n
        se = np.sqrt(variance / n)
        # Observers who are alike without fail leave nothing to chance.
        with np.errstate(divide="ignore"):
            upper, lower = special.ndtr(np.array([away - margin, -away - margin]) / se)
        sides = {"two-sided": upper + lower, "greater": upper, "less": lower}
        return float(sides[test.alternative])

    n = smallest_with(approximate, goal)
    few = fisher and bool(smallest_expected(setting, n) < ENOUGH_FOR_FISHER)
    if not (is_simulated(setting, np.array(n), method) or (method == "auto" and few)):
        return n, approximate(n), False

    searching, checking = seed.spawn(2)

    def simulated(trials: int, own: np.random.SeedSequence) -> float:
        if fisher:
            pairs = max(study.n_datasets // DRAWN_PER_PAIR, 1)
            p, rng = setting.probabilities, np.random.default_rng(own)
            return power_of_fisher(p, trials, test.alpha, test.alternative, pairs, rng)
        counts = draw_tables(setting, trials, study.n_datasets, own)
        return float(_rejects(counts, setting, test).mean())

    n = smallest_number(
        lambda trials: float(special.ndtri(simulated(trials, own_seed(searching, trials)))),
        n,
        float(special.ndtri(goal)),
        np.sqrt,
        np.square,
        slack=0.03,
        rounds=2 if fisher else 4,
    )
    return n, simulated(n, checking), bool(is_simulated(setting, np.array(n), method))


def _rejects(counts: NDArray[np.int64], setting: Setting, test: _Test) -> NDArray[np.bool_]:
    """The score test of a pair, the analytic interval of a difference; undefined: no rejection."""
    value = estimates(counts, setting)
    if test.name == SCORE:
        hypothesis = setting._replace(probabilities=_null_tables(counts, test.against))
        se = np.sqrt(unit_variance(hypothesis) / counts.sum(axis=-1))
    else:
        se = standard_errors(counts, setting)
    away = value - test.against
    sides = {"two-sided": np.abs(away), "greater": away, "less": -away}
    return np.asarray(sides[test.alternative] > test.critical * se)
