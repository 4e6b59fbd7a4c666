"""``import hoeffding`` is light: few modules, none of them heavy."""

import subprocess
import sys

HEAVY = ("matplotlib", "pandas", "polars", "pyarrow", "rich", "scipy.linalg", "sklearn", "typer")
MOST_MODULES = 90  # beyond those of numpy and our own; 76 on Python 3.11, most of them from importlib.metadata

CODE = """
import sys
import numpy
before = set(sys.modules)
import hoeffding
print(*sorted(set(sys.modules) - before))
"""


def imported():
    done = subprocess.run([sys.executable, "-I", "-c", CODE], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()


def test_import_takes_no_heavy_package():
    found = imported()
    assert "hoeffding.engines.cube" in found
    assert [m for m in found if m in HEAVY or m.split(".")[0] in HEAVY] == []


def test_import_takes_few_modules():
    found = [m for m in imported() if m.split(".")[0] != "hoeffding"]
    assert len(found) <= MOST_MODULES, f"{len(found)} modules: {' '.join(found)}"
