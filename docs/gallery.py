"""Draw the pictures of ``gallery.md`` again: ``python docs/gallery.py``.

Each block of code there is run; a picture that follows it is what it has drawn.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
PART = re.compile(r"^```python\n(?P<code>.*?)^```$|^!\[.*?\]\((?P<picture>.*?)\)$", re.MULTILINE | re.DOTALL)
RESOLUTION = 80  # dots per inch


def main() -> None:
    """Run all blocks in order, and save what each picture follows."""
    namespace: dict[str, object] = {"__name__": "gallery"}
    total = 0
    for part in PART.finditer((HERE / "gallery.md").read_text(encoding="utf-8")):
        if part["code"]:
            exec(compile(part["code"], "gallery.md", "exec"), namespace)
            continue
        path = HERE / part["picture"]
        path.parent.mkdir(exist_ok=True)
        plt.gcf().savefig(path, dpi=RESOLUTION, metadata={"Software": None})
        plt.close("all")
        total += path.stat().st_size
        print(f"{path.name:<28}{path.stat().st_size / 1000:>8.1f} kB")
    print(f"{'together':<28}{total / 1000:>8.1f} kB")


if __name__ == "__main__":
    main()
