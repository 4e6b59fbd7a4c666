"""Exact functional decompositions of models on Boolean data, under the data's own distribution."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from hoeffding.decomposition import Decomposition, Variance
from hoeffding.engines.cube import Plan, inverse_transform, transform, transform_plan
from hoeffding.engines.trees.polynomial import Polynomial
from hoeffding.explain import decompose
from hoeffding.measure import Empirical, Ising, Measure, Product, Table, Uniform
from hoeffding.moments import Moments
from hoeffding.subsets import SubsetFamily
from hoeffding.tables import Encoding

if TYPE_CHECKING:
    from hoeffding.encoder import TableEncoder
    from hoeffding.engines.regression import HoeffdingRegressor

__version__ = version("hoeffding")

__all__ = [
    "Decomposition",
    "Empirical",
    "Encoding",
    "HoeffdingRegressor",
    "Ising",
    "Measure",
    "Moments",
    "Plan",
    "Polynomial",
    "Product",
    "SubsetFamily",
    "Table",
    "TableEncoder",
    "Uniform",
    "Variance",
    "__version__",
    "decompose",
    "inverse_transform",
    "transform",
    "transform_plan",
]


def __getattr__(name: str) -> Any:
    if name == "HoeffdingRegressor":  # scikit-learn is imported only when it is needed
        from hoeffding.engines.regression import HoeffdingRegressor

        return HoeffdingRegressor
    if name == "TableEncoder":
        from hoeffding.encoder import TableEncoder

        return TableEncoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
