"""Moments counted apart, in whatever coding, go together bit for bit; and they survive as bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoeffding import Moments, packed
from hoeffding.subsets import SubsetFamily
from strategies import EPS, bit_rows, seeds

KINDS = ["none", "integers", "real"]


def drawn(seed, n, kind):
    """Targets and weights; real weights are odd multiples of 1/8, so that sums of them are exact."""
    rng = np.random.default_rng(seed)
    w = {"none": None, "integers": rng.integers(1, 9, n), "real": (2 * rng.integers(0, 99, n) + 1) / 8}[kind]
    return rng, rng.normal(size=(n, 2)) + 100, w


def cut(rng, n):
    return np.split(rng.permutation(n), np.unique(rng.integers(1, n, 3)) if n > 1 else [])


def assert_same_counts(a, b):
    assert a.sets == b.sets and a.counts.dtype == np.int64
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_array_equal(a.masses, b.masses)


def assert_same_targets(a, b, y, w):
    """Sums of n numbers in another order, about other offsets; the constant counts the operations on each."""
    a = a._moved(b.offset)
    mass = np.ones(len(y)) if w is None else w
    scale = mass.sum() * (np.abs(y).max() + np.abs(b.offset).max())
    np.testing.assert_allclose(a.targets, b.targets, rtol=0, atol=2**6 * len(y) * EPS * scale)
    np.testing.assert_allclose(a.squares, b.squares, rtol=0, atol=2**6 * len(y) * EPS * scale * np.abs(y).max())


@pytest.mark.parametrize("kind", KINDS)
@given(rows=bit_rows(max_n=70), seed=seeds, k=st.integers(1, 2))
def test_chunks_that_chose_their_coding_themselves_merge_to_the_moments_of_all_rows_bit_for_bit(kind, rows, seed, k):
    n, d = rows.shape
    rng, y, w = drawn(seed, n, kind)
    whole = Moments.from_chunk(rows, y, w, order=min(k, d))
    parts = [Moments.from_chunk(rows[at], y[at], None if w is None else w[at], order=min(k, d)) for at in cut(rng, n)]
    merged = Moments.merge(iter(parts))
    np.testing.assert_array_equal(merged.flip, whole.flip)
    assert_same_counts(merged, whole)
    assert_same_targets(merged, whole, y, w)


@pytest.mark.parametrize("kind", KINDS)
@given(rows=bit_rows(max_n=70), seed=seeds)
def test_the_same_for_the_sets_of_a_family(kind, rows, seed):
    n, d = rows.shape
    rng, y, w = drawn(seed, n, kind)
    family = SubsetFamily.from_subsets(d, [rng.permutation(d)[:4], [0]]).closure()
    whole = Moments.of_family(rows, family, y, w)
    parts = [Moments.of_family(rows[at], family, y[at], None if w is None else w[at]) for at in cut(rng, n)]
    merged = Moments.merge(parts)
    assert_same_counts(merged, whole)
    assert_same_targets(merged, whole, y, w)


@given(rows=bit_rows(max_n=70), seed=seeds)
def test_another_coding_and_back_changes_no_count_and_no_cell(rows, seed):
    rng, y, w = drawn(seed, len(rows), "integers")
    d = rows.shape[1]
    moments = Moments.from_chunk(rows, y, w, order=min(2, d))
    other = moments.recoded(rng.integers(0, 2, d).astype(bool))
    assert (other.counts > 0).all()
    assert_same_counts(other.recoded(moments.flip), moments)
    assert_same_counts(Moments.from_chunk(rows, y, w, like=other), other)
    for level in moments.low.levels:
        at = np.arange(2 ** level.shape[1]) ^ (moments.flips_of_cells(level) ^ other.flips_of_cells(level))[:, None]
        mine, theirs = (m.over_cells(level, m.counts) for m in (moments, other))
        np.testing.assert_array_equal(np.take_along_axis(theirs, at, axis=1), mine)


def test_the_rarer_value_is_judged_with_integer_weights_as_if_rows_were_repeated():
    rows, w = np.array([[1, 0], [0, 1], [0, 1]]), np.array([5, 1, 1])
    weighted, repeated = (
        Moments.from_chunk(rows, [0.0] * 3, w),
        Moments.from_chunk(np.repeat(rows, w, axis=0), [0.0] * 7),
    )
    np.testing.assert_array_equal(weighted.flip, [True, False])
    np.testing.assert_array_equal(repeated.flip, [True, False])
    assert_same_counts(weighted, repeated)


def test_what_does_not_go_together_is_refused():
    a = Moments.from_chunk([[0, 1], [1, 0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="parts: there are none"):
        Moments.merge([])
    with pytest.raises(ValueError, match="2 features and 1 targets, and of 3 and 1"):
        Moments.merge([a, Moments.from_chunk([[0, 1, 1]], [1.0])])
    with pytest.raises(ValueError, match="another order"):
        Moments.merge([a, Moments.from_chunk([[0, 1]], [1.0], order=1)])


# -- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(rows=bit_rows(max_n=70), seed=seeds)
def test_moments_come_back_from_bytes_as_they_were(kind, rows, seed):
    rng, y, w = drawn(seed, len(rows), kind)
    family = SubsetFamily.from_subsets(rows.shape[1], [rng.permutation(rows.shape[1])[:3]]).closure()
    for moments in (Moments.from_chunk(rows, y, w, order=1), Moments.of_family(rows, family, y, w)):
        back = Moments.from_bytes(moments.to_bytes())
        assert_same_counts(back, moments)
        assert (back.order, back.count_order, back.only) == (moments.order, moments.count_order, moments.only)
        for name in ("targets", "squares", "offset", "flip"):
            np.testing.assert_array_equal(getattr(back, name), getattr(moments, name), name)
        assert back.to_bytes() == moments.to_bytes()


DATA = Moments.from_chunk([[0, 1], [1, 1], [1, 0]], [1.0, 2.0, 5.0]).to_bytes()


def test_any_damage_is_found():
    for at in range(len(DATA)):
        damaged = bytearray(DATA)
        damaged[at] ^= 1
        with pytest.raises(ValueError, match="data: "):
            Moments.from_bytes(bytes(damaged))
    for shorter in (b"", DATA[:7], DATA[:40], DATA[:-1], DATA + b"x"):
        with pytest.raises(ValueError, match="data: "):
            Moments.from_bytes(shorter)


def test_bytes_of_something_else_or_of_another_version_are_refused_with_a_reason():
    a = {"x": np.zeros(2)}
    with pytest.raises(ValueError, match="holds a letter, not moments"):
        Moments.from_bytes(packed.to_bytes("a letter", 1, {}, a))
    with pytest.raises(ValueError, match="moments of version 9, and this hoeffding reads version 1"):
        Moments.from_bytes(packed.to_bytes("moments", 9, {}, a))
    with pytest.raises(ValueError, match="not complete, 'sets' is missing"):
        Moments.from_bytes(packed.to_bytes("moments", 1, {"d": 2, "order": 1, "count_order": 2}, a))
    with pytest.raises(TypeError, match="expected bytes, got str"):
        Moments.from_bytes("moments")
    with pytest.raises(ValueError, match="of type <c16"):
        packed.from_bytes("x", 1, packed.to_bytes("x", 1, {}, {"x": np.zeros(2, complex)}))


def test_facts_and_arrays_of_every_type_and_shape_come_back():
    arrays = {
        "empty": np.zeros((0, 3)),
        "one": np.array(7),
        "bits": np.array([[True, False]]),
        "big": np.arange(3, dtype=">u2"),
        "words": np.array([2**64 - 1], np.uint64),
    }
    facts, back = packed.from_bytes("x", 1, packed.to_bytes("x", 1, {"a": [1, None, "é"]}, arrays))
    assert facts == {"a": [1, None, "é"]}
    for name, a in arrays.items():
        np.testing.assert_array_equal(back[name], a)
        assert back[name].shape == a.shape and back[name].dtype.isnative
