"""Exact compression: the data enter learning only through ``A = YᵀY`` and the sample count."""

from __future__ import annotations

from math import prod
from typing import Any

from array_api_compat import array_namespace, device

from tenvec.samples.array import ArraySamples

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

    def __init__(self, samples: ArraySamples) -> None:
        mean = samples.normalization.mean
        xp = array_namespace(mean)
        self.n_samples = samples.n_samples
        self.sample_shape = samples.sample_shape
        self.sum_of_squares = samples.sum_of_squares
        self.rounding = samples.rounding
        self.zeros = samples.zeros
        n_entries = prod(self.sample_shape)
        self._second = xp.zeros((n_entries, n_entries), dtype=mean.dtype, device=device(mean))
        for block in samples.normalized_blocks():
            self._second += xp.astype(block.T @ block, mean.dtype, copy=False)

    def moments(self, projection: Array) -> tuple[Array, Array]:
        """``(UᵀY, UᵀU)`` with ``U = Y · projection``."""
        first = projection.T @ self._second
        second = first @ projection
        return first, (second + second.T) / 2
