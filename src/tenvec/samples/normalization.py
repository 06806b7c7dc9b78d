"""Centring, scaling and the unit of the data: measured in one pass, folded into every product.

Learning sees ``(X − mean) / divisor``, whose mean square is one. No normalized copy of the data is
made: mean and divisor are folded into the small operands of the matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log, prod, sqrt
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array

from tenvec.arrays import wide_float
from tenvec.samples.blocks import iterate_blocks, place

Array = Any

# Squares of the data, and one over them, have to be numbers of float64.
SMALLEST_SQUARE, LARGEST_SQUARE = 1e-280, 1e280

RESIDUE = 16 * float(np.finfo(np.float64).eps)
"""What rounding alone may leave of constant data, relative to their size."""


MEASURED_BYTES = 2**19
"""Size of a block when means and deviations are measured: it stays in the fastest cache."""


@dataclass(frozen=True)
class Normalization:
    """How raw samples become the samples that learning sees."""

    sample_shape: tuple[int, ...]
    mean: Array
    """Shape (P,); zero where the model is not centred."""
    scale: Array | None
    """Deviations of the slices, broadcastable to a sample; None where nothing is scaled."""
    unit: float
    """Root mean square of the centred, scaled data."""
    centred: bool = True
    """Whether the mean is subtracted; it is zero otherwise."""

    @property
    def divisor(self) -> Array:
        """What a centred entry is divided by: a number, or shape (P,)."""
        return self.unit if self.scale is None else self.unit * self.flat_scale

    @property
    def flat_scale(self) -> Array:
        """The scale of every entry: one, or shape (P,)."""
        if self.scale is None:
            return 1.0
        xp = array_namespace(self.scale)
        return xp.reshape(xp.broadcast_to(self.scale, self.sample_shape), (-1,))

    @property
    def log_volume(self) -> float:
        """Nats by which a normalized sample's log-density exceeds the raw sample's."""
        total = prod(self.sample_shape) * log(self.unit)
        if self.scale is None:
            return total
        return total + float(
            array_namespace(self.scale).sum(array_namespace(self.scale).log(self.flat_scale))
        )


def measure(X: Array, *, center: bool, scale_axes: tuple[int, ...] | None) -> Normalization:
    """Normalization of an array of samples; the normalized data have mean square one.

    Means and sums of squares of blocks are merged (Chan, Golub and LeVeque 1979), so that a large
    mean costs no digits.
    """
    xp = array_namespace(place(X))
    wide = wide_float(place(X))
    mean = xp.zeros(prod(X.shape[1:]), dtype=wide, device=device(place(X)))
    squares = xp.zeros_like(mean)
    seen = 0
    # Few rows at once: no matrix product here would gain by more, and blocks are copied.
    rows = max(1, MEASURED_BYTES // (8 * mean.shape[0])) if is_numpy_array(X) else None
    with np.errstate(over="ignore", invalid="ignore"):
        for block in iterate_blocks(X, wide, rows):
            count = block.shape[0]
            if center:
                block_mean = xp.mean(block, axis=0)
                block = block - block_mean
                shift = block_mean - mean
                squares = squares + shift**2 * (seen * count / (seen + count))
                mean = mean + shift * (count / (seen + count))
            squares = squares + xp.sum(block * block, axis=0)
            seen += count
    return normalization_of(X, mean, squares, center=center, scale_axes=scale_axes)


def normalization_of(
    X: Array,
    mean: Array,
    squares: Array,
    *,
    center: bool,
    scale_axes: tuple[int, ...] | None,
) -> Normalization:
    """Normalization of samples with the given mean and sums of squares about it, by entry."""
    xp = array_namespace(mean)
    n_samples, sample_shape = X.shape[0], tuple(int(size) for size in X.shape[1:])
    with np.errstate(over="ignore", invalid="ignore"):
        mean_square = float(xp.mean(squares)) / n_samples
        size = mean_square + float(xp.mean(mean**2))
    if not isfinite(size) or not SMALLEST_SQUARE < size < LARGEST_SQUARE:
        raise ValueError(_explain(X))
    if mean_square <= RESIDUE**2 * size:
        raise ValueError(
            "X has nothing left after centring: all of its samples are the same. "
            "Check the data, or pass center=False."
        )
    scale = None
    if scale_axes is not None:
        scale = _deviations(xp.reshape(squares / n_samples, sample_shape), scale_axes)
        flat = xp.reshape(xp.broadcast_to(scale, sample_shape), (-1,))
        mean_square = float(xp.mean(squares / flat**2)) / n_samples
    return Normalization(sample_shape, mean, scale, sqrt(mean_square), center)


def _deviations(variances: Array, axes: tuple[int, ...]) -> Array:
    """Deviation of each slice along the given axes; a constant slice keeps its unit."""
    xp = array_namespace(variances)
    others = tuple(axis for axis in range(variances.ndim) if axis not in axes)
    pooled = xp.mean(variances, axis=others, keepdims=True) if others else variances
    constant = pooled <= RESIDUE**2 * xp.max(pooled)
    return xp.sqrt(xp.where(constant, xp.ones_like(pooled), pooled))


def _explain(X: Array) -> str:
    """Say what is wrong with data whose squares are no usable numbers."""
    xp = array_namespace(place(X))
    largest = 0.0
    seen, first, n_nan, n_inf = 0, None, 0, 0
    for block in iterate_blocks(X, wide_float(place(X))):
        bad = ~xp.isfinite(block)
        if bool(xp.any(bad)):
            nan = int(xp.sum(xp.astype(xp.isnan(block), xp.int64)))
            n_nan, n_inf = n_nan + nan, n_inf + int(xp.sum(xp.astype(bad, xp.int64))) - nan
            if first is None:
                rows = xp.astype(xp.any(bad, axis=1), xp.int64)
                first = seen + int(xp.argmax(rows))
        else:
            largest = max(largest, float(xp.max(xp.abs(block))))
        seen += block.shape[0]
    if first is not None:
        return (
            f"X contains NaN or infinity: {n_nan} NaN and {n_inf} infinite values, the first of "
            f"them in sample {first}. Missing entries are not supported yet: drop or fill them "
            "first."
        )
    if largest == 0:
        return "X is zero everywhere: there is nothing to learn."
    return (
        f"X has values of size {largest:.3g}, whose squares float64 cannot hold. "
        "Rescale the data first, for example to unit deviation."
    )
