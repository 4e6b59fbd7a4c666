"""What long work shows: a bar, or a line that says what is being done. Only on a terminal, and if rich is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread, Timer
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

LONG = 2e10  # units of work, such as cells visited: some ten seconds
PATIENCE = 1.0  # seconds before a line appears

_line: ContextVar[Any] = ContextVar("_line", default=None)


@contextmanager
def reporting() -> Iterator[None]:
    """Show the latest :func:`say` of the work in this context, once it has taken a second."""
    console = _console() if sys.stderr.isatty() and _line.get() is None else None
    if console is None:
        yield
        return
    status = console.status("")
    token, timer = _line.set(status), Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
        _line.reset(token)


def say(text: str) -> None:
    """What is being done now, for whoever watches."""
    status = _line.get()
    if status is not None:
        status.update(text)


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


def _console() -> Any:
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return None
    return Console(stderr=True)


def _bar() -> Any:
    console = _console()
    if console is None:
        return None
    from rich.progress import Progress

    return Progress(console=console, transient=True)
