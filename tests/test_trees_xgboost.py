"""XGBoost's boosters are read exactly."""

import numpy as np
import pytest

from hoeffding.engines.trees import read_ensemble

xgboost = pytest.importorskip("xgboost")


def test_a_booster_on_bits_is_read():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    booster = xgboost.train({"max_depth": 3}, xgboost.DMatrix(X, y), 20)
    ensemble = read_ensemble(booster, X)
    margin = booster.predict(xgboost.DMatrix(X), output_margin=True)
    np.testing.assert_allclose(ensemble.predict(X.astype(float)), margin, rtol=0, atol=1e-5)
