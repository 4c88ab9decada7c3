"""Independent observers: posterior, null distribution, tests, and model comparison.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of
   CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
.. [GD74] Gunel, Dickey (1974). Bayes factors for independence in contingency tables.
   doi:10.1093/biomet/61.3.545
.. [F22] Fisher (1922). On the interpretation of chi-squared from contingency tables, and the
   calculation of P. doi:10.2307/2340521
.. [VGG17] Vehtari, Gelman, Gabry (2017). Practical Bayesian model evaluation using leave-one-out
   cross-validation and WAIC. doi:10.1007/s11222-016-9696-4
.. [L61] Lancaster (1961). Significance tests in discrete distributions.
   doi:10.1080/01621459.1961.10482105
.. [GMS96] Gelman, Meng, Stern (1996). Posterior predictive assessment of model fitness via realized
   discrepancies. Statistica Sinica 6, 733-807. https://www.jstor.org/stable/24306036
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.intervals import check_interval
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.data.tables import check_counts, pair_coords
from alikely.inference.chains import CHAINS, DRAW_MORE, labeled, nuts
from alikely.inference.independence import fisher_log10_p, log_table_mass
from alikely.inference.process import four_chains, in_chunks
from alikely.inference.sampling import Sampler, check_sampler
from alikely.metrics import ERROR_CONSISTENCY, Metric, consistency
from alikely.metrics.consistency import (
    DEFAULT_PRIOR,
    Prior,
    cell_prior,
)

# Pairs drawn for at a time by one worker.
CHUNK = 64
# Differences of tables that predict alike differ by rounding, never by this much.
TIE = 1e-9
# Tables held at a time in the comparison of models.
TABLES = 1_000_000


def null_draws(
    cells: ArrayLike,
    n_draws: int = 10_000,
    metric: Metric = ERROR_CONSISTENCY,
    rng: RandomState = None,
    observed: bool = False,
) -> NDArray[np.float32]:
    """Draw values of a metric for independent observers with the accuracies of each pair.

    Accuracies are drawn from their posterior, or are the `observed` ones (parametric bootstrap).
    """

    def draw(counts: NDArray[np.int64], seed: np.random.SeedSequence) -> NDArray[np.floating]:
        of_accuracies, of_cells = seed.spawn(2)
        if observed:
            shares = np.nan_to_num(consistency.accuracies(counts))
            p_a, p_b = np.broadcast_to(shares[:, None], (2, n_draws, len(counts)))
        else:
            p_a, p_b = _accuracies(counts, n_draws, np.random.default_rng(of_accuracies))
        generator = np.random.default_rng(of_cells)
        return metric.value(independent_cells(counts.sum(axis=-1), p_a, p_b, generator))

    return in_chunks(draw, np.atleast_2d(check_counts(cells)), (n_draws,), CHUNK, rng)


def _accuracies(
    counts: NDArray[np.int64], n_draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Exact draws (draw, pair) of the accuracies of independent observers."""
    (a, b), (c, d) = DEFAULT_PRIOR.accuracies("a model of both accuracies").values()
    n11, n10, n01, n00 = counts.T
    size = (n_draws, len(counts))
    p_a = rng.beta(a + n11 + n10, b + n01 + n00, size)
    return p_a, rng.beta(c + n11 + n01, d + n10 + n00, size)


