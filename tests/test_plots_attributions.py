"""Bars, waterfalls and swarms show the attributions of the result, their remainder, and what others say."""

import numpy as np
import pandas as pd
import pytest

import hoeffding
from hoeffding import HoeffdingRegressor

matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib")
plots = hoeffding.plots

from pictures import COSTS, assert_readable, few, many, two_outputs  # noqa: E402

PLAYERS = ["pair", "$a$ of $b$", "c"]


@pytest.fixture(scope="module")
def result():
    return few()


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(3).integers(0, 2, (40, 5))


@pytest.fixture(scope="module")
def truncated():
    """Components up to order 2 of a function of order 3, and rows with its outputs."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (300, 4))
    y = rows[:, 0] * rows[:, 1] * rows[:, 2] + rows[:, 3].astype(float)
    return HoeffdingRegressor(order=2, alpha=0).fit(rows, y).decomposition_, rows, y


def widths(ax, k=0):
    return [bar.get_width() for bar in ax.containers[k]]


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def note_of(ax):
    return ax.get_title(loc="left")


# -- importance -------------------------------------------------------------------------------------------------------


def test_bars_are_importances_the_largest_first(result, rows):
    for X, weight in ((None, None), (rows, None), (rows, np.arange(40.0))):
        wanted = result.importance(X, weight)
        ax = plots.importance(result, X, sample_weight=weight)
        np.testing.assert_array_equal(widths(ax), np.sort(wanted)[::-1])
        assert texts(ax) == [plots.canvas.percent(share) for share in np.sort(wanted)[::-1]]
        assert labels(ax)[0] == plots.canvas.shorten(COSTS[int(wanted.argmax())])
        assert sum(widths(ax)) == pytest.approx(1) and note_of(ax) == ""


def test_what_is_not_drawn_is_said():
    result = many()
    ax = plots.importance(result, top=7)
    wanted = np.sort(result.importance())[::-1]
    hidden = plots.canvas.percent(1 - wanted[:7].sum())
    assert len(widths(ax)) == 7 and f"7 of 200; the others have {hidden} of the importance" in note_of(ax)
    assert f"R² = {result.fidelity:.3f}" in note_of(ax)


def test_groups_are_players(result):
    grouped = result.with_groups({"pair": [COSTS[0], COSTS[4]], "trio": COSTS[1:4]})
    assert set(labels(plots.importance(grouped))) == {"pair", "trio"}
    assert len(labels(plots.importance(grouped, groups=None))) == 5
    np.testing.assert_array_equal(
        sorted(widths(plots.importance(grouped, groups="sum"))), sorted(grouped.importance(groups="sum"))
    )


def test_other_methods_stand_beside_and_are_normalised(result, rows):
    values = np.random.default_rng(0).normal(size=(30, 5))
    ax = plots.importance(result, rows, others={"of rows": values, "of features": [4, 0, 3, 2, 1]})
    order = np.argsort(-result.importance(rows))
    size = np.abs(values).mean(axis=0)
    np.testing.assert_allclose(widths(ax, 1), (size / size.sum())[order], rtol=1e-14)
    np.testing.assert_allclose(widths(ax, 2), np.array([0.4, 0, 0.3, 0.2, 0.1])[order], rtol=1e-14)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["hoeffding", "of rows", "of features"]
    assert_readable(ax.figure)
    five = {f"method {k}": values for k in range(5)}
    assert_readable(plots.importance(result, others=five).figure)


def interval_of(rows, function, statistic):
    def decompose(weights):
        return hoeffding.transform(function, hoeffding.Empirical(rows, weights, n_jobs=1), n_jobs=1)

    weights = np.ones(len(rows))
    found = hoeffding.bootstrap(decompose, len(rows), statistic, rng=0, n_resamples=20, level=0.9)
    return decompose(weights), found


def test_intervals_reach_from_low_to_high(rows, result):
    own, interval = interval_of(rows, result.values(), lambda r: r.importance())
    ax = plots.importance(own, interval=interval)
    order = np.argsort(-own.importance())
    bars = ax.containers[1]
    lines = bars.lines[2][0].get_segments()
    np.testing.assert_allclose([line[:, 0] for line in lines], np.stack([interval.low, interval.high], 1)[order])
    assert note_of(ax) == "90 % intervals"
    assert_readable(ax.figure)


def test_intervals_of_something_else_are_refused(rows, result):
    own, other = interval_of(rows, result.values(), lambda r: r.shapley_effects())
    with pytest.raises(ValueError, match="interval: its values differ from the importances by up to"):
        plots.importance(own, interval=other)
    with pytest.raises(ValueError, match=r"interval: its values have shape \(5,\), the importances have \(2,\)"):
        plots.importance(own.with_groups({"a": [0, 1], "b": [2, 3, 4]}), interval=other)
    with pytest.raises(TypeError, match=r"interval=3: expected what hoeffding.bootstrap"):
        plots.importance(own, interval=3)


@pytest.mark.parametrize(
    ("others", "error", "message"),
    [
        ([1, 2], TypeError, "others: expected a mapping from names of methods to their values, got list"),
        ({"m": [1, 2]}, ValueError, r"others\['m'\]: expected shape \(5,\) or \(n, 5\), one value for each player"),
        ({"m": np.zeros((0, 5))}, ValueError, r"others\['m'\]: expected shape"),
        ({"m": np.zeros(5)}, ValueError, r"others\['m'\]: all values are zero"),
        ({"m": [1, 2, 3, 4, -1]}, ValueError, r"others\['m'\]: importances are at least 0, got -1"),
        ({"m": [1, 2, 3, 4, np.nan]}, ValueError, r"others\['m'\]"),
        ({"hoeffding": np.ones(5)}, ValueError, "others: 'hoeffding' is what our own bars are called"),
        ({str(k): np.ones(5) for k in range(6)}, ValueError, "others: 6 methods; at most 5"),
    ],
)
def test_other_methods_that_do_not_fit(result, others, error, message):
    with pytest.raises(error, match=message):
        plots.importance(result, others=others)


# -- one row ----------------------------------------------------------------------------------------------------------


def test_local_bars_are_normalised_values_with_their_signs(result, rows):
    for x in rows[:5]:
        ax = plots.local(result, x)
        wanted = result.local([x])[0]
        order = np.argsort(-np.abs(wanted), kind="stable")
        np.testing.assert_allclose(widths(ax), wanted[order], rtol=1e-14)
        colors = [matplotlib.colors.to_hex(bar.get_facecolor()).upper() for bar in ax.containers[0]]
        assert colors == plots.canvas.sign_colors(wanted[order])
        at_two = labels(ax)[list(order).index(2)]
        assert at_two == f"c = {x[2]}"


def test_a_name_that_asks_is_answered(result):
    at = COSTS.index("worst dimension > 0.08")
    for value, answer in ((0, "no"), (1, "yes")):
        x = np.zeros(5, int)
        x[at] = value
        assert f"worst dimension > 0.08: {answer}" in labels(plots.local(result, x))


def test_the_remainder_is_a_bar_of_its_own(truncated):
    result, rows, y = truncated
    x, f = rows[0], y[0]
    rest = f - result.predict([x])[0]
    assert abs(rest) > 0.01
    whole = np.abs(result.shapley([x])).sum()
    ax = plots.local(result, x, f)
    assert labels(ax)[-1] == "remainder" and widths(ax)[-1] == pytest.approx(rest / whole)
    ax = plots.waterfall(result, x, f)
    assert labels(ax)[-2:] == ["remainder", "f at this row"] and widths(ax)[-1] == pytest.approx(rest)
    ax = plots.waterfall(result, x)
    assert labels(ax)[-1] == "components of f at this row" and "R² = 0.9" in note_of(ax)
    assert "R² = 0.9" in note_of(plots.local(result, x))


def test_local_values_of_others(truncated):
    result, rows, y = truncated
    ax = plots.local(result, rows[0], y[0], others={"kernel": [1, -2, 3, -4]})
    order = np.argsort(-np.abs(result.shapley(rows[:1])[0]), kind="stable")
    np.testing.assert_allclose(widths(ax, 1)[:-1], np.array([0.1, -0.2, 0.3, -0.4])[order])
    assert np.isnan(widths(ax, 1)[-1])  # of their remainder nothing is known
    assert_readable(ax.figure)
    with pytest.raises(ValueError, match=r"others\['kernel'\]: expected shape \(4,\), one value for each player"):
        plots.local(result, rows[0], others={"kernel": np.zeros((2, 4))})


@pytest.mark.parametrize("components", [False, True])
def test_the_steps_of_a_waterfall_lead_from_the_mean_to_the_value(result, rows, components):
    for top in (2, 4, 50):
        ax = plots.waterfall(result, rows[0], components=components, top=top)
        bars = ax.containers[0]
        start, value = float(result.base_value), float(result.predict(rows[:1])[0])
        ends = np.array([(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars])
        assert ends[0, 0] == pytest.approx(start) and ends[-1, 1] == pytest.approx(value)
        np.testing.assert_allclose(ends[1:, 0], ends[:-1, 1])
        all_steps = result.components(rows[:1])[0, 1:] if components else result.shapley(rows[:1])[0]
        by_size = all_steps[np.argsort(-np.abs(all_steps), kind="stable")]
        if top == 2:
            np.testing.assert_allclose(widths(ax), [*by_size[:2], by_size[2:].sum()], atol=1e-12)
            assert labels(ax)[-2] == f"{len(by_size) - 2} others"
        if not components and top > 2:  # a single other is drawn itself
            np.testing.assert_allclose(widths(ax), by_size, atol=1e-12)
            assert not any("others" in label for label in labels(ax))
        write, signed = plots.canvas.number_format([start, *ends[:, 1]]), None
        signed = plots.canvas.number_format([start, *ends[:, 1]], signed=True)
        assert texts(ax) == [write(start), *(signed(w) for w in widths(ax)), write(value)]


def test_components_are_named_with_their_values(result):
    ax = plots.waterfall(result, [1, 0, 1, 0, 1], components=True, top=40)
    assert "c = 1 × e = 1" in labels(ax)


def test_a_row_may_come_as_part_of_a_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"colour": rng.choice(["red", "green"], 200), "age": rng.integers(18, 80, 200) + 0.5})
    table["member"] = rng.integers(0, 2, 200)
    y = (table["colour"] == "red") * 2.0 + (table["age"] > 40) * table["member"]
    result = hoeffding.decompose(y.to_numpy(), table, engine="regression")
    x = table.iloc[0]
    shown = labels(plots.waterfall(result, x))
    assert f"colour = {x['colour']}" in shown and f"member = {x['member']}" in shown
    assert any("age" in label and ("≤" in label or ">" in label) for label in shown)
    assert labels(plots.waterfall(result, table.iloc[:1])) == labels(plots.waterfall(result, x.to_list())) == shown
    assert labels(plots.waterfall(result, x[["member", "colour", "age"]])) == shown  # its names count, not their order
    with pytest.raises(ValueError, match="x: expected one row, got 2"):
        plots.waterfall(result, table.iloc[:2])


def test_outputs_of_a_row_are_as_many_as_those_of_the_function(truncated):
    result, rows, y = truncated
    for given in (y[0], [y[0]], np.array([[y[0]]])):
        assert widths(plots.local(result, rows[0], given)) == widths(plots.local(result, rows[0], y[0]))
    with pytest.raises(ValueError, match=r"outputs: expected what the model says at the row, got shape \(2,\)"):
        plots.local(result, rows[0], y[:2])
    several = two_outputs()
    ax = plots.waterfall(several, [0, 1, 0], [1.0, 2.0], output="weight")
    assert widths(ax)[-1] == pytest.approx(2.0 - several.predict([[0, 1, 0]])[0, 1])


# -- all rows ---------------------------------------------------------------------------------------------------------


def test_a_swarm_has_a_point_for_every_row(result, rows):
    ax = plots.beeswarm(result, rows)
    phi = result.shapley(rows)
    order = np.argsort(-np.abs(phi).mean(axis=0))
    for k, (points, i) in enumerate(zip(ax.collections, order, strict=False)):
        offsets = np.asarray(points.get_offsets())
        np.testing.assert_array_equal(offsets[:, 0], phi[:, i])
        assert (np.abs(offsets[:, 1] - k) < 0.45).all()
        np.testing.assert_array_equal(points.get_array(), rows[:, i])
    assert labels(ax) == plots.canvas.labels_of([COSTS[i] for i in order])
    assert note_of(ax) == "40 rows"


def test_points_at_the_same_place_are_spread():
    values = np.repeat([0.0, 1.0], [50, 3])
    beside = plots.rows.swarm(values, 0.0, 1.0)
    assert len(set(beside[:50])) == 50 and np.abs(beside).max() <= 0.4
    assert beside.sum() == pytest.approx(0, abs=1e-12) and beside[50:].tolist() == pytest.approx([-0.016, 0, 0.016])
    assert plots.rows.swarm(np.zeros(3), 0.0, 0.0).tolist() == pytest.approx([-0.1, 0, 0.1])


def test_the_others_and_the_remainder_are_swarms(truncated):
    result, rows, y = truncated
    ax = plots.beeswarm(result, rows, y, top=2)
    phi = result.shapley(rows)
    order = np.argsort(-np.abs(phi).mean(axis=0))
    assert labels(ax)[2:] == ["2 others, added up", "remainder"]
    swarms = [np.asarray(points.get_offsets())[:, 0] for points in ax.collections[:4]]
    np.testing.assert_allclose(swarms[2], phi[:, order[2:]].sum(axis=1), atol=1e-14)
    np.testing.assert_allclose(swarms[3], y - result.predict(rows), atol=1e-14)
    np.testing.assert_allclose(sum(swarms) + result.base_value, y, atol=1e-12)
    assert "outputs of the model would show the remainder" in note_of(plots.beeswarm(result, rows))
    assert "would show" not in note_of(ax) and "R² = 0.9" in note_of(ax)


def test_levels_of_groups_have_a_colour_if_they_have_an_order():
    ladder = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], np.uint8)
    one_hot = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]], np.uint8)
    players = hoeffding.players.Players.of("player", (("a", (0, 1, 2)), ("b", (3, 4, 5))), tuple("uvwxyz"))
    rows = np.hstack([ladder, one_hot])
    assert plots.rows.levels_of(rows, players, 0).tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert np.isnan(plots.rows.levels_of(rows, players, 1)).all()


def test_swarms_of_groups_are_readable():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 500) + 0.5
    table = pd.DataFrame({"colour": rng.choice(["red", "green", "blue"], 500), "age": age})
    y = (table["colour"] == "red") * 2.0 + (age > 40)
    result = hoeffding.decompose(y.to_numpy(), table)
    ax = plots.beeswarm(result, table, y)
    assert_readable(ax.figure)
    assert [axes.get_yticklabels()[0].get_text() for axes in ax.child_axes] == ["0, low"]


# -- nothing to draw --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "draw",
    [
        plots.importance,
        lambda r: plots.local(r, [0, 1]),
        lambda r: plots.waterfall(r, [0, 1]),
        lambda r: plots.beeswarm(r, [[0, 1]]),
    ],
)
def test_a_constant_function_has_nothing_to_draw(draw):
    with pytest.raises(ValueError, match="result: the components of f are zero, it has only a mean"):
        draw(hoeffding.transform(np.full((2, 2), 3.0)))


def test_a_row_without_attributions():
    # f = r0 + r1 - 2 r0 r1 with signs r: at (0, 0), where both are 1, each feature gets 1 - 2/2 = 0.
    result = hoeffding.transform([[0.0, 2.0], [2.0, -4.0]])
    assert widths(plots.waterfall(result, [0, 0])) == [0, 0]
    assert widths(plots.waterfall(result, [0, 0], components=True)) == [-2, 1, 1]
    with pytest.raises(ValueError, match="x: all attributions are zero at this row"):
        plots.local(result, [0, 0])


def test_no_rows_make_no_swarm(result):
    with pytest.raises(ValueError, match="X"):
        plots.beeswarm(result, np.zeros((0, 5), int))


def test_rows_never_observed_are_counted_or_refused():
    rows = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0]])
    y = [0.0, 1.0, 2.0, 4.0, 5.0, 7.0]
    fit = HoeffdingRegressor(order=2, alpha=0, family="paper", unseen="nan").fit(rows, y).decomposition_
    ax = plots.beeswarm(fit, [[1, 1, 0], [0, 1, 1], [0, 0, 0]])
    assert "2 rows; 1 more have values never observed and are not drawn" in note_of(ax).replace("\n", "; ")
    for draw in (plots.local, plots.waterfall):
        with pytest.raises(ValueError, match="x: has a combination of values that was never observed"):
            draw(fit, [1, 1, 0])
    with pytest.raises(ValueError, match="X: all rows have combinations of values that were never observed"):
        plots.beeswarm(fit, [[1, 1, 0]])
