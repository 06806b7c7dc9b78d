"""Table I: recognition on Extended Yale over pairs of K and R."""

from __future__ import annotations

import time
from pathlib import Path

from tenvec import TBVDR
from tenvec.paper import SETTINGS, faces
from tenvec.paper.experiment import Cell, Experiment, Value
from tenvec.paper.methods import PX_EM_EFFORT
from tenvec.paper.published import SETTINGS_OF_K_AND_R
from tenvec.paper.readout import recognition_rates
from tenvec.paper.settings_report import ALGORITHMS, BESIDE_THE_PAPER, TITLE, report

TRAINING_IMAGES = 40
QUICK = ((10, 10), (40, 50), (50, 50), (100, 100))


def cells(runs: int, quick: bool) -> list[Cell]:
    """All pairs of the paper and a few more, by the paper's recipe and by px-em."""
    return [
        {"dataset": "yale", "run": run, "K": n_components, "R": rank, "algorithm": algorithm}
        for run in range(min(runs, 1) if quick else runs)
        for n_components, rank in (QUICK if quick else (*SETTINGS_OF_K_AND_R, *BESIDE_THE_PAPER))
        for algorithm in ALGORITHMS
    ]


def run(cell: Cell, folder: Path | None) -> dict[str, Value]:
    """Fit one pair on one split."""
    seed, n_components, rank = int(cell["run"]), int(cell["K"]), int(cell["R"])
    split = faces.split("yale", TRAINING_IMAGES, seed, folder)
    if cell["algorithm"] == "recipe":
        model = TBVDR(n_components, random_state=seed, **{**SETTINGS, "rank": rank})
    else:
        model = TBVDR(n_components, rank=rank, center=False, random_state=seed, **PX_EM_EFFORT)
    start = time.perf_counter()
    model.fit(split.train)
    seconds = time.perf_counter() - start
    train, test = model.transform(split.train), model.transform(split.test)
    variance = model.explained_variance_
    return {
        "score": float(model.reconstruction_scores_[-1]),
        "seconds": round(seconds, 4),
        "passes": model.n_iter_,
        "parameters": rank * (sum(model.sample_shape_) + n_components),
        **recognition_rates(train, split.y_train, test, split.y_test, variance),
    }


EXPERIMENT = Experiment(
    name="settings",
    title=TITLE,
    numbers=(1,),
    needs={"yale": faces.LOADERS["yale"]},
    cells=cells,
    run=run,
    report=report,
)
