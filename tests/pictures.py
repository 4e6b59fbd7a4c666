"""Decompositions to draw, and what to ask of a picture: is its text readable, what numbers does it show."""

from itertools import combinations

import matplotlib
import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

import hoeffding
from oracles import make_pmf

LONG = "a rather long name of a feature, number {:03d}, in mg per litre"
COSTS = ["the mean concavity of all cell nuclei is large", "$a$ of $b$", "c", "worst dimension > 0.08", "e"]


def few():
    """Five dependent features, two of them with long names or dollar signs."""
    rng = np.random.default_rng(0)
    return hoeffding.transform(rng.normal(size=(2,) * 5), make_pmf("full", 5, rng), feature_names=COSTS)


def many(d=200):
    """Two hundred features with long names: components of boosted trees up to order 2, so that some of f is left."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1000, d))
    X[:, 1] = np.where(rng.random(1000) < 0.8, X[:, 0], X[:, 1])
    y = X @ rng.normal(size=d) + 4 * X[:, 0] * X[:, 5] - 3 * X[:, 1] * X[:, 7] + 9 * X[:, 2] * X[:, 3] * X[:, 4]
    trees = GradientBoostingRegressor(n_estimators=150, random_state=0).fit(X, y)
    return hoeffding.decompose(trees, X, order=2, feature_names=[LONG.format(i) for i in range(d)])


def one():
    return hoeffding.transform([1.0, 3.0], [0.25, 0.75], feature_names=["only"])


def two_outputs(names=("speed", "weight")):
    values = np.random.default_rng(0).normal(size=(2, 2, 2, 2))
    return hoeffding.transform(values, hoeffding.Uniform(3), feature_names=["a", "b", "c"], output_names=names)


def visible_texts(figure):
    figure.canvas.draw()
    found = [text for text in figure.findobj(matplotlib.text.Text) if text.get_visible() and text.get_text().strip()]
    ticks = {
        id(label)
        for ax in figure.findobj(matplotlib.axes.Axes)
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim()))
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
        if not min(limits) <= tick.get_loc() <= max(limits)  # matplotlib keeps some that it does not draw
    }
    return [text for text in found if id(text) not in ticks]


def overlaps(figure, slack=1.0):
    boxes = [(text.get_text(), text.get_window_extent().padded(-slack)) for text in visible_texts(figure)]
    flat = [(text, box) for text, box in boxes if box.width > 0 and box.height > 0]
    return [(a, b) for (a, one), (b, other) in combinations(flat, 2) if one.overlaps(other)]


def cut_off(figure):
    inside = figure.bbox.padded(1.0)
    boxes = [(text.get_text(), text.get_window_extent()) for text in visible_texts(figure)]
    return [
        t for t, box in boxes if box.x0 < inside.x0 or box.x1 > inside.x1 or box.y0 < inside.y0 or box.y1 > inside.y1
    ]


def assert_readable(figure):
    assert cut_off(figure) == []
    assert overlaps(figure) == []


def drawn(ax):
    """All that depends on numbers: bars, points, lines, texts."""
    bars = [bar.get_bbox().bounds for bar in ax.patches]
    points = [(c.get_offsets().tolist(), c.get_sizes().tolist()) for c in ax.collections if hasattr(c, "get_sizes")]
    lines = [line.get_xydata().tolist() for line in ax.lines]
    return bars, points, lines, [text.get_text() for text in ax.texts]
