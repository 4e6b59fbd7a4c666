"""Where the tables of the data sets come from, and how each is recognised.

A table is read from ``<name>.parquet`` in the folder that the environment variable ``HOEFFDING_DATA`` names. Otherwise
the published file is downloaded from its own address, converted, and kept as Parquet in the cache folder. The content
of either is compared with a digest before it is used.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

EXTRA_MISSING = 'data sets need the extra "data": python -m pip install "hoeffding[data]"'

# Names of columns, for files that have none or others.
KR_VS_KP = (
    "bkblk bknwy bkon8 bkona bkspr bkxbq bkxcr bkxwp blxwp bxqsq cntxt dsopp dwipd hdchk katri mulch qxmsq r2ar8 "
    "reskd reskr rimmx rkxwp rxmsq simpl skach skewr skrxp spcop stlmt thrsk wkcti wkna8 wknck wkovl wkpos wtoeg class"
)
MUSHROOMS = (
    "class cap-shape cap-surface cap-color bruises odor gill-attachment gill-spacing gill-size gill-color stalk-shape "
    "stalk-root stalk-surface-above-ring stalk-surface-below-ring stalk-color-above-ring stalk-color-below-ring "
    "veil-type veil-color ring-number ring-type spore-print-color population habitat"
)
ENTACMAEA = "genotype aa count_input count_red count_blue brightness_red brightness_blue brightness_combined"
GB1 = "variant hamming_distance count_input count_selected fitness"
AVGFP = "aa_mutations unique_barcodes median_brightness std"


@dataclass(frozen=True)
class Source:
    """One published file: address, sha256 where that is known, how to read it, and the digest of its content."""

    url: str
    file: str
    sha256: str | None
    read: Callable[[Path], Any]
    content: str


def folder() -> Path | None:
    """The folder that ``HOEFFDING_DATA`` names, if it is set."""
    named = os.environ.get("HOEFFDING_DATA")
    if not named:
        return None
    if not Path(named).is_dir():
        raise FileNotFoundError(f"HOEFFDING_DATA={named!r}: no such folder; unset it to download data sets instead")
    return Path(named)


def cache_folder() -> Path:
    """``HOEFFDING_CACHE`` if it is set, else ``hoeffding`` in the user's folder for caches; made if need be."""
    named, base = os.environ.get("HOEFFDING_CACHE"), os.environ.get("XDG_CACHE_HOME")
    path = Path(named) if named else (Path(base) if base else Path.home() / ".cache") / "hoeffding"
    path.mkdir(parents=True, exist_ok=True)
    return path


def table(name: str) -> Any:
    """The published table of a data set as a pandas data frame, its content verified."""
    try:
        import pandas as pd
        import pyarrow  # noqa: F401  # what pandas reads Parquet with
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(EXTRA_MISSING) from error
    source, here = SOURCES[name], folder()
    if here is not None:
        path = here / f"{name}.parquet"
        if not path.is_file():
            raise FileNotFoundError(f"{path.name} is not in HOEFFDING_DATA={str(here)!r}; unset it to download instead")
        return _verified(pd.read_parquet(path), source, path)
    path = cache_folder() / f"{name}.parquet"
    if not path.is_file():
        frame = _verified(source.read(download(source)), source, Path(source.url))
        partial = path.with_suffix(f".{os.getpid()}")
        frame.to_parquet(partial)
        partial.replace(path)
    return _verified(pd.read_parquet(path), source, path)


def download(source: Source) -> Path:
    """The published file in the cache folder, downloaded if it is not there."""
    try:
        import pooch
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(EXTRA_MISSING) from error
    kept = cache_folder() / source.file
    sha256 = source.sha256 and f"sha256:{source.sha256}"
    try:
        return Path(pooch.retrieve(source.url, sha256, fname=source.file, path=cache_folder()))
    except OSError as error:  # every network error is one
        raise ConnectionError(
            f"{source.url} cannot be downloaded ({_reason(error)}); without a network, get that file elsewhere and "
            f"save it as {kept}, or set HOEFFDING_DATA to a folder with the tables as Parquet"
        ) from error


def _reason(error: BaseException) -> str:
    """What lies at the bottom of an error of the network, which carries others inside."""
    while isinstance(inside := getattr(error, "reason", error.args[0] if error.args else None), BaseException):
        error = inside
    return str(error)


def _verified(frame: Any, source: Source, origin: Path) -> Any:
    found = digest(frame)
    if found != source.content:
        raise ValueError(
            f"{origin}: this is not the table as published (digest {found}, expected {source.content}); "
            f"delete the file, or report a new version of the data set"
        )
    return frame


def digest(frame: Any) -> str:
    """A digest of the names and values of a table, whatever file it is in.

    Numbers with a fraction count to seven digits, since published files differ in how they print the last ones.
    Columns of lists, which we derive ourselves, do not count.
    """
    import pandas as pd

    content = hashlib.sha256()
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_float_dtype(column):
            numbers = column.to_numpy(np.float32)
            values = np.where(np.isnan(numbers), np.float32(np.nan), numbers).tobytes()  # one NaN of the many
        elif pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(np.int64).tobytes()
        elif len(column) and isinstance(column.iloc[0], str):
            values = "\n".join(column).encode()
        else:
            continue
        content.update(f"{name} {len(column)} {len(values)}\n".encode() + values)
    return content.hexdigest()[:32]


