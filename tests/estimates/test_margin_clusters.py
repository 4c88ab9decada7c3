"""Decision margins of dependent items: clusters of items as the sampling unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import alikely as al
from alikely.inference.influence import estimate
from alikely.margins.moments import (
    Moments,
    group_side,
    model_side,
    moment_consistency,
    moment_limits,
)
from alikely.margins.reliability import split_half_reliability
from alikely.metrics.margins import DECISION_MARGIN_CONSISTENCY as METRIC
from alikely.metrics.margins import m_afc_probability

N_OBSERVERS = 10


def experiment(
    rng: np.random.Generator, sizes: list[int], icc: float, rho: float = 0.6
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correct responses, margins and clusters; strengths and margin noise have the same ICC."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    u, w = (
        np.sqrt(icc) * rng.normal(size=len(sizes))[label]
        + np.sqrt(1 - icc) * rng.normal(size=len(label))
        for _ in range(2)
    )
    p = m_afc_probability(1.6 + 1.6 * u, 16)
    right = (rng.random((N_OBSERVERS, len(label))) < p).astype(int)
    return right, rho * u + np.sqrt(1 - rho**2) * w, label


def tables(
    right: np.ndarray, margins: np.ndarray, label: np.ndarray
) -> tuple[al.Trials, pd.DataFrame]:
    items = [f"i{i}" for i in range(len(label))]
    trials = al.Trials.from_correct(
        right, item=items, kind=["human"] * len(right), item_columns={"template": label}
    )
    return trials, pd.DataFrame({"observer": "net", "item": items, "margin": margins})


SIZES = [3, 5, 8, 14, 30]


@pytest.fixture(scope="module")
def result() -> al.Result:
    made = experiment(np.random.default_rng(1), SIZES, 0.5)
    return al.decision_margin_consistency(
        *tables(*made), n_alternatives=16, cluster="template", rng=1
    )


def test_analytic_variance_is_the_jackknife_over_clusters(result: al.Result) -> None:
    right, margins, label = experiment(np.random.default_rng(1), SIZES, 0.5)
    share = right.mean(axis=0)
    r = np.corrcoef(share, margins)[0, 1]
    without = np.array([
        np.corrcoef(share[label != g], margins[label != g])[0, 1] for g in range(5)
    ])  # fmt: skip
    sums = 4 / 5 * (r - without)
    square, fourth = (sums**2).sum(), (sums**4).sum()
    found = result.estimates.isel(pair=0)
    assert float(found["se"]) ** 2 == pytest.approx(5 / 4 * square)
    u, v = stats.zscore(share), stats.zscore(margins)
    expected = np.bincount(label, (u * v - r * (u**2 + v**2) / 2) ** 2)
    unequal = expected.sum() ** 2 / (expected**2).sum() - 1
    df = min(2 * square**2 / (fourth - square**2 / 5), max(unequal, 1), 4)
    assert float(found["df"]) == pytest.approx(df)
    assert int(found["n_clusters"]) == 5
    # Student's interval on Fisher's scale.
    half = stats.t.ppf(0.975, df) * float(found["se"]) / (1 - r**2)
    row = result.summary(intervals="all").iloc[0]
    ends = row[["analytic_ci95_lb", "analytic_ci95_ub"]].to_list()
    assert ends == pytest.approx(np.tanh(np.arctanh(r) + [-half, half]).tolist())


def moments(right: np.ndarray | None, margins: list[np.ndarray], label: np.ndarray) -> Moments:
    """Moments of a group and a model, or of two models, with the jackknife over clusters."""

    def of(keep: np.ndarray, clusters: Any = None, again: Any = None) -> Moments:
        strata = np.zeros(keep.sum(), int)
        sides = [model_side(x[keep], strata) for x in margins]
        if right is not None:
            part = right[:, keep]
            sides.insert(0, group_side(part, np.ones_like(part), strata))
        return moment_consistency(sides[0], sides[1], strata, clusters, again)

    return of(np.ones(len(label), dtype=bool), label, of)


def test_moments_use_the_jackknife_over_clusters(result: al.Result) -> None:
    right, margins, label = experiment(np.random.default_rng(1), SIZES, 0.5)
    other = margins + np.random.default_rng(2).normal(size=60)
    found = moments(None, [margins, other], label)

    def both(keep: np.ndarray) -> np.ndarray:
        v = [stats.norm.ppf((stats.rankdata(x[keep]) - 0.5) / keep.sum()) for x in (margins, other)]
        (a, ab), (_, b) = np.cov(v, bias=True)
        return np.array([ab, np.sqrt(a * b)])

    every = both(np.ones(60, dtype=bool))
    moved = 4 / 5 * np.array([every - both(label != g) for g in range(5)])
    spread = 5 / 4 * moved.T @ moved
    np.testing.assert_allclose(found.spread, spread)
    sums = moved[:, 0] - found.rho * moved[:, 1]
    square, fourth = (sums**2).sum(), (sums**4).sum()
    # Ranks depend on all items, so the largest clusters dominate.
    assert 1 <= found.df <= min(2 * square**2 / (fourth - square**2 / 5), 4)
    assert found.df < 60**2 / (np.array(SIZES) ** 2).sum()
    row = result.summary(intervals="all").iloc[0]
    ends = row[["posterior_eti95_lb", "posterior_eti95_ub"]].to_list()
    expected = moment_limits(moments(right, [margins], label), [0.025, 0.975])
    assert ends == pytest.approx(expected.tolist(), abs=2e-3)


def test_a_condition_of_one_cluster_has_no_posterior() -> None:
    """Check that its estimate and the draws of other conditions remain."""
    right, margins, label = experiment(np.random.default_rng(1), SIZES, 0.5)
    trials, table = tables(right, margins, label)
    frames = [trials.to_table().assign(condition="many")]
    frames.append(frames[0].assign(condition="one", template="z"))
    frames[1]["item"] = "other " + frames[1]["item"]
    both = al.Trials.from_table(pd.concat(frames), item_columns=["template"])
    every = pd.concat([
        table.assign(condition="many"),
        table.assign(condition="one", item="other " + table["item"]),
    ])  # fmt: skip
    found = al.decision_margin_consistency(
        both, every, cluster="template", n_resamples=0, n_draws=50, rng=1
    )
    assert np.isnan(found.draws("posterior")).all(axis=0).tolist() == [False, True]
    many, one = (row for _, row in found.summary().iterrows())
    assert one["estimate"] == pytest.approx(many["estimate"])
    assert np.isnan(one["se"])
    assert np.isnan(one["posterior_median"])
    assert "all items are of one cluster" in one["note"]
    assert "all items are of one cluster" not in many["note"]


def test_reliability_resamples_clusters() -> None:
    right, _, label = experiment(np.random.default_rng(3), [10] * 20, 0.8)
    alone, of_items, clustered = (
        split_half_reliability(right, clusters=clusters, n_resamples=400, rng=1)
        for clusters in (None, np.arange(200), label)
    )
    assert alone == of_items
    assert clustered.reliability == alone.reliability
    assert clustered.upper - clustered.lower > 1.2 * (alone.upper - alone.lower)
    with pytest.raises(ValueError, match=r"clusters must be one for each of the 200 items, got"):
        split_half_reliability(right, clusters=label[1:])


def test_later_functions_use_the_clusters(result: al.Result) -> None:
    right, margins, label = experiment(np.random.default_rng(4), [6] * 20, 0.8)
    trials, one = tables(right, margins, label)
    other = one.assign(observer="other", margin=np.random.default_rng(5).permutation(margins))
    both = al.decision_margin_consistency(
        trials, pd.concat([one, other]), cluster="template", n_resamples=0, rng=1
    )
    pair = [{"observer_a": "human", "observer_b": name} for name in ("net", "other")]
    row = al.difference(both, *pair).loc["analytic"]
    share = right.mean(axis=0)

    def value(used: np.ndarray) -> float:
        r = [np.corrcoef(share[used], x[used])[0, 1] for x in (margins, other["margin"].to_numpy())]
        return float(r[0] - r[1])

    every = np.ones(120, dtype=bool)
    moved = 19 / 20 * np.array([value(every) - value(label != g) for g in range(20)])
    assert row["se"] ** 2 == pytest.approx(20 / 19 * (moved**2).sum())
    table = al.estimates.consistency_table(trials, both)
    alone = al.estimates.consistency_table(
        trials, al.decision_margin_consistency(trials, pd.concat([one, other]), n_draws=0, rng=1)
    )
    for name in ("error_consistency", "group_error_consistency", "mean_margin_consistency"):
        width, plain = (t[f"{name}_ub"] - t[f"{name}_lb"] for t in (table, alone))
        # The shuffled margins of the other model have no clusters.
        assert width[0] > plain[0] or name == "mean_margin_consistency"
        assert width[0] != plain[0]
        assert table[name].to_numpy() == pytest.approx(alone[name].to_numpy(), nan_ok=True)
    assert "clustered by template" in both.sentence()
    assert al.benchmark.scores_from_result(both).summary()["n_entries"].tolist() == [1, 1]


def true_correlation(rho: float) -> float:
    """True correlation of margins with proportions correct of ten equal observers."""
    x, w = np.polynomial.hermite_e.hermegauss(120)
    p, w = m_afc_probability(1.6 + 1.6 * x, 16), w / w.sum()
    variance = w @ p**2 - (w @ p) ** 2 + w @ (p * (1 - p)) / N_OBSERVERS
    return float(rho * (w @ (p * x)) / np.sqrt(variance))


def test_intervals_cover(sets: Any) -> None:
    """Coverage for 25 clusters of 12 items (ICC 0.3): nominal with clusters, lower without."""
    from alikely.inference.intervals import analytic_interval
    from alikely.margins.tables import margin_table

    rng, truth, n = np.random.default_rng(11), true_correlation(0.6), sets(200)
    table = None
    inside = np.zeros(2)
    for _ in range(n):
        right, margins, label = experiment(rng, [12] * 25, 0.3)
        if table is None:
            trials, model = tables(right, margins, label)
            table = margin_table(trials, al.margins.decision_margins(model, trials=trials))
        index = np.stack([right.mean(axis=0), margins])
        here = table.assign(margins=(("observer", "trial"), index))
        for k, cluster in enumerate((None, "template")):
            found = estimate(here, METRIC, cluster).isel(pair=0)
            df = float(found["df"]) if cluster else np.inf
            ends = analytic_interval(
                METRIC,
                np.array([found["estimate"]]),
                np.array([found["se"]]),
                stats.t.ppf(0.975, df),
            )[0]
            inside[k] += ends[0] <= truth <= ends[1]
    # Four Monte Carlo errors of a coverage of 0.95.
    room = 4 * np.sqrt(0.95 * 0.05 / n)
    assert inside[1] / n == pytest.approx(0.95, abs=room)
    assert inside[0] < inside[1]
