"""``Ensemble``: the neutral form of a sum of decision trees, whatever library grew them.

The value at a row x is ``base + sum_t value[leaf_t(x)]``. All nodes of all trees lie in flat arrays. A numeric split
has one meaning, *go right if and only if x > threshold*, with x and threshold in double precision. Readers turn what
their library does (``<``, ``<=``, values rounded to single precision) into that form without changing where any number
goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hoeffding.machine import readable_bytes

FloatArray = npt.NDArray[np.float64]
NodeArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]


class NotASumOfTreesError(ValueError):
    """What is asked for is no sum of trees, or not one that can be read; other engines take any model."""


BYTES_OF_A_SET = 1000.0  # a set of six features: cells, positions, sums


class ClosureTooLargeError(ValueError):
    """There are more sets than a budget allows. ``n_sets`` says how many were found before the search stopped."""

    def __init__(self, n_sets: int, budget: int) -> None:
        self.n_sets = n_sets
        super().__init__(
            f"max_sets={budget:,}: the paths of the trees have at least {n_sets:,} different subsets; raise max_sets "
            f"(a set takes some {readable_bytes(BYTES_OF_A_SET)}), use shallower trees, or engine='regression'"
        )


DOUBLE = 2.0**-53  # unit roundoff: of the numbers in which a library adds up its trees
SINGLE = 2.0**-24
WALKED_AT_ONCE = 2**18  # rows in trees


class Tree(NamedTuple):
    """One tree as readers give it: nodes numbered from its root, 0; ``feature`` is -1 at leaves.

    ``categories`` maps the nodes that split on categories to the codes that go right; their threshold is NaN.
    """

    feature: npt.NDArray[np.integer]
    threshold: FloatArray
    missing_right: BoolArray
    left: npt.NDArray[np.integer]
    right: npt.NDArray[np.integer]
    value: FloatArray  # (n_nodes, m)
    categories: Mapping[int, npt.NDArray[np.integer]] = {}  # never written to


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """A sum of decision trees in flat arrays.

    Attributes
    ----------
    n_features : int
    tree_starts : (n_trees + 1,) int64; tree t has the nodes from ``tree_starts[t]`` up to ``tree_starts[t + 1]``, the
        first of which is its root.
    feature : (n_nodes,) int32, the column that a node looks at, -1 at leaves.
    threshold : (n_nodes,) float64; go right if and only if ``x > threshold``. NaN marks a split on categories.
    missing_right : (n_nodes,) bool, where a missing value (NaN) goes.
    category_starts, categories : compressed rows; at a split on categories a value goes right if and only if it is one
        of the increasing codes ``categories[category_starts[k]:category_starts[k + 1]]``.
    left, right : (n_nodes,) int32, children, counted over all trees; -1 at leaves.
    value : (n_nodes, m) float64, zero at inner nodes; weights of trees and learning rates are multiplied in.
    base : (m,) float64
    single : bool; a single output has no output axis.
    output : str; what the sum is: its first word is ``prediction``, ``probability`` or ``margin``.
    output_names, feature_names : tuple of str, or None
    levels : for columns of categories that are not given by codes: the value that each code stands for.
    missing : float, or (n_features,) float64; a number that the model takes for a missing value, besides NaN; of all
        columns, or of each (NaN where there is none).
    roundoff : unit roundoff of the arithmetic in which the library adds up its trees.
    """

    n_features: int
    tree_starts: npt.NDArray[np.int64]
    feature: NodeArray
    threshold: FloatArray
    missing_right: BoolArray
    category_starts: npt.NDArray[np.int64]
    categories: npt.NDArray[np.int64]
    left: NodeArray
    right: NodeArray
    value: FloatArray
    base: FloatArray
    single: bool
    output: str = "prediction"
    output_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    levels: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    missing: float | FloatArray = float("nan")
    roundoff: float = DOUBLE

    def __post_init__(self) -> None:
        _check_structure(self)

    @classmethod
    def from_trees(cls, n_features: int, trees: Sequence[Tree], base: FloatArray, **described: Any) -> Ensemble:
        """Lay trees out one after the other; ``described`` are the remaining attributes."""
        starts = np.cumsum([0, *(len(tree.feature) for tree in trees)], dtype=np.int64)
        offsets = starts[:-1].tolist()
        sets = {
            a + k: np.unique(codes)
            for a, tree in zip(offsets, trees, strict=True)
            for k, codes in tree.categories.items()
        }
        sizes = np.zeros(starts[-1] + 1, np.int64)
        for k, codes in sets.items():
            sizes[k + 1] = len(codes)

        def flat(arrays: list[Any], dtype: Any) -> Any:
            return np.concatenate([np.zeros(0, dtype), *(np.asarray(a, dtype) for a in arrays)])

        feature = flat([tree.feature for tree in trees], np.int32)
        shift = np.repeat(starts[:-1], np.diff(starts))
        left, right = (
            np.where(feature < 0, -1, flat([getattr(tree, side) for tree in trees], np.int64) + shift).astype(np.int32)
            for side in ("left", "right")
        )
        return cls(
            n_features=n_features,
            tree_starts=starts,
            feature=feature,
            threshold=flat([tree.threshold for tree in trees], np.float64),
            missing_right=flat([tree.missing_right for tree in trees], np.bool_),
            category_starts=np.cumsum(sizes),
            categories=flat([sets[k] for k in sorted(sets)], np.int64),
            left=left,
            right=right,
            value=np.concatenate([np.zeros((0, len(base))), *(tree.value for tree in trees)]),
            base=np.asarray(base, np.float64),
            **described,
        )

    @property
    def n_trees(self) -> int:
        return len(self.tree_starts) - 1

    @property
    def n_nodes(self) -> int:
        return len(self.feature)

    @property
    def n_outputs(self) -> int:
        return len(self.base)

    def predict(self, rows: FloatArray) -> FloatArray:
        """The sum at rows, shape ``(n, n_features)``: shape ``(n,)``, or ``(n, m)`` if there are several outputs."""
        total = np.tile(self.base, (len(rows), 1))
        for sums in self.partial_sums(rows):
            total = sums[-1]
        return total[:, 0] if self.single else total

    def partial_sums(self, rows: FloatArray) -> Iterator[FloatArray]:
        """The sums after each tree, in the order of the trees, for some trees at a time: ``(n_trees, n, m)``."""
        total = np.tile(self.base, (len(rows), 1))
        at_once = max(1, WALKED_AT_ONCE // max(len(rows), 1))
        for first in range(0, self.n_trees, at_once):
            sums = self.value[self._leaves(rows, self.tree_starts[:-1][first : first + at_once])]
            sums[0] += total
            np.cumsum(sums, axis=0, out=sums)
            total = sums[-1]
            yield sums

    def _leaves(self, rows: FloatArray, roots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The leaf that each row falls in below each root, ``(n_roots, n)``."""
        node, row = np.repeat(roots, len(rows)), np.tile(np.arange(len(rows)), len(roots))
        on_the_way = np.arange(len(node))
        while (on_the_way := on_the_way[self.feature[node[on_the_way]] >= 0]).size:
            here = node[on_the_way]
            goes_right = self.goes_right(here, rows[row[on_the_way], self.feature[here]])
            node[on_the_way] = np.where(goes_right, self.right[here], self.left[here])
        return node.reshape(len(roots), len(rows))

    def is_missing(self, column: npt.NDArray[np.integer], x: FloatArray) -> BoolArray:
        """Whether values of some columns count as missing; the shapes of ``column`` and ``x`` go together."""
        missing: BoolArray = np.isnan(x)
        if not np.isnan(self.missing).all():
            missing |= x == np.broadcast_to(self.missing, self.n_features)[column]
        return missing

    def goes_right(self, node: npt.NDArray[np.integer], x: FloatArray) -> BoolArray:
        """Whether the value ``x[k]`` goes right at ``node[k]``; both have shape ``(n,)``."""
        right: BoolArray = x > self.threshold[node]
        absent = self.is_missing(self.feature[node], x)
        if len(self.categories):
            split = np.isnan(self.threshold[node]) & ~absent
            right[split] = self._is_member(node[split], x[split])
        right[absent] = self.missing_right[node[absent]]
        return right

    def _is_member(self, node: npt.NDArray[np.integer], x: FloatArray) -> BoolArray:
        # One number for each pair (node, code): the pairs are sorted, so membership is a search.
        width = int(self.categories.max()) + 2
        node_of = np.repeat(np.arange(self.n_nodes), np.diff(self.category_starts))
        keys = node_of * width + self.categories
        wanted = node.astype(np.int64) * width + np.clip(np.floor(x), -1, width - 1).astype(np.int64) % width
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        found: BoolArray = keys[at] == wanted
        return found

    def __repr__(self) -> str:
        outputs = "one output" if self.n_outputs == 1 else f"{self.n_outputs} outputs"
        size = f"{self.n_trees} trees, {self.n_nodes} nodes, {self.n_features} features"
        return f"Ensemble({size}, {outputs}: {self.output})"


