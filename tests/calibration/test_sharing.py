"""Machines that share as much with a human and differ in accuracy: which metric says so."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from alikely.metrics.consistency import accuracies
from alikely.metrics.copying import copy_probability
from studies.sharing import copying_recovery, sharing_cells


@pytest.mark.parametrize("world", ["copying", "shared difficulty", "cohort"])
@pytest.mark.parametrize("human", [0.6, 0.9])
def test_machines_have_the_accuracy_that_is_asked_for(world: str, human: float) -> None:
    made = sharing_cells(world, human)
    cells = np.stack(made["cells"].tolist())
    np.testing.assert_allclose(cells.sum(axis=1), 1)
    assert (cells > -1e-12).all()
    a, b = accuracies(np.maximum(cells, 0))
    # The grid of images ends at 1/800: what lies beyond moves a mean by less.
    np.testing.assert_allclose(a, human, atol=2e-3)
    np.testing.assert_allclose(b, made["accuracy"], atol=2e-3)


def test_the_copy_model_is_that_of_proposition_2() -> None:
    made = sharing_cells("copying", 0.8, [0.3], [0.65])
    cells = made["cells"][0]
    # Right together: copied and right, or not copied and both right.
    own = (0.65 - 0.3 * 0.8) / 0.7
    assert cells[0] == pytest.approx(0.3 * 0.8 + 0.7 * 0.8 * own)
    assert float(copy_probability(cells)) == pytest.approx(0.3)


def test_simulated_answers_have_these_probabilities() -> None:
    """The cohort world, by drawing people and images."""
    rng, n, shared, human, machine = np.random.default_rng(1), 400_000, 0.5, 0.75, 0.8
    cells = sharing_cells("cohort", human, [shared], [machine])["cells"][0]
    p = special.ndtr((special.ndtri(human) - 0.8 * rng.standard_normal(n)) / np.sqrt(1 - 0.64))
    first, second = rng.random((2, n)) < p
    own = (machine - shared * human) / (1 - shared)
    answer = np.where(rng.random(n) < shared, second, rng.random(n) < own)
    seen = np.array(
        [(first & answer), (first & ~answer), (~first & answer), (~first & ~answer)]
    ).mean(axis=1)
    np.testing.assert_allclose(seen, cells, atol=4 * 0.5 / np.sqrt(n) + 1e-3)


def test_no_metric_is_right_in_every_world() -> None:
    table = copying_recovery().set_index(["world", "metric"])
    copying = table.xs("copy_probability", level="metric")
    assert copying.loc[["copying", "cohort"], "tau"].tolist() == pytest.approx([1, 1])
    assert copying.loc[["copying", "cohort"], "tau_accuracy"].tolist() == [0, 0]
    # Where difficulty is shared, it falls with accuracy.
    assert copying.loc["shared difficulty", "tau_accuracy"] < -0.9
    best = table["tau"].unstack("metric").idxmax(axis=1)
    assert best["shared difficulty"] == "normalised_error_consistency" or best[
        "shared difficulty"] == "min_mid_max_agreement"  # fmt: skip
    # Error consistency rises with accuracy towards that of the human and beyond.
    assert table.loc[("copying", "error_consistency"), "tau_accuracy"] == 1
    noisy = copying_recovery(["copy_probability"], n_trials=640, n_sets=20, rng=1)
    assert noisy["tau"].between(0.3, 0.97).all()
    assert noisy["undefined"].max() < 0.01


def test_an_unknown_world() -> None:
    with pytest.raises(ValueError, match="world must be one of copying, shared difficulty"):
        sharing_cells("other")
