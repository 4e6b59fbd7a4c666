"""Models from files: the model that was saved answers, pickles are refused, damage is an error and never a crash."""

import json
import pickle
import re
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from hoeffding import decompose, model_files
from hoeffding.model_files import columns_for, lightgbm_text, read_model, xgboost_trees

RNG = np.random.default_rng(0)
N = 300
TABLE = pd.DataFrame(
    {
        "colour": RNG.choice(["red", "blue", "green"], N),
        "age": RNG.integers(18, 90, N).astype(float),
        "x": RNG.normal(size=N),
        "unused": RNG.normal(size=N),
    }
)
Y = ((TABLE["age"] > 50) & (TABLE["colour"] == "red") | (TABLE["x"] > 1)).astype(int)
NUMBERS = TABLE[["age", "x"]]


class Witness:
    """Says on which file it was unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "model.json", "model.txt", "model"])
@pytest.mark.parametrize("dump", [pickle.dumps, None])
def test_a_pickle_is_refused_whatever_it_is_called_and_nothing_in_it_runs(tmp_path, name, dump):
    path, trace = tmp_path / name, tmp_path / "it ran"
    if dump is None:
        joblib.dump(Witness(trace), path, compress=3)
    else:
        path.write_bytes(dump(Witness(trace)))
    with pytest.raises(ValueError, match="can run any program while it is read") as caught:
        read_model(path)
    assert "--trust-pickle" in str(caught.value)
    assert not trace.exists()
    read_model(path, trust_pickle=True).close()
    assert trace.exists(), "with trust it is read, as a negative control"


def test_a_trusted_pickle_gives_the_model(tmp_path):
    model = LogisticRegression().fit(NUMBERS, Y)
    joblib.dump(model, tmp_path / "m.joblib")
    again = read_model(tmp_path / "m.joblib", trust_pickle=True)
    assert (again.coef_ == model.coef_).all()
    assert list(columns_for(again, TABLE, tmp_path / "m.joblib")) == ["age", "x"]


def test_columns_that_are_absent_are_named(tmp_path):
    model = LogisticRegression().fit(NUMBERS, Y)
    with pytest.raises(ValueError, match="takes 2 columns by name; the table has no 'age'"):
        columns_for(model, TABLE.drop(columns="age"), tmp_path / "m.pkl")
    nameless = LogisticRegression().fit(NUMBERS.to_numpy(), Y)
    assert columns_for(nameless, NUMBERS, tmp_path / "m.pkl") is NUMBERS
    with pytest.raises(ValueError, match=r"takes 2 columns and does not know their names; 4 are left .*--drop"):
        columns_for(nameless, TABLE, tmp_path / "m.pkl")


@pytest.mark.parametrize(("name", "words"), [("m.json", "no such file"), (".", "a folder, not a file")])
def test_what_is_not_there_is_named(tmp_path, name, words):
    with pytest.raises(FileNotFoundError, match=words):
        read_model(tmp_path / name)


def test_an_unknown_ending_lists_the_known_ones(tmp_path):
    (tmp_path / "m.h5").write_bytes(b"\x89HDF")
    with pytest.raises(ValueError, match=r"must end in \.json, \.ubj, \.txt, \.cbm, \.onnx, \.pkl"):
        read_model(tmp_path / "m.h5")


# -- the text of LightGBM, which its own reader trusts ---------------------------------------------------------------


@pytest.fixture(scope="module")
def lightgbm_model():
    lightgbm = pytest.importorskip("lightgbm")
    frame = TABLE.astype({"colour": "category"})[["colour", "age", "x"]]
    return lightgbm.LGBMClassifier(n_estimators=4, num_leaves=6, min_child_samples=5, verbose=-1).fit(frame, Y)


def test_the_text_of_lightgbm_is_accepted_and_gives_the_model(tmp_path, lightgbm_model):
    path = tmp_path / "m.txt"
    lightgbm_model.booster_.save_model(path)
    assert "cat_threshold" in path.read_text(encoding="utf-8")
    booster = read_model(path)
    X = columns_for(booster, TABLE, path)
    assert list(X) == ["colour", "age", "x"]
    assert (booster.predict(X, raw_score=True) == lightgbm_model.predict(X, raw_score=True)).all()


def test_damage_to_the_text_of_lightgbm_is_found_before_lightgbm_reads_it(lightgbm_model):
    text = lightgbm_model.booster_.model_to_string()
    lightgbm_text.check(text)
    for kept in range(0, text.index("end of trees"), 97):
        with pytest.raises(ValueError):  # noqa: PT011  # the message depends on where it ends
            lightgbm_text.check(text[:kept])


@pytest.mark.parametrize(
    ("line", "change", "words"),
    [
        ("left_child", lambda v: v.replace("-1", "-9"), "not one tree"),
        ("left_child", lambda v: "0 " + v.partition(" ")[2], "not one tree"),
        ("split_feature", lambda v: "3 " + v.partition(" ")[2], "a split on a feature beyond"),
        ("split_feature", lambda v: v.partition(" ")[2], "not 5 nodes"),
        ("leaf_value", lambda v: v.partition(" ")[2], "not 6 leaves"),
        ("num_leaves", lambda v: "0", "leaves"),
        ("cat_threshold", lambda v: f"{v} 1", "categories"),
        ("threshold", lambda v: "x", "could not convert"),
    ],
)
def test_trees_that_point_nowhere_are_refused(lightgbm_model, line, change, words):
    text = lightgbm_model.booster_.model_to_string()
    first = next(t for t in re.split(r"(?=Tree=\d)", text)[1:] if "cat_threshold" in t)
    new = re.sub(rf"(?m)^{line}=(.*)$", lambda m: f"{line}={change(m[1])}", first)
    assert new != first
    sizes = re.search(r"tree_sizes=(.*)", text)[1].split()
    t = int(re.match(r"Tree=(\d+)", first)[1])
    sizes[t] = str(int(sizes[t]) + len(new) - len(first))
    spoilt = re.sub(r"tree_sizes=.*", f"tree_sizes={' '.join(sizes)}", text.replace(first, new))
    with pytest.raises(ValueError, match=f"tree {t}: .*{words}"):
        lightgbm_text.check(spoilt)


# -- the other formats, with the packages that read them ------------------------------------------------------------


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_models_of_xgboost_are_sums_of_trees(tmp_path, ending):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(NUMBERS, Y)
    path = tmp_path / f"m.{ending}"
    model.save_model(path)
    booster = read_model(path)
    X = columns_for(booster, TABLE, path)
    result = decompose(booster, X)
    assert result.engine == "sparse" and list(X) == ["age", "x"]
    assert np.abs(result.predict(X) - model.predict(X, output_margin=True)).max() < 1e-5
    content = path.read_bytes()
    for kept in (0, 10, len(content) // 2, len(content) - 5):
        path.write_bytes(content[:kept])
        with pytest.raises(ValueError, match="cannot be read as XGBoost"):
            read_model(path)


XGBOOST_MODELS = {
    "classes": {"kind": "XGBClassifier", "n_estimators": 3, "max_depth": 3},
    "dart": {"kind": "XGBRegressor", "n_estimators": 3, "max_depth": 3, "booster": "dart", "rate_drop": 0.5},
    "forest": {"kind": "XGBRFRegressor", "n_estimators": 5, "max_depth": 3},
    "pruned": {"kind": "XGBRegressor", "n_estimators": 3, "max_depth": 4, "gamma": 0.5},
    "vector leaves": {
        "kind": "XGBRegressor",
        "n_estimators": 3,
        "max_depth": 3,
        "multi_strategy": "multi_output_tree",
        "tree_method": "hist",
    },
    "categories": {
        "kind": "XGBRegressor",
        "n_estimators": 3,
        "max_depth": 3,
        "enable_categorical": True,
        "max_cat_to_onehot": 1,
    },
    "no trees": {"kind": "XGBRegressor", "n_estimators": 2, "booster": "gblinear"},
}


def xgboost_model(name):
    xgboost = pytest.importorskip("xgboost")
    settings = dict(XGBOOST_MODELS[name])
    X = TABLE[["age", "x"]] if name != "categories" else TABLE[["colour", "x"]].astype({"colour": "category"})
    y = TABLE[["age", "x"]] if name == "vector leaves" else Y
    return getattr(xgboost, settings.pop("kind"))(n_jobs=1, **settings).fit(X, y)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of XGBoost, that gblinear is old
@pytest.mark.parametrize("ending", ["json", "ubj"])
@pytest.mark.parametrize("name", XGBOOST_MODELS)
def test_whole_trees_of_xgboost_of_every_kind_are_accepted(tmp_path, name, ending):
    path = tmp_path / f"m.{ending}"
    xgboost_model(name).save_model(path)
    xgboost_trees.check(path.read_bytes())


@pytest.mark.parametrize(
    ("key", "at", "value", "words"),
    [
        ("left_children", 0, 10**6, "not one tree"),
        ("left_children", 0, 0, "not one tree"),
        ("right_children", 0, -1, "not one tree"),
        ("right_children", -1, 1, "not one tree"),
        ("parents", 1, 2, "not one tree"),
        ("split_indices", 0, 2, "a split on a feature beyond"),
        ("split_conditions", -1, None, "not .* nodes"),
        ("split_type", 0, 1, "categorical splits"),
        ("left_children", 0, 1.5, "not whole"),
    ],
)
def test_trees_of_xgboost_that_point_nowhere_are_refused(tmp_path, key, at, value, words):
    path = tmp_path / "m.json"
    xgboost_model("classes").save_model(path)
    model = json.loads(path.read_bytes())
    values = model["learner"]["gradient_booster"]["model"]["trees"][1][key]
    values[at : len(values) if at == -1 else at + 1] = [] if value is None else [value]
    path.write_text(json.dumps(model), encoding="utf-8")
    with pytest.raises(ValueError, match=f"cannot be read as XGBoost .*tree 1: .*{words}"):
        read_model(path)


def test_a_file_that_ends_the_process_is_an_error(tmp_path):
    (tmp_path / "m.cbm").write_bytes(b"CBM1")
    with pytest.raises(ValueError, match="reading it ends the process, with code 7"):
        model_files._try_first("os._exit(7)", tmp_path / "m.cbm")
    model_files._try_first("os.stat(file)", tmp_path / "m.cbm")


@pytest.mark.parametrize("zipmap", [True, False])
def test_onnx_gives_the_probability_of_the_second_class(tmp_path, zipmap):
    pytest.importorskip("onnxruntime")
    convert = pytest.importorskip("skl2onnx")
    model = LogisticRegression().fit(NUMBERS.to_numpy(), Y)
    example = NUMBERS.to_numpy(np.float32)
    path = tmp_path / "m.onnx"
    path.write_bytes(convert.to_onnx(model, example, options={"zipmap": zipmap}).SerializeToString())
    found = read_model(path)
    assert found.n_features_in_ == 2 and found.feature_names_in_ is None
    # the file works in single precision: probabilities are off by some units of 2**-24
    assert np.abs(found.predict(NUMBERS) - model.predict_proba(NUMBERS.to_numpy())[:, 1]).max() < 1e-6
    assert decompose(found, NUMBERS).engine == "regression"


def test_onnx_takes_columns_by_name_where_they_have_names(tmp_path):
    pytest.importorskip("onnxruntime")
    convert = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    columns = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    model = make_pipeline(columns, LinearRegression()).fit(TABLE[["colour", "age"]], TABLE["x"])
    types = [("colour", StringTensorType([None, 1])), ("age", FloatTensorType([None, 1]))]
    path = tmp_path / "m.onnx"
    path.write_bytes(convert.to_onnx(model, initial_types=types).SerializeToString())
    found = read_model(path)
    X = columns_for(found, TABLE, path)
    assert list(X) == ["colour", "age"]
    assert np.abs(found.predict(X) - model.predict(X)).max() < 1e-5
    with pytest.raises(TypeError, match="takes columns by name"):
        found.predict(X.to_numpy())


def test_a_truncated_onnx_file_is_refused(tmp_path):
    pytest.importorskip("onnxruntime")
    convert = pytest.importorskip("skl2onnx")
    model = LinearRegression().fit(NUMBERS.to_numpy(), Y)
    content = convert.to_onnx(model, NUMBERS.to_numpy(np.float32)).SerializeToString()
    for kept in (0, 10, len(content) // 2, len(content) - 3):
        (tmp_path / "m.onnx").write_bytes(content[:kept])
        with pytest.raises(ValueError, match="cannot be read as ONNX"):
            read_model(tmp_path / "m.onnx")


def test_models_of_catboost_are_read(tmp_path):
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(iterations=4, depth=2, verbose=0, allow_writing_files=False)
    model.fit(NUMBERS, TABLE["x"]).save_model(str(tmp_path / "m.cbm"))
    found = read_model(tmp_path / "m.cbm")
    assert np.allclose(found.predict(NUMBERS), model.predict(NUMBERS), rtol=0, atol=1e-12)
    assert list(columns_for(found, TABLE, tmp_path / "m.cbm")) == ["age", "x"]


def test_a_missing_package_is_named(tmp_path):
    (tmp_path / "m.json").write_text('{"learner": {}}', encoding="utf-8")
    code = (
        "import sys; sys.modules['xgboost'] = None\n"
        "from hoeffding.model_files import read_model\n"
        f"read_model({str(tmp_path / 'm.json')!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "reading it needs xgboost: python -m pip install xgboost" in done.stderr.splitlines()[-1]
