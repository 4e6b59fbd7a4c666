"""Files that hold a decomposition: written once, read anywhere, checked throughout, and never executed.

A file is a zip archive whose entries are stored, not compressed:

==================== ==================================================================================================
``meta.json``        names, groups, engine, reason, fidelity, the encoding, and how the measure is kept
``*.npy``            arrays: sets by size, coefficients, marginals, variances, and what else the measure needs
``SHA256SUMS``       the checksum of every other entry, as ``sha256sum -c`` reads it
==================== ==================================================================================================

``docs/files.md`` describes them all. Reading trusts nothing: entries must be those described, with the checksums
stated, numbers must be finite, shapes must agree, sets must be sorted. What is wrong is a ValueError that says so. As
nothing is compressed, nothing read takes more memory than the file is large.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from hoeffding.bits import BitMatrix, WeightedRows, pack_columns
from hoeffding.measure import Empirical, Measure, Product, Table, Uniform
from hoeffding.names import as_feature_names, as_groups, as_output_names
from hoeffding.subsets import IndexArray, SubsetFamily, index_dtype
from hoeffding.tables import Encoding

FloatArray = npt.NDArray[np.float64]
Arrays = dict[str, npt.NDArray[Any]]

FORMAT = "hoeffding decomposition"
MAJOR, MINOR = 1, 0
META, SUMS = "meta.json", "SHA256SUMS"
VARIANCES = ("structural", "correlative", "total", "of_f")
UNSEEN = ("zero", "nan", "error")
SUM_TOLERANCE = 1e-9  # of probabilities that were rounded when they were computed
EPOCH = (1980, 1, 1, 0, 0, 0)  # of all entries, so that equal results give equal files


class Stored(Measure):
    """The distribution of rows that are gone: the marginals of the sets of one family, as a file holds them.

    Attributes
    ----------
    family : SubsetFamily
    tables : tuple of arrays
        ``tables[s]`` has shape ``(n_s, 2**s)``: the pmfs of the sets of size s.
    """

    def __init__(self, family: SubsetFamily, tables: tuple[FloatArray, ...], text: str) -> None:
        self.d = family.d
        self.family = family
        self.tables = tables
        self.text = text

    @classmethod
    def of(cls, measure: Measure, family: SubsetFamily) -> Self:
        """What a file keeps of a measure."""
        return cls(family, tuple(measure.marginals(level) for level in family.levels), repr(measure))

    def _marginals(self, level: IndexArray) -> FloatArray:
        at = self.family.positions(level)
        if len(at) and at.min() < 0:
            wanted = tuple(level[int(np.argmin(at))].tolist())
            raise ValueError(f"subset={wanted}: only the sets that have a component were saved")
        size = level.shape[1]
        if size >= len(self.tables):
            return np.empty((0, 2**size))
        return np.asarray(self.tables[size][at - self.family.starts[size]])

    def _marginal(self, s: tuple[int, ...]) -> FloatArray:
        level = np.array([s], index_dtype(self.d)).reshape(1, len(s))
        return self._marginals(level).reshape((2,) * len(s))

    def _sample(self, n: int, rng: np.random.Generator) -> NoReturn:
        self._refuse()

    def points(self) -> NoReturn:
        self._refuse()

    @property
    def n_points(self) -> int:
        self._refuse()

    def shattered(self, order: int | None = None) -> NoReturn:
        self._refuse()

    def is_shattered(self, subset: Any) -> bool:
        return bool((self.marginal(subset) > 0).all())

    def count_shattered(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise ValueError(
            "this measure was read from a file, which holds the marginals of components, not the rows; pass rows to "
            "what takes them, or save with rows=True"
        )

    def __repr__(self) -> str:
        return self.text


# -- writing ----------------------------------------------------------------------------------------------------------


def write(path: str | os.PathLike[str], fields: Mapping[str, Any]) -> None:
    """Write the fields of a decomposition; the file is there completely or not at all."""
    meta, arrays = _describe(fields)
    entries = {META: json.dumps(meta, ensure_ascii=False, allow_nan=False, indent=1).encode()}
    entries |= {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    entries[SUMS] = "".join(f"{_checksum(content)}  {name}\n" for name, content in entries.items()).encode()
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, content in entries.items():
                archive.writestr(zipfile.ZipInfo(name, EPOCH), content)
        part.replace(target)
    except OSError as error:
        raise OSError(error.errno, f"cannot write the file: {error.strerror}", os.fspath(path)) from error
    finally:
        part.unlink(missing_ok=True)


def _describe(fields: Mapping[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """The fields as plain data and arrays."""
    family, measure, encoding = fields["family"], fields["measure"], fields["encoding"]
    arrays: Arrays = {f"subsets_{s}": level.astype(index_dtype(family.d)) for s, level in enumerate(family.levels)}
    arrays["coefficients"] = fields["coefficients"]
    if fields["fitted_variance"] is not None:
        arrays |= {f"variance_{name}": getattr(fields["fitted_variance"], name) for name in VARIANCES}
    kept, more = _describe_measure(measure, family, whole=fields["fitted_variance"] is None)
    rows, columns = _describe_rows(fields["rows"])
    meta = {
        "format": FORMAT,
        "version": [MAJOR, MINOR],
        "written_by": f"hoeffding {version('hoeffding')}",
        "feature_names": list(fields["feature_names"]),
        "output_names": None if fields["output_names"] is None else list(fields["output_names"]),
        "groups": [[name, list(map(int, members))] for name, members in fields["groups"]],
        "engine": fields["engine"],
        "reason": fields["reason"],
        "unique": bool(fields["unique"]),
        "remainder": float(fields["remainder"]),
        "fidelity": float(fields["fidelity"]),
        "unseen": fields["unseen"],
        "largest_subset": len(family.levels) - 1,
        "measure": kept,
        "rows": rows,
        "encoding": None if encoding is None else encoding.to_dict(),
    }
    return meta, arrays | more | columns


def _describe_measure(measure: Measure, family: SubsetFamily, *, whole: bool) -> tuple[dict[str, Any], Arrays]:
    """The measure itself where the result is asked for more than its components, otherwise the marginals of these."""
    text = repr(measure)
    if not whole:
        tables = Stored.of(measure, family).tables
        return {"kind": "marginals", "text": text}, {f"marginals_{s}": p for s, p in enumerate(tables)}
    if isinstance(measure, Product):
        kind = "uniform" if isinstance(measure, Uniform) else "product"
        return {"kind": kind, "text": text}, {"probabilities": measure.probabilities}
    if isinstance(measure, Empirical):
        facts = {"kind": "empirical", "text": text, "n_rows": int(measure.n_rows), "distinct": bool(measure.distinct)}
        facts["n_points"] = len(measure.rows)
        return facts, {"points": pack_columns(measure.rows), "weights": measure.weights}
    return {"kind": "table", "text": text}, {"pmf": measure.pmf()}


def _describe_rows(rows: WeightedRows | None) -> tuple[dict[str, Any] | None, Arrays]:
    if rows is None:
        return None, {}
    arrays: Arrays = {"rows": rows.bits.columns}
    if rows.weights is not None:
        arrays["row_weights"] = rows.weights
    return {"n_rows": int(rows.bits.n_rows), "weighted": rows.weights is not None}, arrays


def _npy(array: npt.NDArray[Any]) -> bytes:
    """The bytes of a .npy file, in little-endian order."""
    out = BytesIO()
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
    np.lib.format.write_array(out, little, version=(1, 0), allow_pickle=False)
    return out.getvalue()


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# -- reading ----------------------------------------------------------------------------------------------------------


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of a decomposition, with ``fitted_variance`` as a tuple of arrays; a bad file is a ValueError."""
    content = Path(path).read_bytes()
    try:
        entries = _entries(content)
        meta = _meta(entries)
        return _Reader(meta, entries).fields()
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        words = f"a required entry is missing: {error}" if type(error) is KeyError else str(error)
        raise ValueError(f"{os.fspath(path)}: {words}") from error


