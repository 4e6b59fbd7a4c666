"""The theorems about the decomposition, as properties of ``transform`` over random measures and functions."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hoeffding
from hoeffding import Product, Table, Uniform, basis
from hoeffding.engines import cube, least_variance
from oracles import (
    KINDS,
    all_subsets,
    components_on_cube,
    cube_rows,
    design,
    largest_conditional_mean,
    make_pmf,
    marginal,
    parity,
    psi,
    shattered,
)

FULL = ("full", "tiny", "one heavy point")
seeds = st.integers(0, 2**32 - 1)
dims = st.integers(1, 6)


def draw(seed, d, kind):
    rng = np.random.default_rng(seed)
    return make_pmf(kind, d, rng), rng.normal(size=(2,) * d), rng


def scaled_difference(p, subsets, a, b, f):
    """How far two coefficient vectors are apart, in the unit in which they are computed.

    By the recursion: |a_S - b_S| E[psi_S^2] over max |f|, the error of the parity coefficient that beta_S answers for.
    By least squares, where there is a choice: |a_S - b_S| |psi_S|, over the norm of all these.
    """
    on = p > 0
    norm2 = np.array([np.nansum(psi(p, s)[on] ** 2 * p[on]) for s in subsets])
    if len(shattered(p)) > on.sum():
        return np.abs((a - b) * np.sqrt(norm2)).max() / max(np.linalg.norm(b * np.sqrt(norm2)), 1e-300)
    return np.abs((a - b) * norm2).max() / np.abs(f[on]).max()


# -- what defines the decomposition --------------------------------------------------------------------------------


@given(seeds, dims, st.sampled_from(KINDS))
def test_the_expansion_is_exact_on_the_support(seed, d, kind):
    p, f, _ = draw(seed, d, kind)
    result = hoeffding.transform(f, p)
    total = result.components(cube_rows(d)).sum(axis=1).reshape(p.shape)
    # Components may be far larger than f, and cancel: rounding is relative to the largest of them.
    scale = max(1.0, np.abs(components_on_cube(result)).max())
    assert np.abs(total - f)[p > 0].max() <= 1e-12 * scale * len(result.family)
    assert result.remainder <= 1e-12 * scale
    assert result.fidelity == pytest.approx(1.0, abs=1e-12) or result.measure.n_points == 1


@given(seeds, dims, st.sampled_from(KINDS))
def test_components_are_hierarchically_orthogonal(seed, d, kind):
    p, f, _ = draw(seed, d, kind)
    result = hoeffding.transform(f, p)
    for s, component in zip(result.subsets, components_on_cube(result), strict=True):
        size = np.abs(component[p > 0] * p[p > 0]).max() * 2 ** len(s)
        assert largest_conditional_mean(p, component, s) <= 1e-10 * max(size, 1e-300)


def test_a_contaminated_component_is_not_hierarchically_orthogonal():
    p, f, _ = draw(3, 4, "full")
    result = hoeffding.transform(f, p)
    s = (0, 2)
    component = components_on_cube(result)[result.family.index(s)] + 1e-3 * parity(4, (0,))
    assert largest_conditional_mean(p, component, s) > 1e-5


@given(seeds, dims, st.sampled_from(KINDS))
def test_the_components_are_those_of_the_shattered_sets(seed, d, kind):
    p, f, _ = draw(seed, d, kind)
    result = hoeffding.transform(f, p)
    assert result.subsets == shattered(p)
    assert result.unique == (len(shattered(p)) == np.count_nonzero(p))
    rank = np.linalg.matrix_rank(np.sqrt(p[p > 0])[:, None] * design(p, shattered(p)))
    if kind in ("holes", "few points"):  # elsewhere the rank is full but not numerically so
        assert rank == np.count_nonzero(p), "the shattered sets span all functions on the support"


# -- four ways to the same coefficients ----------------------------------------------------------------------------


@given(seeds, dims)
def test_recursion_least_squares_gram_system_and_design_matrix_agree(seed, d):
    p, f, _ = draw(seed, d, "full")
    subsets = all_subsets(d)
    got = hoeffding.transform(f, p).coefficients
    Psi, root = design(p, subsets), np.sqrt(p.ravel())
    by_inverse = np.linalg.solve(Psi, f.ravel())
    by_least_squares = np.linalg.lstsq(root[:, None] * Psi, root * f.ravel())[0]
    G, m = Psi.T @ (p.ravel()[:, None] * Psi), Psi.T @ (p.ravel() * f.ravel())
    by_gram = np.linalg.solve(G, m)
    condition = np.linalg.cond(root[:, None] * Psi)
    assert scaled_difference(p, subsets, got, by_inverse, f) <= 1e-14 * max(np.linalg.cond(Psi), 100)
    assert scaled_difference(p, subsets, got, by_least_squares, f) <= 1e-14 * max(condition, 100)
    assert scaled_difference(p, subsets, got, by_gram, f) <= 1e-14 * max(condition**2, 100)


@given(seeds, dims)
def test_uniform_gives_walsh_hadamard(seed, d):
    f = np.random.default_rng(seed).normal(size=(2,) * d)
    fourier = np.array([(f * parity(d, s)).mean() for s in all_subsets(d)])
    for pmf in (None, Uniform(d), np.full((2,) * d, 2.0**-d)):
        np.testing.assert_allclose(hoeffding.transform(f, pmf).coefficients, fourier, rtol=0, atol=1e-14)


@given(seeds, st.integers(1, 5))
def test_product_measures_give_the_moebius_formula_of_conditional_expectations(seed, d):
    rng = np.random.default_rng(seed)
    measure, f = Product(rng.uniform(0.01, 0.99, d)), rng.normal(size=(2,) * d)
    p = measure.pmf()
    result = hoeffding.transform(f, measure)
    for s in all_subsets(d):
        expected = np.zeros((1,) * d)
        for t in all_subsets(d):
            if set(t) <= set(s):
                expected = expected + (-1) ** (len(s) - len(t)) * marginal(p * f, t) / marginal(p, t)
        np.testing.assert_allclose(result.table(s).ravel(), expected.ravel(), rtol=0, atol=1e-12)


@given(seeds, dims)
def test_the_product_route_agrees_with_the_general_one(seed, d):
    rng = np.random.default_rng(seed)
    q = rng.choice([0.0, 1.0, 1e-9, 0.3, 0.5, 0.8], d)
    f = rng.normal(size=(2,) * d)
    by_product, by_table = hoeffding.transform(f, Product(q)), hoeffding.transform(f, Table(Product(q).pmf()))
    assert by_product.subsets == by_table.subsets
    p = by_table.measure.pmf()
    assert scaled_difference(p, by_table.subsets, by_product.coefficients, by_table.coefficients, f) <= 1e-14


# -- exclusion, recoding, permuting ----------------------------------------------------------------------------------


@given(seeds, st.integers(2, 6), st.data())
def test_features_that_f_does_not_use_are_in_no_component(seed, d, data):
    p, f, _ = draw(seed, d, "full")
    used = data.draw(st.sets(st.integers(0, d - 1), max_size=d - 1))
    for i in set(range(d)) - used:
        f = np.broadcast_to(np.take(f, [0], axis=i), f.shape)
    result = hoeffding.transform(f, p)
    outside = np.array([not set(s) <= used for s in result.subsets])
    zero = np.zeros(outside.sum())
    subsets = [s for s, out in zip(result.subsets, outside, strict=True) if out]
    assert scaled_difference(p, subsets, result.coefficients[outside], zero, f) <= 1e-14


@given(seeds, st.integers(2, 6))
def test_so_it_is_on_every_support_that_leaves_no_choice(seed, d):
    """On all points below some, in any coding of the bits, the decomposition is unique."""
    rng = np.random.default_rng(seed)
    tops = rng.integers(0, 2**d, rng.integers(1, 4))
    below = np.any([(np.arange(2**d) & ~top) == 0 for top in tops], axis=0).reshape((2,) * d)
    recoded = tuple(np.flatnonzero(rng.random(d) < 0.5).tolist())
    p = np.flip(below * rng.uniform(0.1, 1.0, below.shape), recoded)
    p /= p.sum()
    used = set(np.flatnonzero(rng.random(d) < 0.6).tolist())
    f = rng.normal(size=(2,) * d)
    for i in set(range(d)) - used:
        f = np.broadcast_to(np.take(f, [0], axis=i), f.shape)
    result = hoeffding.transform(f, p)
    outside = np.array([not set(s) <= used for s in result.subsets])
    assert result.unique
    assert np.abs(result.coefficients[outside]).max(initial=0.0) <= 1e-12 * np.abs(f).max()


def test_a_feature_that_f_does_not_use_may_get_a_share_where_there_is_a_choice():
    result = hoeffding.transform([[0.0, 0.0], [1.0, 1.0]], [[0.5, 0.0], [0.0, 0.5]])  # f = x0, and x1 is x0
    assert not result.unique
    np.testing.assert_allclose(result.coefficients, [0.5, -0.25, -0.25], atol=1e-15)


@given(seeds, dims, st.sampled_from(KINDS), st.data())
def test_recoding_bits_changes_no_component(seed, d, kind, data):
    p, f, _ = draw(seed, d, kind)
    axes = tuple(data.draw(st.sets(st.integers(0, d - 1))))
    before, after = hoeffding.transform(f, p), hoeffding.transform(np.flip(f, axes), np.flip(p, axes))
    signs = np.array([(-1) ** len(set(s) & set(axes)) for s in before.subsets])
    assert after.subsets == before.subsets
    assert scaled_difference(p, before.subsets, signs * after.coefficients, before.coefficients, f) <= tolerance(p)


@given(seeds, dims, st.sampled_from(KINDS), st.data())
def test_permuting_features_permutes_the_components(seed, d, kind, data):
    p, f, _ = draw(seed, d, kind)
    order = data.draw(st.permutations(range(d)))
    before, after = hoeffding.transform(f, p), hoeffding.transform(np.transpose(f, order), np.transpose(p, order))
    found = np.array([after.coefficient([order.index(i) for i in s]) for s in before.subsets])
    assert scaled_difference(p, before.subsets, found, before.coefficients, f) <= tolerance(p)


def tolerance(p):
    """1e-12 where the recursion is all; after a least-squares problem, rounding times its condition number."""
    family = shattered(p)
    if len(family) == np.count_nonzero(p):
        return 1e-12
    A = design(p, family) * np.sqrt(p[p > 0])[:, None]
    return 1e-13 * np.linalg.cond(A / np.sqrt((A**2).sum(axis=0)))


# -- supports that leave a choice ------------------------------------------------------------------------------------


@given(seeds, st.integers(2, 6), st.sampled_from(("holes", "few points")))
def test_of_many_decompositions_the_one_of_least_total_variance_is_returned(seed, d, kind):
    p, f, _ = draw(seed, d, kind)
    result = hoeffding.transform(f, p)
    norms = np.array([basis.norm(Table(p), s) for s in result.subsets])
    A = design(p, result.subsets) / norms
    least = np.linalg.lstsq(A, f[p > 0])[0]  # minimum norm in the unit-variance coefficients
    np.testing.assert_allclose(result.coefficients * norms, least, rtol=0, atol=1e-13 * np.linalg.cond(A))


@given(seeds, st.integers(2, 6))
def test_both_least_variance_routes_agree(seed, d):
    p, f, _ = draw(seed, d, "holes")
    measure, support, family = Table(p), (p > 0).ravel(), shattered(p)
    if len(family) == np.count_nonzero(p):
        return
    plane, sets = np.where(support, f.ravel(), 0.0)[None], measure.shattered()
    marks = sets.put(np.ones(len(sets), bool))
    solvers = least_variance.row_space(measure, sets, support), least_variance.null_space(measure, marks, support, 1)
    by_rows, by_null = (sets.take(least_variance.refined(solver, plane, measure, support, 1)[0]) for solver in solvers)
    assert scaled_difference(p, family, by_null[0], by_rows[0], f) <= tolerance(p)


def test_the_continuation_uses_order_shattered_sets_only(implementation):
    rng = np.random.default_rng(1)
    for d in (1, 3, 5, 7):
        for n in (1, 2**d // 3 + 1, 2**d - 1, 2**d):
            support = np.zeros(2**d, np.bool_)
            support[rng.permutation(2**d)[:n]] = True
            sets = least_variance.order_shattered(support)
            assert sets.sum() == n
            f = np.where(support, rng.normal(size=(2, 2**d)), 0.0)
            F = hoeffding._kernels.extend(f, support)
            assert np.array_equal(F[:, support], f[:, support]) or np.allclose(F[:, support], f[:, support], atol=1e-9)
            spectrum = np.array([(F * parity(d, s).ravel()).mean(axis=1) for s in all_subsets(d)])
            at = hoeffding.SubsetFamily.up_to_order(d, d).cube_index()
            assert np.abs(spectrum[~sets[at]]).max(initial=0.0) <= 1e-12 * np.abs(F).max()


def test_one_missing_point_leaves_the_decomposition_unique_and_two_may_not():
    p = np.ones((2,) * 10)
    p[(0,) * 10] = 0
    assert hoeffding.transform_plan(p / p.sum()).route == "triangular"
    p[(1,) * 10] = 0
    plan = hoeffding.transform_plan(p / p.sum())
    assert (plan.n_points, plan.n_shattered, plan.unique, plan.route) == (1022, 1023, False, "null space")
    p[(0, 1) * 5] = 1e-12  # a rare point: the null space would lose digits
    assert hoeffding.transform_plan(p / p.sum()).route == "row space"


def test_values_off_the_support_are_ignored():
    rng = np.random.default_rng(0)
    for kind in ("holes", "few points"):
        p, f = make_pmf(kind, 5, rng), rng.normal(size=(2,) * 5)
        before = hoeffding.transform(f, p).coefficients
        f[p == 0] = np.nan
        assert np.array_equal(hoeffding.transform(f, p).coefficients, before)
    constant = Product([0.0, 0.3, 1.0])
    f = np.full((2, 2, 2), np.inf)
    f[0, :, 1] = [1.0, 2.0]
    assert hoeffding.transform(f, constant).subsets == [(), (1,)]
    assert hoeffding.transform(f, constant).table([1]) + hoeffding.transform(f, constant).table([]) == pytest.approx(
        np.array([1.0, 2.0])
    )


# -- several functions, threads, instruction sets --------------------------------------------------------------------


@given(seeds, dims, st.sampled_from(KINDS), st.integers(1, 3))
def test_several_functions_at_once_are_decomposed_one_by_one(seed, d, kind, m):
    p, _, rng = draw(seed, d, kind)
    F = rng.normal(size=(2,) * d + (m,))
    together = hoeffding.transform(F, p)
    assert together.coefficients.shape == (len(together.family), m)
    for o in range(m):
        alone = hoeffding.transform(F[..., o], p)
        assert alone.coefficients.shape == (len(together.family),)
        both = together.coefficients[:, o], alone.coefficients
        assert scaled_difference(p, alone.subsets, *both, F[..., o]) <= tolerance(p)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 13, 15])
def test_threads_and_instruction_sets_give_the_same_bits(d):
    rng = np.random.default_rng(d)
    p, f = rng.dirichlet(np.ones(2**d)).reshape((2,) * d), rng.normal(size=(2,) * d + (2,))
    seen = set()
    for name in hoeffding._kernels.implementations()[1:]:
        for n_jobs in (1, 2, 3, 8):
            with hoeffding._kernels.using(name):
                result = hoeffding.transform(f, p, n_jobs=n_jobs)
                variance = result.variance()
            seen.add((result.coefficients.tobytes(), result.remainder, variance.total.tobytes()))
    assert len(seen) == 1


@given(seeds, dims, st.sampled_from(KINDS))
def test_the_inverse_undoes_the_transform(seed, d, kind):
    p, f, rng = draw(seed, d, kind)
    F = np.stack([f, rng.normal(size=f.shape)], axis=-1)
    result = hoeffding.transform(F, p)
    scale = max(1.0, *(np.abs(components_on_cube(hoeffding.transform(F[..., o], p))).max() for o in range(2)))
    coefficients = np.zeros(F.shape)
    for s, b in zip(result.subsets, result.coefficients, strict=True):
        coefficients[tuple(int(i in s) for i in range(d))] = b
    back = hoeffding.inverse_transform(coefficients, p)
    assert np.abs(back - F)[p > 0].max() <= 1e-13 * scale * 2**d


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "pmf", "error", "message"),
    [
        (np.zeros((2, 3)), None, ValueError, r"values: expected shape \(2,\) \* d, got \(2, 3\)"),
        (np.zeros((2, 2, 3)), None, ValueError, r"pmf=Uniform\(d\)"),
        (1.0, None, ValueError, "values: expected shape"),
        (np.zeros((2, 2)), Uniform(3), ValueError, r"values: expected shape \(2, 2, 2\).*3 features"),
        (np.zeros((2, 2, 0)), Uniform(2), ValueError, "values: no functions"),
        (np.zeros((2, 2, 2, 2)), Uniform(2), ValueError, r"\(2, 2\), as the measure has 2 .* one more axis; got"),
        (np.zeros((2, 2), complex), None, TypeError, "values: complex"),
        (np.array([["a", "b"], ["c", "d"]]), None, TypeError, "values: expected real numbers, got dtype <U1"),
        (np.array([[1, 2], [3, None]], object), None, TypeError, "values: expected real numbers, got dtype object"),
        (
            np.zeros(4),
            None,
            ValueError,
            r"values: expected shape.*got \(4,\); a flat.*reshape\(\(2,\) \* 2\)",
        ),
        (
            np.zeros(8),
            Uniform(3),
            ValueError,
            r"values: expected shape.*got \(8,\); a flat.*reshape\(\(2,\) \* 3\)",
        ),
        ("f", None, TypeError, r"values: expected real numbers, got dtype <U1 \(values='f'\)"),
        (None, Uniform(2), TypeError, r"values: expected real numbers, got dtype object \(values=None\)"),
        (np.zeros((2, 2)), np.zeros((2, 2)), ValueError, "pmf: all probabilities are zero"),
        (np.zeros((2, 2)), "uniform", TypeError, r"pmf: expected real numbers, got dtype <U7 \(pmf='uniform'\)"),
        (np.array([[0.0, np.nan], [0.0, 0.0]]), None, ValueError, r"values\[0, 1\]=nan: must be finite on the"),
        (np.array([[0.0, 1.0], [np.inf, 0.0]]), Uniform(2), ValueError, r"values\[1, 0\]=inf"),
        (np.array([0, 2**53 + 1]), None, TypeError, "values: dtype int64 holds numbers that float64 cannot"),
        (np.zeros((2, 2)), np.full((2, 2), 0.3), ValueError, r"sum to 1\.2, which is off one by 0\.2.*pmf / pmf\.sum"),
        (np.zeros((2, 2)), [[0.5, -0.1], [0.3, 0.3]], ValueError, r"pmf\[0, 1\]=-0\.1"),
        (np.zeros((2, 2)), [[0.5, np.nan], [0.3, 0.2]], ValueError, r"pmf\[0, 1\]=nan"),
        (np.zeros((2, 2)), [[0.5, np.inf], [0.3, 0.2]], ValueError, r"pmf\[0, 1\]=inf"),
        (np.zeros((2, 2)), np.full(4, 0.25), ValueError, r"pmf: expected shape.*reshape\(\(2,\) \* 2\)"),
        (np.zeros((2, 2)), Uniform(60), MemoryError, r"60 features; .* takes 8\.0 EiB, .* decompose\(model, X\)"),
        (np.array([1e300, -1e300]), None, ValueError, r"values: as large as 1\.0e\+300; above 1e\+150"),
    ],
)
def test_bad_values_and_measures_are_refused(values, pmf, error, message):
    with pytest.raises(error, match=message):
        hoeffding.transform(values, pmf)


def test_bad_names_threads_and_coefficients_are_refused():
    f = np.zeros((2, 2))
    with pytest.raises(ValueError, match="feature_names: expected 2 different names, got 1 in 2"):
        hoeffding.transform(f, feature_names=["a", "a"])
    with pytest.raises(TypeError, match="feature_names='ab'"):
        hoeffding.transform(f, feature_names="ab")
    with pytest.raises(ValueError, match="n_jobs=0"):
        hoeffding.transform(f, n_jobs=0)
    with pytest.raises(ValueError, match=r"coefficients\[1, 1\]: not zero, but this set is not shattered"):
        hoeffding.inverse_transform(np.ones((2, 2)), [[0.5, 0.0], [0.0, 0.5]])
    with pytest.raises(ValueError, match="coefficients: must be finite"):
        hoeffding.inverse_transform([np.nan, 1.0])


def test_too_large_for_memory_says_how_much_and_what_else(monkeypatch):
    monkeypatch.setattr("hoeffding.machine.available_memory", lambda: 2**20)
    rng = np.random.default_rng(0)
    with pytest.raises(
        MemoryError, match=r"triangular route takes .* MiB, 1\.0 MiB are .*fewer features, or .*order=2"
    ):
        hoeffding.transform(rng.normal(size=(2,) * 16), Table(rng.dirichlet(np.ones(2**16)).reshape((2,) * 16)))


def test_a_choice_that_is_too_expensive_is_refused_with_its_cost(monkeypatch):
    monkeypatch.setattr(cube, "MAX_OPERATIONS", 1e3)
    p = make_pmf("few points", 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"not unique .* would take .* operations, the limit is 1e.03; .*order=2"):
        hoeffding.transform(np.zeros((2,) * 5), p)


def test_the_cost_of_a_choice_is_stated_before_it_starts(caplog):
    caplog.set_level("INFO", logger="hoeffding")
    p = make_pmf("few points", 5, np.random.default_rng(0))
    hoeffding.transform(np.zeros((2,) * 5), p)
    assert "row space" in caplog.text and "operations" in caplog.text


def test_arguments_are_not_changed():
    rng = np.random.default_rng(0)
    for kind in KINDS:
        p, f = make_pmf(kind, 4, rng), rng.normal(size=(2,) * 4)
        kept = p.copy(), f.copy()
        hoeffding.transform(f, p)
        assert np.array_equal(p, kept[0]) and np.array_equal(f, kept[1])


def test_integers_booleans_and_lists_are_read_exactly():
    f = np.array([[0, 1], [1, 1]])
    want = hoeffding.transform(f.astype(float)).coefficients
    for same in (f, f.astype(bool), f.astype(np.float32), f.tolist(), f.astype(np.uint8)):
        assert np.array_equal(hoeffding.transform(same).coefficients, want)


def test_a_constant_function_has_only_a_mean():
    p = make_pmf("full", 4, np.random.default_rng(0))
    result = hoeffding.transform(np.full((2,) * 4, 1 / 3), p)
    assert result.coefficient([]) == pytest.approx(1 / 3)
    assert np.abs(result.coefficients[1:]).max() < 1e-16 and result.fidelity == 1.0


# -- what a careful reader found -------------------------------------------------------------------------------------


def test_rare_points_are_reproduced_when_there_is_a_choice():
    p = np.zeros((2, 2, 2))
    p[0, 0, 0], p[0, 1, 0], p[1, 0, 1], p[1, 1, 1] = 1e-16, 1e-5, 1e-20, 1 - 1e-5
    f = np.array([[[1.0, 2], [3, 5]], [[8, 13], [21, 34]]])
    result = hoeffding.transform(f, p)
    assert not result.unique
    assert np.abs(result.values() - f)[p > 0].max() <= 1e-12 * 34


@pytest.mark.parametrize(("d", "share"), [(12, 0.97), pytest.param(14, 0.995, marks=pytest.mark.slow)])
def test_many_features_lose_no_digits_in_the_null_space(d, share):
    rng = np.random.default_rng(d)
    p = rng.dirichlet(np.ones(2**d)) * (rng.random(2**d) < share)
    p, f = (p / p.sum()).reshape((2,) * d), rng.normal(size=(2,) * d)
    result = hoeffding.transform(f, p)
    assert "null space" in result.reason
    assert np.abs(result.values() - f)[p > 0].max() <= 1e-11


def test_the_remainder_is_that_of_the_values_given():
    # A ball around the origin: unique, but the continuation to the whole cube grows large.
    d = 12
    ball = np.indices((2,) * d).sum(axis=0) <= 6
    rng = np.random.default_rng(0)
    f, p = rng.normal(size=(2,) * d), ball / ball.sum()
    result = hoeffding.transform(f, p)
    assert result.unique
    true = np.abs(result.values() - f)[ball].max()
    assert true <= 1e-11 and result.remainder >= 0.1 * true


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_has_no_variance_to_share(kind):
    p = make_pmf(kind, 4, np.random.default_rng(3))
    result = hoeffding.transform(np.full((2,) * 4, 1 / 3), p)
    assert not result.variance().total.any() and np.isnan(result.variance().share).all()
    assert "none, the function is constant" in repr(result) or result.order == 0


def test_a_large_offset_costs_no_digits():
    p, f, _ = draw(0, 5, "full")
    near, far = hoeffding.transform(f, p), hoeffding.transform(f + 2.0**30, p)
    np.testing.assert_allclose(far.variance().total, near.variance().total, rtol=0, atol=1e-6 * near.variance().of_f)


def test_the_result_does_not_change_behind_your_back():
    measure = Product([0.3, 0.4])
    result = hoeffding.transform(np.array([[0.0, 1.0], [2.0, 5.0]]), measure)
    result.subsets.clear()
    assert len(result.to_frame()) == 4
    for array in (measure.probabilities, result.variance().total, hoeffding.Empirical([[0], [1]]).weights):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.5


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: hoeffding.transform(np.ma.array([0.0, 1.0], mask=[0, 1])), TypeError, "values: masked arrays"),
        (lambda: hoeffding.transform([0.0, 1.0], np.ma.array([0.5, 0.5], mask=[0, 1])), TypeError, "pmf: masked"),
        (lambda: hoeffding.Empirical(np.ma.array([[0], [1]], mask=[[0], [1]])), TypeError, "rows: masked"),
        (lambda: Table([[0.5, 1e-310], [0.25, 0.25]]), ValueError, "must be at least 1e-300; use zero"),
        (lambda: hoeffding.transform([0.0, 1.0], Product([1e-310])), ValueError, "probabilities: so close to 0 or 1"),
        (lambda: hoeffding.transform([[0.0], [0.0, 1.0]]), ValueError, "values: not an array"),
        (lambda: hoeffding.transform_plan(Uniform(2000)), MemoryError, "pmf: 2000 features"),
        (lambda: hoeffding.transform_plan(None), TypeError, r"pmf=None: give a measure .* Uniform\(d\)"),
        (lambda: Uniform(40).marginal(range(33)), MemoryError, r"33 features has 2\^33 entries and takes 64\.0 GiB"),
        (
            lambda: hoeffding.transform([0.0, 1.0], feature_names={"a"}),
            TypeError,
            "feature_names: .* order, got set",
        ),
        (
            lambda: hoeffding.transform([0.0, 1.0]).to_frame("excel"),
            ValueError,
            "backend='excel': choose one of",
        ),
        (lambda: hoeffding.transform_plan(Uniform(2), -1), ValueError, "n_outputs=-1: expected an integer, at least 1"),
        (lambda: hoeffding.transform([0.0, 1.0], n_jobs=2**40), ValueError, "n_jobs=1099511627776: give 1 to 1024"),
        (lambda: hoeffding.transform([0.0, 1.0], feature_names=3), TypeError, "feature_names=3"),
        (lambda: hoeffding.transform([0.0, 1.0]).coefficient(0), TypeError, "subset=0: give a sequence"),
        (lambda: hoeffding.transform([[0.0, 1.0]] * 2).table(["x0", None]), TypeError, "integer indices, not NoneType"),
        (lambda: hoeffding.Empirical([[0]], distinct="no"), TypeError, "distinct='no': must be True or False"),
    ],
)
def test_more_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_few_rows_of_many_features_are_quick():
    rows = np.random.default_rng(0).integers(0, 2, (60, 18))
    values = np.full((2,) * 18, np.nan)
    values[tuple(rows.T)] = rows.sum(axis=1)
    result = hoeffding.transform(values, hoeffding.Empirical(rows))
    assert np.abs(result.values()[tuple(rows.T)] - rows.sum(axis=1)).max() <= 1e-11


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of the memory is read from /proc")
def test_the_working_memory_is_at_most_four_arrays_result_included():
    d, environment = 18, os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    call = [sys.executable, "-m", "benchmarks.cube", "--peak", str(d), "2"]
    root = Path(__file__).parents[1]
    run = subprocess.run(call, env=environment, cwd=root, capture_output=True, text=True, check=True, timeout=300)
    assert 2 * 8 * 2**d < int(run.stdout) <= 4 * 8 * 2**d
