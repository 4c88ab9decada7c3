from .alignment import alignment_table as alignment_table
from .alignment import condition_alignment as condition_alignment
from .alignment import regime_alignment as regime_alignment
from .difficulty import difficulty_spectrum as difficulty_spectrum
from .regime_mixtures import fit_spectrum as fit_spectrum
from .regime_mixtures import regimes as regimes

__all__ = [
    "alignment_table",
    "condition_alignment",
    "difficulty_spectrum",
    "fit_spectrum",
    "regime_alignment",
    "regimes",
]
