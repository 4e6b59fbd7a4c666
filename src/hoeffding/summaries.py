"""What a column holds: its different values and how often each occurs. Summaries of chunks are added up.

The bits of a column are chosen from its summary alone (:mod:`hoeffding.binarize`), so an encoding learned from chunks
is that of the whole table. Labels are kept as they are. Of numbers, up to ``MOST_NUMBERS`` different ones are kept;
of more the last binary digits are cut off until there are so few. How many digits that takes depends on all values
together and not on how they were cut into chunks, so the summary does not either. Quantiles are then off by at most
the share of values that differ in these digits only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hoeffding.columns import FloatArray, Labels, Level, Values, order_of_levels

IntArray = npt.NDArray[np.int64]

MOST_NUMBERS = 2**18  # different values that are kept of a column of numbers: 4 MiB
MOST_LEVELS = 2**20  # different labels of a column
DIGITS = 52  # binary ones, behind the leading one


@dataclass(frozen=True, eq=False)
class Summary:
    """The values of a column.

    Attributes
    ----------
    kind : "numbers", "labels" or "nothing"
        The last if all values are missing.
    levels : tuple
        The different values, sorted: floats, or labels.
    counts : (n_levels,) int64
    n_rows, n_missing : int
    cut : int
        Binary digits of numbers that were cut off.
    """

    kind: Literal["numbers", "labels", "nothing"]
    levels: FloatArray | tuple[Level, ...]
    counts: IntArray
    n_rows: int
    n_missing: int
    cut: int = 0

    @classmethod
    def of(cls, values: Values, most: int | None = None) -> Summary:
        """Summarise a column; ``most`` bounds how many different numbers are kept (None: all)."""
        present = values.present()
        n, n_missing = len(present), int(len(present) - present.sum())
        if n_missing == n:
            return cls("nothing", (), np.zeros(0, np.int64), n, n)
        if isinstance(values, Labels):
            counts = np.bincount(values.codes[present], minlength=len(values.levels))
            occurs = np.flatnonzero(counts)
            return cls("labels", tuple(values.levels[i] for i in occurs), counts[occurs], n, n_missing)
        distinct, counts = np.unique(values.values[present] if n_missing else values.values, return_counts=True)
        return cls("numbers", distinct, counts, n, n_missing)._shortened(most)

    @property
    def missing(self) -> bool:
        """Whether some value is missing."""
        return self.n_missing > 0

    @property
    def numbers(self) -> FloatArray:
        """The different numbers, sorted."""
        return np.asarray(self.levels, np.float64)

    def as_labels(self) -> Summary:
        """Numbers as categories: whole ones are integers."""
        if self.kind == "labels":
            return self
        levels = tuple(int(v) if v.is_integer() else v for v in self.numbers.tolist())
        return Summary("labels", levels, self.counts, self.n_rows, self.n_missing, self.cut)

    def merge(self, other: Summary, name: str, most: int | None = MOST_NUMBERS) -> Summary:
        """The summary of the rows of both; errors speak of the column ``name``."""
        n_rows, n_missing = self.n_rows + other.n_rows, self.n_missing + other.n_missing
        if "nothing" in (self.kind, other.kind):
            more = other if self.kind == "nothing" else self
            return Summary(more.kind, more.levels, more.counts, n_rows, n_missing, more.cut)
        if self.kind != other.kind:
            raise TypeError(
                f"column {name!r}: holds numbers in some chunks and text in others; make all of them numbers, or all "
                f"text"
            )
        if self.kind == "labels":
            return self._merge_labels(other, name, n_rows, n_missing)
        cut = max(self.cut, other.cut)
        mine, theirs = self._cut_to(cut), other._cut_to(cut)
        levels, counts = _added(np.concatenate([mine.numbers, theirs.numbers]), [mine.counts, theirs.counts])
        return Summary("numbers", levels, counts, n_rows, n_missing, cut)._shortened(most)

    def _merge_labels(self, other: Summary, name: str, n_rows: int, n_missing: int) -> Summary:
        counts: dict[Any, int] = dict(zip(self.levels, self.counts.tolist(), strict=True))
        for level, count in zip(other.levels, other.counts.tolist(), strict=True):
            counts[level] = counts.get(level, 0) + count
        if len(counts) > MOST_LEVELS:
            raise ValueError(
                f"column {name!r}: more than {MOST_LEVELS} different labels; leave the column out (it may be an "
                f"identifier), or pass an Encoding that says what to ask of it"
            )
        if len({isinstance(level, str) for level in counts}) > 1:
            raise TypeError(
                f"column {name!r}: holds text in some chunks and other labels in others; make all of them text"
            )
        levels = tuple(sorted(counts, key=order_of_levels))
        return Summary("labels", levels, np.array([counts[v] for v in levels], np.int64), n_rows, n_missing)

    def _shortened(self, most: int | None) -> Summary:
        out = self
        while most is not None and len(out.levels) > most and out.cut < DIGITS:
            out = out._cut_to(out.cut + 1)
        return out

    def _cut_to(self, cut: int) -> Summary:
        """With this many binary digits cut off (towards zero)."""
        if cut == self.cut:
            return self
        bits = np.ascontiguousarray(self.numbers).view(np.uint64) >> np.uint64(cut) << np.uint64(cut)
        levels, counts = _added(bits.view(np.float64), [self.counts])
        return Summary("numbers", levels, counts, self.n_rows, self.n_missing, cut)


def _added(values: FloatArray, counts: list[IntArray]) -> tuple[FloatArray, IntArray]:
    """The different values, sorted, with the sum of the counts of each."""
    distinct, at = np.unique(values, return_inverse=True)
    out = np.zeros(len(distinct), np.int64)
    np.add.at(out, at, np.concatenate(counts))
    return distinct, out
