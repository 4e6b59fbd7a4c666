"""Rows that are read a chunk at a time: from files, from what other libraries read lazily, from any iterator.

=====================================  ================================================================================
a source                               its chunks
=====================================  ================================================================================
path of a Parquet, CSV, Feather file,  ``chunk_rows`` rows each, whatever the files and row groups are; models get them
or of a folder of Parquet files; a     as pandas data frames
``pyarrow.dataset.Dataset``
``polars.LazyFrame``                   the same, as polars data frames
an iterator, or a function that        what the iterator gives: data frames, or pairs ``(X, y)`` or triples
returns one                            ``(X, y, sample_weight)``
=====================================  ================================================================================

Where chunks begin depends on the source and ``chunk_rows`` only, so a pass that is interrupted can go on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hoeffding.bits import data_frame
from hoeffding.checks import as_count, as_real, as_weights

FloatArray = npt.NDArray[np.float64]

CHUNK_ROWS = 2**18  # rows whose packed columns fit a cache, and enough of them that nothing else counts
FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "feather"),
}
ENDINGS = f"{', '.join(FORMATS)}, or .csv.gz"
SEPARATORS = ",;\t|"
BEYOND = r"^[+-]?\d{16,}$"  # as text: 2^53 has sixteen digits
TYPES = (
    "; the type of a column of a CSV file is that of its first rows: write the table as Parquet, or pass "
    "pyarrow.dataset.dataset(path, format=pyarrow.dataset.CsvFileFormat(convert_options=pyarrow.csv.ConvertOptions("
    "column_types={name: type})))"
)
READ_AHEAD, BATCH_ROWS = 4, 2**17  # more would be memory that nobody asked for
MISSING_PYARROW = 'reading files takes pyarrow: python -m pip install "hoeffding[data]"'


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows.

    Attributes
    ----------
    X : data frame, array or sparse matrix, shape (n, d)
    y : (n,) or (n, m) float64, or None
    weight : (n,) float64 or None
    number : int
        From zero.
    as_given : callable
        Gives ``X`` as a model is given it.
    """

    X: Any
    y: FloatArray | None
    weight: FloatArray | None
    number: int
    as_given: Callable[[Any], Any] = lambda X: X

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    @property
    def nbytes(self) -> int:
        """The bytes of the rows, targets and weights, as far as their library says."""
        frame = data_frame(self.X)
        size = int(frame.estimated_size()) if frame is not None else int(getattr(self.X, "nbytes", 0))
        return size + sum(a.nbytes for a in (self.y, self.weight) if a is not None)


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are what.

    Attributes
    ----------
    target : tuple of str
    single : bool
        Whether the target is one column, so that it has no output axis.
    weight : str or None
    """

    target: tuple[str, ...] = ()
    single: bool = True
    weight: str | None = None

    @classmethod
    def read(cls, target: Any, weight: Any) -> Columns:
        single = target is None or isinstance(target, str)
        names = (target,) if isinstance(target, str) else () if target is None else tuple(target)
        if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise TypeError(f"y={target!r}: give the name of the target column, or a list of different names")
        if weight is not None and (not isinstance(weight, str) or weight in names):
            raise TypeError(f"sample_weight={weight!r}: give the name of a column that is not the target")
        return cls(names, single, weight)

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.target, *(() if self.weight is None else (self.weight,)))

    def split(self, frame: Any, features: Sequence[str], number: int, exact: bool = True) -> Chunk:
        """A narwhals data frame as a chunk with these features, in their order, and no others if ``exact``."""
        absent = [name for name in (*features, *self.all) if name not in frame.columns]
        more = [name for name in frame.columns if exact and name not in {*features, *self.all}]
        if absent or more:
            found = f"no column {absent[0]!r}" if absent else f"a column {more[0]!r} that is new"
            raise ValueError(f"chunk {number}: has {found}; the features are {', '.join(features[:12])}")
        numbers = [as_real(f"y, column {name!r}", frame[name].to_numpy()) for name in self.target]
        y = None if not numbers else numbers[0] if self.single else np.stack(numbers, axis=1)
        chunk = Chunk(frame.select(list(features)).to_native(), y, None, number)
        if self.weight is None:
            return chunk
        return _weighted(chunk, f"sample_weight, column {self.weight!r}", frame[self.weight].to_numpy())

    def features_of(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names of all other columns; an error if a column that is asked for is not there."""
        for argument, column in (*(("y", name) for name in self.target), ("sample_weight", self.weight)):
            if column is not None and column not in names:
                raise ValueError(f"{argument}={column!r}: no such column; the columns are {', '.join(names[:12])}")
        return tuple(name for name in names if name not in self.all)


