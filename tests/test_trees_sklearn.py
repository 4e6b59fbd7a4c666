"""scikit-learn's trees are read exactly: at thresholds, with missing values, for every loss and number of outputs."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.ensemble as se
import sklearn.tree as st
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression

from hoeffding import decompose
from hoeffding.engines.trees import read_ensemble
from hoeffding.engines.trees import sklearn as reader
from hoeffding.engines.trees.ensemble import NotASumOfTreesError

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
    model = cls(random_state=0, max_depth=4, **settings).fit(X, TARGETS[targets](y))
    ensemble = read_ensemble(model, X)
    assert ensemble.single == (targets in {"numbers", "two classes", "constant"})
    assert ensemble.output.startswith("probability" if "Classifier" in cls.__name__ else "prediction")
    is_read(model, X)


def model_answers(model, X):
    """What the user of the model sees, on the scale that its trees add up to."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        return shares[:, 1] if shares.shape[1] == 2 else shares[:, 0] if shares.shape[1] == 1 else shares
    out = model.predict(X)
    return np.log(out) if getattr(model, "loss", None) in ("poisson", "gamma") else out


def is_read(model, X):
    """Whether the sums of the trees, and of the components, are what the model says, at every row."""
    wanted = model_answers(model, X)
    ensemble = read_ensemble(model, X)
    size = max(1, np.abs(wanted).max())
    if isinstance(X, np.ndarray):
        np.testing.assert_allclose(ensemble.predict(X), wanted, rtol=0, atol=1e-13 * size)
    result = decompose(model, X, engine="sparse", max_sets=10**7)
    np.testing.assert_allclose(result.predict(X), wanted, rtol=0, atol=1e-9 * size)
    return ensemble


BOOSTED = [
    (se.GradientBoostingRegressor, "numbers", {}, "prediction"),
    (se.GradientBoostingRegressor, "numbers", {"loss": "huber"}, "prediction"),
    (se.GradientBoostingRegressor, "numbers", {"init": "zero"}, "prediction"),
    (se.GradientBoostingRegressor, "numbers", {"init": DummyRegressor(strategy="median")}, "prediction"),
    (se.GradientBoostingClassifier, "two classes", {}, "margin (log-odds)"),
    (se.GradientBoostingClassifier, "two classes", {"loss": "exponential"}, "margin (log-odds)"),
    (se.GradientBoostingClassifier, "two classes", {"init": "zero"}, "margin (log-odds)"),
    (se.GradientBoostingClassifier, "three classes", {}, "margin (one score for each class, before softmax)"),
    (se.GradientBoostingClassifier, "three classes", {"init": DummyClassifier(strategy="prior")}, "margin (one"),
    (se.HistGradientBoostingRegressor, "numbers", {}, "prediction"),
    (se.HistGradientBoostingRegressor, "numbers", {"loss": "absolute_error"}, "prediction"),
    (se.HistGradientBoostingRegressor, "positive", {"loss": "poisson"}, "margin (log of the prediction)"),
    (se.HistGradientBoostingRegressor, "positive", {"loss": "gamma"}, "margin (log of the prediction)"),
    (se.HistGradientBoostingClassifier, "two classes", {}, "margin (log-odds)"),
    (se.HistGradientBoostingClassifier, "three classes", {}, "margin (one score for each class, before softmax)"),
]


@pytest.mark.parametrize(("cls", "targets", "settings", "words"), BOOSTED)
def test_boosted_trees(cls, targets, settings, words):
    histogram = "Hist" in cls.__name__
    X, y = data(missing=histogram)
    size = {"max_iter": 6} if histogram else {"n_estimators": 6}
    model = cls(max_depth=3, random_state=0, **size, **settings).fit(X, TARGETS[targets](y))
    ensemble = is_read(model, X)
    assert ensemble.output.startswith(words)
    assert ensemble.n_trees == (18 if targets == "three classes" else 6)


def test_early_stopping_leaves_the_trees_that_are_used():
    X, y = data()
    for cls, settings in (
        (se.GradientBoostingRegressor, {"n_estimators": 500, "n_iter_no_change": 2}),
        (se.HistGradientBoostingRegressor, {"max_iter": 500, "early_stopping": True, "n_iter_no_change": 2}),
    ):
        model = cls(learning_rate=0.9, max_depth=2, random_state=0, **settings).fit(X, y)
        assert is_read(model, X).n_trees < 500


def test_boosting_from_another_model_is_fitted_instead():
    X, y = data()
    X = (X > 0).astype(float)
    model = se.GradientBoostingRegressor(n_estimators=3, init=LinearRegression(), random_state=0).fit(X, y)
    with pytest.raises(NotASumOfTreesError, match=r"starts from init=LinearRegression\(\), which is not a constant"):
        decompose(model, X, engine="sparse")
    result = decompose(model, X)
    assert result.engine == "cube"
    assert "not sparse: model: boosting starts from init=LinearRegression()" in result.reason
    np.testing.assert_allclose(result.predict(X), model.predict(X), rtol=0, atol=1e-10)


def test_a_classifier_of_two_targets_says_what_to_do():
    X, y = data()
    model = st.DecisionTreeClassifier(max_depth=2).fit(X, np.stack([y > 0, y > 1], axis=1))
    with pytest.raises(NotASumOfTreesError, match="decompose one target at a time"):
        decompose(model, X, engine="sparse")


