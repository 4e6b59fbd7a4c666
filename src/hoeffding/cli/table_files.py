"""Tables from files: CSV, Parquet and Feather, as pandas data frames, which is what most models were trained on."""

import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from hoeffding.chunks import ENDINGS, format_of, separator_of

KINDS = {"csv": "CSV", "parquet": "Parquet", "feather": "Feather"}
NEEDED = '{what} needs {package}: python -m pip install "hoeffding[app]"'
DAMAGED = (ValueError, EOFError, zlib.error)  # and OSErrors without a number, which Arrow raises


def read_table(path: Path) -> Any:
    """The table in a file, by the ending of its name; what is wrong with it is a ValueError or OSError.

    The columns of a CSV file are separated by the sign out of ``,``, ``;``, tab and ``|`` that its first line has most.
    A first column without a name that has another value in every row, as programs write to number rows, is left out.
    """
    kind = _kind(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: {'a folder, not a file' if path.is_dir() else 'no such file'}")
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise ModuleNotFoundError(NEEDED.format(what=f"reading {path}", package="pandas")) from None
    try:
        if kind == "CSV":
            return _read_csv(path)
        return pd.read_parquet(path) if kind == "Parquet" else pd.read_feather(path)
    except ImportError:
        raise ModuleNotFoundError(NEEDED.format(what=f"reading {path}", package="pyarrow")) from None
    except (*DAMAGED, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path}: cannot be read as {kind}: {_first_line(error)}") from error


def _kind(path: Path) -> str:
    kind = format_of(path)
    if kind is None:
        raise ValueError(f"{path}: not known as a table; its name must end in {ENDINGS}")
    return KINDS[kind]


def _read_csv(path: Path) -> Any:
    import pandas as pd

    try:
        line = pd.read_csv(path, sep="\x00", header=None, nrows=1, dtype=str, quoting=3, skip_blank_lines=True)
        separator = separator_of(str(line.iloc[0, 0]))
        names = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0]
        table = pd.read_csv(path, sep=separator, low_memory=False)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise ValueError(f"byte {byte:#04x} is not UTF-8; convert the file (iconv does), and read it again") from None
    twice = [name for name, n in Counter(names).items() if n > 1 and name]
    if twice:
        raise ValueError(f"two columns are named {twice[0]!r}; rename one of them")
    if not table.index.equals(pd.RangeIndex(len(table))):
        raise ValueError(f"its rows have more values than the first line has names ({len(names)})")
    return table.iloc[:, 1:] if names.iloc[0] == "" and _names_rows(table.iloc[:, 0]) else table


def _names_rows(column: Any) -> bool:
    """Whether every row has another whole number or text here."""
    return column.dtype.kind != "f" and len(column) > 1 and bool(column.is_unique)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
