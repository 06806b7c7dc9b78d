"""What GLRAM, Tucker, CP and BayesianCP promise alike."""

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from tenvec.baselines import CP, GLRAM, BayesianCP, Tucker

DIGITS = load_digits()
IMAGES = DIGITS.images[:200]
LABELS = DIGITS.target[:200]

CHECKED = [
    GLRAM(2),
    GLRAM(2, center=True, init="random", random_state=0),
    Tucker(1),
    Tucker(1, init="hosvd", max_iter=0),
    CP(2, max_iter=20, tol=0),
    CP(2, init="uniform", n_init=2, random_state=0, max_iter=20, tol=0),
    BayesianCP(2, max_iter=20, tol=0),
    BayesianCP(2, init="normal", random_state=0, max_iter=20, tol=0),
]

MODELS = [
    GLRAM((3, 4)),
    GLRAM(3, center=True),
    Tucker(6, ranks=(4, 5)),
    CP(6, max_iter=30, tol=0),
    BayesianCP(6, max_iter=30, tol=0),
]

every_model = pytest.mark.parametrize("model", MODELS, ids=str)


@parametrize_with_checks(CHECKED)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("estimator", CHECKED, ids=str)
def test_the_checks_are_executed(estimator: Any) -> None:
    results = check_estimator(estimator, on_fail="raise", on_skip=None)
    assert Counter(result["status"] for result in results)["passed"] >= 44
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


@every_model
def test_two_dimensions_with_a_sample_shape_equal_n_dimensions(model: Any) -> None:
    flat = IMAGES.reshape(200, -1)
    folded = clone(model).set_params(sample_shape=(8, 8)).fit(flat)
    given = clone(model).fit(IMAGES)
    features = folded.transform(flat)
    np.testing.assert_array_equal(features, given.transform(IMAGES))
    assert folded.inverse_transform(features).shape == (200, 64)
    assert given.inverse_transform(features).shape == (200, 8, 8)
    assert given.n_features_in_ == 64
    assert given.sample_shape_ == (8, 8)


@every_model
def test_features_and_their_names(model: Any) -> None:
    fitted = clone(model).fit(IMAGES)
    features = fitted.transform(IMAGES[:5])
    assert features.shape == (5, fitted.n_components_)
    np.testing.assert_array_equal(clone(model).fit_transform(IMAGES), fitted.transform(IMAGES))
    names = fitted.get_feature_names_out()
    prefix = type(model).__name__.lower()
    assert list(names) == [f"{prefix}{k}" for k in range(fitted.n_components_)]
    table = fitted.set_output(transform="pandas").transform(IMAGES[:5])
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == list(names)


@every_model
def test_components_are_what_features_weigh(model: Any) -> None:
    fitted = clone(model).fit(IMAGES)
    features = fitted.transform(IMAGES)
    basis = fitted.components_
    assert basis.shape == (fitted.n_components_, 8, 8)
    weighed = np.tensordot(features, basis, 1) + getattr(fitted, "mean_", 0.0)
    np.testing.assert_allclose(fitted.inverse_transform(features), weighed, atol=1e-10)


@every_model
def test_float32_gives_float32(model: Any) -> None:
    single = IMAGES.astype(np.float32)
    fitted = clone(model).fit(single)
    features = fitted.transform(single)
    assert features.dtype == np.float32
    restored = fitted.inverse_transform(features)
    assert restored.dtype == np.float32
    double = clone(model).fit(IMAGES)
    reference = double.inverse_transform(double.transform(IMAGES))
    np.testing.assert_allclose(restored, reference, atol=2e-2 * 16)


@every_model
@pytest.mark.parametrize("unit", [1e-6, 1e5])
def test_the_unit_of_the_data_does_not_matter(model: Any, unit: float) -> None:
    one = clone(model).fit(IMAGES)
    other = clone(model).fit(IMAGES * unit)
    np.testing.assert_allclose(
        other.inverse_transform(other.transform(IMAGES * unit)) / unit,
        one.inverse_transform(one.transform(IMAGES)),
        atol=1e-5,
    )


@every_model
def test_the_order_of_the_samples_does_not_matter(model: Any) -> None:
    order = np.random.default_rng(0).permutation(200)
    features = clone(model).fit(IMAGES).transform(IMAGES)
    shuffled = clone(model).fit(IMAGES[order]).transform(IMAGES[order])
    np.testing.assert_allclose(shuffled, features[order], atol=1e-4 * np.abs(features).max())


