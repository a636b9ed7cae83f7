"""A report as one HTML page that needs nothing else."""

import base64
import math
from functools import singledispatch
from html import escape
from importlib.resources import files
from numbers import Integral, Real

from ._blocks import Code, Details, Figure, Link, Notes, Row, TableBlock, Text, Warnings
from ._single_page import single_page

FEWEST_TO_SORT = 5
"""Rows from which a table with numbers can be sorted; shorter ones are seen at a glance."""
MOST_ON_A_PHONE = 3
"""Columns that fit side by side; of wider tables each row becomes a list there."""
BODY = """<header>
<h1>{title}</h1>
<dl class="highlights">{highlights}</dl>
</header>
<nav aria-label="Contents"><ul>{contents}</ul></nav>
<main>
{sections}
</main>"""


def render(report):
    """The text of the page."""
    highlights = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>"
        for label, value in report.highlights
    )
    contents = "".join(
        f'<li><a href="#s{i}">{escape(section.title)}</a></li>'
        for i, section in enumerate(report.sections)
    )
    sections = "\n".join(_section(i, section) for i, section in enumerate(report.sections))
    body = BODY.format(
        title=escape(report.title), highlights=highlights, contents=contents, sections=sections
    )
    return single_page(report.title, css=asset("page.css"), body=body, script=asset("page.js"))


def asset(name, package=__package__):
    """A file that a page is made of."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _section(i, section):
    blocks = "\n".join(_block(block) for block in section.blocks)
    return (
        f'<section aria-labelledby="s{i}">\n<h2 id="s{i}">{escape(section.title)}</h2>\n'
        f"{blocks}\n</section>"
    )


@singledispatch
def _block(block):
    raise TypeError(f"A report has no {type(block).__name__}.")


@_block.register
def _(block: Text) -> str:
    return f"<p>{escape(block.text)}</p>"


@_block.register
def _(block: Code) -> str:
    return f'<pre tabindex="0"><code>{escape(block.text)}</code></pre>'


@_block.register
def _(block: Link) -> str:
    return f'<p><a class="link" href="{escape(block.address)}">{escape(block.text)}</a></p>'


@_block.register
def _(block: Row) -> str:
    return f'<div class="row">{"".join(map(_block, block.blocks))}</div>'


@_block.register
def _(block: Details) -> str:
    inner = "".join(map(_block, block.blocks))
    return f"<details><summary>{escape(block.summary)}</summary>{inner}</details>"


@_block.register
def _(block: Notes) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in block.items)}</ul>"


@_block.register
def _(block: Warnings) -> str:
    notes = _block(Notes(block.items))
    return f'<div class="warnings" role="note" aria-label="Warnings">{notes}</div>'


@_block.register
def _(block: Figure) -> str:
    data = base64.b64encode(block.svg).decode()
    return (
        f'<figure><img src="data:image/svg+xml;base64,{data}" alt="{escape(block.alt)}">'
        f"<figcaption>{escape(block.caption)}</figcaption></figure>"
    )


@_block.register
def _(block: TableBlock) -> str:
    numeric = [
        bool(block.rows) and all(isinstance(row[j], Real) for row in block.rows)
        for j in range(len(block.headers))
    ]
    kinds = ["number" if n else "text" for n in numeric]
    sortable = len(block.rows) >= FEWEST_TO_SORT and any(numeric)
    head = _sorting_head if sortable else _head
    heads = "".join(map(head, block.headers, kinds))
    body = "\n".join(
        f"<tr>{''.join(map(_cell, row, kinds, block.headers))}</tr>" for row in block.rows
    )
    names = ["sortable"] * sortable + ["wide"] * (len(block.headers) > MOST_ON_A_PHONE)
    name = f' class="{" ".join(names)}"' if names else ""
    return (
        f'<div class="scroll"><table{name}><caption>{escape(block.caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _head(header, kind):
    return f'<th scope="col" class="{kind}">{escape(header)}</th>'


def _sorting_head(header, kind):
    return (
        f'<th scope="col" class="{kind}" aria-sort="none">'
        f'<button type="button">{escape(header)}</button></th>'
    )


def _cell(value, kind, header):
    key = ""
    if isinstance(value, Real):
        key = f' data-key="{float(value)!r}"' if math.isfinite(value) else ' data-key=""'
    label = f' data-label="{escape(header)}"'
    return f'<td class="{kind}"{key}{label}>{escape(number(value))}</td>'


def number(value):
    """A value as a reader wants to see it."""
    if isinstance(value, Integral) or not isinstance(value, Real):
        return str(value)
    return f"{value:.4g}"
