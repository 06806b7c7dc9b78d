"""Where learning starts: from the data's leading subspace, from random draws, or as told."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from tenvec.arrays import identity, like
from tenvec.kruskal import gram, khatri_rao
from tenvec.learning.simultaneous import shared_terms
from tenvec.samples import Samples

Array = Any

START_PRECISION = 10.0
"""ρ̄ of the first pass, over the mean square of the data: most of it is signal."""

SUBSPACE_ENTRIES = 2**14
"""Entries of the directions that are expanded in rank-one terms at once."""


def start(
    samples: Samples,
    n_components: int,
    rank: int,
    init: str | tuple[list[Array], Array],
    seed: int,
    *,
    unit: float,
    raw_unit: float | None,
) -> tuple[tuple[Array, ...], Array]:
    """Mode factors and component factor to start from, for the normalized samples.

    Given factors are in the data's ``unit``, and so are random draws with a ``raw_unit``; other
    draws are scaled to the data.
    """
    if not isinstance(init, str):
        factors = [like(factor, samples.zeros) for factor in init[0]]
        return tuple(factors), like(init[1], samples.zeros) / unit
    if init == "svd":
        factors, wh = subspace_start(samples, n_components, rank)
        return tuple(factors), wh
    generator = np.random.RandomState(seed)
    # N(0, 1) or, as the paper's results need it, U(0, 1).
    draw = generator.standard_normal if init == "normal" else generator.random_sample
    factors = [like(draw((size, rank)), samples.zeros) for size in samples.sample_shape]
    wh = like(draw((n_components, rank)), samples.zeros)
    wh = fit_scale(factors, wh) if raw_unit is None else wh / raw_unit
    return tuple(factors), wh


def fit_scale(mode_factors: list[Array], component_factor: Array) -> Array:
    """The component factor rescaled so that the model's signal has the data's mean square."""
    xp = array_namespace(component_factor)
    n_entries = prod(factor.shape[0] for factor in mode_factors)
    energy = xp.linalg.trace(component_factor @ gram(mode_factors) @ component_factor.T)
    return component_factor * (n_entries / energy) ** 0.5


def leading_subspace(samples: Samples, k: int) -> Array:
    """Approximate leading principal directions (k, P) of the data, as long as their deviations.

    A power step from a fixed start, then the Nyström approximation ``AQ (QᵀAQ)⁻¹ QᵀA`` of the
    second moments ``A`` (Tropp et al. 2017): two passes over the data, so it serves every source of
    samples, and it is deterministic.
    """
    n_entries = prod(samples.sample_shape)
    k = min(k, n_entries)
    draw = np.random.default_rng(0).standard_normal
    # No name for the draws: every statement lets go of all but two arrays of this size.
    basis = samples.moments(like(draw((n_entries, k)), samples.zeros))[0].T
    basis = basis @ _inverse_root(basis.T @ basis)
    image = samples.moments(basis)[0].T
    image = image @ _inverse_root(basis.T @ image)
    xp = array_namespace(image)
    _, rotation = xp.linalg.eigh(image.T @ image)
    return xp.flip(rotation, axis=1).T / samples.n_samples**0.5 @ image.T


def _inverse_root(square: Array) -> Array:
    """``R`` with ``RᵀCR = I`` for positive semi-definite ``C``; zero columns where it is singular.

    By matrix products alone: a QR factorization of long columns takes many times as long as their
    Gram matrix and this.
    """
    xp = array_namespace(square)
    values, vectors = xp.linalg.eigh((square + square.T) / 2)
    # Not the data's rounding: a direction that is dropped here is a feature that stays zero.
    alive = values > square.shape[0] * xp.finfo(values.dtype).eps * values[-1]
    scales = xp.sqrt(xp.where(alive, values, xp.ones_like(values)))
    return vectors * (xp.astype(alive, values.dtype) / scales)


def rank_one_terms(tensors: Array) -> tuple[Array, list[Array]]:
    """Exact expansion of each tensor of a stack in orthogonal rank-one terms, by nested SVDs.

    ``tensors`` has shape ``(n, D_1, …, D_N)``. Returns the weights, shape ``(n, T)``, and for each
    mode the unit vectors, shape ``(n, T, D_n)``.
    """
    xp = array_namespace(tensors)
    n, first, *others = tensors.shape
    if not others:
        weights = xp.sqrt(xp.sum(tensors * tensors, axis=1))
        units = tensors / xp.where(weights == 0, xp.ones_like(weights), weights)[:, None]
        return weights[:, None], [units[:, None, :]]
    left, values, right = xp.linalg.svd(xp.reshape(tensors, (n, first, -1)), full_matrices=False)
    count = values.shape[1]
    if len(others) == 1:
        return values, [xp.matrix_transpose(left), right]
    weights, vectors = rank_one_terms(xp.reshape(right, (n * count, *others)))
    inner = weights.shape[1]
    weights = values[:, :, None] * xp.reshape(weights, (n, count, inner))
    left = xp.broadcast_to(xp.matrix_transpose(left)[:, :, None, :], (n, count, inner, first))
    return xp.reshape(weights, (n, -1)), [
        xp.reshape(left, (n, count * inner, first)),
        *(xp.reshape(v, (n, count * inner, v.shape[2])) for v in vectors),
    ]


def strongest_terms(directions: Array, shape: tuple[int, ...], rank: int) -> list[Array]:
    """Unit vectors of each mode, shape ``(D_n, rank)``, of the strongest rank-one terms.

    Where there are fewer terms than that, random ones fill up.
    """
    xp = array_namespace(directions)
    k, n_entries = directions.shape
    weights: Array = None
    factors: list[Array] = []
    lengths = xp.sqrt(xp.sum(directions * directions, axis=1))
    # A few directions at once: their terms take several times the memory of the directions.
    step = max(1, SUBSPACE_ENTRIES // n_entries)
    for begin in range(0, k, step):
        if begin and weights.shape[0] == rank and bool(weights[-1] >= xp.max(lengths[begin:])):
            break  # no term is stronger than its direction
        stack = xp.reshape(directions[begin : min(begin + step, k), :], (-1, *shape))
        more, vectors = rank_one_terms(stack)
        more = xp.reshape(more, (-1,))
        vectors = [xp.reshape(v, (-1, v.shape[2])) for v in vectors]
        if weights is not None:
            more = xp.concat([weights, more])
            vectors = [xp.concat(pair) for pair in zip(factors, vectors, strict=True)]
        order = xp.argsort(more, descending=True, stable=True)[: min(rank, more.shape[0])]
        weights = xp.take(more, order)
        factors = [xp.take(v, order, axis=0) for v in vectors]
    missing = rank - factors[0].shape[0]
    generator = np.random.RandomState(0)
    extra = [generator.standard_normal((missing, size)) for size in shape]
    return [
        xp.concat([factor, like(rows / np.linalg.norm(rows, axis=1, keepdims=True), factor)]).T
        for factor, rows in zip(factors, extra, strict=True)
    ]


def subspace_start(samples: Samples, k: int, rank: int) -> tuple[list[Array], Array]:
    """CP factors of the data's leading subspace, from its rank-one terms.

    These are the terms that its directions share, where the rank allows to compute them, or the
    strongest terms of single directions, whichever explain more.
    """
    directions = leading_subspace(samples, k)
    xp = array_namespace(directions)
    factors = strongest_terms(directions, samples.sample_shape, rank)
    wh, explained = _mixture(factors, directions)
    shared = shared_terms(directions, samples.sample_shape, rank)
    if shared is not None:
        other, more = _mixture(shared, directions)
        if more > explained:
            factors, wh = shared, other
    if wh.shape[0] < k:
        surplus = xp.zeros((k - wh.shape[0], rank), dtype=wh.dtype, device=device(wh))
        wh = xp.concat([wh, surplus])
    return factors, wh


def _mixture(factors: list[Array], directions: Array) -> tuple[Array, float]:
    """The mixtures of the terms that are nearest to the directions, and what they explain."""
    xp = array_namespace(directions)
    rank = factors[0].shape[1]
    normal = gram(factors)
    normal = normal + identity(rank, normal) * (1e-8 * xp.linalg.trace(normal) / rank)
    cross = directions @ khatri_rao(factors)
    wh = xp.linalg.solve(normal, cross.T).T
    return wh, float(xp.sum(wh * cross))
