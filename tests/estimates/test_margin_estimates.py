"""Decision margins: tables, estimates, posterior, and the table of both metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import alikely as al
from alikely.margins.reliability import split_half_reliability
from alikely.margins.strengths import fit_model, group_strengths, strength_limits
from alikely.margins.tables import answers_of_group, margin_table
from alikely.metrics.margins import m_afc_probability, margin_consistency, margin_moments

M = 16


def experiment(
    rng: np.random.Generator,
    *,
    rho: float = 0.8,
    n_items: int = 80,
    n_humans: int = 12,
    n_repeats: int = 1,
    models: tuple[str, ...] = ("net",),
    condition: str = "plain",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Long tables of correctness and margins."""
    z = rng.normal(size=n_items)
    rows = [
        {"observer": f"p{o}", "kind": "human", "item": f"i{i}", "repeat": r, "correct": int(right)}
        for o in range(n_humans)
        for i in range(n_items)
        for r, right in enumerate(
            rng.random(n_repeats) < m_afc_probability(1.5 + 1.5 * z[i] + 0.3 * rng.normal(), M)
        )
    ]
    margins = [
        {"observer": name, "item": f"i{i}", "margin": 5 + 3 * value}
        for name in models
        for i, value in enumerate(rho * z + np.sqrt(1 - rho**2) * rng.normal(size=n_items))
    ]
    frames = (pd.DataFrame(rows), pd.DataFrame(margins))
    return tuple(frame.assign(condition=condition, dataset="d") for frame in frames)  # type: ignore[return-value]


def consistency(trials: al.Trials, margins: Any = None, **options: Any) -> al.Result:
    given = {"n_alternatives": M, "n_draws": 0, "n_resamples": 200, "rng": 1, **options}
    return al.decision_margin_consistency(trials, margins, **given)


def test_estimate_is_the_correlation_with_proportions_correct() -> None:
    answers, margins = experiment(np.random.default_rng(1), models=("net", "other"))
    result = consistency(al.Trials.from_table(answers), margins, n_resamples=4000)
    table = result.summary(intervals="all")
    shares = answers.groupby("item", sort=False)["correct"].mean().to_numpy()
    x = margins["margin"].to_numpy().reshape(2, -1)
    expected = {
        ("human", "net"): stats.pearsonr(shares, x[0]),
        ("human", "other"): stats.pearsonr(shares, x[1]),
        ("net", "other"): stats.pearsonr(x[0], x[1]),
    }
    assert len(table) == 3
    for _, row in table.iterrows():
        found = expected[row["observer_a"], row["observer_b"]]
        assert row["estimate"] == pytest.approx(found.statistic, abs=1e-12)
        # Unlike Fisher's z in pearsonr, influence needs no normal margins: equal within 30%.
        interval = found.confidence_interval()
        width = row["analytic_ci95_ub"] - row["analytic_ci95_lb"]
        assert width == pytest.approx(interval.high - interval.low, rel=0.3)
        assert row["bootstrap_eti95_ub"] - row["bootstrap_eti95_lb"] == pytest.approx(
            width, rel=0.15
        )
    assert table["accuracy_a"][0] == pytest.approx(shares.mean())
    assert table["accuracy_b"][0] == pytest.approx((x[0] > 0).mean())


def test_reliability_and_correction() -> None:
    answers, margins = experiment(np.random.default_rng(2))
    result = consistency(al.Trials.from_table(answers), margins)
    people = answers.pivot(index="observer", columns="item", values="correct").to_numpy(float)
    (ceiling,) = result.data["ceilings"].to_dataset().to_dataframe().to_dict("records")
    other = split_half_reliability(people, rng=5)
    # All 462 halves of 12 humans are used, so the estimate does not depend on the seed.
    assert ceiling["reliability"] == pytest.approx(other.reliability, abs=1e-12)
    assert (ceiling["system"], ceiling["n_observers"], ceiling["n_items"]) == ("human", 12, 80)
    row = result.summary(columns="all").iloc[0]
    assert row["reliability"] == ceiling["reliability"]
    assert row["disattenuated"] == pytest.approx(row["estimate"] / np.sqrt(other.reliability))
    assert ceiling["lower"] < ceiling["reliability"] < ceiling["upper"]


