"""What the exact engine promises, on the paper's models of five of its data sets: exact at every row, and invariant."""

from functools import cache

import numpy as np
import pytest

import hoeffding
from hoeffding import Empirical, datasets, decompose
from hoeffding.components import Components
from hoeffding.engines import sparse
from hoeffding.engines.parities import closure
from hoeffding.engines.trees import read_ensemble
from hoeffding.reproduce.models import LOADERS, black_box, load
from hoeffding.subsets import SubsetFamily
from hoeffding.tree_bits import read_trees

pytestmark = pytest.mark.slow

KEYS = ("A", "B", "C", "E", "F")
EXACT = 1e-9
MAX_SETS = 10**7


@pytest.fixture(params=KEYS)
def key(request):
    if request.param in "ACF":
        pytest.importorskip("xgboost")
    try:
        load(request.param)
    except (datasets.DatasetError, OSError) as error:
        pytest.skip(f"{LOADERS[request.param].__name__}: {error}")
    return request.param


@cache
def problem(key):
    """The model, the rows, the complete decomposition, and what the trees add up to at all rows."""
    model, X = black_box(key).model, load(key).X
    return model, X, decompose(model, X, engine="sparse", max_sets=MAX_SETS), read_trees(model, X, None, MAX_SETS, 2)


def some(items, most, seed=0):
    return np.random.default_rng(seed).permutation(len(items))[:most]


def test_the_components_add_up_to_the_model_at_every_row(key):
    model, X, result, read = problem(key)
    f = read.values[:, 0]
    spread = np.ptp(f)
    assert np.abs(result.predict(X) - f).max() <= EXACT * spread
    assert result.remainder <= EXACT * spread
    assert result.fidelity >= 1 - 1e-12
    theirs = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X)
    assert np.abs(result.predict(X) - theirs).max() <= 1e-5 * spread, "it adds up in single precision"
    walked = some(X, 500)
    assert np.abs(read_ensemble(model, X).predict(X[walked].astype(float)) - f[walked]).max() <= EXACT * spread
    phi = result.shapley(X[walked])
    assert np.abs(phi.sum(axis=1) + result.base_value - f[walked]).max() <= EXACT * spread


def test_components_are_orthogonal_to_all_functions_of_fewer_features(key):
    """The norm of ``E[f_S | X_T]``, for all T of one feature less, at the rows themselves."""
    _, X, result, read = problem(key)
    deviation = read.values[:, 0].std()
    largest = 0.0
    subsets = result.subsets
    for s in (subsets[at] for at in some(result.family, 400)):
        cell = X[:, list(s)] @ (1 << np.arange(len(s))[::-1])
        assert len(np.unique(cell)) == 2 ** len(s), "shattered"
        f_S = result.table(s).ravel()[cell]
        for j in range(len(s)):
            bit = 1 << (len(s) - 1 - j)
            rest = cell & ~bit
            n = np.bincount(rest)
            mean = np.bincount(rest, f_S)[n > 0] / n[n > 0]
            largest = max(largest, float(np.sqrt((n[n > 0] / len(X) * mean**2).sum())))
    assert largest <= EXACT * deviation


def moved(tables, flip, order):
    """The same sum of tables when feature i is inverted (where ``flip[i]``) and then called ``place[i]``."""
    place = np.argsort(order)
    d, levels, parts = tables.family.d, [], []
    for size, (level, table) in enumerate(zip(tables.family.levels, tables.tables, strict=True)):
        cells = np.arange(2**size)
        bits = cells[:, None] >> np.arange(size)[::-1] & 1
        named = place[level]
        by = np.argsort(named, axis=1)
        # the cell of the old table that a cell of the new one is: undo the order, then the inversion
        old = np.take_along_axis(np.broadcast_to(bits, (len(level), *bits.shape)), np.argsort(by)[:, None, :], axis=2)
        old = (old ^ flip[level][:, None, :]) @ (1 << np.arange(size)[::-1]).astype(np.int64)
        named = np.take_along_axis(named, by, axis=1)
        rows = np.lexsort(named.T[::-1]) if size else np.arange(len(level))
        levels.append(named[rows].astype(level.dtype))
        parts.append(np.take_along_axis(table, old[:, :, None], axis=1)[rows])
    return Components(SubsetFamily(d, tuple(levels)), tuple(parts))


def test_recoding_any_bits_and_permuting_features_changes_nothing(key):
    _, X, _, read = problem(key)
    rng = np.random.default_rng(1)
    d = X.shape[1]
    flip, order = rng.integers(0, 2, d), rng.permutation(d)
    place = np.argsort(order)
    there = moved(read.tables, flip, order)
    bits = type(read.bits).from_rows((X ^ flip.astype(np.uint8))[:, order])
    before = sparse.decompose_tables(read.tables, read.closed, sparse.Sample(read.bits, None, read.values))
    after = sparse.decompose_tables(there, closure(there.family, MAX_SETS), sparse.Sample(bits, None, read.values))
    found = dict(zip(after.family, zip(after.beta[:, 0], after.variance.structural[:, 0], strict=True), strict=True))
    differences, unmatched = [], set(found)
    for s, b, size in zip(before.family, before.beta[:, 0], before.variance.structural[:, 0], strict=True):
        name = tuple(sorted(place[list(s)].tolist()))
        other, _ = found.get(name, (0.0, 0.0))
        unmatched.discard(name)
        sign = (-1.0) ** flip[list(s)].sum()
        norm = np.sqrt(size) / abs(b) if s and b else 1.0
        differences.append(abs(b - sign * other) * norm)
    differences += [np.sqrt(found[name][1]) for name in unmatched]  # beyond rounding, there are none
    assert max(differences) <= EXACT * np.ptp(read.values)


def test_features_that_the_trees_never_use_are_in_no_component(key):
    model, X, result, _ = problem(key)
    ensemble = read_ensemble(model, X)
    used = set(np.unique(ensemble.feature[ensemble.feature >= 0]).tolist())
    assert {i for s in result.subsets for i in s} <= used
    unused = [i for i in range(X.shape[1]) if i not in used]
    assert (result.shapley(X[:50])[:, unused] == 0).all()


def test_on_the_full_cube_it_is_the_transform():
    pytest.importorskip("xgboost")
    _, X, result, read = problem("A")
    values = np.empty((2,) * 13)
    values[tuple(X.T)] = read.values[:, 0]
    wanted = hoeffding.transform(values, Empirical(X))
    assert wanted.unique
    assert result.unique
    found = np.zeros(len(wanted.family))
    found[[wanted.family.index(s) for s in result.family]] = result.coefficients
    assert np.abs(found - wanted.coefficients).max() <= EXACT * np.ptp(values)
