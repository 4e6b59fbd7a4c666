r"""One pass over chunks: what is summed over rows is summed chunk by chunk, added up, and the rows are let go.

A :class:`Step` says what becomes of a chunk, and its sums (a :class:`State`) can be added. :func:`reduce` runs a step
over a stream: chunks are read one after the other, counted by several threads at a time, and their sums are added in
the order of the chunks, so that the result does not depend on the threads, nor on an interruption in between. The
same steps run on Dask (:mod:`hoeffding.dask`). At any time there are ``threads + 1`` chunks and two sums in memory,
however many rows there are.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import tee
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from hoeffding.checkpoints import Checkpoint, Progress
from hoeffding.chunks import Chunk, Stream, features_of, opened
from hoeffding.machine import n_threads, readable_bytes
from hoeffding.progress import say

if TYPE_CHECKING:
    from concurrent.futures import Future


class State(Protocol):
    """Sums over rows, as a step makes them of a chunk."""

    def merge(self, other: Any) -> Self:
        """The sums of both."""
        ...

    def nothing(self) -> Any:
        """What the next chunks must know of the first one; None if there is nothing to know."""
        ...

    def to_bytes(self) -> bytes:
        """For a checkpoint."""
        ...

    @property
    def nbytes(self) -> int:
        """The memory that they take."""
        ...


S = TypeVar("S", bound=State)
S_co = TypeVar("S_co", bound=State, covariant=True)


class Step(Protocol[S_co]):
    """What becomes of a chunk.

    ``prepare`` is called with one chunk after the other, in the thread of the caller: here a model is asked.
    ``count`` is called by several threads; ``like`` is what :meth:`State.nothing` says of the first chunk.
    """

    @property
    def name(self) -> str:
        """Of the pass, in a checkpoint."""
        ...

    def prepare(self, chunk: Chunk) -> Any:
        """What must be done one chunk after the other."""
        ...

    def count(self, chunk: Chunk, prepared: Any, like: Any, n_jobs: int) -> S_co:
        """The sums over a chunk of at least one row."""
        ...

    def from_bytes(self, data: bytes) -> S_co:
        """The inverse of :meth:`State.to_bytes`."""
        ...


@dataclass(frozen=True)
class Report:
    """What passes over the rows took.

    Attributes
    ----------
    n_rows, n_chunks, n_passes : int
    chunk_bytes, state_bytes : int
        The largest chunk, and the largest sums.
    at_once : int
        How many chunks were in memory.
    seconds : {stage: seconds}
        ``read``, ``model``, ``count`` (encode, pack and count; of all threads together), ``merge``, and ``all``.
    where : str
        What did the work.
    """

    n_rows: int = 0
    n_chunks: int = 0
    n_passes: int = 0
    chunk_bytes: int = 0
    state_bytes: int = 0
    at_once: int = 1
    seconds: dict[str, float] = field(default_factory=dict)
    where: str = "streamed"

    def then(self, other: Report) -> Report:
        """The report of this pass and another one."""
        seconds = {k: self.seconds.get(k, 0.0) + other.seconds.get(k, 0.0) for k in {*self.seconds, *other.seconds}}
        return replace(
            other,
            n_passes=self.n_passes + other.n_passes,
            chunk_bytes=max(self.chunk_bytes, other.chunk_bytes),
            state_bytes=max(self.state_bytes, other.state_bytes),
            seconds=seconds,
        )

    @property
    def held_bytes(self) -> int:
        """The bytes of the chunks and sums that were in memory at the same time, at most; it does not grow with n."""
        return self.at_once * self.chunk_bytes + 2 * self.state_bytes

    @property
    def words(self) -> str:
        """In words, for the reason of a decomposition."""
        passes = "one pass" if self.n_passes == 1 else f"{self.n_passes} passes"
        held = f", {readable_bytes(self.held_bytes)} of rows and sums held at a time" if self.chunk_bytes else ""
        chunks = "one chunk" if self.n_chunks == 1 else f"{self.n_chunks} chunks"
        return f"{self.where}: {self.n_rows} rows in {chunks}, {passes}{held}"


@dataclass(frozen=True, eq=False)
class Reduced(Generic[S]):
    """The sums over all chunks, the names of the features, and how it went."""

    state: S
    features: tuple[str, ...]
    report: Report


class Rows(Protocol):
    """Rows in chunks, wherever they are: what fits and decompositions of such rows stand on."""

    @property
    def rereadable(self) -> bool:
        """Whether there may be more than one pass."""
        ...

    def reduce(self, step: Step[S], n_jobs: int) -> Reduced[S]:
        """Run a step over all chunks."""
        ...

    def first(self) -> Chunk:
        """The first chunk that has rows."""
        ...

    def give_up(self, name: str, error: Exception) -> None:
        """Another step comes in place of one that failed; raises the error if the rows cannot be read again."""
        ...

    def done(self) -> None:
        """Everything is done with the sums."""
        ...


class GivenUpError(ValueError):
    """A step was found impossible before an interruption."""


class StreamedRows:
    """The chunks of a stream, read by this process."""

    def __init__(self, stream: Stream, about: dict[str, Any]) -> None:
        self.stream = stream
        self.source = stream.open()
        self.rereadable = self.source.rereadable
        self._n_passes = 0
        self._first: Chunk | None = None
        self.checkpoint: Checkpoint | None = None
        if stream.checkpoint is not None:
            facts = {
                "source": hashlib.sha256(self.source.fingerprint().encode()).hexdigest(),
                "target": list(stream.columns.target),
                "weight": stream.weight,
                "chunk_rows": stream.chunk_rows,
            }
            self.checkpoint = Checkpoint.open(stream.checkpoint, facts | about, stream.checkpoint_seconds)

    def reduce(self, step: Step[S], n_jobs: int) -> Reduced[S]:
        before = self._before(step)
        if before is not None and before[1]:
            progress = before[0]
            report = Report(progress.n_rows, progress.n_chunks, 1)
            return Reduced(step.from_bytes(progress.state), progress.features, report)
        run = _Pass(step, self.stream, n_threads(n_jobs), self.checkpoint, None if before is None else before[0])
        reduced = run.over(self.source)
        if self.checkpoint is not None:
            self.checkpoint.finish(run.progress)
        return reduced

    def first(self) -> Chunk:
        if self._first is None:
            source = self.source
            if not self.rereadable:
                ahead, behind = tee(source.tables(0, self.stream.chunk_rows, None))
                source, self.source = opened(ahead), opened(behind)
            self._first = next((chunk for chunk in self.stream.chunks(0, source) if chunk.n_rows), None)
        if self._first is None:
            raise ValueError("source: has no rows")
        return self._first

    def give_up(self, name: str, error: Exception) -> None:
        if not self.rereadable:
            raise ValueError(
                f"{error}. An iterator can be read once only: give an encoding (such as Encoding.fit of one table), or "
                f"a function that returns a new iterator"
            ) from error
        if self.checkpoint is not None and not isinstance(error, GivenUpError):
            self.checkpoint.finish(Progress(name, 0, -1, (), b""))

    def done(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.remove()

    def _before(self, step: Step[Any]) -> tuple[Progress, bool] | None:
        """How far this step came before an interruption, and whether it was done."""
        if self.checkpoint is None:
            return None
        at, self._n_passes = self._n_passes, self._n_passes + 1
        done, current = self.checkpoint.done, self.checkpoint.current
        found = done[at] if at < len(done) else current if at == len(done) else None
        if found is None:
            return None
        if found.name != step.name:
            raise ValueError(
                f"checkpoint={str(self.checkpoint.path)!r}: stopped at {found.name!r}, where {step.name!r} comes now; "
                f"the call is another one: delete it to begin again"
            )
        if found.n_rows < 0:
            raise GivenUpError(found.name)
        return found, at < len(done)


class _Pass(Generic[S]):
    """One pass over a stream."""

    def __init__(
        self,
        step: Step[S],
        stream: Stream,
        threads: int,
        checkpoint: Checkpoint | None,
        before: Progress | None,
    ) -> None:
        self.step, self.stream, self.threads, self.checkpoint = step, stream, threads, checkpoint
        self.state: S | None = None if before is None else step.from_bytes(before.state)
        self.n_chunks, self.n_rows = (0, 0) if before is None else (before.n_chunks, before.n_rows)
        self.features: tuple[str, ...] | None = None if before is None else before.features
        self.chunk_bytes = self.state_bytes = 0
        self.seconds = dict.fromkeys(("read", "model", "count", "merge"), 0.0)
        self._saved = self.n_chunks

    @property
    def progress(self) -> Progress:
        assert self.state is not None
        return Progress(self.step.name, self.n_chunks, self.n_rows, self.features or (), self.state.to_bytes())

    def over(self, source: Any) -> Reduced[S]:
        start = perf_counter()
        chunks = self._read(self.stream.chunks(self.n_chunks, source, self.features))
        try:
            if self.threads == 1:
                for chunk in chunks:
                    self._add(chunk, *self._count(chunk, self._prepare(chunk), 1))
            else:
                self._in_threads(chunks)
        except BaseException:
            if self.checkpoint is not None and self.n_chunks > self._saved:
                self.checkpoint.write(self.progress)
            raise
        if self.state is None:
            raise ValueError("source: has no rows")
        self.seconds["all"] = perf_counter() - start
        at_once = min(self.n_chunks, 1 if self.threads == 1 else self.threads + 1)
        report = Report(self.n_rows, self.n_chunks, 1, self.chunk_bytes, self.state_bytes, at_once, self.seconds)
        return Reduced(self.state, self.features or (), report)

    def _in_threads(self, chunks: Iterator[Chunk]) -> None:
        """The first chunk says what the others must know; then each thread counts a chunk of its own."""
        from concurrent.futures import ThreadPoolExecutor

        while self.state is None:
            first = next(chunks, None)
            if first is None:
                return
            self._add(first, *self._count(first, self._prepare(first), self.threads))
        waiting: deque[tuple[Chunk, Future[tuple[S | None, float]]]] = deque()
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                for chunk in self._draining(chunks, waiting):
                    waiting.append((chunk, pool.submit(self._count, chunk, self._prepare(chunk), 1)))
                    if len(waiting) > self.threads:
                        self._take(waiting)
                while waiting:
                    self._take(waiting)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _draining(self, chunks: Iterator[Chunk], waiting: deque[Any]) -> Iterator[Chunk]:
        """The chunks; if one cannot be read, those before it are added up first, so that they can be kept."""
        while True:
            try:
                chunk = next(chunks, None)
            except Exception:
                while waiting:
                    self._take(waiting)
                raise
            if chunk is None:
                return
            yield chunk

    def _take(self, waiting: deque[tuple[Chunk, Future[tuple[S | None, float]]]]) -> None:
        chunk, future = waiting.popleft()
        self._add(chunk, *future.result())

    def _read(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        while True:
            start = perf_counter()
            chunk = next(chunks, None)
            self.seconds["read"] += perf_counter() - start
            if chunk is None:
                return
            yield chunk

    def _prepare(self, chunk: Chunk) -> Any:
        if self.features is None:
            self.features = features_of(chunk.X)
        start = perf_counter()
        prepared = self.step.prepare(chunk) if chunk.n_rows else None
        self.seconds["model"] += perf_counter() - start
        return prepared

    def _count(self, chunk: Chunk, prepared: Any, n_jobs: int) -> tuple[S | None, float]:
        """The sums, and the seconds they took."""
        start = perf_counter()
        like = None if self.state is None else self.state.nothing()
        counted = self.step.count(chunk, prepared, like, n_jobs) if chunk.n_rows else None
        return counted, perf_counter() - start

    def _add(self, chunk: Chunk, counted: S | None, seconds: float) -> None:
        self.seconds["count"] += seconds
        start = perf_counter()
        if counted is not None:
            self.state = counted if self.state is None else self.state.merge(counted)
            self.state_bytes = max(self.state_bytes, self.state.nbytes)
        self.n_chunks += 1
        self.n_rows += chunk.n_rows
        self.chunk_bytes = max(self.chunk_bytes, chunk.nbytes)
        self.seconds["merge"] += perf_counter() - start
        say(f"{self.n_rows} rows read")
        if self.checkpoint is not None and self.state is not None and self.checkpoint.due():
            self.checkpoint.write(self.progress)
            self._saved = self.n_chunks
