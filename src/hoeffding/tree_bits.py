"""Models that are sums of tables of bits, with rows to match: trees, checked against their answers, and polynomials.

If every column of the rows holds zeros and ones, the columns are the bits. Otherwise each different split ``x_j > t``
is a bit of its own, and an :class:`~hoeffding.tables.Encoding` says which column it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix, data_frame, pack_columns
from hoeffding.black_box import Values
from hoeffding.coding import Column, check_level
from hoeffding.columns import TableReader, order_of_levels
from hoeffding.components import Components, Weights
from hoeffding.engines.parities import closure, family_of_paths, tables_of_paths
from hoeffding.engines.trees import answers, check_sums, evenly, last_step, read_model
from hoeffding.engines.trees.ensemble import Ensemble, NotASumOfTreesError
from hoeffding.engines.trees.polynomial import Polynomial
from hoeffding.engines.trees.rows import read_rows
from hoeffding.engines.trees.splits import Leaves, SplitBits, list_leaves, split_bits
from hoeffding.names import as_feature_names
from hoeffding.probing import UnlikeError, encoding_behind
from hoeffding.progress import say
from hoeffding.subsets import SubsetFamily
from hoeffding.tables import Encoding

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

PREPARED = (
    "features are of the table as the pipeline prepares it, which is done to rows here, while a result read from a "
    "file takes rows as prepared"
)
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
    prepare : callable or None
        From rows as a pipeline takes them to bits, where these ask of what its first steps make.
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
    prepare: Callable[[Any], BitMatrix] | None = None


def read_trees(model: Any, X: Any, output: str | None, max_sets: int, threads: int) -> SumOfTables:
    """Read a fitted model of trees (or a pipeline that ends in one) and its rows, shape (n, d).

    Raises :class:`~hoeffding.engines.trees.ensemble.ClosureTooLargeError` if there are more than ``max_sets`` sets.
    """
    pipeline, table = model, X
    trees, X = Trees.read(model, X, output)
    rows = read_rows(trees.ensemble, X)
    trees = trees.on(trees.held(rows), max_sets, X)
    bits, values, checked = trees.at(X, rows, threads)
    trees = trees.in_terms_of(table, pipeline)
    words = trees.words("all" if checked == bits.n_rows else checked)
    ensemble = trees.ensemble
    return SumOfTables(
        trees.tables,
        trees.closed,
        bits,
        values,
        trees.names,
        trees.encoding,
        ensemble.single,
        ensemble.output_names,
        words,
        trees.prepare,
    )


@dataclass(frozen=True, eq=False)
class Held:
    """What the columns of rows hold, as far as trees must know.

    Attributes
    ----------
    bits : bool
        Nothing but zeros and ones in all of them.
    binary, missing : (n_features,) bool
        The columns of zeros, ones and missing values only; those with missing values.
    """

    bits: bool
    binary: BoolArray
    missing: BoolArray

    def merge(self, other: Held) -> Held:
        """Of both groups of rows."""
        return Held(self.bits and other.bits, self.binary & other.binary, self.missing | other.missing)


@dataclass(frozen=True, eq=False)
class Trees:
    """A model of trees, as read, and once it is known what the columns hold, as a sum of tables of bits.

    Attributes
    ----------
    model : fitted model
        The last step, where it is a pipeline.
    ensemble : Ensemble
    names : tuple of str
        Of the columns; after :meth:`on`, of the bits.
    tables, closed : Components and SubsetFamily, see :class:`SumOfTables`
    splits : SplitBits or None
        None if the columns are the bits.
    encoding : Encoding or None
        Where columns are not the bits; or that of a pipeline which encodes.
    seen : Held or None
        What the columns of the rows hold; after :meth:`on`.
    prepare : Prepared or None
        Where names and encoding are not those of the table that a pipeline takes.
    """

    model: Any
    ensemble: Ensemble
    names: tuple[str, ...]
    tables: Any = None
    closed: Any = None
    splits: SplitBits | None = None
    encoding: Encoding | None = None
    seen: Held | None = None
    prepare: Prepared | None = None

    @classmethod
    def read(cls, model: Any, X: Any, output: str | None) -> tuple[Trees, Any]:
        """Read a model (or a pipeline) with some of its rows; these, as they reach the trees, come back too."""
        own = _encoding_before(model)
        model, X, given_names = through_pipeline(model, X)
        ensemble = read_model(model, X, output)
        names = tuple(ensemble.feature_names or given_names or as_feature_names(None, ensemble.n_features))
        return cls(model, ensemble, names, encoding=own), X

    def held(self, rows: FloatArray) -> Held:
        """What the columns of some rows hold."""
        missing: BoolArray = np.isnan(rows)
        binary: BoolArray = np.asarray(((rows == 0) | (rows == 1) | missing).all(axis=0))
        bits = bool(binary.all()) and not missing.any() and not self.ensemble.levels
        binary[list(self.ensemble.levels)] = False  # codes of categories are no bits of the table
        return Held(bits, binary, np.asarray(missing.any(axis=0)))

    def on(self, held: Held, max_sets: int, X: Any = None) -> Trees:
        """The sum of tables for rows whose columns hold this; ``X`` are all rows, if they are at hand."""
        ensemble = self.ensemble
        if held.bits:  # the columns are the bits, whether the trees use them or not
            everywhere = np.ones(ensemble.n_features, np.bool_)
            splits, on_bits = split_bits(ensemble, everywhere, ~everywhere)
            leaves = list_leaves(on_bits, max_sets)
            leaves = replace(leaves, path_bits=splits.column[leaves.path_bits])
            found = self._with_tables(leaves, ensemble.n_features, max_sets)
            return found if self.encoding is None else replace(found, names=self.encoding.feature_names)
        splits, on_bits = split_bits(ensemble, held.binary, held.missing)
        leaves = list_leaves(on_bits, max_sets)
        if len(splits):
            found = self._with_tables(leaves, len(splits), max_sets)
            encoding = _encoding_of(splits, ensemble, self.names)
        elif X is None:
            raise NotASumOfTreesError("the trees are constant: they ask nothing that could be a bit")
        else:  # no question is asked, any bits will do
            encoding = Encoding.fit(X)
            found = self._with_tables(leaves, encoding.n_features, max_sets)
        return replace(found, splits=splits, encoding=encoding, names=encoding.feature_names, seen=held)

    def _with_tables(self, leaves: Leaves, d: int, max_sets: int) -> Trees:
        say("Listing the subsets of all paths")
        paths = family_of_paths(d, leaves)
        closed = closure(paths, max_sets)
        return replace(self, closed=closed, tables=tables_of_paths(paths, leaves, self.ensemble.base))

    def at(self, X: Any, rows: FloatArray, threads: int, check: bool = True) -> tuple[BitMatrix, FloatArray, int]:
        """The bits of rows, the values there, and at how many of them these were compared with the model's."""
        if self.splits is None or self.encoding is None:
            bits, checked = _as_bits(rows), evenly(len(rows), CHECKED)
            if bits is None:
                raise ValueError("X: some rows hold other values than zeros and ones")
        else:
            columns = [column.name for column in self.encoding.columns]
            _refuse_missing_numbers(self.ensemble, rows, columns)
            checked = np.arange(len(rows))
            bits = self.splits.evaluate(rows) if len(self.splits) else self.encoding.transform(X)
        values = self.tables.sums(bits, Weights.all_to_one(len(self.tables.family)), threads)[:, 0]
        if check:
            check_sums(self.ensemble, (self.model, X), rows, values, checked)
        return bits, values, len(checked)

    def in_terms_of(self, table: Any, pipeline: Any) -> Trees:
        """With questions about the columns of the table that a pipeline prepares, where every bit is one at its rows.

        What it says of bits of rows stays as it is; names and encoding are those of the table. Where some bit is no
        such question, they stay those of what the pipeline makes, which are never those of the table.
        """
        if not _prepares(pipeline) or (self.splits is None and self.encoding):
            return self
        prepare = Prepared(self, pipeline)
        encoding = encoding_behind(pipeline, table, prepare)
        if encoding is not None:
            return replace(self, encoding=encoding, names=encoding.feature_names)
        taken = set(TableReader.open(table).names)
        if self.encoding is None:
            return replace(self, names=tuple(_other_name(name, taken) for name in self.names), prepare=prepare)
        names = {c.name: _other_name(c.name, taken) for c in self.encoding.columns}
        columns = tuple(replace(c, name=names[c.name]) for c in self.encoding.columns)
        groups = tuple((names[name], members) for name, members in self.encoding.groups)
        encoding = replace(self.encoding, columns=columns, groups=groups)
        return replace(self, encoding=encoding, names=encoding.feature_names, prepare=prepare)

    def refuse_unlike(self, rows: FloatArray) -> None:
        """Splits were read for what the columns of the rows held; others might be answered differently by the trees."""
        if self.seen is None or self.splits is None:
            return
        now, asked = self.held(rows), np.zeros(self.ensemble.n_features, np.bool_)
        asked[self.ensemble.feature[self.ensemble.feature >= 0]] = True
        for wrong, words in (
            (now.missing & ~self.splits.knows_missing, "is missing, as in no row of the decomposition"),
            (self.seen.binary & ~now.binary, "holds other values than the zeros and ones of the decomposition"),
        ):
            if (wrong & asked).any():
                raise UnlikeError(f"X: column {np.flatnonzero(wrong & asked)[0]} of the rows as prepared {words}")

    def words(self, checked: Any) -> str:
        """What was read, and at how many rows it was compared with the model."""
        splits = (
            "bits" if self.splits is None else f"{len(self.splits)} split bits of {self.ensemble.n_features} columns"
        )
        words = f"{self.ensemble.n_trees} trees on {splits} (checked at {checked} rows), {self.ensemble.output}"
        return words if self.prepare is None else f"{words}; {PREPARED}"


