"""What can be set by hand in the what-if panel: bits, and groups of bits that are chosen together, with words.

An *input* is one control: a bit, or the bits of one column or group with the patterns that they can have. A group with
too many patterns for one list is taken bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix, merge_rows
from hoeffding.decomposition import Decomposition
from hoeffding.players import Players
from hoeffding.tables import Encoding

FloatArray = npt.NDArray[np.float64]
Pattern = tuple[int, ...]

MOST_STATES = 128  # in one list to choose from
MOST_FREE_BITS = 12  # of a group whose patterns are taken from the measure, without rows
SHOWN_ONES = 3
CODED = 16  # bits of a pattern that is looked up by number


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

    def states_of(self, bits: BitMatrix) -> npt.NDArray[np.intp]:
        """Which state each row is in, shape ``(n,)``."""
        position = {pattern: k for k, (pattern, _) in enumerate(self.states)}
        patterns, inverse = _patterns(bits, self.features)
        return np.array([position[pattern] for pattern in patterns], np.intp)[inverse]


def inputs_of(result: Decomposition, bits: BitMatrix | None) -> list[Input]:
    """The controls for the features of a result; every row of ``bits`` can be shown with them."""
    players = result._players("player")
    return [one for p in range(len(players)) for one in _of_player(result, players, p, bits)]


def _of_player(result: Decomposition, players: Players, p: int, bits: BitMatrix | None) -> list[Input]:
    name, members = players.names[p], players.members[p]
    seen = None if bits is None else _by_frequency(*_patterns(bits, members))
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


def _patterns(bits: BitMatrix, features: tuple[int, ...]) -> tuple[list[Pattern], npt.NDArray[np.intp]]:
    """The distinct patterns of some features in the rows, and for each row the position of its own."""
    rows = BitMatrix(np.ascontiguousarray(bits.columns[list(features)]), bits.n_rows).to_rows()
    if len(features) > CODED:
        distinct, inverse = merge_rows(rows)
        return [tuple(row) for row in distinct.tolist()], inverse
    codes = rows @ (1 << np.arange(len(features))[::-1])
    present = np.flatnonzero(np.bincount(codes))
    position = np.zeros(2 ** len(features), np.intp)
    position[present] = np.arange(len(present))
    return [tuple(row) for row in (present[:, None] >> np.arange(len(features))[::-1] & 1).tolist()], position[codes]


def _by_frequency(patterns: list[Pattern], inverse: npt.NDArray[np.intp]) -> list[Pattern]:
    return [patterns[k] for k in np.argsort(-np.bincount(inverse), kind="stable").tolist()]


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
