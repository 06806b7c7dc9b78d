"""Exact compression: the data enter learning only through ``A = YᵀY`` and the sample count."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from tenvec.arrays import subtract_outer, wide_float
from tenvec.samples.array import FOLDED_UNITS, ArraySamples, product_type
from tenvec.samples.blocks import (
    BLOCK_BYTES,
    COPIED_BYTES,
    SMALLEST_COPY,
    iterate_blocks,
    place,
)
from tenvec.samples.normalization import Normalization, measure, normalization_of

Array = Any

LARGEST_BYTES = 2 * 2**30
"""Memory that the second moments may take."""

TYPICAL_PASSES = 20
"""Passes that a fit takes, for the choice below; measured on faces, digits and planted data."""


def compression_pays(n_samples: int, n_entries: int, n_components: int, max_iter: int) -> bool:
    """Whether second moments cost less than passes over the data, and fit into memory.

    Never where the second moments would be larger than the data themselves.

    Examples
    --------
    >>> compression_pays(n_samples=100_000, n_entries=1024, n_components=50, max_iter=200)
    True
    >>> compression_pays(n_samples=500, n_entries=10_800, n_components=50, max_iter=200)
    False
    """
    if n_entries > n_samples or 8 * n_entries**2 > LARGEST_BYTES:
        return False
    passes = min(max_iter, TYPICAL_PASSES)
    # The product YᵀY is symmetric: BLAS computes one half.
    compressed = n_samples * n_entries**2 + passes * 2 * n_components * n_entries**2
    return compressed < passes * 4 * n_samples * n_entries * n_components


class SecondMoments:
    """Samples known through their second moments alone; a pass no longer depends on their count."""

    streamed = False

    def __init__(self, normalization: Normalization, n_samples: int, second: Array, eps: float):
        self.normalization = normalization
        self.n_samples = n_samples
        self.sample_shape = normalization.sample_shape
        self.sum_of_squares = float(array_namespace(second).linalg.trace(second))
        self.rounding = eps
        self.zeros = normalization.mean[:0]
        self._second = second

    def moments(self, projection: Array) -> tuple[Array, Array]:
        """``(UᵀY, UᵀU)`` with ``U = Y · projection``."""
        first = projection.T @ self._second
        second = first @ projection
        return first, (second + second.T) / 2


def compress(samples: ArraySamples) -> SecondMoments:
    """Second moments of samples whose normalization is known."""
    mean = samples.normalization.mean
    xp = array_namespace(mean)
    n_entries = prod(samples.sample_shape)
    second = xp.zeros((n_entries, n_entries), dtype=mean.dtype, device=device(mean))
    for block in samples.normalized_blocks():
        second += xp.astype(block.T @ block, mean.dtype, copy=False)
    return SecondMoments(samples.normalization, samples.n_samples, second, samples.rounding)


def compress_and_measure(
    X: Array, *, center: bool, scale_axes: tuple[int, ...] | None
) -> SecondMoments:
    """Second moments and normalization in a single pass over the data.

    Every block is shifted by the mean of the first one, which costs no digits however far the data
    are from zero; what the shift leaves of the mean is taken out at the end.
    """
    narrow, wide = product_type(X), wide_float(place(X))
    xp = array_namespace(place(X))
    n_samples, n_entries = int(X.shape[0]), prod(X.shape[1:])
    mean = xp.zeros(n_entries, dtype=wide, device=device(place(X)))
    second = xp.zeros((n_entries, n_entries), dtype=wide, device=device(place(X)))
    total, shift = xp.zeros_like(mean), None
    with np.errstate(over="ignore", invalid="ignore"):
        for block in iterate_blocks(X, narrow, _rows_at_once(X)):
            if center:
                if shift is None:
                    first = xp.sum(block, axis=0, dtype=wide) / block.shape[0]
                    shift = xp.astype(first, narrow, copy=False)
                block = block - shift
                ones = xp.ones(block.shape[0], dtype=narrow, device=device(block))
                total += xp.astype(ones @ block, wide, copy=False)
            second += xp.astype(block.T @ block, wide, copy=False)
        if center:
            mean = xp.astype(shift, wide, copy=False) + total / n_samples
            second = subtract_outer(second, total, total / n_samples)
        squares = xp.asarray(xp.linalg.diagonal(second), copy=True)
        mean_square = float(xp.mean(squares)) / n_samples
    if narrow != wide and not FOLDED_UNITS[0] ** 2 < mean_square < FOLDED_UNITS[1] ** 2:
        # Squares leave the range of float32: measure first, and normalize before the product.
        return compress(ArraySamples(X, measure(X, center=center, scale_axes=scale_axes)))
    normalization = normalization_of(X, mean, squares, center=center, scale_axes=scale_axes)
    second /= normalization.divisor
    second = (second.T / normalization.divisor).T if scale_axes else second / normalization.unit
    return SecondMoments(normalization, n_samples, second, float(xp.finfo(narrow).eps))


def _rows_at_once(X: Array) -> int | None:
    """Samples whose shifted copy is small beside the data, and large beside their product."""
    if not is_numpy_array(X):
        return None
    n_entries = prod(X.shape[1:])
    size = min(BLOCK_BYTES, max(COPIED_BYTES, X.nbytes // 16))
    return max(SMALLEST_COPY, size // (8 * n_entries))
