"""The command ``tenvec reproduce``: run what is missing, then write the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tenvec.paper import report
from tenvec.paper.machine import record_machine
from tenvec.paper.runner import run_cells
from tenvec.paper.tables import requests


def reproduce(
    tables: Sequence[str],
    *,
    folder: Path | None,
    out: Path,
    runs: int,
    quick: bool,
    jobs: int,
) -> list[str]:
    """Repeat experiments of the paper and report on all results in ``out``.

    Parameters
    ----------
    tables : sequence of str
        Names or numbers; none means all.
    folder : Path or None
        Folder of the data sets.
    out : Path
        Folder for the results.
    runs : int
        Runs of each cell; 0 only writes the report.
    quick : bool
        One run of a few cells.
    jobs : int
        Processes.

    Returns
    -------
    failed : list of str
        A line for each cell that raised an error.
    """
    wanted = requests(tables)
    out.mkdir(parents=True, exist_ok=True)
    try:
        with alone(out):
            if runs:
                record_machine(out)
            outcome = run_cells(wanted, folder, out, runs=runs, quick=quick, jobs=jobs)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(
            f"what is finished is in {out}, and the same command goes on from there"
        ) from stop
    written = report.write(out, outcome.skipped)
    print(f"report: {' and '.join(map(str, written))}")
    return outcome.failed


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keep a second command from writing to the same files; the system frees the lock on a kill."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with open(out / ".lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OSError(
                f"another tenvec reproduce is at work in {out}: let it finish, or name another "
                "folder with --out"
            ) from error
        yield
