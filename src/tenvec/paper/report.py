"""The report on all results in a folder: a Markdown file, one HTML page, and the figures."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from tenvec.paper import markdown, page
from tenvec.paper.experiment import Figure, Section
from tenvec.paper.machine import read_machines
from tenvec.paper.results import Results
from tenvec.paper.summary import Report
from tenvec.paper.tables import MODULES, load

MARKDOWN = "reproduction.md"
PAGE = "reproduction.html"
FIGURES = "figures"
RESOLUTION = 110


def write(out: Path, skipped: Sequence[str] = (), command: str = "tenvec reproduce") -> list[Path]:
    """Write the report on the CSV files in ``out``; returns the two files to read.

    Parameters
    ----------
    out : Path
        The folder with the results.
    skipped : sequence of str
        Lines on data that are not there.
    command : str
        What was typed.
    """
    sections: dict[str, Section] = {}
    for name in MODULES:
        results = Results(out / f"{name}.csv")
        if results.rows:
            sections[name] = load(name).report(results.rows)
    report = Report(sections, read_machines(out), skipped, command)
    pictures = {
        figure.name: _png(figure) for section in sections.values() for figure in section.figures
    }
    folder = out / FIGURES
    folder.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        (folder / f"{name}.png").write_bytes(picture)
    embedded = _embedded(pictures)
    written = [out / MARKDOWN, out / PAGE]
    written[0].write_text(
        markdown.render(report, {name: f"{FIGURES}/{name}.png" for name in pictures}),
        encoding="utf-8",
    )
    written[1].write_text(page.render(report, embedded), encoding="utf-8")
    return written


def _png(figure: Figure) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=figure.size, layout="constrained")
    FigureCanvasAgg(canvas)
    figure.draw(canvas)
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", dpi=RESOLUTION, metadata={"Software": None})
    return buffer.getvalue()


def _embedded(pictures: Mapping[str, bytes]) -> dict[str, str]:
    return {
        name: "data:image/png;base64," + base64.b64encode(picture).decode("ascii")
        for name, picture in pictures.items()
    }
