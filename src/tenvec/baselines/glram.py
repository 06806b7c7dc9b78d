"""GLRAM for matrices, and MPCA for samples of higher order: Tucker without the sample mode."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from tenvec.baselines.decomposition import Decomposition
from tenvec.baselines.multilinear import (
    all_orthogonal,
    contract_all,
    expand_all,
    hooi,
    mode_ranks,
)
from tenvec.validation import one_of, positive_integer, real_number

Array = Any


class GLRAM(Decomposition):
    """Generalized low rank approximations of matrices, and of tensors.

    Matrices ``X_i`` are approximated by ``L M_i Rᵀ`` with orthonormal columns in ``L`` and ``R``,
    which all samples share; the features are the entries of the small ``M_i``. Samples of higher
    order get one factor a mode: with ``center=True`` that is multilinear PCA. It equals the Tucker
    decomposition of all modes but the samples' ("Tucker-2"), learned by alternating leading
    subspaces (HOOI).

    Parameters
    ----------
    n_components : int or tuple of int, default=10
        Columns ``(r, c, …)`` of the factors, one for each mode. A single number holds for every
        mode that is large enough. The number of features is their product.
    center : bool, default=False
        Subtract the mean of the samples. GLRAM as published has no mean, MPCA has one.
    init : {"hosvd", "st-hosvd", "random"}, default="hosvd"
        Start of the iteration: leading subspaces of the data mode by mode, each after the
        compression of the modes before, or random subspaces.
    max_iter : int, default=100
        Largest number of iterations; 0 keeps the start.
    tol : float, default=1e-6
        Stops when the relative reconstruction error falls by less than this. 0 makes ``max_iter``
        iterations.
    sample_shape : tuple of int or None, default=None
        Folds the columns of a 2-D ``X`` into samples of this shape.
    random_state : int, RandomState or None, default=None
        Seed of ``init="random"``.

    Attributes
    ----------
    mode_factors_ : list of arrays of shape (D_n, r_n)
        Factors with orthonormal columns, in order of falling norm of the features they make.
    mean_ : array of the sample's shape
        Mean of the samples; zero with ``center=False``.
    feature_shape_ : tuple of int
        Shape ``(r, c, …)`` of a sample's features before they are flattened.
    explained_variance_ : array of shape (n_components_,)
        Mean square of each feature over the training samples.
    n_components_ : int
        Number of features, the product of ``feature_shape_``.
    errors_ : array
        Relative reconstruction error ``‖X − X̂‖/‖X‖`` after each iteration; it never rises.
    n_iter_, converged_, stop_reason_ : int, bool and str
        Iterations made, whether the rule of convergence ended them, and why, in words.
    sample_shape_, n_features_in_
        As used.

    See Also
    --------
    Tucker : Compresses the samples' mode too: one vector of any length a sample.

    References
    ----------
    J. Ye, "Generalized Low Rank Approximations of Matrices", Machine Learning 61, 2005.

    H. Lu, K. N. Plataniotis and A. N. Venetsanopoulos, "MPCA: Multilinear Principal Component
    Analysis of Tensor Objects", IEEE Trans. Neural Networks 19(1), 2008.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenvec.baselines import GLRAM
    >>> images = load_digits().images
    >>> model = GLRAM(n_components=(3, 4)).fit(images)
    >>> model.transform(images).shape
    (1797, 12)
    >>> model.inverse_transform(model.transform(images)).shape
    (1797, 8, 8)
    """

    mode_factors_: list[Array]
    mean_: Array
    feature_shape_: tuple[int, ...]
    explained_variance_: Array
    n_components_: int
    errors_: Array

    def __init__(
        self,
        n_components: int | Sequence[int] = 10,
        *,
        center: bool = False,
        init: str = "hosvd",
        max_iter: int = 100,
        tol: float = 1e-6,
        sample_shape: tuple[int, ...] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.sample_shape = sample_shape
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the factors.

        Parameters
        ----------
        X : array-like of shape (n_samples, D_1, …, D_N) or (n_samples, n_features)
            Training samples.
        y : ignored
            For scikit-learn's pipelines.

        Returns
        -------
        self
        """
        init = one_of(self.init, "init", ("hosvd", "st-hosvd", "random"))
        max_iter = positive_integer(self.max_iter, "max_iter", minimum=0)
        tol = real_number(self.tol, "tol", 0.0)
        samples = self._training_samples(X)
        ranks = mode_ranks(self.n_components, samples.shape[1:], "n_components")
        mean = np.zeros(samples.shape[1:], samples.dtype)
        centred = samples
        if self.center:
            mean = np.mean(samples, axis=0, dtype=np.float64).astype(samples.dtype)
            centred = samples - mean
            if np.max(np.abs(centred)) <= 4 * np.finfo(samples.dtype).eps * np.max(np.abs(mean)):
                raise ValueError(
                    "X has nothing left after centring: all of its samples are the same. "
                    "Check the data, or pass center=False."
                )
        generator = check_random_state(self.random_state)
        result = hooi(centred, ranks, init, max_iter, tol, generator)
        core, factors = all_orthogonal(result.core, result.factors)
        self.mode_factors_ = [factors[axis] for axis in sorted(factors)]
        self.mean_ = mean
        self.feature_shape_ = tuple(int(size) for size in core.shape[1:])
        self.n_components_ = prod(self.feature_shape_)
        self.explained_variance_ = np.mean(np.square(core, dtype=np.float64), axis=0).ravel()
        self.errors_ = np.array(result.errors)
        self.n_iter_ = len(result.errors)
        self.converged_, self.stop_reason_ = result.converged, result.reason
        self._record_input(X, samples)
        self._tell_convergence()
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _factors(self, dtype: Any) -> dict[int, Array]:
        factors = enumerate(self.mode_factors_, start=1)
        return {axis: factor.astype(dtype, copy=False) for axis, factor in factors}

    @property
    def components_(self) -> Array:
        """Basis tensors, shape (n_components_, D_1, …, D_N), orthonormal; built on request."""
        units = np.eye(self.n_components_).reshape(self.n_components_, *self.feature_shape_)
        return expand_all(units, self._factors(np.float64))

    def transform(self, X: Any) -> Array:
        """Features of samples: their projections, flattened.

        Parameters
        ----------
        X : array-like of shape (n_samples, D_1, …, D_N) or (n_samples, n_features)
            Samples, new or not.

        Returns
        -------
        array of shape (n_samples, n_components_)
            float32 where X is, else float64.
        """
        samples = self._finite(self._new_samples(X))
        if self.center:
            samples = samples - self.mean_.astype(samples.dtype, copy=False)
        return contract_all(samples, self._factors(samples.dtype)).reshape(samples.shape[0], -1)

    def inverse_transform(self, X: Any) -> Array:
        """Samples that have the given features: the reconstruction.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Features.

        Returns
        -------
        array
            Samples in the shape that ``fit`` was given; 2-D stays 2-D.
        """
        features = self._features_to_invert(X)
        cores = features.reshape(-1, *self.feature_shape_)
        samples = expand_all(cores, self._factors(features.dtype))
        return self._as_given(samples + self.mean_.astype(features.dtype, copy=False))
