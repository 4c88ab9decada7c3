"""Repeated items: every method treats them as one unit."""

from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

import alikely as al
from alikely._base import notes
from alikely.data.blocks import blocks
from alikely.inference.evaluation import evaluator
from alikely.inference.independence import permutation_p
from alikely.inference.influence import covariance_of, estimate
from alikely.inference.resampling import bca_of_table

Right = NDArray[Any]
QUICK: dict[str, Any] = {"n_resamples": 500, "n_draws": 400, "rng": 1}


@pytest.fixture(autouse=True)
def few_data_sets_of_tests() -> Iterator[None]:
    with al.options(n_null=200):
        yield


def presentations(answers: list[Right], **columns: Any) -> al.Trials:
    """Trials of observers (item, repeat), with different numbers of repeats."""
    n_items, most = len(answers[0]), max(each.shape[1] for each in answers)
    right = np.ma.masked_all((len(answers), most * n_items), dtype=float)
    for observer, own in enumerate(answers):
        right[observer, : own.size] = own.T.ravel()
    return al.Trials.from_correct(
        right,
        item=np.tile(np.arange(n_items), most),
        repeat=np.repeat(np.arange(most), n_items),
        **columns,
    )


def test_responses_are_crossed_and_items_weigh_equally() -> None:
    """By hand: two items, with one response of the first observer and two of the second."""
    trials = presentations([np.array([[1], [0]]), np.array([[1, 0], [0, 0]])])
    table = al.data.joint_correctness(trials, repeats="crossed")
    # Item 0 adds 1/2 to n11 and to n10; item 1 adds 1 to n00.
    np.testing.assert_allclose(table["cells"].values, [[0.5, 0.5, 0, 1]])
    assert table.sizes["trial"] == 2
    # Without crossing, pairs follow the order of trials, and the second response is lost.
    paired = al.data.joint_correctness(trials)
    assert paired["cells"].values.tolist() == [[1, 0, 0, 1]]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 4))
def test_cells_are_means_over_all_pairs_of_responses(seed: int, n_a: int, n_b: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, (9, n_a)), rng.integers(0, 2, (9, n_b))
    table = al.data.joint_correctness(presentations([a, b]), repeats="crossed")
    expected = np.zeros(4)
    for i in range(9):
        for one in a[i]:
            for other in b[i]:
                expected[3 - 2 * one - other] += 1 / (n_a * n_b)
    np.testing.assert_allclose(table["cells"].values[0], expected, atol=1e-12)
    (block,) = blocks(table)
    np.testing.assert_allclose(block.shares().sum(axis=2), table["cells"].values, atol=1e-12)


def test_identical_repeats_add_nothing_in_any_method() -> None:
    """Five equal responses to each item give the same intervals as one."""
    right = np.random.default_rng(1).random((3, 60)) < 0.7
    once = al.error_consistency(al.Trials.from_correct(right), **QUICK).summary(intervals="all")
    trials = presentations([np.repeat(own[:, None], 5, axis=1) for own in right])
    often = al.error_consistency(trials, **QUICK).summary(intervals="all")
    same = ["n_trials", "estimate", "se", "analytic_ci95_lb"]
    np.testing.assert_allclose(often[same], once[same], rtol=1e-5)
    # Weights of units have another order: 4 Monte Carlo errors of a difference of two 2.5%
    # quantiles.
    for name, n in (("bootstrap_eti95_lb", 500), ("posterior_eti95_lb", 400)):
        error = 4 * np.sqrt(2 * 0.025 * 0.975 / n) / 0.058 * once["se"]
        assert (np.abs(often[name] - once[name]) < error).all()
    assert "p_fisher" not in often
    assert (often["note"] == once["note"]).all()


