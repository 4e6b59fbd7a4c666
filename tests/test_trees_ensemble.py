"""An ensemble is the sum of its trees, thresholds survive the change of precision, and what is no forest is refused."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forests import by_hand, ensembles, random_ensemble
from hoeffding.engines.trees.ensemble import Ensemble, threshold_of_single_above, threshold_of_single_at_least

STUMP = {
    "n_features": 1,
    "tree_starts": np.array([0, 3]),
    "feature": np.array([0, -1, -1], np.int32),
    "threshold": np.array([0.5, 0.0, 0.0]),
    "missing_right": np.zeros(3, bool),
    "category_starts": np.zeros(4, np.int64),
    "categories": np.zeros(0, np.int64),
    "left": np.array([1, -1, -1], np.int32),
    "right": np.array([2, -1, -1], np.int32),
    "value": np.array([[0.0], [-1.0], [1.0]]),
    "base": np.array([10.0]),
    "single": True,
}


@given(drawn=ensembles())
def test_the_sum_is_that_of_a_walk_through_every_tree(drawn):
    ensemble, rows, _ = drawn
    expected = by_hand(ensemble, rows)
    np.testing.assert_array_equal(ensemble.predict(rows), expected[:, 0] if ensemble.single else expected)


def test_values_at_a_threshold_go_left_and_missing_ones_where_the_node_says():
    x = np.array([[0.5], [np.nextafter(0.5, 1)], [np.nan], [-np.inf], [np.inf]])
    np.testing.assert_array_equal(Ensemble(**STUMP).predict(x), [9, 11, 9, 9, 11])
    other = Ensemble(**STUMP | {"missing_right": np.ones(3, bool)})
    np.testing.assert_array_equal(other.predict(x), [9, 11, 11, 9, 11])


def test_codes_that_no_split_names_go_left():
    ensemble = Ensemble(
        **STUMP
        | {
            "threshold": np.array([np.nan, 0.0, 0.0]),
            "category_starts": np.array([0, 2, 2, 2]),
            "categories": np.array([1, 3]),
        }
    )
    x = np.array([0, 1, 2, 3, 4, 5, 1e9, -1, np.nan])[:, None]
    np.testing.assert_array_equal(ensemble.predict(x), [9, 11, 9, 11, 9, 9, 9, 9, 9])


def test_infinite_thresholds_send_everything_one_way():
    x = np.array([[-1e308], [0.0], [1e308]])
    for t, expected in ((np.inf, 9.0), (-np.inf, 11.0)):
        ensemble = Ensemble(**STUMP | {"threshold": np.array([t, 0.0, 0.0])})
        np.testing.assert_array_equal(ensemble.predict(x), np.full(3, expected))


def test_no_trees_are_the_base():
    ensemble = Ensemble.from_trees(3, [], np.array([1.5, -2.0]), single=False)
    np.testing.assert_array_equal(ensemble.predict(np.zeros((2, 3))), [[1.5, -2.0]] * 2)
    assert repr(ensemble) == "Ensemble(0 trees, 0 nodes, 3 features, 2 outputs: prediction)"


def test_a_single_leaf_is_a_constant():
    ensemble = random_ensemble(np.random.default_rng(0), ["bits"], n_trees=1, depth=0)
    assert ensemble.n_nodes == 1
    np.testing.assert_array_equal(
        ensemble.predict(np.zeros((3, 1))), np.full(3, ensemble.base[0] + ensemble.value[0, 0])
    )


def test_no_rows_have_no_values():
    assert Ensemble(**STUMP).predict(np.zeros((0, 1))).shape == (0,)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"left": np.array([0, -1, -1])}, "node 0 is reached twice"),  # a cycle through the root
        ({"left": np.array([2, -1, -1])}, "node 2 is reached twice"),
        ({"left": np.array([7, -1, -1])}, "children from 2 to 7 in 3 nodes"),
        ({"left": np.array([-1, -1, -1])}, "children from -1 to 2 in 3 nodes"),
        ({"feature": np.array([1, -1, -1])}, "looks at feature 1, there are 1"),
        ({"feature": np.array([0, -2, -1])}, "looks at feature"),
        ({"value": np.array([[0.0], [np.nan], [1.0]])}, "leaf at node 1 of tree 0 holds [nan]"),
        ({"value": np.array([[0.0], [np.inf], [1.0]])}, "leaf at node 1 of tree 0 holds [inf]"),
        ({"value": np.zeros((3, 2))}, "shape (3, 2) for 3 nodes and 1 outputs"),
        ({"base": np.zeros(2), "value": np.zeros((3, 2))}, "and 2 outputs"),
        ({"base": np.array([np.nan])}, "base: must be finite"),
        ({"threshold": np.zeros(2)}, "threshold: 2 entries for 3 nodes"),
        ({"tree_starts": np.array([0, 2])}, "tree_starts"),
        ({"tree_starts": np.array([0, 0, 3])}, "every tree needs a root"),
        ({"tree_starts": np.array([0, 2, 3])}, "node 2 is a child in another tree"),
    ],
)
def test_what_is_no_forest_is_refused(changes, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        Ensemble(**STUMP | changes)


def test_a_cycle_below_the_root_is_refused():
    ensemble = random_ensemble(np.random.default_rng(1), ["bits"] * 3, n_trees=1, depth=3)
    inner = np.flatnonzero(ensemble.feature >= 0)
    left = ensemble.left.copy()
    left[inner[-1]] = inner[1]
    with pytest.raises(ValueError, match="reached twice"):
        replace(ensemble, left=left)


# -- thresholds -------------------------------------------------------------------------------------------------------


def neighbours(x):
    """Doubles around x where rounding to single precision may change."""
    with np.errstate(over="ignore"):
        single = np.float32(x)
        around = [np.nextafter(single, np.float32(-np.inf)), single, np.nextafter(single, np.float32(np.inf))]
    centres = np.array([x, *around, *((np.float64(a) + np.float64(b)) / 2 for a, b in pairwise(around))])
    out = np.concatenate([centres, np.nextafter(centres, -np.inf), np.nextafter(centres, np.inf)])
    with np.errstate(over="ignore"):
        return out[np.isfinite(out.astype(np.float32))]  # libraries refuse what is infinite in single precision


singles = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(u=singles)
def test_not_below_a_single_precision_number(u):
    x = neighbours(u)
    t = threshold_of_single_at_least(np.array([u], np.float32))[0]
    np.testing.assert_array_equal(x > t, x.astype(np.float32) >= np.float32(u))


@given(t=st.one_of(st.floats(-1e38, 1e38), singles, singles.map(lambda u: float(np.nextafter(u, np.inf)))))
def test_above_a_threshold_after_rounding_to_single_precision(t):
    x = neighbours(t)
    s = threshold_of_single_above(np.array([t]))[0]
    np.testing.assert_array_equal(x > s, x.astype(np.float32).astype(np.float64) > t)


def test_the_naive_threshold_would_be_wrong():
    x = 1 - 2**-26  # below 1, but 1 in single precision
    assert np.float32(x) >= np.float32(1.0)
    assert not x > 1.0
    assert x > threshold_of_single_at_least(np.float32([1.0]))[0]


@pytest.mark.parametrize("t", [np.inf, -np.inf])
def test_infinite_thresholds_stay_infinite(t):
    assert threshold_of_single_at_least(np.float32([t]))[0] == t
    assert threshold_of_single_above(np.array([t]))[0] == t
