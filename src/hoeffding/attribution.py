r"""Attributions: the value of the function at a row, shared out between features, groups or pairs.

The components at a row x are the Harsanyi dividends (the Moebius transform) of the game
:math:`v(T) = \sum_{S \subseteq T} f_S(x_S)`. So the values of game theory are weighted sums of components:

.. math:: \text{Shapley: } \varphi_i = \sum_{S \ni i} \frac{f_S}{|S|}, \quad
    \text{Banzhaf: } b_i = \sum_{S \ni i} \frac{f_S}{2^{|S|-1}}, \quad
    \text{interaction: } I_{ij} = \sum_{S \ni i, j} \frac{f_S}{|S| - 1}

Here they are written down as :class:`~hoeffding.components.Weights`, which a decomposition evaluates at rows. With
groups, :math:`|S|` is the number of groups that S touches (see :mod:`hoeffding.players`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hoeffding.components import Weights
from hoeffding.machine import require_memory
from hoeffding.players import Players, Touches
from hoeffding.subsets import SubsetFamily

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Attribution:
    """Values at rows, with everything that adds up to the model: ``outputs = base_value + values + remainder``.

    Outputs of the function come last in all arrays; a single one has no axis.

    Attributes
    ----------
    values : array, shape (n, n_players)
        What each feature or group contributes.
    base_value : float or array (n_outputs,)
        The mean of the decomposed function.
    prediction : array, shape (n,)
        The sum of all components, ``base_value + values.sum(axis=1)`` for Shapley values.
    remainder : array, shape (n,), or None
        What the model says beyond the components, ``outputs - prediction``, if its outputs were given.
    names : tuple of str
        Of the players.
    """

    values: FloatArray
    base_value: FloatArray
    prediction: FloatArray
    remainder: FloatArray | None
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Interactions:
    """Shapley interaction values at rows, of the pairs that have any.

    Attributes
    ----------
    pairs : (n_pairs, 2) int64
        Players g < h.
    values : array, shape (n, n_pairs)
        I_gh, half of which stands on each side of the diagonal of the dense array.
    main : array, shape (n, n_players)
        The diagonal: what is left of each Shapley value.
    names : tuple of str
        Of the players.
    """

    pairs: IntArray
    values: FloatArray
    main: FloatArray
    names: tuple[str, ...]

    def to_dense(self) -> FloatArray:
        """The array ``(n, n_players, n_players)``: symmetric, and its rows sum to the Shapley values."""
        n, p = self.main.shape[:2]
        outputs = self.main.shape[2:]
        require_memory(
            8.0 * self.main.size * p,
            f"interactions of {p} x {p} players at {n} rows",
            "ask for fewer rows, or for sparse=True, which keeps the pairs that interact",
        )
        out = np.zeros((n, p, p, *outputs))
        g, h = self.pairs.T
        out[:, g, h] = out[:, h, g] = self.values / 2
        out[:, np.arange(p), np.arange(p)] = self.main
        return out


def player_weights(family: SubsetFamily, players: Players, value: Literal["shapley", "banzhaf"]) -> Weights:
    """The weights of all components in the Shapley or Banzhaf values of the players."""
    touches = Touches.of(family, players)
    weights = touches.shares(players.grouping) if value == "shapley" else touches.swings(players.grouping)
    return Weights(len(players), touches.sets, touches.players, weights)


def main_weights(family: SubsetFamily, players: Players) -> Weights:
    """The weights of all components in the diagonal of the interactions: a Shapley value less half of its pairs."""
    touches = Touches.of(family, players)
    if players.grouping == "sum":
        others = np.where(touches.touched == 1, 0.0, touches.sizes - touches.members)
        pairs = touches.members * others / np.maximum(touches.sizes - 1, 1)
    else:
        pairs = (touches.touched > 1).astype(np.float64)
    return Weights(len(players), touches.sets, touches.players, touches.shares(players.grouping) - pairs / 2)


def pair_weights(family: SubsetFamily, players: Players) -> tuple[IntArray, Weights]:
    """The pairs of players that some set touches, ``(n_pairs, 2)``, and the weights of their interactions."""
    touches = Touches.of(family, players)
    n_entries = np.bincount(touches.sets, minlength=len(family))
    start_of_set = np.cumsum(n_entries) - n_entries
    left, right = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for k in range(2, int(n_entries.max(initial=0)) + 1):
        starts = start_of_set[n_entries == k]
        a, b = np.triu_indices(k, 1)
        left.append((starts[:, None] + a).ravel())
        right.append((starts[:, None] + b).ravel())
    one, other = np.concatenate(left), np.concatenate(right)
    by_set = np.argsort(touches.sets[one], kind="stable")
    one, other = one[by_set], other[by_set]
    if players.grouping == "sum":
        weights = touches.members[one] * touches.members[other] / (touches.sizes[one] - 1)
    else:
        weights = 1.0 / (touches.touched[one] - 1)
    keys = touches.players[one] * len(players) + touches.players[other]
    pairs, targets = np.unique(keys, return_inverse=True)
    return np.stack(np.divmod(pairs, len(players)), axis=1), Weights(len(pairs), touches.sets[one], targets, weights)


def joined(first: Weights, second: Weights) -> Weights:
    """Both kinds of sums at once, the targets of the second behind those of the first."""
    sets = np.concatenate([first.sets, second.sets])
    targets = np.concatenate([first.targets, first.n_targets + second.targets])
    by_set = np.argsort(sets, kind="stable")
    weights = np.concatenate([first.weights, second.weights])
    return Weights(first.n_targets + second.n_targets, sets[by_set], targets[by_set], weights[by_set])


def interactions(sums: FloatArray, pairs: IntArray, names: tuple[str, ...]) -> Interactions:
    """Put together from the diagonal and then the interactions of pairs, ``(n, n_players + n_pairs, ...)``."""
    return Interactions(pairs, sums[:, len(names) :], sums[:, : len(names)], names)


def normalised(values: FloatArray) -> FloatArray:
    """``values / sum |values|`` over the players (axis 1); NaN where all are zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(values / np.abs(values).sum(axis=1, keepdims=True))


def require_rows(n: int, columns: int, instead: str = "fewer rows at once") -> None:
    """Refuse values at rows that would not fit into memory."""
    require_memory(16.0 * n * columns, f"an array of {columns} values at each of {n} rows", f"ask for {instead}")


def rows_at_once(columns: int) -> int:
    """Rows for which so many values stay below some hundred megabytes."""
    return max(2**24 // max(columns, 1), 64)
