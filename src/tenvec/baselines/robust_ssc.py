"""SSC with gross errors in single entries: the part that needs the samples themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenvec.baselines.self_expression import Penalty

Array = Any


def robust_sparse_representation(
    rows: Array,
    gram: Array,
    trust: float,
    sparsity: float,
    penalty: Penalty,
    affine: bool,
    max_iter: int,
    tol: float,
) -> tuple[Array, Array, Array, float]:
    """Minimise ‖C‖₁ + λ_e‖E‖₁ + λ_z/2 ‖Y - Y C - E‖², diag(C) = 0, and 1ᵀC = 1ᵀ if affine.

    Over E the last two terms are Huber's function of the residual R = Y - Y C, entry by entry. R is
    split off: A, the copy of C that the linear algebra sees, then C and R together, an ADMM of two
    blocks. The samples are rows here, so that R and E hold theirs in rows too.

    Returns C, E, the objectives and the last relative residual.
    """
    relaxation = penalty.relaxation
    C, R = np.zeros_like(gram), np.zeros_like(rows)
    # Multipliers over the penalty, of A = C, R = Y - Y A and 1ᵀA = 1ᵀ.
    U, V, u = np.zeros_like(gram), np.zeros_like(rows), np.zeros(len(rows))
    size = norm(rows)
    solver = np.linalg.inv(gram + np.eye(len(gram)) + float(affine))
    residual, objectives = np.inf, []
    for _ in range(max_iter):
        rho = penalty.value
        A = solver @ (C - U + rows @ (rows - R + V).T + ((1 - u) if affine else 0.0))
        left = rows - A.T @ rows
        short = A.sum(axis=0) - 1 if affine else np.zeros(len(rows))

        relaxed = relaxation * A + (1 - relaxation) * C + U
        relaxed_left = relaxation * left + (1 - relaxation) * R + V
        previous, before = C, R
        C = shrink_coefficients(relaxed, 1 / rho)
        R = _shrink_residual(relaxed_left, trust, sparsity, rho)
        U, V = relaxed - C, relaxed_left - R
        u += relaxation * short
        objectives.append(float(np.abs(C).sum() + _huber(R, trust, sparsity)))

        primal = norm(A - C, left - R, short) / max(norm(C, R), size, 1e-300)
        dual = norm(C - previous, R - before) / max(norm(U, V, u), 1e-300)
        residual = max(primal, dual)
        if residual <= tol:
            break
        factor = penalty.balance(primal, dual)
        U /= factor
        V /= factor
        u /= factor
    left = rows - C.T @ rows
    E = np.sign(left) * np.maximum(np.abs(left) - sparsity / trust, 0.0)
    return C, E, np.array(objectives), residual


def shrink_coefficients(W: Array, threshold: float) -> Array:
    """Proximal step of the 1-norm under a zero diagonal."""
    shrunk = np.sign(W) * np.maximum(np.abs(W) - threshold, 0.0)
    np.fill_diagonal(shrunk, 0.0)
    return shrunk


def norm(*parts: Array) -> float:
    """Frobenius norm of several arrays taken together."""
    return float(np.sqrt(sum(float(np.vdot(part, part)) for part in parts)))


def _shrink_residual(W: Array, trust: float, sparsity: float, penalty: float) -> Array:
    """Proximal step of Huber's function: shrink in its bowl, shift on its slopes."""
    bowl = W * (penalty / (penalty + trust))
    return np.where(np.abs(bowl) * trust <= sparsity, bowl, W - np.sign(W) * (sparsity / penalty))


def _huber(R: Array, trust: float, sparsity: float) -> float:
    """Min over E of λ_e‖E‖₁ + λ_z/2 ‖R - E‖²."""
    inside = np.minimum(np.abs(R), sparsity / trust)
    return float(np.sum(trust / 2 * inside**2 + sparsity * (np.abs(R) - inside)))
