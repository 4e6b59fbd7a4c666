"""``decompose`` for rows that are read in chunks: the engines that need no more than sums over rows.

A sum of trees, or a polynomial, is decomposed exactly: the closure of its paths is known before the rows are read, one
pass counts it, and another finds what the components leave of the function. Any other model is asked chunk by chunk and
its values are fitted by regression. If there are few bits, what is summed up is every cell of their cube, and the rows
are as good as in memory: each distinct one with its weight (:class:`Points`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hoeffding import packed, steps
from hoeffding.bits import BitMatrix
from hoeffding.black_box import Values, evaluate
from hoeffding.checks import as_order
from hoeffding.chunks import Chunk
from hoeffding.components import Weights
from hoeffding.decomposition import Decomposition
from hoeffding.engines import sparse
from hoeffding.engines.parities import closure, parity_coefficients
from hoeffding.engines.trees import is_tree_model
from hoeffding.engines.trees.ensemble import ClosureTooLargeError, NotASumOfTreesError
from hoeffding.engines.trees.polynomial import Polynomial
from hoeffding.engines.trees.rows import read_rows
from hoeffding.measure import Empirical
from hoeffding.moments import Counted, Moments
from hoeffding.names import as_feature_names, as_groups
from hoeffding.sensitivity import Variance
from hoeffding.steps import Cells, NotBitsError, Sums, ToBits
from hoeffding.streaming import GivenUpError, Report
from hoeffding.tree_bits import Held, Trees, read_answers, through_pipeline

FloatArray = npt.NDArray[np.float64]

SMALL_CUBE = 16  # features
DEFAULT_ORDER = 2  # of the regression engine
MILD = 5e-5


class Request(Protocol):
    """What the user wants of the engines."""

    @property
    def order(self) -> int | None: ...
    @property
    def tol(self) -> float: ...
    @property
    def n_jobs(self) -> int: ...


def of_exact(exact: sparse.Exact, single: bool, words: str, request: Request) -> Decomposition:
    """A decomposition by the sparse engine; names are still those by default."""
    shape = () if single else (exact.beta.shape[1],)

    def shaped(a: FloatArray) -> FloatArray:
        return np.ascontiguousarray(a).reshape(*a.shape[:-1], *shape)

    v = exact.variance
    of_f = np.asarray(shaped(v.of_f[None])[0])
    return Decomposition(
        measure=Counted(exact.moments),
        family=exact.family,
        coefficients=shaped(exact.beta),
        engine="sparse",
        reason=f"{words}; {_how(exact, request)}",
        unique=False,
        remainder=float(exact.remainder.max(initial=0.0)),
        fidelity=float(exact.fidelity.min(initial=1.0)),
        feature_names=as_feature_names(None, exact.moments.n_features),
        n_jobs=request.n_jobs,
        fitted_variance=Variance(shaped(v.structural), shaped(v.correlative), shaped(v.total), of_f),
    )


def _how(exact: sparse.Exact, request: Request) -> str:
    """What the sparse engine did, in words."""
    words = [f"closure of {exact.n_closure} sets"]
    if exact.n_chosen:
        words.append(f"least variance chosen at {exact.n_chosen} of them (local rule)")
    if request.order is not None:
        words.append(f"components up to order {request.order} of the complete decomposition")
    if request.tol > 0:
        given_up = exact.given_up[np.abs(exact.given_up).argmax()]  # of the output that loses or gains the most
        words.append(f"tol={request.tol:g} left out {100 * given_up:.2g} % of the variance")
    return ", ".join(words)


def mild_penalty(deviation: FloatArray) -> tuple[float, float]:
    """An elastic net that does not depend on the unit of y: 5e-5 of each kind, in units of its standard deviation."""
    unit = float(deviation[deviation > 0].min(initial=np.inf))
    l1 = MILD * (unit if np.isfinite(unit) else 1.0)
    return l1 + MILD, l1 / (l1 + MILD)


@dataclass(frozen=True, eq=False)
class Points:
    """The distinct rows of few bits, what they weigh, and the lowest and highest values there.

    Attributes
    ----------
    bits : (n_points, d) uint8, in lexicographic order
    weights : (n_points,)
    low, high : (n_points, m)
    """

    bits: npt.NDArray[np.uint8]
    weights: FloatArray
    low: FloatArray
    high: FloatArray


AtPoints = Callable[[Points | None, Sums, int], tuple[Decomposition | None, str]]


# -- steps over chunks ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExactSums:
    """Sums of a closed family, the largest absolute values of the function, and how many rows were checked."""

    sums: Sums
    largest: FloatArray
    n_checked: int

    def merge(self, other: ExactSums) -> ExactSums:
        """Of both groups of rows."""
        largest = np.maximum(self.largest, other.largest)
        return ExactSums(self.sums.merge(other.sums), largest, self.n_checked + other.n_checked)

    def nothing(self) -> ExactSums:
        """The coding, and no rows."""
        return replace(self, sums=self.sums.nothing())

    @property
    def nbytes(self) -> int:
        """The bytes of the sums."""
        return self.sums.nbytes

    def to_bytes(self) -> bytes:
        arrays: dict[str, npt.NDArray[Any]] = {
            "sums": np.frombuffer(self.sums.to_bytes(), np.uint8),
            "largest": self.largest,
        }
        return packed.to_bytes("exact sums", 1, {"n_checked": self.n_checked}, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> ExactSums:
        """The inverse of :meth:`to_bytes`."""
        facts, arrays = packed.from_bytes("exact sums", 1, data)
        return cls(Sums.from_bytes(arrays["sums"].tobytes()), arrays["largest"], facts["n_checked"])


class Function(Protocol):
    """A function of bits as a sum of tables, at chunks of rows."""

    tables: Any
    closed: Any

    def at_chunk(self, chunk: Chunk, check: bool) -> tuple[BitMatrix, FloatArray, int]:
        """The bits, the values, and how many of these were compared with a model, if they are to be checked."""
        ...


@dataclass(frozen=True, eq=False)
class TreesInChunks:
    """Trees, where the rows come in chunks as the user's model takes them."""

    trees: Trees
    model: Any

    @property
    def tables(self) -> Any:
        """The sum of tables."""
        return self.trees.tables

    @property
    def closed(self) -> Any:
        """The subsets of their sets."""
        return self.trees.closed

    def at_chunk(self, chunk: Chunk, check: bool) -> tuple[BitMatrix, FloatArray, int]:
        """The bits, the values, and how many of these were compared with the model."""
        _, X, _ = through_pipeline(self.model, chunk.as_given(chunk.X))
        rows = read_rows(self.trees.ensemble, X)
        if self.trees.splits is None and not self.trees.held(rows).bits:
            raise NotBitsError(f"chunk {chunk.number}: X: some rows hold other values than zeros and ones")
        return self.trees.at(X, rows, 1, check)


