"""LightGBM's models are read exactly: every kind of boosting, what is missing, categories, early stopping."""

import re
from itertools import cycle

import numpy as np
import pandas as pd
import pytest

from hoeffding import decompose
from hoeffding.engines.trees import read_ensemble
from hoeffding.engines.trees.ensemble import NotASumOfTreesError

lightgbm = pytest.importorskip("lightgbm")

N = 400
SETTINGS = {"n_estimators": 8, "num_leaves": 9, "min_child_samples": 5, "verbose": -1, "random_state": 0, "n_jobs": 1}


def data(missing=False, zeros=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5)).round(1)
    X[:, 0] = rng.integers(0, 2, N)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=N)
    if zeros:
        X[rng.random((N, 5)) < 0.3] = 0.0
    if missing:
        X[rng.random((N, 5)) < 0.1] = np.nan
    return X, y


def is_read(model, X):
    """Whether the sums of the trees are the raw scores at every row, to the last digits; gives the ensemble."""
    booster = getattr(model, "booster_", model)
    ensemble = read_ensemble(model, X)
    rows = X if isinstance(X, np.ndarray) else None
    is_forest = "average_output" in booster.model_to_string()
    theirs = booster.predict(X, raw_score=True) / (booster.num_trees() // ensemble.n_outputs if is_forest else 1)
    if rows is not None:
        np.testing.assert_allclose(ensemble.predict(rows), theirs, rtol=0, atol=1e-13 * max(1, np.abs(theirs).max()))
    result = decompose(model, X, engine="sparse")
    np.testing.assert_allclose(result.predict(X), theirs, rtol=0, atol=1e-10 * max(1, np.abs(theirs).max()))
    assert np.ptp(theirs) > 0
    return ensemble


@pytest.mark.parametrize("boosting", ["gbdt", "dart", "rf"])
@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
def test_every_kind_of_boosting(boosting, kind):
    X, y = data(missing=True)
    forest = {"subsample": 0.7, "subsample_freq": 1} if boosting == "rf" else {}
    cls = lightgbm.LGBMRegressor if kind == "numbers" else lightgbm.LGBMClassifier
    y = {"numbers": y, "two classes": np.where(y > 0, "yes", "no"), "three classes": np.digitize(y, [-0.5, 0.5])}[kind]
    model = cls(boosting_type=boosting, **forest, **SETTINGS).fit(X, y)
    ensemble = is_read(model, X)
    assert ensemble.n_trees == (24 if kind == "three classes" else 8)
    assert ensemble.output.split()[0] == ("prediction" if kind == "numbers" else "margin")
    assert ensemble.output_names == (("0", "1", "2") if kind == "three classes" else None)
    if kind == "numbers":  # also of a forest, whose raw scores are sums
        np.testing.assert_allclose(ensemble.predict(X), model.predict(X), rtol=0, atol=1e-13)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("setting", [{}, {"use_missing": False}, {"zero_as_missing": True}])
def test_what_counts_as_missing(setting, missing):
    X, y = data(missing, zeros=True)
    model = lightgbm.LGBMRegressor(**setting, **SETTINGS).fit(X, y)
    rng = np.random.default_rng(1)  # zeros and missing values where training may have had none
    other = np.where(rng.random(X.shape) < 0.2, 0.0, X)
    other[rng.random(X.shape) < 0.2] = np.nan
    zero_is_missing = (read_ensemble(model, X).missing == 0).any()
    assert zero_is_missing <= ("zero_as_missing" in setting)
    for rows in (X, other):
        if zero_is_missing:
            with pytest.raises(ValueError, match=r"is 0, which this model takes for a missing value; write NaN"):
                decompose(model, rows)
        is_read(model, np.where(rows == 0, np.nan, rows) if zero_is_missing else rows)


def test_zero_bits_that_are_missing_values():
    X, y = data()
    X = (X > 0.3).astype(float)
    y = y - 3 * X[:, 1] * X[:, 2]
    model = lightgbm.LGBMRegressor(**SETTINGS).fit(X, y)
    kinds = cycle("2224")  # in every fourth split zero is missing and goes right
    text = re.sub(
        "(?<=decision_type=).*",
        lambda line: re.sub("2", lambda _: next(kinds), line[0]),
        model.booster_.model_to_string(),
    )
    booster = lightgbm.Booster(model_str=text)
    is_read(booster, X)
    assert not np.allclose(booster.predict(X), model.predict(X))
    assert decompose(booster, X).encoding is None


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
def test_a_booster_uses_the_iterations_that_its_predict_uses():
    X, y = data()
    train = lightgbm.Dataset(X[:200], y[:200])
    callbacks = [lightgbm.early_stopping(3, verbose=False)]
    booster = lightgbm.train(
        {"num_leaves": 15, "learning_rate": 0.5, "verbose": -1, "num_threads": 1},
        train,
        200,
        valid_sets=[lightgbm.Dataset(X[200:], y[200:], reference=train)],
        callbacks=callbacks,
        keep_training_booster=True,
    )
    assert 0 < booster.best_iteration < booster.num_trees()
    assert is_read(booster, X).n_trees == booster.best_iteration
    model = lightgbm.LGBMRegressor(**SETTINGS | {"n_estimators": 200, "learning_rate": 0.5})
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], callbacks=callbacks)
    assert is_read(model, X).n_trees == model.best_iteration_ < 200


