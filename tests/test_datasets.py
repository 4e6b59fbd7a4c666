"""The data sets: shapes of the paper's tables, sources that are verified, landscapes with known components."""

import hashlib
import os
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

import hoeffding
from hoeffding import datasets
from hoeffding.datasets import make_landscape, sources
from hoeffding.datasets.dataset import one_hot, two_valued

SHAPES = {  # the paper's Table 1, and the rows of its design matrices
    "entacmaea": (8192, 13),
    "kr_vs_kp": (3196, 35),
    "sgemm": (241600, 40),
    "gb1": (149361, 80),
    "mushrooms": (8124, 116),
    "avgfp": (49089, 233),
}
VARIABLES = {"entacmaea": 13, "kr_vs_kp": 35, "sgemm": 14, "gb1": 4, "mushrooms": 21, "avgfp": 233}

needs_data = pytest.mark.skipif(not os.environ.get("HOEFFDING_DATA"), reason="HOEFFDING_DATA is not set")


def check_consistency(data):
    n, d = data.X.shape
    assert data.y.shape == (n,) and data.y.dtype == np.float64 and len(data.feature_names) == d
    assert len(set(data.feature_names)) == d
    assert set(np.unique(data.X)) == {0, 1}
    assert (data.X.min(axis=0) < data.X.max(axis=0)).all()
    assert sorted(i for _, bits in data.groups for i in bits) == list(range(d))
    assert set(np.unique(data.y)) == {0, 1} if data.classes else len(np.unique(data.y)) > 2
    assert data.licence and data.citation and data.description
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 1


@needs_data
@pytest.mark.parametrize("name", SHAPES)
def test_the_data_sets_of_the_paper(name):
    pytest.importorskip("pyarrow")
    data = getattr(datasets, f"load_{name}")()
    assert data.X.shape == SHAPES[name] and len(data.groups) == VARIABLES[name]
    check_consistency(data)
    assert len(data.frame) == (54025 if name == "avgfp" else len(data.X))


@needs_data
def test_avgfp_keeps_equal_rows_when_told():
    pytest.importorskip("pyarrow")
    merged, all_rows = datasets.load_avgfp(), datasets.load_avgfp(merge=False)
    assert all_rows.X.shape == (54025, 233) and merged.feature_names == all_rows.feature_names
    rows, inverse, counts = np.unique(all_rows.X, axis=0, return_inverse=True, return_counts=True)
    assert (rows == merged.X).all()
    assert np.bincount(inverse.ravel(), all_rows.y) == pytest.approx(merged.y * counts)
    assert merged.feature_names[:2] == ("K3", "G4") and "S65" in merged.feature_names


@needs_data
def test_kr_vs_kp_has_the_distinct_rows_of_the_paper():
    pytest.importorskip("pyarrow")
    assert len(np.unique(datasets.load_kr_vs_kp().X, axis=0)) == 2891


def test_the_demo_needs_nothing_but_the_package(monkeypatch):
    monkeypatch.setenv("HOEFFDING_DATA", "nowhere")
    data = datasets.load_demo()
    check_consistency(data)
    assert data.X.shape == (5644, 97) and data.classes == ("edible", "poisonous") and data.y.sum() == 2156
    odour = dict(data.groups)["odor"]
    assert [data.feature_names[i] for i in odour][:3] == ["odor=almond", "odor=creosote", "odor=foul"]
    assert (data.X[:, odour].sum(axis=1) == 1).all()


@needs_data
def test_the_demo_is_a_part_of_mushrooms():
    pytest.importorskip("pyarrow")
    frame, demo = datasets.load_mushrooms().frame, datasets.load_demo().frame
    assert frame[frame["stalk-root"] != "?"][demo.columns].reset_index(drop=True).astype(str).equals(demo.astype(str))


def test_one_hot_leaves_out_constant_columns_and_keeps_the_order():
    encoded = one_hot({"a": np.array([3, 1, 3]), "b": np.array(["z"] * 3), "c": np.array(["u", "v", "u"])})
    assert encoded.feature_names == ("a=1", "a=3", "c=u", "c=v") and encoded.groups == (("a", (0, 1)), ("c", (2, 3)))
    assert encoded.X.tolist() == [[0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]]


def test_two_valued_leaves_out_all_others():
    encoded = two_valued({"a": np.array([3, 1, 3]), "b": np.array(["z"] * 3), "c": np.array(["u", "v", "w"])})
    assert encoded.feature_names == ("a=3",) and encoded.X.tolist() == [[1], [0], [1]]


