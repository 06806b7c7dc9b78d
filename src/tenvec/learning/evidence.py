"""The variational lower bound on the log evidence, and the posterior of the noise precision."""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, pi
from typing import Any

from array_api_compat import array_namespace
from scipy.special import digamma

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


def lower_bound(
    prior: NoisePrior,
    posterior: NoisePosterior,
    moments: Moments,
    expected_error: Array,
    features: Array,
) -> Array:
    """``F(Q(h), Q(ρ), W)`` in nats, for the normalized data; ``features`` is what these add.

    With the improper prior the normalizer of ``p(ρ)``, which does not exist, is left out.
    """
    xp = array_namespace(moments.second)
    n_values = moments.n_samples * moments.n_entries
    log_precision = float(digamma(posterior.a)) - xp.log(posterior.b)
    precision = posterior.mean
    data = n_values / 2 * (log_precision - log(2 * pi)) - precision * expected_error / 2
    normalizer = prior.a * log(prior.b) - lgamma(prior.a) if prior.a > 0 and prior.b > 0 else 0.0
    prior_of_noise = normalizer + (prior.a - 1) * log_precision - prior.b * precision
    entropy_of_noise = (
        lgamma(posterior.a)
        - posterior.a * xp.log(posterior.b)
        - (posterior.a - 1) * log_precision
        + posterior.a
    )
    return data + features + prior_of_noise + entropy_of_noise
