"""The sparse engine: exact to all orders, whatever the support; the local rule where there is a choice."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hoeffding
from hoeffding import Empirical, SubsetFamily
from hoeffding.bits import BitMatrix
from hoeffding.components import Components, Weights
from hoeffding.engines import sparse
from hoeffding.engines.parities import (
    closure,
    family_of_paths,
    parity_coefficients,
    tables_of_paths,
)
from hoeffding.engines.trees.ensemble import ClosureTooLargeError
from hoeffding.engines.trees.splits import Leaves
from hoeffding.moments import Counted
from oracles import LocalRule
from strategies import all_subsets, seeds


def random_leaves(rng, d, n_leaves, depth, m=1):
    """Products of literals, some of them constant, with the same path more than once."""
    paths = [np.sort(rng.permutation(d)[: rng.integers(0, min(depth, d) + 1)]) for _ in range(n_leaves)]
    bits = np.concatenate([np.zeros(0, np.int64), *paths]).astype(np.int64)
    starts = np.cumsum([0, *map(len, paths)])
    return Leaves(starts, bits, rng.integers(0, 2, len(bits)), rng.normal(size=(n_leaves, m)))


def values_of(leaves, rows):
    """The sum of the leaves at rows, one leaf after the other."""
    out = np.zeros((len(rows), leaves.leaf_values.shape[1]))
    for (a, b), value in zip(pairwise(leaves.path_starts), leaves.leaf_values, strict=True):
        out += (rows[:, leaves.path_bits[a:b]] == leaves.path_values[a:b]).all(axis=1)[:, None] * value
    return out


def tables_of(d, leaves):
    return tables_of_paths(family_of_paths(d, leaves), leaves)


def decomposed(leaves, rows, weights=None, **settings):
    sample = sparse.Sample(BitMatrix.from_rows(rows), weights, values_of(leaves, rows))
    tables = tables_of(rows.shape[1], leaves)
    return sparse.decompose_tables(tables, closure(tables.family, 10**6), sample, **settings)


def components_at(exact, rows):
    """All components at rows, ``(n, n_subsets, m)``."""
    n = len(exact.family)
    each = Weights(n, np.arange(n), np.arange(n), np.ones(n))
    parts = Components.of(Counted(exact.moments), exact.family, exact.beta)
    return parts.sums(BitMatrix.from_rows(rows), each, 1)


def by_name(exact):
    return {s: b for s, b in zip(exact.family, exact.beta, strict=True) if b.any()}


@st.composite
def problems(draw, kind=("full", "few", "downset"), m=1):
    """Leaves on rows: of the whole cube, of some points of it, or of a set closed downwards (which is extremal)."""
    rng = np.random.default_rng(draw(seeds))
    d = draw(st.integers(1, 6))
    cube = np.indices((2,) * d).reshape(d, -1).T.astype(np.uint8)
    chosen = draw(st.sampled_from(kind))
    if chosen == "few":
        cube = cube[rng.permutation(2**d)[: rng.integers(1, 2**d + 1)]]
    if chosen == "downset":
        tops = rng.integers(0, 2, (rng.integers(1, 5), d))
        cube = cube[(cube[:, None] <= tops[None]).all(axis=2).any(axis=1)]
    weights = rng.dirichlet(np.ones(len(cube))) + 1e-3
    return random_leaves(rng, d, int(rng.integers(1, 8)), 4, m), cube, weights


@given(problems(("full", "downset"), m=2))
def test_it_is_the_transform_where_the_decomposition_is_unique(problem):
    leaves, rows, weights = problem
    d = rows.shape[1]
    values = np.full((2,) * d + (2,), np.nan)
    values[tuple(rows.T)] = values_of(leaves, rows)
    wanted = hoeffding.transform(values, Empirical(rows, weights))
    assert wanted.unique
    exact = decomposed(leaves, rows, weights)
    assert exact.n_chosen == 0
    found = np.zeros((len(wanted.family), 2))
    found[[wanted.family.index(s) for s in exact.family]] = exact.beta
    np.testing.assert_allclose(found, wanted.coefficients, rtol=0, atol=1e-10 * max(1, np.abs(found).max()))
    v = wanted.variance()
    at = [wanted.family.index(s) for s in exact.family]
    np.testing.assert_allclose(exact.variance.total, v.total[at], rtol=0, atol=1e-10 * max(1, v.of_f.max()))
    np.testing.assert_allclose(exact.variance.structural, v.structural[at], rtol=0, atol=1e-10 * max(1, v.of_f.max()))


@given(problems())
def test_it_is_exact_and_hierarchically_orthogonal_on_every_support(problem):
    leaves, rows, weights = problem
    exact = decomposed(leaves, rows, weights)
    parts, f = components_at(exact, rows)[:, :, 0], values_of(leaves, rows)[:, 0]
    size = max(1.0, np.abs(parts).max())
    assert np.abs(parts.sum(axis=1) - f).max() <= 1e-10 * size
    assert exact.remainder[0] <= 1e-10 * size
    measure, mass = Empirical(rows, weights), weights / weights.sum()
    for s, f_S in zip(exact.family, parts.T, strict=True):
        assert measure.is_shattered(s)
        for i in s:
            rest = [j for j in s if j != i]
            cell = rows[:, rest] @ (1 << np.arange(len(rest)))
            assert np.abs(np.bincount(cell, mass * f_S)).max() <= 1e-10 * size


@given(problems())
def test_the_local_rule_is_that_of_the_definition(problem):
    leaves, rows, weights = problem
    d = rows.shape[1]
    tables = tables_of(d, leaves)
    closed = closure(tables.family, 10**6)
    fourier = {frozenset(s): c for s, c in zip(closed, parity_coefficients(tables, closed)[:, 0], strict=True)}
    wanted = LocalRule(fourier, rows, weights / weights.sum()).beta
    found = by_name(decomposed(leaves, rows, weights))
    scale = max(1.0, *map(abs, wanted.values())) if wanted else 1.0
    for s in {*map(frozenset, found), *wanted}:
        assert abs(found.get(tuple(sorted(s)), [0.0])[0] - wanted.get(s, 0.0)) <= 1e-9 * scale


@given(problems(), seeds)
def test_recoding_and_relabelling_change_nothing(problem, seed):
    leaves, rows, weights = problem
    d, rng = rows.shape[1], np.random.default_rng(seed)
    flip, order = rng.integers(0, 2, d), rng.permutation(d)
    place = np.argsort(order)  # feature i is now feature place[i]
    bits, values = place[leaves.path_bits], leaves.path_values ^ flip[leaves.path_bits]
    for a, b in pairwise(leaves.path_starts):
        by = np.argsort(bits[a:b])
        bits[a:b], values[a:b] = bits[a:b][by], values[a:b][by]
    other = Leaves(leaves.path_starts, bits, values, leaves.leaf_values)
    before, after = decomposed(leaves, rows, weights), decomposed(other, (rows ^ flip)[:, order], weights)
    here, there = by_name(before), by_name(after)
    scale = max(1.0, np.abs(before.beta).max())
    for s in {*here, *(tuple(sorted(order[list(t)].tolist())) for t in there)}:
        sign = (-1.0) ** flip[list(s)].sum()
        moved = tuple(sorted(place[list(s)].tolist()))
        assert abs(here.get(s, [0.0])[0] - sign * there.get(moved, [0.0])[0]) <= 1e-9 * scale


def test_parities_of_tables_are_those_of_their_values(implementation):
    rng = np.random.default_rng(0)
    leaves = random_leaves(rng, 5, 9, 4, m=2)
    rows = np.indices((2,) * 5).reshape(5, -1).T
    tables = tables_of(5, leaves)
    family = closure(tables.family, 10**6)
    chi = np.stack([(-1.0) ** rows[:, list(s)].sum(axis=1) for s in family], axis=1)
    np.testing.assert_allclose(chi @ parity_coefficients(tables, family), values_of(leaves, rows), atol=1e-14)
    sums = tables.sums(BitMatrix.from_rows(rows), Weights.all_to_one(len(tables.family)), 2)[:, 0]
    np.testing.assert_allclose(sums, values_of(leaves, rows), atol=1e-14)


def test_every_implementation_of_the_kernels_gives_the_same(implementation):
    rng = np.random.default_rng(1)
    leaves, rows = random_leaves(rng, 6, 12, 4), rng.integers(0, 2, (40, 6))
    exact = decomposed(leaves, rows)
    assert exact.n_chosen > 0, "the local rule is needed here"
    np.testing.assert_allclose(
        components_at(exact, rows)[:, :, 0].sum(axis=1), values_of(leaves, rows)[:, 0], atol=1e-12
    )


def test_a_feature_that_is_never_used_is_in_no_component():
    rng = np.random.default_rng(2)
    leaves, rows = random_leaves(rng, 6, 20, 4), rng.integers(0, 2, (500, 6))
    unused = np.where(leaves.path_bits == 3, 2, leaves.path_bits)
    starts, keep = [0], []
    for a, b in pairwise(leaves.path_starts):
        keep += [a + k for k in range(b - a) if unused[a + k] not in unused[a : a + k]]
        starts.append(len(keep))
    exact = decomposed(Leaves(np.array(starts), unused[keep], leaves.path_values[keep], leaves.leaf_values), rows)
    assert all(3 not in s for s in exact.family)
    assert any(2 in s for s in exact.family)


@pytest.mark.parametrize("distinct", [True, False])
def test_duplicated_rows_are_weights(distinct):
    rng = np.random.default_rng(3)
    leaves, rows = random_leaves(rng, 5, 10, 3), rng.integers(0, 2, (30, 5))
    times = rng.integers(1, 4, 30)
    once = decomposed(leaves, rows, times.astype(float))
    again = decomposed(leaves, np.repeat(rows, times, axis=0))
    assert once.family == again.family
    np.testing.assert_allclose(once.beta, again.beta, atol=1e-13)
    np.testing.assert_allclose(once.variance.of_f, again.variance.of_f, rtol=1e-12)


def test_order_and_tolerance_leave_out_what_they_say():
    rng = np.random.default_rng(4)
    leaves, rows = random_leaves(rng, 8, 40, 5), rng.integers(0, 2, (400, 8))
    everything = decomposed(leaves, rows)
    low = decomposed(leaves, rows, order=2)
    assert low.family.order == 2
    at = [everything.family.index(s) for s in low.family]
    np.testing.assert_array_equal(low.beta, everything.beta[at])
    rest = values_of(leaves, rows)[:, 0] - components_at(low, rows)[:, :, 0].sum(axis=1)
    assert low.remainder[0] == pytest.approx(np.abs(rest).max())
    assert low.fidelity[0] == pytest.approx(1 - np.mean(rest**2) / everything.variance.of_f[0])

    large = decomposed(leaves, rows, tol=1e-3)
    left_out = [s for s in everything.family if s not in large.family]
    assert left_out
    share = everything.variance.share[[everything.family.index(s) for s in left_out], 0]
    assert np.abs(share).max() < 1e-3
    assert large.given_up[0] == pytest.approx(share.sum())


def test_a_closure_beyond_the_budget_stops_with_advice():
    family = SubsetFamily.from_subsets(12, [range(12)])
    with pytest.raises(ClosureTooLargeError, match=r"max_sets=100.*raise max_sets.*engine='regression'"):
        closure(family, 100)
    assert closure(SubsetFamily.from_subsets(4, [(0, 1, 3), (2,)]), 100) == SubsetFamily.from_subsets(
        4, [*all_subsets((0, 1, 3)), (2,)]
    )


def test_functions_without_bits():
    rows = np.random.default_rng(5).integers(0, 2, (20, 3))
    constant = decomposed(Leaves(np.array([0, 0]), np.zeros(0, int), np.zeros(0, int), np.array([[2.5]])), rows)
    assert list(constant.family) == [()]
    assert constant.beta[0, 0] == 2.5
    assert constant.fidelity[0] == 1.0
    nothing = decomposed(Leaves(np.zeros(1, int), np.zeros(0, int), np.zeros(0, int), np.zeros((0, 1))), rows)
    assert list(nothing.family) == [()]
    assert nothing.beta[0, 0] == 0.0


def test_one_row_has_nothing_but_a_mean():
    leaves = random_leaves(np.random.default_rng(6), 4, 10, 3)
    rows = np.array([[1, 0, 1, 1]])
    exact = decomposed(leaves, rows)
    assert list(exact.family) == [()]
    assert exact.beta[0, 0] == pytest.approx(values_of(leaves, rows)[0, 0])


def test_the_remainder_is_that_of_rows_with_weight():
    X, weight = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([1.0, 1.0, 1.0, 0.0])
    product = hoeffding.Polynomial({(0, 1): 1.0}, basis="monomial")
    assert hoeffding.decompose(product, X, engine="sparse", sample_weight=weight, n_jobs=1).remainder < 1e-12
    assert hoeffding.decompose(product, X, engine="sparse", n_jobs=1, order=1).remainder == pytest.approx(0.25)


def test_a_share_given_up_may_be_negative_and_is_stated():
    # x and y nearly agree, so that the small component of y correlates with the large one of x: its covariance with f
    # is negative although its variance is not.
    X = np.array([[0, 0]] * 45 + [[1, 1]] * 45 + [[0, 1]] * 5 + [[1, 0]] * 5)
    f = hoeffding.Polynomial({(0,): 1.0, (1,): -0.2}, basis="monomial")
    whole = hoeffding.decompose(f, X, engine="sparse", n_jobs=1)
    small = hoeffding.decompose(f, X, engine="sparse", n_jobs=1, tol=0.3)
    assert whole.subsets == [(), (0,), (1,)]
    assert small.subsets == [(), (0,)]
    lost = 100 * whole.variance().share[2]
    assert lost < -1
    assert f"tol=0.3 left out {lost:.2g} % of the variance" in small.reason
