from .cohorts import cohort_counts as cohort_counts
from .tables import from_counts as from_counts
from .tables import joint_correctness as joint_correctness
from .trials import Trials as Trials

__all__ = [
    "Trials",
    "cohort_counts",
    "from_counts",
    "joint_correctness",
]
