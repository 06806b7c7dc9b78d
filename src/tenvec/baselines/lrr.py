"""Low-rank representation: subspace clustering by the nuclear norm."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenvec.baselines.self_expression import (
    Penalty,
    SelfExpression,
    SelfExpressiveClusterer,
    why_stopped,
)
from tenvec.validation import real_number

Array = Any

# How strongly Z = J is held against X = XZ + E. Chosen on planted subspaces and rigid motions,
# where it took a third of the iterations that equal weights do.
COPY_WEIGHT = 0.1


class LRR(SelfExpressiveClusterer):
    """Subspace clustering by low-rank representation.

    The samples (columns of X) are expressed by one another with coefficients of low rank,
    ``min ‖Z‖_* + λ ‖E‖_{2,1}`` subject to ``X = X Z + E``, where whole samples may be outliers
    (``‖E‖_{2,1}`` sums the lengths of the columns). Spectral clustering of the affinity that the
    row space of Z gives finds the subspaces.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of subspaces.
    regularization : float, default=1.0
        λ, for data in units of the root mean square length of a sample. Larger trusts the data
        more; smaller lets more of it be error.
    affinity_power : float, default=4.0
        The affinity is ``|cosine| ** affinity_power`` between the rows of the row space's factor.
        The paper prints 2; its authors' code has 4.
    sample_shape : tuple of int or None, default=None
        Folds the columns of a 2-D ``X`` into samples of this shape.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-5
        Largest relative residual, primal and dual, at convergence.
    n_init : int, default=20
        Starts of k-means in the spectral clustering.
    random_state : int, RandomState or None, default=None
        Seed of k-means; the representation itself is deterministic.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of each sample.
    affinity_matrix_, coefficients_ : arrays of shape (n_samples, n_samples)
        The graph that was cut, and Z: column i expresses sample i. In float64, whatever ``X`` is.
    objectives_ : array
        ``‖J‖_* + λ ‖E‖_{2,1}`` by iteration, J being the copy of Z with low rank.
    n_iter_, converged_, stop_reason_ : int, bool and str
        Iterations made, whether the residuals fell below ``tol``, and why they ended, in words.
    sample_shape_, n_features_in_
        Shape of a sample and its number of entries.

    See Also
    --------
    SSC : The same with sparse coefficients.

    Notes
    -----
    G. Liu, Z. Lin, S. Yan, J. Sun, Y. Yu and Y. Ma, "Robust recovery of subspace structures by
    low-rank representation", IEEE TPAMI 35(1), 2013; their splitting (J, Z, E and two multipliers).

    The problem is solved in the coordinates of the samples' own span, found from their Gram
    matrix: Z has the row space of X at the optimum (their section 4.2), the linear system becomes
    diagonal, and the size of a sample no longer matters after one product.

    The paper's inexact ALM grows its penalty by 1.1 an iteration whatever happens and updates three
    blocks in turn, for which convergence is not proved. Here J and E are updated together, which
    makes it an ADMM of two blocks, and the penalty follows the residuals: fewer iterations end at a
    lower objective.

    The subspaces pass through the origin: centring is up to you. New samples cannot be clustered.

    Examples
    --------
    >>> import numpy as np
    >>> from tenvec.baselines import LRR
    >>> rng = np.random.default_rng(0)
    >>> planes = rng.standard_normal((3, 2, 40))
    >>> X = np.concatenate([rng.standard_normal((20, 2)) @ plane for plane in planes])
    >>> labels = LRR(n_clusters=3, random_state=0).fit_predict(X.reshape(60, 8, 5))
    >>> [len(set(labels[i : i + 20])) for i in (0, 20, 40)]
    [1, 1, 1]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        regularization: float = 1.0,
        affinity_power: float = 4.0,
        sample_shape: tuple[int, ...] | None = None,
        max_iter: int = 1000,
        tol: float = 1e-5,
        n_init: int = 20,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.regularization = regularization
        self.affinity_power = affinity_power
        self.sample_shape = sample_shape
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    def _validate(self) -> None:
        real_number(self.regularization, "regularization", 1e-12)
        real_number(self.affinity_power, "affinity_power", 1e-3)
        real_number(self.tol, "tol", 0.0)

    def _express(self, rows: Array, max_iter: int) -> SelfExpression:
        # Xᵀ = V diag(s) Uᵀ; U drops out of every norm, so that X may be read as diag(s) Vᵀ.
        values, V = np.linalg.eigh(rows @ rows.T)
        kept = values > len(rows) * np.finfo(np.float64).eps * max(values[-1], 0.0)
        s, V = np.sqrt(values[kept]), V[:, kept]
        if not s.size:
            nothing = np.zeros((len(rows), len(rows)))
            return SelfExpression(
                nothing, nothing, np.zeros(1), True, "every sample is zero: nothing to express"
            )
        Z, objectives, residual = low_rank_representation(
            s, V, float(self.regularization), max_iter, float(self.tol)
        )
        converged = residual <= self.tol
        return SelfExpression(
            V @ Z,
            _affinity(V, Z, float(self.affinity_power)),
            objectives,
            converged,
            why_stopped(converged, len(objectives), self.tol, residual),
        )


