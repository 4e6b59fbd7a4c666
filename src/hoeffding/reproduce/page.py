"""The page: what is said about the facts, and its files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hoeffding.reproduce import figures, sections, sections_beyond
from hoeffding.reproduce.blocks import Block, Heading, Table, Text, to_html, to_markdown
from hoeffding.reproduce.wording import minutes, models

Facts = dict[str, Any]

COSTS = {"treeshap": "TreeSHAP", "treehfd": "treehfd", "kernelshap": "KernelSHAP", "deepshap": "DeepSHAP"}


def write(facts: Facts, folder: Path) -> Path:
    """Write ``README.md``, ``index.html``, ``facts.json`` and the figures into a folder; the path of the HTML file."""
    folder.mkdir(parents=True, exist_ok=True)
    files = figures.draw(facts, folder)
    page = list(blocks(facts, files))
    (folder / "facts.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(to_markdown(page), encoding="utf-8")
    (folder / "index.html").write_text(to_html(page), encoding="utf-8")
    return folder / "index.html"


def blocks(facts: Facts, files: dict[str, str]) -> Iterator[Block]:
    """The whole page; ``files`` are the figures that were drawn."""
    found = facts["data_sets"]
    yield from _introduction(facts)
    yield from sections.data_sets(found)
    yield from sections.scores(found)
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
    yield from _costs(facts)


def _introduction(facts: Facts) -> Iterator[Block]:
    machine = facts["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    reused = sum(cost["seconds"] for cost in facts["costs"].values() if cost["reused"])
    cached = (
        f" Trained models and the attributions of other packages came from the cache where they were known; they had "
        f"taken {minutes(reused)}, so the whole takes {minutes(facts['seconds'] + reused)} on a machine that knows "
        f"nothing."
        if reused
        else ""
    )
    yield Heading("The paper, reproduced", 1)
    yield Text(
        "Every table and figure of the paper (B. Ferrere, N. Bousquet, F. Gamboa, J.-M. Loubes and J. Muré, Fourier "
        "Analysis on the Boolean Hypercube via Hoeffding Functional Decomposition, UAI 2026), computed again from "
        "the raw data, beside what is printed there; then what was not in reach of the paper. `hoeffding reproduce` "
        "writes this page."
    )
    yield Text(
        f"This run took {minutes(facts['seconds'])} on {machine['threads']} threads of one machine "
        f"({machine['processor']}, {machine['system']}; kernels {machine['kernels']}; Python {machine['python']}; "
        f"{packages}).{cached} All seeds are {facts['seed']}."
    )


def _costs(facts: Facts) -> Iterator[Block]:
    yield Heading("Where the time went")
    groups: dict[str, float] = {}
    for name, cost in facts["costs"].items():
        kind = next((words for start, words in COSTS.items() if name.startswith(start)), "training the models")
        groups[kind] = groups.get(kind, 0.0) + cost["seconds"]
    rows = [[kind, minutes(seconds)] for kind, seconds in sorted(groups.items(), key=lambda item: -item[1])]
    timed = sum(
        found["mean"] * (found["runs"] + (found["runs"] > 1))
        for _, _, _, model in models(facts["data_sets"])
        for name, found in model["seconds"].items()
        if name == "pipeline"
    )
    rows.append(["timing the paper's pipeline", minutes(timed)])
    yield Table(["what", "time"], rows)
    yield Text("Everything else, all decompositions of this page among it, takes the rest.")
