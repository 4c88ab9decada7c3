from .multiplicity import adjusted_p_values as adjusted_p_values

__all__ = [
    "adjusted_p_values",
]
