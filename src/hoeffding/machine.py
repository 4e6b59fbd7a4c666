"""The machine: how many threads a call may use, and how much memory is left."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

NEGLIGIBLE = 2**20  # bytes: not worth asking the system
MAX_THREADS = 1024
STEPS_OF_A_THREAD = 1e6  # what it costs to start a thread and to wait for it, in simple steps; on a busy machine more


def n_threads(n_jobs: int) -> int:
    """Turn ``n_jobs`` into a number of threads: -1 means all cores this process may use."""
    integer = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not integer or (n_jobs < 1 and n_jobs != -1) or n_jobs > MAX_THREADS:
        raise ValueError(f"n_jobs={n_jobs!r}: give 1 to {MAX_THREADS} threads, or -1 for all cores")
    if n_jobs > 0:
        return int(n_jobs)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def hands(n_jobs: int, steps: float) -> int:
    """How many of the threads that ``n_jobs`` allows are worth starting for so many simple steps of work."""
    return int(min(n_threads(n_jobs), 1 + steps // STEPS_OF_A_THREAD))


@cache
def _linear_algebra() -> Any:
    """The libraries of linear algebra in this process; finding them takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def linear_algebra_threads(threads: int | None) -> AbstractContextManager[Any]:
    """A context in which linear algebra uses so many threads (None: as many as it likes)."""
    return cast(AbstractContextManager[Any], _linear_algebra().limit(limits=threads, user_api="blas"))


def available_memory() -> int | None:
    """Bytes of memory that can be had without swapping, or None where the system does not say."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def readable_bytes(n_bytes: float) -> str:
    """A size for people: ``readable_bytes(3 * 2**30)`` is ``'3.0 GiB'``."""
    if n_bytes >= 2**80:
        return f"2^{int(n_bytes).bit_length() - 1} B"
    size, unit = float(n_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB"):
        if size < 1023.95:  # what would be shown as 1024.0
            break
        size, unit = size / 1024, larger
    return f"{size:.1f} {unit}" if unit != "B" else f"{int(size)} B"


def require_memory(n_bytes: float, what: str, instead: str) -> None:
    """Raise MemoryError if ``what`` would take more memory than there is, saying what to do ``instead``."""
    free = None if n_bytes < NEGLIGIBLE else available_memory()
    if free is not None and n_bytes > free:
        raise MemoryError(f"{what} takes {readable_bytes(n_bytes)}, {readable_bytes(free)} are available; {instead}")
