r"""Arrays and plain facts as bytes: to send sums between machines and to keep them in a file. Nothing is executed.

==================  ===================================================================================
8 bytes             ``\x89hoeff\r\n``
8 bytes             length of the description, little-endian
description         JSON: kind, version, facts, and of every array name, type and shape
arrays              one after the other, C order, little-endian, not compressed
32 bytes            SHA-256 of everything before
==================  ===================================================================================
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]

MAGIC = b"\x89hoeff\r\n"
DIGEST = 32
TYPES = {"<i8", "<f8", "<u8", "<u4", "<u2", "|u1", "|b1"}


def to_bytes(kind: str, version: int, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Facts, ready for JSON, and arrays as one string of bytes."""
    plain = {name: np.ascontiguousarray(a, a.dtype.newbyteorder("<")) for name, a in arrays.items()}
    listed = [[name, plain[name].dtype.str, list(a.shape)] for name, a in arrays.items()]
    described = json.dumps({"kind": kind, "version": version, "facts": facts, "arrays": listed}, allow_nan=False)
    head = described.encode()
    body = b"".join([MAGIC, len(head).to_bytes(8, "little"), head, *(a.tobytes() for a in plain.values())])
    return body + hashlib.sha256(body).digest()


def from_bytes(kind: str, version: int, data: bytes) -> tuple[dict[str, Any], Arrays]:
    """The inverse of :func:`to_bytes`; what is no such string, or damaged, is a ValueError that says so."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"data: expected bytes, got {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(MAGIC) or len(data) < len(MAGIC) + 8 + DIGEST:
        raise ValueError(f"data: not the bytes of {kind}")
    body, digest = data[:-DIGEST], data[-DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        raise ValueError("data: damaged, its checksum is another one; some bytes are lost or changed")
    start = len(MAGIC) + 8
    end = start + int.from_bytes(body[len(MAGIC) : start], "little")
    described = json.loads(body[start:end])
    if described["kind"] != kind:
        raise ValueError(f"data: holds {described['kind']}, not {kind}")
    if described["version"] != version:
        raise ValueError(
            f"data: {kind} of version {described['version']}, and this hoeffding reads version {version}; "
            f"use the same version at both ends"
        )
    return described["facts"], _arrays(described["arrays"], body[end:])


def _arrays(listed: list[tuple[str, str, list[int]]], body: bytes) -> Arrays:
    arrays, at = {}, 0
    for name, dtype, shape in listed:
        if dtype not in TYPES:
            raise ValueError(f"data: array {name!r} is of type {dtype}, which is none of hoeffding's")
        n_bytes = np.dtype(dtype).itemsize * prod(shape)
        if at + n_bytes > len(body):
            raise ValueError(f"data: array {name!r} is longer than the data")
        native = np.dtype(dtype).newbyteorder("=")
        arrays[name] = np.frombuffer(body, dtype, prod(shape), at).astype(native).reshape(shape)
        at += n_bytes
    if at != len(body):
        raise ValueError("data: longer than its description says")
    return arrays
