"""Arrays that took long to compute, kept in the cache folder under a hash of all they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.datasets.sources import cache_folder

Arrays = dict[str, npt.NDArray[Any]]
Costs = dict[str, dict[str, Any]]

SECONDS = "seconds of the computation"
_COSTS: ContextVar[Costs | None] = ContextVar("costs", default=None)


def kept(name: str, content: Sequence[Any], compute: Callable[[], Arrays]) -> Arrays:
    """The arrays that ``compute`` returns, from the cache if it ran before with the same ``content``.

    ``content`` holds arrays and what JSON can say: data, settings, seeds, versions.
    """
    folder = cache_folder() / "reproduce"
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{digest(content)}.npz"
    reused = path.exists()
    if not reused:
        start = time.perf_counter()
        found = compute()
        seconds = np.array(time.perf_counter() - start)
        partial = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(partial, allow_pickle=False, **found, **{SECONDS: seconds})
        partial.replace(path)
    with np.load(path, allow_pickle=False) as arrays:
        found = dict(arrays)
    seconds = found.pop(SECONDS)
    costs = _COSTS.get()
    if costs is not None:
        costs[path.stem] = {"seconds": float(seconds), "reused": reused}
    return found


@contextmanager
def counted() -> Iterator[Costs]:
    """What the arrays asked for meanwhile have cost, and which of them came from the cache."""
    costs: Costs = {}
    token = _COSTS.set(costs)
    try:
        yield costs
    finally:
        _COSTS.reset(token)


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
