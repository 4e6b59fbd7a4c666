"""Pictures of rows: how the prediction at one row comes about, and the values at all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitRows
from hoeffding.decomposition import Decomposition
from hoeffding.players import Grouping, Players
from hoeffding.plots import canvas, reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = npt.NDArray[np.float64]

TOP = 10
STEP_HEIGHT, SWARM_HEIGHT = 0.3, 0.42  # inches
POINT = 13.0  # square points
BINS = 120  # of a swarm, side by side
SWARM_WIDTH, POINT_STEP = 0.8, 0.1  # of the distance between two players
MANY_POINTS = 10_000  # more are stored as pixels, not as shapes


# -- one row ----------------------------------------------------------------------------------------------------------


def waterfall(
    result: Decomposition,
    x: Any,
    outputs: npt.ArrayLike | None = None,
    *,
    components: bool = False,
    top: int = TOP,
    groups: Grouping | None = "player",
    output: int | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """From the mean to the prediction at one row, step by step: the largest Shapley values first, the rest in one.

    Parameters
    ----------
    result : Decomposition
    x : one row
        A sequence of d bits, a row of a data frame, or an array or data frame of one row.
    outputs : float or array-like, shape (n_outputs,), optional
        What the model says at this row. The last step is then the remainder, which the components do not explain.
    components : bool
        Take the components themselves as steps, not Shapley values. They are of features, whatever ``groups`` says.
    top : int
        How many steps to draw one by one.
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
    >>> ax = hoeffding.plots.waterfall(result, [1, 0])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['mean', 'a = 1', 'b = 0', 'f at this row']
    >>> [text.get_text() for text in ax.texts]
    ['2.00', '+1.25', '−1.25', '2.00']
    """
    top, chosen = reading.as_top(top), reading.output_index(result, output)
    reading.require_components(result, chosen)
    row = reading.explained_row(result, x, outputs, groups, chosen, components=components)
    by_size = np.argsort(-np.abs(row.values), kind="stable")
    if len(by_size) == top + 1:  # the rest would be a single one
        top += 1
    shown, hidden = by_size[:top], by_size[top:]
    labels, steps = row.labels(shown), [float(v) for v in row.values[shown]]
    if len(hidden):
        labels.append(f"{len(hidden)} others")
        steps.append(float(row.values[hidden].sum()))
    if row.remainder is not None:
        labels.append(reading.REMAINDER)
        steps.append(row.remainder)
    what = reading.output_label(result, chosen)
    end = what if row.remainder is not None or not reading.missing_share(result) else f"components of {what}"
    labels = ["mean", *labels, f"{end} at this row"]
    ax = canvas.axes(ax, canvas.width_beside(labels) + 0.6, 0.9 + STEP_HEIGHT * len(labels))
    canvas.tick_labels(ax.yaxis, range(len(labels)), labels)
    _draw_steps(ax, row.base_value, np.array(steps), row.remainder is not None)
    ax.set_xlabel(what, parse_math=False)
    canvas.note(ax, "" if row.remainder is not None else reading.missing_share(result))
    return ax


def _draw_steps(ax: Axes, base: float, steps: FloatArray, with_remainder: bool) -> None:
    """A point for the mean, a bar from each sum to the next, a point for the last one."""
    ends = base + np.concatenate([[0.0], np.cumsum(steps)])
    colors = canvas.sign_colors(steps)
    if with_remainder:
        colors[-1] = canvas.NEUTRAL
    for bar in ax.barh(np.arange(1, len(ends)), steps, left=ends[:-1], height=0.7, color=colors):
        bar.sticky_edges.x.clear()  # a step has no zero to stick to; its number needs the margin
    for y, end in enumerate(ends.tolist()):
        ax.plot([end, end], [y - 0.35, y + 1.35], color=canvas.NEUTRAL, linewidth=0.8, zorder=0)
    ax.plot(ends[[0, -1]], [0, len(ends)], "o", color=canvas.foreground(), markersize=5)
    plain, signed = canvas.number_format(ends), canvas.number_format(ends, signed=True)
    texts = [plain(base), *(signed(step) for step in steps), plain(float(ends[-1]))]
    canvas.write_beside(ax, np.append(ends, ends[-1]), texts, np.concatenate([[True], steps >= 0, [True]]))
    ax.set_ylim(len(ends) + 0.5, -0.5)
    canvas.open_frame(ax, "top", "right")
    ax.tick_params(axis="y", length=0)


# -- all rows ---------------------------------------------------------------------------------------------------------


def beeswarm(
    result: Decomposition,
    X: Any,
    outputs: npt.ArrayLike | None = None,
    *,
    top: int = TOP,
    groups: Grouping | None = "player",
    output: int | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The Shapley values at many rows: one swarm for each feature or group, a point for each row.

    The colour is the value of the feature: blue for 0, vermilion for 1; of a group whose bits are thresholds, from low
    to high; other groups are grey. All rows given are drawn.

    Parameters
    ----------
    result : Decomposition
    X : array or data frame, shape (n, d)
    outputs : array-like, shape (n,) or (n, n_outputs), optional
        What the model says at these rows. The remainder, which the components do not explain, is then the last swarm.
    top : int
        How many players to draw one by one: those with the largest mean absolute value at these rows.
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
    >>> import numpy as np, hoeffding
    >>> result = hoeffding.transform([[0, 1], [2, 5]], feature_names=["a", "b"])
    >>> ax = hoeffding.plots.beeswarm(result, [[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    >>> np.asarray(ax.collections[0].get_offsets())[:, 0]  # of a at the rows
    array([-1.25, -1.75,  1.25,  1.75])
    """
    top, chosen = reading.as_top(top), reading.output_index(result, output)
    reading.require_components(result, chosen)
    bits = result._bits(X)
    if bits.n_rows == 0:
        raise ValueError("X: has no rows, there is nothing to draw")
    found, players = result.explain(bits, outputs, groups=groups), result._players(groups)
    phi = reading.take_output(result, found.values, chosen)
    seen = ~np.isnan(phi).any(axis=1)
    if not seen.any():
        raise ValueError(
            "X: all rows have combinations of values that were never observed, there are no values to draw"
        )
    phi, rows = phi[seen], bits.to_rows()[seen]
    by_size = np.argsort(-np.abs(phi).mean(axis=0), kind="stable")
    if len(by_size) == top + 1:  # the rest would be a single one
        top += 1
    shown, hidden = by_size[:top], by_size[top:]
    labels = canvas.labels_of([players.names[g] for g in shown])
    swarms = [(phi[:, g], levels_of(rows, players, g)) for g in shown.tolist()]
    without_order = np.full(len(rows), np.nan)
    if len(hidden):
        labels.append(f"{len(hidden)} others, added up")
        swarms.append((phi[:, hidden].sum(axis=1), without_order))
    if found.remainder is not None:
        labels.append(reading.REMAINDER)
        swarms.append((reading.take_output(result, found.remainder, chosen)[seen], without_order))
    ax = canvas.axes(ax, canvas.width_beside(labels) + 1.2, 1.0 + SWARM_HEIGHT * len(labels))
    _draw_swarms(ax, swarms)
    canvas.tick_labels(ax.yaxis, range(len(labels)), labels)
    ax.set_xlabel(f"Shapley value: effect on {reading.output_label(result, chosen)}", parse_math=False)
    unsaid = reading.missing_share(result)
    if unsaid and found.remainder is None:
        unsaid += " (outputs of the model would show the remainder)"
    unseen = f"{(~seen).sum()} more have values never observed and are not drawn" if not seen.all() else ""
    canvas.note(ax, reading.count(len(rows), "row"), unseen, unsaid)
    return ax


