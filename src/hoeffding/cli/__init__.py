"""The command line: one command a file, and here what they share: help, exit codes, and words for mistakes.

The commands need typer, rich and what else the extra ``app`` brings. They are imported inside of a function: without
these packages the command says how to get them. What is shown is computed first, as plain numbers, and then printed.
"""

# Annotations are evaluated here (no postponed annotations): typer reads them as objects.

import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    from typer import Typer

UNEXPECTED, MISTAKE, INTERRUPTED = 1, 2, 130
MISTAKES = (ValueError, TypeError, OSError, MemoryError, ModuleNotFoundError)  # what this package raises on purpose

NEEDED = ("typer", "rich")
MISSING_EXTRA = 'hoeffding: the command line needs typer and rich: python -m pip install "hoeffding[app]"'

HELP = "Exact functional decompositions of functions of bits, under the data's own distribution."

EXAMPLES = """Examples:

  hoeffding demo                                   a forest on real data, and a report

  hoeffding explain people.csv --target income     the same for a table of yours

  hoeffding reproduce                              the paper, table by table

  hoeffding info                                   what this installation can do

Exit codes: 0 done, 1 an error of hoeffding itself, 2 a mistake in the command or in its files, 130 interrupted."""


def main() -> int:
    """Run the command line; return or raise the exit code (see ``EXAMPLES``)."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a sign shows a question mark
    debug = "--debug" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--debug"]
    try:
        app = _build_app()
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        print(MISSING_EXTRA, file=sys.stderr)
        return MISTAKE
    try:
        app(prog_name="hoeffding")
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if debug:
            raise
        return _say_what_is_wrong(error)
    return 0


def _say_what_is_wrong(error: Exception) -> int:
    """Print an error without a traceback and return the exit code."""
    from hoeffding.cli.summary import clean

    words = clean(str(error))
    if isinstance(error, MISTAKES):
        print(f"hoeffding: {words}", file=sys.stderr)
        return MISTAKE
    print(
        f"hoeffding: unexpected {type(error).__name__}: {words}\n"
        "This should not happen. Run the same command with --debug and report what it shows.",
        file=sys.stderr,
    )
    return UNEXPECTED


def _build_app() -> "Typer":
    import rich  # noqa: F401  # typer can do without, the tables cannot
    import typer

    from hoeffding.cli import apply, bench, demo, explain, info, reproduce

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
        _debug: Annotated[
            bool, typer.Option("--debug", help="Show the traceback of an error; may stand anywhere.")
        ] = False,
    ) -> None: ...

    app.command(epilog="Example: hoeffding demo")(demo.demo)
    app.command(epilog=explain.EXAMPLES)(explain.explain)
    app.command(epilog=apply.EXAMPLES)(apply.apply)
    app.command(epilog="Example: hoeffding bench --threads 2")(bench.bench)
    app.command(epilog="Example: hoeffding reproduce --quick -o page")(reproduce.reproduce)
    app.command(epilog="Example: HOEFFDING_ISA=portable hoeffding info")(info.info)
    return app
