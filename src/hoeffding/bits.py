"""Rows of bits: reading them from arrays and tables, merging equal rows, packing columns into words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

BitRows = npt.NDArray[np.uint8]


def data_frame(X: Any) -> Any:
    """``X`` as a narwhals data frame if it is one (pandas, polars, pyarrow), else None."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def as_bits(X: Any, name: str) -> BitRows:
    """Read ``(n, d)`` booleans, or numbers that are all 0 or 1, from an array or data frame; refuse anything else.

    ``name`` is the argument that errors speak of.
    """
    frame = data_frame(X)
    a = _as_array(X, name) if frame is None else _to_numpy(frame)
    if a.ndim != 2:
        raise ValueError(f"{name}: expected rows of bits, shape (n, d), got shape {a.shape}")
    if a.dtype.kind not in "buif":
        hint = ", as missing or mixed values give" if a.dtype.kind == "O" else ""
        raise TypeError(f"{name}: expected booleans or the numbers 0 and 1, got dtype {a.dtype}{hint}")
    bits: BitRows = np.asarray(a == 1).astype(np.uint8)
    wrong = a != bits
    if wrong.any():
        column = int(np.flatnonzero(wrong.any(axis=0))[0])
        label = column if frame is None else repr(frame.columns[column])
        found = ", ".join(map(str, np.unique(a[wrong[:, column], column])[:3]))
        raise ValueError(
            f"{name}: column {label} holds values other than 0 and 1 (such as {found}); "
            f"compare it with a threshold, or encode it one-hot, first"
        )
    return bits


def _as_array(X: Any, name: str) -> npt.NDArray[Any]:
    if hasattr(X, "tocsc"):
        raise TypeError(f"{name}: sparse matrices are not read here; pass X.toarray()")
    if hasattr(X, "collect"):
        raise TypeError(f"{name}: a lazy frame holds no rows yet; pass X.collect()")
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
    n, d = bits.shape
    n_words_padded = max(-(-n // 64), 1)
    packed = np.zeros((d, n_words_padded * 8), np.uint8)
    packed[:, : -(-n // 8)] = np.packbits(bits.T, axis=1, bitorder="little")
    return packed.view(np.dtype("<u8")).astype(np.uint64, copy=False)