@every_model
def test_a_seed_decides_random_starts(model: Any) -> None:
    if isinstance(model, GLRAM | Tucker):
        random = clone(model).set_params(init="random", max_iter=2, tol=0)
    else:
        random = clone(model).set_params(init="normal", max_iter=2, tol=0)
    first, second = (
        clone(random).set_params(random_state=7).fit_transform(IMAGES) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    third = clone(random).set_params(random_state=8).fit_transform(IMAGES)
    assert third.shape != first.shape or np.abs(third - first).max() > 1e-6


@every_model
def test_a_fitted_model_survives_pickling(model: Any) -> None:
    fitted = clone(model).fit(IMAGES)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.transform(IMAGES), fitted.transform(IMAGES))


@every_model
def test_fitted_state_is_plain(model: Any) -> None:
    plain = (np.ndarray, float, int, bool, str, tuple, list)
    for name, value in vars(clone(model).fit(IMAGES)).items():
        if name.endswith("_"):
            assert isinstance(value, plain), name


@every_model
@pytest.mark.parametrize("order", [1, 3, 4])
def test_any_order(model: Any, order: int) -> None:
    shape = (3, 4, 2, 3)[:order]
    X = np.random.default_rng(0).standard_normal((30, *shape))
    size = {GLRAM: 2, Tucker: 2}.get(type(model), 3)
    fitted = clone(model).set_params(n_components=size)
    if isinstance(model, Tucker):
        fitted.set_params(ranks=2)
    fitted.fit(X)
    assert fitted.inverse_transform(fitted.transform(X)).shape == X.shape


@every_model
def test_clear_errors(model: Any) -> None:
    with pytest.raises(NotFittedError):
        clone(model).transform(IMAGES)
    with pytest.raises(NotFittedError):
        clone(model).inverse_transform(np.zeros((2, 3)))
    fitted = clone(model).fit(IMAGES)
    with pytest.raises(ValueError, match=r"shape \(8, 8\) is expected"):
        fitted.transform(IMAGES[:, :7])
    with pytest.raises(ValueError, match="what transform returns"):
        fitted.inverse_transform(np.zeros((2, fitted.n_components_ + 1)))
    with pytest.raises(ValueError, match="zero"):
        clone(model).fit(np.zeros((5, 8, 8)))
    with pytest.raises(ValueError, match="squares float64 cannot hold"):
        clone(model).fit(np.full((5, 8, 8), 1e200))
    infinite = IMAGES.copy()
    infinite[0, 0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        clone(model).fit(infinite)
    with pytest.raises(ValueError, match="n_components must be"):
        clone(model).set_params(n_components=0).fit(IMAGES)
    with pytest.raises(TypeError, match="n_components must be an integer"):
        clone(model).set_params(n_components="three").fit(IMAGES)
    with pytest.raises(ValueError, match="init must be one of"):
        clone(model).set_params(init="best").fit(IMAGES)
    with pytest.raises(ValueError, match="tol must be"):
        clone(model).set_params(tol=-1.0).fit(IMAGES)


@pytest.mark.parametrize("model", [GLRAM(2), Tucker(2), CP(2)], ids=str)
def test_missing_entries_are_refused_where_they_cannot_be_had(model: Any) -> None:
    holed = IMAGES.copy()
    holed[3, 4, 5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(holed)


@pytest.mark.parametrize("model", [GLRAM(2), Tucker(4, ranks=3), CP(4), BayesianCP(4)], ids=str)
def test_running_out_of_iterations_is_told(model: Any) -> None:
    with pytest.warns(ConvergenceWarning, match="has not converged after 1 iterations"):
        clone(model).set_params(max_iter=1).fit(IMAGES)
    fitted = clone(model).set_params(max_iter=1000).fit(IMAGES)
    assert fitted.converged_
    assert "less than tol" in fitted.stop_reason_


def test_they_serve_in_a_grid_search() -> None:
    pipeline = make_pipeline(CP(max_iter=5, tol=0), KNeighborsClassifier())
    search = GridSearchCV(pipeline, {"cp__n_components": [2, 12]}, cv=3).fit(IMAGES, LABELS)
    assert search.best_params_ == {"cp__n_components": 12}
    assert search.best_score_ > 0.8
