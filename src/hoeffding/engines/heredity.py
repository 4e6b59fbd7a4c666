"""Interactions by strong heredity: order by order, a set is tried only if all its parts have a component.

For orders at which all sets would be too many. The fit of one order says which sets have a component. Candidates for
the next are the sets all of whose parts do. Those that are shattered remain; if there is a budget, those of them that
the residual correlates with most.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hoeffding.engines.gram import Basis, system_of
from hoeffding.engines.low_order import Fit, Rows, RowsProblem, Settings
from hoeffding.engines.matrix_free import Operator
from hoeffding.moments import Moments
from hoeffding.subsets import IndexArray, SubsetFamily, grow_candidates, index_dtype

FloatArray = npt.NDArray[np.float64]

ROUTE = "rows: order by order"


def grow(rows: Rows, order: int, min_count: int, max_sets: int | None, settings: Settings) -> Fit:
    """The fit of the last order, with at most ``max_sets`` components (the empty set does not count)."""
    d = rows.bits.n_features
    moments = Moments.of_family(rows.bits, SubsetFamily.up_to_order(d, 0), rows.targets, rows.weights)
    problem = RowsProblem.build(rows, moments, moments.low, settings.n_jobs, ROUTE)
    fit = problem.fit(settings)
    candidates: IndexArray = np.arange(d, dtype=index_dtype(d))[:, None]
    for size in range(1, order + 1):
        trial = SubsetFamily(d, (*fit.basis.family.levels, candidates))
        moments = Moments.of_family(
            rows.bits, trial, rows.targets, rows.weights, like=fit.moments, n_jobs=settings.n_jobs
        )
        alive = (moments.over_cells(candidates, moments.counts) >= min_count).all(axis=1)
        family = _within_budget(candidates[alive], moments, problem, fit, max_sets)
        if len(family.levels) <= size:
            break
        moments = Moments.of_family(
            rows.bits, family, rows.targets, rows.weights, like=fit.moments, n_jobs=settings.n_jobs
        )
        problem = RowsProblem.build(rows, moments, family, settings.n_jobs, ROUTE)
        fit = problem.fit(settings)
        active = fit.beta[family.starts[size] - 1 : family.starts[size + 1] - 1].any(axis=1)
        candidates = grow_candidates(family.levels[size][active])
    return fit


def _within_budget(
    candidates: IndexArray, moments: Moments, problem: RowsProblem, fit: Fit, max_sets: int | None
) -> SubsetFamily:
    """The family of the last fit with the candidates, if they are too many with those of the largest correlation."""
    before, rows = fit.basis.family, problem.rows
    family = SubsetFamily(before.d, (*before.levels, candidates))
    room = len(candidates) if max_sets is None else max_sets + 1 - len(before)
    if len(candidates) > room:
        basis = Basis.build(moments, family)
        system = system_of(moments, basis)
        operator = Operator.build(rows.bits, rows.weights, moments, basis, system, problem.operator.n_jobs)
        products = np.stack([operator.products(rest) for rest in problem.rest(fit).T], axis=1)
        score = (np.abs(products).max(axis=1) / np.sqrt(basis.norms2()))[len(before) - 1 :]
        kept = np.sort(np.argsort(-score, kind="stable")[:room])
        family = SubsetFamily(before.d, (*before.levels, candidates[kept]))
    return family if len(family.levels[-1]) else before
