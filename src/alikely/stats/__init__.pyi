from .bands import rank_band as rank_band
from .bands import uniformity as uniformity
from .groupings import GroupingEffect as GroupingEffect
from .groupings import GroupTest as GroupTest
from .groupings import compare_groupings as compare_groupings
from .groupings import grouping_effect as grouping_effect
from .groupings import permutation_test as permutation_test
from .groupings import profile_distances as profile_distances
from .mixtures import mixture_boundaries as mixture_boundaries
from .mixtures import neighbour_probabilities as neighbour_probabilities
from .mixtures import tightest_groups as tightest_groups
from .multiplicity import adjusted_p_values as adjusted_p_values
from .variance import two_factor_variance as two_factor_variance

__all__ = [
    "GroupTest",
    "GroupingEffect",
    "adjusted_p_values",
    "compare_groupings",
    "grouping_effect",
    "mixture_boundaries",
    "neighbour_probabilities",
    "permutation_test",
    "profile_distances",
    "rank_band",
    "tightest_groups",
    "two_factor_variance",
    "uniformity",
]
