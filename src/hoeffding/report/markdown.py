"""Facts as a page of Markdown: what was explained, and the largest numbers of each kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hoeffding.report.words import headline, integer, number, percent, summary

Facts = dict[str, Any]

LISTED = 10
SPECIAL = re.compile(r"([\\`*_\[\]|<>&~$])")


def to_markdown(facts: Facts) -> str:
    """The page as GitHub's Markdown; names are escaped."""
    return "\n\n".join(_blocks(facts)) + "\n"


def _blocks(facts: Facts) -> Iterator[str]:
    yield f"# {escaped(facts['title'])}"
    yield "\n".join(f"- **{escaped(n)}** {escaped(what)}: {escaped(text)}" for n, what, text in headline(facts))
    yield _table(["", ""], [(label, text) for label, text in summary(facts)], "::")
    for output in facts["outputs"]:
        yield from _output(facts, output, len(facts["outputs"]) > 1)


def _output(facts: Facts, output: Facts, several: bool) -> Iterator[str]:
    names = [player["name"] for player in facts["players"]]
    if several:
        yield f"## {escaped(output['name'])}"
    yield f"Mean {number(output['mean'])}, variance {number(output['variance'])}."
    orders = [(str(k), percent(s)) for k, s in enumerate(output["share_by_order"], start=1)]
    yield _table(["order", "share of variance"], orders)
    if output["importance"] is not None:
        yield _table(["feature", "importance", "interval"], _importance(output["importance"], names))
    listed = output["terms"]["listed"][:LISTED]
    rows = [(" × ".join(names[p] for p in t["players"]), percent(t["share"]), percent(t["structural"])) for t in listed]
    yield f"The largest of {integer(output['terms']['n'])} terms:"
    yield _table(["term", "share of variance", "structural"], rows)


def _importance(importance: Facts, names: Sequence[str]) -> list[tuple[str, ...]]:
    order = sorted(range(len(names)), key=lambda p: -(importance["value"][p] or 0.0))[:LISTED]
    low, high = importance["low"], importance["high"]
    return [
        (
            names[p],
            percent(importance["value"][p]),
            "" if low is None else f"{percent(low[p])} to {percent(high[p])}",
        )
        for p in order
    ]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], align: str = ":-") -> str:
    ruler = [":--" if c == ":" else "--:" for c in align.ljust(len(heads), "-")]
    lines = [heads, ruler, *([escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    r"""Text that Markdown leaves alone.

    >>> print(escaped("a|b <i> *c*"))
    a\|b \<i\> \*c\*
    """
    return SPECIAL.sub(r"\\\1", " ".join(str(text).split()))
