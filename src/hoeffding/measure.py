r"""Probability measures on :math:`\{0,1\}^d`, their marginals :math:`p_S`, and what their support allows.

A set S is *shattered* when :math:`X_S` takes all :math:`2^{|S|}` values. Only shattered sets carry a component of the
decomposition; their family is closed under taking subsets, and it has at least as many sets as the support has
points (Sauer, Shelah, Pajor). The decomposition is unique if and only if the two numbers are equal.

Arrays over the cube have shape ``(2,) * d``: axis i is feature i.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels
from hoeffding.bits import BitRows, as_bits, merge_rows, pack_columns
from hoeffding.checks import as_count, as_order, as_real, as_rng, as_weights, cube_hint
from hoeffding.machine import n_threads, readable_bytes, require_memory
from hoeffding.subsets import IndexArray, SubsetFamily, as_subset, grow_candidates, index_dtype, order_shattered

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

SMALLEST = 1e-300  # of positive probabilities: sums of 1/p must stay finite
SUM_TOLERANCE = 1e-12  # a sum of 2^d probabilities in double precision is better than this
MAX_WINDOW = 22  # features whose cells are looked at as a table
JUDGED_AT_ONCE = 2**14  # sets that may be shattered
MAX_ISING_FEATURES = 20
MAX_CUBE_FEATURES = 32  # of an array over the cube: 2^32 doubles are 32 GiB


class Measure(ABC):
    """A probability measure on ``{0,1}^d``."""

    d: int

    # -- probabilities --------------------------------------------------------------------------------------------

    def marginal(self, subset: Iterable[int]) -> FloatArray:
        """The pmf of ``X_S``, shape ``(2,) * |S|``: axis j is the j-th feature of S in increasing order."""
        s = as_subset(subset, self.d)
        if len(s) > MAX_CUBE_FEATURES:
            raise MemoryError(
                f"subset: the pmf of {len(s)} features has 2^{len(s)} entries and takes "
                f"{readable_bytes(8 * 2 ** len(s))}; ask for the marginal of fewer features"
            )
        require_memory(16.0 * 2 ** len(s), f"the pmf of {len(s)} features", "ask for the marginal of fewer features")
        return self._marginal(s)

    @abstractmethod
    def _marginal(self, s: tuple[int, ...]) -> FloatArray: ...

    def marginals(self, level: IndexArray) -> FloatArray:
        """The pmfs of ``X_S`` for many sets of one size, ``(n_s, s)``, as for a level of a family: ``(n_s, 2**s)``.

        The first feature of a set is the highest bit of a cell.
        """
        n_s, size = level.shape
        require_memory(8.0 * n_s * 2**size, f"the pmfs of {n_s} sets of {size} features", "ask for fewer sets")
        return self._marginals(level)

    def _marginals(self, level: IndexArray) -> FloatArray:
        out = np.empty((len(level), 2 ** level.shape[1]))
        for p_S, s in zip(out, map(tuple, level.tolist()), strict=True):
            p_S[:] = self._marginal(s).ravel()
        return out

    def sample(self, n: int, rng: np.random.Generator | int) -> BitRows:
        """Draw ``n`` independent rows, shape ``(n, d)``, uint8."""
        return self._sample(as_count("n", n), as_rng(rng))

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> BitRows: ...

    @abstractmethod
    def points(self) -> tuple[BitRows, FloatArray]:
        """The support: its rows in lexicographic order, shape ``(n_points, d)``, and their probabilities."""

    def pmf(self) -> FloatArray:
        """All probabilities, shape ``(2,) * d``."""
        check_cube("pmf()", self.d)
        return self.marginal(range(self.d))

    # -- support --------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def n_points(self) -> int:
        """The number of distinct points of the support."""

    @property
    def full_support(self) -> bool:
        """Whether every point of the cube has positive probability."""
        return bool(self.n_points == 2**self.d)

    def is_shattered(self, subset: Iterable[int]) -> bool:
        """Whether ``X_S`` takes all ``2^|S|`` values."""
        s = as_subset(subset, self.d)
        return 2 ** len(s) <= self.n_points and bool((self.marginal(s) > 0).all())

    @abstractmethod
    def shattered(self, order: int | None = None) -> SubsetFamily:
        """All shattered sets of at most ``order`` features (by default, of any size)."""

    @abstractmethod
    def count_shattered(self) -> int:
        """The number of shattered sets of any size."""

    @property
    def vc_dimension(self) -> int:
        """The size of the largest shattered set: no component has a higher order."""
        return self.shattered().order

    @property
    def is_unique(self) -> bool:
        """Whether every function on the support has only one decomposition (as many shattered sets as points)."""
        return self.count_shattered() == self.n_points

    # -- words ----------------------------------------------------------------------------------------------------

    def _describe(self) -> str:
        return ""

    def __repr__(self) -> str:
        points = "full support" if self.full_support else f"{self.n_points} of 2^{self.d} points"
        return f"{type(self).__name__}(d={self.d}, {self._describe()}{points})"

    def _check_order(self, order: int | None) -> int:
        return self.d if order is None else as_order(order, self.d)


# ---------------------------------------------------------------------------------------------------------------------


class Product(Measure):
    """Independent features.

    Parameters
    ----------
    probabilities : array-like, shape (d,)
        ``P(X_i = 1)`` for every feature. A feature with probability 0 or 1 is constant and in no shattered set.

    Examples
    --------
    >>> Product([0.5, 0.1, 1.0])
    Product(d=3, 4 of 2^3 points)
    >>> Product([0.5, 0.1]).marginal([1])
    array([0.9, 0.1])
    """

    def __init__(self, probabilities: npt.ArrayLike) -> None:
        p = as_real("probabilities", probabilities)
        if p.ndim != 1 or p.size == 0:
            raise ValueError(f"probabilities: expected one probability per feature, shape (d,), got shape {p.shape}")
        wrong = np.flatnonzero(~((p >= 0) & (p <= 1)))
        if wrong.size:
            raise ValueError(f"probabilities[{wrong[0]}]={p[wrong[0]]}: must lie between 0 and 1")
        self.probabilities = _read_only(p)
        self.d = len(p)

    @property
    def _free(self) -> npt.NDArray[np.intp]:
        return np.flatnonzero((self.probabilities > 0) & (self.probabilities < 1))

    def _marginal(self, s: tuple[int, ...]) -> FloatArray:
        out = np.ones(())
        for i in s:
            out = np.multiply.outer(out, [1 - self.probabilities[i], self.probabilities[i]])
        if np.count_nonzero(out >= SMALLEST) < 2 ** np.isin(s, self._free).sum():
            raise ValueError(
                f"probabilities: so close to 0 or 1 that the smallest probability of the features {s} is below "
                f"{SMALLEST}; make these features constant"
            )
        return out

    def is_shattered(self, subset: Iterable[int]) -> bool:
        return bool(np.isin(as_subset(subset, self.d), self._free).all())

    def _sample(self, n: int, rng: np.random.Generator) -> BitRows:
        return (rng.random((n, self.d)) < self.probabilities).astype(np.uint8)

    def points(self) -> tuple[BitRows, FloatArray]:
        return _points_of_pmf(self.pmf())

    @property
    def n_points(self) -> int:
        return int(2 ** len(self._free))

    def shattered(self, order: int | None = None) -> SubsetFamily:
        free = self._free
        order = min(self._check_order(order), len(free))
        count = sum(comb(len(free), s) for s in range(order + 1))
        require_memory(
            count * (order + 8),
            f"the list of all shattered sets of order up to {order} of {len(free)} features",
            "ask for a smaller order, or for count_shattered()",
        )
        chosen = SubsetFamily.up_to_order(max(len(free), order), order)
        dtype = index_dtype(self.d)
        return SubsetFamily(self.d, tuple(free[level].astype(dtype) for level in chosen.levels))

    def count_shattered(self) -> int:
        return self.n_points

    @property
    def vc_dimension(self) -> int:
        return len(self._free)


class Uniform(Product):
    """The uniform measure on the cube: independent fair bits. Its decomposition is the Walsh-Hadamard expansion.

    Examples
    --------
    >>> Uniform(10)
    Uniform(d=10, full support)
    """

    def __init__(self, d: int) -> None:
        require_memory(16.0 * as_count("d", d, least=1), f"a measure on {d} features", "use fewer features")
        super().__init__(np.full(int(d), 0.5))


# ---------------------------------------------------------------------------------------------------------------------


class Table(Measure):
    """Any measure, given by all its probabilities.

    Parameters
    ----------
    pmf : array-like, shape (2,) * d
        Axis i is feature i. Zero entries are allowed; they are off the support. The sum must be one.

    Examples
    --------
    >>> Table([[0.4, 0.1], [0.1, 0.4]])
    Table(d=2, full support)
    >>> half = Table([[0.5, 0.0], [0.0, 0.5]])
    >>> list(half.shattered()), half.is_unique
    ([(), (0,), (1,)], False)
    """

    def __init__(self, pmf: npt.ArrayLike) -> None:
        p = as_real("pmf", pmf)
        if p.ndim == 0 or p.shape != (2,) * p.ndim:
            hint = cube_hint(p.size) if p.ndim == 1 else ""
            raise ValueError(
                f"pmf: expected shape (2,) * d, one axis of length 2 per feature, got shape {p.shape}{hint}"
            )
        _check_probabilities("pmf", p)
        self._table = _read_only(p)
        self.d = p.ndim

    def pmf(self) -> FloatArray:
        return self._table

    def _marginal(self, s: tuple[int, ...]) -> FloatArray:
        away = tuple(i for i in range(self.d) if i not in s)
        return np.asarray(self._table.sum(axis=away) if away else self._table.copy())

    def _sample(self, n: int, rng: np.random.Generator) -> BitRows:
        rows, masses = self.points()
        return rows[_draw(masses, n, rng)]

    def points(self) -> tuple[BitRows, FloatArray]:
        return _points_of_pmf(self._table)

    @cached_property
    def n_points(self) -> int:
        return int(np.count_nonzero(self._table))

    @cached_property
    def _shattered_mask(self) -> BoolArray:
        """Whether each set is shattered, at its indicator vector, shape ``(2,) * d``."""
        if self.full_support:
            return np.ones((2,) * self.d, np.bool_)
        return _kernels.shattered_in_table((self._table > 0).ravel()).reshape(self._table.shape)

    def shattered(self, order: int | None = None) -> SubsetFamily:
        order = self._check_order(order)
        if self.full_support:
            return SubsetFamily.up_to_order(self.d, order)
        family = SubsetFamily.from_cube_mask(self._shattered_mask)
        return SubsetFamily(self.d, family.levels[: order + 1])

    def count_shattered(self) -> int:
        return int(np.count_nonzero(self._shattered_mask))


class Ising(Table):
    r"""A pairwise model of dependent bits, normalised exactly (d up to 20).

    :math:`p(x) \propto \exp(\sum_i h_i s_i + \sum_{i<j} J_{ij} s_i s_j)` with spins :math:`s_i = 2 x_i - 1`: a positive
    field makes :math:`X_i = 1` likelier, a positive coupling makes two features agree.

    Parameters
    ----------
    fields : array-like, shape (d,)
    couplings : array-like, shape (d, d)
        Symmetric with a zero diagonal; each pair counts once.

    Examples
    --------
    >>> Ising(fields=[0.0, 0.0], couplings=[[0.0, 0.5], [0.5, 0.0]]).pmf().round(3)
    array([[0.366, 0.134],
           [0.134, 0.366]])
    """

    def __init__(self, fields: npt.ArrayLike, couplings: npt.ArrayLike) -> None:
        h, J = as_real("fields", fields), as_real("couplings", couplings)
        d = h.size
        if h.ndim != 1 or d == 0:
            raise ValueError(f"fields: expected one field per feature, shape (d,), got shape {h.shape}")
        if d > MAX_ISING_FEATURES:
            raise ValueError(
                f"fields: {d} features; the exact normalisation sums 2^d terms and stops at d={MAX_ISING_FEATURES}. "
                f"Draw rows with a sampler of yours and use Empirical instead"
            )
        if J.shape != (d, d):
            raise ValueError(f"couplings: expected shape {(d, d)} for {d} fields, got shape {J.shape}")
        for name, a in (("fields", h), ("couplings", J)):
            if not np.isfinite(a).all():
                raise ValueError(f"{name}: must be finite, got NaN or infinite entries")
        wrong = np.argwhere((J != J.T) | ((J != 0) & np.eye(d, dtype=np.bool_)))
        if len(wrong):
            i, j = wrong[0].tolist()
            found = f"couplings[{i}, {j}]={J[i, j]}" + (f" and couplings[{j}, {i}]={J[j, i]}" if i != j else "")
            raise ValueError(f"{found}: must be symmetric with a zero diagonal; each pair counts once")
        self.fields, self.couplings = _read_only(h), _read_only(J)
        with np.errstate(over="ignore", invalid="ignore"):
            energy = _ising_energy(h, J)
            p = np.exp(energy - energy.max())
            p /= p.sum()
        if not (p >= SMALLEST).all():
            raise ValueError(
                f"fields, couplings: so strong that the smallest probability is below {SMALLEST}; "
                f"scale them down, or give the support you mean as a Table"
            )
        super().__init__(p)


def _ising_energy(h: FloatArray, J: FloatArray) -> FloatArray:
    d = len(h)
    energy = np.zeros((2,) * d)
    spins = [np.array([-1.0, 1.0]).reshape((1,) * i + (2,) + (1,) * (d - 1 - i)) for i in range(d)]
    for i in range(d):
        energy += h[i] * spins[i]
        for j in range(i):
            energy += J[i, j] * spins[i] * spins[j]
    return energy


# ---------------------------------------------------------------------------------------------------------------------


class Empirical(Measure):
    """The distribution of given rows.

    Parameters
    ----------
    rows : array-like, shape (n, d)
        Booleans, or numbers that are all 0 or 1. Equal rows are merged and their weights added.
    weights : array-like, shape (n,), optional
        Non-negative; by default every row weighs one. Rows of weight zero are not in the support.
    distinct : bool
        Give every distinct row the same mass, however often it occurs.
    n_jobs : int
        Threads for finding shattered sets; -1 means all cores.

    Attributes
    ----------
    rows : (n_points, d) uint8, the distinct rows in lexicographic order.
    weights : (n_points,) float64, their weights; they need not sum to one.

    Examples
    --------
    >>> measure = Empirical([[0, 0], [0, 1], [1, 0], [1, 0]])
    >>> measure
    Empirical(d=2, 4 rows, 3 of 2^2 points)
    >>> measure.marginal([0, 1])
    array([[0.25, 0.25],
           [0.5 , 0.  ]])
    >>> measure.is_unique
    True
    """

    def __init__(
        self, rows: npt.ArrayLike, weights: npt.ArrayLike | None = None, *, distinct: bool = False, n_jobs: int = -1
    ) -> None:
        if not isinstance(distinct, bool | np.bool_):
            raise TypeError(f"distinct={distinct!r}: must be True or False")
        bits = as_bits(rows, "rows")
        if bits.size == 0:
            raise ValueError(f"rows: expected at least one row and one feature, got shape {bits.shape}")
        if distinct and weights is not None:
            raise ValueError("weights: not possible with distinct=True, which gives all distinct rows the same mass")
        self.threads = n_threads(n_jobs)
        self.n_rows = len(bits)
        self.distinct = distinct
        self.weights: FloatArray
        if weights is None:
            self.rows, inverse = merge_rows(bits)
            counts = np.ones(len(self.rows)) if distinct else np.bincount(inverse)
            self.weights = np.asarray(counts, np.float64)
        else:
            w = as_weights("weights", weights, len(bits))
            self.rows, inverse = merge_rows(bits[w > 0])
            self.weights = np.asarray(np.bincount(inverse, w[w > 0]), np.float64)
        self.d = bits.shape[1]
        _read_only(self.rows)
        _read_only(self.weights)

    def _describe(self) -> str:
        return f"{self.n_rows} rows, {'distinct rows weigh the same, ' if self.distinct else ''}"

    @property
    def _masses(self) -> FloatArray:
        return np.asarray(self.weights / self.weights.sum())

    def _marginal(self, s: tuple[int, ...]) -> FloatArray:
        cell = np.zeros(len(self.rows), np.int64)
        for i in s:
            cell = 2 * cell + self.rows[:, i]
        sums = np.bincount(cell, self.weights, 2 ** len(s))
        return np.asarray(sums / self.weights.sum()).reshape((2,) * len(s))

    def _sample(self, n: int, rng: np.random.Generator) -> BitRows:
        return self.rows[_draw(self._masses, n, rng)]

    def points(self) -> tuple[BitRows, FloatArray]:
        return self.rows, self._masses

    @property
    def n_points(self) -> int:
        return len(self.rows)

    def shattered(self, order: int | None = None) -> SubsetFamily:
        if order is None or "_all_shattered" in self.__dict__:
            return SubsetFamily(self.d, self._all_shattered.levels[: self._check_order(order) + 1])
        return SubsetFamily(self.d, tuple(self._grow(self._check_order(order), None)))

    @cached_property
    def _all_shattered(self) -> SubsetFamily:
        return SubsetFamily(self.d, tuple(self._grow(self.d, None)))

    def count_shattered(self) -> int:
        return len(self._all_shattered)

    @cached_property
    def is_unique(self) -> bool:
        if self.full_support:
            return True
        if self._has_twins or self._depends_on_order:
            return False
        return sum(map(len, self._grow(self.d, self.n_points))) == self.n_points

    @property
    def _has_twins(self) -> bool:
        """Whether two bits are always equal, or always opposite: three shattered sets for two points, so not unique."""
        columns = pack_columns(self.rows ^ self.rows[0])
        columns = columns[columns.any(axis=1)]
        return len(np.unique(columns, axis=0)) < len(columns)

    @property
    def _depends_on_order(self) -> bool:
        """Whether some neighbouring features show that there are more shattered sets than points.

        In one order of the features as many sets as points are order-shattered; if others are in the opposite order,
        there are more. What holds for some features holds for all.
        """
        size = min(self.d, self.n_points.bit_length() + 1, MAX_WINDOW)
        for first in range(0, self.d, size):
            cell = np.zeros(self.n_points, np.int64)
            for column in self.rows[:, first : first + size].T:
                cell = 2 * cell + column
            seen = np.zeros(2 ** min(size, self.d - first), np.bool_)
            seen[cell] = True
            if not np.array_equal(order_shattered(seen), order_shattered(seen, reverse=True)):
                return True
        return False

    def _grow(self, order: int, stop_above: int | None) -> list[npt.NDArray[np.unsignedinteger]]:
        """The family level by level: a set is tried only if all its subsets are shattered.

        Stops early once there are more than ``stop_above`` sets.
        """
        columns = pack_columns(self.rows)
        levels: list[npt.NDArray[np.unsignedinteger]] = [np.zeros((1, 0), index_dtype(self.d))]
        total = 1
        for size in range(1, min(order, self.n_points.bit_length() - 1) + 1):
            if size == 1:
                candidates = np.arange(self.d, dtype=index_dtype(self.d))[:, None]
            else:
                candidates = grow_candidates(levels[-1])
            found = []
            for part in np.array_split(candidates, max(1, len(candidates) // JUDGED_AT_ONCE)):
                sets = np.ascontiguousarray(part, np.int64)
                found.append(part[_kernels.judge_candidates(columns, self.n_points, sets, self.threads)])
                total += len(found[-1])
                if stop_above is not None and total > stop_above:
                    break
            level = np.concatenate(found)
            if len(level) == 0:
                break
            levels.append(level)
            if stop_above is not None and total > stop_above:
                break
        return levels


# ---------------------------------------------------------------------------------------------------------------------


def check_cube(name: str, d: int) -> None:
    """Refuse arrays over cubes that are beyond any machine."""
    if d > MAX_CUBE_FEATURES:
        raise MemoryError(
            f"{name}: {d} features; an array over the cube has 2^{d} entries and takes {readable_bytes(8 * 2**d)}, the "
            f"limit is {MAX_CUBE_FEATURES} features; for a model of so many features pass it with rows of data to "
            f"decompose(model, X), or restrict the function to fewer features"
        )


def as_measure(pmf: Measure | npt.ArrayLike) -> Measure:
    """A measure as it is; an array as a :class:`Table`."""
    if pmf is None:
        raise TypeError("pmf=None: give a measure or an array of shape (2,) * d; Uniform(d) is the uniform measure")
    return pmf if isinstance(pmf, Measure) else Table(pmf)


def _check_probabilities(name: str, p: FloatArray) -> None:
    wrong = np.argwhere(~np.isfinite(p) | (p < 0))
    if len(wrong):
        cell = tuple(wrong[0].tolist())
        raise ValueError(f"{name}{list(cell)}={p[cell]}: probabilities must be finite and not negative")
    tiny = np.argwhere((p > 0) & (p < SMALLEST))
    if len(tiny):
        cell = tuple(tiny[0].tolist())
        raise ValueError(f"{name}{list(cell)}={p[cell]}: positive probabilities must be at least {SMALLEST}; use zero")
    excess = float(p.sum()) - 1.0
    if abs(excess) > SUM_TOLERANCE:
        if not p.any():
            raise ValueError(f"{name}: all probabilities are zero, there is no point left")
        raise ValueError(
            f"{name}: the probabilities sum to {1.0 + excess!r}, which is off one by {excess:.3g}; "
            f"if they are weights, pass {name} / {name}.sum() in float64"
        )


def _read_only(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
    a.flags.writeable = False
    return a


def _points_of_pmf(pmf: FloatArray) -> tuple[BitRows, FloatArray]:
    at = np.flatnonzero(pmf)
    require_memory(
        at.size * (pmf.ndim + 16.0), f"the list of {at.size} points on {pmf.ndim} features", "use marginals instead"
    )
    rows = np.empty((len(at), pmf.ndim), np.uint8)
    for i in range(pmf.ndim):
        rows[:, i] = at >> (pmf.ndim - 1 - i) & 1
    return rows, pmf.ravel()[at]


def _draw(masses: FloatArray, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """``n`` positions, each with the probability given by ``masses``."""
    cumulative = np.cumsum(masses)
    return np.asarray(np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right"))
