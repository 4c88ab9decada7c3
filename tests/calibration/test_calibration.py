"""Simulation-based calibration: correct models pass, wrong ones fail, results are stable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import alikely as al
from alikely.calibration.coverage import default_grid
from alikely.inference.intervals import rank_band, uniformity

# MCMC differs between processors; true values and data do not. With exact draws instead of MCMC,
# each wrong model below had the smallest possible p-value, 1 of 4,001, in all of 100 experiments of
# 30 simulations. For the correct one with this seed, no p-value was below 0.4.
IN_FULL, LEAST, BROKEN = 200, 50, 30


@pytest.mark.parametrize("n", [20, 60])
def test_the_band_has_its_coverage_of_uniform_numbers(n: int) -> None:
    n_samples = 1_000
    samples = np.random.default_rng(n).random((n_samples, n))
    place, lower, upper = rank_band(n, 0.9)
    share = (samples[:, :, None] <= place).mean(axis=1)
    inside = ((share >= lower - 1e-12) & (share <= upper + 1e-12)).all(axis=1)
    p_values = np.array([uniformity(sample) for sample in samples])
    # Both use 4,000 reference samples, which have Monte Carlo error.
    error = 4 * np.sqrt(0.09 * (1 / n_samples + 1 / 4_000))
    # Counts are integers, so levels have steps, and the band is never too narrow.
    assert inside.mean() > 0.9 - error
    assert (p_values > 0.1).mean() == pytest.approx(0.9, abs=error + 0.03)
    assert ((p_values >= 0.1) == inside).mean() > 0.98


@given(st.integers(5, 60), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_uniformity_treats_both_ends_equally(n: int, seed: int) -> None:
    values = np.random.default_rng(seed).random(n)
    assert uniformity(values) == pytest.approx(uniformity(1 - values), abs=1e-12)


@pytest.mark.parametrize(
    "distribution", [stats.beta(2, 2), stats.beta(0.5, 0.5), stats.beta(1.5, 1), stats.beta(1, 2)]
)
def test_nonuniform_ranks_are_detected(distribution: Any) -> None:
    values = distribution.rvs(300, random_state=1)
    assert uniformity(values) < 0.01


def pair() -> pm.Model:
    return al.models.copying([60, 0, 0, 0])


def answers(truth: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Sixty single trials."""
    a = rng.random(60) < truth["p_a"]
    b = rng.random(60) < np.where(a, truth["u"], truth["v"])
    return {"cells": [[(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()]]}


def swapped() -> pm.Model:
    """The copy model with two cells exchanged."""
    cells = np.array([[60, 0, 0, 0]])
    with pm.Model() as model:
        data = pm.Data("cells", cells)
        p_a = pm.Beta("p_a", 1, 1, shape=1)
        u, v = (pm.Beta(name, 0.5, 0.5, shape=1) for name in "uv")
        probabilities = [p_a * u, (1 - p_a) * v, p_a * (1 - u), (1 - p_a) * (1 - v)]
        pm.Deterministic("error_consistency", u - v)
        pm.Multinomial("observed", n=60, p=pm.math.stack(probabilities, axis=-1), observed=data)
    return model


def forgetful() -> pm.Model:
    """The priors of the copy model, with ignored data."""
    with pm.Model() as model:
        data = pm.Data("cells", np.array([[60, 0, 0, 0]]))
        p_a = pm.Beta("p_a", 1, 1, shape=1)
        for name in "uv":
            pm.Beta(name, 0.5, 0.5, shape=1)
        pm.Potential("nothing", pm.math.sum(data * p_a * np.zeros(4)))
    return model


@pytest.mark.slow(first=True)
def test_a_correct_model_passes(sets: Callable[..., int]) -> None:
    ranks = al.calibration.sbc(
        pair, sets(IN_FULL, LEAST), simulate=answers, thin=5, tune=300, rng=1,
        quantities=["p_a", "u", "v", "error_consistency"],
    )  # fmt: skip
    summary = ranks.summary()
    assert summary["inside_all"].all()
    assert (summary["data_averaged_p"] > 1e-3).all()
    for level in (50, 80, 95):
        away = (summary[f"coverage_{level}"] - level / 100).abs()
        assert (away <= 4 * summary[f"coverage_{level}_mcse"]).all()


@pytest.mark.slow
def test_a_wrong_model_fails(sets: Callable[..., int]) -> None:
    # Ranks among few, possibly correlated draws: these errors are visible in any.
    ranks = al.calibration.sbc(
        swapped, sets(100, BROKEN), simulate=answers, source=pair, thin=1, tune=100, rng=1
    )
    summary = ranks.summary().set_index("quantity")
    assert not summary["inside_all"].all()
    assert summary["p_value"].min() < 1e-3


@pytest.mark.slow(first=True)
def test_only_the_likelihood_detects_ignored_data(sets: Callable[..., int]) -> None:
    ranks = al.calibration.sbc(
        forgetful, sets(100, BROKEN), simulate=answers, source=pair, thin=5, tune=300, rng=1
    )
    p_values = ranks.summary().set_index("quantity")["p_value"]
    assert p_values["log_likelihood"] < 1e-3
    assert (p_values.drop("log_likelihood") > 1e-3).all()


@pytest.mark.slow
def test_a_model_simulates_its_data(tmp_path: Path) -> None:
    """Without a simulator; a resumed study has the same results."""
    model = al.models.copying([[30, 10, 10, 10], [300, 0, 0, 20]], independent=True)
    options: dict[str, Any] = {"thin": 2, "tune": 200}
    first = al.calibration.sbc(model, 10, **options, cache_dir=tmp_path, rng=1)
    next(tmp_path.glob("*.json")).unlink()
    again = al.calibration.sbc(model, 10, **options, cache_dir=tmp_path, rng=1)
    pd.testing.assert_frame_equal(first, again)
    assert set(first["quantity"]) == {"p_a", "p_b", "log_likelihood"}
    assert first["rank"].between(0, 1).all()
    assert set(first["element"]) == {0, 1}


@pytest.mark.slow
def test_models_that_cannot_be_simulated_raise_an_error() -> None:
    with pytest.raises(ValueError, match=r"cannot simulate its data .* use simulate="):
        al.calibration.sbc(forgetful, 2, rng=1)
    with pm.Model() as bare:
        pm.Binomial("k", 10, pm.Beta("p", 1, 1), observed=3)
    with pytest.raises(ValueError, match=r"must have its data in pymc\.Data"):
        al.calibration.sbc(bare, 2)


def test_plots() -> None:
    rng = np.random.default_rng(1)
    few = pd.DataFrame({"method": "posterior", "quantity": np.repeat(["p_a", "u"], 8)})
    few[["truth", "rank", "mean"]], few["sd"] = rng.random((16, 3)), 0.1
    axes = al.plot_calibration(few, "ranks")
    assert [ax.get_title() for ax in axes] == ["p_a", "u"]
    place, _, _ = rank_band(8)
    ranks = few.loc[few["quantity"] == "p_a", "rank"].to_numpy()
    expected = (ranks[:, None] <= place).mean(axis=0) - place
    np.testing.assert_allclose(axes[0].lines[0].get_ydata(), expected)
    assert len(al.plot_calibration(few, "recovery")) == 2
    study = al.calibration.coverage_study(
        default_grid().tail(4), ["posterior", "wald"], n_datasets=100, n_draws=100
    )
    ax = al.plot_calibration(study, "coverage", methods=["posterior", "wald"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["posterior", "wald"]
    ax = al.plot_calibration(study, "coverage", methods=["wald"], x="accuracy_a")
    assert ax.get_xlabel() == "accuracy a"
    plt.close("all")
    with pytest.raises(ValueError, match=r"methods must be one of .* got 'bca'"):
        al.plot_calibration(study, "coverage", methods=["bca"])
    with pytest.raises(ValueError, match=r"must have intervals with ci_prob 0\.95, got 0\.9$"):
        al.plot_calibration(study.assign(ci_prob=0.9), "coverage")
