"""Shares of variance: closed forms, an example worked by hand, brute force, and what Boolean analysis calls them."""

import re
from dataclasses import replace
from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hoeffding
from hoeffding import Empirical, HoeffdingRegressor, Moments, Product
from oracles import KINDS, all_subsets, cube_rows, make_pmf, marginal

seeds = st.integers(0, 2**32 - 1)


def variance_of_conditional_mean(f, p, given_features):
    """Var E[f | X_u] from the whole table."""
    p_u = marginal(p, given_features)
    mean_u = marginal(f * p, given_features) / p_u
    return float((p_u * mean_u**2).sum() - (f * p).sum() ** 2)


def random_product(rng, d):
    return Product(rng.uniform(0.05, 0.95, d))


# -- Sobol' indices ---------------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 5))
def test_under_a_product_measure_the_indices_are_those_of_sobol(seed, d):
    rng = np.random.default_rng(seed)
    f, measure = rng.normal(size=(2,) * d), random_product(rng, d)
    p, result = measure.pmf(), hoeffding.transform(f, measure)
    found, of_f = result.sobol(), float((p * f**2).sum() - (p * f).sum() ** 2)
    for i in range(d):
        others = tuple(j for j in range(d) if j != i)
        assert found.first[i] == pytest.approx(variance_of_conditional_mean(f, p, (i,)) / of_f, abs=1e-10)
        assert found.total[i] == pytest.approx(1 - variance_of_conditional_mean(f, p, others) / of_f, abs=1e-10)
    for u in all_subsets(d):
        wanted = variance_of_conditional_mean(f, p, u) / of_f
        assert result.closed_sobol(u) == pytest.approx(wanted, abs=1e-10)
    np.testing.assert_allclose(found.first, found.first_structural, atol=1e-12)
    np.testing.assert_allclose(found.total, found.total_structural, atol=1e-12)


def test_a_product_of_two_fair_bits_by_hand():
    # f = (1 + r1) (1 + r2) with fair signs r: every one of r1, r2, r1 r2 has variance 1.
    signs = np.array([1.0, -1.0])
    found = hoeffding.transform(np.multiply.outer(1 + signs, 1 + signs)).sobol()
    np.testing.assert_allclose(found.first, [1 / 3, 1 / 3], atol=1e-15)
    np.testing.assert_allclose(found.total, [2 / 3, 2 / 3], atol=1e-15)


@pytest.mark.parametrize("c", [0.0, 0.3, -0.6, 0.99])
@pytest.mark.parametrize("g", [0.0, 0.7])
def test_two_correlated_bits_by_hand(c, g):
    # Signs with E r1 = E r2 = 0 and E r1 r2 = c; f = a r1 + b r2 + g r1 r2. The components: f_1 = a r1, f_2 = b r2, and
    # g r1 r2 = g c + f_12 with f_12 = g (1 - c^2) psi_12, since psi_12 = r1 r2 / (1 + c r1 r2) is 1 / (1 + c) where the
    # signs agree and -1 / (1 - c) where they do not. So Var f_12 = g^2 (1 - c^2), and Cov(f_12, r1) = g E r2 = 0, while
    # Cov(f_1, f) = a^2 + a b c. With a = 1, b = -0.5 and large c the share of the second feature is negative.
    a, b = 1.0, -0.5
    signs = np.array([1.0, -1.0])
    product = np.multiply.outer(signs, signs)
    p = (1 + c * product) / 4
    result = hoeffding.transform(np.add.outer(a * signs, b * signs) + g * product, p)
    pair = g**2 * (1 - c**2)
    of_f = a**2 + b**2 + 2 * a * b * c + pair
    v = result.variance()
    np.testing.assert_allclose(result.coefficients, [g * c, a, b, g * (1 - c**2)], atol=1e-13)
    np.testing.assert_allclose(v.structural, [0, a**2, b**2, pair], atol=1e-13)
    np.testing.assert_allclose(v.correlative, [0, a * b * c, a * b * c, 0], atol=1e-13)
    assert v.of_f == pytest.approx(of_f) and v.share.sum() == pytest.approx(1)
    alone = np.array([a**2 + a * b * c, b**2 + a * b * c]) / of_f
    found = result.sobol()
    np.testing.assert_allclose(found.first, alone, atol=1e-12)
    np.testing.assert_allclose(found.total, alone + pair / of_f, atol=1e-12)
    np.testing.assert_allclose(result.shapley_effects(), alone + pair / of_f / 2, atol=1e-12)
    np.testing.assert_allclose(found.first_structural, np.array([a**2, b**2]) / of_f, atol=1e-12)
    if c > 0.9:
        assert alone[1] < 0 and alone[0] > 1  # nothing is clipped


