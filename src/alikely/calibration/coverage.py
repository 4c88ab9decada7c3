"""Coverage and width of intervals, and bias of estimates, in simulated data.

References
----------
.. [DS79] Dawid, Skene (1979). Maximum likelihood estimation of observer error-rates using the EM
   algorithm. doi:10.2307/2346806
.. [E87] Efron (1987). Better bootstrap confidence intervals. doi:10.1080/01621459.1987.10478410
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
.. [MWC19] Morris, White, Crowther (2019). Using simulation studies to evaluate statistical methods.
   doi:10.1002/sim.8086
.. [R81] Rubin (1981). The Bayesian bootstrap. doi:10.1214/aos/1176345338
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.intervals import CiKind, bound_names, check_interval
from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.calibration.studies import run_study
from alikely.data.probabilities import softmax
from alikely.data.trials import Trials
from alikely.estimates.pair_result import Method
from alikely.estimates.pairs import agreement, compare
from alikely.estimates.result import Result
from alikely.inference.intervals import interval
from alikely.inference.resampling import bca_interval
from alikely.metrics import Metric, errors, get_metric
from alikely.metrics.metric import metric_again
from alikely.metrics.options import OptionSums
from alikely.metrics.ratings import Readings
from alikely.planning.trials import (
    Setting,
    draw_tables,
    estimates,
    one_pair,
    replicates,
    standard_errors,
    true_value,
)
from alikely.simulate import cell_probabilities

# Data sets per chunk: their draws need about 100 MB.
BLOCK = 500
SETTING = ["accuracy_a", "accuracy_b", "ec", "n_trials"]


class _Method(NamedTuple):
    """Source of the draws of an interval, and kind of interval."""

    source: str
    cut: str = "eti"
    # Pseudocount of each cell; None is the default of the package.
    prior: float | None = 0.0


# The default of the package first, then common alternatives.
METHODS: dict[str, _Method] = {
    "posterior": _Method("dirichlet", "eti", None),
    "posterior hdi": _Method("dirichlet", "hdi", None),
    "dirichlet(1/4)": _Method("dirichlet", "eti", 0.25),
    "dirichlet(1)": _Method("dirichlet", "eti", 1.0),
    "dirichlet(1) hdi": _Method("dirichlet", "hdi", 1.0),
    "bootstrap": _Method("bootstrap"),
    "bca": _Method("bootstrap", "bca"),
    "bayesian bootstrap": _Method("dirichlet", "eti", 0.0),
    "wald": _Method("normal"),
    "wald, counts + 1/2": _Method("normal", "eti", 0.5),
}
# In results: method, kind of interval, and the name of the kind in `Result.summary`.
OF_RESULTS: dict[str, tuple[Method, CiKind, str]] = {
    "analytic": ("analytic", "eti", "ci"),
    "bootstrap": ("bootstrap", "eti", "eti"),
    "bca": ("bca", "eti", "ci"),
    "posterior": ("posterior", "eti", "eti"),
    "posterior hdi": ("posterior", "hdi", "hdi"),
}


def default_grid() -> pd.DataFrame:
    """Settings with intermediate to near-ceiling accuracies."""
    pairs = [(p, p, ec) for p in (0.5, 0.75, 0.9, 0.95, 0.99) for ec in (0.0, 0.2, 0.5, 0.8)]
    pairs += [(0.9, 0.75, 0.0), (0.9, 0.75, 0.2)]
    rows = [(*pair, n) for pair in pairs for n in (40, 160, 640, 2_560)]
    return pd.DataFrame(rows, columns=SETTING)


class Coverage(pd.DataFrame):
    """Table of a coverage study."""

    @property
    def _constructor(self) -> Callable[..., Coverage]:
        return Coverage

    def summary(self, ci_prob: float | None = None) -> pd.DataFrame:
        """Summarize a coverage study by method, over all settings.

        Parameters
        ----------
        ci_prob : float
            Probability level of the intervals to summarize, which must be one of the levels in the
            study.

        Returns
        -------
        pandas.DataFrame
            One row per method, best first, with columns

            - ``mean_abs_error``, ``worst_error``: mean and largest absolute deviation from nominal
              coverage
            - ``least_coverage``: lowest coverage in any setting
            - ``n_close``, ``n_settings``: number of settings with coverage of at least
              ``ci_prob - 0.02``, and number of all settings
            - ``mean_width``: mean width of the intervals

        Raises
        ------
        ValueError
            If the study has no intervals with this probability level.
        """
        ci_prob = resolve("ci_prob", ci_prob)
        part = pd.DataFrame(self[np.isclose(self["ci_prob"], ci_prob)]).reset_index(drop=True)
        if part.empty:
            known = ", ".join(f"{p:g}" for p in sorted(self["ci_prob"].unique()))
            raise ValueError(f"ci_prob must be one of the study's, {known}; got {ci_prob:g}")
        error = part["coverage"] - ci_prob
        part = part.assign(error=error, away=error.abs(), close=part["coverage"] >= ci_prob - 0.02)
        worst = part.loc[part.groupby("method")["away"].idxmax()].set_index("method")["error"]
        table = part.groupby("method").agg(
            mean_abs_error=("away", "mean"),
            least_coverage=("coverage", "min"),
            n_close=("close", "sum"),
            n_settings=("close", "size"),
            mean_width=("width", "mean"),
        )
        table.insert(1, "worst_error", worst)
        return table.sort_values("mean_abs_error").reset_index()


def coverage_study(
    grid: pd.DataFrame | None = None,
    methods: Sequence[str] | None = None,
    *,
    metric: str | Metric = "error_consistency",
    n_datasets: int | None = None,
    n_draws: int = 1_000,
    ci_probs: Sequence[float] = (0.5, 0.8, 0.95),
    cache_dir: str | Path | None = None,
    rng: RandomState = None,
) -> Coverage:
    """Simulate data with known true values to estimate the coverage of intervals [MWC19]_.

    Parameters
    ----------
    grid : pandas.DataFrame, optional
        Simulation settings, one per row. Default: a grid with 6 to 88 rows, depending on the
        metric. The columns depend on the metric:

        - correctness: ``accuracy_a, accuracy_b, ec, n_trials``
        - labels: ``copy_probability, n_classes, n_joint_errors, peakedness``
        - ratings: ``n_readers`` (two are analyzed as a pair), ``n_items, accuracy``, ``prevalence``
          (of the first class), ``missing`` (proportion of ratings), and number of classes ``m``
        - responses among options: ``n_items, accuracy, n_options, copy_probability, peakedness``
        - probabilities of options: ``n_items, n_options``, ``sharing`` (correlation between the two
          systems' logits) and ``sharpness`` of the softmax
    methods : sequence of str, optional
        Names of methods. Default: all. For correctness metrics:

        - ``"posterior"``: central posterior interval under the default prior, a Dirichlet
          distribution with parameters of 1/2; similar names denote highest-density intervals and
          other Dirichlet priors
        - ``"bootstrap"`` and ``"bca"``: percentile and BCa bootstrap [E87]_
        - ``"bayesian bootstrap"`` [R81]_
        - ``"wald"``: Wald intervals [FCE69]_; similar names denote pseudocounts

        For metrics not based on correctness, the available methods are ``"analytic"``,
        ``"bootstrap"``, ``"bca"``, ``"posterior"`` and ``"posterior hdi"``.
    metric : str or Metric
        Metric based on correctness, labels (such as ``"misclassification_agreement"``), ratings
        (such as ``"gwet_ac1"``) or multiple-choice options (such as ``"kappa_p"``). For all
        correctness metrics, the column ``ec`` of `grid` contains the true error consistency of the
        observers.
    n_datasets, n_draws : int
        Number of data sets in each setting, and number of draws or replicates for each data set,
        both at least 100. For metrics not based on correctness, `n_datasets` must be at least 10.
        Default: 2,000 data sets for correctness metrics, otherwise 200.
    ci_probs : sequence of float
        Probability levels of the intervals, in (0, 1).
    cache_dir : str or path, optional
        Folder for results, with one JSON file per completed simulation setting. Repeating the
        call resumes an interrupted study. Results in damaged files are computed again; intact files
        are not changed.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness. If `rng` is None, the seed saved in `cache_dir` is reused.

    Returns
    -------
    pandas.DataFrame
        One row per setting, method and probability, with columns

        - ``coverage``, ``coverage_mcse``: coverage and its Monte Carlo error; a data set without an
          interval counts as not covered
        - ``width``, ``width_mcse``: mean width and its Monte Carlo error
        - ``no_interval``: fraction of data sets without an interval
        - ``bias``, ``bias_mcse``: bias of the estimate and its Monte Carlo error; for posterior
          methods of metrics that are not for correctness, the bias of the posterior median
        - ``frac_undefined``: fraction of undefined estimates

        The method ``summary(ci_prob)`` of this table summarizes all settings in one row per
        interval method.

    Raises
    ------
    ValueError
        If a setting is impossible, if the grid lacks a column, if a method or metric is unknown, or
        if a number is out of range.

    Notes
    -----
    For metrics not based on correctness, all data sets for the same row of `grid` are analyzed as
    separate conditions in a single call to `alikely.compare` (for ratings: `alikely.agreement`).
    Incorrect responses are ordered, and each is ``1 - peakedness`` times as likely as the previous
    one. In simulations for label metrics, all true classes are equally likely. The true value
    depends on the metric:

    - Label metrics [X25]_: the true value is kappa of the joint distribution of the two observers'
      incorrect labels. The label of the second observer is a copy of the first observer's label, or
      independent of it. All data sets have the same copy probability and distributions of incorrect
      responses. In each simulated data set, the number of trials on which both observers are
      correct equals the number of joint errors.
    - Ratings: readers are exchangeable and err independently given the true class. The true value
      of a coefficient is its limit for infinitely many items.
    - Multiple-choice metrics: one of two equally accurate simulated systems sometimes copies the
      other's response. An error is the most popular incorrect option with probability
      ``peakedness``, and a random one otherwise.
    - Probabilities: softmax of normally distributed logits, whose mean is one standard deviation
      higher for the correct option. The true value of a metric is computed from 500,000 simulated
      questions.

    Examples
    --------
    >>> import alikely as al
    >>> grid = pd.DataFrame({"accuracy_a": [0.9], "accuracy_b": 0.9, "ec": 0.2, "n_trials": 40})
    >>> study = al.calibration.coverage_study(grid, ["posterior", "wald"], n_datasets=100, rng=1)
    >>> study["method"].tolist()
    ['posterior', 'posterior', 'posterior', 'wald', 'wald', 'wald']
    >>> study.summary()["n_settings"].tolist()
    [1, 1]
    """
    estimand = get_metric(metric)
    if estimand.counts not in SCENARIOS:
        raise ValueError(
            f"metric must be a metric of {', '.join(SCENARIOS)}; got {estimand.name}, a metric of "
            f"{estimand.counts}"
        )
    of_tables = estimand.counts == "correctness"
    known = [*(METHODS if of_tables else OF_RESULTS)]
    chosen = known if methods is None else list(methods)
    if not chosen or not set(chosen) <= set(known):
        raise ValueError(f"methods must be among {', '.join(map(repr, known))}; got {chosen!r}")
    if not ci_probs:
        raise ValueError("ci_probs must name at least one probability, got none; try (0.95,)")
    for ci_prob in ci_probs:
        check_interval(ci_prob, "eti")
    least, usual = (100, 2_000) if of_tables else (10, 200)
    number = usual if n_datasets is None else n_datasets
    if number < least or n_draws < 100:
        raise ValueError(
            f"n_datasets must be at least {least} and n_draws at least 100, got {number} and "
            f"{n_draws}"
        )
    common = {
        "metric": estimand.name, "module": estimand.module, "n_datasets": int(number),
        "n_draws": int(n_draws), "ci_probs": [float(p) for p in ci_probs], "methods": chosen,
    }  # fmt: skip
    settings = _settings(estimand, grid)
    if of_tables:
        # Raises an error for impossible settings before the study starts.
        cell_probabilities(*([each[name] for each in settings] for name in SETTING[:3]))
    block = _of_tables if of_tables else _of_scenario
    table = run_study(block, [each | common for each in settings], cache_dir, rng=rng)
    return Coverage(table.drop(columns=[*common]))


def _settings(metric: Metric, grid: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Rows of the grid, checked before the study starts."""
    ranges, default, _ = SCENARIOS[metric.counts]
    names = [*ranges]
    grid = pd.DataFrame(default, columns=names) if grid is None else grid
    if grid.empty or not set(names) <= set(grid):
        raise ValueError(
            f"grid must have rows and, for {metric.name}, the columns {', '.join(names)}; got "
            f"{len(grid)} rows and {', '.join(map(str, grid)) or 'no columns'}"
        )
    for name, (low, high) in ranges.items():
        whole = isinstance(low, int)
        for row, value in enumerate(grid[name]):
            number = isinstance(value, (int, float, np.number))
            if not (number and low <= value <= high and (not whole or value % 1 == 0)):
                raise ValueError(
                    f"{name} must be a {'whole ' if whole else ''}number from {low:g} to "
                    f"{high:g}, got {value!r} in row {row} of the grid"
                )
    return [
        {name: type(low)(row[name]) for name, (low, _) in ranges.items()}
        for _, row in grid.iterrows()
    ]


def _of_scenario(
    metric: str,
    module: str,
    n_datasets: int,
    n_draws: int,
    ci_probs: list[float],
    methods: list[str],
    seed: np.random.SeedSequence,
    **setting: Any,
) -> list[dict[str, Any]]:
    """All methods on the same data sets of one setting, as entries of one result."""
    data, drawing = seed.spawn(2)
    estimand, rng = metric_again(metric, module), np.random.default_rng(data)
    ranges, _, analyze = SCENARIOS[estimand.counts]
    options = {"n_resamples": n_draws, "n_draws": n_draws, "rng": drawing}
    values = [setting[name] for name in ranges]
    result, truth = analyze(estimand, values, n_datasets, rng, options)
    rows = []
    for label in methods:
        method, kind, shown = OF_RESULTS[label]
        drawn = method == "posterior"
        if drawn and method not in result.data.children:
            continue
        for ci_prob in ci_probs:
            frame = result.summary(ci_prob=ci_prob, ci_kind=kind, intervals=[method])
            bounds = frame[[*bound_names(method, shown, ci_prob)]].to_numpy()
            point = frame["posterior_median" if drawn else "estimate"].to_numpy()
            rows.append(_row(label, ci_prob, bounds, point, truth))
    return rows


def _of_tables(
    accuracy_a: float,
    accuracy_b: float,
    ec: float,
    n_trials: int,
    methods: list[str],
    n_datasets: int,
    n_draws: int,
    ci_probs: list[float],
    metric: str,
    module: str,
    seed: np.random.SeedSequence,
) -> list[dict[str, Any]]:
    """All methods on the same tables of one setting."""
    setting = one_pair(cell_probabilities(accuracy_a, accuracy_b, ec), metric_again(metric, module))
    truth = float(true_value(setting))
    data, drawing = seed.spawn(2)
    counts = draw_tables(setting, n_trials, n_datasets, data)
    value, rng = estimates(counts, setting), np.random.default_rng(drawing)
    parts = [
        _bounds(counts[start : start + BLOCK], setting, methods, n_draws, ci_probs, rng)
        for start in range(0, n_datasets, BLOCK)
    ]
    # (probability, data set, bound)
    found = {name: np.concatenate([part[name] for part in parts], axis=1) for name in methods}
    return [
        _row(name, ci_prob, bounds, value, truth)
        for name, every in found.items()
        for ci_prob, bounds in zip(ci_probs, every, strict=True)
    ]


def _row(
    label: str, ci_prob: float, bounds: Floats, point: Floats, truth: Floats | float
) -> dict[str, Any]:
    """Coverage and width of intervals (data set, 2)."""
    lower, upper = bounds.T
    width, error = upper - lower, point - truth
    row: dict[str, Any] = {"method": label, "ci_prob": ci_prob}
    row |= _mean("coverage", (lower <= truth) & (truth <= upper))
    row |= _mean("width", width) | {"no_interval": float(np.isnan(width).mean())}
    return row | _mean("bias", error) | {"frac_undefined": float(np.isnan(error).mean())}


def _mean(name: str, values: ArrayLike) -> dict[str, float]:
    """Mean of the defined values, and its Monte Carlo error."""
    known = np.asarray(values, dtype=np.float64)
    known = known[~np.isnan(known)]
    n = len(known)
    mean, error = (known.mean(), known.std() / np.sqrt(n)) if n else (np.nan, np.nan)
    return {name: float(mean), f"{name}_mcse": float(error)}


def _bounds(
    counts: NDArray[np.int64],
    setting: Setting,
    methods: list[str],
    n_draws: int,
    ci_probs: list[float],
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Bounds (probability, data set, 2) by each method; methods share draws where possible."""
    found: dict[str, Floats] = {}
    drawn: dict[tuple[str, float | None], Floats] = {}
    for name in methods:
        label = METHODS[name]
        if label.source == "normal":
            cells = counts + (label.prior or 0.0)
            value, se = estimates(cells, setting), standard_errors(cells, setting)
            half = special.ndtri((1 + np.array(ci_probs)) / 2)[:, None] * se
            found[name] = np.stack([value - half, value + half], axis=-1)
            continue
        key = (label.source, label.prior)
        if key not in drawn:
            added = setting.prior if label.prior is None else label.prior
            prior = None if label.source == "bootstrap" else added
            drawn[key] = replicates(counts, setting, prior, n_draws, rng)
        draws = drawn[key]
        if label.cut == "bca":
            bounds = [bca_interval(counts, draws, setting.metric, p) for p in ci_probs]
        else:
            kind: CiKind = "hdi" if label.cut == "hdi" else "eti"
            bounds = [interval(draws, p, kind) for p in ci_probs]
        found[name] = np.array(bounds)
    return found


# Logit of the correct option, in standard deviations of the logits of a system.
LIKED = 1.0
# Number of questions in a population of probabilities, and its seed: its agreement is known to
# 0.0005.
POPULATION, SEED = 500_000, 17
# Number of items in a population.
ENDLESS = 1e9
# All data sets of a setting as the entries of one result, and the true value.
Analyzed = tuple[Result, float]


class Scenario(NamedTuple):
    """Ranges of parameters, default settings, and a function that simulates and analyzes."""

    ranges: dict[str, tuple[float, float]]
    settings: list[tuple[float, ...]]
    analyze: Callable[..., Any]


def _conditions(n_datasets: int, n_items: int) -> list[int]:
    return [*np.repeat(np.arange(n_datasets), n_items).tolist()]


def _agreement(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analyzed:
    copy_probability, n_classes, n_joint_errors, peakedness = setting
    wrong = _wrong_rows(n_classes, peakedness)
    true = rng.multinomial(n_joint_errors, np.full(n_classes, 1 / n_classes), n_datasets)
    joint = _joint_labels(copy_probability, wrong)
    counts = rng.multinomial(true, joint.reshape(n_classes, -1)).reshape(n_datasets, *joint.shape)
    entry, truth, a, b = np.repeat(np.indices(counts.shape).reshape(4, -1), counts.ravel(), axis=1)
    # With trials that both get right, the number of joint errors varies over bootstrap replicates.
    trials = Trials.from_arrays(
        np.block([[a, truth], [b, truth]]),
        np.tile(truth, 2),
        classes=range(n_classes),
        condition=np.tile(entry, 2).tolist(),
    )
    value = float(metric.value(errors.label_statistics(joint.sum(axis=0))))
    return compare(trials, metric, **options), value


def _joint_labels(copy_probability: float, wrong: Floats) -> Floats:
    """Probabilities of both labels of a joint error, copied or independent, by true class."""
    own = (1 - copy_probability) * wrong[:, :, None] * wrong[:, None, :]
    return own + copy_probability * np.eye(len(wrong)) * wrong[:, :, None]


def _wrong_rows(n_classes: int, peakedness: float) -> Floats:
    """Distributions of incorrect responses, with the same preferences in all true classes."""
    liking = np.tile((1 - peakedness) ** np.arange(n_classes), (n_classes, 1))
    np.fill_diagonal(liking, 0)
    return np.asarray(liking / liking.sum(axis=1, keepdims=True))


def _true_readings(
    metric: Metric, n_readers: int, accuracy: float, prevalence: float, n_alternatives: int
) -> float:
    """Value for infinitely many items, with readers who err independently [DS79]_."""
    frequency, said = _readers(accuracy, prevalence, n_alternatives)
    equal = float(frequency @ (said**2).sum(axis=1))
    share = frequency @ said
    each = np.tile(share, (n_readers, 1))
    parts = (1, equal, n_readers * equal, share, n_readers * share, each)
    sums = [*(ENDLESS * part for part in parts), n_alternatives]
    return float(metric.value(Readings(*map(np.asarray, sums))))


def _readers(accuracy: float, prevalence: float, n_alternatives: int) -> tuple[Floats, Floats]:
    """Frequencies of the true classes, and of the ratings given each."""
    frequency = np.full(n_alternatives, (1 - prevalence) / (n_alternatives - 1))
    frequency[0] = prevalence
    said = np.full((n_alternatives, n_alternatives), (1 - accuracy) / (n_alternatives - 1))
    np.fill_diagonal(said, accuracy)
    return frequency, said


def _readings(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analyzed:
    n_readers, n_items, accuracy, prevalence, missing, m = setting
    frequency, said = _readers(accuracy, prevalence, m)
    truth = rng.choice(m, n_datasets * n_items, p=frequency)
    ends = said.cumsum(axis=1)[truth]
    codes = (rng.random((n_readers, len(truth), 1)) > ends).sum(axis=2).clip(max=m - 1)
    response: NDArray[Any] = codes.astype(object)
    response[rng.random(codes.shape) < missing] = None
    trials = Trials.from_arrays(
        response, truth, classes=range(m), condition=_conditions(n_datasets, n_items)
    )
    readers: Literal["pairs", "all"] = "pairs" if n_readers == 2 else "all"
    result = agreement(trials, metric, readers=readers, **options)
    value = _true_readings(metric, n_readers, accuracy, prevalence, m)
    return result, value


def _true_options(
    metric: Metric, accuracy: float, n_options: int, copy_probability: float, peakedness: float
) -> float:
    """Value for infinitely many questions; one of two equally accurate systems copies the other."""
    wrong = _wrong_options(n_options, peakedness)
    right = accuracy**2
    alone = right + (1 - accuracy) ** 2 * float(wrong @ wrong)
    both = copy_probability * accuracy + (1 - copy_probability) * right
    same = copy_probability + (1 - copy_probability) * alone
    parts = (1.0, same, accuracy, accuracy, 1.0, 1.0, 1 / (n_options - 1), both)
    return float(metric.value(OptionSums(*(np.asarray(part) for part in parts))))


def _wrong_options(n_options: int, peakedness: float) -> Floats:
    """Probabilities of the incorrect options."""
    wrong = np.full(n_options - 1, (1 - peakedness) / (n_options - 1))
    wrong[0] += peakedness
    return wrong


def _options(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analyzed:
    n_items, accuracy, n_options, copying, peakedness = setting
    n = n_datasets * n_items
    chance = np.append(accuracy, (1 - accuracy) * _wrong_options(n_options, peakedness))
    taken = rng.choice(n_options, (2, n), p=chance)
    taken[1] = np.where(rng.random(n) < copying, taken[0], taken[1])
    # The position of the correct option is irrelevant.
    truth = rng.integers(0, n_options, n)
    trials = Trials.from_arrays(
        (taken + truth) % n_options,
        truth,
        classes=range(n_options),
        condition=_conditions(n_datasets, n_items),
    ).with_options(n_options)
    result = compare(trials, metric, **options)
    value = _true_options(metric, accuracy, n_options, copying, peakedness)
    return result, value


def _probabilities(
    rng: np.random.Generator, n: int, n_options: int, sharing: float, sharpness: float
) -> NDArray[np.float64]:
    """Probabilities of two systems with correlated logits; option 0 is correct."""
    common, own = rng.normal(size=(n, n_options)), rng.normal(size=(2, n, n_options))
    liked = np.sqrt(sharing) * common + np.sqrt(1 - sharing) * own
    liked[..., 0] += LIKED
    return softmax(sharpness * liked)


@cache
def _population(metric: Metric, n_options: int, sharing: float, sharpness: float) -> float:
    a, b = _probabilities(np.random.default_rng(SEED), POPULATION, n_options, sharing, sharpness)
    own = [(p * p).sum(axis=1).mean() for p in (a, b)]
    parts = (
        1.0, (a * b).sum(axis=1).mean(), a[:, 0].mean(), b[:, 0].mean(), *own, 1 / (n_options - 1),
        (a[:, 0] * b[:, 0]).mean(),
    )  # fmt: skip
    return float(metric.value(OptionSums(*(np.asarray(part) for part in parts))))


def _soft_options(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analyzed:
    n_items, n_options, sharing, sharpness = setting
    n = n_datasets * n_items
    p = _probabilities(rng, n, n_options, sharing, sharpness)
    trials = Trials.from_arrays(
        p.argmax(axis=2),
        np.zeros(n, int),
        classes=range(n_options),
        condition=_conditions(n_datasets, n_items),
    ).with_probabilities(p)
    result = compare(trials, metric, **options)
    value = _population(metric, n_options, sharing, sharpness)
    return result, value


SHARE, NUMBER, CLASSES = (0.0, 1.0), (1, 10**6), (3, 10_000)
ITEMS, OPTIONS, PEAKED = (5, 10**6), (2, 10_000), (0.0, 0.99)
# A range is one of integers if its ends are.
SCENARIOS: dict[str, Scenario] = {
    # Tables of a pair, whose intervals are computed without a public function.
    "correctness": Scenario(
        {"accuracy_a": SHARE, "accuracy_b": SHARE, "ec": (-1.0, 1.0), "n_trials": (1, 10**9)},
        [*default_grid().itertuples(index=False, name=None)],
        _of_tables,
    ),
    "labels": Scenario(
        {"copy_probability": SHARE, "n_classes": CLASSES, "n_joint_errors": NUMBER,
         "peakedness": PEAKED},
        [(0, 4, 10, 0), (0, 16, 40, 0), (0.3, 16, 10, 0), (0.3, 16, 40, 0), (0.3, 16, 160, 0),
         (0.3, 16, 40, 0.5), (0.8, 16, 40, 0.5), (0.95, 16, 10, 0), (0.3, 3, 20, 0.8),
         (0.8, 4, 10, 0.8)],
        _agreement,
    ),
    # Two and four readers; balanced and rare classes; with and without missing ratings.
    "ratings": Scenario(
        {"n_readers": (2, 1_000), "n_items": ITEMS, "accuracy": SHARE, "prevalence": SHARE,
         "missing": PEAKED, "m": OPTIONS},
        [(2, 60, 0.85, 0.5, 0, 2), (2, 60, 0.85, 0.9, 0, 2), (2, 60, 0.85, 0.9, 0.2, 2),
         (4, 40, 0.85, 0.5, 0, 2), (4, 40, 0.85, 0.9, 0, 2), (4, 40, 0.85, 0.9, 0.2, 2)],
        _readings,
    ),
    # Few and many questions; two to ten options; flat or peaked errors; accuracies near 1.
    "options": Scenario(
        {"n_items": ITEMS, "accuracy": SHARE, "n_options": OPTIONS, "copy_probability": SHARE,
         "peakedness": PEAKED},
        [(40, 0.6, 4, 0.0, 0.0), (40, 0.6, 4, 0.5, 0.0), (40, 0.8, 2, 0.5, 0.0),
         (160, 0.3, 4, 0.3, 0.5), (160, 0.6, 4, 0.0, 0.9), (160, 0.6, 4, 0.5, 0.0),
         (160, 0.6, 10, 0.8, 0.5), (160, 0.8, 5, 0.3, 0.0), (160, 0.95, 4, 0.3, 0.0),
         (160, 0.95, 4, 0.8, 0.0), (640, 0.8, 4, 0.3, 0.5), (640, 0.95, 4, 0.5, 0.0)],
        _options,
    ),
    "probabilities": Scenario(
        {"n_items": ITEMS, "n_options": OPTIONS, "sharing": SHARE, "sharpness": (0.0, 100.0)},
        [(20, 4, 0.5, 1.0), (40, 2, 0.5, 1.0), (40, 4, 0.0, 1.0), (40, 4, 0.5, 4.0),
         (160, 4, 0.5, 1.0), (160, 4, 0.9, 4.0), (160, 10, 0.5, 2.0), (640, 4, 0.5, 2.0)],
        _soft_options,
    ),
}  # fmt: skip
