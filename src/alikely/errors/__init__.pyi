from .agreement import agreement_draws as agreement_draws
from .chains import class_copying_draws as class_copying_draws
from .conditions import condition_divergences as condition_divergences
from .equal_rows import equality as equality
from .means import mean_draws as mean_draws
from .paired_chains import paired_chain_draws as paired_chain_draws
from .posteriors import error_divergence_draws as error_divergence_draws
from .posteriors import error_row_draws as error_row_draws
from .posteriors import joint_error_log_likelihood as joint_error_log_likelihood
from .posteriors import replicated_agreement as replicated_agreement
from .tables import agreement_of_classes as agreement_of_classes
from .tables import class_comparison as class_comparison
from .tables import dense as dense
from .tables import error_rows as error_rows
from .tables import joint_errors as joint_errors

__all__ = [
    "agreement_draws",
    "agreement_of_classes",
    "class_comparison",
    "class_copying_draws",
    "condition_divergences",
    "dense",
    "equality",
    "error_divergence_draws",
    "error_row_draws",
    "error_rows",
    "joint_error_log_likelihood",
    "joint_errors",
    "mean_draws",
    "paired_chain_draws",
    "replicated_agreement",
]
