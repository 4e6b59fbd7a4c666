"""The regression engine fits what a design matrix and scikit-learn fit, from counts, and says what it did.

Tolerances come from the duality gap. The loss is half the mean squared error, so an objective within ``gap`` of its
minimum has a fit within ``sqrt(2 gap)`` of the best fit in root mean square, and, where every coefficient has a
quadratic penalty rho, coefficients within ``sqrt(2 gap / rho)`` of the best ones.
"""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import ElasticNet, LinearRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer
from sklearn.utils.estimator_checks import check_estimator

import hoeffding
from hoeffding import Empirical, HoeffdingRegressor, Moments, SubsetFamily
from hoeffding.basis import gram_matrix
from hoeffding.engines import low_order
from oracles import cube_rows
from strategies import EPS, all_subsets, bit_rows, random_rows, seeds, shattered_by_definition

TIGHT = {"tol": 1e-12, "max_iter": 20000}
ROUNDING = 1e-14  # of a gap, relative to the mean square of y: some sums of r^2 terms, r below 100


def psi_of(X, s, w=None):
    """psi_S at the rows, and what it is at any other rows by cell: NaN where no row is."""
    code = X[:, list(s)].astype(int) @ (1 << np.arange(len(s))[::-1])
    p = np.bincount(code, w, 2 ** len(s)) / (len(X) if w is None else w.sum())
    sign = np.array([(-1.0) ** bin(c).count("1") for c in range(2 ** len(s))])
    return (sign / np.where(p > 0, 2 ** len(s) * p, np.nan))[code]


def design(X, family, w=None):
    """Psi without the empty set: one column for each set, at the rows."""
    return np.stack([psi_of(X, s, w) for s in family if s], axis=1)


def sets_of(X, order, family):
    if family == "shattered":
        return shattered_by_definition(X, order)
    return all_subsets(np.flatnonzero(np.ptp(X, axis=0)).tolist(), order)


def objective(Psi, y, intercept, beta, alpha, l1_ratio, w=None):
    rest = y - intercept - Psi @ beta
    penalty = l1_ratio * np.abs(beta).sum() + (1 - l1_ratio) / 2 * (beta**2).sum()
    return np.average(rest**2, weights=w) / 2 + alpha * penalty


