"""``decompose``: from a model and rows to a decomposition. The one place where models, tables, names and engines meet.

==============  =====================================================  ===============================================
engine          when ``"auto"`` takes it                               what it gives
==============  =====================================================  ===============================================
``sparse``      a sum of trees, or a polynomial, whose paths have not  exact, all orders
                too many subsets
``cube``        any other model, few features, and a decomposition     exact, all orders
                that takes a moment
``regression``  everything else                                        order 2 (or as asked), penalised least squares
==============  =====================================================  ===============================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix, WeightedRows, merge_rows
from hoeffding.black_box import Values, evaluate
from hoeffding.checks import as_count, as_order, as_weights
from hoeffding.decomposition import Decomposition
from hoeffding.engines import sparse
from hoeffding.engines.cube import transform, transform_plan
from hoeffding.engines.parities import MAX_SETS
from hoeffding.engines.trees import is_tree_model, supported_models
from hoeffding.engines.trees.ensemble import ClosureTooLargeError, NotASumOfTreesError
from hoeffding.engines.trees.polynomial import Polynomial
from hoeffding.in_chunks import DEFAULT_ORDER, SMALL_CUBE, InChunks, Points, mild_penalty, of_exact
from hoeffding.machine import n_threads
from hoeffding.measure import Empirical
from hoeffding.moments import Counted
from hoeffding.names import Groups, as_feature_names, as_groups
from hoeffding.progress import reporting
from hoeffding.steps import Sums, is_chunked, split_frame
from hoeffding.tables import Encoding
from hoeffding.tree_bits import SumOfTables, column_names, read_answers, read_polynomial, read_trees

if TYPE_CHECKING:
    from hoeffding.engines.regression import HoeffdingRegressor

FloatArray = npt.NDArray[np.float64]
Engine = Literal["auto", "cube", "sparse", "regression"]

ENGINES = ("auto", "cube", "sparse", "regression")
ALLOWED = "one of 'auto', 'cube', 'sparse', 'regression', or a HoeffdingRegressor"
MOMENT = 3e9  # operations of the cube engine: some seconds


def decompose(  # noqa: PLR0913  # one argument for each choice
    model: Any,
    X: Any,
    *,
    order: int | None = None,
    engine: Engine | HoeffdingRegressor = "auto",
    output: Literal["prediction", "probability", "margin"] | None = None,
    feature_names: Sequence[str] | None = None,
    groups: Mapping[str, Iterable[int | str]] | None = None,
    sample_weight: npt.ArrayLike | None = None,
    distinct: bool = False,
    encoding: Encoding | None = None,
    tol: float = 0.0,
    max_sets: int = MAX_SETS,
    n_jobs: int = -1,
) -> Decomposition:
    """Decompose a model under the distribution of rows.

    Parameters
    ----------
    model : fitted model, callable, array, or Polynomial
        A sum of trees (scikit-learn, XGBoost, LightGBM, CatBoost; also as the last step of a ``Pipeline``); any other
        estimator with ``predict``; a function that takes ``X`` and returns its values; these values themselves, shape
        (n,) or (n, m), or the name of the column of ``X`` that holds them; or a :class:`Polynomial` of bits.
    X : array, data frame, sparse matrix, shape (n, d), or what is read in chunks
        The rows whose distribution is meant; repeated rows weigh more. Columns that are not bits are encoded, see
        ``encoding``; those of a sum of trees become one bit for each different split. Chunks come from a path or
        another source of a :class:`hoeffding.Stream`, or a Dask collection.
    order : int, optional
        The largest number of features in a component. By default all orders where the engine is exact, else 2.
        Of an exact engine these are the components of the complete decomposition.
    engine : "auto", "sparse", "cube", "regression", or a HoeffdingRegressor
        A ``HoeffdingRegressor`` is the regression engine with settings of yours (it is not changed), those of
        ``order``, ``distinct`` and ``n_jobs`` too.
    output : "prediction", "probability" or "margin", optional
        Of an estimator. By default what its trees add up to (log-odds for boosted classifiers), or the probabilities of
        any other classifier, or else its prediction.
    feature_names : sequence of str, optional
        Of the features of the result, which are bits. By default the names of the columns, or ``x0``, ``x1``, ...;
        columns that are not bits get their names from a data frame.
    groups : {name: features}, optional
        Features that belong together, by name or index; the name of an encoded column stands for all its bits. By
        default the bits of one encoded column.
    sample_weight : array, shape (n,), optional
    distinct : bool
        Give every distinct row of bits the same weight.
    encoding : Encoding, optional
        How columns become bits. By default bits are taken as they are, and other tables by ``Encoding.fit(X)``.
    tol : float
        Of the sparse engine: leave out components of less than this share of the variance.
    max_sets : int
        Of the sparse engine: how many sets the closure of the paths may have. A set of six features takes about 1 KB.
    n_jobs : int
        Threads; -1 means all cores.

    Returns
    -------
    Decomposition
        ``engine`` and ``reason`` say what was done and why.

    Examples
    --------
    >>> import numpy as np, hoeffding
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).integers(0, 2, (500, 4))
    >>> tree = DecisionTreeRegressor().fit(X, X[:, 0] + 2 * X[:, 1] * X[:, 3])
    >>> result = hoeffding.decompose(tree, X)
    >>> result.engine, [s for s, b in zip(result.subsets, result.coefficients) if abs(b) > 1e-12]
    ('sparse', [(), (0,), (1,), (3,), (1, 3)])
    """
    request = _Request.read(engine, order, distinct, tol, max_sets, n_jobs)
    problem = _Problem(model, X, output, feature_names, groups, sample_weight, encoding)
    if is_chunked(X):
        is_sparse = request.engine in ("auto", "sparse") and _is_sparse(problem, request)
        with reporting():
            return InChunks(problem, request, is_sparse, partial(_at_points, request)).decompose()
    if isinstance(model, str):
        X, model, sample_weight = split_frame(X, model, sample_weight, "model")
        problem = replace(problem, model=model, X=X, sample_weight=sample_weight)
    with reporting():
        if request.engine in ("auto", "sparse") and _is_sparse(problem, request):
            try:
                return _of_sum(problem, request)
            except (NotASumOfTreesError, ClosureTooLargeError, MemoryError) as error:
                if request.engine == "sparse" or isinstance(model, Polynomial):
                    raise
                request = replace(request, why=f"; not sparse: {error}{request.unused(tried=True)}")
        else:
            request = replace(request, why=request.unused(tried=False))
        return _of_black_box(problem, request)


# -- the request ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Request:
    """What the user wants of the engines."""

    engine: str
    regressor: HoeffdingRegressor | None
    order: int | None
    distinct: bool
    tol: float
    max_sets: int
    n_jobs: int
    why: str = ""  # not the engine that would have been taken first

    @classmethod
    def read(cls, engine: Any, order: Any, distinct: Any, tol: Any, max_sets: Any, n_jobs: int) -> _Request:
        regressor = None if isinstance(engine, str) else engine
        if regressor is not None and not hasattr(regressor, "fit_counted"):
            raise TypeError(f"engine={engine!r}: must be {ALLOWED}")
        if regressor is None and engine not in ENGINES:
            raise ValueError(f"engine={engine!r}: must be {ALLOWED}")
        if order is not None:
            as_count("order", order, least=1)
        if not isinstance(distinct, bool | np.bool_):
            raise TypeError(f"distinct={distinct!r}: must be True or False")
        if not (isinstance(tol, int | float | np.number) and 0 <= tol < 1):
            raise ValueError(f"tol={tol!r}: a share of the variance, at least 0 and below 1")
        name = engine if regressor is None else "regression"
        max_sets = as_count("max_sets", max_sets, least=1)
        if regressor is not None:
            _refuse_beside_regressor(order, distinct, n_jobs)
            n_jobs = regressor.n_jobs
        request = cls(name, regressor, order, bool(distinct), float(tol), max_sets, n_jobs)
        if name in ("cube", "regression") and (unused := request.unused(tried=False)):
            raise ValueError(f"engine={name!r}: {unused.removeprefix('; ')}; leave it out")
        return request

    def unused(self, *, tried: bool) -> str:
        """Options that only the sparse engine has a use for, in words; ``tried``: it was, within ``max_sets``."""
        words = [f"tol={self.tol:g}"] if self.tol > 0 else []
        words += [f"max_sets={self.max_sets:,}"] if self.max_sets != MAX_SETS and not tried else []
        return "".join(f"; {word} is an option of the sparse engine alone" for word in words)


def _refuse_beside_regressor(order: Any, distinct: Any, n_jobs: Any) -> None:
    """What a HoeffdingRegressor says itself."""
    settings = (("an", "order", order, None), ("a", "distinct", distinct, False), ("an", "n_jobs", n_jobs, -1))
    for article, name, value, default in settings:
        if value != default:
            own = f"{article} {name} of its own"
            raise ValueError(f"{name}={value!r}: the HoeffdingRegressor given as engine has {own}; set it there")


@dataclass(frozen=True, eq=False)
class _Problem:
    """What the user gave."""

    model: Any
    X: Any
    output: str | None
    feature_names: Sequence[str] | None
    groups: Mapping[str, Iterable[int | str]] | None
    sample_weight: npt.ArrayLike | None
    encoding: Encoding | None


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows as bits, what they weigh, and what they are called."""

    bits: BitMatrix
    weights: FloatArray | None
    names: tuple[str, ...]
    groups: Groups
    encoding: Encoding | None

    @classmethod
    def of(cls, problem: _Problem, bits: BitMatrix, names: Sequence[str] | None, encoding: Encoding | None) -> _Rows:
        n = bits.n_rows
        if n == 0 or bits.n_features == 0:
            raise ValueError(
                f"X: expected at least one row and one feature, got {n} rows of {bits.n_features} features"
            )
        weights = None if problem.sample_weight is None else as_weights("sample_weight", problem.sample_weight, n)
        labels = as_feature_names(names if problem.feature_names is None else problem.feature_names, bits.n_features)
        groups = () if encoding is None else tuple(g for g in encoding.groups if len(g[1]) > 0)
        if problem.groups is not None:
            groups = as_groups(problem.groups, labels, groups)
        return cls(bits, weights, labels, groups, encoding)

    def distinct(self) -> tuple[_Rows, npt.NDArray[np.intp]]:
        """Every distinct row once; and for each row given the position of its distinct row."""
        rows, inverse = merge_rows(self.bits.to_rows())
        return replace(self, bits=BitMatrix.from_rows(rows), weights=None), inverse