def _entries(content: bytes) -> dict[str, bytes]:
    """All entries of the archive; not one of them is unpacked to more than it takes in the file."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            found = archive.infolist()
            stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in found)
            if not stored or sum(entry.file_size for entry in found) > len(content):
                raise ValueError("entries are compressed or overlap, as in no file of hoeffding; it was tampered with")
            if len({entry.filename for entry in found}) < len(found):
                raise ValueError("two entries have the same name; it was tampered with")
            return {entry.filename: archive.read(entry) for entry in found}
    except ValueError:
        raise
    except Exception as error:  # zipfile raises many kinds of errors for archives that are none
        raise ValueError(f"not a file of hoeffding, or damaged ({error})") from error


def _meta(entries: Mapping[str, bytes]) -> dict[str, Any]:
    """The description, after format, version and checksums were found to be right."""
    if META not in entries or SUMS not in entries:
        raise ValueError("not a file of hoeffding: it has no description or no checksums")
    meta = json.loads(entries[META].decode(), parse_constant=_no_constant)
    json.dumps(meta, ensure_ascii=False).encode()  # halves of characters are no text, which is a ValueError
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError(f"not a {FORMAT}")
    major = _integer(meta["version"][0], "version")
    if major > MAJOR:
        raise ValueError(
            f"has format {major}, written by {meta.get('written_by')}; this is hoeffding {version('hoeffding')}, which "
            f"reads format {MAJOR}; upgrade it"
        )
    if major < MAJOR:
        raise ValueError(f"format {major} does not exist")
    lines = (line.partition("  ") for line in entries[SUMS].decode().splitlines())
    stated = {name: checksum for checksum, _, name in lines}
    for name, content in entries.items():
        if name != SUMS and stated.get(name) != _checksum(content):
            raise ValueError(f"the checksum of {name} is wrong: the file is damaged or was changed")
    return meta


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"the description holds {word}, which is not a number")


class _Reader:
    """Turns checked entries into fields, each checked against the others."""

    def __init__(self, meta: dict[str, Any], entries: Mapping[str, bytes]) -> None:
        self.meta = meta
        self.entries = entries
        self.d = len(_list(meta["feature_names"], "feature_names"))
        if self.d == 0:
            raise ValueError("feature_names: there are none")

    def fields(self) -> dict[str, Any]:
        meta, family = self.meta, self._family()
        coefficients = self._floats("coefficients")
        if coefficients.ndim not in (1, 2) or len(coefficients) != len(family):
            raise ValueError(f"coefficients of shape {coefficients.shape} for {len(family)} sets")
        names = as_feature_names(meta["feature_names"], self.d)
        encoding = None if meta["encoding"] is None else Encoding.from_dict(meta["encoding"])
        if encoding is not None and encoding.n_features != self.d:
            raise ValueError(f"encoding of {encoding.n_features} bits for {self.d} features")
        groups = {_text(name, "groups"): _list(members, "groups") for name, members in meta["groups"]}
        if meta["unseen"] not in UNSEEN or not isinstance(meta["unique"], bool):
            raise ValueError(f"unseen={meta['unseen']!r}, unique={meta['unique']!r}: not allowed")
        variance = self._variance(coefficients.shape)
        return {
            "measure": self._measure(family, whole=variance is None),
            "family": family,
            "coefficients": coefficients,
            "engine": _text(meta["engine"], "engine"),
            "reason": _text(meta["reason"], "reason"),
            "unique": meta["unique"],
            "remainder": _number(meta["remainder"], "remainder"),
            "fidelity": _number(meta["fidelity"], "fidelity"),
            "feature_names": names,
            "unseen": meta["unseen"],
            "fitted_variance": variance,
            "groups": as_groups(groups, names),
            "output_names": as_output_names(meta["output_names"], coefficients.shape[1:]),
            "rows": self._rows(),
            "encoding": encoding,
        }

    # -- arrays -------------------------------------------------------------------------------------------------------

    def _array(self, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array whose header says what it must and whose length is what the header says."""
        content = BytesIO(self.entries[f"{name}.npy"])
        try:
            np.lib.format.read_magic(content)
            shape, fortran, found = np.lib.format.read_array_header_1_0(content)
        except Exception as error:  # NumPy parses the header as Python text, which fails in many ways
            raise ValueError(f"{name}: not an array ({error})") from error
        wanted = np.dtype(dtype).newbyteorder("<")
        data = content.read()
        if found != wanted or fortran or min(shape, default=0) < 0 or math.prod(shape) * found.itemsize != len(data):
            raise ValueError(f"{name}: {len(data)} bytes are not an array of {shape} values of type {wanted}")
        return np.ndarray(shape, wanted, data).astype(np.dtype(dtype))

    def _floats(self, name: str, shape: tuple[int, ...] | None = None) -> FloatArray:
        a = self._array(name, np.float64)
        if shape is not None and a.shape != shape:
            raise ValueError(f"{name}: expected shape {shape}, got {a.shape}")
        if not np.isfinite(a).all():
            raise ValueError(f"{name}: holds numbers that are not finite")
        return a

    def _family(self) -> SubsetFamily:
        largest = _integer(self.meta["largest_subset"], "largest_subset")
        levels = []
        for s in range(largest + 1):
            level = self._array(f"subsets_{s}", index_dtype(self.d))
            if level.ndim != 2 or level.shape[1] != s:
                raise ValueError(f"subsets_{s}: expected shape (n, {s}), got {level.shape}")
            _check_level(level, self.d)
            levels.append(level)
        if len(levels[0]) != 1:
            raise ValueError("subsets_0: the empty set is missing")
        return SubsetFamily(self.d, tuple(levels))

    def _variance(self, shape: tuple[int, ...]) -> tuple[FloatArray, ...] | None:
        if "variance_total.npy" not in self.entries:
            return None
        return tuple(self._floats(f"variance_{name}", shape[1:] if name == "of_f" else shape) for name in VARIANCES)

    # -- measures and rows --------------------------------------------------------------------------------------------

    def _measure(self, family: SubsetFamily, *, whole: bool) -> Measure:
        facts = self.meta["measure"]
        kind, text = facts["kind"], _text(facts["text"], "measure")
        if whole != (kind != "marginals"):
            raise ValueError(f"a measure of kind {kind!r} does not go with the variances that are (not) there")
        if kind == "marginals":
            return self._stored(family, text)
        measure = self._whole_measure(kind, facts)
        if measure.d != self.d:
            raise ValueError(f"a measure of {measure.d} features for {self.d} names")
        return measure

    def _whole_measure(self, kind: str, facts: Mapping[str, Any]) -> Measure:
        if kind == "product":
            return Product(self._floats("probabilities"))
        if kind == "uniform":
            if not (self._floats("probabilities", (self.d,)) == 0.5).all():
                raise ValueError("probabilities: a uniform measure has other ones")
            return Uniform(self.d)
        if kind == "table":
            return Table(self._floats("pmf"))
        if kind != "empirical" or not isinstance(facts["distinct"], bool):
            raise ValueError(f"a measure of unknown kind {kind!r}")
        points = self._packed("points", _integer(facts["n_points"], "n_points"))
        measure = Empirical(points.to_rows(), self._floats("weights", (points.n_rows,)))
        if measure.n_points != points.n_rows:
            raise ValueError("points: some are equal or weigh nothing")
        measure.n_rows, measure.distinct = _integer(facts["n_rows"], "n_rows"), facts["distinct"]
        return measure

    def _stored(self, family: SubsetFamily, text: str) -> Stored:
        tables = []
        for s, level in enumerate(family.levels):
            p = self._floats(f"marginals_{s}", (len(level), 2**s))
            if (p < 0).any() or (np.abs(p.sum(axis=1) - 1) > SUM_TOLERANCE).any():
                raise ValueError(f"marginals_{s}: not probabilities")
            tables.append(p)
        return Stored(family, tuple(tables), text)

    def _rows(self) -> WeightedRows | None:
        facts = self.meta["rows"]
        if facts is None:
            return None
        bits = self._packed("rows", _integer(facts["n_rows"], "n_rows"))
        weights = self._floats("row_weights", (bits.n_rows,)) if facts["weighted"] else None
        if weights is not None and ((weights < 0).any() or not weights.any()):
            raise ValueError("row_weights: must not be negative, nor all zero")
        return WeightedRows(bits, weights)

    def _packed(self, name: str, n_rows: int) -> BitMatrix:
        """Packed columns, one for each feature, whose padding is zero."""
        columns = self._array(name, np.uint64)
        if n_rows < 1 or columns.shape != (self.d, -(-n_rows // 64)):
            raise ValueError(f"{name}: shape {columns.shape} does not hold {n_rows} rows of {self.d} bits")
        used = n_rows % 64
        if used and (columns[:, -1] >> np.uint64(used)).any():
            raise ValueError(f"{name}: holds more than {n_rows} rows")
        return BitMatrix(columns, n_rows)


def _check_level(level: IndexArray, d: int) -> None:
    """Sets of one size must be sorted, each and among themselves, and be sets of features."""
    if level.size == 0:
        return
    if level.max() >= d or any((a >= b).any() for a, b in pairwise(level.T.astype(np.int64))):
        raise ValueError(f"subsets_{level.shape[1]}: not sets of {d} features in increasing order")
    order = np.lexsort(level.T[::-1])
    repeated = (level[1:] == level[:-1]).all(axis=1).any()
    if repeated or (order != np.arange(len(level))).any():
        raise ValueError(f"subsets_{level.shape[1]}: the sets are not in lexicographic order")


# -- plain values -----------------------------------------------------------------------------------------------------


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected text, got {value!r}")
    return value


def _list(value: Any, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{name}: expected a list, got {value!r}")
    return value


def _integer(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{name}: expected a finite number, got {value!r}")
    return float(value)
