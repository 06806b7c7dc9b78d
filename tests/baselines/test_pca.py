"""PCA: equal to scikit-learn's on the flattened samples, and usable on samples of any order."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn import decomposition
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from tenvec.baselines.pca import PCA

SHAPE = (3, 4, 2)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, *SHAPE)) @ np.diag([3.0, 0.5]) + 2.0
X_NEW = RNG.standard_normal((7, *SHAPE))


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": 5},
        {"n_components": 5, "whiten": True},
        {"n_components": None},
        {"n_components": 0.9, "whiten": True},
        {"n_components": "mle"},
        {"n_components": 4, "svd_solver": "randomized", "random_state": 3},
        {"n_components": 4, "svd_solver": "covariance_eigh"},
    ],
)
def test_equals_scikit_learns(parameters: dict[str, Any]) -> None:
    model = PCA(**parameters).fit(X)
    reference = decomposition.PCA(**parameters).fit(X.reshape(30, -1))
    features = reference.transform(X_NEW.reshape(7, -1))
    # The layout of the components in memory differs, and with it the last digit of the products.
    last_digits = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(model.transform(X_NEW), features, **last_digits)
    np.testing.assert_allclose(
        model.inverse_transform(features),
        reference.inverse_transform(features).reshape(7, *SHAPE),
        **last_digits,
    )
    flat = X_NEW.reshape(7, -1)
    np.testing.assert_allclose(
        model.score_samples(X_NEW), reference.score_samples(flat), **last_digits
    )
    assert model.score(X_NEW) == pytest.approx(reference.score(flat), rel=1e-12)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(reference, name))
    assert model.noise_variance_ == reference.noise_variance_
    assert model.n_components_ == reference.n_components_
    assert model.components_.shape == (model.n_components_, *SHAPE)
    np.testing.assert_array_equal(
        model.components_.reshape(model.n_components_, -1), reference.components_
    )
    np.testing.assert_array_equal(model.mean_.ravel(), reference.mean_)


def test_two_dimensional_input_stays_so_and_may_be_folded() -> None:
    flat = X.reshape(30, -1)
    folded = PCA(3, sample_shape=SHAPE).fit(flat)
    assert folded.components_.shape == (3, *SHAPE)
    assert folded.inverse_transform(folded.transform(flat)).shape == flat.shape
    np.testing.assert_array_equal(folded.transform(flat), folded.transform(X))
    assert PCA(3).fit(flat).sample_shape_ == (24,)
    assert PCA(3).fit(X).n_features_in_ == 24


def test_single_precision_stays_so() -> None:
    single = X.astype(np.float32)
    model = PCA(4).fit(single)
    features = model.transform(single)
    assert features.dtype == np.float32
    assert model.inverse_transform(features).dtype == np.float32
    np.testing.assert_allclose(np.abs(features), np.abs(PCA(4).fit(X).transform(X)), atol=1e-4)


def test_feature_names_and_data_frames() -> None:
    model = PCA(2).set_output(transform="pandas").fit(X)
    assert list(model.transform(X).columns) == ["pca0", "pca1"]


@pytest.mark.parametrize(
    ("data", "parameters", "message"),
    [
        (X[:1], {}, "n_samples=1, but PCA needs at least 2"),
        (np.full((5, 2, 2), np.nan), {}, "X contains NaN or infinite"),
        (X, {"n_components": 25}, "n_components=25 must be between 0 and"),
        (X, {"svd_solver": "magic"}, "svd_solver"),
        (X, {"sample_shape": (5, 5)}, r"shape \(5, 5\) is expected"),
    ],
)
def test_errors_say_what_is_wrong(data: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PCA(**parameters).fit(data)


def test_use_errors() -> None:
    with pytest.raises(NotFittedError):
        PCA().inverse_transform(np.ones((2, 2)))
    model = PCA(3).fit(X)
    with pytest.raises(ValueError, match="3 features a sample are expected"):
        model.inverse_transform(np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"samples of shape \(2, 2\), but shape \(3, 4, 2\)"):
        model.transform(np.ones((2, 2, 2)))
    assert clone(model).get_params() == model.get_params()


@parametrize_with_checks([PCA(), PCA(1, whiten=True)])
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_were_run() -> None:
    status = Counter(result["status"] for result in check_estimator(PCA(), on_skip=None))
    assert status["passed"] >= 46
    assert status["skipped"] <= 1  # array API input, which needs SCIPY_ARRAY_API
    assert not status["xfail"]
