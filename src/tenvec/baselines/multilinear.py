"""Algebra of Tucker-structured arrays: contraction of axes, leading subspaces, HOOI.

An array ``X`` is approximated by ``core ×_a U^a …`` over some of its axes, with orthonormal columns
in every ``U^a``. Axis 0 holds the samples: GLRAM and MPCA leave it alone, Tucker compresses it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import Any

import numpy as np

from tenvec.validation import ParameterError, positive_integer

Array = Any
Factors = dict[int, Array]
"""Factor (size, rank) by the axis that it compresses."""
Ranks = dict[int, int]

BLOCK_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Approximation:
    """A Tucker approximation, and how it was reached."""

    factors: Factors
    core: Array
    errors: list[float]
    """Relative reconstruction error after each iteration, from the norm of the core."""
    converged: bool
    reason: str


def contract(X: Array, factor: Array, axis: int) -> Array:
    """Contract an axis with the rows of a factor: its size D becomes the factor's rank.

    Examples
    --------
    >>> import numpy as np
    >>> contract(np.ones((2, 3, 4)), np.ones((3, 1)), axis=1).shape
    (2, 1, 4)
    """
    shape = X.shape
    before, after = prod(shape[:axis]), prod(shape[axis + 1 :])
    if after == 1:
        product = X.reshape(before, shape[axis]) @ factor
    else:
        product = factor.T @ X.reshape(before, shape[axis], after)
    return product.reshape(*shape[:axis], factor.shape[1], *shape[axis + 1 :])


def contract_all(X: Array, factors: Factors) -> Array:
    """Contract several axes, the last first: its product is one plain matrix product."""
    for axis in sorted(factors, reverse=True):
        X = contract(X, factors[axis], axis)
    return X


def expand_all(core: Array, factors: Factors) -> Array:
    """The array that a core and its factors stand for."""
    for axis in sorted(factors):
        core = contract(core, factors[axis].T, axis)
    return core


def axis_gram(X: Array, axis: int) -> Array:
    """Inner products of the slices along an axis, in float64, without unfolding the whole array."""
    size = X.shape[axis]
    before, after = prod(X.shape[:axis]), prod(X.shape[axis + 1 :])
    stack = X.reshape(before, size, after)
    if before == 1:
        return (stack[0] @ stack[0].T).astype(np.float64, copy=False)
    total = np.zeros((size, size))
    step = max(1, BLOCK_BYTES // (X.itemsize * size * after))
    for start in range(0, before, step):
        slices = stack[start : start + step].transpose(1, 0, 2).reshape(size, -1)
        total += slices @ slices.T
    return total


def leading_subspace(X: Array, axis: int, rank: int) -> Array:
    """Leading left singular vectors of an unfolding, from the smaller of its Gram matrices."""
    size, others = X.shape[axis], X.size // X.shape[axis]
    if rank <= others < size:
        flat = np.moveaxis(X, axis, 0).reshape(size, others)
        _, right = np.linalg.eigh((flat.T @ flat).astype(np.float64, copy=False))
        image = flat @ right[:, ::-1][:, :rank].astype(X.dtype, copy=False)
        basis = np.linalg.qr(image.astype(np.float64, copy=False))[0]
    else:
        basis = np.linalg.eigh(axis_gram(X, axis))[1][:, ::-1][:, :rank]
    return np.ascontiguousarray(basis, dtype=X.dtype)


def hosvd(X: Array, ranks: Ranks) -> Factors:
    """Leading subspaces of the array itself (De Lathauwer, De Moor and Vandewalle 2000)."""
    return {axis: leading_subspace(X, axis, rank) for axis, rank in ranks.items()}


def sequential_hosvd(X: Array, ranks: Ranks) -> Factors:
    """ST-HOSVD: each axis after the compression of those before, the samples last.

    N. Vannieuwenhoven, R. Vandebril and K. Meerbergen, SIAM J. Sci. Comput. 34(2), 2012.
    """
    factors: Factors = {}
    for axis in sorted(ranks, reverse=True):
        factors[axis] = leading_subspace(X, axis, ranks[axis])
        X = contract(X, factors[axis], axis)
    return factors


def random_subspaces(X: Array, ranks: Ranks, generator: np.random.RandomState) -> Factors:
    """Uniformly drawn subspaces."""
    return {
        axis: np.linalg.qr(generator.standard_normal((X.shape[axis], rank)))[0].astype(X.dtype)
        for axis, rank in ranks.items()
    }


def start(X: Array, ranks: Ranks, init: str, generator: np.random.RandomState) -> Factors:
    """Factors to start from: ``"hosvd"``, ``"st-hosvd"`` or ``"random"``."""
    if init == "random":
        return random_subspaces(X, ranks, generator)
    return hosvd(X, ranks) if init == "hosvd" else sequential_hosvd(X, ranks)


def hooi(
    X: Array, ranks: Ranks, init: str, max_iter: int, tol: float, generator: np.random.RandomState
) -> Approximation:
    """Higher-order orthogonal iteration (De Lathauwer, De Moor and Vandewalle 2000).

    An iteration renews each axis's factor by the leading subspace of the array compressed along
    the others. The whole array is touched twice an iteration: once for the first axis, and once
    to compress that axis for all the others.
    """
    sum_of_squares = float(np.sum(np.square(X), dtype=np.float64))
    first = min(ranks) if max_iter else None
    # The first iteration makes the first axis's factor out of the others.
    factors = start(X, {axis: ranks[axis] for axis in ranks if axis != first}, init, generator)
    errors: list[float] = []
    core = None
    for _ in range(max_iter):
        core = _sweep(X, ranks, factors)
        errors.append(relative_error(sum_of_squares, core))
        if tol and len(errors) > 1 and errors[-2] - errors[-1] < tol:
            reason = f"the relative error fell by less than tol = {tol:g}"
            return Approximation(factors, core, errors, True, reason)
        if len(ranks) == 1:
            reason = "one factor alone is exact after one iteration"
            return Approximation(factors, core, errors, True, reason)
    if core is None:
        core = contract_all(X, factors)
        reason = "max_iter = 0: the start was kept"
        return Approximation(factors, core, [relative_error(sum_of_squares, core)], True, reason)
    reason = f"max_iter = {max_iter} iterations were made"
    return Approximation(factors, core, errors, False, reason)


def _sweep(X: Array, ranks: Ranks, factors: Factors) -> Array:
    """Renew every factor in place; the core."""
    axes = sorted(ranks)
    for index, axis in enumerate(axes):
        later = {other: factors[other] for other in axes[index + 1 :]}
        compressed = contract_all(X, later)
        factors[axis] = leading_subspace(compressed, axis, ranks[axis])
        if later:
            X = contract(X, factors[axis], axis)
    return contract(compressed, factors[axes[-1]], axes[-1])


def relative_error(sum_of_squares: float, core: Array) -> float:
    """``‖X − X̂‖/‖X‖`` of an orthogonal projection, from norms alone."""
    kept = float(np.sum(np.square(core), dtype=np.float64))
    return float(np.sqrt(max(1.0 - kept / sum_of_squares, 0.0)))


def all_orthogonal(core: Array, factors: Factors) -> tuple[Array, Factors]:
    """The same approximation with its axes turned to principal axes of the core.

    The slices of the core along every axis become orthogonal, in order of falling norm, and the
    largest entry of every column of a factor positive. This fixes each factor, but for ties.
    """
    turned = {}
    for axis, factor in factors.items():
        _, vectors = np.linalg.eigh(axis_gram(core, axis))
        rotation = vectors[:, ::-1].astype(factor.dtype, copy=False)
        turned[axis] = factor @ (rotation * largest_signs(factor @ rotation))
        core = contract(core, rotation * largest_signs(factor @ rotation), axis)
    return core, turned


def largest_signs(matrix: Array) -> Array:
    """Per column, the sign of the entry with the largest modulus."""
    largest = np.take_along_axis(matrix, np.abs(matrix).argmax(axis=0)[None], axis=0)[0]
    return np.where(largest < 0, -1.0, 1.0).astype(matrix.dtype)


def mode_ranks(given: Any, sizes: Sequence[int], name: str) -> Ranks:
    """Rank by sample axis (1 to N); a single number is the most that a mode gets."""
    if isinstance(given, Integral):
        rank = positive_integer(given, name)
        return {axis: min(rank, size) for axis, size in enumerate(sizes, start=1)}
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        raise ParameterError(f"{name} must be an integer or one for each mode, got {given!r}.")
    if len(given) != len(sizes):
        raise ParameterError(
            f"{name} has {len(given)} entries, but samples of shape {tuple(sizes)} have "
            f"{len(sizes)} mode(s)."
        )
    ranks = {axis: positive_integer(rank, name) for axis, rank in enumerate(given, start=1)}
    for axis, size in enumerate(sizes, start=1):
        if ranks[axis] > size:
            raise ParameterError(
                f"{name} asks for {ranks[axis]} columns in mode {axis}, whose size is {size}."
            )
    return ranks
