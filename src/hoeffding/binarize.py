"""Choosing the bits of a table: what its columns hold decides which questions are asked of them.

================================================== ===========================================================
a column of                                        gets
================================================== ===========================================================
one value                                          nothing (it is constant)
booleans, or numbers that are all 0 or 1           itself
text, categories, few different whole numbers      one bit for each level; of two levels the second only
more levels than allowed                           one bit for each of the most frequent, and one for all others
other numbers                                      ``x > t`` for quantiles or given thresholds t, or one-hot bins
gaps besides                                       one more bit, ``is missing``
================================================== ===========================================================

Only values count here, not the types that a library gives them: whole numbers stored as floats are whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix
from hoeffding.checks import as_count, as_real
from hoeffding.coding import Bit, Column, Kind, answers, known, labels, n_words, pack
from hoeffding.columns import FloatArray, TableReader
from hoeffding.summaries import Summary

NumericPolicy = Literal["thresholds", "onehot", "error"]
SHOWN_NAMES = 12
SEPARATORS = "_=.:- /"  # between the name of a column and a level, in the name of a one-hot column


@dataclass(frozen=True)
class Rules:
    """How columns become bits; the arguments of :meth:`hoeffding.Encoding.fit`, checked."""

    numeric: NumericPolicy = "thresholds"
    bins: int = 4
    thresholds: Mapping[str, FloatArray] = field(default_factory=dict)
    max_levels: int = 100
    max_integer_levels: int = 10

    @classmethod
    def read(
        cls,
        numeric: NumericPolicy,
        bins: int,
        thresholds: Mapping[str, npt.ArrayLike] | None,
        max_levels: int,
        max_integer_levels: int,
    ) -> Rules:
        if numeric not in {"thresholds", "onehot", "error"}:
            raise ValueError(f"numeric={numeric!r}: must be 'thresholds', 'onehot' or 'error'")
        given = {name: _read_thresholds(name, t) for name, t in (thresholds or {}).items()}
        return cls(
            numeric,
            as_count("bins", bins, least=2),
            given,
            as_count("max_levels", max_levels, least=2),
            as_count("max_integer_levels", max_integer_levels),
        )


def _read_thresholds(name: str, thresholds: npt.ArrayLike) -> FloatArray:
    t = np.unique(as_real(f"thresholds[{name!r}]", thresholds))
    if t.size == 0 or not np.isfinite(t).all():
        raise ValueError(f"thresholds[{name!r}]: expected one or more finite numbers, got {thresholds!r}")
    return t


@dataclass(frozen=True)
class Choice:
    """What is chosen for one column: how it is read, the questions, and why there are none if there are none."""

    column: Column
    bits: tuple[Bit, ...] = ()
    constant: str = ""


def choose(j: int, name: str, held: Summary, rules: Rules) -> Choice:
    """The bits of column ``j`` of a table, from what it holds."""
    if name in rules.thresholds:
        if held.kind == "labels":
            raise TypeError(f"thresholds[{name!r}]: the column holds categories, not numbers")
        return _of_numbers(j, name, held, rules, rules.thresholds[name])
    if held.kind == "nothing":
        return Choice(Column(name, "any", missing=True), constant="all missing")
    return _of_levels(j, name, held, rules) if held.kind == "labels" else _guess(j, name, held, rules)


def _guess(j: int, name: str, held: Summary, rules: Rules) -> Choice:
    """Numbers may be bits, categories, or numbers."""
    distinct, missing = held.numbers, held.missing
    if np.isinf(distinct[[0, -1]]).any():
        infinite = int(held.counts[np.isinf(distinct)].sum())
        raise ValueError(
            f"column {name!r}: {infinite} infinite values; replace them (by missing values, or by the largest number "
            f"that makes sense), or pass thresholds={{{name!r}: [...]}} to compare with"
        )
    if np.isin(distinct, [0, 1]).all() and (len(distinct) == 2 or missing):
        questions: list[tuple[Kind, object]] = [("bit", None)] if len(distinct) == 2 else []
        return _choice(j, Column(name, "bit", missing=missing), questions)
    if len(distinct) == 1:
        return _choice(j, Column(name, "number", missing=missing), [], f"always {distinct[0]:g}")
    if len(distinct) <= rules.max_integer_levels and not (distinct % 1).any():
        return _of_levels(j, name, held.as_labels(), rules)
    return _of_numbers(j, name, held, rules, None)


def _choice(j: int, column: Column, questions: Sequence[tuple[Kind, object]], constant: str = "") -> Choice:
    """Bits of these kinds and values, one more for gaps; ``constant`` is the word for a column without any."""
    gap: list[tuple[Kind, object]] = [("missing", None)] if column.missing else []
    bits = tuple(Bit(j, kind, value) for kind, value in [*questions, *gap])
    return Choice(column, bits, "" if bits else constant)


def _of_levels(j: int, name: str, held: Summary, rules: Rules) -> Choice:
    missing = held.missing
    kept = tuple(held.levels)
    if len(kept) > rules.max_levels:
        frequent = np.sort(np.argsort(-held.counts, kind="stable")[: rules.max_levels - 1])
        kept = tuple(kept[i] for i in frequent)
    merged = len(held.levels) - len(kept)
    column = Column(name, "level", kept, open=merged > 0, missing=missing, merged=merged)
    chosen = kept[1:] if len(kept) + missing <= 2 and not merged else kept  # of two levels, the first is the opposite
    questions: list[tuple[Kind, object]] = [("level", level) for level in chosen]
    if merged:
        questions.append(("other", None))
    return _choice(j, column, questions, f"always {kept[0]!r}")


def _of_numbers(j: int, name: str, held: Summary, rules: Rules, given: FloatArray | None) -> Choice:
    x = held.numbers
    column = Column(name, "number", missing=held.missing)
    if given is None and rules.numeric == "error":
        raise ValueError(
            f"column {name!r}: holds numbers from {x.min():g} to {x.max():g}; pass numeric='thresholds' or 'onehot' "
            f"to cut them at quantiles, thresholds={{{name!r}: [...]}} to choose where, or text to have categories"
        )
    cuts = cuts_of(x, held.counts, rules.bins) if given is None else given
    edges = cuts.tolist()
    questions: list[tuple[Kind, object]]
    if rules.numeric == "onehot" and len(edges) > 1:
        questions = [("bin", pair) for pair in zip([None, *edges], [*edges, None], strict=True)]
    else:
        questions = [("above", t) for t in edges]
    return _choice(j, column, questions)


def quantile_thresholds(x: FloatArray, bins: int) -> FloatArray:
    """Thresholds that cut numbers into ``bins`` parts of about the same size; fewer if values repeat.

    A cut lies between two neighbouring values: at the lower one if all are whole numbers, otherwise at a number of
    few digits.

    >>> quantile_thresholds(np.array([1.0, 2, 3, 4, 5, 6, 7, 8]), 4)
    array([2., 4., 6.])
    >>> quantile_thresholds(np.array([0.123, 0.234, 0.789, 0.987]), 2)
    array([0.5])
    """
    return cuts_of(*np.unique(x, return_counts=True), bins)


def cuts_of(distinct: FloatArray, counts: npt.NDArray[np.int64], bins: int) -> FloatArray:
    """The same from the different values, sorted, and how often each occurs."""
    below = np.cumsum(counts)[:-1]  # how many values a cut after the i-th distinct one leaves below
    wanted = np.arange(1, bins) * (int(counts.sum()) / bins)
    right = np.searchsorted(below, wanted).clip(max=len(below) - 1)
    left = (right - 1).clip(min=0)
    nearer = wanted - below[left] <= below[right] - wanted
    at = np.unique(np.where(nearer, left, right))
    if not (distinct % 1).any():
        return np.asarray(distinct[at])
    return np.array([short_number(a, b) for a, b in zip(distinct[at].tolist(), distinct[at + 1].tolist(), strict=True)])


def short_number(low: float, high: float) -> float:
    """A number t of few digits with ``low <= t < high``."""
    middle = low / 2 + high / 2
    for digits in range(1, 17):
        t = float(f"{middle:.{digits}g}")
        if low <= t < high:
            return t
    return low


# -- one-hot columns that are in the table already --------------------------------------------------------------------


def infer_groups(
    names: Sequence[str], packed: Mapping[int, npt.NDArray[np.uint64]], n_rows: int
) -> dict[str, list[int]]:
    """Columns of zeros and ones whose names begin alike, up to a separator, and of which every row has one one.

    Parameters
    ----------
    names : of all columns
    packed : the packed bits, by position, of the columns of zeros and ones without gaps
    n_rows : int

    Returns
    -------
    the positions of the columns of each group, by the common beginning; longer beginnings are tried first
    """
    prefixes: dict[str, list[int]] = {}
    for j in packed:
        for end, letter in enumerate(names[j]):
            if letter in SEPARATORS and 0 < end < len(names[j]) - 1:
                prefixes.setdefault(names[j][: end + 1], []).append(j)
    groups: dict[str, list[int]] = {}
    taken: set[int] = set()
    for prefix in sorted(prefixes, key=len, reverse=True):
        members = [j for j in prefixes[prefix] if j not in taken]
        if len(members) > 1 and _sum_to_one([packed[j] for j in members], n_rows):
            groups[prefix[:-1]] = members
            taken |= set(members)
    return groups


def _sum_to_one(columns: list[npt.NDArray[np.uint64]], n_rows: int) -> bool:
    """Whether every row has a one in exactly one of the columns: as many ones as rows, and no row without one."""
    ones = sum(int(np.bitwise_count(column).sum()) for column in columns)
    covered = np.bitwise_or.reduce(columns)
    return ones == n_rows == int(np.bitwise_count(covered).sum())


def find_repeats(
    columns: npt.NDArray[np.uint64], n_rows: int
) -> tuple[npt.NDArray[np.bool_], dict[int, tuple[int, bool]]]:
    """Packed columns that are constant, and those that repeat an earlier one or its opposite.

    Returns
    -------
    constant : array, shape (d,)
    repeats : for each that repeats one, the earlier one and whether it is the opposite
    """
    ones = np.bitwise_count(columns).sum(axis=1, dtype=np.int64)
    constant = (ones == 0) | (ones == n_rows)
    rows = np.full(columns.shape[1], ~np.uint64(0))
    if n_rows % 64:
        rows[-1] = (np.uint64(1) << np.uint64(n_rows % 64)) - np.uint64(1)
    first: dict[bytes, int] = {}
    repeats: dict[int, tuple[int, bool]] = {}
    for j in np.flatnonzero(~constant).tolist():
        flipped = bool(columns[j, 0] & np.uint64(1))
        key = (columns[j] ^ rows if flipped else columns[j]).tobytes()
        earlier = first.setdefault(key, j)
        if earlier != j:
            repeats[j] = (earlier, flipped != bool(columns[earlier, 0] & np.uint64(1)))
    return constant, repeats


# -- the whole table ---------------------------------------------------------------------------------------------------

Plan = tuple[tuple[Column, ...], tuple[Bit, ...], Mapping[str, Sequence[str]], tuple[tuple[str, str], ...]]


def binarize(X: Any, rules: Rules, groups: Any) -> Plan:
    """Choose the bits of a table.

    Returns
    -------
    all columns; the bits; which columns belong together, by the name of the group; what is dropped, with the reasons
    """
    draft = _draft_of_bits(X, rules) if hasattr(X, "tocsc") else _draft_of_table(X, rules)
    return draft.finish(groups)


@dataclass
class Draft:
    """All bits that the columns of a table would have, before repeated ones are dropped."""

    columns: list[Column]
    bits: list[Bit]
    packed: npt.NDArray[np.uint64]
    n_rows: int
    dropped: list[tuple[str, str]]

    @classmethod
    def of_summaries(cls, names: Sequence[str], held: Sequence[Summary], rules: Rules) -> Draft:
        """From what the columns of a table hold that was read in chunks; the bits themselves are not at hand."""
        check_size(held[0].n_rows if held else 0, len(names))
        draft = cls([], [], np.zeros((0, 0), np.uint64), held[0].n_rows, [])
        for j, (name, summary) in enumerate(zip(names, held, strict=True)):
            draft.add(choose(j, name, summary, rules))
        return draft

    def add(self, choice: Choice) -> None:
        """One more column."""
        self.columns.append(choice.column)
        self.bits.extend(choice.bits)
        if choice.constant:
            self.dropped.append((choice.column.name, choice.constant))

    def finish(self, groups: Any) -> Plan:
        return self.without(*find_repeats(self.packed, self.n_rows), self._groups(groups))

    def without(
        self,
        constant: npt.NDArray[np.bool_],
        repeats: Mapping[int, tuple[int, bool]],
        together: Mapping[str, Sequence[str]],
    ) -> Plan:
        """The plan without the bits that are constant or repeat others, as :func:`find_repeats` says."""
        names = labels(self.columns, self.bits)
        dropped = [*self.dropped, *((names[i], "constant") for i in np.flatnonzero(constant).tolist())]
        dropped += self._words_for(names, repeats)
        kept = tuple(bit for i, bit in enumerate(self.bits) if not constant[i] and i not in repeats)
        if not kept:
            raise ValueError(f"X: no column has two different values (n_samples = {self.n_rows}), nothing to encode")
        return tuple(self.columns), kept, together, tuple(dropped)

    def _groups(self, groups: Any) -> Mapping[str, Sequence[str]]:
        names = [column.name for column in self.columns]
        if groups is None or isinstance(groups, Mapping):
            return groups or {}
        if groups != "infer":
            raise ValueError(f"groups={groups!r}: must be 'infer', a mapping from names to columns, or None")
        alone = {bit.column: i for i, bit in enumerate(self.bits) if bit.kind == "bit"}
        packed = {j: self.packed[i] for j, i in alone.items() if not self.columns[j].missing}
        found = infer_groups(names, packed, self.n_rows)
        return {_unused(name, names): [names[j] for j in members] for name, members in found.items()}

    def _words_for(self, names: Sequence[str], repeats: Mapping[int, tuple[int, bool]]) -> list[tuple[str, str]]:
        """What repeats what; a column all of whose bits repeat those of one other column is one entry."""
        out = []
        by_column: list[list[int]] = [[] for _ in self.columns]
        for i, bit in enumerate(self.bits):
            by_column[bit.column].append(i)
        for j, (column, mine) in enumerate(zip(self.columns, by_column, strict=True)):
            sources = {self.bits[repeats[i][0]].column for i in mine if i in repeats}
            if len(mine) > 1 and len(sources) == 1 and all(i in repeats for i in mine) and sources != {j}:
                out.append((column.name, f"says the same as {self.columns[sources.pop()].name}"))
                continue
            for i in mine:
                if i in repeats:
                    earlier, opposite = repeats[i]
                    out.append((names[i], f"{'opposite of' if opposite else 'same as'} {names[earlier]}"))
        return out


def _draft_of_table(X: Any, rules: Rules) -> Draft:
    table = TableReader.open(X)
    check_size(table.n_rows, len(table.names))
    if "" in table.names:  # in a table that is only encoded it may stand, since nobody asks for it
        raise ValueError("X: a column is named ''; names must be non-empty text, rename the column")
    absent = [name for name in rules.thresholds if name not in table.names]
    if absent:
        raise ValueError(f"thresholds: no column {absent[0]!r}; the columns are {', '.join(table.names[:SHOWN_NAMES])}")
    draft = Draft([], [], np.zeros((0, 0), np.uint64), table.n_rows, [])
    packed = []
    for j, name in enumerate(table.names):
        values = table.read(j)
        choice = choose(j, name, Summary.of(values), rules)
        draft.add(choice)
        if not choice.constant:
            packed += [pack(a) for a in answers(choice.column, choice.bits, known(choice.column, values)[0])]
    draft.packed = np.array(packed, np.uint64).reshape(len(packed), n_words(table.n_rows))
    return draft


def _draft_of_bits(X: Any, rules: Rules) -> Draft:
    """A sparse matrix of zeros and ones."""
    if rules.thresholds:
        raise ValueError("thresholds: a sparse matrix holds bits only; pass X.toarray() if it holds numbers")
    check_size(*X.shape)
    way_out = "a sparse matrix must hold bits; pass X.toarray()"
    packed = BitMatrix.from_rows(X, way_out=way_out)
    names = [f"x{j}" for j in range(packed.n_features)]
    bits = [Bit(j, "bit") for j in range(packed.n_features)]
    return Draft([Column(name, "bit") for name in names], bits, packed.columns, packed.n_rows, [])


def check_size(n: int, d: int) -> None:
    """Refuse a table without rows or columns."""
    if n == 0 or d == 0:
        kind, found = ("sample", n) if n == 0 else ("feature", d)
        raise ValueError(
            f"X: {found} {kind}(s) (shape=({n}, {d})) while a minimum of 1 is required; the table is empty"
        )


def _unused(name: str, names: Sequence[str]) -> str:
    while name in names:
        name += "*"
    return name
