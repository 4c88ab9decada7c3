"""Functions with a model or priors as argument: requirements and stored information."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import special

import alikely as al
from alikely.data.cohorts import cohort_counts
from alikely.data.tables import joint_correctness
from alikely.models._arguments import require_pairs
from alikely.models.cohorts import cohort_layout


def cells_of_pairs(cells: np.ndarray) -> pm.Model:
    """The default model of pairs, by its Dirichlet prior on the four cells."""
    with pm.Model(coords={"pair": np.arange(len(cells)), "cell": range(4)}) as model:
        p = pm.Dirichlet("p", np.full(4, 0.5), dims=("pair", "cell"))
        p11, p10, p01, p00 = (p[:, k] for k in range(4))
        chance = (p11 + p10) * (p10 + p00) + (p11 + p01) * (p01 + p00)
        pm.Deterministic("error_consistency", 2 * (p11 * p00 - p10 * p01) / chance, dims="pair")
        pm.Multinomial("seen", n=cells.sum(axis=1), p=p, observed=cells, dims=("pair", "cell"))
    return model


@pytest.mark.slow
def test_a_custom_model_gives_the_default_posterior() -> None:
    trials = al.load_example().select(condition="blur")
    table = joint_correctness(trials, "human-human")
    own = cells_of_pairs(table["cells"].values)
    options: dict[str, Any] = {"n_resamples": 0, "rng": 1}
    by_chains = al.error_consistency(trials, "human-human", model=own, n_draws=2_000, **options)
    exact = al.error_consistency(trials, "human-human", n_draws=40_000, **options)
    found, wanted = (r.draws("posterior") for r in (by_chains, exact))
    sd = wanted.std(axis=0)
    # Effective sample sizes exceed 1,000; both means have Monte Carlo error.
    room = 4 * sd * np.sqrt(1 / 1_000 + 1 / 40_000)
    assert (abs(found.mean(axis=0) - wanted.mean(axis=0)) < room).all()
    assert (abs(found.std(axis=0) / sd - 1) < 4 * np.sqrt(0.5 / 1_000 + 0.5 / 40_000)).all()
    assert by_chains.data.attrs["model"] == "own"
    assert by_chains.data.attrs["sampler"] == "nuts"
    tree = by_chains.chains["all pairs"]
    assert tree["posterior"]["pair"].values.tolist() == table["pair"].values.tolist()
    assert "seen" in tree["observed_data"]
    # Tables contain the named quantity.
    shown = by_chains.summary()["posterior_median"].to_numpy()
    np.testing.assert_allclose(shown, np.median(found, axis=0), rtol=1e-6)


def likelihoods_of(cells: np.ndarray, right: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Ways in which a model can contain the data of pairs of observers 0 and 1, 0 and 2, ..."""
    n11, n10, n01, _ = cells.T
    half = np.full(len(cells), 0.5)
    quarters = np.full((len(cells), 4), 0.25)
    trials = cells.sum(axis=1)
    return {
        "cells": lambda: pm.Multinomial("y", trials, quarters, observed=cells),
        "cells in another order": lambda: pm.Multinomial(
            "y", trials, quarters, observed=cells[:, ::-1]
        ),
        "cells by cell": lambda: pm.Poisson("y", 1, observed=cells.T),
        "cells in a row": lambda: pm.Poisson("y", 1, observed=cells.ravel()),
        "data": lambda: (
            pm.Data("cells", cells),
            pm.Potential("y", pm.math.sum(pm.Normal("z", size=2))),
        ),
        "given the other": lambda: (
            pm.Binomial("y", n11 + n10, half, observed=n11),
            pm.Binomial("x", trials - n11 - n10, half, observed=n01),
        ),
        "correctness": lambda: pm.Bernoulli("y", 0.5, observed=right),
        "correctness of each": lambda: [
            pm.Bernoulli(f"y{k}", 0.5, observed=row) for k, row in enumerate(right)
        ],
    }


LAYOUTS = tuple(likelihoods_of(np.zeros((1, 4), int), np.zeros((2, 1))))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_models_must_contain_the_data_in_any_layout(layout: str) -> None:
    condition = ["blur", "noise"]
    trials = al.load_example()
    humans = [f"human_{k}" for k in range(1, 4)]
    chosen, others = (trials.select(condition=c, observer=humans) for c in (condition, "clean"))
    for count in (3, 2):
        table, elsewhere = (
            joint_correctness(t.select(observer=humans[:count])) for t in (chosen, others)
        )
        for held, raises in ((table, False), (elsewhere, True)):
            given = likelihoods_of(held["cells"].values, held["correct"].values)[layout]
            with pm.Model() as model:
                given()
            if not raises:
                require_pairs(model, table)
                continue
            with pytest.raises(
                ValueError, match=r"^no observed .* contains the cells n11, n10"
            ) as e:
                require_pairs(model, table)
            assert "\n" not in str(e.value)


