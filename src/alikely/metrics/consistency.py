"""Error consistency (EC): estimate, corrected and scaled forms, and the prior on a pair's cells.

All functions take the four cells of a pair's correctness table on the last axis, in the order
``n11, n10, n01, n00``. The first index is the correctness of reference observer ``a``, and the
second that of ``b``. Leading dimensions are arbitrary. Counts, bootstrap weights and probabilities
are valid, because all estimands are invariant to scale.

Unequal accuracies bound error consistency. Two normalizations remove the effect of accuracies. The
first uses the maximum error consistency given both accuracies, and the second uses the minimum and
maximum agreement. They are equal if agreement is above that of independent observers. Both have a
kink at equal accuracies. The second also has kinks at expected agreement, and where one accuracy
equals the other error rate. Near the kinks of a normalized metric, analytic intervals are
unreliable.

References
----------
.. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of
   CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [FCE69] Fleiss, Cohen, Everitt (1969). Large sample standard errors of kappa and weighted kappa.
   doi:10.1037/h0028106
.. [MA24] Martín Andrés, Álvarez Hernández (2024). Estimators of various kappa coefficients based
   on the unbiased estimator of the expected index of agreements. doi:10.1007/s11634-024-00581-x
.. [S20] Safak (2020). Min-mid-max scaling, limits of agreement, and agreement score.
   doi:10.48550/arXiv.2006.12904
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats, within
from alikely._base.notes import note
from alikely.metrics.cells import divide, probability, split
from alikely.metrics.gradients import across_kinks
from alikely.metrics.metric import Metric, register


def accuracies(cells: ArrayLike) -> tuple[Floats, Floats]:
    """Compute the proportion correct of both observers."""
    n11, n10, n01, n00 = split(cells)
    total = n11 + n10 + n01 + n00
    return divide(n11 + n10, total), divide(n11 + n01, total)


def accuracy_gap(cells: ArrayLike) -> Floats:
    """Compute the accuracy of the first observer minus that of the second."""
    p_a, p_b = accuracies(cells)
    return p_a - p_b


def observed_agreement(cells: ArrayLike) -> Floats:
    """Compute the proportion of trials with both correct or both incorrect [G20]_."""
    n11, n10, n01, n00 = split(cells)
    return divide(n11 + n00, n11 + n10 + n01 + n00)


def expected_agreement(accuracy_a: ArrayLike, accuracy_b: ArrayLike) -> Floats:
    """Compute the agreement of two independent observers with given accuracies [G20]_."""
    p_a = probability(accuracy_a, "accuracy_a")
    p_b = probability(accuracy_b, "accuracy_b")
    return np.asarray(p_a * p_b + (1 - p_a) * (1 - p_b))


def error_consistency(cells: ArrayLike) -> Floats:
    """Compute error consistency: Cohen's kappa for the correctness of two observers [G20]_ [K25]_.

    Parameters
    ----------
    cells : array_like, shape (..., 4)
        Counts, weights or probabilities ``n11, n10, n01, n00``.

    Returns
    -------
    ndarray, shape (...)
        Values in [-1, 1]. NaN (0/0) for an empty table, and if both observers are always correct or
        both are always incorrect (see `undefined_reason`). Error consistency is 0 if only one
        observer is always correct, or if only one is always incorrect.

    Raises
    ------
    ValueError
        If the last axis does not have four non-negative cells.

    Notes
    -----
    ``(p_obs - p_exp) / (1 - p_exp)`` is computed in the equivalent form
    ``2 (n11 n00 - n10 n01) / ((n11+n10)(n10+n00) + (n11+n01)(n01+n00))``, which is numerically
    stable for accuracies near 1.

    Examples
    --------
    >>> error_consistency([[100, 20, 20, 20], [160, 0, 0, 0]]).round(4)
    array([0.3333,    nan])
    """
    n11, n10, n01, n00 = split(cells)
    kappa = divide(
        2 * (n11 * n00 - n10 * n01), (n11 + n10) * (n10 + n00) + (n11 + n01) * (n01 + n00)
    )
    return within(kappa, -1)


def undefined_reason(cells: ArrayLike) -> NDArray[Any]:
    """Return the reason why error consistency is undefined, or an empty string."""
    n11, n10, n01, n00 = split(cells)
    total = n11 + n10 + n01 + n00
    return np.select(
        [total == 0, n11 == total, n00 == total],
        ["no common trials", "both observers always correct", "both observers always incorrect"],
        default="",
    )


def less_biased_error_consistency(kappa: ArrayLike, n_trials: ArrayLike) -> Floats:
    """Compute bias-corrected error consistency, ``N k / (N - 1 + k)`` [MA24]_."""
    k = np.asarray(kappa, dtype=np.float64)
    n = np.asarray(n_trials, dtype=np.float64)
    return within(divide(n * k, n - 1 + k), -np.inf, 1)


def consistency_bounds(accuracy_a: Floats, accuracy_b: Floats) -> tuple[Floats, Floats]:
    """Compute the bounds of error consistency from valid accuracies [G20]_."""
    a, b = accuracy_a, accuracy_b
    wrong_a, wrong_b = 1 - a, 1 - b
    # The smaller cell of agreement, or of disagreement, is emptied; without cancellation.
    different = a * wrong_b + wrong_a * b
    lower = divide(0 - 2 * np.minimum(a * b, wrong_a * wrong_b), different)
    upper = divide(2 * np.minimum(a * wrong_b, wrong_a * b), different)
    return within(lower, -1, 0), within(upper)


def _less_biased(cells: ArrayLike) -> Floats:
    n_trials = np.asarray(cells, dtype=np.float64).sum(axis=-1)
    return less_biased_error_consistency(error_consistency(cells), np.maximum(n_trials, 2))


# Difference of accuracies, and bounds of EC given accuracies.
ACCURACY_COLUMNS = MappingProxyType(
    {
        "accuracy_gap": accuracy_gap,
        "kappa_min": lambda cells: consistency_bounds(*accuracies(cells))[0],
        "kappa_max": lambda cells: consistency_bounds(*accuracies(cells))[1],
    }
)
ERROR_CONSISTENCY = register(
    Metric(
        "error_consistency",
        error_consistency,
        reason=undefined_reason,
        short="EC",
        independent=0.0,
        derived={**ACCURACY_COLUMNS, "bias_corrected": _less_biased},
        limits="kappa",
        requested=("accuracy_gap", "kappa_min", "kappa_max", "bias_corrected"),
        sources=("10.48550/arXiv.2006.16736", "10.48550/arXiv.2507.06645"),
    )
)


def normalized_error_consistency(cells: ArrayLike) -> Floats:
    """Compute error consistency divided by its maximum given the accuracies."""
    n11, n10, n01, n00 = split(cells)
    # kappa_max has the same margins: the smaller disagreement cell is emptied.
    swap = np.minimum(n10, n01)
    best = np.stack([n11 + swap, n10 - swap, n01 - swap, n00 + swap], axis=-1)
    return within(divide(error_consistency(cells), error_consistency(best)), -np.inf)


def min_mid_max_agreement(cells: ArrayLike) -> Floats:
    """Scale agreement to -1, 0 and 1 at its minimum, expected and maximum value [S20]_."""
    n11, n10, n01, n00 = split(cells)
    # kappa_min has the same margins: the smaller agreement cell is emptied.
    swap = np.minimum(n11, n00)
    worst = np.stack([n11 - swap, n10 + swap, n01 + swap, n00 - swap], axis=-1)
    kappa = error_consistency(cells)
    to_least = within(divide(kappa, -error_consistency(worst)), -1)
    return np.where(kappa > 0, normalized_error_consistency(cells), to_least)


def _equal_accuracies(cells: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether the accuracies may be equal: McNemar's statistic at most 4."""
    _, n10, n01, _ = split(cells)
    return np.asarray((n10 - n01) ** 2 <= 4 * (n10 + n01))


