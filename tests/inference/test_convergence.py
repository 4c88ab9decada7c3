"""r_hat and effective sample sizes are those of ArviZ, of all quantities at once."""

from __future__ import annotations

import arviz_stats as azs
import numpy as np
import pytest
import xarray as xr
from scipy.signal import lfilter

from alikely.inference.convergence import convergence


@pytest.mark.parametrize("n_draws", [10, 11, 12, 13, 100, 251])
def test_figures_are_those_of_arviz(n_draws: int) -> None:
    """Chains that stay, that jump back and forth, that repeat themselves, that disagree."""
    rng = np.random.default_rng(n_draws)
    noise = rng.normal(size=(4, n_draws, 4))
    kinds = [
        *(lfilter([1], [1, -rho], noise, axis=1) for rho in (-0.95, -0.5, 0, 0.7, 0.99)),
        noise.round(),
        np.repeat(noise, 3, axis=1)[:, :n_draws],
        noise + np.arange(4)[:, None, None],
        np.exp(noise * np.arange(1, 5)[:, None, None]),
        np.ones((4, n_draws, 1)),
    ]
    draws = np.concatenate(kinds, axis=2)
    dataset = xr.Dataset({"x": (("chain", "draw", "quantity"), draws)})
    r_hat, ess = convergence(draws)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(r_hat, azs.rhat(dataset)["x"], rtol=1e-9)
    np.testing.assert_allclose(ess, azs.ess(dataset)["x"], rtol=1e-7)


def test_what_is_undefined_has_none_and_shapes_stay() -> None:
    draws = np.random.default_rng(1).normal(size=(2, 40, 2, 3))
    draws[1, 7, 0, 2] = np.nan
    for found in convergence(draws):
        assert found.shape == (2, 3)
        assert np.argwhere(np.isnan(found)).tolist() == [[0, 2]]
    r_hat, ess = convergence(draws[..., 1, 1])
    assert r_hat.shape == ess.shape == ()


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(1).normal(size=(4, 50, 7))
    whole = convergence(draws)
    monkeypatch.setattr("alikely.inference.convergence.BLOCK", 500)
    for found, wanted in zip(convergence(draws), whole, strict=True):
        np.testing.assert_array_equal(found, wanted)
