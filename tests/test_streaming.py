"""Rows in chunks: what is counted does not depend on how they are cut, read or interrupted."""

import itertools
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

from hoeffding import Encoding, HoeffdingRegressor, Stream, machine, steps, summaries
from hoeffding.binarize import Draft, Rules, find_repeats
from hoeffding.bits import BitMatrix
from hoeffding.columns import TableReader
from hoeffding.moments import Moments
from hoeffding.summaries import Summary

N = 3000


@pytest.fixture(scope="module")
def bits() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.random((N, 9)) < rng.random(9), columns=[f"b{j}" for j in range(9)])
    table["b4"] = table.b3 & table.b4  # dependent: not all cells are seen
    table["y"] = 1 + table.b0 - 2.0 * (table.b3 & table.b7) + 0.1 * rng.normal(size=N)
    table["w"] = rng.integers(0, 4, N)
    return table


@pytest.fixture(scope="module")
def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    colour = np.array(["red", "green", "blue", "teal"])[np.minimum(rng.geometric(0.4, N) - 1, 3)]
    table = pd.DataFrame({"colour": colour, "flag": rng.integers(0, 2, N), "age": rng.normal(40, 12, N).round(1)})
    table["rooms"] = rng.integers(1, 6, N)
    table["again"] = table.flag  # says the same
    table["not"] = 1 - table.flag  # the opposite
    table["always"] = 7
    table.loc[rng.random(N) < 0.1, "age"] = np.nan
    table["y"] = 2.0 * (table.colour == "red") + table.flag * (table.age > 45) + 0.1 * rng.normal(size=N)
    return table


def same_fit(a: HoeffdingRegressor, b: HoeffdingRegressor) -> None:
    """The same counts bit for bit, and the same coefficients: sums of N targets differ by rounding only."""
    mine, theirs = a.decomposition_.measure.moments, b.decomposition_.measure.moments
    assert mine.sets == theirs.sets
    np.testing.assert_array_equal(mine.counts, theirs.counts)
    np.testing.assert_array_equal(mine.flip, theirs.flip)
    assert a.decomposition_.subsets == b.decomposition_.subsets
    assert a.decomposition_.feature_names == b.decomposition_.feature_names
    np.testing.assert_allclose(a.decomposition_.coefficients, b.decomposition_.coefficients, rtol=0, atol=1e-12)
    np.testing.assert_allclose(a.decomposition_.variance().share, b.decomposition_.variance().share, atol=1e-12)


# -- sources ----------------------------------------------------------------------------------------------------------


def sources(table: pd.DataFrame, folder):
    """The same rows in every form that is read in chunks, by name."""
    parquet, csv, feather, parts = (folder / name for name in ("t.parquet", "t.csv", "t.feather", "parts"))
    table.to_parquet(parquet, row_group_size=777)
    table.to_csv(csv, index=False)
    table.to_feather(feather)
    parts.mkdir()
    for i, start in enumerate(range(0, len(table), 1100)):
        table.iloc[start : start + 1100].to_parquet(parts / f"part{i}.parquet")
    cuts = [table.iloc[a : a + 500] for a in range(0, len(table), 500)]
    return {
        "parquet": str(parquet),
        "path": parquet,
        "csv": csv,
        "feather": feather,
        "folder": parts,
        "dataset": ds.dataset(parquet),
        "lazy": pl.scan_parquet(parquet),
        "iterator": iter(cuts),
        "function": lambda: iter(cuts),
        "polars": (pl.from_pandas(cut) for cut in cuts),
        "batches": ds.dataset(parquet).to_batches(),
        "small chunks": Stream(parquet, chunk_rows=256),
        "one row at a time": Stream(parquet, target="y", weight="w", chunk_rows=1000),
    }


def test_every_source_gives_the_fit_in_memory(bits, tmp_path) -> None:
    X, y, w = bits.drop(columns=["y", "w"]), bits.y, bits.w
    expected = HoeffdingRegressor(order=2).fit(X, y, w)
    for name, source in sources(bits, tmp_path).items():
        named = isinstance(source, Stream) and source.target is not None
        got = HoeffdingRegressor(order=2).fit(source, *(() if named else ("y", "w")))
        same_fit(got, expected)
        assert "3000 rows in" in got.decomposition_.reason, name
        assert got.report_.n_passes == 1
        np.testing.assert_allclose(got.predict(X), expected.predict(X), atol=1e-12)


