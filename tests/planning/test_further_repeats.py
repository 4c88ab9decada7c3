"""What further answers buy: against simulation, and against known components."""

import functools

import numpy as np
import pytest

import alikely as al
from alikely.planning import plan_repeats
from alikely.simulate import repeated_answers

POINT = {"n_resamples": 0, "n_draws": 0}


@functools.cache
def pilot(n_repeats: tuple[int, int], n_items: int = 20_000, seed: int = 1) -> al.Result:
    trials, _ = repeated_answers(n_items, n_repeats, within=0.5, rng=seed)
    return al.error_consistency(trials, **POINT)


def test_the_present_design_has_the_present_standard_error() -> None:
    result = pilot((2, 3), 400)
    found = plan_repeats(result, 2, 3).iloc[0]
    assert found["se"] == pytest.approx(result.estimates["se"].item(), rel=1e-9)
    assert found[["items", "answers_a", "answers_b"]].sum() == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("design", [(1, 6), (5, 2)])
def test_a_pilot_foretells_what_other_designs_show(design: tuple[int, int]) -> None:
    """A large pilot against large studies of that design, by their own standard errors."""
    foretold = plan_repeats(pilot((2, 3)), *design).iloc[0]["se"]
    shown = pilot(design, seed=2).estimates["se"].item()
    # Variances of 20,000 items, of influences with a kurtosis below 10, twice.
    assert foretold == pytest.approx(shown, rel=4 * np.sqrt(2) * np.sqrt(10 / 20_000) / 2)


def test_more_items_halve_the_error_and_noise_alone_shrinks_with_answers() -> None:
    result = pilot((4, 4), 400)
    table = plan_repeats(result, [1, 1000], n_items=1600)
    here = plan_repeats(result, [1, 1000])
    np.testing.assert_allclose(table["se"] * 2, here["se"])
    assert table["items"].iloc[1] > 0.98
    # Observers who say the same whenever asked have no noise.
    right = np.random.default_rng(1).random((2, 50)) < 0.7
    same = al.Trials.from_correct(
        np.tile(right, 3), item=[*range(50)] * 3, repeat=np.repeat([0, 1, 2], 50).tolist()
    )
    flat = plan_repeats(al.error_consistency(same, **POINT), [1, 10])
    assert flat["se"].nunique() == 1
    assert (flat["items"] == 1).all()


def test_who_answered_once_may_stay_so() -> None:
    result = pilot((1, 4), 300)
    table = plan_repeats(result, [1, 2], [8, 8])
    assert np.isfinite(table["se"].iloc[0])
    assert np.isnan(table["se"].iloc[1])
    assert table["note"].iloc[1].startswith("observer_a responded once to each item")
