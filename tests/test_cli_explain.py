"""``hoeffding explain`` and ``hoeffding demo``: what they print is what the facts say, and mistakes are one line."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from typer.testing import CliRunner

import hoeffding
from hoeffding import cli
from hoeffding.cli import training
from hoeffding.cli.given import Given
from hoeffding.cli.summary import clean, percent
from hoeffding.datasets import load_demo

RNG = np.random.default_rng(1)
N = 400


def mixed(n=N):
    """Text with gaps, booleans, whole numbers, numbers with gaps, an identifier; a target of two columns together."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "name": [f"person {i}" for i in range(n)],
            "town": rng.choice(["Lyon", "Nice", "Metz", None], n),
            "member": rng.random(n) < 0.4,
            "children": rng.integers(0, 5, n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
        }
    )
    table["spends"] = 10.0 * (table["town"] == "Nice") * table["member"] + 0.1 * table["age"].fillna(40)
    table["buys"] = np.where(table["spends"] > 6, "yes", "no")
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables")
    mixed().to_csv(path / "mixed.csv", index=False)
    mixed().to_parquet(path / "mixed.parquet")
    mixed().to_feather(path / "mixed.feather")
    return path


def explain(*arguments):
    """Run the command; output of a mistake is what main prints."""
    done = CliRunner().invoke(cli._build_app(), ["explain", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def facts_of(*arguments):
    done = explain(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def details(facts):
    return dict(facts["details"])


# -- a model trained here ----------------------------------------------------------------------------------------------


def test_a_table_alone_is_enough(folder, tmp_path):
    done = explain(folder / "mixed.csv", "--target", "spends", "--drop", "buys", "-o", tmp_path / "report.md")
    assert done.exit_code == 0, done.output
    assert "R2 = 1" in done.output and "town × member" in done.output
    assert "columns left out  name (400 different texts in 400 rows)" in done.output
    score = float(re.search(r"held out +R2 = ([\d.]+)", done.output)[1])
    assert score > 0.95, "the target is a function of three columns"
    assert f"Written: {tmp_path / 'report.md'}" in done.output.replace("\n", "")
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("# What spends depends on in mixed.csv")


def test_every_kind_of_file_gives_the_same_facts(folder):
    facts = [facts_of(folder / f"mixed.{kind}", "--target", "buys", "--drop", "spends") for kind in ("csv", "parquet")]
    for found in facts:
        found.pop("details"), found.pop("title")
    assert facts[0] == facts[1]


def test_the_players_are_the_columns_and_the_components_add_up(folder):
    facts = facts_of(folder / "mixed.csv", "--target", "buys", "--drop", "spends")
    assert [player["name"] for player in facts["players"]] == ["town", "member", "children", "age"]
    assert facts["engine"]["name"] == "sparse" and facts["fidelity"]["r2"] == pytest.approx(1, abs=1e-12)
    assert sum(facts["outputs"][0]["share_by_order"]) == pytest.approx(1, abs=1e-9)
    assert details(facts)["Explained"] == "log-odds of buys = yes"


def test_the_score_is_of_rows_that_training_did_not_see():
    """Of noise nothing can be learnt, though trees fit the rows they see."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.random((600, 5)), columns=list("abcde"))
    y = pd.Series(rng.random(600), name="y")
    found = training.train(X, y, task="numbers", bins=16, seed=0)
    held_out = float(re.match(r"R2 = (-?[\d.]+)", found.scores)[1])
    assert held_out < 0.05 and found.model.score(X, y) > held_out + 0.3


def test_what_an_encoding_merges_and_drops_is_stated(tmp_path):
    table = mixed(1000)[["member", "spends"]]
    table["shop"] = [f"shop {min(i, 150 + i % 7)}" for i in range(1000)]
    table["planet"], table["left"] = "Earth", ~table["member"]
    table.to_csv(tmp_path / "t.csv", index=False)
    done = explain(tmp_path / "t.csv", "--target", "spends", "-o", tmp_path / "r.json")
    said = " ".join(done.output.split())
    assert "merged as other 58 of 157 levels of shop" in said
    assert "dropped planet (always 'Earth'), left (opposite of member)" in said


def test_rows_and_seeds_are_honoured(folder):
    one, same, other = (
        facts_of(folder / "mixed.csv", "--target", "spends", "--rows", 200, "--seed", seed) for seed in (0, 0, 1)
    )
    assert one == same and one["outputs"] != other["outputs"]
    assert one["measure"]["rows"] == 200
    assert "of which 200 rows drawn at random (seed 0)" in details(one)["Table"]


def test_rows_without_a_target_are_left_out_and_counted(folder, tmp_path):
    table = mixed()
    table.loc[:9, "buys"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    facts = facts_of(tmp_path / "t.csv", "--target", "buys", "--drop", "spends")
    assert details(facts)["Rows left out"] == "10, without buys" and facts["measure"]["rows"] == N - 10


@pytest.mark.parametrize(
    ("values", "task", "read_as"),
    [
        (["a", "b"], None, "classes"),
        ([True, False], None, "classes"),
        ([0, 1], None, "classes"),
        ([0, 1], "numbers", "numbers"),
        (range(10), None, "classes"),
        (range(11), None, "numbers"),
        ([0.5, 1.0], None, "numbers"),
        ([0.5, 1.0], "classes", "classes"),
    ],
)
def test_how_a_target_is_read(values, task, read_as):
    assert training.task_of("y", pd.Series(list(values) * 2), task) == read_as


def test_classes_and_regression_on_margins(folder):
    """The regression engine explains the same quantity as the exact one, at 400 rows nearly as well."""
    exact = facts_of(folder / "mixed.csv", "--target", "buys", "--drop", "spends")
    fit = facts_of(folder / "mixed.csv", "--target", "buys", "--drop", "spends", "--engine", "regression")
    assert fit["engine"]["name"] == "regression" and "margin" in fit["engine"]["reason"]
    assert fit["outputs"][0]["mean"] == pytest.approx(exact["outputs"][0]["mean"], abs=0.05)
    assert fit["fidelity"]["at_rows"]["rows"] == N


def test_more_classes_than_two_are_more_outputs(tmp_path):
    table = mixed().drop(columns=["spends", "buys", "name"])
    table["which"] = np.where(table["member"], "m", table["town"].fillna("none"))
    table.to_csv(tmp_path / "t.csv", index=False)
    done = explain(tmp_path / "t.csv", "--target", "which", "-o", tmp_path / "r.json")
    assert "Variance for Lyon" in done.output and "2 more outputs" in done.output
    facts = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [output["name"] for output in facts["outputs"]] == ["Lyon", "Metz", "Nice", "m", "none"]


# -- models and their values -------------------------------------------------------------------------------------------


def test_a_model_from_a_file_is_explained_on_its_own_columns(folder, tmp_path):
    import joblib

    table = mixed()
    model = RandomForestRegressor(10, max_depth=3, random_state=0).fit(table[["children", "member"]], table["spends"])
    joblib.dump(model, tmp_path / "m.joblib")
    facts = facts_of(folder / "mixed.csv", "--model", tmp_path / "m.joblib", "--trust-pickle", "--drop", "buys")
    assert facts["engine"]["name"] == "sparse"
    assert [player["name"] for player in facts["players"]] == ["children", "member"]
    assert details(facts)["Columns not used"] == "name, town, age, spends"
    mean = model.predict(table[["children", "member"]]).mean()
    assert facts["outputs"][0]["mean"] == pytest.approx(mean, rel=1e-12)


def test_predictions_in_a_column_are_explained(folder, tmp_path):
    saved = tmp_path / "result.hfd"
    facts = facts_of(
        folder / "mixed.csv", "--predictions", "spends", "--drop", "buys", "--drop", "name", "--save", saved
    )
    assert facts["engine"]["name"] == "regression"
    assert [player["name"] for player in facts["players"]] == ["town", "member", "children", "age"]
    names = facts_of(folder / "mixed.csv", "--predictions", "spends", "--drop", "buys", "-o", tmp_path / "r.htm")
    assert details(names)["Columns left out"] == "name (400 different texts in 400 rows)"
    assert names["players"] == facts["players"] and (tmp_path / "r.htm").read_text(encoding="utf-8").startswith("<!")
    result = hoeffding.load(saved)
    expected = hoeffding.decompose(
        mixed()["spends"].to_numpy(), mixed()[["town", "member", "children", "age"]], engine="regression"
    )
    assert np.abs(result.predict(mixed()) - expected.predict(mixed())).max() < 1e-9


def test_bins_are_honoured_or_refused(folder, tmp_path):
    import joblib

    few, many = (
        facts_of(folder / "mixed.csv", "--predictions", "spends", "--drop", "name", "--bins", bins) for bins in (2, 6)
    )
    assert len(few["features"]) < len(many["features"])
    model = RandomForestRegressor(3, max_depth=2, random_state=0).fit(mixed()[["children"]], mixed()["spends"])
    joblib.dump(model, tmp_path / "m.pkl")
    with pytest.raises(ValueError, match="--bins: the splits of this model are the bits"):
        explain(folder / "mixed.csv", "--model", tmp_path / "m.pkl", "--trust-pickle", "--bins", 3, "--json")


# -- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say what to explain: --target COLUMN trains"),
        (["--target", "spend"], "no column 'spend'; did you mean 'spends'?"),
        (["--target", "spends", "--drop", "qqq"], "no column 'qqq'; it has name, town"),
        (["--target", "name"], "400 classes are too many"),
        (["--target", "age", "--task", "class"], "--task class: must be one of classes, numbers"),
        (["--target", "buys", "--task", "numbers"], "holds no numbers"),
        (["--predictions", "town"], "expected numbers, such as probabilities"),
        (["--predictions", "spends", "--model", "m.json"], "give one of them"),
        (["--predictions", "spends", "--task", "classes"], "goes with a model trained here"),
        (["--model", "nowhere.json"], "nowhere.json: no such file"),
        (["--target", "spends", "--engine", "magic"], "must be one of auto, cube, sparse, regression"),
        (["--target", "spends", "--order", "0"], "order=0"),
        (["--target", "spends", "--bins", "1"], "--bins 1: must be at least 2"),
        (["--target", "spends", "--rows", "0"], "--rows 0"),
        (["--target", "spends", "--rows", "20"], "20 rows are too few to train"),
        (["--target", "spends", "--plotlyjs", "no"], "must be embed or cdn"),
        (["--target", "spends", "--plotlyjs", "cdn", "-o", "r.md"], "--plotlyjs cdn: goes with a report in HTML"),
        (["--target", "spends", "--plotlyjs", "cdn", "--json"], "--plotlyjs cdn: goes with a report in HTML"),
        (["--target", "spends", "--trust-pickle"], "--trust-pickle: goes with --model"),
        (["--target", "spends", "--save", "q.json", "-o", "./q.json"], "--save q.json: the report is written to this"),
        (["--target", "spends", "-o", "report.pdf"], "must end in .html, .md or .json"),
        (["--target", "spends", "-o", "no/such/folder/r.html"], "there is no folder"),
        (["--target", "spends", "--save", "no/such/folder/r.hfd"], "there is no folder"),
    ],
)
def test_mistakes_are_named_before_any_work(folder, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError, OSError), match=re.escape(words)):
        explain(folder / "mixed.csv", *arguments)
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def test_what_is_read_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mixed().to_csv("t.csv", index=False)
    (tmp_path / "x.json").write_text("{}")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for arguments in (
        ["--target", "spends", "--save", "t.csv"],
        ["--model", "x.json", "-o", tmp_path / "x.json"],
        ["--model", "x.json", "--json", "--save", "x.json"],
    ):
        with pytest.raises(ValueError, match="is a file that is read, and would be replaced"):
            explain("t.csv", *arguments)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_column_that_the_model_takes_cannot_be_left_out(folder, tmp_path):
    import joblib

    model = RandomForestRegressor(3, max_depth=2, random_state=0).fit(
        mixed()[["children", "member"]], mixed()["spends"]
    )
    joblib.dump(model, tmp_path / "m.pkl")
    for option in ("--drop", "--target"):
        with pytest.raises(ValueError, match="takes the column 'member', which is left out"):
            explain(folder / "mixed.csv", "--model", tmp_path / "m.pkl", "--trust-pickle", option, "member", "--json")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,y\n", "the table has no rows"),
        ("y\n1\n2\n", "no column is left to explain with"),
        ("a,y\n" + "1,2\n" * 50, "one value only"),
        ("a,y\n" + "1,\n" * 50, "the column is empty"),
        ("a,y\n" + "".join(f"person {i},{i}\n" for i in range(50)), "no column is left to learn from"),
        ("a,y\n" + "".join(f"inf,{i}\n" for i in range(50)), "column 'a': 50 infinite values"),
        ("a,y\n" + "".join(f"3,{i}\n" for i in range(50)), "no column has two different values"),
    ],
)
def test_tables_that_cannot_be_explained_say_why(tmp_path, content, words):
    (tmp_path / "t.csv").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(words)):
        explain(tmp_path / "t.csv", "--target", "y", "--json")


def test_dates_and_lists_say_what_to_do(tmp_path):
    table = mixed()[["children", "spends"]]
    table.assign(day=pd.date_range("2020-01-01", periods=N)).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(TypeError, match=r"column 'day'.*such as the year.*--drop"):
        explain(tmp_path / "t.parquet", "--target", "spends", "--json")
    assert facts_of(tmp_path / "t.parquet", "--target", "spends", "--drop", "day")["engine"]["name"] == "sparse"


def test_a_model_that_fails_shows_its_own_error(folder, tmp_path):
    import joblib
    from sklearn.linear_model import LinearRegression

    joblib.dump(LinearRegression().fit(mixed()[["children"]], mixed()["spends"]), tmp_path / "m.pkl")
    mixed().assign(children=["one", "two"] * (N // 2)).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match="failed with ValueError: could not convert string to float"):
        explain(tmp_path / "t.csv", "--model", tmp_path / "m.pkl", "--trust-pickle", "--json")


def test_the_command_prints_one_line_for_a_mistake(folder):
    code = "import sys; sys.argv[0] = 'hoeffding'; from hoeffding.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "explain", str(folder / "none.csv"), "--target", "y"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f"hoeffding: {folder / 'none.csv'}: no such file\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable_is_refused(folder, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="cannot be written to"):
        explain(folder / "mixed.csv", "--target", "spends", "-o", tmp_path / "r.html")


# -- words -------------------------------------------------------------------------------------------------------------


def test_names_cannot_steer_the_terminal(folder, tmp_path):
    table = mixed().drop(columns=["name", "buys"]).rename(columns={"member": "\x1b[31mred\x07[bold]"})
    table.to_csv(tmp_path / "t.csv", index=False)
    output = explain(tmp_path / "t.csv", "--target", "spends", "-o", tmp_path / "r.md").output
    assert "\x1b" not in output and "\x07" not in output
    assert "?[31mred?[bold]" in output
    assert clean("a\tb\u202ec") == "a?b?c"


def test_shares_for_people():
    assert [percent(x) for x in (1.0, -0.0123, 0.0004, -1e-7, None)] == ["100.0 %", "-1.2 %", "0.04 %", "0 %", "-"]


def test_a_given_table_keeps_what_it_says(folder):
    given = Given.read(folder / "mixed.csv", ["buys"], 50, 0)
    assert len(given.features) == 50 and "buys" not in given.features and "buys" in given.frame


# -- the demo ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo.json"
    done = CliRunner().invoke(cli._build_app(), ["demo", "-o", str(path)], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    return done.output, json.loads(path.read_text(encoding="utf-8"))


def test_the_demo_is_exact_and_says_so(demo):
    output, facts = demo
    assert facts["engine"]["name"] == "sparse" and facts["fidelity"]["remainder"] < 1e-9
    assert re.search(r"fidelity +R2 = 1, largest remainder", output)
    assert "the probability that a mushroom is poisonous" in output
    assert facts["measure"]["rows"] == len(load_demo().y)


def test_the_demo_fits_80_columns_and_is_plain_text_when_piped(demo):
    output, facts = demo
    assert max(map(len, output.splitlines())) <= 80
    assert "\x1b" not in output and "…" not in output
    top = facts["players"][int(np.argmax(facts["outputs"][0]["importance"]["value"]))]["name"]
    assert re.search(rf"^ ?{top} +█+ ", output, re.MULTILINE), (
        "the most important one comes first, with the longest bar"
    )


def test_a_terminal_that_cannot_show_a_sign_is_no_error(tmp_path):
    code = (
        f"import sys; sys.argv[1:] = ['demo', '-o', {str(tmp_path / 'd.md')!r}]; from hoeffding.cli import main; main()"
    )
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "bruises ? stalk-root" in done.stdout


# -- the benchmark -----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Objective did not converge")  # of scikit-learn, on so few rows
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of shap, when it is imported
def test_the_benchmark_measures_both_ways(monkeypatch):
    from hoeffding.cli import bench

    monkeypatch.setattr(bench, "BITS", 5)
    monkeypatch.setattr(bench, "LARGE", 6)
    monkeypatch.setattr(bench, "ROWS", 3000)
    monkeypatch.setattr(bench, "TREES", 3)
    monkeypatch.setattr(bench, "EXPLAINED", 5)
    monkeypatch.setattr(bench, "LONG_ENOUGH", 0.0)
    done = CliRunner().invoke(cli._build_app(), ["bench", "--json"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.output)
    assert facts["threads"] == 1 and len(facts["measured"]) == 4
    for line in facts["measured"]:
        assert line["seconds"] > 0
        assert line["other_seconds"] is None or line["other_seconds"] > 0
    shown = CliRunner().invoke(cli._build_app(), ["bench"])
    assert shown.exit_code == 0 and "ratio" in shown.output


@pytest.mark.parametrize("index", [False, True])
def test_what_explain_saves_apply_takes_of_the_same_file(tmp_path, index):
    """A CSV file means the same to both: gaps of text, and a first column without a name."""
    mixed().drop(columns=["name", "spends"]).to_csv(tmp_path / "t.csv", index=index, na_rep="NA")
    facts_of(tmp_path / "t.csv", "--target", "buys", "--save", tmp_path / "r.hfd")
    command = ["apply", tmp_path / "r.hfd", tmp_path / "t.csv", "-o", tmp_path / "out.parquet"]
    done = CliRunner().invoke(cli._build_app(), list(map(str, command)))
    assert done.exception is None, done.exception
    given = pd.read_csv(tmp_path / "t.csv")
    predictions = hoeffding.load(tmp_path / "r.hfd").predict(given)
    assert np.abs(pd.read_parquet(tmp_path / "out.parquet")["prediction"].to_numpy() - predictions).max() < 1e-12
