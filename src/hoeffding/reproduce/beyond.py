"""What the paper did not reach: exact decompositions, one order more, what the rows determine, GB1 by sites."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.decomposition import Decomposition
from hoeffding.engines.gram import Basis, System
from hoeffding.engines.solvers import RANK_TOLERANCE
from hoeffding.explain import decompose
from hoeffding.machine import linear_algebra_threads
from hoeffding.measure import Empirical
from hoeffding.moments import Moments
from hoeffding.reproduce import pipeline, sites
from hoeffding.reproduce.models import SEED, BlackBox, load
from hoeffding.reproduce.printed import PRINTED
from hoeffding.subsets import SubsetFamily

Facts = dict[str, Any]
FloatArray = npt.NDArray[np.float64]

MOST_SETS = 10**6  # of the closure of a tree ensemble; GB1's thousand trees of depth 10 have more
SITES = ("site39", "site40", "site41", "site54")
NOT_DETERMINED = 1e-6  # weight of a component in the directions that do not change the fit


def exact(box: BlackBox) -> tuple[Facts, Decomposition]:
    """The exact decomposition of the trees, all orders, under the measure of the distinct rows."""
    seconds, result = _timed(lambda: decompose(box.model, box.X, engine="sparse", max_sets=MOST_SETS))
    variance = result.variance()
    spread = float(np.ptp(box.y))
    sizes = result.family.sizes
    structural = np.bincount(sizes, variance.structural / variance.of_f)[1:]
    facts = {
        "seconds": seconds,
        "components": len(result.family),
        "share": result.share_by_order().tolist(),
        "structural": structural.tolist(),
        "unique": result.unique,
        "remainder": result.remainder / spread,
        "from_model": float(np.abs(result.predict(box.X) - box.y).max()) / spread,
    }
    return facts, result


def next_order(box: BlackBox) -> Facts:
    """The fit of components of one order more than the paper's, with its penalty."""
    from sklearn.exceptions import ConvergenceWarning

    task = pipeline.task_of(box)
    order = task.order + 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seconds, model = _timed(lambda: pipeline.ours(task, order=order))
    return {
        "order": order,
        "sets": sum(comb(box.X.shape[1], size) for size in range(order + 1)),
        "components": len(model.decomposition_.family),
        "r2": float(model.fidelity_),
        "converged": not any(issubclass(warning.category, ConvergenceWarning) for warning in caught),
        "seconds": seconds,
    }


def identified(key: str) -> Facts:
    """What the distinct rows of a data set determine.

    ``shattered`` counts the shattered sets of each size up to one more than the paper's order. The functions of those
    up to its order have the rank ``rank``. ``identified`` of the components are the same in every sum of components
    that equals a given function at the rows; ``identified_variables`` counts the sets of variables whose components,
    added up over the bits of each variable, are the same.
    """
    data, order = load(key), PRINTED[key].order
    X = np.unique(data.X, axis=0)
    measure = Empirical(X)
    family = measure.shattered(order)
    null, G = null_space(X, family)
    return {
        "distinct": len(X),
        "d": X.shape[1],
        "shattered": [len(level) for level in measure.shattered(order + 1).levels],
        "order": order,
        "components": len(family) - 1,
        "rank": len(family) - 1 - null.shape[1],
        "identified": int((np.abs(null).max(axis=1, initial=0.0) <= NOT_DETERMINED).sum()),
        **_by_variables(family, data.groups, null, G),
        "unique": measure.is_unique,
    }


def null_space(X: npt.NDArray[np.uint8], family: SubsetFamily) -> tuple[FloatArray, FloatArray]:
    """Combinations of the ``psi_S / |psi_S|`` of non-empty sets that vanish at all rows, and their Gram matrix.

    Shapes ``(r, nullity)``, with orthonormal columns, and ``(r, r)``.
    """
    moments = Moments.from_chunk(X, np.zeros(len(X)), order=len(family.levels) - 1)
    system = System.build(moments, Basis.build(moments, family), -1)
    scale = 1 / np.sqrt(system.norm2)
    G = scale[:, None] * system.G * scale
    with linear_algebra_threads(1):
        values, vectors = np.linalg.eigh(G)
    return vectors[:, values <= RANK_TOLERANCE * values[-1]], G


def _by_variables(family: SubsetFamily, groups: Any, null: FloatArray, G: FloatArray) -> Facts:
    """How many sets of variables there are, and of how many the component is the same whatever null vector is added."""
    variable = np.empty(family.d, np.int64)
    for v, (_, bits) in enumerate(groups):
        variable[list(bits)] = v
    members: dict[tuple[int, ...], list[int]] = {}
    for at, S in enumerate(list(family)[1:]):
        members.setdefault(tuple(sorted({int(variable[i]) for i in S})), []).append(at)
    same = 0
    for sets in members.values():
        moved = (null[sets] * (G[np.ix_(sets, sets)] @ null[sets])).sum(axis=0)
        same += bool(moved.max(initial=0.0) <= NOT_DETERMINED**2)
    return {"variables": len(members), "identified_variables": same}


def by_sites(box: BlackBox) -> Facts:
    """The exact decomposition of a model of GB1 as a function of four sites of 20 amino acids: shares of variance.

    Where several decompositions exist, ``spread`` is the largest difference of a share between the one of least norm
    and others near random functions.
    """
    columns = load(box.key).columns
    codes = np.stack([np.unique(columns[name], return_inverse=True)[1].ravel() for name in SITES], axis=1)
    seconds, found = _timed(lambda: sites.shares(codes.astype(np.int64), box.y))
    rng = np.random.default_rng(SEED)
    other = sites.shares(codes.astype(np.int64), box.y, rng)
    by_order = [sum(share for U, share in found.items() if len(U) == size) for size in range(1, len(SITES) + 1)]
    return {
        "seconds": seconds,
        "share": by_order,
        "sets": {" × ".join(SITES[i].removeprefix("site") for i in U): share for U, share in found.items()},
        "spread": max(abs(share - other[U]) for U, share in found.items()),
    }


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result
