from .loaders import load_example as load_example
from .loaders import model_vs_human as model_vs_human
from .loaders import sixteen_categories as sixteen_categories

__all__ = [
    "load_example",
    "model_vs_human",
    "sixteen_categories",
]
