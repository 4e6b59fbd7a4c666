"""Bars of players: global importance, and the signed values at one row; with those of other methods beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hoeffding.decomposition import Decomposition
from hoeffding.players import Grouping
from hoeffding.plots import canvas, reading
from hoeffding.resampling import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = npt.NDArray[np.float64]

OURS = "hoeffding"
TOP = 10
MOST_OTHERS = len(canvas.SERIES) - 1
SAME = 1e-6  # an interval belongs to an importance that differs by no more than rounding and the tolerance of a fit
BAR_HEIGHT, LEAST_ROW = 0.17, 0.3  # inches


def importance(  # noqa: PLR0913  # one argument for each choice
    result: Decomposition,
    X: Any = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
    interval: Estimate | None = None,
    others: Mapping[str, npt.ArrayLike] | None = None,
    top: int = TOP,
    groups: Grouping | None = "player",
    output: int | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Global importance: the mean absolute Shapley value of each feature or group, as a share of their sum.

    Parameters
    ----------
    result : Decomposition
    X : array or data frame, shape (n, d), optional
        The rows to average over; by default the measure of the decomposition.
    sample_weight : array-like, shape (n,), optional
        What these rows weigh.
    interval : Estimate, optional
        The importance with its uncertainty, from :func:`hoeffding.bootstrap`; drawn as lines from ``low`` to ``high``.
    others : {name: values}, optional
        Up to five other methods to draw beside: their values at rows, shape (n, n_players), which are averaged without
        sign, or importances, shape (n_players,). Each is divided by its sum, as ours is.
    top : int
        How many players to draw: those with the largest importance.
    groups : "player", "sum" or None
        As for :meth:`Decomposition.importance`.
    output : int or str, optional
        Which output; needed if there are several.
    ax : matplotlib axes, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import hoeffding
    >>> result = hoeffding.transform([[0, 1], [2, 5]], feature_names=["a", "b"])
    >>> ax = hoeffding.plots.importance(result)
    >>> [text.get_text() for text in ax.texts]
    ['60.0 %', '40.0 %']
    """
    top, chosen, methods = reading.as_top(top), reading.output_index(result, output), _others(others)
    reading.require_components(result, chosen)
    shares = reading.take_output(result, result.importance(X, sample_weight, groups=groups), chosen)
    names = result._players(groups).names
    series = {OURS: shares} | {name: _shares(name, a, len(names)) for name, a in methods.items()}
    shown = np.argsort(-shares, kind="stable")[:top]
    ends = None if interval is None else _ends(result, interval, shares, chosen)[:, shown]
    labels = canvas.labels_of([names[g] for g in shown])
    ax = _axes(ax, labels, len(series))
    canvas.tick_labels(ax.yaxis, range(len(labels)), labels)
    bars = side_by_side(ax, {name: a[shown] for name, a in series.items()}, ends)
    if methods:
        canvas.legend(ax, bars, list(series))
    else:
        right = shares[shown] if ends is None else np.maximum(shares[shown], ends[1])
        canvas.write_beside(ax, right, [canvas.percent(share) for share in shares[shown]])
    ax.set_xlabel(f"importance for {reading.output_label(result, chosen)}: share of mean |Shapley value|")
    ax.xaxis.label.set_parse_math(False)
    level = "" if interval is None else f"{100 * interval.level:g} % intervals"
    canvas.note(ax, reading.rest(shares, shown, "importance"), level, reading.missing_share(result))
    return ax


