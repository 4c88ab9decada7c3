"""What an estimate and its intervals do over repeated data sets, before there are any.

Everything here holds for any metric of correctness counts, of one pair or of a weighted sum over
pairs that share trials.

References
----------
.. [E82] Efron (1982). The jackknife, the bootstrap and other resampling plans. Chapter 6.
   doi:10.1137/1.9781611970319
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely.metrics import ERROR_CONSISTENCY, Metric, get_metric
from alikely.metrics.cell_priors import Prior, cell_prior
from alikely.stats.intervals import defined_quantiles
from alikely.stats.variance import mean_of_defined, variance_of_defined

__all__ = [
    "N_DRAWS",
    "N_DRAWS_FOR_WIDTH",
    "SCHOOLS",
    "Method",
    "Setting",
    "central_range",
    "check_options",
    "describe",
    "draw_tables",
    "estimates",
    "interval_study",
    "intervals",
    "is_simulated",
    "one_pair",
    "row_by_row",
    "second_order_bias",
    "smallest_expected",
    "standard_errors",
    "true_value",
    "undefined_share",
    "unit_variance",
]

Method = Literal["auto", "analytic", "simulated"]
SCHOOLS = ("analytic", "bootstrap", "posterior")
METHODS = ("auto", "analytic", "simulated")
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


def undefined_share(setting: Setting, n_trials: ArrayLike) -> Floats:
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


def intervals(
    counts: NDArray[np.int64],
    setting: Setting,
    school: str,
    n_draws: int,
    ci_prob: float,
    rng: np.random.Generator,
) -> Floats:
    """Intervals from counts of patterns, by one school of inference."""
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    if school == "analytic":
        half = special.ndtri(tails[1]) * standard_errors(counts, setting)
        value = estimates(counts, setting)
        return np.stack([value - half, value + half], axis=1)
    # Near the ceiling few different tables occur.
    tables, which = np.unique(counts, axis=0, return_inverse=True)
    n_patterns = tables.shape[1]
    bounds = np.empty((len(tables), 2))
    step = max(1, CHUNK // (n_draws * (n_patterns + 4 * len(setting.weights))))
    for start in range(0, len(tables), step):
        part = tables[start : start + step]
        size = (n_draws, len(part))
        if school == "bootstrap":
            total = part.sum(axis=1)
            drawn = rng.multinomial(total, part / total[:, None], size=size).astype(np.float64)
        else:
            drawn = rng.standard_gamma(part + setting.prior, size=(*size, n_patterns))
        bounds[start : start + step] = defined_quantiles(estimates(drawn, setting), tails)
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
    for school in SCHOOLS:
        lower, upper = intervals(counts, setting, school, n_draws, ci_prob, rng).T
        found[f"{school}_coverage"] = float(np.mean((lower <= truth) & (truth <= upper)))
        found[f"{school}_width"] = float(mean_of_defined(upper - lower))
        found[f"{school}_power"] = float(np.mean((lower > against) | (upper < against)))
        if not np.isnan(goal):
            found[f"{school}_assurance"] = float(np.mean(upper - lower <= goal))
    return found


def check_options(
    method: str, n_datasets: int, n_coverage: int, prior: Prior | None = None
) -> None:
    """Refuse an unknown method, too few data sets, or a prior without use (`ValueError`)."""
    if method not in METHODS:
        raise ValueError(f"method must be 'auto', 'analytic' or 'simulated', got {method!r}")
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


def central_range(values: NDArray[np.float64], ci_prob: float) -> tuple[float, float]:
    """Bounds of the central range of the defined values; NaN where hardly any is defined."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return np.nan, np.nan
    lower, upper = np.quantile(defined, [(1 - ci_prob) / 2, (1 + ci_prob) / 2])
    return float(lower), float(upper)


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
        found = row_by_row(_spread, setting, first, n_trials, n_datasets, ci_prob, at=at)
        lower[at], upper[at], se[at], bias[at] = np.transpose(found)
    share = undefined_share(setting, n_trials)
    table = rows.assign(
        n_trials=n_trials,
        method=np.where(simulated, "simulated", "analytic"),
        width=upper - lower,
        lower=lower,
        upper=upper,
        se=se,
        bias=bias,
        undefined_share=share,
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


def _spread(
    setting: Setting, n: int, n_datasets: int, ci_prob: float, seed: np.random.SeedSequence
) -> tuple[float, float, float, float]:
    """Central range, standard deviation and bias of the defined estimates."""
    values = estimates(draw_tables(setting, n, n_datasets, seed), setting)
    bounds = central_range(values, ci_prob)
    if np.count_nonzero(~np.isnan(values)) < 2:
        return *bounds, np.nan, np.nan
    sd = float(np.sqrt(variance_of_defined(values, ddof=0)))
    return *bounds, sd, float(mean_of_defined(values) - true_value(setting))
