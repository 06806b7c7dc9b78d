"""What a fitted model offers: features, reconstructions, likelihoods, draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from sklearn.utils.validation import check_is_fitted

from tenvec.arrays import describe, identity, like, same_place, to_numpy
from tenvec.estimator import SampleTransformer
from tenvec.inference import Model
from tenvec.kruskal import to_tensor
from tenvec.samples.host import HostArray, torch_device
from tenvec.validation import positive_integer, random_generator

Array = Any

ARRAYS = (
    "mode_factors_",
    "component_factor_",
    "mean_",
    "scale_",
    "explained_variance_",
    "explained_variance_ratio_",
)
"""Fitted attributes that live where the data did; the course of a fit is NumPy's."""


class FittedModel(SampleTransformer):
    """The methods of an estimator that holds a model, however it came by it."""

    _any_library = True
    mode_factors_: list[Array]
    component_factor_: Array
    mean_: Array
    scale_: Array | None
    noise_variance_: float
    explained_variance_: Array
    explained_variance_ratio_: Array
    n_components_: int
    rank_: int
    lower_bound_: float
    lower_bounds_: Array
    reconstruction_scores_: Array
    n_iter_: int
    converged_: bool
    stop_reason_: str
    noise_prior_: tuple[float, float]

    @property
    def _model(self) -> Model:
        check_is_fitted(self)
        return Model(
            self.mode_factors_,
            self.component_factor_,
            self.mean_,
            self.scale_,
            self.explained_variance_,
            self.noise_variance_,
        )

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def components_(self) -> Array:
        """Basis tensors, shape (K, D_1, …, D_N), of norm ``√λ_k``; built on request."""
        basis = self._model.basis().T
        return array_namespace(basis).reshape(basis, (-1, *self.sample_shape_))

    def component(self, k: int) -> Array:
        """Basis tensor k alone, in the sample's shape.

        Parameters
        ----------
        k : int
            Which one; they are ordered by falling variance. Negative numbers count from the end.

        Returns
        -------
        array of shape (D_1, …, D_N)
            ``components_[k]``, without building the others.
        """
        check_is_fitted(self)
        k = positive_integer(k, "k", minimum=-self.n_components_)
        if k >= self.n_components_:
            raise ValueError(
                f"k must be less than the number of components, {self.n_components_}, got {k}."
            )
        first, *others = self.mode_factors_
        return to_tensor([first * self.component_factor_[k, :], *others])

    def transform(self, X: Any) -> Array:
        """Features of samples: posterior means, scaled as ``whiten`` says.

        Parameters
        ----------
        X : array-like of shape (n_samples, D_1, …, D_N) or (n_samples, n_features)
            Samples, new or not.

        Returns
        -------
        array of shape (n_samples, n_components)
            float32 where X is, else float64.
        """
        return self._by_device(self._features, self._new_samples(X))

    def _streamed(self, samples: Array) -> Array:
        """The samples, by way of the device that the estimator was told to compute on."""
        if self.device is None:
            return samples
        if not is_numpy_array(samples):
            raise ValueError(
                f"device={self.device!r} is for NumPy arrays, but X is an array of "
                f"{describe(samples)}, which is computed with where it is: leave device=None."
            )
        return HostArray(samples, torch_device(self.device))

    def _by_device(self, function: Callable[[Model, Array], Array], samples: Array) -> Array:
        """A function of the model and samples, computed where the estimator was told to."""
        streamed = self._streamed(samples)
        if streamed is samples:
            return function(self._model, samples)
        moved = self.move_to(streamed.place)._model
        shape = (-1, *self.sample_shape_)
        blocks = streamed.blocks()
        return np.concatenate([to_numpy(function(moved, block.reshape(shape))) for block in blocks])

    def _features(self, model: Model, samples: Array) -> Array:
        means = model.posterior_means(samples)
        xp = array_namespace(means)
        return means * xp.astype(model.feature_scale(self.whiten_), means.dtype, copy=False)

    def _new_samples(self, X: Any) -> Array:
        samples = super()._new_samples(X)
        self._refuse_elsewhere(samples)
        return samples

    def _refuse_elsewhere(self, X: Array) -> None:
        """Nothing is moved silently between libraries and devices."""
        if not same_place(X, self.component_factor_):
            raise ValueError(
                f"X is an array of {describe(X)}, but the model was fitted on "
                f"{describe(self.component_factor_)}. Convert X, or move the model: "
                "model.move_to(X)."
            )

    def move_to(self, X: Array) -> Self:
        """A copy of the fitted model for arrays of another library or on another device.

        Parameters
        ----------
        X : array
            Any array of the library and on the device that the model is to work with.

        Returns
        -------
        TBVDR
            The same model there; this one stays as it is.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from tenvec import TBVDR
        >>> model = TBVDR(n_components=5).fit(load_digits().images)
        >>> moved = model.move_to(np.empty(0))  # for PyTorch: torch.empty(0, device="cuda")
        """
        check_is_fitted(self)
        if not is_array_api_obj(X):
            raise TypeError(
                f"X must be an array of the library to move to, got {type(X).__name__}."
            )
        moved = copy(self)
        moved.__dict__.update(moved_to(self.__dict__, X))
        return moved

    def posterior(self, X: Any) -> tuple[Array, Array]:
        """Posterior means and covariances of the features, in the scale of :meth:`transform`.

        Parameters
        ----------
        X : array-like
            Samples, as in :meth:`transform`.

        Returns
        -------
        means : array of shape (n_samples, K)
            What :meth:`transform` returns.
        covariances : array of shape (n_samples, K, K)
            Always float64; a read-only view of one matrix where all samples share it.
        """
        means = self.transform(X)
        model = self._model
        variances = model.noise_variance / (model.variances + model.noise_variance)
        variances = variances * model.feature_scale(self.whiten_) ** 2
        covariance = identity(self.n_components_, variances) * variances
        xp = array_namespace(covariance)
        return means, xp.broadcast_to(covariance, (means.shape[0], *covariance.shape))

    def inverse_transform(self, X: Any) -> Array:
        """Samples that have the given features: the reconstruction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Features.

        Returns
        -------
        array
            Samples in the shape that ``fit`` was given; 2-D stays 2-D.
        """
        means = self._means_of(X)
        flat = self._model.reconstruct(means)
        xp = array_namespace(flat)
        narrow = getattr(X, "dtype", None) == xp.float32
        return self._as_given(xp.astype(flat, xp.float32, copy=False) if narrow else flat)

    def _means_of(self, X: Any) -> Array:
        """Posterior means from features: whitening undone, zeros included."""
        check_is_fitted(self)
        features = self._as_array(X)
        self._refuse_elsewhere(features)
        xp = array_namespace(features)
        features = xp.astype(features, self.component_factor_.dtype, copy=False)
        if features.ndim != 2 or features.shape[1] != self.n_components_:
            raise ValueError(
                f"X has shape {tuple(features.shape)}, but features of shape (n_samples, "
                f"{self.n_components_}) are expected: what transform returns."
            )
        scale = self._model.feature_scale(self.whiten_)
        if not bool(xp.all(xp.isfinite(features))):
            raise ValueError("X contains NaN or infinity: features have to be finite.")
        carried = scale > 0
        features = features / xp.where(carried, scale, xp.ones_like(scale))
        return xp.where(carried, features, xp.zeros_like(features))

    def score_samples(self, X: Any) -> Array:
        """Log-likelihood of each sample in nats, with the noise precision plugged in.

        Parameters
        ----------
        X : array-like
            Samples, as in :meth:`transform`.

        Returns
        -------
        array of shape (n_samples,)
            ``ln N(x | mean, BᵀB + σ²I)``, always float64.
        """
        return self._by_device(Model.log_likelihood, self._new_samples(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the samples, in nats.

        Parameters
        ----------
        X : array-like
            Samples, as in :meth:`transform`.
        y : ignored
            For pipelines.

        Returns
        -------
        float
            The mean of :meth:`score_samples`.
        """
        scores = self.score_samples(X)
        return float(array_namespace(scores).mean(scores))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw new samples from the model, noise included.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws.
        random_state : int, RandomState or None, default=None
            Seed; None takes the estimator's own.

        Returns
        -------
        array
            Samples in the shape that ``fit`` was given.
        """
        check_is_fitted(self)
        seed = self.random_state if random_state is None else random_state
        flat = self._model.draw(positive_integer(n_samples, "n_samples"), random_generator(seed))
        return self._as_given(flat)

    def to_cp(self, X: Any) -> tuple[Array, list[Array]]:
        """CP tensor of the (centred, scaled) reconstructions, for tensorly and its tools.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Features, as :meth:`transform` returns them.

        Returns
        -------
        weights : array of shape (R,)
            All one.
        factors : list of arrays
            ``H·Wʰ`` for the samples, then the factors of the modes.
        """
        means = self._means_of(X)
        xp = array_namespace(means)
        factors = [xp.asarray(factor, copy=True) for factor in self.mode_factors_]
        weighted = means @ self.component_factor_
        return xp.ones_like(weighted[0, :]), [weighted, *factors]

    def _to_save(self) -> Self:
        return self.move_to(np.empty(0))


def moved_to(fitted: Mapping[str, Any], x: Array) -> dict[str, Any]:
    """The fitted arrays, as arrays of the library and on the device of ``x``."""

    def there(value: Any) -> Any:
        if isinstance(value, list):
            return [there(item) for item in value]
        return None if value is None else like(to_numpy(value), x)

    return {name: there(fitted[name]) for name in ARRAYS}
