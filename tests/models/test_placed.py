"""Coordinates of variables that counts place change what chains do, not what they sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

from alikely.models._parts import informed, informed_zero_sum

# Graphs that run a few times are not worth rewriting.
PLAIN = Mode("py", None)
SEEN, INFORMATION = np.array([0.5, 1.0, -2.0]), 3.0


def made(kind: str) -> pm.Model:
    with pm.Model(coords={"group": [0, 1, 2]}) as model:
        sd = pm.Gamma("sd", 2, 2)
        if kind == "sums to zero":
            informed_zero_sum("x", sd, SEEN, INFORMATION, "group")
        else:
            informed("x", 0.3, sd, SEEN, INFORMATION, "group")
    return model


def value_of(model: pm.Model, coordinates: np.ndarray, sd: float) -> np.ndarray:
    x = model["x"]
    moved = model.rvs_to_transforms[x].backward(pt.as_tensor(coordinates), *x.owner.inputs)
    return np.asarray(moved.eval({model["sd"]: sd}, mode=PLAIN))


@pytest.mark.parametrize("sd", [0.01, 0.8, 30.0])
@pytest.mark.parametrize("kind", ["sums to zero", "free"])
def test_density_is_that_of_the_normal(kind: str, sd: float) -> None:
    model = made(kind)
    x, n = model["x"], 2 if kind == "sums to zero" else 3
    coordinates = np.array([0.3, -0.7, 1.1])[:n]
    value = value_of(model, coordinates, sd)
    usual: Any = pm.Normal.dist(0.3, sd, shape=3)
    if kind == "sums to zero":
        usual = pm.ZeroSumNormal.dist(np.array(sd), support_shape=(3,))
        assert value.sum() == pytest.approx(0, abs=1e-12 * np.abs(value).max())
    found = pm.logp(x, value).sum().eval({model["sd"]: sd}, mode=PLAIN)
    assert found == pytest.approx(pm.logp(usual, value).sum().eval(mode=PLAIN))
    # Linear in the coordinates: differences are derivatives.
    moved = [value_of(model, coordinates + step, sd) - value for step in np.eye(n)]
    volume = np.linalg.slogdet(np.array(moved) @ np.array(moved).T)[1] / 2
    jacobian = model.rvs_to_transforms[x].log_jac_det(pt.as_tensor(coordinates), *x.owner.inputs)
    assert jacobian.sum().eval({model["sd"]: sd}, mode=PLAIN) == pytest.approx(volume)
    back = model.rvs_to_transforms[x].forward(pt.as_tensor(value), *x.owner.inputs)
    np.testing.assert_allclose(back.eval({model["sd"]: sd}, mode=PLAIN), coordinates)


@pytest.mark.parametrize("kind", ["sums to zero", "free"])
def test_coordinates_are_deviates_or_distances_from_what_is_seen(kind: str) -> None:
    """At 0: at the mean where the spread is little, at what is seen where it is large."""
    model = made(kind)
    zero = np.zeros(2 if kind == "sums to zero" else 3)
    mean, seen = (0.0, SEEN - SEEN.mean()) if kind == "sums to zero" else (0.3, SEEN)
    # A weight of sd**2 times 3 against 1 of the prior, and the other way round.
    np.testing.assert_allclose(value_of(model, zero, 1e-3), mean, atol=1e-5)
    np.testing.assert_allclose(value_of(model, zero, 1e3), seen, atol=1e-5)


def test_draws_sum_to_zero_and_spread() -> None:
    with pm.Model(coords={"group": [0, 1, 2]}) as model:
        informed_zero_sum("x", np.array(2.0), SEEN, INFORMATION, "group")
    drawn = pm.draw(model["x"], 2_000, random_seed=1, mode=PLAIN)
    np.testing.assert_allclose(drawn.sum(axis=1), 0, atol=1e-12)
    # Four Monte Carlo errors of a standard deviation.
    wanted = 2 * np.sqrt(2 / 3)
    np.testing.assert_allclose(drawn.std(axis=0), wanted, atol=4 * wanted / np.sqrt(4_000))