class Source(Protocol):
    """Where tables come from.

    ``fingerprint`` is what must be the same for an interrupted pass to go on. ``tables`` gives what follows the first
    ``skip`` chunks, with the columns needed at least (None: all); if ``rereadable``, as often as it is called.
    """

    @property
    def rereadable(self) -> bool: ...

    def fingerprint(self) -> str: ...

    def tables(self, skip: int, chunk_rows: int, needed: Sequence[str] | None) -> Iterator[Any]: ...

    def as_given(self, X: Any) -> Any: ...


@dataclass(frozen=True)
class Stream:
    """Rows to be read a chunk at a time, and how; wherever a path or another source is taken, a Stream is.

    Parameters
    ----------
    source : path, pyarrow.dataset.Dataset, polars.LazyFrame, iterator, or function that returns an iterator
        See :mod:`hoeffding.chunks`. An iterator can be read once only, a function is called for every pass.
    target : str or list of str, optional
        The columns with the values to fit.
    weight : str, optional
        The column with the weights of the rows.
    features : list of str, optional
        The columns to take as features; by default all others. No other columns are read.
    chunk_rows : int
        Rows of a chunk; an iterator gives chunks of its own.
    checkpoint : path, optional
        A file to write the sums to now and then; if it is there, reading goes on where it stopped.
    checkpoint_seconds : float
        How often.

    Examples
    --------
    >>> import hoeffding
    >>> chunks = lambda: iter([([[0, 1], [1, 1]], [1.0, 2.0]), ([[0, 0], [1, 0]], [3.0, 4.0])])
    >>> stream = hoeffding.Stream(chunks)
    >>> [chunk.n_rows for chunk in stream.chunks()]
    [2, 2]
    """

    source: Any
    target: Any = None
    weight: str | None = None
    features: Sequence[str] | None = None
    chunk_rows: int = CHUNK_ROWS
    checkpoint: str | PathLike[str] | None = None
    checkpoint_seconds: float = 60.0

    def __post_init__(self) -> None:
        as_count("chunk_rows", self.chunk_rows, least=1)
        if not is_stream(self.source) or isinstance(self.source, Stream):
            raise TypeError(
                f"source: {type(self.source).__name__} is not read in chunks; give a path, a pyarrow.dataset, a "
                f"polars.LazyFrame, an iterator of chunks or a function that returns one"
            )

    @property
    def columns(self) -> Columns:
        return Columns.read(self.target, self.weight)

    def open(self) -> Source:
        """The source, opened for reading."""
        return opened(self.source)

    def chunks(
        self, skip: int = 0, source: Source | None = None, features: tuple[str, ...] | None = None
    ) -> Iterator[Chunk]:
        """The chunks after the first ``skip``, all with the features of the first one in their order."""
        source, columns = self.open() if source is None else source, self.columns
        needed = None if self.features is None else [*self.features, *columns.all]
        if needed is not None and features is None:
            features = tuple(self.features or ())
        for number, given in enumerate(source.tables(skip, self.chunk_rows, needed), start=skip):
            chunk = as_chunk(given, columns, features, number, exact=needed is None)
            features = features_of(chunk.X)
            yield replace(chunk, as_given=source.as_given)


def as_chunk(given: Any, columns: Columns, features: tuple[str, ...] | None, number: int, exact: bool = True) -> Chunk:
    """A table, or a tuple of rows, targets and weights, with these features; None takes those it has."""
    X, y, w = (*given, None)[:3] if isinstance(given, tuple) else (given, None, None)
    frame = data_frame(X)
    if frame is None or isinstance(given, tuple):
        chunk = _of_arrays(X, y, w, columns, number)
        return chunk if features in {None, features_of(chunk.X)} else _reordered(chunk, features or ())
    found = columns.features_of(tuple(map(str, frame.columns))) if features is None else features
    return columns.split(frame, found, number, exact)


def is_stream(X: Any) -> bool:
    """Whether these rows are read a chunk at a time (Dask collections are another matter)."""
    if isinstance(X, str | PathLike | Stream):
        return True
    kinds = {(c.__module__.split(".")[0], c.__name__) for c in type(X).__mro__}
    if ("pyarrow", "Dataset") in kinds or ("polars", "LazyFrame") in kinds:
        return True
    return hasattr(X, "__next__") or (callable(X) and not hasattr(X, "shape"))


