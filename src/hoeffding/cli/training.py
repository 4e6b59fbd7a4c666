"""The model that ``hoeffding explain`` trains where it is given none: boosted trees on the bits of the table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hoeffding.machine import require_memory

Task = Literal["classes", "numbers"]

TASKS = ("classes", "numbers")
HELD_OUT = 0.25
FEWEST_ROWS = 40
MOST_CLASSES = 20
FEW_WHOLE_NUMBERS = 10  # a target of at most so many is read as classes, as a column of the table would be
DEPTH = 4  # splits on a path, so that components have at most four bits
TREES = 200
PATIENT_FROM = 2000  # rows from which trees are added only as long as rows set aside are predicted better


@dataclass(frozen=True)
class Trained:
    """A model, and how good it is at rows that it has not seen.

    Attributes
    ----------
    model : Pipeline
        From the table to bits, and then trees.
    what : str
        The model in words.
    explains : str
        The quantity that the trees add up to.
    scores : str
        At the rows held out, in words.
    """

    model: Any
    what: str
    explains: str
    scores: str


def task_of(name: str, target: Any, task: str | None) -> Task:
    """Whether a target is to be read as classes or as numbers."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if task is not None and task not in TASKS:
        raise ValueError(f"--task {task}: must be one of {', '.join(TASKS)}")
    numeric = is_numeric_dtype(target) and not is_bool_dtype(target)
    distinct = target.nunique()
    if distinct < 2:
        raise ValueError(f"--target {name}: the column has one value only, there is nothing to learn")
    whole = numeric and not (target % 1).any()
    if task == "numbers" and not numeric:
        raise ValueError(f"--target {name}: the column holds no numbers; leave out --task, or use --task classes")
    read_as: Task = "classes" if not numeric or (whole and distinct <= FEW_WHOLE_NUMBERS) else "numbers"
    chosen: Task = read_as if task is None else "classes" if task == "classes" else "numbers"
    if chosen == "classes" and distinct > MOST_CLASSES:
        raise ValueError(
            f"--target {name}: {distinct} classes are too many (at most {MOST_CLASSES}); merge some of them"
            + (", or use --task numbers" if numeric else "")
        )
    return chosen


def train(X: Any, y: Any, *, task: Task, bins: int, seed: int) -> Trained:
    """Train on three quarters of the rows and score on the others.

    Parameters
    ----------
    X, y : data frame and series of pandas, n rows
        Without gaps in y.
    task : "classes" or "numbers"
    bins : int
        Into how many parts numbers are cut.
    seed : int
        Of the choice of rows.
    """
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import Pipeline

    from hoeffding.encoder import TableEncoder

    n = len(X)
    if n < FEWEST_ROWS:
        raise ValueError(
            f"{n} rows are too few to train a model and to hold some out; at least {FEWEST_ROWS} are needed, or pass a "
            f"model with --model, or its values with --predictions"
        )
    encoder = TableEncoder(bins=bins).fit(X)
    d = encoder.encoding_.n_features
    require_memory(12.0 * n * d, f"training on {n} rows of {d} bits", "use fewer rows: --rows")
    bits = encoder.transform(X)
    answers = y.to_numpy() if task == "numbers" else y.astype(str).to_numpy(object)
    together = answers if task == "classes" and np.unique(answers, return_counts=True)[1].min() >= 4 else None
    fitted, held = train_test_split(np.arange(n), test_size=HELD_OUT, random_state=seed, stratify=together)
    trees = _boosted(task, len(fitted), seed).fit(bits[fitted], answers[fitted])
    model = Pipeline([("encode", encoder), ("trees", trees)])
    words = f"gradient boosting of {trees.n_iter_} rounds on {d} bits, trained here on {len(fitted)} rows"
    return Trained(model, words, _explains(y.name, trees, task), _scores(trees, bits[held], answers[held], task))


def _boosted(task: Task, n: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if task == "classes" else HistGradientBoostingRegressor
    patient = n >= PATIENT_FROM
    return kind(max_depth=DEPTH, max_iter=TREES if patient else TREES // 2, early_stopping=patient, random_state=seed)


def _explains(name: Any, trees: Any, task: Task) -> str:
    if task == "numbers":
        return f"{name}"
    classes: Sequence[str] = trees.classes_
    return f"log-odds of {name} = {classes[1]}" if len(classes) == 2 else f"scores (before softmax) of {name}"


def _scores(trees: Any, bits: Any, answers: npt.NDArray[Any], task: Task) -> str:
    from sklearn.metrics import r2_score, roc_auc_score

    n = len(answers)
    predicted = trees.predict(bits)
    if task == "numbers":
        error = np.sqrt(np.mean((predicted - answers) ** 2))
        return f"R2 = {r2_score(answers, predicted):.3f}, error {error:.4g} (root mean square) ({n} rows)"
    usual = max(np.mean(answers == c) for c in trees.classes_)
    right = f"accuracy {np.mean(predicted == answers):.3f} (always the most frequent class: {usual:.3f})"
    auc = ""
    if len(trees.classes_) == 2 and len(np.unique(answers)) == 2:
        auc = f"AUC = {roc_auc_score(answers == trees.classes_[1], trees.decision_function(bits)):.3f}, "
    return f"{auc}{right} ({n} rows)"
