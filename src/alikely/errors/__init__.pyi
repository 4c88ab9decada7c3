from .tables import condition_divergences as condition_divergences
from .tables import error_rows as error_rows

__all__ = ["condition_divergences", "error_rows"]