@given(seeds, st.sampled_from(KINDS[:3]), st.sampled_from(["player", None]))
def test_indices_of_players_are_sums_over_the_sets_they_touch(seed, kind, grouping):
    rng = np.random.default_rng(seed)
    d = 5
    groups = {"pair": [0, 4], "trio": [1, 2]}
    result = hoeffding.transform(rng.normal(size=(2,) * d), make_pmf(kind, d, rng), groups=groups)
    players = [{0, 4}, {1, 2}, {3}] if grouping else [{i} for i in range(d)]
    v, found, effects = result.variance(), result.sobol(groups=grouping), result.shapley_effects(groups=grouping)
    size = np.abs(v.share).max() if v.of_f else 1.0
    if not v.of_f:
        assert np.isnan(found.first).all()
        return
    for g, mine in enumerate(players):
        touching = [j for j, s in enumerate(result.subsets) if mine & set(s)]
        inside = [j for j in touching if set(result.subsets[j]) <= mine]
        parts = [sum(bool(p & set(result.subsets[j])) for p in players) for j in touching]
        for index, which, of in (
            (found.total, touching, v.total),
            (found.first, inside, v.total),
            (found.total_structural, touching, v.structural),
            (found.first_structural, inside, v.structural),
        ):
            assert index[g] == pytest.approx(of[which].sum() / v.of_f, abs=1e-12 * size, rel=1e-9)
        assert effects[g] == pytest.approx((v.share[touching] / parts).sum(), abs=1e-12 * size, rel=1e-9)
    assert effects.sum() == pytest.approx(v.share.sum(), abs=1e-12 * size * len(v.share))


@given(seeds, st.integers(1, 5))
def test_shapley_effects_are_those_of_the_game_of_closed_indices(seed, d):
    rng = np.random.default_rng(seed)
    result = hoeffding.transform(rng.normal(size=(2,) * d), make_pmf("full", d, rng))
    value = {u: float(result.closed_sobol(u)) for u in all_subsets(d)}
    wanted = np.zeros(d)
    for i in range(d):
        for k in range(d):
            for u in combinations([j for j in range(d) if j != i], k):
                weight = factorial(k) * factorial(d - k - 1) / factorial(d)
                wanted[i] += weight * (value[tuple(sorted((*u, i)))] - value[u])
    np.testing.assert_allclose(result.shapley_effects(), wanted, rtol=0, atol=1e-11 * max(map(abs, value.values())))
    assert wanted.sum() == pytest.approx(1, abs=1e-10)


def test_several_outputs_have_an_index_each():
    rng = np.random.default_rng(0)
    f, p = rng.normal(size=(2, 2, 2, 4)), make_pmf("full", 3, rng)
    result = hoeffding.transform(f, p)
    single = [hoeffding.transform(f[..., o], p) for o in range(4)]
    for name in ("shapley_effects", "influences", "total_influence", "spectral_weight"):
        wanted = np.stack([getattr(r, name)() for r in single], axis=-1)
        np.testing.assert_allclose(getattr(result, name)(), wanted, atol=1e-12)
    np.testing.assert_allclose(result.sobol().total, np.stack([r.sobol().total for r in single], axis=-1), atol=1e-12)
    np.testing.assert_allclose(result.noise_stability(0.3), [r.noise_stability(0.3) for r in single], atol=1e-12)
    assert result.closed_sobol([0]).shape == (4,)


