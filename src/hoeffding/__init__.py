"""Exact functional decompositions of models on Boolean data, under the data's own distribution."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from hoeffding.attribution import Attribution, Interactions
from hoeffding.chunks import Stream
from hoeffding.decomposition import Decomposition, load
from hoeffding.engines.cube import Plan, inverse_transform, transform, transform_plan
from hoeffding.engines.trees.polynomial import Polynomial
from hoeffding.explain import decompose
from hoeffding.measure import Empirical, Ising, Measure, Product, Table, Uniform
from hoeffding.moments import Moments
from hoeffding.resampling import Estimate, bootstrap
from hoeffding.sensitivity import Sobol, Variance
from hoeffding.subsets import SubsetFamily
from hoeffding.tables import Encoding
from hoeffding.to_file import apply

if TYPE_CHECKING:
    from hoeffding import plots, report
    from hoeffding.encoder import TableEncoder
    from hoeffding.engines.regression import HoeffdingRegressor

__version__ = version("hoeffding")

__all__ = [
    "Attribution",
    "Decomposition",
    "Empirical",
    "Encoding",
    "Estimate",
    "HoeffdingRegressor",
    "Interactions",
    "Ising",
    "Measure",
    "Moments",
    "Plan",
    "Polynomial",
    "Product",
    "Sobol",
    "Stream",
    "SubsetFamily",
    "Table",
    "TableEncoder",
    "Uniform",
    "Variance",
    "__version__",
    "apply",
    "bootstrap",
    "decompose",
    "inverse_transform",
    "load",
    "plots",
    "report",
    "transform",
    "transform_plan",
]


def __getattr__(name: str) -> Any:
    if name in {"plots", "report"}:  # imported only when something is drawn or written
        return import_module(f"hoeffding.{name}")
    if name == "HoeffdingRegressor":  # scikit-learn is imported only when it is needed
        from hoeffding.engines.regression import HoeffdingRegressor

        return HoeffdingRegressor
    if name == "TableEncoder":
        from hoeffding.encoder import TableEncoder

        return TableEncoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
