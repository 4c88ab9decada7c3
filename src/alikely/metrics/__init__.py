"""Metrics: NumPy functions of counts, with influence functions, registered by name."""

from __future__ import annotations

# Also imported to register their metrics.
from alikely.metrics import bounds, errors, margins, options, ratings  # noqa: F401
from alikely.metrics.consistency import ERROR_CONSISTENCY as ERROR_CONSISTENCY
from alikely.metrics.consistency import error_consistency
from alikely.metrics.copying import COPY_PROBABILITY as COPY_PROBABILITY
from alikely.metrics.metric import Metric, get_metric, register

__all__ = [
    "Metric",
    "bounds",
    "error_consistency",
    "get_metric",
    "register",
]
