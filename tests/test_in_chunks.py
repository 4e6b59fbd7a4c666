"""``decompose`` of rows in chunks is that of the rows in memory."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from hoeffding import Decomposition, Encoding, HoeffdingRegressor, Polynomial, Stream, decompose

N = 2000


def bits(d: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.random((N, d)) < rng.uniform(0.2, 0.8, d), columns=[f"b{i}" for i in range(d)])
    table["b4"] &= table.b3  # not every cell is seen
    return table


def values(X: pd.DataFrame) -> np.ndarray:
    rows = np.asarray(X, float)
    return rows[:, 0] + 2 * rows[:, 3] * rows[:, 1] - rows[:, 4]


def noisy(X: pd.DataFrame) -> np.ndarray:
    return values(X) + 0.1 * np.random.default_rng(3).normal(size=len(X))


def same(a: Decomposition, b: Decomposition) -> None:
    """The same engine and components; numbers that are summed in another order differ by rounding."""
    assert a.engine == b.engine
    assert a.subsets == b.subsets
    assert (a.feature_names, a.groups, a.output_names) == (b.feature_names, b.groups, b.output_names)
    assert a.encoding == b.encoding
    scale = np.abs(a.coefficients).max()
    np.testing.assert_allclose(b.coefficients, a.coefficients, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(b.variance().share, a.variance().share, rtol=0, atol=1e-12)
    assert b.fidelity == pytest.approx(a.fidelity, abs=1e-9)
    assert b.remainder == pytest.approx(a.remainder, rel=1e-4, abs=1e-12)


def forms(table: pd.DataFrame, folder):
    """The table in chunks that can be read again, by name."""
    table.to_parquet(folder / "t.parquet", row_group_size=300)
    cuts = [table.iloc[a : a + 450] for a in range(0, len(table), 450)]
    return {
        "file": folder / "t.parquet",
        "stream": Stream(folder / "t.parquet", chunk_rows=333),
        "lazy": pl.scan_parquet(folder / "t.parquet"),
        "function": lambda: iter(cuts),
    }


@pytest.mark.parametrize("d", [8, 20])
def test_trees_on_bits(d, tmp_path) -> None:
    X = bits(d)
    model = RandomForestRegressor(10, max_depth=4, random_state=0).fit(X, noisy(X))
    expected = decompose(model, X)
    for source in forms(X, tmp_path).values():
        got = decompose(model, source)
        same(expected, got)
        assert "2 passes" in got.reason and " rows), prediction" in got.reason
        if d <= 16:
            assert got.unique == expected.unique
        else:
            assert not got.unique and "whether it is unique was not judged" in got.reason
    for options in ({"order": 2}, {"tol": 1e-3}):
        same(decompose(model, X, **options), decompose(model, tmp_path / "t.parquet", **options))


def test_trees_from_an_iterator_take_one_pass() -> None:
    X = bits(8)
    model = DecisionTreeRegressor(max_depth=4).fit(X, noisy(X))
    got = decompose(model, (X.iloc[a : a + 300] for a in range(0, N, 300)))
    same(decompose(model, X), got)
    assert "one pass" in got.reason and "those of the first chunk" in got.reason


def test_trees_on_numbers_with_gaps_and_weights(tmp_path) -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=N).round(2), "c": rng.integers(0, 4, N), "z": rng.random(N)})
    y = X.x > 0.3
    X.loc[rng.random(N) < 0.05, "x"] = np.nan
    X.loc[: N // 2, "x"] = 0.5  # the gaps come late
    model = HistGradientBoostingClassifier(max_iter=10, max_depth=3).fit(X, y)
    w = rng.integers(0, 3, N)
    expected = decompose(model, X, sample_weight=w)
    assert expected.encoding is not None
    source = forms(X.assign(w=w), tmp_path)["stream"]
    got = decompose(model, source, sample_weight="w")
    same(expected, got)
    assert "3 passes" in got.reason
    probability = decompose(model, X, output="probability", sample_weight=w)
    got = decompose(model, source, output="probability", sample_weight="w")
    same(probability, got)
    assert "is no sum of trees" in got.reason
    with pytest.raises(ValueError, match="take two passes, and an iterator can be read once"):
        decompose(model, iter([X]))


def test_a_pipeline_and_a_boosted_model(tmp_path) -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=N).round(2), "z": rng.random(N).round(3)})
    y = (X.x > 0.3) * X.z
    for model in (
        make_pipeline(StandardScaler(), GradientBoostingRegressor(n_estimators=10)).fit(X, y),
        GradientBoostingRegressor(n_estimators=10).fit(X, y),
    ):
        same(decompose(model, X), decompose(model, forms(X, tmp_path)["stream"]))


@pytest.mark.parametrize("d", [6, 20])
def test_a_black_box_is_asked_chunk_by_chunk(d, tmp_path) -> None:
    X = bits(d)
    expected = decompose(values, X)
    assert expected.engine == ("cube" if d <= 16 else "regression")
    for source in forms(X, tmp_path).values():
        asked: list[int] = []

        def model(rows, asked=asked):
            asked.append(len(rows))
            return values(rows)

        got = decompose(model, source)
        same(expected, got)
        assert sum(asked) == N
        assert got.unique == expected.unique
    same(decompose(values, X, order=2), decompose(values, tmp_path / "t.parquet", order=2))
    regressor = HoeffdingRegressor(2, 1e-3, scale="unit")
    got = decompose(values, tmp_path / "t.parquet", engine=regressor)
    same(decompose(values, X, engine=regressor), got)
    assert not hasattr(regressor, "coef_")


def test_values_that_stand_in_a_column(tmp_path) -> None:
    X = bits(7)
    table = X.assign(y=noisy(X), w=np.random.default_rng(0).random(N))
    source = forms(table, tmp_path)
    expected = decompose(table.y.to_numpy(), X, sample_weight=table.w.to_numpy())
    same(expected, decompose("y", source["file"], sample_weight="w"))
    same(expected, decompose("y", Stream(tmp_path / "t.parquet", weight="w", chunk_rows=99)))
    same(expected, decompose("y", table, sample_weight="w"))


def test_a_model_of_some_columns(tmp_path) -> None:
    X = bits(7)
    table = X.assign(label="text", y=1.0)
    model = DecisionTreeRegressor(max_depth=3).fit(X, noisy(X))
    forms(table, tmp_path)
    same(decompose(model, X), decompose(model, Stream(tmp_path / "t.parquet", features=list(X.columns))))


def test_categories_get_the_encoding_of_the_whole_table(tmp_path) -> None:
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], N), "age": rng.normal(40, 9, N).round(1)})

    def model(rows: pd.DataFrame) -> np.ndarray:
        assert isinstance(rows, pd.DataFrame)
        return (rows.colour == "red") * 1.0 + (rows.age > 40)

    expected = decompose(model, X)
    source = forms(X, tmp_path)
    for name in ("file", "stream", "function"):
        got = decompose(model, source[name])
        same(expected, got)
        assert got.players == ("colour", "age")
        np.testing.assert_allclose(got.shapley(X), expected.shapley(X), atol=1e-12)
    known = Encoding.fit(X, bins=8)
    got = decompose(model, source["file"], encoding=known)
    same(decompose(model, X, encoding=known), got)
    assert "one pass" in got.reason


def test_polynomials_names_and_groups(tmp_path) -> None:
    X = bits(6)
    polynomial = Polynomial({("b0",): 1.0, ("b1", "b2"): 2.0}, basis="monomial")
    source = forms(X, tmp_path)["stream"]
    same(decompose(polynomial, X), decompose(polynomial, source))
    options = {"feature_names": list("uvwxyz"), "groups": {"pair": ["u", "v"]}}
    same(decompose(values, X, **options), decompose(values, source, **options))


def test_several_outputs(tmp_path) -> None:
    X = bits(20)

    def both(rows):
        return np.stack([values(rows), values(rows) ** 2], axis=1)

    same(decompose(both, X), decompose(both, forms(X, tmp_path)["stream"]))
    model = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, both(X))
    same(decompose(model, X), decompose(model, tmp_path / "t.parquet"))


def test_what_rows_in_chunks_cannot_have(tmp_path) -> None:
    X = bits(6)
    source = forms(X, tmp_path)["file"]
    with pytest.raises(ValueError, match=r"distinct=True: rows in chunks are let go.*merge them first"):
        decompose(values, source, distinct=True)
    with pytest.raises(TypeError, match="give an estimator, a function, or the name of the column"):
        decompose(np.zeros(N), source)
    with pytest.raises(ValueError, match="y='absent': no such column; the columns are b0, b1"):
        decompose("absent", source)
    with pytest.raises(ValueError, match="engine='cube': equal rows have different values"):
        decompose("y", _with_noise(X), engine="cube")
    with pytest.raises(ValueError, match="engine='cube': 20 features are too many"):
        decompose(values, forms(bits(20), tmp_path)["file"], engine="cube")
    model = DecisionTreeRegressor(max_depth=2).fit(X, noisy(X))
    with pytest.raises(ValueError, match="X: no column"):
        decompose(model, bits(6).rename(columns={"b1": "other"}).pipe(lambda t: lambda: iter([t])))


def _with_noise(X: pd.DataFrame):
    return lambda: iter([X.assign(y=noisy(X))])


def test_a_constant_forest_goes_to_another_engine(tmp_path) -> None:
    X = pd.DataFrame({"x": np.random.default_rng(0).normal(size=50)})
    model = DecisionTreeRegressor().fit(X, np.ones(50))
    got = decompose(model, forms(X, tmp_path)["file"])
    np.testing.assert_allclose(got.predict(X), 1.0)
    assert "the trees are constant" in got.reason
