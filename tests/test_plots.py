"""Pictures: what is drawn are the numbers of the result, all of it is readable, and matplotlib is left as it was."""

import dataclasses
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

import hoeffding
from oracles import make_pmf

matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib")
plt = pytest.importorskip("matplotlib.pyplot")
plots = hoeffding.plots

from pictures import COSTS, LONG, assert_readable, cut_off, drawn, few, many, one, overlaps, two_outputs  # noqa: E402


@pytest.fixture(scope="module")
def results():
    return {"few": few(), "many": many(), "one": one()}


def rows_of(result):
    return np.random.default_rng(0).integers(0, 2, (60, result.n_features))


def correlated(d):
    return {f"correlation {r}": plots.aligned(d, r) for r in (0, 0.25, 0.5, 0.99)}


OF_A_RESULT = {
    "component": lambda r, **k: plots.component(r, [0], **k),
    "variance_by_order": plots.variance_by_order,
    "spectrum": plots.spectrum,
    "network": plots.network,
    "importance": plots.importance,
    "local": lambda r, **k: plots.local(r, rows_of(r)[0], **k),
    "waterfall": lambda r, **k: plots.waterfall(r, rows_of(r)[0], **k),
    "waterfall_of_components": lambda r, **k: plots.waterfall(r, rows_of(r)[0], components=True, **k),
    "beeswarm": lambda r, **k: plots.beeswarm(r, rows_of(r), **k),
}
OF_A_MEASURE = {
    "gram": lambda **k: plots.gram(plots.aligned(3, 0.5), **k),
    "cube": lambda **k: plots.cube(plots.aligned(3, 0.5), **k),
    "angle": lambda **k: plots.angle(plots.aligned(2, 0.5), **k),
}
PANELS = {
    "gram": lambda **k: plots.gram(correlated(4), **k),
    "cube": lambda **k: plots.cube(correlated(3), **k),
    "angle": lambda **k: plots.angle(correlated(2), **k),
}


@pytest.fixture
def nothing_shown(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a plot called show")

    monkeypatch.setattr(plt, "show", refuse)
    monkeypatch.setattr(matplotlib.figure.Figure, "show", refuse)


def settings():
    return {key: value for key, value in matplotlib.rcParams.copy().items() if key != "backend"}


# -- manners ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["few", "many", "one"])
@pytest.mark.parametrize("name", OF_A_RESULT)
def test_axes_given_are_drawn_into_and_returned(results, name, kind, nothing_shown):
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3))
    before, backend = settings(), matplotlib.get_backend()
    returned = OF_A_RESULT[name](results[kind], ax=left)
    figure.canvas.draw()
    assert returned is left and left.has_data() and not right.has_data()
    assert plt.get_fignums() == [figure.number] and tuple(figure.get_size_inches()) == (7, 3)
    assert settings() == before and matplotlib.get_backend() == backend


@pytest.mark.parametrize("name", OF_A_MEASURE)
def test_axes_given_for_a_measure_are_drawn_into_and_returned(name, nothing_shown):
    figure, ax = plt.subplots(figsize=(7, 3))
    before = settings()
    assert OF_A_MEASURE[name](ax=ax) is ax
    assert ax.has_data() and plt.get_fignums() == [figure.number] and tuple(figure.get_size_inches()) == (7, 3)
    assert settings() == before


@pytest.mark.parametrize("name", PANELS)
def test_several_measures_give_an_array_of_axes(name, nothing_shown):
    panels = PANELS[name]()
    assert panels.shape == (4,) and len(plt.get_fignums()) == 1
    assert [ax.get_title().split("\n")[0] for ax in panels] == list(correlated(2))
    figure, given = plt.subplots(2, 2, figsize=(7, 6))
    assert list(PANELS[name](ax=given)) == list(given.ravel()) and tuple(figure.get_size_inches()) == (7, 6)
    with pytest.raises(ValueError, match="ax: 4 panels are drawn, expected as many axes, got 1"):
        PANELS[name](ax=given[0, 0])


@pytest.mark.parametrize("kind", ["few", "many", "one"])
@pytest.mark.parametrize("name", OF_A_RESULT)
def test_a_new_figure_has_room_for_all_text(results, name, kind, nothing_shown):
    ax = OF_A_RESULT[name](results[kind])
    assert len(plt.get_fignums()) == 1
    assert_readable(ax.figure)


