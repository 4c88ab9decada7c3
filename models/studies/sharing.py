"""Metrics that find how much machines share with humans, whatever their accuracy.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
from scipy import special, stats

from alikely._base.arrays import Floats, within
from alikely._base.random import RandomState, seed_sequence
from alikely.metrics import Metric, get_metric

__all__ = ["SHARING_WORLDS", "copying_recovery", "sharing_cells"]

# Midpoints of equal shares of the images.
N_IMAGES = 400
LOADING = 0.8


def _copying(shared: float, human: float, machine: float) -> Floats | None:
    """A machine gives a human's answer in a share of trials, and else its own."""
    own = (machine - shared * human) / (1 - shared)
    if not 0 <= own <= 1:
        return None
    both = shared * human + (1 - shared) * human * own
    return _cells(both, human, machine)


def _difficulty(shared: float, human: float, machine: float) -> Floats | None:
    """What is hard for humans is hard for the machine to a degree: one normal factor."""
    hardness = special.ndtri((np.arange(N_IMAGES) + 0.5) / N_IMAGES)
    a, b = (
        special.ndtr((special.ndtri(p) - load * hardness) / np.sqrt(1 - load**2))
        for p, load in ((human, LOADING), (machine, LOADING * shared))
    )
    return _cells(float((a * b).mean()), float(a.mean()), float(b.mean()))


def _cohort(shared: float, human: float, machine: float) -> Floats | None:
    """A machine gives the answer of another human in a share of trials, and else its own."""
    own = (machine - shared * human) / (1 - shared)
    if not 0 <= own <= 1:
        return None
    hardness = special.ndtri((np.arange(N_IMAGES) + 0.5) / N_IMAGES)
    right = special.ndtr((special.ndtri(human) - LOADING * hardness) / np.sqrt(1 - LOADING**2))
    both = shared * float((right**2).mean()) + (1 - shared) * float(right.mean()) * own
    return _cells(both, float(right.mean()), shared * float(right.mean()) + (1 - shared) * own)


def _cells(both: float, human: float, machine: float) -> Floats:
    return np.array([both, human - both, machine - both, 1 - human - machine + both])


# How answers are shared, to what machines of two accuracies then answer together with a human.
SHARING_WORLDS: Mapping[str, Callable[[float, float, float], Floats | None]] = MappingProxyType(
    {"copying": _copying, "shared difficulty": _difficulty, "cohort": _cohort}
)
METRICS = (
    "error_consistency",
    "copy_probability",
    "normalised_error_consistency",
    "min_mid_max_agreement",
)
SHARES = tuple(np.linspace(0.1, 0.7, 7))
ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def sharing_cells(
    world: str,
    human: float = 0.75,
    shares: Sequence[float] = SHARES,
    accuracies: Sequence[float] = ACCURACIES,
) -> pd.DataFrame:
    """Probabilities of the four cells of machines that share so much and are so accurate."""
    if world not in SHARING_WORLDS:
        raise ValueError(f"world must be one of {', '.join(SHARING_WORLDS)}; got {world!r}")
    rows = [
        {"shared": shared, "accuracy": accuracy, "cells": cells}
        for shared in shares
        for accuracy in accuracies
        if (cells := SHARING_WORLDS[world](shared, human, accuracy)) is not None
    ]
    return pd.DataFrame(rows)


def copying_recovery(
    metrics: Sequence[str | Metric] = METRICS,
    *,
    human: float = 0.75,
    n_trials: int | None = None,
    n_sets: int = 200,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Order of machines by each metric against how much they share with a human."""
    generator = np.random.default_rng(seed_sequence(rng))
    rows = []
    for world in SHARING_WORLDS:
        made = sharing_cells(world, human)
        cells = np.stack(made["cells"].tolist())
        if n_trials is None:
            drawn = cells[None]
        else:
            p = within(cells)
            drawn = generator.multinomial(n_trials, p / p.sum(axis=1, keepdims=True),
                                          size=(n_sets, len(cells))).astype(float)  # fmt: skip
        for metric in (get_metric(name) for name in metrics):
            value = metric.value(within(drawn, high=np.inf))
            found = np.array([_recovered(made, one) for one in value])
            tau, tau_accuracy, spread = np.nanmean(found, axis=0)
            rows.append(
                {
                    "world": world,
                    "metric": metric.name,
                    "tau": tau,
                    "tau_accuracy": tau_accuracy,
                    "spread": spread,
                    "undefined": np.isnan(value).mean(),
                }
            )
    return pd.DataFrame(rows)


def _recovered(made: pd.DataFrame, value: Floats) -> tuple[float, float, float]:
    frame = made.assign(value=np.round(value, 12)).dropna(subset="value")
    tau = stats.kendalltau(frame["value"], frame["shared"]).statistic
    # Ties throughout: accuracy is no matter.
    within = [
        0.0 if own["value"].nunique() < 2 else stats.kendalltau(own["value"], own["accuracy"])[0]
        for _, own in frame.groupby("shared")
    ]
    spread = frame.groupby("shared")["value"].agg(lambda v: v.max() - v.min()).max()
    return float(tau), float(np.mean(within)), float(spread)
