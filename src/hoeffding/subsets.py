"""Families of subsets of the features, in compressed form.

A family is kept by size: ``levels[s]`` is an ``(n_s, s)`` array whose rows are the sets of size s, each with its
features in increasing order, the rows in lexicographic order. So the sets are sorted by size, then lexicographically.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hoeffding.checks import as_order
from hoeffding.machine import require_memory

IndexArray = npt.NDArray[np.unsignedinteger]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

WORD = 64  # bits of the numbers that stand for sets while they are sorted and searched


def index_dtype(d: int) -> type[np.unsignedinteger]:
    """The smallest unsigned integer that holds a feature index below ``d``."""
    return np.uint8 if d <= 2**8 else np.uint16 if d <= 2**16 else np.uint32


def as_subset(subset: Iterable[int], d: int) -> tuple[int, ...]:
    """Check a set of feature indices and return it sorted."""
    if not isinstance(subset, Iterable) or isinstance(subset, str):
        raise TypeError(f"subset={subset!r}: give a sequence of feature indices, such as [0, 2]")
    given = tuple(subset)
    for i in given:
        if isinstance(i, bool | np.bool_) or not isinstance(i, int | np.integer):
            raise TypeError(f"subset={given!r}: features are given by integer indices, not {type(i).__name__}")
        if not 0 <= i < d:
            raise IndexError(f"subset={given!r}: feature {i} is out of range, there are {d} features (0 to {d - 1})")
    if len(set(given)) < len(given):
        raise ValueError(f"subset={given!r}: a feature occurs twice")
    return tuple(sorted(int(i) for i in given))


@dataclass(frozen=True, eq=False, repr=False)
class SubsetFamily:
    """A family of subsets of ``{0, ..., d - 1}``, sorted by size and then lexicographically.

    Parameters
    ----------
    d : int
        Number of features.
    levels : tuple of arrays
        ``levels[s]`` has shape ``(n_s, s)``: the sets of size s. Use the constructors below to build one.

    Examples
    --------
    >>> family = SubsetFamily.up_to_order(3, 2)
    >>> list(family)
    [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]
    >>> family.index((0, 2)), (0, 1, 2) in family
    (5, False)
    """

    d: int
    levels: tuple[IndexArray, ...]

    # -- constructors ------------------------------------------------------------------------------------------

    @classmethod
    def up_to_order(cls, d: int, order: int) -> SubsetFamily:
        """All sets of at most ``order`` features."""
        order = as_order(order, d)
        levels: list[IndexArray] = [np.zeros((1, 0), index_dtype(d))]
        for _ in range(order):
            levels.append(_append_larger(levels[-1], d))
        return cls(d, tuple(levels))

    @classmethod
    def from_subsets(cls, d: int, subsets: Iterable[Iterable[int]]) -> SubsetFamily:
        """The family of the given sets; repeated sets are merged."""
        by_size: dict[int, set[tuple[int, ...]]] = {}
        for subset in subsets:
            s = as_subset(subset, d)
            by_size.setdefault(len(s), set()).add(s)
        top = max(by_size, default=-1)
        return cls(
            d,
            tuple(
                np.array(sorted(by_size.get(s, ())), index_dtype(d)).reshape(len(by_size.get(s, ())), s)
                for s in range(top + 1)
            ),
        )

    @classmethod
    def from_cube_mask(cls, mask: BoolArray) -> SubsetFamily:
        """The sets S whose indicator vector is marked in ``mask``, an array of shape ``(2,) * d``."""
        everything = cls.up_to_order(mask.ndim, mask.ndim)
        return everything.select(everything.take(mask.ravel()))

    # -- a sequence of tuples --------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return sum(len(level) for level in self.levels)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return chain.from_iterable(map(tuple, level.tolist()) for level in self.levels)

    def __getitem__(self, position: int) -> tuple[int, ...]:
        if isinstance(position, slice):
            raise TypeError("a family is not sliced; use select(mask), or list(family)[a:b]")
        size = int(np.searchsorted(self.starts, range(len(self))[position], side="right")) - 1
        return tuple(self.levels[size][range(len(self))[position] - self.starts[size]].tolist())

    def __contains__(self, subset: object) -> bool:
        try:
            return self._position(as_subset(subset, self.d)) >= 0  # type: ignore[arg-type]  # anything may be asked for
        except (TypeError, ValueError, IndexError):
            return False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SubsetFamily):
            return NotImplemented
        mine = [level for level in self.levels if len(level)]
        theirs = [level for level in other.levels if len(level)]
        return self.d == other.d and len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))

    def __hash__(self) -> int:
        return hash((self.d, len(self), self.order))

    def __repr__(self) -> str:
        return f"SubsetFamily({len(self)} subsets of {self.d} features, order {self.order})"

    # -- questions ---------------------------------------------------------------------------------------------------

    @property
    def order(self) -> int:
        """The size of the largest set (0 for an empty family)."""
        return max((s for s, level in enumerate(self.levels) if len(level)), default=0)

    @cached_property
    def starts(self) -> IntArray:
        """``starts[s]``: the position of the first set of size s; one entry more than there are levels."""
        return np.cumsum([0, *(len(level) for level in self.levels)])

    @cached_property
    def sizes(self) -> npt.NDArray[np.uint8]:
        """The size of every set, shape ``(n_subsets,)``."""
        return np.repeat(np.arange(len(self.levels), dtype=np.uint8), [len(level) for level in self.levels])

    def index(self, subset: Iterable[int]) -> int:
        """The position of a set; a KeyError says what the family holds if it is not there."""
        s = as_subset(subset, self.d)
        position = self._position(s)
        if position < 0:
            raise KeyError(f"subset={s!r} is not in the family of {len(self)} subsets (order at most {self.order})")
        return position

    def is_closed(self) -> bool:
        """Whether every subset of a set of the family is in the family."""
        return self.closure() == self

    def positions(self, level: IndexArray) -> IntArray:
        """The positions of sets of one size, shape ``(n_s, s)``, in the family; -1 where absent."""
        size = level.shape[1]
        if size >= len(self.levels):
            return np.full(len(level), -1)
        at = find_rows(self.levels[size], level)
        return np.where(at < 0, -1, self.starts[size] + at)

    @cached_property
    def subset_positions(self) -> tuple[IntArray, ...]:
        """Where the subsets of every set are, for a closed family: one array ``(n_s, 2**s)`` for each size s.

        Entry z of a row is the position of the subset that the bits of z select, the first feature with the highest.
        """
        out = [np.zeros((len(self.levels[0]), 1), np.int64)]
        for s, level in enumerate(self.levels[1:], start=1):
            at = np.empty((len(level), 2**s), np.int64)
            for j in range(s):  # the subsets with all features before the j-th, but not the j-th
                dropped = find_rows(self.levels[s - 1], np.delete(level, j, axis=1))
                if len(dropped) and dropped.min() < 0:
                    raise ValueError("the family is not closed: a subset of one of its sets is missing")
                width = 2 ** (s - 1 - j)
                at[:, 2**s - 2 * width : 2**s - width] = out[s - 1][dropped, 2 ** (s - 1) - width :][:, :width]
            at[:, -1] = self.starts[s] + np.arange(len(level))
            out.append(at)
        return tuple(out)

    def _position(self, s: tuple[int, ...]) -> int:
        if len(s) >= len(self.levels):
            return -1
        found = int(find_rows(self.levels[len(s)], np.array([s], self.levels[len(s)].dtype).reshape(1, -1))[0])
        return found if found < 0 else int(self.starts[len(s)]) + found

    # -- other families ----------------------------------------------------------------------------------------------

    def select(self, mask: BoolArray) -> SubsetFamily:
        """The sets marked in ``mask``, shape ``(n_subsets,)``."""
        parts = [level[mask[a:b]] for level, a, b in self._runs()]
        while parts and len(parts[-1]) == 0:
            parts.pop()
        return SubsetFamily(self.d, tuple(parts))

    def closure(self) -> SubsetFamily:
        """The family with all subsets of its sets."""
        levels = list(self.levels)
        for s in range(len(levels) - 1, 0, -1):
            below = [levels[s - 1], *(np.delete(levels[s], c, axis=1) for c in range(s))]
            levels[s - 1] = unique_rows(np.concatenate(below))
        return SubsetFamily(self.d, tuple(levels))

    # -- arrays over the cube --------------------------------------------------------------------------------------
    # An array over all subsets of the features has a last axis of length 2^d: the set S sits at the flat index of its
    # indicator vector in a cube of shape (2,) * d.

    def cube_index(self) -> IntArray:
        """The flat index of each set's indicator vector in a cube of shape ``(2,) * d``, shape ``(n_subsets,)``."""
        return np.concatenate([np.zeros(0, np.int64), *(self._level_index(level) for level in self.levels)])

    def take(self, cube: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """The entries of an array over the cube, shape ``(..., 2**d)``, at the sets: ``(..., n_subsets)``."""
        out = np.empty((*cube.shape[:-1], len(self)), cube.dtype)
        for level, a, b in self._runs():  # by level, so that no index of all sets is needed
            out[..., a:b] = cube[..., self._level_index(level)]
        return out

    def put(self, entries: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """The inverse of :meth:`take`, with zeros where the family has no set."""
        cube = np.zeros((*entries.shape[:-1], 2**self.d), entries.dtype)
        for level, a, b in self._runs():
            cube[..., self._level_index(level)] = entries[..., a:b]
        return cube

    def _runs(self) -> Iterator[tuple[IndexArray, int, int]]:
        return zip(self.levels, self.starts.tolist(), self.starts.tolist()[1:], strict=False)

    def _level_index(self, level: IndexArray) -> IntArray:
        out = np.zeros(len(level), np.int64)
        for column in level.T:
            out |= np.int64(1) << (self.d - 1 - column.astype(np.int64))
        return out


def find_rows(level: IndexArray, rows: IndexArray) -> IntArray:
    """Positions of the given sets in a sorted level of sets of the same size, -1 where absent."""
    if rows.shape[1] == 0 or len(level) == 0 or len(rows) == 0:
        return np.full(len(rows), 0 if len(level) else -1)
    largest = max(int(level.max()), int(rows.max()))
    keys, wanted = _keys(level, largest), _keys(rows, largest)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


def unique_rows(rows: IndexArray) -> IndexArray:
    """The different sets among the rows, which are all of one size, in lexicographic order."""
    if rows.shape[1] == 0 or len(rows) == 0:
        return rows[:1]
    return rows[np.unique(_keys(rows, int(rows.max())), return_index=True)[1]]


def _append_larger(level: IndexArray, d: int) -> IndexArray:
    """All sets of the next size that begin with a set of ``level``, in lexicographic order."""
    last = level[:, -1].astype(np.int64) if level.shape[1] else np.full(len(level), -1)
    counts = d - 1 - last
    first_of_run = np.cumsum(counts) - counts
    new = np.arange(counts.sum()) - np.repeat(first_of_run - last - 1, counts)
    out = np.empty((len(new), level.shape[1] + 1), level.dtype)
    out[:, :-1] = np.repeat(level, counts, axis=0)
    out[:, -1] = new
    return out


def _keys(rows: IndexArray, largest: int) -> npt.NDArray[Any]:
    """One number a row (or a byte string, if a number would be too long), which sorts as the row does."""
    bits = max(largest.bit_length(), 1)
    if bits * rows.shape[1] > WORD:
        big_endian = rows.astype(rows.dtype.newbyteorder(">"), order="C")
        return big_endian.view(f"S{rows.dtype.itemsize * rows.shape[1]}").ravel()
    keys = rows[:, 0].astype(np.uint64)
    for column in rows.T[1:]:
        keys = (keys << np.uint64(bits)) | column
    return keys


def grow_candidates(level: IndexArray) -> IndexArray:
    """The sets one larger than those of ``level`` all of whose subsets of that size are in ``level``.

    Two sets that differ in the last feature only are joined; the other subsets are then looked up.
    """
    n, s = level.shape
    if n == 0:
        return np.zeros((0, s + 1), level.dtype)
    same = (level[1:, :-1] == level[:-1, :-1]).all(axis=1)  # same first s - 1 features as the row before
    group_end = np.append(np.flatnonzero(~same) + 1, n)
    end = group_end[np.searchsorted(group_end, np.arange(n), side="right")]
    counts = end - np.arange(n) - 1
    require_memory(
        float(counts.sum()) * (s + 1 + 4 * 8),
        f"the candidates for shattered sets of {s + 1} features",
        "ask for shattered(order) of a smaller order",
    )
    left = np.repeat(np.arange(n), counts)
    right = left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    joined = np.concatenate([level[left], level[right, -1:]], axis=1)
    alive = np.ones(len(joined), np.bool_)
    for c in range(s - 1):
        alive[alive] = find_rows(level, np.delete(joined[alive], c, axis=1)) >= 0
    return joined[alive]


def order_shattered(support: npt.NDArray[np.bool_], *, reverse: bool = False) -> npt.NDArray[np.bool_]:
    """The sets whose parities :func:`hoeffding._kernels.extend` uses, of a support ``(2**d,)``: a mask of sets, alike.

    They are as many as points, all of them shattered. Which ones depends on the order in which the features are taken,
    unless the support is extremal.
    """
    d = len(support).bit_length() - 1
    sets = support.reshape((2,) * d)
    for axis in range(d)[:: -1 if reverse else 1]:
        x0, x1 = np.take(sets, 0, axis), np.take(sets, 1, axis)
        sets = np.stack([x0 | x1, x0 & x1], axis)
    return sets.ravel()
