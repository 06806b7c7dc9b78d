"""Samples in one array, in memory or memory-mapped, read a block at a time."""

from __future__ import annotations

from math import prod
from typing import Any

from array_api_compat import array_namespace, is_numpy_array

from tenvec.arrays import subtract_outer, wide_float
from tenvec.samples.blocks import iterate_blocks
from tenvec.samples.normalization import Normalization

Array = Any

FOLDED_UNITS = (1e-12, 1e12)
"""Units of the data for which float32 products with folded factors stay in range."""


COLUMNS_AT_ONCE = 2048
"""Entries whose products with the features are added up together."""


def largest_offset(eps: float) -> float:
    """Mean over deviation up to which centring may be folded into the products.

    Folding subtracts the mean after the product with the data, which costs the digits of that
    ratio. Beyond it, blocks are centred one by one before the product.

    Examples
    --------
    >>> largest_offset(2.2e-16)  # float64
    1000.0
    """
    return 1e3 if eps < 1e-12 else 30.0


class ArraySamples:
    """Samples of one array, normalized on the fly."""

    def __init__(self, X: Array, normalization: Normalization, rows: int | None = None) -> None:
        xp = array_namespace(X)
        self.n_samples = int(X.shape[0])
        self.sample_shape = normalization.sample_shape
        # The unit makes the mean square of all entries one.
        self.sum_of_squares = float(self.n_samples * prod(self.sample_shape))
        self.normalization = normalization
        self._wide = wide_float(X)
        self.dtype = X.dtype if X.dtype in (xp.float32, xp.float64) else self._wide
        self.rounding = float(xp.finfo(self.dtype).eps)
        self.zeros = normalization.mean[:0]
        self._X = X
        self._rows = rows
        self._folded = X.dtype == self.dtype and self._folding_is_safe()

    def _folding_is_safe(self) -> bool:
        xp = array_namespace(self._X)
        smallest, largest = FOLDED_UNITS
        normalization = self.normalization
        if self.dtype == xp.float32 and not smallest < normalization.unit < largest:
            return False
        offset = xp.mean((normalization.mean / normalization.divisor) ** 2) ** 0.5
        return bool(offset <= largest_offset(self.rounding))

    def normalized_blocks(self) -> Any:
        """Blocks of normalized samples, copied block by block."""
        xp = array_namespace(self._X)
        mean, divisor = self.normalization.mean, self.normalization.divisor
        for block in iterate_blocks(self._X, self._wide, self._rows, fresh=True):
            # In place where the library has that: one copy of a block at a time.
            block -= mean
            block /= divisor
            yield xp.astype(block, self.dtype, copy=False)

    def moments(self, projection: Array) -> tuple[Array, Array]:
        """``(UᵀY, UᵀU)`` with ``U = Y · projection``; one pass over the data."""
        if self._folded:
            return self._folded_moments(projection)
        projection = self._narrow(projection)
        sums = Sums(self._wide)
        for block in self.normalized_blocks():
            sums.add(block, block @ projection)
        return sums.first, sums.second

    def _folded_moments(self, projection: Array) -> tuple[Array, Array]:
        """Products with the raw data; mean, scale and unit enter through small arrays."""
        mean, divisor = self.normalization.mean, self.normalization.divisor
        unit = self.normalization.unit
        if self.normalization.scale is not None:
            # A unit alone is left to the features: they are smaller than the projection.
            projection = (projection.T / divisor).T
            unit = 1.0
        shift = self._narrow(mean @ projection) if self.normalization.centred else None
        projection = self._narrow(projection)
        sums = Sums(self._wide)
        for block in iterate_blocks(self._X, self.dtype, self._rows):
            features = block @ projection
            if shift is not None:
                features -= shift
            features /= unit
            sums.add(block, features)
        if shift is not None:
            # Zero but for rounding, which a large mean would multiply.
            return subtract_outer(sums.first, sums.total, mean, divisor), sums.second
        sums.first /= divisor
        return sums.first, sums.second

    def _narrow(self, small: Array) -> Array:
        """A small operand in the type of the data."""
        return array_namespace(small).astype(small, self.dtype, copy=False)


class Sums:
    """``UᵀY``, ``UᵀU`` and the sum of the rows of ``U``, added up over blocks in a wide type."""

    def __init__(self, wide: Any) -> None:
        self._wide = wide
        self.first: Array = None
        self.second: Array = None
        self.total: Array = None

    def add(self, block: Array, features: Array) -> None:
        """Count a block of samples and their features."""
        xp = array_namespace(block)
        second = xp.astype(features.T @ features, self._wide, copy=False)
        total = xp.sum(features, axis=0, dtype=self._wide)
        if self.first is None:
            self.first = xp.astype(features.T @ block, self._wide, copy=False)
            self.second, self.total = second, total
            return
        self.second += second
        self.total += total
        if not is_numpy_array(block):
            self.first += xp.astype(features.T @ block, self._wide, copy=False)
            return
        # Some columns at once: the product with all of them is as large as the sum itself.
        for begin in range(0, block.shape[1], COLUMNS_AT_ONCE):
            columns = slice(begin, begin + COLUMNS_AT_ONCE)
            self.first[:, columns] += features.T @ block[:, columns]
