"""Priors as arguments: only the prior density changes, and errors explain the reason."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytest
from pytensor.compile.mode import Mode
from pytensor.graph.replace import clone_replace
from scipy import stats

import alikely as al
from alikely.models._parts import Placed
from alikely.models._priors import building, prior_texts
from generative.item_margins import item_margins

COUNTS = [100, 20, 20, 20]
# Do not rewrite graphs that run once.
PYTHON = Mode("py", None)
# Other parameters of the default family, in PyMC's order, within its support.
OTHERS: dict[str, Any] = {
    "Beta": (2, 3.5),
    "Dirichlet": ([2.5],),
    "Gamma": (3, 1.5),
    "HalfNormal": 0.7,
    "LogNormal": (-0.8, 0.3),
    "Normal": (0.3, 1.7),
    "Uniform": (-0.2, 0.9),
    "ZeroSumNormal": 0.6,
}


def effects(priors: Any = None) -> pm.Model:
    """Effects of one dim, standardized by their spread, with a mean."""
    with building(priors, {"other": ["x", "y", "z"]}) as model:
        mean, spread = pm.Normal("delta_mean", 0, 2), pm.HalfNormal("delta_sd", 0.5)
        deviate = pm.ZeroSumNormal("other_deviate", 1, dims="other")
        pm.Deterministic("effect", mean + spread * deviate, dims="other")
    return model


def spectrum(priors: Any = None) -> pm.Model:
    condition, person = np.divmod(np.arange(6), 3)
    right = [90, 80, 95, 40, 50, 30]
    return al.models.spectrum(
        right, [100] * 6, condition, person, [True, False], k=2, priors=priors
    )


def strengths(priors: Any = None) -> pm.Model:
    margins = [1.2, -0.4, 0.9, -1.0, 0.1, 1.1]
    return item_margins([9, 3, 7, 1, 6, 8], [10] * 6, margins, n_alternatives=16, priors=priors)


MODELS: dict[str, Callable[..., pm.Model]] = {
    "copying, independent": functools.partial(al.models.copying, COUNTS, independent=True),
    "effects": effects,
    "item_margins": strengths,
    "spectrum": spectrum,
}


@functools.cache
def built(name: str) -> pm.Model:
    return MODELS[name]()


def other_prior(variable: Any, text: str) -> Any:
    family = text.partition("(")[0]
    if family == "Dirichlet":
        return np.linspace(1, 3, variable.shape[-1].eval(mode=PYTHON))
    if text == "Uniform(0, 1)":
        return (0.1, 0.9)
    return OTHERS[family]


def log_densities(model: pm.Model, point: dict[str, Any], names: list[str]) -> dict[str, float]:
    """Log densities of variables at given values, evaluated by one function."""
    found = pytensor.function(
        [], [pm.logp(model[name], point[name]).sum() for name in names], mode=PYTHON
    )()
    return dict(zip(names, map(float, found), strict=True))


def somewhere(model: pm.Model) -> dict[str, Any]:
    """A point in the space of values: a reproducible draw of all free variables."""
    values = pm.draw(model.free_RVs, random_seed=3, mode=PYTHON)
    return {variable.name: value for variable, value in zip(model.free_RVs, values, strict=True)}


def terms(model: pm.Model, point: dict[str, Any]) -> dict[str, float]:
    """Log density of each variable and potential at values, without Jacobians of coordinates."""
    values = {v: pm.math.constant(point[v.name]) for v in model.free_RVs}
    inputs = {}
    for variable, constant in values.items():
        transform = model.rvs_to_transforms[variable]
        moved = constant if transform is None else transform.forward(constant, *(
            clone_replace(variable.owner.inputs, values, rebuild_strict=False)
        ))  # fmt: skip
        inputs[model.rvs_to_values[variable]] = moved
    densities = [term.sum() for term in model.logp(jacobian=False, sum=False)]
    placed = clone_replace(densities, inputs, rebuild_strict=False)
    names = [v.name for v in (*model.basic_RVs, *model.potentials)]
    found = pytensor.function([], placed, mode=PYTHON)()
    return dict(zip(names, map(float, found), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_only_the_prior_density_changes(name: str) -> None:
    """Compare changes for every prior that can be set, at a random point."""
    model = built(name)
    texts = prior_texts(model)
    settable = list(texts)
    other = MODELS[name](priors={v: other_prior(model[v], texts[v]) for v in settable})
    point = somewhere(other)
    before, after = (terms(each, point) for each in (model, other))
    assert before.keys() == after.keys()
    olds, news = (log_densities(each, point, settable) for each in (model, other))
    for variable, density in before.items():
        if variable in settable:
            old, new = olds[variable], news[variable]
            assert new != pytest.approx(old)
            difference = new - old
        else:
            difference = 0.0
        # Sums of up to some thousand terms in double precision.
        room = 1e-9 * max(1, abs(density))
        assert np.isfinite(density)
        assert after[variable] - density == pytest.approx(difference, abs=room), variable
    for kind in ("free_RVs", "observed_RVs", "deterministics", "potentials", "data_vars"):
        names = [[v.name for v in getattr(each, kind)] for each in (model, other)]
        assert names[0] == names[1]
    assert other.named_vars_to_dims == model.named_vars_to_dims
    assert other.coords == model.coords
    transforms = [
        {v.name: type(t) for v, t in each.rvs_to_transforms.items()} for each in (model, other)
    ]
    assert transforms[0] == transforms[1]
    assert [v.name for v in other.value_vars] == [v.name for v in model.value_vars]


@pytest.mark.parametrize(
    ("variable", "given", "text", "reference"),
    [
        ("p_a", (2, 3), "Beta(2, 3)", stats.beta(2, 3)),
        (
            "p_b",
            pm.TruncatedNormal.dist(0.5, 0.2, lower=0, upper=1),
            "TruncatedNormal(mu=0.5, sigma=0.2, lower=0, upper=1)",
            stats.truncnorm(-2.5, 2.5, 0.5, 0.2),
        ),
        ("delta_sd", pm.Exponential.dist(4), "Exponential(4)", stats.expon(scale=0.25)),
        (
            "delta_mean",
            pm.StudentT.dist(4, 0, sigma=2),
            "StudentT(nu=4, mu=0, sigma=2)",
            stats.t(4, 0, 2),
        ),
    ],
)
def test_draws_are_of_the_given_prior(variable: str, given: Any, text: str, reference: Any) -> None:
    """Compare prior draws with SciPy's distribution function, and texts with the arguments."""
    name = "copying, independent" if variable.startswith("p_") else "effects"
    model = MODELS[name](priors={variable: given})
    assert prior_texts(model)[variable] == text
    drawn = pm.draw(model[variable], 2_000, random_seed=1, mode=PYTHON).ravel()
    assert stats.kstest(drawn, reference.cdf).pvalue > 1e-4


