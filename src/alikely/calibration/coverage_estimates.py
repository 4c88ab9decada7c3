"""Do the front doors of error patterns and margins keep their promise: coverage of every school.

References
----------
.. [AK24] Alvarez, Konkle (2024). Decision-margin consistency.
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
.. [MWC19] Morris, White, Crowther (2019). Using simulation studies to evaluate statistical methods.
   doi:10.1002/sim.8086
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats, normal_nodes
from alikely._base.intervals import CiKind, bound_names, check_interval
from alikely._base.random import RandomState
from alikely.calibration import coverage_options
from alikely.calibration.coverage_options import analysed_answers, analysed_probabilities
from alikely.calibration.coverage_readings import GRID, NAMES, analysed_readings
from alikely.calibration.studies import run_study
from alikely.data.blocks import blocks
from alikely.data.trials import Trials
from alikely.errors.chains import THIN
from alikely.errors.posteriors import chained, error_divergence_draws, error_row_draws
from alikely.errors.tables import dense_joint_errors, dense_rows
from alikely.estimates.pairs import compare
from alikely.estimates.result import Result, School
from alikely.inference.chains import TARGET_ACCEPT, nuts_many
from alikely.metrics import Metric, errors, get_metric
from alikely.metrics.alternatives import m_afc_probability
from alikely.metrics.metric import metric_again
from alikely.simulate.errors import error_rows, joint_errors

__all__ = ["estimate_coverage"]

# Strengths of items, in units of the noise: as in `alikely.simulate.detection_experiment`.
STRENGTH_MEAN, STRENGTH_SD = 1.6, 1.6
# Least and greatest value of what describes a setting; whole where the least is.
RANGES: dict[str, tuple[float, float]] = {
    "copy_probability": (0.0, 1.0), "concentration": (0.001, np.inf), "peakedness": (0.0, 0.99),
    "rho": (-1.0, 1.0), "m": (2, 10_000), "n_classes": (3, 10_000), "n_items": (5, 10**6),
    "n_answers": (1, 10**6), "n_errors": (1, 10**6), "n_joint_errors": (1, 10**6),
    "n_readers": (2, 1_000), "accuracy": (0.0, 1.0), "prevalence": (0.0, 1.0),
    "missing": (0.0, 0.99), "n_options": (2, 10_000), "sharing": (0.0, 1.0),
    "sharpness": (0.0, 100.0),
}  # fmt: skip
# School, kind of interval, and how `Result.summary` names the latter.
METHODS: dict[str, tuple[School, CiKind, str]] = {
    "analytic": ("analytic", "eti", "ci"), "bootstrap": ("bootstrap", "eti", "eti"),
    "bca": ("bca", "eti", "ci"), "posterior": ("posterior", "eti", "eti"),
    "posterior hdi": ("posterior", "hdi", "hdi"),
}  # fmt: skip
# PyTensor compiles in one thread at a time, and the chains of one fit fill the cores.
ONE_FIT = threading.Lock()
# All data sets of a setting as the entries of one result; what analytic intervals and the bootstrap
# should contain, by entry; what the posterior should.
Analysed = tuple[Result, Floats, Floats]


def estimate_coverage(
    metric: str | Metric,
    grid: pd.DataFrame | None = None,
    *,
    n_datasets: int = 200,
    n_draws: int = 1_000,
    ci_probs: Sequence[float] = (0.5, 0.8, 0.95),
    nuts: bool = False,
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """How often the intervals of a front door contain the truth, over simulated data [MWC19]_.

    Data sets come of a generative model of known truth and go through the door that users call.
    For metrics of correctness see `coverage_study`.

    Parameters
    ----------
    metric : str or Metric
        One of labels, such as ``"misclassification_agreement"``; one of readings, such as
        ``"gwet_ac1"``; ``"error_similarity"``; or ``"decision_margin_consistency"``.
    grid : pandas.DataFrame, optional
        Settings, a row each; six to ten from the middle to hard corners if not given. Agreement:
        ``copy_probability, n_classes, n_joint_errors, peakedness``. Similarity: ``concentration``
        of the rows of both systems about common ones (infinite for equal systems),
        ``n_classes, n_errors`` (of each system, over all true classes), ``peakedness``. Margins:
        ``rho, n_items, n_answers`` (of people to each item) and ``m`` alternatives. Readings:
        ``n_readers`` (two as a pair, more at once), ``n_items, accuracy``, ``prevalence`` (of the
        first class), ``missing`` (share of the readings) and ``m`` classes. Answers among options:
        ``n_items, accuracy, n_options, copy_probability, peakedness``; probabilities of these:
        ``n_items, n_options, sharing`` (share of what systems like that they have in common) and
        ``sharpness`` of the softmax.
    n_datasets, n_draws : int
        Data sets of each setting, at least 10; draws and replicates for each, at least 100.
    ci_probs : sequence of float
        Probabilities of the intervals, in (0, 1).
    nuts : bool
        Posteriors by Markov chains too, a second and more for each data set: copy model and shared
        base, the doors' ``sampler="nuts"``; for margins the only posterior.
    folder, rng
        As in `alikely.calibration.run_study`.

    Returns
    -------
    pandas.DataFrame
        As from `coverage_study`, so that `coverage_summary` takes it. Methods are ``"analytic"``,
        ``"bootstrap"`` (percentile), ``"bca"``, and from the posterior of the door ``"posterior"``
        (central) and ``"posterior hdi"``; chains of error patterns are ``"nuts"`` and ``"nuts
        hdi"``. ``bias`` is that of the estimate; for methods of a posterior, of its median.

    Raises
    ------
    ValueError
        If the metric is unknown, the grid lacks a column or has a value out of range, or another
        number is out of range.

    Warns
    -----
    SamplingWarning
        For each data set whose chains did not do what they should.

    Notes
    -----
    Each wrong answer is ``1 - peakedness`` times as likely as the wrong answer before it, and true
    classes are equally frequent among errors. What intervals should contain:

    - Agreement [X25]_: kappa of the joint distribution of both wrong labels that
      `alikely.simulate.errors.joint_errors` draws from, rows and copy probability being the same
      for all data sets. Each data set has equally many further trials that both get right.
    - Similarity [X25]_: ``1 / (1 + d)``, ``d`` the mean over true classes of the Jensen-Shannon
      divergence, in bits, of the rows that the errors of this data set were drawn from;
      `alikely.simulate.errors.error_rows` draws new ones for each. The true value for equal systems
      is 1, the end of the scale, which posterior draws never reach and replicates rarely do.
    - Margins [AK24]_: strengths of items are normal, their answers those of signal detection
      [GS66]_ by people who are all alike. Analytic intervals and the bootstrap should contain the
      correlation over infinitely many items with as many answers to each, which noise attenuates
      [S04]_; the posterior should contain `rho`, the correlation of margins with strengths.
    - Readings: readers are alike and err independently given the true class; the value over
      infinitely many items.
    - Options: one of two equally good systems copies the other; ``peakedness`` is the share of
      errors that are the same popular one. Probabilities: softmax of normal likings, a standard
      deviation more of the right option; the value over 500,000 questions.

    The data sets of a setting are the conditions of one call of the door. With ``sampler="nuts"``
    the doors of error patterns compile a model for each; here `alikely.inference.nuts_many` takes
    one for all, made by the same function, and draws go through the same functions as there.

    Examples
    --------
    >>> import alikely as al
    >>> grid = pd.DataFrame({"copy_probability": [0.3], "n_classes": 4})
    >>> grid = grid.assign(n_joint_errors=20, peakedness=0.5)
    >>> study = estimate_coverage("misclassification_agreement", grid, n_datasets=20, rng=1)
    >>> al.calibration.coverage_summary(study)["method"].sort_values().tolist()
    ['analytic', 'bca', 'bootstrap', 'posterior', 'posterior hdi']
    """
    estimand = get_metric(metric)
    if estimand.counts not in STUDIES:
        raise ValueError(
            f"metric must be one of {', '.join(STUDIES)}, and {estimand.name} is one of "
            f"{estimand.counts}; study it with coverage_study"
        )
    if not ci_probs:
        raise ValueError("ci_probs must name at least one probability, got none; try (0.95,)")
    for ci_prob in ci_probs:
        check_interval(ci_prob, "eti")
    if n_datasets < 10 or n_draws < 100:
        least = "n_datasets must be at least 10 and n_draws at least 100"
        raise ValueError(f"{least}, got {n_datasets} and {n_draws}")
    common: dict[str, Any] = {
        "metric": estimand.name,
        "module": estimand.module,
        "n_datasets": int(n_datasets),
        "n_draws": int(n_draws),
    }
    common |= {"ci_probs": [float(p) for p in ci_probs], "nuts": bool(nuts)}
    cells = [setting | common for setting in _settings(estimand, grid)]
    table = run_study(_setting_study, cells, folder, rng=rng)
    return table.drop(columns=[*common])


def _settings(metric: Metric, grid: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Rows of the grid, checked before hours of work."""
    names, default, _ = STUDIES[metric.counts]
    grid = pd.DataFrame(default, columns=names) if grid is None else grid
    if grid.empty or not set(names) <= set(grid):
        raise ValueError(
            f"grid must have rows and, for {metric.name}, the columns {', '.join(names)}; got "
            f"{len(grid)} rows and {', '.join(map(str, grid)) or 'no columns'}"
        )
    for name in names:
        low, high = RANGES[name]
        whole = isinstance(low, int)
        for row, value in enumerate(grid[name]):
            number = isinstance(value, (int, float, np.number))
            if not (number and low <= value <= high and (not whole or value % 1 == 0)):
                raise ValueError(
                    f"{name} must be a {'whole ' if whole else ''}number from {low:g} to "
                    f"{high:g}, got {value!r} in row {row} of the grid"
                )
    return [
        {name: type(RANGES[name][0])(row[name]) for name in names} for _, row in grid.iterrows()
    ]


