"""What the command line prints of a report's facts: fidelity, variance by order, top features, top interactions."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Facts = dict[str, Any]

SHOWN = 10
SHOWN_OUTPUTS = 3
SHOWN_DROPPED = 4
BAR = 10  # signs
INTERVALS = ", with a 95 % interval over the rows"
LEGEND = (
    f"Importance: the mean absolute Shapley value, as a share of the whole{INTERVALS}. Alone, in all: the shares of "
    "the variance of components of this feature alone, and of all that it has part in. A share has a structural part "
    "(what components vary by themselves) and a correlative one (by varying together), which may be negative."
)


def print_summary(console: "Console", facts: Facts) -> None:
    """Print the facts that come first in a report."""
    from rich.table import Table

    console.print(f"{clean(facts['title'])}\n", style="bold")
    grid = Table.grid(padding=(0, 2))
    for name, text in _about(facts):
        grid.add_row(clean(name), clean(text))
    console.print(grid)
    several = len(facts["outputs"]) > 1
    for output in facts["outputs"][:SHOWN_OUTPUTS]:
        title = f" for {clean(output['name'])}" if several else ""
        console.print(f"\nVariance{title}: {_by_order(output)}")
        console.print(_features(facts, output))
        table = _interactions(facts, output)
        console.print("No interactions." if table is None else table)
    console.print(LEGEND if facts["intervals"] else LEGEND.replace(INTERVALS, ""))
    if len(facts["outputs"]) > SHOWN_OUTPUTS:
        console.print(f"\n{len(facts['outputs']) - SHOWN_OUTPUTS} more outputs are in the report, and in --json.")


def clean(text: str) -> str:
    """Text for a terminal: signs that would steer it, from the name of a column perhaps, become question marks."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "?" for sign in text)


def _about(facts: Facts) -> Iterator[tuple[str, str]]:
    if facts["model"] is not None:
        yield "model", facts["model"]
    yield from ((label.lower(), text) for label, text in facts["details"])
    dropped = [] if facts["encoding"] is None else facts["encoding"]["dropped"]
    if dropped:
        more = f", and {len(dropped) - SHOWN_DROPPED} more" if len(dropped) > SHOWN_DROPPED else ""
        yield "dropped", ", ".join(f"{bit['name']} ({bit['reason']})" for bit in dropped[:SHOWN_DROPPED]) + more
    unique = "unique" if facts["decomposition"]["unique"] else "not unique"
    yield "measure", facts["measure"]["text"]
    yield "engine", f"{facts['engine']['name']}: {facts['engine']['reason']}"
    yield (
        "components",
        f"{facts['decomposition']['components']}, order up to {facts['decomposition']['order']}, {unique}",
    )
    fidelity = facts["fidelity"]
    yield "fidelity", f"R2 = {fidelity['r2']:.6g}, {fidelity['remainder_kind']} remainder {fidelity['remainder']:.1e}"


def _by_order(output: Facts) -> str:
    shares = enumerate(output["share_by_order"], start=1)
    return ", ".join(f"order {k}: {percent(share)}" for k, share in shares) or "none, it is constant"


def _features(facts: Facts, output: Facts) -> "Table":
    """The features with the largest importance; without rows, with the largest total share of the variance."""
    names = [player["name"] for player in facts["players"]]
    total, first = output["sensitivity"]["total"], output["sensitivity"]["first"]
    importance = output["importance"]
    value = [x or 0.0 for x in (total if importance is None else importance["value"])]
    order = sorted(range(len(names)), key=lambda i: -abs(value[i]))
    table = _table("Features", "", "importance" if importance else "", "alone", "in all")
    top = max((abs(x) for x in value), default=0.0) or 1.0
    for i in order[:SHOWN]:
        bar = "█" * round(BAR * abs(value[i]) / top)
        table.add_row(clean(names[i]), bar, _with_interval(importance, i), percent(first[i]), percent(total[i]))
    if len(order) > SHOWN:
        table.add_row(f"and {len(order) - SHOWN} more", "", "", "", "")
    return table


def _with_interval(importance: Facts | None, i: int) -> str:
    if importance is None:
        return ""
    if importance["low"] is None:
        return percent(importance["value"][i])
    low, high = importance["low"][i], importance["high"][i]
    return f"{percent(importance['value'][i])} ({100 * low:.1f} to {100 * high:.1f})"


def _interactions(facts: Facts, output: Facts) -> "Table | None":
    """Sets of several features with the largest shares of the variance."""
    names = [player["name"] for player in facts["players"]]
    sets = [term for term in output["terms"]["listed"] if len(term["players"]) > 1]
    if not sets:
        return None
    table = _table("Interactions", "share", "structural", "correlative")
    for term in sets[:SHOWN]:
        words = clean(" × ".join(names[i] for i in term["players"]))
        table.add_row(words, *(percent(term[part]) for part in ("share", "structural", "correlative")))
    if len(sets) > SHOWN:
        table.add_row(f"and {len(sets) - SHOWN} more", "", "", "")
    return table


def _table(title: str, *columns: str) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column(title, overflow="fold", min_width=min(len(title), 12))
    for column in columns:
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    return table


def percent(share: float | None) -> str:
    """A share for people.

    >>> percent(0.1234), percent(-0.00042), percent(1e-9), percent(None)
    ('12.3 %', '-0.04 %', '0 %', '-')
    """
    if share is None:
        return "-"
    if abs(share) < 5e-6:
        return "0 %"
    return f"{100 * share:.1f} %" if abs(share) >= 1e-3 else f"{100 * share:.1g} %"
