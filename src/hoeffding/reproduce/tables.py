"""The tables of the paper as facts: plain dictionaries of numbers and words, ours beside what is printed."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.basis import chi, gram_matrix
from hoeffding.components import Components
from hoeffding.measure import Empirical, Measure
from hoeffding.reproduce import pipeline
from hoeffding.reproduce.models import BlackBox, black_box, load
from hoeffding.reproduce.printed import GRAM_DISTANCE, L1_RATIO, MAX_ITER, PRINTED
from hoeffding.subsets import SubsetFamily

Facts = dict[str, Any]
FloatArray = npt.NDArray[np.float64]

OTHER_SEEDS = (1, 2)
RUNS = 6  # the first does not count
FEWER_RUNS = {"D": 1}  # of the published pipeline, where it takes minutes; of one run, none is discarded


def data_set(key: str) -> Facts:
    """Rows, bits and variables of a data set, and the shape of its design matrix."""
    printed, data = PRINTED[key], load(key)
    d = data.X.shape[1]
    distinct = len(np.unique(data.X, axis=0))
    columns = sum(comb(d, size) for size in range(printed.order + 1))
    return {
        "name": printed.name,
        "task": printed.task,
        "d": d,
        "n": len(next(iter(data.columns.values()))),
        "distinct": distinct,
        "variables": len(data.groups),
        "shape": [distinct, columns],
        "order": printed.order,
        "alpha": printed.alpha,
        "l1_ratio": L1_RATIO,
        "max_iter": MAX_ITER,
        "licence": data.licence,
        "citation": data.citation,
        "paper": {"d": printed.d, "n": printed.n, "shape": list(printed.shape)},
    }


def fits(box: BlackBox) -> tuple[Facts, dict[str, Any]]:
    """Score and fidelity of one model: facts, and the fitted regressors by family."""
    printed, task = PRINTED[box.key], pipeline.task_of(box)
    fitted = {family: pipeline.ours(task, family) for family in ("paper", "shattered")}
    facts: Facts = {"score": box.score, "score_paper": printed.score[box.kind], "r2_paper": printed.r2[box.kind]}
    facts["r2"] = float(fitted["paper"].fidelity_)
    facts["r2_shattered"] = float(fitted["shattered"].fidelity_)
    facts["r2_unpenalised"] = float(pipeline.ours(task, alpha=0.0).fidelity_)
    facts["columns"] = len(fitted["shattered"].decomposition_.family)
    facts["columns_paper"] = len(fitted["paper"].decomposition_.family)
    return facts, fitted


def other_seeds(key: str) -> list[Facts]:
    """Score and fidelity of the network of a data set when it is trained with other seeds."""
    found = []
    for seed in OTHER_SEEDS:
        box = black_box(key, "mlp", seed)
        model = pipeline.ours(pipeline.task_of(box), "paper")
        found.append({"seed": seed, "score": box.score, "r2": float(model.fidelity_)})
    return found


def times(box: BlackBox, published: bool = True) -> Facts:
    """Seconds from rows and outputs to the decomposition: the published pipeline and ours, mean and deviation.

    Without ``published``, ours only. ``load`` is how many processes wanted to run in the minute before, where the
    system says so.
    """
    task, printed = pipeline.task_of(box), PRINTED[box.key]
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    theirs = None
    if published:
        theirs, fit = _measured(lambda: pipeline.published(task), FEWER_RUNS.get(box.key, RUNS))
        theirs |= {"r2": pipeline.r2(task, fit), "n_iter": fit.n_iter, "converged": fit.converged}
    ours, _ = _measured(lambda: pipeline.ours(task), RUNS)
    every, _ = _measured(lambda: pipeline.ours(task, "paper"), RUNS)
    return {
        "paper": {"mean": printed.seconds[box.kind][0], "deviation": printed.seconds[box.kind][1]},
        "pipeline": theirs,
        "ours": ours,
        "ours_paper": every,
        "load": load,
    }


def _measured(call: Callable[[], Any], runs: int) -> tuple[Facts, Any]:
    seconds, result = pipeline.timed(call, runs)
    deviation = statistics.stdev(seconds) if len(seconds) > 1 else None
    return {"mean": statistics.fmean(seconds), "deviation": deviation, "runs": len(seconds)}, result


def orthogonality(box: BlackBox, fitted: dict[str, Any]) -> Facts:
    """Hierarchical orthogonality of components of at most two features, also where the paper stopped at one.

    A pair ``T`` in ``S`` fails if ``E[psi_S g(X_T)]`` is not zero for some ``g``: a property of which cells of ``X_S``
    are observed, and nothing else. Of the fitted components, ``worst`` is the largest ``|E[f_S 1(X_T = x_T)]|`` over
    the standard deviation of f.
    """
    facts: Facts = {}
    for name in ("paper", "shattered"):
        model = fitted[name] if PRINTED[box.key].order == 2 else pipeline.ours(pipeline.task_of(box), name, order=2)
        result = model.decomposition_
        facts[name] = {
            "sets": len(result.family),
            "pairs": sum(2**size - 1 for size in result.family.sizes.tolist()),
            "failing": sum(int(_failing(result.measure, level).sum()) for level in result.family.levels),
            "worst": _worst(result.measure, result.parts) / float(box.y.std()),
        }
    return facts


def _failing(measure: Measure, level: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """For each set of one level, with how many of its proper subsets ``psi_S`` is not orthogonal."""
    observed = np.asarray(measure.marginals(level) > 0, np.int64)
    sums = _sums_over_subsets(observed * chi(level.shape[1]).ravel().astype(np.int64), level.shape[1])
    failing = [np.abs(cells).max(axis=1) > 0 for cells in sums]
    return np.asarray(np.array(failing, np.int64).reshape(-1, len(level)).sum(axis=0))


def _worst(measure: Measure, parts: Components) -> float:
    worst = 0.0
    for level, tables in zip(parts.family.levels, parts.tables, strict=True):
        weighted = np.nan_to_num(tables[:, :, 0], nan=0.0) * measure.marginals(level)
        for cells in _sums_over_subsets(weighted, level.shape[1]):
            worst = max(worst, float(np.abs(cells).max(initial=0.0)))
    return worst


def _sums_over_subsets(tables: npt.NDArray[Any], size: int) -> Iterator[npt.NDArray[Any]]:
    """Sums of tables ``(n_s, 2**size)`` over the cells of each proper subset, ``(n_s, 2**t)``."""
    cube = tables.reshape(len(tables), *(2,) * size)
    for t in range(size):
        for T in combinations(range(1, size + 1), t):
            away = tuple(axis for axis in range(1, size + 1) if axis not in T)
            yield cube.sum(axis=away).reshape(len(tables), -1)


def gram_distance(box: BlackBox, order: int) -> Facts:
    """The Frobenius distance of the Gram matrix from its diagonal, from the matrix of all psi_S and from counts."""
    _, Psi = pipeline.design_matrix(box.X, order)
    measure = Empirical(box.X)
    found = {
        "pipeline": Psi.T @ Psi / len(Psi),
        "ours": gram_matrix(measure, SubsetFamily.up_to_order(measure.d, order)),
    }
    distance = {name: float(np.linalg.norm(G - np.diag(np.diag(G)))) for name, G in found.items()}
    return distance | {"paper": GRAM_DISTANCE}
