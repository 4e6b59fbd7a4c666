r"""The same elastic net without the Gram matrix: for many columns, or rows with few ones.

With :math:`\Psi = Z A`, both factors sparse, a product with :math:`G = A^\top Z^\top W Z A` costs one pass over the
rows, each a list of the sets whose bits are all one in it. Accelerated proximal steps need nothing else. The duality
gap is the same certificate as in Gram form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels
from hoeffding.bits import BitMatrix
from hoeffding.engines import solvers
from hoeffding.engines.gram import Basis, System
from hoeffding.engines.solvers import Solution
from hoeffding.machine import hands, require_memory
from hoeffding.moments import Moments
from hoeffding.progress import say

FloatArray = npt.NDArray[np.float64]

LOOK = 5  # steps between two looks at the duality gap
POWER_STEPS = 30
BYTES_OF_A_ONE = 16.0  # while the rows are listed


@dataclass(frozen=True, eq=False)
class Operator:
    """Centred columns of psi at the rows, as products.

    Attributes
    ----------
    starts, sets : arrays
        Z: row r has a one for each of ``sets[starts[r] : starts[r + 1]]``, the empty set (0) among them.
    A : scipy sparse array, shape (n_monomials, r), without the empty set
    A_T : its transpose
    mean, norm2 : (r,)
        The mean and the variance of each column before it is centred.
    share : (n_rows,)
        Weight of each row over the weight of all.
    n_jobs : int
    """

    starts: npt.NDArray[np.int64]
    sets: npt.NDArray[np.int32]
    A: Any
    A_T: Any
    mean: FloatArray
    norm2: FloatArray
    share: FloatArray
    n_jobs: int

    @classmethod
    def build(  # rows, their weights and what is known of both
        cls,
        bits: BitMatrix,
        weights: FloatArray | None,
        moments: Moments,
        basis: Basis,
        system: System,
        n_jobs: int,
    ) -> Operator:
        """List the ones of Z from bit-packed rows (in the features' own coding)."""
        from scipy.sparse import diags_array

        recoded = bits.recoded(moments.flip)
        if weights is None or moments.weights is not None:  # their counts are numbers of rows
            ones = int(moments.counts[basis.at].sum())
        else:
            ones = sum(int(recoded.count(level).sum()) for level in basis.monomials.levels)
        require_memory(BYTES_OF_A_ONE * ones, "the list of the ones of all sets", "use a lower order or fewer sets")
        levels = [np.ascontiguousarray(level, np.int32) for level in basis.monomials.levels]
        steps = len(basis.monomials) * recoded.columns.shape[1] + ones
        starts, sets = _kernels.sets_of_rows(recoded.columns, recoded.n_rows, levels, hands(n_jobs, steps))
        w = np.ones(bits.n_rows) if weights is None else weights
        varies = np.where(system.norm2 > 0, 1.0, 0.0)  # what does not vary has products of exactly zero
        A = basis.A[:, 1:] if varies.all() else (basis.A[:, 1:] @ diags_array(varies)).tocsc()
        return cls(starts, sets, A, A.T, system.mean * varies, system.norm2, w / w.sum(), n_jobs)

    def _monomials(self, b: FloatArray) -> FloatArray:
        """The coefficients of the monomials in ``Psi b``, centred."""
        c = np.asarray(self.A @ b)
        c[0] -= self.mean @ b
        return c

    def gram(self, b: FloatArray) -> FloatArray:
        """``G b``, by one pass over the rows."""
        threads = hands(self.n_jobs, 2 * len(self.sets))
        return np.asarray(
            self.A_T @ _kernels.gram_product(self.starts, self.sets, self.share, self._monomials(b), threads)
        )

    def values(self, b: FloatArray) -> FloatArray:
        """``Psi b``, centred, at the rows."""
        return np.asarray(np.add.reduceat(self._monomials(b)[self.sets], self.starts[:-1]))

    def products(self, residual: FloatArray) -> FloatArray:
        """The weighted mean of each centred column times a residual of mean zero."""
        ones = np.repeat(self.share * residual, np.diff(self.starts))
        return np.asarray(self.A_T @ np.bincount(self.sets, ones, self.A.shape[0]))

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
            v = self.gram(u)[on] / root
            largest = float(np.linalg.norm(v))
            v /= largest
        return 1.1 * max(largest, 1.0)  # the mean of those that are not zero is at least one


def elastic_net(  # the problem, where to start and when to stop
    operator: Operator,
    m: FloatArray,
    yy: float,
    beta: FloatArray | None,
    penalties: tuple[FloatArray, FloatArray],
    tol: float,
    max_iter: int,
) -> Solution:
    """Minimise as :func:`hoeffding.engines.solvers.elastic_net` does, with products in place of the matrix.

    Accelerated proximal steps in the metric ``norm2 + l2``, where ``norm2`` is the diagonal of the Gram matrix; the
    momentum is dropped when it points uphill. Starts at ``beta``.
    """
    l1, l2 = penalties
    metric = operator.norm2 + l2
    step = np.divide(1.0, metric, out=np.zeros_like(metric), where=metric > 0) / operator.largest_eigenvalue
    threshold, shrink = step * l1, 1 / (1 + step * l2)
    b = np.zeros_like(l1) if beta is None else beta
    Gb = np.zeros_like(l1) if beta is None else operator.gram(beta)
    z, Gz, momentum = b, Gb, 1.0
    best = solvers.certify(b, m - Gb, yy - float(m @ b), l1, l2)
    n_iter = 0
    while best.gap > tol * yy and n_iter < max_iter:
        u = z + step * (m - Gz)
        new = np.sign(u) * np.maximum(np.abs(u) - threshold, 0.0) * shrink
        G_new = operator.gram(new)
        n_iter += 1
        if (metric * (z - new)) @ (new - b) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        c = (momentum - 1) / following
        z, Gz = new + c * (new - b), G_new + c * (G_new - Gb)
        b, Gb, momentum = new, G_new, following
        if n_iter % LOOK == 0 or n_iter == max_iter:
            best = solvers.certify(b, m - Gb, yy - float(m @ b), l1, l2)
            on = np.count_nonzero(b)
            say(f"{on} of {len(b)} components, {n_iter} steps: gap {best.gap:.1e}, goal {tol * yy:.1e}")
    return replace(best, n_iter=n_iter, converged=best.gap <= tol * yy)
