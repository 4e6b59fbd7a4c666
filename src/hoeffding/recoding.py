r"""Sums over sets of bits, in another coding of the bits.

Let :math:`v(T)` be a sum over the rows in which all bits of T are one. With bit i inverted, the sums of the sets
without i stay as they are, and :math:`v'(T) = v(T \setminus i) - v(T)` for the others. Counts stay exact integers. So
sums from places that chose the rarer value of a bit differently still go together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hoeffding.subsets import IndexArray, SubsetFamily

IntArray = npt.NDArray[np.int64]


class Recoding(NamedTuple):
    """The sets of the new coding, and where their sums come from: ``v[plus] - v[minus]``, nothing where minus is -1.

    ``plus`` and ``minus`` are positions in the old family, shape ``(n_sets,)``.
    """

    sets: SubsetFamily
    plus: IntArray
    minus: IntArray

    def apply(self, values: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
        """The sums of the first ``n`` sets of the new coding, from those of the old one, shape ``(n_old, ...)``."""
        plus, minus = self.plus[:n], self.minus[:n]
        out = values[plus]
        there = minus >= 0
        out[there] -= values[minus[there]]
        return out


def invert(sets: SubsetFamily, bit: int, largest: int, only: SubsetFamily | None) -> Recoding:
    """What inverting one bit makes of the sets that occur.

    Parameters
    ----------
    sets : SubsetFamily
        Those that occur, ``()`` first.
    bit : int
    largest : int
        The largest size of a set that was counted.
    only : SubsetFamily or None
        The closed family that was counted, if not all sets up to that size.

    Returns
    -------
    Recoding
        Some of its sets may not occur: their counts come out as zero.
    """
    levels: list[IndexArray] = [sets.levels[0]]
    plus, minus = [np.zeros(1, np.int64)], [np.full(1, -1)]
    starts = sets.starts
    for size in range(1, min(largest, len(sets.levels)) + 1):
        kept = _without(sets, size, bit)
        base = _without(sets, size - 1, bit)
        grown = np.sort(np.insert(sets.levels[size - 1][base], size - 1, bit, axis=1), axis=1)
        if only is not None:
            counted = only.positions(grown) >= 0
            base, grown = base[counted], grown[counted]
        old = sets.levels[size][kept] if size < len(sets.levels) else grown[:0]
        level = np.concatenate([old, grown])
        order = np.lexsort(level.T[::-1])
        levels.append(level[order])
        at = starts[min(size, len(starts) - 1)] + kept
        plus.append(np.concatenate([at, starts[size - 1] + base])[order])
        minus.append(np.concatenate([np.full(len(kept), -1), sets.positions(grown)])[order])
    return Recoding(SubsetFamily(sets.d, tuple(levels)), np.concatenate(plus), np.concatenate(minus))


def _without(sets: SubsetFamily, size: int, bit: int) -> IntArray:
    """Which sets of one size do not have the bit."""
    if size >= len(sets.levels):
        return np.zeros(0, np.int64)
    return np.flatnonzero(~(sets.levels[size] == bit).any(axis=1))
