"""The strength of the penalty by cross-validation, from moments of folds: the rows are counted once.

The moments of the training rows are those of all rows without those of a fold. The squared errors on the fold are, with
the coefficients c of the monomials, ``sum w y^2 - 2 c'Z'Wy + c'Z'WZ c``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.engines import solvers
from hoeffding.engines.gram import Basis, System, monomial_gram, system_of
from hoeffding.engines.low_order import Rows, Settings
from hoeffding.engines.solvers import Problem
from hoeffding.moments import Moments
from hoeffding.progress import say
from hoeffding.subsets import SubsetFamily

FloatArray = npt.NDArray[np.float64]

N_ALPHAS = 30
ALPHA_RANGE = 1e-4  # the smallest alpha tried, over the one that sets all coefficients to zero


@dataclass(frozen=True, eq=False)
class Fold:
    """Moments of the rows that are fitted to, and of those left out."""

    train: Moments
    held_out: Moments


@dataclass(frozen=True, eq=False)
class Path:
    """The alphas tried, from the largest, and their mean squared errors on rows left out (summed over outputs)."""

    alphas: FloatArray
    errors: FloatArray

    @property
    def best(self) -> float:
        return float(self.alphas[np.argmin(self.errors)])


def folds_without(parts: Sequence[Moments]) -> list[Fold]:
    """Each part left out in turn."""
    whole = sum(parts[1:], start=parts[0])
    return [Fold(whole - part, part) for part in parts]


def folds_of(cv: Any, rows: Rows, whole: Moments, n_jobs: int) -> list[Fold]:
    """Folds of rows, from a number (row i is in fold ``i % cv``), a splitter, or (train, test) row indices."""

    def part(at: npt.NDArray[np.intp]) -> Moments:
        w = None if rows.weights is None else rows.weights[at]
        return Moments.from_chunk(rows.bits.take(at), rows.targets[at], w, like=whole, n_jobs=n_jobs)

    n = rows.bits.n_rows
    if isinstance(cv, int | np.integer):
        if cv > n:
            raise ValueError(f"cv={cv!r}: more folds than rows, of which there are {n}")
        held_out = [part(np.arange(k, n, cv)) for k in range(cv)]
        return [Fold(whole - fold, fold) for fold in held_out]
    splits = list(cv.split(rows.targets, rows.targets) if hasattr(cv, "split") else cv)
    if not splits:
        raise ValueError("cv: holds no folds; give pairs of row indices (train, test), a splitter, or a number")
    return [Fold(part(_indices(train, n)), part(_indices(test, n))) for train, test in splits]


def _indices(at: Any, n: int) -> npt.NDArray[np.intp]:
    out = np.asarray(at)
    if out.ndim != 1 or out.dtype.kind not in "iu" or not out.size or out.min() < 0 or out.max() >= n:
        raise ValueError(f"cv: a fold must be a list of row indices between 0 and {n - 1}, not empty")
    return out.astype(np.intp)


def path(whole: Moments, folds: Sequence[Fold], family: SubsetFamily, settings: Settings) -> Path:
    """The errors of a geometric sequence of alphas, from the one that sets all coefficients to zero."""
    start = _largest_alpha(whole, family, settings)
    alphas = np.geomspace(start, start * ALPHA_RANGE, N_ALPHAS)
    errors = np.zeros(N_ALPHAS)
    for k, fold in enumerate(folds, start=1):
        say(f"Fold {k} of {len(folds)}")
        errors += _squared_errors(fold, family, alphas, settings)
    return Path(alphas, errors / sum(fold.held_out.total for fold in folds))


def _largest_alpha(whole: Moments, family: SubsetFamily, settings: Settings) -> float:
    """Where all coefficients are zero (for a pure ridge, where they are small)."""
    basis = Basis.build(whole, family)
    system = system_of(whole, basis)
    unit = np.ones_like(system.norm2) if settings.scale == "raw" else system.norm2
    largest = np.abs(system.m).max(axis=1, initial=0.0)
    ratio = np.divide(largest, np.sqrt(unit), out=np.zeros_like(unit), where=unit > 0)
    return float(ratio.max(initial=0.0)) / max(settings.l1_ratio, 1e-3) or 1.0


def _squared_errors(fold: Fold, family: SubsetFamily, alphas: FloatArray, settings: Settings) -> FloatArray:
    """Summed over the rows left out, for each alpha, each fit starting at the one before."""
    basis = Basis.build(fold.train, family)
    system = System.build(fold.train, basis, settings.n_jobs)
    held_out = fold.held_out
    M = monomial_gram(held_out, basis.monomials, settings.n_jobs) * held_out.total
    t = held_out.targets_of(basis.monomials)
    out = np.zeros(len(alphas))
    for o in range(len(system.yy)):
        beta = None
        for a, alpha in enumerate(alphas):
            l1, l2 = replace(settings, alpha=float(alpha)).penalties(system.norm2)
            problem = Problem(system.G, system.m[:, o].copy(), float(system.yy[o]), l1, l2)
            beta = solvers.solve(problem, beta, settings.tol, settings.max_iter).beta
            intercept = system.y_mean[o] - system.mean @ beta - held_out.offset[o]
            c = np.asarray(basis.A @ np.concatenate([[intercept], beta]))
            out[a] += held_out.squares[o] - 2 * c @ t[:, o] + c @ (M @ c)
    return out
