"""Prior on the four cells of a pair, and priors derived from it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats

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
        """Make the Dirichlet distribution with these parameters."""
        return cls((n11 + n10, n01 + n00), (n11, n10), (n01, n00))

    @property
    def is_dirichlet(self) -> bool:
        """Whether the prior is a Dirichlet distribution of the four cells."""
        sums = (sum(self.u), sum(self.v))
        return bool(np.allclose(self.p_a, sums, rtol=ROUNDING, atol=0))

    @property
    def disagreements(self) -> float:
        """Disagreements of independent observers expected in the prior's pseudo-trials."""
        a, b = self.p_a[0] / sum(self.p_a), self.u[0] / sum(self.u)
        b = a * b + (1 - a) * self.v[0] / sum(self.v)
        return (sum(self.u) + sum(self.v)) * (a * (1 - b) + b * (1 - a))

    def cells(self, use: str) -> Floats:
        """Return Dirichlet parameters of the four cells (`ValueError` if not a Dirichlet)."""
        if not self.is_dirichlet:
            raise ValueError(
                f"{use} needs a Dirichlet prior on the four cells, got {self}; give its four "
                f"parameters ({CELLS}), such as prior=[1, 1, 1, 1]"
            )
        return np.array([*self.u, *self.v])

    def accuracies(self, use: str) -> dict[str, Beta]:
        """Return Beta priors of both accuracies (`ValueError` if not a Dirichlet)."""
        n11, n10, n01, n00 = self.cells(use).tolist()
        return {"p_a": (n11 + n10, n01 + n00), "p_b": (n11 + n01, n10 + n00)}

    def patterns(self, use: str) -> PatternPrior:
        """Return the process over patterns of many observers that gives each pair this prior."""
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
        """Draw patterns (draw, observer, ...): 1 correct, 0 incorrect."""
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
    """Convert a prior on the cells of a pair. Default (None): Dirichlet(1/2)."""
    beta = check_prior(prior)
    if "copy_probability" in beta:
        raise ValueError(
            "a prior on the copy probability has no exact posterior; use sampler='nuts', or state "
            "the prior on p_a, u and v"
        )
    return CellPrior(**beta)


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
    given = dict(prior)
    direct = "copy_probability" in given
    default = dataclasses.asdict(DEFAULT_PRIOR)
    if direct:
        default = {"p_a": default["p_a"], "own_accuracy": (1.0, 1.0)}
    known = {*default, "copy_probability"} if direct else set(default)
    expected = "p_a, u and v, or for p_a, copy_probability and own_accuracy"
    return _beta_parameters({**default, **given}, known, "prior", expected)


def check_accuracy_priors(priors: Mapping[str, Any] | None) -> dict[str, Beta]:
    """Complete and validate conjugate priors of both accuracies of independent observers."""
    default = DEFAULT_PRIOR.accuracies("a model of both accuracies")
    return _beta_parameters({**default, **(priors or {})}, set(default), "priors", "p_a and p_b")


def prior_text(prior: Prior | None) -> str:
    """Format a prior as JSON, as saved in results."""
    return json.dumps(check_prior(prior))


def _beta_parameters(
    priors: Mapping[str, Any], known: set[str], option: str, expected: str
) -> dict[str, Beta]:
    if unknown := sorted(set(priors) - known, key=str):
        raise ValueError(
            f"unknown name in {option}: {', '.join(map(str, unknown))}; give Beta parameters for "
            f"{expected}"
        )
    out = {}
    for name, given in priors.items():
        a, b = _positive(given, 2, f"prior of {name} must be two positive Beta parameters")
        out[name] = (a, b)
    return out


def _positive(given: Any, number: int, expected: str) -> list[float]:
    """Check for `number` finite numbers above 0 (`ValueError`)."""
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.shape != (number,) or not (np.isfinite(numbers) & (numbers > 0)).all():
        raise ValueError(f"{expected}, got {given!r}")
    return numbers.tolist()
