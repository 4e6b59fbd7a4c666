"""How facts are said on the page."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, log10
from typing import Any

Facts = dict[str, Any]

KINDS = {"tree": "trees", "mlp": "network"}


def models(found: Facts) -> Iterator[tuple[str, str, Facts, Facts]]:
    """Key, kind, facts of the data set and facts of the model, for every model."""
    for key, data in found.items():
        for kind in KINDS:
            if kind in data:
                yield key, kind, data, data[kind]


def title(key: str, data: Facts) -> str:
    """A data set as the paper calls it."""
    return f"{key} {data['name']}"


def minutes(seconds: float) -> str:
    """A time in whole minutes, or in seconds if it is short."""
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


def pair(found: Any, paper: Any) -> str:
    """Ours, and the paper's in brackets."""
    shown = [integer(value) if isinstance(value, int) else str(value) for value in (found, paper)]
    return f"{shown[0]} ({shown[1]})"


def shape(shape: list[int]) -> str:
    """Rows and columns."""
    return " × ".join(map(integer, shape))


def integer(n: int) -> str:
    """With commas."""
    return f"{n:,}"


def seconds_of_one(seconds: float) -> str:
    """The time of a single run: two digits are enough."""
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.2g}"


def seconds_of(found: Facts | None) -> str:
    """Mean, with three digits, and deviation, with as many decimals."""
    if found is None:
        return "-"
    mean, deviation = found["mean"], found["deviation"]
    decimals = max(0, 2 - floor(log10(mean)))
    return f"{mean:.{decimals}f}" + ("" if deviation is None else f" ± {deviation:.{decimals}f}")
