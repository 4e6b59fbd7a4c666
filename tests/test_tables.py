"""Tables become bits by rules that depend on values only, and bits become readable values again."""

import json
import math
import os
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hoeffding import Encoding, TableEncoder, datasets, decompose
from hoeffding.binarize import quantile_thresholds, short_number
from hoeffding.bits import BitMatrix, pack_columns
from hoeffding.coding import Bit, Cell, number_text
from hoeffding.columns import TableReader
from strategies import random_rows, seeds

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
arrow = pytest.importorskip("pyarrow")


# -- mixed tables -----------------------------------------------------------------------------------------------------

KINDS = {  # of a value of a column: its type, and how to draw it
    "boolean": (bool, lambda rng: bool(rng.integers(0, 2))),
    "bit": (int, lambda rng: int(rng.integers(0, 2))),
    "text": (str, lambda rng: ["red", "blue", "", " green", "ö", "a=b", "Red"][rng.integers(0, 7)]),
    "yes-no": (str, lambda rng: ["no", "yes"][rng.integers(0, 2)]),
    "small whole": (int, lambda rng: int(rng.integers(-2, 4))),
    "large whole": (int, lambda rng: int(rng.integers(-(2**40), 2**40))),
    "real": (float, lambda rng: float(rng.normal())),
    "rounded": (float, lambda rng: float(np.round(rng.normal(), 1))),
    "constant": (str, lambda rng: "always"),
}


@st.composite
def mixed_tables(draw):
    """A dictionary of columns, each a list of values of one type, some of them None."""
    rng = np.random.default_rng(draw(seeds))
    n = draw(st.integers(1, 90))
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6))
    table = {}
    for j, kind in enumerate(kinds):
        gaps = rng.choice([0.0, 0.2, 1.0], p=[0.6, 0.35, 0.05])
        table[f"c{j}"] = [None if rng.random() < gaps else KINDS[kind][1](rng) for _ in range(n)]
    if draw(st.booleans()):
        table["copy"] = list(table["c0"])
    return table


def type_of(column):
    return next((type(v) for v in column if v is not None), str)


def in_pandas(table):
    return pandas.DataFrame(table)


def in_old_pandas(table):
    return pandas.DataFrame({name: pandas.Series(column, dtype=object) for name, column in table.items()})


def in_nullable_pandas(table):
    dtypes = {bool: "boolean", int: "Int64", float: "Float64", str: "string"}
    series = {name: pandas.Series(column, dtype=dtypes[type_of(column)]) for name, column in table.items()}
    return pandas.DataFrame(series)


def in_categorical_pandas(table):
    frame = pandas.DataFrame(table)
    return frame.astype({name: "category" for name, column in table.items() if type_of(column) is str})


def in_polars(table):
    dtypes = {bool: polars.Boolean, int: polars.Int64, float: polars.Float64, str: polars.String}
    return polars.DataFrame(table, schema={name: dtypes[type_of(column)] for name, column in table.items()})


def in_categorical_polars(table):
    return in_polars(table).cast({polars.String: polars.Categorical})


