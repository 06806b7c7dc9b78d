"""Running the cells of experiments in several processes, each finished one kept at once."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from tenvec.paper.experiment import Cell, Value
from tenvec.paper.results import Results
from tenvec.paper.tables import Request, load

THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "BLIS_NUM_THREADS",
)
SECONDS_BETWEEN_LINES = 15.0
"""Of progress, where nobody sees a line being overwritten."""

Say = Callable[[str], None]


@dataclass
class Outcome:
    """What became of the cells that were asked for.

    Parameters
    ----------
    finished : int
        Cells run now.
    skipped : list of str
        A line for each data set that is not there.
    failed : list of str
        A line for each cell that raised an error.
    """

    finished: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Task:
    experiment: str
    cell: Cell
    serial: bool

    @property
    def kind(self) -> tuple[Any, ...]:
        """What it has in common with the same cell of other runs: the seconds it takes."""
        entries = ((name, value) for name, value in self.cell.items() if name != "run")
        return (self.experiment, *entries)

    def __str__(self) -> str:
        entries = ", ".join(f"{name} {value}" for name, value in self.cell.items())
        return f"{self.experiment}: {entries}"


def run_cells(
    requests: Sequence[Request],
    folder: Path | None,
    out: Path,
    *,
    runs: int,
    quick: bool,
    jobs: int,
    say: Say = print,
) -> Outcome:
    """Run all cells that have no row in ``out`` yet, the first run of everything first.

    Cells of serial experiments come last, one at a time, when nothing else runs.
    """
    outcome = Outcome()
    results: dict[str, Results] = {}
    tasks: list[_Task] = []
    progress = _Progress(say)
    for request in requests:
        name = request.experiment.name
        results[name] = Results(out / f"{name}.csv")
        wanted = request.cells(runs, quick)
        there = _available(request, wanted, folder, outcome, say)
        missing = results[name].missing(there)
        if len(missing) < len(there):
            say(f"{name}: {len(there) - len(missing)} of {len(there)} cells are finished already")
        tasks += [_Task(name, cell, request.experiment.serial) for cell in missing]
        for row in results[name].rows:
            cell = {key: row[key] for key in (wanted[0] if wanted else ()) if key in row}
            progress.knows(_Task(name, cell, False).kind, row.get("cell_seconds", ""))
    tasks.sort(key=lambda task: int(task.cell.get("run", 0)))
    for serial in (False, True):
        batch = [task for task in tasks if task.serial == serial]
        if batch:
            _run_batch(batch, folder, results, 1 if serial else jobs, outcome, progress)
    return outcome


def _available(
    request: Request, cells: list[Cell], folder: Path | None, outcome: Outcome, say: Say
) -> list[Cell]:
    """Cells whose data are there."""
    absent = set()
    used = {cell.get("dataset") for cell in cells}
    for dataset, loader in request.experiment.needs.items():
        if not used & {dataset, None}:
            continue
        try:
            loader(folder)
        except FileNotFoundError as error:
            absent.add(dataset)
            line = f"{request.experiment.name}: skipped on {dataset}: {error}"
            outcome.skipped.append(line)
            say(line)
    return [
        cell
        for cell in cells
        if (cell["dataset"] not in absent if "dataset" in cell else not absent)
    ]


def _run_batch(
    tasks: list[_Task],
    folder: Path | None,
    results: dict[str, Results],
    jobs: int,
    outcome: Outcome,
    progress: _Progress,
) -> None:
    progress.begins(tasks, jobs)
    queue = iter(tasks)
    with _one_thread_each(), _pool(jobs) as executor:
        running: dict[Future[dict[str, Value]], _Task] = {}

        def submit() -> None:
            # A few in hand, not all: so that a stop has nothing to cancel.
            for task in queue:
                running[executor.submit(_run_one, task.experiment, task.cell, folder)] = task
                return

        for _ in range(2 * jobs):
            submit()
        while running:
            done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                task = running.pop(future)
                submit()
                seconds = None
                try:
                    row = future.result()
                except BrokenExecutor:
                    raise
                except Exception as error:  # one cell's misfortune is not the others'
                    outcome.failed.append(f"{task}: {type(error).__name__}: {error}")
                else:
                    results[task.experiment].append(row)
                    seconds = float(row["cell_seconds"])
                    outcome.finished += 1
                progress.finished(task, seconds)
            progress.show(next(iter(running.values()), None))
    progress.ends()


def _run_one(name: str, cell: Cell, folder: Path | None) -> dict[str, Value]:
    start = time.perf_counter()
    measured = load(name).run(cell, folder)
    return {**cell, **measured, "cell_seconds": round(time.perf_counter() - start, 3)}


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let the processes that are started use one thread for linear algebra."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes; an error or Ctrl-C ends them at once, in the middle of their cells."""
    executor = ProcessPoolExecutor(jobs, get_context("spawn"), _begin_worker)
    try:
        yield executor
    except BaseException:
        processes = list((executor._processes or {}).values())
        executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        raise
    executor.shutdown()


def _begin_worker() -> None:
    # Ctrl-C reaches every process of the terminal; the first of them ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What does not converge in the passes it is given is told by the column of passes.
    warnings.simplefilter("ignore")
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


class _Progress:
    """How far it is, and how long it will take."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._live = say is print and sys.stdout.isatty()
        self._seconds: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        self._shown = 0.0

    def knows(self, kind: tuple[Any, ...], seconds: Any) -> None:
        """A cell of an earlier call took this long."""
        if isinstance(seconds, int | float):
            self._seconds[kind].append(float(seconds))

    def begins(self, tasks: list[_Task], jobs: int) -> None:
        self._open = {id(task): task for task in tasks}
        self._total, self._jobs, self._start = len(tasks), jobs, time.monotonic()

    def finished(self, task: _Task, seconds: float | None) -> None:
        del self._open[id(task)]
        if seconds is not None:
            self._seconds[task.kind].append(seconds)

    def show(self, task: _Task | None) -> None:
        """Say how it stands, not too often."""
        now = time.monotonic()
        if task is None or now - self._shown < (0.5 if self._live else SECONDS_BETWEEN_LINES):
            return
        self._shown = now
        done = self._total - len(self._open)
        line = (
            f"{done} of {self._total} cells, {_clock(now - self._start)} gone, "
            f"about {_clock(self._time_left())} left; {task}"
        )
        if self._live:
            print(f"\r{line[:110]:<110}", end="", flush=True)
        else:
            self._say(line)

    def ends(self) -> None:
        """All is done."""
        if self._live:
            print("\r" + " " * 110, end="\r")
        self._say(f"{self._total} cells in {_clock(time.monotonic() - self._start)}")

    def _time_left(self) -> float:
        """The mean of the same cell in other runs, or of all cells where it has not run yet."""
        known = {kind: sum(taken) / len(taken) for kind, taken in self._seconds.items()}
        usual = sum(known.values()) / len(known) if known else 0.0
        return sum(known.get(task.kind, usual) for task in self._open.values()) / self._jobs


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