@dataclass(frozen=True, eq=False)
class PolynomialInChunks:
    """A polynomial of bits."""

    tables: Any
    closed: Any

    def at_chunk(self, chunk: Chunk, check: bool) -> tuple[BitMatrix, FloatArray, int]:
        """The bits and the values."""
        bits = ToBits()(chunk)
        return bits, self.tables.sums(bits, Weights.all_to_one(len(self.tables.family)), 1)[:, 0], 0


@dataclass(frozen=True)
class CountExactly:
    """Moments of the closure of a function."""

    function: Any
    name: str

    def prepare(self, chunk: Chunk) -> Any:
        """A model may not like several threads: it is asked here."""
        return self.function.at_chunk(chunk, True)

    def count(self, chunk: Chunk, prepared: Any, like: ExactSums | None, n_jobs: int) -> ExactSums:
        """Count the family."""
        bits, values, checked = prepared
        first = None if like is None else like.sums.moments
        moments = Moments.of_family(bits, self.function.closed, values, chunk.weight, like=first, n_jobs=n_jobs)
        cells = Cells.of(bits, values[:, :0], chunk.weight) if bits.n_features <= SMALL_CUBE else None
        return ExactSums(Sums(moments, False, None, "", cells), np.abs(values).max(axis=0, initial=0.0), checked)

    def from_bytes(self, data: bytes) -> ExactSums:
        return ExactSums.from_bytes(data)