def low_rank_representation(
    s: Array, V: Array, regularization: float, max_iter: int, tol: float
) -> tuple[Array, Array, float]:
    """Minimise ‖Z‖_* + λ‖E‖_{2,1} subject to S Vᵀ = S Z + E, of r × M unknowns.

    Returns Z, of low rank, the objectives and the last relative residual.
    """
    S = s[:, None]
    X = S * V.T
    inverse = 1 / (COPY_WEIGHT + S**2)
    penalty = Penalty(1.0)
    relaxation = penalty.relaxation
    Z = np.zeros_like(X)
    # Multipliers over the penalty, of X = S Z + E and of Z = J.
    U1, U2 = np.zeros_like(X), np.zeros_like(X)
    fit = np.zeros_like(X)
    J, residual, objectives = Z, np.inf, []
    for _ in range(max_iter):
        J, nuclear_norm = _shrink_singular_values(Z + U2, 1 / (penalty.value * COPY_WEIGHT))
        E, error = _shrink_columns(X - fit + U1, regularization / penalty.value)
        objectives.append(nuclear_norm + regularization * error)

        relaxed_E = relaxation * E + (1 - relaxation) * (X - fit)
        relaxed_J = relaxation * J + (1 - relaxation) * Z
        previous = Z
        Z = inverse * (S * (X - relaxed_E + U1) + COPY_WEIGHT * (relaxed_J - U2))
        fit = S * Z
        U1 += X - fit - relaxed_E
        U2 += Z - relaxed_J

        primal = _norm(X - fit - E, Z - J) / max(_norm(X, J), 1e-300)
        dual = _norm(S * (Z - previous), Z - previous) / max(_norm(U1, U2), 1e-300)
        residual = max(primal, dual)
        if residual <= tol:
            break
        factor = penalty.balance(primal, dual)
        U1 /= factor
        U2 /= factor
    return J, np.array(objectives), residual


def _shrink_singular_values(W: Array, threshold: float) -> tuple[Array, float]:
    """Proximal step of the nuclear norm, and that norm of the result.

    The Gram matrix's eigenvalues are exact enough: singular values under 1e-8 of the largest, which
    they blur, are dropped or add no more than that.
    """
    values, vectors = np.linalg.eigh(W @ W.T)
    singular = np.sqrt(np.maximum(values, 0.0))
    kept = singular > threshold
    vectors, singular = vectors[:, kept], singular[kept]
    shrunk = (vectors * (1 - threshold / singular)) @ (vectors.T @ W)
    return shrunk, float((singular - threshold).sum())


def _shrink_columns(W: Array, threshold: float) -> tuple[Array, float]:
    """Proximal step of the 2,1-norm, and that norm of the result."""
    lengths = np.linalg.norm(W, axis=0)
    shrunk = np.maximum(lengths - threshold, 0.0)
    return W * (shrunk / np.where(lengths > 0, lengths, 1.0)), float(shrunk.sum())


def _norm(first: Array, second: Array) -> float:
    return float(np.sqrt(np.vdot(first, first) + COPY_WEIGHT * np.vdot(second, second)))


def _affinity(V: Array, Z: Array, power: float) -> Array:
    """Affinity from the skinny SVD of V Z = U Σ Qᵀ: cosines between the rows of U Σ^½."""
    left, singular, _ = np.linalg.svd(Z, full_matrices=False)
    kept = singular > 1e-6 * singular[0]
    rows = V @ (left[:, kept] * np.sqrt(singular[kept]))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    # A sample that is all error has no row of its own, and is linked with nothing.
    rows = np.where(lengths > 1e-9, rows / np.maximum(lengths, 1e-9), 0.0)
    return np.abs(rows @ rows.T) ** power
