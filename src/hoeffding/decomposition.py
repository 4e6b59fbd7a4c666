r"""What every engine returns: the components :math:`f_S = \beta_S \psi_S` of a function, and what they are worth."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hoeffding import basis, fourier
from hoeffding.bits import BitMatrix, BitRows, WeightedRows, as_bits, data_frame
from hoeffding.components import Components, Weights
from hoeffding.machine import n_threads, require_memory
from hoeffding.measure import Measure
from hoeffding.names import Groups, feature_indices
from hoeffding.subsets import SubsetFamily, as_subset
from hoeffding.tables import Encoding

FloatArray = npt.NDArray[np.float64]

SHOWN_COMPONENTS = 10
ROUNDING = 16 * np.finfo(float).eps
CHEAP_FEATURES = 14  # up to this many features a repr may compute variances: some milliseconds


@dataclass(frozen=True)
class Variance:
    r"""The variance of f, shared out between its components: :math:`\mathrm{Var} f = \sum_S \mathrm{Cov}(f_S, f)`.

    All arrays have shape ``(n_subsets,)``, with output axes behind if there are several outputs.

    Attributes
    ----------
    structural : array
        ``Var f_S``: what the component would contribute alone.
    correlative : array
        ``Cov(f_S, f - f_S)``: what it gains or loses through its correlation with the others. May be negative.
    total : array
        Their sum, ``Cov(f_S, f)``.
    of_f : array or float
        ``Var f``, the sum of ``total`` over all components.
    """

    structural: FloatArray
    correlative: FloatArray
    total: FloatArray
    of_f: FloatArray

    def __post_init__(self) -> None:
        for a in (self.structural, self.correlative, self.total, self.of_f):
            a.flags.writeable = False

    @property
    def share(self) -> FloatArray:
        """``total / of_f``: sums to one. NaN for a constant function, which has no variance to share."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.total / self.of_f)


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition:
    """The Hoeffding decomposition of a function of bits under a measure: ``f = sum of f_S(x_S)``.

    Every component is orthogonal to all functions of fewer of its features. Engines build this; see
    :func:`hoeffding.transform`.

    Attributes
    ----------
    measure : Measure
    family : SubsetFamily
        The sets S that have a component, all of them shattered by the support.
    coefficients : array, shape (n_subsets,) or (n_subsets, n_outputs)
        beta_S, in the order of the family; ``f_S = beta_S psi_S``.
    engine, reason : str
        What computed it, and why that.
    unique : bool
        Whether this is the only decomposition of f under this measure. If not, ``reason`` says which one it is.
    remainder : float
        The largest ``|f(x) - sum of f_S(x_S)|`` on the support; of a fit by regression, the root of its mean square.
    fidelity : float
        R2 of the components as an approximation of f, the smallest over the outputs.
    feature_names : tuple of str
    n_jobs : int
        Threads used by later computations; -1 means all cores.
    unseen : str
        What a component says at a cell that is never observed (only sets that are not shattered have such cells):
        ``"zero"`` (nothing, with a warning that counts the rows), ``"nan"``, or ``"error"``.
    fitted_variance : Variance or None
        The variances of the fitted function, where the engine has them already.
    groups : tuple of (str, tuple of int)
        Names of groups of features, such as the bits of one column, and the features in each; they do not overlap.
        A feature in none of them stands alone.
    output_names : tuple of str or None
    rows : WeightedRows or None
        The rows whose distribution the measure is, where the measure itself knows counts only.
    encoding : Encoding or None
        How the columns of a table become the features; methods that take rows then take such tables.
    """

    measure: Measure
    family: SubsetFamily
    coefficients: FloatArray
    engine: str
    reason: str
    unique: bool
    remainder: float
    fidelity: float
    feature_names: tuple[str, ...]
    n_jobs: int = -1
    unseen: Literal["zero", "nan", "error"] = "zero"
    fitted_variance: Variance | None = None
    groups: Groups = ()
    output_names: tuple[str, ...] | None = None
    rows: WeightedRows | None = None
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        self.coefficients.flags.writeable = False

    # -- what there is --------------------------------------------------------------------------------------------

    @property
    def subsets(self) -> list[tuple[int, ...]]:
        """All sets as tuples of feature indices, ``()`` first."""
        return list(self.family)

    @property
    def order(self) -> int:
        """The size of the largest set."""
        return self.family.order

    @property
    def n_features(self) -> int:
        return self.measure.d

    @property
    def output_shape(self) -> tuple[int, ...]:
        """``()`` for a single output."""
        return self.coefficients.shape[1:]

    def coefficient(self, subset: Iterable[int | str]) -> FloatArray:
        """beta_S of one set, given by feature indices or names."""
        return np.asarray(self.coefficients[self.family.index(self._indices(subset))])

    def table(self, subset: Iterable[int | str]) -> FloatArray:
        """The component f_S over the cells of X_S, shape ``(2,) * |S|``: axis j is the j-th feature of S, in order."""
        s = as_subset(self._indices(subset), self.n_features)
        return np.asarray(np.multiply.outer(basis.psi(self.measure, s), self.coefficient(s)))

    # -- values ---------------------------------------------------------------------------------------------------

    def components(self, X: Any, subsets: Sequence[Iterable[int | str]] | None = None) -> FloatArray:
        """The values of components at rows.

        Parameters
        ----------
        X : array or data frame, shape (n, d)
        subsets : sequence of sets, optional
            Sets of feature indices or names; by default all of the family.

        Returns
        -------
        array, shape (n, n_subsets) or (n, n_subsets, n_outputs)
        """
        rows = self._rows(X)
        chosen = self.subsets if subsets is None else [as_subset(self._indices(s), self.n_features) for s in subsets]
        require_memory(
            8.0 * len(rows) * len(chosen) * max(int(np.prod(self.output_shape)), 1),
            f"{len(chosen)} components at {len(rows)} rows",
            "pass fewer rows, or the subsets you want",
        )
        out = np.empty((len(rows), len(chosen), *self.output_shape))
        for column, s in enumerate(chosen):
            out[:, column] = self.table(s)[tuple(rows[:, i] for i in s)]
        return self._judge_unseen(out)

    def predict(self, X: Any) -> FloatArray:
        """The sum of all components at rows ``X`` of shape ``(n, d)``: shape ``(n,)`` or ``(n, n_outputs)``."""
        rows = self._rows(X)
        if self.fitted_variance is None:  # all of the cube is at hand
            return np.asarray(self._values[tuple(rows.T)])
        return self._sum_of_tables(rows)

    def _sum_of_tables(self, rows: BitRows) -> FloatArray:
        bits, threads = BitMatrix.from_rows(rows), n_threads(self.n_jobs)
        sums = self.parts.sums(bits, Weights.all_to_one(len(self.family)), threads)
        unseen = self.parts.unseen(bits, threads)
        judged = self._judge_unseen(np.where(unseen, np.nan, 0.0))
        return sums.reshape(len(rows), *self.output_shape) + judged.reshape(-1, *(1,) * len(self.output_shape))

    @cached_property
    def parts(self) -> Components:
        """All components as tables, by the size of the set."""
        m = max(int(np.prod(self.output_shape)), 1)
        return Components.of(self.measure, self.family, self.coefficients.reshape(len(self.family), m))

    def _judge_unseen(self, values: FloatArray) -> FloatArray:
        """Apply the policy to NaN, which marks cells never observed, in values with one row for each row of X."""
        rows = np.asarray(np.isnan(values).reshape(len(values), -1).any(axis=1))
        if not rows.any() or self.unseen == "nan":
            return values
        message = f"{rows.sum()} of {len(rows)} rows have a combination of values that was never observed"
        if self.unseen == "error":
            raise ValueError(f"X: {message}; unseen='zero' or 'nan' says what components are there")
        warnings.warn(f"{message}; the components concerned say nothing there", stacklevel=3)
        return np.nan_to_num(values, nan=0.0)

    def values(self) -> FloatArray:
        """The sum of all components on the whole cube, shape ``(2,) * d`` (with output axes behind).

        Off the support, where f itself says nothing, this is what the components add up to.
        """
        return self._values.copy()

    @cached_property
    def _values(self) -> FloatArray:
        planes = fourier.inverse(self._cube_coefficients(), self.measure, n_threads(self.n_jobs))
        return self._from_planes(planes, (2,) * self.n_features)

    # -- variance -------------------------------------------------------------------------------------------------

    @cached_property
    def _variance(self) -> Variance:
        if self.fitted_variance is not None:
            return self.fitted_variance
        threads = n_threads(self.n_jobs)
        beta = self._cube_coefficients()
        arrays = 8.0 * (4 * len(beta) + 3) * beta.shape[1] * (1 + threads.bit_length())
        require_memory(arrays, "the variances of all components", "use fewer threads (n_jobs) or fewer outputs")
        mean = np.abs(beta[:, 0])
        beta[:, 0] = 0.0  # the mean does not vary, and without it no digits are lost
        f = fourier.inverse(beta, self.measure, threads)
        inner, norm2 = fourier.inner_products(f, self.measure, threads)
        coefficients = self.family.take(beta)
        structural = coefficients**2 * self.family.take(norm2)
        total = coefficients * self.family.take(inner)
        rounding = np.maximum(ROUNDING * mean, self.remainder)
        constant = np.abs(total.sum(axis=1)) <= rounding**2
        structural[constant] = total[constant] = 0.0
        total = self._from_planes(total, (len(self.family),))
        structural = self._from_planes(structural, (len(self.family),))
        return Variance(structural, total - structural, total, np.asarray(total.sum(axis=0)))

    def variance(self) -> Variance:
        """Variances of the components: structural, correlative and total (see :class:`Variance`)."""
        return self._variance

    def share_by_order(self) -> FloatArray:
        """The share of the variance of f at each order 1, 2, ..., shape ``(order,)`` (with output axes behind)."""
        share = self.variance().share
        by_order = [share[a:b].sum(axis=0) for a, b in pairwise(self.family.starts[1:])]
        return np.array(by_order).reshape(len(by_order), *self.output_shape)

    # -- tables and words -----------------------------------------------------------------------------------------

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """A data frame with one row for each component (and output).

        Columns: ``subset`` (names), ``order``, ``output`` (if there are several), ``coefficient``, ``structural``,
        ``correlative``, ``total`` (variances) and ``share``.
        """
        import narwhals as nw

        n_outputs = int(np.prod(self.output_shape))
        v = self.variance()
        data: dict[str, Any] = {
            "subset": np.repeat([self._label(s) for s in self.subsets], n_outputs),
            "order": np.repeat(self.family.sizes.astype(np.int64), n_outputs),
        }
        if self.output_shape:
            data["output"] = np.tile(np.array(self.output_names or range(n_outputs)), len(self.family))
        data |= {
            "coefficient": self.coefficients.ravel(),
            "structural": v.structural.ravel(),
            "correlative": v.correlative.ravel(),
            "total": v.total.ravel(),
            "share": v.share.ravel(),
        }
        try:
            return nw.from_dict(data, backend=backend).to_native()
        except ModuleNotFoundError as error:
            message = f"to_frame(backend={backend!r}) needs {backend}: pip install {backend}"
            raise ModuleNotFoundError(message) from error

    def _facts(self) -> list[tuple[str, str]]:
        names = "" if self.output_names is None else f" ({', '.join(self.output_names)})"
        outputs = f", {int(np.prod(self.output_shape))} outputs{names}" if self.output_shape else ""
        unique = "unique" if self.unique else "not unique"
        kind = "root mean square" if self.engine == "regression" else "largest"
        facts = [
            ("measure", repr(self.measure)),
            ("components", f"{len(self.family)}, order up to {self.order}, {unique}{outputs}"),
            ("engine", f"{self.engine}: {self.reason}"),
            ("fidelity", f"R2 = {self.fidelity:.6g}, {kind} remainder {self.remainder:.1e}"),
        ]
        cheap = self.fitted_variance is not None or self.n_features <= CHEAP_FEATURES
        if cheap and not self.output_shape and self.order > 0:
            shares = enumerate(self.share_by_order(), start=1)
            words = ", ".join(f"order {k}: {100 * share:.3g} %" for k, share in shares)
            facts.append(("variance", words if self.variance().of_f > 0 else "none, the function is constant"))
        return facts

    def __repr__(self) -> str:
        lines = [f"  {name:<11} {text}" for name, text in self._facts()]
        return "\n".join([f"Decomposition of a function of {self.n_features} features", *lines])

    def _repr_html_(self) -> str:
        facts = "".join(f"<tr><th>{escape(n)}</th><td>{escape(t)}</td></tr>" for n, t in self._facts())
        out = f"<table><caption>Decomposition of a function of {self.n_features} features</caption>{facts}</table>"
        if (self.fitted_variance is None and self.n_features > CHEAP_FEATURES) or self.output_shape:
            return out
        v = self.variance()
        largest = np.argsort(-np.abs(v.total), kind="stable")[:SHOWN_COMPONENTS]
        rows = "".join(
            f"<tr><td>{escape(self._label(self.subsets[j]))}</td><td>{self.coefficients[j]:.4g}</td>"
            f"<td>{v.structural[j]:.4g}</td><td>{v.correlative[j]:.4g}</td><td>{v.share[j]:.2%}</td></tr>"
            for j in largest
        )
        head = "<tr><th>subset</th><th>coefficient</th><th>structural</th><th>correlative</th><th>share</th></tr>"
        return f"{out}<table><caption>Largest components</caption>{head}{rows}</table>"

    # -- inside ---------------------------------------------------------------------------------------------------

    def _label(self, subset: tuple[int, ...]) -> str:
        return " × ".join(self.feature_names[i] for i in subset) if subset else "(mean)"

    def _indices(self, subset: Iterable[int | str]) -> tuple[int, ...]:
        return feature_indices("subset", subset, self.feature_names)

    def _rows(self, X: Any) -> BitRows:
        """Rows of bits in the order of the features; the columns of a data frame are found by name, and encoded."""
        if self.encoding is not None and not isinstance(X, BitMatrix):
            X = self.encoding.transform(X)
        if isinstance(X, BitMatrix):
            return self._of_width(X.to_rows())
        frame = data_frame(X)
        if frame is not None:
            missing = [name for name in self.feature_names if name not in frame.columns]
            if missing:
                raise ValueError(f"X: no column {missing[0]!r}; expected the columns {', '.join(self.feature_names)}")
            X = frame.select(self.feature_names).to_native()
        return self._of_width(as_bits(X, "X"))

    def _of_width(self, rows: BitRows) -> BitRows:
        if rows.shape[1] != self.n_features:
            raise ValueError(f"X: expected {self.n_features} features, got {rows.shape[1]} columns")
        return rows

    def _cube_coefficients(self) -> FloatArray:
        """Coefficients of all sets, at their indicator vectors, shape ``(m, 2**d)``: zero outside the family."""
        m = int(np.prod(self.output_shape))
        require_memory(
            8.0 * m * 2**self.n_features,
            f"an array over the cube of {self.n_features} features",
            "ask for components(X) of the rows and subsets you want",
        )
        return self.family.put(self.coefficients.reshape(len(self.family), m).T)

    def _from_planes(self, planes: FloatArray, shape: tuple[int, ...]) -> FloatArray:
        return np.ascontiguousarray(planes.T).reshape(*shape, *self.output_shape)
