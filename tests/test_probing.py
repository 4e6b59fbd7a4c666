"""Pipelines that prepare a table: their bits come back as questions about its columns, with the same answers."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)

from hoeffding import decompose

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
def test_bits_of_several_columns_keep_the_names_of_the_pipeline(mixing):
    table = columns()
    X = frame("pandas", {name: table[name] for name in ("size", "member", "unused")})
    model = make_pipeline(mixing, forest()).fit(X, target(table))
    result = decompose(model, X)
    assert result.engine == "sparse"
    assert set(result.players) <= {*mixing.get_feature_names_out()}
    rows = mixing.transform(X)
    assert np.abs(result.predict(rows) - model.predict(X)).max() < 1e-12
