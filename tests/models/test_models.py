"""The PyMC models: exact posteriors, quadrature, their priors and their pages."""

from __future__ import annotations

import re
import warnings
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.compile.mode import Mode

import alikely as al
from alikely.data.tables import from_counts
from alikely.inference import sampling
from alikely.inference.process import pairwise_draws
from alikely.models._parts import informed, informed_zero_sum

TABLES = [[100, 20, 20, 20], [30, 60, 50, 20], [150, 5, 4, 1], [158, 2, 0, 0], [160, 0, 0, 0]]


@pytest.fixture(scope="module")
def nuts_default() -> xr.DataTree:
    # Warnings are errors here, so a divergence or a bad r_hat fails the test.
    return sampling.posterior(from_counts(TABLES), "nuts", n_draws=4_000, rng=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["error_consistency", "copy_probability"])
def test_nuts_equals_the_exact_posterior(nuts_default: xr.DataTree, name: str) -> None:
    n_exact = 100_000
    exact = pairwise_draws(TABLES, n_draws=n_exact, rng=2)[name]
    draws = nuts_default["posterior"][name]
    assert int(nuts_default["sample_stats"]["diverging"].sum()) == 0
    for pair in range(len(TABLES)):
        for level in (0.025, 0.25, 0.5, 0.75, 0.975):
            below = (draws.isel(pair=pair) <= np.quantile(exact[:, pair], level)).astype(float)
            ess = float(az.ess(below.to_dataset(name="below"))["below"])
            spread = np.sqrt(level * (1 - level) * (1 / ess + 1 / n_exact))
            assert float(below.mean()) == pytest.approx(level, abs=4 * spread)
        ess = float(az.ess(draws.isel(pair=pair).to_dataset(name="x"))["x"])
        mcse = exact[:, pair].std() * np.sqrt(1 / ess + 1 / n_exact)
        assert float(draws.isel(pair=pair).mean()) == pytest.approx(
            exact[:, pair].mean(), abs=4 * mcse
        )


@pytest.mark.parametrize("prior", [None, {"u": (1.0, 1.0)}])
def test_without_common_trials_no_prior_is_reported(prior: Any) -> None:
    table = from_counts([[0, 0, 0, 0], *TABLES[:4]])
    draws = sampling.posterior(table, "exact", prior, n_draws=400, rng=1)["posterior"]
    missing = np.isnan(draws["error_consistency"].values).mean(axis=(0, 1))
    assert missing.tolist() == [1, 0, 0, 0, 0]


def funnel() -> pm.Model:
    with pm.Model() as model:
        scale = pm.Normal("scale", 0, 3)
        pm.Normal("value", 0, pm.math.exp(scale), shape=9)
    return model