# -- sums of trees and polynomials ------------------------------------------------------------------------------------


def _is_sparse(problem: _Problem, request: _Request) -> bool:
    """Whether the model is one for the sparse engine; an error if that engine was asked for and it is not."""
    sparse_model = isinstance(problem.model, Polynomial) or is_tree_model(problem.model)
    if request.engine == "auto":
        return sparse_model and problem.encoding is None
    if not sparse_model:
        raise TypeError(
            f"engine='sparse': {type(problem.model).__name__} is no Polynomial, and no sum of trees that can be read; "
            f"these are {supported_models()}. engine='auto' takes an engine for any model"
        )
    if problem.encoding is not None:
        raise ValueError("encoding: the sparse engine takes the splits of the trees as bits; leave it out")
    return True


def _of_sum(problem: _Problem, request: _Request) -> Decomposition:
    model, threads = problem.model, n_threads(request.n_jobs)
    if isinstance(model, Polynomial):
        if problem.output is not None:
            raise ValueError(f"output={problem.output!r}: a polynomial has one kind of output; leave it out")
        found = read_polynomial(model, problem.X, problem.feature_names, request.max_sets, threads)
    else:
        found = read_trees(model, problem.X, problem.output, request.max_sets, threads)
    return _exact(found, _Rows.of(problem, found.bits, found.names, found.encoding), request)


