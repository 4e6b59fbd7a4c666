"""All numbers of the reproduction, as dictionaries that JSON can hold; pages and figures are made from them."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from hoeffding import _kernels
from hoeffding.decomposition import Decomposition
from hoeffding.machine import n_threads
from hoeffding.reproduce import beyond, cache, explanations, tables
from hoeffding.reproduce.models import SEED, BlackBox, black_box
from hoeffding.reproduce.printed import PRINTED, Kind

Facts = dict[str, Any]

PACKAGES = ("hoeffding", "numpy", "scipy", "scikit-learn", "xgboost-cpu", "xgboost", "torch", "shap", "treehfd")
DIGITS = 8  # kept of every number


def build(key: str, say: Callable[[str], None] = print, pipeline: bool = True) -> Facts:
    """Train, decompose and compare on a data set; ``run`` says on what machine, how long, and what things cost.

    ``pipeline`` says whether to time that of the paper too.
    """
    start, printed = time.perf_counter(), PRINTED[key]
    with threadpool_limits(n_threads(-1)), cache.counted() as costs:
        say(f"{printed.name}: rows")
        facts = tables.data_set(key) | {"identified": beyond.identified(key)}
        for kind in printed.score:
            facts[kind] = model(key, kind, say, pipeline)
    seconds = time.perf_counter() - start
    facts["run"] = {"machine": machine(), "seed": SEED, "seconds": seconds, "costs": costs}
    rounded: Facts = _rounded(facts)
    return rounded


def model(key: str, kind: Kind, say: Callable[[str], None], pipeline: bool) -> Facts:
    """All numbers of one model."""
    name = f"{PRINTED[key].name}, {'trees' if kind == 'tree' else 'network'}"
    say(f"{name}: training, or the model from the cache")
    box = black_box(key, kind)
    say(f"{name}: decompositions")
    facts, fitted = tables.fits(box)
    facts["next_order"] = beyond.next_order(box)
    result = fitted["shattered"].decomposition_
    facts |= _of_trees(box, fitted, result) if kind == "tree" else _of_network(box, result)
    say(f"{name}: times")
    facts["seconds"] = tables.times(box, pipeline)
    return facts


def _of_trees(box: BlackBox, fitted: Facts, result: Decomposition) -> Facts:
    facts: Facts = {"orthogonality": tables.orthogonality(box, fitted)}
    exact = None
    if box.key == "D":  # too many sets for the exact engine, but only four variables
        facts["sites"] = beyond.by_sites(box)
    else:
        facts["exact"], exact = beyond.exact(box)
    return facts | {"importance": explanations.importance(box, result, exact)}


def _of_network(box: BlackBox, result: Decomposition) -> Facts:
    facts: Facts = {"local": explanations.local(box, result, explanations.held_out_row(box))}
    facts["other_seeds"] = tables.other_seeds(box.key)
    if box.key == "A":
        facts["random_rows"] = explanations.random_rows(box, result)
        facts["gram_distance"] = tables.gram_distance(box, PRINTED[box.key].order)
    return facts


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
