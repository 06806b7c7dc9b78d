"""The Intel Berkeley Research Lab's sensors: temperature, humidity, light and voltage in time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from tenvec.datasets._files import PathLike, Source, locate, read_mat, require_shapes
from tenvec.datasets._mote_log import N_MOTES, bin_by_time, read_log

BINNED = "sensor.mat"
ORIGINAL = ("data.txt", "data.txt.gz")
BINNED_SHAPE = (52, 4, 2994)
QUANTITIES = ("temperature", "humidity", "light", "voltage")
# Sensors that fail: in the original, motes 5 (voltage only), 28 (no light), 15 and 18 (broken);
# in sensor.mat, which lacks two motes, rows 13 (96 % missing) and 16 (122 °C, humidity below 0).
FAILING = {"original": (5, 15, 18, 28), "binned": (13, 16)}
SOURCE = Source(
    title="Intel Berkeley Research Lab sensors",
    folder="berkeley",
    published="http://db.csail.mit.edu/labdata/labdata.html (the original data.txt; sensor.mat, "
    "binned to about ten minutes, circulates among research groups)",
)
DESCR = """\
Intel Berkeley Research Lab sensors
===================================

Temperature (°C), relative humidity (%), light (lux) and voltage (V) from 54 sensors ("motes") in a
laboratory, about every 31 seconds from 28 February to 5 April 2004. A sample is a sensor: time ×
quantity. Two files:

- `sensor.mat`: variable `T` (52, 4, 2994), sensor × quantity × time, about ten minutes a step. A
  reading is missing where all four quantities are exactly 0 (17.5 %; 4.1 % of the first 1350
  steps). It does not say which two of the 54 motes it leaves out; `sensor` counts its rows from
  0. Rows 13 and 16 fail.
- `data.txt` (or `data.txt.gz`): the original, a line a reading, `date time epoch moteid temperature
  humidity light voltage`, some lines cut short or with empty fields. Readings are averaged over
  steps of `step_minutes`, counted from midnight of 28 February and beginning with the first
  reading's; a step without a reading is missing. `sensor` is the mote's number, 1 to 54. Motes 5
  (voltage only), 28 (no light), 15 and 18 (broken) fail.

Missing readings are NaN. As batteries run down, towards the end, readings turn impossible (122 °C)
before they stop, and single readings are wild (a humidity of -1763 in `sensor.mat`, row 6, step
859); all are left as they are.

Terms: the page offers the data to researchers and states no licence; acknowledge the Intel Berkeley
Research Lab and the page. tenvec contains no reading of it.

- P. Bodik, W. Hong, C. Guestrin, S. Madden, M. Paskin, R. Thibaux, "Intel Lab Data", 2004,
  http://db.csail.mit.edu/labdata/labdata.html
