"""Draws of a centred fit look like the data, and what does not look like data scores low."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tenvec import TBVDR


@pytest.fixture(scope="module")
def digits():
    return train_test_split(load_digits().images, test_size=0.3, random_state=0)


@pytest.fixture(scope="module")
def model(digits):
    return TBVDR(20).fit(digits[0])


def test_draws_have_the_statistics_of_the_data(model, digits):
    train, _ = digits
    draws = model.sample(20_000, random_state=0)
    assert draws.shape == (20_000, 8, 8)
    np.testing.assert_allclose(draws.mean(0), train.mean(0), atol=0.2)
    basis = model.components_.reshape(20, -1)
    covariance = basis.T @ basis + model.noise_variance_ * np.eye(64)
    np.testing.assert_allclose(np.cov(draws.reshape(-1, 64).T), covariance, atol=1.2)
    # Overall spread, and the likelihood of a draw beside that of a digit never seen.
    assert draws.var(axis=0).sum() == pytest.approx(train.var(axis=0).sum(), rel=0.05)
    assert np.median(model.score_samples(draws)) == pytest.approx(
        np.median(model.score_samples(train)), rel=0.05
    )


def test_draws_are_reproducible(model):
    assert np.array_equal(model.sample(3, random_state=1), model.sample(3, random_state=1))
    assert not np.array_equal(model.sample(3, random_state=1), model.sample(3, random_state=2))


def test_negatives_and_blank_samples_score_below_digits(model, digits):
    train, test = digits
    threshold = np.quantile(model.score_samples(test), 0.05)
    negatives = 2 * train.mean(0) - test
    assert np.median(model.score_samples(-test)) < threshold
    assert np.mean(model.score_samples(-test) < threshold) > 0.95
    assert model.score_samples(np.zeros((1, 8, 8)))[0] < threshold
    # About the mean the Gaussian is symmetric: mirrored digits are as likely, and no test can ask
    # for more.
    assert np.median(model.score_samples(negatives)) == pytest.approx(
        np.median(model.score_samples(test)), rel=1e-9
    )


def test_an_uncentred_fit_cannot_tell_a_digit_from_its_negative(digits):
    """Why centring is the default."""
    train, test = digits
    model = TBVDR(20, center=False).fit(train)
    np.testing.assert_allclose(model.score_samples(-test), model.score_samples(test), rtol=1e-9)
    assert model.score_samples(np.zeros((1, 8, 8)))[0] > model.score_samples(test).max()


def test_shapes_follow_fit(digits):
    flat = TBVDR(5, sample_shape=(8, 8)).fit(digits[0].reshape(-1, 64))
    assert flat.sample(2, random_state=0).shape == (2, 64)
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        flat.sample(0)
