from .cohorts import cohort as cohort
from .copies import copying as copying
from .observers import observer_margins as observer_margins
from .spectra import spectrum as spectrum

__all__ = [
    "cohort",
    "copying",
    "observer_margins",
    "spectrum",
]
