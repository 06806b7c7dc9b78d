"""CP decomposition of all samples together, by alternating least squares."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from tenvec.baselines.decomposition import Decomposition
from tenvec.baselines.multilinear import largest_signs
from tenvec.kruskal import gram, khatri_rao, normalize_columns, to_tensor
from tenvec.learning.expectation import Moments
from tenvec.learning.initialization import subspace_start
from tenvec.learning.maximization import maximization
from tenvec.learning.parameters import Parameters
from tenvec.samples import Samples
from tenvec.samples.array import ArraySamples
from tenvec.samples.compression import compress, compression_pays
from tenvec.samples.normalization import Normalization, measure
from tenvec.validation import one_of, positive_integer, real_number

Array = Any

COLLINEAR = 1e-12
"""Eigenvalues of the Gram matrix, over the largest, that count as zero."""


@dataclass(frozen=True)
class _Fit:
    """Where alternating least squares ended, from one start."""

    factors: list[Array]
    weights: Array
    errors: list[float]
    converged: bool
    reason: str


class CP(Decomposition):
    """CP decomposition (CANDECOMP/PARAFAC) with the samples as one of the modes.

    Sample ``X_i`` is approximated by ``Σ_k a_ik w¹_k ∘ … ∘ wᴺ_k``: a weighted sum of rank-one
    tensors that all samples share. Its features are the weights ``a_i``. New samples get the
    weights of least squares on the learned basis, and so do the training samples.

    Parameters
    ----------
    n_components : int, default=10
        Number of rank-one terms: the CP rank, and the number of features.
    init : {"svd", "normal", "uniform"}, default="svd"
        Start: the strongest rank-one terms of the data's leading subspace, or random factors.
        With ``n_init > 1`` and ``"svd"`` the further starts are ``"normal"``.
    n_sweeps : int, default=5
        Sweeps over the factors of the sample's modes for each pass over the data. 1 is nearest to
        plain alternating least squares.
    max_iter : int, default=200
        Largest number of passes over the data.
    tol : float, default=1e-4
        Stops when the relative reconstruction error falls by less than this in two passes running.
        0 makes ``max_iter`` passes.
    n_init : int, default=1
        Number of starts; the one with the smallest error is kept.
    sample_shape : tuple of int or None, default=None
        Folds the columns of a 2-D ``X`` into samples of this shape.
    random_state : int, RandomState or None, default=None
        Seed of the random starts.

    Attributes
    ----------
    mode_factors_ : list of arrays of shape (D_n, n_components_)
        Factors of the sample's modes with unit columns, by falling weight.
    weights_ : array of shape (n_components_,)
        Norm over the training samples of each feature.
    n_components_ : int
        Number of features.
    errors_ : array
        Relative reconstruction error ``‖X − X̂‖/‖X‖`` after each pass; it never rises.
    n_iter_, converged_, stop_reason_ : int, bool and str
        Passes made, whether the rule of convergence ended them, and why, in words.
    sample_shape_, n_features_in_
        As used.

    See Also
    --------
    BayesianCP : Finds the rank itself, and takes missing entries.

    Notes
    -----
    A pass over the data solves for the samples' factor ``A`` and takes the two products with the
    data that everything else needs, ``AᵀX`` and ``AᵀA``; errors come from these small matrices.
    Where there are more samples than entries, the passes run on ``XᵀX`` instead.

    References
    ----------
    R. A. Harshman, "Foundations of the PARAFAC procedure", UCLA Working Papers in Phonetics 16,
    1970.

    J. D. Carroll and J.-J. Chang, "Analysis of individual differences in multidimensional scaling
    via an N-way generalization of Eckart-Young decomposition", Psychometrika 35, 1970.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenvec.baselines import CP
    >>> images = load_digits().images
    >>> model = CP(n_components=10).fit(images)
    >>> model.transform(images).shape
    (1797, 10)
    >>> model.inverse_transform(model.transform(images)).shape
    (1797, 8, 8)
    """

    mode_factors_: list[Array]
    weights_: Array
    n_components_: int
    errors_: Array

    def __init__(
        self,
        n_components: int = 10,
        *,
        init: str = "svd",
        n_sweeps: int = 5,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_init: int = 1,
        sample_shape: tuple[int, ...] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.n_sweeps = n_sweeps
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.sample_shape = sample_shape
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the rank-one terms.

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
        rank = positive_integer(self.n_components, "n_components")
        init = one_of(self.init, "init", ("svd", "normal", "uniform"))
        n_sweeps = positive_integer(self.n_sweeps, "n_sweeps")
        max_iter = positive_integer(self.max_iter, "max_iter")
        tol = real_number(self.tol, "tol", 0.0)
        n_init = positive_integer(self.n_init, "n_init")
        data = self._training_samples(X)
        normalization = measure(data, center=False, scale_axes=None)
        samples = _source(data, normalization, rank, max_iter)
        generator = check_random_state(self.random_state)
        shape = tuple(data.shape[1:])
        best = None
        for index in range(n_init):
            if init == "svd" and index == 0:
                factors, _ = subspace_start(samples, min(rank, data.shape[0]), rank)
            else:
                uniform = init == "uniform"
                draw = generator.random_sample if uniform else generator.standard_normal
                factors = [draw((size, rank)) for size in shape]
            fit = alternating_least_squares(samples, factors, n_sweeps, max_iter, tol)
            if best is None or fit.errors[-1] < best.errors[-1]:
                best = fit
        assert best is not None  # n_init is at least one
        order = np.argsort(-best.weights, kind="stable")
        self.mode_factors_ = [
            factor[:, order] * largest_signs(factor[:, order]) for factor in best.factors
        ]
        self.weights_ = best.weights[order] * normalization.unit
        self.n_components_ = rank
        self.errors_ = np.array(best.errors)
        self.n_iter_ = len(best.errors)
        self.converged_, self.stop_reason_ = best.converged, best.reason
        self._record_input(X, data)
        self._tell_convergence()
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def components_(self) -> Array:
        """Rank-one tensors of unit norm, shape (n_components_, D_1, …, D_N); built on request."""
        return to_tensor([np.eye(self.n_components_), *self.mode_factors_])

    def transform(self, X: Any) -> Array:
        """Features of samples: weights of least squares on the rank-one terms.

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
        weights = least_squares_weights(self.mode_factors_).astype(samples.dtype, copy=False)
        return samples.reshape(samples.shape[0], -1) @ weights

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
        factors = [factor.astype(features.dtype, copy=False) for factor in self.mode_factors_]
        return self._as_given(features @ khatri_rao(factors).T)

    def to_cp(self, X: Any) -> tuple[Array, list[Array]]:
        """The CP tensor of samples with the given features, for tensorly and its tools.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Features.

        Returns
        -------
        weights : array of ones
            Shape (n_components_,).
        factors : list of arrays
            The features, then the factors of the sample's modes.
        """
        features = self._features_to_invert(X)
        return np.ones(self.n_components_, features.dtype), [features, *self.mode_factors_]


