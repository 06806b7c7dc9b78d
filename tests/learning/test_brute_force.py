"""Posterior, likelihood and bound against dense Gaussians and numerical integration."""

import warnings

import numpy as np
import pytest

from tenvec import TBVDR
from tenvec.kruskal import khatri_rao
from tests.literal import gaussian_log_density, gaussian_posterior, log_evidence, plant

CASES = [((5,), 3, 4), ((4, 3), 3, 2), ((3, 2, 2), 2, 5), ((2, 2, 2, 2), 3, 3)]


@pytest.fixture(params=CASES, ids=str)
def fitted(request):
    shape, k, rank = request.param
    rng = np.random.default_rng(len(shape))
    planted = plant(rng, 40, shape, 2, 3, snr=2.0)
    samples = planted.samples * 3 + 5
    model = TBVDR(k, rank=rank, tol=0, max_iter=30)
    with warnings.catch_warnings():
        # One case has more features than its basis can carry.
        warnings.simplefilter("ignore", UserWarning)
        model.fit(samples)
    return model, rng.standard_normal((6, *shape)) * 4 + 5


def test_posterior_is_the_conditional_of_the_joint_gaussian(fitted):
    model, new = fitted
    basis = model.components_.reshape(model.n_components_, -1)
    means, covariances = model.posterior(new)
    for sample, mean, covariance in zip(new, means, covariances, strict=True):
        centred = (sample - model.mean_).reshape(-1)
        expected = gaussian_posterior(centred, basis, 1 / model.noise_variance_)
        np.testing.assert_allclose(mean, expected[0], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(covariance, expected[1], rtol=1e-8, atol=1e-8)


def test_likelihood_is_the_dense_gaussians(fitted):
    model, new = fitted
    basis = model.components_.reshape(model.n_components_, -1)
    expected = [
        gaussian_log_density(
            x.reshape(-1), model.mean_.reshape(-1), basis, 1 / model.noise_variance_
        )
        for x in new
    ]
    np.testing.assert_allclose(model.score_samples(new), expected, rtol=1e-8)
    assert model.score(new) == pytest.approx(np.mean(expected), rel=1e-8)


@pytest.mark.parametrize("whiten", [1, 0.6, 0.2, 0, True, False])
def test_whitening_scales_features_and_their_covariance_alike(whiten):
    rng = np.random.default_rng(1)
    samples = plant(rng, 50, (4, 3), 3, 4, snr=2.0).samples
    full = TBVDR(3).fit(samples)
    partial = TBVDR(3, whiten=whiten).fit(samples)
    factor = full.explained_variance_ ** ((1 - float(whiten)) / 2)
    features, covariances = partial.posterior(samples)
    close = {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(features, full.transform(samples) * factor, **close)
    np.testing.assert_allclose(partial.transform(samples), features, rtol=0)
    np.testing.assert_allclose(
        covariances[0], full.posterior(samples)[1][0] * np.outer(factor, factor), **close
    )
    np.testing.assert_allclose(
        partial.inverse_transform(features),
        full.inverse_transform(full.transform(samples)),
        rtol=1e-12,
    )
    if float(whiten) == 0:
        rebuilt = partial.inverse_transform(features).reshape(50, -1)
        np.testing.assert_allclose(
            np.linalg.norm(features[0] - features[1:], axis=1),
            np.linalg.norm(rebuilt[0] - rebuilt[1:], axis=1),
        )


def test_scaled_samples_are_scored_in_their_own_units():
    """The density of the raw sample: the scale's Jacobian counts."""
    rng = np.random.default_rng(3)
    samples = plant(rng, 60, (4, 3), 2, 3, snr=2.0).samples * [1.0, 100.0, 0.01]
    model = TBVDR(2, scale=1).fit(samples)
    np.testing.assert_allclose(
        model.scale_.reshape(-1), (samples - samples.mean(0)).std(axis=(0, 1)), rtol=1e-12
    )
    scale = np.broadcast_to(model.scale_, (4, 3)).reshape(-1)
    basis = model.components_.reshape(2, -1) * scale
    covariance = basis.T @ basis + np.diag(model.noise_variance_ * scale**2)
    from scipy.stats import multivariate_normal

    dense = multivariate_normal(model.mean_.reshape(-1), covariance)
    expected = dense.logpdf(samples[:5].reshape(5, -1))
    np.testing.assert_allclose(model.score_samples(samples[:5]), expected, rtol=1e-9)
    # Whatever the units of the slices, features are the same.
    other = TBVDR(2, scale=1).fit(samples * [7.0, 1e-3, 1e3])
    np.testing.assert_allclose(
        other.transform(samples * [7.0, 1e-3, 1e3]), model.transform(samples), atol=1e-7
    )


@pytest.mark.parametrize("algorithm", ["px-em", "em"])
@pytest.mark.parametrize("shape", [(5,), (4, 3), (3, 2, 2)])
def test_bound_is_below_the_evidence_at_every_pass_and_near_it_at_the_end(algorithm, shape):
    rng = np.random.default_rng(5)
    samples = plant(rng, 25, shape, 2, 2, snr=1.0).samples
    factors = [rng.standard_normal((size, 2)) for size in shape], rng.standard_normal((2, 2))

    def after(passes):
        return TBVDR(
            2,
            rank=2,
            algorithm=algorithm,
            init=factors,
            center=False,
            noise_prior=(1.2, 0.4),
            max_iter=passes,
            tol=0,
        ).fit(samples)

    def evidence(components, prior):
        return log_evidence(samples.reshape(25, -1), components.reshape(2, -1), *prior)

    models = [after(passes) for passes in (*range(1, 13), 300)]
    prior = models[0].noise_prior_
    evidences = [evidence(model.components_, prior) for model in models]
    bounds = np.array([model.lower_bound_ for model in models])
    if algorithm == "em":
        # The paper's pass evaluates the bound between its E-step and its M-step: it belongs to the
        # factors that the pass started from.
        start = evidence(factors[1] @ khatri_rao(factors[0]).T, prior)
        evidences[1:12] = evidences[:11]
        evidences[0] = start
    gaps = evidences - bounds
    assert np.all(gaps > 0)
    assert gaps[-1] < 0.5
