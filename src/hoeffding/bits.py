"""Rows of bits: reading them from arrays and tables, merging equal rows, packing columns into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels
from hoeffding.checks import refuse_masked
from hoeffding.frame_bits import pack_frame

BitRows = npt.NDArray[np.uint8]


def data_frame(X: Any) -> Any:
    """``X`` as a narwhals data frame if it is one (pandas, polars, pyarrow), else None."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


BLOCK_BYTES = 2**24  # of unpacked columns at a time
THRESHOLD = "compare it with a threshold"  # the way out for a column of numbers


def as_bits(X: Any, name: str, labels: Sequence[str] = (), way_out: str = THRESHOLD) -> BitRows:
    """Read ``(n, d)`` booleans, or numbers that are all 0 or 1, from an array or data frame; refuse anything else.

    ``name`` is the argument that errors speak of, ``labels`` are the names of the columns if they are known.
    """
    refuse_masked(name, X)
    frame = data_frame(X)
    a = _as_array(X, name) if frame is None else _to_numpy(frame)
    if a.ndim != 2:
        raise ValueError(f"{name}: expected rows of bits, shape (n, d), got shape {a.shape}")
    if a.dtype.kind not in "buif":
        hint = ", as missing or mixed values give" if a.dtype.kind == "O" else ""
        raise TypeError(f"{name}: expected booleans or the numbers 0 and 1, got dtype {a.dtype}{hint}")
    bits: BitRows = np.asarray(a == 1).view(np.uint8)
    wrong = a != bits
    if wrong.any():
        column = int(np.flatnonzero(wrong.any(axis=0))[0])
        found = ", ".join(map(str, np.unique(a[wrong[:, column], column])[:3]))
        _refuse_column(name, column, labels if frame is None else frame.columns, found, way_out)
    return bits


def _refuse_column(name: str, column: int, labels: Sequence[str], found: str, way_out: str) -> None:
    label = repr(labels[column]) if len(labels) else column
    if found in ("nan", "inf", "-inf"):
        words = {"nan": "NaN", "inf": "infinity (inf)", "-inf": "minus infinity (-inf)"}[found]
        raise ValueError(f"{name}: column {label} holds {words}; drop these rows, or fill in what is missing")
    raise ValueError(
        f"{name}: column {label} holds values other than 0 and 1 (such as {found}); {way_out}, or encode it one-hot"
    )


def _first(X: Any, wrong: npt.NDArray[np.bool_]) -> tuple[int, Any]:
    """The column and value of the first entry marked: of an array, or of the data of a csc matrix."""
    if hasattr(X, "tocsc"):
        at = int(np.flatnonzero(wrong)[0])
        return int(np.searchsorted(X.indptr, at, side="right")) - 1, X.data[at]
    column = int(np.flatnonzero(wrong.any(axis=0))[0])
    return column, X[wrong[:, column], column][0]


def refuse_columns(X: Any, name: str) -> None:
    """Refuse masks, lazy frames, and data frames with columns that are neither numbers nor booleans."""
    import narwhals as nw

    refuse_masked(name, X)
    _refuse_lazy(name, X)
    frame = data_frame(X)
    if frame is None or hasattr(X, "sparse"):  # pandas gives a frame that accessor if all its columns are sparse
        return
    for column, dtype in frame.schema.items():
        if not (dtype.is_numeric() or dtype in (nw.Boolean, nw.Object)):
            raise ValueError(f"{name}: column {column!r} holds {dtype}, not bits; encode categories one-hot")


def _refuse_lazy(name: str, X: Any) -> None:
    if hasattr(X, "collect"):
        raise TypeError(f"{name}: a lazy frame holds no rows yet; pass X.collect()")


def _as_array(X: Any, name: str) -> npt.NDArray[Any]:
    if hasattr(X, "tocsc"):
        raise TypeError(f"{name}: sparse matrices are not read here; pass X.toarray()")
    _refuse_lazy(name, X)
    try:
        return np.asarray(X)
    except ValueError as error:
        raise ValueError(f"{name}: not an array of rows, {error}") from None


def _to_numpy(frame: Any) -> npt.NDArray[Any]:
    """A data frame as one array; booleans become numbers, so that columns of both kinds go together."""
    import narwhals as nw
    import narwhals.selectors as ncs

    return np.asarray(frame.with_columns(ncs.boolean().cast(nw.UInt8)).to_numpy())


