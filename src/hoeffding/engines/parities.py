r"""Sparse functions of bits: from the leaves of trees to parity coefficients.

A leaf is the product of its literals: :math:`\prod_{i \in P} [x_i = v_i]`, a table over the cells of its path P that
is zero but for one cell. Leaves with the same path are added up in one table; its Walsh-Hadamard transform gives the
parity coefficients of all :math:`2^{|P|}` subsets of P. No set outside these subsets has a component.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hoeffding._kernels.reference import walsh_hadamard
from hoeffding.components import Components
from hoeffding.engines.trees.splits import Leaves
from hoeffding.machine import readable_bytes
from hoeffding.subsets import IndexArray, SubsetFamily, find_rows, index_dtype, unique_rows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BYTES_OF_A_SET = 1000.0  # a set of six features: cells, positions, sums
CHUNK = 2**21  # subsets of paths that are listed at once


class ClosureTooLargeError(ValueError):
    """There are more sets than a budget allows. ``n_sets`` says how many were found before the search stopped."""

    def __init__(self, n_sets: int, budget: int) -> None:
        self.n_sets = n_sets
        super().__init__(
            f"max_sets={budget:,}: the paths of the trees have at least {n_sets:,} different subsets; raise max_sets "
            f"(a set takes some {readable_bytes(BYTES_OF_A_SET)}), use shallower trees, or engine='regression'"
        )


def tables_of_paths(d: int, leaves: Leaves, base: FloatArray | None = None) -> Components:
    """The leaves added up by path: a function of ``d`` bits as a sum of tables, one for each different path.

    ``base``, shape ``(m,)``, is added to all values.
    """
    m = leaves.leaf_values.shape[1]
    lengths = np.diff(leaves.path_starts)
    constant = leaves.leaf_values[lengths == 0].sum(axis=0) + (0.0 if base is None else base)
    levels: list[IndexArray] = [np.zeros((1, 0), index_dtype(d))]
    tables: list[FloatArray] = [np.broadcast_to(constant, (1, 1, m)).copy()]
    for size in range(1, int(lengths.max(initial=0)) + 1):
        which = np.flatnonzero(lengths == size)
        at = leaves.path_starts[which][:, None] + np.arange(size)
        paths = leaves.path_bits[at].astype(index_dtype(d)).reshape(len(which), size)
        cells = (leaves.path_values[at].astype(np.int64) << np.arange(size - 1, -1, -1)).sum(axis=1)
        level = unique_rows(paths)
        table = np.zeros((len(level), 2**size, m))
        np.add.at(table, (find_rows(level, paths), cells), leaves.leaf_values[which])
        levels.append(level)
        tables.append(table)
    return Components(SubsetFamily(d, tuple(levels)), tuple(tables))


def closure(family: SubsetFamily, max_sets: int) -> SubsetFamily:
    """All subsets of the sets of a family; stops with an error as soon as there are more than ``max_sets``."""
    levels: list[IndexArray] = [np.zeros((0, s), index_dtype(family.d)) for s in range(len(family.levels))]
    levels[0] = np.zeros((1, 0), index_dtype(family.d))
    for s in range(len(family.levels) - 1, 0, -1):
        levels[s] = unique_rows(np.concatenate([levels[s], family.levels[s]]))
        for part in np.array_split(levels[s], max(1, len(levels[s]) * s // CHUNK)):
            below = np.concatenate([levels[s - 1], *(np.delete(part, j, axis=1) for j in range(s))])
            levels[s - 1] = unique_rows(below)
            if (n_sets := sum(map(len, levels))) > max_sets:
                raise ClosureTooLargeError(n_sets, max_sets)
    return SubsetFamily(family.d, tuple(levels))


def parity_coefficients(tables: Components, closed: SubsetFamily) -> FloatArray:
    r"""The Walsh-Hadamard coefficients of a sum of tables, for the sets of a closed family: ``(n_subsets, m)``."""
    out = np.zeros((len(closed), tables.n_outputs))
    for size, (level, table) in enumerate(zip(tables.family.levels, tables.tables, strict=True)):
        if len(level) == 0:
            continue
        start = int(closed.starts[size])
        at = closed.subset_positions[size][closed.positions(level) - start]
        spectrum = walsh_hadamard(np.moveaxis(table, 2, 0)) / 2**size
        for o in range(tables.n_outputs):
            out[:, o] += np.bincount(at.ravel(), spectrum[o].ravel(), len(closed))
    return out
