"""Facts as files: HTML to open by double click, Markdown, or JSON, by the ending of the name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal

from hoeffding.report.gather import FORMAT, VERSION
from hoeffding.report.html import to_html
from hoeffding.report.markdown import to_markdown

SUFFIXES = {".html": "HTML", ".htm": "HTML", ".md": "Markdown", ".json": "JSON"}


def write(facts: dict[str, Any], path: str | os.PathLike[str], plotlyjs: Literal["embed", "cdn"] = "embed") -> None:
    """Write a report; the ending of ``path`` says what: ``.html``, ``.md`` or ``.json``.

    Parameters
    ----------
    facts : dict
        As :func:`hoeffding.report.facts` gives them, or read back from such a JSON file.
    path : str or path
    plotlyjs : "embed" or "cdn"
        For HTML: with the library that draws inside, for a page that needs no network, or loaded from its makers when
        the page is opened, for a small file.

    Examples
    --------
    >>> import tempfile, hoeffding
    >>> from pathlib import Path
    >>> facts = hoeffding.report.facts(hoeffding.transform([[0, 1], [2, 5]], feature_names=["a", "b"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hoeffding.report.write(facts, f"{folder}/report.md")
    ...     print(Path(f"{folder}/report.md").read_text(encoding="utf-8").splitlines()[0])
    # What a function is made of
    """
    target = Path(path)
    kind = SUFFIXES.get(target.suffix.lower())
    if kind is None:
        raise ValueError(f"path={str(path)!r}: must end in {', '.join(SUFFIXES)}, which says what is written")
    if plotlyjs not in {"embed", "cdn"}:
        raise ValueError(f"plotlyjs={plotlyjs!r}: must be 'embed' or 'cdn'")
    if not isinstance(facts, dict) or facts.get("format") != FORMAT or facts.get("version") != VERSION:
        raise ValueError("facts: expected what hoeffding.report.facts() returns")
    if kind == "JSON":
        text = json.dumps(facts, ensure_ascii=False, allow_nan=False)
    else:
        text = to_markdown(facts) if kind == "Markdown" else to_html(facts, plotlyjs)
    _write(target, text)


def _write(target: Path, text: str) -> None:
    """The file is there completely or not at all."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(target)
    except OSError as error:
        raise OSError(error.errno, f"cannot write the report: {error.strerror}", str(target)) from error
    finally:
        part.unlink(missing_ok=True)
