"""Observers with normal latent variables whose correlations follow a tree of descent."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.simulate.simulators import normal_consistency


def true_consistency(correlation: Floats, accuracy: Floats) -> Floats:
    """Error consistency of all pairs with infinitely many trials."""
    i, j = np.triu_indices(len(accuracy), k=1)
    ability = special.ndtri(accuracy)
    return normal_consistency(correlation[i, j], ability[i], ability[j])


def random_tree(n_observers: int, rng: RandomState = None) -> Floats:
    """Random correlations of observers that descend from common ancestors."""
    generator = np.random.default_rng(seed_sequence(rng))
    lines = [[k] for k in range(n_observers)]
    joined_at = np.zeros((n_observers, n_observers))
    time = 0.0
    while len(lines) > 1:
        time += generator.exponential(1 / len(lines))
        a, b = generator.choice(len(lines), 2, replace=False)
        joined_at[np.ix_(lines[a], lines[b])] = joined_at[np.ix_(lines[b], lines[a])] = time
        lines[a] = lines[a] + lines[b]
        del lines[b]
    # Length of the common branch before the first split.
    return np.asarray(1 - joined_at / (time + generator.exponential(0.1)))


def tree_answers(
    correlation: Floats, accuracy: Floats, n_trials: int, rng: RandomState = None
) -> NDArray[np.int8]:
    """Simulate correctness of observers whose latent variables are correlated."""
    generator = np.random.default_rng(seed_sequence(rng))
    root = np.linalg.cholesky(correlation + 1e-12 * np.eye(len(correlation)))
    latent = root @ generator.standard_normal((len(correlation), n_trials))
    return (latent < special.ndtri(accuracy)[:, None]).astype(np.int8)
