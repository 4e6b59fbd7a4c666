"""What the trees in a file of XGBoost must be like before XGBoost reads it: it follows children and features unchecked.

Node 0 is the root. A node has the children ``left_children[k]`` and ``right_children[k]``, a leaf has -1 as its left
child. Every node is the child of one node at most, whose number stands in ``parents``.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.engines.trees.ubjson import read_ubjson

PER_NODE = ("left_children", "right_children", "parents", "split_indices", "split_conditions", "default_left")
MORE_PER_NODE = ("split_type", "base_weights", "sum_hessian", "loss_changes")
MOST_CATEGORIES = 2**24  # what XGBoost allows


def check(content: bytes) -> None:
    """Raise a ValueError unless a model in JSON or UBJSON holds whole trees; one without trees is left alone."""
    document = json.loads(content) if content.lstrip()[1:2] in b'"\n\r\t }' else read_ubjson(content)
    try:
        learner = document["learner"]
        booster = learner["gradient_booster"]
        booster = booster.get("gbtree", booster)
        if "trees" not in booster.get("model", {}):
            return
        _check_forest(booster["model"], int(learner["learner_model_param"]["num_feature"]))
    except KeyError as error:
        raise ValueError(f"it has no entry {error}") from None


def _check_forest(model: Any, n_features: int) -> None:
    n = len(model["trees"])
    if int(model["gbtree_model_param"]["num_trees"]) != n or len(model["tree_info"]) != n:
        raise ValueError(f"not as many trees as it says, but {n}")
    starts = _integers(model.get("iteration_indptr", [0, n]))
    if len(starts) == 0 or starts[0] != 0 or starts[-1] != n or (np.diff(starts) < 0).any():
        raise ValueError("its rounds do not hold all trees")
    for t, tree in enumerate(model["trees"]):
        try:
            _check_tree(tree, n_features)
        except ValueError as error:
            raise ValueError(f"tree {t}: {error}") from None


def _check_tree(tree: Any, n_features: int) -> None:
    parameters = tree["tree_param"]
    n, one_value = int(parameters["num_nodes"]), int(parameters["size_leaf_vector"]) <= 1
    if n < 1 or any(len(tree[key]) != n for key in (*PER_NODE, *(MORE_PER_NODE if one_value else ()))):
        raise ValueError(f"not {n} nodes")
    left, right, parents = (_integers(tree[key]) for key in ("left_children", "right_children", "parents"))
    seen, todo = np.zeros(n, np.bool_), [0]
    while todo:
        node = todo.pop()
        if seen[node]:
            raise ValueError("its nodes are not one tree")
        seen[node] = True
        if left[node] == -1:
            continue
        children = [int(left[node]), int(right[node])]
        if any(not 0 < child < n or parents[child] != node for child in children):
            raise ValueError("its nodes are not one tree")
        todo += children
    if one_value and (left == -1).sum() != (right == -1).sum():
        raise ValueError("its nodes are not one tree")
    features = _integers(tree["split_indices"])[left != -1]
    if len(features) and not 0 <= features.min() <= features.max() < n_features:
        raise ValueError(f"a split on a feature beyond the {n_features} of the model")
    _check_categories(tree, n)


def _check_categories(tree: Any, n: int) -> None:
    nodes, starts, sizes, codes = (
        _integers(tree[key]) for key in ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    )
    kinds = _integers(tree["split_type"]) if len(tree["split_type"]) else np.zeros(n, np.int64)
    if not np.isin(kinds, (0, 1)).all() or not np.array_equal(np.flatnonzero(kinds == 1), nodes):
        raise ValueError("its categorical splits are not those listed")
    if not len(nodes) == len(starts) == len(sizes) or (starts < 0).any() or (sizes < 1).any():
        raise ValueError("its categories are not all there")
    if (starts + sizes > len(codes)).any() or (codes < 0).any() or (codes >= MOST_CATEGORIES).any():
        raise ValueError("its categories are not all there")


def _integers(values: Any) -> npt.NDArray[np.int64]:
    found = np.asarray(values)
    if found.size and found.dtype.kind not in "iub":
        raise ValueError("numbers that are not whole where positions should stand")
    return found.astype(np.int64).reshape(-1)
