"""What all pictures share: axes, colours, labels and numbers. Nothing here knows a decomposition.

No function of this package shows a figure, changes the size of one that it was given, or touches ``rcParams`` or the
backend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

FloatArray = npt.NDArray[np.float64]

# Vermilion and blue can be told apart with every common kind of colour vision; so can the series (Okabe and Ito).
POSITIVE, NEGATIVE, NEUTRAL = "#D55E00", "#0072B2", "#8C8C8C"
SMALL_PRINT = "#757575"  # on white and on black
SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")

LONGEST_LABEL = 40  # characters; longer names lose their middle
NOTE_WIDTH = 60  # characters in a line
LETTER_WIDTH = 0.075  # inches, roughly
BARS_WIDTH = 3.2  # inches beside the labels
PANELS_IN_A_ROW = 4


def pyplot() -> Any:
    """Import ``matplotlib.pyplot``; where matplotlib is missing the error names the extra that brings it."""
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != "matplotlib":
            raise
        message = 'hoeffding.plots needs matplotlib: python -m pip install "hoeffding[plot]"'
        raise ModuleNotFoundError(message, name="matplotlib") from error
    return pyplot


# -- axes -------------------------------------------------------------------------------------------------------------


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The axes given, or those of a new figure of so many inches."""
    plt = pyplot()
    if ax is None:
        figure = plt.figure(figsize=(width, height), layout="constrained")
        new: Axes = figure.add_subplot()
        return new
    return _checked(ax, "ax")


def width_beside(labels: Sequence[str]) -> float:
    """Inches of a figure that has these labels on its left and room for bars beside them."""
    return 1.0 + BARS_WIDTH + LETTER_WIDTH * max(map(len, labels), default=0)


def panels(ax: Any, n: int, width: float, height: float) -> npt.NDArray[np.object_]:
    """``n`` axes, shape ``(n,)``: those given, or those of a new figure, each of so many inches."""
    plt = pyplot()
    out = np.empty(n, object)
    if ax is None:
        columns = min(n, PANELS_IN_A_ROW) if n != PANELS_IN_A_ROW + 2 else 3  # six are two rows of three
        rows = -(-n // columns)
        figure = plt.figure(figsize=(width * columns, height * rows), layout="constrained")
        out[:] = [figure.add_subplot(rows, columns, k + 1) for k in range(n)]
        return out
    given = np.ravel(np.asarray(ax, object))
    if len(given) != n:
        raise ValueError(f"ax: {n} panels are drawn, expected as many axes, got {len(given)}")
    out[:] = [_checked(one, f"ax[{k}]") for k, one in enumerate(given)]
    return out


def _checked(ax: Any, name: str) -> Axes:
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes) or ax.name != "rectilinear":
        raise TypeError(f"{name}={ax!r}: expected matplotlib axes with straight x and y, as plt.subplots() gives")
    return ax


def drawing(ax: Axes, x: float | tuple[float, float], y: tuple[float, float] | None = None) -> None:
    """Axes for a drawing without scales: no frame, no ticks, as long as wide, and at least these limits in view."""
    across = x if isinstance(x, tuple) else (-x, x)
    ax.update_datalim(list(zip(across, y or across, strict=True)))
    ax.margins(0)
    ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()
    ax.set_xticks([])
    ax.set_yticks([])
    open_frame(ax, *ax.spines)


def open_frame(ax: Axes, *sides: str) -> None:
    """Hide sides of the frame that carry no scale."""
    for side in sides:
        ax.spines[side].set_visible(False)


def foreground() -> Any:
    """The colour of lines and text in the style in use, so that dark styles work."""
    return pyplot().rcParams["text.color"]


def note(ax: Axes, *pieces: str) -> None:
    """Small print above the axes, on the left; empty pieces are left out, long ones go below each other."""
    said = [piece for piece in pieces if piece]
    text = "; ".join(said)
    if len(text) > NOTE_WIDTH:
        text = "\n".join(said)
    ax.set_title(text, loc="left", fontsize="small", color=SMALL_PRINT, parse_math=False)


# -- colours ----------------------------------------------------------------------------------------------------------


def sign_colors(values: FloatArray) -> list[str]:
    """One of two colours for each value."""
    return [POSITIVE if v >= 0 else NEGATIVE for v in values]


def signed_map() -> Colormap:
    """Blue over white to vermilion; grey for NaN. Made here, not registered."""
    from matplotlib.colors import LinearSegmentedColormap

    made = LinearSegmentedColormap.from_list("hoeffding_signed", [NEGATIVE, "white", POSITIVE])
    return made.with_extremes(bad="#DDDDDD")


def order_map() -> Colormap:
    """Blue over violet to vermilion, for values from low to high; grey for values without an order. Not registered."""
    from matplotlib.colors import LinearSegmentedColormap

    made = LinearSegmentedColormap.from_list("hoeffding_order", [NEGATIVE, "#8E5AA8", POSITIVE])
    return made.with_extremes(bad=NEUTRAL)