def opened(source: Any, text: Sequence[str] = ()) -> Source:
    """What reads a source; of a CSV file these columns are text, whatever they look like."""
    if isinstance(source, str | PathLike):
        return _of_path(Path(fspath(source)), text)
    if type(source).__module__.startswith("pyarrow") and hasattr(source, "get_fragments"):
        return _Dataset(source)
    if type(source).__module__.startswith("polars"):
        return _Lazy(source)
    if hasattr(source, "__next__"):
        return _Iterator(source)
    return _Function(source)


# -- tables of Arrow --------------------------------------------------------------------------------------------------


def files_of(source: Any) -> list[Path]:
    """The files that a source is known to read; a folder stands for all that is in it."""
    if isinstance(source, Stream):
        return files_of(source.source)
    if isinstance(source, str | PathLike):
        return [Path(fspath(source))]
    parts = getattr(source, "children", [source]) if hasattr(source, "get_fragments") else []
    local = [p for p in parts if getattr(getattr(p, "filesystem", None), "type_name", "") == "local"]
    return [Path(name) for part in local for name in part.files]


def format_of(path: Path) -> str | None:
    """What a file holds by its name: "csv", "parquet" or "feather", None if it is not known."""
    name = path.name.lower()
    kind = FORMATS.get(Path(name.removesuffix(".gz")).suffix)
    return None if name.endswith(".gz") and kind != "csv" else kind


def separator_of(line: str) -> str:
    """The sign that separates the columns of a CSV file with this first line.

    >>> separator_of("a;b, c;d")
    ';'
    """
    return max(SEPARATORS, key=line.count)


def _of_path(path: Path, text: Sequence[str]) -> Source:
    try:
        import pyarrow.dataset as ds
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{path}: {MISSING_PYARROW}") from error
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file or folder")
    kind: Any = format_of(path) if path.is_file() else "parquet"
    if kind is None:
        raise ValueError(f"{path}: files are read if they end in {ENDINGS}; or pass a pyarrow.dataset")
    try:
        if kind != "csv":
            return _Dataset(ds.dataset(path, format=kind))
        parse, convert = _csv(path, text)
        dataset = ds.dataset(path, format=ds.CsvFileFormat(parse_options=parse, convert_options=convert))
        beyond = _beyond_integers(path, dataset.schema, parse)
    except (OSError, ValueError, EOFError) as error:
        raise OSError(f"{path}: cannot be read: {error}") from error
    if beyond:
        raise ValueError(
            f"{path}: column {beyond[0]!r} holds integers beyond 2^53, which double precision cannot tell apart; "
            f"divide them, or pass a pyarrow.dataset that reads them as text (which is read as categories)"
        )
    return _Dataset(dataset)


def _csv(path: Path, text: Sequence[str]) -> tuple[Any, Any]:
    """How to parse and to convert: a gap is written as pandas knows it, in columns of text too."""
    import gzip

    from pyarrow import csv

    with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
        first = next(filter(bytes.strip, iter(lambda: file.readline(2**20), b"")), b"")
    gaps = [*csv.ConvertOptions().null_values, "<NA>", "None"]
    return csv.ParseOptions(delimiter=separator_of(first.decode(errors="replace"))), csv.ConvertOptions(
        null_values=gaps, strings_can_be_null=True, column_types=dict.fromkeys(text, "string")
    )


def _beyond_integers(path: Path, schema: Any, parse: Any) -> list[str]:
    """Columns of integers too large for their type, which Arrow would read as floating point, rounded in silence."""
    import pyarrow.compute as pc
    from pyarrow import csv

    doubles = [field.name for field in schema if str(field.type) == "double"]
    if not doubles:
        return []
    options = csv.ConvertOptions(include_columns=doubles, column_types=dict.fromkeys(doubles, "string"))
    with csv.open_csv(path, parse_options=parse, convert_options=options) as reader:
        block = reader.read_next_batch()
    found = []
    for name, column in zip(doubles, block.columns, strict=True):
        whole = pc.match_substring_regex(column, r"^[+-]?\d+$")
        other = pc.and_not(pc.match_substring_regex(column, r"\d"), whole)
        if not pc.any(other).as_py() and pc.any(pc.match_substring_regex(column, BEYOND)).as_py():
            found.append(name)
    return found


