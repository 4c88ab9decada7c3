"""Errors by true class and response: tables of pairs and conditions, and tests of equal rows.

If two systems with the same items have equal rows, their labels on joint errors are exchangeable
[PS10]_. Joint errors with the same label carry no information for this test, but lower the
divergence.

References
----------
.. [PS10] Pesarin, Salmaso (2010). Permutation tests for complex data. doi:10.1002/9780470689516
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.checks import known_kind
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_total
from alikely.data.blocks import LEFT_OUT, Block, blocks
from alikely.data.inclusion import refuse_inclusion
from alikely.data.repeats import condition_labels, refuse_repeats
from alikely.data.summaries import missing_note_of
from alikely.data.tables import answers, correctness
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.errors.pairs import PairedErrors, paired_errors, plug_in
from alikely.inference.evaluation import joint_errors_of
from alikely.inference.intervals import adjusted_p_values
from alikely.metrics import Metric, errors
from alikely.metrics.errors import ERROR_SIMILARITY, Mixture, drop_true, label_divergence

N_PERMUTATIONS = 999
# Tolerance of the number of copies among agreements.
EM_STEPS = 50
# Most labels of permutations in memory.
PERMUTED = 2_000_000
TINY = 1e-12


def agreement_of_classes(table: xr.Dataset) -> dict[str, tuple[str, NDArray[Any]]]:
    """Compute numbers of joint errors, and agreement expected from the true classes alone."""
    expected = np.full(table.sizes["pair"], np.nan)
    for block in blocks(table):
        k, found = block.n_classes, joint_errors_of(block)
        order = np.argsort(found.pair, kind="stable")
        starts = np.searchsorted(found.pair[order], np.arange(len(block.a) + 1))
        for p in range(len(block.a)):
            own = order[starts[p] : starts[p + 1]]
            true, share = block.truth[found.trial[own]] * k, found.share[own]
            rows = [
                np.bincount(true + label[own], share, minlength=k * k).reshape(k, k)
                for label in (found.first, found.second)
            ]
            expected[block.rows.start + p] = errors.expected_agreement(*rows)
    return {"n_joint_errors": ("pair", table["cells"].values[:, 3]), "expected": ("pair", expected)}


def error_counts(table: xr.Dataset) -> dict[str, tuple[Any, NDArray[Any]]]:
    """Count errors of each pair, for metrics of error rows."""
    # For repeated items: proportions of incorrect responses.
    count = np.zeros((2, table.sizes["pair"]), dtype=table["cells"].dtype)
    for block in blocks(table):
        n_errors = np.where(block.correct == LEFT_OUT, 0, 1 - block.correct).sum(axis=1)
        count[:, block.rows] = n_errors[block.a], n_errors[block.b]
    return {
        "n_joint_errors": ("pair", table["cells"].values[:, 3]),
        "n_errors_a": ("pair", count[0]),
        "n_errors_b": ("pair", count[1]),
    }


def class_comparison(
    table: xr.Dataset, *, alpha: float, mixture: Mixture, base: float
) -> dict[str, tuple[Any, NDArray[Any]]]:
    """Compute divergences of pairs, in total and by true class."""
    n_pairs, k = table.sizes["pair"], table.sizes["class"]
    divergence, by_class = np.full(n_pairs, np.nan), np.full((n_pairs, k), np.nan)
    count = np.zeros((2, n_pairs, k), dtype=np.int64)
    options: dict[str, Any] = {"alpha": alpha, "mixture": mixture, "base": base}
    for block in blocks(table):
        data = paired_errors(block)
        # A true class contributes its divergence times its proportion of errors.
        rows, labels = data.with_rest()
        added = plug_in(rows[0], rows[1], labels, **options).sum(axis=-1)
        share = rows.sum(axis=(0, -1)).astype(np.float64)
        with np.errstate(invalid="ignore"):
            share /= share.sum(axis=-1, keepdims=True)
            each = added / np.where(share > 0, share, np.nan)
        at = np.arange(block.rows.start, block.rows.stop)[:, None], data.classes
        by_class[at] = each
        divergence[block.rows] = np.where(np.isnan(share).any(axis=-1), np.nan, added.sum(axis=-1))
        count[:, *at] = data.totals
    both = ("pair", "class")
    return {
        "n_joint_errors": ("pair", table["cells"].values[:, 3]),
        "n_errors_a": ("pair", count[0].sum(axis=1)),
        "n_errors_b": ("pair", count[1].sum(axis=1)),
        "divergence": ("pair", divergence),
        "class_divergence": (both, by_class),
        "class_errors_a": (both, count[0]),
        "class_errors_b": (both, count[1]),
    }


def condition_divergences(
    trials: Trials,
    *,
    kind: str = "human",
    no_response: Literal["error", "drop"] = "error",
) -> xr.Dataset:
    """Compute the class-level error divergence (CLED) between conditions [X25]_.

    The errors of all observers of one kind are pooled. Conditions need not share images.

    Parameters
    ----------
    trials : Trials
        Responses with class labels.
    kind : str
        Kind of observer whose errors are pooled.
    no_response : {"error", "drop"}
        Whether to count a missing response as an error with a separate label, or to drop it.

    Returns
    -------
    xarray.Dataset
        Conditions are named ``dataset:condition``; the coordinate ``dataset`` gives the data set of
        each condition.

        - ``divergence`` (condition, condition_other): divergence in bits, 0 to 1
        - ``expected``: expected divergence between two samples from the same distribution, with the
          observed number of errors for each class; at least 0
        - ``excess``: ``divergence`` minus ``expected``
        - ``undefined``: the reason if values are NaN; otherwise empty
        - ``n_errors`` (condition): number of errors

    Raises
    ------
    ValueError
        If there are no observers of kind `kind`, or a condition was shown to none of these
        observers.
    ValueError
        If there are fewer than two conditions, if items are repeated, or if only correctness is
        known.

    Notes
    -----
    Divergences also depend on the number of errors. ``excess`` is the part that is not explained by
    chance; use it if conditions differ in difficulty. If a class has no errors in one of the two
    conditions, its divergence is set to the value expected by chance. A class in which neither
    condition has errors has weight 0. ``expected`` is undefined on the diagonal, where
    ``divergence`` is 0. Conditions in the same data set often share participants, which can make
    errors in these conditions more similar.

    Examples
    --------
    >>> import alikely as al
    >>> found = condition_divergences(al.load_example())
    >>> found["condition"].values.tolist(), found["n_errors"].values.tolist()
    (['all:clean', 'all:blur', 'all:noise'], [16, 125, 248])
    >>> noise = found.sel(condition="all:blur", condition_other="all:noise")
    >>> noise["divergence"].round(3).item(), noise["expected"].round(3).item()
    (0.099, 0.1)
    """
    data = trials.data
    known_kind("kind", kind, data["kind"].values)
    every, number = condition_labels(data)
    data = trials.select(kind=kind).data
    _refuse_unseen(trials, every, number, kind)
    names, condition = condition_labels(data)
    if len(names) < 2:
        raise ValueError(f"divergences need at least two conditions, got only {names[0]!r}")
    refuse_inclusion(data, "comparing conditions")
    refuse_repeats(data, "comparing conditions")
    correct = correctness(data["correct"].values, no_response)
    given = answers(data, correct)
    k = len(given["class"])
    observer, trial = np.nonzero(correct == 0)
    code = (condition[trial] * k + given["truth"][1][trial]) * k
    code += given["response"][1][observer, trial]
    rows = np.bincount(code, minlength=len(names) * k * k).reshape(-1, k, k)

    divergence, expected = np.full((2, len(names), len(names)), np.nan)
    a, b = np.tril_indices(len(names))
    divergence[a, b] = divergence[b, a] = errors.error_divergence(rows[a], rows[b])
    for one, two in itertools.combinations(range(len(names)), 2):
        expected[one, two] = expected[two, one] = _expected(rows[one], rows[two])
    undefined = np.full(divergence.shape, "", dtype=object)
    undefined[~np.isfinite(divergence)] = "no error in either condition"
    np.fill_diagonal(undefined, "a condition is not a second sample of itself")
    of_dataset = data["dataset"].values.astype(object)
    sides = ("condition", "condition_other")
    return xr.Dataset(
        {
            "divergence": (sides, divergence),
            "expected": (sides, expected),
            "excess": (sides, divergence - expected),
            "undefined": (sides, undefined),
            "n_errors": ("condition", rows.sum(axis=(1, 2))),
        },
        coords={
            "condition": names,
            "condition_other": names,
            "dataset": ("condition", of_dataset[np.unique(condition, return_index=True)[1]]),
        },
        attrs={
            "kind": kind,
            "no_response": no_response,
            "missing_note": missing_note_of(data, no_response),
        },
    )


def _expected(one: Floats, other: Floats) -> float:
    """Expected divergence of two samples from one distribution; NaN without errors."""
    of_one, of_other = (drop_true(rows).astype(np.int64)[None] for rows in (one, other))
    seen, none = of_one + of_other > 0, np.zeros_like(of_one)
    unseen, classes = (~seen).sum(axis=-1), np.arange(len(one))
    data = PairedErrors(none, none, none, of_one, of_other, unseen, classes)
    found = expected_by_class(data, **ERROR_SIMILARITY.options).sum()
    return float(found) if seen.any() else np.nan


def _refuse_unseen(trials: Trials, names: list[str], number: NDArray[np.intp], kind: str) -> None:
    data = trials.data
    shown = (data["correct"].values[data["kind"].values == kind] != NOT_SHOWN).any(axis=0)
    unseen = np.setdiff1d(np.arange(len(names)), number[shown])
    if len(unseen):
        trial = int(np.argmax(number == unseen[0]))
        dataset, condition = (str(data[name].values[trial]) for name in ("dataset", "condition"))
        raise ValueError(
            f"no observer of kind {kind!r} saw condition {names[unseen[0]]!r} ({len(unseen)} such "
            "conditions); leave it out: "
            f"alikely.exclude_conditions(trials, {{{dataset!r}: [{condition!r}]}})"
        )


# Tests of equal rows.


def equality(
    table: xr.Dataset, metric: Metric, n_permutations: int = N_PERMUTATIONS, rng: RandomState = None
) -> dict[str, NDArray[np.float64]]:
    """Test whether the error rows of each pair are equal.

    Returns arrays (pair,): expected divergence, log Bayes factor (nats, positive for equal rows),
    p-value and adjusted p-value; also the log Bayes factor of each class. Values are NaN for pairs
    without errors.
    """
    check_total({"n_permutations": n_permutations})
    n_pairs = table.sizes["pair"]
    expected, p_equal = np.full((2, n_pairs), np.nan)
    by_class = np.zeros((n_pairs, table.sizes["class"]))
    groups = list(blocks(table))
    jobs = [
        (block, metric.options, n_permutations, seed)
        for block, seed in zip(groups, seed_sequence(rng).spawn(len(groups)), strict=True)
    ]
    for block, found in zip(groups, in_parallel(_of_block, jobs), strict=True):
        classes, expected[block.rows], by_class[block.rows, classes], p_equal[block.rows] = found
    factor = by_class.sum(axis=1)
    none = np.isnan(expected)
    factor[none] = by_class[none] = np.nan
    return {
        "expected_divergence": expected,
        "log_bayes_factor": factor,
        "class_log_bayes_factor": by_class,
        "p_equal": p_equal,
        "p_equal_adjusted": adjusted_p_values(p_equal),
    }


def _of_block(
    block: Block, options: Any, n_permutations: int, seed: np.random.SeedSequence
) -> tuple[NDArray[np.intp], Floats, Floats, Floats]:
    """Classes with errors, expected divergence, log Bayes factor by class, and p-value."""
    data = paired_errors(block)
    expected = expected_by_class(data, **options).sum(axis=1)
    n_a, n_b = data.totals.sum(axis=-1)
    p_equal = np.full(len(n_a), np.nan)
    if n_permutations:
        rng = np.random.default_rng(seed)
        for pair in np.flatnonzero((n_a > 0) & (n_b > 0)):
            p_equal[pair] = _p_equal(block, data, int(pair), options, n_permutations, rng)
    factors = log_bayes_factors(data, options["alpha"])
    return data.classes, np.where(n_a + n_b == 0, np.nan, expected), factors, p_equal


def expected_by_class(
    data: PairedErrors, *, alpha: float, mixture: Mixture, base: float
) -> NDArray[np.float64]:
    """Compute the expected divergence of equal error rows, given the sufficient statistics."""
    options: dict[str, Any] = {"alpha": alpha, "mixture": mixture, "base": base}
    of_a, of_b = data.of_a, data.of_b
    n_a, n_b = of_a.sum(axis=-1), of_b.sum(axis=-1)
    k = (of_a + of_b > 0).sum(axis=-1) + data.unseen
    n_alone = data.alone_a.sum(axis=-1), data.alone_b.sum(axis=-1)
    at = np.nonzero(of_a + of_b)
    row = at[:2]
    agreed, tossed, here = (
        part[at] for part in (data.agreed, data.apart_a + data.apart_b, data.alone_a + data.alone_b)
    )
    drawn, pool = n_alone[0][row], n_alone[0][row] + n_alone[1][row]
    added = np.zeros(len(agreed))
    # Labels with equal numbers of errors are computed together.
    kinds, kind = np.unique(np.stack([tossed, here]), axis=1, return_inverse=True)
    order, sizes = np.argsort(kind.ravel(), kind="stable"), np.bincount(kind.ravel())
    for (coins, cards), end, n in zip(kinds.T, np.cumsum(sizes), sizes, strict=True):
        some = order[end - n : end]
        mass = _tossed_and_dealt(int(coins), int(cards), drawn[some], pool[some])
        got = agreed[some, None] + np.arange(mass.shape[1])
        rest = (2 * agreed[some] + coins + cards)[:, None] - got
        given = (part[row][some, None] for part in (n_a, n_b, k))
        added[some] = (mass * label_divergence(got, rest, *given, **options)).sum(axis=1)
    nothing = np.zeros(k.shape)
    out = data.unseen * label_divergence(nothing, nothing, n_a, n_b, np.maximum(k, 1), **options)
    np.add.at(out, row, added)
    total = (n_a + n_b).astype(np.float64)
    whole = total.sum(axis=1, keepdims=True)
    return np.asarray(out * np.divide(total, whole, out=np.zeros_like(total), where=whole > 0))


def _tossed_and_dealt(
    tossed: int, here: int, drawn: NDArray[np.integer], pool: NDArray[np.integer]
) -> Floats:
    """Probabilities of 0, 1, ... labels for `a`, (row, number)."""
    coins = stats.binom.pmf(np.arange(tossed + 1), tossed, 0.5)
    if not here:
        return np.broadcast_to(coins, (len(drawn), len(coins)))
    cards = stats.hypergeom.pmf(np.arange(here + 1), pool[:, None], here, drawn[:, None])
    return np.stack([np.convolve(coins, row) for row in cards]) if tossed else cards


def _p_equal(
    block: Block,
    data: PairedErrors,
    pair: int,
    options: Any,
    n_permutations: int,
    rng: np.random.Generator,
) -> float:
    """Proportion of permutations, including the data, with at least the observed divergence."""
    one = data.take(np.array([pair]))
    of_a, of_b = one.of_a[0], one.of_b[0]
    true, label = np.nonzero(of_a + of_b)
    # Neither what both gave of a label changes, nor how many errors a system made on a class: what
    # a label adds depends on the number that falls to `a`.
    most = (of_a + of_b)[true, label]
    first = np.cumsum(most + 1) - most - 1
    got = np.arange(len(first) + most.sum()) - np.repeat(first, most + 1)
    n_a, n_b = of_a.sum(axis=-1), of_b.sum(axis=-1)
    k = (of_a + of_b > 0).sum(axis=-1) + one.unseen[0]
    of_cell = np.repeat(true, most + 1)
    adds = (n_a + n_b)[of_cell] * label_divergence(
        got, np.repeat(most, most + 1) - got, n_a[of_cell], n_b[of_cell], k[of_cell], **options
    )
    here = adds[first + of_a[true, label]].sum()
    step = max(1, PERMUTED // max(len(true), 1))
    more = 0
    for start in range(0, n_permutations, step):
        counts = _permuted(block, one, pair, min(step, n_permutations - start), rng)
        under = adds[first + counts[:, true, label]].sum(axis=-1)
        # Equal values may differ by rounding.
        more += int((under >= here * (1 - 1e-9) - TINY).sum())
    return (1 + more) / (1 + n_permutations)


def _permuted(
    block: Block, one: PairedErrors, pair: int, n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Errors of `a` after permutation of exchangeable labels: (n, class, cell)."""
    counts = np.tile(one.agreed, (n, 1, 1))
    pool, n_alone = (one.alone_a + one.alone_b)[0], one.alone_a[0].sum(axis=-1)
    for row in np.flatnonzero(pool.sum(axis=-1)):
        there = np.flatnonzero(pool[row])
        counts[:, row, there] += rng.multivariate_hypergeometric(
            pool[row, there], n_alone[row], size=n, method="marginals"
        )
    of_a, of_b = _apart(block, one, pair)
    given = np.where(rng.random((n, len(of_a))) < 0.5, of_a, of_b)
    width = counts[0].size
    at = np.arange(n)[:, None] * width + given
    return counts + np.bincount(at.ravel(), minlength=n * width).reshape(counts.shape)


