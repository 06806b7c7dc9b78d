"""A fit takes a few arrays of the basis's size besides the data, never one of the data's."""

import tracemalloc

import numpy as np
import pytest

from tenvec import TBVDR

pytestmark = pytest.mark.filterwarnings("ignore:.*features are zero:UserWarning")


def peak_of_fit(samples, **settings):
    model = TBVDR(max_iter=3, tol=0, **settings)
    # Modules that are imported on first use are not the fit's.
    model.fit(samples[:, :2, :2])
    tracemalloc.start()
    try:
        model.fit(samples)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("init", ["svd", "normal"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(64, 64), (20, 20, 10)])
def test_peak_above_the_data(shape, center, init):
    samples = np.random.default_rng(0).standard_normal((200, *shape))
    k = 60
    peak = peak_of_fit(samples, n_components=k, rank=k, center=center, init=init, random_state=0)
    allowed = 3 * (200 + samples[0].size) * k * 8
    assert peak <= allowed
    assert peak < samples.nbytes


def test_many_samples_need_no_memory_of_their_own():
    samples = np.random.default_rng(0).standard_normal((20_000, 8, 8))
    assert peak_of_fit(samples, n_components=5) < samples.nbytes / 2
