"""XGBoost's models are read exactly: single precision, missing values, dart, early stopping, every base score."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from hoeffding import decompose
from hoeffding.engines.trees import read_ensemble
from hoeffding.engines.trees import xgboost as reader
from hoeffding.engines.trees.ensemble import NotASumOfTreesError

xgboost = pytest.importorskip("xgboost")

N = 400
SETTINGS = {"n_estimators": 8, "max_depth": 3, "random_state": 0, "n_jobs": 1}


def data(missing=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5)).round(1)  # values in tenths: no threshold is exact in single precision
    X[:, 0] = rng.integers(0, 2, N)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N)
    if missing:
        X[rng.random((N, 5)) < 0.1] = np.nan
    return X, y


def margins(model, X):
    if isinstance(model, xgboost.Booster):
        return model.predict(xgboost.DMatrix(X, feature_names=model.feature_names), output_margin=True)
    return model.predict(X, output_margin=True)


def is_read(model, X):
    """Whether the sums of the trees are the margins at every row, up to the rounding of single precision."""
    theirs = margins(model, X)
    ensemble = read_ensemble(model, X)
    tolerance = 2.0**-24 * (ensemble.n_trees + 8) * max(1, 4 * np.abs(theirs).max())
    if isinstance(X, np.ndarray):
        np.testing.assert_allclose(ensemble.predict(X.astype(float)), theirs, rtol=0, atol=tolerance)
    result = decompose(model, X, engine="sparse")
    np.testing.assert_allclose(result.predict(X), theirs, rtol=0, atol=tolerance)
    assert np.ptp(theirs) > 0
    return ensemble


TARGETS = {
    "numbers": lambda y: y,
    "positive": np.exp,
    "two classes": lambda y: (y > 0).astype(int),
    "shares": lambda y: 1 / (1 + np.exp(-y)),
    "three classes": lambda y: np.digitize(y, [-0.5, 0.5]),
    "two numbers": lambda y: np.stack([y, -2 * y + 1], axis=1),
}
SCORES = "margin (one score for each class, before softmax)"


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("objective", "targets", "words"),
    [
        ("reg:squarederror", "numbers", "prediction"),
        ("reg:absoluteerror", "numbers", "prediction"),
        ("reg:pseudohubererror", "numbers", "prediction"),
        ("reg:squarederror", "two numbers", "prediction"),
        ("reg:logistic", "shares", "margin (log-odds)"),
        ("reg:gamma", "positive", "margin (log of the prediction)"),
        ("reg:tweedie", "positive", "margin (log of the prediction)"),
        ("count:poisson", "positive", "margin (log of the prediction)"),
        ("binary:logistic", "two classes", "margin (log-odds)"),
        ("binary:logitraw", "two classes", "margin (log-odds)"),
        ("binary:hinge", "two classes", "margin"),
        ("multi:softmax", "three classes", SCORES),
        ("multi:softprob", "three classes", SCORES),
    ],
)
def test_objectives(objective, targets, words, missing):
    X, y = data(missing)
    is_classifier = objective.startswith(("binary", "multi"))
    cls = xgboost.XGBClassifier if is_classifier else xgboost.XGBRegressor
    ensemble = is_read(cls(objective=objective, **SETTINGS).fit(X, TARGETS[targets](y)), X)
    assert ensemble.output == words
    assert ensemble.output_names == (("0", "1", "2") if targets == "three classes" else None)
    assert ensemble.single == (targets not in {"three classes", "two numbers"})


@pytest.mark.parametrize("score", [None, 0.25])
@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:logistic", "multi:softprob", "count:poisson"])
def test_base_scores_of_one_number_and_of_many(objective, score):
    X, y = data()
    targets = {"reg:squarederror": "numbers", "binary:logistic": "two classes", "multi:softprob": "three classes"}
    cls = xgboost.XGBClassifier if objective in ("binary:logistic", "multi:softprob") else xgboost.XGBRegressor
    target = TARGETS[targets.get(objective, "positive")](y)
    model = cls(objective=objective, base_score=score, **SETTINGS).fit(X, target)
    ensemble = is_read(model, X)
    assert len(ensemble.base) == (3 if objective == "multi:softprob" else 1)
    if score is not None:
        link = {
            "reg:squarederror": score,
            "binary:logistic": np.log(score / (1 - score)),
            "count:poisson": np.log(score),
        }
        np.testing.assert_allclose(ensemble.base, link.get(objective, score), atol=1e-7)


def test_base_scores_are_lists_of_text():
    for text, wanted in (("5E-1", [0.5]), ("[5E-1]", [0.5]), ("[1E0,2E0]", [1.0, 2.0])):
        found = reader._base_margin(text, "reg:squarederror", len(wanted))
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(reader._base_margin("[5E-1]", "binary:logistic", 1), [0.0], atol=1e-15)
    np.testing.assert_array_equal(reader._base_margin("5E-1", "multi:softprob", 3), [0.5] * 3)


@pytest.mark.parametrize("settings", [{"multi_strategy": "multi_output_tree"}, {"num_parallel_tree": 3}])
def test_trees_with_several_values_and_forests_of_several_trees(settings):
    X, y = data()
    target = TARGETS["two numbers" if "multi_strategy" in settings else "numbers"](y)
    ensemble = is_read(xgboost.XGBRegressor(**settings, **SETTINGS).fit(X, target), X)
    assert ensemble.n_trees == 8 * settings.get("num_parallel_tree", 1)
    forest = xgboost.XGBRFClassifier(**SETTINGS | {"n_estimators": 20}).fit(X, TARGETS["three classes"](y))
    assert is_read(forest, X).n_trees == 60


def test_trees_that_dart_has_weighted():
    X, y = data()
    model = xgboost.XGBRegressor(booster="dart", rate_drop=0.5, **SETTINGS).fit(X, y)
    weights = json.loads(model.get_booster().save_raw("json"))["learner"]["gradient_booster"]["weight_drop"]
    assert len(set(weights)) > 1
    is_read(model, X)


def test_early_stopping_of_estimators_and_of_boosters():
    X, y = data()
    model = xgboost.XGBRegressor(**SETTINGS | {"n_estimators": 300, "learning_rate": 0.8}, early_stopping_rounds=4)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    n_trees = model.get_booster().num_boosted_rounds()
    assert is_read(model, X).n_trees == model.best_iteration + 1 < n_trees
    assert is_read(model.get_booster(), X).n_trees == n_trees, "a booster's predict uses all of its trees"
    assert not np.allclose(margins(model, X), margins(model.get_booster(), X), atol=1e-4)


def test_the_number_that_means_missing():
    X, y = data(missing=True)
    marked = np.where(np.isnan(X), -999.0, X)
    model = xgboost.XGBRegressor(missing=-999.0, **SETTINGS).fit(marked, y)
    is_read(model, X)
    with pytest.raises(ValueError, match="-999, which this model takes for a missing value; write NaN there"):
        decompose(model, marked)
    bits = (X > 0).astype(float)
    model = xgboost.XGBRegressor(missing=0.0, **SETTINGS).fit(bits, np.nan_to_num(y))
    is_read(model, bits)
    assert decompose(model, bits).encoding is None


def test_missing_values_have_a_direction_that_training_may_not_have_seen():
    X, y = data()
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
    is_read(xgboost.XGBRegressor(**SETTINGS).fit(X, y), holes)
    low, high = (xgboost.XGBRegressor(**SETTINGS).fit(holes, y + s * np.isnan(holes[:, 1])) for s in (-9, 9))
    goes = [is_read(model, holes).missing_right for model in (low, high)]
    assert goes[0].any()
    assert not all(g.all() for g in goes)


def test_values_at_the_conditions_go_where_single_precision_sends_them():
    X, y = data()
    model = xgboost.XGBRegressor(**SETTINGS).fit(X, y)
    conditions = np.unique([t for tree in _trees(model) for t in tree["split_conditions"]]).astype(np.float32)
    below = np.nextafter(conditions, np.float32(-np.inf))
    middle = (conditions.astype(float) + below.astype(float)) / 2
    near = np.concatenate([conditions, below, middle, np.nextafter(middle, 9), np.nextafter(middle, -9)])
    assert ((near[:, None] >= conditions) != (near.astype(np.float32)[:, None] >= conditions)).any()
    is_read(model, np.random.default_rng(0).choice(near, (1000, 5)))


def _trees(model):
    return json.loads(model.get_booster().save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]


def test_leaves_are_single_precision_numbers_added_in_double_precision():
    X, y = data()
    model = xgboost.XGBRegressor(**SETTINGS).fit(X, y)
    ensemble = read_ensemble(model, X)
    leaves = ensemble.value[ensemble.feature < 0, 0]
    np.testing.assert_array_equal(leaves, leaves.astype(np.float32))
    exact = ensemble.predict(X)
    assert 0 < np.abs(exact - margins(model, X)).max() < 1e-5


def test_categories_of_a_frame():
    X, y = data(missing=True)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X[:, 1:3], columns=["a", "b"])
    frame["colour"] = pd.Categorical(rng.choice(["red", "green", "blue"], N))
    y = y + 2 * (frame["colour"] == "red")
    frame.loc[::9, "colour"] = None
    for one_hot in (2, 10):
        model = xgboost.XGBRegressor(enable_categorical=True, max_cat_to_onehot=one_hot, **SETTINGS).fit(frame, y)
        ensemble = is_read(model, frame)
        assert len(ensemble.categories)
        assert ensemble.levels[2] == ("blue", "green", "red")


def test_boosters_in_every_form():
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = xgboost.XGBRegressor(**SETTINGS).fit(frame, y)
    assert is_read(model, frame).feature_names == tuple("abcde")
    is_read(model.get_booster(), X)
    loaded = xgboost.Booster()
    loaded.load_model(bytearray(model.get_booster().save_raw("ubj")))
    is_read(loaded, X)
    with pytest.raises(ValueError, match="no column 'e'"):
        decompose(model, frame[list("abcd")])
    sliced = model.get_booster()[:3]
    assert is_read(sliced, X).n_trees == 3


def test_what_a_sparse_matrix_does_not_store_is_missing():
    X, y = data()
    bits = (X > 0).astype(float)
    sparse = scipy.sparse.csr_array(bits)
    y = y - 3 * bits[:, 1] * bits[:, 2]
    trained = [xgboost.XGBRegressor(**SETTINGS).fit(rows, y) for rows in (bits, sparse)]
    for model in trained:
        result = decompose(model, sparse)
        assert result.engine == "sparse"
        np.testing.assert_allclose(result.predict(bits), model.predict(sparse), rtol=0, atol=1e-5)
    assert not np.allclose(trained[1].predict(sparse), trained[1].predict(bits), atol=1e-3)
    zeros = sparse.copy()
    zeros.data[:5] = 0
    result = decompose(trained[0], zeros)
    assert result.engine != "sparse"
    assert "stored zeros" in result.reason


def test_rounds_without_trees():
    X, y = data()
    model = xgboost.train({"base_score": 0.75}, xgboost.DMatrix(X, y), 0)
    result = decompose(model, (X > 0).astype(float))
    assert result.coefficients.tolist() == [0.75]
    assert result.subsets == [()]


def test_linear_boosters_are_fitted_instead():
    X, y = data()
    bits = (X > 0).astype(float)
    model = xgboost.XGBRegressor(booster="gblinear", n_estimators=5).fit(bits, y)
    with pytest.raises(NotASumOfTreesError, match="'gblinear', which is not made of trees"):
        decompose(model, bits, engine="sparse")
    result = decompose(model, bits)
    assert result.engine == "cube"
    assert "gblinear" in result.reason


def test_models_that_are_not_fitted_or_read_wrongly_are_refused(monkeypatch):
    X, y = data()
    with pytest.raises(ValueError, match="XGBRegressor is not fitted"):
        decompose(xgboost.XGBRegressor(), X)
    model = xgboost.XGBRegressor(**SETTINGS).fit(X, y)
    monkeypatch.setattr(reader, "_base_margin", lambda score, objective, m: np.full(m, 0.5))
    with pytest.raises(ValueError, match=r"its trees add up to .* where the model itself says"):
        decompose(model, X)
