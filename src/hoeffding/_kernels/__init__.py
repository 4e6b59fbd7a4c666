"""The kernels: inner loops on plain arrays, native (C++) with a NumPy reference for each.

An *implementation* is ``"reference"`` (:mod:`hoeffding._kernels.reference`, which defines what a kernel means) or the
name of an instruction set compiled into the native module. The best native one is used unless the environment
variable ``HOEFFDING_ISA`` names another or :func:`using` selects one for a while.

Arrays are C-contiguous: m functions on the cube are ``(m, 2**d)`` float64, a measure is ``(2**d,)``. A set of
features is the flat index of its indicator vector in a cube of shape ``(2,) * d``. Nothing is checked here.

Kernels that may take long add the work they have done to ``done``, an array of one float64 that another thread may
watch; solve, synthesize and project come to ``3**d``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from hoeffding._kernels import _native, reference
from hoeffding._kernels.reference import Tables

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
SetSums = tuple[npt.NDArray[np.int32], IntArray, FloatArray, FloatArray]


def implementations() -> tuple[str, ...]:
    """All implementations that run on this machine, the reference first and the fastest last."""
    return ("reference", *_native.instruction_sets())


_active: str | None = None  # chosen at first use


def active() -> str:
    """The implementation in use."""
    global _active
    if _active is None:
        _active = _known("HOEFFDING_ISA", os.environ.get("HOEFFDING_ISA", implementations()[-1]))
    return _active


@contextmanager
def using(name: str) -> Iterator[None]:
    """Use one implementation inside a ``with`` block (for tests and benchmarks; not thread-safe)."""
    global _active
    before, _active = _active, _known("name", name)
    try:
        yield
    finally:
        _active = before


def _known(argument: str, name: str) -> str:
    if name not in implementations():
        raise ValueError(f"{argument}={name!r}: this machine has {', '.join(implementations())}")
    return name


def solve(f: FloatArray, p: FloatArray, threads: int, done: FloatArray | None = None) -> FloatArray:
    """Return beta, the coefficients of ``f`` in the basis psi; ``f`` becomes ``f`` minus its expansion.

    Sets with an unobserved cell get the coefficient zero.
    """
    if active() == "reference":
        return reference.solve(f, p)
    beta = np.empty_like(f)
    _native.solve(active(), f, p, beta, threads, done)
    return beta


def synthesize(beta: FloatArray, p: FloatArray, threads: int, done: FloatArray | None = None) -> FloatArray:
    """Return the functions with coefficients ``beta``; sets with an unobserved cell are passed over."""
    if active() == "reference":
        return reference.synthesize(beta, p)
    f = np.zeros_like(beta)
    _native.synthesize(active(), f, p, beta, threads, done)
    return f


def project(
    h: FloatArray, p: FloatArray, threads: int, done: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return ``(E[f psi_S], E[psi_S^2])`` for all S, from ``h = f p``; zero for sets with an unobserved cell."""
    if active() == "reference":
        return reference.project(h, p)
    inner, norm2 = np.empty_like(h), np.empty_like(p)
    _native.project(active(), np.concatenate([h, p[None]]), inner, norm2, threads, done)
    return inner, norm2


def kronecker(f: FloatArray, matrices: FloatArray) -> FloatArray:
    """Apply the 2x2 matrix ``matrices[i]`` along feature ``i`` of each function, for all ``i``."""
    if active() == "reference":
        return reference.kronecker(f, matrices)
    out = f.copy()
    _native.kronecker(active(), out, np.ascontiguousarray(matrices[::-1]))
    return out


def extend(f: FloatArray, support: BoolArray) -> FloatArray:
    """Continue functions from the support to the cube, using parities of order-shattered sets only."""
    if active() == "reference":
        return reference.extend(f, support)
    out = f.copy()
    _native.extend(active(), out, support.view(np.uint8))
    return out


