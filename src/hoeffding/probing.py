"""Bits behind the preparation of a table, as questions about its columns: found by asking, and checked.

A pipeline may encode, fill in and scale a table before its trees compare anything. If each bit depends on one column
only, as after ``OneHotEncoder``, ``SimpleImputer``, ``StandardScaler`` and the like, there is a question about this
column that has the same answer. To find it, one row of the table is changed in one column at a time, and prepared:
levels give the bits of a category; numbers give a threshold, which bisection finds to the last digit. The questions
must then have the same answers at every row, and at values that no row has: between and beyond the numbers of each
column, at a level never seen, and at a gap.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix, data_frame
from hoeffding.coding import Bit
from hoeffding.columns import Labels, TableReader
from hoeffding.tables import Encoding

Answers = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]
Ask = Callable[[Any], BitMatrix]

MOST_COLUMNS = 500
MOST_VALUES = 256  # of a column of numbers that are tried
FAR = 1e30  # beyond all data, and still a number in single precision
BEYOND = (1, 10, 1000)  # spans of a column beyond its ends that are tried
PARTS = 32
MOST_GAPS = 100  # columns in which a gap is tried one by one
HELD_ROWS = 3  # in which a column is changed to check the questions
MOST_CELLS = 2_000_000  # of changed rows that are checked together


class UnlikeError(ValueError):
    """Prepared rows hold what none did, so that it is not known what the trees ask of them, though they answer."""


@dataclass(frozen=True, eq=False)
class _Column:
    """The values of a column that are tried, in order, a gap (None) last, and where their answers start."""

    j: int
    values: list[Any]
    ordered: bool  # numbers that no step takes for categories
    complete: bool  # no other values occur
    start: int

    def answers(self, tried: Answers) -> Answers:
        return tried[self.start : self.start + len(self.values)]


@dataclass(frozen=True, eq=False)
class _Bracket:
    """A bit that is no at ``low``, yes at ``high``, and asks for a number between them."""

    bit: int
    j: int
    low: float
    high: float
    at_missing: bool


def encoding_behind(steps: Any, X: Any, ask: Ask) -> Encoding | None:
    """The encoding of a table that has the same bits, or None if some bit is no question about one column.

    The bits are the same at all rows, and where one column of a row holds what no row does (see ``_agree``). Gaps are
    refused in columns without any, unless the steps take them.

    Parameters
    ----------
    steps : fitted transformers
        Where the levels of columns are looked up that the table does not show.
    X : data frame or array, shape (n, d)
    ask : callable
        From rows like those of X to their bits.
    """
    table = TableReader.open(X)
    if len(table.names) > MOST_COLUMNS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of steps, about values that only this module asks about
        bits, levels, gaps = ask(X), _levels_of(steps), _gaps(table, X, ask)
        for far in (-FAR, FAR), ():  # steps that take powers refuse numbers so large
            try:
                found = _questions(list(_columns(table, levels, gaps, far)), X, ask)
                if found is None:
                    continue
                encoding = Encoding.from_bits(table.names, found)
                columns = tuple(replace(c, missing=j in gaps) for j, c in enumerate(encoding.columns))
                encoding = replace(encoding, columns=columns)
                same = np.array_equal(encoding.transform(X).to_rows(), bits.to_rows())
            except (TypeError, ValueError, KeyError):  # a value that the steps or the encoding refuse
                continue
            if same and _agree(encoding, table, levels, X, ask):
                return encoding
    return None


def _questions(columns: list[_Column], X: Any, ask: Ask) -> list[Bit] | None:
    """A question for every bit, or None if there is none for some of them."""
    tried = ask(_changed(X, [(c.j, c.values) for c in columns])).to_rows()
    base = ask(_changed(X, [])).to_rows()[0]
    depends = np.array([(c.answers(tried) != base).any(axis=0) for c in columns])
    if not (depends.sum(axis=0) == 1).all():
        return None
    found: dict[int, Bit | _Bracket] = {}
    for k, column in enumerate(columns):
        mine = np.flatnonzero(depends[k])
        answers = column.answers(tried)[:, mine]
        present = answers[: len(answers) - (None in column.values)]
        up = column.ordered and bool((np.diff(present.astype(np.int8), axis=0) >= 0).all())
        if not up and not column.complete:
            return None
        found |= {b: _question(column, b, answers[:, i].tolist(), up) for i, b in enumerate(mine.tolist())}
    brackets = [q for q in found.values() if isinstance(q, _Bracket)]
    for q, t in zip(brackets, _thresholds(X, brackets, ask), strict=True):
        found[q.bit] = Bit(q.j, "above", t, q.at_missing)
    return [q for _, q in sorted(found.items()) if isinstance(q, Bit)]


def _question(column: _Column, bit: int, answers: list[int], up: bool) -> Bit | _Bracket:
    """What one bit asks of its column, from its answers at the values tried."""
    by_value = list(zip(column.values, answers, strict=True))
    at_missing = (None, 1) in by_value
    yes = [value for value, answer in by_value if answer and value is not None]
    no = [value for value, answer in by_value if not answer and value is not None]
    if not yes:
        return Bit(column.j, "missing")
    if yes == [1.0] and no == [0.0]:
        return Bit(column.j, "bit", None, at_missing)
    if up and no:
        return _Bracket(bit, column.j, no[-1], yes[0], at_missing)
    return Bit(column.j, "level", yes[0], at_missing) if len(yes) == 1 else Bit(column.j, "member", yes, at_missing)


def _thresholds(X: Any, brackets: Sequence[_Bracket], ask: Ask) -> list[float]:
    """The largest numbers that are answered with no; each step makes all brackets smaller by the factor ``PARTS``."""
    low, high = np.array([q.low for q in brackets]), np.array([q.high for q in brackets])
    steps = np.arange(1, PARTS) / PARTS
    while (np.nextafter(low, high) < high).any():
        inside = low[:, None] + (high - low)[:, None] * steps
        inside = np.clip(inside, low[:, None], np.nextafter(high, low)[:, None])
        rows = ask(_changed(X, [(q.j, inside[k]) for k, q in enumerate(brackets)])).to_rows()
        answers = np.array([rows[k * len(steps) : (k + 1) * len(steps), q.bit] for k, q in enumerate(brackets)]) == 1
        first = np.where(answers.any(axis=1), answers.argmax(axis=1), len(steps))
        grid = np.column_stack([low, inside, high])
        at = np.arange(len(brackets))
        low, high = grid[at, first], grid[at, first + 1]
    return [float(t) for t in low]


def _columns(
    table: TableReader, levels: dict[str, list[Any]], gaps: set[int], far: Sequence[float]
) -> Iterator[_Column]:
    start = 0
    for j, name in enumerate(table.names):
        values, known = table.read(j), levels.get(name, [])
        gap = [None] if j in gaps else []
        if isinstance(values, Labels):
            texts = [level for level in known if isinstance(level, str) and level not in values.levels]
            tried, complete = [*values.levels, *texts], True
        else:
            tried, complete = _numbers(np.unique(values.values[values.present()]), known, far)
        yield _Column(j, [*tried, *gap], not isinstance(values, Labels) and not known, complete, start)
        start += len(tried) + len(gap)


def _numbers(distinct: FloatArray, known: list[Any], far: Sequence[float]) -> tuple[list[Any], bool]:
    """Numbers to try of a column with these, and whether it can have no others.

    They are the categories, where a step takes it as such; otherwise values all over its range, and far beyond it.
    """
    if known:
        categories = [float(v) for v in known if not isinstance(v, str) and v is not None and v == v]
        return sorted({*distinct.tolist(), *categories}), True
    if np.isin(distinct, (0, 1)).all():
        return [0.0, 1.0], True
    return sorted({*_some(distinct).tolist(), *far}), False


def _some(distinct: FloatArray) -> FloatArray:
    """All, or evenly chosen ones."""
    if len(distinct) <= MOST_VALUES:
        return distinct
    at = np.linspace(0, len(distinct) - 1, MOST_VALUES).astype(np.intp)
    return np.asarray(distinct[at])


def _levels_of(steps: Any) -> dict[str, list[Any]]:
    """The categories that the encoders among the steps know, by the name of the column."""
    found: dict[str, list[Any]] = {}
    if hasattr(steps, "categories_") and hasattr(steps, "feature_names_in_"):
        found |= {str(n): list(c) for n, c in zip(steps.feature_names_in_, steps.categories_, strict=True)}
    inner = [step for _, step in getattr(steps, "steps", [])]
    inner += [entry[1] for entry in getattr(steps, "transformers_", [])]
    for step in inner:
        found |= _levels_of(step)
    return found


def _gaps(table: TableReader, X: Any, ask: Ask) -> set[int]:
    """The columns that may hold a gap: those that do, and those where the steps take one."""
    held = {j for j in range(len(table.names)) if not table.read(j).present().all()}

    def taken(columns: list[int]) -> set[int]:
        try:
            ask(_changed(X, [(j, [None]) for j in columns]))
        except Exception:  # of whatever kind the steps raise
            if len(columns) == 1 or len(columns) > MOST_GAPS:
                return set()
            half = len(columns) // 2
            return taken(columns[:half]) | taken(columns[half:])
        return set(columns)

    others = [j for j in range(len(table.names)) if j not in held]
    return held | taken(others) if others else held


# -- values that no row has --------------------------------------------------------------------------------------------


def _agree(encoding: Encoding, table: TableReader, levels: dict[str, list[Any]], X: Any, ask: Ask) -> bool:
    """Whether the bits are the same where one column of some rows holds another value.

    A value that the steps or the encoding refuse can have no wrong answer, and numbers of which the steps make no
    number, such as negative ones of their logarithm, are let alone. A level must not become such a gap in silence.
    """
    tried = [
        (j, value) for j, name in enumerate(table.names) for value in _others(encoding, j, table, levels.get(name, []))
    ]
    most = max(MOST_CELLS // len(table.names), 1)
    for row in sorted({int(i) for i in np.linspace(0, table.n_rows - 1, HELD_ROWS)}):
        accepted: list[tuple[int, Any]] = []
        for start in range(0, len(tried), most):
            found = _accepted(encoding, tried[start : start + most], X, row, ask)
            if found is None:
                return False
            accepted += found
        tried = accepted
    return True


def _accepted(
    encoding: Encoding, tried: list[tuple[int, Any]], X: Any, row: int, ask: Ask
) -> list[tuple[int, Any]] | None:
    """The columns and values that are not refused; None if the answers differ at one of them."""
    try:
        rows = _changed(X, [(j, [value]) for j, value in tried], row)
        theirs, ours = ask(rows).to_rows(), encoding.transform(rows).to_rows()
    except Exception as error:  # of whatever kind the steps raise
        if len(tried) == 1:
            j, value = tried[0]
            is_level = isinstance(value, str) or encoding.columns[j].kind == "level"
            return None if isinstance(error, UnlikeError) and value is not None and is_level else []
        half = len(tried) // 2
        first = _accepted(encoding, tried[:half], X, row, ask)
        second = None if first is None else _accepted(encoding, tried[half:], X, row, ask)
        return None if first is None or second is None else first + second
    return tried if np.array_equal(theirs, ours) else None


def _others(encoding: Encoding, j: int, table: TableReader, known: list[Any]) -> list[Any]:
    """Values of a column beside those in its rows."""
    values = table.read(j)
    gap = [None] if encoding.columns[j].missing else []
    if isinstance(values, Labels):
        return ["never seen" + "!" * max(map(len, map(str, [*values.levels, *known])), default=0), *gap]
    distinct = np.unique(values.values[np.isfinite(values.values)])
    if encoding.columns[j].kind == "bit" or not len(distinct):
        return gap
    if known:
        distinct = np.unique([*distinct, *(float(v) for v in known if isinstance(v, int | float | np.number))])
        distinct = distinct[np.isfinite(distinct)]
    low, high = float(distinct[0]), float(distinct[-1])
    steps = [1.0, *(k * ((high - low) or 1.0) for k in BEYOND)]
    some = _some(distinct)
    between = ((some[:-1] + some[1:]) / 2)[: 1 if known else None]
    return [*between.tolist(), *(low - s for s in steps), *(high + s for s in steps), *gap]


# -- rows to ask about -------------------------------------------------------------------------------------------------


def _changed(X: Any, changes: Sequence[tuple[int, Sequence[Any] | FloatArray]], row: int = 0) -> Any:
    """A row of a table, as often as there are values, each time with one value in one column."""
    n = max(sum(len(values) for _, values in changes), 1)
    by_column: dict[int, list[tuple[int, Any]]] = {}
    start = 0
    for j, values in changes:
        by_column.setdefault(j, []).append((start, values))
        start += len(values)
    frame = data_frame(X)
    if frame is not None:
        rows = frame[[row] * n]
        new = [_new_column(frame, rows, j, parts) for j, parts in by_column.items()]
        return rows.with_columns(*new).to_native() if new else rows.to_native()
    array = np.repeat(np.asarray(X)[row : row + 1], n, axis=0)
    array = array.astype(object if array.dtype.kind in "OUS" else np.float64)
    for j, parts in by_column.items():
        for at, values in parts:
            array[at : at + len(values), j] = [np.nan if v is None else v for v in values]
    return array


def _new_column(frame: Any, rows: Any, j: int, parts: list[tuple[int, Any]]) -> Any:
    import narwhals as nw

    name = frame.columns[j]
    dtype, column = frame.schema[name], np.array(rows[name].to_list(), object)
    for at, values in parts:
        column[at : at + len(values)] = values
    gaps = [v is None or v != v for v in column]
    if dtype.is_numeric():
        numbers = [np.nan if gone else float(v) for v, gone in zip(column, gaps, strict=True)]
        return nw.new_series(name, numbers, nw.Float64, backend=frame.implementation)
    kind = bool if dtype == nw.Boolean else str
    items = [None if gone else kind(v) for v, gone in zip(column, gaps, strict=True)]
    kept = None if dtype == nw.Object else nw.Boolean if kind is bool else nw.String
    return nw.new_series(name, items, kept, backend=frame.implementation)
