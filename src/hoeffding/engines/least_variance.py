r"""One decomposition out of many: the least total variance of components.

When the support has fewer points than shattered sets, many coefficients :math:`\beta` give the same function. Here
:math:`\sum_S \beta_S^2 \|\psi_S\|^2` is made as small as possible. In the unit-variance coefficients
:math:`\gamma_S = \beta_S \|\psi_S\|` this is the solution of minimum norm of :math:`A \gamma = f`, where A has
:math:`n` rows (points) and :math:`r` columns (shattered sets) and full row rank. Two routes, for the two ways of being
small:

- *row space*: :math:`A^\top = QR`, :math:`\gamma = Q R^{-\top} f`; cost :math:`2 r n^2`, memory :math:`2 r n`.
- *null space*: one solution (exact, by the recursion), minus its projection on the :math:`r - n` solutions for
  :math:`f = 0`, which come from the recursion too; cost :math:`(r - n) 3^d + 2 r (r - n)^2`.

Both use Householder QR, whose result does not depend on the scale of the columns, so that rare points (large entries)
do no harm.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels, basis, fourier
from hoeffding._kernels.reference import parities
from hoeffding.measure import Measure
from hoeffding.subsets import SubsetFamily

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def row_space(f: FloatArray, measure: Measure, family: SubsetFamily) -> FloatArray:
    """Coefficients of least variance, shape ``(m, r)``, of functions given at the points, ``f`` of shape ``(m, n)``."""
    from scipy.linalg import qr, solve_triangular

    A = basis.design_matrix(measure, family)
    norms = np.array([basis.norm(measure, s) for s in family])
    A /= norms
    Q, R = qr(A.T, mode="economic", overwrite_a=True, check_finite=False)
    gamma = Q @ solve_triangular(R, f.T, trans="T", check_finite=False)
    return np.ascontiguousarray((gamma / norms[:, None]).T)


def null_space(
    beta: FloatArray, measure: Measure, shattered: BoolArray, support: BoolArray, threads: int
) -> FloatArray:
    """The same from any solution ``beta``, shape ``(m, 2**d)``, for all sets of the cube.

    ``shattered`` and ``support`` mark sets and points, shape ``(2**d,)``.
    """
    from scipy.linalg import qr

    N = null_vectors(measure, shattered, support, threads)[:, shattered]
    _, norm2 = fourier.inner_products(np.zeros((0, len(support))), measure, threads)
    norms = np.sqrt(norm2[shattered])
    Q, _ = qr((N * norms).T, mode="economic", check_finite=False)
    gamma = beta[:, shattered] * norms
    gamma -= (gamma @ Q) @ Q.T
    gamma -= (gamma @ Q) @ Q.T  # once more: what rounding left
    out = np.zeros_like(beta)
    out[:, shattered] = gamma / norms
    return out


def null_vectors(measure: Measure, shattered: BoolArray, support: BoolArray, threads: int) -> FloatArray:
    """Coefficients of functions that vanish on the support, a basis of them all, shape ``(r - n, 2**d)``.

    For each shattered set S that is not order-shattered: chi_S minus its own continuation from the support.
    """
    extra = np.flatnonzero(shattered & ~order_shattered(support))
    chi = np.array([parities(len(support))[np.arange(len(support)) & S] for S in extra])
    return fourier.forward(chi - _kernels.extend(np.where(support, chi, 0.0), support), measure, threads)[0]


def order_shattered(support: BoolArray) -> BoolArray:
    """The sets whose parities :func:`hoeffding._kernels.extend` uses: as many as points, all of them shattered."""
    d = len(support).bit_length() - 1
    sets = support.reshape((2,) * d)
    for axis in range(d):
        x0, x1 = np.take(sets, 0, axis), np.take(sets, 1, axis)
        sets = np.stack([x0 | x1, x0 & x1], axis)
    return sets.ravel()
