"""The public API as text equals the snapshot ``api.txt``: no name or argument changes unnoticed.

Run this file as a script to write the snapshot anew.
"""

import dataclasses
import inspect
from pathlib import Path

import hoeffding

SNAPSHOT = Path(__file__).with_name("api.txt")
UPDATE = "python tests/test_api.py"


def render():
    """Render all public names, sorted: functions with signatures, classes with bases and their own public members."""
    lines = []
    for name in sorted(hoeffding.__all__):
        thing = getattr(hoeffding, name)
        if inspect.isclass(thing):
            lines += render_class(name, thing)
        elif inspect.ismodule(thing):
            lines += [f"{name}.{member}{inspect.signature(getattr(thing, member))}" for member in sorted(thing.__all__)]
        elif callable(thing):
            lines.append(f"{name}{inspect.signature(thing)}")
        else:
            lines.append(f"{name}: {type(thing).__name__}")
    return "\n".join(lines) + "\n"


def render_class(name, cls):
    bases = ", ".join(base.__name__ for base in cls.__bases__)
    fields = {f.name for f in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    members = sorted({*vars(cls), *fields, *inspect.get_annotations(cls)})
    shown = [f"    {render_member(cls, member)}" for member in members if not member.startswith("_")]
    return [f"class {name}({bases}){inspect.signature(cls)}", *shown]


def render_member(cls, member):
    raw = inspect.getattr_static(cls, member, None)
    if isinstance(raw, classmethod | staticmethod):
        return f"{type(raw).__name__} {member}{inspect.signature(raw.__func__)}"
    if inspect.isfunction(raw):
        return f"{member}{inspect.signature(raw)}"
    getter = getattr(raw, "fget", None) or getattr(raw, "func", None)
    if getter:
        return f"{member}: {inspect.get_annotations(getter)['return']}"
    return f"{member}: {inspect.get_annotations(cls).get(member, type(raw).__name__)}"


def test_the_api_is_that_of_the_snapshot():
    assert render() == SNAPSHOT.read_text(encoding="utf-8"), f"the API changed; if that is meant, run: {UPDATE}"


def test_all_names_are_there_and_documented():
    for name in hoeffding.__all__:
        thing = getattr(hoeffding, name)
        assert isinstance(thing, str) or inspect.getdoc(thing), f"{name} has no docstring"


if __name__ == "__main__":
    SNAPSHOT.write_text(render(), encoding="utf-8", newline="\n")
