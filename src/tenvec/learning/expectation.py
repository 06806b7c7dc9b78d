"""The E-step: one pass over the samples, and all that the M-step needs from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from array_api_compat import array_namespace

from tenvec.arrays import add_to_diagonal, cholesky, identity, inverse_lower, solve_lower
from tenvec.learning.parameters import Parameters
from tenvec.learning.sweeps import Core
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
    second: Array
    """``S = UᵀU + MΣ``: second moments of the features, summed over the samples."""
    spread: Array
    """``J`` with ``JJᵀ = Σ``; None for the identity."""
    log_det_covariance: Array
    """``ln|Σ|``."""
    transform: Array = None
    """What ``V`` is still to be multiplied by; None for the identity."""

    @property
    def core(self) -> Core:
        """``V``, as the tensor that sweeps fit."""
        return Core(self.with_data, self.transform)

    @property
    def covariance(self) -> Array:
        """``Σ``, shape (K, K)."""
        if self.spread is None:
            return identity(self.second.shape[0], self.second)
        return _square(self.spread)

    @property
    def of_means(self) -> Array:
        """``UᵀU``, shape (K, K)."""
        return self.second - self.n_samples * self.covariance


@dataclass(frozen=True)
class Posterior:
    """``Q(h)`` as a function of the sample: ``u = ρ̄ Σ Wʰ Zᵀ y`` and ``Σ``."""

    spread: Array
    """``J`` with ``JJᵀ = Σ``; None for the identity."""
    log_det_covariance: Array
    weights: Array
    """``ρ̄ Σ Wʰ``, shape (K, R)."""


def posterior(parameters: Parameters) -> Posterior:
    """``Σ = (I + ρ̄ S_W)⁻¹`` (eqs. 5 and 14 of the paper), and what maps samples to means."""
    root = precision_root(parameters)
    inverse = inverse_lower(root)
    xp = array_namespace(root)
    return Posterior(
        spread=inverse.T,
        log_det_covariance=-2 * xp.sum(xp.log(xp.linalg.diagonal(root))),
        # Not as Σ times Wʰ: with more features than the basis carries and little noise, entries
        # of Σ near one hide the small variances that the means need.
        weights=inverse.T @ (inverse @ (parameters.precision * parameters.component_factor)),
    )


def precision_root(parameters: Parameters) -> Array:
    """Lower Cholesky factor of ``Σ⁻¹ = I + ρ̄ S_W``."""
    gram = parameters.precision * parameters.basis_gram()
    xp = array_namespace(gram)
    n_components = gram.shape[0]
    # Where the identity drowns in the rounding of ρ̄ S_W (data without noise), it is enlarged to
    # stay above it. Q(h) is then a little narrower than the best, and the bound remains a bound.
    rounding = n_components * xp.finfo(gram.dtype).eps * xp.max(xp.linalg.diagonal(gram))
    one = xp.where(rounding > 1e-2, 1 + 8 * rounding, xp.ones_like(rounding))
    return cholesky(gram + one * identity(n_components, gram), xp.finfo(gram.dtype).eps)


def in_posterior_frame(parameters: Parameters) -> tuple[Parameters, Posterior]:
    """The parameters for features whose posterior covariance is the identity, and that ``Q(h)``.

    Mixing the features by any regular matrix, and their prior with them, changes nothing that the
    model says of samples. Here ``Σ⁻¹ = LLᵀ`` gives the features ``Lᵀh``: one triangular solve, no
    inverse.
    """
    root = precision_root(parameters)
    xp = array_namespace(root)
    wh, momentum = parameters.component_factor, parameters.momentum
    if momentum is None:
        wh = solve_lower(root, wh)
    else:
        rank = wh.shape[1]
        both = solve_lower(root, xp.concat([wh, momentum[-1]], axis=1))
        wh, momentum = both[:, :rank], (*momentum[:-1], both[:, rank:])
    q = Posterior(spread=None, log_det_covariance=0.0, weights=parameters.precision * wh)
    return replace(parameters, component_factor=wh, momentum=momentum), q


def expectation(samples: Samples, parameters: Parameters, q: Posterior | None = None) -> Moments:
    """Update ``Q(h)`` for the given parameters (eqs. 4, 5; 13, 14): one pass over the samples.

    ``q`` is that posterior where it is at hand.
    """
    q = posterior(parameters) if q is None else q
    with_data, of_means = samples.moments(parameters.terms() @ q.weights.T)
    return Moments(
        n_samples=samples.n_samples,
        n_entries=int(with_data.shape[1]),
        sum_of_squares=samples.sum_of_squares,
        rounding=samples.rounding,
        with_data=with_data,
        second=(
            add_to_diagonal(of_means, float(samples.n_samples))
            if q.spread is None
            else of_means + samples.n_samples * _square(q.spread)
        ),
        spread=q.spread,
        log_det_covariance=q.log_det_covariance,
    )


def _square(root: Array) -> Array:
    return root @ root.T
