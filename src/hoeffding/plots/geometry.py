"""The geometry of a measure: Gram matrices, the cube, two vectors of the basis; one panel for each measure.

These are the figures of the paper. They show how dependence bends the picture of independent fair bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hoeffding import basis
from hoeffding.machine import require_memory
from hoeffding.measure import Measure, Table, as_measure
from hoeffding.plots import canvas
from hoeffding.subsets import as_subset

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = npt.NDArray[np.float64]
Measures: TypeAlias = "Measure | npt.ArrayLike | Mapping[str, Measure | npt.ArrayLike]"

MOST_FUNCTIONS = 4096  # rows of a Gram matrix that is drawn: more than pixels
LARGEST_VERTEX = 2200.0  # square points of a vertex that has all the mass
COLOR_TICKS = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1]
LEAST_ANGLE = 0.35  # radians that leave room for a letter
LEAST_NAMED = 0.02  # probability of a vertex that gets its name
# Where the axes of the cube go on paper, one row for each coordinate of space: to the right, upwards, and back.
PROJECTION = {2: np.array([[1.0, 0.0], [0.0, 1.0]]), 3: np.array([[1.0, 0.0], [0.0, 1.0], [0.46, 0.32]])}


def aligned(d: int, correlation: float) -> Table:
    """``d`` fair bits with the same correlation between any two: a mixture of independent bits and equal ones.

    With probability ``correlation`` all bits are equal, otherwise they are independent. At 0 the measure is uniform,
    at 1 only ``0...0`` and ``1...1`` are left.

    Parameters
    ----------
    d : int
        Number of bits, at least 1.
    correlation : float
        Between 0 and 1.

    Returns
    -------
    Table

    Examples
    --------
    >>> aligned(2, 0.5).pmf()
    array([[0.375, 0.125],
           [0.125, 0.375]])
    """
    check_cube_of_bits(d)
    if not 0 <= correlation <= 1:
        raise ValueError(f"correlation={correlation!r}: must lie between 0 and 1")
    pmf = np.full((2,) * d, (1 - correlation) / 2**d)
    pmf[(0,) * d] += correlation / 2
    pmf[(1,) * d] += correlation / 2
    return Table(pmf)


def check_cube_of_bits(d: int) -> None:
    """Refuse numbers of bits whose pmf cannot be written down."""
    if isinstance(d, bool) or not isinstance(d, int | np.integer) or not 1 <= d <= 20:
        raise ValueError(f"d={d!r}: expected a number of bits from 1 to 20")


# -- Gram matrices ----------------------------------------------------------------------------------------------------


def gram(measures: Measures, *, order: int | None = None, ax: Any = None) -> Any:
    """The Gram matrix of the basis as a heatmap: cosines ``<psi_S, psi_T> / (|psi_S| |psi_T|)``.

    The sets are those that the measure shatters, by size and then lexicographically. Independent bits give a diagonal
    matrix; dependence fills it in, but never between a set and its subsets.

    Parameters
    ----------
    measures : measure, array of shape (2,) * d, or mapping from titles to these
        A mapping gives one panel for each entry.
    order : int, optional
        Only sets of at most so many features.
    ax : matplotlib axes, or as many of them as there are measures, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib axes, or array of axes, shape (n_measures,), for a mapping

    Examples
    --------
    >>> import hoeffding
    >>> aligned = hoeffding.plots.aligned
    >>> panels = hoeffding.plots.gram({f"ρ = {r}": aligned(3, r) for r in (0, 0.5)})
    >>> panels[1].images[0].get_array().shape
    (8, 8)
    """
    given = _read(measures)
    cosines = [_cosines(measure, order) for _, measure in given]
    panels = canvas.panels(ax, len(given), 2.6, 2.7)
    for panel, (title, _), (matrix, starts) in zip(panels, given, cosines, strict=True):
        image = panel.imshow(matrix, cmap=canvas.signed_map(), norm=_root_scale(), interpolation="auto")
        _mark_orders(panel, starts)
        panel.set_title(title, fontsize="medium", parse_math=False)
    beside = panels[-1].inset_axes((1.04, 0.0, 0.05, 1.0))
    panels[-1].figure.colorbar(image, cax=beside, label="cosine", ticks=COLOR_TICKS)
    return _as_given(measures, panels)


def _cosines(measure: Measure, order: int | None) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    family = measure.shattered(order)
    if len(family) > MOST_FUNCTIONS:
        raise ValueError(
            f"order={order}: the Gram matrix of {len(family)} functions has no picture, at most {MOST_FUNCTIONS}; "
            "give a smaller order"
        )
    instead = "give a smaller order, or fewer features"
    require_memory(16.0 * measure.n_points * len(family), f"{len(family)} functions at all points", instead)
    G = basis.gram_matrix(measure, family)
    norms = np.sqrt(np.diag(G))
    return G / np.outer(norms, norms), family.starts


def _root_scale() -> Any:
    """Colours from -1 to 1 that grow as the root of the number, so that small ones can be seen."""
    from matplotlib.colors import FuncNorm

    return FuncNorm((lambda c: np.sign(c) * np.sqrt(np.abs(c)), lambda r: np.sign(r) * r**2), vmin=-1, vmax=1)


def _mark_orders(ax: Axes, starts: npt.NDArray[np.int64]) -> None:
    """Ticks that name the order of each block, and thin lines between the blocks."""
    for start in starts[1:-1].tolist():
        for line in (ax.axhline, ax.axvline):
            line(start - 0.5, color=canvas.NEUTRAL, linewidth=0.4)
    middle = (starts[:-1] + starts[1:] - 1) / 2
    wide = np.diff(starts) >= 0.06 * starts[-1]  # others have no room for a number
    labels = [str(s) if w else "" for s, w in enumerate(wide)]
    for axis in (ax.xaxis, ax.yaxis):
        canvas.tick_labels(axis, middle, labels)
    ax.tick_params(length=0)
    ax.set_xlabel("order")
    ax.set_ylabel("order")


# -- the cube ---------------------------------------------------------------------------------------------------------


def cube(measures: Measures, *, ax: Any = None) -> Any:
    """The Boolean cube of two or three bits, deformed by their dependence.

    The area of a vertex is its probability; those below two percent have no name. The edges of the cube are vectors
    whose angles are those of the bits: ``arccos`` of their correlation. Independent bits give a straight cube; bits
    that agree more and more fold it up along its diagonal.

    Parameters
    ----------
    measures : measure, array of shape (2,) * d with d = 2 or 3, or mapping from titles to these
        A mapping gives one panel for each entry.
    ax : matplotlib axes, or as many of them as there are measures, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib axes, or array of axes, shape (n_measures,), for a mapping

    Examples
    --------
    >>> import hoeffding
    >>> ax = hoeffding.plots.cube(hoeffding.Uniform(3))
    >>> [text.get_text() for text in ax.texts]
    ['000', '001', '010', '011', '100', '101', '110', '111']
    """
    given = _read(measures)
    frames = [_edges(measure) for _, measure in given]
    panels = canvas.panels(ax, len(given), 2.6, 2.8)
    for panel, (title, measure), edges in zip(panels, given, frames, strict=True):
        _draw_cube(panel, measure.pmf(), edges)
        panel.set_title(title, fontsize="medium", parse_math=False)
    return _as_given(measures, panels)


def _edges(measure: Measure) -> FloatArray:
    """Vectors of length one, the rows, with the correlations of the bits as their inner products, on paper."""
    d = measure.d
    if d not in PROJECTION:
        raise ValueError(f"measures: a cube of {d} bits has no picture; give a measure of 2 or 3 bits")
    p = measure.pmf()
    bits = np.indices(p.shape).reshape(d, -1)
    centred = bits - (bits @ p.ravel())[:, None]
    covariance = (centred * p.ravel()) @ centred.T
    spread = np.sqrt(np.diag(covariance))
    constant = np.flatnonzero(spread == 0)
    if constant.size:
        raise ValueError(f"measures: bit {constant[0]} is constant, it has no correlations to draw")
    values, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T  # rounding may put a zero below zero
    return np.asarray(root @ PROJECTION[d])


def _draw_cube(ax: Axes, pmf: FloatArray, edges: FloatArray) -> None:
    d = pmf.ndim
    vertices = np.indices(pmf.shape).reshape(d, -1).T
    xy = (vertices - 0.5) @ edges
    for k, vertex in enumerate(vertices):
        for i in np.flatnonzero(vertex == 0).tolist():
            ends = [k, k + 2 ** (d - 1 - i)]
            ax.plot(*xy[ends].T, color=canvas.NEUTRAL, linewidth=1.0, zorder=1)
    areas = LARGEST_VERTEX * pmf.ravel()
    ax.scatter(xy[:, 0], xy[:, 1], s=areas, color=canvas.NEGATIVE, alpha=0.85, linewidths=0, zorder=2)
    named = pmf.ravel() >= LEAST_NAMED
    for vertex, place, area in zip(vertices[named], xy[named], areas[named], strict=True):
        outward = place / max(float(np.hypot(*place)), 1e-9)
        ax.annotate(
            "".join(map(str, vertex)),
            place,
            xytext=tuple((np.sqrt(area / np.pi) + 9) * outward),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize="small",
        )
    canvas.drawing(ax, 1.3 * float(np.abs(xy).max()))


# -- two vectors ------------------------------------------------------------------------------------------------------


def angle(measures: Measures, sets: tuple[Iterable[int], Iterable[int]] = ((0,), (1,)), *, ax: Any = None) -> Any:
    """Two functions of the basis as vectors of length one: the cosine of their angle is their inner product.

    For two fair bits that is their correlation.

    Parameters
    ----------
    measures : measure, array of shape (2,) * d, or mapping from titles to these
        A mapping gives one panel for each entry.
    sets : two sequences of feature indices
        The sets S and T of psi_S and psi_T; both must be shattered.
    ax : matplotlib axes, or as many of them as there are measures, optional
        By default those of a new figure.

    Returns
    -------
    matplotlib axes, or array of axes, shape (n_measures,), for a mapping

    Examples
    --------
    >>> import hoeffding
    >>> ax = hoeffding.plots.angle(hoeffding.plots.aligned(2, 0.5))
    >>> ax.get_title()
    'cosine 0.50, angle 60°'
    """
    given = _read(measures)
    cosines = [_cosine(measure, sets) for _, measure in given]
    panels = canvas.panels(ax, len(given), 2.4, 2.7)
    names = [r"$\psi_{" + ",".join(str(i) for i in sorted(s)) + "}$" for s in map(tuple, sets)]
    for panel, (title, _), cosine in zip(panels, given, cosines, strict=True):
        _draw_angle(panel, cosine, names)
        words = f"cosine {canvas.number_format([1.0])(cosine)}, angle {np.degrees(np.arccos(cosine)):.0f}°"
        panel.set_title(f"{title}\n{words}" if title else words, fontsize="medium", parse_math=False)
    return _as_given(measures, panels)


def _cosine(measure: Measure, sets: tuple[Iterable[int], Iterable[int]]) -> float:
    pair = tuple(sets)
    if len(pair) != 2:
        raise ValueError(f"sets={sets!r}: expected two sets of feature indices, such as ((0,), (1,))")
    chosen = [as_subset(s, measure.d) for s in pair]
    for s in chosen:
        if not measure.is_shattered(s):
            raise ValueError(f"sets={sets!r}: the measure does not shatter {s}, so it has no psi")
    union = tuple(sorted({i for s in chosen for i in s}))
    p = measure.marginal(union)
    psi = [basis.psi(measure, s).reshape([2 if i in s else 1 for i in union]) for s in chosen]
    inner = float((p * psi[0] * psi[1]).sum())
    return float(np.clip(inner / (basis.norm(measure, chosen[0]) * basis.norm(measure, chosen[1])), -1.0, 1.0))


def _draw_angle(ax: Axes, cosine: float, names: list[str]) -> None:
    from matplotlib.patches import Arc

    theta = float(np.arccos(cosine))
    left = min(0.0, np.cos(theta)) - 0.3
    for end in ((1.0, 0.0), (np.cos(theta), np.sin(theta))):
        first = end == (1.0, 0.0)
        ax.annotate(
            "",
            end,
            xytext=(0, 0),
            arrowprops={
                "arrowstyle": "-|>",
                "color": canvas.NEGATIVE if first else canvas.POSITIVE,
                "linewidth": 2,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
    ax.text(1.03, -0.12, names[0], color=canvas.NEGATIVE, ha="center", va="center")
    away = 1.14
    ax.text(
        away * np.cos(theta), away * np.sin(theta) + 0.04, names[1], color=canvas.POSITIVE, ha="center", va="center"
    )
    if theta > LEAST_ANGLE:
        ax.text(
            0.4 * np.cos(theta / 2),
            0.4 * np.sin(theta / 2),
            r"$\theta$",
            color=canvas.NEUTRAL,
            ha="center",
            va="center",
        )
    ax.add_patch(Arc((0, 0), 0.6, 0.6, theta1=0, theta2=np.degrees(theta), color=canvas.NEUTRAL, linestyle="--"))
    ax.plot(0, 0, "o", color=canvas.foreground(), markersize=3)
    canvas.drawing(ax, (left, 1.35), (-0.3, 1.35))


# -- inside -----------------------------------------------------------------------------------------------------------


def _read(measures: Measures) -> list[tuple[str, Measure]]:
    """Titles and measures; a single measure has no title."""
    if not isinstance(measures, Mapping):
        return [("", as_measure(measures))]
    if not measures:
        raise ValueError("measures: is empty; give a measure, or {title: measure, ...}")
    return [(str(title), as_measure(measure)) for title, measure in measures.items()]


def _as_given(measures: Measures, panels: npt.NDArray[np.object_]) -> Any:
    """One axes for one measure, an array for a mapping."""
    return panels if isinstance(measures, Mapping) else panels[0]
