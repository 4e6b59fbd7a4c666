"""LightGBM: boosters and estimators of its scikit-learn interface, read from the model's own text form.

LightGBM compares in double precision and goes left if and only if ``x <= threshold``; it adds up in double precision. A
split says what counts as missing: nothing (NaN is then 0), NaN, or NaN and 0. Codes in the set of a split on
categories go left; others, and missing values, go right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import data_frame
from hoeffding.engines.trees.ensemble import Ensemble, FloatArray, NotASumOfTreesError, Tree

CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of a split's decision_type; the next two say what is missing
NONE, ZERO, NAN = range(3)
LOG = ("poisson", "gamma", "tweedie")
LOGISTIC = ("binary", "cross_entropy")
RANKING = ("lambdarank", "rank_xendcg")
SUPPORTED = "LightGBM boosters and estimators (gbdt, dart, rf; no linear trees)"


def matches(model: Any) -> bool:
    """Whether ``model`` is one of LightGBM's; LightGBM is not imported."""
    return any(
        c.__module__.split(".")[0] == "lightgbm" and c.__name__ in ("Booster", "LGBMModel") for c in type(model).__mro__
    )


def read(model: Any, X: Any) -> Ensemble:
    """The ensemble of the raw scores of a fitted model; of a random forest, of their mean.

    Like LightGBM's own ``predict``, it goes up to ``best_iteration`` if training stopped early.

    Columns of categories in a data frame ``X`` are given codes as LightGBM does it: by their order in the frame.
    """
    booster = _booster(model)
    text = booster.model_to_string(num_iteration=_used_iterations(booster)).split("\nend of trees")[0]
    header, *blocks = text.split("\nTree=")
    facts = _facts(header)
    n_outputs, n_features = int(facts["num_tree_per_iteration"]), int(facts["max_feature_idx"]) + 1
    raw = [_facts(block) for block in blocks]
    if any(tree.get("is_linear", "0") != "0" for tree in raw):
        raise NotASumOfTreesError(
            "model: its leaves hold linear functions (linear_tree=True), not numbers; use engine='regression'"
        )
    parts = _averaged(booster)
    trees = [_tree(tree, t % n_outputs, n_outputs, parts) for t, tree in enumerate(raw)]
    objective = facts.get("objective", "").split()
    return Ensemble.from_trees(
        n_features,
        trees,
        np.zeros(n_outputs),
        single=n_outputs == 1,
        output=_words(objective),
        output_names=_output_names(model, n_outputs),
        feature_names=_feature_names(booster, X),
        levels=_levels(booster, X),
        missing=_missing(raw, n_features),
    )


def answers(model: Any, X: Any) -> FloatArray:
    """The raw scores that the model itself gives, shape ``(n, m)``."""
    booster = _booster(model)
    return np.asarray(booster.predict(X, raw_score=True), np.float64).reshape(X.shape[0], -1) / _averaged(booster)


def _booster(model: Any) -> Any:
    if not hasattr(model, "booster_") and not hasattr(type(model), "booster_"):
        return model
    if not model.__sklearn_is_fitted__():
        raise ValueError(f"model: this {type(model).__name__} is not fitted; call fit first")
    return model.booster_


def _used_iterations(booster: Any) -> int:
    return int(booster.best_iteration) if booster.best_iteration > 0 else -1


def _averaged(booster: Any) -> int:
    """By how much sums are divided; random forests predict means, but their raw scores are sums."""
    if "\naverage_output\n" not in booster.model_to_string(num_iteration=1):
        return 1
    used = _used_iterations(booster)
    return int(booster.current_iteration()) if used < 0 else used


def _facts(text: str) -> dict[str, str]:
    """The lines ``key=value`` of a text."""
    return dict(line.split("=", 1) for line in text.split("\n") if "=" in line)


def _numbers(tree: dict[str, str], key: str, dtype: Any) -> Any:
    return np.array(tree.get(key, "").split(), dtype)