def table():
    X, y = data(missing=True)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(X[:, :3], columns=["a b", "c", "d"])
    frame["colour"] = pd.Categorical(rng.choice(["red", "green", "blue", "never seen"], N, p=[0.4, 0.4, 0.2, 0]))
    frame["one"] = pd.Categorical(["one"] * N)
    frame["level"] = pd.Categorical(rng.integers(10, 40, N))
    return frame, y + 3.0 * (frame["colour"] == "red") + frame["level"].astype(int) % 3


def test_categories_of_a_frame():
    frame, y = table()
    model = lightgbm.LGBMRegressor(min_data_per_group=1, cat_smooth=0, **SETTINGS).fit(frame, y)
    ensemble = is_read(model, frame)
    assert len(ensemble.categories)
    assert ensemble.feature_names == tuple(frame.columns)
    other = frame.copy()
    other["colour"] = other["colour"].cat.add_categories(["pink"])
    other.loc[::5, "colour"] = "pink"
    other.loc[1::5, "colour"] = None
    is_read(model, other)
    assert any(name.startswith("colour") for name in decompose(model, frame).feature_names)
    with pytest.raises(ValueError, match="2 columns of categories, but the model was trained on 3"):
        decompose(model, frame.assign(one=1.0))


def test_codes_of_categories_in_an_array():
    X, y = data(missing=True)
    X[:, 3] = np.random.default_rng(0).integers(0, 70, N)  # more than two words of a bit set
    y = y + X[:, 3] % 4
    booster = lightgbm.train(
        {"verbose": -1, "num_threads": 1, "min_data_per_group": 1, "cat_smooth": 0, "max_cat_to_onehot": 2},
        lightgbm.Dataset(X, y, categorical_feature=[3]),
        6,
    )
    assert is_read(booster, X).categories.max() > 64
    X[::9, 3] = -1  # a code that training never met, as are those far beyond
    X[1::9, 3] = 1000
    is_read(booster, X)


@pytest.mark.parametrize("objective", ["poisson", "tweedie", "huber", "quantile", "mape", "cross_entropy"])
def test_objectives_with_and_without_a_link(objective):
    X, y = data()
    y = 1 / (1 + np.exp(-y)) if objective == "cross_entropy" else np.exp(y)
    ensemble = is_read(lightgbm.LGBMRegressor(objective=objective, **SETTINGS).fit(X, y), X)
    links = {"poisson": "log of", "tweedie": "log of", "cross_entropy": "log-odds"}
    assert links.get(objective, "prediction") in ensemble.output


def test_a_ranking_and_a_root():
    X, y = data()
    grade = np.digitize(y, [-0.5, 0.5])
    ranker = lightgbm.LGBMRanker(**SETTINGS).fit(X, grade, group=[100] * 4)
    assert is_read(ranker, X).output == "margin (score of the ranking)"
    rooted = lightgbm.LGBMRegressor(reg_sqrt=True, **SETTINGS).fit(X, y)
    assert is_read(rooted, X).output == "margin (signed root of the prediction)"
    one_against_others = lightgbm.LGBMClassifier(objective="multiclassova", **SETTINGS).fit(X, grade)
    assert is_read(one_against_others, X).n_outputs == 3


def test_a_model_from_a_file_and_one_without_trees(tmp_path):
    X, y = data()
    model = lightgbm.LGBMRegressor(**SETTINGS).fit(X, y)
    model.booster_.save_model(tmp_path / "model.txt")
    is_read(lightgbm.Booster(model_file=tmp_path / "model.txt"), X)
    constant = lightgbm.LGBMRegressor(**SETTINGS).fit(X, np.full(N, 2.0))
    assert decompose(constant, X).coefficients.tolist() == [2.0]


def test_linear_leaves_are_fitted_instead():
    X, y = data()
    model = lightgbm.LGBMRegressor(linear_tree=True, **SETTINGS).fit(X, y)
    with pytest.raises(NotASumOfTreesError, match="linear_tree=True"):
        decompose(model, X, engine="sparse")
    result = decompose(model, X)
    assert result.engine == "regression"
    assert "linear_tree=True" in result.reason


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(ValueError, match="LGBMRegressor is not fitted"):
        read_ensemble(lightgbm.LGBMRegressor(), np.zeros((1, 2)))