def _exact(model: SumOfTables, rows: _Rows, request: _Request) -> Decomposition:
    """Run the sparse engine and describe what it gives."""
    if request.order is not None:
        as_order(request.order, rows.bits.n_features, least=1)
    values = model.values
    if request.distinct:
        _refuse_weights(rows)
        rows, inverse = rows.distinct()
        values = values[np.unique(inverse, return_index=True)[1]]
    exact = sparse.decompose_tables(
        model.tables,
        model.closed,
        sparse.Sample(rows.bits, rows.weights, values),
        order=request.order,
        tol=request.tol,
        n_jobs=request.n_jobs,
    )
    result = of_exact(exact, model.single, model.words, request)
    return replace(
        result,
        measure=Counted(exact.moments, distinct=request.distinct),
        unique=exact.n_chosen == 0 and Empirical(rows.bits.to_rows(), rows.weights).is_unique,
        feature_names=rows.names,
        groups=rows.groups,
        output_names=model.output_names,
        rows=WeightedRows(rows.bits, rows.weights),
        encoding=rows.encoding,
        prepare=model.prepare,
    )


def _refuse_weights(rows: _Rows) -> None:
    if rows.weights is not None:
        raise ValueError(
            "sample_weight: not possible with distinct=True, which gives all distinct rows the same weight"
        )


# -- any other model --------------------------------------------------------------------------------------------------


def _of_black_box(problem: _Problem, request: _Request) -> Decomposition:
    rows = _encoded(problem)
    if request.order is not None:
        as_order(request.order, rows.bits.n_features, least=1)
    values = _values(problem, rows.bits.n_rows)
    if request.distinct:
        _refuse_weights(rows)
    reason, plan = _choose(rows, values, request)
    result = (_by_cube if plan == "cube" else _by_regression)(rows, values, request)
    return replace(
        result,
        reason=f"{result.reason}; {values.words}{reason}{request.why}",
        feature_names=rows.names,
        groups=rows.groups,
        output_names=values.names,
        encoding=rows.encoding,
    )


