"""What a report says in words and numbers, for every form of it."""

from __future__ import annotations

from typing import Any

Facts = dict[str, Any]

ROUNDING = 1e-9  # 1 - R2 below which nothing is missing


def headline(facts: Facts) -> list[tuple[str, str, str]]:
    """The few numbers that come first: (number, what it is, what that means)."""
    fidelity, whole = facts["fidelity"], facts["decomposition"]
    found = [
        ("R² = " + share_of_one(fidelity["r2"]), "fidelity", _fidelity(facts)),
        (number(fidelity["remainder"]), f"{fidelity['remainder_kind']} remainder", _remainder(facts)),
        (
            integer(whole["components"]),
            "component" if whole["components"] == 1 else "components",
            f"of up to {count(whole['order'], 'feature')}; they are {'' if whole['unique'] else 'not '}unique",
        ),
    ]
    at_rows = fidelity["at_rows"]
    if at_rows is not None:
        worst = max((x for x in at_rows["largest"] if x is not None), default=None)
        found.insert(
            2, (number(worst), "largest remainder here", f"at the {count(at_rows['rows'], 'row')} of this report")
        )
    return found


def summary(facts: Facts) -> list[tuple[str, str]]:
    """What was explained: labels and text."""
    measure, whole, engine = facts["measure"], facts["decomposition"], facts["engine"]
    found = [] if facts["model"] is None else [("Model", facts["model"])]
    found += [(label[:1].upper() + label[1:], text) for label, text in facts["details"]]
    names = [output["name"] for output in facts["outputs"]]
    if len(names) > 1:
        found.append(("Outputs", f"{len(names)}: {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"))
    players = "" if measure["players"] == measure["features"] else f", in {integer(measure['players'])} groups"
    found.append(("Features", f"{count(measure['features'], 'bit')}{players}"))
    found.append(("Distribution", _distribution(facts)))
    found.append(("Support", _support(facts)))
    found.append(("Uniqueness", _unique(facts).capitalize()))
    found.append(("Engine", f"{engine['name']}: {engine['reason']}"))
    by_order = ", ".join(f"{integer(n)} of order {s}" for s, n in enumerate(whole["by_order"]) if s)
    found.append(("Components", by_order or "the mean alone"))
    rows = facts["rows"]
    if rows is None:
        found.append(("Averages over rows", "none: there are no rows, and the measure has too many points to list"))
    else:
        shown = "" if rows["shown"] == rows["n"] else f"; {integer(rows['shown'])}, evenly spaced, are shown one by one"
        found.append(("Averages over", f"{rows['words']}, {integer(rows['n'])}{shown}"))
    return found


def _fidelity(facts: Facts) -> str:
    r2 = facts["fidelity"]["r2"]
    if r2 is None:
        return "the function does not vary"
    several = ", at the output that is explained worst" if len(facts["outputs"]) > 1 else ""
    if 1 - r2 <= ROUNDING:
        return f"the components add up to the function{several}"
    return f"the components explain this share of the variance{several}"


def _remainder(facts: Facts) -> str:
    kind = facts["fidelity"]["remainder_kind"]
    over = "its root mean square on the rows of the fit" if kind == "root mean square" else "anywhere on the support"
    return f"function minus sum of components, {over}"


def _unique(facts: Facts) -> str:
    if facts["decomposition"]["unique"]:
        return "unique: the function and the distribution determine it"
    return "not unique: other decompositions exist under this distribution, and the engine says which one this is"


def _distribution(facts: Facts) -> str:
    measure = facts["measure"]
    if measure["rows"] is None:
        return str(measure["text"])
    alike = ", each distinct one with the same weight" if measure["distinct"] else ""
    return f"that of {count(measure['rows'], 'row')}{alike}"


def _support(facts: Facts) -> str:
    measure = facts["measure"]
    if measure["distinct_rows"] is None:
        return "not known, only counts are"
    if measure["full_support"]:
        return f"all 2{raised(measure['features'])} combinations of values occur"
    return f"{integer(measure['distinct_rows'])} of 2{raised(measure['features'])} combinations of values occur"


# -- numbers ----------------------------------------------------------------------------------------------------------


def number(x: float | None) -> str:
    """A number to three digits.

    >>> number(0.012345), number(-123456.0), number(4e-16), number(None)
    ('0.0123', '−123,456', '4 × 10⁻¹⁶', 'not defined')
    """
    if x is None:
        return "not defined"
    if x == 0 or 1e-4 <= abs(x) < 1e3:
        return f"{x:.3g}".replace("-", "−")
    if 1e3 <= abs(x) < 1e9:
        return f"{x:,.0f}".replace("-", "−")
    digits, exponent = f"{x:.2g}".split("e")
    return f"{digits.replace('-', '−')} × 10{raised(int(exponent))}"


def raised(n: int) -> str:
    """An exponent.

    >>> "2" + raised(97), "10" + raised(-15)
    ('2⁹⁷', '10⁻¹⁵')
    """
    return str(n).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def share_of_one(x: float | None) -> str:
    """A share that is never rounded to a whole one unless nothing but rounding is missing.

    >>> share_of_one(1 - 1e-12), share_of_one(0.99999), share_of_one(0.87654)
    ('1', '0.99999', '0.877')
    """
    if x is None:
        return "not defined"
    if 1 - x <= ROUNDING:
        return "1"
    for digits in range(3, 10):
        text = f"{x:.{digits}f}"
        if float(text) < 1:
            return text
    return "1"


def percent(x: float | None) -> str:
    """A share in percent, with two digits if it is small.

    >>> percent(0.12345), percent(-0.00012), percent(1e-9), percent(None)
    ('12.3 %', '−0.012 %', '0.0 %', 'not defined')
    """
    if x is None:
        return "not defined"
    text = f"{100 * x:.2g}" if 1e-5 <= abs(x) < 1e-3 else f"{100 * x:.1f}"
    return f"{text.replace('-', '−') if float(text) else '0.0'} %"


def integer(n: int) -> str:
    """A count.

    >>> integer(241600)
    '241,600'
    """
    return f"{n:,}"


def count(n: int, what: str) -> str:
    """A number of things.

    >>> count(1, "row"), count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
