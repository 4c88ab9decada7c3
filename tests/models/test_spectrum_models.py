"""The Bayesian spectrum: density, quadrature, recovery, perfect scores, number of regimes."""

from __future__ import annotations

import arviz_stats as azs
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from scipy import special, stats

import alikely as al
from alikely.simulate import simulators

REFERENCE = [f"distortion_{d}:reference" for d in range(5)]
# Do not compile graphs that run only a few times.
PLAIN = Mode("py", "fast_compile")
MEANS, SDS = (-1.5, 2.5), (0.4, 0.4)


@pytest.fixture(scope="module")
def spectrum() -> xr.Dataset:
    """Two distinct regimes; in one condition every human is always correct."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulators, "MEANS", np.array(MEANS))
        patch.setattr(simulators, "SDS", np.array(SDS))
        patch.setattr(simulators, "WEIGHTS", np.array([0.5, 0.5]))
        patch.setattr(simulators, "ABILITY_SD", 0.3)
        trials, _ = simulators.difficulty(6, 5, n_items=60, rng=3)
    data = trials.data.copy(deep=True)
    here = (data["dataset"] == "distortion_1") & (data["condition"] == "level_2")
    data["correct"].values[:, here.values] = 1
    # Some humans make no errors in the reference, either.
    return al.difficulty_spectrum(al.Trials(data), REFERENCE, chance=1 / 16, correction=0.5)


@pytest.fixture(scope="module")
def trees(spectrum: xr.Dataset) -> dict[int, xr.DataTree]:
    # Warnings are errors here, so a divergence or a bad r_hat fails the test. The number of draws
    # suffices for the comparison.
    return {k: al.fit_spectrum(spectrum, k, n_draws=1_000, rng=k) for k in (1, 2)}


@pytest.mark.slow
def test_density_agrees_with_the_page() -> None:
    right, shown = np.array([90, 80, 95, 40, 50, 30]), np.array([100, 90, 100, 100, 100, 40])
    condition, person = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 2, 1, 2])
    reference = [True, True, False]
    model = al.models.spectrum(right, shown, condition, person, reference, k=3)
    rng = np.random.default_rng(1)
    point = {
        # -1 + 0.5 * 0.7 + 0.3 * (0.7 + 1.9), so that the hardest regime is at -1.
        "ease_mean": 0.13,
        "gap": np.array([0.7, 1.9]),
        "regime_sd": np.array([0.2, 0.5, 0.9]),
        "regime_weight": np.array([0.2, 0.5, 0.3]),
        "logit_accuracy": rng.normal(0, 1, 3),
        "ability_sd": np.array([0.2, 0.4]),
        "ability_deviate": rng.normal(0, 1, 3),
        "interaction_sd": 0.15,
        "interaction_deviate": rng.normal(0, 1, 6),
    }
    mean = np.array([-1.0, -0.3, 1.6])
    mixture = np.log(
        stats.norm.pdf(point["logit_accuracy"][:, None], mean, point["regime_sd"])
        @ point["regime_weight"]
    )
    spread = np.where(np.array(reference)[condition], 0.2, 0.4)
    logit = (
        point["logit_accuracy"][condition]
        + spread * point["ability_deviate"][person]
        + 0.15 * point["interaction_deviate"]
    )
    expected = (
        stats.norm.logpdf(0.13, 0.5, 1.5)
        + stats.gamma.logpdf(point["gap"], 4, scale=5 / 12).sum()
        + stats.lognorm.logpdf(point["regime_sd"], 0.4, scale=5 / 12).sum()
        + stats.dirichlet.logpdf(point["regime_weight"], [4, 4, 4])
        + mixture.sum()
        + stats.halfnorm.logpdf(point["ability_sd"], scale=0.5).sum()
        + stats.norm.logpdf(point["ability_deviate"]).sum()
        + stats.halfnorm.logpdf(0.15, scale=0.5)
        + stats.norm.logpdf(point["interaction_deviate"]).sum()
        + stats.binom.logpmf(right, shown, special.expit(logit)).sum()
    )
    unconstrained = {}
    for variable in model.free_RVs:
        value, transform = model.rvs_to_values[variable], model.rvs_to_transforms[variable]
        given = np.asarray(point[variable.name], dtype=float)
        moved = transform.forward(given, *variable.owner.inputs) if transform else given
        forward = pm.compile(
            [], pt.as_tensor(moved), on_unused_input="ignore", mode=PLAIN, givens=[
                (other, np.asarray(point[other.name], dtype=float)) for other in model.free_RVs
            ]
        )()  # fmt: skip
        unconstrained[value.name] = forward
    # Up to rounding in the transformation to unconstrained space and back.
    assert model.compile_logp(jacobian=False, mode=PLAIN)(unconstrained) == pytest.approx(
        expected, abs=1e-6
    )
    values = pm.compile(
        [], [model[name] for name in ("reference_mean", "reference_sd", "delta")],
        givens=[(variable, np.asarray(point[variable.name], dtype=float)) for variable in
                model.free_RVs], on_unused_input="ignore", mode=PLAIN,
    )()  # fmt: skip
    seen = logit[:4]
    p = special.expit(seen)
    noise = (1 / (shown[:4] * p * (1 - p))).mean()
    center = point["logit_accuracy"][[0, 0, 1, 1]].mean()
    scale = np.sqrt(seen.var(ddof=1) + noise)
    np.testing.assert_allclose(values[0], center)
    np.testing.assert_allclose(values[1], scale)
    np.testing.assert_allclose(values[2], (point["logit_accuracy"] - center) / scale)


@pytest.mark.slow
def test_regimes_are_recovered(spectrum: xr.Dataset, trees: dict[int, xr.DataTree]) -> None:
    posterior = trees[2]["posterior"].to_dataset()
    assert int(trees[2]["sample_stats"]["diverging"].sum()) == 0
    assert float(azs.rhat(posterior[["regime_mean"]])["regime_mean"].max()) < 1.01
    low, high = np.quantile(posterior["regime_mean"].values.reshape(-1, 2), [0.005, 0.995], axis=0)
    # The perfect condition increases the mean of the easier regime, so only the harder one is
    # tested for coverage.
    assert low[0] < MEANS[0] < high[0]
    table = al.regimes(trees[2])
    moderate = np.abs(spectrum["accuracy"].values - 0.5) < 0.45
    assert np.corrcoef(table["delta"][moderate], spectrum["delta"][moderate])[0, 1] > 0.99
    truth = np.where(spectrum["accuracy"] > 0.5, "regime 2", "regime 1")
    assert (table["label"] == truth).all()
    np.testing.assert_allclose(table["probability"].sum("regime"), 1)
