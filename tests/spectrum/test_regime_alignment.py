"""Alignment by condition and regime: closed forms, common draws, coverage, real data."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import alikely as al
from alikely.benchmark.layout import HUMANS
from alikely.benchmark.ranking import rank_sets
from alikely.data.trials import Trials
from alikely.inference.intervals import OPEN
from alikely.metrics import consistency, errors
from alikely.papers.families import family_ranks
from alikely.spectrum.alignment import representative_conditions

EC, MA = "error_consistency", "misclassification_agreement"
CLASSES = ["cat", "dog", "owl"]
NAMES = ["human_0", "human_1", "human_2", "human_3", "a", "b", "c"]
PLACES = ["one:low", "one:high", "two:low"]
PER = 120


def answered() -> tuple[np.ndarray, np.ndarray]:
    """Responses of 4 humans and 3 models with common item easiness, and the truth."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 3 * PER)
    right = rng.random((7, 3 * PER)) < np.where(rng.random(3 * PER) < 0.5, 0.9, 0.3)
    wrong = (truth + rng.integers(1, 3, (7, 3 * PER))) % 3
    return np.where(right, truth, wrong), truth


def two_data_sets(order: tuple[int, ...] = tuple(range(7))) -> Trials:
    answers, truth = answered()
    keep = list(order)
    return Trials.from_arrays(
        np.array(CLASSES)[answers[keep]],
        np.array(CLASSES)[truth],
        classes=CLASSES,
        observers=[NAMES[i] for i in keep],
        kind=["human" if i < 4 else "model" for i in keep],
        labels={"family": [("-", "-", "-", "-", "cnn", "cnn", "vit")[i] for i in keep]},
        condition=np.repeat(["low", "high", "low"], PER),
        dataset=np.repeat(["one", "one", "two"], PER),
    )


@pytest.fixture(scope="module")
def alignment() -> xr.Dataset:
    return al.condition_alignment(two_data_sets(), n_resamples=400, rng=1)


def made(
    estimate: Any, human: Any, spread: float = 0.01, n_resamples: int = 500, seed: int = 0
) -> xr.Dataset:
    """An alignment with values (condition, model) and (condition,), and independent noise."""
    values = np.column_stack([np.asarray(estimate, float), np.asarray(human, float)])
    n, k = values.shape
    noise = np.random.default_rng(seed).normal(0, spread, (n_resamples, n, k))
    names = [f"d{c}:x" for c in range(n)]
    missing = np.isnan(values)
    return xr.Dataset(
        {
            "estimate": (("metric", "condition", "system"), values[None]),
            "interval_center": (("metric", "condition", "system"), values[None]),
            "se": (("metric", "condition", "system"), np.full((1, n, k), spread)),
            "df": (("metric", "condition", "system"), np.full((1, n, k), np.inf)),
            "undefined": (("metric", "condition", "system"), 4 * missing[None].astype(int)),
            "replicates": (
                ("metric", "resample", "condition", "system"),
                (values + noise)[None].astype(np.float32),
            ),
        },
        coords={
            "metric": [EC],
            "metric_min": ("metric", [-1.0]),
            "metric_max": ("metric", [1.0]),
            "condition": np.array(names, object),
            "system": np.array([f"m{s}" for s in range(k - 1)] + [HUMANS], object),
            "dataset": ("condition", np.array([name[:2] for name in names], object)),
            "condition_name": ("condition", np.full(n, "x", object)),
            "n_humans": ("condition", np.full(n, 4)),
        },
    )


