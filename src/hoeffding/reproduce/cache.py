"""Arrays that took long to compute, kept in the cache folder under a hash of all they depend on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.datasets.sources import cache_folder

Arrays = dict[str, npt.NDArray[Any]]


def kept(name: str, content: Sequence[Any], compute: Callable[[], Arrays]) -> Arrays:
    """The arrays that ``compute`` returns, from the cache if it ran before with the same ``content``.

    ``content`` holds arrays and what JSON can say: data, settings, seeds, versions.
    """
    folder = cache_folder() / "reproduce"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{digest(content)}.npz"
    if not path.exists():
        partial = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(partial, allow_pickle=False, **compute())
        partial.replace(path)
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)


def digest(content: Sequence[Any]) -> str:
    """A hash of arrays and of what JSON can say."""
    found = hashlib.sha256()
    for part in content:
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype} {part.shape}\n".encode())
            found.update(np.ascontiguousarray(part).tobytes())
        else:
            found.update(json.dumps(part, sort_keys=True).encode() + b"\n")
    return found.hexdigest()[:16]
