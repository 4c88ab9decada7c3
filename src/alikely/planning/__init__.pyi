from .choosing import choose_conditions as choose_conditions
from .choosing import choose_images as choose_images
from .components import best_design as best_design
from .components import expected_errors as expected_errors
from .components import plan_reader_study as plan_reader_study
from .components import plan_repeats as plan_repeats
from .components import variance_components as variance_components
from .items import items_for_agreement as items_for_agreement
from .items import items_for_margins as items_for_margins
from .trials import plan_from as plan_from
from .trials import trials_for_difference as trials_for_difference
from .trials import trials_for_power as trials_for_power
from .trials import trials_for_width as trials_for_width

__all__ = [
    "best_design",
    "choose_conditions",
    "choose_images",
    "expected_errors",
    "items_for_agreement",
    "items_for_margins",
    "plan_from",
    "plan_reader_study",
    "plan_repeats",
    "trials_for_difference",
    "trials_for_power",
    "trials_for_width",
    "variance_components",
]
