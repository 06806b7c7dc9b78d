"""Rank-one terms that several tensors share, found by linear algebra alone.

Where ``K`` matrices are ``T_k = F diag(c_k) Gᵀ``, two mixtures of them, ``X`` and ``Y``, have the
columns of ``G⁻ᵀ`` as generalized eigenvectors: ``X v = λ Y v`` (Sanchez and Kowalski 1990). Data
that follow the model show their factors this way at once, where alternating updates from a guess
may take hundreds of sweeps, or end elsewhere.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from tenvec.arrays import like, to_numpy

Array = Any

POWER_STEPS = 5


def shared_terms(tensors: Array, shape: tuple[int, ...], rank: int) -> list[Array] | None:
    """Unit vectors of each mode, shape ``(D_n, rank)``, of terms that all the tensors mix.

    ``tensors`` has shape ``(K, D_1⋯D_N)``. None where the rank is larger than the sides of every
    matrix that the modes can be split into, or where the eigenvectors do not exist.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> first, second = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    >>> tensors = np.einsum("kr,ar,br->kab", rng.standard_normal((2, 3)), first, second)
    >>> found, _ = shared_terms(tensors.reshape(2, -1), (5, 4), 3)
    >>> cosines = found.T @ (first / np.linalg.norm(first, axis=0))
    >>> [float(value) for value in np.abs(cosines).max(axis=1).round(9)]
    [1.0, 1.0, 1.0]
    """
    if tensors.shape[0] < 2 or len(shape) < 2:
        return None
    split = max(range(1, len(shape)), key=lambda s: min(prod(shape[:s]), prod(shape[s:])))
    sides = prod(shape[:split]), prod(shape[split:])
    if rank > min(sides):
        return None
    matrices = to_numpy(tensors).reshape(-1, *sides)
    try:
        left, right = _diagonalizers(matrices, rank)
    except np.linalg.LinAlgError:
        return None
    factors = [*_nearest_terms(left, shape[:split]), *_nearest_terms(right, shape[split:])]
    if not all(np.all(np.isfinite(factor)) for factor in factors):
        return None
    return [like(factor, tensors) for factor in factors]


def _diagonalizers(matrices: Array, rank: int) -> tuple[Array, Array]:
    """``F`` and ``G`` of matrices ``F diag(c_k) Gᵀ``, up to the scale of their columns."""
    rows = sum(matrix @ matrix.T for matrix in matrices)
    columns = sum(matrix.T @ matrix for matrix in matrices)
    left, right = (np.linalg.eigh(square)[1][:, -rank:] for square in (rows, columns))
    core = left.T @ matrices @ right
    # The two mixtures that hold most of all of them.
    flat = core.reshape(len(core), -1)
    mixtures = np.linalg.eigh(flat @ flat.T)[1][:, -2:].T
    x, y = (mixtures @ flat).reshape(2, rank, rank)
    vectors = np.linalg.eig(np.linalg.solve(y, x))[1]
    # A conjugate pair becomes two vectors that span the same plane.
    vectors = vectors.real + vectors.imag
    # What the matrices make of an eigenvector is one column of F, each with its own weight: its
    # direction by power iteration, which rank one lets end at once.
    images = core @ vectors
    column = y @ vectors
    for _ in range(POWER_STEPS):
        weights = np.einsum("kar,ar->kr", images, column)
        column = np.einsum("kar,kr->ar", images, weights)
        column /= np.linalg.norm(column, axis=0)
    return left @ column, right @ np.linalg.inv(vectors).T


def _nearest_terms(columns: Array, shape: tuple[int, ...]) -> list[Array]:
    """The rank-one tensor near each column: its unit vectors in each mode."""
    columns = columns / np.linalg.norm(columns, axis=0)
    if len(shape) == 1:
        return [columns]
    matrices = columns.T.reshape(-1, shape[0], prod(shape[1:]))
    left, _, right = np.linalg.svd(matrices, full_matrices=False)
    return [left[:, :, 0].T, *_nearest_terms(right[:, 0].T, shape[1:])]
