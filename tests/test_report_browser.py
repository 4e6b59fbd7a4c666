"""The page of a report in a real browser: it computes what `predict` does, asks for nothing, and runs no name as code.

These tests need the package playwright (in the extra ``test``) and a Chromium: one named by the environment variable
``HOEFFDING_CHROMIUM``, or ``chromium``, ``chromium-browser`` or ``google-chrome`` on the path (on Debian,
``apt-get install chromium``). No browser of playwright's own is used or downloaded. Without either of them the tests
are skipped.
"""

import json
import math
import os
import shutil

import numpy as np
import pytest

import hoeffding
from reports import HOSTILE, IMAGE, MARKED, cube, hostile, measure_only, mixed, mixed_table, never_seen, too_large, wide
from strategies import EPS

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
WIDTHS = (360, 768, 1280)


def find_chromium():
    return os.environ.get("HOEFFDING_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    path = find_chromium()
    if path is None:
        pytest.skip(f"needs a Chromium: none of {', '.join(NAMES)} is on the path and HOEFFDING_CHROMIUM is not set")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


class Opened:
    """A page from a file, and all that it logged, asked for, or showed in a dialog."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]", timeout=120_000)

    def prediction(self):
        return float(self.page.locator("#prediction").get_attribute("data-value"))

    def finish(self):
        self.context.close()
        assert self.complaints == []
        assert [url for url in self.requests if not url.startswith("file://")] == []

    def rows_of(self, table):
        rows = self.page.locator(f"#{table} tbody tr").all()
        return [row.locator("th, td").all_text_contents() for row in rows]


@pytest.fixture
def open_report(browser, tmp_path):
    opened = []

    def open_one(result, X=None, options=None, **arguments):
        facts = hoeffding.report.facts(result, X, **{"n_resamples": 20, **arguments})
        hoeffding.report.write(facts, tmp_path / "report.html")
        opened.append(Opened(browser, tmp_path / "report.html", **(options or {})))
        return opened[-1], facts

    yield open_one
    for one in opened:
        one.finish()


@pytest.fixture(scope="module")
def shared(browser, tmp_path_factory):
    """One page for tests that leave it as they find it, but for sorting, searching and values set."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    facts = hoeffding.report.facts(mixed(), n_resamples=20)
    hoeffding.report.write(facts, path)
    opened = Opened(browser, path)
    yield opened, facts
    opened.finish()


def set_by_hand(page, states):
    """Choose a state for every input, and let the page know once."""
    page.evaluate(
        """states => {
            states.forEach((v, k) => { document.getElementById(`input-${k}`).value = String(v); });
            document.getElementById('input-0').dispatchEvent(new Event('change'));
        }""",
        states,
    )


def random_rows(facts, n, seed):
    """States of all inputs at random, and the rows of bits they mean."""
    rng = np.random.default_rng(seed)
    states = np.array([[rng.integers(len(one["states"])) for one in facts["inputs"]] for _ in range(n)])
    bits = np.zeros((n, len(facts["features"])), np.uint8)
    for k, one in enumerate(facts["inputs"]):
        bits[:, one["features"]] = [one["states"][s]["bits"] for s in states[:, k]]
    return states, bits


# -- what if ----------------------------------------------------------------------------------------------------------

CASES = {
    "mixed": mixed,
    "hostile": hostile,
    "cube by coefficients": lambda: cube(11),
    "200 features": wide,
}


@pytest.mark.parametrize("name", CASES)
def test_what_if_is_predict(name, open_report):
    result = CASES[name]()
    opened, facts = open_report(result)
    states, bits = random_rows(facts, 20, seed=7)
    found = []
    for chosen in states.tolist():
        set_by_hand(opened.page, chosen)
        found.append(opened.prediction())
    packed = hoeffding.bits.BitMatrix.from_rows(bits)
    components = result.components(bits) if result.encoding is None else result.components(packed)
    # The page adds up without rounding errors but the last. A component has one of its own from d sums, if it is not
    # kept itself: bounded by d ulps.
    ulps = 1 + (result.n_features if facts["components"]["kind"] == "cube" else 0)
    bound = EPS * ulps * np.abs(components).sum(axis=1)
    assert (np.abs(found - np.array([math.fsum(row) for row in components])) <= bound).all()
    predicted = result.predict(packed)
    np.testing.assert_allclose(found, predicted, rtol=0, atol=1e-12 * np.abs(components).sum(axis=1).max())
    assert np.ptp(predicted) > 0


def test_what_if_of_several_outputs(open_report):
    result = mixed(3)
    opened, facts = open_report(result)
    states, bits = random_rows(facts, 5, seed=8)
    predicted = result.predict(hoeffding.bits.BitMatrix.from_rows(bits))
    for o in (0, 2, 1):
        opened.page.select_option("#output", str(o))
        for chosen, expected in zip(states.tolist(), predicted[:, o], strict=True):
            set_by_hand(opened.page, chosen)
            assert opened.prediction() == pytest.approx(expected, abs=1e-12)
        assert "Mean " in opened.page.text_content("#orders-caption")


def test_what_if_starts_from_rows_and_undoes_changes(open_report):
    table, y = mixed_table(40, seed=5)
    result = mixed()
    opened, facts = open_report(result, table, outputs=y)
    page, predicted = opened.page, result.predict(table)
    assert opened.prediction() == pytest.approx(predicted[0], abs=1e-12)
    assert "The model says" in page.text_content("#prediction")
    page.fill("#row", "23")
    page.keyboard.press("Enter")
    assert opened.prediction() == pytest.approx(predicted[22], abs=1e-12)
    page.get_by_role("button", name="Next").click()
    assert opened.prediction() == pytest.approx(predicted[23], abs=1e-12)
    other = (facts["rows"]["states"][23][0] + 1) % len(facts["inputs"][0]["states"])
    page.select_option("#input-0", str(other))
    assert opened.prediction() != pytest.approx(predicted[23], abs=1e-6)
    assert "by 1 change (started from" in page.text_content("#prediction")
    assert "was " in page.locator(".input.changed").text_content()
    page.get_by_role("button", name="Undo changes").click()
    assert opened.prediction() == pytest.approx(predicted[23], abs=1e-12)
    assert page.locator(".input.changed").count() == 0


@pytest.mark.parametrize("by", ["terms", "features"])
def test_the_waterfall_goes_from_the_mean_to_the_prediction(by, shared):
    result = mixed()
    opened, facts = shared
    set_by_hand(opened.page, facts["rows"]["states"][0])
    opened.page.select_option("#view-by", by)
    rows = opened.page.locator("#waterfall tbody tr").all()
    texts = [row.locator("th, td.numeric").all_text_contents() for row in rows]
    numbers = [float(text[1].replace("−", "-").replace("+", "").replace(",", "")) for text in texts]
    assert texts[0][0] == "mean" and texts[-1][0] == "prediction"
    assert numbers[0] == pytest.approx(float(result.base_value), rel=1e-5)
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=len(numbers) * 5e-3 * max(map(abs, numbers[1:-1])))
    if by == "features":
        at = facts["rows"]["numbers"][0]
        phi = dict(zip(result.players, result.shapley(result.rows.bits)[at], strict=True))
        found = {
            text[0].split(" ")[0]: x for text, x in zip(texts[1:-1], numbers[1:-1], strict=True) if "age" not in text[0]
        }
        assert found and all(x == pytest.approx(phi[name], rel=5e-3) for name, x in found.items())


