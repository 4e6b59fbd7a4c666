r"""Components as tables: :math:`f_S` over the cells of :math:`X_S`, and their sums at rows.

Attributions, sensitivities, files and reports see nothing else of a decomposition. A cell of S is the number whose bits
are the values of its features, the first feature the highest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels, fourier
from hoeffding._kernels.reference import Tables, parities
from hoeffding.bits import BitMatrix, BitRows
from hoeffding.machine import require_memory
from hoeffding.measure import Measure
from hoeffding.subsets import SubsetFamily, find_rows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

FEW_ROWS = 2**13
BLOCK_FEATURES = (7, 10)  # for few rows, and for more: tables of 2^10 doubles stay in the nearest cache
ROW_COST = 4  # of one number in a pass over arrays, against one step of the recursion on the cube


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
        block_of = (
            np.unique((self._small_blocks if bits.n_rows < FEW_ROWS else self._blocks)[wanted], return_inverse=True)[1]
            .ravel()
            .astype(np.int32)
        )
        block_starts, block_features = _features_of_blocks(family, block_of)
        tables = Tables(
            n_targets=weights.n_targets,
            set_starts=set_starts,
            set_features=features,
            set_block=block_of,
            table_starts=np.cumsum(cells) - cells,
            tables=np.nan_to_num(np.concatenate([np.zeros((0, self.n_outputs)), *values]), nan=0.0),
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
    def _small_blocks(self) -> npt.NDArray[np.int32]:
        """For few rows, where making the tables of blocks is most of the work."""
        return _blocks(self.family, BLOCK_FEATURES[0])

    @cached_property
    def _blocks(self) -> npt.NDArray[np.int32]:
        return _blocks(self.family, BLOCK_FEATURES[1])

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        return list(zip(self.family.starts.tolist(), self.family.starts.tolist()[1:], strict=False))


def sums_on_cube(
    measure: Measure, family: SubsetFamily, beta: FloatArray, weights: Weights, rows: BitRows, threads: int
) -> FloatArray:
    """What :meth:`Components.sums` gives, ``(n, n_targets, m)``, for families of so many sets that they fill the cube.

    Every set must be shattered. Either all sums on the whole cube are computed, or all components at each row,
    whichever is less work.
    """
    d, n_targets, m = measure.d, weights.n_targets, beta.shape[1]
    out = np.empty((len(rows), n_targets, m))
    if len(rows) * (d * 2.0**d + len(weights.sets) * m) * ROW_COST < n_targets * m * 3.0**d:
        pmf = measure.pmf()
        for x, sums in zip(rows, out, strict=True):
            f = beta * _psi_at(pmf, family, x)[:, None]
            for o in range(m):
                sums[:, o] = np.bincount(weights.targets, weights.weights * f[weights.sets, o], n_targets)
        return out
    at = np.ravel_multi_index(tuple(rows.T), (2,) * d)
    require_memory(24.0 * n_targets * 2**d, f"{n_targets} sums on the whole cube", "ask for fewer rows at once")
    position = family.cube_index()[weights.sets]
    for o in range(m):
        planes = np.zeros((n_targets, 2**d))
        np.add.at(planes, (weights.targets, position), weights.weights * beta[weights.sets, o])
        out[:, :, o] = fourier.inverse(planes, measure, threads)[:, at].T
    return out


def _psi_at(pmf: FloatArray, family: SubsetFamily, x: BitRows) -> FloatArray:
    """psi_S(x) for all sets of a family of shattered sets, ``(n_subsets,)``."""
    p = pmf
    for i, bit in enumerate(x.tolist()):  # at a set S in the end: the probability of x_S
        p = np.stack([p.sum(axis=i), p.take(bit, axis=i)], axis=i)
    signs = [np.where(x[level].sum(axis=1) % 2, -1.0, 1.0) for level in family.levels]
    return np.asarray(np.concatenate(signs) / (2.0**family.sizes * family.take(p.ravel())))


def _flat(family: SubsetFamily) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """The features of all sets, one set after the other, and where each set begins."""
    features = [level.ravel().astype(np.int32) for level in family.levels]
    starts = np.concatenate([[0], np.cumsum(family.sizes, dtype=np.int64)])
    return starts, np.concatenate([np.zeros(0, np.int32), *features])


def _blocks(family: SubsetFamily, largest: int) -> npt.NDArray[np.int32]:
    """The block of at most so many features in which each set lies, ``(n_subsets,)``.

    The tables of a block are added up before any row is looked at, so that a row costs one look per block and target.
    Blocks are made for the sets that are in no other; the rest goes with one that contains it.
    """
    starts = family.starts
    inner = np.zeros(len(family), np.bool_)
    down = []  # (positions of sets, positions of their subsets of one feature less)
    for s in range(len(family.levels) - 1, 0, -1):
        for j in range(s):
            at = find_rows(family.levels[s - 1], np.delete(family.levels[s], j, axis=1))
            down.append((starts[s] + np.flatnonzero(at >= 0), starts[s - 1] + at[at >= 0]))
            inner[down[-1][1]] = True
    outer = np.flatnonzero(~inner)[::-1]  # the largest first
    set_starts, features = _flat(family)
    sizes = family.sizes[outer].astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    at = np.repeat(set_starts[outer] - ends[:-1], sizes) + np.arange(ends[-1])
    block_of = np.full(len(family), -1, np.int32)
    block_of[outer] = _kernels.blocks_of_sets(ends, features[at], family.d, largest)
    for larger, smaller in down:
        free = block_of[smaller] < 0
        block_of[smaller[free]] = block_of[larger[free]]
    return block_of


def _features_of_blocks(
    family: SubsetFamily, block_of: npt.NDArray[np.int32]
) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """Where the features of each block begin, and these, ascending in every block."""
    set_starts, features = _flat(family)
    keys = np.unique(np.repeat(block_of.astype(np.int64), np.diff(set_starts)) * family.d + features)
    n_blocks = int(block_of.max(initial=-1)) + 1
    return np.searchsorted(keys, np.arange(n_blocks + 1) * family.d), (keys % family.d).astype(np.int32)