def _setting_study(
    metric: str,
    module: str,
    n_datasets: int,
    n_draws: int,
    ci_probs: Any,
    nuts: bool,
    seed: Any,
    **setting: Any,
) -> list[dict[str, Any]]:
    """All methods on the same data sets of one setting."""
    data, drawing, chains = seed.spawn(3)
    estimand = metric_again(metric, module)
    names, _, analyse = STUDIES[estimand.counts]
    values, rng = [setting[name] for name in names], np.random.default_rng(data)
    margins = estimand.counts == "margins"
    options = {"n_resamples": n_draws, "n_draws": n_draws if nuts or not margins else 0}
    with ONE_FIT if nuts else contextlib.nullcontext():
        result, truth, goal = analyse(estimand, values, n_datasets, rng, options | {"rng": drawing})
        rows = _rows(result, truth, goal, {name: name for name in METHODS}, ci_probs)
        if nuts and not margins:
            fitted = _by_chains(result, n_draws, chains)
            shown = {"posterior": "nuts", "posterior hdi": "nuts hdi"}
            rows += _rows(fitted, truth, goal, shown, ci_probs)
    return rows


def _rows(
    result: Result, truth: Floats, posterior_truth: Floats, names: dict[str, str], ci_probs: Any
) -> list[dict[str, Any]]:
    """Read the intervals of the methods named, by the names to give them, and count."""
    rows = []
    for method, name in names.items():
        school, kind, shown = METHODS[method]
        drawn = school == "posterior"
        if drawn and school not in result.data.children:
            continue
        goal = posterior_truth if drawn else truth
        for ci_prob in ci_probs:
            frame = result.summary(ci_prob, kind, [school])
            lower, upper = (frame[end].to_numpy() for end in bound_names(school, shown, ci_prob))
            point = frame["posterior_median" if drawn else "estimate"].to_numpy()
            width, error = upper - lower, point - goal
            row: dict[str, Any] = {"method": name, "ci_prob": ci_prob}
            row |= _mean("coverage", (lower <= goal) & (goal <= upper))
            row |= _mean("width", width) | {"no_interval": float(np.isnan(width).mean())}
            row |= _mean("bias", error) | {"undefined_share": float(np.isnan(error).mean())}
            rows.append(row)
    return rows


