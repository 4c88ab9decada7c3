"""A population of humans: likelihood and scores by brute force, limits, errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from scipy import special

import alikely as al
from alikely.data.cohorts import cohort_counts
from alikely.models.cohorts import _contrasts

HERE = ("human_level", "human_spread_condition", "ability", "loading", "ability_sd", "loading_sd",
        "level", "following", "human_accuracy", "human_error_consistency",
        "human_error_consistency_these", "accuracy", "copy_probability", "right_alone",
        "error_consistency", "error_consistency_these", "row_probability")  # fmt: skip
# Do not compile graphs that run only a few times.
PLAIN = Mode("py", "fast_compile")
# A grid with sufficient range and resolution for all curves.
EASE = np.linspace(-8, 8, 801)
SHARE = np.exp(-(EASE**2) / 2) / np.exp(-(EASE**2) / 2).sum()


def trials(n_humans: int = 3, n: int = 30, missing: bool = False) -> al.Trials:
    """Two conditions, two models."""
    rng = np.random.default_rng(5)
    correct: Any = rng.integers(0, 2, (n_humans + 2, 2 * n))
    if missing:
        correct = np.ma.masked_array(correct, np.zeros_like(correct))
        correct[0, :5] = np.ma.masked
    return al.Trials.from_correct(
        correct,
        kind=["human"] * n_humans + ["model"] * 2,
        condition=np.repeat(["x", "y"], n).tolist(),
    )


def counted(**given: Any) -> xr.Dataset:
    return cohort_counts(trials(**given), who_was_right=True)


def at_point(model: pm.Model, names: tuple[str, ...], fixed: dict[str, float]) -> dict[str, Any]:
    """Quantities, and the log likelihood of the patterns of correct humans, at a random point."""
    rng = np.random.default_rng(2)
    point = {name: rng.normal(0, 0.5, np.shape(v)) for name, v in model.initial_point().items()}
    point |= {name: np.array(value) for name, value in fixed.items()}
    values = model.compile_fn(
        model.replace_rvs_by_values([model[name] for name in names]),
        inputs=model.value_vars,
        on_unused_input="ignore",
        mode=PLAIN,
    )(point)
    likelihood = model.compile_logp(vars=[model["who_was_right"]], mode=PLAIN)(point)
    return dict(zip(names, values, strict=True)) | {"who_was_right": float(likelihood)}


def curve(level: Any, slope: Any) -> np.ndarray:
    """Probabilities at every easiness, on the last axis."""
    level, slope = np.asarray(level)[..., None], np.asarray(slope)[..., None]
    return np.asarray(special.expit(level * np.sqrt(1 + 0.346 * slope**2) + slope * EASE))


def kappa(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    p, q, both = (a * SHARE).sum(-1), (b * SHARE).sum(-1), (a * b * SHARE).sum(-1)
    return np.asarray(2 * (both - p * q) / (p * (1 - q) + q * (1 - p)))


@pytest.mark.slow
def test_likelihood_and_scores_by_brute_force() -> None:
    counts = counted(missing=True)
    spreads = {"ability_sd_log__": np.log(0.5), "loading_sd_log__": np.log(0.4)}
    found = at_point(al.models.cohort(counts, human_effects="drawn"), HERE, spreads)
    ability, log_loading = found["ability"], np.log(found["loading"])
    level, spread = found["human_level"], np.exp(found["human_spread_condition"])
    # Levels and spreads are means over the humans who responded.
    level_of_all = level - ability.mean()
    spread_of_all = spread * np.exp(-log_loading.mean())
    nodes, weights = np.polynomial.hermite_e.hermegauss(11)
    share = np.outer(weights, weights).ravel() / weights.sum() ** 2
    x, y = (axis.ravel() for axis in np.meshgrid(nodes, nodes, indexing="ij"))
    model = found["following"].reshape(2, 2), found["level"].reshape(2, 2)
    likelihood, rows = 0.0, {}
    for c in range(2):
        own = curve(level_of_all[c] + ability, spread_of_all[c] * np.exp(log_loading))
        anyone = curve(
            level_of_all[c] + found["ability_sd"] * x,
            spread_of_all[c] * np.exp(found["loading_sd"] * y),
        )
        mean = share @ anyone
        assert found["human_accuracy"][c] == pytest.approx(mean @ SHARE, abs=1e-4)
        pairs = [kappa(own[i], own[j]) for i, j in itertools.combinations(range(3), 2)]
        assert found["human_error_consistency_these"][c] == pytest.approx(np.mean(pairs), abs=1e-5)
        new = sum(w * (share @ kappa(anyone, one)) for w, one in zip(share, anyone, strict=True))
        assert found["human_error_consistency"][c] == pytest.approx(new, abs=5e-4)
        for m in range(2):
            p = curve(model[1][m, c], spread[c] * model[0][m, c])
            e = 2 * m + c
            assert found["accuracy"][e] == pytest.approx(p @ SHARE, abs=1e-5)
            assert found["error_consistency"][e] == pytest.approx(
                share @ kappa(anyone, p), abs=5e-4
            )
            assert found["error_consistency_these"][e] == pytest.approx(
                kappa(own, p).mean(), abs=1e-5
            )
            mu, variance = mean @ SHARE, mean**2 @ SHARE - (mean @ SHARE) ** 2
            line = ((p * mean) @ SHARE - (p @ SHARE) * mu) / variance
            assert found["copy_probability"][e] == pytest.approx(line, abs=1e-3)
            assert found["right_alone"][e] == pytest.approx(p @ SHARE - line * mu, abs=1e-3)
        here = counts["stratum_condition"].values == c
        answers, n = counts["answers"].values[here], counts["n_trials"].values[here]
        by_ease = np.where(answers[:, :, None] == 1, own, 1 - own)
        by_ease = np.where(answers[:, :, None] < 0, 1, by_ease).prod(axis=1)
        chance = by_ease @ SHARE
        likelihood += (n * np.log(chance) - special.gammaln(n + 1)).sum()
        together = np.unique(answers < 0, axis=0, return_inverse=True)[1].ravel()
        likelihood += special.gammaln(np.bincount(together, n) + 1).sum()
        for m in range(2):
            p = curve(model[1][m, c], spread[c] * model[0][m, c])
            rows[m, c] = (by_ease * p) @ SHARE / chance
    assert found["who_was_right"] == pytest.approx(likelihood, abs=1e-4)
    in_order = np.concatenate([rows[m, c] for m in range(2) for c in range(2)])
    np.testing.assert_allclose(found["row_probability"], in_order, atol=1e-6)


def test_contrasts_are_orthonormal_and_sum_to_zero_within_groups() -> None:
    group = np.array([0, 0, 0, 1, 1])
    columns = _contrasts(group)
    np.testing.assert_allclose(columns.T @ columns, np.eye(3), atol=1e-12)
    np.testing.assert_allclose((group == np.arange(2)[:, None]) @ columns, 0, atol=1e-12)


def test_patterns_are_all_or_those_that_occurred() -> None:
    """30 trials have all 8 patterns of 3 humans, but not all 64 of 6; missing is separate."""
    counts = counted()
    assert counts["answers"].values[:8].tolist() == [[i & 1, i >> 1 & 1, i >> 2] for i in range(8)]
    many = counted(n_humans=6)
    for c in range(2):
        assert 1 < (many["stratum_condition"].values == c).sum() <= 30
    assert (many["n_trials"].values > 0).all()
    missing = cohort_counts(trials(missing=True), who_was_right=True, no_response="drop")
    assert missing["n_trials"].values.sum() == 60
    plain = cohort_counts(trials(missing=True), no_response="drop")
    for name in ("n_trials", "shown", "right"):
        by_number = missing[name].groupby(["stratum_condition", "n_humans", "n_right"]).sum()
        wanted = plain[name].groupby(["stratum_condition", "n_humans", "n_right"]).sum()
        xr.testing.assert_equal(by_number.fillna(0), wanted.fillna(0))


@pytest.mark.slow
def test_drawn_patterns_have_their_probabilities() -> None:
    model = al.models.cohort(counted(), human_effects="drawn")
    drawn = pm.draw(model["who_was_right"], draws=20, random_seed=1, mode=PLAIN)
    assert (drawn.sum(axis=1) == 60).all()
    # Six humans have more possible than observed patterns; the others are not counted.
    few = al.models.cohort(counted(n_humans=6), human_effects="drawn")
    assert (
        pm.draw(few["who_was_right"], draws=20, random_seed=1, mode=PLAIN).sum(axis=1) < 60
    ).any()


def test_one_human_raises_an_error() -> None:
    with pytest.raises(ValueError, match=r"at least 2 humans in each condition, .* has 1;"):
        al.models.cohort(counted(n_humans=1), human_effects="drawn")
