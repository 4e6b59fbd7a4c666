"""Pictures of decompositions and measures, drawn with matplotlib (the extra ``plot``).

Every function takes ``ax=None``, draws into the axes given or into those of a new figure, and returns them (an array of
axes where there are several panels). None of them shows a figure, resizes one that it was given, or changes global
settings of matplotlib.
"""

from hoeffding.plots.bars import importance, local
from hoeffding.plots.geometry import aligned, angle, cube, gram
from hoeffding.plots.rows import beeswarm, waterfall
from hoeffding.plots.structure import component, network, spectrum, variance_by_order

__all__ = [
    "aligned",
    "angle",
    "beeswarm",
    "component",
    "cube",
    "gram",
    "importance",
    "local",
    "network",
    "spectrum",
    "variance_by_order",
    "waterfall",
]
