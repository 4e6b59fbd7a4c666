"""The solvers find the minimum, and the duality gap says truly how far from it any point is.

The problems have a known minimum: with a residual e such that ``Psi' e / n`` is a subgradient of the penalty at b, the
target ``Psi b + e`` has b as its best fit. Columns may be repeated or zero, so that G is rank-deficient.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoeffding.engines.solvers import Problem, certify, solve
from strategies import EPS, seeds

PENALTIES = ["l1", "l2", "both"]
N = 40  # rows; the values of a problem are of the order of one, so that 1e-13 is rounding: some N r sums of EPS
ROUNDING = 1e-13


def planted(seed, penalty, deficient=False):
    """A problem, one of its minimisers, and the minimum."""
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, 7))
    columns = rng.normal(size=(N, r)) + rng.normal(size=(N, 1))  # correlated
    l1 = rng.uniform(0.05, 0.5, r) * (penalty in ("l1", "both"))
    l2 = rng.uniform(0.05, 0.5, r) * (penalty in ("l2", "both"))
    on = rng.random(r) < (0.6 if penalty != "l2" else 1.0)
    b = np.where(on, rng.normal(size=r), 0.0)
    slope = np.where(on, np.sign(b), rng.uniform(-0.9, 0.9, r))
    e = N * columns @ np.linalg.solve(columns.T @ columns, l1 * slope + l2 * b)
    if deficient:  # a repeated column has the same coefficient and penalty; zero has the coefficient zero
        at = np.append(np.arange(r), rng.integers(0, r, 2))
        columns, b, l1, l2 = columns[:, at], b[at], l1[at], l2[at]
        columns, b = np.append(columns, np.zeros((N, 1)), axis=1), np.append(b, 0.0)
        l1, l2 = (np.append(a, 0.1 * a.any()) for a in (l1, l2))
    y = columns @ b + e
    problem = Problem(columns.T @ columns / N, columns.T @ y / N, float(y @ y) / N, l1, l2)
    return SimpleNamespace(problem=problem, b=b, y=y, columns=columns, minimum=value(columns, y, l1, l2, b), rng=rng)


def value(columns, y, l1, l2, b):
    """The objective, from the rows."""
    return np.mean((y - columns @ b) ** 2) / 2 + l1 @ np.abs(b) + l2 @ b**2 / 2


def value_of(p, b):
    return value(p.columns, p.y, p.problem.l1, p.problem.l2, b)


def certificate(p, b):
    q = p.problem.m - p.problem.G @ b
    return certify(b, q, p.problem.yy - float(p.problem.m @ b), p.problem.l1, p.problem.l2)


def scale_of(p):
    return ROUNDING * (1 + p.problem.yy)


# -- the certificate --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("deficient", [False, True])
@given(seed=seeds, distance=st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 10.0]))
def test_no_point_is_further_above_the_minimum_than_its_gap_says(penalty, deficient, seed, distance):
    p = planted(seed, penalty, deficient)
    for direction in (p.rng.normal(size=len(p.b)), p.rng.normal(size=len(p.b)) * (p.b != 0), -p.b):
        b = p.b + distance * direction
        got = certificate(p, b)
        assert got.objective == pytest.approx(value_of(p, b), abs=scale_of(p) * (1 + distance) ** 2)
        above = value_of(p, b) - p.minimum
        assert above >= -scale_of(p), "the planted point is a minimum"
        assert got.gap >= above - scale_of(p) * (1 + distance) ** 2


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("deficient", [False, True])
@given(seed=seeds)
def test_the_gap_is_zero_at_the_minimum_and_positive_elsewhere(penalty, deficient, seed):
    p = planted(seed, penalty, deficient)
    assert 0 <= certificate(p, p.b).gap <= scale_of(p)
    for j in np.flatnonzero(np.diag(p.problem.G)):
        elsewhere = p.b + 0.1 * np.eye(len(p.b))[j]
        # From a minimum, a step h along j goes up by G_jj h^2 / 2 at least.
        least = (0.1**2 / 2) * p.problem.G[j, j]
        if not deficient:
            assert value_of(p, elsewhere) >= p.minimum + least - scale_of(p)
        assert certificate(p, elsewhere).gap >= 0.99 * least


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_gap_shrinks_to_zero_along_the_way_to_the_minimum(penalty):
    p = planted(3, penalty)
    start = p.rng.normal(size=len(p.b))
    gaps = np.array([certificate(p, p.b + t * start).gap for t in (1, 0.1, 1e-2, 1e-3, 1e-4)])
    assert (np.diff(gaps) < 0).all() and gaps[-1] < 1e-3 * gaps[0]


# -- the minimum ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("deficient", [False, True])
@pytest.mark.parametrize("tol", [1e-4, 1e-9])
@given(seed=seeds)
def test_a_solution_is_within_its_gap_of_the_minimum_and_the_gap_within_the_tolerance(penalty, deficient, tol, seed):
    p = planted(seed, penalty, deficient)
    got = solve(p.problem, None, tol, 10_000)
    assert got.converged and got.gap <= tol * p.problem.yy
    assert got.objective == pytest.approx(value_of(p, got.beta), abs=scale_of(p))
    assert -scale_of(p) <= got.objective - p.minimum <= got.gap + scale_of(p)
    if penalty != "l1":  # l2 is at least 0.05: strongly convex, other than at the zero column
        assert np.linalg.norm(got.beta - p.b) <= np.sqrt(2 * (got.gap + scale_of(p)) / 0.05)
    apart = p.columns @ (got.beta - p.b)  # what the fit says is unique, even if the coefficients are not
    assert np.mean(apart**2) <= 2 * (got.gap + scale_of(p))


@pytest.mark.parametrize("penalty", PENALTIES)
@given(seed=seeds)
def test_the_start_changes_the_way_and_not_the_solution(penalty, seed):
    p = planted(seed, penalty)
    start = p.rng.normal(size=len(p.b))
    before = start.copy()
    cold, warm = solve(p.problem, None, 1e-10, 10_000), solve(p.problem, start, 1e-10, 10_000)
    np.testing.assert_array_equal(start, before)
    apart = p.columns @ (cold.beta - warm.beta)
    # Both fits are within sqrt(2 gap) of the best one.
    near = sum(np.sqrt(2 * (s.gap + scale_of(p))) for s in (cold, warm))
    assert np.sqrt(np.mean(apart**2)) <= near
    again = solve(p.problem, cold.beta, 1e-10, 10_000)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.beta, cold.beta)


def test_a_solution_is_zero_exactly_where_the_planted_one_is():
    found = 0
    for seed in range(40):
        p = planted(seed, "l1")
        got = solve(p.problem, None, 1e-12, 10_000)
        # Zero coordinates have at least a tenth of their penalty to spare, so they stay zero at any near point.
        assert (got.beta[p.b == 0] == 0).all()
        found += np.count_nonzero(p.b == 0)
    assert found > 20


def test_a_fit_cut_short_says_so_and_its_gap_still_holds():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(200, 60)) + 3 * rng.normal(size=(200, 1))
    y = columns[:, :30] @ rng.normal(size=30) + rng.normal(size=200)
    G, m, yy = columns.T @ columns / 200, columns.T @ y / 200, float(y @ y) / 200
    problem = Problem(G, m, yy, np.full(60, 0.01), np.zeros(60))
    best, short = solve(problem, None, 1e-12, 10_000), solve(problem, None, 1e-12, 1)
    assert best.converged and not short.converged
    assert short.n_iter < best.n_iter and short.gap > 1e-12 * yy
    assert short.gap >= short.objective - best.objective > 0


def test_a_penalty_above_all_correlations_leaves_nothing():
    p = planted(1, "l1")
    largest = np.abs(p.problem.m).max()
    r = len(p.b)
    for factor, nothing in ((1.0, True), (0.999, False)):
        problem = Problem(p.problem.G, p.problem.m, p.problem.yy, np.full(r, factor * largest), np.zeros(r))
        got = solve(problem, None, 1e-12, 1000)
        assert (not got.beta.any()) == nothing and got.converged


# -- closed forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deficient", [False, True])
@given(seed=seeds)
def test_ridge_has_its_closed_form(deficient, seed):
    p = planted(seed, "l2", deficient)
    got = solve(p.problem, p.rng.normal(size=len(p.b)), 1e-6, 1)
    H = p.problem.G + np.diag(p.problem.l2)
    # A backward stable solve loses the condition number.
    near = 10 * len(H) * EPS * np.linalg.cond(H)
    wanted = np.linalg.solve(H, p.problem.m)
    assert np.linalg.norm(got.beta - wanted) <= near * np.linalg.norm(wanted)
    assert got.n_iter == 0 and got.converged and got.rank is None


@pytest.mark.parametrize("deficient", [False, True])
@given(seed=seeds)
def test_least_squares_solves_the_normal_equations_with_the_least_variance(deficient, seed):
    p = planted(seed, "none", deficient)
    G, m, r = p.problem.G, p.problem.m, len(p.b)
    got = solve(p.problem, None, 1e-6, 1)
    on = np.diag(G) > 0
    norms = np.sqrt(np.diag(G))[on]
    C = G[np.ix_(on, on)] / np.outer(norms, norms)
    values, vectors = np.linalg.eigh(C)
    kept = values > 1e-9  # those of zero are rounding, all others far above it
    assert got.rank == kept.sum() == r - 3 * deficient and got.converged
    gamma = got.beta[on] * norms  # coefficients of unit-variance columns
    # The eigenvalues kept are computed to r EPS times the largest; dividing by the smallest loses their ratio.
    near = 10 * r * EPS * values[-1] / values[kept].min() * (1 + np.linalg.norm(gamma))
    assert np.linalg.norm(C @ gamma - m[on] / norms) <= near * values[-1]
    assert np.linalg.norm(vectors[:, ~kept].T @ gamma) <= near, "least norm: nothing along the null space"
    assert not got.beta[~on].any()
    assert got.objective == pytest.approx(value_of(p, got.beta), abs=scale_of(p))
    best = np.linalg.lstsq(p.columns, p.y, rcond=1e-9)[0]
    assert got.objective <= value_of(p, best) + scale_of(p)


def test_an_exact_fit_leaves_nothing_and_a_repeated_column_shares_its_coefficient():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(N, 2))[:, [0, 1, 1]]
    y = columns @ [2.0, 1.0, 3.0]
    problem = Problem(columns.T @ columns / N, columns.T @ y / N, float(y @ y) / N, np.zeros(3), np.zeros(3))
    got = solve(problem, None, 1e-6, 1)
    np.testing.assert_allclose(got.beta, [2, 2, 2], rtol=1e-13)
    assert got.rank == 2 and abs(got.objective) <= ROUNDING * problem.yy


@pytest.mark.parametrize("penalty", [*PENALTIES, "none"])
def test_without_columns_or_without_a_target_there_is_nothing_to_find(penalty):
    l1, l2 = 0.1 * (penalty in ("l1", "both")), 0.1 * (penalty in ("l2", "both"))
    none = solve(Problem(np.zeros((0, 0)), np.zeros(0), 2.0, np.zeros(0), np.zeros(0)), None, 1e-6, 10)
    assert none.beta.shape == (0,) and none.objective == 1.0 and none.converged
    flat = Problem(np.diag([1.0, 2.0, 0.0]), np.zeros(3), 0.0, np.full(3, l1), np.full(3, l2))
    got = solve(flat, None, 1e-6, 10)
    assert not got.beta.any() and got.objective == got.gap == 0 and got.converged
