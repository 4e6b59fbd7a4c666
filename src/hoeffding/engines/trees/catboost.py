"""CatBoost: models on columns of numbers, read from the JSON form in which CatBoost gives them.

CatBoost rounds values to single precision and answers a split with yes if and only if ``float32(x) > border``. In an
oblivious tree all nodes of a level ask the same: the answers to its splits, the first as the lowest bit, are the number
of the leaf. The sums, in double precision, are scaled and shifted.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.engines.trees.ensemble import Ensemble, FloatArray, NotASumOfTreesError, Tree, threshold_of_single_above

Question = tuple[int, float, bool]  # column, threshold, whether missing values go right
SUPPORTED = "CatBoost models on columns of numbers"
LOGISTIC = ("Logloss", "CrossEntropy")
LOG = ("Poisson", "Tweedie")


def matches(model: Any) -> bool:
    """Whether ``model`` is one of CatBoost's; CatBoost is not imported."""
    return any(c.__module__.split(".")[0] == "catboost" and c.__name__ == "CatBoost" for c in type(model).__mro__)


def read(model: Any, X: Any) -> Ensemble:
    """The ensemble of the raw values of a fitted model; ``X`` is not needed."""
    del X
    if not model.is_fitted():
        raise ValueError(f"model: this {type(model).__name__} is not fitted; call fit first")
    _refuse_other_columns(model)
    content = _as_json(model)
    scale, base = content["scale_and_bias"]
    columns = _Columns(content["features_info"].get("float_features", ()))
    if "oblivious_trees" in content:
        trees = [_oblivious_tree(tree, columns, len(base), scale) for tree in content["oblivious_trees"]]
    else:
        trees = [_any_tree(tree, columns, len(base), scale) for tree in content["trees"]]
    names = tuple(model.feature_names_)
    return Ensemble.from_trees(
        len(names),
        trees,
        np.array(base, np.float64),
        single=len(base) == 1,
        output=_words(str(model.get_all_params().get("loss_function", "")).split(":")[0]),
        output_names=tuple(map(str, model.classes_)) if 1 < len(base) == len(model.classes_) else None,
        feature_names=None if names == tuple(map(str, range(len(names)))) else names,
    )


def answers(model: Any, X: Any) -> FloatArray:
    """The raw values that the model itself gives, shape ``(n, m)``."""
    return np.asarray(model.predict(X, prediction_type="RawFormulaVal"), np.float64).reshape(X.shape[0], -1)


def _as_json(model: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        content: dict[str, Any] = json.loads(path.read_text())
    return content


def _refuse_other_columns(model: Any) -> None:
    for kind, found in (
        ("categories", model.get_cat_feature_indices()),
        ("text", model.get_text_feature_indices()),
        ("embeddings", model.get_embedding_feature_indices()),
    ):
        if len(found):
            raise NotASumOfTreesError(
                f"model: column {model.feature_names_[found[0]]!r} holds {kind}, which CatBoost turns into statistics "
                f"of the target; models on columns of numbers are read, also one-hot ones. Use engine='regression'"
            )


class _Columns:
    """What the splits say of columns: their position, and where missing values go."""

    def __init__(self, described: Any) -> None:
        self.position = np.array([c["flat_feature_index"] for c in described], np.int64)
        self.missing_right = np.array([c["nan_value_treatment"] == "AsTrue" for c in described], np.bool_)

    def of(self, split: dict[str, Any]) -> Question:
        if split["split_type"] != "FloatFeature":
            raise NotASumOfTreesError(
                f"model: it has a split of the type {split['split_type']}, only those on numbers are read; use "
                f"engine='regression'"
            )
        k = int(split["float_feature_index"])
        border = np.array([split["border"]], np.float32).astype(np.float64)
        return int(self.position[k]), float(threshold_of_single_above(border)[0]), bool(self.missing_right[k])


def _arrays(asked: list[Question]) -> tuple[npt.NDArray[np.int64], FloatArray, npt.NDArray[np.bool_]]:
    columns, thresholds, missing_right = zip(*asked, strict=True) if asked else ((), (), ())
    return np.array(columns, np.int64), np.array(thresholds, np.float64), np.array(missing_right, np.bool_)


def _oblivious_tree(tree: dict[str, Any], columns: _Columns, n_outputs: int, scale: float) -> Tree:
    """Level by level, the last split first; the children of node k are 2k + 1 and 2k + 2."""
    asked = [columns.of(split) for split in reversed(tree.get("splits") or ())]
    n_inner = 2 ** len(asked) - 1
    level = np.repeat(np.arange(len(asked)), 2 ** np.arange(len(asked)))
    values = scale * np.array(tree["leaf_values"], np.float64).reshape(n_inner + 1, n_outputs)
    column, threshold, missing_right = _arrays(asked)
    node, leaves = np.arange(n_inner), np.full(n_inner + 1, -1)
    return Tree(
        feature=np.concatenate([column[level], leaves]),
        threshold=np.concatenate([threshold[level], np.zeros(n_inner + 1)]),
        missing_right=np.concatenate([missing_right[level], np.zeros(n_inner + 1, np.bool_)]),
        left=np.concatenate([2 * node + 1, leaves]),
        right=np.concatenate([2 * node + 2, leaves]),
        value=np.concatenate([np.zeros((n_inner, n_outputs)), values]),
    )


def _any_tree(tree: dict[str, Any], columns: _Columns, n_outputs: int, scale: float) -> Tree:
    """A tree of another growing policy: nodes within nodes."""
    asked: list[Question] = []
    children: list[list[int]] = []
    values: list[FloatArray] = []
    waiting = [(tree, -1, 0)]  # (node, its parent, which child of it)
    while waiting:
        node, parent, side = waiting.pop()
        at, is_leaf = len(asked), "split" not in node
        if parent >= 0:
            children[parent][side] = at
        asked.append((-1, 0.0, False) if is_leaf else columns.of(node["split"]))
        children.append([-1, -1])
        values.append(scale * np.array(node["value"], np.float64).reshape(-1) if is_leaf else np.zeros(n_outputs))
        if not is_leaf:
            waiting += [(node["left"], at, 0), (node["right"], at, 1)]
    column, threshold, missing_right = _arrays(asked)
    left, right = np.array(children, np.int64).T
    return Tree(column, threshold, missing_right, left, right, np.array(values))


def _words(loss: str) -> str:
    if loss in LOGISTIC:
        return "margin (log-odds)"
    if loss == "MultiClass":
        return "margin (one score for each class, before softmax)"
    if loss in LOG:
        return "margin (log of the prediction)"
    return "margin" if loss in ("MultiClassOneVsAll", "RMSEWithUncertainty", "MultiLogloss") else "prediction"