def _apart(block: Block, one: PairedErrors, pair: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Cells of both labels of each joint error with different labels."""
    k, sides = block.n_classes, (block.a[pair], block.b[pair])
    wrong = [block.correct[side] == 0 for side in sides]
    codes = [block.truth.astype(np.intp) * k + block.response[side] for side in sides]
    cells = np.unique(np.concatenate([c[w] for c, w in zip(codes, wrong, strict=True)]))
    row = np.searchsorted(one.classes, cells // k)
    place = row * one.agreed.shape[-1] + np.arange(len(cells)) - np.searchsorted(row, row)
    items = wrong[0] & wrong[1] & (codes[0] != codes[1])
    of_a, of_b = (place[np.searchsorted(cells, c[items])] for c in codes)
    return of_a, of_b


def log_bayes_factors(data: PairedErrors, alpha: float) -> NDArray[np.float64]:
    """Compute the log Bayes factor of equal against independent rows, without copied errors."""
    copies = _copies(data, alpha)
    k = (data.of_a + data.of_b > 0).sum(axis=-1) + data.unseen

    def evidence(counts: Floats) -> Floats:
        terms = (special.gammaln(counts + alpha) - special.gammaln(alpha)).sum(axis=-1)
        n = counts.sum(axis=-1)
        return np.asarray(terms + special.gammaln(alpha * k) - special.gammaln(n + alpha * k))

    one, other = data.of_a - copies, data.of_b - copies
    return evidence(one + other) - evidence(one) - evidence(other)


def _copies(data: PairedErrors, alpha: float) -> Floats:
    """Expected numbers of copies among agreements, by the EM algorithm."""
    k = ((data.of_a + data.of_b > 0).sum(axis=-1) + data.unseen)[..., None]
    both = np.maximum(data.both, 1)[..., None]
    copies = data.agreed / 2
    for _ in range(EM_STEPS):
        n = copies.sum(axis=-1, keepdims=True)
        share = n / both
        copied = (copies + alpha) / (n + alpha * k)
        own = data.of_a + data.of_b - 2 * copies
        row = (own + alpha) / (own.sum(axis=-1, keepdims=True) + alpha * k)
        by_copy, by_chance = share * copied, (1 - share) * row**2
        copies = data.agreed * by_copy / np.maximum(by_copy + by_chance, 1e-300)
    return np.asarray(copies)
