"""Rows of bits are read exactly or refused, merged as sets of rows, and packed 64 to a word."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoeffding.bits import BitMatrix, as_bits, merge_rows, pack_columns
from strategies import bit_rows, random_rows, seeds

AROUND_WORDS = [1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 200]


# -- reading ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float16, np.float32, np.float64, ">f8", ">i4"])
@given(rows=bit_rows())
def test_bits_of_any_numeric_type_are_read_as_they_are(dtype, rows):
    bits = as_bits(rows.astype(dtype), "rows")
    assert bits.dtype == np.uint8
    np.testing.assert_array_equal(bits, rows)


def test_lists_are_read_too():
    np.testing.assert_array_equal(as_bits([[True, False], [0, 1]], "rows"), [[1, 0], [0, 1]])


def test_reading_copies_so_that_the_caller_may_change_the_array_afterwards():
    given_rows = np.zeros((2, 2), np.uint8)
    bits = as_bits(given_rows, "rows")
    given_rows[:] = 1
    assert not bits.any()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float64"])
def test_pandas_frames_are_read(dtype):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 0], "b": [0, 0]}, dtype=dtype)
    np.testing.assert_array_equal(as_bits(frame, "X"), [[1, 0], [0, 0]])


@pytest.mark.parametrize("dtype", ["Boolean", "UInt8", "Int64", "Float32"])
def test_polars_frames_are_read(dtype):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 0], "b": [0, 0]}).cast(getattr(polars, dtype))
    np.testing.assert_array_equal(as_bits(frame, "X"), [[1, 0], [0, 0]])


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ([[0, 1], [1, 2]], ValueError, ["column 1 ", "such as 2", "threshold", "one-hot"]),
        ([[0, 1, -1], [1, 0, 3]], ValueError, ["column 2 ", "such as -1, 3"]),
        ([[0.0, 0.5]], ValueError, ["column 1 ", "such as 0.5"]),
        ([[np.nan, 1.0]], ValueError, ["column 0 holds NaN", "fill in what is missing"]),
        ([[np.inf, 1.0]], ValueError, ["column 0 holds infinity (inf)"]),
        ([[1 + 2**-52]], ValueError, ["column 0 ", "1.0000000000000002"]),
        ([0, 1], ValueError, ["shape (n, d)", "got shape (2,)"]),
        ([[[0, 1]]], ValueError, ["shape (n, d)", "got shape (1, 1, 2)"]),
        (1, ValueError, ["shape (n, d)", "got shape ()"]),
        ([["0", "1"]], TypeError, ["booleans or the numbers 0 and 1", "dtype <U1"]),
        ([[0j, 1]], TypeError, ["dtype complex128"]),
        ([[None, 1]], TypeError, ["dtype object"]),
    ],
)
def test_anything_else_is_refused_with_the_argument_and_what_was_found(values, kind, words):
    with pytest.raises(kind) as error:
        as_bits(values, "rows")
    message = str(error.value)
    assert message.startswith("rows: ")
    assert all(w in message for w in words), message


def test_the_refusal_speaks_of_the_argument_it_is_given():
    with pytest.raises(ValueError, match=re.escape("X: column 0 ")):
        as_bits([[7]], "X")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_columns_of_a_frame_may_hold_different_types_of_numbers(library):
    frame = pytest.importorskip(library).DataFrame({"a": np.array([1, 0], np.int8), "b": [0, 1], "c": [1.0, 0.0]})
    np.testing.assert_array_equal(as_bits(frame, "X"), [[1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("values", [[True, None], [1, None], [1, 2], ["0", "1"]])
def test_a_frame_with_missing_or_other_values_is_refused(library, values):
    frame = pytest.importorskip(library).DataFrame({"a": [0, 1], "b": values})
    with pytest.raises((TypeError, ValueError), match=r"^X: "):
        as_bits(frame, "X")


# -- merging ------------------------------------------------------------------------------------------------------


@given(rows=bit_rows(max_d=20))
def test_merged_rows_are_the_unique_rows_in_lexicographic_order(rows):
    distinct, inverse = merge_rows(rows)
    expected, expected_inverse = np.unique(rows, axis=0, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    np.testing.assert_array_equal(inverse, expected_inverse.ravel())


@given(seed=seeds, d=st.integers(1, 20))
def test_merging_does_not_depend_on_the_layout_in_memory(seed, d):
    rows = random_rows(np.random.default_rng(seed), 30, d)
    expected, expected_inverse = merge_rows(rows)
    strided = np.repeat(np.repeat(rows, 2, axis=0), 3, axis=1)[::2, ::3]
    for laid_out in (np.asfortranarray(rows), strided):
        distinct, inverse = merge_rows(laid_out)
        np.testing.assert_array_equal(distinct, expected)
        np.testing.assert_array_equal(inverse, expected_inverse)


# -- packing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", AROUND_WORDS)
def test_packed_columns_unpack_to_the_rows_and_padding_is_zero(n):
    rows = random_rows(np.random.default_rng(n), n, 11)
    rows[-1] = 1  # the last row is the one that a wrong padding loses
    packed = pack_columns(rows)
    assert packed.shape == (11, -(-n // 64))
    assert packed.dtype == np.uint64
    bits = np.unpackbits(packed.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    np.testing.assert_array_equal(bits[:, :n].T, rows)
    assert not bits[:, n:].any()


@given(rows=bit_rows(max_n=130))
def test_row_r_is_bit_r_modulo_64_of_word_r_over_64(rows):
    packed = pack_columns(rows).tolist()
    read = [[word[r // 64] >> (r % 64) & 1 for word in packed] for r in range(len(rows))]
    np.testing.assert_array_equal(read, rows)


def test_packed_words_have_as_many_ones_as_the_columns():
    rows = random_rows(np.random.default_rng(3), 1000, 17)
    np.testing.assert_array_equal(np.bitwise_count(pack_columns(rows)).sum(axis=1), rows.sum(axis=0))


def test_frames_of_booleans_and_numbers_are_read_and_columns_named_in_errors():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for library in (pandas, polars):
        mixed = library.DataFrame({"a": [True, False], "b": [0, 1]})
        np.testing.assert_array_equal(as_bits(mixed, "X"), [[1, 0], [0, 1]])
        with pytest.raises(ValueError, match=r"X: column 'b' holds values other than 0 and 1 \(such as 7\)"):
            as_bits(library.DataFrame({"a": [True, False], "b": [0, 7]}), "X")


def test_what_is_not_a_plain_table_says_how_to_make_it_one():
    from scipy.sparse import csr_array

    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"X: sparse matrices are not read here; pass X\.toarray\(\)"):
        as_bits(csr_array(np.eye(3)), "X")
    with pytest.raises(TypeError, match=r"X: a lazy frame holds no rows yet; pass X\.collect\(\)"):
        as_bits(polars.LazyFrame({"a": [0]}), "X")
    with pytest.raises(ValueError, match="X: not an array of rows"):
        as_bits([[0], [0, 1]], "X")


@given(rows=bit_rows(max_n=150, min_d=1, max_d=20), seed=seeds)
def test_rows_are_taken_by_position_and_distinct_rows_found_without_unpacking_all(rows, seed):
    rng, bits = np.random.default_rng(seed), BitMatrix.from_rows(rows)
    at = rng.integers(0, len(rows), rng.integers(0, 200))
    np.testing.assert_array_equal(bits.take(at).to_rows(), rows[at])
    mask = rng.random(len(rows)) < 0.5
    np.testing.assert_array_equal(bits.select(mask).to_rows(), rows[mask])
    distinct, inverse = bits.distinct()
    wanted, position = np.unique(rows, axis=0, return_inverse=True)
    np.testing.assert_array_equal(distinct.to_rows(), wanted)
    np.testing.assert_array_equal(inverse, position.ravel())
