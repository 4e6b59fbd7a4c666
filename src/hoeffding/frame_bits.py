"""Data frames of zeros and ones as packed columns, one column at a time: no dense copy, no floating point.

Arrow keeps booleans as bits in the order that packed columns have, so that those are copied as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]


def pack_frame(frame: Any) -> Words | None:
    """The columns of a narwhals data frame, packed, shape ``(d, words)``; None if some entry is neither 0 nor 1.

    Row r is bit ``r % 64`` of word ``r // 64``; padding is zero.
    """
    n = len(frame)
    out = np.zeros((len(frame.columns), 8 * max(-(-n // 64), 1)), np.uint8)
    for packed, series in zip(out, frame.iter_columns(), strict=True):
        native = series.to_native()
        found = _arrow_bits(native, n) if hasattr(native, "combine_chunks") else _array_bits(series.to_numpy())
        if found is None:
            return None
        packed[: len(found)] = found
    return out.view("<u8").astype(np.uint64, copy=False)


def _arrow_bits(column: Any, n: int) -> npt.NDArray[np.uint8] | None:
    """A pyarrow column as packed bytes."""
    array = column.combine_chunks()
    if hasattr(array, "num_chunks"):  # of no chunk at all, or of more than one array can hold
        return _array_bits(column.to_numpy())
    if array.null_count:
        return None
    if str(array.type) != "bool" or array.offset % 8:
        return _array_bits(array.to_numpy(zero_copy_only=False))
    first = array.offset // 8
    found: npt.NDArray[np.uint8] = np.frombuffer(array.buffers()[1], np.uint8)[first : first + -(-n // 8)].copy()
    if n % 8:
        found[-1] &= (1 << n % 8) - 1
    return found


def _array_bits(a: npt.NDArray[Any]) -> npt.NDArray[np.uint8] | None:
    """An array of zeros and ones of any type, shape ``(n,)``, as packed bytes."""
    if a.dtype.kind not in "buif":
        return None
    if a.dtype.kind != "b":
        bits: npt.NDArray[np.bool_] = a == 1
        if (a != bits).any():
            return None
        a = bits
    return np.packbits(a, bitorder="little")
