"""The estimator: validates, calls learning, holds the result."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from math import prod
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tenvec.arrays import describe, identity, like, same_place, to_numpy
from tenvec.estimator import SampleTransformer
from tenvec.inference import Model
from tenvec.kruskal import to_tensor
from tenvec.learning.evidence import NoisePrior
from tenvec.learning.initialization import START_PRECISION, start
from tenvec.learning.iteration import (
    Algorithm,
    ParameterExpandedEM,
    Result,
    VariationalEM,
    iterate,
)
from tenvec.learning.parameters import Parameters, canonical
from tenvec.progress import CallbackSupport, FitProgress, logged, with_callbacks
from tenvec.samples import Samples
from tenvec.samples.array import ArraySamples
from tenvec.samples.compression import compress_and_measure, compression_pays
from tenvec.samples.host import HostArray, torch_device
from tenvec.samples.normalization import Normalization, measure
from tenvec.settings import Settings, Start, checked_settings
from tenvec.validation import ParameterError, positive_integer, random_generator

Array = Any

logger = logging.getLogger(__name__)

ARRAYS = (
    "mode_factors_",
    "component_factor_",
    "mean_",
    "scale_",
    "explained_variance_",
    "explained_variance_ratio_",
)
"""Fitted attributes that live where the data did; the course of a fit is NumPy's."""


