"""Every native kernel does what its reference in NumPy says, on every instruction set of this machine."""

import signal
import subprocess
import sys
import threading
import time
from itertools import combinations

import numpy as np
import pytest

from hoeffding import _kernels
from hoeffding._kernels import reference
from oracles import KINDS, make_pmf
from strategies import EPS

CASES = [(kind, d, m) for kind in KINDS for d, m in ((1, 1), (2, 3), (3, 1), (6, 2), (8, 1))]


def problem(kind, d, m):
    rng = np.random.default_rng([d, m, KINDS.index(kind)])
    return make_pmf(kind, d, rng).ravel(), rng.normal(size=(m, 2**d))


def norms2(p):
    return reference.project(np.zeros((0, len(p))), p)[1]


@pytest.mark.parametrize(("kind", "d", "m"), CASES)
def test_solve(implementation, kind, d, m):
    p, f = problem(kind, d, m)
    rest_wanted, rest = f.copy(), f.copy()
    wanted = reference.solve(rest_wanted, p)
    beta = _kernels.solve(rest, p, 2)
    # beta_S E[psi_S^2] is a parity coefficient, so its error is a few rounding errors of f for each of d levels.
    assert np.abs((beta - wanted) * norms2(p)).max() <= 1e-14 * np.abs(f).max()
    assert np.array_equal(beta == 0, wanted == 0), "sets with an unobserved cell, and only they, are passed over"
    assert np.abs(rest - rest_wanted).max() <= 1e-13 * 2**d


@pytest.mark.parametrize(("kind", "d", "m"), CASES)
def test_synthesize(implementation, kind, d, m):
    p, f = problem(kind, d, m)
    beta = f / np.where(norms2(p) > 0, norms2(p), 1.0)
    wanted = reference.synthesize(beta, p)
    assert np.abs(_kernels.synthesize(beta, p, 2) - wanted).max() <= 1e-14 * 2**d * max(1.0, np.abs(wanted).max())


@pytest.mark.parametrize(("kind", "d", "m"), CASES)
def test_project(implementation, kind, d, m):
    p, f = problem(kind, d, m)
    (inner, norm2), (inner_wanted, norm2_wanted) = _kernels.project(f * p, p, 2), reference.project(f * p, p)
    np.testing.assert_allclose(norm2, norm2_wanted, rtol=1e-13)
    assert np.abs(inner - inner_wanted).max() <= 1e-14 * np.abs(f).max()


@pytest.mark.parametrize(("d", "m"), [(1, 1), (3, 2), (7, 1)])
def test_kronecker(implementation, d, m):
    rng = np.random.default_rng(d)
    f, matrices = rng.normal(size=(m, 2**d)), rng.normal(size=(d, 2, 2))
    whole = np.ones((1, 1))
    for matrix in matrices:
        whole = np.kron(whole, matrix)
    np.testing.assert_allclose(_kernels.kronecker(f, matrices), f @ whole.T, rtol=0, atol=1e-13 * np.abs(whole).max())


@pytest.mark.parametrize("name", _kernels.implementations()[1:])  # the reference overflows, the kernels must not
def test_solve_with_probabilities_down_to_the_smallest_number(name):
    p = np.full(2**5, 5e-324)
    p[7] = 1.0
    f = np.random.default_rng(0).normal(size=(1, 2**5))
    rest = f.copy()
    with _kernels.using(name):
        beta = _kernels.solve(rest, p, 1)
    assert np.isfinite(beta).all() and np.abs(rest).max() <= 1e-14


def test_large_sets_are_judged_like_small_ones(implementation):
    cube = np.indices((2,) * 9).reshape(9, -1).T.astype(np.uint8)
    packed = np.packbits(cube.T, axis=1, bitorder="little").view(np.uint64)
    sets = np.array([[0, 1, 2, 3, 4, 5, 6, 7, 8]])
    assert _kernels.judge_candidates(packed, 512, sets, 2).tolist() == [True]
    assert _kernels.judge_candidates(packed, 511, sets, 2).tolist() == [False]