def _mean(name: str, values: NDArray[Any]) -> dict[str, float]:
    """Mean of what is defined, and its Monte-Carlo error."""
    defined = values[~np.isnan(values)].astype(np.float64)
    n = len(defined)
    mean, error = (defined.mean(), defined.std() / np.sqrt(n)) if n else (np.nan, np.nan)
    return {name: float(mean), f"{name}_mcse": float(error)}


def _agreement(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analysed:
    copy_probability, n_classes, n_joint_errors, peakedness = setting
    wrong = _wrong_rows(n_classes, peakedness)
    true = rng.multinomial(n_joint_errors, np.full(n_classes, 1 / n_classes), n_datasets)
    counts = joint_errors(np.full(n_datasets, copy_probability), wrong, wrong, true, rng)
    entry, truth, a, b = np.repeat(np.indices(counts.shape).reshape(4, -1), counts.ravel(), axis=1)
    # With trials that both get right the bootstrap draws more joint errors, or fewer.
    trials = Trials.from_arrays(
        np.block([[a, truth], [b, truth]]),
        np.tile(truth, 2),
        classes=range(n_classes),
        condition=np.tile(entry, 2).tolist(),
    )
    value = np.full(n_datasets, _implied_agreement(metric, copy_probability, wrong))
    return compare(trials, metric, **options), value, value


def _implied_agreement(metric: Metric, copy_probability: float, wrong: Floats) -> float:
    """Value of the joint distribution of copied and own labels."""
    own = (1 - copy_probability) * wrong[:, :, None] * wrong[:, None, :]
    copied = copy_probability * np.eye(len(wrong)) * wrong[:, :, None]
    return float(metric.value(errors.label_statistics((own + copied).sum(axis=0))))


def _similarity(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analysed:
    concentration, n_classes, n_errors, peakedness = setting
    wrong = _wrong_rows(n_classes, peakedness)
    _, rows = error_rows(wrong, concentration, 0, 2 * n_datasets, rng)
    counts = rng.multinomial(n_errors, rows.reshape(len(rows), -1) / n_classes)
    shape = (2, n_datasets, n_classes, n_classes)
    places = np.indices(shape).reshape(4, -1)
    system, entry, truth, answer = np.repeat(places, counts.ravel(), axis=1)
    # Each system has stimuli of its own: similarity needs no common ones.
    response = np.ma.array(np.tile(answer, (2, 1)), mask=system != np.arange(2)[:, None])
    trials = Trials.from_arrays(response, truth, classes=range(n_classes), condition=entry.tolist())
    value = _true_similarity(*rows.reshape(shape))
    return compare(trials, metric, **options), value, value


def _true_similarity(rows_a: Floats, rows_b: Floats) -> Floats:
    """Similarity of rows, by equally frequent true classes."""
    divergence = errors.jensen_shannon_divergence(rows_a, rows_b).mean(axis=-1)
    return errors.error_similarity(divergence)


def _wrong_rows(n_classes: int, peakedness: float) -> Floats:
    """Distributions of wrong answers, by the same liking for each answer in all true classes."""
    liking = np.tile((1 - peakedness) ** np.arange(n_classes), (n_classes, 1))
    np.fill_diagonal(liking, 0)
    return np.asarray(liking / liking.sum(axis=1, keepdims=True))


def _margins(
    metric: Metric, setting: Any, n_datasets: int, rng: np.random.Generator, options: Any
) -> Analysed:
    rho, n_items, n_answers, m = setting
    z, other = rng.standard_normal((2, n_datasets * n_items))
    trials = Trials.from_correct(
        rng.random((n_answers, len(z))) < m_afc_probability(STRENGTH_MEAN + STRENGTH_SD * z, m),
        condition=np.repeat(np.arange(n_datasets), n_items).tolist(),
        kind=["human"] * n_answers,
    )
    places = {name: trials.data[name].values for name in ("dataset", "condition", "item")}
    margin = rho * z + np.sqrt(1 - rho**2) * other
    margins = pd.DataFrame({"observer": "machine", **places, "margin": margin})
    result = compare(trials, metric, margins=margins, m=m, model="items", **options)
    observed = np.full(n_datasets, _attenuated(rho, n_answers, m))
    return result, observed, np.full(n_datasets, rho)


def _attenuated(rho: float, n_answers: int, m: int) -> float:
    """Correlation of margins with shares of right answers, over infinitely many items."""
    z, weight = normal_nodes(200)
    p = m_afc_probability(STRENGTH_MEAN + STRENGTH_SD * z, m)
    noise = weight @ (p * (1 - p)) / n_answers
    spread = weight @ (p - weight @ p) ** 2
    return float(rho * (weight @ (p * z)) / np.sqrt(spread + noise))


def _by_chains(result: Result, n_draws: int, seed: np.random.SeedSequence) -> Result:
    """The same entries with draws of the generative model, compiled once for all of them."""
    from alikely.models.errors import class_copying, error_distributions

    labels = result.metric.counts == "labels"
    count = dense_joint_errors if labels else dense_rows
    build: Callable[[Any], Any] = class_copying if labels else error_distributions
    counts = [count(block) for block in blocks(result.table)]
    data = [{node.name: node.get_value() for node in build(c).data_vars} for c in counts]
    chains, drawing = seed.spawn(2)
    # As the doors aim.
    target = 0.9 if labels else TARGET_ACCEPT
    trees = nuts_many(build(counts[0]), data, THIN * n_draws, 1_000, chains, target)
    generator = np.random.default_rng(drawing)
    draws = []
    for tree, of_entry in zip(trees, counts, strict=True):
        posterior = tree["posterior"].to_dataset().isel(draw=slice(None, None, THIN))
        if labels:
            draws.append(posterior[result.metric.name].values.ravel())
        else:
            rows = error_row_draws(posterior, of_entry, generator)
            draws.append(errors.error_similarity(error_divergence_draws(rows, of_entry)[:, 0]))
    laid = chained(np.stack(draws, axis=1), result.table, result.metric, "nuts", joint=False)
    found = result.data.copy()
    found["posterior"] = xr.DataTree(laid)
    found.attrs |= {"model": "class_copying" if labels else "shared_base", "sampler": "nuts"}
    return Result(found)


# What describes a setting, the settings of choice, and their analysis.
STUDIES: dict[str, tuple[list[str], list[tuple[float, ...]], Callable[..., Analysed]]] = {
    "labels": (
        ["copy_probability", "n_classes", "n_joint_errors", "peakedness"],
        [(0, 4, 10, 0), (0, 16, 40, 0), (0.3, 16, 10, 0), (0.3, 16, 40, 0), (0.3, 16, 160, 0),
         (0.3, 16, 40, 0.5), (0.8, 16, 40, 0.5), (0.95, 16, 10, 0), (0.3, 3, 20, 0.8),
         (0.8, 4, 10, 0.8)],
        _agreement,
    ),
    "rows": (
        ["concentration", "n_classes", "n_errors", "peakedness"],
        [(0.5, 4, 20, 0), (0.5, 4, 200, 0), (0.5, 16, 40, 0), (0.5, 16, 2_000, 0), (5, 4, 20, 0),
         (5, 4, 200, 0.5), (5, 16, 200, 0), (50, 16, 2_000, 0), (np.inf, 4, 200, 0),
         (np.inf, 16, 200, 0.5)],
        _similarity,
    ),
    "margins": (
        ["rho", "n_items", "n_answers", "m"],
        [(0, 40, 10, 16), (0.5, 10, 10, 16), (0.5, 20, 10, 16), (0.5, 40, 10, 16),
         (0.5, 160, 10, 16), (0.5, 40, 2, 16), (0.5, 40, 5, 2), (0.9, 40, 10, 16),
         (0.9, 40, 2, 2), (0.99, 40, 20, 16)],
        _margins,
    ),
    "readings": (NAMES, GRID, analysed_readings),
    "options": (coverage_options.NAMES, coverage_options.GRID, analysed_answers),
    "probabilities": (
        coverage_options.SOFT_NAMES, coverage_options.SOFT_GRID, analysed_probabilities
    ),
}  # fmt: skip
