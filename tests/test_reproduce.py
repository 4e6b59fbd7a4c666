"""The reproduction: its arithmetic against closed forms and definitions, its command, how a page is written."""

from itertools import combinations, product

import numpy as np
import pytest

import hoeffding
from hoeffding import reproduce
from hoeffding.basis import design_matrix
from hoeffding.measure import Empirical
from hoeffding.reproduce import attributions, beyond, cache, page, pipeline, sites, tables, wording
from hoeffding.reproduce.__main__ import run
from hoeffding.reproduce.blocks import Figure, Heading, Items, Table, Text, to_html, to_markdown
from hoeffding.subsets import SubsetFamily


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def dependent_rows(rng, n=300, d=5):
    X = rng.integers(0, 2, (n, d)).astype(np.uint8)
    X[:, 1] |= X[:, 0]
    return np.unique(X, axis=0)


# -- pipeline ---------------------------------------------------------------------------------------------------------


def test_the_matrix_of_the_pipeline_is_that_of_the_formula(rng):
    X = dependent_rows(rng)
    sets, Psi = pipeline.design_matrix(X, 2)
    family = SubsetFamily.up_to_order(5, 2)
    assert sets == list(family)
    assert np.abs(Psi - design_matrix(Empirical(X), family, X)).max() < 1e-13


def test_the_pipeline_and_ours_solve_the_same_problem(rng):
    X = dependent_rows(rng)
    task = pipeline.Task(X, X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X)), 2, 1e-3)
    theirs = pipeline.published(task, tol=1e-12, max_iter=100_000)
    mine = pipeline.ours(task, "paper", tol=1e-12).decomposition_
    assert theirs.converged
    assert np.abs(theirs.coefficients[1:] - mine.coefficients[1:]).max() < 1e-6
    assert pipeline.r2(task, theirs) == pytest.approx(mine.fidelity, abs=1e-9)


# -- attributions -----------------------------------------------------------------------------------------------------


def test_shares_sum_to_one_and_local_attributions_to_a_signed_one(rng):
    phi = rng.normal(size=(7, 4))
    assert attributions.shares(phi).sum() == pytest.approx(1)
    assert np.abs(attributions.normalised(phi[0])).sum() == pytest.approx(1)
    assert attributions.rank_correlation(np.array([1.0, 2, 3]), np.array([9.0, 4, 1])) == -1


# -- hierarchical orthogonality ---------------------------------------------------------------------------------------


def brute_force_failures(X, order):
    """Pairs T in S with a function of X_T that psi_S is not orthogonal to, by their definition."""
    n, d = X.shape
    count = 0
    for size in range(order + 1):
        for S in combinations(range(d), size):
            value = pipeline.psi(X, S)
            for T in (T for t in range(size) for T in combinations(S, t)):
                cells = [(X[:, T] == z).all(axis=1) for z in product((0, 1), repeat=len(T))]
                count += any(abs(value[cell].sum() / n) > 1e-12 for cell in cells)
    return count


@pytest.mark.parametrize("order", [1, 2, 3])
def test_failing_pairs_are_counted_as_defined(rng, order):
    X = dependent_rows(rng, 12)
    X = X[:, X.min(axis=0) < X.max(axis=0)]
    measure, expected = Empirical(X), brute_force_failures(X, order)
    family = SubsetFamily.up_to_order(X.shape[1], order)
    assert sum(tables._failing(measure, level).sum() for level in family.levels) == expected
    assert order == 1 or expected > 0
    kept = measure.shattered(order)
    assert sum(tables._failing(measure, level).sum() for level in kept.levels) == 0


def test_the_worst_component_is_zero_for_shattered_sets_only(rng):
    X = dependent_rows(rng)
    task = pipeline.Task(X, rng.normal(size=len(X)), 2, 1e-3)
    worst = {}
    for family in ("paper", "shattered"):
        result = pipeline.ours(task, family, tol=1e-10).decomposition_
        worst[family] = tables._worst(result.measure, result.parts)
    assert worst["shattered"] < 1e-14 and worst["paper"] > 1e-3


# -- what the rows determine ------------------------------------------------------------------------------------------


def one_hot_rows(rng, n=200):
    """Two variables of three values, three bits each, and one free bit."""
    codes = rng.integers(0, 3, (n, 2))
    bits = (codes[:, :, None] == np.arange(3)).reshape(n, 6)
    return np.unique(np.column_stack([bits, rng.integers(0, 2, n)]).astype(np.uint8), axis=0)


