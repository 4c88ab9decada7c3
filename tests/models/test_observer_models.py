"""Different observers: likelihood, recovery, variance fractions, explained consistency."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from scipy import integrate, stats

import alikely as al
from alikely.margins.reliability import self_consistency
from alikely.margins.strengths import strength_of
from alikely.metrics import error_consistency
from alikely.metrics.margins import m_afc_log_probability, m_afc_probability
from alikely.models.observers import (
    FEW_ANSWERS,
    GRID,
    _observe_repeats,
    log_odds,
    noise_variance,
)
from generative.item_margins import Bent

M = 16
RIGHT = np.array([[2, 1, 0, 2, 1, 0], [2, 0, 1, 2, 1, 1]])
SHOWN = np.full((2, 6), 2)
# Do not compile graphs that run only a few times.
PLAIN = Mode("py", "fast_compile")


def counts(trials: al.Trials) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses (observer, item, repeat) of a simulated experiment, and their counts."""
    raw = trials.data["correct"].values
    n_repeats = len(np.unique(trials.data["repeat"].values))
    correct = raw.reshape(len(raw), n_repeats, -1).transpose(0, 2, 1)
    return correct, correct.sum(axis=2), np.full(correct.shape[:2], n_repeats)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "deviation"),
    [(1, 0.7), (6, 3.0), (30, 3.0)],
)
def test_stable_deviations_are_integrated_out(n: int, deviation: float) -> None:
    """Compare mean log likelihoods of data of the model, where quadrature must be accurate."""
    d = np.linspace(-1, 5, 13)
    e = np.linspace(-9, 9, 4001)
    right, wrong = m_afc_log_probability(d[:, None] + deviation * e, M)
    k = np.arange(n + 1)
    ways = stats.binom(n, 0.5).pmf(k) * 2.0**n
    joint = np.exp(k[:, None, None] * right + (n - k)[:, None, None] * wrong)
    exact = np.log(ways[:, None] * integrate.trapezoid(joint * stats.norm.pdf(e), e, axis=-1))
    with pm.Model(coords={"observer": k, "item": d}) as model:
        value = np.broadcast_to(k[:, None], exact.shape)
        _observe_repeats(
            np.broadcast_to(d, exact.shape).copy(),
            np.float64(deviation),
            pm.Data("right", value.copy()),
            pm.Data("shown", np.full(exact.shape, n)),
            M,
            (n,),
        )
    found = model.compile_logp(sum=False, mode=PLAIN)({})[0]
    error = np.exp(exact) * (found - exact)
    if n <= FEW_ANSWERS:
        # Likely outcomes from a table have the precision of its interpolation.
        assert np.abs(error).max() < 1e-5
    assert np.abs(error).sum(axis=0).max() < 5e-3
    # Errors that add over items and observers would change the spread of deviations.
    assert np.abs(error.sum(axis=0)).max() < (2e-3 if deviation <= 2 else 4e-3)
    assert abs(error.sum(axis=0).mean()) < 5e-4


@pytest.mark.parametrize(("n_alternatives", "variance"), [(2, 2.0), (3, 1 + 1 - 1 / np.pi)])
def test_variance_of_the_noise_has_a_closed_form(n_alternatives: int, variance: float) -> None:
    assert noise_variance(n_alternatives) == pytest.approx(variance, abs=1e-9)


def test_one_repeat_does_not_separate_deviations_from_noise() -> None:
    right, shown = RIGHT > 0, np.ones((2, 6))
    model = al.models.observer_margins(right, shown, n_alternatives=M)
    assert model.coords["source"] == ("item", "observer x item and trial noise")
    assert "stable_sd" not in model.named_vars
    repeated = al.models.observer_margins(RIGHT, SHOWN, n_alternatives=M)
    assert "stable_sd" in repeated.named_vars


