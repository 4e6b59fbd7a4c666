"""The functions psi_S are hierarchically orthogonal, and those of the shattered sets span every function."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoeffding import Ising, Product, SubsetFamily, Table, Uniform
from hoeffding.basis import chi, design_matrix, gram_matrix, inner_products, norm, omega, psi
from strategies import EPS, all_subsets, measures, products, seeds, tables

DEPENDENT = Ising([0.2, -0.1, 0.3], 0.5 * (np.ones((3, 3)) - np.eye(3)))


def relative(G):
    """G with every entry divided by the norms of its row and column."""
    norms = np.sqrt(np.diag(G))
    return G / np.multiply.outer(norms, norms)


def pairs_within(family):
    """Positions (S, T) with T a proper subset of S."""
    sets = [set(s) for s in family]
    return np.array([[t < s for t in sets] for s in sets])


# -- the tables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", range(5))
def test_chi_is_minus_one_to_the_number_of_ones(size):
    for x, value in np.ndenumerate(chi(size)):
        assert value == (-1) ** sum(x)


@given(measures())
def test_psi_is_the_parity_over_two_to_the_size_times_the_marginal(measure):
    for s in all_subsets(range(measure.d)):
        p_S, psi_S = measure.marginal(s), psi(measure, s)
        for x in np.ndindex(p_S.shape):
            if p_S[x] == 0:
                assert math.isnan(psi_S[x])
            else:
                assert psi_S[x] == pytest.approx((-1) ** sum(x) / (2 ** len(s) * p_S[x]), rel=4 * EPS)


@given(measures())
def test_the_norm_is_the_root_of_the_mean_square_over_the_support(measure):
    rows, masses = measure.points()
    family = measure.shattered()
    Psi = design_matrix(measure, family)
    # masses and marginals are sums of positive numbers: 2^d + 2 d + the rows roundings each, three of them in a term
    tolerance = 3 * (2**measure.d + 2 * measure.d + 200) * EPS
    for s, column in zip(family, Psi.T, strict=True):
        assert norm(measure, s) == pytest.approx(math.sqrt(math.fsum(masses * column**2)), rel=tolerance)
    assert rows.shape == (len(Psi), measure.d)


@given(measures(max_d=5))
def test_omega_are_the_parity_coefficients_of_psi(measure):
    """psi_S = sum over R in S of omega_{S - R} chi_R, and omega_0 is the squared norm, not smaller than any other."""
    for s in measure.shattered():
        w, size = omega(measure, s), len(s)
        expansion = np.zeros((2,) * size)
        for R in np.ndindex(w.shape):
            complement = tuple(1 - bit for bit in R)
            sign = np.ones(())
            for bit in R:
                sign = np.multiply.outer(sign, [1.0, -1.0 if bit else 1.0])
            expansion += w[complement] * sign
        psi_S = psi(measure, s)
        # 2^s terms, each at most omega_0 <= max |psi_S| and computed with s additions
        tolerance = 2 ** (size + 1) * (size + 2) * EPS * np.abs(psi_S).max()
        np.testing.assert_allclose(expansion, psi_S, rtol=0, atol=tolerance)
        assert w[(0,) * size] == pytest.approx(norm(measure, s) ** 2, rel=(2**size + 8) * EPS)
        assert np.abs(w).max() <= w[(0,) * size] * (1 + (size + 2) * EPS)


def test_omega_of_a_set_that_is_not_shattered_is_refused():
    with pytest.raises(ValueError, match=re.escape("subset=(0, 1): not shattered, 2 of its 4 cells")):
        omega(Table([[0.5, 0], [0, 0.5]]), [1, 0])


# -- orthogonality ------------------------------------------------------------------------------------------------


@given(measures())
def test_psi_is_orthogonal_to_the_psi_of_every_subset(measure):
    """E[psi_S psi_T] = 0 for T in S, both shattered, relative to the norms.

    A term p psi_S is exact to a relative 2^d eps, and E|psi_S psi_T| is at most the product of the norms: 64 eps and a
    few, or 100 more where weights of rows are summed, is below 1e-12.
    """
    family = measure.shattered()
    within = pairs_within(family)
    assert np.abs(relative(gram_matrix(measure, family))[within]).max(initial=0) <= 1e-12


@given(measure=measures(), seed=seeds)
def test_psi_is_orthogonal_to_every_function_of_fewer_of_its_features(measure, seed):
    rng = np.random.default_rng(seed)
    rows, masses = measure.points()
    family = measure.shattered()
    Psi = design_matrix(measure, family)
    for s, column in zip(family, Psi.T, strict=True):
        for i in range(len(s)):
            t = s[:i] + s[i + 1 :]
            g = np.broadcast_to(rng.normal(size=(2,) * len(t))[tuple(rows[:, j] for j in t)], masses.shape)
            size = math.sqrt(masses @ column**2) * math.sqrt(masses @ g**2)
            assert abs(masses @ (column * g)) <= 1e-12 * size


def test_parities_alone_are_not_orthogonal_under_a_dependent_measure():
    rows, masses = DEPENDENT.points()
    family = DEPENDENT.shattered()
    parities = np.stack([(-1.0) ** rows[:, list(s)].sum(axis=1) for s in family], axis=1)
    G = parities.T @ (masses[:, None] * parities)
    assert np.abs(relative(G)[pairs_within(family)]).max() > 0.1


def test_orthogonality_fails_for_sets_that_are_not_shattered():
    """Why only shattered sets are kept: psi_{01} on the points 00 and 11 is the constant 1/2."""
    half = Table([[0.5, 0.0], [0.0, 0.5]])
    G = gram_matrix(half, SubsetFamily.up_to_order(2, 2))
    assert relative(G)[3, 0] == pytest.approx(1, abs=4 * EPS)


# -- the Gram matrix ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", range(1, 7))
def test_the_gram_matrix_of_the_uniform_measure_is_the_identity(d):
    family = SubsetFamily.up_to_order(d, d)
    np.testing.assert_array_equal(gram_matrix(Uniform(d), family), np.eye(len(family)))  # all numbers are dyadic


@given(products())
def test_the_gram_matrix_of_a_product_is_diagonal(measure):
    """Entries are sums of 2^d terms whose absolute values sum to at most the norms, each with d roundings."""
    G = relative(gram_matrix(measure, measure.shattered()))
    np.testing.assert_allclose(G, np.eye(len(G)), rtol=0, atol=2 * (2**measure.d + 4 * measure.d) * EPS)


@given(products(constants=False))
def test_the_norms_of_a_product_multiply(measure):
    """E[psi_i^2] = 1 / (4 p (1 - p)) for one feature."""
    p = measure.probabilities
    for s in measure.shattered():
        expected = math.prod(1 / (4 * p[i] * (1 - p[i])) for i in s)
        assert norm(measure, s) ** 2 == pytest.approx(expected, rel=(2 ** len(s) + 8 * measure.d) * EPS)


def test_the_gram_matrix_of_a_dependent_measure_is_not_diagonal():
    G = relative(gram_matrix(DEPENDENT, DEPENDENT.shattered()))
    assert np.abs(G - np.diag(np.diag(G))).max() > 0.1


@given(st.floats(0.01, 0.49))
def test_two_dependent_coins_have_the_angle_of_the_paper(q):
    """p(00) = p(11) = q and p(01) = p(10) = 1/2 - q: psi_1 and psi_2 meet at the angle arccos(4 q - 1)."""
    measure = Table([[q, 0.5 - q], [0.5 - q, q]])
    cosine = relative(gram_matrix(measure, SubsetFamily.up_to_order(2, 2)))[1, 2]
    assert cosine == pytest.approx(4 * q - 1, abs=8 * EPS)  # four terms of size at most one half, two norms of one
    steepness = 1 / math.sqrt(1 - (4 * q - 1) ** 2)  # of arccos
    assert math.acos(cosine) == pytest.approx(math.acos(4 * q - 1), abs=8 * EPS * steepness + 4 * EPS)


# -- the design matrix --------------------------------------------------------------------------------------------


@given(tables(kinds=("full", "gaps"), max_d=5))
def test_shattered_sets_span_every_function_on_the_support(measure):
    Psi = design_matrix(measure, measure.shattered())
    assert Psi.shape == (measure.n_points, measure.count_shattered())
    smallest = np.linalg.svd(Psi / np.linalg.norm(Psi, axis=0), compute_uv=False)[: len(Psi)].min()
    assert smallest > 1e-6  # full row rank, and by a margin of ten digits over rounding


@given(tables(kinds=("gaps",), min_d=2, max_d=5))
def test_one_set_fewer_does_not_span_when_the_decomposition_is_unique(measure):
    if measure.is_unique:
        Psi = design_matrix(measure, measure.shattered())
        assert np.linalg.matrix_rank(Psi[:, 1:]) < measure.n_points


@given(measure=measures(max_d=4), seed=seeds)
def test_an_entry_of_the_design_matrix_is_psi_at_the_row(measure, seed):
    X = np.random.default_rng(seed).integers(0, 2, (7, measure.d))
    family = SubsetFamily.up_to_order(measure.d, measure.d)
    Psi = design_matrix(measure, family, X)
    assert Psi.shape == (7, 2**measure.d)
    for x, row in zip(X, Psi, strict=True):
        for s, entry in zip(family, row, strict=True):
            np.testing.assert_array_equal(entry, psi(measure, s)[tuple(x[list(s)])])  # NaN where never observed


@given(measures(max_d=5))
def test_the_inner_products_of_a_column_are_a_column_of_the_gram_matrix(measure):
    family = measure.shattered()
    Psi, G = design_matrix(measure, family), gram_matrix(measure, family)
    norms = np.sqrt(np.diag(G))
    for j in range(len(family)):
        m = inner_products(measure, Psi[:, j], family)
        scale = norms * norms[j]
        np.testing.assert_allclose(m / scale, G[:, j] / scale, rtol=0, atol=2**measure.d * 4 * EPS)


def test_rows_with_other_features_than_the_measure_are_refused():
    with pytest.raises(ValueError, match="X: expected 2 features, as the measure has, got 3"):
        design_matrix(Product([0.5, 0.5]), SubsetFamily.up_to_order(2, 1), [[0, 1, 0]])
    with pytest.raises(ValueError, match="X: column 0 holds values other than 0 and 1"):
        design_matrix(Product([0.5]), SubsetFamily.up_to_order(1, 1), [[2]])


def test_values_that_do_not_fit_the_support_are_refused():
    measure = Uniform(2)
    with pytest.raises(
        ValueError, match=r"f: expected its values at the points of the support, shape \(4,\), got \(3,\)"
    ):
        inner_products(measure, np.zeros(3), measure.shattered())
    with pytest.raises(TypeError, match="f: complex"):
        inner_products(measure, np.zeros(4, complex), measure.shattered())
