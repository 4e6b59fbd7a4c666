r"""One decomposition out of many: the least total variance of components.

When the support has fewer points than shattered sets, many coefficients :math:`\beta` give the same function. Here
:math:`\sum_S \beta_S^2 \|\psi_S\|^2` is made as small as possible. In the unit-variance coefficients
:math:`\gamma_S = \beta_S \|\psi_S\|` this is the solution of minimum norm of :math:`A \gamma = f`, where A has
:math:`n` rows (points) and :math:`r` columns (shattered sets) and full row rank. Two routes, for the two ways of being
small:

- *row space*: :math:`A^\top = QR`, :math:`\gamma = Q R^{-\top} f`; cost :math:`2 r n^2`, memory :math:`2 r n`.
- *null space*: one solution (exact, by the recursion), minus its projection on the :math:`r - n` solutions for
  :math:`f = 0`, which come from the recursion too; cost :math:`(r - n) 3^d + 2 r (r - n)^2`.

Both use Householder QR, in one thread so that the result does not depend on how many there are. It loses digits at rare
points, and the continuation from the support loses some with every feature; so each route is a solver that is applied
again to what is left of f, until nothing but rounding is (:func:`refined`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels, fourier
from hoeffding._kernels.reference import parities
from hoeffding.machine import linear_algebra_threads
from hoeffding.measure import Measure
from hoeffding.subsets import SubsetFamily, order_shattered

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Solver = Callable[[FloatArray], FloatArray]

MAX_REFINEMENTS = 8


def refined(
    solver: Solver, f: FloatArray, measure: Measure, support: BoolArray, threads: int
) -> tuple[FloatArray, FloatArray]:
    """Apply a solver to ``f``, shape ``(m, 2**d)``, zero off the support, then to what it leaves, while that shrinks.

    Returns coefficients of all sets of the cube, and what they leave of ``f`` on the support (zero elsewhere).
    """
    beta, rest = np.zeros_like(f), f.copy()
    largest = np.abs(f).max()
    for _ in range(MAX_REFINEMENTS):
        next_beta = beta + solver(rest)
        next_rest = np.where(support, f - fourier.inverse(next_beta, measure, threads), 0.0)
        left = np.abs(next_rest).max()
        if not left < largest:
            break
        beta, rest, improved, largest = next_beta, next_rest, largest / max(left, 1e-300), left
        if improved < 2:
            break
    return beta, rest


def row_space(measure: Measure, family: SubsetFamily, support: BoolArray) -> Solver:
    """The solver of least variance through the row space; ``support`` marks the points, shape ``(2**d,)``."""
    from scipy.linalg import qr, solve_triangular

    A, norms = unit_design(measure, family)
    with linear_algebra_threads(1):
        Q, R = qr(A.T, mode="economic", overwrite_a=True, check_finite=False)

    def solve(f: FloatArray) -> FloatArray:
        with linear_algebra_threads(1):
            gamma = Q @ solve_triangular(R, f[:, support].T, trans="T", check_finite=False)
        return family.put(np.ascontiguousarray((gamma / norms[:, None]).T))

    return solve


def unit_design(measure: Measure, family: SubsetFamily) -> tuple[FloatArray, FloatArray]:
    """psi_S / |psi_S| at the points of the support, shape ``(n_points, r)``, and the norms; costs ``r n_points``."""
    rows, masses = measure.points()
    A, norms = np.empty((len(rows), len(family)), order="F"), np.empty(len(family))
    for column, s in enumerate(family):
        cell = np.zeros(len(rows), np.int64)
        for i in s:
            cell = 2 * cell + rows[:, i]
        w = 1 / (2 ** len(s) * np.bincount(cell, masses, 2 ** len(s)))
        norms[column] = np.sqrt(w.mean())
        A[:, column] = (parities(len(w)) * w)[cell] / norms[column]
    return A, norms


def null_space(measure: Measure, shattered: BoolArray, support: BoolArray, threads: int) -> Solver:
    """The solver of least variance through the null space; the masks are of sets and of points, shape ``(2**d,)``."""
    from scipy.linalg import qr

    _, norm2 = fourier.inner_products(np.zeros((0, len(support))), measure, threads)
    norms = np.sqrt(norm2[shattered])
    with linear_algebra_threads(1):
        N = null_vectors(measure, shattered, support, threads)[:, shattered]
        Q, _ = qr((N * norms).T, mode="economic", check_finite=False)
    one_solution = continuation(measure, support, threads)

    def solve(f: FloatArray) -> FloatArray:
        beta = one_solution(f)
        gamma = beta[:, shattered] * norms
        with linear_algebra_threads(1):
            for _ in range(2):  # the second time for what rounding left
                gamma -= (gamma @ Q) @ Q.T
        beta[:, shattered] = gamma / norms
        return beta

    return solve


def continuation(measure: Measure, support: BoolArray, threads: int) -> Solver:
    """The solver that continues f from the support and decomposes that: the only solution, or one of many."""
    return lambda f: fourier.forward(_kernels.extend(f, support), measure, threads)[0]


def null_vectors(measure: Measure, shattered: BoolArray, support: BoolArray, threads: int) -> FloatArray:
    """Coefficients of functions that vanish on the support, a basis of them all, shape ``(r - n, 2**d)``.

    For each shattered set S that is not order-shattered: chi_S minus its own continuation from the support.
    """
    extra = np.flatnonzero(shattered & ~order_shattered(support))
    chi = np.array([parities(len(support))[np.arange(len(support)) & S] for S in extra])
    beta = fourier.forward(chi.copy(), measure, threads)[0]
    on_support = np.where(support, chi, 0.0)
    return beta - refined(continuation(measure, support, threads), on_support, measure, support, threads)[0]
