"""The values of a model at rows: of an array, a function, or an estimator with the methods of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.checks import as_real

FloatArray = npt.NDArray[np.float64]

METHODS = {"prediction": "predict", "probability": "predict_proba", "margin": "decision_function"}


@dataclass(frozen=True, eq=False)
class Values:
    """What a model says at rows.

    Attributes
    ----------
    at_rows : (n, m) float64
    single : bool
        A single output has no output axis.
    names : tuple of str or None
        Of the outputs.
    words : str
        What the numbers are.
    """

    at_rows: FloatArray
    single: bool
    names: tuple[str, ...] | None
    words: str


def evaluate(model: Any, X: Any, n_rows: int, output: str | None) -> Values:
    """Ask a model for its values at all rows of ``X``; of a classifier, by default, for its probabilities.

    Of two classes, the probability of the second is the single output.
    """
    if output is not None and output not in METHODS:
        raise ValueError(f"output={output!r}: must be one of {', '.join(map(repr, METHODS))}, or None")
    names, words = None, "values"
    if hasattr(model, "predict"):
        words = output or ("probability" if hasattr(model, "predict_proba") else "prediction")
        given = _ask(_method(model, words), X)
        classes = getattr(model, "classes_", None)
        if classes is not None and words != "prediction" and given.ndim == 2:
            names = tuple(map(str, classes))
            if given.shape[1] == 2 and words == "probability":
                given, words, names = given[:, 1], f"probability of {names[1]}", None
    elif output is not None:
        raise ValueError(
            f"output={output!r}: only an estimator has several kinds of output; pass what you mean as model"
        )
    elif callable(model):
        given = _ask(model, X)
    elif isinstance(model, Mapping):
        raise TypeError(
            "model: a dictionary; say in which basis it is meant: Polynomial(terms, basis='parity' or 'monomial')"
        )
    else:
        given = np.asarray(model)
    return _checked(given, n_rows, names, words)


def _method(model: Any, words: str) -> Callable[[Any], Any]:
    if type(model).__name__ == "Booster":
        return _of_booster(model, words)
    method = getattr(model, METHODS[words], None)
    if method is None:
        able = [name for name, m in METHODS.items() if hasattr(model, m)]
        raise ValueError(f"output={words!r}: {type(model).__name__} has no {METHODS[words]}(); it can give {able}")
    return method  # type: ignore[no-any-return]  # whatever the estimator has under this name


def _of_booster(model: Any, words: str) -> Callable[[Any], Any]:
    """The native models of XGBoost and LightGBM predict probabilities if that is what they were trained for."""
    margin = words == "margin"
    if type(model).__module__.startswith("lightgbm"):
        return lambda X: model.predict(X, raw_score=margin)
    import xgboost

    return lambda X: model.predict(xgboost.DMatrix(X), output_margin=margin)


def _ask(function: Callable[[Any], Any], X: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(function(X))
    except Exception as error:
        name = getattr(function, "__qualname__", type(function).__name__)
        raise ValueError(
            f"model: {name}(X) failed with {type(error).__name__}: {error}\n"
            f"Pass X as the model was trained on it, or pass the values at the rows instead of a model"
        ) from error


def _checked(given: npt.NDArray[Any], n_rows: int, names: tuple[str, ...] | None, words: str) -> Values:
    values = as_real("model", given)
    if values.ndim not in (1, 2) or len(values) != n_rows:
        raise ValueError(
            f"model: expected one value (or one row of values) for each of {n_rows} rows, got {values.shape}"
        )
    wrong = np.flatnonzero(~np.isfinite(values.reshape(n_rows, -1)).all(axis=1))
    if wrong.size:
        raise ValueError(
            f"model: its values must be finite, {wrong.size} of {n_rows} rows are not, such as row {wrong[0]}"
        )
    if values.ndim == 2 and values.shape[1] == 0:
        raise ValueError("model: it has no outputs")
    return Values(values.reshape(n_rows, -1), values.ndim == 1, names, words)
