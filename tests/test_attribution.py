"""Attributions: efficiency, symmetry, dummy and linearity; equal to brute force over coalitions."""

import re
from dataclasses import replace
from itertools import combinations
from math import comb, factorial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

import hoeffding
from hoeffding import Empirical, HoeffdingRegressor, Uniform, decompose
from hoeffding.bits import BitMatrix
from hoeffding.components import Weights, sums_on_cube
from oracles import KINDS, all_subsets, cube_rows, make_pmf

EPS = np.finfo(float).eps
GROUPINGS = ("player", "sum", None)
ENGINES = ("cube", "sparse", "regression")

seeds = st.integers(0, 2**32 - 1)


def by_engine(engine, rng, d=5, n=60, outputs=None):
    """A decomposition by one engine of a random function (or several), with two groups, and rows of its support."""
    rows = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(np.uint8)
    groups = {"pair": [0, d - 1], "other": [1, 2]} if d > 3 else {}
    if engine == "cube":
        values = rng.normal(size=(2,) * d + (() if outputs is None else (outputs,)))
        return hoeffding.transform(values, Empirical(rows, n_jobs=1), groups=groups), rows
    if engine == "sparse":
        y = rng.normal(size=n) + 3 * rows[:, 0] * rows[:, 1]
        model = GradientBoostingRegressor(n_estimators=5, max_depth=3, random_state=0).fit(rows, y)
        return decompose(model, rows, engine="sparse").with_groups(groups), rows
    y = rng.normal(size=(n,) if outputs is None else (n, outputs))
    return HoeffdingRegressor(order=min(3, d), alpha=1e-3).fit(rows, y).decomposition_.with_groups(groups), rows


def players_of(result, grouping):
    """The players as tuples of features, ordered by the first."""
    groups = [members for _, members in result.groups] if grouping is not None else []
    alone = set(range(result.n_features)) - {i for g in groups for i in g}
    return sorted([*groups, *((i,) for i in alone)])


def game(result, x, players):
    """v(T) for every coalition T of players, from the values of the components at one row."""
    values = result.components(x[None])[0]
    inside = {}
    for T in all_subsets(len(players)):
        features = {i for g in T for i in players[g]}
        inside[T] = sum(v for s, v in zip(result.subsets, values, strict=True) if set(s) <= features)
    return inside


def marginal_contribution(v, T, new):
    """The mixed difference of v in the players ``new``, who are not in T."""
    return sum(
        (-1) ** (len(new) - k) * v[tuple(sorted({*T, *L}))] for k in range(len(new) + 1) for L in combinations(new, k)
    )


def index_by_coalitions(v, n, who, weight):
    others = [g for g in range(n) if g not in who]
    return sum(
        weight(len(T)) * marginal_contribution(v, T, who)
        for k in range(len(others) + 1)
        for T in combinations(others, k)
    )


# -- the definitions --------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(seeds, st.sampled_from(ENGINES), st.sampled_from(["player", None]))
def test_values_are_those_of_the_game_by_brute_force(seed, engine, grouping):
    rng = np.random.default_rng(seed)
    result, rows = by_engine(engine, rng)
    players, x = players_of(result, grouping), rows[rng.integers(len(rows))]
    n, v = len(players), game(result, x, players)
    size = max(map(abs, v.values()))
    phi, banzhaf = result.shapley(x[None], groups=grouping)[0], result.banzhaf(x[None], groups=grouping)[0]
    pairs = result.interactions(x[None], groups=grouping)[0]
    for g in range(n):
        shapley = index_by_coalitions(v, n, (g,), lambda t: factorial(t) * factorial(n - t - 1) / factorial(n))
        assert phi[g] == pytest.approx(shapley, rel=0, abs=1e-12 * size)
        swing = index_by_coalitions(v, n, (g,), lambda t: 0.5 ** (n - 1))
        assert banzhaf[g] == pytest.approx(swing, rel=0, abs=1e-12 * size)
    for g, h in combinations(range(n), 2):
        wanted = index_by_coalitions(v, n, (g, h), lambda t: 1 / ((n - 1) * comb(n - 2, t)))
        assert pairs[g, h] == pairs[h, g] == pytest.approx(wanted / 2, rel=0, abs=1e-12 * size)


