"""The Bayesian spectrum: density, quadrature, recovery, perfect scores, numbers of regimes."""

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
from alikely.inference.complete import labelled
from alikely.simulate import difficulty
from alikely.spectrum import posterior as spectrum_posterior
from alikely.spectrum.posterior import condition_log_likelihood

REFERENCE = [f"distortion_{d}:reference" for d in range(5)]
# Graphs that run a few times are not worth compiling.
PLAIN = Mode("py", "fast_compile")
MEANS, SDS = (-1.5, 2.5), (0.4, 0.4)


@pytest.fixture(scope="module")
def spectrum() -> xr.Dataset:
    """Two clear regimes; in one condition every human is always right."""
    trials, _ = difficulty(
        6, 5, n_items=60, means=MEANS, sds=SDS, weights=(0.5, 0.5), ability_sd=0.3, rng=3
    )
    data = trials.data.copy(deep=True)
    here = (data["dataset"] == "distortion_1") & (data["condition"] == "level_2")
    data["correct"].values[:, here.values] = 1
    # Some people make no error in the reference either.
    return al.difficulty_spectrum(al.Trials(data), REFERENCE, chance=1 / 16, correction=0.5)


@pytest.fixture(scope="module")
def trees(spectrum: xr.Dataset) -> dict[int, xr.DataTree]:
    # Warnings are errors here: a divergence or a bad r_hat would end the test. As many draws as the
    # comparison takes of a fit.
    return {k: al.fit_spectrum(spectrum, k, n_draws=1_000, rng=k) for k in (1, 2)}


