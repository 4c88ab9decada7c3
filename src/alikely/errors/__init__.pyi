from .conditions import condition_divergences as condition_divergences
from .posteriors import error_divergence_draws as error_divergence_draws
from .posteriors import error_row_draws as error_row_draws
from .tables import dense as dense
from .tables import error_rows as error_rows

__all__ = [
    "condition_divergences",
    "dense",
    "error_divergence_draws",
    "error_row_draws",
    "error_rows",
]
