"""The digits as images."""

import numpy as np
from sklearn.datasets import load_digits

from tenvec.datasets import load_digits_tensor


def test_digits_are_the_images_of_scikit_learns():
    digits, flat = load_digits_tensor(), load_digits()
    assert digits.data.shape == (1797, 8, 8)
    assert digits.data.dtype == np.float64
    np.testing.assert_array_equal(digits.data.reshape(1797, 64), flat.data)
    np.testing.assert_array_equal(digits.target, flat.target)
    assert digits.target_names.tolist() == list(range(10))
    assert "UCI" in digits.DESCR


def test_digits_as_a_pair():
    X, y = load_digits_tensor(return_X_y=True)
    assert X.shape == (1797, 8, 8)
    assert y.shape == (1797,)
