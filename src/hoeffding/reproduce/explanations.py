"""The attributions that the paper shows as figures, as facts: names and numbers, ours beside other methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.decomposition import Decomposition
from hoeffding.engines.cube import transform
from hoeffding.reproduce import attributions
from hoeffding.reproduce.attributions import normalised, rank_correlation, shares
from hoeffding.reproduce.models import SEED, BlackBox, load
from hoeffding.reproduce.printed import BACKGROUND_ROWS, PRINTED, RANDOM_ROWS, SHOWN_FEATURES

Facts = dict[str, Any]
FloatArray = npt.NDArray[np.float64]

OURS, OURS_EXACT = "hoeffding", "hoeffding, all orders"
TREE_SHAP, TREE_HFD = "TreeSHAP", "treehfd"
KERNEL, KERNEL_ALL, DEEP = "KernelSHAP", "KernelSHAP, all features", "DeepSHAP"

# All rows of GB1, as the paper has it, would take hours: 1000 trees of depth 10.
FEWER_ROWS = {"D": 500}


def importance(box: BlackBox, result: Decomposition, exact: Decomposition | None) -> Facts:
    """Global importance of the ten features that are first for us, by all methods, and how well they agree.

    ``by_variable`` is the correlation of importances of variables: attributions are summed over the bits of a variable
    first. ``shared`` counts how many of our first ten features are among the first ten of another method.
    """
    rows = _tree_shap_rows(box)
    phi = {OURS: result.shapley(box.X)}
    if exact is not None:
        phi[OURS_EXACT] = exact.shapley(box.X)
    phi[TREE_SHAP] = attributions.tree_shap(box, rows)
    if box.key == "A":
        phi[TREE_HFD] = attributions.tree_hfd(box, rows)
    methods = {name: shares(values) for name, values in phi.items()}
    members = np.zeros((box.X.shape[1], len(load(box.key).groups)))
    for v, (_, bits) in enumerate(load(box.key).groups):
        members[list(bits), v] = 1.0
    by_variable = {name: shares(values @ members) for name, values in phi.items()}
    first = {
        name: set(np.argsort(-values, kind="stable")[:SHOWN_FEATURES].tolist()) for name, values in methods.items()
    }
    others = [name for name in methods if name != OURS]
    return _compared(methods, box.key, np.argsort(-methods[OURS], kind="stable")) | {
        "by_variable": {name: _correlation(by_variable[OURS], by_variable[name]) for name in others},
        "shared": {name: len(first[OURS] & first[name]) for name in others},
        "tree_shap_rows": len(rows),
        "tree_shap_rows_paper": PRINTED[box.key].tree_shap_rows,
    }


def _tree_shap_rows(box: BlackBox) -> npt.NDArray[np.intp]:
    wanted = FEWER_ROWS.get(box.key, PRINTED[box.key].tree_shap_rows)
    if wanted is None:
        return np.arange(len(box.X))
    return np.sort(np.random.default_rng(SEED).choice(len(box.X), wanted, replace=False))


def local(box: BlackBox, result: Decomposition, row: int) -> Facts:
    """Attributions of one row by all methods, normalised; what is left of the output by ours, as it is truncated."""
    rows, background = np.array([row]), attributions.background_rows(box, BACKGROUND_ROWS)
    phi = result.shapley(box.X[rows])
    methods = {OURS: phi}
    if len(box.X) == 2 ** box.X.shape[1]:
        methods[OURS_EXACT] = _complete(box).shapley(box.X[rows])
    methods[KERNEL] = attributions.kernel_shap(box, rows, background, n_samples=None, keep_all=False)
    methods[KERNEL_ALL] = attributions.kernel_shap(box, rows, background, n_samples=_samples(box), keep_all=True)
    methods[DEEP] = attributions.deep_shap(box, rows, background)
    found = {name: normalised(values[0]) for name, values in methods.items()}
    base = float(box.y.mean())
    return _compared(found, box.key, np.argsort(-np.abs(phi[0]), kind="stable")) | {
        "row": row,
        "output": float(box.y[row]),
        "base": base,
        "remainder": float(box.y[row] - base - phi.sum()),
        "largest": {name: float(np.abs(values).max()) for name, values in methods.items()},
    }


def held_out_row(box: BlackBox) -> int:
    """A row, chosen at random, that the model was not trained on."""
    from sklearn.model_selection import train_test_split

    _, test = train_test_split(np.arange(len(box.X)), test_size=0.2, random_state=SEED)
    return int(np.random.default_rng(SEED).choice(test))


def random_rows(box: BlackBox, result: Decomposition) -> list[Facts]:
    """The paper's twelve random rows of Entacmaea: local attributions by ours, KernelSHAP and DeepSHAP."""
    rows = np.random.default_rng(SEED).choice(len(box.X), RANDOM_ROWS, replace=False)
    background = attributions.background_rows(box, BACKGROUND_ROWS)
    methods = {
        OURS: result.shapley(box.X[rows]),
        OURS_EXACT: _complete(box).shapley(box.X[rows]),
        KERNEL: attributions.kernel_shap(box, rows, background, n_samples=None, keep_all=False),
        DEEP: attributions.deep_shap(box, rows, background),
    }
    panels = []
    for i, row in enumerate(rows.tolist()):
        found = {name: normalised(phi[i]) for name, phi in methods.items()}
        order = np.argsort(-np.abs(found[OURS]), kind="stable")
        exact = {
            name: _correlation(found[OURS_EXACT], values)
            for name, values in found.items()
            if name not in (OURS, OURS_EXACT)
        }
        panels.append(_compared(found, box.key, order) | {"row": row, "exact_correlation": exact})
    return panels


def _complete(box: BlackBox) -> Decomposition:
    """All orders, where the rows are the whole cube."""
    values = np.empty((2,) * box.X.shape[1])
    values[tuple(box.X.T)] = box.y
    return transform(values)


def _samples(box: BlackBox) -> int | None:
    """All coalitions, if they are not many more than shap would sample."""
    every = 2 ** box.X.shape[1] - 2
    return every if every < 10**4 else None


def _compared(methods: dict[str, FloatArray], key: str, order: npt.NDArray[np.intp]) -> Facts:
    shown = order[:SHOWN_FEATURES]
    names = load(key).feature_names
    return {
        "features": [names[i] for i in shown.tolist()],
        "values": {name: values[shown].tolist() for name, values in methods.items()},
        "rank_correlation": {
            name: rank_correlation(np.abs(methods[OURS]), np.abs(values))
            for name, values in methods.items()
            if name != OURS
        },
        "correlation": {name: _correlation(methods[OURS], values) for name, values in methods.items() if name != OURS},
    }


def _correlation(a: FloatArray, b: FloatArray) -> float:
    return float(np.corrcoef(a, b)[0, 1])
