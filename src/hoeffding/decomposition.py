r"""What every engine returns: the components :math:`f_S = \beta_S \psi_S` of a function, and what they are worth."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from html import escape
from os import PathLike
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hoeffding import attribution, basis, fourier, frames, interop, sensitivity
from hoeffding.attribution import Attribution, Interactions
from hoeffding.bits import BitMatrix, BitRows, WeightedRows, data_frame
from hoeffding.checks import as_count, as_real, as_weights
from hoeffding.components import Components, Weights, sums_on_cube
from hoeffding.lazy import is_dask, lazily
from hoeffding.machine import n_threads, require_memory
from hoeffding.measure import Empirical, Measure
from hoeffding.names import Groups, as_groups, feature_indices
from hoeffding.players import Grouping, Players
from hoeffding.sensitivity import Sobol, Variance
from hoeffding.subsets import SubsetFamily, as_subset
from hoeffding.tables import Encoding

FloatArray = npt.NDArray[np.float64]

SHOWN_COMPONENTS = 10
ROUNDING = 16 * np.finfo(float).eps
VISIBLE = 1e-12  # shares of the variance below are rounding
IN_MEMORY = ("n_jobs", "prepare")  # what files do not hold
CHEAP_FEATURES = 14  # up to this many features a repr may compute variances: some milliseconds


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
    prepare : callable or None
        From rows as a pipeline takes them to bits, where ``encoding`` or the features are of what its first steps make.
        Methods that take rows then take those of the pipeline. It is not written to files: a result from a file takes
        rows as prepared.
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
    prepare: Callable[[Any], BitMatrix] | None = None

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
        return np.asarray(self.coefficients[self._position(subset)])

    def table(self, subset: Iterable[int | str]) -> FloatArray:
        """The component f_S over the cells of X_S, shape ``(2,) * |S|``: axis j is the j-th feature of S, in order."""
        at, s = self._position(subset), as_subset(self._indices(subset), self.n_features)
        if self._fills_cube:
            return np.asarray(np.multiply.outer(basis.psi(self.measure, s), self.coefficients[at]))
        f_S = self.parts.tables[len(s)][at - self.family.starts[len(s)]]
        return np.array(f_S).reshape((2,) * len(s) + self.output_shape)

    # -- values ---------------------------------------------------------------------------------------------------

    @lazily
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

    @lazily
    def predict(self, X: Any) -> FloatArray:
        """The sum of all components at rows ``X`` of shape ``(n, d)``: shape ``(n,)`` or ``(n, n_outputs)``."""
        if self._fills_cube:
            return np.asarray(self._values[tuple(self._rows(X).T)])
        return self._sums(self._bits(X), Weights.all_to_one(len(self.family)))[:, 0]

    def _sums(self, bits: BitMatrix, weights: Weights) -> FloatArray:
        """Weighted sums of components at rows, ``(n, n_targets)``, with output axes behind."""
        threads, m = n_threads(self.n_jobs), max(int(np.prod(self.output_shape)), 1)
        attribution.require_rows(bits.n_rows, weights.n_targets * m)
        if self._fills_cube:
            beta = self.coefficients.reshape(len(self.family), m)
            sums = sums_on_cube(self.measure, self.family, beta, weights, bits.to_rows(), threads)
        else:
            sums = self.parts.sums(bits, weights, threads)
            unseen = self.parts.unseen(bits, threads)
            sums += self._judge_unseen(np.where(unseen, np.nan, 0.0))[:, None, None]
        return sums.reshape(bits.n_rows, weights.n_targets, *self.output_shape)

    @property
    def _fills_cube(self) -> bool:
        """Whether the cube engine made it: too many components for tables, while arrays over the cube are no burden."""
        return self.fitted_variance is None

    @cached_property
    def parts(self) -> Components:
        """All components as tables, by the size of the set."""
        m = max(int(np.prod(self.output_shape)), 1)
        return Components.of(self.measure, self.family, self.coefficients.reshape(len(self.family), m))

    def _judge_unseen(self, values: FloatArray) -> FloatArray:
        """Apply the policy to NaN, which marks cells never observed, in values with one row for each row of X."""
        rows = np.asarray(np.isnan(values).any(axis=tuple(range(1, values.ndim))))
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
        return sensitivity.by_order(self.variance().share, self.family)[1:]

    def sobol(self, *, groups: Grouping | None = "player") -> Sobol:
        """First-order and total Sobol' indices of features or groups (see :class:`~hoeffding.sensitivity.Sobol`).

        The index of a group is that of all its features together; ``groups=None`` takes every feature for itself.
        """
        if groups == "sum":
            raise ValueError(
                "groups='sum': the indices of a group are not sums over its features; use 'player' or None"
            )
        return sensitivity.sobol(self.variance(), self.family, self._players(groups))

    def closed_sobol(self, subset: Iterable[int | str]) -> FloatArray:
        """The closed index of a set of features: the share of variance of all components inside of it."""
        s = as_subset(self._indices(subset), self.n_features)
        return sensitivity.closed(self.variance().share, self.family, s)

    def shapley_effects(self, *, groups: Grouping | None = "player") -> FloatArray:
        """The shares of variance, each component's divided between its players, ``(n_players,)``; sums to one."""
        return sensitivity.shapley_effects(self.variance(), self.family, self._players(groups))

    # -- Boolean analysis (definitions in hoeffding.sensitivity) ---------------------------------------------------

    def influences(self) -> FloatArray:
        """The weight ``E[f_S f]`` of all sets S with feature i, ``(d,)``; ``E Var(f | the others)`` if independent."""
        return sensitivity.influences(self.variance(), self.family, self._players(None))

    def total_influence(self) -> FloatArray:
        """The sum of all influences: each set's weight times its size."""
        return np.asarray(self.influences().sum(axis=0))

    def spectral_weight(self) -> FloatArray:
        """The weight ``E[f_S f]`` of all sets of each size, ``(order + 1,)``; the first is the squared mean."""
        out = sensitivity.by_order(self.variance().total, self.family)
        out[0] += self.base_value**2
        return out

    def noise_stability(self, rho: float) -> FloatArray:
        """``sum_S rho^|S| E[f_S f]``: under the uniform measure ``E[f(X) f(Y)]`` for rho-correlated X and Y."""
        if not (isinstance(rho, int | float | np.number) and -1 <= rho <= 1):
            raise ValueError(f"rho={rho!r}: must lie between -1 and 1")
        weight = self.spectral_weight()
        return np.asarray(np.tensordot(float(rho) ** np.arange(len(weight)), weight, axes=1))

    def degree(self, tol: float = 1e-12) -> int:
        """The size of the largest set whose component has a standard deviation above ``tol`` times that of f."""
        return sensitivity.degree(self.variance(), self.family, tol)

    # -- attribution ----------------------------------------------------------------------------------------------
    # groups="player" (the default) shares a component equally between the groups it touches, "sum" between its
    # features, those of a group added up; None takes every feature for itself. Without groups they are the same.

    def with_groups(self, groups: Mapping[str, Iterable[int | str]] | None) -> Decomposition:
        """The same decomposition with other groups, ``{name: [features by name or index]}``.

        The name of a column, or of a group that there is already, stands for all its features.
        """
        columns = () if self.encoding is None else self.encoding.groups
        return replace(self, groups=as_groups(groups, self.feature_names, (*columns, *self.groups)))

    @property
    def players(self) -> tuple[str, ...]:
        """The names of those who share the components: groups, and features in none, by their first features."""
        return self._players("player").names

    @property
    def labels(self) -> tuple[str, ...]:
        """The components by the names of their features, such as ``a × b``, in the order of ``subsets``."""
        return tuple(map(self._label, self.subsets))

    @property
    def base_value(self) -> FloatArray:
        """The component of the empty set: the mean of the decomposed function."""
        return np.asarray(self.coefficients[0])

    @lazily
    def shapley(self, X: Any, *, groups: Grouping | None = "player") -> FloatArray:
        """Shapley values at rows ``X`` (n, d): shape ``(n, n_players)``, which is ``(n, d)`` without groups.

        They sum to ``predict(X) - base_value``.
        """
        weights = attribution.player_weights(self.family, self._players(groups), "shapley")
        return self._sums(self._bits(X), weights)

    @lazily
    def banzhaf(self, X: Any, *, groups: Grouping | None = "player") -> FloatArray:
        """Banzhaf values at rows ``X`` (n, d): shape ``(n, n_players)``. They do not add up to the prediction."""
        weights = attribution.player_weights(self.family, self._players(groups), "banzhaf")
        return self._sums(self._bits(X), weights)

    @lazily
    def local(self, X: Any, *, groups: Grouping | None = "player") -> FloatArray:
        """Normalised Shapley values ``phi_i / sum_j |phi_j|`` at rows, ``(n, n_players)``; NaN where all are zero."""
        return attribution.normalised(self.shapley(X, groups=groups))

    def explain(
        self, X: Any, outputs: npt.ArrayLike | None = None, *, groups: Grouping | None = "player"
    ) -> Attribution:
        """Shapley values together with base value, prediction and remainder.

        Parameters
        ----------
        X : array or data frame, shape (n, d)
        outputs : array-like, shape (n,) or (n, n_outputs), optional
            What the model says at these rows; then the remainder is stated.
        """
        prediction = self.predict(X)
        remainder = None
        if outputs is not None:
            given = as_real("outputs", outputs)
            if given.shape != prediction.shape:
                raise ValueError(
                    f"outputs: expected the model's values at the rows, shape {prediction.shape}, got {given.shape}"
                )
            if not np.isfinite(given).all():
                raise ValueError("outputs: has values that are not finite; leave those rows out")
            remainder = given - prediction
        values = self.shapley(X, groups=groups)
        return Attribution(values, self.base_value, prediction, remainder, self._players(groups).names)

    @lazily
    def interactions(self, X: Any, *, groups: Grouping | None = "player", sparse: bool = False) -> Any:
        """Shapley interaction values at rows ``X``, shape ``(n, n_players, n_players)``, as of shap's tree explainer.

        Half of the interaction of a pair stands on each side of the diagonal, the rest of a Shapley value on it: sums
        over the last player axis are Shapley values. With ``sparse=True`` the result is an
        :class:`~hoeffding.attribution.Interactions`, which holds only the pairs that some component touches.
        """
        bits, players = self._bits(X), self._players(groups)
        pairs, weights = attribution.pair_weights(self.family, players)
        if not sparse:
            attribution.require_rows(
                bits.n_rows, len(players) ** 2 * max(int(np.prod(self.output_shape)), 1), "sparse=True"
            )
        both = attribution.joined(attribution.main_weights(self.family, players), weights)
        found: Interactions = attribution.interactions(self._sums(bits, both), pairs, players.names)
        return found if sparse else found.to_dense()

    def importance(
        self, X: Any = None, sample_weight: npt.ArrayLike | None = None, *, groups: Grouping | None = "player"
    ) -> FloatArray:
        """The mean of the absolute Shapley values, normalised, ``(n_players,)``: sums to one.

        Parameters
        ----------
        X : array or data frame, shape (n, d), optional
            By default the measure of the decomposition: its points, or the rows that it was counted from.
        sample_weight : array-like, shape (n,), optional
            What the rows of ``X`` weigh.
        """
        if X is None and sample_weight is not None:
            raise ValueError("sample_weight: goes with X; without X the measure has weights of its own")
        bits, mass = self._rows_of_measure() if X is None else (self._bits(X), None)
        if bits.n_rows == 0:
            raise ValueError("X: has no rows to average over")
        if sample_weight is not None:
            mass = as_weights("sample_weight", sample_weight, bits.n_rows)
        weights = attribution.player_weights(self.family, self._players(groups), "shapley")
        most = bits.n_rows if self._fills_cube else attribution.rows_at_once(weights.n_targets)
        sums = np.zeros((weights.n_targets, *self.output_shape))
        for start, chunk in bits.chunks(most):
            values = np.abs(self._sums(chunk, weights))
            w = np.ones(chunk.n_rows) if mass is None else mass[start : start + chunk.n_rows]
            sums += np.tensordot(w, values, axes=1)
        return sensitivity.over(sums, sums.sum(axis=0))

    def top(self, k: int) -> list[tuple[int, ...]]:
        """The k sets with the largest absolute share of the variance (in any output), largest first."""
        size = np.abs(self.variance().share).reshape(len(self.family), -1).max(axis=1)
        best = np.argsort(-size, kind="stable")[: as_count("k", k)]
        return [self.family[int(j)] for j in best]

    # -- for other packages ---------------------------------------------------------------------------------------

    def to_shap(self, X: Any, outputs: npt.ArrayLike | None = None, *, groups: Grouping | None = "player") -> Any:
        """Shapley values as a ``shap.Explanation``, ready for its plots.

        With the model's ``outputs`` at the rows, the remainder is the last feature, so that the values add up to them.
        Groups are shown by a code in ``data`` and a label in ``display_data``.
        """
        found, rows = self.explain(X, outputs, groups=groups), self._bits(X).to_rows()
        players, names = self._players(groups), self.feature_names
        out = interop.explanation(
            found.values, found.base_value, rows, players, names, self.output_names, self.encoding
        )
        return out if outputs is None else interop.with_remainder(out, found)

    def to_shap_interactions(self, X: Any, *, groups: Grouping | None = "player") -> Any:
        """Interactions as a ``shap.Explanation``, for ``shap.summary_plot(e.values, e.data)`` and the like."""
        values, rows = self.interactions(X, groups=groups), self._bits(X).to_rows()
        players, names = self._players(groups), self.feature_names
        return interop.explanation(values, self.base_value, rows, players, names, self.output_names, self.encoding)

    def to_shapiq(self, x: Any, *, output: int | str | None = None, groups: Grouping | None = "player") -> Any:
        """The components at one row as ``shapiq.InteractionValues`` with index "Moebius".

        Of several functions, ``output`` says which (by index or name).
        """
        if groups == "sum":
            raise ValueError("groups='sum': a game has groups as players or features as players; use 'player' or None")
        components = self.components(self._row(x))
        values = components[0] if (o := self._output(output)) is None else components[0, :, o]
        return interop.interaction_values(self.family, values, self._players(groups))

    # -- files ----------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, rows: bool = False) -> None:
        """Write the decomposition to a file, which :func:`hoeffding.load` reads; ``docs/files.md`` describes it.

        ``rows=True`` writes the rows that the measure was counted from too, for what is averaged over them. They are
        the data (as bits): think of who will read the file. If the decomposition holds none, that is an error.
        """
        from hoeffding import io  # zip, JSON and checksums are not needed otherwise

        counted = isinstance(self.measure, Empirical) and self.fitted_variance is None  # the file holds its rows anyway
        if rows and self.rows is None and not counted:
            raise ValueError(
                "rows=True: this decomposition holds no rows (they were read in chunks, or it was loaded from a file "
                "without them, or its measure is not one of rows); leave rows=True out, or decompose rows in memory"
            )

        kept = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in IN_MEMORY}
        io.write(path, kept | {"rows": self.rows if rows else None})

    # -- tables and words -----------------------------------------------------------------------------------------

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas", *, cells: bool = False) -> Any:
        """A data frame with one row for each component (and output), or for each cell of each component.

        Columns: ``subset`` (names), ``order``, ``output`` (if there are several), ``coefficient``, ``structural``,
        ``correlative``, ``total`` (variances) and ``share``. With ``cells=True`` instead of the latter five: ``cell``
        (the values of the features, such as ``a: 0, b: 1``), ``probability``, and ``value``, which is f_S there, NaN if
        the cell was never observed.
        """
        outputs = self.output_names or range(int(np.prod(self.output_shape))) if self.output_shape else ()
        if cells:
            columns = frames.of_cells(self.parts, self.feature_names, outputs, self.measure)
        else:
            variance = self.variance()
            columns = frames.of_components(self.family, self.feature_names, outputs, self.coefficients, variance)
        return frames.to_native(columns, backend)

    def _facts(self) -> list[tuple[str, str]]:
        names = "" if self.output_names is None else f" ({', '.join(self.output_names)})"
        one = ", one output" if names else ""
        n_outputs = f", {int(np.prod(self.output_shape))} outputs" if self.output_shape else one
        unique = "unique" if self.unique else "not unique"
        kind = "root mean square" if self.engine == "regression" else "largest"
        facts = [
            ("measure", repr(self.measure)),
            ("components", f"{len(self.family)}, order up to {self.order}, {unique}{n_outputs}{names}"),
            ("engine", f"{self.engine}: {self.reason}"),
            ("fidelity", f"R2 = {self.fidelity:.6g}, {kind} remainder {self.remainder:.1e}"),
        ]
        cheap = self.fitted_variance is not None or self.n_features <= CHEAP_FEATURES
        if cheap and not self.output_shape and self.order > 0:
            shares = np.where(np.abs(self.share_by_order()) > VISIBLE, self.share_by_order(), 0.0).tolist()
            words = ", ".join(f"order {k}: {100 * share:.3g} %" for k, share in enumerate(shares, start=1))
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
        return frames.label([self.feature_names[i] for i in subset])

    def _indices(self, subset: Iterable[int | str]) -> tuple[int, ...]:
        return feature_indices("subset", subset, self.feature_names)

    def _players(self, grouping: Grouping | None) -> Players:
        return Players.of(grouping, self.groups, self.feature_names)

    def _output(self, output: int | str | None) -> int | None:
        """The index of one of several outputs; None for a single one."""
        if not self.output_shape:
            if output is not None:
                raise ValueError(f"output={output!r}: there is a single output; leave it out")
            return None
        names = self.output_names or tuple(map(str, range(self.output_shape[0])))
        if isinstance(output, str) and output in names:
            return names.index(output)
        if isinstance(output, int | np.integer) and 0 <= output < len(names):
            return int(output)
        raise ValueError(f"output={output!r}: choose one of {', '.join(names)}, by name or index")

    def _position(self, subset: Iterable[int | str]) -> int:
        """Where a set is in the family; a KeyError says why it is not there and how to get it."""
        s = as_subset(self._indices(subset), self.n_features)
        try:
            return self.family.index(s)
        except KeyError as error:
            raise KeyError(f"{self._label(s)}: {error.args[0]}; {self._why_absent(s)}") from None

    def _why_absent(self, s: tuple[int, ...]) -> str:
        try:
            shattered = self.measure.is_shattered(s)
        except ValueError:  # it was not counted
            shattered = None
        if shattered is False:
            return f"not all of its {2 ** len(s)} combinations of values occur, so it has no component of its own"
        if len(s) > self.order or self.engine == "regression":
            return f"decompose with order={len(s)} or more, or a family that holds it, to get its component"
        return "its component is zero"

    def _rows_of_measure(self) -> tuple[BitMatrix, FloatArray | None]:
        """The rows that the measure consists of and their masses."""
        if self.rows is not None:
            return self.rows.bits, self.rows.weights
        try:
            points, mass = self.measure.points()
        except ValueError:
            raise ValueError("X: this result keeps counts only, not rows; pass the rows to average over") from None
        return BitMatrix.from_rows(points), mass

    def _bits(self, X: Any) -> BitMatrix:
        """Rows of bits in the order of the features; the columns of a data frame are found by name, and encoded."""
        if isinstance(X, str | PathLike):
            raise TypeError(f"X={str(X)!r}: rows in a file go to another file, see hoeffding.apply; or read them first")
        if is_dask(X):
            raise TypeError("X: a Dask collection; this needs its rows in memory, pass X.compute()")
        if self.prepare is not None and not isinstance(X, BitMatrix):
            X = self.prepare(X)
        elif self.encoding is not None and not isinstance(X, BitMatrix):
            X = self.encoding.transform(X)
        frame = None if isinstance(X, BitMatrix) else data_frame(X)
        if frame is not None:
            missing = [name for name in self.feature_names if name not in frame.columns]
            if missing:
                raise ValueError(f"X: no column {missing[0]!r}; expected the columns {', '.join(self.feature_names)}")
            X = frame.select(self.feature_names).to_native()
        bits = X if isinstance(X, BitMatrix) else BitMatrix.from_rows(X)
        if bits.n_features != self.n_features:
            raise ValueError(f"X: expected {self.n_features} features, got {bits.n_features} columns")
        return bits

    def _no_rows(self) -> BitMatrix:
        """No rows at all: what methods give for them has the shape of other results, but for the first axis."""
        return BitMatrix(np.zeros((self.n_features, 1), np.uint64), 0)

    def _row(self, x: Any) -> BitMatrix:
        """One row of bits: a sequence, a row of a data frame, or an array or frame with one row."""
        if hasattr(x, "to_frame") and hasattr(x, "index"):  # a row of a pandas frame, which has the names of columns
            x = x.to_frame().T.infer_objects()
        bits = self._bits([x] if not hasattr(x, "columns") and np.ndim(x) == 1 else x)
        if bits.n_rows != 1:
            raise ValueError(f"x: expected one row, got {bits.n_rows}")
        return bits

    def _rows(self, X: Any) -> BitRows:
        return self._bits(X).to_rows()

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


def load(path: str | PathLike[str], *, n_jobs: int = -1) -> Decomposition:
    """Read a decomposition from a file that :meth:`Decomposition.save` wrote.

    Nothing in the file is executed. A file that is damaged, was changed, or was written by a later version of the
    format is a ValueError.

    Parameters
    ----------
    path : str or path
    n_jobs : int
        Threads used by later computations; -1 means all cores.

    Returns
    -------
    Decomposition
        With the same values, bit for bit. Its measure knows the marginals of the components only, unless the function
        was decomposed on the whole cube.

    Examples
    --------
    >>> import tempfile, hoeffding
    >>> result = hoeffding.transform([[1.0, 2.0], [2.0, 4.0]], [[0.4, 0.1], [0.1, 0.4]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(f"{folder}/result.hfd")
    ...     again = hoeffding.load(f"{folder}/result.hfd")
    >>> bool((again.coefficients == result.coefficients).all())
    True
    """
    from hoeffding import io

    n_threads(n_jobs)
    found = io.read(path)
    variance = found.pop("fitted_variance")
    return Decomposition(**found, n_jobs=n_jobs, fitted_variance=None if variance is None else Variance(*variance))
