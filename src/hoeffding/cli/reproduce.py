"""``hoeffding reproduce``: the paper, table by table."""

# Annotations are evaluated here (no postponed annotations): typer reads them as objects.

from typing import Annotated

import typer

from hoeffding.reproduce import OUTPUT


def reproduce(
    only: Annotated[str | None, typer.Option(help="Data sets by the paper's letters, such as A,B.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only the small data sets: A, B and E.")] = False,
    no_pipeline: Annotated[
        bool, typer.Option("--no-pipeline", help="Do not time the paper's pipeline, which takes most of the time.")
    ] = False,
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the page.")] = OUTPUT,
) -> None:
    """Compute every table and figure of the paper again, from the raw data, and write a page."""
    from hoeffding.reproduce.__main__ import run

    raise typer.Exit(run(only, quick, output, pipeline=not no_pipeline))
