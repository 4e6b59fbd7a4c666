"""The black boxes of the paper: tree ensembles and networks, trained with fixed seeds on four fifths of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding import datasets
from hoeffding.bits import BitRows
from hoeffding.datasets import Dataset
from hoeffding.reproduce import networks
from hoeffding.reproduce.cache import kept
from hoeffding.reproduce.networks import NETWORKS
from hoeffding.reproduce.printed import PRINTED, Kind

FloatArray = npt.NDArray[np.float64]

SEED = 0
XGBOOST_MISSING = 'the boosted trees of the paper need XGBoost: python -m pip install "hoeffding[reproduce]"'

FOREST: dict[str, Any] = {"n_estimators": 100, "max_depth": 5}
BOOSTED: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 5}
DEEP: dict[str, Any] = {
    "n_estimators": 1000,
    "learning_rate": 0.05,
    "max_depth": 10,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
}
# The paper states neither depth nor number of trees: XGBoost's own depth, and trees until its score is reached.
REGULARISED: dict[str, Any] = {
    "n_estimators": 3000,
    "learning_rate": 0.01,
    "max_depth": 6,
    "tree_method": "hist",
    "reg_alpha": 0.1,
    "reg_lambda": 1.0,
    "min_child_weight": 5,
    "early_stopping_rounds": 100,
}
TREES = {"A": BOOSTED, "B": FOREST, "C": BOOSTED, "D": DEEP, "E": FOREST, "F": REGULARISED}
LOADERS = {
    "A": datasets.load_entacmaea,
    "B": datasets.load_kr_vs_kp,
    "C": datasets.load_sgemm,
    "D": datasets.load_gb1,
    "E": datasets.load_mushrooms,
    "F": datasets.load_avgfp,
}


@cache
def load(key: str) -> Dataset:
    """The data set ``"A"`` to ``"F"``."""
    return LOADERS[key]()


@dataclass(frozen=True, eq=False)
class BlackBox:
    """A trained model, and what it says of a data set.

    Attributes
    ----------
    key, kind : str
    X : array, shape (n, d)
        The distinct rows, in the order in which they come first.
    y : array, shape (n,)
        The outputs there: the prediction, or the probability of class 1.
    score : float
        R2 or accuracy on the fifth of the rows that training did not see.
    trained : arrays
        What the model can be made of again.
    """

    key: str
    kind: Kind
    X: BitRows
    y: FloatArray
    score: float
    trained: dict[str, npt.NDArray[Any]]

    @cached_property
    def model(self) -> Any:
        """The fitted estimator or torch module."""
        if self.kind == "mlp":
            return networks.load(NETWORKS[self.key], self.trained)
        if self.key in "BE":
            return _forest(self.key)
        model = _xgboost().XGBRegressor()
        model.load_model(bytearray(self.trained["model"].tobytes()))
        return model


def black_box(key: str, kind: Kind = "tree", seed: int = SEED) -> BlackBox:
    """The model of one data set; trained if the cache does not have it.

    A network may have another seed for its first weights and the order of the rows.
    """
    data = load(key)
    settings = repr(NETWORKS[key]) if kind == "mlp" else TREES[key]
    library = "torch" if kind == "mlp" else "sklearn" if key in "BE" else "xgboost"
    version = str(import_module(library).__version__)
    content = [settings, seed, version, np.packbits(data.X), data.X.shape, data.y]
    train = _train_forest if key in "BE" else _train_boosted
    compute = partial(_train_network, key, seed) if kind == "mlp" else partial(train, key)
    found = kept(f"{PRINTED[key].name}-{kind}", content, compute)
    outputs, score = found.pop("outputs"), float(found.pop("score"))
    first = np.unique(data.X, axis=0, return_index=True)[1]
    if len(first) < len(data.X):  # equal rows have equal outputs
        first.sort()
        return BlackBox(key, kind, data.X[first], outputs[first], score, found)
    return BlackBox(key, kind, data.X, outputs, score, found)


def split(key: str) -> tuple[Any, Any, Any, Any]:
    """Rows for training, rows for the score, and the targets of both."""
    from sklearn.model_selection import train_test_split

    data = load(key)
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=0.2, random_state=SEED)
    return X, X_test, y, y_test


def _train_network(key: str, seed: int) -> dict[str, npt.NDArray[Any]]:
    from sklearn.metrics import r2_score

    X, X_test, y, y_test = split(key)
    weights = networks.train(NETWORKS[key], X, y, seed)
    module = networks.load(NETWORKS[key], weights)
    score = r2_score(y_test, networks.predict(module, X_test))
    return {"outputs": networks.predict(module, load(key).X), "score": np.array(score), **weights}


def _train_boosted(key: str) -> dict[str, npt.NDArray[Any]]:
    X, X_test, y, y_test = split(key)
    model = _xgboost().XGBRegressor(**TREES[key], objective="reg:squarederror", random_state=SEED)
    if "early_stopping_rounds" in TREES[key]:
        from sklearn.model_selection import train_test_split

        X, X_stop, y, y_stop = train_test_split(X, y, test_size=0.1, random_state=SEED)
        model.fit(X, y, eval_set=[(X_stop, y_stop)], verbose=False)
    else:
        model.fit(X, y)
    return {
        "outputs": model.predict(load(key).X).astype(np.float64),
        "score": np.array(model.score(X_test, y_test)),
        "model": np.frombuffer(model.get_booster().save_raw("ubj"), np.uint8),
    }


@cache
def _forest(key: str) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    X, _, y, _ = split(key)
    return RandomForestClassifier(**TREES[key], random_state=SEED, n_jobs=-1).fit(X, y)


def _train_forest(key: str) -> dict[str, npt.NDArray[Any]]:
    _, X_test, _, y_test = split(key)
    forest = _forest(key)
    return {
        "outputs": forest.predict_proba(load(key).X)[:, 1],
        "score": np.array(forest.score(X_test, y_test)),
    }


def _xgboost() -> Any:
    try:
        import xgboost
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(XGBOOST_MISSING) from error
    return xgboost