# -- sources ----------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there(monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("HOEFFDING_DATA", "/nowhere at all")
    with pytest.raises(FileNotFoundError, match=r"HOEFFDING_DATA='/nowhere at all': no such folder; unset it"):
        datasets.load_gb1()


def test_a_folder_without_the_file(monkeypatch, tmp_path):
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("HOEFFDING_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"gb1\.parquet is not in HOEFFDING_DATA"):
        datasets.load_gb1()


@needs_data
def test_a_table_that_was_changed_is_refused(monkeypatch, tmp_path):
    pytest.importorskip("pyarrow")
    frame = datasets.load_entacmaea().frame
    frame.loc[17, "brightness_combined"] *= 1 + 1e-5
    frame.to_parquet(tmp_path / "entacmaea.parquet")
    monkeypatch.setenv("HOEFFDING_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=r"entacmaea\.parquet: this is not the table as published"):
        datasets.load_entacmaea()


def test_the_digest_overlooks_the_last_digits_only():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [0.1, float("nan")], "b": ["x", "y"]})
    assert sources.digest(frame) == sources.digest(frame.assign(a=frame["a"] * (1 + 1e-12)))
    assert sources.digest(frame) != sources.digest(frame.assign(a=frame["a"] * (1 + 1e-6)))
    assert sources.digest(frame) != sources.digest(frame.assign(b=["x", "z"]))
    assert sources.digest(frame) != sources.digest(frame.rename(columns={"b": "c"}))


def write_xlsx(path, rows, sheet="Sheet1"):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook(write_only=True)
    page = book.create_sheet(sheet)
    for row in rows:
        page.append(row)
    book.save(path)


def write_zip(path, name, frame, **settings):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Index", "of the archive")
        archive.writestr(name, frame.to_csv(index=False, **settings))


def publish(name, frame, path):
    """Write a table the way its publisher has it."""
    if name == "entacmaea":
        rows = frame[[c for c in frame if c[0] != "s" or not c[1:].isdigit()]].astype(object).to_numpy().tolist()
        quoted = [[f"'{row[0]}'", f"'{row[1]}'", *row[2:5], None, *row[5:7], None, row[7]] for row in rows]
        write_xlsx(path, [["title"], ["genotype", "amino acids"], *quoted], "genodata")
    elif name == "gb1":
        columns = ["variant", "hamming_distance", "count_input", "count_selected", "fitness"]
        heads = ["Variants", "HD", "Count input", "Count selected", "Fitness"]
        write_xlsx(path, [heads, *frame[columns].astype(object).to_numpy().tolist()])
    elif name == "sgemm":
        heads = {f"run{i}_ms": f"Run{i} (ms)" for i in (1, 2, 3, 4)}
        write_zip(path, "sgemm_product.csv", frame.rename(columns=heads))
    elif name == "avgfp":
        columns = ["aa_mutations", "unique_barcodes", "median_brightness", "std"]
        heads = ["aaMutations", "uniqueBarcodes", "medianBrightness", "std"]
        frame[columns].set_axis(heads, axis="columns").to_csv(path, sep="\t", index=False)
    else:
        member = {"kr_vs_kp": "kr-vs-kp.data", "mushrooms": "agaricus-lepiota.data"}[name]
        write_zip(path, member, frame, header=False)


