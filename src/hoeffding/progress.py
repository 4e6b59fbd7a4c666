"""A progress bar for kernels that run for long: shown on a terminal, if rich is installed, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

LONG = 2e10  # units of work, such as cells visited: some ten seconds


@contextmanager
def progress(description: str, total: float) -> Iterator[FloatArray | None]:
    """Show how far ``total`` units of work have come; yields where the worker counts them.

    Yields None, and shows nothing, if the work is short or nobody would see it.
    """
    bar = _bar() if total >= LONG and sys.stderr.isatty() else None
    if bar is None:
        yield None
        return
    done, finished = np.zeros(1), Event()
    with bar:
        task = bar.add_task(description, total=total)

        def watch() -> None:
            while not finished.wait(0.2):
                bar.update(task, completed=float(done[0]))

        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield done
        finally:
            finished.set()
            watcher.join()
            bar.update(task, completed=float(done[0]))


def _bar() -> Any:
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ModuleNotFoundError:
        return None
    return Progress(console=Console(stderr=True), transient=True)
