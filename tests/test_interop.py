"""Results for shap and shapiq: what their plots need, and every plot really drawn."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import hoeffding
from hoeffding import HoeffdingRegressor
from hoeffding.interop import REMAINDER, codes_of
from hoeffding.players import Players

NAMES = ("pos=Gly", "pos=Ala", "pos=Val", "acid", "big")
GROUPS = {"pos": ["pos=Gly", "pos=Ala", "pos=Val"]}


def rows_of_a_column(n=60, seed=0):
    """A column of three values (or none of them) and two more bits."""
    rng = np.random.default_rng(seed)
    value = rng.integers(0, 4, n)
    one_hot = (value[:, None] == [0, 1, 2]).astype(np.uint8)
    return np.concatenate([one_hot, rng.integers(0, 2, (n, 2), np.uint8)], axis=1)


@pytest.fixture
def rows():
    return rows_of_a_column()


def fitted(rows, outputs=None, order=2):
    rng = np.random.default_rng(1)
    y = rows @ rng.normal(size=(5, outputs or 1)) + np.prod(rows[:, 3:], axis=1, keepdims=True) + 0.1
    y = y + 0.5 * rows[:, [0]] * rows[:, [3]] + 0.25 * rows[:, [0]] * rows[:, [3]] * rows[:, [4]]
    model = HoeffdingRegressor(order=order, alpha=1e-5).fit(rows, y if outputs else y[:, 0])
    result = model.decomposition_.with_groups(None)
    named = {"feature_names": NAMES, "output_names": None if outputs is None else ("a", "b", "c")[:outputs]}
    return hoeffding.decomposition.replace(result, **named), y if outputs else y[:, 0]


@pytest.fixture
def fake_shap(monkeypatch):
    """As much of shap as the export touches, so that the default tests need not import it."""
    fake = SimpleNamespace(Explanation=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "shap", fake)


# -- what is handed over ----------------------------------------------------------------------------------------------


def test_a_group_is_shown_by_a_code_and_a_label():
    rows = np.array([[1, 0, 0, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 0, 0, 1]], np.uint8)
    players = Players.of("player", (("pos", (0, 1, 2)),), NAMES)
    codes, labels = codes_of(rows, players, NAMES)
    assert codes.tolist() == [[1, 1, 0], [3, 0, 1], [0, 0, 0], [4, 0, 1]]
    assert labels[:, 0].tolist() == ["Gly", "Val", "none", "Gly + Ala"]
    assert labels[:, 1].tolist() == ["1", "0", "0", "0"]


@pytest.mark.usefixtures("fake_shap")
def test_columns_of_a_table_are_shown_by_their_values():
    table = pd.DataFrame(
        {"colour": ["red", "blue", "green", "red"] * 9, "age": [20.5, 38.2, None, 51.0, 60.2, 29.0] * 6}
    )
    y = np.arange(36) % 12 * 1.0
    result = hoeffding.decompose(y, table, encoding=hoeffding.Encoding.fit(table, thresholds={"age": [30, 40]}))
    e = result.to_shap(table)
    assert e.feature_names == ["colour", "age"] and np.issubdtype(e.data.dtype, np.floating)
    assert e.display_data[:4].tolist() == [
        ["red", "age ≤ 30"],
        ["blue", "30 < age ≤ 40"],
        ["green", "missing"],
        ["red", "age > 40"],
    ]
    by_bits = result.to_shap(table, groups=None)  # every bit for itself
    assert by_bits.feature_names == list(result.feature_names) and set(by_bits.display_data.ravel()) == {"0", "1"}
    moved = result.with_groups({"both": result.feature_names}).to_shap(table)
    assert moved.display_data[0, 0] == "colour=red"  # no column: the bits that are one


@pytest.mark.usefixtures("fake_shap")
@pytest.mark.parametrize("outputs", [None, 2])
def test_an_explanation_has_arrays_names_and_outputs_last(rows, outputs):
    result, y = fitted(rows, outputs)
    e = result.to_shap(rows)
    tail = () if outputs is None else (2,)
    assert e.values.shape == (60, 5, *tail) and e.base_values.shape == (60, *tail) and e.data.shape == (60, 5)
    assert e.feature_names == list(NAMES) and e.output_names == (None if outputs is None else ["a", "b"])
    np.testing.assert_allclose(e.base_values + e.values.sum(axis=1), result.predict(rows), atol=1e-12)
    full = result.to_shap(rows, y)
    assert full.feature_names[-1] == REMAINDER and full.values.shape == (60, 6, *tail)
    np.testing.assert_allclose(full.base_values + full.values.sum(axis=1), y, atol=1e-12)
    grouped = result.with_groups(GROUPS).to_shap(rows)
    assert grouped.feature_names == ["pos", "acid", "big"] and grouped.values.shape == (60, 3, *tail)
    pairs = result.with_groups(GROUPS).to_shap_interactions(rows)
    np.testing.assert_allclose(pairs.values.sum(axis=2), grouped.values, atol=1e-12)


@pytest.mark.parametrize(
    ("package", "call", "message"),
    [
        ("shap", lambda r: r.to_shap([[0] * 5]), "to_shap needs shap: pip install 'hoeffding[shap]'"),
        ("shapiq", lambda r: r.to_shapiq([0] * 5), "to_shapiq needs shapiq: pip install shapiq"),
    ],
)
def test_a_missing_package_is_named(rows, monkeypatch, package, call, message):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=re.escape(message)):
        call(fitted(rows)[0])


@pytest.mark.parametrize(
    ("outputs", "call", "message"),
    [
        (None, lambda r: r.to_shapiq(np.zeros((2, 5))), "x: expected one row, got 2"),
        (None, lambda r: r.to_shapiq(np.zeros(5), output=0), "output=0: there is a single output; leave it out"),
        (2, lambda r: r.to_shapiq(np.zeros(5)), "output=None: choose one of a, b, by name or index"),
        (2, lambda r: r.to_shapiq(np.zeros(5), output="z"), "output='z': choose one of a, b"),
        (None, lambda r: r.to_shapiq(np.zeros(5), groups="sum"), "groups='sum': a game has groups as players"),
        (None, lambda r: r.to_shap(np.zeros((2, 5)), [1.0]), "outputs: expected the model's values at the rows"),
    ],
)
def test_bad_questions_get_clear_answers(rows, outputs, call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(fitted(rows, outputs)[0])


# -- with the packages themselves -------------------------------------------------------------------------------------


@pytest.fixture
def shap():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield pytest.importorskip("shap")
    matplotlib.pyplot.close("all")


@pytest.fixture
def shapiq():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield pytest.importorskip("shapiq")
    matplotlib.pyplot.close("all")


def draw(plots):
    """Draw each on a figure of its own, down to the pixels."""
    import matplotlib.pyplot as plt

    for plot in plots:
        plt.figure()
        plot()
        plt.gcf().canvas.draw()
        assert plt.gcf().axes
        plt.close("all")


@pytest.mark.oracle
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("with_outputs", [False, True])
def test_every_plot_of_shap_accepts_an_explanation(rows, shap, grouped, with_outputs):
    result, y = fitted(rows)
    if grouped:
        result = result.with_groups(GROUPS)
    e = result.to_shap(rows, y if with_outputs else None)
    first, second = e.feature_names[0], e.feature_names[1]
    base, cohorts = float(e.base_values[0]), np.where(rows[:, 3], "yes", "no")
    plots = [
        lambda: shap.plots.bar(e, show=False),
        lambda: shap.plots.bar(e[0], show=False),
        lambda: shap.plots.waterfall(e[0], show=False),
        lambda: shap.plots.beeswarm(e, show=False),
        lambda: shap.plots.heatmap(e, show=False),
        lambda: shap.plots.violin(e, show=False),
        lambda: shap.plots.scatter(e[:, first], color=e[:, second], show=False),
        lambda: shap.plots.force(e[0], matplotlib=True, show=False),
        lambda: shap.plots.decision(base, e.values, features=e.data, feature_names=e.feature_names, show=False),
        lambda: shap.plots.bar(e.cohorts(cohorts).abs.mean(0), show=False),
    ]
    draw(plots)
    assert e[3].base_values + e[3].values.sum() == pytest.approx(y[3] if with_outputs else result.predict(rows)[3])


@pytest.mark.oracle
@pytest.mark.filterwarnings("default")
def test_plots_of_shap_for_interactions_and_several_outputs(rows, shap):
    result, _ = fitted(rows)
    pairs = result.to_shap_interactions(rows)
    given = {"feature_names": pairs.feature_names, "show": False}
    many = fitted(rows, outputs=2)[0].to_shap(rows)
    plots = [
        lambda: shap.summary_plot(pairs.values, pairs.data, **given),
        lambda: shap.dependence_plot(("acid", "big"), pairs.values, pairs.data, **given),
        lambda: shap.plots.beeswarm(many[:, :, "a"], show=False),
        lambda: shap.plots.waterfall(many[0, :, "b"], show=False),
        lambda: shap.plots.bar(many[:, :, 0], show=False),
    ]
    draw(plots)


@pytest.mark.oracle
def test_the_interactions_of_a_tree_under_the_uniform_measure_are_those_of_shap(shap):
    from sklearn.tree import DecisionTreeRegressor

    rows = np.indices((2,) * 5).reshape(5, -1).T
    y = np.random.default_rng(0).normal(size=32)
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(rows, y)
    result = hoeffding.decompose(tree, rows)
    explainer = shap.TreeExplainer(tree)
    scale = np.abs(y).max()
    np.testing.assert_allclose(result.shapley(rows), explainer.shap_values(rows), atol=1e-6 * scale)
    wanted = explainer.shap_interaction_values(rows)
    np.testing.assert_allclose(result.interactions(rows), wanted, atol=1e-5 * scale)


@pytest.mark.oracle
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("grouped", [False, True])
def test_every_plot_of_shapiq_accepts_a_row(rows, shapiq, grouped, tmp_path):
    result, _ = fitted(rows, order=3)
    if grouped:
        result = result.with_groups(GROUPS)
    values = [result.to_shapiq(row) for row in rows[:8]]
    iv, names = values[0], list(result.players)
    assert iv.index == "Moebius" and iv.n_players == len(names) and isinstance(iv.baseline_value, float)
    iv.plot_network(feature_names=names, show=False)
    iv.plot_force(feature_names=names, show=False)
    iv.plot_upset(feature_names=names, show=False)
    iv.plot_waterfall(feature_names=names, show=False)
    iv.plot_stacked_bar(feature_names=names, show=False)
    iv.plot_si_graph(feature_names=names, show=False)
    shapiq.bar_plot(values, feature_names=names, show=False)
    shapiq.beeswarm_plot(values, data=result.to_shap(rows[:8]).data, feature_names=names, show=False)
    path = tmp_path / "values.json"
    iv.to_json_file(path)
    again = shapiq.InteractionValues.from_json_file(path)
    np.testing.assert_allclose(again.values, iv.values)


@pytest.mark.oracle
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("grouped", [False, True])
def test_the_converter_of_shapiq_gives_our_values(rows, shapiq, grouped):
    from shapiq.game_theory import MoebiusConverter

    result, _ = fitted(rows, order=3)
    if grouped:
        result = result.with_groups(GROUPS)
    x, p = rows[5], len(result.players)
    converter = MoebiusConverter(result.to_shapiq(x))
    shapley, banzhaf = converter(index="SV", order=1), converter(index="BV", order=1)
    pairs = converter(index="SII", order=2)
    size = np.abs(result.components(x[None])).max()
    for g in range(p):
        assert result.shapley(x[None])[0, g] == pytest.approx(shapley[(g,)], abs=1e-12 * size)
        assert result.banzhaf(x[None])[0, g] == pytest.approx(banzhaf[(g,)], abs=1e-12 * size)
        for h in range(g):
            assert 2 * result.interactions(x[None])[0, g, h] == pytest.approx(pairs[(h, g)], abs=1e-12 * size)
