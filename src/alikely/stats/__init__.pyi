from .bands import rank_band as rank_band
from .bands import uniformity as uniformity
from .mixtures import mixture_boundaries as mixture_boundaries
from .mixtures import neighbour_probabilities as neighbour_probabilities
from .mixtures import tightest_groups as tightest_groups
from .multiplicity import adjusted_p_values as adjusted_p_values
from .variance import two_factor_variance as two_factor_variance

__all__ = [
    "adjusted_p_values",
    "mixture_boundaries",
    "neighbour_probabilities",
    "rank_band",
    "tightest_groups",
    "two_factor_variance",
    "uniformity",
]
