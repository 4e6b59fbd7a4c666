"""Bits of a column: what each bit asks of a value, how it is labelled, and which values give the same bits.

A bit is one question about one column of a table. The kinds of questions are

========== ============================================ =====================
kind       the bit is one where                         value
========== ============================================ =====================
``bit``    the column, of zeros and ones, is one        None
``level``  the column has this level                    the level
``member`` the column has one of these levels           a tuple of levels
``other``  the column has none of the levels of others  None
``above``  x > t                                        t
``bin``    a < x <= b                                   (a, b), None for open
``missing`` the value is missing                        None
========== ============================================ =====================

Every bit but ``missing`` says with ``at_missing`` what it is where the value is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hoeffding.columns import BoolArray, CodeArray, FloatArray, Labels, Level, Numbers, Values, order_of_levels

Kind = Literal["bit", "level", "member", "other", "above", "bin", "missing"]

READ_AS = {  # how the column of a bit of each kind is read; one that only asks what is missing may hold anything
    "bit": "bit",
    "level": "level",
    "member": "level",
    "other": "level",
    "above": "number",
    "bin": "number",
    "missing": "any",
}
SHOWN_LEVELS = 3
SHOWN_DIGITS = 6


@dataclass(frozen=True)
class Bit:
    """One question about one column.

    Attributes
    ----------
    column : int
        Position among the columns of the encoding.
    kind : str
    value : level, tuple, float or None
        As the kind asks, see :mod:`hoeffding.coding`.
    at_missing : bool
        The answer where the column is missing.
    """

    column: int
    kind: Kind
    value: Any = None
    at_missing: bool = False


@dataclass(frozen=True)
class Column:
    """How one column is read.

    Attributes
    ----------
    name : str
    kind : "bit", "level", "number" or "any"
        Zeros and ones; categories; numbers compared with thresholds; or anything, if only its gaps matter.
    levels : tuple
        The levels known, sorted, of a column of categories.
    open : bool
        Whether other levels may come: they are one more level, ``other``.
    missing : bool
        Whether values may be missing.
    merged : int
        How many levels seen in fitting were merged into ``other``.
    """

    name: str
    kind: Literal["bit", "level", "number", "any"]
    levels: tuple[Level, ...] = ()
    open: bool = False
    missing: bool = False
    merged: int = 0


@dataclass(frozen=True)
class Cell:
    """Values of a column that give the same bits.

    Attributes
    ----------
    bits : tuple of int
        One for each bit of the column, in order.
    value : level, text or None
        The level if there is one only, None if the value is missing, otherwise words such as ``28 < age ≤ 37``.
    text : str
        For display.
    """

    bits: tuple[int, ...]
    value: Any
    text: str


# -- the answers ------------------------------------------------------------------------------------------------------


def answers(column: Column, bits: Sequence[Bit], values: Values) -> list[BoolArray]:
    """The answer to every bit of a column at every row, shape ``(n,)`` each; ``values`` as :func:`known` gives them."""
    missing = ~values.present()
    any_missing = bool(missing.any())
    position = {level: i for i, level in enumerate(column.levels)}
    out = []
    for bit in bits:
        if bit.kind == "missing":
            out.append(missing)
            continue
        answer = _compare(bit, values.values) if isinstance(values, Numbers) else _find(bit, values.codes, position)
        if any_missing:
            answer = np.where(missing, bit.at_missing, answer)
        out.append(answer)
    return out


def _compare(bit: Bit, x: FloatArray) -> BoolArray:
    """What a bit says of numbers, whatever it says of those that are missing."""
    if bit.kind == "bit":
        return np.asarray(x == 1)
    if bit.kind == "above":
        return np.asarray(x > bit.value)
    low, high = bit.value
    above_low = True if low is None else x > low
    return np.asarray(above_low & (True if high is None else x <= high))


def _find(bit: Bit, codes: CodeArray, position: dict[Level, int]) -> BoolArray:
    """What a bit says of levels: ``len(position)`` is the code of all others, -1 that of missing."""
    if bit.kind == "other":
        return np.asarray(codes == len(position))
    if bit.kind == "level":
        return np.asarray(codes == position[bit.value])
    chosen = np.zeros(len(position) + 2, np.bool_)
    chosen[[position[level] for level in bit.value]] = True
    return chosen[codes]


def n_words(n: int) -> int:
    """The words of a packed column of ``n`` rows."""
    return max(-(-n // 64), 1)


def pack(answer: BoolArray) -> npt.NDArray[np.uint64]:
    """One packed column, shape ``(words,)``: row r is bit ``r % 64`` of word ``r // 64``; padding is zero."""
    out = np.zeros(8 * n_words(len(answer)), np.uint8)
    packed = np.packbits(answer, bitorder="little")
    out[: len(packed)] = packed
    return out.view("<u8").astype(np.uint64, copy=False)


