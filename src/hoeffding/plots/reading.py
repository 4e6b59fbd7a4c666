"""Reading what a plot is asked for: one output, a number of bars, rows; errors name the argument."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitRows
from hoeffding.decomposition import Decomposition
from hoeffding.plots import canvas
from hoeffding.sensitivity import Variance
from hoeffding.subsets import as_subset

FloatArray = npt.NDArray[np.float64]

EXACT = 1e-9  # 1 - R2 below which nothing is missing from the components


def output_index(result: Decomposition, output: int | str | None) -> int:
    """The position of an output given by name or index; 0 for a single function."""
    n = int(np.prod(result.output_shape))
    names = output_names(result)
    if output is None:
        if n > 1:
            known = ", ".join(names) if names else f"0 to {n - 1}"
            raise ValueError(f"output=None: there are {n} outputs, say which one to draw: {known}")
        return 0
    if isinstance(output, str):
        if output not in names:
            known = ", ".join(names) if names else f"none; give an index, 0 to {n - 1}"
            raise KeyError(f"output={output!r} is unknown; the names of the outputs are {known}")
        return names.index(output)
    if isinstance(output, bool | np.bool_) or not isinstance(output, int | np.integer):
        raise TypeError(f"output={output!r}: give the name or the index of an output")
    if not 0 <= output < n:
        raise IndexError(f"output={output}: out of range, there are {n} outputs (0 to {n - 1})")
    return int(output)


def output_names(result: Decomposition) -> tuple[str, ...]:
    """The names of the outputs, empty if they have none."""
    return getattr(result, "output_names", None) or ()


def output_label(result: Decomposition, output: int) -> str:
    """What the function is called in the text of a picture: f, unless it has a name or is one of several."""
    names = output_names(result)
    if names:
        return names[output]
    return f"output {output}" if result.output_shape else "f"


def take_output(result: Decomposition, a: npt.NDArray[Any], output: int) -> npt.NDArray[Any]:
    """One output of an array with the outputs last."""
    return np.asarray(a[..., output]) if result.output_shape else np.asarray(a)


def variance_of(result: Decomposition, output: int) -> Variance:
    """The variances of one output; a constant function has none to draw."""
    v = result.variance()
    one = Variance(*(take_output(result, a, output).copy() for a in (v.structural, v.correlative, v.total, v.of_f)))
    if not one.of_f > 0:
        what = output_label(result, output)
        raise ValueError(f"result: the components of {what} have no variance, only a mean; there is nothing to draw")
    return one


def missing_share(result: Decomposition) -> str:
    """Words for small print where the components do not add up to f; empty where they do."""
    if np.isnan(result.fidelity) or 1 - result.fidelity <= EXACT:
        return ""
    sign = "≥" if int(np.prod(result.output_shape)) > 1 else "="  # the fidelity is the smallest over the outputs
    return f"components up to order {result.order}, R² {sign} {_digits_of_fidelity(result.fidelity)}"


def _digits_of_fidelity(fidelity: float) -> str:
    """Never a rounded 1 for something that is less."""
    for digits in range(3, 9):
        text = f"{fidelity:.{digits}f}"
        if float(text) < 1:
            return text
    return f"1 − {1 - fidelity:.0e}"


def as_top(top: int, name: str = "top") -> int:
    """How many to draw."""
    if isinstance(top, bool | np.bool_) or not isinstance(top, int | np.integer) or top < 1:
        raise ValueError(f"{name}={top!r}: expected an integer, at least 1")
    return int(top)


# -- features and rows ------------------------------------------------------------------------------------------------


def feature_indices(result: Decomposition, subset: Iterable[int | str]) -> tuple[int, ...]:
    """A set of features given by names or indices, sorted."""
    return as_subset(result._indices(subset), result.n_features)


def subset_label(result: Decomposition, subset: tuple[int, ...], row: BitRows | None = None) -> str:
    """The names of a set of features, with their values at a row, shortened so that the whole stays readable."""
    longest = max(canvas.LONGEST_LABEL // max(len(subset), 1) - 2, 8)
    names = canvas.labels_of([result.feature_names[i] for i in subset], longest)
    if row is None:
        return " × ".join(names)
    return ", ".join(f"{name} = {row[0, i]}" for name, i in zip(names, subset, strict=True))


def count(n: int, what: str) -> str:
    """A number of things.

    >>> count(1, "row"), count(2, "more feature")
    ('1 row', '2 more features')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
