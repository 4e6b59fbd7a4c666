"""Reading UBJSON, the binary form of JSON in which XGBoost gives its models: long arrays of numbers arrive as arrays.

Universal Binary JSON, draft 12, https://ubjson.org.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
SCALARS = {
    "i": struct.Struct(">b"),
    "U": struct.Struct(">B"),
    "I": struct.Struct(">h"),
    "l": struct.Struct(">i"),
    "L": struct.Struct(">q"),
    "d": struct.Struct(">f"),
    "D": struct.Struct(">d"),
}
CONSTANTS = {"Z": None, "T": True, "F": False}


def read_ubjson(data: bytes) -> Any:
    r"""The value in ``data``; arrays of one type of number become NumPy arrays.

    >>> read_ubjson(b"{i\x01ai\x05i\x01b[$U#i\x02\x07\x08")
    Traceback (most recent call last):
    ...
    ValueError: data: ends too early
    >>> read_ubjson(b"{i\x01ai\x05i\x01b[$U#i\x02\x07\x08}")
    {'a': 5, 'b': array([7, 8], dtype=uint8)}
    """
    try:
        return _Reader(data).value()
    except (IndexError, UnicodeDecodeError):
        raise ValueError("data: ends too early") from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def value(self) -> Any:
        return self.value_of(self.marker())

    def value_of(self, kind: str) -> Any:
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind in CONSTANTS:
            return CONSTANTS[kind]
        if kind in "SC":
            return self.text(1 if kind == "C" else self.length())
        if kind == "[":
            return self.array()
        if kind == "{":
            return self.object()
        raise ValueError(f"data: unknown marker {kind!r} at byte {self.at - 1}")

    def marker(self) -> str:
        self.at += 1
        return chr(self.data[self.at - 1])

    def take(self, wanted: str) -> bool:
        """Step over the marker ``wanted`` if it comes next."""
        found = chr(self.data[self.at]) == wanted
        self.at += found
        return found

    def length(self) -> int:
        return int(self.value())

    def text(self, size: int) -> str:
        self.at += size
        if self.at > len(self.data):
            raise IndexError
        return self.data[self.at - size : self.at].decode()

    def number(self, form: struct.Struct) -> Any:
        self.at += form.size
        if self.at > len(self.data):
            raise IndexError
        return form.unpack_from(self.data, self.at - form.size)[0]

    def numbers(self, kind: str, count: int) -> Any:
        dtype = np.dtype(NUMBERS[kind])
        start, self.at = self.at, self.at + count * dtype.itemsize
        if self.at > len(self.data):
            raise IndexError
        return np.frombuffer(self.data, dtype, count, start).astype(dtype.newbyteorder("="))

    def array(self) -> Any:
        if self.take("$"):
            kind = self.marker()
            if not self.take("#"):
                raise ValueError(f"data: an array with a type but no length at byte {self.at}")
            count = self.length()
            return self.numbers(kind, count) if kind in NUMBERS else [self.value_of(kind) for _ in range(count)]
        if self.take("#"):
            return [self.value() for _ in range(self.length())]
        out = []
        while not self.take("]"):
            out.append(self.value())
        return out

    def object(self) -> dict[str, Any]:
        count = self.length() if self.take("#") else None
        out: dict[str, Any] = {}
        while len(out) < count if count is not None else not self.take("}"):
            key = self.text(self.length())
            out[key] = self.value()
        return out