def known(column: Column, values: Values) -> tuple[Values, dict[Level | None, int]]:
    """Values in the form the bits of a column ask for, and what they hold that the encoding does not know.

    The codes of a column of categories become positions in ``column.levels``, and ``len(column.levels)`` for all other
    levels. Counts of unknown levels come back; the key None counts missing values where none may be.
    """
    unknown: dict[Level | None, int] = {}
    n_missing = int((~values.present()).sum())
    if n_missing and not column.missing:
        unknown[None] = n_missing
    if column.kind == "any" or n_missing == len(values.present()):
        return _nothing_but_gaps(column, values), unknown
    if column.kind != "level":
        return _as_numbers(column, values), unknown
    labels = _as_labels(column, values)
    if not column.open:
        counts = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.levels))
        new = [j for j, level in enumerate(labels.levels) if level not in column.levels and counts[j]]
        unknown |= {labels.levels[j]: int(counts[j]) for j in new}
    position = {level: i for i, level in enumerate(column.levels)}
    translate = [position.get(level, len(position)) for level in labels.levels]
    return Labels(np.array([*translate, -1], np.int32)[labels.codes], column.levels), unknown


def _nothing_but_gaps(column: Column, values: Values) -> Values:
    """Of values that are all missing, or of which only that counts."""
    if column.kind == "level":
        return Labels(np.full(len(values.present()), -1, np.int32), column.levels)
    return Numbers(np.where(values.present(), 0.0, np.nan))


def _as_numbers(column: Column, values: Values) -> Numbers:
    what = "zeros and ones" if column.kind == "bit" else "numbers"
    if isinstance(values, Labels):
        found = ", ".join(map(repr, values.levels[:SHOWN_LEVELS]))
        raise TypeError(f"column {column.name!r}: expected {what}, got categories (such as {found})")
    if column.kind == "bit":
        x = values.values
        wrong = (x != 0) & (x != 1) & ~np.isnan(x)
        if wrong.any():
            found = ", ".join(f"{v:g}" for v in np.unique(x[wrong])[:SHOWN_LEVELS])
            raise ValueError(f"column {column.name!r}: expected zeros and ones, got other values (such as {found})")
    return values


def _as_labels(column: Column, values: Values) -> Labels:
    """Numbers as categories; text for numbers, or numbers for text, is an error rather than all levels unknown."""
    labels = values
    if isinstance(labels, Numbers):
        labels = labels_of(labels)
    mine, theirs = ({isinstance(level, str) for level in levels} for levels in (column.levels, labels.levels))
    if mine and theirs and not mine & theirs:
        words = {True: "text", False: "numbers"}
        raise TypeError(
            f"column {column.name!r}: expected {words[mine.pop()]} (such as {column.levels[0]!r}), "
            f"got {words[theirs.pop()]} (such as {labels.levels[0]!r})"
        )
    return labels


def labels_of(numbers: Numbers) -> Labels:
    """Numbers as categories: whole ones are integers."""
    present = numbers.present()
    distinct, inverse = np.unique(numbers.values[present], return_inverse=True)
    codes = np.full(len(present), -1, np.int32)
    codes[present] = inverse
    return Labels(codes, tuple(int(v) if v.is_integer() else v for v in distinct.tolist()))


# -- the values that give the same bits -------------------------------------------------------------------------------


def cells(column: Column, bits: Sequence[Bit]) -> list[Cell]:
    """The values a column can take as its bits see them: those of one cell have the same bits.

    Found by asking the bits about one value of each kind, so that they cannot differ from what rows get.
    """
    words, values = _representatives(column, bits)
    patterns = np.array(answers(column, bits, values), np.uint8).reshape(len(bits), len(words)).T
    merged: dict[tuple[int, ...], list[int]] = {}
    for i, pattern in enumerate(map(tuple, patterns.tolist())):
        merged.setdefault(pattern, []).append(i)
    return [Cell(pattern, *_describe(column, words, members)) for pattern, members in merged.items()]


MISSING = object()
OTHER = object()


