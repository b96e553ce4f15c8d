"""The page: one HTML file without scripts and without a request to anywhere."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from html import escape
from importlib import metadata, resources

import matplotlib
from matplotlib.axes import Axes

from ..saved import finite
from .parts import Figure, Section, Table

__all__ = ["build_page", "svg"]


def build_page(sections: Sequence[Section], title: str = "") -> str:
    """Return the HTML of a page.

    Parameters
    ----------
    sections : sequence of Section
        What it shows, in order.
    title : str
        Title of the page; the first section's by default.
    """
    style = (resources.files(__package__) / "style.css").read_text(encoding="utf-8")
    heading = title or (sections[0].title if len(sections) == 1 else f"{len(sections)} results")
    body = "\n".join(_section(s, number) for number, s in enumerate(sections))
    contents = ""
    if len(sections) > 1:
        links = "".join(f'<li><a href="#s{i}">{escape(s.title)}</a></li>' for i, s in enumerate(sections))
        contents = f"<nav><ol>{links}</ol></nav>"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{escape(heading)}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{escape(heading)}</h1>
{contents}
{body}
</main>
<footer>Made by Adjourn {escape(metadata.version("adjourn"))}. Fitted numbers are called fitted, predicted ones predicted.</footer>
</body>
</html>
"""


def _section(s: Section, number: int) -> str:
    answer = "".join(f"<p>{escape(sentence)}</p>" for sentence in s.answer)
    figures = "".join(_figure(f, f"{number}-{i}") for i, f in enumerate(s.figures))
    tables = "".join(_table(t) for t in s.tables)
    notes = "".join(f"<li>{escape(note)}</li>" for note in s.assumptions)
    again = f"<h3>Run it again</h3><pre><code>{escape(s.again)}</code></pre>" if s.again else ""
    provenance = escape(json.dumps(finite(dict(s.provenance)), indent=2, ensure_ascii=False, default=str))
    return f"""<section id="s{number}">
<h2>{escape(s.title)}</h2>
<p class="asked">{escape(s.asked)}</p>
<div class="answer">{answer}</div>
{figures}
{tables}
{f"<h3>Assumptions and notes</h3><ul>{notes}</ul>" if notes else ""}
{again}
<details><summary>Provenance</summary><pre>{provenance}</pre></details>
</section>"""


def _table(t: Table) -> str:
    numeric = [bool(t.rows) and all(_is_number(row[k]) for row in t.rows) for k in range(len(t.columns))]
    head = "".join(f'<th scope="col"{NUMBER if n else ""}>{escape(c)}</th>' for c, n in zip(t.columns, numeric, strict=True))
    rows = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in t.rows)
    table = f"<table><caption>{escape(t.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(t.caption)}">{table}</div>'


NUMBER = ' class="number"'
SHORT = ' class="short"'
_SHORT_CELL = 18


def _is_number(value: str) -> bool:
    return re.fullmatch(r"-|[+-]?[\d,.]+(e[+-]?\d+)?%?", value) is not None


def _cell(value: str) -> str:
    kind = NUMBER if _is_number(value) else SHORT if len(value) <= _SHORT_CELL else ""
    return f"<td{kind}>{escape(value)}</td>"


def _figure(figure: Figure, salt: str) -> str:
    caption = escape(figure.caption)
    return f'<figure role="img" aria-label="{caption}">{svg(figure.ax, salt)}<figcaption>{caption}</figcaption></figure>'


def svg(ax: Axes, salt: str) -> str:
    """Return a figure as inline SVG that takes its ink from the page's text colour.

    Parameters
    ----------
    ax : Axes
        Its whole figure is written.
    salt : str
        Makes the ids of several figures on one page differ, and each the same in every run.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    for name in sorted(set(re.findall(r'\bid="([^"]+)"', text)), key=len, reverse=True):
        text = (
            text.replace(f'id="{name}"', f'id="f{salt}-{name}"')
            .replace(f'"#{name}"', f'"#f{salt}-{name}"')
            .replace(f"url(#{name})", f"url(#f{salt}-{name})")
        )
    return text.replace("#000000", "currentColor")