def test_models_of_other_trials_raise_an_error() -> None:
    trials = al.load_example()
    blur, noise = (trials.select(condition=name) for name in ("blur", "noise"))
    cells = joint_correctness(noise, "human-human")["cells"].values
    options: dict[str, Any] = {"n_resamples": 0}
    message = r"contains the cells .* of 'human_1 x human_2' \(\d+, .*build it from the trials"
    for model in (cells_of_pairs(cells), al.models.copying(cells)):
        with pytest.raises(ValueError, match=message):
            al.error_consistency(blur, "human-human", model=model, **options)
    with pm.Model(coords={"pair": range(6)}) as nothing:
        pm.Uniform("error_consistency", -1, 1, dims="pair")
    with pytest.raises(ValueError, match=r"^the model has no observed variable or pot"):
        al.error_consistency(blur, "human-human", model=nothing, **options)


def other_models() -> dict[str, Callable[[], Any]]:
    """Fits of blur trials with models of noise trials, or of other counts."""
    trials = al.load_example()
    blur, noise = (trials.select(condition=name) for name in ("blur", "noise"))

    def of_observers() -> Any:
        right = np.random.default_rng(1).binomial(1, 0.5, (4, blur.data.sizes["trial"]))
        model = al.models.observer_margins(right, np.ones_like(right), n_alternatives=16)
        return al.fit_observers(blur, model=model)

    def of_cohort() -> Any:
        return al.fit_cohort(
            blur, model=with_labels_of(blur, al.models.cohort(cohort_counts(noise)))
        )

    return {
        "fit_cohort": of_cohort,
        "fit_observers": of_observers,
    }


def with_labels_of(trials: al.Trials, model: pm.Model) -> pm.Model:
    """A model with the expected labels, so that only its data differ."""
    layout = cohort_layout(cohort_counts(trials))["coords"]
    for dim in ("condition", "entry", "row"):
        model._coords[dim] = tuple(layout[dim])
    return model


@pytest.mark.parametrize(
    "func",
    ["fit_cohort", "fit_observers"],
)
def test_other_functions_check_the_trials_of_models(func: str) -> None:
    with pytest.raises(ValueError, match="contains the counts of these trials; build it from") as e:
        other_models()[func]()
    assert "\n" not in str(e.value)


@pytest.mark.usefixtures("prior_chains")
@pytest.mark.filterwarnings("ignore:Estimated shape parameter:UserWarning")
@pytest.mark.slow
def test_the_log_likelihood_is_of_trials() -> None:
    table = joint_correctness(al.load_example().select(condition="noise"), "human-model")
    tree = al.inference.posterior(table, "nuts", n_draws=200, rng=1, include=["log_likelihood"])
    by_trial = tree["log_likelihood"]["correctness"]
    n_trials = int(table["cells"].sum())
    assert by_trial.sizes["observation"] == n_trials
    assert az.loo(tree).n_data_points == n_trials
    # PyMC's log likelihood of a pair includes the multinomial coefficient.
    cells = table["cells"].values
    built = tree["observed_data"].to_dataset()
    assert len(built.data_vars) == 1
    whole = al.models.copying(cells)
    free = tree["posterior"].to_dataset()[[v.name for v in whole.free_RVs]]
    pairs = pm.compute_log_likelihood(
        xr.DataTree.from_dict({"posterior": free}), model=whole, progressbar=False,
        extend_inferencedata=False,
    )  # fmt: skip
    (of_pairs,) = pairs.data_vars.values()
    ways = special.gammaln(cells.sum(axis=1) + 1) - special.gammaln(cells + 1).sum(axis=1)
    sums = by_trial.groupby("entry").sum().sel(entry=table["pair"].values)
    np.testing.assert_allclose(sums + ways, of_pairs, rtol=1e-4)


OWN = {
    "fit_cohort": {"level_mean": pm.Normal.dist(1, 1)},
    "fit_spectrum": {"interaction_sd": 0.2},
    "fit_observers": {"ability_sd": (4, 16)},
}
TEXTS = {
    "fit_cohort": "Normal(1, 1)",
    "fit_spectrum": "HalfNormal(0.2)",
    "fit_observers": "Gamma(4, 16)",
}


def call(func: str, priors: Any, **options: Any) -> Any:
    noise = al.load_example().select(condition="noise")
    options = {"n_draws": 40, "rng": 1, "priors": priors} | options
    if func == "fit_spectrum":
        spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
        return al.fit_spectrum(spectrum, 2, **options)
    return getattr(al, func)(noise, **options)


@pytest.mark.slow
@pytest.mark.usefixtures("prior_chains")
@pytest.mark.parametrize("func", OWN)
def test_functions_use_and_store_priors(func: str, tmp_path: Path) -> None:
    given = OWN[func]
    (name,) = given
    found = call(func, given)
    tree = getattr(found, "data", found)
    texts = json.loads(tree.attrs["priors"])
    assert texts[name] == TEXTS[func]
    assert len(texts) > 1
    if tree is not found:
        found.save(tmp_path / "result.nc")
        assert json.loads(type(found).load(tmp_path / "result.nc").data.attrs["priors"]) == texts
