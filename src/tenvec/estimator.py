"""What every transformer of n-D samples shares: shapes in, feature names out, scikit-learn's tags.

scikit-learn knows 2-D input only. These estimators take samples of any order, and 2-D input as
samples of order one (or folded by ``sample_shape``), so that scikit-learn's checks apply to them.
"""

from __future__ import annotations

from math import prod
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tenvec import persistence
from tenvec.validation import as_array, fold, sample_shape_of

Array = Any


class SampleTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the transformers that turn samples of any order into feature vectors."""

    sample_shape_: tuple[int, ...]
    n_features_in_: int
    feature_names_in_: Array
    _any_library = False
    """Whether arrays of other libraries than NumPy are computed with as they are."""

    def _samples_to_fit(self, X: Any, min_samples: int = 2) -> Array:
        """Check the training samples; nothing is stored yet."""
        samples = fold(self._as_array(X), sample_shape_of(getattr(self, "sample_shape", None)))
        if samples.shape[0] < min_samples:
            raise ValueError(
                f"X has n_samples={samples.shape[0]}, but {type(self).__name__} needs at least "
                f"{min_samples} to learn from."
            )
        return samples

    def _as_array(self, X: Any) -> Array:
        return as_array(X, any_library=self._any_library)

    @staticmethod
    def _input_attributes(X: Any, samples: Array) -> dict[str, Any]:
        """Fitted attributes that describe the input; column names are None where it has none."""
        shape = tuple(int(size) for size in samples.shape[1:])
        input_shape = tuple(X.shape) if hasattr(X, "shape") else np.asarray(X).shape
        reader = BaseEstimator()
        if len(input_shape) == 2:
            validate_data(reader, X, skip_check_array=True)
        return {
            "sample_shape_": shape,
            "n_features_in_": prod(shape),
            "feature_names_in_": getattr(reader, "feature_names_in_", None),
            "_input_shape": tuple(int(size) for size in input_shape[1:]),
        }

    def _record(self, attributes: dict[str, Any]) -> None:
        """Store fitted attributes in one step: the last act of a fit that succeeded."""
        self.__dict__.update(attributes)
        if attributes["feature_names_in_"] is None:
            del self.feature_names_in_

    def _record_input(self, X: Any, samples: Array) -> None:
        """Store what describes the input alone."""
        self._record(self._input_attributes(X, samples))

    def _new_samples(self, X: Any) -> Array:
        """Check samples to transform against those that were fitted."""
        check_is_fitted(self)
        samples = self._as_array(X)
        fits = samples.ndim != 2 or samples.shape[1] == self.n_features_in_
        if samples.ndim == 2 and (fits or hasattr(self, "feature_names_in_")):
            validate_data(self, X, reset=False, skip_check_array=True)
        if not fits:
            raise ValueError(
                f"X has {samples.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input (samples of shape {self.sample_shape_})."
            )
        return fold(samples, self.sample_shape_)

    def _as_given(self, samples: Array) -> Array:
        """Samples in the shape that fit was given: 2-D stays 2-D."""
        return array_namespace(samples).reshape(samples, (-1, *self._input_shape))

    def save(self, path: Any, overwrite: bool = False) -> None:
        """Write the fitted model to a safetensors file; :func:`tenvec.load` reads it.

        Parameters
        ----------
        path : path-like
            The file to write; it appears whole or not at all.
        overwrite : bool, default=False
            Whether a file of that name may be replaced.
        """
        check_is_fitted(self)
        persistence.save(self._to_save(), path, overwrite=overwrite)

    def _to_save(self) -> Self:
        """The model with its arrays in NumPy's hands."""
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
