"""Samples in one array, in memory or memory-mapped, read a block at a time."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

from array_api_compat import array_namespace, device, is_numpy_array

from tenvec.arrays import subtract_outer, wide_float
from tenvec.samples.blocks import iterate_blocks, place
from tenvec.samples.normalization import Normalization
from tenvec.samples.products import features_of, features_with_data

Array = Any

COLUMNS_AT_ONCE = 1024
"""Entries of samples whose products are added up together."""

FOLDED_UNITS = (1e-12, 1e12)
"""Units of the data for which float32 products with folded factors stay in range."""


def largest_negligible(eps: float) -> float:
    """Mean over deviation up to which rounding of centred features shows nowhere.

    Examples
    --------
    >>> largest_negligible(2.2e-16), largest_negligible(1.2e-7)  # float64, float32
    (1.0, 0.01)
    """
    return 1.0 if eps < 1e-12 else 0.01


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


def product_type(X: Array) -> Any:
    """The type in which products with the data are taken: their own where it is a float."""
    xp = array_namespace(place(X))
    return X.dtype if X.dtype in (xp.float32, xp.float64) else wide_float(place(X))


class ArraySamples:
    """Samples of one array, normalized on the fly."""

    def __init__(self, X: Array, normalization: Normalization, rows: int | None = None) -> None:
        self.n_samples = int(X.shape[0])
        self.sample_shape = normalization.sample_shape
        # The unit makes the mean square of all entries one.
        self.sum_of_squares = float(self.n_samples * prod(self.sample_shape))
        self.normalization = normalization
        self._wide = wide_float(place(X))
        self.dtype = product_type(X)
        self.rounding = float(array_namespace(place(X)).finfo(self.dtype).eps)
        self.zeros = normalization.mean[:0]
        self.streamed = is_numpy_array(X) or place(X) is not X
        self._X = X
        self._rows = rows
        offset = array_namespace(place(X)).mean((normalization.mean / normalization.divisor) ** 2)
        self._offset = sqrt(float(offset))
        self._folded = X.dtype == self.dtype and self._folding_is_safe()

    def _folding_is_safe(self) -> bool:
        smallest, largest = FOLDED_UNITS
        single = bool(self.dtype == array_namespace(place(self._X)).float32)
        if single and not smallest < self.normalization.unit < largest:
            return False
        return self._offset <= largest_offset(self.rounding)

    def normalized_blocks(self) -> Any:
        """Blocks of normalized samples, copied block by block."""
        xp = array_namespace(place(self._X))
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
            sums.add(block, features_of(block, projection))
        return sums.first, sums.second

    def _folded_moments(self, projection: Array) -> tuple[Array, Array]:
        """Products with the raw data; mean, scale and unit enter through small arrays."""
        mean, divisor = self.normalization.mean, self.normalization.divisor
        many = self.n_samples > projection.shape[0]
        scaled, unit = projection, self.normalization.unit
        if self.normalization.scale is not None:
            scaled, unit = projection / divisor[:, None], 1.0
        elif many:
            # Else the unit is left to the features: they are smaller than the projection.
            scaled, unit = projection / unit, 1.0
        shift = self._narrow(mean @ scaled) if self.normalization.centred else None
        scaled = self._narrow(scaled)
        # The sum of centred features is zero but for rounding, which a large mean would multiply.
        total = shift is not None and self._offset > largest_negligible(self.rounding)
        sums = Sums(self._wide, squares=not many, total=total)
        for block in iterate_blocks(self._X, self.dtype, self._rows):
            features = features_of(block, scaled)
            if shift is not None:
                features -= shift
            if not many:
                features /= unit
            sums.add(block, features)
        first = sums.first
        if total:
            first = subtract_outer(first, sums.total, mean)
        first /= divisor
        if not many:
            return first, sums.second
        # UᵀU = UᵀY · projection, which costs no more than the entries.
        second = first @ projection
        return first, (second + second.T) / 2

    def _narrow(self, small: Array) -> Array:
        """A small operand in the type of the data."""
        return array_namespace(small).astype(small, self.dtype, copy=False)


class Sums:
    """``UᵀY``, ``UᵀU`` and the sum of the rows of ``U``, added up over blocks in a wide type."""

    def __init__(self, wide: Any, *, squares: bool = True, total: bool = False) -> None:
        self._wide, self._squares, self._total = wide, squares, total
        self.first: Array = None
        self.second: Array = None
        self.total: Array = None

    def add(self, block: Array, features: Array) -> None:
        """Count a block of samples and their features."""
        xp = array_namespace(block)
        if self.first is None or not is_numpy_array(block):
            self.first = self._sum(self.first, features_with_data(features, block))
        else:
            # Some columns at once: the product with all of them is as large as the sum itself.
            for begin in range(0, block.shape[1], COLUMNS_AT_ONCE):
                columns = slice(begin, begin + COLUMNS_AT_ONCE)
                self.first[:, columns] += features_with_data(features, block[:, columns])
        if self._total:
            # As a product: on GPUs a sum in another type takes several times as long.
            ones = xp.ones(features.shape[0], dtype=features.dtype, device=device(features))
            self.total = self._sum(self.total, ones @ features)
        if self._squares:
            self.second = self._sum(self.second, features.T @ features)

    def _sum(self, so_far: Array, more: Array) -> Array:
        more = array_namespace(more).astype(more, self._wide, copy=False)
        if so_far is None:
            return more
        so_far += more
        return so_far
