r"""The sparse engine: the exact decomposition, to all orders, of a function with few parity coefficients.

If :math:`\hat f(R) = 0` outside a closed family, then :math:`\beta_S = 0` outside it: the triangular recursion runs on
the family alone, from the largest sets down, and needs only the marginals :math:`p_S` of its sets, which come from
counting. A set S whose cells are not all observed has no component: there :math:`\chi_S` is a combination of smaller
:math:`\psi_T`, T shattered. If S has as many shattered subsets as observed cells (its local support is
shattering-extremal) the combination is unique, depends only on *which* cells are observed, and is written in parities,
:math:`\chi_S = \sum_R c_R \chi_R`, for the recursion to go on with; else it is the one of least total variance of the
:math:`\psi_T` (the local minimum-norm rule).

Everything happens in the recoded bits of the moments, in which a one is the rarer value; a parity changes its sign with
each inverted bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels
from hoeffding._kernels.reference import parities, walsh_hadamard
from hoeffding.bits import BitMatrix
from hoeffding.components import Components, Weights
from hoeffding.engines.parities import parity_coefficients
from hoeffding.machine import n_threads, require_memory
from hoeffding.moments import Counted, Moments
from hoeffding.progress import say
from hoeffding.sensitivity import Variance
from hoeffding.subsets import IndexArray, SubsetFamily

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

ROUNDING = 16 * np.finfo(float).eps
BLOCK = 2**22  # cells of sets that are worked on at once


@dataclass(frozen=True, eq=False)
class Exact:
    """A decomposition without names.

    Attributes
    ----------
    moments : Moments
        Counts of the closure, which know the marginals of all its sets, and the sums of the function.
    family : SubsetFamily
        The sets that have a component.
    beta : (n_subsets, m)
    variance : Variance, of arrays (n_subsets, m) and (m,)
    remainder, fidelity : (m,)
        The largest ``|f - sum of f_S|`` at the rows with positive weight, and R2.
    n_closure, n_chosen : int
        The sets of the closure; those at which the local rule made a choice.
    given_up : (m,)
        The share of the variance in components that ``tol`` left out; negative where their covariance with f is.
    """

    moments: Moments
    family: SubsetFamily
    beta: FloatArray
    variance: Variance
    remainder: FloatArray
    fidelity: FloatArray
    n_closure: int
    n_chosen: int
    given_up: FloatArray

    def rest(self, sample: Sample, threads: int) -> Rest:
        """What the components leave of the function at some rows."""
        say(f"Adding up {len(self.family)} components")
        parts = Components.of(Counted(self.moments), self.family, self.beta)
        rest = sample.values - parts.sums(sample.bits, Weights.all_to_one(len(self.family)), threads)[:, 0]
        w = np.ones(len(rest)) if sample.weights is None else sample.weights
        return Rest(np.abs(rest[w > 0]).max(axis=0, initial=0.0), w @ rest**2, float(w.sum()))

    def with_rest(self, rest: Rest) -> Exact:
        """With remainder and fidelity."""
        of_f = self.variance.of_f
        lost = np.divide(rest.squares / rest.mass, of_f, out=np.zeros_like(of_f), where=of_f > 0)
        return replace(self, remainder=rest.largest, fidelity=1 - lost)


@dataclass(frozen=True, eq=False)
class Rest:
    """The largest absolute value and the weighted sum of squares of what is left, ``(m,)`` each, and the weight."""

    largest: FloatArray
    squares: FloatArray
    mass: float

    def merge(self, other: Rest) -> Rest:
        """Of both groups of rows."""
        largest = np.maximum(self.largest, other.largest)
        return Rest(largest, self.squares + other.squares, self.mass + other.mass)


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows, what they weigh (None: all the same), and the values ``(n, m)`` of the function there."""

    bits: BitMatrix
    weights: FloatArray | None
    values: FloatArray


def decompose_tables(
    tables: Components,
    closed: SubsetFamily,
    sample: Sample,
    *,
    order: int | None = None,
    tol: float = 0.0,
    n_jobs: int = -1,
) -> Exact:
    """Decompose a sum of tables of bits, such as the leaves of trees, under the distribution of rows.

    Parameters
    ----------
    tables : Components
        The function.
    closed : SubsetFamily
        All subsets of the sets of its family, see :func:`~hoeffding.engines.parities.closure`.
    sample : Sample
        Whose values are those of the function.
    order : int or None
        Keep the components of at most so many features; by default all.
    tol : float
        Leave out components of less than this share of the variance of every output (0: only those that are zero).
    """
    threads = n_threads(n_jobs)
    bits, weights, f = sample.bits, sample.weights, sample.values
    m, n = tables.n_outputs, bits.n_rows
    cells = sum(len(level) * 2.0**s for s, level in enumerate(closed.levels))
    require_memory(16 * cells + 32.0 * m * (n + len(closed)), f"a closure of {len(closed)} sets", "lower max_sets")
    fourier = parity_coefficients(tables, closed)
    say(f"Counting {len(closed)} sets in {n} rows")
    moments = Moments.of_family(bits, closed, f, weights, n_jobs=n_jobs)
    exact = decompose_moments(moments, fourier, np.abs(f).max(axis=0, initial=0.0), order=order, tol=tol, n_jobs=n_jobs)
    return exact.with_rest(exact.rest(sample, threads))


