"""Tables of components and their sums at rows: the same as one look at every table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoeffding import SubsetFamily
from hoeffding.bits import BitMatrix
from hoeffding.components import Components, Weights

EPS = np.finfo(float).eps


def random_parts(rng, d, order, m):
    everything = SubsetFamily.up_to_order(d, order)
    family = everything.select(rng.random(len(everything)) < 0.7)
    return Components(family, tuple(rng.normal(size=(len(a), 2**s, m)) for s, a in enumerate(family.levels)))


def random_weights(rng, n_subsets, n_targets):
    """Entries for some of the sets, sorted by set."""
    sets = np.sort(rng.integers(0, n_subsets, 2 * n_subsets))
    sets = sets[sets % 3 > 0]
    return Weights(n_targets, sets, rng.integers(0, n_targets, len(sets)), rng.normal(size=len(sets)))


def sums_by_definition(parts, rows, weights):
    out = np.zeros((len(rows), weights.n_targets, parts.n_outputs))
    subsets = list(parts.family)
    for j, target, w in zip(weights.sets, weights.targets, weights.weights, strict=True):
        cell = np.zeros(len(rows), int)
        for i in subsets[j]:
            cell = 2 * cell + rows[:, i]
        size = len(subsets[j])
        out[:, target] += w * np.nan_to_num(parts.tables[size][j - parts.family.starts[size]][cell])
    return out


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(0, 4), st.integers(1, 3))
def test_sums_are_those_of_the_definition(seed, d, order, m):
    rng = np.random.default_rng(seed)
    parts = random_parts(rng, d, min(order, d), m)
    rows = rng.integers(0, 2, (rng.integers(1, 200), d)).astype(np.uint8)
    weights = random_weights(rng, len(parts.family), 3)
    found = parts.sums(BitMatrix.from_rows(rows), weights, 2)
    size = max((np.abs(t).max(initial=0.0) for t in parts.tables), default=0.0)
    tolerance = 4 * EPS * size * np.abs(weights.weights).sum()
    np.testing.assert_allclose(found, sums_by_definition(parts, rows, weights), rtol=0, atol=tolerance)
    assert np.array_equal(found, parts.sums(BitMatrix.from_rows(rows), weights, 1))


def test_tables_too_large_to_be_held_at_once_are_added_up_one_after_the_other():
    rng = np.random.default_rng(0)
    parts = random_parts(rng, 13, 3, 150)  # several blocks of 10 features: above 64 MiB with all outputs
    rows = rng.integers(0, 2, (300, 13)).astype(np.uint8)
    weights = random_weights(rng, len(parts.family), 13)
    wanted = sums_by_definition(parts, rows, weights)
    for threads in (1, 2):
        np.testing.assert_allclose(parts.sums(BitMatrix.from_rows(rows), weights, threads), wanted, atol=1e-12)


def test_cells_never_observed_add_nothing_and_are_found():
    family = SubsetFamily.from_subsets(2, [(), (0,), (0, 1)])
    tables = (np.ones((1, 1, 1)), np.full((1, 2, 1), 10.0), np.array([[[100.0], [np.nan], [100.0], [100.0]]]))
    parts, bits = Components(family, tables), BitMatrix.from_rows([[0, 1], [1, 1]])
    assert parts.sums(bits, Weights.all_to_one(3), 1)[:, 0, 0].tolist() == [11.0, 111.0]
    assert parts.unseen(bits, 1).tolist() == [True, False]


@pytest.mark.parametrize("family", [SubsetFamily(3, ()), SubsetFamily.up_to_order(3, 0)])
def test_few_components_or_none(family):
    parts = Components(family, tuple(np.full((len(a), 1, 1), 7.0) for a in family.levels))
    if len(family):
        sums = parts.sums(BitMatrix.from_rows([[0, 1, 0]]), Weights.all_to_one(len(family)), 1)
        assert sums.tolist() == [[[7.0]]]
    assert not parts.unseen(BitMatrix.from_rows([[0, 1, 0]]), 1).any()
