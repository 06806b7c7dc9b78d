"""Samples of order one: the model is probabilistic PCA, whose maximum is known in closed form."""

import numpy as np
import pytest

from tenvec import TBVDR
from tests.literal import ppca_log_likelihood


@pytest.mark.parametrize(("k", "rank"), [(10, 10), (10, 5), (10, 20)])
@pytest.mark.filterwarnings("ignore:5 of 10 features are zero:UserWarning")
def test_it_is_probabilistic_pca(k, rank):
    rng = np.random.default_rng(0)
    n_samples, n_entries = 400, 30
    deviations = np.concatenate([np.linspace(8, 3, 14), np.ones(16)])
    rotation = np.linalg.qr(rng.standard_normal((n_entries, n_entries)))[0]
    samples = rng.standard_normal((n_samples, n_entries)) * deviations @ rotation + 3
    model = TBVDR(k, rank=rank, noise_prior=(1e-9, 1e-9), max_iter=3000, tol=1e-14).fit(samples)

    eigenvalues = np.linalg.eigvalsh(np.cov(samples.T, bias=True))[::-1]
    carried = min(k, rank)
    noise = eigenvalues[carried:].mean()
    np.testing.assert_allclose(model.noise_variance_, noise, rtol=1e-6)
    np.testing.assert_allclose(
        model.explained_variance_[:carried] + model.noise_variance_,
        eigenvalues[:carried],
        rtol=1e-6,
    )
    assert np.all(model.explained_variance_[carried:] == 0)
    np.testing.assert_allclose(
        model.score(samples) * n_samples,
        ppca_log_likelihood(eigenvalues, carried, n_samples, n_entries),
        rtol=1e-6,
    )
    np.testing.assert_allclose(
        model.explained_variance_ratio_, model.explained_variance_ / eigenvalues.sum()
    )
