"""Arrays of any library: the few things that the array API standard leaves open.

Input decides the library, the device and the type of everything that is computed from it; nothing
moves to NumPy on the way.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array, to_device

Array = Any


def is_foreign(X: Any) -> bool:
    """Whether this is an array of a library other than NumPy."""
    return bool(is_array_api_obj(X)) and not isinstance(X, np.ndarray | np.generic)


def wide_float(x: Array) -> Any:
    """float64 where the library and the device have it, else its widest: for sums and solves."""
    if is_numpy_array(x):
        return np.float64
    xp = array_namespace(x)
    with warnings.catch_warnings():
        # JAX without its 64-bit mode warns and gives 32 bits.
        warnings.simplefilter("ignore")
        return xp.zeros((), dtype=xp.float64, device=device(x)).dtype


def like(values: Any, x: Array, dtype: Any = None) -> Array:
    """NumPy values as an array of the library and on the device of ``x``; wide by default."""
    if is_numpy_array(x):
        return np.asarray(values, dtype=dtype or np.float64)
    xp = array_namespace(x)
    return xp.asarray(np.asarray(values), dtype=dtype or wide_float(x), device=device(x))


def to_numpy(x: Array) -> Array:
    """A copy in NumPy, or the array itself where it is there already."""
    if isinstance(x, np.ndarray):
        return x
    try:
        return np.asarray(x)
    except (TypeError, RuntimeError):
        # CUDA tensors and CuPy arrays do not convert by themselves.
        return x.get() if hasattr(x, "get") else np.asarray(to_device(x, "cpu"))


def identity(size: int, x: Array) -> Array:
    """Identity matrix of the library, type and device of ``x``."""
    return array_namespace(x).eye(size, dtype=x.dtype, device=device(x))


def subtract_outer(matrix: Array, column: Array, row: Array) -> Array:
    """``matrix − column · rowᵀ``, in place and without a copy where the library allows it."""
    if not is_numpy_array(matrix):
        return matrix - column[:, None] * row
    for i, weight in enumerate(column):
        matrix[i] -= weight * row
    return matrix


def describe(x: Array) -> str:
    """The library and device of an array, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> describe(np.zeros(2))
    'numpy'
    """
    name = array_namespace(x).__name__.removeprefix("array_api_compat.").split(".")[0]
    where = str(device(x))
    return name if where in ("cpu", "None") else f"{name} on {where}"
