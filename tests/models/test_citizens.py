"""PyMC's own tools work on every model of the catalogue, under each of its options."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from pymc.stats import compute_log_prior
from pytensor.compile.mode import Mode

import alikely as al
from alikely.data.cohorts import cohort_counts
from alikely.models.criteria import class_criteria
from alikely.simulate import cohort as simulated_cohort
from studies.cases import CASES

# Graphs that run a few times are not worth rewriting.
PLAIN = Mode("py", None)
N_DRAWS = 3
ROWS = np.random.default_rng(1).poisson(4, (2, 3, 3)) + 1
RIGHT = np.random.default_rng(2).binomial(3, np.linspace(0.3, 0.9, 6), (2, 6))
MARGINS = np.arange(6.0)
ANSWERS = np.random.default_rng(4).multinomial(10, [0.5, 0.3, 0.2], 6) + 1
SPECTRUM = (
    np.random.default_rng(3).binomial(60, np.repeat([0.95, 0.9, 0.5, 0.4], 2)),
    np.full(8, 60), np.repeat(np.arange(4), 2), np.tile(np.arange(2), 4), np.arange(4) < 2,
)  # fmt: skip


# Groups of two, whose spread is fixed, and of three, whose spread is learned; numbers.
OF_SPECTRUM = {
    "condition": pd.DataFrame({"contrast": [1.0, 0.8, 0.3, 0.1], "blurred": list("abab")}),
    "human": pd.DataFrame({"age": [20, 40]}),
}


@functools.cache
def counts(by_person: bool = False) -> xr.Dataset:
    """Humans and machines, one data set of two conditions."""
    trials = simulated_cohort(
        [0.2, 0.8], [0.7] * 2, [0.6, 0.9], 0.4, n_humans=3, n_trials=40, rng=1
    )
    return cohort_counts(trials, who_was_right=by_person)


def of_cohort(human_effects: bool) -> dict[str, pd.DataFrame]:
    """Covariates of all that has effects."""
    labels = counts()
    tables = {
        "machine": pd.DataFrame({"year": [2012, 2020]}, index=labels["machine"].values),
        "condition": pd.DataFrame({"strength": [0.0, 5.0]}, index=labels["condition"].values),
    }
    if human_effects:
        people = {"site": list("xyx"), "age": [20, 30, 50]}
        tables["human"] = pd.DataFrame(people, index=labels["person"].values)
    return tables


def margins_of(groups: int, link: str) -> pm.Model:
    if groups == 2:
        return al.models.item_margins(RIGHT, np.full((2, 6), 3), m=4, link=link)
    return al.models.item_margins(RIGHT[0], np.full(6, 3), MARGINS, m=4, link=link)


MODELS: dict[str, Callable[[], pm.Model]] = {
    **{
        name: CASES[name].example
        for name in ("copying", "class_copying", "paired_errors")
    },
    "copying, prior on copying": lambda: al.models.copying(
        [[30, 5, 5, 10], [9, 1, 2, 8]], priors={"copy_probability": (1.0, 1.0)}
    ),
    "copying, independent": lambda: al.models.copying([100, 20, 20, 20], independent=True),
    "cohort, alike, line": lambda: al.models.cohort(counts(), human_effects=False),
    "cohort, human effects, saturated": lambda: al.models.cohort(
        counts(), human_effects=True, saturated=True
    ),
    "cohort, people": lambda: al.models.cohort(counts(True), human_effects="drawn"),
    "cohort, human effects, covariates": lambda: al.models.cohort(
        counts(), human_effects=True, covariates=of_cohort(True)
    ),
    **{
        f"error_distributions, {base}, {c}": functools.partial(
            al.models.error_distributions, ROWS, base=base, concentration=c
        )
        for base in ("shared", "uniform", "learned")
        for c in (None, 0.5)
    },
    "error_distributions, many systems": lambda: al.models.error_distributions(
        np.tile(ROWS, (5, 1, 1))
    ),
    **{
        f"item_margins, {n} groups, {link}": functools.partial(margins_of, n, link)
        for n in (1, 2)
        for link in ("m_afc", "probit")
    },
    "item_margins, sinh_arcsinh": lambda: al.models.item_margins(
        RIGHT[0], np.full(6, 3), MARGINS, m=4, law="sinh_arcsinh"
    ),
    "item_margins, 2 groups, sinh_arcsinh": lambda: al.models.item_margins(
        RIGHT, np.full((2, 6), 3), m=4, law="sinh_arcsinh"
    ),
    "item_margins, criteria": lambda: class_criteria(ANSWERS, np.arange(6) % 3, MARGINS),
    **{
        f"observer_margins, {components}, {link}, {given}": functools.partial(
            al.models.observer_margins, RIGHT, np.full((2, 6), 3), margins,
            m=4, link=link, components=components,
        )
        for components in ("all", "shared")
        for link in ("m_afc", "probit")
        for given, margins in (("alone", None), ("margins", MARGINS))
    },
    "observer_margins, many answers": lambda: al.models.observer_margins(
        34 * RIGHT, np.full((2, 6), 102), MARGINS, m=4, components="shared"
    ),
    **{
        f"spectrum, k = {k}": functools.partial(al.models.spectrum, *SPECTRUM, k)
        for k in (1, 2, 3, 4)
    },
    **{
        f"spectrum, k = {k}, covariates": functools.partial(
            al.models.spectrum, *SPECTRUM, k, covariates=OF_SPECTRUM
        )
        for k in (1, 3)
    },
}  # fmt: skip


def test_all_models_are_tried() -> None:
    assert {name.split(",")[0] for name in MODELS} == set(CASES)
    assert {name.split(",")[0] for name in QUICK} == set(CASES)
    assert set(MODELS) >= QUICK


# One of each model; the others take three times as long.
QUICK = {
    "copying", "copying, independent", "class_copying", "paired_errors",
    "cohort, alike, line", "item_margins, criteria", "error_distributions, shared, None",
    "item_margins, 1 groups, m_afc", "observer_margins, shared, probit, alone", "spectrum, k = 1",
}  # fmt: skip


@pytest.fixture(
    scope="module",
    params=[
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MODELS
    ],
)
def model(request: pytest.FixtureRequest) -> pm.Model:
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def prior(model: pm.Model) -> xr.DataTree:
    with model:
        return pm.sample_prior_predictive(N_DRAWS, random_seed=1, compile_kwargs={"mode": PLAIN})


def test_parts_have_names_and_no_tricks(model: pm.Model) -> None:
    """No starts of its own, no potentials; dims of all that has any, and a graph to look at."""
    assert set(model.rvs_to_initial_values.values()) <= {None}
    assert not model.potentials
    for variable in [*model.free_RVs, *model.observed_RVs, *model.deterministics, *model.data_vars]:
        dims = model.named_vars_to_dims.get(variable.name, ())
        assert len(dims) == variable.ndim, variable.name
        assert None not in dims, variable.name
    drawn = pm.model_to_mermaid(model)
    assert all(f"{variable.name}" in drawn for variable in model.basic_RVs)


def test_draws_of_the_prior_predict_all_that_is_observed(
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


def test_densities_at_draws(model: pm.Model, prior: xr.DataTree) -> None:
    """Of data given draws, of draws given the model; then new data from these draws."""
    draws = prior["prior"].to_dataset()[[v.name for v in model.free_RVs]]
    # With the data, as PyMC's own sampler keeps them: it warns where it cannot know them the same.
    tree = xr.DataTree.from_dict(
        {"posterior": draws, "constant_data": prior["constant_data"].to_dataset()}
    )
    options = {
        "model": model,
        "extend_inferencedata": False,
        "progressbar": False,
        "compile_kwargs": {"mode": PLAIN},
    }
    likelihood = pm.compute_log_likelihood(tree.copy(), **options)
    assert set(likelihood.data_vars) == {v.name for v in model.observed_RVs}
    density = compute_log_prior(tree.copy(), **options)
    assert set(density.data_vars) == {v.name for v in model.free_RVs}
    for variable in [*likelihood.data_vars.values(), *density.data_vars.values()]:
        assert not variable.isnull().any(), variable.name
    predicted = pm.sample_posterior_predictive(
        tree, model=model, random_seed=1, progressbar=False, compile_kwargs={"mode": PLAIN}
    )["posterior_predictive"]
    for variable in model.observed_RVs:
        shape = prior["prior_predictive"][variable.name].shape
        assert predicted[variable.name].shape == shape