def some_data(seed, n=120, d=5, noise=0.3):
    """Rows of dependent bits, one column rare, and a function of them with interactions."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(np.uint8)
    X[:, 1] ^= X[:, 0] & (rng.random(n) < 0.7)
    X[:3] = 0
    y = 3 + X @ rng.normal(size=d) + 2.0 * X[:, 0] * X[:, -1] + noise * rng.normal(size=n)
    return X, y


def gap_of(model, y):
    return model.dual_gap_ + ROUNDING * np.mean(np.asarray(y, float) ** 2)


def assert_same_fit(a, b, at_a, at_b, y):
    """Two fits of one problem, at the same rows: each is within sqrt(2 gap) of the best fit."""
    apart = np.sqrt(np.mean((a.predict(at_a) - b.predict(at_b)) ** 2))
    assert apart <= np.sqrt(2 * gap_of(a, y)) + np.sqrt(2 * gap_of(b, y))


def components(model, X):
    """The components by name of set, at rows."""
    result = model.decomposition_
    return dict(zip(result.subsets, result.components(X).T, strict=True))


def force_route(monkeypatch, rows):
    route = low_order.Route(rows, "rows: forced" if rows else "gram: forced")
    monkeypatch.setattr(low_order, "choose_route", lambda r, n, ones, direct: route)


# -- scikit-learn -----------------------------------------------------------------------------------------------------


def test_scikit_learn_has_no_objections():
    check_estimator(HoeffdingRegressor(binarize=0.0), on_skip=None)


@pytest.mark.parametrize("family", ["shattered", "paper"])
@pytest.mark.parametrize("route", ["gram", "rows"])
@pytest.mark.parametrize(
    ("alpha", "l1_ratio", "precompute"), [(0.03, 0.5, False), (1e-3, 0.9, False), (1e-3, 0.1, True)]
)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_fit_is_that_of_a_design_matrix_and_scikit_learn(
    monkeypatch, family, route, alpha, l1_ratio, precompute, order
):
    force_route(monkeypatch, route == "rows")
    X, y = some_data(order)
    X = np.column_stack([X, X[:, 0] & X[:, 2], np.ones(len(X), np.uint8)])  # unobserved cells, a constant
    sets = sets_of(X, order, family)
    Psi = design(X, sets)
    plain = ElasticNet(alpha=alpha, l1_ratio=l1_ratio, precompute=precompute, tol=1e-12, max_iter=10**6).fit(Psi, y)
    model = HoeffdingRegressor(order, alpha, l1_ratio, family, **TIGHT).fit(X, y)

    assert model.route_ == f"{route}: forced" and model.decomposition_.subsets == sets
    gaps = [gap_of(model, y), plain.dual_gap_ + ROUNDING * np.mean(y**2)]
    ours = objective(Psi, y, model.intercept_, model.coef_, alpha, l1_ratio)
    theirs = objective(Psi, y, plain.intercept_, plain.coef_, alpha, l1_ratio)
    assert -gaps[0] <= theirs - ours <= gaps[1]
    assert abs(model.objective_ - ours) <= ROUNDING * np.mean(y**2)
    near = sum(np.sqrt(2 * g) for g in gaps)
    assert np.sqrt(np.mean((model.predict(X) - plain.predict(Psi)) ** 2)) <= near
    rho = alpha * (1 - l1_ratio)
    assert np.linalg.norm(model.coef_ - plain.coef_) <= near / np.sqrt(rho)


@pytest.mark.parametrize("family", ["shattered", "paper"])
def test_without_a_penalty_both_families_give_the_least_squares_fit(family):
    X, y = some_data(5)
    X = np.column_stack([X, X[:, 0] & X[:, 2]])
    model = HoeffdingRegressor(2, 0, family=family).fit(X, y)
    Psi = design(X, sets_of(X, 2, "paper"))
    fitted = LinearRegression().fit(Psi, y).predict(Psi)
    # Rank-deficient: directions with an eigenvalue below 1e-11 are left out, the others lose half of their digits.
    np.testing.assert_allclose(model.predict(X), fitted, rtol=0, atol=1e-8 * np.ptp(y))
    assert model.decomposition_.unique is False or family == "shattered"


@given(rows=bit_rows(max_n=60, max_d=5), seed=seeds, order=st.integers(1, 3))
def test_both_routes_agree(rows, seed, order):
    y = np.random.default_rng(seed).normal(size=len(rows))
    with pytest.MonkeyPatch.context() as patch:
        force_route(patch, False)
        gram = HoeffdingRegressor(order, 0.05, family="paper", **TIGHT).fit(rows, y)
        force_route(patch, True)
        by_rows = HoeffdingRegressor(order, 0.05, family="paper", **TIGHT).fit(rows, y)
    assert_same_fit(gram, by_rows, rows, rows, y)
    gap = np.sqrt(2 * gap_of(gram, y) / 0.025) + np.sqrt(2 * gap_of(by_rows, y) / 0.025)
    assert np.linalg.norm(gram.coef_ - by_rows.coef_) <= gap


def test_the_route_is_chosen_by_cost_and_recorded():
    X, y = some_data(0)
    model = HoeffdingRegressor(2).fit(X, y)
    assert model.route_ == f"gram: {len(model.decomposition_.family)} x {len(model.decomposition_.family)} from counts"
    assert "from counts" in model.decomposition_.reason
    wide = np.eye(40, dtype=np.uint8)[np.arange(80) % 40]
    assert HoeffdingRegressor(1).fit(wide, np.arange(80.0)).route_.startswith("rows: ")


def test_where_the_gram_matrix_does_not_fit_the_rows_are_used_and_give_the_same(monkeypatch):
    X, y = some_data(0, n=3000, d=25)
    kinds = ({}, {"l1_ratio": 0.0}, {"l1_ratio": 1.0, "scale": "unit"})  # elastic net, ridge, lasso
    usual = [HoeffdingRegressor(2, 0.05, **kind, **TIGHT).fit(X, y) for kind in kinds]
    monkeypatch.setattr(low_order, "available_memory", lambda: 2**21)
    for kind, by_gram in zip(kinds, usual, strict=True):
        assert by_gram.route_.startswith("gram: ")
        model = HoeffdingRegressor(2, 0.05, **kind, **TIGHT).fit(X, y)
        assert model.route_.startswith("rows: the Gram matrix would take ")
        assert model.decomposition_.subsets == by_gram.decomposition_.subsets
        assert_same_fit(model, by_gram, X, X, y)
    for needs_gram in ({"alpha": 0}, {"alpha": "cv"}):
        with pytest.raises(MemoryError, match=r"components: their Gram matrix takes .*, 2\.0 MiB are available; use a"):
            HoeffdingRegressor(2, **needs_gram).fit(X, y)
    monkeypatch.setattr("hoeffding.machine.available_memory", lambda: 2**10)
    with pytest.raises(MemoryError, match="the list of the ones of all sets takes"):
        HoeffdingRegressor(2, 0.05).fit(X, y)


def rare_bits(n, d=30):
    rng = np.random.default_rng(0)
    X = (rng.random((n, d)) < 0.05).astype(np.uint8)
    return X, X[:, 0] + 2.0 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)


def test_where_steps_over_the_rows_do_not_converge_the_gram_matrix_takes_over():
    X, y = rare_bits(1500)
    model = HoeffdingRegressor(2, 1e-6, max_iter=100).fit(X, y)  # a warning would be an error
    assert model.route_.startswith("rows: ") and "not converged after 100 steps, so gram: " in model.route_
    assert model.dual_gap_ <= 1e-6 * np.var(y) and model.route_ in model.decomposition_.reason
    patient = HoeffdingRegressor(2, 1e-6, max_iter=100_000).fit(X, y)
    assert patient.route_.startswith("rows: ") and "gram: " not in patient.route_
    assert_same_fit(model, patient, X, X, y)


def test_with_fewer_rows_than_components_nothing_takes_over_and_the_gap_is_reported():
    X, y = rare_bits(60)
    with pytest.warns(ConvergenceWarning, match="stopped after 10 iterations at a duality gap"):
        model = HoeffdingRegressor(2, 1e-4, max_iter=10).fit(X, y)
    assert len(model.coef_) > 60 and model.route_.startswith("rows: ") and model.dual_gap_ > 1e-6 * np.var(y)


# -- the decomposition ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("full", [True, False])
def test_all_orders_without_a_penalty_are_the_exact_transform(d, full):
    rng = np.random.default_rng(d)
    cells = cube_rows(d) if full else cube_rows(d)[np.sort(rng.permutation(2**d)[: max(2, 2**d // 2 + 1)])]
    X = np.repeat(cells, rng.integers(1, 6, len(cells)), axis=0)
    f = rng.normal(size=(2,) * d)
    model = HoeffdingRegressor(d, 0).fit(X, f[tuple(X.T)])
    measure = Empirical(X)
    exact = hoeffding.transform(f, measure)
    assert model.decomposition_.subsets == exact.subsets and model.decomposition_.unique == exact.unique
    # In unit-variance coordinates a backward stable solve of the normal equations loses the condition number.
    G = gram_matrix(measure, exact.family)
    norms = np.sqrt(np.diag(G))
    values = np.linalg.eigvalsh(G / np.outer(norms, norms))
    condition = values[-1] / values[values > 1e-10].min()
    error = (model.decomposition_.coefficients - exact.coefficients) * norms
    assert np.abs(error).max() <= 2**d * condition * EPS * np.linalg.norm(exact.coefficients * norms)


def largest_conditional_mean(X, f, s):
    """max over i in S and the cells of S without i of |sum of f_S over the rows of the cell|."""
    out = 0.0
    for i in s:
        rest = [j for j in s if j != i]
        code = X[:, rest].astype(int) @ (1 << np.arange(len(rest)))
        out = max(out, float(np.abs(np.bincount(code, f)).max()))
    return out


@pytest.mark.parametrize("alpha", [0, 0.01, "cv"])
def test_every_fit_is_hierarchically_orthogonal_under_its_own_measure(alpha):
    X = random_rows(np.random.default_rng(3), 200, 8)
    X[:, 7] = X[:, 0] & X[:, 1]
    y = np.random.default_rng(4).normal(size=200)
    fits = components(HoeffdingRegressor(3, alpha).fit(X, y), X)
    for s, f in fits.items():
        # p f_S is a parity over the cells, up to the rounding of one division; 200 of them are added.
        assert largest_conditional_mean(X, f, s) <= 200 * 4 * EPS * np.abs(f).max()


def test_sets_with_unobserved_cells_are_not_orthogonal_so_the_test_above_says_something():
    X = random_rows(np.random.default_rng(3), 200, 8)
    X[:, 7] = X[:, 0] & X[:, 1]
    y = np.random.default_rng(4).normal(size=200)
    fits = components(HoeffdingRegressor(2, 1e-6, family="paper", **TIGHT).fit(X, y), X)
    broken = [s for s, f in fits.items() if largest_conditional_mean(X, f, s) > 0.1]
    assert broken
    assert not set(broken) & set(shattered_by_definition(X, 2))


def test_variances_are_those_of_the_components_at_the_rows():
    X, y = some_data(1)
    w = np.random.default_rng(0).integers(1, 5, len(y))
    result = HoeffdingRegressor(2, 0.01, **TIGHT).fit(X, y, w).decomposition_
    C = result.components(X)
    C = C - np.average(C, axis=0, weights=w)
    f = C.sum(axis=1)
    v = result.variance()
    largest = np.average(C**2, axis=0, weights=w).max()
    close = {"rtol": 0, "atol": 1e-13 * C.shape[1] * largest}
    np.testing.assert_allclose(v.structural, np.average(C**2, axis=0, weights=w), **close)
    np.testing.assert_allclose(v.total, np.average(C * f[:, None], axis=0, weights=w), **close)
    np.testing.assert_allclose(v.structural + v.correlative, v.total, **close)
    np.testing.assert_allclose(v.of_f, np.average(f**2, weights=w), **close)
    assert result.share_by_order().sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("family", ["shattered", "paper"])
@pytest.mark.parametrize("weighted", [False, True])
def test_fidelity_is_the_score_on_the_training_rows(family, weighted):
    X, y = some_data(2)
    w = np.random.default_rng(0).exponential(size=len(y)) if weighted else None
    model = HoeffdingRegressor(2, 0.05, family=family).fit(X, y, w)
    assert model.fidelity_ == pytest.approx(model.score(X, y, w), abs=1e-12)
    rest = y - model.predict(X)
    assert model.decomposition_.remainder == pytest.approx(np.sqrt(np.average(rest**2, weights=w)), rel=1e-10)


def test_components_add_up_to_the_prediction():
    X, y = some_data(3)
    model = HoeffdingRegressor(2, 0.01).fit(X, y)
    np.testing.assert_allclose(model.decomposition_.components(X).sum(axis=1), model.predict(X), rtol=1e-13)


def test_a_minimum_is_called_unique_only_where_it_is():
    X, y = some_data(0)
    equal = np.column_stack([X, X[:, 0]])
    assert HoeffdingRegressor(1, 0.1).fit(equal, y).decomposition_.unique  # a quadratic penalty decides
    assert HoeffdingRegressor(1, 0.01, 1.0).fit(X, y).decomposition_.unique
    lasso = HoeffdingRegressor(1, 0.01, 1.0).fit(equal, y).decomposition_  # any split between the two will do
    assert not lasso.unique and "not known to be the only minimum" in lasso.reason
    least_squares = HoeffdingRegressor(1, 0).fit(equal, y).decomposition_
    assert not least_squares.unique and "of least total variance" in least_squares.reason
    noise = np.column_stack([X, np.random.default_rng(0).permutation(X[:, 0])])[:, [0, 1, 2, 5, 5]]
    assert HoeffdingRegressor(1, 0.5, 1.0).fit(noise, y).decomposition_.unique  # equal columns, but none has a part


@pytest.mark.parametrize("alpha", [0, 0.01])
@pytest.mark.parametrize("scale", ["raw", "unit"])
@pytest.mark.parametrize("m", range(1, 20))
def test_a_psi_that_does_not_vary_has_no_coefficient(alpha, scale, m):
    # Five cells, all even, of the same weight: psi of all four features is constant, up to rounding of either sign.
    X = np.repeat([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]], m, axis=0)
    rng = np.random.default_rng(m)
    w, y = np.tile(rng.random(m), 5), rng.normal(size=5 * m)
    model = HoeffdingRegressor(4, alpha, family="paper", scale=scale).fit(X, y, w)
    assert model.decomposition_.coefficient((0, 1, 2, 3)) == 0
    if alpha == 0:
        means = np.repeat([np.average(part, weights=w[:m]) for part in np.split(y, 5)], m)
        np.testing.assert_allclose(model.predict(X), means, rtol=0, atol=1e-12)


# -- invariance -------------------------------------------------------------------------------------------------------


@given(rows=bit_rows(max_n=60, max_d=5), seed=seeds)
def test_integer_weights_are_repeated_rows(rows, seed):
    rng = np.random.default_rng(seed)
    y, w = rng.normal(size=len(rows)), rng.integers(0, 4, len(rows))
    w[0] += 1
    model = HoeffdingRegressor(2, 0.02, **TIGHT)
    X, targets = np.repeat(rows, w, axis=0), np.repeat(y, w)
    weighted, repeated = clone(model).fit(rows, y, w), clone(model).fit(X, targets)
    assert weighted.decomposition_.subsets == repeated.decomposition_.subsets
    assert_same_fit(weighted, repeated, X, X, targets)


@given(rows=bit_rows(max_n=60, max_d=5), seed=seeds)
def test_real_weights_are_those_of_a_weighted_design(rows, seed):
    rng = np.random.default_rng(seed)
    y, w = rng.normal(size=len(rows)), rng.exponential(size=len(rows)) + 0.01
    model = HoeffdingRegressor(2, 0.02, **TIGHT).fit(rows, y, w)
    sets = shattered_by_definition(rows, 2)
    assert model.decomposition_.subsets == sets
    if len(sets) == 1:
        assert model.intercept_ == pytest.approx(np.average(y, weights=w))
        return
    Psi = design(rows, sets, w)
    plain = ElasticNet(alpha=0.02, l1_ratio=0.5, tol=1e-12, max_iter=10**6).fit(Psi, y, w)
    ours = objective(Psi, y, model.intercept_, model.coef_, 0.02, 0.5, w)
    theirs = objective(Psi, y, plain.intercept_, plain.coef_, 0.02, 0.5, w)
    assert -gap_of(model, y) <= theirs - ours <= 1e-12 * np.average(y**2, weights=w) + ROUNDING


@given(rows=bit_rows(max_n=60, max_d=5), seed=seeds)
def test_the_order_of_the_rows_does_not_matter(rows, seed):
    rng = np.random.default_rng(seed)
    y, order = rng.normal(size=len(rows)), rng.permutation(len(rows))
    model = HoeffdingRegressor(2, 0.02, **TIGHT)
    one, other = clone(model).fit(rows, y), clone(model).fit(rows[order], y[order])
    assert one.decomposition_.subsets == other.decomposition_.subsets
    assert_same_fit(one, other, rows, rows, y)


@pytest.mark.parametrize("family", ["shattered", "paper"])
@given(rows=bit_rows(max_n=60, max_d=5), seed=seeds)
def test_recoding_bits_changes_no_component(family, rows, seed):
    rng = np.random.default_rng(seed)
    y, flip = rng.normal(size=len(rows)), rng.integers(0, 2, rows.shape[1], np.uint8)
    model = HoeffdingRegressor(2, 0.02, family=family, **TIGHT)
    one, other = clone(model).fit(rows, y), clone(model).fit(rows ^ flip, y)
    assert_same_fit(one, other, rows, rows ^ flip, y)
    sign = [(-1.0) ** flip[list(s)].sum() for s in one.decomposition_.subsets[1:]]
    near = np.sqrt(2 * gap_of(one, y) / 0.01) + np.sqrt(2 * gap_of(other, y) / 0.01)
    assert np.linalg.norm(one.coef_ - np.array(sign) * other.coef_) <= near


@given(rows=bit_rows(max_n=60, max_d=5), seed=seeds)
def test_relabelling_features_relabels_the_components(rows, seed):
    rng = np.random.default_rng(seed)
    y, at = rng.normal(size=len(rows)), rng.permutation(rows.shape[1])
    model = HoeffdingRegressor(3, 0.02, **TIGHT)
    one, other = clone(model).fit(rows, y), clone(model).fit(rows[:, at], y)
    assert_same_fit(one, other, rows, rows[:, at], y)
    here = [tuple(sorted(at[list(s)].tolist())) for s in other.decomposition_.subsets]
    assert sorted(here) == sorted(one.decomposition_.subsets)
    mine = np.array([one.decomposition_.coefficient(s) for s in here[1:]])
    near = np.sqrt(2 * gap_of(one, y) / 0.01) + np.sqrt(2 * gap_of(other, y) / 0.01)
    assert np.linalg.norm(mine - other.coef_) <= near


def test_threads_change_nothing():
    X, y = some_data(4, n=300, d=8)
    first, *others = [HoeffdingRegressor(2, 0.01, n_jobs=j).fit(X, y) for j in (1, 2, 8)]
    for other in others:
        np.testing.assert_array_equal(first.coef_, other.coef_)


# -- chunks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@given(rows=bit_rows(max_n=80, max_d=5), seed=seeds)
def test_a_fit_in_chunks_is_the_fit_of_all_rows(weighted, rows, seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=len(rows))
    w = rng.integers(1, 4, len(rows)) if weighted else None
    cuts = np.sort(rng.integers(1, len(rows) + 1, 2))
    whole, chunked = (HoeffdingRegressor(2, 0.02, **TIGHT) for _ in range(2))
    for part in np.split(np.arange(len(rows)), cuts):
        if len(part):
            chunked.partial_fit(rows[part], y[part], None if w is None else w[part])
    whole.fit(rows, y, w)
    assert chunked.decomposition_.subsets == whole.decomposition_.subsets
    for s in whole.decomposition_.subsets:
        np.testing.assert_array_equal(chunked.decomposition_.measure.marginal(s), Empirical(rows, w).marginal(s))
    assert_same_fit(whole, chunked, rows, rows, y)


def test_fit_starts_anew_and_chunks_after_it_are_added():
    X, y = some_data(0)
    chunked = HoeffdingRegressor(2, 0.01, **TIGHT).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert "moments" in chunked.route_
    again = clone(chunked).partial_fit(X[50:], y[50:]).fit(X[:50], y[:50])
    np.testing.assert_array_equal(again.coef_, clone(chunked).fit(X[:50], y[:50]).coef_)
    again.partial_fit(X[50:], y[50:])
    moments = clone(chunked).fit_moments(Moments.from_chunk(X[:50], y[:50])).partial_fit(X[50:], y[50:])
    for model in (again, moments):
        assert model.decomposition_.measure.moments.total == len(y)
        assert_same_fit(model, chunked, X, X, y)


def test_chunks_that_do_not_go_with_what_was_seen_are_refused():
    X, y = some_data(0)
    with pytest.raises(ValueError, match=r"partial_fit: the fit before kept no moments \(gram: .*\); start with"):
        HoeffdingRegressor(distinct=True).fit(X, y).set_params(distinct=False).partial_fit(X, y)
    with pytest.raises(ValueError, match="y: has 2 outputs, the chunks before had 1"):
        HoeffdingRegressor().partial_fit(X, y).partial_fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="moments: of order 1, counts up to 2 features; order=2 needs counts"):
        HoeffdingRegressor(1).partial_fit(X, y).set_params(order=2).partial_fit(X, y)


@pytest.mark.parametrize("change", [{"distinct": True}, {"alpha": "cv"}, {"interactions": "heredity"}])
def test_what_needs_rows_is_refused_in_chunks(change):
    X, y = some_data(0)
    with pytest.raises(ValueError, match="partial_fit keeps moments, not rows"):
        HoeffdingRegressor(**change).partial_fit(X, y)


def chunks_of(X, y, n_chunks, order=2):
    first, *others = np.array_split(np.arange(len(y)), n_chunks)
    start = Moments.from_chunk(X[first], y[first], order=order)
    return [start, *(Moments.from_chunk(X[at], y[at], like=start) for at in others)]


@pytest.mark.parametrize("family", ["shattered", "paper", [(0, 1), (3,)]])
@pytest.mark.parametrize("outputs", [1, 3])
def test_a_fit_to_moments_is_the_fit_to_their_rows(family, outputs):
    X, y = some_data(3, d=6)
    X[:, 5] = 1
    y = y if outputs == 1 else np.stack([y, y**2, X[:, 0]], axis=1)
    whole = HoeffdingRegressor(2, 0.01, family=family, **TIGHT).fit(X, y)
    parts = chunks_of(X, y, 4, order=3)  # of a higher order than needed
    for moments in (parts, sum(parts[1:], start=parts[0])):
        model = HoeffdingRegressor(2, 0.01, family=family, **TIGHT).fit_moments(moments)
        assert model.decomposition_.subsets == whole.decomposition_.subsets and model.constant_ == whole.constant_
        assert_same_fit(model, whole, X, X, y)
        assert model.predict(X).shape == y.shape and model.n_features_in_ == 6


def test_moments_of_folds_cross_validate_as_the_rows_do():
    X, y = some_data(14, n=200, noise=1.5)
    folds = [np.arange(200) % 4 == k for k in range(4)]
    start = Moments.from_chunk(X, y)  # all folds need one recoding and offset
    parts = [Moments.from_chunk(X[at], y[at], like=start) for at in folds]
    model = HoeffdingRegressor(2, "cv", tol=1e-10).fit_moments(parts)
    by_rows = HoeffdingRegressor(2, "cv", cv=4, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.cv_errors_, by_rows.cv_errors_, rtol=1e-9)
    assert model.alpha_ == pytest.approx(by_rows.alpha_, rel=1e-12)


def test_moments_may_have_names_and_forget_those_of_earlier_fits():
    X, y = some_data(3)
    moments = Moments.from_chunk(X, y)
    model = HoeffdingRegressor(2, family=[("a", "c")]).fit_moments(moments, feature_names=list("abcde"))
    assert model.decomposition_.feature_names == tuple("abcde") and (0, 2) in model.decomposition_.family
    assert model.set_params(family="shattered").fit_moments(moments).decomposition_.feature_names[0] == "x0"
    with pytest.raises(ValueError, match="feature_names: expected 5 different names, got 2"):
        model.fit_moments(moments, feature_names=["a", "b"])


@pytest.mark.parametrize(
    ("parameters", "moments", "message"),
    [
        (
            {"order": 3},
            {"order": 2},
            "moments: of order 2, counts up to 4 features; order=3 needs counts of all sets up",
        ),
        ({}, {"order": 2, "count_order": 2}, "counts up to 2 features; order=2 needs counts of all sets up to 4"),
        ({"alpha": "cv"}, {}, "moments: 1 given; give one or more, for alpha='cv' at least two"),
        ({"distinct": True}, {}, "fit_moments keeps moments, not rows: distinct and heredity need fit"),
        ({"interactions": "heredity"}, {}, "fit_moments keeps moments, not rows"),
    ],
)
def test_moments_that_do_not_suffice_are_refused(parameters, moments, message):
    X, y = some_data(3, d=7)
    with pytest.raises(ValueError, match=message):
        HoeffdingRegressor(**parameters).fit_moments(Moments.from_chunk(X, y, **moments))
    with pytest.raises(ValueError, match="needs counts of all sets"):
        HoeffdingRegressor().fit_moments(Moments.of_family(X, SubsetFamily.up_to_order(7, 4), y))
    with pytest.raises(ValueError, match="moments: 0 given"):
        HoeffdingRegressor().fit_moments([])


# -- which sets, which rows, which penalty ----------------------------------------------------------------------------


@given(rows=bit_rows(max_n=80, max_d=4), seed=seeds)
def test_distinct_rows_weigh_the_same_and_have_the_mean_output(rows, seed):
    y = np.random.default_rng(seed).normal(size=len(rows))
    X, inverse = np.unique(rows, axis=0, return_inverse=True)
    mean = np.bincount(inverse.ravel(), y) / np.bincount(inverse.ravel())
    one = HoeffdingRegressor(2, 0.02, distinct=True, **TIGHT).fit(rows, y)
    other = HoeffdingRegressor(2, 0.02, **TIGHT).fit(X, mean)
    assert_same_fit(one, other, X, X, mean)
    assert "distinct" in repr(one.decomposition_.measure)


@pytest.mark.parametrize("min_count", [1, 3, 20])
@given(rows=bit_rows(max_n=80, max_d=5))
def test_every_cell_of_a_set_has_min_count_rows(min_count, rows):
    model = HoeffdingRegressor(3, 0.1, min_count=min_count).fit(rows, np.arange(len(rows)))
    for s in all_subsets(range(rows.shape[1]), 3):
        code = rows[:, list(s)].astype(int) @ (1 << np.arange(len(s)))
        enough = (np.bincount(code, minlength=2 ** len(s)) >= min_count).all()
        assert (s in model.decomposition_.family) == (enough or s == ())


@pytest.mark.parametrize("route", ["gram", "rows"])
def test_unit_scale_penalises_components_of_unit_variance(monkeypatch, route):
    force_route(monkeypatch, route == "rows")
    X, y = some_data(6)
    X = np.column_stack([X, X[:, 0] & X[:, 2]])
    for family in ("shattered", "paper"):
        Psi = design(X, sets_of(X, 2, family))
        norms = Psi.std(axis=0)
        plain = ElasticNet(alpha=0.02, l1_ratio=0.5, tol=1e-12, max_iter=10**6).fit(Psi / norms, y)
        model = HoeffdingRegressor(2, 0.02, family=family, scale="unit", **TIGHT).fit(X, y)
        near = np.sqrt(2 * gap_of(model, y)) + np.sqrt(2 * (plain.dual_gap_ + ROUNDING * np.mean(y**2)))
        assert np.linalg.norm(model.coef_ * norms - plain.coef_) <= near / np.sqrt(0.01)


def test_a_list_of_sets_is_closed_downwards_and_says_so():
    X, y = some_data(7)
    model = HoeffdingRegressor(3, 0.01, family=[(0, 1, 2), (4,)]).fit(X, y)
    assert model.decomposition_.subsets == [(), (0,), (1,), (2,), (4,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert model.added_ == 7
    assert HoeffdingRegressor(2).fit(X, y).added_ == 0
    closed = HoeffdingRegressor(2, family=[(), (0,), (1,), (0, 1)]).fit(X, y)
    assert closed.added_ == 0 and len(closed.coef_) == 3


def test_the_result_says_which_sets_were_chosen():
    X, y = some_data(7)
    X[:, 3] = 1

    def reason(**given_parameters):
        return HoeffdingRegressor(2, **given_parameters).fit(X, y).decomposition_.reason

    assert "shattered sets" in reason() and "all sets" in reason(family="paper")
    assert "2 sets given, 4 added to close them downwards, alpha" in reason(family=[(0, 1), (1, 2)])
    assert "2 sets given, 3 added to close them downwards, 2 with constant features left out" in reason(
        family=[(0, 3), (1,)]
    )
    assert "sets by heredity" in reason(interactions="heredity")


@pytest.mark.parametrize("family", ["paper", [(0, 5), (5,)]])
def test_no_set_has_a_constant_feature(family):
    X, y = some_data(7)
    X = np.column_stack([X, np.ones(len(X), np.uint8)])
    model = HoeffdingRegressor(2, 0.01, family=family).fit(X, y)
    assert model.constant_ == [5] and not any(5 in s for s in model.decomposition_.subsets)


@pytest.mark.parametrize(
    ("family", "kind", "message"),
    [
        (["a", "b"], TypeError, r"family='a': give a sequence of names or indices, such as \['a'\]"),
        ([0, 1], TypeError, "family=0: give a sequence of names or indices"),
        ([("a", "z")], KeyError, "feature 'z' is unknown; the features are a, b, c, d, e"),
        (3, ValueError, "family=3: must be 'shattered', 'paper', or a list of sets"),
        ([(0, 9)], IndexError, "feature 9 is out of range, there are 5 features"),
    ],
)
def test_a_list_that_holds_no_sets_is_refused(family, kind, message):
    pandas = pytest.importorskip("pandas")
    X, y = some_data(7)
    with pytest.raises(kind, match=message):
        HoeffdingRegressor(2, family=family).fit(pandas.DataFrame(X, columns=list("abcde")), y)


def test_a_list_of_sets_may_use_names():
    pandas = pytest.importorskip("pandas")
    X, y = some_data(7)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = HoeffdingRegressor(2, 0.01, family=[("a", "e"), (1,)]).fit(frame, y)
    assert model.decomposition_.subsets == [(), (0,), (1,), (4,), (0, 4)]
    assert model.decomposition_.coefficient(["e", "a"]) == model.coef_[-1]
    unnamed = HoeffdingRegressor(2, 0.01, family=[("x0", "x4"), (1,)]).fit(X, y)
    assert unnamed.decomposition_.subsets == model.decomposition_.subsets


# -- interactions by heredity -----------------------------------------------------------------------------------------


def by_heredity(order, alpha, X, y, w=None, **given_parameters):
    model = HoeffdingRegressor(order, alpha, interactions="heredity", **(TIGHT | given_parameters)).fit(X, y, w)
    return model, {s for s, b in zip(model.decomposition_.subsets[1:], model.coef_, strict=True) if b != 0}


def with_interactions(seed, n=400, d=8):
    """A main effect for each feature of a triple, its pairs and itself; other features with nothing."""
    X = random_rows(np.random.default_rng(seed), n, d)
    X[:, :3] = np.random.default_rng(seed + 1).integers(0, 2, (n, 3))
    return X, 5.0 * X[:, 0] * X[:, 1] * X[:, 2] + 0.3 * np.random.default_rng(seed + 2).normal(size=n)


@given(rows=bit_rows(max_n=80, max_d=5), seed=seeds, alpha=st.sampled_from([0.02, 0.1]))
def test_a_set_is_tried_if_and_only_if_it_is_shattered_and_all_its_parts_had_a_component(rows, seed, alpha):
    y = np.random.default_rng(seed).normal(size=len(rows)) + rows @ np.ones(rows.shape[1])
    possible = shattered_by_definition(rows, 3)
    tried = [s for s in possible if len(s) <= 1]
    for order in range(1, min(3, rows.shape[1]) + 1):
        model, active = by_heredity(order, alpha, rows, y, tol=1e-6)
        assert model.decomposition_.subsets == tried and model.decomposition_.family.is_closed()
        tried += [s for s in possible if len(s) == order + 1 and set(combinations(s, order)) <= active]


def test_heredity_finds_planted_triples_with_their_parts_and_tries_nothing_else():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (4000, 12))
    y = 5.0 * X[:, 0] * X[:, 1] * X[:, 2] + 4.0 * X[:, 5] * X[:, 7] * X[:, 9] + 0.3 * rng.normal(size=4000)
    # In fair bits the coefficients of a triple c x y z and of its parts are +-c / 8, at least 0.5. Those of other sets
    # are noise, of size std(y) / sqrt(n) = 0.03. The absolute penalty, 0.1, lies between.
    model, active = by_heredity(3, 0.2, X, y)
    planted = {s for triple in ((0, 1, 2), (5, 7, 9)) for s in all_subsets(triple)[1:]}
    assert active == planted
    tried = list(combinations((0, 1, 2, 5, 7, 9), 2))
    assert [s for s in model.decomposition_.subsets if len(s) == 2] == tried
    assert [s for s in model.decomposition_.subsets if len(s) == 3] == [(0, 1, 2), (5, 7, 9)]


def test_heredity_cannot_find_a_triple_without_parts_which_all_sets_can():
    X = np.repeat(cube_rows(5), 8, axis=0).astype(np.uint8)
    y = (-1.0) ** X[:, :3].sum(axis=1)  # orthogonal to everything of a lower order
    model, active = by_heredity(3, 0.01, X, y)
    assert not active and model.decomposition_.family.order == 1
    everything = HoeffdingRegressor(3, 0.01).fit(X, y)
    assert everything.decomposition_.coefficient((0, 1, 2)) > 0.9


def test_where_every_part_has_a_component_heredity_is_the_fit_of_all_sets():
    X = np.random.default_rng(0).integers(0, 2, (300, 4))
    y = np.random.default_rng(1).normal(size=300) + 10 * X @ np.arange(1.0, 5) + 20 * X[:, 0] * X[:, 1] * X[:, 3]
    for w in (None, np.random.default_rng(2).integers(1, 4, 300), np.random.default_rng(3).exponential(size=300)):
        model, active = by_heredity(2, 0.001, X, y, w)
        assert len(active) == 4 + 6
        plain = HoeffdingRegressor(2, 0.001, **TIGHT).fit(X, y, w)
        assert model.decomposition_.subsets == plain.decomposition_.subsets
        apart = np.sqrt(np.average((model.predict(X) - plain.predict(X)) ** 2, weights=w))
        assert apart <= np.sqrt(2 * gap_of(model, y)) + np.sqrt(2 * gap_of(plain, y))


@pytest.mark.parametrize("room", [0, 1, 5, 1000])
def test_a_budget_keeps_the_candidates_that_the_residual_correlates_with_most(room):
    X, y = with_interactions(1)
    single, _ = by_heredity(1, 0.01, X, y)
    free, _ = by_heredity(2, 0.01, X, y)
    singles, pairs = ([s for s in free.decomposition_.subsets if len(s) == size] for size in (1, 2))
    model, _ = by_heredity(2, 0.01, X, y, max_sets=len(singles) + room)
    assert len(model.coef_) == len(singles) + min(room, len(pairs))
    rest = y - single.predict(X)
    score = {s: abs(psi_of(X, s) @ rest) / np.linalg.norm(psi_of(X, s)) for s in pairs}
    best = sorted(pairs, key=lambda s: -score[s])[:room]
    assert model.decomposition_.subsets == [(), *singles, *sorted(best)]
    assert len(pairs) > 5


@given(seed=seeds, room=st.integers(0, 30))
def test_no_fit_has_more_components_than_its_budget(seed, room):
    X, y = with_interactions(seed, n=150, d=6)
    model, _ = by_heredity(3, 0.005, X, y, max_sets=6 + room, tol=1e-6)
    assert len(model.coef_) <= 6 + room
    assert model.decomposition_.family.is_closed()


@pytest.mark.parametrize("max_sets", [1, 3])
def test_a_budget_below_the_number_of_features_keeps_those_that_correlate_most(max_sets):
    X, y = with_interactions(1)
    model, _ = by_heredity(2, 0.01, X, y, max_sets=max_sets)
    rest = y - y.mean()
    score = {s: abs(psi_of(X, s) @ rest) / np.linalg.norm(psi_of(X, s)) for s in shattered_by_definition(X, 1)[1:]}
    best = sorted(sorted(score, key=lambda s: -score[s])[:max_sets])
    assert model.decomposition_.subsets == [(), *best]
    assert model.constant_ == np.flatnonzero(np.ptp(X, axis=0) == 0).tolist()  # and not those without a component


def test_heredity_without_anything_to_try_is_the_mean():
    X, y = np.repeat([[1, 0, 1]], 7, axis=0), np.arange(7.0)
    model, _ = by_heredity(2, 0.1, X, y)
    assert model.decomposition_.subsets == [()] and model.intercept_ == 3.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, r"interactions='heredity': needs alpha > 0 \(a number\) and l1_ratio > 0"),
        ({"alpha": "cv"}, "interactions='heredity': needs alpha > 0"),
        ({"l1_ratio": 0}, "interactions='heredity': needs alpha > 0"),
        ({"family": "paper"}, "interactions='heredity': goes with family='shattered', not 'paper'"),
        ({"max_sets": 0}, "max_sets=0: expected an integer, at least 1"),
        ({"interactions": "all", "max_sets": 5}, "max_sets=5: a budget goes with interactions='heredity'"),
        ({"interactions": "some"}, "interactions='some': must be one of 'all', 'heredity'"),
    ],
)
def test_what_does_not_go_with_heredity_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        HoeffdingRegressor(**({"interactions": "heredity"} | parameters)).fit(X, Y)


# -- outputs and inputs -----------------------------------------------------------------------------------------------


def test_several_outputs_are_fitted_as_one_by_one():
    X, y = some_data(8)
    Y = np.column_stack([y, 100 + y**2, X[:, 0], np.full(len(y), 2.5)])
    model = HoeffdingRegressor(2, 0.01, **TIGHT).fit(X, Y)
    assert model.coef_.shape == (len(model.decomposition_.family) - 1, 4) and model.predict(X).shape == Y.shape
    singles = [HoeffdingRegressor(2, 0.01, **TIGHT).fit(X, column) for column in Y.T]
    for o, single in enumerate(singles):
        gap = single.dual_gap_ + model.dual_gap_ + 2 * ROUNDING * np.mean(Y[:, o] ** 2)
        assert np.sqrt(np.mean((model.predict(X)[:, o] - single.predict(X)) ** 2)) <= 2 * np.sqrt(2 * gap)
        assert model.intercept_[o] == pytest.approx(single.intercept_, rel=1e-12)
    assert model.fidelity_ == pytest.approx(min(s.fidelity_ for s in singles), abs=1e-9)
    assert model.dual_gap_ == pytest.approx(max(s.dual_gap_ for s in singles), rel=1e-3, abs=1e-13 * np.var(Y))


def test_there_may_be_more_outputs_than_rows():
    X = random_rows(np.random.default_rng(0), 10, 3)
    assert HoeffdingRegressor(2, 0.1).fit(X, np.random.default_rng(1).normal(size=(10, 25))).predict(X).shape == (
        10,
        25,
    )


def test_single_precision_outputs_are_summed_in_double():
    X, y = some_data(9)
    single = (1e4 + y).astype(np.float32)
    one = HoeffdingRegressor(2, 0.01).fit(X.astype(np.float32), single)
    other = HoeffdingRegressor(2, 0.01).fit(X, single.astype(np.float64))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.coef_.dtype == np.float64


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.bool_])
def test_sparse_rows_are_never_made_dense(monkeypatch, container, dtype):
    X, y = some_data(10)
    given_rows = container(X.astype(dtype))
    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array):
        for method in ("toarray", "todense"):
            monkeypatch.setattr(kind, method, lambda self, *args, **kwargs: pytest.fail("made dense"))
    model = HoeffdingRegressor(2, 0.01).fit(given_rows, y)
    dense = HoeffdingRegressor(2, 0.01).fit(X, y)
    np.testing.assert_array_equal(model.coef_, dense.coef_)
    np.testing.assert_array_equal(model.predict(given_rows), dense.predict(X))


def test_frames_of_sparse_columns_are_read():
    pandas = pytest.importorskip("pandas")
    X, y = some_data(10)
    frame = pandas.DataFrame(X, columns=list("abcde")).astype(pandas.SparseDtype(np.uint8, 0))
    model = HoeffdingRegressor(2, 0.01).fit(frame, y)
    np.testing.assert_array_equal(model.coef_, HoeffdingRegressor(2, 0.01).fit(X, y).coef_)
    assert list(model.feature_names_in_) == list("abcde")
    np.testing.assert_array_equal(model.predict(frame), model.predict(frame.sparse.to_dense()))


@pytest.mark.parametrize("threshold", [-1.5, -0.5, 0.0, 1.5])
def test_sparse_numbers_are_compared_with_a_threshold_of_either_sign(monkeypatch, threshold):
    rng = np.random.default_rng(0)
    numbers = rng.integers(-2, 3, (60, 4)) * (rng.random((60, 4)) < 0.5)
    y = rng.normal(size=60)
    dense = HoeffdingRegressor(2, 0.01, binarize=threshold).fit(numbers, y)
    compared = HoeffdingRegressor(2, 0.01).fit(numbers > threshold, y)
    given_rows = sparse.csr_array(numbers.astype(float))
    for method in ("toarray", "todense"):
        monkeypatch.setattr(sparse.csc_array, method, lambda self, *args, **kwargs: pytest.fail("made dense"))
    by_sparse = HoeffdingRegressor(2, 0.01, binarize=threshold).fit(given_rows, y)
    for model in (dense, by_sparse):
        np.testing.assert_array_equal(model.coef_, compared.coef_)
    np.testing.assert_array_equal(by_sparse.predict(given_rows), dense.predict(numbers))


def test_numbers_are_compared_with_a_threshold():
    X, y = some_data(11)
    numbers = np.where(X == 1, 7.5, -2.0)
    model = HoeffdingRegressor(2, 0.01, binarize=0.5).fit(numbers, y)
    np.testing.assert_array_equal(model.coef_, HoeffdingRegressor(2, 0.01).fit(X, y).coef_)
    np.testing.assert_array_equal(model.predict(numbers), HoeffdingRegressor(2, 0.01).fit(X, y).predict(X))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_have_named_columns_that_must_come_back_as_they_were(library):
    frames = pytest.importorskip(library)
    X, y = some_data(12)
    names = ["e", "d", "c", "b", "a"]
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate(names)})
    model = HoeffdingRegressor(2, 0.01).fit(frame, y)
    assert list(model.feature_names_in_) == names and model.decomposition_.feature_names == tuple(names)
    np.testing.assert_array_equal(model.predict(frame), HoeffdingRegressor(2, 0.01).fit(X, y).predict(X))
    np.testing.assert_array_equal(model.decomposition_.predict(frame[names[::-1]]), model.predict(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[::-1]])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[names[1:]])
    with pytest.raises(ValueError, match="X: no column 'e'"):
        model.decomposition_.predict(frame[names[1:]])


# -- inside scikit-learn's tools --------------------------------------------------------------------------------------


def test_it_works_in_a_pipeline_and_a_grid_search():
    X, y = some_data(13)
    pipeline = make_pipeline(Binarizer(threshold=0.5), HoeffdingRegressor(2, 0.01)).fit(0.9 * X, y)
    np.testing.assert_array_equal(pipeline.predict(0.9 * X), HoeffdingRegressor(2, 0.01).fit(X, y).predict(X))
    grid = {"order": [1, 2], "alpha": [1.0, 0.01]}
    search = GridSearchCV(HoeffdingRegressor(), grid, cv=3).fit(X, y)
    assert search.best_params_ == {"alpha": 0.01, "order": 2}


@pytest.mark.parametrize("scale", ["raw", "unit"])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_cross_validation_picks_what_refitting_by_hand_picks(scale, l1_ratio):
    X, y = some_data(14, n=200, noise=1.5)
    w = np.random.default_rng(0).integers(1, 4, len(y))
    model = HoeffdingRegressor(2, "cv", l1_ratio, scale=scale, cv=3, tol=1e-10).fit(X, y, w)
    fold, sets = np.arange(len(y)) % 3, model.decomposition_.subsets
    errors = []
    for alpha in model.alphas_:
        by_hand = HoeffdingRegressor(2, alpha, l1_ratio, scale=scale, family=sets, tol=1e-10)
        rest = np.empty_like(y)
        for k in range(3):
            away = fold == k
            rest[away] = y[away] - clone(by_hand).fit(X[~away], y[~away], w[~away]).predict(X[away])
        errors.append(np.average(rest**2, weights=w))
    # A fit within sqrt(2 gap) of the best one has an error on other rows within some multiple of that.
    np.testing.assert_allclose(model.cv_errors_, errors, rtol=20 * np.sqrt(2e-10))
    assert model.alpha_ == model.alphas_[np.argmin(errors)]
    assert np.argmin(errors) > 0, "the data have something to find"


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "cv: holds no folds"),
        ([([0, 1], [500])], "cv: a fold must be a list of row indices between 0 and 119"),
        ([([0, 1], [])], "cv: a fold must be a list of row indices"),
        ([([0, 1], np.ones(120, bool))], "cv: a fold must be a list of row indices"),
        ("kfold", "cv='kfold': must be a number of folds, a splitter"),
        (2.5, "cv=2.5: must be a number of folds"),
        (True, "cv=True: expected an integer"),
    ],
)
def test_folds_that_are_none_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        HoeffdingRegressor(2, "cv", cv=cv).fit(X, Y)


def test_row_indices_do_not_go_with_merged_rows_but_numbers_of_folds_do():
    rows, y = np.repeat(X[:40], 3, axis=0), np.repeat(Y[:40], 3)
    with pytest.raises(ValueError, match="cv: row indices do not go with distinct=True"):
        HoeffdingRegressor(2, "cv", distinct=True, cv=[([0, 1], [2])]).fit(rows, y)
    merged, inverse = np.unique(rows, axis=0, return_inverse=True)
    mean = np.bincount(inverse.ravel(), y) / np.bincount(inverse.ravel())
    one = HoeffdingRegressor(2, "cv", distinct=True, cv=4).fit(rows, y)
    np.testing.assert_allclose(one.cv_errors_, HoeffdingRegressor(2, "cv", cv=4).fit(merged, mean).cv_errors_)


def test_cross_validation_says_how_many_of_its_fits_did_not_converge():
    X, y = some_data(14, n=200, noise=1.5)
    with pytest.warns(ConvergenceWarning) as caught:
        HoeffdingRegressor(2, "cv", tol=1e-14, max_iter=1).fit(X, y)
    words = [str(w.message) for w in caught]
    assert any("of 150 fits did not converge, all with alpha at most" in w for w in words)


def test_folds_may_be_given():
    X, y = some_data(15)
    splits = list(KFold(4).split(X))
    one = HoeffdingRegressor(2, "cv", cv=KFold(4)).fit(X, y)
    other = HoeffdingRegressor(2, "cv", cv=splits).fit(X, y)
    np.testing.assert_array_equal(one.cv_errors_, other.cv_errors_)
    numbered = HoeffdingRegressor(2, "cv", cv=[(np.arange(120) % 5 != k, np.arange(120) % 5 == k) for k in range(5)])
    numbered = numbered.set_params(cv=[tuple(map(np.flatnonzero, split)) for split in numbered.cv]).fit(X, y)
    np.testing.assert_allclose(numbered.cv_errors_, HoeffdingRegressor(2, "cv", cv=5).fit(X, y).cv_errors_, rtol=1e-4)


def errors_of_refitting(model, X, y, w, folds):
    """The mean squared errors on rows left out, of a plain fit to the training rows, for every alpha of a model."""
    errors = []
    for alpha in model.alphas_:
        by_hand = clone(model).set_params(alpha=alpha, cv=5)
        squares = total = 0.0
        for train, test in folds:
            rest = y[test] - by_hand.fit(X[train], y[train], w[train]).predict(X[test])
            squares, total = squares + (w[test] @ rest**2).sum(), total + w[test].sum()
        errors.append(squares / total)
    return np.array(errors)


def numbered(n, k):
    at = np.arange(n)
    return [(at[at % k != i], at[at % k == i]) for i in range(k)]


def with_cells_only_in_a_fold():
    """Rows without some cells of {0, 1} and {2, 3}, and with a constant feature, but for those left out first."""
    X, y = some_data(16, n=90, noise=0.5)
    away = np.arange(90) % 3 == 0
    X[:, :4] = np.random.default_rng(0).random((90, 4)) < [0.4, 0.5, 0.5, 0.5]
    X[~away, 1] &= 1 - X[~away, 0]  # of rare values
    X[~away, 3] |= X[~away, 2]
    X[~away, 4], X[away, 4] = 1, np.arange(away.sum()) % 2
    return X, y + 2 * X[:, 0] * X[:, 1]


FAMILIES = {
    "shattered": {},
    "cells of five rows": {"min_count": 5},
    "unit": {"scale": "unit"},
    "paper": {"family": "paper"},
    "paper, unit": {"family": "paper", "scale": "unit"},
    "given": {"family": [(0, 1), (2, 3), (0, 4)]},
}


@pytest.mark.filterwarnings("ignore:.*never observed:UserWarning")
@pytest.mark.parametrize("given_as", ["rows", "indices", "moments"])
@pytest.mark.parametrize("choice", FAMILIES)
def test_cells_that_no_training_row_is_in_are_unseen_in_a_fold(choice, given_as):
    X, y = with_cells_only_in_a_fold()
    w, folds = np.random.default_rng(1).integers(1, 4, len(y)).astype(float), numbered(len(y), 3)
    model = HoeffdingRegressor(2, "cv", cv=folds if given_as == "indices" else 3, tol=1e-10, max_iter=50000)
    model.set_params(**FAMILIES[choice])
    if given_as == "moments":
        start = Moments.from_chunk(X, y, w)
        model.fit_moments([Moments.from_chunk(X[at], y[at], w[at], like=start) for _, at in folds])
    else:
        model.fit(X, y, w)
    expected = errors_of_refitting(model, X, y, w, folds)
    # A fit within sqrt(2 gap) of the best one has an error on other rows within some multiple of that.
    np.testing.assert_allclose(model.cv_errors_, expected, rtol=20 * np.sqrt(2e-10))


@pytest.mark.filterwarnings("ignore:.*never observed:UserWarning")
def test_one_family_for_all_folds_would_have_other_errors():
    X, y = with_cells_only_in_a_fold()
    model = HoeffdingRegressor(2, "cv", cv=3, tol=1e-10, max_iter=50000).fit(X, y)
    fixed = clone(model).set_params(family=model.decomposition_.subsets)
    fixed.alphas_ = model.alphas_
    other = errors_of_refitting(fixed, X, y, np.ones(len(y)), numbered(len(y), 3))
    assert np.abs(other - model.cv_errors_).max() > 1e-3


@pytest.mark.parametrize("kind", ["number", "indices", "splitter"])
@pytest.mark.parametrize("real", [False, True])
def test_folds_are_of_the_rows_as_given_whatever_their_weights(kind, real):
    X, y = some_data(17, n=100, noise=1.0)
    w = np.random.default_rng(2).integers(0, 3, 100) * (0.37 if real else 1.0)
    w[:20] = 0.0
    two = [(np.arange(20, 60), np.arange(60, 100)), (np.arange(10, 100), np.arange(5, 30))]
    folds = {"number": numbered(100, 4), "indices": two, "splitter": list(KFold(5).split(X))}[kind]
    cv = {"number": 4, "indices": folds, "splitter": KFold(5)}[kind]  # the first fold of KFold has no weight
    model = HoeffdingRegressor(2, "cv", cv=cv, tol=1e-10, max_iter=50000).fit(X, y, w)
    expected = errors_of_refitting(model, X, y, w, folds)
    np.testing.assert_allclose(model.cv_errors_, expected, rtol=20 * np.sqrt(2e-10))


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([([0, 1, 2], [50])], "cv: no row that fold 0 is fitted to has a weight above zero"),
        ([([50], [0, 1, 2])], "cv: no row left out has a weight above zero"),
        ([([50], [120])], "cv: a fold must be a list of row indices between 0 and 119"),
        (121, "cv=121: more folds than rows, of which there are 120"),
    ],
)
def test_folds_without_weight_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        HoeffdingRegressor(2, "cv", cv=cv).fit(X, Y, np.arange(120) >= 20)


def test_a_fold_that_holds_all_weight_is_refused():
    with pytest.raises(ValueError, match="cv: no row that fold 1 is fitted to has a weight above zero"):
        HoeffdingRegressor(2, "cv", cv=3).fit(X, Y, np.arange(120) % 3 == 1)


# -- a path of alphas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["gram", "rows"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_path_is_a_fit_for_each_alpha(monkeypatch, route, outputs):
    force_route(monkeypatch, route == "rows")
    X, y = some_data(16)
    X = np.column_stack([X, np.ones(len(X), np.uint8)])
    w = np.random.default_rng(0).integers(1, 4, len(y))
    y = y if outputs == 1 else np.stack([y, X[:, 1] + y**2], axis=1)
    plain = HoeffdingRegressor(2, "cv", l1_ratio=0.9, unseen="nan", **TIGHT)
    models = plain.path(X, y, w, alphas=[0.01, 1.0, 0.1])
    assert not hasattr(plain, "decomposition_") and plain.alpha == "cv"
    assert [model.alpha_ for model in models] == [1.0, 0.1, 0.01]
    for model in models:
        apart = clone(plain).set_params(alpha=model.alpha).fit(X, y, w)
        assert model.get_params() == apart.get_params() and model.route_ == apart.route_
        assert model.decomposition_.subsets == apart.decomposition_.subsets and model.constant_ == [5]
        assert_same_fit(model, apart, X, X, y)
        assert model.score(X, y, w) == pytest.approx(apart.score(X, y, w), abs=1e-4)
        assert model.decomposition_.rows.bits.n_rows == len(y)


def test_a_path_counts_once_and_starts_each_fit_at_the_one_before(monkeypatch):
    X, y = some_data(16, n=300, d=8)
    built, starts = [], []
    build, solve = low_order.System.build, low_order.solvers.solve
    monkeypatch.setattr(low_order.System, "build", lambda *args: built.append(1) or build(*args))
    monkeypatch.setattr(low_order.solvers, "solve", lambda p, beta, *args: starts.append(beta) or solve(p, beta, *args))
    models = HoeffdingRegressor(2).path(X, y)
    assert len(built) == 1 and len(models) == 30
    assert not models[0].coef_.any() and models[1].coef_.any(), "it begins where all coefficients are zero"
    assert models[-1].alpha_ == pytest.approx(1e-4 * models[0].alpha_, rel=1e-12)
    assert starts[0] is None
    for start, model in zip(starts[1:], models, strict=False):
        np.testing.assert_array_equal(start[:], model.coef_)
    assert (np.diff([model.fidelity_ for model in models]) > 0).all()


def test_a_path_may_end_in_least_squares():
    X, y = some_data(16)
    *_, last = HoeffdingRegressor(2).path(X, y, alphas=[0.1, 0])
    np.testing.assert_array_equal(last.coef_, HoeffdingRegressor(2, 0).fit(X, y).coef_)


@pytest.mark.parametrize(
    ("alphas", "message"),
    [
        ([], r"alphas=\[\]: must be finite numbers, at least 0, and at least one of them"),
        ([0.1, -1], r"alphas=\[0\.1, -1\.0\]: must be finite"),
        ([np.nan], r"alphas=\[nan\]: must be finite"),
        ([[0.1]], r"alphas=\[\[0\.1\]\]: must be finite"),
    ],
)
def test_alphas_that_are_none_are_refused(alphas, message):
    with pytest.raises(ValueError, match=message):
        HoeffdingRegressor().path(X, Y, alphas=alphas)
    with pytest.raises(ValueError, match="path: goes with interactions='all'"):
        HoeffdingRegressor(interactions="heredity").path(X, Y)


# -- cells never seen -------------------------------------------------------------------------------------------------


def test_what_a_component_says_at_a_cell_never_seen():
    X = np.repeat([[0, 0], [0, 1], [1, 0]], 5, axis=0)
    y = np.repeat([1.0, 2.0, 4.0], 5)
    new = np.array([[1, 1], [0, 1], [1, 1]])
    zero, nan, error = (
        HoeffdingRegressor(2, 1e-4, family="paper", unseen=policy).fit(X, y) for policy in ("zero", "nan", "error")
    )
    with pytest.warns(UserWarning, match="2 of 3 rows have a combination of values that was never observed"):
        got = zero.predict(new)
    singles = zero.decomposition_.components(new, [(), (0,), (1,)]).sum(axis=1)
    np.testing.assert_allclose(got[[0, 2]], singles[[0, 2]], rtol=1e-14)
    np.testing.assert_array_equal(np.isnan(nan.predict(new)), [True, False, True])
    with pytest.raises(ValueError, match="X: 2 of 3 rows have a combination of values that was never observed"):
        error.predict(new)
    for model in (zero, nan, error):
        assert np.isfinite(model.predict(X)).all()


def test_shattered_sets_have_no_cells_never_seen():
    X = np.repeat([[0, 0], [0, 1], [1, 0]], 5, axis=0)
    model = HoeffdingRegressor(2, 1e-4, unseen="error").fit(X, np.arange(15.0))
    assert np.isfinite(model.predict([[1, 1]])).all()


# -- bad input --------------------------------------------------------------------------------------------------------


def test_a_fit_that_does_not_converge_warns_with_gap_and_goal():
    X, y = some_data(16)
    with pytest.warns(ConvergenceWarning, match=r"duality gap of .*, the goal was .*: increase max_iter or alpha"):
        model = HoeffdingRegressor(2, 1e-7, tol=1e-14, max_iter=1).fit(X, y)
    assert model.dual_gap_ > 1e-14 * np.var(y)


def test_constant_columns_are_listed_and_in_no_component():
    X, y = some_data(17)
    X = np.column_stack([np.ones(len(X), np.uint8), X, np.zeros(len(X), np.uint8)])
    for family in ("shattered", "paper"):
        model = HoeffdingRegressor(2, 0.01, family=family).fit(X, y)
        assert model.constant_ == [0, 6]
        assert not {0, 6} & set().union(*model.decomposition_.subsets)
        np.testing.assert_array_equal(model.predict(1 - X[:, :1] * 0 * X), model.predict(1 - X[:, :1] * 0 * X))
        X_changed = X.copy()
        X_changed[:, [0, 6]] ^= 1
        np.testing.assert_array_equal(model.predict(X_changed), model.predict(X))


@pytest.mark.parametrize("family", ["shattered", "paper"])
@pytest.mark.parametrize("alpha", [0, 0.1])
@pytest.mark.parametrize("n", [1, 7])
def test_one_row_or_equal_rows_have_a_mean_only(family, alpha, n):
    X, y = np.repeat([[1, 0, 1]], n, axis=0), np.arange(float(n)) + 3
    model = HoeffdingRegressor(2, alpha, family=family).fit(X, y)
    assert model.decomposition_.subsets == [()] and model.constant_ == [0, 1, 2]
    np.testing.assert_allclose(model.predict(X), y.mean(), rtol=1e-15)


def test_a_constant_output_has_no_components():
    X, _ = some_data(18)
    model = HoeffdingRegressor(2, 0.01).fit(X, np.full(len(X), 0.1))
    assert not model.coef_.any() and model.fidelity_ == 1.0 and model.intercept_ == pytest.approx(0.1, rel=1e-15)


def test_an_order_above_d_is_order_d():
    X, y = some_data(19, d=3)
    np.testing.assert_array_equal(HoeffdingRegressor(7).fit(X, y).coef_, HoeffdingRegressor(3).fit(X, y).coef_)


X, Y = some_data(0)
HALF, MISSING, Y_MISSING = X.astype(float), X.astype(float), Y.copy()
HALF[3, 2], MISSING[3, 2], Y_MISSING[3] = 0.5, np.nan, np.nan


@pytest.mark.parametrize(
    ("parameters", "rows", "message"),
    [
        ({}, (HALF, Y), r"X: column 2 holds values other than 0 and 1 \(such as 0\.5\)"),
        ({}, (MISSING, Y), "X: column 2 holds NaN; drop these rows, or fill in what is missing"),
        ({}, (X, Y_MISSING), r"y: NaN or infinity \(inf\) in 1 of 120 rows, the first is row 3; drop these rows"),
        ({}, (X, np.stack([Y, Y_MISSING], axis=1)), "y: NaN .* the first is row 3"),
        ({}, (X[:0], Y[:0]), r"0 sample\(s\)"),
        ({}, (X[:, :0], Y), r"0 feature\(s\)"),
        ({}, (X, Y[:-1]), "inconsistent numbers of samples"),
        ({}, (X, Y, -np.ones(120)), r"sample_weight\[0\]=-1\.0: weights must be finite and not negative"),
        ({}, (X, Y, np.zeros(120)), "sample_weight: all weights are zero"),
        ({}, (X, Y, np.ones(3)), "sample_weight: expected one weight per row"),
        ({"distinct": True}, (X, Y, np.ones(120)), "sample_weight: not possible with distinct=True"),
        ({"alpha": -1}, (X, Y), "alpha=-1: must be a finite number, at least 0"),
        ({"alpha": np.nan}, (X, Y), "alpha=nan: must be a finite number"),
        ({"alpha": "best"}, (X, Y), "alpha='best': must be a finite number, at least 0, or 'cv'"),
        ({"l1_ratio": 1.5}, (X, Y), "l1_ratio=1.5: must lie between 0 and 1"),
        ({"order": 0}, (X, Y), "order=0: expected an integer, at least 1"),
        ({"order": 1.5}, (X, Y), "order=1.5: expected an integer"),
        ({"min_count": 0}, (X, Y), "min_count=0: expected an integer, at least 1"),
        ({"min_count": 2, "family": "paper"}, (X, Y), "min_count=2: goes with family='shattered', not family='p"),
        ({"min_count": 2, "family": [(0,)]}, (X, Y), "min_count=2: goes with family='shattered'"),
        ({"distinct": "yes"}, (X, Y), "distinct='yes': must be True or False"),
        ({"max_iter": 0}, (X, Y), "max_iter=0: expected an integer, at least 1"),
        ({"cv": 1, "alpha": "cv"}, (X, Y), "cv=1: expected an integer, at least 2"),
        ({"cv": 121, "alpha": "cv"}, (X, Y), "cv=121: more folds than rows, of which there are 120"),
        ({"tol": -1.0}, (X, Y), r"tol=-1\.0: must be a finite number, at least 0"),
        ({"family": "all"}, (X, Y), "family='all': must be 'shattered', 'paper', or a list of sets"),
        ({"family": [(0, 1, 2)]}, (X, Y), "family: has a set of 3 features, order=2 allows 2"),
        ({"l1_ratio": "half"}, (X, Y), "l1_ratio='half': must lie between 0 and 1"),
        ({"binarize": np.nan}, (X, Y), "binarize=nan: must be a finite number, or None"),
        ({"binarize": 0.5}, (MISSING, Y), "X: column 2 holds NaN"),
        ({"binarize": 0.5}, (sparse.csr_array(MISSING), Y), "X: column 2 holds NaN"),
        ({"binarize": 0.5}, (np.where(X == 1, -np.inf, 0.0), Y), r"X: column 0 holds minus infinity \(-inf\)"),
        ({}, (X, Y * 1e200), r"y: values differ by .e\+200, but squares are summed: scale y"),
        ({}, (X, Y * 1e-200), "y: values differ by .e-200, but squares are summed: scale y"),
        ({"scale": "log"}, (X, Y), "scale='log': must be one of 'raw', 'unit'"),
        ({"unseen": "mean"}, (X, Y), "unseen='mean': must be one of 'zero', 'nan', 'error'"),
        ({"n_jobs": 0}, (X, Y), "n_jobs=0: give 1 to 1024 threads"),
    ],
)
def test_bad_input_is_refused_by_name(parameters, rows, message):
    with pytest.raises(ValueError, match=message):
        HoeffdingRegressor(**parameters).fit(*rows)


def test_real_weights_that_sums_cannot_resolve_are_refused():
    rows, y = np.array([[0], [0], [1]]), np.arange(3.0)
    with pytest.raises(ValueError, match="sample_weight: some combination of values has 5e-21 of all weight"):
        HoeffdingRegressor(1).fit(rows, y, [1.0, 0.5, 1e-20 * 0.75])
    assert HoeffdingRegressor(1, 0).fit(rows, y, [1.0, 0.5, 1e-9]).predict([[1]]) == pytest.approx(2, rel=1e-5)


def test_frames_of_words_and_frames_without_rows_are_refused():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    with pytest.raises(ValueError, match="X: column 'b' holds String, not bits; encode categories one-hot"):
        HoeffdingRegressor().fit(pandas.DataFrame({"a": [0, 1], "b": ["u", "v"]}), [1.0, 2.0])
    with pytest.raises(TypeError, match="give the name of the target column"):  # it is read in chunks
        HoeffdingRegressor().fit(polars.LazyFrame({"a": [0, 1]}), [1.0, 2.0])
    with pytest.raises(TypeError, match="X: masked arrays are not supported"):
        HoeffdingRegressor().fit(np.ma.masked_equal([[0], [1]], 1), [1.0, 2.0])


def test_prediction_needs_a_fit_and_the_same_columns():
    with pytest.raises(NotFittedError):
        HoeffdingRegressor().predict(X)
    model = HoeffdingRegressor().fit(X, Y)
    with pytest.raises(ValueError, match="X has 4 features, but HoeffdingRegressor is expecting 5"):
        model.predict(X[:, :4])
    with pytest.raises(ValueError, match="X: column 2 holds values other than 0 and 1"):
        model.predict(HALF)


def test_the_column_and_the_way_out_for_numbers_are_named():
    pandas = pytest.importorskip("pandas")
    for given_rows in (HALF, sparse.csr_array(HALF)):
        with pytest.raises(ValueError, match=r"X: column 2 .*binarize="):
            HoeffdingRegressor().fit(given_rows, Y)
    with pytest.raises(ValueError, match=r"X: column 'c' .*binarize="):
        HoeffdingRegressor().fit(pandas.DataFrame(HALF, columns=list("abcde")), Y)
