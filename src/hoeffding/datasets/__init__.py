"""Real data sets of bits, those of the paper, and synthetic landscapes whose components are known.

Import this module by its name: ``from hoeffding.datasets import load_demo``.
"""

from hoeffding.datasets.dataset import Dataset
from hoeffding.datasets.landscape import Landscape, make_landscape
from hoeffding.datasets.loaders import (
    load_avgfp,
    load_demo,
    load_entacmaea,
    load_gb1,
    load_kr_vs_kp,
    load_mushrooms,
    load_sgemm,
)

__all__ = [
    "Dataset",
    "Landscape",
    "load_avgfp",
    "load_demo",
    "load_entacmaea",
    "load_gb1",
    "load_kr_vs_kp",
    "load_mushrooms",
    "load_sgemm",
    "make_landscape",
]
