r"""What each kernel means, in NumPy, close to the formulas. Slow: the oracle of the tests.

With :math:`1/(2^{|S|} p_S) = \sum_{U \subseteq S} \omega^{(S)}_U \chi_U` the basis is triangular in the parities,
:math:`\psi_S = \sum_{R \subseteq S} \omega^{(S)}_{S \setminus R} \chi_R`, so that the coefficients follow from the
largest sets down: :math:`\beta_S = r(S) / \omega^{(S)}_\emptyset`, then
:math:`r(R) \mathrel{-}= \omega^{(S)}_{S \setminus R} \beta_S` for :math:`R \subset S`, where r starts as the
Walsh-Hadamard transform of f.

A set is the flat index of its indicator vector in a cube of shape ``(2,) * d``: feature i is bit ``d - 1 - i``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
SetSums = tuple[npt.NDArray[np.int32], IntArray, FloatArray, FloatArray]


def subsets_of(mask: int) -> IntArray:
    """All subsets of a set, smallest index first; position z holds the bits of ``mask`` that z selects."""
    out = np.zeros(1, np.int64)
    bit = 1
    while bit <= mask:
        if mask & bit:
            out = np.concatenate([out, out | bit])
        bit *= 2
    return out


def walsh_hadamard(a: FloatArray) -> FloatArray:
    """``out[..., z] = sum_y a[..., y] (-1)^|z & y|`` along the last axis, whose length is a power of two."""
    n = a.shape[-1]
    h = 1
    while h < n:
        pairs = a.reshape(*a.shape[:-1], -1, 2, h)
        even, odd = pairs[..., 0, :], pairs[..., 1, :]
        a = np.stack([even + odd, even - odd], axis=-2).reshape(a.shape)
        h *= 2
    return a


def marginal(p: FloatArray, mask: int) -> FloatArray:
    """The last axis summed over the coordinates outside a set; its cells in the order of :func:`subsets_of`."""
    size = p.shape[-1]
    a = p.reshape(*p.shape[:-1], *(2,) * (size.bit_length() - 1))
    bits = range(size.bit_length() - 1)
    away = tuple(-1 - b for b in bits if not mask >> b & 1)
    summed: FloatArray = a.sum(axis=away) if away else a
    return summed.reshape(*p.shape[:-1], 2 ** mask.bit_count())


def parities(n_cells: int) -> FloatArray:
    """chi over the cells of a set: ``(-1)^|z|``."""
    return np.where(np.bitwise_count(np.arange(n_cells)) % 2, -1.0, 1.0)


def supersets_first(size: int) -> IntArray:
    """All sets as indices, larger sets before smaller ones."""
    sets = np.arange(size)
    return sets[np.argsort(-np.bitwise_count(sets).astype(np.int64), kind="stable")]


def solve(f: FloatArray, p: FloatArray) -> FloatArray:
    r = walsh_hadamard(f) / f.shape[-1]
    beta = np.zeros_like(f)
    for S in supersets_first(len(p)).tolist():
        p_S = marginal(p, S)
        if (p_S == 0).any():
            continue
        omega = walsh_hadamard(1 / (len(p_S) * p_S)) / len(p_S)
        beta[:, S] = r[:, S] / omega[0]
        r[:, subsets_of(S)] -= beta[:, S, None] * omega[::-1]  # position z of the subsets is R, so S \ R is reversed
    f[:] = walsh_hadamard(r)
    return beta


def synthesize(beta: FloatArray, p: FloatArray) -> FloatArray:
    r = np.zeros_like(beta)
    for S in range(len(p)):
        p_S = marginal(p, S)
        if (p_S > 0).all():
            omega = walsh_hadamard(1 / (len(p_S) * p_S)) / len(p_S)
            r[:, subsets_of(S)] += beta[:, S, None] * omega[::-1]
    return walsh_hadamard(r)


def project(h: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    inner, norm2 = np.zeros_like(h), np.zeros_like(p)
    for S in range(len(p)):
        p_S = marginal(p, S)
        if (p_S > 0).all():
            inner[:, S] = (parities(len(p_S)) * marginal(h, S) / p_S).mean(axis=-1)
            norm2[S] = (1 / (len(p_S) * p_S)).mean()
    return inner, norm2


def kronecker(f: FloatArray, matrices: FloatArray) -> FloatArray:
    d = len(matrices)
    a = f.reshape(len(f), *(2,) * d)
    for i in range(d):
        a = np.moveaxis(np.tensordot(matrices[i], a, axes=(1, 1 + i)), 0, 1 + i)
    return np.ascontiguousarray(a).reshape(f.shape)


def extend(f: FloatArray, support: BoolArray) -> FloatArray:
    if support.all():
        return f.copy()
    if not support.any():
        return np.zeros_like(f)
    half = len(support) // 2
    x0, x1, f0, f1 = support[:half], support[half:], f[:, :half], f[:, half:]
    b = extend(np.where(x0 & x1, f1 - f0, 0.0), x0 & x1)
    a = extend(np.where(x0, f0, np.where(x1, f1 - b, 0.0)), x0 | x1)
    return np.concatenate([a, a + b], axis=1)


def pack_columns(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    n, d = rows.shape
    packed = np.zeros((d, max(-(-n // 64), 1) * 8), np.uint8)
    packed[:, : -(-n // 8)] = np.packbits(rows.T, axis=1, bitorder="little")
    return packed.view(np.dtype("<u8")).astype(np.uint64, copy=False)


def unpack(columns: npt.NDArray[np.uint64], rows: int) -> IntArray:
    """Bit-packed columns as an array of 0 and 1, shape ``(d, rows)``."""
    return np.unpackbits(columns.view(np.uint8), axis=1, bitorder="little", count=rows).astype(np.int64)


def judge_candidates(columns: npt.NDArray[np.uint64], rows: int, sets: IntArray) -> BoolArray:
    bits = unpack(columns, rows)
    size = sets.shape[1]
    codes = sum((bits[sets[:, j]] << j for j in range(size)), np.zeros((len(sets), rows), np.int64))
    return np.array([len(np.unique(row)) == 2**size for row in codes], np.bool_)


def shattered_in_table(support: BoolArray) -> BoolArray:
    cells = support.astype(np.float64)
    return np.array([bool((marginal(cells, S) > 0).all()) for S in range(len(support))], np.bool_)


def sum_over_sets(
    columns: npt.NDArray[np.uint64],
    rows: int,
    planes: npt.NDArray[np.uint64] | None,
    real: FloatArray | None,
    targets: FloatArray,
    max_size: int,
    target_size: int,
    only: Sequence[npt.NDArray[np.int32]] | None = None,
) -> list[SetSums]:
    bits = unpack(columns, rows)
    integers, weights = np.ones(rows, np.int64), np.zeros((0, rows)) if real is None else real[None]
    if planes is not None:
        integers = (unpack(planes, rows) << np.arange(len(planes))[:, None]).sum(axis=0)
    out = []
    for size in range(1, max_size + 1):
        candidates = combinations(range(len(bits)), size) if only is None else only[size].tolist()
        found = [(s, z) for s in candidates if (z := bits[list(s)].prod(axis=0)).any()]
        sets = np.array([s for s, _ in found], np.int32).reshape(len(found), size)
        Z = np.array([z for _, z in found], np.int64).reshape(len(found), rows)
        summed = (Z @ targets.T) if size <= target_size else np.zeros((0, len(targets)))
        out.append((sets, Z @ integers, (Z @ weights.T).ravel(), summed))
    return out


def union_matrix(
    family: list[npt.NDArray[np.int32]], occurring: list[npt.NDArray[np.int32]], values: list[FloatArray]
) -> FloatArray:
    levels = list(zip(occurring, values, strict=True))
    value_of = {tuple(s): v for sets, level in levels for s, v in zip(sets.tolist(), level, strict=True)}
    members = [frozenset(s) for sets in family for s in sets.tolist()]
    return np.array([[value_of.get(tuple(sorted(a | b)), 0.0) for b in members] for a in members])


def sets_of_rows(
    columns: npt.NDArray[np.uint64], rows: int, family: list[npt.NDArray[np.int32]]
) -> tuple[IntArray, npt.NDArray[np.int32]]:
    bits = unpack(columns, rows)
    Z = [bits[s].all(axis=0) for level in family for s in level]
    row, found = np.nonzero(np.array(Z).reshape(len(Z), rows).T)
    return np.searchsorted(row, np.arange(rows + 1)), found.astype(np.int32)


def gram_product(
    starts: IntArray, sets: npt.NDArray[np.int32], diagonal: FloatArray | None, c: FloatArray
) -> FloatArray:
    n = len(starts) - 1
    Z = np.zeros((n, len(c)))
    Z[np.repeat(np.arange(n), np.diff(starts)), sets] = 1.0
    return np.asarray(Z.T @ (Z @ c if diagonal is None else diagonal * (Z @ c)))


def least_norm(p: FloatArray) -> FloatArray:
    n_cells = p.shape[1]
    out = np.zeros_like(p)
    for p_S, c in zip(p, out, strict=True):
        seen = np.flatnonzero(p_S)
        shattered, columns, norms = [], [], []
        for T in range(n_cells):
            p_T = np.bincount(seen & T, p_S[seen], n_cells)
            if not (p_T[subsets_of(T)] > 0).all():
                continue
            psi = parities(n_cells)[seen & T] / (2 ** T.bit_count() * p_T[seen & T])
            shattered.append(T)
            norms.append(np.sqrt(p_S[seen] @ psi**2))
            columns.append(psi / norms[-1])
        root = np.sqrt(p_S[seen])
        A = root[:, None] * np.stack(columns, axis=1)
        gamma = np.linalg.lstsq(A, root * parities(n_cells)[seen], rcond=1e-12)[0]
        c[shattered] = gamma / norms
    return out


def blocks_of_sets(starts: IntArray, features: npt.NDArray[np.int32], d: int, largest: int) -> npt.NDArray[np.int32]:
    sets = [frozenset(features[a:b].tolist()) for a, b in pairwise(starts.tolist())]
    out = np.array([-1 if s else 0 for s in sets], np.int32)
    for number in range(len(sets)):
        if (out >= 0).all():
            break
        block = set(sets[int(np.argmax(out < 0))])
        while len(block) < largest:
            gain = np.zeros(d)
            for j in np.flatnonzero(out < 0):
                missing = sets[j] - block
                if 0 < len(missing) < len(sets[j]):
                    gain[list(missing)] += 16.0 ** (1 - len(missing))
            if not gain.any():
                break
            block.add(int(np.argmax(gain)))
        out[[j for j in range(len(sets)) if out[j] < 0 and sets[j] <= block]] = number
    return out


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of sets of features, m numbers a cell, and the targets that each set counts for.

    Set j has the features ``set_features[set_starts[j] : set_starts[j + 1]]``, in increasing order, and the rows of
    ``tables`` from ``table_starts[j]`` on; the first feature is the highest bit of the index of a cell. It counts for
    ``targets[target_starts[j] : target_starts[j + 1]]`` with their ``weights``, and lies in a block of features, of
    which only the speed depends.
    """

    n_targets: int
    set_starts: IntArray
    set_features: npt.NDArray[np.int32]
    set_block: npt.NDArray[np.int32]
    table_starts: IntArray
    tables: FloatArray
    target_starts: IntArray
    targets: npt.NDArray[np.int32]
    weights: FloatArray
    block_starts: IntArray
    block_features: npt.NDArray[np.int32]


