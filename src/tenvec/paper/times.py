"""Table V: seconds of learning, one fit after the other with one thread."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from tenvec.paper import faces
from tenvec.paper.experiment import Cell, Experiment, Row, Section, Value
from tenvec.paper.methods import METHODS, Problem
from tenvec.paper.published import FEATURES, TIMES

REPETITIONS = 3


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
    """Tables."""
    return Section("Times", "")


EXPERIMENT = Experiment(
    name="times",
    title="Seconds of learning (Table V)",
    numbers=(5,),
    needs=faces.LOADERS,
    cells=cells,
    run=run,
    report=report,
    serial=True,
)
