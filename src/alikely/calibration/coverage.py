"""Do intervals keep their promise: coverage of every school, setting by setting.

References
----------
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
.. [E87] Efron (1987). Better bootstrap confidence intervals. doi:10.1080/01621459.1987.10478410
.. [R81] Rubin (1981). The Bayesian bootstrap. doi:10.1214/aos/1176345338
.. [MWC19] Morris, White, Crowther (2019). Using simulation studies to evaluate statistical methods.
   doi:10.1002/sim.8086
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.intervals import check_interval
from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.calibration.studies import run_study
from alikely.inference.intervals import defined_quantiles
from alikely.inference.resampling import bca_interval
from alikely.metrics import Metric, get_metric
from alikely.metrics.metric import metric_again
from alikely.planning.trials import (
    Setting,
    draw_tables,
    estimates,
    one_pair,
    standard_errors,
    true_value,
)
from alikely.simulate import cell_probabilities

__all__ = ["METHODS", "coverage_study", "coverage_summary", "default_grid"]

# Data sets worked on at a time: their draws fill some 100 MB.
BLOCK = 500
SETTING = ["accuracy_a", "accuracy_b", "ec", "n_trials"]


class _Method(NamedTuple):
    """Where the draws of an interval come from, and how it is cut from them."""

    source: str
    cut: str = "eti"
    # Added to each cell; None is the default of the package.
    prior: float | None = 0.0


# The default of the package first; the others as they are found in use.
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


def default_grid() -> pd.DataFrame:
    """88 settings from the middle to the ceiling.

    Returns
    -------
    pandas.DataFrame
        ``accuracy_a, accuracy_b, ec, n_trials``: accuracies of .5 to .99, equal and unequal, error
        consistencies of 0 to .8 where the accuracies allow them, and 40 to 2,560 trials.

    Examples
    --------
    >>> len(default_grid())
    88
    """
    pairs = [(p, p, ec) for p in (0.5, 0.75, 0.9, 0.95, 0.99) for ec in (0.0, 0.2, 0.5, 0.8)]
    pairs += [(0.9, 0.75, 0.0), (0.9, 0.75, 0.2)]
    rows = [(*pair, n) for pair in pairs for n in (40, 160, 640, 2_560)]
    return pd.DataFrame(rows, columns=SETTING)


def coverage_study(
    grid: pd.DataFrame | None = None,
    methods: Sequence[str] = tuple(METHODS),
    *,
    n_datasets: int = 2_000,
    n_draws: int = 1_000,
    ci_probs: Sequence[float] = (0.5, 0.8, 0.95),
    metric: str | Metric = "error_consistency",
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """How often intervals contain the truth, over simulated pairs of observers [MWC19]_.

    Parameters
    ----------
    grid : pandas.DataFrame, optional
        Settings: ``accuracy_a, accuracy_b, ec, n_trials``; `default_grid` if not given.
    methods : sequence of str
        Names of `METHODS`: central and highest-density posterior intervals under Dirichlet priors
        (``"posterior"`` is the default of the package, 1/2 on each cell), percentile and BCa
        bootstrap [E87]_, Bayesian bootstrap [R81]_, and Wald intervals [FCE69]_.
    n_datasets, n_draws : int
        Data sets of each setting, and draws or replicates for each; at least 100.
    ci_probs : sequence of float
        Probabilities of the intervals, in (0, 1).
    metric : str or Metric
        What is estimated, of correctness; `ec` describes the observers in any case.
    folder, rng
        As in `alikely.calibration.run_study`.

    Returns
    -------
    pandas.DataFrame
        One row per setting, method and probability: ``coverage`` (a data set without an interval
        counts as missed) with its Monte-Carlo error ``coverage_mcse``, mean ``width`` with
        ``width_mcse``, share ``no_interval``; and of the estimate ``bias, bias_mcse,
        undefined_share``.

    Raises
    ------
    ValueError
        If a setting cannot exist, a method or metric is unknown, or a number is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> grid = al.calibration.default_grid().head(1)
    >>> study = al.calibration.coverage_study(grid, ["posterior", "wald"], n_datasets=100, rng=1)
    >>> study["method"].tolist()
    ['posterior', 'posterior', 'posterior', 'wald', 'wald', 'wald']
    """
    settings = default_grid() if grid is None else grid
    lacking = [name for name in SETTING if name not in settings]
    if lacking or settings.empty:
        raise ValueError(f"grid must have rows and the columns {', '.join(SETTING)}")
    unknown = [name for name in methods if name not in METHODS]
    if unknown or not methods:
        raise ValueError(
            f"methods must be among {', '.join(map(repr, METHODS))}; got {list(methods)!r}"
        )
    estimand = get_metric(metric)
    if estimand.counts != "correctness":
        raise ValueError(
            f"metric must be one of correctness, and {estimand.name} is one of {estimand.counts}; "
            "study it with estimate_coverage"
        )
    for ci_prob in ci_probs:
        check_interval(ci_prob, "eti")
    if min(n_datasets, n_draws) < 100:
        raise ValueError(
            f"n_datasets and n_draws must be at least 100, got {n_datasets} and {n_draws}"
        )
    # Refuses what cannot exist before hours of work.
    cell_probabilities(*(settings[name].to_numpy(dtype=float) for name in SETTING[:3]))
    common = {
        "methods": list(methods),
        "n_datasets": int(n_datasets),
        "n_draws": int(n_draws),
        "ci_probs": [float(p) for p in ci_probs],
        "metric": estimand.name,
        "module": estimand.module,
    }
    cells = [
        {name: float(row[name]) for name in SETTING[:3]} | {"n_trials": int(row["n_trials"])}
        | common
        for _, row in settings.iterrows()
    ]  # fmt: skip
    table = run_study(_setting_study, cells, folder, rng=rng)
    return table.drop(columns=[*common])


def coverage_summary(study: pd.DataFrame, ci_prob: float | None = None) -> pd.DataFrame:
    """What a coverage study says of each method, over all settings.

    Parameters
    ----------
    study : pandas.DataFrame
        As from `coverage_study`.
    ci_prob : float
        One of its probabilities.

    Returns
    -------
    pandas.DataFrame
        One row per method, best first: ``mean_abs_error`` and ``worst_error`` of coverage,
        ``least_coverage``, ``n_close`` (settings that cover at least `ci_prob` - .02) and
        ``n_settings``, ``mean_width``.

    Raises
    ------
    ValueError
        If the study has no such probability.

    Examples
    --------
    >>> import alikely as al
    >>> grid = al.calibration.default_grid().head(2)
    >>> study = al.calibration.coverage_study(grid, n_datasets=100, rng=1)
    >>> len(al.calibration.coverage_summary(study))
    10
    """
    ci_prob = resolve("ci_prob", ci_prob)
    part = study[np.isclose(study["ci_prob"], ci_prob)]
    if part.empty:
        known = ", ".join(f"{p:g}" for p in sorted(study["ci_prob"].unique()))
        raise ValueError(f"ci_prob must be one of the study's, {known}; got {ci_prob:g}")
    error = part["coverage"] - ci_prob
    by_method = part.assign(error=error.abs(), close=part["coverage"] >= ci_prob - 0.02).groupby(
        "method"
    )
    worst = error.groupby(part["method"]).apply(lambda e: float(e.iloc[e.abs().argmax()]))
    table = pd.DataFrame(
        {
            "mean_abs_error": by_method["error"].mean(),
            "worst_error": worst,
            "least_coverage": by_method["coverage"].min(),
            "n_close": by_method["close"].sum(),
            "n_settings": by_method.size(),
            "mean_width": by_method["width"].mean(),
        }
    )
    return table.sort_values("mean_abs_error").reset_index()


def _setting_study(
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
    """All methods on the same data sets of one setting."""
    setting = one_pair(cell_probabilities(accuracy_a, accuracy_b, ec), metric_again(metric, module))
    truth = float(true_value(setting))
    data, drawing = seed.spawn(2)
    counts = draw_tables(setting, n_trials, n_datasets, data)
    value = estimates(counts, setting)
    rng = np.random.default_rng(drawing)
    found: dict[str, list[Floats]] = {name: [] for name in methods}
    for start in range(0, n_datasets, BLOCK):
        for name, bounds in _bounds(
            counts[start : start + BLOCK], setting, methods, n_draws, ci_probs, rng
        ).items():
            found[name].append(bounds)
    defined = value[~np.isnan(value)]
    of_estimate = {
        "bias": float(defined.mean() - truth) if len(defined) else np.nan,
        "bias_mcse": float(defined.std() / np.sqrt(len(defined))) if len(defined) else np.nan,
        "undefined_share": float(np.isnan(value).mean()),
    }
    rows = []
    for name, parts in found.items():
        # (probability, data set, bound)
        for ci_prob, bounds in zip(ci_probs, np.concatenate(parts, axis=1), strict=True):
            lower, upper = bounds.T
            covered = ((lower <= truth) & (truth <= upper)).mean()
            width = (upper - lower)[~np.isnan(upper - lower)]
            rows.append(
                {
                    "method": name,
                    "ci_prob": ci_prob,
                    "coverage": float(covered),
                    "coverage_mcse": float(np.sqrt(covered * (1 - covered) / n_datasets)),
                    "width": float(width.mean()) if len(width) else np.nan,
                    "width_mcse": float(width.std() / np.sqrt(len(width)))
                    if len(width)
                    else np.nan,
                    "no_interval": float(1 - len(width) / n_datasets),
                }
                | of_estimate
            )
    return rows


def _bounds(
    counts: NDArray[np.int64],
    setting: Setting,
    methods: list[str],
    n_draws: int,
    ci_probs: list[float],
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Bounds (probability, data set, 2) by each method; those with the same draws share them."""
    found: dict[str, Floats] = {}
    drawn: dict[tuple[str, float | None], Floats] = {}
    for name in methods:
        method = METHODS[name]
        if method.source == "normal":
            found[name] = _normal(counts + (method.prior or 0.0), setting, ci_probs)
            continue
        key = (method.source, method.prior)
        if key not in drawn:
            drawn[key] = _draws(counts, setting, method, n_draws, rng)
        draws = drawn[key]
        if method.cut == "bca":
            bounds = [bca_interval(counts, draws, setting.metric, p) for p in ci_probs]
        else:
            cut = _central if method.cut == "eti" else _densest
            bounds = [cut(draws, p) for p in ci_probs]
        found[name] = np.array(bounds)
    return found


