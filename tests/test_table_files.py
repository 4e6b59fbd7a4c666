"""Tables from files: what is read is what was written, and what cannot be read says why."""

import gzip

import numpy as np
import pandas as pd
import pytest

from hoeffding.cli.table_files import read_table

TABLE = pd.DataFrame(
    {
        "a b": ["x", "y;z|t", 'a "word", and\tmore', None],
        "n": [1.5, 2.0, np.nan, -3.0],
        "k": [1, 2, 3, 4],
        "yes": [True, False, True, True],
    }
)


@pytest.mark.parametrize(
    ("name", "separator"), [("t.csv", ","), ("t.csv", ";"), ("t.tsv", "\t"), ("t.TXT", "|"), ("t.csv.gz", ";")]
)
def test_csv_is_read_whatever_separates_it(tmp_path, name, separator):
    TABLE.to_csv(tmp_path / name, sep=separator, index=False)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), TABLE, check_dtype=False)


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.feather", "t.arrow", "t.ipc"])
def test_parquet_and_feather_are_read(tmp_path, name):
    frame = TABLE.assign(level=pd.Categorical(list("uvuv")))
    (frame.to_parquet if name in ("t.parquet", "t.pq") else frame.to_feather)(tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), frame)


def test_numbers_of_rows_without_a_name_are_no_column(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv")
    TABLE.set_index(pd.Index([85, 3, 86, 1])).to_csv(tmp_path / "u.csv")
    TABLE.set_index(pd.Index([1, 1, 2, 3])).to_csv(tmp_path / "v.csv")
    assert list(read_table(tmp_path / "t.csv")) == list(read_table(tmp_path / "u.csv")) == list(TABLE)
    assert list(read_table(tmp_path / "v.csv"))[1:] == list(TABLE), "a value that repeats says something"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", b"", "No columns"),
        ("t.csv", b"a,b\n1,\xff\n", "byte 0xff is not UTF-8"),
        ("t.csv", b"a,b,a\n1,2,3\n", "two columns are named 'a'"),
        ("t.csv", b"a,b\n1,2,3\n4,5,6\n", "more values than the first line has names"),
        ("t.csv", b"a,b\n1,2\n4,5,6\n", "line 3"),
        ("t.csv", b'a,b\n1,"2\n', "inside string"),
        ("t.csv.gz", b"a,b\n1,2\n", "Not a gzipped file"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 50, mtime=0)[:20], "ended before"),
        ("t.parquet", b"PAR1 and nothing else", "Parquet"),
        ("t.feather", b"ARROW1\0\0 and nothing else", "Feather"),
        ("t.xlsx", b"PK", "must end in .csv"),
        ("t.parquet.gz", b"", "must end in .csv"),
        ("table", b"a,b\n1,2\n", "must end in .csv"),
    ],
)
def test_what_is_no_table_is_refused_with_its_path(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=words) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("name", ["t.parquet", "t.feather"])
@pytest.mark.parametrize("kept", [0, 10, 0.5, -1])
def test_a_truncated_file_is_refused(tmp_path, name, kept):
    path = tmp_path / name
    (TABLE.to_parquet if name.endswith("parquet") else TABLE.to_feather)(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
    with pytest.raises(ValueError, match="cannot be read as"):
        read_table(path)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"t\.csv: no such file"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").mkdir()
    with pytest.raises(FileNotFoundError, match="a folder"):
        read_table(tmp_path / "t.csv")