def in_arrow(table):
    types = {bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    return arrow.table({name: arrow.array(column, types[type_of(column)]) for name, column in table.items()})


def in_dictionary_arrow(table):
    whole = in_arrow(table)
    return arrow.table(
        {
            name: column.dictionary_encode() if arrow.types.is_string(column.type) else column
            for name, column in zip(whole.column_names, whole.columns, strict=True)
        }
    )


LIBRARIES = [
    in_pandas,
    in_old_pandas,
    in_nullable_pandas,
    in_categorical_pandas,
    in_polars,
    in_categorical_polars,
    in_arrow,
    in_dictionary_arrow,
]


def fit_or_none(table, **options):
    """The encoding, or None of a table without two different rows (which is refused)."""
    try:
        return Encoding.fit(table, **options)
    except ValueError as error:
        if "nothing to encode" not in str(error):
            raise
        return None


def by_definition(encoding, table):
    """The bits of a table, one question and one row at a time."""

    def answer(bit, value):
        if value is None:
            return bit.kind == "missing" or bit.at_missing
        ask = {
            "missing": lambda: False,
            "bit": lambda: value == 1,
            "level": lambda: value == bit.value,
            "member": lambda: value in bit.value,
            "other": lambda: value not in encoding.columns[bit.column].levels,
            "above": lambda: value > bit.value,
            "bin": lambda: (
                (bit.value[0] is None or value > bit.value[0]) and (bit.value[1] is None or value <= bit.value[1])
            ),
        }
        return ask[bit.kind]()

    n = len(next(iter(table.values())))
    columns = [table[encoding.columns[bit.column].name] for bit in encoding.bits]
    return np.array(
        [[answer(bit, column[r]) for bit, column in zip(encoding.bits, columns, strict=True)] for r in range(n)],
        np.uint8,
    )


OPTIONS = [{}, {"numeric": "onehot", "bins": 3}, {"max_levels": 3, "max_integer_levels": 0}, {"bins": 2}]


@given(table=mixed_tables(), options=st.sampled_from(OPTIONS))
def test_every_library_gives_the_same_encoding_and_the_same_bits(table, options):
    expected = fit_or_none(in_pandas(table), **options)
    for library in LIBRARIES[1:]:
        encoding = fit_or_none(library(table), **options)
        assert encoding == expected, library.__name__
        if expected is not None:
            bits = expected.transform(library(table))
            np.testing.assert_array_equal(bits.columns, expected.transform(in_pandas(table)).columns)


@given(table=mixed_tables(), options=st.sampled_from(OPTIONS))
def test_bits_are_the_answers_to_their_questions(table, options):
    encoding = fit_or_none(in_polars(table), **options)
    if encoding is not None:
        bits = encoding.transform(in_polars(table))
        np.testing.assert_array_equal(bits.to_rows(), by_definition(encoding, table))
        np.testing.assert_array_equal(bits.columns, pack_columns(bits.to_rows()))


@given(table=mixed_tables(), options=st.sampled_from(OPTIONS))
def test_what_is_kept_varies_and_differs_and_what_is_dropped_does_not(table, options):
    encoding = fit_or_none(in_polars(table), **options)
    if encoding is None:
        return
    rows = encoding.transform(in_polars(table)).to_rows().T
    assert all(row.min() < row.max() for row in rows)
    assert len({row.tobytes() for row in (rows ^ rows[:, :1])}) == len(rows)
    assert len(set(encoding.feature_names)) == len(encoding.feature_names)
    gone = {label for label, _ in encoding.dropped}
    with_bits = {encoding.columns[bit.column].name for bit in encoding.bits}
    assert all(name in with_bits or any(label.startswith(name) for label in gone) for name in table)


@given(table=mixed_tables(), options=st.sampled_from(OPTIONS))
def test_the_inverse_gives_values_that_have_the_same_bits(table, options):
    encoding = fit_or_none(in_polars(table), **options)
    if encoding is None:
        return
    rows = encoding.transform(in_polars(table)).to_rows()
    values = encoding.inverse(rows)
    for name, mine in zip(encoding.column_names, encoding.bits_of_columns, strict=True):
        assert (name in values) == bool(mine)
        pattern = {cell.value: cell.bits for cell in encoding.cells(name)} if mine else {}
        for row, value in zip(rows, values.get(name, []), strict=False):
            assert pattern[value] == tuple(row[list(mine)])


@given(table=mixed_tables())
def test_levels_come_back_as_they_were(table):
    encoding = fit_or_none(in_arrow(table))
    if encoding is None:
        return
    values = encoding.inverse(encoding.transform(in_arrow(table)))
    for name, found in values.items():
        column = encoding.columns[encoding.column_names.index(name)]
        if column.kind in {"level", "bit"} and len(encoding.cells(name)) == len(
            {c.value for c in encoding.cells(name)}
        ):
            for there, back in zip(table[name], found, strict=True):
                assert back == there or (isinstance(back, str) and " or " in back)


@given(table=mixed_tables(), options=st.sampled_from(OPTIONS))
def test_an_encoding_survives_json(table, options):
    encoding = fit_or_none(in_pandas(table), **options)
    if encoding is not None:
        again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
        assert again == encoding
        assert again.feature_names == encoding.feature_names
        assert repr(again) == repr(encoding)


@given(table=mixed_tables(), seed=seeds)
def test_neither_the_order_of_the_rows_nor_of_the_columns_changes_a_bit(table, seed):
    rng = np.random.default_rng(seed)
    frame = in_polars(table)
    encoding = fit_or_none(frame)
    if encoding is None:
        return
    rows = rng.permutation(len(frame))
    assert Encoding.fit(frame[rows.tolist()]) == encoding
    turned = frame.select(rng.permutation(frame.columns).tolist())
    np.testing.assert_array_equal(encoding.transform(turned).columns, encoding.transform(frame).columns)


# -- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "names"),
    [
        ([True, False, True], ["c"]),
        ([1, 0, 0], ["c"]),
        ([1.0, 0.0, 0.0], ["c"]),
        ([1, 0, None, 0], ["c", "c is missing"]),
        ([1, None, 1], ["c is missing"]),
        (["a", None, "a"], ["c is missing"]),
        (["yes", "no", "no"], ["c=yes"]),
        (["yes", "no", None, "no"], ["c=no", "c=yes", "c is missing"]),
        (["b", "a", "c", "a"], ["c=a", "c=b", "c=c"]),
        ([3, 16, 128, 3], ["c=3", "c=16", "c=128"]),
        ([3.0, 16.0, 128.0, 3.0], ["c=3", "c=16", "c=128"]),
        ([1, 2, 1], ["c=2"]),
        ([0.5, 0.25, 0.5], ["c > 0.4"]),
        (["", " a", "a"], ["c=''", "c=' a'", "c=a"]),
        (list(range(12)), ["c > 2", "c > 5", "c > 8"]),
        ([*range(12), None], ["c > 2", "c > 5", "c > 8", "c is missing"]),
    ],
)
def test_a_column_gets_these_bits(column, names):
    assert list(Encoding.fit(polars.DataFrame({"c": column})).feature_names) == names


def test_categories_of_numbers_stay_numbers_and_others_become_text():
    frame = pandas.DataFrame({"a": pandas.Categorical([3, 1, 2, 2.5]), "b": pandas.cut([1, 3, 9, 9], [0, 2, 5, 10])})
    encoding = Encoding.fit(frame)
    assert encoding.columns[0].levels == (1, 2, 2.5, 3)
    assert encoding.columns[1].levels == ("(0, 2]", "(2, 5]", "(5, 10]")


def test_levels_that_are_declared_but_never_seen_are_not_levels():
    values = polars.Series(["a", "b", "d"], dtype=polars.Enum(["d", "c", "b", "a"]))
    encoding = Encoding.fit(polars.DataFrame({"e": values}))
    assert encoding.feature_names == ("e=a", "e=b", "e=d")
    with pytest.raises(ValueError, match=r"never seen in fitting \(e: 'c' \(1\)\)"):
        encoding.transform(polars.DataFrame({"e": polars.Series(["c"], dtype=values.dtype)}))


def test_more_levels_than_allowed_leave_the_most_frequent_and_other():
    column = ["a"] * 5 + ["b"] * 4 + ["c", "d", "e"] + ["z"] * 6
    encoding = Encoding.fit(polars.DataFrame({"c": column}), max_levels=3)
    assert encoding.feature_names == ("c=a", "c=z", "c=(other)")
    assert encoding.columns[0].merged == 4
    assert "other (4 levels)" in repr(encoding)
    bits = encoding.transform(polars.DataFrame({"c": ["a", "d", "never seen", "z"]}))
    assert str(bits) == "1..\n..1\n..1\n.1."
    assert encoding.inverse(bits) == {"c": ["a", "other", "other", "z"]}