@settings(max_examples=15)
@given(seeds, st.integers(2, 5))
def test_under_the_uniform_measure_they_are_the_shapley_values_of_conditional_means(seed, d):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(2,) * d)
    result, x = hoeffding.transform(f), rng.integers(0, 2, d)
    v = {}
    for T in all_subsets(d):
        at = tuple(int(x[i]) if i in T else slice(None) for i in range(d))
        v[T] = float(np.mean(f[at]))
    weight = [factorial(t) * factorial(d - t - 1) / factorial(d) for t in range(d)]
    wanted = [index_by_coalitions(v, d, (i,), lambda t: weight[t]) for i in range(d)]
    np.testing.assert_allclose(result.shapley(x[None])[0], wanted, rtol=0, atol=1e-13 * np.abs(f).max())


def test_sums_over_a_group_share_between_features_and_players_between_groups():
    # f = x0 x1 x2 under fair bits at (1, 1, 1): every component is 1/8. Player 0 is {x0, x1}, player 1 is x2.
    f = np.zeros((2, 2, 2))
    f[1, 1, 1] = 1
    result = hoeffding.transform(f, groups={"pair": ["x0", "x1"]})
    x = [[1, 1, 1]]
    assert result.players == ("pair", "x2")
    # inside the pair: 3/8; shared with x2: {02}, {12}, {012}
    np.testing.assert_allclose(result.shapley(x) * 8, [[3 + 3 / 2, 1 + 3 / 2]], atol=1e-15)
    np.testing.assert_allclose(
        result.shapley(x, groups="sum") * 8, [[3 + 1 / 2 + 1 / 2 + 2 / 3, 1 + 1 + 1 / 3]], atol=1e-15
    )
    np.testing.assert_allclose(result.shapley(x, groups=None) * 8, [[7 / 3] * 3], atol=1e-15)
    np.testing.assert_allclose(result.banzhaf(x, groups="sum") * 8, [[2 * (1 + 1 + 1 / 4), 1 + 1 + 1 / 4]], atol=1e-15)


@given(seeds, st.sampled_from(ENGINES))
def test_sums_over_groups_are_sums_of_the_values_of_features(seed, engine):
    result, rows = by_engine(engine, np.random.default_rng(seed))
    players = players_of(result, "sum")
    for method in (result.shapley, result.banzhaf):
        single = method(rows, groups=None)
        wanted = np.stack([single[:, list(members)].sum(axis=1) for members in players], axis=1)
        np.testing.assert_allclose(method(rows, groups="sum"), wanted, rtol=0, atol=1e-13 * np.abs(single).max())
    single = result.interactions(rows, groups=None)
    wanted = np.stack([single[:, list(members)].sum(axis=1) for members in players], axis=1)
    wanted = np.stack([wanted[:, :, list(members)].sum(axis=2) for members in players], axis=2)
    np.testing.assert_allclose(
        result.interactions(rows, groups="sum"), wanted, rtol=0, atol=1e-12 * np.abs(single).max()
    )


# -- the axioms -------------------------------------------------------------------------------------------------------


def assert_efficient(result, rows, grouping):
    phi, gap = result.shapley(rows, groups=grouping), result.predict(rows) - result.base_value
    size = np.abs(result.components(rows)).sum(axis=1).max()
    np.testing.assert_allclose(phi.sum(axis=1), gap, rtol=0, atol=1e-12 * size)
    pairs = result.interactions(rows, groups=grouping)
    np.testing.assert_allclose(pairs.sum(axis=2), phi, rtol=0, atol=1e-12 * size)
    assert pairs.shape == (len(rows), phi.shape[1], phi.shape[1], *result.output_shape)