class TBVDR(CallbackSupport, SampleTransformer):
    """Vectorial dimension reduction for tensors based on Bayesian inference.

    Sample ``Y_i`` of shape ``(D_1, …, D_N)`` is modelled as ``Σ_k h_ik 𝒲_k + E_i``: a weighted sum
    of basis tensors of its own shape, which share one CP decomposition, plus Gaussian noise. Its
    features are the posterior mean of the weights ``h_i``.

    Parameters
    ----------
    n_components : int, default=50
        Number of features K.
    rank : int, "n_components" or None, default=None
        CP rank R of the basis; None means ``2 * n_components``, and ``"n_components"`` the
        paper's rule R = K. More rank lowers the reconstruction error at little cost.
    algorithm : {"px-em", "em"}, default="px-em"
        ``"px-em"`` is variational EM with parameter expansion: same model, far fewer passes.
        ``"em"`` is the paper's algorithm, step for step.
    init : {"svd", "normal", "uniform"} or (mode_factors, component_factor), default="svd"
        Where learning starts: from the data's leading subspace (deterministic), from random
        factors, or from factors of shapes ``(D_n, R)`` and ``(K, R)``. With ``n_init > 1`` and
        ``"svd"`` the further starts are ``"normal"``.
    center : bool, default=True
        Subtract the mean of the samples. The paper has no mean; a model without one cannot tell a
        sample from its negative, but suits recognition with the cosine distance.
    scale : int, tuple of int or None, default=None
        Axis (or axes) of a sample, counted from 0 without the axis of the samples, whose slices
        are divided by their own deviation: for sensors or bands in different units.
    whiten : float or bool, default=1.0
        1 (or True) gives posterior means, as the paper does; 0 (or False) scales them so that
        distances between features are distances between reconstructions; values between scale
        feature k by ``explained_variance_[k] ** ((1 - whiten) / 2)``.
    sample_shape : tuple of int or None, default=None
        Folds the columns of a 2-D ``X`` into samples of this shape.
    max_iter : int, default=200
        Largest number of passes over the data.
    tol : float, default=1e-4
        ``"px-em"`` stops when two passes running gain fewer than ``tol`` nats an entry, ``"em"``
        when the reconstruction score moves less than ``tol``. 0 makes ``max_iter`` passes.
    n_sweeps : int, default=10
        Sweeps over the factors a pass (``"px-em"`` only).
    noise_prior : tuple of float, default=(1e-6, 1e-6)
        Parameters ``(a, b)`` of the Gamma prior of the noise precision; ``b`` counts in units of
        the data's mean square (``"em"``: of the data). ``(0, 0)`` is the improper prior.
    n_init : int, default=1
        Number of starts; the one with the highest bound is kept. They run in parallel inside
        ``joblib.parallel_config``.
    random_state : int, RandomState or None, default=None
        Seed of the random starts, and of :meth:`sample` where that is given none.
    device : str, torch.device or None, default=None
        Where to compute with NumPy arrays: a PyTorch device such as ``"cuda"``, to which samples
        are streamed block by block, so that they may be larger than its memory. Results are
        NumPy's. None computes with every array where it is.
    verbose : int, default=0
        1 logs a line a start and 2 a line a pass, to the logger ``tenvec``.

    Attributes
    ----------
    mode_factors_ : list of arrays of shape (D_n, R)
        Factors of the sample's modes: unit columns, ordered by the weight they carry.
    component_factor_ : array of shape (K, R)
        Factor of the components, which carries the scale.
    mean_ : array of the sample's shape
        Mean of the samples; zero with ``center=False``.
    scale_ : array or None
        Deviations of the slices, broadcastable to a sample.
    noise_variance_ : float
        Variance of the noise, of the centred and scaled data.
    explained_variance_, explained_variance_ratio_ : arrays of shape (K,)
        Variance λ of each basis tensor, falling, and its share of the data's.
    lower_bound_, lower_bounds_ : float and array
        Variational lower bound on the log evidence in nats, at the end and by pass.
    reconstruction_scores_ : array
        ``e(t) = 1 - ‖Y - Ŷ‖/‖Y‖`` by pass, of the centred and scaled data.
    n_iter_, converged_, stop_reason_ : int, bool and str
        Passes made, whether the rule of convergence ended them, and why they ended, in words.
    n_components_, rank_, noise_prior_, sample_shape_, n_features_in_
        As used; the prior in units of the data.

    See Also
    --------
    sklearn.decomposition.PCA : The same for vectors; enough where samples are many and small.

    Notes
    -----
    F. Ju, Y. Sun, J. Gao, Y. Hu and B. Yin, "Vectorial Dimension Reduction for Tensors Based on
    Bayesian Inference", arXiv:1707.00380.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenvec import TBVDR
    >>> images = load_digits().images
    >>> model = TBVDR(n_components=10).fit(images)
    >>> model.transform(images).shape
    (1797, 10)
    >>> model.inverse_transform(model.transform(images)).shape
    (1797, 8, 8)
    """

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

    def __init__(
        self,
        n_components: int = 50,
        *,
        rank: int | str | None = None,
        algorithm: str = "px-em",
        init: str | Start = "svd",
        center: bool = True,
        scale: int | tuple[int, ...] | None = None,
        whiten: float | bool = 1.0,
        sample_shape: tuple[int, ...] | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_sweeps: int = 10,
        noise_prior: tuple[float, float] = (1e-6, 1e-6),
        n_init: int = 1,
        random_state: Any = None,
        device: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.rank = rank
        self.algorithm = algorithm
        self.init = init
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.sample_shape = sample_shape
        self.max_iter = max_iter
        self.tol = tol
        self.n_sweeps = n_sweeps
        self.noise_prior = noise_prior
        self.n_init = n_init
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the basis from samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, D_1, …, D_N) or (n_samples, n_features)
            Samples, along the first axis. Memory-mapped arrays are read a block at a time.
        y : ignored
            For pipelines.

        Returns
        -------
        TBVDR
            The fitted estimator. A fit that is interrupted or fails leaves it as it was.
        """
        data = self._samples_to_fit(X)
        settings = checked_settings(self, data.shape[1:])
        generator = random_generator(self.random_state)
        samples = _source(self._streamed(data), settings)
        normalization = samples.normalization
        prior, precision = _noise(settings, normalization)
        seeds = generator.randint(2**31 - 1, size=settings.n_init)
        shapes = self._input_attributes(X, data)
        fitted = partial(_fitted_attributes, settings, normalization, prior, data.shape[0], shapes)
        progress = FitProgress(self, X, y, settings.n_init, settings.max_iter)

        def run(index: int) -> Result:
            factors, wh = start(
                samples,
                settings.n_components,
                settings.rank,
                # The leading subspace is one start; further ones have to differ.
                "normal" if settings.init == "svd" and index else settings.init,
                int(seeds[index]),
                # The paper starts from raw draws, whatever the unit of the data.
                raw_unit=normalization.unit if settings.algorithm == "em" else None,
                unit=normalization.unit,
            )
            return self._run(
                index,
                samples,
                Parameters(factors, wh, precision),
                prior,
                settings,
                progress,
                fitted,
            )

        with logged(self.verbose), progress.together():
            results = Parallel(require="sharedmem")(
                delayed(run)(index) for index in range(settings.n_init)
            )
        best = max(results, key=lambda result: result.bounds[-1])
        attributes = fitted(best)
        progress.end(progress.root, lambda: attributes)
        # First, because a program may turn warnings into errors.
        self._warn(best, settings, normalization.mean.shape[0])
        self._record(attributes)
        return self

    def _run(
        self,
        index: int,
        samples: Samples,
        parameters: Parameters,
        prior: NoisePrior,
        settings: Settings,
        progress: FitProgress,
        fitted: Any,
    ) -> Result:
        """One start, until it has converged."""
        algorithm: Algorithm = (
            VariationalEM(prior, settings.tol)
            if settings.algorithm == "em"
            else ParameterExpandedEM(prior, settings.tol, settings.n_sweeps)
        )
        task = progress.begin_start(index)

        def report(number: int, so_far: Result) -> None:
            progress.passed(task, lambda: fitted(so_far))
            if self.verbose > 1:
                logger.info("start %d, pass %d: e = %.6f", index + 1, number, so_far.scores[-1])

        result = iterate(samples, parameters, algorithm, settings.max_iter, report)
        progress.end(task, lambda: fitted(result))
        if self.verbose:
            logger.info(
                "start %d ended after %d passes: %s", index + 1, len(result.bounds), result.reason
            )
        return result

    @staticmethod
    def _warn(result: Result, settings: Settings, n_entries: int) -> None:
        surplus = settings.n_components - min(settings.rank, n_entries)
        if surplus > 0:
            warnings.warn(
                f"{surplus} of {settings.n_components} features are zero: a basis of rank "
                f"{settings.rank} on {n_entries} entries carries no more. "
                "Lower n_components or raise rank.",
                UserWarning,
                stacklevel=4,
            )
        if result.at_rounding:
            warnings.warn(
                "The noise left cannot be told from rounding: noise_variance_, likelihoods and "
                "reconstruction scores near 1 are not meaningful. Lower n_components or rank, or "
                "pass float64 data.",
                UserWarning,
                stacklevel=4,
            )
        if not result.converged and settings.tol > 0:
            warnings.warn(
                f"Not converged after max_iter={settings.max_iter} passes. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

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
            Which one; they are ordered by falling variance.

        Returns
        -------
        array of shape (D_1, …, D_N)
            ``components_[k]``, without building the others.
        """
        check_is_fitted(self)
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
        >>> model = TBVDR(n_components=5).fit(load_digits().images)
        >>> moved = model.move_to(np.empty(0))  # for PyTorch: torch.empty(0, device="cuda")
        """
        check_is_fitted(self)
        if not is_array_api_obj(X):
            raise TypeError(
                f"X must be an array of the library to move to, got {type(X).__name__}."
            )
        moved = copy(self)
        moved.__dict__.update(_moved(self.__dict__, X))
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


def _source(data: Array, settings: Settings) -> Samples:
    """Where learning takes its moments from: the samples, or their second moments."""
    center, axes = settings.center, settings.scale_axes
    # The paper's algorithm passes over the data; it runs compressed too, with the same iterates.
    if compression_pays(
        data.shape[0], prod(data.shape[1:]), settings.n_components, settings.max_iter
    ):
        return compress_and_measure(data, center=center, scale_axes=axes)
    return ArraySamples(data, measure(data, center=center, scale_axes=axes))


def _noise(settings: Settings, normalization: Normalization) -> tuple[NoisePrior, float]:
    """The noise's prior and first mean precision, for the normalized data."""
    a, b = settings.noise_prior
    if settings.algorithm == "px-em":
        return NoisePrior(a, b), START_PRECISION
    # The paper counts b, and starts, in the data's own units.
    square = normalization.unit**2
    precision = a / b * square if a > 0 and b > 0 else START_PRECISION
    if not 0 < precision < float("inf"):
        raise ParameterError(
            f"noise_prior=({a:g}, {b:g}) puts the first noise precision, a / b, beyond the range "
            "of float64: choose a and b closer to one another."
        )
    return NoisePrior(a, b / square), precision


