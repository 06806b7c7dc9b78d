"""GLRAM against tensorly's partial Tucker, PCA, and direct evaluation."""

import numpy as np
import pytest
import tensorly.decomposition
from scipy.stats import ortho_group
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from tenvec.baselines import GLRAM

IMAGES = load_digits().images[:300]
EXACT = {"tol": 1e-10, "max_iter": 2000}


def relative_error(model: GLRAM, X: np.ndarray) -> float:
    residual = model.inverse_transform(model.transform(X)) - X
    return float(np.linalg.norm(residual) / np.linalg.norm(X))


@pytest.mark.parametrize(("shape", "ranks"), [((8, 8), (3, 4)), ((6, 5, 4), (3, 2, 2))])
def test_it_equals_tensorlys_partial_tucker(shape: tuple[int, ...], ranks: tuple[int, ...]) -> None:
    X = IMAGES if len(shape) == 2 else np.random.default_rng(0).random((50, *shape)) ** 3
    modes = list(range(1, X.ndim))
    (core, factors), errors = tensorly.decomposition.partial_tucker(
        X, rank=list(ranks), modes=modes, init="svd", tol=1e-10, n_iter_max=2000
    )
    model = GLRAM(ranks, **EXACT).fit(X)
    assert abs(model.errors_[-1] - float(errors[-1])) < 1e-6
    for ours, theirs in zip(model.mode_factors_, factors, strict=True):
        np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-3)
    norms = np.linalg.norm(np.asarray(core).reshape(len(X), -1), axis=1)
    np.testing.assert_allclose(np.linalg.norm(model.transform(X), axis=1), norms, rtol=1e-4)


def test_errors_never_rise_and_are_those_of_the_reconstruction() -> None:
    X = np.random.default_rng(1).standard_normal((60, 9, 8, 7))
    model = GLRAM((2, 3, 2), init="random", random_state=0, **EXACT).fit(X)
    assert len(model.errors_) > 5
    assert np.all(np.diff(model.errors_) <= 1e-12)
    assert relative_error(model, X) == pytest.approx(model.errors_[-1], abs=1e-9)


def test_with_vectors_and_a_mean_it_is_pca() -> None:
    X = IMAGES.reshape(300, -1)
    model = GLRAM(5, center=True).fit(X)
    pca = PCA(5, svd_solver="full").fit(X)
    ours, theirs = model.transform(X), pca.transform(X)
    signs = np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours, theirs * signs, atol=1e-8)
    np.testing.assert_allclose(
        model.explained_variance_ * 300 / 299, pca.explained_variance_, rtol=1e-8
    )


def test_samples_of_low_rank_come_back_exactly() -> None:
    rng = np.random.default_rng(0)
    left, right = ortho_group.rvs(9, random_state=0)[:, :2], ortho_group.rvs(7, random_state=1)
    X = left @ rng.standard_normal((40, 2, 3)) @ right[:, :3].T
    model = GLRAM((2, 3)).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)
    np.testing.assert_allclose(
        model.mode_factors_[0] @ model.mode_factors_[0].T, left @ left.T, atol=1e-10
    )


def test_factors_are_canonical() -> None:
    model = GLRAM((4, 5), center=True).fit(IMAGES)
    features = model.transform(IMAGES).reshape(300, *model.feature_shape_)
    for axis, factor in enumerate(model.mode_factors_, start=1):
        np.testing.assert_allclose(factor.T @ factor, np.eye(factor.shape[1]), atol=1e-12)
        slices = np.moveaxis(features, axis, 0).reshape(factor.shape[1], -1)
        products = slices @ slices.T
        norms = np.diag(products)
        assert np.all(np.diff(norms) <= 1e-8 * norms[0])
        np.testing.assert_allclose(products, np.diag(norms), atol=1e-8 * norms[0])
        assert np.all(np.max(factor, axis=0) >= -np.min(factor, axis=0))


def test_a_rotated_mode_rotates_its_factor() -> None:
    rotation = ortho_group.rvs(8, random_state=0)
    plain = GLRAM((3, 3), **EXACT).fit(IMAGES)
    turned = GLRAM((3, 3), **EXACT).fit(rotation @ IMAGES)
    assert turned.errors_[-1] == pytest.approx(plain.errors_[-1], abs=1e-9)
    expected = rotation @ plain.mode_factors_[0]
    turned_factor = turned.mode_factors_[0]
    np.testing.assert_allclose(turned_factor @ turned_factor.T, expected @ expected.T, atol=1e-3)


def test_one_number_is_the_most_a_mode_gets() -> None:
    X = np.random.default_rng(0).standard_normal((20, 3, 6))
    assert GLRAM(4).fit(X).feature_shape_ == (3, 4)
    with pytest.raises(ValueError, match=r"4 columns in mode 1, whose size is 3"):
        GLRAM((4, 4)).fit(X)
    with pytest.raises(ValueError, match="2 entries, but samples of shape"):
        GLRAM((4, 4)).fit(X[:, 0])


def test_constant_samples_leave_nothing_after_centring() -> None:
    X = np.repeat(IMAGES[:1], 5, axis=0)
    with pytest.raises(ValueError, match="nothing left after centring"):
        GLRAM(2, center=True).fit(X)
