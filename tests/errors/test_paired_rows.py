"""Errors of pairs on shared items: counts, Gibbs sweeps, limits, and tests of equal rows."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

import alikely as al
from alikely.data.blocks import Block, blocks
from alikely.errors.draws import _tied_ranks
from alikely.errors.pairs import (
    Chain,
    PairedErrors,
    log_gamma_shares,
    paired_errors,
    plug_in,
    unseen_cells,
)
from alikely.errors.tables import equality, expected_by_class, log_bayes_factors
from alikely.inference.influence import covariance_of
from alikely.metrics import errors
from alikely.metrics.errors import error_similarity_metric
from generative.paired_errors import insert_true

OPTIONS: list[dict[str, Any]] = [
    {"alpha": 0.5, "mixture": "mean", "base": 2},
    {"alpha": 0.2, "mixture": "pooled", "base": np.e},
]


@functools.cache
def example() -> xr.Dataset:
    return al.data.joint_correctness(al.load_example(), labels=True)


def noise() -> Block:
    return list(blocks(example()))[-1]


def by_loop(block: Block) -> NDArray[np.int64]:
    """Errors (kind, pair, class, label): joint and equal, joint and different of both, single."""
    out = np.zeros((5, len(block.a), block.n_classes, block.n_classes), dtype=np.int64)
    wrong = block.wrong()
    for pair, (a, b) in enumerate(zip(block.a, block.b, strict=True)):
        for trial, true in enumerate(block.truth):
            labels = block.response[[a, b], trial]
            both = wrong[a, trial] and wrong[b, trial]
            if both and labels[0] == labels[1]:
                out[0, pair, true, labels[0]] += 1
                continue
            for side, of in enumerate((a, b)):
                if wrong[of, trial]:
                    out[(1 if both else 3) + side, pair, true, labels[side]] += 1
    return out


def packed(*dense: NDArray[np.int64]) -> PairedErrors:
    """Dense counts (pair, class, label) of errors in the order of `by_loop`."""
    seen = sum(dense) > 0
    order = np.argsort(~seen, axis=-1, kind="stable")
    width = int(seen.sum(axis=-1).max())
    parts = [np.take_along_axis(part, order, -1)[..., :width] for part in dense]
    return PairedErrors._make([*parts, (~seen).sum(axis=-1), np.arange(seen.shape[1])])


def test_counts_agree_with_dense_counts() -> None:
    block = noise()
    found, dense = paired_errors(block), by_loop(block)
    assert dense.sum() == dense[:, :, found.classes].sum()
    wanted = packed(*dense[:, :, found.classes])
    for one, other in zip(found[:5], wanted[:5], strict=True):
        np.testing.assert_array_equal(one, other)
    seen = (sum(dense)[:, found.classes] > 0).sum(axis=-1)
    np.testing.assert_array_equal(found.unseen, block.n_possible[:, None] - 1 - seen)


@pytest.mark.parametrize("options", OPTIONS)
def test_labels_add_up_to_the_divergence(options: dict[str, Any]) -> None:
    """Also if unused labels share cells."""
    block = noise()
    # Dense rows have all classes.
    block = block._replace(n_possible=np.full(len(block.a), block.n_classes))
    dense, data = by_loop(block), paired_errors(block)
    rows_a, rows_b = dense[0] + dense[1] + dense[3], dense[0] + dense[2] + dense[4]
    wanted = errors.error_divergence(rows_a, rows_b, **options)
    seen = (data.of_a + data.of_b > 0).astype(float)
    for rest in (unseen_cells(data.unseen), data.unseen[..., None].astype(float)):
        labels = np.concatenate([seen, rest], axis=-1)
        pad = [(0, 0), (0, 0), (0, rest.shape[-1])]
        both = (np.pad(part, pad) for part in (data.of_a, data.of_b))
        found = plug_in(*both, labels, **options).sum(axis=(-2, -1))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_proportions_of_small_parameters_are_dirichlet() -> None:
    """Compare moments, also if all gamma variates would underflow."""
    parameters = np.array([1e-4, 3e-4, 0.0, 6e-4])
    drawn = log_gamma_shares(np.tile(parameters, (20_000, 1)), np.random.default_rng(1))
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
    assert not drawn[:, 2].any()
    p = parameters / parameters.sum()
    np.testing.assert_allclose(drawn.mean(axis=0), p, rtol=0, atol=4 * 0.5 / np.sqrt(20_000))
    assert not log_gamma_shares(np.zeros((1, 3)), np.random.default_rng(1)).any()


def from_the_prior(
    n: int, both: int, alone: tuple[int, int], rng: np.random.Generator, k: int = 3, t: int = 2
) -> tuple[dict[str, NDArray[np.float64]], PairedErrors]:
    """Prior draws of the parameters of `alikely.errors.pairs`, and errors by item."""
    log_spread = np.log(np.abs(rng.normal(0, 2, n)))
    concentration = 1 / (np.exp(2 * (log_spread[:, None] + rng.normal(0, 0.15, (n, t)))) + 1e-6)
    log_base = rng.normal(0, 1.5, n)
    common = log_gamma_shares(np.tile(np.exp(log_base)[:, None, None], (1, t, k)), rng)
    own = [log_gamma_shares(k * concentration[..., None] * common, rng) for _ in range(2)]
    copied = log_gamma_shares(0.5 * k * common, rng)
    mean, sureness = rng.uniform(0, 1, n), np.exp(rng.normal(np.log(8), 1.5, n))
    copying = rng.beta((sureness * mean)[:, None], (sureness * (1 - mean))[:, None], (n, t))
    parts = np.zeros((5, n, t, k), dtype=np.int64)
    n_copies = rng.binomial(both, copying)
    parts[0] += rng.multinomial(n_copies, copied)
    pairs = own[0][..., :, None] * own[1][..., None, :]
    joint = rng.multinomial(both - n_copies, pairs.reshape(n, t, k * k)).reshape(n, t, k, k)
    same = np.diagonal(joint, axis1=-2, axis2=-1)
    parts[0] += same
    parts[1] += joint.sum(axis=-1) - same
    parts[2] += joint.sum(axis=-2) - same
    for place, (number, row) in enumerate(zip(alone, own, strict=True), start=3):
        parts[place] += rng.multinomial(np.full((n, t), number), row)
    truth = {"log_spread": log_spread, "log_base": log_base, "mean_copying": mean}
    return truth, packed(*parts)


@pytest.mark.slow
@pytest.mark.parametrize("alone", [(5, 20), (0, 0)])
def test_sweeps_are_calibrated(alone: tuple[int, int], sets: Callable[..., int]) -> None:
    """Ranks of true values among thinned draws are uniform."""
    n, ranked = sets(1_000), 19
    rng = np.random.default_rng(5)
    truth, data = from_the_prior(n, 15, alone, rng)
    chain = Chain(data, rng)
    below = dict.fromkeys(truth, np.zeros(n, dtype=int))
    for number in range(15 * (ranked + 1)):
        chain.sweep()
        if number >= 15 and number % 15 == 14:
            for name, value in truth.items():
                below[name] = below[name] + (getattr(chain, name) < value)
    for name, rank in below.items():
        counts = np.bincount(rank, minlength=ranked + 1)
        # Three quantities, two designs.
        assert stats.chisquare(counts).pvalue > 0.01 / 6, (name, counts)


def few_pairs() -> xr.Dataset:
    names = ("human_1", "human_2", "model_1", "model_2")
    trials = al.load_example().select(condition="noise", observer=names)
    return al.data.joint_correctness(trials, labels=True)


def test_draws_of_pairs_correlate_as_their_influences() -> None:
    table, metric = few_pairs(), al.metrics.get_metric("CLES")
    ranks = _tied_ranks(table, 4_000, metric, np.random.SeedSequence(3), None)
    wanted = covariance_of(table, metric, None, np.eye(table.sizes["pair"]))
    scale = np.sqrt(np.diag(wanted))
    # Rank correlations of a Gaussian copula, up to four standard errors of 4,000 draws.
    expected = 6 / np.pi * np.arcsin(wanted / np.outer(scale, scale) / 2)
    found = np.corrcoef(ranks, rowvar=False)
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 / np.sqrt(4_000))
    assert np.abs(expected - np.eye(len(expected))).max() > 0.1  # otherwise nothing is dependent
    np.testing.assert_allclose(np.sort(ranks, axis=0)[:, 0], (np.arange(4_000) + 0.5) / 4_000)


def brute_force(data: PairedErrors, items: list[tuple[int, int]], k: int) -> float:
    """Mean divergence over all exchanges of labels of equal systems, in one class."""
    agreed = data.agreed[0, 0].astype(float)
    alone = [
        *np.repeat(np.arange(k), data.alone_a[0, 0]),
        *np.repeat(np.arange(k), data.alone_b[0, 0]),
    ]
    n_a = int(data.alone_a.sum())
    found = []
    for swaps in itertools.product((0, 1), repeat=len(items)):
        for mine in itertools.combinations(range(len(alone)), n_a):
            rows = np.tile(agreed, (2, 1))
            for swap, item in zip(swaps, items, strict=True):
                rows[0, item[swap]] += 1
                rows[1, item[1 - swap]] += 1
            for place, label in enumerate(alone):
                rows[int(place not in mine), label] += 1
            one = plug_in(rows[:1], rows[1:], np.ones((1, k)), **OPTIONS[0])
            found.append(one.sum())
    return float(np.mean(found))


def test_expected_divergence_of_equal_rows_by_brute_force() -> None:
    items = [(0, 1), (1, 2), (0, 2)]
    k = 3
    agreed, alone_a, alone_b = np.array([4, 1, 0]), np.array([1, 0, 2]), np.array([0, 2, 1])
    apart = [np.bincount([item[side] for item in items], minlength=k) for side in (0, 1)]
    data = PairedErrors._make([
        *(part[None, None] for part in (agreed, *apart, alone_a, alone_b)),
        np.zeros((1, 1), dtype=int), np.zeros(1, dtype=int),
    ])  # fmt: skip
    found = expected_by_class(data, **OPTIONS[0])
    np.testing.assert_allclose(found, [[brute_force(data, items, k)]], rtol=1e-12)


def test_without_common_items_the_expectation_is_unpaired() -> None:
    """Without common items, the expectation is the mean over all assignments of labels."""
    rng = np.random.default_rng(6)
    rows = rng.multinomial(12, np.ones(3) / 3, (2, 4))
    none = np.zeros((1, 4, 3), dtype=np.int64)
    data = packed(none, none, none, rows[:1], rows[1:])
    both = insert_true(np.stack(list(rows)), 4)
    for options in OPTIONS:
        dealt = np.stack(
            [
                rng.multivariate_hypergeometric(rows[:, t].sum(axis=0), 12, size=4_000)
                for t in range(4)
            ],
            axis=1,
        )
        one = insert_true(dealt, 4)
        drawn = errors.error_divergence(one, both.sum(axis=0) - one, **options)
        found = expected_by_class(data, **options).sum()
        assert abs(drawn.mean() - found) < 4 * drawn.std() / np.sqrt(len(drawn))
    # Probability of the second row given the first, relative to the prior.
    factors = np.zeros(4)
    for t, (first, second) in enumerate(zip(*rows, strict=True)):
        for start, sign in ((first + 0.5, 1), (np.full(3, 0.5), -1)):
            state = start.astype(float)
            for response in np.repeat(np.arange(3), second):
                factors[t] += sign * np.log(state[response] / state.sum())
                state[response] += 1
    np.testing.assert_allclose(log_bayes_factors(data, 0.5)[0], factors, rtol=1e-12)


def trials_of(labels: NDArray[Any], truth: NDArray[Any]) -> xr.Dataset:
    trials = al.Trials.from_arrays(labels, truth)
    return al.data.joint_correctness(trials, labels=True)


@pytest.mark.slow
@pytest.mark.parametrize("power", [False, True])
def test_p_values_have_their_level(power: bool, sets: Callable[..., int]) -> None:
    """For equal systems, 5% of p-values are below 0.05 despite copying; others are rejected."""
    rng = np.random.default_rng(7)
    # A few data sets suffice for a proportion above 0.9.
    n_sets, n_items, copying = 25 if power else sets(400), 240, 0.8
    names = np.array(["ant", "bee", "cat", "dog"])
    truth = np.arange(n_items) % 4
    confused = np.array([0.6, 0.3, 0.1])
    other = confused[::-1] if power else confused
    p_values = []
    for _ in range(n_sets):
        given = []
        for share in (confused, other):
            shift = 1 + rng.choice(3, n_items, p=share)
            given.append(np.where(rng.random(n_items) < 0.5, truth, (truth + shift) % 4))
        copied = (given[0] != truth) & (given[1] != truth) & (rng.random(n_items) < copying)
        given[1] = np.where(copied, given[0], given[1])
        table = trials_of(names[np.array(given)], names[truth])
        p_values.append(equality(table, error_similarity_metric(), 199, rng)["p_equal"][0])
    share = np.mean(np.array(p_values) <= 0.05)
    if power:
        assert share > 0.9
    else:
        assert abs(share - 0.05) < 4 * np.sqrt(0.05 * 0.95 / n_sets)


def test_systems_without_errors_have_no_test() -> None:
    names = np.array(["ant", "bee", "cat"])
    truth = np.arange(12) % 3
    given = np.stack([names[truth], names[(truth + 1) % 3], names[truth]])
    found = equality(trials_of(given, names[truth]), error_similarity_metric(), 19, 1)
    assert np.isnan(found["p_equal"]).all()
    assert np.isnan(found["expected_divergence"]).tolist() == [False, True, False]
    assert equality(trials_of(given, names[truth]), error_similarity_metric(), 0, 1)
