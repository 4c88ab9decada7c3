"""Every model, under each of its options: PyMC's own tools, and the interpreter of densities."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from pymc.stats import compute_log_prior
from pytensor.compile.mode import Mode

import alikely as al
from alikely.data.cohorts import cohort_counts
from alikely.inference.interpreter.models import Graphs
from alikely.simulate import cohort as simulated_cohort
from studies.cases import CASES

# Graphs that run a few times are not worth rewriting.
PLAIN = Mode("py", None)
N_DRAWS = 3
RIGHT = np.random.default_rng(2).binomial(3, np.linspace(0.3, 0.9, 6), (2, 6))
MARGINS = np.arange(6.0)
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
    """Humans and models, one data set of two conditions."""
    trials = simulated_cohort(
        [0.2, 0.8], [0.7] * 2, [0.6, 0.9], 0.4, n_humans=3, n_trials=40, rng=1
    )
    return cohort_counts(trials, who_was_right=by_person)


def of_cohort() -> dict[str, pd.DataFrame]:
    """Covariates of all that has effects."""
    labels = counts()
    return {
        "model": pd.DataFrame({"year": [2012, 2020]}, index=labels["model"].values),
        "condition": pd.DataFrame({"strength": [0.0, 5.0]}, index=labels["condition"].values),
    }


A = al.models
OF_ITEMS = functools.partial(A.item_margins, n_alternatives=4)
OF_OBSERVERS = functools.partial(A.observer_margins, RIGHT, np.full((2, 6), 3), n_alternatives=4)
TWO_GROUPS = RIGHT, np.full((2, 6), 3)
ONE_GROUP = RIGHT[0], np.full(6, 3), MARGINS

# Every public model with every value of its options; the first word is the model's name.
MODELS: dict[str, Callable[[], pm.Model]] = {
    "copying": functools.partial(A.copying, [[30, 5, 5, 10], [9, 1, 2, 8]], pairs=["x", "y"]),
    "copying, prior on copying": functools.partial(
        A.copying, [[30, 5, 5, 10]], priors={"copy_probability": (1.0, 1.0)}
    ),
    "copying, independent": functools.partial(A.copying, [100, 20, 20, 20], independent=True),
    "paired_errors": CASES["paired_errors"].example,
    "cohort, alike": lambda: A.cohort(counts(), human_effects=False),
    "cohort, people": lambda: A.cohort(counts(True), human_effects="drawn"),
    "cohort, covariates": lambda: A.cohort(counts(), covariates=of_cohort()),
    **{
        f"item_margins, {words}, {law}": functools.partial(OF_ITEMS, *given, law=law)
        for words, given in (("margins", ONE_GROUP), ("two groups", TWO_GROUPS))
        for law in ("normal", "sinh_arcsinh")
    },
    **{
        f"observer_margins, {components}, {words}": functools.partial(
            OF_OBSERVERS, given, components=components
        )
        for components in ("all", "shared")
        for words, given in (("alone", None), ("margins", MARGINS))
    },
    **{
        f"observer_margins, {n} answers, {components}": functools.partial(
            A.observer_margins, n // 3 * RIGHT, np.full((2, 6), n), MARGINS,
            n_alternatives=4, components=components,
        )
        for n, components in ((9, "auto"), (102, "shared"))
    },
    **{
        f"spectrum, k = {k}": functools.partial(A.spectrum, *SPECTRUM, k) for k in (1, 2, 4)
    },
    **{
        f"spectrum, k = {k}, covariates": functools.partial(
            A.spectrum, *SPECTRUM, k, covariates=OF_SPECTRUM
        )
        for k in (1, 3)
    },
}  # fmt: skip
# One of each model; the others take three times as long.
QUICK = {
    "copying", "copying, independent", "paired_errors", "cohort, alike",
    "item_margins, margins, normal", "observer_margins, shared, alone",
    "spectrum, k = 1",
}  # fmt: skip


def test_all_models_are_tried() -> None:
    """Every function of `alikely.models` that makes a model; and what it takes by name."""
    functions = {name: getattr(A, name) for name in A.__all__}
    makes = {
        name
        for name, function in functions.items()
        if inspect.signature(function).return_annotation == "pm.Model"
    }
    assert makes - {"with_priors"} == set(CASES) == {name.split(",")[0] for name in MODELS}
    assert {name.split(",")[0] for name in QUICK} == set(CASES)
    assert set(MODELS) >= QUICK
    source = inspect.getsource(inspect.getmodule(test_all_models_are_tried))  # type: ignore[arg-type]
    for name in CASES:
        for option, parameter in inspect.signature(functions[name]).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY and option not in (
                "n_alternatives",
                "priors",
            ):
                assert f"{option}=" in source, (name, option)


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_models_are_interpreted_as_they_are(model: pm.Model) -> None:
    """Density, gradient and all that is saved, at random points, as PyTensor evaluates them.

    Graphs run in Python, as they are written: to compile them would take minutes. Rounding: digamma
    and such are right to 3e-13, and a hundred operations follow each other.
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
