"""``hoeffding apply``: what a saved decomposition says of the rows of a file, written to a file."""

# Annotations are evaluated here (no postponed annotations): typer reads them as objects.

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hoeffding import to_file
from hoeffding.checks import refuse_overwriting
from hoeffding.chunks import CHUNK_ROWS, Stream
from hoeffding.decomposition import load

EXAMPLES = """Examples:

  hoeffding explain people.csv --target income --save people.hfd

  hoeffding apply people.hfd more.parquet -o shapley.parquet             predictions and Shapley values

  hoeffding apply people.hfd more.csv -o parts.csv --give components --keep id"""


def apply(  # one argument for each option
    decomposition: Annotated[Path, typer.Argument(help="A decomposition that was saved.", show_default=False)],
    table: Annotated[
        Path, typer.Argument(help="A CSV, Parquet or Feather file, or a folder of Parquet files.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .parquet, .feather or .csv.")],
    give: Annotated[
        list[str] | None,
        typer.Option(help=f"One of {', '.join(to_file.GIVE)}; may be given again. By default the first two."),
    ] = None,
    keep: Annotated[list[str] | None, typer.Option(help="A column to write as well; may be given again.")] = None,
    unseen: Annotated[
        str | None, typer.Option(help="What a component says at values never observed: zero, nan or error.")
    ] = None,
    chunk_rows: Annotated[int, typer.Option(help="Rows to read at a time.")] = CHUNK_ROWS,
) -> None:
    """Apply a decomposition to the rows of a table of any size: predictions, Shapley values or components of each."""
    refuse_overwriting("--output", output, [decomposition, table])
    result = load(decomposition)
    if unseen is not None:
        if unseen not in {"zero", "nan", "error"}:
            raise ValueError(f"unseen={unseen!r}: must be zero, nan or error")
        result = replace(result, unseen=unseen)  # type: ignore[arg-type]  # one of the three
    n = to_file.apply(
        result, Stream(table, chunk_rows=chunk_rows), output, give=give or to_file.GIVE[:2], keep=keep or ()
    )
    print(f"{n} rows written to {output}")