def test_the_waterfall_of_a_change_sums_to_the_change(shared):
    opened, facts = shared
    page = opened.page
    page.select_option("#view-by", "terms")
    set_by_hand(page, facts["rows"]["states"][0])
    before = opened.prediction()
    page.select_option("#view-what", "change")
    states = [len(one["states"]) - 1 - s for one, s in zip(facts["inputs"], facts["rows"]["states"][0], strict=True)]
    set_by_hand(page, states)
    texts = [row.locator("th, td.numeric").all_text_contents() for row in page.locator("#waterfall tbody tr").all()]
    numbers = [float(text[1].replace("−", "-").replace("+", "").replace(",", "")) for text in texts]
    assert numbers[0] == pytest.approx(before, rel=1e-5)
    assert numbers[-1] == pytest.approx(opened.prediction(), rel=1e-5)
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=len(numbers) * 5e-3 * max(map(abs, numbers[1:-1])))
    page.select_option("#view-what", "value")


@pytest.mark.parametrize(
    ("unseen", "value", "words"),
    [("zero", 0, "count as zero"), ("nan", None, "not defined there"), ("error", None, "refused")],
)
def test_cells_never_observed_follow_the_policy(unseen, value, words, open_report):
    result = never_seen(unseen)
    opened, _ = open_report(result)
    set_by_hand(opened.page, [1, 1, 0, 0, 0])
    assert words in opened.page.text_content("#unseen")
    if value is None:
        assert math.isnan(opened.prediction())
    else:
        with pytest.warns(UserWarning, match="never observed"):
            expected = result.predict([[1, 1, 0, 0, 0]])
        assert opened.prediction() == pytest.approx(expected[0], abs=1e-12)
    set_by_hand(opened.page, [1, 0, 1, 0, 0])
    assert opened.page.text_content("#unseen") == ""
    assert opened.prediction() == pytest.approx(result.predict([[1, 0, 1, 0, 0]])[0], abs=1e-12)


