"""Measures know their marginals, their support and their shattered sets; and refuse what is not a measure."""

import math
import re
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from hoeffding import Empirical, Ising, Product, SubsetFamily, Table, Uniform
from hoeffding.basis import design_matrix
from hoeffding.measure import as_measure, as_real
from strategies import (
    EPS,
    all_subsets,
    bit_rows,
    isings,
    measures,
    products,
    random_pmf,
    random_rows,
    seeds,
    shattered_by_definition,
    subsets,
    supports,
    tables,
)


def rounding(measure):
    """Relative error of a sum of positive terms: 2^d cells, d factors each, or as many weights as there are rows."""
    n_rows = measure.n_rows if isinstance(measure, Empirical) else 0
    return (2**measure.d + 2 * measure.d + 2 * n_rows) * EPS


def on_points(support):
    """The uniform measure on a set of points, once as a table and once as rows."""
    return Table(support / support.sum()), Empirical(np.argwhere(support))


# -- marginals ----------------------------------------------------------------------------------------------------


@given(measure=measures(), data=st.data())
def test_every_marginal_is_the_pmf_summed_over_the_other_features(measure, data):
    s = data.draw(subsets(measure.d))
    away = tuple(i for i in range(measure.d) if i not in s)
    p_S = measure.marginal(s)
    assert p_S.shape == (2,) * len(s)
    np.testing.assert_allclose(p_S, measure.pmf().sum(axis=away), rtol=rounding(measure), atol=0)
    np.testing.assert_allclose(p_S.sum(), 1, rtol=rounding(measure))


@given(measure=measures(), data=st.data())
def test_summing_a_feature_of_a_marginal_away_gives_the_smaller_marginal(measure, data):
    s = data.draw(subsets(measure.d, min_size=1))
    for axis in range(len(s)):
        smaller = measure.marginal(s[:axis] + s[axis + 1 :])
        np.testing.assert_allclose(measure.marginal(s).sum(axis=axis), smaller, rtol=rounding(measure), atol=0)


@given(measure=measures(), data=st.data())
def test_the_axes_of_a_marginal_are_the_features_in_increasing_order(measure, data):
    s = data.draw(subsets(measure.d))
    np.testing.assert_array_equal(measure.marginal(s[::-1]), measure.marginal(s))
    rows, masses = measure.points()
    for cell in product((0, 1), repeat=len(s)):
        mass = masses[(rows[:, list(s)] == cell).all(axis=1)].sum()
        np.testing.assert_allclose(measure.marginal(s)[cell], mass, rtol=rounding(measure), atol=0)


@given(measure=measures())
def test_the_points_are_the_cells_of_positive_probability_in_lexicographic_order(measure):
    rows, masses = measure.points()
    pmf = measure.pmf()
    np.testing.assert_array_equal(rows, np.argwhere(pmf > 0))
    np.testing.assert_allclose(masses, pmf[pmf > 0], rtol=rounding(measure), atol=0)
    assert measure.n_points == len(rows) == len(masses)
    assert measure.full_support == (pmf > 0).all()


@given(tables())
def test_a_table_is_kept_as_it_is(measure):
    pmf = measure.pmf().copy()
    np.testing.assert_array_equal(Table(pmf).pmf(), pmf)
    np.testing.assert_array_equal(Table(pmf.tolist()).pmf(), pmf)


def test_a_table_does_not_change_with_the_array_it_was_made_of():
    pmf = np.array([[0.25, 0.25], [0.5, 0.0]])
    measure = Table(pmf)
    pmf[:] = np.nan
    np.testing.assert_array_equal(measure.pmf(), [[0.25, 0.25], [0.5, 0.0]])
    with pytest.raises(ValueError, match="read-only"):
        measure.pmf()[0, 0] = 1


@given(products())
def test_the_probabilities_of_a_product_are_products_of_probabilities(measure):
    for x, p in np.ndenumerate(measure.pmf()):
        factors = [q if bit else 1 - q for q, bit in zip(measure.probabilities, x, strict=True)]
        assert p == pytest.approx(math.prod(factors), rel=2 * measure.d * EPS)


def test_uniform_gives_every_point_the_same_mass():
    assert (Uniform(5).pmf() == 2.0**-5).all()


