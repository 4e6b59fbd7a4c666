"""What an interruption leaves behind: the sums so far, from which the same call goes on to the same result."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import GradientBoostingRegressor

from hoeffding import HoeffdingRegressor, Stream, decompose
from hoeffding.checkpoints import Checkpoint, Progress

N, CHUNK = 2000, 100


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.random((N, 7)) < rng.random(7), columns=[f"b{j}" for j in range(7)])
    return table.assign(y=1 + table.b0 - 2.0 * (table.b3 & table.b6) + 0.1 * rng.normal(size=N))


@pytest.fixture
def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], N), "age": rng.normal(40, 12, N).round(1)})
    return table.assign(y=2.0 * (table.colour == "red") + (table.age > 45) + 0.1 * rng.normal(size=N))


class Interrupted(Exception):
    pass


def cut(table: pd.DataFrame, stops: list[int], given: list[int]):
    """A function that gives chunks; it stops with an error after each of these numbers of chunks, once."""

    def chunks():
        stop = stops.pop(0) if stops else None
        for i, a in enumerate(range(0, N, CHUNK)):
            if i == stop:
                raise Interrupted
            given.append(i)
            yield table.iloc[a : a + CHUNK]

    return chunks


def until_done(call):
    """Run the same call until it is not interrupted; how often it was, and what it gives."""
    for attempt in range(10):
        try:
            return attempt, call()
        except Interrupted:
            continue
    raise AssertionError("never done")


@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupted_pass_goes_on_where_it_stopped(table, tmp_path, threads) -> None:
    file, given = tmp_path / "sums", []
    expected = HoeffdingRegressor(n_jobs=threads).fit(cut(table, [], []), "y")
    source = cut(table, [9, 15], given)
    interruptions, got = until_done(
        lambda: HoeffdingRegressor(n_jobs=threads).fit(Stream(source, checkpoint=file), "y")
    )
    assert interruptions == 2
    assert not file.exists()
    np.testing.assert_array_equal(got.coef_, expected.coef_)
    np.testing.assert_array_equal(
        got.decomposition_.measure.moments.targets, expected.decomposition_.measure.moments.targets
    )
    assert got.report_.n_rows == N


def test_passes_that_are_done_are_not_done_again(mixed, tmp_path) -> None:
    expected = HoeffdingRegressor().fit(cut(mixed, [], []), "y")
    for stops in ([3, 20, 4], [20, 20, 11], [1, 5, 5, 7, 2]):
        source = cut(mixed, list(stops), [])
        _, got = until_done(
            lambda source=source: HoeffdingRegressor().fit(Stream(source, checkpoint=tmp_path / "c"), "y")
        )
        assert got.decomposition_.encoding == expected.decomposition_.encoding
        np.testing.assert_array_equal(got.coef_, expected.coef_)


def test_every_pass_of_the_exact_engine_goes_on(mixed, tmp_path) -> None:
    X = mixed.drop(columns=["colour", "y"])
    model = GradientBoostingRegressor(n_estimators=5).fit(X, mixed.y)
    expected = decompose(model, Stream(cut(X, [], [])))
    source = cut(X, [20, 3, 20, 4, 20, 5], [])
    interruptions, got = until_done(lambda: decompose(model, Stream(source, checkpoint=tmp_path / "c")))
    assert interruptions >= 2
    np.testing.assert_array_equal(got.coefficients, expected.coefficients)
    assert (got.remainder, got.fidelity) == (expected.remainder, expected.fidelity)


SCRIPT = """
    import sys
    import numpy as np
    from hoeffding import HoeffdingRegressor, Stream
    {before}
    fit = HoeffdingRegressor(n_jobs=2).fit(
        Stream(sys.argv[1], chunk_rows=100, checkpoint=sys.argv[2], checkpoint_seconds=0.0), "y"
    )
    np.save(sys.argv[3], fit.coef_)
