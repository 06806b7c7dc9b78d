"""Sparse subspace clustering: each sample as a sparse combination of the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenvec.baselines.robust_ssc import norm, robust_sparse_representation, shrink_coefficients
from tenvec.baselines.self_expression import (
    Penalty,
    SelfExpression,
    SelfExpressiveClusterer,
    why_stopped,
)
from tenvec.validation import real_number

Array = Any


class SSC(SelfExpressiveClusterer):
    """Sparse subspace clustering.

    Each sample (column of Y) is expressed by a sparse combination of the others,
    ``min ‖C‖₁ + λ_e ‖E‖₁ + λ_z/2 ‖Y - Y C - E‖²`` with ``diag(C) = 0``: samples of its own subspace
    are the cheapest to use. Spectral clustering of ``|C| + |C|ᵀ`` finds the subspaces.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of subspaces.
    alpha : float, default=20.0
        Trust in the data: ``λ_z = alpha / min_i max_{j≠i} |y_iᵀ y_j|``; at 1 and below some samples
        get no coefficients. The paper has 800 for motions and 20 for faces.
    alpha_outliers : float or None, default=None
        With a number, single entries of the samples may be outliers, E:
        ``λ_e = alpha_outliers / min_i max_{j≠i} ‖y_j‖₁`` (the paper's faces: 20). E needs whole
        samples where the rest needs only their Gram matrix, so that it costs far more for large
        ones. None leaves E out; whole samples that are outliers need none.
    affine : bool, default=False
        Demand coefficients of sum 1: for subspaces that miss the origin, as those of rigid motions.
    sample_shape : tuple of int or None, default=None
        Folds the columns of a 2-D ``X`` into samples of this shape.
    max_iter : int, default=2000
        Largest number of iterations.
    tol : float, default=1e-4
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
        ``|C| + |C|ᵀ`` after division of each column of C by its largest entry, and C: column i
        expresses sample i. In float64, whatever ``X`` is.
    outliers_ : array of shape (n_samples, …) or None
        E in the shape and unit of the samples, with ``alpha_outliers``.
    objectives_ : array
        The objective by iteration.
    n_iter_, converged_, stop_reason_ : int, bool and str
        Iterations made, whether the residuals fell below ``tol``, and why they ended, in words.
    sample_shape_, n_features_in_
        Shape of a sample and its number of entries.

    See Also
    --------
    LRR : The same with coefficients of low rank.

    Notes
    -----
    E. Elhamifar and R. Vidal, "Sparse subspace clustering: algorithm, theory, and applications",
    IEEE TPAMI 35(11), 2013, solved by their ADMM on the Gram matrix, with over-relaxation and a
    penalty that follows the residuals. With E, the paper alternates C and E; here the residual is
    split off instead, which took a third of the iterations.

    New samples cannot be clustered.

    Examples
    --------
    >>> import numpy as np
    >>> from tenvec.baselines import SSC
    >>> rng = np.random.default_rng(0)
    >>> planes = rng.standard_normal((3, 2, 40))
    >>> X = np.concatenate([rng.standard_normal((20, 2)) @ plane for plane in planes])
    >>> labels = SSC(n_clusters=3, random_state=0).fit_predict(X.reshape(60, 8, 5))
    >>> [len(set(labels[i : i + 20])) for i in (0, 20, 40)]
    [1, 1, 1]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 20.0,
        alpha_outliers: float | None = None,
        affine: bool = False,
        sample_shape: tuple[int, ...] | None = None,
        max_iter: int = 2000,
        tol: float = 1e-4,
        n_init: int = 20,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.alpha_outliers = alpha_outliers
        self.affine = affine
        self.sample_shape = sample_shape
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    def _validate(self) -> None:
        real_number(self.alpha, "alpha", 1e-12)
        real_number(self.tol, "tol", 0.0)
        if self.alpha_outliers is not None:
            real_number(self.alpha_outliers, "alpha_outliers", 1e-12)

    def _express(self, rows: Array, max_iter: int) -> SelfExpression:
        gram = rows @ rows.T
        products = np.abs(gram)
        np.fill_diagonal(products, 0.0)
        largest = products.max(axis=0)
        # A sample orthogonal to all others gets no coefficients whatever λ_z is.
        trust = float(self.alpha) / (largest[largest > 0].min() if largest.any() else 1.0)
        penalty, limits = Penalty(float(self.alpha)), (max_iter, float(self.tol))
        E = None
        if self.alpha_outliers is None:
            C, objectives, residual = sparse_representation(
                gram, trust, penalty, bool(self.affine), *limits
            )
        else:
            # min_i max_{j≠i} leaves out the largest once: the second largest.
            size = np.sort(np.abs(rows).sum(axis=1))[-2]
            sparsity = float(self.alpha_outliers) / (size if size > 0 else 1.0)
            C, E, objectives, residual = robust_sparse_representation(
                rows, gram, trust, sparsity, penalty, bool(self.affine), *limits
            )
        converged = residual <= self.tol
        sizes = np.abs(C)
        sizes /= np.maximum(sizes.max(axis=0), 1e-300)
        return SelfExpression(
            C,
            sizes + sizes.T,
            objectives,
            converged,
            why_stopped(converged, len(objectives), self.tol, residual),
            outliers=E,
        )


def sparse_representation(
    gram: Array, trust: float, penalty: Penalty, affine: bool, max_iter: int, tol: float
) -> tuple[Array, Array, float]:
    """Minimise ‖C‖₁ + λ_z/2 ‖Y - Y C‖², diag(C) = 0, and 1ᵀC = 1ᵀ if affine, from the Gram matrix.

    A is the copy of C that the quadratic sees. Returns C, the objectives and the last relative
    residual.
    """
    relaxation = penalty.relaxation
    C = np.zeros_like(gram)
    # Multipliers over the penalty, of A = C and of 1ᵀA = 1ᵀ.
    U, u = np.zeros_like(gram), np.zeros(len(gram))
    target, constant = trust * gram, trust * float(np.trace(gram))
    solver = _solver(target, penalty.value, affine)
    residual, objectives = np.inf, []
    for _ in range(max_iter):
        rho = penalty.value
        right = target + rho * (C - U)
        if affine:
            right += rho * (1 - u)
        A = solver @ right
        sums = A.sum(axis=0)
        # λ_z Yᵀ Y A needs no further product: A solves (λ_z YᵀY + ρ I + ρ 11ᵀ) A = right.
        pulled = right - rho * A - (rho * sums if affine else 0.0)
        misfit = 0.5 * (constant - 2 * np.vdot(target, A) + np.vdot(A, pulled))

        relaxed = relaxation * A + (1 - relaxation) * C + U
        previous, C = C, shrink_coefficients(relaxed, 1 / rho)
        U = relaxed - C
        short = sums - 1 if affine else np.zeros(len(gram))
        u += relaxation * short
        objectives.append(float(np.abs(C).sum() + misfit))

        primal = norm(A - C, short) / max(norm(A), norm(C), 1e-300)
        dual = norm(C - previous) / max(norm(U, u), 1e-300)
        residual = max(primal, dual)
        if residual <= tol:
            break
        factor = penalty.balance(primal, dual)
        if factor != 1:
            U /= factor
            u /= factor
            solver = _solver(target, penalty.value, affine)
    return C, np.array(objectives), residual


def _solver(quadratic: Array, penalty: float, affine: bool) -> Array:
    """(λ_z YᵀY + ρ I + ρ 11ᵀ)⁻¹, which every iteration multiplies by."""
    system = quadratic + (penalty if affine else 0.0)
    system[np.diag_indices_from(system)] += penalty
    return np.linalg.inv(system)
