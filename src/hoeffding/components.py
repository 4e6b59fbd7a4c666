r"""Components as tables: :math:`f_S` over the cells of :math:`X_S`, and their sums at rows.

Attributions, sensitivities, files and reports see nothing else of a decomposition. A cell of S is the number whose bits
are the values of its features, the first feature the highest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels
from hoeffding._kernels.reference import Tables, parities
from hoeffding.bits import BitMatrix
from hoeffding.machine import require_memory
from hoeffding.measure import Measure
from hoeffding.subsets import SubsetFamily, find_rows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

BLOCK_FEATURES = 9  # tables of 2^9 doubles stay in the nearest cache
OPEN_BLOCKS = 32  # that a set may still join


@dataclass(frozen=True, eq=False)
class Weights:
    """Which sums are wanted: set ``sets[e]`` (a position in the family) counts for ``targets[e]`` with ``weights[e]``.

    Attributes
    ----------
    n_targets : int
    sets, targets : (n_entries,) int64
        Sorted by set.
    weights : (n_entries,) float64
    """

    n_targets: int
    sets: IntArray
    targets: IntArray
    weights: FloatArray

    @classmethod
    def all_to_one(cls, n_subsets: int) -> Weights:
        """The sum of all components."""
        return cls(1, np.arange(n_subsets), np.zeros(n_subsets, np.int64), np.ones(n_subsets))


@dataclass(frozen=True, eq=False, repr=False)
class Components:
    """The components of a function as tables.

    Attributes
    ----------
    family : SubsetFamily
    tables : tuple of arrays
        ``tables[s]`` has shape ``(n_s, 2**s, m)``: f_S of the m outputs over the cells, for the sets of size s; NaN at
        cells that were never observed.

    Examples
    --------
    >>> import hoeffding
    >>> parts = hoeffding.transform([[1.0, 2.0], [2.0, 4.0]], [[0.4, 0.1], [0.1, 0.4]]).parts
    >>> parts.tables[1][:, :, 0].round(3)
    array([[-0.75,  0.75],
           [-0.75,  0.75]])
    >>> parts.sums(BitMatrix.from_rows([[1, 1], [0, 1]]), Weights.all_to_one(4), 1)[:, 0, 0].round(12)
    array([4., 2.])
    """

    family: SubsetFamily
    tables: tuple[FloatArray, ...]

    @classmethod
    def of(cls, measure: Measure, family: SubsetFamily, beta: FloatArray) -> Components:
        """The tables of ``beta_S psi_S`` under a measure, for coefficients of shape ``(n_subsets, m)``."""
        cells = sum(len(level) * 2.0**s for s, level in enumerate(family.levels))
        require_memory(16 * cells * beta.shape[1], f"the tables of {len(family)} components", "ask for a few, by name")
        tables = []
        for s, (level, start) in enumerate(zip(family.levels, family.starts.tolist(), strict=False)):
            p = measure.marginals(level)
            psi = np.full(p.shape, np.nan)
            np.divide(parities(2**s), 2**s * p, out=psi, where=p > 0)
            beta_s = beta[start : start + len(level), None, :]
            tables.append(np.where(beta_s == 0, 0.0, psi[:, :, None] * beta_s))
        return cls(family, tuple(tables))

    @property
    def n_outputs(self) -> int:
        return int(self.tables[0].shape[2]) if self.tables else 0

    def sums(self, bits: BitMatrix, weights: Weights, threads: int) -> FloatArray:
        """Weighted sums of components at rows, ``(n, n_targets, m)``; cells that were never observed add nothing."""
        starts = np.searchsorted(weights.sets, np.arange(len(self.family) + 1))
        wanted = np.diff(starts) > 0
        family = self.family.select(wanted)
        set_starts, features = _flat(family)
        cells = np.concatenate([np.zeros(0, np.int64), *(np.full(len(a), a.shape[1]) for a in self.tables)])[wanted]
        values = [t[wanted[a:b]].reshape(-1, self.n_outputs) for t, (a, b) in zip(self.tables, self._runs, strict=True)]
        block_of, block_starts, block_features = _blocks(family)
        tables = Tables(
            n_targets=weights.n_targets,
            set_starts=set_starts,
            set_features=features,
            set_block=block_of,
            table_starts=np.cumsum(cells) - cells,
            tables=np.nan_to_num(np.concatenate(values), nan=0.0),
            target_starts=np.append(starts[:-1][wanted], starts[-1]).astype(np.int64),
            targets=weights.targets.astype(np.int32),
            weights=np.ascontiguousarray(weights.weights, np.float64),
            block_starts=block_starts,
            block_features=block_features,
        )
        return _kernels.lookup(bits.columns, bits.n_rows, tables, threads)

    def unseen(self, bits: BitMatrix, threads: int) -> BoolArray:
        """The rows, ``(n,)``, at which some component has a cell that was never observed."""
        never: list[BoolArray] = [np.asarray(np.isnan(t).any(axis=2, keepdims=True)) for t in self.tables]
        marked = np.concatenate([np.zeros(0, np.bool_), *(t.any(axis=(1, 2)) for t in never)])
        if not marked.any():
            return np.zeros(bits.n_rows, np.bool_)
        family = self.family.select(marked)
        tables = tuple(np.asarray(t[t.any(axis=(1, 2))], np.float64) for t in never[: len(family.levels)])
        counts = Components(family, tables).sums(bits, Weights.all_to_one(len(family)), threads)
        return np.asarray(counts[:, 0, 0] > 0)

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        return list(zip(self.family.starts.tolist(), self.family.starts.tolist()[1:], strict=False))


def _flat(family: SubsetFamily) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """The features of all sets, one set after the other, and where each set begins."""
    features = [level.ravel().astype(np.int32) for level in family.levels]
    starts = np.concatenate([[0], np.cumsum(family.sizes, dtype=np.int64)])
    return starts, np.concatenate([np.zeros(0, np.int32), *features])


def _blocks(family: SubsetFamily) -> tuple[npt.NDArray[np.int32], IntArray, npt.NDArray[np.int32]]:
    """Blocks of few features, each set in one of them: the block of every set, and the features of the blocks.

    The tables of a block are added up before any row is looked at, so that a row costs one look per block. Sets are
    taken from the largest to the smallest. A subset of a set goes into its block; any other set joins the open block
    that it makes least larger.
    """
    masks: list[int] = []
    block_of = np.full(len(family), -1, np.int32)
    starts = family.starts
    for s in range(len(family.levels) - 1, -1, -1):
        level = family.levels[s]
        here = block_of[starts[s] : starts[s + 1]]
        for k in np.flatnonzero(here < 0).tolist():
            here[k] = _join(masks, sum(1 << i for i in level[k].tolist()))
        for j in range(s):
            at = find_rows(family.levels[s - 1], np.delete(level, j, axis=1))
            block_of[starts[s - 1] + at[at >= 0]] = here[at >= 0]
    features = [[i for i in range(mask.bit_length()) if mask >> i & 1] for mask in masks]
    block_starts = np.cumsum([0, *map(len, features)])
    return block_of, block_starts, np.array([i for block in features for i in block], np.int32)


def _join(masks: list[int], mask: int) -> int:
    """The block that a set joins, among the blocks opened last; the list is changed."""
    best, best_size = -1, BLOCK_FEATURES + 1
    for b in range(len(masks) - 1, max(len(masks) - 1 - OPEN_BLOCKS, -1), -1):
        size = (masks[b] | mask).bit_count()
        if size < best_size:
            best, best_size = b, size
    if best < 0:
        masks.append(mask)
        return len(masks) - 1
    masks[best] |= mask
    return best
