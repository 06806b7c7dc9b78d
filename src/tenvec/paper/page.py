"""The report as one HTML page that needs nothing beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from tenvec.paper.experiment import Section, Table
from tenvec.paper.summary import TITLE, Report

STYLE = """
:root { color-scheme: light; --ink: #1c2330; --faint: #667085; --line: #e3e7ee; --mark: #0b6e4f; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff;
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 2.5rem 1.5rem 5rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.45rem; margin: 3.2rem 0 .8rem; padding-top: 1rem;
     border-top: 2px solid var(--ink); }
p, li { max-width: 78ch; }
nav a { margin-right: 1.2rem; white-space: nowrap; }
a { color: #1849a9; }
code { background: #f2f4f7; padding: .1em .3em; border-radius: 3px; font-size: .9em; }
figure { margin: 1.8rem 0; overflow-x: auto; }
figure img { max-width: 100%; height: auto; }
figcaption, caption { color: var(--faint); font-size: .92rem; text-align: left; }
caption { padding-bottom: .5rem; color: var(--ink); font-weight: 600; }
.scroll { overflow-x: auto; margin: 1.8rem 0; }
table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: left;
         vertical-align: top; }
.number { text-align: right; white-space: nowrap; }
thead th { border-bottom: 2px solid var(--ink); }
td small { display: block; color: var(--faint); font-size: .82em; line-height: 1.35; }
.verdict { font-weight: 700; white-space: nowrap; }
.reached { color: var(--mark); } .missed { color: #b42318; }
.up { color: var(--mark); font-weight: 700; }
"""


def render(report: Report, pictures: Mapping[str, str]) -> str:
    """Write the page; ``pictures`` are the figures by name, as data URLs."""
    links = "".join(
        f'<a href="#{name}">{escape(section.title)}</a> '
        for name, section in report.sections.items()
    )
    parts = [f"<h1>{escape(TITLE)}</h1>", *map(_paragraph, report.lead), f"<nav>{links}</nav>"]
    parts.append('<h2 id="summary">Summary</h2>')
    if report.lines:
        parts.append("<ul>" + "".join(f"<li>{_text(line)}</li>" for line in report.lines) + "</ul>")
    parts += [_table(table) for table in report.tables()]
    for name, section in report.sections.items():
        parts += _section(name, section, pictures)
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(TITLE)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _section(name: str, section: Section, pictures: Mapping[str, str]) -> list[str]:
    parts = [f'<h2 id="{name}">{escape(section.title)}</h2>']
    parts += [_paragraph(text) for text in section.protocol.strip().split("\n\n") if text]
    for figure in section.figures:
        caption = escape(figure.caption, quote=True)
        parts.append(
            f'<figure><img src="{pictures[figure.name]}" alt="{caption}">'
            f"<figcaption>{_text(figure.caption)}</figcaption></figure>"
        )
    if section.notes:
        parts.append(
            "<ul>" + "".join(f"<li>{_text(note)}</li>" for note in section.notes) + "</ul>"
        )
    return parts + [_table(table) for table in section.tables]


def _paragraph(text: str) -> str:
    return f"<p>{_text(text)}</p>"


def _table(table: Table) -> str:
    kinds = [' class="number"' if numeric else "" for numeric in table.numeric]
    head = "".join(
        f'<th scope="col"{kind}>{_text(cell)}</th>'
        for kind, cell in zip(kinds, table.header, strict=True)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(f"<td{kind}>{_cell(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class="scroll"><table><caption>{_text(table.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def _cell(text: str) -> str:
    first, *rest = text.split("\n")
    shown = _text(first).replace("✓", '<span class="up">✓</span>')
    if first in ("reached", "missed"):
        shown = f'<span class="verdict {first}">{first}</span>'
    return shown + "".join(f"<small>{_text(line)}</small>" for line in rest)


def _text(text: str) -> str:
    """Escape, with `code` and **strong** as in Markdown."""
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", marked)
