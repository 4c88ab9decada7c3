"""Estimands: each one a NumPy function of counts, with its influence function, known by name."""

from __future__ import annotations

from alikely.metrics import (
    alternatives,
    bounds,
    consistency,
    copying,
    distinct,
    errors,
    margins,
    normalised,
    options,
    readings,
    rows,
)
from alikely.metrics.consistency import ERROR_CONSISTENCY, error_consistency
from alikely.metrics.copying import COPY_PROBABILITY, copy_probability
from alikely.metrics.errors import MISCLASSIFICATION_AGREEMENT
from alikely.metrics.margins import DECISION_MARGIN_CONSISTENCY, margin_metric
from alikely.metrics.metric import Metric, find_metric, get_metric, metrics, register
from alikely.metrics.normalised import MIN_MID_MAX_AGREEMENT, NORMALISED_ERROR_CONSISTENCY
from alikely.metrics.option_matrices import CapaMatrices, capa_matrices, same_wrong_answers
from alikely.metrics.options import (
    KAPPA_P,
    KAPPA_P_DISCRETE,
    OPTION_CORRELATION,
    SAME_WRONG_ANSWER,
)
from alikely.metrics.readings import (
    BRENNAN_PREDIGER,
    COHEN_KAPPA,
    FLEISS_KAPPA,
    GWET_AC1,
    KRIPPENDORFF_ALPHA,
    RAW_AGREEMENT,
)
from alikely.metrics.similarity import ERROR_SIMILARITY, error_similarity_metric
from alikely.metrics.trust import Trust

__all__ = [
    "BRENNAN_PREDIGER",
    "COHEN_KAPPA",
    "COPY_PROBABILITY",
    "DECISION_MARGIN_CONSISTENCY",
    "ERROR_CONSISTENCY",
    "ERROR_SIMILARITY",
    "FLEISS_KAPPA",
    "GWET_AC1",
    "KAPPA_P",
    "KAPPA_P_DISCRETE",
    "KRIPPENDORFF_ALPHA",
    "MIN_MID_MAX_AGREEMENT",
    "MISCLASSIFICATION_AGREEMENT",
    "NORMALISED_ERROR_CONSISTENCY",
    "OPTION_CORRELATION",
    "RAW_AGREEMENT",
    "SAME_WRONG_ANSWER",
    "CapaMatrices",
    "Metric",
    "Trust",
    "alternatives",
    "bounds",
    "capa_matrices",
    "consistency",
    "copy_probability",
    "copying",
    "distinct",
    "error_consistency",
    "error_similarity_metric",
    "errors",
    "find_metric",
    "get_metric",
    "margin_metric",
    "margins",
    "metrics",
    "normalised",
    "options",
    "readings",
    "register",
    "rows",
    "same_wrong_answers",
]
