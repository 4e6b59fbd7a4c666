"""A scikit-learn transformer around :class:`hoeffding.Encoding`, for pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from hoeffding.binarize import NumericPolicy
from hoeffding.bits import BitMatrix
from hoeffding.columns import TableReader
from hoeffding.tables import Encoding


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Turn a table into bits, one feature for each question about a column.

    Parameters
    ----------
    numeric, bins, thresholds, max_levels, max_integer_levels, groups, unknown
        As in :meth:`hoeffding.Encoding.fit`.
    sparse_output : bool
        Return a scipy sparse array (CSR) instead of a dense one; ``set_output`` needs a dense one.

    Attributes
    ----------
    encoding_ : Encoding
        With the groups of bits, what was dropped, and the way back.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import pandas as pd
    >>> from hoeffding import TableEncoder
    >>> table = pd.DataFrame({"colour": ["red", "blue", "green", "red"], "age": [20, 35, 51, 18]})
    >>> encoder = TableEncoder(thresholds={"age": [19]}).set_output(transform="pandas")
    >>> encoder.fit_transform(table)
       colour=blue  colour=green  colour=red  age > 19
    0            0             0           1         1
    1            1             0           0         1
    2            0             1           0         1
    3            0             0           1         0
    """

    def __init__(
        self,
        *,
        numeric: NumericPolicy = "thresholds",
        bins: int = 4,
        thresholds: Mapping[str, npt.ArrayLike] | None = None,
        max_levels: int = 100,
        max_integer_levels: int = 10,
        groups: Literal["infer"] | Mapping[str, Sequence[str]] | None = None,
        unknown: Literal["error", "ignore"] = "error",
        sparse_output: bool = False,
    ) -> None:
        self.numeric = numeric
        self.bins = bins
        self.thresholds = thresholds
        self.max_levels = max_levels
        self.max_integer_levels = max_integer_levels
        self.groups = groups
        self.unknown = unknown
        self.sparse_output = sparse_output

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the bits of a table ``X``, shape (n, d); ``y`` is not read."""
        self._check(X, reset=True)
        self.encoding_ = Encoding.fit(
            X,
            numeric=self.numeric,
            bins=self.bins,
            thresholds=self.thresholds,
            max_levels=self.max_levels,
            max_integer_levels=self.max_integer_levels,
            groups=self.groups,
            unknown=self.unknown,
        )
        return self

    def transform(self, X: Any) -> Any:
        """The bits of a table with the same columns, shape (n, n_bits), uint8."""
        check_is_fitted(self)
        self._check(X, reset=False)
        bits = self.encoding_.transform(X)
        return _as_sparse(bits) if self.sparse_output else bits.to_rows()

    def _check(self, X: Any, *, reset: bool) -> None:
        """The names and the number of columns, as scikit-learn wants them."""
        if not hasattr(X, "tocsc"):
            TableReader.open(X)  # says what is wrong with what is not a table
        validate_data(self, X, skip_check_array=True, reset=reset)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The labels of the bits, such as ``colour=red``; ``input_features``, if given, must be the columns of fit."""
        check_is_fitted(self)
        columns = self.encoding_.column_names
        if input_features is not None and tuple(input_features) != columns:
            raise ValueError(f"input_features is not equal to feature_names_in_, the columns {', '.join(columns)}")
        return np.array(self.encoding_.feature_names, dtype=object)


def _as_sparse(bits: BitMatrix) -> Any:
    """The packed columns as a CSR array, one column at a time."""
    from scipy.sparse import csc_array

    rows = [np.flatnonzero(column) for column in _unpacked(bits)]
    starts = np.cumsum([0, *map(len, rows)])
    ones = np.ones(starts[-1], np.uint8)
    shape = (bits.n_rows, bits.n_features)
    return csc_array((ones, np.concatenate(rows), starts), shape=shape).tocsr()


def _unpacked(bits: BitMatrix) -> Any:
    for words in bits.columns:
        yield np.unpackbits(words.astype("<u8", copy=False).view(np.uint8), bitorder="little", count=bits.n_rows)
