"""Saving and loading fitted models: safetensors files that hold numbers and text, never code.

A file is a safetensors file (8 bytes with the header's length, a JSON header, raw arrays). Its
metadata has one entry, ``tenvec``: JSON text with the format's version, the class, settings, fitted
attributes, library versions and a SHA-256 checksum of the whole file, computed with the checksum's
own digits set to zero.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import warnings
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from safetensors import numpy as safetensors_numpy

FORMAT_VERSION = 1

LARGEST_HEADER = 100 * 2**20

MODULES = {
    "TBVDR": "tenvec.tbvdr",
}
"""Classes that a file may name, and where they are; nothing else is ever imported."""

_NO_CHECKSUM = "0" * 64
_PREFIX = b'\\"checksum\\": \\"sha256:'  # as JSON text within JSON


class ModelFileError(ValueError):
    """A file is no model of this library, is damaged, or is from a newer version."""


def save(model: Any, path: Any, *, overwrite: bool = False) -> None:
    """Write a fitted model; the file appears whole or not at all.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library.
    path : path-like
        The file to write, ``.safetensors`` by custom.
    overwrite : bool, default=False
        Whether a file of that name may be replaced.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists: pass overwrite=True to replace it.")
    content = _to_bytes(model)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def load(path: Any) -> Any:
    """Read a model that :func:`save` or an estimator's ``save`` wrote.

    Nothing in the file is executed. A damaged or foreign file, and one of a newer format, raise
    ``ModelFileError`` (a ``ValueError``).

    Parameters
    ----------
    path : path-like
        The file to read.

    Returns
    -------
    estimator
        The fitted estimator.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_digits
    >>> import tenvec
    >>> model = tenvec.TBVDR(n_components=5).fit(load_digits().images)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder, "digits.safetensors"))
    ...     tenvec.load(pathlib.Path(folder, "digits.safetensors"))
    TBVDR(n_components=5)
    """
    path = Path(path)
    with open(path, "rb") as file:
        _check_extents(path, file)
        file.seek(0)
        content = file.read()
    description = _description(path, content)
    _check_checksum(path, content, description)
    try:
        tensors = safetensors_numpy.load(content)
        return _from_description(description, tensors)
    except (safetensors.SafetensorError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{path} is not a valid model file: {error}") from error


def _to_bytes(model: Any) -> bytes:
    name = type(model).__name__
    if MODULES.get(name) != type(model).__module__:
        raise TypeError(
            f"{name} cannot be saved: files hold {', '.join(sorted(MODULES))}. "
            "Save a pipeline's estimator by itself."
        )
    tensors: dict[str, Any] = {}
    params = model.get_params(deep=False)
    if not isinstance(params.get("random_state"), int | np.integer | type(None)):
        warnings.warn(
            "random_state is a generator, which a model file does not hold: it is saved as None.",
            UserWarning,
            stacklevel=4,
        )
        params["random_state"] = None
    fitted = {key: value for key, value in vars(model).items() if _is_fitted_attribute(key)}
    description = {
        "format_version": FORMAT_VERSION,
        "checksum": f"sha256:{_NO_CHECKSUM}",
        "class": name,
        "params": {key: _encode(value, f"params.{key}", tensors) for key, value in params.items()},
        "fitted": {key: _encode(value, f"fitted.{key}", tensors) for key, value in fitted.items()},
        "libraries": {
            package: version(package) for package in ("tenvec", "numpy", "scipy", "scikit-learn")
        },
    }
    text = json.dumps(description, allow_nan=True)
    content = safetensors_numpy.save(tensors, {"tenvec": text})
    return content.replace(
        _PREFIX + _NO_CHECKSUM.encode(), _PREFIX + hashlib.sha256(content).hexdigest().encode(), 1
    )


def _check_extents(path: Path, file: Any) -> None:
    """Compare the sizes that the header announces with the file's, before anything is read."""
    size = os.fstat(file.fileno()).st_size
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if len(start) < 8 or not 2 <= length <= min(size - 8, LARGEST_HEADER):
        raise ModelFileError(
            f"{path} is not a model file, or is cut off: it has {size} bytes, and its first eight "
            f"announce a header of {length} bytes."
        )
    try:
        header = json.loads(file.read(length).decode())
        header.pop("__metadata__", None)
        end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
        announced = 8 + length + int(end)
    except (ValueError, AttributeError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ModelFileError(f"{path} is not a model file, or is damaged: {error!r}.") from error
    if announced != size:
        raise ModelFileError(
            f"{path} is damaged or cut off: its header announces {announced} bytes, it has {size}."
        )


def _description(path: Path, content: bytes) -> dict[str, Any]:
    length = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + length].decode()).get("__metadata__")
    text = metadata.get("tenvec") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError(
            f"{path} is a safetensors file, but not a model that this library wrote."
        )
    try:
        description = json.loads(text)
        format_version = int(description["format_version"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: {error!r}.") from error
    if format_version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {format_version}; this version of tenvec reads up to "
            f"{FORMAT_VERSION}. Upgrade tenvec to read it."
        )
    return dict(description)


def _check_checksum(path: Path, content: bytes, description: dict[str, Any]) -> None:
    stated = str(description.get("checksum")).removeprefix("sha256:").encode()
    blank = content.replace(_PREFIX + stated, _PREFIX + _NO_CHECKSUM.encode(), 1)
    if hashlib.sha256(blank).hexdigest().encode() != stated:
        raise ModelFileError(
            f"{path} is damaged: its content does not match its checksum. Use another copy."
        )


def _from_description(description: dict[str, Any], tensors: dict[str, Any]) -> Any:
    name = description["class"]
    if name not in MODULES:
        raise ModelFileError(
            f"the file holds a {name!r}, which this version of tenvec does not know."
        )
    cls = getattr(import_module(MODULES[name]), name)
    model = cls(**{key: _decode(value, tensors) for key, value in description["params"].items()})
    for key, value in description["fitted"].items():
        if not _is_fitted_attribute(key):
            raise ModelFileError(f"the file names {key!r}, which is no fitted attribute.")
        setattr(model, key, _decode(value, tensors))
    return model


def _is_fitted_attribute(name: str) -> bool:
    return not name.startswith("__") and (name.endswith("_") or name == "_input_shape")


def _encode(value: Any, name: str, tensors: dict[str, Any]) -> Any:
    """A value as JSON, its arrays moved to ``tensors``."""
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return {"strings": [str(item) for item in value]}
        tensors[name] = np.ascontiguousarray(value)
        # Arrays without dimensions come back as such.
        return {"tensor": name, "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_encode(item, f"{name}.{i}", tensors) for i, item in enumerate(value)]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{name} is a {type(value).__name__}, which a model file cannot hold.")


def _decode(value: Any, tensors: dict[str, Any]) -> Any:
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return tensors[value["tensor"]].reshape(value["shape"])
    if "strings" in value:
        return np.array(value["strings"], dtype=object)
    if "tuple" in value:
        return tuple(_decode(item, tensors) for item in value["tuple"])
    return [_decode(item, tensors) for item in value["list"]]
