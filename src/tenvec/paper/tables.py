"""What a user may ask for: the paper's tables by name or number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from tenvec.paper.experiment import Cell, Experiment
from tenvec.validation import ParameterError

MODULES = {
    "settings": "settings_of_k_and_r",
    "recognition": "recognition",
    "times": "times",
    "clustering": "clustering",
    "berkeley": "berkeley",
    "imdb": "imdb",
}
"""Experiments in the paper's order, and the module of each."""

NUMBERS = {
    1: ("settings", None),
    2: ("recognition", "yale"),
    3: ("recognition", "ar"),
    4: ("recognition", "feret"),
    5: ("times", None),
    6: ("clustering", None),
    7: ("berkeley", None),
    8: ("imdb", None),
}
"""The paper's tables: their experiment, and the data set where the table is a part of it."""

ROMAN = dict(zip(("I", "II", "III", "IV", "V", "VI", "VII", "VIII"), NUMBERS, strict=True))


@dataclass(frozen=True)
class Request:
    """An experiment, or the part of it on some data sets."""

    experiment: Experiment
    datasets: frozenset[str] | None

    def cells(self, runs: int, quick: bool) -> list[Cell]:
        """Its cells."""
        cells = self.experiment.cells(runs, quick)
        if self.datasets is None:
            return cells
        return [cell for cell in cells if cell["dataset"] in self.datasets]


def load(name: str) -> Experiment:
    """Import one experiment, with what it needs."""
    experiment: Experiment = import_module(f"tenvec.paper.{MODULES[name]}").EXPERIMENT
    return experiment


def requests(tables: Sequence[str]) -> list[Request]:
    """Resolve what the user typed, in the paper's order; nothing typed is everything.

    Raises
    ------
    ParameterError
        If a name is not known; the message lists those that are.
    """
    wanted: dict[str, set[str] | None] = {}
    for typed in tables or ["all"]:
        for name, part in _resolve(typed):
            known = wanted.get(name, set())
            wanted[name] = None if part is None or known is None else {*known, part}
    return [
        Request(load(name), None if wanted[name] is None else frozenset(wanted[name] or ()))
        for name in MODULES
        if name in wanted
    ]


def _resolve(typed: str) -> list[tuple[str, str | None]]:
    if typed.lower() == "all":
        return [(name, None) for name in MODULES]
    if typed.lower() in MODULES:
        return [(typed.lower(), None)]
    number = ROMAN.get(typed.upper(), int(typed) if typed.isdecimal() else 0)
    if number in NUMBERS and NUMBERS[number][0] in MODULES:
        return [NUMBERS[number]]
    listing = "; ".join(
        f"{name} ({', '.join(str(n) for n, (of, _) in NUMBERS.items() if of == name)})"
        for name in MODULES
    )
    raise ParameterError(
        f"there is no table {typed!r}. Name one of these, or its number in the paper: {listing}; "
        "or all."
    )
