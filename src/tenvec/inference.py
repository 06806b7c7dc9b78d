"""What a fitted model says of samples: features, likelihoods, reconstructions, draws.

The model is in its canonical frame: the Gram matrix of the basis tensors is diagonal, so that the
posterior of a sample's weights needs no solve.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np

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
    def flat_scale(self) -> Array | float:
        """The scale of each entry of a flattened sample."""
        if self.scale is None:
            return 1.0
        return np.broadcast_to(self.scale, self.mean.shape).reshape(-1)

    def basis(self) -> Array:
        """The basis tensors as columns, shape (P, K)."""
        return khatri_rao(self.mode_factors) @ self.component_factor.T

    def feature_scale(self, whiten: float) -> Array:
        """What partial whitening multiplies each posterior mean by."""
        return self.variances ** ((1 - whiten) / 2)

    def posterior_means(self, samples: Array) -> Array:
        """``u`` of each sample (eq. 13), in the samples' float type."""
        dtype = np.float32 if samples.dtype in (np.float16, np.float32) else np.float64
        smallest, largest = FOLDED_UNITS
        in_range = smallest < self._spread() < largest
        with np.errstate(invalid="ignore", over="ignore"):
            if samples.shape[0] < self.component_factor.shape[0]:
                means = self._few_correlations(samples)
            else:
                means = self._many_correlations(samples, dtype if in_range else np.float64)
            means = means / (self.variances + self.noise_variance).astype(means.dtype)
        if not np.all(np.isfinite(means)):
            raise ValueError(NOT_FINITE)
        return means.astype(dtype, copy=False)

    def _few_correlations(self, samples: Array) -> Array:
        """Inner products with the basis, contracting each sample mode by mode.

        The basis has more entries than a few samples: it is not worth building.
        """
        scale = 1.0 if self.scale is None else self.scale
        rows = [
            contract_sample((sample - self.mean) / scale, self.mode_factors) for sample in samples
        ]
        return np.stack(rows) @ self.component_factor.T

    def _many_correlations(self, samples: Array, dtype: Any) -> Array:
        """Inner products with the basis by one matrix product, centred after it where that is safe.

        See ``largest_offset``.
        """
        basis = self.basis()
        if self.scale is not None:
            basis /= np.asarray(self.flat_scale)[:, None]
        mean = self.mean.reshape(-1)
        folded = self._offset() <= largest_offset(dtype)
        shift = (mean @ basis).astype(dtype)
        basis = basis.astype(dtype, copy=False)
        result = np.empty((samples.shape[0], basis.shape[1]), dtype)
        start = 0
        for block in iterate_blocks(samples, dtype if folded else np.float64):
            rows = block if folded else (block - mean).astype(dtype, copy=False)
            np.matmul(rows, basis, out=result[start : start + rows.shape[0]])
            start += rows.shape[0]
        if folded:
            result -= shift
        return result

    def _offset(self) -> float:
        """Root mean square of the mean over that of the centred data."""
        mean = self.mean.reshape(-1) / self.flat_scale
        return float(np.sqrt(np.mean(mean**2)) / self._spread())

    def _spread(self) -> float:
        """Root mean square of the centred, scaled data, as the model has it."""
        return float(np.sqrt(np.sum(self.variances) / self.mean.size + self.noise_variance))

    def log_likelihood(self, samples: Array) -> Array:
        """``ln N(x | mean, BᵀB + σ²I)`` of each sample by the Woodbury form, in float64."""
        noise = self.noise_variance
        # Divided first: squares of products with raw units would leave the range of float64.
        basis = self.basis() / np.sqrt(self.variances + noise)
        squares = np.empty(samples.shape[0])
        start = 0
        with np.errstate(invalid="ignore", over="ignore"):
            for block in iterate_blocks(samples, np.float64):
                centred = (block - self.mean.reshape(-1)) / self.flat_scale
                explained = np.sum((centred @ basis) ** 2, axis=1)
                stop = start + block.shape[0]
                squares[start:stop] = np.einsum("ij,ij->i", centred, centred) - explained
                start = stop
        if not np.all(np.isfinite(squares)):
            raise ValueError(NOT_FINITE)
        log_det = self.mean.size * log(2 * pi * noise) + np.sum(np.log1p(self.variances / noise))
        log_volume = 0.0 if self.scale is None else np.sum(np.log(self.flat_scale))
        return -(log_det + squares / noise) / 2 - log_volume

    def reconstruct(self, means: Array) -> Array:
        """Flattened samples ``scale · Σ_k h_k 𝒲_k + mean``."""
        flat = (means @ self.component_factor) @ khatri_rao(self.mode_factors).T
        if self.scale is not None:
            flat *= self.flat_scale
        flat += self.mean.reshape(-1)
        return flat

    def draw(self, n_samples: int, generator: np.random.RandomState) -> Array:
        """Flattened samples drawn from the model, noise included."""
        weights = generator.standard_normal((n_samples, self.component_factor.shape[0]))
        noise = generator.standard_normal((n_samples, self.mean.size))
        return self.reconstruct(weights) + noise * (self.noise_variance**0.5 * self.flat_scale)
