"""What all sections of the report say together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenvec.paper.experiment import Aim, Comparison, Section, Table

TITLE = "The paper's tables, reproduced"
PAPER = (
    "F. Ju, Y. Sun, J. Gao, Y. Hu and B. Yin, “Vectorial Dimension Reduction for Tensors Based on "
    "Bayesian Inference”, arXiv:1707.00380"
)
VERDICTS = {True: "reached", False: "missed", None: "not yet known"}


@dataclass(frozen=True)
class Report:
    """All there is to say.

    Parameters
    ----------
    sections : mapping of str to Section
        By the experiment's name.
    machines : sequence of mapping
        What the results were computed on.
    skipped : sequence of str
        A line for each data set that was not there.
    command : str
        What was typed.
    """

    sections: Mapping[str, Section]
    machines: Sequence[Mapping[str, Any]]
    skipped: Sequence[str]
    command: str

    @property
    def lead(self) -> list[str]:
        """Paragraphs before the summary."""
        return [
            f"{PAPER}: its experiments, repeated on the data sets that are there. Every figure "
            f"here was computed by `{self.command}`; the rows behind it stand in the CSV files of "
            "the same folder, one a run, with seeds. Nothing is copied from the paper but the "
            "figures that are called the paper's.",
            *(f"Computed on: {_machine(machine)}." for machine in self.machines),
            *(f"Left out: {line}" for line in self.skipped),
        ]

    @property
    def lines(self) -> list[str]:
        """Lines of the summary."""
        return [line for section in self.sections.values() for line in section.summary]

    @property
    def aims(self) -> list[Aim]:
        """All aims."""
        return [aim for section in self.sections.values() for aim in section.aims]

    def tables(self) -> list[Table]:
        """Aims, counts, and where ours is below."""
        tables = []
        if self.aims:
            rows = [[aim.text, aim.found, VERDICTS[aim.met]] for aim in self.aims]
            tables.append(Table("Aims, as judged by code", ["aim", "found", ""], rows))
        groups = _groups(self.sections)
        if groups:
            tables.append(_counts(groups))
            tables.append(_below(groups))
        return [table for table in tables if table.rows]


Groups = Mapping[tuple[str, str], Sequence[Comparison]]


def _groups(sections: Mapping[str, Section]) -> dict[tuple[str, str], list[Comparison]]:
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for name, section in sections.items():
        for comparison in section.comparisons:
            groups.setdefault((name, comparison.method), []).append(comparison)
    return groups


def _counts(groups: Groups) -> Table:
    rows = []
    for (name, method), cells in groups.items():
        mean = sum(cell.gain for cell in cells) / len(cells)
        rows.append(
            [
                name,
                method,
                str(len(cells)),
                str(sum(cell.at_or_above for cell in cells)),
                str(sum(cell.within_deviation for cell in cells)),
                f"{mean:+.3g}",
            ]
        )
    everything = [cell for cells in groups.values() for cell in cells]
    rows.append(
        [
            "all",
            "",
            str(len(everything)),
            str(sum(cell.at_or_above for cell in everything)),
            str(sum(cell.within_deviation for cell in everything)),
            "",
        ]
    )
    return Table(
        "In how many cells ours is at least as good as the paper's",
        ["experiment", "method", "cells", "strictly", "up to one deviation of ours", "mean gain"],
        rows,
    )


def _below(groups: Groups) -> Table:
    rows = []
    for (name, method), cells in groups.items():
        below = [cell for cell in cells if not cell.within_deviation]
        if below:
            listing = "; ".join(
                f"{place}: " + ", ".join(f"{cell} ({gain:+.2g})" for cell, gain in found)
                for place, found in _by_place(below).items()
            )
            rows.append([name, method, str(len(below)), listing])
    return Table(
        "Where ours is worse than the paper's by more than one deviation, and by how much; why, "
        "stands in the notes of each section",
        ["experiment", "method", "cells", "which"],
        rows,
    )


def _by_place(cells: Sequence[Comparison]) -> dict[str, list[tuple[str, float]]]:
    """Gather the cells of one training set."""
    places: dict[str, list[tuple[str, float]]] = {}
    for cell in cells:
        place, _, rest = cell.where.partition(", ")
        places.setdefault(place, []).append((rest.removesuffix(" features") or "it", cell.gain))
    return places


def _machine(machine: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in machine.items())
