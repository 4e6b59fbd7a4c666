r"""Synthetic landscapes: rows of dependent bits, and a function of them whose components are known.

.. math:: f = \mu + \sum_S a_S \frac{\psi_S}{\|\psi_S\|}, \qquad y = f(X) + \varepsilon

so the component of S has the variance :math:`a_S^2`, whatever the dependence.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from hoeffding import basis
from hoeffding.bits import BitRows
from hoeffding.checks import as_count, as_order, as_rng
from hoeffding.decomposition import Decomposition
from hoeffding.engines.cube import inverse_transform, transform
from hoeffding.measure import Ising, Measure, Uniform

FloatArray = npt.NDArray[np.float64]

MOST_FEATURES = 16


@dataclass(frozen=True, eq=False, repr=False)
class Landscape:
    """A function whose decomposition is known, and rows drawn from its measure.

    Attributes
    ----------
    X : array, shape (n, d)
    y : array, shape (n,)
        ``f(X)`` plus noise.
    f : array, shape (2,) * d
        The function on the whole cube.
    measure : Measure
        Where the rows come from.
    truth : Decomposition
        The components of ``f`` under ``measure``; all but those asked for are zero.
    """

    X: BitRows
    y: FloatArray
    f: FloatArray
    measure: Measure
    truth: Decomposition

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Landscape: {n} rows of {d} bits from {self.measure!r}"


def make_landscape(
    d: int = 8,
    *,
    n: int = 1000,
    order: int = 2,
    n_interactions: int = 4,
    dependence: float = 0.0,
    noise: float = 0.0,
    rng: np.random.Generator | int,
) -> Landscape:
    """Draw a function of ``d`` bits with known components, and ``n`` rows.

    Parameters
    ----------
    d : int
        Features, at most 16.
    n : int
        Rows.
    order : int
        The size of the largest interactions.
    n_interactions : int
        How many sets of 2 to ``order`` features have a component, drawn at random; one of them, at least, has ``order``
        features. Every feature alone has a component too.
    dependence : float
        Zero for independent fair bits; otherwise the rows come from an Ising measure with random fields and couplings
        of this standard deviation (0.3 is moderate, 1 is strong).
    noise : float
        Standard deviation of what is added to ``f(X)``.
    rng : int or numpy.random.Generator

    Returns
    -------
    Landscape

    Examples
    --------
    >>> from hoeffding.datasets import make_landscape
    >>> land = make_landscape(6, order=3, n_interactions=2, dependence=0.4, rng=0)
    >>> land.X.shape, bool((land.y == land.f[tuple(land.X.T)]).all())
    ((1000, 6), True)
    >>> [S for S, share in zip(land.truth.subsets, land.truth.variance().structural) if share > 1e-9 and len(S) > 1]
    [(1, 5), (2, 3, 4)]
    """
    d, n = as_count("d", d, 1), as_count("n", n, 1)
    if d > MOST_FEATURES:
        raise ValueError(f"d={d}: at most {MOST_FEATURES} features, since the function is known on the whole cube")
    order, n_interactions = as_order(order, d), as_count("n_interactions", n_interactions)
    for name, number in (("dependence", dependence), ("noise", noise)):
        if not 0 <= number < np.inf:
            raise ValueError(f"{name}={number!r}: expected a finite number, not negative")
    generator = as_rng(rng)
    measure = _ising(d, float(dependence), generator)
    sets = [(i,) for i in range(d)] + _interactions(d, order, n_interactions, generator)
    amplitudes = generator.normal(size=len(sets))
    amplitudes += np.copysign(0.5, amplitudes)  # none of them nearly zero
    coefficients = np.zeros((2,) * d)
    for S, a in zip(sets, amplitudes.tolist(), strict=True):
        coefficients[_cell(S, d)] = a / basis.norm(measure, S)
    f = inverse_transform(coefficients, measure)
    X = measure.sample(n, generator)
    y = f[tuple(X.T)] + noise * generator.normal(size=n)
    return Landscape(X, y, f, measure, transform(f, measure))


def _cell(S: tuple[int, ...], d: int) -> tuple[int, ...]:
    """The indicator vector of S."""
    return tuple(int(i in S) for i in range(d))


def _interactions(d: int, order: int, n_interactions: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Distinct sets of 2 to ``order`` features, sizes drawn evenly and the first of the largest size."""
    if n_interactions == 0:
        return []
    available = sum(comb(d, size) for size in range(2, order + 1))
    if n_interactions > available:
        raise ValueError(f"n_interactions={n_interactions}: there are {available} sets of 2 to order={order} features")
    found = {tuple(sorted(rng.choice(d, order, replace=False).tolist()))}
    while len(found) < n_interactions:
        size = int(rng.integers(2, order + 1))
        found.add(tuple(sorted(rng.choice(d, size, replace=False).tolist())))
    return sorted(found, key=lambda S: (len(S), S))


def _ising(d: int, dependence: float, rng: np.random.Generator) -> Measure:
    if dependence == 0:
        return Uniform(d)
    J = np.triu(rng.normal(scale=dependence, size=(d, d)), 1)
    return Ising(rng.normal(scale=dependence, size=d), J + J.T)