def test_simulated_observers_have_the_stated_consistency() -> None:
    trials, margins = al.simulate.detection_experiment(
        45, 800, rho={"a": 0.9, "b": 0.0}, rng=np.random.default_rng(1)
    )
    correct, right, _ = counts(trials)
    kappa = self_consistency(correct)["kappa"].mean()
    pairs = [(i, j) for i in range(45) for j in range(i)]
    between = []
    for i, j in pairs:
        a, b = correct[i, :, 0] == 1, correct[j, :, 0] == 1
        cells = [(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()]
        between.append(float(error_consistency(cells)))
    # Standard errors over 800 items and 45 pairs: 0.008 and 0.012.
    assert kappa == pytest.approx(0.54, abs=0.03)
    assert np.mean(between) == pytest.approx(0.31, abs=0.05)
    x = margins.pivot(index="item", columns="observer", values="margin").loc[
        list(trials.data["item"].values[:800])
    ]
    share = right.mean(axis=0)
    assert np.corrcoef(x["a"], share)[0, 1] > 0.75
    assert abs(np.corrcoef(x["b"], share)[0, 1]) < 4 / np.sqrt(800)
    # Responses have the probability of signal detection theory.
    alone, _ = al.simulate.detection_experiment(
        2, 4000, 1, strength_sd=0, ability_sd=0, stable_sd=0, strength_mean=1.0, rng=2
    )
    p = m_afc_probability(1.0, M)
    assert alone.data["correct"].values.mean() == pytest.approx(
        p, abs=4 * np.sqrt(p * (1 - p) / 8000)
    )


def fitted(correct: np.ndarray, *, stable: bool, n_draws: int = 50) -> xr.DataTree:
    """A tree as returned by fit_observers, with known and constant parameters."""
    n, n_items, _ = correct.shape
    strength = np.random.default_rng(1).normal(1.5, 1.5, n_items)
    shape = (2, n_draws)
    posterior = {
        "strength_mean": (("chain", "draw"), np.full(shape, 1.5)),
        "strength": (("chain", "draw", "item"), np.broadcast_to(strength, (*shape, n_items))),
        "ability": (("chain", "draw", "observer"), np.zeros((*shape, n))),
        "log_gain": (("chain", "draw", "observer"), np.zeros((*shape, n))),
    }
    if stable:
        posterior["stable_sd"] = (("chain", "draw"), np.full(shape, 1.0))
    answers = {"correct": (("observer", "item", "repeat"), correct)}
    names = np.array([f"p{i}" for i in range(n)], dtype=object)
    tree = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(posterior),
            "constant_data": xr.Dataset(answers, coords={"observer": names}),
        }
    )
    tree.attrs = {"components": "all" if stable else "shared", "n_alternatives": M}
    return tree


def simulated(n_items: int, *, stable: bool, rng: np.random.Generator) -> np.ndarray:
    strength = np.random.default_rng(1).normal(1.5, 1.5, n_items)
    own = strength + (1.0 if stable else 0.0) * rng.normal(size=(10, n_items))
    p = m_afc_probability(own, M)[:, :, None]
    return (rng.random((10, n_items, 2)) < p).astype(np.int8)


@pytest.mark.slow
@pytest.mark.parametrize("stable", [True, False])
def test_responses_of_the_model_are_inside_its_intervals(stable: bool) -> None:
    rng = np.random.default_rng(3)
    correct = simulated(160, stable=stable, rng=rng)
    frame = al.margins.explained_consistency(fitted(correct, stable=stable), 400, 0.9, rng=1)
    # 45 pairs, and each observer with itself if its deviations are known.
    assert len(frame) == (55 if stable else 45)
    assert (frame["n_trials"][:45] == 320).all()
    # Pairs with a common observer are dependent, like about 20 independent pairs.
    assert frame["inside"].mean() > 0.9 - 4 * np.sqrt(0.09 / 20)
    between = frame["observer_a"] != frame["observer_b"]
    if stable:
        own = frame[~between]
        assert (own["n_trials"] == 160).all()
        np.testing.assert_allclose(own["observed"], self_consistency(correct)["kappa"])
        assert own["predicted"].mean() > frame[between]["predicted"].mean()
    # Shared responses beyond the strengths give higher consistency than predicted.
    copied = correct.copy()
    copied[1] = copied[0]
    found = al.margins.explained_consistency(fitted(copied, stable=stable), 400, rng=1).iloc[0]
    assert found["observed"] == 1
    assert not found["inside"]
    assert found["p_above"] < 0.01


