r"""Penalised least squares in Gram form, with the duality gap as certificate.

.. math:: P(b) = \tfrac12 b^\top G b - m^\top b + \tfrac12 y^2
    + \sum_j \bigl(\lambda_j |b_j| + \tfrac12 \rho_j b_j^2\bigr),

where :math:`y^2` is the mean square of the centred target: half the mean squared error plus an elastic net. With
:math:`q = m - G b`, the residual, scaled down if need be, is a point of the dual problem; primal minus dual value
bounds how far b is from the optimum (:func:`certify`).

Coordinate descent finds signs and support; as soon as they settle, the equations on the support are solved exactly
(Cholesky), which a step of descent then confirms. Problems with special structure are solved directly: ridge (no
:math:`\lambda`) by Cholesky, least squares (no penalty) by a rank-revealing eigenvalue decomposition, minimum norm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels
from hoeffding.machine import linear_algebra_threads
from hoeffding.progress import say

FloatArray = npt.NDArray[np.float64]

SWEEPS = 5  # of coordinate descent on the current support, between two looks at all coordinates
ONE_THREAD = 3000
PLAIN = 60  # sweeps, before they are extrapolated: enough for most
EXACT_STEPS = 30.0  # that come for free
CUBE_SPEED = 60.0  # an exact step, of r^3 / 3 operations, takes as long as one of so many of them in a sweep, of 2 r^2
SETTLED = 0.05  # share of signs that may change in between for an exact step to be worth it
RANK_TOLERANCE = 1e-11  # of eigenvalues of the correlation matrix: rounding of the counts is some 1e-13


@dataclass(frozen=True, eq=False)
class Problem:
    """One penalised least-squares problem in Gram form.

    Attributes
    ----------
    G : (r, r), symmetric
    m : (r,)
    yy : float
    l1, l2 : (r,)
        The penalties of the coordinates.
    """

    G: FloatArray
    m: FloatArray
    yy: float
    l1: FloatArray
    l2: FloatArray


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients, and the certificate of how good they are.

    Attributes
    ----------
    beta : (r,)
    objective, gap : float
        The objective is at most ``gap`` above the minimum.
    n_iter : int
        Sweeps over all coordinates (0 for direct methods).
    converged : bool
        Whether the gap is below the tolerance.
    rank : int or None
        Of G, where it was determined.
    unique : bool
        Whether this is known to be the only minimum.
    """

    beta: FloatArray
    objective: float
    gap: float
    n_iter: int
    converged: bool
    rank: int | None = None
    unique: bool = False


def solve(problem: Problem, beta: FloatArray | None, tol: float, max_iter: int) -> Solution:
    """Minimise to a duality gap of ``tol`` times the mean square of the target, from a start if one is given."""
    # Up to this size the threads of the linear algebra wait for each other longer than they work.
    with linear_algebra_threads(1 if len(problem.m) <= ONE_THREAD else None):
        return _solve(problem, beta, tol, max_iter)


def _solve(problem: Problem, beta: FloatArray | None, tol: float, max_iter: int) -> Solution:
    if not problem.l1.any():
        return least_squares(problem) if not problem.l2.any() else ridge(problem)
    return elastic_net(problem, np.zeros(len(problem.m)) if beta is None else beta.copy(), tol, max_iter)


def elastic_net(problem: Problem, beta: FloatArray, tol: float, max_iter: int) -> Solution:
    """Sweeps of coordinate descent; once the signs settle, the exact solution on the support. Starts at ``beta``.

    Exact steps may take as long as the sweeps, and some more at the beginning: where the support is larger than the
    rank, they lead nowhere for long.
    """
    r = len(problem.m)
    everything = np.flatnonzero(np.diag(problem.G) + problem.l2 > 0)
    goal = tol * problem.yy
    best, n_iter, allowed = _evaluate(problem, beta), 0, EXACT_STEPS
    while best.gap > goal and n_iter < max_iter:
        beta, before = best.beta, np.sign(best.beta)
        q = problem.m - problem.G @ beta
        _kernels.descend(problem.G, problem.l1, problem.l2, everything, beta, q, 1)
        if n_iter < PLAIN:
            _kernels.descend(problem.G, problem.l1, problem.l2, np.flatnonzero(beta), beta, q, SWEEPS)
        else:
            beta = _extrapolated(problem, beta, q)
        n_iter += 1 + SWEEPS
        on = np.flatnonzero(beta)
        allowed += (1 + SWEEPS) * CUBE_SPEED * r / max(len(on), 1) ** 2
        if np.count_nonzero(np.sign(beta) != before) <= SETTLED * len(on) and allowed >= 1:
            signs = np.sign(beta[on])
            H = problem.G[np.ix_(on, on)]
            H[np.diag_indices_from(H)] += problem.l2[on]
            beta[on], steps = _in_orthant(H, problem.m[on] - problem.l1[on] * signs, beta[on], signs, int(allowed))
            allowed -= steps
        best = _evaluate(problem, beta)
        say(f"{len(on)} of {len(everything)} components, {n_iter} sweeps: gap {best.gap:.1e}, goal {goal:.1e}")
    if n_iter > 0 and best.gap <= goal and allowed >= 1:
        best = _polished(problem, best, goal)
    unique = best.unique or _only_minimum(problem, best)
    return replace(best, n_iter=n_iter, converged=best.gap <= goal, unique=unique)