def local(
    result: Decomposition,
    x: Any,
    outputs: npt.ArrayLike | None = None,
    *,
    others: Mapping[str, npt.ArrayLike] | None = None,
    top: int = TOP,
    groups: Grouping | None = "player",
    output: int | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Signed attributions of one row: Shapley values over the sum of their absolute values.

    Parameters
    ----------
    result : Decomposition
    x : one row
        A sequence of d bits, a row of a data frame, or an array or data frame of one row.
    outputs : float or array-like, shape (n_outputs,), optional
        What the model says at this row. The remainder, which the components do not explain, is then the last bar.
    others : {name: values}, optional
        Up to five other methods to draw beside: their values at the row, shape (n_players,). Each is divided by the sum
        of its absolute values, as ours are.
    top : int
        How many players to draw: those with the largest values without sign.
    groups : "player", "sum" or None
        As for :meth:`Decomposition.shapley`.
    output : int or str, optional
        Which output; needed if there are several.
    ax : matplotlib axes, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import hoeffding
    >>> result = hoeffding.transform([[0, 1], [2, 5]], feature_names=["a", "b"])
    >>> ax = hoeffding.plots.local(result, [1, 0])
    >>> [label.get_text() for label in ax.get_yticklabels()], [text.get_text() for text in ax.texts]
    (['a = 1', 'b = 0'], ['+0.500', '−0.500'])
    """
    top, chosen, methods = reading.as_top(top), reading.output_index(result, output), _others(others)
    reading.require_components(result, chosen)
    row = reading.explained_row(result, x, outputs, groups, chosen)
    if not row.values.any():
        raise ValueError("x: all attributions are zero at this row, there is nothing to normalise; waterfall shows it")
    whole = float(np.abs(row.values).sum())
    series = {OURS: row.values / whole}
    series |= {name: _normalised(name, a, len(row.values)) for name, a in methods.items()}
    shown = np.argsort(-np.abs(row.values), kind="stable")[:top]
    labels = row.labels(shown)
    drawn = {name: a[shown] for name, a in series.items()}
    if row.remainder is not None:  # the other methods have their own, or none
        labels.append(reading.REMAINDER)
        drawn = {name: np.append(a, np.nan) for name, a in drawn.items()}
        drawn[OURS][-1] = row.remainder / whole
    ax = _axes(ax, labels, len(series))
    canvas.tick_labels(ax.yaxis, range(len(labels)), labels)
    bars = side_by_side(ax, drawn)
    _finish_local(ax, drawn, bars, row.remainder is not None)
    ax.set_xlabel(f"effect on {reading.output_label(result, chosen)}: share of Σ |Shapley value|", parse_math=False)
    unsaid = "" if row.remainder is not None else reading.missing_share(result)
    canvas.note(ax, reading.rest(np.abs(row.values) / whole, shown, "absolute values"), unsaid)
    return ax


def _finish_local(ax: Axes, drawn: Mapping[str, FloatArray], bars: Sequence[Any], with_remainder: bool) -> None:
    """Signs by colour where there is one method, a legend where there are several."""
    ours = drawn[OURS]
    ax.axvline(0, color=canvas.foreground(), linewidth=0.8)
    if len(drawn) > 1:
        ax.margins(x=0.05)
        canvas.legend(ax, bars, list(drawn))
    else:
        for bar, color in zip(bars[0], canvas.sign_colors(ours), strict=True):
            bar.set_color(color)
        write = canvas.number_format(ours, signed=True)
        canvas.write_beside(ax, ours, [write(v) for v in ours])
    if with_remainder:
        bars[0][-1].set_color(canvas.NEUTRAL)


# -- bars -------------------------------------------------------------------------------------------------------------


def side_by_side(ax: Axes, series: Mapping[str, FloatArray], ends: FloatArray | None = None) -> list[Any]:
    """Horizontal bars, the first on top, one for each series; the first series may have intervals, ``(2, n)``."""
    n = len(next(iter(series.values())))
    thick = 0.8 / len(series)
    bars = []
    for k, (color, values) in enumerate(zip(canvas.SERIES, series.values(), strict=False)):
        at = np.arange(n) + (k - (len(series) - 1) / 2) * thick
        bars.append(ax.barh(at, values, height=0.92 * thick, color=color))
        if k == 0 and ends is not None:
            middle, half = ends.mean(axis=0), np.diff(ends, axis=0)[0] / 2
            ax.errorbar(middle, at, xerr=half, fmt="none", ecolor=canvas.foreground(), elinewidth=1.2, capsize=3)
    ax.set_ylim(n - 0.5, -0.5)
    canvas.open_frame(ax, "top", "right")
    ax.tick_params(axis="y", length=0)
    return bars


def _axes(ax: Axes | None, labels: Sequence[str], n_series: int) -> Axes:
    row = max(LEAST_ROW, BAR_HEIGHT * n_series + 0.08)
    return canvas.axes(ax, canvas.width_beside(labels) + (1.6 if n_series > 1 else 0), 1.1 + row * len(labels))


# -- what others say --------------------------------------------------------------------------------------------------


def _others(others: Mapping[str, npt.ArrayLike] | None) -> dict[str, Any]:
    if others is None:
        return {}
    if not isinstance(others, Mapping):
        raise TypeError(
            f"others: expected a mapping from names of methods to their values, got {type(others).__name__}"
        )
    if len(others) > MOST_OTHERS:
        raise ValueError(f"others: {len(others)} methods; at most {MOST_OTHERS} can be told apart, leave some out")
    if OURS in others:
        raise ValueError(f"others: {OURS!r} is what our own bars are called; give another name")
    return {str(name): values for name, values in others.items()}


def _shares(name: str, given: Any, n_players: int) -> FloatArray:
    """Importances that sum to one, from values at rows or importances."""
    a = reading.as_values(f"others[{name!r}]", given, (n_players, ("n", n_players)))
    if a.ndim == 1 and (a < 0).any():
        raise ValueError(
            f"others[{name!r}]: importances are at least 0, got {a.min():g}; give values at rows as (n, {n_players})"
        )
    size = a if a.ndim == 1 else np.abs(a).mean(axis=0)
    return _divided(name, size, size.sum())


def _normalised(name: str, given: Any, n_players: int) -> FloatArray:
    """Values at one row over the sum of their absolute values."""
    a = reading.as_values(f"others[{name!r}]", given, (n_players,))
    return _divided(name, a, np.abs(a).sum())


def _divided(name: str, a: FloatArray, whole: float) -> FloatArray:
    if not whole > 0:
        raise ValueError(f"others[{name!r}]: all values are zero, there is nothing to normalise; leave it out")
    return a / whole


def _ends(result: Decomposition, interval: Estimate, shares: FloatArray, output: int) -> FloatArray:
    """The ends of the intervals, ``(2, n_players)``."""
    if not isinstance(interval, Estimate):
        raise TypeError(f"interval={interval!r}: expected what hoeffding.bootstrap(...) gives")
    expected = shares.shape + result.output_shape
    if interval.value.shape != expected:
        raise ValueError(f"interval: its values have shape {interval.value.shape}, the importances have {expected}")
    value, low, high = (reading.take_output(result, a, output) for a in (interval.value, interval.low, interval.high))
    if not np.allclose(value, shares, rtol=0, atol=SAME):
        raise ValueError(
            f"interval: its values differ from the importances by up to {np.abs(value - shares).max():.2g}; "
            "bootstrap lambda r: r.importance(...) with the same rows and groups"
        )
    return np.stack([low, high])
