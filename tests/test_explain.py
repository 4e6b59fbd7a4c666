"""``decompose``: which engine is taken and why, and that every way in gives the decomposition that is meant."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import hoeffding
from hoeffding import Empirical, HoeffdingRegressor, decompose, tree_bits
from hoeffding.engines.trees.ensemble import ClosureTooLargeError
from strategies import seeds


def bit_problem(seed=0, n=400, d=6):
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.3 + 0.4 * rng.random(d)).astype(np.uint8)
    X[:, 1] |= X[:, 0]
    return X, X[:, 0] + 2.0 * X[:, 1] * X[:, 3] - X[:, 2] * X[:, 4] * X[:, 5] + rng.normal(0, 0.1, n)


def matched(result, other):
    """The coefficients of two results, set by set; a set that one of them does not have counts as zero."""
    sets = sorted({*result.subsets, *other.subsets})
    return np.array([[r.coefficient(s) if s in r.family else 0.0 for s in sets] for r in (result, other)])


# -- exactness --------------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(seeds, st.integers(1, 7), st.integers(1, 6))
def test_a_forest_on_a_full_cube_is_its_transform(seed, d, depth):
    rng = np.random.default_rng(seed)
    cube = np.indices((2,) * d).reshape(d, -1).T
    times = rng.integers(1, 4, len(cube))
    X = np.repeat(cube, times, axis=0)
    model = GradientBoostingRegressor(n_estimators=5, max_depth=depth, random_state=0).fit(X, rng.normal(size=len(X)))
    result = decompose(model, X)
    wanted = hoeffding.transform(model.predict(cube).reshape((2,) * d), Empirical(X))
    assert result.engine == "sparse"
    assert result.unique
    here, there = matched(result, wanted)
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-10)


@pytest.mark.parametrize("d", [8, 10, 12])
def test_a_forest_on_a_cube_under_a_dependent_measure_is_its_transform(d):
    rng = np.random.default_rng(d)
    cube = np.indices((2,) * d).reshape(d, -1).T
    pmf = rng.dirichlet(np.ones(2**d)) + 1e-6
    model = RandomForestClassifier(10, max_depth=5, random_state=0).fit(cube, cube @ rng.normal(size=d) > rng.normal())
    result = decompose(model, cube, sample_weight=pmf)
    f = model.predict_proba(cube)[:, 1].reshape((2,) * d)
    wanted = hoeffding.transform(f, Empirical(cube, pmf))
    assert result.unique
    assert result.order <= 5 < wanted.order
    here, there = matched(result, wanted)
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-10)
    np.testing.assert_allclose(result.shapley(cube[:40]), wanted.shapley(cube[:40]), rtol=0, atol=1e-9)
    other = hoeffding.transform(f, Empirical(cube, pmf[::-1].copy()))
    assert np.abs(here - matched(other, wanted)[0]).max() > 1e-4, "another measure has other components"


def test_the_components_of_trees_add_up_on_real_rows_and_are_hierarchically_orthogonal():
    X, y = bit_problem()
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y > 0.5)
    result = decompose(model, X)
    parts = result.components(X)
    np.testing.assert_allclose(parts.sum(axis=1), model.predict_proba(X)[:, 1], rtol=0, atol=1e-12)
    for s, f_S in zip(result.subsets, parts.T, strict=True):
        for i in s:
            rest = [j for j in s if j != i]
            cell = X[:, rest] @ (1 << np.arange(len(rest)))
            assert np.abs(np.bincount(cell, f_S)).max() <= 1e-9 * len(X)
    assert result.variance().share.sum() == pytest.approx(1.0)
    assert "probability" in result.reason


def test_the_engines_agree_where_all_are_exact():
    cube = np.indices((2,) * 6).reshape(6, -1).T
    X = np.repeat(cube[cube[:, 0] <= cube[:, 1]], 5, axis=0)  # not full, but extremal
    y = np.random.default_rng(0).normal(size=len(X))
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    exact = decompose(tree, X)
    assert exact.unique
    cube = decompose(tree.predict, X)
    fitted = decompose(tree, X, engine=HoeffdingRegressor(order=6, alpha=0))
    assert (exact.engine, cube.engine, fitted.engine) == ("sparse", "cube", "regression")
    for other in (cube, fitted):
        here, there = matched(exact, other)
        np.testing.assert_allclose(here, there, rtol=0, atol=1e-9)


def test_weights_are_repeated_rows_and_distinct_rows_weigh_the_same():
    X, y = bit_problem(n=60)
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    w = np.random.default_rng(1).integers(1, 4, len(X))
    here, there = matched(decompose(tree, X, sample_weight=w), decompose(tree, np.repeat(X, w, axis=0)))
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-11)
    here, there = matched(decompose(tree, X, distinct=True), decompose(tree, np.unique(X, axis=0)))
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-11)


# -- ways in ----------------------------------------------------------------------------------------------------------


def test_a_model_a_function_and_its_values_are_the_same_black_box():
    X, y = bit_problem()
    model = LinearRegression().fit(X, y)
    results = [decompose(m, X) for m in (model, model.predict, model.predict(X))]
    assert [r.engine for r in results] == ["cube"] * 3
    for other in results[1:]:
        np.testing.assert_array_equal(*matched(results[0], other))


def test_a_classifier_gives_probabilities_or_what_is_asked_for():
    X, y = bit_problem()
    model = LogisticRegression().fit(X, y > 0.5)
    proba, margin = decompose(model, X), decompose(model, X, output="margin")
    np.testing.assert_allclose(proba.predict(X), model.predict_proba(X)[:, 1], atol=1e-10)
    np.testing.assert_allclose(margin.predict(X), model.decision_function(X), atol=1e-10)
    many = LogisticRegression().fit(X, np.digitize(y, [0, 1]))
    result = decompose(many, X)
    assert result.output_names == ("0", "1", "2")
    np.testing.assert_allclose(result.predict(X), many.predict_proba(X), atol=1e-10)


def test_the_probability_of_boosted_trees_goes_to_another_engine_and_says_so():
    X, y = bit_problem()
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y > 0.5)
    assert decompose(model, X).engine == "sparse"
    result = decompose(model, X, output="probability")
    assert result.engine == "cube"
    assert "not sparse" in result.reason
    np.testing.assert_allclose(result.predict(X), model.predict_proba(X)[:, 1], atol=1e-10)
    with pytest.raises(ValueError, match="no sum of trees"):
        decompose(model, X, output="probability", engine="sparse")


def test_names_come_from_the_columns_and_frames_of_all_kinds_agree():
    X, y = bit_problem()
    names = list("abcdef")
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(pd.DataFrame(X, columns=names), y)
    frames = [pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)]
    results = [decompose(tree, frame) for frame in frames]
    assert results[0].feature_names == tuple(names)
    np.testing.assert_array_equal(results[0].coefficients, results[1].coefficients)
    np.testing.assert_allclose(results[0].predict(frames[1][:, ::-1]), tree.predict(frames[0]), atol=1e-12)
    renamed = decompose(tree, frames[0], feature_names=[n.upper() for n in names], groups={"pair": ["A", "B"]})
    assert renamed.feature_names[:2] == ("A", "B")
    assert renamed.groups == (("pair", (0, 1)),)


def table(n=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "colour": rng.choice(["red", "green", "blue"], n),
            "smoker": rng.integers(0, 2, n).astype(bool),
        }
    )
    y = (frame["age"] > 40) * 2.0 + (frame["colour"] == "red") * frame["smoker"]
    return frame, y.to_numpy()


def test_splits_of_numbers_are_bits_grouped_by_column():
    frame, y = table()
    X = frame[["age", "smoker"]].astype(float)
    X.loc[::7, "age"] = np.nan
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    result = decompose(model, X)
    assert result.engine == "sparse"
    assert {name for name, _ in result.groups} == {"age", "smoker"}
    assert any(name.startswith("age > ") for name in result.feature_names)
    np.testing.assert_allclose(result.predict(X), model.predict(X), rtol=0, atol=1e-12)


def test_a_table_with_categories_is_encoded_and_the_model_sees_the_table():
    frame, _ = table()
    seen = []

    def model(X):
        seen.append(X)
        return np.where(X["colour"] == "red", 1.0, 0.0) * X["smoker"] + 1

    result = decompose(model, frame[["colour", "smoker"]])
    assert seen[0] is not None
    assert isinstance(seen[0], pd.DataFrame)
    assert "colour=red" in result.feature_names
    assert dict(result.groups)["colour"]
    np.testing.assert_allclose(result.predict(frame), model(frame), atol=1e-9)


def test_a_pipeline_that_ends_in_trees_is_exact_over_what_reaches_them():
    frame, y = table()
    encode = ColumnTransformer([("hot", OneHotEncoder(), ["colour"])], remainder="passthrough")
    model = make_pipeline(encode, DecisionTreeRegressor(max_depth=5, random_state=0)).fit(frame, y)
    result = decompose(model, frame)
    assert result.engine == "sparse"
    assert "colour=red" in result.feature_names  # the column of the table, not what the pipeline made of it
    assert result.remainder <= 1e-12
    assert result.fidelity == pytest.approx(1.0)
    bits, y = bit_problem()
    model = make_pipeline(FunctionTransformer(), DecisionTreeRegressor(random_state=0)).fit(bits, y)
    np.testing.assert_allclose(decompose(model, bits).predict(bits), model.predict(bits), atol=1e-12)


@pytest.mark.parametrize("basis", ["parity", "monomial"])
def test_a_polynomial_is_exact(basis):
    X, _ = bit_problem()
    terms = {(): 1.0, ("a",): 2.0, ("b", "c", "e"): -3.0, ("a", "f"): 0.5}
    result = decompose(hoeffding.Polynomial(terms, basis=basis), X, feature_names=list("abcdef"))
    signs = 1 - 2.0 * X if basis == "parity" else 1.0 * X
    a, b, c, e, f = signs[:, [0, 1, 2, 4, 5]].T
    np.testing.assert_allclose(result.predict(X), 1 + 2 * a - 3 * b * c * e + 0.5 * a * f, rtol=0, atol=1e-12)
    assert result.engine == "sparse"
    with pytest.raises(TypeError, match="Polynomial\\(terms"):
        decompose(terms, X)


# -- choices ----------------------------------------------------------------------------------------------------------


def test_many_features_of_a_black_box_are_fitted_and_the_reason_is_told():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 30))
    result = decompose(lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2], X)
    assert result.engine == "regression"
    assert "30 features" in result.reason
    assert result.order == 2
    assert result.fidelity > 0.999
    with pytest.raises(ValueError, match="engine='cube': 30 features"):
        decompose(lambda rows: rows[:, 0], X, engine="cube")


def test_a_fit_does_not_depend_on_the_unit_of_the_values():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (500, 30))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.01 * rng.normal(size=500)
    small, large = decompose(y, X), decompose(1e6 * y, X)
    here, there = matched(small, large)
    np.testing.assert_allclose(1e6 * here, there, rtol=1e-3, atol=1e-3 * np.abs(there).max())


def test_values_that_differ_at_equal_rows_are_fitted():
    X, y = bit_problem()
    result = decompose(y, X)
    assert result.engine == "regression"
    assert "equal rows have different values" in result.reason


def test_a_closure_that_is_too_large_goes_to_another_engine_and_says_so():
    X, y = bit_problem()
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    result = decompose(tree, X, max_sets=10)
    assert result.engine == "cube"
    assert "max_sets=10" in result.reason
    with pytest.raises(ValueError, match="max_sets=10"):
        decompose(tree, X, max_sets=10, engine="sparse")


def test_the_scale_stays_when_the_closure_is_too_large():
    X, y = bit_problem()
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y > 0.5)
    for result in (decompose(model, X, max_sets=10), decompose(model, X, engine="regression", order=6)):
        assert result.engine != "sparse"
        assert "margin (log-odds)" in result.reason
        np.testing.assert_allclose(result.predict(X), model.decision_function(X), atol=0.05)
    boosted = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, y)
    same = decompose(boosted, X, output="margin")
    assert same.engine == "sparse"
    np.testing.assert_array_equal(same.coefficients, decompose(boosted, X).coefficients)


def test_rows_of_no_weight_are_no_rows():
    cube = np.indices((2,) * 4).reshape(4, -1).T
    tree = DecisionTreeRegressor(random_state=0).fit(cube, np.random.default_rng(0).normal(size=16))
    w = (cube[:, 0] <= cube[:, 1]).astype(float)
    result = decompose(tree, cube, sample_weight=w)
    assert result.unique
    np.testing.assert_allclose(*matched(result, decompose(tree, cube[w > 0])), atol=1e-12)


def test_deep_trees_on_numbers_go_to_another_engine_before_memory_runs_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    tree = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1] + rng.normal(size=300))
    result = decompose(tree, X, max_sets=20_000)
    assert result.engine == "regression"
    assert "max_sets=20,000" in result.reason
    assert result.fidelity < 1
    assert {name for name, _ in result.groups} == {"x0", "x1", "x2", "x3"}


def test_paths_that_are_too_long_are_known_before_anything_is_made(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    tree = DecisionTreeRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1] + rng.normal(size=3000))
    monkeypatch.setattr(tree_bits, "family_of_paths", lambda *_: pytest.fail("made"))
    with pytest.raises(ClosureTooLargeError, match=r"max_sets=100: the paths of the trees have at least 128 different"):
        decompose(tree, X, max_sets=100, engine="sparse")
    assert "max_sets=1,000" in decompose(tree, X, max_sets=1000).reason


def test_a_decomposition_beyond_memory_goes_to_another_engine_and_says_so(monkeypatch):
    X, y = bit_problem()
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)

    def refuse(*_):
        raise MemoryError("a closure of 64 sets takes 9 TiB, 1 GiB are available; lower max_sets")

    monkeypatch.setattr(hoeffding.engines.sparse, "require_memory", refuse)
    result = decompose(tree, X)
    assert result.engine == "cube"
    assert "not sparse: a closure of 64 sets takes 9 TiB" in result.reason
    with pytest.raises(MemoryError, match="9 TiB"):
        decompose(tree, X, engine="sparse")


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused_by_place(value):
    X, y = bit_problem()
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    rows = X.astype(float)
    rows[3, 2] = value
    with pytest.raises(ValueError, match=r"X: row 3, column 2 is -?inf"):
        decompose(tree, rows)


def test_an_unsupported_model_is_told_what_is_read():
    X, y = bit_problem()
    with pytest.raises(
        TypeError, match=r"LinearRegression is no Polynomial.*scikit-learn's.*XGBoost.*LightGBM.*CatBoost"
    ):
        decompose(LinearRegression().fit(X, y), X, engine="sparse")


def test_an_order_keeps_the_components_of_the_complete_decomposition():
    X, y = bit_problem()
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    everything, low = decompose(tree, X), decompose(tree, X, order=2)
    assert low.order == 2
    np.testing.assert_array_equal(low.coefficients, everything.coefficients[everything.family.sizes <= 2])
    assert low.fidelity < 1
    rest = tree.predict(X) - low.predict(X)
    assert low.remainder == pytest.approx(np.abs(rest).max())


def test_a_regressor_of_yours_is_used_and_not_changed():
    X, y = bit_problem()
    mine = HoeffdingRegressor(order=3, alpha=1e-3)
    result = decompose(y, X, engine=mine)
    assert not hasattr(mine, "decomposition_")
    assert result.order == 3
    for setting in ({"order": 2}, {"distinct": True}, {"n_jobs": 2}):
        (name,) = setting
        with pytest.raises(ValueError, match=f"^{name}=.*has an? {name} of its own; set it there"):
            decompose(y, X, engine=mine, **setting)


@pytest.mark.parametrize("engine", ["cube", "regression", HoeffdingRegressor()])
@pytest.mark.parametrize("option", [{"tol": 0.25}, {"max_sets": 5000}])
def test_an_option_of_the_sparse_engine_is_refused_by_the_others(engine, option):
    X, y = bit_problem()
    name = engine if isinstance(engine, str) else "regression"
    words = "tol=0.25" if "tol" in option else "max_sets=5,000"
    with pytest.raises(ValueError, match=f"engine='{name}': {words} is an option of the sparse engine alone; leave it"):
        decompose(y, X, engine=engine, **option)


def test_where_the_engine_is_chosen_the_reason_names_the_options_it_has_no_use_for():
    X, y = bit_problem()
    reason = decompose(y, X, tol=0.25, max_sets=5000).reason
    assert "; tol=0.25 is an option of the sparse engine alone; max_sets=5,000 is an option" in reason
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    reason = decompose(tree, X, tol=0.25, max_sets=10).reason
    assert "not sparse: max_sets=10" in reason
    assert reason.count("is an option of the sparse engine alone") == 1
    assert "tol=0.25 is an option" in reason
    assert "is an option" not in decompose(y, X).reason


@pytest.mark.parametrize("engine", ["auto", "cube", "regression", "sparse"])
@pytest.mark.parametrize("in_chunks", [False, True])
def test_an_order_beyond_the_features_is_refused_by_every_engine(engine, in_chunks, tmp_path):
    X = pd.DataFrame(bit_problem()[0], columns=list("abcdef"))
    X.to_csv(tmp_path / "bits.csv", index=False)
    tree = DecisionTreeRegressor(random_state=0).fit(X, X.a + 2 * X.b * X.c * X.d * X.e * X.f)
    model = tree if engine == "sparse" else tree.predict
    rows = tmp_path / "bits.csv" if in_chunks else X
    with pytest.raises(ValueError, match="order=7: must be an integer between 1 and the number of features, 6"):
        decompose(model, rows, order=7, engine=engine)
    assert decompose(model, rows, order=6, engine=engine).fidelity > 0.99


def test_a_target_that_is_no_column_is_a_mistake_in_the_model():
    X, _ = bit_problem()
    with pytest.raises(TypeError, match=r"^model='nope': the name of a column goes with a data frame"):
        decompose("nope", X)
    with pytest.raises(ValueError, match=r"^model='nope': no such column; the columns are a, b"):
        decompose("nope", pd.DataFrame(X[:, :2], columns=["a", "b"]))


def test_a_column_stands_for_its_bits_in_groups():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"colour": rng.choice(list("rgb"), 200), "size": rng.integers(0, 4, 200), "old": rng.random(200) < 0.5}
    )
    y = X["size"] + X.old
    groups = {"looks": ["colour", "size"]}
    given, later = decompose(y, X, groups=groups), decompose(y, X).with_groups(groups)
    columns = dict(decompose(y, X).groups)
    assert given.groups == later.groups == (("looks", tuple(sorted(columns["colour"] + columns["size"]))),)
    assert set(dict(later.with_groups({"all": ["looks", "old"]}).groups)["all"]) == set(range(later.n_features))
    with pytest.raises(KeyError, match=r"feature 'age' is unknown; the features are .*, and the groups colour, size"):
        later.with_groups({"g": ["age"]})


# -- mistakes ---------------------------------------------------------------------------------------------------------


def failing(rows):
    raise KeyError("no such column")


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"engine": "fast"}, ValueError, "engine='fast': must be one of"),
        ({"engine": 3}, TypeError, "engine=3: must be one of"),
        ({"engine": "sparse"}, TypeError, "no sum of trees"),
        ({"order": 0}, ValueError, "order=0"),
        ({"order": True}, ValueError, "order=True"),
        ({"tol": 1.5}, ValueError, "tol=1.5"),
        ({"max_sets": 0}, ValueError, "max_sets=0"),
        ({"distinct": 1}, TypeError, "distinct=1"),
        ({"distinct": True, "sample_weight": np.ones(400)}, ValueError, "sample_weight: not possible with distinct"),
        ({"sample_weight": np.ones(3)}, ValueError, "sample_weight: expected one weight per row"),
        ({"output": "probability"}, ValueError, "output='probability': only an estimator"),
        ({"feature_names": ["a"]}, ValueError, "feature_names: expected 6 different names"),
        ({"groups": {"g": [0, 9]}}, IndexError, "feature 9 is out of range"),
        ({"model": np.ones(3)}, ValueError, r"model: expected .* for each of 400 rows"),
        ({"model": np.full(400, np.nan)}, ValueError, "model: its values must be finite"),
        ({"model": failing}, ValueError, "failing.* failed with KeyError"),
        ({"X": np.zeros((0, 6))}, ValueError, "at least one row"),
    ],
)
def test_mistakes_are_told(change, error, match):
    X, _ = bit_problem()
    arguments = {"model": lambda rows: rows[:, 0], "X": X} | change
    model, rows = arguments.pop("model"), arguments.pop("X")
    with pytest.raises(error, match=match):
        decompose(model, rows, **arguments)


def test_a_model_of_other_columns_is_refused():
    X, y = bit_problem()
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="5 columns, but the model was trained on 6"):
        decompose(tree, X[:, :5])
    with pytest.raises(ValueError, match="not fitted"):
        decompose(DecisionTreeRegressor(), X)