@pytest.mark.parametrize("name", PANELS)
def test_new_panels_have_room_for_all_text(name):
    assert_readable(PANELS[name]()[0].figure)


def test_a_crowded_figure_is_found_unreadable():
    figure, ax = plt.subplots(figsize=(2, 2))
    ax.set_yticks([0.5, 0.51], ["a name", "another name that is far too long for this figure"])
    long = "another name that is far too long for this figure"
    assert ("a name", long) in overlaps(figure) and long in cut_off(figure)


@pytest.mark.parametrize("ax", ["axes", 3, [1, 2]])
def test_what_is_not_axes_is_refused(results, ax):
    with pytest.raises(TypeError, match=r"ax=.*: expected matplotlib axes with straight x and y"):
        plots.spectrum(results["few"], ax=ax)


def test_polar_axes_are_refused(results):
    with pytest.raises(TypeError, match="straight x and y"):
        plots.spectrum(results["few"], ax=plt.subplot(projection="polar"))


def test_no_figure_is_left_behind_by_an_error(results):
    with pytest.raises(KeyError):
        plots.component(results["few"], ["unknown"])
    with pytest.raises(ValueError, match="no variance"):
        plots.spectrum(hoeffding.transform(np.ones((2, 2))))
    assert plt.get_fignums() == []


def test_without_matplotlib_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import hoeffding; plots = hoeffding.plots; print(plots.aligned(2, 0.5).d)\n"
        "plots.variance_by_order(hoeffding.transform([0.0, 1.0]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "2"
    assert 'hoeffding.plots needs matplotlib: python -m pip install "hoeffding[plot]"' in run.stderr


def test_importing_plots_does_not_import_matplotlib():
    code = "import sys, hoeffding; hoeffding.plots.spectrum; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_all_plots_are_public_and_documented():
    for name in plots.__all__:
        assert "Examples" in getattr(plots, name).__doc__


# -- outputs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_A_RESULT)
def test_several_outputs_ask_for_a_choice(name):
    result = two_outputs()
    with pytest.raises(ValueError, match="output=None: there are 2 outputs, say which one to draw: speed, weight"):
        OF_A_RESULT[name](result)
    with pytest.raises(KeyError, match="'size' is unknown; the names of the outputs are speed, weight"):
        OF_A_RESULT[name](result, output="size")
    with pytest.raises(IndexError, match=r"output=2: out of range, there are 2 outputs \(0 to 1\)"):
        OF_A_RESULT[name](result, output=2)
    with pytest.raises(TypeError, match="output=True: give the name or the index"):
        OF_A_RESULT[name](result, output=True)


@pytest.mark.parametrize("name", OF_A_RESULT)
def test_an_output_by_name_is_that_by_index(name):
    result = two_outputs()
    by_name, by_index = OF_A_RESULT[name](result, output="weight"), OF_A_RESULT[name](result, output=1)
    other = OF_A_RESULT[name](result, output=0)
    assert drawn(by_name) == drawn(by_index) != drawn(other)


def test_unnamed_outputs_go_by_number():
    result = two_outputs(None)
    assert plots.variance_by_order(result, output=1).get_ylabel() == "share of the variance of output 1"
    with pytest.raises(ValueError, match="say which one to draw: 0 to 1"):
        plots.variance_by_order(result)
    with pytest.raises(KeyError, match="'speed' is unknown; the names of the outputs are none; give an index, 0 to 1"):
        plots.variance_by_order(result, output="speed")


def test_a_single_function_has_one_output(results):
    assert drawn(plots.spectrum(results["few"], output=0)) == drawn(plots.spectrum(results["few"]))


# -- components -------------------------------------------------------------------------------------------------------


def test_a_main_effect_is_two_bars(results):
    result = results["few"]
    ax = plots.component(result, ["c"])
    np.testing.assert_array_equal([bar.get_height() for bar in ax.patches], result.table(["c"]))
    p = result.measure.marginal([2])
    assert [label.get_text() for label in ax.get_xticklabels()] == [f"{v}\nP = {p[v]:.3f}" for v in (0, 1)]
    assert ax.get_xlabel() == "c" and ax.get_ylabel() == "effect on f"
    colors = [matplotlib.colors.to_hex(bar.get_facecolor()).upper() for bar in ax.patches]
    assert colors == [plots.canvas.POSITIVE if v >= 0 else plots.canvas.NEGATIVE for v in result.table(["c"])]


