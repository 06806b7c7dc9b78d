"""Input checks at the border: what came in, what was expected, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from numbers import Integral, Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from scipy import sparse
from sklearn.utils import check_random_state

from tenvec.arrays import is_foreign

Array = Any


class ParameterError(ValueError, TypeError):
    """A parameter has the wrong type or value; both kinds of handler catch it."""


def as_array(X: Any, name: str = "X", *, any_library: bool = False) -> Array:
    """Numeric array of at least two dimensions, never copied where it is one already.

    With ``any_library`` arrays of other libraries stay what they are; else all become NumPy's.
    """
    if any_library and is_foreign(X):
        return _with_samples(_foreign(X, name), name)
    if sparse.issparse(X):
        raise TypeError(
            f"{name} is a sparse matrix ({type(X).__name__}), but dense samples are needed. "
            f"Convert it with {name}.toarray()."
        )
    if isinstance(X, np.ma.MaskedArray) and np.any(np.ma.getmaskarray(X)):
        raise ValueError(
            f"{name} is a masked array with {int(np.sum(np.ma.getmaskarray(X)))} masked entries, "
            "and missing entries are not supported yet: drop or fill them first."
        )
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(
            f"{name} is ragged: its samples differ in shape. Pad or crop them to one shape."
        ) from error
    if array.dtype == object:
        array = _from_objects(array, name)
    if array.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} has dtype {array.dtype}. Pass the modulus, or "
            "real and imaginary parts as a further axis."
        )
    if array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} has dtype {array.dtype}, but numbers are needed. Encode text or dates first."
        )
    return _with_samples(array, name)


def _foreign(X: Array, name: str) -> Array:
    """Check the type of an array of another library than NumPy."""
    xp = array_namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(
            f"Complex data not supported: {name} has dtype {X.dtype}. Pass the modulus, or "
            "real and imaginary parts as a further axis."
        )
    # Gradients do not pass through a fit.
    return X.detach() if is_torch_array(X) else X


def _with_samples(array: Array, name: str) -> Array:
    """Refuse arrays that hold no samples."""
    if array.ndim < 2:
        raise ValueError(
            f"{name} has {array.ndim} dimension(s), but samples are stacked along the first of at "
            "least two: Expected 2D array, got "
            f"{'scalar' if array.ndim == 0 else '1D'} array instead. Reshape your data with "
            "X.reshape(-1, 1) for samples of one entry, or X[None] for a single sample."
        )
    if array.shape[0] == 0:
        raise ValueError(
            f"{name} is empty: Found array with 0 sample(s) (shape={array.shape}) while a minimum "
            "of 1 is required."
        )
    if prod(array.shape[1:]) == 0:
        raise ValueError(
            f"{name} is empty: Found array with 0 feature(s) (shape={array.shape}) while a minimum "
            "of 1 is required: every axis of a sample needs at least one entry."
        )
    return array


def _from_objects(array: Array, name: str) -> Array:
    try:
        if any(isinstance(value, complex) for value in array.flat):
            return array.astype(np.complex128)
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if any(isinstance(value, Sequence | np.ndarray) for value in array.flat) and not any(
            isinstance(value, str) for value in array.flat
        ):
            raise ValueError(
                f"{name} is ragged: its samples differ in shape. Pad or crop them to one shape."
            ) from error
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{name} holds objects that are no numbers; argument must be a string or a real "
            f"number, numeric data are needed ({error})."
        ) from error


def fold(X: Array, sample_shape: tuple[int, ...] | None, name: str = "X") -> Array:
    """Samples in the wanted shape: already so, or folded from the columns of a 2-D array."""
    if sample_shape is None or tuple(X.shape[1:]) == sample_shape:
        return X
    if X.ndim == 2 and X.shape[1] == prod(sample_shape):
        return array_namespace(X).reshape(X, (X.shape[0], *sample_shape))
    raise ValueError(
        f"{name} has samples of shape {tuple(X.shape[1:])}, but shape {sample_shape} is expected; "
        f"in 2-D that is {prod(sample_shape)} columns, not {prod(X.shape[1:])}."
    )


def sample_shape_of(value: Any) -> tuple[int, ...] | None:
    """The parameter ``sample_shape`` as a tuple of sizes."""
    if value is None:
        return None
    sizes = (value,) if isinstance(value, Integral) else value
    if not isinstance(sizes, Sequence | np.ndarray) or isinstance(sizes, str) or len(sizes) == 0:
        raise ParameterError(
            f"sample_shape must be a tuple of sizes such as (32, 32), got {value!r}."
        )
    return tuple(positive_integer(size, "every size of sample_shape") for size in sizes)


def positive_integer(value: Any, name: str, minimum: int = 1) -> int:
    """An integer from ``minimum`` upwards."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise ParameterError(f"{name} must be an integer, got {value!r} ({type(value).__name__}).")
    if value < minimum:
        raise ParameterError(f"{name} must be at least {minimum}, got {value}.")
    return int(value)


def real_number(value: Any, name: str, low: float, high: float = float("inf")) -> float:
    """A finite number between two bounds, both included."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise ParameterError(f"{name} must be a number, got {value!r} ({type(value).__name__}).")
    number = float(value)
    if not low <= number <= high or number == float("inf"):
        limits = f"at least {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
        raise ParameterError(f"{name} must be finite and {limits}, got {value}.")
    return number


def random_generator(random_state: Any) -> np.random.RandomState:
    """The parameter ``random_state`` as a generator."""
    try:
        generator: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ParameterError(f"random_state: {error}") from error
    return generator


def one_of(value: Any, name: str, options: Sequence[str]) -> str:
    """One of the named options."""
    if not isinstance(value, str) or value not in options:
        names = ", ".join(repr(option) for option in options)
        raise ParameterError(f"{name} must be one of {names}, got {value!r}.")
    return value