def _normal(counts: NDArray[np.number], setting: Setting, ci_probs: list[float]) -> Floats:
    value, se = estimates(counts, setting), standard_errors(counts, setting)
    half = special.ndtri((1 + np.array(ci_probs)) / 2)[:, None] * se
    return np.stack([value - half, value + half], axis=-1)


def _draws(
    counts: NDArray[np.int64],
    setting: Setting,
    method: _Method,
    n_draws: int,
    rng: np.random.Generator,
) -> Floats:
    """Replicates or posterior draws of the metric: shape (draw, data set)."""
    if method.source == "bootstrap":
        n = counts.sum(axis=1)
        size = (n_draws, len(counts))
        tables = rng.multinomial(n, counts / n[:, None], size=size).astype(np.float64)
    else:
        added = setting.prior if method.prior is None else method.prior
        tables = rng.standard_gamma(counts + added, size=(n_draws, *counts.shape))
    return estimates(tables, setting)


def _central(draws: Floats, ci_prob: float) -> Floats:
    return defined_quantiles(draws, [(1 - ci_prob) / 2, (1 + ci_prob) / 2])


def _densest(draws: Floats, ci_prob: float) -> Floats:
    """Narrowest interval that holds the share of draws; posterior draws are all defined."""
    ordered = np.sort(draws, axis=0)
    held = int(np.floor(ci_prob * len(ordered)))
    widths = ordered[held:] - ordered[: len(ordered) - held]
    start = widths.argmin(axis=0)
    column = np.arange(ordered.shape[1])
    return np.stack([ordered[start, column], ordered[start + held, column]], axis=1)
