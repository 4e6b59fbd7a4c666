"""The data sets of the paper: recipes from the published tables to bits and targets, and words about each."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from hoeffding.datasets import sources
from hoeffding.datasets.dataset import Dataset, Encoded, one_hot, two_valued
from hoeffding.datasets.mushrooms import WORDS

Columns = Mapping[str, npt.NDArray[Any]]

CC_BY = "CC BY 4.0"


def load_entacmaea() -> Dataset:
    """Brightness of all 2^13 proteins between a blue and a red one: 8192 rows of 13 bits, target a number (data set A).

    The bits say for each of 13 positions which parent the amino acid comes from.
    """
    columns = _columns("entacmaea")
    names = tuple(f"s{i:02d}" for i in range(1, 14))
    return Dataset(
        name="Entacmaea",
        columns=columns,
        X=np.column_stack([columns[name] for name in names]).astype(np.uint8),
        y=columns["brightness_combined"].astype(np.float64),
        feature_names=names,
        groups=tuple((name, (i,)) for i, name in enumerate(names)),
        target="combined brightness",
        classes=(),
        description="All genotypes between mTagBFP2 (zeros) and mKate2 (ones), which differ at 13 positions, with the "
        "brightness measured in two colours.",
        licence=CC_BY,
        citation="F. J. Poelwijk, M. Socolich and R. Ranganathan. Learning the pattern of epistasis linking genotype "
        "and phenotype in a protein. Nature Communications 10:4213, 2019. doi:10.1038/s41467-019-12130-8",
    )


def load_kr_vs_kp() -> Dataset:
    """Chess endgames, king and rook against king and pawn: 3196 rows of 35 bits, target a win (data set B).

    One bit for each attribute that has two values. ``katri``, the only one with three, is left out, as it must be to
    get the 35 bits of the paper; 2891 of the rows are distinct then.
    """
    columns = _columns("kr_vs_kp")
    return _dataset(
        two_valued({name: values for name, values in columns.items() if name != "class"}),
        name="kr-vs-kp",
        columns=columns,
        y=columns["class"] == "won",
        target="white can win",
        classes=("nowin", "won"),
        description="Positions of king and rook (white) against king and pawn (black) on a7, white to move, described "
        "by 36 attributes.",
        citation="A. Shapiro. Chess (King-Rook vs. King-Pawn). UCI Machine Learning Repository, 1989. "
        "doi:10.24432/C5DK5C",
    )


def load_sgemm() -> Dataset:
    """Run times of a matrix product on a GPU: 241600 rows of 40 bits, target in milliseconds (data set C).

    All 14 parameters one-hot, the two-valued ones as two bits each. The target is the mean of four runs.
    """
    columns = _columns("sgemm")
    runs = [f"run{i}_ms" for i in (1, 2, 3, 4)]
    return _dataset(
        one_hot({name: values for name, values in columns.items() if name not in runs}),
        name="SGEMM",
        columns=columns,
        y=np.mean([columns[name] for name in runs], axis=0),
        target="mean run time in ms",
        description="All feasible settings of 14 parameters of a kernel that multiplies two 2048 x 2048 matrices, with "
        "four run times each.",
        citation="E. G. Paredes and R. Ballester-Ripoll. SGEMM GPU kernel performance. UCI Machine Learning "
        "Repository, 2018. doi:10.24432/C5MK70. See also R. Ballester-Ripoll, E. G. Paredes and R. Pajarola, Sobol "
        "tensor trains for global sensitivity analysis, arXiv:1712.00233",
    )


def load_gb1() -> Dataset:
    """Fitness of variants of a protein at four sites: 149361 rows of 80 bits, target a number (data set D)."""
    columns = _columns("gb1")
    return _dataset(
        one_hot({name: columns[name] for name in ("site39", "site40", "site41", "site54")}),
        name="GB1",
        columns=columns,
        y=columns["fitness"].astype(np.float64),
        target="fitness",
        description="The 149,361 measured variants, out of 20^4, of protein G domain B1 at sites 39, 40, 41, 54.",
        citation="N. C. Wu, L. Dai, C. A. Olson, J. O. Lloyd-Smith and R. Sun. Adaptation in protein fitness "
        "landscapes is facilitated by indirect paths. eLife 5:e16965, 2016. doi:10.7554/eLife.16965",
    )


def load_mushrooms() -> Dataset:
    """Mushrooms, poisonous or edible: 8124 rows of 116 bits, target poisonous (data set E).

    All attributes one-hot, a missing value being a value; ``veil-type`` is constant and left out.
    """
    return _mushrooms("Mushrooms", _columns("mushrooms"), "All mushrooms of the data set.")


def load_demo() -> Dataset:
    """The 5644 mushrooms without a missing value, which come with this package and need no other: 97 bits.

    Examples
    --------
    >>> from hoeffding.datasets import load_demo
    >>> load_demo()
    Dataset Mushrooms without gaps: 5644 rows of 97 bits, 21 variables; class: poisonous or edible
    """
    file = resources.files("hoeffding.datasets") / "mushrooms.csv.gz"
    rows = list(csv.reader(gzip.decompress(file.read_bytes()).decode().splitlines()))
    columns = dict(zip(rows[0], np.array(rows[1:]).T, strict=True))
    return _mushrooms("Mushrooms without gaps", columns, "The mushrooms whose stalk-root is known.")


def load_avgfp(*, merge: bool = True) -> Dataset:
    """Brightness of mutants of a green fluorescent protein: 49089 rows of 233 bits, target a number (data set F).

    One bit for each position, "mutated or not", named after the original amino acid and its number. Rows that are equal
    then are merged, with the mean of their brightness; ``merge=False`` keeps all 54025.
    """
    columns = _columns("avgfp")
    sites = columns["sites"]
    lengths = np.array([len(s) for s in sites])
    X = np.zeros((len(sites), 236), np.uint8)
    X[np.repeat(np.arange(len(sites)), lengths), np.concatenate(sites)] = 1
    kept = np.flatnonzero(X.min(axis=0) != X.max(axis=0))
    wild = {int(m[2:-1]): m[1] for text in columns["aa_mutations"] for m in text.split(":") if m}
    names = tuple(f"{wild[p]}{p + 2}" for p in kept.tolist())
    X, y = np.ascontiguousarray(X[:, kept]), columns["median_brightness"].astype(np.float64)
    if merge:
        X, y = _merged(X, y)
    return _dataset(
        Encoded(X, names, tuple((name, (i,)) for i, name in enumerate(names))),
        name="avGFP",
        columns=columns,
        y=y,
        target="log10 brightness",
        description="Random mutants of the green fluorescent protein of A. victoria, with their median brightness.",
        citation="K. S. Sarkisyan et al. Local fitness landscape of the green fluorescent protein. Nature 533:397-401, "
        "2016. doi:10.1038/nature17995. Data: doi:10.6084/m9.figshare.3102154",
    )


def _merged(X: npt.NDArray[np.uint8], y: npt.NDArray[np.float64]) -> tuple[Any, Any]:
    rows, inverse = np.unique(X, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    return rows, np.bincount(inverse, y) / np.bincount(inverse)


def _mushrooms(name: str, columns: Columns, description: str) -> Dataset:
    return _dataset(
        one_hot({column: values for column, values in columns.items() if column != "class"}, WORDS),
        name=name,
        columns=columns,
        y=columns["class"] == "p",
        target="class",
        classes=("edible", "poisonous"),
        description=f"{description} Samples of 23 species of gilled mushrooms, described by 22 attributes.",
        citation="Mushroom. UCI Machine Learning Repository, 1981, donated by J. Schlimmer; from The Audubon Society "
        "Field Guide to North American Mushrooms. doi:10.24432/C5959T",
    )


def _columns(name: str) -> Columns:
    frame = sources.table(name)
    return {str(column): frame[column].to_numpy() for column in frame.columns}


def _dataset(
    encoded: Encoded,
    *,
    y: npt.NDArray[Any],
    classes: tuple[str, ...] = (),
    licence: str = CC_BY,
    **words: Any,
) -> Dataset:
    return Dataset(
        X=encoded.X,
        y=y.astype(np.float64),
        feature_names=encoded.feature_names,
        groups=encoded.groups,
        classes=classes,
        licence=licence,
        **words,
    )
