from .cell_limits import option_limits as option_limits
from .chains import SamplingWarning as SamplingWarning
from .chains import nuts as nuts
from .conjugate import pairwise_draws as pairwise_draws
from .evaluation import evaluator as evaluator
from .fits import extended as extended
from .influence import covariance as covariance
from .influence import estimate as estimate
from .intervals import adjusted_p_values as adjusted_p_values
from .null import fisher_exact as fisher_exact
from .null import log_bayes_factor as log_bayes_factor
from .null import null_percentiles as null_percentiles
from .sampling import posterior as posterior

__all__ = [
    "SamplingWarning",
    "adjusted_p_values",
    "covariance",
    "estimate",
    "evaluator",
    "extended",
    "fisher_exact",
    "log_bayes_factor",
    "null_percentiles",
    "nuts",
    "option_limits",
    "pairwise_draws",
    "posterior",
]