def _check_structure(e: Ensemble) -> None:
    """Refuse what is not a forest of finite values."""
    n = e.n_nodes
    if e.tree_starts[0] != 0 or e.tree_starts[-1] != n or (np.diff(e.tree_starts) < 1).any():
        raise ValueError("tree_starts: every tree needs a root, and every node belongs to a tree")
    for name in ("threshold", "missing_right", "left", "right", "value"):
        if len(getattr(e, name)) != n:
            raise ValueError(f"{name}: {len(getattr(e, name))} entries for {n} nodes")
    if e.value.shape != (n, e.n_outputs) or (e.single and e.n_outputs != 1):
        raise ValueError(f"value: shape {e.value.shape} for {n} nodes and {e.n_outputs} outputs")
    if n and not -1 <= e.feature.min() <= e.feature.max() < e.n_features:
        raise ValueError(f"feature: a node looks at feature {e.feature.max()}, there are {e.n_features}")
    tree = np.repeat(np.arange(e.n_trees), np.diff(e.tree_starts))
    _check_children(e, tree)
    wrong = np.flatnonzero(~np.isfinite(e.value).all(axis=1))
    if wrong.size:
        k = wrong[0]
        raise ValueError(f"value: the leaf at node {k - e.tree_starts[tree[k]]} of tree {tree[k]} holds {e.value[k]}")
    if not np.isfinite(e.base).all():
        raise ValueError(f"base: must be finite, got {e.base}")