@pytest.mark.parametrize("subset", [[0, 1], [1, 2, 4], [0, 1, 2, 3]])
def test_a_larger_component_is_a_table_with_its_numbers(results, subset):
    result = results["few"]
    ax = plots.component(result, subset)
    table = result.table(subset)
    down = len(subset) // 2
    cells = table.reshape(2**down, -1)
    np.testing.assert_array_equal(ax.images[0].get_array(), cells)
    write = plots.canvas.number_format(table, signed=True)
    assert [text.get_text() for text in ax.texts] == [write(v) for v in cells.ravel()]
    rows = [tuple(map(int, label.get_text().split(", "))) for label in ax.get_yticklabels()]
    columns = [tuple(map(int, label.get_text().split(", "))) for label in ax.get_xticklabels()]
    for i, x in enumerate(rows):
        for j, y in enumerate(columns):
            assert cells[i, j] == table[x + y]
    assert_readable(ax.figure)


def test_the_colours_of_a_table_are_symmetric_about_zero(results):
    image = plots.component(results["few"], [0, 1]).images[0]
    assert image.norm.vmin == -image.norm.vmax and tuple(image.cmap(0.5)[:3]) == pytest.approx((1, 1, 1), abs=0.01)


def test_cells_never_observed_are_named():
    result = hoeffding.transform(np.arange(8.0).reshape(2, 2, 2), plots.aligned(3, 0.5))
    hidden = dataclasses.replace(result)
    table = result.table([0, 1]).copy()
    table[0, 1] = np.nan
    object.__setattr__(hidden, "table", lambda subset: table)
    texts = [text.get_text() for text in plots.component(hidden, [0, 1]).texts]
    assert texts[1] == "never\nseen" and "nan" not in texts


@pytest.mark.parametrize(
    ("subset", "error", "message"),
    [
        ([], ValueError, r"subset=\(\): has 0 features; components of 1 to 6 features are drawn"),
        (["zz"], KeyError, "feature 'zz' is unknown"),
        ([9], IndexError, "feature 9 is out of range"),
        ("c", TypeError, "give a sequence of names"),
    ],
)
def test_components_that_cannot_be_drawn(results, subset, error, message):
    with pytest.raises(error, match=message):
        plots.component(results["few"], subset)


def test_large_components_are_refused():
    result = hoeffding.transform(np.random.default_rng(0).normal(size=(2,) * 7))
    assert plots.component(result, range(6)).images[0].get_array().shape == (8, 8)
    with pytest.raises(ValueError, match="has 7 features; components of 1 to 6"):
        plots.component(result, range(7))


# -- variances --------------------------------------------------------------------------------------------------------


def test_bars_of_orders_are_shares_with_their_parts(results):
    result = results["few"]
    v, sizes = result.variance(), result.family.sizes
    heights = np.array([bar.get_height() for bar in plots.variance_by_order(result).patches]).reshape(3, 5)
    for bars, part in zip(heights, (v.total, v.structural, v.correlative), strict=True):
        np.testing.assert_allclose(bars, [part[sizes == k].sum() / v.of_f for k in range(1, 6)], atol=1e-14)
    np.testing.assert_allclose(heights[0], heights[1] + heights[2], atol=1e-12)
    assert heights[0].sum() == pytest.approx(1)


def test_the_variance_left_out_has_a_bar(results):
    result = results["many"]
    ax = plots.variance_by_order(result)
    total = [bar.get_height() for bar in ax.containers[0]]
    np.testing.assert_allclose(total[:2], result.share_by_order(), atol=1e-12)
    assert total[2] == pytest.approx(1 - result.share_by_order().sum()) and total[2] > 0.05
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "left out"]


def test_independent_features_have_one_bar_an_order():
    ax = plots.variance_by_order(hoeffding.transform([[0, 1], [2, 5]]))
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [13 / 14, 1 / 14])
    assert [text.get_text() for text in ax.texts] == ["92.9 %", "7.1 %"] and ax.get_legend() is None


@pytest.mark.parametrize("name", ["variance_by_order", "spectrum", "network"])
@pytest.mark.parametrize("values", [np.full((2, 2), 3.0), np.zeros((2, 2))])
def test_a_constant_function_has_nothing_to_draw(name, values):
    with pytest.raises(ValueError, match="result: the components of f have no variance, only a mean; there is nothing"):
        OF_A_RESULT[name](hoeffding.transform(values))


