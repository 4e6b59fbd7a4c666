"""The Python blocks of the README and of the documents run, one file after the other in a fresh namespace."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

COMMANDS = (
    'python -m pip install ".[app]" && hoeffding demo',
    'python -m pip install ".[test]" && python -m pytest',
)


def python_blocks(path):
    """Yield the blocks as code objects whose line numbers are those of the file."""
    text = path.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        before = text.count("\n", 0, found.start(1))
        yield compile("\n" * before + found.group(1), str(path), "exec")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_run(path):
    namespace = {"__name__": path.stem}
    for block in python_blocks(path):
        exec(block, namespace)


@pytest.mark.parametrize("name", ["README.md", "measures.md"])
def test_there_are_examples(name):
    path = next(path for path in DOCUMENTS if path.name == name)
    assert len(list(python_blocks(path))) > 0


def test_the_readme_has_the_two_commands():
    text = DOCUMENTS[0].read_text(encoding="utf-8")
    for command in COMMANDS:
        assert command in text
