"""Reading what a plot is asked for: one output, a number of bars, one row; errors name the argument."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding import interop
from hoeffding.bits import BitMatrix
from hoeffding.checks import as_real
from hoeffding.decomposition import Decomposition
from hoeffding.players import Grouping
from hoeffding.plots import canvas
from hoeffding.sensitivity import Variance
from hoeffding.subsets import as_subset

FloatArray = npt.NDArray[np.float64]

EXACT = 1e-9  # 1 - R2 below which nothing is missing from the components
REMAINDER = "remainder"
LONGEST_SET, LEAST_NAME, LONGEST_VALUE = 60, 8, 16  # characters: of a set, of a name in it, of a value
QUESTION = "=<>≤≥?"  # signs of a name that asks for yes or no, such as "age > 30"


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


def require_components(result: Decomposition, output: int) -> None:
    """A decomposition of a constant has no attributions to draw."""
    if not take_output(result, result.coefficients, output)[1:].any():
        what = output_label(result, output)
        raise ValueError(f"result: the components of {what} are zero, it has only a mean; there is nothing to draw")


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


def subset_labels(result: Decomposition, subsets: Sequence[tuple[int, ...]]) -> list[str]:
    """The names of sets of features, shortened together so that all stay readable and different."""
    return _joined(subsets, list(result.feature_names), [""] * result.n_features)


def _joined(subsets: Sequence[tuple[int, ...]], names: list[str], endings: list[str]) -> list[str]:
    """One label for each set: the short names of its members, each with its ending."""
    labels = [""] * len(subsets)
    for size in {len(s) for s in subsets}:
        here = [j for j, s in enumerate(subsets) if len(s) == size]
        used = sorted({i for j in here for i in subsets[j]})
        ending = max((len(endings[i]) for i in used), default=0)
        longest = canvas.LONGEST_LABEL if size == 1 else LONGEST_SET
        room = max((longest - 3 * (size - 1)) // max(size, 1) - ending, LEAST_NAME)
        short = dict(zip(used, canvas.labels_of([names[i] for i in used], room), strict=True))
        for j in here:
            labels[j] = " × ".join(short[i] + endings[i] for i in subsets[j])
    return labels


def as_values(name: str, given: Any, shapes: tuple[Any, ...]) -> FloatArray:
    """Finite numbers of shape ``(k,)`` or another that is allowed, from an argument."""
    a = as_real(name, given)
    allowed = [(s,) if isinstance(s, int) else s for s in shapes]
    fits = (len(s) == a.ndim and all(k in ("n", found) for k, found in zip(s, a.shape, strict=True)) for s in allowed)
    if not any(fits) or a.size == 0:
        words = " or ".join(str(s).replace("'", "") for s in allowed)
        raise ValueError(f"{name}: expected shape {words}, one value for each player, got {a.shape}")
    if not np.isfinite(a).all():
        raise ValueError(f"{name}: has values that are not finite")
    return a


@dataclass(frozen=True, eq=False)
class ExplainedRow:
    """One row and one output: a value for each player, or for each component.

    Attributes
    ----------
    values : array, shape (k,)
    members : sequence of tuples
        Who each value is of: a player, or the features of a component.
    names, endings : lists of str
        Of players or features, and what each is at this row: ``= 1``.
    base_value, prediction : float
    remainder : float or None
    """

    values: FloatArray
    members: Sequence[tuple[int, ...]]
    names: list[str]
    endings: list[str]
    base_value: float
    prediction: float
    remainder: float | None

    def labels(self, chosen: npt.NDArray[np.intp]) -> list[str]:
        """Labels of some of the values, shortened together."""
        return _joined([self.members[j] for j in chosen.tolist()], self.names, self.endings)


def explained_row(
    result: Decomposition, x: Any, outputs: Any, groups: Grouping | None, output: int, *, components: bool = False
) -> ExplainedRow:
    """The Shapley values at one row, or its components."""
    row = result._row(x)
    if outputs is not None:
        given = as_real("outputs", outputs)
        if given.size != max(int(np.prod(result.output_shape)), 1):
            raise ValueError(f"outputs: expected what the model says at the row, got shape {given.shape}")
        outputs = given.reshape(1, *result.output_shape)
    found = result.explain(row, outputs, groups=groups)
    values, base, prediction = (
        take_output(result, a, output) for a in (found.values[0], found.base_value, found.prediction[0])
    )
    members: list[tuple[int, ...]] = [(g,) for g in range(len(values))]
    if components:
        values = take_output(result, result.components(row)[0], output)[1:]
        members = result.subsets[1:]
    if np.isnan(values).any():
        raise ValueError("x: has a combination of values that was never observed, there are no values to draw")
    rest = None if found.remainder is None else float(take_output(result, found.remainder[0], output))
    names, endings = _names_and_values(result, row, None if components else groups)
    return ExplainedRow(np.asarray(values), members, names, endings, float(base), float(prediction), rest)


def _names_and_values(result: Decomposition, row: BitMatrix, groups: Grouping | None) -> tuple[list[str], list[str]]:
    """Players and their values at a row: ``a = 1``, ``colour = red``, ``28 < age ≤ 37``, ``age > 30: yes``."""
    players = result._players(groups)
    _, words = interop.codes_of(row.to_rows(), players, result.feature_names, result.encoding)
    names, endings = list(players.names), []
    for g, word in enumerate(words[0].tolist()):
        if word in ("0", "1") and any(sign in names[g] for sign in QUESTION):
            endings.append(": yes" if word == "1" else ": no")
        elif names[g] in word:
            names[g] = word
            endings.append("")
        else:
            endings.append(f" = {canvas.shorten(word, LONGEST_VALUE)}")
    return names, endings


def rest(shares: FloatArray, shown: npt.NDArray[np.intp], what: str) -> str:
    """Words for small print about the players that are not drawn; empty if all are."""
    hidden = len(shares) - len(shown)
    if not hidden:
        return ""
    share = canvas.percent(max(float(shares.sum() - shares[shown].sum()), 0.0))
    return f"{len(shown)} of {len(shares)}; the others have {share} of the {what}"


def count(n: int, what: str) -> str:
    """A number of things.

    >>> count(1, "row"), count(2, "more feature")
    ('1 row', '2 more features')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
