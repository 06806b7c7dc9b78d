"""Saving and loading fitted models: safetensors files that hold numbers and text, never code.

A file is a safetensors file (8 bytes with the header's length, a JSON header, raw arrays). Its
metadata has one entry, ``tenvec``: JSON text with the format's version, the class, settings, fitted
attributes, library versions and a SHA-256 checksum of the whole file, computed with the checksum's
own digits set to zero. The version and the checksum keep their place and meaning in every version
of the format. The checksum tells damage, not forgery.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import scipy
import sklearn
from safetensors import numpy as safetensors_numpy

from tenvec.warning import warn

FORMAT_VERSION = 1
"""Raised by every change that an older reader would refuse or misread."""

LARGEST_HEADER = 100 * 2**20

MODULES = {
    "BayesianCP": "tenvec.baselines.bayesian_cp",
    "CP": "tenvec.baselines.cp",
    "GLRAM": "tenvec.baselines.glram",
    "MixturePPCA": "tenvec.baselines.mixture_ppca",
    "PCA": "tenvec.baselines.pca",
    "TBVDR": "tenvec.tbvdr",
    "Tucker": "tenvec.baselines.tucker",
}
"""Classes that a file may name, and where they are; nothing else is ever imported."""

_NO_CHECKSUM = b"0" * 64
_PREFIX = b'\\"checksum\\": \\"sha256:'  # as JSON text within JSON
_MALFORMED = (
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
    safetensors.SafetensorError,
)
"""What foreign or forged content makes of the steps that read it."""

_NUMERIC = {"bool", "float16", "float32", "float64"} | {
    f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)
}
"""Types of arrays that every reader of safetensors knows."""


class ModelFileError(ValueError):
    """A file is no model of this library, is damaged, or is from a newer version."""


def save(model: Any, path: Any, *, overwrite: bool = False) -> None:
    """Write a fitted model; the file appears whole or not at all.

    Settings and fitted attributes are written; ``set_output`` and callbacks are not.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library.
    path : path-like
        The file to write, ``.safetensors`` by custom.
    overwrite : bool, default=False
        Whether a file of that name may be replaced.
    """
    path = Path(os.path.realpath(path))  # a link stays one
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is no folder: create it first.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists: pass overwrite=True to replace it.")
    content = _to_bytes(model)
    draft = path.with_name(f".tenvec-{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            if path.exists():
                shutil.copymode(path, draft)
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
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a model file in it.")
    with open(path, "rb") as file:
        header = _header(path, file)
        file.seek(0)
        content = file.read()
    description = _description(path, header)
    _check_integrity(path, content, description)
    try:
        return _from_description(description, safetensors_numpy.load(content))
    except _MALFORMED as error:
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
        warn("random_state is a generator, which a model file does not hold: it is saved as None.")
        params["random_state"] = None
    fitted = {key: value for key, value in vars(model).items() if _is_fitted_attribute(key)}
    description = {
        "format_version": FORMAT_VERSION,
        "checksum": f"sha256:{_NO_CHECKSUM.decode()}",
        "class": name,
        "params": {key: _encode(value, f"params.{key}", tensors) for key, value in params.items()},
        "fitted": {key: _encode(value, f"fitted.{key}", tensors) for key, value in fitted.items()},
        "libraries": {
            "tenvec": import_module("tenvec").__version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
    }
    content = safetensors_numpy.save(tensors, {"tenvec": json.dumps(description)})
    digits = hashlib.sha256(content).hexdigest().encode()
    return content.replace(_PREFIX + _NO_CHECKSUM, _PREFIX + digits, 1)


def _header(path: Path, file: Any) -> dict[str, Any]:
    """The header, once the sizes it announces agree with the file's: nothing large is read yet."""
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
        entries = [entry for name, entry in header.items() if name != "__metadata__"]
        end = max((int(entry["data_offsets"][1]) for entry in entries), default=0)
    except _MALFORMED as error:
        raise ModelFileError(f"{path} is not a model file, or is damaged: {error!r}.") from error
    if 8 + length + end != size:
        raise ModelFileError(
            f"{path} is damaged or cut off: its header announces {8 + length + end} bytes, "
            f"it has {size}."
        )
    return dict(header)


def _description(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    metadata = header.get("__metadata__")
    text = metadata.get("tenvec") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError(
            f"{path} is a safetensors file, but not a model that this library wrote."
        )
    try:
        return dict(json.loads(text))
    except _MALFORMED as error:
        raise ModelFileError(f"{path} is damaged: {error!r}.") from error


def _check_integrity(path: Path, content: bytes, description: dict[str, Any]) -> None:
    stated = str(description.get("checksum")).removeprefix("sha256:").encode(errors="replace")
    blank = content.replace(_PREFIX + stated, _PREFIX + _NO_CHECKSUM, 1)
    intact = hashlib.sha256(blank).hexdigest().encode() == stated
    version = description.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} {'has' if intact else 'is damaged, or has'} format version {version}; this "
            f"version of tenvec reads up to {FORMAT_VERSION}. Upgrade tenvec to read it."
        )
    if not intact:
        raise ModelFileError(
            f"{path} is damaged: its content does not match its checksum. Use another copy."
        )
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"{path} has format version {version!r}, which does not exist.")


def _from_description(description: dict[str, Any], tensors: dict[str, Any]) -> Any:
    name = description["class"]
    if name not in MODULES:
        raise ModelFileError(
            f"the file holds a {name!r}, which this version of tenvec does not know."
        )
    cls = getattr(import_module(MODULES[name]), name)
    model = cls(**{key: _decode(value, tensors) for key, value in description["params"].items()})
    for key, value in description["fitted"].items():
        if not _is_fitted_attribute(key) or hasattr(cls, key):
            raise ModelFileError(f"the file names {key!r}, which is no fitted attribute.")
        setattr(model, key, _decode(value, tensors))
    return model


def _is_fitted_attribute(name: str) -> bool:
    return (name.endswith("_") and not name.startswith("_")) or name == "_input_shape"


def _encode(value: Any, name: str, tensors: dict[str, Any]) -> Any:
    """A value as JSON, its arrays moved to ``tensors``."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_encode(item, f"{name}.{i}", tensors) for i, item in enumerate(value)]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.name in _NUMERIC:
            tensors[name] = np.ascontiguousarray(value)
            # Arrays without dimensions come back as such.
            return {"tensor": name, "shape": list(value.shape)}
        if value.ndim == 1 and all(isinstance(item, str) for item in value):
            return {"strings": [str(item) for item in value]}
        raise TypeError(f"{name} is an array of {value.dtype}, which a model file cannot hold.")
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