def readable_on(rgba: Any) -> str:
    """Black or white, whichever reads better on a colour, (red, green, blue, ...) between 0 and 1."""
    red, green, blue = rgba[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


# -- labels -----------------------------------------------------------------------------------------------------------


def shorten(name: str, longest: int = LONGEST_LABEL) -> str:
    """A name on one line; a long one loses its middle, since names that are alike differ at their ends.

    >>> shorten("the mean concavity of all cell nuclei", 20)
    'the mean …ell nuclei'
    """
    line = " ".join(name.split())
    if len(line) <= longest:
        return line
    head = (longest - 1) // 2
    return f"{line[:head]}…{line[len(line) - (longest - 1 - head) :]}"


def labels_of(names: Sequence[str], longest: int = LONGEST_LABEL) -> list[str]:
    """Short labels. Names that would become equal show the words in which they differ.

    >>> labels_of(["intensity at 07 o'clock, in lux", "intensity at 08 o'clock, in lux"], 16)
    ['intens…07…in lux', 'intens…08…in lux']
    """
    short = [shorten(name, longest) for name in names]
    for head in sorted({s.split("…")[0] for s in short if short.count(s) > 1}):
        alike = [k for k, s in enumerate(short) if s.split("…")[0] == head]  # so that they are cut in the same way
        for k, text in zip(alike, _show_difference([names[k] for k in alike], longest), strict=True):
            short[k] = text
    return short


def _show_difference(names: list[str], longest: int) -> list[str]:
    lines = [" ".join(name.split()) for name in names]
    before, after = _common_length(lines), _common_length([line[::-1] for line in lines])
    while before and lines[0][before - 1].isalnum():  # back to the start of the word
        before -= 1
    while after and lines[0][-after].isalnum():
        after -= 1
    out = []
    for line in lines:
        middle = shorten(line[before : len(line) - after], longest)
        room = max(longest - len(middle) - 2, 0)
        head, tail = line[:before][: room // 2], line[len(line) - after :][after - (room - room // 2) :]
        out.append(f"{head}…{middle}…{tail}")
    return out if len(set(out)) == len(set(lines)) else lines


def _common_length(lines: list[str]) -> int:
    """How many letters all lines begin with."""
    letters = zip(*lines, strict=False)
    return next((k for k, here in enumerate(letters) if len(set(here)) > 1), min(map(len, lines)))


def tick_labels(axis: Any, positions: npt.ArrayLike, labels: Sequence[str]) -> None:
    """Names at ticks, taken literally: a dollar sign is a dollar sign."""
    axis.set_ticks(np.asarray(positions), labels=list(labels))
    for text in axis.get_ticklabels():
        text.set_parse_math(False)


def write_beside(ax: Axes, ends: FloatArray, texts: Sequence[str], to_right: npt.ArrayLike | None = None) -> None:
    """Texts at the ends of horizontal bars, from the first down: on the right of ends that are not negative.

    The ticks must have their labels already: what they need on the left is not there for bars.
    """
    right = np.asarray(ends) >= 0 if to_right is None else np.asarray(to_right)
    for y, (end, text, is_right) in enumerate(zip(ends, texts, right.tolist(), strict=True)):
        ax.annotate(
            text,
            (float(end), y),
            xytext=(4 if is_right else -4, 0),
            textcoords="offset points",
            ha="left" if is_right else "right",
            va="center",
            fontsize="small",
            parse_math=False,
        )
    ticks = LETTER_WIDTH * max((len(t.get_text()) for t in ax.get_yticklabels()), default=0)
    inches = ax.get_window_extent().width / ax.figure.dpi - ticks
    room = LETTER_WIDTH * max(map(len, texts), default=0) + 0.12
    ax.margins(x=float(np.clip(room / max(min(inches, BARS_WIDTH) - 2 * room, 0.1), 0.05, 1.0)))


def legend(ax: Axes, handles: Sequence[Any], labels: Sequence[str], **where: Any) -> None:
    """A legend whose labels are taken literally, by default on the right of the axes, where it hides nothing."""
    beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    box = ax.legend(list(handles), list(labels), frameon=False, **(where if "loc" in where else beside | where))
    for text in box.get_texts():
        text.set_parse_math(False)


# -- numbers ----------------------------------------------------------------------------------------------------------


def number_format(values: npt.ArrayLike, signed: bool = False) -> Callable[[float], str]:
    """How to write numbers of one picture: all with the same decimals, three digits for the largest.

    >>> write = number_format([0.1234, -0.05], signed=True)
    >>> write(0.1234), write(-0.05), write(-0.0001)
    ('+0.123', '−0.050', '0.000')
    """
    a = np.abs(np.asarray(values, np.float64))
    largest = float(a[np.isfinite(a)].max(initial=0.0))
    plain = largest == 0 or 1e-3 <= largest < 1e6
    decimals = int(np.clip(2 - np.floor(np.log10(largest)), 0, 5)) if plain and largest > 0 else 0

    def write(value: float) -> str:
        text = f"{abs(value):.{decimals}f}" if plain else f"{abs(value):.2e}"
        if float(text) == 0:
            return text
        sign = "−" if value < 0 else "+" if signed else ""
        return sign + text

    return write


def percent(share: float) -> str:
    """A share for people.

    >>> percent(0.1234), percent(-0.004), percent(0.00001)
    ('12.3 %', '−0.4 %', '0.0 %')
    """
    text = f"{abs(100 * share):.1f}"
    return f"{'−' if share < 0 and float(text) != 0 else ''}{text} %"