def test_weights_equal_repeated_items() -> None:
    rng = np.random.default_rng(3)
    # Ties on one side, as in proportions of few responses.
    x, y = rng.normal(size=30), rng.integers(0, 6, 30) / 5
    weights = rng.multinomial(30, np.full(30, 1 / 30), size=50)
    repeated = [stats.pearsonr(np.repeat(x, w), np.repeat(y, w)).statistic for w in weights]
    moments = margin_moments(x, y).T
    found = margin_consistency(weights @ moments)
    np.testing.assert_allclose(found, repeated, atol=1e-12)
    np.testing.assert_allclose(margin_consistency(weights * 0.1 @ moments), found)
    assert np.isnan(margin_consistency(moments[:1])).all()


def test_conditions_are_separate_or_pooled() -> None:
    rng = np.random.default_rng(12)
    parts = [experiment(rng, condition=c, n_items=40) for c in ("one", "two")]
    answers, margins = (pd.concat(frames) for frames in zip(*parts, strict=True))
    trials = al.Trials.from_table(answers)
    apart = consistency(trials, margins).summary()
    assert apart["condition"].tolist() == ["one", "two"]
    assert apart["n_trials"].tolist() == [40, 40]
    pooled = consistency(trials, margins, by="dataset").summary()
    assert pooled["n_trials"].tolist() == [80]
    # The same items in both conditions are dependent, so the effective number is smaller.
    clustered = consistency(trials, margins, by="dataset", cluster="item")
    assert len(clustered.summary()) == 1


def test_both_consistencies_side_by_side() -> None:
    answers, margins = experiment(np.random.default_rng(13), models=("a", "b"), n_humans=5)
    trials = al.Trials.from_table(answers)
    result = consistency(trials, margins)
    table = al.estimates.consistency_table(trials, result)
    people = answers.pivot(index="observer", columns="item", values="correct")[
        [f"i{i}" for i in range(80)]
    ].to_numpy()
    right = margins["margin"].to_numpy().reshape(2, -1) > 0
    from alikely.metrics import error_consistency

    def ec(x: np.ndarray, y: np.ndarray) -> float:
        cells = [(x & y).sum(), (x & ~y).sum(), (~x & y).sum(), (~x & ~y).sum()]
        return float(error_consistency(cells))

    people = people.astype(bool)
    for net in range(2):
        expected = np.mean([ec(person, right[net]) for person in people])
        assert table["error_consistency"][net] == pytest.approx(expected, abs=1e-12)
    assert table["error_consistency"][2] == pytest.approx(ec(right[0], right[1]))
    ceiling = np.mean([ec(people[i], people[j]) for i in range(5) for j in range(i)])
    assert table["group_error_consistency"][0] == pytest.approx(ceiling)
    assert table[["group_error_consistency", "margin_ceiling"]].iloc[2].isna().all()
    assert table["n_models"].tolist() == [1, 1, 2]
    assert table["group"].tolist() == ["human", "human", ""]
    assert table["model"].tolist() == ["a", "b", "b"]
    np.testing.assert_allclose(table["margin_ceiling"] ** 2, table["group_margin_consistency"])
    for metric in ("error", "margin"):
        part, mean = table[f"{metric}_consistency"], table[f"mean_{metric}_consistency"]
        assert mean[0] == mean[1] == pytest.approx(part[:2].mean())
        assert mean[2] == pytest.approx(part[2])
    turned = consistency(trials, margins, pairs=[("a", "human")])
    other = al.estimates.consistency_table(trials, turned).iloc[0]
    assert (other["model"], other["group"]) == ("a", "human")
    assert other["accuracy_model"] == table["accuracy_model"][0] == table["accuracy_b"][0]


