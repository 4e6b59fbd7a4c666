"""What a result says of itself: components, predictions, variances, tables and words."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hoeffding
from hoeffding import Empirical, Product
from oracles import KINDS, components_on_cube, cube_rows, make_pmf

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture
def result():
    rng = np.random.default_rng(0)
    return hoeffding.transform(rng.normal(size=(2,) * 3), make_pmf("full", 3, rng), feature_names=["a", "b", "c"])


@given(seeds, st.integers(1, 5), st.sampled_from(KINDS))
def test_variances_are_those_of_the_definition(seed, d, kind):
    rng = np.random.default_rng(seed)
    p, f = make_pmf(kind, d, rng), rng.normal(size=(2,) * d)
    result = hoeffding.transform(f, p)
    v, on = result.variance(), p > 0
    components, mass = components_on_cube(result)[:, on], p[on]
    centred = components - (components @ mass)[:, None]
    total = centred @ (mass * f[on])
    scale = max(np.abs(centred).max() * np.abs(f[on]).max(), 1e-300)
    tolerance = 1e-12 * scale
    np.testing.assert_allclose(v.structural, centred**2 @ mass, rtol=1e-9, atol=tolerance)
    np.testing.assert_allclose(v.total, total, rtol=0, atol=tolerance)
    np.testing.assert_allclose(v.correlative, v.total - v.structural, rtol=0, atol=tolerance)
    np.testing.assert_allclose(v.of_f, mass @ (f[on] - mass @ f[on]) ** 2, rtol=1e-9, atol=tolerance)
    if v.of_f > 1e-9 * scale:
        assert v.share.sum() == pytest.approx(1.0, abs=1e-9)
        assert result.share_by_order().sum() == pytest.approx(1.0, abs=1e-9)


def test_independent_features_have_no_correlative_part():
    rng = np.random.default_rng(0)
    v = hoeffding.transform(rng.normal(size=(2,) * 4), Product([0.1, 0.5, 0.7, 0.9])).variance()
    assert np.abs(v.correlative).max() <= 1e-15
    dependent = hoeffding.transform(rng.normal(size=(2,) * 4), make_pmf("full", 4, rng)).variance()
    assert np.abs(dependent.correlative).max() > 1e-3


def test_a_worked_example_with_dependent_features():
    # f = x0 x1 with P(00) = P(11) = 0.4: E f = 0.4, Var f = 0.24; f_{01} = 0.16 chi / (4 p) has variance
    # 0.16^2 * (2/0.4 + 2/0.1) / 16 = 0.04; the main effects -0.25 chi_i have variance 1/16 and covariance 0.6 / 16.
    v = hoeffding.transform([[0, 0], [0, 1]], [[0.4, 0.1], [0.1, 0.4]]).variance()
    np.testing.assert_allclose(v.structural, [0, 1 / 16, 1 / 16, 0.04], atol=1e-15)
    np.testing.assert_allclose(v.correlative, [0, 0.6 / 16, 0.6 / 16, 0], atol=1e-15)
    assert v.of_f == pytest.approx(0.24)


def test_components_add_up_to_predictions(result):
    rows = cube_rows(3)
    np.testing.assert_allclose(result.components(rows).sum(axis=1), result.predict(rows), atol=1e-14)
    some = result.components(rows, [["c", "a"], [1], ()])
    assert some.shape == (8, 3)
    np.testing.assert_array_equal(some[:, 0], result.table(["a", "c"])[rows[:, 0], rows[:, 2]])
    np.testing.assert_array_equal(some[:, 2], result.coefficient([]))


def test_several_outputs_come_last():
    rng = np.random.default_rng(0)
    result = hoeffding.transform(rng.normal(size=(2, 2, 2, 5)), make_pmf("full", 3, rng))
    rows = cube_rows(3)[:4]
    assert result.coefficients.shape == (8, 5)
    assert result.predict(rows).shape == (4, 5)
    assert result.components(rows).shape == (4, 8, 5)
    assert result.table([0, 2]).shape == (2, 2, 5)
    assert result.values().shape == (2, 2, 2, 5)
    assert result.variance().total.shape == (8, 5)
    assert result.share_by_order().shape == (3, 5)
    assert len(result.to_frame()) == 40
    assert "5 outputs" in repr(result)
    assert "unique, one output (y)" in repr(hoeffding.transform([0.0, 1.0], output_names=["y"]))


def test_data_frames_are_read_by_name_in_any_order(result):
    rows = cube_rows(3)
    for frame in (pd.DataFrame(rows, columns=["a", "b", "c"]), pl.DataFrame(rows, schema=["a", "b", "c"])):
        np.testing.assert_array_equal(result.predict(frame), result.predict(rows))
        np.testing.assert_array_equal(result.predict(frame[["c", "a", "b"]]), result.predict(rows))
        with pytest.raises(ValueError, match="X: no column 'b'; expected the columns a, b, c"):
            result.predict(frame[["c", "a"]])


@pytest.mark.parametrize("outputs", [(), (2,)])
@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_the_table_of_cells_holds_every_component_at_every_cell(outputs, backend):
    rng = np.random.default_rng(0)
    measure = Empirical([[0, 0, 1], [1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 0, 0]])
    result = hoeffding.transform(rng.normal(size=(2, 2, 2, *outputs)), measure, feature_names=["a", "b", "c"])
    frame = result.to_frame(backend, cells=True)
    assert len(frame) == sum(2 ** len(s) for s in result.subsets) * 2 ** len(outputs)
    assert list(frame.columns) == ["subset", "order", *["output"] * len(outputs), "cell", "probability", "value"]
    rows = [dict(zip(frame.columns, row, strict=True)) for row in frame.to_numpy()]
    for row in rows:
        names = [] if row["subset"] == "(mean)" else row["subset"].split(" × ")
        cell = tuple(int(part.split(": ")[1]) for part in row["cell"].split(", ") if part)
        assert [part.split(": ")[0] for part in row["cell"].split(", ") if part] == names and row["order"] == len(names)
        value = result.table(names)[cell]
        assert row["value"] == (value[row["output"]] if outputs else value)
        assert row["probability"] == measure.marginal(["abc".index(n) for n in names])[cell]


def test_to_frame_has_one_row_for_each_component(result):
    frame = result.to_frame()
    assert list(frame.columns) == ["subset", "order", "coefficient", "structural", "correlative", "total", "share"]
    assert list(frame["subset"]) == ["(mean)", "a", "b", "c", "a × b", "a × c", "b × c", "a × b × c"]
    assert isinstance(result.to_frame("polars"), pl.DataFrame)
    assert frame["share"].sum() == pytest.approx(1.0)


def test_an_empirical_measure_is_named_in_the_result():
    rows = np.random.default_rng(0).integers(0, 2, (40, 3))
    result = hoeffding.transform(np.arange(8.0).reshape(2, 2, 2), Empirical(rows))
    assert "Empirical(d=3, 40 rows, full support)" in repr(result)


def test_words_tell_measure_support_order_number_uniqueness_and_fidelity(result):
    text = repr(result)
    for word in ("Table(d=3, full support)", "8, order up to 3, unique", "triangular", "R2 = 1, largest", "order 1:"):
        assert word in text
    p = np.array([[0.5, 0.0], [0.0, 0.5]])
    assert "2 of 2^2 points" in repr(hoeffding.transform(p, p)) and "not unique" in repr(hoeffding.transform(p, p))


def test_html_escapes_names_and_shows_the_largest_components():
    name = "<script>alert(1)</script>"
    html = hoeffding.transform([[0.0, 1.0], [1.0, 1.0]], feature_names=[name, "b"])._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html and "Largest components" in html


def test_the_result_is_frozen_and_can_be_copied_and_pickled(result):
    with pytest.raises(AttributeError):
        result.unique = False
    with pytest.raises(ValueError, match="read-only"):
        result.coefficients[0] = 1.0
    for again in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        np.testing.assert_array_equal(again.predict(cube_rows(3)), result.predict(cube_rows(3)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: r.predict([[0, 1]]), ValueError, "X: expected 3 features, got 2 columns"),
        (lambda r: r.predict([[0, 1, 2]]), ValueError, r"X: column 2 holds values other than 0 and 1 \(such as 2\)"),
        (lambda r: r.table([0, 7]), IndexError, "feature 7 is out of range, there are 3 features"),
        (lambda r: r.table([-1]), IndexError, "feature -1 is out of range"),
        (lambda r: r.table(["a", "z"]), KeyError, "feature 'z' is unknown; the features are a, b, c"),
        (lambda r: r.table("a"), TypeError, r"such as \['a'\]"),
        (lambda r: r.table([0, 0]), ValueError, "a feature occurs twice"),
        (lambda r: r.table([0.5]), TypeError, "integer indices, not float"),
    ],
)
def test_bad_questions_get_clear_answers(result, call, error, message):
    with pytest.raises(error, match=message):
        call(result)


def test_a_set_that_is_not_shattered_has_no_component():
    p = np.array([[0.5, 0.0], [0.2, 0.3]])
    result = hoeffding.transform(np.zeros((2, 2)), p)
    with pytest.raises(KeyError, match=r"\(0, 1\) is not in the family of 3 subsets \(order at most 1\)"):
        result.table([0, 1])


def test_a_missing_backend_is_named():
    code = "import sys, hoeffding; sys.modules['polars'] = None; hoeffding.transform([0.0, 1.0]).to_frame('polars')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "to_frame(backend='polars') needs polars: pip install polars" in run.stderr