def test_a_fit_has_the_indices_of_its_own_function():
    # The same function from the regression and from the cube engine, which computes variances in another way.
    rng = np.random.default_rng(0)
    rows = (rng.random((300, 4)) < 0.4).astype(np.uint8)
    fit = HoeffdingRegressor(order=4, alpha=0).fit(rows, rng.normal(size=300)).decomposition_
    exact = hoeffding.transform(fit.predict(cube_rows(4)).reshape((2,) * 4), Empirical(rows))
    np.testing.assert_allclose(fit.shapley_effects(), exact.shapley_effects(), atol=1e-9)
    np.testing.assert_allclose(fit.sobol().total, exact.sobol().total, atol=1e-9)
    np.testing.assert_allclose(fit.importance(), exact.importance(), atol=1e-9)


# -- Boolean analysis -------------------------------------------------------------------------------------------------


def majority(d):
    return np.where(np.indices((2,) * d).sum(axis=0) > d / 2, -1.0, 1.0)


@pytest.mark.parametrize(("d", "influence"), [(1, 1.0), (3, 0.5), (5, 0.375)])
def test_the_majority_of_fair_bits(d, influence):
    # O'Donnell: Inf_i[Maj_n] = binom(n - 1, (n - 1)/2) / 2^(n - 1).
    result = hoeffding.transform(majority(d))
    np.testing.assert_allclose(result.influences(), [influence] * d, atol=1e-14)
    assert result.total_influence() == pytest.approx(d * influence)
    assert result.degree() == d
    assert result.spectral_weight().sum() == pytest.approx(1)  # a function with values 1 and -1


def test_the_majority_of_three_fair_bits_and_its_noise():
    # Maj_3 = (x1 + x2 + x3)/2 - x1 x2 x3/2.
    result = hoeffding.transform(majority(3))
    np.testing.assert_allclose(result.spectral_weight(), [0, 3 / 4, 0, 1 / 4], atol=1e-15)
    for rho in (-1.0, -0.3, 0.0, 0.5, 1.0):
        assert result.noise_stability(rho) == pytest.approx(0.75 * rho + 0.25 * rho**3)


@pytest.mark.parametrize("d", [1, 4])
def test_parities_dictators_and_constants(d):
    parity = (-1.0) ** np.indices((2,) * d).sum(axis=0)
    result = hoeffding.transform(parity)
    np.testing.assert_allclose(result.influences(), np.ones(d), atol=1e-15)
    assert (result.degree(), result.noise_stability(0.5)) == (d, pytest.approx(0.5**d))
    constant = hoeffding.transform(np.full((2,) * d, -2.0))
    assert constant.degree() == 0 and not constant.influences().any()
    np.testing.assert_allclose(constant.spectral_weight(), [4.0, *[0] * d])
    assert constant.noise_stability(0.0) == 4


@given(seeds, st.integers(1, 5))
def test_under_a_product_measure_the_influence_is_the_expected_conditional_variance(seed, d):
    rng = np.random.default_rng(seed)
    f, measure = rng.normal(size=(2,) * d), random_product(rng, d)
    q = measure.probabilities
    result = hoeffding.transform(f, measure)
    for i in range(d):
        difference = np.diff(f, axis=i).squeeze(i)
        others = measure.pmf().sum(axis=i)
        wanted = q[i] * (1 - q[i]) * (others * difference**2).sum()
        assert result.influences()[i] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@given(seeds, st.integers(1, 4), st.floats(-1, 1))
def test_noise_stability_is_the_correlation_with_a_noisy_copy(seed, d, rho):
    f = np.random.default_rng(seed).normal(size=(2,) * d)
    noisy = f
    keep = np.array([[(1 + rho) / 2, (1 - rho) / 2], [(1 - rho) / 2, (1 + rho) / 2]])
    for i in range(d):
        noisy = np.moveaxis(np.tensordot(keep, noisy, axes=(1, i)), 0, i)
    assert hoeffding.transform(f).noise_stability(rho) == pytest.approx(float((f * noisy).mean()), abs=1e-12)


