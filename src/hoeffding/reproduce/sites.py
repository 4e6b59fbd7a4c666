r"""The exact decomposition of a function of a few categorical variables, such as the four sites of GB1.

A site with 20 amino acids is one variable with 20 values here, and not 20 bits. ``V_U`` are the functions of ``X_U``
that are orthogonal to all functions of fewer of these variables. Since ``V_U`` is the orthogonal complement of ``sum of
H_R, R < U`` in ``H_U``, the component of the largest set is what a projection onto functions of fewer variables leaves;
the projection is a sum of functions ``h_R``, and each of them is taken apart in the same way. The component of the
largest set is unique. Those of others are if no two different sums of ``h_R`` agree on the support; where they can, the
one of least norm is taken, or, to see what depends on that choice, one near random functions.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Component = tuple[tuple[int, ...], FloatArray]

TOL = 1e-13


def components(codes: IntArray, f: FloatArray, rng: np.random.Generator | None = None) -> list[Component]:
    """The components of ``f`` at the rows, each of mass ``1 / n``.

    Parameters
    ----------
    codes : array, shape (n, k)
        The values of k variables, as integers from zero on.
    f : array, shape (n,)
    rng : numpy.random.Generator, optional
        Choose among decompositions, if there are several, at random.

    Returns
    -------
    list of (variables, values at the rows of shape (n,))
        For every set of variables, from the largest to the empty one.
    """
    n, k = codes.shape
    cells = {U: _cells(codes, U) for size in range(k + 1) for U in combinations(range(k), size)}
    left = {U: np.zeros(int(cells[U].max()) + 1) for U in cells}
    whole = tuple(range(k))
    count = np.bincount(cells[whole])
    left[whole] = np.bincount(cells[whole], f) / count
    if np.abs(left[whole][cells[whole]] - f).max(initial=0.0) > 1e-12 * np.abs(f).max(initial=0.0):
        raise ValueError("f: equal rows must have equal values")
    found = []
    for size in range(k, 0, -1):
        for U in combinations(range(k), size):
            inside = list(combinations(U, size - 1))
            fits = _project(left[U], cells[U], [cells[R] for R in inside], rng)
            rest = left[U][cells[U]]
            for R, fit in zip(inside, fits, strict=True):
                left[R] += fit
                rest = rest - fit[cells[R]]
            found.append((U, rest))
    return [*found, ((), np.full(n, left[()][0]))]


def shares(codes: IntArray, f: FloatArray, rng: np.random.Generator | None = None) -> dict[tuple[int, ...], float]:
    """The share of the variance of each set of variables, ``Cov(f_U, f) / Var f``; they sum to one."""
    centred = f - f.mean()
    variance = float(centred @ centred)
    return {U: float(values @ centred) / variance for U, values in components(codes, f, rng) if U}


def _cells(codes: IntArray, U: tuple[int, ...]) -> IntArray:
    """The number of the cell of ``X_U`` that each row is in, counting the observed cells only."""
    if not U:
        return np.zeros(len(codes), np.int64)
    return np.unique(codes[:, U], axis=0, return_inverse=True)[1].ravel().astype(np.int64)


def _project(
    values: FloatArray, cell: IntArray, smaller: list[IntArray], rng: np.random.Generator | None
) -> list[FloatArray]:
    """Least squares of a function of ``X_U`` by a sum of functions of fewer variables, over the rows."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import lsmr

    mass = np.sqrt(np.bincount(cell))
    first = np.unique(cell, return_index=True)[1]  # one row in each cell
    sizes = [int(cells.max()) + 1 for cells in smaller]
    starts = np.cumsum([0, *sizes])
    columns = np.stack([cells[first] + start for cells, start in zip(smaller, starts, strict=False)], axis=1)
    indptr = np.arange(len(first) + 1) * len(smaller)
    matrix = csr_array((np.repeat(mass, len(smaller)), columns.ravel(), indptr), shape=(len(first), int(starts[-1])))
    start = None if rng is None else rng.normal(scale=values.std(), size=matrix.shape[1])
    solution = lsmr(matrix, mass * values, atol=TOL, btol=TOL, conlim=0, maxiter=10_000, x0=start)[0]
    return [solution[a:b] for a, b in pairwise(starts)]
