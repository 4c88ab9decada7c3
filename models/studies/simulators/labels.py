"""Incorrect labels of several systems: copied, suggested by the item, or independent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.data.trials import Trials
from alikely.metrics import errors


class ErrorPopulation(NamedTuple):
    """Error probabilities of systems on items of some equally frequent kinds.

    - ``suggested``: rows over incorrect labels, by item (kind, true_class, label)
    - ``own``: rows of systems (system, kind, true_class, label)
    - ``follows``: probability that a system gives the suggested label
    """

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
    """Simulate responses of systems to the same items, (system, item)."""
    true, errs = np.asarray(truth), np.asarray(wrong, dtype=bool)
    suggested, own, follows = population
    rng = np.random.default_rng(seed_sequence(rng))
    kind = rng.integers(len(suggested), size=len(true))
    says = _drawn(suggested[kind, true], rng)
    out = np.empty(errs.shape, dtype=np.int64)
    for system, (row, follow) in enumerate(zip(own, follows, strict=True)):
        label = np.where(rng.random(len(true)) < follow, says, _drawn(row[kind, true], rng))
        out[system] = np.where(errs[system], label, true)
    return out


def _drawn(rows: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one label for each row."""
    # Use the last possible label if rounding leaves the sum below 1.
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
    """Simulate trials of systems that err on the same items, sometimes with a common label."""
    own, shared = np.asarray(rows, dtype=float), np.asarray(common, dtype=float)
    generator = np.random.default_rng(seed_sequence(rng))
    n, (n_systems, k, _) = n_items * n_datasets, own.shape
    truth = generator.integers(0, k, n)
    follows = np.full(n_systems, np.sqrt(copy_probability))
    population = ErrorPopulation(shared[None], own[:, None], follows)
    wrong = generator.random((n_systems, n)) < error_probability
    return Trials.from_arrays(
        shared_errors(population, truth, wrong, generator),
        truth,
        observers=[f"system_{system}" for system in range(n_systems)],
        classes=range(k),
        condition=np.repeat(np.arange(n_datasets), n_items).tolist(),
    )


def shared_label_agreement(rows: ArrayLike, common: ArrayLike, copy_probability: float) -> Floats:
    """Misclassification agreement of the infinite population of `label_trials`."""
    own, shared = np.asarray(rows, dtype=float), np.asarray(common, dtype=float)
    each = np.sqrt(copy_probability)
    margin = each * shared + (1 - each) * own
    # Both give the common label, or each one from its margin, minus the part in common.
    apart = np.einsum("ati,btj->abij", margin, margin) - copy_probability * np.einsum(
        "ti,tj->ij", shared, shared
    )
    tables = apart + copy_probability * np.diag(shared.sum(axis=0))
    out = errors.misclassification_agreement(tables)
    np.fill_diagonal(out, 1.0)
    return out
