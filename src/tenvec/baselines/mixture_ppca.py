"""Mixture of probabilistic PCA: clustering and local dimension reduction in one model."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenvec.baselines import mixture_ppca_em as em
from tenvec.estimator import SampleTransformer
from tenvec.validation import ParameterError, as_array, positive_integer, real_number

Array = Any


class MixturePPCA(SampleTransformer):
    """Mixture of probabilistic principal component analysers.

    Sample x comes from component g with probability ``π_g``, and there from a Gaussian around
    ``μ_g`` with covariance ``W_gᵀ W_g + σ_g² I``: each component has a PCA of its own.

    Parameters
    ----------
    n_components : int, default=10
        Latent dimensions K of each mixture component.
    n_mixtures : int, default=2
        Number of mixture components G.
    noise_prior : tuple of float, default=(1e-6, 1e-6)
        Strengths ``(a, b)`` of the penalty ``-a log σ_g² - b / σ_g²``, ``b`` in units of the
        centred data's mean square. It keeps the likelihood bounded, so that ``b`` must be positive.
    sample_shape : tuple of int or None, default=None
        Folds the columns of a 2-D ``X`` into samples of this shape.
    max_iter : int, default=200
        Largest number of EM passes a start.
    tol : float, default=1e-5
        EM stops when two passes running gain fewer than ``tol`` nats an entry. 0 makes ``max_iter``
        passes.
    n_init : int, default=4
        Number of starts, in turn from local subspaces and from k-means; the most probable result is
        kept.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

    Attributes
    ----------
    weights_, noise_variances_ : arrays of shape (G,)
        ``π_g`` and ``σ_g²``.
    means_ : array of shape (G, D1, …, DN)
        ``μ_g``.
    components_ : array of shape (G, K, D1, …, DN)
        Loadings ``W_g``: orthogonal, of falling norm ``√explained_variance_`` and fixed sign.
    explained_variance_ : array of shape (G, K)
        Variance of each loading.
    latent_dimensions_ : array of int of shape (G,)
        Loadings in use: fewer than K where a component holds too few samples.
    n_components_, n_mixtures_ : int
        K, and the mixture components left (those with less than two samples are taken out).
    objectives_ : array
        Penalised log-likelihood in nats by pass, which never falls. It starts anew where a
        component was reduced on the way.
    n_iter_, converged_, stop_reason_ : int, bool and str
        Passes made, whether the rule of convergence ended them, and why they ended, in words.
    sample_shape_, n_features_in_
        Shape of a sample and its number of entries.

    See Also
    --------
    sklearn.mixture.GaussianMixture : Full covariances, for few features.

    Notes
    -----
    M. E. Tipping and C. M. Bishop, "Mixtures of probabilistic principal component analyzers",
    Neural Computation 11(2), 1999: their two-stage EM, with parameter expansion (Liu, Rubin and
    Wu 1998) and, where a sample has more entries than there are samples, exact coordinates in the
    samples' span.

    **Features.** The paper defines none for a classifier. Here they are, for each component, the
    posterior means of its latent variables times its responsibility (K features), and last the
    responsibilities of all components but one: ``G * K + G - 1`` features. With one component they
    are PPCA's posterior means. They tell which component a sample belongs to and where it lies
    there, and :meth:`inverse_transform` rebuilds the expected noise-free sample from them exactly.
    Adding the K weighted posterior means up over the components, which mixes unrelated coordinates,
    was as good or worse for nearest-neighbour recognition in every setting measured
    (``benchmarks/baselines_subspace.py``).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tenvec.baselines import MixturePPCA
    >>> images = load_digits().images
    >>> model = MixturePPCA(n_components=5, n_mixtures=10, random_state=0).fit(images)
    >>> model.transform(images).shape
    (1797, 59)
    >>> model.predict_proba(images).shape
    (1797, 10)
    >>> model.means_.shape
    (10, 8, 8)
    """

    weights_: Array
    means_: Array
    components_: Array
    noise_variances_: Array
    explained_variance_: Array
    latent_dimensions_: Array
    n_components_: int
    n_mixtures_: int
    objectives_: Array
    n_iter_: int
    converged_: bool
    stop_reason_: str

    def __init__(
        self,
        n_components: int = 10,
        *,
        n_mixtures: int = 2,
        noise_prior: tuple[float, float] = (1e-6, 1e-6),
        sample_shape: tuple[int, ...] | None = None,
        max_iter: int = 200,
        tol: float = 1e-5,
        n_init: int = 4,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_mixtures = n_mixtures
        self.noise_prior = noise_prior
        self.sample_shape = sample_shape
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the mixture by EM.

        Parameters
        ----------
        X : array of shape (n_samples, D1, …, DN) or (n_samples, n_features)
            The samples, of any order.
        y : ignored

        Returns
        -------
        self : object
        """
        n_components = positive_integer(self.n_components, "n_components")
        n_mixtures = positive_integer(self.n_mixtures, "n_mixtures")
        max_iter = positive_integer(self.max_iter, "max_iter")
        n_init = positive_integer(self.n_init, "n_init")
        tol = real_number(self.tol, "tol", 0.0)
        if not isinstance(self.noise_prior, tuple | list) or len(self.noise_prior) != 2:
            raise ParameterError(
                f"noise_prior must be a pair of numbers (a, b), got {self.noise_prior!r}."
            )
        a = real_number(self.noise_prior[0], "a of noise_prior", 0.0)
        b = real_number(self.noise_prior[1], "b of noise_prior", 1e-15)
        samples = self._samples_to_fit(X, min_samples=max(2, n_mixtures))
        rows = _rows(samples)
        dimension = rows.shape[1]
        mean = rows.mean(axis=0)
        rows -= mean
        basis = None
        if dimension > len(rows):
            # All means and loadings lie in the samples' span: the rest of the space holds noise
            # alone, which the formulas count by the dimension.
            basis, coordinates = np.linalg.qr(rows.T)
            rows = np.ascontiguousarray(coordinates.T)
        mean_square = float(np.vdot(rows, rows)) / (len(rows) * dimension)
        prior = (a, b * (mean_square if mean_square > 0 else 1.0))

        random_state = check_random_state(self.random_state)
        results = []
        for i in range(n_init):
            labels = (
                em.seed_by_subspaces(rows, n_mixtures, n_components, random_state)
                if i % 2 == 0
                else _cluster(rows, n_mixtures, random_state)
            )
            first = em.start(rows, labels, n_components, dimension, prior)
            results.append(em.iterate(rows, first, prior, max_iter, tol))
        best = max(results, key=lambda result: float(result.objectives[-1]))
        _warn(best, n_components, n_mixtures, tol)

        mixture = best.mixture
        means, loadings = mixture.means, mixture.loadings
        if basis is not None:
            means, loadings = means @ basis.T, loadings @ basis.T
        loadings = em.canonical(loadings)
        shape = samples.shape[1:]
        n_left = len(means)
        self._record(
            {
                **self._input_attributes(X, samples),
                "weights_": mixture.weights,
                "means_": (means + mean).reshape(n_left, *shape),
                "components_": loadings.reshape(n_left, n_components, *shape),
                "noise_variances_": mixture.noise,
                "explained_variance_": np.einsum("gkp,gkp->gk", loadings, loadings),
                "latent_dimensions_": mixture.latent_dimensions,
                "n_components_": n_components,
                "n_mixtures_": n_left,
                "objectives_": best.objectives,
                "n_iter_": best.n_iter,
                "converged_": best.converged,
                "stop_reason_": best.stop_reason,
            }
        )
        return self

    def transform(self, X: Any) -> Array:
        """Features: weighted posterior means by component, then responsibilities but the last.

        Parameters
        ----------
        X : array of shape (n_samples, D1, …, DN) or (n_samples, n_features)
            Samples of the shape that was fitted.

        Returns
        -------
        features : array of shape (n_samples, G * K + G - 1)
            In float32 for float32 samples.
        """
        samples = self._new_samples(X)
        passed = self._expectation(samples)
        shares = passed.responsibilities
        local = shares[:, :, None] * passed.posterior_means.transpose(1, 0, 2)
        features = np.hstack([local.reshape(len(samples), -1), shares[:, :-1]])
        return features.astype(np.float32 if samples.dtype == np.float32 else np.float64)

    def inverse_transform(self, H: Any) -> Array:
        """Samples from features: the expected noise-free sample ``Σ_g r_g (μ_g + W_gᵀ E[h | g])``.

        Parameters
        ----------
        H : array of shape (n_samples, G * K + G - 1)
            Features.

        Returns
        -------
        samples : array
            In the shape that fit was given.
        """
        check_is_fitted(self)
        features = as_array(H, "H")
        if features.shape[1:] != (self._n_features_out,):
            raise ValueError(
                f"H has shape {features.shape}, but {self._n_features_out} features a sample are "
                "expected."
            )
        n_local = self.n_mixtures_ * self.n_components_
        shares = features[:, n_local:]
        shares = np.hstack([shares, 1 - shares.sum(axis=1, keepdims=True)])
        rebuilt = features[:, :n_local] @ self.components_.reshape(n_local, -1)
        rebuilt += shares @ self.means_.reshape(self.n_mixtures_, -1)
        dtype = np.float32 if features.dtype == np.float32 else np.float64
        return self._as_given(rebuilt.astype(dtype))

    def score_samples(self, X: Any) -> Array:
        """Log density of each sample in nats, in float64.

        Parameters
        ----------
        X : array of shape (n_samples, D1, …, DN) or (n_samples, n_features)
            Samples.

        Returns
        -------
        log_likelihoods : array of shape (n_samples,)
        """
        return self._expectation(self._new_samples(X)).log_likelihoods

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

    def predict_proba(self, X: Any) -> Array:
        """Responsibilities: the probability that each component made each sample.

        Parameters
        ----------
        X : array of shape (n_samples, D1, …, DN) or (n_samples, n_features)
            Samples.

        Returns
        -------
        responsibilities : array of shape (n_samples, G)
        """
        return self._expectation(self._new_samples(X)).responsibilities

    def predict(self, X: Any) -> Array:
        """The most probable component of each sample.

        Parameters
        ----------
        X : array of shape (n_samples, D1, …, DN) or (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : array of int of shape (n_samples,)
        """
        return self._expectation(self._new_samples(X)).joint.argmax(axis=1)

    @property
    def _n_features_out(self) -> int:
        return self.n_mixtures_ * self.n_components_ + self.n_mixtures_ - 1

    def _expectation(self, samples: Array) -> em.Expectation:
        means = self.means_.reshape(self.n_mixtures_, -1)
        # Around a mean of the data the squared distances lose no digits to a common offset.
        centre = self.weights_ @ means
        rows = _rows(samples) - centre
        mixture = em.Mixture(
            self.weights_,
            means - centre,
            self.components_.reshape(self.n_mixtures_, self.n_components_, -1),
            self.noise_variances_,
            self.latent_dimensions_,
            self.n_features_in_,
        )
        return em.expectation(rows, np.einsum("ij,ij->i", rows, rows), mixture)