def _normalised_caution(cells: NDArray[Any]) -> NDArray[Any]:
    return np.where(_equal_accuracies(cells), note("kink", kink="equal accuracies"), "")


def _min_mid_max_caution(cells: NDArray[Any]) -> NDArray[Any]:
    n11, n10, n01, n00 = split(cells)
    total = np.maximum(n11 + n10 + n01 + n00, 1)
    opposite = (n11 - n00) ** 2 <= 4 * (n11 + n00)
    kappa, psi = error_consistency(cells), ERROR_CONSISTENCY.influence(cells)
    square = np.where(cells > 0, cells * psi**2, 0).sum(axis=-1) / total**2
    chance = np.isfinite(kappa) & (kappa**2 <= 4 * square)
    return np.select(
        [chance, _equal_accuracies(cells) & (kappa > 0), opposite & (kappa < 0)],
        [
            note("kink", kink=kink)
            for kink in ("chance agreement", "equal accuracies", "accuracies that sum to 1")
        ],
        default="",
    )


def _reason(value: Callable[[ArrayLike], Floats], cells: ArrayLike) -> NDArray[Any]:
    known = undefined_reason(cells)
    one_sided = np.isnan(value(cells)) & (known == "")
    return np.where(one_sided, "one observer always correct or always incorrect", known)


