"""The start by linear algebra: exact where the data are, left alone where it does not apply."""

import numpy as np
import pytest

from tenvec import TBVDR
from tenvec.kruskal import khatri_rao
from tenvec.learning.simultaneous import shared_terms
from tests.literal import plant


@pytest.mark.parametrize(
    ("shape", "k", "rank"),
    [((8, 7), 3, 6), ((8, 7), 2, 7), ((6, 5, 4), 3, 6), ((3, 4, 2, 5), 2, 9), ((7, 7), 20, 7)],
)
def test_the_terms_of_exact_tensors_are_found(shape, k, rank):
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((size, rank)) for size in shape]
    tensors = rng.standard_normal((k, rank)) @ khatri_rao(factors).T
    found = shared_terms(tensors, shape, rank)
    for ours, theirs in zip(found, factors, strict=True):
        np.testing.assert_allclose(np.linalg.norm(ours, axis=0), 1)
        cosines = np.abs(ours.T @ (theirs / np.linalg.norm(theirs, axis=0)))
        np.testing.assert_allclose(cosines.max(axis=0), 1, atol=1e-8)


@pytest.mark.parametrize(
    ("shape", "k", "rank"), [((8, 7), 3, 8), ((20,), 3, 2), ((8, 7), 1, 2), ((2, 2, 2), 3, 3)]
)
def test_it_does_not_apply(shape, k, rank):
    tensors = np.random.default_rng(0).standard_normal((k, int(np.prod(shape))))
    assert shared_terms(tensors, shape, rank) is None


def test_tensors_without_two_mixtures_are_no_error():
    one = np.random.default_rng(0).standard_normal((1, 56))
    for tensors in (np.zeros((3, 56)), np.tile(one, (3, 1))):
        found = shared_terms(tensors, (8, 7), 3)
        assert found is None or all(np.all(np.isfinite(factor)) for factor in found)


@pytest.mark.parametrize(
    ("shape", "k", "rank"), [((8, 7), 3, 6), ((8, 7), 2, 4), ((6, 5, 4), 3, 5)]
)
@pytest.mark.parametrize("snr", [3, 30, 300])
def test_planted_data_are_recovered_from_any_seed(snr, shape, k, rank):
    """Default settings, one start. From single directions' terms up to half of these fail."""
    for seed in range(10):
        planted = plant(np.random.default_rng(100 + seed), 600, shape, k, rank, snr)
        drawn = np.mean((planted.samples - planted.noise_free) ** 2)
        model = TBVDR(k, rank=rank).fit(planted.samples)
        assert model.noise_variance_ == pytest.approx(drawn, rel=0.02), seed
