"""All forms of all models: the tools of PyMC, and the interpreter of densities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.compile.mode import Mode

import alikely as al
from alikely.data.cohorts import cohort_counts
from alikely.inference.interpreter.models import Graphs
from alikely.simulate import cohort
from studies.cases import CASES

# Do not rewrite graphs that run only a few times.
PLAIN = Mode("py", None)
N_DRAWS = 3
A = al.models


def cohort_with_covariates() -> pm.Model:
    """Two groups with a fixed spread, three with an estimated spread, and numeric covariates."""
    counts = cohort_counts(cohort([0.2] * 6, [0.7] * 6, [0.6, 0.9], 0.4, n_trials=40, rng=1))
    model = {"year": range(2012, 2018), "new": list("ababab"), "family": list("aabbcc")}
    condition = {"strength": [0.0, 5.0]}
    tables = {"model": model, "condition": condition}
    return A.cohort(
        counts,
        covariates={k: pd.DataFrame(v, index=counts[k].values) for k, v in tables.items()},
    )


def spectrum_with_covariates() -> pm.Model:
    right = np.random.default_rng(3).binomial(60, np.repeat([0.95, 0.9, 0.5, 0.4], 2))
    condition, person = np.repeat(np.arange(4), 2), np.tile(np.arange(2), 4)
    tables = {
        "condition": pd.DataFrame({"contrast": [1.0, 0.8, 0.3, 0.1], "blurred": list("abab")}),
        "human": pd.DataFrame({"age": [20, 40]}),
    }
    shown, reference = np.full(8, 60), np.arange(4) < 2
    return A.spectrum(right, shown, condition, person, reference, 1, covariates=tables)


# All public models, starting with the forms on pages, and forms with other variables.
MODELS: dict[str, Callable[[], pm.Model]] = {
    **{name: case.example for name, case in CASES.items()},
    **{
        f"{name}, {branch}": CASES[name].of(branch).design
        for name, branch in (
            ("cohort", "people"),
            ("item_margins", "sinh_arcsinh"),
            ("observer_margins", "many_repeats"),
        )
    },
    "cohort, covariates": cohort_with_covariates,
    "spectrum, one regime, covariates": spectrum_with_covariates,
}


@pytest.fixture(
    scope="module",
    params=[
        name if name in CASES else pytest.param(name, marks=pytest.mark.slow) for name in MODELS
    ],
)
def model(request: pytest.FixtureRequest) -> pm.Model:
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def prior(model: pm.Model) -> xr.DataTree:
    with model:
        return pm.sample_prior_predictive(N_DRAWS, random_seed=1, compile_kwargs={"mode": PLAIN})


def test_variables_have_dims_and_no_potentials(model: pm.Model) -> None:
    """Variables have default starts, dims and a place in the graph; there are no potentials."""
    assert set(model.rvs_to_initial_values.values()) <= {None}
    assert not model.potentials
    for variable in [*model.free_RVs, *model.observed_RVs, *model.deterministics, *model.data_vars]:
        dims = model.named_vars_to_dims.get(variable.name, ())
        assert len(dims) == variable.ndim, variable.name
        assert None not in dims, variable.name
    drawn = pm.model_to_mermaid(model)
    assert all(f"{variable.name}" in drawn for variable in model.basic_RVs)


def test_prior_predictive_draws_have_all_observed_variables(
    model: pm.Model, prior: xr.DataTree
) -> None:
    assert set(prior["prior_predictive"].data_vars) == {v.name for v in model.observed_RVs}
    for variable in model.observed_RVs:
        drawn, seen = (
            prior["prior_predictive"][variable.name],
            prior["observed_data"][variable.name],
        )
        assert drawn.dims == ("chain", "draw", *model.named_vars_to_dims[variable.name])
        assert drawn.shape == (1, N_DRAWS, *seen.shape)
        assert np.isfinite(drawn).all()
    names = {v.name for v in [*model.free_RVs, *model.deterministics]}
    assert set(prior["prior"].data_vars) == names


@pytest.mark.slow
def test_interpreted_models_agree_with_pytensor(model: pm.Model) -> None:
    """Compare density, gradient and saved quantities with PyTensor at random points.

    Graphs run in Python, because compiling takes minutes. The tolerance is rounding: functions such
    as digamma have errors of 3e-13, and there are a hundred operations.
    """
    made = Graphs(model)
    sampled = made.sampled(made.tapes({}), lambda seed: np.zeros(0))
    density, draw = sampled._make_logp_func(), sampled._make_expand_func(1, 2, 0)
    values = [model.rvs_to_values[variable] for variable in model.free_RVs]
    terms = model.logp(sum=False)
    logp = pt.sum([pt.sum(term) for term in terms])
    scale = pt.sum([pt.sum(pt.abs(term)) for term in terms])
    kept = [*model.free_RVs, *model.deterministics]
    plain = model.compile_fn(
        [logp, scale, *pytensor.grad(logp, values), *model.replace_rvs_by_values(kept)],
        inputs=values, mode=PLAIN, point_fn=False, on_unused_input="ignore",
    )  # fmt: skip
    rng = np.random.default_rng(4)
    start = model.initial_point()
    tolerance = 100 * 3e-13
    for _ in range(2):
        point = [start[v.name] + rng.normal(0, 0.5, np.shape(start[v.name])) for v in values]
        wanted, size, *rest = plain(*point)
        flat = np.concatenate([np.ravel(part) for part in point])
        found, slope = density(flat)
        assert found == pytest.approx(wanted, rel=0, abs=tolerance * size)
        gradient = np.concatenate([np.ravel(part) for part in rest[: len(values)]])
        np.testing.assert_allclose(slope, gradient, rtol=0, atol=tolerance * abs(gradient).max())
        drawn = draw(flat)
        for variable, expected in zip(kept, rest[len(values) :], strict=True):
            number = drawn[variable.name]
            assert number.shape == expected.shape, variable
            atol = tolerance * np.abs(expected).max(initial=0)
            np.testing.assert_allclose(number, expected, rtol=tolerance, atol=atol)
