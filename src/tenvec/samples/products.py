"""The two products with a block of samples, in the order that its BLAS computes fastest.

``Y C`` and ``(CᵀYᵀ)ᵀ`` are the same numbers, but not the same work for a matrix library: kernels
differ in which side of the result they like long. ``docs/benchmarks.md`` has the times.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array
from threadpoolctl import threadpool_info

Array = Any

LONG_ROWS = frozenset({"SkylakeX", "Cooperlake", "SapphireRapids"})
"""OpenBLAS kernels (AVX-512) whose float64 products are fastest with few long rows."""


def features_of(block: Array, projection: Array) -> Array:
    """``Y C``: a row a sample."""
    if _few_long_rows(block):
        return (projection.T @ block.T).T
    return block @ projection


def features_with_data(features: Array, block: Array) -> Array:
    """``UᵀY`` of the features and samples of a block."""
    if _few_long_rows(block):
        return features.T @ block
    return (block.T @ features).T


def _few_long_rows(block: Array) -> bool:
    """Whether the transposed forms are the faster ones; on GPUs TF32 gains by them."""
    return not is_numpy_array(block) or (block.dtype == np.float64 and _kernels_like_long_rows())


@cache
def _kernels_like_long_rows() -> bool:
    libraries = threadpool_info()
    return any(
        library.get("architecture") in LONG_ROWS and "numpy" in library.get("filepath", "")
        for library in libraries
    )
