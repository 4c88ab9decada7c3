"""Regimes: one-dimensional mixtures, their search, bootstrap, published values, covariates."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from scipy import special, stats
from sklearn.mixture import GaussianMixture
from test_spectrum import real_spectrum, spectrum_of

import alikely as al
from alikely.models._mixtures import (
    mixture_boundaries,
    neighbour_probabilities,
    regime_names,
    tightest_groups,
)
from alikely.spectrum import regime_mixtures

FEW = {"n_starts": 20, "n_resamples": 0, "rng": 1}


def on_a_line(delta: Any) -> xr.Dataset:
    """A spectrum with deltas only."""
    values = np.asarray(delta, dtype=float)
    names = np.array([f"a:{i}" for i in range(len(values))], dtype=object)
    reason = np.where(np.isnan(values), "infinite logit", "")
    return xr.Dataset(
        {"delta": ("condition", values), "reason": ("condition", reason)},
        coords={"condition": names},
    )


@st.composite
def mixtures(draw: st.DrawFn, most: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, sorted means and standard deviations, some of them very large."""
    k = draw(st.integers(2, most))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weight = generator.dirichlet(np.ones(k)) * 0.99 + 0.01 / k
    return weight, np.sort(generator.normal(0, 5, k)), np.exp(generator.normal(0, 2, k))


