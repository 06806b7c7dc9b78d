"""What LRR and SSC share: samples expressed by samples, an affinity, spectral clustering."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from tenvec.estimator import SampleTransformer
from tenvec.validation import as_array, fold, positive_integer, sample_shape_of

Array = Any


@dataclass(frozen=True)
class SelfExpression:
    """Samples expressed by one another, and how the solver got there.

    Attributes
    ----------
    coefficients : array of shape (M, M)
        Sample i is near the sum of the samples j weighted by column i.
    affinity : array of shape (M, M)
        Symmetric and nonnegative, made from the coefficients.
    objectives : array
        The objective by iteration. The iterates meet the constraints only in the limit, so that it
        need not fall.
    converged, stop_reason
        Whether the residuals fell below the tolerance, and the end in words.
    outliers : array of shape (M, P) or None
        What the method took out of the samples as gross errors of single entries.
    """

    coefficients: Array
    affinity: Array
    objectives: Array
    converged: bool
    stop_reason: str
    outliers: Array | None = None


class Penalty:
    """The penalty of an ADMM and its over-relaxation, balanced so that both residuals fall alike.

    Boyd et al. 2011, sections 3.4.1 and 3.4.3. The changes die out, so that the proof of
    convergence for a fixed penalty holds in the end.
    """

    relaxation = 1.6

    def __init__(self, value: float) -> None:
        self.value = value
        self._n_steps = 0

    def balance(self, primal: float, dual: float) -> float:
        """Factor to apply to the penalty now; 1 means to leave it."""
        self._n_steps += 1
        if self._n_steps % 10 or self._n_steps > 1000 or min(primal, dual) == 0:
            return 1.0
        factor = float(np.clip(np.sqrt(primal / dual), 0.25, 4.0))
        if 1 / 1.3 < factor < 1.3:
            return 1.0
        self.value *= factor
        return factor


def why_stopped(converged: bool, n_iter: int, tol: float, residual: float) -> str:
    """The end of an ADMM in words."""
    if converged:
        return f"converged: both relative residuals fell below tol={tol:g} in {n_iter} iterations"
    return (
        f"reached max_iter={n_iter} with a relative residual of {residual:.2g}, above tol={tol:g}"
    )


def spectral_labels(affinity: Array, n_clusters: int, n_init: int, random_state: Any) -> Array:
    """Clusters of a graph by Ng, Jordan and Weiss 2002, as LRR and SSC prescribe.

    scikit-learn's ``SpectralClustering`` warns of a graph in pieces, which here is the very aim,
    and clusters unnormalised rows.
    """
    affinity = affinity - np.diag(np.diagonal(affinity))
    degrees = affinity.sum(axis=0)
    # A sample that is linked with nothing has a row of zeros, and stays so.
    scale = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    last = len(affinity) - 1
    _, vectors = eigh(
        scale[:, None] * affinity * scale, subset_by_index=[last + 1 - n_clusters, last]
    )
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.where(lengths > 0, lengths, 1.0)
    return KMeans(n_clusters, n_init=n_init, random_state=random_state).fit_predict(rows)


class SelfExpressiveClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the subspace clusterings: n-D samples in, an affinity and labels out."""

    n_clusters: int
    n_init: int
    max_iter: int
    random_state: Any
    sample_shape: tuple[int, ...] | None

    labels_: Array
    affinity_matrix_: Array
    coefficients_: Array
    objectives_: Array
    n_iter_: int
    converged_: bool
    stop_reason_: str
    outliers_: Array | None
    sample_shape_: tuple[int, ...]
    n_features_in_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array of shape (n_samples, D1, …, DN) or (n_samples, n_features)
            The samples, of any order.
        y : ignored

        Returns
        -------
        self : object
        """
        n_clusters = positive_integer(self.n_clusters, "n_clusters")
        n_init = positive_integer(self.n_init, "n_init")
        max_iter = positive_integer(self.max_iter, "max_iter")
        self._validate()
        samples = fold(as_array(X), sample_shape_of(self.sample_shape))
        if len(samples) < max(2, n_clusters):
            raise ValueError(
                f"X has n_samples={len(samples)}, but {type(self).__name__} needs at least 2, and "
                f"no fewer than n_clusters={n_clusters}."
            )
        rows = samples.reshape(len(samples), -1).astype(np.float64)
        if not np.isfinite(rows).all():
            raise ValueError(
                "X contains NaN or infinite entries, which this method cannot cluster: fill or "
                "drop them first."
            )
        # In units of the typical sample, so that the regularisation means the same for any data.
        unit = float(np.sqrt(np.mean(np.einsum("ij,ij->i", rows, rows))))
        rows /= unit if unit > 0 else 1.0

        found = self._express(rows, max_iter)
        labels = spectral_labels(found.affinity, n_clusters, n_init, self.random_state)
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} {found.stop_reason}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        attributes = SampleTransformer._input_attributes(X, samples)
        self.__dict__.update(attributes)
        if attributes["feature_names_in_"] is None:
            del self.__dict__["feature_names_in_"]
        self.labels_ = labels
        self.affinity_matrix_ = found.affinity
        self.coefficients_ = found.coefficients
        self.objectives_ = found.objectives
        self.n_iter_ = len(found.objectives)
        self.converged_ = found.converged
        self.stop_reason_ = found.stop_reason
        self.outliers_ = None
        if found.outliers is not None:
            self.outliers_ = (unit * found.outliers).reshape(samples.shape)
        return self

    @abstractmethod
    def _validate(self) -> None:
        """Check the method's own parameters."""

    @abstractmethod
    def _express(self, rows: Array, max_iter: int) -> SelfExpression:
        """Express the rows, of unit mean square length, by one another."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.three_d_array = True
        return tags
