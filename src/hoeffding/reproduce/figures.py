"""The figures of the paper, drawn from facts (importance) or from closed forms (geometry)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding import plots
from hoeffding.measure import Table
from hoeffding.reproduce.explanations import DEEP, KERNEL, KERNEL_ALL, OURS, OURS_EXACT, TREE_HFD, TREE_SHAP
from hoeffding.reproduce.printed import PRINTED

Facts = dict[str, Any]
FloatArray = npt.NDArray[np.float64]

MATPLOTLIB_MISSING = 'figures need matplotlib: python -m pip install "hoeffding[reproduce]"'
ORDER_COLOURS = ("#0b3c7d", "#4d8fc4", "#a6cbe3", "#e08214", "#f6c48a", "#8c8c8c")
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


def draw(found: Facts, folder: Path) -> dict[str, str]:
    """Draw every figure that the facts by data set allow into a folder; names to file names."""
    drawings: dict[str, Callable[[], Any]] = {"cube": cube, "angle": angle, "gram": gram}
    for name, kind, drawing in (("importance", "tree", importance), ("local", "mlp", local)):
        panels = {key: data[kind][name] for key, data in found.items() if kind in data}
        if panels:
            drawings[name] = partial(drawing, panels)
    if "A" in found:
        drawings["random_rows"] = partial(random_rows, found["A"]["mlp"]["random_rows"])
    drawings["orders"] = partial(orders, shares_by_order(found))
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, drawn in drawings.items():
        files[name] = f"{name}.png"
        drawn().savefig(folder / files[name], dpi=RESOLUTION, metadata={"Software": None})
    return files


def shares_by_order(found: dict[str, Facts]) -> dict[str, list[float]]:
    """The exact shares of variance of the trees, and those of GB1 by sites; model to shares of order 1, 2, ..."""
    return {
        f"{key} {data['name']}{'' if 'exact' in data['tree'] else ', by sites'}": data["tree"][
            "exact" if "exact" in data["tree"] else "sites"
        ]["share"]
        for key, data in found.items()
    }


def importance(panels: dict[str, Facts]) -> Any:
    """Global importance of the ten first features, one panel for each data set."""
    figure, axes = _figure(len(panels), 3, (4.1, 3.6))
    for ax, (key, panel) in zip(axes, panels.items(), strict=True):
        _bars(ax, panel, "share of importance")
        ax.set_title(f"{PRINTED[key].name} ({key})")
    _legend(figure, axes)
    return figure


def local(panels: dict[str, Facts]) -> Any:
    """Local attributions of one row, one panel for each data set."""
    figure, axes = _figure(len(panels), 2, (6.0, 4.6))
    for ax, (key, panel) in zip(axes, panels.items(), strict=True):
        _bars(ax, panel, "normalised attribution")
        ax.set_title(f"{PRINTED[key].name} ({key}), row {panel['row']}")
    _legend(figure, axes)
    return figure


def random_rows(panels: list[Facts]) -> Any:
    """Local attributions of random rows of Entacmaea."""
    figure, axes = _figure(len(panels), 3, (4.1, 3.4))
    for ax, panel in zip(axes, panels, strict=True):
        _bars(ax, panel, "normalised attribution")
        ax.set_title(f"row {panel['row']}")
    _legend(figure, axes)
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
    ax.spines[["top", "right"]].set_visible(False)


def _legend(figure: Any, axes: Any) -> None:
    """One legend for all panels, below them."""
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    methods = [name for name in COLOUR_OF if name in handles]
    figure.legend([handles[m] for m in methods], methods, loc="outside lower center", ncols=len(methods), frameon=False)


def _shortened(name: str, longest: int = 26) -> str:
    return name if len(name) <= longest else name[: longest // 2 - 1] + "…" + name[-longest // 2 :]


# -- variance ---------------------------------------------------------------------------------------------------------


def orders(panels: dict[str, list[float]]) -> Any:
    """The share of variance of each order, one bar for each model."""
    figure, axes = _figure(1, 1, (8.4, 0.9 + 0.42 * len(panels)))
    ax, left = axes[0], np.zeros(len(panels))
    highest = max(map(len, panels.values()))
    for order in range(highest):
        share = np.array([found[order] if order < len(found) else 0.0 for found in panels.values()])
        ax.barh(list(panels), share, left=left, color=ORDER_COLOURS[order % len(ORDER_COLOURS)], label=str(order + 1))
        left += share
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of the variance")
    ax.legend(title="order", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure


# -- geometry ---------------------------------------------------------------------------------------------------------


def cube() -> Any:
    """The mass of three bits moves to 000 and 111 as their correlation grows."""
    figure, axes = _figure(len(CUBE_CORRELATIONS), len(CUBE_CORRELATIONS), (2.6, 2.8))
    plots.cube({f"correlation {r:g}": plots.aligned(3, r) for r in CUBE_CORRELATIONS}, ax=axes)
    return figure


def angle() -> Any:
    """The angle between psi_1 and psi_2 of two fair bits is the arc cosine of their correlation."""
    figure, axes = _figure(len(ANGLE_SHARES), len(ANGLE_SHARES), (2.6, 2.9))
    plots.angle({f"q = {q:g}": Table([[q, 0.5 - q], [0.5 - q, q]]) for q in ANGLE_SHARES}, ax=axes)
    return figure


def gram() -> Any:
    """Gram matrices of all psi_S of ten bits, of unit variance, as the correlation of the bits grows."""
    figure, axes = _figure(len(GRAM_CORRELATIONS), 3, (3.4, 3.5))
    measures = {f"correlation {r:g}": plots.aligned(GRAM_FEATURES, r) for r in GRAM_CORRELATIONS}
    plots.gram(measures, ax=axes)
    return figure


def _figure(panels: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure with room for the panels, apart from pyplot's list of figures."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(MATPLOTLIB_MISSING) from error
    columns = min(columns, panels)
    rows = -(-panels // columns)
    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[panels:]:
        ax.set_visible(False)
    return figure, axes[:panels]
