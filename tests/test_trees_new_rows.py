"""New rows that hold what the rows of a decomposition did not: answered as the model does, or refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

import hoeffding

NEW = "never seen in fitting"


def table(n=300, gaps=0.0):
    """Categories, numbers and a bit; gaps everywhere."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5, n), rng.normal(size=n).round(1), rng.integers(0, 2, n)]).astype(float)
    y = 2 * np.sin(X[:, 0] * 2) + X[:, 0] * (X[:, 1] > 0) + X[:, 2] * (1 + X[:, 1])
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y


def xgboost(X, y):
    return pytest.importorskip("xgboost").XGBRegressor(n_estimators=6, max_depth=3, n_jobs=1).fit(X, y)


def histogram(X, y, **options):
    return HistGradientBoostingRegressor(max_iter=6, max_depth=3, min_samples_leaf=5, **options).fit(X, y)


def forest(X, y):
    return RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, y)


def predicted(result, model, Z):
    """The decomposition and the model at rows, or None if the rows are refused as unknown."""
    if result.encoding.unknown_levels(Z):
        with pytest.raises(ValueError, match=NEW):
            result.predict(Z)
        return None
    return result.predict(Z), model.predict(Z)


@pytest.mark.parametrize("fit", [xgboost, histogram, forest])
@pytest.mark.parametrize("trained", [0.0, 0.15])
def test_a_missing_value_where_there_was_none_is_refused_or_answered_like_the_model(fit, trained, tmp_path):
    X, y = table(gaps=trained)
    model, whole = fit(X, y), table()[0]
    result = hoeffding.decompose(model, whole, engine="sparse", n_jobs=1)
    result.save(tmp_path / "saved")
    n_refused = 0
    for column in range(3):
        Z = whole.copy()
        Z[::2, column] = np.nan
        for some in (result, hoeffding.load(tmp_path / "saved")):
            found = predicted(some, model, Z)
            n_refused += found is None
            if found is not None:
                np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-5)
    assert n_refused >= 2  # the splits of one column go both ways
    gappy, y = table(gaps=0.15)
    model = fit(gappy, y)
    result = hoeffding.decompose(model, gappy, engine="sparse", n_jobs=1)
    np.testing.assert_allclose(result.predict(Z), model.predict(Z), rtol=1e-5, atol=1e-5)


def test_the_error_names_the_column_and_says_what_to_do():
    X, y = table()
    frame = pd.DataFrame(X, columns=["k", "z", "b"])
    model = xgboost(frame, y)
    result = hoeffding.decompose(model, frame, engine="sparse", n_jobs=1)
    for column in "zb":
        with pytest.raises(
            ValueError, match=rf"\({column}: missing \(300\)\).*decompose it with rows that have missing"
        ):
            result.predict(frame.assign(**{column: np.nan}))


def test_bits_alone_refuse_missing_values():
    X, y = table()
    X = np.column_stack([X[:, 2], X[:, 1] > 0]).astype(float)
    result = hoeffding.decompose(xgboost(X, y), X, engine="sparse", n_jobs=1)
    with pytest.raises(ValueError, match="NaN"):
        result.predict([[np.nan, 1.0]])


@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize("code", [7, -1, 1.5])
def test_codes_that_histogram_boosting_never_met(gaps, code):
    X, y = table(gaps=gaps)
    model = histogram(X, y, categorical_features=[0])
    result = hoeffding.decompose(model, X, engine="sparse", n_jobs=1)
    np.testing.assert_allclose(result.predict(X), model.predict(X), atol=1e-10)
    Z = X.copy()
    Z[::2, 0] = code
    if gaps:
        np.testing.assert_allclose(result.predict(Z), model.predict(Z), atol=1e-10)
    else:  # its splits send such codes to either side
        with pytest.raises(ValueError, match=rf"{NEW} \(x0: {code} \(150\)\)"):
            result.predict(Z)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_levels_never_met_are_answered_like_gaps_or_refused(sign):
    rng = np.random.default_rng(0)
    level = rng.choice(["a", "b", None], 300)
    frame = pd.DataFrame({"c": pd.Categorical(level), "u": rng.normal(size=300)})
    y = sign * 5.0 * frame["c"].isna() + (frame["u"] > 0)
    model = histogram(frame, y, categorical_features="from_dtype")
    result = hoeffding.decompose(model, frame, engine="sparse", n_jobs=1)
    np.testing.assert_allclose(result.predict(frame), model.predict(frame), atol=1e-10)
    found = predicted(result, model, frame.assign(c=pd.Categorical(["new"] * 300)))
    if found is not None:
        np.testing.assert_allclose(found[0], found[1], atol=1e-10)


def test_off_the_observed_combinations_the_components_need_not_add_up_to_the_model():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    model = DecisionTreeRegressor().fit(X, X.all(axis=1))
    result = hoeffding.decompose(model, X[:3], engine="sparse", n_jobs=1)
    assert (result.predict(X[:3]) == model.predict(X[:3])).all()
    assert result.predict([[1, 1]]) != model.predict([[1, 1]])
