r"""Penalised fits of a given family of components, by either of two routes whose results agree.

From the Gram matrix, which comes from counts (:mod:`~hoeffding.engines.gram`), or by sparse products with the rows
(:mod:`~hoeffding.engines.matrix_free`), where these are cheaper or the matrix would not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix
from hoeffding.engines import matrix_free, solvers
from hoeffding.engines.gram import Basis, System, system_of
from hoeffding.engines.matrix_free import Operator
from hoeffding.engines.solvers import Problem, Solution
from hoeffding.machine import NEGLIGIBLE, available_memory, readable_bytes
from hoeffding.moments import Moments
from hoeffding.progress import say
from hoeffding.subsets import SubsetFamily

FloatArray = npt.NDArray[np.float64]

GRAM_MATRICES = 4  # of r x r numbers, held at the same time by the Gram route
SHARE_OF_MEMORY = 0.8  # of what is available, that these may take
SMALL_GRAM = 5000  # components whose Gram matrix is solved in seconds


@dataclass(frozen=True)
class Settings:
    """The elastic net, on raw coefficients or on those of components of unit variance, and when to stop."""

    alpha: float
    l1_ratio: float
    scale: Literal["raw", "unit"]
    tol: float
    max_iter: int
    n_jobs: int

    def penalties(self, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The absolute and the quadratic penalty of each coefficient, from the variances of psi."""
        unit = np.ones_like(variance) if self.scale == "raw" else variance
        return self.alpha * self.l1_ratio * np.sqrt(unit), self.alpha * (1 - self.l1_ratio) * unit

    @property
    def direct(self) -> bool:
        """Whether the fit is exact least squares, which takes the Gram matrix."""
        return self.alpha == 0


@dataclass(frozen=True, eq=False)
class Given:
    """The rows before those of weight zero were left out: which of them the others are, and the targets of all."""

    at: npt.NDArray[np.intp]
    targets: FloatArray


@dataclass(frozen=True, eq=False)
class Rows:
    """What is fitted to: rows, their weights (None: all one; none is zero) and targets, shape ``(n, m)``.

    ``given`` is what they were chosen from, if some were left out.
    """

    bits: BitMatrix
    targets: FloatArray
    weights: FloatArray | None
    given: Given | None = None


@dataclass(frozen=True, eq=False)
class Fit:
    """A solved problem with r components (the empty set, whose coefficient is the intercept, not counted).

    Attributes
    ----------
    beta : (r, m)
    covariances : (r, m)
        Of each psi_S with the fitted function.
    route : str
        ``"gram"`` or ``"rows"``, with the reason.
    """

    moments: Moments
    basis: Basis
    system: System
    solutions: list[Solution]
    covariances: FloatArray
    route: str

    @property
    def beta(self) -> FloatArray:
        return np.stack([s.beta for s in self.solutions], axis=1)

    @property
    def converged(self) -> bool:
        return all(s.converged for s in self.solutions)

    @property
    def unique(self) -> bool:
        """Whether this is known to be the only minimum."""
        return all(s.unique for s in self.solutions)


class Route(NamedTuple):
    """Whether to use the rows, and why; and whether the Gram matrix can take over if that does not converge."""

    rows: bool
    reason: str
    gram_in_reserve: bool = False


def choose_route(r: int, n: int, ones: int, direct: bool) -> Route:
    """The cheaper route for r components whose monomials have so many ones in all n rows; an error if none is left."""
    gram_bytes = 8.0 * GRAM_MATRICES * r * r
    free = available_memory() if gram_bytes > NEGLIGIBLE else None
    if free is not None and gram_bytes > SHARE_OF_MEMORY * free:
        if direct:
            raise MemoryError(
                f"{r} components: their Gram matrix takes {readable_bytes(gram_bytes)}, {readable_bytes(free)} are "
                f"available; use a smaller order, a larger min_count, or a number alpha > 0"
            )
        return Route(True, f"rows: the Gram matrix would take {readable_bytes(gram_bytes)}")
    if not direct and ones < r * r / 2:
        reason = f"rows: {ones} ones in all monomials, fewer than the {r * r} entries of the Gram matrix"
        return Route(True, reason, gram_in_reserve=r <= min(n, SMALL_GRAM))  # singular if r > n
    return Route(False, f"gram: {r} x {r} from counts")


