"""Dask collections: the same counts bit for bit on every scheduler, and attributions as lazy arrays."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from hoeffding import Decomposition, HoeffdingRegressor, decompose

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

N = 2000
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:distributed", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.random((N, 7)) < rng.random(7), columns=[f"b{j}" for j in range(7)])
    table["b4"] &= table.b3
    return table.assign(
        y=1 + table.b0 - 2.0 * (table.b3 & table.b6) + 0.1 * rng.normal(size=N), w=rng.integers(0, 3, N)
    )


@pytest.fixture(scope="module")
def X(table) -> pd.DataFrame:
    return table.drop(columns=["y", "w"])


def same_fit(a: HoeffdingRegressor, b: HoeffdingRegressor) -> None:
    mine, theirs = a.decomposition_.measure.moments, b.decomposition_.measure.moments
    assert mine.sets == theirs.sets
    np.testing.assert_array_equal(mine.counts, theirs.counts)
    assert a.decomposition_.subsets == b.decomposition_.subsets
    np.testing.assert_allclose(a.decomposition_.coefficients, b.decomposition_.coefficients, rtol=0, atol=1e-12)


def same(a: Decomposition, b: Decomposition) -> None:
    assert (a.engine, a.subsets, a.feature_names, a.unique) == (b.engine, b.subsets, b.feature_names, b.unique)
    np.testing.assert_allclose(a.coefficients, b.coefficients, rtol=0, atol=1e-12)


def everything(table: pd.DataFrame, X: pd.DataFrame, partitions: int) -> None:
    """Fits, exact decompositions, black boxes and attributions on the scheduler that is set."""
    ddf = dd.from_pandas(table, npartitions=partitions)
    expected = HoeffdingRegressor().fit(X, table.y, table.w)
    got = HoeffdingRegressor().fit(ddf, "y", "w")
    same_fit(expected, got)
    assert got.report_.n_chunks == partitions and f"with Dask: {N} rows" in got.decomposition_.reason
    rows = ddf.drop(columns=["y", "w"])
    forest = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, table.y)
    exact = decompose(forest, X)
    same(exact, decompose(forest, rows))
    same(decompose(_black_box, X), decompose(_black_box, rows))
    np.testing.assert_array_equal(got.predict(rows).compute(), got.predict(X))
    for method in ("predict", "shapley", "banzhaf", "components", "interactions"):
        lazy = getattr(exact, method)(rows)
        assert isinstance(lazy, da.Array) and lazy.numblocks[0] == partitions
        np.testing.assert_array_equal(lazy.compute(), getattr(exact, method)(X))


def _black_box(X: pd.DataFrame) -> np.ndarray:
    rows = np.asarray(X, float)
    return rows[:, 0] * rows[:, 3] - rows[:, 4]


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("partitions", [1, 13])
def test_schedulers_of_this_process(table, X, scheduler, partitions) -> None:
    with dask.config.set(scheduler=scheduler):
        everything(table, X, partitions)


@pytest.mark.slow
def test_processes(table, X) -> None:
    with dask.config.set(scheduler="processes"):
        everything(table, X, 5)


@pytest.mark.slow
def test_a_cluster(table, X) -> None:
    with _cluster():
        everything(table, X, 13)


def _cluster(**options):
    """A cluster of two processes as a context, with its client."""
    distributed = pytest.importorskip("distributed")
    return distributed.Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", **options)


def test_arrays_and_delayed_chunks(table, X) -> None:
    expected = HoeffdingRegressor().fit(X, table.y, table.w)
    rows = da.from_array(X.to_numpy(), chunks=(300, 4))
    y, w = da.from_array(table.y.to_numpy(), chunks=450), da.from_array(table.w.to_numpy(), chunks=300)
    same_fit(expected, HoeffdingRegressor().fit(rows, y, w))
    parts = [dask.delayed(table.iloc[a : a + 700]) for a in range(0, N, 700)]
    same_fit(expected, HoeffdingRegressor().fit(parts, "y", "w"))
    ddf = dd.from_pandas(table, npartitions=4)
    same_fit(expected, HoeffdingRegressor().fit(ddf[list(X.columns)], ddf.y, ddf.w))
    pairs = [dask.delayed((X.to_numpy()[a : a + 700], table.y.to_numpy()[a : a + 700])) for a in range(0, N, 700)]
    same_fit(HoeffdingRegressor().fit(X, table.y), HoeffdingRegressor().fit(pairs))
    shapley = expected.decomposition_.shapley(rows)
    assert shapley.shape == (N, 7) and shapley.chunks[0] == rows.chunks[0]


def test_an_encoding_learned_from_partitions() -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], N), "age": rng.normal(40, 12, N).round(1)})
    table["y"] = 2.0 * (table.colour == "red") + (table.age > 45)
    expected = decompose(table.y.to_numpy(), table[["colour", "age"]])
    got = decompose("y", dd.from_pandas(table, npartitions=7))
    assert got.encoding == expected.encoding
    same(expected, got)
    lazy = expected.shapley(dd.from_pandas(table, npartitions=3))
    np.testing.assert_array_equal(lazy.compute(), expected.shapley(table))


def test_empty_partitions_and_other_orders_of_columns(table, X) -> None:
    expected = HoeffdingRegressor().fit(X, table.y)
    turned = table[table.columns[::-1]]
    parts = [table.iloc[:0], table.iloc[:0], turned.iloc[:500], table.iloc[500:500], table.iloc[500:]]
    got = HoeffdingRegressor().fit([dask.delayed(p.drop(columns="w")) for p in parts], "y")
    same_fit(expected, got)
    with pytest.raises(ValueError, match="chunk 1: has no column 'b3'"):
        HoeffdingRegressor().fit([dask.delayed(table), dask.delayed(table.drop(columns="b3"))], "y")
    with pytest.raises(ValueError, match="X: has no rows"):
        HoeffdingRegressor().fit([dask.delayed(table.iloc[:0])], "y")


def test_bad_collections(table, X) -> None:
    rows = da.from_array(X.to_numpy(), chunks=(300, 4))
    with pytest.raises(TypeError, match=r"columns have no names in a dask\.array; pass y as a dask\.array"):
        HoeffdingRegressor().fit(rows, "y")
    with pytest.raises(ValueError, match="y='absent': no such column; the columns are b0, b1"):
        HoeffdingRegressor().fit(dd.from_pandas(table, npartitions=2), "absent")
    with pytest.raises(TypeError, match="give both as Dask collections like X, or both as names"):
        HoeffdingRegressor().fit(rows, da.ones(N, chunks=300), "w")
    with pytest.raises(TypeError, match=r"X: Bag is not read; give a dask\.dataframe"):
        HoeffdingRegressor().fit(pytest.importorskip("dask.bag").from_sequence([1, 2]), "y")


# -- faults -----------------------------------------------------------------------------------------------------------


def _fails_once(folder: str, table: pd.DataFrame) -> pd.DataFrame:
    mark = Path(folder) / "failed"
    if not mark.exists():
        mark.touch()
        raise OSError("the disk was away")
    return table


def _dies_once(folder: str, table: pd.DataFrame) -> pd.DataFrame:
    mark = Path(folder) / "died"
    if not mark.exists():
        mark.touch()
        os._exit(9)
    return table


@pytest.mark.slow
@pytest.mark.parametrize("fault", [_fails_once, _dies_once])
def test_faults_on_a_cluster(table, X, tmp_path, fault) -> None:
    expected = HoeffdingRegressor().fit(X, table.y, table.w)
    parts = [dask.delayed(table.iloc[a : a + 200]) for a in range(0, N, 200)]
    with _cluster():
        with dask.annotate(retries=3):
            parts[5] = dask.delayed(fault)(str(tmp_path), parts[5])
        got = HoeffdingRegressor().fit(parts, "y", "w")
    assert len(list(tmp_path.iterdir())) == 1
    same_fit(expected, got)


def _model_that_fails_once(folder: str):
    def model(X):
        mark = Path(folder) / "failed"
        if not mark.exists():
            mark.touch()
            raise OSError("the server was away")
        return _black_box(X)

    return model


@pytest.mark.slow
def test_a_task_of_ours_that_fails_once_is_tried_again(X, tmp_path) -> None:
    with _cluster():
        got = decompose(_model_that_fails_once(str(tmp_path)), dd.from_pandas(X, npartitions=6), order=2)
    same(decompose(_black_box, X, order=2), got)


def test_without_a_cluster_the_error_of_a_task_is_shown(X, tmp_path) -> None:
    model = DecisionTreeRegressor(max_depth=2).fit(X, X.b0)
    model.predict = _model_that_fails_once(str(tmp_path))
    with dask.config.set(scheduler="threads"), pytest.raises(ValueError, match="the server was away"):
        decompose(model.predict, dd.from_pandas(X, npartitions=3))


def test_what_needs_rows_in_memory_says_so(X) -> None:
    result, rows = decompose(_black_box, X), dd.from_pandas(X, npartitions=2)
    with pytest.raises(TypeError, match=r"X: a Dask collection; this needs its rows in memory, pass X\.compute\(\)"):
        result.importance(rows)
    with pytest.raises(TypeError, match="sparse=True: of a Dask collection there are dense arrays only"):
        result.interactions(rows, sparse=True)
    with pytest.raises(TypeError, match=r"rows in a file go to another file, see hoeffding\.apply"):
        result.shapley("rows.parquet")
