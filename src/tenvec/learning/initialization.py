"""Where learning starts: from the data's leading subspace, from random draws, or as told."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from scipy.linalg import qr

from tenvec.kruskal import gram, khatri_rao
from tenvec.samples import Samples

Array = Any

START_PRECISION = 10.0
"""ρ̄ of the first pass, over the mean square of the data: most of it is signal."""

SUBSPACE_PASSES = 2


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
        factors, wh = init
        return tuple(factors), wh / unit
    if init == "svd":
        factors, wh = subspace_start(samples, n_components, rank)
        return tuple(factors), wh
    generator = np.random.RandomState(seed)
    # N(0, 1) or, as the paper's results need it, U(0, 1).
    draw = generator.standard_normal if init == "normal" else generator.random_sample
    factors = [draw((size, rank)) for size in samples.sample_shape]
    wh = draw((n_components, rank))
    wh = fit_scale(factors, wh) if raw_unit is None else wh / raw_unit
    return tuple(factors), wh


def fit_scale(mode_factors: list[Array], component_factor: Array) -> Array:
    """The component factor rescaled so that the model's signal has the data's mean square."""
    xp = array_namespace(component_factor)
    n_entries = prod(factor.shape[0] for factor in mode_factors)
    energy = xp.linalg.trace(component_factor @ gram(mode_factors) @ component_factor.T)
    return component_factor * (n_entries / energy) ** 0.5


def leading_subspace(samples: Samples, k: int) -> tuple[Array, Array]:
    """Approximate leading right singular vectors (k, P) of the data, and their variances.

    Subspace iteration from a fixed start, one pass over the data a step, so it serves every source
    of samples and is deterministic.
    """
    n_entries = prod(samples.sample_shape)
    k = min(k, n_entries)
    basis = np.random.RandomState(0).standard_normal((n_entries, k))
    for _ in range(SUBSPACE_PASSES):
        with_data, _ = samples.moments(basis)
        # In place: three arrays of this size at once are enough.
        basis, _ = qr(with_data.T, overwrite_a=True, mode="economic", check_finite=False)
    _, second = samples.moments(basis)
    variances, rotation = np.linalg.eigh(second / samples.n_samples)
    return rotation[:, ::-1].T @ basis.T, np.maximum(variances[::-1], 0.0)


def rank_one_terms(tensor: Array) -> list[tuple[float, list[Array]]]:
    """Exact expansion of a tensor in orthogonal rank-one terms, by nested SVDs."""
    if tensor.ndim == 1:
        norm = float(np.linalg.norm(tensor))
        return [(norm, [tensor / norm if norm else tensor])]
    left, values, right = np.linalg.svd(tensor.reshape(tensor.shape[0], -1), full_matrices=False)
    terms = []
    for index, value in enumerate(values):
        for weight, factors in rank_one_terms(right[index].reshape(tensor.shape[1:])):
            terms.append((float(value) * weight, [left[:, index].copy(), *factors]))
    return terms


def subspace_start(samples: Samples, k: int, rank: int) -> tuple[list[Array], Array]:
    """CP factors of the data's leading subspace: its strongest rank-one terms."""
    shape = samples.sample_shape
    directions, variances = leading_subspace(samples, k)
    chosen: list[tuple[float, list[Array]]] = []
    for direction, variance in zip(directions, variances, strict=True):
        terms = rank_one_terms(direction.reshape(shape))
        chosen += [(weight * variance**0.5, factors) for weight, factors in terms]
        chosen = sorted(chosen, key=lambda term: -term[0])[:rank]
    factors = [np.stack([term[1][mode] for term in chosen], axis=1) for mode in range(len(shape))]
    missing = rank - len(chosen)
    if missing:
        generator = np.random.RandomState(0)
        extra = [generator.standard_normal((size, missing)) for size in shape]
        extra = [columns / np.linalg.norm(columns, axis=0) for columns in extra]
        factors = [np.concatenate(pair, axis=1) for pair in zip(factors, extra, strict=True)]
    normal = gram(factors)
    normal = normal + np.eye(rank) * (1e-8 * np.trace(normal) / rank)
    wh = np.linalg.solve(normal, (directions @ khatri_rao(factors)).T).T
    wh *= np.sqrt(variances)[:, None]
    if wh.shape[0] < k:
        wh = np.concatenate([wh, np.zeros((k - wh.shape[0], rank))])
    return factors, wh
