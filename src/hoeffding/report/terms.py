"""Terms: the components of the same players, added up. Without groups they are the components themselves.

The bits of one column have a component each; what a reader wants to see is the effect of the column. So everything
drawn or listed is summed over the components that touch the same players: their values, and their shares of the
variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hoeffding.decomposition import Decomposition
from hoeffding.players import Players, Touches
from hoeffding.sensitivity import over

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Terms:
    """The sets of players that some component touches.

    Attributes
    ----------
    players : list of tuples
        Of each term, ascending; the first is the mean, of nobody.
    of_set : (n_subsets,) int64
        The term of every component.
    counts : (n_terms,) int64
        How many components each term has.
    structural, correlative, share : (n_terms, m) float64
        Sums over the components, as shares of the variance of f.
    """

    players: list[tuple[int, ...]]
    of_set: IntArray
    counts: IntArray
    structural: FloatArray
    correlative: FloatArray
    share: FloatArray

    @classmethod
    def of(cls, result: Decomposition, players: Players) -> Terms:
        touches = Touches.of(result.family, players)
        ends = np.searchsorted(touches.sets, np.arange(len(result.family) + 1))
        position: dict[tuple[int, ...], int] = {}
        flat = touches.players.tolist()
        of_set = np.array(
            [position.setdefault(tuple(flat[a:b]), len(position)) for a, b in pairwise(ends.tolist())],
            np.int64,
        )
        v, n_terms = result.variance(), len(position)

        def summed(part: FloatArray) -> FloatArray:
            out = np.zeros((n_terms, *result.output_shape))
            np.add.at(out, of_set, part)
            return over(out, v.of_f).reshape(n_terms, -1)

        counts = np.bincount(of_set, minlength=n_terms)
        return cls(list(position), of_set, counts, summed(v.structural), summed(v.correlative), summed(v.total))
