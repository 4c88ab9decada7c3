"""Noise in repeated responses: closed forms, coverage, and undefined values."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import special, stats

import alikely as al
from alikely.estimates import response_noise
from alikely.simulate import repeated_answers

ACCURACY, CORRELATION, WITHIN = 0.75, 0.6, 0.5


def both_right(correlation: float) -> float:
    limit = special.ndtri(ACCURACY)
    normal = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    return float(normal.cdf([limit, limit]))


def truths() -> dict[str, float]:
    again, together = both_right(WITHIN), both_right(WITHIN * CORRELATION)
    return {
        "noise_fraction": (ACCURACY - again) / (1 - ACCURACY),
        "noise_corrected": (together - ACCURACY**2) / (again - ACCURACY**2),
    }


def test_by_hand() -> None:
    """Four items with correctness (1, 1), (1, 0), (0, 0) and (0, 0) in two repeats."""
    answers = np.array([[1, 1, 0, 0], [1, 0, 0, 0]])
    trials = al.Trials.from_correct(
        np.stack([answers, answers[::-1]]).reshape(2, 8),
        item=[0, 1, 2, 3] * 2,
        repeat=[0] * 4 + [1] * 4,
    )
    observers, pairs = response_noise(trials)
    # 1/2 from the one item with both outcomes, over 5/2 errors.
    assert observers["noise_fraction"].tolist() == [0.2, 0.2]
    # A tie is half correct, and both have it on the same item.
    cells = al.data.joint_correctness(trials, repeats="crossed")["cells"].values[0]
    np.testing.assert_allclose(cells, [1.25, 0.25, 0.25, 2.25])
    assert pairs["single"].item() == pytest.approx(al.metrics.error_consistency(cells).item())


def test_odd_majority_votes_equal_single_responses_of_voters() -> None:
    trials, _ = repeated_answers(80, (3, 5), rng=2)
    right = trials.data["correct"].values.reshape(2, 5, 80)
    votes = np.stack([right[0, :3].sum(axis=0) > 1, right[1].sum(axis=0) > 2])
    expected = al.error_consistency(al.Trials.from_correct(votes), n_resamples=0, n_draws=0)
    _, found = response_noise(trials)
    assert found["majority"].item() == pytest.approx(expected.estimates["estimate"].item())
    assert found["majority_se"].item() == pytest.approx(expected.estimates["se"].item())


@pytest.mark.slow
def test_intervals_cover_closed_forms(
    figure: Callable[[str], None], sets: Callable[..., int]
) -> None:
    n_sets, hits = sets(150), dict.fromkeys(truths(), 0)
    for seed in range(n_sets):
        trials, _ = repeated_answers(160, (4, 4), correlation=CORRELATION, within=WITHIN, rng=seed)
        observers, pairs = response_noise(trials, ci_prob=0.9)
        for name, table in (("noise_fraction", observers), ("noise_corrected", pairs)):
            row = table.iloc[0]
            hits[name] += row[f"{name}_ci90_lb"] <= truths()[name] <= row[f"{name}_ci90_ub"]
    for name, held in hits.items():
        figure(f"90 % intervals of {name} hold in {held / n_sets:.3f}")
        assert held / n_sets == pytest.approx(0.9, abs=4 * np.sqrt(0.9 * 0.1 / n_sets)), name


def test_undefined_noise_has_a_note() -> None:
    trials, _ = repeated_answers(30, (1, 4), rng=1)
    observers, pairs = response_noise(trials)
    assert "one response to each item" in observers.query("observer == 'a'")["note"].item()
    assert np.isnan(pairs["noise_corrected"].item())
    same, _ = repeated_answers(30, (3, 3), within=1.0, rng=1)
    table, _ = response_noise(same)
    assert (table["noise_fraction"] == 0).all()
    assert (table["note"] == "all responses to an item are equal").all()
    with pytest.raises(ValueError, match="no item is repeated"):
        response_noise(al.load_example())
    with pytest.raises(TypeError, match="expected Trials"):
        response_noise("trials")  # type: ignore[arg-type]