@given(isings())
def test_ising_is_the_normalised_exponential_of_the_energy(measure):
    h, J, d = measure.fields, measure.couplings, measure.d
    weight = {}
    for x in product((0, 1), repeat=d):
        spin = [2 * bit - 1 for bit in x]
        pairs = math.fsum(J[i, j] * spin[i] * spin[j] for i in range(d) for j in range(i + 1, d))
        weight[x] = math.exp(math.fsum(h[i] * spin[i] for i in range(d)) + pairs)
    total = math.fsum(weight.values())
    # an energy of d(d+1)/2 terms is off by that many roundings of its size, and exp makes that a relative error; twice
    # for the shift by the largest energy, twice for the two sides
    size = np.abs(h).sum() + np.abs(J).sum() / 2
    tolerance = (4 * d * (d + 1) / 2 * size + 2**d + 8) * EPS
    for x, p in np.ndenumerate(measure.pmf()):
        assert p == pytest.approx(weight[x] / total, rel=tolerance)


def test_a_positive_field_makes_one_likelier_and_a_positive_coupling_makes_features_agree():
    assert Ising([0.3], [[0]]).marginal([0])[1] > 0.5
    pair = Ising([0, 0], [[0, 0.3], [0.3, 0]]).pmf()
    assert pair[0, 0] + pair[1, 1] > 0.5


def test_arrays_become_tables_and_measures_stay():
    measure = Uniform(2)
    assert as_measure(measure) is measure
    assert isinstance(as_measure([0.5, 0.5]), Table)


# -- rows and weights ---------------------------------------------------------------------------------------------


@given(bit_rows())
def test_equal_rows_are_merged_into_weights(rows):
    measure = Empirical(rows)
    expected, counts = np.unique(rows, axis=0, return_counts=True)
    np.testing.assert_array_equal(measure.rows, expected)
    np.testing.assert_array_equal(measure.weights, counts)
    np.testing.assert_array_equal(measure.pmf()[tuple(expected.T)], counts / len(rows))


@given(rows=bit_rows(), seed=seeds)
def test_an_integer_weight_is_a_repetition(rows, seed):
    times = np.random.default_rng(seed).integers(0, 4, len(rows))
    times[0] += 1
    weighted, repeated = Empirical(rows, times), Empirical(np.repeat(rows, times, axis=0))
    np.testing.assert_array_equal(weighted.rows, repeated.rows)
    np.testing.assert_array_equal(weighted.weights, repeated.weights)
    np.testing.assert_array_equal(weighted.pmf(), repeated.pmf())


@given(rows=bit_rows(), seed=seeds)
def test_only_the_proportions_of_the_weights_matter(rows, seed):
    weights = np.random.default_rng(seed).exponential(size=len(rows)) + 0.01
    np.testing.assert_array_equal(Empirical(rows, weights).pmf(), Empirical(rows, 8 * weights).pmf())


@given(bit_rows())
def test_distinct_rows_weigh_the_same_however_often_they_occur(rows):
    measure = Empirical(rows, distinct=True)
    once = Empirical(np.unique(rows, axis=0))
    np.testing.assert_array_equal(measure.pmf(), once.pmf())
    assert set(measure.pmf()[measure.pmf() > 0]) == {1 / measure.n_points}


def test_distinct_makes_a_difference_when_rows_are_repeated():
    rows = [[0], [0], [0], [1]]
    np.testing.assert_array_equal(Empirical(rows).pmf(), [0.75, 0.25])
    np.testing.assert_array_equal(Empirical(rows, distinct=True).pmf(), [0.5, 0.5])


@given(rows=bit_rows(), seed=seeds)
def test_rows_of_weight_zero_leave_the_support(rows, seed):
    kept = np.random.default_rng(seed).random(len(rows)) < 0.5
    kept[0] = True
    measure, rest = Empirical(rows, kept.astype(float)), Empirical(rows[kept])
    np.testing.assert_array_equal(measure.rows, rest.rows)
    assert measure.n_points == rest.n_points
    assert measure.shattered() == rest.shattered()


@given(rows=bit_rows(), seed=seeds)
def test_the_order_of_the_rows_changes_nothing(rows, seed):
    shuffled = np.random.default_rng(seed).permutation(rows)
    one, other = Empirical(rows), Empirical(shuffled)
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.pmf(), other.pmf())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frame_of_many_columns_is_the_same_measure_as_its_array(library):
    rows = random_rows(np.random.default_rng(0), 50, 20).astype(bool)
    frame = pytest.importorskip(library).DataFrame(rows)
    np.testing.assert_array_equal(Empirical(frame).rows, Empirical(rows).rows)


def test_the_layout_of_the_rows_in_memory_does_not_matter():
    rows = random_rows(np.random.default_rng(0), 50, 20)
    np.testing.assert_array_equal(Empirical(np.asfortranarray(rows)).rows, Empirical(rows).rows)


