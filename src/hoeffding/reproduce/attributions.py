"""Attributions to features by the packages that the paper compares with.

All return arrays ``(n, d)``. Globally, features are compared by their share of ``sum |phi|``; locally, by
``phi / sum |phi|``, as in the paper.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitRows
from hoeffding.reproduce import networks
from hoeffding.reproduce.cache import Arrays, kept
from hoeffding.reproduce.models import SEED, BlackBox

FloatArray = npt.NDArray[np.float64]

PACKAGES = {
    "shap": 'comparisons need shap: python -m pip install "hoeffding[reproduce]"',
    "treehfd": "the comparison on Entacmaea needs treehfd: python -m pip install --no-deps treehfd",
}


def shares(phi: FloatArray) -> FloatArray:
    """Global importance: the mean of ``|phi|`` over the rows, normalised; ``(n, d)`` to ``(d,)``."""
    total = np.abs(phi).sum(axis=0)
    return np.asarray(total / total.sum())


def normalised(phi: FloatArray) -> FloatArray:
    """Local importance: one row of attributions over the sum of their absolute values."""
    return np.asarray(phi / np.abs(phi).sum())


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Spearman's correlation of two vectors."""
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)


def tree_shap(box: BlackBox, rows: npt.NDArray[np.intp]) -> FloatArray:
    """TreeSHAP of the rows, path dependent, as ``shap.TreeExplainer(model)`` has it."""

    def compute() -> Arrays:
        phi = _package("shap").TreeExplainer(box.model).shap_values(box.X[rows].astype(np.float64))
        return {"phi": np.asarray(phi, np.float64)[..., 1] if np.ndim(phi) == 3 else np.asarray(phi, np.float64)}

    return _kept("treeshap", box, rows, [], compute)


def tree_hfd(box: BlackBox, rows: npt.NDArray[np.intp]) -> FloatArray:
    """The main effects of treehfd, and half of each pair for both of its features."""

    def compute() -> Arrays:
        explained = _package("treehfd").XGBTreeHFD(box.model)
        X = box.X.astype(np.float64)
        explained.fit(X, interaction_order=2, verbose=False)
        phi, pairs = explained.predict(X[rows], verbose=False)[:2]
        for (i, j), values in zip(np.asarray(explained.interaction_list).tolist(), pairs.T, strict=True):
            phi[:, i] += values / 2
            phi[:, j] += values / 2
        return {"phi": phi}

    return _kept("treehfd", box, rows, [], compute)


def kernel_shap(
    box: BlackBox, rows: npt.NDArray[np.intp], background: BitRows, *, n_samples: int | None, keep_all: bool
) -> FloatArray:
    """KernelSHAP of the rows against background rows.

    By default shap takes ``2 d + 2048`` samples and keeps ten features; ``n_samples`` takes more, and ``keep_all``
    keeps all features.
    """

    def compute() -> Arrays:
        with _quiet(), _seeded():
            explainer = _package("shap").KernelExplainer(_values(box), background)
            settings = {"nsamples": n_samples or "auto"} | ({"l1_reg": 0} if keep_all else {})
            return {"phi": np.array([explainer.shap_values(box.X[i], silent=True, **settings) for i in rows])}

    return _kept("kernelshap", box, rows, [background, n_samples, keep_all], compute)


def deep_shap(box: BlackBox, rows: npt.NDArray[np.intp], background: BitRows) -> FloatArray:
    """DeepSHAP of the rows against background rows."""

    def compute() -> Arrays:
        import torch

        with _quiet():
            tensors = [torch.from_numpy(X.astype(np.float32)) for X in (background, box.X[rows])]
            phi = _package("shap").DeepExplainer(box.model, tensors[0]).shap_values(tensors[1])
        return {"phi": np.asarray(phi, np.float64).reshape(len(rows), -1)}

    return _kept("deepshap", box, rows, [background], compute)


def background_rows(box: BlackBox, n: int) -> BitRows:
    """Rows drawn without replacement, the same in every run."""
    return box.X[np.random.default_rng(SEED).choice(len(box.X), n, replace=False)]


def _values(box: BlackBox) -> Callable[[npt.NDArray[Any]], FloatArray]:
    """The model as a function of rows; where all 2^d rows are known, their outputs are looked up."""
    d = box.X.shape[1]
    if len(box.X) < 2**d:
        return lambda X: networks.predict(box.model, X)
    place = 1 << np.arange(d)[::-1]
    outputs = np.empty(2**d)
    outputs[box.X @ place] = box.y
    return lambda X: outputs[np.asarray(X, np.int64) @ place]


def _kept(
    name: str, box: BlackBox, rows: npt.NDArray[np.intp], settings: list[Any], compute: Callable[[], Arrays]
) -> FloatArray:
    package = "treehfd" if name == "treehfd" else "shap"
    content = [_version(package), np.packbits(box.X), box.y, rows, *settings]
    return kept(f"{name}-{box.key}-{box.kind}", content, compute)["phi"]


def _package(name: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what packages warn of at import does not concern us
            return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(PACKAGES[name]) from error


def _version(name: str) -> str:
    from importlib.metadata import version

    _package(name)
    return version(name)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Nothing of shap's progress and of its advice to use fewer background rows."""
    logger = logging.getLogger("shap")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    """KernelSHAP draws from NumPy's global generator, which is put back afterwards."""
    state = np.random.get_state()  # noqa: NPY002  # this is the generator that shap uses
    np.random.seed(SEED)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
