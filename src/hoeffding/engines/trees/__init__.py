"""Models made of decision trees, read from the libraries that grow them and checked against their own answers.

``read_ensemble`` turns a fitted model into an :class:`Ensemble`. A library is imported only when one of its models
is met.
"""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import data_frame
from hoeffding.engines.trees import catboost, lightgbm, sklearn, xgboost
from hoeffding.engines.trees.ensemble import Ensemble, FloatArray, NotASumOfTreesError
from hoeffding.engines.trees.rows import read_rows

READERS: tuple[ModuleType, ...] = (sklearn, xgboost, lightgbm, catboost)
OUTPUTS = ("prediction", "probability", "margin")
CHECKED_CLOSELY = 128  # rows at which every tree is followed
CHUNK = 2**16  # rows that are checked at a time
LINK_ROUNDOFF = 64  # units in the last place that a library may lose between its sum and its answer


def is_tree_model(model: Any) -> bool:
    """Whether ``model`` is an ensemble of trees that can be read, or a pipeline whose last step is one."""
    return find_reader(last_step(model)) is not None


def last_step(model: Any) -> Any:
    """The model at the end of a scikit-learn pipeline; any other model itself."""
    pipeline = any(c.__module__.split(".")[0] == "sklearn" and c.__name__ == "Pipeline" for c in type(model).__mro__)
    return last_step(model.steps[-1][1]) if pipeline else model


def find_reader(model: Any) -> ModuleType | None:
    """The module that reads this kind of model, or None."""
    return next((reader for reader in READERS if reader.matches(model)), None)


def supported_models() -> str:
    """The kinds of models that are read, in words."""
    return "; ".join(reader.SUPPORTED for reader in READERS)


def read_ensemble(model: Any, X: Any, *, output: str | None = None) -> Ensemble:
    """Read a fitted model of trees and check the result against the model's own answers at the rows ``X``.

    Parameters
    ----------
    model : fitted model
        See ``READERS`` for the libraries; no pipeline (transform X by its first steps and pass the last).
    X : array or data frame, shape (n, d)
        Rows with the columns that the model was trained on.
    output : {"prediction", "probability", "margin"}, optional
        What the sum of the trees must be; by default whatever it is.

    Raises
    ------
    TypeError
        The model is of no supported kind.
    NotASumOfTreesError
        Another output than the one that the trees add up to is asked for.
    ValueError
        The sum of the trees is not what the model answers.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> read_ensemble(DecisionTreeRegressor().fit(X, [0, 0, 0, 1]), X)
    Ensemble(1 trees, 5 nodes, 2 features, one output: prediction)
    """
    ensemble = read_model(model, X, output)
    rows = read_rows(ensemble, X)
    some = evenly(len(rows), CHECKED_CLOSELY)
    _compare_closely(ensemble, rows, some, answers(ensemble, model, X, rows, some))
    return ensemble


def read_model(model: Any, X: Any, output: str | None) -> Ensemble:
    """Read a fitted model of trees, for rows ``X``; what was read is to be checked with :func:`check_sums`."""
    reader = find_reader(model)
    if reader is None:
        raise TypeError(
            f"model: {type(model).__name__} is not read as a sum of trees; supported are {supported_models()}. "
            f"For any other model use engine='regression', or pass a callable"
        )
    ensemble: Ensemble = reader.read(model, X)
    _check_output(ensemble, output)
    return ensemble


def _check_output(ensemble: Ensemble, output: str | None) -> None:
    if output is not None and output not in OUTPUTS:
        raise ValueError(
            f"output={output!r}: must be one of {', '.join(OUTPUTS)}, or None for what the trees add up to"
        )
    given = ensemble.output.split()[0]
    if output not in (None, given) and (given, output) != ("prediction", "margin"):  # the same where there is no link
        raise NotASumOfTreesError(
            f"output={output!r}: the trees of this model add up to its {ensemble.output}; its {output} is no sum of "
            f"trees. Leave output=None, or use engine='regression', which takes any output"
        )


