"""A family of subsets is a sorted sequence of tuples: by size, then lexicographically."""

import math
import re
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoeffding import SubsetFamily
from hoeffding.subsets import as_subset, find_rows, grow_candidates, index_dtype
from strategies import all_subsets, seeds, subsets


@st.composite
def families(draw, min_d=1, max_d=7):
    """A family of any sets, not closed in general; also the list it was made of, in no order, with repetitions."""
    d = draw(st.integers(min_d, max_d))
    drawn = draw(st.lists(subsets(d), max_size=12))
    return SubsetFamily.from_subsets(d, [*drawn, *drawn[::-1]]), drawn


def in_order(sets):
    return sorted(set(sets), key=lambda s: (len(s), s))


# -- what a family holds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", range(7))
def test_up_to_order_lists_every_set_once_in_order(d):
    for order in range(d + 1):
        family = SubsetFamily.up_to_order(d, order)
        assert list(family) == all_subsets(range(d), order)
        assert len(family) == sum(comb(d, s) for s in range(order + 1))
        assert family.order == order


@given(families())
def test_a_family_holds_the_given_sets_once_sorted_by_size_then_lexicographically(drawn):
    family, given_sets = drawn
    assert list(family) == in_order(given_sets)
    assert len(family) == len(set(given_sets))
    assert family.order == max(map(len, given_sets), default=0)
    assert family.sizes.tolist() == [len(s) for s in family]


def test_sets_are_given_in_any_order_and_by_any_integers():
    family = SubsetFamily.from_subsets(5, [[4, 1], {1, 4}, np.array([1, 4]), (np.int8(4), 1)])
    assert list(family) == [(1, 4)]


@given(families())
def test_position_and_set_are_inverse_to_each_other(drawn):
    family, _ = drawn
    n, sets = len(family), list(family)
    assert [family[position] for position in range(n)] == [family[position - n] for position in range(n)] == sets
    assert [family.index(s) for s in sets] == [family.index(s[::-1]) for s in sets] == list(range(n))


@given(families())
def test_a_family_contains_its_sets_and_no_others(drawn):
    family, given_sets = drawn
    assert [s for s in all_subsets(range(family.d)) if s in family] == in_order(given_sets)


def test_positions_outside_the_family_are_refused():
    family = SubsetFamily.up_to_order(3, 1)
    for position in (4, -5):
        with pytest.raises(IndexError):
            family[position]


# -- equality -----------------------------------------------------------------------------------------------------


@given(families(), families())
def test_families_are_equal_when_they_hold_the_same_sets_of_as_many_features(one, other):
    a, b = one[0], other[0]
    assert (a == b) == (a.d == b.d and list(a) == list(b))
    twin = SubsetFamily.from_subsets(a.d, reversed(list(a)))
    assert twin == a and hash(twin) == hash(a)
    assert SubsetFamily.from_subsets(a.d + 1, a) != a


def test_levels_without_sets_do_not_matter_to_equality():
    family = SubsetFamily.up_to_order(4, 1)
    padded = SubsetFamily(4, (*family.levels, np.zeros((0, 2), np.uint8)))
    assert padded == family and padded.order == 1


def test_a_family_is_not_equal_to_a_list():
    assert SubsetFamily.up_to_order(2, 1) != [(), (0,), (1,)]


# -- families from families ------------------------------------------------------------------------------------------


@given(families())
def test_the_closure_holds_all_subsets_of_the_sets_and_nothing_else(drawn):
    family, given_sets = drawn
    closed = family.closure()
    assert list(closed) == in_order(r for s in given_sets for r in all_subsets(s))
    assert closed.is_closed() and closed.closure() == closed
    assert family.is_closed() == (family == closed)


@given(families(), seeds)
def test_select_keeps_the_marked_sets(drawn, seed):
    family, _ = drawn
    mask = np.random.default_rng(seed).random(len(family)) < 0.5
    assert list(family.select(mask)) == [s for s, kept in zip(family, mask, strict=True) if kept]
    assert family.select(np.ones(len(family), np.bool_)) == family
    assert len(family.select(np.zeros(len(family), np.bool_))) == 0


@given(families())
def test_the_cube_index_is_the_flat_index_of_the_indicator_vector(drawn):
    family, _ = drawn
    marked = np.zeros((2,) * family.d, np.bool_)
    for s, flat in zip(family, family.cube_index(), strict=True):
        indicator = tuple(int(i in s) for i in range(family.d))
        assert flat == np.ravel_multi_index(indicator, marked.shape)
        marked[indicator] = True
    assert SubsetFamily.from_cube_mask(marked) == family


@pytest.mark.parametrize("leading", [(), (3,), (2, 3)])
@given(drawn=families())
def test_take_reads_an_array_over_the_cube_at_the_sets_and_put_is_its_inverse(leading, drawn):
    family, _ = drawn
    cube = np.arange(1, math.prod(leading) * 2**family.d + 1).reshape(*leading, 2**family.d)
    entries = family.take(cube)
    assert entries.dtype == cube.dtype
    np.testing.assert_array_equal(entries, cube[..., family.cube_index()])
    back = family.put(entries)
    np.testing.assert_array_equal(family.take(back), entries)
    np.testing.assert_array_equal(back, np.where(np.isin(cube, entries), cube, 0))


