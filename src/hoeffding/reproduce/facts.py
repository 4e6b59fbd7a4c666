"""All numbers of the reproduction, as one dictionary that JSON can hold; pages and figures are made from it."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from hoeffding import _kernels
from hoeffding.machine import n_threads
from hoeffding.reproduce import explanations, tables
from hoeffding.reproduce.models import SEED, black_box
from hoeffding.reproduce.printed import PRINTED

Facts = dict[str, Any]

PACKAGES = ("hoeffding", "numpy", "scipy", "scikit-learn", "xgboost-cpu", "xgboost", "torch", "shap", "treehfd")
DIGITS = 8  # kept of every number


def build(keys: Iterable[str], say: Callable[[str], None] = print) -> Facts:
    """Train, decompose and compare on the data sets ``keys``; takes minutes (GB1 and SGEMM: most of them)."""
    start, chosen = time.perf_counter(), sorted(keys)
    facts: Facts = {"machine": machine(), "seed": SEED, "data_sets": {}, "models": {}, "second_order": {}}
    facts |= {"importance": {}, "local": {}}
    with threadpool_limits(n_threads(-1)):
        for key in chosen:
            _add_data_set(facts, key, say)
    facts["seconds"] = time.perf_counter() - start
    rounded: Facts = _rounded(facts)
    return rounded


def _add_data_set(facts: Facts, key: str, say: Callable[[str], None]) -> None:
    printed = PRINTED[key]
    facts["data_sets"][key] = tables.data_set(key)
    facts["models"][key] = {}
    for kind in printed.score:
        say(f"{printed.name}: {'trees' if kind == 'tree' else 'network'}")
        box = black_box(key, kind)
        found, fitted = tables.fits(box)
        facts["models"][key][kind] = found
        say(f"{printed.name}: times")
        found["seconds"] = tables.times(box)
        result = fitted["shattered"].decomposition_
        say(f"{printed.name}: attributions")
        if kind == "tree":
            facts["second_order"][key] = tables.second_order(box, fitted)
            facts["importance"][key] = explanations.importance(box, result)
            continue
        facts["local"][key] = explanations.local(box, result, explanations.held_out_row(box))
        if key == "A":
            facts["random_rows"] = explanations.random_rows(box, result)
            facts["gram_distance"] = tables.gram_distance(box, printed.order)


def machine() -> Facts:
    """What numbers and times depend on besides the data."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    processor = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": processor or platform.processor() or platform.machine(),
        "system": platform.system(),
        "threads": n_threads(-1),
        "kernels": _kernels.active(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _rounded(fact: Any) -> Any:
    if isinstance(fact, dict):
        return {name: _rounded(value) for name, value in fact.items()}
    if isinstance(fact, list):
        return [_rounded(value) for value in fact]
    return float(f"{fact:.{DIGITS}g}") if isinstance(fact, float) else fact