def decompose_moments(
    moments: Moments, fourier: FloatArray, largest: FloatArray, *, order: int | None, tol: float, n_jobs: int = -1
) -> Exact:
    """The same from the sums over the rows; what it leaves of the function there is yet to be found.

    Parameters
    ----------
    moments : Moments
        Of the closed family, with the values of the function as targets.
    fourier : (n_subsets, m)
        The parity coefficients of the function.
    largest : (m,)
        The largest absolute values.
    """
    closed, threads, m = moments.only, n_threads(n_jobs), fourier.shape[1]
    assert closed is not None
    say(f"Solving for {len(closed)} sets")
    solution = solve(moments, fourier, threads)
    of_f = np.maximum(moments.squares / moments.total - (moments.targets[0] / moments.total) ** 2, 0.0)
    of_f[of_f <= (ROUNDING * largest) ** 2] = 0.0  # constant
    total = solution.beta * solution.inner
    structural = solution.beta**2 * solution.norm2[:, None]
    structural[0] = 0.0
    keep, small = _kept(solution.beta, structural, total, closed.sizes, of_f, order, tol)
    family, beta = closed.select(keep), np.ascontiguousarray(solution.beta[keep])
    varies = of_f > 0
    return Exact(
        moments,
        family,
        beta,
        Variance(structural[keep], total[keep] - structural[keep], total[keep], of_f),
        remainder=np.full(m, np.nan),
        fidelity=np.full(m, np.nan),
        n_closure=len(closed),
        n_chosen=solution.n_chosen,
        given_up=np.divide(total[small].sum(axis=0), of_f, out=np.zeros_like(of_f), where=varies),
    )


