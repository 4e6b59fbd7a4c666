r"""The generalized Fourier transform between arrays: values on the cube and coefficients of the basis psi.

.. math:: f = \sum_S \beta_S \psi_S

m functions are ``(m, 2**d)``: the cube flattened in C order. Coefficients have the same shape: :math:`\beta_S` sits at
the flat index of the indicator vector of S. Sets that are not shattered have no psi_S; their coefficients are zero.

For a :class:`~hoeffding.measure.Product` measure everything factorises over the features and costs
:math:`O(d\,2^d)`; else the triangular recursion costs :math:`O(3^d)` (see ``_kernels/cpp/cube_kernels.cpp``).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels
from hoeffding.measure import Measure, Product
from hoeffding.progress import progress

FloatArray = npt.NDArray[np.float64]
_Matrix = Callable[[float, float], list[list[float]]]


def forward(f: FloatArray, measure: Measure, threads: int) -> tuple[FloatArray, FloatArray]:
    """Return ``(beta, rest)``, the coefficients of ``f`` and what they leave of it; ``f`` is overwritten.

    Off the support ``f`` must be such that its parity coefficients vanish at all sets that are not shattered.
    """
    if isinstance(measure, Product):
        beta = _kernels.kronecker(f, _per_feature(measure, _forward_matrix))
        return beta, np.subtract(f, inverse(beta, measure, threads), out=f)
    with progress("Decomposing", 3.0**measure.d) as done:
        return _kernels.solve(f, _flat_pmf(measure), threads, done), f


def inverse(beta: FloatArray, measure: Measure, threads: int) -> FloatArray:
    """Return the functions with coefficients ``beta``, on the whole cube."""
    if isinstance(measure, Product):
        return _kernels.kronecker(beta, _per_feature(measure, _inverse_matrix))
    with progress("Adding up components", 3.0**measure.d) as done:
        return _kernels.synthesize(beta, _flat_pmf(measure), threads, done)


def inner_products(f: FloatArray, measure: Measure, threads: int) -> tuple[FloatArray, FloatArray]:
    """Return ``E[f psi_S]``, shape ``(m, 2**d)``, and ``E[psi_S^2]``, shape ``(2**d,)``; zero if S is not shattered."""
    if isinstance(measure, Product):
        norm2 = np.ones(1)
        for p in measure.probabilities:
            norm2 = np.multiply.outer(norm2, [1.0, 0.25 / (p * (1 - p)) if 0 < p < 1 else 0.0]).ravel()
        return _kernels.kronecker(f, _per_feature(measure, _inner_matrix)), norm2
    p = _flat_pmf(measure)
    with progress("Taking inner products", 3.0**measure.d) as done:
        return _kernels.project(f * p, p, threads, done)


def _flat_pmf(measure: Measure) -> FloatArray:
    return np.ascontiguousarray(measure.pmf()).ravel()


def _per_feature(measure: Product, matrix: _Matrix) -> FloatArray:
    return np.array([matrix(1 - p, p) for p in measure.probabilities.tolist()])


def _forward_matrix(p0: float, p1: float) -> list[list[float]]:
    """From (f(0), f(1)) to (E f, beta_1), where psi_1 = (1/(2 p0), -1/(2 p1))."""
    return [[p0, p1], [2 * p0 * p1, -2 * p0 * p1]]


def _inverse_matrix(p0: float, p1: float) -> list[list[float]]:
    if p0 == 0 or p1 == 0:
        return [[1.0, 0.0], [1.0, 0.0]]
    return [[1.0, 0.5 / p0], [1.0, -0.5 / p1]]


def _inner_matrix(p0: float, p1: float) -> list[list[float]]:
    """From (f(0), f(1)) to (E f, E[f psi_1])."""
    return [[p0, p1], [0.0, 0.0] if p0 == 0 or p1 == 0 else [0.5, -0.5]]
