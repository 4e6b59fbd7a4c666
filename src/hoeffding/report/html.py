"""One HTML file with everything inside: facts, components, styles, scripts, and the library that draws.

Names come from data and may be anything, so none of them is ever read as HTML: jinja2 escapes what it writes, the
scripts write text nodes, JSON in the page holds none of ``<``, ``>`` and ``&``, and labels of pictures, in which plotly
knows some HTML, are escaped before they get there. Should one of these fail, the page's own policy runs no script but
those it was written with, by their checksums, and opens no connection.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from importlib.resources import files
from typing import Any

import numpy as np

from hoeffding.report.words import headline, summary

SCRIPTS = ("tools.js", "model.js", "tables.js", "charts.js", "whatif.js", "page.js")
NEEDED = ("jinja2", "plotly")


def to_html(facts: dict[str, Any], plotlyjs: str) -> str:
    """The page; ``plotlyjs`` is "embed" or "cdn"."""
    try:
        import jinja2
        import markupsafe  # comes with jinja2
        from plotly.offline import get_plotlyjs, get_plotlyjs_version
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in NEEDED:
            raise
        raise ModuleNotFoundError(
            f"a report in HTML needs {' and '.join(NEEDED)}: python -m pip install 'hoeffding[app]'", name=error.name
        ) from error
    script = "'use strict';\n(() => {\n" + "\n".join(_resource(name) for name in SCRIPTS) + "})();\n"
    library = get_plotlyjs()
    template = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        _resource("page.html.jinja")
    )
    safe = markupsafe.Markup
    cdn = f"https://cdn.plot.ly/plotly-{get_plotlyjs_version()}.min.js" if plotlyjs == "cdn" else None
    text: str = template.render(
        facts=facts,
        headline=headline(facts),
        summary=summary(facts),
        style=safe(_resource("style.css")),
        script=safe(script),
        script_sources=[_checksum(script), cdn or _checksum(library)],
        facts_json=safe(_json({key: value for key, value in facts.items() if key != "components"})),
        components_json=safe(_json(packed(facts["components"]))),
        library=None if cdn else _base64(zlib.compress(library.encode(), 9)),
        cdn=cdn,
        cdn_checksum=_checksum(library).strip("'"),
    )
    return text


def packed(components: dict[str, Any]) -> dict[str, Any]:
    """The components with their numbers as little-endian bytes in base 64: short, and the same bit for bit."""
    kind = components["kind"]
    if kind == "cube":
        return {
            "kind": kind,
            "coefficients": _numbers(components["coefficients"]),
            "pmf": _numbers(components["pmf"]),
        }
    if kind != "tables":
        return components
    sets, values = components["sets"], components["values"]
    features = [i for s in sets for i in s]
    return {
        "kind": kind,
        "sizes": _base64(np.array([len(s) for s in sets], np.uint8).tobytes()),
        "features": _base64(np.array(features, "<u4").tobytes()),
        "values": _numbers([cell for table in values for output in table for cell in output]),
    }


def _numbers(values: Any) -> str:
    """Numbers as doubles; None is NaN."""
    return _base64(np.array(values, "<f8").tobytes())


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _checksum(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{_base64(digest)}'"


def _json(data: Any) -> str:
    """JSON that stays text wherever it stands in a page."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _resource(name: str) -> str:
    return files("hoeffding.report").joinpath("page", name).read_text(encoding="utf-8")