@given(seeds, st.sampled_from(KINDS[:3]))
def test_dependent_features_keep_the_sums(seed, kind):
    rng = np.random.default_rng(seed)
    p, f = make_pmf(kind, 4, rng), rng.normal(size=(2,) * 4)
    result = hoeffding.transform(f, p)
    second_moment = float((p * f**2).sum())
    size = np.abs(result.variance().total).sum() + second_moment
    assert result.spectral_weight().sum() == pytest.approx(second_moment, abs=1e-10 * size)
    assert result.noise_stability(1.0) == pytest.approx(second_moment, abs=1e-10 * size)
    levels = np.arange(result.order + 1)
    assert result.total_influence() == pytest.approx(float(levels @ result.spectral_weight()), abs=1e-10 * size)


def test_the_degree_ignores_what_is_below_the_tolerance():
    f = np.add.outer([0.0, 1.0], [0.0, 1.0])
    f[1, 1] += 1e-6
    assert hoeffding.transform(f).degree() == 2
    assert hoeffding.transform(f).degree(tol=1e-3) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.noise_stability(1.5), "rho=1.5: must lie between -1 and 1"),
        (lambda r: r.noise_stability("a"), "rho='a': must lie between -1 and 1"),
        (lambda r: r.degree("a"), "tol='a': must be at least 0 and less than 1"),
        (lambda r: r.degree(-1), "tol=-1: must be at least 0 and less than 1"),
        (lambda r: r.sobol(groups="sum"), "groups='sum': the indices of a group are not sums over its features"),
        (lambda r: r.shapley_effects(groups="x"), "groups='x': must be 'player'"),
    ],
)
def test_bad_questions_get_clear_answers(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(hoeffding.transform([[0.0, 1.0], [1.0, 1.0]]))


# -- the bootstrap ----------------------------------------------------------------------------------------------------

FUNCTION = np.random.default_rng(1).normal(size=(2, 2, 2))
TRUTH = hoeffding.Ising([0.2, -0.3, 0.1], [[0, 0.4, 0], [0.4, 0, -0.3], [0, -0.3, 0]]).pmf()


def statistics(result):
    return np.concatenate([result.sobol().first, result.sobol().total, result.shapley_effects(), result.importance()])


def decompose_sample(rows):
    return lambda weights: hoeffding.transform(FUNCTION, Empirical(rows, weights, n_jobs=1), n_jobs=1)


def test_the_bootstrap_draws_rows_with_replacement():
    rows = hoeffding.Table(TRUTH).sample(50, 0)
    seen = []

    def decompose(weights):
        seen.append(weights)
        return decompose_sample(rows)(weights)

    found = hoeffding.bootstrap(decompose, 50, statistics, rng=3, n_resamples=10, level=0.8)
    assert seen[0].tolist() == [1.0] * 50 and len(seen) == 11
    assert all(w.sum() == 50 and (w == np.floor(w)).all() and w.max() > 1 for w in seen[1:])
    np.testing.assert_array_equal(found.value, statistics(decompose_sample(rows)(np.ones(50))))
    np.testing.assert_array_equal(found.replicates[4], statistics(decompose_sample(rows)(seen[5])))
    np.testing.assert_allclose(found.standard_error, found.replicates.std(axis=0, ddof=1))
    np.testing.assert_allclose([found.low, found.high], np.quantile(found.replicates, [0.1, 0.9], axis=0))
    again = hoeffding.bootstrap(decompose_sample(rows), 50, statistics, rng=3, n_resamples=10)
    np.testing.assert_array_equal(again.replicates, found.replicates)


def test_the_bootstrap_works_with_weights_of_a_fit():
    rng = np.random.default_rng(0)
    rows, y = rng.integers(0, 2, (400, 4)), rng.normal(size=400)
    y = y + 2 * rows[:, 0]

    def decompose(weights):
        return HoeffdingRegressor(order=1, alpha=0).fit(rows, y, sample_weight=weights).decomposition_

    found = hoeffding.bootstrap(decompose, 400, lambda r: r.coefficients[1:], rng=0, n_resamples=30)
    # The coefficient of psi_i is p (1 - p) times the slope, up to sign: a standard error near sd(y|x) / (2 sqrt n).
    assert 0.5 < (found.standard_error / (0.5 / np.sqrt(400))).mean() < 2
    assert found.high[0] < 0 or found.low[0] > 0


def test_chunks_of_one_row_are_rows():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (60, 3))
    y = rows[:, 0] + rng.normal(size=60)
    model = HoeffdingRegressor(order=2, alpha=0)
    parts = [Moments.from_chunk(rows[[k]], y[[k]], order=2) for k in range(60)]

    def of_chunks(times):
        drawn = [part for part, n in zip(parts, times, strict=True) for _ in range(int(n))]
        return model.fit_moments(Moments.merge(drawn)).decomposition_

    def of_rows(weights):
        return model.fit(rows, y, sample_weight=weights).decomposition_

    one, other = (
        hoeffding.bootstrap(decompose, 60, lambda r: r.shapley_effects(), rng=0, n_resamples=5)
        for decompose in (of_chunks, of_rows)
    )
    np.testing.assert_allclose(one.replicates, other.replicates, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_resamples": 1}, "n_resamples=1: expected an integer, at least 2"),
        ({"level": 1.0}, "level=1.0: must lie between 0 and 1"),
        ({"level": "95"}, "level='95': must lie between 0 and 1"),
        ({"statistic": lambda r: np.zeros(len(r.family))}, "statistic: has shape"),
    ],
)
def test_bad_bootstraps_are_refused(arguments, message):
    rows = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 0]])
    call = {"statistic": statistics, "rng": 0, "n_resamples": 20} | arguments
    with pytest.raises(ValueError, match=message):
        hoeffding.bootstrap(decompose_sample(rows), 4, **call)


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 1000])
def test_intervals_cover_the_truth(n, capsys):
    wanted = statistics(hoeffding.transform(FUNCTION, TRUTH))
    rng, n_samples = np.random.default_rng(n), 200
    covered, errors, estimates = np.zeros(len(wanted)), np.zeros(len(wanted)), []
    for _ in range(n_samples):
        rows = hoeffding.Table(TRUTH).sample(n, rng)
        found = hoeffding.bootstrap(decompose_sample(rows), n, statistics, rng=rng, n_resamples=200)
        covered += (found.low <= wanted) & (wanted <= found.high)
        errors += found.standard_error
        estimates.append(found.value)
    coverage, ratio = covered / n_samples, errors / n_samples / np.std(estimates, axis=0)
    with capsys.disabled():
        print(f"\n{n} rows: 95 % intervals cover {coverage.mean():.3f}, {coverage.min():.3f} to {coverage.max():.3f}")
        print(f"standard errors over true ones: from {ratio.min():.2f} to {ratio.max():.2f}")
    assert coverage.mean() > 0.91 and coverage.min() > 0.84  # 200 samples know a coverage to 0.015
    assert ratio.min() > 0.8 and ratio.max() < 1.35


def test_resampling_a_fixed_function_only_would_not_cover():
    # The negative control: with the components held fixed the standard error misses most of the uncertainty.
    rows = hoeffding.Table(TRUTH).sample(200, 0)
    fixed = decompose_sample(rows)(np.ones(200))
    refit = hoeffding.bootstrap(decompose_sample(rows), 200, lambda r: r.importance(), rng=0, n_resamples=100)

    def held(weights):
        return lambda: fixed.importance(rows, weights)

    fixed_only = hoeffding.bootstrap(held, 200, lambda r: r(), rng=0, n_resamples=100)
    assert (fixed_only.standard_error < refit.standard_error / 2).all()


def test_all_of_it_follows_from_the_variance():
    result = hoeffding.transform(FUNCTION, TRUTH)
    fitted = replace(result, fitted_variance=result.variance())
    np.testing.assert_array_equal(statistics(fitted)[:9], statistics(result)[:9])
    np.testing.assert_allclose(statistics(fitted), statistics(result), atol=1e-14)
