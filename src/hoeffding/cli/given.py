"""The table that is explained: its rows, and the columns that may be features."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from hoeffding.cli.table_files import read_table

SHOWN = 12


@dataclass(frozen=True, eq=False)
class Given:
    """A table: all columns, those that may be features, and what to say of it."""

    path: Path
    frame: Any
    features: Any
    words: str
    notes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, left_out: Sequence[str], rows: int | None, seed: int) -> "Given":
        frame = read_table(path)
        for name in left_out:
            require_column(path, frame, name)
        if len(frame) == 0:
            raise ValueError(f"{path}: the table has no rows")
        words = f"{len(frame)} rows of {frame.shape[1]} columns in {path.name}"
        if rows is not None:
            if rows < 1:
                raise ValueError(f"--rows {rows}: must be at least 1")
            if rows < len(frame):
                words += f", of which {rows} rows drawn at random (seed {seed})"
                chosen = np.sort(np.random.default_rng(seed).choice(len(frame), rows, replace=False))
                frame = frame.iloc[chosen].reset_index(drop=True)
        features = frame.drop(columns=list(left_out))
        if features.shape[1] == 0:
            raise ValueError(f"{path}: no column is left to explain with")
        return cls(path, frame, features, words)

    def column(self, option: str, name: str) -> Any:
        values = self.frame[name]
        gaps = int(values.isna().sum())
        if gaps == len(values):
            raise ValueError(f"{option} {name}: the column is empty")
        return values

    def take(self, keep: Any, why: str) -> "Given":
        """The rows to keep; the others are noted."""
        if keep.all():
            return self
        frame, features = (part[keep].reset_index(drop=True) for part in (self.frame, self.features))
        note = {"Rows left out": f"{int((~keep).sum())}, {why}"}
        return Given(self.path, frame, features, self.words, self.notes | note)


def require_column(path: Path, frame: Any, name: str) -> None:
    """Refuse the name of a column that is not there, with the names that are like it."""
    names = list(map(str, frame.columns))
    if name not in names:
        like = get_close_matches(name, names, n=3)
        hint = f"did you mean {' or '.join(map(repr, like))}?" if like else f"it has {', '.join(names[:SHOWN])}"
        raise ValueError(f"{path}: no column {name!r}; {hint}")