def merge_rows(bits: BitRows) -> tuple[BitRows, npt.NDArray[np.intp]]:
    """The distinct rows in lexicographic order, and for each row given the position of its distinct row."""
    n, d = bits.shape
    packed = np.ascontiguousarray(np.packbits(bits, axis=1))
    if d == 0:
        return bits[:1], np.zeros(n, np.intp)
    keys = packed.view(f"V{packed.shape[1]}").ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return bits[first], inverse.ravel()


def pack_columns(bits: BitRows) -> npt.NDArray[np.uint64]:
    """Bit-packed columns, shape ``(d, words)``: row r is bit ``r % 64`` of word ``r // 64``; padding is zero.

    >>> pack_columns(np.array([[1, 0], [1, 1], [0, 1]], dtype=np.uint8))
    array([[3],
           [6]], dtype=uint64)
    """
    return _kernels.pack_columns(bits)


@dataclass(frozen=True, eq=False, repr=False)
class BitMatrix:
    """Rows of bits, packed by column: bit ``r % 64`` of word ``r // 64`` of a column is row r.

    Attributes
    ----------
    columns : array, shape (d, n_words_padded), uint64
        The padding behind the last row is zero.
    n_rows : int

    Examples
    --------
    >>> bits = BitMatrix.from_rows([[1, 0, 1], [0, 0, 1]])
    >>> print(bits)
    1.1
    ..1
    >>> bits.ones()
    array([1, 0, 2])
    """

    columns: npt.NDArray[np.uint64]
    n_rows: int

    @classmethod
    def from_rows(cls, X: Any, name: str = "X", labels: Sequence[str] = (), way_out: str = THRESHOLD) -> BitMatrix:
        """Pack an array, a data frame or a scipy sparse matrix (never made dense) of shape ``(n, d)``.

        Errors speak of the argument ``name`` and of the columns as ``labels``, and offer a ``way_out``.
        """
        if hasattr(X, "tocsc"):
            return cls._from_sparse(X.tocsc(copy=True), name, labels, way_out)
        frame = data_frame(X)
        packed = None if frame is None else pack_frame(frame)
        if packed is not None:
            return cls(packed, len(frame))
        bits = as_bits(X, name, labels, way_out)
        return cls(pack_columns(bits), len(bits))

    @classmethod
    def above(cls, X: Any, threshold: float, name: str = "X", labels: Sequence[str] = ()) -> BitMatrix:
        """Whether finite numbers exceed a threshold, for an array or a scipy sparse matrix (never made dense)."""
        sparse = hasattr(X, "tocsc")
        X = X.tocsc() if sparse else np.asarray(X)
        wrong = ~np.isfinite(X.data if sparse else X)
        if wrong.any():
            column, value = _first(X, wrong)
            _refuse_column(name, column, labels, str(value), THRESHOLD)
        if sparse and threshold < 0:  # all zeros are above: list the others
            below = cls.from_rows(threshold >= X, name, labels)
            return below.recoded(np.ones(below.n_features, np.bool_))
        return cls.from_rows(threshold < X, name, labels)

    @classmethod
    def _from_sparse(cls, X: Any, name: str, labels: Sequence[str], way_out: str) -> BitMatrix:
        if X.dtype.kind not in "buif":
            raise TypeError(f"{name}: expected booleans or the numbers 0 and 1, got dtype {X.dtype}")
        X.sum_duplicates()
        X.eliminate_zeros()
        wrong = X.data != 1
        if wrong.any():
            column, value = _first(X, wrong)
            _refuse_column(name, column, labels, str(value), way_out)
        n, d = X.shape
        columns = np.zeros((d, max(-(-n // 64), 1)), np.uint64)
        rows = X.indices.astype(np.uint64)
        column_of = np.repeat(np.arange(d), np.diff(X.indptr))
        np.bitwise_or.at(columns, (column_of, rows // np.uint64(64)), np.uint64(1) << (rows % np.uint64(64)))
        return cls(columns, n)

    @property
    def n_features(self) -> int:
        return len(self.columns)

    def ones(self) -> npt.NDArray[np.int64]:
        """The number of ones in each column, shape ``(d,)``."""
        return np.asarray(np.bitwise_count(self.columns).sum(axis=1, dtype=np.int64))

    def recoded(self, flip: npt.NDArray[np.bool_]) -> BitMatrix:
        """The same rows with the columns marked in ``flip``, shape ``(d,)``, inverted."""
        rows = np.full(self.columns.shape[1], ~np.uint64(0))
        rows[self.n_rows // 64 :] = 0
        if self.n_rows % 64:
            rows[self.n_rows // 64] = (np.uint64(1) << np.uint64(self.n_rows % 64)) - np.uint64(1)
        return BitMatrix(np.where(flip[:, None], self.columns ^ rows, self.columns), self.n_rows)

    def count(self, level: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.int64]:
        """The number of rows in which all bits of a set are one, for sets of one size, shape ``(n_s, s)``."""
        if level.shape[1] == 0:
            return np.full(len(level), self.n_rows)
        block = max(1, 2**22 // self.columns.shape[1])
        counts = [
            np.bitwise_count(np.bitwise_and.reduce(self.columns[level[a : a + block]], axis=1)).sum(
                axis=1, dtype=np.int64
            )
            for a in range(0, len(level), block)
        ]
        return np.concatenate([np.zeros(0, np.int64), *counts])

    def chunks(self, most: int) -> Iterator[tuple[int, BitMatrix]]:
        """The rows in pieces of up to ``most`` (rounded to words of 64), each with the number of its first row."""
        step = max(most // 64, 1)
        for a in range(0, -(-self.n_rows // 64), step):
            columns = np.ascontiguousarray(self.columns[:, a : a + step])
            yield 64 * a, BitMatrix(columns, min(64 * step, self.n_rows - 64 * a))

    def take(self, at: npt.NDArray[np.integer]) -> BitMatrix:
        """The rows at these positions, shape ``(n,)``."""
        out = np.zeros((self.n_features, max(-(-len(at) // 64), 1) * 8), np.uint8)
        for columns, taken in zip(self._column_blocks(self.columns), self._column_blocks(out), strict=True):
            bits = self._unpacked(columns)[:, at]
            taken[:, : -(-len(at) // 8)] = np.packbits(bits, axis=1, bitorder="little")
        return BitMatrix(out.view("<u8").astype(np.uint64, copy=False), len(at))

    def select(self, mask: npt.NDArray[np.bool_]) -> BitMatrix:
        """The rows marked in ``mask``, shape ``(n_rows,)``."""
        return self.take(np.flatnonzero(mask))

    def distinct(self) -> tuple[BitMatrix, npt.NDArray[np.intp]]:
        """The distinct rows in lexicographic order, and for each row given the position of its distinct row."""
        if self.n_features == 0:
            return self.take(np.arange(min(self.n_rows, 1))), np.zeros(self.n_rows, np.intp)
        keys = np.empty((self.n_rows, -(-self.n_features // 8)), np.uint8)
        for byte in range(keys.shape[1]):
            bits = self._unpacked(self.columns[8 * byte : 8 * byte + 8])
            keys[:, byte] = np.packbits(bits, axis=0)[0]
        _, first, inverse = np.unique(keys.view(f"V{keys.shape[1]}").ravel(), return_index=True, return_inverse=True)
        return self.take(first), inverse.ravel()

    def _column_blocks(self, columns: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Columns, a few at a time, so that their rows can be bytes for a moment."""
        block = max(1, BLOCK_BYTES // max(self.n_rows, 1))
        return [columns[a : a + block] for a in range(0, len(columns), block)]

    def _unpacked(self, columns: npt.NDArray[np.uint64]) -> BitRows:
        words = columns.astype("<u8", copy=False)
        return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little", count=self.n_rows)

    def to_rows(self) -> BitRows:
        """The rows as an array of shape ``(n_rows, d)``, uint8."""
        return np.ascontiguousarray(self._unpacked(self.columns).T)

    def __str__(self) -> str:
        return "\n".join("".join(".1"[bit] for bit in row) for row in self.to_rows().tolist())

    def __repr__(self) -> str:
        return f"BitMatrix({self.n_rows} rows of {self.n_features} bits)"


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Rows and what each weighs.

    Attributes
    ----------
    bits : BitMatrix
    weights : (n_rows,) float64 or None
        They need not sum to one. None: all rows weigh the same.
    """

    bits: BitMatrix
    weights: npt.NDArray[np.float64] | None = None
