"""Table VII: reconstruction of the Berkeley sensors, quantity by quantity."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tenvec import TBVDR
from tenvec.baselines import CP
from tenvec.datasets import load_intel_lab
from tenvec.paper import SETTINGS
from tenvec.paper.berkeley_report import (
    CP_ALS,
    CP_LONG,
    CURVE_STEP,
    FIGURE_RANK,
    LONG_RECIPE,
    PREPARATIONS,
    PX_EM,
    QUANTITIES,
    RANKS,
    RECIPE,
    TITLE,
    curve_column,
    report,
)
from tenvec.paper.experiment import Cell, Experiment, Value

Array = Any

N_STEPS = 1350
"""Steps of about ten minutes before the batteries run down."""
PASSES, SWEEPS = 60, 10
RUNS_OF_OTHER_RANKS = 3
"""The effort of CP and px-em where they run as long as one another."""

METHODS: dict[str, Callable[[int, str, int], Any]] = {
    CP_ALS: lambda rank, init, seed: CP(
        rank, init=init, n_sweeps=1, max_iter=50, tol=1e-4, random_state=seed
    ),
    CP_LONG: lambda rank, init, seed: CP(
        rank, init=init, n_sweeps=SWEEPS, max_iter=PASSES, tol=0, random_state=seed
    ),
    RECIPE: lambda rank, init, seed: TBVDR(rank, random_state=seed, **{**SETTINGS, "init": init}),
    LONG_RECIPE: lambda rank, init, seed: TBVDR(
        rank, random_state=seed, **{**SETTINGS, "init": init, "tol": 0}
    ),
    PX_EM: lambda rank, init, seed: TBVDR(
        rank,
        rank="n_components",
        center=False,
        init=init,
        n_sweeps=SWEEPS,
        max_iter=PASSES,
        tol=0,
        random_state=seed,
    ),
}
"""Models by method, from rank, start and seed."""


@lru_cache(maxsize=1)
def sensors(folder: Path | None) -> Any:
    """Both sets of readings, gaps interpolated: as they are, and without those that cannot be."""
    read = load_intel_lab(folder, n_steps=N_STEPS, interpolate=True)
    humidity = QUANTITIES.index("humidity")
    possible = (read.data[..., humidity] >= 0) & (read.data[..., humidity] <= 110)
    mended = read.data.copy()
    steps = np.arange(mended.shape[1])
    for sensor in np.flatnonzero(~possible.all(axis=1)):
        good = possible[sensor]
        for quantity in range(mended.shape[2]):
            series = mended[sensor, :, quantity]
            series[~good] = np.interp(steps[~good], steps[good], series[good])
    return {"as read": read.data, "mended": mended}


def prepared(preparation: str, folder: Path | None) -> Array:
    """Sensor × time × quantity."""
    data = sensors(folder)["mended" if preparation == "mended" else "as read"]
    if preparation == "as read, scaled":
        return data / data.std(axis=(0, 1))
    return data


def cells(runs: int, quick: bool) -> list[Cell]:
    """All methods by preparation, rank and start; the start by SVD has one run."""
    return [
        {"run": run, "preparation": preparation, "rank": rank, "start": start, "method": method}
        for run in range(min(runs, 1) if quick else runs)
        for preparation in (PREPARATIONS[:1] if quick else PREPARATIONS)
        for rank in ([FIGURE_RANK] if quick else RANKS)
        for start in ("uniform", "svd")
        for method in METHODS
        if rank == FIGURE_RANK or run < RUNS_OF_OTHER_RANKS
        if start == "uniform" or (run == 0 and method in (CP_LONG, PX_EM))
    ]


def run(cell: Cell, folder: Path | None) -> dict[str, Value]:
    """Fit and reconstruct the same samples: sensors, of time × quantity."""
    data = prepared(str(cell["preparation"]), folder)
    rank, seed, method = int(cell["rank"]), int(cell["run"]), str(cell["method"])
    start = time.perf_counter()
    model = METHODS[method](rank, str(cell["start"]), seed).fit(data)
    seconds = time.perf_counter() - start
    rebuilt = model.inverse_transform(model.transform(data))
    errors = relative_errors(data, rebuilt)
    measured: dict[str, Value] = {
        "passes": model.n_iter_,
        "parameters": rank * (sum(data.shape[1:]) + (rank if "CP" not in method else 0)),
        "seconds": round(seconds, 3),
        "total": float(np.linalg.norm(data - rebuilt) / np.linalg.norm(data)),
        **dict(zip(QUANTITIES, map(float, errors), strict=True)),
    }
    shown = (seed, rank, cell["preparation"], cell["start"])
    if shown == (0, FIGURE_RANK, PREPARATIONS[0], "uniform") and method in (CP_ALS, PX_EM):
        measured |= curves("original", data[0]) | curves("rebuilt", rebuilt[0])
    return measured


def relative_errors(data: Array, rebuilt: Array) -> Array:
    """``‖X_i − X̂_i‖ / ‖X_i‖`` of every quantity i, as the paper defines it."""
    return np.linalg.norm(data - rebuilt, axis=(0, 1)) / np.linalg.norm(data, axis=(0, 1))


def curves(name: str, sensor: Array) -> dict[str, Value]:
    """A sensor's readings in time, as many as a plot can show, for the figure."""
    return {
        curve_column(name, quantity): " ".join(f"{value:.4g}" for value in series)
        for quantity, series in zip(QUANTITIES, sensor[::CURVE_STEP].T, strict=True)
    }


EXPERIMENT = Experiment(
    name="berkeley",
    title=TITLE,
    numbers=(7,),
    needs={"sensors": sensors},
    cells=cells,
    run=run,
    report=report,
)
