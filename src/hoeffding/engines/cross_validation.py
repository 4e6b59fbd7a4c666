"""The strength of the penalty by cross-validation, from moments of folds: the rows are counted once.

The moments of the training rows are those of all rows without those of a fold. The squared errors on the fold are, with
the coefficients c of the monomials that occur in it, ``sum w y^2 - 2 c'Z'Wy + c'Z'WZ c``. Each fold has the sets that a
fit to its training rows alone would have, and psi_S is zero at cells that no training row is in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.engines.gram import System, monomial_gram
from hoeffding.engines.low_order import Given, GramProblem, Rows, Settings
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
    """The alphas tried, from the largest, and their mean squared errors on rows left out (summed over outputs).

    ``failed`` counts the folds in which the fit did not converge.
    """

    alphas: FloatArray
    errors: FloatArray
    failed: npt.NDArray[np.int64]

    @property
    def best(self) -> float:
        return float(self.alphas[np.argmin(self.errors)])


def folds_without(parts: Sequence[Moments]) -> list[Fold]:
    """Each part left out in turn."""
    whole = sum(parts[1:], start=parts[0])
    return [Fold(whole - part, part) for part in parts]


def folds_of(cv: Any, rows: Rows, whole: Moments, n_jobs: int) -> list[Fold]:
    """Folds of rows, from a number (row i is in fold ``i % cv``), a splitter, or (train, test) row indices.

    All of them mean the rows as they were given, with those of weight zero.
    """

    def part(at: npt.NDArray[np.intp]) -> Moments:
        w = None if rows.weights is None else rows.weights[at]
        return Moments.from_chunk(rows.bits.take(at), rows.targets[at], w, like=whole, n_jobs=n_jobs)

    given = Given(np.arange(rows.bits.n_rows), rows.targets) if rows.given is None else rows.given
    n = len(given.targets)
    if isinstance(cv, int | np.integer):
        if cv > n:
            raise ValueError(f"cv={cv!r}: more folds than rows, of which there are {n}")
        held_out = [np.flatnonzero(given.at % cv == k) for k in range(cv)]
        for k, test in enumerate(held_out):
            _need_rows(k, rows.bits.n_rows - len(test))
        parts = [part(test) for test in held_out if test.size]
        return [Fold(whole - fold, fold) for fold in parts]
    splits = list(cv.split(given.targets, given.targets) if hasattr(cv, "split") else cv)
    if not splits:
        raise ValueError("cv: holds no folds; give pairs of row indices (train, test), a splitter, or a number")
    now = np.full(n, -1)
    now[given.at] = np.arange(len(given.at))
    folds = []
    for k, (train, test) in enumerate(splits):
        fitted, left_out = (at[at >= 0] for at in (now[_indices(train, n)], now[_indices(test, n)]))
        _need_rows(k, len(fitted))
        if left_out.size:  # else there is nothing to be wrong about
            folds.append(Fold(part(fitted), part(left_out)))
    if not folds:
        raise ValueError("cv: no row left out has a weight above zero, so that nothing can be compared")
    return folds


def _need_rows(k: int, n_rows: int) -> None:
    if not n_rows:
        raise ValueError(f"cv: no row that fold {k} is fitted to has a weight above zero; give other folds")


def _indices(at: Any, n: int) -> npt.NDArray[np.intp]:
    out = np.asarray(at)
    if out.ndim != 1 or out.dtype.kind not in "iu" or not out.size or out.min() < 0 or out.max() >= n:
        raise ValueError(f"cv: a fold must be a list of row indices between 0 and {n - 1}, not empty")
    return out.astype(np.intp)


def alphas_of(system: System, settings: Settings) -> FloatArray:
    """A geometric sequence, from where all coefficients are zero (for a pure ridge, where they are small)."""
    unit = np.ones_like(system.norm2) if settings.scale == "raw" else system.norm2
    largest = np.abs(system.m).max(axis=1, initial=0.0)
    ratio = np.divide(largest, np.sqrt(unit), out=np.zeros_like(unit), where=unit > 0)
    start = float(ratio.max(initial=0.0)) / max(settings.l1_ratio, 1e-3) or 1.0
    return np.geomspace(start, start * ALPHA_RANGE, N_ALPHAS)


def path(
    alphas: FloatArray, folds: Sequence[Fold], family_of: Callable[[Moments], SubsetFamily], settings: Settings
) -> Path:
    """The errors of all alphas on rows left out; ``family_of`` gives the sets that training rows have."""
    errors, failed = np.zeros(len(alphas)), np.zeros(len(alphas), np.int64)
    for k, fold in enumerate(folds, start=1):
        say(f"Fold {k} of {len(folds)}")
        squares, converged = _squared_errors(fold, family_of(fold.train), alphas, settings)
        errors += squares
        failed += ~converged
    return Path(alphas, errors / sum(fold.held_out.total for fold in folds), failed)


def _squared_errors(
    fold: Fold, family: SubsetFamily, alphas: FloatArray, settings: Settings
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Summed over the rows left out, for each alpha, each fit starting at the one before; and if the fits converged."""
    problem, held_out = GramProblem.build(fold.train, family, settings.n_jobs), fold.held_out
    basis, system = problem.basis.at_rows_of(held_out), problem.system
    M = monomial_gram(held_out, basis.monomials, settings.n_jobs) * held_out.total
    t = held_out.targets_of(basis.monomials)
    out, converged, beta = np.zeros(len(alphas)), np.ones(len(alphas), np.bool_), None
    for a, alpha in enumerate(alphas.tolist()):
        fit = problem.fit(replace(settings, alpha=alpha), beta)
        beta, converged[a] = fit.beta, fit.converged
        intercept = system.y_mean - system.mean @ beta - held_out.offset
        c = np.asarray(basis.A @ np.concatenate([intercept[None], beta]))
        out[a] = (held_out.squares - 2 * (c * t).sum(axis=0) + (c * (M @ c)).sum(axis=0)).sum()
    return out, converged