@dataclass(frozen=True, eq=False)
class RestSums:
    """What components leave of the function."""

    rest: sparse.Rest

    def merge(self, other: RestSums) -> RestSums:
        """Of both groups of rows."""
        return RestSums(self.rest.merge(other.rest))

    def nothing(self) -> None:
        return None

    @property
    def nbytes(self) -> int:
        """A few numbers."""
        return self.rest.largest.nbytes + self.rest.squares.nbytes

    def to_bytes(self) -> bytes:
        arrays = {"largest": self.rest.largest, "squares": self.rest.squares}
        return packed.to_bytes("rest", 1, {"mass": self.rest.mass}, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> RestSums:
        """The inverse of :meth:`to_bytes`."""
        facts, arrays = packed.from_bytes("rest", 1, data)
        return cls(sparse.Rest(arrays["largest"], arrays["squares"], facts["mass"]))


@dataclass(frozen=True)
class FindRest:
    """What components leave of the function."""

    function: Any
    exact: sparse.Exact
    name: str = "remainder"

    def prepare(self, chunk: Chunk) -> Any:
        """The bits and the values."""
        return self.function.at_chunk(chunk, False)

    def count(self, chunk: Chunk, prepared: Any, like: None, n_jobs: int) -> RestSums:
        """Add up the components."""
        bits, values, _ = prepared
        return RestSums(self.exact.rest(sparse.Sample(bits, chunk.weight, values), n_jobs))

    def from_bytes(self, data: bytes) -> RestSums:
        return RestSums.from_bytes(data)


@dataclass(frozen=True, eq=False)
class HeldSums:
    """What the columns hold, as far as trees must know."""

    held: Held

    def merge(self, other: HeldSums) -> HeldSums:
        """Of both groups of rows."""
        return HeldSums(self.held.merge(other.held))

    def nothing(self) -> None:
        return None

    @property
    def nbytes(self) -> int:
        """Two numbers for each column."""
        return 2 * len(self.held.binary)

    def to_bytes(self) -> bytes:
        arrays = {"binary": self.held.binary, "missing": self.held.missing}
        return packed.to_bytes("columns of trees", 1, {"bits": self.held.bits}, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> HeldSums:
        """The inverse of :meth:`to_bytes`."""
        facts, arrays = packed.from_bytes("columns of trees", 1, data)
        return cls(Held(facts["bits"], arrays["binary"], arrays["missing"]))


@dataclass(frozen=True)
class FindHeld:
    """What the columns hold, as far as trees must know."""

    trees: Trees
    model: Any
    name: str = "columns of trees"

    def prepare(self, chunk: Chunk) -> Any:
        """The rows as they reach the trees."""
        _, X, _ = through_pipeline(self.model, chunk.as_given(chunk.X))
        return read_rows(self.trees.ensemble, X)

    def count(self, chunk: Chunk, prepared: Any, like: None, n_jobs: int) -> HeldSums:
        """Look at the columns."""
        return HeldSums(self.trees.held(prepared))

    def from_bytes(self, data: bytes) -> HeldSums:
        return HeldSums.from_bytes(data)


@dataclass(frozen=True)
class Ask:
    """The values of a black box at a chunk; of trees, unless something else is asked for, what they add up to."""

    model: Any
    output: str | None

    def __call__(self, chunk: Chunk) -> Values:
        X = chunk.as_given(chunk.X)
        found = read_answers(self.model, X, self.output) if is_tree_model(self.model) else None
        return found or evaluate(self.model, X, chunk.n_rows, self.output)


# -- the decomposition ------------------------------------------------------------------------------------------------


def _points(cells: Cells | None) -> Points | None:
    """The cells where rows are; None if they were not counted."""
    if cells is None:
        return None
    at, d = np.flatnonzero(cells.weights), len(cells.weights).bit_length() - 1
    bits = (at[:, None] >> np.arange(d - 1, -1, -1) & 1).astype(np.uint8)
    return Points(bits, cells.weights[at], cells.low[at], cells.high[at])


class InChunks:
    """A model, rows in chunks, and what is wanted."""

    def __init__(self, problem: Any, request: Any, is_sparse: bool, at_points: AtPoints) -> None:
        if request.distinct:
            raise ValueError(
                "distinct=True: rows in chunks are let go, so that equal ones cannot be found; merge them first (such "
                "as by grouping by all columns), or pass rows in memory"
            )
        if request.engine == "cube" and isinstance(problem.model, Polynomial):
            raise ValueError("engine='cube': a polynomial in chunks goes to engine='sparse'")
        if not (
            hasattr(problem.model, "predict") or callable(problem.model) or isinstance(problem.model, str | Polynomial)
        ):
            raise TypeError(
                f"model: {type(problem.model).__name__}; for rows in chunks give an estimator, a function, or the name "
                f"of the column that holds the values"
            )
        self.problem, self.request, self.is_sparse, self.at_points = problem, request, is_sparse, at_points
        target = problem.model if isinstance(problem.model, str) else None
        about = {
            "model": type(problem.model).__name__,
            "engine": str(request.engine),
            "order": request.order,
            "output": problem.output,
            "max_sets": request.max_sets,
            "encoding": None if problem.encoding is None else problem.encoding.to_dict(),
        }
        self.rows = steps.rows_of(problem.X, target, problem.sample_weight, about)

    def decompose(self) -> Decomposition:
        """Run the engine."""
        why = self.request.unused(tried=False)
        if self.is_sparse:
            try:
                found = self._of_sum()
            except (NotASumOfTreesError, ClosureTooLargeError, MemoryError) as error:
                if self.request.engine == "sparse" or isinstance(self.problem.model, Polynomial):
                    raise
                why = f"; not sparse: {error}{self.request.unused(tried=True)}"
            else:
                self.rows.done()
                return found
        found = self._of_black_box(why)
        self.rows.done()
        return found

    # -- sums of tables -----------------------------------------------------------------------------------------------

    def _of_sum(self) -> Decomposition:
        model = self.problem.model
        first = self.rows.first()
        if isinstance(model, Polynomial):
            bits = ToBits()(first)
            labels = as_feature_names(self.problem.feature_names or steps.names_of(first), bits.n_features)
            tables = model.tables(labels)
            function = PolynomialInChunks(tables, closure(tables.family, self.request.max_sets))
            words = f"polynomial of {len(model.terms)} terms"
            return self._exactly(function, "polynomial", lambda n: words, model.single, labels, None, None)
        read, X = Trees.read(model, first.as_given(first.X), self.problem.output)
        held = read.held(read_rows(read.ensemble, X))
        report = Report()
        if held.bits:
            try:
                return self._by_trees(read.on(held, self.request.max_sets), "trees on bits", report)
            except (NotBitsError, GivenUpError) as error:
                self.rows.give_up("trees on bits", error)
        elif not self.rows.rereadable:
            raise ValueError("X: trees on columns that are not bits take two passes, and an iterator can be read once")
        looked = self.rows.reduce(FindHeld(read, model), self.request.n_jobs)
        trees = read.on(looked.state.held, self.request.max_sets)
        return self._by_trees(trees, "trees on splits", looked.report)

    def _by_trees(self, trees: Trees, name: str, before: Report) -> Decomposition:
        function, first = TreesInChunks(trees, self.problem.model), self.rows.first()
        e, shown = trees.ensemble, trees.in_terms_of(first.as_given(first.X), self.problem.model)
        found = self._exactly(
            function, name, shown.words, e.single, shown.names, shown.encoding, e.output_names, before
        )
        return replace(found, prepare=shown.prepare)

    def _exactly(  # what is known of the function
        self,
        function: Any,
        name: str,
        words: Any,
        single: bool,
        names: tuple[str, ...],
        encoding: Any,
        output_names: Any,
        before: Report | None = None,
    ) -> Decomposition:
        request = self.request
        if request.order is not None:
            as_order(request.order, function.closed.d, least=1)
        counted = self.rows.reduce(CountExactly(function, name), request.n_jobs)
        moments = counted.state.sums.moments.recoded().centred()
        exact = sparse.decompose_moments(
            moments,
            parity_coefficients(function.tables, function.closed),
            counted.state.largest,
            order=request.order,
            tol=request.tol,
            n_jobs=request.n_jobs,
        )
        report = counted.report if before is None else before.then(counted.report)
        points, unique = _points(counted.state.sums.cells), False
        notes = "; whether it is unique was not judged, since rows are not kept"
        if points is not None:
            notes, unique = "", exact.n_chosen == 0 and Empirical(points.bits, points.weights).is_unique
        if self.rows.rereadable:
            rest = self.rows.reduce(FindRest(function, exact), request.n_jobs)
            exact, report = exact.with_rest(rest.state.rest), report.then(rest.report)
        else:
            first = self.rows.first()
            bits, values, _ = function.at_chunk(first, False)
            exact = exact.with_rest(exact.rest(sparse.Sample(bits, first.weight, values), 1))
            notes += "; remainder and fidelity are those of the first chunk, since an iterator can be read once only"
        result = of_exact(exact, single, words(counted.state.n_checked), request)
        result = replace(result, output_names=output_names, unique=unique)
        return self._named(result, names, encoding, report, notes)

    # -- any other model ----------------------------------------------------------------------------------------------

    def _of_black_box(self, why: str) -> Decomposition:
        from sklearn.base import clone

        from hoeffding.engines.regression import HoeffdingRegressor

        problem, request = self.problem, self.request
        regressor = request.regressor
        order = DEFAULT_ORDER if request.order is None else request.order
        values = steps.given_values if isinstance(problem.model, str) else Ask(problem.model, problem.output)
        counted = steps.count(
            self.rows,
            order if regressor is None else regressor.order,
            values=values,
            encoding=problem.encoding,
            few_bits=0 if request.engine == "regression" else SMALL_CUBE,
            n_jobs=request.n_jobs,
        )
        if request.order is not None:
            as_order(request.order, counted.moments.n_features, least=1)
        sums = counted.sums
        if request.engine != "regression":
            exact, reason = self.at_points(_points(sums.cells), sums, counted.moments.n_features)
            why = f"{reason}{why}"
            if exact is not None:
                exact = replace(exact, reason=f"{exact.reason}; {sums.words}{why}", output_names=sums.names)
                return self._named(exact, counted.names, counted.encoding, counted.report)
        if regressor is None:
            moments = sums.moments
            variance = moments.squares / moments.total - (moments.targets[0] / moments.total) ** 2
            alpha, l1_ratio = mild_penalty(np.sqrt(np.maximum(variance, 0.0)))
            model = HoeffdingRegressor(min(order, moments.n_features), alpha, l1_ratio, n_jobs=request.n_jobs)
        else:
            model = clone(regressor)
        result: Decomposition = model.fit_counted(counted).decomposition_
        result = replace(result, reason=f"{result.reason}; {sums.words}{why}", output_names=sums.names)
        return self._named(result, counted.names, counted.encoding)

    def _named(
        self,
        result: Decomposition,
        names: tuple[str, ...],
        encoding: Any,
        report: Report | None = None,
        notes: str = "",
    ) -> Decomposition:
        """With names, groups, and what it took."""
        labels = as_feature_names(self.problem.feature_names or names, result.n_features)
        groups = () if encoding is None else tuple(g for g in encoding.groups if len(g[1]) > 0)
        if self.problem.groups is not None:
            groups = as_groups(self.problem.groups, labels, groups)
        took = "" if report is None else f"; {report.words}{notes}"
        return replace(result, feature_names=labels, groups=groups, encoding=encoding, reason=f"{result.reason}{took}")