def test_neighbor_probabilities_equal_dominant_responsibilities() -> None:
    """Compare with responsibilities of narrow components, which overlap only with neighbors."""
    weight, mean, sd = np.array([0.2, 0.5, 0.3]), np.array([0.0, 10.0, 20.0]), np.full(3, 0.7)
    x = np.linspace(0, 20, 41)
    density = weight * stats.norm.pdf(x[:, None], mean, sd)
    usual = density / density.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(neighbour_probabilities(x, weight, mean, sd), usual, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(mixtures())
def test_probability_of_higher_components_increases(
    mixture: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    x = np.sort(np.concatenate([np.linspace(-30, 30, 301), mixture[1]]))
    p = neighbour_probabilities(x, *mixture)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    at_least = p[:, ::-1].cumsum(axis=1)
    assert (np.diff(at_least, axis=0) >= -1e-12).all()
    assert (np.diff(p.argmax(axis=1)) >= 0).all()
    # Beyond the outer means, and with one very wide component.
    assert (p[x < mixture[1][0], 0] == 1).all()
    assert (p[x > mixture[1][-1], -1] == 1).all()


@settings(max_examples=40, deadline=None)
@given(mixtures())
def test_boundaries_solve_the_equality(
    mixture: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    weight, mean, sd = mixture
    boundary = mixture_boundaries(weight, mean, sd)
    assert (boundary >= mean[:-1]).all()
    assert (boundary <= mean[1:]).all()
    density = [
        np.log(weight[side]) + stats.norm.logpdf(boundary, mean[side], sd[side])
        for side in (slice(None, -1), slice(1, None))
    ]
    lead = density[1] - density[0]
    at_left, at_right = np.isclose(boundary, mean[:-1]), np.isclose(boundary, mean[1:])
    # Slopes of the densities times the rounding error of the boundary.
    steep = 1 + (mean[1:] - mean[:-1]) / np.minimum(sd[:-1], sd[1:]) ** 2
    between = ~(at_left | at_right)
    assert (np.abs(lead[between]) <= 1e-12 * steep[between]).all()
    assert (lead[at_left & ~at_right] >= -1e-6 * steep[at_left & ~at_right]).all()
    assert (lead[at_right & ~at_left] <= 1e-6 * steep[at_right & ~at_left]).all()


def test_far_points_neither_overflow_nor_vanish() -> None:
    mixture = [0.3, 0.3, 0.4], [-1.0, 0.0, 1e8], [1e-3, 1e-3, 1e-2]
    x = [-1e300, -np.inf, -0.25, 3e7, 7e7, 1e300, np.inf]
    p = neighbour_probabilities(x, *mixture)
    # Densities at 3e7 and 7e7 underflow, so distances in standard deviations decide.
    assert p.argmax(axis=1).tolist() == [0, 0, 1, 2, 2, 2, 2]
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.isnan(neighbour_probabilities([np.nan], *mixture)).all()


@pytest.mark.slow
def test_recovers_a_well_separated_mixture() -> None:
    rng = np.random.default_rng(1)
    group = np.repeat([0, 1, 2], [15, 30, 20])
    mean, sd = np.array([-16.0, -8.0, 0.0]), np.array([0.5, 1.0, 0.8])
    delta = rng.normal(mean[group], sd[group])
    order = rng.permutation(len(delta))
    found = al.regimes(on_a_line(delta[order]), **FEW)
    assert found.attrs["k"] == 3
    assert 3 in found.attrs["ties"]
    assert found["size"].values.tolist() == [15, 30, 20]
    labels = np.array(regime_names(3))[group[order]]
    assert found["label"].values.tolist() == labels.tolist()
    # Four standard errors.
    size = found["size"].values
    assert (np.abs(found["mean"].values - mean) < 4 * sd / np.sqrt(size)).all()
    assert (np.abs(found["sd"].values - sd) < 4 * sd / np.sqrt(2 * size)).all()
    np.testing.assert_allclose(found["weight"], size / len(delta), atol=1e-3)
    assert found["boundary"].values.tolist() == ["regime 1 | regime 2", "regime 2 | regime 3"]
    np.testing.assert_allclose(found["probability"].sum("regime"), 1)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_labels_follow_delta(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    delta = rng.standard_t(2, 25) * 3
    found = al.regimes(on_a_line(delta), k, n_starts=1, n_resamples=0, rng=1)
    number = [found["regime"].values.tolist().index(label) for label in found["label"].values]
    assert (np.diff(np.array(number)[np.argsort(delta)]) >= 0).all()
    assert (np.diff(found["mean"].values) >= 0).all()
    # Labels and boundaries agree.
    assert number == np.searchsorted(found["position"].values, delta).tolist()


def test_table_against_the_formulas() -> None:
    """Compare BIC and AICc with the log likelihood from scipy."""
    rng = np.random.default_rng(2)
    delta = np.concatenate([rng.normal(-6, 1, 12), rng.normal(0, 2, 18)])
    options = {"n_starts": 3, "n_resamples": 0, "rng": 1}
    table = al.regimes(on_a_line(delta), **options)
    n = len(delta)
    for k in (1, 3, 6):
        found = al.regimes(on_a_line(delta), k, **options)
        density = stats.norm.pdf(delta[:, None], found["mean"].values, found["sd"].values)
        log_likelihood = np.log(density @ found["weight"].values).sum()
        free = 3 * k - 1
        bic = free * np.log(n) - 2 * log_likelihood
        aicc = 2 * free - 2 * log_likelihood + 2 * free * (free + 1) / (n - free - 1)
        here = table.sel(n_regimes=k)
        assert here["bic"].item() == pytest.approx(bic, rel=1e-9)
        assert here["aicc"].item() == pytest.approx(aicc, rel=1e-9)
    assert table["n_regimes"].values.tolist() == [1, 2, 3, 4, 5, 6]
    lowest = table["bic"].min().item()
    near = table["n_regimes"].values[table["bic"].values <= lowest + regime_mixtures.TIE]
    assert table.attrs["ties"] == near.tolist()
    assert table.attrs["k"] == int(table["bic"].values.argmin()) + 1


def test_one_run_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    delta = np.concatenate([rng.normal(-6, 1, 30), rng.normal(0, 1, 30)])
    own = GaussianMixture(2, reg_covar=regime_mixtures.LEAST_VARIANCE, n_init=5, random_state=1)
    own.fit(delta[:, None])
    found = al.regimes(on_a_line(delta), 2, **FEW)
    np.testing.assert_allclose(found["mean"], np.sort(own.means_[:, 0]), rtol=1e-6)
    assert found["bic"].values[1] == pytest.approx(own.bic(delta[:, None]), rel=1e-9)


def test_k_from_one_to_the_number_of_conditions() -> None:
    delta = [-9.0, -8.5, -3.0, -2.0, 0.0, 0.5]
    one = al.regimes(on_a_line(delta), 1, **FEW)
    assert (one["probability"] == 1).all()
    assert one["position"].shape == (0,)
    assert one["mean"].item() == pytest.approx(np.mean(delta))
    assert one["sd"].item() == pytest.approx(
        np.sqrt(np.var(delta) + regime_mixtures.LEAST_VARIANCE)
    )
    for k in (5, 6):
        found = al.regimes(on_a_line(delta), k, **FEW)
        assert found["size"].sum() == 6
        assert found.attrs["k"] == k
        # The table does not include as many components as conditions.
        assert found["n_regimes"].values.tolist() == [1, 2, 3, 4, 5]
    assert found["size"].values.tolist() == [1] * 6
    # AICc is undefined with as many parameters as conditions.
    assert found["aicc"].isnull().values.tolist() == [False, True, True, True, True]


# Two data sets with separate humans; those of one saw all of its conditions.
PEOPLE = {
    "a:clean": [19, 18, 17, 18, None, None, None],
    "a:near": [16, 17, 15, 15, None, None, None],
    "a:far": [5, 4, 7, 5, None, None, None],
    "b:clean": [None, None, None, None, 18, 16, 19],
    "b:near": [None, None, None, None, 15, 16, 14],
    "b:far": [None, None, None, None, 4, 6, 3],
}
CLEAN = ["a:clean", "b:clean"]


def test_replicates_agree_with_resampled_humans() -> None:
    """Compare with copies of the humans' values instead of weights."""
    spectrum = spectrum_of(PEOPLE, CLEAN)
    n = 40
    deltas = regime_mixtures._resampled_deltas(spectrum, n, np.random.SeedSequence(1))
    rng = np.random.default_rng(np.random.SeedSequence(1))
    first = rng.multinomial(4, [1 / 4] * 4, n)
    second = rng.multinomial(3, [1 / 3] * 3, n)
    logit = spectrum["logit_accuracy"].values
    expected = []
    for a, b in zip(first, second, strict=True):
        own = [np.repeat(row[:4], a) for row in logit[:3]]
        own += [np.repeat(row[4:], b) for row in logit[3:]]
        reference = np.concatenate([own[0], own[3]])
        if np.ptp(reference) > 0:
            mean = np.array([values.mean() for values in own])
            expected.append((mean - reference.mean()) / reference.std(ddof=1))
    np.testing.assert_allclose(deltas, expected, rtol=1e-9)


def test_replicates_without_a_delta_are_excluded() -> None:
    """In 3 of 27 resamples of three humans, one human occurs three times, without variance."""
    right = {"a:clean": [19, 17, 18], "a:near": [15, 14, None], "a:far": [4, None, 5]}
    spectrum = spectrum_of(right, "clean")
    found = al.regimes(spectrum, 2, n_starts=5, n_resamples=150, rng=1)
    # Four standard errors.
    kept = 1 - 3 / 27
    assert found.attrs["n_resamples"] / 150 == pytest.approx(
        kept, abs=4 * np.sqrt(kept * (1 - kept) / 150)
    )
    none = regime_mixtures._share(np.zeros((0, 4, 2), dtype=bool))
    assert none.shape == (4, 2)
    assert np.isnan(none).all()


@pytest.mark.slow
def test_printed_regimes(shared_data: Path) -> None:
    """Check four regimes of 72 conditions with several seeds."""
    spectrum = real_spectrum(shared_data)
    for seed, n_resamples in ((1, 0), (2, 20)):
        found = al.regimes(spectrum, 4, n_resamples=n_resamples, rng=seed)
        assert found["size"].values.tolist() == [11, 28, 23, 10]
        np.testing.assert_allclose(found["position"], [-15.90, -4.20, -0.92], atol=0.05)
        np.testing.assert_allclose(found["mean"], [-16.68, -9.33, -2.61, 0.23], atol=0.01)
        assert {2, 4} <= set(found.attrs["ties"])
        np.testing.assert_allclose(found["bic"].values[[1, 3]], [449.1, 449.4], atol=0.05)
    extreme = found["label"].values == "extreme"
    assert (extreme == ~spectrum["above_chance"].values).all()
    assert found["regime"].values.tolist() == ["extreme", "far", "near", "reference"]
    assert (found["converged_bic"] <= found["bic"] + 1e-6).all()


@given(
    st.lists(st.floats(-9, 9, allow_nan=False), min_size=3, max_size=9),
    st.integers(1, 3),
)
def test_best_groups_agree_with_all_partitions(values: list[float], k: int) -> None:
    x = np.sort(values)

    def within(edges: tuple[int, ...]) -> float:
        return sum(((part - part.mean()) ** 2).sum() for part in np.split(x, edges))

    best = min(within(cut) for cut in itertools.combinations(range(1, len(x)), k - 1))
    groups = tightest_groups(values, k)
    assert len(groups) == k
    np.testing.assert_array_equal(np.concatenate(groups), x)
    # Sums of squares are differences of cumulative sums, of at most 9**2 times 9 values.
    assert sum(((part - part.mean()) ** 2).sum() for part in groups) == pytest.approx(
        best, abs=1e-9
    )


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
def test_covariates_shift_difficulty_and_ability(tree: xr.DataTree) -> None:
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
def test_density_of_conditions_is_the_shifted_mixture() -> None:
    """Compare with densities of the logit, given regimes and covariates, at one point."""
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
