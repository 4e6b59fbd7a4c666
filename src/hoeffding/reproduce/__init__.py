"""The paper, table by table and figure by figure, computed again from the raw data.

``hoeffding reproduce`` writes the page; :func:`reproduce` does it from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hoeffding.reproduce.printed import PRINTED

QUICK = ("A", "B", "E")
OUTPUT = "hoeffding-reproduction"


def reproduce(
    only: Sequence[str] | None = None,
    *,
    quick: bool = False,
    output: str | Path = OUTPUT,
    pipeline: bool = True,
    say: Callable[[str], None] = print,
) -> Path:
    """Train the models of the paper, decompose and compare them, and write a page.

    Parameters
    ----------
    only : sequence of str, optional
        Data sets by the paper's letters, ``"A"`` to ``"F"``; all by default. C, D and F take most of the time.
    quick : bool
        Only the small ones: A, B and E.
    output : path
        The folder for ``index.html``, ``README.md``, ``facts.json`` and the figures. Data sets that a page there
        shows already stay on it, so that it can be made in pieces.
    pipeline : bool
        Whether to time the paper's pipeline, which takes most of the time: minutes for each model of GB1 and SGEMM.
    say : function
        Called with a line of text whenever something new begins.

    Returns
    -------
    path of the HTML file
    """
    keys = read_keys(only, quick)
    from hoeffding.reproduce import facts, page

    folder = Path(output)
    found = page.read(folder)
    for key in keys:
        found[key] = facts.build(key, say, pipeline)
        page.save(found, folder)
    return page.write(found, folder)


def read_keys(only: Sequence[str] | None, quick: bool) -> tuple[str, ...]:
    """The data sets asked for."""
    if only is None:
        return QUICK if quick else tuple(PRINTED)
    if quick:
        raise ValueError(f"quick=True means only={list(QUICK)}; give one of them")
    wrong = [key for key in only if key not in PRINTED]
    if wrong or not only:
        raise ValueError(f"only={list(only)!r}: expected some of {', '.join(PRINTED)}")
    return tuple(dict.fromkeys(only))
