r"""Sensitivity: the variance of the function, shared out between components, features, groups and orders.

Under dependence the components are correlated, and :math:`\mathrm{Var} f = \sum_S \mathrm{Cov}(f_S, f)` splits into a
structural part :math:`\mathrm{Var} f_S` and a correlative part :math:`\mathrm{Cov}(f_S, f - f_S)`. All indices here are
sums of these shares. For independent features the correlative parts vanish and the indices are those of Sobol'; in
general a share may be negative or above one, and nothing is clipped.

The quantities of Boolean analysis are read in the same way. The spectral weight of a set is
:math:`W_S = E[f_S f]`. For the uniform measure it is the squared Fourier coefficient :math:`\hat f(S)^2`, for other
product measures that of the orthonormal basis, and all definitions below are those of O'Donnell, *Analysis of Boolean
Functions* (2014), for real-valued f. For dependent features there is no noise operator with these eigenvalues; the
definitions in terms of :math:`W_S` still make sense and are used as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hoeffding.players import Players, Touches
from hoeffding.subsets import SubsetFamily

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Variance:
    r"""The variance of f, shared out between its components: :math:`\mathrm{Var} f = \sum_S \mathrm{Cov}(f_S, f)`.

    All arrays have shape ``(n_subsets,)``, with output axes behind if there are several outputs.

    Attributes
    ----------
    structural : array
        ``Var f_S``: what the component would contribute alone.
    correlative : array
        ``Cov(f_S, f - f_S)``: what it gains or loses through its correlation with the others. May be negative.
    total : array
        Their sum, ``Cov(f_S, f)``.
    of_f : array or float
        ``Var f``, the sum of ``total`` over all components.
    """

    structural: FloatArray
    correlative: FloatArray
    total: FloatArray
    of_f: FloatArray

    def __post_init__(self) -> None:
        for a in (self.structural, self.correlative, self.total, self.of_f):
            a.flags.writeable = False

    @property
    def share(self) -> FloatArray:
        """``total / of_f``: sums to one. NaN for a constant function, which has no variance to share."""
        return over(self.total, self.of_f)


@dataclass(frozen=True, eq=False)
class Sobol:
    """Generalised Sobol' indices of features or groups, as shares of the variance of f. All arrays ``(n_players,)``.

    An index is the sum of a structural and a correlative part; the latter is the difference of the arrays here. For
    independent features it vanishes. Otherwise indices may be negative or above one.

    Attributes
    ----------
    names : tuple of str
        Of the players.
    first : array
        The first-order index: components of this player alone.
    total : array
        The total index: all components that the player has part in.
    first_structural, total_structural : array
        Their structural parts, from the variances of the components alone.
    """

    names: tuple[str, ...]
    first: FloatArray
    total: FloatArray
    first_structural: FloatArray
    total_structural: FloatArray


def over(part: FloatArray, whole: FloatArray) -> FloatArray:
    """The ratio, NaN where the whole is zero: a constant function has no variance to share."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(part / np.where(whole == 0, np.nan, whole))


def sobol(variance: Variance, family: SubsetFamily, players: Players) -> Sobol:
    """First-order and total indices of all players."""
    touches = Touches.of(family, players)
    alone = (touches.touched == 1).astype(np.float64)
    every = np.ones_like(alone)

    def index(values: FloatArray, weights: FloatArray) -> FloatArray:
        return over(_sums(values, touches, weights, len(players)), variance.of_f)

    return Sobol(
        players.names,
        first=index(variance.total, alone),
        total=index(variance.total, every),
        first_structural=index(variance.structural, alone),
        total_structural=index(variance.structural, every),
    )


def closed(values: FloatArray, family: SubsetFamily, subset: tuple[int, ...]) -> FloatArray:
    """The sum of values ``(n_subsets, ...)`` over all non-empty sets inside ``subset``."""
    inside = np.concatenate([np.isin(level, subset).all(axis=1) for level in family.levels])
    inside[0] = False
    return np.asarray(values[inside].sum(axis=0))


def shapley_effects(variance: Variance, family: SubsetFamily, players: Players) -> FloatArray:
    """The shares of variance, each component's divided between its players, ``(n_players,)``: sums to one."""
    touches = Touches.of(family, players)
    return _sums(variance.share, touches, touches.shares(players.grouping), len(players))


def influences(variance: Variance, family: SubsetFamily, players: Players) -> FloatArray:
    """The weight of all sets with a feature, ``(n_players,)``."""
    touches = Touches.of(family, players)
    return _sums(variance.total, touches, np.ones(len(touches.sets)), len(players))


def by_order(values: FloatArray, family: SubsetFamily) -> FloatArray:
    """Sums of values ``(n_subsets, ...)`` over the sets of each size, ``(order + 1, ...)``."""
    return np.stack([values[a:b].sum(axis=0) for a, b in zip(family.starts, family.starts[1:], strict=False)])


def degree(variance: Variance, family: SubsetFamily, tol: float) -> int:
    """The size of the largest set whose component has a standard deviation above ``tol`` times that of f."""
    if not (isinstance(tol, int | float | np.number) and 0 <= tol < 1):
        raise ValueError(f"tol={tol!r}: must be at least 0 and less than 1")
    alive = variance.structural > tol**2 * variance.of_f
    return int(family.sizes[alive.reshape(len(family), -1).any(axis=1)].max(initial=0))


def _sums(values: FloatArray, touches: Touches, weights: FloatArray, n_players: int) -> FloatArray:
    """Weighted sums of values ``(n_subsets, ...)`` for every player, ``(n_players, ...)``."""
    flat = values.reshape(len(values), -1)
    out = np.zeros((n_players, flat.shape[1]))
    np.add.at(out, touches.players, weights[:, None] * flat[touches.sets])
    return out.reshape(n_players, *values.shape[1:])
