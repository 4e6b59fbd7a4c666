"""Real tables with mixed columns, as a new user would bring them: in every library, with and without a model."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from hoeffding import Encoding, decompose
from hoeffding.datasets import load_demo

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


def tips():
    """Restaurant bills (of plotly): text, whole numbers, numbers; with gaps put in at every tenth row."""
    data = pytest.importorskip("plotly.data")
    table = data.tips(return_type="pandas")
    table.loc[::10, "total_bill"] = np.nan
    table.loc[5::10, "smoker"] = None
    return table.drop(columns="tip"), table["tip"].to_numpy()


def mushrooms():
    """Text with many levels (comes with this package)."""
    table = load_demo().frame[::4].reset_index(drop=True)
    return table[["odor", "gill-size", "habitat", "ring-type"]], (table["class"] == "p").to_numpy(float)


def wine():
    """Numbers only, and few rows (of scikit-learn)."""
    from sklearn.datasets import load_wine

    data = load_wine(as_frame=True)
    return data.data[["alcohol", "hue", "proline", "ash"]], data.target.to_numpy(float)


TABLES = {"tips": tips, "mushrooms": mushrooms, "wine": wine}


def in_all_libraries(table):
    polars = pl.from_pandas(table)
    return {"pandas": table, "polars": polars, "pyarrow": polars.to_arrow()}


@pytest.mark.parametrize("name", TABLES)
def test_the_library_makes_no_difference(name):
    table, y = TABLES[name]()
    found = {kind: decompose(y, frame) for kind, frame in in_all_libraries(table).items()}
    first = found["pandas"]
    assert first.players == tuple(table.columns), "results are about the columns"
    for kind, other in found.items():
        assert other.encoding == first.encoding, kind
        assert (other.coefficients == first.coefficients).all(), kind
        assert (other.shapley(table) == first.shapley(in_all_libraries(table)[kind])).all(), kind


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_decomposed_as_bits_encoded_by_hand(name):
    table, y = TABLES[name]()
    encoding = Encoding.fit(table)
    by_hand = np.column_stack([ones(table, encoding, bit) for bit in encoding.bits]).astype(np.uint8)
    assert (encoding.transform(table).to_rows() == by_hand).all()
    a, b = decompose(y, table), decompose(y, by_hand, feature_names=encoding.feature_names)
    assert a.subsets == b.subsets and (a.coefficients == b.coefficients).all()


def ones(table, encoding, bit):
    """The answer to one question, by pandas."""
    column = table[encoding.columns[bit.column].name]
    if bit.kind == "missing":
        return column.isna()
    if bit.kind == "above":
        return (column > bit.value) & column.notna()
    if bit.kind == "level":
        return (column == bit.value) & column.notna()
    raise AssertionError(f"no table here has bits of kind {bit.kind}")


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", TABLES)
def test_a_model_is_explained_in_terms_of_the_columns(name, library):
    table, y = TABLES[name]()
    table = table.dropna().reset_index(drop=True)
    y = np.resize(y, len(table))
    frame = in_all_libraries(table)[library]
    text = [column for column in table if table[column].dtype.kind not in "biuf"]
    prepare = make_column_transformer((OneHotEncoder(), text), remainder="passthrough")
    trees = make_pipeline(prepare, GradientBoostingRegressor(n_estimators=10, max_depth=3, random_state=0))
    exact = decompose(trees.fit(frame, y), frame)
    assert exact.engine == "sparse" and set(exact.players) <= set(table.columns)
    assert np.abs(exact.predict(frame) - trees.predict(frame)).max() < 1e-12
    black_box = decompose(make_pipeline(prepare, Ridge()).fit(frame, y), frame)
    assert black_box.engine in ("cube", "regression") and black_box.players == tuple(table.columns)
