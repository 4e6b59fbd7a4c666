"""The splits of an ensemble as bits, and its leaves as products of them.

Each split asks one question of a row: is ``x_j`` above t, or among some categories? Every different question is a bit,
and the trees become trees on bits. A leaf is then a product of literals, one for each different bit on its path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix, pack_columns
from hoeffding.engines.trees.ensemble import BoolArray, ClosureTooLargeError, Ensemble, FloatArray, NodeArray

KINDS = ("bit", "above", "member", "missing")
BIT, ABOVE, MEMBER, MISSING, CONSTANT = range(5)
NODES_AT_ONCE = 2**18  # of the trees whose leaves are listed together


@dataclass(frozen=True, eq=False, repr=False)
class SplitBits:
    """The different questions that the splits of an ensemble ask, each of them a bit.

    Attributes
    ----------
    column : (n_bits,) int32, the original column.
    kind : tuple of str; ``"bit"``: the column holds 0 and 1 and is the bit itself; ``"above"``: ``x > threshold``;
        ``"member"``: x is one of some codes of categories; ``"missing"``: x is missing.
    threshold : (n_bits,) float64; NaN but for ``"above"``.
    category_starts, categories : compressed rows, the codes of each ``"member"``.
    at_missing : (n_bits,) bool, the value of the bit where x is missing; False for ``"missing"``.
    knows_missing : (n_features,) bool, the original columns at whose missing values the bits say what the splits say.
    """

    column: NodeArray
    kind: tuple[str, ...]
    threshold: FloatArray
    category_starts: npt.NDArray[np.int64]
    categories: npt.NDArray[np.int64]
    at_missing: BoolArray
    knows_missing: BoolArray

    def __len__(self) -> int:
        return len(self.column)

    def members(self, bit: int) -> npt.NDArray[np.int64]:
        """The codes of a ``"member"`` bit, increasing."""
        return self.categories[self.category_starts[bit] : self.category_starts[bit + 1]]

    def evaluate(self, rows: FloatArray) -> BitMatrix:
        """The bits at rows, shape ``(n, n_features)``, as ``read_rows`` gives them."""
        columns = np.zeros((len(self), max(-(-len(rows) // 64), 1)), np.uint64)
        for bit in range(len(self)):
            columns[bit] = pack_columns(self._bit(bit, rows)[:, None])[0]
        return BitMatrix(columns, len(rows))

    def _bit(self, bit: int, rows: FloatArray) -> npt.NDArray[np.uint8]:
        x = rows[:, self.column[bit]]
        if self.kind[bit] == "missing":
            return np.isnan(x).astype(np.uint8)
        if self.kind[bit] == "member":
            value = np.isin(x, self.members(bit))
        else:
            value = x > (self.threshold[bit] if self.kind[bit] == "above" else 0)
        if self.at_missing[bit]:
            value |= np.isnan(x)
        return value.astype(np.uint8)


def split_bits(ensemble: Ensemble, binary: BoolArray, has_missing: BoolArray) -> tuple[SplitBits, Ensemble]:
    """The different questions, and the same sum of trees with one feature for each of them.

    A split on feature j of the result is ``x_j > 0.5``. Splits that every row answers in the same way are gone.

    Parameters
    ----------
    ensemble : Ensemble
    binary : (n_features,) bool
        The columns that hold only 0, 1 and missing values: every threshold in [0, 1) asks the same there.
    has_missing : (n_features,) bool
        The columns with missing values. Splits of others that differ only in where a missing value would go are one
        bit, which then does not know it: see ``knows_missing``.
    """
    inner = np.flatnonzero(ensemble.feature >= 0)
    asked = _questions(ensemble, inner, binary, has_missing)
    swapped = inner[asked.inverted]
    left, right = ensemble.left.copy(), ensemble.right.copy()
    left[swapped], right[swapped] = ensemble.right[swapped], ensemble.left[swapped]
    # A node whose answer is always the same gives way to the child that is always taken.
    is_constant = asked.kind == CONSTANT
    constant = inner[is_constant]
    taken = np.arange(ensemble.n_nodes, dtype=np.int32)
    taken[constant] = np.where(asked.always[is_constant], right[constant], left[constant])
    while not np.array_equal(further := taken[taken], taken):
        taken = further
    left, right = (np.where(side >= 0, taken[side], -1).astype(np.int32) for side in (left, right))
    nodes, tree_starts = _reached(taken[ensemble.tree_starts[:-1]], left, right)
    is_reached = np.zeros(ensemble.n_nodes, np.bool_)
    is_reached[nodes] = True
    bits, number = _distinct(asked, ~is_constant & is_reached[inner], ensemble.n_features)
    bit = np.full(ensemble.n_nodes, -1, np.int32)
    bit[inner] = number
    return bits, _on_bits(ensemble, len(bits), nodes, tree_starts, (bit, left, right))


class _Questions(NamedTuple):
    """What nodes ask, in canonical form, so that equal entries ask the same; all arrays have one entry a node."""

    column: NodeArray
    kind: npt.NDArray[np.int8]
    threshold: FloatArray  # 0 where the kind has none
    set_number: npt.NDArray[np.int64]  # the position in ``sets``, -1 where the kind has none
    at_missing: BoolArray  # the answer where x is missing
    inverted: BoolArray  # whether a node goes left where its question is answered with yes
    always: BoolArray  # for constant ones: the answer
    knows_missing: BoolArray  # whether that is the answer where x is missing, too
    sets: list[npt.NDArray[np.int64]]  # codes of categories


def _questions(e: Ensemble, inner: npt.NDArray[np.int64], binary: BoolArray, has_missing: BoolArray) -> _Questions:
    column, threshold = e.feature[inner], e.threshold[inner] + 0.0  # so that -0.0 becomes 0.0
    sets, set_number = _distinct_sets(e, inner)
    member = set_number >= 0
    two_values, may_miss, missing_right = binary[column], has_missing[column], e.missing_right[inner]
    right_at_0, right_at_1 = (
        np.where(
            e.is_missing(column, np.full(len(column), float(x))),
            missing_right,
            np.where(member, np.array([x in codes for codes in sets] + [False])[set_number], x > threshold),
        )
        for x in (0, 1)
    )
    is_empty = np.array([len(codes) == 0 for codes in sets] + [False])[set_number]
    never = np.where(two_values, ~right_at_0 & ~right_at_1, np.isposinf(threshold) | is_empty)
    always = np.where(two_values, right_at_0 & right_at_1, np.isneginf(threshold))
    constant = (never | always) & (~may_miss | (missing_right == always))
    absence = (never | always) & ~constant  # all that is left to ask is whether x is missing
    is_bit = two_values & (right_at_0 != right_at_1)
    inverted = (is_bit & right_at_0) | (absence & always)
    kind = np.select([constant, absence, is_bit, member], [CONSTANT, MISSING, BIT, MEMBER], ABOVE).astype(np.int8)
    # Levels that training never met are missing values to a model, but members of no set to a table: so ask for the
    # other levels, where missing values would be answered with yes.
    named = np.isin(column, list(e.levels))
    turned = (kind == MEMBER) & named & may_miss & (missing_right ^ inverted)
    sets, set_number = _other_levels(e, column, turned, sets, set_number)
    inverted = inverted ^ turned
    return _Questions(
        column,
        kind,
        threshold=np.where(kind == ABOVE, threshold, 0.0),
        set_number=np.where(kind == MEMBER, set_number, -1),
        at_missing=may_miss & (missing_right ^ inverted) & (kind != MISSING),
        inverted=inverted,
        always=always,
        knows_missing=may_miss | (missing_right == np.where(constant, always, inverted)),
        sets=sets,
    )


def _distinct_sets(
    e: Ensemble, inner: npt.NDArray[np.int64]
) -> tuple[list[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
    """The different sets of codes, and for each inner node the position of its set, -1 where it compares numbers."""
    numbers: dict[bytes, int] = {}
    out = np.full(len(inner), -1, np.int64)
    for k in np.flatnonzero(np.isnan(e.threshold[inner])).tolist():
        a, b = e.category_starts[inner[k]], e.category_starts[inner[k] + 1]
        out[k] = numbers.setdefault(e.categories[a:b].tobytes(), len(numbers))
    return [np.frombuffer(key, np.int64) for key in numbers], out


def _other_levels(
    e: Ensemble,
    column: NodeArray,
    turned: BoolArray,
    sets: list[npt.NDArray[np.int64]],
    set_number: npt.NDArray[np.int64],
) -> tuple[list[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
    """The same where some nodes ask for the levels of their column that are not in their set."""
    numbers, out = {codes.tobytes(): k for k, codes in enumerate(sets)}, set_number.copy()
    for k in np.flatnonzero(turned).tolist():
        rest = np.setdiff1d(np.arange(len(e.levels[int(column[k])])), sets[set_number[k]])
        out[k] = numbers.setdefault(rest.tobytes(), len(numbers))
    return [np.frombuffer(key, np.int64) for key in numbers], out


def _distinct(asked: _Questions, is_live: BoolArray, n_features: int) -> tuple[SplitBits, NodeArray]:
    """The different questions of live nodes, sorted by column, and for each node the number of its own, else -1."""
    live = np.flatnonzero(is_live)
    fields = (asked.column, asked.kind, asked.threshold, asked.set_number, asked.at_missing)
    order = live[np.lexsort([f[live] for f in reversed(fields)])]
    is_new = np.ones(len(order), np.bool_)
    is_new[1:] = np.any([f[order[1:]] != f[order[:-1]] for f in fields], axis=0)
    number = np.full(len(asked.column), -1, np.int32)
    number[order] = np.cumsum(is_new) - 1
    of = order[is_new]
    sets = [asked.sets[k] if k >= 0 else np.zeros(0, np.int64) for k in asked.set_number[of].tolist()]
    knows_missing = np.ones(n_features, np.bool_)
    knows_missing[asked.column[~asked.knows_missing]] = False
    table = SplitBits(
        column=asked.column[of],
        kind=tuple(KINDS[k] for k in asked.kind[of].tolist()),
        threshold=np.where(asked.kind[of] == ABOVE, asked.threshold[of], np.nan),
        category_starts=np.cumsum([0, *map(len, sets)], dtype=np.int64),
        categories=np.concatenate([np.zeros(0, np.int64), *sets]),
        at_missing=asked.at_missing[of],
        knows_missing=knows_missing,
    )
    return table, number


def _reached(roots: NodeArray, left: NodeArray, right: NodeArray) -> tuple[NodeArray, npt.NDArray[np.int64]]:
    """The nodes that hang on the roots, tree by tree, roots first, and where each tree begins."""
    level, tree = roots, np.arange(len(roots))
    nodes, trees = [level], [tree]
    while level.size:
        inner = left[level] >= 0
        level, tree = np.concatenate([left[level[inner]], right[level[inner]]]), np.tile(tree[inner], 2)
        nodes.append(level)
        trees.append(tree)
    of = np.concatenate(trees)
    order = np.argsort(of, kind="stable")
    return np.concatenate(nodes)[order], np.searchsorted(of[order], np.arange(len(roots) + 1))


def _on_bits(
    e: Ensemble,
    n_bits: int,
    nodes: NodeArray,
    tree_starts: npt.NDArray[np.int64],
    asking: tuple[NodeArray, NodeArray, NodeArray],
) -> Ensemble:
    """The ensemble of the given nodes, which are ``asking`` for bits and send rows to children, left and right."""
    position = np.full(e.n_nodes, -1, np.int32)
    position[nodes] = np.arange(len(nodes))
    bit, left, right = (array[nodes] for array in asking)
    leaf = bit < 0
    return replace(
        e,
        n_features=n_bits,
        tree_starts=tree_starts,
        feature=bit,
        threshold=np.where(leaf, 0.0, 0.5),
        missing_right=np.zeros(len(nodes), np.bool_),
        category_starts=np.zeros(len(nodes) + 1, np.int64),
        categories=np.zeros(0, np.int64),
        left=np.where(leaf, -1, position[left]).astype(np.int32),
        right=np.where(leaf, -1, position[right]).astype(np.int32),
        value=e.value[nodes],
        feature_names=None,
        levels={},
        missing=float("nan"),
    )


# -- leaves ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Leaves:
    """The leaves of all trees as products of literals: ``base + sum_l value_l prod_b [x_b = path_value_b]``.

    Attributes
    ----------
    path_starts : (n_leaves + 1,) int64
    path_bits : the different bits on the path of leaf l, increasing: ``path_bits[path_starts[l]:path_starts[l + 1]]``.
    path_values : bool, the values that lead to the leaf.
    leaf_values : (n_leaves, m) float64
    """

    path_starts: npt.NDArray[np.int64]
    path_bits: NodeArray
    path_values: BoolArray
    leaf_values: FloatArray

    def __len__(self) -> int:
        return len(self.leaf_values)


def list_leaves(ensemble: Ensemble, max_sets: int) -> Leaves:
    """The leaves of an ensemble on bits, from :func:`split_bits`; leaves that no row can reach are left out.

    A bit that a path meets again counts once, and the child that contradicts it is not followed. A path of more than
    ``max_sets`` subsets is an error, as soon as it is met.
    """
    found = [part for roots in _blocks(ensemble) for part in _leaves_below(ensemble, roots, max_sets)]
    nodes = np.concatenate([np.zeros(0, np.int32), *(node for node, _ in found)])
    lengths = np.concatenate([np.zeros(0, np.int64), *((path >= 0).sum(axis=1) for _, path in found)])
    literals = np.concatenate([np.zeros(0, np.int32), *(path[path >= 0] for _, path in found)])
    return Leaves(
        path_starts=np.concatenate([[0], np.cumsum(lengths)]),
        path_bits=literals >> 1,
        path_values=(literals & 1).astype(np.bool_),
        leaf_values=ensemble.value[nodes],
    )


def _blocks(ensemble: Ensemble) -> Iterator[NodeArray]:
    """Roots in blocks whose trees have about ``NODES_AT_ONCE`` nodes, to bound the memory."""
    roots, starts = ensemble.tree_starts[:-1].astype(np.int32), ensemble.tree_starts
    first = 0
    while first < len(roots):
        last = max(int(np.searchsorted(starts, starts[first] + NODES_AT_ONCE, side="right")) - 1, first + 1)
        yield roots[first:last]
        first = last


def _leaves_below(e: Ensemble, roots: NodeArray, max_sets: int) -> Iterator[tuple[NodeArray, NodeArray]]:
    """Level by level the leaves, ``(k,)``, and the sorted literals on their paths, ``(k, depth)``.

    A literal is one number, ``2 * bit + value``; -1 stands where a path met a bit again.
    """
    node, path = roots, np.zeros((len(roots), 0), np.int32)
    while node.size:
        longest = int((path >= 0).sum(axis=1).max()) if 2 ** path.shape[1] > max_sets else 0
        if 2**longest > max_sets:
            raise ClosureTooLargeError(2**longest, max_sets)
        inner = e.feature[node] >= 0
        if not inner.all():
            yield node[~inner], np.sort(path[~inner], axis=1)
        node, path = node[inner], path[inner]
        bit = e.feature[node]
        known = (path >> 1) == bit[:, None]
        again = known.any(axis=1)
        answer = np.full(len(node), -1, np.int32)
        answer[again] = path[known] & 1
        goes = [answer != 1 - value for value in (0, 1)]
        path = np.concatenate(
            [np.column_stack([path[go], np.where(again, -1, 2 * bit + value)[go]]) for value, go in enumerate(goes)]
        )
        node = np.concatenate([e.left[node[goes[0]]], e.right[node[goes[1]]]])
