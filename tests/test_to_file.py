"""From file to file: what is written is what the methods give for the rows in memory."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pytest
from sklearn.tree import DecisionTreeRegressor
from typer.testing import CliRunner

import hoeffding
from hoeffding import cli, decompose
from hoeffding.cli.table_files import read_table

N = 500


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], N), "age": rng.normal(40, 9, N).round(1)})
    return table.assign(id=np.arange(N), y=(table.colour == "red") * (table.age > 40) + 0.1 * table.age)


@pytest.fixture
def result(table):
    return decompose("y", table.drop(columns="id"))


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv"])
def test_what_is_written_is_what_methods_give(table, result, tmp_path, ending) -> None:
    table.to_parquet(tmp_path / "in.parquet", row_group_size=90)
    stream = hoeffding.Stream(tmp_path / "in.parquet", chunk_rows=128)
    out = tmp_path / f"out{ending}"
    give = ["prediction", "shapley", "components"]
    assert hoeffding.apply(result, stream, out, give=give, keep=["id"]) == N
    read = {".parquet": pd.read_parquet, ".feather": pd.read_feather, ".csv": pd.read_csv}[ending]
    got = read(out)
    X = table[["colour", "age"]]
    expected = {"id": table.id, "prediction": result.predict(X)}
    expected |= {f"shapley {p}": result.shapley(X)[:, i] for i, p in enumerate(result.players)}
    expected |= {f"component {s}": result.components(X)[:, i] for i, s in enumerate(result.labels)}
    assert list(got.columns) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(got[name], values, rtol=1e-15, atol=1e-15)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith("out")] == [out.name]


def test_several_outputs(tmp_path) -> None:
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (50, 3)), columns=list("abc"))
    Y = np.stack([X.a + X.b, X.b * X.c], axis=1)
    result = decompose(DecisionTreeRegressor().fit(X, Y), X)
    hoeffding.apply(result, pl.from_pandas(X).lazy(), tmp_path / "out.parquet")
    got = pd.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_array_equal(got["prediction of 1"], result.predict(X)[:, 1])
    np.testing.assert_array_equal(got["shapley b of 0"], result.shapley(X)[:, 1, 0])


def run(*arguments):
    return CliRunner().invoke(cli._build_app(), [str(a) for a in arguments])


def test_the_command(table, result, tmp_path) -> None:
    result.save(tmp_path / "d.hfd")
    table.to_csv(tmp_path / "in.csv", index=False)
    done = run("apply", tmp_path / "d.hfd", tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--keep", "id")
    assert done.exit_code == 0 and "500 rows written to" in done.output
    got = pd.read_csv(tmp_path / "out.csv")
    np.testing.assert_allclose(got["shapley age"], result.shapley(table)[:, 1], rtol=1e-14, atol=1e-14)
    for arguments, wrong in (
        (["--give", "magic"], "give=['magic']: a list of some of"),
        (["--keep", "absent"], "keep=['absent']: no column 'absent' in colour, age, id, y"),
        (["--unseen", "maybe"], "unseen='maybe': must be zero, nan or error"),
        (["--chunk-rows", "0"], "chunk_rows=0"),
    ):
        bad = run("apply", tmp_path / "d.hfd", tmp_path / "in.csv", "-o", tmp_path / "bad.csv", *arguments)
        assert isinstance(bad.exception, ValueError) and wrong in str(bad.exception)
    bad = run("apply", tmp_path / "d.hfd", tmp_path / "in.csv", "-o", tmp_path / "bad.docx")
    assert "files are written if they end in .parquet, .feather, .csv" in str(bad.exception)
    assert not list(tmp_path.glob("bad*"))


def test_values_never_observed(tmp_path) -> None:
    X = pd.DataFrame({"a": [0, 0, 1, 1] * 5, "b": [0, 1, 0, 0] * 5})
    model = hoeffding.HoeffdingRegressor(alpha=1e-6, family="paper").fit(X, X.a + X.b)
    model.decomposition_.save(tmp_path / "d.hfd")
    pd.DataFrame({"a": [1, 0], "b": [1, 0]}).to_parquet(tmp_path / "in.parquet")
    call = ["apply", tmp_path / "d.hfd", tmp_path / "in.parquet", "-o", tmp_path / "out.parquet"]
    assert run(*call, "--unseen", "nan").exit_code == 0
    assert pd.read_parquet(tmp_path / "out.parquet").prediction.isna().tolist() == [True, False]
    failed = run(*call, "--unseen", "error")
    assert "a combination of values that was never observed" in str(failed.exception)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert run(*call).exit_code == 0
    assert any("1 of 2 rows have a combination" in str(w.message) for w in said)


def test_an_empty_source(result, tmp_path) -> None:
    with pytest.raises(ValueError, match="source: has no rows"):
        hoeffding.apply(result, iter([]), tmp_path / "out.parquet")
    assert not list(tmp_path.iterdir())


def test_what_is_read_is_not_replaced(table, result, tmp_path) -> None:
    result.save(tmp_path / "d.csv")
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "folder").mkdir()
    table.to_parquet(tmp_path / "folder" / "k.parquet")
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    for source, out in (("t.csv", "t.csv"), ("t.csv", "link.csv"), ("t.csv", "d.csv"), ("t.csv", "folder/../t.csv")):
        bad = run("apply", tmp_path / "d.csv", tmp_path / source, "-o", tmp_path / out)
        assert "is a file that is read, and would be replaced" in str(bad.exception)
    bad = run("apply", tmp_path / "d.csv", tmp_path / "folder", "-o", tmp_path / "folder" / "out.parquet")
    assert "lies in the folder that is read" in str(bad.exception)
    file = tmp_path / "folder" / "k.parquet"
    for source in (file, hoeffding.Stream(file), ds.dataset(tmp_path / "folder")):
        with pytest.raises(ValueError, match="is a file that is read"):
            hoeffding.apply(result, source, file)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == before
    hoeffding.apply(result, file, tmp_path / "t.csv")  # another file may be replaced
    assert len(pd.read_csv(tmp_path / "t.csv")) == N


def test_columns_kept_do_not_collide(table, result, tmp_path) -> None:
    source = table.rename(columns={"id": "prediction"})
    with pytest.raises(ValueError, match="'prediction' is what a column written is named"):
        hoeffding.apply(result, iter([source]), tmp_path / "out.parquet", keep=["age", "prediction"])
    assert not list(tmp_path.iterdir())
    hoeffding.apply(result, iter([source]), tmp_path / "out.parquet", keep=["prediction"], give=["shapley"])
    assert pd.read_parquet(tmp_path / "out.parquet")["prediction"].tolist() == list(range(N))


@pytest.mark.parametrize(
    ("name", "separator"), [("t.csv", ";"), ("t.csv.gz", ","), ("t.tsv", "\t"), ("t.txt", "|"), ("t.TSV.gz", "\t")]
)
def test_what_explain_reads_apply_reads(table, tmp_path, name, separator) -> None:
    days = np.array(["2020-01-01", "2021-05-05", None], object)[np.arange(N) % 3]
    table = table.assign(day=days, y=table.y + (days == "2020-01-01"))
    table.to_csv(tmp_path / name, sep=separator, index=False)
    read = read_table(tmp_path / name)
    result = decompose("y", read.drop(columns="id"))
    assert any("day" in player for player in result.players)
    hoeffding.apply(result, tmp_path / name, tmp_path / "out.parquet")
    got = pd.read_parquet(tmp_path / "out.parquet")
    np.testing.assert_allclose(got["prediction"], result.predict(read), rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(got["shapley day"], result.shapley(read)[:, 2], rtol=1e-14, atol=1e-14)