def test_undefined_entries_have_a_note() -> None:
    answers, margins = experiment(np.random.default_rng(14), models=("net", "flat"))
    margins.loc[margins["observer"] == "flat", "margin"] = 1.0
    result = consistency(
        al.Trials.from_table(answers), margins, n_draws=400, pairs=[("human", "flat")]
    )
    row = result.summary(columns="all").iloc[0]
    assert np.isnan(row["estimate"])
    assert np.isnan(row["posterior_median"])
    assert "all margins of a system are equal" in row["note"]


def test_a_model_with_few_matched_items_needs_confirmation() -> None:
    rng = np.random.default_rng(3)
    right = (rng.random((4, 40)) < 0.7).astype(int)
    trials = al.Trials.from_correct(right, kind=["human"] * 4, item=[f"i{k}" for k in range(40)])
    items = [f"i{k}" for k in range(24, 64)]
    margins = pd.DataFrame({"observer": "net", "item": items, "margin": rng.normal(size=40)})
    options = {"n_resamples": 0, "n_draws": 0}
    with pytest.raises(ValueError, match=r"too few items of 'net' .* 16, .* 24, .*leave out"):
        al.decision_margin_consistency(trials, margins, **options)
    found = al.decision_margin_consistency(trials, margins.head(16), **options)
    assert found.summary()["n_trials"].tolist() == [16]


def test_systems_without_common_items_raise_an_error() -> None:
    trials, margins = al.simulate.detection_experiment(
        6, 40, 2, rho={"near": 0.9, "far": 0.4}, rng=1, n_alternatives=8
    )
    message = "'human' and 'near' have no item in common, though both have some of data set 'all'"
    with pytest.raises(ValueError, match=message) as caught:
        consistency(trials, margins.assign(item="x" + margins["item"]))
    assert "\n" not in str(caught.value)
    # Two groups of humans saw different halves; a model has all items.
    frame = trials.to_table()
    one = frame["observer"].isin(["human_1", "human_2", "human_3"])
    frame["lab"] = np.where(one, "east", "west")
    half = frame["item"].isin([f"item_{i + 1}" for i in range(20)])
    apart = al.Trials.from_table(frame[one == half], labels=["lab"])
    with pytest.raises(ValueError, match=r"'east' and 'west' have no item .* pairs=\[\(a, b\)"):
        consistency(apart, margins, group="lab")
    pairs = [("east", "near"), ("west", "near")]
    result = consistency(apart, margins, pairs=pairs, group="lab", n_resamples=0)
    assert result.summary()["n_trials"].tolist() == [20, 20]


@pytest.mark.slow
def test_the_posterior_of_strengths() -> None:
    trials, margins = al.simulate.detection_experiment(10, 80, rho={"near": 0.9, "far": 0.2}, rng=1)
    result = al.decision_margin_consistency(
        trials, margins, model="strengths", n_resamples=0, rng=1
    )
    frame = result.summary()
    assert frame["scale"].tolist() == ["strength", "strength", "margin"]
    assert result.data.attrs["model"] == result.data.attrs["sampler"] == "strengths"
    assert (result.estimates["inflation"].values[:2] >= 1).all()
    table = margin_table(trials, margins)
    group = group_strengths(*answers_of_group(table, 0, np.arange(80)), 16)
    fit = fit_model(group, table["margins"].values[1], rng=5, n_points=4_096)
    ends = strength_limits(fit, [0.025, 0.5, 0.975])
    names = ["posterior_eti95_lb", "posterior_median", "posterior_eti95_ub"]
    # The function uses 512 points, whose tails vary by a fifth of a standard error.
    assert frame.loc[0, names].to_list() == pytest.approx(
        ends.tolist(), abs=0.2 * (ends[2] - ends[0])
    )
    gap = al.difference(result, {"observer_b": "near"}, {"observer_b": "far"})
    low, high = gap.loc["posterior", ["eti95_lb", "eti95_ub"]]
    assert 0.3 < low < 0.75 < high < 1.3
