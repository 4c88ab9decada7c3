"""Simulators: probabilities, randomness, and documented structure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alikely import simulate
from alikely.data.tables import joint_correctness
from alikely.data.trials import NO_RESPONSE
from alikely.datasets.loaders import load_example
from alikely.metrics import bounds, consistency, copying
from alikely.simulate.simulators import copy_cell_probabilities

inner = st.floats(0.02, 0.98)


@given(inner, st.floats(-0.98, 0.98), inner)
def test_copy_cells_have_their_parameters(p: float, c: float, q: float) -> None:
    cells = copy_cell_probabilities(p, c, q)
    assert cells.sum() == pytest.approx(1)
    assert copying.copy_probability(cells) == pytest.approx(c, abs=1e-10)
    assert copying.own_accuracy(cells) == pytest.approx(q, abs=1e-8)
    assert consistency.accuracies(cells)[0] == pytest.approx(p)


@given(inner, inner, st.floats(0.01, 0.99))
def test_cells_have_the_requested_accuracies_and_consistency(a: float, b: float, at: float) -> None:
    lower, upper = bounds.error_consistency_bounds(a, b)
    ec = lower + at * (upper - lower)
    cells = simulate.cell_probabilities(a, b, ec)
    assert consistency.error_consistency(cells) == pytest.approx(ec, abs=1e-9)
    np.testing.assert_allclose(consistency.accuracies(cells), (a, b), atol=1e-9)
    assert cells.min() >= 0


def test_observers_of_a_kind_have_common_difficulty() -> None:
    trials = simulate.observers(6, 6, 2000, {"noise": 0.4}, rng=1)
    means, errors = {}, {}
    for pairs in ("human-human", "human-model", "model-model"):
        kappa = consistency.error_consistency(joint_correctness(trials, pairs)["cells"].values)
        means[pairs] = kappa.mean()
        errors[pairs] = kappa.std() / np.sqrt(len(kappa) / 3)
    gap = means["human-human"] - means["human-model"]
    assert gap > 6 * np.hypot(errors["human-human"], errors["human-model"])


def test_accuracy_follows_the_stated_formula() -> None:
    from scipy import stats

    n = 40_000
    trials = simulate.observers(
        1, 1, n, {"only": 0.5}, spread=1.5, abilities=[0.3, -0.2], n_classes=8, rng=2
    )
    for row, ability in zip(trials.data["correct"].values, (0.3, -0.2), strict=True):
        knows = stats.norm.cdf((0.5 + ability) / np.sqrt(1 + 1.5**2))
        expected = knows + (1 - knows) / 8
        assert row.mean() == pytest.approx(expected, abs=4 * np.sqrt(0.25 / n))


def test_no_response_is_for_humans_only() -> None:
    trials = simulate.observers(3, 3, 4000, {"noise": 0.4}, no_response=0.05, rng=1)
    silent = (trials.data["correct"].values == NO_RESPONSE).mean(axis=1)
    np.testing.assert_allclose(silent[:3], 0.05, atol=4 * np.sqrt(0.05 * 0.95 / 4000))
    assert (silent[3:] == 0).all()


def test_the_bundled_example_is_reproducible() -> None:
    given = load_example()
    made = simulate.observers(
        4, 6, 160, {"clean": 4.2, "blur": 1.5, "noise": 0.4}, correlation=0.6, spread=1.6,
        abilities=[0.2, -0.1, 0.0, -0.2, -0.6, -0.3, 0.0, 0.2, 0.9, 1.2],
        families=["human"] * 4 + ["convnet"] * 3 + ["transformer"] * 3,
        no_response=0.01, rng=20_260,
    )  # fmt: skip
    assert given.to_table().equals(made.to_table())
    correct = given.select(condition="clean").data["correct"].values
    assert ((correct == 1).all(axis=1)).sum() == 2
    assert (given.data["correct"].values == NO_RESPONSE).any()
