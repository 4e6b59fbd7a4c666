"""Exact functional decompositions of models on Boolean data, under the data's own distribution."""

from importlib.metadata import version

from hoeffding.decomposition import Decomposition, Variance
from hoeffding.engines.cube import Plan, inverse_transform, transform, transform_plan
from hoeffding.measure import Empirical, Ising, Measure, Product, Table, Uniform
from hoeffding.subsets import SubsetFamily

__version__ = version("hoeffding")

__all__ = [
    "Decomposition",
    "Empirical",
    "Ising",
    "Measure",
    "Plan",
    "Product",
    "SubsetFamily",
    "Table",
    "Uniform",
    "Variance",
    "__version__",
    "inverse_transform",
    "transform",
    "transform_plan",
]
