"""Other libraries' answers to the same questions about the same trees."""

import numpy as np
import pandas as pd
import pytest

from hoeffding import decompose

pytestmark = pytest.mark.oracle

xgboost = pytest.importorskip("xgboost")


def dependent_rows(n=3000, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < rng.uniform(0.2, 0.6, d)).astype(np.uint8)
    X[:, 1] = np.where(rng.random(n) < 0.8, X[:, 0], X[:, 1])
    X[:, 3] = np.where(rng.random(n) < 0.7, X[:, 2], X[:, 3])
    return X


def boosted(X, depth, seed=0, trees=30):
    rng = np.random.default_rng(seed)
    y = X[:, 0] + 2.0 * X[:, 1] * X[:, 2] - X[:, 3] * X[:, 4] * X[:, 5] + rng.normal(0, 0.3, len(X))
    return xgboost.XGBRegressor(n_estimators=trees, max_depth=depth, learning_rate=0.2, random_state=0).fit(X, y)


def full_cube(d=9):
    return np.indices((2,) * d).reshape(d, -1).T.astype(np.uint8)


def treehfd_components(model, X):
    """Main effects ``(n, d)`` and pairs, as ``{(i, j): (n,)}``."""
    treehfd = pytest.importorskip("treehfd")
    explainer = treehfd.XGBTreeHFD(model)
    explainer.fit(X.astype(float), verbose=False)
    main, pairs = explainer.predict(X.astype(float), verbose=False)
    return main, {tuple(sorted(map(int, s))): v for s, v in zip(explainer.interaction_list, pairs.T, strict=True)}


def largest_difference(result, X, main, pairs):
    parts = dict(zip(result.subsets, result.components(X).T, strict=True))
    zero = np.zeros(len(X))
    singles = max(np.abs(parts.get((i,), zero) - main[:, i]).max() for i in range(X.shape[1]))
    both = {*pairs, *(s for s in parts if len(s) == 2)}
    return max(singles, *(np.abs(parts.get(s, zero) - pairs.get(s, zero)).max() for s in both))


def test_trees_of_depth_two_under_dependence_are_those_of_treehfd():
    X = dependent_rows()
    model = boosted(X, depth=2)
    result = decompose(model, X)
    difference = largest_difference(result, X, *treehfd_components(model, X))
    assert difference <= 1e-6 * model.predict(X).std()


def test_an_uneven_sample_would_be_noticed():
    X = dependent_rows()
    model = boosted(X, depth=2)
    other = decompose(model, X, sample_weight=1 + X[:, 0])
    assert largest_difference(other, X, *treehfd_components(model, X)) > 1e-3 * model.predict(X).std()


def test_singles_and_pairs_on_the_full_cube_are_those_of_treehfd():
    X = full_cube()
    model = boosted(X, depth=4)
    difference = largest_difference(decompose(model, X), X, *treehfd_components(model, X))
    assert difference <= 1e-4 * model.predict(X).std(), "it stops at pairs, tree by tree, in single precision"


def test_shapley_values_on_the_full_cube_are_those_of_path_dependent_treeshap():
    shap = pytest.importorskip("shap")
    X = full_cube()
    model = boosted(X, depth=5)
    theirs = shap.TreeExplainer(model).shap_values(X)
    np.testing.assert_allclose(decompose(model, X).shapley(X), theirs, atol=1e-5 * model.predict(X).std())


def test_shapley_values_on_the_full_cube_are_those_of_woodelf():
    woodelf = pytest.importorskip("woodelf")
    pytest.importorskip("treelite")
    X = full_cube()
    model = boosted(X, depth=4)
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    theirs = woodelf.WoodelfExplainer(model).shap_values(frame, verbose=False)
    np.testing.assert_allclose(decompose(model, X).shapley(X), theirs, atol=1e-5 * model.predict(X).std())