def test_all_methods_agree_on_noisy_responses() -> None:
    """Compare the three standard errors for 400 items with unequal repeats."""
    rng = np.random.default_rng(3)
    common = rng.standard_normal(400)
    answers = [
        (common + rng.standard_normal(400))[:, None] + 1.5 * rng.standard_normal((400, n)) < 1
        for n in (1, 3, 5)
    ]
    options: dict[str, Any] = {"n_resamples": 4000, "n_draws": 4000, "rng": 1}
    result = al.error_consistency(presentations(answers), **options)
    se = result.estimates["se"].values
    for method in ("bootstrap", "posterior"):
        # A standard deviation of 4,000 draws, and terms of order 1 / N.
        room = 4 / np.sqrt(2 * 4000) + 4 / 400
        np.testing.assert_allclose(result.draws(method).std(axis=0), se, rtol=room)
    matrix = covariance_of(result.table, result.metric, None, np.eye(len(se)))
    np.testing.assert_allclose(np.sqrt(np.diag(matrix)), se)
    replicated = np.corrcoef(result.draws("bootstrap").T)
    expected = matrix / np.outer(se, se)
    np.testing.assert_allclose(replicated, expected, atol=4 / np.sqrt(4000))
    bounds = bca_of_table(result.table, result.draws("bootstrap"), al.metrics.ERROR_CONSISTENCY)
    assert (bounds[:, 0] < result.estimates["estimate"].values).all()


def in_two_modalities(right: Right, other: Right | None = None, **columns: Any) -> al.Trials:
    again = right if other is None else other
    n = right.shape[1]
    return al.Trials.from_correct(
        np.concatenate([right, again], axis=1),
        item=[*range(n)] * 2,
        condition=["ct"] * n + ["mri"] * n,
        **columns,
    )


def test_equal_modalities_have_an_exact_difference() -> None:
    right = np.random.default_rng(1).random((2, 80)) < 0.7
    result = al.error_consistency(in_two_modalities(right), **QUICK)
    assert result.data.attrs["cluster"] == "item"
    # Within a condition each item occurs once, so Fisher's test is valid.
    assert result.summary(columns=["p_fisher"])["p_fisher"].notna().all()
    one, other = result.data["estimates"]["pair"].values
    found = al.difference(result, one, other, intervals="all")
    np.testing.assert_allclose(found.loc["bootstrap", ["estimate", "se"]].astype(float), 0)
    np.testing.assert_allclose(found.loc["analytic", ["estimate", "center"]].astype(float), 0)
    for method in ("analytic", "posterior"):
        assert found.loc[method, "note"] == notes.told(notes.note("prior-alone"))
    assert result.draws("bootstrap").std() > 0
    np.testing.assert_allclose(np.ptp(result.draws("bootstrap"), axis=1), 0, atol=1e-6)
    # Only prior patterns differ between modalities, and determine the posterior's width.
    left = np.diff(result.draws("posterior"), axis=1).std()
    # A prior of 2 and 80 items in each modality, times the largest influence.
    cells = result.table["cells"].values
    most = np.abs(al.metrics.ERROR_CONSISTENCY.influence(cells)).max()
    assert 0 < left < 2 * 2 / 82 * most


def test_items_of_two_pooled_conditions_are_one_unit() -> None:
    right = np.random.default_rng(2).random((2, 80)) < 0.7
    once = al.error_consistency(al.Trials.from_correct(right), **QUICK).summary()
    pooled = al.error_consistency(in_two_modalities(right), by=None, **QUICK).summary()
    np.testing.assert_allclose(pooled["se"], once["se"])
    # Four Monte Carlo errors of the difference of two medians of 400 normal draws.
    error = 4 * np.sqrt(np.pi / 400) * once["se"].item()
    np.testing.assert_allclose(pooled["posterior_median"], once["posterior_median"], atol=error)
    assert not pooled["note"].str.contains("ignores the clusters").any()
    assert "p_fisher" not in pooled


def test_permutations_of_items_against_all_of_them() -> None:
    """Compare with all permutations of 5 items."""
    import itertools

    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 2, (5, 3)), rng.integers(0, 2, (5, 2))
    table = al.data.joint_correctness(presentations([a, b]), repeats="crossed")
    share_a, share_b = a.mean(axis=1), b.mean(axis=1)
    sums = np.array([share_a @ share_b[list(order)] for order in itertools.permutations(range(5))])
    # Error consistency is linear in the overlap, given both accuracies.
    middle = share_a.mean() * share_b.mean() * 5
    exact = np.mean(np.abs(sums - middle) >= abs(share_a @ share_b - middle) - 1e-9)
    n = 20_000
    found = permutation_p(table, n_permutations=n, rng=1)[0]
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / n) + 2 / n)


