"""A polynomial of bits as tables of its terms."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hoeffding.bits import BitMatrix
from hoeffding.components import Weights
from hoeffding.engines.trees.polynomial import Polynomial
from strategies import all_subsets, random_rows, seeds

NAMES = ["a", "b", "c", "d"]


def at_rows(polynomial, rows):
    tables = polynomial.tables(NAMES)
    return tables.sums(BitMatrix.from_rows(rows), Weights.all_to_one(len(tables.family)), 1)[:, 0]


@given(seed=seeds, basis=st.sampled_from(["parity", "monomial"]), m=st.integers(0, 3))
def test_values_at_rows(seed, basis, m):
    rng = np.random.default_rng(seed)
    subsets = [s for s in all_subsets(range(4)) if rng.random() < 0.5] or [()]
    coefficients = rng.normal(size=(len(subsets), *([m] if m else [])))
    keys = [tuple(NAMES[i] if rng.random() < 0.5 else i for i in rng.permutation(s)) for s in subsets]
    f = Polynomial(dict(zip(keys, coefficients, strict=True)), basis=basis)
    rows = random_rows(rng, 20, 4).astype(float)
    expected = sum(
        np.multiply.outer((1 - 2 * rows[:, s]).prod(axis=1) if basis == "parity" else rows[:, s].prod(axis=1), c)
        for s, c in zip(map(list, subsets), coefficients, strict=True)
    )
    assert f.single == (m == 0)
    np.testing.assert_allclose(at_rows(f, rows), expected.reshape(20, -1), rtol=0, atol=1e-13)


def test_the_constant_alone():
    np.testing.assert_array_equal(at_rows(Polynomial({(): 2.5}), np.zeros((2, 4))), [[2.5], [2.5]])


@pytest.mark.parametrize(
    ("terms", "kind", "words"),
    [
        ({}, ValueError, "at least one"),
        ([1.0], TypeError, "expected a dictionary"),
        ({"a": 1.0}, TypeError, "'a' is no subset; write a tuple"),
        ({3: 1.0}, TypeError, "3 is no subset"),
        ({(): 1.0, (0,): [1.0, 2.0]}, ValueError, "terms[(0,)]: shape (2,), while terms[()] has shape ()"),
        ({(): [[1.0]]}, ValueError, "terms[()]: shape (1, 1)"),
        ({(): []}, ValueError, "terms[()]: shape (0,)"),
        ({(0,): np.nan}, ValueError, "terms[(0,)]=nan: must be finite"),
        ({(0,): 1j}, TypeError, "terms[(0,)]: complex"),
        ({(0,): "x"}, TypeError, "terms[(0,)]: expected real numbers"),
    ],
)
def test_what_is_no_polynomial_is_refused(terms, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        Polynomial(terms)


@pytest.mark.parametrize(
    ("terms", "kind", "words"),
    [
        ({("e",): 1.0}, KeyError, "feature 'e' is unknown"),
        ({(4,): 1.0}, IndexError, "feature 4 is out of range"),
        ({("a", 0): 1.0}, ValueError, "occurs twice"),
        ({("a", "b"): 1.0, (1, 0): 2.0}, ValueError, "the subset ('a', 'b') is there twice"),
    ],
)
def test_terms_that_do_not_fit_the_features_are_refused(terms, kind, words):
    with pytest.raises(kind, match=re.escape(words)):
        Polynomial(terms).tables(NAMES)


def test_an_unknown_basis_is_refused():
    with pytest.raises(ValueError, match="basis='fourier': must be 'parity' or 'monomial'"):
        Polynomial({(): 1.0}, basis="fourier")


def test_terms_beyond_memory_are_refused():
    with pytest.raises(MemoryError, match="a term of 60 features"):
        Polynomial({tuple(range(60)): 1.0}).tables([f"x{i}" for i in range(60)])
