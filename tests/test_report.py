"""Reports: the facts are those of the decomposition, nothing is lost on the way into a file, and names stay names."""

import base64
import hashlib
import json
import re
import sys

import numpy as np
import pytest
from hypothesis import given

import hoeffding
from hoeffding.bits import BitMatrix
from hoeffding.report import gather, inputs, rows
from hoeffding.report.gather import plain
from reports import HOSTILE, IMAGE, MARKED, cube, hostile, measure_only, mixed, mixed_table, never_seen, wide
from strategies import EPS, random_pmf, seeds

REPORTS = {
    "mixed": mixed,
    "several outputs": lambda: mixed(3),
    "hostile": hostile,
    "cube": cube,
    "never seen": never_seen,
    "measure only": measure_only,
    "constant": lambda: hoeffding.transform(np.full((2, 2), 3.0)),
    "one output constant": lambda: hoeffding.decompose(
        np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]]), np.array([[0, 1], [1, 0], [1, 1]])
    ),
    "one feature": lambda: hoeffding.transform([1.0, 2.0], [0.3, 0.7]),
}


@pytest.fixture(params=REPORTS, scope="module")
def result(request):
    return REPORTS[request.param]()


def value_at(components, x, n_outputs):
    """The sum of all components kept in facts, at one row of bits."""
    if components["kind"] == "cube":
        d = len(x)
        beta = np.array(components["coefficients"]).reshape(n_outputs, *(2,) * d)
        p = np.array(components["pmf"]).reshape((2,) * d)
        for i, bit in enumerate(x):
            p = np.stack([p.sum(axis=i), (-1.0) ** bit * 2 * p.take(bit, axis=i)], axis=i)
        return (beta / p).reshape(n_outputs, -1).sum(axis=1)
    total = np.zeros(n_outputs)
    for s, table in zip(components["sets"], components["values"], strict=True):
        cell = int("".join(str(x[i]) for i in s) or "0", 2)
        total += [output[cell] or 0.0 for output in table]
    return total


# -- facts ------------------------------------------------------------------------------------------------------------


def test_facts_are_plain_and_survive_json(result):
    facts = hoeffding.report.facts(result, n_resamples=5)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_facts_are_those_of_the_decomposition():
    result = mixed(3)
    facts = hoeffding.report.facts(result, n_resamples=5)
    assert [output["name"] for output in facts["outputs"]] == ["output 0", "output 1", "output 2"]
    assert [p["name"] for p in facts["players"]] == list(result.players) == ["colour", "age", "member", "rooms"]
    columns = {
        "share_by_order": result.share_by_order(),
        "mean": result.base_value,
        "variance": result.variance().of_f,
    }
    for o, output in enumerate(facts["outputs"]):
        for name, values in columns.items():
            np.testing.assert_array_equal(output[name], values[..., o])
        np.testing.assert_allclose(output["importance"]["value"], result.importance()[:, o], rtol=1e-13)
        np.testing.assert_array_equal(output["sensitivity"]["total"], result.sobol().total[:, o])
        np.testing.assert_array_equal(output["sensitivity"]["shapley_effect"], result.shapley_effects()[:, o])


