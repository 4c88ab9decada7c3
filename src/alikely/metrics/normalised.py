"""Agreement as a share of what the accuracies allow.

Error consistency is bounded by unequal accuracies. Two scalings take the bound out: by the greatest
error consistency that both accuracies allow, and by the least and greatest agreement. Above the
agreement of independent observers they are the same number. Both have kinks: where the accuracies
are equal, and the second where agreement is as expected, and where one accuracy is the other's
rate of errors. There a normal interval of first derivatives misleads.

References
----------
.. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of
   CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
.. [S20] Safak (2020). Min-mid-max scaling, limits of agreement, and agreement score.
   doi:10.48550/arXiv.2006.12904
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats, within
from alikely._base.notes import note
from alikely.metrics.cells import divide, split
from alikely.metrics.consistency import (
    ERROR_CONSISTENCY,
    accuracy_gap,
    error_consistency,
    undefined_reason,
)
from alikely.metrics.gradients import across_kinks
from alikely.metrics.metric import Metric, register

__all__ = [
    "MIN_MID_MAX_AGREEMENT",
    "NORMALISED_ERROR_CONSISTENCY",
    "min_mid_max_agreement",
    "normalised_error_consistency",
]


def normalised_error_consistency(cells: ArrayLike) -> Floats:
    """Error consistency as a share of the greatest one that the accuracies allow."""
    n11, n10, n01, n00 = split(cells)
    # kappa_max has the same margins: the smaller disagreement cell is emptied.
    swap = np.minimum(n10, n01)
    best = np.stack([n11 + swap, n10 - swap, n01 - swap, n00 + swap], axis=-1)
    return within(divide(error_consistency(cells), error_consistency(best)), -np.inf)


def min_mid_max_agreement(cells: ArrayLike) -> Floats:
    """Agreement scaled to -1, 0 and 1 at its least, expected and greatest value [S20]_."""
    n11, n10, n01, n00 = split(cells)
    # kappa_min has the same margins: the smaller agreement cell is emptied.
    swap = np.minimum(n11, n00)
    worst = np.stack([n11 - swap, n10 + swap, n01 + swap, n00 - swap], axis=-1)
    kappa = error_consistency(cells)
    to_least = within(divide(kappa, -error_consistency(worst)), -1)
    return np.where(kappa > 0, normalised_error_consistency(cells), to_least)


def _equal_accuracies(cells: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether the accuracies may be equal: McNemar's statistic at most 4."""
    _, n10, n01, _ = split(cells)
    return np.asarray((n10 - n01) ** 2 <= 4 * (n10 + n01))


def _normalised_caution(cells: NDArray[Any]) -> NDArray[Any]:
    return np.where(_equal_accuracies(cells), note("kink", kink="Equal accuracies"), "")


def _min_mid_max_caution(cells: NDArray[Any]) -> NDArray[Any]:
    n11, n10, n01, n00 = split(cells)
    total = np.maximum(n11 + n10 + n01 + n00, 1)
    opposite = (n11 - n00) ** 2 <= 4 * (n11 + n00)
    kappa, psi = error_consistency(cells), ERROR_CONSISTENCY.influence(cells)
    square = np.where(cells > 0, cells * psi**2, 0).sum(axis=-1) / total**2
    chance = np.isfinite(kappa) & (kappa**2 <= 4 * square)
    return np.select(
        [chance, _equal_accuracies(cells) & (kappa > 0), opposite & (kappa < 0)],
        [note("kink", kink=kink) for kink in ("Chance", "Equal accuracies", "Opposite accuracies")],
        default="",
    )


def _normalised_reason(cells: ArrayLike) -> NDArray[Any]:
    known = undefined_reason(cells)
    one_sided = np.isnan(normalised_error_consistency(cells)) & (known == "")
    return np.where(one_sided, "one observer always right or always wrong", known)


def _min_mid_max_reason(cells: ArrayLike) -> NDArray[Any]:
    known = undefined_reason(cells)
    no_room = np.isnan(min_mid_max_agreement(cells)) & (known == "")
    return np.where(no_room, "one observer always right or always wrong", known)


NORMALISED_ERROR_CONSISTENCY = register(
    Metric(
        "normalised_error_consistency",
        normalised_error_consistency,
        # At its kinks the mean of both sides.
        gradient=partial(across_kinks, normalised_error_consistency),
        reason=_normalised_reason,
        short="normalised",
        # Disagreement beyond chance is divided by a small number too.
        bounds=(-np.inf, 1.0),
        independent=0.0,
        derived={"accuracy_gap": accuracy_gap},
        caution=_normalised_caution,
        sources=("10.48550/arXiv.2006.16736",),
    )
)
MIN_MID_MAX_AGREEMENT = register(
    Metric(
        "min_mid_max_agreement",
        min_mid_max_agreement,
        # At its kinks the mean of both sides.
        gradient=partial(across_kinks, min_mid_max_agreement),
        reason=_min_mid_max_reason,
        label="min-mid-max agreement",
        short="min-mid-max",
        independent=0.0,
        derived={"accuracy_gap": accuracy_gap},
        caution=_min_mid_max_caution,
        sources=("10.48550/arXiv.2006.12904",),
    )
)