def test_ten_thousand_levels_become_a_hundred():
    column = [f"level {i % 10_000}" for i in range(20_000)] + ["level 7"]
    encoding = Encoding.fit(polars.DataFrame({"c": column}))
    assert encoding.n_features == 100
    assert "c=level 7" in encoding.feature_names
    assert encoding.columns[0].merged == 10_000 - 99


def test_given_thresholds_come_before_all_guesses():
    table = polars.DataFrame(
        {"bit": [0, 1, 1, 0, 1], "few": [1, 2, 3, 3, 2], "inf": [0.0, -math.inf, 0.0, math.inf, 0.5]}
    )
    cuts = {"bit": [0.5], "few": [2.5, 1.5, 2.5], "inf": [-1, 1]}
    encoding = Encoding.fit(table, thresholds=cuts)
    assert encoding.feature_names == ("bit > 0.5", "few > 1.5", "few > 2.5", "inf > -1", "inf > 1")
    assert [column.kind for column in encoding.columns] == ["number"] * 3
    encoding = Encoding.fit(table, thresholds=cuts, numeric="onehot")
    names = {"bit > 0.5", "few ≤ 1.5", "1.5 < few ≤ 2.5", "few > 2.5", "inf ≤ -1", "-1 < inf ≤ 1", "inf > 1"}
    repeated = {label for label, reason in encoding.dropped}
    assert set(encoding.feature_names) == names - repeated


def test_a_threshold_that_cuts_nothing_off_is_dropped_and_listed():
    encoding = Encoding.fit([[1.5], [2.5], [9.0]], thresholds={"x0": [-5, 2, 100]})
    assert encoding.feature_names == ("x0 > 2",)
    assert encoding.dropped == (("x0 > -5", "constant"), ("x0 > 100", "constant"))


@given(
    values=st.lists(st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float), min_size=2, max_size=60),
    bins=st.integers(2, 8),
)
def test_quantiles_cut_between_neighbours_as_close_to_equal_parts_as_values_allow(values, bins):
    x = np.array(values)
    distinct = np.unique(x)
    if len(distinct) < 2:
        return
    cuts = quantile_thresholds(x, bins)
    assert (np.diff(cuts) > 0).all()
    assert distinct[0] <= cuts[0] and cuts[-1] < distinct[-1]
    below = np.searchsorted(np.sort(x), cuts, side="right")
    possible = np.searchsorted(np.sort(x), distinct[:-1], side="right")
    for k in range(1, bins):
        best = np.abs(possible - k * len(x) / bins).min()
        assert np.isclose(np.abs(below - k * len(x) / bins).min(), best)


@given(a=st.floats(-1e300, 1e300), b=st.floats(-1e300, 1e300))
def test_short_numbers_lie_between(a, b):
    low, high = sorted([a, b])
    if low < high:
        assert low <= short_number(low, high) < high


def test_a_constant_or_repeated_column_is_listed_with_its_reason():
    table = polars.DataFrame(
        {
            "a": ["x", "y", "z", "x"],
            "flag": [1, 0, 0, 1],
            "opposite": [0, 1, 1, 0],
            "same": ["p", "q", "r", "p"],
            "c": [7, 7, 7, 7],
            "t": ["u"] * 4,
            "gone": [None] * 4,
        }
    )
    encoding = Encoding.fit(table)
    assert encoding.feature_names == ("a=x", "a=y", "a=z")
    assert encoding.dropped == (
        ("c", "always 7"),
        ("t", "always 'u'"),
        ("gone", "all missing"),
        ("flag", "same as a=x"),
        ("opposite", "opposite of a=x"),
        ("same", "says the same as a"),
    )
    assert all(f"{label} ({reason})" in repr(encoding) for label, reason in encoding.dropped)


def test_labels_that_would_be_equal_are_put_into_quotation_marks():
    table = polars.DataFrame({"a": ["b=c", "d", "e", "e"], "a=b": ["c", "f", "c", "g"], "x": [0.5, 1.5, 0.7, 3.1]})
    names = Encoding.fit(table, bins=2).feature_names
    assert "'a'='b=c'" in names and "'a=b'='c'" in names
    assert len(set(names)) == len(names)
    bits = [(0, "above", 35.00000001), (0, "above", 35.00000002)]
    assert Encoding.from_bits(["age"], bits).feature_names == ("age > 35.00000001", "age > 35.00000002")


# -- groups -----------------------------------------------------------------------------------------------------------


def test_every_column_is_a_group_unless_groups_are_given():
    table = polars.DataFrame({"a": ["x", "y", "z", "x", "y"], "b": [1, 0, 0, 0, 1], "c": [1, 1, 0, 0, 0], "d": [5] * 5})
    assert Encoding.fit(table).groups == (("a", (0, 1, 2)), ("b", (3,)), ("c", (4,)))
    given_groups = Encoding.fit(table, groups={"bc": ["c", "b"], "rest": ["d"]}).groups
    assert given_groups == (("a", (0, 1, 2)), ("bc", (3, 4)))


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"g": ["nowhere"]}, "groups['g']: no column 'nowhere'"),
        ({"g": ["a"], "h": ["a"]}, "groups: column 'a' is in 'g' and in 'h'"),
        ({"b": ["a"]}, "groups: 'b' is also the name of a column outside the group"),
        ({"g": "a"}, "groups['g']='a': expected a name, and a list of columns"),
        ("all", "groups='all': must be 'infer', a mapping"),
    ],
)
def test_groups_that_make_no_sense_are_refused(groups, words):
    table = polars.DataFrame({"a": ["x", "y", "z", "x"], "b": [1, 0, 0, 0]})
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        Encoding.fit(table, groups=groups)