def test_density_is_the_stated_one() -> None:
    right, shown = np.array([90, 80, 95, 40, 50, 30]), np.array([100, 90, 100, 100, 100, 40])
    condition, person = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 2, 1, 2])
    reference = [True, True, False]
    model = al.models.spectrum(right, shown, condition, person, reference, k=3)
    rng = np.random.default_rng(1)
    point = {
        # -1 + .5 * .7 + .3 * (.7 + 1.9), for the hardest regime to be at -1.
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
    # To the rounding of the way into unconstrained space and back.
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
    centre = point["logit_accuracy"][[0, 0, 1, 1]].mean()
    scale = np.sqrt(seen.var(ddof=1) + noise)
    np.testing.assert_allclose(values[0], centre)
    np.testing.assert_allclose(values[1], scale)
    np.testing.assert_allclose(values[2], (point["logit_accuracy"] - centre) / scale)


@pytest.mark.parametrize("case", range(4))
def test_integrated_likelihood_against_a_fine_grid(case: int) -> None:
    rng = np.random.default_rng(case)
    n_people = 1 + case % 3
    shown = rng.choice([20.0, 160.0, 640.0], n_people)
    right = rng.binomial(shown.astype(int), rng.uniform(0.3, 0.7)).astype(float)
    if case == 0:
        right = shown.copy()
    weight = rng.dirichlet(np.full(3, 3.0))
    mean, sd = np.sort(rng.normal(0, 2, 3)), rng.uniform(0.1, 0.8, 3)
    centre, own = rng.normal(0, 0.3, n_people), rng.uniform(0.2, 0.6, n_people)
    found = spectrum_posterior._integrated(
        right, shown, centre[None], own[None], weight[None], mean[None], sd[None]
    )
    ease, u = np.linspace(-9, 9, 4001), np.linspace(-8, 8, 321)
    log_likelihood = np.zeros_like(ease)
    for h in range(n_people):
        logit = ease[:, None] + centre[h] + own[h] * u
        p = stats.binom.pmf(right[h], shown[h], special.expit(logit))
        with np.errstate(divide="ignore"):
            log_likelihood += np.log((p * stats.norm.pdf(u)).sum(axis=1) * (u[1] - u[0]))
    prior = stats.norm.pdf(ease[:, None], mean, sd) @ weight
    expected = np.log((np.exp(log_likelihood) * prior).sum() * (ease[1] - ease[0]))
    assert found[0] == pytest.approx(expected, abs=1e-3)


def test_ability_given_the_other_conditions_against_a_fine_grid() -> None:
    right, shown = np.array([300.0, 200.0, 410.0]), np.array([400.0, 400.0, 500.0])
    ease, ability_sd, own_sd = np.array([0.8, -0.3, 1.0]), (0.3, 0.5), 0.1
    draws = xr.Dataset(
        {
            "ability_sd": (("chain", "draw", "population"), [[ability_sd]]),
            "interaction_sd": (("chain", "draw"), [[own_sd]]),
            "logit_accuracy": (("chain", "draw", "condition"), [[ease]]),
        }
    )
    entries = xr.Dataset(
        {
            "condition_of_entry": ("entry", [0, 1, 2]),
            "person_of_entry": ("entry", [0, 0, 1]),
            "is_reference": ("condition", [True, False, False]),
        }
    )
    centre, own = spectrum_posterior._left_out_people(draws, entries, right, shown)
    # The first condition left out, the second tells the ability of its person.
    z, u = np.linspace(-6, 6, 1201), np.linspace(-6, 6, 201)
    logit = ease[1] + 0.5 * z[:, None] + own_sd * u
    likelihood = (stats.binom.pmf(200, 400, special.expit(logit)) * stats.norm.pdf(u)).sum(axis=1)
    weight = likelihood * stats.norm.pdf(z)
    weight /= weight.sum()
    mean = (weight * z).sum()
    sd = np.sqrt((weight * (z - mean) ** 2).sum())
    # The counts are taken for a normal likelihood: right to a few per cent of the spread.
    assert centre[0, 0] == pytest.approx(0.3 * mean, abs=0.05 * 0.3 * sd)
    assert own[0, 0] == pytest.approx(np.hypot(own_sd, 0.3 * sd), rel=0.03)
    # The person with one condition is unknown.
    assert (centre[0, 2], own[0, 2]) == (0, pytest.approx(np.hypot(own_sd, 0.5)))


@pytest.mark.slow
def test_regimes_are_recovered(spectrum: xr.Dataset, trees: dict[int, xr.DataTree]) -> None:
    posterior = trees[2]["posterior"].to_dataset()
    assert int(trees[2]["sample_stats"]["diverging"].sum()) == 0
    assert float(azs.rhat(posterior[["regime_mean"]])["regime_mean"].max()) < 1.01
    low, high = np.quantile(posterior["regime_mean"].values.reshape(-1, 2), [0.005, 0.995], axis=0)
    # The condition made perfect pulls the easier regime upwards: its own mean is in no interval's
    # promise, the harder one is.
    assert low[0] < MEANS[0] < high[0]
    table = al.spectrum.regime_probabilities(trees[2])
    moderate = np.abs(spectrum["accuracy"].values - 0.5) < 0.45
    assert np.corrcoef(table["delta"][moderate], spectrum["delta"][moderate])[0, 1] > 0.99
    truth = np.where(spectrum["accuracy"] > 0.5, "regime 2", "regime 1")
    assert (table["regime"] == truth).all()
    np.testing.assert_allclose(table[["p_regime 1", "p_regime 2"]].sum(axis=1), 1)


@pytest.mark.slow
def test_two_regimes_predict_better_than_one(trees: dict[int, xr.DataTree]) -> None:
    table = al.spectrum.compare_regimes(trees)
    assert table["n_regimes"].tolist() == [2, 1]
    assert table["elpd_diff"].tolist()[0] == 0
    # Twice its standard error, about. Fits of other seeds gave -13.13 and -12.35, so that the draws
    # of one move it by about .4: four times that, and an eighth of it for the standard error.
    assert table["elpd_diff"].tolist()[1] == pytest.approx(-12.7, abs=1.6)
    assert table["diff_se"].tolist()[1] == pytest.approx(6.3, abs=0.5)
    assert table["weight"].sum() == pytest.approx(1)
    # Left out one at a time, conditions are predicted worse than when they are seen.
    seen = condition_log_likelihood(trees[2])
    lpd = special.logsumexp(seen.values, axis=(0, 1)) - np.log(
        seen.sizes["chain"] * seen.sizes["draw"]
    )
    assert table["elpd"][0] < lpd.sum()
    assert table["p"][0] == pytest.approx(lpd.sum() - table["elpd"][0], abs=1e-6)


@pytest.mark.slow
def test_draws_taken_are_spread_over_the_chains(trees: dict[int, xr.DataTree]) -> None:
    part = condition_log_likelihood(trees[1], 40)
    assert dict(part.sizes) == {"chain": 4, "draw": 10, "condition": 30}
    whole = condition_log_likelihood(trees[1], 10_000)
    assert whole.sizes["draw"] == trees[1]["posterior"].sizes["draw"]
    np.testing.assert_allclose(part.values[:, [0, -1]], whole.values[:, [0, -1]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shown": [100] * 5}, r"one entry each .* got shapes \(6,\), \(5,\)"),
        ({"right": [101, 80, 95, 40, 50, 30]}, "0 <= right <= shown"),
        ({"right": [-1, 80, 95, 40, 50, 30]}, "0 <= right <= shown"),
        ({"shown": [0, 100, 100, 100, 100, 100], "right": [0] * 6}, "at least one answer"),
        ({"condition": [0, 0, 0, 2, 2, 2]}, "condition must number from 0 on without gaps"),
        ({"person": [1, 2, 3, 1, 2, 3]}, "person must number from 0 on without gaps"),
        ({"is_reference": [True]}, r"each of 2 conditions .* got shape \(1,\)"),
        ({"is_reference": [False, False]}, "at least 3 entries .* got 0; name more"),
        ({"k": 0}, "k must lie between 1 and the number of conditions, 2; got 0"),
        ({"k": 3}, "k must lie between 1 and the number of conditions, 2; got 3"),
    ],
)
def test_bad_input_gets_one_line(change: dict[str, object], message: str) -> None:
    given: dict[str, object] = {
        "right": [90, 80, 95, 40, 50, 30],
        "shown": [100] * 6,
        "condition": [0, 0, 0, 1, 1, 1],
        "person": [0, 1, 2, 0, 1, 2],
        "is_reference": [True, False],
        "k": 2,
    }
    with pytest.raises(ValueError, match=message) as error:
        al.models.spectrum(**(given | change))  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_comparison_refuses_what_cannot_be_compared(trees: dict[int, xr.DataTree]) -> None:
    with pytest.raises(ValueError, match="at least 2 fits, got 1"):
        al.spectrum.compare_regimes({2: trees[2]})
    other = trees[1].copy()
    other = labelled(other, condition=[f"x{i}" for i in range(30)])
    with pytest.raises(ValueError, match="fits are of different conditions"):
        al.spectrum.compare_regimes({1: other, 2: trees[2]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_humans": 0}, r"n_humans must lie in \[1, inf\], got 0"),
        ({"means": (1.0, 0.0, 2.0, 3.0)}, "means must increase"),
        ({"means": (1.0, 2.0)}, "one sd and one weight each"),
        ({"weights": (0.0, 1.0, 1.0, 1.0)}, "weights must be positive"),
        ({"ability_sd": -0.1}, "no spread negative"),
    ],
)
def test_simulation_refuses_bad_numbers(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        difficulty(**change)  # type: ignore[arg-type]
