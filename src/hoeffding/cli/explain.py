"""``hoeffding explain``: from a table, or a table and a model, to a summary and a report."""

# Annotations are evaluated here (no postponed annotations): typer reads them as objects.

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hoeffding.black_box import evaluate
from hoeffding.checks import refuse_overwriting
from hoeffding.cli.given import Given
from hoeffding.cli.subjects import Subject, from_column, from_file, trained
from hoeffding.cli.summary import print_summary
from hoeffding.decomposition import Decomposition
from hoeffding.engines.trees import is_tree_model
from hoeffding.engines.trees.ensemble import ClosureTooLargeError, NotASumOfTreesError
from hoeffding.explain import ENGINES, decompose
from hoeffding.machine import readable_bytes
from hoeffding.progress import reporting, say
from hoeffding.tables import Encoding

REPORT = "hoeffding-report.html"
PAGES = (".html", ".htm")
BINS, BINS_TRAINED = 4, 16  # nested thresholds are nearly the same bit where they are many, which a fit does not bear

EXAMPLES = """Examples:

  hoeffding explain people.csv --target income                  train a model here, and explain it

  hoeffding explain people.parquet --model model.json           explain a model of XGBoost

  hoeffding explain people.csv --predictions score --drop id    explain predictions that are in the table

  hoeffding explain people.csv --target income --json | jq .fidelity"""


def explain(  # noqa: PLR0913, PLR0917  # one argument for each option
    table: Annotated[Path, typer.Argument(help="A CSV, Parquet or Feather file.", show_default=False)],
    target: Annotated[str | None, typer.Option(help="The column that a model predicts; never a feature.")] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="A model of XGBoost (.json, .ubj), LightGBM (.txt), CatBoost (.cbm) or ONNX (.onnx)."),
    ] = None,
    predictions: Annotated[
        str | None, typer.Option(help="A column that holds what a model says of each row; never a feature.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be given again.")] = None,
    task: Annotated[
        str | None, typer.Option(help="Read the target as classes or as numbers; by default as its values suggest.")
    ] = None,
    order: Annotated[int | None, typer.Option(help="The largest number of features in a component.")] = None,
    engine: Annotated[str, typer.Option(help=f"One of {', '.join(ENGINES)}.")] = "auto",
    bins: Annotated[
        int | None,
        typer.Option(help=f"Parts that numbers are cut into; by default {BINS_TRAINED} to train on, else {BINS}."),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Use so many rows, drawn at random; by default all.")] = None,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn at random.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print all facts as JSON instead of a summary.")] = False,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Read a model that is a pickle, which can run any program.")
    ] = False,
    plotlyjs: Annotated[
        str, typer.Option(help="embed: the report needs no network; cdn: it is small, and loads plotly when opened.")
    ] = "embed",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help=f"The report (.html, .md, .json); by default {REPORT}, with --json none."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Also save the decomposition to this file.")] = None,
) -> None:
    """Explain the model behind a table: which columns matter, which act together, and how well that is known.

    Without --model and --predictions, boosted trees are trained on three quarters of the rows to predict --target, and
    scored on the others.
    """
    _check_choices(target, model, predictions, task)
    if trust_pickle and model is None:
        raise ValueError("--trust-pickle: goes with --model; leave it out")
    _check_values(engine, bins, plotlyjs)
    report = _report_path(output, as_json)
    if plotlyjs == "cdn" and (report is None or report.suffix.lower() not in PAGES):
        raise ValueError("--plotlyjs cdn: goes with a report in HTML; leave it out, or let --output end in .html")
    _check_outputs(report, save, [table, *([] if model is None else [model])])
    with reporting():
        say(f"Reading {table}")
        given = Given.read(table, [*(drop or []), *filter(None, (target, predictions))], rows, seed)
        with _advice_on_columns():
            if model is not None:
                subject = from_file(given, model, target, trust_pickle)
            elif predictions is not None:
                subject = from_column(given, predictions)
            else:
                assert target is not None
                subject = trained(given, target, task, bins or BINS_TRAINED, seed)
            result = _decompose(subject, order, engine, bins)
        say("Gathering the facts")
        facts = _facts(subject, result)
        if report is not None:
            from hoeffding import report as reports

            say(f"Writing {report}")
            reports.write(facts, report, plotlyjs)  # type: ignore[arg-type]  # checked above
        if save is not None:
            result.save(save)
    _show(facts, as_json, [path for path in (report, save) if path is not None])


# -- what was asked for ------------------------------------------------------------------------------------------------


