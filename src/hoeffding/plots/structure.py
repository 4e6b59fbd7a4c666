"""Pictures of what a decomposition is made of: one component, variances by order and by size, a network of pairs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hoeffding.decomposition import Decomposition
from hoeffding.plots import canvas, reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = npt.NDArray[np.float64]

LARGEST_TABLE = 6  # features of a component drawn as a table: 8 by 8 cells
TABLE_LABEL = 20  # characters of a name beside a table of two rows
VISIBLE = 1e-12  # of the variance of f: smaller parts are rounding
NAMED = 5  # components of a spectrum
MANY_RANKS = 30
MOST_HORIZONTAL = 16  # nodes of a network whose names do not need to be turned
WIDEST_LINE = 8.0  # points
LARGEST_NODE, SMALLEST_NODE = 900.0, 12.0  # square points
NETWORK_LABEL, TURNED_LABEL = 24, 18  # characters


def component(
    result: Decomposition, subset: Iterable[int | str], *, output: int | str | None = None, ax: Axes | None = None
) -> Axes:
    """One component f_S over the values of its features: two bars for one feature, a table for more.

    Parameters
    ----------
    result : Decomposition
    subset : sequence of feature names or indices
        The set S, of 1 to 6 features.
    output : int or str, optional
        Which output; needed if there are several.
    ax : matplotlib axes, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib axes
        Bars carry the probability P of each value; cells never observed are grey.

    Examples
    --------
    >>> import hoeffding
    >>> result = hoeffding.transform([[0, 1], [2, 5]], feature_names=["a", "b"])
    >>> ax = hoeffding.plots.component(result, ["a"])
    >>> [float(bar.get_height()) for bar in ax.patches]
    [-1.5, 1.5]
    """
    chosen = reading.output_index(result, output)
    s = reading.feature_indices(result, subset)
    if not 1 <= len(s) <= LARGEST_TABLE:
        raise ValueError(
            f"subset={s!r}: has {len(s)} features; components of 1 to {LARGEST_TABLE} features are drawn, "
            "table(subset) gives the numbers of any"
        )
    table = reading.take_output(result, result.table(s), chosen)
    names = canvas.labels_of([result.feature_names[i] for i in s], TABLE_LABEL if len(s) > 1 else canvas.LONGEST_LABEL)
    label = f"effect on {reading.output_label(result, chosen)}"
    if len(s) == 1:
        wide = max(3.6, 1.2 + canvas.LETTER_WIDTH * len(names[0]))
        return _main_effect(canvas.axes(ax, wide, 3.4), table, result.measure.marginal(s), names[0], label)
    return _table(ax, table, names, label)


def _main_effect(ax: Axes, f_i: FloatArray, masses: FloatArray, name: str, label: str) -> Axes:
    bars = ax.bar([0, 1], f_i, width=0.6, color=canvas.sign_colors(f_i))
    write = canvas.number_format(f_i, signed=True)
    ax.bar_label(bars, [write(v) for v in f_i], padding=3)
    ax.axhline(0, color=canvas.foreground(), linewidth=0.8)
    canvas.tick_labels(ax.xaxis, [0, 1], [f"{v}\nP = {p:.3f}" for v, p in enumerate(masses)])
    ax.set_xlabel(name, parse_math=False)
    ax.set_ylabel(label, parse_math=False)
    ax.margins(x=0.15, y=0.15)
    canvas.open_frame(ax, "top", "right")
    return ax


def _table(ax: Axes | None, table: FloatArray, names: list[str], label: str) -> Axes:
    """The first half of the features goes down, the others across."""
    down = len(names) // 2
    across = len(names) - down
    cells = table.reshape(2**down, 2**across)
    ax = canvas.axes(ax, 1.8 + 0.85 * 2**across, 1.8 + 0.6 * 2**down)
    largest = float(np.nanmax(np.abs(cells), initial=0.0)) or 1.0
    shades = canvas.signed_map()
    ax.imshow(cells, cmap=shades, vmin=-largest, vmax=largest, aspect="auto")
    write = canvas.number_format(cells, signed=True)
    for (row, column), value in np.ndenumerate(cells):
        text = "never\nseen" if np.isnan(value) else write(value)
        color = "black" if np.isnan(value) else canvas.readable_on(shades((value / largest + 1) / 2))
        ax.text(column, row, text, ha="center", va="center", color=color, fontsize="small")
    canvas.tick_labels(ax.xaxis, range(2**across), [", ".join(f"{z:0{across}b}") for z in range(2**across)])
    canvas.tick_labels(ax.yaxis, range(2**down), [", ".join(f"{z:0{down}b}") for z in range(2**down)])
    ax.tick_params(length=0)
    ax.set_xlabel(",\n".join(names[down:]), parse_math=False)
    ax.set_ylabel(",\n".join(names[:down]), parse_math=False)
    canvas.note(ax, label)
    return ax


# -- variances --------------------------------------------------------------------------------------------------------


def variance_by_order(result: Decomposition, *, output: int | str | None = None, ax: Axes | None = None) -> Axes:
    """The share of the variance of f at each order: single features, pairs, triples, ...

    Under dependent features each share has a structural part, ``Var f_S``, and a correlative part,
    ``Cov(f_S, f - f_S)``, which may be negative; they are drawn beside the total. Where the components kept do not
    have all of the variance, the last bar shows what is left out.

    Parameters
    ----------
    result : Decomposition
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
    >>> result = hoeffding.transform([[0, 1], [2, 5]])
    >>> ax = hoeffding.plots.variance_by_order(result)
    >>> [round(float(bar.get_height()), 3) for bar in ax.patches]
    [0.929, 0.071]
    """
    chosen = reading.output_index(result, output)
    v = reading.variance_of(result, chosen)
    runs = list(pairwise(result.family.starts[1:].tolist()))
    total, structural, correlative = (
        np.array([part[a:b].sum() for a, b in runs]) / v.of_f for part in (v.total, v.structural, v.correlative)
    )
    split = bool((np.abs(correlative) > VISIBLE).any())
    series = {"total": total} | ({"structural": structural, "correlative": correlative} if split else {})
    ax = canvas.axes(ax, max(3.6, 1.4 + (1.7 if split else 0.9) * (len(runs) + 1)), 3.4)
    ticks = [str(k) for k in range(1, len(runs) + 1)]
    if abs(1 - total.sum()) > reading.EXACT:  # of a truncated decomposition whose f has more
        ticks.append("left out")
        series["total"] = np.append(total, 1 - total.sum())
    width = 0.8 / len(series)
    bars = []
    for k, (color, part) in enumerate(zip(canvas.SERIES, series.values(), strict=False)):
        at = np.arange(1, len(part) + 1) + (k - (len(series) - 1) / 2) * width
        bars.append(ax.bar(at, part, width=0.92 * width, color=color))
        ax.bar_label(bars[-1], [canvas.percent(p) for p in part], padding=3, fontsize="small")
    if split:
        canvas.legend(ax, bars, list(series))
    ax.axhline(0, color=canvas.foreground(), linewidth=0.8)
    canvas.tick_labels(ax.xaxis, range(1, len(ticks) + 1), ticks)
    ax.set_xlabel("order: number of features of a component")
    ax.set_ylabel(f"share of the variance of {reading.output_label(result, chosen)}", parse_math=False)
    ax.margins(y=0.15)
    canvas.open_frame(ax, "top", "right")
    canvas.note(ax, reading.missing_share(result))
    return ax


def spectrum(result: Decomposition, *, output: int | str | None = None, ax: Axes | None = None) -> Axes:
    """All components by size: the share ``Var f_S / Var f`` of each, largest first, on a logarithmic scale.

    The five largest are named on the right, with their ranks; the colour is the order. Components that are zero have no
    place on a logarithmic scale and are counted in the text above.

    Parameters
    ----------
    result : Decomposition
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
    >>> ax = hoeffding.plots.spectrum(result)
    >>> [text.get_text() for text in ax.texts]
    ['1  a', '2  b', '3  a × b']
    """
    chosen = reading.output_index(result, output)
    v = reading.variance_of(result, chosen)
    share, sizes = (v.structural / v.of_f)[result.family.sizes > 0], result.family.sizes[result.family.sizes > 0]
    by_size = np.argsort(-share, kind="stable")
    shown = by_size[share[by_size] > VISIBLE]
    ax = canvas.axes(ax, 7.4, 4.0)
    rank = np.arange(1, len(shown) + 1)
    points, orders = [], sorted(set(sizes[shown].tolist()))
    for k in orders:
        here = sizes[shown] == k
        color = canvas.SERIES[(k - 1) % len(canvas.SERIES)]
        points.append(ax.scatter(rank[here], share[shown][here], s=22, color=color, zorder=2))
    _size_scales(ax, share[shown])
    _name_largest(ax, result, shown[:NAMED])
    canvas.legend(ax, points, [f"order {k}" for k in orders], loc="lower left")
    ax.set_xlabel("rank of the component")
    ax.set_ylabel(f"share of the variance of {reading.output_label(result, chosen)}", parse_math=False)
    canvas.open_frame(ax, "top", "right")
    zero = len(share) - len(shown)
    zeros = f"{zero} more are zero" if zero else ""
    canvas.note(ax, reading.count(len(shown), "component"), zeros, reading.missing_share(result))
    return ax


def _size_scales(ax: Axes, share: FloatArray) -> None:
    """Decades upwards; ranks to the right, logarithmic if there are many."""
    from matplotlib.ticker import MaxNLocator, NullFormatter

    ax.set_yscale("log")
    low, high = np.floor(np.log10(share.min())), np.ceil(np.log10(share.max()))
    ax.set_ylim(10.0 ** (low if low < high else low - 1) / 1.3, 10.0**high * 1.3)
    ax.yaxis.set_minor_formatter(NullFormatter())
    if len(share) > MANY_RANKS:
        ax.set_xscale("log")
    else:
        ax.set_xlim(0.5, max(len(share), NAMED) + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _name_largest(ax: Axes, result: Decomposition, largest: npt.NDArray[np.intp]) -> None:
    """The names of the first ranks, in a column on the right of the axes."""
    first = int((result.family.sizes == 0).sum())  # the mean is not among the shares
    names = reading.subset_labels(result, [result.family[first + j] for j in largest.tolist()])
    for k, name in enumerate(names):
        at = (1.03, 0.97 - 0.08 * k)
        ax.text(*at, f"{k + 1}  {name}", transform=ax.transAxes, va="center", fontsize="small", parse_math=False)


# -- the network ------------------------------------------------------------------------------------------------------


def network(result: Decomposition, *, top: int = 12, output: int | str | None = None, ax: Axes | None = None) -> Axes:
    r"""The interaction network: features on a circle, joined by what they do together.

    The area of a node is the share of the variance of f that the feature has alone, ``Cov(f_i, f) / Var f``. The width
    of a line is the total interaction index: the share of all components that hold both its ends, the sum of
    ``Cov(f_S, f) / Var f`` over the sets S with i and j. Blue means that the share is negative, which happens with
    dependent features.

    Parameters
    ----------
    result : Decomposition
    top : int
        How many features to draw: those whose components have the largest shares, added up without sign.
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
    >>> ax = hoeffding.plots.network(result)
    >>> [text.get_text() for text in ax.texts]
    ['a\n64.3 %', 'b\n28.6 %']
    """
    top, chosen = reading.as_top(top), reading.output_index(result, output)
    v = reading.variance_of(result, chosen)
    alone, together, size = _interaction_shares(result, v.share)
    kept = np.sort(np.argsort(-size, kind="stable")[:top])
    alone, together = alone[kept], together[np.ix_(kept, kept)]
    turned = len(kept) > MOST_HORIZONTAL
    ax = canvas.axes(ax, 7.5, 6.0 if turned else 5.0)
    angle = np.pi / 2 - 2 * np.pi * (np.arange(len(kept)) + 0.5) / len(kept)  # clockwise, no node at the very top
    xy = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    words = _draw_lines(ax, result, xy, together, kept)
    colors = canvas.sign_colors(alone)
    areas = LARGEST_NODE * np.abs(alone) / (float(np.abs(alone).max()) or 1.0) + SMALLEST_NODE
    ax.scatter(xy[:, 0], xy[:, 1], s=areas, c=colors, edgecolors="white", zorder=3)
    names = canvas.labels_of([result.feature_names[i] for i in kept], TURNED_LABEL if turned else NETWORK_LABEL)
    if not turned:
        names = [f"{name}\n{canvas.percent(a)}" for name, a in zip(names, alone, strict=True)]
    _name_nodes(ax, angle, areas, names, turned)
    canvas.drawing(ax, 2.1 if turned else 1.3)
    some = f"{len(kept)} of {result.n_features} features" if len(kept) < result.n_features else ""
    canvas.note(ax, some, words, reading.missing_share(result))
    return ax


def _interaction_shares(result: Decomposition, share: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shares of features alone (d,), of pairs with all that holds them (d, d), and of features without sign (d,)."""
    d, family = result.n_features, result.family
    alone, together, size = np.zeros(d), np.zeros((d, d)), np.zeros(d)
    for s, (level, start) in enumerate(zip(family.levels, family.starts.tolist(), strict=False)):
        here = share[start : start + len(level)]
        if s == 1:
            alone[level[:, 0]] = here
        for a in range(s):
            np.add.at(size, level[:, a], np.abs(here))
            for b in range(a):
                np.add.at(together, (level[:, b], level[:, a]), here)
    return alone, together + together.T, size