@given(seeds, st.sampled_from(ENGINES), st.sampled_from(GROUPINGS), st.sampled_from([None, 2]))
def test_efficiency(seed, engine, grouping, outputs):
    result, rows = by_engine(engine, np.random.default_rng(seed), outputs=outputs)
    assert_efficient(result, rows, grouping)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_efficiency_at_every_order(order):
    rng = np.random.default_rng(order)
    rows = rng.integers(0, 2, (200, 6))
    result = HoeffdingRegressor(order=order, alpha=1e-4).fit(rows, rng.normal(size=200)).decomposition_
    assert result.order == order
    assert_efficient(result, rows, None)


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("order", [1, 2, 3, None])
def test_efficiency_of_trees_cut_at_an_order(order, grouping):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (200, 6))
    y = rng.integers(0, 3, 200)
    model = RandomForestClassifier(n_estimators=5, max_depth=4, random_state=0).fit(rows, y)
    result = decompose(model, rows, engine="sparse", order=order, groups={"pair": [0, 5], "trio": [1, 2, 4]})
    assert result.order == (order or 4) and result.output_shape == (3,)
    assert_efficient(result, rows, grouping)


def test_efficiency_can_fail():
    result, rows = by_engine("regression", np.random.default_rng(0))
    broken = replace(result, coefficients=result.coefficients * np.linspace(1, 1 + 1e-9, len(result.coefficients)))
    gap = broken.predict(rows) - broken.base_value - result.shapley(rows).sum(axis=1)
    assert np.abs(gap).max() > 1e-12 * np.abs(result.components(rows)).sum(axis=1).max()


@given(seeds, st.sampled_from(["full", "holes"]))  # in others the decomposition itself loses digits
def test_linearity(seed, kind):
    rng = np.random.default_rng(seed)
    p, (f, g) = make_pmf(kind, 4, rng), rng.normal(size=(2, 2, 2, 2, 2))
    results = [hoeffding.transform(h, p) for h in (f, g, 2 * f - 3 * g)]
    rows = cube_rows(4)[p.ravel() > 0]
    size = max(float(np.abs(r.components(rows)).max()) for r in results)
    for name in ("shapley", "banzhaf", "interactions"):
        a, b, both = (getattr(r, name)(rows) for r in results)
        np.testing.assert_allclose(both, 2 * a - 3 * b, rtol=0, atol=1e-10 * size)


@given(seeds, st.sampled_from(["full", "tiny"]))
def test_a_feature_the_function_does_not_use_gets_nothing(seed, kind):
    rng = np.random.default_rng(seed)
    p = make_pmf(kind, 4, rng)
    f = np.repeat(rng.normal(size=(2, 2, 1, 2)), 2, axis=2)
    result = hoeffding.transform(f, p)
    rows = cube_rows(4)
    size = np.abs(result.components(rows)).max()
    assert np.abs(result.shapley(rows)[:, 2]).max() <= 1e-9 * size
    assert np.abs(result.interactions(rows)[:, 2]).max() <= 1e-9 * size
    assert np.abs(result.shapley(rows)[:, :2]).max() > 1e-6 * size


@given(seeds)
def test_features_that_play_the_same_part_get_the_same(seed):
    rng = np.random.default_rng(seed)
    f, p = rng.normal(size=(2, 2, 2)), rng.dirichlet(np.ones(8)).reshape(2, 2, 2)
    f, p = f + f.swapaxes(0, 1), (p + p.swapaxes(0, 1)) / 2
    phi = hoeffding.transform(f, p).shapley([[1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]])
    tolerance = 1e-11 * np.abs(phi).max()
    np.testing.assert_allclose(phi[:2, 0], phi[:2, 1], rtol=0, atol=tolerance)
    np.testing.assert_allclose(phi[2, :2], phi[3, 1::-1], rtol=0, atol=tolerance)