def _check_choices(target: str | None, model: Path | None, predictions: str | None, task: str | None) -> None:
    if model is not None and predictions is not None:
        raise ValueError("--model and --predictions: give one of them, the other is not needed")
    if target is None and model is None and predictions is None:
        raise ValueError(
            "say what to explain: --target COLUMN trains a model here, --model FILE reads one, --predictions COLUMN "
            "takes what it said"
        )
    if task is not None and (model is not None or predictions is not None):
        raise ValueError("--task: goes with a model trained here; leave it out")


def _check_values(engine: str, bins: int | None, plotlyjs: str) -> None:
    if engine not in ENGINES:
        raise ValueError(f"--engine {engine}: must be one of {', '.join(ENGINES)}")
    if bins is not None and bins < 2:
        raise ValueError(f"--bins {bins}: must be at least 2")
    if plotlyjs not in ("embed", "cdn"):
        raise ValueError(f"--plotlyjs {plotlyjs}: must be embed or cdn")


def _report_path(output: Path | None, as_json: bool) -> Path | None:
    if output is None:
        return None if as_json else Path(REPORT)
    if output.suffix.lower() not in (*PAGES, ".md", ".json"):
        raise ValueError(f"--output {output}: the name must end in .html, .md or .json, which says what is written")
    return output


def _check_outputs(report: Path | None, save: Path | None, inputs: list[Path]) -> None:
    for option, path in (("--output", report), ("--save", save)):
        check_writable(path)
        if path is not None:
            refuse_overwriting(option, path, inputs)
    if report is not None and save is not None and report.resolve() == save.resolve():
        raise ValueError(f"--save {save}: the report is written to this file; give another name")


def check_writable(path: Path | None) -> None:
    """Refuse at once what would be refused after the work."""
    if path is None:
        return
    folder = path.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {folder}; make it first")
    if path.is_dir() or not os.access(folder, os.W_OK):
        raise PermissionError(f"{path}: {'is a folder' if path.is_dir() else 'the folder cannot be written to'}")


@contextmanager
def _advice_on_columns() -> Iterator[None]:
    """What is wrong with a column of the table has one more way out here."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not str(error).startswith("column "):
            raise
        raise type(error)(f"{error}; or leave the column out with --drop") from error


# -- the work ----------------------------------------------------------------------------------------------------------


def _decompose(subject: Subject, order: int | None, engine: str, bins: int | None) -> Decomposition:
    """Trees by their own splits where that is possible; anything else by the bits of the table."""
    say("Decomposing")
    exact: Any = "sparse" if engine == "auto" and is_tree_model(subject.model) else engine
    why = ""
    if exact == "sparse":
        try:
            result = decompose(subject.model, subject.X, order=order, engine=exact)
            if bins is not None and subject.encoding is None:
                raise ValueError(
                    "--bins: the splits of this model are the bits; leave it out, or try --engine regression"
                )
            return result
        except (NotASumOfTreesError, ClosureTooLargeError) as error:
            if engine == "sparse":
                raise
            why = f"; not sparse: {error}"
    other: Any = engine if not why else "regression"
    encoding = Encoding.fit(subject.X, bins=bins or BINS) if subject.encoding is None else subject.encoding
    result = decompose(subject.model, subject.X, order=order, engine=other, encoding=encoding, output=subject.output)
    return replace(result, reason=f"{result.reason}{why}")


def _facts(subject: Subject, result: Decomposition) -> dict[str, Any]:
    """The facts; where the components are not the whole model, with its values at the rows."""
    from hoeffding import report

    details = subject.details | _merged_levels(result.encoding)
    if result.engine != "regression":
        return report.facts(result, model=subject.name, title=subject.title, details=details)
    say("Comparing with the model")
    values = evaluate(subject.model, subject.X, len(subject.X), subject.output)
    outputs = values.at_rows[:, 0] if values.single else values.at_rows
    return report.facts(result, subject.X, outputs=outputs, model=subject.name, title=subject.title, details=details)


def _merged_levels(encoding: Encoding | None) -> dict[str, str]:
    """Which columns have too many levels to keep all of them."""
    columns = () if encoding is None else encoding.columns
    merged = [f"{c.merged} of {c.merged + len(c.levels)} levels of {c.name}" for c in columns if c.merged]
    return {"Merged as other": ", ".join(merged)} if merged else {}


def _show(facts: dict[str, Any], as_json: bool, written: list[Path]) -> None:
    if as_json:
        print(json.dumps(facts, ensure_ascii=False, allow_nan=False))
        return
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    print_summary(console, facts)
    for path in written:
        console.print(f"\nWritten: {path} ({readable_bytes(path.stat().st_size)})")