@dataclass(frozen=True, eq=False)
class _Dataset:
    """A ``pyarrow.dataset.Dataset``."""

    dataset: Any
    rereadable: bool = True

    def fingerprint(self) -> str:
        files = [Path(name) for name in getattr(self.dataset, "files", [])]
        marks = [(str(file), _mark(file)) for file in files if file.exists()]
        return f"{self.dataset.schema.to_string(show_schema_metadata=False)} {marks}"

    def tables(self, skip: int, chunk_rows: int, needed: Sequence[str] | None) -> Iterator[Any]:
        absent = [name for name in needed or () if name not in self.dataset.schema.names]
        if absent:
            names = ", ".join(self.dataset.schema.names[:12])
            raise ValueError(f"source: no column {absent[0]!r}; the columns are {names}")
        index = (self.dataset.schema.pandas_metadata or {}).get("index_columns", [])
        if needed is None and any(isinstance(name, str) for name in index):  # the row labels of pandas
            needed = [name for name in self.dataset.schema.names if name not in index]
        return _cut(self._batches(needed), skip, chunk_rows)

    def _batches(self, needed: Sequence[str] | None) -> Iterator[Any]:
        import pyarrow as pa

        rows = 0
        try:
            for batch in self._scan(needed, READ_AHEAD):
                rows += batch.num_rows
                yield batch
        except (OSError, pa.ArrowException):  # it may be of a batch far ahead: what comes before is read one by one
            to_skip = rows
        else:
            return
        try:
            for batch in self._scan(needed, 0):
                skipped = min(to_skip, batch.num_rows)
                to_skip -= skipped
                if skipped < batch.num_rows:
                    rows += batch.num_rows - skipped
                    yield batch.slice(skipped)
        except (OSError, pa.ArrowException) as error:
            files = ", ".join(getattr(self.dataset, "files", [])[:3]) or "the dataset"
            advice = TYPES if "CSV conversion error" in str(error) else ""
            raise OSError(f"{files}: cannot be read after row {rows}: {error}{advice}") from error

    def _scan(self, needed: Sequence[str] | None, ahead: int) -> Iterator[Any]:
        import pyarrow.dataset as ds

        options: dict[str, Any] = {"batch_readahead": ahead, "fragment_readahead": 1}
        if str(getattr(getattr(self.dataset, "format", None), "default_extname", "")) == "parquet":
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                page_checksum_verification=True,
                pre_buffer=False,  # whose buffers of a file are kept until it is read to the end
            )
        return iter(self.dataset.to_batches(columns=needed, batch_size=BATCH_ROWS, **options))

    def as_given(self, X: Any) -> Any:
        return X.to_pandas()


@dataclass(frozen=True, eq=False)
class _Lazy:
    """A ``polars.LazyFrame``."""

    frame: Any
    rereadable: bool = True

    def fingerprint(self) -> str:
        return str(self.frame.explain(optimized=False))

    def tables(self, skip: int, chunk_rows: int, needed: Sequence[str] | None) -> Iterator[Any]:
        if not hasattr(self.frame, "collect_batches"):
            raise TypeError("source: this polars cannot collect a LazyFrame in batches; upgrade it, or sink to Parquet")
        frame = self.frame if needed is None else self.frame.select(needed)
        frames = frame.collect_batches(chunk_size=chunk_rows, maintain_order=True)
        return _cut((batch for part in frames for batch in part.to_arrow().to_batches()), skip, chunk_rows)

    def as_given(self, X: Any) -> Any:
        import polars as pl

        return pl.from_arrow(X)


def _mark(file: Path) -> str:
    """What tells a file from others: of Parquet its footer, which a repaired copy has too; else its size and time."""
    with file.open("rb") as f:
        f.seek(max(file.stat().st_size - 8, 0))
        end = f.read(8)
        if end[4:] == b"PAR1":
            f.seek(max(file.stat().st_size - 8 - int.from_bytes(end[:4], "little"), 0))
            return hashlib.sha256(f.read()).hexdigest()
    return f"{file.stat().st_size} {file.stat().st_mtime_ns}"


