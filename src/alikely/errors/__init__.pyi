from .tables import condition_divergences as condition_divergences

__all__ = ["condition_divergences"]