@dataclass(frozen=True, eq=False)
class Prepared:
    """From rows as a pipeline takes them to the bits of its trees."""

    trees: Trees
    pipeline: Any

    def __call__(self, X: Any) -> BitMatrix:
        _, X, _ = through_pipeline(self.pipeline, X)
        trees, rows = self.trees, read_rows(self.trees.ensemble, X)
        if trees.splits is None or trees.encoding is None:
            bits = _as_bits(rows)
            if bits is None:
                raise ValueError("X: as prepared, some rows hold other values than zeros and ones")
            return bits
        _refuse_missing_numbers(trees.ensemble, rows, [column.name for column in trees.encoding.columns])
        trees.refuse_unlike(rows)
        return trees.splits.evaluate(rows) if len(trees.splits) else trees.encoding.transform(X)


def read_answers(model: Any, X: Any, output: str | None) -> Values | None:
    """What a model of trees itself says of the sum of its trees, at all rows; None if that is not what is asked for."""
    model, X, _ = through_pipeline(model, X)
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


def through_pipeline(model: Any, X: Any) -> tuple[Any, Any, tuple[str, ...] | None]:
    """The last step of a pipeline, the rows as they reach it, and the names of their columns if they are known."""
    last, names = last_step(model), column_names(X)
    while last is not model:
        before, model = model[:-1], model.steps[-1][1]
        if len(before.steps):
            X = _numbers(before.transform(X))
            names = column_names(X) or _names_out(before)
    return last, X, names


