"""Every native kernel does what its reference in NumPy says, on every instruction set of this machine."""

import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from hoeffding import _kernels
from hoeffding._kernels import reference
from oracles import KINDS, make_pmf

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