def test_missing_responses_and_undefined_pairs() -> None:
    correct = simulated(40, stable=True, rng=np.random.default_rng(4))
    correct[0, :10, 1] = -1
    correct[1] = 1
    frame = al.margins.explained_consistency(fitted(correct, stable=True), 50, rng=1)
    assert frame["n_trials"][:2].tolist() == [70, 70]
    own = frame[frame["observer_a"] == frame["observer_b"]].reset_index()
    assert own["n_trials"][0] == 30
    assert np.isnan(own["observed"][1])
    assert np.isnan(own["p_above"][1])
    with pytest.raises(ValueError, match="n_replicates must be at least 2, got 1"):
        al.margins.explained_consistency(fitted(correct, stable=True), 1)


def test_fit_observers_from_trials(chains: bool) -> None:
    trials, _ = al.simulate.detection_experiment(8, 60, 2, rng=5)
    tree = al.fit_observers(trials, n_draws=2000, rng=1)
    assert tree.attrs["components"] == "all"
    assert tree["posterior"]["observer"].values.tolist() == trials.observers
    shares = al.margins.variance_fractions(tree, 0.9)
    assert shares["source"].tolist() == ["item", "observer x item", "trial noise"]
    assert (shares["eti90_lb"] < shares["median"]).all()
    assert (shares["median"] < shares["eti90_ub"]).all()
    draws = tree["posterior"].to_dataset()
    np.testing.assert_allclose(draws["share"].sum("source"), 1, atol=1e-12)
    gain = np.exp(draws["log_gain"]) * draws["strength_sd"]
    np.testing.assert_allclose(draws["ceiling"], gain / np.hypot(gain, draws["stable_sd"]))
    assert draws["observer"].values.tolist() == trials.observers
    correct, _, _ = counts(trials)
    np.testing.assert_array_equal(tree["constant_data"]["correct"].values, correct)
    frame = al.margins.explained_consistency(tree, 200, rng=1)
    if chains:
        assert frame["inside"].mean() > 0.7
    with pytest.raises(ValueError, match="no observer is of kind 'model'; kinds are human"):
        al.fit_observers(trials, kind="model")


# Do not compile functions that run only a few times.
ONCE = Mode("py", "fast_compile")


def function_of(part: Any, x: Any) -> Any:
    """Value and gradient, without compiling."""
    return pytensor.function([x], [part, pt.grad(part.sum(), x)], mode=ONCE)


def slopes(function: Any, d: np.ndarray) -> np.ndarray:
    return (function(d + 1e-5)[0] - function(d - 1e-5)[0]) / 2e-5


@pytest.mark.parametrize("n_alternatives", [2, 16, 1000])
def test_log_odds_of_the_model(n_alternatives: int) -> None:
    d = np.random.default_rng(1).uniform(-29, 29, 2000)
    log_right, log_wrong = m_afc_log_probability(d, n_alternatives)
    x = pt.dvector("x")
    odds = function_of(log_odds(x, n_alternatives), x)
    np.testing.assert_allclose(odds(d)[0], log_right - log_wrong, atol=1e-5)
    # Differences over 2e-5 of values up to 450 with errors of 1e-13.
    np.testing.assert_allclose(odds(d)[1], slopes(odds, d), rtol=1e-5, atol=1e-7)
    far = np.array([-200.0, GRID[0], GRID[-1], 200.0])
    assert (odds(far)[1] > 0).all()
    assert (np.diff(odds(far)[0]) > 0).all()


@pytest.mark.parametrize(("skewness", "log_tail"), [(0.0, 0.0), (0.5, -0.3), (-0.8, 0.4)])
def test_nonlinear_strengths_agree_with_arrays(skewness: float, log_tail: float) -> None:
    law = Bent(1.2, 0.7, skewness, log_tail)
    u = np.linspace(-3, 3, 7)
    row = np.array([[1.2, np.log(0.7), skewness, log_tail]])
    strength = law.strength(pt.as_tensor(u)).eval(mode=ONCE)
    assert strength == pytest.approx(strength_of(row, u[None])[0])
    # Half the distance between scores -1 and 1 is the spread, whatever the shape.
    assert strength[4] - strength[2] == pytest.approx(2 * 0.7)
    assert strength[3] == pytest.approx(1.2)
    # The coordinate is centered at the data, unless these are extreme.
    seen, _ = law.placed(pt.as_tensor(law.strength(0.4)), 1.0)
    assert float(seen.eval(mode=ONCE)) == pytest.approx(0.4, abs=0.02)