@pytest.mark.parametrize("order", [1, 2])
def test_the_null_space_is_that_of_the_matrix_of_functions(rng, order):
    X = one_hot_rows(rng)
    family = Empirical(X).shattered(order)
    Psi = design_matrix(Empirical(X), family)[:, 1:]
    Psi /= np.sqrt(np.mean(Psi**2, axis=0))
    null, G = beyond.null_space(X, family)
    assert null.shape[1] == len(family) - 1 - np.linalg.matrix_rank(Psi) > 0
    assert np.abs(Psi @ null).max() < 1e-6 and np.abs(null.T @ null - np.eye(null.shape[1])).max() < 1e-12
    assert np.abs(G - Psi.T @ Psi / len(Psi)).max() < 1e-12


def test_bits_of_one_variable_are_determined_only_together(rng):
    # All 3 x 3 x 2 combinations: independent variables, whose joint components of order one are unique.
    X = np.array(
        [[*(a == k for k in range(3)), *(b == k for k in range(3)), c] for a, b, c in product(*map(range, (3, 3, 2)))]
    )
    X = X.astype(np.uint8)
    family = Empirical(X).shattered(1)
    null, G = beyond.null_space(X, family)
    groups = [("a", (0, 1, 2)), ("b", (3, 4, 5)), ("c", (6,))]
    free = np.abs(null).max(axis=1) > 1e-9
    assert free.tolist() == [True] * 6 + [False]
    assert beyond._by_variables(family, groups, null, G) == {"variables": 3, "identified_variables": 3}
    # If b says what a says, neither is determined.
    X[:, 3:6] = X[:, :3]
    X = np.unique(X, axis=0)
    null, G = beyond.null_space(X, family)
    assert beyond._by_variables(family, groups, null, G) == {"variables": 3, "identified_variables": 1}


# -- sites ------------------------------------------------------------------------------------------------------------


def site_data(rng, shape, kept):
    cells = np.array(list(product(*map(range, shape))))
    chosen = np.sort(rng.choice(len(cells), kept, replace=False))
    return cells[chosen], rng.normal(size=kept)


@pytest.mark.parametrize(("shape", "kept"), [((3, 4, 2), 24), ((3, 4, 2), 20), ((3, 3, 3, 3), 70), ((5,), 4)])
def test_site_components_add_up_and_are_orthogonal_to_functions_of_fewer_sites(rng, shape, kept):
    codes, f = site_data(rng, shape, kept)
    found = sites.components(codes, f)
    assert np.abs(sum(values for _, values in found) - f).max() < 1e-10
    for U, values in found:
        for T in (T for t in range(len(U)) for T in combinations(U, t)):
            assert np.abs(np.bincount(sites._cells(codes, T), values)).max() < 1e-9, (U, T)
        assert len(np.unique(sites._cells(codes, U))) >= len(np.unique(values.round(9)))
    assert sum(sites.shares(codes, f).values()) == pytest.approx(1, abs=1e-10)


def test_site_components_of_bits_are_those_of_the_transform(rng):
    # all cells but those of 11?, so that the measure is dependent and the decomposition unique
    codes = np.array([cell for cell in product((0, 1), repeat=3) if cell[:2] != (1, 1)])
    f = rng.normal(size=len(codes))
    values = np.full((2, 2, 2), np.nan)
    values[tuple(codes.T)] = f
    result = hoeffding.transform(values, Empirical(codes))
    assert result.unique
    expected = dict(zip(result.subsets, result.components(codes).T, strict=True))
    for U, found in sites.components(codes, f):
        assert np.abs(found - expected.get(U, 0.0)).max() < 1e-10


def test_another_choice_among_site_decompositions_is_another_only_if_there_are_several(rng):
    codes, f = site_data(rng, (3, 4, 2), 24)
    one, other = sites.shares(codes, f), sites.shares(codes, f, np.random.default_rng(1))
    assert all(one[U] == pytest.approx(other[U], abs=1e-9) for U in one)
    codes, f = site_data(rng, (3, 4, 2), 12)
    one, other = sites.shares(codes, f), sites.shares(codes, f, np.random.default_rng(1))
    assert max(abs(one[U] - other[U]) for U in one) > 1e-3
    assert one[0, 1, 2] == pytest.approx(other[0, 1, 2], abs=1e-9)  # the largest set has no choice


def test_equal_rows_with_different_values_are_refused():
    with pytest.raises(ValueError, match="equal rows must have equal values"):
        sites.components(np.array([[0, 1], [0, 1]]), np.array([1.0, 2.0]))


# -- cache ------------------------------------------------------------------------------------------------------------