# -- reading the published files --------------------------------------------------------------------------------------


def _read_entacmaea(path: Path) -> Any:
    import pandas as pd

    sheet = pd.read_excel(path, sheet_name="genodata", header=None, skiprows=2).dropna(axis="columns", how="all")
    frame = sheet.set_axis(ENTACMAEA.split(), axis="columns")
    frame["genotype"] = frame["genotype"].astype(str).str.strip().str.strip("'")
    frame["aa"] = frame["aa"].astype(str).str.strip().str.strip("'")
    for i in range(13):
        frame.insert(2 + i, f"s{i + 1:02d}", frame["genotype"].str[i].astype(np.uint8))
    return frame


def _member(path: Path, ending: str) -> io.BytesIO:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(ending)]
        if len(names) != 1:
            raise ValueError(f"{path}: expected one file {ending} inside, found {archive.namelist()}")
        return io.BytesIO(archive.read(names[0]))


def _read_kr_vs_kp(path: Path) -> Any:
    import pandas as pd

    file = _member(path, "kr-vs-kp.data")
    return pd.read_csv(file, header=None, names=KR_VS_KP.split(), dtype=str, keep_default_na=False)


def _read_mushrooms(path: Path) -> Any:
    import pandas as pd

    file = _member(path, "agaricus-lepiota.data")
    return pd.read_csv(file, header=None, names=MUSHROOMS.split(), dtype=str, keep_default_na=False)


def _read_sgemm(path: Path) -> Any:
    import pandas as pd

    frame = pd.read_csv(_member(path, "sgemm_product.csv"))
    return frame.rename(columns={f"Run{i} (ms)": f"run{i}_ms" for i in (1, 2, 3, 4)})


def _read_gb1(path: Path) -> Any:
    import pandas as pd

    sheet = pd.read_excel(path, usecols=["Variants", "HD", "Count input", "Count selected", "Fitness"])
    frame = sheet.set_axis(GB1.split(), axis="columns")
    for i, site in enumerate((39, 40, 41, 54)):
        frame.insert(1 + i, f"site{site}", frame["variant"].str[i])
    return frame


def _read_avgfp(path: Path) -> Any:
    import pandas as pd

    frame = pd.read_csv(path, sep="\t", keep_default_na=False, na_values={"std": [""]})
    frame = frame.set_axis(AVGFP.split(), axis="columns")
    mutations = frame["aa_mutations"].where(frame["aa_mutations"] != "wt", "")
    sites = [[int(m[2:-1]) for m in text.split(":") if m] for text in mutations]
    frame["aa_mutations"] = mutations
    frame.insert(1, "sites", sites)
    frame.insert(2, "n_mutations", [len(s) for s in sites])
    frame.insert(3, "has_stop", mutations.str.contains("*", regex=False))
    return frame


SOURCES = {
    "entacmaea": Source(
        "https://static-content.springer.com/esm/art%3A10.1038%2Fs41467-019-12130-8/MediaObjects/"
        "41467_2019_12130_MOESM7_ESM.xlsx",
        "41467_2019_12130_MOESM7_ESM.xlsx",
        "d893d36645d10334b326696e98edbb7222b15bbeb946176482ed83637120904b",
        _read_entacmaea,
        "824d02cf977e8b694c4810682f46f620",
    ),
    "kr_vs_kp": Source(
        "https://archive.ics.uci.edu/static/public/22/chess+king+rook+vs+king+pawn.zip",
        "chess+king+rook+vs+king+pawn.zip",
        None,
        _read_kr_vs_kp,
        "eb1c7fedd56156044cbd533158934e5e",
    ),
    "sgemm": Source(
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00440/sgemm_product_dataset.zip",
        "sgemm_product_dataset.zip",
        "8d3ee0d82708df11b54debc6a4fbade77c604a047f019fa7940413032eb7b096",
        _read_sgemm,
        "4022a49b4ecccad2cd09986d2fe80172",
    ),
    "gb1": Source(
        "https://cdn.elifesciences.org/articles/16965/elife-16965-supp1-v4.xlsx",
        "elife-16965-supp1-v4.xlsx",
        None,
        _read_gb1,
        "5e35e66546acca67d6be4950be5b7752",
    ),
    "mushrooms": Source(
        "https://archive.ics.uci.edu/static/public/73/mushroom.zip",
        "mushroom.zip",
        None,
        _read_mushrooms,
        "f10a7a67ad26db18b96a1d85d59c2075",
    ),
    "avgfp": Source(
        "https://figshare.com/ndownloader/files/4820647",
        "amino_acid_genotypes_to_brightness.tsv",
        "5581230b9888f9960708a4769ce1c9b4453561f0b5f0374525445b4a984d54d5",
        _read_avgfp,
        "c84ce8bec9242d358a4d0f8c933a58f1",
    ),
}
