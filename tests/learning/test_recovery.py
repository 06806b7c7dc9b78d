"""Planted data: the fit is as good as the truth, its noise and its intervals are right."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from tenvec import TBVDR
from tenvec.learning.evidence import NoisePrior, lower_bound, noise_posterior, standard_prior
from tenvec.learning.expectation import expectation
from tenvec.learning.maximization import fit_of
from tenvec.learning.parameters import Parameters
from tenvec.samples.array import ArraySamples
from tenvec.samples.normalization import measure
from tests.literal import plant

SHAPE, K, RANK = (8, 7), 3, 6


def bound_of_truth(planted):
    """The bound at the true factors, ``Q(h)`` and ``Q(ρ)`` at their best."""
    n_entries = int(np.prod(SHAPE))
    normalization = measure(planted.samples, center=False, scale_axes=None)
    samples = ArraySamples(planted.samples, normalization)
    prior, precision = NoisePrior(1e-6, 1e-6), normalization.unit**2
    wh = planted.component_factor / normalization.unit
    for _ in range(50):
        parameters = Parameters(planted.mode_factors, wh, precision)
        moments = expectation(samples, parameters)
        error = fit_of(moments, parameters).expected_error(moments)
        noise = noise_posterior(prior, moments, error)
        precision = noise.mean
    value = lower_bound(prior, noise, standard_prior(moments))
    assert normalization.unit**2 / precision == pytest.approx(1, rel=0.02)
    return value - len(planted.samples) * n_entries * np.log(normalization.unit)


@pytest.mark.parametrize("snr", [3, 30])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_ends_at_or_above_the_truths(seed, snr):
    planted = plant(np.random.default_rng(seed), 2000, SHAPE, K, RANK, snr)
    model = TBVDR(K, rank=RANK, center=False, tol=1e-7, max_iter=1000).fit(planted.samples)
    assert model.lower_bound_ >= bound_of_truth(planted)


@pytest.mark.parametrize("snr", [3, 30, 300])
@pytest.mark.parametrize("n_samples", [200, 600, 2000])
def test_the_noise_variance_is_right(n_samples, snr):
    planted = plant(np.random.default_rng(snr), n_samples, SHAPE, K, RANK, snr)
    model = TBVDR(K, rank=RANK, tol=1e-7, max_iter=1000).fit(planted.samples)
    # Of the noise that was drawn: at 200 samples the draw itself is off by more than 2 %.
    drawn = np.mean((planted.samples - planted.noise_free) ** 2)
    assert model.noise_variance_ == pytest.approx(drawn, rel=0.02)


@pytest.mark.parametrize("snr", [1, 3])
def test_intervals_of_the_noise_free_entries_cover_as_they_say(snr):
    covered = []
    for seed in range(5):
        planted = plant(np.random.default_rng(seed), 2000, SHAPE, K, RANK, snr)
        model = TBVDR(K, rank=RANK, tol=1e-6).fit(planted.samples)
        means, covariances = model.posterior(planted.samples)
        basis = model.components_.reshape(K, -1)
        deviations = np.sqrt(np.sum(basis * (covariances[0] @ basis), axis=0)).reshape(SHAPE)
        errors = model.inverse_transform(means) - planted.noise_free
        covered.append(np.mean(np.abs(errors) < 1.6449 * deviations))
    assert 0.87 <= np.mean(covered) <= 0.93


def test_the_noise_free_subspace_is_found():
    for seed in range(5):
        planted = plant(np.random.default_rng(seed), 2000, SHAPE, K, RANK, 30)
        model = TBVDR(K, rank=RANK, tol=1e-7, max_iter=1000).fit(planted.samples)
        angles = subspace_angles(model.components_.reshape(K, -1).T, planted.basis.T)
        assert np.degrees(angles).max() < 1
