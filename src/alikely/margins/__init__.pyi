from .machines import decision_margins as decision_margins
from .noise import explained_consistency as explained_consistency
from .noise import fit_observers as fit_observers
from .noise import individual_ceilings as individual_ceilings
from .noise import variance_shares as variance_shares
from .posterior import MarginDraws as MarginDraws
from .posterior import correlation_draws as correlation_draws
from .posterior import margin_draws as margin_draws
from .reliability import Reliability as Reliability
from .reliability import disattenuation as disattenuation
from .reliability import self_consistency as self_consistency
from .reliability import spearman_brown as spearman_brown
from .reliability import split_half_reliability as split_half_reliability
from .tables import answers_of_group as answers_of_group
from .tables import margin_table as margin_table

__all__ = [
    "MarginDraws",
    "Reliability",
    "answers_of_group",
    "correlation_draws",
    "decision_margins",
    "disattenuation",
    "explained_consistency",
    "fit_observers",
    "individual_ceilings",
    "margin_draws",
    "margin_table",
    "self_consistency",
    "spearman_brown",
    "split_half_reliability",
    "variance_shares",
]
