"""A file gives back what was written, bit for bit; whatever was done to it, it is refused or harmless."""

import hashlib
import io
import json
import os
import pickle
import warnings
import zipfile
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hoeffding
from hoeffding import Encoding, HoeffdingRegressor, Ising, Product, Table, Uniform
from hoeffding.bits import BitMatrix, WeightedRows
from strategies import measures, random_rows, seeds

pandas = pytest.importorskip("pandas")


def roundtrip(decomposition, folder, **options):
    path = folder / "result.hfd"
    decomposition.save(path, **options)
    return hoeffding.load(path)


def same(a, b):
    """Equal, bit for bit."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_same(again, first, rows):
    plain = ["family", "engine", "reason", "unique", "remainder", "fidelity", "feature_names", "unseen", "groups"]
    for name in [*plain, "output_names", "encoding"]:
        assert getattr(again, name) == getattr(first, name), name
    assert again.subsets == first.subsets
    assert same(again.coefficients, first.coefficients)
    assert [level.dtype for level in again.family.levels] == [level.dtype for level in first.family.levels]
    for name in ("structural", "correlative", "total", "of_f", "share"):
        assert same(getattr(again.variance(), name), getattr(first.variance(), name)), name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of combinations that were never observed
        assert same(again.predict(rows), first.predict(rows))
        assert same(again.components(rows), first.components(rows))
        for ask in ("shapley", "banzhaf", "interactions"):
            assert same(getattr(again, ask)(rows), getattr(first, ask)(rows)), ask
    assert same(again.shapley_effects(), first.shapley_effects())
    assert same(again.sobol().total, first.sobol().total)
    for mine, theirs in zip(again.parts.tables, first.parts.tables, strict=True):
        assert same(mine, theirs)
    if not isinstance(first.measure, Ising):
        assert repr(again) == repr(first)
        assert again._repr_html_() == first._repr_html_()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


# -- there and back ---------------------------------------------------------------------------------------------------


@given(measure=measures(max_d=5), seed=seeds, outputs=st.sampled_from([(), (1,), (3,)]))
def test_decompositions_on_the_cube_come_back_bit_for_bit(folder, measure, seed, outputs):
    rng = np.random.default_rng(seed)
    cube = (2,) * measure.d
    first = hoeffding.transform(rng.normal(size=cube + outputs), measure)
    again = roundtrip(first, folder)
    rows = rng.integers(0, 2, (20, measure.d))
    assert_same(again, first, rows)
    assert same(again.values(), first.values())
    assert same(again.measure.pmf(), first.measure.pmf())


@pytest.mark.parametrize("measure", [Uniform(3), Product([0.2, 0.5, 1.0])])
def test_measures_keep_their_kind(folder, measure):
    again = roundtrip(hoeffding.transform(np.arange(8.0).reshape(2, 2, 2), measure), folder).measure
    assert type(again) is type(measure) and repr(again) == repr(measure)


def test_an_ising_model_comes_back_as_the_table_of_its_probabilities(folder):
    measure = Ising([0.1, -0.2], [[0.0, 0.5], [0.5, 0.0]])
    again = roundtrip(hoeffding.transform([[1.0, 2.0], [3.0, 5.0]], measure), folder).measure
    assert type(again) is Table and same(again.pmf(), measure.pmf())


@given(
    seed=seeds,
    order=st.integers(1, 3),
    family=st.sampled_from(["shattered", "paper"]),
    weighted=st.booleans(),
    outputs=st.sampled_from([(), (2,)]),
)
@settings(max_examples=30)
def test_fits_by_regression_come_back_bit_for_bit(folder, seed, order, family, weighted, outputs):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, 60, 6)
    weights = rng.exponential(size=60) if weighted else None
    y = rng.normal(size=(60, *outputs))
    model = HoeffdingRegressor(order=order, alpha=1e-3, family=family, unseen="nan").fit(rows, y, weights)
    first = model.decomposition_
    again = roundtrip(first, folder)
    assert_same(again, first, rng.integers(0, 2, (40, 6)))
    for s in first.subsets:
        assert same(again.table(s), first.table(s))


@pytest.mark.parametrize("kind", ["numbers", "categories", "bits"])
def test_what_decompose_gives_comes_back_bit_for_bit(folder, kind):
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(0)
    age, town = rng.integers(18, 90, 400).astype(float), rng.choice(["Lyon", "Nice", "Metz"], 400)
    y = np.where(age > 50, 2.0, 0.0) + (town == "Nice") * (age > 30)
    if kind == "categories":
        rows = pandas.DataFrame({"age": age, "town": town})
        first = hoeffding.decompose(y, rows)
    else:
        rows = np.stack([age, town == "Nice", rng.integers(0, 2, 400)], axis=1)
        rows = rows > [50, 0, 0] if kind == "bits" else rows
        first = hoeffding.decompose(RandomForestRegressor(5, max_depth=4, random_state=0).fit(rows, y), rows)
    assert (first.encoding is None) == (kind == "bits")
    assert_same(roundtrip(first, folder), first, rows)


def regression(**options):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (200, 5))
    y = rows[:, 0] + 2.0 * rows[:, 1] * rows[:, 2] + rng.normal(size=200)
    return HoeffdingRegressor(order=2, alpha=0, **options).fit(rows, y).decomposition_


def test_names_groups_encoding_and_rows_come_back(folder):
    encoding = Encoding.from_bits(
        ["age", "job <b>ä"],
        [(0, "above", 1 / 3), (0, "above", 60.0, True), (1, "member", ["x", "ü"])] + [(1, "level", n) for n in "yz"],
    )
    bits = BitMatrix.from_rows(np.random.default_rng(0).integers(0, 2, (130, 5)))
    first = replace(
        regression(unseen="error"),
        feature_names=encoding.feature_names,
        groups=(("age", (0, 1)), ("job", (2, 3, 4))),
        encoding=encoding,
        output_names=("riskö",),
        rows=WeightedRows(bits, np.linspace(0, 1, 130)),
    )
    again = roundtrip(first, folder, rows=True)
    table = [[0.1, "x"], [70, "z"], [None, "ü"]]
    assert_same(again, first, table)
    assert again.rows.bits.n_rows == 130
    assert same(again.rows.bits.columns, bits.columns) and same(again.rows.weights, first.rows.weights)
    assert roundtrip(first, folder).rows is None
    assert same(again.importance(), first.importance())
    unweighted = roundtrip(replace(first, rows=WeightedRows(bits)), folder, rows=True)
    assert unweighted.rows.weights is None


def test_rows_that_are_not_there_are_not_saved_in_silence(folder):
    fit = regression()
    for result in (replace(fit, rows=None), hoeffding.transform([[1.0, 2.0], [3.0, 7.0]])):
        with pytest.raises(ValueError, match="rows=True: this decomposition holds no rows"):
            result.save(folder / "none", rows=True)
    assert not (folder / "none").exists()
    points = hoeffding.transform([[1.0, 2.0], [3.0, 7.0]], hoeffding.Empirical([[0, 1], [1, 1], [0, 1]]))
    assert np.array_equal(roundtrip(points, folder, rows=True).measure.rows, points.measure.rows)


def test_every_field_of_a_decomposition_is_in_the_file(folder):
    first = regression()
    again = roundtrip(first, folder)
    assert {f.name for f in fields(first)} == {
        "measure", "family", "coefficients", "engine", "reason", "unique", "remainder", "fidelity", "feature_names",
        "n_jobs", "unseen", "fitted_variance", "groups", "output_names", "rows", "encoding",
        "prepare",
    }  # fmt: skip  # a new field must be written and read (or be in IN_MEMORY), then it may be added here
    assert again.n_jobs == -1 and hoeffding.load(folder / "result.hfd", n_jobs=1).n_jobs == 1


def test_a_measure_from_a_file_says_what_it_knows(folder):
    measure = roundtrip(regression(), folder).measure
    assert measure.marginal([0, 1]).shape == (2, 2) and measure.is_shattered([0, 1])
    assert measure.marginals(np.zeros((0, 5), np.uint8)).shape == (0, 32)
    with pytest.raises(ValueError, match=r"subset=\(0, 1, 2\): only the sets that have a component were saved"):
        measure.marginal([0, 1, 2])
    for ask in (measure.points, measure.shattered, measure.count_shattered, lambda: measure.n_points):
        with pytest.raises(ValueError, match="read from a file, which holds the marginals of components, not the rows"):
            ask()
    with pytest.raises(ValueError, match="read from a file"):
        measure.sample(3, rng=0)


def test_a_saved_file_may_be_saved_again(folder):
    first = regression()
    first.save(folder / "a.hfd")
    hoeffding.load(folder / "a.hfd").save(folder / "b.hfd")
    assert (folder / "a.hfd").read_bytes() == (folder / "b.hfd").read_bytes()


# -- the file ---------------------------------------------------------------------------------------------------------


def test_equal_results_give_equal_files_with_the_checksums_of_their_entries(folder):
    regression().save(folder / "a.hfd")
    regression().save(str(folder / "b.hfd"))
    assert (folder / "a.hfd").read_bytes() == (folder / "b.hfd").read_bytes()
    entries = unpacked((folder / "a.hfd").read_bytes())
    sums = dict(reversed(line.split("  ")) for line in entries.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(content).hexdigest() for name, content in entries.items()}
    assert set(entries) == {
        *("meta.json", "coefficients.npy", "subsets_0.npy", "subsets_1.npy", "subsets_2.npy", "marginals_0.npy"),
        *("marginals_1.npy", "marginals_2.npy", "variance_structural.npy", "variance_correlative.npy"),
        *("variance_total.npy", "variance_of_f.npy"),
    }


def test_a_file_is_replaced_completely_or_not_at_all(folder, monkeypatch):
    path = folder / "kept.hfd"
    regression().save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(OSError, match=r"cannot write the file: No space left on device: '.*kept.hfd'"):
        regression().save(path)
    assert path.read_bytes() == before
    assert [name for name in os.listdir(folder) if "part" in name] == []


def test_paths_that_do_not_exist_are_named(folder):
    with pytest.raises(FileNotFoundError, match=r"cannot write the file: .*nowhere/x.hfd"):
        regression().save(folder / "nowhere" / "x.hfd")
    with pytest.raises(FileNotFoundError, match=r"nothing\.hfd"):
        hoeffding.load(folder / "nothing.hfd")
    with pytest.raises(ValueError, match="n_jobs=0"):
        hoeffding.load(folder / "nothing.hfd", n_jobs=0)


# -- tampering ---------------------------------------------------------------------------------------------------------


def unpacked(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(entries, compression=zipfile.ZIP_STORED, *, sign=True):
    """An archive of these entries, with the right checksums unless told otherwise."""
    entries = dict(entries)
    if sign:
        entries.pop("SHA256SUMS", None)
        lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in entries.items()]
        entries["SHA256SUMS"] = "".join(lines).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return out.getvalue()


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.fixture(scope="module")
def files(folder):
    """Files of each kind of measure, small so that fuzzing covers them."""
    cube = hoeffding.transform(
        np.arange(8.0).reshape(2, 2, 2) ** 2, hoeffding.Empirical([[0, 0, 1], [1, 1, 0], [0, 1, 1]])
    )
    encoding = Encoding.from_bits(
        ["a", "b"], [(0, "above", t) for t in (1.0, 2.0, 3.0)] + [(1, "level", n) for n in "xy"]
    )
    fit = regression()
    rows = WeightedRows(BitMatrix.from_rows([[1, 0, 1, 0, 1]] * 3), np.ones(3))
    rich = replace(fit, encoding=encoding, groups=(("a", (0, 1, 2)),), feature_names=encoding.feature_names, rows=rows)
    results = {
        "cube": cube,
        "uniform": hoeffding.transform([[1.0, 2.0], [3.0, 7.0]]),
        "table": hoeffding.transform([[1.0, 2.0], [3.0, 7.0]], [[0.1, 0.2], [0.3, 0.4]]),
        "fit": rich,
    }
    contents = {}
    for name, result in results.items():
        result.save(folder / name, rows=name in ("cube", "fit"))
        contents[name] = (folder / name).read_bytes()
    return contents


def load_bytes(content, folder):
    path = folder / "tampered.hfd"
    path.write_bytes(content)
    return hoeffding.load(path)


def load_or_refuse(content, folder):
    """The decomposition, asked for all it has, or None if it is refused with the path."""
    try:
        found = load_bytes(content, folder)
    except ValueError as error:
        if "tampered.hfd: " not in str(error):
            raise
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = BitMatrix.from_rows(np.zeros((2, found.n_features))).to_rows()
        (replace(found, encoding=None).predict(rows), found.variance(), repr(found), found.parts, found.to_frame())
    return found


NAMES = ["cube", "uniform", "table", "fit"]


@pytest.mark.parametrize("name", NAMES)
def test_a_truncated_file_is_refused(files, folder, name):
    content = files[name]
    for end in [*range(0, len(content), 37), len(content) - 1]:
        with pytest.raises(ValueError, match=r"tampered.hfd: not a file of hoeffding, or damaged"):
            load_bytes(content[:end], folder)


@given(data=st.data(), name=st.sampled_from(NAMES))
@settings(max_examples=500)
def test_a_flipped_bit_is_noticed_or_changes_nothing(files, folder, data, name):
    content = bytearray(files[name])
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    found = load_or_refuse(bytes(content), folder)
    if found is not None:  # the bit was of a time stamp, or the like
        (folder / "original.hfd").write_bytes(files[name])
        original = hoeffding.load(folder / "original.hfd")
        assert repr(found) == repr(original) and same(found.coefficients, original.coefficients)


def test_a_changed_entry_is_noticed_by_its_checksum(files, folder):
    entries = unpacked(files["fit"])
    for name in entries:
        if name == "SHA256SUMS":
            continue
        changed = entries | {name: entries[name] + b" "}
        with pytest.raises(ValueError, match=f"the checksum of {name} is wrong: the file is damaged or was changed"):
            load_bytes(packed(changed, sign=False), folder)


ARRAYS = [
    np.zeros(3), np.zeros((0, 2)), np.array(1.0), np.full((5, 2), np.nan), np.full((5, 2), np.inf),
    np.full((5, 2), -0.5), np.zeros((5, 2), np.float32), np.zeros((5, 2), ">f8"), np.asfortranarray(np.ones((5, 2))),
    np.array(["a"]), np.zeros((1, 0), np.uint8), np.array([[9]], np.uint8), np.array([[1], [0]], np.uint8),
    np.array([[1, 0]], np.uint8), np.array([[0, 1], [0, 1]], np.uint8), np.full((5, 1), 2**63, np.uint64),
]  # fmt: skip


@given(data=st.data(), name=st.sampled_from(NAMES))
@settings(max_examples=300)
def test_another_array_with_the_right_checksum_is_refused_or_harmless(files, folder, data, name):
    entries = unpacked(files[name])
    at = data.draw(st.sampled_from(sorted(n for n in entries if n.endswith(".npy"))))
    entries[at] = npy(data.draw(st.sampled_from(ARRAYS)))
    load_or_refuse(packed(entries), folder)


@given(data=st.data(), name=st.sampled_from(NAMES))
def test_a_missing_or_further_entry_is_refused_or_harmless(files, folder, data, name):
    entries = unpacked(files[name])
    gone = data.draw(st.sampled_from(sorted(entries)))
    del entries[gone]
    if gone == "SHA256SUMS" and data.draw(st.booleans()):
        assert load_or_refuse(packed(entries, sign=False), folder) is None
    entries[data.draw(st.sampled_from(["../../escape", "/etc/x", "subsets_9.npy", "rows.npy"]))] = b"x"
    load_or_refuse(packed(entries), folder)


JUNK = [None, -1, 10**30, 0.5, "", "x", [], {}, [[]], True, [1], "NaN", "\ud800", {"kind": "table", "text": ""}]


def places(data, path=()):
    yield path
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(value, (*path, key))


@given(data=st.data(), name=st.sampled_from(NAMES))
@settings(max_examples=300)
def test_another_description_with_the_right_checksum_is_refused_or_harmless(files, folder, data, name):
    entries = unpacked(files[name])
    meta = json.loads(entries["meta.json"])
    path = data.draw(st.sampled_from(list(places(meta))[1:]))
    at = meta
    for key in path[:-1]:
        at = at[key]
    if isinstance(at, dict) and data.draw(st.booleans()):
        del at[path[-1]]
    else:
        at[path[-1]] = data.draw(st.sampled_from(JUNK))
    entries["meta.json"] = json.dumps(meta).encode()
    load_or_refuse(packed(entries), folder)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("key", ["remainder", "fidelity"])
def test_numbers_that_are_not_finite_are_refused(files, folder, key, word):
    entries = unpacked(files["fit"])
    meta = json.loads(entries["meta.json"])
    text = json.dumps(meta | {key: "HERE"}).replace('"HERE"', word)
    with pytest.raises(ValueError, match=r"not a number|expected a finite number"):
        load_bytes(packed(entries | {"meta.json": text.encode()}), folder)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"null", b"{", b"\xff\xfe", b"[" * 10**5, b'{"format": "hoeffding decomposition"}', b'"' * 9]
)
def test_a_description_that_is_none_is_refused(files, folder, text):
    assert load_or_refuse(packed(unpacked(files["fit"]) | {"meta.json": text}), folder) is None


def with_meta(files, **change):
    entries = unpacked(files["fit"])
    return packed(entries | {"meta.json": json.dumps(json.loads(entries["meta.json"]) | change).encode()})


def test_a_newer_format_is_refused_with_the_version_that_wrote_it(files, folder):
    with pytest.raises(
        ValueError, match=r"has format 2, written by hoeffding 9\.9; this is hoeffding .*format 1; upgrade"
    ):
        load_bytes(with_meta(files, version=[2, 0], written_by="hoeffding 9.9"), folder)
    with pytest.raises(ValueError, match="format 0 does not exist"):
        load_bytes(with_meta(files, version=[0, 7]), folder)
    with pytest.raises(ValueError, match="not a hoeffding decomposition"):
        load_bytes(with_meta(files, format="another"), folder)


def test_a_later_minor_version_may_say_more(files, folder):
    entries = unpacked(with_meta(files, version=[1, 9], mood="good"))
    assert load_bytes(packed(entries | {"more.npy": npy(np.zeros(3))}), folder).engine == "regression"


# -- attacks ----------------------------------------------------------------------------------------------------------


class Alarm:
    def __reduce__(self):
        return (os.system, ("touch /tmp/hoeffding-was-here",))


def test_pickles_are_not_read(files, folder):
    nasty = pickle_array()
    for name in ("coefficients.npy", "subsets_1.npy"):
        with pytest.raises(ValueError, match="are not an array of"):
            load_bytes(packed(unpacked(files["fit"]) | {name: nasty}), folder)
    with pytest.raises(ValueError, match="not a file of hoeffding"):
        load_bytes(pickle.dumps(Alarm()), folder)
    assert not os.path.exists("/tmp/hoeffding-was-here")


def pickle_array():
    out = io.BytesIO()
    np.save(out, np.array([Alarm()], dtype=object), allow_pickle=True)
    return out.getvalue()


def test_headers_of_arrays_are_not_executed_and_sizes_not_believed(files, folder):
    def header(text):
        body = text.ljust(117).encode() + b"\n"
        return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body

    texts = [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (10**9, 10**9), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-5,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os').getpid(),), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f8', (1000000000,))], 'fortran_order': False, 'shape': (1,), }",
        "print('here')",
        "((((((",
        "'" * 50,
    ]
    for text in texts:
        with pytest.raises(ValueError, match=r"tampered.hfd: coefficients: "):
            load_bytes(packed(unpacked(files["fit"]) | {"coefficients.npy": header(text)}), folder)


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_bombs_are_not_unpacked(files, folder, compression):
    entries = unpacked(files["fit"]) | {"coefficients.npy": bytes(5_000_000)}
    with pytest.raises(ValueError, match="entries are compressed or overlap"):
        load_bytes(packed(entries, compression), folder)


def test_entries_that_overlap_or_repeat_are_refused(files, folder):
    content = packed(unpacked(files["fit"]))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        start = archive.start_dir
        entries = archive.infolist()
    directory = content[start : content.index(b"PK\x05\x06", start)]
    first = directory[: directory.index(b"PK\x01\x02", 4)]
    many = 2000  # entries of the directory, all of which are one in the file
    end = bytearray(content[content.index(b"PK\x05\x06", start) :])
    end[8:10] = end[10:12] = (len(entries) + many).to_bytes(2, "little")
    end[12:16] = (len(directory) + many * len(first)).to_bytes(4, "little")
    overlapping = content[:start] + directory + many * first + bytes(end)
    with pytest.raises(ValueError, match=r"overlap|same name|damaged"):
        load_bytes(overlapping, folder)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of the repetition
        for name in ("meta.json", "SHA256SUMS", "meta.json"):
            archive.writestr(name, unpacked(content)[name])
    with pytest.raises(ValueError, match="two entries have the same name"):
        load_bytes(out.getvalue(), folder)


@given(content=st.binary(max_size=400))
def test_any_other_file_is_refused(folder, content):
    assert load_or_refuse(content, folder) is None
    assert load_or_refuse(b"PK\x03\x04" + content, folder) is None
