from .cohorts import cohort as cohort
from .copies import copying as copying
from .margins import item_margins as item_margins
from .observers import observer_margins as observer_margins
from .pairs import paired_errors as paired_errors
from .spectra import spectrum as spectrum

__all__ = [
    "cohort",
    "copying",
    "item_margins",
    "observer_margins",
    "paired_errors",
    "spectrum",
]
