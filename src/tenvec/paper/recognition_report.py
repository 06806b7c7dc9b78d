"""What the rows of the recognition experiment say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tenvec.paper import recognition_notes as notes
from tenvec.paper.experiment import Aim, Comparison, Figure, Row, Section, Table, mean_and_std
from tenvec.paper.faces import TITLES
from tenvec.paper.methods import PX_EM, PX_EM_WIDE, RECIPE, UNCENTRED_SVD
from tenvec.paper.published import FEATURES, RECOGNITION, TRAINING_SIZES
from tenvec.paper.readout import METRICS, WHITENING, Choice, Readout, choose

TITLE = "Recognition of faces (Tables II to IV)"
NUMBERS = {"yale": "II", "ar": "III", "feret": "IV"}
N_CELLS = 45


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
        Line(f"**recommended**: {_short(choice.method)}", choice.method, choice.readout),
        Line(f"{_short(other)}, recommended readout", other, choice.readout),
        Line("uncentred SVD, recommended readout", UNCENTRED_SVD, choice.readout),
    ]


def report(rows: Sequence[Row]) -> Section:
    """Tables, figures, counts and aims."""
    rates = Rates(rows)
    choice = choose(rows, (PX_EM, PX_EM_WIDE))
    tables = [] if choice is None else [_choice_table(choice)]
    figures = []
    for dataset, sizes in TRAINING_SIZES.items():
        there = [
            size for size in sizes if any(cell[:2] == (dataset, size) for cell in rates.cells())
        ]
        if there:
            figures.append(_figure(rates, dataset, there, choice))
        for size in there:
            tables += [_table(rates, dataset, size, metric, choice) for metric in METRICS]
    if choice is not None:
        tables.append(_gain_table(rates, choice))
    comparisons = _comparisons(rates, choice)
    return Section(
        title=TITLE,
        protocol=notes.PROTOCOL,
        tables=tables,
        figures=figures,
        notes=notes.NOTES,
        summary=[] if choice is None else [_choice_line(choice)],
        comparisons=comparisons,
        aims=_aims(rates, choice, comparisons),
    )


def _table(rates: Rates, dataset: str, size: int, metric: str, choice: Choice | None) -> Table:
    rows = []
    for line in [*of_the_paper(metric), *beyond_the_paper(metric, choice)]:
        row = [line.label]
        for features in FEATURES:
            rate = rates.at(dataset, size, line, features)
            row.append("–" if rate is None else _cell(rate, dataset, size, line, features, metric))
        rows.append(row)
    unit = "images a person" if dataset == "yale" else "people"
    return Table(
        f"Table {NUMBERS[dataset]}, {TITLES[dataset]}, {size} {unit}, {metric} nearest neighbour. "
        "Mean ± deviation of our runs; below it the paper's figure (✓: ours is at or above it) and "
        "the parameters of the model, with its size where that is not the column's",
        ["method", *map(str, FEATURES)],
        rows,
    )


def _cell(rate: Rate, dataset: str, size: int, line: Line, features: int, metric: str) -> str:
    text = f"{rate.mean:.3f}" + (f" ± {rate.std:.3f}" if rate.n_runs > 1 else "")
    below = []
    if line.paper is not None and metric == "euclidean":
        printed = RECOGNITION[dataset, size][line.paper][features]
        text += " ✓" if rate.mean >= printed.mean else ""
        below.append(f"paper {printed.mean:.3f}" + (f" ± {printed.std:.3f}" if printed.std else ""))
    own_size = f" at {rate.used}" if rate.used not in ("", str(features)) else ""
    below.append(f"{rate.parameters:,} parameters{own_size}")
    return "\n".join([text, *below])


def _choice_table(choice: Choice) -> Table:
    rows = [
        [
            f"{_short(method)}, {metric}",
            *(
                f"{choice.rates[method, Readout(whiten, metric)]:.4f}"
                + (" ←" if (method, Readout(whiten, metric)) == _chosen(choice) else "")
                for whiten in WHITENING
            ),
        ]
        for method in (PX_EM, PX_EM_WIDE)
        for metric in METRICS
    ]
    return Table(
        "The choice of the recommended setting: leave-one-out 1-NN rate among training samples of "
        f"the first split at K = 100, mean over {len(choice.sets)} training sets, by `whiten`",
        ["R and distance", *(f"{whiten:g}" for whiten in WHITENING)],
        rows,
    )


def _chosen(choice: Choice) -> tuple[str, Readout]:
    return choice.method, choice.readout


def _choice_line(choice: Choice) -> str:
    return (
        f"Recommended setting, chosen by leave-one-out among the training samples of the first "
        f"split at K = 100 ({len(choice.sets)} of 9 training sets): "
        f"{_short(choice.method)}, {choice.readout}."
    )


def _gain_table(rates: Rates, choice: Choice) -> Table:
    narrow, wide = (Line("", method, choice.readout) for method in (PX_EM, PX_EM_WIDE))
    rows = []
    for dataset, sizes in TRAINING_SIZES.items():
        for size in sizes:
            row = [f"{TITLES[dataset]} ({size})"]
            for features in FEATURES:
                pair = [rates.at(dataset, size, line, features) for line in (narrow, wide)]
                if pair[0] is None or pair[1] is None:
                    row.append("–")
                else:
                    row.append(f"{pair[1].mean - pair[0].mean:+.3f}")
            rows.append(row)
    return Table(
        f"Gain of R = 2K beside R = K, both by px-em, {choice.readout}: difference of mean rates",
        ["training set", *map(str, FEATURES)],
        rows,
    )


def _comparisons(rates: Rates, choice: Choice | None) -> list[Comparison]:
    lines = of_the_paper("euclidean")
    if choice is not None:
        label = "recommended, beside the paper's TBV-DR"
        lines.append(Line(label, choice.method, choice.readout, "TBV-DR"))
    found = []
    for line in lines:
        for dataset, size, features in rates.cells():
            rate = rates.at(dataset, size, line, features)
            if rate is None or line.paper is None:
                continue
            printed = RECOGNITION[dataset, size][line.paper][features].mean
            where = f"{TITLES[dataset]} ({size}), {features} features"
            found.append(Comparison(where, rate.mean, printed, rate.std, method=line.label))
    return found


def _aims(rates: Rates, choice: Choice | None, comparisons: Sequence[Comparison]) -> list[Aim]:
    pca = [c for c in comparisons if c.method == "PCA" and not c.where.startswith("AR")]
    recipe = [c for c in comparisons if c.method.startswith("TBV-DR")]
    aims = [
        _share(
            "PCA within 0.03 of the paper's in at least 80 % of the cells of Extended Yale and "
            "FERET",
            [abs(c.gain) <= 0.03 for c in pca],
            30,
            24,
        ),
        _share(
            "TBV-DR with the paper's recipe within 0.05 of the paper's in at least 60 % of the 45 "
            "cells",
            [abs(c.gain) <= 0.05 for c in recipe],
            N_CELLS,
            27,
        ),
    ]
    if choice is None:
        return aims
    best = [c.at_or_above for c in comparisons if c.method.startswith("recommended")]
    rival = Line("", UNCENTRED_SVD, choice.readout)
    ours = Line("", choice.method, choice.readout)
    near = []
    for cell in rates.cells():
        pair = [rates.at(*cell[:2], line, cell[2]) for line in (ours, rival)]
        if pair[0] is not None and pair[1] is not None:
            near.append(pair[0].mean >= pair[1].mean - 0.015)
    return [
        *aims,
        _share(
            "The recommended setting at or above the paper's TBV-DR in at least 35 of 45 cells",
            best,
            N_CELLS,
            35,
        ),
        _share(
            "The recommended setting within 0.015 of uncentred SVD with the same readout, or "
            "above, in at least 30 of 45 cells",
            near,
            N_CELLS,
            30,
        ),
    ]


def _share(text: str, holds: Sequence[bool], n_cells: int, needed: int) -> Aim:
    count = sum(holds)
    complete = len(holds) == n_cells
    found = f"{count} of {len(holds)} cells" + ("" if complete else f" run so far, of {n_cells}")
    return Aim(text, found, count >= needed if complete else None)


def _figure(rates: Rates, dataset: str, sizes: Sequence[int], choice: Choice | None) -> Figure:
    rows = "lines: ours, with deviations over the runs; crosses: the paper's figures"
    return Figure(
        name=f"recognition-{dataset}",
        caption=f"Recognition rates on {TITLES[dataset]} by features. Above, the paper's methods "
        f"with Euclidean distances ({rows}). Below, the recommended setting and its rivals beside "
        "the paper's TBV-DR.",
        draw=partial(_draw, rates=rates, dataset=dataset, sizes=sizes, choice=choice),
        size=(4.0 * len(sizes) + 2.2, 7.4),
    )


def _draw(
    figure: Any, rates: Rates, dataset: str, sizes: Sequence[int], choice: Choice | None
) -> None:
    axes = figure.subplots(2, len(sizes), squeeze=False, sharex=True, sharey="row")
    beyond = [] if choice is None else recommended_lines(choice)
    beyond += [
        Line("px-em, R = K, posterior means", PX_EM, Readout(1.0, "euclidean")),
        Line("whitened PCA", "PCA", Readout(1.0, "euclidean")),
    ]
    papers = Line("TBV-DR in the paper", RECIPE, Readout(1.0, "euclidean"), "TBV-DR")
    for column, size in enumerate(sizes):
        unit = "images a person" if dataset == "yale" else "people"
        axes[0, column].set_title(f"{TITLES[dataset]}, {size} {unit}")
        for index, line in enumerate(of_the_paper("euclidean")):
            _plot(axes[0, column], rates, dataset, size, line, f"C{index}")
        for index, line in enumerate(beyond):
            _plot(axes[1, column], rates, dataset, size, line, f"C{index}")
        _crosses(axes[1, column], dataset, size, papers, "black")
        axes[1, column].set_xlabel("features")
    for row in axes:
        row[0].set_ylabel("recognition rate")
        handles, labels = row[-1].get_legend_handles_labels()
        row[-1].legend(
            handles, labels, loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=8
        )
    for axis in axes.flat:
        axis.grid(alpha=0.25)


def _plot(axis: Any, rates: Rates, dataset: str, size: int, line: Line, color: str) -> None:
    cells = [(k, rates.at(dataset, size, line, k)) for k in FEATURES]
    there = [(k, rate) for k, rate in cells if rate is not None]
    axis.errorbar(
        [k for k, _ in there],
        [rate.mean for _, rate in there],
        [rate.std for _, rate in there],
        color=color,
        label=line.label.replace("*", ""),
        capsize=2,
        linewidth=1.4,
        marker="o",
        markersize=3,
    )
    if line.paper is not None:
        _crosses(axis, dataset, size, line, color, label=None)


def _crosses(
    axis: Any, dataset: str, size: int, line: Line, color: str, label: str | None = "given"
) -> None:
    assert line.paper is not None
    printed = RECOGNITION[dataset, size][line.paper]
    axis.plot(
        list(printed),
        [cell.mean for cell in printed.values()],
        "x",
        color=color,
        markersize=7,
        markeredgewidth=1.8,
        label=line.label if label else None,
    )


def _short(method: str) -> str:
    return method.removeprefix("TBV-DR ")