def cliff() -> pm.Model:
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1)
        pm.Potential("edge", pm.math.switch(x > 0.5, -np.inf, 0.0))
    return model


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "n_draws", "message"),
    [
        (funnel, 800, r"r_hat up to \d\.\d+ for (scale|value) .*size down to \d+ for scale"),
        (
            cliff,
            4000,
            r"\d+ divergent transitions; use more informative priors; to inspect the chains:",
        ),
    ],
)
def test_sampling_problems_give_one_warning(model: Any, n_draws: int, message: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        al.inference.nuts(model(), n_draws=n_draws, tune=300, rng=1)
    (ours,) = [w for w in caught if issubclass(w.category, al.inference.SamplingWarning)]
    assert re.search(f"^NUTS: .*{message}", str(ours.message))


@pytest.mark.slow
def test_log_likelihood_and_loo() -> None:
    trials = al.load_example().select(condition="noise", observer=["human_1", "human_2", "model_1"])
    result = al.error_consistency(trials, rng=1)
    copying = al.inference.posterior(result.table, include=["log_likelihood"], rng=1)
    loo = az.loo(copying, pointwise=True)
    exact = al.test_copy_model(result)
    assert loo.n_data_points == result.table["cells"].values.sum()
    # az.loo sums over comparisons; PSIS with 4,000 draws has an error of a few hundredths.
    assert loo.elpd == pytest.approx(exact["elpd_copying"].sum(), abs=0.15)


# Do not rewrite graphs that run only a few times.
PLAIN = Mode("py", None)
SEEN, INFORMATION = np.array([0.5, 1.0, -2.0]), 3.0


def made(kind: str) -> pm.Model:
    with pm.Model(coords={"group": [0, 1, 2]}) as model:
        sd = pm.Gamma("sd", 2, 2)
        if kind == "sums to zero":
            informed_zero_sum("x", sd, SEEN, INFORMATION, "group")
        else:
            informed("x", 0.3, sd, SEEN, INFORMATION, "group")
    return model


def value_of(model: pm.Model, coordinates: np.ndarray, sd: float) -> np.ndarray:
    x = model["x"]
    moved = model.rvs_to_transforms[x].backward(pt.as_tensor(coordinates), *x.owner.inputs)
    return np.asarray(moved.eval({model["sd"]: sd}, mode=PLAIN))


@pytest.mark.parametrize("sd", [0.01, 0.8, 30.0])
@pytest.mark.parametrize("kind", ["sums to zero", "free"])
def test_density_is_normal(kind: str, sd: float) -> None:
    model = made(kind)
    x, n = model["x"], 2 if kind == "sums to zero" else 3
    coordinates = np.array([0.3, -0.7, 1.1])[:n]
    value = value_of(model, coordinates, sd)
    usual: Any = pm.Normal.dist(0.3, sd, shape=3)
    if kind == "sums to zero":
        usual = pm.ZeroSumNormal.dist(np.array(sd), support_shape=(3,))
        assert value.sum() == pytest.approx(0, abs=1e-12 * np.abs(value).max())
    found = pm.logp(x, value).sum().eval({model["sd"]: sd}, mode=PLAIN)
    assert found == pytest.approx(pm.logp(usual, value).sum().eval(mode=PLAIN))
    # Values are linear in the coordinates, so differences are derivatives.
    moved = [value_of(model, coordinates + step, sd) - value for step in np.eye(n)]
    volume = np.linalg.slogdet(np.array(moved) @ np.array(moved).T)[1] / 2
    jacobian = model.rvs_to_transforms[x].log_jac_det(pt.as_tensor(coordinates), *x.owner.inputs)
    assert jacobian.sum().eval({model["sd"]: sd}, mode=PLAIN) == pytest.approx(volume)
    back = model.rvs_to_transforms[x].forward(pt.as_tensor(value), *x.owner.inputs)
    np.testing.assert_allclose(back.eval({model["sd"]: sd}, mode=PLAIN), coordinates)


@pytest.mark.parametrize("kind", ["sums to zero", "free"])
def test_coordinates_are_centered_at_the_mean_or_the_data(kind: str) -> None:
    """Coordinates 0 give the mean if the spread is small, and the data if it is large."""
    model = made(kind)
    zero = np.zeros(2 if kind == "sums to zero" else 3)
    mean, seen = (0.0, SEEN - SEEN.mean()) if kind == "sums to zero" else (0.3, SEEN)
    # The observed values have weight 3 sd**2, and the prior has weight 1.
    np.testing.assert_allclose(value_of(model, zero, 1e-3), mean, atol=1e-5)
    np.testing.assert_allclose(value_of(model, zero, 1e3), seen, atol=1e-5)


def test_draws_sum_to_zero_and_spread() -> None:
    with pm.Model(coords={"group": [0, 1, 2]}) as model:
        informed_zero_sum("x", np.array(2.0), SEEN, INFORMATION, "group")
    drawn = pm.draw(model["x"], 2_000, random_seed=1, mode=PLAIN)
    np.testing.assert_allclose(drawn.sum(axis=1), 0, atol=1e-12)
    # Four Monte Carlo errors of a standard deviation.
    wanted = 2 * np.sqrt(2 / 3)
    np.testing.assert_allclose(drawn.std(axis=0), wanted, atol=4 * wanted / np.sqrt(4_000))
