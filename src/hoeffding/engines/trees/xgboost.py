"""XGBoost: boosters and estimators of its scikit-learn interface, read from the model's own UBJSON form.

XGBoost rounds values to single precision and goes right if and only if ``float32(x) >= split_condition``; the
threshold is turned into double precision exactly. Missing values follow ``default_left``. The chosen categories of a
split go right. Leaves are single precision numbers; XGBoost adds them up in single precision, the ensemble in double.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.engines.trees.ensemble import (
    SINGLE,
    Ensemble,
    FloatArray,
    NotASumOfTreesError,
    Tree,
    threshold_of_single_at_least,
)
from hoeffding.engines.trees.ubjson import read_ubjson

LOGISTIC = ("binary:logistic", "binary:logitraw", "reg:logistic")
LOG = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:aft", "survival:cox")
SOFTMAX = ("multi:softmax", "multi:softprob")
SUPPORTED = "XGBoost boosters and estimators (gbtree and dart)"


def matches(model: Any) -> bool:
    """Whether ``model`` is one of XGBoost's; XGBoost is not imported."""
    return any(
        c.__module__.split(".")[0] == "xgboost" and c.__name__ in ("Booster", "XGBModel") for c in type(model).__mro__
    )


def read(model: Any, X: Any) -> Ensemble:
    """The ensemble of the margins of a fitted model.

    Like XGBoost's own ``predict``, a booster uses all its trees, an estimator those up to ``best_iteration`` if it
    stopped early.
    """
    booster = _booster(model)
    learner = read_ubjson(bytes(booster.save_raw("ubj")))["learner"]
    machine, drop = learner["gradient_booster"], None
    if machine["name"] == "dart":
        machine, drop = machine["gbtree"], machine["weight_drop"]
    if machine["name"] != "gbtree":
        raise NotASumOfTreesError(
            f"model: its booster is {machine['name']!r}, which is not made of trees; use engine='regression'"
        )
    forest, parameters = machine["model"], learner["learner_model_param"]
    n_outputs = max(int(parameters["num_class"]), int(parameters.get("num_target", 1)), 1)
    weights = np.ones(len(forest["trees"])) if drop is None else np.asarray(drop, np.float32).astype(np.float64)
    used = _used_trees(model, forest)
    trees = [_tree(forest["trees"][t], int(forest["tree_info"][t]), float(weights[t]), n_outputs) for t in range(used)]
    objective = learner["objective"]["name"]
    return Ensemble.from_trees(
        int(parameters["num_feature"]),
        trees,
        _base_margin(parameters["base_score"], objective, n_outputs),
        single=n_outputs == 1,
        output=_words(objective),
        output_names=_output_names(model, n_outputs),
        feature_names=tuple(booster.feature_names) if booster.feature_names else None,
        levels=_levels(forest),
        missing=_missing(model, X),
        roundoff=SINGLE,
    )


def answers(model: Any, X: Any) -> FloatArray:
    """The margins that the model itself gives, shape ``(n, m)``."""
    import xgboost

    booster = _booster(model)
    categorical = "c" in (booster.feature_types or ())
    if hasattr(model, "get_booster"):
        margin = model.predict(X, output_margin=True)
    else:
        names = None if hasattr(X, "columns") else booster.feature_names
        types = booster.feature_types if names else None
        data = xgboost.DMatrix(X, feature_names=names, feature_types=types, enable_categorical=categorical)
        margin = booster.predict(data, output_margin=True)
    return np.asarray(margin, np.float64).reshape(X.shape[0], -1)


def _booster(model: Any) -> Any:
    if not hasattr(model, "get_booster"):
        return model
    if not model.__sklearn_is_fitted__():
        raise ValueError(f"model: this {type(model).__name__} is not fitted; call fit first")
    return model.get_booster()


def _missing(model: Any, X: Any) -> float:
    """The number that means missing; of a sparse matrix, zero: XGBoost takes what is not stored for missing."""
    given = getattr(model, "missing", None)
    number = float("nan") if given is None else float(given)
    if not hasattr(X, "tocsc"):
        return number
    if number == number or (X.tocsc().data == 0).any():
        raise NotASumOfTreesError(
            "X: a sparse matrix, of which XGBoost takes what is not stored for missing; then stored zeros, or another "
            "number for missing values, are not read. Pass X.toarray() if zeros are meant"
        )
    return 0.0


