"""A data set: the table as published, its bits, its target, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitRows

FloatArray = npt.NDArray[np.float64]
Groups = tuple[tuple[str, tuple[int, ...]], ...]

PANDAS_MISSING = 'the table of a data set needs pandas: python -m pip install "hoeffding[data]"'


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Bits and a target, with the table they were made from.

    Attributes
    ----------
    name : str
    columns : mapping of str to array, each of shape (n_rows,)
        The table as published. ``frame`` is the same as a pandas data frame.
    X : array, shape (n, d)
        Bits. ``n`` is ``n_rows``, unless equal rows were merged.
    y : array, shape (n,)
        The target: a number, or 0 and 1.
    feature_names : tuple of str
        One name for each bit.
    groups : tuple of (str, tuple of int)
        The bits that encode one variable, under its name.
    target : str
        What ``y`` is.
    classes : tuple of str
        What 0 and 1 mean in ``y``; empty if the target is a number.
    description, licence, citation : str
    """

    name: str
    columns: Mapping[str, npt.NDArray[Any]]
    X: BitRows
    y: FloatArray
    feature_names: tuple[str, ...]
    groups: Groups
    target: str
    classes: tuple[str, ...]
    description: str
    licence: str
    citation: str

    def __post_init__(self) -> None:
        self.X.flags.writeable = self.y.flags.writeable = False

    @property
    def frame(self) -> Any:
        """The table as a pandas data frame, made anew at every call."""
        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(PANDAS_MISSING) from error
        return pd.DataFrame(dict(self.columns))

    def __repr__(self) -> str:
        n, d = self.X.shape
        kind = f"{self.classes[1]} or {self.classes[0]}" if self.classes else "a number"
        return f"Dataset {self.name}: {n} rows of {d} bits, {len(self.groups)} variables; {self.target}: {kind}"


@dataclass(frozen=True, eq=False)
class Encoded:
    """Bits of shape ``(n, d)`` with their names, and which of them belong to one variable."""

    X: BitRows
    feature_names: tuple[str, ...]
    groups: Groups


def one_hot(columns: Mapping[str, npt.NDArray[Any]], labels: Mapping[tuple[str, str], str] | None = None) -> Encoded:
    """One bit for each value of each column, in the order of columns and sorted values; constant columns are left out.

    ``labels`` gives readable words for pairs of a column and a value.
    """
    bits: list[npt.NDArray[np.bool_]] = []
    names: list[str] = []
    groups: list[tuple[str, tuple[int, ...]]] = []
    for column, values in columns.items():
        levels, codes = np.unique(np.asarray(values), return_inverse=True)
        if len(levels) == 1:
            continue
        groups.append((column, tuple(range(len(names), len(names) + len(levels)))))
        names += [f"{column}={(labels or {}).get((column, str(level)), level)}" for level in levels]
        bits.append(codes.reshape(-1, 1) == np.arange(len(levels)))
    return Encoded(np.ascontiguousarray(np.hstack(bits), np.uint8), tuple(names), tuple(groups))


def two_valued(columns: Mapping[str, npt.NDArray[Any]]) -> Encoded:
    """One bit for each column that has two values, 1 for the later in sorted order; all other columns are left out."""
    bits: list[npt.NDArray[Any]] = []
    names: list[tuple[str, Any]] = []
    for column, values in columns.items():
        levels, codes = np.unique(np.asarray(values), return_inverse=True)
        if len(levels) == 2:
            bits.append(codes.ravel())
            names.append((column, levels[1]))
    groups = tuple((column, (i,)) for i, (column, _) in enumerate(names))
    return Encoded(np.array(bits, np.uint8).T.copy(), tuple(f"{c}={level}" for c, level in names), groups)
