r"""What a report says of rows: mean absolute Shapley values with bootstrap intervals, and single rows to show.

The importance of player i is :math:`E|\varphi_i(X)| / \sum_j E|\varphi_j(X)|`. The interval is from resampling the
rows over which the mean is taken, with the components as they are: it says how far the data determine the mean, not the
components.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hoeffding.attribution import player_weights, rows_at_once
from hoeffding.bits import BitMatrix
from hoeffding.decomposition import Decomposition
from hoeffding.measure import Empirical
from hoeffding.sensitivity import over

FloatArray = npt.NDArray[np.float64]

LEVEL = 0.95
DRAWN_AT_ONCE = 2**22  # weights of rows in resamples: 32 MB
MOST_POINTS = 2**16  # of a known measure that are listed one by one


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows to average over and to show.

    Attributes
    ----------
    bits : BitMatrix
    masses : (n,) float64 or None
        What the rows weigh; None: all the same.
    n_drawn : int or None
        How many observations the rows stand for, None if the distribution is known and nothing was drawn.
    words : str
        What the rows are.
    """

    bits: BitMatrix
    masses: FloatArray | None
    n_drawn: int | None
    words: str

    @property
    def drawn_unevenly(self) -> bool:
        """Whether the rows are distinct ones that stand for several observations each."""
        return self.n_drawn is not None and self.n_drawn != self.bits.n_rows


def rows_given(result: Decomposition, X: object) -> Sample:
    """The rows that the user wants the report to be about."""
    bits = result._bits(X)
    if bits.n_rows == 0:
        raise ValueError("X: expected at least one row; leave it out to take the rows of the decomposition")
    return Sample(bits, None, bits.n_rows, "the rows given")


def rows_of_measure(result: Decomposition) -> Sample | None:
    """The rows of the decomposition, or the points of its measure; None if they are gone or too many to list."""
    if result.rows is not None:
        n = result.rows.bits.n_rows
        return Sample(result.rows.bits, result.rows.weights, n, "the rows of the decomposition")
    measure = result.measure
    try:
        n_points = measure.n_points
    except ValueError:  # it is known through counts, or was read from a file
        return None
    if isinstance(measure, Empirical):
        n_drawn = len(measure.rows) if measure.distinct else measure.n_rows
        return Sample(BitMatrix.from_rows(measure.rows), measure.weights, n_drawn, "the distinct rows")
    if n_points > MOST_POINTS:
        return None
    points, masses = measure.points()
    return Sample(BitMatrix.from_rows(points), masses, None, "the points of the measure")


@dataclass(frozen=True, eq=False)
class Importance:
    """Normalised mean absolute Shapley values, ``(n_players, m)`` each, and their intervals if rows were drawn."""

    value: FloatArray
    low: FloatArray | None
    high: FloatArray | None


def importance(result: Decomposition, sample: Sample, rng: np.random.Generator, n_resamples: int) -> Importance:
    """The importance of all players for each of m outputs."""
    resampled = sample.n_drawn is not None and n_resamples > 0
    weights = player_weights(result.family, result._players("player"), "shapley")
    m = max(int(np.prod(result.output_shape)), 1)
    sums = np.zeros((1 + n_resamples * resampled, weights.n_targets, m))
    drawing = _Drawing.of(sample, rng, n_resamples) if resampled else None
    most = sample.bits.n_rows if result._fills_cube else rows_at_once(weights.n_targets * m)
    for start, chunk in sample.bits.chunks(min(most, max(DRAWN_AT_ONCE // max(n_resamples, 1), 64))):
        size = np.abs(result._sums(chunk, weights)).reshape(chunk.n_rows, weights.n_targets, m)
        masses = np.ones(chunk.n_rows) if sample.masses is None else sample.masses[start : start + chunk.n_rows]
        sums[0] += np.tensordot(masses, size, axes=1)
        if drawing is not None:
            sums[1:] += np.tensordot(drawing.weights(start, masses), size, axes=1)
    shares = over(sums, sums.sum(axis=1, keepdims=True))
    if not resampled:
        return Importance(shares[0], None, None)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(shares[1:], [tail, 1 - tail], axis=0)  # NaN for outputs that do not vary
    return Importance(shares[0], low, high)


class _Drawing:
    """Multinomial weights of all resamples for one stretch of rows after the other."""

    def __init__(
        self, chances: FloatArray, n_drawn: int, rng: np.random.Generator, n_resamples: int, own: bool
    ) -> None:
        self.chances, self.rng, self.own = chances, rng, own
        self.left = np.full(n_resamples, n_drawn)
        self.chance_left = 1.0

    @classmethod
    def of(cls, sample: Sample, rng: np.random.Generator, n_resamples: int) -> _Drawing:
        n = sample.bits.n_rows
        assert sample.n_drawn is not None
        if sample.drawn_unevenly and sample.masses is not None:
            return cls(sample.masses / sample.masses.sum(), sample.n_drawn, rng, n_resamples, own=True)
        return cls(np.full(n, 1 / n), sample.n_drawn, rng, n_resamples, own=False)

    def weights(self, start: int, masses: FloatArray) -> FloatArray:
        """The weights of the next rows, ``(n_resamples, n_rows)``."""
        p = self.chances[start : start + len(masses)]
        here = min(p.sum() / self.chance_left, 1.0) if self.chance_left > 0 else 1.0
        last = start + len(masses) == len(self.chances)
        drawn = self.left if last else self.rng.binomial(self.left, here)
        counts = self.rng.multinomial(drawn, p / p.sum()) if p.sum() > 0 else np.zeros((len(drawn), len(p)))
        self.left = self.left - drawn
        self.chance_left -= p.sum()
        return np.asarray(counts * (1.0 if self.own else masses), np.float64)


def spread_out(n: int, most: int) -> npt.NDArray[np.intp]:
    """At most so many of n positions, evenly spaced.

    >>> spread_out(10, 4), spread_out(3, 4)
    (array([0, 3, 6, 9]), array([0, 1, 2]))
    """
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(np.intp)