def _prepares(model: Any) -> bool:
    """Whether a model is a pipeline with steps before the last."""
    return last_step(model) is not model and (len(model.steps) > 1 or _prepares(model.steps[-1][1]))


def _other_name(name: str, taken: set[str]) -> str:
    """A name that is none of these."""
    return _other_name(f"prepared {name}", taken) if name in taken else name


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
    encoding = Encoding.from_bits(names, bits)
    columns = [_column(encoding.columns[j], j, splits, ensemble) for j in range(len(names))]
    return replace(encoding, columns=tuple(columns))


def _column(column: Column, j: int, splits: SplitBits, ensemble: Ensemble) -> Column:
    """A column that takes missing values only where its bits know what the splits do with them.

    Levels that training never met are missing values to a model: the column takes them where its bits treat both alike.
    """
    knows = bool(splits.knows_missing[j])
    if j not in ensemble.levels:
        return replace(column, missing=knows)
    told_apart = any(splits.kind[b] == "missing" for b in np.flatnonzero(splits.column == j).tolist())
    if knows and not told_apart:
        return column
    levels = {check_level(level, f"column {column.name!r}: level {level!r}") for level in ensemble.levels[j]}
    known = tuple(sorted(levels, key=order_of_levels))
    return replace(column, kind="level", levels=known, open=False, missing=knows)


def _levels(splits: SplitBits, ensemble: Ensemble, bit: int) -> tuple[Any, ...]:
    """The categories that answer a split with yes, as they stand in the table."""
    codes = splits.members(bit).tolist()
    known = ensemble.levels.get(int(splits.column[bit]))
    return tuple(codes) if known is None else tuple(known[c] for c in codes)