def test_one_hot_columns_are_found_by_their_names_and_sums():
    rng = np.random.default_rng(0)
    table = polars.DataFrame(
        {
            "cap_color": rng.choice(["red", "blue", "green"], 200),
            "cap_shape": rng.choice(["flat", "round", "conic"], 200),
            "cap": rng.normal(size=200),
            "cap_odd": rng.integers(0, 2, 200),
            "habit": rng.choice(["wood", "path", "urban"], 200),
        }
    )
    hot = table.to_dummies(["cap_color", "cap_shape"]).with_columns(table["habit"])
    encoding = Encoding.fit(hot, groups="infer")
    names = np.array(encoding.feature_names)
    found = {name: set(names[list(members)]) for name, members in encoding.groups}
    assert found["cap_color"] == {"cap_color_red", "cap_color_blue", "cap_color_green"}
    assert found["cap_shape"] == {"cap_shape_flat", "cap_shape_round", "cap_shape_conic"}
    assert found["cap_odd"] == {"cap_odd"}
    assert set(found) == {"cap_color", "cap_shape", "cap", "cap_odd", "habit"}
    spoilt = hot.with_columns(cap_color_red=1 - polars.col("cap_color_red"))
    assert "cap_color" not in dict(Encoding.fit(spoilt, groups="infer").groups)


def test_an_inferred_group_does_not_take_the_name_of_a_column():
    table = polars.DataFrame({"a": [0.5, 1.5, 2.5, 9.1], "a_x": [1, 0, 0, 0], "a_y": [0, 1, 0, 1], "a_z": [0, 0, 1, 0]})
    assert [name for name, _ in Encoding.fit(table, groups="infer", bins=2).groups] == ["a", "a*"]


# -- new rows ---------------------------------------------------------------------------------------------------------

FITTED = {"colour": ["red", "blue", "green", "red", "blue"], "flag": [0, 1, 1, 1, 0], "x": [0.5, 2.5, 1.5, 7.5, 3.5]}


def test_unknown_levels_are_refused_or_counted():
    encoding = Encoding.fit(in_polars(FITTED))
    new = polars.DataFrame({"x": [1.0, None, 3.0], "colour": ["pink", "red", "pink"], "flag": [0, 1, 0]})
    with pytest.raises(ValueError, match=r"never seen in fitting \(colour: 'pink' \(2\); x: missing \(1\)\).*'ignore'"):
        encoding.transform(new)
    assert encoding.unknown_levels(new) == {"colour": {"pink": 2}, "x": {None: 1}}
    lenient = Encoding.fit(in_polars(FITTED), unknown="ignore")
    with pytest.warns(UserWarning, match=r"^3 values never seen in fitting have zero at every bit"):
        bits = lenient.transform(new)
    colour, x = (list(members) for name, members in lenient.groups if name in {"colour", "x"})
    assert not bits.to_rows()[[0, 2]][:, colour].any() and bits.to_rows()[1][colour].sum() == 1
    assert not bits.to_rows()[1][x].any()


def test_columns_are_found_by_name_and_others_are_not_read():
    encoding = Encoding.fit(in_polars(FITTED))
    frame = in_polars(FITTED)
    extra = frame.with_columns(when=polars.lit("2020-01-01").str.to_date()).select(["when", "x", "flag", "colour"])
    np.testing.assert_array_equal(encoding.transform(extra).columns, encoding.transform(frame).columns)
    with pytest.raises(ValueError, match="X: no column 'flag'; the table has x, colour"):
        encoding.transform(frame.select(["x", "colour"]))
    as_rows = [list(row) for row in frame.rows()]
    np.testing.assert_array_equal(encoding.transform(as_rows).columns, encoding.transform(frame).columns)
    with pytest.raises(ValueError, match="X: expected 3 columns, as in fitting, got 2"):
        encoding.transform(np.zeros((4, 2)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": ["a", "b"]}, "column 'x': expected numbers, got categories (such as 'a', 'b')"),
        ({"flag": ["a", "b"]}, "column 'flag': expected zeros and ones, got categories"),
        ({"flag": [0, 2]}, "column 'flag': expected zeros and ones, got other values (such as 2)"),
        ({"colour": [1, 2]}, "column 'colour': expected text (such as 'blue'), got numbers (such as 1)"),
        ({"colour": [0.5, None]}, "column 'colour': expected text (such as 'blue'), got numbers (such as 0.5)"),
    ],
)
def test_columns_of_another_type_are_refused(change, words):
    new = polars.DataFrame({"colour": ["red", "blue"], "flag": [0, 1], "x": [1.0, 2.0]} | change)
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        Encoding.fit(in_polars(FITTED)).transform(new)


def test_a_column_without_any_value_is_missing_whatever_its_type():
    table = {"a": ["x", None, "y", "z"], "b": [1, 0, None, 0], "c": [1.5, 2.5, 2.7, None]}
    encoding = Encoding.fit(in_polars(table))
    nothing = {name: [None, None] for name in table}
    frames = [polars.DataFrame(nothing), pandas.DataFrame(nothing), arrow.table(nothing), [[None] * 3] * 2]
    for frame in frames:
        rows = encoding.transform(frame).to_rows()
        assert {encoding.feature_names[i] for i in np.flatnonzero(rows[0])} <= {f"{name} is missing" for name in table}
        assert encoding.inverse(rows)["a"] == [None, None]


def test_a_table_without_rows_has_no_bits():
    encoding = Encoding.fit(in_polars(FITTED))
    bits = encoding.transform(in_polars(FITTED)[:0])
    assert bits.n_rows == 0 and bits.n_features == encoding.n_features


# -- arrays and sparse matrices ---------------------------------------------------------------------------------------


@given(seed=seeds, n=st.integers(2, 150), d=st.integers(1, 12))
def test_sparse_matrices_give_what_dense_ones_give(seed, n, d):
    from scipy.sparse import csc_array, csr_matrix

    rows = random_rows(np.random.default_rng(seed), n, d)
    expected = fit_or_none(rows)
    for sparse in (csr_matrix(rows), csc_array(rows), csr_matrix(rows.astype(float))):
        encoding = fit_or_none(sparse)
        if expected is None:
            assert encoding is None
            continue
        assert encoding.bits == expected.bits and encoding.groups == expected.groups
        np.testing.assert_array_equal(encoding.transform(sparse).columns, expected.transform(rows).columns)
        np.testing.assert_array_equal(encoding.transform(rows).columns, expected.transform(sparse).columns)


