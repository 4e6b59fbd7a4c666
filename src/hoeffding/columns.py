"""Reading tables: every column becomes numbers or labels, the same ones whatever library holds the table.

A table is a data frame (pandas, polars, pyarrow or another one that narwhals knows), an array or a list of rows.
Columns are read one at a time, so that nothing larger than a column is held. What is missing is missing, whether it
says NaN, null, None or NA.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import data_frame
from hoeffding.checks import refuse_masked

FloatArray = npt.NDArray[np.float64]
CodeArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]
Level = str | int | float | bool

MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
NUMBER_TYPES = {"int", "float", "Decimal", "bool"}
TEXT = "make it numbers, or text (which is read as categories)"
DATES = "make numbers or categories of it first, such as the year, the month, or the days since some date"
LISTS = "give every item a column of its own (0 or 1), or leave the column out"
SPARSE = "make it dense with .sparse.to_dense(), or pass all columns as one scipy sparse matrix"
ADVICE = {
    **dict.fromkeys(("Date", "Datetime", "Time", "Duration", "Timestamp", "Timedelta", "date", "datetime"), DATES),
    **dict.fromkeys(("datetime64", "timedelta64", "time", "timedelta", "period", "Period"), DATES),
    **dict.fromkeys(("List", "Array", "Struct", "list", "tuple", "dict", "set", "ndarray"), LISTS),
    "Sparse": SPARSE,
}


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers or booleans: ``values``, shape ``(n,)``, NaN where missing."""

    values: FloatArray

    def present(self) -> BoolArray:
        return ~np.isnan(self.values)


@dataclass(frozen=True, eq=False)
class Labels:
    """A column of categories: ``codes``, shape ``(n,)``, are positions in ``levels``, -1 where missing.

    The levels are those that occur, sorted.
    """

    codes: CodeArray
    levels: tuple[Level, ...]

    def present(self) -> BoolArray:
        return self.codes >= 0


Values = Numbers | Labels


@dataclass(frozen=True, eq=False)
class TableReader:
    """A table opened for reading.

    Attributes
    ----------
    names : tuple of str
        Those of a data frame, or ``x0``, ``x1``, ... by position.
    named : bool
        Whether the table has names of its own.
    n_rows : int
    """

    names: tuple[str, ...]
    named: bool
    n_rows: int
    _columns: Sequence[Any]

    @classmethod
    def open(cls, X: Any) -> TableReader:
        """Open a data frame, an array of shape (n, d) or a list of rows."""
        refuse_masked("X", X)
        frame = _open_frame(X)
        if frame is None:
            rows = _as_rows(X)
            names = tuple(f"x{j}" for j in range(rows.shape[1]))
            return cls(names, False, len(rows), [rows[:, j] for j in range(rows.shape[1])])
        return cls(_names_of(frame), True, len(frame), list(frame.iter_columns()))

    def read(self, j: int) -> Values:
        """Column ``j`` as numbers or labels."""
        column = self._columns[j]
        if isinstance(column, np.ndarray):
            return _read_array(self.names[j], column)
        return _read_series(self.names[j], column)


def _open_frame(X: Any) -> Any:
    from narwhals.exceptions import DuplicateError

    try:
        return data_frame(X)
    except DuplicateError as error:
        raise ValueError(f"X: two columns have the same name; rename one of them ({_one_line(error)})") from None


def _names_of(frame: Any) -> tuple[str, ...]:
    for name in frame.columns:
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            raise ValueError(f"X: a column is named {name!r}; names must be non-empty text, rename the column")
    names = tuple(map(str, frame.columns))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"X: two columns are named {twice!r} (as text); rename one of them")
    return names


def _as_rows(X: Any) -> npt.NDArray[Any]:
    if hasattr(X, "tocsc"):
        raise TypeError("X: a sparse matrix is read only where every column is a bit; pass X.toarray()")
    if hasattr(X, "collect"):
        raise TypeError("X: a lazy frame holds no rows yet; pass X.collect()")
    if isinstance(X, dict):
        raise TypeError("X: a dictionary is not a table; pass pandas.DataFrame(X) or polars.DataFrame(X)")
    try:
        rows = np.asarray(X, dtype=object if isinstance(X, list | tuple) else None)
    except ValueError as error:
        raise ValueError(f"X: not an array of rows, {_one_line(error)}") from None
    if rows.ndim != 2 or rows.dtype.names:
        raise ValueError(
            f"X: expected a table, shape (n, d), got shape {rows.shape} and dtype {rows.dtype}; "
            f"Reshape your data, with X.reshape(1, -1) if it is one row"
        )
    return rows


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


# -- columns of data frames -------------------------------------------------------------------------------------------


def _read_series(name: str, series: Any) -> Values:
    import narwhals as nw

    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Numbers(_numbers(name, series, dtype.is_integer()))
    native = series.to_native()
    if dtype == nw.Object or getattr(native, "dtype", None) == np.dtype(object):
        return _read_objects(name, series.to_numpy(), native)
    if any(dtype == text for text in (nw.String, nw.Categorical, nw.Enum)):
        return _factorize(native) if hasattr(native, "factorize") else _replace(series)
    if series.null_count() == len(series):
        return Numbers(np.full(len(series), np.nan))
    raise _refusal(name, type(dtype).__name__ if dtype != nw.Unknown else str(getattr(native, "dtype", dtype)))


