"""Rows that Dask holds: sums are made where the data are, added up in a tree, and only the sums come back.

Dask decides where and when: threads, processes, or the machines of a ``distributed`` cluster, as its scheduler is
set. The first partition says how bits are coded, the others count in that coding. A task that fails is tried again on
a cluster (``RETRIES``), and the tasks of a worker that dies are done by others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from hoeffding.chunks import Chunk, Columns, as_chunk, features_of
from hoeffding.lazy import is_dask, parts_of
from hoeffding.streaming import Reduced, Report, S, Step

FAN_IN = 8  # sums that are added up by one task
RETRIES = 3


@dataclass(frozen=True, eq=False)
class DaskRows:
    """The partitions of a Dask collection.

    Attributes
    ----------
    parts : list of Delayed
        Each a table, or a tuple of rows, targets and weights.
    columns : Columns
    features : tuple of str or None
        None if that is known when the first part is there.
    """

    parts: list[Any]
    columns: Columns
    features: tuple[str, ...] | None
    rereadable: bool = True

    @classmethod
    def read(cls, X: Any, y: Any, sample_weight: Any) -> DaskRows:
        """Of ``X``, targets and weights are columns, or Dask collections with the same partitions as ``X``."""
        parts, lengths = parts_of(X)
        beside = [v for v in (y, sample_weight) if is_dask(v)]
        if not beside:
            columns = Columns.read(y, sample_weight)
            named = hasattr(X, "columns")
            if columns.all and hasattr(X, "rechunk"):
                raise TypeError(f"y={y!r}: columns have no names in a dask.array; pass y as a dask.array")
            return cls(parts, columns, columns.features_of(tuple(map(str, X.columns))) if named else None)
        if y is None or not is_dask(y) or (sample_weight is not None and not is_dask(sample_weight)):
            raise TypeError("y, sample_weight: give both as Dask collections like X, or both as names of columns")
        import dask

        together = [_parts_like(X, lengths, v) for v in beside]
        if any(len(given) != len(parts) for given in together):
            raise ValueError(f"y: has other partitions than X, which has {len(parts)}; repartition it as X")
        return cls([dask.delayed(tuple)(list(p)) for p in zip(parts, *together, strict=True)], Columns(), None)

    def reduce(self, step: Step[S], n_jobs: int) -> Reduced[S]:  # the scheduler knows how many jobs there are
        """Run a step over all partitions."""
        import dask

        with dask.annotate(retries=RETRIES):
            lazy_step = dask.delayed(step, traverse=False)
            count, merge = dask.delayed(_count, pure=False), dask.delayed(_merge, pure=False)
            first = count(lazy_step, self.parts[0], self.columns, self.features, None, 0)
            known = dask.delayed(_coding, pure=False)(first)
            sums = [first]
            for number, part in enumerate(self.parts[1:], start=1):
                sums.append(count(lazy_step, part, self.columns, self.features, known, number))
            while len(sums) > 1:
                sums = [merge(sums[a : a + FAN_IN]) for a in range(0, len(sums), FAN_IN)]
        start = perf_counter()
        (found,) = dask.compute(sums[0])
        if found.state is None:
            raise ValueError("X: has no rows")
        report = replace(found.report, seconds=found.report.seconds | {"all": perf_counter() - start})
        return Reduced(found.state, found.features, report)

    def first(self) -> Chunk:
        """The first partition that has rows, brought here."""
        import dask

        for number, part in enumerate(self.parts):
            chunk = as_chunk(dask.compute(part)[0], self.columns, self.features, number)
            if chunk.n_rows:
                return chunk
        raise ValueError("X: has no rows")

    def give_up(self, name: str, error: Exception) -> None:
        """Partitions can be read again."""

    def done(self) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, eq=False)
class _Part:
    """The sums over some partitions."""

    state: Any
    features: tuple[str, ...]
    report: Report


def _parts_like(X: Any, lengths: list[float], v: Any) -> list[Any]:
    """The partitions of targets or weights, cut like those of ``X`` where their lengths are known."""
    if hasattr(v, "rechunk"):
        if hasattr(X, "rechunk") and v.chunks[0] != X.chunks[0]:
            v = v.rechunk({0: tuple(lengths)})
        v = v.rechunk({1: -1}) if v.ndim > 1 else v
        return list(v.to_delayed().ravel().tolist())
    return list(v) if isinstance(v, list | tuple) else list(v.to_delayed())


def _count(
    step: Any, given: Any, columns: Columns, features: tuple[str, ...] | None, known: _Part | None, number: int
) -> _Part:
    """The sums over one partition."""
    start = perf_counter()
    features = known.features if features is None and known is not None else features
    chunk = as_chunk(given, columns, features, number)
    like = None if known is None else known.state
    state = step.count(chunk, step.prepare(chunk), like, 1) if chunk.n_rows else None
    size = 0 if state is None else state.nbytes
    seconds = {"count": perf_counter() - start}
    report = Report(chunk.n_rows, 1, 1, chunk.nbytes, size, 1, seconds, "with Dask")
    return _Part(state, features_of(chunk.X), report)


def _coding(first: _Part) -> _Part:
    """What the other partitions must know of the first."""
    return replace(first, state=None if first.state is None else first.state.nothing())


def _merge(parts: list[_Part]) -> _Part:
    """The sums of several."""
    start = perf_counter()
    total, report = parts[0].state, parts[0].report
    for part in parts[1:]:
        if part.state is not None:
            total = part.state if total is None else total.merge(part.state)
        n_rows, n_chunks = report.n_rows + part.report.n_rows, report.n_chunks + part.report.n_chunks
        report = replace(report.then(part.report), n_rows=n_rows, n_chunks=n_chunks, n_passes=1)
    seconds = report.seconds | {"merge": report.seconds.get("merge", 0.0) + perf_counter() - start}
    size = max(report.state_bytes, 0 if total is None else total.nbytes)
    return _Part(total, parts[0].features, replace(report, seconds=seconds, state_bytes=size))