def test_priors_per_element_and_for_all() -> None:
    counts = [COUNTS, COUNTS, COUNTS]
    own = al.models.copying(counts, priors={"p_a": ([1, 20, 400], 20), "u": pm.Beta.dist(9, 1)})
    assert prior_texts(own)["p_a"] == "Beta([1.0, 20.0, 400.0], 20)"
    assert prior_texts(own)["u"] == "Beta(9, 1)"
    # Means of beta distributions with SD of at most 0.11: 4 Monte Carlo errors of 400 draws.
    means = pm.draw(own["p_a"], 400, random_seed=1, mode=PYTHON).mean(axis=0)
    np.testing.assert_allclose(means, [1 / 21, 0.5, 400 / 420], atol=4 * 0.11 / 20)
    same = pm.draw(own["u"], random_seed=1, mode=PYTHON)
    assert len(set(same.tolist())) == 3


@pytest.mark.slow
def test_custom_coordinates_remain_if_the_support_fits() -> None:
    def placed(variable: str, given: Any) -> bool:
        transform = spectrum({variable: given}).rvs_to_transforms
        (found,) = [t for v, t in transform.items() if v.name == variable]
        parts = getattr(found, "transform_list", [found])
        return any(isinstance(part, Placed) for part in parts)

    assert placed("ease_mean", pm.StudentT.dist(4, -1, sigma=2))
    assert placed("regime_sd", pm.HalfNormal.dist(1))
    assert placed("gap", pm.LogNormal.dist(0, 1))
    assert not placed("ease_mean", pm.Uniform.dist(-3, 0))
    assert not placed("regime_sd", pm.Uniform.dist(0.1, 1))


def test_interventions_and_copies_have_the_priors() -> None:
    model = al.models.copying(COUNTS, priors={"u": pm.Beta.dist(8, 2)})
    done = pm.do(model, {"v": [0.25]})
    assert prior_texts(done) == {"p_a": "Beta(1, 1)", "u": "Beta(8, 2)"}
    assert prior_texts(model.copy())["u"] == "Beta(8, 2)"
    with model:
        drawn = pm.sample_prior_predictive(5, random_seed=1, compile_kwargs={"mode": PYTHON})
    assert (drawn["prior_predictive"]["observed_cells"].sum("cell") == 160).all()


def test_prior_texts_of_models() -> None:
    found = prior_texts(built("spectrum"))
    assert found["gap"] == "Gamma(4, 1.6)"
    assert found["regime_weight"] == "Dirichlet([4.0, 4.0])"
    assert found["ability_sd"] == "HalfNormal(0.5)"
    assert "logit_accuracy" not in found


@pytest.mark.parametrize(
    ("name", "priors", "message"),
    [
        ("effects", {"delta_sd": pm.Normal.dist(0, 1)}, "its default, HalfNormal(0.5); Norma"),
        ("effects", {"delta_sd": (1, 2)}, "HalfNormal(sigma), takes one finite parameter, got (1"),
        ("effects", {"other_deviate": pm.Normal.dist(0, 1)}, "default, ZeroSumNormal(1); No"),
    ],
)  # fmt: skip
def test_messages_describe_the_default_prior(name: str, priors: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        MODELS[name](priors=priors)
    assert "\n" not in str(caught.value)