def lookup(columns: npt.NDArray[np.uint64], rows: int, tables: Tables) -> FloatArray:
    bits = unpack(columns, rows)
    out = np.zeros((rows, tables.n_targets, tables.tables.shape[1]))
    for j in range(len(tables.set_block)):
        cell = np.zeros(rows, np.int64)
        for i in tables.set_features[tables.set_starts[j] : tables.set_starts[j + 1]]:
            cell = 2 * cell + bits[i]
        for e in range(tables.target_starts[j], tables.target_starts[j + 1]):
            out[:, tables.targets[e]] += tables.weights[e] * tables.tables[tables.table_starts[j] + cell]
    return out


def descend(
    gram: FloatArray, l1: FloatArray, l2: FloatArray, active: IntArray, beta: FloatArray, q: FloatArray, sweeps: int
) -> float:
    largest = 0.0
    for _ in range(sweeps):
        largest = 0.0
        for j in active:
            curvature = gram[j, j] + l2[j]
            if curvature <= 0:
                continue
            rho = q[j] + gram[j, j] * beta[j]
            change = np.sign(rho) * max(abs(rho) - l1[j], 0.0) / curvature - beta[j]
            beta[j] += change
            q -= change * gram[j]
            largest = max(largest, float(change**2 * curvature))
    return largest
