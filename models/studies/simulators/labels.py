"""Wrong labels of several systems on the same items: copied, invited by the item, or their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.data.trials import Trials
from alikely.metrics import errors
from alikely.simulate.errors import wrong_rows
from studies.simulators.shared import ErrorPopulation, shared_errors

__all__ = ["label_trials", "shared_label_agreement"]


def label_trials(
    rows: ArrayLike,
    common: ArrayLike,
    copy_probability: float,
    n_items: int,
    *,
    error_probability: float = 1.0,
    n_datasets: int = 1,
    rng: RandomState = None,
) -> Trials:
    """Trials of systems that err on the same items, at times with one label for all."""
    own, shared = _checked(rows, common, copy_probability)
    if n_items < 1 or n_datasets < 1:
        raise ValueError(
            f"n_items and n_datasets must be at least 1, got {n_items} and {n_datasets}"
        )
    if not 0 < error_probability <= 1:
        raise ValueError(f"error_probability must lie in (0, 1], got {error_probability:g}")
    generator = np.random.default_rng(seed_sequence(rng))
    n, (n_systems, k, _) = n_items * n_datasets, own.shape
    truth = generator.integers(0, k, n)
    follows = np.full(n_systems, np.sqrt(copy_probability))
    population = ErrorPopulation(shared[None], own[:, None], follows)
    wrong = generator.random((n_systems, n)) < error_probability
    response = shared_errors(population, truth, wrong, generator)
    return Trials.from_arrays(
        response,
        truth,
        observers=[f"system_{system}" for system in range(n_systems)],
        classes=range(k),
        condition=np.repeat(np.arange(n_datasets), n_items).tolist(),
    )


def shared_label_agreement(rows: ArrayLike, common: ArrayLike, copy_probability: float) -> Floats:
    """Misclassification agreement of the infinite population that `label_trials` draws from."""
    own, shared = _checked(rows, common, copy_probability)
    each = np.sqrt(copy_probability)
    margin = each * shared + (1 - each) * own
    # Both give the common label, or each one from its margin, less what both then have of it.
    apart = np.einsum("ati,btj->abij", margin, margin) - copy_probability * np.einsum(
        "ti,tj->ij", shared, shared
    )
    tables = apart + copy_probability * np.diag(shared.sum(axis=0))
    out = errors.misclassification_agreement(tables)
    np.fill_diagonal(out, 1.0)
    return out


def _checked(rows: ArrayLike, common: ArrayLike, copy_probability: float) -> tuple[Floats, Floats]:
    shared = wrong_rows(common, "common")
    own = np.asarray(rows, dtype=np.float64)
    if own.ndim != 3 or own.shape[1:] != shared.shape:
        raise ValueError(
            f"rows must have the shape (system, {len(shared)}, {len(shared)}), as common has its "
            f"classes; got {own.shape}"
        )
    if not 0 <= copy_probability <= 1:
        raise ValueError(f"copy_probability must lie in [0, 1], got {copy_probability:g}")
    return np.stack([wrong_rows(row, "rows") for row in own]), shared
