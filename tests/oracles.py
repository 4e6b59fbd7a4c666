"""Slow and plain: what the tests compare the engines with. Nothing here uses the code it judges."""

from itertools import chain, combinations

import numpy as np

KINDS = ("full", "holes", "few points", "tiny", "one heavy point", "tiny with holes")


def make_pmf(kind, d, rng):
    """A random pmf of shape (2,) * d: with full support (even if barely), or without."""
    n = 2**d
    p = rng.dirichlet(np.ones(n))
    if kind == "holes":
        p[rng.permutation(n)[: rng.integers(1, max(n // 4, 1) + 1)]] = 0
    elif kind == "few points":
        p[rng.permutation(n)[rng.integers(1, n // 2 + 1) :]] = 0
    elif kind == "tiny":
        p = 10.0 ** rng.uniform(-20, 0, n)
    elif kind == "tiny with holes":
        p = 10.0 ** rng.uniform(-20, 0, n)
        p[rng.permutation(n)[: rng.integers(1, max(n // 2, 1) + 1)]] = 0
    elif kind == "one heavy point":
        p = np.full(n, 1e-20)
        p[rng.integers(n)] = 1.0
    return (p / p.sum()).reshape((2,) * d)


def all_subsets(d):
    return list(chain.from_iterable(combinations(range(d), k) for k in range(d + 1)))


def cube_rows(d):
    return np.indices((2,) * d).reshape(d, -1).T


def marginal(p, s):
    return p.sum(axis=tuple(i for i in range(p.ndim) if i not in s), keepdims=True)


def parity(d, s):
    return (-1.0) ** np.indices((2,) * d)[list(s)].sum(axis=0) if s else np.ones((2,) * d)


def psi(p, s):
    """psi_S on the whole cube, NaN where X_S is never observed."""
    with np.errstate(divide="ignore"):
        w = np.broadcast_to(1 / (2 ** len(s) * marginal(p, s)), p.shape)
    return np.where(np.isfinite(w), parity(p.ndim, s) * w, np.nan)


def shattered(p):
    return [s for s in all_subsets(p.ndim) if (marginal(p, s) > 0).all()]


def design(p, family):
    """One row for each point of the support, in C order, one column for each set."""
    return np.stack([psi(p, s)[p > 0] for s in family], axis=1)


def components_on_cube(result):
    """All components at all cells, shape (n_subsets, 2, ..., 2)."""
    d = result.n_features
    return result.components(cube_rows(d)).T.reshape(len(result.family), *(2,) * d)


def largest_conditional_mean(p, component, s):
    """max over i in S and over the cells of S without i of |E[f_S 1(X_T = x_T)]|, T = S without i."""
    out = 0.0
    for i in s:
        t = tuple(j for j in s if j != i)
        out = max(out, float(np.abs(marginal(np.where(p > 0, component * p, 0.0), t)).max()))
    return out