def _source(data: Array, normalization: Normalization, rank: int, max_iter: int) -> Samples:
    samples = ArraySamples(data, normalization)
    if compression_pays(data.shape[0], prod(data.shape[1:]), rank, max_iter):
        return compress(samples)
    return samples


def least_squares_weights(factors: list[Array]) -> Array:
    """``Z G⁺``, shape (P, R): times flattened samples, the features of least squares."""
    values, vectors = np.linalg.eigh(gram(factors))
    # Inverse where G is regular, and smoothly to zero where its columns are collinear.
    values = np.maximum(values, 0.0)
    inverse = values / (values**2 + (COLLINEAR * values[-1]) ** 2)
    return khatri_rao(factors) @ (vectors * inverse @ vectors.T)


def alternating_least_squares(
    samples: Samples, factors: list[Array], n_sweeps: int, max_iter: int, tol: float
) -> _Fit:
    """Passes over the data: the samples' factor, then sweeps over all others.

    The sweeps leave the span of the samples' factor as it is, but mix its columns freely.
    """
    factors, _ = normalize_columns(factors)
    errors: list[float] = []
    converged, reason = False, f"max_iter = {max_iter} passes were made"
    for _ in range(max_iter):
        moments, mixing = _in_orthonormal_basis(samples, *_products(samples, factors))
        renewed, fit = maximization(moments, Parameters(tuple(factors), mixing, 1.0), n_sweeps)
        factors = list(renewed.mode_factors)
        errors.append(float(1 - fit.reconstruction_score(moments)))
        if tol and len(errors) > 2 and errors[-3] - errors[-2] < tol > errors[-2] - errors[-1]:
            converged = True
            reason = f"the relative error fell by less than tol = {tol:g} in two passes running"
            break
    weights = np.sqrt(np.maximum(np.diagonal(_products(samples, factors)[1]), 0.0))
    return _Fit(factors, weights, errors, converged, reason)


def _products(samples: Samples, factors: list[Array]) -> tuple[Array, Array]:
    """``AᵀX`` and ``AᵀA`` of the least squares weights ``A``; one pass over the data."""
    return samples.moments(least_squares_weights(factors))


def _in_orthonormal_basis(
    samples: Samples, with_data: Array, gram_of_weights: Array
) -> tuple[Moments, Array]:
    """The same products for an orthonormal basis of the weights, and the weights in that basis.

    Collinear weights would make the sweeps' normal equations singular.
    """
    values, vectors = np.linalg.eigh(gram_of_weights)
    alive = values > COLLINEAR * values[-1]
    scales = np.sqrt(values[alive])
    moments = Moments(
        n_samples=samples.n_samples,
        n_entries=int(with_data.shape[1]),
        sum_of_squares=samples.sum_of_squares,
        rounding=samples.rounding,
        with_data=(vectors[:, alive] / scales).T @ with_data,
        second=np.eye(scales.size),
        spread=np.zeros((scales.size, 0)),  # weights of least squares have no covariance
        log_det_covariance=0.0,
    )
    return moments, (vectors[:, alive] * scales).T
