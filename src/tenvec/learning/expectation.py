"""The E-step: one pass over the samples, and all that the M-step needs from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace

from tenvec.arrays import cholesky, identity, inverse, solve
from tenvec.learning.parameters import Parameters
from tenvec.samples import Samples

Array = Any


@dataclass(frozen=True)
class Moments:
    """Posterior moments of the features, and of the features with the data.

    The posterior of sample i's features is ``N(u_i, Σ)``; ``U`` holds the means as rows.
    """

    n_samples: int
    n_entries: int
    sum_of_squares: float
    rounding: float
    """Relative rounding of the products with the data."""
    with_data: Array
    """``V = UᵀY``, shape (K, P)."""
    of_means: Array
    """``UᵀU``, shape (K, K)."""
    covariance: Array
    """``Σ``, shape (K, K)."""
    log_det_covariance: Array
    """``ln|Σ|``."""

    @cached_property
    def second(self) -> Array:
        """``S = UᵀU + MΣ``: second moments of the features, summed over the samples."""
        return self.of_means + self.n_samples * self.covariance


@dataclass(frozen=True)
class Posterior:
    """``Q(h)`` as a function of the sample: ``u = ρ̄ Σ Wʰ Zᵀ y`` and ``Σ``."""

    covariance: Array
    log_det_covariance: Array
    weights: Array
    """``ρ̄ Σ Wʰ``, shape (K, R)."""


def posterior(parameters: Parameters) -> Posterior:
    """``Σ = (I + ρ̄ S_W)⁻¹`` (eqs. 5 and 14 of the paper), and what maps samples to means."""
    gram = parameters.precision * parameters.basis_gram()
    xp = array_namespace(gram)
    n_components = gram.shape[0]
    # Where the identity drowns in the rounding of ρ̄ S_W (data without noise), it is enlarged to
    # stay above it. Q(h) is then a little narrower than the best, and the bound remains a bound.
    rounding = n_components * xp.finfo(gram.dtype).eps * xp.max(xp.linalg.diagonal(gram))
    one = xp.where(rounding > 1e-2, 1 + 8 * rounding, xp.ones_like(rounding))
    precision = gram + one * identity(n_components, gram)
    root = cholesky(precision)
    covariance = inverse(precision, root)
    scaled = parameters.precision * parameters.component_factor
    return Posterior(
        covariance=(covariance + covariance.T) / 2,
        log_det_covariance=-2 * xp.sum(xp.log(xp.linalg.diagonal(root))),
        # With more features than the basis carries and little noise, entries of Σ near one hide
        # the small variances that the means need: then a solve, not the cheaper product.
        weights=(
            covariance @ scaled if n_components <= parameters.capacity else solve(precision, scaled)
        ),
    )


def expectation(samples: Samples, parameters: Parameters) -> Moments:
    """Update ``Q(h)`` for the given parameters (eqs. 4, 5; 13, 14)."""
    q = posterior(parameters)
    with_data, of_means = samples.moments(parameters.terms() @ q.weights.T)
    return Moments(
        n_samples=samples.n_samples,
        n_entries=int(with_data.shape[1]),
        sum_of_squares=samples.sum_of_squares,
        rounding=samples.rounding,
        with_data=with_data,
        of_means=of_means,
        covariance=q.covariance,
        log_det_covariance=q.log_det_covariance,
    )
