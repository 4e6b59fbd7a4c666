r"""The basis of the decomposition, as plain reference functions in the notation of the theory.

.. math:: \chi_S(x) = (-1)^{\sum_{i \in S} x_i}, \qquad \psi_S(x) = \frac{\chi_S(x)}{2^{|S|}\, p_S(x_S)}.

These functions take any measure and any family of subsets and cost what the formulas cost; the engines do not use
them, the tests do. A table over the cells of :math:`X_S` has shape ``(2,) * |S|``: axis j is the j-th feature of S.
Where :math:`X_S` never takes a value, :math:`\psi_S` does not exist and the table holds NaN.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from hoeffding._kernels.reference import parities, walsh_hadamard
from hoeffding.bits import BitRows, as_bits
from hoeffding.checks import as_real
from hoeffding.measure import Measure
from hoeffding.subsets import SubsetFamily, as_subset

FloatArray = npt.NDArray[np.float64]


def chi(size: int) -> FloatArray:
    """The parity of ``size`` bits, shape ``(2,) * size``.

    >>> chi(2)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return parities(2**size).reshape((2,) * size)


def psi(measure: Measure, subset: Iterable[int]) -> FloatArray:
    """The table of psi_S, shape ``(2,) * |S|``; NaN where ``X_S`` is never observed.

    >>> from hoeffding import Product
    >>> psi(Product([0.5, 0.1]), [1])
    array([ 0.55555556, -5.        ])
    """
    p_S = measure.marginal(subset)
    psi_S = np.full(p_S.shape, np.nan)
    np.divide(chi(p_S.ndim), 2**p_S.ndim * p_S, out=psi_S, where=p_S > 0)
    return psi_S


def omega(measure: Measure, subset: Iterable[int]) -> FloatArray:
    r"""The parity coefficients of :math:`1/(2^{|S|} p_S)` for a shattered S, shape ``(2,) * |S|``.

    Entry U (as an indicator vector over S) is :math:`\omega^{(S)}_U`, so that
    :math:`\psi_S = \sum_{R \subseteq S} \omega^{(S)}_{S \setminus R} \chi_R`. Entry 0 is the squared norm of psi_S.
    """
    s = as_subset(subset, measure.d)
    p_S = measure.marginal(s)
    if not (p_S > 0).all():
        n_empty = int((p_S == 0).sum())
        raise ValueError(f"subset={s!r}: not shattered, {n_empty} of its {p_S.size} cells are never observed")
    return (walsh_hadamard((1 / (p_S.size * p_S)).ravel()) / p_S.size).reshape(p_S.shape)


def norm(measure: Measure, subset: Iterable[int]) -> float:
    r"""The norm of psi_S, :math:`\sqrt{E[\psi_S(X)^2]}`."""
    p_S = measure.marginal(subset)
    return float(np.sqrt((1 / (p_S.size**2 * p_S[p_S > 0])).sum()))


def design_matrix(measure: Measure, family: SubsetFamily, X: npt.ArrayLike | None = None) -> FloatArray:
    """Psi with entries psi_S(x): one row for each point of the support (or row of ``X``), one column for each set.

    Shape ``(n, n_subsets)``. Rows of ``X`` off the support give NaN in the columns whose cell is never observed.
    """
    rows = measure.points()[0] if X is None else as_bits(X, "X")
    if rows.shape[1] != measure.d:
        raise ValueError(f"X: expected {measure.d} features, as the measure has, got {rows.shape[1]}")
    out = np.empty((len(rows), len(family)))
    for column, s in enumerate(family):
        out[:, column] = psi(measure, s)[_cells(rows, s)]
    return out


def gram_matrix(measure: Measure, family: SubsetFamily) -> FloatArray:
    """G with entries E[psi_S psi_T], shape ``(n_subsets, n_subsets)``."""
    Psi = design_matrix(measure, family)
    return Psi.T @ (measure.points()[1][:, None] * Psi)


def inner_products(measure: Measure, f: npt.ArrayLike, family: SubsetFamily) -> FloatArray:
    """m with entries E[f psi_S], from the values of ``f`` at the points of the support, shape ``(n_subsets,)``."""
    values, masses = as_real("f", f), measure.points()[1]
    if values.shape != masses.shape:
        raise ValueError(
            f"f: expected its values at the points of the support, shape {masses.shape}, got {values.shape}"
        )
    return design_matrix(measure, family).T @ (masses * values)


def _cells(rows: BitRows, s: tuple[int, ...]) -> tuple[npt.NDArray[np.uint8], ...]:
    return tuple(rows[:, i] for i in s)