def test_the_target_of_a_table_in_memory_may_be_named(bits) -> None:
    X, y, w = bits.drop(columns=["y", "w"]), bits.y, bits.w
    expected = HoeffdingRegressor().fit(X, y, w)
    same_fit(HoeffdingRegressor().fit(bits, "y", "w"), expected)
    same_fit(HoeffdingRegressor().fit(pl.from_pandas(bits), "y", "w"), expected)


def test_pairs_and_triples_of_arrays(bits) -> None:
    X, y, w = (bits[c].to_numpy() for c in (list(bits.columns[:9]), "y", "w"))
    expected = HoeffdingRegressor().fit(X, y, w)
    cuts = [slice(0, 7), slice(7, 7), slice(7, 1500), slice(1500, N)]  # one of them is empty
    same_fit(HoeffdingRegressor().fit((X[c], y[c], w[c]) for c in cuts), expected)
    same_fit(
        HoeffdingRegressor().fit(lambda: ((X[c].astype(float), y[c]) for c in cuts)), HoeffdingRegressor().fit(X, y)
    )


def test_several_targets_and_a_threshold(bits) -> None:
    table = bits.drop(columns="w").astype(float)
    table["z"] = table.y**2
    X, Y = table.drop(columns=["y", "z"]), table[["y", "z"]].to_numpy()
    expected = HoeffdingRegressor(binarize=0.5).fit(X, Y)
    cuts = [table.iloc[a : a + 700] for a in range(0, N, 700)]
    got = HoeffdingRegressor(binarize=0.5).fit(iter(cuts), ["y", "z"])
    same_fit(got, expected)
    assert got.predict(X).shape == (N, 2)


@settings(max_examples=40, deadline=None)
@given(
    cuts=st.lists(st.integers(0, N), max_size=6),
    threads=st.sampled_from([1, 2, 3]),
    order=st.sampled_from([1, 2, 3]),
)
def test_any_cut_into_chunks_gives_the_same_counts(bits, cuts, threads, order) -> None:
    X, y = bits.iloc[:, :9].to_numpy(), bits.y.to_numpy()
    whole = Moments.from_chunk(X, y, order=order)
    edges = [0, *sorted(cuts), N]
    rows = steps.rows_of(((X[a:b], y[a:b]) for a, b in itertools.pairwise(edges)), None, None, {})
    counted = steps.count(rows, order, n_jobs=threads)
    assert counted.moments.sets == whole.sets
    np.testing.assert_array_equal(counted.moments.counts, whole.counts)
    # Sums of N numbers of size s, added in another order, differ by N eps s at most.
    np.testing.assert_allclose(counted.moments.targets, whole.targets, atol=N * 2**-52 * N)


def test_the_result_does_not_depend_on_threads_bit_for_bit(bits, tmp_path) -> None:
    bits.to_parquet(tmp_path / "t.parquet")
    fits = [
        HoeffdingRegressor(n_jobs=jobs).fit(Stream(tmp_path / "t.parquet", chunk_rows=200), "y", "w")
        for jobs in (1, 2, 5)
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)


def test_chunks_begin_at_multiples_of_chunk_rows_whatever_the_row_groups(bits, tmp_path) -> None:
    for size in (100, 777, N):
        bits.to_parquet(tmp_path / "t.parquet", row_group_size=size)
        lengths = [chunk.n_rows for chunk in Stream(tmp_path / "t.parquet", chunk_rows=640).chunks()]
        assert lengths == [640, 640, 640, 640, 440]
        later = [chunk.n_rows for chunk in Stream(tmp_path / "t.parquet", chunk_rows=640).chunks(skip=3)]
        assert later == [640, 440]