def test_a_wide_sparse_matrix_is_not_made_dense():
    from scipy.sparse import csr_array

    n, d = 20_000, 20_000  # dense: 400 MB of bytes
    rng = np.random.default_rng(0)
    sparse = csr_array((np.ones(2 * n), (np.tile(np.arange(n), 2), rng.integers(0, d, 2 * n))), shape=(n, d))
    sparse.sum_duplicates()
    sparse.data[:] = 1
    encoding = Encoding.fit(sparse)
    np.testing.assert_array_equal(encoding.transform(sparse).ones() > 0, True)


def test_sparse_matrices_hold_bits_only():
    from scipy.sparse import csr_array

    with pytest.raises(ValueError, match="sparse matrix must hold bits"):
        Encoding.fit(csr_array([[0.0, 7.0], [1.0, 0.0]]))
    with pytest.raises(ValueError, match="thresholds: a sparse matrix holds bits only"):
        Encoding.fit(csr_array([[0, 1], [1, 0]]), thresholds={"x0": [1]})
    with pytest.raises(TypeError, match="X: a sparse matrix holds bits only"):
        Encoding.fit(in_polars(FITTED)).transform(csr_array((2, 3)))
    with pytest.raises(ValueError, match="expected 2 columns"):
        Encoding.fit(csr_array([[0, 1], [1, 1], [0, 0]])).transform(csr_array((2, 3)))


# -- the bits of a model ----------------------------------------------------------------------------------------------

SPLITS = [
    (0, "above", 35.5, True),
    (0, "above", 35.5, False),
    (0, "above", 60, False),
    (1, "member", ["cook", "maid"], True),
    (1, "member", ("clerk",), False),
    (2, "bit", None, True),
    (3, "missing"),
    (4, "bin", (None, 2.0)),
    (4, "bin", (2.0, 3.0), True),
]
PEOPLE = {
    "age": [35.5, 36, None, 61],
    "job": ["cook", "clerk", None, "poet"],
    "flag": [0, 1, None, 0],
    "note": ["anything", None, "goes", "here"],
    "size": [1.0, 2.5, None, math.inf],
}


def test_the_splits_of_a_model_are_an_encoding():
    encoding = Encoding.from_bits(list(PEOPLE), SPLITS, groups={"rest": ["flag", "note"]})
    np.testing.assert_array_equal(encoding.transform(in_polars(PEOPLE)).to_rows(), by_definition(encoding, PEOPLE))
    assert encoding.feature_names[:4] == (
        "age > 35.5 or missing",
        "age > 35.5",
        "age > 60",
        "job in {cook, maid} or missing",
    )
    assert encoding.groups == (("age", (0, 1, 2)), ("job", (3, 4)), ("rest", (5, 6)), ("size", (7, 8)))
    assert encoding.unknown_levels(in_polars(PEOPLE)) == {}
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding
    assert encoding.inverse(encoding.transform(in_polars(PEOPLE))) == {
        "age": ["age ≤ 35.5", "35.5 < age ≤ 60", None, "age > 60"],
        "job": ["cook or maid or missing", "clerk", "cook or maid or missing", "other"],
        "flag": [0, "1 or missing", "1 or missing", 0],
        "note": ["any", None, "any", "any"],
        "size": ["size ≤ 2", "2 < size ≤ 3 or missing", "2 < size ≤ 3 or missing", "size > 3"],
    }