def levels_of(rows: BitRows, players: Players, g: int) -> FloatArray:
    """The value of a player at rows as a number from 0 to 1, ``(n,)``; NaN if its values have no order.

    Values of a group have an order if each of their bit patterns contains the one before, as thresholds do.
    """
    bits = rows[:, list(players.members[g])]
    if bits.shape[1] == 1:
        return np.asarray(bits[:, 0], np.float64)
    patterns, of_row = np.unique(bits, axis=0, return_inverse=True)
    by_ones = np.argsort(patterns.sum(axis=1), kind="stable")
    steps = np.diff(patterns[by_ones].astype(np.int8), axis=0)
    if len(patterns) == 1 or (steps < 0).any():
        return np.full(len(rows), np.nan)
    level = np.empty(len(patterns))
    level[by_ones] = np.linspace(0.0, 1.0, len(patterns))
    return np.asarray(level[of_row.ravel()])


def _draw_swarms(ax: Axes, swarms: list[tuple[FloatArray, FloatArray]]) -> None:
    everything = np.concatenate([values for values, _ in swarms])
    low, high = float(everything.min()), float(everything.max())
    n = len(swarms[0][0])
    ax.axvline(0, color=canvas.NEUTRAL, linewidth=0.8, zorder=0)
    for y, (values, levels) in enumerate(swarms):
        ax.scatter(
            values,
            y + swarm(values, low, high),
            c=levels,
            cmap=canvas.order_map(),
            vmin=0,
            vmax=1,
            plotnonfinite=True,
            s=POINT if n < 500 else POINT / 2,
            linewidths=0,
            alpha=0.8,
            rasterized=n > MANY_POINTS,
        )
    ax.set_ylim(len(swarms) - 0.4, -0.6)
    canvas.open_frame(ax, "top", "right", "left")
    ax.tick_params(axis="y", length=0)
    present = np.unique(np.concatenate([levels[np.isfinite(levels)] for _, levels in swarms]))
    if np.isin(present, (0.0, 1.0)).all():
        _legend_of_bits(ax, present)
    else:
        _scale_of_levels(ax)


def _legend_of_bits(ax: Axes, present: FloatArray) -> None:
    """What the two colours mean, on the right of the axes."""
    shades = canvas.order_map()
    dots = [ax.scatter([], [], s=3 * POINT, color=shades(level), linewidths=0) for level in present[::-1].tolist()]
    canvas.legend(ax, dots, [f"{level:g}" for level in present[::-1]], title="value")


def _scale_of_levels(ax: Axes) -> None:
    """What the colours mean, on the right of the axes."""
    beside = ax.inset_axes((1.02, 0.2, 0.02, 0.6))
    beside.imshow(np.linspace(1, 0, 256)[:, None], cmap=canvas.order_map(), aspect="auto", extent=(0, 1, 0, 1))
    beside.set_xticks([])
    beside.yaxis.tick_right()
    beside.set_yticks([0, 1], labels=["0, low", "1, high"], fontsize="small")
    beside.tick_params(length=0)
    canvas.open_frame(beside, *beside.spines)


def swarm(values: FloatArray, low: float, high: float) -> FloatArray:
    """How far points of equal height stand beside each other, ``(n,)``: those in one bin are spread around zero."""
    width = (high - low) / BINS or 1.0
    bins = np.minimum(((values - low) / width).astype(np.int64), BINS - 1)
    order = np.argsort(bins, kind="stable")
    counts = np.bincount(bins, minlength=BINS)
    rank = np.empty(len(values))
    rank[order] = np.arange(len(values)) - np.repeat(np.cumsum(counts) - counts, counts)
    step = min(POINT_STEP, SWARM_WIDTH / max(int(counts.max()), 1))
    return np.asarray((rank - (counts[bins] - 1) / 2) * step)