def _polished(problem: Problem, found: Solution, goal: float) -> Solution:
    """The exact solution on the support, if it has the same signs and reaches the goal as well.

    A gap of rounding leaves the square root of it in the coefficients, which would depend on the order of the rows.
    """
    on = np.flatnonzero(found.beta)
    signs = np.sign(found.beta[on])
    H = problem.G[np.ix_(on, on)]
    H[np.diag_indices_from(H)] += problem.l2[on]
    beta = np.zeros_like(found.beta)
    beta[on], _ = _in_orthant(H, problem.m[on] - problem.l1[on] * signs, found.beta[on], signs, 1)
    best = _evaluate(problem, beta)
    return best if best.gap <= goal else found


def _extrapolated(problem: Problem, beta: FloatArray, q: FloatArray) -> FloatArray:
    """Sweeps over the support, and the combination of them whose steps nearly cancel (Anderson), if it is lower."""
    on = np.flatnonzero(beta)
    history = [beta[on]]
    for _ in range(SWEEPS):
        _kernels.descend(problem.G, problem.l1, problem.l2, on, beta, q, 1)
        history.append(beta[on])
    steps = np.diff(history, axis=0)
    C = steps @ steps.T
    if not C[-1, -1] > 0:
        return beta
    C[np.diag_indices_from(C)] += 1e-12 * np.trace(C)
    c = np.linalg.solve(C, np.ones(SWEEPS))
    trial = np.zeros_like(beta)
    trial[on] = c @ np.array(history[1:]) / c.sum()
    return trial if _value(problem, trial, problem.m - problem.G @ trial) < _value(problem, beta, q) else beta


def _value(problem: Problem, beta: FloatArray, q: FloatArray) -> float:
    """The objective up to a constant, where ``q = m - G b``."""
    penalty = problem.l1 @ np.abs(beta) + 0.5 * problem.l2 @ beta**2
    return float(penalty - 0.5 * beta @ (problem.m + q))