def independent_cells(
    n_trials: NDArray[np.int64] | int,
    accuracy_a: NDArray[np.float64],
    accuracy_b: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Simulate correctness tables of observers that err independently."""
    k_a = rng.binomial(n_trials, accuracy_a)
    n11 = rng.binomial(k_a, accuracy_b)
    n01 = rng.binomial(n_trials - k_a, accuracy_b)
    return np.stack([n11, k_a - n11, n01, n_trials - k_a - n01], axis=-1)


def p_value(estimate: ArrayLike, null: ArrayLike) -> NDArray[np.float64]:
    """Two-sided p-value of an estimate against null draws; never 0."""
    # The draws are stored in single precision; a tie must count as one.
    observed = np.abs(np.asarray(estimate, dtype=np.float64)).astype(np.float32)
    draws = np.abs(np.asarray(null, dtype=np.float32))
    defined = ~np.isnan(draws)
    exceed = (draws >= observed).sum(axis=0)
    return np.where(np.isnan(observed), np.nan, (1 + exceed) / (1 + defined.sum(axis=0)))


def fisher_exact(cells: ArrayLike) -> NDArray[np.float64]:
    """Compute Fisher's exact two-sided p-value for independence, given both accuracies [F22]_."""
    return np.asarray(10.0 ** fisher_log10_p(check_counts(cells)))


def log_bayes_factor(cells: ArrayLike, prior: Prior | float = 1.0) -> NDArray[np.float64]:
    """Compute the log Bayes factor of association against independence [GD74]_."""
    own = cell_prior([prior] * 4 if isinstance(prior, int | float) else prior)
    a = own.cells("the Bayes factor").reshape(2, 2)
    # The margins' parameters under independence: their sums less the other margin's freedom.
    row, column = a.sum(axis=1) - 1, a.sum(axis=0) - 1
    if not min(row.min(), column.min()) > 0:
        raise ValueError(
            f"the Bayes factor needs prior margins above 1 (each cell above 0.5), as independence "
            f"has no prior otherwise; got {own}; give another prior"
        )
    y = check_counts(cells).reshape(*np.shape(cells)[:-1], 2, 2)
    rows, columns = y.sum(axis=-1), y.sum(axis=-2)

    def log_d(parameters: NDArray[np.float64], dims: int) -> NDArray[np.float64]:
        axes = tuple(range(-dims, 0))
        total = special.gammaln(parameters.sum(axis=axes))
        return np.asarray(special.gammaln(parameters).sum(axis=axes) - total)

    return np.asarray(
        log_d(y + a, 2)
        - log_d(a, 2)
        + log_d(row, 1)
        - log_d(rows + row, 1)
        + log_d(column, 1)
        - log_d(columns + column, 1)
    )


def bayes_factor_prior(prior: Prior | None) -> Prior | float:
    """Choose the prior of the Bayes factor that corresponds to the prior of a posterior."""
    own, default = cell_prior(prior), cell_prior(None)
    margins = np.array(list(default.accuracies("the Bayes factor").values()))
    return 1.0 if own == default and margins.min() <= 1 else own


def null_percentiles(
    n_trials: int, ci_prob: float | None = None, n_grid: int = 210
) -> pd.DataFrame:
    """Compute central intervals of agreement and error consistency for independent observers.

    As in the supplement of [G20]_, the function computes two intervals for every bin of expected
    agreement: one for observed agreement and one for error consistency. No simulation is needed:
    given each observer's number of correct responses, the number of trials on which both observers
    are correct has a hypergeometric distribution.

    Parameters
    ----------
    n_trials : int
        Number of common trials, at least 2. Computing time grows with the cube of the number of
        trials, from less than 1 second for 160 trials to half a minute for 1,280.
    ci_prob : float
        Probability level of the central interval, in (0, 1).
    n_grid : int
        Number of accuracies in the grid, a multiple of 3. One third of the accuracies lie in each
        of the ranges [0, 0.15], [0.15, 0.85] and [0.85, 1]; all pairs of accuracies have equal
        weight.

    Returns
    -------
    pandas.DataFrame
        One row for each bin of expected agreement (bin width 0.01): ``expected_lb, expected_ub``,
        ``share`` (probability that a pair falls into the bin), ``agreement_lb, agreement_ub``,
        ``error_consistency_lb, error_consistency_ub``. Limits are the smallest values at which the
        cumulative probability reaches ``(1 - ci_prob) / 2`` and ``(1 + ci_prob) / 2``; they are NaN
        for an empty bin. The 2 x 2 tables for which error consistency is undefined contribute only
        to ``agreement_lb`` and ``agreement_ub``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> limits = null_percentiles(40, n_grid=30)
    >>> limits.loc[62, ["error_consistency_lb", "error_consistency_ub"]].round(2).tolist()
    [-0.2, 0.26]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    if not (isinstance(n_trials, int | np.integer) and n_trials >= 2):
        raise ValueError(f"n_trials must be a whole number of at least 2, got {n_trials}")
    if not (n_grid >= 3 and n_grid % 3 == 0):
        raise ValueError(f"n_grid must be a multiple of 3, got {n_grid}")
    check_interval(ci_prob, "eti")
    n = int(n_trials)
    edges = [0, 0.15, 0.85, 1]
    accuracy = np.concatenate(
        [np.linspace(a, b, n_grid // 3) for a, b in itertools.pairwise(edges)]
    )
    k = np.arange(n + 1)
    weight = stats.binom(n, accuracy[:, None]).pmf(k).mean(axis=0)
    # Exchanging the observers changes nothing: half of the (k_a, k_b) grid, counted twice.
    k_a, k_b = np.triu_indices(n + 1)
    mass = weight[k_a] * weight[k_b] * np.where(k_a == k_b, 1, 2)
    # Whole numbers, because a bin's edge is often met exactly.
    bins = np.minimum((k_a * k_b + (n - k_a) * (n - k_b)) * 100 // n**2, 99)
    levels = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    rows = np.full((100, 5), np.nan)
    rows[:, 0] = np.bincount(bins, mass, minlength=100)
    for number in np.flatnonzero(np.bincount(bins, minlength=100)):
        here = bins == number
        rows[number, 1:] = _bin_limits(n, k_a[here], k_b[here], mass[here], levels)
    bounds = [
        f"{name}_{side}" for name in ("agreement", "error_consistency") for side in ("lb", "ub")
    ]
    frame = pd.DataFrame(rows, columns=["share", *bounds])
    frame.insert(0, "expected_lb", np.arange(100) / 100)
    frame.insert(1, "expected_ub", np.arange(1, 101) / 100)
    return frame


def _bin_limits(
    n: int,
    k_a: NDArray[np.intp],
    k_b: NDArray[np.intp],
    mass: NDArray[np.float64],
    levels: list[float],
) -> list[float]:
    """Quantiles of agreement and of error consistency over all tables with these margins."""
    center = k_a * k_b / n
    spread = np.sqrt(center * (n - k_a) * (n - k_b) / (n * max(n - 1, 1)))
    # Ten standard deviations, and room for the skew of rare overlaps: what is left out has a
    # probability below 1e-18.
    reach = 10 * spread + 20
    low = np.maximum(np.maximum(0, k_a + k_b - n), np.floor(center - reach)).astype(int)
    high = np.minimum(np.minimum(k_a, k_b), np.ceil(center + reach)).astype(int)
    length = high - low + 1
    row = np.repeat(np.arange(len(k_a)), length)
    n11 = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length) + low[row]
    a, b = k_a[row], k_b[row]
    cells = np.stack([n11, a - n11, b - n11, n - a - b + n11])
    log_factorial = special.gammaln(np.arange(n + 1) + 1.0)
    margins = log_factorial[[k_a, n - k_a, k_b, n - k_b]].sum(axis=0) - log_factorial[n]
    probability = mass[row] * np.exp(margins[row] - log_factorial[cells].sum(axis=0))
    agreement = _weighted_quantiles((cells[0] + cells[3]) / n, probability, levels)
    kappa = consistency.error_consistency(cells.T)
    defined = ~np.isnan(kappa)
    return [*agreement, *_weighted_quantiles(kappa[defined], probability[defined], levels)]


def _weighted_quantiles(
    values: NDArray[np.float64], mass: NDArray[np.float64], levels: list[float]
) -> NDArray[np.float64]:
    if not mass.sum() > 0:
        return np.full(len(levels), np.nan)
    order = np.argsort(values)
    cumulative = np.cumsum(mass[order])
    # A level that is met exactly must not be missed by rounding.
    targets = np.array(levels) * cumulative[-1] * (1 - 1e-12)
    return values[order][np.searchsorted(cumulative, targets)]


def _elpd_of_trials(cells: ArrayLike, prior: Prior | None) -> Floats:
    """Log predictive density of a left-out trial of each cell under both models: (2, ..., 4)."""
    own = cell_prior(prior)
    a, accuracies = own.cells("model comparison"), own.accuracies("model comparison")
    counts = np.asarray(cells, dtype=np.float64)
    n = counts.sum(axis=-1, keepdims=True)
    # The trial left out of each cell: what remains, plus the prior's share.
    total = np.log(np.maximum(n - 1, 0) + a.sum())
    copying = np.log(np.maximum(counts - 1, 0) + a) - total
    product = np.ones_like(counts)
    for other, is_right, (right_too, wrong_too) in (
        (1, [True, True, False, False], accuracies["p_a"]),
        (2, [True, False, True, False], accuracies["p_b"]),
    ):
        right = counts[..., [0]] + counts[..., [other]] - is_right
        product *= np.where(is_right, right + right_too, n - 1 - right + wrong_too)
    occupied = counts > 0
    independence = np.log(np.where(occupied, product, 1.0)) - 2 * total
    return np.where(occupied, np.stack([copying, independence]), 0.0)


def elpd(cells: ArrayLike, prior: Prior | None = None) -> tuple[Floats, Floats, Floats]:
    """Expected log predictive densities of copying and independence, with their difference."""
    counts = np.asarray(cells, dtype=np.float64)
    copying, independence = _elpd_of_trials(counts, prior)
    gain = copying - independence
    n = np.maximum(counts.sum(axis=-1), 1)
    mean = (counts * gain).sum(axis=-1) / n
    # All trials of one cell have the same score, so the spread over trials is one over cells.
    spread = (counts * (gain - mean[..., None]) ** 2).sum(axis=-1)
    totals = [(counts * score).sum(axis=-1) for score in (copying, independence)]
    return totals[0], totals[1], np.sqrt(spread)


def elpd_mid_p(cells: ArrayLike, prior: Prior | None = None) -> Floats:
    """Exact probability that independent observers favor copying at least as much as the data."""
    counts = check_counts(cells)
    flat, which = np.unique(counts.reshape(-1, 4), axis=0, return_inverse=True)
    n11, n10, n01, n00 = flat.T
    lowest, more = np.minimum(n11, n00), np.minimum(n10, n01)
    p = np.full(len(flat), np.nan)
    varied = np.flatnonzero(lowest + more > 0)
    # All tables with the same margins, of some tables at a time.
    ends = np.cumsum((lowest + more + 1)[varied])
    for part in np.split(varied, np.flatnonzero(np.diff(ends // TABLES)) + 1):
        lengths = (lowest + more + 1)[part]
        owner = np.repeat(np.arange(len(part)), lengths)
        own = np.cumsum(lengths) - lengths + lowest[part]
        step = np.arange(lengths.sum()) - own[owner]
        every = flat[part][owner] + step[:, None] * np.array([1, -1, -1, 1])
        copying, independence, _ = elpd(every, prior)
        away = copying - independence
        near = TIE * np.maximum(1, np.abs(away[own]))[owner]
        away -= away[own][owner]
        weight = np.where(away > near, 1.0, np.where(away < -near, 0.0, 0.5))
        mass = weight * np.exp(log_table_mass(every))
        p[part] = np.bincount(owner, mass, minlength=len(part))
    return p[which.ravel()].reshape(counts.shape[:-1])


# Two parameters a pair and no correlation: adaptation is quick.
TUNE = 500
DIMS = ("chain", "draw", "pair")


def independent_posterior(
    cells: ArrayLike,
    pairs: Sequence[str] | None = None,
    sampler: Sampler = "auto",
    n_draws: int = 4_000,
    metric: Metric = ERROR_CONSISTENCY,
    rng: RandomState = None,
) -> xr.DataTree:
    """Posterior of independent observers for many pairs, with replicates as null distribution."""
    check_sampler(sampler)
    counts = np.atleast_2d(check_counts(cells))
    coords = pair_coords(len(counts), pairs)
    per_chain = four_chains(n_draws) // CHAINS
    chosen = "nuts" if sampler == "nuts" else "exact"
    if chosen == "nuts":
        # The models import PyMC: only when needed.
        from alikely.models.copies import copying

        # Without labels: compiled once for this number of pairs.
        model = copying(counts, independent=True)
        n, include = CHAINS * per_chain, ["posterior_predictive"]
        remedy = f"{DRAW_MORE}, or use sampler='exact'"
        tree = labeled(
            nuts(model, n, TUNE, rng, remedy=remedy, include=include), pair=coords["pair"]
        )
    else:
        tree = _exact(counts, per_chain, rng)
    labels = {**coords, "chain": np.arange(CHAINS), "draw": np.arange(per_chain)}
    # Without a common trial the posterior would be the prior.
    shown = xr.DataArray(counts.sum(axis=1) > 0, dims="pair")
    accuracies = tree["posterior"].to_dataset().where(shown)
    tables = tree["posterior_predictive"].to_dataset().astype(np.int32)
    drawn = tables["observed_cells"].values
    values = [metric.value(drawn[:, :, k : k + CHUNK]) for k in range(0, len(counts), CHUNK)]
    tables[metric.name] = (DIMS, np.concatenate(values, axis=-1).astype(np.float32))
    observed = {
        "observed_cells": (("pair", "cell"), counts),
        metric.name: ("pair", np.asarray(metric.value(counts), dtype=np.float64)),
    }
    tree["posterior"] = accuracies.assign_coords({dim: labels[dim] for dim in DIMS})
    tree["posterior"].attrs["sampler"] = chosen
    tree["posterior_predictive"] = tables.assign_coords(labels)
    tree["observed_data"] = xr.Dataset(observed, coords=coords)
    tree.attrs |= {"model": "independence", "metric": metric.name, "sampler": chosen}
    return tree


def _exact(counts: NDArray[np.int64], per_chain: int, rng: RandomState) -> xr.DataTree:
    generator = np.random.default_rng(seed_sequence(rng))
    shape = (CHAINS, per_chain, len(counts))
    drawn = _accuracies(counts, CHAINS * per_chain, generator)
    p_a, p_b = (values.reshape(shape) for values in drawn)
    tables = independent_cells(counts.sum(axis=1), p_a, p_b, generator)
    tree = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset({"p_a": (DIMS, p_a), "p_b": (DIMS, p_b)}),
            "posterior_predictive": xr.Dataset({"observed_cells": ((*DIMS, "cell"), tables)}),
        }
    )
    beta = DEFAULT_PRIOR.accuracies("a model of both accuracies")
    texts = {name: f"Beta({a:.6g}, {b:.6g})" for name, (a, b) in beta.items()}
    tree.attrs["priors"] = json.dumps(texts)
    return tree