def test_memory_is_stated_and_does_not_grow_with_the_rows(bits, tmp_path) -> None:
    held = []
    for copies in (1, 8):
        pd.concat([bits] * copies).to_parquet(tmp_path / "t.parquet")
        fit = HoeffdingRegressor(n_jobs=2).fit(Stream(tmp_path / "t.parquet", chunk_rows=500), "y")
        held.append(fit.report_.held_bytes)
        assert f"{fit.report_.n_chunks} chunks" in fit.decomposition_.reason
        assert "held at a time" in fit.decomposition_.reason
    assert held[0] == held[1] > 0


# -- packing ----------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 200),
    offset=st.integers(0, 20),
    kind=st.sampled_from(["bool", "uint8", "int64", "float32"]),
    seed=st.integers(0, 99),
)
def test_columns_of_any_type_and_offset_are_packed_alike(n, offset, kind, seed) -> None:
    rows = np.random.default_rng(seed).integers(0, 2, (n + offset, 3)).astype(kind)
    table = pa.table({f"c{j}": column for j, column in enumerate(rows.T)})
    expected = BitMatrix.from_rows(rows[offset:])
    for frame in (table.slice(offset), pa.concat_tables([table.slice(offset, n // 2), table.slice(offset + n // 2)])):
        np.testing.assert_array_equal(BitMatrix.from_rows(frame).columns, expected.columns)
    np.testing.assert_array_equal(BitMatrix.from_rows(pl.from_arrow(table)[offset:]).columns, expected.columns)
    np.testing.assert_array_equal(BitMatrix.from_rows(table.to_pandas()[offset:]).columns, expected.columns)


@pytest.mark.parametrize("values", [[0, 1, 2], [0.0, 1.0, np.nan], [True, None, False], ["a", "b", "c"], [0, 1, None]])
def test_columns_of_anything_else_are_refused(values) -> None:
    with pytest.raises((TypeError, ValueError), match=r"holds|dtype"):
        BitMatrix.from_rows(pa.table({"c": pa.array(values, from_pandas=False)}))


# -- encodings --------------------------------------------------------------------------------------------------------


def test_an_encoding_learned_from_chunks_is_that_of_the_whole_table(mixed, tmp_path) -> None:
    table = mixed.drop(columns="y")
    expected = Encoding.fit(table)
    bits = expected.transform(table)
    y = mixed.y.to_numpy()
    in_memory = HoeffdingRegressor().fit_moments(Moments.from_chunk(bits, y))
    for name, source in sources(mixed.assign(w=1), tmp_path).items():
        if name in {"iterator", "polars", "batches"}:
            continue
        got = HoeffdingRegressor().fit(source, *(() if name == "one row at a time" else ("y", "w")))
        found = got.decomposition_.encoding
        assert found == expected, name
        assert found.dropped == expected.dropped
        assert got.report_.n_passes == 2
        np.testing.assert_allclose(got.coef_, in_memory.coef_, atol=1e-12)
        np.testing.assert_allclose(got.predict(table), in_memory.predict(bits), atol=1e-12)
        assert got.decomposition_.players == ("colour", "flag", "age", "rooms")


def test_an_iterator_of_a_table_that_is_not_bits_needs_its_encoding(mixed) -> None:
    with pytest.raises(ValueError, match=r"chunk 0: .*'colour'.*function that returns a new iterator"):
        HoeffdingRegressor().fit(iter([mixed]), "y")


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(np.nan), st.integers(0, 3)), min_size=1, max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=4),
    most=st.sampled_from([4, 16, 1000]),
)
def test_summaries_do_not_depend_on_the_cuts(values, cuts, most) -> None:
    column = np.array(values, float)

    def summary(part: np.ndarray) -> Summary:
        return Summary.of(TableReader.open(part[:, None]).read(0), most)

    whole = summary(column)
    merged = summary(column[:0])
    for a, b in itertools.pairwise([0, *sorted(min(c, len(column)) for c in cuts), len(column)]):
        merged = merged.merge(summary(column[a:b]), "x", most)
    assert (merged.kind, merged.n_rows, merged.n_missing, merged.cut) == (
        whole.kind,
        whole.n_rows,
        whole.n_missing,
        whole.cut,
    )
    np.testing.assert_array_equal(merged.levels, whole.levels)
    np.testing.assert_array_equal(merged.counts, whole.counts)
    assert len(whole.levels) <= most or whole.cut == summaries.DIGITS  # one value for each power of two remains
    if not whole.cut:
        present = column[~np.isnan(column)]
        np.testing.assert_array_equal(whole.levels, np.unique(present))


def test_numbers_that_were_rounded_are_stated(mixed, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(summaries, "MOST_NUMBERS", 64)
    monkeypatch.setattr(steps, "MOST_NUMBERS", 64)
    mixed.to_parquet(tmp_path / "t.parquet")
    reason = HoeffdingRegressor().fit(tmp_path / "t.parquet", "y").decomposition_.reason
    assert "thresholds of age from values rounded to 64 different ones" in reason


def test_repeats_from_counts_are_those_from_columns() -> None:
    rng = np.random.default_rng(5)
    base = rng.integers(0, 2, (200, 4), dtype=np.uint8)
    X = np.column_stack([base, base[:, 1], 1 - base[:, 0], np.ones(200, np.uint8), 1 - base[:, 1], np.zeros(200)])
    X[:, 2] = rng.random(200) < 0.9
    packed = BitMatrix.from_rows(X)
    constant, repeats = find_repeats(packed.columns, 200)
    got = steps.repeats_of(Moments.from_chunk(packed, np.zeros(200), order=1))
    np.testing.assert_array_equal(got[0], constant)
    assert got[1] == repeats
    assert repeats == {4: (1, False), 5: (0, True), 7: (1, True)}


def test_a_column_of_text_in_some_chunks_and_numbers_in_others() -> None:
    cuts = [pd.DataFrame({"a": ["x", "y"], "y": [1.0, 2.0]}), pd.DataFrame({"a": [1, 2], "y": [1.0, 2.0]})]
    with pytest.raises(TypeError, match="column 'a': holds numbers in some chunks and text in others"):
        HoeffdingRegressor().fit(lambda: iter(cuts), "y")


def test_identifiers_are_not_levels(monkeypatch) -> None:
    monkeypatch.setattr(summaries, "MOST_LEVELS", 3)
    cuts = [pd.DataFrame({"a": [f"{c}1", f"{c}2"], "y": [1.0, 2.0]}) for c in "pq"]
    with pytest.raises(ValueError, match="column 'a': more than 3 different labels; leave the column out"):
        HoeffdingRegressor().fit(lambda: iter(cuts), "y")


def test_an_empty_draft_is_refused() -> None:
    with pytest.raises(ValueError, match="a minimum of 1 is required"):
        Draft.of_summaries((), (), Rules())


# -- what cannot be had -----------------------------------------------------------------------------------------------


def test_what_needs_rows_in_memory_is_refused(bits) -> None:
    for model in (
        HoeffdingRegressor(distinct=True),
        HoeffdingRegressor(alpha="cv"),
        HoeffdingRegressor(interactions="heredity"),
    ):
        with pytest.raises(ValueError, match=r"X: is read in chunks.*need rows in memory; for alpha='cv' count"):
            model.fit(iter([bits]), "y")


def test_a_gram_matrix_beyond_memory_is_refused_before_it_is_made(bits, monkeypatch) -> None:
    monkeypatch.setattr(machine, "available_memory", lambda: 2**20)
    monkeypatch.setattr("hoeffding.engines.low_order.GRAM_MATRICES", 4000)
    with pytest.raises(MemoryError, match=r"the Gram matrix of \d+ components.*larger min_count"):
        HoeffdingRegressor().fit(iter([bits]), "y", "w")


@pytest.mark.parametrize(
    ("source", "arguments", "wrong"),
    [
        (lambda t: iter([t]), (), "the chunks hold rows only; name the target column"),
        (lambda t: iter([t]), ("absent",), "y='absent': no such column; the columns are b0, b1"),
        (lambda t: iter([t]), ("y", "absent"), "sample_weight='absent': no such column"),
        (lambda t: iter([]), ("y",), "source: has no rows"),
        (lambda t: iter([t, t.drop(columns="b3")]), ("y",), "chunk 1: has no column 'b3'"),
        (lambda t: iter([t, t.assign(z=1)]), ("y",), "chunk 1: has a column 'z' that is new"),
        (lambda t: iter([(t[["b0", "b1"]], t.y), (t[["b0"]], t.y)]), (), "chunk 1: has no column 'b1'"),
        (lambda t: iter([(np.eye(2), [1, 2]), (np.eye(3), [1, 2, 3])]), (), "chunk 1: has 3 columns, the first"),
        (lambda t: iter([(np.eye(2), [1, 2, 3])]), (), "chunk 0: y: expected one value"),
        (lambda t: iter([(np.eye(2), [1, 2], [1, -1])]), (), "weights must be finite and not negative"),
        (lambda t: iter([(np.eye(2), [1, np.nan])]), (), "chunk 0: y: must be finite"),
        (lambda t: iter([(1, 2, 3, 4)]), (), "chunk 0: a tuple of 4; expected"),
        (lambda t: iter([np.eye(2)]), ("y",), "chunk 0: rows without a column 'y'"),
        (lambda t: iter([t.assign(b0=t.b0 * 3)]), ("y",), "chunk 0: X: column 'b0' holds values other than 0 and 1"),
        (lambda t: Stream(iter([t]), target="y"), ("y",), "y='y': the Stream names a target already"),
        (lambda t: Stream(iter([t]), target="y", weight="y"), (), "give the name of a column that is not the target"),
    ],
)
def test_bad_chunks_are_named(bits, source, arguments, wrong) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(wrong)):
        HoeffdingRegressor().fit(source(bits.drop(columns="w")), *arguments)


def test_a_stream_of_nothing_that_is_read_in_chunks() -> None:
    with pytest.raises(TypeError, match="source: ndarray is not read in chunks; give a path"):
        Stream(np.eye(2))
    with pytest.raises(ValueError, match="chunk_rows=0"):
        Stream("t.parquet", chunk_rows=0)


def test_chunks_with_their_columns_in_another_order(bits) -> None:
    turned = bits[bits.columns[::-1]]
    expected = HoeffdingRegressor().fit(iter([bits]), "y", "w")
    same_fit(HoeffdingRegressor().fit(iter([bits.iloc[:900], turned.iloc[900:]]), "y", "w"), expected)
    pairs = [(bits.iloc[:, :9], bits.y), (turned[turned.columns[2:]], turned.y)]
    both = pd.concat([bits, bits])
    same_fit(HoeffdingRegressor().fit(iter(pairs)), HoeffdingRegressor().fit(iter([both.drop(columns="w")]), "y"))


@pytest.mark.parametrize("first", [2**63 + 3, -(2**70) - 3])
def test_integers_that_text_has_and_double_precision_has_not_are_refused(tmp_path, first) -> None:
    texts = ["", *(str(first + i) for i in range(49))]
    table = pd.DataFrame({"z": texts, "b": [0, 1] * 25, "y": [0.5, 1.5] * 25})
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=r"column 'z' holds integers beyond 2\^53"):
        Encoding.fit(next(Stream(tmp_path / "t.csv").chunks()).X)
    floats = table.assign(z=[1e300, 0.5] * 25)  # numbers that are written as floating point are such
    floats.to_csv(tmp_path / "t.csv", index=False)
    assert next(Stream(tmp_path / "t.csv").chunks()).n_rows == 50


def test_a_type_that_changes_late_in_text_is_named_with_ways_out(tmp_path) -> None:
    late = tmp_path / "t.csv"
    late.write_text("a,y\n" + "0,3\n" * 400_000 + "1,3.5\n")
    with pytest.raises(
        OSError, match=r"is that of its first rows: write the table as Parquet, or pass pyarrow\.dataset"
    ):
        list(Stream(late).chunks())
    whole = ds.dataset(late, format=ds.CsvFileFormat(convert_options=csv.ConvertOptions(column_types={"y": "double"})))
    assert sum(chunk.n_rows for chunk in Stream(whole).chunks()) == 400_001
