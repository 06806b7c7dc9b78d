"""Tables II to IV: recognition of faces by the nearest neighbour."""

from __future__ import annotations

import time
from pathlib import Path

from tenvec.paper import faces
from tenvec.paper.experiment import Cell, Experiment, Value
from tenvec.paper.methods import METHODS, PX_EM, PX_EM_WIDE, RECIPE, Problem
from tenvec.paper.published import FEATURES, TRAINING_SIZES
from tenvec.paper.readout import leave_one_out_rates, recognition_rates
from tenvec.paper.recognition_report import report

CHOSEN_AT = 100
"""Feature number at which the recommended setting is chosen, on the first split only."""


def cells(runs: int, quick: bool) -> list[Cell]:
    """All methods by data set, training size and number of features."""
    return [
        {"dataset": dataset, "size": size, "run": run, "method": method, "features": features}
        for run in range(min(runs, 1) if quick else runs)
        for dataset, sizes in TRAINING_SIZES.items()
        for size in (sizes[:1] if quick else sizes)
        for features in ((50, CHOSEN_AT) if quick else FEATURES)
        for method in METHODS
    ]


def run(cell: Cell, folder: Path | None) -> dict[str, Value]:
    """Fit one method to one split and read its features in every way."""
    dataset, size, features = str(cell["dataset"]), int(cell["size"]), int(cell["features"])
    seed = int(cell["run"])
    split = faces.split(dataset, size, seed, folder)
    start = time.perf_counter()
    fitted = METHODS[str(cell["method"])](split.train, Problem(dataset, size, features, seed))
    seconds = time.perf_counter() - start
    train, test = fitted.transform(split.train), fitted.transform(split.test)
    # The recipe stands for the paper, which reads posterior means.
    variance = None if cell["method"] == RECIPE else fitted.variance
    measured: dict[str, Value] = {
        "used": fitted.size,
        "parameters": fitted.parameters,
        "passes": fitted.n_iter,
        "seconds": round(seconds, 4),
        **recognition_rates(train, split.y_train, test, split.y_test, variance),
    }
    if seed == 0 and features == CHOSEN_AT and cell["method"] in (PX_EM, PX_EM_WIDE):
        measured |= leave_one_out_rates(train, split.y_train, variance)
    return measured


EXPERIMENT = Experiment(
    name="recognition",
    title="Recognition of faces (Tables II to IV)",
    numbers=(2, 3, 4),
    needs=faces.LOADERS,
    cells=cells,
    run=run,
    report=report,
)