def test_categories_of_histogram_boosting():
    X, y = data(missing=True)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X[:, 1:3], columns=["a", "b"])
    frame["colour"] = pd.Categorical(rng.choice(["red", "green", "blue"], N))
    frame["level"] = pd.Categorical(rng.integers(10, 50, N))
    y = y + 2 * (frame["colour"] == "red") + 5.0 * (frame["level"].astype(int) % 3 == 0)
    frame.loc[::9, "colour"] = None
    model = se.HistGradientBoostingRegressor(
        max_iter=8, max_depth=3, min_samples_leaf=5, categorical_features="from_dtype", random_state=0
    ).fit(frame, y)
    ensemble = is_read(model, frame)
    assert len(ensemble.categories)
    assert {name for name, _ in decompose(model, frame).groups} == {"a", "b", "colour", "level"}
    unknown = frame.copy()
    unknown["level"] = pd.Categorical(np.resize([10, 11, 99], N))
    is_read(model, unknown)
    two = frame[["colour"]].assign(colour=pd.Categorical(np.resize(["red", "blue"], N)))
    tree = se.HistGradientBoostingRegressor(max_iter=3, max_depth=2, categorical_features="from_dtype").fit(two, y)
    is_read(tree, two)
    assert dict(decompose(tree, two).groups) == {"colour": (0,)}


def test_values_at_the_thresholds_go_where_they_go():
    X, y = data()
    for model in (
        st.DecisionTreeRegressor(random_state=0).fit(X, y),
        se.HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(X, y),
    ):
        ensemble = read_ensemble(model, X)
        t = np.unique(ensemble.threshold[ensemble.feature >= 0])
        single = t.astype(np.float32).astype(float)
        near = np.concatenate([t, single, np.nextafter(t, -np.inf), np.nextafter(t, np.inf), np.nextafter(single, 9)])
        rows = np.random.default_rng(0).choice(near, (500, 5))
        np.testing.assert_allclose(read_ensemble(model, rows).predict(rows), model.predict(rows), rtol=0, atol=1e-13)


def tampered(model, X, change, read=reader.read):
    ensemble = read(model, X)
    leaf, inner = np.flatnonzero(ensemble.feature < 0), ensemble.feature >= 0
    if change == "leaf":
        value = ensemble.value.copy()
        value[leaf[np.argmax(np.abs(value[leaf, 0]))]] *= 1 + 1e-9
        return replace(ensemble, value=value)
    if change == "base":
        return replace(ensemble, base=ensemble.base + 1e-9)
    if change == "threshold":
        return replace(ensemble, threshold=np.where(inner, 2.0, ensemble.threshold))
    return replace(ensemble, left=ensemble.right, right=ensemble.left)


@pytest.mark.parametrize("change", ["leaf", "base", "threshold", "sides"])
@pytest.mark.parametrize("on_bits", [False, True])
def test_what_is_read_wrongly_is_caught(monkeypatch, change, on_bits):
    X, y = data()
    rows = (X > 0).astype(float) if on_bits else X
    model = se.GradientBoostingRegressor(n_estimators=5, max_depth=3, random_state=0).fit(rows, y)
    decompose(model, rows)
    monkeypatch.setattr(reader, "read", lambda model, X: tampered(model, X, change))
    with pytest.raises(ValueError, match=r"its trees add up to .* where the model itself says"):
        decompose(model, rows)


def test_subclasses_and_names_of_columns():
    class Mine(se.RandomForestRegressor):
        pass

    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = Mine(n_estimators=3, max_depth=3, random_state=0).fit(frame, y)
    assert is_read(model, frame).feature_names == tuple("abcde")
    with pytest.raises(ValueError, match="X: no column 'e'; the model was trained on the columns a, b, c, d, e"):
        decompose(model, frame[list("abcd")])
    with pytest.raises(ValueError, match="another order"):
        decompose(model, frame[list("edcba")])


def test_sparse_rows_are_rows():
    X, y = data()
    bits = (X > 0).astype(float)
    model = se.RandomForestRegressor(n_estimators=3, max_depth=3, random_state=0).fit(bits, y)
    here, there = decompose(model, bits), decompose(model, scipy.sparse.csr_array(bits))
    np.testing.assert_array_equal(here.coefficients, there.coefficients)


def test_models_that_ask_nothing():
    X = data()[0]
    for rows in (X, (X > 0).astype(float)):
        result = decompose(st.DecisionTreeRegressor().fit(rows, np.full(N, 2.5)), rows)
        assert result.engine == "sparse"
        assert result.subsets == [()]
        assert result.coefficients.tolist() == [2.5]
        assert result.fidelity == 1.0
        np.testing.assert_array_equal(result.shapley(rows), 0)


def test_missing_values_that_training_had_none_of():
    X, y = data()
    missing = X.copy()
    missing[::3, 1:4] = np.nan
    is_read(st.DecisionTreeRegressor(max_depth=4).fit(X, y), missing)
    is_read(se.RandomForestRegressor(3, max_depth=4).fit(X, y), missing)
    is_read(se.HistGradientBoostingRegressor(max_iter=3, max_depth=3).fit(X, y), missing)
    with pytest.raises(ValueError, match="NaN"):  # it takes none, and says so itself
        decompose(se.GradientBoostingRegressor(n_estimators=3).fit(X, y), missing)
