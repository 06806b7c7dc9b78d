"""The rows of an experiment in a CSV file that survives a kill at any byte."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tenvec.paper.experiment import Cell, Value


class Results:
    """A CSV file to which whole rows are appended.

    A row that was cut off is dropped when the file is opened, and its cell counts as not run.

    Parameters
    ----------
    path : Path
        The file; it need not exist.

    Attributes
    ----------
    rows : list of dict
        All rows, numbers as numbers, empty cells as ``""``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns: list[str] = []
        self.rows: list[dict[str, Any]] = []
        if path.exists():
            self._read()

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Cells that have no row yet."""
        cells = list(cells)
        keys = sorted({name for cell in cells for name in cell})
        done = {tuple(_text(row.get(name, "")) for name in keys) for row in self.rows}
        return [
            cell for cell in cells if tuple(_text(cell.get(name, "")) for name in keys) not in done
        ]

    def append(self, row: Mapping[str, Value]) -> None:
        """Add a row; when this returns it is on the disk."""
        new = [name for name in row if name not in self.columns]
        self.rows.append({name: _value(_text(value)) for name, value in row.items()})
        if new:
            self.columns += new
            self._write_all()
            return
        with open(self.path, "ab") as file:
            file.write(_line([_text(row.get(name, "")) for name in self.columns]))
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))
        lines = list(csv.reader(io.StringIO(whole.decode("utf-8"))))
        if not lines:
            return
        self.columns = lines[0]
        for number, line in enumerate(lines[1:], start=2):
            if len(line) != len(self.columns):
                raise ValueError(
                    f"{self.path}: line {number} has {len(line)} entries, the heading has "
                    f"{len(self.columns)}. The file was changed by hand: mend or remove the line."
                )
            self.rows.append(dict(zip(self.columns, map(_value, line), strict=True)))

    def _write_all(self) -> None:
        """Write the file anew, with more columns; it appears whole or not at all."""
        draft = self.path.with_name(f".{self.path.name}.tmp")
        with open(draft, "wb") as file:
            file.write(_line(self.columns))
            for row in self.rows:
                file.write(_line([_text(row.get(name, "")) for name in self.columns]))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.path)


def _line(entries: list[str]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(entries)
    line = buffer.getvalue()
    if line.count("\n") != 1:
        raise ValueError(f"an entry of a row holds a line break: {entries}")
    return line.encode("utf-8")


def _text(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float) else str(value)


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
