"""Reading arguments: numbers, counts and random generators, exactly or with an error that names the argument."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def as_real(name: str, a: npt.ArrayLike) -> FloatArray:
    """Read real numbers into a new float64 array; refuse what would not be kept exactly."""
    given = as_array(name, a)
    with np.errstate(over="ignore"):
        out = np.array(given, np.float64, order="C")
    if given.dtype.kind in "ui":
        kept = (given <= 2**53) & (given >= -(2**53))
    else:
        kept = (out.astype(given.dtype) == given) | np.isnan(out)
    if not kept.all():
        raise TypeError(f"{name}: dtype {given.dtype} holds numbers that float64 cannot keep; convert them first")
    return out


def as_array(name: str, a: npt.ArrayLike) -> npt.NDArray[Any]:
    """Read an array of real numbers, of any type, without a copy where it is one already."""
    refuse_masked(name, a)
    try:
        given = np.asarray(a)
    except ValueError as error:
        raise ValueError(f"{name}: not an array, {error}") from None
    if given.dtype.kind == "c":
        raise TypeError(
            f"{name}: complex numbers are not supported; a complex function is two real ones, real and imaginary part"
        )
    if given.dtype.kind not in "buif":
        shown = "" if given.ndim else f" ({name}={a!r})"
        raise TypeError(f"{name}: expected real numbers, got dtype {given.dtype}{shown}")
    return given


def cube_hint(size: int) -> str:
    """What to do with a flat array that could be one over the cube.

    >>> cube_hint(8)
    '; a flat array with the first feature as the highest bit becomes one by .reshape((2,) * 3)'
    """
    d = size.bit_length() - 1
    if d < 2 or size != 2**d:
        return ""
    return f"; a flat array with the first feature as the highest bit becomes one by .reshape((2,) * {d})"


def refuse_masked(name: str, a: object) -> None:
    """Masks would be dropped in silence."""
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(f"{name}: masked arrays are not supported; fill or drop what is masked first")


def refuse_overwriting(name: str, path: str | PathLike[str], inputs: Iterable[str | PathLike[str]]) -> None:
    """Refuse to write to a file that is read, or into a folder that is read."""
    out = Path(path)
    for given in map(Path, inputs):
        if given.is_dir() and out.resolve().is_relative_to(given.resolve()):
            raise ValueError(f"{name}={str(out)!r}: lies in the folder that is read, {given}; write it elsewhere")
        same = out.exists() and given.exists() and out.samefile(given)
        if same or out.resolve() == given.resolve():
            raise ValueError(f"{name}={str(out)!r}: is a file that is read, and would be replaced; give another name")


def as_count(name: str, n: int | np.integer[Any], least: int = 0) -> int:
    """Read an integer that is at least ``least``; booleans are not integers here."""
    if isinstance(n, bool | np.bool_) or not isinstance(n, int | np.integer) or n < least:
        raise ValueError(f"{name}={n!r}: expected an integer, at least {least}")
    return int(n)


def as_order(order: int, d: int, least: int = 0) -> int:
    """Read the largest size of a set of ``d`` features."""
    if isinstance(order, bool | np.bool_) or not isinstance(order, int | np.integer) or not least <= order <= d:
        raise ValueError(f"order={order!r}: must be an integer between {least} and the number of features, {d}")
    return int(order)


def as_rng(rng: np.random.Generator | int) -> np.random.Generator:
    """Read a random generator or a seed; there is no hidden randomness, so None is refused."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool | np.bool_) or not isinstance(rng, int | np.integer) or rng < 0:
        raise TypeError(f"rng={rng!r}: give a seed (a non-negative integer) or a numpy.random.Generator")
    return np.random.default_rng(int(rng))


def as_weights(name: str, weights: npt.ArrayLike, n: int) -> FloatArray:
    """Read one finite, non-negative weight per row; not all may be zero."""
    w = as_real(name, weights)
    if w.shape != (n,):
        raise ValueError(f"{name}: expected one weight per row, shape {(n,)}, got shape {w.shape}")
    wrong = np.flatnonzero(~np.isfinite(w) | (w < 0))
    if wrong.size:
        raise ValueError(f"{name}[{wrong[0]}]={w[wrong[0]]}: weights must be finite and not negative")
    if not w.any():
        raise ValueError(f"{name}: all weights are zero")
    with np.errstate(over="ignore"):
        total = w.sum()
    if not np.isfinite(total) or (w[w > 0] / total).min() < np.finfo(float).tiny:
        raise ValueError(f"{name}: from {w[w > 0].min()} to {w.max()}, their sum or ratio is beyond double precision")
    return w


def as_targets(y: npt.ArrayLike, n: int) -> FloatArray:
    """Read one finite value, or one row of finite values, for each of ``n`` rows."""
    values = as_real("y", y)
    if values.ndim not in {1, 2} or len(values) != n:
        raise ValueError(f"y: expected one value (or one row of values) for each of {n} rows, got shape {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError("y: must be finite, got NaN or infinite values")
    return values
