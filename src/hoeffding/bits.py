"""Rows of bits: reading them from arrays and tables, merging equal rows, packing columns into words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BitRows = npt.NDArray[np.uint8]


def as_bits(X: npt.ArrayLike, name: str) -> BitRows:
    """Read an ``(n, d)`` array of booleans or of numbers that are all 0 or 1; refuse anything else.

    ``name`` is the argument that errors speak of.
    """
    a = np.asarray(X)
    if a.ndim != 2:
        raise ValueError(f"{name}: expected rows of bits, shape (n, d), got shape {a.shape}")
    if a.dtype.kind not in "buif":
        raise TypeError(f"{name}: expected booleans or the numbers 0 and 1, got dtype {a.dtype}")
    bits = a.astype(np.uint8) if a.dtype.kind == "b" else (a == 1).astype(np.uint8)
    wrong = (a != bits) if a.dtype.kind != "b" else np.zeros(a.shape, np.bool_)
    if wrong.any():
        column = int(np.flatnonzero(wrong.any(axis=0))[0])
        found = ", ".join(map(str, np.unique(a[wrong[:, column], column])[:3]))
        raise ValueError(
            f"{name}: column {column} holds values other than 0 and 1 (such as {found}); "
            f"compare it with a threshold, or encode it one-hot, first"
        )
    return bits


def merge_rows(bits: BitRows) -> tuple[BitRows, npt.NDArray[np.intp]]:
    """The distinct rows in lexicographic order, and for each row given the position of its distinct row."""
    n, d = bits.shape
    packed = np.packbits(bits, axis=1)
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