def _numbers(name: str, series: Any, integers: bool) -> FloatArray:
    import narwhals as nw

    values = np.array(series.cast(nw.Float64).to_numpy(), np.float64)
    return _exact_integers(name, values) if integers else values


def _exact_integers(name: str, values: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        if (np.abs(values) >= 2.0**53).any():
            raise ValueError(
                f"column {name!r}: holds integers beyond 2^53, which double precision cannot tell apart; divide them, "
                f"or make them text (which is read as categories)"
            )
    return values


def _factorize(native: Any) -> Labels:
    """The way of pandas, which has a function for it."""
    codes, levels = native.factorize()
    return _labels(np.asarray(codes), list(levels))


def _replace(series: Any) -> Labels:
    import narwhals as nw

    if "view" in str(getattr(series.to_native(), "type", "")):  # pyarrow finds no values in columns of this layout
        series = series.cast(nw.String)
    levels = series.unique().drop_nulls().to_list()
    if not levels:
        return _labels(np.full(len(series), -1), [])
    codes = series.replace_strict(levels, list(range(len(levels))), return_dtype=nw.Int32)
    return _labels(codes.fill_null(-1).to_numpy(), levels)


def _labels(codes: npt.NDArray[Any], levels: list[Any]) -> Labels:
    """Sort the levels, so that they do not depend on the order of the rows; no level occurs twice."""
    plain = [_plain(level) for level in levels]
    missing = [level != level for level in plain]
    distinct = sorted({level for level, gone in zip(plain, missing, strict=True) if not gone}, key=order_of_levels)
    position = {level: i for i, level in enumerate(distinct)}
    new = [-1 if gone else position[level] for level, gone in zip(plain, missing, strict=True)]
    return Labels(np.array([*new, -1], np.int32)[codes], tuple(distinct))


def order_of_levels(level: Level) -> tuple[bool, Level]:
    """Numbers before text, each in its own order."""
    return isinstance(level, str), level


def _plain(level: Any) -> Level:
    """A level as text, or as a finite number (whole ones as integers) or NaN, whatever type it has."""
    if isinstance(level, np.generic):
        level = level.item()
    if isinstance(level, float) and level.is_integer():
        return int(level)
    kept = isinstance(level, str | int) or (isinstance(level, float) and not np.isinf(level))
    return level if kept else str(level)


# -- columns of arrays ------------------------------------------------------------------------------------------------


def _read_array(name: str, column: npt.NDArray[Any]) -> Values:
    kind = column.dtype.kind
    if kind in "biuf" and column.dtype.itemsize <= 8:
        with np.errstate(over="ignore"):
            values = np.array(column, np.float64)
        return Numbers(_exact_integers(name, values) if kind in "iu" else values)
    if kind == "U":
        levels, codes = np.unique(column, return_inverse=True)
        return _labels(codes, levels.tolist())
    if kind == "O":
        return _read_objects(name, column)
    if kind == "c":
        raise ValueError(
            f"column {name!r}: Complex data not supported; make two columns of its real and imaginary part"
        )
    raise _refusal(name, column.dtype.name)


def _read_objects(name: str, column: npt.NDArray[Any], native: Any = None) -> Values:
    """A column of Python objects: all text, all booleans, or all numbers, beside what is missing."""
    items = column.tolist()
    kinds = {t: _kind_of(t) for t in set(map(type, items))}
    values = set(kinds.values()) - {"missing"}
    if values == {"text"} or (values == {"text", "float"} and _only_nan(items)):
        if hasattr(native, "factorize"):
            return _factorize(native)
        position: dict[Any, int] = {}
        codes = [position.setdefault(v, len(position)) if isinstance(v, str) else -1 for v in items]
        return _labels(np.array(codes, np.int32), list(position))
    booleans = values <= {"bool"} or (values == {"bool", "float"} and _only_nan(items))
    if booleans or values <= {"int", "float", "Decimal"}:
        numbers = [np.nan if kinds[type(item)] == "missing" else item for item in items]
        read = _as_floats(name, numbers)
        return Numbers(_exact_integers(name, read) if "int" in values else read)
    strange = sorted(kind for kind in values if kind not in {"text", *NUMBER_TYPES})
    if strange:
        raise _refusal(name, strange[0])
    count = {kind: sum(kinds[type(item)] == kind for item in items) for kind in sorted(values)}
    found = ", ".join(f"{n} {kind}" for kind, n in count.items())
    raise TypeError(
        f"column {name!r}: holds values of different types ({found}); make all of them numbers, or all text"
    )


def _as_floats(name: str, numbers: list[Any]) -> FloatArray:
    try:
        return np.array(numbers, np.float64)
    except OverflowError:
        raise ValueError(
            f"column {name!r}: holds numbers beyond double precision; divide them, or leave the column out"
        ) from None


def _kind_of(t: type) -> str:
    if t.__name__ in MISSING_TYPES:
        return "missing"
    if issubclass(t, str):
        return "text"
    if issubclass(t, bool | np.bool_):
        return "bool"
    if issubclass(t, int | np.integer):
        return "int"
    return "float" if issubclass(t, float | np.floating) else t.__name__


def _only_nan(items: list[Any]) -> bool:
    return all(item != item for item in items if isinstance(item, float | np.floating))


def _refusal(name: str, what: str) -> TypeError:
    advice = ADVICE.get(re.split(r"\W", what, maxsplit=1)[0], TEXT)
    return TypeError(f"column {name!r}: holds values of type {what}, neither numbers nor categories; {advice}")