def test_only_the_mean_has_nothing_to_draw():
    rows = np.random.default_rng(0).integers(0, 2, (50, 3))
    result = hoeffding.HoeffdingRegressor(family=[()]).fit(rows, rows[:, 0]).decomposition_
    assert result.subsets == [()]
    for draw in (plots.variance_by_order, plots.spectrum, plots.network):
        with pytest.raises(ValueError, match="only a mean"):
            draw(result)


def test_one_constant_output_of_two():
    values = np.stack([np.ones((2, 2)), np.arange(4.0).reshape(2, 2)], axis=-1)
    result = hoeffding.transform(values, hoeffding.Uniform(2), output_names=["flat", "steep"])
    plots.spectrum(result, output="steep")
    with pytest.raises(ValueError, match="the components of flat have no variance"):
        plots.spectrum(result, output="flat")


def test_the_spectrum_has_all_components_by_size(results):
    result = results["few"]
    ax = plots.spectrum(result)
    v = result.variance()
    points = np.concatenate([c.get_offsets() for c in ax.collections])
    by_rank = points[np.argsort(points[:, 0])]
    np.testing.assert_array_equal(by_rank[:, 0], np.arange(1, 32))
    np.testing.assert_allclose(by_rank[:, 1], np.sort(v.structural[1:] / v.of_f)[::-1], rtol=1e-12)
    largest = int(np.argmax(v.structural))
    shown = ax.texts[0].get_text()
    assert shown.startswith("1  ") and all(
        f"{plots.canvas.shorten(COSTS[i], 5)[:2]}" in shown for i in result.subsets[largest]
    )
    assert [len(c.get_offsets()) for c in ax.collections] == [5, 10, 10, 5, 1]


def test_components_that_are_zero_are_counted():
    ax = plots.spectrum(hoeffding.transform(np.indices((2, 2, 2))[0]))
    assert ax.get_title(loc="left") == "1 component; 6 more are zero"


def test_what_a_truncated_decomposition_leaves_out_is_said(results):
    fidelity = results["many"].fidelity
    assert 0.5 < fidelity < 0.999
    for draw in (plots.variance_by_order, plots.spectrum, plots.network):
        assert f"components up to order 2, R² = {fidelity:.3f}" in draw(results["many"]).get_title(loc="left")
        assert "R²" not in draw(results["few"]).get_title(loc="left")


@pytest.mark.parametrize(
    ("fidelity", "words"),
    [(0.9876, "R² = 0.988"), (0.99997, "R² = 0.99997"), (1 - 2e-9, "R² = 1 − 2e-09"), (1 - 1e-12, ""), (np.nan, "")],
)
def test_a_fidelity_below_one_is_never_rounded_to_one(results, fidelity, words):
    assert words in plots.reading.missing_share(dataclasses.replace(results["few"], fidelity=fidelity))
    assert bool(words) == bool(plots.reading.missing_share(dataclasses.replace(results["few"], fidelity=fidelity)))


# -- the network ------------------------------------------------------------------------------------------------------


def test_nodes_are_single_shares_and_lines_total_interactions(results):
    result = results["few"]
    ax = plots.network(result)
    share, subsets = result.variance().share, result.subsets
    alone = [share[subsets.index((i,))] for i in range(5)]
    texts = [text.get_text().split("\n")[1] for text in ax.texts]
    assert texts == [plots.canvas.percent(a) for a in alone]
    areas = ax.collections[0].get_sizes() - plots.structure.SMALLEST_NODE
    np.testing.assert_allclose(areas / areas.max(), np.abs(alone) / np.abs(alone).max(), atol=1e-12)
    nodes = ax.collections[0].get_offsets()
    together = {}
    for pair in combinations(range(5), 2):
        together[pair] = sum(s for s, subset in zip(share, subsets, strict=True) if set(pair) <= set(subset))
    largest = max(map(abs, together.values()))
    assert len(ax.lines) == 10
    for line in ax.lines:
        ends = tuple(sorted(int(np.abs(nodes - end).sum(axis=1).argmin()) for end in line.get_xydata()))
        assert line.get_linewidth() == pytest.approx(plots.structure.WIDEST_LINE * abs(together[ends]) / largest)
        assert line.get_color() == (plots.canvas.POSITIVE if together[ends] >= 0 else plots.canvas.NEGATIVE)


