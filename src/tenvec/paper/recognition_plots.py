"""Rates by features as figures, ours as lines and the paper's as crosses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tenvec.paper.experiment import Figure
from tenvec.paper.faces import TITLES
from tenvec.paper.methods import PX_EM, RECIPE
from tenvec.paper.published import FEATURES, RECOGNITION
from tenvec.paper.readout import Choice, Readout
from tenvec.paper.recognition_rates import Line, Rates, of_the_paper, recommended_lines


def figure(rates: Rates, dataset: str, sizes: Sequence[int], choice: Choice | None) -> Figure:
    """Draw one data set, a column for each training size."""
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
    canvas: Any, rates: Rates, dataset: str, sizes: Sequence[int], choice: Choice | None
) -> None:
    axes = canvas.subplots(2, len(sizes), squeeze=False, sharex=True, sharey="row")
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
    axes[0, -1].plot([], [], "x", color="grey", markeredgewidth=1.8, label="the paper's")
    for row in axes:
        row[0].set_ylabel("recognition rate")
        row[-1].legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=8)
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
