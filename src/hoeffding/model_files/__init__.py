"""Models from files: formats that hold numbers only are read, pickles only if their origin is trusted.

=========================  ======================  ==================================================================
format                     told by                 becomes
=========================  ======================  ==================================================================
XGBoost's JSON and UBJSON  ``.json``, ``.ubj``     ``xgboost.Booster``, a sum of trees
LightGBM's text            ``.txt``                ``lightgbm.Booster``, a sum of trees
CatBoost's binary          ``.cbm``                ``catboost.CatBoost``, a sum of trees
ONNX                       ``.onnx``               :class:`OnnxModel`, a black box
pickle, joblib             the first bytes         whatever they hold, after running whatever code they name
=========================  ======================  ==================================================================
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hoeffding.model_files import lightgbm_text, xgboost_trees
from hoeffding.model_files.onnx import OnnxModel

PICKLED = (".pkl", ".pickle", ".joblib", ".sav")
SHOWN = 12
COMPRESSED = (b"\x1f\x8b", b"BZ", b"\xfd7zXZ", b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")  # as joblib does
UNTRUSTED = (
    "{path}: a pickle, which can run any program while it is read. Only if you know and trust whoever made it, read it "
    "with {how}; otherwise ask for the model as XGBoost JSON, LightGBM text or ONNX"
)


def read_model(path: str | os.PathLike[str], *, trust_pickle: bool = False) -> Any:
    """Read a model from a file, as :func:`hoeffding.decompose` takes it.

    Parameters
    ----------
    path : str or path
        Of XGBoost (``.json``, ``.ubj``), LightGBM (``.txt``), CatBoost (``.cbm``) or ONNX (``.onnx``), or a pickle.
    trust_pickle : bool
        Read pickles and joblib files. They can run any program: say yes only to files whose maker you trust.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"{file}: {'a folder, not a file' if file.is_dir() else 'no such file'}")
    with file.open("rb") as opened:
        start = opened.read(64)
    ending = file.suffix.lower()
    if ending in PICKLED or is_pickle(start):
        if not trust_pickle:
            raise ValueError(UNTRUSTED.format(path=file, how="trust_pickle=True (--trust-pickle)"))
        return _guarded(_read_pickle, file, "pickle")
    if ending not in READERS:
        raise ValueError(f"{file}: not known as a model; its name must end in {', '.join([*READERS, *PICKLED])}")
    package, reader = READERS[ending]
    return _guarded(reader, file, package)


def is_pickle(start: bytes) -> bool:
    """Whether a file that starts like this is a pickle, or compressed as joblib compresses pickles."""
    return (start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05") or start.startswith(COMPRESSED)


def _guarded(reader: Callable[[Path], Any], file: Path, package: str) -> Any:
    try:
        return reader(file)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{file}: reading it needs {error.name}: python -m pip install {error.name}"
        ) from error
    except Exception as error:  # each library raises errors of its own
        words = re.sub(r"^\[\d\d:\d\d:\d\d\] \S+: ", "", next(iter(str(error).strip().splitlines()), ""))
        raise ValueError(
            f"{file}: cannot be read as {package} ({type(error).__name__}: {words}); it is damaged, or of another kind"
        ) from error


def _read_xgboost(file: Path) -> Any:
    import xgboost

    xgboost_trees.check(file.read_bytes())
    return xgboost.Booster(model_file=file)


def _read_lightgbm(file: Path) -> Any:
    import lightgbm

    lightgbm_text.check(file.read_text(encoding="utf-8"))
    _try_first("lightgbm.Booster(model_file=file)", file)
    return lightgbm.Booster(model_file=file)


def _read_catboost(file: Path) -> Any:
    import catboost

    _try_first("catboost.CatBoost().load_model(file).save_model(os.devnull, format='json')", file)
    return catboost.CatBoost().load_model(str(file))


def _try_first(call: str, file: Path) -> None:
    """Read a file in a process of its own, for libraries that end the process on some damaged files."""
    code = f"import os, sys; file = sys.argv[1]; import {call.partition('.')[0]}; {call}"
    done = subprocess.run([sys.executable, "-c", code, os.fspath(file)], capture_output=True, check=False)
    if done.returncode not in (0, 1):  # 1 is an exception, which is raised again here
        raise ValueError(f"reading it ends the process, with code {done.returncode}")


def _read_pickle(file: Path) -> Any:
    import joblib

    return joblib.load(file)


READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    ".json": ("XGBoost", _read_xgboost),
    ".ubj": ("XGBoost", _read_xgboost),
    ".txt": ("LightGBM", _read_lightgbm),
    ".cbm": ("CatBoost", _read_catboost),
    ".onnx": ("ONNX", OnnxModel),
}


def columns_for(model: Any, table: Any, path: Path, left_out: Sequence[str] = ()) -> Any:
    """The columns of a pandas table that a model takes, in its order; all of them if it does not know names.

    LightGBM and XGBoost take categories, not text, so columns of text become categories for them.
    ``left_out`` names columns that the table had before some were left out.
    """
    names = _names_of(model)
    by_name = {str(name): name for name in table.columns}
    if names is not None and not any(map(_is_position, names)):
        absent = [repr(name) for name in names if name not in by_name]
        dropped = [repr(name) for name in names if name not in by_name and name in left_out]
        if dropped:
            raise ValueError(
                f"{path}: the model takes the column {dropped[0]}, which is left out (--drop, --target); leave it in"
            )
        if absent:
            more = f" and {len(absent) - SHOWN} more" if len(absent) > SHOWN else ""
            raise ValueError(
                f"{path}: the model takes {len(names)} columns by name; the table has no "
                f"{', '.join(absent[:SHOWN])}{more}"
            )
        table = table[[by_name[name] for name in names]]
    wanted = getattr(model, "n_features_in_", None) if names is None else len(names)
    if wanted is not None and wanted != table.shape[1]:
        raise ValueError(
            f"{path}: the model takes {wanted} columns and does not know their names; {table.shape[1]} are left of the "
            f"table ({', '.join(list(by_name)[:SHOWN])}), leave out others with --drop"
        )
    if type(model).__module__.split(".")[0] in ("lightgbm", "xgboost"):
        texts = [name for name in table.columns if table[name].dtype.kind not in "biufcmM"]
        table = table.astype(dict.fromkeys(texts, "category"))
    return table


def _names_of(model: Any) -> list[str] | None:
    """The columns that a model was trained on, where it knows them."""
    for attribute in ("feature_names_in_", "feature_names", "feature_names_", "feature_name"):
        found = getattr(model, attribute, None)
        names = found() if callable(found) else found
        if names is not None and len(names):
            return [str(name) for name in names]
    return None


def _is_position(name: str) -> bool:
    """Whether a library made up this name of a column: LightGBM ``Column_3``, CatBoost ``3``."""
    return re.fullmatch(r"(Column_)?\d+", name) is not None
