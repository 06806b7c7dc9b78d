"""Finding a data set's files in the folder that the user names, and reading them with care.

Nothing is downloaded: a missing file is answered with where it is published and where to put it,
and a file that is not what it should be with what was found and what was expected.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat

ENVIRONMENT_VARIABLE = "TENVEC_DATA"

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Source:
    """What a message needs to say about a data set: its name, its folder and where it is had."""

    title: str
    folder: str
    published: str


def data_folder(data_home: PathLike | None, source: Source, names: Sequence[str]) -> Path:
    """Return the folder that the user named, by the argument or by the environment variable."""
    named = os.fspath(data_home) if data_home is not None else os.environ.get(ENVIRONMENT_VARIABLE)
    if not named:
        raise FileNotFoundError(
            f"{source.title}: no folder of data sets is named. Pass data_home=..., or set the "
            f"environment variable {ENVIRONMENT_VARIABLE}; the data are then looked for at "
            f"{_choices(os.path.join('<data_home>', source.folder, name) for name in names)}. "
            f"They are published at {source.published}. tenvec downloads nothing."
        )
    return Path(named).expanduser()


def candidates(home: Path, source: Source, names: Sequence[str]) -> list[Path]:
    """List the places where a file may lie: in the data set's own folder, or in ``home`` itself."""
    return [folder / name for name in names for folder in (home / source.folder, home)]


def locate(
    source: Source,
    names: Sequence[str],
    data_home: PathLike | None,
    accept: Callable[[Path], bool] = Path.is_file,
) -> Path:
    """Return the first of the named files (or folders) that is there and acceptable."""
    home = data_folder(data_home, source, names)
    places = candidates(home, source, names)
    for place in places:
        if accept(place):
            return place
    raise not_found(source, names, home, places)


def not_found(
    source: Source, names: Sequence[str], home: Path, places: Sequence[Path]
) -> FileNotFoundError:
    """Make the error that says what is missing, where it was looked for and where it is had."""
    if not home.exists():
        why = f"the folder {home} does not exist."
    elif not home.is_dir():
        why = f"{home} is not a folder."
    else:
        why = f"looked for {_choices(places)}."
    return FileNotFoundError(
        f"{source.title}: {_choices(names)} was not found; {why} "
        f"It is published at {source.published}. tenvec downloads nothing: get it there, mind its "
        f"terms of use, and put it at {home / source.folder / names[0]}."
    )


def read_mat(path: Path, names: Sequence[str], source: Source) -> dict[str, NDArray[Any]]:
    """Read the named variables of a MATLAB file.

    Raises
    ------
    ValueError
        If the file cannot be read, or lacks one of the variables.
    """
    try:
        found = {name: shape for name, shape, _ in whosmat(path)}
        variables = loadmat(path, variable_names=list(names)) if found else {}
    except OSError as error:
        if error.errno is not None:  # a matter of the disk or of rights, not of the content
            raise
        raise _unreadable(path, names, source, error) from error
    except Exception as error:  # SciPy answers damage with errors of many kinds
        raise _unreadable(path, names, source, error) from error
    missing = [name for name in names if name not in variables]
    if missing:
        listing = ", ".join(f"{name} {shape}" for name, shape in found.items()) or "no variables"
        raise ValueError(
            f"{source.title}: {path} holds {listing}; expected {_and(names)}. "
            f"Is it the file published at {source.published}?"
        )
    return {name: np.asarray(variables[name]) for name in names}


def require_shapes(
    path: Path,
    variables: Mapping[str, NDArray[Any]],
    expected: Mapping[str, tuple[int, ...]],
    source: Source,
) -> None:
    """Raise unless every variable is numeric and has the published shape."""
    for name, shape in expected.items():
        found = variables[name]
        if found.shape != shape or found.dtype.kind not in "uif":
            raise ValueError(
                f"{source.title}: {path}: {name} has shape {found.shape} and type {found.dtype}; "
                f"expected numbers of shape {shape}. The file is truncated or another one."
            )
        if found.dtype.kind == "f" and not np.isfinite(found).all():
            raise ValueError(
                f"{source.title}: {path}: {name} holds values that are not finite numbers; "
                "the published file has none."
            )


def _unreadable(path: Path, names: Sequence[str], source: Source, error: Exception) -> ValueError:
    size = path.stat().st_size
    return ValueError(
        f"{source.title}: {path} ({size} bytes) cannot be read as a MATLAB file with the "
        f"variables {_and(names)}: {type(error).__name__}: {error}. It is truncated or another "
        f"file; the whole one is published at {source.published}."
    )


def _choices(items: Any) -> str:
    return " or ".join(str(item) for item in items)


def _and(names: Sequence[str]) -> str:
    return " and ".join(names)
