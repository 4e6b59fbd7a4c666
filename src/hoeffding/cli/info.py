"""``hoeffding info``: the version, the kernels in use, threads, memory, and the packages found."""

# Annotations are evaluated here (no postponed annotations): typer reads them as objects.

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from hoeffding import _kernels
from hoeffding.machine import available_memory, n_threads, readable_bytes

REQUIRED = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "narwhals")
OPTIONAL = {  # packages, or other names under which they are distributed
    "command line and report": ("typer", "rich", "jinja2", "plotly"),
    "tables": ("pandas", "polars", "pyarrow"),
    "data on many machines": ("dask", "distributed"),
    "models": ("xgboost xgboost-cpu", "lightgbm", "catboost", "onnxruntime onnxruntime-gpu", "joblib"),
    "plots": ("matplotlib",),
    "other explanations": ("shap", "shapiq"),
}


def info() -> None:
    """Show the version, the kernels in use, threads, memory, and the optional packages found."""
    from rich.console import Console
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for name, text in info_facts():
        table.add_row(name, text)
    Console(highlight=False, markup=False).print(table)


def info_facts() -> Iterator[tuple[str, str]]:
    """Yield what ``hoeffding info`` shows, line by line; no package is imported for it."""
    free = available_memory()
    yield "hoeffding", version("hoeffding")
    yield "python", f"{platform.python_version()}, {platform.system()} {platform.machine()}"
    yield "kernels", f"{_kernels.active()} in use; available: {', '.join(_kernels.implementations())}"
    yield "threads", str(n_threads(-1))
    yield "memory", "unknown" if free is None else f"{readable_bytes(free)} available"
    for package in REQUIRED:
        yield package, _found(package)
    for purpose, packages in OPTIONAL.items():
        for names in packages:
            yield names.split()[0], f"{_found(names)} (optional, for {purpose})"


def _found(names: str) -> str:
    """The version of the first of these distributions that is installed."""
    for name in names.split():
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "not installed"
