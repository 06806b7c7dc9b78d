"""Tucker against tensorly, the SVD, and direct evaluation."""

import numpy as np
import pytest
import tensorly.decomposition
from sklearn.datasets import load_digits

from tenvec.baselines import Tucker

IMAGES = load_digits().images[:300]
EXACT = {"tol": 1e-10, "max_iter": 2000}


@pytest.mark.parametrize(("shape", "ranks"), [((8, 8), (4, 5)), ((6, 5, 4), (3, 2, 2))])
def test_it_equals_tensorly(shape: tuple[int, ...], ranks: tuple[int, ...]) -> None:
    X = IMAGES if len(shape) == 2 else np.random.default_rng(0).random((50, *shape)) ** 3
    (core, factors), errors = tensorly.decomposition.tucker(
        X, rank=[6, *ranks], init="svd", tol=1e-10, n_iter_max=2000, return_errors=True
    )
    model = Tucker(6, ranks=ranks, init="hosvd", **EXACT).fit(X)
    assert abs(model.errors_[-1] - float(errors[-1])) < 1e-6
    features = model.transform(X)
    np.testing.assert_allclose(features @ features.T, factors[0] @ factors[0].T, atol=1e-3)
    assert np.linalg.norm(model.core_) == pytest.approx(np.linalg.norm(core), rel=1e-6)


def test_features_are_the_rows_of_the_samples_factor() -> None:
    model = Tucker(6, ranks=(4, 5)).fit(IMAGES)
    features = model.transform(IMAGES)
    np.testing.assert_allclose(features.T @ features, np.eye(6), atol=1e-10)
    # Least squares on the basis, written out.
    basis = model.components_.reshape(6, -1)
    expected = np.linalg.lstsq(basis.T, IMAGES.reshape(300, -1).T, rcond=None)[0].T
    np.testing.assert_allclose(features, expected, atol=1e-12)


@pytest.mark.parametrize("init", ["hosvd", "st-hosvd", "random"])
def test_errors_never_rise_and_are_those_of_the_reconstruction(init: str) -> None:
    X = np.random.default_rng(1).standard_normal((60, 9, 8, 7))
    model = Tucker(5, ranks=(2, 3, 2), init=init, random_state=0, **EXACT).fit(X)
    assert len(model.errors_) > 5
    assert np.all(np.diff(model.errors_) <= 1e-12)
    residual = model.inverse_transform(model.transform(X)) - X
    error = np.linalg.norm(residual) / np.linalg.norm(X)
    assert error == pytest.approx(model.errors_[-1], abs=1e-9)


def test_no_iteration_is_the_sequential_svd() -> None:
    model = Tucker(6, ranks=(4, 5), init="st-hosvd", max_iter=0).fit(IMAGES)
    # Mode 2, then mode 1, then the samples, each by a plain SVD of what is left.
    X = IMAGES
    for axis, rank in [(2, 5), (1, 4), (0, 6)]:
        unfolded = np.moveaxis(X, axis, 0).reshape(X.shape[axis], -1)
        left = np.linalg.svd(unfolded, full_matrices=False)[0][:, :rank]
        X = np.moveaxis(np.tensordot(left.T, X, (1, axis)), 0, axis)
    assert np.linalg.norm(model.core_) == pytest.approx(np.linalg.norm(X), rel=1e-10)
    assert model.converged_


def test_vectors_give_the_singular_value_decomposition() -> None:
    X = IMAGES.reshape(300, -1)
    model = Tucker(5, ranks=64).fit(X)
    left, values, _ = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(model.singular_values_, values[:5], rtol=1e-8)
    features = model.transform(X)
    signs = np.sign(np.sum(features * left[:, :5], axis=0))
    np.testing.assert_allclose(features, left[:, :5] * signs, atol=1e-8)


def test_the_core_is_all_orthogonal() -> None:
    model = Tucker(6, ranks=(4, 5)).fit(IMAGES)
    for axis in range(3):
        slices = np.moveaxis(model.core_, axis, 0).reshape(model.core_.shape[axis], -1)
        products = slices @ slices.T
        norms = np.diag(products)
        assert np.all(np.diff(norms) <= 0)
        np.testing.assert_allclose(products, np.diag(norms), atol=1e-10 * norms[0])
    np.testing.assert_allclose(
        np.linalg.norm(model.components_.reshape(6, -1), axis=1), model.singular_values_
    )


def test_data_of_lower_rank_give_zero_features_beyond_it() -> None:
    rng = np.random.default_rng(0)
    X = np.einsum("ir,jr,kr->ijk", *(rng.standard_normal((size, 2)) for size in (30, 6, 5)))
    model = Tucker(4, ranks=3).fit(X)
    features = model.transform(X)
    assert np.all(features[:, 2:] == 0)
    np.testing.assert_allclose(model.inverse_transform(features), X, atol=1e-10)


def test_more_features_than_the_ranks_carry_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 6"):
        Tucker(7, ranks=(2, 3)).fit(IMAGES)