def _draw_lines(
    ax: Axes, result: Decomposition, xy: FloatArray, together: FloatArray, kept: npt.NDArray[np.intp]
) -> str:
    """Lines between nodes; the words say what the thickest one is worth."""
    pairs = [(i, j) for i in range(len(kept)) for j in range(i) if abs(together[i, j]) > VISIBLE]
    if not pairs:
        return "no interactions"
    i, j = max(pairs, key=lambda ij: abs(together[ij]))
    largest = abs(together[i, j])
    for ij in sorted(pairs, key=lambda ij: abs(together[ij])):
        weight = abs(together[ij]) / largest
        color = canvas.sign_colors(together[ij][None])[0]
        ax.plot(*xy[list(ij)].T, color=color, linewidth=WIDEST_LINE * weight, alpha=0.25 + 0.5 * weight, zorder=1)
    [pair] = reading.subset_labels(result, [(int(kept[j]), int(kept[i]))])
    return f"thickest line: {pair}, {canvas.percent(together[i, j])}"


def _name_nodes(ax: Axes, angle: FloatArray, areas: FloatArray, labels: list[str], turned: bool) -> None:
    """Names outside of the circle; many nodes have theirs turned outwards, so that they do not run into each other."""
    for a, area, label in zip(angle.tolist(), areas.tolist(), labels, strict=True):
        towards = np.array([np.cos(a), np.sin(a)])
        right = towards[0] >= 0
        ax.annotate(
            label,
            tuple(towards),
            xytext=tuple((np.sqrt(area / np.pi) + 6) * towards),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center" if turned else "bottom" if towards[1] > 0 else "top",
            fontsize="small",
            rotation=np.degrees(a) + (0 if right else 180) if turned else 0,
            rotation_mode="anchor",
            parse_math=False,
        )
