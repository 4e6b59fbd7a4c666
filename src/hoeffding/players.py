"""Players: the features, or groups of features, between which components are shared out.

A group such as the bits of one column is one player. There are two ways to share a component f_S:

- ``"player"``: in equal parts between the *groups* that S touches. This is the game in which a group takes part as a
  whole.
- ``"sum"``: in equal parts between the *features* of S, those of a group added up. A group with many features in S
  then gets more of f_S.

The two agree where no set touches a group twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hoeffding.names import Groups
from hoeffding.subsets import SubsetFamily

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

Grouping = Literal["player", "sum"]


@dataclass(frozen=True, eq=False)
class Players:
    """Who takes part, in the order of their first features.

    Attributes
    ----------
    names : tuple of str
    members : tuple of tuples
        The features of every player.
    of_feature : (d,) int64
        The player of every feature.
    grouping : str or None
        The meaning of groups; None if every feature plays for itself.
    """

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    of_feature: IntArray
    grouping: Grouping | None

    @classmethod
    def of(cls, grouping: Grouping | None, groups: Groups, feature_names: tuple[str, ...]) -> Players:
        """Read the argument ``groups`` of a public function."""
        if grouping not in ("player", "sum", None):
            raise ValueError(
                f"groups={grouping!r}: must be 'player' (components are shared between groups), 'sum' (between "
                f"features, then summed), or None (every feature for itself)"
            )
        kept = groups if grouping is not None else ()
        grouped = {i for _, members in kept for i in members}
        alone = [(name, (i,)) for i, name in enumerate(feature_names) if i not in grouped]
        everyone = sorted([*kept, *alone], key=lambda player: player[1][0])
        of_feature = np.zeros(len(feature_names), np.int64)
        for g, (_, members) in enumerate(everyone):
            of_feature[list(members)] = g
        return cls(tuple(n for n, _ in everyone), tuple(m for _, m in everyone), of_feature, grouping)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Touches:
    """Which players each set of a family touches: one entry for each set and player, sorted by set.

    Attributes
    ----------
    sets, players : (n_entries,) int64
        The position of the set in the family, and the player.
    members : (n_entries,) int64
        How many features of the set belong to the player.
    touched, sizes : (n_entries,) int64
        How many players the set touches, and how many features it has.
    """

    sets: IntArray
    players: IntArray
    members: IntArray
    touched: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, family: SubsetFamily, players: Players) -> Touches:
        """All entries; the empty set touches nobody."""
        parts = [np.zeros((5, 0), np.int64)]
        for s, level in enumerate(family.levels[1:], start=1):
            p = np.sort(players.of_feature[level], axis=1)
            first = np.ones(p.shape, np.bool_)
            first[:, 1:] = p[:, 1:] != p[:, :-1]
            row, column = np.nonzero(first)
            touched = first.sum(axis=1)
            end = np.append(column[1:], s)
            end[np.cumsum(touched) - 1] = s  # the last player of every set
            sets = family.starts[s] + row
            parts.append(np.stack([sets, p[first], end - column, touched[row], np.full(len(row), s)]))
        return cls(*np.concatenate(parts, axis=1))

    def shares(self, grouping: Grouping | None) -> FloatArray:
        """The part of the component that the player gets, the Shapley value of the set, ``(n_entries,)``."""
        return np.asarray(self.members / self.sizes if grouping == "sum" else 1.0 / self.touched)

    def swings(self, grouping: Grouping | None) -> FloatArray:
        """The same for the Banzhaf value: the chance that all others of the set are there, if each is with 1/2."""
        return np.asarray(
            self.members * 0.5 ** (self.sizes - 1.0) if grouping == "sum" else 0.5 ** (self.touched - 1.0)
        )
