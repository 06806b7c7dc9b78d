"""Arrays of any library: the few things that the array API standard leaves open.

Input decides the library, the device and the type of everything that is computed from it; nothing
moves to NumPy on the way, but for an eigenproblem of the default start that no standard covers
(``tenvec.learning.simultaneous``).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from array_api_compat import (
    array_namespace,
    device,
    is_array_api_obj,
    is_numpy_array,
    is_torch_array,
    to_device,
)

Array = Any

CACHED_NUMBERS = 2**15
"""Entries of a matrix that are worked on together, so that they stay in cache."""


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


def same_place(x: Array, y: Array) -> bool:
    """Whether two arrays are of one library and on one device."""
    if is_numpy_array(x) or is_numpy_array(y):
        return bool(is_numpy_array(x) and is_numpy_array(y))
    return bool(array_namespace(x) is array_namespace(y) and device(x) == device(y))


def identity(size: int, x: Array) -> Array:
    """Identity matrix of the library, type and device of ``x``."""
    return array_namespace(x).eye(size, dtype=x.dtype, device=device(x))


def add_to_diagonal(matrix: Array, values: Array) -> Array:
    """A copy of a square matrix with values added to its diagonal."""
    if is_torch_array(matrix):
        result = matrix.clone()
        result.diagonal().add_(values)
        return result
    if not is_numpy_array(matrix):
        return matrix + identity(matrix.shape[0], matrix) * values
    result = matrix.copy()
    result.ravel()[:: result.shape[0] + 1] += values
    return result


def cholesky(x: Array, rounding: float) -> Array:
    """Lower Cholesky factor of a symmetric matrix that is positive definite but for rounding.

    Where rounding, relative to its largest entries, makes it indefinite, the diagonal is lifted by
    as much. PyTorch's plain form waits for the device, to raise at once where a matrix is singular;
    there learning finds out by itself, from the bound.
    """
    xp = array_namespace(x)
    if is_torch_array(x):
        return xp.linalg.cholesky_ex(x)[0]
    try:
        return xp.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        lift = 2 * x.shape[0] * rounding * xp.max(xp.linalg.diagonal(x))
        return xp.linalg.cholesky(x + lift * identity(x.shape[0], x))


def solve_lower(root: Array, b: Array) -> Array:
    """``root⁻¹ b`` for a lower triangular matrix."""
    xp = array_namespace(root)
    if is_torch_array(root):
        return xp.linalg.solve_triangular(root, b, upper=False)
    return xp.linalg.solve(root, b)


def inverse_lower(root: Array) -> Array:
    """Inverse of a lower triangular matrix."""
    if is_torch_array(root):
        return solve_lower(root, identity(root.shape[0], root))
    return array_namespace(root).linalg.inv(root)


def solve_positive(a: Array, b: Array, otherwise: Array) -> Array:
    """``a⁻¹ b`` for a positive definite matrix.

    On a GPU a Cholesky factorization takes a quarter of the time of the LU factorization that
    NumPy has to solve with. Where rounding makes the matrix indefinite, it is ``otherwise``.
    """
    if not is_torch_array(a):
        return array_namespace(a).linalg.solve(a, b)
    xp = array_namespace(a)
    root, info = xp.linalg.cholesky_ex(a)
    return xp.where(info == 0, xp.cholesky_solve(b, root), otherwise)


def to_floats(values: Sequence[Array | float]) -> list[float]:
    """Scalars as Python numbers, by one transfer from the device they are on."""
    arrays = [value for value in values if is_array_api_obj(value)]
    if not arrays or is_numpy_array(arrays[0]):
        return [float(value) for value in values]
    xp = array_namespace(*arrays)
    moved = iter(to_numpy(xp.stack(arrays)).tolist())
    return [next(moved) if is_array_api_obj(value) else float(value) for value in values]


def subtract_outer(matrix: Array, column: Array, row: Array) -> Array:
    """``matrix − column · rowᵀ``, in place and a few rows at once where that works."""
    if not is_numpy_array(matrix):
        return matrix - column[:, None] * row
    if not matrix.flags.c_contiguous and matrix.flags.f_contiguous:
        return subtract_outer(matrix.T, row, column).T
    step = max(1, CACHED_NUMBERS // matrix.shape[1])
    for begin in range(0, len(matrix), step):
        rows = slice(begin, begin + step)
        matrix[rows] -= column[rows, None] * row
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
