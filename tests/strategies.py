"""What the tests draw at random: measures, supports, rows of bits and sets of features.

Hypothesis draws the shape, the kind and a seed; NumPy fills in the numbers. That is fast, and a failing example is
short to write down.
"""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
from hypothesis import strategies as st

from hoeffding import Empirical, Ising, Product, Table

EPS = float(np.finfo(np.float64).eps)
KINDS = ("full", "gaps", "tiny")  # full support; zero cells; probabilities down to 1e-20

seeds = st.integers(0, 2**32 - 1)


def random_support(rng, d):
    """Between 1 and 2^d - 1 points of the cube, shape ``(2,) * d``."""
    support = np.zeros(2**d, np.bool_)
    support[rng.permutation(2**d)[: rng.integers(1, 2**d)]] = True
    return support.reshape((2,) * d)


def random_pmf(rng, d, kind):
    """A pmf of shape ``(2,) * d``, of one of the ``KINDS``."""
    p = rng.uniform(0.05, 1.0, (2,) * d)
    if kind == "gaps":
        p *= random_support(rng, d)
    if kind == "tiny":
        p = 10.0 ** rng.uniform(-20, 0, (2,) * d)
        lowest, highest = rng.permutation(2**d)[:2]
        p.ravel()[[lowest, highest]] = 1e-20, 1.0
    return p / p.sum()


def random_rows(rng, n, d):
    """Rows of bits with one density for each feature, so that some cells are rare and some features constant."""
    density = rng.choice([0.0, 0.05, 0.3, 0.5, 0.8, 1.0], d, p=[0.05, 0.1, 0.25, 0.4, 0.15, 0.05])
    return (rng.random((n, d)) < density).astype(np.uint8)


@st.composite
def pmfs(draw, kinds=KINDS, min_d=1, max_d=6):
    d, kind, seed = draw(st.integers(min_d, max_d)), draw(st.sampled_from(kinds)), draw(seeds)
    return random_pmf(np.random.default_rng(seed), d, kind)


@st.composite
def supports(draw, min_d=1, max_d=6):
    """A set of points of the cube that is neither empty nor the cube, as booleans of shape ``(2,) * d``."""
    d, seed = draw(st.integers(min_d, max_d)), draw(seeds)
    return random_support(np.random.default_rng(seed), d)


@st.composite
def bit_rows(draw, max_n=80, min_d=1, max_d=6):
    n, d, seed = draw(st.integers(1, max_n)), draw(st.integers(min_d, max_d)), draw(seeds)
    return random_rows(np.random.default_rng(seed), n, d)


def tables(kinds=KINDS, min_d=1, max_d=6):
    return pmfs(kinds, min_d, max_d).map(Table)


@st.composite
def products(draw, min_d=1, max_d=6, constants=True):
    """Independent features, some of them constant if ``constants``."""
    d, seed = draw(st.integers(min_d, max_d)), draw(seeds)
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.01, 0.99, d)
    if constants:
        p = np.where(rng.random(d) < 0.15, rng.integers(0, 2, d), p)
    return Product(p)


@st.composite
def isings(draw, min_d=1, max_d=6):
    d, seed = draw(st.integers(min_d, max_d)), draw(seeds)
    rng = np.random.default_rng(seed)
    half = np.triu(rng.normal(0, 0.5, (d, d)), 1)
    return Ising(rng.normal(0, 1, d), half + half.T)


@st.composite
def empiricals(draw, min_d=1, max_d=6):
    """Rows with repetitions, with and without weights (some of them zero), and with ``distinct=True``."""
    rows = draw(bit_rows(min_d=min_d, max_d=max_d))
    kind, seed = draw(st.sampled_from(["counts", "weights", "distinct"])), draw(seeds)
    if kind == "weights":
        rng = np.random.default_rng(seed)
        weights = rng.exponential(size=len(rows)) * (rng.random(len(rows)) < 0.9)
        weights[0] += 1
        return Empirical(rows, weights)
    return Empirical(rows, distinct=kind == "distinct")


def measures(min_d=1, max_d=6):
    """Every kind of measure."""
    return st.one_of(
        tables(min_d=min_d, max_d=max_d), products(min_d, max_d), isings(min_d, max_d), empiricals(min_d, max_d)
    )


def subsets(d, min_size=0):
    """A set of features, as a sorted tuple."""
    return st.sets(st.integers(0, d - 1), min_size=min_size, max_size=d).map(sorted).map(tuple)


def all_subsets(features, up_to=None):
    """All subsets by size, then lexicographically: what a family must hold, said by itertools."""
    features = tuple(features)
    top = len(features) if up_to is None else up_to
    return list(chain.from_iterable(combinations(features, s) for s in range(top + 1)))


def shattered_by_definition(rows, order=None):
    """The sets of columns on which the rows take all patterns, one set at a time."""
    rows = np.asarray(rows)
    return [
        s
        for s in all_subsets(range(rows.shape[1]), order)
        if len({tuple(r) for r in rows[:, list(s)].tolist()}) == 2 ** len(s)
    ]
