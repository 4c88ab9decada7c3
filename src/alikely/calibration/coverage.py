"""Coverage and width of intervals, and bias of estimates, in simulated data.

References
----------
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
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.intervals import CiKind, bound_names, check_interval
from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.calibration.scenarios import SCENARIOS
from alikely.calibration.studies import run_study
from alikely.estimates.pair_result import Method
from alikely.inference.intervals import interval
from alikely.inference.resampling import bca_interval
from alikely.metrics import Metric, get_metric
from alikely.metrics.metric import metric_again
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
OF_RESULTS: list[tuple[str, Method, CiKind, str]] = [
    ("analytic", "analytic", "eti", "ci"), ("bootstrap", "bootstrap", "eti", "eti"),
    ("bca", "bca", "eti", "ci"), ("posterior", "posterior", "eti", "eti"),
    ("posterior hdi", "posterior", "hdi", "hdi"),
]  # fmt: skip


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
            - ``n_close``, ``n_settings``: number of settings with coverage of at least `ci_prob` -
              0.02, and number of all settings
            - ``mean_width``: mean width

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
    methods: Sequence[str] = tuple(METHODS),
    *,
    n_datasets: int = 2_000,
    n_draws: int = 1_000,
    ci_probs: Sequence[float] = (0.5, 0.8, 0.95),
    metric: str | Metric = "error_consistency",
    cache_dir: str | Path | None = None,
    rng: RandomState = None,
) -> Coverage:
    """Simulate pairs of observers to estimate the coverage of intervals [MWC19]_.

    Parameters
    ----------
    grid : pandas.DataFrame, optional
        Settings, with columns ``accuracy_a, accuracy_b, ec, n_trials``. Default: 88 settings, with
        accuracies of 0.5 to 0.99, error consistencies of 0 to 0.8, and 40 to 2,560 trials.
    methods : sequence of str
        Names from `METHODS`:

        - ``"posterior"``: central posterior interval under the default prior, a Dirichlet
          distribution with parameters of 1/2; similar names denote highest-density intervals and
          other Dirichlet priors
        - percentile and BCa bootstrap [E87]_
        - Bayesian bootstrap [R81]_
        - Wald intervals [FCE69]_
    n_datasets, n_draws : int
        Number of data sets in each setting, and number of draws or replicates for each data set; at
        least 100.
    ci_probs : sequence of float
        Probability levels of the intervals, in (0, 1).
    metric : str or Metric
        Correctness metric to estimate. For every metric, the column ``ec`` is the error consistency
        of the observers.
    cache_dir : str or path, optional
        Folder for finished settings, with one JSON file per setting. Repeating the call resumes an
        interrupted study. Settings whose files are damaged are computed again; other files are not
        changed.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness. If this is None, the seed saved in the folder is reused.

    Returns
    -------
    pandas.DataFrame
        One row per setting, method and probability, with columns

        - ``coverage``, ``coverage_mcse``: coverage and its Monte Carlo error; a data set without an
          interval counts as not covered
        - ``width``, ``width_mcse``: mean width and its Monte Carlo error
        - ``no_interval``: fraction of data sets without an interval
        - ``bias``, ``bias_mcse``: bias of the estimate and its Monte Carlo error
        - ``frac_undefined``: fraction of undefined estimates

        ``summary(ci_prob)`` of the table gives one row per method, over all settings.

    Raises
    ------
    ValueError
        If a setting is impossible, if a method or metric is unknown, or if a number is out of
        range.

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
    settings = default_grid() if grid is None else grid
    lacking = [name for name in SETTING if name not in settings]
    if lacking or settings.empty:
        raise ValueError(
            f"grid must have rows and the columns {', '.join(SETTING)}; got {len(settings)} rows "
            f"and {', '.join(map(str, settings)) or 'no columns'}"
        )
    if not methods or not set(methods) <= set(METHODS):
        raise ValueError(
            f"methods must be among {', '.join(map(repr, METHODS))}; got {list(methods)!r}"
        )
    estimand = get_metric(metric)
    if estimand.counts != "correctness":
        raise ValueError(
            f"metric must be of correctness, {estimand.name} is for {estimand.counts}; use "
            "estimate_coverage"
        )
    common = _common(estimand, n_datasets, n_draws, ci_probs, 100) | {"methods": list(methods)}
    # Raises an error for impossible settings before the study starts.
    cell_probabilities(*(settings[name].to_numpy(dtype=float) for name in SETTING[:3]))
    cells = [
        {name: float(row[name]) for name in SETTING[:3]} | {"n_trials": int(row["n_trials"])}
        | common
        for _, row in settings.iterrows()
    ]  # fmt: skip
    table = run_study(_of_tables, cells, cache_dir, rng=rng)
    return Coverage(table.drop(columns=[*common]))


