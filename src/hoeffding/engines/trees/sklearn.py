"""scikit-learn: single trees, forests, gradient boosting and histogram gradient boosting.

Trees, forests and gradient boosting round values to single precision and go left if and only if ``float32(x) <=
threshold``, where the threshold is in double precision; it is turned into one for x in double precision exactly.
Histogram gradient boosting compares in double precision. All of them add up in double precision.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.engines.trees.ensemble import Ensemble, FloatArray, NotASumOfTreesError, Tree, threshold_of_single_above

IntArray = npt.NDArray[np.int64]
Levels = dict[int, tuple[Any, ...]]

SINGLE_TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor")  # ExtraTree… are among their subclasses
FORESTS = ("ForestClassifier", "ForestRegressor")
BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
HISTOGRAM = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")
SUPPORTED = (
    "scikit-learn's decision trees, extra trees, random forests, GradientBoosting and HistGradientBoosting "
    "(classifiers and regressors)"
)
FEW_ROWS = 4096
LOG_LINK = ("poisson", "gamma")  # losses whose predictions are the exponential of the sum


def matches(model: Any) -> bool:
    """Whether ``model`` is one of the estimators read here; scikit-learn is not imported."""
    return _is(model, SINGLE_TREES + FORESTS + BOOSTED + HISTOGRAM)


def read(model: Any, X: Any) -> Ensemble:
    """The ensemble of a fitted estimator; ``X`` is not needed.

    Classifiers made of averaged trees give probabilities, boosted ones margins; two classes make one output, that of
    the second class.
    """
    del X
    _require_fitted(model)
    if _is(model, BOOSTED):
        return _gradient_boosting(model)
    if _is(model, HISTOGRAM):
        return _histogram_boosting(model)
    return _averaged_trees(model)


def answers(model: Any, X: Any) -> FloatArray:
    """What the model itself says, on the scale of the ensemble, shape ``(n, m)``."""
    if X.shape[0] <= FEW_ROWS and _is(model, FORESTS):  # at few rows, starting threads takes longer than the answer
        model = copy(model)
        model.n_jobs = None
    if not _is_classifier(model):
        out = np.asarray(model.predict(X), np.float64)
        if getattr(model, "loss", None) in LOG_LINK:
            out = np.log(out)
    elif _is(model, BOOSTED + HISTOGRAM):
        out = model.decision_function(X)
    else:
        out = model.predict_proba(X)
        out = out[:, 1] if out.shape[1] == 2 else out
    return np.asarray(out, np.float64).reshape(X.shape[0], -1)


def _is(model: Any, names: tuple[str, ...]) -> bool:
    return any(c.__module__.split(".")[0] == "sklearn" and c.__name__ in names for c in type(model).__mro__)


def _is_classifier(model: Any) -> bool:
    return any(c.__name__ == "ClassifierMixin" for c in type(model).__mro__)


def _require_fitted(model: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        raise ValueError(f"model: this {type(model).__name__} is not fitted; call fit first") from None


def _described(model: Any, n_outputs: int, output: str) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    return {
        "single": n_outputs == 1,
        "output": output,
        "feature_names": None if names is None else tuple(map(str, names)),
        "output_names": tuple(map(str, classes)) if classes is not None and n_outputs > 1 else None,
    }


def _margin(n_outputs: int) -> str:
    return "margin (log-odds)" if n_outputs == 1 else "margin (one score for each class, before softmax)"


# -- trees and forests ---------------------------------------------------------------------------------------------


def _averaged_trees(model: Any) -> Ensemble:
    if model.n_outputs_ > 1 and _is_classifier(model):
        raise NotASumOfTreesError(
            f"model: a classifier with {model.n_outputs_} targets is not read; decompose one target at a time, for "
            f"instance the callable `lambda X: model.predict_proba(X)[0][:, 1]`"
        )
    estimators = model.estimators_ if _is(model, FORESTS) else [model]
    grown = [estimator.tree_ for estimator in estimators]
    values = [_leaf_values(model, tree) / len(grown) for tree in grown]
    trees = _trees(grown, values)
    n_outputs = trees[0].value.shape[1]
    output = "probability" if _is_classifier(model) else "prediction"
    if output == "probability" and n_outputs == 1:
        output += f" of class {model.classes_[-1]}"
    return Ensemble.from_trees(model.n_features_in_, trees, np.zeros(n_outputs), **_described(model, n_outputs, output))


def _leaf_values(model: Any, tree: Any) -> FloatArray:
    """Values of all nodes, shape ``(n_nodes, m)``: means, or the shares of classes."""
    if not _is_classifier(model):
        return np.array(tree.value[:, :, 0], np.float64)
    shares = tree.value[:, 0, :] / tree.value[:, 0, :].sum(axis=1, keepdims=True)
    return np.array(shares[:, 1:] if shares.shape[1] == 2 else shares, np.float64)


def _trees(grown: list[Any], values: list[FloatArray]) -> list[Tree]:
    """Trees with the values of their nodes, ``(n_nodes, m)`` each."""
    ends = np.cumsum([tree.node_count for tree in grown])
    thresholds = threshold_of_single_above(np.concatenate([tree.threshold for tree in grown]))
    return [
        _tree(tree, threshold, value)
        for tree, threshold, value in zip(grown, np.split(thresholds, ends[:-1]), values, strict=True)
    ]


def _tree(tree: Any, threshold: FloatArray, value: FloatArray) -> Tree:
    left = tree.children_left
    leaf = left < 0
    return Tree(
        feature=np.where(leaf, -1, tree.feature),
        threshold=np.where(leaf, 0.0, threshold),
        missing_right=np.asarray(tree.missing_go_to_left) == 0,
        left=left,
        right=tree.children_right,
        value=np.where(leaf[:, None], value, 0.0),
    )


# -- gradient boosting -----------------------------------------------------------------------------------------------


def _gradient_boosting(model: Any) -> Ensemble:
    n_outputs = model.estimators_.shape[1]
    grown, values = [], []
    for stage in model.estimators_:
        for k, estimator in enumerate(stage):
            grown.append(estimator.tree_)
            values.append(np.zeros((estimator.tree_.node_count, n_outputs)))
            values[-1][:, k] = model.learning_rate * estimator.tree_.value[:, 0, 0]
    trees = _trees(grown, values)
    output = _margin(n_outputs) if _is_classifier(model) else "prediction"
    return Ensemble.from_trees(
        model.n_features_in_, trees, _first_guess(model, n_outputs), **_described(model, n_outputs, output)
    )


def _first_guess(model: Any, n_outputs: int) -> FloatArray:
    """What boosting starts from: a constant, put through the link of the loss."""
    start = model.init_
    if isinstance(start, str):  # "zero"
        return np.zeros(n_outputs)
    if type(start).__name__ not in ("DummyClassifier", "DummyRegressor"):
        raise NotASumOfTreesError(
            f"model: boosting starts from init={start!r}, which is not a constant; use engine='regression', or "
            f"decompose the callable `model.predict`"
        )
    nowhere = np.zeros((1, model.n_features_in_))  # the answer is the same at every row
    if not _is_classifier(model):
        return np.asarray(start.predict(nowhere), np.float64)
    eps = float(np.finfo(np.float32).eps)
    p = np.clip(start.predict_proba(nowhere)[0], eps, 1 - eps)
    if n_outputs > 1:
        return np.asarray(np.log(p) - np.log(p).mean())
    log_odds = np.log(p[1:] / (1 - p[1:]))
    return np.asarray(log_odds / 2 if model.loss == "exponential" else log_odds)


# -- histogram gradient boosting ---------------------------------------------------------------------------------------


def _histogram_boosting(model: Any) -> Ensemble:
    base = np.asarray(model._baseline_prediction, np.float64).reshape(-1)
    columns, levels = _columns(model)
    known = _known_codes(model)
    trees = []
    for stage in model._predictors:
        for k, predictor in enumerate(stage):
            trees.append(_histogram_tree(predictor, columns, levels, known, (k, len(base))))
    output = _margin(len(base)) if _is_classifier(model) else "prediction"
    if getattr(model, "loss", None) in LOG_LINK:
        output = "margin (log of the prediction)"
    return Ensemble.from_trees(model.n_features_in_, trees, base, levels=levels, **_described(model, len(base), output))


def _columns(model: Any) -> tuple[IntArray, Levels]:
    """The column of X for each feature of the trees (columns of categories come first there), and their categories."""
    d = model.n_features_in_
    if model.is_categorical_ is None:
        return np.arange(d), {}
    categorical = np.flatnonzero(model.is_categorical_)
    columns = np.concatenate([categorical, np.flatnonzero(~np.asarray(model.is_categorical_))])
    encoder = model._preprocessor.named_transformers_["encoder"]
    levels = {
        int(j): tuple(v for v in found.tolist() if v is not None and v == v)
        for j, found in zip(categorical, encoder.categories_, strict=True)
    }
    return columns, levels


def _known_codes(model: Any) -> dict[int, set[int]]:
    """For features of the trees that are categories: the codes met in training; others count as missing."""
    if model.is_categorical_ is None:
        return {}
    bitsets, position = model._bin_mapper.make_known_categories_bitsets()
    return {j: set(_codes(bitsets[position[j]])) for j in np.flatnonzero(model._is_categorical_remapped).tolist()}


def _codes(words: npt.NDArray[np.uint32]) -> list[int]:
    bits = np.unpackbits(np.ascontiguousarray(words, "<u4").view(np.uint8), bitorder="little")
    return [int(code) for code in np.flatnonzero(bits)]


def _histogram_tree(
    predictor: Any, columns: IntArray, levels: Levels, known: dict[int, set[int]], value_shape: tuple[int, int]
) -> Tree:
    nodes, (k, n_outputs) = predictor.nodes, value_shape
    leaf = nodes["is_leaf"] == 1
    categorical = (nodes["is_categorical"] == 1) & ~leaf
    missing_right = nodes["missing_go_to_left"] == 0
    categories = {}
    for at in np.flatnonzero(categorical).tolist():
        goes_left = set(_codes(predictor.raw_left_cat_bitsets[nodes["bitset_idx"][at]]))
        feature = int(nodes["feature_idx"][at])
        goes_right = set(range(len(levels[int(columns[feature])]))) - goes_left
        if not missing_right[at]:  # codes that training never met follow the missing values
            goes_right &= known[feature]
        categories[at] = np.array(sorted(goes_right), np.int64)
    value = np.zeros((len(nodes), n_outputs))
    value[leaf, k] = nodes["value"][leaf]
    return Tree(
        feature=np.where(leaf, -1, columns[np.where(leaf, 0, nodes["feature_idx"])]),
        threshold=np.where(leaf, 0.0, np.where(categorical, np.nan, nodes["num_threshold"])),
        missing_right=missing_right,
        left=nodes["left"].astype(np.int64),
        right=nodes["right"].astype(np.int64),
        value=value,
        categories=categories,
    )
