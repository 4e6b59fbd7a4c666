r"""Moments: the sums over rows that a regression of low order needs, and nothing else of the data.

For every set T of bits let :math:`z_T(x) = \prod_{i \in T} x_i`. The moments up to order k are :math:`\sum w z_T` for
all sets of at most 2k bits that occur (counts, exact integers unless the weights are real), :math:`\sum w y z_T` for
sets of at most k bits, :math:`\sum w y^2` and :math:`\sum w`. They are sums over rows: chunks are added, and taken
away again.

Internally the bits are recoded so that a one is the rarer value (``flip`` says which): rows become sparse and few sets
occur. Counts and sums over the *cells* of :math:`X_S` follow by inclusion and exclusion. Chunks that were counted apart
may have chosen differently; :meth:`Moments.merge` adds them all the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels, packed
from hoeffding.bits import BitMatrix
from hoeffding.checks import as_order, as_real, as_weights
from hoeffding.machine import hands
from hoeffding.measure import Measure
from hoeffding.recoding import invert
from hoeffding.subsets import IndexArray, SubsetFamily, find_rows, index_dtype, unique_rows

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

KIND, VERSION = "moments", 1  # of their bytes
ROUNDING = 16 * np.finfo(float).eps  # of a sum of real weights, in units of the sum of all


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Sums over rows, in the recoded bits. Build with :meth:`from_chunk`; add and subtract.

    Attributes
    ----------
    order : int
        k, the largest size of a set whose product with the target is summed.
    count_order : int
        The largest size of a set that is counted, usually 2k.
    sets : SubsetFamily
        The sets of at most ``count_order`` recoded bits that are all one in some row, ``()`` first.
    counts : (n_sets,) int64
        Sums of integer weights; numbers of rows if the weights are real.
    weights : (n_sets,) float64 or None
        Sums of real weights.
    targets : (n_low, m) float64
        Sums of weight times ``y - offset`` for the sets of at most k bits, which come first in ``sets``.
    squares : (m,) float64
        Sums of weight times ``(y - offset)^2``.
    offset : (m,) float64
        Near the mean of y, so that no digits are lost; the same for all chunks of a sum.
    flip : (d,) bool
        The bits that are inverted.
    only : SubsetFamily or None
        The sets that were counted, if not all of at most ``count_order`` bits.
    """

    order: int
    count_order: int
    sets: SubsetFamily
    counts: IntArray
    weights: FloatArray | None
    targets: FloatArray
    squares: FloatArray
    offset: FloatArray
    flip: BoolArray
    only: SubsetFamily | None = None

    @classmethod
    def from_chunk(
        cls,
        X: Any,
        y: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        order: int = 2,
        like: Moments | None = None,
        count_order: int | None = None,
        n_jobs: int = -1,
    ) -> Moments:
        """Sum over the rows of one chunk.

        Parameters
        ----------
        X : BitMatrix, array, data frame or scipy sparse matrix, shape (n, d)
        y : array-like, shape (n,) or (n, m)
        sample_weight : array-like, shape (n,), optional
            Integers (of any dtype) are summed exactly.
        order : int
            k; the counts go up to 2k.
        like : Moments, optional
            The moments this chunk will be added to; gives orders, recoding and offset.
        count_order : int, optional
            Count sets of at most so many bits; by default 2k, which a Gram matrix of sets of k needs.
        """
        if like is not None and like.only is not None:
            raise ValueError("like: holds the moments of a family only; build its chunks with Moments.of_family")
        chunk = _Chunk.read(X, y, sample_weight)
        d = chunk.bits.n_features
        k = as_order(order, d) if like is None else like.order
        largest = min(2 * k if count_order is None else count_order, d) if like is None else like.count_order
        return cls._sum(chunk, like, k, largest, None, n_jobs)

    @classmethod
    def of_family(
        cls,
        X: Any,
        family: SubsetFamily,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        like: Moments | None = None,
        n_jobs: int = -1,
    ) -> Moments:
        """Sum over the rows of one chunk, for the sets of a closed family only.

        Without ``y`` this is counting: what the marginals of these sets need, whatever their size. Use it where the
        family is known before the data are, as with the sets of features on the paths of decision trees:
        ``Counted(Moments.of_family(X, family)).marginals(family.levels[s])`` are all pmfs of the sets of size s.

        Parameters
        ----------
        X : BitMatrix, array, data frame or scipy sparse matrix, shape (n, d)
        family : SubsetFamily
            Closed: every subset of its sets is in it.
        y : array-like, shape (n,) or (n, m), optional
            By default there are no targets (m = 0).
        sample_weight : array-like, shape (n,), optional
            Integers (of any dtype) are summed exactly.
        like : Moments, optional
            Moments of the same rows, or those this chunk will be added to; gives recoding and offset.

        Examples
        --------
        >>> from hoeffding import Moments, SubsetFamily
        >>> family = SubsetFamily.from_subsets(3, [(0, 2)]).closure()
        >>> moments = Moments.of_family([[0, 1, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]], family)
        >>> moments.cell_masses(family.levels[2])
        array([[0.25, 0.25, 0.25, 0.25]])
        """
        chunk = _Chunk.read(X, y, sample_weight)
        if family.d != chunk.bits.n_features:
            raise ValueError(f"family: of {family.d} features, but X has {chunk.bits.n_features}")
        if len(family) == 0:
            raise ValueError("family: is empty; it must hold at least the empty set")
        _ = family.subset_positions  # refuses a family that is not closed
        return cls._sum(chunk, like, family.order, family.order, family, n_jobs)

    @classmethod
    def _sum(
        cls, chunk: _Chunk, like: Moments | None, k: int, largest: int, only: SubsetFamily | None, n_jobs: int
    ) -> Moments:
        bits, targets, w = chunk.bits, chunk.targets, chunk.weights
        n, d = bits.n_rows, bits.n_features
        if like is not None and (len(like.flip) != d or len(like.offset) != targets.shape[1]):
            raise ValueError("like: has another number of features or targets than this chunk")
        real = w is not None and not np.array_equal(w, np.floor(w))
        planes = None if w is None or real else _bit_planes(w.astype(np.int64))
        if like is None:
            flip, offset = _often_one(bits, planes), np.zeros(targets.shape[1])
            if targets.size:
                offset = np.average(targets, axis=0, weights=w)
        else:
            flip, offset = like.flip, like.offset
        centred = targets - offset
        weighted = centred if w is None else centred * w[:, None]
        columns = bits.recoded(flip).columns
        n_sets = [comb(d, s) for s in range(largest + 1)] if only is None else [len(level) for level in only.levels]
        passes = 1 + (0 if planes is None else len(planes))
        steps = sum(n_sets) * passes * columns.shape[1] + sum(n_sets[: k + 1]) * targets.size
        sums = _kernels.sum_over_sets(
            columns,
            n,
            planes,
            w if real else None,
            np.ascontiguousarray(weighted.T),
            largest,
            k,
            hands(n_jobs, steps),
            None if only is None else [np.ascontiguousarray(level, np.int32) for level in only.levels],
        )
        dtype = index_dtype(d)
        levels: list[IndexArray] = [np.zeros((1, 0), dtype), *(s.astype(dtype) for s, *_ in sums)]
        total = n if w is None or real else int(w.sum())
        return cls(
            order=k,
            count_order=largest,
            sets=SubsetFamily(d, tuple(levels)),
            counts=np.concatenate([[total], *(c for _, c, _, _ in sums)]),
            weights=np.concatenate([[w.sum()], *(v for _, _, v, _ in sums)]) if w is not None and real else None,
            targets=np.concatenate([weighted.sum(axis=0)[None], *(t for *_, t in sums)]),
            squares=(weighted * centred).sum(axis=0),
            offset=offset,
            flip=flip,
            only=only,
        )

    # -- sums ---------------------------------------------------------------------------------------------------------

    def __add__(self, other: Moments) -> Moments:
        return self._combine(other, 1)

    def __sub__(self, other: Moments) -> Moments:
        return self._combine(other, -1)

    @classmethod
    def merge(cls, parts: Iterable[Moments]) -> Moments:
        """The sum of moments that were counted apart, whatever recoding and offset each of them chose.

        Counts are exact: the result is that of all rows at once, but for the rounding of sums of targets.

        Parameters
        ----------
        parts : iterable of Moments
            Of the same orders (and family). They are taken one at a time.

        Examples
        --------
        >>> from hoeffding import Moments
        >>> a = Moments.from_chunk([[0, 1], [0, 1], [1, 1]], [1.0, 2.0, 3.0])
        >>> b = Moments.from_chunk([[0, 0], [0, 0], [0, 1], [1, 0]], [4.0, 5.0, 6.0, 7.0])
        >>> Moments.merge([a, b])
        Moments(7 rows of 2 bits, order 2, 4 sets occur, 1 targets)
        """
        total: Moments | None = None
        for part in parts:
            if total is None:
                total = part
            elif len(part.flip) != len(total.flip) or len(part.offset) != len(total.offset):
                raise ValueError(
                    f"parts: moments of {len(total.flip)} features and {len(total.offset)} targets, and of "
                    f"{len(part.flip)} and {len(part.offset)}; all chunks must have the same"
                )
            else:
                total = total + part.recoded(total.flip)._moved(total.offset)
        if total is None:
            raise ValueError("parts: there are none")
        return total.recoded()

    def recoded(self, flip: BoolArray | None = None) -> Moments:
        """The same sums with other bits inverted, ``flip`` of shape ``(d,)``; by default so that ones are rare."""
        if flip is None:
            ones, n = np.where(self.flip, self.counts[0], 0), self.counts[0]
            for level in self.sets.levels[1:2]:
                at, count = level[:, 0], self.counts[self.sets.starts[1] : self.sets.starts[2]]
                ones[at] = np.where(self.flip[at], n - count, count)
            flip = 2 * ones > n
        out = self
        for bit in np.flatnonzero(flip != self.flip).tolist():
            out = out._inverted(bit)
        return out

    def _inverted(self, bit: int) -> Moments:
        new = invert(self.sets, bit, self.count_order, self.only)
        n_low = int(new.sets.starts[min(self.order + 1, len(new.sets.levels))])
        counts = new.apply(self.counts, len(new.sets))
        flip = self.flip.copy()
        flip[bit] = not flip[bit]
        return replace(
            self,
            sets=new.sets,
            counts=counts,
            weights=None if self.weights is None else new.apply(self.weights, len(counts)),
            targets=new.apply(self.targets, n_low),
            flip=flip,
        )._of_sets_that_occur()

    def centred(self) -> Moments:
        """The same sums, with the mean of the targets as offset."""
        return self._moved(self.offset + self.targets[0] / self.total)

    def _moved(self, offset: FloatArray) -> Moments:
        """The same sums of targets minus another offset."""
        if np.array_equal(offset, self.offset):
            return self
        shift = self.offset - offset
        squares = self.squares + 2 * shift * self.targets[0] + shift**2 * self.total
        targets = self.targets + self.masses[: len(self.targets), None] * shift
        return replace(self, targets=targets, squares=squares, offset=offset.copy())

    def _combine(self, other: Moments, sign: int) -> Moments:
        self._refuse_unlike(other)
        if (self.weights is None) != (other.weights is None):
            mine, theirs = (replace(m, weights=m.masses) for m in (self, other))
            return mine._combine(theirs, sign)
        if sign > 0 and self.sets == other.sets:  # as with most chunks of a long stream
            both = None if self.weights is None else self.weights + other.masses
            counts, squares = self.counts + other.counts, self.squares + other.squares
            return replace(self, counts=counts, weights=both, targets=self.targets + other.targets, squares=squares)
        n_levels = max(len(self.sets.levels), len(other.sets.levels))
        levels, at_mine, at_theirs, start = [], [], [], 0
        for s in range(n_levels):
            mine_s, theirs_s = (m.sets.levels[s] if s < len(m.sets.levels) else None for m in (self, other))
            known = [a for a in (mine_s, theirs_s) if a is not None]
            level = unique_rows(np.concatenate(known))
            levels.append(level)
            if mine_s is not None:
                at_mine.append(start + find_rows(level, mine_s))
            if theirs_s is not None:
                at_theirs.append(start + find_rows(level, theirs_s))
            start += len(level)
        mine_at, theirs_at = np.concatenate(at_mine), np.concatenate(at_theirs)
        n_low = sum(len(level) for level in levels[: self.order + 1])

        def added(a: npt.NDArray[Any], b: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
            out = np.zeros((n, *a.shape[1:]), a.dtype)
            out[mine_at[: len(a)]] = a
            out[theirs_at[: len(b)]] += sign * b
            return out

        sets = SubsetFamily(self.sets.d, tuple(levels))
        counts = added(self.counts, other.counts, start)
        if (counts < 0).any():
            raise ValueError("the moments taken away are not part of the others: a count becomes negative")
        weights = None
        if self.weights is not None and other.weights is not None:
            weights = added(self.weights, other.weights, start)
        targets = added(self.targets, other.targets, n_low)
        squares = self.squares + sign * other.squares
        out = replace(self, sets=sets, counts=counts, weights=weights, targets=targets, squares=squares)
        return out._of_sets_that_occur()

    def _refuse_unlike(self, other: Moments) -> None:
        same = (self.order, self.count_order) == (other.order, other.count_order)
        same = same and np.array_equal(self.flip, other.flip)
        if not (same and np.array_equal(self.offset, other.offset)):
            raise ValueError(
                "moments of another order, recoding or offset; build the chunks with like= the first one, or add them "
                "with Moments.merge, which needs the same order only"
            )
        if self.only != other.only:
            raise ValueError("moments of another family of sets; build all chunks with of_family and the same family")

    def _of_sets_that_occur(self) -> Moments:
        alive = self.counts > 0
        alive[0] = True
        return replace(
            self,
            sets=self.sets.select(alive),
            counts=self.counts[alive],
            weights=None if self.weights is None else self.weights[alive],
            targets=self.targets[alive[: len(self.targets)]],
        )

    def nothing(self) -> Moments:
        """The moments of no rows in this recoding and with this offset: what is sent where chunks are counted."""
        return replace(
            self,
            sets=SubsetFamily(self.n_features, self.sets.levels[:1]),
            counts=np.zeros(1, np.int64),
            weights=None,
            targets=np.zeros((1, len(self.offset))),
            squares=np.zeros_like(self.squares),
        )

    def of_features(self, kept: npt.NDArray[np.intp]) -> Moments:
        """The moments of some of the features, in increasing order, as if there were no others."""
        if self.only is not None:
            raise ValueError("kept: moments of a family of sets are not those of fewer features")
        new = np.full(self.n_features, -1)
        new[kept] = np.arange(len(kept))
        there = np.concatenate([(new[level] >= 0).all(axis=1) for level in self.sets.levels])
        sets = self.sets.select(there)
        levels = tuple(new[level].astype(index_dtype(len(kept))) for level in sets.levels)
        order, largest = min(self.order, len(kept)), min(self.count_order, len(kept))
        low = there[: len(self.targets)]
        return replace(
            self,
            order=order,
            count_order=largest,
            sets=SubsetFamily(len(kept), levels[: largest + 1]),
            counts=self.counts[there],
            weights=None if self.weights is None else self.weights[there],
            targets=self.targets[low],
            flip=self.flip[kept],
        )

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        arrays = [self.counts, self.targets, *self.sets.levels]
        return sum(a.nbytes for a in arrays) + (0 if self.weights is None else self.weights.nbytes)

    # -- bytes --------------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """All sums as bytes, with a version and a checksum, for files and other machines."""
        facts = {"d": self.n_features, "order": self.order, "count_order": self.count_order}
        arrays: dict[str, npt.NDArray[Any]] = {"counts": self.counts, "targets": self.targets}
        arrays |= {"squares": self.squares, "offset": self.offset, "flip": self.flip}
        if self.weights is not None:
            arrays["weights"] = self.weights
        families = {"sets": self.sets, "only": self.only}
        for name, family in families.items():
            facts[name] = -1 if family is None else len(family.levels)
            levels = () if family is None else family.levels
            arrays |= {f"{name}_{s}": level.astype(index_dtype(self.n_features)) for s, level in enumerate(levels)}
        return packed.to_bytes(KIND, VERSION, facts, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of :meth:`to_bytes`; bytes that are damaged or of something else are a ValueError.

        Examples
        --------
        >>> from hoeffding import Moments
        >>> moments = Moments.from_chunk([[0, 1], [1, 1]], [1.0, 2.0])
        >>> Moments.merge([moments, Moments.from_bytes(moments.to_bytes())])
        Moments(4 rows of 2 bits, order 2, 2 sets occur, 1 targets)
        """
        facts, arrays = packed.from_bytes(KIND, VERSION, data)

        def family(name: str) -> SubsetFamily:
            return SubsetFamily(facts["d"], tuple(arrays[f"{name}_{s}"] for s in range(facts[name])))

        try:
            return cls(
                order=facts["order"],
                count_order=facts["count_order"],
                sets=family("sets"),
                only=None if facts["only"] < 0 else family("only"),
                weights=arrays.get("weights"),
                **{name: arrays[name] for name in ("counts", "targets", "squares", "offset", "flip")},
            )
        except KeyError as error:
            raise ValueError(f"data: not complete, {error} is missing") from None

    # -- cells --------------------------------------------------------------------------------------------------------

    @property
    def masses(self) -> FloatArray:
        """The weight of every set, as float64, shape ``(n_sets,)``."""
        return np.asarray(self.counts, np.float64) if self.weights is None else self.weights

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.masses[0])

    @property
    def n_features(self) -> int:
        return self.sets.d

    @cached_property
    def low(self) -> SubsetFamily:
        """The sets of at most k bits that occur."""
        return SubsetFamily(self.sets.d, self.sets.levels[: self.order + 1])

    def over_cells(self, level: IndexArray, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Sums over the cells of recoded bits, for sets of one size.

        Parameters
        ----------
        level : (n_s, s) sets
        values : (n_sets, ...) sums over the rows where all bits of a set are one, such as ``counts``

        Returns
        -------
        (n_s, 2**s, ...): the cell with bits (b_0, ..., b_{s-1}) at index b_0 ... b_{s-1} in binary
        """
        return _to_cells(values, self._subsets_of(level))

    def over_cells_of(self, family: SubsetFamily, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """The same for every size of a closed family of sets of at most k bits: faster than one size at a time."""
        at = self.positions(family)
        return [_to_cells(values, at[positions]) for positions in family.subset_positions]

    def positions(self, family: SubsetFamily) -> IntArray:
        """Where the sets of a family, of at most k bits, are in ``sets``, shape ``(n_subsets,)``; -1 where absent."""
        if family is self.low:
            return np.arange(len(family))
        return np.concatenate([self.low.positions(level) for level in family.levels])

    def _subsets_of(self, level: IndexArray) -> IntArray:
        """Where the subsets of sets of one size are in ``sets``, shape ``(n_s, 2**s)``; -1 where they never occur."""
        size = level.shape[1]
        if len(level) and size > self.count_order:
            subset = tuple(level[0].tolist())
            raise ValueError(f"subset={subset}: only sets of up to {self.count_order} features were counted")
        if self.only is None:
            columns = [
                self.sets.positions(level[:, [j for j in range(size) if mask >> (size - 1 - j) & 1]])
                for mask in range(2**size)
            ]
            return np.stack(columns, axis=1)
        at = self.only.positions(level)
        if len(at) and at.min() < 0:
            raise ValueError(f"subset={tuple(level[at.argmin()].tolist())}: only the sets of the family were counted")
        return np.asarray(self._in_sets[self.only.subset_positions[size][at - self.only.starts[size]]])

    @cached_property
    def _in_sets(self) -> IntArray:
        """The position in ``sets`` of every set of ``only``, -1 where it never occurs."""
        assert self.only is not None
        return np.concatenate([self.sets.positions(level) for level in self.only.levels])

    @cached_property
    def constant(self) -> npt.NDArray[np.intp]:
        """The features that have the same value in all rows, shape ``(n_constant,)``."""
        ones = np.zeros(self.n_features, np.int64)
        if len(self.sets.levels) > 1:
            ones[self.sets.levels[1][:, 0]] = self.counts[self.sets.starts[1] : self.sets.starts[2]]
        return np.flatnonzero((ones == 0) | (ones == self.counts[0]))

    def targets_of(self, family: SubsetFamily) -> FloatArray:
        """Sums of weighted targets of sets of at most k bits, ``(n_subsets, m)``; zero if a set does not occur."""
        at = self.positions(family)
        return np.where((at >= 0)[:, None], self.targets[at], 0.0)

    def cell_masses(self, level: IndexArray) -> FloatArray:
        """The probabilities of the cells, exactly zero where no row is, shape ``(n_s, 2**s)``."""
        counts = self.over_cells(level, self.counts)
        return self._shares(counts, None if self.weights is None else self.over_cells(level, self.weights))

    def cell_masses_of(self, family: SubsetFamily) -> list[FloatArray]:
        """The same for every size of a closed family of sets of at most k bits."""
        counts = self.over_cells_of(family, self.counts)
        if self.weights is None:
            return [self._shares(c, None) for c in counts]
        return [self._shares(c, w) for c, w in zip(counts, self.over_cells_of(family, self.weights), strict=True)]

    def _shares(self, counts: IntArray, weights: FloatArray | None) -> FloatArray:
        if weights is None:
            return np.asarray(counts / self.total)
        shares, observed = weights / self.total, counts > 0
        lowest = float(shares[observed].min(initial=1.0))
        if lowest <= ROUNDING * counts.shape[1]:
            raise ValueError(
                f"sample_weight: some combination of values has {lowest:.0e} of all weight, less than sums of real "
                f"weights resolve; scale and round the weights to integers, which are summed exactly"
            )
        return np.where(observed, shares, 0.0)

    def shattered(self, order: int, min_count: int = 1) -> SubsetFamily:
        """The sets of at most ``order`` features, each cell of which has ``min_count`` rows."""
        levels = [self.sets.levels[0]]  # the empty set, with the mean, is always there
        occurring = self.low if order == self.order else SubsetFamily(self.n_features, self.sets.levels[: order + 1])
        for level, positions in zip(occurring.levels[1:], occurring.subset_positions[1:], strict=True):
            levels.append(level[(_to_cells(self.counts, positions) >= min_count).all(axis=1)])
        while len(levels) > 1 and len(levels[-1]) == 0:
            levels.pop()
        if list(map(len, levels)) == list(map(len, occurring.levels)):
            return occurring  # which knows where its subsets are
        return SubsetFamily(self.n_features, tuple(levels))

    def flips_of_cells(self, level: IndexArray) -> IntArray:
        """For each set the number whose bits say which of its features are inverted, shape ``(n_s,)``.

        The cell z of the features is the cell ``z ^ number`` of the recoded bits.
        """
        out = np.zeros(len(level), np.int64)
        for column in level.T:
            out = 2 * out + self.flip[column]
        return out

    def __repr__(self) -> str:
        return (
            f"Moments({int(self.counts[0])} rows of {self.n_features} bits, order {self.order}, "
            f"{len(self.sets)} sets occur, {len(self.offset)} targets)"
        )


class Counted(Measure):
    """The distribution of rows known through their :class:`Moments`: marginals of up to 2k features.

    Attributes
    ----------
    moments : Moments
    """

    def __init__(self, moments: Moments, *, distinct: bool = False) -> None:
        self.moments = moments
        self.d = moments.n_features
        self.distinct = distinct

    def _marginals(self, level: IndexArray) -> FloatArray:
        p = self.moments.cell_masses(level)
        at = np.arange(p.shape[1]) ^ self.moments.flips_of_cells(level)[:, None]
        return np.asarray(np.take_along_axis(p, at, axis=1))

    def _marginal(self, s: tuple[int, ...]) -> FloatArray:
        return self._marginals(np.array([s], index_dtype(self.d)).reshape(1, len(s))).reshape((2,) * len(s))

    def _sample(self, n: int, rng: np.random.Generator) -> Any:
        raise ValueError("this measure is known through counts only; sample from the rows themselves")

    def points(self) -> Any:
        raise ValueError("this measure is known through counts only; its points are the rows themselves")

    @property
    def n_points(self) -> int:
        raise ValueError("this measure is known through counts only; use Empirical(rows) to count its points")

    def shattered(self, order: int | None = None) -> SubsetFamily:
        k = self.moments.count_order if order is None else self._check_order(order)
        if k > self.moments.count_order:
            raise ValueError(f"order={order}: only sets of up to {self.moments.count_order} features were counted")
        return self.moments.shattered(k)

    def is_shattered(self, subset: Any) -> bool:
        return bool((self.marginal(subset) > 0).all())

    def count_shattered(self) -> int:
        raise ValueError("this measure is known through counts only; use Empirical(rows) to count all shattered sets")

    def __repr__(self) -> str:
        rows = "distinct rows of the same weight" if self.distinct else "rows"
        real = "" if self.moments.weights is None else ", real weights"
        counts = f"counts up to {self.moments.count_order} features"
        return f"Counted(d={self.d}, {int(self.moments.counts[0])} {rows}{real}, {counts})"


@dataclass(frozen=True, eq=False)
class _Chunk:
    """Checked rows, targets ``(n, m)`` and weights; rows of weight zero are left out."""

    bits: BitMatrix
    targets: FloatArray
    weights: FloatArray | None

    @classmethod
    def read(cls, X: Any, y: npt.ArrayLike | None, sample_weight: npt.ArrayLike | None) -> _Chunk:
        bits = X if isinstance(X, BitMatrix) else BitMatrix.from_rows(X)
        n = bits.n_rows
        targets = np.zeros((n, 0)) if y is None else as_real("y", y).reshape(len(np.asarray(y)), -1)
        if len(targets) != n:
            raise ValueError(f"y: expected one value per row, {n}, got {len(targets)}")
        if not np.isfinite(targets).all():
            raise ValueError("y: must be finite, got NaN or infinite values")
        w = None if sample_weight is None else as_weights("sample_weight", sample_weight, n)
        if w is None or w.all():
            return cls(bits, targets, w)
        return cls(bits.select(w > 0), targets[w > 0], w[w > 0])


def _to_cells(values: npt.NDArray[Any], at: IntArray) -> npt.NDArray[Any]:
    """Inclusion and exclusion: from sums over supersets, at positions ``(n_s, 2**s)``, to sums over cells."""
    n, cells = at.shape
    out = values[at]
    out[at < 0] = 0
    by_bit = out.reshape(n, *(2,) * (cells.bit_length() - 1), *values.shape[1:])
    for axis in range(1, cells.bit_length()):
        absent, present = np.moveaxis(by_bit, axis, 0)
        absent -= present
    return out


def _often_one(bits: BitMatrix, planes: npt.NDArray[np.uint64] | None) -> BoolArray:
    """The columns that are one in more than half of the rows, counted with integer weights, shape ``(d,)``."""
    if planes is None:
        return np.asarray(2 * bits.ones() > bits.n_rows)
    ones = [np.bitwise_count(bits.columns & plane).sum(axis=1, dtype=np.int64) << b for b, plane in enumerate(planes)]
    total = [int(np.bitwise_count(plane).sum()) << b for b, plane in enumerate(planes)]
    return np.asarray(2 * np.sum(ones, axis=0) > sum(total))


def _bit_planes(w: IntArray) -> npt.NDArray[np.uint64]:
    """Integer weights as bit-packed planes, shape ``(planes, words)``: plane b holds bit b of every weight."""
    planes = [(w >> b) & 1 for b in range(max(int(w.max()).bit_length(), 1))]
    return BitMatrix.from_rows(np.stack(planes, axis=1)).columns