def _rows(samples: Array) -> Array:
    rows = samples.reshape(len(samples), -1).astype(np.float64)
    if not np.isfinite(rows).all():
        raise ValueError(
            "X contains NaN or infinite entries, which MixturePPCA cannot use: fill or drop them "
            "first."
        )
    return rows


def _cluster(rows: Array, n_mixtures: int, random_state: Any) -> Array:
    with warnings.catch_warnings():
        # Fewer distinct samples than clusters: the start copes.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return KMeans(n_mixtures, n_init=1, random_state=random_state).fit_predict(rows)


def _warn(best: em.Result, n_components: int, n_mixtures: int, tol: float) -> None:
    mixture = best.mixture
    if len(mixture.weights) < n_mixtures:
        warnings.warn(
            f"{n_mixtures - len(mixture.weights)} of n_mixtures={n_mixtures} components were left "
            "with less than two samples and taken out.",
            stacklevel=3,
        )
    short = np.flatnonzero(mixture.latent_dimensions < n_components)
    if short.size:
        listed = ", ".join(
            f"component {g} to {mixture.latent_dimensions[g]}" for g in short[:8]
        ) + (", …" if short.size > 8 else "")
        warnings.warn(
            f"n_components={n_components} is more than the samples of a mixture component, or "
            f"their entries, can carry; reduced: {listed}. The surplus features are zero.",
            stacklevel=3,
        )
    if not best.converged and tol > 0:
        warnings.warn(
            f"MixturePPCA {best.stop_reason}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=3,
        )
