"""Table V: seconds of learning, one fit after the other with one thread."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from tenvec.paper import faces
from tenvec.paper.experiment import Cell, Experiment, Figure, Row, Section, Table, Value
from tenvec.paper.methods import METHODS, RECIPE, Problem
from tenvec.paper.published import FEATURES, TIMES

TITLE = "Seconds of learning (Table V)"
REPETITIONS = 3
LABELS = {RECIPE: "TBV-DR, the paper's recipe"}
PROTOCOL = """\
The smallest training set of each data set, one fit after the other, each with one thread of \
linear algebra and nothing else running; reading the data and finding neighbours are not part of \
it. The stops of the iterations are those of the recognition tables, whose text says how many \
passes each method has. Median of three repetitions, with other splits and starts. The recommended \
setting is one of the rows "px-em" (the readout takes no time of its own), and whitened PCA is PCA.

The paper measured with Matlab R2014a on one PC with a 2.90 GHz processor. Only the order of the \
methods and the growth with the number of features can be compared."""

Medians = Mapping[tuple[str, str, int], float]


def cells(runs: int, quick: bool) -> list[Cell]:
    """All methods at the smallest training size of each data set, a few times."""
    return [
        {"dataset": dataset, "size": size, "run": run, "method": method, "features": features}
        for run in range(min(runs, 1 if quick else REPETITIONS))
        for dataset, size in TIMES
        for features in (FEATURES[:1] if quick else FEATURES)
        for method in METHODS
    ]


def run(cell: Cell, folder: Path | None) -> dict[str, Value]:
    """Time one fit; reading the data is not part of it."""
    dataset, size, seed = str(cell["dataset"]), int(cell["size"]), int(cell["run"])
    split = faces.split(dataset, size, seed, folder)
    problem = Problem(dataset, size, int(cell["features"]), seed)
    start = time.perf_counter()
    fitted = METHODS[str(cell["method"])](split.train, problem)
    seconds = time.perf_counter() - start
    return {"seconds": round(seconds, 5), "passes": fitted.n_iter, "used": fitted.size}


def report(rows: Sequence[Row]) -> Section:
    """A table and a panel of the figure for each data set."""
    seconds: dict[tuple[str, str, int], list[float]] = {}
    for row in rows:
        key = row["dataset"], row["method"], row["features"]
        seconds.setdefault(key, []).append(float(row["seconds"]))
    medians = {key: median(values) for key, values in seconds.items()}
    there = [(dataset, size) for dataset, size in TIMES if any(k[0] == dataset for k in medians)]
    return Section(
        title=TITLE,
        protocol=PROTOCOL,
        tables=[_table(medians, dataset, size) for dataset, size in there],
        figures=[
            Figure(
                "times",
                "Seconds of learning by features, on a logarithmic scale. Lines: ours; crosses: "
                "the paper's, on its machine.",
                partial(_draw, medians=medians, there=there),
                (4.0 * len(there) + 2.4, 4.4),
            )
        ],
        summary=_summary(medians),
    )


def _table(medians: Medians, dataset: str, size: int) -> Table:
    rows = []
    for method in METHODS:
        row = [LABELS.get(method, method)]
        for features in FEATURES:
            found = medians.get((dataset, method, features))
            text = "–" if found is None else f"{found:.3g}"
            printed = TIMES[dataset, size].get(method)
            row.append(text if printed is None else f"{text}\npaper {printed[features].mean:g}")
        rows.append(row)
    unit = "images a person" if dataset == "yale" else "people"
    return Table(
        f"Table V, {faces.TITLES[dataset]}, {size} {unit}: seconds of learning, median of the "
        "repetitions",
        ["method", *map(str, FEATURES)],
        rows,
    )


def _summary(medians: Medians) -> list[str]:
    """How much more time the paper's method takes than PCA, there and here."""
    ratios: dict[str, list[float]] = {"ours": [], "paper": []}
    for dataset, size in TIMES:
        for features in FEATURES:
            pair = [medians.get((dataset, method, features)) for method in (RECIPE, "PCA")]
            if pair[0] is not None and pair[1] is not None:
                ratios["ours"].append(pair[0] / pair[1])
                printed = TIMES[dataset, size]
                ratios["paper"].append(
                    printed[RECIPE][features].mean / printed["PCA"][features].mean
                )
    if not ratios["ours"]:
        return []
    return [
        f"Learning by the paper's recipe takes {median(ratios['ours']):.3g} times as long as PCA "
        f"(median over {len(ratios['ours'])} cells); in the paper {median(ratios['paper']):.3g} "
        "times."
    ]


def _draw(figure: Any, medians: Medians, there: Sequence[tuple[str, int]]) -> None:
    axes = figure.subplots(1, len(there), squeeze=False, sharey=True)[0]
    for axis, (dataset, size) in zip(axes, there, strict=True):
        for index, method in enumerate(METHODS):
            cells = [
                (k, medians[dataset, method, k])
                for k in FEATURES
                if (dataset, method, k) in medians
            ]
            axis.plot(
                [k for k, _ in cells],
                [seconds for _, seconds in cells],
                color=f"C{index}",
                label=LABELS.get(method, method),
                marker="o",
                markersize=3,
            )
            printed = TIMES[dataset, size].get(method)
            if printed is not None:
                values = [cell.mean for cell in printed.values()]
                axis.plot(list(printed), values, "x", color=f"C{index}", markeredgewidth=1.8)
        axis.set_yscale("log")
        axis.set_title(f"{faces.TITLES[dataset]} ({size})")
        axis.set_xlabel("features")
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("seconds")
    axes[-1].plot([], [], "x", color="black", markeredgewidth=1.8, label="the paper's")
    axes[-1].legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False, fontsize=8)


EXPERIMENT = Experiment(
    name="times",
    title=TITLE,
    numbers=(5,),
    needs=faces.LOADERS,
    cells=cells,
    run=run,
    report=report,
    serial=True,
)
