"""The command line: ``hoeffding demo``, ``hoeffding reproduce`` and ``hoeffding info``.

Typer and rich come with the extra ``app`` and are imported inside functions: without them the command says how to get
them. What is shown is computed first, as plain numbers, and then printed.
"""

# Annotations are evaluated here (no postponed annotations): typer reads them as objects.

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt

from hoeffding import _kernels
from hoeffding.decomposition import Decomposition
from hoeffding.engines.cube import transform
from hoeffding.machine import available_memory, n_threads, readable_bytes
from hoeffding.measure import Ising, Measure
from hoeffding.reproduce import OUTPUT

if TYPE_CHECKING:
    from rich.table import Table
    from typer import Typer

USAGE_ERROR, INTERRUPTED = 2, 130

MISSING_EXTRA = 'hoeffding: the command line needs typer and rich: python -m pip install "hoeffding[app]"'

HELP = "Exact functional decompositions of functions of bits, under the data's own distribution."

EXAMPLES = """Examples:

  hoeffding demo             a bus, four bits, one table

  hoeffding reproduce        the paper, table by table

  hoeffding info             what this installation can do

  hoeffding demo | less      plain text when it is not a terminal"""

REQUIRED = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "narwhals")
OPTIONAL = {"app": ("typer", "rich"), "to_frame": ("pandas", "polars", "pyarrow")}


def main() -> int:
    """Run the command line; return or raise the exit code (2 for usage errors, 130 when interrupted)."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a sign shows a question mark
    try:
        app = _build_app()
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL["app"]:
            raise
        print(MISSING_EXTRA, file=sys.stderr)
        return USAGE_ERROR
    try:
        app(prog_name="hoeffding")
    except KeyboardInterrupt:
        return INTERRUPTED
    except ValueError as error:  # a mistake of the user, such as an unknown HOEFFDING_ISA
        print(f"hoeffding: {error}", file=sys.stderr)
        return USAGE_ERROR
    return 0


def _build_app() -> "Typer":
    import rich  # noqa: F401  # typer can do without, the tables cannot
    import typer

    app = typer.Typer(
        help=HELP, epilog=EXAMPLES, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            print(f"hoeffding {version('hoeffding')}")
            raise typer.Exit

    @app.callback()
    def options(
        _version: Annotated[
            bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version and stop.")
        ] = False,
    ) -> None: ...

    app.command(epilog="Example: hoeffding demo")(demo)
    _add_reproduce(app)
    app.command(epilog="Example: HOEFFDING_ISA=portable hoeffding info")(info)
    return app


# ---------------------------------------------------------------------------------------------------------------------
# hoeffding demo


def demo() -> None:
    """Decompose the delay of a bus, under dependent and under independent bits."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    dependent, uniform = demo_results()
    console.print("The delay of a bus, in minutes, as a function of four bits:\n")
    console.print("  delay = 3 rain + 5 traffic + 4 rain traffic + 6 traffic roadworks\n")
    console.print(
        "The bits depend on each other: rain and roadworks bring traffic, roadworks avoid rain, umbrellas follow it. "
        "The delay is decomposed under this joint distribution (an Ising measure) and, in the column "
        '"uniform", under independent fair bits (the Walsh-Hadamard transform).\n'
    )
    console.print(_demo_table(dependent, uniform))
    words = Table.grid(padding=(0, 1))
    for line in _demo_words(dependent, uniform):
        words.add_row("-", line)
    console.print(words)


def demo_results() -> tuple[Decomposition, Decomposition]:
    """Return the decompositions that the demo shows: under an Ising measure, and under the uniform one."""
    names = ("rain", "traffic", "roadworks", "umbrellas")
    couplings = np.zeros((4, 4))
    for i, j, strength in ((0, 1, 0.5), (1, 2, 0.4), (0, 2, -0.3), (0, 3, 0.9)):
        couplings[i, j] = couplings[j, i] = strength
    rain, traffic, roadworks, _ = np.indices((2, 2, 2, 2))
    delay = 3 * rain + 5 * traffic + 4 * rain * traffic + 6 * traffic * roadworks
    measure = Ising(fields=[-0.3, 0.1, -0.4, 0.0], couplings=couplings)
    return transform(delay, measure, feature_names=names), transform(delay, feature_names=names)