def _representatives(column: Column, bits: Sequence[Bit]) -> tuple[list[Any], Values]:
    """One value of each kind the bits can tell apart: what it stands for, and the values as a column."""
    gap = [MISSING] if column.missing else []
    if column.kind == "level":
        words: list[Any] = [*column.levels, *([OTHER] if column.open else []), *gap]
        codes = [*range(len(words) - len(gap)), *([-1] if gap else [])]
        return words, Labels(np.array(codes, np.int32), column.levels)
    if column.kind == "bit":
        return [0, 1, *gap], Numbers(np.array([0.0, 1.0, *([np.nan] if gap else [])]))
    edges = [-math.inf, *thresholds_of(bits), math.inf]  # the upper end of an interval (a, b] stands for it
    return [*pairwise(edges), *gap], Numbers(np.array([*edges[1:], *([np.nan] if gap else [])]))


def _describe(column: Column, words: list[Any], members: list[int]) -> tuple[Any, str]:
    """The value and the text of a cell."""
    chosen = [words[i] for i in members]
    gap = " or missing" if MISSING in chosen and len(chosen) > 1 else ""
    present = [word for word in chosen if word is not MISSING]
    if not present:
        return None, "missing"
    if isinstance(present[0], tuple):
        text = " or ".join(_interval(column.name, low, high) for low, high in _joined(present)) + gap
        return text, text
    if len(present) == 1 and not gap and present[0] is not OTHER:
        return present[0], _level_text(present[0])
    shown = ["other" if word is OTHER else _level_text(word) for word in present]
    if len(shown) > SHOWN_LEVELS:
        shown = [*shown[: SHOWN_LEVELS - 1], f"{len(shown) - SHOWN_LEVELS + 1} more"]
    text = " or ".join(shown) + gap
    return text, text


