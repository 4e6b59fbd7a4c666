r"""The same elastic net without the Gram matrix: for many columns, or rows with few ones.

With :math:`\Psi = Z A`, both factors sparse, :math:`q = A^\top Z^\top W (y - Z A b)` costs one pass over the ones of Z.
Accelerated proximal steps need nothing else. The duality gap is the same certificate as in Gram form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix
from hoeffding.engines import solvers
from hoeffding.engines.gram import Basis, System
from hoeffding.engines.solvers import Solution
from hoeffding.machine import require_memory
from hoeffding.moments import Moments
from hoeffding.progress import say

FloatArray = npt.NDArray[np.float64]

LOOK = 10  # steps between two looks at the duality gap, which costs half a step
POWER_STEPS = 30


@dataclass(frozen=True, eq=False)
class Operator:
    """Centred columns of psi at the rows, as products.

    Attributes
    ----------
    Z : scipy sparse array, shape (n_rows, n_monomials)
    A : scipy sparse array, shape (n_monomials, r), without the empty set
    mean : (r,)
    share : (n_rows,)
        Weight of each row over the weight of all.
    """

    Z: Any
    A: Any
    mean: FloatArray
    share: FloatArray

    @classmethod
    def build(
        cls, bits: BitMatrix, weights: FloatArray | None, moments: Moments, basis: Basis, system: System, threads: int
    ) -> Operator:
        """List the ones of Z from bit-packed rows (in the features' own coding)."""
        from scipy.sparse import csc_array, diags_array

        recoded = bits.recoded(moments.flip)
        if weights is None or moments.weights is not None:  # their counts are numbers of rows
            counts = np.split(moments.counts[basis.at], basis.monomials.starts[1:-1])
        else:
            counts = [recoded.count(level) for level in basis.monomials.levels]
        require_memory(
            20.0 * sum(c.sum() for c in counts), "the list of the ones of all sets", "use a lower order or fewer sets"
        )
        rows = np.concatenate(
            [recoded.rows_of(level, c, threads) for level, c in zip(basis.monomials.levels, counts, strict=True)]
        )
        starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        Z = csc_array((np.ones(len(rows)), rows, starts), shape=(bits.n_rows, len(basis.monomials)))
        w = np.ones(bits.n_rows) if weights is None else weights
        varies = np.where(system.norm2 > 0, 1.0, 0.0)  # what does not vary has products of exactly zero
        A = basis.A[:, 1:] if varies.all() else basis.A[:, 1:] @ diags_array(varies)
        return cls(Z, A, system.mean * varies, w / w.sum())

    def values(self, b: FloatArray) -> FloatArray:
        """``Psi b``, centred, at the rows."""
        return np.asarray(self.Z @ (self.A @ b)) - self.mean @ b

    def products(self, residual: FloatArray) -> FloatArray:
        """The weighted mean of each centred column times a residual of mean zero."""
        return np.asarray(self.A.T @ (self.Z.T @ (self.share * residual)))


def elastic_net(
    operator: Operator, y: FloatArray, l1: FloatArray, l2: FloatArray, norm2: FloatArray, tol: float, max_iter: int
) -> Solution:
    """Minimise as :func:`hoeffding.engines.solvers.elastic_net` does, for a target of mean zero.

    Accelerated proximal steps in the metric ``norm2 + l2``, where ``norm2`` is the diagonal of the Gram matrix; the
    momentum is dropped when it points uphill.
    """
    metric = norm2 + l2
    step = np.divide(1.0, metric, out=np.zeros_like(metric), where=metric > 0) / _largest_eigenvalue(
        operator, metric, l2
    )
    yy = float(operator.share @ y**2)
    b, fb = np.zeros_like(l1), np.zeros_like(y)
    z, fz, momentum = b, fb, 1.0
    solution = Solution(b, 0.5 * yy, np.inf, 0, False)
    for n_iter in range(max_iter):
        u = z + step * operator.products(y - fz)
        new = np.sign(u) * np.maximum(np.abs(u) - step * l1, 0.0) / (1 + step * l2)
        f_new = operator.values(new)
        if n_iter % LOOK == 0:
            rest = y - f_new
            y_rest = float(y @ (operator.share * rest))
            solution = replace(solvers.certify(new, operator.products(rest), y_rest, l1, l2), n_iter=n_iter + 1)
            on = np.count_nonzero(new)
            say(f"{on} of {len(new)} components, {n_iter} steps: gap {solution.gap:.1e}, goal {tol * yy:.1e}")
            if solution.gap <= tol * yy:
                return replace(solution, converged=True)
        if (metric * (z - new)) @ (new - b) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        c = (momentum - 1) / following
        z, fz = new + c * (new - b), f_new + c * (f_new - fb)
        b, fb, momentum = new, f_new, following
    return solution


def _largest_eigenvalue(operator: Operator, metric: FloatArray, l2: FloatArray) -> float:
    """An upper estimate for the problem in the given metric, by power iteration from a fixed start."""
    on = metric > 0
    root = np.sqrt(metric[on])
    v = np.cos(np.arange(on.sum()) ** 2)  # any vector that is not orthogonal to the one looked for
    u = np.zeros_like(metric)
    largest = 1.0
    for _ in range(POWER_STEPS):
        u[on] = v / root
        v = (operator.products(operator.values(u)) + l2 * u)[on] / root
        largest = float(np.linalg.norm(v))
        v /= largest
    return 1.1 * largest