def test_a_page_without_components_says_why(open_report, monkeypatch):
    monkeypatch.setattr("hoeffding.report.gather.MOST_NUMBERS", 1000)
    opened, _ = open_report(cube(12))
    assert "4,096 components with 531,441 values are too many for one page" in opened.page.text_content("#what-if")
    assert opened.page.locator("#importance-chart svg").count() > 0


def test_a_page_without_rows_ranks_by_shapley_effects(open_report):
    for result in (measure_only(), too_large()):
        opened, facts = open_report(result)
        assert facts["rows"] is None
        assert "no rows to average over" in opened.page.text_content("#importance-words")
        first = opened.rows_of("importance-table")[0]
        effects = result.shapley_effects()
        assert first[0] == result.players[int(np.argmax(effects))]
        assert first[1] == f"{100 * effects.max():.1f} %"


@pytest.mark.parametrize(
    "values", [[[3.0, 3.0], [3.0, 3.0]], [1.0, 2.0], [[[np.nan, 1.0], [0.0, 2.0]], [[0.0, 0.0], [4.0, 8.0]]]]
)
def test_functions_with_little_to_show_have_a_page(values, open_report):
    values = np.array(values)
    p = np.where(np.isnan(values), 0.0, np.arange(1, values.size + 1).reshape(values.shape))
    result = hoeffding.transform(values, p / p.sum())
    opened, _ = open_report(result)
    set_by_hand(opened.page, [1] * result.n_features)
    assert opened.prediction() == pytest.approx(result.predict([[1] * result.n_features])[0], abs=1e-14)


# -- names ------------------------------------------------------------------------------------------------------------


NAMES_OF_BITS = (HOSTILE, IMAGE, MARKED, "</title>", "2020-01-01", "17")


def test_hostile_names_are_text(open_report):
    values = np.random.default_rng(0).normal(size=(2,) * 6)
    for result in (hostile(), hoeffding.transform(values, feature_names=NAMES_OF_BITS)):
        opened, _ = open_report(result, title=HOSTILE, model=IMAGE, details={MARKED: IMAGE})
        page = opened.page
        assert page.locator("h1").text_content() == HOSTILE and page.title() == HOSTILE
        for k in range(min(page.locator("#term option").count(), 8)):
            page.select_option("#term", str(k))
        assert page.evaluate("document.querySelectorAll('img, iframe, object, embed').length") == 0
        shown = page.evaluate("document.body.innerText")
        assert IMAGE in shown and MARKED in shown
        labels = page.evaluate("[...document.querySelectorAll('#importance-chart text')].map(e => e.textContent)")
        first = result.players[int(np.argmax(result.importance()))]
        assert any(label.startswith(first[:20]) for label in labels)
        assert HOSTILE in hovered(page) or first != HOSTILE
        assert page.evaluate("document.querySelectorAll('.chart a, .chart b, .chart i').length") == 0


def hovered(page):
    """What the longest bar says under the pointer."""
    page.locator("#importance-chart").scroll_into_view_if_needed()
    box = page.locator("#importance-chart .bars path").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
    page.wait_for_selector("#importance-chart .hoverlayer text")
    return page.locator("#importance-chart .hoverlayer").text_content()


def test_a_name_that_became_code_would_not_run(open_report, tmp_path):
    """The page's policy is a second line: an event handler in the page, put there on purpose, stays silent."""
    opened, _ = open_report(mixed())
    opened.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')")
    opened.page.wait_for_timeout(300)
    assert opened.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for text in opened.complaints)
    opened.complaints.clear()
    opened.requests[:] = [url for url in opened.requests if not url.endswith("/x")]


def test_points_are_shaded_by_the_value_and_grey_where_it_is_missing(shared):
    opened, facts = shared
    k = [one["name"] for one in facts["inputs"]].index("age")
    at = range(0, facts["rows"]["shown"], 1)
    texts = [facts["inputs"][k]["states"][facts["rows"]["states"][r][k]]["text"] for r in at]
    assert "missing" in texts
    swarm = opened.page.evaluate("document.getElementById('swarm-chart').data.map(t => [t.text, t.marker.color])")
    points = [pair for text, shade in swarm if "age" in text[0] for pair in zip(text, shade, strict=True)]
    grey = {shade for text, shade in points if "missing" in text}
    assert len(grey) == 1
    assert len({shade for text, shade in points} - grey) == len(facts["inputs"][k]["states"]) - 1


# -- tables and keys --------------------------------------------------------------------------------------------------


def test_tables_sort_both_ways(shared):
    opened, _ = shared
    page = opened.page
    page.locator("#terms-table th button", has_text="structural").click()
    values = [float(row[4].removesuffix(" %").replace("−", "-")) for row in opened.rows_of("terms-table")]
    assert values == sorted(values, reverse=True) and len(set(values)) > 3
    assert page.locator("#terms-table th[aria-sort=descending]").text_content() == "structural"
    page.locator("#terms-table th button", has_text="structural").click()
    assert [float(row[4].removesuffix(" %").replace("−", "-")) for row in opened.rows_of("terms-table")] == values[::-1]
    page.locator("#terms-table th button").first.click()
    names = [row[0] for row in opened.rows_of("terms-table")]
    assert names == sorted(names) and page.locator("#terms-table th[aria-sort]").count() == 1


