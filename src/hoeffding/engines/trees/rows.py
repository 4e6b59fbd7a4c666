"""The rows that an ensemble is asked about: double precision, and codes for categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hoeffding.bits import BitMatrix, data_frame
from hoeffding.checks import as_real
from hoeffding.engines.trees.ensemble import Ensemble, FloatArray
from hoeffding.machine import require_memory


def read_rows(ensemble: Ensemble, X: Any) -> FloatArray:
    """The rows of an array or data frame as the ensemble reads them, shape ``(n, n_features)``.

    Columns are checked against those the model was trained on: their number, and their names where both have names.
    """
    frame = data_frame(X)
    if frame is None:
        return _from_array(ensemble, X)
    _check_names(ensemble.feature_names, frame.columns)
    _check_number(ensemble, len(frame.columns))
    rows = np.empty((len(frame), ensemble.n_features))
    for j, name in enumerate(frame.columns):
        rows[:, j] = _column(name, frame[name], ensemble.levels.get(j))
    return _checked(ensemble, rows)


def _from_array(ensemble: Ensemble, X: Any) -> FloatArray:
    if isinstance(X, BitMatrix):
        X = X.to_rows()
    if hasattr(X, "tocsc"):
        require_memory(8.0 * X.shape[0] * X.shape[1], "the rows as an array", "pass fewer rows")
        X = X.toarray()
    if ensemble.levels:
        array = np.asarray(X, object)
        _check_shape(ensemble, array)
        rows = np.empty(array.shape)
        for j in range(array.shape[1]):
            levels = ensemble.levels.get(j)
            column = array[:, j]
            rows[:, j] = _codes(f"column {j}", column.tolist(), levels) if levels else column.astype(np.float64)
    else:
        rows = as_real("X", X)
        _check_shape(ensemble, rows)
    return _checked(ensemble, rows)


def _check_shape(ensemble: Ensemble, array: Any) -> None:
    if array.ndim != 2:
        raise ValueError(f"X: expected rows of features, shape (n, {ensemble.n_features}), got shape {array.shape}")
    _check_number(ensemble, array.shape[1])


def _check_number(ensemble: Ensemble, found: int) -> None:
    if found != ensemble.n_features:
        raise ValueError(
            f"X: {found} columns, but the model was trained on {ensemble.n_features}; pass the columns of its training"
        )


def _check_names(trained: Sequence[str] | None, given: Sequence[str]) -> None:
    if trained is None or list(trained) == list(given):
        return
    missing, unknown = [n for n in trained if n not in given], [n for n in given if n not in trained]
    found = (
        f"no column {missing[0]!r}" if missing else f"column {unknown[0]!r} is unknown" if unknown else "another order"
    )
    raise ValueError(
        f"X: {found}; the model was trained on the columns {', '.join(map(str, trained))}, in this order. "
        f"Pass these columns of X"
    )


def _column(name: str, column: Any, levels: Sequence[Any] | None) -> FloatArray:
    import narwhals as nw

    if levels is not None:
        return _codes(f"column {name!r}", column.to_list(), levels)
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise TypeError(f"X: column {name!r} holds {column.dtype}, but the model was trained on numbers there")
    return as_real(f"X[{name!r}]", column.cast(nw.Float64).to_numpy())


def _codes(name: str, values: Sequence[Any], levels: Sequence[Any]) -> FloatArray:
    """Positions among the levels; missing values are NaN, and so are those that training never met."""
    code: dict[Any, float] = {level: k for k, level in enumerate(levels)}
    try:
        return np.array([code.get(v, np.nan) for v in values], np.float64)
    except TypeError:
        raise TypeError(f"X: {name} holds values that are no categories, such as {values[0]!r}") from None


def _checked(ensemble: Ensemble, rows: FloatArray) -> FloatArray:
    infinite = np.argwhere(np.isinf(rows))
    if len(infinite):
        i, j = infinite[0].tolist()
        raise ValueError(f"X: row {i}, column {j} is {rows[i, j]}; replace infinite values with large finite ones")
    categorical = np.isnan(ensemble.threshold) & (ensemble.feature >= 0)
    for j in np.unique(ensemble.feature[categorical]).tolist():
        column = rows[:, j]
        wrong = np.flatnonzero((column != np.floor(column)) & ~np.isnan(column))
        if wrong.size:
            raise ValueError(
                f"X: column {j} holds codes of categories for this model, but row {wrong[0]} is {column[wrong[0]]}"
            )
    return rows
