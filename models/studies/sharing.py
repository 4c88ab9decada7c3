"""Metrics as estimates of how much models share with humans, independent of accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import special, stats

from alikely._base.arrays import Floats, within
from alikely.metrics import get_metric

# Midpoints of quantile intervals of the images.
N_IMAGES = 400
LOADING = 0.8
# Models copy the human, share the difficulty of images, or copy another human.
WORLDS = ("copying", "shared difficulty", "cohort")
METRICS = ("error_consistency", "copy_probability", "normalized_error_consistency",
           "min_mid_max_agreement")  # fmt: skip
SHARES = tuple(np.linspace(0.1, 0.7, 7))
ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def _right(accuracy: float, load: float) -> Floats:
    """Probabilities of correct responses to images with normal difficulty."""
    hardness = special.ndtri((np.arange(N_IMAGES) + 0.5) / N_IMAGES)
    return np.asarray(
        special.ndtr((special.ndtri(accuracy) - load * hardness) / np.sqrt(1 - load**2))
    )


def _cells(world: str, shared: float, human: float, model: float) -> Floats | None:
    """Probabilities of the four cells; None if such a model is impossible."""
    people = _right(human, LOADING)
    if world == "shared difficulty":
        own = _right(model, LOADING * shared)
        both, human, model = (float(p.mean()) for p in (people * own, people, own))
    else:
        alone = (model - shared * human) / (1 - shared)
        if not 0 <= alone <= 1:
            return None
        copied = human
        if world == "cohort":
            human, copied = float(people.mean()), float((people**2).mean())
            model = shared * human + (1 - shared) * alone
        both = shared * copied + (1 - shared) * human * alone
    return np.array([both, human - both, model - both, 1 - human - model + both])


def sharing_cells(
    world: str,
    human: float = 0.75,
    shares: Sequence[float] = SHARES,
    accuracies: Sequence[float] = ACCURACIES,
) -> pd.DataFrame:
    """Probabilities of the four cells for models with this sharing and accuracy."""
    rows = [
        {"shared": shared, "accuracy": accuracy, "cells": cells}
        for shared in shares
        for accuracy in accuracies
        if (cells := _cells(world, shared, human, accuracy)) is not None
    ]
    return pd.DataFrame(rows)


def copying_recovery(metrics: Sequence[str] = METRICS, human: float = 0.75) -> pd.DataFrame:
    """Rank correlation of each metric, without noise, with how much models share with a human."""
    rows = []
    for world in WORLDS:
        made = sharing_cells(world, human)
        cells = within(np.stack(made["cells"].tolist()))
        for name in metrics:
            value = np.round(get_metric(name).value(cells), 12)
            frame = made.assign(value=value).dropna(subset="value")
            # Ties in all cases: accuracy does not matter.
            of_accuracy = [
                0.0 if own["value"].nunique() < 2
                else stats.kendalltau(own["value"], own["accuracy"]).statistic
                for _, own in frame.groupby("shared")
            ]  # fmt: skip
            tau = stats.kendalltau(frame["value"], frame["shared"]).statistic
            row = {"world": world, "metric": name, "tau": tau}
            rows.append(row | {"tau_accuracy": np.mean(of_accuracy)})
    return pd.DataFrame(rows)
