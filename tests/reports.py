"""Decompositions that reports are tested on: columns of every kind, hostile names, and the ends of the range."""

from functools import cache
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import hoeffding

HOSTILE = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
MARKED = "a & b | `c` *d* <b>e</b> $f$ </script><!-- %{x} {{ 7 * 7 }}"


def mixed_table(n=600, seed=0):
    """Categories, numbers with gaps, booleans and small integers, and a function of them."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue", "black"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "age": rng.normal(40, 12, n).round(1),
            "member": rng.integers(0, 2, n).astype(bool),
            "rooms": rng.integers(1, 6, n),
        }
    )
    table.loc[rng.random(n) < 0.1, "age"] = np.nan
    noise = rng.normal(0, 0.1, n)
    y = 2.0 * (table.colour == "red") + 1.5 * (table.age.fillna(30) > 45) * table.member + 0.3 * table.rooms + noise
    return table, y.to_numpy()


@cache
def mixed(n_outputs=1):
    """A regression of order 2 on the table above."""
    table, y = mixed_table()
    outputs = y if n_outputs == 1 else np.stack([y, np.cos(y), y**2][:n_outputs], axis=1)
    return hoeffding.decompose(outputs, table, order=2)


@cache
def hostile():
    """Columns, levels, groups and outputs whose names try to be HTML, JSON, Markdown, and formats of pictures."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            HOSTILE: rng.choice([HOSTILE, IMAGE, "2020-01-01", "plain"], 300),
            IMAGE: rng.integers(0, 2, 300),
            MARKED: rng.choice([MARKED, "17", "javascript:alert(3)"], 300),
            "</title>": rng.integers(0, 2, 300),
        }
    )
    y = (table[HOSTILE] == IMAGE) * (1.0 + table[IMAGE]) + (table[MARKED] == MARKED) * (2.0 - table["</title>"])
    return hoeffding.decompose(y.to_numpy(), table, order=2)


@cache
def cube(d=13):
    """More components than there are tables for: coefficients and probabilities are kept instead."""
    rng = np.random.default_rng(2)
    pmf = rng.uniform(0.1, 1.0, (2,) * d)
    return hoeffding.transform(rng.normal(size=(2,) * d), pmf / pmf.sum())


@cache
def wide(d=200, n=1000):
    """All pairs of 200 features, every one with a component."""
    rng = np.random.default_rng(3)
    rows = (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(np.uint8)
    terms = {s: rng.normal() for s in hoeffding.SubsetFamily.up_to_order(d, 2)}
    return hoeffding.decompose(hoeffding.Polynomial(terms), rows)


@cache
def never_seen(unseen="zero"):
    """A family with sets that are not shattered, so that some rows have cells never observed."""
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, (200, 5))
    rows[rows[:, 0] == 1, 1] = 0
    y = rows[:, 0] + 2.0 * rows[:, 2] * rows[:, 3] + rng.normal(size=200)
    model = hoeffding.HoeffdingRegressor(order=2, alpha=1e-3, l1_ratio=0.0, family="paper", unseen=unseen)
    return model.fit(rows, y).decomposition_


@cache
def measure_only():
    """The table above, read from a file that holds no rows."""
    with TemporaryDirectory() as folder:
        mixed().save(f"{folder}/result.hfd")
        return hoeffding.load(f"{folder}/result.hfd")


@cache
def too_large(d=17):
    """A function on a cube with too many points to average over and too many components to keep."""
    return hoeffding.transform(np.random.default_rng(5).normal(size=(2,) * d), hoeffding.Uniform(d))
