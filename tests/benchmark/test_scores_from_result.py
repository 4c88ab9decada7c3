"""Scores from results: means, ranks and differences of stored draws, and of margins."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import special

import alikely as al
from alikely.benchmark.benchmark import dataset_names

# Draws of a result are stored in single precision.
SINGLE = 1e-6


@pytest.fixture(scope="module")
def made() -> tuple[al.Trials, pd.DataFrame]:
    """Two data sets with two conditions and one condition."""
    trials, margins = [], []
    for number, (dataset, condition) in enumerate((("s", "x"), ("s", "y"), ("t", "x"))):
        rho = {"near": 0.9, "middle": 0.6, "far": 0.1}
        one, other = al.simulate.detection_experiment(6, 40, 1, rho=rho, rng=number)
        frame = one.to_table()
        trials.append(frame.assign(dataset=dataset, condition=condition))
        margins.append(other.assign(dataset=dataset, condition=condition))
    return al.Trials.from_table(pd.concat(trials)), pd.concat(margins)


@pytest.fixture(scope="module")
def result(made: tuple[al.Trials, pd.DataFrame]) -> al.Result:
    return al.decision_margin_consistency(*made, n_resamples=0, n_draws=1_000, rng=1)


def with_draws(result: al.Result, draws: np.ndarray) -> al.Result:
    """The result with these draws."""
    tree = result.data.copy()
    group = tree["posterior"].to_dataset()
    name = result.metric.name
    shape = group[name].shape
    group = group.isel(draw=slice(len(draws) // shape[0]))
    tree["posterior"] = xr.DataTree(
        group.assign({name: (group[name].dims, draws.reshape(shape[0], -1, shape[2]))})
    )
    return al.Result(tree)


def test_scores_are_means_over_conditions_then_data_sets(result: al.Result) -> None:
    frame = result.summary()
    draws = result.draws("posterior").astype(float)
    scores = al.benchmark.scores_from_result(result)
    assert scores.observers == ["near", "middle", "far"]
    assert dataset_names(scores) == ["s", "t"]
    at = {
        (row.dataset, row.condition): i
        for i, row in enumerate(frame.itertuples())
        if {row.observer_a, row.observer_b} == {"human", "middle"}
    }
    expected = (draws[:, at["s", "x"]] + draws[:, at["s", "y"]]) / 4 + draws[:, at["t", "x"]] / 2
    np.testing.assert_allclose(scores.draws("posterior")[:, 1], expected, atol=SINGLE)
    table = scores.summary(level=None).set_index(["level", "system"])
    row = table.loc["overall", "middle"]
    assert row["posterior_median"] == pytest.approx(np.median(expected), abs=SINGLE)
    assert row["se"] == pytest.approx(expected.std(ddof=1), rel=1e-4)
    for name in ("estimate", "ceiling"):
        values = result.estimates[name].values
        mean = (values[at["s", "x"]] + values[at["s", "y"]]) / 4 + values[at["t", "x"]] / 2
        assert row[name] == pytest.approx(mean, abs=1e-12)
    assert table["n_entries"].tolist() == [2] * 3 + [1] * 3 + [3] * 3
    hdi = scores.summary(ci_prob=0.5, ci_kind="hdi")
    assert {"posterior_hdi50_lb", "posterior_hdi50_ub"} <= set(hdi)


def test_differences_and_ranks_of_normal_draws(result: al.Result) -> None:
    """Compare differences of three independent normal scores with the studentized range."""
    rng = np.random.default_rng(1)
    n, n_pairs = 40_000, len(result.pairs)
    draws = np.zeros((n, n_pairs))
    human = (result.pairs["observer_a"] == "human").to_numpy()
    sd = 0.1
    # The entries have weights 1/4, 1/4 and 1/2, whose squares sum to 3/8.
    draws[:, human] = sd / np.sqrt(3 / 8) * rng.standard_normal((n, int(human.sum())))
    center = result.pairs["observer_b"].map({"near": 0.5, "middle": 0.1, "far": 0.1})
    draws += center.fillna(0).to_numpy()
    big = result.data.copy()
    group = big["posterior"].to_dataset()
    name = result.metric.name
    values = draws.astype(np.float64).reshape(4, -1, n_pairs)
    coords = {"chain": range(4), "draw": range(n // 4), "pair": group["pair"].values}
    big["posterior"] = xr.DataTree(
        xr.Dataset({name: (("chain", "draw", "pair"), values)}, coords, group.attrs)
    )
    scores = al.benchmark.scores_from_result(al.Result(big))
    table = al.benchmark.differences(scores, intervals="all")
    error = np.sqrt(2) * sd
    np.testing.assert_allclose(table["se"], error, rtol=4 / np.sqrt(2 * n))
    half = (table["simultaneous_ci95_ub"] - table["simultaneous_ci95_lb"]) / 2
    # Half of the studentized range of three: 3.314 / sqrt(2).
    np.testing.assert_allclose(half / error, 3.3145 / np.sqrt(2), rtol=0.02)
    alone = (table["pointwise_eti95_ub"] - table["pointwise_eti95_lb"]) / 2
    np.testing.assert_allclose(alone / error, special.ndtri(0.975), rtol=0.03)
    ranks = al.benchmark.ranks(scores).set_index("system")
    assert ranks.loc["near", ["rank_lb", "rank_ub"]].tolist() == [1, 1]
    assert ranks.loc[["middle", "far"], ["rank_lb", "rank_ub"]].to_numpy().tolist() == [[2, 3]] * 2
    row = al.difference(scores, "near", "middle").loc["posterior"]
    assert row["estimate"] == pytest.approx(0.4, abs=4 * 1.26 * error / np.sqrt(n))


def test_order_of_entries_does_not_matter(
    made: tuple[al.Trials, pd.DataFrame], result: al.Result
) -> None:
    turned = result.data.copy()
    order = np.arange(len(result.pairs))[::-1]
    for name in ("observed_data", "estimates", "posterior"):
        turned[name] = xr.DataTree(turned[name].to_dataset().isel(pair=order))
    one, other = (
        al.benchmark.scores_from_result(result),
        al.benchmark.scores_from_result(al.Result(turned)),
    )
    tables = [
        scores.summary(level=None).sort_values(["level", "system"]).reset_index(drop=True)
        for scores in (one, other)
    ]
    pd.testing.assert_frame_equal(*tables)
    ranks = [al.benchmark.ranks(scores).set_index("system").sort_index() for scores in (one, other)]
    pd.testing.assert_frame_equal(*ranks)
    apart, back = al.benchmark.differences(one).iloc[0], al.benchmark.differences(other)
    same = back[(back["system"] == apart["other"]) & (back["other"] == apart["system"])].iloc[0]
    assert same["difference"] == pytest.approx(-apart["difference"], abs=SINGLE)
    assert same["simultaneous_ci95_lb"] == pytest.approx(-apart["simultaneous_ci95_ub"], abs=SINGLE)


def test_a_perfect_score_stays_possible(result: al.Result) -> None:
    """Each entry is 1 with probability 0.2; the score has that of Stouffer's mean deviate."""
    n, n_pairs = 4_000, len(result.pairs)
    rng = np.random.default_rng(1)
    draws = np.minimum(rng.normal(0.9, 0.1 / special.ndtri(0.8), (n, n_pairs)), 1.0)
    scores = al.benchmark.scores_from_result(with_draws(result, draws))
    expected = special.ndtr(3 * special.ndtri(0.2) / np.sqrt(3))
    four = 4 * np.sqrt(3 * 0.2 * 0.8 / n)
    np.testing.assert_allclose((scores.draws("posterior") == 1).mean(axis=0), expected, atol=four)
    assert (scores.summary()["posterior_eti95_ub"] == 1).all()
    certain = np.minimum(draws, 0.99)
    assert (
        al.benchmark.scores_from_result(with_draws(result, certain)).draws("posterior") < 1
    ).all()


@pytest.mark.slow
def test_missing_entries_raise_or_are_counted(
    made: tuple[al.Trials, pd.DataFrame], result: al.Result
) -> None:
    trials, margins = made
    lacking = margins[(margins["observer"] != "far") | (margins["dataset"] != "t")]
    part = al.decision_margin_consistency(trials, lacking, n_resamples=0, n_draws=400, rng=1)
    with pytest.raises(ValueError, match="'far' has no pair with 'human' in t:x, so its mean"):
        al.benchmark.scores_from_result(part)
    undefined = result.draws("posterior").copy()
    undefined[:, 0] = np.nan
    holed = with_draws(result, undefined)
    table = al.benchmark.scores_from_result(holed).summary().set_index("system")
    assert np.isnan(table.loc["near", "posterior_median"])
    assert table.loc["near", "note"].startswith("1 comparisons, such as human x")
    assert al.benchmark.ranks(al.benchmark.scores_from_result(holed))["system"].tolist() == [
        "middle",
        "far",
    ]