def _fitted_attributes(
    settings: Settings,
    normalization: Normalization,
    prior: NoisePrior,
    n_samples: int,
    shapes: dict[str, Any],
    result: Result,
) -> dict[str, Any]:
    """A result of learning as fitted attributes, in the units of the data."""
    unit = normalization.unit
    parameters, variances = canonical(result.parameters)
    bounds = np.asarray(result.bounds) - n_samples * normalization.log_volume
    fitted = shapes | {
        "mode_factors_": list(parameters.mode_factors),
        "component_factor_": parameters.component_factor * unit,
        "mean_": array_namespace(normalization.mean).reshape(
            normalization.mean, normalization.sample_shape
        ),
        "scale_": normalization.scale,
        "noise_variance_": unit**2 / float(result.parameters.precision),
        "explained_variance_": variances * unit**2,
        # The normalized data have mean square one.
        "explained_variance_ratio_": variances / normalization.mean.shape[0],
        "n_components_": settings.n_components,
        "rank_": settings.rank,
        "whiten_": settings.whiten,
        "lower_bound_": float(bounds[-1]),
        "lower_bounds_": bounds,
        "reconstruction_scores_": np.asarray(result.scores),
        "n_iter_": len(result.bounds),
        "converged_": result.converged,
        "stop_reason_": result.reason,
        "noise_prior_": (prior.a, prior.b * unit**2),
    }
    return fitted | _moved(fitted, np.empty(0)) if settings.on_device else fitted


def _moved(fitted: Mapping[str, Any], x: Array) -> dict[str, Any]:
    """The fitted arrays, as arrays of the library and on the device of ``x``."""

    def there(value: Any) -> Any:
        if isinstance(value, list):
            return [there(item) for item in value]
        return None if value is None else like(to_numpy(value), x)

    return {name: there(fitted[name]) for name in ARRAYS}
