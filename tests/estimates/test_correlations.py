"""Correlations between metrics, compared with scipy and resampling by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import alikely as al

BARE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}


def results(trials: al.Trials) -> list[al.Result]:
    return [
        al.error_consistency(trials, **BARE),
        al.misclassification_agreement(trials, **BARE),
        al.error_similarity(trials, **BARE),
    ]


@pytest.fixture(scope="module")
def three() -> list[al.Result]:
    return results(al.load_example())


def test_correlations_equal_those_of_scipy(three: list[al.Result]) -> None:
    table = al.metric_correlations(three, n_resamples=50, rng=1)
    assert len(table) == 3 * 5
    values = {r.metric.name: r.estimates["estimate"].values for r in three}
    where = three[0].pairs["condition"].to_numpy()
    for (one, other), part in table.groupby(["metric", "other"]):
        rows = part.set_index("domain")["correlation"]
        defined = np.isfinite(values[one]) & np.isfinite(values[other])
        by_condition = []
        for condition in ("clean", "blur", "noise"):
            here = defined & (where == condition)
            expected = stats.spearmanr(values[one][here], values[other][here]).statistic
            assert rows[f"all | {condition}"] == pytest.approx(expected)
            by_condition.append(expected)
        assert rows["mean"] == pytest.approx(np.mean(by_condition))
        expected = stats.spearmanr(values[one][defined], values[other][defined]).statistic
        assert rows["global"] == pytest.approx(expected)
    undefined = table.set_index(["other", "domain"])["n_undefined"]
    assert undefined["misclassification_agreement", "global"].max() > 0
    assert (table["n_pairs"] + table["n_undefined"]).isin([45, 135]).all()


@pytest.mark.slow
def test_systems_are_resampled_and_not_pairs(three: list[al.Result]) -> None:
    table = al.metric_correlations(three[::2], n_resamples=400, rng=2)
    row = table.set_index("domain").loc["all | noise"]
    part = three[0].pairs.assign(
        x=three[0].estimates["estimate"].values, y=three[2].estimates["estimate"].values
    )
    part = part[part["condition"] == "noise"]
    names = sorted(set(part["observer_a"]) | set(part["observer_b"]))
    rng, replicates = np.random.default_rng(3), []
    both = {
        frozenset((a, b)): values
        for a, b, *values in part[["observer_a", "observer_b", "x", "y"]].itertuples(index=False)
    }
    for _ in range(400):
        drawn = rng.choice(names, len(names))
        x = [both[frozenset((a, b))] for i, a in enumerate(drawn) for b in drawn[:i] if a != b]
        replicates.append(stats.spearmanr(*np.array(x, float).T).statistic)
    low, high = np.quantile(replicates, [0.025, 0.975])
    # The error of quantiles of 400 replicates uses the density of a normal of that width.
    spread = np.std(replicates)
    error = np.sqrt(0.025 * 0.975 / 400) / stats.norm.pdf(1.96) * spread
    found = row.filter(like="bootstrap_").astype(float)
    np.testing.assert_allclose(found, [low, high], atol=4 * np.sqrt(2) * error)


def test_rank_correlations_are_invariant_to_monotone_functions(three: list[al.Result]) -> None:
    """Divergence decreases monotonically with similarity, so rank correlations are equal."""
    base_e = al.compare(al.load_example(), al.metrics.get_metric("CLES", base=np.e), **BARE)
    one = al.metric_correlations([three[0], three[2]], n_resamples=50, rng=4)
    other = al.metric_correlations([three[0], base_e], n_resamples=50, rng=4)
    pd.testing.assert_frame_equal(one, other)
