"""The Intel lab's original log: a line a reading, some of them cut short."""

from __future__ import annotations

import gzip
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from tenvec.datasets._files import Source

N_MOTES = 54
N_QUANTITIES = 4
N_FIELDS = 4 + N_QUANTITIES  # date time epoch moteid, then the quantities
LONGEST_LINE = 1000
FIRST_DAY = datetime(2004, 2, 28)
DAY_AFTER = datetime(2004, 4, 6)


@dataclass(frozen=True)
class MoteLog:
    """Readings in the order of the log.

    Parameters
    ----------
    seconds : array of shape (n_readings,)
        Time since the first day's midnight.
    mote : array of shape (n_readings,)
        The mote's number, from 1.
    readings : array of shape (n_readings, 4)
        The quantities; NaN where a field is empty.
    n_skipped_lines : int
        Lines cut short, unreadable, or out of the published range of dates and motes.
    """

    seconds: NDArray[np.float64]
    mote: NDArray[np.intp]
    readings: NDArray[np.float64]
    n_skipped_lines: int


def read_log(path: Path, source: Source) -> MoteLog:
    """Read ``data.txt`` or ``data.txt.gz``."""
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="ascii", errors="replace") as lines:
                log = parse(_lines(lines))
        else:
            with path.open(encoding="ascii", errors="replace") as lines:
                log = parse(_lines(lines))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{source.title}: {path} ({path.stat().st_size} bytes) cannot be unpacked: {error}. It "
            f"is truncated or another file; the whole one is published at {source.published}."
        ) from error
    if len(log.seconds) <= log.n_skipped_lines:
        raise ValueError(
            f"{source.title}: {path} has {len(log.seconds)} readable lines and "
            f"{log.n_skipped_lines} others; expected lines of 'date time epoch moteid temperature "
            "humidity light voltage', such as "
            "'2004-02-28 00:59:16.02785 3 1 19.9884 37.0933 45.08 2.69964'. It is another file."
        )
    return log


def parse(lines: Iterable[str]) -> MoteLog:
    """Read the lines of a log, and count those that are skipped."""
    seconds, motes, readings = array("d"), array("q"), array("d")
    n_skipped = 0
    for line in lines:
        if not line.strip():
            continue
        fields = _fields(line)
        if fields is None:
            n_skipped += 1
            continue
        try:
            when = datetime.fromisoformat(f"{fields[0]} {fields[1]}")
            mote = int(fields[3])
            values = [float(field) if field else float("nan") for field in fields[4:]]
        except ValueError:
            n_skipped += 1
            continue
        if not (1 <= mote <= N_MOTES and when.tzinfo is None and FIRST_DAY <= when < DAY_AFTER):
            n_skipped += 1
            continue
        seconds.append((when - FIRST_DAY).total_seconds())
        motes.append(mote)
        readings.extend(values)
    return MoteLog(
        np.array(seconds, dtype=np.float64),
        np.array(motes, dtype=np.intp),
        np.array(readings, dtype=np.float64).reshape(-1, N_QUANTITIES),
        n_skipped,
    )


def bin_by_time(
    log: MoteLog, step_minutes: float
) -> tuple[NDArray[np.float64], NDArray[np.datetime64]]:
    """Average over regular steps: ``(N_MOTES, n_steps, 4)`` and the start of every step.

    Steps are counted from the first day's midnight and begin with the first reading's; a mean
    without a reading is NaN.
    """
    step = 60.0 * step_minutes
    column = np.floor(log.seconds / step).astype(np.intp)
    first = int(column.min())
    n_steps = int(column.max()) - first + 1
    cell = (log.mote - 1) * n_steps + column - first
    n_cells = N_MOTES * n_steps
    means = np.full((n_cells, N_QUANTITIES), np.nan)
    for quantity in range(N_QUANTITIES):
        read = np.isfinite(log.readings[:, quantity])
        counts = np.bincount(cell[read], minlength=n_cells)
        sums = np.bincount(cell[read], log.readings[read, quantity], minlength=n_cells)
        np.divide(sums, counts, out=means[:, quantity], where=counts > 0)
    starts = (first + np.arange(n_steps)) * step * 1000
    time = np.datetime64(FIRST_DAY, "ms") + starts.round().astype("timedelta64[ms]")
    return means.reshape(N_MOTES, n_steps, N_QUANTITIES), time


def _lines(stream: TextIO) -> Iterator[str]:
    """Read line by line, but never more than a line can hold at a time."""
    return iter(lambda: stream.readline(LONGEST_LINE), "")


def _fields(line: str) -> list[str] | None:
    """Split a line into its fields; None where the line is cut short.

    The original separates by one space, so two in a row enclose an empty field.
    """
    fields = line.rstrip("\r\n").split(" ")
    if len(fields) != N_FIELDS:
        fields = line.split()
    return fields if len(fields) == N_FIELDS else None