def _cut(batches: Iterable[Any], skip: int, chunk_rows: int) -> Iterator[Any]:
    """Tables of ``chunk_rows`` rows each (the last may have fewer), wherever the batches end; the first are skipped."""
    import pyarrow as pa

    held: list[Any] = []
    n_held, to_skip = 0, skip * chunk_rows
    schema = None
    for batch in batches:
        schema = batch.schema
        if to_skip >= batch.num_rows:
            to_skip -= batch.num_rows
            continue
        held.append(batch.slice(to_skip))
        n_held += batch.num_rows - to_skip
        to_skip = 0
        while n_held >= chunk_rows:
            table = pa.Table.from_batches(held, schema)
            yield table.slice(0, chunk_rows)
            held = table.slice(chunk_rows).to_batches()
            n_held -= chunk_rows
    if n_held:
        yield pa.Table.from_batches(held, schema)


# -- iterators --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Iterator:
    """An iterator, which can be read once."""

    iterator: Any
    rereadable: bool = False

    def fingerprint(self) -> str:
        return "an iterator"

    def tables(self, skip: int, chunk_rows: int, needed: Sequence[str] | None) -> Iterator[Any]:
        return _checked(self.iterator, skip)

    def as_given(self, X: Any) -> Any:
        return X


@dataclass(frozen=True, eq=False)
class _Function:
    """A function that returns an iterator."""

    function: Any
    rereadable: bool = True

    def fingerprint(self) -> str:
        return f"the function {getattr(self.function, '__qualname__', type(self.function).__name__)}"

    def tables(self, skip: int, chunk_rows: int, needed: Sequence[str] | None) -> Iterator[Any]:
        return _checked(iter(self.function()), skip)

    def as_given(self, X: Any) -> Any:
        return X


def _checked(chunks: Iterator[Any], skip: int) -> Iterator[Any]:
    """Chunks as tables, or triples of rows, targets and weights."""
    for number, chunk in enumerate(chunks):
        if number < skip:
            continue
        if isinstance(chunk, tuple):
            if len(chunk) not in {2, 3}:
                raise ValueError(f"chunk {number}: a tuple of {len(chunk)}; expected (X, y) or (X, y, sample_weight)")
            yield (*chunk, None)[:3]
        else:
            yield _as_table(chunk)


def _as_table(chunk: Any) -> Any:
    if type(chunk).__name__ == "RecordBatch" and type(chunk).__module__.startswith("pyarrow"):
        import pyarrow as pa

        return pa.Table.from_batches([chunk])
    return chunk


def _of_arrays(X: Any, y: Any, w: Any, columns: Columns, number: int) -> Chunk:
    """A chunk whose targets and weights stand beside the rows."""
    if columns.all:
        raise ValueError(
            f"chunk {number}: rows without a column {columns.all[0]!r}; give data frames, or pairs (X, y) without "
            f"naming a target"
        )
    X = X if hasattr(X, "shape") or data_frame(X) is not None else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"chunk {number}: expected rows, shape (n, d), got shape {X.shape}")
    n = int(X.shape[0])
    values = None if y is None else as_real("y", y)
    if values is not None and (values.ndim not in {1, 2} or len(values) != n):
        raise ValueError(f"chunk {number}: y: expected one value (or row of values) for each of {n} rows")
    chunk = Chunk(X, values, None, number)
    return chunk if w is None else _weighted(chunk, "sample_weight", w)


def _weighted(chunk: Chunk, name: str, weights: Any) -> Chunk:
    """The chunk with weights; without rows if they weigh nothing."""
    w = as_real(name, weights)
    if w.any() and len(w) == chunk.n_rows:
        return replace(chunk, weight=as_weights(name, w, chunk.n_rows))
    if w.shape != (chunk.n_rows,):
        raise ValueError(f"chunk {chunk.number}: {name}: expected one weight per row, got shape {w.shape}")
    y = None if chunk.y is None else chunk.y[:0]
    return replace(chunk, X=chunk.X[:0], y=y, weight=w[:0])


def features_of(X: Any) -> tuple[str, ...]:
    """The names of the columns of a data frame; ``x0``, ``x1``, ... of an array."""
    frame = data_frame(X)
    return tuple(f"x{j}" for j in range(X.shape[1])) if frame is None else tuple(map(str, frame.columns))


def _reordered(chunk: Chunk, features: tuple[str, ...]) -> Chunk:
    """A chunk with the columns of the first one, in their order; an error if it has others."""
    frame = data_frame(chunk.X)
    if frame is None:
        raise ValueError(f"chunk {chunk.number}: has {chunk.X.shape[1]} columns, the first one has {len(features)}")
    return replace(chunk, X=Columns().split(frame, features, chunk.number).X)
