"""Blocks of a page and two ways to write them: Markdown and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; display: block; overflow-x: auto; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #8885; text-align: right; }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { border-bottom: 2px solid #888; }
img { max-width: 100%; }
figcaption { font-size: 0.9rem; }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd; } img { background: #fff; } }
"""


@dataclass(frozen=True)
class Heading:
    """A title (level 1) or the head of a section."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Table:
    """Rows of text under column heads."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    """An image file beside the page."""

    file: str
    caption: str


Block = Heading | Text | Items | Table | Figure


def to_markdown(page: Iterable[Block]) -> str:
    """The page as GitHub's Markdown."""
    return "\n\n".join(_markdown(block) for block in page) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Text(text):
            return text
        case Items(texts):
            return "\n".join(f"- {text}" for text in texts)
        case Figure(file, caption):
            return f"![{caption}]({file})\n\n{caption}"
        case Table(heads, rows):
            ruler = [":--", *["--:"] * (len(heads) - 1)]
            lines = [heads, ruler, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def to_html(page: Iterable[Block]) -> str:
    """The page as one HTML file (figures beside it)."""
    blocks = list(page)
    title = next(block.text for block in blocks if isinstance(block, Heading))
    body = "\n".join(map(_html, blocks))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    head += f"\n<style>{STYLE}</style>"
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n'


def _inline(text: str) -> str:
    """Code between backquotes, all else as it is."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Text(text):
            return f"<p>{_inline(text)}</p>"
        case Items(texts):
            return f"<ul>{''.join(f'<li>{_inline(text)}</li>' for text in texts)}</ul>"
        case Figure(file, caption):
            image = f'<img src="{escape(file)}" alt="{escape(caption)}">'
            return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"
        case Table(heads, rows):
            head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
            body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
            return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
