"""CatBoost's models on columns of numbers are read exactly; those on categories are refused with a way out."""

import numpy as np
import pandas as pd
import pytest

from hoeffding import decompose
from hoeffding.engines.trees import read_ensemble
from hoeffding.engines.trees.ensemble import NotASumOfTreesError

catboost = pytest.importorskip("catboost")
pytestmark = pytest.mark.oracle

N = 400
SETTINGS = {
    "iterations": 10,
    "depth": 4,
    "verbose": 0,
    "random_seed": 0,
    "thread_count": 1,
    "allow_writing_files": False,
}


def data(missing=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5)).round(1)
    X[:, 0] = rng.integers(0, 2, N)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N)
    if missing:
        X[rng.random((N, 5)) < 0.1] = np.nan
    return X, y


def is_read(model, X):
    """Whether the sums of the trees are the raw values at every row, to the last digits; gives the ensemble."""
    ensemble = read_ensemble(model, X)
    theirs = model.predict(X, prediction_type="RawFormulaVal")
    size = max(1, np.abs(theirs).max())
    np.testing.assert_allclose(ensemble.predict(np.asarray(X, float)), theirs, rtol=0, atol=1e-13 * size)
    result = decompose(model, X, engine="sparse")
    np.testing.assert_allclose(result.predict(X), theirs, rtol=0, atol=1e-10 * size)
    assert np.ptp(theirs) > 0
    return ensemble


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("missing", [None, "Min", "Max"])
def test_numbers(policy, missing):
    X, y = data(missing is not None)
    settings = SETTINGS | {"grow_policy": policy} | ({"nan_mode": missing} if missing else {})
    ensemble = is_read(catboost.CatBoostRegressor(**settings).fit(X, y), X)
    assert ensemble.n_trees == 10
    assert ensemble.output == "prediction"
    assert ensemble.base[0] != 0
    if missing:
        assert ensemble.missing_right.any() == (missing == "Max")


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise"])
def test_classes(policy):
    X, y = data()
    two = catboost.CatBoostClassifier(grow_policy=policy, **SETTINGS).fit(X, np.where(y > 0, "yes", "no"))
    ensemble = is_read(two, X)
    assert ensemble.output == "margin (log-odds)"
    assert ensemble.single
    three = catboost.CatBoostClassifier(grow_policy=policy, **SETTINGS).fit(X, np.digitize(y, [-0.5, 0.5]))
    ensemble = is_read(three, X)
    assert ensemble.output_names == ("0", "1", "2")


@pytest.mark.parametrize(
    ("loss", "words"),
    [("Poisson", "margin (log of the prediction)"), ("Quantile:alpha=0.3", "prediction"), ("MultiRMSE", "prediction")],
)
def test_losses(loss, words):
    X, y = data()
    y = np.stack([y, -2 * y + X[:, 3]], axis=1) if loss == "MultiRMSE" else np.exp(y)
    ensemble = is_read(catboost.CatBoostRegressor(loss_function=loss, **SETTINGS).fit(X, y), X)
    assert ensemble.output == words
    assert ensemble.n_outputs == y.ndim


def test_values_at_the_borders_go_where_they_go():
    X, y = data()
    model = catboost.CatBoostRegressor(**SETTINGS).fit(X, y)
    borders = np.unique([b for column in model.get_borders().values() for b in column])
    near = np.concatenate([borders, np.nextafter(borders, -np.inf), np.nextafter(borders, np.inf)])
    singles = borders.astype(np.float32)
    near = np.concatenate([near, (singles.astype(float) + np.nextafter(singles, np.float32(np.inf))) / 2])
    is_read(model, np.random.default_rng(0).choice(near, (N, 5)))


def test_a_scale_and_a_shift():
    X, y = data()
    model = catboost.CatBoostRegressor(**SETTINGS).fit(X, y)
    before = model.predict(X)
    model.set_scale_and_bias(3.0, -1.5)
    is_read(model, X)
    assert not np.allclose(before, model.predict(X))


def test_the_best_model_of_early_stopping():
    X, y = data()
    model = catboost.CatBoostRegressor(**SETTINGS | {"iterations": 300, "learning_rate": 0.9})
    model.fit(X[:200], y[:200], eval_set=(X[200:], y[200:]), early_stopping_rounds=3)
    assert is_read(model, X).n_trees == model.tree_count_ < 300


def test_columns_of_a_frame_have_names():
    X, y = data()
    frame = pd.DataFrame(X[:, 1:], columns=list("abcd"))
    model = catboost.CatBoostRegressor(**SETTINGS).fit(frame, y)
    assert is_read(model, frame).feature_names == tuple("abcd")
    with pytest.raises(ValueError, match="another order"):
        read_ensemble(model, frame[list("badc")])


def test_oblivious_trees_on_bits_repeat_no_bit():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (N, 6))
    model = catboost.CatBoostRegressor(**SETTINGS).fit(X, X[:, 0] + 2.0 * X[:, 1] * X[:, 2] - X[:, 4])
    result = decompose(model, X)
    assert result.engine == "sparse"
    assert result.order <= 4
    np.testing.assert_allclose(result.predict(X), model.predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("one_hot", [2, 10])
def test_categories_are_refused_and_fitted_instead(one_hot):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(colour=np.resize(["red", "green", "blue"], N))
    frame["a"] = frame["a"].astype(int)
    y = y + 2 * (frame["colour"] == "red")
    model = catboost.CatBoostRegressor(cat_features=["colour"], one_hot_max_size=one_hot, **SETTINGS).fit(frame, y)
    with pytest.raises(NotASumOfTreesError, match="column 'colour' holds categories"):
        decompose(model, frame, engine="sparse")
    result = decompose(model, frame)
    assert result.engine == "regression"
    assert "column 'colour' holds categories" in result.reason


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(ValueError, match="CatBoostRegressor is not fitted"):
        read_ensemble(catboost.CatBoostRegressor(), np.zeros((1, 2)))
