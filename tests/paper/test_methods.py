"""The rivals of the recognition experiment, on what makes them stumble."""

import numpy as np
import pytest

from tenvec.paper.methods import Problem, pca, uncentred_svd


@pytest.mark.parametrize("method", [pca, uncentred_svd])
def test_an_image_twice_does_not_make_features_of_rounding(method):
    rng = np.random.default_rng(0)
    images = rng.random((20, 6, 6)) * 255
    images[7] = images[3]
    fitted = method(images, Problem("feret", 30, 300, 0))
    centred = method is pca
    assert fitted.size == str(19 - centred)  # 20 images, two of them the same
    new = fitted.transform(rng.random((50, 6, 6)) * 255)
    assert np.abs(new).max() < 100  # in deviations of the training images
