"""The prior on the cells of a pair, against its closed forms."""

from __future__ import annotations

import json

import numpy as np
import pytest

from alikely.metrics.consistency import cell_prior, check_prior, prior_text
from alikely.simulate.simulators import pattern_cells

# Correlated, uncorrelated, worth many trials.
SYMMETRIC = [(3, 1, 1, 2), (8, 2, 2, 0.5), (0.5, 0.5, 0.5, 0.5), (60, 4, 4, 12)]


@pytest.mark.parametrize("cells", [(1, 2, 3, 4), (0.1, 0.2, 0.3, 0.7)])
def test_a_dirichlet_is_three_betas(cells: tuple[float, ...]) -> None:
    prior = cell_prior(cells)
    assert prior.is_dirichlet
    assert prior.cells("this") == pytest.approx(cells)
    assert cell_prior(check_prior(cells)) == prior  # type: ignore[arg-type]
    assert cell_prior(json.loads(prior_text(prior))) == prior
    n11, n10, n01, n00 = cells
    margins = np.array(list(prior.accuracies("this").values()))
    assert margins == pytest.approx(np.array([[n11 + n10, n01 + n00], [n11 + n01, n10 + n00]]))
    assert not cell_prior({"u": (1, 1)}).is_dirichlet


@pytest.mark.parametrize("cells", SYMMETRIC)
@pytest.mark.parametrize("n_observers", [2, 3, 5])
def test_patterns_give_every_pair_the_prior(cells: tuple[float, ...], n_observers: int) -> None:
    """Sums over patterns of a Dirichlet are a Dirichlet again."""
    parameters = cell_prior(cells).patterns("this").parameters(n_observers)
    for first, second in [(0, 1), (1, n_observers - 1)]:
        if first != second:
            of_pair = parameters @ pattern_cells(n_observers, first, second)
            assert of_pair == pytest.approx(cells, rel=1e-12)


@pytest.mark.parametrize("cells", SYMMETRIC)
def test_drawn_patterns_have_its_moments(cells: tuple[float, ...]) -> None:
    base, n = cell_prior(cells).patterns("this"), 20_000
    first, second = base.correct(np.random.default_rng(1), (n, 2, 1))[..., 0].T
    share = np.array([np.mean(first & second), np.mean(first > second), np.mean(first < second)])
    expected = np.array(cells[:3]) / sum(cells)
    assert np.all(np.abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / n))