"""

FloatArray = NDArray[np.float64]


@overload
def load_intel_lab(
    data_home: PathLike | None = ...,
    *,
    source: Literal["auto", "sensor.mat", "data.txt"] = ...,
    step_minutes: float = ...,
    n_steps: int | None = ...,
    exclude: Literal["failing"] | Sequence[int] | None = ...,
    interpolate: bool = ...,
    return_X_y: Literal[False] = ...,
) -> Bunch: ...
@overload
def load_intel_lab(
    data_home: PathLike | None = ...,
    *,
    source: Literal["auto", "sensor.mat", "data.txt"] = ...,
    step_minutes: float = ...,
    n_steps: int | None = ...,
    exclude: Literal["failing"] | Sequence[int] | None = ...,
    interpolate: bool = ...,
    return_X_y: Literal[True],
) -> tuple[FloatArray, NDArray[np.intp]]: ...
def load_intel_lab(
    data_home: PathLike | None = None,
    *,
    source: Literal["auto", "sensor.mat", "data.txt"] = "auto",
    step_minutes: float = 10.0,
    n_steps: int | None = None,
    exclude: Literal["failing"] | Sequence[int] | None = "failing",
    interpolate: bool = False,
    return_X_y: bool = False,
) -> Any:
    """Load the Intel lab's sensors: a sample is a sensor, time × four quantities.

    Parameters
    ----------
    data_home : str or path, optional
        Folder that holds ``berkeley/sensor.mat``, ``berkeley/data.txt`` or
        ``berkeley/data.txt.gz``, or the files themselves. By default the folder that the
        environment variable ``TENVEC_DATA`` names. Nothing is downloaded.
    source : {"auto", "sensor.mat", "data.txt"}, default="auto"
        Which file to read; ``"auto"`` takes ``sensor.mat`` where it is there, else ``data.txt``.
    step_minutes : float, default=10
        Time step to which ``data.txt`` is averaged; ``sensor.mat`` has its own, about ten minutes.
    n_steps : int, optional
        Keep only the first so many steps. The end of the record is mostly missing.
    exclude : "failing", sequence of int or None, default="failing"
        Sensors to leave out: those known to fail, those of the given numbers (as in the bunch's
        ``sensor``), or none.
    interpolate : bool, default=False
        Fill missing readings linearly in time, sensor by sensor and quantity by quantity, and
        before the first and after the last reading by that reading.
    return_X_y : bool, default=False
        Return ``(data, target)``, the samples and the sensors' numbers, instead of a bunch.

    Returns
    -------
    sensors : Bunch
        ``data`` (n_sensors, n_steps, 4), NaN where a reading is missing; ``target`` and
        ``sensor``, the sensors' numbers (rows from 0 in ``sensor.mat``, motes from 1 in
        ``data.txt``); ``feature_names``, the four quantities; ``missing``, whether a reading was
        missing, of ``data``'s shape; ``failing``, the numbers of the sensors known to fail;
        ``time``, the start of each step (``data.txt`` only, else None); ``n_skipped_lines``,
        lines cut short, unreadable or out of the published range of dates and motes (0 for
        ``sensor.mat``); ``DESCR``.
    (data, target) : tuple of arrays
        If ``return_X_y``.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says where it is published and where to put it.
    ValueError
        If the file is truncated or another one, a parameter is out of range, or a sensor has no
        reading to interpolate from.

    Examples
    --------
    >>> from tenvec.datasets import load_intel_lab
    >>> sensors = load_intel_lab("my/data", n_steps=1350, interpolate=True)  # doctest: +SKIP
    >>> sensors.data.shape  # doctest: +SKIP
    (50, 1350, 4)
    """
    names = _file_names(source)
    _require_parameters(step_minutes, n_steps)
    path = locate(SOURCE, names, data_home)
    time: NDArray[np.datetime64] | None = None
    n_skipped = 0
    if path.name == BINNED:
        data, sensor, failing = _read_binned(path), np.arange(BINNED_SHAPE[0]), FAILING["binned"]
    else:
        log = read_log(path, SOURCE)
        data, time = bin_by_time(log, step_minutes)
        n_skipped = log.n_skipped_lines
        sensor, failing = np.arange(1, N_MOTES + 1), FAILING["original"]
    keep = ~np.isin(sensor, _excluded(exclude, failing, sensor))
    data, sensor = data[keep, :n_steps], sensor[keep].astype(np.intp)
    missing = np.isnan(data)
    if interpolate:
        data = _interpolate(data, sensor)
    if return_X_y:
        return data, sensor
    return Bunch(
        data=data,
        target=sensor,
        sensor=sensor,
        feature_names=np.array(QUANTITIES),
        missing=missing,
        failing=np.array(failing, dtype=np.intp),
        time=None if time is None else time[:n_steps],
        n_skipped_lines=n_skipped,
        DESCR=DESCR,
    )


def _file_names(source: str) -> tuple[str, ...]:
    choices = {"auto": (BINNED, *ORIGINAL), BINNED: (BINNED,), ORIGINAL[0]: ORIGINAL}
    if source not in choices:
        raise ValueError(f'source must be "auto", "sensor.mat" or "data.txt"; got {source!r}.')
    return choices[source]


def _require_parameters(step_minutes: float, n_steps: int | None) -> None:
    if not 0.5 <= step_minutes <= 24 * 60:
        raise ValueError(
            f"step_minutes must be between 0.5 (a reading takes 31 seconds) and 1440 (a day); got "
            f"{step_minutes!r}."
        )
    if n_steps is not None and (not isinstance(n_steps, (int, np.integer)) or n_steps < 1):
        raise ValueError(f"n_steps must be a positive whole number or None; got {n_steps!r}.")


def _excluded(
    exclude: Literal["failing"] | Sequence[int] | None,
    failing: Sequence[int],
    sensor: NDArray[Any],
) -> list[int]:
    if exclude is None:
        return []
    if isinstance(exclude, str):
        if exclude != "failing":
            raise ValueError(
                f'exclude must be "failing", the numbers of sensors, or None; got {exclude!r}.'
            )
        return list(failing)
    unknown = sorted(set(exclude) - set(sensor.tolist()))
    if unknown:
        raise ValueError(
            f"exclude names {unknown}, which are no sensors of this file; they are {sensor[0]} to "
            f"{sensor[-1]}."
        )
    return list(exclude)


def _read_binned(path: Path) -> FloatArray:
    variables = read_mat(path, ["T"], SOURCE)
    require_shapes(path, variables, {"T": BINNED_SHAPE}, SOURCE)
    data = variables["T"].transpose(0, 2, 1).astype(np.float64)
    data[(data == 0).all(axis=-1)] = np.nan
    return data


def _interpolate(data: FloatArray, sensor: NDArray[np.intp]) -> FloatArray:
    filled = data.copy()
    steps = np.arange(data.shape[1])
    for row, number in enumerate(sensor):
        for column, quantity in enumerate(QUANTITIES):
            series = filled[row, :, column]
            read = ~np.isnan(series)
            if not read.any():
                raise ValueError(
                    f"{SOURCE.title}: sensor {number} has no reading of {quantity} in these "
                    f"{steps.size} steps to interpolate from; leave it out with exclude."
                )
            series[~read] = np.interp(steps[~read], steps[read], series[read])
    return filled