def test_arrays_are_computed_once_for_the_same_content(monkeypatch, tmp_path):
    monkeypatch.setenv("HOEFFDING_CACHE", str(tmp_path))
    calls = []

    def compute():
        calls.append(1)
        return {"a": np.arange(3.0), "b": np.array(len(calls))}

    for content in ([{"x": 1}, np.ones(2)], [{"x": 1}, np.ones(2)], [{"x": 2}, np.ones(2)], [{"x": 1}, np.ones(3)]):
        found = cache.kept("name", content, compute)
    assert len(calls) == 3 and found["b"] == 3 and found["a"].tolist() == [0, 1, 2]
    assert cache.digest([np.ones(2)]) != cache.digest([np.ones(2, np.float32)])


def test_what_the_cache_saved_is_counted(monkeypatch, tmp_path):
    monkeypatch.setenv("HOEFFDING_CACHE", str(tmp_path))

    def ask():
        with cache.counted() as costs:
            found = cache.kept("name", ["content"], lambda: {"a": np.arange(3.0)})
        assert list(found) == ["a"]
        (cost,) = costs.values()
        return cost

    first, second = ask(), ask()
    assert not first["reused"] and second["reused"] and first["seconds"] == second["seconds"] > 0


# -- page -------------------------------------------------------------------------------------------------------------


def test_blocks_become_markdown_and_html():
    blocks = [Heading("A & B", 1), Text("a < b"), Table(["x", "y"], [["1|2", "<3>"]]), Figure("f.png", "a figure")]
    blocks += [Items(["one, `two < 3`", "four"])]
    markdown, html = to_markdown(blocks), to_html(blocks)
    assert markdown.startswith("# A & B\n\na < b\n\n| x | y |\n| :-- | --: |\n| 1\\|2 | <3> |")
    assert "![a figure](f.png)" in markdown and "\n- one, `two < 3`\n- four\n" in markdown
    assert "<ul><li>one, <code>two &lt; 3</code></li><li>four</li></ul>" in html
    assert "<title>A &amp; B</title>" in html and "<td>&lt;3&gt;</td>" in html and '<img src="f.png"' in html


def test_pages_grow_in_pieces(tmp_path):
    assert page.read(tmp_path) == {}
    page.save({"B": {"d": 35}}, tmp_path / "new")
    page.save(page.read(tmp_path / "new") | {"A": {"d": 13}}, tmp_path / "new")
    assert list(page.read(tmp_path / "new").items()) == [("A", {"d": 13}), ("B", {"d": 35})]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"version": 0, "data_sets": {}}', '{"version": 1}'])
def test_what_is_no_page_is_refused(tmp_path, content):
    (tmp_path / "facts.json").write_text(content)
    with pytest.raises(ValueError, match=r"facts\.json: not the facts of a page of this version; delete the folder"):
        page.read(tmp_path)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"mean": 0.0340361, "deviation": 0.00725}, "0.0340 ± 0.0073"),
        ({"mean": 117.657, "deviation": 8.83}, "118 ± 9"),
        ({"mean": 0.00230012, "deviation": None}, "0.00230"),
        (None, "-"),
    ],
)
def test_times_are_said_with_three_digits(found, said):
    assert wording.seconds_of(found) == said


def test_single_runs_are_said_with_two_digits():
    assert [wording.seconds_of_one(s) for s in (0.0123, 3.456, 289.6)] == ["0.012", "3.5", "290"]


def test_short_times_are_said_in_seconds():
    assert [wording.minutes(s) for s in (3.2, 89, 91, 1500)] == ["3 seconds", "89 seconds", "2 minutes", "25 minutes"]


@pytest.mark.parametrize(
    ("only", "quick", "message"),
    [
        (["A", "X"], False, r"only=\['A', 'X'\]: expected some of A, B, C, D, E, F"),
        ([], False, r"only=\[\]"),
        (["A"], True, "quick=True means only="),
    ],
)
def test_data_sets_that_there_are_not(only, quick, message):
    with pytest.raises(ValueError, match=message):
        reproduce.read_keys(only, quick)


def test_data_sets_asked_for():
    assert reproduce.read_keys(None, False) == tuple("ABCDEF")
    assert reproduce.read_keys(None, True) == tuple("ABE")
    assert reproduce.read_keys(["E", "B", "E"], False) == ("E", "B")


def test_a_mistake_is_one_line(capsys):
    assert run("Q", quick=False, output="nowhere") == 2
    assert capsys.readouterr().err == "hoeffding: only=['Q']: expected some of A, B, C, D, E, F\n"
