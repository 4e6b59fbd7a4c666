"""From a real table to bits and back: the columns of a table, the questions that become its bits, and their groups.

An :class:`Encoding` is chosen from a table once, and then says of any table with the same columns what its bits are,
column by column, without a dense copy.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hoeffding.binarize import NumericPolicy, Plan, Rules, binarize
from hoeffding.bits import BitMatrix, BitRows, as_bits, merge_rows
from hoeffding.coding import (
    READ_AS,
    Bit,
    Cell,
    Column,
    answers,
    cells,
    check_bit,
    check_level,
    in_words,
    known,
    labels,
    levels_of,
    n_words,
    number_text,
    pack,
    thresholds_of,
)
from hoeffding.columns import Level, TableReader
from hoeffding.names import Groups

Words = npt.NDArray[np.uint64]

VERSION = 1
SHOWN = 12  # columns, levels or dropped bits in a repr


@dataclass(frozen=True, repr=False)
class Encoding:
    """How the columns of a table become bits.

    Choose one from a table with :meth:`fit`, or give its bits with :meth:`from_bits`.

    Attributes
    ----------
    columns : tuple of Column
        All columns, with the levels known of each.
    bits : tuple of Bit
        The questions, in the order of the columns.
    groups : tuple of (name, tuple of bit indices)
        The bits that belong together: those of one column, or of the columns of a group given to :meth:`fit`.
    dropped : tuple of (label, reason)
        Columns and bits that are not there: constant ones, and those that repeat others.
    unknown : "error" or "ignore"
        What :meth:`transform` does with a level that was never seen, or a gap where there was none.

    Examples
    --------
    >>> import pandas as pd
    >>> from hoeffding import Encoding
    >>> table = pd.DataFrame({
    ...     "colour": ["red", "blue", "green", "red", "green", "red"],
    ...     "age": [20.5, 38.2, 51.0, None, 25.3, 60.8],
    ... })
    >>> encoding = Encoding.fit(table, bins=2)
    >>> encoding.feature_names
    ('colour=blue', 'colour=green', 'colour=red', 'age > 30', 'age is missing')
    >>> print(encoding.transform(table))
    ..1..
    1..1.
    .1.1.
    ..1.1
    .1...
    ..11.
    >>> encoding.groups
    (('colour', (0, 1, 2)), ('age', (3, 4)))
    """

    columns: tuple[Column, ...]
    bits: tuple[Bit, ...]
    groups: Groups
    dropped: tuple[tuple[str, str], ...] = ()
    unknown: Literal["error", "ignore"] = "error"

    # -- constructors -------------------------------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        X: Any,
        *,
        numeric: NumericPolicy = "thresholds",
        bins: int = 4,
        thresholds: Mapping[str, npt.ArrayLike] | None = None,
        max_levels: int = 100,
        max_integer_levels: int = 10,
        groups: Literal["infer"] | Mapping[str, Sequence[str]] | None = None,
        unknown: Literal["error", "ignore"] = "error",
    ) -> Encoding:
        """Choose the bits of a table.

        Parameters
        ----------
        X : data frame (pandas, polars, pyarrow), array, list of rows, or scipy sparse matrix of zeros and ones
            Shape (n, d). Columns without names are ``x0``, ``x1``, ...
        numeric : "thresholds", "onehot" or "error"
            Numbers become bits ``x > t``, or one bit for each interval between thresholds, or are refused.
        bins : int
            Into how many parts of about the same size numbers are cut, at quantiles.
        thresholds : {column: numbers}, optional
            Where to cut instead. Takes precedence over all that would be guessed of the column.
        max_levels : int
            A column with more levels keeps the most frequent ones; all others together are one, ``other``.
        max_integer_levels : int
            A column of whole numbers with at most so many different values is categorical.
        groups : "infer", {name: columns} or None
            Which columns belong together: those given, or those found to be one-hot columns of one variable
            (their names begin alike, and every row has a single one). By default every column is a group.
        unknown : "error" or "ignore"
            For :meth:`transform`: refuse a level never seen here (or a gap in a column without any), or give it zero
            at every bit and warn with the number of such values.
        """
        rules = Rules.read(numeric, bins, thresholds, max_levels, max_integer_levels)
        if unknown not in {"error", "ignore"}:
            raise ValueError(f"unknown={unknown!r}: must be 'error' or 'ignore'")
        return cls.of_plan(binarize(X, rules, groups), unknown)

    @classmethod
    def of_plan(cls, plan: Plan, unknown: Literal["error", "ignore"] = "error") -> Encoding:
        """From what :mod:`hoeffding.binarize` chose."""
        columns, chosen, together, dropped = plan
        return cls(columns, chosen, _groups_of(columns, chosen, together), dropped, unknown)

    @classmethod
    def from_bits(
        cls,
        names: Sequence[str],
        bits: Iterable[Bit | tuple[Any, ...]],
        *,
        groups: Mapping[str, Sequence[str]] | None = None,
    ) -> Encoding:
        """An encoding with the given bits, for columns of the given names (such as the splits of a model).

        Parameters
        ----------
        names : sequence of str
            Of all columns, in their order.
        bits : sequence of Bit, or of tuples (column, kind, value, at_missing)
            See :mod:`hoeffding.coding` for the kinds. Values of numbers are compared in double precision.
        groups : {name: columns}, optional

        All levels and gaps are welcome: a level that no bit names has the answer no.

        Examples
        --------
        >>> encoding = Encoding.from_bits(["age", "job"], [(0, "above", 35.5, True), (1, "member", ("cook", "maid"))])
        >>> encoding.feature_names
        ('age > 35.5 or missing', 'job in {cook, maid}')
        >>> print(encoding.transform([[36, "cook"], [None, "clerk"], [20, None]]))
        11
        1.
        ..
        """
        given = [bit if isinstance(bit, Bit) else Bit(*bit) for bit in bits]
        plain = tuple(check_bit(_name_at(names, bit.column), bit) for bit in given)
        by_column = _by_column(len(names), plain)
        columns = tuple(
            Column(name, _kind_of(name, mine), levels_of(mine), open=bool(levels_of(mine)), missing=True)
            for name, mine in zip(names, by_column, strict=True)
        )
        return cls(columns, plain, _groups_of(columns, plain, groups or {}))

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        wrong = [name for name in names if not isinstance(name, str) or not name]
        if wrong or len(set(names)) < len(names):
            raise ValueError("names: columns need non-empty names, all different")
        if not self.bits:
            raise ValueError("bits: an encoding needs at least one")
        if len(set(self.bits)) < len(self.bits):
            twice = next(
                label for label, bit in zip(self.feature_names, self.bits, strict=True) if self._count(bit) > 1
            )
            raise ValueError(f"bits: {twice!r} is there twice")

    def _count(self, bit: Bit) -> int:
        return self.bits.count(bit)

    # -- what there is --------------------------------------------------------------------------------------------

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The label of every bit, such as ``colour=red`` or ``age > 35``; all different."""
        return labels(self.columns, self.bits)

    @property
    def n_features(self) -> int:
        """The number of bits."""
        return len(self.bits)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of all columns of the table."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def bits_of_columns(self) -> tuple[tuple[int, ...], ...]:
        """The indices of the bits of every column."""
        found: list[list[int]] = [[] for _ in self.columns]
        for i, bit in enumerate(self.bits):
            found[bit.column].append(i)
        return tuple(map(tuple, found))

    def cells(self, column: str) -> list[Cell]:
        """The values of a column as its bits see them; values in one cell have the same bits.

        Examples
        --------
        >>> encoding = Encoding.from_bits(["age"], [(0, "above", 35.5), (0, "above", 60), (0, "missing")])
        >>> for cell in encoding.cells("age"):
        ...     print(cell.bits, cell.text)
        (0, 0, 0) age ≤ 35.5
        (1, 0, 0) 35.5 < age ≤ 60
        (1, 1, 0) age > 60
        (0, 0, 1) missing
        """
        if column not in self.column_names:
            raise KeyError(f"column {column!r} is unknown; the columns are {', '.join(self.column_names)}")
        return self._cells[self.column_names.index(column)]

    @cached_property
    def _cells(self) -> list[list[Cell]]:
        by_column = _by_column(len(self.columns), self.bits)
        return [cells(column, bits) for column, bits in zip(self.columns, by_column, strict=True)]

    # -- there and back -----------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> BitMatrix:
        """The bits of a table, shape ``(n, n_features)``, packed.

        Columns of a data frame are found by name, others are ignored; an array must have all columns in order.
        """
        packed, n_rows, unknown = self._encode(X)
        if unknown:
            words = "; ".join(f"{name}: {in_words(counts)}" for name, counts in unknown.items())
            if self.unknown == "error":
                raise ValueError(
                    f"X: values never seen in fitting ({words}); replace them, or fit with rows that hold such values "
                    f"(a model of trees: decompose it with rows that have missing values in these columns); "
                    f"Encoding.fit(..., unknown='ignore') gives them zeros"
                )
            total = sum(sum(counts.values()) for counts in unknown.values())
            warnings.warn(f"{total} values never seen in fitting have zero at every bit ({words})", stacklevel=2)
        return BitMatrix(packed, n_rows)

    def unknown_levels(self, X: Any) -> dict[str, dict[Level | None, int]]:
        """What a table holds that the encoding does not know: for each column concerned, levels and their counts.

        The level None stands for missing values in a column that had none.
        """
        return self._encode(X)[2]

    def inverse(self, bits: Any) -> dict[str, list[Any]]:
        """Readable values of the columns, from bits of shape ``(n, n_features)``.

        Returns
        -------
        for every column that has bits, one value for each row: a level where the bits say which, None where the value
        is missing, and otherwise words, such as ``28 < age ≤ 37``. Bits that no value has give ``(impossible)``.

        Examples
        --------
        >>> encoding = Encoding.from_bits(["job", "age"], [(0, "level", "cook"), (1, "above", 30), (1, "missing")])
        >>> encoding.inverse([[1, 0, 1], [0, 1, 0], [0, 1, 1]])
        {'job': ['cook', 'other or missing', 'other or missing'], 'age': [None, 'age > 30', '(impossible)']}
        """
        rows = bits.to_rows() if isinstance(bits, BitMatrix) else as_bits(bits, "bits", self.feature_names)
        if rows.shape[1] != self.n_features:
            raise ValueError(f"bits: expected {self.n_features} columns, got {rows.shape[1]}")
        return {
            column.name: _values_of(rows[:, list(mine)], of_column)
            for column, mine, of_column in zip(self.columns, self.bits_of_columns, self._cells, strict=True)
            if mine
        }

    def _encode(self, X: Any) -> tuple[Words, int, dict[str, dict[Level | None, int]]]:
        if hasattr(X, "tocsc"):
            packed = self._encode_sparse(X)
            return packed.columns, packed.n_rows, {}
        table = TableReader.open(X)
        positions = self._positions(table)
        packed_columns = np.zeros((self.n_features, n_words(table.n_rows)), np.uint64)
        unknown = {}
        for column, at, mine in zip(self.columns, positions, self.bits_of_columns, strict=True):
            if not mine:
                continue
            values, new = known(column, table.read(at))
            if new:
                unknown[column.name] = new
            for i, answer in zip(mine, answers(column, [self.bits[i] for i in mine], values), strict=True):
                packed_columns[i] = pack(answer)
        return packed_columns, table.n_rows, unknown

    def _encode_sparse(self, X: Any) -> BitMatrix:
        self._check_width(X.shape[1])
        if any(bit.kind != "bit" for bit in self.bits):
            raise TypeError(
                "X: a sparse matrix holds bits only, this encoding asks for levels or numbers; pass a frame"
            )
        return BitMatrix.from_rows(X.tocsc()[:, [bit.column for bit in self.bits]], labels=self.feature_names)

    def _positions(self, table: TableReader) -> list[int]:
        """Where each column of the encoding is in a table; -1 if it is absent and not needed."""
        if not table.named:
            self._check_width(len(table.names))
            return list(range(len(self.columns)))
        at = {name: j for j, name in enumerate(table.names)}
        needed = {self.columns[bit.column].name for bit in self.bits}
        absent = [name for name in self.column_names if name in needed and name not in at]
        if absent:
            raise ValueError(
                f"X: no column {', '.join(map(repr, absent[:SHOWN]))}; the table has {', '.join(table.names[:SHOWN])}"
            )
        return [at.get(name, -1) for name in self.column_names]

    def _check_width(self, found: int) -> None:
        if found != len(self.columns):
            raise ValueError(f"X: expected {len(self.columns)} columns, as in fitting, got {found}")

    # -- saving -------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The encoding as plain lists, numbers and text, ready for JSON."""
        return {
            "format": "hoeffding encoding",
            "version": VERSION,
            "columns": [
                {
                    "name": column.name,
                    "kind": column.kind,
                    "levels": list(column.levels),
                    "open": column.open,
                    "missing": column.missing,
                    "merged": column.merged,
                }
                for column in self.columns
            ],
            "bits": [
                [bit.column, bit.kind, list(bit.value) if isinstance(bit.value, tuple) else bit.value, bit.at_missing]
                for bit in self.bits
            ],
            "groups": [[name, list(members)] for name, members in self.groups],
            "dropped": [list(entry) for entry in self.dropped],
            "unknown": self.unknown,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Encoding:
        """The inverse of :meth:`to_dict`; what does not describe an encoding is a ValueError.

        Examples
        --------
        >>> encoding = Encoding.from_bits(["age"], [(0, "above", 35.5)])
        >>> Encoding.from_dict(encoding.to_dict()) == encoding
        True
        """
        if not isinstance(data, Mapping) or data.get("format") != "hoeffding encoding":
            raise ValueError("data: not an encoding")
        if data.get("version") != VERSION:
            found = data.get("version")
            raise ValueError(
                f"data: an encoding of version {found!r}, and this hoeffding reads version {VERSION}; upgrade it"
            )
        try:
            return cls._from_plain(data)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ValueError(f"data: not a valid encoding ({error})") from error

    @classmethod
    def _from_plain(cls, data: Mapping[str, Any]) -> Encoding:
        columns = tuple(_column_from(entry) for entry in data["columns"])
        names = [column.name for column in columns]
        given = [Bit(_index(c, len(columns)), kind, value, gap) for c, kind, value, gap in data["bits"]]
        bits = tuple(check_bit(names[bit.column], bit) for bit in given)
        for column, mine in zip(columns, _by_column(len(columns), bits), strict=True):
            if _kind_of(column.name, mine) not in {column.kind, "any"} or set(levels_of(mine)) - set(column.levels):
                raise ValueError(f"column {column.name!r}: its bits do not fit")
        groups = tuple((_text(name), tuple(_index(i, len(bits)) for i in members)) for name, members in data["groups"])
        if sorted(i for _, members in groups for i in members) != list(range(len(bits))):
            raise ValueError("the groups do not hold every bit once")
        dropped = tuple((_text(label), _text(reason)) for label, reason in data["dropped"])
        if data["unknown"] not in {"error", "ignore"}:
            raise ValueError(f"unknown={data['unknown']!r}")
        return cls(columns, bits, groups, dropped, data["unknown"])

    # -- words --------------------------------------------------------------------------------------------------------

    def _summary(self) -> list[tuple[str, str, str]]:
        """For every column with bits: its name, the number of bits, and what they ask."""
        by_column = _by_column(len(self.columns), self.bits)
        return [
            (column.name, str(len(bits)), _what_is_asked(column, bits))
            for column, bits in zip(self.columns, by_column, strict=True)
            if bits
        ]

    def _title(self) -> str:
        return f"Encoding of {len(self.columns)} columns as {self.n_features} bits in {len(self.groups)} groups"

    def __repr__(self) -> str:
        summary = self._summary()
        width = max(len(name) for name, _, _ in summary[:SHOWN])
        lines = [f"  {name:<{width}}  {n:>4}  {asked}" for name, n, asked in summary[:SHOWN]]
        if len(summary) > SHOWN:
            lines.append(f"  and {len(summary) - SHOWN} more columns")
        if self.dropped:
            shown = ", ".join(f"{label} ({reason})" for label, reason in self.dropped[:SHOWN])
            more = f" and {len(self.dropped) - SHOWN} more" if len(self.dropped) > SHOWN else ""
            lines.append(f"  dropped: {shown}{more}")
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        def table(caption: str, rows: Iterable[tuple[str, ...]]) -> str:
            body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            return f"<table><caption>{escape(caption)}</caption>{body}</table>"

        return table(self._title(), self._summary()) + (table("Dropped", self.dropped) if self.dropped else "")


# -- building ---------------------------------------------------------------------------------------------------------


def _by_column(n_columns: int, bits: Sequence[Bit]) -> list[list[Bit]]:
    out: list[list[Bit]] = [[] for _ in range(n_columns)]
    for bit in bits:
        out[bit.column].append(bit)
    return out


def _kind_of(name: str, bits: Sequence[Bit]) -> Literal["bit", "level", "number", "any"]:
    """How the column of these bits is read."""
    kinds = {READ_AS[bit.kind] for bit in bits} - {"any"}
    if len(kinds) > 1:
        raise ValueError(f"column {name!r}: read as {' and as '.join(sorted(kinds))}; its bits must agree")
    return kinds.pop() if kinds else "any"  # type: ignore[return-value]  # the values of READ_AS


def _groups_of(columns: Sequence[Column], bits: Sequence[Bit], together: Mapping[str, Sequence[str]]) -> Groups:
    """The bits of each column, or of each group of columns, in the order of the columns; those without are left out."""
    names = [column.name for column in columns]
    group_of: dict[str, str] = {}
    for group, members in together.items():
        if isinstance(members, str) or not isinstance(group, str) or not group:
            raise TypeError(f"groups[{group!r}]={members!r}: expected a name, and a list of columns")
        for member in members:
            if member not in names:
                raise ValueError(f"groups[{group!r}]: no column {member!r}; the columns are {', '.join(names[:SHOWN])}")
            if member in group_of:
                raise ValueError(f"groups: column {member!r} is in {group_of[member]!r} and in {group!r}")
            group_of[member] = group
    clash = [name for name in names if name not in group_of and name in together]
    if clash:
        raise ValueError(f"groups: {clash[0]!r} is also the name of a column outside the group")
    found: dict[str, list[int]] = {}
    for i, bit in enumerate(bits):
        name = names[bit.column]
        found.setdefault(group_of.get(name, name), []).append(i)
    return tuple((name, tuple(members)) for name, members in found.items())


def _values_of(rows: BitRows, of_column: list[Cell]) -> list[Any]:
    values = {cell.bits: cell.value for cell in of_column}
    distinct, inverse = merge_rows(rows)
    found = [values.get(tuple(row), "(impossible)") for row in distinct.tolist()]
    return [found[i] for i in inverse.tolist()]


def _what_is_asked(column: Column, bits: Sequence[Bit]) -> str:
    """The bits of a column in words."""
    gaps = ", or missing" if any(bit.kind == "missing" for bit in bits) else ""
    if column.kind == "bit":
        return f"zero or one{gaps}"
    if column.kind == "number":
        return f"cut at {_some([number_text(t) for t in thresholds_of(bits)])}{gaps}"
    if column.kind == "level":
        other = f", other ({column.merged} levels)" if column.merged else ""
        return f"{_some([str(level) for level in column.levels])}{other}{gaps}"
    return "missing or not"


def _some(words: list[str]) -> str:
    return ", ".join(words[:SHOWN]) + (f" and {len(words) - SHOWN} more" if len(words) > SHOWN else "")


# -- reading plain data -----------------------------------------------------------------------------------------------


def _name_at(names: Sequence[str], j: Any) -> str:
    return names[_index(j, len(names))]


def _index(i: Any, n: int) -> int:
    if isinstance(i, bool) or not isinstance(i, int | np.integer) or not 0 <= i < n:
        raise ValueError(f"index {i!r}: expected an integer from 0 to {n - 1}")
    return int(i)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, got {value!r}")
    return value


def _column_from(entry: Mapping[str, Any]) -> Column:
    if entry["kind"] not in {"bit", "level", "number", "any"}:
        raise ValueError(f"a column of kind {entry['kind']!r}")
    if not isinstance(entry["open"], bool) or not isinstance(entry["missing"], bool):
        raise TypeError(f"column {entry['name']!r}: 'open' and 'missing' must be true or false")
    known_levels = tuple(check_level(level, f"level {level!r}") for level in entry["levels"])
    return Column(
        _text(entry["name"]), entry["kind"], known_levels, entry["open"], entry["missing"], int(entry["merged"])
    )