def test_unknown_implementations_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="name='sse9': this machine has reference"), _kernels.using("sse9"):
        pass
    code = "import os; os.environ['HOEFFDING_ISA'] = 'sse9'; import hoeffding as h; h.transform([0, 1], [0.5, 0.5])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "HOEFFDING_ISA='sse9': this machine has reference, portable" in run.stderr
    code = "import os; os.environ['HOEFFDING_ISA'] = 'portable'; import hoeffding._kernels as k; print(k.active())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "portable\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently there")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_long_kernel_can_be_interrupted(n_jobs):
    rng = np.random.default_rng(0)
    p, f = rng.dirichlet(np.ones(2**19)), rng.normal(size=(8, 2**19))  # some seconds
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        _kernels.solve(f, p, n_jobs)
    assert time.perf_counter() - start < 1.5


# -- kernels of the regression engine ---------------------------------------------------------------------------------
# Numbers to be added are multiples of 1/64 below 2^14, so that all sums are exact and equality is bit for bit.

AROUND_WORDS = [1, 2, 63, 64, 65, 1000]
DENSITY = [0.5, 0.0, 0.7, 0.02, 0.3, 1.0, 0.02, 0.5, 0.95]  # constant columns, and some with most words empty
NATIVE = _kernels.implementations()[1:]


def some_bits(n, d=9):
    rows = np.random.default_rng(n).random((n, d)) < np.resize(DENSITY, d)
    return reference.pack_columns(rows.astype(np.uint8))


def some_weights(kind, n):
    """Bit planes and real weights, as the kernel takes them."""
    rng = np.random.default_rng([n, 1])
    if kind == "integers":
        w = rng.integers(0, 1000, n)
        return reference.pack_columns(np.stack([w >> b & 1 for b in range(10)], axis=1).astype(np.uint8)), None
    return None, rng.integers(1, 2**20, n) / 64 if kind == "real" else None


