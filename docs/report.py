"""Take the pictures of ``report.md`` again: ``python docs/report.py`` (needs playwright, Pillow and a Chromium).

The report is that of ``hoeffding demo``; the pictures show parts of it, at three widths.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from hoeffding import report
from hoeffding.cli.demo import demo_result

HERE = Path(__file__).parent / "report"
COLOURS = 200
PICTURES = {  # name: (width, height, scheme, the element at the top of the picture)
    "desk": (1280, 1500, "light", "h1"),
    "desk-dark": (1280, 1000, "dark", "#what-if"),
    "tablet": (768, 1000, "light", "#interactions"),
    "tablet-dark": (768, 1000, "dark", "#terms"),
    "phone": (390, 1100, "light", "#importance"),
    "phone-dark": (390, 1100, "dark", "#prediction"),
}


def main() -> None:
    """Write the report, open it, and keep a picture of each part."""
    result, details = demo_result()
    HERE.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "report.html"
        report.write(
            report.facts(result, title="What tells poisonous mushrooms from edible ones", details=details), path
        )
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, what in PICTURES.items():
            target = HERE / f"{name}.png"
            take(browser, path.as_uri(), what).quantize(COLOURS).save(target, optimize=True)
            print(f"{target.name:<20}{target.stat().st_size / 1000:>8.1f} kB")
        browser.close()


def take(browser: Browser, address: str, what: tuple[int, int, str, str]) -> Image.Image:
    """The page as it looks from some element on."""
    width, height, scheme, element = what
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    top = page.evaluate("e => document.querySelector(e).getBoundingClientRect().top + window.scrollY", element)
    whole = Image.open(io.BytesIO(page.screenshot(full_page=True)))
    page.close()
    return whole.crop((0, max(int(top) - 24, 0), width, min(int(top) - 24 + height, whole.height)))


if __name__ == "__main__":
    main()
