"""The rates behind the recognition tables: by cell, and the lines that are shown of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tenvec.paper.experiment import Row, mean_and_std
from tenvec.paper.methods import PX_EM, PX_EM_WIDE, RECIPE, UNCENTRED_SVD
from tenvec.paper.published import FEATURES, TRAINING_SIZES
from tenvec.paper.readout import Choice, Readout


@dataclass(frozen=True)
class Line:
    """A row of a table, a line of a plot: a method, how its features are read, the paper's name."""

    label: str
    method: str
    readout: Readout
    paper: str | None = None


@dataclass(frozen=True)
class Rate:
    """Mean and deviation over the runs, and the size of the model."""

    mean: float
    std: float
    n_runs: int
    used: str
    parameters: int

    @property
    def as_printed(self) -> float:
        """The mean with as many digits as the paper prints, to compare with it."""
        return round(self.mean, 4)


class Rates:
    """The rows by cell."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            key = row["dataset"], row["size"], row["method"], row["features"]
            self._rows.setdefault(key, []).append(row)

    def at(self, dataset: str, size: int, line: Line, features: int) -> Rate | None:
        """One cell of a line, if it has been run."""
        rows = self._rows.get((dataset, size, line.method, features), [])
        if not rows:
            return None
        mean, std = mean_and_std([row[line.readout.column("rate")] for row in rows])
        parameters, _ = mean_and_std([row["parameters"] for row in rows])
        used = {str(row["used"]) for row in rows}
        return Rate(mean, std, len(rows), used.pop() if len(used) == 1 else "", round(parameters))

    def cells(self) -> Iterator[tuple[str, int, int]]:
        """Data set, size and features of all cells of the paper's tables that have been run."""
        there = {(dataset, size, features) for dataset, size, _, features in self._rows}
        for dataset, sizes in TRAINING_SIZES.items():
            for size in sizes:
                for features in FEATURES:
                    if (dataset, size, features) in there:
                        yield dataset, size, features


def of_the_paper(metric: str) -> list[Line]:
    """The paper's rows; PCA's features are not whitened there."""
    unscaled = Readout(1.0, metric)
    lines = [Line("PCA", "PCA", Readout(0.0, metric), "PCA")]
    lines += [Line(name, name, unscaled, name) for name in ("mixPPCA", "GLRAM", "CP")]
    lines += [Line("Bayesian CP", "Bayesian CP", unscaled, "Bayesian CP")]
    return [*lines, Line("TBV-DR, the paper's recipe", RECIPE, unscaled, "TBV-DR")]


def beyond_the_paper(metric: str, choice: Choice | None) -> list[Line]:
    """Rows that the paper does not have."""
    unscaled = Readout(1.0, metric)
    lines = [
        Line("px-em, R = K", PX_EM, unscaled),
        Line("px-em, R = 2K", PX_EM_WIDE, unscaled),
        Line("whitened PCA", "PCA", unscaled),
        Line("uncentred SVD, whitened", UNCENTRED_SVD, unscaled),
        Line("Tucker", "Tucker", unscaled),
    ]
    if choice is not None and choice.readout.metric == metric:
        lines = [*recommended_lines(choice), *lines]
    return lines


def recommended_lines(choice: Choice) -> list[Line]:
    """The recommended setting, the same with the other R, and its rival."""
    other = PX_EM if choice.method == PX_EM_WIDE else PX_EM_WIDE
    return [
        Line(f"**recommended**: {short(choice.method)}", choice.method, choice.readout),
        Line(f"{short(other)}, recommended readout", other, choice.readout),
        Line("uncentred SVD, recommended readout", UNCENTRED_SVD, choice.readout),
    ]


def short(method: str) -> str:
    """Name of a way to learn TBV-DR."""
    return method.removeprefix("TBV-DR ")
