"""The command ``tenvec reproduce``: run what is missing, then write the report."""

from __future__ import annotations

from collections.abc import Sequence
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
    if runs:
        record_machine(out, jobs)
    try:
        outcome = run_cells(wanted, folder, out, runs=runs, quick=quick, jobs=jobs)
    except KeyboardInterrupt:
        print(f"\nstopped; what is finished is in {out}, and the same command goes on from there")
        raise
    report.write(out, outcome.skipped)
    return outcome.failed
