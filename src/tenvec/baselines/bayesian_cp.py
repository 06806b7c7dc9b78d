"""Bayesian CP factorization: missing entries, uncertainty, and the number of components found."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from tenvec.baselines.automatic_rank import Result, learn
from tenvec.baselines.decomposition import Decomposition, checked_size
from tenvec.baselines.multilinear import largest_signs
from tenvec.baselines.row_posteriors import Factor, known
from tenvec.baselines.variational_cp import (
    Observations,
    Posterior,
    entry_moments,
    sample_posterior,
    start,
)
from tenvec.kruskal import khatri_rao, to_tensor
from tenvec.learning.initialization import subspace_start
from tenvec.samples.array import ArraySamples
from tenvec.samples.normalization import Normalization
from tenvec.validation import one_of, positive_integer, real_number

Array = Any

START_PRECISION = 10.0
"""Noise precision of the first sweep, over the mean square of the data."""


class BayesianCP(Decomposition):
    """Fully Bayesian CP factorization with automatic rank determination.

    Like :class:`CP`, but every factor has a posterior, NaN entries are missing and marginalised,
    and components that the data do not support are removed: their number is found in one fit. The
    features of a sample are the posterior mean (and mode) of its row of the samples' factor.

    Parameters
    ----------
    n_components : int, default=50
        The most components: where the fit starts. Found is ``n_components_``.
    init : {"svd", "normal"}, default="svd"
        Start: the strongest rank-one terms of the data's leading subspace (missing entries as
        zeros), or random factors. With ``n_init > 1`` and ``"svd"`` the further starts are
        ``"normal"``.
    max_iter : int, default=200
        Largest number of sweeps over all factors.
    tol : float, default=1e-4
        Stops when a sweep gains less than this, in nats for each observed entry, and no component
        can be removed. 0 makes ``max_iter`` sweeps.
    n_init : int, default=1
        Number of starts; the one with the highest bound is kept.
    sample_shape : tuple of int or None, default=None
        Folds the columns of a 2-D ``X`` into samples of this shape.
    random_state : int, RandomState or None, default=None
        Seed of the random starts.

    Attributes
    ----------
    mode_factors_ : list of arrays of shape (D_n, n_components_)
        Posterior means of the factors of the sample's modes: unit columns, by falling weight.
    mode_covariances_ : list of arrays of shape (1 or D_n, n_components_, n_components_)
        Posterior covariance of the rows of each factor; one for all where no entry is missing.
    feature_precision_ : array of shape (n_components_,)
        Prior precision of the features.
    noise_variance_ : float
        Variance of the noise.
    n_components_ : int
        Components found: the rank.
    lower_bound_, lower_bounds_ : float and array
        Variational lower bound on the log evidence in nats, at the end and by sweep; it never
        falls.
    n_iter_, converged_, stop_reason_ : int, bool and str
        Sweeps made, whether the rule of convergence ended them, and why, in words.
    sample_shape_, n_features_in_
        As used.

    See Also
    --------
    CP : Point estimates for a given number of components.

    Notes
    -----
    Two things are added to the published algorithm, and neither can lower the bound. The scale of
    each component is spread evenly over the modes after every sweep. And a component is removed
    when the bound is no lower without it, also after it was taken out on trial and the rest were
    swept; published is removal when a component's size falls to rounding.

    References
    ----------
    Q. Zhao, L. Zhang and A. Cichocki, "Bayesian CP factorization of incomplete tensors with
    automatic rank determination", IEEE Trans. Pattern Analysis and Machine Intelligence 37(9),
    2015.

    Examples
    --------
    >>> import numpy as np
    >>> from tenvec.baselines import BayesianCP
    >>> rng = np.random.default_rng(0)
    >>> samples, rows, columns = (rng.standard_normal((size, 3)) for size in (40, 12, 10))
    >>> X = np.einsum("ir,jr,kr->ijk", samples, rows, columns)
    >>> X += 0.1 * rng.standard_normal(X.shape)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = BayesianCP(n_components=20).fit(X)
    >>> model.n_components_
    3
    >>> filled, deviation = model.impute(X, return_std=True)
    """

    mode_factors_: list[Array]
    mode_covariances_: list[Array]
    feature_precision_: Array
    noise_variance_: float
    n_components_: int
    lower_bound_: float
    lower_bounds_: Array

    def __init__(
        self,
        n_components: int = 50,
        *,
        init: str = "svd",
        max_iter: int = 200,
        tol: float = 1e-4,
        n_init: int = 1,
        sample_shape: tuple[int, ...] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.sample_shape = sample_shape
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the posterior of all factors, and how many components there are.

        Parameters
        ----------
        X : array-like of shape (n_samples, D_1, …, D_N) or (n_samples, n_features)
            Training samples; NaN where an entry is missing.
        y : ignored
            For scikit-learn's pipelines.

        Returns
        -------
        self
        """
        rank = positive_integer(self.n_components, "n_components")
        init = one_of(self.init, "init", ("svd", "normal"))
        max_iter = positive_integer(self.max_iter, "max_iter")
        tol = real_number(self.tol, "tol", 0.0)
        n_init = positive_integer(self.n_init, "n_init")
        samples = self._finite(self._samples_to_fit(X), allow_nan=True)
        observations = _observations(samples)
        values, unit = observations.values, observations.unit
        shape = samples.shape[1:]
        generator = check_random_state(self.random_state)
        compressed = observations.compressed()
        best: Result | None = None
        for index in range(n_init):
            if init == "svd" and index == 0:
                normalization = Normalization(shape, np.zeros(values.shape[1]), None, unit)
                source = ArraySamples(values.reshape(-1, *shape), normalization)
                modes, _ = subspace_start(source, min(rank, len(values)), rank)
                modes = [factor * np.sqrt(len(factor)) for factor in modes]
            else:
                modes = [generator.standard_normal((size, rank)) for size in shape]
            first = start(modes, len(values), START_PRECISION)
            result = learn(compressed, first, max_iter, tol)
            if best is None or result.bounds[-1] > best.bounds[-1]:
                best = result
        assert best is not None  # n_init is at least one
        self._set_posterior(best.posterior, unit)
        self.lower_bounds_ = np.array(best.bounds)
        self.lower_bound_ = best.bounds[-1]
        self.n_iter_ = len(best.bounds)
        self.converged_, self.stop_reason_ = best.converged, best.reason
        self._record_input(X, samples)
        self._tell_convergence()
        return self

    def _set_posterior(self, q: Posterior, unit: float) -> None:
        """Unit columns in the sample's modes, all of the scale in the features."""
        norms = [np.linalg.norm(factor.mean, axis=0) for factor in q.modes]
        norms = [np.where(norm > 0, norm, 1.0) for norm in norms]
        signs = [largest_signs(factor.mean) for factor in q.modes]
        scale = np.prod(norms, axis=0)
        order = np.argsort(-scale * np.linalg.norm(q.sample.mean, axis=0), kind="stable")
        factors, covariances = [], []
        for factor, norm, sign in zip(q.modes, norms, signs, strict=True):
            column = (sign / norm)[order]
            factors.append(factor.mean[:, order] * column)
            turned = factor.covariance[:, order][:, :, order]
            covariances.append(turned * (column[:, None] * column))
        self.mode_factors_, self.mode_covariances_ = factors, covariances
        self.feature_precision_ = (q.shrinkage.mean / (scale * unit) ** 2)[order]
        self.noise_variance_ = float(unit**2 / q.noise.mean)
        self.n_components_ = int(order.size)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def components_(self) -> Array:
        """Rank-one tensors of unit norm, shape (n_components_, D_1, …, D_N); built on request."""
        return to_tensor([np.eye(self.n_components_), *self.mode_factors_])

    def _modes(self) -> list[Factor]:
        pairs = zip(self.mode_factors_, self.mode_covariances_, strict=True)
        return [known(mean, covariance) for mean, covariance in pairs]

    def _rows(self, samples: Array) -> Factor:
        """Posterior of the features of samples."""
        values, observed = _values_and_mask(samples)
        observations = Observations(values, observed, 1.0)
        return sample_posterior(
            observations, self._modes(), 1 / self.noise_variance_, self.feature_precision_
        )

    def transform(self, X: Any) -> Array:
        """Features of samples: the mode of their posterior, which is its mean.

        Parameters
        ----------
        X : array-like of shape (n_samples, D_1, …, D_N) or (n_samples, n_features)
            Samples, new or not; NaN where an entry is missing.

        Returns
        -------
        array of shape (n_samples, n_components_)
            float32 where X is, else float64.
        """
        return self.posterior(X)[0]

    def posterior(self, X: Any) -> tuple[Array, Array]:
        """Posterior means and covariances of the features.

        Parameters
        ----------
        X : array-like
            Samples, as in :meth:`transform`.

        Returns
        -------
        means : array of shape (n_samples, n_components_)
            What :meth:`transform` returns.
        covariances : array of shape (n_samples, n_components_, n_components_)
            A read-only view of one matrix where all samples share it.
        """
        samples = self._finite(self._new_samples(X), allow_nan=True)
        rows = self._rows(samples)
        covariance = rows.covariance.astype(samples.dtype, copy=False)
        if len(covariance) == 1:
            covariance = np.broadcast_to(covariance, (len(samples), *covariance.shape[1:]))
        else:
            covariance = covariance[rows.of_row]
        return rows.mean.astype(samples.dtype, copy=False), covariance

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

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Posterior predictive of every entry of the given samples: the data without their noise.

        Parameters
        ----------
        X : array-like
            Samples, as in :meth:`transform`.
        return_std : bool, default=False
            Whether to return the predictive deviations too.

        Returns
        -------
        means : array
            In the shape that ``fit`` was given.
        deviations : array
            Only with ``return_std=True``: standard deviations of a (further) noisy reading of
            each entry, from the uncertainty of features and factors and from the noise.
        """
        samples = self._finite(self._new_samples(X), allow_nan=True)
        rows = self._rows(samples)
        if not return_std:
            flat = rows.mean @ khatri_rao(self.mode_factors_).T
            return self._as_given(flat.astype(samples.dtype, copy=False))
        means, variances = entry_moments(rows, self._modes())
        deviations = np.sqrt(variances + self.noise_variance_)
        return (
            self._as_given(means.astype(samples.dtype, copy=False)),
            self._as_given(deviations.astype(samples.dtype, copy=False)),
        )

    def impute(self, X: Any, return_std: bool = False) -> Any:
        """Samples with their missing entries filled in.

        Parameters
        ----------
        X : array-like
            Samples with NaN where an entry is missing.
        return_std : bool, default=False
            Whether to return the predictive deviations too.

        Returns
        -------
        filled : array
            Observed entries as they are, posterior predictive means elsewhere.
        deviations : array
            Only with ``return_std=True``: predictive standard deviations of what was filled in,
            zero where an entry was observed.
        """
        predicted = self.predict(X, return_std)
        given = self._as_given(self._finite(self._new_samples(X), allow_nan=True))
        missing = np.isnan(given)
        if not return_std:
            return np.where(missing, predicted, given)
        means, deviations = predicted
        return np.where(missing, means, given), np.where(missing, deviations, 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _values_and_mask(samples: Array) -> tuple[Array, Array | None]:
    """Flat values in float64, zero where missing, and where they are observed."""
    flat = samples.reshape(samples.shape[0], -1).astype(np.float64, copy=False)
    missing = np.isnan(flat)
    if not missing.any():
        return flat, None
    return np.where(missing, 0.0, flat), ~missing


def _observations(samples: Array) -> Observations:
    """The training data in units of the root mean square of their observed entries."""
    values, observed = _values_and_mask(samples)
    n_observed = values.size if observed is None else int(np.sum(observed))
    if n_observed == 0:
        raise ValueError("X has no observed entry: all of it is NaN.")
    largest = checked_size(float(np.max(np.abs(values))))
    unit = largest * float(np.sqrt(np.sum((values / largest) ** 2) / n_observed))
    return Observations(values, observed, unit)
