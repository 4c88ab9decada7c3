"""Generative models, each a function that returns a plain `pymc.Model`."""

from __future__ import annotations

from alikely.models.cohort import cohort
from alikely.models.copying import copying
from alikely.models.criteria import class_criteria
from alikely.models.errors import class_copying, error_distributions
from alikely.models.independence import independence
from alikely.models.margins import item_margins
from alikely.models.observers import observer_margins
from alikely.models.pooled_pairs import pooled_pairs
from alikely.models.spectrum import spectrum

__all__ = [
    "class_copying",
    "class_criteria",
    "cohort",
    "copying",
    "error_distributions",
    "independence",
    "item_margins",
    "observer_margins",
    "pooled_pairs",
    "spectrum",
]