def _common(
    metric: Metric, n_datasets: int, n_draws: int, ci_probs: Sequence[float], least: int
) -> dict[str, Any]:
    """Settings of a study that all cells share, checked."""
    if not ci_probs:
        raise ValueError("ci_probs must name at least one probability, got none; try (0.95,)")
    for ci_prob in ci_probs:
        check_interval(ci_prob, "eti")
    if n_datasets < least or n_draws < 100:
        raise ValueError(
            f"n_datasets must be at least {least} and n_draws at least 100, got {n_datasets} and "
            f"{n_draws}"
        )
    return {
        "metric": metric.name, "module": metric.module, "n_datasets": int(n_datasets),
        "n_draws": int(n_draws), "ci_probs": [float(p) for p in ci_probs],
    }  # fmt: skip


def estimate_coverage(
    metric: str | Metric,
    grid: pd.DataFrame | None = None,
    *,
    n_datasets: int = 200,
    n_draws: int = 1_000,
    ci_probs: Sequence[float] = (0.5, 0.8, 0.95),
    cache_dir: str | Path | None = None,
    rng: RandomState = None,
) -> Coverage:
    """Simulate data to estimate the coverage of a public function's intervals [MWC19]_.

    Data sets are simulated from a generative model with known true values and are analyzed with the
    public function. For correctness metrics, use `coverage_study`.

    Parameters
    ----------
    metric : str or Metric
        Metric for labels (such as ``"misclassification_agreement"``), for ratings (such as
        ``"gwet_ac1"``), or for options (such as ``"kappa_p"``).
    grid : pandas.DataFrame, optional
        Settings, one per row. Default: six to ten settings from intermediate to difficult. The
        columns depend on the metric:

        - labels: ``copy_probability, n_classes, n_joint_errors, peakedness``
        - ratings: ``n_readers`` (two are analyzed as a pair), ``n_items, accuracy``, ``prevalence``
          (of the first class), ``missing`` (proportion of ratings), and number of classes ``m``
        - responses among options: ``n_items, accuracy, n_options, copy_probability, peakedness``
        - probabilities of options: ``n_items, n_options``, ``sharing`` (correlation between the two
          systems' logits) and ``sharpness`` of the softmax
    n_datasets, n_draws : int
        Number of data sets in each setting, at least 10, and number of draws or replicates for each
        data set, at least 100.
    ci_probs : sequence of float
        Probability levels of the intervals, in (0, 1).
    cache_dir, rng
        As in `alikely.calibration.coverage_study`.

    Returns
    -------
    pandas.DataFrame
        Table as returned by `coverage_study`, with its ``summary``. Methods are ``"analytic"``,
        ``"bootstrap"`` (percentile), ``"bca"``, ``"posterior"`` (central) and ``"posterior hdi"``.
        The column ``bias`` is the bias of the estimate, or of the posterior median for posterior
        methods.

    Raises
    ------
    ValueError
        If the metric is unknown, if the grid lacks a column, or if a number is out of range.

    Notes
    -----
    Incorrect responses are ordered, and each is ``1 - peakedness`` times as likely as the previous
    one. True classes are equally frequent among errors. The true values are:

    - Labels [X25]_: kappa of the joint distribution of the two incorrect labels; the second label
      is either a copy of the first or independent of it. All data sets have the same error rows and
      copy probability. In each data set, the number of trials that both observers get right equals
      the number of joint errors.
    - Ratings: readers are exchangeable and err independently given the true class. The true value
      is the limit for infinitely many items.
    - Options: one of two equally accurate systems copies the other, and ``peakedness`` is the
      proportion of errors in which the most popular incorrect option is chosen.
    - Probabilities: softmax of normally distributed logits, whose mean is one standard deviation
      higher for the correct option. The true value is computed from 500,000 questions.

    All data sets of a setting are analyzed in a single function call, as separate conditions.

    Examples
    --------
    >>> import alikely as al
    >>> grid = pd.DataFrame({"copy_probability": [0.3], "n_classes": 4})
    >>> grid = grid.assign(n_joint_errors=20, peakedness=0.5)
    >>> study = estimate_coverage("misclassification_agreement", grid, n_datasets=20, rng=1)
    >>> study.summary()["method"].sort_values().tolist()
    ['analytic', 'bca', 'bootstrap', 'posterior', 'posterior hdi']
    """
    estimand = get_metric(metric)
    if estimand.counts not in SCENARIOS:
        raise ValueError(
            f"metric must be one of {', '.join(SCENARIOS)}, {estimand.name} is for "
            f"{estimand.counts}; coverage_study is for metrics of correctness"
        )
    common = _common(estimand, n_datasets, n_draws, ci_probs, 10)
    cells = [setting | common for setting in _settings(estimand, grid)]
    table = run_study(_of_scenario, cells, cache_dir, rng=rng)
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
    for label, method, kind, shown in OF_RESULTS:
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
