"""Several metrics: tables of pairs, and families on one scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import alikely as al
from alikely.papers import family_scores

BARE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}


@pytest.fixture(scope="module")
def ec() -> al.Result:
    return al.error_consistency(al.load_example(), **BARE)


def table_of(result: al.Result, name: str = "other") -> pd.DataFrame:
    return result.pairs.assign(**{name: result.estimates["estimate"].values})


def test_a_table_is_as_good_as_a_result(ec: al.Result) -> None:
    ma = al.misclassification_agreement(al.load_example(), **BARE)
    name = "misclassification_agreement"
    expected = al.metric_correlations([ec, ma], n_resamples=20, rng=1)
    table = table_of(ma, name).sample(frac=1, random_state=1)
    turned = table.rename(columns={"observer_a": "observer_b", "observer_b": "observer_a"})
    for given in (table, turned):
        found = al.metric_correlations([ec, given], n_resamples=20, rng=1)
        pd.testing.assert_frame_equal(found, expected)


def test_a_table_without_domains_holds_for_all(ec: al.Result) -> None:
    pairs = ec.pairs[["observer_a", "observer_b"]].drop_duplicates()
    values = np.random.default_rng(1).random(len(pairs))
    found = al.metric_correlations([pairs.assign(cka=values), ec], n_resamples=20, rng=1)
    assert (found["metric"] == "cka").all()
    noise = (ec.pairs["condition"] == "noise").to_numpy()
    own = ec.estimates["estimate"].values[noise]
    expected = stats.spearmanr(own, values).statistic
    row = found.set_index("domain").loc["all | noise"]
    assert row["correlation"] == pytest.approx(expected)


def test_families_by_hand(ec: al.Result) -> None:
    trials = al.load_example()
    ma = al.misclassification_agreement(trials, **BARE)
    family = trials.data["family"].to_series().to_dict()
    found = family_scores([ec, ma], family, n_permutations=50, rng=1)
    table = table_of(ec, "value")
    z = table.groupby("condition")["value"].transform(lambda v: (v - v.mean()) / v.std())
    both = [
        tuple(sorted((family[a], family[b]))) for a, b in table[["observer_a", "observer_b"]].values
    ]
    means = z.groupby(pd.Series(both, index=z.index)).mean()
    rows = found[found["metric"] == "error_consistency"]
    for row in rows.to_dict("records"):
        assert row["z"] == pytest.approx(means[tuple(sorted((row["family"], row["other"])))])
    assert len(rows) == 6
    pooled = family_scores([ec, ma], family, within_domain=False, n_permutations=50, rng=1)
    assert not np.allclose(pooled["z"], found["z"])