@given(seed=seeds)
def test_random_splits_are_answered_as_they_are_asked(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 100)), 3
    values = np.round(rng.normal(size=(n, d)), 1)
    values[:, 2] = rng.integers(0, 6, n)
    values[rng.random((n, d)) < 0.2] = np.nan
    splits = {
        (int(rng.integers(0, 2)), "above", float(np.round(rng.normal(), 1)), bool(rng.integers(0, 2)))
        for _ in range(20)
    }
    members = {tuple(sorted(set(rng.integers(0, 6, 3).tolist()))) for _ in range(4)}
    bits = [*sorted(splits), *((2, "member", m, bool(rng.integers(0, 2))) for m in sorted(members))]
    encoding = Encoding.from_bits(["a", "b", "c"], bits)
    table = {
        name: [None if v != v else v for v in column] for name, column in zip("abc", values.T.tolist(), strict=True)
    }
    np.testing.assert_array_equal(encoding.transform(values).to_rows(), by_definition(encoding, table))
    assert len(set(encoding.feature_names)) == len(bits)


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        ([(0, "above", math.nan)], "finite number"),
        ([(0, "above", math.inf)], "finite number"),
        ([(0, "above", None)], "finite number"),
        ([(0, "above", "a")], "finite number"),
        ([(0, "below", 1.0)], "known are bit, level, member"),
        ([(5, "above", 1.0)], "index 5: expected an integer from 0 to 1"),
        ([(0, "above", 1.0), (0, "level", 1)], "column 'a': read as level and as number"),
        ([(0, "bit", 1)], "expected None"),
        ([(0, "level", None)], "expected a level"),
        ([(0, "level", [1])], "expected a level"),
        ([(0, "member", "abc")], "expected a tuple"),
        ([(0, "member", ())], "at least one level"),
        ([(0, "bin", (2, 1))], "a < b"),
        ([(0, "bin", (None, None))], "a < b"),
        ([(0, "bin", (1, 2, 3))], "a < b"),
        ([(0, "above", 1.0, 2)], "at_missing=2 must be True or False"),
        ([(0, "missing", None, True)], "missing anyway"),
        ([(0, "above", 1.0), (0, "above", 1.0)], "is there twice"),
        ([], "at least one"),
    ],
)
def test_bits_that_make_no_sense_are_refused(bits, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        Encoding.from_bits(["a", "b"], bits)


@pytest.mark.parametrize("names", [["a", "a"], ["", "b"], [1, 2]])
def test_names_of_columns_are_text_and_different(names):
    with pytest.raises(ValueError, match="non-empty names, all different"):
        Encoding.from_bits(names, [(0, "bit")])


# -- the values that have the same bits -------------------------------------------------------------------------------


def test_cells_say_what_the_bits_mean():
    encoding = Encoding.from_bits(
        ["age", "job"], [(0, "above", 20.0), (0, "above", 60.5, True), (1, "member", list("abcde"))]
    )
    assert encoding.cells("age") == [
        Cell((0, 0), "age ≤ 20", "age ≤ 20"),
        Cell((1, 0), "20 < age ≤ 60.5", "20 < age ≤ 60.5"),
        Cell((1, 1), "age > 60.5", "age > 60.5"),
        Cell((0, 1), None, "missing"),
    ]
    assert [cell.text for cell in encoding.cells("job")] == ["a or b or 3 more", "other or missing"]
    assert encoding.inverse([[0, 1, 1], [1, 0, 0]])["age"] == [None, "20 < age ≤ 60.5"]
    with pytest.raises(KeyError, match="column 'town' is unknown; the columns are age, job"):
        encoding.cells("town")


def test_bits_no_value_has_are_impossible():
    encoding = Encoding.from_bits(["age"], [(0, "above", 20.0), (0, "above", 60.0)])
    assert encoding.inverse([[0, 1], [1, 1]]) == {"age": ["(impossible)", "age > 60"]}
    with pytest.raises(ValueError, match="bits: expected 2 columns, got 3"):
        encoding.inverse([[0, 1, 1]])
    assert encoding.inverse(BitMatrix.from_rows([[1, 1]])) == {"age": ["age > 60"]}


def test_intervals_that_share_bits_are_joined_where_they_touch():
    bits = [(0, "bin", (1.0, 2.0))]
    assert [c.text for c in Encoding.from_bits(["x"], bits).cells("x")] == ["x ≤ 1 or x > 2 or missing", "1 < x ≤ 2"]
    bits = [(0, "bin", (1.0, 2.0)), (0, "bin", (3.0, 4.0)), (0, "missing")]
    texts = [c.text for c in Encoding.from_bits(["x"], bits).cells("x")]
    assert texts == ["x ≤ 1 or 2 < x ≤ 3 or x > 4", "1 < x ≤ 2", "3 < x ≤ 4", "missing"]


def test_numbers_are_shown_short():
    assert [number_text(x) for x in (0.1, -3.0, 1e20, 123456.789, 2.0**40)] == [
        "0.1",
        "-3",
        "1e+20",
        "123457",
        "1099511627776",
    ]


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pandas.DataFrame, "X: 0 sample(s) (shape=(0, 0)) while a minimum of 1 is required; the table is empty"),
        (lambda: pandas.DataFrame({"a": []}), "X: 0 sample(s) (shape=(0, 1))"),
        (lambda: np.zeros((3, 0)), "X: 0 feature(s) (shape=(3, 0))"),
        (lambda: np.zeros(3), "X: expected a table, shape (n, d), got shape (3,)"),
        (lambda: np.zeros((3, 2)), "no column has two different values"),
        (lambda: pandas.DataFrame([[1, 2]], columns=["a", "a"]), "X: two columns have the same name"),
        (lambda: arrow.Table.from_arrays([[1], [2]], names=["a", "a"]), "X: two columns have the same name"),
        (lambda: pandas.DataFrame([[1, 2]], columns=[1, "1"]), "X: two columns are named '1'"),
        (
            lambda: pandas.DataFrame([[1, 2]], columns=["", "b"]),
            "X: a column is named ''; names must be non-empty text",
        ),
        (lambda: polars.DataFrame({"": [1, 2]}), "X: a column is named ''"),
        (
            lambda: pandas.DataFrame([[1, 2]], columns=pandas.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
            "X: a column is named ('a', ",
        ),
        (lambda: polars.DataFrame({"a": [[1], [2]]}), "column 'a': holds values of type List"),
        (lambda: pandas.DataFrame({"a": [[1], [2]]}), "give every item a column of its own"),
        (lambda: pandas.DataFrame({"a": pandas.to_datetime(["2020-01-01"])}), "days since some date"),
        (lambda: pandas.DataFrame({"a": pandas.period_range("2020", periods=2, freq="M")}), "days since some date"),
        (lambda: arrow.table({"a": arrow.array([1, 2], arrow.date32())}), "column 'a': holds values of type Date"),
        (lambda: np.array([["2020-01-01"]], "datetime64[D]"), "column 'x0': holds values of type datetime64"),
        (lambda: pandas.DataFrame({"a": [1.0, math.inf]}), "column 'a': 1 infinite values; replace them"),
        (lambda: polars.DataFrame({"a": [1.5, 2.5, -math.inf]}), "column 'a': 1 infinite values"),
        (lambda: pandas.DataFrame({"a": [1, "b", 2]}), "column 'a': holds values of different types (2 int, 1 text)"),
        (lambda: pandas.DataFrame({"a": ["b"] * 200 + [1]}, dtype=object), "(1 int, 200 text)"),
        (lambda: pandas.DataFrame({"a": [True, 2]}, dtype=object), "(1 bool, 1 int)"),
        (lambda: [[1, "a"], ["b", 2]], "column 'x0': holds values of different types"),
        (lambda: [[1], [1, 2]], "X: expected a table"),
        (lambda: pandas.DataFrame({"a": [2**60, 1]}), "column 'a': holds integers beyond 2^53"),
        (lambda: pandas.DataFrame({"a": [10**400, 1]}), "column 'a': holds numbers beyond double precision"),
        (lambda: np.array([[1j], [2j]]), "column 'x0': Complex data not supported"),
        (lambda: pandas.DataFrame({"a": pandas.arrays.SparseArray([0, 1])}), ".sparse.to_dense()"),
        (lambda: polars.LazyFrame({"a": [1]}), "X: a lazy frame holds no rows yet; pass X.collect()"),
        (lambda: {"a": [1, 2]}, "X: a dictionary is not a table; pass pandas.DataFrame(X)"),
        (lambda: np.ma.array([[1.0], [2.0]], mask=[[0], [1]]), "X: masked arrays are not supported"),
        (lambda: pandas.Series([1, 2]), "X: expected a table"),
        (lambda: None, "X: expected a table"),
    ],
)
def test_bad_tables_are_refused_with_what_to_do(table, words):
    with pytest.raises((TypeError, ValueError)) as error:
        Encoding.fit(table())
    assert words in str(error.value)


