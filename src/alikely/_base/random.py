"""Random seeds: conversion of ``rng`` to independent streams."""

from __future__ import annotations

import numpy as np

from alikely._base.settings import check_seed, resolve

RandomState = int | np.random.Generator | np.random.SeedSequence | None


def seed_sequence(rng: RandomState) -> np.random.SeedSequence:
    """Convert ``rng`` to a seed sequence for spawning."""
    rng = resolve("rng", rng)
    check_seed(rng)
    if isinstance(rng, np.random.Generator):
        return np.random.SeedSequence([int(word) for word in rng.integers(0, 2**32, 4)])
    if isinstance(rng, np.random.SeedSequence):
        return np.random.SeedSequence(rng.entropy, spawn_key=rng.spawn_key)
    return np.random.SeedSequence(None if rng is None else int(rng))


def spawn_integer(seed: np.random.SeedSequence) -> int:
    """Draw a new integer seed from a sequence, for libraries that need an integer."""
    return int(seed.spawn(1)[0].generate_state(1)[0])