NORMALISED_ERROR_CONSISTENCY = register(
    Metric(
        "normalized_error_consistency",
        normalized_error_consistency,
        # At its kinks the mean of both sides.
        gradient=partial(across_kinks, normalized_error_consistency),
        reason=partial(_reason, normalized_error_consistency),
        short="normalized",
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
        reason=partial(_reason, min_mid_max_agreement),
        label="min-mid-max agreement",
        short="min-mid-max",
        independent=0.0,
        derived={"accuracy_gap": accuracy_gap},
        caution=_min_mid_max_caution,
        sources=("10.48550/arXiv.2006.12904",),
    )
)


# Prior on the four cells of a pair

Beta = tuple[float, float]
CELLS = "n11, n10, n01, n00"
# Relative difference due to rounding.
ROUNDING = 1e-12


@dataclasses.dataclass(frozen=True)
class CellPrior:
    """Beta priors: accuracy of `a`, and of `b` if `a` is correct and if it is not."""

    p_a: Beta
    u: Beta
    v: Beta

    @classmethod
    def of_cells(cls, n11: float, n10: float, n01: float, n00: float) -> CellPrior:
        """Make the prior that is a Dirichlet distribution with the given parameters."""
        return cls((n11 + n10, n01 + n00), (n11, n10), (n01, n00))

    @property
    def is_dirichlet(self) -> bool:
        """Whether the prior is a Dirichlet distribution of the four cells."""
        sums = (sum(self.u), sum(self.v))
        return bool(np.allclose(self.p_a, sums, rtol=ROUNDING, atol=0))

    @property
    def disagreements(self) -> float:
        """Expected disagreements of independent observers in the prior's pseudo-trials."""
        a, b = self.p_a[0] / sum(self.p_a), self.u[0] / sum(self.u)
        b = a * b + (1 - a) * self.v[0] / sum(self.v)
        return (sum(self.u) + sum(self.v)) * (a * (1 - b) + b * (1 - a))

    def cells(self, use: str) -> Floats:
        """Return Dirichlet parameters of the four cells (`ValueError` for other priors)."""
        if not self.is_dirichlet:
            raise ValueError(
                f"{use} needs a Dirichlet prior on the four cells, got {self}; give its four "
                f"parameters ({CELLS}), such as prior=[1, 1, 1, 1]"
            )
        return np.array([*self.u, *self.v])

    def accuracies(self, use: str) -> dict[str, Beta]:
        """Return Beta priors of both accuracies (`ValueError` if the prior is not a Dirichlet)."""
        n11, n10, n01, n00 = self.cells(use).tolist()
        return {"p_a": (n11 + n10, n01 + n00), "p_b": (n11 + n01, n10 + n00)}

    def patterns(self, use: str) -> PatternPrior:
        """Return the prior over patterns of many observers that gives each pair this prior."""
        n11, n10, n01, n00 = self.cells(use).tolist()
        excess = (n11 * n00 - n10 * n01) / ((n11 + n10) * (n01 + n00))
        if not math.isclose(n10, n01, rel_tol=ROUNDING) or excess < -ROUNDING:
            raise ValueError(
                f"{use} needs a Dirichlet prior with n10 = n01 and n11 n00 >= n10 n01, got {self}; "
                "give such parameters, as prior=[1, 0.5, 0.5, 0.5]"
            )
        mass = n11 + n10 + n01 + n00
        return PatternPrior(mass, (n11 + n10) / mass, excess if excess > ROUNDING else 0.0)

    def __str__(self) -> str:
        betas = dataclasses.asdict(self).items()
        return ", ".join(f"{name} ~ Beta({a:g}, {b:g})" for name, (a, b) in betas)


