"""What LightGBM's text form must be like before LightGBM reads it: its own reader ends the process on damaged files.

A header of lines ``key=value``, with the length of every tree in bytes; the trees, again lines ``key=value``; the line
``end of trees``. Node k of a tree with L leaves has two children: another node, or ``-(l + 1)`` for leaf l. Every node
but the first, and every leaf, is the child of one node, and a node comes after its parent.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Fields = dict[str, str]

END = "end of trees"
NEEDED = ("num_class", "max_feature_idx", "feature_names", "tree_sizes")
PER_NODE = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
MORE_PER_NODE = ("split_gain", "internal_value", "internal_weight", "internal_count")
PER_LEAF = ("leaf_value", "leaf_weight", "leaf_count")


def check(text: str) -> None:
    """Raise a ValueError unless the text holds whole trees."""
    if not text.startswith("tree\n"):
        raise ValueError("a model of LightGBM starts with the line 'tree'")
    head, _, rest = text.partition("\n\n")
    fields = _fields(head)
    absent = [key for key in NEEDED if key not in fields]
    if absent:
        raise ValueError(f"it has no line {absent[0]}=")
    n_features = int(fields["max_feature_idx"]) + 1
    if len(fields["feature_names"].split(" ")) != n_features:
        raise ValueError(f"feature_names: not {n_features} names")
    content, start = rest.encode(), 0
    for t, size in enumerate(_integers(fields["tree_sizes"]).tolist()):
        block = content[start : start + size].decode()
        if size < 1 or not block.startswith(f"Tree={t}\n"):
            raise ValueError(f"tree {t} is not where it should be")
        try:
            _check_tree(_fields(block), n_features)
        except (ValueError, KeyError) as error:
            raise ValueError(f"tree {t}: {f'no line {error}' if type(error) is KeyError else error}") from None
        start += size
    if not content[start:].startswith(END.encode()):
        raise ValueError(f"no line '{END}' behind the trees")


def _check_tree(fields: Fields, n_features: int) -> None:
    n_leaves, n_categorical = int(fields["num_leaves"]), int(fields["num_cat"])
    lengths = {key: len(_numbers(value)) for key, value in fields.items()}
    if n_leaves < 1 or any(lengths.get(key, 0) not in (0, n_leaves) for key in PER_LEAF) or not lengths["leaf_value"]:
        raise ValueError(f"not {n_leaves} leaves")
    if n_leaves == 1:
        return
    given = [*PER_NODE, *(key for key in MORE_PER_NODE if key in fields)]
    if any(lengths[key] != n_leaves - 1 for key in given):
        raise ValueError(f"not {n_leaves - 1} nodes")
    features = _integers(fields["split_feature"])
    if features.min() < 0 or features.max() >= n_features:
        raise ValueError(f"a split on a feature beyond the {n_features} named")
    children = np.stack([_integers(fields["left_child"]), _integers(fields["right_child"])])
    if sorted(children.ravel().tolist()) != [*range(-n_leaves, 0), *range(1, n_leaves - 1)]:
        raise ValueError("its nodes are not one tree")
    if ((children >= 0) & (children <= np.arange(n_leaves - 1))).any():
        raise ValueError("a node comes before its parent")
    if n_categorical:
        _check_categories(fields, n_categorical)


def _check_categories(fields: Fields, n_categorical: int) -> None:
    """A categorical split has in place of a threshold the number of its list of categories, which is a bit set."""
    bounds, words = _integers(fields["cat_boundaries"]), _integers(fields["cat_threshold"])
    sizes_right = len(bounds) == n_categorical + 1 and bounds[0] == 0 and bounds[-1] == len(words)
    if not sizes_right or (np.diff(bounds) < 0).any():
        raise ValueError("its categories are not all there")
    categorical = _integers(fields["decision_type"]) % 2 == 1
    lists = _numbers(fields["threshold"])[categorical]
    if not np.isin(lists, np.arange(n_categorical)).all():
        raise ValueError("a categorical split without its categories")


def _fields(text: str) -> Fields:
    pairs = (line.partition("=") for line in text.splitlines())
    return {key: value for key, sign, value in pairs if sign}


def _integers(text: str) -> npt.NDArray[np.int64]:
    return np.array([int(word) for word in text.split()], np.int64)


def _numbers(text: str) -> npt.NDArray[np.float64]:
    return np.array([float(word) for word in text.split()], np.float64)
