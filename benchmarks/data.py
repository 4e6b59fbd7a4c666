"""The six data sets of the paper as bits and targets, from Parquet files of the raw tables.

The files lie in the folder that the environment variable ``HOEFFDING_DATA`` names, or else in ``shared/data`` beside
the repository. Reading them needs pandas and pyarrow, encoding them scikit-learn.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]


def folder() -> Path:
    """Where the files are; SystemExit with advice if nowhere."""
    named = os.environ.get("HOEFFDING_DATA")
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    path = Path(named) if named else beside
    if path.is_dir():
        return path
    tried = f"HOEFFDING_DATA={named!r}: no such folder" if named else "HOEFFDING_DATA is not set"
    raise SystemExit(f"{tried}; set it to the folder that holds the Parquet files ({', '.join(FILES.values())})")


def load(key: str) -> tuple[Bits, FloatArray]:
    """Bits of shape ``(n, d)`` and the measured target of shape ``(n,)`` of the data set ``"A"`` to ``"F"``."""
    import pandas as pd

    path = folder() / FILES[key]
    if not path.is_file():
        raise SystemExit(f"{FILES[key]} is not in the data folder; HOEFFDING_DATA names the folder that holds it")
    X, target = RECIPES[key](pd.read_parquet(path))
    return np.ascontiguousarray(X, dtype=np.uint8), np.asarray(target, dtype=np.float64)


def one_hot(table: Any) -> Bits:
    """One bit for each value of each column; constant bits are dropped."""
    from sklearn.preprocessing import OneHotEncoder

    X = OneHotEncoder(sparse_output=False, dtype=np.uint8).fit_transform(table)
    return X[:, X.min(axis=0) != X.max(axis=0)]


def entacmaea(table: Any) -> tuple[Any, Any]:
    """All 2^13 genotypes between two proteins; the target is the combined brightness. (8192, 13)."""
    return table[[f"s{i:02d}" for i in range(1, 14)]].to_numpy(), table["brightness_combined"].to_numpy()


def kr_vs_kp(table: Any) -> tuple[Any, Any]:
    """The 35 two-valued attributes of a chess endgame, one bit each; the target is a win. (3196, 35)."""
    from sklearn.preprocessing import OneHotEncoder

    attributes = table.drop(columns="class")
    binary = attributes[[name for name in attributes if attributes[name].nunique() == 2]]
    X = OneHotEncoder(drop="if_binary", sparse_output=False, dtype=np.uint8).fit_transform(binary)
    return X, (table["class"] == "won").to_numpy()


def sgemm(table: Any) -> tuple[Any, Any]:
    """Settings of a matrix product on a GPU; the target is the mean run time in milliseconds. (241600, 40)."""
    runs = [f"run{i}_ms" for i in (1, 2, 3, 4)]
    return one_hot(table.drop(columns=runs)), table[runs].mean(axis=1).to_numpy()


def gb1(table: Any) -> tuple[Any, Any]:
    """Variants of a protein at four sites; the target is the fitness. (149361, 80)."""
    return one_hot(table[["site39", "site40", "site41", "site54"]]), table["fitness"].to_numpy()


def mushrooms(table: Any) -> tuple[Any, Any]:
    """Attributes of mushrooms, a missing value being a value; the target is poisonous. (8124, 116)."""
    return one_hot(table.drop(columns="class")), (table["class"] == "p").to_numpy()


def avgfp(table: Any) -> tuple[Any, Any]:
    """Which positions of a protein are mutated; the target is the mean brightness of equal rows. (49089, 233)."""
    sites = table["sites"]
    X = np.zeros((len(table), 236), np.uint8)
    X[np.repeat(np.arange(len(table)), sites.str.len()), np.concatenate(sites.to_list())] = 1
    X = X[:, X.min(axis=0) != X.max(axis=0)]
    rows, inverse = np.unique(X, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    return rows, np.bincount(inverse, table["median_brightness"].to_numpy()) / np.bincount(inverse)


FILES = {
    "A": "entacmaea.parquet",
    "B": "kr_vs_kp.parquet",
    "C": "sgemm.parquet",
    "D": "gb1.parquet",
    "E": "mushrooms.parquet",
    "F": "avgfp.parquet",
}

RECIPES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "A": entacmaea,
    "B": kr_vs_kp,
    "C": sgemm,
    "D": gb1,
    "E": mushrooms,
    "F": avgfp,
}
