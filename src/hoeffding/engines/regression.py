r"""The regression engine: any black box, order at most k, penalised least squares from counts.

.. math:: \min_\beta \tfrac{1}{2n} \| y - \Psi \beta \|^2
    + \alpha \bigl(\lambda \|\beta\|_1 + \tfrac{1-\lambda}{2} \|\beta\|_2^2\bigr)

over the sets of at most k features, the coefficient of the empty set not penalised. The rows are bit-packed and
counted; no design matrix is made. Then one of two routes, whose results agree: the Gram matrix from the counts
(:mod:`~hoeffding.engines.gram`), or sparse products with the rows (:mod:`~hoeffding.engines.matrix_free`) if these are
cheaper or the matrix would not fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import comb
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from hoeffding.bits import BitMatrix, WeightedRows, merge_rows
from hoeffding.checks import as_count, as_order, as_targets, as_weights
from hoeffding.decomposition import Decomposition
from hoeffding.engines import matrix_free, solvers
from hoeffding.engines.gram import Basis, System, monomial_gram, system_of
from hoeffding.engines.matrix_free import Operator
from hoeffding.engines.solvers import Problem, Solution
from hoeffding.machine import NEGLIGIBLE, available_memory, n_threads, readable_bytes
from hoeffding.moments import Counted, Moments
from hoeffding.progress import reporting, say
from hoeffding.sensitivity import Variance
from hoeffding.subsets import SubsetFamily, grow_candidates

FloatArray = npt.NDArray[np.float64]

GRAM_MATRICES = 4  # of r x r numbers, held at the same time by the Gram route
FEW_SETS = 200_000  # so many sets are counted at once, more only if the Gram route is taken
N_ALPHAS = 30
ALPHA_RANGE = 1e-4  # the smallest alpha tried by cross-validation, over the one that sets all coefficients to zero


@dataclass(frozen=True, eq=False)
class Penalty:
    """The elastic net on raw coefficients, or on those of unit-variance components."""

    alpha: float
    l1_ratio: float
    scale: Literal["raw", "unit"]

    def of(self, norm2: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The absolute and the quadratic penalty of each coefficient, from the squared norms of psi."""
        unit = np.ones_like(norm2) if self.scale == "raw" else norm2
        return self.alpha * self.l1_ratio * np.sqrt(unit), self.alpha * (1 - self.l1_ratio) * unit


@dataclass(frozen=True, eq=False)
class Residual:
    """What a fit leaves of the targets, shape ``(n_rows, m)``, at the rows it was fitted to."""

    bits: BitMatrix
    weights: FloatArray | None
    values: FloatArray


class HoeffdingRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Decompose a model of bits from rows and its outputs: components of low order, by penalised regression.

    Parameters
    ----------
    order : int
        k, the largest number of features in a component.
    alpha : float or "cv"
        Strength of the penalty, as in scikit-learn's ElasticNet; 0 is least squares (of least total variance if it
        is not unique); "cv" chooses it by cross-validation over folds of the moments.
    l1_ratio : float
        The share of the absolute penalty.
    family : "shattered", "paper", or a list of sets
        The sets that may have a component: those of which every cell is observed, or every set up to the order, or
        those given by indices or names (with all their subsets).
    distinct : bool
        Merge equal rows (y is averaged) and give every distinct row the same weight.
    interactions : "all" or "heredity"
        All sets of the family, or order by order only those sets all of whose subsets have a component in the fit of
        the order before (strong heredity; the penalty must have an absolute part). For orders at which all sets
        would be too many.
    max_sets : int, optional
        With heredity, the largest number of components; of too many candidates those are taken that the residual
        correlates with most.
    min_count : int
        Cells with fewer rows count as not observed when sets are judged.
    scale : "raw" or "unit"
        Penalise the coefficients of psi_S, or of psi_S divided by its norm.
    unseen : "zero", "nan" or "error"
        In prediction, what a component says at a cell that no training row was in. Only sets that are not shattered
        have such cells.
    binarize : float, optional
        Compare X with this threshold first. By default X must hold zeros and ones.
    cv : int, splitter, or list of (train, test) row indices
        The folds for ``alpha="cv"``; a number means that row i is in fold ``i % cv``.
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
    constant_ : list of int
        Features that are constant in the data; they are in no component.
    added_ : int
        The number of sets added to close a given family downwards.
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
        tol: float = 1e-6,
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

    decomposition_: Decomposition
    _moments: Moments  # of the chunks seen by partial_fit

    # -- fitting --------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows ``X``, shape (n, d), and outputs ``y``, shape (n,) or (n, m); returns the estimator.

        ``X`` is an array, a data frame, a scipy sparse matrix (never made dense) of zeros and ones, or a BitMatrix.
        """
        self._check_parameters()
        bits, targets, weights = self._read(X, y, sample_weight, reset=True)
        with reporting():
            self._fit_rows(bits, targets, weights)
        self.decomposition_ = replace(self.decomposition_, rows=WeightedRows(bits, weights))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Add a chunk of rows to those seen so far and fit to all; only their moments are kept."""
        self._check_parameters()
        if self.distinct or self.alpha == "cv" or self.interactions != "all":
            raise ValueError("partial_fit keeps moments, not rows: distinct, alpha='cv' and heredity need fit")
        first = not hasattr(self, "_moments")
        bits, targets, weights = self._read(X, y, sample_weight, reset=first)
        order = min(self.order, bits.n_features)
        like = None if first else self._moments
        chunk = Moments.from_chunk(bits, targets, weights, order=order, like=like, n_jobs=self.n_jobs)
        self._moments = chunk if first else self._moments + chunk
        family = self._family(self._moments)
        self.route_ = "gram: moments of chunks"
        self._solve_gram(self._moments, family)
        return self

    def _fit_rows(self, bits: BitMatrix, targets: FloatArray, weights: FloatArray | None) -> Self:
        order = min(self.order, bits.n_features)
        if self.interactions == "heredity":
            return self._fit_heredity(bits, targets, weights, order)
        few = sum(comb(bits.n_features, s) for s in range(2 * order + 1)) <= FEW_SETS
        say(f"Counting sets of up to {2 * order if few else order} of {bits.n_features} bits")
        low = Moments.from_chunk(
            bits, targets, weights, order=order, count_order=None if few else order, n_jobs=self.n_jobs
        )
        family = self._family(low)
        ones = int(low.counts[: len(low.low)].sum()) if weights is None else bits.n_rows * len(family)
        use_rows, self.route_ = self._choose_route(len(family), ones)
        if use_rows and self.alpha != "cv":
            self._solve_rows(bits, weights, targets, low, family)
            return self
        moments = low
        if low.count_order < min(2 * order, bits.n_features):
            say(f"Counting sets of up to {2 * order} of {bits.n_features} bits")
            moments = Moments.from_chunk(bits, targets, weights, order=order, n_jobs=self.n_jobs)
        alpha = self._choose_alpha(bits, targets, weights, moments, family) if self.alpha == "cv" else self.alpha
        self._solve_gram(moments, family, alpha)
        return self

    def _fit_heredity(self, bits: BitMatrix, targets: FloatArray, weights: FloatArray | None, order: int) -> Self:
        """Order by order: a set is tried only if all its subsets of one feature less have a component."""
        moments = Moments.from_chunk(bits, targets, weights, order=1, count_order=1, n_jobs=self.n_jobs)
        family = self._family(moments)
        for size in range(1, order + 1):
            self.route_ = f"rows: interactions by heredity, {len(family)} sets up to order {family.order}"
            residual, beta = self._solve_rows(bits, weights, targets, moments, family)
            if size == order or len(family.levels) <= size:
                break
            active = beta[family.starts[size] - 1 : family.starts[size + 1] - 1].any(axis=1)
            candidates = grow_candidates(family.levels[size][active])
            trial = SubsetFamily(bits.n_features, (*family.levels, candidates))
            moments = Moments.of_family(bits, trial, targets, weights, like=moments, n_jobs=self.n_jobs)
            alive = (moments.over_cells(candidates, moments.counts) >= self.min_count).all(axis=1)
            family = self._within_budget(
                SubsetFamily(bits.n_features, (*family.levels, candidates[alive])), moments, residual
            )
            moments = Moments.of_family(bits, family, targets, weights, like=moments, n_jobs=self.n_jobs)
        return self

    def _within_budget(self, family: SubsetFamily, moments: Moments, residual: Residual) -> SubsetFamily:
        """The family, of its largest sets those that the residual correlates with most if there are too many."""
        room = len(family) if self.max_sets is None else self.max_sets + 1
        if len(family) <= room:
            return family
        basis = Basis.build(moments, family)
        operator = Operator.build(residual.bits, residual.weights, moments, basis, n_threads(self.n_jobs))
        products = np.stack([operator.products(r) for r in residual.values.T], axis=1)
        score = np.abs(products).max(axis=1) / np.sqrt(basis.norms2())
        start = int(family.starts[family.order])
        best = np.argsort(-score[start - 1 :], kind="stable")[: max(room - start, 0)]
        keep = np.zeros(len(family), np.bool_)
        keep[:start] = keep[start + best] = True
        return family.select(keep)

    def _choose_route(self, r: int, ones: int) -> tuple[bool, str]:
        """Whether to work with the rows, and the reason."""
        gram_bytes = 8.0 * GRAM_MATRICES * r * r
        free = available_memory() if gram_bytes > NEGLIGIBLE else None
        direct = self.alpha == 0 or self.l1_ratio == 0
        if free is not None and gram_bytes > 0.8 * free:
            if direct or self.alpha == "cv":
                raise MemoryError(
                    f"{r} components: their Gram matrix takes {readable_bytes(gram_bytes)}, {readable_bytes(free)} are "
                    f"available; use a smaller order, a larger min_count, or alpha > 0 with l1_ratio > 0"
                )
            return True, f"rows: the Gram matrix would take {readable_bytes(gram_bytes)}"
        if not direct and ones < r * r / 2:
            return True, f"rows: {ones} ones in all monomials, fewer than the {r * r} entries of the Gram matrix"
        return False, f"gram: {r} x {r} from counts"

    def _family(self, moments: Moments) -> SubsetFamily:
        self.constant_ = moments.constant.tolist()
        self.added_ = 0
        if isinstance(self.family, str):
            if self.family == "shattered":
                return moments.shattered(moments.order, self.min_count)
            varying = [i for i in range(moments.n_features) if i not in set(self.constant_)]
            chosen = SubsetFamily.up_to_order(len(varying), min(moments.order, len(varying)))
            at = np.array(varying, chosen.levels[0].dtype if not varying else np.int64)
            dtype = moments.sets.levels[0].dtype
            return SubsetFamily(moments.n_features, tuple(at[level].astype(dtype) for level in chosen.levels))
        given = SubsetFamily.from_subsets(moments.n_features, [self._indices(s) for s in self.family])
        if given.order > moments.order:
            raise ValueError(f"family: has a set of {given.order} features, order={self.order} allows {moments.order}")
        closed = SubsetFamily.from_subsets(moments.n_features, [(), *given]).closure()
        self.added_ = len(closed) - len(given)
        return closed

    def _indices(self, subset: Iterable[int | str]) -> list[int]:
        names = list(getattr(self, "feature_names_in_", []))
        return [names.index(i) if isinstance(i, str) and i in names else i for i in subset]  # type: ignore[misc]

    # -- the two routes ---------------------------------------------------------------------------------------------

    def _solve_gram(self, moments: Moments, family: SubsetFamily, alpha: float | None = None) -> None:
        say(f"Gram matrix of {len(family)} components")
        basis = Basis.build(moments, family)
        system = System.build(moments, basis, self.n_jobs)
        penalty = Penalty(float(self.alpha if alpha is None else alpha), self.l1_ratio, self.scale)
        l1, l2 = penalty.of(np.diag(system.G))
        solutions = [
            solvers.solve(
                Problem(system.G, system.m[:, o].copy(), float(system.yy[o]), l1, l2), None, self.tol, self.max_iter
            )
            for o in range(len(system.yy))
        ]
        beta = np.stack([s.beta for s in solutions], axis=1)
        self._finish(moments, basis, system, solutions, beta, system.G @ beta, np.diag(system.G), penalty.alpha)

    def _solve_rows(
        self, bits: BitMatrix, weights: FloatArray | None, targets: FloatArray, moments: Moments, family: SubsetFamily
    ) -> tuple[Residual, FloatArray]:
        threads = n_threads(self.n_jobs)
        say(f"Listing the rows of {len(family)} components")
        basis = Basis.build(moments, family)
        system = system_of(moments, basis)
        operator = Operator.build(bits, weights, moments, basis, threads)
        norm2 = basis.norms2() - system.mean**2
        penalty = Penalty(float(self.alpha), self.l1_ratio, self.scale)
        l1, l2 = penalty.of(norm2)
        solutions, products = [], []
        for o in range(len(system.yy)):
            y = targets[:, o] - system.y_mean[o]
            solution = matrix_free.elastic_net(operator, y, l1, l2, norm2, self.tol, self.max_iter)
            solutions.append(solution)
            products.append(operator.products(operator.values(solution.beta)))
        beta = np.stack([s.beta for s in solutions], axis=1)
        self._finish(moments, basis, system, solutions, beta, np.stack(products, axis=1), norm2, penalty.alpha)
        left = [targets[:, o] - system.y_mean[o] - operator.values(beta[:, o]) for o in range(beta.shape[1])]
        return Residual(bits, weights, np.stack(left, axis=1)), beta

    def _finish(
        self,
        moments: Moments,
        basis: Basis,
        system: System,
        solutions: list[Solution],
        beta: FloatArray,
        G_beta: FloatArray,
        norm2: FloatArray,
        alpha: float,
    ) -> None:
        """Everything a fit leaves behind. ``G_beta`` are the covariances of psi_S with the fitted function."""
        explained = (beta * G_beta).sum(axis=0)
        rest2 = np.maximum(system.yy - 2 * (beta * system.m).sum(axis=0) + explained, 0.0)
        varies = system.yy > (16 * np.finfo(float).eps * np.abs(system.y_mean)) ** 2
        fidelity = np.where(varies, 1 - np.divide(rest2, system.yy, out=np.zeros_like(rest2), where=varies), 1.0)
        intercept = system.y_mean - system.mean @ beta
        coefficients = np.concatenate([intercept[None], beta])
        total = np.concatenate([np.zeros((1, len(intercept))), beta * G_beta])
        structural = np.concatenate([np.zeros((1, len(intercept))), beta**2 * norm2[:, None]])
        shape = () if self._single else (len(intercept),)

        def shaped(a: FloatArray) -> FloatArray:
            return np.ascontiguousarray(a).reshape(*a.shape[:-1], *shape)

        worst = max(solutions, key=lambda s: s.gap)
        self.alpha_, self.n_iter_, self.dual_gap_ = alpha, max(1, *(s.n_iter for s in solutions)), worst.gap
        self.objective_ = float(sum(s.objective for s in solutions))
        self.fidelity_ = float(fidelity.min())
        self.intercept_, self.coef_ = shaped(intercept[None])[0], shaped(beta)
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(moments.n_features)])
        self.decomposition_ = Decomposition(
            measure=Counted(moments, distinct=self.distinct),
            family=basis.family,
            coefficients=shaped(coefficients),
            engine="regression",
            reason=f"order {self.order}, alpha={alpha:g}, l1_ratio={self.l1_ratio:g}, {self.route_}",
            unique=all(s.rank is None or s.rank == len(beta) for s in solutions),
            remainder=float(np.sqrt(rest2.max())),
            fidelity=self.fidelity_,
            feature_names=tuple(f"x{i}" for i in range(moments.n_features))
            if names is None
            else tuple(map(str, names)),
            n_jobs=self.n_jobs,
            unseen=self.unseen,
            fitted_variance=Variance(
                shaped(structural), shaped(total - structural), shaped(total), np.asarray(shaped(explained[None])[0])
            ),
        )
        if not all(s.converged for s in solutions):
            goal = self.tol * float(system.yy.max())
            warnings.warn(
                f"the fit stopped after {self.n_iter_} iterations at a duality gap of {worst.gap:.2e}, the goal was "
                f"{goal:.2e}: increase max_iter or alpha, or be content with tol={2 * worst.gap / system.yy.max():.0e}",
                ConvergenceWarning,
                stacklevel=4,
            )

    # -- cross-validation -------------------------------------------------------------------------------------------

    def _choose_alpha(
        self, bits: BitMatrix, targets: FloatArray, weights: FloatArray | None, moments: Moments, family: SubsetFamily
    ) -> float:
        """The alpha of least squared error over the folds; every fold is a sum of rows taken away from all."""
        rows = bits.to_rows()

        def part(at: npt.NDArray[np.intp]) -> Moments:
            w = None if weights is None else weights[at]
            return Moments.from_chunk(rows[at], targets[at], w, like=moments, n_jobs=self.n_jobs)

        if isinstance(self.cv, int | np.integer):
            if self.cv > bits.n_rows:
                raise ValueError(f"cv={self.cv!r}: more folds than rows, of which there are {bits.n_rows}")
            held_out = [part(np.arange(k, bits.n_rows, self.cv)) for k in range(self.cv)]
            folds = [(moments - fold, fold) for fold in held_out]
        else:
            splits = self.cv.split(rows, targets) if hasattr(self.cv, "split") else self.cv
            folds = [(part(np.asarray(train)), part(np.asarray(test))) for train, test in splits]
        system = System.build(moments, Basis.build(moments, family), self.n_jobs)
        start = self._largest_alpha(system)
        alphas = np.geomspace(start, start * ALPHA_RANGE, N_ALPHAS)
        errors = sum(self._path_errors(train, test, family, alphas) for train, test in folds)
        self.cv_errors_ = np.asarray(errors) / sum(test.total for _, test in folds)
        self.alphas_ = alphas
        return float(alphas[np.argmin(self.cv_errors_)])

    def _largest_alpha(self, system: System) -> float:
        """Where all coefficients are zero (for a pure ridge, where they are small)."""
        unit = np.ones(len(system.G)) if self.scale == "raw" else np.diag(system.G)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(unit > 0, np.abs(system.m).max(axis=1) / np.sqrt(unit), 0.0)
        return float(ratio.max(initial=0.0)) / max(self.l1_ratio, 1e-3) or 1.0

    def _path_errors(self, train: Moments, held_out: Moments, family: SubsetFamily, alphas: FloatArray) -> FloatArray:
        """Summed squared errors on the held-out rows, from their moments, for each alpha (warm starts)."""
        basis = Basis.build(train, family)
        system = System.build(train, basis, self.n_jobs)
        M = monomial_gram(held_out, basis.monomials, self.n_jobs) * held_out.total
        t = held_out.targets_of(basis.monomials)
        out = np.zeros(len(alphas))
        for o in range(len(system.yy)):
            beta = None
            for a, alpha in enumerate(alphas):
                l1, l2 = Penalty(float(alpha), self.l1_ratio, self.scale).of(np.diag(system.G))
                problem = Problem(system.G, system.m[:, o].copy(), float(system.yy[o]), l1, l2)
                beta = solvers.solve(problem, beta, self.tol, self.max_iter).beta
                intercept = system.y_mean[o] - system.mean @ beta - held_out.offset[o]
                c = np.asarray(basis.A @ np.concatenate([[intercept], beta]))
                out[a] += held_out.squares[o] - 2 * c @ t[:, o] + c @ (M @ c)
        return out

    # -- using ----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> FloatArray:
        """The sum of the components at rows ``X``: shape (n,) or (n, m)."""
        check_is_fitted(self, "decomposition_")
        return self.decomposition_.predict(self._bits(X, reset=False).to_rows())

    # -- reading --------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if self.alpha != "cv" and not (isinstance(self.alpha, int | float | np.number) and 0 <= self.alpha < np.inf):
            raise ValueError(f"alpha={self.alpha!r}: must be a finite number, at least 0, or 'cv'")
        if not (isinstance(self.tol, int | float | np.number) and 0 <= self.tol < np.inf):
            raise ValueError(f"tol={self.tol!r}: must be a finite number, at least 0")
        if not 0 <= self.l1_ratio <= 1:
            raise ValueError(f"l1_ratio={self.l1_ratio!r}: must lie between 0 and 1")
        if isinstance(self.family, str) and self.family not in ("shattered", "paper"):
            raise ValueError(f"family={self.family!r}: must be 'shattered', 'paper', or a list of sets of features")
        for name, allowed in (
            ("scale", ("raw", "unit")),
            ("unseen", ("zero", "nan", "error")),
            ("interactions", ("all", "heredity")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name}={getattr(self, name)!r}: must be one of {', '.join(map(repr, allowed))}")
        self._check_heredity()
        for name, least in (("order", 1), ("min_count", 1), ("max_iter", 1), ("cv", 2)):
            if name == "cv" and not isinstance(self.cv, int | np.integer):
                continue
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ValueError(f"{name}={value!r}: must be an integer, at least {least}")

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

    def _read(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> tuple[BitMatrix, FloatArray, FloatArray | None]:
        if isinstance(X, BitMatrix):
            bits, y = self._take(X, reset), as_targets(y, X.n_rows)
        else:
            X, y = validate_data(
                self,
                X,
                y,
                reset=reset,
                dtype="numeric",
                accept_sparse=("csr", "csc"),
                multi_output=True,
                y_numeric=True,
            )
            bits = self._pack(X)
        if reset:
            as_order(min(self.order, bits.n_features), bits.n_features)
        targets = np.asarray(y, np.float64)
        self._single = targets.ndim == 1
        targets = targets.reshape(len(targets), -1)
        weights = None if sample_weight is None else as_weights("sample_weight", sample_weight, bits.n_rows)
        if not self.distinct:
            return bits, targets, weights
        if weights is not None:
            raise ValueError("sample_weight: not possible with distinct=True, which gives all distinct rows one weight")
        rows, inverse = merge_rows(bits.to_rows())
        counts = np.bincount(inverse)
        means = [np.bincount(inverse, column) / counts for column in targets.T]
        return BitMatrix.from_rows(rows), np.stack(means, axis=1), None

    def _take(self, bits: BitMatrix, reset: bool) -> BitMatrix:
        """Bits that are packed already; they have no names."""
        if self.binarize is not None:
            raise ValueError(f"binarize={self.binarize!r}: X is a BitMatrix, which holds bits already")
        if reset:
            self.n_features_in_ = bits.n_features
        if bits.n_features != self.n_features_in_:
            raise ValueError(f"X has {bits.n_features} features, but {self.n_features_in_} were seen in fit")
        return bits

    def _bits(self, X: Any, reset: bool) -> BitMatrix:
        if isinstance(X, BitMatrix):
            return self._take(X, reset)
        return self._pack(validate_data(self, X, reset=reset, dtype="numeric", accept_sparse=("csr", "csc")))

    def _pack(self, X: Any) -> BitMatrix:
        if self.binarize is not None:
            X = self.binarize < X
        labels = getattr(self, "feature_names_in_", ())
        return BitMatrix.from_rows(X, labels=labels, way_out="binarize=t compares all columns with a threshold t")
