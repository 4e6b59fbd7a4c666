"""The cube engine: the exact decomposition of a function given by all its values, under any measure.

The route depends on the measure only and can be asked for before anything is computed (:func:`transform_plan`):

==================  ==========================================  =====================================================
route               when                                        cost
==================  ==========================================  =====================================================
``product``         independent features                        ``d 2^d`` operations
``triangular``      the decomposition is unique                 ``3^d`` steps
``null space``      it is not: as many shattered sets as        ``(r - n) 3^d`` and ``2 r (r - n)^2``
                    points, and few more
``row space``       it is not: few points                       ``2 r n^2``
==================  ==========================================  =====================================================

with r shattered sets and n points. The last two find the decomposition with the least total variance of components.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hoeffding import fourier
from hoeffding.checks import as_array, as_count, as_real, cube_hint
from hoeffding.decomposition import Decomposition
from hoeffding.engines import least_variance
from hoeffding.machine import n_threads, readable_bytes, require_memory
from hoeffding.measure import Measure, Product, Table, Uniform, as_measure, check_cube
from hoeffding.names import as_feature_names, as_groups, as_output_names
from hoeffding.subsets import SubsetFamily

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

logger = logging.getLogger("hoeffding")

Route = Literal["product", "triangular", "null space", "row space"]

MAX_OPERATIONS = 2e13  # of dense linear algebra, which cannot be interrupted: some ten minutes
MAX_VALUE = 1e150
ROUNDING = 4 * np.finfo(float).eps
FEW_OPERATIONS = 1e8  # a moment: not worth the detour through the null space
RARE = 1e-10
MANY_OPERATIONS = 3e10  # some seconds: the cost is then stated as a warning
INSTEAD = "use fewer features, or the components of low order by decompose(values at rows, rows, order=2)"
STEP = 20  # operations at one step of the triangular recursion, for comparison with linear algebra


@dataclass(frozen=True)
class Plan:
    """How :func:`transform` will do it, and at what cost.

    Attributes
    ----------
    route : str
        ``"product"``, ``"triangular"``, ``"null space"`` or ``"row space"``.
    reason : str
        Why, in words.
    n_points, n_shattered : int
        Points of the support, and shattered sets. The decomposition is unique if they are equal.
    operations : float
        Floating-point operations, roughly.
    memory : int
        Bytes of working memory beyond the arguments and the result, at most.
    """

    route: Route
    reason: str
    n_points: int
    n_shattered: int
    operations: float
    memory: int

    @property
    def unique(self) -> bool:
        """Whether the decomposition is the only one."""
        return self.n_points == self.n_shattered

    def __str__(self) -> str:
        return f"{self.route}: {self.reason}; about {self.operations:.1e} operations and {readable_bytes(self.memory)}"


def transform_plan(pmf: Measure | npt.ArrayLike, n_outputs: int = 1) -> Plan:
    """Say how a function would be decomposed under a measure, and at what cost, without doing it.

    Parameters
    ----------
    pmf : measure, or array of shape (2,) * d
    n_outputs : int
        Number of functions to decompose at once.

    Examples
    --------
    >>> from hoeffding import Uniform, transform_plan
    >>> transform_plan(Uniform(20)).route
    'product'
    """
    given = as_measure(pmf)
    d, m = given.d, as_count("n_outputs", n_outputs, least=1)
    check_cube("pmf", d)
    measure, cells = _with_pmf(given), 2.0**d
    if isinstance(measure, Product):
        n = measure.n_points
        return Plan("product", "independent features", n, n, 4.0 * m * d * cells, int(8 * cells * (4 * m + 2)))
    walk, array = STEP * 3.0**d, 8 * cells
    if measure.full_support:  # what is left of f, beta, and the tables on two paths
        return Plan("triangular", "full support", 2**d, 2**d, m * walk, int(array * (2 * m + 2.5)))
    n, r = measure.n_points, measure.count_shattered()
    refining = array * (6 * m + 3)
    if n == r:
        return Plan("triangular", "as many shattered sets as points", n, r, 4 * m * walk, int(refining))
    k = r - n
    null_space = 4 * (k + m) * walk + 2.0 * r * k * k
    row_space = 4 * m * walk + 2.0 * r * n * n + 50.0 * r * n
    many = f"{r} shattered sets for {n} points, least total variance of components"
    rare = measure.points()[1].min() < RARE  # there the null space loses digits
    if row_space > FEW_OPERATIONS and null_space < row_space and not (rare and row_space <= MAX_OPERATIONS):
        return Plan("null space", many, n, r, null_space, int(refining + array * 8 * k))
    return Plan("row space", many, n, r, row_space, int(refining + 8 * r * (4.0 * n + m)))


def transform(
    values: npt.ArrayLike,
    pmf: Measure | npt.ArrayLike | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    groups: Mapping[str, Iterable[int | str]] | None = None,
    output_names: Sequence[str] | None = None,
    n_jobs: int = -1,
) -> Decomposition:
    """Decompose a function on ``{0,1}^d`` exactly: all orders, any measure.

    Parameters
    ----------
    values : array-like, shape (2,) * d, or (2,) * d + (n_outputs,)
        ``values[x_0, ..., x_{d-1}]``: axis i is feature i. Several functions at once go on the last axis.
        Values off the support are ignored and may be NaN.
    pmf : array-like of shape (2,) * d, measure, or None
        Axis i is feature i; the entries sum to one. None means the uniform measure, for a single function.
    feature_names : sequence of str, optional
        By default ``x0``, ``x1``, ...
    groups : mapping, optional
        Groups of features that belong together, such as the bits of one column, by name or index:
        ``{"colour": ["red", "blue"]}``. A feature in no group stands alone.
    output_names : sequence of str, optional
        One for each function.
    n_jobs : int
        Threads; -1 means all cores. The result does not depend on it, bit for bit.

    Returns
    -------
    Decomposition
        With one component for each shattered set: for all ``2^d`` sets if every point has positive probability. If
        the decomposition is not unique, it is the one with the least total variance of components.

    Examples
    --------
    A function of two features that agree more often than not:

    >>> import hoeffding
    >>> result = hoeffding.transform([[1.0, 2.0], [2.0, 4.0]], [[0.4, 0.1], [0.1, 0.4]])
    >>> result.subsets
    [(), (0,), (1,), (0, 1)]
    >>> result.coefficients.round(4)
    array([ 2.4 , -0.75, -0.75,  0.16])
    >>> result.predict([[1, 1], [0, 1]]).round(12)
    array([4., 2.])
    """
    threads = n_threads(n_jobs)
    measure, f, output_shape = _read(values, pmf)
    names = as_feature_names(feature_names, measure.d)
    named_groups, named_outputs = as_groups(groups, names), as_output_names(output_names, output_shape)
    on_cube = _with_pmf(measure)
    plan = transform_plan(on_cube, len(f))
    _admit(plan)
    p = on_cube.pmf().ravel()
    support = None if on_cube.full_support else p > 0
    _check_values(f, support, measure.d)

    mean, variance = _centre(f, p, support)
    beta, rest = _follow(plan, f, on_cube, support, threads)
    beta[:, 0] += mean
    remainder, fidelity = _quality(rest, variance, p)
    del f, rest
    family = on_cube.shattered()
    coefficients = np.ascontiguousarray(family.take(beta).T)
    return Decomposition(
        measure=measure,
        family=family,
        coefficients=coefficients.reshape(len(family), *output_shape),
        engine="cube",
        reason=f"{plan.route} route, {plan.reason}",
        unique=plan.unique,
        remainder=remainder,
        fidelity=fidelity,
        feature_names=names,
        n_jobs=n_jobs,
        groups=named_groups,
        output_names=named_outputs,
    )


def inverse_transform(
    coefficients: npt.ArrayLike, pmf: Measure | npt.ArrayLike | None = None, *, n_jobs: int = -1
) -> FloatArray:
    """Return the function with given coefficients: the inverse of :func:`transform`.

    Parameters
    ----------
    coefficients : array-like, shape (2,) * d, or (2,) * d + (n_outputs,)
        beta_S at the indicator vector of S: ``coefficients[1, 0, 1]`` belongs to the set of features 0 and 2.
    pmf : array-like of shape (2,) * d, measure, or None
        As in :func:`transform`. Sets that are not shattered must have the coefficient zero.
    n_jobs : int
        Threads; -1 means all cores.

    Returns
    -------
    array of the shape of ``coefficients``, the values on the whole cube

    Examples
    --------
    >>> inverse_transform([[2.4, -0.75], [-0.75, 0.16]], [[0.4, 0.1], [0.1, 0.4]]).round(12)
    array([[1., 2.],
           [2., 4.]])
    """
    measure, beta, output_shape = _read(coefficients, pmf, name="coefficients")
    on_cube = _with_pmf(measure)
    if not np.isfinite(beta).all():
        raise ValueError("coefficients: must be finite, got NaN or infinite entries")
    if not on_cube.full_support:
        wrong = np.flatnonzero(~_marked(on_cube.shattered()) & beta.any(axis=0))
        if wrong.size:
            cell = list(_cell(int(wrong[0]), measure.d))
            raise ValueError(f"coefficients{cell}: not zero, but this set is not shattered and has no component")
    f = fourier.inverse(beta, on_cube, n_threads(n_jobs))
    return np.ascontiguousarray(f.T).reshape((2,) * measure.d + output_shape)


# ---------------------------------------------------------------------------------------------------------------------


def _follow(
    plan: Plan, f: FloatArray, measure: Measure, support: BoolArray | None, threads: int
) -> tuple[FloatArray, FloatArray]:
    """Coefficients of all sets of the cube, and what they leave of the values on the support; ``f`` is overwritten."""
    if support is None:
        return fourier.forward(f, measure, threads)
    f[:, ~support] = 0.0
    if plan.route == "product":
        beta, rest = fourier.forward(f, measure, threads)
        return beta, np.where(support, rest, 0.0)
    if plan.route == "triangular":
        solver = least_variance.continuation(measure, support, threads)
    elif plan.route == "null space":
        solver = least_variance.null_space(measure, _marked(measure.shattered()), support, threads)
    else:
        solver = least_variance.row_space(measure, measure.shattered(), support)
    return least_variance.refined(solver, f, measure, support, threads)


def _marked(family: SubsetFamily) -> BoolArray:
    """The sets of a family as marks over the cube, shape ``(2**d,)``."""
    return family.put(np.ones(len(family), np.bool_))


# ---------------------------------------------------------------------------------------------------------------------
# Reading the arguments, and judging the result.


def _read(
    values: npt.ArrayLike, pmf: Measure | npt.ArrayLike | None, name: str = "values"
) -> tuple[Measure, FloatArray, tuple[int, ...]]:
    """The measure, the functions as a new array of shape ``(m, 2**d)``, and the shape of the output axes."""
    values = as_array(name, values)
    shape = values.shape
    if pmf is None:
        if len(shape) == 0 or shape != (2,) * len(shape):
            several = "; for several functions under the uniform measure, put them last and pass pmf=Uniform(d)"
            hint = cube_hint(values.size) if values.ndim == 1 else several
            raise ValueError(f"{name}: expected shape (2,) * d, got {shape}{hint}")
        measure: Measure = Uniform(len(shape))
    else:
        measure = as_measure(pmf)
    d = measure.d
    check_cube("pmf", d)
    outputs = shape[d:]
    if shape[:d] != (2,) * d or len(outputs) > 1:
        hint = cube_hint(values.size) if values.ndim == 1 and values.size == 2**d else ""
        raise ValueError(
            f"{name}: expected shape {(2,) * d}, as the measure has {d} features, and for several functions one more "
            f"axis; got {shape}{hint}"
        )
    m = int(np.prod(outputs))
    if m == 0:
        raise ValueError(f"{name}: no functions, the last axis has length 0")
    by_output = values.reshape(2**d, m).T
    return measure, as_real(name, by_output), outputs


def _with_pmf(measure: Measure) -> Measure:
    """The same measure in the form the routes want: independent features, or a table."""
    return measure if isinstance(measure, Product | Table) else Table(measure.pmf())


def _admit(plan: Plan) -> None:
    """State the cost of what is expensive; refuse what cannot be done."""
    require_memory(plan.memory, f"the {plan.route} route", f"decompose fewer outputs at once, or {INSTEAD}")
    if plan.route in ("null space", "row space"):
        logger.log(logging.WARNING if plan.operations > MANY_OPERATIONS else logging.INFO, "%s", plan)
        if plan.operations > MAX_OPERATIONS:
            raise ValueError(
                f"pmf: the decomposition is not unique ({plan.reason}) and choosing one would take "
                f"{plan.operations:.1e} operations, the limit is {MAX_OPERATIONS:.0e}; "
                f"use a measure with full support, or {INSTEAD}"
            )


def _check_values(f: FloatArray, support: BoolArray | None, d: int) -> None:
    finite = np.isfinite(f)
    if support is not None:
        finite |= ~support
    if not finite.all():
        wrong = np.argwhere(~finite)
        cell = list(_cell(int(wrong[0][1]), d))
        raise ValueError(
            f"values{cell}={f[tuple(wrong[0])]}: must be finite on the support, {len(wrong)} of {f.size} values are not"
        )

    on = f if support is None else f[:, support]
    largest = float(max(on.max(), -on.min()))
    if largest > MAX_VALUE:
        raise ValueError(
            f"values: as large as {largest:.1e}; above {MAX_VALUE:.0e} variances overflow, scale them down"
        )


def _cell(index: int, d: int) -> tuple[int, ...]:
    return tuple(index >> (d - 1 - i) & 1 for i in range(d))


def _centre(f: FloatArray, p: FloatArray, support: BoolArray | None) -> tuple[FloatArray, FloatArray]:
    """Subtract the mean of every function in place, so that no digits are lost to it; return means and variances.

    The variance is exactly zero for what is constant up to rounding.
    """
    mean, variance = np.empty(len(f)), np.empty(len(f))
    for o, values in enumerate(f):
        on, mass = (values, p) if support is None else (values[support], p[support])
        largest = max(on.max(), -on.min())
        mean[o] = mass @ on
        centred = on - mean[o]
        variance[o] = mass @ np.square(centred, out=centred)
        if variance[o] <= (ROUNDING * largest) ** 2:
            variance[o] = 0.0
        np.subtract(values, mean[o], out=values)
    return mean, variance


def _quality(rest: FloatArray, variance: FloatArray, p: FloatArray) -> tuple[float, float]:
    """The largest remainder, and the smallest R2 (1 for constants, which have no variance)."""
    remainder = max(float(rest.max()), -float(rest.min()))
    lost = np.einsum("oi,oi,i->o", rest, rest, p)
    return remainder, float(np.min(1 - np.divide(lost, variance, out=np.zeros_like(lost), where=variance > 0)))