def assert_same_sums(got, wanted):
    assert len(got) == len(wanted)
    for level, expected in zip(got, wanted, strict=True):
        for a, b in zip(level, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype and a.shape == b.shape


@pytest.mark.parametrize("n", AROUND_WORDS)
@pytest.mark.parametrize("kind", ["none", "integers", "real"])
def test_sums_over_sets(implementation, n, kind):
    columns, (planes, real) = some_bits(n), some_weights(kind, n)
    for max_size, target_size, m in ((1, 1, 1), (4, 2, 3), (3, 3, 1), (2, 4, 2), (11, 1, 0)):
        targets = np.random.default_rng([n, 2]).integers(-(2**20), 2**20, (m, n)) / 64
        wanted = reference.sum_over_sets(columns, n, planes, real, targets, max_size, target_size)
        for threads in (1, 2, 5):
            got = _kernels.sum_over_sets(columns, n, planes, real, targets, max_size, target_size, threads)
            assert_same_sums(got, wanted)


def test_sums_over_sets_do_not_depend_on_instructions_or_threads_even_where_they_are_rounded():
    n, rng = 1000, np.random.default_rng(0)
    columns, real, targets = some_bits(n), rng.exponential(size=n), rng.normal(size=(2, n))
    results = []
    for name in NATIVE:
        with _kernels.using(name):
            results += [_kernels.sum_over_sets(columns, n, None, real, targets, 4, 2, threads) for threads in (1, 2, 5)]
    for result in results[1:]:
        assert_same_sums(result, results[0])
    wanted = reference.sum_over_sets(columns, n, None, real, targets, 4, 2)
    for (_, _, masses, sums), (_, _, masses_wanted, sums_wanted) in zip(results[0], wanted, strict=True):
        # n numbers added in two orders: either is within n half roundings of the sum of their sizes.
        assert np.abs(masses - masses_wanted).max(initial=0) <= n * EPS * real.sum()
        assert np.abs(sums - sums_wanted).max(initial=0) <= n * EPS * np.abs(targets).sum(axis=1).max()


@pytest.mark.parametrize("n", AROUND_WORDS)
@pytest.mark.parametrize("d", [1, 12])
def test_the_union_matrix_of_counts_is_the_product_of_the_monomials(implementation, n, d):
    columns = some_bits(n, d)
    sums = reference.sum_over_sets(columns, n, None, None, np.zeros((0, n)), min(4, d), 0)
    occurring = [np.zeros((1, 0), np.int32), *(sets for sets, *_ in sums)]
    values = [np.array([float(n)]), *(counts.astype(np.float64) for _, counts, *_ in sums)]
    # All sets of up to two columns: more than occur, and more unions than one block of 256.
    family = [np.array(list(combinations(range(d), s)), np.int32) for s in range(min(2, d) + 1)]
    bits = reference.unpack(columns, n)
    Z = np.stack([bits[s].all(axis=0) for sets in family for s in sets]).astype(np.float64)
    np.testing.assert_array_equal(reference.union_matrix(family, occurring, values), Z @ Z.T)
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(_kernels.union_matrix(family, occurring, values, threads), Z @ Z.T)


def test_a_union_that_does_not_occur_has_the_value_zero(implementation):
    family = [np.zeros((1, 0), np.int32), np.array([[0], [2]], np.int32)]
    occurring, values = [*family, np.array([[0, 3]], np.int32)], [np.array([7.0]), np.array([3.0, 2.0]), np.ones(1)]
    M = _kernels.union_matrix(family, occurring, values, 2)
    np.testing.assert_array_equal(M, [[7, 3, 2], [3, 3, 0], [2, 0, 2]])


def row_lists(n, order=3):
    """Random rows as lists of sets, and as a matrix of zeros and ones."""
    columns = some_bits(n, 9)
    pairs = [np.array(list(combinations(range(9), size)), np.int32) for size in range(1, order + 1)]
    family, bits = [np.zeros((1, 0), np.int32), *pairs], reference.unpack(columns, n)
    return columns, family, np.array([bits[s].all(axis=0) for level in family for s in level]).T


@pytest.mark.parametrize("n", [*AROUND_WORDS, 5000])
def test_sets_of_rows(implementation, n):
    columns, family, Z = row_lists(n)
    assert Z[:, 0].all() and not Z.all()
    for threads in (1, 2, 5):
        starts, sets = _kernels.sets_of_rows(columns, n, family, threads)
        np.testing.assert_array_equal(starts, np.concatenate([[0], np.cumsum(Z.sum(axis=1))]))
        np.testing.assert_array_equal(sets, np.nonzero(Z)[1])
        assert starts.dtype == np.int64 and sets.dtype == np.int32
    starts, sets = _kernels.sets_of_rows(columns, n, [family[0][:0], family[1][:0]], 1)
    assert not starts.any() and len(starts) == n + 1 and sets.shape == (0,)


@pytest.mark.parametrize("n", [1, 65, 5000])
@pytest.mark.parametrize("weighted", [False, True])
def test_gram_product(implementation, n, weighted):
    columns, family, Z = row_lists(n)
    starts, sets = reference.sets_of_rows(columns, n, family)
    rng = np.random.default_rng(n)
    c, diagonal = rng.normal(size=Z.shape[1]), rng.random(n) if weighted else None
    wanted = Z.T @ (Z @ c * (1.0 if diagonal is None else diagonal))
    found = [_kernels.gram_product(starts, sets, diagonal, c, threads) for threads in (1, 2, 5)]
    # Sums of n numbers, each of as many as a row has sets.
    largest = np.abs(c).sum() * n
    np.testing.assert_allclose(found[0], wanted, rtol=0, atol=4 * EPS * (Z.shape[1] + np.sqrt(n)) * largest)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("n", [0, *AROUND_WORDS])
@pytest.mark.parametrize("d", [1, 9, 70])
def test_pack_columns(implementation, n, d):
    rows = (np.random.default_rng([n, d]).random((n, d)) < 0.5).astype(np.uint8)
    rows[-1:] = 1  # the last row is the one that a wrong padding loses
    padded = np.zeros((max(-(-n // 64), 1) * 64, d), np.uint64)
    padded[:n] = rows
    words = (padded.reshape(-1, 64, d) << np.arange(64, dtype=np.uint64)[:, None]).sum(axis=1, dtype=np.uint64).T
    strided = np.repeat(np.repeat(rows, 2, axis=0), 3, axis=1)[::2, ::3]
    for laid_out in (rows, np.asfortranarray(rows), strided):
        packed = _kernels.pack_columns(laid_out)
        np.testing.assert_array_equal(packed, words)
        assert packed.dtype == np.uint64 and packed.flags.c_contiguous


PENALTIES = [(0.0, 0.0), (0.1, 0.0), (0.0, 0.2), (0.1, 0.2)]


def descent(l1, l2, r=12):
    """A problem with a coordinate of no curvature, and a start with some zeros."""
    rng = np.random.default_rng(r)
    Psi = rng.normal(size=(30, r))
    Psi[:, 3], Psi[:, 5] = 0, Psi[:, 4]  # nothing to gain, and rank-deficient
    G, m = Psi.T @ Psi / 30, Psi.T @ rng.normal(size=30) / 30
    beta = rng.normal(size=r) * (rng.random(r) < 0.5)
    beta[3] = 0.0
    return G, m, np.full(r, l1), np.full(r, l2), beta


def value(G, m, l1, l2, beta):
    return beta @ G @ beta / 2 - m @ beta + l1 @ np.abs(beta) + l2 @ beta**2 / 2


@pytest.mark.parametrize(("l1", "l2"), PENALTIES)
@pytest.mark.parametrize(("visited", "sweeps"), [([7], 1), ([0, 2, 3, 4, 5, 11], 7), (range(12), 7), ([], 1)])
def test_descend(implementation, l1, l2, visited, sweeps):
    G, m, l1, l2, start = descent(l1, l2)
    visited = np.array(visited, np.int64)
    beta, beta_wanted = start.copy(), start.copy()
    q, q_wanted = m - G @ beta, m - G @ beta
    largest = _kernels.descend(G, l1, l2, visited, beta, q, sweeps)
    wanted = reference.descend(G, l1, l2, visited, beta_wanted, q_wanted, sweeps)
    # A step rounds r + 1 numbers, and descent passes no error on larger than it was, in units of the objective.
    near = 4 * EPS * sweeps * 12**2 * np.abs(G).max() * max(1.0, np.abs(start).max())
    np.testing.assert_allclose(beta, beta_wanted, rtol=0, atol=near)
    np.testing.assert_allclose(q, q_wanted, rtol=0, atol=near)
    np.testing.assert_allclose(q, m - G @ beta, rtol=0, atol=near)
    assert largest == pytest.approx(wanted, rel=1e-9, abs=near)
    untouched = np.setdiff1d(np.arange(12), visited)
    np.testing.assert_array_equal(beta[untouched], start[untouched])


@pytest.mark.parametrize(("l1", "l2"), PENALTIES)
def test_a_step_of_descent_minimises_over_its_coordinate_and_no_sweep_goes_up(implementation, l1, l2):
    G, m, l1, l2, beta = descent(l1, l2)
    q, everything = m - G @ beta, np.delete(np.arange(12), 3)
    for j in everything:
        _kernels.descend(G, l1, l2, np.array([j]), beta, q, 1)
        least = value(G, m, l1, l2, beta)
        for h in (-0.1, -1e-3, 1e-3, 0.1, -beta[j]):
            assert value(G, m, l1, l2, beta + h * np.eye(12)[j]) >= least - 64 * EPS
    for _ in range(5):
        before = value(G, m, l1, l2, beta)
        largest = _kernels.descend(G, l1, l2, everything, beta, q, 1)
        # Each step takes away at least half of its square, in these units.
        assert value(G, m, l1, l2, beta) <= before - largest / 2 + 64 * EPS


def test_descent_does_not_depend_on_the_instructions():
    results = []
    for name in NATIVE:
        G, m, l1, l2, beta = descent(0.1, 0.2, r=67)
        q = m - G @ beta
        with _kernels.using(name):
            largest = _kernels.descend(G, l1, l2, np.arange(67), beta, q, 9)
        results.append(np.concatenate([beta, q, [largest]]))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_least_norm(implementation, kind, d):
    rng = np.random.default_rng([d, KINDS.index(kind)])
    p = np.stack([make_pmf(kind, d, rng).ravel() for _ in range(5)])
    wanted, found = reference.least_norm(p), _kernels.least_norm(p, 2)
    for p_S, c in zip(p, found, strict=True):
        seen = np.flatnonzero(p_S)
        psi = np.zeros((len(seen), 2**d))
        for T in np.flatnonzero(c):
            p_T = np.bincount(seen & T, p_S[seen], 2**d)
            psi[:, T] = reference.parities(2**d)[seen & T] / (2 ** int(T).bit_count() * p_T[seen & T])
        root, size = np.sqrt(p_S[seen]), np.abs(psi) @ np.abs(c)
        residual = root * (psi @ c - reference.parities(2**d)[seen])
        assert np.abs(residual).max() <= 1e-13 * max(1.0, (root * size).max()), "the combination is the parity"
    if kind in ("full", "holes", "few points"):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("largest", [1, 3, 5])
@pytest.mark.parametrize("n_sets", [0, 1, 60])
def test_blocks_of_sets(implementation, n_sets, largest):
    rng = np.random.default_rng(n_sets)
    sets = [np.sort(rng.permutation(12)[: rng.integers(0, 5)]) for _ in range(n_sets)]
    starts = np.cumsum([0, *map(len, sets)])
    features = np.concatenate([np.zeros(0, np.int32), *sets]).astype(np.int32)
    found = _kernels.blocks_of_sets(starts, features, 12, largest)
    assert found.tolist() == reference.blocks_of_sets(starts, features, 12, largest).tolist()
    for block in range(found.max(initial=-1) + 1):
        inside = [set(s) for s, b in zip(sets, found, strict=True) if b == block]
        assert inside and len(set.union(*inside)) <= max(largest, *map(len, inside), 0)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("rows", [1, 64, 1000])
def test_lookup(implementation, rows, m):
    rng = np.random.default_rng(rows)
    columns = reference.pack_columns((rng.random((rows, 7)) < 0.3).astype(np.uint8))
    sets = [(), (0,), (6,), (0, 3), (2, 5, 6), (0, 1, 2, 3)]
    blocks = [(0, 1, 2, 3), (2, 5, 6)]
    block_of = [0, 0, 1, 0, 1, 0]
    targets = [rng.permutation(4)[: rng.integers(1, 4)] for _ in sets]
    starts = np.cumsum([0, *(2 ** len(s) for s in sets)])
    tables = reference.Tables(
        n_targets=4,
        set_starts=np.cumsum([0, *map(len, sets)]),
        set_features=np.concatenate([np.array(s, np.int32) for s in sets]),
        set_block=np.array(block_of, np.int32),
        table_starts=starts[:-1],
        tables=rng.normal(size=(starts[-1], m)),
        target_starts=np.cumsum([0, *map(len, targets)]),
        targets=np.concatenate(targets).astype(np.int32),
        weights=rng.normal(size=sum(map(len, targets))),
        block_starts=np.cumsum([0, *map(len, blocks)]),
        block_features=np.concatenate([np.array(b, np.int32) for b in blocks]),
    )
    wanted = reference.lookup(columns, rows, tables)
    found = _kernels.lookup(columns, rows, tables, 2)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)
    assert np.array_equal(found, _kernels.lookup(columns, rows, tables, 1))


def test_sums_over_given_sets_only(implementation):
    rng = np.random.default_rng(0)
    rows = (rng.random((200, 6)) < 0.4).astype(np.uint8)
    columns, targets, real = reference.pack_columns(rows), rng.normal(size=(2, 200)), rng.random(200)
    only = [np.zeros((1, 0)), [[0], [2], [3], [5]], [[0, 2], [0, 3], [2, 3], [3, 5]], [[0, 2, 3]]]
    only = [np.array(level, np.int32) for level in only]
    for planes, weights in ((None, None), (None, real)):
        everything = _kernels.sum_over_sets(columns, 200, planes, weights, targets, 3, 3, 2)
        found = _kernels.sum_over_sets(columns, 200, planes, weights, targets, 3, 3, 2, only)
        for size, (all_of_size, part) in enumerate(zip(everything, found, strict=True), start=1):
            at = [all_of_size[0].tolist().index(s) for s in only[size].tolist()]
            assert part[0].tolist() == only[size].tolist()
            for a, b in zip(all_of_size[1:], part[1:], strict=True):
                np.testing.assert_allclose(a[at] if len(a) else a, b, rtol=0, atol=1e-12)
