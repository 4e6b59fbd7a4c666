"""The page: what is said about the facts, and its files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hoeffding.reproduce import figures, sections, sections_beyond
from hoeffding.reproduce.blocks import Block, Heading, Items, Table, Text, to_html, to_markdown
from hoeffding.reproduce.wording import minutes, models

Facts = dict[str, Any]

VERSION = 1  # of the facts
FACTS = "facts.json"

COSTS = {"treeshap": "TreeSHAP", "treehfd": "treehfd", "kernelshap": "KernelSHAP", "deepshap": "DeepSHAP"}


def read(folder: Path) -> Facts:
    """The facts of the page in a folder, by data set; none if there is no page."""
    path = folder / FACTS
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        version, found = kept["version"], dict(kept["data_sets"])
    except (ValueError, KeyError, TypeError):
        version, found = None, {}
    if version != VERSION:
        raise ValueError(f"{path}: not the facts of a page of this version; delete the folder or give another one")
    return found


def save(found: Facts, folder: Path) -> None:
    """Write the facts into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"version": VERSION, "data_sets": dict(sorted(found.items()))}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    (folder / FACTS).write_text(text, encoding="utf-8")


def write(found: Facts, folder: Path) -> Path:
    """Write ``README.md``, ``index.html``, ``facts.json`` and the figures into a folder; the path of the HTML file."""
    found = dict(sorted(found.items()))
    save(found, folder)
    files = figures.draw(found, folder)
    page = list(blocks(found, files))
    (folder / "README.md").write_text(to_markdown(page), encoding="utf-8")
    (folder / "index.html").write_text(to_html(page), encoding="utf-8")
    return folder / "index.html"


def blocks(found: Facts, files: dict[str, str]) -> Iterator[Block]:
    """The whole page of the facts by data set; ``files`` are the figures that were drawn."""
    yield from _introduction(found)
    yield from sections.data_sets(found)
    yield from sections.scores(found)
    yield from sections.seeds(found)
    yield from sections.times(found)
    yield from sections.settings(found)
    yield from sections.importance(found, files)
    yield from sections.local(found, files)
    yield from sections.entacmaea(found, files)
    yield from sections.geometry(files)
    yield from sections.orthogonality(found)
    yield from sections_beyond.identified(found)
    yield from sections_beyond.exact(found, files)
    yield from sections_beyond.by_sites(found)
    yield from sections_beyond.next_order(found)
    yield from _costs(found)


def _introduction(found: Facts) -> Iterator[Block]:
    yield Heading("The paper, reproduced", 1)
    yield Text(
        "Every table and figure of the paper (B. Ferrere, N. Bousquet, F. Gamboa, J.-M. Loubes and J. Muré, Fourier "
        "Analysis on the Boolean Hypercube via Hoeffding Functional Decomposition, UAI 2026), computed again from "
        "the raw data, beside what is printed there; then what was not in reach of the paper. `hoeffding reproduce` "
        "writes this page."
    )
    seconds = sum(data["run"]["seconds"] for data in found.values())
    reused = sum(cost["seconds"] for cost in _all_costs(found).values() if cost["reused"])
    words = f"It took {minutes(seconds)}"
    if reused:
        words += (
            f", and {minutes(reused)} before for models and attributions of other packages, which came from the cache: "
            f"{minutes(seconds + reused)} in all"
        )
    if sections.busy(found):
        words += "; the machine had much other work to do meanwhile, so that all times here are long"
    yield Text(f"{words}. Every random choice has a seed, {next(iter(found.values()))['run']['seed']} everywhere.")
    machines: dict[str, list[str]] = {}
    for key, data in found.items():
        machines.setdefault(_machine(data["run"]["machine"]), []).append(key)
    yield Items([f"{', '.join(keys)}: {machine}." for machine, keys in machines.items()])


def _machine(machine: Facts) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        f"{machine['threads']} threads, {machine['processor']}, {machine['system']}, kernels {machine['kernels']}; "
        f"Python {machine['python']}, {packages}"
    )


def _all_costs(found: Facts) -> Facts:
    return {name: cost for data in found.values() for name, cost in data["run"]["costs"].items()}


def _costs(found: Facts) -> Iterator[Block]:
    yield Heading("Where the time went")
    groups: dict[str, float] = {}
    for name, cost in _all_costs(found).items():
        kind = next((words for start, words in COSTS.items() if name.startswith(start)), "training the models")
        groups[kind] = groups.get(kind, 0.0) + cost["seconds"]
    rows = [[kind, minutes(seconds)] for kind, seconds in sorted(groups.items(), key=lambda item: -item[1])]
    pipeline = sum(
        timed["mean"] * (timed["runs"] + (timed["runs"] > 1))
        for _, _, _, model in models(found)
        if (timed := model["seconds"]["pipeline"])
    )
    if pipeline:
        rows.append(["timing the paper's pipeline", minutes(pipeline)])
    yield Table(["what", "time"], rows)
    yield Text("Everything else, all decompositions of this page among it, takes the rest.")
