"""Reading an array of samples a block at a time, as rows of a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

from array_api_compat import array_namespace

Array = Any

BLOCK_BYTES = 64 * 2**20
"""Size of a block: near the last-level cache, so that a second product finds it there."""

SMALLEST_BLOCK = 64
"""Rows below which a matrix product is no longer fast."""


def block_rows(n_entries: int) -> int:
    """Number of samples to read at once."""
    return max(SMALLEST_BLOCK, BLOCK_BYTES // (8 * max(n_entries, 1)))


def iterate_blocks(X: Array, dtype: Any, rows: int | None = None) -> Iterator[Array]:
    """Blocks of samples as matrices of the wanted type, flattened in C order.

    A block is a view of the data where type and order allow it, and a copy of that block alone
    where they do not: the whole is never copied.
    """
    xp = array_namespace(X)
    n_entries = prod(X.shape[1:])
    rows = rows or block_rows(n_entries)
    for start in range(0, X.shape[0], rows):
        block = X[start : min(start + rows, X.shape[0]), ...]
        block = xp.reshape(block, (block.shape[0], n_entries))
        yield block if block.dtype == dtype else xp.astype(block, dtype)
