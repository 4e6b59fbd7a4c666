"""``hoeffding demo``: from real data that come with the package to a forest, its exact decomposition, and a report."""

# Annotations are evaluated here (no postponed annotations): typer reads them as objects.

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hoeffding.cli.explain import check_writable
from hoeffding.cli.summary import clean, print_summary
from hoeffding.decomposition import Decomposition
from hoeffding.explain import decompose
from hoeffding.machine import readable_bytes
from hoeffding.progress import reporting, say

REPORT = Path("hoeffding-demo.html")
TREES, DEPTH = 100, 5
FOREST = f"random forest of {TREES} trees of depth {DEPTH}, trained on three quarters of the rows"
HELD_OUT = 4  # every so many rows


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The report: .html, .md or .json.")] = REPORT,
) -> None:
    """Train a random forest on 5644 mushrooms, decompose it exactly, print what it is made of, and write a report."""
    from rich.console import Console

    from hoeffding import report

    check_writable(output)
    with reporting():
        result, details = demo_result()
        say("Gathering the facts")
        facts = report.facts(
            result, model=FOREST, title="What tells poisonous mushrooms from edible ones", details=details
        )
        say(f"Writing {output}")
        report.write(facts, output)
    console = Console(highlight=False, markup=False)
    print_summary(console, facts)
    how = "; open it in a browser" if output.suffix in {".html", ".htm"} else ""
    console.print(f"\nWritten: {clean(str(output))} ({readable_bytes(output.stat().st_size)}){how}.")


def demo_result() -> tuple[Decomposition, dict[str, str]]:
    """The decomposition that the demo shows, and what to say about it."""
    from sklearn.ensemble import RandomForestClassifier

    from hoeffding.datasets import load_demo

    say("Growing a forest")
    data = load_demo()
    held: Any = np.arange(len(data.y)) % HELD_OUT == 0
    forest = RandomForestClassifier(TREES, max_depth=DEPTH, random_state=0, n_jobs=-1)
    labels = np.array(data.classes)[data.y.astype(int)]
    forest.fit(data.X[~held], labels[~held])
    accuracy = forest.score(data.X[held], labels[held])
    say("Decomposing it")
    start = time.perf_counter()
    result = decompose(forest, data.X, feature_names=data.feature_names, groups=dict(data.groups))
    seconds = time.perf_counter() - start
    details = {
        "Data": f"{data.description} {data.licence}",
        "Held out": f"accuracy {accuracy:.4f} ({int(held.sum())} rows)",
        "Explained": f"the probability that a mushroom is {data.classes[1]}",
        "Time": f"{seconds:.2f} s for all components",
    }
    return result, details
