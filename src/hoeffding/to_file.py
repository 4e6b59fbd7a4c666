"""What a decomposition says of the rows of a file (or any stream), written to a file chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import data_frame
from hoeffding.checks import refuse_overwriting
from hoeffding.chunks import MISSING_PYARROW, Chunk, Stream, files_of, opened
from hoeffding.decomposition import Decomposition
from hoeffding.progress import reporting, say

FloatArray = npt.NDArray[np.float64]

GIVE = ("prediction", "shapley", "components")
ENDINGS = (".parquet", ".feather", ".csv")


def apply(
    decomposition: Decomposition,
    source: Any,
    path: str | PathLike[str],
    *,
    give: Sequence[str] = ("prediction", "shapley"),
    keep: Sequence[str] = (),
) -> int:
    """Write what a decomposition says of rows to a file, one row for each; returns how many rows there were.

    The rows are read in chunks and let go, so that there may be any number of them. The file is there when it is whole.

    Parameters
    ----------
    decomposition : Decomposition
    source : path, or another source of a :class:`hoeffding.Stream`
        Its columns are found by name, and encoded if the decomposition has an encoding.
    path : str or path
        A Parquet, Feather or CSV file, by its ending; no file of the source, and none in its folder.
    give : sequence of "prediction", "shapley", "components"
        One column for the prediction (of each output), for each player, or for each component.
    keep : sequence of str
        Columns of the source to be written as well; none may have the name of a column that is written anyway.

    Examples
    --------
    >>> import tempfile, pandas as pd, hoeffding
    >>> rows = pd.DataFrame({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1], "id": [7, 8, 9, 10]})
    >>> result = hoeffding.decompose(lambda X: X.a + 2 * X.b, rows[["a", "b"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     n = hoeffding.apply(result, iter([rows]), f"{folder}/out.parquet", keep=["id"])
    ...     print(pd.read_parquet(f"{folder}/out.parquet").round(1).to_string(index=False))
     id  prediction  shapley a  shapley b
      7         0.0       -0.5       -1.0
      8         1.0        0.5       -1.0
      9         2.0       -0.5        1.0
     10         3.0        0.5        1.0
    """
    out = Path(path)
    wrong = [what for what in give if what not in GIVE]
    if isinstance(give, str) or wrong or not give:
        raise ValueError(f"give={give!r}: a list of some of {', '.join(map(repr, GIVE))}")
    if out.suffix.lower() not in ENDINGS:
        raise ValueError(f"path={str(out)!r}: files are written if they end in {', '.join(ENDINGS)}")
    stream = source if isinstance(source, Stream) else Stream(source)
    refuse_overwriting("path", out, files_of(stream))
    half = out.with_name(out.name + ".half")
    try:
        with reporting():
            n = _write(_tables(decomposition, stream, tuple(give), tuple(keep)), half, out.suffix.lower())
        half.replace(out)
    finally:
        with suppress(OSError):
            half.unlink(missing_ok=True)
    return n


def _tables(
    decomposition: Decomposition, stream: Stream, give: tuple[str, ...], keep: tuple[str, ...]
) -> Iterator[Any]:
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(MISSING_PYARROW) from error
    n_rows = 0
    known = () if decomposition.encoding is None else decomposition.encoding.columns
    text = [c.name for c in known if c.kind == "any" or (c.kind == "level" and all(type(x) is str for x in c.levels))]
    for chunk in stream.chunks(source=opened(stream.source, text)):
        kept, given = _kept(chunk, keep), _given(decomposition, chunk.X, give)
        if both := [name for name in keep if name in given]:
            raise ValueError(f"keep={list(keep)!r}: {both[0]!r} is what a column written is named; rename it first")
        columns = kept | given
        n_rows += chunk.n_rows
        say(f"{n_rows} rows written")
        yield pa.table(columns)


def _kept(chunk: Chunk, keep: tuple[str, ...]) -> dict[str, Any]:
    frame = data_frame(chunk.X)
    if keep and (frame is None or (absent := [name for name in keep if name not in frame.columns])):
        found = "rows without names" if frame is None else ", ".join(frame.columns[:12])
        raise ValueError(f"keep={list(keep)!r}: no column {(list(keep) if frame is None else absent)[0]!r} in {found}")
    return {name: frame[name].to_arrow() for name in keep}


def _given(decomposition: Decomposition, X: Any, give: tuple[str, ...]) -> dict[str, FloatArray]:
    """The columns by name."""
    out: dict[str, FloatArray] = {}
    outputs = decomposition.output_names or tuple(map(str, range(int(np.prod(decomposition.output_shape)))))

    def add(name: str, values: FloatArray) -> None:
        if not decomposition.output_shape:
            out[name] = values
            return
        for j, output in enumerate(outputs):
            if f"{name} of {output}" in out:
                raise ValueError(f"give: two columns would be named '{name} of {output}'; rename players or outputs")
            out[f"{name} of {output}"] = np.ascontiguousarray(values[:, j])

    if "prediction" in give:
        add("prediction", decomposition.predict(X))
    if "shapley" in give:
        values = decomposition.shapley(X)
        for i, player in enumerate(decomposition.players):
            add(f"shapley {player}", np.ascontiguousarray(values[:, i]))
    if "components" in give:
        values = decomposition.components(X)
        for i, label in enumerate(decomposition.labels):
            add(f"component {label}", np.ascontiguousarray(values[:, i]))
    return out


def _write(tables: Iterator[Any], path: Path, ending: str) -> int:
    writer, n = None, 0
    with ExitStack() as stack:
        for table in tables:
            if writer is None:
                writer = stack.enter_context(_writer(path, table.schema, ending))
            writer.write_table(table)
            n += table.num_rows
    if writer is None:
        raise ValueError("source: has no rows")
    return n


def _writer(path: Path, schema: Any, ending: str) -> Any:
    if ending == ".csv":
        import pyarrow.csv

        return pyarrow.csv.CSVWriter(path, schema)
    if ending == ".feather":
        import pyarrow as pa

        return pa.ipc.new_file(path, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
    import pyarrow.parquet

    return pyarrow.parquet.ParquetWriter(path, schema, compression="zstd")