@given(seeds)
def test_names_of_features_and_the_coding_of_bits_change_nothing(seed):
    rng = np.random.default_rng(seed)
    f, p, order = rng.normal(size=(2,) * 4), make_pmf("full", 4, rng), rng.permutation(4)
    rows = cube_rows(4)
    phi = hoeffding.transform(f, p).shapley(rows)
    moved = hoeffding.transform(f.transpose(order), p.transpose(order)).shapley(rows[:, order])
    flipped = hoeffding.transform(np.flip(f, 1), np.flip(p, 1)).shapley(rows ^ np.array([0, 1, 0, 0]))
    np.testing.assert_allclose(moved, phi[:, order], rtol=0, atol=1e-11 * np.abs(phi).max())
    np.testing.assert_allclose(flipped, phi, rtol=0, atol=1e-11 * np.abs(phi).max())


# -- the routes -------------------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 6), st.sampled_from(KINDS), st.integers(1, 2))
def test_both_routes_on_the_cube_agree_with_tables(seed, d, kind, m):
    rng = np.random.default_rng(seed)
    result = hoeffding.transform(rng.normal(size=(2,) * d + (m,)), make_pmf(kind, d, rng))
    n_subsets = len(result.family)
    sets = np.sort(rng.integers(0, n_subsets, 3 * n_subsets))
    weights = Weights(4, sets, rng.integers(0, 4, len(sets)), rng.normal(size=len(sets)))
    rows = cube_rows(d).astype(np.uint8)
    wanted = result.parts.sums(BitMatrix.from_rows(rows), weights, 1)
    many = rows.repeat(3**d // 2**d + 1, axis=0)  # for so many rows the whole cube is less work
    args = result.measure, result.family, result.coefficients, weights
    tolerance = 1e-13 * np.abs(weights.weights).sum() * np.abs(result.components(rows)).max()
    one_by_one = np.concatenate([sums_on_cube(*args, x[None], 1) for x in rows])
    np.testing.assert_allclose(one_by_one, wanted, rtol=0, atol=tolerance)
    at_once = sums_on_cube(*args, np.concatenate([rows, many]), 1)[: len(rows)]
    np.testing.assert_allclose(at_once, wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_do_not_change_a_bit(engine):
    result, rows = by_engine(engine, np.random.default_rng(0), n=500)
    for name in ("shapley", "interactions"):
        one, two = (getattr(replace(result, n_jobs=jobs), name)(rows) for jobs in (1, 2))
        assert np.array_equal(one, two)


def test_sparse_interactions_hold_the_pairs_that_some_component_touches():
    rows = np.random.default_rng(0).integers(0, 2, (500, 5))
    y = rows[:, 0] * rows[:, 3] + rows[:, 1]
    model = HoeffdingRegressor(family=[[0, 3], [1], [4]], alpha=0).fit(rows, y)
    found = model.decomposition_.interactions(rows[:9], sparse=True)
    assert found.pairs.tolist() == [[0, 3]]
    assert (found.values.shape, found.main.shape) == ((9, 1), (9, 5))
    np.testing.assert_array_equal(found.to_dense(), model.decomposition_.interactions(rows[:9]))


def test_rows_may_be_a_frame_or_a_sparse_matrix():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (50, 3)), columns=["a", "b", "c"])
    result = HoeffdingRegressor(alpha=1e-3).fit(rows, rng.normal(size=50)).decomposition_
    wanted = result.shapley(rows.to_numpy())
    np.testing.assert_array_equal(result.shapley(rows[["c", "a", "b"]]), wanted)
    np.testing.assert_array_equal(result.shapley(scipy.sparse.csr_matrix(rows.to_numpy())), wanted)


# -- what comes with them ---------------------------------------------------------------------------------------------


