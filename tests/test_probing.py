"""Pipelines that prepare a table: their bits come back as questions about its columns, with the same answers."""

import pickle

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeRegressor

from hoeffding import decompose, load

N = 300
TEXT, NUMBERS = ["town", "kind"], ["age", "size", "member"]


def columns(seed=0):
    rng = np.random.default_rng(seed)
    return {
        "town": rng.choice(["Lyon", "Metz", "Nice", "Paris"], N).tolist(),
        "kind": rng.choice(["a", "b"], N).tolist(),
        "age": np.where(rng.random(N) < 0.15, np.nan, rng.integers(18, 90, N)),
        "size": rng.normal(size=N),
        "member": rng.integers(0, 2, N),
        "unused": rng.normal(size=N),
    }


def target(table):
    age = np.nan_to_num(table["age"], nan=50)
    return (np.array(table["town"]) == "Nice") * (age > 50) + table["size"] * (table["member"] == 1)


def forest():
    return RandomForestRegressor(6, max_depth=4, random_state=0)


def prepared(model, X):
    rows = model[:-1].transform(X)
    return rows.toarray() if hasattr(rows, "toarray") else rows


def frame(library, table):
    made = pytest.importorskip(library)
    return made.table(table) if library == "pyarrow" else made.DataFrame(table)


PREPARATIONS = {
    "one-hot": (OneHotEncoder(handle_unknown="ignore"), make_pipeline(SimpleImputer(), StandardScaler())),
    "dense, one of two": (OneHotEncoder(drop="if_binary", sparse_output=False), SimpleImputer(strategy="median")),
    "rare levels merged": (OneHotEncoder(min_frequency=70, sparse_output=False), SimpleImputer(strategy="constant")),
    "ordinal": (OrdinalEncoder(), make_pipeline(SimpleImputer(), PowerTransformer())),
    "gaps kept": (OneHotEncoder(), StandardScaler()),
}


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", PREPARATIONS)
def test_results_come_back_under_the_names_of_the_columns(name, library):
    table = columns()
    of_text, of_numbers = PREPARATIONS[name]
    model = make_pipeline(make_column_transformer((of_text, TEXT), (of_numbers, NUMBERS)), forest())
    X = frame(library, table)
    model.fit(X, target(table))
    result = decompose(model, X)
    assert result.engine == "sparse" and set(result.players) <= {*TEXT, *NUMBERS}
    assert {"town", "size", "member"} <= set(result.players)
    assert np.abs(result.predict(X) - model.predict(X)).max() < 1e-12
    values = result.shapley(X)
    assert np.abs(result.base_value + values.sum(axis=1) - model.predict(X)).max() < 1e-12
    plain, new = decompose(model[-1], prepared(model, X)), frame(library, columns(seed=1))
    assert plain.encoding is not None
    theirs = plain.encoding.transform(prepared(model, new)).to_rows()
    assert (result.encoding.transform(new).to_rows() == theirs).all(), "the thresholds are exact, also between rows"


def test_both_libraries_give_the_same_encoding():
    table = columns()
    found = []
    for library in ("pandas", "polars"):
        X = frame(library, table)
        steps = make_column_transformer(
            (OneHotEncoder(), TEXT), (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS)
        )
        found.append(decompose(make_pipeline(steps, forest()).fit(X, target(table)), X))
    assert found[0].encoding == found[1].encoding
    assert (found[0].coefficients == found[1].coefficients).all()


def test_the_thresholds_are_those_of_the_trees_in_the_units_of_the_table():
    table = columns()
    X = frame("pandas", {"size": table["size"]})
    scaler = StandardScaler().fit(X)
    model = make_pipeline(scaler, RandomForestRegressor(3, max_depth=3, random_state=0)).fit(X, target(table))
    result = decompose(model, X)
    of_trees = {t for tree in model[-1].estimators_ for t in tree.tree_.threshold[tree.tree_.feature >= 0]}
    ours = [bit.value for bit in result.encoding.bits]
    theirs = np.sort(np.array(list(of_trees)) * scaler.scale_[0] + scaler.mean_[0])
    # trees compare in single precision: 2**-24 of the scaled number, and of what is added to it
    assert np.abs(np.sort(ours) - theirs).max() < 1e-6 * np.abs(table["size"]).max()


