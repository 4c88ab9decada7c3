from .categories import sixteen_categories as sixteen_categories
from .exclusions import EXCLUSIONS as EXCLUSIONS
from .exclusions import exclude_conditions as exclude_conditions
from .loaders import load_example as load_example
from .loaders import model_vs_human as model_vs_human
from .loaders import normalise_condition as normalise_condition
from .loaders import simulate_example as simulate_example

__all__ = [
    "EXCLUSIONS",
    "exclude_conditions",
    "load_example",
    "model_vs_human",
    "normalise_condition",
    "simulate_example",
    "sixteen_categories",
]
