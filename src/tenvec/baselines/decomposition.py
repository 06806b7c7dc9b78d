"""What GLRAM, Tucker, CP and Bayesian CP share as estimators."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from tenvec.estimator import SampleTransformer
from tenvec.validation import as_array

Array = Any

LARGEST_SQUARE, SMALLEST_SQUARE = 1e280, 1e-280
SINGLE_RANGE = (1e-15, 1e15)
"""Sizes of data for which float32 can hold sums of squares."""


def as_float(array: Array) -> Array:
    """float32 stays float32, everything else becomes float64."""
    return array.astype(float_type(array), copy=False)


def float_type(array: Any) -> Any:
    """Type of the results for given data."""
    return np.float32 if getattr(array, "dtype", None) == np.float32 else np.float64


def checked_size(size: float) -> float:
    """The largest modulus of the training data, if its square is a usable number."""
    if size == 0:
        raise ValueError("X is zero everywhere: there is nothing to learn.")
    if not SMALLEST_SQUARE**0.5 < size < LARGEST_SQUARE**0.5:
        raise ValueError(
            f"X has values of size {size:.3g}, whose squares float64 cannot hold. "
            "Rescale the data first, for example to unit deviation."
        )
    return size


class Decomposition(SampleTransformer):
    """Base of the decompositions: training data in, features checked, convergence told."""

    n_components_: int
    n_iter_: int
    converged_: bool
    stop_reason_: str

    def _finite(self, samples: Array, allow_nan: bool = False) -> Array:
        """Samples as floats, all of them finite."""
        if samples.dtype.kind == "f":
            assert_all_finite(
                samples,
                allow_nan="allow-nan" if allow_nan else False,
                estimator_name=type(self).__name__,
                input_name="X",
            )
        return as_float(samples)

    def _training_samples(self, X: Any) -> Array:
        """Samples whose sum of squares is a usable number."""
        samples = self._finite(self._samples_to_fit(X))
        size = checked_size(float(np.max(np.abs(samples))))
        if samples.dtype == np.float32 and not SINGLE_RANGE[0] < size < SINGLE_RANGE[1]:
            samples = samples.astype(np.float64)
        return samples

    def _features_to_invert(self, X: Any) -> Array:
        """Check what ``inverse_transform`` is given."""
        check_is_fitted(self)
        n_features = self.n_components_
        features = as_float(as_array(X))
        if features.ndim != 2 or features.shape[1] != n_features:
            raise ValueError(
                f"X has shape {features.shape}, but features of shape (n_samples, {n_features}) "
                "are expected: what transform returns."
            )
        return features

    def _tell_convergence(self) -> None:
        if not self.converged_ and getattr(self, "tol", 0) > 0:
            warnings.warn(
                f"{type(self).__name__} has not converged after {self.n_iter_} iterations. "
                "Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
