"""Splits as bits and leaves as products say what the trees say."""

import numpy as np
import pytest
from hypothesis import given

from forests import ensembles, random_ensemble, random_values
from hoeffding.engines.trees.ensemble import Ensemble, Tree
from hoeffding.engines.trees.splits import list_leaves, split_bits

EXACT = 1e-12  # sums of some dozen leaves near one, in another order


def of_columns(rows):
    missing = np.isnan(rows)
    return ((rows == 0) | (rows == 1) | missing).all(axis=0), missing.any(axis=0)


def sum_of_leaves(leaves, base, bits):
    """Every leaf as a product of literals, shape ``(n, m)``."""
    out = np.tile(base, (len(bits), 1))
    for k, value in enumerate(leaves.leaf_values):
        path = slice(leaves.path_starts[k], leaves.path_starts[k + 1])
        out += (bits[:, leaves.path_bits[path]] == leaves.path_values[path]).all(axis=1)[:, None] * value
    return out


def numeric(splits):
    """A chain of numeric splits on one column: ``(threshold, missing_right)``, the next one on the right."""
    n = len(splits)
    return Tree(
        feature=np.array([0] * n + [-1] * (n + 1)),
        threshold=np.array([t for t, _ in splits] + [0.0] * (n + 1)),
        missing_right=np.array([m for _, m in splits] + [False] * (n + 1)),
        left=np.array([*range(n, 2 * n)] + [-1] * (n + 1)),
        right=np.array([*range(1, n), 2 * n] + [-1] * (n + 1)),
        value=np.concatenate([np.zeros(n), np.arange(1.0, n + 2)])[:, None],
    )


def one_column(*trees):
    return Ensemble.from_trees(1, trees, np.zeros(1), single=True)


@given(drawn=ensembles())
def test_the_trees_on_bits_have_the_same_values(drawn):
    ensemble, rows, _ = drawn
    bits, on_bits = split_bits(ensemble, *of_columns(rows))
    evaluated = bits.evaluate(rows).to_rows()
    assert evaluated.shape == (len(rows), len(bits))
    np.testing.assert_array_equal(on_bits.predict(evaluated.astype(np.float64)), ensemble.predict(rows))


@given(drawn=ensembles())
def test_the_leaves_add_up_to_the_trees(drawn):
    ensemble, rows, _ = drawn
    bits, on_bits = split_bits(ensemble, *of_columns(rows))
    leaves = list_leaves(on_bits, 10**6)
    total = sum_of_leaves(leaves, ensemble.base, bits.evaluate(rows).to_rows())
    expected = ensemble.predict(rows).reshape(len(rows), -1)
    np.testing.assert_allclose(total, expected, rtol=0, atol=EXACT)


@given(drawn=ensembles())
def test_no_two_bits_ask_the_same_and_no_bit_is_unused(drawn):
    ensemble, rows, columns = drawn
    bits, on_bits = split_bits(ensemble, *of_columns(rows))
    asked = [
        (bits.column[b], bits.kind[b], np.nan_to_num(bits.threshold[b]), tuple(bits.members(b)), bits.at_missing[b])
        for b in range(len(bits))
    ]
    assert len(set(asked)) == len(asked)
    assert set(on_bits.feature[on_bits.feature >= 0].tolist()) == set(range(len(bits)))
    for j, kind in enumerate(columns):
        if kind == "bits":  # one bit a column, whatever the thresholds are
            assert bits.kind[list(bits.column).index(j)] == "bit" if j in bits.column else True
            assert (bits.column == j).sum() <= 1


@given(drawn=ensembles())
def test_paths_are_sorted_without_repetitions(drawn):
    ensemble, rows, _ = drawn
    leaves = list_leaves(split_bits(ensemble, *of_columns(rows))[1], 10**6)
    for a, b in zip(leaves.path_starts, leaves.path_starts[1:], strict=False):
        assert (np.diff(leaves.path_bits[a:b]) > 0).all()


def test_all_thresholds_between_zero_and_one_are_one_bit_of_a_column_of_bits():
    ensemble = one_column(numeric([(0.0, False)]), numeric([(0.5, True)]), numeric([(0.999, False)]))
    bits, _ = split_bits(ensemble, np.array([True]), np.array([False]))
    assert bits.kind == ("bit",)
    bits, _ = split_bits(ensemble, np.array([False]), np.array([False]))
    assert bits.kind == ("above",) * 3
    np.testing.assert_array_equal(bits.threshold, [0.0, 0.5, 0.999])


