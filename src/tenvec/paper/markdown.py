"""The report as Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from tenvec.paper.experiment import Section, Table
from tenvec.paper.summary import TITLE, Report


def render(report: Report, pictures: Mapping[str, str]) -> str:
    """Write the report; ``pictures`` are the files of the figures by name."""
    parts = [f"# {TITLE}", *report.lead, "## Summary"]
    if report.lines:
        parts.append("\n".join(f"- {line}" for line in report.lines))
    parts += [_table(table) for table in report.tables()]
    for section in report.sections.values():
        parts += _section(section, pictures)
    return "\n\n".join(parts) + "\n"


def _section(section: Section, pictures: Mapping[str, str]) -> list[str]:
    parts = [f"## {section.title}", section.protocol.strip()]
    for figure in section.figures:
        caption = figure.caption.replace("[", "(").replace("]", ")")
        parts.append(f"![{caption}]({pictures[figure.name]})\n\n*{figure.caption}*")
    if section.notes:
        parts.append("\n".join(f"- {note}" for note in section.notes))
    return [part for part in parts if part] + [_table(table) for table in section.tables]


def _table(table: Table) -> str:
    ruler = ["---:" if numeric else "---" for numeric in table.numeric]
    rows = [table.header, ruler, *table.rows]
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return f"**{table.caption}**\n\n" + "\n".join(lines)


def _cell(text: str) -> str:
    first, *rest = text.replace("|", "\\|").split("\n")
    return "<br>".join([first, *(f"<sub>{line}</sub>" for line in rest)])