def _demo_table(dependent: Decomposition, uniform: Decomposition) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("subset", no_wrap=True)
    for title in ("coefficient", "uniform", "structural", "correlative", "share"):
        table.add_column(title, justify="right", no_wrap=True)
    v = dependent.variance()
    for j in np.flatnonzero(_used(dependent)).tolist():
        parts = (v.structural[j], v.correlative[j], v.total[j])
        shares = ("",) * 3 if j == 0 else tuple(f"{_tidy(100 * part / v.of_f):.1f} %" for part in parts)
        table.add_row(
            _label(dependent, j), f"{dependent.coefficients[j]:.3f}", f"{_tidy(uniform.coefficients[j]):.3f}", *shares
        )
    return table


def _demo_words(dependent: Decomposition, uniform: Decomposition) -> Iterator[str]:
    v = dependent.variance()
    unused = int((~_used(dependent)).sum())
    together = _correlation(dependent.measure, 0, 3)
    by_order = [", ".join(f"order {k}: {100 * s:.1f} %" for k, s in _orders(r)) for r in (dependent, uniform)]
    yield (
        f"The components add up to the delay: R2 = {dependent.fidelity:.6g}, largest remainder "
        f"{dependent.remainder:.0e}. The decomposition is {'unique' if dependent.unique else 'not unique'}: "
        f"{len(dependent.family)} subsets for {dependent.measure.n_points} points."
    )
    yield f"Share of the variance by {by_order[0]} (independent bits: {by_order[1]})."
    yield (
        f"A share has two parts: structural, what a component does alone ({_percent(v.structural, v.of_f)} in all), "
        f"and correlative, what it gains or loses by varying with the others ({_percent(v.correlative, v.of_f)}; "
        "zero for independent bits)."
    )
    yield (
        f"Left out: {unused} subsets with the coefficient zero. All subsets with umbrellas are among them: the delay "
        f"does not use umbrellas, although they go with rain (correlation {together:.2f})."
    )


def _used(result: Decomposition) -> npt.NDArray[np.bool_]:
    size = np.abs(result.coefficients)
    return np.asarray(size > 1e-12 * size.max())


def _label(result: Decomposition, j: int) -> str:
    return " × ".join(result.feature_names[i] for i in result.subsets[j]) or "(mean)"


def _correlation(measure: Measure, i: int, j: int) -> float:
    p = measure.marginal([i, j])
    p_i, p_j = p[1].sum(), p[:, 1].sum()
    return float((p[1, 1] - p_i * p_j) / np.sqrt(p_i * (1 - p_i) * p_j * (1 - p_j)))


def _orders(result: Decomposition) -> list[tuple[int, float]]:
    return [(k, s) for k, s in enumerate(result.share_by_order().tolist(), start=1) if s > 1e-12]


def _percent(part: npt.NDArray[np.float64], whole: npt.NDArray[np.float64]) -> str:
    return f"{100 * part.sum() / whole:.0f} %"


def _tidy(x: float) -> float:
    return x if abs(x) > 1e-12 else 0.0


# ---------------------------------------------------------------------------------------------------------------------
# hoeffding reproduce


def _add_reproduce(app: "Typer") -> None:
    import typer

    @app.command(epilog="Example: hoeffding reproduce --quick -o page")
    def reproduce(
        only: Annotated[str | None, typer.Option(help="Data sets by the paper's letters, such as A,B.")] = None,
        quick: Annotated[bool, typer.Option("--quick", help="Only the small data sets: A, B and E.")] = False,
        output: Annotated[str, typer.Option("--output", "-o", help="Folder for the page.")] = OUTPUT,
    ) -> None:
        """Compute every table and figure of the paper again, from the raw data, and write a page."""
        from hoeffding.reproduce.__main__ import run

        raise typer.Exit(run(only, quick, output))


# ---------------------------------------------------------------------------------------------------------------------
# hoeffding info


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
        for package in packages:
            yield package, f"{_found(package)} (optional, for {purpose})"


def _found(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