@pytest.fixture
def server(tmp_path):
    """Yield a folder and the address under which its files can be had."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    folder = tmp_path / "published"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as httpd:
        thread = threading.Thread(target=httpd.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{httpd.server_port}"
        httpd.shutdown()
        thread.join()


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No data folder; an empty cache."""
    pytest.importorskip("pooch")
    monkeypatch.delenv("HOEFFDING_DATA", raising=False)
    monkeypatch.setenv("HOEFFDING_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def first_rows(name, n=200):
    pytest.importorskip("pyarrow")
    import pandas as pd

    return pd.read_parquet(f"{os.environ['HOEFFDING_DATA']}/{name}.parquet").head(n)


@needs_data
@pytest.mark.parametrize("name", SHAPES)
def test_a_published_file_is_downloaded_converted_verified_and_kept(name, server, request, monkeypatch):
    pytest.importorskip("openpyxl")
    frame = first_rows(name)
    cache = request.getfixturevalue("offline")
    folder, address = server
    published = sources.SOURCES[name]
    file = folder / published.file
    publish(name, frame, file)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest() if published.sha256 else None
    there = replace(published, url=f"{address}/{file.name}", sha256=sha256, content=sources.digest(frame))
    monkeypatch.setitem(sources.SOURCES, name, there)
    found = sources.table(name)
    assert [*found.columns] == [*frame.columns]
    for column in frame:
        assert list(found[column].dropna().map(str)) == list(frame[column].dropna().map(str)), column
    file.unlink()
    (cache / file.name).unlink()
    assert sources.digest(sources.table(name)) == there.content  # from the cache


@needs_data
@pytest.mark.parametrize("change", ["sha256", "content"])
def test_a_published_file_that_changed_is_refused(change, server, request, monkeypatch):
    frame = first_rows("mushrooms")
    request.getfixturevalue("offline")
    folder, address = server
    publish("mushrooms", frame, folder / "mushroom.zip")
    there = replace(sources.SOURCES["mushrooms"], url=f"{address}/mushroom.zip", content=sources.digest(frame))
    monkeypatch.setitem(sources.SOURCES, "mushrooms", replace(there, **{change: "0" * 64}))
    with pytest.raises(ValueError, match=r"hash|not the table as published"):
        sources.table("mushrooms")


def test_an_archive_without_the_file(offline, server, monkeypatch):
    pd = pytest.importorskip("pandas")
    folder, address = server
    write_zip(folder / "mushroom.zip", "other.data", pd.DataFrame({"a": [1]}))
    there = replace(sources.SOURCES["mushrooms"], url=f"{address}/mushroom.zip")
    monkeypatch.setitem(sources.SOURCES, "mushrooms", there)
    with pytest.raises(ValueError, match=r"expected one file agaricus-lepiota\.data inside, found"):
        sources.table("mushrooms")


def test_no_network_is_said_with_a_way_out(offline, monkeypatch):
    there = replace(sources.SOURCES["gb1"], url="http://127.0.0.1:9/none.xlsx")
    monkeypatch.setitem(sources.SOURCES, "gb1", there)
    with pytest.raises(
        ConnectionError, match=r"none\.xlsx cannot be downloaded \((?!.*Max retries).*get that file .* HOEFFDING_DATA"
    ):
        datasets.load_gb1()


@pytest.mark.slow
@needs_data
def test_all_rows_of_gb1_survive_a_spreadsheet(server, request, monkeypatch):
    frame = first_rows("gb1", None)
    request.getfixturevalue("offline")
    folder, address = server
    published = sources.SOURCES["gb1"]
    publish("gb1", frame, folder / published.file)
    monkeypatch.setitem(sources.SOURCES, "gb1", replace(published, url=f"{address}/{published.file}"))
    assert len(sources.table("gb1")) == 149361


# -- landscapes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dependence", [0.0, 0.5])
def test_a_landscape_has_the_components_asked_for(dependence):
    land = make_landscape(7, n=50, order=3, n_interactions=5, dependence=dependence, rng=1)
    structural = land.truth.variance().structural
    present = [S for S, v in zip(land.truth.subsets, structural, strict=True) if v > 1e-20 and S]
    assert [S for S in present if len(S) == 1] == [(i,) for i in range(7)]
    assert len(present) == 7 + 5 and max(map(len, present)) == 3
    assert structural[1 : 7 + 1].min() > 0.25 - 1e-9  # amplitudes are at least a half
    assert np.array_equal(land.y, land.f[tuple(land.X.T)]) and land.X.shape == (50, 7)
    assert isinstance(land.measure, hoeffding.Uniform if dependence == 0 else hoeffding.Ising)
    assert np.abs(land.truth.values() - land.f).max() < 1e-12 * np.abs(land.f).max()
    assert repr(land) == f"Landscape: 50 rows of 7 bits from {land.measure!r}"


def test_noise_is_added_to_the_rows_alone():
    land = make_landscape(5, n=4000, noise=0.5, rng=2)
    rest = land.y - land.f[tuple(land.X.T)]
    assert rest.std() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(8000))  # four standard errors


def test_a_landscape_is_its_seed():
    one, same, other = (make_landscape(5, dependence=0.3, noise=0.1, rng=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.y, same.y) and not np.array_equal(one.y, other.y)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"d": 17}, "d=17: at most 16"),
        ({"d": 0}, "d=0"),
        ({"n": 0}, "n=0"),
        ({"order": 9}, "order=9"),
        ({"order": 2, "n_interactions": 29}, "n_interactions=29: there are 28 sets"),
        ({"dependence": -0.1}, "dependence=-0.1"),
        ({"noise": float("nan")}, "noise=nan"),
    ],
)
def test_a_landscape_that_cannot_be(bad, message):
    with pytest.raises(ValueError, match=message):
        make_landscape(**{"d": 8, "rng": 0} | bad)


def test_there_is_no_hidden_randomness():
    with pytest.raises(TypeError, match="rng=None"):
        make_landscape(4, rng=None)
