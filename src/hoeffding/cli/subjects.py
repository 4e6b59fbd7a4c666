"""What is explained: a model trained here, one from a file, or the values that one has left in a column."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hoeffding.cli.given import SHOWN, Given
from hoeffding.cli.training import task_of, train
from hoeffding.progress import say
from hoeffding.tables import Encoding

MOST_TEXTS = 0.5  # of the rows: text with more different values names rows, it does not describe them
FEW_TEXTS = 20


@dataclass(frozen=True, eq=False)
class Subject:
    """A model (or its values) and the rows of its columns.

    ``name`` and ``details`` say what it is. A model trained here has an encoding of its own, and one output is meant.
    """

    model: Any
    X: Any
    name: str
    title: str
    details: dict[str, str]
    encoding: Encoding | None = None
    output: Literal["margin"] | None = None


def trained(given: Given, target: str, task: str | None, bins: int, seed: int) -> Subject:
    """Boosted trees that predict a column, and are scored on rows held out."""
    y = given.column("--target", target)
    chosen = task_of(target, y, task)
    kept = given.take(y.notna(), f"without {target}")
    y = kept.frame[target]
    X, left_out = _without_names_of_rows(kept.features)
    say("Training boosted trees")
    found = train(X, y, task=chosen, bins=bins, seed=seed)
    details = {"Table": kept.words, **kept.notes, **left_out, "Held out": found.scores}
    details["Explained"] = found.explains
    title = f"What {target} depends on in {given.path.name}"
    output: Literal["margin"] | None = "margin" if chosen == "classes" else None
    return Subject(found.model, X, found.what, title, details, found.model[0].encoding_, output)


def _without_names_of_rows(features: Any) -> tuple[Any, dict[str, str]]:
    """Leave out columns of text in which most values occur once, such as names: no model could learn from them."""
    n, found = len(features), {}
    for name in features.columns:
        distinct = 0 if features[name].dtype.kind in "biufcmM" else features[name].astype(str).nunique()
        if distinct > max(MOST_TEXTS * n, FEW_TEXTS):
            found[name] = f"{name} ({distinct} different texts in {n} rows)"
    if not found:
        return features, {}
    if len(found) == features.shape[1]:
        raise ValueError(f"no column is left to learn from: {', '.join(found.values())}")
    return features.drop(columns=list(found)), {"Columns left out": ", ".join(found.values())}


def from_column(given: Given, predictions: str) -> Subject:
    """A model of which only its values are known."""
    from pandas.api.types import is_numeric_dtype

    values = given.column("--predictions", predictions)
    if not is_numeric_dtype(values):
        raise TypeError(
            f"--predictions {predictions}: the column holds {values.dtype}; expected numbers, such as probabilities"
        )
    kept = given.take(values.notna(), f"without {predictions}")
    y = kept.frame[predictions].to_numpy(np.float64)
    X, left_out = _without_names_of_rows(kept.features)
    details, name = {"Table": kept.words, **kept.notes, **left_out}, f"known by its values, in column {predictions}"
    return Subject(y, X, name, f"What {predictions} in {given.path.name} is made of", details)


def from_file(given: Given, path: Path, target: str | None, trust_pickle: bool) -> Subject:
    """A model, and the columns of the table that it takes."""
    from hoeffding.model_files import columns_for, read_model

    say(f"Reading {path}")
    model = read_model(path, trust_pickle=trust_pickle)
    X = columns_for(model, given.features, path, left_out=[str(name) for name in given.frame.columns])
    unused = [str(name) for name in given.features.columns if name not in X.columns]
    name = f"{type(model).__name__} in {path.name}, of {X.shape[1]} columns"
    details = {"Table": given.words}
    if unused:
        more = f" and {len(unused) - SHOWN} more" if len(unused) > SHOWN else ""
        details["Columns not used"] = ", ".join(unused[:SHOWN]) + more
    of = "" if target is None else f" for {target}"
    return Subject(model, X, name, f"What {path.name}{of} does on {given.path.name}", details)
