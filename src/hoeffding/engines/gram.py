r"""From counts to the least-squares problem in the basis :math:`\psi_S`, without a design matrix.

Each :math:`\psi_S` is a combination of the monomials :math:`z_T`, :math:`T \subseteq S`: with the design matrices,
:math:`\Psi = Z A`, where A has at most :math:`2^{|S|}` entries in a column. Hence, with M the shares of rows in which
all bits of :math:`T \cup T'` are one,

.. math:: G = \Psi^\top W \Psi / w = A^\top M A, \qquad m = \Psi^\top W y / w = A^\top (Z^\top W y) / w.

The intercept is not penalised, so the columns are centred: :math:`G - \mu \mu^\top`. For shattered sets the means
:math:`\mu` are zero anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels
from hoeffding._kernels.reference import parities
from hoeffding.machine import hands
from hoeffding.moments import Moments
from hoeffding.subsets import SubsetFamily

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

CONSTANT = 1e-13  # a psi_S whose variance is less, in units of its mean square, is constant but for rounding


@dataclass(frozen=True, eq=False)
class Basis:
    """The functions psi_S of a down-closed family under given moments.

    Attributes
    ----------
    family : SubsetFamily
        ``()`` first.
    monomials : SubsetFamily
        The sets of the family that occur: the z_T of the matrix A.
    at : (n_monomials,)
        Where they are in the sets of the moments.
    A : scipy sparse array, shape (n_monomials, n_subsets)
    tables : list of (n_s, 2**s) arrays
        psi_S over the cells of its features, for the sets of each size; NaN where a cell is never observed.
    """

    family: SubsetFamily
    monomials: SubsetFamily
    at: IntArray
    A: Any
    tables: list[FloatArray]

    @classmethod
    def build(cls, moments: Moments, family: SubsetFamily) -> Basis:
        """Tables of psi_S and their monomial coefficients, from counts of cells."""
        recoded, tables = [], []
        for level, p in zip(family.levels, moments.cell_masses_of(family), strict=True):
            psi, flips = _psi(p), moments.flips_of_cells(level)
            # The recoded cell z is the cell z ^ flips of the features, whose parity differs by that of flips.
            psi *= parities(p.shape[1])[flips][:, None]
            tables.append(np.take_along_axis(psi, np.arange(p.shape[1]) ^ flips[:, None], axis=1))
            recoded.append(psi)
        return cls._of(moments, family, recoded, tables)

    def at_rows_of(self, moments: Moments) -> Basis:
        """The same functions at other rows, in the monomials that occur there; zero at cells never observed before."""
        recoded = [
            np.take_along_axis(t, np.arange(t.shape[1]) ^ moments.flips_of_cells(level)[:, None], axis=1)
            for level, t in zip(self.family.levels, self.tables, strict=True)
        ]
        return self._of(moments, self.family, recoded, self.tables)

    @classmethod
    def _of(cls, moments: Moments, family: SubsetFamily, recoded: list[FloatArray], tables: list[FloatArray]) -> Basis:
        """From psi over the cells of the recoded bits of the moments."""
        from scipy.sparse import csc_array

        at = moments.positions(family)
        occurs = at >= 0
        row_of = np.where(occurs, np.cumsum(occurs) - 1, -1)
        entries = [_to_monomials(np.nan_to_num(psi, nan=0.0)) for psi in recoded]
        rows = [row_of[subsets] for subsets in family.subset_positions]
        kept = [r >= 0 for r in rows]
        starts = np.concatenate([[0], np.cumsum(np.concatenate([k.sum(axis=1) for k in kept]))])
        A = csc_array(
            (
                np.concatenate([e[k] for e, k in zip(entries, kept, strict=True)]),
                np.concatenate([r[k] for r, k in zip(rows, kept, strict=True)]),
                starts,
            ),
            shape=(int(occurs.sum()), len(family)),
        )
        return cls(family, family if occurs.all() else family.select(occurs), at[occurs], A, tables)

    @cached_property
    def A_T(self) -> Any:
        """The transpose of A."""
        return self.A.T

    def norms2(self) -> FloatArray:
        """E[psi_S^2] of all sets but the empty one, shape ``(r,)``."""
        # psi = +-1 / (cells p), so that p psi^2 = |psi| / cells.
        by_size = [np.abs(np.nan_to_num(t, nan=0.0)).sum(axis=1) / t.shape[1] for t in self.tables[1:]]
        return np.concatenate([np.zeros(0), *by_size])


@dataclass(frozen=True, eq=False)
class System:
    """Centred least squares: minimise ``1/2 b'Gb - m'b + yy/2`` (half the mean squared error) for each target.

    Attributes
    ----------
    G : (r, r), m : (r, n_targets), yy : (n_targets,)
        Without the empty set, whose coefficient is the intercept.
    mean, norm2 : (r,)
        The mean and the variance of each psi_S; the mean is zero if S is shattered. A psi_S that does not vary has
        zeros in G and m.
    y_mean : (n_targets,)
    """

    G: FloatArray
    m: FloatArray
    yy: FloatArray
    mean: FloatArray
    norm2: FloatArray
    y_mean: FloatArray

    @classmethod
    def build(cls, moments: Moments, basis: Basis, n_jobs: int) -> System:
        """The Gram matrix and what belongs to it; takes two arrays of ``n_subsets**2`` numbers."""
        M = monomial_gram(moments, basis.monomials, n_jobs)
        half = basis.A_T @ M
        G = np.asarray(basis.A_T @ half.T)
        rest = system_of(moments, basis)
        G = np.ascontiguousarray(G[1:, 1:])
        if rest.mean.any():
            G -= np.outer(rest.mean, rest.mean)
            G[rest.norm2 == 0] = G[:, rest.norm2 == 0] = 0.0
        return replace(rest, G=G)


def system_of(moments: Moments, basis: Basis) -> System:
    """All of the system but the Gram matrix, which is left empty."""
    total = moments.total
    Zy = moments.targets[basis.at] / total  # with the target minus its offset
    mean = np.asarray(basis.A_T @ (moments.masses[basis.at] / total))[1:]
    for size, table in enumerate(basis.tables[1:], start=1):
        a, b = basis.family.starts[size] - 1, basis.family.starts[size + 1] - 1
        mean[a:b][~np.isnan(table).any(axis=1)] = 0.0  # shattered: exactly
    norm2 = basis.norms2()
    variance = norm2 - mean**2
    variance[variance <= CONSTANT * norm2] = 0.0
    centre = Zy[0]
    m = np.asarray(basis.A_T @ Zy)[1:] - mean[:, None] * centre
    m[variance == 0] = 0.0
    yy = np.maximum(moments.squares / total - centre**2, 0.0)
    return System(np.zeros((0, 0)), m, yy, mean, variance, moments.offset + centre)


def monomial_gram(moments: Moments, monomials: SubsetFamily, n_jobs: int) -> FloatArray:
    """M: the share of rows in which all bits of both sets are one, shape ``(n_monomials, n_monomials)``."""
    shares = moments.masses / moments.total
    starts = moments.sets.starts
    pairs = sum(len(level) * 3**size for size, level in enumerate(moments.sets.levels))  # with these unions
    return _kernels.union_matrix(
        [level.astype(np.int32) for level in monomials.levels],
        [level.astype(np.int32) for level in moments.sets.levels],
        [np.ascontiguousarray(shares[a:b]) for a, b in pairwise(starts)],
        hands(n_jobs, pairs),
    )


def _psi(p: FloatArray) -> FloatArray:
    """psi over cells of probabilities ``p``, shape ``(n_s, 2**s)``; NaN at unobserved cells."""
    out = np.full(p.shape, np.nan)
    np.divide(parities(p.shape[1]), p.shape[1] * p, out=out, where=p > 0)
    return out


def _to_monomials(tables: FloatArray) -> FloatArray:
    """In place, from values over cells to coefficients of z_T; entry ``mask`` is that of the members it selects."""
    n, cells = tables.shape
    by_bit = tables.reshape(n, *(2,) * (cells.bit_length() - 1))
    for axis in range(1, by_bit.ndim):
        f0, f1 = np.moveaxis(by_bit, axis, 0)
        f1 -= f0
    return tables
