"""The paper's pipeline as published, and ours, from the same rows and outputs.

The pipeline builds the matrix of all psi_S up to the order with NumPy and gives it to scikit-learn's ElasticNet.
"""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitRows
from hoeffding.engines.regression import HoeffdingRegressor
from hoeffding.reproduce.models import BlackBox
from hoeffding.reproduce.printed import L1_RATIO, MAX_ITER, PRINTED

FloatArray = npt.NDArray[np.float64]
Sets = list[tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Task:
    """Rows ``X`` of shape ``(n, d)``, values ``y`` of shape ``(n,)``, and what to fit to them."""

    X: BitRows
    y: FloatArray
    order: int
    alpha: float


def task_of(box: BlackBox) -> Task:
    """What the paper fits to a black box."""
    printed = PRINTED[box.key]
    return Task(box.X, box.y, printed.order, printed.alpha)


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients of psi_S for ``sets``, shape ``(len(sets),)``, and a constant."""

    sets: Sets
    coefficients: FloatArray
    intercept: float
    n_iter: int
    converged: bool
    building: float = 0.0


def psi(X: BitRows, S: tuple[int, ...]) -> FloatArray:
    """The values of psi_S at the rows, shape ``(n,)``, by its formula."""
    bits = X[:, S]
    cell = bits @ (1 << np.arange(len(S)))
    p_S = np.bincount(cell, minlength=2 ** len(S)) / len(X)
    return np.asarray((-1.0) ** bits.sum(axis=1) / (2 ** len(S) * p_S[cell]))


def design_matrix(X: BitRows, order: int) -> tuple[Sets, FloatArray]:
    """All sets up to the order, and the values of their psi_S at the rows, in the layout scikit-learn works in."""
    sets = [S for size in range(order + 1) for S in combinations(range(X.shape[1]), size)]
    Psi = np.empty((len(X), len(sets)), order="F")
    for column, S in enumerate(sets):
        Psi[:, column] = psi(X, S)
    return sets, Psi


def published(task: Task, *, precompute: bool = False, tol: float = 1e-4, max_iter: int = MAX_ITER) -> Fit:
    """The paper's pipeline."""
    from sklearn.linear_model import ElasticNet

    start = time.perf_counter()
    sets, Psi = design_matrix(task.X, task.order)
    building = time.perf_counter() - start
    net = ElasticNet(alpha=task.alpha, l1_ratio=L1_RATIO, max_iter=max_iter, tol=tol, precompute=precompute)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net.fit(Psi, task.y)
    return Fit(sets, net.coef_, float(net.intercept_), int(net.n_iter_), not caught, building)


def ours(task: Task, family: str = "shattered", threads: int = -1, **settings: Any) -> HoeffdingRegressor:
    """The same problem solved from counts: a fitted HoeffdingRegressor."""
    given = {"order": task.order, "alpha": task.alpha, "l1_ratio": L1_RATIO, "max_iter": MAX_ITER} | settings
    return HoeffdingRegressor(family=family, n_jobs=threads, **given).fit(task.X, task.y)


def r2(task: Task, fit: Fit) -> float:
    """The share of the variance of y that a fit of the pipeline explains."""
    f = np.full(len(task.y), fit.intercept)
    for S, beta in zip(fit.sets, fit.coefficients.tolist(), strict=True):
        if beta:
            f += beta * psi(task.X, S)
    return float(1 - np.mean((task.y - f) ** 2) / task.y.var())


def timed(call: Callable[[], Any], runs: int) -> tuple[list[float], Any]:
    """Wall times of the runs but the first (if there are several), and what the last returned."""
    times, result = [], None
    for _ in range(runs):
        result = None
        gc.collect()
        start = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - start)
    return times[1:] or times, result