@given(seeds)
def test_terms_and_interactions_are_sums_over_components(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    result = hoeffding.transform(rng.normal(size=(2,) * d), random_pmf(rng, d, "full"), groups={"first two": [0, 1]})
    output = hoeffding.report.facts(result)["outputs"][0]
    share, player_of = result.variance().share, [0, 0, *range(1, d - 1)]
    for term in output["terms"]["listed"]:
        same = [j for j, s in enumerate(result.subsets) if sorted({player_of[i] for i in s}) == term["players"]]
        assert term["components"] == len(same)
        np.testing.assert_allclose(term["share"], share[same].sum(), atol=1e-12)
    for pair in output["interactions"]["listed"]:
        both = [j for j, s in enumerate(result.subsets) if set(pair["players"]) <= {player_of[i] for i in s}]
        np.testing.assert_allclose(pair["share"], share[both].sum(), atol=1e-12)
    assert output["interactions"]["n"] == (d - 1) * (d - 2) // 2
    np.testing.assert_allclose(sum(term["share"] for term in output["terms"]["listed"]), 1.0, atol=1e-11)


def test_the_components_kept_add_up_to_predict(result):
    facts = hoeffding.report.facts(result, n_resamples=0)
    n_outputs = len(facts["outputs"])
    x = np.random.default_rng(0).integers(0, 2, (20, result.n_features))
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)  # rows never seen are counted elsewhere
        expected = result.predict(BitMatrix.from_rows(x)).reshape(20, n_outputs)
    sizes = np.abs(expected).max() + np.abs(np.nan_to_num(np.asarray(result.coefficients))).max()
    found = [value_at(facts["components"], row, n_outputs) for row in x.tolist()]
    np.testing.assert_allclose(found, expected, atol=EPS * 64 * len(result.family) * sizes)


def test_small_cubes_are_kept_as_tables_and_large_ones_by_their_coefficients(monkeypatch):
    assert hoeffding.report.facts(cube(8))["components"]["kind"] == "tables"
    assert hoeffding.report.facts(cube())["components"]["kind"] == "cube"
    monkeypatch.setattr(gather, "MOST_NUMBERS", 1000)
    found = hoeffding.report.facts(cube(12))["components"]
    assert found == {"kind": "none", "reason": "4,096 components with 531,441 values are too many for one page"}


def test_zero_components_are_left_out():
    found = hoeffding.report.facts(hoeffding.transform([[0.0, 0.0], [1.0, 1.0]]))["components"]
    assert found["sets"] == [[], [0]]
    assert found["values"] == [[[0.5]], [[-0.5, 0.5]]]


# -- rows -------------------------------------------------------------------------------------------------------------


def test_rows_are_shown_by_their_states_and_come_back_as_bits():
    for result in (mixed(), hostile(), cube(8)):
        sample = rows.rows_of_measure(result)
        facts = hoeffding.report.facts(result, n_resamples=0, max_rows=150)
        at, bits = facts["rows"]["numbers"], sample.bits.to_rows()
        assert facts["rows"]["n"] == len(bits) and facts["rows"]["shown"] == len(at) == 150
        assert at[0] == 0 and at[-1] == len(bits) - 1
        for r, states in zip(at, facts["rows"]["states"], strict=True):
            back = np.zeros(result.n_features, int)
            for one, state in zip(facts["inputs"], states, strict=True):
                back[one["features"]] = one["states"][state]["bits"]
            assert np.array_equal(back, bits[r])
        np.testing.assert_allclose(
            facts["rows"]["predictions"], result.predict(sample.bits.take(np.array(at)))[:, None]
        )


def test_inputs_have_the_words_of_the_encoding_and_probabilities():
    table, _ = mixed_table()
    found = {one["name"]: one for one in hoeffding.report.facts(mixed(), n_resamples=0)["inputs"]}
    states = {state["text"]: state["probability"] for state in found["colour"]["states"]}
    assert states == pytest.approx(table.colour.value_counts(normalize=True).to_dict())
    assert [state["text"] for state in found["age"]["states"]][-1] == "missing" and found["age"]["ordered"]
    assert not found["colour"]["ordered"]
    assert sum(state["probability"] for state in found["age"]["states"]) == pytest.approx(1)