def test_the_features_of_a_network_are_those_with_the_largest_shares(results):
    result = results["many"]
    ax = plots.network(result, top=7)
    share = np.abs(result.variance().share)
    size = [share[[i in s for s in result.subsets]].sum() for i in range(200)]
    expected = sorted(np.argsort(size)[-7:])
    assert [text.get_text().split("…")[1].strip() for text in ax.texts] == [f"{i:03d}" for i in expected]
    assert ax.get_title(loc="left").startswith("7 of 200 features")


@pytest.mark.parametrize("top", [12, 16, 17, 40])
def test_networks_of_any_size_are_readable(results, top):
    ax = plots.network(results["many"], top=top)
    assert cut_off(ax.figure) == [] and len(ax.texts) == top


def test_one_feature_has_no_lines(results):
    ax = plots.network(results["one"])
    assert [text.get_text() for text in ax.texts] == ["only\n100.0 %"] and len(ax.lines) == 0
    assert ax.get_title(loc="left") == "no interactions"


@pytest.mark.parametrize("top", [0, -1, 2.5, True, "all"])
def test_a_number_of_features_is_positive(results, top):
    with pytest.raises(ValueError, match=f"top={top!r}: expected an integer, at least 1"):
        plots.network(results["few"], top=top)


# -- measures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("rho", [0.0, 0.3, 1.0])
def test_aligned_bits_are_fair_and_equally_correlated(d, rho):
    measure = plots.aligned(d, rho)
    for i, j in combinations(range(d), 2):
        p = measure.marginal([i, j])
        assert 4 * p[1, 1] - 1 == pytest.approx(rho, abs=1e-15)
    for i in range(d):
        assert measure.marginal([i])[1] == pytest.approx(0.5)


@pytest.mark.parametrize(("d", "rho"), [(0, 0.5), (2, -0.1), (2, 1.5), (2, np.nan), (40, 0.5), (2.0, 0.5)])
def test_aligned_bits_that_do_not_exist(d, rho):
    with pytest.raises(ValueError, match=r"correlation=|d=.*: expected a number of bits from 1 to 20"):
        plots.aligned(d, rho)


def test_the_gram_matrix_is_drawn_as_cosines():
    measure = hoeffding.Ising([0.1, 0.2, -0.3], [[0, 0.5, 0.1], [0.5, 0, -0.4], [0.1, -0.4, 0]])
    ax = plots.gram(measure)
    G = hoeffding.basis.gram_matrix(measure, measure.shattered())
    scale = np.sqrt(np.diag(G))
    np.testing.assert_allclose(ax.images[0].get_array(), G / scale / scale[:, None], atol=1e-14)
    assert ax.images[0].get_clim() == (-1, 1)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0", "1", "2", "3"]
    assert plots.gram(measure, order=1).images[0].get_array().shape == (4, 4)


def test_the_gram_matrix_is_diagonal_for_independent_bits_only():
    independent, dependent = plots.gram({"uniform": hoeffding.Uniform(4), "aligned": plots.aligned(4, 0.5)})
    np.testing.assert_allclose(independent.images[0].get_array(), np.eye(16), atol=1e-15)
    assert np.abs(dependent.images[0].get_array() - np.eye(16)).max() > 0.4


def test_gram_matrices_beyond_a_picture_are_refused():
    with pytest.raises(ValueError, match="order=None: the Gram matrix of 8192 functions has no picture"):
        plots.gram(hoeffding.Uniform(13))


@pytest.mark.parametrize("d", [2, 3])
def test_vertices_are_probabilities_and_edges_correlations(d):
    rng = np.random.default_rng(d)
    p = make_pmf("full", d, rng)
    ax = plots.cube(p)
    areas = ax.collections[0].get_sizes()
    np.testing.assert_allclose(areas / areas.sum(), p.ravel())
    assert len(ax.lines) == d * 2 ** (d - 1)
    edges = plots.geometry._edges(hoeffding.Table(p))
    xy = ax.collections[0].get_offsets()
    for line in ax.lines:  # every line is an edge of the deformed cube, between two vertices
        a, b = line.get_xydata()
        assert np.isclose(np.abs(edges - (b - a)).sum(axis=1), 0).any()
        assert all(np.isclose(np.abs(xy - end).sum(axis=1), 0).any() for end in (a, b))


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.99])
def test_two_bits_span_the_angle_of_their_correlation(rho):
    right, up = plots.geometry._edges(plots.aligned(2, rho))
    assert np.hypot(*right) == pytest.approx(1) and np.hypot(*up) == pytest.approx(1)
    assert right @ up == pytest.approx(rho, abs=1e-12)


