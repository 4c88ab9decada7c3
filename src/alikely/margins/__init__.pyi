from .designs import ChosenModel as ChosenModel
from .designs import model_of_design as model_of_design
from .machines import decision_margins as decision_margins
from .moments import Moments as Moments
from .moments import moment_consistency as moment_consistency
from .moments import moment_limits as moment_limits
from .noise import explained_consistency as explained_consistency
from .noise import fit_observers as fit_observers
from .noise import individual_ceilings as individual_ceilings
from .noise import variance_shares as variance_shares
from .posterior import MarginDraws as MarginDraws
from .posterior import correlation_draws as correlation_draws
from .posterior import margin_draws as margin_draws
from .reliability import Reliability as Reliability
from .reliability import disattenuation as disattenuation
from .reliability import spearman_brown as spearman_brown
from .reliability import split_half_reliability as split_half_reliability
from .repeats import self_consistency as self_consistency
from .shares import ShareDraws as ShareDraws
from .shares import share_draws as share_draws
from .sides import Side as Side
from .sides import group_side as group_side
from .sides import lists_of_items as lists_of_items
from .sides import machine_side as machine_side
from .sides import normal_scores as normal_scores
from .strength_tables import StrengthDraws as StrengthDraws
from .strength_tables import strength_draws as strength_draws
from .strengths import GroupStrengths as GroupStrengths
from .strengths import StrengthFit as StrengthFit
from .strengths import fit_groups as fit_groups
from .strengths import fit_machine as fit_machine
from .strengths import group_strengths as group_strengths
from .strengths import strength_limits as strength_limits
from .tables import answers_of_group as answers_of_group
from .tables import class_answers as class_answers
from .tables import margin_table as margin_table
from .within import WithinClasses as WithinClasses
from .within import within_classes as within_classes

__all__ = [
    "ChosenModel",
    "GroupStrengths",
    "MarginDraws",
    "Moments",
    "Reliability",
    "ShareDraws",
    "Side",
    "StrengthDraws",
    "StrengthFit",
    "WithinClasses",
    "answers_of_group",
    "class_answers",
    "correlation_draws",
    "decision_margins",
    "disattenuation",
    "explained_consistency",
    "fit_groups",
    "fit_machine",
    "fit_observers",
    "group_side",
    "group_strengths",
    "individual_ceilings",
    "lists_of_items",
    "machine_side",
    "margin_draws",
    "margin_table",
    "model_of_design",
    "moment_consistency",
    "moment_limits",
    "normal_scores",
    "self_consistency",
    "share_draws",
    "spearman_brown",
    "split_half_reliability",
    "strength_draws",
    "strength_limits",
    "variance_shares",
    "within_classes",
]