def _kept(
    beta: FloatArray,
    structural: FloatArray,
    total: FloatArray,
    sizes: npt.NDArray[np.uint8],
    of_f: FloatArray,
    order: int | None,
    tol: float,
) -> tuple[BoolArray, BoolArray]:
    """The sets to keep, and those that ``tol`` leaves out, ``(n_subsets,)`` each."""
    keep: BoolArray = beta.any(axis=1) & (sizes <= (len(sizes) if order is None else order))
    small: BoolArray = keep & (np.maximum(structural, np.abs(total)) < tol * of_f).all(axis=1)
    small[0] = False
    keep &= ~small
    keep[0] = True
    return keep, small


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients of all sets of a closed family, in the coding of the features.

    Attributes
    ----------
    beta : (n_subsets, m)
        Zero for sets that are not shattered.
    inner : (n_subsets, m)
        ``Cov(psi_S, f)``; zero for sets that are not shattered, and for the empty set.
    norm2 : (n_subsets,)
        ``E[psi_S^2]``; zero for sets that are not shattered.
    shattered : (n_subsets,) bool
    n_resolved, n_chosen : int
        Sets that are not shattered and were needed; those of them at which a choice was made.
    """

    beta: FloatArray
    inner: FloatArray
    norm2: FloatArray
    shattered: BoolArray
    n_resolved: int
    n_chosen: int


def solve(moments: Moments, fourier: FloatArray, threads: int) -> Solution:
    """The recursion on the family ``moments.only``, for parity coefficients ``fourier``, shape ``(n_subsets, m)``.

    The targets of the moments are the values of the function.
    """
    family = moments.only
    assert family is not None
    sign = _signs(moments, family)[:, None]
    state, inner = _Recursion(family, sign * fourier, threads), np.zeros_like(fourier)
    for size in range(len(family.levels) - 1, -1, -1):
        level, block = family.levels[size], max(1, BLOCK // 2**size)
        for a in range(0, len(level), block):
            part = level[a : a + block]
            p = moments.cell_masses(part)
            state.step(size, np.arange(a, a + len(part)), p)
            inner[family.starts[size] + a :][: len(part)] = _inner_products(moments, part, p)
    inner[0] = 0.0
    norm2 = state.norm2
    return Solution(sign * state.beta, sign * inner, norm2, norm2 > 0, state.n_resolved, state.n_chosen)


def _inner_products(moments: Moments, level: IndexArray, p: FloatArray) -> FloatArray:
    """``E[psi_S f]`` for the targets f minus their offset, ``(n_s, m)``; zero for sets that are not shattered."""
    out = np.zeros((len(level), moments.targets.shape[1]))
    whole = (p > 0).all(axis=1)
    sums = moments.over_cells(level[whole], moments.targets) / moments.total
    psi = parities(p.shape[1]) / (p.shape[1] * p[whole])
    out[whole] = np.einsum("sz,szm->sm", psi, sums)
    return out


def _signs(moments: Moments, family: SubsetFamily) -> FloatArray:
    """The parity of the number of inverted bits of every set, ``(n_subsets,)``."""
    flips = [moments.flip[level].sum(axis=1) for level in family.levels]
    return np.where(np.concatenate(flips) % 2, -1.0, 1.0)


class _Recursion:
    """What is left of the parity coefficients, and the coefficients found so far."""

    def __init__(self, family: SubsetFamily, r: FloatArray, threads: int) -> None:
        self.family, self.r, self.threads = family, r, threads
        self.beta = np.zeros_like(r)
        self.norm2 = np.zeros(len(r))
        self.n_resolved = self.n_chosen = 0

    def step(self, size: int, which: IntArray, p: FloatArray) -> None:
        """The sets at positions ``which`` of a level, with their marginals ``p``, shape ``(n, 2**size)``."""
        whole = (p > 0).all(axis=1)
        positions = self.family.subset_positions[size][which]
        if whole.any():
            self._peel(positions[whole], p[whole])
        needed = ~whole & self.r[positions[:, -1]].any(axis=1)
        self.n_resolved += int(needed.sum())
        if needed.any():
            self._resolve(positions[needed], p[needed])

    def _peel(self, positions: IntArray, p: FloatArray) -> None:
        """Shattered sets: ``beta_S = r(S) / omega_0``, then ``r(R) -= omega_{S - R} beta_S``."""
        cells = p.shape[1]
        omega = walsh_hadamard(1 / (cells * p)) / cells
        at = positions[:, -1]
        self.norm2[at] = omega[:, 0]
        beta = self.r[at] / omega[:, :1]
        self.beta[at] += beta
        changed = beta.any(axis=1)
        self._add_to(self.r, positions[changed, :-1], -beta[changed], omega[changed, :0:-1])

    def _resolve(self, positions: IntArray, p: FloatArray) -> None:
        """Sets with a cell that is never observed: their parity in terms of smaller sets."""
        r = self.r[positions[:, -1]]
        seen, pattern_of = _distinct_patterns(p > 0)
        shattered = shattered_subsets(seen)
        extremal = shattered.sum(axis=1) == seen.sum(axis=1)
        unique = extremal[pattern_of]
        c = _extremal_parities(seen[extremal], shattered[extremal])
        rank = np.cumsum(extremal) - 1
        self._add_to(self.r, positions[unique], r[unique], c[rank[pattern_of[unique]]])
        self.n_chosen += int((~unique).sum())
        if not unique.all():
            coefficients = _kernels.least_norm(np.ascontiguousarray(p[~unique]), self.threads)
            self._add_to(self.beta, positions[~unique], r[~unique], coefficients)

    def _add_to(self, out: FloatArray, positions: IntArray, values: FloatArray, weights: FloatArray) -> None:
        """``out[positions[j, z]] += values[j] * weights[j, z]`` for every output."""
        at = positions.ravel()
        for o in range(out.shape[1]):
            out[:, o] += np.bincount(at, (values[:, o, None] * weights).ravel(), len(out))


def _distinct_patterns(seen: BoolArray) -> tuple[BoolArray, npt.NDArray[np.intp]]:
    """The different rows, and for each row given the position of its like."""
    packed = np.packbits(seen, axis=1)
    packed = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    keys = packed.view(np.uint64 if packed.shape[1] == 8 else f"V{packed.shape[1]}").ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return seen[first], inverse.ravel()


def shattered_subsets(seen: BoolArray) -> BoolArray:
    """Which subsets T are shattered by the observed cells, ``(n, 2**s)``, for each row of ``seen``, ``(n, 2**s)``.

    The subsets are indexed like cells.
    """
    out = np.empty_like(seen)
    met = {seen.shape[1] - 1: seen}  # the cells of each T that are observed, (n, 2**|T|)
    for T in range(seen.shape[1] - 1, -1, -1):
        out[:, T] = met[T].all(axis=1)
        rest, cells = T, met[T].shape[1]
        stride = 1  # of the last feature of T that is left
        while rest:
            j = rest & -rest
            if T - j not in met:
                by_bit = met[T].reshape(len(seen), cells // (2 * stride), 2, stride)
                met[T - j] = (by_bit[:, :, 0] | by_bit[:, :, 1]).reshape(len(seen), cells // 2)
            rest, stride = rest - j, 2 * stride
        del met[T]
    return out


def _extremal_parities(seen: BoolArray, shattered: BoolArray) -> FloatArray:
    """``chi_S = sum_R c_R chi_R`` at the observed cells, for local supports that are extremal: ``(n, 2**s)``."""
    n, cells = seen.shape
    out = np.zeros((n, cells))
    chi = walsh_hadamard(np.eye(cells))  # chi[z, R] = (-1)^|z & R|
    n_seen = seen.sum(axis=1)
    for k in np.unique(n_seen).tolist():
        rows = np.flatnonzero(n_seen == k)
        z = np.nonzero(seen[rows])[1].reshape(len(rows), k)
        R = np.nonzero(shattered[rows])[1].reshape(len(rows), k)
        c = np.linalg.solve(chi[z[:, :, None], R[:, None, :]], chi[z, cells - 1][:, :, None])[:, :, 0]
        out[rows[:, None], R] = c
    return out
