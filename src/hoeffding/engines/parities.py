r"""Sparse functions of bits: from the leaves of trees to parity coefficients.

A leaf is the product of its literals: :math:`\prod_{i \in P} [x_i = v_i]`, a table over the cells of its path P that
is zero but for one cell. Leaves with the same path are added up in one table; its Walsh-Hadamard transform gives the
parity coefficients of all :math:`2^{|P|}` subsets of P. No set outside these subsets has a component.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding._kernels.reference import walsh_hadamard
from hoeffding.components import Components
from hoeffding.engines.trees.ensemble import ClosureTooLargeError
from hoeffding.engines.trees.splits import Leaves
from hoeffding.machine import require_memory
from hoeffding.subsets import IndexArray, SubsetFamily, find_rows, index_dtype, unique_rows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MAX_SETS = 1_000_000  # of a closure, unless the caller allows more: some seconds and gigabytes
CHUNK = 2**21  # subsets of paths that are listed at once


def family_of_paths(d: int, leaves: Leaves) -> SubsetFamily:
    """The different paths of leaves, and the empty one, as sets of ``d`` bits."""
    lengths, dtype = np.diff(leaves.path_starts), index_dtype(d)
    by_size = [np.flatnonzero(lengths == size) for size in range(1, int(lengths.max(initial=0)) + 1)]
    paths = [unique_rows(_paths(leaves, which, size, dtype)) for size, which in enumerate(by_size, start=1)]
    return SubsetFamily(d, (np.zeros((1, 0), dtype), *paths))


def tables_of_paths(family: SubsetFamily, leaves: Leaves, base: FloatArray | None = None) -> Components:
    """The leaves added up by path: a function of bits as a sum of tables, one for each different path of the family.

    ``base``, shape ``(m,)``, is added to all values.
    """
    m = leaves.leaf_values.shape[1]
    cells = sum(len(level) * 2.0**size for size, level in enumerate(family.levels))
    require_memory(16.0 * m * cells, f"tables of {len(family)} paths", "use shallower trees, or engine='regression'")
    lengths = np.diff(leaves.path_starts)
    tables: list[FloatArray] = []
    for size, level in enumerate(family.levels):
        which = np.flatnonzero(lengths == size)
        at = leaves.path_starts[which][:, None] + np.arange(size)
        cell = (leaves.path_values[at].astype(np.int64) << np.arange(size - 1, -1, -1)).sum(axis=1)
        table = np.zeros((len(level), 2**size, m))
        np.add.at(table, (find_rows(level, _paths(leaves, which, size, level.dtype)), cell), leaves.leaf_values[which])
        tables.append(table)
    if base is not None:
        tables[0] += base
    return Components(family, tuple(tables))


def _paths(leaves: Leaves, which: npt.NDArray[np.intp], size: int, dtype: Any) -> IndexArray:
    at = leaves.path_starts[which][:, None] + np.arange(size)
    return np.asarray(leaves.path_bits[at].astype(dtype).reshape(len(which), size))


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