def test_rare_vertices_have_no_name():
    assert [text.get_text() for text in plots.cube(plots.aligned(3, 0.99)).texts] == ["000", "111"]


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (hoeffding.Uniform(4), "a cube of 4 bits has no picture; give a measure of 2 or 3 bits"),
        (hoeffding.Product([0.5, 1.0]), "bit 1 is constant"),
        ({}, "measures: is empty"),
    ],
)
def test_cubes_that_cannot_be_drawn(measure, message):
    with pytest.raises(ValueError, match=message):
        plots.cube(measure)


@pytest.mark.parametrize(("rho", "title"), [(0, "cosine 0.00, angle 90°"), (0.25, "cosine 0.25, angle 76°")])
def test_the_angle_of_two_bits_is_the_arccosine_of_their_correlation(rho, title):
    ax = plots.angle(plots.aligned(2, rho))
    assert ax.get_title() == title
    tips = [text.xy for text in ax.texts if hasattr(text, "arrow_patch") and text.arrow_patch is not None]
    np.testing.assert_allclose(tips, [(1, 0), (rho, np.sqrt(1 - rho**2))], atol=1e-12)


def test_the_angle_of_any_two_sets():
    measure = hoeffding.Ising([0.1, 0.2, -0.3], [[0, 0.5, 0.1], [0.5, 0, -0.4], [0.1, -0.4, 0]])
    family = measure.shattered()
    G = hoeffding.basis.gram_matrix(measure, family)
    s, t = (0, 2), (1,)
    i, j = family.index(s), family.index(t)
    assert plots.geometry._cosine(measure, (s, t)) == pytest.approx(G[i, j] / np.sqrt(G[i, i] * G[j, j]), abs=1e-14)
    assert "angle" in plots.angle(measure, (s, t)).get_title()


def test_sets_without_a_vector_are_refused():
    with pytest.raises(ValueError, match=r"the measure does not shatter \(0, 1\), so it has no psi"):
        plots.angle(plots.aligned(2, 1.0), ((0, 1), (1,)))
    with pytest.raises(ValueError, match="expected two sets of feature indices"):
        plots.angle(plots.aligned(3, 0.5), ((0,), (1,), (2,)))


# -- labels and numbers -----------------------------------------------------------------------------------------------


def test_dollar_signs_are_taken_literally(results):
    for ax in (
        plots.component(results["few"], [1]),
        plots.network(results["few"]),
        plots.component(results["few"], [1, 2]),
    ):
        shown = [text for text in ax.figure.findobj(matplotlib.text.Text) if "$a$" in text.get_text()]
        assert shown and not any(text.get_parse_math() for text in shown)


def test_short_labels_stay_different():
    names = [LONG.format(i) for i in range(200)]
    short = plots.canvas.labels_of(names, 24)
    assert len(set(short)) == 200 and max(map(len, short)) <= 24
    assert all(f"{i:03d}" in label for i, label in enumerate(short))
    assert plots.canvas.labels_of(["a", "b\nc"]) == ["a", "b c"]


def test_labels_that_differ_all_over_the_place_stay_whole():
    names = ["x" * 50 + str(i) + "y" * 50 for i in range(3)]
    assert len(set(plots.canvas.labels_of(names, 20))) == 3


@pytest.mark.parametrize(
    ("values", "value", "text"),
    [
        ([123.456], 123.456, "123"),
        ([0.5, 0.01], 0.01, "0.010"),
        ([1e-5], 1e-5, "1.00e-05"),
        ([3e9], -3e9, "−3.00e+09"),
        ([0.0], 0.0, "0"),
        ([np.nan, 2.0], -1.0, "−1.00"),
        ([5.0], -0.0001, "0.00"),
    ],
)
def test_numbers_of_a_picture_have_the_same_decimals(values, value, text):
    assert plots.canvas.number_format(values)(value) == text


def test_dark_styles_are_followed(results):
    with plt.style.context("dark_background"):
        ax = plots.variance_by_order(results["few"])
        assert ax.lines[0].get_color() == "white"