def test_thresholds_that_no_bit_passes_are_pruned():
    ensemble = one_column(numeric([(-0.5, False), (0.5, False), (1.0, False)]))
    bits, on_bits = split_bits(ensemble, np.array([True]), np.array([False]))
    assert bits.kind == ("bit",)
    assert on_bits.n_nodes == 3
    np.testing.assert_array_equal(on_bits.predict(np.array([[0.0], [1.0]])), [2.0, 3.0])


def test_a_tree_of_constant_splits_becomes_a_leaf():
    bits, on_bits = split_bits(one_column(numeric([(2.0, False), (3.0, False)])), np.array([True]), np.array([False]))
    assert len(bits) == 0
    assert on_bits.n_nodes == 1
    assert bits.evaluate(np.zeros((3, 1))).to_rows().shape == (3, 0)
    leaves = list_leaves(on_bits, 10**6)
    np.testing.assert_array_equal(leaves.leaf_values, [[1.0]])
    np.testing.assert_array_equal(leaves.path_starts, [0, 0])


def test_where_missing_values_go_matters_only_where_there_are_some():
    ensemble = one_column(numeric([(0.25, False)]), numeric([(0.25, True)]))
    assert len(split_bits(ensemble, np.array([False]), np.array([False]))[0]) == 1
    bits, _ = split_bits(ensemble, np.array([False]), np.array([True]))
    np.testing.assert_array_equal(bits.at_missing, [False, True])


@pytest.mark.parametrize("binary", [False, True])
def test_a_split_that_only_asks_what_is_missing(binary):
    ensemble = one_column(numeric([(np.inf, True)]), numeric([(-np.inf, False)]))
    bits, on_bits = split_bits(ensemble, np.array([binary]), np.array([True]))
    assert bits.kind == ("missing",)
    rows = np.array([[0.0], [1.0], [np.nan]])
    np.testing.assert_array_equal(bits.evaluate(rows).to_rows(), [[0], [0], [1]])
    np.testing.assert_array_equal(on_bits.predict(bits.evaluate(rows).to_rows().astype(float)), ensemble.predict(rows))


def test_negative_zero_asks_what_zero_asks():
    ensemble = one_column(numeric([(0.0, False)]), numeric([(-0.0, False)]))
    assert len(split_bits(ensemble, np.array([False]), np.array([False]))[0]) == 1


def test_sets_of_categories_on_a_column_of_bits_are_the_bit_or_its_opposite():
    def member(codes):
        return numeric([(np.nan, False)])._replace(categories={0: np.array(codes)})

    ensemble = one_column(*(member(codes) for codes in ([0], [1], [0, 1], [1, 2], [5], [])))
    bits, on_bits = split_bits(ensemble, np.array([True]), np.array([False]))
    assert bits.kind == ("bit",)
    rows = np.array([[0.0], [1.0]])
    np.testing.assert_array_equal(on_bits.predict(rows), ensemble.predict(rows))
    bits, _ = split_bits(ensemble, np.array([False]), np.array([False]))
    assert bits.kind == ("member",) * 5
    assert [bits.members(b).tolist() for b in range(5)] == [[0], [1], [0, 1], [1, 2], [5]]


def test_what_a_path_has_answered_is_not_asked_again():
    ensemble = one_column(numeric([(0.5, False), (0.5, False)]))
    bits, on_bits = split_bits(ensemble, np.array([False]), np.array([False]))
    leaves = list_leaves(on_bits, 10**6)
    assert len(bits) == 1
    np.testing.assert_array_equal(leaves.path_starts, [0, 1, 2])  # the leaf between the two splits is out of reach
    np.testing.assert_array_equal(sorted(leaves.leaf_values.ravel()), [1.0, 3.0])


def test_many_trees_are_followed_in_blocks(monkeypatch):
    rng = np.random.default_rng(5)
    ensemble = random_ensemble(rng, ["bits"] * 6, n_trees=30, depth=5)
    rows = random_values(rng, ["bits"] * 6, 20)
    on_bits = split_bits(ensemble, *of_columns(rows))[1]
    whole = list_leaves(on_bits, 10**6)
    monkeypatch.setattr("hoeffding.engines.trees.splits.NODES_AT_ONCE", 64)
    in_blocks = list_leaves(on_bits, 10**6)
    assert len(whole) == len(in_blocks)
    assert whole.leaf_values.sum() == pytest.approx(in_blocks.leaf_values.sum())