@given(seeds, st.sampled_from(ENGINES), st.sampled_from(GROUPINGS))
def test_importance_is_the_mean_of_absolute_values_under_the_own_measure(seed, engine, grouping):
    result, rows = by_engine(engine, np.random.default_rng(seed))
    size = np.abs(result.shapley(rows, groups=grouping)).mean(axis=0)
    found = result.importance(groups=grouping)
    np.testing.assert_allclose(found, size / size.sum(), rtol=0, atol=1e-12)
    assert found.sum() == pytest.approx(1)
    np.testing.assert_allclose(result.importance(rows, groups=grouping), found, rtol=0, atol=1e-12)
    weights = np.arange(len(rows))
    repeated = result.importance(rows.repeat(weights, axis=0), groups=grouping)
    np.testing.assert_allclose(result.importance(rows, weights, groups=grouping), repeated, rtol=0, atol=1e-12)


def test_importance_of_many_rows_is_summed_in_pieces(monkeypatch):
    result, _ = by_engine("regression", np.random.default_rng(0), n=300, outputs=2)
    whole = result.importance()
    monkeypatch.setattr("hoeffding.attribution.rows_at_once", lambda columns: 100)
    np.testing.assert_allclose(result.importance(), whole, rtol=0, atol=1e-14)


def test_importance_without_rows_says_what_to_do():
    rng = np.random.default_rng(0)
    rows, y = rng.integers(0, 2, (50, 3)), rng.normal(size=50)
    model = HoeffdingRegressor().partial_fit(rows, y)
    with pytest.raises(ValueError, match="X: this result keeps counts only, not rows; pass the rows to average over"):
        model.decomposition_.importance()
    assert model.decomposition_.importance(rows).sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="sample_weight: goes with X"):
        model.decomposition_.importance(sample_weight=np.ones(50))


def test_a_constant_function_has_nothing_to_normalise():
    result = hoeffding.transform(np.full((2, 2), 3.0))
    assert np.isnan(result.importance()).all() and np.isnan(result.local([[0, 1]])).all()
    assert result.base_value == 3 and not result.shapley([[0, 1]]).any()


@given(seeds, st.sampled_from(ENGINES))
def test_local_values_are_normalised_at_every_row(seed, engine):
    result, rows = by_engine(engine, np.random.default_rng(seed))
    phi = result.shapley(rows)
    np.testing.assert_allclose(np.abs(result.local(rows)).sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(np.sign(result.local(rows)), np.sign(phi))


def test_an_explanation_adds_up_to_the_model():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (100, 4))
    y = rows[:, 0] * rows[:, 1] * rows[:, 2] + rows[:, 3]
    result = HoeffdingRegressor(order=2, alpha=0).fit(rows, y).decomposition_
    found = result.explain(rows, y)
    assert np.abs(found.remainder).max() > 0.01  # order 2 cannot say it all
    np.testing.assert_allclose(found.base_value + found.values.sum(axis=1) + found.remainder, y, atol=1e-12)
    assert result.explain(rows).remainder is None
    with pytest.raises(
        ValueError, match=r"outputs: expected the model's values at the rows, shape \(100,\), got \(99,\)"
    ):
        result.explain(rows, y[1:])
    with pytest.raises(ValueError, match="outputs: has values that are not finite; leave those rows out"):
        result.explain(rows, np.where(rows[:, 0], np.nan, y))


def test_the_top_components_are_those_with_the_largest_shares():
    f = np.zeros((2, 2, 2))
    f += 5 * np.indices((2, 2, 2))[2]
    f[1, 1] += 1
    result = hoeffding.transform(f)
    assert result.top(2) == [(2,), (0,)]
    assert set(result.top(4)) == {(2,), (0,), (1,), (0, 1)}
    assert result.top(0) == [] and len(result.top(100)) == 8
    with pytest.raises(ValueError, match="k=-1: expected an integer, at least 0"):
        result.top(-1)


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.fixture
def unseen():
    """A fit with every set of two features, one of which never takes the value (1, 1)."""
    rows = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0]])
    model = HoeffdingRegressor(order=2, alpha=0, family="paper").fit(rows, [0.0, 1.0, 2.0, 4.0, 5.0, 7.0])
    return model.decomposition_