def test_groups_without_an_encoding_offer_the_patterns_that_occur():
    x = np.array([[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0]])
    measure = hoeffding.Empirical(x)
    values = np.zeros((2,) * 4)
    values[tuple(x.T)] = np.arange(5)
    names = ["hue=red", "hue=green", "hue=blue", "big"]
    result = hoeffding.transform(values, measure, feature_names=names, groups={"hue": [0, 1, 2]})
    hue, big = hoeffding.report.facts(result)["inputs"]
    assert [state["text"] for state in hue["states"]] == ["green", "none", "red"]
    assert [state["bits"] for state in hue["states"]] == [[0, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert [state["text"] for state in big["states"]] == ["0", "1"]


def test_a_group_with_too_many_patterns_is_set_bit_by_bit():
    bits = BitMatrix.from_rows(np.random.default_rng(0).integers(0, 2, (500, 12)))
    y = bits.to_rows().sum(axis=1).astype(float)
    result = hoeffding.decompose(y, bits.to_rows(), order=1, groups={"all": range(11)})
    assert len(inputs.inputs_of(result, bits)) == 12
    assert {one.player for one in inputs.inputs_of(result, bits)} == {0, 1}


@given(seeds)
def test_patterns_are_the_distinct_rows(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 80)), int(rng.integers(1, 20))
    x = (rng.random((n, d)) < rng.random(d)).astype(np.uint8)
    patterns, inverse = inputs._patterns(BitMatrix.from_rows(x), tuple(range(d)))
    assert patterns == sorted({tuple(row) for row in x.tolist()})
    assert [patterns[k] for k in inverse] == [tuple(row) for row in x.tolist()]


def test_rows_given_are_averaged_over_and_their_remainders_stated():
    table, y = mixed_table(100, seed=9)
    facts = hoeffding.report.facts(mixed(), table, outputs=y, model="the rule", details={"Rows": "held out"})
    np.testing.assert_allclose(facts["outputs"][0]["importance"]["value"], mixed().importance(table), rtol=1e-12)
    rest = y - mixed().predict(table)
    assert facts["fidelity"]["at_rows"] == {
        "rows": 100,
        "largest": [pytest.approx(np.abs(rest).max())],
        "root_mean_square": [pytest.approx(np.sqrt((rest**2).mean()))],
    }
    np.testing.assert_allclose(np.ravel(facts["rows"]["remainders"]), rest, atol=1e-12)
    assert facts["model"] == "the rule" and facts["details"] == [["Rows", "held out"]]


# -- the bootstrap ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [64, 128, 10_000])
def test_resamples_drawn_piece_by_piece_have_as_many_rows_as_the_data(chunk):
    n, chances = 500, np.random.default_rng(0).dirichlet(np.ones(500))
    drawing = rows._Drawing(chances, n, np.random.default_rng(1), 300, own=True)
    pieces = [drawing.weights(a, np.ones(min(chunk, n - a))) for a in range(0, n, chunk)]
    counts = np.concatenate(pieces, axis=1)
    assert counts.shape == (300, n) and (counts.sum(axis=1) == n).all()
    error = np.sqrt(n * chances / 300)  # of a mean of 300 binomials, almost Poisson
    assert (np.abs(counts.mean(axis=0) - n * chances) < 5 * error + 1e-9).all()


def test_intervals_are_those_of_the_bootstrap_of_the_package():
    result, count = mixed(), 2000
    phi = np.abs(result.shapley(result.rows.bits))
    shares = lambda w: (w @ phi) / (w @ phi).sum()  # noqa: E731
    other = hoeffding.bootstrap(lambda w: w, len(phi), shares, rng=1, n_resamples=count)
    found = hoeffding.report.facts(result, n_resamples=count)["outputs"][0]["importance"]
    np.testing.assert_allclose(found["value"], other.value, rtol=1e-12)
    # A quantile at 2.5 % of 2,000 normal draws has a standard error of 0.06 deviations; there are two; five times that.
    tolerance = 5 * np.sqrt(2) * 0.06 * other.standard_error
    assert (np.abs(np.array(found["low"]) - other.low) < tolerance).all()
    assert (np.abs(np.array(found["high"]) - other.high) < tolerance).all()


def test_merged_rows_are_drawn_as_often_as_they_occur():
    x = np.array([[0, 0]] * 178 + [[0, 1]] * 10 + [[1, 0]] * 6 + [[1, 1]] * 6)
    values = np.array([[0.0, 1.0], [3.0, 5.0]])
    merged = hoeffding.transform(values, hoeffding.Empirical(x))
    found = hoeffding.report.facts(merged, n_resamples=2000)["outputs"][0]["importance"]
    phi = np.abs(merged.shapley(x))
    other = hoeffding.bootstrap(lambda w: w, 200, lambda w: (w @ phi) / (w @ phi).sum(), rng=2, n_resamples=2000)
    tolerance = 5 * np.sqrt(2) * 0.06 * other.standard_error
    assert (np.abs(np.array(found["low"]) - other.low) < tolerance).all()
    assert (np.abs(np.array(found["high"]) - other.high) < tolerance).all()


def test_a_known_measure_has_importance_but_no_intervals():
    facts = hoeffding.report.facts(hoeffding.transform([[0.0, 1.0], [2.0, 5.0]], [[0.4, 0.1], [0.1, 0.4]]))
    importance = facts["outputs"][0]["importance"]
    assert facts["intervals"] is None and importance["low"] is None and sum(importance["value"]) == pytest.approx(1)
    assert hoeffding.report.facts(measure_only())["outputs"][0]["importance"] is None


# -- arguments --------------------------------------------------------------------------------------------------------


def test_wrong_arguments_are_named():
    table, y = mixed_table(50)
    with pytest.raises(ValueError, match="outputs: are those at the rows of X"):
        hoeffding.report.facts(mixed(), outputs=y)
    with pytest.raises(ValueError, match=r"outputs: expected .* shape \(50,\), got \(49,\)"):
        hoeffding.report.facts(mixed(), table, outputs=y[1:])
    with pytest.raises(ValueError, match="X: expected at least one row"):
        hoeffding.report.facts(mixed(), table[:0])
    with pytest.raises(ValueError, match="max_rows"):
        hoeffding.report.facts(mixed(), max_rows=0)


def test_the_model_is_named_by_words_or_by_its_class():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    names = [hoeffding.report.facts(cube(8), model=m, n_resamples=0)["model"] for m in (None, "words", np.cos)]
    assert names == [None, "words", "cos"]
    assert gather._model_name(make_pipeline(LogisticRegression())) == "LogisticRegression"


# -- files ------------------------------------------------------------------------------------------------------------


def written(result, path, **arguments):
    hoeffding.report.write(hoeffding.report.facts(result, n_resamples=5), path, **arguments)
    return path.read_text(encoding="utf-8")


def test_json_is_the_facts(tmp_path):
    facts = hoeffding.report.facts(mixed())
    hoeffding.report.write(facts, tmp_path / "facts.json")
    again = json.loads((tmp_path / "facts.json").read_text(encoding="utf-8"))
    assert again == facts
    hoeffding.report.write(again, tmp_path / "again.html")  # facts that were read back make the same page
    hoeffding.report.write(facts, tmp_path / "first.html")
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "first.html").read_bytes()


