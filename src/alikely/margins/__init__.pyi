from .model_margins import decision_margins as decision_margins
from .reliability import explained_consistency as explained_consistency
from .reliability import self_consistency as self_consistency
from .reliability import spearman_brown as spearman_brown
from .reliability import split_half_reliability as split_half_reliability
from .reliability import variance_fractions as variance_fractions

__all__ = [
    "decision_margins",
    "explained_consistency",
    "self_consistency",
    "spearman_brown",
    "split_half_reliability",
    "variance_fractions",
]
