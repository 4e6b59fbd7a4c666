"""What can be set by hand in the what-if panel: bits, and groups of bits that are chosen together, with words.

An *input* is one control: a bit, or the bits of one column or group with the patterns that they can have. A group with
too many patterns for one list is taken bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix, BitRows, merge_rows
from hoeffding.decomposition import Decomposition
from hoeffding.players import Players
from hoeffding.tables import Encoding

FloatArray = npt.NDArray[np.float64]
Pattern = tuple[int, ...]

MOST_STATES = 128  # in one list to choose from
MOST_FREE_BITS = 12  # of a group whose patterns are taken from the measure, without rows
SHOWN_ONES = 3


@dataclass(frozen=True)
class Input:
    """One control.

    Attributes
    ----------
    name : str
    player : int
        The player it belongs to.
    features : tuple of int
    states : tuple of (pattern, text)
        The values of these features that can be chosen, and what they are called.
    ordered : bool
        Whether the states go from small to large.
    """

    name: str
    player: int
    features: tuple[int, ...]
    states: tuple[tuple[Pattern, str], ...]
    ordered: bool

    def states_of(self, rows: BitRows) -> npt.NDArray[np.intp]:
        """Which state each row ``(n, d)`` is in, shape ``(n,)``."""
        position = {pattern: k for k, (pattern, _) in enumerate(self.states)}
        distinct, inverse = merge_rows(rows[:, list(self.features)])
        return np.array([position[tuple(pattern)] for pattern in distinct.tolist()], np.intp)[inverse]


def inputs_of(result: Decomposition, bits: BitMatrix | None) -> list[Input]:
    """The controls for the features of a result; every row of ``bits`` can be shown with them."""
    players = result._players("player")
    rows = None if bits is None else bits.to_rows()
    found = []
    for p in range(len(players)):
        found += _of_player(result, players, p, rows)
    return found


def _of_player(result: Decomposition, players: Players, p: int, rows: BitRows | None) -> list[Input]:
    name, members = players.names[p], players.members[p]
    seen = None if rows is None else _patterns(rows[:, list(members)])
    known, ordered = _cells(result.encoding, members)
    if not known and len(members) > 1:
        known = _of_measure(result, members) if seen is None else {}
    patterns = list(known) + [pattern for pattern in seen or [] if pattern not in known]
    if len(members) == 1:
        known = {(0,): "0", (1,): "1"} | known
        return [Input(name, p, members, tuple(known.items()), ordered=ordered or not _is_level(result, members))]
    if not patterns or len(patterns) > MOST_STATES:
        return [Input(result.feature_names[i], p, (i,), (((0,), "0"), ((1,), "1")), ordered=True) for i in members]
    labels = [result.feature_names[i].removeprefix(f"{name}=").removeprefix(f"{name}_") for i in members]
    words = [known.get(pattern) or pattern_text(labels, pattern) for pattern in patterns]
    if len(set(words)) < len(words):
        words = [pattern_text(labels, pattern, len(members)) for pattern in patterns]
    return [Input(name, p, members, tuple(zip(patterns, words, strict=True)), ordered)]


def _patterns(rows: BitRows) -> list[Pattern]:
    """The distinct rows, the more frequent first."""
    distinct, inverse = merge_rows(rows)
    by_count = np.argsort(-np.bincount(inverse), kind="stable")
    return [tuple(row) for row in distinct[by_count].tolist()]


def _cells(encoding: Encoding | None, members: tuple[int, ...]) -> tuple[dict[Pattern, str], bool]:
    """The patterns of the bits of one column with their words, and whether they are in order; empty for other bits."""
    if encoding is None or members not in encoding.bits_of_columns:
        return {}, False
    column = encoding.columns[encoding.bits_of_columns.index(members)]
    return {cell.bits: cell.text for cell in encoding.cells(column.name)}, column.kind in {"number", "bit"}


def _is_level(result: Decomposition, members: tuple[int, ...]) -> bool:
    return result.encoding is not None and result.encoding.bits[members[0]].kind == "level"


def _of_measure(result: Decomposition, members: tuple[int, ...]) -> dict[Pattern, str]:
    """The patterns of positive probability; none if there are too many, or the measure does not know them."""
    if len(members) > MOST_FREE_BITS:
        return {}
    try:
        p = result.measure.marginal(members)
    except ValueError:  # it was not counted
        return {}
    return {tuple(cell): "" for cell in np.argwhere(p > 0).tolist()}


def pattern_text(labels: Sequence[str], pattern: Pattern, most: int = SHOWN_ONES) -> str:
    """What a pattern is called: the features that are one.

    >>> pattern_text(["red", "green", "blue"], (0, 1, 0)), pattern_text(["red", "green"], (0, 0))
    ('green', 'none')
    """
    ones = [label for label, bit in zip(labels, pattern, strict=True) if bit]
    if len(ones) > most:
        ones = [*ones[: most - 1], f"{len(ones) - most + 1} more"]
    return " + ".join(ones) or "none"