def pack_columns(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Bit-packed columns ``(d, words)`` of rows of 0 and 1 ``(n, d)``: row r is bit ``r % 64`` of word ``r // 64``."""
    if active() == "reference":
        return reference.pack_columns(rows)
    columns = np.empty((rows.shape[1], max(-(-len(rows) // 64), 1)), np.uint64)
    _native.pack_columns(np.ascontiguousarray(rows), columns)
    return columns


def judge_candidates(columns: npt.NDArray[np.uint64], rows: int, sets: IntArray, threads: int) -> BoolArray:
    """Say of each row of ``sets`` ``(count, size)`` whether bit-packed rows take all patterns on these columns."""
    if active() == "reference":
        return reference.judge_candidates(columns, rows, sets)
    shattered = np.empty(len(sets), np.uint8)
    _native.judge_candidates(columns, rows, sets, shattered, threads)
    return shattered.view(np.bool_)


def shattered_in_table(support: BoolArray) -> BoolArray:
    """Say of every set of features whether the support ``(2**d,)`` takes all patterns on it."""
    if active() == "reference":
        return reference.shattered_in_table(support)
    shattered = np.empty(support.shape, np.uint8)
    _native.shattered_in_table(support.view(np.uint8), shattered)
    return shattered.view(np.bool_)


def sum_over_sets(  # noqa: PLR0913, PLR0917  # one argument for each thing summed
    columns: npt.NDArray[np.uint64],
    rows: int,
    planes: npt.NDArray[np.uint64] | None,
    real: FloatArray | None,
    targets: FloatArray,
    max_size: int,
    target_size: int,
    threads: int,
    only: Sequence[npt.NDArray[np.int32]] | None = None,
) -> list[SetSums]:
    """Of every set of 1 to ``max_size`` columns that are all one in some row, the sums over these rows.

    Parameters
    ----------
    columns : bit-packed, shape (d, words)
    rows : int
    planes : bit planes of integer weights, shape (planes, words), or None
    real : real weights, shape (rows,), or None; with neither, every row weighs one
    targets : (m, rows), summed for sets of at most ``target_size`` columns
    only : the sets of a closed family by size, (n_s, s) in lexicographic order; by default all sets are looked at

    Returns
    -------
    for each size s, the sets ``(count, s)`` in lexicographic order, their counts (sums of integer weights, or numbers
    of rows), their sums of real weights (empty if the weights are not real), their sums of targets ``(count, m)``
    """
    if active() == "reference":
        return reference.sum_over_sets(columns, rows, planes, real, targets, max_size, target_size, only)
    family = None if only is None else list(only)
    return _native.sum_over_sets(active(), columns, rows, planes, real, targets, family, max_size, target_size, threads)


def union_matrix(
    family: list[npt.NDArray[np.int32]],
    occurring: list[npt.NDArray[np.int32]],
    values: list[FloatArray],
    threads: int,
) -> FloatArray:
    """``M[a, b]`` = the value of the union of sets a and b of a family; zero if the union does not occur.

    ``family[s]`` and ``occurring[s]`` are the sets of size s, ``values[s]`` one number for each of the latter.
    """
    if active() == "reference":
        return reference.union_matrix(family, occurring, values)
    r = sum(map(len, family))
    M = np.zeros((r, r))
    _native.union_matrix(family, occurring, values, M, threads)
    return M


def sets_of_rows(
    columns: npt.NDArray[np.uint64], rows: int, family: list[npt.NDArray[np.int32]], threads: int
) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """Rows as lists of the sets of a family (``family[s]`` of size s) whose columns are all one in them.

    Row r has ``sets[starts[r] : starts[r + 1]]``, ascending; a set is its place in the family.
    """
    if active() == "reference":
        return reference.sets_of_rows(columns, rows, family)
    return _native.sets_of_rows(columns, rows, family, threads)


def gram_product(
    starts: IntArray, sets: npt.NDArray[np.int32], diagonal: FloatArray | None, c: FloatArray, threads: int
) -> FloatArray:
    """``Z' D Z c`` for rows Z as lists of sets, a diagonal D (None: all ones), and a number c for each set."""
    if active() == "reference":
        return reference.gram_product(starts, sets, diagonal, c)
    out = np.empty_like(c)
    _native.gram_product(starts, sets, diagonal, c, out, threads)
    return out


def least_norm(p: FloatArray, threads: int) -> FloatArray:
    """Coefficients c_T with ``chi_S = sum_T c_T psi_T`` at the observed cells of S, for tables ``p`` ``(k, 2**s)``.

    T runs through the subsets of S (indexed like cells); those that are not shattered get zero. Of all combinations
    the one of least ``sum_T c_T^2 |psi_T|^2``.
    """
    if active() == "reference":
        return reference.least_norm(p)
    out = np.empty_like(p)
    _native.least_norm(p, out, threads)
    return out


def blocks_of_sets(starts: IntArray, features: npt.NDArray[np.int32], d: int, largest: int) -> npt.NDArray[np.int32]:
    """Few blocks of up to ``largest`` of the d features, such that every set lies in one: the block of each set.

    Set j has the features ``features[starts[j] : starts[j + 1]]``. A set of more features is a block of its own.
    """
    if active() == "reference":
        return reference.blocks_of_sets(starts, features, d, largest)
    out = np.empty(len(starts) - 1, np.int32)
    _native.blocks_of_sets(starts, features, d, largest, out)
    return out


def lookup(columns: npt.NDArray[np.uint64], rows: int, tables: Tables, threads: int) -> FloatArray:
    """Sums of tables at rows, shape ``(rows, n_targets, m)``: ``sum_S w_S f_S(x_S)`` for every target."""
    if active() == "reference":
        return reference.lookup(columns, rows, tables)
    out = np.empty((rows, tables.n_targets, tables.tables.shape[1]))
    _native.lookup(
        active(),
        columns,
        rows,
        tables.set_starts,
        tables.set_features,
        tables.set_block,
        tables.table_starts,
        tables.tables,
        tables.target_starts,
        tables.targets,
        tables.weights,
        tables.block_starts,
        tables.block_features,
        out,
        threads,
    )
    return out


def descend(
    gram: FloatArray,
    l1: FloatArray,
    l2: FloatArray,
    visited: IntArray,
    beta: FloatArray,
    q: FloatArray,
    sweeps: int,
) -> float:
    """Coordinate descent, in place, on ``b'Gb/2 - m'b + sum_j (l1_j |b_j| + l2_j b_j^2 / 2)`` with ``q = m - G b``.

    Goes through the ``visited`` coordinates ``sweeps`` times; returns the largest squared step of the last sweep, each
    in units of the objective.
    """
    if active() == "reference":
        return reference.descend(gram, l1, l2, visited, beta, q, sweeps)
    return _native.descend(active(), gram, l1, l2, visited, beta, q, sweeps)
