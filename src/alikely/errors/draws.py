"""Posterior draws of error agreement and of error similarity.

The plug-in estimate of a divergence is too large for similar systems, and resampling does not show
this bias. Data sets are therefore simulated from populations with known divergence, which range
from equal systems to systems that are less similar than in the posterior draws. The limits are the
divergences for which the observed estimate would be too small or too large.

Limits of pairs are not independent posteriors. For equal systems all draws are on one side of the
true value, and biases of estimates are similar for all pairs. Means of draws therefore do not have
valid limits. For means of pairs, we simulate the distribution of the mean estimate, over
populations that range from equal to dissimilar systems for all pairs simultaneously.

References
----------
.. [BCD01] Brown, Cai, DasGupta (2001). Interval estimation for a binomial proportion.
   doi:10.1214/ss/1009213286
.. [F73] Ferguson (1973). A Bayesian analysis of some nonparametric problems.
   doi:10.1214/aos/1176342360
.. [H48] Hoeffding (1948). A class of statistics with asymptotically normal distribution.
   doi:10.1214/aoms/1177730196
.. [HSW01] Hoffman, Sen, Weinberg (2001). Within-cluster resampling. doi:10.1093/biomet/88.4.1121
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import arviz_stats as azs
import joblib
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import sparse, special, stats

import alikely
from alikely._base.arrays import Floats
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely.data.blocks import Block, blocks, cluster_numbers
from alikely.data.tables import one_answer_each
from alikely.errors.pairs import (
    COPIED,
    LEAST,
    Chain,
    Drawn,
    PairedErrors,
    divergence,
    label_cells,
    largest_divergence,
    log_gamma_shares,
    paired_errors,
    plug_in,
    stacked,
)
from alikely.inference.evaluation import evaluator, joint_errors_of, wrong_answers
from alikely.inference.process import PATTERNS, Prepared, dirichlet_draws
from alikely.metrics import Metric, errors
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT, Mixture

# Samplers that are not exact.
SAMPLERS = ("nuts", "gibbs", "moments", "strengths")
# Prior of agreement: half a joint error with agreement, half a joint error without.
MASS = 1.0
# Pseudocount of each label.
GIVEN = 0.5
CHAINS = 2
# Random choices of one response per repeated item: the chains of a result.
CHOICES = 4
WARM_UP, SWEEPS = 150, 250
# Most cells of pairs and classes in memory.
CELLS = 30_000
# Populations range from equal systems (0) over the drawn ones (1) to less similar ones.
FURTHEST = 1.75
# Power of a system's part in a label that its share is taken to, one step beyond: at the far end
# rows have next to nothing in common, so that every estimate lies among those simulated.
APART = 4.0
# Fractions of these spread evenly over [0, 1), together, too.
GOLDEN, PLASTIC = 0.6180339887498949, 0.7548776662466927
# Of three populations, one differs in all labels, one in frequent labels, one in some true classes.
KINDS = 3
GRID = np.linspace(0, 1, 401)
# Tail probability from which on only the wider limit is used: limits of 90% and more.
TAIL = 0.05
# Note for a limit beyond all populations.
UNBOUNDED = "errors do not bound it: a limit is that of rows without a common label"

# Any linear map of values of pairs (n, pair) to means of them (n, ...).
Combine = Callable[[NDArray[Any]], NDArray[Any]]


def chained(
    draws: NDArray[np.floating],
    table: xr.Dataset,
    metric: Metric,
    sampler: str,
    *,
    joint: bool = True,
    clustered: bool = False,
) -> xr.Dataset:
    """Arrange draws in four chains, for ArviZ."""
    shaped = draws.reshape(4, -1, table.sizes["pair"])
    return xr.Dataset(
        {metric.name: (("chain", "draw", "pair"), shaped)},
        coords={"pair": table["pair"].values},
        attrs={
            "sampler": sampler if sampler in SAMPLERS else "exact",
            "joint": int(joint),
            "clustered": int(clustered),
        },
    )


def agreement_draws(
    table: xr.Dataset,
    n_draws: int = 4_000,
    metric: Metric = MISCLASSIFICATION_AGREEMENT,
    rng: RandomState = None,
    cluster: str | None = None,
) -> NDArray[np.float32]:
    """Draw agreement on joint errors, with nominal coverage even for few joint errors.

    Weights of joint errors come from a Dirichlet process [F73]_ with Jeffreys' prior of a
    proportion [BCD01]_. Chance agreement is computed between different joint errors, as a
    U-statistic [H48]_.
    """
    if "response" not in table:
        raise ValueError(
            f"{metric.name} needs class labels, but this table has none; make the table with "
            "joint_correctness(..., labels=True)"
        )

    def prepare(block: Block, generator: np.random.Generator) -> Prepared:
        statistics, squares = _designs(block, generator)
        n_pairs, width = len(block.a), 1 + 2 * block.n_classes

        def values(weights: Floats) -> NDArray[np.floating]:
            # Sums over trials, (draw, pair, statistic).
            sums, own = (
                (design @ part.T).T.reshape(len(weights), n_pairs, -1)
                for design, part in ((statistics, weights), (squares, weights**2))
            )
            found = metric.value(sums) if metric.distinct is None else metric.distinct(sums, own)
            return np.asarray(found)

        return Prepared(values, n_pairs * (width + 2), block.shares()[:, 3].any(axis=1))

    return dirichlet_draws(prepare, table, n_draws, MASS, rng, cluster)


def _designs(block: Block, rng: np.random.Generator) -> list[sparse.csr_array]:
    """Contributions of trials and patterns to the statistics of pairs, and to sums of squares.

    Shapes are (pair * (1 + 2 * class), trial) and (pair * 2, trial).
    """
    n_pairs, n_trials, k = len(block.a), block.correct.shape[1], block.n_classes
    pair, trial, first, second, share = joint_errors_of(block)
    labels = _patterns(block, rng)
    first, second = (
        np.concatenate([given, labels[side].ravel()])
        for given, side in ((first, block.a), (second, block.b))
    )
    at, pattern = np.indices((n_pairs, PATTERNS)).reshape(2, -1)
    pair, trial = np.concatenate([pair, at]), np.concatenate([trial, n_trials + pattern])
    share = np.concatenate([share, np.ones(len(at))])
    width, size = 1 + 2 * k, n_trials + PATTERNS

    def design(
        values: list[Floats], rows: list[NDArray[np.intp]], trial: NDArray[np.intp]
    ) -> sparse.csr_array:
        columns = np.tile(trial, len(rows))
        shape = n_pairs * (width if len(rows) == 3 else 2), size
        matrix = sparse.csr_array(
            (np.concatenate(values), (np.concatenate(rows), columns)), shape=shape
        )
        matrix.eliminate_zeros()
        return matrix

    start = pair * width
    rows = [start, start + 1 + first, start + 1 + k + second]
    statistics = design([share * (first == second), share, share], rows, trial)
    # A trial with itself: all pairs of its first and second labels.
    met, own = np.unique(pair * size + trial, return_inverse=True)
    given = [
        sparse.csr_array((share, (own, label)), shape=(len(met), k)) for label in (first, second)
    ]
    alike = np.asarray(given[0].multiply(given[1]).sum(axis=1)).ravel()
    whole = np.asarray(np.bincount(own, share), dtype=np.float64) ** 2
    start, trial = met // size * 2, met % size
    return [statistics, design([alike, whole], [start, start + 1], trial)]


def _patterns(block: Block, rng: np.random.Generator) -> NDArray[np.intp]:
    """Labels of the prior (observer, pattern)."""
    given = block.response[wrong_answers(block)]
    frequency = np.bincount(given, minlength=block.n_classes) + GIVEN
    shape = (len(block.correct), PATTERNS)
    # Both observers of a pair give the common label with probability 1/2, else separate labels.
    follows = rng.random(shape) < np.sqrt(0.5)
    share = frequency / frequency.sum()
    common = rng.choice(block.n_classes, PATTERNS, p=share)
    others = np.where(np.arange(block.n_classes) == common[:, None], 0, share)
    steps = np.cumsum(others, axis=1)
    point = rng.random(shape) * steps[:, -1]
    own = (point[..., None] >= steps).sum(axis=-1)
    return np.where(follows, common, own)


# Error similarity.


class PairedDraws(NamedTuple):
    """Draws of the similarity of pairs."""

    values: NDArray[np.float32]
    model: xr.Dataset
    r_hat: Floats
    bounded: Floats
    populations: xr.Dataset


def paired_row_draws(
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    rng: RandomState = None,
    cluster: str | None = None,
    cache_dir: str | Path | None = None,
) -> PairedDraws:
    """Draw class-level error similarity, with quantiles that have nominal coverage.

    For repeated items, draws are pooled over several random selections of one response per item
    [HSW01]_.
    """
    if table.attrs.get("repeats") == "crossed":
        drawn = []
        for seed in seed_sequence(rng).spawn(CHOICES):
            choosing, drawing = seed.spawn(2)
            one = one_answer_each(table, np.random.default_rng(choosing))
            n_each = -(-n_draws // CHOICES)
            drawn.append(paired_row_draws(one, n_each, metric, drawing, cluster, cache_dir))
        return PairedDraws(
            np.concatenate([each.values for each in drawn]),
            xr.concat([each.model for each in drawn], dim="chain"),
            np.stack([each.r_hat for each in drawn]).max(axis=0),
            np.stack([each.bounded for each in drawn]).mean(axis=0),
            xr.concat([each.populations for each in drawn], dim="choice"),
        )
    n_pairs = table.sizes["pair"]
    sampling_seed, tying_seed = seed_sequence(rng).spawn(2)
    jobs, options = list(_jobs(table)), dict(metric.options)
    seeds = iter(sampling_seed.spawn(CHAINS * len(jobs)))
    # Without cache_dir nothing is saved.
    run = joblib.Memory(cache_dir, verbose=0).cache(_run)
    made_by = f"alikely {alikely.__version__}, {WARM_UP} + {SWEEPS} sweeps"
    found = in_parallel(
        run, [(data, options, next(seeds), made_by) for _, data in jobs for _ in range(CHAINS)]
    )
    ranks = _tied_ranks(table, n_draws, metric, tying_seed, cluster)
    populations = _no_populations(table, ranks)
    values = np.full((n_draws, n_pairs), np.nan, dtype=np.float32)
    posterior, copying, spread = np.full((3, CHAINS, SWEEPS, n_pairs), np.nan)
    bounded = np.full(n_pairs, np.nan)
    for at_pairs, data in jobs:
        runs = list(itertools.islice(found, CHAINS))
        for whole, name in ((posterior, "posterior"), (copying, "copying"), (spread, "spread")):
            whole[..., at_pairs] = np.stack([chain[name] for chain in runs])
        made = {name: np.concatenate([chain[name] for chain in runs]) for name in runs[0]}
        seen = _described(*_smoothed(data, **options))
        for name in ("in_frequent", "in_few"):
            made[name] = made[name] - seen[name]
            populations[name].values[:, at_pairs] = made[name]
        part = mixing(data.totals, options["mixture"])
        most = (data.weight * largest_divergence(part, options["base"])).sum(axis=-1)
        confidence, value = _limits(seen["estimate"], made, most)
        limits = _at(confidence, value, made["posterior"], ranks[:, at_pairs].T).T
        values[:, at_pairs] = errors.error_similarity(limits)
        bounded[at_pairs] = confidence[:, -2]
        for name in ("true", "estimate", "again", "posterior"):
            populations[name].values[:, at_pairs] = errors.error_similarity(made[name])
        for name, end in (("observed", seen["estimate"]), ("furthest", value[:, -1])):
            populations[name].values[at_pairs] = errors.error_similarity(end)
    dims = ("chain", "draw", "pair")
    similarity = errors.error_similarity(posterior)
    model = xr.Dataset(
        {"error_similarity": (dims, similarity), "copy_probability": (dims, copying)},
        coords={"pair": table["pair"].values},
    )
    r_hats = azs.rhat(xr.Dataset({"of_rows": (dims, similarity), "of_spread": (dims, spread)}))
    r_hat = np.fmax(r_hats["of_rows"].values, r_hats["of_spread"].values)
    return PairedDraws(values, model, r_hat, bounded, populations)


def _no_populations(table: xr.Dataset, ranks: Floats) -> xr.Dataset:
    """Populations for means, initialized with the order of draws."""
    n_draws, n_pairs = ranks.shape
    shape = (CHAINS * SWEEPS, n_pairs)
    kind = np.uint16 if n_draws <= np.iinfo(np.uint16).max else np.uint32
    names = ("true", "estimate", "again", "posterior", "in_frequent", "in_few")
    return xr.Dataset(
        {
            name: (("generalize_to", "pair"), np.full(shape, np.nan, dtype=np.float32))
            for name in names
        }
        | {name: ("pair", np.full(n_pairs, np.nan)) for name in ("observed", "furthest")}
        | {"order": (("sample", "pair"), (ranks * n_draws).astype(kind))},
        coords={"pair": table["pair"].values},
        attrs={"equal": 1.0},
    )


def _jobs(table: xr.Dataset) -> Iterator[tuple[NDArray[np.intp], PairedErrors]]:
    """Iterate over errors of some pairs, with their positions in the table."""
    places: list[NDArray[np.intp]] = []
    parts: list[PairedErrors] = []
    for at_pairs, data in _pieces(table):
        if parts and sum(part.agreed.size for part in parts) + data.agreed.size > CELLS:
            yield np.concatenate(places), stacked(parts)
            places, parts = [], []
        places.append(at_pairs)
        parts.append(data)
    if parts:
        yield np.concatenate(places), stacked(parts)


def _pieces(table: xr.Dataset) -> Iterator[tuple[NDArray[np.intp], PairedErrors]]:
    """Iterate over errors of pairs of one block, as many as fit into a job."""
    for block in blocks(table):
        wrong = block.wrong().any(axis=1)
        pairs = np.flatnonzero(wrong[block.a] | wrong[block.b])
        # Labels and classes are at most as many as errors.
        n_errors = int(block.wrong().sum(axis=1).max(initial=0))
        per_pair = min(block.n_classes**2, 2 * n_errors)
        step = max(1, CELLS // max(per_pair, 1))
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            yield block.rows.start + some, paired_errors(block, some)


def _run(
    data: PairedErrors, options: dict[str, Any], seed: np.random.SeedSequence, made_by: str
) -> dict[str, Floats]:
    """Run one chain of some pairs, and simulate populations near its draws."""
    chain = Chain(data, np.random.default_rng(seed))
    weight, part = data.weight, mixing(data.totals, options["mixture"])
    share = _more_frequent(data)
    found = []
    for _ in range(WARM_UP):
        chain.sweep()
    for number in range(SWEEPS):
        chain.sweep()
        drawn = chain.drawn()
        row_a, row_b = drawn.rows
        apart = (weight * divergence(row_a, row_b, part, options["base"])).sum(axis=-1)
        of_chain = {"posterior": apart, "spread": chain.log_spread, "copying": chain.copied_share()}
        found.append(of_chain | _simulated(chain, drawn, number, share, **options))
    return {name: np.array([each[name] for each in found]) for name in found[0]}


def _more_frequent(data: PairedErrors) -> Floats:
    """Proportion of a row's errors on labels more frequent than each label, (..., label)."""
    total = data.of_a + data.of_b
    order = np.argsort(-total, axis=-1, kind="stable")
    ordered = np.take_along_axis(total, order, -1)
    before = np.cumsum(ordered, axis=-1) - ordered
    share = np.empty(total.shape)
    np.put_along_axis(share, order, before / np.maximum(ordered.sum(axis=-1, keepdims=True), 1), -1)
    return share


