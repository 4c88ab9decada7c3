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

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely._base.ranges import within
from alikely.metrics.cells import divide, split
from alikely.metrics.consistency import (
    accuracies,
    accuracy_gap,
    error_consistency,
    error_consistency_influence,
    observed_agreement,
    undefined_reason,
)
from alikely.metrics.metric import Metric, register

__all__ = [
    "MIN_MID_MAX_AGREEMENT",
    "NORMALISED_ERROR_CONSISTENCY",
    "min_mid_max_agreement",
    "min_mid_max_influence",
    "normalised_error_consistency",
    "normalised_influence",
]

KINK = "analytic interval misleads: {} within 2 standard errors"
RIGHT_A, RIGHT_B = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])


def normalised_error_consistency(cells: ArrayLike) -> Floats:
    """Error consistency as a share of the greatest one that the accuracies allow."""
    n11, n10, n01, n00 = split(cells)
    # kappa_max has the same margins: the smaller disagreement cell is emptied.
    swap = np.minimum(n10, n01)
    best = np.stack([n11 + swap, n10 - swap, n01 - swap, n00 + swap], axis=-1)
    return within(divide(error_consistency(cells), error_consistency(best)), -np.inf)


def _emptied(cells: ArrayLike, of_b: bool) -> Floats:
    """The same accuracies with as much agreement as can be: one disagreement cell is moved."""
    n11, n10, n01, n00 = split(cells)
    moved, left = (n01, n10 - n01) if of_b else (n10, n01 - n10)
    nothing = np.zeros_like(moved)
    disagreement = (left, nothing) if of_b else (nothing, left)
    return np.stack([n11 + moved, *disagreement, n00 + moved], axis=-1)


def normalised_influence(cells: ArrayLike) -> Floats:
    """Influence of one trial of each kind on the normalised error consistency."""
    _, n10, n01, _ = split(cells)
    value, own = normalised_error_consistency(cells), error_consistency_influence(cells)
    sides = []
    for of_b in (False, True):
        # On the side where the other cell is smaller this is no table, and not used.
        best = np.maximum(_emptied(cells, of_b), 0)
        at = error_consistency_influence(best)
        # What one trial of the emptied cell moves: a disagreement less on the other side too.
        gained = at[..., 0] + at[..., 3]
        first, second = at[..., 1], at[..., 2]
        steps = (first, gained - first) if of_b else (gained - second, second)
        through = np.stack([at[..., 0], *steps, at[..., 3]], axis=-1)
        sides.append(
            divide(
                own - value[..., None] * through, error_consistency(np.maximum(best, 0))[..., None]
            )
        )
    n10, n01 = n10[..., None], n01[..., None]
    return np.where(n10 < n01, sides[0], np.where(n10 > n01, sides[1], (sides[0] + sides[1]) / 2))


def min_mid_max_agreement(cells: ArrayLike) -> Floats:
    """Agreement scaled to -1, 0 and 1 at its least, expected and greatest value [S20]_."""
    n11, n10, n01, n00 = split(cells)
    # kappa_min has the same margins: the smaller agreement cell is emptied.
    swap = np.minimum(n11, n00)
    worst = np.stack([n11 - swap, n10 + swap, n01 + swap, n00 - swap], axis=-1)
    kappa = error_consistency(cells)
    to_least = within(divide(kappa, -error_consistency(worst)), -1)
    return np.where(kappa > 0, normalised_error_consistency(cells), to_least)


def min_mid_max_influence(cells: ArrayLike) -> Floats:
    """Influence of one trial of each kind on the min-mid-max agreement."""
    p_a, p_b = (p[..., None] for p in accuracies(cells))
    p_obs, value = observed_agreement(cells)[..., None], min_mid_max_agreement(cells)[..., None]
    of_a, of_b = RIGHT_A - p_a, RIGHT_B - p_b
    observed = np.array([1.0, 0.0, 0.0, 1.0]) - p_obs
    p_exp = p_a * p_b + (1 - p_a) * (1 - p_b)
    expected = (2 * p_b - 1) * of_a + (2 * p_a - 1) * of_b
    upper, lower = 1 - np.abs(p_a - p_b), np.abs(p_a + p_b - 1)
    # The sign of 0 is 0: the mean of both sides.
    to_upper = divide(
        observed - expected - value * (-np.sign(p_a - p_b) * (of_a - of_b) - expected),
        upper - p_exp,
    )
    to_lower = divide(
        observed - expected - value * (expected - np.sign(p_a + p_b - 1) * (of_a + of_b)),
        p_exp - lower,
    )
    above = p_obs - p_exp
    return np.where(above > 0, to_upper, np.where(above < 0, to_lower, (to_upper + to_lower) / 2))


def _equal_accuracies(cells: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether the accuracies may be equal: McNemar's statistic at most 4."""
    _, n10, n01, _ = split(cells)
    return np.asarray((n10 - n01) ** 2 <= 4 * (n10 + n01))


def _normalised_caution(cells: NDArray[Any]) -> NDArray[Any]:
    return np.where(_equal_accuracies(cells), KINK.format("equal accuracies"), "")


def _min_mid_max_caution(cells: NDArray[Any]) -> NDArray[Any]:
    n11, n10, n01, n00 = split(cells)
    total = np.maximum(n11 + n10 + n01 + n00, 1)
    opposite = (n11 - n00) ** 2 <= 4 * (n11 + n00)
    kappa, psi = error_consistency(cells), error_consistency_influence(cells)
    square = np.where(cells > 0, cells * psi**2, 0).sum(axis=-1) / total**2
    chance = np.isfinite(kappa) & (kappa**2 <= 4 * square)
    return np.select(
        [chance, _equal_accuracies(cells) & (kappa > 0), opposite & (kappa < 0)],
        [KINK.format(kink) for kink in ("chance", "equal accuracies", "opposite accuracies")],
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
        "correctness",
        normalised_error_consistency,
        normalised_influence,
        _normalised_reason,
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
        "correctness",
        min_mid_max_agreement,
        min_mid_max_influence,
        _min_mid_max_reason,
        label="min-mid-max agreement",
        short="min-mid-max",
        independent=0.0,
        derived={"accuracy_gap": accuracy_gap},
        caution=_min_mid_max_caution,
        sources=("10.48550/arXiv.2006.12904",),
    )
)