def test_levels_that_the_rows_do_not_show_are_known_from_the_encoder():
    table = columns()
    X = frame("pandas", table)
    model = make_pipeline(make_column_transformer((OneHotEncoder(), ["town"])), forest()).fit(X, target(table))
    some = X[X["town"] != "Paris"]
    result = decompose(model, some)
    assert "town=Paris" in result.feature_names
    assert np.abs(result.predict(some) - model.predict(some)).max() < 1e-12


@pytest.mark.parametrize("steps", [StandardScaler(), VarianceThreshold(), make_pipeline(SimpleImputer())])
def test_arrays_have_columns_too(steps):
    rows = np.column_stack([columns()["size"], columns()["member"], np.arange(N) % 7])
    model = make_pipeline(steps, forest()).fit(rows, rows[:, 0] * rows[:, 1])
    result = decompose(model, rows)
    assert set(result.players) <= {"x0", "x1", "x2"}
    assert np.abs(result.predict(rows) - model.predict(rows)).max() < 1e-12


@pytest.mark.parametrize("mixing", [PCA(2), PolynomialFeatures(2, interaction_only=True, include_bias=False)])
def test_bits_of_several_columns_are_of_what_the_pipeline_makes(mixing):
    table = columns()
    X = frame("pandas", {name: table[name] for name in ("size", "member", "unused")})
    model = make_pipeline(mixing, forest()).fit(X, target(table))
    result = decompose(model, X)
    assert result.engine == "sparse"
    assert {name.removeprefix("prepared ") for name in result.players} <= {*mixing.get_feature_names_out()}
    assert not {*result.players} & {*X.columns}, "no column of the table is meant"
    assert np.abs(result.predict(X) - model.predict(X)).max() < 1e-12


# -- rows that were not there ------------------------------------------------------------------------------------------


def numbers(seed, missing=0.0):
    rng = np.random.default_rng(seed)
    a, u = rng.normal(size=N), rng.normal(size=N)
    return frame("pandas", {"a": np.where(rng.random(N) < missing, np.nan, a), "u": u})


def tree(depth=2):
    return DecisionTreeRegressor(max_depth=depth, random_state=0)


def prepared_by(step, on, others="passthrough"):
    return make_pipeline(make_column_transformer((step, on), remainder=others), tree())


def by_itself(step):
    return make_pipeline(step, tree())


ALONE = {
    "gaps by neighbours": (KNNImputer, 0.15),
    "mixed": (lambda: PCA(2), 0.0),
    "lengths": (Normalizer, 0.0),
    "negative": (lambda: FunctionTransformer(np.negative), 0.0),
    "in a pipeline": (lambda: make_pipeline(FunctionTransformer(np.negative)), 0.0),
}


@pytest.mark.parametrize("arrays", [False, True])
@pytest.mark.parametrize("name", ALONE)
def test_rows_are_prepared_where_the_features_are_of_prepared_columns(name, arrays):
    step, missing = ALONE[name]
    X, new = numbers(0, missing), numbers(1, missing)
    y = np.array((X["a"] > 0) + 1.0 * (X["u"] > 0))
    if arrays:
        X, new = X.to_numpy(), new.to_numpy()
    model = by_itself(step()).fit(X, y)
    for result in decompose(model, X), decompose(Pipeline([("all", model)]), X):
        for rows in X, new:
            assert np.abs(result.predict(rows) - model.predict(rows)).max() < 1e-12
            shares = result.shapley(rows).sum(axis=1)
            assert np.abs(shares + result.base_value - model.predict(rows)).max() < 1e-12


def test_rows_are_prepared_by_results_of_chunks(tmp_path):
    X, new = numbers(0), numbers(1, missing=0.15)
    numbers(0, missing=0.15).to_parquet(tmp_path / "rows.parquet")
    model = by_itself(KNNImputer()).fit(X, (X["a"] > 0) + 1.0 * (X["u"] > 0))
    result = decompose(model, tmp_path / "rows.parquet")
    assert "takes rows as prepared" in result.reason
    assert np.abs(result.predict(new) - model.predict(new)).max() < 1e-12


