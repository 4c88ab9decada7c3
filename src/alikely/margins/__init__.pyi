from .machines import decision_margins as decision_margins
from .noise import explained_consistency as explained_consistency
from .noise import fit_observers as fit_observers
from .noise import individual_ceilings as individual_ceilings
from .noise import variance_shares as variance_shares
from .reliability import disattenuation as disattenuation
from .reliability import spearman_brown as spearman_brown
from .reliability import split_half_reliability as split_half_reliability
from .repeats import self_consistency as self_consistency

__all__ = [
    "decision_margins",
    "disattenuation",
    "explained_consistency",
    "fit_observers",
    "individual_ceilings",
    "self_consistency",
    "spearman_brown",
    "split_half_reliability",
    "variance_shares",
]