class PatternPrior(NamedTuple):
    """Prior of a Dirichlet process over patterns of correct responses."""

    mass: float
    accuracy: float
    correlation: float

    def _spread(self) -> Beta:
        size = 1 / self.correlation - 1
        return self.accuracy * size, (1 - self.accuracy) * size

    def chances(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats | float:
        """Draw the probability correct in each pattern, equal for all observers."""
        return rng.beta(*self._spread(), shape) if self.correlation else self.accuracy

    def correct(self, rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int8]:
        """Draw response patterns (draw, observer, ...): 1 is correct, 0 is incorrect."""
        chance = self.chances(rng, (shape[0], 1, *shape[2:]))
        if np.ndim(chance) == 0 and chance == 0.5:
            return rng.integers(0, 2, size=shape, dtype=np.int8)
        return (rng.random(shape) < chance).astype(np.int8)

    def parameters(self, n_observers: int) -> Floats:
        """Return Dirichlet parameters of all patterns, in the order of `correctness_patterns`."""
        wrong = np.bitwise_count(np.arange(2**n_observers)).astype(np.float64)
        right = n_observers - wrong
        if not self.correlation:
            return self.mass * self.accuracy**right * (1 - self.accuracy) ** wrong
        a, b = self._spread()
        return np.asarray(
            self.mass * np.exp(special.betaln(a + right, b + wrong) - special.betaln(a, b))
        )


Prior = CellPrior | Mapping[str, Beta] | Sequence[float]

# The default prior: Dirichlet(1/2) on the four cells.
DEFAULT_PRIOR = CellPrior.of_cells(0.5, 0.5, 0.5, 0.5)


def cell_prior(prior: Prior | None) -> CellPrior:
    """Convert a prior on the cells of a pair to a `CellPrior`. Default (None): Dirichlet(1/2)."""
    return CellPrior(**check_prior(prior))


def check_prior(prior: Prior | None) -> dict[str, Beta]:
    """Complete and validate a prior of the copy model."""
    if prior is None:
        prior = DEFAULT_PRIOR
    if isinstance(prior, CellPrior):
        prior = dataclasses.asdict(prior)
    if not isinstance(prior, Mapping):
        cells = _positive(
            prior,
            4,
            f"prior must be four positive numbers ({CELLS}), or Beta "
            "parameters by name such as {'u': (1, 1)}",
        )
        return dataclasses.asdict(CellPrior.of_cells(*cells))
    out = dataclasses.asdict(DEFAULT_PRIOR)
    if unknown := sorted(set(prior) - set(out), key=str):
        raise ValueError(
            f"unknown name in prior: {', '.join(map(str, unknown))}; give Beta parameters for p_a, "
            "u and v"
        )
    for name, given in prior.items():
        a, b = _positive(given, 2, f"prior of {name} must be two positive Beta parameters")
        out[name] = (a, b)
    return out


def prior_text(prior: Prior | None) -> str:
    """Format a prior as JSON, as saved in results."""
    return json.dumps(check_prior(prior))


def _positive(given: Any, number: int, expected: str) -> list[float]:
    """Check for `number` finite numbers above 0 (`ValueError`)."""
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.shape != (number,) or not (np.isfinite(numbers) & (numbers > 0)).all():
        raise ValueError(f"{expected}, got {given!r}")
    return numbers.tolist()
