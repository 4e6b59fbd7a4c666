"""What is summed over chunks: moments of bits, and what the columns of a table hold.

:func:`count` puts both together: bits are counted as they are, in one pass; if a column is not bits, a first pass
learns the encoding from what all columns hold, a second counts its bits, and bits that turn out constant or equal to
others are left out, as :meth:`hoeffding.Encoding.fit` does with the whole table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding import packed
from hoeffding.binarize import Draft, Rules
from hoeffding.bits import BitMatrix, data_frame, refuse_columns
from hoeffding.black_box import Values
from hoeffding.chunks import Chunk, Columns, Stream, features_of, is_stream
from hoeffding.columns import TableReader
from hoeffding.lazy import is_dask
from hoeffding.moments import Moments
from hoeffding.streaming import GivenUpError, Report, Rows, StreamedRows
from hoeffding.summaries import MOST_NUMBERS, Summary
from hoeffding.tables import Encoding

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
ValuesOf = Callable[[Chunk], Values]


class NotBitsError(ValueError):
    """A chunk holds something else than zeros and ones."""


@dataclass(frozen=True)
class ToBits:
    """How the rows of a chunk become bits: by an encoding, a threshold, or as they are."""

    encoding: Encoding | None = None
    binarize: float | None = None

    def __call__(self, chunk: Chunk) -> BitMatrix:
        if self.encoding is not None:
            return self.encoding.transform(chunk.X)
        if isinstance(chunk.X, BitMatrix):
            return chunk.X
        try:
            if self.binarize is not None:
                return BitMatrix.above(_numbers(chunk.X), self.binarize)
            refuse_columns(chunk.X, "X")
            return BitMatrix.from_rows(chunk.X)
        except (TypeError, ValueError) as error:
            raise NotBitsError(f"chunk {chunk.number}: {error}") from error


def _numbers(X: Any) -> Any:
    return X if hasattr(X, "tocsc") else X.to_pandas().to_numpy() if hasattr(X, "combine_chunks") else np.asarray(X)


def given_values(chunk: Chunk) -> Values:
    """The targets that come with the rows."""
    if chunk.y is None:
        raise ValueError(
            "y: the chunks hold rows only; name the target column, or give pairs (X, y), or triples with weights"
        )
    if not np.isfinite(chunk.y).all():
        raise ValueError(f"chunk {chunk.number}: y: must be finite, got NaN or infinite values")
    return Values(chunk.y.reshape(chunk.n_rows, -1), chunk.y.ndim == 1, None, "values")


@dataclass(frozen=True, eq=False)
class Cells:
    """Every cell of the cube of few bits: its weight, and the lowest and highest values there.

    Attributes
    ----------
    weights : (2**d,) float64
        Zero where no row is.
    low, high : (2**d, m)
        Infinite where no row is.
    """

    weights: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, bits: BitMatrix, values: FloatArray, weight: FloatArray | None) -> Cells:
        """Of the rows of a chunk."""
        d, at = bits.n_features, np.zeros(bits.n_rows, np.int64)
        for column in bits.to_rows().T:
            at = 2 * at + column
        low, high = (np.full((2**d, values.shape[1]), s * np.inf) for s in (1, -1))
        there = slice(None) if weight is None else weight > 0
        np.minimum.at(low, at[there], values[there])
        np.maximum.at(high, at[there], values[there])
        return cls(np.bincount(at, weight, 2**d).astype(np.float64), low, high)

    def merge(self, other: Cells) -> Cells:
        """Of both groups of rows."""
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Cells(self.weights + other.weights, low, high)

    def of_features(self, kept: npt.NDArray[np.intp]) -> Cells:
        """Of some bits that determine the others."""
        d = len(self.weights).bit_length() - 1
        points = np.flatnonzero(self.weights)
        new = np.zeros(len(points), np.int64)
        for i in kept.tolist():
            new = 2 * new + (points >> (d - 1 - i) & 1)
        out = Cells.of(BitMatrix(np.zeros((len(kept), 1), np.uint64), 0), self.low[:0], None)
        for theirs, mine in zip((out.weights, out.low, out.high), (self.weights, self.low, self.high), strict=True):
            theirs[new] = mine[points]
        return out


@dataclass(frozen=True, eq=False)
class Sums:
    """Moments of chunks, and what their targets are.

    Attributes
    ----------
    moments : Moments
    single : bool
        Whether the targets are one function, so that they have no output axis.
    names : tuple of str or None
        Of the outputs.
    words : str
        What the targets are.
    cells : Cells or None
        If there are few bits and somebody wants them.
    """

    moments: Moments
    single: bool
    names: tuple[str, ...] | None
    words: str
    cells: Cells | None = None

    def merge(self, other: Sums) -> Sums:
        """The sums over the rows of both."""
        if self.single != other.single or self.names != other.names:
            raise ValueError("y: some chunks have one value for each row, others a row of values, or other outputs")
        if self.cells is not None and other.cells is not None:
            mine, theirs = replace(self, cells=None), replace(other, cells=None)
            return replace(mine.merge(theirs), cells=self.cells.merge(other.cells))
        alike = np.array_equal(self.moments.flip, other.moments.flip)
        if alike and np.array_equal(self.moments.offset, other.moments.offset):
            return replace(self, moments=self.moments + other.moments)
        return replace(self, moments=Moments.merge([self.moments, other.moments]))

    def nothing(self) -> Sums:
        """The coding, and no rows."""
        return replace(self, moments=self.moments.nothing(), cells=None)

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        cells = () if self.cells is None else (self.cells.weights, self.cells.low, self.cells.high)
        return self.moments.nbytes + sum(a.nbytes for a in cells)

    def to_bytes(self) -> bytes:
        facts = {"single": self.single, "names": None if self.names is None else list(self.names), "words": self.words}
        arrays: dict[str, npt.NDArray[Any]] = {"moments": np.frombuffer(self.moments.to_bytes(), np.uint8)}
        if self.cells is not None:
            arrays |= {"cells": self.cells.weights, "low": self.cells.low, "high": self.cells.high}
        return packed.to_bytes("sums", 1, facts, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> Sums:
        """The inverse of :meth:`to_bytes`."""
        facts, arrays = packed.from_bytes("sums", 1, data)
        names = None if facts["names"] is None else tuple(facts["names"])
        cells = Cells(arrays["cells"], arrays["low"], arrays["high"]) if "cells" in arrays else None
        return cls(Moments.from_bytes(arrays["moments"].tobytes()), facts["single"], names, facts["words"], cells)


@dataclass(frozen=True)
class CountBits:
    """Moments of all sets of bits up to twice an order; and every cell of the cube of at most ``few_bits``."""

    to_bits: ToBits
    order: int
    values: ValuesOf = given_values
    few_bits: int = 0
    name: str = "moments"

    def prepare(self, chunk: Chunk) -> Values:
        return self.values(chunk)

    def count(self, chunk: Chunk, prepared: Values, like: Sums | None, n_jobs: int) -> Sums:
        bits = self.to_bits(chunk)
        first = None if like is None else like.moments
        order = min(self.order, bits.n_features)
        moments = Moments.from_chunk(bits, prepared.at_rows, chunk.weight, order=order, like=first, n_jobs=n_jobs)
        few = bits.n_features <= self.few_bits
        cells = Cells.of(bits, prepared.at_rows, chunk.weight) if few else None
        return Sums(moments, prepared.single, prepared.names, prepared.words, cells)

    def from_bytes(self, data: bytes) -> Sums:
        return Sums.from_bytes(data)


@dataclass(frozen=True, eq=False)
class Held:
    """What every column of a table holds."""

    columns: tuple[str, ...]
    summaries: tuple[Summary, ...]

    def merge(self, other: Held) -> Held:
        """What the rows of both hold."""
        both = zip(self.columns, self.summaries, other.summaries, strict=True)
        return Held(self.columns, tuple(mine.merge(theirs, name) for name, mine, theirs in both))

    def nothing(self) -> None:
        return None

    @property
    def nbytes(self) -> int:
        """The bytes of the different values and their counts."""
        return 16 * sum(len(held.counts) for held in self.summaries)

    def to_bytes(self) -> bytes:
        facts: dict[str, Any] = {"columns": list(self.columns), "summaries": []}
        arrays: dict[str, npt.NDArray[Any]] = {}
        for i, held in enumerate(self.summaries):
            labels = list(held.levels) if held.kind == "labels" else None
            facts["summaries"].append([held.kind, labels, held.n_rows, held.n_missing, held.cut])
            arrays[f"counts_{i}"] = held.counts
            if held.kind == "numbers":
                arrays[f"numbers_{i}"] = held.numbers
        return packed.to_bytes("what columns hold", 1, facts, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> Held:
        """The inverse of :meth:`to_bytes`."""
        facts, arrays = packed.from_bytes("what columns hold", 1, data)
        summaries = [
            Summary(
                kind, arrays[f"numbers_{i}"] if kind == "numbers" else tuple(labels or ()), arrays[f"counts_{i}"], *n
            )
            for i, (kind, labels, *n) in enumerate(facts["summaries"])
        ]
        return cls(tuple(facts["columns"]), tuple(summaries))


@dataclass(frozen=True)
class Summarise:
    """What the columns hold."""

    name: str = "what columns hold"

    def prepare(self, chunk: Chunk) -> None:
        return None

    def count(self, chunk: Chunk, prepared: None, like: None, n_jobs: int) -> Held:
        table = TableReader.open(chunk.X)
        held = [Summary.of(table.read(j), MOST_NUMBERS) for j in range(len(table.names))]
        return Held(table.names, tuple(held))

    def from_bytes(self, data: bytes) -> Held:
        return Held.from_bytes(data)


@dataclass(frozen=True, eq=False)
class Counted:
    """Rows in chunks, counted.

    Attributes
    ----------
    sums : Sums
        In the coding that all rows at once would have chosen.
    names : tuple of str
        Of the bits.
    encoding : Encoding or None
        How columns become bits, where they are not bits themselves.
    report : Report
    notes : str
        What was rounded in learning the encoding; empty if nothing was.
    """

    sums: Sums
    names: tuple[str, ...]
    encoding: Encoding | None
    report: Report
    notes: str = ""

    @property
    def moments(self) -> Moments:
        return self.sums.moments


def is_chunked(X: Any) -> bool:
    """Whether rows are read in chunks: a stream, or a Dask collection."""
    return is_stream(X) or is_dask(X)


def rows_of(X: Any, y: Any, sample_weight: Any, about: dict[str, Any]) -> Rows:
    """Open rows that are read in chunks; ``about`` are the settings that a checkpoint must agree with."""
    if is_dask(X):
        from hoeffding.dask import DaskRows

        return DaskRows.read(X, y, sample_weight)
    stream = X if isinstance(X, Stream) else Stream(X)
    for argument, given, known in (("y", y, "target"), ("sample_weight", sample_weight, "weight")):
        if given is not None:
            if getattr(stream, known) is not None:
                raise ValueError(f"{argument}={given!r}: the Stream names a {known} already; leave one of them out")
            Columns.read(*((given, None) if known == "target" else (None, given)))
            stream = replace(stream, **{known: given})
    return StreamedRows(stream, about)


def names_of(chunk: Chunk) -> tuple[str, ...]:
    """The names of the columns of a chunk."""
    return features_of(chunk.X)


def split_frame(X: Any, y: Any, sample_weight: Any, argument: str = "y") -> tuple[Any, Any, Any]:
    """Rows, targets and weights of a data frame in memory that holds them all, by the names of the columns.

    Errors speak of the ``argument`` that named the targets.
    """
    frame = data_frame(X)
    if frame is None:
        raise TypeError(
            f"{argument}={y!r}: the name of a column goes with a data frame, a path, or another source of tables"
        )
    if isinstance(y, str) and y not in frame.columns:
        raise ValueError(f"{argument}={y!r}: no such column; the columns are {', '.join(map(str, frame.columns[:12]))}")
    weight = sample_weight if isinstance(sample_weight, str) else None
    columns = Columns.read(y, weight)
    chunk = columns.split(frame, columns.features_of(frame.columns), 0)
    return chunk.X, chunk.y, sample_weight if weight is None else chunk.weight


def count(
    rows: Rows,
    order: int,
    *,
    values: ValuesOf = given_values,
    encoding: Encoding | None = None,
    binarize: float | None = None,
    few_bits: int = 0,
    n_jobs: int = -1,
) -> Counted:
    """Count the bits of rows in chunks, learning first what the bits are where that is not known.

    Of up to ``few_bits`` every cell of their cube is counted too.
    """
    step = CountBits(ToBits(encoding, binarize), order, values, few_bits)
    if encoding is not None or binarize is not None:
        found = rows.reduce(step, n_jobs)
        names = found.features if encoding is None else encoding.feature_names
        return Counted(_recoded(found.state), names, encoding, found.report)
    try:
        found = rows.reduce(step, n_jobs)
    except (NotBitsError, GivenUpError) as error:
        rows.give_up(step.name, error)
    else:
        return Counted(_recoded(found.state), found.features, None, found.report)
    return _learned(rows, step, n_jobs)


def _recoded(sums: Sums) -> Sums:
    return replace(sums, moments=sums.moments.recoded().centred())


def _learned(rows: Rows, step: CountBits, n_jobs: int) -> Counted:
    """In two passes: what the columns hold, and the moments of the bits that follow from it."""
    first = rows.reduce(Summarise(), n_jobs)
    held = first.state
    draft = Draft.of_summaries(held.columns, held.summaries, Rules())
    all_bits = Encoding.of_plan((tuple(draft.columns), tuple(draft.bits), {}, ()))
    second = rows.reduce(replace(step, to_bits=ToBits(all_bits), name="moments of learned bits"), n_jobs)
    moments, cells = _recoded(second.state).moments, second.state.cells
    constant, repeats = repeats_of(moments)
    kept = np.flatnonzero(~constant & ~np.isin(np.arange(len(constant)), list(repeats)))
    encoding = Encoding.of_plan(draft.without(constant, repeats, {}))
    cut = [name for name, summary in zip(held.columns, held.summaries, strict=True) if summary.cut]
    notes = ""
    if cut:
        notes = f"thresholds of {', '.join(cut)} from values rounded to {MOST_NUMBERS} different ones"
    report = first.report.then(second.report)
    cells = None if cells is None else cells.of_features(kept)
    sums = replace(second.state, moments=moments.of_features(kept), cells=cells)
    return Counted(sums, encoding.feature_names, encoding, report, notes)


def repeats_of(moments: Moments) -> tuple[BoolArray, dict[int, tuple[int, bool]]]:
    """Bits that are constant, and those that repeat an earlier one or its opposite, from the counts of pairs.

    As :func:`hoeffding.binarize.find_repeats` says it of packed columns.
    """
    d = moments.n_features
    constant = np.zeros(d, np.bool_)
    constant[moments.constant] = True
    varying = np.flatnonzero(~constant)
    pairs = np.stack(np.triu_indices(len(varying), 1), axis=1)
    level = varying[pairs].astype(moments.sets.levels[0].dtype)
    n00, n01, n10, n11 = moments.over_cells(level, moments.counts).T
    same = (n01 == 0) & (n10 == 0)
    opposite = (n00 == 0) & (n11 == 0)
    flipped = moments.flip[level].sum(axis=1) % 2 == 1  # one of the two is inverted in the counts
    repeats: dict[int, tuple[int, bool]] = {}
    for (i, j), inverse in zip(level[same | opposite].tolist(), (opposite ^ flipped)[same | opposite], strict=True):
        repeats.setdefault(j, (i, bool(inverse)))
    return constant, repeats
