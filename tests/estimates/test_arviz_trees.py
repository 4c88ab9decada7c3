"""Functions that sample return trees that ArviZ accepts in all of its methods."""

from __future__ import annotations

import functools

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import alikely as al

EVERY = {
    "posterior",
    "sample_stats",
    "observed_data",
    "prior",
    "prior_predictive",
    "posterior_predictive",
    "log_likelihood",
    "log_prior",
}
N_DRAWS = 100
SHORT = {"n_draws": N_DRAWS, "rng": 1, "include": "all"}


@functools.cache
def example():
    return al.load_example()


def consistency():
    table = al.data.joint_correctness(example(), "human-human")
    return al.inference.posterior(table, "nuts", **SHORT)


def cohort():
    return al.fit_cohort(example().select(condition=["blur", "noise"]), **SHORT)


def counted(tree, name):
    """Select observed counts, without errors of a class that an observer never confused.

    Their log likelihood is constant at 0, so ArviZ cannot compute weights.
    """
    values = tree["log_likelihood"].to_dataset()[name]
    flat = values.stack(seen=values.dims[2:]).reset_index("seen", drop=True)
    varied = flat.std(("chain", "draw")) > 0
    groups = {"posterior": tree["posterior"].to_dataset()}
    groups["log_likelihood"] = flat[..., varied.values].to_dataset(name=name)
    return xr.DataTree.from_dict(groups)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::alikely.inference.chains.SamplingWarning")
@pytest.mark.filterwarnings("ignore:.*look (discrete|binary):UserWarning")
@pytest.mark.filterwarnings("ignore:Estimated shape parameter:UserWarning")
@pytest.mark.parametrize("func", [consistency, cohort])
def test_arviz_accepts_returned_trees(func):
    tree = func()
    assert set(tree.children) >= EVERY
    assert tree["posterior"].sizes["chain"] * tree["posterior"].sizes["draw"] == N_DRAWS
    # Statistics need the same draws as the posterior, or ArviZ cannot mark divergences.
    thin = tree.attrs["thin"]
    np.testing.assert_array_equal(tree["posterior"]["draw"], thin * np.arange(N_DRAWS // 4))
    np.testing.assert_array_equal(tree["sample_stats"]["draw"], tree["posterior"]["draw"])
    assert tree.attrs["n_divergences"] >= int(tree["sample_stats"]["diverging"].sum())
    assert tree.attrs["evaluator"] in ("interpreter", "numba")
    observed = {str(name) for name in tree["observed_data"].data_vars}
    assert observed <= set(tree["posterior_predictive"].data_vars)
    for name in observed:
        assert tree["posterior_predictive"][name].shape[2:] == tree["observed_data"][name].shape
    for attribute in ("pymc_version", "nutpie_version", "seed", "priors", "seconds_sampling"):
        assert attribute in tree.attrs

    # Variables with the fewest elements, because ArviZ draws at most forty panels.
    size = {str(name): values[0, 0].size for name, values in tree["posterior"].data_vars.items()}
    scalar = sorted(size, key=size.__getitem__)
    some = scalar[:2]
    assert len(az.summary(tree, var_names=some)) > 0
    shown = str(next(iter(tree["log_likelihood"].data_vars)))
    one = {"var_names": some[:1]}
    az.plot_forest(tree, **one)
    az.plot_trace_dist(tree, **one)
    az.plot_rank(tree, **one)
    az.plot_energy(tree)
    az.plot_prior_posterior(tree, **one)
    az.plot_ppc_dist(tree, var_names=[sorted(observed)[0]])
    told = counted(tree, shown)
    loo = az.loo(told, var_name=shown)
    assert np.isfinite(loo.elpd)
    assert len(az.compare({"a": loo, "b": az.loo(told, var_name=shown)})) == 2
    assert len(az.psense_summary(tree, var_names=some[:1])) > 0
    plt.close("all")
