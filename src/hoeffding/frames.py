"""A decomposition as tidy tables: one row for each component, or for each cell of each component (and output)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from hoeffding.components import Components
from hoeffding.measure import Measure
from hoeffding.sensitivity import Variance
from hoeffding.subsets import SubsetFamily

FloatArray = npt.NDArray[np.float64]
Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def label(names: Sequence[str]) -> str:
    """The name of a set of features.

    >>> label(["a", "b"]), label([])
    ('a × b', '(mean)')
    """
    return " × ".join(names) or "(mean)"


def of_components(
    family: SubsetFamily, names: Sequence[str], outputs: Sequence[Any], coefficients: FloatArray, variance: Variance
) -> dict[str, Any]:
    """The columns of the table of components; ``outputs`` are their names, empty for a single function."""
    return _sets(family, names, outputs, np.ones(len(family), np.int64)) | {
        "coefficient": coefficients.ravel(),
        "structural": variance.structural.ravel(),
        "correlative": variance.correlative.ravel(),
        "total": variance.total.ravel(),
        "share": variance.share.ravel(),
    }


def of_cells(parts: Components, names: Sequence[str], outputs: Sequence[Any], measure: Measure) -> dict[str, Any]:
    """The columns of the table of cells; cells are listed as they are numbered, the first feature the highest bit."""
    words = [cell for s in parts.family for cell in _cells([names[i] for i in s])]
    p = np.concatenate([measure.marginals(level).ravel() for level in parts.family.levels])
    return _sets(parts.family, names, outputs, 2 ** parts.family.sizes.astype(np.int64)) | {
        "cell": np.repeat(words, parts.n_outputs),
        "probability": np.repeat(p, parts.n_outputs),
        "value": np.concatenate([table.ravel() for table in parts.tables]),
    }


def to_native(columns: dict[str, Any], backend: Backend) -> Any:
    """A data frame of the library asked for."""
    if backend not in BACKENDS:
        raise ValueError(f"backend={backend!r}: choose one of {', '.join(BACKENDS)}")
    import narwhals as nw

    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ModuleNotFoundError as error:
        message = f"to_frame(backend={backend!r}) needs {backend}: pip install {backend}"
        raise ModuleNotFoundError(message) from error


def _sets(
    family: SubsetFamily, names: Sequence[str], outputs: Sequence[Any], times: npt.NDArray[np.int64]
) -> dict[str, Any]:
    """The first columns: every set so many times, for each output."""
    each = times * max(len(outputs), 1)
    columns: dict[str, Any] = {
        "subset": np.repeat([label([names[i] for i in s]) for s in family], each),
        "order": np.repeat(family.sizes.astype(np.int64), each),
    }
    return columns | ({"output": np.tile(np.array(outputs), times.sum())} if len(outputs) else {})


def _cells(names: Sequence[str]) -> list[str]:
    """The cells of a set in words.

    >>> _cells(["a", "b"])
    ['a: 0, b: 0', 'a: 0, b: 1', 'a: 1, b: 0', 'a: 1, b: 1']
    """
    words = [""]
    for name in names:
        words = [f"{word}, {name}: {bit}" if word else f"{name}: {bit}" for word in words for bit in (0, 1)]
    return words
