"""What the tests of trees share: random ensembles, rows at the edges of their splits, a walk through trees by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from hoeffding.engines.trees.ensemble import Ensemble, Tree
from strategies import seeds

KINDS = ("bits", "numbers", "categories", "missing")  # of columns


def random_tree(rng, columns, depth, m):
    """A tree on columns of the given kinds; some branches end early, some nodes ask again what was asked above."""
    nodes = []

    def grow(level):
        at = len(nodes)
        nodes.append(None)
        if level == depth or rng.random() < 0.15:
            nodes[at] = (-1, 0.0, False, -1, -1, rng.normal(size=m), None)
            return at
        j = int(rng.integers(len(columns)))
        codes = None
        if columns[j] == "categories":
            threshold, codes = np.nan, np.flatnonzero(rng.random(4) < 0.4)
        elif columns[j] == "bits":
            threshold = rng.choice([-1.0, 0.0, 0.3, 0.5, 0.999, 1.0, np.inf], p=[0.05, 0.2, 0.2, 0.3, 0.15, 0.05, 0.05])
        else:
            threshold = rng.choice([-0.5, 0.0, 0.25, 1.0, np.inf], p=[0.3, 0.2, 0.3, 0.15, 0.05])
        missing_right = bool(rng.random() < 0.5)
        left, right = grow(level + 1), grow(level + 1)
        nodes[at] = (j, threshold, missing_right, left, right, np.zeros(m), codes)
        return at

    grow(0)
    feature, threshold, missing_right, left, right, value, codes = zip(*nodes, strict=True)
    sets = {k: c for k, c in enumerate(codes) if c is not None}
    return Tree(
        *map(np.array, (feature, threshold, missing_right, left, right)), np.array(value).reshape(len(nodes), m), sets
    )


def random_ensemble(rng, columns, n_trees, depth, m=1):
    trees = [random_tree(rng, columns, depth, m) for _ in range(n_trees)]
    return Ensemble.from_trees(len(columns), trees, rng.normal(size=m), single=m == 1)


def random_values(rng, columns, n):
    """Rows that meet every threshold of :func:`random_tree` exactly, from both sides, and every category."""
    rows = np.empty((n, len(columns)))
    for j, kind in enumerate(columns):
        if kind == "bits":
            rows[:, j] = rng.integers(0, 2, n)
        elif kind == "categories":
            rows[:, j] = rng.integers(0, 5, n)
        else:
            rows[:, j] = rng.choice([-0.5, -0.25, 0.0, -0.0, 0.25, np.nextafter(0.25, 1), 1.0, 2.0], n)
            if kind == "missing":
                rows[rng.random(n) < 0.25, j] = np.nan
    return rows


@st.composite
def ensembles(draw, max_m=2):
    """An ensemble and rows for it."""
    rng = np.random.default_rng(draw(seeds))
    columns = list(rng.choice(KINDS, int(rng.integers(1, 6))))
    m = int(rng.integers(1, max_m + 1))
    ensemble = random_ensemble(rng, columns, int(rng.integers(0, 5)), int(rng.integers(0, 5)), m)
    return ensemble, random_values(rng, columns, 40), columns


def by_hand(ensemble, rows):
    """The sum of trees, walked one row and one node at a time: shape ``(n, m)``."""
    out = np.tile(ensemble.base, (len(rows), 1))
    for i, x in enumerate(rows):
        for root in ensemble.tree_starts[:-1]:
            k = root
            while ensemble.feature[k] >= 0:
                value = x[ensemble.feature[k]]
                codes = ensemble.categories[ensemble.category_starts[k] : ensemble.category_starts[k + 1]]
                if np.isnan(value):
                    right = ensemble.missing_right[k]
                elif np.isnan(ensemble.threshold[k]):
                    right = value in codes
                else:
                    right = value > ensemble.threshold[k]
                k = ensemble.right[k] if right else ensemble.left[k]
            out[i] += ensemble.value[k]
    return out
