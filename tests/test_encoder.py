"""The transformer is a citizen of scikit-learn, and gives the bits of its encoding."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from hoeffding import Encoding, HoeffdingRegressor, TableEncoder

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


@parametrize_with_checks([TableEncoder(), TableEncoder(numeric="onehot", bins=3, sparse_output=True)])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def mixed(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "colour": rng.choice(["red", "blue", "green"], n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
            "member": rng.random(n) < 0.4,
        }
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_output_is_a_data_frame_when_told(library):
    table = mixed()
    encoder = TableEncoder().set_output(transform=library)
    out = encoder.fit_transform(table)
    assert type(out).__module__.startswith(library)
    assert list(out.columns) == list(encoder.get_feature_names_out()) == list(encoder.encoding_.feature_names)
    np.testing.assert_array_equal(np.asarray(out), Encoding.fit(table).transform(table).to_rows())


def test_dense_and_sparse_output_agree():
    table = mixed()
    dense = TableEncoder().fit_transform(table)
    sparse = TableEncoder(sparse_output=True).fit_transform(table)
    assert dense.dtype == sparse.dtype == np.uint8 and sparse.format == "csr"
    np.testing.assert_array_equal(sparse.toarray(), dense)
    with pytest.raises(ValueError, match="sparse"):
        TableEncoder(sparse_output=True).set_output(transform="pandas").fit_transform(table)


def test_it_works_in_pipelines_and_beside_other_transformers():
    table = mixed(2000)
    y = 2.0 * (table["colour"] == "red") * table["member"] + (table["age"] > 50)
    encoder = TableEncoder(thresholds={"age": [50]}, sparse_output=True)
    model = make_pipeline(encoder, HoeffdingRegressor(order=2, alpha=0)).fit(table, y)
    assert model.score(table, y) > 1 - 1e-9
    beside = make_column_transformer((TableEncoder(), ["colour", "member"]), ("passthrough", ["age"]))
    assert beside.fit_transform(table).shape == (2000, 5)
    assert list(beside.get_feature_names_out())[:2] == ["tableencoder__colour=blue", "tableencoder__colour=green"]


def test_every_parameter_reaches_the_encoding():
    table = mixed()
    options = {
        "numeric": "onehot",
        "bins": 3,
        "thresholds": {"age": [30, 60]},
        "max_levels": 2,
        "max_integer_levels": 5,
        "groups": {"person": ["age", "member"]},
        "unknown": "ignore",
    }
    encoder = clone(TableEncoder(**options)).fit(table)
    assert encoder.encoding_ == Encoding.fit(table, **options)
    assert encoder.encoding_ != Encoding.fit(table)


def test_names_of_columns_are_checked():
    table = mixed()
    encoder = TableEncoder().fit(table)
    with pytest.raises(ValueError, match="feature names should match"):
        encoder.transform(table[["age", "colour", "member"]])
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        encoder.get_feature_names_out(["a", "b", "c"])
    assert list(encoder.get_feature_names_out(table.columns)) == list(encoder.encoding_.feature_names)