def _joined(intervals: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Neighbouring intervals made one."""
    out = intervals[:1]
    for low, high in intervals[1:]:
        if out[-1][1] == low:
            out[-1] = (out[-1][0], high)
        else:
            out.append((low, high))
    return out


def _interval(name: str, low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return "any"
    left = "" if math.isinf(low) else f"{number_text(low)} < "
    right = "" if math.isinf(high) else f" ≤ {number_text(high)}"
    return f"{name} > {number_text(low)}" if not right else f"{left}{name}{right}"


def thresholds_of(bits: Iterable[Bit]) -> list[float]:
    """All numbers that the bits of a column compare with, sorted."""
    found: set[float] = set()
    for bit in bits:
        if bit.kind == "above":
            found.add(bit.value)
        elif bit.kind == "bin":
            found |= {edge for edge in bit.value if edge is not None}
    return sorted(found)


# -- labels -----------------------------------------------------------------------------------------------------------


def number_text(x: float, digits: int = SHOWN_DIGITS) -> str:
    """A number for people: whole ones in full, others to some digits.

    >>> number_text(35.0), number_text(35.00000190734863), number_text(1234567.0)
    ('35', '35', '1234567')
    """
    return str(int(x)) if x.is_integer() and abs(x) < 1e15 else f"{x:.{digits}g}"


def labels(columns: Sequence[Column], bits: Sequence[Bit]) -> tuple[str, ...]:
    """The label of every bit, all different: ``colour=red``, ``age > 35``, ``age is missing``.

    Names and levels are put into quotation marks where two bits would get the same label otherwise.
    """
    digits = [_digits(thresholds) for thresholds in _thresholds_by_column(columns, bits)]
    plain = [_label(columns[bit.column], bit, digits[bit.column], quoted=False) for bit in bits]
    seen: dict[str, int] = {}
    for label in plain:
        seen[label] = seen.get(label, 0) + 1
    return tuple(
        label if seen[label] == 1 else _label(columns[bit.column], bit, digits[bit.column], quoted=True)
        for label, bit in zip(plain, bits, strict=True)
    )


def _thresholds_by_column(columns: Sequence[Column], bits: Sequence[Bit]) -> list[list[float]]:
    by_column: list[list[Bit]] = [[] for _ in columns]
    for bit in bits:
        by_column[bit.column].append(bit)
    return [thresholds_of(group) for group in by_column]


def _digits(thresholds: list[float]) -> int:
    """The digits at which all thresholds of a column look different."""
    digits = SHOWN_DIGITS
    while digits < 17 and len({number_text(t, digits) for t in thresholds}) < len(thresholds):
        digits += 1
    return digits


def _label(column: Column, bit: Bit, digits: int, *, quoted: bool) -> str:
    name = repr(column.name) if quoted else column.name
    if bit.kind == "missing":
        return f"{name} is missing"
    if bit.kind == "above":
        text = f"{name} > {number_text(bit.value, digits)}"
    elif bit.kind == "bin":
        low, high = bit.value
        left = "" if low is None else f"{number_text(low, digits)} < "
        text = f"{name} > {number_text(low, digits)}" if high is None else f"{left}{name} ≤ {number_text(high, digits)}"
    elif bit.kind == "member":
        shown = [_level_text(level, quoted) for level in bit.value]
        if len(shown) > SHOWN_LEVELS and not quoted:
            shown = [*shown[: SHOWN_LEVELS - 1], f"{len(shown) - SHOWN_LEVELS + 1} more"]
        text = f"{name} in {{{', '.join(shown)}}}"
    elif bit.kind == "level":
        text = f"{name}={_level_text(bit.value, quoted)}"
    else:
        text = f"{name}=(other)" if bit.kind == "other" else name
    return f"{text} or missing" if bit.at_missing else text


def _level_text(level: Level, quoted: bool = False) -> str:
    """Text as it is, in quotation marks where it could be overlooked."""
    if isinstance(level, str):
        return repr(level) if quoted or level.strip() != level or not level else level
    return str(level)


# -- checks -----------------------------------------------------------------------------------------------------------


def check_bit(name: str, bit: Bit) -> Bit:
    """The bit with plain Python values, or an error that says what is wrong with it."""
    if bit.kind not in READ_AS:
        raise ValueError(f"column {name!r}: a bit of kind {bit.kind!r}; known are {', '.join(READ_AS)}")
    if not isinstance(bit.at_missing, bool | np.bool_):
        raise TypeError(f"column {name!r}: at_missing={bit.at_missing!r} must be True or False")
    if bit.kind == "missing" and bit.at_missing:
        raise ValueError(f"column {name!r}: the bit of kind 'missing' is one where the value is missing anyway")
    return Bit(int(bit.column), bit.kind, _check_value(name, bit), bool(bit.at_missing))


def _check_value(name: str, bit: Bit) -> Any:
    value, complaint = bit.value, f"column {name!r}: a bit of kind {bit.kind!r} with value {bit.value!r}; expected "
    if bit.kind in {"bit", "other", "missing"}:
        if value is not None:
            raise ValueError(f"{complaint}None")
        return None
    if bit.kind == "level":
        return check_level(value, f"{complaint}a level")
    if not isinstance(value, tuple | list) and bit.kind != "above":
        raise TypeError(f"{complaint}a tuple")
    if bit.kind == "member":
        if not value:
            raise ValueError(f"{complaint}at least one level")
        return tuple(sorted({check_level(level, f"{complaint}levels") for level in value}, key=order_of_levels))
    edges = [value] if bit.kind == "above" else list(value)
    plain = [None if edge is None else _finite(edge, f"{complaint}finite numbers") for edge in edges]
    if bit.kind == "above":
        if plain[0] is None:
            raise ValueError(f"{complaint}a finite number")
        return plain[0]
    finite = [edge for edge in plain if edge is not None]
    if len(plain) != 2 or not finite or finite != sorted(set(finite)):
        raise ValueError(f"{complaint}(a, b) with a < b, one of them None for an open end")
    return tuple(plain)


def check_level(level: Any, complaint: str) -> Level:
    """A level as text, integer, finite float or boolean."""
    plain = level.item() if isinstance(level, np.generic) else level
    if isinstance(plain, float):
        return int(_finite(plain, complaint)) if plain.is_integer() else _finite(plain, complaint)
    if not isinstance(plain, str | int):
        raise TypeError(complaint)
    return plain


def _finite(x: Any, complaint: str) -> float:
    if isinstance(x, bool | np.bool_) or not isinstance(x, int | float | np.integer | np.floating):
        raise TypeError(complaint)
    if not math.isfinite(x):
        raise ValueError(complaint)
    return float(x)


def levels_of(bits: Iterable[Bit]) -> tuple[Level, ...]:
    """All levels that bits name, sorted."""
    found: set[Level] = set()
    for bit in bits:
        if bit.kind == "level":
            found.add(bit.value)
        elif bit.kind == "member":
            found |= set(bit.value)
    return tuple(sorted(found, key=order_of_levels))


def in_words(unknown: Mapping[Level | None, int]) -> str:
    """Unknown levels and their counts, for messages."""
    shown = [f"{'missing' if level is None else repr(level)} ({n})" for level, n in unknown.items()]
    more = len(shown) - SHOWN_LEVELS
    return ", ".join(shown[:SHOWN_LEVELS]) + (f" and {more} more" if more > 0 else "")
