"""Results for Dask collections: lazy arrays, computed where the rows are and when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


def is_dask(X: Any) -> bool:
    """Whether these rows are a Dask collection, or a list of delayed chunks."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(is_dask(part) for part in X)
    return type(X).__module__.split(".")[0] in {"dask", "dask_expr"}


def lazily(method: F) -> F:
    """A method that takes rows ``X`` and gives an array with one entry for each: of Dask collections a lazy one."""

    @wraps(method)
    def on_any(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        return _mapped(method, self, X, args, options) if is_dask(X) else method(self, X, *args, **options)

    return on_any  # type: ignore[return-value]  # the same signature


def _mapped(method: Callable[..., Any], self: Any, X: Any, args: Any, options: Any) -> Any:
    """A ``dask.array`` with the rows of ``X``; the number of its rows is known if that of ``X`` is."""
    import dask
    import dask.array as da

    if options.get("sparse"):
        raise TypeError("sparse=True: of a Dask collection there are dense arrays only; leave it out")
    parts, lengths = parts_of(X)
    owner = dask.delayed(self, traverse=False)
    shape = method(self, self._no_rows(), *args, **options).shape[1:]

    def apply(owner: Any, part: Any) -> Any:
        return np.asarray(method(owner, part, *args, **options))

    lazy = dask.delayed(apply, pure=False)
    arrays = [
        da.from_delayed(lazy(owner, part), (n, *shape), np.float64) for part, n in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def parts_of(X: Any) -> tuple[list[Any], list[float]]:
    """The chunks of a Dask collection, delayed, all columns of a row in one; and their numbers of rows, or NaN."""
    if isinstance(X, list | tuple):
        return list(X), [np.nan] * len(X)
    if hasattr(X, "rechunk"):
        if X.ndim != 2:
            raise ValueError(f"X: expected rows, shape (n, d), got a Dask array of shape {X.shape}")
        return X.rechunk({1: -1}).to_delayed().ravel().tolist(), list(X.chunks[0])
    if hasattr(X, "to_delayed") and hasattr(X, "columns"):
        parts = X.to_delayed()
        return parts, [np.nan] * len(parts)
    raise TypeError(
        f"X: {type(X).__name__} is not read; give a dask.dataframe, a dask.array or a list of delayed chunks"
    )