def test_cells_never_observed_follow_the_policy(unseen):
    X = [[1, 1, 0], [0, 1, 1]]
    for name in ("shapley", "banzhaf", "interactions", "predict"):
        with pytest.warns(UserWarning, match="1 of 2 rows have a combination of values that was never observed"):
            zero = getattr(unseen, name)(X)
        assert np.isfinite(zero).all()
        nan = getattr(replace(unseen, unseen="nan"), name)(X)
        assert np.isnan(nan[0]).all() and np.array_equal(nan[1], zero[1])
        with pytest.raises(ValueError, match="never observed; unseen='zero' or 'nan'"):
            getattr(replace(unseen, unseen="error"), name)(X)
    with pytest.warns(UserWarning, match="1 of 2 rows"):
        phi, prediction = unseen.shapley(X), unseen.predict(X)
    np.testing.assert_allclose(phi.sum(axis=1), prediction - unseen.base_value, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: r.shapley([[0, 1]]), ValueError, "X: expected 3 features, got 2 columns"),
        (lambda r: r.shapley(scipy.sparse.eye(2)), ValueError, "X: expected 3 features, got 2 columns"),
        (lambda r: r.shapley([[0, 1, 0]], groups="group"), ValueError, "groups='group': must be 'player'"),
        (lambda r: r.with_groups({"a": [0, 1], "b": [1]}), ValueError, "groups may not overlap"),
        (lambda r: r.with_groups({"a": ["z"]}), KeyError, "feature 'z' is unknown"),
        (lambda r: r.closed_sobol(["z"]), KeyError, "feature 'z' is unknown"),
        (lambda r: r.importance(np.zeros((0, 3), int)), ValueError, "X: has no rows to average over"),
        (lambda r: r.importance(np.zeros((2, 3)), [1, -1]), ValueError, "sample_weight[1]=-1.0: weights must be"),
    ],
)
def test_bad_questions_get_clear_answers(unseen, call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call(unseen)


def test_a_component_that_is_not_there_says_why_and_how_to_get_it():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (100, 4))
    rows[:, 2] &= 1 - rows[:, 0]
    result = HoeffdingRegressor(order=2).fit(rows, rng.normal(size=100)).decomposition_
    with pytest.raises(KeyError, match=r"x0 × x2: .* not all of its 4 combinations of values occur"):
        result.coefficient(["x0", "x2"])
    with pytest.raises(KeyError, match=r"is not in the family of 10 subsets \(order at most 2\).* order=3 or more"):
        result.table([0, 1, 3])
    trees = GradientBoostingRegressor(n_estimators=1, max_depth=1, random_state=0).fit(rows, rows[:, 1])
    with pytest.raises(KeyError, match=r"x0: .* its component is zero"):
        decompose(trees, rows, engine="sparse").components(rows, [["x0"]])


def test_arrays_beyond_memory_are_refused_with_their_size(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (4000, 40))
    result = HoeffdingRegressor(order=1).fit(rows, rng.normal(size=4000)).decomposition_
    monkeypatch.setattr("hoeffding.machine.available_memory", lambda: 2**24)
    message = (
        r"an array of 1600 values at each of 4000 rows takes 97.7 MiB, 16.0 MiB are available; ask for sparse=True"
    )
    with pytest.raises(MemoryError, match=message):
        result.interactions(rows)
    assert result.interactions(rows, sparse=True).values.shape == (4000, 0)


def test_the_measure_gives_the_rows_of_importance():
    result = hoeffding.transform(np.random.default_rng(0).normal(size=(2, 2)), Uniform(2))
    phi = np.abs(result.shapley(cube_rows(2))).mean(axis=0)
    np.testing.assert_allclose(result.importance(), phi / phi.sum())