def _check_children(e: Ensemble, tree: npt.NDArray[np.int64]) -> None:
    """Every child has one parent, and no root has any: then what hangs on a root is a tree, without cycles."""
    inner = np.flatnonzero(e.feature >= 0)
    children = np.concatenate([e.left[inner], e.right[inner]])
    if len(children) and not 0 <= children.min() <= children.max() < e.n_nodes:
        raise ValueError(f"left, right: children from {children.min()} to {children.max()} in {e.n_nodes} nodes")
    wrong = np.flatnonzero(tree[children] != np.concatenate([tree[inner], tree[inner]]))
    if wrong.size:
        raise ValueError(f"left, right: node {children[wrong[0]]} is a child in another tree")
    parents = np.bincount(children, minlength=e.n_nodes)
    parents[e.tree_starts[:-1]] += 1
    if (parents > 1).any():
        raise ValueError(f"left, right: node {np.argmax(parents > 1)} is reached twice, so this is not a tree")


# -- what single precision does to a threshold -----------------------------------------------------------------------
# Rounding is monotone: the doubles that round to the single-precision number u or above are those beyond the midpoint
# between u and its neighbour below. The midpoint itself (exact in double precision) rounds to the neighbour whose last
# bit is zero.


def threshold_of_single_at_least(u: npt.NDArray[np.float32]) -> FloatArray:
    """The doubles t with: ``float32(x) >= u`` if and only if ``x > t``.

    >>> threshold_of_single_at_least(np.float32([1.0])).item() == 1 - 2**-25 - 2**-53
    True
    """
    u = np.asarray(u, np.float32)
    with np.errstate(over="ignore"):  # below the lowest number lies -inf, which keeps every finite x above
        below = np.nextafter(u, np.float32(-np.inf))
    middle = (below.astype(np.float64) + u.astype(np.float64)) / 2
    rounds_up = u.view(np.uint32) % 2 == 0
    t = np.where(rounds_up, np.nextafter(middle, -np.inf), middle)
    return np.where(np.isposinf(u), np.inf, t)


def threshold_of_single_above(t: FloatArray) -> FloatArray:
    """The doubles s with: ``float32(x) > t`` if and only if ``x > s``; t is in double precision."""
    with np.errstate(over="ignore"):  # above the highest number lies inf
        u = t.astype(np.float32)
        first_above = np.where(u.astype(np.float64) > t, u, np.nextafter(u, np.float32(np.inf)))
    return threshold_of_single_at_least(first_above.astype(np.float32))