def _smoothed(data: PairedErrors, **options: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Contribution of each label to the divergence, and which labels are frequent."""
    labels = label_cells(data)
    rest = [(0, 0), (0, 0), (0, labels.shape[-1] - data.agreed.shape[-1])]
    of_a, of_b = (np.pad(part, rest) for part in (data.of_a, data.of_b))
    return plug_in(of_a, of_b, labels, **options), np.pad(_more_frequent(data) < 0.5, rest)


def _described(by_label: Floats, frequent: NDArray[np.bool_]) -> dict[str, Floats]:
    """An estimate, with its parts from frequent labels and from few classes."""
    by_class = by_label.sum(axis=-1)
    # Next to 0 rounding may leave it below.
    total = np.maximum(by_class.sum(axis=-1), 0)
    whole = np.maximum(total, LEAST)
    return {
        "estimate": total,
        "in_frequent": (by_label * frequent).sum(axis=(-2, -1)) / whole,
        "in_few": ((by_class / whole[..., None]) ** 2).sum(axis=-1),
    }


def _simulated(
    chain: Chain,
    drawn: Drawn,
    number: int,
    share: Floats,
    alpha: float,
    mixture: Mixture,
    base: float,
) -> dict[str, Floats]:
    """Draw a population near the current draw of a chain, and one or two data sets from it."""
    rng, data = chain.rng, chain.data
    copied, *own = _moved(chain, drawn, number, share)
    row_a, row_b = drawn.part * copied + (1 - drawn.part) * np.stack(own)
    totals = data.totals
    truth = (data.weight * divergence(row_a, row_b, mixing(totals, mixture), base)).sum(axis=-1)

    def estimated() -> Floats:
        n_copies = rng.binomial(chain.both, chain.copying)
        copies = _multinomial(n_copies, copied, rng)
        errors_a, errors_b = (
            copies + _multinomial(total - n_copies, row, rng)
            for total, row in zip(totals, own, strict=True)
        )
        return plug_in(errors_a, errors_b, drawn.labels, alpha=alpha, mixture=mixture, base=base)

    by_label = estimated()
    frequent = np.zeros(by_label.shape, dtype=bool)
    frequent[..., : share.shape[-1]] = share < 0.5
    # Every other draw is sufficient.
    again = estimated().sum(axis=(-2, -1)) if number % 2 else np.full(len(truth), np.nan)
    return {"true": truth, "again": again} | _described(by_label, frequent)


def mixing(totals: NDArray[np.integer], mixture: Mixture) -> Floats | float:
    """Compute the weight of the first row in the mixture of two rows, (pair, class, 1)."""
    if mixture == "mean":
        return 0.5
    return np.asarray(((totals[0] + 0.5) / (totals[0] + totals[1] + 1))[..., None])


def _moved(chain: Chain, drawn: Drawn, number: int, share: Floats) -> tuple[Floats, ...]:
    """Rows of a draw, moved towards or away from their common part."""
    rng = chain.rng
    n_pairs, n_classes, n_cells = drawn.labels.shape
    # Rows of their own, apart from one another as single draws of these counts are: rows that were
    # drawn together may all be near what is common.
    spread = np.minimum(chain.concentration, COPIED * chain.n_labels)[..., None] * drawn.common
    pad = [(0, 0), (0, 0), (0, n_cells - share.shape[-1])]
    own = (log_gamma_shares(spread + np.pad(counts[..., :-1], pad), rng) for counts in chain.own)
    how_far = FURTHEST * (number * GOLDEN % 1)
    moves = np.ones((n_pairs, n_classes, n_cells))
    part = number * PLASTIC % 1
    if number % KINDS == 1:
        moves[..., : share.shape[-1]] = share < part
        moves[..., share.shape[-1] :] = 0
    elif number % KINDS == 2:
        moves *= (rng.random((n_pairs, n_classes)) < part)[..., None]
    towards = np.minimum(how_far, 1) * moves
    # Of equal systems all three are the same, however much of their errors is copied.
    copied, own_a, own_b = (
        drawn.common + towards * (row - drawn.common) for row in (drawn.copied, *own)
    )
    beyond = APART * max(how_far - 1, 0) * moves
    # Away from each other, in the labels that both give.
    share_a = np.divide(
        own_a, own_a + own_b, out=np.full(own_a.shape, 0.5), where=own_a + own_b > 0
    )
    rows = copied, own_a * share_a**beyond, own_b * (1 - share_a) ** beyond
    return tuple(row / np.maximum(row.sum(axis=-1, keepdims=True), LEAST) for row in rows)


def _multinomial(n: NDArray[np.int64], rows: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.multinomial(n, rows / np.maximum(rows.sum(axis=-1, keepdims=True), LEAST))


def _limits(
    estimate: Floats, made: Mapping[str, Floats], most: Floats, wider: Floats | float = 1.0
) -> tuple[Floats, Floats]:
    """Confidence levels and divergences of the confidence curve: (pair, point)."""
    wider = np.broadcast_to(wider, len(estimate))
    confidence, value = np.empty((2, len(estimate), len(GRID) + 1))
    for pair, (seen, end, width) in enumerate(zip(estimate, most, wider, strict=True)):
        one = {name: part[:, pair] for name, part in made.items()}
        confidence[pair], value[pair] = _curve(seen, one, end, width)
    return confidence, value


def _curve(
    seen: float, made: Mapping[str, Floats], most: float, wider: float
) -> tuple[Floats, Floats]:
    """Confidence curve of one pair, on a grid of divergences."""
    true, in_frequent, in_few = (made[name] for name in ("true", "in_frequent", "in_few"))
    root, top = np.sqrt(true), np.sqrt(true.max())
    u = root / top if top > 0 else root
    # Estimates of populations that are like the observed one alongside their divergence, too: where
    # these are 0, however much they matter.
    unlike = [part * u**power for power in range(3) for part in (in_frequent, in_few)]
    unlike += [in_frequent**2, in_few**2, in_frequent * in_few]
    design = np.column_stack([_powers(u), *unlike])
    target = np.sqrt(made["estimate"])
    slopes = np.linalg.lstsq(design, target, rcond=None)[0]
    # Mean absolute deviations of a normal variable are that much smaller than standard ones.
    apart = np.abs(target - design @ slopes) * np.sqrt(np.pi / 2)
    wide = np.linalg.lstsq(np.column_stack([np.ones_like(u), u**2]), apart, rcond=None)[0]
    expected = np.maximum.accumulate(_powers(GRID) @ slopes[:4])
    sd = wider * np.maximum(wide[0] + wide[1] * GRID**2, apart.mean() / 4)
    # An estimate below what equal systems would show is as one of equal systems.
    above = expected - max(np.sqrt(seen), expected[0])
    sure = special.ndtr(np.divide(above, sd, out=np.zeros_like(sd), where=sd > 0))
    return np.append(np.maximum.accumulate(sure), 1), np.append((GRID * top) ** 2, most)


def _powers(u: Floats) -> Floats:
    """Polynomial terms of the root of an expected estimate, (..., 4)."""
    return np.stack([np.ones_like(u), u**2, u**3, u**4], axis=-1)


def _at(confidence: Floats, value: Floats, posterior: Floats, probability: Floats) -> Floats:
    """Divergence quantiles at given probabilities; in the tails the wider of both limits."""
    out = np.empty(probability.shape)
    upper = np.clip((probability - TAIL) / (1 - 2 * TAIL), 0, 1)
    for pair, wanted in enumerate(probability):
        rising = np.flatnonzero(np.diff(confidence[pair], prepend=-1) > 0)
        both = (
            np.interp(wanted, confidence[pair][rising], value[pair][rising]),
            np.quantile(posterior[:, pair], wanted),
        )
        out[pair] = (1 - upper[pair]) * np.minimum(*both) + upper[pair] * np.maximum(*both)
    return out


def _tied_ranks(
    table: xr.Dataset,
    n_draws: int,
    metric: Metric,
    seed: np.random.SeedSequence,
    cluster: str | None,
) -> Floats:
    """Ranks of draws in (0, 1), correlated over pairs like estimates over items."""
    rng = np.random.default_rng(seed)
    total = np.zeros((n_draws, table.sizes["pair"]))
    slopes = [(block, np.nan_to_num(evaluator(block, metric).slopes())) for block in blocks(table)]
    if cluster is None:
        for block, slope in slopes:
            # Sums of normal multipliers are normal: only how they vary together matters.
            root = slope if len(slope) > slope.shape[1] else _root(slope @ slope.T)
            total[:, block.rows] = rng.standard_normal((n_draws, root.shape[1])) @ root.T
    else:
        of_trial = cluster_numbers(table, cluster)
        multipliers = rng.standard_normal((n_draws, int(of_trial.max(initial=-1)) + 1))
        for block, slope in slopes:
            total[:, block.rows] = multipliers[:, of_trial[block.trials]] @ slope.T
    # Without slopes, for example if all errors are equal, pairs are independent.
    loose = ~total.any(axis=0)
    total[:, loose] = rng.standard_normal((n_draws, int(loose.sum())))
    # Slopes are of the similarity, ranks of the divergence.
    return (stats.rankdata(-total, axis=0) - 0.5) / n_draws


def _root(covariance: Floats) -> Floats:
    size, axes = np.linalg.eigh(covariance)
    # The symmetric one: signs of axes are the linear algebra's own affair.
    return np.asarray((axes * np.sqrt(np.maximum(size, 0))) @ axes.T)


def mean_draws(populations: xr.Dataset, combine: Combine) -> tuple[Floats, Floats]:
    """Return draws whose quantiles are limits of means over pairs, and the highest finite level."""
    if "choice" in populations.dims:
        choices = range(populations.sizes["choice"])
        each = [mean_draws(populations.isel(choice=at), combine) for at in choices]
        return np.concatenate([one for one, _ in each]), np.mean([one for _, one in each], axis=0)
    equal = float(populations.attrs["equal"])

    def of(name: str) -> Floats:
        return populations[name].values.astype(np.float64)

    def mean(values: NDArray[Any]) -> Floats:
        out = np.asarray(combine(values), dtype=np.float64)
        return out.reshape(len(out), -1)

    true, seen, again = (equal - of(name) for name in ("true", "estimate", "again"))
    observed = equal - of("observed")[None]
    shape = combine(observed).shape[1:]
    order = populations["order"].values
    n_draws = len(order)
    # Single precision, of which quantiles of draws need less: there may be many pairs.
    score = special.ndtri((np.arange(n_draws) + 0.5) / n_draws).astype(np.float32)[order]
    spread, alike = _residuals(true, seen, again)
    # Common variation has the same sign in all pairs.
    rng = np.random.default_rng(0)
    bias = rng.standard_normal((n_draws, 1)) * mean((spread * np.sqrt(alike))[None])
    tied = mean(score * (spread * np.sqrt(1 - alike)).astype(np.float32)) + bias
    # Columns that follow one another by chance only, as data sets of pairs were simulated.
    score *= spread
    loose = mean(rng.permuted(score, axis=0)).std(axis=0)
    wider = np.divide(tied.std(axis=0), loose, out=np.ones_like(loose), where=loose > 0)
    ordered = np.sort(equal - populations["posterior"].values, axis=0)
    place = (np.arange(n_draws) * len(ordered) // n_draws)[order]

    here = np.maximum(mean(observed)[0], 0)
    there = np.flatnonzero(np.isfinite(here) & np.isfinite(tied).all(axis=0))
    values = np.full((n_draws, len(here)), np.nan)
    bounded = np.full(len(here), np.nan)
    if len(there):
        parts = {"true": true, "estimate": seen}
        parts |= {name: of(name) for name in ("in_frequent", "in_few")}
        made = {name: mean(part)[:, there] for name, part in parts.items()}
        most = mean(equal - of("furthest")[None])[0, there]
        confidence, value = _limits(here[there], made, most, wider[there])
        posterior = mean(np.take_along_axis(ordered, place, axis=0))[:, there]
        rank = tied[:, there].argsort(axis=0, kind="stable").argsort(axis=0)
        drawn = _at(confidence, value, posterior, (rank.T + 0.5) / n_draws)
        values[:, there] = equal - drawn.T
        bounded[there] = confidence[:, -2]
    return values.reshape(n_draws, *shape), bounded.reshape(shape)


def _residuals(true: Floats, seen: Floats, again: Floats) -> tuple[Floats, Floats]:
    """Standard deviation of estimates around each pair's curve, and fraction of populations."""
    n_pairs = true.shape[1]
    spread, alike = np.full((2, n_pairs), np.nan)
    # A pair without errors has no populations.
    twice = np.isfinite(again).any(axis=1)
    for pair in np.flatnonzero(np.isfinite(true).all(axis=0)):
        root = np.sqrt(np.maximum(true[:, pair], 0))
        design = _powers(root / max(root.max(), LEAST))
        first, second = (
            part[:, pair] - design @ np.linalg.lstsq(design[some], part[some, pair], rcond=None)[0]
            for part, some in ((seen, slice(None)), (again, twice))
        )
        spread[pair] = np.sqrt((first**2).mean())
        both = (first[twice] * second[twice]).mean()
        alike[pair] = np.clip(both / max(spread[pair] ** 2, LEAST), 0, 1)
    return spread, alike
