"""The Python blocks of the README and of the documents run, one file after the other in a fresh namespace."""

import re
from pathlib import Path

import pytest

import hoeffding
from hoeffding import _kernels

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
ROUNDING = re.compile(r"\d(\.\d+)?e-1\d")
PICTURE = re.compile(r"!\[.+\]\((gallery/.+\.png)\)")

COMMANDS = (
    'python -m pip install ".[app]" && hoeffding demo',
    'python -m pip install ".[test]" && python -m pytest',
)


def python_blocks(path):
    """Yield the blocks as code objects whose line numbers are those of the file, and what they are said to print."""
    text = path.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        before = text.count("\n", 0, found.start(1))
        yield compile("\n" * before + found.group(1), str(path), "exec"), found.group(2) or ""


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_run_and_print_what_is_said(path, capsys):
    namespace = {"__name__": path.stem}
    for block, said in python_blocks(path):
        exec(block, namespace)
        printed = capsys.readouterr().out
        assert ROUNDING.sub("tiny", printed).split() == ROUNDING.sub("tiny", said).split()


def test_the_gallery_has_every_plot_and_its_pictures():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    pictures = [ROOT / "docs" / name for name in PICTURE.findall(page)]
    assert set(pictures) == set((ROOT / "docs" / "gallery").iterdir())
    assert sum(picture.stat().st_size for picture in pictures) < 1.5e6
    for name in set(hoeffding.plots.__all__) - {"aligned"}:
        assert f"plots.{name}(" in page


@pytest.mark.parametrize("name", ["README.md", "measures.md"])
def test_there_are_examples(name):
    path = next(path for path in DOCUMENTS if path.name == name)
    assert len(list(python_blocks(path))) > 0


def test_the_readme_has_the_two_commands():
    text = DOCUMENTS[0].read_text(encoding="utf-8")
    for command in COMMANDS:
        assert command in text


def test_the_checks_of_a_clean_checkout_run_the_test_command_of_the_readme():
    assert f"\n  {COMMANDS[1]}\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def modules_in_the_architecture():
    """The rows of the table of modules: a name such as ``io.py`` or ``plots/``, and what is said of it."""
    table = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("## Modules")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `([^`]+)` \|(.*)$", table, re.MULTILINE))


def test_the_architecture_lists_every_module():
    rows, house = modules_in_the_architecture(), ROOT / "src" / "hoeffding"
    for path in sorted(house.rglob("*.py")):
        name = path.relative_to(house)
        words = [rows.get(f"{folder.as_posix()}/", "") for folder in name.parents]
        of_one_kind = name.parts[0] in ("cli", "_kernels") or name.stem.startswith("__")
        assert name.as_posix() in rows or of_one_kind or any(f"`{name.stem}`" in row for row in words), name


def test_the_architecture_lists_the_kernels_and_their_files():
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("## Kernels")[1]
    offered = {name for name, f in vars(_kernels).items() if getattr(f, "__module__", "") == _kernels.__name__}
    kernels = {name for name in offered if not name.startswith("_")} - {"active", "implementations", "using"}
    files = {path.name for path in (ROOT / "src" / "hoeffding" / "_kernels" / "cpp").iterdir()}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == kernels
    assert set(re.findall(r"`(\w+\.[ch]pp)`", text)) == files


def test_every_benchmark_is_named():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for path in (ROOT / "benchmarks").glob("[!_]*.py"):
        assert f"`python -m benchmarks.{path.stem}" in text


def test_the_architecture_lists_no_module_that_is_gone():
    for name in modules_in_the_architecture():
        assert (ROOT / "src" / "hoeffding" / name).exists(), name