def _tree(raw: dict[str, str], output: int, n_outputs: int, parts: int) -> Tree:
    """Inner nodes come first, in LightGBM's order; child ``-1 - k`` is leaf k."""
    values = _numbers(raw, "leaf_value", np.float64) / parts
    column = _numbers(raw, "split_feature", np.int64)
    n_inner, n_leaves = len(column), len(values)
    kind = _numbers(raw, "decision_type", np.int64)
    threshold, left, right = _numbers(raw, "threshold", np.float64), *_children(raw, n_inner)
    categorical = (kind & CATEGORICAL) > 0
    left[categorical], right[categorical] = right[categorical], left[categorical]
    default_right = (kind & DEFAULT_LEFT) == 0
    absent_right = np.where(categorical, False, np.where(kind >> 2 == NONE, threshold < 0, default_right))
    value = np.zeros((n_inner + n_leaves, n_outputs))
    value[n_inner:, output] = values

    def padded(a: npt.NDArray[Any], fill: Any) -> npt.NDArray[Any]:
        return np.concatenate([a, np.full(n_leaves, fill, a.dtype)])

    return Tree(
        feature=padded(column, -1),
        threshold=padded(np.where(categorical, np.nan, threshold), 0.0),
        missing_right=padded(absent_right, False),
        left=padded(left, -1),
        right=padded(right, -1),
        value=value,
        categories=_categories(raw, np.flatnonzero(categorical), threshold),
    )


def _children(raw: dict[str, str], n_inner: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    sides = (_numbers(raw, side, np.int64) for side in ("left_child", "right_child"))
    left, right = (np.where(side < 0, n_inner - 1 - side, side) for side in sides)
    return left, right


def _categories(
    raw: dict[str, str], nodes: npt.NDArray[np.intp], threshold: FloatArray
) -> dict[int, npt.NDArray[np.int64]]:
    """The codes of each split on categories: a bit set whose number stands in the place of the threshold."""
    starts = _numbers(raw, "cat_boundaries", np.int64)
    words = _numbers(raw, "cat_threshold", np.uint32)
    out = {}
    for node in nodes.tolist():
        k = int(threshold[node])
        members = np.unpackbits(words[starts[k] : starts[k + 1]].astype("<u4").view(np.uint8), bitorder="little")
        out[node] = np.flatnonzero(members)
    return out


def _missing(raw: list[dict[str, str]], n_features: int) -> FloatArray:
    """The columns in which zero is a missing value, and not only sent where a zero would go anyway."""
    out = np.full(n_features, np.nan)
    against = np.zeros(n_features, np.bool_)
    for tree in raw:
        column, kind = _numbers(tree, "split_feature", np.int64), _numbers(tree, "decision_type", np.int64)
        zero_right, default_right = _numbers(tree, "threshold", np.float64) < 0, (kind & DEFAULT_LEFT) == 0
        numeric = (kind & CATEGORICAL) == 0
        out[column[numeric & (kind >> 2 == ZERO) & (zero_right != default_right)]] = 0.0
        against[column[numeric & (kind >> 2 == NAN) & (zero_right != default_right)]] = True
    both = np.flatnonzero(against & (out == 0))
    if both.size:
        raise NotASumOfTreesError(
            f"model: zero is a missing value in some splits of column {both[0]} and a number in others (training went "
            f"on with another zero_as_missing); use engine='regression'"
        )
    return out


def _words(objective: list[str]) -> str:
    name, settings = (objective or [""])[0], objective[1:]
    if name in LOGISTIC:
        return "margin (log-odds)" if "sigmoid:1" in settings or name != "binary" else "margin"
    if name == "multiclass":
        return "margin (one score for each class, before softmax)"
    if name in LOG:
        return "margin (log of the prediction)"
    if name in RANKING:
        return "margin (score of the ranking)"
    if "sqrt" in settings:
        return "margin (signed root of the prediction)"
    return "margin" if name in ("multiclassova", "cross_entropy_lambda") else "prediction"


def _output_names(model: Any, n_outputs: int) -> tuple[str, ...] | None:
    classes = getattr(model, "classes_", None) if n_outputs > 1 else None
    return None if classes is None else tuple(map(str, classes))


def _feature_names(booster: Any, X: Any) -> tuple[str, ...] | None:
    """The names of training; LightGBM has put ``_`` for spaces, which the columns of a frame may still have."""
    names = tuple(booster.feature_name())
    if names == tuple(f"Column_{j}" for j in range(len(names))):
        return None
    frame = data_frame(X)
    given = () if frame is None else tuple(frame.columns)
    return given if tuple(name.replace(" ", "_") for name in given) == names else names


def _levels(booster: Any, X: Any) -> dict[int, tuple[Any, ...]]:
    frame = data_frame(X)
    known = booster.pandas_categorical
    if frame is None or not known:
        return {}
    import narwhals as nw

    columns = [j for j, name in enumerate(frame.columns) if isinstance(frame[name].dtype, nw.Categorical | nw.Enum)]
    if len(columns) != len(known):
        raise ValueError(
            f"X: {len(columns)} columns of categories, but the model was trained on {len(known)}; give the columns the "
            f"types of its training"
        )
    return {j: tuple(categories) for j, categories in zip(columns, known, strict=True)}
