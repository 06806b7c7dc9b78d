"""Principal component analysis of samples of any order: scikit-learn's own."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn import decomposition
from sklearn.utils.validation import check_is_fitted

from tenvec.estimator import SampleTransformer
from tenvec.validation import as_array

Array = Any


class PCA(SampleTransformer):
    """Principal component analysis; scikit-learn's, for samples of any order.

    Parameters
    ----------
    n_components : int, float, "mle" or None, default=None
        As in :class:`sklearn.decomposition.PCA`: a number, a share of the variance, Minka's
        estimate, or as many as there can be.
    whiten : bool, default=False
        Divide every feature by its deviation.
    svd_solver : str, default="auto"
        As in scikit-learn.
    sample_shape : tuple of int or None, default=None
        Folds the columns of a 2-D ``X`` into samples of this shape.
    random_state : int, RandomState or None, default=None
        Seed of the randomised solvers.

    Attributes
    ----------
    components_ : array of shape (K, D1, …, DN)
        Principal directions, of unit norm, in the shape of a sample.
    mean_ : array of shape (D1, …, DN)
        Mean of the samples.
    explained_variance_, explained_variance_ratio_, singular_values_ : arrays of shape (K,)
        Variance of each feature, its share of the whole, and singular values.
    noise_variance_ : float
        Mean variance of the directions left out.
    n_components_, n_samples_, sample_shape_, n_features_in_
        As used.

    See Also
    --------
    tenvec.TBVDR : Basis tensors that share a CP decomposition, with far fewer parameters.

    Notes
    -----
    H. Hotelling, "Analysis of a complex of statistical variables into principal components",
    Journal of Educational Psychology 24, 1933; as a probabilistic model, which ``score_samples``
    uses: M. E. Tipping and C. M. Bishop, "Probabilistic principal component analysis", JRSS B
    61(3), 1999. The work is scikit-learn's: see its page for the solvers.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenvec.baselines import PCA
    >>> images = load_digits().images
    >>> model = PCA(n_components=10).fit(images)
    >>> model.transform(images).shape, model.components_.shape
    ((1797, 10), (10, 8, 8))
    """

    components_: Array
    mean_: Array
    explained_variance_: Array
    explained_variance_ratio_: Array
    singular_values_: Array
    noise_variance_: float
    n_components_: int
    n_samples_: int

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        whiten: bool = False,
        svd_solver: str = "auto",
        sample_shape: tuple[int, ...] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.sample_shape = sample_shape
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the principal directions.

        Parameters
        ----------
        X : array of shape (n_samples, D1, …, DN) or (n_samples, n_features)
            The samples, of any order.
        y : ignored

        Returns
        -------
        self : object
        """
        samples = self._samples_to_fit(X)
        fitted = decomposition.PCA(
            self.n_components,
            whiten=self.whiten,
            svd_solver=self.svd_solver,
            random_state=self.random_state,
        ).fit(_flat(samples))
        shape = samples.shape[1:]
        self._record(
            {
                **self._input_attributes(X, samples),
                # In C order, as a model file holds it: its layout decides the last digit.
                "components_": np.ascontiguousarray(fitted.components_).reshape(-1, *shape),
                "mean_": fitted.mean_.reshape(shape),
                "explained_variance_": fitted.explained_variance_,
                "explained_variance_ratio_": fitted.explained_variance_ratio_,
                "singular_values_": fitted.singular_values_,
                "noise_variance_": float(fitted.noise_variance_),
                "n_components_": int(fitted.n_components_),
                "n_samples_": len(samples),
            }
        )
        return self

    def transform(self, X: Any) -> Array:
        """Features of the samples.

        Parameters
        ----------
        X : array of shape (n_samples, D1, …, DN) or (n_samples, n_features)
            Samples of the shape that was fitted.

        Returns
        -------
        features : array of shape (n_samples, K)
        """
        samples = self._new_samples(X)
        return self._fitted().transform(_flat(samples))

    def inverse_transform(self, H: Any) -> Array:
        """Samples from features.

        Parameters
        ----------
        H : array of shape (n_samples, K)
            Features.

        Returns
        -------
        samples : array
            In the shape that fit was given.
        """
        check_is_fitted(self)
        features = as_array(H, "H")
        if features.shape[1:] != (self.n_components_,):
            raise ValueError(
                f"H has shape {features.shape}, but {self.n_components_} features a sample are "
                "expected."
            )
        return self._as_given(self._fitted().inverse_transform(features))

    def score_samples(self, X: Any) -> Array:
        """Log density of each sample in nats under the probabilistic model.

        Parameters
        ----------
        X : array of shape (n_samples, D1, …, DN) or (n_samples, n_features)
            Samples.

        Returns
        -------
        log_likelihoods : array of shape (n_samples,)
        """
        samples = self._new_samples(X)
        return self._fitted().score_samples(_flat(samples))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of the samples in nats.

        Parameters
        ----------
        X : array of shape (n_samples, D1, …, DN) or (n_samples, n_features)
            Samples.
        y : ignored

        Returns
        -------
        log_likelihood : float
        """
        return float(self.score_samples(X).mean())

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _fitted(self) -> Any:
        """scikit-learn's estimator with what was learned; the state itself is plain arrays."""
        fitted = decomposition.PCA(self.n_components, whiten=self.whiten)
        fitted.components_ = self.components_.reshape(self.n_components_, -1)
        fitted.mean_ = self.mean_.reshape(-1)
        fitted.explained_variance_ = self.explained_variance_
        fitted.noise_variance_ = self.noise_variance_
        fitted.n_components_ = self.n_components_
        fitted.n_features_in_ = self.n_features_in_
        return fitted


def _flat(samples: Array) -> Array:
    rows = samples.reshape(len(samples), -1)
    if not np.isfinite(rows).all():
        raise ValueError(
            "X contains NaN or infinite entries, which PCA cannot use: fill or drop them first."
        )
    return rows