def test_files_that_cannot_be_written_are_named_and_nothing_is_left(tmp_path):
    facts = hoeffding.report.facts(cube(8), n_resamples=0)
    with pytest.raises(ValueError, match=r"must end in \.html, \.htm, \.md, \.json"):
        hoeffding.report.write(facts, tmp_path / "report.pdf")
    with pytest.raises(ValueError, match="plotlyjs='inline': must be 'embed' or 'cdn'"):
        hoeffding.report.write(facts, tmp_path / "report.html", plotlyjs="inline")
    with pytest.raises(ValueError, match=r"facts: expected what hoeffding\.report\.facts"):
        hoeffding.report.write({}, tmp_path / "report.html")
    with pytest.raises(OSError, match="cannot write the report: No such file or directory"):
        hoeffding.report.write(facts, tmp_path / "nowhere" / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_a_page_without_its_packages_says_what_to_install(package, tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'hoeffding\[app\]'"):
        written(cube(8), tmp_path / "report.html")
    assert "# What a function is made of" in written(cube(8), tmp_path / "report.md")


def test_a_page_of_all_pairs_of_200_features_is_small(tmp_path):
    facts = hoeffding.report.facts(wide(), n_resamples=20)
    assert len(facts["components"]["sets"]) == 1 + 200 + 200 * 199 // 2
    for plotlyjs, most in (("embed", 6e6), ("cdn", 3e6)):
        hoeffding.report.write(facts, tmp_path / "report.html", plotlyjs=plotlyjs)
        assert (tmp_path / "report.html").stat().st_size < most


def test_numbers_keep_every_bit_on_the_way_into_the_page(tmp_path):
    text = written(mixed(), tmp_path / "report.html")
    packed = json.loads(re.search(r'id="components">(.*?)</script>', text).group(1))
    values = np.frombuffer(base64.b64decode(packed["values"]), "<f8")
    assert np.array_equal(values, np.concatenate([t[(t != 0).any(axis=(1, 2))].ravel() for t in mixed().parts.tables]))


def test_hostile_names_are_escaped_everywhere(tmp_path):
    text = written(hostile(), tmp_path / "report.html")
    body = re.sub(r"<script>'use strict'.*?</script>", "", text, flags=re.DOTALL)
    for name in (HOSTILE, IMAGE, MARKED, "</script><", "<!--", "onerror=alert(2)>"):
        assert name not in body
    assert text.count("</script>") == text.count("<script")
    names = json.loads(re.search(r'id="facts">(.*?)</script>', text).group(1))["players"]
    assert [player["name"] for player in names] == [HOSTILE, IMAGE, MARKED, "</title>"]
    plain_text = written(hostile(), tmp_path / "report.md")
    assert HOSTILE not in plain_text and "\\<script\\>alert(1)\\</script\\>" in plain_text
    rows_of_tables = [line for line in plain_text.splitlines() if "\\`c\\`" in line]
    assert rows_of_tables and all(re.sub(r"\\.", "", line).count("|") in (4, 5) for line in rows_of_tables)


def test_a_title_is_text(tmp_path):
    facts = hoeffding.report.facts(cube(8), model=IMAGE, title=HOSTILE, details={MARKED: HOSTILE}, n_resamples=0)
    hoeffding.report.write(facts, tmp_path / "report.html")
    assert HOSTILE not in (tmp_path / "report.html").read_text(encoding="utf-8").split("'use strict'")[0]


def test_the_page_runs_no_script_but_its_own(tmp_path):
    from plotly.offline import get_plotlyjs

    text = written(cube(8), tmp_path / "report.html")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    script = re.search(r"<script>('use strict'.*?)</script>", text, flags=re.DOTALL).group(1)
    for code in (script, get_plotlyjs()):
        assert f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "http" not in policy
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', text.split("'use strict'")[0]) == []


def test_a_page_with_the_library_of_the_network_names_version_and_checksum(tmp_path):
    import plotly.io
    from plotly.graph_objects import Figure

    text = written(cube(8), tmp_path / "report.html", plotlyjs="cdn")
    theirs = plotly.io.to_html(Figure(), include_plotlyjs="cdn")
    address, checksum = re.search(r'src="(https://cdn[^"]*)" integrity="([^"]*)"', theirs).groups()
    assert f'<script src="{address}" integrity="{checksum}" crossorigin="anonymous"' in text
    assert len(text) < 300_000


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_has_a_page_of_each_kind(name, tmp_path):
    result = REPORTS[name]()
    for ending in ("html", "md", "json"):
        text = written(result, tmp_path / f"report.{ending}")
        assert "nan" not in re.sub(r"[A-Za-z0-9+/=]{60,}", "", text.split("'use strict'")[0]).lower().split()


def test_plain_numbers():
    assert plain(np.array([[1.0, np.nan], [np.inf, 0.1234567]]), 3) == [[1.0, None], [None, 0.123]]
