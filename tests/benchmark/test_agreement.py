"""Regression of agreement: its table, its draws, and the dependence of pairs."""

from __future__ import annotations

from collections.abc import Callable

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import alikely as al
from alikely import inference
from alikely.benchmark import agreement
from alikely.estimates.matrices import packed_answers
from alikely.inference.regression import PairRegression

NAMES = [f"o{k}" for k in range(10)]
GROUP = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3])
FAMILY = dict(zip(NAMES, map(str, GROUP.tolist()), strict=True))
FIRST, SECOND = np.triu_indices(len(GROUP), k=1)
SAME = GROUP[FIRST] == GROUP[SECOND]
# Differences in size; every second pair has another standard error.
SIZE = np.abs(GROUP[FIRST] - 2 * GROUP[SECOND]) / 2.0
SE = np.where(np.arange(len(FIRST)) % 2, 0.05, 0.1)


@pytest.fixture(scope="module")
def board() -> al.Trials:
    return al.simulate.leaderboard(24, 6, 400, shared=0.6, rng=2)


@pytest.fixture(scope="module")
def matrix(board: al.Trials) -> al.Result:
    return al.pairwise_matrix(board)


@pytest.fixture(scope="module")
def family(board: al.Trials) -> dict[str, str]:
    return dict(zip(board.observers, board.data["family"].values.tolist(), strict=True))


@pytest.fixture(scope="module")
def found(matrix: al.Result, family: dict[str, str]) -> al.Result:
    return al.benchmark.agreement_regression(matrix, labels=family, n_draws=1_000, rng=1)


def table() -> pd.DataFrame:
    """Table of pairs: observer effects, group effect, residual and error."""
    rng = np.random.default_rng(1)
    u, v = 0.05 * rng.normal(size=len(GROUP)), 0.1 * rng.normal(size=GROUP.max() + 1)
    size = SIZE - SIZE.mean()
    estimate = 0.3 + 0.05 * size + u[FIRST] + u[SECOND] + SAME * (0.2 + v[GROUP[FIRST]])
    estimate += rng.normal(size=len(SE)) * np.sqrt(0.05**2 + SE**2)
    names = np.array(NAMES)
    return pd.DataFrame(
        {"observer_a": names[FIRST], "observer_b": names[SECOND], "estimate": estimate, "se": SE,
         "size": size}
    )  # fmt: skip


def in_pymc(pairs: pd.DataFrame) -> pm.Model:
    """The regression in PyMC, with priors relative to the spread of the estimates."""
    value = pairs["estimate"].to_numpy()
    x = np.column_stack([np.ones(len(value)), SAME, pairs["size"]])
    numbers = np.where(SAME, GROUP[FIRST], -1)
    prior = PairRegression(value, SE, x, FIRST, SECOND, numbers)
    with pm.Model() as model:
        b = pm.Normal("b", prior.prior_mean, prior.prior_sd[: x.shape[1]])
        tau, sigma, omega = (
            pm.HalfNormal(name, float(scale))
            for name, scale in zip(("tau", "sigma", "omega"), prior.prior_scales, strict=True)
        )
        u = pm.Deterministic("u", tau * pm.Normal("u_unit", 0, 1, shape=len(GROUP)))
        v = pm.Deterministic("v", omega * pm.Normal("v_unit", 0, 1, shape=int(GROUP.max()) + 1))
        mean = x @ b + u[FIRST] + u[SECOND] + pm.math.where(SAME, v[numbers], 0.0)
        pm.Normal("observed", mean, pm.math.sqrt(SE**2 + sigma**2), observed=value)
    return model


def test_a_family_with_shared_errors_agrees_more(found: al.Result) -> None:
    summary = found.summary().set_index("parameter")
    assert summary.index.tolist() == [
        "intercept", "same_family", *agreement.ACCURACIES, "tau", "sigma", "omega_family",
    ]  # fmt: skip
    row = summary.loc["same_family"]
    assert 0 < row["eti95_lb"] < row["estimate"] < row["eti95_ub"]
    assert (summary["note"] == "").all()
    wide, narrow = (found.summary(ci_prob=p).loc[1] for p in (0.95, 0.5))
    assert wide["eti95_ub"] > narrow["eti50_ub"]
    draws = found.draws("posterior")
    np.testing.assert_allclose(draws.mean(axis=0), summary["estimate"])


def test_shared_errors_are_summed_by_influence(matrix: al.Result, family: dict[str, str]) -> None:
    """Compare with the explicit covariance of all pairs."""
    part = matrix.sel(observer=matrix.observers[::3])
    pairs = agreement._pairs(part)
    names = part.observers
    design, _ = agreement._regression(pairs, {n: family[n] for n in names}, ["accuracy_gap"])
    scales = np.array([0.05, 0.02, 0.03])
    names_of_scales = agreement.SPREADS.values()
    drawn = xr.Dataset({k: ("draw", [v]) for k, v in zip(names_of_scales, scales, strict=True)})
    root = agreement._shared_errors(part, design, drawn)
    correct = packed_answers(part)[0].unpacked(np.arange(len(names)))
    cells = part.estimates["cells"].values.astype(float)
    psi = part.metric.influence(cells)
    which = 2 * (1 - correct[design.first]) + (1 - correct[design.second])
    by_trial = np.take_along_axis(psi, which, axis=1) / correct.shape[1]
    weights = design.weights(scales)
    extra = weights @ (by_trial @ by_trial.T - np.diag(design.se**2)) @ weights.T
    values, _ = np.linalg.eigh(extra)
    if (values > 0).all():
        np.testing.assert_allclose(root @ root.T, extra, rtol=1e-9)
    # The variance is not smaller in any direction.
    assert np.linalg.eigvalsh(root @ root.T - extra).min() > -1e-12
    assert np.trace(root @ root.T) > 0


def test_conditions_are_averaged() -> None:
    trials = al.load_example().select(condition=["noise", "blur"])
    matrix = al.pairwise_matrix(trials)
    pairs = agreement._pairs(matrix)
    value = matrix.estimates["estimate"].values
    np.testing.assert_allclose(pairs["estimate"], value.mean(axis=0))
    variance = (matrix.estimates["se"].values ** 2).sum(axis=0) / 4
    np.testing.assert_allclose(pairs["se"], np.sqrt(variance.mean()))


@pytest.mark.slow
def test_chains_agree_with_draws(figure: Callable[[str], None]) -> None:
    """Means and probabilities agree within 4 Monte Carlo errors of both."""
    pairs = table()
    tree = inference.nuts(in_pymc(pairs), 5_000, tune=1_000, target_accept=0.95, rng=1)
    chains = tree["posterior"]
    regression, _ = agreement._regression(pairs, {n: FAMILY[n] for n in NAMES}, ["size"])
    posterior = regression.draws(8_000, np.random.default_rng(2))
    n = posterior.attrs["n_effective"]
    worst = 0.0
    for name in ("b", "tau", "sigma", "omega", "u", "v"):
        shape = (posterior.sizes["draw"], -1)
        one, other = posterior[name].values.reshape(shape), chains[name].values
        other = other.reshape(*other.shape[:2], -1)
        for k in range(one.shape[1]):
            # Probabilities at the quartiles, for distributions of any shape.
            for level in (0.25, 0.5, 0.75):
                below = other[..., k] <= np.quantile(one[:, k], level)
                ess = float(az.ess(below.astype(float)))
                mcse = np.sqrt(level * (1 - level) * (1 / ess + 1 / n))
                worst = max(worst, abs(below.mean() - level) / mcse)
    figure(f"regression of agreement: chains differ by at most {worst:.1f} Monte Carlo errors")
    assert worst < 4