"""


def run(tmp_path: Path, before: str = "") -> subprocess.CompletedProcess:
    script = textwrap.dedent(SCRIPT).replace("{before}", textwrap.dedent(before))
    paths = [str(tmp_path / name) for name in ("t.parquet", "sums", "coef.npy")]
    return subprocess.run(
        [sys.executable, "-c", script, *paths], capture_output=True, text=True, check=False, timeout=120
    )


def test_a_process_that_is_killed(table, tmp_path) -> None:
    table.to_parquet(tmp_path / "t.parquet")
    expected = HoeffdingRegressor().fit(Stream(tmp_path / "t.parquet", chunk_rows=100), "y")
    kill = """
    import os, signal
    from hoeffding import checkpoints
    write = checkpoints.Checkpoint.write
    def killed(self, current):
        write(self, current)
        if current.n_chunks >= 8:
            os.kill(os.getpid(), signal.SIGKILL)
    checkpoints.Checkpoint.write = killed
    """
    assert run(tmp_path, kill).returncode == -9
    assert (tmp_path / "sums").exists() and not (tmp_path / "coef.npy").exists()
    kept = Checkpoint.open(tmp_path / "sums", {}, 60).current
    assert kept is not None and 8 <= kept.n_chunks < 20 and kept.n_rows == 100 * kept.n_chunks
    assert run(tmp_path).returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "coef.npy"), expected.coef_)
    assert not (tmp_path / "sums").exists()


def test_a_full_disk_keeps_the_last_good_state(table, tmp_path) -> None:
    table.to_parquet(tmp_path / "t.parquet")
    expected = HoeffdingRegressor().fit(Stream(tmp_path / "t.parquet", chunk_rows=100), "y")
    full = """
    import resource
    from hoeffding import checkpoints
    write = checkpoints.Checkpoint.write
    def limited(self, current):
        if current.n_chunks == 12:  # no file may grow beyond some bytes from here on
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        write(self, current)
    checkpoints.Checkpoint.write = limited
    """
    failed = run(tmp_path, full)
    assert failed.returncode == 1
    assert "bytes could not be written (File too large); the one before it is kept. Make room" in failed.stderr
    assert not (tmp_path / "sums.half").exists()
    kept = Checkpoint.open(tmp_path / "sums", {}, 60).current
    assert kept is not None and kept.n_chunks == 11
    assert run(tmp_path).returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "coef.npy"), expected.coef_)


def test_a_corrupt_file_is_named_and_the_rows_before_are_kept(table, tmp_path) -> None:
    file, sums = tmp_path / "t.parquet", tmp_path / "sums"
    pq.write_table(pa.Table.from_pandas(table), file, row_group_size=200, write_page_checksum=True, compression="none")
    expected = HoeffdingRegressor().fit(Stream(file, chunk_rows=100), "y")
    good = file.read_bytes()
    group = pq.ParquetFile(file).metadata.row_group(6).column(7)
    at = group.data_page_offset + group.total_compressed_size // 2
    file.write_bytes(good[:at] + bytes([good[at] ^ 255]) + good[at + 1 :])
    stream = Stream(file, chunk_rows=100, checkpoint=sums)
    with pytest.raises(OSError, match=r"t\.parquet: cannot be read after row 1200: .*(CRC|checksum)"):
        HoeffdingRegressor().fit(stream, "y")
    kept = Checkpoint.open(sums, {}, 60).current
    assert kept is not None and kept.n_rows == 1200
    file.write_bytes(good)  # repaired
    got = HoeffdingRegressor().fit(stream, "y")
    np.testing.assert_array_equal(got.coef_, expected.coef_)


def test_files_that_are_no_parquet(tmp_path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(OSError, match=r"t\.parquet: cannot be read"):
        HoeffdingRegressor().fit(tmp_path / "t.parquet", "y")
    with pytest.raises(FileNotFoundError, match="there is no such file or folder"):
        HoeffdingRegressor().fit(tmp_path / "absent.parquet", "y")
    (tmp_path / "t.docx").write_bytes(b"")
    with pytest.raises(ValueError, match=r"files are read if they end in .*\.parquet"):
        HoeffdingRegressor().fit(tmp_path / "t.docx", "y")


def test_a_checkpoint_of_something_else_is_refused(table, tmp_path) -> None:
    file, sums = tmp_path / "t.parquet", tmp_path / "sums"
    table.to_parquet(file)

    def interrupted():
        with pytest.raises(Interrupted):
            HoeffdingRegressor().fit(Stream(cut(table, [5], []), checkpoint=sums), "y")

    interrupted()
    source = cut(table, [], [])
    for call, differs in (
        (lambda: HoeffdingRegressor(order=1).fit(Stream(source, checkpoint=sums), "y"), "another order"),
        (lambda: HoeffdingRegressor().fit(Stream(source, weight="b1", checkpoint=sums), "y"), "another weight"),
        (lambda: HoeffdingRegressor().fit(Stream(file, checkpoint=sums), "y"), "another source"),
        (lambda: decompose("y", Stream(source, checkpoint=sums)), "another model"),
    ):
        with pytest.raises(ValueError, match=rf"is of other data or settings \(.*{differs[8:]}"):
            call()
    data = sums.read_bytes()
    sums.write_bytes(data[:-50])
    with pytest.raises(ValueError, match=r"damaged, its checksum is another one.*delete it to begin again"):
        HoeffdingRegressor().fit(Stream(source, checkpoint=sums), "y")
    sums.write_bytes(b"something")
    with pytest.raises(ValueError, match=r"not the bytes of a checkpoint; delete it"):
        HoeffdingRegressor().fit(Stream(source, checkpoint=sums), "y")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        HoeffdingRegressor().fit(Stream(source, checkpoint=tmp_path / "no" / "sums"), "y")


def test_a_state_comes_back_as_it_was(tmp_path) -> None:
    checkpoint = Checkpoint.open(tmp_path / "c", {"a": 1}, 0.0)
    first = Progress("one", 3, 30, ("x", "y"), b"abc")
    checkpoint.finish(first)
    checkpoint.write(Progress("two", 1, 10, ("x",), os.urandom(1000)))
    again = Checkpoint.open(tmp_path / "c", {"a": 1}, 0.0)
    assert again.done == [first]
    assert again.current == checkpoint.current
