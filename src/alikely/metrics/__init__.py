"""Metrics: NumPy functions of counts, with influence functions, registered by name."""

from __future__ import annotations

# Also imported to register their metrics.
from alikely.metrics import bounds, errors, margins, ratings  # noqa: F401
from alikely.metrics.consistency import ERROR_CONSISTENCY, error_consistency
from alikely.metrics.copying import copy_probability
from alikely.metrics.metric import Metric, get_metric, register
from alikely.metrics.options import capa_matrices

__all__ = [
    "ERROR_CONSISTENCY",
    "Metric",
    "bounds",
    "capa_matrices",
    "copy_probability",
    "error_consistency",
    "get_metric",
    "register",
]
