"""How many digits are right: against 50-digit arithmetic, and against a dense solve."""

import mpmath
import numpy as np
import pytest

import hoeffding
from oracles import all_subsets, design, make_pmf

MEASURES = {
    "random": lambda n, rng: rng.dirichlet(np.ones(n)),
    "log-uniform down to 1e-20": lambda n, rng: 10.0 ** rng.uniform(-20, 0, n),
    "one point of 1e-20": lambda n, rng: np.where(np.arange(n) == rng.integers(n), 1e-20, 1.0),
    "half of the points of 1e-20": lambda n, rng: np.where(rng.random(n) < 0.5, 1e-20, 1.0) * rng.random(n),
    "all but one point of 1e-20": lambda n, rng: np.where(np.arange(n) == rng.integers(n), 1.0, 1e-20),
}


def exact_coefficients(f, p):
    """beta_S and E[psi_S^2] for all S (as indicator indices), by a dense solve with 50 digits."""
    n = f.size
    values, masses = [mpmath.mpf(float(x)) for x in f.ravel()], [mpmath.mpf(float(x)) for x in p.ravel()]
    Psi = mpmath.matrix(n, n)
    norm2 = []
    for S in range(n):
        p_S: dict[int, mpmath.mpf] = {}
        for x in range(n):
            p_S[x & S] = p_S.get(x & S, mpmath.mpf(0)) + masses[x]
        for x in range(n):
            Psi[x, S] = (-1) ** (x & S).bit_count() / (2 ** S.bit_count() * p_S[x & S])
        norm2.append(mpmath.fsum(Psi[x, S] ** 2 * masses[x] for x in range(n)))
    return list(mpmath.lu_solve(Psi, mpmath.matrix(values))), norm2


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("d", [2, 4, 6])
def test_coefficients_have_twelve_digits(name, d):
    rng = np.random.default_rng([d, list(MEASURES).index(name)])
    p = MEASURES[name](2**d, rng)
    p, f = (p / p.sum()).reshape((2,) * d), rng.normal(size=(2,) * d)
    with mpmath.workdps(50):
        exact, norm2 = exact_coefficients(f, p)
        result = hoeffding.transform(f, p)
        got = np.empty(2**d)
        got[result.family.cube_index()] = result.coefficients
        error = [abs(mpmath.mpf(float(g)) - b) for g, b in zip(got, exact, strict=True)]
        relative = max(e / abs(b) for e, b in zip(error, exact, strict=True))
        # The part that theory bounds by a few rounding errors: beta_S E[psi_S^2] is a parity coefficient of f.
        scaled = max(e * w for e, w in zip(error, norm2, strict=True)) / np.abs(f).max()
    assert relative <= 1e-12
    assert scaled <= 1e-14


def test_the_yardstick_sees_an_error_in_the_twelfth_digit():
    p, f = make_pmf("full", 3, np.random.default_rng(0)), np.random.default_rng(1).normal(size=(2,) * 3)
    with mpmath.workdps(50):
        exact, _ = exact_coefficients(f, p)
    wrong = float(exact[5]) * (1 + 3e-12)
    assert abs(wrong - exact[5]) / abs(exact[5]) > 1e-12


@pytest.mark.parametrize("d", [8, pytest.param(11, marks=pytest.mark.slow)])
def test_a_dense_solve_agrees(d):
    rng = np.random.default_rng(d)
    p, f = make_pmf("full", d, rng), rng.normal(size=(2,) * d)
    dense = np.linalg.solve(design(p, all_subsets(d)), f.ravel())
    result = hoeffding.transform(f, p)
    assert np.abs(result.coefficients - dense).max() <= 1e-12 * np.abs(dense).max()