def _values(problem: _Problem, n_rows: int) -> Values:
    """What the model says; of trees, unless something else is asked for, what they add up to."""
    found = read_answers(problem.model, problem.X, problem.output) if is_tree_model(problem.model) else None
    return found or evaluate(problem.model, problem.X, n_rows, problem.output)


def _encoded(problem: _Problem) -> _Rows:
    """The rows as bits: as they are, or encoded."""
    X, encoding = problem.X, problem.encoding
    if encoding is None and not _holds_bits(X):
        encoding = Encoding.fit(X)
    if encoding is not None:
        return _Rows.of(problem, encoding.transform(X), encoding.feature_names, encoding)
    return _Rows.of(problem, BitMatrix.from_rows(X), column_names(X), None)


def _choose(rows: _Rows, values: Values, request: _Request) -> tuple[str, str]:
    """The engine for a black box, and the reason: ``(reason, engine)``."""
    if request.engine == "regression":
        return "", "regression"
    d = rows.bits.n_features
    if request.order is not None and request.order < d:
        return _unless_asked(request, f"order={request.order} asked for, the cube engine gives all orders")
    if d > SMALL_CUBE:
        return _unless_asked(request, f"{d} features are too many for the cube engine, which takes {SMALL_CUBE}")
    plan = transform_plan(Empirical(rows.bits.to_rows()), values.at_rows.shape[1])
    if plan.operations > MOMENT and request.engine == "auto":
        return f"; not cube: it would take {plan.operations:.1e} operations", "regression"
    distinct, inverse = rows.distinct()
    low, high = (np.full((distinct.bits.n_rows, values.at_rows.shape[1]), s * np.inf) for s in (1, -1))
    np.minimum.at(low, inverse, values.at_rows)
    np.maximum.at(high, inverse, values.at_rows)
    if not np.array_equal(low, high):
        return _unless_asked(request, f"equal rows have different values, by up to {(high - low).max():.3g}")
    return "", "cube"


def _at_points(request: _Request, points: Points | None, sums: Sums, d: int) -> tuple[Decomposition | None, str]:
    """By the cube engine, if that is the one to take for rows in chunks; and the reason why not."""
    if points is None:
        return None, _unless_asked(request, f"{d} features are too many for the cube engine, which takes {SMALL_CUBE}")[
            0
        ]
    if not np.array_equal(points.low, points.high):
        differ = (points.high - points.low).max()
        return None, _unless_asked(request, f"equal rows have different values, by up to {differ:.3g}")[0]
    rows = _Rows(BitMatrix.from_rows(points.bits), points.weights, as_feature_names(None, d), (), None)
    values = Values(points.low, sums.single, sums.names, sums.words)
    reason, plan = _choose(rows, values, request)
    return (_by_cube(rows, values, request) if plan == "cube" else None), reason


def _unless_asked(request: _Request, why: str) -> tuple[str, str]:
    if request.engine == "cube":
        raise ValueError(f"engine='cube': {why}; engine='regression' can do it")
    return f"; not cube: {why}", "regression"


def _by_cube(rows: _Rows, values: Values, request: _Request) -> Decomposition:
    d, m = rows.bits.n_features, values.at_rows.shape[1]
    given = rows.bits.to_rows()
    cube = np.full((*(2,) * d, m), np.nan)
    cube[tuple(given.T)] = values.at_rows
    measure = Empirical(given, rows.weights, distinct=request.distinct)
    return transform(cube[..., 0] if values.single else cube, measure, n_jobs=request.n_jobs)


def _by_regression(rows: _Rows, values: Values, request: _Request) -> Decomposition:
    from sklearn.base import clone

    from hoeffding.engines.regression import HoeffdingRegressor

    y = values.at_rows[:, 0] if values.single else values.at_rows
    if request.regressor is not None:
        model = clone(request.regressor)
    else:
        order = min(DEFAULT_ORDER if request.order is None else request.order, rows.bits.n_features)
        mean = np.average(values.at_rows, axis=0, weights=rows.weights)
        alpha, l1_ratio = mild_penalty(np.sqrt(np.average((values.at_rows - mean) ** 2, axis=0, weights=rows.weights)))
        model = HoeffdingRegressor(order, alpha, l1_ratio, distinct=request.distinct, n_jobs=request.n_jobs)
    result: Decomposition = model.fit(rows.bits, y, rows.weights).decomposition_
    return result


# -- tables -----------------------------------------------------------------------------------------------------------


def _holds_bits(X: Any) -> bool:
    """Whether all columns are booleans or hold nothing but zeros and ones."""
    if isinstance(X, BitMatrix):
        return True
    try:
        BitMatrix.from_rows(X)
    except (TypeError, ValueError):
        return False
    return True
