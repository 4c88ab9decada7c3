"""Null distributions of a result: trees for ArviZ, and tables."""

from __future__ import annotations

import arviz_stats as azs
import matplotlib as mpl
import numpy as np
import pytest
import xarray as xr

import alikely as al
from alikely.data import from_counts
from alikely.estimates import independent_observers
from alikely.inference import null

mpl.use("Agg")

# The last two: an observer who never errs, and no common trial.
CELLS = [[70, 20, 25, 45], [100, 20, 30, 10], [39, 1, 0, 0], [0, 0, 0, 0]]
N_DRAWS = 2000


@pytest.fixture(scope="module")
def result() -> al.Result:
    return al.error_consistency(from_counts(CELLS), n_resamples=0, rng=1)


@pytest.fixture(scope="module")
def exact(result: al.Result) -> xr.DataTree:
    return independent_observers(result, N_DRAWS, rng=1, n_resamples=3000)


def test_a_row_for_each_comparison_and_method(result: al.Result, exact: xr.DataTree) -> None:
    assert exact["null"]["way"].values.tolist() == ["exact", "bootstrap"]
    assert exact["null"]["n_replicates"].values.tolist() == [[2000, 3000]] * 4
    estimates = result.estimates["estimate"].values
    for way, group in (("exact", "posterior_predictive"), ("bootstrap", "bootstrap")):
        values = exact[group]["error_consistency"].values.reshape(-1, 4).astype(float)
        rows = exact["null"].to_dataset().sel(way=way).to_dataframe().reset_index(drop=True)
        np.testing.assert_array_equal(rows["estimate"], estimates)
        np.testing.assert_array_equal(rows["n_undefined"], np.isnan(values).sum(axis=0))
        np.testing.assert_array_equal(rows["p_value"][:2], null.p_value(estimates, values)[:2])
        for pair in range(2):
            draws = values[~np.isnan(values[:, pair]), pair]
            assert rows["null_mean"][pair] == pytest.approx(draws.mean(), rel=1e-9)
            assert rows["null_sd"][pair] == pytest.approx(draws.std(ddof=1), rel=1e-9)
            for kind, compute in (("eti", azs.eti), ("hdi", azs.hdi)):
                bounds = rows.loc[pair, [f"null_{kind}95_lb", f"null_{kind}95_ub"]]
                np.testing.assert_allclose(bounds.astype(float), compute(draws, 0.95), atol=1e-6)


def test_undefined_values_are_counted_and_noted(exact: xr.DataTree) -> None:
    table = exact["null"].to_dataset().to_dataframe()
    never, nothing = table.iloc[4:6], table.iloc[6:]
    # Exact draws allow errors that do not occur in bootstrap samples.
    assert ((never["n_undefined"] > 0) & (never["n_undefined"] < N_DRAWS)).all()
    assert never["null_hdi95_lb"].notna().iloc[0]
    assert never["note"].tolist() == ["", ""]
    assert (never["null_sd"].iloc[1], never["p_value"].iloc[1]) == (0, 1)
    assert nothing["n_undefined"].tolist() == [2000, 3000]
    assert nothing[["estimate", "null_mean", "null_eti95_lb", "p_value"]].isna().all(axis=None)
    assert nothing["note"].str.contains("no common trials; no two replicates are defined").all()
