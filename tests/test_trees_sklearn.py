"""scikit-learn's trees are read exactly: at thresholds, with missing values, for every loss and number of outputs."""

import numpy as np
import pytest
import sklearn.ensemble as se
import sklearn.tree as st

from hoeffding.engines.trees import read_ensemble

N = 300


def data(missing=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5)).round(1)  # values in tenths: no threshold is exact in single precision
    X[:, 0] = rng.integers(0, 2, N)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N)
    if missing:
        X[rng.random((N, 5)) < 0.1] = np.nan
    return X, y


TARGETS = {
    "numbers": lambda y: y,
    "two classes": lambda y: np.where(y > 0, "yes", "no"),
    "three classes": lambda y: np.digitize(y, [-0.5, 0.5]),
    "two numbers": lambda y: np.stack([y, -2 * y + 1], axis=1),
    "constant": lambda y: np.ones(len(y), int),
    "positive": np.exp,
}
MODULES = {"DecisionTree": st, "ExtraTree": st, "RandomForest": se, "ExtraTrees": se}
OF_KIND = {
    "Regressor": ["numbers", "two numbers", "constant"],
    "Classifier": ["two classes", "three classes", "constant"],
}
AVERAGED = [
    (getattr(module, name + kind), targets)
    for kind, all_targets in OF_KIND.items()
    for name, module in MODULES.items()
    for targets in all_targets
]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("cls", "targets"), AVERAGED)
def test_averaged_trees(cls, targets, missing):
    X, y = data(missing)
    settings = {"n_estimators": 10} if "n_estimators" in cls().get_params() else {}
    model = cls(random_state=0, **settings).fit(X, TARGETS[targets](y))
    ensemble = read_ensemble(model, X)
    assert ensemble.single == (targets in {"numbers", "two classes", "constant"})
    assert ensemble.output.startswith("probability" if "Classifier" in cls.__name__ else "prediction")
