from ._given_priors import prior_texts as prior_texts
from ._given_priors import with_priors as with_priors
from .agreements import agreement_regression as agreement_regression
from .cohorts import cohort as cohort
from .copies import copying as copying
from .criteria import class_criteria as class_criteria
from .errors import class_copying as class_copying
from .errors import error_distributions as error_distributions
from .independent import independence as independence
from .margins import item_margins as item_margins
from .observers import observer_margins as observer_margins
from .paired import paired_errors as paired_errors
from .pairs import pooled_pairs as pooled_pairs
from .shared import shared_errors as shared_errors
from .spectra import spectrum as spectrum

__all__ = [
    "agreement_regression",
    "class_copying",
    "class_criteria",
    "cohort",
    "copying",
    "error_distributions",
    "independence",
    "item_margins",
    "observer_margins",
    "paired_errors",
    "pooled_pairs",
    "prior_texts",
    "shared_errors",
    "spectrum",
    "with_priors",
]
