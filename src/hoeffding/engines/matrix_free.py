r"""The same elastic net without the Gram matrix: for many columns, or rows with few ones.

With :math:`\Psi = Z A`, both factors sparse, :math:`q = A^\top Z^\top W (y - Z A b)` costs one pass over the ones of Z.
Accelerated proximal steps need nothing else. The duality gap is the same certificate as in Gram form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
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
    mean, norm2 : (r,)
        The mean and the variance of each column before it is centred.
    share : (n_rows,)
        Weight of each row over the weight of all.
    """

    Z: Any
    A: Any
    mean: FloatArray
    norm2: FloatArray
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
        return cls(Z, A, system.mean * varies, system.norm2, w / w.sum())

    def values(self, b: FloatArray) -> FloatArray:
        """``Psi b``, centred, at the rows."""
        return np.asarray(self.Z @ (self.A @ b)) - self.mean @ b

    def products(self, residual: FloatArray) -> FloatArray:
        """The weighted mean of each centred column times a residual of mean zero."""
        return np.asarray(self.A.T @ (self.Z.T @ (self.share * residual)))

    @cached_property
    def largest_eigenvalue(self) -> float:
        """An upper estimate of that of the Gram matrix in the metric of its diagonal, by power iteration.

        In the metric ``norm2 + l2`` it is smaller still.
        """
        on = self.norm2 > 0
        root = np.sqrt(self.norm2[on])
        v = np.cos(np.arange(on.sum()) ** 2)  # any vector that is not orthogonal to the one looked for
        u = np.zeros_like(self.norm2)
        largest = 1.0
        for _ in range(POWER_STEPS):
            u[on] = v / root
            v = self.products(self.values(u))[on] / root
            largest = float(np.linalg.norm(v))
            v /= largest
        return 1.1 * max(largest, 1.0)  # the mean of those that are not zero is at least one


def elastic_net(
    operator: Operator,
    y: FloatArray,
    beta: FloatArray | None,
    penalties: tuple[FloatArray, FloatArray],
    tol: float,
    max_iter: int,
) -> Solution:
    """Minimise as :func:`hoeffding.engines.solvers.elastic_net` does, for a target of mean zero; starts at ``beta``.

    Accelerated proximal steps in the metric ``norm2 + l2``, where ``norm2`` is the diagonal of the Gram matrix; the
    momentum is dropped when it points uphill.
    """
    l1, l2 = penalties
    metric = operator.norm2 + l2
    step = np.divide(1.0, metric, out=np.zeros_like(metric), where=metric > 0) / operator.largest_eigenvalue
    yy = float(operator.share @ y**2)
    b = np.zeros_like(l1) if beta is None else beta
    fb = np.zeros_like(y) if beta is None else operator.values(beta)
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
