"""Models that are sums of tables of bits, with rows to match: trees, checked against their answers, and polynomials.

If every column of the rows holds zeros and ones, the columns are the bits. Otherwise each different split ``x_j > t``
is a bit of its own, and an :class:`~hoeffding.tables.Encoding` says which column it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix, data_frame, pack_columns
from hoeffding.black_box import Values
from hoeffding.components import Components, Weights
from hoeffding.engines.parities import closure, family_of_paths, tables_of_paths
from hoeffding.engines.trees import answers, check_sums, evenly, last_step, read_model
from hoeffding.engines.trees.ensemble import Ensemble, NotASumOfTreesError
from hoeffding.engines.trees.polynomial import Polynomial
from hoeffding.engines.trees.rows import read_rows
from hoeffding.engines.trees.splits import SplitBits, list_leaves, split_bits
from hoeffding.names import as_feature_names
from hoeffding.progress import say
from hoeffding.subsets import SubsetFamily
from hoeffding.tables import Encoding

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

CHECKED = 1024  # rows of bits at which trees are compared with their model; of other tables it is every row


@dataclass(frozen=True, eq=False)
class SumOfTables:
    """A model in bits.

    Attributes
    ----------
    tables : Components
        The leaves, added up by path; or the terms of a polynomial.
    closed : SubsetFamily
        All subsets of the sets of these tables.
    bits : BitMatrix
        The rows.
    values : (n, m)
        Of the model at the rows.
    names : tuple of str
        Of the bits.
    encoding : Encoding or None
        How columns become bits, where they are not bits themselves.
    single : bool
        A single output has no output axis.
    output_names : tuple of str or None
    words : str
        What was read.
    """

    tables: Components
    closed: SubsetFamily
    bits: BitMatrix
    values: FloatArray
    names: tuple[str, ...]
    encoding: Encoding | None
    single: bool
    output_names: tuple[str, ...] | None
    words: str


def read_trees(model: Any, X: Any, output: str | None, max_sets: int, threads: int) -> SumOfTables:
    """Read a fitted model of trees (or a pipeline that ends in one) and its rows, shape (n, d).

    Raises :class:`~hoeffding.engines.parities.ClosureTooLargeError` if the paths have more than ``max_sets`` subsets.
    """
    own = _encoding_before(model)
    model, X, given_names = _through_pipeline(model, X)
    ensemble = read_model(model, X, output)
    rows = read_rows(ensemble, X)
    names = tuple(ensemble.feature_names or given_names or as_feature_names(None, ensemble.n_features))
    bits = None if ensemble.levels else _as_bits(rows)  # codes of categories are no bits of the table
    if bits is not None:  # the columns are the bits, whether the trees use them or not
        everywhere = np.ones(ensemble.n_features, np.bool_)
        splits, on_bits = split_bits(ensemble, everywhere, ~everywhere)
        leaves, encoding = list_leaves(on_bits), own
        leaves = replace(leaves, path_bits=splits.column[leaves.path_bits])
        names = names if own is None else own.feature_names
        what, checked = "trees on bits", evenly(len(rows), CHECKED)
    else:
        _refuse_missing_numbers(ensemble, rows, names)
        missing: BoolArray = np.isnan(rows)
        binary: BoolArray = np.asarray(((rows == 0) | (rows == 1) | missing).all(axis=0))
        binary[list(ensemble.levels)] = False
        splits, on_bits = split_bits(ensemble, binary, np.asarray(missing.any(axis=0)))
        leaves = list_leaves(on_bits)
        if len(splits):
            encoding = _encoding_of(splits, ensemble, names)
            bits = splits.evaluate(rows)
        else:  # a constant: no question is asked, any bits will do
            encoding = Encoding.fit(X)
            bits = encoding.transform(X)
        names = encoding.feature_names
        what, checked = f"trees on {len(splits)} split bits of {ensemble.n_features} columns", np.arange(len(rows))
    say("Listing the subsets of all paths")
    paths = family_of_paths(bits.n_features, leaves)
    closed = closure(paths, max_sets)
    tables = tables_of_paths(paths, leaves, ensemble.base)
    values = tables.sums(bits, Weights.all_to_one(len(tables.family)), threads)[:, 0]
    check_sums(ensemble, (model, X), rows, values, checked)
    what += f" (checked at {'all' if len(checked) == len(rows) else len(checked)} rows)"
    words = f"{ensemble.n_trees} {what}, {ensemble.output}"
    return SumOfTables(tables, closed, bits, values, names, encoding, ensemble.single, ensemble.output_names, words)


def read_answers(model: Any, X: Any, output: str | None) -> Values | None:
    """What a model of trees itself says of the sum of its trees, at all rows; None if that is not what is asked for."""
    model, X, _ = _through_pipeline(model, X)
    try:
        ensemble = read_model(model, X, output)
        rows = read_rows(ensemble, X)
    except NotASumOfTreesError:
        return None
    at_rows = answers(ensemble, model, X, rows, np.arange(len(rows)))
    return Values(at_rows, ensemble.single, ensemble.output_names, ensemble.output)


def read_polynomial(
    polynomial: Polynomial, X: Any, names: Sequence[str] | None, max_sets: int, threads: int
) -> SumOfTables:
    """A polynomial of bits at rows of bits, shape (n, d)."""
    bits = X if isinstance(X, BitMatrix) else BitMatrix.from_rows(X)
    labels = as_feature_names(column_names(X) if names is None else names, bits.n_features)
    tables = polynomial.tables(labels)
    closed = closure(tables.family, max_sets)
    values = tables.sums(bits, Weights.all_to_one(len(tables.family)), threads)[:, 0]
    words = f"polynomial of {len(polynomial.terms)} terms"
    return SumOfTables(tables, closed, bits, values, labels, None, polynomial.single, None, words)


def column_names(X: Any) -> tuple[str, ...] | None:
    """The names of the columns of a data frame; None of anything else."""
    frame = data_frame(X)
    return None if frame is None else tuple(frame.columns)


def _through_pipeline(model: Any, X: Any) -> tuple[Any, Any, tuple[str, ...] | None]:
    """The last step of a pipeline, the rows as they reach it, and the names of their columns if they are known."""
    last, names = last_step(model), column_names(X)
    while last is not model:
        before, model = model[:-1], model.steps[-1][1]
        if len(before.steps):
            X = _numbers(before.transform(X))
            names = column_names(X) or _names_out(before)
    return last, X, names


def _encoding_before(model: Any) -> Encoding | None:
    """The encoding of a ``TableEncoder``, if it is all that stands before the last step of a pipeline."""
    steps = [step for _, step in model.steps] if last_step(model) is not model else []
    encoding = getattr(steps[0], "encoding_", None) if len(steps) == 2 else None
    return encoding if isinstance(encoding, Encoding) and last_step(steps[1]) is steps[1] else None


def _numbers(X: Any) -> Any:
    """Arrays of objects that are numbers, which a ColumnTransformer may hand on, as numbers; anything else as it is."""
    if not (isinstance(X, np.ndarray) and X.dtype.kind == "O"):
        return X
    try:
        return X.astype(np.float64)
    except (TypeError, ValueError):
        return X


def _names_out(steps: Any) -> tuple[str, ...] | None:
    try:
        return tuple(map(str, steps.get_feature_names_out()))
    except AttributeError:  # a step that does not name what it makes
        return None


def _as_bits(rows: FloatArray) -> BitMatrix | None:
    """The rows, packed, if they hold nothing but zeros and ones."""
    ones: BoolArray = rows == 1
    if not (ones | (rows == 0)).all():
        return None
    return BitMatrix(pack_columns(ones.view(np.uint8)), len(rows))


def _refuse_missing_numbers(ensemble: Ensemble, rows: FloatArray, names: Sequence[str]) -> None:
    """The questions about a column know one kind of missing value: NaN."""
    columns = np.arange(ensemble.n_features)
    wrong = np.argwhere(ensemble.is_missing(columns, rows) & ~np.isnan(rows))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise ValueError(
            f"X: row {i}, column {names[j]!r} is {rows[i, j]:g}, which this model takes for a missing value; write NaN "
            f"there, which is the same to the model"
        )


def _encoding_of(splits: SplitBits, ensemble: Ensemble, names: Sequence[str]) -> Encoding:
    """The splits of trees as an encoding: each bit asks what a split asks."""
    bits: list[tuple[int, str, Any, bool]] = []
    for b in range(len(splits)):
        kind = splits.kind[b]
        value: Any = None
        if kind == "above":
            value = float(splits.threshold[b])
        elif kind == "member":
            value = _levels(splits, ensemble, b)
        bits.append((int(splits.column[b]), kind, value, bool(splits.at_missing[b])))
    return Encoding.from_bits(names, bits)


def _levels(splits: SplitBits, ensemble: Ensemble, bit: int) -> tuple[Any, ...]:
    """The categories that answer a split with yes, as they stand in the table."""
    codes = splits.members(bit).tolist()
    known = ensemble.levels.get(int(splits.column[bit]))
    return tuple(codes) if known is None else tuple(known[c] for c in codes)
