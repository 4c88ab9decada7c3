"""Class-level error similarity, as an estimand with options.

References
----------
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.metrics import errors, rows
from alikely.metrics.metric import Metric, register
from alikely.metrics.trust import TRUST

__all__ = ["ERROR_SIMILARITY", "error_similarity_metric"]

# Measured (models/paired_errors/README.md).
UNRELIABLE = MappingProxyType(
    {
        "analytic": "coverage 0 to 0.96: divergences of samples are too large. Report the "
        "posterior interval",
        "bootstrap": "coverage 0 to 0.98: resampling repeats the upward bias of divergences. "
        "Report the posterior interval",
        "bca": "coverage 0 to 0.93: resampling repeats the upward bias of divergences. "
        "Report the posterior interval",
        "log_bayes_factor": "Bayes factor above 3 for equal rows in 0.74 of unequal data sets. Use "
        "p_equal_adjusted",
    }
)


def error_similarity_metric(
    alpha: float = 0.5, mixture: rows.Mixture = "mean", base: float = 2
) -> Metric:
    """Class-level error similarity [X25]_ with its options, as an estimand."""
    rows.check_options(alpha, mixture, base)
    divergence = functools.partial(rows.row_divergence, alpha=alpha, mixture=mixture, base=base)
    slopes = functools.partial(rows.row_gradient, alpha=alpha, mixture=mixture, base=base)

    def value(*counts: Any) -> Floats:
        return errors.error_similarity(divergence(*counts))

    def gradient(*counts: Any) -> tuple[Floats, Floats]:
        by_a, by_b = slopes(*counts)
        # d/dx of 1 / (1 + x).
        steep = -(value(*counts)[..., None] ** 2)
        return steep * by_a, steep * by_b

    def reason(*counts: Any) -> NDArray[Any]:
        return np.where(np.isfinite(value(*counts)), "", "neither observer made an error")

    return Metric(
        "error_similarity",
        value,
        "rows",
        gradient=gradient,
        reason=reason,
        short="CLES",
        bounds=(0.0, 1.0),
        beside=(
            "n_joint_errors",
            "n_errors_a",
            "n_errors_b",
            "divergence",
            "expected_divergence",
            "excess_divergence",
            "log_bayes_factor",
            "p_equal",
            "p_equal_adjusted",
            "copy_probability",
            "model_low",
            "model_high",
        ),
        draws="rows",
        unreliable=UNRELIABLE,
        requested=(
            "n_joint_errors",
            "excess_divergence",
            "p_equal",
            "copy_probability",
            "model_low",
            "model_high",
        ),
        # Measured (docs/benchmarks.md): means over pairs are no surer of rows than pairs are.
        trust=TRUST["rows"]._replace(
            pooled=(
                np.inf,
                "few errors of a class move it more than intervals say; compare like error rates",
            )
        ),
        sources=("10.48550/arXiv.2409.13919",),
        options={"alpha": alpha, "mixture": mixture, "base": base},
    )


ERROR_SIMILARITY = register(error_similarity_metric(), error_similarity_metric)
