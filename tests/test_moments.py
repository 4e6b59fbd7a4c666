"""Moments are exact sums over rows: of any chunks, in any order, taken away again; and they know the marginals.

Where equality is bit for bit, targets and weights are multiples of 1/8 below 2^10: all sums are then exact in double
precision, and any difference is an error.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hoeffding import Empirical, Moments
from hoeffding.bits import BitMatrix
from hoeffding.moments import Counted
from hoeffding.subsets import SubsetFamily
from strategies import EPS, all_subsets, bit_rows, random_rows, seeds, shattered_by_definition

WEIGHTS = ["none", "integers", "real"]


def targets_of(rng, n, m=2):
    return rng.integers(-1000, 1000, (n, m)) / 8


def weights_of(rng, kind, n):
    """Real weights are odd multiples of 1/8: none of them is an integer, in no chunk."""
    return {"none": None, "integers": rng.integers(1, 9, n), "real": (2 * rng.integers(0, 99, n) + 1) / 8}[kind]


def origin(X, y, **given):
    """Moments to build others like: the targets are summed as they are, so that sums stay exact."""
    moments = Moments.from_chunk(X, y, **given)
    return replace(moments, offset=np.zeros_like(moments.offset))


def assert_same(a, b):
    """Equal bit for bit."""
    assert (a.order, a.count_order) == (b.order, b.count_order)
    assert a.sets == b.sets
    for name in ("counts", "targets", "squares", "offset", "flip"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)
    assert (a.weights is None) == (b.weights is None)
    np.testing.assert_array_equal(a.masses, b.masses)


def part(a, rows):
    return None if a is None else a[rows]


def pieces(rng, n):
    """The rows in up to four parts, none empty."""
    cuts = np.unique(rng.integers(1, n, 3)) if n > 1 else []
    return np.split(rng.permutation(n), cuts)


# -- what the sums are ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WEIGHTS)
@given(rows=bit_rows(max_n=70), seed=seeds, k=st.integers(1, 3))
def test_every_sum_is_that_over_the_rows_in_which_all_bits_of_a_set_have_the_rarer_value(kind, rows, seed, k):
    rng, (n, d) = np.random.default_rng(seed), rows.shape
    k = min(k, d)
    y, w = targets_of(rng, n), weights_of(rng, kind, n)
    moments = Moments.from_chunk(rows, y, w, like=origin(rows, y, order=k))
    recoded = rows ^ moments.flip
    assert (2 * recoded.sum(axis=0) <= n).all()
    ones = {s: recoded[:, list(s)].all(axis=1) for s in all_subsets(range(d), 2 * k)}
    occur = [s for s, at in ones.items() if at.any() or s == ()]
    assert list(moments.sets) == occur
    mass = np.ones(n) if w is None else w
    np.testing.assert_array_equal(moments.masses, [mass[ones[s]].sum() for s in occur])
    counted = np.ones(n, int) if kind == "real" else mass
    np.testing.assert_array_equal(moments.counts, [counted[ones[s]].sum() for s in occur])
    low = [s for s in occur if len(s) <= k]
    np.testing.assert_array_equal(moments.targets, [(mass[:, None] * y)[ones[s]].sum(axis=0) for s in low])
    np.testing.assert_array_equal(moments.squares, (mass[:, None] * y**2).sum(axis=0))
    assert moments.total == mass.sum() and list(moments.low) == low


@pytest.mark.parametrize("kind", WEIGHTS)
@given(rows=bit_rows(max_n=70), seed=seeds)
def test_sums_over_cells_are_sums_over_the_rows_of_each_cell(kind, rows, seed):
    rng, (n, d) = np.random.default_rng(seed), rows.shape
    y, w = targets_of(rng, n), weights_of(rng, kind, n)
    moments = Moments.from_chunk(rows, y, w, order=min(2, d))
    recoded, mass = rows ^ moments.flip, np.ones(n) if w is None else w
    for size in range(min(4, d) + 1):
        level = SubsetFamily.up_to_order(d, size).levels[size]
        codes = recoded[:, level] @ (1 << np.arange(size)[::-1])
        wanted = [np.bincount(c, mass, 2**size) for c in codes.T]
        np.testing.assert_array_equal(moments.over_cells(level, moments.masses), wanted)


def test_large_targets_keep_their_digits_because_a_number_near_their_mean_is_taken_away():
    rng = np.random.default_rng(0)
    X, y = random_rows(rng, 500, 4), 1e8 + rng.normal(size=500)

    def variance(moments):
        return moments.squares[0] / moments.total - (moments.targets[0, 0] / moments.total) ** 2

    # y - offset is small and rounded once; then 500 positive numbers are added.
    assert variance(Moments.from_chunk(X, y)) == pytest.approx(y.var(), rel=500 * EPS)
    plain = Moments.from_chunk(X, y, like=origin(X, y))  # a negative control
    assert abs(variance(plain) - y.var()) > 1e-3


@given(rows=bit_rows(max_n=70, min_d=2), seed=seeds, count_order=st.integers(1, 4))
def test_count_order_says_how_large_the_counted_sets_are_and_changes_nothing_else(rows, seed, count_order):
    y = targets_of(np.random.default_rng(seed), len(rows))
    usual = Moments.from_chunk(rows, y, order=1)
    fewer = Moments.from_chunk(rows, y, order=1, count_order=count_order)
    d = rows.shape[1]
    assert usual.count_order == 2 and fewer.count_order == min(count_order, d)
    top = min(usual.count_order, fewer.count_order)
    assert [s for s in usual.sets if len(s) <= top] == [s for s in fewer.sets if len(s) <= top]
    n = sum(len(s) <= top for s in usual.sets)
    np.testing.assert_array_equal(usual.counts[:n], fewer.counts[:n])
    np.testing.assert_array_equal(usual.targets, fewer.targets)
    assert all(len(s) <= count_order for s in fewer.sets)


@pytest.mark.parametrize("kind", ["none", "real"])
@given(rows=bit_rows(max_n=70), seed=seeds, share=st.floats(0, 1))
def test_moments_of_a_family_are_a_selection_of_all_moments(kind, rows, seed, share):
    rng, (n, d) = np.random.default_rng(seed), rows.shape
    y, w, k = targets_of(rng, n), weights_of(rng, kind, n), min(3, d)
    everything = Moments.from_chunk(rows, y, w, like=origin(rows, y, order=k))
    chosen = [s for s in all_subsets(range(d), k) if rng.random() < share]
    family = SubsetFamily.from_subsets(d, [(), *chosen]).closure()
    some = Moments.of_family(BitMatrix.from_rows(rows), family, y, w, like=everything)
    kept = np.array([s in family for s in everything.sets])
    assert list(some.sets) == [s for s in everything.sets if s in family]
    np.testing.assert_array_equal(some.counts, everything.counts[kept])
    np.testing.assert_array_equal(some.masses, everything.masses[kept])
    np.testing.assert_array_equal(some.targets, everything.targets[kept[: len(everything.targets)]])
    np.testing.assert_array_equal(some.targets_of(family), everything.targets_of(family))


@pytest.mark.parametrize("kind", WEIGHTS)
@given(rows=bit_rows(max_n=70, max_d=8), seed=seeds, largest=st.integers(0, 8))
def test_counts_of_a_family_alone_know_the_marginals_of_its_sets_of_any_size(kind, rows, seed, largest):
    rng, (n, d) = np.random.default_rng(seed), rows.shape
    w = weights_of(rng, kind, n)
    drawn = [rng.permutation(d)[: rng.integers(0, min(largest, d) + 1)] for _ in range(5)]
    family = SubsetFamily.from_subsets(d, drawn).closure()
    moments = Moments.of_family(BitMatrix.from_rows(rows), family, sample_weight=w)
    assert moments.targets.shape == (len(moments.low), 0) and moments.only == family
    empirical = Empirical(rows, w)
    for size, level in enumerate(family.levels):
        got = Counted(moments).marginals(level)
        assert got.shape == (len(level), 2**size)
        for s, p in zip(level.tolist(), got, strict=True):
            wanted = empirical.marginal(s).ravel()
            np.testing.assert_array_equal(p == 0, wanted == 0)
            np.testing.assert_allclose(p, wanted, rtol=0, atol=0 if kind != "real" else n * EPS)


@given(rows=bit_rows(max_n=70, min_d=2), seed=seeds)
def test_moments_of_a_family_add_up_over_chunks(rows, seed):
    rng, (n, d) = np.random.default_rng(seed), rows.shape
    y, family = targets_of(rng, n), SubsetFamily.from_subsets(d, [rng.permutation(d)[:4], [0]]).closure()
    whole = Moments.of_family(rows, family, y, like=origin(rows, y))
    first, *others = [Moments.of_family(rows[at], family, y[at], like=whole) for at in pieces(rng, n)]
    assert_same(sum(others, start=first), whole)


def test_a_family_that_cannot_be_counted_is_refused_and_what_was_not_counted_is_not_given():
    family = SubsetFamily.from_subsets(3, [(), (0,), (1,), (0, 1)])
    some = Moments.of_family(X, family)
    for level in ([[0, 2]], [[0, 1], [1, 2]]):
        with pytest.raises(ValueError, match=r"subset=\(\d, 2\): only the sets of the family were counted"):
            some.over_cells(np.array(level, np.uint8), some.counts)
    with pytest.raises(ValueError, match="not closed"):
        Moments.of_family(X, SubsetFamily.from_subsets(3, [(), (0,), (0, 1)]))
    with pytest.raises(ValueError, match="family: is empty"):
        Moments.of_family(X, SubsetFamily.from_subsets(3, []))
    with pytest.raises(ValueError, match="family: of 4 features, but X has 3"):
        Moments.of_family(X, SubsetFamily.up_to_order(4, 1))
    other = Moments.of_family(X, SubsetFamily.up_to_order(3, 2), like=some)
    with pytest.raises(ValueError, match="another family of sets; build all chunks with of_family and the same"):
        some + other
    with pytest.raises(ValueError, match="like: holds the moments of a family only"):
        Moments.from_chunk(X, Y, like=some)


# -- sums of sums -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WEIGHTS)
@given(rows=bit_rows(max_n=70), seed=seeds)
def test_chunks_of_any_cut_and_order_add_up_to_the_whole_bit_for_bit(kind, rows, seed):
    rng, n = np.random.default_rng(seed), len(rows)
    y, w = targets_of(rng, n), weights_of(rng, kind, n)
    first, *others = pieces(rng, n)
    like = origin(rows[first], y[first], order=min(2, rows.shape[1]))
    total = Moments.from_chunk(rows[first], y[first], part(w, first), like=like)
    for at in others:
        total = total + Moments.from_chunk(rows[at], y[at], part(w, at), like=like)
    assert_same(total, Moments.from_chunk(rows, y, w, like=like))


@pytest.mark.parametrize("kind", WEIGHTS)
@given(rows=bit_rows(max_n=70), seed=seeds)
def test_of_any_targets_counts_add_up_bit_for_bit_and_sums_up_to_rounding(kind, rows, seed):
    rng, n = np.random.default_rng(seed), len(rows)
    y, w = 1e3 + rng.normal(size=(n, 2)), weights_of(rng, kind, n)
    first, *others = pieces(rng, n)
    total = start = Moments.from_chunk(rows[first], y[first], part(w, first), order=1)
    for at in others:
        total = total + Moments.from_chunk(rows[at], y[at], part(w, at), like=start)
    whole = Moments.from_chunk(rows, y, w, like=start)
    assert total.sets == whole.sets
    np.testing.assert_array_equal(total.counts, whole.counts)
    np.testing.assert_array_equal(total.masses, whole.masses)
    # Both add the same n numbers, in two orders; either is within (n - 1) half roundings of the sum of their sizes.
    mass, centred = np.ones((n, 1)) if w is None else w[:, None], y - start.offset
    assert (np.abs(total.targets - whole.targets) <= n * EPS * (mass * np.abs(centred)).sum(axis=0)).all()
    assert (np.abs(total.squares - whole.squares) <= n * EPS * (mass * centred**2).sum(axis=0)).all()


@pytest.mark.parametrize("kind", WEIGHTS)
@given(rows=bit_rows(max_n=70), more=bit_rows(max_n=70, min_d=6), seed=seeds)
def test_what_was_added_can_be_taken_away_again_and_sets_that_occur_no_more_are_gone(kind, rows, more, seed):
    rng, d = np.random.default_rng(seed), rows.shape[1]
    y, y_more = targets_of(rng, len(rows)), targets_of(rng, len(more))
    like = origin(rows, y, order=min(2, d))
    a = Moments.from_chunk(rows, y, weights_of(rng, kind, len(rows)), like=like)
    b = Moments.from_chunk(more[:, :d], y_more, weights_of(rng, kind, len(more)), like=like)
    assert_same(a + b, b + a)
    assert_same(a + b - b, a)
    assert_same(a + b - a, b)
    assert list((a - a).sets) == [()] and (a - a).total == 0


@given(rows=bit_rows(max_n=70), seed=seeds)
def test_integer_weights_are_repeated_rows_bit_for_bit(rows, seed):
    rng, n = np.random.default_rng(seed), len(rows)
    y, w = targets_of(rng, n), rng.integers(0, 5, n)
    w[0] += 1
    like = origin(rows, y, order=min(2, rows.shape[1]))
    repeated = Moments.from_chunk(np.repeat(rows, w, axis=0), np.repeat(y, w, axis=0), like=like)
    for dtype in (np.int64, np.uint8, np.float64):
        weighted = Moments.from_chunk(rows, y, w.astype(dtype), like=like)
        assert weighted.counts.dtype == np.int64
        assert_same(weighted, repeated)


@pytest.mark.parametrize("kind", ["integers", "real"])
@given(rows=bit_rows(max_n=70), seed=seeds)
def test_rows_of_weight_zero_are_not_there(kind, rows, seed):
    rng, n = np.random.default_rng(seed), len(rows)
    y, w = rng.normal(size=n), weights_of(rng, kind, n) * (rng.random(n) < 0.6)
    w[0] = 3.5 if kind == "real" else 3
    on, order = w > 0, min(2, rows.shape[1])
    without = Moments.from_chunk(rows[on], y[on], w[on], order=order)
    assert_same(Moments.from_chunk(rows, y, w, order=order), without)


@given(rows=bit_rows(max_n=70), seed=seeds)
def test_the_order_of_the_rows_and_the_number_of_threads_do_not_matter(rows, seed):
    rng, n, k = np.random.default_rng(seed), len(rows), min(2, rows.shape[1])
    y, w, order = targets_of(rng, n), weights_of(rng, "real", n), rng.permutation(n)
    like = origin(rows, y, order=k)
    one = Moments.from_chunk(rows, y, w, like=like, n_jobs=1)
    assert_same(one, Moments.from_chunk(rows[order], y[order], w[order], like=like))
    assert_same(one, Moments.from_chunk(rows, y, w, like=like, n_jobs=5))
    a, b = (Moments.from_chunk(rows[at], y[at], order=k) for at in (np.arange(n), order))
    np.testing.assert_array_equal(a.flip, b.flip)  # without like= as well


@pytest.mark.parametrize("kind", ["none", "integers"])
@given(rows=bit_rows(max_n=70), more=bit_rows(max_n=70, min_d=6), seed=seeds)
def test_chunks_with_and_without_real_weights_go_together(kind, rows, more, seed):
    rng, d = np.random.default_rng(seed), rows.shape[1]
    X, y = np.concatenate([rows, more[:, :d]]), targets_of(rng, len(rows) + len(more))
    n, w, v = len(rows), weights_of(rng, kind, len(rows)), weights_of(rng, "real", len(more))
    like = origin(rows, y[:n], order=min(2, d))
    a, b = Moments.from_chunk(rows, y[:n], w, like=like), Moments.from_chunk(X[n:], y[n:], v, like=like)
    whole = Moments.from_chunk(X, y, np.concatenate([np.ones(n) if w is None else w, v]), like=like)
    for got in (a + b, b + a):
        assert got.sets == whole.sets and got.weights is not None
        np.testing.assert_array_equal(got.weights, whole.weights)
        np.testing.assert_array_equal(got.targets, whole.targets)
        np.testing.assert_array_equal(got.squares, whole.squares)
        if kind == "none":
            np.testing.assert_array_equal(got.counts, whole.counts)
    np.testing.assert_array_equal((a + b - b).masses, a.masses)
    assert (a + b - b).sets == a.sets


X = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0]])
Y = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
BASE = Moments.from_chunk(X, Y)


@pytest.mark.parametrize(
    "other",
    [
        Moments.from_chunk(X, Y, order=1),
        Moments.from_chunk(X, Y, count_order=2),
        Moments.from_chunk(1 - X, Y),
        Moments.from_chunk(X, Y + 1),
        Moments.from_chunk(X, np.stack([Y, Y], axis=1)),
        Moments.from_chunk(X[:, :2], Y),
    ],
    ids=["order", "count_order", "recoding", "offset", "number of targets", "number of features"],
)
def test_moments_that_do_not_go_together_are_refused_and_the_way_out_is_named(other):
    for combine in (BASE.__add__, BASE.__sub__, lambda m: m + BASE):
        with pytest.raises(ValueError, match=r"another order, recoding or offset; build the chunks with like="):
            combine(other)
    assert_same(BASE + Moments.from_chunk(X, Y, like=BASE) - BASE, BASE)  # these do


def test_taking_away_what_is_not_part_is_refused():
    for rows, w in ((X[:1].repeat(3, axis=0), None), (X, [1, 1, 1, 1, 2]), (np.ones((1, 3)), None)):
        stranger = Moments.from_chunk(rows, Y[: len(rows)], w, like=BASE)
        with pytest.raises(ValueError, match="not part of the others: a count becomes negative"):
            BASE - stranger
    assert (BASE - Moments.from_chunk(X[:4], Y[:4], like=BASE)).counts[0] == 1


# -- the measure they know --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", WEIGHTS)
@given(rows=bit_rows(max_n=70), seed=seeds)
def test_marginals_and_shattered_sets_are_those_of_the_rows(kind, rows, seed):
    rng, (n, d) = np.random.default_rng(seed), rows.shape
    w, k = weights_of(rng, kind, n), min(2, d)
    counted = Counted(Moments.from_chunk(rows, np.zeros(n), w, order=k))
    empirical = Empirical(rows, w)
    for s in all_subsets(range(d), 2 * k):
        got, wanted = counted.marginal(s), empirical.marginal(s)
        assert got.shape == (2,) * len(s)
        np.testing.assert_array_equal(got == 0, wanted == 0)  # a cell never seen, and no other, has exactly zero
        # Counts are exact and divided once. Real weights: the sums are exact here, and each weight is divided first.
        np.testing.assert_allclose(got, wanted, rtol=0, atol=0 if kind != "real" else n * EPS)
        assert counted.is_shattered(s) == (wanted > 0).all()
    assert list(counted.shattered(k)) == shattered_by_definition(rows, k)
    assert list(counted.shattered()) == shattered_by_definition(rows, min(2 * k, d))


def test_what_was_not_counted_is_refused():
    counted = Counted(Moments.from_chunk(X, Y, order=1))
    with pytest.raises(ValueError, match=r"subset=\(0, 1, 2\): only sets of up to 2 features were counted"):
        counted.marginal((0, 1, 2))
    with pytest.raises(ValueError, match="order=3: only sets of up to 2 features were counted"):
        counted.shattered(3)
    family = SubsetFamily.from_subsets(3, [(), (0,), (1,), (0, 1)])
    some = Counted(Moments.of_family(X, family, Y, like=BASE))
    np.testing.assert_array_equal(some.marginal((0, 1)), Empirical(X).marginal((0, 1)))
    with pytest.raises(ValueError, match=r"subset=\(0, 2\): only the sets of the family were counted"):
        some.marginal((0, 2))
    for question in (counted.points, counted.count_shattered, lambda: counted.sample(1, 0), lambda: counted.n_points):
        with pytest.raises(ValueError, match="this measure is known through counts only"):
            question()


# -- what is read and what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [np.bool_, np.int8, np.int64, np.float32, BitMatrix.from_rows, sparse.csr_array, sparse.csc_matrix, "pandas"],
    ids=lambda kind: getattr(kind, "__name__", kind),
)
def test_rows_of_any_kind_have_the_same_moments(kind):
    rows = random_rows(np.random.default_rng(0), 100, 5)
    y = targets_of(np.random.default_rng(1), 100)
    if kind == "pandas":
        kind = pytest.importorskip("pandas").DataFrame
    given_rows = rows.astype(kind) if isinstance(kind, type) and issubclass(kind, np.generic) else kind(rows)
    assert_same(Moments.from_chunk(given_rows, y), Moments.from_chunk(rows, y))


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.bool_, list])
def test_targets_of_any_kind_are_summed_in_double_precision(dtype):
    y = np.arange(1.0, 6) * 1000
    given_y = y.tolist() if dtype is list else y.astype(dtype)
    moments = Moments.from_chunk(X, given_y)
    assert moments.targets.dtype == np.float64
    assert_same(moments, Moments.from_chunk(X, np.asarray(given_y, np.float64)))


def with_value(a, at, value):
    out = np.array(a, np.float64)
    out[at] = value
    return out


@pytest.mark.parametrize(
    ("rows", "y", "keywords", "message"),
    [
        (X, with_value(Y, 1, np.nan), {}, "y: must be finite, got NaN or infinite"),
        (X, with_value(Y, 1, -np.inf), {}, "y: must be finite"),
        (X, Y[:4], {}, "y: expected one value per row, 5, got 4"),
        (X[:, 0], Y, {}, r"X: expected rows of bits, shape \(n, d\), got shape \(5,\)"),
        (with_value(X, (2, 1), np.nan), Y, {}, "X: column 1 holds NaN"),
        (X + 1, Y, {}, "X: column 0 holds values other than 0 and 1"),
        (X, Y, {"sample_weight": [1, 2]}, "sample_weight: expected one weight per row"),
        (X, Y, {"sample_weight": [1, 1, -1, 1, 1]}, r"sample_weight\[2\]=-1.0: weights must be finite and not neg"),
        (X, Y, {"sample_weight": np.zeros(5)}, "sample_weight: all weights are zero"),
        (X, Y, {"order": 4}, "order=4: must be an integer between 0 and the number of features, 3"),
        (X, Y, {"order": 1.5}, "order=1.5: must be an integer"),
        (X[:, :2], Y, {"like": BASE}, "like: has another number of features or targets than this chunk"),
        (X, np.stack([Y, Y], axis=1), {"like": BASE}, "like: has another number of features or targets"),
    ],
)
def test_bad_input_is_refused_by_name(rows, y, keywords, message):
    with pytest.raises(ValueError, match=message):
        Moments.from_chunk(rows, y, **keywords)
