r"""The regression engine: any black box, order at most k, penalised least squares from counts.

.. math:: \min_\beta \tfrac{1}{2n} \| y - \Psi \beta \|^2
    + \alpha \bigl(\lambda \|\beta\|_1 + \tfrac{1-\lambda}{2} \|\beta\|_2^2\bigr)

over the sets of at most k features, the coefficient of the empty set not penalised. The rows are bit-packed and
counted; no design matrix is made. :mod:`~hoeffding.engines.low_order` fits a given family of sets; which sets, and how
strong the penalty, may be chosen by :mod:`~hoeffding.engines.heredity` and
:mod:`~hoeffding.engines.cross_validation`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from math import comb
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from hoeffding import steps
from hoeffding.bits import BitMatrix, WeightedRows, refuse_columns
from hoeffding.checks import as_count, as_real, as_targets, as_weights, refuse_masked
from hoeffding.decomposition import Decomposition
from hoeffding.engines import cross_validation, heredity, low_order
from hoeffding.engines.low_order import Fit, Given, GramProblem, Rows, RowsProblem, Settings
from hoeffding.lazy import is_dask
from hoeffding.machine import require_memory
from hoeffding.moments import Counted, Moments
from hoeffding.names import as_feature_names, feature_indices
from hoeffding.progress import reporting, say
from hoeffding.sensitivity import Variance
from hoeffding.subsets import SubsetFamily, index_dtype

FloatArray = npt.NDArray[np.float64]

FEW_SETS = 200_000  # so many sets are counted at once, more only if the Gram route is taken
SPREAD = (1e-140, 1e140)  # of targets whose squares are summed
# For scikit-learn; what the values are is checked when they are packed, which says the column.
READING: dict[str, Any] = {"dtype": "numeric", "accept_sparse": ("csr", "csc"), "ensure_all_finite": False}


class HoeffdingRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Decompose a model of bits from rows and its outputs: components of low order, by penalised regression.

    Parameters
    ----------
    order : int
        k, the largest number of features in a component. With fewer features than that, all sets of them.
    alpha : float or "cv"
        Strength of the penalty, as in scikit-learn's ElasticNet; 0 is least squares (of least total variance if it
        is not unique); "cv" chooses it by cross-validation over folds of the moments.
    l1_ratio : float
        The share of the absolute penalty.
    family : "shattered", "paper", or a list of sets
        The sets that may have a component: those of which every cell is observed, or every set up to the order, or
        those given by indices or names (with all their subsets). No set has a constant feature.
    distinct : bool
        Merge equal rows (y is averaged) and give every distinct row the same weight.
    interactions : "all" or "heredity"
        All sets of the family, or order by order only those sets all of whose subsets have a component in the fit of
        the order before (strong heredity; the penalty must have an absolute part). For orders at which all sets
        would be too many.
    max_sets : int, optional
        With heredity, the largest number of components (the mean does not count); of too many candidates those are
        taken that the residual correlates with most.
    min_count : int
        Cells with fewer rows count as not observed when sets are judged.
    scale : "raw" or "unit"
        Penalise the coefficients of psi_S, or of psi_S divided by its standard deviation, so that all have variance
        one. (Of a shattered set that is its norm; of others, psi_S need not have mean zero.)
    unseen : "zero", "nan" or "error"
        In prediction, what a component says at a cell that no training row was in. Only sets that are not shattered
        have such cells.
    binarize : float, optional
        Compare X with this threshold first. By default X must hold zeros and ones.
    cv : int, splitter, or list of (train, test) row indices
        The folds for ``alpha="cv"``, of the rows as given (with ``distinct``, as merged), also if some have weight
        zero; a number means that row i is in fold ``i % cv``.
    tol : float
        The fit stops at a duality gap of ``tol`` times the variance of y.
    max_iter : int
        Sweeps over the coefficients (or proximal steps) at most.
    n_jobs : int
        Threads for counting; -1 means all cores.

    Attributes
    ----------
    decomposition_ : Decomposition
    intercept_, coef_ : the coefficient of the empty set and of all others
    alpha_, objective_, dual_gap_, n_iter_, fidelity_ : of the fit (the worst over the outputs)
    route_ : str
        ``"gram"`` or ``"rows"``, with the reason.
    alphas_, cv_errors_ : arrays
        With ``alpha="cv"``: the values tried, and their mean squared errors on rows left out, each predicted by a fit
        to the training rows of its fold alone, with ``unseen="zero"``.
    constant_ : list of int
        Features that are constant in the data; they are in no component.
    added_ : int
        The number of sets added to close a given family downwards.
    report_ : Report
        After a fit to rows in chunks: how many rows, chunks and passes, the memory held, and the seconds of each stage.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from hoeffding import HoeffdingRegressor
    >>> X = np.random.default_rng(0).integers(0, 2, (500, 4))
    >>> y = 1 + X[:, 0] + 2 * X[:, 1] * X[:, 2]
    >>> model = HoeffdingRegressor(order=2, alpha=0).fit(X, y)
    >>> round(model.score(X, y), 6)
    1.0
    """

    def __init__(  # noqa: PLR0913  # one argument for each choice, as scikit-learn has it
        self,
        order: int = 2,
        alpha: float | Literal["cv"] = 1e-4,
        l1_ratio: float = 0.5,
        family: Any = "shattered",
        distinct: bool = False,
        *,
        interactions: Literal["all", "heredity"] = "all",
        max_sets: int | None = None,
        min_count: int = 1,
        scale: Literal["raw", "unit"] = "raw",
        unseen: Literal["zero", "nan", "error"] = "zero",
        binarize: float | None = None,
        cv: Any = 5,
        tol: float = 1e-7,
        max_iter: int = 5000,
        n_jobs: int = -1,
    ) -> None:
        self.order = order
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.family = family
        self.distinct = distinct
        self.interactions = interactions
        self.max_sets = max_sets
        self.min_count = min_count
        self.scale = scale
        self.unseen = unseen
        self.binarize = binarize
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # numbers that are binarised at a threshold lose most of what they say
        return tags

    feature_names_in_: Any  # as scikit-learn sets it, if X has names
    decomposition_: Decomposition

    # -- fitting --------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows ``X``, shape (n, d), and outputs ``y``, shape (n,) or (n, m); returns the estimator.

        ``X`` is an array, a data frame, a scipy sparse matrix (never made dense) of zeros and ones, or a BitMatrix. Or
        it is read in chunks, and let go: a path or another source of a :class:`hoeffding.Stream`, or a Dask collection;
        then columns that are not bits are encoded. Of tables, ``y`` and ``sample_weight`` may be names of columns.
        """
        self._check_parameters()
        if steps.is_chunked(X):
            return self._fit_chunks(X, y, sample_weight)
        if isinstance(y, str):
            X, y, sample_weight = steps.split_frame(X, y, sample_weight)
        rows = self._read(X, y, sample_weight, reset=True)
        self._moments: Moments | None = None
        with reporting():
            self._fit_rows(rows)
        return self._knows(rows)

    def path(
        self, X: Any, y: Any, sample_weight: Any = None, *, alphas: Iterable[float] | None = None
    ) -> list[HoeffdingRegressor]:
        """Fit for many strengths of the penalty: a fitted copy of the estimator for each, the strongest first.

        They share one reading of the rows, and each fit starts at the one before. The estimator itself is not changed.

        Parameters
        ----------
        X, y, sample_weight :
            As in :meth:`fit`.
        alphas : iterable of float, optional
            Taken from the largest to the smallest. By default 30, evenly spaced on a logarithmic scale, from where all
            coefficients are zero down to 1e-4 of that.

        Examples
        --------
        >>> import numpy as np
        >>> from hoeffding import HoeffdingRegressor
        >>> X = np.random.default_rng(0).integers(0, 2, (500, 4))
        >>> models = HoeffdingRegressor(order=2).path(X, X[:, 0] + 2 * X[:, 1] * X[:, 2], alphas=[1, 0.1, 0.01])
        >>> [(model.alpha_, int(np.count_nonzero(model.coef_))) for model in models]
        [(1.0, 1), (0.1, 4), (0.01, 4)]
        """
        if self.interactions == "heredity":
            raise ValueError("path: goes with interactions='all'; fit each alpha apart to choose sets by heredity")
        wanted = None if alphas is None else _as_alphas(alphas)
        plain = clone(self).set_params(alpha=0.0)  # which of its own the path does not use
        plain._check_parameters()
        rows = plain._read(X, y, sample_weight, reset=True)
        plain._moments = None
        models, start = [], None
        with reporting():
            problem, which = plain._problem(rows, wanted is not None and wanted[-1] == 0)
            if wanted is None:
                wanted = cross_validation.alphas_of(problem.system, plain._settings(0.0))
            for alpha in wanted.tolist():
                model = copy(plain).set_params(alpha=alpha)
                fit = problem.fit(model._settings(alpha), start)
                models.append(model._finish(fit, which, alpha)._knows(rows))
                start = fit.beta
        return models

    def _fit_chunks(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._need_rows_in_memory()
        about = {"engine": "regression", "order": self.order, "binarize": self.binarize}
        rows = steps.rows_of(X, y, sample_weight, about)
        with reporting():
            counted = steps.count(rows, self.order, binarize=self.binarize, n_jobs=self.n_jobs)
            self.fit_counted(counted)
        rows.done()
        return self

    def fit_counted(self, counted: steps.Counted) -> Self:
        """Fit to what :func:`hoeffding.steps.count` has counted in chunks."""
        self._check_parameters()
        self._need_rows_in_memory()
        self._set_features(counted.moments.n_features, counted.names)
        self._single = counted.sums.single
        self._fit_moments(counted.moments, [])
        notes = f"; {counted.notes}" if counted.notes else ""
        self.decomposition_ = replace(
            self.decomposition_,
            reason=f"{self.decomposition_.reason}; {counted.report.words}{notes}",
            encoding=counted.encoding,
            groups=() if counted.encoding is None else counted.encoding.groups,
        )
        self.report_ = counted.report
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add a chunk of rows to those seen so far and fit to all; only their moments are kept.

        The counts are exact: it does not matter how rows are cut into chunks. Rows given to :meth:`fit` or
        :meth:`fit_moments` before count as seen. Every call solves the problem; to solve it only once, add up
        :class:`~hoeffding.Moments` and call :meth:`fit_moments`.
        """
        self._check_parameters()
        self._need_rows_for("partial_fit", cv=True)
        before: Moments | None = getattr(self, "_moments", None)
        if before is None and hasattr(self, "decomposition_"):
            raise ValueError(
                f"partial_fit: the fit before kept no moments ({self.route_}); start with partial_fit on another "
                f"estimator"
            )
        rows = self._read(X, y, sample_weight, reset=before is None)
        if before is not None and len(before.offset) != rows.targets.shape[1]:
            raise ValueError(f"y: has {rows.targets.shape[1]} outputs, the chunks before had {len(before.offset)}")
        order = min(self.order, rows.bits.n_features)
        chunk = Moments.from_chunk(rows.bits, rows.targets, rows.weights, order=order, like=before, n_jobs=self.n_jobs)
        whole = chunk if before is None else before + chunk
        with reporting():
            return self._fit_moments(whole, [])

    def fit_moments(self, moments: Moments | Sequence[Moments], feature_names: Sequence[str] | None = None) -> Self:
        """Fit to rows that are known through their moments, such as sums over chunks or over machines.

        Parameters
        ----------
        moments : Moments, or several
            Counted to twice the order, as :meth:`Moments.from_chunk` does. Several are added; for ``alpha="cv"`` they
            are the folds.
        feature_names : sequence of str, optional
        """
        self._check_parameters()
        self._need_rows_for("fit_moments", cv=False)
        parts = [moments] if isinstance(moments, Moments) else list(moments)
        if not parts or (self.alpha == "cv" and len(parts) < 2):
            raise ValueError(
                f"moments: {len(parts)} given; give one or more, for alpha='cv' at least two, as the folds"
            )
        whole = sum(parts[1:], start=parts[0])
        self._set_features(whole.n_features, feature_names)
        self._single = len(whole.offset) == 1
        with reporting():
            return self._fit_moments(whole, parts)

    def _need_rows_in_memory(self) -> None:
        if self.distinct or self.alpha == "cv" or self.interactions != "all":
            raise ValueError(
                "X: is read in chunks, and its rows are let go: distinct=True and interactions='heredity' need rows in "
                "memory; for alpha='cv' count the folds with Moments.from_chunk, and give them to fit_moments"
            )

    def _need_rows_for(self, method: str, cv: bool) -> None:
        if self.distinct or (cv and self.alpha == "cv") or self.interactions != "all":
            which = "distinct, alpha='cv' and heredity" if cv else "distinct and heredity"
            raise ValueError(f"{method} keeps moments, not rows: {which} need fit")

    def _fit_moments(self, moments: Moments, folds: list[Moments]) -> Self:
        d, order = moments.n_features, min(self.order, moments.n_features)
        if moments.only is not None or moments.order < order or moments.count_order < min(2 * order, d):
            raise ValueError(
                f"moments: of order {moments.order}, counts up to {moments.count_order} features; order={self.order} "
                f"needs counts of all sets up to {2 * order}: build them with Moments.from_chunk(..., order={order})"
            )
        self._moments = moments
        self.constant_ = moments.constant.tolist()
        family, which = self._family(moments)
        require_memory(
            8.0 * low_order.GRAM_MATRICES * len(family) ** 2,
            f"the Gram matrix of {len(family)} components and what goes with it",
            "use a smaller order or a larger min_count; rows in memory are fitted without it",
        )
        route = f"gram: {len(family)} x {len(family)} from moments"
        problem = GramProblem.build(moments, family, self.n_jobs, route)
        alpha = self._choose_alpha(problem, cross_validation.folds_without(folds) if self.alpha == "cv" else [])
        return self._finish(problem.fit(self._settings(alpha)), which, alpha)

    def _fit_rows(self, rows: Rows) -> Self:
        if self.interactions == "heredity":
            alpha = float(self.alpha)
            self._find_constant(rows)
            order = min(self.order, rows.bits.n_features)
            fit = heredity.grow(rows, order, self.min_count, self.max_sets, self._settings(alpha))
            return self._finish(fit, "sets by heredity", alpha)
        problem, which = self._problem(rows, self.alpha in ("cv", 0))
        if isinstance(problem, GramProblem) and not self.distinct:
            self._moments = problem.moments
        folds = []
        if self.alpha == "cv":
            folds = cross_validation.folds_of(self.cv, rows, problem.moments, self.n_jobs)
        alpha = self._choose_alpha(problem, folds)
        return self._finish(problem.fit(self._settings(alpha)), which, alpha)

    def _problem(self, rows: Rows, direct: bool) -> tuple[GramProblem | RowsProblem, str]:
        """The least-squares problem, by the cheaper route, and which sets it has; ``direct`` takes the Gram matrix."""
        self._find_constant(rows)
        d = rows.bits.n_features
        order = min(self.order, d)
        few = sum(comb(d, s) for s in range(2 * order + 1)) <= FEW_SETS
        moments = self._count(rows, order, 2 * order if few else order)
        family, which = self._family(moments)
        at_most = int(moments.counts[: len(moments.low)].sum())  # integer weights are at least one
        route = low_order.choose_route(len(family), rows.bits.n_rows, at_most, direct)

        @cache
        def gram() -> GramProblem:
            whole = moments if few else self._count(rows, order, 2 * order)
            return GramProblem.build(whole, family, self.n_jobs, route.reason)

        if not route.rows:
            return gram(), which
        reserve = gram if route.gram_in_reserve else None
        return RowsProblem.build(rows, moments, family, self.n_jobs, route.reason, reserve), which

    def _knows(self, rows: Rows) -> Self:
        self.decomposition_ = replace(self.decomposition_, rows=WeightedRows(rows.bits, rows.weights))
        return self

    def _find_constant(self, rows: Rows) -> None:
        ones = rows.bits.ones()
        self.constant_ = np.flatnonzero((ones == 0) | (ones == rows.bits.n_rows)).tolist()

    def _count(self, rows: Rows, order: int, count_order: int) -> Moments:
        say(f"Counting sets of up to {count_order} of {rows.bits.n_features} bits")
        return Moments.from_chunk(
            rows.bits, rows.targets, rows.weights, order=order, count_order=count_order, n_jobs=self.n_jobs
        )

    def _settings(self, alpha: float) -> Settings:
        return Settings(alpha, self.l1_ratio, self.scale, self.tol, self.max_iter, self.n_jobs)

    def _choose_alpha(self, problem: GramProblem | RowsProblem, folds: list[cross_validation.Fold]) -> float:
        if self.alpha != "cv":
            return float(self.alpha)
        settings = self._settings(0.0)
        alphas = cross_validation.alphas_of(problem.system, settings)
        family = problem.basis.family
        path = cross_validation.path(alphas, folds, lambda train: self._family_in_fold(family, train), settings)
        self.alphas_, self.cv_errors_ = path.alphas, path.errors
        if path.failed.any():
            warnings.warn(
                f"cross-validation: {path.failed.sum()} of {len(alphas) * len(folds)} fits did not converge, all with "
                f"alpha at most {alphas[path.failed > 0].max():.1e}: increase max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )
        return path.best

    # -- which sets -----------------------------------------------------------------------------------------------

    def _family(self, moments: Moments) -> tuple[SubsetFamily, str]:
        """The sets that may have a component, and in words which these are; none has a constant feature."""
        d, order = moments.n_features, min(self.order, moments.n_features)
        self.added_ = 0
        if isinstance(self.family, str) and self.family == "shattered":
            return moments.shattered(order, self.min_count), "shattered sets"
        varying = np.setdiff1d(np.arange(d), self.constant_).astype(index_dtype(d))
        if isinstance(self.family, str):
            chosen = SubsetFamily.up_to_order(len(varying), min(order, len(varying)))
            return SubsetFamily(d, tuple(varying[level] for level in chosen.levels)), "all sets"
        given = SubsetFamily.from_subsets(d, [feature_indices("family", s, self._names) for s in self.family])
        if given.order > order:
            raise ValueError(f"family: has a set of {given.order} features, order={self.order} allows {order}")
        closed = SubsetFamily.from_subsets(d, [(), *given]).closure()
        self.added_ = len(closed) - len(given)
        kept = np.concatenate([np.isin(level, varying).all(axis=1) for level in closed.levels])
        words = [f"{len(given)} sets given", f"{self.added_} added to close them downwards"]
        words += [f"{len(closed) - kept.sum()} with constant features left out"] if not kept.all() else []
        return closed.select(kept), ", ".join(words)

    def _family_in_fold(self, whole: SubsetFamily, train: Moments) -> SubsetFamily:
        """The sets that a fit to the training rows of a fold would have, where a fit to all rows has ``whole``."""
        if isinstance(self.family, str) and self.family == "shattered":
            own = train.shattered(min(self.order, train.n_features), self.min_count)
        else:
            varying = [~np.isin(level, train.constant).any(axis=1) for level in whole.levels]
            own = whole.select(np.concatenate(varying))
        return whole if own == whole else own  # which knows where its subsets are

    @property
    def _names(self) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", None)
        return as_feature_names(None, self.n_features_in_) if names is None else tuple(map(str, names))

    # -- what a fit leaves behind ---------------------------------------------------------------------------------

    def _finish(self, fit: Fit, which: str, alpha: float) -> Self:
        system, beta, solutions = fit.system, fit.beta, fit.solutions
        explained = (beta * fit.covariances).sum(axis=0)
        rest2 = np.maximum(system.yy - 2 * (beta * system.m).sum(axis=0) + explained, 0.0)
        varies = system.yy > (16 * np.finfo(float).eps * np.abs(system.y_mean)) ** 2
        fidelity = np.where(varies, 1 - np.divide(rest2, system.yy, out=np.zeros_like(rest2), where=varies), 1.0)
        intercept = system.y_mean - system.mean @ beta
        shape = () if self._single else (len(intercept),)

        def shaped(a: FloatArray) -> FloatArray:
            return np.ascontiguousarray(a).reshape(*a.shape[:-1], *shape)

        def with_mean(a: FloatArray) -> FloatArray:  # whose component does not vary
            return shaped(np.concatenate([np.zeros((1, a.shape[1])), a]))

        self.route_, self.alpha_ = fit.route, alpha
        self.n_iter_, self.dual_gap_ = max(1, *(s.n_iter for s in solutions)), max(s.gap for s in solutions)
        self.objective_ = float(sum(s.objective for s in solutions))
        self.fidelity_ = float(fidelity.min())
        self.intercept_, self.coef_ = shaped(intercept[None])[0], shaped(beta)
        structural, total = beta**2 * system.norm2[:, None], beta * fit.covariances
        unique = "" if fit.unique else ", not known to be the only minimum" if alpha else ", of least total variance"
        self.decomposition_ = Decomposition(
            measure=Counted(fit.moments, distinct=self.distinct),
            family=fit.basis.family,
            coefficients=shaped(np.concatenate([intercept[None], beta])),
            engine="regression",
            reason=f"order {self.order}, {which}, alpha={alpha:g}, l1_ratio={self.l1_ratio:g}, {fit.route}{unique}",
            unique=fit.unique,
            remainder=float(np.sqrt(rest2.max())),
            fidelity=self.fidelity_,
            feature_names=self._names,
            n_jobs=self.n_jobs,
            unseen=self.unseen,
            fitted_variance=Variance(
                with_mean(structural),
                with_mean(total - structural),
                with_mean(total),
                np.asarray(shaped(explained[None])[0]),
            ),
        )
        self._warn_unless_converged(fit)
        return self

    def _warn_unless_converged(self, fit: Fit) -> None:
        if all(s.converged for s in fit.solutions):
            return
        worst, yy = max(zip(fit.solutions, fit.system.yy.tolist(), strict=True), key=lambda s: s[0].gap / s[1])
        warnings.warn(
            f"the fit stopped after {worst.n_iter} iterations at a duality gap of {worst.gap:.2e}, the goal was "
            f"{self.tol * yy:.2e}: increase max_iter or alpha, or be content with tol={2 * worst.gap / yy:.0e}",
            ConvergenceWarning,
            stacklevel=5,
        )

    # -- using ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> FloatArray:
        """The sum of the components at rows ``X``: shape (n,) or (n, m); of a Dask collection a lazy array."""
        check_is_fitted(self, "decomposition_")
        return self.decomposition_.predict(X if is_dask(X) else self._bits(X))

    # -- reading --------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if self.alpha != "cv" and not (_is_number(self.alpha) and 0 <= self.alpha < np.inf):
            raise ValueError(f"alpha={self.alpha!r}: must be a finite number, at least 0, or 'cv'")
        if not (_is_number(self.tol) and 0 <= self.tol < np.inf):
            raise ValueError(f"tol={self.tol!r}: must be a finite number, at least 0")
        if not (_is_number(self.l1_ratio) and 0 <= self.l1_ratio <= 1):
            raise ValueError(f"l1_ratio={self.l1_ratio!r}: must lie between 0 and 1")
        if self.binarize is not None and not (_is_number(self.binarize) and np.isfinite(self.binarize)):
            raise ValueError(f"binarize={self.binarize!r}: must be a finite number, or None for X of zeros and ones")
        for name, allowed in (
            ("scale", ("raw", "unit")),
            ("unseen", ("zero", "nan", "error")),
            ("interactions", ("all", "heredity")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be one of {', '.join(map(repr, allowed))}")
        if not isinstance(self.distinct, bool | np.bool_):
            raise ValueError(f"distinct={self.distinct!r}: must be True or False")
        self._check_heredity()
        for name, least in (("order", 1), ("min_count", 1), ("max_iter", 1)):
            as_count(name, getattr(self, name), least)
        self._check_family()
        if self.alpha == "cv":
            self._check_cv()

    def _check_family(self) -> None:
        text = isinstance(self.family, str)
        if (text and self.family not in ("shattered", "paper")) or not isinstance(self.family, Iterable):
            raise ValueError(f"family={self.family!r}: must be 'shattered', 'paper', or a list of sets of features")
        if self.min_count > 1 and not (text and self.family == "shattered"):
            raise ValueError(f"min_count={self.min_count}: goes with family='shattered', not family={self.family!r}")

    def _check_heredity(self) -> None:
        if self.interactions == "all":
            if self.max_sets is not None:
                raise ValueError(f"max_sets={self.max_sets!r}: a budget goes with interactions='heredity'")
            return
        if self.alpha in (0, "cv") or self.l1_ratio == 0:
            raise ValueError(
                "interactions='heredity': needs alpha > 0 (a number) and l1_ratio > 0, so that components can be zero"
            )
        if not isinstance(self.family, str) or self.family != "shattered":
            raise ValueError(f"interactions='heredity': goes with family='shattered', not {self.family!r}")
        if self.max_sets is not None:
            as_count("max_sets", self.max_sets, least=1)

    def _check_cv(self) -> None:
        if isinstance(self.cv, int | np.integer):
            as_count("cv", self.cv, least=2)
        elif isinstance(self.cv, str) or not (hasattr(self.cv, "split") or isinstance(self.cv, Iterable)):
            raise ValueError(f"cv={self.cv!r}: must be a number of folds, a splitter, or (train, test) row indices")
        elif self.distinct and not hasattr(self.cv, "split"):
            raise ValueError("cv: row indices do not go with distinct=True, which merges rows; give a number of folds")

    def _read(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Rows:
        if isinstance(X, BitMatrix):
            bits, y = self._take(X, reset), as_targets(y, X.n_rows)
        else:
            refuse_columns(X, "X")
            refuse_masked("y", y)
            _refuse_missing(y)
            X, y = validate_data(self, X, y, reset=reset, multi_output=True, y_numeric=True, **READING)
            bits = self._pack(X)
        targets = np.asarray(y, np.float64)
        self._single = targets.ndim == 1
        targets = targets.reshape(len(targets), -1)
        spread = np.ptp(targets, axis=0)
        if ((spread > 0) & ~((SPREAD[0] < spread) & (spread < SPREAD[1]))).any():
            raise ValueError(
                f"y: values differ by {spread.max():.0e}, but squares are summed: scale y so that its values differ by "
                f"something between {SPREAD[0]:.0e} and {SPREAD[1]:.0e}"
            )
        weights = None if sample_weight is None else as_weights("sample_weight", sample_weight, bits.n_rows)
        if self.distinct:
            if weights is not None:
                raise ValueError(
                    "sample_weight: not possible with distinct=True, which gives all distinct rows one weight"
                )
            bits, inverse = bits.distinct()
            counts = np.bincount(inverse)
            means = [np.bincount(inverse, column) / counts for column in targets.T]
            return Rows(bits, np.stack(means, axis=1), None)
        if weights is not None and not weights.all():  # rows of weight zero are not there
            there = np.flatnonzero(weights)
            return Rows(bits.take(there), targets[there], weights[there], Given(there, targets))
        return Rows(bits, targets, weights)

    def _bits(self, X: Any) -> BitMatrix:
        if isinstance(X, BitMatrix):
            return self._take(X, reset=False)
        if self.decomposition_.encoding is not None:
            return self.decomposition_.encoding.transform(X)
        refuse_columns(X, "X")
        return self._pack(validate_data(self, X, reset=False, **READING))

    def _take(self, bits: BitMatrix, reset: bool) -> BitMatrix:
        """Bits that are packed already; they have no names."""
        if self.binarize is not None:
            raise ValueError(f"binarize={self.binarize!r}: X is a BitMatrix, which holds bits already")
        if reset:
            self._set_features(bits.n_features, None)
        if bits.n_features != self.n_features_in_:
            raise ValueError(f"X has {bits.n_features} features, but {self.n_features_in_} were seen in fit")
        return bits

    def _set_features(self, d: int, names: Sequence[str] | None) -> None:
        """As scikit-learn does it for arrays and data frames."""
        self.n_features_in_ = d
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if names is not None:
            self.feature_names_in_ = np.array(as_feature_names(names, d), object)

    def _pack(self, X: Any) -> BitMatrix:
        labels = getattr(self, "feature_names_in_", ())
        if self.binarize is not None:
            return BitMatrix.above(X, self.binarize, labels=labels)
        return BitMatrix.from_rows(X, labels=labels, way_out="binarize=t compares all columns with a threshold t")


def _as_alphas(alphas: Iterable[float]) -> FloatArray:
    """From the largest to the smallest."""
    out = np.sort(as_real("alphas", list(alphas)))[::-1]
    if out.ndim != 1 or not out.size or not (np.isfinite(out) & (out >= 0)).all():
        raise ValueError(f"alphas={out.tolist()!r}: must be finite numbers, at least 0, and at least one of them")
    return out


def _refuse_missing(y: Any) -> None:
    """Say in which rows of y there is no number; what else y may be is for scikit-learn to judge."""
    values = np.asarray(y)
    if values.dtype.kind == "f" and values.ndim in {1, 2} and not np.isfinite(values).all():
        wrong = np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
        raise ValueError(
            f"y: NaN or infinity (inf) in {len(wrong)} of {len(values)} rows, the first is row {wrong[0]}; drop these "
            f"rows of X and y, or fill in what is missing"
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
