"""Reading an array of samples a block at a time, as rows of a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from array_api_compat import array_namespace, is_numpy_array

from tenvec.samples.host import HostArray

Array = Any

BLOCK_BYTES = 64 * 2**20
"""Size of a block: near the last-level cache, so that a second product finds it there."""

SMALLEST_BLOCK = 64
"""Rows below which a matrix product is no longer fast."""

COPIED_BYTES, SMALLEST_COPY = 4 * 2**20, 32
"""The same for blocks that are copied: these count as memory beside the data."""


DEVICE_BYTES, DEVICE_COPIED_BYTES = 8 * 2**30, 2 * 2**30
"""Both for arrays of other libraries, which may be on an accelerator: it is fed best by large
products, and has memory of its own."""


def place(X: Array) -> Array:
    """An array of the library, type and device that blocks of these samples have."""
    return X.place if isinstance(X, HostArray) else X


def block_rows(n_entries: int, *, copied: bool = False) -> int:
    """Number of samples to read at once."""
    size, least = (COPIED_BYTES, SMALLEST_COPY) if copied else (BLOCK_BYTES, SMALLEST_BLOCK)
    return max(least, size // (8 * max(n_entries, 1)))


def iterate_blocks(
    X: Array, dtype: Any, rows: int | None = None, *, fresh: bool = False
) -> Iterator[Array]:
    """Blocks of samples as matrices of the wanted type, flattened in C order.

    A block is a view of the data where type and order allow it, and a copy of that block alone
    where they do not: the whole is never copied. With ``fresh`` it is always a copy, which the
    caller may change.
    """
    if isinstance(X, HostArray):
        for block in X.blocks(rows):
            yield array_namespace(block).astype(block, dtype, copy=fresh)
        return
    xp = array_namespace(X)
    n_entries = prod(X.shape[1:])
    if rows is None and not is_numpy_array(X):
        size = DEVICE_BYTES if X.dtype == dtype and not fresh else DEVICE_COPIED_BYTES
        rows = max(SMALLEST_BLOCK, size // (8 * n_entries))
    elif rows is None:
        views = not fresh and X.dtype == dtype and (X.ndim == 2 or _in_order(X))
        rows = block_rows(n_entries, copied=not views)
    for start in range(0, X.shape[0], rows):
        block = X[start : min(start + rows, X.shape[0]), ...]
        block = xp.reshape(block, (block.shape[0], n_entries))
        yield xp.astype(block, dtype, copy=fresh)


def _in_order(X: Array) -> bool:
    return bool(X[:1].flags.c_contiguous)