def labeled(rng: np.random.Generator, n_items: int, n_repeats: int) -> al.Trials:
    truth = rng.integers(0, 4, n_items)
    response = np.where(
        rng.random((2, n_repeats, n_items)) < 0.5,
        truth,
        rng.integers(0, 4, (2, n_repeats, n_items)),
    )
    return al.Trials.from_arrays(
        response.reshape(2, -1),
        np.tile(truth, n_repeats),
        item=np.tile(np.arange(n_items), n_repeats),
        repeat=np.repeat(np.arange(n_repeats), n_items),
    )


@pytest.mark.parametrize("name", ["misclassification_agreement", "error_similarity"])
def test_labels_of_repeated_items_equal_all_pairs_of_responses(name: str) -> None:
    trials = labeled(np.random.default_rng(1), 60, 2)
    response = trials.data["response"].values.reshape(2, 2, 60)
    names, truth = trials.data["class"].values, trials.data["truth"].values[:60]
    meetings = [(response[0, k], response[1, m]) for k in (0, 1) for m in (0, 1)]
    both = [np.concatenate(side) for side in zip(*meetings, strict=True)]
    alone = al.Trials.from_arrays(names[np.stack(both)], names[np.tile(truth, 4)])
    # Four pairs have weight 1/4 each, so smoothing of 2 there is 1/2 here.
    smooth = {"alpha": 2.0} if name == "error_similarity" else {}
    own = al.metrics.get_metric(name, **smooth)
    expected = al.compare(alone, own, n_resamples=0, n_draws=0).estimates["estimate"].values
    table = al.data.joint_correctness(trials, labels=True, repeats="crossed")
    metric = al.metrics.get_metric(name)
    np.testing.assert_allclose(estimate(table, metric)["estimate"], expected)
    # Slopes are derivatives by the weight of each item, minus their mean.
    (block,) = blocks(table)
    ready, step = evaluator(block, metric), 1e-4
    up, down = (ready.values(1 + sign * step * np.eye(60))[:, 0] for sign in (1, -1))
    slopes = (up - down) / (2 * step)
    np.testing.assert_allclose(ready.slopes()[0], slopes - slopes.mean(), atol=1e-6)
    se = estimate(table, metric)["se"].values[0]
    assert se == pytest.approx(np.linalg.norm(ready.slopes()[0]))


def counterbalanced() -> al.Trials:
    """Two lists of 20 items, each seen by two observers; a fifth observer saw both."""
    right = np.ma.masked_array(np.random.default_rng(1).random((5, 40)) < 0.7)
    right[:2, 20:] = np.ma.masked
    right[2:4, :20] = np.ma.masked
    return al.Trials.from_correct(right)


def test_pairs_without_a_common_trial_have_a_note() -> None:
    result = al.error_consistency(counterbalanced(), **QUICK)
    table = result.summary()
    apart = table["n_trials"] == 0
    assert apart.sum() == 4
    assert table.loc[apart, "estimate"].isna().all()
    assert table.loc[~apart, "estimate"].notna().all()
    assert table.loc[apart, "note"].str.contains("trial").all()
    assert "4 of them without a common trial" in repr(result)
    found = al.mean(result)
    assert found["note"].str.startswith("4 of 10 comparisons have no common trials").all()
    assert found["estimate"]["analytic"] == pytest.approx(table.loc[~apart, "estimate"].mean())
    assert np.isfinite(found[["estimate", "se"]]).all().all()


def test_an_item_with_several_truths_raises_an_error() -> None:
    truth = np.array(["cat", "dog"])[np.random.default_rng(1).integers(0, 2, 50)]
    rows: dict[str, Any] = {"item": [*range(50)] * 2, "condition": ["a"] * 50 + ["b"] * 50}
    other = truth.copy()
    other[7] = "cat" if truth[7] == "dog" else "dog"
    both = np.concatenate([truth, other])
    trials = al.Trials.from_arrays([both, both[::-1]], both, **rows)
    with pytest.raises(ValueError, match=r"item '7' of data set 'all' has several truths"):
        al.error_consistency(trials, **QUICK)
    repeat = {"item": [*range(50)] * 2, "repeat": np.repeat([0, 1], 50).tolist()}
    trials = al.Trials.from_arrays([both, both[::-1]], both, **repeat)
    with pytest.raises(ValueError, match=r"item '7' .* several truths in its repeats"):
        al.error_consistency(trials, **QUICK)
