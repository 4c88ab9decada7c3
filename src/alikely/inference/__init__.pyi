from .cell_limits import posterior_limits as posterior_limits
from .chains import SamplingWarning as SamplingWarning
from .chains import nuts as nuts
from .chains import nuts_many as nuts_many
from .complete import extended as extended
from .conjugate import independence_draws as independence_draws
from .conjugate import joint_draws as joint_draws
from .conjugate import pairwise_draws as pairwise_draws
from .evaluation import Evaluator as Evaluator
from .evaluation import evaluator as evaluator
from .evaluation import weighted_cells as weighted_cells
from .fisher import fisher_log10_p as fisher_log10_p
from .five_cells import option_limits as option_limits
from .independent import independent_posterior as independent_posterior
from .independent import null_bootstrap as null_bootstrap
from .influence import covariance as covariance
from .influence import estimate as estimate
from .null import bayes_factor as bayes_factor
from .null import fisher_exact as fisher_exact
from .null import log_bayes_factor as log_bayes_factor
from .null import null_draws as null_draws
from .null import null_percentiles as null_percentiles
from .null import p_value as p_value
from .predictive import elpd as elpd
from .predictive import elpd_mid_p as elpd_mid_p
from .resampling import bca_interval as bca_interval
from .resampling import bca_of_table as bca_of_table
from .resampling import bootstrap as bootstrap
from .resampling import bootstrap_counts as bootstrap_counts
from .sampling import posterior as posterior
from .sampling import trial_log_likelihood as trial_log_likelihood

__all__ = [
    "Evaluator",
    "SamplingWarning",
    "bayes_factor",
    "bca_interval",
    "bca_of_table",
    "bootstrap",
    "bootstrap_counts",
    "covariance",
    "elpd",
    "elpd_mid_p",
    "estimate",
    "evaluator",
    "extended",
    "fisher_exact",
    "fisher_log10_p",
    "independence_draws",
    "independent_posterior",
    "joint_draws",
    "log_bayes_factor",
    "null_bootstrap",
    "null_draws",
    "null_percentiles",
    "nuts",
    "nuts_many",
    "option_limits",
    "p_value",
    "pairwise_draws",
    "posterior",
    "posterior_limits",
    "trial_log_likelihood",
    "weighted_cells",
]