def _used_trees(model: Any, forest: dict[str, Any]) -> int:
    n_trees = len(forest["trees"])
    if not hasattr(model, "get_booster"):
        return n_trees
    try:
        last = int(model.best_iteration)
    except AttributeError:  # raised when there was no early stopping
        return n_trees
    return int(forest["iteration_indptr"][last + 1])


def _tree(tree: dict[str, Any], output: int, weight: float, n_outputs: int) -> Tree:
    left = np.asarray(tree["left_children"], np.int64)
    right = np.asarray(tree["right_children"], np.int64)
    leaf = left < 0
    conditions = np.asarray(tree["split_conditions"], np.float32)
    categorical = np.asarray(tree["split_type"], np.uint8) == 1
    value = np.zeros((len(left), n_outputs))
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:  # right_children of a leaf is its row of leaf_weights
        vectors = np.asarray(tree["leaf_weights"], np.float32).reshape(-1, n_outputs)
        value[leaf] = weight * vectors[right[leaf]].astype(np.float64)
    else:
        value[leaf, output] = weight * conditions[leaf].astype(np.float64)
    return Tree(
        feature=np.where(leaf, -1, np.asarray(tree["split_indices"], np.int64)),
        threshold=np.where(leaf, 0.0, np.where(categorical, np.nan, threshold_of_single_at_least(conditions))),
        missing_right=np.asarray(tree["default_left"], np.uint8) == 0,
        left=left,
        right=right,
        value=value,
        categories=_categories(tree),
    )


def _categories(tree: dict[str, Any]) -> dict[int, npt.NDArray[np.int64]]:
    nodes = np.asarray(tree["categories_nodes"], np.int64).tolist()
    starts = np.asarray(tree["categories_segments"], np.int64).tolist()
    sizes = np.asarray(tree["categories_sizes"], np.int64).tolist()
    codes = np.asarray(tree["categories"], np.int64)
    return {node: codes[a : a + size] for node, a, size in zip(nodes, starts, sizes, strict=True)}


def _base_margin(base_score: str, objective: str, n_outputs: int) -> FloatArray:
    """``base_score`` is one number or one an output, on the scale of predictions; margins start from its link."""
    score = np.atleast_1d(np.asarray(json.loads(base_score), np.float32)).astype(np.float64)
    if objective in LOGISTIC and objective != "binary:logitraw":  # whose predictions are margins
        score = np.log(score) - np.log1p(-score)
    elif objective in LOG:
        score = np.log(score)
    return np.broadcast_to(score, n_outputs).copy()


def _words(objective: str) -> str:
    if objective in LOGISTIC:
        return "margin (log-odds)"
    if objective in LOG:
        return "margin (log of the prediction)"
    if objective in SOFTMAX:
        return "margin (one score for each class, before softmax)"
    if objective.startswith("rank:"):
        return "margin (score of the ranking)"
    return "margin" if objective.startswith("binary:") else "prediction"


def _output_names(model: Any, n_outputs: int) -> tuple[str, ...] | None:
    classes = getattr(model, "classes_", None)
    return tuple(map(str, classes)) if n_outputs > 1 and classes is not None and len(classes) == n_outputs else None


def _levels(forest: dict[str, Any]) -> dict[int, tuple[Any, ...]]:
    """The categories of each column by code, where the model was trained on a data frame with categories."""
    out: dict[int, tuple[Any, ...]] = {}
    for j, column in enumerate(forest.get("cats", {}).get("enc", ())):
        values = np.asarray(column["values"])
        if len(column.get("offsets", ())):
            text, starts = values.astype(np.int8).tobytes(), np.asarray(column["offsets"]).tolist()
            out[j] = tuple(text[a:b].decode() for a, b in pairwise(starts))
        elif len(values):
            out[j] = tuple(values.tolist())
    return out
