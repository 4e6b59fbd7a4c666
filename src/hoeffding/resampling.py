"""Uncertainty of any number taken from a result: a bootstrap over the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.checks import as_count, as_real, as_rng
from hoeffding.progress import reporting, say

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A statistic with its bootstrap uncertainty; all arrays have the shape of the statistic.

    Attributes
    ----------
    value : array
        The statistic of the data as they are.
    standard_error : array
        The standard deviation over the resamples.
    low, high : array
        The confidence interval, from the quantiles of the replicates; NaN if the statistic is NaN in any resample.
    level : float
        Its nominal coverage.
    replicates : array, shape (n_resamples, ...)
        The statistic of every resample.
    """

    value: FloatArray
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    replicates: FloatArray


def bootstrap(
    decompose: Callable[[FloatArray], Any],
    n_rows: int,
    statistic: Callable[[Any], npt.ArrayLike],
    *,
    rng: np.random.Generator | int,
    n_resamples: int = 200,
    level: float = 0.95,
) -> Estimate:
    """Standard errors and confidence intervals by resampling rows, everything decomposed anew each time.

    Rows are drawn with replacement, which is to say that each gets a multinomial weight. What varies is the measure
    (and, of a regression, the fit); the rows and the model's outputs are computed once. What is drawn may also be
    chunks of rows that are known through their moments, see ``docs/sensitivity.md``.

    Parameters
    ----------
    decompose : callable
        From weights of shape (n_rows,), integers that sum to ``n_rows``, to a result.
    n_rows : int
        How many rows, or chunks, there are to draw from.
    statistic : callable
        From that result to a number or an array, the same shape every time.
    rng : numpy.random.Generator or int
    n_resamples : int
        At least 2; 200 give the standard error to 5 %, intervals need more.
    level : float
        Nominal coverage of the intervals.

    Examples
    --------
    >>> import numpy as np, hoeffding
    >>> rows = np.random.default_rng(0).integers(0, 2, (500, 3))
    >>> f = lambda x: 2 * x[:, 0] + x[:, 1] * x[:, 2]
    >>> cube = np.indices((2, 2, 2)).reshape(3, -1).T
    >>> def decompose(weights):
    ...     return hoeffding.transform(f(cube).reshape(2, 2, 2), hoeffding.Empirical(rows, weights))
    >>> estimate = hoeffding.bootstrap(decompose, len(rows), lambda r: r.sobol().total, rng=0, n_resamples=50)
    >>> estimate.value.round(2), estimate.standard_error.round(2)
    (array([0.81, 0.13, 0.12]), array([0.01, 0.01, 0.01]))
    """
    n, count, generator = as_count("n_rows", n_rows, 1), as_count("n_resamples", n_resamples, 2), as_rng(rng)
    if not (isinstance(level, int | float | np.number) and 0 < level < 1):
        raise ValueError(f"level={level!r}: must lie between 0 and 1")
    value = as_real("statistic", statistic(decompose(np.ones(n))))
    replicates = np.empty((count, *value.shape))
    with reporting():
        for b in range(count):
            say(f"Resample {b + 1} of {count}")
            weights = generator.multinomial(n, np.full(n, 1 / n)).astype(np.float64)
            again = as_real("statistic", statistic(decompose(weights)))
            if again.shape != value.shape:
                raise ValueError(f"statistic: has shape {again.shape} on a resample, but {value.shape} on the data")
            replicates[b] = again
    tail = (1 - level) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail], axis=0)
    return Estimate(value, replicates.std(axis=0, ddof=1), low, high, level, replicates)
