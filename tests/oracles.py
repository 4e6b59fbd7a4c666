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


class LocalRule:
    """beta_S by the triangular recursion on sets, from parity coefficients ``{frozenset: number}``, without mercy.

    The parity of a set that is not shattered is replaced, on its observed cells, by the combination of psi_T, T a
    shattered subset, of least total variance; by parities of these T if there are no more of them than cells.
    """

    def __init__(self, fourier, rows, mass):
        self.rows, self.mass, self.rest, self.beta = rows, mass, dict(fourier), {}
        for s in sorted(map(frozenset, all_subsets(rows.shape[1])), key=len, reverse=True):
            r = self.rest.get(s, 0.0)
            if r != 0.0 and (self.p(s) > 0).all():
                self.peel(s, r)
            elif r != 0.0:
                self.resolve(s, r)

    def p(self, s):
        return np.bincount(self.cell(s, self.rows), self.mass, 2 ** len(s))

    def cell(self, s, x):
        return x[:, sorted(s)] @ (1 << np.arange(len(s)))

    def chi(self, s, x):
        return (-1.0) ** x[:, sorted(s)].sum(axis=1)

    def psi(self, s, x):
        return self.chi(s, x) / (2 ** len(s) * self.p(s)[self.cell(s, x)])

    def peel(self, s, r):
        cube = np.zeros((2 ** len(s), self.rows.shape[1]), int)
        for k, i in enumerate(sorted(s)):
            cube[:, i] = np.arange(2 ** len(s)) >> k & 1
        w = 1 / (2 ** len(s) * self.p(s)[self.cell(s, cube)])
        self.beta[s] = self.beta.get(s, 0.0) + r / w.mean()
        for t in all_subsets_of(s):
            omega = np.mean(w * self.chi(s - t, cube))
            self.rest[t] = self.rest.get(t, 0.0) - omega * r / w.mean()

    def resolve(self, s, r):
        known = [t for t in all_subsets_of(s) if (self.p(t) > 0).all()]
        x = self.rows[np.unique(self.cell(s, self.rows), return_index=True)[1]]  # one row for each observed cell
        if len(known) == len(x):
            c = np.linalg.solve(np.stack([self.chi(t, x) for t in known], axis=1), self.chi(s, x))
            for t, c_t in zip(known, c, strict=True):
                self.rest[t] = self.rest.get(t, 0.0) + r * c_t
            return
        root, norm = (
            np.sqrt(self.p(s)[self.cell(s, x)]),
            [np.sqrt(self.mass @ self.psi(t, self.rows) ** 2) for t in known],
        )
        A = np.stack([root * self.psi(t, x) / n for t, n in zip(known, norm, strict=True)], axis=1)
        gamma = np.linalg.lstsq(A, root * self.chi(s, x), rcond=1e-12)[0]
        for t, g, n in zip(known, gamma, norm, strict=True):
            self.beta[t] = self.beta.get(t, 0.0) + r * g / n


def all_subsets_of(s):
    """The proper subsets of a set, as sets."""
    return [frozenset(t) for k in range(len(s)) for t in combinations(sorted(s), k)]
