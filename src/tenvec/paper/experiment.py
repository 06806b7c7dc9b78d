"""What an experiment is: cells of work, how one of them runs, and how the rows become a report."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Value = str | int | float
Cell = dict[str, Value]
"""One unit of work, by JSON scalars; its entries are the key columns of its row in the CSV file."""
_NUMBER = re.compile(r"(?:[+−-]?[\d,.]+(?:e[+-]?\d+)?(?: ± [\d.]+)?(?: [✓←])?|–|)(?:\n|$)")
Row = Mapping[str, Any]
"""A row of the CSV file, read back: the entries of a cell and what was measured."""


@dataclass(frozen=True)
class Table:
    """A table of the report.

    Parameters
    ----------
    caption : str
        What it shows.
    header : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        The cells, ready to print. Lines after the first of a cell are printed small.
    """

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def numeric(self) -> list[bool]:
        """For each column whether it holds numbers, which are set to the right."""
        columns = zip(*self.rows, strict=True)
        return [all(_NUMBER.match(cell) for cell in column) for column in columns]


@dataclass(frozen=True)
class Figure:
    """A figure of the report.

    Parameters
    ----------
    name : str
        Name of its file, without the suffix.
    caption : str
        What it shows; also its text for those who cannot see it.
    draw : callable
        Draws on the :class:`matplotlib.figure.Figure` that it is given.
    size : (float, float)
        Width and height in inches.
    """

    name: str
    caption: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (9.0, 3.4)


@dataclass(frozen=True)
class Aim:
    """A statement on the results that code has judged.

    Parameters
    ----------
    text : str
        What was aimed at.
    found : str
        What was found, with its counts.
    met : bool or None
        Whether it was met; None where the rows do not suffice to say.
    """

    text: str
    found: str
    met: bool | None


@dataclass(frozen=True)
class Comparison:
    """A figure of ours beside the paper's, for the count over all tables.

    Parameters
    ----------
    where : str
        The cell in words: data set, size, method, features.
    ours, paper : float
        The two figures.
    std : float
        Sample standard deviation of ours over the runs (0 where there is none).
    higher_is_better : bool
        False for errors.
    method : str
        What is compared; cells of one method are counted together.
    """

    where: str
    ours: float
    paper: float
    std: float = 0.0
    higher_is_better: bool = True
    method: str = ""

    @property
    def gain(self) -> float:
        """By how much ours is better; negative where it is worse."""
        return (self.ours - self.paper) * (1 if self.higher_is_better else -1)

    @property
    def at_or_above(self) -> bool:
        """Whether ours is at least as good."""
        return self.gain >= 0

    @property
    def within_deviation(self) -> bool:
        """Whether ours is at least as good up to one standard deviation."""
        return self.gain >= -self.std


@dataclass(frozen=True)
class Section:
    """What the report says about one experiment.

    Parameters
    ----------
    title : str
        Heading.
    protocol : str
        How it was done, the seeds, and where that deviates from the paper or the paper is silent;
        paragraphs separated by empty lines.
    tables, figures : sequences
        In the order in which they are shown.
    notes : sequence of str
        What a reader should know about the results: where they fall short, and why.
    summary : sequence of str
        Lines for the summary over all experiments.
    comparisons : sequence of Comparison
        Our cells beside the paper's.
    aims : sequence of Aim
        What was aimed at and whether it was reached.
    """

    title: str
    protocol: str
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()
    summary: Sequence[str] = ()
    comparisons: Sequence[Comparison] = ()
    aims: Sequence[Aim] = ()


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper.

    Parameters
    ----------
    name : str
        What the user types.
    title : str
        What it is, with the paper's numbers of its tables.
    numbers : tuple of int
        The paper's tables that it repeats: typed in place of the name.
    needs : mapping of str to callable
        Data sets by name, each with its loader (``loader(folder)``). Cells whose entry
        ``"dataset"`` is a data set that cannot be loaded are skipped with a line that says so; all
        cells are skipped where they have no such entry.
    cells : callable
        ``cells(runs, quick)`` lists all cells; cheap. Those of the first run come first, so that
        an early stop leaves whole tables of fewer runs. The entry ``"run"`` counts the runs from 0.
    run : callable
        ``run(cell, folder)`` returns what was measured; with the cell it makes a row.
    report : callable
        ``report(rows)`` makes the section from the rows that are there.
    serial : bool
        Whether its cells run one at a time, because they are timed.
    """

    name: str
    title: str
    numbers: tuple[int, ...]
    needs: Mapping[str, Callable[[Path | None], Any]]
    cells: Callable[[int, bool], list[Cell]]
    run: Callable[[Cell, Path | None], dict[str, Value]]
    report: Callable[[Sequence[Row]], Section]
    serial: bool = False


def mean_and_std(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation, 0 after a single run."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
