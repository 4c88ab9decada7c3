from .conditions import condition_divergences as condition_divergences
from .equal_rows import equality as equality
from .tables import dense as dense
from .tables import error_rows as error_rows

__all__ = [
    "condition_divergences",
    "dense",
    "equality",
    "error_rows",
]