def test_the_rows_and_the_weights_given_are_not_changed():
    rows, weights = np.array([[1, 0], [0, 1], [1, 0]]), np.array([1.0, 0.0, 2.0])
    Empirical(rows, weights).shattered()
    np.testing.assert_array_equal(rows, [[1, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(weights, [1.0, 0.0, 2.0])


# -- sampling -----------------------------------------------------------------------------------------------------

N_DRAWN = 20_000
SAMPLED = [
    Uniform(3),
    Product([0.5, 0.1, 1.0, 0.7]),
    Table(random_pmf(np.random.default_rng(1), 4, "full")),
    Table(random_pmf(np.random.default_rng(2), 4, "gaps")),
    Table(random_pmf(np.random.default_rng(3), 4, "tiny")),
    Ising([0.1, -0.3, 0.2], [[0, 0.5, 0], [0.5, 0, -0.4], [0, -0.4, 0]]),
    Empirical([[0, 0], [0, 1], [1, 0], [1, 0]]),
    Empirical([[0, 0], [0, 1], [1, 0], [1, 0]], [0.2, 3.0, 0.0, 1.5]),
    Empirical([[0, 0], [0, 1], [1, 0], [1, 0]], distinct=True),
]


def frequencies_agree(rows, pmf):
    """Pearson's test at level 1e-6, cells of expectation below 5 taken together; a draw off the support disagrees."""
    seen = np.zeros(pmf.shape)
    np.add.at(seen, tuple(rows.T), 1)
    if seen[pmf == 0].any():
        return False
    expected = len(rows) * pmf
    rare = expected < 5
    seen, expected = np.append(seen[~rare], seen[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 5:  # too rare even together: a bound on a Poisson count replaces its share of the statistic
        if seen[-1] > 30:
            return False
        seen, expected = seen[:-1], expected[:-1]
    statistic = ((seen - expected) ** 2 / expected).sum()
    return statistic <= chi2.ppf(1 - 1e-6, max(len(expected) - 1, 1))


@pytest.mark.parametrize("measure", SAMPLED, ids=repr)
def test_sampled_frequencies_agree_with_the_pmf_and_with_no_other(measure):
    rows = measure.sample(N_DRAWN, 0)
    assert rows.shape == (N_DRAWN, measure.d) and rows.dtype == np.uint8
    assert frequencies_agree(rows, measure.pmf())
    nearby = 0.9 * measure.pmf() + 0.1 / measure.pmf().size
    nearby.ravel()[0] += 0.05  # the uniform measure must differ too
    assert not frequencies_agree(rows, nearby / nearby.sum())


@pytest.mark.parametrize("measure", SAMPLED, ids=repr)
def test_seed_zero_is_a_seed_and_a_generator_goes_on(measure):
    first = measure.sample(50, 0)
    np.testing.assert_array_equal(measure.sample(50, 0), first)
    generator = np.random.default_rng(0)
    np.testing.assert_array_equal(measure.sample(50, generator), first)
    assert not np.array_equal(measure.sample(50, generator), first)
    assert not np.array_equal(measure.sample(50, 1), first)


def test_drawing_no_rows_gives_no_rows():
    assert all(measure.sample(0, 0).shape == (0, measure.d) for measure in SAMPLED)


# -- shattered sets -----------------------------------------------------------------------------------------------


@given(support=supports())
def test_shattered_sets_are_those_on_which_the_support_takes_all_patterns(implementation, support):
    expected = shattered_by_definition(np.argwhere(support))
    for measure in on_points(support):
        assert list(measure.shattered()) == expected
        assert measure.count_shattered() == len(expected)
        assert measure.vc_dimension == max(map(len, expected))
        assert [s for s in all_subsets(range(measure.d)) if measure.is_shattered(s)] == expected


@given(rows=bit_rows(max_n=300))
def test_shattered_sets_of_rows_are_those_on_which_they_take_all_patterns(implementation, rows):
    assert list(Empirical(rows).shattered()) == shattered_by_definition(rows)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 127, 128, 129])
def test_the_last_row_counts_and_padding_does_not(implementation, n):
    """Row n - 1 alone holds the pattern (1, 1) that shatters (0, 1); no zero padding may stand for (0, 0)."""
    counting = np.arange(n)[:, None] >> np.arange(8) & 1
    block = np.unique(np.concatenate([np.zeros((n, 1), int), np.zeros((n, 1), int), counting], axis=1), axis=0)
    block[: n // 2, 1] = 1
    block[-1, :2] = 1
    assert list(Empirical(block).shattered()) == shattered_by_definition(block)
    no_zeros = block[block[:, :2].any(axis=1)]
    assert not Empirical(no_zeros).is_shattered([0, 1])
    assert (0, 1) not in Empirical(no_zeros).shattered()


@given(measure=measures())
def test_subsets_of_shattered_sets_are_shattered(measure):
    assert measure.shattered().is_closed()


@given(measure=measures())
def test_there_are_at_least_as_many_shattered_sets_as_points_and_they_are_small(measure):
    """Sauer, Shelah, Pajor; and a set of size s needs 2^s points."""
    assert measure.count_shattered() == len(measure.shattered()) >= measure.n_points
    assert 2**measure.vc_dimension <= measure.n_points
    assert measure.is_unique == (measure.count_shattered() == measure.n_points)


@given(measure=measures(), data=st.data())
def test_shattered_up_to_an_order_is_the_truncation(measure, data):
    order = data.draw(st.integers(0, measure.d))
    assert list(measure.shattered(order)) == [s for s in measure.shattered() if len(s) <= order]


@given(st.one_of(isings(), products(constants=False), tables(kinds=("full", "tiny"))))
def test_with_full_support_everything_is_shattered_and_the_decomposition_is_unique(measure):
    assert measure.full_support and measure.is_unique
    assert measure.shattered() == SubsetFamily.up_to_order(measure.d, measure.d)
    assert measure.vc_dimension == measure.d


@given(support=supports(max_d=5))
def test_the_decomposition_is_unique_iff_the_design_matrix_is_square_and_regular(support):
    """Every function on the support is a combination of the columns; of one only, iff they are as many as points."""
    for measure in on_points(support):
        Psi = design_matrix(measure, measure.shattered())
        n_points, n_sets = Psi.shape
        rank = np.linalg.matrix_rank(Psi / np.linalg.norm(Psi, axis=0))
        assert rank == n_points
        assert measure.is_unique == (n_sets == n_points == rank)


def test_uniqueness_has_examples_of_both_kinds():
    """A down-closed support is shattering-extremal; the two points 00 and 11 shatter three sets."""
    assert Empirical([[0, 0], [0, 1], [1, 0]]).is_unique
    opposite = Empirical([[0, 0], [1, 1]])
    assert list(opposite.shattered()) == [(), (0,), (1,)]
    assert not opposite.is_unique


@given(support=supports())
def test_a_down_closed_support_shatters_the_indicators_of_its_points_and_is_unique(support):
    down = support.copy()
    for axis in range(down.ndim):
        with_one = np.take(down, [1], axis)
        down |= np.concatenate([with_one, with_one], axis) & np.array([True, False]).reshape(
            (1,) * axis + (2,) + (1,) * (down.ndim - axis - 1)
        )
    expected = SubsetFamily.from_cube_mask(down)
    for measure in on_points(down):
        assert measure.shattered() == expected
        assert measure.is_unique


@given(support=supports(), data=st.data())
def test_recoding_bits_and_permuting_features_changes_shattered_sets_in_name_only(support, data):
    d = support.ndim
    flipped = data.draw(subsets(d))
    order = data.draw(st.permutations(range(d)))
    recoded = np.transpose(np.flip(support, flipped), order)
    for before, after in zip(on_points(support), on_points(recoded), strict=True):
        renamed = [[order[i] for i in s] for s in after.shattered()]
        assert SubsetFamily.from_subsets(d, renamed) == before.shattered()


@given(sizes=st.lists(st.integers(2, 4), min_size=1, max_size=4), seed=seeds)
def test_two_levels_of_one_variable_are_never_shattered_together(sizes, seed):
    rng = np.random.default_rng(seed)
    rows = np.concatenate([np.eye(m, dtype=int)[rng.integers(0, m, 200)] for m in sizes], axis=1)
    group = np.repeat(np.arange(len(sizes)), sizes)
    family = Empirical(rows).shattered(min(3, len(group)))
    assert all(len(set(group[list(s)])) == len(s) for s in family)
    if len(sizes) > 1:
        assert family.order > 1  # levels of different variables are


@given(products())
def test_a_product_shatters_the_sets_of_features_that_are_not_constant(measure):
    free = np.flatnonzero((measure.probabilities > 0) & (measure.probabilities < 1)).tolist()
    assert list(measure.shattered()) == all_subsets(free)
    assert measure.shattered() == Table(measure.pmf()).shattered()
    assert measure.vc_dimension == len(free)
    assert measure.is_unique


def test_rows_of_many_features_shatter_what_brute_force_finds(implementation):
    """2,000 rows of 40 sparse bits, rare ones among them; the family is grown level by level."""
    rng = np.random.default_rng(7)
    rows = (rng.random((2000, 40)) < rng.uniform(0.002, 0.15, 40)).astype(np.uint8)
    found = [(), *((i,) for i in range(40) if rows[:, i].any() and not rows[:, i].all())]
    for i, j in combinations(range(40), 2):
        pair = 2 * rows[:, i] + rows[:, j]
        if len(np.unique(pair)) == 4:
            found.append((i, j))
        cells = np.bitwise_or.reduce(1 << (2 * pair[:, None] + rows[:, j + 1 :]).astype(np.int64), axis=0)
        found.extend((i, j, k) for k in range(j + 1, 40) if cells[k - j - 1] == 2**8 - 1)
    expected = SubsetFamily.from_subsets(40, found)
    measure = Empirical(rows)
    assert measure.shattered(3) == expected
    assert 0 < len(expected.levels[3]) < 40 * 39 * 38 / 6
    assert measure.count_shattered() == len(measure.shattered())
    assert [s for s in measure.shattered() if len(s) <= 3] == list(expected)
    assert not measure.is_unique


def test_more_than_256_features_are_no_special_case(implementation):
    rows = (np.random.default_rng(0).random((60, 300)) < 0.15).astype(np.uint8)
    bits = rows.astype(np.int64)
    both = bits.T @ bits
    ones = bits.sum(axis=0)
    cells = [both, ones[:, None] - both, ones - both, 60 - ones[:, None] - ones + both]
    i, j = np.nonzero(np.triu(np.logical_and.reduce([c > 0 for c in cells]), 1))
    pairs = Empirical(rows).shattered(2).levels[2]
    assert pairs.dtype == np.uint16
    np.testing.assert_array_equal(pairs, np.stack([i, j], axis=1))


@pytest.mark.parametrize("n_jobs", [1, 2, 5, -1])
def test_the_number_of_threads_changes_nothing(n_jobs):
    rows = random_rows(np.random.default_rng(5), 500, 30)
    assert Empirical(rows, n_jobs=n_jobs).shattered() == Empirical(rows, n_jobs=1).shattered()


# -- named cases --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [[[1, 0, 1]], [[1, 0, 1]] * 5], ids=["one row", "all rows equal"])
def test_a_single_point_shatters_the_empty_set_only(implementation, rows):
    measure = Empirical(rows)
    assert measure.n_points == 1 and list(measure.shattered()) == [()]
    assert measure.vc_dimension == 0 and measure.is_unique
    assert measure.pmf()[1, 0, 1] == 1 == measure.pmf().sum()


def test_one_column(implementation):
    measure = Empirical([[0], [1], [1], [1]])
    np.testing.assert_array_equal(measure.pmf(), [0.25, 0.75])
    assert list(measure.shattered()) == [(), (0,)] and measure.full_support and measure.is_unique


def test_constant_columns_are_in_no_shattered_set(implementation):
    measure = Empirical([[0, 0, 1], [1, 0, 1], [0, 0, 1]])
    assert list(measure.shattered()) == [(), (0,)] and measure.is_unique
    np.testing.assert_array_equal(measure.marginal([1, 2]), [[0, 1], [0, 0]])


def test_the_marginal_of_no_features_is_one():
    for measure in SAMPLED:
        np.testing.assert_allclose(measure.marginal([]), 1, rtol=rounding(measure))
        assert measure.marginal([]).shape == ()
        assert measure.is_shattered([])


def test_many_independent_features_are_counted_without_listing_them():
    measure = Uniform(200)
    assert measure.count_shattered() == measure.n_points == 2**200
    assert measure.vc_dimension == 200 and measure.is_unique and measure.full_support
    assert list(measure.shattered(2)) == all_subsets(range(200), 2)
    np.testing.assert_array_equal(measure.marginal([3, 150]), [[0.25, 0.25], [0.25, 0.25]])
    assert measure.sample(3, 0).shape == (3, 200)


def test_independent_features_are_judged_without_a_table(monkeypatch):
    """A marginal of 100 features would never fit."""
    monkeypatch.setattr(Product, "marginal", lambda *_: pytest.fail("asked for a table"))
    assert Uniform(200).is_shattered(range(100))
    assert not Product([0.5, 1.0, 0.5]).is_shattered([0, 1])


@pytest.mark.parametrize("d", [200, 2000])
def test_what_cannot_be_listed_is_refused_with_its_size_and_what_to_do_instead(d):
    with pytest.raises(
        MemoryError, match=r"shattered sets of order up to \d+ of \d+ features.*smaller order.*count_shattered\(\)"
    ):
        Uniform(d).shattered()


@pytest.mark.parametrize("measure", [Uniform(40), Empirical(np.eye(40))], ids=repr)
def test_a_pmf_beyond_memory_is_refused(measure):
    with pytest.raises(MemoryError, match=r"pmf\(\): 40 features; .* has 2\^40 entries and takes 8\.0 TiB"):
        measure.pmf()


def test_a_measure_says_what_it_is():
    assert repr(Uniform(3)) == "Uniform(d=3, full support)"
    assert repr(Product([0.5, 0.0])) == "Product(d=2, 2 of 2^2 points)"
    assert repr(Table([[0.5, 0.0], [0.25, 0.25]])) == "Table(d=2, 3 of 2^2 points)"
    assert repr(Ising([0.0], [[0.0]])) == "Ising(d=1, full support)"
    assert repr(Empirical([[0, 0], [0, 1], [0, 1]])) == "Empirical(d=2, 3 rows, 2 of 2^2 points)"
    assert "distinct" in repr(Empirical([[0], [0]], distinct=True))


# -- bad input ----------------------------------------------------------------------------------------------------

ROWS = [[0, 1], [1, 0]]
NO_COUPLING = np.zeros((2, 2))
ASYMMETRIC = np.array([[0.0, 1.0], [0.5, 0.0]])
THIRD = np.array([1, 2], np.longdouble) / 3
HUGE = 2**53 + 1

REFUSED = {
    "table, negative": (lambda: Table([[0.5, 0.6], [-0.1, 0.0]]), ValueError, "pmf[1, 0]=-0.1: probabilities must be"),
    "table, NaN": (lambda: Table([np.nan, 1.0]), ValueError, "pmf[0]=nan: probabilities must be finite"),
    "table, infinite": (lambda: Table([np.inf, 0.0]), ValueError, "pmf[0]=inf: probabilities must be finite"),
    "table, sum": (
        lambda: Table([0.5, 0.625]),
        ValueError,
        "pmf: the probabilities sum to 1.125, which is off one by 0.1",
    ),
    "table, sum, what to do": (lambda: Table([3, 1]), ValueError, "if they are weights, pass pmf / pmf.sum()"),
    "table, float32": (lambda: Table(np.full(8, 0.1, np.float32).reshape(2, 2, 2)), ValueError, "off one by -0.2"),
    "table, sum barely": (lambda: Table([0.5, 0.5 + 1e-11]), ValueError, "off one by 1e-11"),
    "table, shape": (lambda: Table([0.25] * 4), ValueError, "pmf: expected shape (2,) * d, one axis of length 2"),
    "table, number": (lambda: Table(1.0), ValueError, "pmf: expected shape (2,) * d"),
    "table, complex": (lambda: Table([0.5 + 0j, 0.5]), TypeError, "pmf: complex numbers are not supported"),
    "table, strings": (lambda: Table(["0.5", "0.5"]), TypeError, "pmf: expected real numbers, got dtype <U3"),
    "table, objects": (lambda: Table([None, 1.0]), TypeError, "pmf: expected real numbers, got dtype object"),
    "table, int64": (lambda: Table([HUGE, 0]), TypeError, "pmf: dtype int64 holds numbers that float64 cannot"),
    "product, negative": (lambda: Product([0.5, -0.1]), ValueError, "probabilities[1]=-0.1: must lie between 0 and 1"),
    "product, above one": (lambda: Product([1.5]), ValueError, "probabilities[0]=1.5: must lie between 0 and 1"),
    "product, NaN": (lambda: Product([0.5, np.nan]), ValueError, "probabilities[1]=nan: must lie"),
    "product, infinite": (lambda: Product([np.inf]), ValueError, "probabilities[0]=inf: must lie"),
    "product, shape": (lambda: Product([[0.5]]), ValueError, "probabilities: expected one probability per feature"),
    "product, empty": (lambda: Product([]), ValueError, "probabilities: expected one probability per feature"),
    "product, complex": (lambda: Product([0.5j]), TypeError, "probabilities: complex numbers"),
    "product, strings": (lambda: Product(["a"]), TypeError, "probabilities: expected real numbers"),
    "uniform, zero": (lambda: Uniform(0), ValueError, "d=0: expected an integer, at least 1"),
    "uniform, float": (lambda: Uniform(2.0), ValueError, "d=2.0: expected an integer, at least 1"),
    "uniform, bool": (lambda: Uniform(True), ValueError, "d=True: expected an integer, at least 1"),
    "ising, d": (lambda: Ising(np.zeros(21), np.zeros((21, 21))), ValueError, "fields: 21 features; the exact"),
    "ising, d, instead": (lambda: Ising(np.zeros(99), np.zeros((99, 99))), ValueError, "stops at d=20. Draw rows"),
    "ising, asymmetric": (lambda: Ising([0, 0], ASYMMETRIC), ValueError, "couplings[1, 0]=0.5: must be symmetric"),
    "ising, diagonal": (
        lambda: Ising([0, 0], np.eye(2)),
        ValueError,
        "couplings[0, 0]=1.0: must be symmetric with a zero",
    ),
    "ising, fields shape": (lambda: Ising([[0, 0]], NO_COUPLING), ValueError, "fields: expected one field per feature"),
    "ising, no fields": (lambda: Ising([], np.zeros((0, 0))), ValueError, "fields: expected one field per feature"),
    "ising, shape": (lambda: Ising([0, 0, 0], NO_COUPLING), ValueError, "couplings: expected shape (3, 3) for 3"),
    "ising, NaN field": (lambda: Ising([0, np.nan], NO_COUPLING), ValueError, "fields: must be finite"),
    "ising, infinite coupling": (lambda: Ising([0], [[np.inf]]), ValueError, "couplings: must be finite"),
    "ising, complex": (lambda: Ising([0, 0], NO_COUPLING * 1j), TypeError, "couplings: complex numbers"),
    "ising, strings": (lambda: Ising(["a"], [[0]]), TypeError, "fields: expected real numbers"),
    "ising, underflow": (lambda: Ising([400.0], [[0]]), ValueError, "fields, couplings: so strong that the smallest"),
    "weights, negative": (lambda: Empirical(ROWS, [1, -2]), ValueError, "weights[1]=-2.0: weights must be finite"),
    "weights, NaN": (lambda: Empirical(ROWS, [np.nan, 1]), ValueError, "weights[0]=nan: weights must be finite"),
    "weights, infinite": (lambda: Empirical(ROWS, [1, np.inf]), ValueError, "weights[1]=inf: weights must be finite"),
    "weights, zero": (lambda: Empirical(ROWS, [0, 0]), ValueError, "weights: all weights are zero"),
    "weights, shape": (lambda: Empirical(ROWS, [1, 2, 3]), ValueError, "weights: expected one weight per row"),
    "weights, complex": (lambda: Empirical(ROWS, [1, 1j]), TypeError, "weights: complex numbers"),
    "weights, strings": (lambda: Empirical(ROWS, ["a", "b"]), TypeError, "weights: expected real numbers"),
    "weights, int64": (lambda: Empirical(ROWS, [HUGE, 1]), TypeError, "weights: dtype int64 holds numbers"),
    "weights, distinct": (lambda: Empirical(ROWS, [1, 1], distinct=True), ValueError, "weights: not possible with"),
    "rows, two": (lambda: Empirical([[0, 1], [2, 0]]), ValueError, "rows: column 0 holds values other than 0 and 1"),
    "rows, NaN": (lambda: Empirical([[0, np.nan]]), ValueError, "rows: column 1 holds NaN"),
    "rows, shape": (lambda: Empirical([0, 1]), ValueError, "rows: expected rows of bits, shape (n, d), got shape (2,)"),
    "rows, strings": (lambda: Empirical([["0", "1"]]), TypeError, "rows: expected booleans or the numbers 0 and 1"),
    "rows, none": (lambda: Empirical(np.zeros((0, 3))), ValueError, "rows: expected at least one row and one feature"),
    "rows, no features": (lambda: Empirical(np.zeros((3, 0))), ValueError, "rows: expected at least one row"),
    "rows, n_jobs": (lambda: Empirical(ROWS, n_jobs=0), ValueError, "n_jobs=0: give 1 to 1024 threads"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_the_name_of_the_argument(case):
    refuse, kind, words = REFUSED[case]
    with pytest.raises(kind, match=re.escape(words)):
        refuse()


@pytest.mark.parametrize("measure", [Uniform(3), Table(np.full((2, 2, 2), 0.125)), Empirical(np.eye(3))], ids=repr)
def test_features_and_orders_out_of_range_are_refused_by_every_measure(measure):
    with pytest.raises(IndexError, match=re.escape("subset=(0, 3): feature 3 is out of range, there are 3 features")):
        measure.marginal([0, 3])
    with pytest.raises(ValueError, match="a feature occurs twice"):
        measure.is_shattered([1, 1])
    for order in (-1, 4, 1.0, True):
        with pytest.raises(ValueError, match=re.escape(f"order={order!r}: must be an integer between 0 and")):
            measure.shattered(order)


# -- exact reading ------------------------------------------------------------------------------------------------


@pytest.mark.skipif((THIRD.astype(float) == THIRD).all(), reason="no long double here")
def test_long_doubles_are_read_only_if_no_digit_is_lost():
    with pytest.raises(TypeError, match=f"pmf: dtype {THIRD.dtype} .*convert them first"):
        Table(THIRD)
    np.testing.assert_array_equal(Table(np.array([0.25, 0.75], np.longdouble)).pmf(), [0.25, 0.75])


@pytest.mark.parametrize("value", [2**53 + 1, 2**62 + 1, 2**63 - 1])
def test_integers_that_double_precision_cannot_hold_are_refused(value):
    for dtype in (np.int64, np.uint64):
        with pytest.raises(TypeError, match=f"w: dtype {np.dtype(dtype)} holds numbers that float64 cannot"):
            as_real("w", np.array([1, value], dtype))


def test_the_largest_unsigned_integer_is_refused():
    with pytest.raises(TypeError, match="w: dtype uint64"):
        as_real("w", np.array([2**64 - 1], np.uint64))


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=5))
def test_smaller_integers_are_read_exactly(values):
    assert as_real("w", np.array(values, np.int64)).tolist() == values


def test_reading_gives_a_new_array():
    given_values = np.ones(3)
    as_real("w", given_values)[:] = 0
    assert given_values.all()


# -- the edges of double precision and of memory ------------------------------------------------------------------


@pytest.mark.parametrize("measure", [Uniform(200), Empirical(np.eye(80))])
def test_marginals_beyond_memory_are_refused(measure, monkeypatch):
    with pytest.raises(MemoryError, match=r"subset: the pmf of 40 features has 2\^40 entries"):
        measure.marginal(range(40))
    monkeypatch.setattr("hoeffding.machine.available_memory", lambda: 2**20)
    with pytest.raises(MemoryError, match=r"the pmf of 25 features takes 512\.0 MiB"):
        measure.marginal(range(25))


@pytest.mark.parametrize("weights", [[1e308, 1e308], [1e-200, 1e200]])
def test_weights_beyond_double_precision_are_refused(weights):
    with pytest.raises(ValueError, match=r"weights: from .* their sum or ratio is beyond double precision"):
        Empirical([[0], [1]], weights)


def test_probabilities_that_underflow_together_are_refused():
    with pytest.raises(ValueError, match=r"probabilities: so close to 0 or 1 .* features \(0, 1\)"):
        Product([1e-200, 1e-200]).pmf()


@pytest.mark.parametrize("rng", [None, True, -1, "seed", 1.5])
def test_hidden_randomness_is_refused(rng):
    with pytest.raises(TypeError, match=r"rng=.*: give a seed"):
        Uniform(2).sample(3, rng)


def test_a_negative_number_of_rows_is_refused():
    with pytest.raises(ValueError, match="n=-1: expected an integer, at least 0"):
        Uniform(2).sample(-1, 0)


def test_strong_fields_are_refused_without_warnings():
    with pytest.raises(ValueError, match="fields, couplings: so strong"):
        Ising([1e308] * 3, np.zeros((3, 3)))


@pytest.mark.parametrize("opposite", [0, 1])
def test_bits_that_always_go_together_are_not_unique_and_nothing_is_searched(monkeypatch, opposite):
    rows = np.random.default_rng(0).integers(0, 2, (200, 12))
    monkeypatch.setattr(Empirical, "_grow", lambda *_: pytest.fail("searched"))
    assert not Empirical(np.column_stack([rows, rows[:, 3] ^ opposite])).is_unique


def test_many_rows_are_not_unique_and_nothing_is_searched(monkeypatch):
    rng = np.random.default_rng(0)
    rows = (rng.random((20_000, 40)) < rng.uniform(0.1, 0.5, 40)).astype(np.uint8)
    monkeypatch.setattr(Empirical, "_grow", lambda *_: pytest.fail("searched"))
    assert not Empirical(rows).is_unique
    groups = np.eye(5, dtype=np.uint8)[rng.integers(0, 5, (300, 3))].reshape(300, -1)
    assert not Empirical(groups).is_unique  # all levels of a variable: any one of them follows from the others