def test_estimates_are_means_of_entries(alignment: xr.Dataset) -> None:
    answers, truth = answered()
    for c, place in enumerate(PLACES):
        here = slice(c * PER, (c + 1) * PER)
        right = answers[:, here] == truth[here]
        values: dict[str, np.ndarray] = {EC: np.zeros((7, 7)), MA: np.zeros((7, 7))}
        for i, j in itertools.permutations(range(7), 2):
            a, b = right[i], right[j]
            cells = [(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()]
            values[EC][i, j] = consistency.error_consistency(cells)
            counts = np.zeros((3, 3))
            np.add.at(counts, (answers[i, here][~a & ~b], answers[j, here][~a & ~b]), 1)
            values[MA][i, j] = errors.misclassification_agreement(counts)
        for metric, value in values.items():
            own = alignment["estimate"].sel(metric=metric, condition=place)
            np.testing.assert_allclose(own.sel(system=["a", "b", "c"]), value[4:, :4].mean(axis=1))
            pairs = value[:4, :4][np.triu_indices(4, 1)]
            np.testing.assert_allclose(own.sel(system=HUMANS), pairs.mean())
    assert (alignment["undefined"] == 0).all()
    assert alignment["n_humans"].values.tolist() == [4, 4, 4]
    assert alignment["n_images"].values.tolist() == [PER] * 3
    assert alignment["dataset"].values.tolist() == ["one", "one", "two"]
    assert alignment["family"].values.tolist() == ["cnn", "cnn", "vit", ""]


@pytest.mark.parametrize("metric", [EC, MA])
def test_mean_over_conditions_is_the_benchmark_score(alignment: xr.Dataset, metric: Any) -> None:
    scores = al.benchmark_scores(
        two_data_sets(), metric=metric, human_ids="shared", n_resamples=0, n_draws=0
    )
    own = alignment["estimate"].sel(metric=metric).groupby("dataset").mean()
    systems = ["a", "b", "c", HUMANS]
    expected = scores.estimates["estimate"].sel(level=["one", "two"], system=systems)
    np.testing.assert_allclose(own.sel(dataset=["one", "two"], system=systems), expected)


def test_a_metric_does_not_change_the_draws_of_another(alignment: xr.Dataset) -> None:
    """Images and humans are resampled once for all metrics, whichever are requested."""
    for metric in (EC, MA):
        alone = al.condition_alignment(two_data_sets(), metrics=metric, n_resamples=400, rng=1)
        both = alignment["replicates"].sel(metric=[metric])
        np.testing.assert_array_equal(alone["replicates"], both)


def test_the_same_images_for_both_metrics() -> None:
    """Without the first image, both are always incorrect and error consistency is undefined;
    without the second, there are no joint errors. Every resample has one of them."""
    trials = Trials.from_arrays(
        [["cat", "owl"], ["cat", "owl"], ["dog", "dog"]],
        ["cat", "cat"],
        classes=CLASSES,
        kind=["human", "human", "model"],
    )
    found = al.condition_alignment(trials, n_resamples=400, rng=1)
    hole = np.isnan(found["replicates"].values[:, :, 0, 0])
    # A quarter of the draws has the other image twice: four binomial standard errors.
    assert (np.abs(hole.mean(axis=1) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 400)).all()
    assert not hole.all(axis=0).any()


def test_humans_are_resampled_jointly_in_all_conditions() -> None:
    """A model equals one human and opposes the other, so its score is 1 only without the other."""
    rng = np.random.default_rng(2)
    model = rng.random(5 * 100) < 0.6
    trials = Trials.from_correct(
        np.stack([model, ~model, model]).astype(int),
        kind=["human", "human", "model"],
        condition=np.repeat(list("abcab"), 100),
        dataset=np.repeat(["one", "one", "one", "two", "two"], 100),
    )
    found = al.condition_alignment(trials, metrics=EC, n_resamples=2000, rng=1)
    draws = found["replicates"].sel(metric=EC)
    alone = (draws.isel(system=0) == 1).values
    assert (alone[:, :3] == alone[:, [0]]).all()
    assert (alone[:, 3] == alone[:, 4]).all()
    assert (alone[:, 0] != alone[:, 3]).any()
    # A quarter of the resamples contains only one human, so no pair.
    assert abs(alone[:, 0].mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 2000)
    one_human = np.isnan(draws.sel(system=HUMANS).values)
    assert (one_human[:, :3] == one_human[:, [0]]).all()
    assert abs(one_human[:, 0].mean() - 0.5) < 4 * np.sqrt(0.25 / 2000)
    assert one_human[alone[:, 0], 0].all()


def test_humans_with_some_of_the_conditions() -> None:
    """Humans without trials in a condition are excluded; draws of others are unchanged."""
    rng = np.random.default_rng(3)
    correct = np.ma.masked_array(rng.random((5, 200)) < 0.6)
    correct[0, :100] = np.ma.masked
    trials = Trials.from_correct(
        correct.astype(int),
        kind=["human"] * 4 + ["model"],
        condition=np.repeat(["x", "y"], 100),
    )
    found = al.condition_alignment(trials, metrics=EC, n_resamples=300, rng=1)
    assert found["n_humans"].values.tolist() == [3, 4]
    assert np.isfinite(found["se"]).all()
    # Two degrees of freedom from three humans, three from four; images give more.
    assert (found["df"].sel(condition="all:x") >= 2).all()
    assert (found["df"].sel(condition="all:y") >= 3).all()
    reduced = al.condition_alignment(trials.select(condition="x"), metrics=EC, n_resamples=0)
    expected = reduced["estimate"].sel(condition="all:x")
    np.testing.assert_allclose(found["estimate"].sel(condition="all:x"), expected)


def test_standard_errors_are_crossed(alignment: xr.Dataset) -> None:
    """Compare with a benchmark of one condition; replicates have a larger spread."""
    plain = []
    for c, (name, part) in enumerate([("one", "low"), ("one", "high"), ("two", "low")]):
        trials = two_data_sets().select(dataset=name, condition=part)
        scores = al.benchmark_scores(trials, n_resamples=0, n_draws=0)
        own = alignment.sel(metric=EC).isel(condition=c)
        table = scores.summary("both", name, columns="all").set_index("system")
        table = table.loc[own["system"].values]
        np.testing.assert_allclose(own["se"], table["se"])
        np.testing.assert_allclose(own["df"], table["df"])
        np.testing.assert_allclose(own["interval_center"], table["interval_center"])
        plain += (own["replicates"].std("resample") / own["se"]).values.tolist()
    # A standard deviation of 400 replicates has an error of 3.5%.
    assert np.median(plain) > 1 - 4 * 0.035


LABELS = {"d0:x": "near", "d1:x": "near", "d2:x": "far", "d3:x": "far"}


def test_regimes_by_hand() -> None:
    estimate = [[0.2, 0.5, 0.1], [0.3, 0.3, 0.1], [0.1, 0.2, 0.3], [0.1, 0.1, 0.2]]
    found = made(estimate, [0.5, 0.4, 0.4, -0.2])
    table = al.spectrum.regime_alignment(found, LABELS, rng=1).set_index(["regime", "system"])
    near, far = table.loc["near"], table.loc["far"]
    np.testing.assert_allclose(near["estimate"], [0.25, 0.4, 0.1])
    np.testing.assert_allclose(near["ceiling"], 0.45)
    np.testing.assert_allclose(near["ratio_of_means"], np.array([0.25, 0.4, 0.1]) / 0.45)
    np.testing.assert_allclose(near["mean_ratio"], [(0.4 + 0.75) / 2, 0.875, 0.225])
    assert near["rank"].tolist() == [2, 1, 3]
    assert near[["rank_lb", "rank_ub"]].values.tolist() == [[2, 2], [1, 1], [3, 3]]
    assert (near["note"] == "").all()
    np.testing.assert_allclose(far["ratio_of_means"], np.array([0.1, 0.15, 0.25]) / 0.1)
    np.testing.assert_allclose(far["mean_ratio"], [0.25, 0.5, 0.75])
    assert (far["note"] == "mean_ratio excludes 1 with human-human values not above 0").all()
    assert far["rank"].tolist() == [3, 2, 1]
    half = 1.96 * 0.01 / np.sqrt(2)
    width = near["bootstrap_eti95_ub"] - near["bootstrap_eti95_lb"]
    np.testing.assert_allclose(width, 2 * half, rtol=0.2)


def test_replicates_that_leave_a_condition_undefined() -> None:
    """Replicates with undefined conditions remain, and the mean does not jump."""
    found = made([[0.1, 0.2], [0.6, 0.4]], [0.5, 0.4], n_resamples=2000)
    rng = np.random.default_rng(1)
    hole = rng.random((2000, 2, 3)) < 0.3
    found["replicates"] = found["replicates"].where(~hole[None])
    row = al.spectrum.regime_alignment(found, LABELS, rng=1).iloc[0]
    # Variance of a mean over one or two defined conditions.
    variance = 0.01**2 * (0.49 / 2 + 0.42) / 0.91
    width = row["bootstrap_eti95_ub"] - row["bootstrap_eti95_lb"]
    assert width == pytest.approx(2 * 1.96 * np.sqrt(variance), rel=0.1)
    assert row["undefined_replicates"] == pytest.approx(0.51, abs=4 * 0.5 / np.sqrt(4000))
    assert row["rank_ub"] == 1


def test_ranks_agree_with_rank_sets() -> None:
    estimate = np.random.default_rng(1).normal(0.3, 0.02, (2, 6))
    found = made(estimate, [0.5, 0.5], spread=0.02)
    table = al.spectrum.regime_alignment(found, dict.fromkeys(["d0:x", "d1:x"], "near"), rng=1)
    draws = found["replicates"].values[0, :, :, :6].mean(axis=1)
    sets = rank_sets(estimate.mean(axis=0), np.cov(draws, rowvar=False), rng=2, n_draws=100_000)
    sets = sets.set_index("system").loc[[str(i) for i in range(6)]]
    columns = ["rank", "rank_lb", "rank_ub"]
    np.testing.assert_array_equal(table[columns], sets[columns])


def test_undefined_values_exclude_a_condition_for_all() -> None:
    found = made([[0.2, 0.5], [0.3, np.nan], [0.1, 0.2], [0.1, 0.1]], [0.5, 0.4, np.nan, 0.01])
    table = al.spectrum.regime_alignment(found, LABELS, rng=1).set_index(["regime", "system"])
    near, far = table.loc["near"], table.loc["far"]
    assert near["n_conditions"].tolist() == [1, 1]
    np.testing.assert_allclose(near["estimate"], [0.2, 0.5])
    assert near["note"].tolist() == ["1 undefined, excluded: d1:x"] * 2
    assert far["n_conditions"].tolist() == [1, 1]
    assert np.isinf(far[["ratio_of_means_eti95_lb", "mean_ratio_eti95_ub"]]).all(axis=None)
    assert far["note"].iloc[0] == (
        f"1 undefined, excluded: d2:x; {OPEN}; "
        "mean_ratio is unbounded: human-human intervals of 1 include 0"
    )
    nothing = al.spectrum.regime_alignment(found.sel(condition=["d2:x"]), LABELS)
    assert nothing["n_conditions"].tolist() == [0, 0]
    assert nothing.filter(regex="estimate|ceiling|rat|rank|eti").isna().all(axis=None)
    assert nothing["note"].iloc[0] == "1 undefined, excluded: d2:x; no condition is left"


def test_ratios_where_the_mean_among_humans_is_not_above_zero() -> None:
    found = made([[0.2, 0.5]], [-0.3])
    row = al.spectrum.regime_alignment(found, {"d0:x": "far"}).iloc[0]
    assert np.isnan(
        row[["ratio_of_means", "ratio_of_means_eti95_lb", "mean_ratio"]].astype(float)
    ).all()
    assert row["note"] == (
        "the human-human mean is not above 0: no ratio; "
        "mean_ratio excludes 1 with human-human values not above 0"
    )
    assert row["rank"] == 2


def test_representative_conditions() -> None:
    delta = {"a:1": -1.0, "a:2": -3.0, "a:3": -9.0, "b:1": -2.5, "b:2": -1.2, "c:1": -7.0}
    labels = dict.fromkeys(["a:1", "a:2", "b:1", "b:2"], "near") | dict.fromkeys(
        ["a:3", "c:1"], "far"
    )
    home = {name: name[0] for name in delta}
    # Distances to -1.925, the mean of near: 0.925 (a:1), 1.075 (a:2), 0.575 (b:1), 0.725 (b:2).
    assert representative_conditions(delta, labels, home) == [
        "a:1",
        "a:3",
        "b:1",
        "c:1",
    ]
    # With equal distances, the easier one is selected, in any order.
    tie = {"a:2": -3.0, "a:1": -1.0}
    for names in (list(tie), list(tie)[::-1]):
        chosen = representative_conditions(tie, dict.fromkeys(tie, "r"), dict.fromkeys(names, "a"))
        assert chosen == ["a:1"]
    spectrum = xr.Dataset({"delta": ("condition", [-1.0, -3.0])}, {"condition": ["a:1", "a:2"]})
    for given in (spectrum, spectrum["delta"], spectrum["delta"].to_series()):
        chosen = representative_conditions(given, labels, {"a:1": "a", "a:2": "a"})
        assert chosen == ["a:1"]
    found = made([[0.2, 0.1], [0.3, 0.3]], [0.5, 0.4])
    found["dataset"] = ("condition", np.array(["d", "d"], object))
    table = al.spectrum.regime_alignment(
        found,
        {"d0:x": "near", "d1:x": "near"},
        conditions="representative",
        delta={"d0:x": -4.0, "d1:x": -2.0},
    )
    np.testing.assert_allclose(table["estimate"], 0.3)
    assert (table["n_conditions"] == 1).all()


def test_family_contrasts_by_hand(alignment: xr.Dataset) -> None:
    labels = {"one:low": "near", "one:high": "near", "two:low": "far"}
    family = {"a": "cnn", "b": "cnn", "c": "vit"}
    table = al.papers.regime_family_contrasts(alignment, labels, family)
    assert table[["metric", "regime", "family", "other"]].values.tolist() == [
        [metric, regime, "cnn", "vit"] for metric in (EC, MA) for regime in ("near", "far")
    ]
    own = alignment.sel(metric=EC, condition=["one:low", "one:high"])
    own = own.mean("condition", skipna=False)
    value, draws = own["estimate"], own["replicates"].astype(float)
    # A resample of one human has no human-human value in both conditions of the data set.
    row = table.iloc[0]
    expected = (value[:2].mean() - value[2]).item()
    assert row["estimate_difference"] == pytest.approx(expected)
    assert row["difference"] == pytest.approx(expected / value[3].item())
    moved = (draws[:, :2].mean(axis=1) - draws[:, 2]) / draws[:, 3]
    assert [row["difference_eti95_lb"], row["difference_eti95_ub"]] == pytest.approx(
        np.nanquantile(moved, [0.025, 0.975]), rel=1e-6
    )
    ranks = family_ranks(value[:3].to_series(), {"a": "cnn", "b": "cnn", "c": "vit"})
    for name in ("n", "n_other", "superiority", "p_value", "p_value_bh"):
        assert row[name] == ranks[name].iloc[0]


KINDS = ["human", "human", "model"]


def test_a_condition_needs_two_humans() -> None:
    correct = np.ma.masked_array(np.random.default_rng(0).integers(0, 2, (4, 80)))
    correct[0, :40] = np.ma.masked
    place = {"condition": np.repeat(["x", "y"], 40)}
    trials = Trials.from_correct(correct[:3], kind=KINDS, **place)
    with pytest.raises(ValueError, match=r"'all:x' has 1; leave it out with trials.select"):
        al.condition_alignment(trials, metrics=EC)
    correct = np.ma.masked_array(np.random.default_rng(0).integers(0, 2, (3, 80)))
    correct[2, :40] = np.ma.masked
    correct[:2, 40:] = np.ma.masked
    apart = Trials.from_correct(
        correct, kind=KINDS, condition=place["condition"], dataset=place["condition"]
    )
    with pytest.raises(ValueError, match=r"'y:y' has fewer; leave it out"):
        al.condition_alignment(apart, metrics=EC)


def test_mean_of_metrics_is_the_ratio_of_means_by_condition(alignment: xr.Dataset) -> None:
    """Compare with mean(EC, MA) of model and humans, divided by that of humans, by condition."""
    regime = {"one:low": "near", "one:high": "far", "two:low": "near"}
    table = al.spectrum.regime_alignment(alignment, regime, metrics=[EC, MA], rng=1)
    assert set(table["metric"]) == {"mean of EC, MA"}
    mean = alignment["estimate"].sel(metric=[EC, MA]).mean("metric")
    for row in table.to_dict("records"):
        here = mean.sel(condition=[name for name, own in regime.items() if own == row["regime"]])
        ratio = here.sel(system=row["system"]) / here.sel(system=HUMANS)
        assert row["mean_ratio"] == pytest.approx(float(ratio.mean()))
        assert row["estimate"] == pytest.approx(float(here.sel(system=row["system"]).mean()))
        assert row["mean_ratio_eti95_lb"] < row["mean_ratio"] < row["mean_ratio_eti95_ub"]
    each = al.spectrum.regime_alignment(alignment, regime, rng=1)
    means = each.groupby(["regime", "system"])["estimate"].mean()
    np.testing.assert_allclose(
        table.set_index(["regime", "system"])["estimate"],
        means[pd.MultiIndex.from_frame(table[["regime", "system"]])],
    )
