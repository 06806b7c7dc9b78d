"""What a fitted model says of samples: features, likelihoods, reconstructions, draws.

The model is in its canonical frame: the Gram matrix of the basis tensors is diagonal, so that the
posterior of a sample's weights needs no solve.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi, prod, sqrt
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from tenvec.arrays import like, wide_float
from tenvec.kruskal import contract_sample, khatri_rao
from tenvec.samples.array import FOLDED_UNITS, largest_offset
from tenvec.samples.blocks import iterate_blocks

Array = Any

NOT_FINITE = (
    "X contains NaN or infinity, or values too large for its dtype. Missing entries are not "
    "supported yet: drop or fill them first."
)


@dataclass(frozen=True)
class Model:
    """A fitted model in the units of the data."""

    mode_factors: list[Array]
    component_factor: Array
    mean: Array
    """Shape of a sample."""
    scale: Array | None
    """Broadcastable to a sample, or None."""
    variances: Array
    """λ, falling."""
    noise_variance: float

    @property
    def flat_mean(self) -> Array:
        """The mean of each entry of a flattened sample."""
        return array_namespace(self.mean).reshape(self.mean, (-1,))

    @property
    def flat_scale(self) -> Array | float:
        """The scale of each entry of a flattened sample."""
        if self.scale is None:
            return 1.0
        xp = array_namespace(self.scale)
        return xp.reshape(xp.broadcast_to(self.scale, self.mean.shape), (-1,))

    def basis(self) -> Array:
        """The basis tensors as columns, shape (P, K)."""
        return khatri_rao(self.mode_factors) @ self.component_factor.T

    def feature_scale(self, whiten: float) -> Array:
        """What partial whitening multiplies each posterior mean by."""
        return self.variances ** ((1 - whiten) / 2)

    def posterior_means(self, samples: Array) -> Array:
        """``u`` of each sample (eq. 13), in the samples' float type."""
        xp = array_namespace(samples)
        wide = wide_float(self.variances)
        single = samples.dtype == xp.float32 or str(samples.dtype).endswith("float16")
        dtype = xp.float32 if single else wide
        smallest, largest = FOLDED_UNITS
        in_range = smallest < self._spread() < largest
        with np.errstate(invalid="ignore", over="ignore"):
            if samples.shape[0] < self.component_factor.shape[0]:
                means = self._few_correlations(samples)
            else:
                means = self._many_correlations(samples, dtype if in_range else wide)
            precisions = 1 / (self.variances + self.noise_variance)
            means = means * xp.astype(precisions, means.dtype, copy=False)
        if not bool(xp.all(xp.isfinite(means))):
            raise ValueError(NOT_FINITE)
        return xp.astype(means, dtype, copy=False)

    def _few_correlations(self, samples: Array) -> Array:
        """Inner products with the basis, contracting each sample mode by mode.

        The basis has more entries than a few samples: it is not worth building.
        """
        xp = array_namespace(samples)
        scale = 1.0 if self.scale is None else self.scale
        wide = self.mean.dtype
        rows = [
            contract_sample(
                (xp.astype(samples[i, ...], wide, copy=False) - self.mean) / scale,
                self.mode_factors,
            )
            for i in range(samples.shape[0])
        ]
        return xp.stack(rows) @ self.component_factor.T

    def _many_correlations(self, samples: Array, dtype: Any) -> Array:
        """Inner products with the basis by one matrix product, centred after it where that is safe.

        See ``largest_offset``.
        """
        xp = array_namespace(samples)
        basis = self.basis()
        if self.scale is not None:
            basis = basis / xp.reshape(self.flat_scale, (-1, 1))
        mean = self.flat_mean
        folded = self._offset() <= largest_offset(float(xp.finfo(dtype).eps))
        shift = xp.astype(mean @ basis, dtype, copy=False)
        basis = xp.astype(basis, dtype, copy=False)
        if folded:
            parts = [block @ basis for block in iterate_blocks(samples, dtype)]
        else:
            parts = []
            for block in iterate_blocks(samples, mean.dtype, fresh=True):
                block -= mean
                parts.append(xp.astype(block, dtype, copy=False) @ basis)
        result = xp.concat(parts) if len(parts) > 1 else parts[0]
        return result - shift if folded else result

    def _offset(self) -> float:
        """Root mean square of the mean over that of the centred data."""
        xp = array_namespace(self.mean)
        mean = self.flat_mean / self.flat_scale
        return sqrt(float(xp.mean(mean**2))) / self._spread()

    def _spread(self) -> float:
        """Root mean square of the centred, scaled data, as the model has it."""
        total = float(array_namespace(self.variances).sum(self.variances))
        return sqrt(total / prod(self.mean.shape) + self.noise_variance)

    def log_likelihood(self, samples: Array) -> Array:
        """``ln N(x | mean, BᵀB + σ²I)`` of each sample by the Woodbury form, in float64."""
        xp = array_namespace(samples)
        noise = self.noise_variance
        # Divided first: squares of products with raw units would leave the range of float64.
        basis = self.basis() / xp.sqrt(self.variances + noise)
        parts = []
        with np.errstate(invalid="ignore", over="ignore"):
            for block in iterate_blocks(samples, self.mean.dtype, fresh=True):
                block -= self.flat_mean
                block /= self.flat_scale
                explained = xp.sum((block @ basis) ** 2, axis=1)
                block *= block
                parts.append(xp.sum(block, axis=1) - explained)
        squares = xp.concat(parts)
        if not bool(xp.all(xp.isfinite(squares))):
            raise ValueError(NOT_FINITE)
        n_entries = prod(self.mean.shape)
        log_det = n_entries * log(2 * pi * noise) + xp.sum(xp.log1p(self.variances / noise))
        log_volume = 0.0 if self.scale is None else xp.sum(xp.log(self.flat_scale))
        return -(log_det + squares / noise) / 2 - log_volume

    def reconstruct(self, means: Array) -> Array:
        """Flattened samples ``scale · Σ_k h_k 𝒲_k + mean``."""
        flat = (means @ self.component_factor) @ khatri_rao(self.mode_factors).T
        if self.scale is not None:
            flat *= self.flat_scale
        flat += self.flat_mean
        return flat

    def draw(self, n_samples: int, generator: np.random.RandomState) -> Array:
        """Flattened samples drawn from the model, noise included."""
        n_components, n_entries = self.component_factor.shape[0], prod(self.mean.shape)
        weights = like(generator.standard_normal((n_samples, n_components)), self.mean)
        noise = like(generator.standard_normal((n_samples, n_entries)), self.mean)
        return self.reconstruct(weights) + noise * (self.noise_variance**0.5 * self.flat_scale)