def _only_minimum(problem: Problem, found: Solution) -> bool:
    """Whether the columns that may have a coefficient in some minimum are linearly independent."""
    from scipy.linalg import LinAlgError, cho_factor

    q, norm2 = problem.m - problem.G @ found.beta, np.diag(problem.G)
    # Of a minimum q is within sqrt(2 gap norm2), and its coefficients are zero where |q| is below the penalty.
    on = np.flatnonzero((np.abs(q) + np.sqrt(2 * found.gap * norm2) >= problem.l1) & (norm2 > 0))
    norms = np.sqrt(norm2[on])
    correlation = problem.G[np.ix_(on, on)] / np.outer(norms, norms)
    correlation[np.diag_indices_from(correlation)] -= RANK_TOLERANCE
    try:
        cho_factor(correlation, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def _in_orthant(H: FloatArray, c: FloatArray, b: FloatArray, signs: FloatArray, most: int) -> tuple[FloatArray, int]:
    """Lower ``b'Hb/2 - c'b`` where no coordinate has the opposite sign, from ``b``: projected Newton steps.

    Coordinates that reach zero stay there; whether they should come back is for the next sweep to say. Takes ``most``
    steps at most, and says how many it took.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    for step in range(1, most + 1):
        free = np.flatnonzero(b)
        target = np.zeros_like(b)
        try:
            factor = cho_factor(H[np.ix_(free, free)], overwrite_a=True, check_finite=False)
        except LinAlgError:  # numerically singular: leave it to coordinate descent
            return b, step
        target[free] = cho_solve(factor, c[free], check_finite=False)
        if (target[free] * signs[free] > 0).all():
            return target, step
        crossing = free[target[free] * signs[free] <= 0]
        first = np.min(b[crossing] / (b[crossing] - target[crossing]))
        for t in (1.0, 0.5, 0.25, 0.1, first):  # at the first crossing the value is lower and one coordinate zero
            trial = b + t * (target - b)
            trial[trial * signs <= (0 if t != first else 1e-14 * np.abs(b))] = 0.0
            if 0.5 * trial @ (H @ trial) - c @ trial < 0.5 * b @ (H @ b) - c @ b:
                break
        else:
            return b, step
        b = trial
    return b, most


def ridge(problem: Problem) -> Solution:
    """The closed form without an absolute penalty; every coordinate must have a quadratic one."""
    from scipy.linalg import cho_factor, cho_solve

    H = problem.G + np.diag(problem.l2)
    beta = cho_solve(cho_factor(H, overwrite_a=True, check_finite=False), problem.m)
    return _direct(problem, beta, None)


def least_squares(problem: Problem) -> Solution:
    """Without a penalty: the minimiser of least ``sum_j G_jj b_j^2``, the variance of the components."""
    from scipy.linalg import eigh

    say(f"Least squares with {len(problem.m)} components")
    scale = np.sqrt(np.diag(problem.G))
    on = np.flatnonzero(scale > 0)
    inverse = 1 / scale[on]
    values, vectors = eigh(inverse[:, None] * problem.G[np.ix_(on, on)] * inverse, overwrite_a=True, check_finite=False)
    kept = values > RANK_TOLERANCE * max(values.max(initial=0.0), 1.0)
    vectors, values = vectors[:, kept], values[kept]
    beta = np.zeros_like(problem.m)
    beta[on] = inverse * (vectors @ ((vectors.T @ (inverse * problem.m[on])) / values))
    return _direct(problem, beta, int(kept.sum()))


def _direct(problem: Problem, beta: FloatArray, rank: int | None) -> Solution:
    """The gap of a direct solution: that of the quadratic problem, ``q' H^-1 q / 2`` at most, is rounding."""
    q = problem.m - problem.G @ beta - problem.l2 * beta
    curvature = np.diag(problem.G) + problem.l2
    slack = np.divide(q**2, curvature, out=np.zeros_like(q), where=curvature > 0)
    unique = rank is None or rank == len(beta)
    return Solution(beta, _objective(problem, beta), float(slack.max(initial=0.0)), 0, True, rank, unique)


def _objective(problem: Problem, beta: FloatArray) -> float:
    loss = 0.5 * (problem.yy + beta @ (problem.G @ beta)) - problem.m @ beta
    return float(loss + problem.l1 @ np.abs(beta) + 0.5 * problem.l2 @ beta**2)


def _evaluate(problem: Problem, beta: FloatArray) -> Solution:
    q = problem.m - problem.G @ beta
    return certify(beta.copy(), q, problem.yy - float(problem.m @ beta), problem.l1, problem.l2)


def certify(beta: FloatArray, q: FloatArray, y_rest: float, l1: FloatArray, l2: FloatArray) -> Solution:
    """Objective and duality gap, from ``q`` and ``y_rest``, the mean of the target times what is left of it.

    Two dual points bound the minimum; the better one counts. The residual itself is feasible if every coordinate has a
    quadratic penalty (the gap is then what is missing in Fenchel's inequality, coordinate by coordinate); scaled down
    it always is.
    """
    penalty2 = float(l2 @ beta**2)
    rest2 = y_rest - float(q @ beta)  # the mean square of what is left
    primal = 0.5 * rest2 + float(l1 @ np.abs(beta)) + 0.5 * penalty2
    excess = np.abs(q - l2 * beta)
    over = excess > l1
    s = float(np.min(l1[over] / excess[over], initial=1.0))
    gap = primal - (s * y_rest - 0.5 * s * s * (rest2 + penalty2))
    beyond = np.maximum(np.abs(q) - l1, 0.0)
    if (l2[beyond > 0] > 0).all():
        conjugate = np.divide(beyond**2, 2 * l2, out=np.zeros_like(beyond), where=beyond > 0)
        gap = min(gap, float((l1 * np.abs(beta) + 0.5 * l2 * beta**2 - q * beta + conjugate).sum()))
    return Solution(beta, primal, max(gap, 0.0), 0, False, unique=bool((l2 > 0).all()))