@pytest.mark.parametrize("gap", [np.nan, float("nan"), np.float32("nan"), None, pandas.NA])
def test_booleans_with_gaps_as_python_objects_are_booleans(gap):
    table = pandas.DataFrame({"a": pandas.Series([True, gap, False, np.True_], dtype=object)})
    for rows in (table, table.to_numpy()):
        assert np.array_equal(TableReader.open(rows).read(0).values, [1, np.nan, 0, 1], equal_nan=True)
    nullable = pandas.DataFrame({"a": pandas.array([True, None, False, True], "boolean")})
    assert Encoding.fit(table).to_dict() == Encoding.fit(nullable).to_dict()
    assert np.array_equal(
        Encoding.fit(table).transform(table).to_rows(), Encoding.fit(nullable).transform(nullable).to_rows()
    )
    with pytest.raises(TypeError, match="column 'a': holds values of different types"):
        Encoding.fit(pandas.DataFrame({"a": pandas.Series([True, 0.5, np.nan], dtype=object)}))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"numeric": "error"}, "column 'x': holds numbers from 0.5 to 7.5; pass numeric='thresholds'"),
        ({"numeric": "bins"}, "numeric='bins': must be 'thresholds', 'onehot' or 'error'"),
        ({"bins": 1}, "bins=1: expected an integer, at least 2"),
        ({"bins": 2.5}, "bins=2.5"),
        ({"max_levels": 1}, "max_levels=1: expected an integer, at least 2"),
        ({"max_integer_levels": -1}, "max_integer_levels=-1"),
        ({"thresholds": {"y": [1]}}, "thresholds: no column 'y'; the columns are colour, flag, x"),
        ({"thresholds": {"x": []}}, "thresholds['x']: expected one or more finite numbers"),
        ({"thresholds": {"x": [math.nan]}}, "thresholds['x']: expected one or more finite numbers"),
        ({"thresholds": {"colour": [1]}}, "thresholds['colour']: the column holds categories, not numbers"),
        ({"unknown": "warn"}, "unknown='warn': must be 'error' or 'ignore'"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        Encoding.fit(in_polars(FITTED), **options)


def test_infinite_values_are_compared_in_new_rows_and_where_thresholds_are_given():
    encoding = Encoding.fit([[0.5], [1.5], [2.5], [9.5]], bins=2)
    assert str(encoding.transform([[math.inf], [-math.inf]])) == "1\n."


def test_integer_names_of_columns_are_read_as_text():
    frame = pandas.DataFrame(np.random.default_rng(0).integers(0, 2, (20, 3)))
    encoding = Encoding.fit(frame)
    assert encoding.feature_names == ("0", "1", "2")
    np.testing.assert_array_equal(encoding.transform(frame[[2, 0, 1]]).columns, encoding.transform(frame).columns)


def test_tables_are_opened_without_being_changed():
    frame = pandas.DataFrame(FITTED)
    before = frame.copy(deep=True)
    Encoding.fit(frame).transform(frame)
    pandas.testing.assert_frame_equal(frame, before)
    assert TableReader.open(frame).names == ("colour", "flag", "x")


# -- large tables -----------------------------------------------------------------------------------------------------


def large_table(n):
    """Forty columns: booleans, text, whole and real numbers, some with gaps."""
    rng = np.random.default_rng(0)
    table = {f"b{k}": rng.random(n) < 0.3 for k in range(10)}
    table |= {
        f"s{k}": np.array([f"level {i}" for i in range(4 + 3 * k)])[rng.integers(0, 4 + 3 * k, n)] for k in range(10)
    }
    table |= {f"i{k}": rng.integers(0, 5 + 20 * k, n) for k in range(8)}
    table |= {f"x{k}": np.where(rng.random(n) < 0.02 * (k % 3), np.nan, rng.normal(size=n)) for k in range(12)}
    return polars.DataFrame(table)


@pytest.mark.parametrize("library", ["polars", "pyarrow", "pandas"])
def test_a_large_table_is_encoded_without_a_dense_copy(library):
    n = 200_000
    table = large_table(n)
    table = table if library == "polars" else table.to_arrow() if library == "pyarrow" else table.to_pandas()
    Encoding.fit(large_table(100))  # what is imported at first use
    tracemalloc.start()
    encoding = Encoding.fit(table)
    bits = encoding.transform(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    dense = n * encoding.n_features
    column = 8 * n  # one column of numbers
    assert encoding.n_features == 255
    assert 8 * bits.columns.size <= dense / 8 + 8 * encoding.n_features
    assert peak < 2 * dense / 8 + 12 * column  # the bits of fit or transform, and some copies of one column
    assert peak < dense


# -- real data --------------------------------------------------------------------------------------------------------

FEATURES = {  # the columns of a data set that are features, and how many different bits they have
    "kr_vs_kp": (lambda name: name not in {"class", "katri"}, 35),
    "mushrooms": (lambda name: name != "class", 105),
    "sgemm": (lambda name: not name.startswith("run"), 34),
    "gb1": (lambda name: name.startswith("site"), 80),
}


def bits_up_to_opposites(rows):
    return {(column ^ column[0]).tobytes() for column in rows.T}


@pytest.mark.skipif(not os.environ.get("HOEFFDING_DATA"), reason="HOEFFDING_DATA is not set")
@pytest.mark.parametrize("name", FEATURES)
def test_the_tables_of_the_paper_become_its_bits(name):
    data = getattr(datasets, f"load_{name}")()
    chosen, n_bits = FEATURES[name]
    frame = data.frame[[column for column in data.columns if chosen(column)]]
    encoding = Encoding.fit(frame)
    assert encoding.n_features == n_bits
    assert bits_up_to_opposites(encoding.transform(frame).to_rows()) == bits_up_to_opposites(np.array(data.X))


# -- the decomposition ------------------------------------------------------------------------------------------------


def test_a_table_is_decomposed_as_its_bits_are():
    rng = np.random.default_rng(0)
    table = {
        "colour": rng.choice(["red", "green", "blue"], 500).tolist(),
        "smoker": rng.choice(["no", "yes"], 500).tolist(),
        "age": [None if v < 20 else float(v) for v in rng.integers(10, 80, 500)],
    }
    y = rng.normal(size=500)
    columns = [np.array(table[name], dtype=object) for name in table]
    age = np.array([-1.0 if v is None else v for v in table["age"]])
    thresholds = Encoding.fit(in_polars(table)).bits[4:-1]
    by_hand = np.stack(
        [
            *(columns[0] == level for level in ("blue", "green", "red")),
            columns[1] == "yes",
            *(age > bit.value for bit in thresholds),
            columns[2] == None,  # noqa: E711  # at every row
        ],
        axis=1,
    )
    expected = decompose(y, by_hand, order=2)
    for library in (in_pandas, in_polars, in_arrow, in_dictionary_arrow):
        result = decompose(y, library(table), order=2)
        assert result.subsets == expected.subsets
        np.testing.assert_array_equal(result.coefficients, expected.coefficients)
        np.testing.assert_array_equal(result.predict(library(table)), expected.predict(by_hand))
        assert [name for name, _ in result.groups] == list(table)


# -- words ------------------------------------------------------------------------------------------------------------


def test_the_listing_names_columns_levels_and_cuts():
    text = repr(Encoding.fit(in_polars(FITTED)))
    assert text.splitlines()[0] == "Encoding of 3 columns as 7 bits in 3 groups"
    assert "blue, green, red" in text and "zero or one" in text and "cut at " in text


def test_the_listing_in_a_notebook_escapes_every_name():
    nasty = "<script>alert(1)</script>"
    table = polars.DataFrame({nasty: [nasty, "b", "c", "b"], "d": [nasty] * 4})
    html = Encoding.fit(table)._repr_html_()
    assert nasty not in html and "&lt;script&gt;" in html


# -- saved encodings --------------------------------------------------------------------------------------------------

JUNK = [None, -1, 10**9, 0.5, math.nan, "", "level", [], {}, [[]], True, ["a", "a"], [0, 0], {"name": 1}]


def places(data, path=()):
    """The path to every value in nested lists and dictionaries."""
    yield path
    if isinstance(data, dict | list):
        items = data.items() if isinstance(data, dict) else enumerate(data)
        for key, value in items:
            yield from places(value, (*path, key))


@given(data=st.data())
@settings(max_examples=400)
def test_a_spoilt_encoding_is_refused_or_still_an_encoding(data):
    table = in_polars(FITTED | {"gap": ["a", None, "b", "c", "c"]})
    plain = json.loads(json.dumps(Encoding.fit(table, bins=2, numeric="onehot").to_dict()))
    path = data.draw(st.sampled_from(list(places(plain))[1:]))
    at = plain
    for key in path[:-1]:
        at = at[key]
    if data.draw(st.booleans()) and isinstance(at, dict):
        del at[path[-1]]
    else:
        at[path[-1]] = data.draw(st.sampled_from(JUNK))
    try:
        encoding = Encoding.from_dict(plain)
    except ValueError as error:
        if not str(error).startswith("data: "):
            raise
        return
    repr(encoding), encoding.feature_names, encoding.to_dict(), encoding._repr_html_()
    for name in encoding.column_names:
        encoding.cells(name)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "an encoding of version 2, and this hoeffding reads version 1; upgrade it"),
        ({"format": "other"}, "data: not an encoding"),
        ({"groups": []}, "the groups do not hold every bit once"),
        ({"unknown": "maybe"}, "unknown='maybe'"),
    ],
)
def test_other_versions_and_formats_are_named(change, words):
    plain = Encoding.fit(in_polars(FITTED)).to_dict() | change
    with pytest.raises(ValueError, match=re.escape(words)):
        Encoding.from_dict(plain)
    with pytest.raises(ValueError, match="not an encoding"):
        Encoding.from_dict([])


