"""Wrong labels of several systems on the same items: copied, invited by the item, or their own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.data.trials import Trials
from alikely.metrics import errors
from alikely.simulate.errors import wrong_rows

__all__ = ["ErrorPopulation", "label_trials", "shared_errors", "shared_label_agreement"]


class ErrorPopulation(NamedTuple):
    """How systems err on items of some kinds, all of them equally frequent."""

    suggested: Floats
    own: Floats
    follows: Floats

    @property
    def rows(self) -> Floats:
        """Distributions of all errors, (system, true_class, label)."""
        follows = self.follows[:, None, None]
        return np.asarray(follows * self.suggested.mean(axis=0) + (1 - follows) * self.own.mean(1))


def shared_errors(
    population: ErrorPopulation, truth: ArrayLike, wrong: ArrayLike, rng: RandomState = None
) -> NDArray[np.int64]:
    """Answers of systems to the same items."""
    suggested, own, follows = (np.asarray(part, dtype=np.float64) for part in population)
    true, errs = np.asarray(truth), np.asarray(wrong, dtype=bool)
    n_classes = suggested.shape[-1]
    if own.shape[1:] != suggested.shape or suggested.shape[1] != n_classes:
        raise ValueError(
            "own must have a row for each of suggested and each system, got shapes "
            f"{own.shape} and {suggested.shape}"
        )
    if errs.shape != (len(own), len(true)) or follows.shape != (len(own),):
        raise ValueError(
            f"wrong must be (system, item) and follows (system,), of {len(own)} systems and "
            f"{len(true)} items; got shapes {errs.shape} and {follows.shape}"
        )
    if not ((follows >= 0) & (follows <= 1)).all():
        raise ValueError(f"follows must lie in [0, 1], got {follows.tolist()}")
    if len(true) and not 0 <= true.min() <= true.max() < n_classes:
        raise ValueError(
            f"truth must be classes from 0 to {n_classes - 1}, got {true.min()} to {true.max()}"
        )
    for name, rows in (("suggested", suggested), ("own", own)):
        right = np.diagonal(rows, axis1=-2, axis2=-1)
        if not (np.all(rows >= 0) and np.all(right == 0) and np.allclose(rows.sum(-1), 1, 0, 1e-9)):
            raise ValueError(
                f"rows of {name} must be probabilities that sum to 1, with 0 for the true class"
            )
    rng = np.random.default_rng(seed_sequence(rng))
    kind = rng.integers(len(suggested), size=len(true))
    says = _drawn(suggested[kind, true], rng)
    out = np.empty(errs.shape, dtype=np.int64)
    for system, (row, follow) in enumerate(zip(own, follows, strict=True)):
        label = np.where(rng.random(len(true)) < follow, says, _drawn(row[kind, true], rng))
        out[system] = np.where(errs[system], label, true)
    return out


def _drawn(rows: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """One label of each row."""
    # The last one that can be drawn, should rounding leave the sum below 1.
    last = rows.shape[-1] - 1 - (rows[:, ::-1] > 0).argmax(axis=-1)
    below = rng.random(len(rows))[:, None] >= np.cumsum(rows, axis=-1)
    return np.minimum(below.sum(axis=-1), last)


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