@dataclass(frozen=True, eq=False)
class GramProblem:
    """A family and its Gram matrix, ready for any strength of the penalty."""

    moments: Moments
    basis: Basis
    system: System
    route: str

    @classmethod
    def build(cls, moments: Moments, family: SubsetFamily, n_jobs: int, route: str = "gram") -> GramProblem:
        """From counts of sets of up to 2k bits."""
        say(f"Gram matrix of {len(family)} components")
        basis = Basis.build(moments, family)
        return cls(moments, basis, System.build(moments, basis, n_jobs), route)

    def fit(self, settings: Settings, start: FloatArray | None = None) -> Fit:
        """The penalised fit of every output, from coefficients ``start`` of shape (r, m) if some are near."""
        system = self.system
        l1, l2 = settings.penalties(system.norm2)
        solutions = []
        for o, (m, yy) in enumerate(zip(system.m.T, system.yy, strict=True)):
            problem = Problem(system.G, m.copy(), float(yy), l1, l2)
            beta = None if start is None else start[:, o]
            solutions.append(solvers.solve(problem, beta, settings.tol, settings.max_iter))
        beta = np.stack([s.beta for s in solutions], axis=1)
        return Fit(self.moments, self.basis, system, solutions, system.G @ beta, self.route)


@dataclass(frozen=True, eq=False)
class RowsProblem:
    """A family and the ones of its monomials in the rows, ready for any strength of the penalty.

    ``reserve`` gives the Gram matrix of the same problem, which takes over if the steps do not converge.
    """

    rows: Rows
    moments: Moments
    basis: Basis
    system: System
    operator: Operator
    route: str
    reserve: Callable[[], GramProblem] | None

    @classmethod
    def build(
        cls,
        rows: Rows,
        moments: Moments,
        family: SubsetFamily,
        n_jobs: int,
        route: str,
        reserve: Callable[[], GramProblem] | None = None,
    ) -> RowsProblem:
        """From the rows, and counts of the sets of the family."""
        say(f"Listing the rows of {len(family)} components")
        basis = Basis.build(moments, family)
        system = system_of(moments, basis)
        operator = Operator.build(rows.bits, rows.weights, moments, basis, system, n_jobs)
        return cls(rows, moments, basis, system, operator, route, reserve)

    def fit(self, settings: Settings, start: FloatArray | None = None) -> Fit:
        """The penalised fit of every output, from coefficients ``start`` of shape (r, m) if some are near."""
        fit = self._by_steps(settings, start)
        if fit.converged or self.reserve is None:
            return fit
        route = (
            f"{self.route}; not converged after {settings.max_iter} steps, so gram: {len(self.basis.family)} columns"
        )
        return replace(self.reserve().fit(settings, fit.beta), route=route)

    def _by_steps(self, settings: Settings, start: FloatArray | None) -> Fit:
        system, operator = self.system, self.operator
        penalties = settings.penalties(system.norm2)
        solutions = []
        for o, yy in enumerate(system.yy.tolist()):
            m, beta = np.ascontiguousarray(system.m[:, o]), None if start is None else start[:, o]
            solutions.append(matrix_free.elastic_net(operator, m, yy, beta, penalties, settings.tol, settings.max_iter))
        covariance = np.stack([operator.gram(s.beta) for s in solutions], axis=1)
        return Fit(self.moments, self.basis, system, solutions, covariance, self.route)

    def rest(self, fit: Fit) -> FloatArray:
        """What a fit leaves of the targets at the rows, shape ``(n, m)``."""
        fitted = np.stack([self.operator.values(beta) for beta in fit.beta.T], axis=1)
        return self.rows.targets - self.system.y_mean - fitted
