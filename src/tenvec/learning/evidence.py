"""The variational lower bound on the log evidence, and the posterior of the noise precision."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, pi
from typing import Any

from array_api_compat import array_namespace

from tenvec.learning.expectation import Moments

Array = Any


@dataclass(frozen=True)
class NoisePrior:
    """``ρ ~ Gamma(a, b)``; both zero is the improper prior 1/ρ."""

    a: float
    b: float


@dataclass(frozen=True)
class NoisePosterior:
    """``Q(ρ) = Gamma(ā, b̄)``."""

    a: float
    b: Array

    @property
    def mean(self) -> Array:
        """``ρ̄ = ā/b̄``."""
        return self.a / self.b


def noise_posterior(prior: NoisePrior, moments: Moments, expected_error: Array) -> NoisePosterior:
    """Update ``Q(ρ)`` (eqs. 6 and 15)."""
    return NoisePosterior(
        a=prior.a + moments.n_samples * moments.n_entries / 2, b=prior.b + expected_error / 2
    )


def standard_prior(moments: Moments) -> Array:
    """What features with the prior ``N(0, I)`` add to the bound."""
    trace = array_namespace(moments.second).linalg.trace(moments.second)
    n_components = moments.second.shape[0]
    return (moments.n_samples * (moments.log_det_covariance + n_components) - trace) / 2


def fitted_prior(moments: Moments) -> Array:
    """What whitened features add to the bound with the prior ``N(0, S/M)`` that fits them best."""
    n_components = moments.second.shape[0]
    log_det = n_components * log(moments.n_samples) + moments.log_det_covariance
    return moments.n_samples * log_det / 2


def lower_bound(prior: NoisePrior, posterior: NoisePosterior, features: Array) -> Array:
    """``F(Q(h), Q(ρ), W)`` in nats, for the normalized data; ``features`` is what these add.

    ``Q(ρ)`` is at its best for the expected error. Then ``E ln ρ`` and ``ρ̄`` cancel, and what is
    left is ``ln ∫ p(ρ) exp(E ln p(Y | h, ρ)) dρ``. With the improper prior the normalizer of
    ``p(ρ)``, which does not exist, is left out.
    """
    half = posterior.a - prior.a  # as many as half the values
    normalizer = prior.a * log(prior.b) - lgamma(prior.a) if prior.a > 0 and prior.b > 0 else 0.0
    constant = normalizer + lgamma(posterior.a) - half * log(2 * pi)
    return constant - posterior.a * array_namespace(posterior.b).log(posterior.b) + features