# -- candidates ---------------------------------------------------------------------------------------------------


@given(seed=seeds, d=st.integers(1, 8), size=st.integers(1, 4), density=st.sampled_from([0.3, 0.7, 0.95, 1.0]))
def test_candidates_are_the_larger_sets_all_of_whose_subsets_are_there(seed, d, size, density):
    rng = np.random.default_rng(seed)
    level = [s for s in combinations(range(d), size) if rng.random() < density]
    known = set(level)
    expected = [s for s in combinations(range(d), size + 1) if known.issuperset(combinations(s, size))]
    grown = grow_candidates(np.array(level, np.uint8).reshape(-1, size))
    assert grown.shape[1] == size + 1
    assert list(map(tuple, grown.tolist())) == expected


def test_candidates_among_more_than_256_features():
    around = [0, 1, 254, 255, 256, 257, 299]
    level = np.array([s for s in combinations(around, 2) if s != (255, 257)], index_dtype(300))
    expected = [s for s in combinations(around, 3) if not {255, 257} <= set(s)]
    assert list(map(tuple, grow_candidates(level).tolist())) == expected


@given(drawn=families(), size=st.integers(1, 3))
def test_find_rows_gives_positions_and_minus_one_for_sets_that_are_not_there(drawn, size):
    family, _ = drawn
    level = np.array([s for s in family if len(s) == size], np.uint8).reshape(-1, size)
    wanted = np.array(list(combinations(range(family.d), size)), np.uint8).reshape(-1, size)
    known = list(map(tuple, level.tolist()))
    expected = [known.index(s) if s in known else -1 for s in map(tuple, wanted.tolist())]
    assert find_rows(level, wanted).tolist() == expected


# -- many features ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "dtype"), [(256, np.uint8), (257, np.uint16), (65536, np.uint16), (65537, np.uint32)])
def test_an_index_takes_no_more_bytes_than_it_needs(d, dtype):
    assert index_dtype(d) == dtype
    assert SubsetFamily.from_subsets(d, [[d - 1, 0]]).levels[2].dtype == dtype
    assert list(SubsetFamily.from_subsets(d, [[d - 1, 0]])) == [(0, d - 1)]


def test_more_than_256_features_are_sorted_and_found_as_few_are():
    family = SubsetFamily.up_to_order(300, 2)
    assert family.levels[2].dtype == np.uint16
    assert len(family) == 1 + 300 + 300 * 299 // 2
    assert list(family) == all_subsets(range(300), 2)
    for position in [0, 1, 300, 301, *range(302, len(family), 997), len(family) - 1]:
        assert family.index(family[position]) == position
    assert (255, 256) in family and (1, 255, 256) not in family


# -- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subset", "kind", "words"),
    [
        ([0, 3], IndexError, ["feature 3 is out of range", "3 features (0 to 2)"]),
        ([-1], IndexError, ["feature -1 is out of range"]),
        ([1, 1], ValueError, ["a feature occurs twice"]),
        ([True], TypeError, ["integer indices, not bool"]),
        ([np.True_], TypeError, ["integer indices, not bool"]),
        ([1.0], TypeError, ["integer indices, not float"]),
        ("01", TypeError, ["give a sequence of feature indices"]),
    ],
)
def test_what_is_not_a_set_of_features_is_refused(subset, kind, words):
    family = SubsetFamily.up_to_order(3, 2)
    for refuse in (
        lambda: as_subset(subset, 3),
        lambda: family.index(subset),
        lambda: SubsetFamily.from_subsets(3, [subset]),
    ):
        with pytest.raises(kind) as error:
            refuse()
        assert all(w in str(error.value) for w in ["subset=", *words]), str(error.value)


def test_a_set_that_is_not_in_the_family_is_a_key_error_that_says_what_the_family_holds():
    family = SubsetFamily.up_to_order(4, 2)
    with pytest.raises(KeyError, match=re.escape("(0, 1, 2) is not in the family of 11 subsets (order at most 2)")):
        family.index([2, 1, 0])


@pytest.mark.parametrize("order", [-1, 4])
def test_an_order_outside_the_features_is_refused(order):
    with pytest.raises(
        ValueError, match=re.escape(f"order={order}: must be an integer between 0 and the number of features, 3")
    ):
        SubsetFamily.up_to_order(3, order)


def test_a_family_says_how_large_it_is():
    assert repr(SubsetFamily.up_to_order(4, 2)) == "SubsetFamily(11 subsets of 4 features, order 2)"


def test_anything_may_be_asked_for_and_only_sets_of_the_family_are_in_it():
    family = SubsetFamily.up_to_order(3, 2)
    assert {0, 1} in family and frozenset([0]) in family and np.array([0, 2]) in family
    assert (9,) not in family and "ab" not in family and 3 not in family and (0, 0) not in family
    with pytest.raises(TypeError, match="a family is not sliced"):
        family[0:2]
    with pytest.raises(ValueError, match=r"order=1\.5: must be an integer between 0 and"):
        SubsetFamily.up_to_order(3, 1.5)
