"""Wrong labels of systems that answer the same items: what items suggest, and what systems like."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence

__all__ = ["ErrorPopulation", "shared_errors"]


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