def test_tables_are_searched_and_shown_in_full(open_report):
    opened, facts = open_report(wide())
    page, n = opened.page, facts["outputs"][0]["terms"]["n"]
    assert len(opened.rows_of("terms-table")) == 15
    assert f"The 1,000 largest of {n:,} are listed" in page.text_content("#terms-table")
    page.locator("#terms-table input[type=search]").fill("X17 ×")
    expected = [t for t in facts["outputs"][0]["terms"]["listed"] if len(t["players"]) == 2 and t["players"][0] == 17]
    assert page.locator("#terms-table .status").text_content().startswith(f"{len(expected)} rows of 1,000")
    page.locator("#terms-table input[type=search]").fill("")
    page.locator("#terms-table button.more").click()
    assert page.locator("#terms-table tbody tr").count() == 1000
    page.locator("#terms-table input[type=search]").fill("nothing like this")
    assert page.locator("#terms-table tbody tr").count() == 0


def test_everything_is_reached_with_the_keyboard(shared):
    opened, _ = shared
    page = opened.page
    page.evaluate(
        "document.activeElement.blur(); window.scrollTo(0, 0); document.body.tabIndex = -1; document.body.focus()"
    )
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    reached = set()
    for _ in range(120):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent.slice(0, 30)"))
        if page.evaluate("document.activeElement.id") == "view-what":
            break
    assert {"term", "row", "input-0", "input-3", "view-by", "view-what", "Next", "structural"} <= reached
    page.locator("#input-0").focus()
    before = opened.prediction()
    page.keyboard.press("ArrowDown" if page.input_value("#input-0") == "0" else "ArrowUp")
    assert opened.prediction() != before
    page.locator("#sensitivity-table th button").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("#sensitivity-table th[aria-sort]").count() == 1


def test_what_has_a_meaning_has_a_name_for_screen_readers(open_report):
    opened, _ = open_report(mixed(3))
    page = opened.page
    unnamed = page.evaluate(
        """[...document.querySelectorAll('input, select, button, table, section, nav, .chart')]
            .filter(e => !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby'))
            .filter(e => !(e.labels && e.labels.length))
            .filter(e => !(e.tagName === 'BUTTON' && e.textContent.trim()) && !(e.tagName === 'TABLE' && e.caption))
            .map(e => e.outerHTML)"""
    )
    assert unnamed == []
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(e => e.tagName)")[:3] == ["H1", "H2", "H2"]


# -- looks ------------------------------------------------------------------------------------------------------------


def test_the_page_fits_every_width_and_its_text_stands_out(open_report):
    opened, _ = open_report(hostile())
    page = opened.page
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(100)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        colours = json.loads(page.evaluate(COLOURS))
        *others, paper = map(luminance, colours)
        contrasts = [(max(x, paper) + 0.05) / (min(x, paper) + 0.05) for x in others]
        assert all(c >= 4.5 for c in contrasts[:3]) and all(c >= 3 for c in contrasts[3:])  # WCAG: text, and shapes
        assert (paper < 0.1) == (scheme == "dark")
    assert page.locator(".chart svg.main-svg").count() >= 5


COLOURS = """JSON.stringify(['ink', 'muted', 'accent', 'minus', 'plus', 'paper'].map(name => {
    const probe = document.createElement('i');
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color.match(/[0-9]+/g).map(Number);
    probe.remove();
    return found;
}))"""


def luminance(rgb):
    """The relative luminance of WCAG 2."""
    c = np.array(rgb) / 255
    return float(np.where(c <= 0.03928, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def test_dark_pages_print_on_white(open_report, tmp_path):
    opened, _ = open_report(mixed(), options={"color_scheme": "dark"})
    page = opened.page
    ink = "getComputedStyle(document.body).color"
    dark = page.evaluate(ink)
    label = "getComputedStyle(document.querySelector('#orders-chart text')).fill"
    assert page.evaluate(label) == dark
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    printed = page.evaluate(ink)
    assert printed != dark and page.evaluate(label) == printed
    assert page.evaluate("getComputedStyle(document.querySelector('.controls')).display") == "none"
    assert page.evaluate("[...document.querySelectorAll('details')].every(e => e.open)")
    widths = page.evaluate(
        "[...document.querySelectorAll('.chart svg.main-svg')].map(e => e.getBoundingClientRect().width)"
    )
    assert len(widths) >= 5 and max(widths) <= 680  # what fits between the margins of A4
