"""Covariates of the spectrum: what they move, and what is told of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import special, stats

import alikely as al

CONTRAST = np.array([1.0, 0.5, 0.2])


def spectrum() -> xr.Dataset:
    return al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)


def tables() -> dict[str, pd.DataFrame]:
    people = {"age": [20, 30, 40, 60], "group": list("abab")}
    names = [f"all:human_{i}" for i in range(1, 5)]
    conditions = ["all:noise", "all:blur", "all:clean"]
    return {
        "condition": pd.DataFrame({"contrast": CONTRAST[::-1]}, index=conditions),
        "human": pd.DataFrame(people, index=names),
    }


@pytest.fixture
def tree(prior_chains: None) -> xr.DataTree:
    return al.fit_spectrum(spectrum(), 2, covariates=tables(), n_draws=400)


@pytest.mark.slow
def test_covariates_move_difficulty_and_ability(tree: xr.DataTree) -> None:
    posterior = tree["posterior"].to_dataset()
    slope = posterior["logit_accuracy_contrast"].values
    conditions = ["all:clean", "all:blur", "all:noise"]
    told = posterior["logit_accuracy_explained"].sel(condition=conditions).values
    np.testing.assert_allclose(told, slope[..., None] * (CONTRAST - CONTRAST.mean()))
    names = [f"all:human_{i}" for i in range(1, 5)]
    age, group = posterior["ability_age"].values, posterior["ability_group"].values
    wanted = age[..., None] * (np.array([20, 30, 40, 60]) - 37.5) + np.tile(group, 2)
    np.testing.assert_allclose(posterior["ability_explained"].sel(person=names).values, wanted)
    np.testing.assert_array_equal(
        tree["covariates"].to_dataset()["age"].sel(person=names), [20, 30, 40, 60]
    )


@pytest.mark.slow
def test_density_of_conditions_is_the_mixture_moved() -> None:
    """The logit of a condition about the regimes and what is told of it, at a point."""
    right, shown, at, who = (np.array(x) for x in zip(*[
        (40, 60, 0, 0), (45, 60, 0, 1), (50, 60, 0, 2), (20, 60, 1, 0), (25, 60, 1, 1),
        (9, 60, 2, 0), (12, 60, 2, 2),
    ], strict=True))  # fmt: skip
    table = pd.DataFrame({"contrast": CONTRAST})
    model = al.models.spectrum(
        right, shown, at, who, [True, False, False], 2, covariates={"condition": table}
    )
    rng = np.random.default_rng(1)
    point = {name: rng.normal(0, 0.5, np.shape(v)) for name, v in model.initial_point().items()}
    names = ["logit_accuracy", "regime_weight", "regime_mean", "regime_sd",
             "logit_accuracy_contrast"]  # fmt: skip
    ease, weight, mean, sd, slope = model.compile_fn(
        model.replace_rvs_by_values([model[name] for name in names]),
        inputs=model.value_vars,
        on_unused_input="ignore",
    )(point)
    told = slope * (CONTRAST - CONTRAST.mean())
    parts = np.log(weight) + stats.norm.logpdf((ease - told)[:, None], mean, sd)
    found = model.compile_logp(vars=[model["logit_accuracy"]], jacobian=False)(point)
    assert found == pytest.approx(special.logsumexp(parts, axis=1).sum())


@pytest.mark.parametrize(
    ("kind", "table", "message"),
    [
        ("model", pd.DataFrame({"a": [1, 2]}), "are of condition, human, got 'model'"),
        ("human", pd.DataFrame({"sd": [1, 2, 3, 4]}, index=tables()["human"].index),
         "'sd' of human would be named 'ability_sd'"),
        ("human", pd.DataFrame({"gap": [1, 2, 3, 4]}, index=tables()["human"].index),
         "'gap' of human would be named 'gap'"),
    ],
)  # fmt: skip
def test_bad_tables(kind: str, table: pd.DataFrame, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        al.fit_spectrum(spectrum(), 2, covariates={kind: table})
