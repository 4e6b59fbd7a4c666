"""The figures of the paper, drawn from facts (importance) or from closed forms (geometry)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.basis import gram_matrix
from hoeffding.measure import Table
from hoeffding.reproduce.explanations import DEEP, KERNEL, KERNEL_ALL, OURS, OURS_EXACT, TREE_HFD, TREE_SHAP
from hoeffding.reproduce.printed import PRINTED
from hoeffding.subsets import SubsetFamily

Facts = dict[str, Any]
FloatArray = npt.NDArray[np.float64]

MATPLOTLIB_MISSING = 'figures need matplotlib: python -m pip install "hoeffding[reproduce]"'
COLOURS = ("#0b3c7d", "#e08214", "#5aae61")
COLOUR_OF = {
    OURS: "#0b3c7d",
    OURS_EXACT: "#74a9cf",
    TREE_SHAP: "#e08214",
    TREE_HFD: "#5aae61",
    KERNEL: "#9970ab",
    KERNEL_ALL: "#d0b3dd",
    DEEP: "#e7b800",
}
RESOLUTION = 90  # dots per inch
CUBE_CORRELATIONS = (0.0, 0.3, 0.7, 0.97)
GRAM_CORRELATIONS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.95)
GRAM_FEATURES = 10
ANGLE_SHARES = (0.25, 0.3125, 0.375, 0.4975)  # the paper's q, the probability of 00 and of 11


def draw(facts: Facts, folder: Path) -> dict[str, str]:
    """Draw every figure that the facts allow into a folder; names to file names."""
    drawings: dict[str, Callable[[], Any]] = {"cube": cube, "angle": angle, "gram": gram}
    if facts["importance"]:
        drawings["importance"] = lambda: importance(facts["importance"])
    if facts["local"]:
        drawings["local"] = lambda: local(facts["local"])
    if "random_rows" in facts:
        drawings["random_rows"] = lambda: random_rows(facts["random_rows"])
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, drawing in drawings.items():
        figure = drawing()
        files[name] = f"{name}.png"
        figure.savefig(folder / files[name], dpi=RESOLUTION, metadata={"Software": None})
    return files


def importance(panels: dict[str, Facts]) -> Any:
    """Global importance of the ten first features, one panel for each data set."""
    figure, axes = _figure(len(panels), 3, (4.1, 3.6))
    for ax, (key, panel) in zip(axes, panels.items(), strict=True):
        _bars(ax, panel, "share of importance")
        ax.set_title(f"{PRINTED[key].name} ({key})")
    return figure


def local(panels: dict[str, Facts]) -> Any:
    """Local attributions of one row, one panel for each data set."""
    figure, axes = _figure(len(panels), 2, (6.0, 4.6))
    for ax, (key, panel) in zip(axes, panels.items(), strict=True):
        _bars(ax, panel, "normalised attribution")
        ax.set_title(f"{PRINTED[key].name} ({key}), row {panel['row']}")
    return figure


def random_rows(panels: list[Facts]) -> Any:
    """Local attributions of random rows of Entacmaea."""
    figure, axes = _figure(len(panels), 3, (4.1, 3.4))
    for ax, panel in zip(axes, panels, strict=True):
        _bars(ax, panel, "normalised attribution")
        ax.set_title(f"row {panel['row']}")
    return figure


def _bars(ax: Any, panel: Facts, label: str) -> None:
    """Horizontal bars: features down, methods side by side."""
    methods, features = panel["values"], panel["features"]
    thickness = 0.84 / len(methods)
    for m, (name, values) in enumerate(methods.items()):
        at = np.arange(len(features)) - 0.42 + (m + 0.5) * thickness
        ax.barh(at, values, thickness, label=name, color=COLOUR_OF[name])
    ax.set_yticks(np.arange(len(features)), [_shortened(name) for name in features], fontsize=8)
    ax.invert_yaxis()
    ax.axvline(0, color="black", linewidth=0.6)
    ax.set_xlabel(label, fontsize=8)
    ax.tick_params(axis="x", labelsize=8)
    ax.legend(fontsize=7, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)


def _shortened(name: str, longest: int = 26) -> str:
    return name if len(name) <= longest else name[: longest // 2 - 1] + "…" + name[-longest // 2 :]


# -- geometry ---------------------------------------------------------------------------------------------------------


def equicorrelated(d: int, correlation: float) -> Table:
    """Fair bits any two of which have this correlation: all equal with that probability, else independent."""
    p = np.full((2,) * d, (1 - correlation) / 2**d)
    p[(0,) * d] += correlation / 2
    p[(1,) * d] += correlation / 2
    return Table(p)


def cube() -> Any:
    """The mass of three bits moves to 000 and 111 as their correlation grows."""
    figure, axes = _figure(len(CUBE_CORRELATIONS), len(CUBE_CORRELATIONS), (2.6, 2.9), projection="3d")
    corners = list(product((0, 1), repeat=3))
    for ax, correlation in zip(axes, CUBE_CORRELATIONS, strict=True):
        p = equicorrelated(3, correlation).pmf()
        for a, b in product(corners, corners):
            if sum(x != y for x, y in zip(a, b, strict=True)) == 1 and a < b:
                ax.plot(*zip(a, b, strict=True), color="#bbbbbb", linewidth=1, zorder=1)
        mass = np.array([p[corner] for corner in corners])
        ax.scatter(*np.array(corners).T, s=900 * mass, c=COLOURS[0], depthshade=False, zorder=2)
        for corner in corners:
            ax.text(*(c + 0.13 * (2 * c - 1) for c in corner), "".join(map(str, corner)), fontsize=7, ha="center")
        ax.set_title(f"correlation {correlation:g}", fontsize=9)
        ax.set_axis_off()
        ax.view_init(18, -62)
        ax.set_box_aspect((1, 1, 1), zoom=1.15)
    return figure


def angle() -> Any:
    """The angle between psi_1 and psi_2 of two fair bits is the arc cosine of their correlation."""
    figure, axes = _figure(len(ANGLE_SHARES), len(ANGLE_SHARES), (2.6, 2.9))
    for ax, q in zip(axes, ANGLE_SHARES, strict=True):
        G = gram_matrix(Table([[q, 0.5 - q], [0.5 - q, q]]), SubsetFamily.up_to_order(2, 1))
        theta = float(np.arccos(G[1, 2] / np.sqrt(G[1, 1] * G[2, 2])))
        for direction, name, colour in ((0.0, r"$\psi_1$", COLOURS[0]), (theta, r"$\psi_2$", COLOURS[1])):
            tip = (np.cos(direction), np.sin(direction))
            ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 2})
            ax.text(1.12 * tip[0], 1.12 * tip[1] - 0.09, name, color=colour, ha="center")
        arc = np.linspace(0, theta, 60)
        ax.plot(0.3 * np.cos(arc), 0.3 * np.sin(arc), "--", color=COLOURS[2])
        ax.text(0.5 * np.cos(theta / 2), 0.5 * np.sin(theta / 2), f"{np.degrees(theta):.0f}°", color=COLOURS[2])
        ax.set_title(f"correlation {np.cos(theta):.2f}", fontsize=9)
        ax.set(xlim=(-0.2, 1.3), ylim=(-0.25, 1.25), aspect="equal")
        ax.grid(visible=True, color="#eeeeee")
        ax.tick_params(labelsize=7)
    return figure


def gram() -> Any:
    """Gram matrices of all psi_S of ten bits, of unit variance, as the correlation of the bits grows."""
    from matplotlib.colors import LogNorm

    family = SubsetFamily.up_to_order(GRAM_FEATURES, GRAM_FEATURES)
    figure, axes = _figure(len(GRAM_CORRELATIONS), 3, (3.5, 3.6))
    for ax, correlation in zip(axes, GRAM_CORRELATIONS, strict=True):
        image = ax.imshow(
            gram_sizes(correlation, family), norm=LogNorm(1e-4, 1), cmap="magma", interpolation="antialiased"
        )
        ax.set_title(f"correlation {correlation:g}", fontsize=9)
        ax.set_xticks([])
        ax.set_yticks([])
    figure.colorbar(image, ax=axes, shrink=0.6, label="absolute correlation of two basis functions")
    return figure


def gram_sizes(correlation: float, family: SubsetFamily) -> FloatArray:
    """``|G_ST| / sqrt(G_SS G_TT)``, what is below 1e-4 set to it, for the logarithmic scale."""
    G = gram_matrix(equicorrelated(GRAM_FEATURES, correlation), family)
    norm = np.sqrt(np.diag(G))
    return np.asarray(np.maximum(np.abs(G) / np.outer(norm, norm), 1e-4))


def _figure(panels: int, columns: int, size: tuple[float, float], projection: str | None = None) -> tuple[Any, Any]:
    """A figure with room for the panels, apart from pyplot's list of figures."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(MATPLOTLIB_MISSING) from error
    columns = min(columns, panels)
    rows = -(-panels // columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    settings = {"projection": projection} if projection else None
    axes = figure.subplots(rows, columns, squeeze=False, subplot_kw=settings).ravel()
    for ax in axes[panels:]:
        ax.set_visible(False)
    return figure, axes[:panels]