@pytest.mark.parametrize("function", [np.negative, np.abs, np.square])
def test_numbers_that_no_row_has_are_answered_as_by_the_model(function):
    X, new = numbers(0).round(2)[:100], numbers(1)
    step = FunctionTransformer(function, feature_names_out="one-to-one")
    model = prepared_by(step, ["a"]).fit(X, (X["a"].abs() < 1) + 1.0 * (X["u"] > 0))
    assert np.abs(decompose(model, X).predict(new) - model.predict(new)).max() < 1e-12


def test_intervals_of_numbers_hold_numbers_that_no_row_has():
    rng = np.random.default_rng(0)
    X = frame("pandas", {"age": rng.integers(18, 70, 1000) * 2, "b": rng.integers(0, 2, 1000)})
    new = frame("pandas", {"age": np.arange(20, 160), "b": np.arange(140) % 2})
    step = KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    model = prepared_by(step, ["age"]).fit(X, ((X["age"] > 70) & (X["age"] < 100)) + 1.0 * X["b"])
    assert np.abs(decompose(model, X).predict(new) - model.predict(new)).max() < 1e-12


def unknown_as(value):
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=value)


ENCODERS = {
    "none": (OneHotEncoder(handle_unknown="ignore"), True),
    "rare": (OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=70), False),
    "below": (unknown_as(-1), True),
    "above": (unknown_as(99), False),
    "gap": (unknown_as(np.nan), False),
    "mean": (TargetEncoder(target_type="continuous"), False),
}


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("name", ENCODERS)
def test_levels_that_no_row_has_are_answered_as_by_the_model(name, as_text):
    encoder, in_its_terms = ENCODERS[name]
    rng = np.random.default_rng(0)
    level = (lambda k: [f"level {i}" for i in k]) if as_text else list
    k = rng.choice(4, N, p=[0.3, 0.3, 0.2, 0.2])
    X = frame("pandas", {"k": level(k), "u": rng.normal(size=N)})
    new = frame("pandas", {"k": level([7, -1, 4, 3, 0] * 2), "u": [-1.0] * 5 + [1.0] * 5})
    model = prepared_by(encoder, ["k"]).fit(X, 1.0 * (k == 3) + (X["u"] > 0))
    result = decompose(model, X)
    if in_its_terms:
        assert result.players == ("k", "u")
    assert np.abs(result.predict(new) - model.predict(new)).max() < 1e-12


def test_gaps_that_no_row_has_are_filled_in_as_by_the_pipeline():
    X, new = numbers(0), numbers(1, missing=0.3)
    X["a"] += 1  # its mean is a yes at the split at 0
    model = by_itself(SimpleImputer()).fit(X, (X["a"] > 0) + 1.0 * (X["u"] > 0))
    result = decompose(model, X)
    assert result.players == ("a", "u")
    assert np.abs(result.predict(new) - model.predict(new)).max() < 1e-12


def test_gaps_that_reach_the_trees_are_answered_as_by_them():
    X, new = numbers(0), numbers(1, missing=0.3)
    model = by_itself(StandardScaler()).fit(X, (X["a"] > 0) + 1.0 * (X["u"] > 0))
    assert np.abs(decompose(model, X).predict(new) - model.predict(new)).max() < 1e-12


def test_a_result_from_a_file_takes_rows_as_prepared(tmp_path):
    X = numbers(0)
    model = by_itself(FunctionTransformer(np.negative)).fit(X, (X["a"] > 0) + 1.0 * (X["u"] > 0))
    result = decompose(model, X)
    assert pickle.loads(pickle.dumps(result)).predict(X).tolist() == result.predict(X).tolist()
    result.save(tmp_path / "result.hfd")
    again = load(tmp_path / "result.hfd")
    assert "takes rows as prepared" in again.reason
    assert np.abs(again.predict(-X.to_numpy()) - model.predict(X)).max() < 1e-12
    with pytest.raises(ValueError, match="no column 'prepared a'"):
        again.predict(X)