def check_sums(
    ensemble: Ensemble, given: tuple[Any, Any], rows: FloatArray, ours: FloatArray, at: npt.NDArray[np.intp]
) -> None:
    """Compare sums of the leaves, however computed, with what the model says, and refuse the model if they differ.

    At some of the rows, evenly spaced, the trees are followed one by one as well, which gives a narrower bound on what
    rounding can do.

    Parameters
    ----------
    given : the model, and the rows as the user gave them
    rows : (n, n_features), as :func:`read_rows` gives them
    ours : (n, m), at all rows
    at : the rows to compare
    """
    model, X = given
    starts = ensemble.tree_starts[:-1]
    largest = np.maximum.reduceat(np.abs(ensemble.value), starts) if len(starts) else np.zeros((0, ours.shape[1]))
    of_sums = np.abs(ensemble.base) + largest.sum(axis=0)  # no partial sum is larger
    allowed = ensemble.roundoff * ((ensemble.n_trees + LINK_ROUNDOFF) * of_sums + LINK_ROUNDOFF)
    closely = at[evenly(len(at), CHECKED_CLOSELY)]
    for a in range(0, len(at), CHUNK):
        part = at[a : a + CHUNK]
        theirs = answers(ensemble, model, X, rows, part)
        _refuse_difference(ours[part], theirs, np.broadcast_to(allowed, theirs.shape), part)
        near = np.isin(part, closely)
        _compare_closely(ensemble, rows, part[near], theirs[near])


def answers(ensemble: Ensemble, model: Any, X: Any, rows: FloatArray, part: npt.NDArray[np.intp]) -> FloatArray:
    """What the model itself says at the rows ``part``, ``(n_part, m)``."""
    reader = find_reader(model)
    assert reader is not None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X (does not have|has) (valid )?feature names", category=UserWarning)
        as_given = bool(ensemble.levels) or hasattr(X, "tocsc")
        theirs: FloatArray = reader.answers(model, _rows_at(X, part) if as_given else rows[part])
    if theirs.shape[1] != len(ensemble.base):
        raise ValueError(
            f"model: answers with {theirs.shape[1]} outputs where its trees have {len(ensemble.base)}; outputs of this "
            f"shape are not supported, use engine='regression' or pass a callable"
        )
    return theirs


def evenly(n: int, most: int) -> npt.NDArray[np.intp]:
    """At most so many of ``n`` rows, evenly spaced."""
    if n == 0:
        raise ValueError("X: no rows; the model is checked on real rows, at least one is needed")
    return np.unique(np.linspace(0, n - 1, min(most, n)).astype(np.intp))


def _compare_closely(ensemble: Ensemble, rows: FloatArray, part: npt.NDArray[np.intp], theirs: FloatArray) -> None:
    """Follow every tree at the rows ``part``.

    Adding up T leaves loses at most one unit roundoff of each partial sum, in the library's arithmetic; see
    Higham, *Accuracy and Stability of Numerical Algorithms*, section 4.2.
    """
    ours, allowed = _sums(ensemble, rows[part])
    _refuse_difference(ours, theirs, allowed, part)


def _rows_at(X: Any, part: npt.NDArray[np.intp]) -> Any:
    if hasattr(X, "tocsc"):
        return X.tocsr()[part]
    frame = data_frame(X)
    return np.asarray(X)[part] if frame is None else frame[part.tolist()].to_native()


def _sums(ensemble: Ensemble, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The sums at rows and a bound on how far rounding can take the library from them, both ``(n, m)``."""
    total = np.tile(ensemble.base, (len(rows), 1))
    sizes = LINK_ROUNDOFF * np.abs(total)
    for sums in ensemble.partial_sums(rows):
        total = sums[-1]
        sizes += np.abs(sums).sum(axis=0)
    return total, ensemble.roundoff * (sizes + LINK_ROUNDOFF * (1 + np.abs(total)))


def _refuse_difference(ours: FloatArray, theirs: FloatArray, allowed: FloatArray, part: npt.NDArray[np.intp]) -> None:
    difference = np.abs(ours - theirs)
    wrong = ~(difference <= allowed)
    if not wrong.any():
        return
    row, k = np.unravel_index(np.argmax(np.where(np.isnan(difference), np.inf, difference)), difference.shape)
    raise ValueError(
        f"model: its trees add up to {ours[row, k]:.17g} at row {part[row]} of X, where the model itself says "
        f"{theirs[row, k]:.17g}: a difference of {difference[row, k]:.3g}, of which {allowed[row, k]:.1g} is rounding. "
        f"This model is not read correctly; use engine='regression' or pass a callable, and please report its settings"
    )
