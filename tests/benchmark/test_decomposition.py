"""Variance components of scores: closed forms, brute force over small cases, symmetry."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import alikely as al
from alikely.benchmark.decomposition import (
    ALIKE,
    NOISE,
    added_count,
    block_influence,
    compared_pairs,
    decomposition,
    decompositions,
    degrees_of_images,
    degrees_of_people,
    deviates_of_pairs,
    invented_spread,
    joint_covariance,
    shares_of_ceiling,
    spread,
)
from alikely.benchmark.layout import laid_out
from alikely.data.blocks import blocks
from alikely.data.trials import Trials
from alikely.metrics import consistency, get_metric


def answers(seed: int, n_humans: int, n_models: int, n_items: int, n_blocks: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n_items * n_blocks)
    noise = rng.standard_normal((n_humans + n_models, len(z)))
    ability = rng.normal(0.6, 0.3, n_humans + n_models)
    return (0.7 * z + 0.7 * noise + ability[:, None] > 0).astype(float)


def crowd(correct: np.ndarray, n_humans: int, **columns: list[str]) -> tuple[Trials, list[str]]:
    kind = ["human"] * n_humans + ["model"] * (len(correct) - n_humans)
    trials = Trials.from_correct(correct, kind=kind, **columns)  # type: ignore[arg-type]
    return trials, trials.observers


def decomposed(trials: Trials, metric: str = "error_consistency", **how: str) -> list[xr.Dataset]:
    found = get_metric(metric)
    table, layout = laid_out(trials, models="model", humans="human", labels=False)
    return decompositions(
        table,
        layout,
        found,
        **{"human_ids": "shared", "item_scope": "dataset", **how},  # type: ignore[arg-type]
    )


def cells_of(
    a: np.ndarray, b: np.ndarray, added: float, weight: np.ndarray | None = None
) -> np.ndarray:
    w = np.ones(len(a)) if weight is None else weight
    kinds = [(1, 1), (1, 0), (0, 1), (0, 0)]
    return np.array([w[(a == x) & (b == y)].sum() for x, y in kinds]) + added


def kappa(a: np.ndarray, b: np.ndarray, added: float, weight: np.ndarray | None = None) -> float:
    return float(consistency.error_consistency(cells_of(a, b, added, weight)))


def score(
    right: np.ndarray, h: list[int], model: int | None, added: float, **w: np.ndarray
) -> float:
    """Mean over humans, or over pairs of them, by plain loops."""
    pairs = [(i, model) for i in h] if model is not None else list(itertools.combinations(h, 2))
    return float(np.mean([kappa(right[i], right[j], added, **w) for i, j in pairs]))


def test_score_images_and_humans_by_plain_loops() -> None:
    """Compare influences with numerical derivatives, and human variances with two jackknives."""
    right = answers(1, 4, 2, 60)
    trials, _ = crowd(right, 4)
    _, parts = decomposed(trials)
    added = added_count(1, 4)
    humans = list(range(4))
    step = 1e-5

    def slope(people: list[int], model: int | None, item: int) -> float:
        weight = np.ones((2, 60))
        weight[:, item] += step, -step
        up, down = (score(right, people, model, added, weight=w) for w in weight)
        return (up - down) / (2 * step)

    shifts = []
    for system, model in ((0, 4), (1, 5), (2, None)):
        full = score(right, humans, model, added)
        assert parts["interval_center"].values[system] == pytest.approx(full, abs=1e-12)
        others = [[h for h in humans if h != x] for x in humans]
        left = [score(right, rest, model, added) for rest in others]
        shifts.append(np.array(left) - full)
        # The same jackknife of the influence of every image.
        shared = 0.0
        for item in range(60):
            whole = slope(humans, model, item)
            # Central differences have an error of the third derivative times the squared step.
            assert parts["influence"].values[system, item] == pytest.approx(whole, abs=1e-7)
            shared += 3 / 4 * sum((slope(rest, model, item) - whole) ** 2 for rest in others)
        assert parts["shared"].values[system, system] == pytest.approx(shared, rel=1e-5)
    jackknife = 3 / 4 * np.array(shifts) @ np.transpose(shifts)
    np.testing.assert_allclose(parts["humans"].values[:3, :3], jackknife, rtol=1e-9)


def test_pseudotrials_are_those_of_all_patterns() -> None:
    """Enumerate the patterns, whose influences have this second moment."""
    right = answers(3, 3, 1, 50)
    table, layout = laid_out(crowd(right, 3)[0], models="model", humans="human")
    (block,) = blocks(table)
    rng = np.random.default_rng(1)
    weights, added = rng.random((2, table.sizes["pair"])), 0.3
    value, _, waves = block_influence(block, al.metrics.ERROR_CONSISTENCY, added)
    found = invented_spread(weights, waves, block.a, block.b, added)
    psi = al.metrics.ERROR_CONSISTENCY.influence(table["cells"].values + added)
    psi = psi / (table["cells"].values.sum(axis=1) + 4 * added)[:, None]
    expected = np.zeros((2, 2))
    for pattern in itertools.product((0, 1), repeat=4):
        bits = np.array(pattern)
        cell = 3 - 2 * bits[block.a] - bits[block.b]
        moved = weights @ psi[np.arange(len(psi)), cell]
        expected += np.outer(moved, moved) / 16
        if len(set(pattern)) == 1:
            expected += ALIKE * np.outer(moved, moved) / 2
    np.testing.assert_allclose(found, 4 * added * expected, rtol=1e-10)
    assert np.isfinite(value).all()
    assert len(layout.parts) == 1


def test_influences_of_few_labels_are_scaled() -> None:
    """Influences of n joint errors are scaled as a variance with denominator n - 1."""
    trials = al.load_example().select(condition="noise")
    metric = get_metric("misclassification_agreement")
    table, _ = laid_out(trials, models="model", humans="human", labels=True)
    (block,) = blocks(table)
    value, slopes, waves = block_influence(block, metric, 0.3)
    plain = al.inference.influence.estimate(table, metric)
    n = (block.codes() == 3).sum(axis=1)
    # For different joint errors, 1 - kappa is (n - 1) q / (n - q), with q by products of margins.
    q = 1 - plain["estimate"].values
    np.testing.assert_allclose(1 - value, (n - 1) * q / (n - q))
    np.testing.assert_allclose((slopes**2).sum(axis=1), plain["se"].values ** 2 * n / (n - 1))
    assert not waves.any()


def test_equal_labels_are_one_human_or_two() -> None:
    right = answers(7, 4, 1, 60, n_blocks=2)
    trials, _ = crowd(right, 4, dataset=["one"] * 60 + ["two"] * 60)
    first, second, same = decomposed(trials)
    *_, apart = decomposed(trials, human_ids="per_dataset")
    assert same["df_humans"].values.tolist() == [3.0, 3.0, 3.0]
    assert apart["df_humans"].values.tolist() == [6.0, 6.0, 6.0]
    assert (first["df_humans"].values == 3).all()
    assert (second["df_humans"].values == 3).all()
    added = added_count(2, 4)
    k = np.array(
        [[kappa(right[h, part], right[4, part], added) for h in range(4)]
         for part in (slice(0, 60), slice(60, 120))]
    )  # fmt: skip
    assert same["humans"].values[0, 0] == pytest.approx(k.mean(axis=0).var(ddof=1) / 4, rel=1e-10)
    assert apart["humans"].values[0, 0] == pytest.approx(
        k.var(axis=1, ddof=1).sum() / 16, rel=1e-10
    )
    np.testing.assert_allclose(same["influence"].values, apart["influence"].values)
    # Images of two data sets differ, so response noise is the same either way.
    np.testing.assert_allclose(same["shared"].values, apart["shared"].values)


def test_influences_of_shared_images_are_added_first() -> None:
    right = answers(8, 3, 1, 40, n_blocks=2)
    item = [str(i) for i in range(40)] * 2
    trials, _ = crowd(right, 3, dataset=["one"] * 40 + ["two"] * 40, item=item)
    one, apart = (decomposed(trials, item_scope=items)[-1] for items in ("label", "dataset"))
    assert (one["influence"].values.shape[1], apart["influence"].values.shape[1]) == (40, 80)
    added = added_count(1, 3)
    moved = np.zeros((3, 40))
    for part in (slice(0, 40), slice(40, 80)):
        table, layout = laid_out(crowd(right[:, part], 3)[0], models="model", humans="human")
        (block,) = blocks(table)
        _, slopes, _ = block_influence(block, al.metrics.ERROR_CONSISTENCY, added)
        moved += slopes[layout.parts[0].mixed[0, :, 0]] / 2
    centered = moved - moved.mean(axis=0)
    assert one["shared"].values[0, 0] == pytest.approx((centered**2).sum() / 6, rel=1e-10)


@pytest.mark.parametrize(
    ("crowds", "df"),
    [
        ([(5, 5)], 4.0),
        ([(5, 5), (5, 5)], 4.0),
        ([(0, 4), (4, 4)], 6.0),
        # Two data sets of three humans, one of them in both.
        ([(0, 3), (2, 3)], None),
    ],
)
def test_degrees_of_freedom_of_humans(crowds: list[tuple[int, int]], df: float | None) -> None:
    made = [(np.arange(start, start + n), 1 / len(crowds)) for start, n in crowds]
    n_humans = max(start + n for start, n in crowds)
    found = degrees_of_people(made, n_humans)
    if df is not None:
        assert found == pytest.approx(df)
        return
    # Satterthwaite's df: twice the squared mean divided by the variance of the quadratic form.
    rng = np.random.default_rng(1)
    person = rng.standard_normal((200_000, n_humans))
    u = np.zeros_like(person)
    for own, weight in made:
        part = person[:, own]
        n = len(own)
        u[:, own] += weight * (part - part.mean(axis=1, keepdims=True)) / np.sqrt(n * (n - 1))
    square = (u**2).sum(axis=1)
    simulated = 2 * square.mean() ** 2 / square.var()
    # The variance of 200,000 sums of this kind has a relative error below 2%.
    assert found == pytest.approx(simulated, rel=4 * np.sqrt(20 / 200_000))


def test_degrees_of_freedom_of_few_images() -> None:
    # m of G equal influences, the others 0: a binomial count.
    for m, n in ((2, 50), (30, 50)):
        few = np.r_[np.full(m, 0.3), np.zeros(n - m)]
        assert degrees_of_images(few) == pytest.approx(2 * m / (1 - m / n))
    # With normal influences, df is the number of images. Their fourth moment has an error of
    # sqrt(96 / n), half of which enters the ratio.
    n = 100_000
    many = np.random.default_rng(2).standard_normal(n)
    assert degrees_of_images(many) / n == pytest.approx(1, abs=4 * np.sqrt(96 / n) / 2)
    assert np.isnan(degrees_of_images(np.zeros(10)))
    assert np.isinf(degrees_of_images(np.ones(10)))


def test_crossed_variance_is_images_plus_humans() -> None:
    parts = decomposed(crowd(answers(9, 4, 2, 60), 4)[0])[-1]
    contrasts = np.array([[1.0, -1, 0, 0], [0, 0, 1, 0], [1, 0, 0, -0.5]])
    images, humans, crossed = (
        spread(parts, contrasts, population) for population in ("images", "observers", "both")
    )
    shared = np.einsum("cs,st,ct->c", contrasts, parts["shared"].values, contrasts)
    expected = images.variance + np.maximum(humans.variance - shared, 0)
    np.testing.assert_allclose(crossed.variance, expected)
    assert (crossed.df >= 3).all()
    assert (humans.df == 3).all()
    with np.errstate(invalid="ignore"):
        rest = np.maximum(images.variance - shared, 0)
    counted = np.maximum(humans.variance - NOISE * shared, 0)
    np.testing.assert_allclose(crossed.humans, counted)
    nu = crossed.variance**2 / (counted**2 / 3 + rest**2 / images.df)
    # Howe's approximation: squared half widths add at 95%.
    limits = stats.t.ppf(0.975, images.df) ** 2 * images.variance
    limits += stats.t.ppf(0.975, 3) ** 2 * (crossed.variance - images.variance)
    half = np.sqrt(limits / crossed.variance)
    fewer = stats.t.ppf(0.975, np.maximum(3, nu)) > half
    np.testing.assert_allclose(crossed.df[fewer], np.maximum(3, nu)[fewer])
    np.testing.assert_allclose(stats.t.ppf(0.975, crossed.df[~fewer]), half[~fewer])


def two_parts(images: float, people: np.ndarray, shared: float, df_humans: float) -> xr.Dataset:
    """Systems with these variances, and 50 identical images."""
    n = len(people)
    return decomposition(
        np.zeros(n),
        np.full((n, 50), np.sqrt(images * 49 / 50 / 50)),
        np.zeros((n, n)),
        np.diag(people),
        shared * np.eye(n),
        np.full(n, df_humans),
    )


@pytest.mark.parametrize("df", [2, 3, 9])
def test_intervals_cover_for_few_humans_with_any_spread(df: int) -> None:
    """Coverage by quadrature, for known image variance and chi-square human variance.

    No Student's interval with few degrees of freedom has exactly nominal coverage for humans who
    hardly differ and for those who differ much. Satterthwaite's interval with all noise assigned to
    humans covers 0.925 to 0.990 here.
    """
    share = (np.arange(60) + 0.5) / 60
    for ratio, differ in itertools.product((0.55, 1.0, 2.0, 6.0), (0.0, 0.3, 1.0, 5.0, 20.0)):
        people = (1 + differ) * stats.chi2.ppf(share, df) / df
        found = spread(two_parts(ratio, people, 1.0, df), np.eye(len(people)), "both")
        half = stats.t.ppf(0.975, found.df) * np.sqrt(found.variance)
        held = 2 * stats.norm.cdf(half / np.sqrt(ratio + differ)) - 1
        assert 0.92 < held.mean() < 0.983, (ratio, differ)


def test_many_humans_do_not_add_degrees_of_freedom_of_images() -> None:
    parts = two_parts(1.0, np.array([0.02]), 0.02, 39.0)
    few = parts.drop_vars("influence").assign(
        influence=(("system", "image"), np.sqrt(np.r_[np.full(4, 0.25), np.zeros(76)])[None])
    )
    found = spread(few, np.eye(1), "both")
    assert found.df[0] < 1.1 * degrees_of_images(few["influence"].values)[0] < 9.5


@given(seed=st.integers(0, 10_000), n_humans=st.integers(2, 5))
@settings(deadline=None, max_examples=4)
def test_order_of_humans_models_and_images_does_not_matter(seed: int, n_humans: int) -> None:
    right = answers(seed, n_humans, 2, 30)
    rng = np.random.default_rng(seed)
    turned = right[np.r_[rng.permutation(n_humans), n_humans + np.array([1, 0])]]
    turned = turned[:, rng.permutation(30)]
    one, other = (decomposed(crowd(x, n_humans)[0])[-1] for x in (right, turned))
    swap = np.array([1, 0, 2, 3])
    np.testing.assert_allclose(
        one["interval_center"].values, other["interval_center"].values[swap], atol=1e-12
    )
    for name in ("pseudocount_variance", "humans", "shared"):
        a, b = one[name].values, other[name].values
        np.testing.assert_allclose(a, b[np.ix_(swap, swap)], atol=1e-12)
    np.testing.assert_allclose(
        np.sort(one["influence"].values, axis=1),
        np.sort(other["influence"].values[swap], axis=1),
        atol=1e-12,
    )


def test_joint_covariance_bounds_the_variance_of_every_contrast() -> None:
    """The positive part of a matrix bounds each of its quadratic forms."""
    parts = decomposed(crowd(answers(12, 4, 5, 60), 4)[0])[-1]
    rng = np.random.default_rng(1)
    contrasts = rng.standard_normal((50, 7))
    for population in ("images", "observers", "both"):
        matrix = joint_covariance(parts, population)
        form = np.einsum("cs,st,ct->c", contrasts, matrix, contrasts)
        own = spread(parts, contrasts, population).variance
        if population == "both":
            assert (form >= own * (1 - 1e-9)).all()
        else:
            np.testing.assert_allclose(form, own, rtol=1e-9)


def test_simultaneous_differences_have_common_degrees_of_freedom() -> None:
    parts = decomposed(crowd(answers(15, 4, 4, 60), 4)[0])[-1]
    found, of_images = (compared_pairs(parts, x, np.eye(6)[:4]) for x in ("both", "images"))
    pool = found.variance.mean() ** 2 * 3 / found.humans.mean() ** 2
    np.testing.assert_allclose(found.pooled, np.minimum(found.df, pool))
    np.testing.assert_allclose(of_images.pooled, of_images.df)
    deviates = deviates_of_pairs(found.t, found.pooled, 4)
    np.testing.assert_allclose(deviates, -deviates.T)
    assert stats.norm.cdf(deviates[0, 2]) == pytest.approx(stats.t.cdf(found.t[1], found.pooled[1]))


def test_ceiling_ratio_has_fiellers_interval() -> None:
    parts = decomposed(crowd(answers(16, 6, 1, 200), 6)[0])[-1]
    ratio, se, *bounds, bounded = shares_of_ceiling(parts, [0], 2, "both", 0.95).iloc[0]
    assert bounded
    assert ratio == pytest.approx(
        parts["interval_center"].values[0] / parts["interval_center"].values[2]
    )
    two = parts.isel(system=[0, 2], system_other=[0, 2])
    found = spread(two, np.array([[1.0, -ratio]]), "both")
    assert se == pytest.approx(np.sqrt(found.variance[0]) / two["interval_center"].values[1])
    matrix = joint_covariance(two, "both")
    for bound in bounds:
        w = np.array([1.0, -bound])
        distance = abs(w @ two["interval_center"].values) / np.sqrt(w @ matrix @ w)
        assert distance == pytest.approx(stats.t.ppf(0.975, found.df[0]), rel=1e-6)
    # With human-human consistency at chance, ratios to it are undefined.
    noise = (np.random.default_rng(1).random((4, 60)) < 0.5).astype(float)
    noise[1] = 1 - noise[0]
    noise[2] = 1 - noise[0]
    nothing = shares_of_ceiling(decomposed(crowd(noise, 3)[0])[-1], [0], 2, "images", 0.95)
    assert nothing.iloc[0, :4].isna().all()
    # A ceiling above 0 that does not differ significantly from 0.
    few = decomposed(crowd(answers(17, 3, 1, 12), 3)[0])[-1]
    wide = shares_of_ceiling(few, [0], 2, "both", 0.95).iloc[0]
    contrast = np.array([[1.0, 0, -wide.ratio]])
    assert not wide.bounded
    df = spread(few, contrast, "both").df[0]
    assert wide.upper - wide.ratio == pytest.approx(stats.t.ppf(0.975, df) * wide.se)


@pytest.mark.parametrize("metric", ["error_consistency", "copy_probability"])
def test_other_metrics_of_cells_are_decomposed_equally(metric: str) -> None:
    found = get_metric(metric)
    right = answers(14, 3, 1, 60)
    parts = decomposed(crowd(right, 3)[0], metric)[-1]
    added = added_count(1, 3)
    values = [float(found.value(cells_of(right[h], right[3], added))) for h in range(3)]
    assert parts["interval_center"].values[0] == pytest.approx(np.mean(values), rel=1e-12)
    assert parts["humans"].values[0, 0] == pytest.approx(np.var(values, ddof=1) / 3, rel=1e-9)