def test_a_bit_is_a_plain_value():
    assert Bit(0, "above", 1.5) == Bit(0, "above", 1.5, False)
    encoding = Encoding.fit(in_polars(FITTED))
    assert hash(encoding) == hash(Encoding.fit(in_polars(FITTED)))
    with pytest.raises(AttributeError):
        encoding.bits = ()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_pipeline_with_an_encoder_is_decomposed_under_the_names_of_the_table(library):
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.pipeline import make_pipeline

    library = pytest.importorskip(library).DataFrame
    rng = np.random.default_rng(0)
    table = {"town": rng.choice(["Lyon", "Metz", "Nice"], 300), "age": rng.integers(18, 90, 300)}
    frame = library(table)
    y = (table["town"] == "Nice") * (table["age"] > 50) + 0.1 * (table["age"] > 30)
    model = make_pipeline(TableEncoder(bins=6), RandomForestRegressor(5, max_depth=4, random_state=0)).fit(frame, y)
    result = decompose(model, frame)
    assert result.engine == "sparse" and result.players == ("town", "age")
    assert result.encoding == model[0].encoding_ and result.feature_names[0] == "town=Lyon"
    new = library({"age": [20, 60, 33], "town": ["Nice", "Nice", "Lyon"]})
    assert np.abs(result.predict(new) - model.predict(new[["town", "age"]])).max() < 1e-12
